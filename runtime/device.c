#include "device.h"

#include <stdio.h>

void tw_arch_name(int major, int minor, char *out)
{
    snprintf(out, 16, "sm_%d%d%s", major % 1000, minor % 10, major >= 9 ? "a" : "");
}

int tw_device_enter(struct tw_device *device, struct tw_error *error)
{
    return device->enter ? device->enter(device, error) : TW_OK;
}

void tw_device_close(struct tw_device *device)
{
    if (device)
        device->ops->close(device);
}

int tw_device_alloc(struct tw_device *device, size_t bytes, uint64_t *address, struct tw_error *error)
{
    *address = 0;
    return device->ops->alloc(device, bytes ? bytes : 1, address, error);
}

void tw_device_free(struct tw_device *device, uint64_t address)
{
    if (device && address)
        device->ops->free(device, address);
}

int tw_device_host_alloc(struct tw_device *device, size_t bytes, uint64_t *address, void **memory,
                         struct tw_error *error)
{
    *address = 0;
    *memory = NULL;
    return device->ops->host_alloc(device, bytes ? bytes : 1, address, memory, error);
}

void tw_device_host_free(struct tw_device *device, uint64_t address, void *memory)
{
    if (device && memory)
        device->ops->host_free(device, address, memory);
}

int tw_device_symbol(struct tw_device *device, struct tw_kernel *kernel, const char *name, uint64_t *address,
                     size_t *bytes, struct tw_error *error)
{
    *address = 0;
    *bytes = 0;
    return device->ops->symbol(device, kernel, name, address, bytes, error);
}

int tw_device_limit(struct tw_device *device, uint64_t address, size_t bytes, struct tw_error *error)
{
    return device->ops->limit ? device->ops->limit(device, address, bytes, error) : TW_OK;
}

int tw_device_upload(struct tw_device *device, uint64_t to, const void *from, size_t bytes, struct tw_error *error)
{
    return bytes ? device->ops->upload(device, to, from, bytes, error) : TW_OK;
}

int tw_device_download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error)
{
    return bytes ? device->ops->download(device, to, from, bytes, error) : TW_OK;
}

int tw_device_fill(struct tw_device *device, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *error)
{
    if (to % 4)
        return tw_fail(error, TW_ERROR_INVALID, "a fill begins at a multiple of 4 bytes");
    return bytes ? device->ops->fill(device, to, pattern, bytes, error) : TW_OK;
}

int tw_device_load(struct tw_device *device, const struct tw_load *load, struct tw_kernel **kernel,
                   struct tw_error *error)
{
    *kernel = NULL;
    if (!load->entry || (!load->cubin && !load->ptx && !load->path))
        return tw_fail(error, TW_ERROR_INVALID, "a kernel needs an entry, and a cubin, PTX or a path");
    return device->ops->load(device, load, kernel, error);
}

void tw_device_unload(struct tw_device *device, struct tw_kernel *kernel)
{
    if (device && kernel)
        device->ops->unload(device, kernel);
}

int tw_device_launch(struct tw_device *device, const struct tw_launch *launch, struct tw_error *error)
{
    if (!launch->grid[0] || !launch->grid[1] || !launch->grid[2])
        return TW_OK;
    return device->ops->launch(device, launch, error);
}

int tw_device_synchronize(struct tw_device *device, struct tw_error *error)
{
    return device->ops->synchronize(device, error);
}

int tw_device_time(struct tw_device *device, const struct tw_launch *launches, size_t count, size_t warmups,
                   size_t samples, double *seconds, struct tw_error *error)
{
    return device->ops->time(device, launches, count, warmups, samples, seconds, error);
}
