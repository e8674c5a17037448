// What the explain library needs of CUPTI: own declarations, no CUDA header. Layouts and numbers are those of
// cupti_callbacks.h, cupti_driver_cbid.h, cupti_result.h and generated_cuda_meta.h, a stable C ABI on 64-bit Linux;
// tests/explain.sh compares them with the headers of a toolkit where there is one.
#ifndef TW_EXPLAIN_CUPTI_ABI_H
#define TW_EXPLAIN_CUPTI_ABI_H

#include <stdint.h>

enum {
    CUPTI_DOMAIN_DRIVER_API = 1,     // CUPTI_CB_DOMAIN_DRIVER_API
    CUPTI_SITE_ENTER = 0,            // CUPTI_API_ENTER
    CUPTI_SITE_EXIT = 1,             // CUPTI_API_EXIT
    CUPTI_MULTIPLE_SUBSCRIBERS = 39, // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
};

// CUpti_CallbackData
struct cupti_callback_data {
    int site; // 0 enter, 1 exit
    const char *function_name;
    const void *parameters; // one of the structs below, as the callback's cbid says
    void *result;           // at exit, the CUresult
    const char *symbol_name;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
};

typedef void cupti_callback(void *user, int domain, uint32_t cbid, const void *data);

// The CUresult-like results are CUptiResult, 0 for success.
struct cupti_calls {
#define CUPTI_CALL(member, symbol, required, arguments) int(*member) arguments;
#include "cupti_calls.def"
#undef CUPTI_CALL
};

// cuTensorMapEncodeTiled_params
struct cupti_tiled {
    void *map;
    int dtype;
    uint32_t rank;
    void *address;
    const uint64_t *dim, *stride;
    const uint32_t *box, *estride;
    int interleave, swizzle, l2, oob;
};

// cuTensorMapEncodeIm2col_params
struct cupti_im2col {
    void *map;
    int dtype;
    uint32_t rank;
    void *address;
    const uint64_t *dim, *stride;
    const int *lower, *upper;
    uint32_t channels, pixels;
    const uint32_t *estride;
    int interleave, swizzle, l2, oob;
};

// cuTensorMapEncodeIm2colWide_params
struct cupti_im2col_wide {
    void *map;
    int dtype;
    uint32_t rank;
    void *address;
    const uint64_t *dim, *stride;
    int lower, upper;
    uint32_t channels, pixels;
    const uint32_t *estride;
    int interleave, mode, swizzle, l2, oob;
};

// cuLaunchKernel_params; cuLaunchCooperativeKernel_params ends with arguments.
struct cupti_launch {
    void *function;
    uint32_t grid[3], block[3], shared_bytes;
    void *stream, **arguments, **extra;
};

// cuLaunchKernelEx_params
struct cupti_launch_ex {
    const struct tw_launch_config *config;
    void *function, **arguments, **extra;
};

// How those begin that load a module or library: cuModuleLoad_params, cuModuleLoadData_params, cuLibraryLoadData_params
// and the like. `from` is a path or an image.
struct cupti_load {
    void **module;
    const void *from;
};

// cuModuleUnload_params, cuLibraryUnload_params
struct cupti_unload {
    void *module;
};

// cuModuleGetFunction_params, cuLibraryGetKernel_params; cuLibraryGetModule_params and cuKernelGetFunction_params have
// no name.
struct cupti_get {
    void **to, *from;
    const char *name;
};

#endif
