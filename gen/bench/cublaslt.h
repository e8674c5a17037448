/* cuBLASLt through dlopen, as the peer of a matrix product: own declarations, no CUDA header. Where the numbers are
 * from stands beside them. */
#ifndef TW_GEN_BENCH_CUBLASLT_H
#define TW_GEN_BENCH_CUBLASLT_H

#include <stdbool.h>

#include "device.h"
#include "dtype.h"

/* cublasLtMatmulHeuristicResult_t of cublasLt.h: 96 bytes. */
struct cublaslt_heuristic {
    uint64_t algorithm[8]; /* cublasLtMatmulAlgo_t */
    size_t workspace_bytes;
    int state; /* 0: it can be used */
    float waves;
    int reserved[4];
};

enum { CUBLASLT_HEURISTICS = 32 };

struct cublaslt_calls {
#define CUBLASLT_CALL(field, symbol, arguments) int(*field) arguments;
#include "bench/cublaslt_calls.def"
#undef CUBLASLT_CALL
};

/* A matrix as it lies: by rows along the axis that the product names first (A: m, B: n, D: m), or turned, that axis
 * innermost. */
struct cublaslt_matrix {
    enum tw_dtype dtype;
    bool turned;
    int64_t stride; /* elements between two rows, or columns of a turned one */
    int64_t batch;  /* elements between two matrices; 0: all products have the same */
};

/* D = A B^T: A is m x k, B n x k, D m x n; `batch` of them. */
struct cublaslt_gemm {
    int64_t m, n, k, batch;
    struct cublaslt_matrix a, b, d;
};

/* The library, opened, and one problem. */
struct cublaslt {
    struct tw_device *device;
    char path[512]; /* of the library */
    void *library, *handle;
    struct cublaslt_calls call;
    uint64_t workspace, scales; /* on the device */
    size_t workspace_bytes;
    bool integers, swapped; /* the problem's: alpha and beta are ints; our A is its first operand */
    void *operation, *of_a, *of_b, *of_d;
    struct cublaslt_heuristic heuristic[CUBLASLT_HEURISTICS];
    int heuristics;
};

/* Opens the library where NVRTC is looked for too. TW_ERROR_NO_TOOL where there is none. After any result
 * cublaslt_close is due. */
int cublaslt_open(struct cublaslt *lt, struct tw_device *device, struct tw_error *error);
void cublaslt_close(struct cublaslt *lt);

/* Takes the problem in the place of the one before and asks for its heuristics, best first. TW_ERROR_UNSUPPORTED where
 * cuBLASLt does not know it. */
int cublaslt_set(struct cublaslt *lt, const struct cublaslt_gemm *gemm, struct tw_error *error);

/* Launches it by one of its heuristics into device->stream; the operands are device addresses. */
int cublaslt_launch(struct cublaslt *lt, int heuristic, uint64_t a, uint64_t b, uint64_t d, struct tw_error *error);

#endif
