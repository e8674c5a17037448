/* A program's meaning as the reference of a run: tensors as they lie in memory, as many items as a budget allows. */
#ifndef TW_GEN_PROGRAM_MEANING_REFERENCE_H
#define TW_GEN_PROGRAM_MEANING_REFERENCE_H

#include "program/program.h"

/* One tensor on the host. */
struct program_tensor {
    const void *bytes;                                    /* its first element; unused for outputs */
    int64_t extent[SPEC_MAX_RANK], stride[SPEC_MAX_RANK]; /* elements, memory order */
};

struct program_reference {
    const struct spec_kernel *kernel;
    const struct program *program;       /* what an architecture has of it; NULL: the kernel's own */
    const bool *down;                    /* by operation, as program_run has it; NULL */
    bool halves;                         /* as program_run has it, and so are parts and free_casts */
    const int *parts;
    enum program_casts free_casts;
    const int64_t *symbol;               /* by dim of the spec */
    const struct program_tensor *tensor; /* by tensor of the kernel */
    const double *scalar;
    double *const *out, *const *bound; /* by tensor: of outputs dense, row-major in their dims; else NULL */
    unsigned char *const *done;        /* likewise */
    int64_t budget; /* nodes of elements and products to evaluate, about: of a few items, were it more; 0: all there
                       are. Programs that add to a tensor are evaluated whole always */
    uint64_t seed;  /* of the items that are taken where all are too many */
    const struct memory *memory; /* for a double of each element of the inputs; NULL: the kernel's, which has a bound */
    void (*parallel)(int64_t count, int threads, void (*work)(void *context, int64_t i), void *context); /* or NULL */
    int threads;
    int64_t *products; /* receives what program_run says; or NULL */
    int (*stop)(void *context); /* asked before each part, by any thread: not 0 leaves out those that follow; or NULL */
    void *stop_context;
};

/* Writes to out, bound and done what program_evaluate says. *all: whether every item was evaluated; where not, elements
 * that are not done may be anything. *work receives how many nodes of elements and products were evaluated. 0; 1 with
 * the fault of the data in *error; 3 out of memory. */
int program_reference(const struct program_reference *reference, bool *all, int64_t *work, struct program_error *error);

/* Whether the program adds to this tensor, which then has to hold numbers before it runs. */
bool program_adds_to(const struct program *p, int tensor);

/* The narrowest floating dtype that the program rounds to on its way, fp32 where it does not: a reference by hand that
 * does not round is as far away. */
enum tw_dtype program_narrowest_cast(const struct program *p);

#endif
