/* How a kernel runs: its plain fields, which are the schema's rows, what families choose for those that are left out,
 * and what is said by the names of operations, loops and tensors. Parts of a Spec (spec.h). */
#ifndef TW_GEN_SPEC_HOW_H
#define TW_GEN_SPEC_HOW_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/diag.h"

/* The schema rows: one value each, see schema.def. */
enum spec_field {
#define SPEC_FIELD(id, family, path, type, low, high, words, fallback, needs, doc) FIELD_##id,
#include "spec/schema.def"
#undef SPEC_FIELD
    SPEC_FIELD_COUNT
};

/* One field's value. `set` is false where the spec leaves it out: the Plan then decides and records why. */
struct spec_value {
    bool set;
    struct diag_loc loc;
    int64_t integer;  /* integers; booleans as 0, 1; for a word its position in the row's list */
    const char *text; /* words and strings: owned by the Spec; else NULL */
    const char *why;  /* of a family's choice, its reason; NULL: the spec says the value */
};

/* What the family takes for a field that a kernel leaves out, on an architecture. */
struct spec_choice {
    const char *arch;
    enum spec_field field;
    struct spec_value value;
};
struct spec_choices {
    struct spec_choice *choice;
    int count;
};

struct spec_fields {
    struct spec_value value[SPEC_FIELD_COUNT];
};

struct spec_row {
    const char *path, *family, *doc, *words, *fallback, *needs;
    char type; /* 'i' integer, 'b' boolean, 'w' word, 's' string */
    int64_t low, high;
};
extern const struct spec_row spec_rows[SPEC_FIELD_COUNT];
/* A field's value: the spec's, or where it is left out and the schema names a value, that. For integers and
 * booleans. */
int64_t spec_field_value(const struct spec_fields *fields, enum spec_field field);

/* Why a field that is set has its value: the spec says so, or the family's words. */
const char *spec_reason(const struct spec_value *value);

/* ahead = { s = { turns = 1, before = "o" } }: the program's operation s is issued that many turns earlier. */
struct spec_ahead {
    const char *name;
    int turns;
    const char *before; /* the operation before which it is issued, NULL: the Plan decides */
    const char *why;    /* of a family's choice, its reason; NULL: the spec says it */
    struct diag_loc loc;
};

/* via = { q = "resident" }: how the data of a load come, or elements of a tensor that arithmetic names; one of
 * spec_via_words. */
struct spec_via {
    const char *name, *word;
    const char *why; /* the family says it; NULL: the spec does */
    bool of_tensor;
    struct diag_loc loc;
};
extern const char *const spec_via_words[]; /* NULL-terminated */

/* direction = { kv = "down" }: whether the loop's turns go from the first to the last or from the last to the first. */
struct spec_direction {
    const char *name;
    bool down;
    struct diag_loc loc;
};

/* cache = { B = "evict_first" }: how the L2 keeps what loads bring of the tensor; "prefetch": it is asked for what is
 * read first of it when blocks begin; "prefetch_evict_first": both. One of spec_cache_words. */
struct spec_cache {
    int tensor;
    const char *word;
    const char *why; /* the family chose it, for that reason; NULL: the spec says so */
    struct diag_loc loc;
};
extern const char *const spec_cache_words[]; /* NULL-terminated */

/* split = { k = 2 }: the blocks of a cluster share the loop's turns, and each has its own sums; what is behind the loop
 * they share by columns. split = { k = { parts = 4, over = "blocks" } }: any; the last adds up what all found. */
struct spec_split {
    const char *name; /* of the loop */
    int parts;
    bool blocks;
    struct diag_loc loc;
};

#endif
