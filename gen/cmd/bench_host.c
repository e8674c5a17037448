#include "cmd/bench.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache.h"
#include "nvrtc.h"
#include "tensormap.h"

enum { MAPS = 192, MOST_CANDIDATES = 8, ARGUMENTS = 58, GRAPHS = 3, LAUNCHES = 100 };
static const int graph_nodes[GRAPHS] = {1, 10, 100};
static const int argument_counts[] = {0, 3, 16, ARGUMENTS};

/* What the candidates work on. */
struct lab {
    struct bench_host *host;
    const struct tw_driver *driver;
    struct bench_emitted *emitted;
    void *stream;
    uint64_t tensor[3];
    alignas(64) uint64_t map[MAPS][16];
    struct tw_tensormap_call call[5]; /* rank 2, 3, 5, im2col, im2col-wide */
    void *module, *function[4];
    int argument[ARGUMENTS];
    void *arguments[ARGUMENTS];
    void *graph[GRAPHS], *replay[GRAPHS], *node;
    struct tw_kernel_node node_params;
    void *node_arguments[1];
    struct tw_compile_request compile;
    char source[4096];
};

/* One thing to measure: does its operation `count` times; 0, or a failure. which: a number of its own. */
struct candidate {
    const char *kernel, *backend, *size;
    int (*run)(struct lab *lab, int which, long count);
    int which;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

/* which: descriptors of an operation */
static int driver_encode(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        for (int i = 0; i < which; i++)
            if (tw_driver_encode(lab->driver, &lab->call[0], lab->map[i]))
                return 1;
    return 0;
}

static int library_encode(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        for (int i = 0; i < which; i++)
            if (tw_tensormap_encode(&lab->call[0], 90, lab->map[i]))
                return 1;
    return 0;
}

/* which: number of the call */
static int driver_kind(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if (tw_driver_encode(lab->driver, &lab->call[which], lab->map[0]))
            return 1;
    return 0;
}

static int library_kind(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if (tw_tensormap_encode(&lab->call[which], 90, lab->map[0]))
            return 1;
    return 0;
}

static int driver_replace(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        for (int i = 0; i < which; i++)
            if (lab->driver->replace_address(lab->map[i], (void *)(uintptr_t)lab->tensor[1]))
                return 1;
    return 0;
}

static int library_replace(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        for (int i = 0; i < which; i++)
            if (tw_tensormap_replace_address(lab->map[i], lab->tensor[1]))
                return 1;
    return 0;
}

static int emitted_params(struct lab *lab, int which, long count)
{
    return (which == 0 ? lab->emitted->params_000 : which == 1 ? lab->emitted->params_001
                                                               : lab->emitted->params_001_strided)(count);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int bare(struct lab *lab, int which, long count)
{
    return (which ? lab->emitted->bare_programmatic : lab->emitted->bare)(lab->stream, count);
}

static int launch(struct lab *lab, int which, long count)
{
    return (which ? lab->emitted->launch_programmatic : lab->emitted->launch)(lab->stream, count);
}

/* which: of argument_counts */
static int plain_launch(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if (lab->driver->launch_plain(lab->function[which], 1, 1, 1, 32, 1, 1, 0, lab->stream, lab->arguments, NULL))
            return 1;
    return 0;
}

static int ex_launch(struct lab *lab, int which, long count)
{
    struct tw_launch_config config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = lab->stream};
    for (; count > 0; count--)
        if (lab->driver->launch(&config, lab->function[which], lab->arguments, NULL))
            return 1;
    return 0;
}

static int replay(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if (lab->driver->graph_launch(lab->replay[which], lab->stream))
            return 1;
    return 0;
}

/* which: 1 fills the parameters by the emitted code before */
static int update(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if ((which && lab->emitted->params_001(1)) ||
            lab->driver->graph_set_kernel(lab->replay[0], lab->node, &lab->node_params))
            return 1;
    return 0;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static int compile(struct lab *lab, int which, long count)
{
    for (; count > 0; count--) {
        struct tw_compiled out = {0};
        struct tw_error error;
        int status = which ? tw_compile_cached(&lab->host->rt, &lab->compile, &out, &error)
                           : tw_compile(&lab->host->rt, &lab->compile, &out, &error);
        tw_compiled_free(&lab->host->rt, &out);
        if (status != TW_OK)
            return 1;
    }
    return 0;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, compare);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

/* A new order of the candidates: what one leaves in the machine's caches and queues is not always the same one's gain
 * or loss. */
static void shuffle(int *order, int count, uint32_t *seed)
{
    for (int i = count - 1; i > 0; i--) {
        *seed = *seed * 1664525 + 1013904223;
        int other = (int)((*seed >> 16) % (uint32_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Batches of all candidates in turn; between them the stream runs dry, so that no launch waits for a full queue. */
static int measure(struct lab *lab, const char *group, long batch, int rounds, const struct candidate *candidate,
                   int count)
{
    struct bench_host *host = lab->host;
    double *sample = count > MOST_CANDIDATES
                         ? NULL
                         : tw_alloc(&host->rt, sizeof *sample * (size_t)(rounds * (count + 1)));
    if (!sample)
        return 3;
    int status = 0, order[MOST_CANDIDATES];
    uint32_t seed = 1;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int r = -1; r < rounds && !status; r++) { /* round -1 warms up */
        shuffle(order, count, &seed);
        for (int n = 0; n < count && !status; n++) {
            int i = order[n];
            double from = now();
            status = candidate[i].run(lab, candidate[i].which, r < 0 && batch > 10 ? 10 : batch);
            double took = (now() - from) / (double)batch;
            if (lab->driver->stream_synchronize(lab->stream))
                status = 1;
            if (r >= 0)
                sample[i * rounds + r] = took;
        }
    }
    if (status)
        fprintf(stderr, "tilewright bench: %s: a call failed\n", group);
    double *difference = sample + (size_t)count * (size_t)rounds;
    for (int i = count - 1; i >= 0 && !status; i--) {
        struct bench_row row = {.group = group, .kernel = candidate[i].kernel, .backend = candidate[i].backend,
                                .size = candidate[i].size, .batch = batch, .first = i == 0};
        for (int r = 0; r < rounds; r++)
            difference[r] = sample[i * rounds + r] - sample[r];
        row.over = median(difference, rounds);
        if (i == 0)
            row.over = 0;
        host->row[host->count + i] = row;
    }
    for (int i = 0; i < count && !status; i++) {
        struct bench_row *row = &host->row[host->count + i];
        row->median = median(sample + i * rounds, rounds);
        row->least = sample[i * rounds];
        row->most = sample[i * rounds + rounds - 1];
    }
    host->count += status ? 0 : count;
    tw_free(&host->rt, sample);
    return status ? 3 : 0;
}

#define MEASURE(group, batch, rounds, list) measure(lab, group, batch, rounds, list, (int)(sizeof(list) / sizeof *(list)))

static int measure_all(struct lab *lab)
{
    static const char three[] = "3 maps of 512 x 512 fp16";
    const struct candidate encode[] = {
        {"case_000", "driver", three, driver_encode, 3},
        {"case_000", "emitted", "3 maps, constant sizes", emitted_params, 0},
        {"case_001", "emitted", "3 maps, sizes at launch", emitted_params, 1},
        {"case_001", "emitted", "3 maps, sizes and strides", emitted_params, 2},
        {"case_000", "library", three, library_encode, 3},
    };
    const struct candidate numbers[] = {
        {"encode", "driver", "1 map", driver_encode, 1},     {"encode", "library", "1 map", library_encode, 1},
        {"encode", "driver", "8 maps", driver_encode, 8},    {"encode", "library", "8 maps", library_encode, 8},
        {"encode", "driver", "192 maps", driver_encode, 192}, {"encode", "library", "192 maps", library_encode, 192},
    };
    const struct candidate kinds[] = {
        {"encode", "driver", "rank 2", driver_kind, 0},      {"encode", "library", "rank 2", library_kind, 0},
        {"encode", "driver", "rank 3", driver_kind, 1},      {"encode", "library", "rank 3", library_kind, 1},
        {"encode", "driver", "rank 5", driver_kind, 2},      {"encode", "library", "rank 5", library_kind, 2},
        {"encode", "driver", "im2col", driver_kind, 3},      {"encode", "library", "im2col", library_kind, 3},
    };
    const struct candidate wide[] = {
        {"encode", "driver", "im2col-wide", driver_kind, 4}, {"encode", "library", "im2col-wide", library_kind, 4},
    };
    const struct candidate replace[] = {
        {"replace_address", "driver", "3 maps", driver_replace, 3},
        {"replace_address", "library", "3 maps", library_replace, 3},
    };
    const struct candidate launches[] = {
        {"case_001", "driver", "cuLaunchKernelEx, prepared", bare, 0},
        {"case_001", "emitted", "NAME_launch, maps included", launch, 0},
        {"case_001", "graph", "replay of 1 kernel", replay, 0},
        {"case_001", "graph", "replay of 10 kernels", replay, 1},
        {"case_001", "graph", "replay of 100 kernels", replay, 2},
    };
    const struct candidate programmatic[] = {
        {"case_001", "driver", "programmatic, prepared", bare, 1},
        {"case_001", "emitted", "programmatic, NAME_launch", launch, 1},
    };
    const struct candidate plain[] = {
        {"empty", "driver", "cuLaunchKernel, 0 arguments", plain_launch, 0},
        {"empty", "driver", "cuLaunchKernelEx, 0 arguments", ex_launch, 0},
        {"empty", "driver", "cuLaunchKernel, 3 arguments", plain_launch, 1},
        {"empty", "driver", "cuLaunchKernelEx, 3 arguments", ex_launch, 1},
        {"empty", "driver", "cuLaunchKernel, 16 arguments", plain_launch, 2},
        {"empty", "driver", "cuLaunchKernelEx, 16 arguments", ex_launch, 2},
        {"empty", "driver", "cuLaunchKernel, 58 arguments", plain_launch, 3},
        {"empty", "driver", "cuLaunchKernelEx, 58 arguments", ex_launch, 3},
    };
    const struct candidate updates[] = {
        {"case_001", "driver", "node update, prepared", update, 0},
        {"case_001", "emitted", "node update, NAME_params", update, 1},
    };
    const struct candidate compiles[] = {
        {"empty", "nvrtc", "compile", compile, 0},
        {"empty", "cache", "cache hit", compile, 1},
    };
    int rounds = lab->host->rounds;
    int status = MEASURE("three descriptors (case 000)", 1000, rounds, encode);
    if (!status)
        status = MEASURE("descriptors", 200, rounds, numbers);
    if (!status)
        status = MEASURE("kinds of descriptors", 1000, rounds, kinds);
    if (!status && lab->driver->encode_im2col_wide && driver_kind(lab, 4, 1) == 0)
        status = MEASURE("im2col-wide descriptors", 1000, rounds, wide);
    if (!status && lab->driver->replace_address)
        status = MEASURE("replaced addresses", 1000, rounds, replace);
    /* A launch's time wanders by more than what these differ by: many short batches. */
    if (!status)
        status = MEASURE("one launch (case 001)", LAUNCHES, 8 * rounds, launches);
    if (!status)
        status = MEASURE("one programmatic launch (case 001)", LAUNCHES, 8 * rounds, programmatic);
    if (!status)
        status = MEASURE("empty kernels", LAUNCHES, rounds, plain);
    if (!status && lab->node)
        status = MEASURE("update of a graph's node (case 001)", LAUNCHES, rounds, updates);
    if (!status)
        status = MEASURE("compiling an empty kernel", 1, rounds < 9 ? rounds : 9, compiles);
    return status;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static void fill_calls(struct lab *lab)
{
    const struct tw_tensormap_call tiled = {.func = TW_TENSORMAP_TILED, .dtype = 6, .rank = 2, .addr = lab->tensor[0],
                                            .dim = {512, 512}, .stride = {1024}, .box = {64, 64}, .estride = {1, 1},
                                            .swizzle = 3, .l2 = 2};
    for (int i = 0; i < 5; i++)
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
    for (int k = 0; k < 4; k++) {
        at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, "extern \"C\" __global__ void empty_%d(", k);
        for (int i = 0; i < argument_counts[k]; i++)
            at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, "%sint a%d", i ? ", " : "", i);
        at += (size_t)snprintf(lab->source + at, sizeof lab->source - at, ") {}\n");
    }
    lab->compile = (struct tw_compile_request){.source = lab->source, .source_bytes = at, .name = "/tilewright/empty.cu",
                                               .entry = "empty_0", .arch = lab->host->device->arch,
                                               .outputs = TW_OUTPUT_CUBIN};
    struct tw_compiled compiled = {0};
    int status = tw_compile(&lab->host->rt, &lab->compile, &compiled, error);
    if (status == TW_OK)
        status = tw_driver_check(lab->driver, lab->driver->module_load(&lab->module, compiled.cubin), error,
                                 "loading empty kernels");
    for (int k = 0; k < 4 && status == TW_OK; k++) {
        char name[24];
        snprintf(name, sizeof name, "empty_%d", k);
        status = tw_driver_check(lab->driver, lab->driver->module_function(&lab->function[k], lab->module, name), error,
                                 "%s", name);
    }
    tw_compiled_free(&lab->host->rt, &compiled);
    for (int i = 0; i < ARGUMENTS; i++)
        lab->arguments[i] = &lab->argument[i];
    return status;
}

static int make_graphs(struct lab *lab, struct tw_error *error)
{
    const struct tw_driver *d = lab->driver;
    for (int i = 0; i < GRAPHS; i++) {
        int result = d->capture_begin(lab->stream, 2);
        if (!result)
            result = bare(lab, 0, graph_nodes[i]);
        if (!result)
            result = d->capture_end(lab->stream, &lab->graph[i]);
        if (!result)
            result = d->graph_instantiate(&lab->replay[i], lab->graph[i], 0);
        if (result)
            return tw_driver_check(d, result, error, "a graph of %d launches", graph_nodes[i]);
    }
    size_t one = 1;
    lab->emitted->prepared(&lab->node_params.function, &lab->node_arguments[0], lab->node_params.grid,
                           &lab->node_params.block[0], &lab->node_params.shared_bytes);
    lab->node_params.block[1] = lab->node_params.block[2] = 1;
    lab->node_params.arguments = lab->node_arguments;
    if (!d->graph_nodes || !d->graph_set_kernel || d->graph_nodes(lab->graph[0], &lab->node, &one) != 0)
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
    fill_calls(lab);
    int status = make_empty_kernels(lab, error);
    return status == TW_OK ? make_graphs(lab, error) : status;
}

static void take_down(struct lab *lab)
{
    const struct tw_driver *d = lab->driver;
    for (int i = 0; i < GRAPHS; i++) {
        if (lab->replay[i])
            d->graph_executable_destroy(lab->replay[i]);
        if (lab->graph[i])
            d->graph_destroy(lab->graph[i]);
    }
    if (lab->module)
        d->module_unload(lab->module);
    lab->emitted->close();
    for (int i = 0; i < 3; i++)
        tw_device_free(lab->host->device, lab->tensor[i]);
}

static struct lab *lab_open(struct bench_host *host, struct tw_error *error)
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
    take_down(lab);
    free(lab);
    return NULL;
}

int bench_host_run(struct bench_host *host)
{
    struct tw_error error;
    host->row = tw_alloc_zeroed(&host->rt, sizeof *host->row * 64);
    struct lab *lab = host->row ? lab_open(host, &error) : NULL;
    if (!lab) {
        fprintf(stderr, "tilewright bench: %s\n", host->row ? error.text : "out of memory");
        return 3;
    }
    int status = measure_all(lab);
    take_down(lab);
    free(lab);
    return status;
}

void bench_host_free(struct bench_host *host)
{
    tw_free(&host->rt, host->row);
    host->row = NULL;
}

/* ---- the timeline ------------------------------------------------------------------------------------------------ */

int bench_host_trace(struct bench_host *host, const char *path)
{
    enum { TRACED = 40 };
    struct tw_error error;
    void *event[TRACED + 1] = {NULL};
    double began[TRACED], ended[TRACED], origin = 0;
    float device[TRACED + 1] = {0};
    int result = 0;
    struct lab *lab = lab_open(host, &error);
    if (!lab) {
        fprintf(stderr, "tilewright bench: %s\n", error.text);
        return 3;
    }
    const struct tw_driver *d = lab->driver;
    launch(lab, 0, 10);
    for (int i = 0; i <= TRACED && !result; i++)
        result = d->event_create(&event[i], 0);
    if (!result)
        result = d->stream_synchronize(lab->stream);
    if (!result)
        result = d->event_record(event[0], lab->stream);
    if (!result)
        result = d->event_synchronize(event[0]);
    origin = now(); /* the device reached event 0 just before */
    for (int i = 0; i < TRACED && !result; i++) {
        began[i] = now();
        result = launch(lab, 0, 1);
        ended[i] = now();
        if (!result)
            result = d->event_record(event[i + 1], lab->stream);
    }
    if (!result)
        result = d->stream_synchronize(lab->stream);
    for (int i = 1; i <= TRACED && !result; i++)
        result = d->event_elapsed(&device[i], event[0], event[i]);
    FILE *out = result ? NULL : fopen(path, "w");
    if (out) {
        fprintf(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
                     " {\"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"name\": \"thread_name\", \"args\": {\"name\": \"host\"}},\n"
                     " {\"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"name\": \"thread_name\", \"args\": {\"name\": \"device\"}}");
        for (int i = 0; i < TRACED; i++) {
            /* On the device a kernel begins when the one before it has ended, or when it is launched. */
            double from = 1e3 * (double)device[i], launched = (began[i] - origin) / 1e3;
            from = from > launched ? from : launched;
            double to = 1e3 * (double)device[i + 1];
            fprintf(out,
                    ",\n {\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"case_001_launch\", \"ts\": %.3f, \"dur\": %.3f}"
                    ",\n {\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"name\": \"case_001\", \"ts\": %.3f, \"dur\": %.3f}",
                    launched, (ended[i] - began[i]) / 1e3, from, to > from ? to - from : 0.0);
        }
        fputs("\n]}\n", out);
        if (fclose(out) != 0)
            out = NULL;
    }
    if (!out)
        fprintf(stderr, "tilewright bench: %s\n", result ? "a call of the driver failed" : "the trace cannot be written");
    for (int i = 0; i <= TRACED; i++)
        if (event[i])
            d->event_destroy(event[i]);
    take_down(lab);
    free(lab);
    return out ? 0 : 3;
}
