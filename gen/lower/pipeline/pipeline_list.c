/* Loops by a list (plan/list.h): of which turns a mask that reads tensors lets anything in, a kernel of its own finds.
 *
 * A loop goes by a list where one of its masks, without which a turn changes nothing, reads a tensor element by
 * element: the derivation's arithmetic of the program as written says which masks these are. It is then derived once
 * more, with the list's numbers in the place of the loop's variable and of its range.
 *
 * Whether a mask lets anything into a turn is interval arithmetic over the turn's tile: rows, columns and elements of
 * tensors lie between their least and their largest. A condition becomes two, that it may hold for some element and
 * that it holds for all. What has no interval may be anything.
 */
#include "lower/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "lower/derive/derive_turns.h"
#include "lower/family.h"

enum { MOST_FACTOR = 1 << 20 /* of sums of elements, so that they stay within 64 bits */ };

/* ---- which loop -------------------------------------------------------------------------------------------------- */

static bool is_of_sizes(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool sizes = n->type == EXPR_INT && n->op != EXPR_TENSOR && n->op != EXPR_SCALAR &&
                 (expr_ops[n->op].arity > 0 || n->op == EXPR_SYMBOL || n->op == EXPR_CONST_INT);
    for (int i = 0; i < 3 && sizes; i++)
        sizes = n->arg[i] < 0 || is_of_sizes(g, n->arg[i]);
    return sizes;
}

bool pipeline_holds(const struct expr_graph *g, int node, enum expr_op op)
{
    const struct expr_node *n = &g->node[node];
    bool found = n->op == op;
    for (int i = 0; i < 3 && !found; i++)
        found = n->arg[i] >= 0 && pipeline_holds(g, n->arg[i], op);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !found; i++)
        found = pipeline_holds(g, g->index[n->first_index + i], op);
    return found;
}

/* Elements whose least and largest number fit 32 bits. */
static bool is_counted(const struct plan *p, const struct expr_node *n)
{
    const enum tw_dtype dtype = p->tensor[n->integer].dtype;
    return n->type == EXPR_INT && (dtype == TW_INT32 || tw_dtype_bytes(dtype) < 4);
}

bool pipeline_is_of_loop(const struct expr_graph *g, int node, int loop)
{
    const struct expr_node *n = &g->node[node];
    bool own = n->op != EXPR_LOOP || n->integer == loop;
    for (int i = 0; i < 3 && own; i++)
        own = n->arg[i] < 0 || pipeline_is_of_loop(g, n->arg[i], loop);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && own; i++)
        own = pipeline_is_of_loop(g, g->index[n->first_index + i], loop);
    return own;
}

/* The condition asks elements of tensors, which differ within a turn's tile. */
static bool reads_elements(struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    bool reads = n->op == EXPR_TENSOR && is_counted(w->l->plan, n) && work_scope(w, node) != WORK_UNIFORM;
    for (int i = 0; i < 3 && !reads; i++)
        reads = w->graph.node[node].arg[i] >= 0 && reads_elements(w, w->graph.node[node].arg[i]);
    return reads;
}

static bool may_go_by_list(const struct program *p, const struct program_op *o)
{
    return o->kind == PROGRAM_LOOP && o->list < 0 && is_of_sizes(p->graph, o->from) && is_of_sizes(p->graph, o->to);
}

/* A dot of the loop takes rows of a tile that is there: a turn brings nothing, and is shorter than what finds it. */
static bool takes_slices(const struct derive *d, int loop)
{
    for (int i = loop; i < d->work.program->op[loop].end; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT && d->dot[i].slice)
            return true;
    return false;
}

/* The loop; -1: none goes by a list. */
static int find_loop(struct derive *d, int *status)
{
    const struct program *p = d->work.program;
    for (int a = 0; a < p->axis_count; a++)
        if (p->axis[a].cluster > 1 || p->axis[a].share) /* blocks of a cluster make the same turns */
            return -1;
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].parts || p->op[i].stream) /* the workspace is their sums' */
            return -1;
    for (int i = 0; i < p->op_count && !*status; i++) {
        struct derive_mask mask[DERIVE_MAX_MASKS];
        bool idle[DERIVE_MAX_MASKS];
        if (!may_go_by_list(p, &p->op[i]) || takes_slices(d, i))
            continue;
        const int found = derive_choices(d, i, mask, idle, status);
        bool own = true, reads = false;
        for (int m = 0; m < found && !*status; m++) {
            own = own && pipeline_is_of_loop(&d->work.graph, mask[m].condition, i);
            reads = reads || (idle[m] && reads_elements(&d->work, mask[m].condition));
        }
        if (own && reads)
            return i;
    }
    return -1;
}

/* Axes whose places the loop's masks ask for, as bits. */
static unsigned axes_of(struct derive *d, int loop, int *status)
{
    const struct expr_graph *g = &d->work.graph;
    struct derive_mask mask[DERIVE_MAX_MASKS];
    bool idle[DERIVE_MAX_MASKS];
    unsigned axes = 0;
    const int found = derive_choices(d, loop, mask, idle, status);
    bool *needed = plan_alloc(d->work.l->plan, (size_t)g->count + 1);
    if (!needed)
        *status = 3;
    for (int i = 0; i < found && !*status; i++)
        needed[mask[i].condition] = true;
    for (int i = g->count - 1; i >= 0 && !*status; i--) {
        const struct expr_node *n = &g->node[i];
        if (!needed[i])
            continue;
        if (n->op == EXPR_AT)
            axes |= 1u << n->integer;
        for (int a = 0; a < 3; a++)
            if (n->arg[a] >= 0)
                needed[n->arg[a]] = true;
        for (int a = 0; n->op == EXPR_TENSOR && a < n->rank; a++)
            needed[g->index[n->first_index + a]] = true;
    }
    return axes;
}

int pipeline_open(struct pipeline *x)
{
    int status = derive_open(&x->d, x->l);
    const int loop = status ? -1 : find_loop(&x->d, &status);
    if (status || loop < 0)
        return status;
    struct derive *plain = plan_alloc(x->plan, sizeof *plain);
    if (!plain)
        return 3;
    x->own = *x->l;
    x->own.listed = plan_some(loop);
    x->own.list_axes = axes_of(&x->d, loop, &status);
    if (status)
        return status;
    *plain = x->d;
    x->plain = plain;
    x->l = &x->own;
    status = derive_open(&x->d, x->l);
    const char *name = x->program->op[loop].name;
    return status ? status
                  : family_reason(x->plan, plan_text(x->plan, "turns.%s", name ? name : "loop"), "listed", "%s",
                                  "masks read tensors: a small kernel finds the turns into which they let anything");
}

void pipeline_close(struct pipeline *x)
{
    derive_close(&x->d);
    if (x->plain)
        derive_close(x->plain);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

struct lister {
    struct pipeline *x;
    struct work *w;       /* of the program as written */
    struct expr_graph *g; /* plan.fused */
    struct plan_list *list;
    int columns; /* of the mask's tile; its rows are the item's */
};

struct interval {
    int least, most; /* nodes */
};

struct truth {
    int possible, certain; /* nodes */
};

/* The node in plan.fused; along: columns count as rows do. */
static int copied(struct lister *s, int node, bool along)
{
    struct expr_node n = s->w->graph.node[node];
    if (n.op == EXPR_LOOP)
        return expr_leaf(s->g, EXPR_LOOP, EXPR_INT, s->x->d.loop[n.integer]);
    if (n.op == EXPR_COLUMN && along)
        return expr_leaf(s->g, EXPR_ROW, EXPR_INT, 0);
    if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        for (int d = 0; d < n.rank; d++)
            index[d] = copied(s, s->w->graph.index[n.first_index + d], along);
        return expr_tensor(s->g, (int)n.integer, n.type, n.rank, index);
    }
    for (int i = 0; i < 3; i++)
        n.arg[i] = n.arg[i] < 0 ? -1 : copied(s, n.arg[i], along);
    return expr_add(s->g, &n);
}

static int truth_value(struct lister *s, bool value)
{
    const struct expr_node n = {.op = EXPR_CONST_INT, .type = EXPR_PRED, .arg = {-1, -1, -1}, .integer = value};
    return expr_add(s->g, &n);
}

/* The place of every index within the tensor. */
static int inside_of(struct lister *s, int element)
{
    struct plan *p = s->x->plan;
    const struct expr_node n = s->g->node[element];
    int inside = -1;
    for (int d = 0; d < n.rank; d++) {
        const int at = s->g->index[n.first_index + d];
        const int end = expr_import(s->g, &p->graph, p->tensor[n.integer].dim[d]);
        const int from = expr_binary(s->g, EXPR_GE, at, expr_int(s->g, 0)), to = expr_binary(s->g, EXPR_LT, at, end);
        const int both = expr_binary(s->g, EXPR_AND, from, to);
        inside = inside < 0 ? both : expr_binary(s->g, EXPR_AND, inside, both);
    }
    return inside;
}

/* The condition that a row of the item's tiles lies inside of the tensors, in plan.fused; -1: all do, or it is not
 * known. */
static int rows_inside(struct lister *s)
{
    const struct program *p = s->x->program;
    const int loop = plan_number(s->x->l->listed);
    for (int i = loop; i < p->op[loop].end; i++) {
        const struct program_tile *t = &p->op[i].tile;
        if (p->op[i].kind == PROGRAM_DOT && t->rows == s->x->d.rows && t->valid_row >= 0 &&
            !pipeline_holds(p->graph, t->valid_row, EXPR_LOOP) && !pipeline_holds(p->graph, t->valid_row, EXPR_TILE))
            return expr_import(s->g, p->graph, t->valid_row);
    }
    return -1;
}

/* Elements along rows or along columns, of which the list's kernel finds the least and the largest. */
static bool elements(struct lister *s, int node, struct interval *of)
{
    const int scope = work_scope(s->w, node);
    struct plan_list *l = s->list;
    if (!is_counted(s->x->plan, &s->w->graph.node[node]) || scope == (WORK_ROW | WORK_COLUMN))
        return false;
    const int element = copied(s, node, true), count = scope == WORK_ROW ? s->x->d.rows : s->columns;
    int r = 0;
    while (r < l->read_count && (l->read[r].element != element || l->read[r].count != count))
        r++;
    if (element < 0 || r == PLAN_LIST_READS)
        return false;
    if (r == l->read_count) {
        const int rows = scope == WORK_ROW ? rows_inside(s) : -1, inside = inside_of(s, element);
        l->read[l->read_count++] =
            (struct plan_list_read){.element = element,
                                    .inside = rows < 0 ? inside : expr_binary(s->g, EXPR_AND, inside, rows),
                                    .count = count,
                                    .by_turn = pipeline_holds(&s->w->graph, node, EXPR_LOOP)};
    }
    *of = (struct interval){expr_leaf(s->g, EXPR_BOUND, EXPR_INT, 2 * r),
                            expr_leaf(s->g, EXPR_BOUND, EXPR_INT, 2 * r + 1)};
    return true;
}

static bool interval(struct lister *s, int node, struct interval *of);

/* By a constant: products, quotients. */
static bool scaled(struct lister *s, const struct expr_node *n, struct interval a, struct interval *of)
{
    int64_t by;
    if (!expr_is_int(&s->w->graph, n->arg[1], &by) || by > MOST_FACTOR || by < -MOST_FACTOR ||
        (n->op == EXPR_FLOORDIV && by < 1))
        return false;
    const int least = expr_binary(s->g, n->op, a.least, expr_int(s->g, by));
    const int most = expr_binary(s->g, n->op, a.most, expr_int(s->g, by));
    *of = by < 0 ? (struct interval){most, least} : (struct interval){least, most};
    return true;
}

static bool of_two(struct lister *s, const struct expr_node *n, struct interval *of)
{
    struct interval a, b;
    if (!interval(s, n->arg[0], &a))
        return false;
    if (n->op == EXPR_MUL || n->op == EXPR_FLOORDIV)
        return scaled(s, n, a, of);
    if (!interval(s, n->arg[1], &b))
        return false;
    const bool less = n->op == EXPR_SUB;
    *of = (struct interval){expr_binary(s->g, n->op, a.least, less ? b.most : b.least),
                            expr_binary(s->g, n->op, a.most, less ? b.least : b.most)};
    return true;
}

static bool interval(struct lister *s, int node, struct interval *of)
{
    const struct expr_node n = s->w->graph.node[node];
    if (n.type != EXPR_INT || pipeline_holds(&s->w->graph, node, EXPR_TILE))
        return false;
    if (work_scope(s->w, node) == WORK_UNIFORM) {
        of->least = of->most = copied(s, node, false);
        return true;
    }
    switch (n.op) {
    case EXPR_ROW:
    case EXPR_COLUMN:
        *of = (struct interval){expr_int(s->g, 0), expr_int(s->g, (n.op == EXPR_ROW ? s->x->d.rows : s->columns) - 1)};
        return true;
    case EXPR_TENSOR:
        return elements(s, node, of);
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MIN:
    case EXPR_MAX:
    case EXPR_MUL:
    case EXPR_FLOORDIV:
        return of_two(s, &n, of);
    default:
        return false;
    }
}

/* Of a comparison of intervals. */
static struct truth compared(struct lister *s, enum expr_op op, struct interval a, struct interval b)
{
    struct expr_graph *g = s->g;
    struct truth equal;
    switch (op) {
    case EXPR_LT:
    case EXPR_LE:
        return (struct truth){expr_binary(g, op, a.least, b.most), expr_binary(g, op, a.most, b.least)};
    case EXPR_GT:
    case EXPR_GE:
        return (struct truth){expr_binary(g, op, a.most, b.least), expr_binary(g, op, a.least, b.most)};
    default:
        equal.possible = expr_binary(g, EXPR_AND, expr_binary(g, EXPR_LE, a.least, b.most),
                                     expr_binary(g, EXPR_LE, b.least, a.most));
        equal.certain = expr_binary(g, EXPR_AND, expr_binary(g, EXPR_EQ, a.least, b.most),
                                    expr_binary(g, EXPR_EQ, a.most, b.least));
        if (op == EXPR_EQ)
            return equal;
        return (struct truth){expr_unary(g, EXPR_NOT, equal.certain), expr_unary(g, EXPR_NOT, equal.possible)};
    }
}

static struct truth truth_of(struct lister *s, int node)
{
    const struct expr_node n = s->w->graph.node[node];
    struct interval a, b;
    struct truth one, other;
    if (n.op == EXPR_AND || n.op == EXPR_OR) {
        one = truth_of(s, n.arg[0]);
        other = truth_of(s, n.arg[1]);
        return (struct truth){expr_binary(s->g, n.op, one.possible, other.possible),
                              expr_binary(s->g, n.op, one.certain, other.certain)};
    }
    if (n.op == EXPR_NOT) {
        one = truth_of(s, n.arg[0]);
        return (struct truth){expr_unary(s->g, EXPR_NOT, one.certain), expr_unary(s->g, EXPR_NOT, one.possible)};
    }
    if (expr_ops[n.op].rule == EXPR_COMPARE && interval(s, n.arg[0], &a) && interval(s, n.arg[1], &b))
        return compared(s, n.op, a, b);
    return (struct truth){truth_value(s, true), truth_value(s, false)};
}

/* ---- the Plan's list --------------------------------------------------------------------------------------------- */

/* What all masks of the loop say of a turn. Where there are more than were looked at, none is known to let in all. */
static int ask_masks(struct lister *s, int loop)
{
    struct derive_mask mask[DERIVE_MAX_MASKS];
    bool idle[DERIVE_MAX_MASKS];
    int status = 0;
    const int found = derive_choices(s->x->plain, loop, mask, idle, &status);
    s->list->possible = truth_value(s, true);
    s->list->certain = truth_value(s, found < DERIVE_MAX_MASKS);
    for (int i = 0; i < found && !status; i++) {
        if (!pipeline_holds(&s->w->graph, mask[i].condition, EXPR_LOOP))
            continue;
        s->columns = mask[i].columns;
        const struct truth t = truth_of(s, mask[i].condition);
        if (idle[i])
            s->list->possible = expr_binary(s->g, EXPR_AND, s->list->possible, t.possible);
        s->list->certain = expr_binary(s->g, EXPR_AND, s->list->certain, t.certain);
        status = s->list->possible < 0 || s->list->certain < 0 ? 3 : 0;
    }
    return status;
}

/* The items whose places a record is for, how many records there are, and how long one is. */
static int records(struct pipeline *x, struct plan_list *l, const struct program_op *loop)
{
    struct plan *p = x->plan;
    const struct expr_graph *from = x->program->graph;
    const int step = expr_import(&p->graph, from, loop->step), first = expr_import(&p->graph, from, loop->from);
    const int span = expr_binary(&p->graph, EXPR_SUB, expr_import(&p->graph, from, loop->to), first);
    const int turns = expr_ceil_div(&p->graph, expr_binary(&p->graph, EXPR_MAX, span, expr_int(&p->graph, 0)), step);
    const int words = expr_binary(&p->graph, EXPR_ADD, turns, expr_int(&p->graph, PLAN_LIST_HEAD + PLAN_LIST_TAIL));
    l->records = expr_int(&p->graph, 1);
    for (int i = 0; i < p->item_count; i++) {
        const struct plan_item *item = &p->item[i];
        if (!(x->l->list_axes >> item->axis & 1))
            continue;
        if (l->item_count == PLAN_LIST_ITEMS)
            return 3;
        l->item[l->item_count++] = i;
        const int extent = expr_import(&p->graph, from, x->program->axis[item->axis].extent);
        const int many = expr_ceil_div(&p->graph, extent, expr_int(&p->graph, item->tile));
        l->records = expr_binary(&p->graph, EXPR_MUL, l->records, many);
    }
    l->from = expr_import(&p->fused, &p->graph, first);
    l->turns = expr_import(&p->fused, &p->graph, turns);
    l->words = expr_import(&p->fused, &p->graph, words);
    const int all = expr_binary(&p->graph, EXPR_MUL, l->records, words);
    p->workspace = plan_some(expr_binary(&p->graph, EXPR_MUL, all, expr_int(&p->graph, 4)));
    p->workspace_bytes = PLAN_LIST_OFFSET; /* its first bytes are counters' */
    return l->from < 0 || l->turns < 0 || l->words < 0 || p->workspace <= 0 ? 3 : 0;
}

int pipeline_list(struct pipeline *x)
{
    struct plan *p = x->plan;
    if (!x->plain)
        return 0;
    const int loop = plan_number(x->l->listed);
    if (x->blocks > 1)
        return program_refuse(x->l, x->program->op[loop].loc, "PROGRAM-LIST",
                              "data decide which turns of this loop an item makes, and the blocks of a cluster make "
                              "the same; write cluster extents of 1");
    p->list = plan_alloc(p, sizeof *p->list);
    if (!p->list)
        return 3;
    struct lister s = {.x = x, .w = &x->plain->work, .g = &p->fused, .list = p->list};
    p->list->loop = x->d.loop[loop];
    int status = records(x, p->list, &x->program->op[loop]);
    return status ? status : ask_masks(&s, loop);
}
