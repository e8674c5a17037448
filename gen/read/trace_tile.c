/* Tiles while a program is traced: extents, element types, indices by axis, and the conditions at edges. */
#include "read/trace.h"

#include <math.h>
#include <string.h>

const struct program_tile program_no_tile = {
    .node = -1,
    .dtype = TW_DTYPE_COUNT,
    .valid_row = -1,
    .valid_column = -1,
    .index = {-1, -1, -1, -1, -1, -1, -1, -1},
};

enum { NODES_PER_STEP = 16 };

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* Marks the node; the least of those that are. */
static int need(unsigned char *needed, int node, int least)
{
    needed[node] = 1;
    return node < least ? node : least;
}

/* Marks what `node` needs, itself included, by node; on top of the Lua stack, to be popped. */
static unsigned char *push_needed(const struct trace *t, int node)
{
    const struct expr_graph *g = t->p->graph;
    luaL_checkstack(t->r->L, 4, "trace");
    sandbox_charge(t->r->L, node / NODES_PER_STEP);
    unsigned char *needed = lua_newuserdatauv(t->r->L, (size_t)node + 1, 0);
    memset(needed, 0, (size_t)node + 1);
    needed[node] = 1;
    for (int i = node, least = node; i >= least; i--) {
        const struct expr_node *n = &g->node[i];
        for (int k = 0; needed[i] && k < 3; k++)
            if (n->arg[k] >= 0)
                least = need(needed, n->arg[k], least);
        for (int k = 0; needed[i] && k < n->rank; k++)
            least = need(needed, g->index[n->first_index + k], least);
    }
    return needed;
}

bool trace_has(const struct trace *t, int node, enum expr_op op)
{
    bool has = false;
    if (node < 0)
        return false;
    const unsigned char *needed = push_needed(t, node);
    for (int i = 0; i <= node; i++)
        has |= needed[i] && t->p->graph->node[i].op == op;
    lua_pop(t->r->L, 1);
    return has;
}

int trace_leaf_operations(const struct trace *t, int node, int **leaf)
{
    const struct expr_graph *g = t->p->graph;
    const unsigned char *needed = push_needed(t, node);
    int count = 0;
    *leaf = lua_newuserdatauv(t->r->L, ((size_t)node + 1) * sizeof **leaf, 0);
    for (int i = 0; i <= node; i++)
        if (needed[i] && g->node[i].op == EXPR_TILE)
            (*leaf)[count++] = (int)g->node[i].integer;
    lua_remove(t->r->L, -2);
    return count;
}

bool trace_varies(const struct trace *t, int node, int loop)
{
    const struct expr_graph *g = t->p->graph;
    const unsigned char *needed = push_needed(t, node);
    bool found = false;
    for (int i = 0; i <= node; i++) /* leaves of inner loops and what they gave come behind this one */
        found |= needed[i] && (g->node[i].op == EXPR_LOOP || g->node[i].op == EXPR_TILE) && g->node[i].integer >= loop;
    lua_pop(t->r->L, 1);
    return found;
}

/* The coordinate along an axis, where an operation takes a tile that asks for it. An axis along which an item has one
 * place alone, and no tile runs, has that place. */
static int index_of(struct trace *t, int axis, const int *index)
{
    const char *name = reader_kernel(t->r)->axis[axis];
    if (index[axis] == -1 && t->p->axis[axis].extent >= 0 && t->p->axis[axis].tile == 0)
        return expr_leaf(t->p->graph, EXPR_AT, EXPR_INT, axis);
    if (index[axis] == -1)
        return sandbox_fault(t->r->L, "PROGRAM-INDEX", NULL,
                             "no tile of this expression runs along axis %s, so it has no index %s; write axes in the "
                             "tensors that are loaded, or count from at: at.%s + row()",
                             name, name, name);
    if (index[axis] == -2)
        return sandbox_fault(t->r->L, "PROGRAM-INDEX", NULL,
                             "the tiles of this expression are at different places of axis %s, so index %s could mean "
                             "either; give their tensors axes of different names",
                             name, name);
    return index[axis];
}

int trace_replace(struct trace *t, int node, const struct trace_leaves *leaves)
{
    struct expr_graph *g = t->p->graph;
    lua_State *L = t->r->L;
    if (node < 0)
        return node;
    const unsigned char *needed = push_needed(t, node);
    int *map = lua_newuserdatauv(L, ((size_t)node + 1) * sizeof *map, 0);
    for (int i = 0; i <= node; i++) {
        if (!needed[i])
            continue;
        struct expr_node n = g->node[i];
        bool same = true;
        int index[SPEC_MAX_RANK] = {0};
        for (int k = 0; k < 3; k++)
            if (n.arg[k] >= 0) {
                same &= map[n.arg[k]] == n.arg[k];
                n.arg[k] = map[n.arg[k]];
            }
        for (int k = 0; k < n.rank; k++) {
            int from = g->index[n.first_index + k];
            index[k] = map[from];
            same &= index[k] == from;
        }
        map[i] = i;
        if (n.op == EXPR_ROW && leaves->row >= 0)
            map[i] = leaves->row;
        else if (n.op == EXPR_COLUMN && leaves->column >= 0)
            map[i] = leaves->column;
        else if (n.op == EXPR_INDEX && leaves->index)
            map[i] = index_of(t, (int)n.integer, leaves->index);
        else if (!same && n.op == EXPR_TENSOR)
            map[i] = made(t->r, expr_tensor(g, (int)n.integer, n.type, n.rank, index));
        else if (!same)
            map[i] = made(t->r, expr_add(g, &n));
    }
    int result = map[node];
    lua_pop(L, 2);
    return result;
}

/* Whether condition `part` is one of those that `whole` joins. */
static bool includes(const struct expr_graph *g, int whole, int part)
{
    while (g->node[whole].op == EXPR_AND) {
        if (g->node[whole].arg[1] == part)
            return true;
        whole = g->node[whole].arg[0];
    }
    return whole == part;
}

/* Adds the conjuncts of b, a chain to the left, to a: each once, in order. */
int trace_and(struct trace *t, int a, int b)
{
    struct expr_graph *g = t->p->graph;
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    if (g->node[b].op == EXPR_AND) {
        int last = g->node[b].arg[1];
        a = trace_and(t, a, g->node[b].arg[0]);
        return trace_and(t, a, last);
    }
    return includes(g, a, b) ? a : made(t->r, expr_binary(g, EXPR_AND, a, b));
}

/* ---- what structure proves ------------------------------------------------------------------------------------- */

enum { PROOF_DEPTH = 16 };

/* d divides the node for all items and turns. */
static bool divides(const struct trace *t, int64_t d, int node, int depth)
{
    const struct expr_graph *g = t->p->graph;
    const struct expr_node *n = &g->node[node];
    int64_t value;
    if (d == 1)
        return true;
    if (depth == PROOF_DEPTH)
        return false;
    switch (n->op) {
    case EXPR_CONST_INT:
        return n->integer % d == 0;
    case EXPR_SYMBOL:
        return t->r->spec->dim[n->integer].multiple % d == 0;
    case EXPR_AT:
        return t->p->axis[n->integer].tile % d == 0 && t->p->axis[n->integer].tile > 0;
    case EXPR_LOOP: {
        const struct program_op *loop = &t->p->op[n->integer];
        return loop->list < 0 && divides(t, d, loop->step, depth + 1) && divides(t, d, loop->from, depth + 1);
    }
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MIN:
    case EXPR_MAX:
        return divides(t, d, n->arg[0], depth + 1) && divides(t, d, n->arg[1], depth + 1);
    case EXPR_MUL:
        return divides(t, d, n->arg[0], depth + 1) || divides(t, d, n->arg[1], depth + 1) ||
               (expr_is_int(g, n->arg[1], &value) && value && d % value == 0 &&
                divides(t, d / (value < 0 ? -value : value), n->arg[0], depth + 1));
    case EXPR_NEG:
        return divides(t, d, n->arg[0], depth + 1);
    default:
        return false;
    }
}

static bool natural(const struct trace *t, int node, int depth)
{
    const struct expr_graph *g = t->p->graph;
    const struct expr_node *n = &g->node[node];
    if (n->natural || n->op == EXPR_AT || n->op == EXPR_ROW || n->op == EXPR_COLUMN)
        return true;
    if (depth == PROOF_DEPTH)
        return false;
    if (n->op == EXPR_LOOP)
        return t->p->op[n->integer].list < 0 && natural(t, t->p->op[n->integer].from, depth + 1);
    bool a = n->arg[0] >= 0 && natural(t, n->arg[0], depth + 1);
    bool b = n->arg[1] >= 0 && natural(t, n->arg[1], depth + 1);
    return expr_stays_natural(n, a, b);
}

bool trace_natural(const struct trace *t, int node)
{
    return natural(t, node, 0);
}

/* The largest that `node`, the variable of a loop between constants, comes to. */
static bool last_of_loop(const struct trace *t, int node, int64_t *last)
{
    const struct expr_graph *g = t->p->graph;
    const struct program_op *loop = g->node[node].op == EXPR_LOOP ? &t->p->op[g->node[node].integer] : NULL;
    int64_t from, to, step;
    if (!loop || loop->list >= 0 || !expr_is_int(g, loop->from, &from) || !expr_is_int(g, loop->to, &to) ||
        !expr_is_int(g, loop->step, &step) || from < 0 || to <= from || to > INT32_MAX)
        return false;
    *last = from + (to - 1 - from) / step * step;
    return true;
}

/* a + b <= c. A place AT stays below its extent, and a whole tile does where the tile divides the extent; a loop's
 * variable likewise. Blocks of a cluster make whole clusters, the last of which may have items behind the extent. */
static bool at_most(const struct trace *t, int a, int64_t b, int c, int depth)
{
    const struct expr_graph *g = t->p->graph;
    const struct expr_node *x = &g->node[a], *y = &g->node[c];
    int64_t value, bound;
    if (depth == PROOF_DEPTH)
        return false;
    if (y->op == EXPR_MIN)
        return at_most(t, a, b, y->arg[0], depth + 1) && at_most(t, a, b, y->arg[1], depth + 1);
    if (expr_is_int(g, a, &value) && expr_is_int(g, c, &bound))
        return !__builtin_add_overflow(value, b, &value) && value <= bound;
    if (a == c)
        return b <= 0;
    if (y->op == EXPR_ADD && expr_is_int(g, y->arg[1], &value) && value < INT32_MAX && value > INT32_MIN)
        return at_most(t, a, b - value, y->arg[0], depth + 1);
    switch (x->op) {
    case EXPR_CONST_INT:
        return !__builtin_add_overflow(x->integer, b, &value) && value <= 0 && natural(t, c, 0);
    case EXPR_ADD:
        return expr_is_int(g, x->arg[1], &value) && value < INT32_MAX && value > INT32_MIN &&
               at_most(t, x->arg[0], b + value, c, depth + 1);
    case EXPR_MUL: {
        int64_t last;
        return expr_is_int(g, x->arg[1], &value) && value >= 0 && value <= INT32_MAX && expr_is_int(g, c, &bound) &&
               last_of_loop(t, x->arg[0], &last) && b <= INT32_MAX && last * value + b <= bound;
    }
    case EXPR_MIN:
        return at_most(t, x->arg[0], b, c, depth + 1) || at_most(t, x->arg[1], b, c, depth + 1);
    case EXPR_MAX:
        return at_most(t, x->arg[0], b, c, depth + 1) && at_most(t, x->arg[1], b, c, depth + 1);
    case EXPR_AT: {
        const struct program_axis *axis = &t->p->axis[x->integer];
        int tile = axis->tile ? axis->tile : 1, items = axis->cluster > 1 ? axis->cluster : 1;
        bool one = b <= 1 && items == 1;
        return axis->extent >= 0 && (one || (b <= tile && divides(t, (int64_t)tile * items, axis->extent, 0))) &&
               at_most(t, axis->extent, 0, c, depth + 1);
    }
    case EXPR_LOOP: {
        const struct program_op *loop = &t->p->op[x->integer];
        if (loop->list >= 0 || !expr_is_int(g, loop->step, &value))
            return false;
        bool whole = b <= value && divides(t, value, loop->to, 0) && divides(t, value, loop->from, 0);
        return (b <= 1 || whole) && at_most(t, loop->to, 0, c, depth + 1);
    }
    default:
        return false;
    }
}

bool trace_at_most(const struct trace *t, int a, int64_t b, int c)
{
    return at_most(t, a, b, c, 0);
}

/* ---- element types --------------------------------------------------------------------------------------------- */

static bool holds(enum tw_dtype dtype, double value)
{
    unsigned char element[8];
    tw_dtype_store(dtype, element, value);
    return tw_dtype_load(dtype, element) == value;
}

/* TW_DTYPE_COUNT and a value: a constant, which any type may hold. */
static enum tw_dtype exact_in(const struct trace *t, int node, double *constant, int depth)
{
    const struct expr_graph *g = t->p->graph;
    const struct spec_kernel *k = reader_kernel(t->r);
    const struct expr_node *n = &g->node[node];
    enum tw_dtype general = n->type == EXPR_PRED ? TW_DTYPE_COUNT : n->type == EXPR_INT ? TW_INT64 : TW_FP32;
    *constant = (double)NAN;
    switch (n->op) {
    case EXPR_CONST_REAL:
        *constant = n->real;
        return general;
    case EXPR_CAST:
        return n->dtype;
    case EXPR_TILE:
        return t->p->op[n->integer].tile.dtype;
    case EXPR_TENSOR:
        return k->tensor[n->integer].dtype;
    case EXPR_SCALAR:
        return k->scalar[n->integer].dtype;
    case EXPR_NEG:
    case EXPR_ABS:
    case EXPR_RELU:
    case EXPR_MIN:
    case EXPR_MAX:
    case EXPR_SELECT:
        break;
    default:
        return general;
    }
    /* Choosing among values of one type, and signs, make no new value of it. */
    enum tw_dtype all = TW_DTYPE_COUNT;
    double value[3] = {0};
    int first = n->op == EXPR_SELECT, arity = expr_ops[n->op].arity;
    for (int i = first; i < arity; i++) {
        enum tw_dtype one = depth < PROOF_DEPTH ? exact_in(t, n->arg[i], &value[i], depth + 1) : general;
        bool open = !isnan(value[i]) && g->node[n->arg[i]].op == EXPR_CONST_REAL;
        if (!open && all != TW_DTYPE_COUNT && one != all)
            return general;
        if (!open)
            all = one;
        else
            continue;
        value[i] = (double)NAN;
    }
    if (n->type != EXPR_REAL || all == TW_DTYPE_COUNT || tw_dtype_info(all)->kind != TW_KIND_FLOAT)
        return general;
    for (int i = first; i < arity; i++)
        if (!isnan(value[i]) && !holds(all, value[i]))
            return general;
    return all;
}

enum tw_dtype program_dtype(struct reader *r, int node)
{
    double constant;
    return exact_in(r->program, node, &constant, 0);
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

const char *trace_shape(struct trace *t, int rows, int columns)
{
    const char *word[2];
    int extent[2] = {rows, columns};
    for (int i = 0; i < 2; i++) {
        word[i] = extent[i] ? arena_format(t->r->arena, "%d", extent[i]) : "any";
        reader_check(t->r, word[i]);
    }
    const char *text = arena_format(t->r->arena, "%s x %s", word[0], word[1]);
    reader_check(t->r, text);
    return text;
}

/* One extent of two operands; -1: they do not fit. */
static int join_extent(int a, int b)
{
    if (a == b || b == 1)
        return a;
    if (a == 1 || a == 0)
        return b;
    return b == 0 ? a : -1;
}

static int join_index(int a, int b)
{
    if (a == -1 || a == b)
        return b;
    return b == -1 ? a : -2;
}

/* Depth of a body among those that are open, -1: it is over. */
static int depth_of(const struct trace *t, int body)
{
    for (int d = t->depth; d >= 0; d--)
        if (t->body[d].number == body)
            return d;
    return -1;
}

void program_check_body(struct reader *r, const struct value *v)
{
    if (depth_of(r->program, v->body) < 0)
        sandbox_fault(r->L, "PROGRAM-BODY", NULL,
                      "this value belongs to a turn of a loop that is over; carry it: "
                      "loop(name, range, { first value }, function(j, x) ... return x end)");
}

enum expr_op trace_runs_along(const struct trace *t, const struct program_tile *tile, int axis)
{
    if (tile->index[axis] < 0)
        return EXPR_OP_COUNT;
    bool row = trace_has(t, tile->index[axis], EXPR_ROW), column = trace_has(t, tile->index[axis], EXPR_COLUMN);
    return row == column ? EXPR_OP_COUNT : row ? EXPR_ROW : EXPR_COLUMN;
}

/* Numbers of one direction beside a square tile fit both ways. Where they run along an axis that is the tile's other
 * direction, and the tile's own direction is another axis, they lie the wrong way. */
static void check_directions(struct trace *t, const char *name, const struct program_tile *a,
                             const struct program_tile *b)
{
    const struct program_tile *line = a->rows == 1 || a->columns == 1 ? a : b, *whole = line == a ? b : a;
    const bool across = line->columns > 1;
    const enum expr_op own = across ? EXPR_COLUMN : EXPR_ROW, other = across ? EXPR_ROW : EXPR_COLUMN;
    if (line->rows * line->columns <= 1 || (line->rows > 1 && across) || whole->rows != whole->columns ||
        whole->rows == 1)
        return;
    for (int axis = 0; axis < t->p->axis_count; axis++) {
        if (trace_runs_along(t, line, axis) != own || trace_runs_along(t, whole, axis) != other)
            continue;
        for (int along = 0; along < t->p->axis_count; along++)
            if (along != axis && trace_runs_along(t, whole, along) == own)
                sandbox_fault(t->r->L, "PROGRAM-AXES", NULL,
                              "%s takes %s and %s: the first runs along %s, which the %s of the second do, and their "
                              "%s run along %s; write :t() behind the first",
                              name, trace_shape(t, line->rows, line->columns),
                              trace_shape(t, whole->rows, whole->columns), t->p->axis[axis].name,
                              across ? "rows" : "columns", across ? "columns" : "rows", t->p->axis[along].name);
    }
}

void program_merge(struct reader *r, const char *name, const struct value *operand, int count, struct value *result)
{
    struct trace *t = r->program;
    struct program_tile *out = &result->tile;
    struct program_tile merged = operand[0].tile;
    result->body = operand[0].body;
    for (int i = 1; i < count; i++) {
        const struct program_tile *b = &operand[i].tile;
        int rows = join_extent(merged.rows, b->rows), columns = join_extent(merged.columns, b->columns);
        if (rows < 0 || columns < 0)
            sandbox_fault(r->L, "PROGRAM-SHAPE", NULL,
                          "%s takes tiles of equal extents, or of extent 1: these are %s and %s", name,
                          trace_shape(t, merged.rows, merged.columns), trace_shape(t, b->rows, b->columns));
        check_directions(t, name, &merged, b);
        merged.rows = rows;
        merged.columns = columns;
        merged.valid_row = trace_and(t, merged.valid_row, b->valid_row);
        merged.valid_column = trace_and(t, merged.valid_column, b->valid_column);
        for (int a = 0; a < SPEC_MAX_AXES; a++)
            merged.index[a] = join_index(merged.index[a], b->index[a]);
        if (depth_of(t, operand[i].body) > depth_of(t, result->body))
            result->body = operand[i].body;
    }
    merged.node = -1;
    merged.dtype = out->dtype;
    *out = merged;
}

struct program_tile trace_resolve(struct trace *t, const struct value *v)
{
    struct program_tile tile = v->tile;
    struct trace_leaves leaves = {-1, -1, tile.index};
    tile.node = trace_has(t, v->node, EXPR_INDEX) ? trace_replace(t, v->node, &leaves) : v->node;
    return tile;
}

struct program_tile trace_take(struct trace *t, int index)
{
    struct value v = value_at(t->r, index);
    return trace_resolve(t, &v);
}
