/* Row numbers that lie within their tensor whatever the data are: by interval arithmetic over the program, of loops
 * with few turns turn by turn. */
#include "lower/direct/direct.h"

enum { MOST_TURNS = 64 };

/* The program's nodes with a loop's variable as a number, in a graph of their own. */
struct turn {
    const struct expr_graph *from;
    struct expr_graph *to;
    int loop, *made; /* by node: plan_some */
    int64_t value;
};

static int made_of(struct turn *t, int node)
{
    const struct expr_node *n = &t->from->node[node];
    struct expr_node copy = *n;
    int made;
    if (t->made[node])
        return plan_number(t->made[node]);
    if (n->op == EXPR_LOOP && n->integer == t->loop) {
        made = expr_int(t->to, t->value);
    } else if (n->op == EXPR_TENSOR) { /* an element: anything */
        made = expr_leaf(t->to, EXPR_TILE, n->type, 0);
    } else {
        for (int i = 0; i < 3; i++)
            if (n->arg[i] >= 0 && (copy.arg[i] = made_of(t, n->arg[i])) < 0)
                return -1;
        made = expr_add(t->to, &copy);
    }
    t->made[node] = made < 0 ? 0 : plan_some(made);
    return made;
}

static bool has_loop(const struct expr_graph *g, int node, bool *seen)
{
    const struct expr_node *n = &g->node[node];
    bool has = n->op == EXPR_LOOP;
    for (int i = 0; i < 3 && !has && !seen[node]; i++)
        has = n->arg[i] >= 0 && has_loop(g, n->arg[i], seen);
    seen[node] = true;
    return has;
}

/* The number's range in one turn of the loop. False out of memory. */
static bool range_in(const struct direct *d, int node, int loop, int64_t value, int64_t *low, int64_t *high)
{
    struct expr_graph scratch = {.memory = d->plan->fused.memory};
    struct turn t = {d->program->graph, &scratch, loop, NULL, value};
    t.made = plan_alloc(d->plan, sizeof *t.made * ((size_t)node + 1));
    int made = t.made ? made_of(&t, node) : -1;
    if (made >= 0)
        expr_range(&scratch, made, low, high);
    expr_free(&scratch);
    return made >= 0;
}

static bool number_within(const struct direct *d, int node, int64_t extent)
{
    const struct program *p = d->program;
    int64_t low, high, from, to, step;
    bool *seen = plan_alloc(d->plan, (size_t)node + 1);
    expr_range(p->graph, node, &low, &high);
    if (low >= 0 && high < extent)
        return true;
    if (!seen || !has_loop(p->graph, node, seen))
        return false;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *loop = &p->op[i];
        if (loop->kind != PROGRAM_LOOP || loop->list >= 0 || !expr_is_int(p->graph, loop->from, &from) ||
            !expr_is_int(p->graph, loop->to, &to) || !expr_is_int(p->graph, loop->step, &step) || to <= from ||
            (to - from) / step >= MOST_TURNS)
            continue;
        bool fine = true;
        for (int64_t value = from; value < to && fine; value += step)
            fine = range_in(d, node, i, value, &low, &high) && low >= 0 && high < extent;
        if (fine)
            return true;
    }
    return false;
}

bool direct_within_tensor(const struct direct *d, const struct program_op *o)
{
    const struct spec_tensor *t = &d->l->kernel->tensor[o->tensor];
    if (o->kind != PROGRAM_GATHER || !d->scattered)
        return false;
    for (int i = 0; i < t->rank; i++) {
        int64_t extent, low, high;
        if (i != o->gathered && !o->at[i].length)
            continue; /* a place is */
        if (!expr_is_int(&d->l->kernel->shape, t->dim[i], &extent) || (i != o->gathered && o->at[i].limit >= 0))
            return false;
        if (i == o->gathered) {
            if (!number_within(d, o->arg[0].node, extent))
                return false;
            continue;
        }
        expr_range(d->program->graph, o->at[i].start, &low, &high);
        if (low < 0 || high > extent - o->at[i].length)
            return false;
    }
    return true;
}
