#include "bench/cublaslt.h"

#include <stdio.h>
#include <string.h>

#include "find_cuda.h"

_Static_assert(sizeof(struct cublaslt_heuristic) == 96, "cublasLtMatmulHeuristicResult_t has 96 bytes");

/* cublasLt.h, cublas_api.h and library_types.h of CUDA 12 and 13. */
enum {
    DESC_TRANSA = 3, /* CUBLASLT_MATMUL_DESC_TRANSA */
    DESC_TRANSB = 4,
    DESC_A_SCALE_POINTER = 17,
    DESC_B_SCALE_POINTER = 18,
    DESC_FAST_ACCUM = 25,
    LAYOUT_BATCH_COUNT = 5, /* CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT */
    LAYOUT_BATCH_OFFSET = 6,
    PREFERENCE_WORKSPACE = 1, /* CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES */
    OP_N = 0,                 /* CUBLAS_OP_N */
    OP_T = 1,
    COMPUTE_32F = 68, /* CUBLAS_COMPUTE_32F */
    COMPUTE_32I = 72,
    COMPUTE_32F_FAST_TF32 = 77,
    TYPE_32F = 0, /* CUDA_R_32F */
    TYPE_16F = 2,
    TYPE_8I = 3,
    TYPE_32I = 10,
    TYPE_16BF = 14,
    TYPE_8F_E4M3 = 28,
    TYPE_8F_E5M2 = 29,
};

enum { WORKSPACE_BYTES = 64 << 20, SCALES = 2, SCALE_BYTES = 16 };

static const struct {
    enum tw_dtype dtype;
    int type, compute;
} types[] = {
    {TW_BF16, TYPE_16BF, COMPUTE_32F},        {TW_FP16, TYPE_16F, COMPUTE_32F},
    {TW_FP8_E4M3, TYPE_8F_E4M3, COMPUTE_32F}, {TW_FP8_E5M2, TYPE_8F_E5M2, COMPUTE_32F},
    {TW_INT8, TYPE_8I, COMPUTE_32I},          {TW_TF32, TYPE_32F, COMPUTE_32F_FAST_TF32},
    {TW_FP32, TYPE_32F, COMPUTE_32F},         {TW_INT32, TYPE_32I, COMPUTE_32I},
};

/* Row of the type, -1: cuBLASLt has it not. */
static int type_row(enum tw_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype)
            return (int)i;
    return -1;
}

static bool is_fp8(enum tw_dtype dtype)
{
    return dtype == TW_FP8_E4M3 || dtype == TW_FP8_E5M2;
}

static int check(int result, struct tw_error *error, const char *call)
{
    enum { INVALID_VALUE = 7, ARCH_MISMATCH = 8, NOT_SUPPORTED = 15 }; /* cublasStatus_t */
    if (result == 0)
        return TW_OK;
    bool unsupported = result == INVALID_VALUE || result == ARCH_MISMATCH || result == NOT_SUPPORTED;
    return tw_fail(error, unsupported ? TW_ERROR_UNSUPPORTED : TW_ERROR_DRIVER, "%s: cuBLAS status %d", call, result);
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static int load(struct cublaslt *lt, struct tw_error *error)
{
    struct tw_runtime *rt = lt->device->rt;
    const char *why = NULL, *missing = NULL;
    lt->library = rt->loader.open(rt->loader.self, lt->path, 0, &why);
    if (!lt->library)
        return tw_fail(error, TW_ERROR_NO_TOOL, "%s: %s", lt->path, why ? why : "it does not load");
#define CUBLASLT_CALL(field, symbol, arguments)                                                                        \
    if (!tw_resolve(rt, lt->library, symbol, &lt->call.field) && !missing)                                             \
        missing = symbol;
#include "bench/cublaslt_calls.def"
#undef CUBLASLT_CALL
    if (missing)
        return tw_fail(error, TW_ERROR_NO_TOOL, "%s has no %s", lt->path, missing);
    return TW_OK;
}

static int find(struct cublaslt *lt, struct tw_error *error)
{
    struct tw_runtime *rt = lt->device->rt;
    struct tw_places places = {0};
    int status = TW_OK, major, minor;
    bool found = false;
    for (unsigned step = 0; status == TW_OK && !found; step++) {
        status = tw_find_places(rt, TW_PLACE_LIBRARIES, step, &places, error);
        for (size_t i = 0; i < places.count && status == TW_OK && !found; i++)
            found = tw_find_library(rt, places.items[i].folder, "cublasLt", 0, lt->path, sizeof lt->path, &major,
                                    &minor) == TW_OK;
    }
    tw_places_free(rt, &places);
    if (status == TW_ERROR_NOT_FOUND)
        return tw_fail(error, TW_ERROR_NO_TOOL,
                       "cuBLASLt (libcublasLt.so) not found: looked in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, "
                       "/opt/cuda, the loader's folders, Python's nvidia folders and build/cuda");
    return status;
}

int cublaslt_open(struct cublaslt *lt, struct tw_device *device, struct tw_error *error)
{
    const float one[SCALES * SCALE_BYTES / sizeof(float)] = {1.0f, 0, 0, 0, 1.0f};
    memset(lt, 0, sizeof *lt);
    lt->device = device;
    lt->workspace_bytes = WORKSPACE_BYTES;
    int status = find(lt, error);
    if (status == TW_OK)
        status = load(lt, error);
    if (status == TW_OK)
        status = tw_device_enter(device, error);
    if (status == TW_OK)
        status = check(lt->call.create(&lt->handle), error, "cublasLtCreate");
    if (status == TW_OK)
        status = tw_device_alloc(device, lt->workspace_bytes, &lt->workspace, error);
    if (status == TW_OK)
        status = tw_device_alloc(device, sizeof one, &lt->scales, error);
    if (status == TW_OK)
        status = tw_device_upload(device, lt->scales, one, sizeof one, error);
    return status;
}

static void drop_problem(struct cublaslt *lt)
{
    if (lt->operation)
        lt->call.operation_destroy(lt->operation);
    void *layout[] = {lt->of_a, lt->of_b, lt->of_d};
    for (int i = 0; i < 3; i++)
        if (layout[i])
            lt->call.layout_destroy(layout[i]);
    lt->operation = lt->of_a = lt->of_b = lt->of_d = NULL;
    lt->heuristics = 0;
}

void cublaslt_close(struct cublaslt *lt)
{
    if (!lt->device)
        return;
    drop_problem(lt);
    tw_device_free(lt->device, lt->workspace);
    tw_device_free(lt->device, lt->scales);
    if (lt->handle)
        lt->call.destroy(lt->handle);
    if (lt->library)
        lt->device->rt->loader.close(lt->device->rt->loader.self, lt->library);
    memset(lt, 0, sizeof *lt);
}

/* ---- a problem --------------------------------------------------------------------------------------------------- */

/* Its matrices lie by columns. One that lies by rows is its transpose there: rows x columns are what cuBLASLt sees. */
static int make_layout(struct cublaslt *lt, void **layout, const struct cublaslt_matrix *matrix, int64_t rows,
                       int64_t columns, int64_t batch, struct tw_error *error)
{
    const int32_t count = (int32_t)batch;
    int result = lt->call.layout_create(layout, types[type_row(matrix->dtype)].type, (uint64_t)rows, (uint64_t)columns,
                                        matrix->stride);
    if (result)
        *layout = NULL;
    if (!result && batch > 1)
        result = lt->call.layout_set(*layout, LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (!result && batch > 1)
        result = lt->call.layout_set(*layout, LAYOUT_BATCH_OFFSET, &matrix->batch, sizeof matrix->batch);
    return check(result, error, "cublasLtMatrixLayoutCreate");
}

static int make_operation(struct cublaslt *lt, const struct cublaslt_gemm *g, int32_t first, int32_t second,
                          struct tw_error *error)
{
    const uint64_t scale[SCALES] = {lt->scales, lt->scales + SCALE_BYTES};
    const int8_t fast = 1;
    int compute = types[type_row(g->a.dtype)].compute, scale_type = lt->integers ? TYPE_32I : TYPE_32F;
    int result = lt->call.operation_create(&lt->operation, compute, scale_type);
    if (result)
        lt->operation = NULL;
    if (!result)
        result = lt->call.operation_set(lt->operation, DESC_TRANSA, &first, sizeof first);
    if (!result)
        result = lt->call.operation_set(lt->operation, DESC_TRANSB, &second, sizeof second);
    if (!result && is_fp8(g->a.dtype)) {
        result = lt->call.operation_set(lt->operation, DESC_A_SCALE_POINTER, &scale[0], sizeof scale[0]);
        if (!result)
            result = lt->call.operation_set(lt->operation, DESC_B_SCALE_POINTER, &scale[1], sizeof scale[1]);
        if (!result)
            result = lt->call.operation_set(lt->operation, DESC_FAST_ACCUM, &fast, sizeof fast);
    }
    return check(result, error, "cublasLtMatmulDescCreate");
}

static int ask(struct cublaslt *lt, struct tw_error *error)
{
    struct cublaslt_heuristic found[CUBLASLT_HEURISTICS];
    void *preference = NULL;
    int count = 0, result = lt->call.preference_create(&preference);
    memset(found, 0, sizeof found);
    if (!result)
        result =
            lt->call.preference_set(preference, PREFERENCE_WORKSPACE, &lt->workspace_bytes, sizeof lt->workspace_bytes);
    if (!result)
        result = lt->call.heuristics(lt->handle, lt->operation, lt->of_a, lt->of_b, lt->of_d, lt->of_d, preference,
                                     CUBLASLT_HEURISTICS, found, &count);
    if (preference)
        lt->call.preference_destroy(preference);
    for (int i = 0; i < count && !result; i++)
        if (found[i].state == 0)
            lt->heuristic[lt->heuristics++] = found[i];
    if (!result && lt->heuristics == 0)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "cuBLASLt has no algorithm for it");
    return check(result, error, "cublasLtMatmulAlgoGetHeuristic");
}

int cublaslt_set(struct cublaslt *lt, const struct cublaslt_gemm *g, struct tw_error *error)
{
    int status = tw_device_enter(lt->device, error);
    drop_problem(lt);
    if (status != TW_OK)
        return status;
    if (type_row(g->a.dtype) < 0 || type_row(g->b.dtype) < 0 || type_row(g->d.dtype) < 0)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "cuBLASLt does not multiply %s by %s to %s",
                       tw_dtype_name(g->a.dtype), tw_dtype_name(g->b.dtype), tw_dtype_name(g->d.dtype));
    lt->integers = g->d.dtype == TW_INT32;
    /* D by rows is D^T = B A^T by columns; turned it is D = A B^T as it lies. */
    lt->swapped = !g->d.turned;
    const struct cublaslt_matrix *first = lt->swapped ? &g->b : &g->a, *second = lt->swapped ? &g->a : &g->b;
    int64_t rows = lt->swapped ? g->n : g->m, columns = lt->swapped ? g->m : g->n;
    status = make_operation(lt, g, first->turned ? OP_N : OP_T, second->turned ? OP_T : OP_N, error);
    if (status == TW_OK)
        status = make_layout(lt, &lt->of_a, first, first->turned ? rows : g->k, first->turned ? g->k : rows, g->batch,
                             error);
    if (status == TW_OK)
        status = make_layout(lt, &lt->of_b, second, second->turned ? columns : g->k, second->turned ? g->k : columns,
                             g->batch, error);
    if (status == TW_OK)
        status = make_layout(lt, &lt->of_d, &g->d, rows, columns, g->batch, error);
    return status == TW_OK ? ask(lt, error) : status;
}

int cublaslt_launch(struct cublaslt *lt, int heuristic, uint64_t a, uint64_t b, uint64_t d, struct tw_error *error)
{
    const float one = 1, zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    const void *alpha = lt->integers ? (const void *)&whole_one : &one;
    const void *beta = lt->integers ? (const void *)&whole_zero : &zero;
    uint64_t first = lt->swapped ? b : a, second = lt->swapped ? a : b;
    int result = lt->call.matmul(lt->handle, lt->operation, alpha, first, lt->of_a, second, lt->of_b, beta, d, lt->of_d,
                                 d, lt->of_d, lt->heuristic[heuristic].algorithm, lt->workspace, lt->workspace_bytes,
                                 lt->device->stream);
    return check(result, error, "cublasLtMatmul");
}
