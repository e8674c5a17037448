/* What strides make of a tensor, in whatever launch and in the sizes that the spec itself lists: rows go forward, and
 * no element of a tensor that is written is another one, too. */
#include "read/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct layout {
    struct reader *r;
    const struct spec_tensor *t;
    const struct spec_sizes *sizes; /* that it is looked at by, NULL: by none */
    int64_t extent[SPEC_MAX_RANK], stride[SPEC_MAX_RANK];
};

/* "at M = 70, N = 72 " */
static const char *sizes_text(struct reader *r, const struct spec_sizes *sizes)
{
    const char *text = "at";
    for (int d = 0, count = 0; d < r->spec->dim_count; d++) {
        if (sizes->value[d] < 0)
            continue;
        text = arena_format(r->arena, "%s%s %s = %lld", text, count++ ? "," : "", r->spec->dim[d].name,
                            (long long)sizes->value[d]);
        reader_check(r, text);
    }
    const char *whole = arena_format(r->arena, "%s ", text);
    reader_check(r, whole);
    return whole;
}

static void stride_fault(const struct layout *l, int d, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void stride_fault(const struct layout *l, int d, const char *format, ...)
{
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const char *path = arena_format(l->r->arena, "%s.stride[%d]", l->t->name, d + 1);
    reader_check(l->r, path);
    reader_fault(l->r, path, AT_VALUE, "TENSOR-STRIDE", "%s%s", l->sizes ? sizes_text(l->r, l->sizes) : "", text);
}

/* Extents and strides, by the sizes of the dims; false where one is unknown. */
static bool measure(struct layout *l, const int64_t *dims)
{
    const struct expr_graph *shape = &reader_kernel(l->r)->shape;
    int64_t dense = 1;
    for (int d = l->t->rank - 1; d >= 0; d--) {
        if (!expr_eval_int(shape, l->t->dim[d], dims, &l->extent[d]) || l->extent[d] < 0)
            return false;
        l->stride[d] = dense;
        if (l->t->stride[d] >= 0 && !expr_eval_int(shape, l->t->stride[d], dims, &l->stride[d]))
            return false;
        if (__builtin_mul_overflow(dense, l->extent[d], &dense))
            return false;
    }
    return true;
}

/* Elements that differ in dims one and other alone are the same: so many steps of the one are so many of the other. */
static bool meet(const struct layout *l, int one, int other)
{
    int64_t common = expr_common_divisor(l->stride[one], l->stride[other]);
    return common == 0 || (l->stride[other] / common < l->extent[one] && l->stride[one] / common < l->extent[other]);
}

/* True where the sizes showed a fault, which is told. */
static bool check_size(struct layout *l, const int64_t *dims)
{
    if (!measure(l, dims))
        return false;
    for (int d = 0; d < l->t->rank; d++)
        if (l->extent[d] == 0)
            return false; /* there is no element */
    for (int d = 0; d + 1 < l->t->rank; d++)
        if (l->extent[d] > 1 && l->stride[d] < 0) {
            stride_fault(l, d, "the stride is %lld elements; rows go forward, write 0 or more",
                         (long long)l->stride[d]);
            return true;
        }
    for (int d = 0; d < l->t->rank && l->t->out; d++)
        for (int e = d + 1; e < l->t->rank; e++) {
            if (l->extent[d] < 2 || l->extent[e] < 2 || !meet(l, d, e))
                continue;
            stride_fault(
                l, d,
                "the stride is %lld elements, and the tensor, which is written, would overlap itself: its dim %d "
                "has %lld elements at a stride of %lld; write %lld or more",
                (long long)l->stride[d], e + 1, (long long)l->extent[e], (long long)l->stride[e],
                (long long)(l->extent[e] * l->stride[e]));
            return true;
        }
    return false;
}

static bool check_list(struct layout *l, const struct spec_sizes *list, int count)
{
    for (int i = 0; i < count; i++) {
        l->sizes = &list[i];
        if (check_size(l, list[i].value))
            return true;
    }
    return false;
}

void check_layouts(struct reader *r)
{
    struct spec_kernel *k = reader_kernel(r);
    int64_t unknown[MOST_DIMS], low, high;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        unknown[i] = 1 << 20; /* of constants alone, no matter; else sizes are to show it */
    for (int i = 0; i < k->tensor_count; i++) {
        struct layout l = {.r = r, .t = &k->tensor[i]};
        bool constant = true, told = false;
        if (l.t->doubtful)
            continue;
        for (int d = 0; d < l.t->rank && !told; d++) {
            expr_range(&k->shape, l.t->dim[d], &low, &high);
            constant = constant && low == high;
            if (l.t->stride[d] < 0)
                continue;
            expr_range(&k->shape, l.t->stride[d], &low, &high);
            constant = constant && low == high;
            told = high < 0;
            if (told)
                stride_fault(&l, d, "the stride is negative in every launch; rows go forward, write 0 or more");
        }
        if (told || (constant && check_size(&l, unknown)))
            continue;
        (void)(check_list(&l, k->run, k->run_count) || check_list(&l, k->bench, k->bench_count));
    }
}
