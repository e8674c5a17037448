/* The device that the server computes on: a GPU where there is one, else Tilewright's emulator. Both are behind one
 * interface of its runtime (device.h) and one table of driver entry points, so that nothing else here tells them apart.
 * A server that has a CUDA context of its own needs none of this: it hands NULL to NAME_load and its stream to
 * NAME_launch. */
#ifndef GPU_H
#define GPU_H

#include "device.h"
#include "driver.h"

struct gpu {
    struct tw_runtime runtime;
    struct tw_device *device;
    char why[1100]; /* what went wrong last */
};

/* which: "cuda", "emu", or "auto" for the first of them that is there. 0, or -1 with a reason in why. After any result
 * gpu_close is due. One thread at a time uses it. */
int gpu_open(struct gpu *gpu, const char *which);
void gpu_close(struct gpu *gpu);

/* As tw_device_alloc, _upload, _download and _synchronize. 0, or -1 with a reason in why. */
int gpu_alloc(struct gpu *gpu, size_t bytes, uint64_t *address);
int gpu_upload(struct gpu *gpu, uint64_t to, const void *from, size_t bytes);
int gpu_download(struct gpu *gpu, void *to, uint64_t from, size_t bytes);
int gpu_wait(struct gpu *gpu);

/* Keeps a reason and returns -1. */
int gpu_fail(struct gpu *gpu, const char *who, const char *text);

/* The device's entry points as NAME_load of an emitted pair takes them. */
#define GPU_DRIVER(NAME, gpu)                                                                                          \
    {                                                                                                                  \
        .version = (gpu)->device->driver->version, .context_device = (gpu)->device->driver->context_device,            \
        .device_attribute = (gpu)->device->driver->device_attribute,                                                   \
        .module_load = (gpu)->device->driver->module_load, .module_unload = (gpu)->device->driver->module_unload,      \
        .module_function = (gpu)->device->driver->module_function,                                                     \
        .function_set = (gpu)->device->driver->function_set, .max_active_clusters = gpu_max_active_clusters,           \
        .launch = gpu_launch, .encode_tiled = (gpu)->device->driver->encode_tiled,                                     \
    }

/* Two of them take a struct that the emitted C does not name: of the device that was opened last. */
int gpu_max_active_clusters(int *clusters, void *function, const void *config);
int gpu_launch(const void *config, void *function, void **arguments, void **extra);

#endif
