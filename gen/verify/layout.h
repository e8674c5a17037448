/* How a Plan's tensors lie in memory: its formulas evaluated for sizes; and its shared memory by name. All functions
 * are thread-safe. */
#ifndef TW_GEN_VERIFY_LAYOUT_H
#define TW_GEN_VERIFY_LAYOUT_H

#include <stdbool.h>

#include "device.h"
#include "plan/plan.h"
#include "status.h"
#include "verify/shape.h"

/* used[i]: a tensor's extent or stride, or the grid, depends on symbol i, or the kernel has it as a parameter. */
void layout_symbols(const struct plan *p, bool *used);

/* Extents and default strides of a tensor for these sizes. TW_ERROR_INVALID where a formula overflows or an extent is
 * negative. */
int layout_shape(const struct plan *p, int tensor, const int64_t *symbol, struct shape *shape, struct tw_error *error);

/* True where the tensor's strides reach the kernel (by a tensor map or as parameters), so that rows may be padded. */
bool layout_strides_are_arguments(const struct plan *p, int tensor);

/* What the parts of a Plan's shared memory are called in reports; parts past the last range have no name. */
struct layout_shared {
    struct tw_shared_range range[32]; /* their names point into `name` */
    char name[32][64];
    size_t count;
};
void layout_shared(const struct plan *p, struct layout_shared *shared);

#endif
