#include "verify/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void mark(const struct expr_graph *g, int node, bool *used)
{
    if (node < 0)
        return;
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_SYMBOL)
        used[n->integer] = true;
    for (int i = 0; i < 3; i++)
        mark(g, n->arg[i], used);
}

void layout_symbols(const struct plan *p, bool *used)
{
    for (int i = 0; i < p->symbol_count; i++)
        used[i] = false;
    for (int i = 0; i < p->tensor_count; i++)
        for (int d = 0; d < p->tensor[i].rank; d++) {
            mark(&p->graph, p->tensor[i].dim[d], used);
            mark(&p->graph, p->tensor[i].stride[d], used);
        }
    for (int i = 0; i < 3; i++)
        mark(&p->graph, p->launch.grid[i], used);
    for (int i = 0; i < p->param_count; i++) /* a template may read any */
        if (p->param[i].kind == PLAN_PARAM_DIM)
            used[p->param[i].index] = true;
}

int layout_shape(const struct plan *p, int tensor, const int64_t *symbol, struct shape *shape, struct tw_error *error)
{
    const struct plan_tensor *t = &p->tensor[tensor];
    int64_t last = 0;

    memset(shape, 0, sizeof *shape);
    shape->rank = t->rank;
    for (int d = 0; d < t->rank; d++) {
        int64_t part;
        if (!expr_eval_int(&p->graph, t->dim[d], symbol, &shape->extent[d]) ||
            !expr_eval_int(&p->graph, t->stride[d], symbol, &shape->stride[d]))
            return tw_fail(error, TW_ERROR_INVALID, "%s: the extent or stride of dim %d overflows", t->name, d);
        if (shape->extent[d] < 0 || shape->stride[d] < 0)
            return tw_fail(error, TW_ERROR_INVALID, "%s: dim %d is %" PRId64 " elements at a stride of %" PRId64,
                           t->name, d, shape->extent[d], shape->stride[d]);
        /* Offsets are computed in bytes of 64-bit integers: 2^56 elements leave room for that. */
        if (shape->extent[d] > 0 && (__builtin_mul_overflow(shape->extent[d] - 1, shape->stride[d], &part) ||
                                     __builtin_add_overflow(last, part, &last) || last >> 56))
            return tw_fail(error, TW_ERROR_INVALID, "%s is too large for an address", t->name);
    }
    return TW_OK;
}

bool layout_strides_are_arguments(const struct plan *p, int tensor)
{
    const struct plan_tensor *t = &p->tensor[tensor];
    int strides = 0;
    if (t->map >= 0)
        return true;
    for (int d = 0; d < t->rank; d++)
        if (t->fixed[d])
            return false;
    for (int i = 0; i < p->param_count; i++)
        strides += p->param[i].kind == PLAN_PARAM_STRIDE && p->param[i].tensor == tensor;
    return strides >= t->rank - 1;
}

void layout_shared(const struct plan *p, struct layout_shared *shared)
{
    shared->count = 0;
    for (int i = 0; i < p->shared_count && shared->count < sizeof shared->range / sizeof *shared->range; i++) {
        const struct plan_shared *part = &p->shared[i];
        const char *dot = strchr(part->name, '.');
        bool barrier = dot && (strcmp(dot, ".full") == 0 || strcmp(dot, ".empty") == 0);
        char *name = shared->name[shared->count];
        snprintf(name, sizeof shared->name[0], "ring %.*s%s%s%s",
                 dot ? (int)(dot - part->name) : (int)strlen(part->name), part->name, dot ? " " : "",
                 dot ? dot + 1 : "", barrier ? " barrier" : "");
        shared->range[shared->count++] =
            (struct tw_shared_range){.name = name,
                                     .first = (uint32_t)part->offset,
                                     .bytes = (uint32_t)part->bytes,
                                     .stage_bytes = part->count > 1 ? (uint32_t)(part->bytes / part->count) : 0};
    }
}
