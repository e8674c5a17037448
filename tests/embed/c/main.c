/* A program of plain C that launches the kernel scale: on the first GPU, else on the emulator.
 *   usage: main [driver]   driver: through libcuda alone, as a program that links nothing of Tilewright does */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "driver.h"
#include "emu/emu.h"
#include "scale.h"

enum { ROWS = 5, COLUMNS = 1000 };

static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];

static int launch(struct tw_device *gpu, const struct scale *kernel, struct tw_error *error)
{
    struct scale_args args;
    struct scale_error why;
    uint64_t from, to;
    size_t i;
    int status = tw_device_alloc(gpu, sizeof x, &from, error);
    if (!status)
        status = tw_device_alloc(gpu, sizeof y, &to, error);
    for (i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)i;
    if (!status)
        status = tw_device_upload(gpu, from, x, sizeof x, error);
    if (status)
        return status;
    memset(&args, 0, sizeof args);
    args.x = (const void *)(uintptr_t)from;
    args.y = (void *)(uintptr_t)to;
    args.R = ROWS;
    args.C = COLUMNS;
    args.factor = 3;
    if (scale_launch(kernel, &args, gpu->stream, &why))
        return tw_fail(error, TW_ERROR_DRIVER, "%s", why.text);
    status = tw_device_download(gpu, y, to, sizeof y, error);
    for (i = 0; i < ROWS * COLUMNS && !status; i++)
        if (y[i] != 3 * (float)i)
            status = tw_fail(error, TW_ERROR_INVALID, "y[%d] is %g, not %g", (int)i, (double)y[i], 3.0 * (double)i);
    return status;
}

static int load(struct tw_device *gpu, struct scale *kernel, struct tw_error *error)
{
    const struct tw_driver *driver = gpu->driver;
    struct scale_driver table;
    struct scale_error why;
    memset(&table, 0, sizeof table);
    table.version = driver->version;
    table.context_device = driver->context_device;
    table.device_attribute = driver->device_attribute;
    table.module_load = driver->module_load;
    table.module_unload = driver->module_unload;
    table.module_function = driver->module_function;
    table.function_set = driver->function_set;
    table.launch = (int (*)(const void *, void *, void **, void **))driver->launch;
    return scale_load(kernel, &table, &why) ? tw_fail(error, TW_ERROR_DRIVER, "%s", why.text) : TW_OK;
}

int main(int argc, char **argv)
{
    struct tw_runtime runtime;
    struct tw_device *gpu;
    struct tw_error error;
    struct scale kernel;
    if (argc == 2 && strcmp(argv[1], "driver") == 0) {
        struct scale_error why;
        int status = scale_load(&kernel, NULL, &why);
        printf("%s: %s\n", scale_strerror(status), status ? why.text : "");
        return status != scale_OK;
    }
    if (tw_runtime_init(&runtime, &error))
        return 1;
    if (tw_device_open_cuda(&runtime, 0, &gpu, &error) && tw_device_open_emu(&runtime, NULL, &gpu, &error))
        return fprintf(stderr, "%s\n", error.text), 1;
    if (tw_device_enter(gpu, &error) || load(gpu, &kernel, &error) || launch(gpu, &kernel, &error))
        return fprintf(stderr, "%s: %s\n", gpu->name, error.text), 1;
    printf("right on %s\n", gpu->name);
    scale_unload(&kernel, NULL);
    tw_device_close(gpu);
    tw_runtime_close(&runtime);
    return 0;
}
