/* A run of rows of a loaded tile, from a row that data may decide: what a dot takes of a tile that stays in shared
 * memory. */
#include "read/trace.h"

/* Rows of a tile lie in groups of so many, in which a swizzle exchanges chunks. */
enum { GROUP = 8 };

/* Of places of items and of turns of a range. */
static int64_t divisor(const void *context, const struct expr_node *n)
{
    const struct program *p = context;
    int64_t from = 1, step = 1;
    if (n->op == EXPR_AT)
        return p->axis[n->integer].tile > 0 ? p->axis[n->integer].tile : 1;
    const struct program_op *loop = &p->op[n->integer];
    const bool known = loop->list < 0 && expr_is_int(p->graph, loop->from, &from) &&
                       expr_is_int(p->graph, loop->step, &step) && from >= 0;
    return known ? expr_common_divisor(from, step) : 1;
}

/* Where the run begins: within the tile, in each turn of each item, and at a group of its rows. */
static void check_start(struct trace *t, const struct program_tile *start, int rows, int length)
{
    lua_State *L = t->r->L;
    int64_t low, high;
    if (t->p->graph->node[start->node].type != EXPR_INT)
        sandbox_fault(L, "PROGRAM-DTYPE", "slice", "the first row of a slice is a whole number; write whole(x)");
    if (start->columns != 1 || trace_has(t, start->node, EXPR_COLUMN))
        sandbox_fault(L, "PROGRAM-SHAPE", "slice",
                      "the first row is one number, or one for each row of what the slice is multiplied with, n x 1, "
                      "and this %s%s; write a number, or one by row()",
                      start->columns != 1 ? "is " : "goes by the column",
                      start->columns != 1 ? trace_shape(t, start->rows, start->columns) : "");
    const int64_t by = expr_divisor(t->p->graph, start->node, divisor, t->p);
    if (by % GROUP)
        sandbox_fault(L, "PROGRAM-SLICE", "slice",
                      "a slice begins at a multiple of %d rows, for so many make a group in shared memory, and this "
                      "first row is known to be one of %lld; write it as a multiple: block * %d",
                      GROUP, (long long)by, length % GROUP == 0 ? length : GROUP);
    expr_range(t->p->graph, start->node, &low, &high);
    const int unit = (rows - length) % length ? GROUP : length;
    if (low < 0 || high > rows - length)
        sandbox_fault(L, "PROGRAM-SLICE", "slice",
                      "the tile has %d rows, and %d of them from this one on may lie outside of it; write "
                      "clamp(block, 0, %d) * %d",
                      rows, length, (rows - length) / unit, unit);
}

/* slice(tile, first, length) */
int trace_slice(lua_State *L)
{
    struct trace *t = trace_of(L, "slice");
    trace_expect_arguments(L, "slice", 3, 3, "slice(tile, first, length)");
    struct program_op op = trace_op(PROGRAM_SLICE);
    op.arg[0] = trace_take_known(t, 1, "slice");
    op.arg[1] = trace_take_known(t, 2, "slice");
    const struct expr_node *n = &t->p->graph->node[op.arg[0].node];
    if (n->op != EXPR_TILE || (t->p->op[n->integer].kind != PROGRAM_LOAD && !t->provisional))
        sandbox_fault(L, "PROGRAM-CALL", "slice",
                      "slice takes a tile as it was loaded; slice first, and turn it then: slice(...):t()");
    if (!lua_isinteger(L, 3) || lua_tointeger(L, 3) < GROUP || lua_tointeger(L, 3) % GROUP ||
        lua_tointeger(L, 3) > op.arg[0].rows)
        sandbox_fault(L, "PROGRAM-SLICE", "slice",
                      "the tile has %d rows, of which a slice has a plain number, a multiple of %d; write one up to %d",
                      op.arg[0].rows, GROUP, op.arg[0].rows / GROUP * GROUP);
    const int length = (int)lua_tointeger(L, 3);
    if (!t->provisional)
        check_start(t, &op.arg[1], op.arg[0].rows, length);
    op.tile = op.arg[0];
    op.tile.rows = length;
    op.tile.valid_row = op.tile.valid_column = -1; /* a load gave 0 there */
    for (int i = 0; i < SPEC_MAX_AXES; i++) /* rows of what it is multiplied with may each have another coordinate */
        if (op.tile.index[i] >= 0 && trace_has(t, op.tile.index[i], EXPR_ROW))
            op.tile.index[i] = -2;
    struct value v = trace_result(t, trace_append(t, &op, "slice"));
    push_value(t->r, &v);
    return 1;
}

void trace_slice_for(struct trace *t, const struct program_tile *tile, int rows)
{
    const int at = program_slice(t->p, tile);
    struct program_op *slice = at >= 0 ? &t->p->op[at] : NULL;
    if (!slice || t->provisional || (slice->arg[1].rows == 1 && !trace_has(t, slice->arg[1].node, EXPR_ROW)))
        return;
    if (slice->arg[1].rows > 1 && slice->arg[1].rows != rows)
        sandbox_fault(t->r->L, "PROGRAM-SHAPE", "dot",
                      "the slice has a first row for each of %d rows, and the first operand has %d; write one number, "
                      "or one for each row",
                      slice->arg[1].rows, rows);
    slice->arg[1].rows = rows; /* row() takes its extent from what it is combined with */
}
