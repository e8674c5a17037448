/* What benches of a GEMM beside cuBLASLt share: D = A B^T of bf16 with fp32 sums, random normal inputs in sets that
 * rotate through more than the L2, cuBLASLt's heuristics for it, and the numbers that a graph of launches is made by.
 * Of one file each: everything is static. */
#ifndef TW_TESTS_BENCH_PEER_H
#define TW_TESTS_BENCH_PEER_H

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEER_SETS = 8, PEER_HEURISTICS = 32 };

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int result_ = (int)(call);                                                                                     \
        if (result_) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result_);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct peer {
    int64_t m, n, k;
    int sets, replays; /* input sets; launches of one graph */
    uint16_t *a[PEER_SETS], *b[PEER_SETS], *d[PEER_SETS];
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout_a, layout_b, layout_d;
    cublasLtMatmulHeuristicResult_t heuristic[PEER_HEURISTICS];
    int heuristics;
    void *workspace;
    size_t workspace_bytes;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static uint64_t peer_state = 88172645463325252u;

static double peer_uniform(void)
{
    peer_state ^= peer_state << 13;
    peer_state ^= peer_state >> 7;
    peer_state ^= peer_state << 17;
    return (double)(peer_state >> 11) / 9007199254740992.0;
}

/* Normal bf16 values from one pool, at other offsets each time. */
static void peer_fill(uint16_t *to, size_t count)
{
    enum { POOL = 1 << 22 };
    static uint16_t *pool;
    if (!pool) {
        pool = malloc(sizeof *pool * POOL);
        for (int i = 0; i < POOL; i++) {
            float x = (float)(sqrt(-2.0 * log(1.0 - peer_uniform())) * cos(6.283185307179586 * peer_uniform()));
            uint32_t bits;
            memcpy(&bits, &x, 4);
            pool[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
    }
    for (size_t at = 0; at < count;) {
        size_t offset = (size_t)(peer_uniform() * (POOL / 2)) & ~(size_t)7, length = POOL - offset;
        if (length > count - at)
            length = count - at;
        CHECK(cudaMemcpy(to + at, pool + offset, length * 2, cudaMemcpyHostToDevice));
        at += length;
    }
}

static int peer_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Once. */
static void peer_open(struct peer *p)
{
    CHECK(cudaFree(0));
    CHECK(cublasLtCreate(&p->lt));
    p->workspace_bytes = (size_t)64 << 20;
    CHECK(cudaMalloc(&p->workspace, p->workspace_bytes));
    CHECK(cudaStreamCreate(&p->stream));
    CHECK(cudaEventCreate(&p->begin));
    CHECK(cudaEventCreate(&p->end));
}

/* For p->m, n, k: inputs, and as many heuristics as there are, at most `most`. */
static void peer_set_up(struct peer *p, int most)
{
    size_t bytes = (size_t)(p->m * p->k + p->n * p->k + p->m * p->n) * 2;
    p->sets = (int)(400000000 / bytes) + 1;
    p->sets = p->sets > PEER_SETS ? PEER_SETS : p->sets < 2 ? 2 : p->sets;
    double estimate = 2.0 * (double)p->m * (double)p->n * (double)p->k / 7e14 + 4e-6;
    p->replays = (int)(4e-3 / estimate) + 1;
    p->replays = p->replays < p->sets ? p->sets : p->replays;
    for (int i = 0; i < p->sets; i++) {
        CHECK(cudaMalloc((void **)&p->a[i], (size_t)(p->m * p->k) * 2));
        CHECK(cudaMalloc((void **)&p->b[i], (size_t)(p->n * p->k) * 2));
        CHECK(cudaMalloc((void **)&p->d[i], (size_t)(p->m * p->n) * 2));
        peer_fill(p->a[i], (size_t)(p->m * p->k));
        peer_fill(p->b[i], (size_t)(p->n * p->k));
    }
    cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulDescCreate(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    CHECK(cublasLtMatrixLayoutCreate(&p->layout_b, CUDA_R_16BF, (uint64_t)p->k, (uint64_t)p->n, p->k));
    CHECK(cublasLtMatrixLayoutCreate(&p->layout_a, CUDA_R_16BF, (uint64_t)p->k, (uint64_t)p->m, p->k));
    CHECK(cublasLtMatrixLayoutCreate(&p->layout_d, CUDA_R_16BF, (uint64_t)p->n, (uint64_t)p->m, p->n));
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &p->workspace_bytes, sizeof p->workspace_bytes));
    CHECK(cublasLtMatmulAlgoGetHeuristic(p->lt, p->operation, p->layout_b, p->layout_a, p->layout_d, p->layout_d,
                                         preference, most, p->heuristic, &p->heuristics));
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
}

static void peer_tear_down(struct peer *p)
{
    for (int i = 0; i < p->sets; i++) {
        CHECK(cudaFree(p->a[i]));
        CHECK(cudaFree(p->b[i]));
        CHECK(cudaFree(p->d[i]));
    }
    cublasLtMatmulDescDestroy(p->operation);
    cublasLtMatrixLayoutDestroy(p->layout_a);
    cublasLtMatrixLayoutDestroy(p->layout_b);
    cublasLtMatrixLayoutDestroy(p->layout_d);
}

/* D of this set by a heuristic; cublasLt's status. */
static int peer_start(struct peer *p, int heuristic, int set)
{
    const float one = 1, zero = 0;
    return (int)cublasLtMatmul(p->lt, p->operation, &one, p->b[set], p->layout_b, p->a[set], p->layout_a, &zero,
                               p->d[set], p->layout_d, p->d[set], p->layout_d, &p->heuristic[heuristic].algo,
                               p->workspace, p->workspace_bytes, p->stream);
}

#endif
