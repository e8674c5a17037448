#include "ffn.h"

#include <string.h>

#include "bf16.h"

/* Device addresses of what lies in struct ffn_weights. */
static const void *weight(const struct ffn *ffn, size_t offset)
{
    return (const void *)(uintptr_t)(ffn->weights + offset);
}

static void *place(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

int ffn_open(struct ffn *ffn, struct gpu *gpu, const struct ffn_weights *weights)
{
    const size_t x_bytes = sizeof(uint16_t) * MOST_ROWS * FFN_WIDTH;
    const size_t hidden_bytes = sizeof(uint16_t) * MOST_ROWS * FFN_HIDDEN;
    const struct ffn_up_driver up_driver = GPU_DRIVER(ffn_up, gpu);
    const struct ffn_down_driver down_driver = GPU_DRIVER(ffn_down, gpu);
    struct ffn_up_error up_error;
    struct ffn_down_error down_error;
    memset(ffn, 0, sizeof *ffn);
    ffn->gpu = gpu;
    if (ffn_up_load(&ffn->up, &up_driver, &up_error))
        return gpu_fail(gpu, "ffn_up", up_error.text);
    if (ffn_down_load(&ffn->down, &down_driver, &down_error))
        return gpu_fail(gpu, "ffn_down", down_error.text);
    if (gpu_alloc(gpu, sizeof *weights, &ffn->weights) || gpu_alloc(gpu, x_bytes, &ffn->x) ||
        gpu_alloc(gpu, hidden_bytes, &ffn->hidden) || gpu_alloc(gpu, x_bytes, &ffn->out))
        return -1;
    return gpu_upload(gpu, ffn->weights, weights, sizeof *weights);
}

void ffn_close(struct ffn *ffn)
{
    struct tw_device *device = ffn->gpu->device;
    tw_device_free(device, ffn->weights);
    tw_device_free(device, ffn->x);
    tw_device_free(device, ffn->hidden);
    tw_device_free(device, ffn->out);
    ffn_up_unload(&ffn->up, NULL); /* a zeroed one does nothing */
    ffn_down_unload(&ffn->down, NULL);
}

static int launch(struct ffn *ffn, uint32_t rows)
{
    struct ffn_up_error up_error;
    struct ffn_down_error down_error;
    struct ffn_up_args up;
    struct ffn_down_args down;
    void *stream = ffn->gpu->device->stream;
    memset(&up, 0, sizeof up); /* a stride of 0 is a dense one */
    up.A = place(ffn->x);
    up.B = weight(ffn, offsetof(struct ffn_weights, up));
    up.bias = weight(ffn, offsetof(struct ffn_weights, up_bias));
    up.D = place(ffn->hidden);
    up.M = rows;
    if (ffn_up_launch(&ffn->up, &up, stream, &up_error))
        return gpu_fail(ffn->gpu, "ffn_up", up_error.text);
    memset(&down, 0, sizeof down);
    down.A = place(ffn->hidden);
    down.B = weight(ffn, offsetof(struct ffn_weights, down));
    down.bias = weight(ffn, offsetof(struct ffn_weights, down_bias));
    down.x = place(ffn->x);
    down.D = place(ffn->out);
    down.M = rows;
    if (ffn_down_launch(&ffn->down, &down, stream, &down_error))
        return gpu_fail(ffn->gpu, "ffn_down", down_error.text);
    return 0;
}

int ffn_run(struct ffn *ffn, const float *x, float *out, uint32_t rows)
{
    uint16_t element[MOST_ROWS * FFN_WIDTH];
    const size_t count = (size_t)rows * FFN_WIDTH;
    size_t i;
    if (rows > MOST_ROWS)
        return gpu_fail(ffn->gpu, "ffn", "too many rows");
    for (i = 0; i < count; i++)
        element[i] = to_bf16(x[i]);
    if (gpu_upload(ffn->gpu, ffn->x, element, count * sizeof *element) || launch(ffn, rows) || gpu_wait(ffn->gpu) ||
        gpu_download(ffn->gpu, element, ffn->out, count * sizeof *element))
        return -1;
    for (i = 0; i < count; i++)
        out[i] = from_bf16(element[i]);
    return 0;
}
