/* A Plan launched without the emitted C: parameters and grid from its formulas, once more. For tests that time or
 * damage kernels, and to compare what NAME.c packs. No argument is kept. */
#ifndef TW_TESTS_UNIT_PLAN_LAUNCH_H
#define TW_TESTS_UNIT_PLAN_LAUNCH_H

#include <stdbool.h>

#include "device.h"
#include "plan/plan.h"
#include "verify/launcher.h"
#include "verify/layout.h"

/* What a caller passes for one launch. */
struct launch_arguments {
    const int64_t *symbol;     /* by plan.symbol, sm_count the last; a dim that the kernel does not use may be -1 */
    const uint64_t *address;   /* by plan.tensor: of each tensor's first element */
    const struct shape *shape; /* by plan.tensor: of layout_shape, strides then set at will */
    const double *scalar;      /* by plan.scalar */
    uint64_t workspace;        /* address of plan.workspace_bytes zeros; 0 where the Plan wants none */
};

/* Whether the Plan's variant takes these arguments; why it does not is for the emitted C to say. */
bool launch_fits(const struct plan *p, const struct launch_arguments *arguments);

/* Writes plan.param_bytes bytes to params, which is aligned to 64 bytes: maps encoded for compute capability cc (90 is
 * 9.0). A dim of extent 0 is encoded as 1: such a map is never read. */
int launch_pack(const struct plan *p, const struct launch_arguments *arguments, int cc, void *params,
                struct tw_error *error);

/* Blocks of the grid, by the Plan's formulas; all zero where every output is empty. */
int launch_grid(const struct plan *p, const struct launch_arguments *arguments, uint32_t grid[3],
                struct tw_error *error);

/* A Plan as a way to launch a trial: context of plan_way_launch. */
struct plan_way {
    struct tw_device *device;
    struct tw_kernel *kernel;
    const struct plan *plan;
};
int plan_way_launch(void *context, const struct launcher_arguments *arguments, bool *launched, struct tw_error *error);

/* Packs and launches; asynchronous. *launched (may be NULL) is false where there was nothing to do. */
int launch_plan(struct tw_device *device, struct tw_kernel *kernel, const struct plan *p,
                const struct launch_arguments *arguments, bool *launched, struct tw_error *error);

#endif
