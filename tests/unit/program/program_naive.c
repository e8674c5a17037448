#include "unit/program/program_naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct naive_value {
    int64_t whole; /* INT, PRED */
    float real;
};

struct naive {
    const struct program *p;
    const struct spec_kernel *kernel;
    const struct program_data *data;
    double *const *out; /* by tensor: outputs, as elements of their dtypes */
    uint64_t random;
    int64_t at[SPEC_MAX_AXES];
    int64_t *loop;               /* by operation */
    const bool *down;            /* by operation; NULL */
    struct naive_value **result; /* by operation: rows x columns */
    struct naive_value *memo;    /* by node: of the element in hand, or of all elements of the turn in hand */
    int64_t *stamp;              /* by node: of which of them */
    bool *fixed;                 /* by node: the same for all elements of a turn */
    int64_t now, turn;           /* numbers of the element and of the turn of loops, of one count */
};

static uint64_t naive_random(struct naive *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

double naive_element(enum tw_dtype dtype, double value)
{
    unsigned char element[8];
    tw_dtype_store(dtype, element, value);
    return tw_dtype_load(dtype, element);
}

static float naive_function(enum expr_op op, float x)
{
    switch (op) {
    case EXPR_EXP:
        return expf(x);
    case EXPR_EXP2:
        return exp2f(x);
    case EXPR_LOG:
        return logf(x);
    case EXPR_LOG2:
        return log2f(x);
    case EXPR_SQRT:
        return sqrtf(x);
    case EXPR_RSQRT:
        return 1.0f / sqrtf(x);
    case EXPR_TANH:
        return tanhf(x);
    case EXPR_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case EXPR_RELU:
        return x <= 0.0f ? 0.0f : x;
    case EXPR_SILU:
        return x * (1.0f / (1.0f + expf(-x)));
    case EXPR_GELU:
        return 0.5f * x * (1.0f + erff(x * 0.707106781f));
    case EXPR_GELU_TANH:
        return x * (1.0f / (1.0f + expf(-(1.59576912f * (x + 0.044715f * x * x * x)))));
    case EXPR_TANH_APPROX:
        return tanhf(x) * (1 + 0x1p-12f);
    case EXPR_GELU_TANH_APPROX:
        return 0.5f * x + 0.5f * x * (tanhf(0.797884561f * (x + 0.044715f * x * x * x)) * (1 - 0x1p-12f));
    case EXPR_FLOOR:
        return floorf(x);
    case EXPR_SATURATE: /* NaN gives 0 */
        return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
    default:
        fail_msg("no function %d", (int)op);
        return 0;
    }
}

static struct naive_value naive_eval(struct naive *s, const struct program_tile *tile, int node, int64_t row,
                                     int64_t column);

static float naive_real(struct naive *s, const struct program_tile *tile, int node, int64_t row, int64_t column)
{
    struct naive_value v = naive_eval(s, tile, node, row, column);
    return s->p->graph->node[node].type == EXPR_REAL ? v.real : (float)v.whole;
}

static int64_t naive_compare(struct naive *s, const struct program_tile *tile, const struct expr_node *n, int64_t row,
                             int64_t column)
{
    const struct expr_graph *g = s->p->graph;
    if (g->node[n->arg[0]].type == EXPR_INT && g->node[n->arg[1]].type == EXPR_INT) {
        int64_t a = naive_eval(s, tile, n->arg[0], row, column).whole;
        int64_t b = naive_eval(s, tile, n->arg[1], row, column).whole;
        return n->op == EXPR_LT   ? a < b
               : n->op == EXPR_LE ? a <= b
               : n->op == EXPR_GT ? a > b
               : n->op == EXPR_GE ? a >= b
               : n->op == EXPR_EQ ? a == b
                                  : a != b;
    }
    float a = naive_real(s, tile, n->arg[0], row, column), b = naive_real(s, tile, n->arg[1], row, column);
    return n->op == EXPR_LT   ? a < b
           : n->op == EXPR_LE ? a <= b
           : n->op == EXPR_GT ? a > b
           : n->op == EXPR_GE ? a >= b
           : n->op == EXPR_EQ ? a == b
                              : a != b;
}

static struct naive_value naive_leaf(struct naive *s, const struct program_tile *tile, const struct expr_node *n,
                                     int64_t row, int64_t column)
{
    struct naive_value v = {0, 0};
    switch (n->op) {
    case EXPR_CONST_INT:
        v.whole = n->integer;
        break;
    case EXPR_CONST_REAL:
        v.real = (float)n->real;
        break;
    case EXPR_SYMBOL:
        v.whole = s->data->symbol[n->integer];
        break;
    case EXPR_AT:
        v.whole = s->at[n->integer];
        break;
    case EXPR_LOOP:
        v.whole = s->loop[n->integer];
        break;
    case EXPR_ROW:
        v.whole = row;
        break;
    case EXPR_COLUMN:
        v.whole = column;
        break;
    case EXPR_INDEX:
        assert_true(tile && tile->index[n->integer] >= 0);
        return naive_eval(s, tile, tile->index[n->integer], row, column);
    case EXPR_SCALAR:
        v.real = (float)s->data->scalar[n->integer];
        v.whole = (int64_t)s->data->scalar[n->integer];
        break;
    case EXPR_TILE: {
        const struct program_tile *from = &s->p->op[n->integer].tile;
        int64_t r = from->rows > 1 ? row : 0, c = from->columns > 1 ? column : 0;
        return s->result[n->integer][r * from->columns + c];
    }
    case EXPR_TENSOR: {
        int64_t offset = 0;
        for (int d = 0; d < n->rank; d++) {
            int64_t at = naive_eval(s, tile, s->p->graph->index[n->first_index + d], row, column).whole;
            if (at < 0 || at >= s->data->extent[n->integer][d])
                return v;
            offset = offset * s->data->extent[n->integer][d] + at;
        }
        v.real = (float)s->data->tensor[n->integer][offset];
        v.whole = n->type == EXPR_INT ? (int64_t)s->data->tensor[n->integer][offset] : 0;
        break;
    }
    default:
        fail_msg("no leaf %d", (int)n->op);
    }
    return v;
}

/* a b + c, sometimes with one rounding. */
static float naive_sum(struct naive *s, const struct program_tile *tile, const struct expr_node *n, int64_t row,
                       int64_t column)
{
    const struct expr_node *first = &s->p->graph->node[n->arg[0]];
    float b = naive_real(s, tile, n->arg[1], row, column);
    if (first->op == EXPR_MUL && first->type == EXPR_REAL && naive_random(s) % 2)
        return fmaf(naive_real(s, tile, first->arg[0], row, column), naive_real(s, tile, first->arg[1], row, column),
                    n->op == EXPR_SUB ? -b : b);
    float a = naive_real(s, tile, n->arg[0], row, column);
    return n->op == EXPR_SUB ? a - b : a + b;
}

static struct naive_value naive_compute(struct naive *s, const struct program_tile *tile, int node, int64_t row,
                                        int64_t column)
{
    const struct expr_node *n = &s->p->graph->node[node];
    struct naive_value v = {0, 0};
    float a, b;
    if (expr_ops[n->op].rule == EXPR_LEAF)
        return naive_leaf(s, tile, n, row, column);
    if (expr_ops[n->op].rule == EXPR_COMPARE) {
        v.whole = naive_compare(s, tile, n, row, column);
        return v;
    }
    if (n->op == EXPR_SELECT) {
        int side = n->arg[naive_eval(s, tile, n->arg[0], row, column).whole ? 1 : 2];
        if (n->type == EXPR_REAL)
            v.real = naive_real(s, tile, side, row, column);
        else
            v = naive_eval(s, tile, side, row, column);
        return v;
    }
    if (n->type != EXPR_REAL) {
        int64_t x = naive_eval(s, tile, n->arg[0], row, column).whole;
        if (n->op == EXPR_NOT)
            v.whole = !x;
        else if (n->op == EXPR_AND)
            v.whole = x && naive_eval(s, tile, n->arg[1], row, column).whole;
        else if (n->op == EXPR_OR)
            v.whole = x || naive_eval(s, tile, n->arg[1], row, column).whole;
        else
            v.whole = expr_apply_int(n->op, x, n->arg[1] >= 0 ? naive_eval(s, tile, n->arg[1], row, column).whole : 0);
        return v;
    }
    if (n->op == EXPR_ADD || n->op == EXPR_SUB) {
        v.real = naive_sum(s, tile, n, row, column);
        return v;
    }
    a = naive_real(s, tile, n->arg[0], row, column);
    b = n->arg[1] >= 0 ? naive_real(s, tile, n->arg[1], row, column) : 0;
    switch (n->op) {
    case EXPR_MUL:
        v.real = a * b;
        break;
    case EXPR_DIV:
        v.real = a / b;
        break;
    case EXPR_NEG:
        v.real = -a;
        break;
    case EXPR_ABS:
        v.real = fabsf(a);
        break;
    case EXPR_MIN:
        v.real = fminf(a, b);
        break;
    case EXPR_MAX:
        v.real = fmaxf(a, b);
        break;
    case EXPR_EXP2_DIFF:
        v.real = exp2f(a - (b == -INFINITY ? 0.0f : b));
        break;
    case EXPR_CAST:
        v.real = (float)naive_element(n->dtype, (double)a);
        break;
    default:
        v.real = naive_function(n->op, a);
    }
    return v;
}

/* Each node once for the element in hand: a value that is used twice is one value. */
static struct naive_value naive_eval(struct naive *s, const struct program_tile *tile, int node, int64_t row,
                                     int64_t column)
{
    int64_t now = s->fixed[node] ? s->turn : s->now;
    if (s->stamp[node] != now) {
        struct naive_value v = naive_compute(s, tile, node, row, column);
        s->memo[node] = v;
        s->stamp[node] = now;
    }
    return s->memo[node];
}

/* Which nodes are whole numbers of constants, sizes, the item's place and the turns of loops. */
static void naive_find_fixed(struct naive *s)
{
    const struct expr_graph *g = s->p->graph;
    for (int i = 0; i < g->count; i++) {
        const struct expr_node *n = &g->node[i];
        if (n->type == EXPR_REAL)
            continue;
        if (expr_ops[n->op].rule == EXPR_LEAF) {
            s->fixed[i] = n->op == EXPR_CONST_INT || n->op == EXPR_SYMBOL || n->op == EXPR_AT || n->op == EXPR_LOOP;
            continue;
        }
        s->fixed[i] = true;
        for (int a = 0; a < 3 && s->fixed[i]; a++)
            s->fixed[i] = n->arg[a] < 0 || (n->arg[a] < i && s->fixed[n->arg[a]]);
    }
}

static struct naive_value naive_at(struct naive *s, const struct program_tile *tile, int64_t row, int64_t column)
{
    const struct expr_node *n = &s->p->graph->node[tile->node];
    if (n->op == EXPR_TILE)
        return naive_leaf(s, tile, n, tile->rows > 1 ? row : 0, tile->columns > 1 ? column : 0);
    s->now++;
    return naive_eval(s, tile, tile->node, tile->rows > 1 ? row : 0, tile->columns > 1 ? column : 0);
}

static bool naive_valid(struct naive *s, const struct program_tile *tile, int64_t row, int64_t column)
{
    int64_t r = tile->rows > 1 ? row : 0, c = tile->columns > 1 ? column : 0;
    if (tile->valid_row < 0 && tile->valid_column < 0)
        return true;
    s->now++;
    if (tile->valid_row >= 0 && !naive_eval(s, tile, tile->valid_row, r, c).whole)
        return false;
    return tile->valid_column < 0 || naive_eval(s, tile, tile->valid_column, r, c).whole;
}

static int64_t naive_number(struct naive *s, int node)
{
    s->now++;
    return naive_eval(s, NULL, node, 0, 0).whole;
}

/* Where a load or store begins and what it must stay below, by dimension: the same for all of its elements. */
struct naive_place {
    int64_t start[SPEC_MAX_RANK], limit[SPEC_MAX_RANK];
};

static bool by_number(const struct program_op *op, int d)
{
    return (op->kind == PROGRAM_GATHER || op->kind == PROGRAM_SCATTER_ADD) && d == op->gathered;
}

static struct naive_place naive_place(struct naive *s, const struct program_op *op)
{
    struct naive_place place;
    for (int d = 0; d < s->kernel->tensor[op->tensor].rank; d++) {
        place.start[d] = by_number(op, d) ? 0 : naive_number(s, op->at[d].start);
        place.limit[d] = s->data->extent[op->tensor][d];
        if (!by_number(op, d) && op->at[d].limit >= 0) {
            int64_t given = naive_number(s, op->at[d].limit);
            place.limit[d] = given < place.limit[d] ? given : place.limit[d];
        }
    }
    return place;
}

/* Where element (row, column) of a load or store lies; -1: outside. */
static int64_t naive_offset(const struct naive *s, const struct program_op *op, const struct naive_place *place,
                            int64_t row, int64_t column, int64_t number)
{
    const struct spec_tensor *t = &s->kernel->tensor[op->tensor];
    int64_t at[SPEC_MAX_RANK], offset = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (by_number(op, d)) {
            at[d] = number;
        } else {
            at[d] = place->start[d];
            if (op->at[d].length > 0 && op->at[d].column) {
                at[d] += column;
            } else if (op->at[d].length > 0) {
                at[d] += row % op->at[d].length;
                row /= op->at[d].length;
            }
        }
        if (at[d] < 0 || at[d] >= place->limit[d])
            return -1;
    }
    for (int d = 0; d < t->rank; d++)
        offset = offset * s->data->extent[op->tensor][d] + at[d];
    return offset;
}

/* Terms in as many chains as are named, a constant where it is called. */
__attribute__((always_inline)) static inline void add_chains(const float *term, int64_t count, int chains, float *sum)
{
    float chain[4] = {term[0], chains > 1 ? term[1] : 0, chains > 2 ? term[2] : 0, chains > 3 ? term[3] : 0};
    int64_t i = chains;
    for (; i + chains <= count; i += chains)
        for (int c = 0; c < chains; c++)
            chain[c] += term[i + c];
    for (int c = 0; i < count; i++, c++)
        chain[c] += term[i];
    memcpy(sum, chain, sizeof chain);
}

/* Terms added from a random one on, up or down, in one to four chains that are joined, as threads would. `turned`: room
 * for as many. */
static float naive_add_up(struct naive *s, const float *term, int64_t count, float *turned)
{
    uint64_t draw = naive_random(s);
    int64_t chains = 1 + (int64_t)(draw % 4), first = count ? (int64_t)(draw / 8 % (uint64_t)count) : 0;
    float sum[4] = {0};
    if (draw / 4 % 2) {
        for (int64_t i = 0; i < count - first; i++)
            turned[i] = term[count - 1 - first - i];
        for (int64_t i = count - first; i < count; i++)
            turned[i] = term[2 * count - 1 - first - i];
    } else {
        memcpy(turned, term + first, sizeof *term * (size_t)(count - first));
        memcpy(turned + count - first, term, sizeof *term * (size_t)first);
    }
    if (count < chains)
        memcpy(sum, turned, sizeof *sum * (size_t)count);
    else if (chains == 1)
        add_chains(turned, count, 1, sum);
    else if (chains == 2)
        add_chains(turned, count, 2, sum);
    else if (chains == 3)
        add_chains(turned, count, 3, sum);
    else
        add_chains(turned, count, 4, sum);
    for (int64_t i = 1; i < chains && i < count; i++)
        sum[0] += sum[i];
    return sum[0];
}

/* The SLICE that a dot's second operand is, turned or not; NULL: it is none. */
static const struct program_op *naive_sliced(const struct naive *s, const struct program_tile *b, bool *turned)
{
    const struct expr_node *n = &s->p->graph->node[b->node];
    *turned = n->op == EXPR_TILE && s->p->op[n->integer].kind == PROGRAM_TRANSPOSE;
    if (*turned)
        n = &s->p->graph->node[s->p->op[n->integer].arg[0].node];
    const struct program_op *op = n->op == EXPR_TILE ? &s->p->op[n->integer] : NULL;
    return op && op->kind == PROGRAM_SLICE ? op : NULL;
}

/* What the row of the first operand is multiplied with, column by column: rows of the tile from its own first one on.
 */
static void naive_take_slice(struct naive *s, const struct program_op *slice, bool turned, int64_t row, int64_t k,
                             int64_t n, float *right)
{
    const struct program_tile *tile = &slice->arg[0];
    s->now++;
    const int64_t first = naive_eval(s, &slice->arg[1], slice->arg[1].node, row, 0).whole;
    assert_true(first >= 0 && first + slice->tile.rows <= tile->rows);
    for (int64_t i = 0; i < k * n; i++) {
        const int64_t r = first + (turned ? i / k : i % k), c = turned ? i % k : i / k;
        const struct naive_value v = naive_at(s, tile, r, c);
        const bool real = s->p->graph->node[tile->node].type == EXPR_REAL;
        right[i] = naive_valid(s, tile, r, c) ? (real ? v.real : (float)v.whole) : 0;
    }
}

static void naive_dot(struct naive *s, const struct program_op *op, struct naive_value *to)
{
    const struct program_tile *a = &op->arg[0], *b = &op->arg[1], *c = &op->arg[2];
    int64_t m = a->rows, k = a->columns, n = b->columns;
    float *left = malloc(sizeof *left * (size_t)(m * k)), *right = malloc(sizeof *right * (size_t)(k * n));
    float *term = malloc(2 * sizeof *term * (size_t)(k + 1)); /* and as many turned round */
    bool whole = s->p->graph->node[op->tile.node].type == EXPR_INT;
    bool turned;
    const struct program_op *slice = naive_sliced(s, b, &turned);
    assert_true(left && right && term);
    for (int64_t i = 0; i < m * k; i++) {
        struct naive_value v = naive_at(s, a, i / k, i % k);
        bool real = s->p->graph->node[a->node].type == EXPR_REAL;
        left[i] = naive_valid(s, a, i / k, i % k) ? (real ? v.real : (float)v.whole) : 0;
    }
    for (int64_t i = 0; i < k * n && !slice; i++) { /* column by column */
        struct naive_value v = naive_at(s, b, i / n, i % n);
        bool real = s->p->graph->node[b->node].type == EXPR_REAL;
        right[i % n * k + i / n] = naive_valid(s, b, i / n, i % n) ? (real ? v.real : (float)v.whole) : 0;
    }
    for (int64_t i = 0; i < m * n; i++) {
        const float *row = left + i / n * k, *column = right + i % n * k;
        int64_t terms = 0, sum = 0;
        struct naive_value first = {0, 0};
        if (slice && i % n == 0)
            naive_take_slice(s, slice, turned, i / n, k, n, right);
        bool has_c = c->node >= 0 && naive_valid(s, c, i / n, i % n);
        if (has_c)
            first = naive_at(s, c, i / n, i % n);
        for (int64_t x = 0; x < k; x++)
            term[terms++] = row[x] * column[x];
        for (int64_t x = 0; x < k && whole; x++)
            sum += (int64_t)row[x] * (int64_t)column[x];
        if (has_c)
            term[terms++] = first.real;
        to[i].whole = first.whole + sum;
        to[i].real = whole ? 0 : naive_add_up(s, term, terms, term + k + 1);
    }
    free(left);
    free(right);
    free(term);
}

static void naive_reduce(struct naive *s, const struct program_op *op, struct naive_value *to)
{
    const struct program_tile *a = &op->arg[0];
    int64_t outer = op->over_rows ? a->columns : a->rows, inner = op->over_rows ? a->rows : a->columns;
    float *term = malloc(2 * sizeof *term * (size_t)inner);
    assert_non_null(term);
    for (int64_t i = 0; i < outer; i++) {
        int64_t count = 0;
        to[i].real = op->reduction == PROGRAM_MAX ? -INFINITY : INFINITY;
        to[i].whole = op->reduction == PROGRAM_SUM ? 0 : op->reduction == PROGRAM_MAX ? INT64_MIN : INT64_MAX;
        for (int64_t k = 0; k < inner; k++) {
            int64_t row = op->over_rows ? k : i, column = op->over_rows ? i : k;
            if (!naive_valid(s, a, row, column))
                continue;
            struct naive_value v = naive_at(s, a, row, column);
            term[count++] = v.real;
            if (op->reduction == PROGRAM_SUM) {
                to[i].whole = (int64_t)((uint64_t)to[i].whole + (uint64_t)v.whole);
            } else if (op->reduction == PROGRAM_MAX) {
                to[i].real = fmaxf(to[i].real, v.real);
                to[i].whole = v.whole > to[i].whole ? v.whole : to[i].whole;
            } else {
                to[i].real = fminf(to[i].real, v.real);
                to[i].whole = v.whole < to[i].whole ? v.whole : to[i].whole;
            }
        }
        if (op->reduction == PROGRAM_SUM)
            to[i].real = naive_add_up(s, term, count, term + inner);
    }
    free(term);
}

static void naive_store(struct naive *s, const struct program_op *op)
{
    bool scatter = op->kind == PROGRAM_SCATTER_ADD;
    int64_t rows = scatter ? op->arg[1].rows : 1, columns = 1;
    for (int d = 0; d < s->kernel->tensor[op->tensor].rank; d++)
        if (op->at[d].length > 0 && !(scatter && d == op->gathered))
            *(op->at[d].column ? &columns : &rows) *= op->at[d].length;
    const struct naive_place place = naive_place(s, op);
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t row = i / columns, column = i % columns, number = 0;
        if (scatter && !naive_valid(s, &op->arg[1], row, 0))
            continue;
        if (scatter)
            number = naive_at(s, &op->arg[1], row, 0).whole;
        int64_t offset = naive_offset(s, op, &place, row, column, number);
        if (offset < 0 || !naive_valid(s, &op->arg[0], row, column))
            continue;
        struct naive_value v = naive_at(s, &op->arg[0], row, column);
        double value = s->p->graph->node[op->arg[0].node].type == EXPR_REAL ? (double)v.real : (double)v.whole;
        double *to = &s->out[op->tensor][offset];
        enum tw_dtype dtype = s->kernel->tensor[op->tensor].dtype;
        *to = naive_element(dtype, op->kind == PROGRAM_STORE ? value : *to + naive_element(dtype, value));
    }
}

/* A tile's elements as an operation of PARAM's type gives them. */
static void naive_copy(struct naive *s, const struct program_tile *from, const struct program_tile *as,
                       struct naive_value *to)
{
    for (int64_t i = 0; i < (int64_t)as->rows * as->columns; i++) {
        to[i] = naive_at(s, from, i / as->columns, i % as->columns);
        if (s->p->graph->node[from->node].type != EXPR_REAL)
            to[i].real = (float)to[i].whole;
    }
}

static void naive_load(struct naive *s, const struct program_op *op, struct naive_value *result)
{
    const struct naive_place place = naive_place(s, op);
    int64_t columns = op->tile.columns, count = op->tile.rows * columns;
    bool gather = op->kind == PROGRAM_GATHER, real = s->p->graph->node[op->tile.node].type == EXPR_REAL;
    for (int64_t k = 0; k < count; k++) {
        bool there = !gather || naive_valid(s, &op->arg[0], k / columns, 0);
        int64_t number = gather && there ? naive_at(s, &op->arg[0], k / columns, 0).whole : 0;
        int64_t offset = there ? naive_offset(s, op, &place, k / columns, k % columns, number) : -1;
        double value = offset >= 0 ? s->data->tensor[op->tensor][offset] : 0;
        result[k] = (struct naive_value){real ? 0 : (int64_t)value, (float)value};
    }
}

/* How many values of its row are less, each counted where it stands first. */
static void naive_rank(struct naive *s, const struct program_op *op, struct naive_value *result)
{
    int64_t columns = op->tile.columns;
    for (int64_t k = 0; k < op->tile.rows * columns; k++) {
        int64_t row = k / columns, own = naive_at(s, &op->arg[0], row, k % columns).whole, rank = 0;
        for (int64_t c = 0; c < columns; c++) {
            int64_t x = naive_at(s, &op->arg[0], row, c).whole;
            bool first = true;
            for (int64_t b = 0; b < c; b++)
                first = first && naive_at(s, &op->arg[0], row, b).whole != x;
            rank += first && x < own;
        }
        result[k] = (struct naive_value){rank, (float)rank};
    }
}

static void naive_segment(struct naive *s, const struct program_op *op, struct naive_value *result)
{
    static const int64_t none[PROGRAM_REDUCTIONS] = {0, INT32_MIN, INT32_MAX};
    int64_t columns = op->tile.columns;
    for (int64_t k = 0; k < op->tile.rows * columns; k++) {
        int64_t row = k / columns, sum = none[op->reduction];
        for (int64_t c = 0; c < columns; c++) {
            int64_t x = naive_at(s, &op->arg[0], row, c).whole;
            if (naive_at(s, &op->arg[1], row, c).whole != k % columns)
                continue;
            if (op->reduction == PROGRAM_SUM)
                sum = (int64_t)((uint64_t)sum + (uint64_t)x);
            else
                sum = (op->reduction == PROGRAM_MAX) == (x > sum) ? x : sum;
        }
        result[k] = (struct naive_value){sum, (float)sum};
    }
}

static void naive_operations(struct naive *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct program_op *op = &s->p->op[i];
        int64_t columns = op->tile.columns, count = op->tile.rows * columns;
        struct naive_value *result = s->result[i];
        switch (op->kind) {
        case PROGRAM_LOAD:
        case PROGRAM_GATHER:
            naive_load(s, op, result);
            break;
        case PROGRAM_DOT:
            naive_dot(s, op, result);
            break;
        case PROGRAM_REDUCE:
            naive_reduce(s, op, result);
            break;
        case PROGRAM_TRANSPOSE:
            for (int64_t k = 0; k < count; k++)
                result[k] = naive_at(s, &op->arg[0], k % columns, k / columns);
            break;
        case PROGRAM_PICK:
            for (int64_t k = 0; k < count; k++)
                result[k] = naive_at(s, &op->arg[0], k, op->which);
            break;
        case PROGRAM_STAGE:
            naive_copy(s, &op->arg[0], &op->tile, result);
            break;
        case PROGRAM_RANK:
            naive_rank(s, op, result);
            break;
        case PROGRAM_SEGMENT:
            naive_segment(s, op, result);
            break;
        case PROGRAM_RESULT:
            memcpy(result, s->result[op->loop + 1 + op->which], sizeof *result * (size_t)count);
            break;
        case PROGRAM_LOOP: {
            const struct program_op *end = &s->p->op[op->end];
            int64_t first = naive_number(s, op->from), last = naive_number(s, op->to), step = naive_number(s, op->step);
            struct naive_value *next[PROGRAM_MAX_CARRIED];
            int64_t base = 0;
            for (int d = 0; op->list >= 0 && d < s->kernel->tensor[op->list].rank; d++) {
                bool last_dim = d + 1 == s->kernel->tensor[op->list].rank;
                base = base * s->data->extent[op->list][d] + (last_dim ? 0 : naive_number(s, op->at[d].start));
            }
            for (int c = 0; c < op->carried; c++) {
                const struct program_tile *tile = &s->p->op[i + 1 + c].tile;
                naive_copy(s, &op->value[c], tile, s->result[i + 1 + c]);
                next[c] = malloc(sizeof **next * (size_t)(tile->rows * tile->columns));
                assert_non_null(next[c]);
            }
            int64_t turns = last > first ? (last - first + step - 1) / step : 0;
            bool down = s->down && s->down[i];
            for (int64_t k = 0; k < turns; k++) {
                int64_t x = first + (down ? turns - 1 - k : k) * step;
                s->turn = ++s->now;
                s->loop[i] = op->list >= 0 ? (int64_t)s->data->tensor[op->list][base + x] : x;
                naive_operations(s, i + 1 + op->carried, op->end);
                for (int c = 0; c < op->carried; c++)
                    naive_copy(s, &end->value[c], &s->p->op[i + 1 + c].tile, next[c]);
                for (int c = 0; c < op->carried; c++) {
                    const struct program_tile *tile = &s->p->op[i + 1 + c].tile;
                    memcpy(s->result[i + 1 + c], next[c], sizeof **next * (size_t)(tile->rows * tile->columns));
                }
            }
            for (int c = 0; c < op->carried; c++)
                free(next[c]);
            i = op->end;
            break;
        }
        case PROGRAM_STORE:
        case PROGRAM_STORE_ADD:
        case PROGRAM_SCATTER_ADD:
            naive_store(s, op);
            break;
        default:
            break;
        }
    }
}

void naive_run(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
               const bool *down, double *const *out, uint64_t seed)
{
    naive_run_some(p, kernel, data, down, out, seed, 1);
}

void naive_run_some(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
                    const bool *down, double *const *out, uint64_t seed, int every)
{
    struct naive s = {.p = p,
                      .kernel = kernel,
                      .data = data,
                      .down = down,
                      .out = out,
                      .random = seed * 2654435761u + 88172645463325252u};
    size_t nodes = (size_t)p->graph->count, ops = (size_t)p->op_count;
    s.loop = calloc(ops, sizeof *s.loop);
    s.result = calloc(ops, sizeof *s.result);
    s.memo = calloc(nodes, sizeof *s.memo);
    s.stamp = calloc(nodes, sizeof *s.stamp);
    s.fixed = calloc(nodes, sizeof *s.fixed);
    assert_true(s.loop && s.result && s.memo && s.stamp && s.fixed);
    naive_find_fixed(&s);
    for (size_t i = 0; i < ops; i++)
        s.result[i] = calloc((size_t)(p->op[i].tile.rows * p->op[i].tile.columns) + 1, sizeof **s.result);
    int64_t items = program_items(p, data->symbol);
    for (int64_t item = 0; item < items; item++) {
        int64_t rest = item;
        if (item % every != (int64_t)(seed % (uint64_t)every) && item + 1 < items)
            continue;
        for (int a = p->axis_count - 1; a >= 0; a--) {
            int64_t tile = p->axis[a].tile > 0 ? p->axis[a].tile : 1, extent = 1;
            if (p->axis[a].extent >= 0)
                assert_true(expr_eval_int(p->graph, p->axis[a].extent, data->symbol, &extent));
            int64_t steps = p->axis[a].extent >= 0 ? (extent + tile - 1) / tile : 1;
            s.at[a] = rest % steps * tile;
            rest /= steps;
        }
        s.turn = ++s.now;
        naive_operations(&s, 0, p->op_count);
    }
    for (size_t i = 0; i < ops; i++)
        free(s.result[i]);
    free(s.loop);
    free(s.result);
    free(s.memo);
    free(s.stamp);
    free(s.fixed);
}
