/* linear_gelu.c as a shared object for ctypes: functions over addresses and numbers, so that no struct has to be
 * spelled again in Python. All return 0, or the emitted pair's status with a reason in `why`. Thread-safe, but for
 * layer_close beside another call. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear_gelu.h"

/* Loads the kernel into the calling thread's current context. driver: NULL, and the CUDA driver is opened; or a table
 * of its entry points. *layer is for layer_run, and layer_close frees it. */
int layer_open(void **layer, const struct linear_gelu_driver *driver, char *why, size_t room)
{
    struct linear_gelu_error error;
    struct linear_gelu *kernel = malloc(sizeof *kernel);
    int status = linear_gelu_NO_MEMORY;
    *layer = kernel;
    snprintf(error.text, sizeof error.text, "no memory");
    if (kernel)
        status = linear_gelu_load(kernel, driver, &error);
    if (status == linear_gelu_OK)
        return status;
    snprintf(why, room, "%s", error.text);
    free(kernel);
    *layer = NULL;
    return status;
}

/* Frees it, with the same context current. */
int layer_close(void *layer, char *why, size_t room)
{
    struct linear_gelu_error error;
    int status = layer ? linear_gelu_unload(layer, &error) : linear_gelu_OK;
    if (status)
        snprintf(why, room, "%s", error.text);
    free(layer);
    return status;
}

/* y[rows, out] = gelu(x[rows, in] weight[out, in]^T + bias[out]), bf16 at device addresses; x and y with so many
 * elements from row to row. Launched on the stream, a CUstream; returns before it has run. */
int layer_run(void *layer, const void *x, int64_t x_stride, const void *weight, const void *bias, void *y,
              int64_t y_stride, int64_t rows, int64_t out, int64_t in, void *stream, char *why, size_t room)
{
    struct linear_gelu_error error;
    struct linear_gelu_args args;
    int status;
    memset(&args, 0, sizeof args); /* a stride of 0 is a dense one */
    args.A = x;
    args.A_stride[0] = x_stride;
    args.B = weight;
    args.bias = bias;
    args.D = y;
    args.D_stride[0] = y_stride;
    args.ROWS = rows;
    args.OUT = out;
    args.IN = in;
    status = linear_gelu_launch(layer, &args, stream, &error);
    if (status)
        snprintf(why, room, "%s", error.text);
    return status;
}
