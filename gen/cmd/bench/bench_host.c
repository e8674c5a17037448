#include "cmd/bench/bench_lab.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_CANDIDATES = 24,
    MOST_ROWS = 96,
    GROUPS = 11, /* calls of measure */
    LEAST_ROUNDS = 3,
    LAUNCHES = 100,
    MOST_KERNELS = 1000 /* of a batch of replays: the device runs them all before the next batch */
};

/* One thing to measure: does its operation `count` times; 0, or a failure. which: a number of its own. */
struct candidate {
    const char *kernel, *backend;
    const char *problem; /* one of the words below */
    const char *what;    /* the method */
    int (*run)(struct lab *lab, int which, long count);
    int which;
};

/* Problems, in the words of tests/bench/host_python.py, so that rows of both join. */
static const char map_1[] = "1 map of 512x512 fp16";
static const char maps_3[] = "3 maps of 512x512 fp16";
static const char maps_8[] = "8 maps of 512x512 fp16";
static const char maps_192[] = "192 maps of 512x512 fp16";
static const char rank_3[] = "1 map of 4x4x64 fp16";
static const char rank_5[] = "1 map of 4x4x4x4x64 fp16";
static const char im2col[] = "1 im2col map of 16x16x16x64 fp16";
static const char im2col_wide[] = "1 im2col-wide map of 16x16x16x64 fp16";
static const char three_maps[] = "3 maps + 3 integers, 448 bytes";
static const char graph_1[] = "graph of 1 launch";
static const char graph_10[] = "graph of 10 launches";
static const char graph_100[] = "graph of 100 launches";
static const char kernels_4[] = "4 empty kernels";

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
    return (which == 0   ? lab->emitted->params_000
            : which == 1 ? lab->emitted->params_001
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

/* which: of lab_argument_counts */
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

/* The attribute is all that a programmatic launch takes: a kernel without griddepcontrol.wait runs as any other. */
static int ex_programmatic(struct lab *lab, int which, long count)
{
    struct tw_launch_attribute attribute = {.id = TW_CUDA_LAUNCH_PROGRAMMATIC, .value.flag = 1};
    struct tw_launch_config config = {
        .grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = lab->stream, .attributes = &attribute, .attribute_count = 1};
    for (; count > 0; count--)
        if (lab->driver->launch(&config, lab->function[which], lab->arguments, NULL))
            return 1;
    return 0;
}

/* The kernel of case 001 with its arguments, by the older call. */
static int plain_prepared(struct lab *lab, int which, long count)
{
    const struct tw_kernel_node *k = &lab->prepared;
    (void)which;
    for (; count > 0; count--)
        if (lab->driver->launch_plain(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0], 1, 1,
                                      k->shared_bytes, lab->stream, k->arguments, NULL))
            return 1;
    return 0;
}

/* which: launches of lab_graph_launches, of case 001 */
static int replay(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if (lab->driver->graph_launch(lab->graph[0][which].replay, lab->stream))
            return 1;
    return 0;
}

/* which: LAB_GRAPHS * number in lab_argument_counts + number in lab_graph_launches */
static int empty_replay(struct lab *lab, int which, long count)
{
    void *executable = lab->graph[1 + which / LAB_GRAPHS][which % LAB_GRAPHS].replay;
    for (; count > 0; count--)
        if (lab->driver->graph_launch(executable, lab->stream))
            return 1;
    return 0;
}

/* which: 1 fills the parameters by the emitted code before */
static int update(struct lab *lab, int which, long count)
{
    for (; count > 0; count--)
        if ((which && lab->emitted->params_001(1)) ||
            lab->driver->graph_set_kernel(lab->graph[0][0].replay, lab->node, &lab->prepared))
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

enum { WARM_UP = 10 }; /* operations, before those that are timed */

/* Operations of a candidate between two readings of the clock, where its group has so many. */
static long batch_of(const struct candidate *c, long batch)
{
    bool replays = c->run == replay || c->run == empty_replay;
    long most = replays ? MOST_KERNELS / lab_graph_launches[c->which % LAB_GRAPHS] : batch;
    return most < batch ? most : batch;
}

/* Runs the candidate's batch, and gives nanoseconds of one operation. */
static int run_batch(struct lab *lab, const struct candidate *c, long batch, bool warm_up, double *took)
{
    int status = 0;
    /* What the candidates before have left in the caches is not this one's cost. */
    if (batch >= WARM_UP)
        status = c->run(lab, c->which, WARM_UP);
    double from = lab_now();
    if (!status)
        status = c->run(lab, c->which, warm_up && batch > WARM_UP ? WARM_UP : batch);
    *took = (lab_now() - from) / (double)batch;
    return lab->driver->stream_synchronize(lab->stream) ? 1 : status;
}

/* When the next group is to end: it has its part of the time that is left. */
static double end_of_group(struct lab *lab)
{
    double now = lab_now(), left = lab->until > now ? lab->until - now : 0;
    int groups = lab->groups_left > 0 ? lab->groups_left-- : 1;
    return now + left / groups;
}

/* Batches of all candidates in turn; between them the stream runs dry, so that no launch waits for a full queue. */
static int measure(struct lab *lab, const char *group, long batch, int rounds, const struct candidate *candidate,
                   int count)
{
    struct bench_host *host = lab->host;
    double *sample = count > MOST_CANDIDATES || host->count + count > MOST_ROWS
                         ? NULL
                         : tw_alloc(&host->rt, sizeof *sample * (size_t)(rounds * (count + 1)));
    if (!sample)
        return 3;
    int status = 0, order[MOST_CANDIDATES], wanted = rounds, stride = rounds;
    uint32_t seed = 1;
    double end = end_of_group(lab);
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int r = -1; r < rounds && !status; r++) { /* round -1 warms up */
        shuffle(order, count, &seed);
        for (int n = 0; n < count && !status; n++) {
            double took;
            const struct candidate *c = &candidate[order[n]];
            status = run_batch(lab, c, batch_of(c, batch), r < 0, &took);
            if (r >= 0)
                sample[order[n] * stride + r] = took;
        }
        if (r + 1 >= LEAST_ROUNDS && lab_now() > end)
            rounds = r + 1;
    }
    if (status)
        tw_fail(&lab->host->error, TW_ERROR_DRIVER, "%s: a call failed", group);
    double *difference = sample + (size_t)count * (size_t)stride;
    for (int i = count - 1; i >= 0 && !status; i--) {
        struct bench_row row = {.group = group,
                                .kernel = candidate[i].kernel,
                                .backend = candidate[i].backend,
                                .problem = candidate[i].problem,
                                .what = candidate[i].what,
                                .batch = batch_of(&candidate[i], batch),
                                .rounds = rounds,
                                .wanted = wanted,
                                .first = i == 0};
        for (int r = 0; r < rounds; r++)
            difference[r] = sample[i * stride + r] - sample[r];
        row.over = median(difference, rounds);
        if (i == 0)
            row.over = 0;
        host->row[host->count + i] = row;
    }
    for (int i = 0; i < count && !status; i++) {
        struct bench_row *row = &host->row[host->count + i];
        row->median = median(sample + i * stride, rounds);
        row->least = sample[i * stride];
        row->most = sample[i * stride + rounds - 1];
    }
    host->count += status ? 0 : count;
    tw_free(&host->rt, sample);
    return status ? 3 : 0;
}

#define MEASURE(group, batch, rounds, list)                                                                            \
    measure(lab, group, batch, rounds, list, (int)(sizeof(list) / sizeof *(list)))

/* Rows of an empty kernel: its launches, and the replays of its graphs. */
/* clang-format off */
#define EMPTY_LAUNCHES(number, arguments) \
    {"empty", "driver", arguments, "cuLaunchKernel, arguments prepared", plain_launch, number}, \
    {"empty", "driver", arguments, "cuLaunchKernelEx, arguments prepared", ex_launch, number}, \
    {"empty", "driver", arguments, "cuLaunchKernelEx, programmatic, arguments prepared", ex_programmatic, number}
#define EMPTY_REPLAYS(number, arguments) \
    {"empty", "graph", "graph of 1 launch, " arguments, "cuGraphLaunch", empty_replay, LAB_GRAPHS * number}, \
    {"empty", "graph", "graph of 10 launches, " arguments, "cuGraphLaunch", empty_replay, LAB_GRAPHS * number + 1}, \
    {"empty", "graph", "graph of 100 launches, " arguments, "cuGraphLaunch", empty_replay, LAB_GRAPHS * number + 2}
/* clang-format on */

static int measure_descriptors(struct lab *lab)
{
    const struct candidate encode[] = {
        {"case_000", "driver", maps_3, "cuTensorMapEncodeTiled", driver_encode, 3},
        {"case_000", "emitted", maps_3, "NAME_params, constant sizes", emitted_params, 0},
        {"case_001", "emitted", maps_3, "NAME_params, sizes at launch", emitted_params, 1},
        {"case_001", "emitted", maps_3, "NAME_params, sizes and strides", emitted_params, 2},
        {"case_000", "library", maps_3, "tw_tensormap_encode", library_encode, 3},
    };
    const struct candidate numbers[] = {
        {"encode", "driver", map_1, "cuTensorMapEncodeTiled", driver_encode, 1},
        {"encode", "library", map_1, "tw_tensormap_encode", library_encode, 1},
        {"encode", "driver", maps_8, "cuTensorMapEncodeTiled", driver_encode, 8},
        {"encode", "library", maps_8, "tw_tensormap_encode", library_encode, 8},
        {"encode", "driver", maps_192, "cuTensorMapEncodeTiled", driver_encode, LAB_MAPS},
        {"encode", "library", maps_192, "tw_tensormap_encode", library_encode, LAB_MAPS},
    };
    const struct candidate kinds[] = {
        {"encode", "driver", map_1, "cuTensorMapEncodeTiled", driver_kind, 0},
        {"encode", "library", map_1, "tw_tensormap_encode", library_kind, 0},
        {"encode", "driver", rank_3, "cuTensorMapEncodeTiled", driver_kind, 1},
        {"encode", "library", rank_3, "tw_tensormap_encode", library_kind, 1},
        {"encode", "driver", rank_5, "cuTensorMapEncodeTiled", driver_kind, 2},
        {"encode", "library", rank_5, "tw_tensormap_encode", library_kind, 2},
        {"encode", "driver", im2col, "cuTensorMapEncodeIm2col", driver_kind, 3},
        {"encode", "library", im2col, "tw_tensormap_encode", library_kind, 3},
    };
    const struct candidate wide[] = {
        {"encode", "driver", im2col_wide, "cuTensorMapEncodeIm2colWide", driver_kind, 4},
        {"encode", "library", im2col_wide, "tw_tensormap_encode", library_kind, 4},
    };
    const struct candidate replace[] = {
        {"replace_address", "driver", maps_3, "cuTensorMapReplaceAddress", driver_replace, 3},
        {"replace_address", "library", maps_3, "tw_tensormap_replace_address", library_replace, 3},
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
    return status;
}

static int measure_launches(struct lab *lab)
{
    const struct candidate launches[] = {
        {"case_001", "driver", three_maps, "cuLaunchKernelEx, arguments prepared", bare, 0},
        {"case_001", "driver", three_maps, "cuLaunchKernel, arguments prepared", plain_prepared, 0},
        {"case_001", "emitted", three_maps, "NAME_launch, maps included", launch, 0},
        {"case_001", "graph", graph_1, "cuGraphLaunch", replay, 0},
        {"case_001", "graph", graph_10, "cuGraphLaunch", replay, 1},
        {"case_001", "graph", graph_100, "cuGraphLaunch", replay, 2},
    };
    const struct candidate programmatic[] = {
        {"case_001", "driver", three_maps, "cuLaunchKernelEx, programmatic, arguments prepared", bare, 1},
        {"case_001", "emitted", three_maps, "NAME_launch, programmatic, maps included", launch, 1},
    };
    const struct candidate updates[] = {
        {"case_001", "driver", graph_1, "node update, arguments prepared", update, 0},
        {"case_001", "emitted", graph_1, "node update, maps included", update, 1},
    };
    int rounds = lab->host->rounds;
    /* A launch's time wanders by more than what these differ by: many short batches. */
    int status = MEASURE("one launch (case 001)", LAUNCHES, 8 * rounds, launches);
    if (!status)
        status = MEASURE("one programmatic launch (case 001)", LAUNCHES, 8 * rounds, programmatic);
    if (!status && lab->node)
        status = MEASURE("update of a graph's node (case 001)", LAUNCHES, rounds, updates);
    return status;
}

static int measure_empty(struct lab *lab)
{
    const struct candidate empties[] = {
        EMPTY_LAUNCHES(0, "0 arguments"),
        EMPTY_LAUNCHES(1, "3 arguments"),
        EMPTY_LAUNCHES(2, "16 arguments"),
        EMPTY_LAUNCHES(3, "58 arguments"),
    };
    const struct candidate replays[] = {
        EMPTY_REPLAYS(0, "0 arguments"),
        EMPTY_REPLAYS(1, "3 arguments"),
        EMPTY_REPLAYS(2, "16 arguments"),
        EMPTY_REPLAYS(3, "58 arguments"),
    };
    const struct candidate compiles[] = {
        {"empty", "nvrtc", kernels_4, "compile", compile, 0},
        {"empty", "cache", kernels_4, "cache hit", compile, 1},
    };
    int rounds = lab->host->rounds;
    int status = MEASURE("empty kernels", LAUNCHES, rounds, empties);
    if (!status)
        status = MEASURE("replays of empty kernels", LAUNCHES, rounds, replays);
    if (!status)
        status = MEASURE("compiling an empty kernel", 1, rounds < 9 ? rounds : 9, compiles);
    return status;
}

static int measure_all(struct lab *lab)
{
    lab->until = lab_now() + 1e9 * lab->host->seconds;
    lab->groups_left = GROUPS;
    int status = measure_descriptors(lab);
    if (!status)
        status = measure_launches(lab);
    return status ? status : measure_empty(lab);
}

int bench_host_run(struct bench_host *host)
{
    host->row = tw_alloc_zeroed(&host->rt, sizeof *host->row * MOST_ROWS);
    struct lab *lab = host->row ? lab_open(host, &host->error) : NULL;
    if (!host->row)
        tw_fail(&host->error, TW_ERROR_MEMORY, "out of memory");
    if (!lab)
        return 3;
    int status = measure_all(lab);
    lab_close(lab);
    return status;
}

void bench_host_free(struct bench_host *host)
{
    tw_free(&host->rt, host->row);
    host->row = NULL;
}
