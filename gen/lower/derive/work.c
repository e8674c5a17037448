#include "lower/derive/work.h"

#include <math.h>
#include <string.h>

struct import {
    struct work *w;
    const struct program_tile *tile;
    int *memo; /* by node of the program's graph: node of the work graph + 1 */
    struct diag_loc loc;
    bool turned; /* rows of what is imported are columns of the tile that is consumed */
    int status;
};

static int import(struct import *m, int node);

static int import_index(struct import *m, const struct expr_node *n)
{
    int by_axis = m->tile ? m->tile->index[n->integer] : -1;
    if (by_axis >= 0)
        return import(m, by_axis);
    const char *axis = m->w->l->kernel->axis[n->integer];
    m->status = program_refuse(m->w->l, m->loc, "PROGRAM-INDEX",
                               "the tile does not run along axis %s, whose index it asks for; load or store it along "
                               "that axis",
                               axis);
    return -1;
}

/* The variable of a loop over a list is the entry at the place in hand, which is what LOOP counts from there on. */
static int import_entry(struct import *m, const struct expr_node *n)
{
    const struct program_op *loop = &m->w->program->op[n->integer];
    int index[SPEC_MAX_RANK], rank = m->w->l->plan->tensor[loop->list].rank;
    for (int d = 0; d + 1 < rank; d++)
        index[d] = import(m, loop->at[d].start);
    index[rank - 1] = expr_leaf(&m->w->graph, EXPR_LOOP, EXPR_INT, n->integer);
    return m->status ? -1 : expr_tensor(&m->w->graph, loop->list, EXPR_INT, rank, index);
}

/* Turns of a loop whose range sizes alone decide, in the work graph. */
static int turns_of(struct work *w, const struct program_op *loop)
{
    struct expr_graph *g = &w->graph;
    const int from = expr_import(g, w->program->graph, loop->from), to = expr_import(g, w->program->graph, loop->to);
    const int span = expr_binary(g, EXPR_MAX, expr_binary(g, EXPR_SUB, to, from), expr_int(g, 0));
    return expr_ceil_div(g, span, expr_import(g, w->program->graph, loop->step));
}

/* Of the item's record of the list (plan/list.h) the word at `at`; -1 out of memory. */
static int listed_word(struct work *w, int at)
{
    struct expr_graph *g = &w->graph;
    int record = expr_int(g, 0);
    for (int a = 0; a < w->program->axis_count; a++) {
        const struct program_axis *axis = &w->program->axis[a];
        if (!(w->l->list_axes >> a & 1))
            continue;
        const int tile = expr_int(g, axis->tile > 0 ? axis->tile : 1), own = expr_leaf(g, EXPR_AT, EXPR_INT, a);
        const int many = expr_ceil_div(g, expr_import(g, w->program->graph, axis->extent), tile);
        record =
            expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_MUL, record, many), expr_binary(g, EXPR_FLOORDIV, own, tile));
    }
    const int turns = turns_of(w, &w->program->op[plan_number(w->l->listed)]);
    const int words = expr_binary(g, EXPR_ADD, turns, expr_int(g, PLAN_LIST_HEAD + PLAN_LIST_TAIL));
    return expr_unary(g, EXPR_LISTED, expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_MUL, record, words), at));
}

/* The variable of a loop by a list: LOOP counts on as in the range, by its step. */
static int listed_entry(struct work *w, int op)
{
    struct expr_graph *g = &w->graph;
    const int step = expr_import(g, w->program->graph, w->program->op[op].step);
    const int turn = expr_binary(g, EXPR_FLOORDIV, expr_leaf(g, EXPR_LOOP, EXPR_INT, op), step);
    return listed_word(w, expr_binary(g, EXPR_ADD, turn, expr_int(g, PLAN_LIST_HEAD)));
}

int work_within(const struct work *w, struct expr_graph *g, const struct program_op *o, int d, bool turned)
{
    const struct program_coordinate *c = &o->at[d];
    int within = expr_leaf(g, c->column != turned ? EXPR_COLUMN : EXPR_ROW, EXPR_INT, 0);
    int64_t behind = 1, before = 1;
    for (int k = 0; k < w->l->plan->tensor[o->tensor].rank && !c->column; k++) {
        const int length = o->at[k].column || o->at[k].length < 1 ? 1 : o->at[k].length;
        before *= k < d ? length : 1;
        behind *= k > d ? length : 1;
    }
    if (behind > 1)
        within = expr_binary(g, EXPR_FLOORDIV, within, expr_int(g, behind));
    return before > 1 ? expr_binary(g, EXPR_MOD, within, expr_int(g, c->length)) : within;
}

/* An element of a tile that is loaded for arithmetic alone is read where it is used. */
static int import_load(struct import *m, const struct program_op *op)
{
    struct expr_graph *g = &m->w->graph;
    int index[SPEC_MAX_RANK], rank = m->w->l->plan->tensor[op->tensor].rank;
    for (int d = 0; d < rank; d++) {
        const struct program_coordinate *c = &op->at[d];
        bool by_number = op->kind == PROGRAM_GATHER && d == op->gathered;
        index[d] = import(m, by_number ? op->arg[0].node : c->start);
        if (m->status)
            return -1;
        if (c->length > 1)
            index[d] = expr_binary(g, EXPR_ADD, index[d], work_within(m->w, g, op, d, m->turned));
    }
    bool real = tw_dtype_info(m->w->l->plan->tensor[op->tensor].dtype)->kind == TW_KIND_FLOAT;
    return expr_tensor(g, op->tensor, real ? EXPR_REAL : EXPR_INT, rank, index);
}

/* What is turned is read in the other order; sums stay where they are. */
static int import_turned(struct import *m, const struct program_op *op)
{
    struct import other = {.w = m->w, .tile = &op->arg[0], .loc = op->loc, .turned = !m->turned};
    other.memo = plan_alloc(m->w->l->plan, sizeof *other.memo * (size_t)(m->w->program->graph->count + 1));
    if (!other.memo) {
        m->status = 3;
        return -1;
    }
    int result = import(&other, op->arg[0].node);
    m->status = other.status;
    return result;
}

static int import_tile(struct import *m, int number)
{
    const struct program_op *op = &m->w->program->op[number];
    struct work_op *known = &m->w->op[number];
    if (op->window.dims) {
        m->status = program_refuse(m->w->l, op->loc, "PROGRAM-LOWER",
                                   "what im2col gives is an operand of a dot, as it is; write dot(im2col(...), b)");
        return -1;
    }
    if (work_is_load(op)) {
        int element = import_load(m, op);
        known->element = known->element == -1 || known->element == element ? element : -2;
        return element;
    }
    if (op->kind == PROGRAM_TRANSPOSE)
        return import_turned(m, op);
    if (known->result >= 0 && m->turned) {
        m->status = program_refuse(m->w->l, m->loc, "PROGRAM-LOWER",
                                   "what a dot gives is turned only where it is stored; write store(..., value:t())");
        return -1;
    }
    if (known->result >= 0)
        return known->result;
    m->status = program_refuse(m->w->l, op->loc, "PROGRAM-LOWER", "%s gives no tile for arithmetic here",
                               program_kinds[op->kind].name);
    return -1;
}

/* True where the node is a constant; *value receives it. */
static bool constant(const struct expr_graph *g, int node, double *value)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_CONST_REAL)
        *value = n->real;
    else if (n->op == EXPR_CONST_INT && n->type == EXPR_INT)
        *value = (double)n->integer;
    else
        return false;
    return true;
}

/* node = x * *factor with a positive constant: returns x. Else -1. */
static int without_factor(const struct expr_graph *g, int node, double *factor)
{
    const struct expr_node *n = &g->node[node];
    for (int i = 0; n->op == EXPR_MUL && n->type == EXPR_REAL && i < 2; i++)
        if (constant(g, n->arg[i], factor) && *factor > 0 && isfinite(*factor) &&
            g->node[n->arg[1 - i]].type == EXPR_REAL)
            return n->arg[1 - i];
    return -1;
}

/* select(condition, c x, -inf) is c select(condition, x, -inf): the factor moves out, where a reduction leaves it. */
static int select_of(struct expr_graph *g, int condition, int yes, int no)
{
    double factor, other;
    int x = without_factor(g, yes, &factor);
    if (x < 0 || !constant(g, no, &other) || !isinf(other))
        return expr_select(g, condition, yes, no);
    return expr_binary(g, EXPR_MUL, expr_select(g, condition, x, no), expr_real(g, factor));
}

static bool is_moderate(double factor, double most)
{
    return fabs(factor) >= 1 / most && fabs(factor) <= most;
}

/* x c + u v, of which u stays along the row, is (x + u/c v) c: u/c is computed once a row, and the multiplication by c
 * moves out, to be left to the row by a reduction, and to join an addition behind it. Where |u| is above the largest
 * float times c, at least 2^111, u/c is infinite and u is not. Returns x + u/c v, or -1. */
static int sum_without_factor(struct work *w, int node, double *factor)
{
    struct expr_graph *g = &w->graph;
    const struct expr_node sum = g->node[node]; /* copies: adding nodes moves them */
    if ((sum.op != EXPR_ADD && sum.op != EXPR_SUB) || sum.type != EXPR_REAL)
        return -1;
    for (int i = 0; i < 2; i++) {
        const struct expr_node term = g->node[sum.arg[1 - i]];
        const int x = without_factor(g, sum.arg[i], factor);
        for (int k = 0; x >= 0 && is_moderate(*factor, 0x1p16) && term.op == EXPR_MUL && k < 2; k++) {
            if ((work_scope(w, term.arg[k]) & WORK_COLUMN) || !(work_scope(w, term.arg[1 - k]) & WORK_COLUMN))
                continue;
            const int once = expr_binary(g, EXPR_MUL, term.arg[k], expr_real(g, 1 / *factor));
            const int other = expr_binary(g, EXPR_MUL, once, term.arg[1 - k]);
            return i == 0 ? expr_binary(g, sum.op, x, other) : expr_binary(g, sum.op, other, x);
        }
    }
    return -1;
}

/* (x c) d is x (c d), and (x c) / d is x (c / d): one multiplication, and one rounding, for two. Not of factors so
 * large or small that x c alone would leave what a float holds where the whole does not, or the other way round. */
static int product_of(struct work *w, const struct expr_node *n)
{
    struct expr_graph *g = &w->graph;
    const bool quotient = n->op == EXPR_DIV;
    double factor, other;
    for (int i = quotient; n->type == EXPR_REAL && i < 2; i++) {
        if (!constant(g, n->arg[i], &factor) || !is_moderate(factor, 0x1p32))
            continue;
        int x = without_factor(g, n->arg[1 - i], &other);
        x = x >= 0 ? x : sum_without_factor(w, n->arg[1 - i], &other);
        if (x >= 0 && is_moderate(other, 0x1p32))
            return expr_binary(g, EXPR_MUL, x, expr_real(g, quotient ? other / factor : other * factor));
    }
    return expr_add(g, n);
}

static int import(struct import *m, int node)
{
    struct expr_graph *g = &m->w->graph;
    if (node < 0 || m->status)
        return -1;
    if (m->memo[node])
        return m->memo[node] - 1;
    struct expr_node n = m->w->program->graph->node[node];
    int result;
    if (n.op == EXPR_INDEX) {
        result = import_index(m, &n);
    } else if (n.op == EXPR_TILE) {
        result = import_tile(m, (int)n.integer);
    } else if (n.op == EXPR_LOOP && plan_some((int)n.integer) == m->w->l->listed) {
        result = listed_entry(m->w, (int)n.integer);
    } else if (n.op == EXPR_LOOP && m->w->program->op[n.integer].list >= 0) {
        result = import_entry(m, &n);
    } else if (m->turned && (n.op == EXPR_ROW || n.op == EXPR_COLUMN)) {
        result = expr_leaf(g, n.op == EXPR_ROW ? EXPR_COLUMN : EXPR_ROW, EXPR_INT, 0);
    } else if (n.op == EXPR_TENSOR) {
        int index[SPEC_MAX_RANK];
        for (int d = 0; d < n.rank; d++)
            index[d] = import(m, m->w->program->graph->index[n.first_index + d]);
        result = m->status ? -1 : expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    } else {
        for (int i = 0; i < 3; i++)
            n.arg[i] = import(m, n.arg[i]);
        if (m->status)
            return -1;
        result = n.op == EXPR_SELECT                    ? select_of(g, n.arg[0], n.arg[1], n.arg[2])
                 : n.op == EXPR_MUL || n.op == EXPR_DIV ? product_of(m->w, &n)
                                                        : expr_add(g, &n);
    }
    bool whole = n.type == EXPR_INT && result < 0;
    for (int i = 0; whole && !m->status && i < 3; i++)
        if (n.arg[i] >= 0 && g->node[n.arg[i]].type == EXPR_REAL)
            m->status = program_refuse(m->w->l, m->loc, "PROGRAM-LOWER",
                                       "whole numbers that are reduced or carried are held in fp32 beside dots, and "
                                       "%s takes integers; use real arithmetic on cast(x, \"fp32\")",
                                       expr_ops[n.op].name);
    if (result < 0 && !m->status)
        m->status = 3;
    m->memo[node] = result + 1;
    return result;
}

/* A node of the program as `tile` is consumed; `turned`: its rows are the columns of what takes it. */
static int imported_as(struct work *w, int node, const struct program_tile *tile, bool turned, struct diag_loc loc,
                       int *status)
{
    if (node < 0 || *status)
        return -1;
    struct import m = {.w = w, .tile = tile, .loc = loc, .turned = turned};
    m.memo = plan_alloc(w->l->plan, sizeof *m.memo * (size_t)(w->program->graph->count + 1));
    if (!m.memo) {
        *status = 3;
        return -1;
    }
    int result = import(&m, node);
    *status = m.status;
    return result;
}

static int imported(struct work *w, int node, const struct program_tile *tile, struct diag_loc loc, int *status)
{
    return imported_as(w, node, tile, false, loc, status);
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* `node` where the condition holds, else the identity: 0 of sums, an infinity of the largest and smallest. It is pushed
 * inwards where that gives a node which others use too: 2^(a - b) is 0 where a is -inf. */
static int masked(struct expr_graph *g, int node, int condition, double identity)
{
    struct expr_node n = g->node[node];
    double value, factor;
    if (condition < 0)
        return node;
    if (identity == 0.0 && n.op == EXPR_EXP2_DIFF) {
        int a = masked(g, n.arg[0], condition, -INFINITY);
        return expr_binary(g, EXPR_EXP2_DIFF, a, n.arg[1]);
    }
    if (n.op == EXPR_CAST)
        return expr_cast(g, masked(g, n.arg[0], condition, identity), n.dtype);
    if (isinf(identity)) {
        int x = without_factor(g, node, &factor);
        if (x >= 0)
            return expr_binary(g, EXPR_MUL, masked(g, x, condition, identity), expr_real(g, factor));
        if (n.op == EXPR_SELECT && constant(g, n.arg[2], &value) && value == identity)
            return expr_select(g, expr_binary(g, EXPR_AND, condition, n.arg[0]), n.arg[1], n.arg[2]);
    }
    return expr_select(g, condition, node, expr_real(g, identity));
}

static int reduce(struct work *w, const struct program_op *op, struct work_op *k, int *status)
{
    static const double identity[PROGRAM_REDUCTIONS] = {[PROGRAM_MAX] = -INFINITY, [PROGRAM_MIN] = INFINITY};
    struct expr_graph *g = &w->graph;
    if (op->over_rows)
        return program_refuse(w->l, op->loc, "PROGRAM-LOWER",
                              "a reduction of columns beside a dot is not lowered; reduce rows, or transpose the dot");
    if (op->arg[0].columns == 1)
        return program_refuse(w->l, op->loc, "PROGRAM-LOWER",
                              "what is reduced has one column, and is the result already; write it as it is");
    int root = imported(w, op->arg[0].node, &op->arg[0], op->loc, status);
    int valid = imported(w, op->arg[0].valid_column, &op->arg[0], op->loc, status);
    if (*status)
        return *status;
    root = masked(g, root, valid, identity[op->reduction]);
    double factor = 1.0;
    int plain = op->reduction == PROGRAM_SUM || root < 0 ? -1 : without_factor(g, root, &factor);
    k->arg[0] = plain >= 0 ? plain : root;
    k->result = plain >= 0 ? expr_binary(g, EXPR_MUL, k->leaf, expr_real(g, factor)) : k->leaf;
    return k->arg[0] < 0 || k->result < 0 ? 3 : 0;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* The operation that gave the tile; -1: it is computed. */
static int giver(const struct work *w, const struct program_tile *tile)
{
    const struct expr_node *n = &w->program->graph->node[tile->node];
    return n->op == EXPR_TILE ? (int)n->integer : -1;
}

int work_view(const struct work *w, const struct program_tile *operand, bool *transposed)
{
    int op = giver(w, operand);
    *transposed = op >= 0 && w->program->op[op].kind == PROGRAM_TRANSPOSE;
    if (*transposed)
        op = giver(w, &w->program->op[op].arg[0]);
    if (op >= 0 && w->program->op[op].kind == PROGRAM_SLICE)
        op = giver(w, &w->program->op[op].arg[0]);
    return op >= 0 && work_is_load(&w->program->op[op]) ? op : -1;
}

/* Below the node: its operand, where the other is a whole number; else the node itself. */
static int with_number(const struct expr_graph *g, int node, int64_t *number)
{
    const struct expr_node *n = &g->node[node];
    return n->arg[0] >= 0 && n->arg[1] >= 0 && expr_is_int(g, n->arg[1], number) ? n->arg[0] : node;
}

/* The node below what takes half of a byte. */
static int below_half(const struct expr_graph *g, int node, struct work_conversion *how)
{
    int64_t less = 0, half = 0;
    enum expr_op op = g->node[node].op;
    int below = op == EXPR_SUB || op == EXPR_ADD ? with_number(g, node, &less) : node;
    less = g->node[node].op == EXPR_ADD ? -less : less;
    int inner =
        g->node[below].op == EXPR_MOD || g->node[below].op == EXPR_FLOORDIV ? with_number(g, below, &half) : below;
    if (inner == below || half != 16 || less < 0 || less > 15)
        return node;
    *how = (struct work_conversion){g->node[below].op == EXPR_MOD ? WORK_LOW : WORK_HIGH, (int)less};
    return inner;
}

int work_converted(const struct work *w, const struct program_tile *operand, bool *transposed,
                   struct work_conversion *how)
{
    const struct program *p = w->program;
    enum tw_dtype to = TW_DTYPE_COUNT;
    *transposed = false;
    *how = (struct work_conversion){WORK_BYTE, 0};
    for (int node = operand->node;;) {
        const struct expr_node *n = &p->graph->node[node];
        const struct program_op *op = n->op == EXPR_TILE ? &p->op[n->integer] : NULL;
        if (n->op == EXPR_CAST && to == TW_DTYPE_COUNT) {
            to = n->dtype;
            node = below_half(p->graph, n->arg[0], how);
        } else if (op && op->kind == PROGRAM_TRANSPOSE) {
            *transposed = !*transposed;
            node = op->arg[0].node;
        } else {
            bool from = op && work_is_load(op) &&
                        (op->tile.dtype == TW_UINT8 || (op->tile.dtype == TW_INT8 && how->bits == WORK_BYTE));
            return from && (to == TW_BF16 || to == TW_FP16) ? (int)n->integer : -1;
        }
    }
}

int work_named(const struct work *w, const char *name)
{
    for (int i = 0; name && i < w->program->op_count; i++)
        if (w->program->op[i].name && strcmp(w->program->op[i].name, name) == 0)
            return i;
    return -1;
}

bool work_is_store(const struct program_op *op)
{
    return op->kind == PROGRAM_STORE || op->kind == PROGRAM_STORE_ADD;
}

bool work_is_load(const struct program_op *op)
{
    return op->kind == PROGRAM_LOAD || op->kind == PROGRAM_GATHER;
}

/* The node takes what an operation gave. */
static bool takes_tile(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    bool takes = n->op == EXPR_TILE;
    for (int i = 0; i < 3 && !takes; i++)
        takes = n->arg[i] >= 0 && takes_tile(w, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !takes; i++)
        takes = takes_tile(w, w->graph.index[n->first_index + i]);
    return takes;
}

/* The numbers of the rows; that of a row which is not there lies outside of every tensor, so that zeros come. */
static int gather(struct work *w, const struct program_op *op, struct work_op *k)
{
    int status = 0;
    const struct program_tile *numbers = &op->arg[0];
    int number = imported(w, numbers->node, numbers, op->loc, &status);
    int valid = imported(w, numbers->valid_row, numbers, op->loc, &status);
    if (!status && takes_tile(w, number))
        return program_refuse(
            w->l, op->loc, "PROGRAM-LOWER",
            "the numbers of these rows are computed from what a dot or a reduction gave, and rows are "
            "loaded before it; load the numbers from a tensor");
    if (!status && valid >= 0)
        number = expr_select(&w->graph, valid, number, expr_int(&w->graph, -1));
    k->at[op->gathered] = number;
    return status ? status : number < 0 ? 3 : 0;
}

int work_ending(const struct work *w, int gather)
{
    const int number = w->op[gather].at[w->program->op[gather].gathered];
    const struct expr_node *n = &w->graph.node[number];
    int64_t outside;
    return n->op == EXPR_SELECT && expr_is_int(&w->graph, n->arg[2], &outside) && outside == -1 ? n->arg[0] : -1;
}

static int dot(struct work *w, const struct program_op *op, struct work_op *k, int *status)
{
    bool transposed;
    struct work_conversion how;
    for (int i = 0; i < 3 && !*status; i++) {
        const struct program_tile *t = &op->arg[i];
        if (t->node < 0 || (i < 2 && work_view(w, t, &transposed) >= 0) ||
            (i == 0 && work_converted(w, t, &transposed, &how) >= 0))
            continue;
        if (i == 1 && work_converted(w, t, &transposed, &how) >= 0)
            return program_refuse(w->l, op->loc, "PROGRAM-LOWER",
                                  "the second operand of this dot is converted, which threads do in registers, and %s "
                                  "reads it from shared memory; write what is converted as the first operand%s",
                                  w->l->arch->name, w->l->arch->wgmma ? ", or pipeline = { swap = true }" : "");
        if (i == 1)
            return program_refuse(w->l, op->loc, "PROGRAM-LOWER",
                                  "the second operand of this dot is computed, and %s reads it from shared memory; "
                                  "write what is computed as the first operand",
                                  w->l->arch->name);
        int node = imported(w, t->node, t, op->loc, status);
        /* Rows outside of A give rows of the result that are outside too; nothing takes them. */
        int valid = i == 0 ? imported(w, t->valid_column, t, op->loc, status) : -1;
        if (*status)
            return *status;
        k->arg[i] = masked(&w->graph, node, valid, 0.0);
        if (k->arg[i] < 0)
            return 3;
    }
    return *status;
}

const struct program_tile *work_stored(const struct work *w, const struct program_op *store, bool *turned)
{
    const struct expr_node *n = &w->program->graph->node[store->arg[0].node];
    *turned = n->op == EXPR_TILE && w->program->op[n->integer].kind == PROGRAM_TRANSPOSE;
    return *turned ? &w->program->op[n->integer].arg[0] : &store->arg[0];
}

static int store(struct work *w, int number)
{
    bool turned;
    int status = 0;
    const struct program_op *op = &w->program->op[number];
    struct work_op *k = &w->op[number];
    const struct program_tile *tile = work_stored(w, op, &turned), *as = &op->arg[0];
    k->arg[0] = imported(w, tile->node, tile, op->loc, &status);
    int row = imported_as(w, turned ? as->valid_column : as->valid_row, as, turned, op->loc, &status);
    int column = imported_as(w, turned ? as->valid_row : as->valid_column, as, turned, op->loc, &status);
    k->inside = row >= 0 && column >= 0 ? expr_binary(&w->graph, EXPR_AND, row, column) : row >= 0 ? row : column;
    k->beyond = status ? -1 : work_beyond(w, number, &status);
    return status;
}

/* The RESULT of a loop of which blocks have parts that its combine puts together: the rows that there are, and of the
 * last RESULT what combine makes of two parts. In its nodes PARAMs stand for the one part, RESULTs for the other. */
static int combination(struct work *w, const struct program_op *op, struct work_op *k)
{
    const struct program_op *loop = &w->program->op[op->loop];
    int status = 0;
    if (!loop->by_last || loop->stream || !loop->combine)
        return 0;
    k->inside = op->tile.valid_row < 0 ? -1 : imported(w, op->tile.valid_row, &op->tile, op->loc, &status);
    if (status || op->which + 1 < loop->carried)
        return status;
    k->combine = plan_alloc(w->l->plan, sizeof *k->combine * (size_t)loop->carried);
    for (int i = 0; i < loop->carried && k->combine && !status; i++)
        k->combine[i] = imported(w, loop->combine[i], &op[i + 1 - loop->carried].tile, op->loc, &status);
    return k->combine ? status : 3;
}

static int operands(struct work *w, int number)
{
    const struct program_op *op = &w->program->op[number];
    struct work_op *k = &w->op[number];
    int status = 0, rank = op->tensor >= 0 ? w->l->plan->tensor[op->tensor].rank : 0;
    bool places = work_is_load(op) || work_is_store(op);
    for (int d = 0; places && d < rank; d++)
        k->at[d] = imported(w, op->at[d].start, NULL, op->loc, &status);
    if (status)
        return status;
    switch (op->kind) {
    case PROGRAM_DOT:
        return dot(w, op, k, &status);
    case PROGRAM_REDUCE:
        return reduce(w, op, k, &status);
    case PROGRAM_STORE:
    case PROGRAM_STORE_ADD:
        return store(w, number);
    case PROGRAM_LOOP:
    case PROGRAM_END: {
        const struct program_op *loop = op->kind == PROGRAM_LOOP ? op : &w->program->op[op->loop];
        if (op->kind == PROGRAM_LOOP && plan_some(number) == w->l->listed) {
            k->from = expr_int(&w->graph, 0);
            k->to = expr_binary(&w->graph, EXPR_MUL, listed_word(w, k->from),
                                expr_import(&w->graph, w->program->graph, op->step));
            k->low = listed_word(w, expr_int(&w->graph, 1));
            k->until = listed_word(w, expr_int(&w->graph, 2));
            status = k->to < 0 || k->low < 0 || k->until < 0 ? 3 : 0;
        } else if (op->kind == PROGRAM_LOOP) {
            k->from = imported(w, op->from, NULL, op->loc, &status);
            k->to = imported(w, op->to, NULL, op->loc, &status);
        }
        k->value = plan_alloc(w->l->plan, sizeof *k->value * (size_t)(loop->carried + 1));
        if (!k->value)
            return 3;
        for (int i = 0; i < loop->carried && !status; i++)
            k->value[i] = imported(w, op->value[i].node, &op->value[i], op->loc, &status);
        return status;
    }
    case PROGRAM_GATHER:
        return gather(w, op, k);
    case PROGRAM_LOAD:
        for (int d = 0; d < rank; d++)
            if (op->at[d].limit >= 0 && !op->at[d].column && op->at[d].length == op->tile.rows)
                k->end =
                    expr_binary(&w->graph, EXPR_SUB, imported(w, op->at[d].limit, NULL, op->loc, &status), k->at[d]);
        return status;
    case PROGRAM_SLICE:
        k->from = imported(w, op->arg[1].node, &op->arg[1], op->loc, &status);
        if (!status && takes_tile(w, k->from))
            return program_refuse(w->l, op->loc, "PROGRAM-LOWER",
                                  "the first row of this slice is computed from what a dot or a reduction gave, which "
                                  "threads hold; load it from a tensor");
        return status;
    case PROGRAM_TRANSPOSE:
    case PROGRAM_PARAM:
        return 0;
    case PROGRAM_RESULT:
        return combination(w, op, k);
    default:
        return program_refuse(w->l, op->loc, "PROGRAM-LOWER", "%s is not lowered beside dots on %s",
                              program_kinds[op->kind].name, w->l->arch->name);
    }
}

int work_open(struct work *w, const struct program_lowering *l)
{
    *w = (struct work){.l = l, .program = l->kernel->program};
    w->op = plan_alloc(l->plan, sizeof *w->op * (size_t)(w->program->op_count + 1));
    if (!w->op)
        return 3;
    int status = 0, around = -1;
    for (int i = 0; i < w->program->op_count; i++) {
        const struct program_op *op = &w->program->op[i];
        struct work_op *k = &w->op[i];
        *k = (struct work_op){.arg = {-1, -1, -1},
                              .leaf = -1,
                              .result = -1,
                              .from = -1,
                              .to = -1,
                              .inside = -1,
                              .beyond = -1,
                              .end = -1,
                              .low = -1,
                              .until = -1,
                              .element = -1};
        if (op->kind == PROGRAM_END)
            around = w->op[op->loop].parent;
        k->parent = around;
        if (op->kind == PROGRAM_LOOP)
            around = i;
        bool arithmetic = op->kind == PROGRAM_DOT || op->kind == PROGRAM_REDUCE || op->kind == PROGRAM_PARAM ||
                          op->kind == PROGRAM_RESULT;
        enum expr_type type = op->tile.columns > 1 && op->tile.dtype == TW_INT32 ? EXPR_INT : EXPR_REAL;
        if (arithmetic && (k->leaf = k->result = expr_leaf(&w->graph, EXPR_TILE, type, i)) < 0)
            return 3;
        int fault = operands(w, i);
        if (fault == 3)
            return 3;
        status |= fault;
    }
    return status;
}

void work_close(struct work *w)
{
    expr_free(&w->graph);
}

/* What the node itself adds to its operands' scope. */
static int own_scope(const struct work *w, const struct expr_node *n)
{
    if (n->op == EXPR_ROW)
        return WORK_ROW;
    if (n->op == EXPR_COLUMN)
        return WORK_COLUMN;
    if (n->op != EXPR_TILE)
        return WORK_UNIFORM;
    const struct program_tile *t = &w->program->op[n->integer].tile;
    return (t->rows != 1 ? WORK_ROW : 0) | (t->columns != 1 ? WORK_COLUMN : 0);
}

int work_scope(struct work *w, int node)
{
    const struct expr_graph *g = &w->graph;
    if (node >= w->scope_room) {
        int room = 2 * g->count + 64;
        unsigned char *grown = plan_alloc(w->l->plan, (size_t)room);
        if (!grown)
            return WORK_ROW | WORK_COLUMN;
        if (w->scope_count)
            memcpy(grown, w->scope, (size_t)w->scope_count);
        w->scope = grown;
        w->scope_room = room;
    }
    for (int i = w->scope_count; i <= node; i++, w->scope_count++) { /* operands are earlier nodes */
        const struct expr_node *n = &g->node[i];
        int scope = own_scope(w, n);
        for (int a = 0; a < 3; a++)
            scope |= n->arg[a] >= 0 ? w->scope[n->arg[a]] : 0;
        for (int a = 0; n->op == EXPR_TENSOR && a < n->rank; a++)
            scope |= w->scope[g->index[n->first_index + a]];
        w->scope[i] = (unsigned char)scope;
    }
    return w->scope[node];
}
