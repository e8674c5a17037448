/* libcuda.so.1 over the emulator: the driver's interface for a whole program, on a machine that has no driver. Numbers
   and layouts are those of cuda.h of CUDA 13.0.

   Every entry point is a row of calls.def, and a function of that name: what it answers is what CUDA documents ("CUDA
   Driver API"). They may be called from any thread. Work runs where it is submitted: a launch has ended when its call
   returns, so that streams keep any order, events have happened, and a fault of a kernel is the result of its launch
   and of every call behind it, as a context that is broken answers.

   cuInit opens the emulated device as the environment says (options.def). */
#ifndef LIBCUDA_H
#define LIBCUDA_H

#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/* CUresult */
enum {
#define RESULT(name, number) name = number,
#include "results.def"
#undef RESULT
};

/* What is behind the handles. CUfunction and CUkernel are the same, CUmodule and CUlibrary, CUgraph and CUgraphExec. */
struct cu_context;
struct cu_stream;
struct cu_event;
struct cu_module;
struct cu_function;
struct cu_graph;
struct cu_node;
struct cu_array;

struct cu_memory_pool;
struct cu_memory_location { /* CUmemLocation */
    int type, id;
};
struct cu_copy_2d { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    struct cu_array *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    uint64_t to_device;
    struct cu_array *to_array;
    size_t to_pitch;
    size_t width, height;
};
struct cu_side_3d { /* half of CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER */
    size_t x, y, z, level;
    int type;
    void *host;
    uint64_t device;
    struct cu_array *array;
    void *context;
    size_t pitch, height;
};
struct cu_copy_3d {
    struct cu_side_3d from, to;
    size_t width, height, depth;
};
struct cu_array_2d { /* CUDA_ARRAY_DESCRIPTOR */
    size_t width, height;
    int format; /* CUarray_format */
    unsigned channels;
};
struct cu_array_3d { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
struct cu_line_texels {
    uint64_t address;
    int format;
    unsigned channels;
    size_t bytes;
};
struct cu_pitched_texels {
    uint64_t address;
    int format;
    unsigned channels;
    size_t width, height, pitch;
};
struct cu_resource { /* CUDA_RESOURCE_DESC */
    int type;
    union {
        struct cu_array *array;
        struct cu_line_texels line;
        struct cu_pitched_texels pitched;
        int reserved[32];
    } of;
    unsigned flags;
};
struct cu_texture_desc { /* CUDA_TEXTURE_DESC */
    int addressing[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float bias, least_level, most_level, border[4];
    int reserved[12];
};
struct cu_fill_node { /* CUDA_MEMSET_NODE_PARAMS */
    uint64_t address;
    size_t pitch;
    uint32_t value, bytes;
    size_t width, height;
};
struct cu_host_call { /* CUDA_HOST_NODE_PARAMS */
    void (*call)(void *data);
    void *data;
};
struct cu_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2, of which version 1 is the beginning */
    struct cu_function *function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void **arguments, **extra;
    struct cu_function *kernel;
    struct cu_context *context;
};
struct cu_instantiate { /* CUDA_GRAPH_INSTANTIATE_PARAMS */
    uint64_t flags;
    struct cu_stream *stream;
    struct cu_node *at_fault;
    int result;
};
struct cu_update_info { /* CUgraphExecUpdateResultInfo */
    int result;
    struct cu_node *node, *from;
};
typedef size_t (*cu_shared_of_block)(int threads);
typedef void (*cu_host_function)(void *data);
typedef void (*cu_stream_callback)(struct cu_stream *stream, int result, void *data);
typedef struct {
    unsigned char bytes[16];
} cu_uuid;

/* Of the emulated runtime (runtime/cudart): whether a kernel is one. */
__attribute__((visibility("default"))) int cuFuncIsKnown(const struct cu_function *function);

#define CALL(entry, base, since, arguments) __attribute__((visibility("default"))) int entry arguments;
#define CALL_AS(entry, base, since)
#define MISSING(entry)
#include "calls.def"
#undef CALL
#undef CALL_AS
#undef MISSING

#endif
