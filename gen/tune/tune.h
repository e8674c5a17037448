/* tilewright tune SPEC: which set-up of a kernel is the quickest at which sizes.
 *
 *   candidates.c  what there is to try: the product of the spec's `tune` and of what is offered for the rest, each as a
 *                 row of a file of set-ups, read, traced and planned as SPEC.tuned.lua is
 *   model.c       in which order: what the Plan says that a launch takes
 *   search.c      measures: many briefly, few for long, variations of the best; the quickest becomes a row
 *   again.c       measures rows again, in a process that did not choose them
 *   journal.c     what was measured, on disk from the moment on that it was: an interrupted run goes on
 *   rows.c        SPEC.tuned.lua as a text: rows that stand there, those that are new
 *
 * The clock is a pointer, `measure`; what is measured with is not known here. */
#ifndef TW_GEN_TUNE_TUNE_H
#define TW_GEN_TUNE_TUNE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/options.h"
#include "compile/compile.h"
#include "spec/arena.h"
#include "tune/model.h"
#include "verify/sizes.h"

enum { TUNE_MOST_CANDIDATES = 2048 };

/* What the time of a run goes into. */
#define TUNE_PARTS_DO(PART)                                                                                            \
    PART(READ, "reading and planning")                                                                                 \
    PART(COMPILE, "compiling")                                                                                         \
    PART(LOAD, "loading")                                                                                              \
    PART(DATA, "inputs")                                                                                               \
    PART(COMPARE, "comparing results")                                                                                 \
    PART(TIME, "timing")
enum tune_part {
#define TUNE_PART(name, words) TUNE_##name,
    TUNE_PARTS_DO(TUNE_PART)
#undef TUNE_PART
        TUNE_PARTS
};

/* What is to be measured: units of one kernel on one architecture, compiled, at one set of sizes. */
struct tune_job {
    struct compile *compile;
    const int *unit; /* by candidate */
    int count;
    const int64_t *symbol; /* by plan.symbol */
    bool burst;            /* else sustained */
    bool brief;            /* a first look: as short as it can be */
    double seconds;        /* that it may take, but for a round of the first two candidates; 0: as long as it takes */
    double *spent;         /* by tune_part: what it takes is added */
};

/* In the place of a time: there was none for it. */
#define TUNE_UNTIMED (-1.0)

/* A clock. ns[i] receives what a launch of candidate i takes, 0 where it cannot be launched or its result is wrong,
 * TUNE_UNTIMED where job->seconds did not allow it. A status; on any but TW_OK the run ends, and what was measured
 * before stays in the journal. */
struct tune_clock {
    int (*measure)(void *context, const struct tune_job *job, double *ns, struct tw_error *error);
    void *context;
    const char *gpu; /* "NVIDIA H200" */
    bool no_code;    /* it looks at Plans alone: nothing is compiled for it */
    /* What it holds of the compile is let go: that is closed next. NULL: it holds nothing. */
    void (*leave)(void *context, const struct compile *compile);
    double (*now)(void *context); /* seconds, by which the run's time is counted; NULL: compile_clock */
};

struct tune_options {
    const char *spec, *kernel,
        *arch; /* kernel NULL: those that have a `tune`; arch NULL: the device's, or the newest */
    struct option_list set;
    bool burst, resume, list;
    bool dry;                   /* SPEC.tuned.lua stays as it is */
    uint64_t seconds;           /* that it may take, with measuring again in a new process; 0: as long as it takes */
    struct model_device device; /* sms 0: of the architecture */
};

/* ---- candidates.c ----------------------------------------------------------------------------------------------- */

struct tune_candidate {
    const char *use;  /* "tile = { m = 64 }"; "" the kernel's own */
    const char *text; /* the same as it was asked for: its fields may stand in another order */
    int unit;         /* of the compile, -1: none */
    const char *why;  /* it is none; else NULL */
};

/* The candidates of one kernel on one architecture, with the compile that holds their Plans. Must not move. */
struct tune_set {
    struct compile compile;
    bool open;
    struct tune_candidate *candidate;
    int count;
};

/* Fields and the values that are tried of each. */
struct tune_field {
    const char *path; /* "tile.n" */
    const char **value;
    int count;
    bool offered; /* the spec's `tune` says nothing of it */
    bool memory;  /* it is tried where neither tensor cores nor shared memory take longest */
};
struct tune_fields {
    struct tune_field *field;
    int count;
};

/* What is tried together, and what one at a time behind that. The texts are the arena's. 0 or 3. */
int tune_fields(const struct compile *c, const struct spec_kernel *kernel, const struct arch *arch, struct arena *arena,
                struct tune_fields *together, struct tune_fields *alone);

/* The product as texts, "" first; of more than there may be, offered fields are left out from the last on. *left_out:
 * how many. NULL: out of memory. */
const char **tune_product(const struct tune_fields *fields, struct arena *arena, int *count, int *left_out);

/* The text with one field more or other, or NULL where it is as it was, "" out of memory told by *status 3. */
const char *tune_with(const char *use, const char *path, const char *value, struct arena *arena);

/* Reads and plans the set-ups of those texts. Exit status; faults of set-ups are theirs. tune_set_close is due. */
int tune_set_open(struct tune_set *set, const struct tune_options *o, const struct spec_kernel *kernel,
                  const struct arch *arch, const char **use, int count, struct arena *arena);
void tune_set_close(struct tune_set *set);

/* The candidate, which can be planned, is to be compiled; compiles those that are, where the clock wants code: what
 * spills or does not compile is no candidate any more. Exit status. */
void tune_want(struct tune_set *set, int candidate);
int tune_set_compile(struct tune_set *set, const struct tune_clock *clock);

/* ---- list.c --------------------------------------------------------------------------------------------------------
 */

/* A candidate at sizes. */
struct tune_rank {
    int candidate;
    struct model_time time;
};

/* The planned candidates by what the model says, quickest first; those beyond `most`, or much slower than the first,
 * are cut off. rank: room for all. Returns how many are left; *all receives how many were ranked. */
int tune_rank(const struct tune_set *set, const int64_t *symbol, const struct model_device *device, int most,
              struct tune_rank *rank, int *all);

/* What is tuned, a kernel after the other. */
struct tune_kernel {
    const struct tune_options *options;
    struct compile *compile; /* of the spec with its SPEC.tuned.lua */
    const struct spec_kernel *kernel;
    const struct arch *arch;
    struct model_device device;
    struct tune_fields together, alone;
    struct arena arena;
    struct tune_set set; /* the product */
    struct sizes sizes;
    int left;     /* kernels that are still to be tuned, this one among them */
    int left_out; /* fields of which the product has no value but the kernel's own */
};

/* Calls `one` for each kernel that is wanted, with its product planned. Exit status. */
int tune_each(const struct tune_options *options, int (*one)(void *context, struct tune_kernel *k), void *context);

/* Prints the candidates by sizes, as the model has them, and why others are none. Exit status. */
int tune_list(const struct tune_options *options, FILE *out);

enum { TUNE_ALIKE = 3 };     /* of those that cut the work into as many items */
enum { TUNE_MEASURED = 32 }; /* candidates that the model leaves at one size */

/* ---- search.c -----------------------------------------------------------------------------------------------------
 */

/* Seconds on the clock that the run's time is counted by. */
double tune_now(const struct tune_clock *clock);

/* Prints how long it took since `began`, by compile_clock, and what of that each part: "took 61.0 s: compiling 20.1,
 * ..." */
void tune_print_spent(double began, const double *spent);

/* All of it. Exit status. */
int tune_run(const struct tune_options *options, const struct tune_clock *clock);

/* ---- again.c ------------------------------------------------------------------------------------------------------
 */

/* The rows of this GPU and mode, measured again beside the kernels' own set-ups: their times are written, and where a
 * set-up is slower than the kernel's own it goes. Exit status. */
int tune_again(const struct tune_options *options, const struct tune_clock *clock);

#endif
