/* Tensor maps by the driver's own encoder, to be compared with tensormap.h's. */
#ifndef TW_TENSORMAP_DRIVER_H
#define TW_TENSORMAP_DRIVER_H

#include "driver.h"
#include "tensormap.h"

/* The driver's answer to a call: a CUresult, with the map's 128 bytes where it is 0; -1 where the driver lacks the
   entry point. */
static inline int tw_driver_encode(const struct tw_driver *driver, const struct tw_tensormap_call *c, uint64_t map[16])
{
    void *address = (void *)(uintptr_t)c->addr;
    if (c->func == TW_TENSORMAP_TILED && driver->encode_tiled)
        return driver->encode_tiled(map, (int)c->dtype, c->rank, address, c->dim, c->stride, c->box, c->estride,
                                    (int)c->interleave, (int)c->swizzle, (int)c->l2, (int)c->oob);
    if (c->func == TW_TENSORMAP_IM2COL && driver->encode_im2col)
        return driver->encode_im2col(map, (int)c->dtype, c->rank, address, c->dim, c->stride, c->lower, c->upper,
                                     c->channels, c->pixels, c->estride, (int)c->interleave, (int)c->swizzle,
                                     (int)c->l2, (int)c->oob);
    if (c->func == TW_TENSORMAP_IM2COL_WIDE && driver->encode_im2col_wide)
        return driver->encode_im2col_wide(map, (int)c->dtype, c->rank, address, c->dim, c->stride, c->lower[0],
                                          c->upper[0], c->channels, c->pixels, c->estride, (int)c->interleave,
                                          (int)c->mode, (int)c->swizzle, (int)c->l2, (int)c->oob);
    return -1;
}

#endif
