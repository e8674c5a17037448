/* Operands, node by node over a whole tile.
 *
 * A node is evaluated over what it varies along: once, for each row, for each column, or for each element. What does
 * not vary along rows is computed once for the tile, the rest in chunks of rows that stay in the processor's caches.
 */
#include "program/meaning/meaning.h"

#include <string.h>

enum { CHUNK = 1024, ALONG_ROWS = 1, ALONG_COLUMNS = 2, ALONG_BOTH = 3 };

/* Slots that are no node: the same value along more, and an INT as REAL. */
enum { SLOT_WIDE = EXPR_OP_COUNT, SLOT_REAL };

/* ---- making ready ------------------------------------------------------------------------------------------------ */

struct making {
    struct meaning_tape *tape;
    const struct program *p;
    const struct expr_graph *g;
    const struct program_tile *tile;
    int *map; /* by node: its slot, or -1 */
    bool no_memory;
};

static int add_slot(struct making *m, struct meaning_slot slot)
{
    struct meaning_tape *t = m->tape;
    if (t->count == t->capacity) {
        int capacity = t->capacity ? 2 * t->capacity : 16;
        void *grown = memory_resize(&t->memory, t->slot, sizeof *t->slot * (size_t)t->capacity,
                                    sizeof *t->slot * (size_t)capacity);
        if (!grown) {
            m->no_memory = true;
            return 0;
        }
        t->slot = grown;
        t->capacity = capacity;
    }
    slot.real = -1;
    for (int i = 0; i < 4; i++)
        slot.wide[i] = -1;
    t->slot[t->count] = slot;
    return t->count++;
}

/* The slot's value along more: itself where it varies so already. */
static int widen(struct making *m, int slot, int along)
{
    if (m->no_memory || m->tape->slot[slot].along == along)
        return slot;
    if (m->tape->slot[slot].wide[along] < 0) {
        int wide = add_slot(
            m,
            (struct meaning_slot){
                .op = SLOT_WIDE, .node = -1, .type = m->tape->slot[slot].type, .along = along, .arg = {slot, -1, -1}});
        m->tape->slot[slot].wide[along] = wide;
    }
    return m->tape->slot[slot].wide[along];
}

static int as_real(struct making *m, int slot)
{
    if (m->no_memory || m->tape->slot[slot].type == EXPR_REAL)
        return slot;
    if (m->tape->slot[slot].real < 0) {
        int real = add_slot(m, (struct meaning_slot){.op = SLOT_REAL,
                                                     .node = -1,
                                                     .type = EXPR_REAL,
                                                     .along = m->tape->slot[slot].along,
                                                     .arg = {slot, -1, -1}});
        m->tape->slot[slot].real = real;
    }
    return m->tape->slot[slot].real;
}

/* The next operand that has no slot yet, or -1. */
static int missing(const struct making *m, int node)
{
    const struct expr_node *n = &m->g->node[node];
    if (n->op == EXPR_INDEX) {
        int index = m->tile ? m->tile->index[n->integer] : -1;
        return index >= 0 && m->map[index] < 0 ? index : -1;
    }
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && m->map[n->arg[i]] < 0)
            return n->arg[i];
    for (int i = 0; i < n->rank; i++)
        if (m->map[m->g->index[n->first_index + i]] < 0)
            return m->g->index[n->first_index + i];
    return -1;
}

/* The dims that a tensor's element is addressed by, as slots along `along`, behind each other in tape.index. */
static int add_index(struct making *m, const struct expr_node *n, int along)
{
    struct meaning_tape *t = m->tape;
    if (t->index_count + n->rank > t->index_capacity) {
        int capacity = 2 * t->index_capacity + SPEC_MAX_RANK;
        void *grown = memory_resize(&t->memory, t->index, sizeof *t->index * (size_t)t->index_capacity,
                                    sizeof *t->index * (size_t)capacity);
        if (!grown) {
            m->no_memory = true;
            return 0;
        }
        t->index = grown;
        t->index_capacity = capacity;
    }
    for (int i = 0; i < n->rank; i++) {
        int slot = widen(m, m->map[m->g->index[n->first_index + i]], along);
        t->index[t->index_count++] = slot;
    }
    return t->index_count - n->rank;
}

/* A node whose operands have slots. */
static int make_node(struct making *m, int node)
{
    const struct expr_node *n = &m->g->node[node];
    struct meaning_slot s = {.op = (int)n->op, .node = node, .type = n->type, .arg = {-1, -1, -1}};
    if (n->op == EXPR_INDEX) {
        int index = m->tile ? m->tile->index[n->integer] : -1;
        return index >= 0 ? m->map[index] : add_slot(m, s); /* the tracer lets nobody ask for one that is not there */
    }
    if (n->op == EXPR_ROW)
        s.along = m->tape->rows > 1 ? ALONG_ROWS : 0;
    if (n->op == EXPR_COLUMN)
        s.along = m->tape->columns > 1 ? ALONG_COLUMNS : 0;
    if (n->op == EXPR_TILE) {
        const struct program_tile *from = &m->p->op[n->integer].tile;
        s.along = (from->rows > 1 ? ALONG_ROWS : 0) | (from->columns > 1 ? ALONG_COLUMNS : 0);
    }
    for (int i = 0; i < n->rank; i++)
        s.along |= m->tape->slot[m->map[m->g->index[n->first_index + i]]].along;
    if (n->op == EXPR_TENSOR) {
        s.index = add_index(m, n, s.along);
        return add_slot(m, s);
    }
    bool compares = expr_ops[n->op].rule == EXPR_COMPARE, real = n->type == EXPR_REAL;
    for (int i = 0; i < 3 && n->arg[i] >= 0; i++) {
        s.arg[i] = m->map[n->arg[i]];
        s.along |= m->tape->slot[s.arg[i]].along;
    }
    if (compares)
        real = m->tape->slot[s.arg[0]].type == EXPR_REAL || m->tape->slot[s.arg[1]].type == EXPR_REAL;
    for (int i = 0; i < 3 && n->arg[i] >= 0; i++) {
        if (real && !(n->op == EXPR_SELECT && i == 0))
            s.arg[i] = as_real(m, s.arg[i]);
        s.arg[i] = widen(m, s.arg[i], s.along);
    }
    return add_slot(m, s);
}

/* Slots for the node and all that it needs; `stack` has room for every node. */
static int make_nodes(struct making *m, int root, int *stack)
{
    int depth = 0;
    stack[0] = root;
    while (depth >= 0 && m->map[root] < 0 && !m->no_memory) {
        int top = stack[depth], need = missing(m, top);
        if (need >= 0) {
            stack[++depth] = need;
            continue;
        }
        m->map[top] = make_node(m, top);
        depth--;
    }
    return m->no_memory ? 0 : m->map[root];
}

static int64_t cells_along(const struct meaning_tape *t, int along)
{
    return (along & ALONG_ROWS ? t->chunk : 1) * (along & ALONG_COLUMNS ? t->columns : 1);
}

int meaning_prepare(struct meaning_tape *tape, const struct program *p, const struct program_tile *tile, int node,
                    int *map)
{
    const struct expr_graph *g = p->graph;
    struct making m = {tape, p, g, tile, map, false};
    *tape = (struct meaning_tape){.memory = g->memory, .valid = -1, .rows = 1, .columns = 1};
    if (tile) {
        tape->rows = tile->rows;
        tape->columns = tile->columns;
    }
    tape->chunk = CHUNK / (tape->columns ? tape->columns : 1);
    tape->chunk = tape->chunk < 1 ? 1 : tape->chunk > tape->rows ? tape->rows : tape->chunk;
    size_t bytes = sizeof(int) * (size_t)(g->count + 1);
    int *stack = memory_resize(&tape->memory, NULL, 0, bytes);
    if (!stack)
        return 3;
    for (int i = 0; i < g->count; i++)
        map[i] = -1;
    int along = (tape->rows > 1 ? ALONG_ROWS : 0) | (tape->columns > 1 ? ALONG_COLUMNS : 0);
    tape->value = widen(&m, make_nodes(&m, tile ? tile->node : node, stack), along);
    tape->type = m.no_memory ? EXPR_REAL : tape->slot[tape->value].type;
    int valid[2] = {tile ? tile->valid_row : -1, tile ? tile->valid_column : -1};
    for (int i = 0; i < 2 && !m.no_memory; i++) {
        if (valid[i] < 0)
            continue;
        int slot = widen(&m, make_nodes(&m, valid[i], stack), along);
        if (tape->valid >= 0 && tape->valid != slot)
            slot = add_slot(
                &m, (struct meaning_slot){
                        .op = EXPR_AND, .node = -1, .type = EXPR_PRED, .along = along, .arg = {tape->valid, slot, -1}});
        tape->valid = slot;
    }
    memory_resize(&tape->memory, stack, bytes, 0);
    for (int i = 0; i < tape->count; i++) {
        tape->slot[i].offset = tape->bytes;
        tape->work += (tape->slot[i].along & ALONG_ROWS ? tape->rows : 1) *
                      (tape->slot[i].along & ALONG_COLUMNS ? tape->columns : 1);
        tape->bytes += 2 * sizeof(double) * (size_t)(cells_along(tape, tape->slot[i].along) + 7) / 8 * 8;
    }
    return m.no_memory ? 3 : 0;
}

void meaning_tape_free(struct meaning_tape *t)
{
    if (t->slot)
        memory_resize(&t->memory, t->slot, sizeof *t->slot * (size_t)t->capacity, 0);
    if (t->index)
        memory_resize(&t->memory, t->index, sizeof *t->index * (size_t)t->index_capacity, 0);
    t->slot = NULL;
    t->index = NULL;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static void set_exact(struct meaning_slot *s)
{
    s->cells.exact = true;
    s->cells.zeroed = false;
}

/* A number that a lowering holds in fp32. */
static void set_real(struct meaning_slot *s, double value)
{
    double away = (double)(float)value - value;
    s->cells.at.real[0] = value;
    s->cells.bound[0] = isfinite(value) ? fabs(away) : 0;
    s->cells.exact = s->cells.zeroed = s->cells.bound[0] == 0;
}

static void set_whole(struct meaning_slot *s, int64_t value)
{
    s->cells.at.whole[0] = value;
    set_exact(s);
}

/* Elements of a tensor; those that it does not have are 0 with no bound that holds. */
static void read_tensor(const struct meaning_tape *t, const struct meaning_state *state, struct meaning_slot *s,
                        const struct expr_node *n, int64_t count)
{
    const int64_t *extent = state->data->extent[n->integer];
    const double *from = state->data->tensor[n->integer];
    bool inexact = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0;
        bool inside = true;
        for (int d = 0; d < n->rank; d++) {
            const struct meaning_cells *index = &t->slot[t->index[s->index + d]].cells;
            int64_t at = index->at.whole[i];
            inside = inside && at >= 0 && at < extent[d] && (index->exact || index->bound[i] == 0);
            offset = offset * extent[d] + at * inside;
        }
        double value = inside ? from[offset] : 0, bound = inside ? 0 : (double)NAN;
        if (n->type == EXPR_REAL) {
            s->cells.at.real[i] = value;
            bound = inside && isfinite(value) ? fabs((double)(float)value - value) : bound;
        } else {
            s->cells.at.whole[i] = (int64_t)value;
        }
        s->cells.bound[i] = bound;
        inexact = inexact || bound != 0;
    }
    s->cells.exact = s->cells.zeroed = !inexact;
}

/* The result of an operation: its own cells, or those from the chunk's first row on. */
static void point_at_result(const struct meaning_state *state, struct meaning_slot *s, int op, int64_t row)
{
    const struct program_tile *tile = &state->p->op[op].tile;
    s->cells = state->result[op];
    int64_t first = s->along & ALONG_ROWS ? row * tile->columns : 0;
    if (s->type == EXPR_REAL)
        s->cells.at.real += first;
    else
        s->cells.at.whole += first;
    s->cells.bound += first;
    s->cells.zeroed = true;
}

static void leaf(const struct meaning_tape *t, const struct meaning_state *state, struct meaning_slot *s, int64_t row,
                 int64_t rows)
{
    const struct expr_node *n = &state->p->graph->node[s->node];
    switch (n->op) {
    case EXPR_CONST_INT:
        set_whole(s, n->integer);
        break;
    case EXPR_CONST_REAL:
        set_real(s, n->real);
        break;
    case EXPR_SYMBOL:
        set_whole(s, state->data->symbol[n->integer]);
        break;
    case EXPR_AT:
        set_whole(s, state->at[n->integer]);
        break;
    case EXPR_LOOP:
        set_whole(s, state->loop[n->integer]);
        break;
    case EXPR_SCALAR:
        if (n->type == EXPR_REAL)
            set_real(s, state->data->scalar[n->integer]);
        else
            set_whole(s, (int64_t)state->data->scalar[n->integer]);
        break;
    case EXPR_ROW:
        for (int64_t i = 0; i < (s->along ? rows : 1); i++)
            s->cells.at.whole[i] = row + i;
        set_exact(s);
        break;
    case EXPR_COLUMN:
        for (int64_t i = 0; i < (s->along ? t->columns : 1); i++)
            s->cells.at.whole[i] = i;
        set_exact(s);
        break;
    default: /* an accumulator or an index that no tile has: nothing may use it */
        s->cells.at.whole[0] = 0;
        s->cells.bound[0] = (double)NAN;
        s->cells.exact = s->cells.zeroed = false;
    }
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Copies cells to where they vary along more. */
static void spread(const void *from, int along, void *to, int wide, int64_t rows, int64_t columns)
{
    enum { CELL = 8 };
    size_t width = wide & ALONG_COLUMNS ? (size_t)columns : 1, height = wide & ALONG_ROWS ? (size_t)rows : 1;
    for (size_t r = 0; r < height; r++) {
        const char *cell = (const char *)from + (along & ALONG_ROWS ? r * CELL : 0);
        char *row = (char *)to + r * width * CELL;
        if (along & ALONG_COLUMNS)
            memcpy(row, from, width * CELL);
        else
            for (size_t c = 0; c < width; c++)
                memcpy(row + c * CELL, cell, CELL);
    }
}

static void evaluate(struct meaning_tape *t, const struct meaning_state *state, struct meaning_slot *s, int64_t row,
                     int64_t rows)
{
    int64_t count = (s->along & ALONG_ROWS ? rows : 1) * (s->along & ALONG_COLUMNS ? t->columns : 1);
    struct meaning_slot *from = s->arg[0] >= 0 ? &t->slot[s->arg[0]] : NULL;
    if (s->op == SLOT_REAL) {
        meaning_convert(&from->cells, &s->cells, count);
    } else if (s->op == SLOT_WIDE) {
        spread(from->cells.at.any, from->along, s->cells.at.any, s->along, rows, t->columns);
        s->cells.exact = from->cells.exact;
        s->cells.zeroed = false;
        if (!from->cells.exact)
            spread(from->cells.bound, from->along, s->cells.bound, s->along, rows, t->columns);
    } else if (s->op == EXPR_TILE) {
        point_at_result(state, s, (int)state->p->graph->node[s->node].integer, row);
    } else if (s->op == EXPR_TENSOR) {
        read_tensor(t, state, s, &state->p->graph->node[s->node], count);
    } else if (!from) {
        leaf(t, state, s, row, rows);
    } else {
        struct meaning_node n = {.op = (enum expr_op)s->op,
                                 .type = s->type,
                                 .operand_type = from->type,
                                 .free = state->free_casts,
                                 .result = &s->cells,
                                 .count = count};
        n.dtype = s->op == EXPR_CAST ? state->p->graph->node[s->node].dtype : TW_FP32;
        for (int i = 0; i < 3 && s->arg[i] >= 0; i++)
            n.arg[i] = &t->slot[s->arg[i]].cells;
        meaning_compute(&n);
    }
}

/* A place in the scratch for the slot; results of operations are read where they lie. */
static void place(const struct meaning_tape *t, const struct meaning_state *state, struct meaning_slot *s)
{
    double *base = (double *)(void *)((char *)state->scratch + s->offset);
    s->cells.at.real = base;
    s->cells.bound = base + cells_along(t, s->along);
}

void meaning_start(struct meaning_tape *t, const struct meaning_state *state, struct meaning_part *part)
{
    *part = (struct meaning_part){0};
    for (int i = 0; i < t->count; i++) {
        struct meaning_slot *s = &t->slot[i];
        place(t, state, s);
        if (!(s->along & ALONG_ROWS))
            evaluate(t, state, s, 0, 1);
    }
}

bool meaning_next(struct meaning_tape *t, const struct meaning_state *state, struct meaning_part *part)
{
    part->row += part->rows;
    part->rows = t->rows - part->row < t->chunk ? t->rows - part->row : t->chunk;
    if (part->rows <= 0)
        return false;
    for (int i = 0; i < t->count; i++)
        if (t->slot[i].along & ALONG_ROWS)
            evaluate(t, state, &t->slot[i], part->row, part->rows);
    part->count = part->rows * t->columns;
    part->value = &t->slot[t->value].cells;
    part->valid = t->valid < 0 ? NULL : t->slot[t->valid].cells.at.whole;
    part->unknown = t->valid < 0 || t->slot[t->valid].cells.exact ? NULL : t->slot[t->valid].cells.bound;
    return true;
}
