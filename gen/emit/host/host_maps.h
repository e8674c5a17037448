/* Tensor maps of a C pair: which of their 1,024 bits are constants, and which a launch patches. */
#ifndef TW_GEN_EMIT_HOST_MAPS_H
#define TW_GEN_EMIT_HOST_MAPS_H

#include "emit/host/host_facts.h"
#include "plan/sink.h"

/* Writes them as `host.map` and `host.map_count`. Of a map: image, the 16 words that every launch begins with, as
 * texts; window_dims, spatial dims of its windows, 0 where it is tiled; channels, pixels, lower, upper, step: their
 * box. */
void host_maps(const struct host_facts *f, const struct sink *s);

/* What is known of all maps: `host.workaround`, and `host.patch`, the bits that depend on the tensor, by the half of
 * a word that they lie in: half; above: the ranks that have it; value, as C; from: its first bit; at: where in the
 * half. */
void host_map_rows(const struct sink *s);

#endif
