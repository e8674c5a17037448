/* What programs call of cuBLAS and cuBLASLt, on the host, for the emulator: those libraries hold machine code, no PTX.
 * Column major, sums in fp32 in the order of k; matrices of fp32, fp16 and bf16. A call waits for all that was
 * launched, and is over when it returns. A layout's batch is one of strides; what is not here is refused
 * (CUBLAS_STATUS_NOT_SUPPORTED) or not linked. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <vector>

struct Matrix {
    void *data;
    cudaDataType type;
    int64_t leading, stride; // from column to column, from one of a batch to the next, in elements
};

struct Product {
    int m, n, k, epilogue; // as of cublasLtEpilogue_t
    float alpha, beta;
    bool transpose_a, transpose_b;
    Matrix a, b, c, d, bias;
};

static bool known(cudaDataType type)
{
    return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

static size_t size_of(const Matrix &x)
{
    return x.type == CUDA_R_32F ? 4 : 2;
}

/* `columns` columns of `rows` elements each, of matrix `batch`, dense: from the device, and to it. */
static std::vector<float> got(const Matrix &x, int64_t rows, int64_t columns, int64_t batch)
{
    std::vector<uint32_t> raw((size_t)(rows * columns));
    std::vector<float> all((size_t)(rows * columns));
    size_t each = size_of(x);
    cudaMemcpy2D(raw.data(), rows * each, (char *)x.data + batch * x.stride * each, x.leading * each, rows * each,
                 columns, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < all.size(); i++)
        all[i] = x.type == CUDA_R_16BF  ? __bfloat162float(((const __nv_bfloat16 *)raw.data())[i])
                 : x.type == CUDA_R_16F ? __half2float(((const __half *)raw.data())[i])
                                        : ((const float *)raw.data())[i];
    return all;
}

static void put(const Matrix &x, int64_t rows, int64_t columns, int64_t batch, const std::vector<float> &all)
{
    std::vector<uint32_t> raw(all.size());
    size_t each = size_of(x);
    for (size_t i = 0; i < all.size(); i++)
        if (x.type == CUDA_R_16BF)
            ((__nv_bfloat16 *)raw.data())[i] = __float2bfloat16(all[i]);
        else if (x.type == CUDA_R_16F)
            ((__half *)raw.data())[i] = __float2half(all[i]);
        else
            ((float *)raw.data())[i] = all[i];
    cudaMemcpy2D((char *)x.data + batch * x.stride * each, x.leading * each, raw.data(), rows * each, rows * each,
                 columns, cudaMemcpyHostToDevice);
}

static float finished(const Product &p, float sum, float bias)
{
    if (p.epilogue & CUBLASLT_EPILOGUE_BIAS)
        sum += bias;
    if (p.epilogue & CUBLASLT_EPILOGUE_RELU)
        sum = sum > 0 ? sum : 0;
    if (p.epilogue & CUBLASLT_EPILOGUE_GELU)
        sum = 0.5f * sum * (1 + tanhf(0.7978845608f * (sum + 0.044715f * sum * sum * sum)));
    return sum;
}

static void multiply(const Product &p, int64_t batch)
{
    std::vector<float> a = p.transpose_a ? got(p.a, p.k, p.m, batch) : got(p.a, p.m, p.k, batch);
    std::vector<float> b = p.transpose_b ? got(p.b, p.n, p.k, batch) : got(p.b, p.k, p.n, batch);
    std::vector<float> c, bias, d((size_t)p.m * p.n);
    if (p.beta != 0)
        c = got(p.c, p.m, p.n, batch);
    if (p.epilogue & CUBLASLT_EPILOGUE_BIAS)
        bias = got(p.bias, p.m, 1, 0);
    std::vector<float> rows((size_t)p.m * p.k); // A, its columns dense
    for (int64_t k = 0; k < p.k; k++)
        for (int64_t i = 0; i < p.m; i++)
            rows[k * p.m + i] = p.transpose_a ? a[i * p.k + k] : a[k * p.m + i];
    for (int64_t j = 0; j < p.n; j++) {
        float *out = &d[j * p.m];
        for (int64_t k = 0; k < p.k; k++) {
            float with = p.transpose_b ? b[k * p.n + j] : b[j * p.k + k];
            const float *column = &rows[k * p.m];
            for (int64_t i = 0; i < p.m; i++)
                out[i] += column[i] * with;
        }
        for (int64_t i = 0; i < p.m; i++)
            out[i] = finished(p, p.alpha * out[i] + (c.empty() ? 0 : p.beta * c[j * p.m + i]),
                              bias.empty() ? 0 : bias[i]);
    }
    put(p.d, p.m, p.n, batch, d);
}

static cublasStatus_t launch(const Product &p, int batch)
{
    const int epilogues = CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_RELU |
                          CUBLASLT_EPILOGUE_GELU;
    if (!known(p.a.type) || !known(p.b.type) || !known(p.c.type) || !known(p.d.type) || (p.epilogue & ~epilogues))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (cudaDeviceSynchronize())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    for (int i = 0; p.m > 0 && p.n > 0 && i < batch; i++)
        multiply(p, i);
    return cudaPeekAtLastError() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

struct cublasContext {
    char none;
};

static cublasStatus_t gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                           float alpha, Matrix a, Matrix b, float beta, Matrix c, int batch)
{
    Product p = {m, n, k, CUBLASLT_EPILOGUE_DEFAULT, alpha, beta, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, a, b, c, c, {}};
    return launch(p, batch);
}

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta,
                              float *c, int ldc)
{
    return gemm(ta, tb, m, n, k, *alpha, {(void *)a, CUDA_R_32F, lda, 0}, {(void *)b, CUDA_R_32F, ldb, 0},
                *beta, {c, CUDA_R_32F, ldc, 0}, 1);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m,
                                         int n, int k, const float *alpha, const float *a, int lda, long long stride_a,
                                         const float *b, int ldb, long long stride_b, const float *beta, float *c,
                                         int ldc, long long stride_c, int batch)
{
    return gemm(ta, tb, m, n, k, *alpha, {(void *)a, CUDA_R_32F, lda, stride_a},
                {(void *)b, CUDA_R_32F, ldb, stride_b}, *beta, {c, CUDA_R_32F, ldc, stride_c}, batch);
}

/* alpha and beta are of the type of the sums: floats for CUBLAS_COMPUTE_32F..., halves for CUBLAS_COMPUTE_16F. */
static float scale_of(const void *scale, cublasComputeType_t compute)
{
    return compute == CUBLAS_COMPUTE_16F ? __half2float(*(const __half *)scale) : *(const float *)scale;
}

cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType type_a, int lda, const void *b,
                            cudaDataType type_b, int ldb, const void *beta, void *c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t)
{
    return gemm(ta, tb, m, n, k, scale_of(alpha, compute), {(void *)a, type_a, lda, 0},
                {(void *)b, type_b, ldb, 0}, scale_of(beta, compute), {c, type_c, ldc, 0}, 1);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType type_a, int lda,
                                          long long stride_a, const void *b, cudaDataType type_b, int ldb,
                                          long long stride_b, const void *beta, void *c, cudaDataType type_c, int ldc,
                                          long long stride_c, int batch, cublasComputeType_t compute, cublasGemmAlgo_t)
{
    return gemm(ta, tb, m, n, k, scale_of(alpha, compute), {(void *)a, type_a, lda, stride_a},
                {(void *)b, type_b, ldb, stride_b}, scale_of(beta, compute), {c, type_c, ldc, stride_c}, batch);
}

} // extern "C"

/* cuBLASLt's descriptors are its own: here they hold the attributes that were set, by number. */
struct Attributes {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
    uint64_t values[48]; // of 4 and 8 bytes
};

static cublasStatus_t made(void *handle, const Attributes &attributes)
{
    *(Attributes **)handle = new Attributes(attributes);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set(void *descriptor, int attribute, const void *value, size_t bytes)
{
    if (attribute < 0 || attribute >= 48 || bytes > 8)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    Attributes *attributes = (Attributes *)descriptor;
    attributes->values[attribute] = 0;
    memcpy(&attributes->values[attribute], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t gone(void *descriptor)
{
    delete (Attributes *)descriptor;
    return CUBLAS_STATUS_SUCCESS;
}

static Matrix matrix_of(const void *data, cublasLtMatrixLayout_t layout)
{
    const Attributes *of = (const Attributes *)layout;
    return {(void *)data, of->type, of->leading,
            (int64_t)of->values[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET]};
}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    return made(handle, {});
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return gone(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor, cublasComputeType_t, cudaDataType type)
{
    Attributes attributes = {type, 0, 0, 0, {}};
    attributes.values[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_DEFAULT;
    return type == CUDA_R_32F ? made(descriptor, attributes) : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    return set(descriptor, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor)
{
    return gone(descriptor);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
    return made(layout, {type, rows, columns, leading, {}});
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t bytes)
{
    return set(layout, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return gone(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    return made(preference, {});
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes)
{
    return set(preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return gone(preference);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t *results, int *count)
{
    memset(&results[0], 0, sizeof results[0]);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layout_a, const void *b, cublasLtMatrixLayout_t layout_b,
                              const void *beta, const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *, void *, size_t,
                              cudaStream_t)
{
    const Attributes *of = (const Attributes *)descriptor, *in = (const Attributes *)layout_a;
    const Attributes *out = (const Attributes *)layout_d;
    uint64_t batch = out->values[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT];
    bool transposed = of->values[CUBLASLT_MATMUL_DESC_TRANSA] != CUBLAS_OP_N;
    Product p = {(int)out->rows, (int)out->columns, (int)(transposed ? in->rows : in->columns),
                 (int)of->values[CUBLASLT_MATMUL_DESC_EPILOGUE], *(const float *)alpha, *(const float *)beta,
                 transposed, of->values[CUBLASLT_MATMUL_DESC_TRANSB] != CUBLAS_OP_N, matrix_of(a, layout_a),
                 matrix_of(b, layout_b), matrix_of(c, layout_c), matrix_of(d, layout_d),
                 {(void *)of->values[CUBLASLT_MATMUL_DESC_BIAS_POINTER], out->type, (int64_t)out->rows, 0}};
    return launch(p, batch ? (int)batch : 1);
}

} // extern "C"
