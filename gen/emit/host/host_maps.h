/* Tensor maps of a C pair: which of their 1,024 bits are constants, and which a launch patches. */
#ifndef TW_GEN_EMIT_HOST_MAPS_H
#define TW_GEN_EMIT_HOST_MAPS_H

#include "emit/host/host_facts.h"
#include "plan/sink.h"

/* Writes them as `host.map`, `host.map_count`, `host.map_strides`, `host.windows` (any is of
 * windows) and `host.workaround`. Of a map:
 *
 *     image      the 16 words that every launch begins with, as texts
 *     dense      the strides in bytes that stand in the image, where all are constants; else zeros
 *     patch      the words that a launch writes: word; strided: its bits are strides'; constant: the image's other
 *                bits, as text, "" where there are none; part: { source, index, from, at, low }, the bits of
 *                source[index] from `from` on, to bit `at` on, low: the 32 lowest alone
 *     in_image   whether dense tensors have their strides in the image, and need no patch for them
 *     window_dims   spatial dims of its windows, 0 where it is tiled; channels, pixels, lower, upper, step: their box
 *     sized, strided   whether any word is patched with extents, with strides */
void host_maps(const struct host_facts *f, const struct sink *s);

#endif
