/* Which elements of a loop's tiles its masks let in (plan/visible.h): the conditions without which a turn changes
 * nothing, all together, as far as sizes, places and tensors say them. */
#include "lower/derive/derive_turns.h"
#include "lower/family.h"
#include "lower/pipeline/pipeline.h"
#include "plan/visible.h"

/* The node of the program's graph or of the derivation's, in the Plan's. */
static int copied(struct pipeline *x, const struct expr_graph *from, int node)
{
    struct expr_graph *g = &x->plan->visible->graph;
    struct expr_node n = from->node[node];
    if (n.op == EXPR_LOOP)
        return expr_leaf(g, EXPR_LOOP, EXPR_INT, x->d.loop[n.integer]);
    if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        for (int d = 0; d < n.rank; d++)
            index[d] = copied(x, from, from->index[n.first_index + d]);
        return expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    }
    for (int i = 0; i < 3; i++)
        n.arg[i] = n.arg[i] < 0 ? -1 : copied(x, from, n.arg[i]);
    return expr_add(g, &n);
}

static bool is_dot(const struct pipeline *x, int op)
{
    return x->program->op[op].kind == PROGRAM_DOT;
}

/* Whether the operation makes a tile of the item's rows, and sums along what is the same in each turn. */
static bool makes(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    const int valid = o->arg[0].valid_column;
    return is_dot(x, op) && o->tile.rows == x->d.rows &&
           (valid < 0 || !pipeline_holds(x->program->graph, valid, EXPR_LOOP));
}

/* The tile that the loop's first such dot makes, if all its dots make it or sum along it: operations of them, in
 * *each. NULL: there is none. */
static const struct program_tile *tile_of(const struct pipeline *x, int loop, int64_t *each)
{
    const struct program *p = x->program;
    const struct program_tile *tile = NULL;
    bool fits = true;
    *each = 0;
    for (int i = loop; i < p->op[loop].end; i++) {
        if (!is_dot(x, i))
            continue;
        const struct program_op *o = &p->op[i];
        tile = !tile && makes(x, i) ? &o->tile : tile;
        fits =
            fits && tile && ((makes(x, i) && o->tile.columns == tile->columns) || o->arg[0].columns == tile->columns);
        *each += (int64_t)2 * o->tile.rows * o->tile.columns * o->arg[0].columns;
    }
    return fits ? tile : NULL;
}

static bool is_innermost(const struct program *p, int loop)
{
    bool innermost = true;
    for (int i = loop + 1; i < p->op[loop].end; i++)
        innermost = innermost && p->op[i].kind != PROGRAM_LOOP;
    return innermost;
}

/* Adds those of the loop's masks that are known, of the tile's elements, to what counts. 0 or 3. */
static int add_masks(struct pipeline *x, struct derive *d, int loop, struct plan_visible_loop *v, bool *any)
{
    struct expr_graph *g = &x->plan->visible->graph;
    struct derive_mask mask[DERIVE_MAX_MASKS];
    bool idle[DERIVE_MAX_MASKS];
    int status = 0;
    const int found = derive_choices(d, loop, mask, idle, &status);
    for (int i = 0; i < found && !status; i++) {
        const int node = mask[i].condition;
        if (!idle[i] || mask[i].columns != v->columns || !pipeline_is_of_loop(&d->work.graph, node, loop) ||
            pipeline_holds(&d->work.graph, node, EXPR_TILE))
            continue;
        *any = true;
        v->counts = expr_binary(g, EXPR_AND, v->counts, copied(x, &d->work.graph, node));
        status = v->counts < 0 ? 3 : 0;
    }
    return status;
}

/* The loop's range is the same for a whole item, and asks for no other loop's turn. */
static bool is_known(const struct program *p, const struct program_op *loop)
{
    const int end[2] = {loop->from, loop->to};
    bool known = loop->list < 0;
    for (int i = 0; i < 2 && known; i++)
        known = !pipeline_holds(p->graph, end[i], EXPR_TILE) && !pipeline_holds(p->graph, end[i], EXPR_LOOP);
    return known;
}

/* data_decide: how many operations the whole program has, so that each loop is counted. */
static int add(struct pipeline *x, struct derive *d, int loop, bool data_decide)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->visible->graph;
    const struct program_op *o = &x->program->op[loop];
    const struct expr_node all = {.op = EXPR_CONST_INT, .type = EXPR_PRED, .arg = {-1, -1, -1}, .integer = 1};
    struct plan_visible_loop v = {.loop = x->d.loop[loop], .rows = x->d.rows};
    const struct program_tile *tile = tile_of(x, loop, &v.each);
    bool any = false;
    p->visible->all = p->visible->all && tile;
    if (!tile)
        return 0;
    v.columns = tile->columns;
    v.counts = expr_add(g, &all);
    for (int i = 0; i < 2; i++) {
        const int valid = i ? tile->valid_column : tile->valid_row;
        if (valid >= 0)
            v.counts = expr_binary(g, EXPR_AND, v.counts, copied(x, x->program->graph, valid));
    }
    if (v.counts < 0 || add_masks(x, d, loop, &v, &any))
        return 3;
    v.from = copied(x, x->program->graph, o->from);
    v.to = copied(x, x->program->graph, o->to);
    v.flops = program_loop_flops(x->program, p, loop);
    if (v.from < 0 || v.to < 0)
        return 3;
    if (any || data_decide)
        p->visible->loop[p->visible->count++] = v;
    return 0;
}

int pipeline_visible(struct pipeline *x)
{
    struct plan *p = x->plan;
    int status = 0;
    if (!(p->visible = plan_alloc(p, sizeof *p->visible)))
        return 3;
    p->visible->graph.memory = p->fused.memory;
    p->visible->all = true;
    const bool data_decide = program_flops(x->program, p) < 0;
    for (int i = 0; i < x->program->op_count && !status; i++) {
        const struct program_op *o = &x->program->op[i];
        bool dots = false;
        if (is_dot(x, i) && x->d.work.op[i].parent < 0) /* of no loop: nothing counts it */
            p->visible->all = false;
        for (int k = i; o->kind == PROGRAM_LOOP && k < o->end; k++)
            dots = dots || is_dot(x, k);
        if (!dots || !is_innermost(x->program, i))
            continue;
        if (is_known(x->program, o) && p->visible->count < PLAN_VISIBLE_LOOPS)
            status = add(x, x->plain ? x->plain : &x->d, i, data_decide);
        else
            p->visible->all = false;
    }
    if (!p->visible->count) {
        expr_free(&p->visible->graph);
        p->visible = NULL;
    }
    return status;
}
