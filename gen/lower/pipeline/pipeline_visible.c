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

/* The first dot of the loop that makes a tile of the item's rows and so many columns; NULL. */
static const struct program_tile *tile_of(const struct pipeline *x, int loop, int columns)
{
    const struct program *p = x->program;
    for (int i = loop; i < p->op[loop].end; i++)
        if (p->op[i].kind == PROGRAM_DOT && p->op[i].tile.rows == x->d.rows && p->op[i].tile.columns == columns)
            return &p->op[i].tile;
    return NULL;
}

static bool is_innermost(const struct program *p, int loop)
{
    bool innermost = true;
    for (int i = loop + 1; i < p->op[loop].end; i++)
        innermost = innermost && p->op[i].kind != PROGRAM_LOOP;
    return innermost;
}

/* The mask of those conditions that are known, in `v`; -1: none is. 0 or 3. */
static int find_mask(struct pipeline *x, struct derive *d, int loop, struct plan_visible_loop *v)
{
    struct expr_graph *g = &x->plan->visible->graph;
    struct derive_mask mask[DERIVE_MAX_MASKS];
    bool idle[DERIVE_MAX_MASKS];
    int status = 0;
    const int found = derive_choices(d, loop, mask, idle, &status);
    v->mask = -1;
    v->columns = 0;
    for (int i = 0; i < found && !status; i++) {
        const int node = mask[i].condition;
        if (!idle[i] || !pipeline_is_of_loop(&d->work.graph, node, loop) ||
            pipeline_holds(&d->work.graph, node, EXPR_TILE))
            continue;
        v->columns = mask[i].columns;
        const int one = copied(x, &d->work.graph, node);
        v->mask = v->mask < 0 ? one : expr_binary(g, EXPR_AND, v->mask, one);
        status = one < 0 || v->mask < 0 ? 3 : 0;
    }
    return status;
}

static int add(struct pipeline *x, struct derive *d, int loop)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->visible->graph;
    const struct program_op *o = &x->program->op[loop];
    const struct expr_node all = {.op = EXPR_CONST_INT, .type = EXPR_PRED, .arg = {-1, -1, -1}, .integer = 1};
    struct plan_visible_loop v = {.loop = x->d.loop[loop], .rows = x->d.rows};
    if (find_mask(x, d, loop, &v))
        return 3;
    const struct program_tile *tile = v.mask < 0 ? NULL : tile_of(x, loop, v.columns);
    if (!tile)
        return 0;
    v.inside = expr_add(g, &all);
    for (int i = 0; i < 2; i++) {
        const int valid = i ? tile->valid_column : tile->valid_row;
        if (valid >= 0)
            v.inside = expr_binary(g, EXPR_AND, v.inside, copied(x, x->program->graph, valid));
    }
    v.from = expr_import(&p->graph, x->program->graph, o->from);
    v.to = expr_import(&p->graph, x->program->graph, o->to);
    v.mask = v.inside < 0 ? -1 : expr_binary(g, EXPR_AND, v.inside, v.mask);
    v.flops = program_loop_flops(x->program, p, loop);
    if (v.mask < 0 || v.from < 0 || v.to < 0)
        return 3;
    if (v.flops >= 0)
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
    for (int i = 0; i < x->program->op_count && !status && p->visible->count < PLAN_VISIBLE_LOOPS; i++)
        if (x->program->op[i].kind == PROGRAM_LOOP && pipeline_is_counted(x->program, &x->program->op[i]) &&
            is_innermost(x->program, i))
            status = add(x, x->plain ? x->plain : &x->d, i);
    if (!p->visible->count) {
        expr_free(&p->visible->graph);
        p->visible = NULL;
    }
    return status;
}
