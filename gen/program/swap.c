/* Each node of the graph is made again, at most twice: as it is, for what memory is addressed by, and flipped, with row
 * and column in each other's place, for what is computed. A leaf TILE of what an operation gives stands for the swapped
 * operation's: flipped that is its own result, as it is its result's transpose, which only loads have. */
#include "program/swap.h"

#include <string.h>

enum view { AS_IT_IS, FLIPPED, VIEWS };

struct swap {
    const struct program *from;
    struct program_swapped *to;
    struct arena *arena;
    int *place[VIEWS]; /* by operation: whose result is the view of what it gives; -1: there is none */
    int *memo[VIEWS];  /* by node: the node made of it + 1 */
    struct program_swap_fault *fault;
    int status;
};

static int fail(struct swap *s, int op, const char *text)
{
    if (!s->status) {
        *s->fault = (struct program_swap_fault){.op = op, .text = text};
        s->status = 1;
    }
    return -1;
}

static int node_of(struct swap *s, int node, enum view view)
{
    struct expr_graph *g = &s->to->graph;
    if (node < 0 || s->status)
        return node;
    if (s->memo[view][node])
        return s->memo[view][node] - 1;
    struct expr_node n = s->from->graph->node[node];
    int result, index[SPEC_MAX_RANK];
    if (n.op == EXPR_TENSOR) {
        for (int d = 0; d < n.rank; d++)
            index[d] = node_of(s, s->from->graph->index[n.first_index + d], view);
        result = s->status ? -1 : expr_tensor(g, (int)n.integer, n.type, n.rank, index);
    } else {
        for (int i = 0; i < 3; i++)
            n.arg[i] = node_of(s, n.arg[i], view);
        if (view == FLIPPED && (n.op == EXPR_ROW || n.op == EXPR_COLUMN))
            n.op = n.op == EXPR_ROW ? EXPR_COLUMN : EXPR_ROW;
        if (n.op == EXPR_TILE && s->place[view][n.integer] < 0)
            return fail(s, (int)n.integer, "is computed, and says where memory is read");
        if (n.op == EXPR_TILE || n.op == EXPR_LOOP)
            n.integer = s->place[n.op == EXPR_TILE ? view : FLIPPED][n.integer];
        result = s->status ? -1 : expr_add(g, &n);
    }
    if (result < 0 && !s->status)
        s->status = 3;
    s->memo[view][node] = result + 1;
    return result;
}

static struct program_tile tile_of(struct swap *s, const struct program_tile *tile, enum view view)
{
    struct program_tile made = *tile;
    if (view == FLIPPED) {
        made.rows = tile->columns;
        made.columns = tile->rows;
        made.valid_row = tile->valid_column;
        made.valid_column = tile->valid_row;
    }
    made.node = node_of(s, made.node, view);
    made.valid_row = node_of(s, made.valid_row, view);
    made.valid_column = node_of(s, made.valid_column, view);
    for (int a = 0; a < SPEC_MAX_AXES; a++)
        made.index[a] = node_of(s, made.index[a], view);
    return made;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static bool is_load(const struct program_op *op)
{
    return op->kind == PROGRAM_LOAD || op->kind == PROGRAM_GATHER;
}

static bool is_store(const struct program_op *op)
{
    return op->kind == PROGRAM_STORE || op->kind == PROGRAM_STORE_ADD;
}

/* The operation of that kind whose result the tile is, and nothing else; -1. */
static int plain(const struct program *p, const struct program_tile *tile, enum program_kind kind)
{
    const struct expr_node *n = tile->node >= 0 ? &p->graph->node[tile->node] : NULL;
    return n && n->op == EXPR_TILE && p->op[n->integer].kind == kind ? (int)n->integer : -1;
}

/* The load whose transpose the operation is; -1. */
static int turned_load(const struct program *p, const struct program_op *op)
{
    const int load = op->kind != PROGRAM_TRANSPOSE ? -1 : plain(p, &op->arg[0], PROGRAM_LOAD);
    return op->kind == PROGRAM_TRANSPOSE && load < 0 ? plain(p, &op->arg[0], PROGRAM_GATHER) : load;
}

/* Where each operation comes to stand: a load's transpose behind it, a store's before it. */
static int places(struct swap *s)
{
    const struct program *p = s->from;
    int count = 0;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *op = &p->op[i];
        const int load = turned_load(p, op);
        const bool more = is_load(op) || (is_store(op) && plain(p, &op->arg[0], PROGRAM_TRANSPOSE) < 0);
        s->place[AS_IT_IS][i] = is_load(op) ? count : load >= 0 ? s->place[FLIPPED][load] : -1;
        s->place[FLIPPED][i] = load >= 0 ? s->place[AS_IT_IS][load] : count + more;
        count += load >= 0 ? 0 : 1 + more;
    }
    return count;
}

static struct program_op *append(struct swap *s, int written, const struct program_op *op)
{
    struct program *to = &s->to->program;
    s->to->written[to->op_count] = written;
    to->op[to->op_count] = *op;
    return &to->op[to->op_count++];
}

static void coordinates(struct swap *s, struct program_op *op)
{
    for (int d = 0; d < SPEC_MAX_RANK; d++) {
        op->at[d].start = node_of(s, op->at[d].start, AS_IT_IS);
        op->at[d].limit = node_of(s, op->at[d].limit, AS_IT_IS);
    }
}

static struct program_op transpose_beside(const struct program_op *op)
{
    return (struct program_op){.kind = PROGRAM_TRANSPOSE,
                               .loc = op->loc,
                               .depth = op->depth,
                               .tile = program_no_tile,
                               .arg = {program_no_tile, program_no_tile, program_no_tile},
                               .tensor = -1,
                               .gathered = -1,
                               .list = -1,
                               .loop = -1,
                               .end = -1};
}

static void load(struct swap *s, int number)
{
    const struct program_op *op = &s->from->op[number];
    struct program_op made = *op, turned = transpose_beside(op);
    coordinates(s, &made);
    made.tile = tile_of(s, &op->tile, AS_IT_IS);
    if (op->kind == PROGRAM_GATHER)
        made.arg[0] = tile_of(s, &op->arg[0], AS_IT_IS);
    append(s, number, &made);
    turned.arg[0] = made.tile;
    turned.tile = tile_of(s, &op->tile, FLIPPED);
    append(s, -1, &turned);
}

static void store(struct swap *s, int number)
{
    const struct program_op *op = &s->from->op[number];
    const int transpose = plain(s->from, &op->arg[0], PROGRAM_TRANSPOSE);
    struct program_op made = *op, turned = transpose_beside(op);
    struct program_tile value = op->arg[0];
    coordinates(s, &made);
    value.node = -1; /* of the value the place has its edges, in its own orientation */
    value = tile_of(s, &value, AS_IT_IS);
    if (transpose >= 0) {
        value.node = tile_of(s, &s->from->op[transpose].arg[0], FLIPPED).node;
    } else {
        turned.arg[0] = tile_of(s, &op->arg[0], FLIPPED);
        const struct expr_node *n = &s->from->graph->node[op->arg[0].node];
        value.node = s->status ? -1 : expr_leaf(&s->to->graph, EXPR_TILE, n->type, s->to->program.op_count);
        if (value.node < 0 && !s->status)
            s->status = 3;
        turned.tile = value;
        append(s, -1, &turned);
    }
    made.arg[0] = value;
    append(s, number, &made);
}

/* The value of a loop, or what a turn carries on. */
static struct program_tile *values(struct swap *s, const struct program_op *op, int count)
{
    struct program_tile *made = arena_alloc(s->arena, sizeof *made * (size_t)(count + 1));
    if (!made && !s->status)
        s->status = 3;
    for (int i = 0; i < count && made; i++)
        made[i] = tile_of(s, &op->value[i], FLIPPED);
    return made;
}

static void computed(struct swap *s, int number)
{
    const struct program_op *op = &s->from->op[number];
    struct program_op made = *op;
    made.tile = op->tile.rows ? tile_of(s, &op->tile, FLIPPED) : op->tile;
    switch (op->kind) {
    case PROGRAM_DOT:
        made.arg[0] = tile_of(s, &op->arg[1], FLIPPED);
        made.arg[1] = tile_of(s, &op->arg[0], FLIPPED);
        made.arg[2] = tile_of(s, &op->arg[2], FLIPPED);
        break;
    case PROGRAM_REDUCE:
        made.over_rows = !op->over_rows;
        made.arg[0] = tile_of(s, &op->arg[0], FLIPPED);
        break;
    case PROGRAM_TRANSPOSE:
    case PROGRAM_STAGE:
        made.arg[0] = tile_of(s, &op->arg[0], FLIPPED);
        break;
    case PROGRAM_LOOP:
        made.from = node_of(s, op->from, AS_IT_IS);
        made.to = node_of(s, op->to, AS_IT_IS);
        made.step = node_of(s, op->step, AS_IT_IS);
        made.end = s->place[FLIPPED][op->end];
        made.value = values(s, op, op->carried);
        coordinates(s, &made);
        break;
    case PROGRAM_END:
        made.loop = s->place[FLIPPED][op->loop];
        made.value = values(s, op, s->from->op[op->loop].carried);
        break;
    case PROGRAM_PARAM:
    case PROGRAM_RESULT:
        made.loop = s->place[FLIPPED][op->loop];
        break;
    case PROGRAM_PICK:
        fail(s, number, "has columns that are picked");
        break;
    case PROGRAM_SLICE:
        fail(s, number, "has rows of a tile from a computed one on");
        break;
    case PROGRAM_RANK:
    case PROGRAM_SEGMENT:
        fail(s, number, "has rows whose elements are ranked or summed by number");
        break;
    default:
        fail(s, number, "has rows that go to rows by number");
    }
    append(s, number, &made);
}

/* What puts two parts of a loop together is made of what stands behind it. */
static void combines(struct swap *s)
{
    for (int i = 0; i < s->from->op_count; i++) {
        const struct program_op *op = &s->from->op[i];
        if (op->kind != PROGRAM_LOOP || !op->combine || s->status)
            continue;
        int *made = arena_alloc(s->arena, sizeof *made * (size_t)(op->carried + 1));
        if (!made)
            s->status = 3;
        for (int k = 0; k < op->carried && made; k++)
            made[k] = node_of(s, op->combine[k], FLIPPED);
        s->to->program.op[s->place[FLIPPED][i]].combine = made;
    }
}

static int axes(struct swap *s)
{
    for (int i = 0; i < s->from->axis_count; i++)
        s->to->program.axis[i].extent = node_of(s, s->from->axis[i].extent, AS_IT_IS);
    return s->status;
}

int program_swap(const struct program *from, struct arena *arena, const struct memory *memory,
                 struct program_swapped *to, struct program_swap_fault *fault)
{
    struct swap s = {.from = from, .to = to, .arena = arena, .fault = fault};
    const size_t ops = (size_t)from->op_count + 1, nodes = (size_t)from->graph->count + 1;
    *to = (struct program_swapped){.program = *from, .graph = {.memory = *memory}};
    to->program.graph = &to->graph;
    to->program.op_count = 0;
    for (int v = 0; v < VIEWS; v++) {
        s.place[v] = arena_alloc(arena, sizeof *s.place[v] * ops);
        s.memo[v] = arena_alloc(arena, sizeof *s.memo[v] * nodes);
        if (!s.place[v] || !s.memo[v])
            return 3;
    }
    const size_t room = (size_t)places(&s) + 1;
    to->program.op = arena_alloc(arena, sizeof *to->program.op * room);
    to->written = arena_alloc(arena, sizeof *to->written * room);
    if (!to->program.op || !to->written || axes(&s))
        return 3;
    for (int i = 0; i < from->op_count && !s.status; i++) {
        if (is_load(&from->op[i]))
            load(&s, i);
        else if (is_store(&from->op[i]))
            store(&s, i);
        else if (turned_load(from, &from->op[i]) < 0)
            computed(&s, i);
    }
    combines(&s);
    return s.status;
}

void program_swap_free(struct program_swapped *to)
{
    expr_free(&to->graph);
}
