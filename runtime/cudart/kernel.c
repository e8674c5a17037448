/* Launches, and what kernels have. */
#include <string.h>

#include "cudart.h"

/* Configurations of <<<...>>> that wait for the stub of their kernel. */
enum { DEPTH = 16 };
static _Thread_local struct {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
} configurations[DEPTH];
static _Thread_local int depth;

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream)
{
    if (depth == DEPTH)
        return 1;
    configurations[depth].grid = grid;
    configurations[depth].block = block;
    configurations[depth].shared = shared;
    configurations[depth++].stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
    if (!depth)
        return cudaErrorMissingConfiguration;
    depth--;
    *grid = configurations[depth].grid;
    *block = configurations[depth].block;
    *shared = configurations[depth].shared;
    memcpy(stream, &configurations[depth].stream, sizeof(void *));
    return cudaSuccess;
}

/* What the runtime says of a grid or block that the driver finds invalid. */
static int of_launch(int result, struct dim3 grid, struct dim3 block)
{
    enum { THREADS = 1024, DIM_Z = 64, GRID_YZ = 65535 };
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    int bad = !threads || threads > THREADS || block.z > DIM_Z || !grid.x || !grid.y || !grid.z || grid.x > INT32_MAX ||
              grid.y > GRID_YZ || grid.z > GRID_YZ;
    return result == CUDA_ERROR_INVALID_VALUE && bad ? cudaErrorInvalidConfiguration : result;
}

int __cudaLaunchKernel(struct cu_function *kernel, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                       struct cu_stream *stream)
{
    BEGIN;
    int result = cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream,
                                arguments, NULL);
    return rt_last(of_launch(result, grid, block));
}

int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                     struct cu_stream *stream)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return result ? rt_last(result) : __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                                struct cu_stream *stream)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    if (!result)
        result = cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                           stream, arguments);
    return rt_last(of_launch(result, grid, block));
}

/* cudaLaunchConfig_t has shared memory as a size_t where the driver has an unsigned and a gap; the attributes are the
 * same. */
int cudaLaunchKernelExC(const struct tw_launch_config *config, const void *host, void **arguments)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuLaunchKernelEx(config, kernel, arguments, NULL));
}

int cudaLaunchHostFunc(struct cu_stream *stream, cu_host_function function, void *data)
{
    BEGIN;
    return rt_last(cuLaunchHostFunc(stream, function, data));
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

int cudaFuncGetName(const char **name, const void *host)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuFuncGetName(name, kernel));
}

int cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *bytes)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuFuncGetParamInfo(kernel, index, offset, bytes));
}

/* cudaFuncAttribute has the driver's numbers. */
int cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuFuncSetAttribute(kernel, attribute, value));
}

int cudaFuncSetCacheConfig(const void *host, int config)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuFuncSetCacheConfig(kernel, config));
}

int cudaFuncGetAttributes(struct function_attributes *attributes, const void *host)
{
    BEGIN;
    struct function_attributes *a = attributes;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel), value[16];
    for (int i = 0; i < 16 && !result; i++)
        result = cuFuncGetAttribute(&value[i], i, kernel);
    if (result)
        return rt_last(result);
    memset(a, 0, sizeof *a);
    a->max_threads = value[0];
    a->shared_bytes = (size_t)value[1];
    a->constant_bytes = (size_t)value[2];
    a->local_bytes = (size_t)value[3];
    a->registers = value[4];
    a->ptx_version = value[5];
    a->binary_version = value[6];
    a->cache_mode = value[7];
    a->dynamic_shared = value[8];
    a->carveout = value[9];
    a->cluster_required = value[10];
    memcpy(a->cluster, &value[11], sizeof a->cluster);
    a->nonportable = value[14];
    a->cluster_policy = value[15];
    return cudaSuccess;
}

/* ---- Occupancy --------------------------------------------------------------------------------------------------- */

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads, size_t shared,
                                                           unsigned flags)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    if (!result)
        result = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, flags);
    return rt_last(result);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

int cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const struct tw_launch_config *config)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuOccupancyMaxActiveClusters(clusters, kernel, config));
}

int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const struct tw_launch_config *config)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuOccupancyMaxPotentialClusterSize(size, kernel, config));
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks, int threads)
{
    BEGIN;
    struct cu_function *kernel;
    int result = rt_kernel(host, &kernel);
    return rt_last(result ? result : cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads));
}
