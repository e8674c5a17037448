/* Rows by number that follow each other: a page's, say. Where the numbers of every so many rows of a tile, from a
 * multiple of that on, are known to count up one by one, a box brings them together.
 *
 * Of a node it is asked how it goes along with the row within such a run: it stays, or counts up from a value of which
 * a divisor is known. x // 16 stays where x counts up from a multiple of 16 in runs of 16, and x % 16 counts up. */
#include "lower/derive/linear.h"
#include "lower/pipeline/pipeline.h"

enum way { NEITHER, STAYS, COUNTS };

enum { MOST_RUN = 256 /* rows of a box */, LEAST_RUN = 8 /* fewer are brought one by one, by all threads */ };

struct form {
    enum way way;
    int64_t divisor; /* of the value, at a run's beginning; 0: of it all numbers are */
};

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static struct form form_of(const struct work *w, int node, int run);

/* Nothing that it is computed from changes with the row or the column. */
static bool stays(const struct work *w, int node, int run)
{
    const struct expr_node *n = &w->graph.node[node];
    bool all = true;
    if (n->op == EXPR_TILE || n->op == EXPR_ROW || n->op == EXPR_COLUMN)
        return false;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        all = all && form_of(w, w->graph.index[n->first_index + i], run).way == STAYS;
    for (int i = 0; i < 3; i++)
        all = all && (n->arg[i] < 0 || form_of(w, n->arg[i], run).way == STAYS);
    return all;
}

/* By a constant. */
static struct form divided(const struct expr_node *n, struct form of, int64_t by, int run)
{
    const bool whole = of.divisor % by == 0, within = of.divisor % run == 0 && by % run == 0;
    if (of.way == STAYS)
        return (struct form){STAYS, n->op == EXPR_MOD ? common(of.divisor, by) : whole ? of.divisor / by : 1};
    if (of.way == COUNTS && within)
        return n->op == EXPR_MOD ? (struct form){COUNTS, common(of.divisor, by)} : (struct form){STAYS, 1};
    return (struct form){NEITHER, 1};
}

static struct form form_of(const struct work *w, int node, int run)
{
    const struct expr_graph *g = &w->graph;
    const struct expr_node *n = &g->node[node];
    struct form a, b;
    int64_t value;
    if (expr_is_int(g, node, &value))
        return (struct form){STAYS, value < 0 ? -value : value};
    if (n->type != EXPR_INT)
        return (struct form){stays(w, node, run) ? STAYS : NEITHER, 1};
    switch (n->op) {
    case EXPR_ROW:
        return (struct form){COUNTS, run};
    case EXPR_AT:
        value = w->program->axis[n->integer].tile;
        return (struct form){STAYS, value > 0 ? value : 1};
    case EXPR_LOOP: {
        const struct program_op *loop = &w->program->op[n->integer];
        a = form_of(w, w->op[n->integer].from, run);
        if (a.way != STAYS || loop->list >= 0 || !expr_is_int(w->program->graph, loop->step, &value))
            return (struct form){STAYS, 1};
        return (struct form){STAYS, common(a.divisor, value)};
    }
    case EXPR_ADD:
    case EXPR_SUB:
        a = form_of(w, n->arg[0], run), b = form_of(w, n->arg[1], run);
        if (n->op == EXPR_ADD && a.way == STAYS && b.way == COUNTS)
            return (struct form){COUNTS, common(a.divisor, b.divisor)};
        return (struct form){b.way == STAYS ? a.way : NEITHER, common(a.divisor, b.divisor)};
    case EXPR_MUL:
        a = form_of(w, n->arg[0], run), b = form_of(w, n->arg[1], run);
        if (a.divisor < INT32_MAX && b.divisor < INT32_MAX)
            return (struct form){a.way == STAYS && b.way == STAYS ? STAYS : NEITHER, a.divisor * b.divisor};
        return (struct form){a.way == STAYS && b.way == STAYS ? STAYS : NEITHER, 1};
    case EXPR_FLOORDIV:
    case EXPR_MOD:
        if (expr_is_int(g, n->arg[1], &value) && value > 0)
            return divided(n, form_of(w, n->arg[0], run), value, run);
        break;
    default:
        break;
    }
    return (struct form){stays(w, node, run) ? STAYS : NEITHER, 1};
}

/* It holds for the rows up to one that is the same for the whole tile (derive_run counts them). */
static bool ends(const struct work *w, int condition)
{
    const struct expr_node *n = &w->graph.node[condition];
    struct linear l;
    bool row = false;
    if (n->op == EXPR_AND)
        return ends(w, n->arg[0]) && ends(w, n->arg[1]);
    if (!linear_difference(w, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        const bool own = w->graph.node[l.node[i]].op == EXPR_ROW;
        if (own ? l.coefficient[i] != -1 : !stays(w, l.node[i], MOST_RUN))
            return false;
        row = row || own;
    }
    return row;
}

int pipeline_run_of(const struct pipeline *x, int load, int rows)
{
    const struct program_op *o = &x->program->op[load];
    const struct work *w = &x->d.work;
    int node = w->op[load].at[o->gathered], run = MOST_RUN;
    const int ending = work_ending(w, load);
    if (ending >= 0 && !ends(w, ending))
        return 1;
    node = ending < 0 ? node : w->graph.node[node].arg[1];
    while (run >= LEAST_RUN && (rows % run || form_of(w, node, run).way != COUNTS))
        run /= 2;
    return run < LEAST_RUN ? 1 : run;
}

bool pipeline_by_rows(const struct pipeline *x)
{
    bool by_rows = false;
    for (int i = 0; i < x->plan->tensor_count; i++)
        by_rows = by_rows || (x->plan->tensor[i].gathered && x->plan->tensor[i].run <= 1);
    return by_rows;
}
