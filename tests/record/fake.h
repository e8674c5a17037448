// The entry points of fake_driver.c.
#ifndef RECORD_FAKE_H
#define RECORD_FAKE_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_CAPTURING ((void *)(uintptr_t)0x33) // a stream that is captured

extern void (*fake_hook)(int site, uint32_t cbid, const char *name, const void *parameters, int *result);

struct tw_launch_config;
int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocHost_v2(void **memory, size_t bytes);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address);
int cuPointerGetAttribute(void *value, int attribute, uint64_t address);
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuCtxSynchronize(void);
int cuStreamIsCapturing(void *stream, int *status);
int cuDriverGetVersion(int *version);
int cuCtxGetDevice(int *device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuModuleLoad(void **module, const char *path);
int cuModuleLoadData(void **module, const void *image);
int cuLibraryLoadData(void **library, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuKernelGetFunction(void **function, void *kernel);
int cuFuncGetModule(void **module, void *function);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name);
int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra);
int cuLaunchKernelEx(const struct tw_launch_config *config, void *function, void **arguments, void **extra);
int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *estride, int interleave,
                           int swizzle, int l2, int oob);

#endif
