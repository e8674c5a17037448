/* What kernels have and are allowed, and how many of their blocks fit. */
#include "architecture.h"
#include "internal.h"

/* CUfunction_attribute beside those of driver.h */
enum {
    PTX_VERSION = 5,
    BINARY_VERSION = 6,
    CARVEOUT = 9,
};

static int get(int *value, int attribute, struct cu_function *function)
{
    int result = cu_function_load(function);
    if (result)
        return result;
    const struct tw_kernel *k = function->kernel;
    switch (attribute) {
    case TW_CUDA_FUNCTION_MAX_THREADS:
        *value = (int)k->max_threads;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_STATIC_SHARED:
        *value = (int)k->static_shared;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_LOCAL_BYTES:
        *value = (int)k->local_bytes;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_REGISTERS:
        *value = (int)k->registers;
        return CUDA_SUCCESS;
    case PTX_VERSION:
    case BINARY_VERSION:
        *value = 10 * cu.device->major + cu.device->minor;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_DYNAMIC_SHARED:
        *value = function->dynamic_shared >= 0 ? function->dynamic_shared : CU_WITHOUT_OPT_IN - (int)k->static_shared;
        return CUDA_SUCCESS;
    case CARVEOUT:
        *value = function->carveout;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_NONPORTABLE_CLUSTER:
        *value = function->nonportable;
        return CUDA_SUCCESS;
    default:
        *value = 0;
        return attribute < 0 || attribute > 15 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
}

static int set(struct cu_function *function, int attribute, int value)
{
    int result = cu_function_load(function);
    if (result)
        return result;
    switch (attribute) {
    case TW_CUDA_FUNCTION_DYNAMIC_SHARED:
        if (value < 0 || (size_t)value + function->kernel->static_shared > cu.device->shared_optin)
            return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                             "kernel %s: %d bytes of dynamic shared memory beside %u static "
                             "ones: a block may have %zu",
                             function->name, value, function->kernel->static_shared, cu.device->shared_optin);
        function->dynamic_shared = value;
        return CUDA_SUCCESS;
    case CARVEOUT:
        function->carveout = value;
        return CUDA_SUCCESS;
    case TW_CUDA_FUNCTION_NONPORTABLE_CLUSTER:
        function->nonportable = value;
        return CUDA_SUCCESS;
    default:
        return attribute < 0 || attribute > 15 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
}

int cuFuncGetAttribute(int *value, int attribute, struct cu_function *function)
{
    ENTER(cuFuncGetAttribute);
    return get(value, attribute, function);
}

int cuFuncSetAttribute(struct cu_function *function, int attribute, int value)
{
    ENTER(cuFuncSetAttribute);
    return set(function, attribute, value);
}

int cuKernelGetAttribute(int *value, int attribute, struct cu_function *kernel, int device)
{
    ENTER_ANY(cuKernelGetAttribute);
    return device ? CUDA_ERROR_INVALID_DEVICE : get(value, attribute, kernel);
}

int cuKernelSetAttribute(int attribute, int value, struct cu_function *kernel, int device)
{
    ENTER_ANY(cuKernelSetAttribute);
    return device ? CUDA_ERROR_INVALID_DEVICE : set(kernel, attribute, value);
}

/* Caches and banks are not emulated. */
int cuKernelSetCacheConfig(struct cu_function *kernel, int config, int device)
{
    ENTER_ANY(cuKernelSetCacheConfig);
    (void)kernel, (void)config, (void)device;
    return CUDA_SUCCESS;
}

int cuFuncSetCacheConfig(struct cu_function *function, int config)
{
    return cuKernelSetCacheConfig(function, config, 0);
}

int cuFuncSetSharedMemConfig(struct cu_function *function, int config)
{
    return cuKernelSetCacheConfig(function, config, 0);
}

/* ---- Occupancy --------------------------------------------------------------------------------------------------- */

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, struct cu_function *function, int threads,
                                                         size_t shared_bytes, unsigned flags)
{
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
    (void)flags;
    int result = cu_function_load(function);
    if (result)
        return result;
    if (threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = (int)emu_kernel_occupancy(function->kernel, (uint32_t)threads, shared_bytes);
    return CUDA_SUCCESS;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct cu_function *function, int threads,
                                                size_t shared_bytes)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

/* The most resident threads; of equals the most threads of a block. */
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *threads, struct cu_function *function,
                                              cu_shared_of_block shared_of, size_t shared_bytes, int limit,
                                              unsigned flags)
{
    ENTER(cuOccupancyMaxPotentialBlockSizeWithFlags);
    (void)flags;
    int result = cu_function_load(function), best = 0;
    if (result)
        return result;
    int most = (int)function->kernel->max_threads;
    if (limit > 0 && limit < most)
        most = limit;
    *grid = *threads = 0;
    for (int n = most; n > 0; n = n % TW_ARCH_WARP ? n - n % TW_ARCH_WARP : n - TW_ARCH_WARP) {
        size_t shared = shared_bytes;
        if (shared_of) {
            struct cu_call *held = cu_let_go();
            shared = shared_of(n);
            cu_go_on(held);
        }
        int blocks = (int)emu_kernel_occupancy(function->kernel, (uint32_t)n, shared);
        if (blocks * n <= best)
            continue;
        best = blocks * n;
        *threads = n;
        *grid = blocks * cu.device->sm_count;
    }
    return CUDA_SUCCESS;
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, struct cu_function *function,
                                     cu_shared_of_block shared_of, size_t shared_bytes, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, threads, function, shared_of, shared_bytes, limit, 0);
}

int cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, struct cu_function *function, int blocks, int threads)
{
    ENTER(cuOccupancyAvailableDynamicSMemPerBlock);
    int result = cu_function_load(function);
    if (result)
        return result;
    if (blocks < 1 || threads < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = 0;
    for (size_t more = TW_ARCH_SHARED_UNIT; more <= cu.device->shared_optin; more += TW_ARCH_SHARED_UNIT)
        if ((int)emu_kernel_occupancy(function->kernel, (uint32_t)threads, more) >= blocks)
            *bytes = more;
    return CUDA_SUCCESS;
}

static uint32_t blocks_per_device(const struct cu_function *function, const struct tw_launch_config *config)
{
    uint32_t threads = config->block[0] * config->block[1] * config->block[2];
    return emu_kernel_occupancy(function->kernel, threads, config->shared_bytes) * (uint32_t)cu.device->sm_count;
}

int cuOccupancyMaxPotentialClusterSize(int *size, struct cu_function *function, const struct tw_launch_config *config)
{
    ENTER(cuOccupancyMaxPotentialClusterSize);
    int result = cu_function_load(function);
    if (result)
        return result;
    const struct tw_architecture *arch = tw_architecture_find(cu.device->arch);
    *size = function->nonportable || arch->cluster < TW_ARCH_PORTABLE_CLUSTER ? (int)arch->cluster
                                                                              : TW_ARCH_PORTABLE_CLUSTER;
    if (!blocks_per_device(function, config))
        *size = 0;
    return CUDA_SUCCESS;
}

int cuOccupancyMaxActiveClusters(int *clusters, struct cu_function *function, const struct tw_launch_config *config)
{
    ENTER(cuOccupancyMaxActiveClusters);
    uint32_t blocks = 1;
    int result = cu_function_load(function);
    if (result)
        return result;
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        const struct tw_launch_attribute *a = &config->attributes[i];
        if (a->id == TW_CUDA_LAUNCH_CLUSTER)
            blocks = a->value.cluster[0] * a->value.cluster[1] * a->value.cluster[2];
    }
    *clusters = blocks ? (int)(blocks_per_device(function, config) / blocks) : 0;
    return CUDA_SUCCESS;
}
