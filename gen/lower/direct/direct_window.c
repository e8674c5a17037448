/* Loads of one tensor that lie beside each other: a stencil's points.
 *
 * Their coordinates differ by numbers alone, so that threads which hold rows beside each other would load most vectors
 * several times. They load them once instead, into windows: one for each vector that some point begins or ends in, with
 * as many rows more than the tile's as its points ask for. A point is then registers of one window, or of two where it
 * begins within a vector. A window holds what the tensor does, and zeros outside of it. */
#include "lower/direct/direct.h"

enum { MOST_POINTS = 32, MOST_ROWS_MORE = 8 };

/* base + number, of integers; base -1: the number alone. */
struct place {
    int base;
    int64_t number;
};

static struct place take_apart(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_CONST_INT)
        return (struct place){-1, n->integer};
    bool sum = n->op == EXPR_ADD || n->op == EXPR_SUB;
    for (int i = 1; sum && i >= (n->op == EXPR_ADD ? 0 : 1); i--)
        if (g->node[n->arg[i]].op == EXPR_CONST_INT) {
            struct place p = take_apart(g, n->arg[1 - i]);
            int64_t more = g->node[n->arg[i]].integer;
            p.number += n->op == EXPR_ADD ? more : -more;
            return p;
        }
    return (struct place){node, 0};
}

/* A load of the group. */
struct point {
    int op;
    int row, vector; /* from where the group's rows and columns begin: rows, vectors */
};

/* Vectors of rows low to high beyond the threads' own. */
struct window {
    int vector, low, high;
    int place;
};

struct group {
    int over; /* the dim of the tile's rows; -1: it has none */
    struct place row, column;
    struct point point[MOST_POINTS];
    struct window window[2 * MOST_POINTS];
    int points, windows;
    int each; /* rows of a thread */
    bool merges;
};

static bool is_written(const struct program *p, int tensor)
{
    for (int i = 0; i < p->op_count; i++) {
        enum program_kind kind = p->op[i].kind;
        if (p->op[i].tensor == tensor &&
            (kind == PROGRAM_STORE || kind == PROGRAM_STORE_ADD || kind == PROGRAM_SCATTER_ADD))
            return true;
    }
    return false;
}

/* The dim of the rows (-1: none) of a load whose coordinates are two spans at most, of which the inner one is the
 * columns', and places; -2 where they are not. */
static int over_rows(const struct program_op *o, int rank)
{
    int over = -1;
    if (o->kind != PROGRAM_LOAD || o->tile.columns == 1 || o->at[rank - 1].length != o->tile.columns ||
        !o->at[rank - 1].column)
        return -2;
    for (int i = 0; i < rank; i++) {
        const struct program_coordinate *c = &o->at[i];
        if (c->length > 0 && c->limit >= 0)
            return -2;
        if (i == rank - 1 || c->length == 0)
            continue;
        if (c->column || over >= 0 || c->length != o->tile.rows)
            return -2;
        over = i;
    }
    return over;
}

/* Whether b is loaded beside a: of the same tensor, by the same coordinates but for numbers along rows and columns. */
static bool is_beside(const struct program *p, const struct program_op *a, const struct program_op *b, int rank)
{
    int over = over_rows(a, rank);
    if (b->kind != PROGRAM_LOAD || over == -2 || b->tensor != a->tensor || over_rows(b, rank) != over ||
        a->tile.rows != b->tile.rows || a->tile.columns != b->tile.columns)
        return false;
    for (int i = 0; i < rank; i++) {
        int from = a->at[i].start, to = b->at[i].start;
        bool moves = i == over || i == rank - 1;
        if (moves ? take_apart(p->graph, from).base != take_apart(p->graph, to).base : from != to)
            return false;
    }
    return true;
}

bool direct_has_windows(const struct direct *d)
{
    const struct program *p = d->program;
    for (int i = 0; i < p->op_count; i++) {
        if (p->op[i].kind != PROGRAM_LOAD || is_written(p, p->op[i].tensor))
            continue;
        int rank = d->plan->tensor[p->op[i].tensor].rank;
        for (int j = i + 1; j < p->op_count && p->op[j].kind != PROGRAM_LOOP && p->op[j].kind != PROGRAM_END; j++) {
            int over = over_rows(&p->op[i], rank);
            if (over >= 0 && is_beside(p, &p->op[i], &p->op[j], rank) &&
                p->op[i].at[over].start != p->op[j].at[over].start)
                return true;
        }
    }
    return false;
}

static int divide_down(int64_t a, int b)
{
    return (int)((a - ((a % b) + b) % b) / b);
}

static struct window *find(struct group *g, int vector, int row)
{
    for (int i = 0; i < g->windows; i++) {
        struct window *w = &g->window[i];
        if (w->vector == vector && w->low <= row && row <= w->high)
            return w;
    }
    return NULL;
}

static void ask(struct group *g, int vector, int row)
{
    if (!find(g, vector, row))
        g->window[g->windows++] = (struct window){.vector = vector, .low = row, .high = row};
}

/* Windows of one vector become one, where threads' rows lie beside each other and that is fewer rows. */
static void merge(struct group *g, int first)
{
    struct window whole = g->window[first];
    int count = 0;
    for (int i = first; i < g->windows; i++) {
        const struct window *w = &g->window[i];
        if (w->vector != whole.vector)
            continue;
        count++;
        whole.low = w->low < whole.low ? w->low : whole.low;
        whole.high = w->high > whole.high ? w->high : whole.high;
    }
    if (whole.high - whole.low > MOST_ROWS_MORE || whole.high - whole.low + g->each >= count * g->each)
        return;
    int kept = first + 1;
    for (int i = first + 1; i < g->windows; i++)
        if (g->window[i].vector != whole.vector)
            g->window[kept++] = g->window[i];
    g->windows = kept;
    g->window[first] = whole;
}

/* The loads behind `number` that lie beside it, and their windows. */
static void collect(const struct direct *d, int number, struct group *g)
{
    const struct program *p = d->program;
    const struct program_op *first = &p->op[number];
    int rank = d->plan->tensor[first->tensor].rank;
    const struct plan_layout *l = &d->plan->layout[direct_layout_of(d, first->tile.rows, first->tile.columns)];
    g->each = first->tile.rows > 1 ? l->rows / l->down : 1;
    g->merges = g->each > 1 && l->apart == 1;
    g->over = over_rows(first, rank);
    g->column = take_apart(p->graph, first->at[rank - 1].start);
    if (g->over >= 0)
        g->row = take_apart(p->graph, first->at[g->over].start);
    for (int i = number; i < p->op_count && p->op[i].kind != PROGRAM_LOOP && p->op[i].kind != PROGRAM_END; i++) {
        if (d->op[i].place || d->op[i].aside || direct_is_picked(&d->op[i]) ||
            !is_beside(p, first, &p->op[i], rank) || g->points == MOST_POINTS)
            continue;
        int64_t column = take_apart(p->graph, p->op[i].at[rank - 1].start).number;
        int64_t row = g->over < 0 ? 0 : take_apart(p->graph, p->op[i].at[g->over].start).number;
        bool fits = ((column - d->op[i].shift) % d->vector) == 0 && row > -(1 << 20) && row < 1 << 20 &&
                    column > -(1 << 20) && column < 1 << 20;
        if (!fits)
            continue;
        int vector = divide_down(column, d->vector);
        g->point[g->points++] = (struct point){i, (int)row, vector};
        ask(g, vector, (int)row);
        if (d->op[i].shift)
            ask(g, vector + 1, (int)row);
    }
    for (int i = 0; i < g->windows && g->merges; i++)
        merge(g, i);
}

static bool is_worth(const struct direct *d, const struct group *g)
{
    int before = 0, now = 0;
    for (int i = 0; i < g->points; i++)
        before += g->each * (d->op[g->point[i].op].shift ? 2 : 1);
    for (int i = 0; i < g->windows; i++)
        now += g->each + g->window[i].high - g->window[i].low;
    return g->points > 1 && now < before;
}

static int sum(struct direct *d, struct place at, int64_t more)
{
    struct expr_graph *g = &d->plan->fused;
    int number = expr_int(g, more), base = at.base < 0 ? -1 : direct_value(d, at.base);
    return at.base < 0 ? number : base < 0 || number < 0 ? -1 : more ? expr_binary(g, EXPR_ADD, base, number) : base;
}

static bool is_never_negative(const struct direct *d, int node)
{
    const struct expr_node *n = &d->plan->fused.node[node];
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer >= 0;
    case EXPR_AT:
    case EXPR_SYMBOL:
        return true;
    case EXPR_LOOP:
        return is_never_negative(d, d->plan->loop[n->integer].from);
    case EXPR_ADD:
    case EXPR_MUL:
        return is_never_negative(d, n->arg[0]) && is_never_negative(d, n->arg[1]);
    default:
        return false;
    }
}

/* That first + leaf is in the tensor's dim, and `both` (-1: nothing); -1 out of memory. Without a leaf it is first. */
static int within(struct direct *d, const struct plan_tensor *t, int dim, int first, int leaf, int both)
{
    struct expr_graph *g = &d->plan->fused;
    int extent = expr_import(g, &d->plan->graph, t->dim[dim]), zero = expr_int(g, 0), at = leaf < 0 ? zero : leaf;
    int end = extent < 0 ? -1 : expr_binary(g, EXPR_SUB, extent, first);
    int below = end < 0 || at < 0 ? -1 : expr_binary(g, EXPR_LT, at, end);
    both = below < 0 || both < 0 ? below : expr_binary(g, EXPR_AND, both, below);
    if (both < 0 || is_never_negative(d, first))
        return both;
    int begin = zero < 0 ? -1 : expr_binary(g, EXPR_SUB, zero, first);
    int above = begin < 0 ? -1 : expr_binary(g, EXPR_GE, at, begin);
    return above < 0 ? -1 : expr_binary(g, EXPR_AND, both, above);
}

/* Loads a window into a place of its own. */
static int load(struct direct *d, const struct group *group, struct window *w)
{
    const struct program_op *o = &d->program->op[group->point[0].op];
    const struct plan_tensor *t = &d->plan->tensor[o->tensor];
    struct expr_graph *g = &d->plan->fused;
    struct direct_shape held = direct_held(d, o->tile.rows, o->tile.columns);
    d->layout = direct_layout_of(d, o->tile.rows, o->tile.columns);
    int more = w->high - w->low, both = -1;
    const char *name = plan_text(d->plan, "%s_window", t->name);
    if (!name)
        return 3;
    w->place = direct_new_place(d, name, (struct direct_shape){o->tile.rows, o->tile.columns}, o->tile.dtype, true, 0);
    if (!w->place)
        return 3;
    struct plan_place *place = &d->plan->place[plan_number(w->place)];
    place->more = more;
    place->registers = place->registers / group->each * (group->each + more);
    direct_hold(d, w->place, false);
    struct plan_step step = {.op = PLAN_GLOBAL,
                             .ring = -1,
                             .tensor = o->tensor,
                             .place = w->place,
                             .layout = plan_some(d->layout),
                             .rows = held.rows,
                             .cols = held.cols,
                             .more = more,
                             .call = "load",
                             .why = "vectors that several loads read"};
    for (int i = 0; i < t->rank; i++) {
        bool row = i == group->over, column = i == t->rank - 1;
        int first = column ? sum(d, group->column, (int64_t)w->vector * d->vector)
                    : row  ? sum(d, group->row, w->low)
                           : direct_value(d, o->at[i].start);
        bool spans = column || (row && o->tile.rows > 1);
        int leaf = spans ? expr_leaf(g, column ? EXPR_COLUMN : EXPR_ROW, EXPR_INT, 0) : -1;
        if (first < 0 || (spans && leaf < 0))
            return direct_failed(d, group->point[0].op);
        if (row || column)
            both = within(d, t, i, first, leaf, both);
        int at = spans ? expr_binary(g, EXPR_ADD, first, leaf) : first;
        at = at < 0 ? -1 : direct_last(d, at);
        if (at < 0 || ((row || column) && both < 0))
            return 3;
        step.at[i] = plan_some(at);
    }
    step.inside = plan_some(both);
    return direct_add_step(d, step);
}

int direct_windows(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct group g = {.over = -1};
    if (d->op[number].aside || is_written(d->program, o->tensor) || over_rows(o, d->plan->tensor[o->tensor].rank) == -2)
        return 0;
    collect(d, number, &g);
    int status = 0;
    if (!is_worth(d, &g))
        return 0;
    for (int i = 0; i < g.windows && !status; i++)
        status = load(d, &g, &g.window[i]);
    for (int i = 0; i < g.points && !status; i++) {
        const struct point *p = &g.point[i];
        struct direct_op *op = &d->op[p->op];
        const struct window *first = find(&g, p->vector, p->row), *next = find(&g, p->vector + 1, p->row);
        op->window = first->place;
        op->skip = p->row - first->low;
        op->window2 = op->shift ? next->place : 0;
        op->skip2 = op->shift ? p->row - next->low : 0;
    }
    return status;
}
