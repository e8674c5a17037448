/* Tilewright's emulator as a shared object, for trying the ctypes side on a machine without a GPU: memory of an
 * emulated device, and the table of driver entry points that layer_open takes. */
#include <stdint.h>
#include <stdio.h>

#include "driver.h"
#include "emu/emu.h"

#include "linear_gelu.h"

#define PUBLIC __attribute__((visibility("default")))

static struct tw_runtime runtime;
static struct tw_device *device;
static struct tw_error error;
static struct linear_gelu_driver table;

static int launch(const void *config, void *function, void **arguments, void **extra)
{
    return device->driver->launch(config, function, arguments, extra);
}

PUBLIC const char *emulated_why(void);
PUBLIC const struct linear_gelu_driver *emulated_open(void);
PUBLIC uint64_t emulated_alloc(size_t bytes);
PUBLIC int emulated_upload(uint64_t to, const void *from, size_t bytes);
PUBLIC int emulated_download(void *to, uint64_t from, size_t bytes);
PUBLIC void emulated_close(void);

/* What went wrong last. */
const char *emulated_why(void)
{
    return error.text;
}

/* The table; NULL where something went wrong. */
const struct linear_gelu_driver *emulated_open(void)
{
    const struct tw_driver *d;
    if (tw_runtime_init(&runtime, &error) || tw_device_open_emu(&runtime, NULL, &device, &error) ||
        tw_device_enter(device, &error))
        return NULL;
    d = device->driver;
    table = (struct linear_gelu_driver){
        .version = d->version,
        .context_device = d->context_device,
        .device_attribute = d->device_attribute,
        .module_load = d->module_load,
        .module_unload = d->module_unload,
        .module_function = d->module_function,
        .function_set = d->function_set,
        .launch = launch,
        .encode_tiled = d->encode_tiled,
    };
    return &table;
}

/* 0 where there is no memory. */
uint64_t emulated_alloc(size_t bytes)
{
    uint64_t address;
    return tw_device_alloc(device, bytes, &address, &error) ? 0 : address;
}

int emulated_upload(uint64_t to, const void *from, size_t bytes)
{
    return tw_device_upload(device, to, from, bytes, &error);
}

int emulated_download(void *to, uint64_t from, size_t bytes)
{
    return tw_device_download(device, to, from, bytes, &error);
}

/* Frees the device and all its memory. */
void emulated_close(void)
{
    tw_device_close(device);
    tw_runtime_close(&runtime);
}
