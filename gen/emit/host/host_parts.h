/* Which parts of the launcher are in a text: those that its kernel needs, or, where kernels share it, all. */
#ifndef TW_GEN_EMIT_HOST_HOST_PARTS_H
#define TW_GEN_EMIT_HOST_HOST_PARTS_H

#include <stdbool.h>

#include "plan/sink.h"

struct host_parts {
    bool cubin, source, ptx, text; /* has cubins; compiles sources; has PTX; has any text */
    bool maps, windows, pointers;
    bool arrays;          /* of maps, of slices */
    bool large;           /* parameters that drivers before CUDA 12.1 do not take */
    bool sizes;           /* of the arguments: any */
    bool operands, fixed; /* tensors that ask for more than all do; strides that are constants */
    bool tuned, lists, counted, workspace;
    bool clusters, programmatic; /* launches of any variant */
    bool debug;
};

extern const struct host_parts host_all_parts; /* but a debug build's */

/* Writes `host.part`; `host.shared`; `host.types`, with which the names of types begin that all kernels have; and what
 * is known of tensor maps: `host.map_rule` and host_map_rows. kernel NULL: it is shared. */
void host_parts(const struct sink *s, const struct host_parts *parts, const char *kernel);

#endif
