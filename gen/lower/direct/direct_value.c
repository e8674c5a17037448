/* Expressions of the program in leaves of the Plan: TILE is a place, LOOP a loop of the Plan, INDEX what the tile in
 * hand says. Equal expressions have equal nodes, so that two loads are the same where their coordinates are. */
#include "lower/direct/direct.h"

#include <math.h>

static int import(struct direct *d, int node);

/* A leaf of the Plan. */
static int leaf(struct direct *d, enum expr_op op, enum expr_type type, int64_t integer)
{
    return expr_leaf(&d->plan->fused, op, type, integer);
}

/* Whether the step's threads find the tile's element at their own row and column in the place. */
static bool fits(const struct direct *d, const struct program_op *op, const struct plan_place *place)
{
    int rows = d->swapped ? op->tile.columns : op->tile.rows, cols = d->swapped ? op->tile.rows : op->tile.columns;
    struct direct_shape held = direct_held(d, rows, cols);
    if (place->rows != held.rows || place->cols != held.cols)
        return false;
    if (d->layout < 0 || (rows == 1 && cols == 1) || plan_number(place->layout) == d->layout)
        return true;
    const struct plan_layout *a = &d->plan->layout[plan_number(place->layout)], *b = &d->plan->layout[d->layout];
    return a->down == b->down && a->across == b->across;
}

/* The element of what an operation gave. A transposed vector is its operand with rows for columns. */
static int tile_of(struct direct *d, const struct expr_node *n)
{
    int number = (int)n->integer;
    const struct program_op *op = &d->program->op[number];
    if (op->kind == PROGRAM_STAGE)
        return import(d, op->arg[0].node);
    if (op->kind != PROGRAM_TRANSPOSE || !d->op[number].vector) {
        int place = plan_number(d->op[number].place);
        if (place < 0 || !fits(d, op, &d->plan->place[place]))
            d->misfit = d->misfit ? d->misfit : plan_some(number);
        return leaf(d, EXPR_TILE, n->type, place < 0 ? 0 : place);
    }
    struct direct inner = *d;
    inner.swapped = !d->swapped;
    inner.tile = &op->arg[0];
    size_t bytes = sizeof *inner.memo * ((size_t)d->program->graph->count + 1);
    inner.memo = plan_alloc(d->plan, bytes);
    inner.stamp = plan_alloc(d->plan, bytes);
    inner.stamps = 1;
    int made = inner.memo && inner.stamp ? import(&inner, op->arg[0].node) : -1;
    d->misfit = inner.misfit;
    return made;
}

static int import_tensor(struct direct *d, const struct expr_node *n)
{
    int at[SPEC_MAX_RANK];
    for (int i = 0; i < n->rank; i++)
        if ((at[i] = import(d, d->program->graph->index[n->first_index + i])) < 0)
            return -1;
    return expr_tensor(&d->plan->fused, (int)n->integer, n->type, n->rank, at);
}

/* The variable of a loop: its coordinate, or the list's entry there. */
static int import_loop(struct direct *d, const struct expr_node *n)
{
    const struct program_op *loop = &d->program->op[n->integer];
    int at[SPEC_MAX_RANK], ahead = d->op[n->integer].ahead;
    int variable = ahead ? plan_number(ahead) : leaf(d, EXPR_LOOP, EXPR_INT, plan_number(d->op[n->integer].loop));
    if (loop->list < 0 || variable < 0)
        return variable;
    int last = d->plan->tensor[loop->list].rank - 1;
    for (int i = 0; i < last; i++)
        if ((at[i] = import(d, loop->at[i].start)) < 0)
            return -1;
    at[last] = variable;
    return expr_tensor(&d->plan->fused, loop->list, EXPR_INT, last + 1, at);
}

/* Whether a row's elements have different values of it. */
static bool varies(const struct direct *d, int node)
{
    const struct expr_graph *g = d->program->graph;
    const struct expr_node *n = &g->node[node];
    bool varies_ = n->op == EXPR_COLUMN || n->op == EXPR_INDEX || (d->swapped && n->op == EXPR_ROW) ||
                   (n->op == EXPR_TILE && d->program->op[n->integer].tile.columns > 1);
    for (int i = 0; i < 3 && !varies_; i++)
        varies_ = n->arg[i] >= 0 && varies(d, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !varies_; i++)
        varies_ = varies(d, g->index[n->first_index + i]);
    return varies_;
}

/* What is the same along a row is computed once for the row: the reciprocal of a divisor (two roundings in place of
 * one, within the 2 ulp of a division), and which exponent to subtract. -2: as it stands. */
static int import_by_row(struct direct *d, const struct expr_node *n)
{
    struct expr_graph *g = &d->plan->fused;
    bool either = n->op == EXPR_DIV || n->op == EXPR_EXP2_DIFF;
    if (!either || !varies(d, n->arg[0]) || varies(d, n->arg[1]))
        return -2;
    int a = import(d, n->arg[0]), b = a < 0 ? -1 : import(d, n->arg[1]);
    if (b < 0)
        return -1;
    if (n->op == EXPR_DIV) {
        int one = expr_real(g, 1.0), part = one < 0 ? -1 : expr_binary(g, EXPR_DIV, one, b);
        return part < 0 ? -1 : expr_binary(g, EXPR_MUL, a, part);
    }
    int none = expr_real(g, -(double)INFINITY), zero = expr_real(g, 0.0);
    int is_none = none < 0 || zero < 0 ? -1 : expr_binary(g, EXPR_EQ, b, none);
    int least = is_none < 0 ? -1 : expr_select(g, is_none, zero, b);
    int difference = least < 0 ? -1 : expr_binary(g, EXPR_SUB, a, least);
    return difference < 0 ? -1 : expr_unary(g, EXPR_EXP2, difference);
}

static int import_new(struct direct *d, const struct expr_node *n)
{
    enum expr_op other = n->op == EXPR_ROW ? EXPR_COLUMN : EXPR_ROW;
    struct expr_node copy = *n;
    int by_row;
    switch (n->op) {
    case EXPR_ROW:
    case EXPR_COLUMN:
        return leaf(d, d->swapped ? other : n->op, n->type, 0);
    case EXPR_LOOP:
        return import_loop(d, n);
    case EXPR_INDEX:
        return d->tile && d->tile->index[n->integer] >= 0 ? import(d, d->tile->index[n->integer]) : -1;
    case EXPR_TILE:
        return tile_of(d, n);
    case EXPR_TENSOR:
        return import_tensor(d, n);
    default:
        if ((by_row = import_by_row(d, n)) != -2)
            return by_row;
        for (int i = 0; i < 3; i++)
            if (n->arg[i] >= 0 && (copy.arg[i] = import(d, n->arg[i])) < 0)
                return -1;
        return expr_add(&d->plan->fused, &copy);
    }
}

/* The place that has the value already, for the threads in hand; 0: none. */
static int operand_of(const struct direct *d, int node)
{
    for (int i = 0; i < d->operand_count && !d->swapped; i++)
        if (d->operand[i].node == node &&
            plan_number(d->plan->place[plan_number(d->operand[i].place)].layout) == d->layout)
            return d->operand[i].place;
    return 0;
}

static int import(struct direct *d, int node)
{
    if (node < 0)
        return -1;
    if (d->stamp[node] == d->stamps)
        return d->memo[node];
    int place = operand_of(d, node);
    int made = place ? leaf(d, EXPR_TILE, EXPR_INT, plan_number(place)) : import_new(d, &d->program->graph->node[node]);
    d->stamp[node] = d->stamps;
    d->memo[node] = made;
    return made;
}

int direct_value(struct direct *d, int node)
{
    d->stamps++;
    return import(d, node);
}

/* ---- rows and columns apart from the rest ------------------------------------------------------------------------ */

static bool depends(const struct expr_graph *g, int node, enum expr_op op)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == op)
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && depends(g, n->arg[i], op))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (depends(g, g->index[n->first_index + i], op))
            return true;
    return false;
}

/* node - leaf, where node is a sum that has the leaf once; -1 where it is none, or out of memory. */
static int without(struct expr_graph *g, int node, enum expr_op op)
{
    const struct expr_node n = g->node[node];
    if (n.op == op)
        return expr_int(g, 0);
    if (n.op != EXPR_ADD && n.op != EXPR_SUB)
        return -1;
    bool left = depends(g, n.arg[0], op), right = depends(g, n.arg[1], op);
    if (left == right || (right && n.op == EXPR_SUB))
        return -1;
    int rest = without(g, n.arg[left ? 0 : 1], op), other = n.arg[left ? 1 : 0];
    return rest < 0 ? -1 : expr_binary(g, n.op, rest, other);
}

int direct_last(struct direct *d, int made)
{
    struct expr_graph *g = &d->plan->fused;
    for (enum expr_op op = EXPR_ROW; made >= 0 && op <= EXPR_COLUMN; op++) {
        int rest = depends(g, made, op) ? without(g, made, op) : -1;
        if (rest >= 0 && !depends(g, rest, EXPR_ROW) && !depends(g, rest, EXPR_COLUMN)) {
            int last = leaf(d, op, EXPR_INT, 0);
            made = last < 0 ? -1 : expr_binary(g, EXPR_ADD, rest, last);
        }
    }
    return made;
}

/* leaf + rest < bound as leaf < bound - rest: the same for all threads, and within the range of sizes. */
static int compare(struct direct *d, const struct expr_node *n, enum expr_op op)
{
    struct expr_graph *g = &d->plan->fused;
    int rest = without(g, n->arg[0], op), bound = rest < 0 ? -1 : expr_binary(g, EXPR_SUB, n->arg[1], rest);
    int last = bound < 0 ? -1 : leaf(d, op, EXPR_INT, 0);
    return last < 0 ? -1 : expr_binary(g, n->op, last, bound);
}

static int tidy(struct direct *d, int node)
{
    struct expr_graph *g = &d->plan->fused;
    const struct expr_node n = g->node[node];
    if (n.op == EXPR_AND) {
        int a = tidy(d, n.arg[0]), b = a < 0 ? -1 : tidy(d, n.arg[1]);
        return b < 0 ? -1 : expr_binary(g, EXPR_AND, a, b);
    }
    if (n.op != EXPR_LT && n.op != EXPR_LE && n.op != EXPR_GT && n.op != EXPR_GE)
        return node;
    for (enum expr_op op = EXPR_ROW; op <= EXPR_COLUMN; op++) {
        enum expr_op other = op == EXPR_ROW ? EXPR_COLUMN : EXPR_ROW;
        bool integers = g->node[n.arg[0]].type == EXPR_INT && g->node[n.arg[1]].type == EXPR_INT;
        if (!integers || !depends(g, n.arg[0], op) || depends(g, n.arg[1], op) || depends(g, n.arg[1], other) ||
            depends(g, n.arg[0], other))
            continue;
        int made = compare(d, &n, op);
        return made >= 0 ? made : node;
    }
    return node;
}

int direct_condition(struct direct *d, int node)
{
    int made = direct_value(d, node);
    return made < 0 ? made : tidy(d, made);
}

bool direct_reads(const struct direct *d, int made, enum expr_op op, int64_t which)
{
    const struct expr_graph *g = &d->plan->fused;
    const struct expr_node *n = &g->node[made];
    if (n->op == op && n->integer == which)
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && direct_reads(d, n->arg[i], op, which))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (direct_reads(d, g->index[n->first_index + i], op, which))
            return true;
    return false;
}

/* ---- conditions as bounds ---------------------------------------------------------------------------------------- */

static int both_of(struct expr_graph *g, enum expr_op op, int a, int b)
{
    return a < 0 ? b : expr_binary(g, op, a, b);
}

/* 0, or 3 out of memory. */
static int take_condition(struct direct *d, int node, struct direct_bounds *b)
{
    struct expr_graph *g = &d->plan->fused;
    const struct expr_node n = g->node[node];
    if (n.op == EXPR_AND) {
        int status = take_condition(d, n.arg[0], b);
        return status ? status : take_condition(d, n.arg[1], b);
    }
    bool below = n.op == EXPR_LT || n.op == EXPR_LE, above = n.op == EXPR_GE || n.op == EXPR_GT;
    enum expr_op of = below || above ? g->node[n.arg[0]].op : EXPR_ADD;
    int *at = of == EXPR_COLUMN ? (below ? &b->column_end : &b->column_first)
              : of == EXPR_ROW  ? (below ? &b->row_end : &b->row_first)
                                : NULL;
    if (!at) {
        b->other = both_of(g, EXPR_AND, b->other, node);
        return b->other < 0 ? 3 : 0;
    }
    bool next = n.op == EXPR_LE || n.op == EXPR_GT; /* of integers */
    int bound = next ? expr_binary(g, EXPR_ADD, n.arg[1], expr_int(g, 1)) : n.arg[1];
    *at = bound < 0 ? -1 : both_of(g, below ? EXPR_MIN : EXPR_MAX, *at, bound);
    return *at < 0 ? 3 : 0;
}

int direct_bounds(struct direct *d, int made, struct direct_bounds *bounds)
{
    *bounds = (struct direct_bounds){-1, -1, -1, -1, -1};
    return made < 0 ? 0 : take_condition(d, made, bounds);
}

int direct_within(struct direct *d, const struct direct_bounds *b)
{
    struct expr_graph *g = &d->plan->fused;
    const struct {
        enum expr_op leaf, op;
        int bound;
    } part[] = {{EXPR_ROW, EXPR_GE, b->row_first},
                {EXPR_ROW, EXPR_LT, b->row_end},
                {EXPR_COLUMN, EXPR_GE, b->column_first},
                {EXPR_COLUMN, EXPR_LT, b->column_end}};
    int both = b->other;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i].bound < 0)
            continue;
        int at = leaf(d, part[i].leaf, EXPR_INT, 0);
        int holds = at < 0 ? -1 : expr_binary(g, part[i].op, at, part[i].bound);
        both = holds < 0 ? -1 : both_of(g, EXPR_AND, both, holds);
        if (both < 0)
            return -2;
    }
    return both;
}

/* ---- what is zero outside of the tensors ------------------------------------------------------------------------- */

bool direct_zero_outside(const struct direct *d, int node, const struct program_tile *tile)
{
    const struct expr_graph *g = d->program->graph;
    const struct expr_node *n = &g->node[node];
    switch (n->op) {
    case EXPR_TILE: {
        const struct program_op *o = &d->program->op[n->integer];
        bool own = !d->op[n->integer].shift && !d->op[n->integer].beside;
        return o->kind == PROGRAM_LOAD && own && o->tile.rows == tile->rows && o->tile.columns == tile->columns &&
               (tile->valid_row < 0 || o->tile.valid_row == tile->valid_row) &&
               (tile->valid_column < 0 || o->tile.valid_column == tile->valid_column);
    }
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL: /* of two zeros: 0 times infinity is none */
        return direct_zero_outside(d, n->arg[0], tile) && direct_zero_outside(d, n->arg[1], tile);
    case EXPR_NEG:
    case EXPR_ABS:
    case EXPR_CAST:
        return direct_zero_outside(d, n->arg[0], tile);
    default:
        return false;
    }
}
