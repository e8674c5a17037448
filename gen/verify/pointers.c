#include "verify/pointers.h"

/* Elements of a slice from its first to its last. */
static int64_t slice_span(const struct shape *s)
{
    struct shape slice = {.rank = s->rank - 1};
    for (int d = 1; d < s->rank; d++) {
        slice.extent[d - 1] = s->extent[d];
        slice.stride[d - 1] = s->stride[d];
    }
    return shape_span(&slice);
}

/* Slices that overlap cannot be exchanged. */
static bool may_turn(const struct shape *s)
{
    return s->extent[0] > 1 && slice_span(s) <= s->stride[0];
}

size_t pointers_bytes(const struct plan_tensor *tensor, const struct shape *shape)
{
    return tensor->pointers ? sizeof(uint64_t) * (size_t)shape->extent[0] : 0;
}

int pointers_write(struct tw_runtime *rt, struct tw_device *device, const struct pointers *p, struct tw_error *error)
{
    const size_t bytes = pointers_bytes(p->tensor, p->shape);
    const int64_t count = p->shape->extent[0];
    uint64_t *address = bytes ? tw_alloc(rt, bytes) : NULL;
    if (!bytes)
        return TW_OK;
    if (!address)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = p->backwards && may_turn(p->shape) ? count - 1 - i : i;
        address[i] = p->first + (uint64_t)(at * p->shape->stride[0]) * tw_dtype_bytes(p->tensor->dtype);
    }
    int status = tw_device_upload(device, p->list, address, bytes, error);
    tw_free(rt, address);
    return status;
}

void pointers_turn(const struct plan_tensor *tensor, const struct shape *shape, unsigned char *first)
{
    if (!tensor->pointers || !may_turn(shape))
        return;
    const size_t size = tw_dtype_bytes(tensor->dtype), bytes = (size_t)slice_span(shape) * size;
    for (int64_t one = 0, other = shape->extent[0] - 1; one < other; one++, other--) {
        unsigned char *a = first + (size_t)(one * shape->stride[0]) * size;
        unsigned char *b = first + (size_t)(other * shape->stride[0]) * size;
        for (size_t i = 0; i < bytes; i++) {
            const unsigned char kept = a[i];
            a[i] = b[i];
            b[i] = kept;
        }
    }
}
