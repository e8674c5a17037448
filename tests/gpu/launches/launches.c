/* The emitted code on a GPU, from many threads, in graphs and with drivers that are not what they should be: results
 * are compared exactly, on integers. Built by tests/gpu/launches.sh with many.c and chained.c; TAP on stdout.
 *   usage: launches [LAUNCHES], 1000000 by default */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chained.h"
#include "many.h"

enum { THREADS = 8, CASES = 4, CAPTURES = 1000, CHAINS = 1000, BLOCK = 1 << 18, POISON = 0x7fc1dead };

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h */
struct node_params {
    void *function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void **arguments, **extra;
    void *kernel, *context;
};

#define ENTRY_POINTS(X)                                                                                                \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                                \
    X(set_current, "cuCtxSetCurrent", (void *context))                                                                 \
    X(synchronize, "cuCtxSynchronize", (void))                                                                         \
    X(alloc, "cuMemAlloc_v2", (uint64_t *address, size_t bytes))                                                       \
    X(fill, "cuMemsetD32Async", (uint64_t to, unsigned value, size_t count, void *stream))                             \
    X(to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t bytes))                                     \
    X(to_host, "cuMemcpyDtoHAsync_v2", (void *to, uint64_t from, size_t bytes, void *stream))                          \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                \
    X(wait, "cuStreamSynchronize", (void *stream))                                                                     \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                              \
    X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                                                 \
    X(instantiate, "cuGraphInstantiateWithFlags", (void **executable, void *graph, unsigned long long flags))          \
    X(replay, "cuGraphLaunch", (void *executable, void *stream))                                                       \
    X(get_nodes, "cuGraphGetNodes", (void *graph, void **nodes, size_t *count))                                        \
    X(set_node, "cuGraphExecKernelNodeSetParams_v2", (void *executable, void *node, const struct node_params *params)) \
    X(executable_destroy, "cuGraphExecDestroy", (void *executable))                                                    \
    X(graph_destroy, "cuGraphDestroy", (void *graph))

static struct {
#define X(name, symbol, arguments) int(*name) arguments;
    ENTRY_POINTS(X)
#undef X
} cu;

static struct many_driver table; /* the driver's own functions, for many_load */
static void *context;

/* POSIX: a function's address has the representation of a void *. */
static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        printf("Bail out! the driver has no %s\n", name);
        exit(1);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void stop(const char *call, int result)
{
    printf("Bail out! %s gave CUresult %d\n", call, result);
    exit(1);
}

#define DO(call)                      \
    do {                              \
        int result_ = cu.call;        \
        if (result_)                  \
            stop(#call, result_);     \
    } while (0)

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("Bail out! no libcuda.so.1\n");
        exit(1);
    }
#define X(name, symbol, arguments) find(library, symbol, &cu.name);
    ENTRY_POINTS(X)
#undef X
    find(library, "cuDriverGetVersion", &table.version);
    find(library, "cuCtxGetDevice", &table.context_device);
    find(library, "cuDeviceGetAttribute", &table.device_attribute);
    find(library, "cuModuleLoadData", &table.module_load);
    find(library, "cuModuleUnload", &table.module_unload);
    find(library, "cuModuleGetFunction", &table.module_function);
    find(library, "cuFuncSetAttribute", &table.function_set);
    find(library, "cuOccupancyMaxActiveClusters", &table.max_active_clusters);
    find(library, "cuLaunchKernelEx", &table.launch);
    find(library, "cuTensorMapEncodeTiled", &table.encode_tiled);
    DO(init(0));
    DO(retain(&context, 0));
    DO(set_current(context));
}

static uint64_t device_memory(size_t bytes)
{
    uint64_t address;
    DO(alloc(&address, bytes));
    return address;
}

static void *new_stream(void)
{
    void *stream;
    DO(stream_create(&stream, 1)); /* not held up by the default stream */
    return stream;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

/* Sizes of D = A B^T; the third has rows that no bulk store can write, and takes the other variant. */
static const struct size {
    int64_t m, n, k;
} sizes[CASES] = {{128, 64, 64}, {100, 72, 200}, {33, 61, 64}, {256, 128, 128}};

static struct {
    uint64_t a, b;     /* on the device */
    float *d;          /* expected */
} cases[CASES];

static uint64_t seed = 0x9e3779b97f4a7c15;

static int small_integer(int most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)(seed >> 40) % (2 * most + 1) - most;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void *host_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        printf("Bail out! out of memory\n");
        exit(1);
    }
    return memory;
}

static float *random_integers(int64_t count, int most)
{
    float *value = host_memory((size_t)count * sizeof *value);
    int64_t i;
    for (i = 0; i < count; i++)
        value[i] = (float)small_integer(most);
    return value;
}

static uint64_t bf16_on_device(const float *value, int64_t count)
{
    uint16_t *bits = host_memory((size_t)count * sizeof *bits);
    uint64_t address = device_memory((size_t)count * sizeof *bits);
    int64_t i;
    for (i = 0; i < count; i++)
        bits[i] = to_bf16(value[i]);
    DO(to_device(address, bits, (size_t)count * sizeof *bits));
    free(bits);
    return address;
}

static float *product(const float *a, const float *b, struct size s)
{
    float *d = host_memory((size_t)(s.m * s.n) * sizeof *d);
    int64_t m, n, k;
    for (m = 0; m < s.m; m++)
        for (n = 0; n < s.n; n++) {
            float sum = 0;
            for (k = 0; k < s.k; k++)
                sum += a[m * s.k + k] * b[n * s.k + k];
            d[m * s.n + n] = sum;
        }
    return d;
}

static void make_cases(void)
{
    int i;
    for (i = 0; i < CASES; i++) {
        struct size s = sizes[i];
        float *a = random_integers(s.m * s.k, 4), *b = random_integers(s.n * s.k, 4);
        cases[i].a = bf16_on_device(a, s.m * s.k);
        cases[i].b = bf16_on_device(b, s.n * s.k);
        cases[i].d = product(a, b, s);
        free(a);
        free(b);
    }
}

static struct many_args arguments(int number, uint64_t d)
{
    struct many_args args;
    memset(&args, 0, sizeof args);
    args.A = pointer(cases[number].a);
    args.B = pointer(cases[number].b);
    args.D = pointer(d);
    args.M = sizes[number].m;
    args.N = sizes[number].n;
    args.K = sizes[number].k;
    return args;
}

static size_t d_bytes(int number)
{
    return (size_t)(sizes[number].m * sizes[number].n) * sizeof(float);
}

/* Whether what lies at d is the case's result; or, number < 0, as poisoned. room: BLOCK bytes. */
static int is_result(int number, uint64_t d, void *stream, void *room)
{
    size_t bytes = number < 0 ? BLOCK / 4 : d_bytes(number), i;
    uint32_t *word = room;
    DO(to_host(room, d, bytes, stream));
    DO(wait(stream));
    if (number >= 0)
        return memcmp(room, cases[number].d, bytes) == 0;
    for (i = 0; i < bytes / 4; i++)
        if (word[i] != POISON)
            return 0;
    return 1;
}

static void poison(uint64_t d, void *stream)
{
    DO(fill(d, POISON, BLOCK / 4, stream));
}

/* ---- TAP --------------------------------------------------------------------------------------------------------- */

static int told, failed;

static void ok(int good, const char *name)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++told, name);
    fflush(stdout);
    failed += !good;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- many threads ------------------------------------------------------------------------------------------------ */

struct worker {
    pthread_t thread;
    const struct many *kernel;
    long launches, wrong, checked;
    struct many_error error;
    int status;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    void *stream, *room = host_memory(BLOCK);
    uint64_t d[CASES];
    long n;
    int i;
    DO(set_current(context));
    stream = new_stream();
    for (i = 0; i < CASES; i++) {
        d[i] = device_memory(BLOCK);
        poison(d[i], stream);
    }
    for (n = 0; n < w->launches && !w->status; n++) {
        struct many_args args = arguments((int)(n % CASES), d[n % CASES]);
        w->status = many_launch(w->kernel, &args, stream, &w->error);
        if ((n + 1) % 4096 && n + 1 != w->launches)
            continue;
        for (i = 0; i < CASES && !w->status; i++) {
            w->wrong += !is_result(i, d[i], stream, room);
            w->checked++;
            poison(d[i], stream);
        }
    }
    DO(wait(stream));
    free(room);
    return NULL;
}

static void test_threads(const struct many *kernel, long launches)
{
    static struct worker worker[THREADS];
    long wrong = 0, checked = 0, done = 0;
    int i, status = 0;
    double from = now();
    for (i = 0; i < THREADS; i++) {
        worker[i].kernel = kernel;
        worker[i].launches = launches / THREADS;
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i])) {
            printf("Bail out! no thread\n");
            exit(1);
        }
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(worker[i].thread, NULL);
        wrong += worker[i].wrong;
        checked += worker[i].checked;
        done += worker[i].launches;
        if (worker[i].status)
            printf("# thread %d: %s\n", i, worker[i].error.text);
        status |= worker[i].status;
    }
    status |= cu.synchronize();
    printf("# %ld launches from %d threads in %.2f s, %ld results compared, %ld wrong\n", done, THREADS, now() - from,
           checked, wrong);
    ok(!status && wrong == 0 && checked >= THREADS * CASES, "one loaded kernel, launched from 8 threads");
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void node_of(struct node_params *node, struct many_params *p, void **list)
{
    memset(node, 0, sizeof *node);
    list[0] = p->word;
    node->function = p->function;
    memcpy(node->grid, p->grid, sizeof node->grid);
    node->block[0] = p->threads;
    node->block[1] = node->block[2] = 1;
    node->shared_bytes = p->shared_bytes;
    node->arguments = list;
}

/* Captures a launch, replays it, moves its node to another tensor with other sizes, and replays it again. */
static void test_graphs(const struct many *kernel, const char *name)
{
    static const int aligned[] = {0, 1, 3}; /* of one variant: an update keeps the kernel */
    void *stream = new_stream(), *room = host_memory(BLOCK);
    uint64_t d[2];
    int n, status = 0, wrong = 0;
    struct many_error error;
    double from = now();
    d[0] = device_memory(BLOCK);
    d[1] = device_memory(BLOCK);
    for (n = 0; n < CAPTURES && !status && !wrong; n++) {
        int first = aligned[n % 3], second = aligned[(n + 1 + n / 3 % 2) % 3], at = n % 2;
        struct many_args args = arguments(first, d[at]);
        struct many_params p;
        struct node_params params;
        void *graph = NULL, *executable = NULL, *node = NULL, *list[1];
        size_t one = 1;
        poison(d[0], stream);
        poison(d[1], stream);
        DO(capture_begin(stream, 2));
        status = many_launch(kernel, &args, stream, &error);
        DO(capture_end(stream, &graph));
        if (status)
            break;
        DO(instantiate(&executable, graph, 0));
        DO(get_nodes(graph, &node, &one));
        wrong += one != 1 || !is_result(-1, d[at], stream, room); /* nothing runs before the replay */
        DO(replay(executable, stream));
        wrong += !is_result(first, d[at], stream, room) || !is_result(-1, d[!at], stream, room);

        args = arguments(second, d[!at]);
        status = many_params(kernel, &args, &p, &error);
        if (status)
            break;
        node_of(&params, &p, list);
        DO(set_node(executable, node, &params));
        memset(&p, 0xff, sizeof p); /* the graph has its own copy */
        poison(d[at], stream);
        DO(replay(executable, stream));
        DO(replay(executable, stream));
        wrong += !is_result(second, d[!at], stream, room) || !is_result(-1, d[at], stream, room);
        DO(executable_destroy(executable));
        DO(graph_destroy(graph));
    }
    if (status)
        printf("# %s\n", error.text);
    printf("# %d captures, %d replays, %d updates of address and extents in %.2f s\n", n, 3 * n, n, now() - from);
    ok(!status && !wrong && n == CAPTURES, name);
    free(room);
}

/* ---- programmatic launches --------------------------------------------------------------------------------------- */

enum { CHAIN_M = 256, CHAIN_N = 128, CHAIN_K = 128, CHAIN_INPUTS = 16, CHAIN_ROUNDS = 100 };

/* X = A B^T, then Y = X P^T with a signed permutation P: Y is X's columns in another order, exact in bf16. Each chain
 * takes another A, so that what an earlier chain left in X would show. */
struct chains {
    uint64_t a[CHAIN_INPUTS], y;
    uint16_t expected[CHAIN_INPUTS][CHAIN_M * CHAIN_N], got[CHAIN_M * CHAIN_N];
    struct chained kernel;
    struct chained_error error;
    struct chained_args first, second;
};

static void begin_chains(struct chains *c, void *stream)
{
    const struct size s = {CHAIN_M, CHAIN_N, CHAIN_K};
    const size_t bytes = sizeof c->expected[0];
    float *values = random_integers(CHAIN_N * CHAIN_K, 1), *p = host_memory(CHAIN_N * CHAIN_N * sizeof *p);
    uint64_t b = bf16_on_device(values, CHAIN_N * CHAIN_K), permutation, x;
    int i, n;
    for (i = 0; i < CHAIN_N * CHAIN_N; i++)
        p[i] = (i % CHAIN_N == (i / CHAIN_N * 37 + 5) % CHAIN_N) ? (i / CHAIN_N % 2 ? -1.0f : 1.0f) : 0.0f;
    permutation = bf16_on_device(p, CHAIN_N * CHAIN_N);
    for (n = 0; n < CHAIN_INPUTS; n++) {
        float *left = random_integers(CHAIN_M * CHAIN_K, 1), *d = product(left, values, s);
        c->a[n] = bf16_on_device(left, CHAIN_M * CHAIN_K);
        for (i = 0; i < CHAIN_M * CHAIN_N; i++) {
            int column = i % CHAIN_N, from = (column * 37 + 5) % CHAIN_N;
            c->expected[n][i] = to_bf16(d[i / CHAIN_N * CHAIN_N + from] * p[column * CHAIN_N + from] + 0.0f);
        }
        free(left);
        free(d);
    }
    x = device_memory(bytes);
    c->y = device_memory(CHAINS * bytes);
    DO(fill(x, POISON, bytes / 4, stream));
    DO(fill(c->y, POISON, CHAINS * bytes / 4, stream));
    DO(wait(stream));
    c->first.B = pointer(b);
    c->first.D = pointer(x);
    c->first.M = CHAIN_M;
    c->first.N = CHAIN_N;
    c->first.K = CHAIN_K;
    c->second = c->first;
    c->second.A = pointer(x);
    c->second.B = pointer(permutation);
    c->second.K = CHAIN_N;
    free(values);
    free(p);
}

/* Chain n, into place n of y. */
static int launch_chain(struct chains *c, int n, void *stream)
{
    int status;
    c->first.A = pointer(c->a[n % CHAIN_INPUTS]);
    c->second.D = pointer(c->y + (uint64_t)n * sizeof c->expected[0]);
    status = chained_launch(&c->kernel, &c->first, stream, &c->error);
    return status ? status : chained_launch(&c->kernel, &c->second, stream, &c->error);
}

/* How many of the first `count` places of y hold something else. */
static int wrong_chains(struct chains *c, int count, void *stream)
{
    const size_t bytes = sizeof c->got;
    int i, wrong = 0;
    for (i = 0; i < count; i++) {
        DO(to_host(c->got, c->y + (uint64_t)i * bytes, bytes, stream));
        DO(wait(stream));
        wrong += memcmp(c->got, c->expected[i % CHAIN_INPUTS], bytes) != 0;
    }
    return wrong;
}

/* The same in a graph, whose edges are then programmatic too. */
static void test_captured_chains(struct chains *c, int status, void *stream)
{
    void *graph = NULL, *executable = NULL;
    int n, wrong = 0;
    DO(capture_begin(stream, 2));
    for (n = 0; n < CHAIN_INPUTS && !status; n++)
        status = launch_chain(c, n, stream);
    DO(capture_end(stream, &graph));
    if (!status) {
        DO(instantiate(&executable, graph, 0));
        for (n = 0; n < CHAIN_ROUNDS; n++) {
            DO(fill(c->y, POISON, CHAIN_INPUTS * sizeof c->got / 4, stream));
            DO(replay(executable, stream));
            wrong += wrong_chains(c, CHAIN_INPUTS, stream);
        }
        DO(executable_destroy(executable));
        DO(graph_destroy(graph));
    }
    printf("# %d replays of %d captured chains, %d wrong\n", n, CHAIN_INPUTS, wrong);
    ok(!status && wrong == 0, "programmatic launches in a graph");
}

static void test_chains(void)
{
    static struct chains c;
    void *stream = new_stream();
    int n, status, wrong;
    begin_chains(&c, stream);
    status = chained_load(&c.kernel, NULL, &c.error);
    for (n = 0; n < CHAINS && !status; n++)
        status = launch_chain(&c, n, stream);
    DO(wait(stream));
    wrong = status ? 0 : wrong_chains(&c, n, stream);
    if (status)
        printf("# %s\n", c.error.text);
    printf("# %d chains of two programmatic launches, %d wrong\n", n, wrong);
    ok(!status && n == CHAINS && wrong == 0, "programmatic launches that depend on each other");
    test_captured_chains(&c, status, stream);
    status |= chained_unload(&c.kernel, NULL);
    ok(!status, "their kernel is unloaded");
}

/* ---- drivers that are not what they should be -------------------------------------------------------------------- */

static int encoder_fails, wrong_bit = -1;
static long encodes;

static int encode_tiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                        const uint32_t *box, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                        int fill)
{
    int result = encoder_fails ? 1 : table.encode_tiled(map, dtype, rank, address, dim, stride, box, element_stride,
                                                        interleave, swizzle, promotion, fill);
    encodes++;
    if (!result && wrong_bit >= 0)
        ((unsigned char *)map)[wrong_bit / 8] ^= (unsigned char)(1 << wrong_bit % 8);
    return result;
}

/* Whether launches of all cases on the stream are right, each with three calls of the encoder. */
static int all_right(const struct many *kernel, uint64_t d, void *stream, void *room)
{
    int i, right = 1;
    for (i = 0; i < CASES; i++) {
        struct many_args args = arguments(i, d);
        struct many_error error;
        long before = encodes;
        poison(d, stream);
        if (many_launch(kernel, &args, stream, &error)) {
            printf("# %s\n", error.text);
            return 0;
        }
        /* the third case has no map of D */
        right &= encodes - before == (i == 2 ? 2 : 3) && is_result(i, d, stream, room);
    }
    return right;
}

static void test_other_drivers(const struct many *good)
{
    enum { FIELDS = 640 }; /* bits of a map that are not always zero */
    struct many_driver other = table;
    struct many kernel;
    struct many_info info;
    struct many_error error;
    struct many_args args;
    void *stream = new_stream(), *room = host_memory(BLOCK);
    uint64_t d = device_memory(BLOCK);
    int i, right = 1, loads = 0;
    other.encode_tiled = encode_tiled;

    /* as it should be: the same maps through both ways */
    right = many_load(&kernel, &other, &error) == 0;
    many_info(&kernel, &info);
    right = right && info.static_images && info.images[0] == 0;
    kernel.state.static_images = 0;
    for (i = 0; i < CASES && right; i++) {
        struct many_params p, q;
        args = arguments(i, d);
        memset(&p, 0, sizeof p);
        memset(&q, 0, sizeof q);
        right = many_params(good, &args, &p, &error) == 0 && many_params(&kernel, &args, &q, &error) == 0 &&
                memcmp(p.word, q.word, p.bytes) == 0 && p.variant == (i == 2);
    }
    right = right && all_right(&kernel, d, stream, room);
    many_unload(&kernel, NULL);
    ok(right, "images and the driver's encoder give the same maps");

    encoder_fails = 1;
    right = many_load(&kernel, &other, &error) == 0;
    many_info(&kernel, &info);
    printf("# a failing encoder: %s\n", info.images);
    right = right && !info.static_images && strstr(info.images, "refuses") != NULL;
    poison(d, stream);
    args = arguments(0, d);
    right = right && many_launch(&kernel, &args, stream, &error) == many_DRIVER && error.driver_result == 1 &&
            strstr(error.text, "cuTensorMapEncodeTiled") && is_result(-1, d, stream, room);
    encoder_fails = 0;
    right = right && all_right(&kernel, d, stream, room);
    many_unload(&kernel, NULL);
    ok(right, "a driver whose encoder fails: load falls back, launches say so, and are right once it does not");

    for (i = 0, right = 1; i < FIELDS && right; i += 5) {
        wrong_bit = i;
        right = many_load(&kernel, &other, &error) == 0;
        many_info(&kernel, &info);
        wrong_bit = -1;
        right = right && !info.static_images && strstr(info.images, "of the driver's map is") != NULL &&
                all_right(&kernel, d, stream, room);
        if (i == 0 || !right)
            printf("# wrong bit %d: %s\n", i, info.images);
        right = many_unload(&kernel, NULL) == 0 && right;
        loads++;
    }
    printf("# %d loads with a driver that writes one bit wrongly\n", loads);
    ok(right, "a driver that writes a wrong bit: load falls back, results are right");

    wrong_bit = 300; /* graphs with maps of the driver's */
    right = many_load(&kernel, &other, &error) == 0 && !kernel.state.static_images;
    wrong_bit = -1;
    ok(right, "a kernel without images is loaded");
    if (right)
        test_graphs(&kernel, "captures, replays and updates without images");
    many_unload(&kernel, NULL);
    free(room);
}

int main(int argc, char **argv)
{
    static struct many kernel;
    struct many_info info;
    struct many_error error;
    long launches = argc > 1 ? atol(argv[1]) : 1000000;
    open_driver();
    make_cases();
    if (many_load(&kernel, NULL, &error)) {
        printf("Bail out! %s\n", error.text);
        return 1;
    }
    many_info(&kernel, &info);
    printf("# driver %d.%d, compute capability %d.%d\n", info.driver_version / 1000, info.driver_version % 1000 / 10,
           info.capability / 10, info.capability % 10);
    ok(info.static_images == 1, "tensor maps are static images");
    test_other_drivers(&kernel);
    test_chains();
    test_graphs(&kernel, "1,000 captures, with replays and updates");
    test_threads(&kernel, launches);
    ok(many_unload(&kernel, &error) == 0, "the kernel is unloaded");
    printf("1..%d\n", told);
    return failed != 0;
}
