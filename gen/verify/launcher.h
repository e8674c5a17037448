/* Launches, through the emitted NAME.c: compiled by the machine's C compiler, loaded into this program, and given the
 * device's driver entry points. What is checked, chosen, encoded and packed is what ships; only the kernel's code,
 * which may be a text by hand, is put in the place of names when the pair loads it. */
#ifndef TW_GEN_VERIFY_LAUNCHER_H
#define TW_GEN_VERIFY_LAUNCHER_H

#include <stdbool.h>

#include "compile/compile.h"
#include "device.h"
#include "verify/shape.h"

struct launcher;

/* Whether a device runs code for an architecture: that for sm_90a on compute capability 9.0 alone; code without such a
 * suffix on that and higher ones, from PTX where the major number is another. */
bool launcher_runs_on(const struct arch *arch, const struct tw_device *device);

/* The emulator executes PTX; a GPU needs it for code of another major number. */
bool launcher_needs_ptx(const struct arch *arch, const struct tw_device *device);

/* What a caller passes for one launch. */
struct launcher_arguments {
    const int64_t *symbol;     /* by plan.symbol */
    const uint64_t *address;   /* by plan.tensor: of each tensor's first element, or of the array of addresses */
    const uint64_t *align;     /* by plan.tensor: what slices with addresses of their own divide by, 0: what is asked
                                  at best; or NULL */
    const struct shape *shape; /* by plan.tensor */
    bool strides;              /* those of `shape`; else the defaults */
    const double *scalar;      /* by plan.scalar */
    uint64_t workspace;        /* address of as many zeros as launcher_workspace says; 0: none */
};

/* What a launch would do. */
struct launcher_answer {
    int variant;        /* by the list of units */
    uint32_t grid[3];   /* all 0: nothing */
};

/* Emits and compiles the pair of these units: variants of one kernel on one architecture, in their order. Thread-safe.
 * After any result launcher_close is due. TW_ERROR_NO_TOOL: there is no C compiler. */
int launcher_open(struct launcher **launcher, struct compile *c, const int *unit, int count, struct tw_error *error);

/* One of those units. */
const struct compile_unit *launcher_unit(const struct launcher *launcher, int variant);

/* Loads the pair on the device, with the code that the units have now. ptx: the PTX, also where there is a cubin. */
int launcher_load(struct launcher *launcher, struct tw_device *device, bool ptx, struct tw_error *error);
void launcher_unload(struct launcher *launcher);
void launcher_close(struct launcher *launcher);

/* From now on launches take this variant's set-up, whatever their sizes; -1: that of their sizes, as after load. */
void launcher_force(struct launcher *launcher, int variant);

/* TW_OK where the pair takes these arguments. Else TW_ERROR_INVALID, in the words of NAME_params. */
int launcher_ask(struct launcher *launcher, const struct launcher_arguments *arguments, struct launcher_answer *answer,
                 struct tw_error *error);

/* NAME_workspace for these sizes. */
int launcher_workspace(struct launcher *launcher, const int64_t *symbol, uint64_t *bytes, struct tw_error *error);

/* NAME_launch; asynchronous. A failure of the emulator's comes in its words and with its status. */
int launcher_launch(struct launcher *launcher, const struct launcher_arguments *arguments, struct tw_error *error);

/* Of a variant, by the list of units: the CUmodule; the emulator's kernel, NULL on a GPU. */
void *launcher_module(const struct launcher *launcher, int variant);
struct tw_kernel *launcher_kernel(const struct launcher *launcher, int variant);

#endif
