//@ -- The launcher that the kernels of a folder share: what their headers include, and, inside, what they call.
/* tilewright_host.h: the launcher of the kernels in this folder, made by tilewright ${host.generator}. Do not edit: it is the
 * same whatever kernel wrote it.
 *
 * Programs include the kernels' own headers. External symbols begin with tilewright_${host.generator}_, so that folders of
 * several versions go into one program; a file of C takes headers of one of them. */
#ifndef TILEWRIGHT_HOST
#define TILEWRIGHT_HOST ${host.generator}

#include <stddef.h>
#include <stdint.h>

/* What every function of a kernel NAME returns; NAME_strerror gives the words. */
#define TILEWRIGHT_STATUSES(NAME) \
    NAME##_OK = 0, \
    NAME##_INVALID,     /* an argument is refused; the detail says which, why, and what would do */ \
    NAME##_NO_DRIVER,   /* libcuda.so.1 cannot be opened */ \
    NAME##_OLD_DRIVER,  /* the driver lacks an entry point */ \
    NAME##_NO_CONTEXT,  /* the calling thread has no current CUDA context */ \
    NAME##_UNSUPPORTED, /* no variant runs on the current device */ \
    NAME##_NO_COMPILER, /* NVRTC is not found, or too old */ \
    NAME##_COMPILE,     /* NVRTC refuses the source */ \
    NAME##_NO_MEMORY,   /* out of memory, on the host or the device */ \
    NAME##_DRIVER       /* another driver call failed; driver_result holds its CUresult */
enum tilewright_status { TILEWRIGHT_STATUSES(tilewright) };

//@ include "host/public.h" host = host

/* What a kernel NAME's header declares, fields first.
 *
 * NAME_args      what one launch computes on. Strides count elements and stand in memory order, the innermost
 *                dimension, whose stride is 1, left out; 0 is the default. That of a dimension of extent 0 or 1 is not
 *                looked at. workspace, where there is one: device memory at a multiple of 16 bytes, as many as
 *                NAME_workspace says, zero before the first launch, by a memset of the caller's; each launch leaves it
 *                zero, but for what lies behind the first 128 bytes where a launch has a list. Launches that may
 *                overlap have each their own; one that was aborted may leave anything.
 * NAME_load      into the calling thread's current context. driver NULL opens libcuda.so.1. The struct may hold
 *                anything before; after a failure it holds nothing to unload. Allocates. Thread-safe for different
 *                structs.
 *                NAME_load_for: of set-ups those alone that launches of these sizes take.
 * NAME_unload    with the same context current and its launches done. Zeroes the struct; a zeroed one does nothing.
 * NAME_params    checks the arguments, chooses the variant, fills *params: for launches of one's own, and to update a
 *                graph's nodes. Allocates nothing. Any number of threads may use one loaded kernel, here and below.
 * NAME_launch    the same and launches on the stream (CUstream). Where an extent leaves nothing to compute, launches
 *                nothing and returns 0. May be captured into a graph. Allocates nothing.
 * NAME_info      what was loaded; its pointers are valid until unload.
 *
 * All return a status; every one takes NULL for the error. */

/* Fields of NAME_params. The kernel has one parameter, a struct, which `word` holds: kernelParams is an array of one
 * pointer, to it. Filling it is quickest at a multiple of 64 bytes. */
#define TILEWRIGHT_PARAMS(words) \
    uint64_t word[words];   /* the parameter, tensor maps included */ \
    size_t bytes;           /* of it that the kernel has */ \
    void *function;         /* CUfunction */ \
    int variant;            /* chosen by sizes and alignment */ \
    uint32_t threads;       /* of a block */ \
    uint32_t cluster[3];    /* blocks */ \
    int programmatic;       /* 1: CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */ \
    uint32_t shared_bytes;  /* dynamic shared memory of a block */ \
    uint32_t grid[3];       /* blocks; all 0: nothing to compute, function is NULL, a graph's node must be disabled */

/* Behind them where a kernel finds which turns there are. */
#define TILEWRIGHT_LIST \
    void *list;             /* CUfunction to be launched before on the same stream, same parameter; or NULL */ \
    uint32_t list_grid;     /* its blocks, along x, */ \
    uint32_t list_threads;  /* and their threads; it has no dynamic shared memory */

/* Of NAME_info. */
#define TILEWRIGHT_INFO \
    const char *name; \
    int generator;          /* version of the generator */ \
    const char *arch;       /* of the code in use */ \
    int capability;         /* of the device: 90 for 9.0 */ \
    int driver_version; \
    const struct tilewright_tensor *tensor; \
    int tensor_count; \
    const struct tilewright_variant *variant; /* of the architecture in use */ \
    int variant_count; \
    int static_images;      /* 1: tensor maps are copied and patched; 0: encoded by the driver, or there are none */ \
    const char *images;     /* why the driver encodes them; "" where it does not */

#endif

#if defined(TILEWRIGHT_INSIDE) && !defined(TILEWRIGHT_IS_INSIDE)
#define TILEWRIGHT_IS_INSIDE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//@ include "host/marks.h"

/* Names for the linker. */
//@ for _, name in ipairs(host.calls) do
#define ${name} tilewright_${host.generator}_${name}
//@ end

//@ include "host/tables.h" host = host

#ifdef __cplusplus
extern "C" {
#endif

//@ include "host/calls.h" host = host

#ifdef __cplusplus
}
#endif

//@ include "host/fast.h" host = host

//@ include "host/put.h" host = host

#endif

#if defined(TILEWRIGHT_IS_INSIDE) && defined(KERNEL)
#define TILEWRIGHT_JOIN_2(a, b) a##b
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_2(a, b)
//@ for _, name in ipairs { "args", "params", "info", "load", "unload", "workspace", "launch", "strerror" } do
#define KERNEL_${name} TILEWRIGHT_JOIN(KERNEL, _${name})
//@ end

//@ include "host/copy.c" host = host

//@ include "host/ordinary.c" host = host

//@ include "host/body.c" host = host, dense = "all_dense(args)"

#endif
