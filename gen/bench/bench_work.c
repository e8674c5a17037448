/* How much of its tensors a kernel works on, where data say (plan_item.filled): rows of groups, by their counts. */
#include <string.h>

#include "bench/group.h"

struct work {
    const struct bench_group *group;
    const struct bench_part *part;
};

/* An element of an input as the device has it; 0 outside, as kernels take it. */
static double element(void *context, int tensor, int rank, const int64_t *at)
{
    const struct work *w = context;
    const struct bench_buffer *b = &w->group->buffer[w->part->buffer[tensor]];
    int64_t offset = 0;
    for (int d = 0; d < rank; d++) {
        if (at[d] < 0 || at[d] >= b->shape.extent[d])
            return 0.0;
        offset += at[d] * b->shape.stride[d];
    }
    return b->host ? tw_dtype_load(b->dtype, b->host + (size_t)offset * tw_dtype_bytes(b->dtype)) : 0.0;
}

static double no_scalar(void *context, int scalar)
{
    (void)context, (void)scalar;
    return 0.0;
}

static int64_t value(const struct work *w, int node, const int64_t *at)
{
    const struct expr_env env = {.context = (void *)(uintptr_t)w,
                                 .symbol = w->part->symbol,
                                 .index = at,
                                 .tensor = element,
                                 .scalar = no_scalar};
    return (int64_t)expr_eval(&w->part->unit->plan.fused, node, &env);
}

static const struct plan_item *item_of(const struct plan *p, int axis)
{
    const struct plan_item *found = NULL;
    for (int i = 0; i < p->item_count; i++)
        found = p->item[i].axis == axis ? &p->item[i] : found;
    return found;
}

/* Elements along the item's axis that lie before the end, from `at` to before `to`. */
static int64_t before_end(const struct work *w, const struct plan_item *item, const int64_t *at, int64_t to)
{
    const int64_t from = at[item->axis], last = value(w, plan_number(item->filled), at);
    return last <= from ? 0 : (last < to ? last : to) - from;
}

static struct bench_work count(const struct work *w, const struct plan_item *item, const struct plan_item *along)
{
    int64_t at[SPEC_MAX_AXES] = {0};
    struct bench_work all = {.axis = item->axis, .along = -1, .extent = value(w, item->extent, at), .places = 1};
    if (along == item) { /* it is asked of each item */
        for (int64_t m = 0; m < all.extent; m += item->tile) {
            at[item->axis] = m;
            all.rows += before_end(w, item, at, m + item->tile < all.extent ? m + item->tile : all.extent);
        }
        return all;
    }
    if (along) {
        all.along = along->axis;
        all.places = value(w, along->extent, at);
    }
    for (int64_t e = 0; e < all.places; e++) {
        if (along)
            at[along->axis] = e;
        int64_t rows = before_end(w, item, at, all.extent);
        all.rows += rows;
        all.filled += rows > 0;
    }
    return all;
}

bool bench_work(const struct bench_group *g, const struct bench_part *part, struct bench_work *work)
{
    const struct work w = {g, part};
    const struct plan *p = &part->unit->plan;
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].filled) {
            *work = count(&w, &p->item[i], p->item[i].along >= 0 ? item_of(p, p->item[i].along) : NULL);
            return true;
        }
    return false;
}

static bool has_axis(const struct plan *p, const struct plan_tensor *t, int axis)
{
    bool has = false;
    for (int d = 0; d < t->rank && axis >= 0; d++)
        has = has || (t->axis[d] && strcmp(t->axis[d], p->axis[axis]) == 0);
    return has;
}

static double share(double part, double all)
{
    return all > 0.0 ? part / all : 0.0;
}

void bench_count(const struct bench_group *g, const struct bench_part *part, double *flops, double *bytes)
{
    const struct plan *p = &part->unit->plan;
    struct bench_work work;
    if (!bench_work(g, part, &work))
        return;
    const double rows = (double)work.rows, extent = (double)work.extent, places = (double)work.places;
    *flops *= share(rows, extent * places);
    *bytes = 0.0;
    for (int t = 0; t < p->tensor_count; t++) {
        double whole = (double)shape_count(&part->shape[t]) * (double)tw_dtype_bytes(p->tensor[t].dtype);
        bool along = has_axis(p, &p->tensor[t], work.along), own = has_axis(p, &p->tensor[t], work.axis);
        bool of_group = along && p->tensor[t].rank > 1; /* and no count of all groups */
        *bytes += whole * (own        ? share(rows, along ? extent * places : extent)
                           : of_group ? share((double)work.filled, places)
                                      : 1.0);
    }
}
