/* libcudart.so.13 over libcuda.so.1: the CUDA runtime for a program that was linked by nvcc -cudart shared. NVIDIA's
   own works with NVIDIA's own driver alone. Each entry point is a row of calls.def and a function of that name; what it
   does is what CUDA 13 documents ("CUDA Runtime API"): it makes the primary context current, finds kernels and
   variables by the addresses that nvcc's host code registers, calls the driver, and keeps the last error of the thread.
   */
#ifndef CUDART_H
#define CUDART_H

#include <stddef.h>
#include <stdint.h>

#include "libcuda/libcuda.h"

/* cudaError_t; most are the driver's */
enum {
#define ERROR(name, number, words) name = number,
#include "errors.def"
#undef ERROR
};

/* ---- Types of the interface -------------------------------------------------------------------------------------- */

struct dim3 {
    unsigned x, y, z;
};
struct pitched { /* cudaPitchedPtr */
    void *memory;
    size_t pitch, width, height;
};
struct extent { /* cudaExtent; cudaPos has the same fields */
    size_t width, height, depth;
};
struct channels { /* cudaChannelFormatDesc */
    int x, y, z, w, kind;
};
struct resource { /* cudaResourceDesc */
    int type;
    union {
        struct cu_array *array;
        struct {
            void *memory;
            struct channels channels;
            size_t bytes;
        } line;
        struct {
            void *memory;
            struct channels channels;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags;
};
struct texture_desc { /* cudaTextureDesc */
    int addressing[3], filter, as_float, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mipmap_filter;
    float bias, least_level, most_level;
    int no_trilinear, seamless;
};
struct copy_3d { /* cudaMemcpy3DParms */
    struct cu_array *from_array;
    struct extent from_at;
    struct pitched from;
    struct cu_array *to_array;
    struct extent to_at;
    struct pitched to;
    struct extent extent;
    int kind;
};
struct pointer_attributes { /* cudaPointerAttributes */
    int type, device;
    void *on_device, *on_host;
    long reserved[8];
};
struct function_attributes { /* cudaFuncAttributes */
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, dynamic_shared, carveout, cluster_required,
        cluster[3], cluster_policy, nonportable;
    int reserved[16];
};
struct kernel_node { /* cudaKernelNodeParams */
    const void *host;
    struct dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
};

/* ---- What entry points share ------------------------------------------------------------------------------------- */

/* The primary context becomes current, if none is. cudaError_t. */
int rt_begin(void);

/* Keeps an error as the thread's last, and gives it back. */
int rt_last(int error);
#define BEGIN                                                                                                          \
    do {                                                                                                               \
        int begun = rt_begin();                                                                                        \
        if (begun)                                                                                                     \
            return rt_last(begun);                                                                                     \
    } while (0)

/* The kernel, or the variable, that nvcc's host code registered with this address. cudaError_t. A function that is no
   such address is taken for a kernel of the driver's (cudaGetKernel, cudaGetFuncBySymbol give them). */
int rt_kernel(const void *host, struct cu_function **kernel);
int rt_variable(const void *host, uint64_t *address, size_t *bytes);

/* A copy as the driver takes it, and its direction: cudaMemcpyKind. */
int rt_copy(void *to, const void *from, size_t bytes, int kind, struct cu_stream *stream);
int rt_copy_3d(const struct copy_3d *copy, struct cu_copy_3d *driver);

/* The sides of a copy that are arrays, of one whose other sides are filled in. cudaError_t. */
int rt_copy_arrays(const struct copy_3d *copy, struct cu_copy_3d *driver);

/* The driver's CUarray_format and number of channels, and back. cudaError_t. */
int rt_format_of(const struct channels *channels, int *format, unsigned *count);
struct channels rt_channels_of(int format, unsigned count);

#define CALL(result, entry, arguments) __attribute__((visibility("default"))) result entry arguments;
#define MISSING(entry)
#include "calls.def"
#undef CALL
#undef MISSING

#endif
