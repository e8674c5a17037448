/* One kernel on one set of sizes and inputs: tensors on host and device, the reference, and any variant's result
 * compared with it. */
#ifndef TW_GEN_VERIFY_TRIAL_H
#define TW_GEN_VERIFY_TRIAL_H

#include <stdbool.h>

#include "compile/compile.h"
#include "device.h"
#include "program/meaning/reference.h"
#include "verify/inputs.h"
#include "verify/launcher.h"
#include "verify/shape.h"

struct trial_request {
    struct compile *compile;
    struct tw_device *device;
    const struct compile_unit *unit; /* any variant of one set-up: they have the same tensors and program */
    const int64_t *symbol;           /* by plan.symbol */
    enum inputs_kind inputs;
    uint64_t seed;
    int64_t fill_most;               /* of spec_run_fill; 0: fills that are functions are called for all elements */
    const unsigned char *const *given; /* by tensor: an input's bytes, in the layout of the trial; NULL, as of all of
                                          them: it is drawn */
    bool padded;                     /* rows farther apart than dense, where strides are arguments */
    int (*stop)(void *context);      /* as struct program_reference's, or NULL */
    void *stop_context;
};

/* A tensor on both sides: poison, its elements and padding, poison. */
struct trial_tensor {
    struct shape shape;
    size_t begin, span;      /* of the first element in the buffer; of the elements and what lies between them: on the
                                emulator a launch that touches anything else of the buffer is out of bounds */
    size_t bytes;            /* of the buffer */
    unsigned char *host;     /* the buffer */
    uint64_t buffer;         /* on the device */
    uint64_t list;           /* of addresses, likewise, where slices have such, and lie there backwards; else 0 */
    double *reference;       /* outputs: dense */
    double *bound;           /* outputs of programs: beside the reference, how far a result may be; else NULL */
    unsigned char *done;     /* likewise: whether the program writes the element */
    bool begins_at_zero;     /* the program adds to it */
};

struct trial {
    struct trial_request request;
    struct trial_tensor *tensor; /* by plan.tensor */
    int tensor_count;
    double *scalar;              /* by plan.scalar */
    uint64_t workspace;          /* on the device: zeros; 0 as long as no variant wanted one */
    size_t workspace_bytes;
    double inputs_seconds, reference_seconds;
    bool sampled;                /* of a program only some work items were evaluated */
};

struct trial_result {
    bool passed;
    bool equality;       /* equal results were asked for */
    bool launched;       /* false: there was nothing to compute */
    double error, bound; /* of the output that is farthest from its bound; of programs, whose elements have bounds each,
                            the norms of differences and bounds */
    int64_t elements;    /* of programs: those that were held against a bound, and */
    int64_t unbounded;   /* those whose bound is infinite, as where the reference is not a number; of these */
    int64_t nan;         /* so many are no number where the reference is one */
    double seconds;      /* of launch and wait */
    char why[512];       /* why it did not pass */
};

/* Shapes of the tensors, `shape` having room for all; TW_OK or TW_ERROR_INVALID. */
int trial_layout(const struct plan *p, const int64_t *symbol, bool padded, struct shape *shape,
                 struct tw_error *error);

/* The tensor's bytes as the device has them now into `host`. */
int trial_download(const struct trial *t, int number, struct tw_error *error);

/* Allocates, draws the inputs, uploads them and computes the reference. After any result trial_end is due. */
int trial_begin(struct trial *t, const struct trial_request *request, struct tw_error *error);

/* How a kernel is launched. */
struct trial_way {
    uint64_t workspace; /* bytes that a launch wants */
    int (*launch)(void *context, const struct launcher_arguments *arguments, bool *launched, struct tw_error *error);
    void *context;
};

/* Poisons the outputs, launches, compares. TW_OK whatever the comparison says; other statuses are those of the device,
 * which may then be unusable. */
int trial_run(struct trial *t, const struct trial_way *way, struct trial_result *result, struct tw_error *error);

/* The same by this variant of the launcher's. Tensors begin where no variant before it takes them. */
int trial_launch(struct trial *t, struct launcher *launcher, int variant, struct trial_result *result,
                 struct tw_error *error);

/* TW_OK where the launcher takes these sizes in this variant, trial_launch's addresses given; else why not. padded: as
 * trial_request has it. */
int trial_fits(struct compile *c, struct launcher *launcher, int variant, const int64_t *symbol, bool padded,
               struct tw_error *error);
void trial_end(struct trial *t);

/* down[i] for each LOOP i of the program whose turns the Plan takes from the last to the first. */
void trial_loops_down(const struct plan *plan, bool *down);

/* parts[i], for each LOOP i of which blocks have parts that its combine puts together: how many. */
void trial_loop_parts(const struct plan *plan, int *parts);

/* ---- a program with other turns (trial_turns.c) ------------------------------------------------------------------ */

/* The program that the architecture has: its tile decides what is rounded on the way. */
const struct program *trial_program(const struct trial *t);

/* How its loops run, as struct program_run has it. */
struct trial_turns {
    const bool *down;
    bool halves;
    const int *parts;
    enum program_casts free_casts;
    int part; /* of the work that a meaning may take: one of so many; 0: all of it. Its items are among those of all */
};

/* What a program means, by tensor: of outputs, as struct program_reference has them; else NULL. */
struct trial_meaning {
    double **value, **bound;
    unsigned char **done;
    bool all; /* every item was evaluated */
    int64_t work, products; /* as struct program_run has them */
};

/* Room for a meaning, zeros; trial_meaning_close is due after any result. TW_OK or TW_ERROR_MEMORY. */
int trial_meaning_open(const struct trial *t, struct trial_meaning *m, struct tw_error *error);
void trial_meaning_close(const struct trial *t, struct trial_meaning *m);

/* Evaluates the trial's program on its inputs. TW_OK, TW_ERROR_INVALID for a fault of the data, TW_ERROR_MEMORY. */
int trial_meaning(const struct trial *t, const struct trial_turns *turns, struct trial_meaning *m,
                  struct tw_error *error);

/* The first element of output i that both write and that is farther from the other than both bounds; -1. */
int64_t trial_meanings_apart(const struct trial *t, int i, const struct trial_meaning *one,
                             const struct trial_meaning *other);

/* ---- between trial.c and trial_program.c ------------------------------------------------------------------------- */

/* The spec's own reference; out[i] receives output i. */
int trial_spec_reference(struct trial *t, double *const *out, struct tw_error *error);

/* The meaning of a program with its bounds; where the spec has a reference too and the sizes are small, both must
 * agree. */
int trial_program_reference(struct trial *t, struct tw_error *error);

/* What a kernel's meaning says is wrong, with the file and line where it stands. Returns the status. */
int trial_program_fault(const struct compile *c, const char *kernel, const struct program_error *fault,
                        struct tw_error *error);

/* Of a program whose meaning is `whole` with these loops down: loops that have a combine come to the same, but for
 * rounding, in two halves that it puts together (trial_combine.c). */
int trial_check_combine(const struct trial *t, const bool *down, const struct trial_meaning *whole,
                        struct tw_error *error);

#endif
