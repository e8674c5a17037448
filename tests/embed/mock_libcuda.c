/* Built with the soname libcuda.so.1: what an emitted load that opens the driver itself then finds. */
#include "mock_driver.h"

int cuDriverGetVersion(int *version);
int cuCtxGetDevice(int *device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config);
int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra);
int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride, int interleave,
                           int swizzle, int promotion, int fill);

int cuDriverGetVersion(int *version)
{
    return mock_version(version);
}

int cuCtxGetDevice(int *device)
{
    return mock_context_device(device);
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    return mock_device_attribute(value, attribute, device);
}

int cuModuleLoadData(void **module, const void *image)
{
    return mock_module_load(module, image);
}

int cuModuleUnload(void *module)
{
    return mock_module_unload(module);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return mock_module_function(function, module, name);
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return mock_function_set(function, attribute, value);
}

int cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config)
{
    return mock_max_active_clusters(clusters, function, config);
}

int cuLaunchKernelEx(const void *config, void *function, void **arguments, void **extra)
{
    return mock_launch(config, function, arguments, extra);
}

int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride, int interleave,
                           int swizzle, int promotion, int fill)
{
    return mock_encode_tiled(map, dtype, rank, address, dim, stride, box, element_stride, interleave, swizzle,
                             promotion, fill);
}
