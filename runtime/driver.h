/* The CUDA driver through dlopen; own declarations, no CUDA header. Numbers and layouts are those of cuda.h of CUDA 12
   and 13 (a stable C ABI on 64-bit Linux). */
#ifndef TW_DRIVER_H
#define TW_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "hooks.h"

/* Results that the runtime tells apart (CUresult). */
enum {
    TW_CUDA_OUT_OF_MEMORY = 2,
    TW_CUDA_NO_DEVICE = 100,
    TW_CUDA_NO_BINARY_FOR_GPU = 209,
    TW_CUDA_NOT_FOUND = 500,
};

/* CUdevice_attribute */
enum {
    TW_CUDA_CLOCK_KHZ = 13,
    TW_CUDA_SM_COUNT = 16,
    TW_CUDA_MEMORY_CLOCK_KHZ = 36,
    TW_CUDA_MEMORY_BUS_BITS = 37,
    TW_CUDA_L2_BYTES = 38,
    TW_CUDA_MAJOR = 75,
    TW_CUDA_MINOR = 76,
    TW_CUDA_SHARED_PER_SM = 81,
    TW_CUDA_SHARED_OPTIN = 97,
};

/* CUfunction_attribute */
enum {
    TW_CUDA_FUNCTION_MAX_THREADS = 0,
    TW_CUDA_FUNCTION_STATIC_SHARED = 1,
    TW_CUDA_FUNCTION_LOCAL_BYTES = 3,
    TW_CUDA_FUNCTION_REGISTERS = 4,
    TW_CUDA_FUNCTION_DYNAMIC_SHARED = 8,
    TW_CUDA_FUNCTION_NONPORTABLE_CLUSTER = 14,
};

/* CUlaunchAttributeID */
enum {
    TW_CUDA_LAUNCH_COOPERATIVE = 2,
    TW_CUDA_LAUNCH_CLUSTER = 4,
    TW_CUDA_LAUNCH_PROGRAMMATIC = 6,
};

/* CUlaunchAttribute: 72 bytes, the value a union of 64. */
struct tw_launch_attribute {
    int id;
    int pad;
    union {
        char bytes[64];
        uint32_t cluster[3];
        int flag;
        uint64_t align; /* the value starts at byte 8 and aligns like a pointer */
    } value;
};

/* CUlaunchConfig */
struct tw_launch_config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    void *stream;
    struct tw_launch_attribute *attributes;
    uint32_t attribute_count;
};

/* CUDA_KERNEL_NODE_PARAMS_v2 */
struct tw_kernel_node {
    void *function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void **arguments, **extra;
    void *kernel, *context;
};

/* The entry points. Filled by tw_driver_open, or by a caller (a test, the emulator) who hands the table over in
   tw_runtime.driver. */
struct tw_driver {
#define DRIVER_CALL(field, symbol, required, arguments) int(*field) arguments;
#include "driver_calls.def"
#undef DRIVER_CALL
};

/* Open libcuda.so.1, fill rt->driver and call cuInit; does nothing if rt->driver is set. TW_ERROR_NO_DRIVER where the
   library is missing, a stub, or has no driver behind it; TW_ERROR_OLD_DRIVER names the first missing entry point;
   TW_ERROR_NO_DEVICE where cuInit finds no GPU. Thread-safe. */
int tw_driver_open(struct tw_runtime *rt, struct tw_error *error);

/* Close what tw_driver_open opened. Called by tw_runtime_close. */
void tw_driver_close(struct tw_runtime *rt);

/* Turn a driver result into a status. 0 gives TW_OK; otherwise the text is "ATTEMPT: CUDA_ERROR_NAME (words)", where
   attempt is a printf format. Out of memory gives TW_ERROR_MEMORY, the rest TW_ERROR_DRIVER. */
int tw_driver_check(const struct tw_driver *driver, int result, struct tw_error *error, const char *attempt, ...)
    TW_PRINTF(4, 5);

#endif
