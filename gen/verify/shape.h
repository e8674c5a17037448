/* Extents and strides of a tensor in memory, and a walk over its elements. */
#ifndef TW_GEN_VERIFY_SHAPE_H
#define TW_GEN_VERIFY_SHAPE_H

#include <stdint.h>

#include "spec/spec.h"

/* Memory order, innermost dim last; elements. */
struct shape {
    int rank;
    int64_t extent[SPEC_MAX_RANK];
    int64_t stride[SPEC_MAX_RANK];
};

/* Elements are walked, and handed to threads, in blocks of this many. */
enum { SHAPE_BLOCK = 1 << 16 };

/* Elements of the tensor. */
static inline int64_t shape_count(const struct shape *s)
{
    int64_t count = 1;
    for (int d = 0; d < s->rank; d++)
        count *= s->extent[d];
    return count;
}

/* Elements from the first to one past the last in memory; 0 for an empty tensor. */
static inline int64_t shape_span(const struct shape *s)
{
    int64_t last = 0;
    for (int d = 0; d < s->rank; d++) {
        if (s->extent[d] == 0)
            return 0;
        last += (s->extent[d] - 1) * s->stride[d];
    }
    return last + 1;
}

/* Where a walk in row-major order of the dims stands. */
struct shape_walk {
    const struct shape *shape;
    int64_t index[SPEC_MAX_RANK];
    int64_t offset; /* elements from the tensor's first */
};

/* Puts the walk at element `linear`, counted in row-major order. */
static inline void shape_seek(struct shape_walk *w, const struct shape *s, int64_t linear)
{
    w->shape = s;
    w->offset = 0;
    for (int d = s->rank - 1; d >= 0; d--) {
        int64_t extent = s->extent[d] ? s->extent[d] : 1;
        w->index[d] = linear % extent;
        linear /= extent;
        w->offset += w->index[d] * s->stride[d];
    }
}

static inline void shape_next(struct shape_walk *w)
{
    const struct shape *s = w->shape;
    for (int d = s->rank - 1; d >= 0; d--) {
        w->offset += s->stride[d];
        if (++w->index[d] < s->extent[d])
            return;
        w->offset -= s->extent[d] * s->stride[d];
        w->index[d] = 0;
    }
}

/* Puts the walk at the first element of a block of SHAPE_BLOCK, of `count` elements; *first is its number, the result
 * that of the element behind the block's last. */
static inline int64_t shape_seek_block(struct shape_walk *w, const struct shape *s, int64_t block, int64_t count,
                                       int64_t *first)
{
    int64_t end = (block + 1) * SHAPE_BLOCK;
    *first = block * SHAPE_BLOCK;
    shape_seek(w, s, *first);
    return end < count ? end : count;
}

#endif
