#include "cmd/bench/bench_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const int lab_graph_launches[LAB_GRAPHS] = {1, 10, 100};
const int lab_argument_counts[LAB_COUNTS] = {0, 3, 16, LAB_ARGUMENTS};

double lab_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void fill_calls(struct lab *lab)
{
    const struct tw_tensormap_call tiled = {.func = TW_TENSORMAP_TILED, .dtype = 6, .rank = 2, .addr = lab->tensor[0],
                                            .dim = {512, 512}, .stride = {1024}, .box = {64, 64}, .estride = {1, 1},
                                            .swizzle = 3, .l2 = 2};
    for (int i = 0; i < LAB_CALLS; i++)
        lab->call[i] = tiled;
    lab->call[1].rank = 3;
    lab->call[2].rank = 5;
    for (int i = 1; i < 3; i++)
        for (int d = 0; d < 5; d++) {
            lab->call[i].dim[d] = d ? 4 : 64;
            lab->call[i].box[d] = d ? 2 : 64;
            lab->call[i].estride[d] = 1;
            if (d < 4)
                lab->call[i].stride[d] = 128u << 2 * d;
        }
    for (int i = 3; i < 5; i++) {
        lab->call[i].func = i == 3 ? TW_TENSORMAP_IM2COL : TW_TENSORMAP_IM2COL_WIDE;
        lab->call[i].rank = 4;
        for (int d = 0; d < 4; d++) {
            lab->call[i].dim[d] = d ? 16 : 64;
            lab->call[i].estride[d] = 1;
            if (d < 3)
                lab->call[i].stride[d] = 128u << 4 * d;
        }
        lab->call[i].channels = 64;
        lab->call[i].pixels = 64;
    }
}

/* Kernels of 0, 3, 16 and 58 ints, compiled in one text. */
static int make_empty_kernels(struct lab *lab, struct tw_error *error)
{
    size_t at = 0;
    for (int k = 0; k < LAB_COUNTS; k++) {
        at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, "extern \"C\" __global__ void empty_%d(", k);
        for (int i = 0; i < lab_argument_counts[k]; i++)
            at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, "%sint a%d", i ? ", " : "", i);
        at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, ") {}\n");
    }
    lab->compile = (struct tw_compile_request){.source = lab->source, .source_bytes = at,
                                               .name = "/tilewright/empty.cu", .entry = "empty_0",
                                               .arch = lab->host->device->arch, .outputs = TW_OUTPUT_CUBIN};
    struct tw_compiled compiled = {0};
    int status = tw_compile(&lab->host->rt, &lab->compile, &compiled, error);
    if (status == TW_OK)
        status = tw_driver_check(lab->driver, lab->driver->module_load(&lab->module, compiled.cubin), error,
                                 "loading empty kernels");
    for (int k = 0; k < LAB_COUNTS && status == TW_OK; k++) {
        char name[24];
        snprintf(name, sizeof name, "empty_%d", k);
        status = tw_driver_check(lab->driver, lab->driver->module_function(&lab->function[k], lab->module, name), error,
                                 "%s", name);
    }
    tw_compiled_free(&lab->host->rt, &compiled);
    for (int i = 0; i < LAB_ARGUMENTS; i++)
        lab->arguments[i] = &lab->argument[i];
    return status;
}

/* Launches a kernel `count` times: which 0 is case 001, another one empty kernel which - 1. A CUresult. */
static int launch(struct lab *lab, int which, int count)
{
    struct tw_launch_config config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = lab->stream};
    int result = 0;
    if (which == 0)
        return lab->emitted->bare(lab->stream, count);
    for (; count > 0 && !result; count--)
        result = lab->driver->launch(&config, lab->function[which - 1], lab->arguments, NULL);
    return result;
}

static int make_graph(struct lab *lab, int which, int launches, struct lab_graph *out)
{
    const struct tw_driver *d = lab->driver;
    int result = d->capture_begin(lab->stream, 2); /* CU_STREAM_CAPTURE_MODE_RELAXED */
    if (!result)
        result = launch(lab, which, launches);
    if (!result)
        result = d->capture_end(lab->stream, &out->graph);
    return result ? result : d->graph_instantiate(&out->replay, out->graph, 0);
}

static int make_graphs(struct lab *lab, struct tw_error *error)
{
    const struct tw_driver *d = lab->driver;
    for (int k = 0; k <= LAB_COUNTS; k++)
        for (int i = 0; i < LAB_GRAPHS; i++) {
            int result = make_graph(lab, k, lab_graph_launches[i], &lab->graph[k][i]);
            if (result)
                return tw_driver_check(d, result, error, "a graph of %d launches", lab_graph_launches[i]);
        }
    size_t one = 1;
    if (!d->graph_nodes || !d->graph_set_kernel || d->graph_nodes(lab->graph[0][0].graph, &lab->node, &one) != 0)
        lab->node = NULL; /* no updates, then */
    return TW_OK;
}

static int set_up(struct lab *lab, struct tw_error *error)
{
    struct bench_host *host = lab->host;
    const char *text = "";
    for (int i = 0; i < 3; i++) {
        int status = tw_device_alloc(host->device, 520 * 512 * 2, &lab->tensor[i], error);
        if (status == TW_OK)
            status = tw_device_fill(host->device, lab->tensor[i], 0, 520 * 512 * 2, error);
        if (status != TW_OK)
            return status;
    }
    if (!lab->driver->encode_tiled || !lab->driver->encode_im2col || !lab->driver->launch_plain)
        return tw_fail(error, TW_ERROR_OLD_DRIVER, "the driver has no tensor maps");
    int result = lab->emitted->open((const void *)(uintptr_t)lab->tensor[0], (const void *)(uintptr_t)lab->tensor[1],
                                    (void *)(uintptr_t)lab->tensor[2], &text);
    if (result)
        return tw_fail(error, TW_ERROR_DRIVER, "the emitted code does not load: %s",
                       result < 0 ? "its tensor maps differ from the driver's" : text);
    lab->emitted->prepared(&lab->prepared.function, &lab->prepared_arguments[0], lab->prepared.grid,
                           &lab->prepared.block[0], &lab->prepared.shared_bytes);
    lab->prepared.block[1] = lab->prepared.block[2] = 1;
    lab->prepared.arguments = lab->prepared_arguments;
    fill_calls(lab);
    int status = make_empty_kernels(lab, error);
    return status == TW_OK ? make_graphs(lab, error) : status;
}

void lab_close(struct lab *lab)
{
    const struct tw_driver *d = lab->driver;
    for (int k = 0; k <= LAB_COUNTS; k++)
        for (int i = 0; i < LAB_GRAPHS; i++) {
            if (lab->graph[k][i].replay)
                d->graph_executable_destroy(lab->graph[k][i].replay);
            if (lab->graph[k][i].graph)
                d->graph_destroy(lab->graph[k][i].graph);
        }
    if (lab->module)
        d->module_unload(lab->module);
    lab->emitted->close();
    for (int i = 0; i < 3; i++)
        tw_device_free(lab->host->device, lab->tensor[i]);
    free(lab);
}

struct lab *lab_open(struct bench_host *host, struct tw_error *error)
{
    struct lab *lab = aligned_alloc(64, (sizeof *lab + 63) / 64 * 64);
    if (!lab) {
        tw_fail(error, TW_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    memset(lab, 0, sizeof *lab);
    lab->host = host;
    lab->driver = host->device->driver;
    lab->emitted = &host->emitted;
    lab->stream = host->device->stream;
    if (tw_device_enter(host->device, error) == TW_OK && set_up(lab, error) == TW_OK)
        return lab;
    lab_close(lab);
    return NULL;
}
