/* Of the elements of a row: their rank among its values, and sums of those that a number puts into one column. */
#include "read/trace.h"

#include <stdint.h>
#include <string.h>

/* Between which numbers an INT lies: what comes of memory as far as its dtype tells, the rest by interval arithmetic.
 */
static void range_of(const struct trace *t, int node, int64_t *low, int64_t *high)
{
    const struct expr_node *n = &t->p->graph->node[node];
    bool tensor = n->op == EXPR_TENSOR, tile = n->op == EXPR_TILE;
    enum tw_dtype dtype = tensor ? reader_kernel(t->r)->tensor[n->integer].dtype
                          : tile ? t->p->op[n->integer].tile.dtype
                                 : TW_INT64;
    if ((tensor || tile) && dtype < TW_DTYPE_COUNT && tw_dtype_bytes(dtype) < 4) {
        *low = -(1 << 16);
        *high = 1 << 16;
    } else if ((tensor || tile) && dtype == TW_INT32) {
        *low = INT32_MIN;
        *high = INT32_MAX;
    } else if (n->op == EXPR_SELECT) {
        int64_t other_low, other_high;
        range_of(t, n->arg[1], low, high);
        range_of(t, n->arg[2], &other_low, &other_high);
        *low = other_low < *low ? other_low : *low;
        *high = other_high > *high ? other_high : *high;
    } else {
        expr_range(t->p->graph, node, low, high);
    }
}

/* Operand `index` is a whole number, so many of which, added, are below 2^31. */
static void expect_numbers(struct trace *t, const struct program_tile *tile, int many, int index, const char *word)
{
    int64_t low, high;
    if (t->provisional)
        return;
    const struct expr_node *n = &t->p->graph->node[tile->node];
    if (n->type != EXPR_INT)
        sandbox_fault(t->r->L, "PROGRAM-DTYPE", word,
                      "argument %d of %s is %s, and it takes whole numbers; write whole(x), or where(condition, 1, 0)",
                      index, word, n->type == EXPR_PRED ? "a condition" : "no whole number");
    range_of(t, tile->node, &low, &high);
    int64_t most = INT32_MAX / many;
    bool alone = many == 1 && low >= INT32_MIN && high <= INT32_MAX;
    if (alone || (low >= -most && high <= most))
        return;
    if (many > 1)
        sandbox_fault(t->r->L, "PROGRAM-DTYPE", word,
                      "sums of %d of what is argument 1 of %s may leave 32 bits; write min(max(x, %lld), %lld)", many,
                      word, (long long)-most, (long long)most);
    sandbox_fault(t->r->L, "PROGRAM-DTYPE", word,
                  "argument %d of %s may leave 32 bits; load it from a tensor of int32, or write "
                  "min(max(x, %lld), %lld)",
                  index, word, (long long)-most, (long long)most);
}

/* The operand, without edges: `otherwise` stands where the condition does not hold. */
static void close_edges(struct trace *t, struct program_tile *tile, const struct program_tile *edges, int64_t otherwise)
{
    struct expr_graph *g = t->p->graph;
    int holds = trace_and(t, edges->valid_row, edges->valid_column);
    if (holds >= 0 && g->node[tile->node].type == EXPR_INT)
        tile->node = made(t->r, expr_select(g, holds, tile->node, made(t->r, expr_int(g, otherwise))));
    tile->valid_row = tile->valid_column = -1;
}

int trace_rank(lua_State *L)
{
    struct trace *t = trace_of(L, "row_rank");
    trace_expect_arguments(L, "row_rank", 1, 1, "row_rank(x)");
    struct program_op op = trace_op(PROGRAM_RANK);
    op.tile = op.arg[0] = trace_take_known(t, 1, "row_rank");
    expect_numbers(t, &op.arg[0], 1, 1, "row_rank");
    close_edges(t, &op.arg[0], &op.tile, INT32_MAX);
    op.tile.dtype = TW_INT32;
    struct value v = trace_result(t, trace_append(t, &op, "row_rank"));
    push_value(t->r, &v);
    return 1;
}

int trace_segment(lua_State *L)
{
    static const char *const words[PROGRAM_REDUCTIONS] = {"row_segment_sum", "row_segment_max", "row_segment_min"};
    enum program_reduction reduction = (enum program_reduction)lua_tointeger(L, lua_upvalueindex(1));
    const char *word = words[reduction];
    struct trace *t = trace_of(L, word);
    trace_expect_arguments(L, word, 2, 2, "row_segment_sum(x, numbers)");
    struct program_op op = trace_op(PROGRAM_SEGMENT);
    struct value part[2], joined = {.tile = {.dtype = TW_INT32}};
    for (int i = 0; i < 2; i++) {
        part[i] = value_at(t->r, i + 1);
        part[i].tile = trace_resolve(t, &part[i]);
    }
    program_merge(t->r, word, part, 2, &joined);
    if ((!joined.tile.rows || !joined.tile.columns) && !t->provisional)
        sandbox_fault(L, "PROGRAM-SHAPE", word,
                      "%s takes tiles of known extents, these are %s; combine one with a loaded tile before", word,
                      trace_shape(t, joined.tile.rows, joined.tile.columns));
    op.reduction = reduction;
    op.tile = joined.tile;
    for (int i = 0; i < 2; i++) {
        op.arg[i] = part[i].tile;
        op.arg[i].rows = joined.tile.rows;
        op.arg[i].columns = joined.tile.columns;
        op.arg[i].valid_row = op.arg[i].valid_column = -1;
        bool adds = i == 0 && reduction == PROGRAM_SUM && joined.tile.columns > 0;
        expect_numbers(t, &op.arg[i], adds ? joined.tile.columns : 1, i + 1, word);
    }
    close_edges(t, &op.arg[1], &joined.tile, -1);
    op.tile.valid_column = -1; /* every column has its sum */
    trace_keep_indices(t, &op.tile, EXPR_COLUMN, EXPR_ROW);
    struct value v = trace_result(t, trace_append(t, &op, word));
    push_value(t->r, &v);
    return 1;
}
