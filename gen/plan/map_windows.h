/* What windows make of a tensor map's call: cuTensorMapEncodeIm2col in the place of EncodeTiled.
 *
 * The hardware walks from the first pixel of one window to that of the next: by the element strides, between the
 * corners, W innermost. A load's offsets then choose the tap. [H200] Where the walk begins, it is inside of them.
 */
#ifndef TW_GEN_PLAN_MAP_WINDOWS_H
#define TW_GEN_PLAN_MAP_WINDOWS_H

#include "plan/plan.h"
#include "tensormap/tensormap.h"

/* Most pixels of a load's offset by spatial dims less 1: 16, 8 and 5 bits [PTX ISA 5.5.4.1]. */
static const int map_most_offset[WINDOW_DIMS] = {65535, 255, 31};

/* A spatial extent that no constant gives: windows fit into it, and no rule of a map is broken. */
enum { MAP_IMAGE = (1 << 20) + 1 };

/* Sets func, corners, channels, pixels and element strides of a call whose dims and strides are set. */
static inline void map_windows(const struct plan_map *m, const struct spec_window *w, struct tw_tensormap_call *call)
{
    if (!w->dims)
        return;
    call->func = TW_TENSORMAP_IM2COL;
    call->channels = (uint32_t)m->box[0];
    call->pixels = (uint32_t)m->box[m->rank - 1];
    for (int i = 0; i < w->dims; i++) {
        const int d = w->dims - 1 - i;
        call->lower[i] = -w->before[d];
        call->upper[i] = w->after[d] - window_reach(w, d);
        call->estride[i + 1] = (uint32_t)w->step[d];
    }
}

#endif
