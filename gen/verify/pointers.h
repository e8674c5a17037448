/* Tensors whose slices along the first dim have addresses of their own (plan/map_pointers.h): the array of addresses,
 * as a caller of the kernel has it on the device. Their elements lie in one buffer, as those of other tensors do. */
#ifndef TW_GEN_VERIFY_POINTERS_H
#define TW_GEN_VERIFY_POINTERS_H

#include "device.h"
#include "plan/plan.h"
#include "verify/shape.h"

/* Bytes of the array; 0: the tensor has none. */
size_t pointers_bytes(const struct plan_tensor *tensor, const struct shape *shape);

/* Where the array lies behind a buffer of that many bytes, if it has room for pointers_bytes more. */
static inline size_t pointers_behind(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Writes the array at `list` on the device. Slices lie from `first` on, or from the last to the first of them, so that
 * no stride leads from one to the next. */
struct pointers {
    const struct plan_tensor *tensor;
    const struct shape *shape;
    uint64_t first, list;
    bool backwards;
};
int pointers_write(struct tw_runtime *rt, struct tw_device *device, const struct pointers *p, struct tw_error *error);

/* Exchanges the slices from `first` on, so that they lie backwards, or as they did before that. */
void pointers_turn(const struct plan_tensor *tensor, const struct shape *shape, unsigned char *first);

#endif
