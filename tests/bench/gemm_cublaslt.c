/* gemm_bf16 against the best of cuBLASLt's heuristics, in one process.
 *
 *     build/tilewright build specs/gemm.lua --kernel gemm_bf16 --arch sm_90a -o build/bench
 *     gcc -O2 -Ibuild/bench -I$CUDA_HOME/include tests/bench/gemm_cublaslt.c build/bench/gemm_bf16.c \
 *         -L$CUDA_HOME/lib64 -lcublasLt -lcudart -lm -ldl -o build/bench/gemm_cublaslt
 *     build/bench/gemm_cublaslt [M N K]... > tests/bench/results/gemm_cublaslt.json
 *
 * Random normal inputs, input sets that rotate through more than the L2, graph replays, candidates interleaved round by
 * round; median, least and most over the rounds. Every heuristic is measured first; the best three and our kernel go
 * into the rounds. The table is on stderr, a JSON row a candidate on stdout.
 */
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gemm_bf16.h"

enum { HEURISTICS = 32, FINALISTS = 3, ROUNDS = 15, MOST_SETS = 8 };

#define CHECK(call)                                                             \
    do {                                                                        \
        int result_ = (int)(call);                                              \
        if (result_) {                                                          \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result_); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

struct bench {
    int64_t m, n, k;
    int sets, replays;          /* input sets; launches of one graph */
    uint16_t *a[MOST_SETS], *b[MOST_SETS], *d[MOST_SETS];
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout_a, layout_b, layout_d;
    cublasLtMatmulHeuristicResult_t heuristic[HEURISTICS];
    int heuristics;
    void *workspace;
    size_t workspace_bytes;
    struct gemm_bf16 kernel;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A pool of normal bf16 values, copied at different offsets, so that making them takes no minutes. */
static void fill(uint16_t *to, size_t count)
{
    enum { POOL = 1 << 22 };
    static uint16_t *pool;
    if (!pool) {
        pool = malloc(sizeof *pool * POOL);
        for (int i = 0; i < POOL; i++) {
            float x = (float)(sqrt(-2.0 * log(1.0 - uniform())) * cos(6.283185307179586 * uniform()));
            uint32_t bits;
            memcpy(&bits, &x, 4);
            pool[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
    }
    for (size_t at = 0; at < count;) {
        size_t offset = (size_t)(uniform() * (POOL / 2)) & ~(size_t)7, length = POOL - offset;
        if (length > count - at)
            length = count - at;
        CHECK(cudaMemcpy(to + at, pool + offset, length * 2, cudaMemcpyHostToDevice));
        at += length;
    }
}

/* Candidate -1 is ours, others are heuristics of cuBLASLt. */
static int start(struct bench *t, int candidate, int set)
{
    if (candidate < 0) {
        struct gemm_bf16_args args = {0};
        args.A = t->a[set];
        args.B = t->b[set];
        args.D = t->d[set];
        args.M = t->m;
        args.N = t->n;
        args.K = t->k;
        return gemm_bf16_launch(&t->kernel, &args, t->stream, NULL);
    }
    const float one = 1, zero = 0;
    return (int)cublasLtMatmul(t->lt, t->operation, &one, t->b[set], t->layout_b, t->a[set], t->layout_a, &zero,
                               t->d[set], t->layout_d, t->d[set], t->layout_d, &t->heuristic[candidate].algo,
                               t->workspace, t->workspace_bytes, t->stream);
}

static cudaGraphExec_t record(struct bench *t, int candidate)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    if (start(t, candidate, 0))
        return NULL;
    CHECK(cudaStreamSynchronize(t->stream));
    CHECK(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < t->replays; i++)
        CHECK(start(t, candidate, i % t->sets));
    CHECK(cudaStreamEndCapture(t->stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

static double replay(struct bench *t, cudaGraphExec_t graph)
{
    float ms;
    CHECK(cudaEventRecord(t->begin, t->stream));
    CHECK(cudaGraphLaunch(graph, t->stream));
    CHECK(cudaEventRecord(t->end, t->stream));
    CHECK(cudaEventSynchronize(t->end));
    CHECK(cudaEventElapsedTime(&ms, t->begin, t->end));
    return (double)ms * 1e6 / t->replays;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void set_up(struct bench *t)
{
    size_t bytes = (size_t)(t->m * t->k + t->n * t->k + t->m * t->n) * 2;
    t->sets = (int)(400000000 / bytes) + 1;
    t->sets = t->sets > MOST_SETS ? MOST_SETS : t->sets < 2 ? 2 : t->sets;
    double estimate = 2.0 * (double)t->m * (double)t->n * (double)t->k / 7e14 + 4e-6;
    t->replays = (int)(4e-3 / estimate) + 1;
    t->replays = t->replays < t->sets ? t->sets : t->replays;
    for (int i = 0; i < t->sets; i++) {
        CHECK(cudaMalloc((void **)&t->a[i], (size_t)(t->m * t->k) * 2));
        CHECK(cudaMalloc((void **)&t->b[i], (size_t)(t->n * t->k) * 2));
        CHECK(cudaMalloc((void **)&t->d[i], (size_t)(t->m * t->n) * 2));
        fill(t->a[i], (size_t)(t->m * t->k));
        fill(t->b[i], (size_t)(t->n * t->k));
    }
    cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulDescCreate(&t->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(t->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    CHECK(cublasLtMatrixLayoutCreate(&t->layout_b, CUDA_R_16BF, (uint64_t)t->k, (uint64_t)t->n, t->k));
    CHECK(cublasLtMatrixLayoutCreate(&t->layout_a, CUDA_R_16BF, (uint64_t)t->k, (uint64_t)t->m, t->k));
    CHECK(cublasLtMatrixLayoutCreate(&t->layout_d, CUDA_R_16BF, (uint64_t)t->n, (uint64_t)t->m, t->n));
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &t->workspace_bytes, sizeof t->workspace_bytes));
    CHECK(cublasLtMatmulAlgoGetHeuristic(t->lt, t->operation, t->layout_b, t->layout_a, t->layout_d, t->layout_d,
                                         preference, HEURISTICS, t->heuristic, &t->heuristics));
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
}

static void tear_down(struct bench *t)
{
    for (int i = 0; i < t->sets; i++) {
        CHECK(cudaFree(t->a[i]));
        CHECK(cudaFree(t->b[i]));
        CHECK(cudaFree(t->d[i]));
    }
    cublasLtMatmulDescDestroy(t->operation);
    cublasLtMatrixLayoutDestroy(t->layout_a);
    cublasLtMatrixLayoutDestroy(t->layout_b);
    cublasLtMatrixLayoutDestroy(t->layout_d);
}

/* Relative Frobenius distance of our D to cuBLASLt's on set 0: the kernel that is timed is also right. */
static double distance(struct bench *t)
{
    size_t count = (size_t)(t->m * t->n);
    uint16_t *ours = malloc(count * 2), *theirs = malloc(count * 2);
    CHECK(cudaMemset(t->d[0], 0xff, count * 2));
    CHECK(start(t, -1, 0));
    CHECK(cudaStreamSynchronize(t->stream));
    CHECK(cudaMemcpy(ours, t->d[0], count * 2, cudaMemcpyDeviceToHost));
    CHECK(start(t, 0, 0));
    CHECK(cudaStreamSynchronize(t->stream));
    CHECK(cudaMemcpy(theirs, t->d[0], count * 2, cudaMemcpyDeviceToHost));
    double error = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)ours[i] << 16, y = (uint32_t)theirs[i] << 16;
        float a, b;
        memcpy(&a, &x, 4);
        memcpy(&b, &y, 4);
        error += ((double)a - b) * ((double)a - b);
        norm += (double)b * b;
    }
    free(ours);
    free(theirs);
    return sqrt(error / norm);
}

static void row(const struct bench *t, const char *backend, double *ns, long run)
{
    static int rows;
    struct cudaDeviceProp gpu;
    int driver;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    CHECK(cudaDriverGetVersion(&driver));
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    double median = ns[ROUNDS / 2];
    printf(
        "%s{\"kernel\": \"gemm_bf16\", \"backend\": \"%s\", \"arch\": \"sm_90a\", \"gpu_model\": \"%s\", "
        "\"compute_capability\": \"%d.%d\", \"driver\": %d, \"problem_size\": {\"M\": %lld, \"N\": %lld, \"K\": %lld}, "
        "\"latency_ns\": %.0f, \"latency_min_ns\": %.0f, \"latency_max_ns\": %.0f, \"tflops\": %.1f, \"run\": %ld}",
        rows++ ? ",\n " : "[", backend, gpu.name, gpu.major, gpu.minor, driver, (long long)t->m, (long long)t->n,
        (long long)t->k, median, ns[0], ns[ROUNDS - 1], 2e-3 * (double)t->m * (double)t->n * (double)t->k / median,
        run);
}

static void measure(struct bench *t, long run)
{
    set_up(t);
    double apart = distance(t), first[HEURISTICS], ns[FINALISTS + 1][ROUNDS];
    cudaGraphExec_t graph[HEURISTICS], ours = record(t, -1);
    int finalist[FINALISTS], finalists = 0;
    for (int i = 0; i < t->heuristics; i++) {
        graph[i] = record(t, i);
        first[i] = graph[i] ? (replay(t, graph[i]), replay(t, graph[i])) : 1e30;
    }
    while (finalists < FINALISTS && finalists < t->heuristics) {
        int best = 0;
        for (int i = 1; i < t->heuristics; i++)
            if (first[i] < first[best])
                best = i;
        first[best] = 2e30;
        finalist[finalists++] = best;
    }
    for (int round = -1; round < ROUNDS; round++)
        for (int f = 0; f <= finalists; f++) {
            double value = replay(t, f == finalists ? ours : graph[finalist[f]]);
            if (round >= 0)
                ns[f][round] = value;
        }
    double best = 1e30, mine;
    for (int f = 0; f < finalists; f++) {
        char name[40];
        snprintf(name, sizeof name, "cublaslt[%d]", finalist[f]);
        row(t, name, ns[f], run);
        if (ns[f][ROUNDS / 2] < best)
            best = ns[f][ROUNDS / 2];
    }
    row(t, "tilewright", ns[finalists], run);
    mine = ns[finalists][ROUNDS / 2];
    double flops = 2e-3 * (double)t->m * (double)t->n * (double)t->k;
    fprintf(stderr,
            "%6lld x %6lld x %6lld: cuBLASLt best of %d %9.2f us %6.1f TFLOP/s, tilewright %9.2f us %6.1f TFLOP/s "
            "(%.2f .. %.2f us), ratio %.3f, distance %.1e\n",
            (long long)t->m, (long long)t->n, (long long)t->k, t->heuristics, best / 1e3, flops / best, mine / 1e3,
            flops / mine, ns[finalists][0] / 1e3, ns[finalists][ROUNDS - 1] / 1e3, best / mine, apart);
    for (int i = 0; i < t->heuristics; i++)
        if (graph[i])
            CHECK(cudaGraphExecDestroy(graph[i]));
    CHECK(cudaGraphExecDestroy(ours));
    tear_down(t);
}

int main(int argc, char **argv)
{
    static struct bench test;
    struct bench *t = &test;
    struct gemm_bf16_error error;
    static const int64_t usual[][3] = {{4096, 4096, 4096}, {8192, 8192, 8192}};
    CHECK(cudaFree(0));
    CHECK(cublasLtCreate(&t->lt));
    t->workspace_bytes = (size_t)64 << 20;
    CHECK(cudaMalloc(&t->workspace, t->workspace_bytes));
    CHECK(cudaStreamCreate(&t->stream));
    CHECK(cudaEventCreate(&t->begin));
    CHECK(cudaEventCreate(&t->end));
    if (gemm_bf16_load(&t->kernel, NULL, &error)) {
        fprintf(stderr, "gemm_bf16_load: %s\n", error.text);
        return 1;
    }
    long run = (long)time(NULL);
    int shapes = argc > 3 ? (argc - 1) / 3 : 2;
    for (int i = 0; i < shapes; i++) {
        t->m = argc > 3 ? atoll(argv[1 + 3 * i]) : usual[i][0];
        t->n = argc > 3 ? atoll(argv[2 + 3 * i]) : usual[i][1];
        t->k = argc > 3 ? atoll(argv[3 + 3 * i]) : usual[i][2];
        measure(t, run);
    }
    printf("]\n");
    return 0;
}
