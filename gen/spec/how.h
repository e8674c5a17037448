/* How a kernel runs, as far as it is said by the names of operations, loops and tensors: entries of a Spec (spec.h). */
#ifndef TW_GEN_SPEC_HOW_H
#define TW_GEN_SPEC_HOW_H

#include <stdbool.h>

#include "spec/diag.h"

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

/* cache = { B = "evict_first" }: how the L2 keeps what loads bring of the tensor; one of spec_cache_words. */
struct spec_cache {
    int tensor;
    const char *word;
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
