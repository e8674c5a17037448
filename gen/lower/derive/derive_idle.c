/* Turns that change nothing: those in which a mask lets nothing in.
 *
 * The values that a turn carries on are computed for the case that a condition holds for no element: every choice that
 * asks for it takes its other value. Where each carried value then is what it was, the turn may be left out.
 *
 * A running maximum needs one more thought: 2^(m - m) is 1, but 0 where m is minus infinity. Rows whose maximum is
 * minus infinity have seen minus infinities alone; so where a turn of minus infinities carries first values on as first
 * values, such rows have nothing but those, and a turn without elements leaves them as they are, too.
 *
 * Products of zeros are zero here, whatever the other factor: what a mask hides may be infinite or no number. */
#include "lower/derive/derive_turns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { NOT_SEEN, UNKNOWN, CONSTANT, SAME /* as a leaf */ };

struct known {
    enum kind kind;
    double value;
    int leaf;
};

/* One case. */
struct idle {
    struct derive *d;
    int loop;
    int fails;          /* condition that holds nowhere; -1 */
    int least;          /* node that is minus infinity everywhere; -1 */
    bool first;         /* carried values are the first ones, else any */
    struct known *memo; /* by node */
    bool *above;        /* by node: a leaf that is taken to be above minus infinity */
};

static const struct known unknown = {UNKNOWN, 0.0, -1};

static struct known constant(double value)
{
    return (struct known){CONSTANT, value, -1};
}

static bool is(struct known k, double value)
{
    return k.kind == CONSTANT && k.value == value;
}

static bool equal(struct known a, struct known b)
{
    return a.kind == b.kind && ((a.kind == CONSTANT && a.value == b.value) || (a.kind == SAME && a.leaf == b.leaf));
}

static struct known find(struct idle *x, int node);

/* What an operation gives; the leaf itself where nothing is known of it. */
static struct known of_operation(struct idle *x, int node, int number)
{
    const struct program_op *op = &x->d->work.program->op[number];
    const struct work_op *k = &x->d->work.op[number];
    struct known a;
    switch (op->kind) {
    case PROGRAM_PARAM:
        if (op->loop == x->loop && x->first)
            return find(x, x->d->work.op[x->loop].value[op->which]);
        return (struct known){SAME, 0.0, node};
    case PROGRAM_REDUCE:
        a = find(x, k->arg[0]);
        return a.kind == CONSTANT && (op->reduction != PROGRAM_SUM || a.value == 0.0) ? a : unknown;
    default: /* a dot: others give no arithmetic of a turn a value that is known */
        a = op->kind == PROGRAM_DOT && k->arg[0] >= 0 ? find(x, k->arg[0]) : unknown;
        return !is(a, 0.0) ? unknown : k->arg[2] >= 0 ? find(x, k->arg[2]) : a;
    }
}

static struct known product(struct known a, struct known b)
{
    if (is(a, 0.0) || is(b, 0.0))
        return constant(0.0);
    if (is(a, 1.0) || is(b, 1.0))
        return is(a, 1.0) ? b : a;
    return a.kind == CONSTANT && b.kind == CONSTANT ? constant(a.value * b.value) : unknown;
}

static struct known extreme(struct known a, struct known b, double none, bool largest)
{
    if (is(a, none) || is(b, none))
        return is(a, none) ? b : a;
    if (a.kind == CONSTANT && b.kind == CONSTANT)
        return constant(largest == (a.value > b.value) ? a.value : b.value);
    return equal(a, b) ? a : unknown;
}

static struct known difference_power(struct idle *x, struct known a, struct known b)
{
    if (is(a, -INFINITY))
        return constant(0.0);
    if (!equal(a, b))
        return unknown;
    if (a.kind == SAME)
        x->above[a.leaf] = true;
    return constant(1.0);
}

static struct known compute(struct idle *x, int node)
{
    const struct expr_graph *g = &x->d->work.graph;
    const struct expr_node *n = &g->node[node];
    struct known arg[3] = {unknown, unknown, unknown};
    if (node == x->fails || node == x->least)
        return constant(node == x->fails ? 0.0 : -INFINITY);
    if (n->op == EXPR_CONST_REAL)
        return constant(n->real);
    if (n->op == EXPR_CONST_INT)
        return constant((double)n->integer);
    if (n->op == EXPR_TILE)
        return of_operation(x, node, (int)n->integer);
    for (int i = 0; i < expr_ops[n->op].arity && i < 3; i++)
        arg[i] = find(x, n->arg[i]);
    switch (n->op) {
    case EXPR_AND:
        return is(arg[0], 0.0) || is(arg[1], 0.0) ? constant(0.0) : unknown;
    case EXPR_SELECT:
        if (arg[0].kind == CONSTANT)
            return arg[0].value != 0.0 ? arg[1] : arg[2];
        return equal(arg[1], arg[2]) ? arg[1] : unknown;
    case EXPR_ADD:
        if (is(arg[0], 0.0) || is(arg[1], 0.0))
            return is(arg[0], 0.0) ? arg[1] : arg[0];
        return arg[0].kind == CONSTANT && arg[1].kind == CONSTANT ? constant(arg[0].value + arg[1].value) : unknown;
    case EXPR_MUL:
        return product(arg[0], arg[1]);
    case EXPR_MAX:
        return extreme(arg[0], arg[1], -INFINITY, true);
    case EXPR_MIN:
        return extreme(arg[0], arg[1], INFINITY, false);
    case EXPR_EXP2_DIFF:
        return difference_power(x, arg[0], arg[1]);
    default:
        return n->op == EXPR_CAST && is(arg[0], 0.0) ? arg[0] : unknown;
    }
}

static struct known find(struct idle *x, int node)
{
    if (node < 0)
        return unknown;
    if (x->memo[node].kind == NOT_SEEN)
        x->memo[node] = compute(x, node);
    return x->memo[node];
}

/* Every carried value is what it was: the first ones, or any. */
static bool keeps(struct idle *x)
{
    const struct work *w = &x->d->work;
    const struct program_op *l = &w->program->op[x->loop];
    memset(x->memo, 0, sizeof *x->memo * (size_t)(w->graph.count + 1));
    for (int o = x->loop + 1; o < l->end; o++) {
        const struct program_op *op = &w->program->op[o];
        if (op->kind != PROGRAM_PARAM || op->loop != x->loop)
            continue;
        struct known before = find(x, w->op[o].leaf), behind = find(x, w->op[l->end].value[op->which]);
        if (!equal(before, behind))
            return false;
    }
    return true;
}

/* The carried value is the largest of itself and of a tile's elements: their node, without positive factors; -1. */
static int largest_of(const struct idle *x, int leaf)
{
    const struct work *w = &x->d->work;
    const struct expr_graph *g = &w->graph;
    const struct program_op *l = &w->program->op[x->loop];
    int which = w->program->op[g->node[leaf].integer].which;
    const struct expr_node *n = &g->node[w->op[l->end].value[which]];
    for (int i = 0; i < 2 && n->op == EXPR_MAX; i++) {
        const struct expr_node *other = &g->node[n->arg[1 - i]];
        for (int a = 0; other->op == EXPR_MUL && a < 2; a++)
            if (g->node[other->arg[a]].op == EXPR_CONST_REAL && g->node[other->arg[a]].real > 0.0) {
                other = &g->node[other->arg[1 - a]];
                break;
            }
        if (n->arg[i] != leaf || other->op != EXPR_TILE)
            continue;
        const struct program_op *reduce = &w->program->op[other->integer];
        if (reduce->kind == PROGRAM_REDUCE && reduce->reduction == PROGRAM_MAX)
            return w->op[other->integer].arg[0];
    }
    return -1;
}

/* A turn changes nothing where the condition holds for no element. */
static bool is_idle(struct idle *x, int condition)
{
    const struct expr_graph *g = &x->d->work.graph;
    int count = g->count;
    memset(x->above, 0, sizeof *x->above * (size_t)(count + 1));
    x->fails = condition;
    x->least = -1;
    x->first = false;
    if (!keeps(x))
        return false;
    for (int leaf = 0; leaf < count; leaf++) {
        if (!x->above[leaf])
            continue;
        const struct program_op *op = &x->d->work.program->op[g->node[leaf].integer];
        if (op->kind != PROGRAM_PARAM || op->loop != x->loop)
            return false;
        x->first = true;
        x->fails = condition;
        x->least = -1;
        if (!keeps(x) || !is(find(x, leaf), -INFINITY))
            return false;
        x->fails = -1;
        x->least = largest_of(x, leaf);
        if (x->least < 0 || !keeps(x))
            return false;
    }
    return true;
}

static void add(struct derive_mask *mask, int *count, int condition, int columns)
{
    for (int i = 0; i < *count; i++)
        if (mask[i].condition == condition) {
            mask[i].columns = columns > mask[i].columns ? columns : mask[i].columns;
            return;
        }
    if (*count < DERIVE_MAX_MASKS)
        mask[(*count)++] = (struct derive_mask){condition, columns};
}

/* The conditions of a conjunction. */
static void add_all(const struct expr_graph *g, struct derive_mask *mask, int *count, int condition, int columns)
{
    const struct expr_node *n = &g->node[condition];
    if (n->op == EXPR_AND) {
        add_all(g, mask, count, n->arg[0], columns);
        add_all(g, mask, count, n->arg[1], columns);
    } else {
        add(mask, count, condition, columns);
    }
}

int derive_choices(struct derive *d, int loop, struct derive_mask *mask, bool *idle, int *status)
{
    const struct work *w = &d->work;
    const struct expr_graph *g = &w->graph;
    size_t count = (size_t)g->count + 1;
    int found = 0, end = w->program->op[loop].end;
    struct idle x = {.d = d, .loop = loop};
    bool *reached = plan_alloc(w->l->plan, sizeof *reached * count);
    x.memo = plan_alloc(w->l->plan, sizeof *x.memo * count);
    x.above = plan_alloc(w->l->plan, sizeof *x.above * count);
    if (!reached || !x.memo || !x.above) {
        *status = 3;
        return 0;
    }
    for (int u = 0; u < d->use_count; u++) {
        int op = d->use[u].op;
        const struct program_op *o = &w->program->op[op];
        if (op <= loop || op > end || w->op[op].parent != loop)
            continue;
        bool taken = o->kind == PROGRAM_REDUCE || (o->kind == PROGRAM_DOT && d->use[u].root == w->op[op].arg[0]);
        int columns = taken ? o->arg[0].columns : o->tile.columns;
        memset(reached, 0, sizeof *reached * count);
        reached[d->use[u].root] = true;
        for (int node = d->use[u].root; node >= 0; node--) {
            const struct expr_node *n = &g->node[node];
            for (int a = 0; a < 3 && reached[node]; a++)
                if (n->arg[a] >= 0)
                    reached[n->arg[a]] = true;
            if (reached[node] && n->op == EXPR_SELECT && columns > 0)
                add_all(g, mask, &found, n->arg[0], columns);
        }
    }
    for (int i = 0; i < found; i++)
        idle[i] = is_idle(&x, mask[i].condition);
    return found;
}

/* The same of those that begin or end with the loop's turns. */
static int masks_of(struct derive *d, int loop, struct derive_mask *mask, bool *idle, int *status)
{
    const int found = derive_choices(d, loop, mask, idle, status);
    for (int i = 0; i < found; i++)
        idle[i] = idle[i] && (derive_falls(d, loop, mask[i].condition) || derive_climbs(d, loop, mask[i].condition));
    return found;
}

int derive_masks(struct derive *d, int loop, struct derive_mask *mask, int *status)
{
    bool idle[DERIVE_MAX_MASKS] = {false};
    int found = masks_of(d, loop, mask, idle, status), kept = 0;
    for (int i = 0; i < found; i++)
        if (idle[i])
            mask[kept++] = mask[i];
    return kept;
}

/* The node differs between items whose blocks are one cluster. */
static bool differs_in_cluster(const struct plan *p, int node)
{
    const struct expr_node *n = &p->fused.node[node];
    char name[80];
    if (n->op == EXPR_AT) {
        snprintf(name, sizeof name, "cluster.%s", p->axis[n->integer]);
        for (int i = 0; i < p->value_count; i++)
            if (strcmp(p->value[i].name, name) == 0)
                return p->value[i].integer > 1;
    }
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && differs_in_cluster(p, n->arg[i]))
            return true;
    return false;
}

bool derive_one_masked(struct derive *d, int loop, int *status)
{
    struct derive_mask mask[DERIVE_MAX_MASKS];
    bool idle[DERIVE_MAX_MASKS] = {false}, one = d->work.l->listed != plan_some(loop);
    int found = masks_of(d, loop, mask, idle, status);
    for (int i = 0; i < found && one && !*status; i++)
        one = d->inside[mask[i].condition] ? derive_partly(d, loop, &mask[i], idle[i]) <= 1 : one;
    return one && found < DERIVE_MAX_MASKS && !*status;
}

/* Of all masks together; `skipped`: the turns from the first on that they leave out, else behind which all are. */
static int turns_of_masks(struct derive *d, int loop, bool skipped, int *turns)
{
    struct derive_mask mask[DERIVE_MAX_MASKS];
    struct expr_graph *g = &d->work.l->plan->fused;
    int status = 0, count = derive_masks(d, loop, mask, &status);
    *turns = 0;
    for (int i = 0; i < count && !status; i++) {
        int own = skipped ? derive_turns_before(d, loop, &mask[i], false, &status)
                          : derive_turns_where(d, loop, &mask[i], true, &status);
        enum expr_op both = skipped ? EXPR_MAX : EXPR_MIN;
        /* Blocks of a cluster wait for each other's tiles, and make the same turns. */
        if (own && !status && !differs_in_cluster(d->work.l->plan, plan_number(own)))
            *turns = *turns ? plan_some(expr_binary(g, both, plan_number(*turns), plan_number(own))) : own;
    }
    return status;
}

int derive_turns_possible(struct derive *d, int loop, int *turns)
{
    return turns_of_masks(d, loop, false, turns);
}

int derive_turns_skipped(struct derive *d, int loop, int *turns)
{
    return turns_of_masks(d, loop, true, turns);
}

bool derive_masks_grow(struct derive *d, int loop, int axis, int *status)
{
    struct derive_mask mask[DERIVE_MAX_MASKS];
    int count = derive_masks(d, loop, mask, status);
    bool grows = false;
    for (int i = 0; i < count; i++) {
        int64_t by = derive_along(d, mask[i].condition, axis);
        if (by < 0 && derive_climbs(d, loop, mask[i].condition))
            return false;
        grows = grows || by > 0;
    }
    return grows;
}
