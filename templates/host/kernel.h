//@ -- The header of a kernel's C pair: what a program that embeds it sees. `host` is what gen/emit/host/host.c decided.
//@ local NAME, T = host.name, host.types
//@ include "host/story.h" host = host, file = ".h"

#ifndef TILEWRIGHT_${upper(NAME)}_H
#define TILEWRIGHT_${upper(NAME)}_H

//@ if host.shared then
#include "tilewright_host.h"

#if TILEWRIGHT_HOST != ${host.generator}
#error "tilewright_host.h is of another version than ${NAME}.h: generate all kernels of the folder again"
#endif

//@ else
#include <stddef.h>
#include <stdint.h>

//@ end
#ifdef __cplusplus
extern "C" {
#endif

//@ if host.shared then
enum ${NAME}_status { TILEWRIGHT_STATUSES(${NAME}) }; /* ${NAME}_OK, ${NAME}_INVALID ... */

//@ else
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

//@ end
//@ if host.shared then
/* What is alike in every kernel of the folder: their names here. */
//@     for _, name in ipairs { "error", "driver", "variant", "tensor" } do
#define ${NAME}_${name} tilewright_${name}
//@     end

//@ else
//@     include "host/public.h" host = host

//@ end
/* A loaded kernel. The caller's memory; its fields belong to the functions below. */
struct ${NAME} {
    struct ${T}_state state;
    struct ${T}_slot slot[${host.variants}]; /* by variant */
};

//@ if not host.shared then
/* What one launch computes on. Strides count elements and stand in memory order, the innermost dimension, whose stride
 * is 1, left out; 0 is the default. A stride of a dimension of extent 0 or 1 is not looked at. */
//@ end
struct ${NAME}_args {
//@ for _, t in ipairs(host.tensor) do
//@     local qualifier = t.out > 0 and "" or "const "
//@     local use = t.out > 0 and "written" or t.may_be_null and "read, NULL where nothing is read of it" or "read"
//@     local best = t.best_align > t.align and ", at best " .. t.best_align or ""
//@     if t.pointers then
    ${qualifier}void *const *${t.name}; /* device address of [${t.slices}] device addresses, of ${t.dtype} [${t.slice}] each, ${use}; a multiple of 8 bytes */
//@     else
    ${qualifier}void *${t.name}; /* device address of ${t.dtype} [${t.shape}], ${use}; a multiple of ${t.align} bytes${best} */
//@     end
//@ end
//@ for _, t in ipairs(host.tensor) do
//@     if t.rank > 1 then
//@         local strides = t.rank - 1
//@         local also = t.align > t.bytes and "; whole multiples of " .. t.align .. " bytes" or ""
//@         if t.pointers then
//@             local default = t.rank > 2 and ", then 0 stands for " .. t.default_stride .. also or ""
    int64_t ${t.name}_stride[${strides}]; /* elements of ${t.name} to the next index: [0], of addresses, is not looked at${default} */
//@         else
    int64_t ${t.name}_stride[${strides}]; /* elements of ${t.name} to the next index; 0 stands for ${t.default_stride}${also} */
//@         end
//@     end
//@ end
//@ for _, t in ipairs(host.tensor) do
//@     if t.pointers then
    uint32_t ${t.name}_align; /* bytes that all addresses in ${t.name} are multiples of, which no host can see: ${t.align} or more; 0 stands for ${t.best_align} */
//@     end
//@ end
//@ for _, t in ipairs(host.tensor) do
//@     local qualifier = t.out > 0 and "" or "const "
//@     if t.maps > 0 then
    ${qualifier}void *const *${t.name}_slices; /* on the host, the device addresses of the ${t.maps} slices of ${t.name}, multiples of 16 bytes, where they lie anywhere: then neither ${t.name} nor ${t.name}_stride[0] is looked at; NULL: they lie at that stride */
//@     end
//@ end
//@ for _, d in ipairs(host.symbol) do
//@     local also = d.multiple > 1 and ", a multiple of " .. d.multiple or ""
    int64_t ${d.name}; /* 0 to ${d.limit}${also} */
//@ end
//@ for _, s in ipairs(host.scalar) do
    ${s.c_type} ${s.name}; /* ${s.dtype} */
//@ end
//@ if host.workspace > 0 and not host.shared then
    /* Device address of as many bytes as ${NAME}_workspace says, a multiple of 16. They are zero before the first launch,
     * by a memset of the caller's, and each launch leaves them zero; so launches that follow each other in a stream or
     * graph share them, and launches that may overlap have each their own. A launch that was aborted may leave
     * anything. */
//@ if host.lists then
    /* What lies behind the first 128 bytes is written anew by each launch, and not left zero: other kernels that want
     * zeros have a workspace of their own. */
//@ end
//@ end
//@ if host.workspace > 0 then
    void *workspace;
//@ end
};

//@ if host.shared then
/* One launch, ready to go, and what was loaded; tilewright_host.h has the fields, and says what the functions do. */
//@     if host.lists then
struct ${NAME}_params { TILEWRIGHT_PARAMS(${host.param_words}) TILEWRIGHT_LIST };
//@     else
struct ${NAME}_params { TILEWRIGHT_PARAMS(${host.param_words}) };
//@     end
struct ${NAME}_info { TILEWRIGHT_INFO };

int ${NAME}_load(struct ${NAME} *kernel, const struct ${T}_driver *driver, struct ${T}_error *error);
//@     if host.tuned then
int ${NAME}_load_for(struct ${NAME} *kernel, const struct ${T}_driver *driver, const struct ${NAME}_args *args, int count,
                     struct ${T}_error *error);
//@     end
int ${NAME}_unload(struct ${NAME} *kernel, struct ${T}_error *error);
int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes,
                      struct ${T}_error *error);
int ${NAME}_params(const struct ${NAME} *kernel, const struct ${NAME}_args *args, struct ${NAME}_params *params,
                   struct ${T}_error *error);
int ${NAME}_launch(const struct ${NAME} *kernel, const struct ${NAME}_args *args, void *stream, struct ${T}_error *error);
void ${NAME}_info(const struct ${NAME} *kernel, struct ${NAME}_info *info);
const char *${NAME}_strerror(int status);

//@ else
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

//@ end
#ifdef __cplusplus
}
#endif

#endif
