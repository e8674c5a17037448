#include "gpu.h"

#include <stdio.h>
#include <string.h>

#include "emu/emu.h"

static const struct tw_driver *driver;

int gpu_max_active_clusters(int *clusters, void *function, const void *config)
{
    return driver->max_active_clusters ? driver->max_active_clusters(clusters, function, config) : -1;
}

int gpu_launch(const void *config, void *function, void **arguments, void **extra)
{
    return driver->launch(config, function, arguments, extra);
}

int gpu_fail(struct gpu *gpu, const char *who, const char *text)
{
    snprintf(gpu->why, sizeof gpu->why, "%s: %s", who, text);
    return -1;
}

int gpu_open(struct gpu *gpu, const char *which)
{
    struct tw_error error;
    int status, any = strcmp(which, "auto") == 0;
    memset(gpu, 0, sizeof *gpu);
    status = tw_runtime_init(&gpu->runtime, &error);
    if (status != TW_OK)
        return gpu_fail(gpu, "runtime", error.text);
    status = TW_ERROR_INVALID;
    if (any || strcmp(which, "cuda") == 0)
        status = tw_device_open_cuda(&gpu->runtime, 0, &gpu->device, &error);
    if ((any && status != TW_OK) || strcmp(which, "emu") == 0)
        status = tw_device_open_emu(&gpu->runtime, NULL, &gpu->device, &error);
    else if (!any && strcmp(which, "cuda") != 0)
        return gpu_fail(gpu, which, "write cuda, emu or auto");
    if (status == TW_OK)
        status = tw_device_enter(gpu->device, &error);
    if (status != TW_OK)
        return gpu_fail(gpu, which, error.text);
    driver = gpu->device->driver;
    return 0;
}

void gpu_close(struct gpu *gpu)
{
    tw_device_close(gpu->device);
    tw_runtime_close(&gpu->runtime);
}

static int check(struct gpu *gpu, int status, const char *who, const struct tw_error *error)
{
    return status == TW_OK ? 0 : gpu_fail(gpu, who, error->text);
}

int gpu_alloc(struct gpu *gpu, size_t bytes, uint64_t *address)
{
    struct tw_error error;
    return check(gpu, tw_device_alloc(gpu->device, bytes, address, &error), "memory", &error);
}

int gpu_upload(struct gpu *gpu, uint64_t to, const void *from, size_t bytes)
{
    struct tw_error error;
    return check(gpu, tw_device_upload(gpu->device, to, from, bytes, &error), "copy", &error);
}

int gpu_download(struct gpu *gpu, void *to, uint64_t from, size_t bytes)
{
    struct tw_error error;
    return check(gpu, tw_device_download(gpu->device, to, from, bytes, &error), "copy", &error);
}

int gpu_wait(struct gpu *gpu)
{
    struct tw_error error;
    return check(gpu, tw_device_synchronize(gpu->device, &error), "wait", &error);
}
