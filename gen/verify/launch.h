/* A Plan on a device: shapes, alignment, parameters, grid. Nothing here decides: every number is the Plan's formula
 * evaluated for these sizes. All functions are thread-safe; no argument is kept. */
#ifndef TW_GEN_VERIFY_LAUNCH_H
#define TW_GEN_VERIFY_LAUNCH_H

#include <stdbool.h>

#include "device.h"
#include "plan/plan.h"
#include "verify/shape.h"

/* What a caller passes for one launch. */
struct launch_arguments {
    const int64_t *symbol;     /* by plan.symbol, sm_count the last; a dim that the kernel does not use may be -1 */
    const uint64_t *address;   /* by plan.tensor: of each tensor's first element */
    const struct shape *shape; /* by plan.tensor: of launch_shape, strides then set at will */
    const double *scalar;      /* by plan.scalar */
    uint64_t workspace;        /* address of plan.workspace_bytes zeros; 0 where the Plan wants none */
};

/* used[i]: a tensor's extent or stride, or the grid, depends on symbol i. */
void launch_symbols(const struct plan *p, bool *used);

/* Extents and default strides of a tensor for these sizes. TW_ERROR_INVALID where a formula overflows or an extent is
 * negative. */
int launch_shape(const struct plan *p, int tensor, const int64_t *symbol, struct shape *shape, struct tw_error *error);

/* True where the tensor's strides reach the kernel (by a tensor map or as parameters), so that rows may be padded. */
bool launch_strides_are_arguments(const struct plan *p, int tensor);

/* TW_OK where this Plan may be launched on these arguments; else TW_ERROR_INVALID (what the spec says of a dim does not
 * hold) or TW_ERROR_UNSUPPORTED (an address, a row or a stride that its instructions cannot reach), with the rule and
 * what would do. */
int launch_fits(const struct plan *p, const struct launch_arguments *arguments, struct tw_error *error);

/* The first of the variants, in order of preference, that fits; -1 where none does, and then *error says why the last
 * does not. */
int launch_choose(const struct plan *const *variant, int count, const struct launch_arguments *arguments,
                  struct tw_error *error);

/* Writes plan.param_bytes bytes to params, which is aligned to 64 bytes: maps encoded for compute capability cc (90 is
 * 9.0). A dim of extent 0 is encoded as 1: such a map is never read. */
int launch_pack(const struct plan *p, const struct launch_arguments *arguments, int cc, void *params,
                struct tw_error *error);

/* Blocks of the grid, by the Plan's formulas; all zero where every output is empty. */
int launch_grid(const struct plan *p, const struct launch_arguments *arguments, uint32_t grid[3],
                struct tw_error *error);

/* Packs and launches; asynchronous. *launched (may be NULL) is false where there was nothing to do. */
int launch_plan(struct tw_device *device, struct tw_kernel *kernel, const struct plan *p,
                const struct launch_arguments *arguments, bool *launched, struct tw_error *error);

#endif
