/* Two layers of a network in a CUDA graph: captured, replayed, given other sizes and addresses, switched off, updated
 * from another capture. Through libcuda alone, which is opened here: a GPU's, or the emulator's by
 * `tilewright run-program`. Numbers are small and whole, so that results are exact. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

enum { ROWS = 100, SIZE = 64 };

struct kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h */
    void *function;
    unsigned grid[3], block[3], shared_bytes;
    void **parameters, **extra, *kernel, *context;
};
struct update_info { /* CUgraphExecUpdateResultInfo */
    int result;
    void *node, *from;
};

#define CALLS                                                                                                          \
    CALL(cuInit, cuInit, (unsigned flags))                                                                             \
    CALL(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                                       \
    CALL(context_set, cuCtxSetCurrent, (void *context))                                                                \
    CALL(allocate, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                                  \
    CALL(upload, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                       \
    CALL(download, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                           \
    CALL(stream_create, cuStreamCreate, (void **stream, unsigned flags))                                               \
    CALL(synchronize, cuStreamSynchronize, (void *stream))                                                             \
    CALL(capture_begin, cuStreamBeginCapture_v2, (void *stream, int mode))                                             \
    CALL(capture_end, cuStreamEndCapture, (void *stream, void **graph))                                                \
    CALL(graph_nodes, cuGraphGetNodes, (void *graph, void **nodes, size_t *count))                                     \
    CALL(instantiate, cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))         \
    CALL(graph_launch, cuGraphLaunch, (void *executable, void *stream))                                                \
    CALL(node_set, cuGraphExecKernelNodeSetParams_v2,                                                                  \
         (void *executable, void *node, const struct kernel_node *params))                                             \
    CALL(node_enable, cuGraphNodeSetEnabled, (void *executable, void *node, unsigned enabled))                         \
    CALL(update, cuGraphExecUpdate_v2, (void *executable, void *graph, struct update_info *info))                      \
    CALL(executable_destroy, cuGraphExecDestroy, (void *executable))                                                   \
    CALL(graph_destroy, cuGraphDestroy, (void *graph))

static struct {
#define CALL(name, entry, arguments) int(*name) arguments;
    CALLS
#undef CALL
} cuda;

static struct layer kernel;
static void *stream, *graph, *executable, *node[2];
static uint64_t in[2], hidden, out[2], weights[2];

static void must(int result, const char *what)
{
    if (result) {
        printf("%s: %d\n", what, result);
        exit(1);
    }
}

static void open_driver(void)
{
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    must(!library, "libcuda.so.1 is not there");
#define CALL(name, entry, arguments)                                                                                   \
    *(void **)&cuda.name = dlsym(library, #entry);                                                                     \
    must(!cuda.name, #entry);
    CALLS
#undef CALL
    must(cuda.cuInit(0), "cuInit");
    must(cuda.context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cuda.context_set(context), "cuCtxSetCurrent");
    must(cuda.stream_create(&stream, 1), "cuStreamCreate");
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* fp16 of a whole number of fewer than 11 bits, and back. */
static uint16_t half_of(int value)
{
    const unsigned sign = value < 0 ? 0x8000u : 0;
    unsigned rest = (unsigned)abs(value), exponent = 25;
    if (!rest)
        return (uint16_t)sign;
    for (; rest < 1024; rest *= 2)
        exponent--;
    return (uint16_t)(sign | exponent << 10 | (rest & 1023));
}

static int whole_of(uint16_t half)
{
    const int exponent = half >> 10 & 31, rest = (half & 1023) | 1024;
    const int value = !exponent ? 0 : exponent > 25 ? rest << (exponent - 25) : rest >> (25 - exponent);
    return half & 0x8000 ? -value : value;
}

static int input(int set, int row, int k)
{
    return (row * 7 + k * 3 + set * 5) % 5 - 2;
}

/* Eight of a row's are 1 or -1. */
static int weight(int layer, int n, int k)
{
    return (n * 3 + k + layer) % 8 ? 0 : (n + k) % 3 ? 1 : -1;
}

static int result(int set, int row, int n)
{
    int sum = 0, h, k;
    for (h = 0; h < SIZE; h++) {
        int inner = 0;
        for (k = 0; weight(1, n, h) && k < SIZE; k++)
            inner += input(set, row, k) * weight(0, h, k);
        sum += inner * weight(1, n, h);
    }
    return sum;
}

static void fill(uint64_t to, int set, int layer)
{
    static uint16_t values[ROWS * SIZE];
    const int rows = layer < 0 ? ROWS : SIZE;
    int row, k;
    for (row = 0; row < rows; row++)
        for (k = 0; k < SIZE; k++)
            values[row * SIZE + k] = half_of(layer < 0 ? input(set, row, k) : weight(layer, row, k));
    must(cuda.upload(to, values, (size_t)rows * SIZE * sizeof *values), "cuMemcpyHtoD");
}

/* The graph is launched into an output of NaN; then its first rows are the set's, and the others as they were. */
static void replay(const char *what, int which, int set, int rows)
{
    static uint16_t values[ROWS * SIZE];
    int row, n, wrong = 0;
    memset(values, 0xff, sizeof values);
    must(cuda.upload(out[which], values, sizeof values), "cuMemcpyHtoD");
    must(cuda.graph_launch(executable, stream), "cuGraphLaunch");
    must(cuda.synchronize(stream), "cuStreamSynchronize");
    must(cuda.download(values, out[which], sizeof values), "cuMemcpyDtoH");
    for (row = 0; row < ROWS; row++)
        for (n = 0; n < SIZE; n++)
            wrong +=
                row < rows ? whole_of(values[row * SIZE + n]) != result(set, row, n) : values[row * SIZE + n] != 0xffff;
    printf("%s: %d wrong\n", what, wrong);
    must(wrong, "wrong");
}

/* ---- The graph --------------------------------------------------------------------------------------------------- */

static struct layer_args arguments(int layer, int which, int rows)
{
    struct layer_args args;
    memset(&args, 0, sizeof args);
    args.A = (const void *)(uintptr_t)(layer == 0 ? in[which] : hidden);
    args.B = (const void *)(uintptr_t)weights[layer];
    args.D = (void *)(uintptr_t)(layer == 0 ? hidden : out[which]);
    args.M = rows;
    args.N = args.K = SIZE;
    return args;
}

static void *captured(int which, int rows)
{
    void *made;
    int layer;
    must(cuda.capture_begin(stream, 0), "cuStreamBeginCapture");
    for (layer = 0; layer < 2; layer++) {
        const struct layer_args args = arguments(layer, which, rows);
        struct layer_error error;
        if (layer_launch(&kernel, &args, stream, &error)) {
            printf("%s: %s\n", layer_strerror(error.status), error.text);
            exit(1);
        }
    }
    must(cuda.capture_end(stream, &made), "cuStreamEndCapture");
    return made;
}

/* Both nodes: other rows, other tensors; none: they are switched off. */
static void change(int which, int rows)
{
    int layer;
    for (layer = 0; layer < 2; layer++) {
        const struct layer_args args = arguments(layer, which, rows);
        struct layer_params params;
        struct layer_error error;
        if (layer_params(&kernel, &args, &params, &error)) {
            printf("%s: %s\n", layer_strerror(error.status), error.text);
            exit(1);
        }
        if (params.grid[0] > 0) {
            void *parameter[1];
            struct kernel_node update;
            parameter[0] = params.word;
            memset(&update, 0, sizeof update);
            update.function = params.function;
            memcpy(update.grid, params.grid, sizeof update.grid);
            update.block[0] = params.threads;
            update.block[1] = update.block[2] = 1;
            update.shared_bytes = params.shared_bytes;
            update.parameters = parameter;
            must(cuda.node_set(executable, node[layer], &update), "cuGraphExecKernelNodeSetParams");
        }
        must(cuda.node_enable(executable, node[layer], params.grid[0] > 0), "cuGraphNodeSetEnabled");
    }
}

int main(void)
{
    struct layer_error error;
    struct update_info info;
    size_t count = 2;
    void *again;
    int i;
    open_driver();
    if (layer_load(&kernel, NULL, &error)) {
        printf("%s: %s\n", layer_strerror(error.status), error.text);
        return 1;
    }
    must(cuda.allocate(&hidden, ROWS * SIZE * 2), "cuMemAlloc");
    for (i = 0; i < 2; i++) {
        must(cuda.allocate(&in[i], ROWS * SIZE * 2), "cuMemAlloc");
        must(cuda.allocate(&out[i], ROWS * SIZE * 2), "cuMemAlloc");
        must(cuda.allocate(&weights[i], SIZE * SIZE * 2), "cuMemAlloc");
        fill(weights[i], 0, i);
        fill(in[i], i, -1);
    }
    graph = captured(0, ROWS);
    must(cuda.graph_nodes(graph, node, &count) || count != 2, "cuGraphGetNodes");
    must(cuda.instantiate(&executable, graph, 0), "cuGraphInstantiate");
    replay("captured", 0, 0, ROWS);
    for (i = 2; i < 4; i++) { /* other numbers at the same addresses */
        fill(in[0], i, -1);
        replay("replayed", 0, i, ROWS);
    }
    change(1, 37);
    replay("fewer rows of other tensors", 1, 1, 37);
    change(1, 0);
    replay("no rows", 1, 1, 0);
    change(0, ROWS);
    replay("and all of them", 0, 3, ROWS);
    again = captured(1, 64);
    must(cuda.update(executable, again, &info) || info.result, "cuGraphExecUpdate");
    replay("updated", 1, 1, 64);
    must(cuda.executable_destroy(executable), "cuGraphExecDestroy");
    must(cuda.graph_destroy(graph) || cuda.graph_destroy(again), "cuGraphDestroy");
    layer_unload(&kernel, NULL);
    return 0;
}
