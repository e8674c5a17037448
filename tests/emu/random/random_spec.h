/* Random programs: a spec of one program and of further kernels that differ from it in how it runs alone (tiles, rings,
 * consumers, order, clusters). The same seed gives the same text on every machine. Its first lines hold what it is made
 * of, random_features.def's words: "-- random program SEED: WORD WORD ...", "-- KERNEL: WORD ..." for each kernel that
 * has some of its own. The word by_tile behind a program's features: what it means depends on its tiles.
 *
 * Each seed wants one pair of features, all pairs that can meet in turn, and draws the rest. */
#ifndef TW_TESTS_RANDOM_SPEC_H
#define TW_TESTS_RANDOM_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { RANDOM_WORDS = 64, RANDOM_TERMS = 24, RANDOM_TEXT = 16384, RANDOM_KERNELS = 3, LEAN = 4 };

/* ---- random_features.c ------------------------------------------------------------------------------------------- */

struct random_feature {
    const char *name, *families, *group, *needs;
};

extern const struct random_feature random_features[];
extern const int random_feature_count;

int random_feature_number(const char *name); /* -1: none has the name */

/* Why the two cannot meet in one kernel; NULL: they can. */
const char *random_apart(int one, int other);

/* Letters of the families that have both, "" where they cannot meet. */
void random_families(int one, int other, char letters[8]);

/* Pair number `number`, counted from 0 in an order that spreads them, of random_pairs(). */
int random_pairs(void);
void random_pair(int number, int *one, int *other);

/* ---- random_spec.c ----------------------------------------------------------------------------------------------- */

/* What a value can be made of: a Lua expression, and whether it is a whole tile (else one number for each row, for each
 * column, or one alone, which broadcast). */
struct random_term {
    char text[48];
    bool tile;
};

struct random_words {
    int word[RANDOM_WORDS]; /* features, each once */
    int words;
};

struct random_spec {
    uint64_t state, seed;
    const uint8_t *byte; /* what is drawn, as long as there are `left`: random_below */
    size_t left;
    char family;                /* a letter of random_features.def */
    struct random_words wanted; /* closed under `needs` */
    struct random_words program, kernel[RANDOM_KERNELS];
    int at; /* kernel whose features are drawn; -1: the program's. The program and kernel 0 get what is wanted */
    struct random_term term[RANDOM_TERMS];
    int terms;
    bool by_tile; /* what it means depends on the tiles */
    bool half;    /* a condition keeps a half of index: turns that it hides may be left out */
    bool diagonal; /* one is still to come that leaves turns out on its other side: none may do so on this one */
    bool under;   /* a condition keeps what lies under the diagonal of row_index and index, moved by LEAN at most */
    const char *index; /* axis along the columns, for conditions on coordinates; NULL: none */
    const char *row_index;
    const char *place; /* scale of a condition's constant: a dim */
    char text[RANDOM_TEXT];
    size_t length;
};

/* Every draw is made here: of the bytes that are left, else of the seed. Two of them are not arguments of one call:
 * compilers evaluate these in orders of their own. */
int random_below(struct random_spec *g, int n);
bool random_chance(struct random_spec *g, int percent);

/* A number below n, another one for each `what` and `number`. Draws nothing of a seed: what follows stays as it is. */
int random_aside(struct random_spec *g, const char *what, int number, int n);

/* True for one seed of `of`, another one for each `what`. Draws nothing either. */
bool random_rare(struct random_spec *g, const char *what, int of);

/* The feature is there; whoever calls this has seen to it that it may be. */
void random_feature(struct random_spec *g, const char *word);
bool random_has(const struct random_spec *g, const char *word);

/* It is wanted, and this is a place for it. */
bool random_wants(const struct random_spec *g, const char *word);

/* It may be, beside what is there and what is wanted. */
bool random_allowed(const struct random_spec *g, const char *word);

/* Draws it: always where it is wanted, else by chance where it is allowed. Notes it. */
bool random_option(struct random_spec *g, const char *word, int percent);

/* Draws one of them and notes it: one that is wanted, else any that is allowed; NULL stands for none of them. -1: none
 * is allowed. */
int random_choose(struct random_spec *g, const char *const *word, int count);

void random_write(struct random_spec *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void random_term(struct random_spec *g, bool tile, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes a value, a whole tile, of operations nested `depth` deep. */
void random_value(struct random_spec *g, int depth);

/* Adds the term, by its name, to the value that was written from `from` on where that does not hold it: what nobody
 * uses is a fault of the spec. */
void random_use(struct random_spec *g, size_t from, const char *term, const char *scale);

/* The whole spec, to `out`. */
void random_spec_write(uint64_t seed, FILE *out);

/* The same, of bytes: they are what is drawn; behind them a seed made of them decides. */
void random_spec_write_bytes(const uint8_t *byte, size_t count, FILE *out);

/* A generator of nothing so far. NULL: of the seed alone, `salt` apart from others of the same seed. */
void random_begin(struct random_spec *g, uint64_t seed, unsigned salt, const uint8_t *byte, size_t count);

/* ---- random_fields.c: what a kernel may say of how it runs ------------------------------------------------------- */

/* Fields of kernel `number` that ask nothing of its tiles. maps: it loads through tensor maps. */
void random_fields_write(struct random_spec *g, int number, bool maps);

/* ---- random_rows.c, random_dots.c: programs without and with dots ------------------------------------------------ */

void random_rows(struct random_spec *g);
void random_dots(struct random_spec *g);

/* ---- random_gemm.c ----------------------------------------------------------------------------------------------- */

/* A whole spec of the family gemm, without features. */
void random_gemm_write(uint64_t seed, FILE *out);
void random_gemm_write_bytes(const uint8_t *byte, size_t count, FILE *out);

#endif
