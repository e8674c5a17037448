//@ -- The header of a kernel's C pair: what a program that embeds it sees. `host` is what gen/emit/host/host.c decided.
//@ local NAME = host.name
//@ include "host/story.h" host = host, file = ".h"

#ifndef TILEWRIGHT_${upper(NAME)}_H
#define TILEWRIGHT_${upper(NAME)}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function returns. NAME_strerror gives the words. */
enum ${NAME}_status {
    ${NAME}_OK = 0,
    ${NAME}_INVALID,     /* an argument is refused; the detail says which, why, and what would do */
    ${NAME}_NO_DRIVER,   /* libcuda.so.1 cannot be opened */
    ${NAME}_OLD_DRIVER,  /* the driver lacks an entry point */
    ${NAME}_NO_CONTEXT,  /* the calling thread has no current CUDA context */
    ${NAME}_UNSUPPORTED, /* no variant runs on the current device */
    ${NAME}_NO_COMPILER, /* NVRTC is not found, or too old */
    ${NAME}_COMPILE,     /* NVRTC refuses the source */
    ${NAME}_NO_MEMORY,   /* out of memory, on the host or the device */
    ${NAME}_DRIVER       /* another driver call failed; driver_result holds its CUresult */
};

/* Details of a failure. The caller's; every function takes NULL for it. Written only on failure. */
struct ${NAME}_error {
    int status;        /* enum ${NAME}_status */
    int driver_result; /* CUresult or nvrtcResult, 0 where none was at fault */
    char text[1000];   /* one sentence, or the compiler's first messages; zero-terminated */
};

/* The driver's entry points, for a caller that has them already (or stands in for the driver). Signatures are those of
 * cuda.h with handles as void *, enums as int and structs as void *. The functions must stay callable until unload. */
struct ${NAME}_driver {
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
//@ if host.debug then
    int (*module_global)(uint64_t *address, size_t *bytes, void *module, const char *name); /* cuModuleGetGlobal_v2 */
    int (*copy_to_device)(uint64_t to, const void *from, size_t bytes);                     /* cuMemcpyHtoD_v2 */
    int (*host_alloc)(void **memory, size_t bytes, unsigned flags);                         /* cuMemHostAlloc */
    int (*host_free)(void *memory);                                                         /* cuMemFreeHost */
//@ end
//@ if host.tuned then
    int (*device_name)(char *name, int bytes, int device); /* cuDeviceGetName, or NULL: any GPU's set-ups will do */
//@ end
//@ if host.windows then
    int (*encode_im2col)(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                         const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,
                         uint32_t pixels, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                         int fill); /* cuTensorMapEncodeIm2col; NULL where no map is used */
//@ end
};

/* A loaded kernel. The caller's memory; its fields belong to the functions below. */
struct ${NAME} {
    struct ${NAME}_driver driver;
    /* what every launch reads, beside the driver's launch */
    int target;                /* architecture in use; 0: nothing is loaded */
    int static_images;         /* tensor maps are copied and patched, not encoded by the driver */
//@ if host.tuned then
    int32_t choice;            /* where the choice among set-ups begins: that of this GPU */
//@ end
    void *(*copy)(void *to, const void *from, size_t bytes); /* of a launch; memcpy, or what this machine does faster */
    void *function[${host.variants}];         /* by variant */
//@ if host.lists then
    void *list[${host.variants}];             /* kernels that find which turns there are, by variant; NULL: none */
//@ end
    int32_t resident[${host.variants}];       /* multiprocessors that persistent grids are made for */
    /* the rest */
    void *module[${host.variants}];
    void *library;             /* libcuda, where load opened it */
    int capability;            /* of the device: 90 for 9.0 */
    int driver_version;        /* 13000 for 13.0 */
    char images[200];          /* why they are not static, where they are not */
//@ if host.debug then
    void *debug;               /* what waits left behind, in memory of the host's that the device writes */
//@ end
};

/* What one launch computes on. Strides count elements and stand in memory order, the innermost dimension, whose stride
 * is 1, left out; 0 is the default. A stride of a dimension of extent 0 or 1 is not looked at. */
struct ${NAME}_args {
//@ for _, t in ipairs(host.tensor) do
//@     local qualifier = t.out > 0 and "" or "const "
//@     local use = t.out > 0 and "written" or t.may_be_null and "read, NULL where nothing is read of it" or "read"
//@     local best = t.best_align > t.align and ", at best " .. t.best_align or ""
    ${qualifier}void *${t.name}; /* device address of ${t.dtype} [${t.shape}], ${use}; a multiple of ${t.align} bytes${best} */
//@ end
//@ for _, t in ipairs(host.tensor) do
//@     if t.rank > 1 then
//@         local strides = t.rank - 1
//@         local also = t.align > t.bytes and "; whole multiples of " .. t.align .. " bytes" or ""
    int64_t ${t.name}_stride[${strides}]; /* elements of ${t.name} to the next index; 0 stands for ${t.default_stride}${also} */
//@     end
//@ end
//@ for _, d in ipairs(host.symbol) do
//@     local also = d.multiple > 1 and ", a multiple of " .. d.multiple or ""
    int64_t ${d.name}; /* 0 to ${d.limit}${also} */
//@ end
//@ for _, s in ipairs(host.scalar) do
    ${s.c_type} ${s.name}; /* ${s.dtype} */
//@ end
//@ if host.workspace > 0 then
    /* Device address of as many bytes as ${NAME}_workspace says, a multiple of 16. They are zero before the first launch,
     * by a memset of the caller's, and each launch leaves them zero; so launches that follow each other in a stream or
     * graph share them, and launches that may overlap have each their own. A launch that was aborted may leave
     * anything. */
//@ if host.lists then
    /* What lies behind the first 128 bytes is written anew by each launch, and not left zero: other kernels that want
     * zeros have a workspace of their own. */
//@ end
    void *workspace;
//@ end
};

/* One launch, ready to go: what ${NAME}_launch hands to the driver. The kernel has one parameter, a struct, which
 * `word` holds: kernelParams is an array of one pointer, to it. (Through `extra` it would have to lie where the struct
 * begins in the parameter space, which is not its start for a struct aligned to 64 bytes.) It may lie anywhere; filling
 * it is quickest at a multiple of 64 bytes. */
struct ${NAME}_params {
    uint64_t word[${host.param_words}];      /* the parameter, tensor maps included */
    size_t bytes;           /* of it that the kernel has */
    void *function;         /* CUfunction */
//@ if host.tuned then
    int variant;            /* chosen by the sizes and the tensors' alignment */
//@ else
    int variant;            /* chosen by the tensors' alignment; 0 asks most */
//@ end
    uint32_t threads;       /* of a block */
    uint32_t cluster[3];    /* blocks */
    int programmatic;       /* 1: launched with CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
    uint32_t shared_bytes;  /* dynamic shared memory of a block */
    uint32_t grid[3];       /* blocks; all 0: there is nothing to compute, function is NULL, and a graph's node that is
                               updated with it must be disabled (cuGraphNodeSetEnabled) */
//@ if host.lists then
    void *list;             /* CUfunction to be launched before on the same stream, with the same parameter, or NULL */
    uint32_t list_grid;     /* its blocks, along x, */
    uint32_t list_threads;  /* and their threads; it has no dynamic shared memory */
//@ end
};

/* What can be known of a variant without a device. */
struct ${NAME}_variant {
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

/* A tensor of ${NAME}_args. */
struct ${NAME}_tensor {
    const char *name;
    const char *dtype;      /* "bf16" */
    const char *shape;      /* in the sizes of ${NAME}_args, innermost last */
    uint32_t element_bytes;
    uint32_t rank;
    uint32_t align;         /* bytes that address and strides must be multiples of */
    uint32_t best_align;    /* the same for variant 0 */
    int out;                /* 1: written */
};

struct ${NAME}_info {
    const char *name;       /* "${NAME}" */
    int generator;          /* version of the generator */
    const char *arch;       /* of the code in use */
    int capability;         /* of the device: 90 for 9.0 */
    int driver_version;
    const struct ${NAME}_tensor *tensor;
    int tensor_count;
    const struct ${NAME}_variant *variant; /* of the architecture in use */
    int variant_count;
    int static_images;      /* 1: tensor maps are copied and patched; 0: encoded by the driver, or there are none */
    const char *images;     /* why the driver encodes them; "" where it does not */
};

/* Load the kernel into the calling thread's current context: choose the architecture, compile the source where there is
 * no binary, load every variant, compare the tensor maps' images with the driver's encoder. driver NULL opens
 * libcuda.so.1. The struct may hold anything before; after a failure it holds nothing to unload.
 * Thread-safe for different structs. Allocates; nothing of it stays beyond the driver's modules. */
int ${NAME}_load(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, struct ${NAME}_error *error);
//@ if host.tuned then

/* The same, but of the set-ups only those that launches of these sizes take; nothing else of args is read. Each that is
 * compiled takes a part of a second, and each takes memory of the device. Launches of other sizes take the kernel's own
 * variants, and so do all where count is 0. */
int ${NAME}_load_for(struct ${NAME} *kernel, const struct ${NAME}_driver *driver, const struct ${NAME}_args *args,
                     int count, struct ${NAME}_error *error);
//@ end

/* Unload it, with the same context current and its launches done. Zeroes the struct; a zeroed one does nothing. The
 * status is the first failure; the rest is unloaded all the same. No other call may use the struct meanwhile. */
int ${NAME}_unload(struct ${NAME} *kernel, struct ${NAME}_error *error);

/* Bytes of device memory that a launch with these sizes needs beside its tensors${host.workspace_is}.
 * Thread-safe: any number of threads may use one loaded kernel. */
int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${NAME}_error *error);

/* Check the arguments, choose the variant and fill *params: for launches of one's own, and to update a graph's nodes.
 * Allocates nothing; a driver call only where the images are not static. After a failure *params may
 * hold anything. Thread-safe as workspace. */
int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                   struct ${NAME}_error *error);

/* Check the arguments and launch on the stream (CUstream; NULL is the default one). Returns before the kernel has run;
//@ if host.lists then
 * before it another one finds which turns its loop has, on the same stream;
//@ end
 * where an extent leaves nothing to compute, launches nothing and returns 0. May be captured into a graph.
 * Allocates nothing. Thread-safe as workspace. */
int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream,
                   struct ${NAME}_error *error);

/* What was loaded. Pointers are valid until unload. Thread-safe as workspace. */
void ${NAME}_info(const struct ${NAME} *kernel, struct ${NAME}_info *info);

//@ if host.debug then
/* This is a debug build: a wait on an mbarrier that lasts too long leaves a record and ends the kernel by a trap, which
 * later driver calls show as a failure (CUDA_ERROR_LAUNCH_FAILED). The records are in the host's memory and outlive the
 * context. This tells them, a line for each thing that was waited for: `tell` is called with the context and a line
 * without its end, NULL prints on stderr. Where a launch fails, its error's text holds them. Returns how many warps
 * left a record; 0: no wait lasted too long. ${NAME}_unload calls it where nobody did. Thread-safe. */
int ${NAME}_debug_report(const struct ${NAME} *kernel, void (*tell)(void *context, const char *line), void *context);

//@ end
/* The words of a status; never NULL. Thread-safe. */
const char *${NAME}_strerror(int status);

#ifdef __cplusplus
}
#endif

#endif
