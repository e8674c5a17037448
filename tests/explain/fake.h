// The entry points of fake_driver.c.
#ifndef FAKE_H
#define FAKE_H

#include <stdint.h>

extern void (*fake_hook)(int site, uint32_t cbid, const char *name, const void *parameters, int *result);

// What this thread's calls are answered with.
void fake_answer(int result);

int cuInit(unsigned flags);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user);
int cuDriverGetVersion(int *version);
int cuCtxGetDevice(int *device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *estride, int interleave,
                           int swizzle, int l2, int oob);
int cuTensorMapEncodeIm2col(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                            const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,
                            uint32_t pixels, const uint32_t *estride, int interleave, int swizzle, int l2, int oob);
int cuTensorMapEncodeIm2colWide(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                                const uint64_t *stride, int lower, int upper, uint32_t channels, uint32_t pixels,
                                const uint32_t *estride, int interleave, int mode, int swizzle, int l2, int oob);

#endif
