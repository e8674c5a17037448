/* What SPEC.tuned.lua says (read/tuned.c): rows, and the set-ups that they name. */
#ifndef TW_GEN_SPEC_TUNED_H
#define TW_GEN_SPEC_TUNED_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/diag.h"

/* A row of SPEC.tuned.lua: at these sizes a set-up was quickest on that GPU (read/tuned.c). */
struct spec_tuned {
    const char *gpu, *arch;
    int64_t *value;       /* by dim; -1: the kernel has it not */
    bool burst;           /* measured in short bursts; else sustained */
    const char *use;      /* the fields as they are written, "tile = { m = 64 }"; "" the kernel's own */
    int setup;            /* of spec.setup, -1: the kernel's own fields */
    int exact;            /* of spec.setup: the same with these sizes as numbers, for them alone; -1: none */
    double us, ratio;     /* 0: not said */
    struct diag_loc loc;
};

/* What makes a spec_kernel a set-up: a kernel with other fields, for the one architecture that it names. */
struct spec_setup {
    const char *name; /* "tile_m64"; NULL: it is a kernel of the spec */
    const char *use;  /* what it has in the place of the kernel's own */
    const char *why;  /* under spec_options.candidates: why it cannot be planned; or NULL */
    int of;           /* whose: position in spec.kernel */
    const int64_t *fixed; /* by dim: its kernel is made for these sizes alone, numbers to its compiler; NULL: for all */
};

/* Where the set-ups of a spec stand: specs/gemm.tuned.lua of specs/gemm.lua. NULL out of memory. */
char *spec_tuned_path(struct arena *arena, const char *path);

#endif
