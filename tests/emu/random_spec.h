/* Random programs: a spec of one program and of further kernels that differ from it in how it runs alone (tiles, rings,
 * consumers, order, clusters). The same seed gives the same text on every machine. The first line holds what the
 * program is made of: "-- random program SEED: WORD WORD ...". */
#ifndef TW_TESTS_RANDOM_SPEC_H
#define TW_TESTS_RANDOM_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { RANDOM_WORDS = 64, RANDOM_TERMS = 24, RANDOM_TEXT = 16384 };

/* What a value can be made of: a Lua expression, and whether it is a whole tile (else one number for each row, for each
 * column, or one alone, which broadcast). */
struct random_term {
    char text[48];
    bool tile;
};

struct random_spec {
    uint64_t state;
    const char *word[RANDOM_WORDS]; /* features, each once */
    int words;
    struct random_term term[RANDOM_TERMS];
    int terms;
    const char *index; /* axis along the columns, for conditions on coordinates; NULL: none */
    const char *row_index;
    const char *place; /* scale of a condition's constant: a dim */
    char text[RANDOM_TEXT];
    size_t length;
};

/* ---- random_spec.c ----------------------------------------------------------------------------------------------- */

int random_below(struct random_spec *g, int n);
bool random_chance(struct random_spec *g, int percent);
void random_feature(struct random_spec *g, const char *word);
void random_write(struct random_spec *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void random_term(struct random_spec *g, bool tile, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes a value, a whole tile, of operations nested `depth` deep. */
void random_value(struct random_spec *g, int depth);

/* Adds the term, by its name, to the value that was written from `from` on where that does not hold it: what nobody
 * uses is a fault of the spec. */
void random_use(struct random_spec *g, size_t from, const char *term, const char *scale);

/* The whole spec, to `out`. */
void random_spec_write(uint64_t seed, FILE *out);

/* ---- random_rows.c, random_dots.c: programs without and with dots ------------------------------------------------ */

void random_rows(struct random_spec *g);
void random_dots(struct random_spec *g);

#endif
