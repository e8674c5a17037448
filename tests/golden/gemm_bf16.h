/* gemm_bf16.h: a kernel and its host code, made by tilewright 1. Do not edit: change the spec and generate again.
 *
 * sm_80: 256 threads, 98304 bytes of shared memory, ring ab of 3 stages
 * sm_80, unaligned: 256 threads, 98304 bytes of shared memory, ring ab of 3 stages
 * sm_90a: 384 threads, 229440 bytes of shared memory, ring ab of 4 stages, ring d of 2 stages, cluster 2 x 1 x 1
 * sm_90a, unaligned: 384 threads, 213568 bytes of shared memory, ring ab of 4 stages, cluster 2 x 1 x 1
 *
 * C99 and C++17; needs libc and, at run time, the CUDA driver, with NVRTC of CUDA 12.8 or newer to compile the kernel
 * at load.
 * Link with -ldl where libc is older than glibc 2.34.
 * The output of the generator belongs to whoever generated it. */

#ifndef TILEWRIGHT_GEMM_BF16_H
#define TILEWRIGHT_GEMM_BF16_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function returns. NAME_strerror gives the words. */
enum gemm_bf16_status {
    gemm_bf16_OK = 0,
    gemm_bf16_INVALID,     /* an argument is refused; the detail says which, why, and what would do */
    gemm_bf16_NO_DRIVER,   /* libcuda.so.1 cannot be opened */
    gemm_bf16_OLD_DRIVER,  /* the driver lacks an entry point */
    gemm_bf16_NO_CONTEXT,  /* the calling thread has no current CUDA context */
    gemm_bf16_UNSUPPORTED, /* no variant runs on the current device */
    gemm_bf16_NO_COMPILER, /* NVRTC is not found, or too old */
    gemm_bf16_COMPILE,     /* NVRTC refuses the source */
    gemm_bf16_NO_MEMORY,   /* out of memory, on the host or the device */
    gemm_bf16_DRIVER       /* another driver call failed; driver_result holds its CUresult */
};

/* Details of a failure. The caller's; every function takes NULL for it. Written only on failure. */
struct gemm_bf16_error {
    int status;        /* enum gemm_bf16_status */
    int driver_result; /* CUresult or nvrtcResult, 0 where none was at fault */
    char text[1000];   /* one sentence, or the compiler's first messages; zero-terminated */
};

/* The driver's entry points, for a caller that has them already (or stands in for the driver). Signatures are those of
 * cuda.h with handles as void *, enums as int and structs as void *. The functions must stay callable until unload. */
struct gemm_bf16_driver {
    int (*version)(int *version);                                                /* cuDriverGetVersion */
    int (*context_device)(int *device);                                          /* cuCtxGetDevice */
    int (*device_attribute)(int *value, int attribute, int device);              /* cuDeviceGetAttribute */
    int (*module_load)(void **module, const void *image);                        /* cuModuleLoadData */
    int (*module_unload)(void *module);                                          /* cuModuleUnload */
    int (*module_function)(void **function, void *module, const char *name);     /* cuModuleGetFunction */
    int (*function_set)(void *function, int attribute, int value);               /* cuFuncSetAttribute */
    /* cuOccupancyMaxActiveClusters, or NULL */
    int (*max_active_clusters)(int *clusters, void *function, const void *config);
    int (*launch)(const void *config, void *function, void **arguments, void **extra); /* cuLaunchKernelEx */
    int (*encode_tiled)(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                        const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride, int interleave,
                        int swizzle, int promotion, int fill); /* cuTensorMapEncodeTiled; NULL where no map is used */
};

/* What can be known of a variant without a device. */
struct gemm_bf16_variant {
    const char *name;       /* "" or, for example, "unaligned" */
    const char *entry;      /* the kernel's symbol */
    const char *arch;       /* "sm_90a" */
    uint32_t threads;       /* of a block */
    uint32_t shared_bytes;  /* dynamic shared memory of a block */
    uint32_t cluster[3];    /* blocks */
    int programmatic;       /* 1: its launches may begin before the kernel before them in the stream has ended */
    uint32_t param_bytes;
    int32_t registers;      /* of a thread; -1: not known before it is compiled */
};

/* A tensor of the arguments. */
struct gemm_bf16_tensor {
    const char *name;
    const char *dtype;      /* "bf16" */
    const char *shape;      /* in the sizes of the arguments, innermost last */
    uint32_t element_bytes;
    uint32_t rank;
    uint32_t align;         /* bytes that address and strides must be multiples of */
    uint32_t best_align;    /* the same for variant 0 */
    int out;                /* 1: written */
};

/* What is loaded of a kernel; its fields belong to the functions. Every launch reads the first ones. */
struct gemm_bf16_state {
    struct gemm_bf16_driver driver;
    int target;         /* architecture in use; 0: nothing is loaded */
    int static_images;  /* tensor maps are copied and patched, not encoded by the driver */
    void *(*copy)(void *to, const void *from, size_t bytes); /* of a launch; memcpy, or what this machine does faster */
    void *library;      /* libcuda, where load opened it */
    int capability;     /* of the device: 90 for 9.0 */
    int driver_version; /* 13000 for 13.0 */
    char images[200];   /* why they are not static, where they are not */
};

/* And of a variant. */
struct gemm_bf16_slot {
    void *function, *module;
    int32_t resident; /* multiprocessors that a persistent grid is made for */
};

/* A loaded kernel. The caller's memory; its fields belong to the functions below. */
struct gemm_bf16 {
    struct gemm_bf16_state state;
    struct gemm_bf16_slot slot[2]; /* by variant */
};

/* What one launch computes on. Strides count elements and stand in memory order, the innermost dimension, whose stride
 * is 1, left out; 0 is the default. A stride of a dimension of extent 0 or 1 is not looked at. */
struct gemm_bf16_args {
    const void *A; /* device address of bf16 [M, K], read; a multiple of 2 bytes, at best 16 */
    const void *B; /* device address of bf16 [N, K], read; a multiple of 2 bytes, at best 16 */
    void *D; /* device address of bf16 [M, N], written; a multiple of 2 bytes, at best 16 */
    int64_t A_stride[1]; /* elements of A to the next index; 0 stands for K */
    int64_t B_stride[1]; /* elements of B to the next index; 0 stands for K */
    int64_t D_stride[1]; /* elements of D to the next index; 0 stands for N */
    int64_t M; /* 0 to 2147482624 */
    int64_t N; /* 0 to 2147482624 */
    int64_t K; /* 0 to 2147482624 */
};

/* One launch, ready to go: what gemm_bf16_launch hands to the driver. The kernel has one parameter, a struct, which
 * `word` holds: kernelParams is an array of one pointer, to it. (Through `extra` it would have to lie where the struct
 * begins in the parameter space, which is not its start for a struct aligned to 64 bytes.) It may lie anywhere; filling
 * it is quickest at a multiple of 64 bytes. */
struct gemm_bf16_params {
    uint64_t word[56];      /* the parameter, tensor maps included */
    size_t bytes;           /* of it that the kernel has */
    void *function;         /* CUfunction */
    int variant;            /* chosen by the tensors' alignment; 0 asks most */
    uint32_t threads;       /* of a block */
    uint32_t cluster[3];    /* blocks */
    int programmatic;       /* 1: launched with CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
    uint32_t shared_bytes;  /* dynamic shared memory of a block */
    uint32_t grid[3];       /* blocks; all 0: there is nothing to compute, function is NULL, and a graph's node that is
                               updated with it must be disabled (cuGraphNodeSetEnabled) */
};

struct gemm_bf16_info {
    const char *name;       /* "gemm_bf16" */
    int generator;          /* version of the generator */
    const char *arch;       /* of the code in use */
    int capability;         /* of the device: 90 for 9.0 */
    int driver_version;
    const struct gemm_bf16_tensor *tensor;
    int tensor_count;
    const struct gemm_bf16_variant *variant; /* of the architecture in use */
    int variant_count;
    int static_images;      /* 1: tensor maps are copied and patched; 0: encoded by the driver, or there are none */
    const char *images;     /* why the driver encodes them; "" where it does not */
};

/* Load the kernel into the calling thread's current context: choose the architecture, compile the source where there is
 * no binary, load every variant, compare the tensor maps' images with the driver's encoder. driver NULL opens
 * libcuda.so.1. The struct may hold anything before; after a failure it holds nothing to unload.
 * Thread-safe for different structs. Allocates; nothing of it stays beyond the driver's modules. */
int gemm_bf16_load(struct gemm_bf16 *kernel, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error);

/* Unload it, with the same context current and its launches done. Zeroes the struct; a zeroed one does nothing. The
 * status is the first failure; the rest is unloaded all the same. No other call may use the struct meanwhile. */
int gemm_bf16_unload(struct gemm_bf16 *kernel, struct gemm_bf16_error *error);

/* Bytes of device memory that a launch with these sizes needs beside its tensors.
 * Thread-safe: any number of threads may use one loaded kernel. */
int gemm_bf16_workspace(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, uint64_t *bytes,
                      struct gemm_bf16_error *error);

/* Check the arguments, choose the variant and fill *params: for launches of one's own, and to update a graph's nodes.
 * Allocates nothing; a driver call only where the images are not static. After a failure *params may
 * hold anything. Thread-safe as workspace. */
int gemm_bf16_params(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, struct gemm_bf16_params *params,
                   struct gemm_bf16_error *error);

/* Check the arguments and launch on the stream (CUstream; NULL is the default one). Returns before the kernel has run;
 * where an extent leaves nothing to compute, launches nothing and returns 0. May be captured into a graph.
 * Allocates nothing. Thread-safe as workspace. */
int gemm_bf16_launch(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, void *stream,
                   struct gemm_bf16_error *error);

/* What was loaded. Pointers are valid until unload. Thread-safe as workspace. */
void gemm_bf16_info(const struct gemm_bf16 *kernel, struct gemm_bf16_info *info);

/* The words of a status; never NULL. Thread-safe. */
const char *gemm_bf16_strerror(int status);

#ifdef __cplusplus
}
#endif

#endif
