/* Operations of a kernel by the elements that count (plan/visible.h): which masks let in, and which are there.
 *
 * A mask is asked over a whole tile: rows, columns and elements of tensors lie between their least and their largest,
 * and so does what is computed of them. Where it holds for all elements or for none they are counted at once; else the
 * tile is halved, down to single elements, for which the arithmetic is exact. What has no interval (real numbers) may
 * be anything, and counts. */
#include <string.h>

#include "bench/group.h"
#include "plan/visible.h"

enum {
    MOST_QUESTIONS = 1 << 26, /* of nodes, a loop: a second; of more the part is not known */
    MOST_SCAN = 1 << 16,
};

struct interval {
    int64_t low, high; /* of a condition: 0 or 1 */
};

static const struct interval unknown = {EXPR_LEAST, EXPR_MOST}, perhaps = {0, 1};

struct counter {
    const struct bench_group *group;
    const struct bench_part *part;
    const struct expr_graph *g;
    int64_t at[SPEC_MAX_AXES];
    int loop;
    int64_t turn;                /* of that loop's variable */
    struct interval row, column; /* of the tile that is asked about */
    struct interval *value;      /* by node */
    int64_t *known, question;    /* by node, the question that its value answers; the last question */
    int64_t left;                /* of MOST_QUESTIONS */
};

static struct interval interval(struct counter *c, int node);

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_known(struct interval a)
{
    return a.low > EXPR_LEAST && a.high < EXPR_MOST;
}

static bool is_point(struct interval a)
{
    return a.low == a.high;
}

/* Elements of an input between these places, 0 where there are none: along one dim at most they are several. */
static struct interval elements(struct counter *c, const struct expr_node *n)
{
    const struct bench_buffer *b = &c->group->buffer[c->part->buffer[n->integer]];
    struct interval place[SPEC_MAX_RANK] = {{0, 0}}, all = {EXPR_MOST, EXPR_LEAST};
    int64_t offset = 0;
    int along = -1;
    bool inside = b->host != NULL && n->type == EXPR_INT;
    for (int d = 0; d < n->rank; d++) {
        place[d] = interval(c, c->g->index[n->first_index + d]);
        if (!inside || !is_known(place[d]) || (!is_point(place[d]) && along >= 0))
            return unknown;
        along = is_point(place[d]) ? along : d;
    }
    for (int d = 0; d < n->rank; d++) {
        inside = inside && (d == along || (place[d].low >= 0 && place[d].low < b->shape.extent[d]));
        offset += d == along ? 0 : place[d].low * b->shape.stride[d];
    }
    if (!inside || along < 0)
        all = (struct interval){0, 0};
    if (inside && along < 0)
        all.low = all.high = (int64_t)tw_dtype_load(b->dtype, b->host + (size_t)offset * tw_dtype_bytes(b->dtype));
    if (!inside || along < 0)
        return all;
    if (place[along].high - place[along].low > MOST_SCAN)
        return unknown;
    for (int64_t i = place[along].low; i <= place[along].high; i++) {
        const bool there = i >= 0 && i < b->shape.extent[along];
        const size_t element = there ? (size_t)(offset + i * b->shape.stride[along]) : 0;
        const int64_t one = there ? (int64_t)tw_dtype_load(b->dtype, b->host + element * tw_dtype_bytes(b->dtype)) : 0;
        all = (struct interval){least(all.low, one), most(all.high, one)};
    }
    c->left -= (place[along].high - place[along].low) / 8;
    return all;
}

static struct interval product(struct interval a, struct interval b)
{
    const int64_t corner[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    struct interval all = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++)
        all = (struct interval){least(all.low, corner[i]), most(all.high, corner[i])};
    return all;
}

/* Whole numbers that are known, and within 32 bits where they are multiplied. */
static struct interval arithmetic(enum expr_op op, struct interval a, struct interval b)
{
    const bool small = a.low >= INT32_MIN && a.high <= INT32_MAX && b.low >= INT32_MIN && b.high <= INT32_MAX;
    switch (op) {
    case EXPR_ADD:
        return (struct interval){a.low + b.low, a.high + b.high};
    case EXPR_SUB:
        return (struct interval){a.low - b.high, a.high - b.low};
    case EXPR_NEG:
        return (struct interval){-a.high, -a.low};
    case EXPR_MIN:
        return (struct interval){least(a.low, b.low), least(a.high, b.high)};
    case EXPR_MAX:
        return (struct interval){most(a.low, b.low), most(a.high, b.high)};
    case EXPR_MUL:
        return small ? product(a, b) : unknown;
    case EXPR_FLOORDIV:
    case EXPR_MOD:
        if (!is_point(b) || b.low <= 0)
            return unknown;
        if (op == EXPR_MOD &&
            expr_apply_int(EXPR_FLOORDIV, a.low, b.low) != expr_apply_int(EXPR_FLOORDIV, a.high, b.low))
            return (struct interval){0, b.low - 1};
        return (struct interval){expr_apply_int(op, a.low, b.low), expr_apply_int(op, a.high, b.low)};
    case EXPR_ABS:
        if (a.low <= 0 && a.high >= 0)
            return (struct interval){0, most(-a.low, a.high)};
        return a.low > 0 ? a : (struct interval){-a.high, -a.low};
    default:
        return unknown;
    }
}

static struct interval compared(enum expr_op op, struct interval a, struct interval b)
{
    switch (op) {
    case EXPR_LT:
        return (struct interval){a.high < b.low, a.low < b.high};
    case EXPR_LE:
        return (struct interval){a.high <= b.low, a.low <= b.high};
    case EXPR_GT:
        return (struct interval){a.low > b.high, a.high > b.low};
    case EXPR_GE:
        return (struct interval){a.low >= b.high, a.high >= b.low};
    case EXPR_EQ:
        return (struct interval){is_point(a) && is_point(b) && a.low == b.low, a.low <= b.high && b.low <= a.high};
    default:
        return (struct interval){a.high < b.low || b.high < a.low, !is_point(a) || !is_point(b) || a.low != b.low};
    }
}

static struct interval compute(struct counter *c, const struct expr_node *n)
{
    const bool whole = n->type == EXPR_INT;
    struct interval arg[3] = {unknown, unknown, unknown};
    int64_t value;
    switch (n->op) {
    case EXPR_CONST_INT:
        return (struct interval){n->integer, n->integer};
    case EXPR_SYMBOL:
        value = c->part->symbol[n->integer];
        return (struct interval){value, value};
    case EXPR_AT:
        return (struct interval){c->at[n->integer], c->at[n->integer]};
    case EXPR_LOOP:
        return n->integer == c->loop ? (struct interval){c->turn, c->turn} : unknown;
    case EXPR_ROW:
        return c->row;
    case EXPR_COLUMN:
        return c->column;
    case EXPR_TENSOR:
        return elements(c, n);
    default:
        break;
    }
    for (int i = 0; i < expr_ops[n->op].arity; i++)
        arg[i] = interval(c, n->arg[i]);
    switch (n->op) {
    case EXPR_AND:
        return (struct interval){least(arg[0].low, arg[1].low), least(arg[0].high, arg[1].high)};
    case EXPR_OR:
        return (struct interval){most(arg[0].low, arg[1].low), most(arg[0].high, arg[1].high)};
    case EXPR_NOT:
        return (struct interval){1 - arg[0].high, 1 - arg[0].low};
    case EXPR_SELECT:
        if (is_point(arg[0]))
            return arg[arg[0].low ? 1 : 2];
        return (struct interval){least(arg[1].low, arg[2].low), most(arg[1].high, arg[2].high)};
    default:
        break;
    }
    const bool two = expr_ops[n->op].arity == 2;
    if (!is_known(arg[0]) || (two && !is_known(arg[1])))
        return whole ? unknown : perhaps;
    if (n->type == EXPR_PRED)
        return expr_ops[n->op].rule == EXPR_COMPARE ? compared(n->op, arg[0], arg[1]) : perhaps;
    return whole ? arithmetic(n->op, arg[0], arg[1]) : unknown;
}

static struct interval interval(struct counter *c, int node)
{
    if (c->known[node] != c->question) {
        c->left--;
        c->value[node] = compute(c, &c->g->node[node]);
        c->known[node] = c->question;
    }
    return c->value[node];
}

/* Elements of so many rows and columns from the first ones on for which the condition holds. */
static double count(struct counter *c, int condition, struct interval row, struct interval column)
{
    c->row = row;
    c->column = column;
    c->question++;
    const struct interval holds = interval(c, condition);
    const int64_t rows = row.high - row.low + 1, columns = column.high - column.low + 1;
    if (!holds.high || c->left < 0)
        return 0.0;
    if (holds.low || (rows == 1 && columns == 1))
        return (double)rows * (double)columns;
    if (rows >= columns) {
        const int64_t middle = row.low + rows / 2;
        return count(c, condition, (struct interval){row.low, middle - 1}, column) +
               count(c, condition, (struct interval){middle, row.high}, column);
    }
    const int64_t middle = column.low + columns / 2;
    return count(c, condition, row, (struct interval){column.low, middle - 1}) +
           count(c, condition, row, (struct interval){middle, column.high});
}

static bool asks(const struct expr_graph *g, int node, int axis)
{
    const struct expr_node *n = &g->node[node];
    bool found = n->op == EXPR_AT && n->integer == axis;
    for (int i = 0; i < 3 && !found; i++)
        found = n->arg[i] >= 0 && asks(g, n->arg[i], axis);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !found; i++)
        found = asks(g, g->index[n->first_index + i], axis);
    return found;
}

static double no_element(void *context, int tensor, int rank, const int64_t *at)
{
    (void)context, (void)tensor, (void)rank, (void)at;
    return 0.0;
}

static double no_scalar(void *context, int scalar)
{
    (void)context, (void)scalar;
    return 0.0;
}

/* A number that is one for the whole item. */
static bool number(struct counter *c, int node, int64_t *value)
{
    c->row = c->column = (struct interval){0, 0};
    c->question++;
    const struct interval found = interval(c, node);
    *value = found.low;
    return is_known(found) && is_point(found);
}

/* Elements that count, of the tiles of all items from this one of the Plan's axes on; items that differ in nothing that
 * is asked are counted once. Below 0: it is not known. */
static double count_items(struct counter *c, const struct plan_visible_loop *l, int item)
{
    const struct plan *p = &c->part->unit->plan;
    const struct interval row = {0, l->rows - 1}, column = {0, l->columns - 1};
    const int asked[3] = {l->counts, l->from, l->to};
    double sum = 0.0;
    int64_t from, to;
    if (item < p->item_count) {
        const struct plan_item *i = &p->item[item];
        const struct expr_env env = {
            .symbol = c->part->symbol, .index = c->at, .tensor = no_element, .scalar = no_scalar};
        const int64_t extent = (int64_t)expr_eval(&p->fused, i->extent, &env);
        bool own = false;
        for (int k = 0; k < 3; k++)
            own = own || asks(c->g, asked[k], i->axis);
        for (int64_t at = 0; at < extent && sum >= 0.0; at += i->tile) {
            c->at[i->axis] = at;
            const double one = count_items(c, l, item + 1);
            if (!own)
                return one < 0.0 ? one : one * (double)((extent + i->tile - 1) / i->tile);
            sum = one < 0.0 ? one : sum + one;
        }
        c->at[i->axis] = 0;
        return sum;
    }
    if (!number(c, l->from, &from) || !number(c, l->to, &to))
        return -1.0;
    for (c->turn = from; c->turn < to && c->left >= 0; c->turn += p->loop[l->loop].step)
        sum += count(c, l->counts, row, column);
    return c->left < 0 ? -1.0 : sum;
}

double bench_visible(const struct bench_group *g, const struct bench_part *part, double flops)
{
    const struct plan *p = &part->unit->plan;
    const struct plan_visible *v = p->visible;
    if (!v || (p->flops < 0 && !v->all))
        return flops;
    struct tw_runtime *rt = &g->bench->compile.rt;
    struct counter c = {.group = g, .part = part, .g = &v->graph};
    c.value = tw_alloc_zeroed(rt, sizeof *c.value * (size_t)v->graph.count);
    c.known = tw_alloc_zeroed(rt, sizeof *c.known * (size_t)v->graph.count);
    bool known = c.value && c.known;
    for (int i = 0; i < v->count && known; i++) {
        const struct plan_visible_loop *l = &v->loop[i];
        int64_t all = 0;
        c.loop = l->loop;
        c.left = MOST_QUESTIONS;
        const double counted = count_items(&c, l, 0);
        /* Where data decide how many there are in all, nothing of it is in `flops`. */
        known = counted >= 0.0 && (p->flops < 0 || l->flops < 0 ||
                                   expr_eval_int(&p->graph, l->flops, part->symbol, &all));
        flops += counted * (double)l->each / ((double)l->rows * (double)l->columns) - (double)all;
    }
    tw_free(rt, c.value);
    tw_free(rt, c.known);
    return known ? flops : 0.0;
}
