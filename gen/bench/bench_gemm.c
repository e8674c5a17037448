/* Which product of cuBLASLt's a kernel is. */
#include <math.h>
#include <string.h>

#include "bench/kernels.h"
#include "verify/inputs.h"

/* Elements of D that are summed by hand. */
enum { SAMPLES = 256 };

static int find_tensor(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensor[i].name, name) == 0)
            return i;
    return -1;
}

/* The kernel's tensor in a role of its peer's problem, -1: none. */
static int role(const struct compile_unit *unit, const char *name)
{
    const struct spec_peer *peer = &unit->kernel->peer;
    for (int i = 0; i < peer->count; i++)
        if (strcmp(peer->role[i], name) == 0)
            return find_tensor(&unit->plan, peer->tensor[i]);
    return -1;
}

static int dim_of(const struct plan_tensor *t, const char *axis)
{
    for (int d = 0; d < t->rank; d++)
        if (t->axis[d] && strcmp(t->axis[d], axis) == 0)
            return d;
    return -1;
}

/* The one axis that x and y have and z has not; NULL: none, or several. */
static const char *common(const struct plan_tensor *x, const struct plan_tensor *y, const struct plan_tensor *z)
{
    const char *found = NULL;
    for (int d = 0; d < x->rank; d++) {
        const char *axis = x->axis[d];
        if (!axis)
            return NULL;
        if (dim_of(y, axis) < 0 || dim_of(z, axis) >= 0)
            continue;
        if (found)
            return NULL;
        found = axis;
    }
    return found;
}

/* The matrix of these two axes; a third, outermost dim counts products. */
static bool take_matrix(const struct plan_tensor *t, const struct shape *shape, const char *rows, const char *columns,
                        struct cublaslt_matrix *out)
{
    const int r = dim_of(t, rows), c = dim_of(t, columns), inner = t->rank - 1;
    if (t->rank < 2 || t->rank > 3 || r < t->rank - 2 || c < t->rank - 2 || shape->stride[inner] != 1)
        return false;
    *out = (struct cublaslt_matrix){.dtype = t->dtype,
                                    .turned = r == inner,
                                    .stride = shape->stride[inner - 1],
                                    .batch = t->rank == 3 ? shape->stride[0] : 0};
    return true;
}

/* Whether data decide how many rows there are: the kernel is as many products as they say. */
static bool is_grouped(const struct plan *p)
{
    bool grouped = false;
    for (int i = 0; i < p->item_count; i++)
        grouped = grouped || p->item[i].filled;
    return grouped;
}

/* All matrices of the tensor as one, of rows one behind the other. */
static bool take_rows(const struct plan_tensor *t, const struct shape *shape, struct cublaslt_matrix *out)
{
    const int inner = t->rank - 1;
    if (t->rank < 2 || shape->stride[inner] != 1)
        return false;
    for (int d = 0; d + 1 < inner; d++)
        if (shape->stride[d] != shape->stride[d + 1] * shape->extent[d + 1])
            return false;
    *out = (struct cublaslt_matrix){.dtype = t->dtype, .stride = shape->stride[inner - 1]};
    return true;
}

/* One product of all rows of groups, with the B of the first: what a group would take that had all of them. The rows
 * are the first ones, of whatever group: what they hold is as random as all else. */
static bool one_product(const struct plan_tensor *const *t, const struct shape *const *shape, int64_t rows,
                        struct cublaslt_gemm *gemm)
{
    const int a = t[0]->rank - 1, b = t[1]->rank - 1, d = t[2]->rank - 1;
    int64_t room = 1;
    if (!take_rows(t[0], shape[0], &gemm->a) || t[1]->rank < 2 || shape[1]->stride[b] != 1 ||
        !take_rows(t[2], shape[2], &gemm->d))
        return false;
    for (int i = 0; i < a; i++)
        room *= shape[0]->extent[i];
    gemm->b = (struct cublaslt_matrix){.dtype = t[1]->dtype, .stride = shape[1]->stride[b - 1]};
    gemm->m = rows < room ? rows : room;
    gemm->n = shape[2]->extent[d];
    gemm->k = shape[0]->extent[a];
    gemm->batch = 1;
    return shape[1]->extent[b] == gemm->k && shape[1]->extent[b - 1] == gemm->n && gemm->m > 0 && gemm->n > 0 &&
           gemm->k > 0;
}

bool bench_gemm(const struct compile_unit *unit, const struct shape *shape, int64_t rows, struct cublaslt_gemm *gemm,
                int tensor[3])
{
    static const char *const roles[] = {"a", "b", "d"};
    const struct plan_tensor *t[3];
    const struct shape *of[3];
    if (!unit->kernel->peer.problem || strcmp(unit->kernel->peer.problem, "gemm") != 0)
        return false;
    for (int i = 0; i < 3; i++) {
        tensor[i] = role(unit, roles[i]);
        if (tensor[i] < 0)
            return false;
        t[i] = &unit->plan.tensor[tensor[i]];
        of[i] = &shape[tensor[i]];
    }
    memset(gemm, 0, sizeof *gemm);
    if (is_grouped(&unit->plan))
        return one_product(t, of, rows, gemm);
    const char *m = common(t[0], t[2], t[1]), *n = common(t[1], t[2], t[0]), *k = common(t[0], t[1], t[2]);
    if (!m || !n || !k || t[0]->rank != t[1]->rank || t[0]->rank != t[2]->rank ||
        !take_matrix(t[0], &shape[tensor[0]], m, k, &gemm->a) ||
        !take_matrix(t[1], &shape[tensor[1]], n, k, &gemm->b) || !take_matrix(t[2], &shape[tensor[2]], m, n, &gemm->d))
        return false;
    gemm->m = shape[tensor[0]].extent[dim_of(t[0], m)];
    gemm->n = shape[tensor[1]].extent[dim_of(t[1], n)];
    gemm->k = shape[tensor[0]].extent[dim_of(t[0], k)];
    gemm->batch = t[2]->rank == 3 ? shape[tensor[2]].extent[0] : 1;
    return gemm->m > 0 && gemm->n > 0 && gemm->k > 0 && gemm->batch > 0;
}

static double element(const struct cublaslt_matrix *matrix, const unsigned char *bytes, int64_t batch, int64_t row,
                      int64_t column)
{
    int64_t at =
        batch * matrix->batch + (matrix->turned ? column : row) * matrix->stride + (matrix->turned ? row : column);
    return tw_dtype_load(matrix->dtype, bytes + (size_t)at * tw_dtype_bytes(matrix->dtype));
}

double bench_gemm_bytes(const struct cublaslt_gemm *g)
{
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return (double)g->batch * (m * k * (double)tw_dtype_bytes(g->a.dtype) + n * k * (double)tw_dtype_bytes(g->b.dtype) +
                               m * n * (double)tw_dtype_bytes(g->d.dtype));
}

double bench_gemm_error(const struct cublaslt_gemm *g, const unsigned char *a, const unsigned char *b,
                        const unsigned char *d, uint64_t seed)
{
    double error = 0.0, norm = 0.0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        /* The last element is among them: edges are where a wrong layout shows. */
        int64_t m = i ? (int64_t)(inputs_random(seed, 3 * i) % (uint64_t)g->m) : g->m - 1;
        int64_t n = i ? (int64_t)(inputs_random(seed, 3 * i + 1) % (uint64_t)g->n) : g->n - 1;
        int64_t batch = i ? (int64_t)(inputs_random(seed, 3 * i + 2) % (uint64_t)g->batch) : g->batch - 1;
        double sum = 0.0;
        for (int64_t k = 0; k < g->k; k++)
            sum += element(&g->a, a, batch, m, k) * element(&g->b, b, batch, n, k);
        double away = element(&g->d, d, batch, m, n) - sum;
        error += away * away;
        norm += sum * sum;
    }
    return norm > 0.0 ? sqrt(error / norm) : sqrt(error);
}
