/* Inside host.c and host_facts.c: what is decided about a C pair before a template sees it. */
#ifndef TW_GEN_EMIT_HOST_HOST_FACTS_H
#define TW_GEN_EMIT_HOST_HOST_FACTS_H

#include "emit/host/host.h"
#include "spec/arena.h"

/* A tensor map of one or more Plans: equal ones are one. */
struct host_map {
    const struct plan *plan; /* the first that has it */
    const struct plan_map *map;
    const struct plan_tensor *tensor;
    uint64_t constant[SPEC_MAX_RANK]; /* extents, innermost first; 0: not constant */
    uint64_t image[16];
    unsigned targets; /* bit i: target i has it */
};

/* The images of one architecture. */
struct host_target {
    const char *id; /* "sm_90a" */
    int major, minor;
    bool exact; /* its code runs on that compute capability alone */
    bool newer;
    int first, count; /* of images */
    int own;          /* of them those that are no set-ups */
};

/* A way to a set-up: sizes below `from` go on at `less`, others at `more`; ~n ends at set-up n. */
struct host_split {
    int symbol;
    int64_t from;
    int less, more; /* of host_facts.split */
};

/* A GPU for which set-ups were measured. */
struct host_choice {
    const char *gpu;
    int target;
    int root;          /* as host_split.less */
    int first, count;  /* of model.tuned */
    int splits, split; /* how many are its own, and the first */
};

/* A condition that formulas need before they are computed. */
struct host_guard {
    const char *c;    /* an upper bound of all that is computed, in double; or a divisor */
    const char *what; /* for people: "the strides of A" */
};

struct host_facts {
    const struct host_model *model;
    const struct plan *plan; /* the first: sizes, tensors and scalars are those of all */
    int generator;
    bool debug;      /* a debug build: its waits leave records */
    bool data;       /* the kernels' own text and bytes are wanted */
    bool python;     /* so is what Python sees: host_python.h */
    bool shared;     /* the launcher is the folder's: tilewright_host.h */
    const char **id; /* by image: "sm_90a_unaligned" */
    int *target_of;  /* by image */
    struct host_map *map;
    int map_count;
    int **map_of; /* by image, then by plan.map: index into map */
    struct host_target *target;
    int target_count;
    struct host_choice *choice;
    int choice_count;
    struct host_split *split;
    int split_count;
    struct host_guard *guard, *divisor;
    int guard_count, divisor_count;
    const char **c_name; /* symbols in C: "args->M", last "sm_count" */
    int64_t *limit;      /* by symbol */
    struct arena *arena;
    bool *no_memory; /* set by the walk, which cannot return it */
};

/* Decides everything; faults go to diags. 0, 1 or 3. */
int host_decide(struct host_facts *facts, struct diag_set *diags);

/* Of a tensor that nobody reads in some launches: where a scalar says so, or a template of the user's own does. */
bool host_may_be_null(const struct host_facts *facts, int tensor);

/* What a variant asks of a tensor: bytes that address and pitches must be multiples of, 1 or more. */
int host_align(const struct plan *plan, int tensor);

/* A formula over the sizes as C; NULL out of memory. A node of -1 is 1. */
const char *host_formula(const struct host_facts *facts, const struct plan *plan, int node);

/* A bound of a formula's magnitude over the sizes that are admitted. */
double host_bound(const struct host_facts *facts, const struct plan *plan, int node);

/* Whether a formula reads symbol i. */
bool host_reads(const struct plan *plan, int node, int symbol);

/* Whether the kernel takes the size: as a parameter, or for its grid or its tensors' shapes. */
bool host_is_argument(const struct plan *plan, int symbol);

#endif
