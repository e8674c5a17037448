/* The kernels of specs/rows.lua against a plain copy of as many bytes, in one process on one GPU.
 *
 *     rows COPY.cubin [ROUNDS]
 *
 * Graphs of launches over sets of tensors that rotate through more than the L2; copy and kernel take turns, round by
 * round. A JSON row a case on stdout: median nanoseconds of both, bytes that must move, GB/s and the ratio of rates.
 * The table is on stderr. Status 1 where a call fails. See rows.sh.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column_sum.h"
#include "embedding.h"
#include "layer_norm.h"
#include "rms_norm.h"
#include "rms_norm_short.h"
#include "rms_norm_wide.h"
#include "softmax.h"
#include "stencil.h"
#include "transpose.h"

enum { MOST_SETS = 8, MOST_ROUNDS = 101, COPY_BLOCK_BYTES = 256 * 4 * 16 };

typedef uint64_t address;
typedef struct opaque *handle;

/* The driver's entry points that are used here. */
#define CALLS(X)                                                                                                       \
    X(cuInit, (unsigned))                                                                                              \
    X(cuDeviceGet, (int *, int))                                                                                       \
    X(cuDevicePrimaryCtxRetain, (handle *, int))                                                                       \
    X(cuCtxSetCurrent, (handle))                                                                                       \
    X(cuMemAlloc_v2, (address *, size_t))                                                                              \
    X(cuMemFree_v2, (address))                                                                                         \
    X(cuMemcpyHtoD_v2, (address, const void *, size_t))                                                                \
    X(cuMemcpyDtoD_v2, (address, address, size_t))                                                                     \
    X(cuModuleLoad, (handle *, const char *))                                                                          \
    X(cuModuleGetFunction, (handle *, handle, const char *))                                                           \
    X(cuLaunchKernel,                                                                                                  \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **))        \
    X(cuStreamCreate, (handle *, unsigned))                                                                            \
    X(cuStreamSynchronize, (handle))                                                                                   \
    X(cuStreamBeginCapture_v2, (handle, int))                                                                          \
    X(cuStreamEndCapture, (handle, handle *))                                                                          \
    X(cuGraphInstantiateWithFlags, (handle *, handle, unsigned long long))                                             \
    X(cuGraphLaunch, (handle, handle))                                                                                 \
    X(cuGraphDestroy, (handle))                                                                                        \
    X(cuGraphExecDestroy, (handle))                                                                                    \
    X(cuEventCreate, (handle *, unsigned))                                                                             \
    X(cuEventRecord, (handle, handle))                                                                                 \
    X(cuEventSynchronize, (handle))                                                                                    \
    X(cuEventElapsedTime, (float *, handle, handle))
#define DECLARE(name, parameters) static int(*name) parameters;
CALLS(DECLARE)

static void check(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: %d\n", what, result);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
#define LOAD(name, parameters)                                                                                         \
    *(void **)&name = dlsym(library, #name);                                                                           \
    check(!name, #name);
    CALLS(LOAD)
}

/* One case: tensors of one set, and the launch of a kernel over it. */
struct tensors {
    address in, out, weights, bias, ids;
};
struct bench {
    const char *name;
    int64_t rows, columns, table; /* table: rows of the embedding's */
    int64_t bytes;                /* that must move */
    struct tensors set[MOST_SETS];
    int sets, replays;
    handle stream, begin, end, copy;
    int (*launch)(struct bench *, const struct tensors *);
};

#define ROW_KERNEL(name, members)                                                                                      \
    static struct name name##_kernel;                                                                                  \
    static int launch_##name(struct bench *b, const struct tensors *t)                                                 \
    {                                                                                                                  \
        struct name##_args args = {0};                                                                                 \
        struct name##_error error;                                                                                     \
        members;                                                                                                       \
        int status = name##_launch(&name##_kernel, &args, b->stream, &error);                                          \
        if (status)                                                                                                    \
            fprintf(stderr, "%s: %s\n", #name, error.text);                                                            \
        return status;                                                                                                 \
    }
#define MATRICES args.x = (const void *)t->in, args.y = (void *)t->out, args.R = b->rows, args.C = b->columns

ROW_KERNEL(rms_norm, (MATRICES, args.w = (const void *)t->weights, args.eps = 1e-5f))
ROW_KERNEL(rms_norm_wide, (MATRICES, args.w = (const void *)t->weights, args.eps = 1e-5f))
ROW_KERNEL(rms_norm_short, (MATRICES, args.w = (const void *)t->weights, args.eps = 1e-5f))
ROW_KERNEL(layer_norm, (MATRICES, args.w = (const void *)t->weights, args.b = (const void *)t->bias, args.eps = 1e-5f))
ROW_KERNEL(softmax, (MATRICES))
ROW_KERNEL(transpose, (MATRICES))
ROW_KERNEL(column_sum, (MATRICES))
ROW_KERNEL(stencil, (MATRICES, args.a = 0.5f, args.b = 0.125f))
ROW_KERNEL(embedding, (args.table = (const void *)t->in, args.ids = (const void *)t->ids, args.y = (void *)t->out,
                       args.S = b->rows, args.C = b->columns, args.V = b->table))

static int launch_copy(struct bench *b, const struct tensors *t)
{
    /* Half of the bytes read, half written. */
    unsigned long long vectors = (unsigned long long)b->bytes / 32;
    address from = t->in, to = t->out;
    void *parameter[] = {&from, &to, &vectors};
    unsigned blocks = (unsigned)((vectors * 16 + COPY_BLOCK_BYTES - 1) / COPY_BLOCK_BYTES);
    return cuLaunchKernel(b->copy, blocks, 1, 1, 256, 1, 1, 0, b->stream, parameter, NULL);
}

static uint64_t state = 88172645463325252u;
static uint32_t random_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20);
}

/* Values near 1 of either sign as bf16 pairs: finite, and no fp32 that is not. */
static address make(size_t bytes)
{
    enum { POOL = 1 << 20 };
    static uint32_t *pool;
    address made;
    if (!pool) {
        pool = malloc(sizeof *pool * POOL);
        for (int i = 0; pool && i < POOL; i++)
            pool[i] = (random_word() & 0x80ff80ff) | 0x3f003f00;
    }
    check(!pool, "malloc");
    bytes = (bytes + 255) / 256 * 256;
    CHECK(cuMemAlloc_v2(&made, bytes));
    size_t done = bytes < sizeof *pool * POOL ? bytes : sizeof *pool * POOL;
    CHECK(cuMemcpyHtoD_v2(made, pool, done));
    for (size_t part; done < bytes; done += part) {
        part = done < bytes - done ? done : bytes - done;
        CHECK(cuMemcpyDtoD_v2(made + done, made, part));
    }
    return made;
}

static address make_ids(int64_t count, int64_t table)
{
    address made;
    int32_t *ids = malloc(sizeof *ids * (size_t)count);
    check(!ids, "malloc");
    for (int64_t i = 0; i < count; i++)
        ids[i] = (int32_t)(random_word() % (uint32_t)table);
    CHECK(cuMemAlloc_v2(&made, sizeof *ids * (size_t)count));
    CHECK(cuMemcpyHtoD_v2(made, ids, sizeof *ids * (size_t)count));
    free(ids);
    return made;
}

static handle record(struct bench *b, int (*launch)(struct bench *, const struct tensors *))
{
    handle graph, executable;
    CHECK(launch(b, &b->set[0]));
    CHECK(cuStreamSynchronize(b->stream));
    CHECK(cuStreamBeginCapture_v2(b->stream, 0));
    for (int i = 0; i < b->replays; i++)
        CHECK(launch(b, &b->set[i % b->sets]));
    CHECK(cuStreamEndCapture(b->stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return executable;
}

static double replay(struct bench *b, handle graph)
{
    float ms;
    CHECK(cuEventRecord(b->begin, b->stream));
    CHECK(cuGraphLaunch(graph, b->stream));
    CHECK(cuEventRecord(b->end, b->stream));
    CHECK(cuEventSynchronize(b->end));
    CHECK(cuEventElapsedTime(&ms, b->begin, b->end));
    return (double)ms * 1e6 / b->replays;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(struct bench *b, int rounds)
{
    int64_t elements = b->rows * b->columns;
    bool gathers = b->table > 0, wide = strcmp(b->name, "stencil") == 0, sums = strcmp(b->name, "column_sum") == 0;
    int64_t size = wide ? 4 : 2, in = (gathers ? b->table * b->columns : elements) * size;
    int64_t out = sums ? elements : elements * size; /* the copy writes half of what the sums read */
    b->bytes = sums ? elements * 2 + b->columns * 4 : 2 * elements * size + (gathers ? b->rows * 4 : 0);
    b->sets = (int)(500000000 / b->bytes) + 1;
    b->sets = b->sets > MOST_SETS ? MOST_SETS : b->sets < 2 ? 2 : b->sets;
    b->replays = (int)(2e-3 * 4e12 / (double)b->bytes) + 1;
    b->replays = (b->replays + b->sets - 1) / b->sets * b->sets;
    for (int i = 0; i < b->sets; i++) {
        int64_t most = in > b->bytes / 2 ? in : b->bytes / 2;
        b->set[i] = (struct tensors){make((size_t)most), make((size_t)(out > b->bytes / 2 ? out : b->bytes / 2)),
                                     make((size_t)b->columns * 2), make((size_t)b->columns * 2), 0};
        if (gathers)
            b->set[i].ids = make_ids(b->rows, b->table);
    }
    handle kernel = record(b, b->launch), copy = record(b, launch_copy);
    double ours[MOST_ROUNDS], theirs[MOST_ROUNDS];
    for (int i = -2; i < rounds; i++) { /* two to warm up */
        double k = replay(b, kernel), c = replay(b, copy);
        if (i >= 0)
            ours[i] = k, theirs[i] = c;
    }
    qsort(ours, (size_t)rounds, sizeof *ours, by_value);
    qsort(theirs, (size_t)rounds, sizeof *theirs, by_value);
    double k = ours[rounds / 2], c = theirs[rounds / 2];
    printf("{\"kernel\":\"%s\",\"rows\":%lld,\"columns\":%lld,\"bytes\":%lld,\"ns\":%.0f,\"copy_ns\":%.0f,"
           "\"gb_s\":%.0f,\"copy_gb_s\":%.0f,\"ratio\":%.4f}\n",
           b->name, (long long)b->rows, (long long)b->columns, (long long)b->bytes, k, c, (double)b->bytes / k,
           (double)b->bytes / c, c / k);
    fprintf(stderr, "%-14s %7lld x %-7lld %8.1f MB  %9.0f ns  %6.0f GB/s  copy %6.0f GB/s  ratio %.3f\n", b->name,
            (long long)b->rows, (long long)b->columns, (double)b->bytes / 1e6, k, (double)b->bytes / k,
            (double)b->bytes / c, c / k);
    CHECK(cuGraphExecDestroy(kernel));
    CHECK(cuGraphExecDestroy(copy));
    for (int i = 0; i < b->sets; i++) {
        const address all[] = {b->set[i].in, b->set[i].out, b->set[i].weights, b->set[i].bias, b->set[i].ids};
        for (size_t a = 0; a < sizeof all / sizeof *all; a++)
            if (all[a])
                CHECK(cuMemFree_v2(all[a]));
    }
}

#define OPEN(name)                                                                                                     \
    do {                                                                                                               \
        struct name##_error error;                                                                                     \
        if (name##_load(&name##_kernel, NULL, &error)) {                                                               \
            fprintf(stderr, "%s: %s\n", #name, error.text);                                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 21, device;
    handle context, module;
    struct bench common = {0};
    if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: rows COPY.cubin [ROUNDS]\n");
        return 2;
    }
    open_driver();
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&common.copy, module, "copy"));
    CHECK(cuStreamCreate(&common.stream, 1));
    CHECK(cuEventCreate(&common.begin, 0));
    CHECK(cuEventCreate(&common.end, 0));
    OPEN(rms_norm);
    OPEN(rms_norm_wide);
    OPEN(rms_norm_short);
    OPEN(layer_norm);
    OPEN(softmax);
    OPEN(transpose);
    OPEN(column_sum);
    OPEN(embedding);
    OPEN(stencil);
    const struct bench cases[] = {
        {.name = "rms_norm", .rows = 4096, .columns = 8192, .launch = launch_rms_norm},
        {.name = "rms_norm", .rows = 16384, .columns = 8192, .launch = launch_rms_norm},
        {.name = "rms_norm", .rows = 32768, .columns = 4096, .launch = launch_rms_norm},
        {.name = "rms_norm_wide", .rows = 4096, .columns = 32768, .launch = launch_rms_norm_wide},
        {.name = "rms_norm_wide", .rows = 2048, .columns = 16384, .launch = launch_rms_norm_wide},
        {.name = "rms_norm_short", .rows = 65536, .columns = 1024, .launch = launch_rms_norm_short},
        {.name = "rms_norm_short", .rows = 65536, .columns = 512, .launch = launch_rms_norm_short},
        {.name = "layer_norm", .rows = 16384, .columns = 8192, .launch = launch_layer_norm},
        {.name = "layer_norm", .rows = 32768, .columns = 4096, .launch = launch_layer_norm},
        {.name = "softmax", .rows = 16384, .columns = 8192, .launch = launch_softmax},
        {.name = "softmax", .rows = 32768, .columns = 4096, .launch = launch_softmax},
        {.name = "transpose", .rows = 8192, .columns = 8192, .launch = launch_transpose},
        {.name = "transpose", .rows = 16384, .columns = 4096, .launch = launch_transpose},
        {.name = "column_sum", .rows = 2048, .columns = 32768, .launch = launch_column_sum},
        {.name = "column_sum", .rows = 8192, .columns = 16384, .launch = launch_column_sum},
        {.name = "embedding", .rows = 16384, .columns = 4096, .table = 32768, .launch = launch_embedding},
        {.name = "embedding", .rows = 65536, .columns = 1024, .table = 131072, .launch = launch_embedding},
        {.name = "stencil", .rows = 2048, .columns = 4096, .launch = launch_stencil},
        {.name = "stencil", .rows = 4096, .columns = 4096, .launch = launch_stencil},
        {.name = "stencil", .rows = 8192, .columns = 8192, .launch = launch_stencil},
        {.name = "stencil", .rows = 16384, .columns = 8192, .launch = launch_stencil},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b = cases[i];
        b.copy = common.copy;
        b.stream = common.stream;
        b.begin = common.begin;
        b.end = common.end;
        run(&b, rounds);
    }
    return 0;
}
