/* Programs evaluated by themselves: one work item after the other, its operations in order, whole tiles in double
 * precision, nothing in flight. */
#include "program/meaning/meaning.h"

#include <stdarg.h>
#include <string.h>

#include "program/meaning/reference.h"

/* The operands of one operation, ready to be evaluated. */
struct operands {
    struct meaning_tape arg[3];
    struct meaning_tape start[SPEC_MAX_RANK], limit[SPEC_MAX_RANK];
    struct meaning_tape from, to;
    struct meaning_tape *value;   /* LOOP, END: by carried value */
    struct meaning_tape *combine; /* LOOP: likewise; NULL */
    struct meaning_cells *half;   /* LOOP: likewise: what the parts of the turns before come to */
    int64_t step;
};

struct meaning {
    struct meaning_state state;
    const struct program *p;
    const struct program_run *run;
    struct program_error *error;
    struct memory memory;
    struct operands *operands;        /* by operation */
    struct meaning_cells *spare;      /* by operation, of a PARAM: where the next turn's value is made */
    struct meaning_output *output;    /* by tensor; count 0 where it is none */
    struct meaning_cells left, right; /* operands of a dot, of a transposition */
    struct meaning_sum *sum;
    struct meaning_sum **sums; /* by operation: of a REDUCE to sums, and of a PARAM that turns add to; else NULL */
    double *scratch;           /* 4 of the longest row or column */
    int64_t largest, longest;  /* cells of a tile; of a row or column */
    size_t tape_bytes;
    int64_t work, products; /* as program_run has them */
};

static void *allocate(struct meaning *m, size_t bytes)
{
    void *p = memory_resize(&m->memory, NULL, 0, bytes ? bytes : 1);
    if (p)
        memset(p, 0, bytes ? bytes : 1);
    return p;
}

static void release(struct meaning *m, void *pointer, size_t bytes)
{
    if (pointer)
        memory_resize(&m->memory, pointer, bytes ? bytes : 1, 0);
}

__attribute__((format(printf, 3, 4))) static int fault(struct meaning *m, const struct program_op *op,
                                                       const char *format, ...)
{
    va_list list;
    if (m->error) {
        m->error->loc = op->loc;
        va_start(list, format);
        vsnprintf(m->error->text, sizeof m->error->text, format, list);
        va_end(list);
    }
    return 1;
}

#define tensor_name(m, number) ((m)->state.kernel->tensor[number].name)

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static bool allocate_cells(struct meaning *m, struct meaning_cells *cells, int64_t count)
{
    cells->at.any = allocate(m, sizeof(double) * (size_t)count);
    cells->bound = allocate(m, sizeof(double) * (size_t)count);
    cells->exact = cells->zeroed = true;
    return cells->at.any && cells->bound;
}

static void release_cells(struct meaning *m, struct meaning_cells *cells, int64_t count)
{
    release(m, cells->at.any, sizeof(double) * (size_t)count);
    release(m, cells->bound, sizeof(double) * (size_t)count);
}

static int64_t cells_of(const struct program_tile *tile)
{
    return (int64_t)tile->rows * tile->columns;
}

/* Of what an operation gives; of a SLICE its first rows. */
static int64_t cells_given(const struct program_op *op)
{
    const int64_t own = cells_of(&op->tile);
    return op->kind == PROGRAM_SLICE && op->arg[1].rows > own ? op->arg[1].rows : own;
}

static int prepare(struct meaning *m, struct meaning_tape *tape, const struct program_tile *tile, int node, int *map)
{
    int status = meaning_prepare(tape, m->p, tile, node, map);
    if (tape->bytes > m->tape_bytes)
        m->tape_bytes = tape->bytes;
    if (tape->rows * tape->columns > m->largest)
        m->largest = tape->rows * tape->columns;
    int64_t longer = tape->rows > tape->columns ? tape->rows : tape->columns;
    if (longer > m->longest)
        m->longest = longer;
    return status;
}

static int prepare_combine(struct meaning *m, int number, int *map)
{
    const struct program_op *op = &m->p->op[number];
    struct operands *to = &m->operands[number];
    int status = 0;
    to->combine = allocate(m, sizeof *to->combine * (size_t)op->carried);
    to->half = allocate(m, sizeof *to->half * (size_t)op->carried);
    if (!to->combine || !to->half)
        return 3;
    for (int i = 0; i < op->carried && !status; i++) {
        struct program_tile tile = m->p->op[number + 1 + i].tile; /* of the PARAM */
        tile.node = op->combine[i];
        status = prepare(m, &to->combine[i], &tile, -1, map);
        if (!status && !allocate_cells(m, &to->half[i], cells_of(&tile)))
            status = 3;
    }
    return status;
}

static int prepare_operation(struct meaning *m, int number, int *map)
{
    const struct program_op *op = &m->p->op[number];
    struct operands *to = &m->operands[number];
    int status = 0;
    for (int i = 0; i < 3 && !status; i++)
        if (op->arg[i].node >= 0 && op->arg[i].rows > 0)
            status = prepare(m, &to->arg[i], &op->arg[i], -1, map);
    int from = op->list >= 0 ? op->list : op->tensor, rank = from >= 0 ? m->state.kernel->tensor[from].rank : 0;
    for (int d = 0; d < rank && !status; d++) {
        bool addressed = !(op->list >= 0 && d + 1 == rank) &&
                         !((op->kind == PROGRAM_GATHER || op->kind == PROGRAM_SCATTER_ADD) && d == op->gathered);
        if (addressed && op->at[d].start >= 0)
            status = prepare(m, &to->start[d], NULL, op->at[d].start, map);
        if (!status && addressed && op->at[d].limit >= 0)
            status = prepare(m, &to->limit[d], NULL, op->at[d].limit, map);
    }
    if (op->kind == PROGRAM_LOOP && !status) {
        if (!expr_is_int(m->p->graph, op->step, &to->step))
            to->step = 1;
        status = prepare(m, &to->from, NULL, op->from, map);
        if (!status)
            status = prepare(m, &to->to, NULL, op->to, map);
    }
    int carried = op->kind == PROGRAM_LOOP ? op->carried : op->kind == PROGRAM_END ? m->p->op[op->loop].carried : 0;
    if (carried && !status) {
        to->value = allocate(m, sizeof *to->value * (size_t)carried);
        for (int i = 0; i < carried && to->value && !status; i++)
            status = prepare(m, &to->value[i], &op->value[i], -1, map);
        if (!to->value)
            status = 3;
    }
    if (op->kind == PROGRAM_LOOP && op->combine && (m->run->halves || m->run->parts) && carried && !status)
        status = prepare_combine(m, number, map);
    if (op->tile.rows > 0 && !status) {
        if (cells_of(&op->tile) > m->largest)
            m->largest = cells_of(&op->tile);
        if (!allocate_cells(m, &m->state.result[number], cells_given(op)) ||
            (op->kind == PROGRAM_PARAM && !allocate_cells(m, &m->spare[number], cells_of(&op->tile))))
            status = 3;
    }
    if (!status && meaning_is_sum(m->p, number)) {
        m->sums[number] = allocate(m, sizeof **m->sums * (size_t)cells_of(&op->tile));
        status = m->sums[number] ? 0 : 3;
    }
    return status;
}

static int prepare_output(struct meaning *m, int tensor)
{
    const struct program_data *data = m->state.data;
    struct meaning_output *out = &m->output[tensor];
    *out = (struct meaning_output){.dtype = m->state.kernel->tensor[tensor].dtype,
                                   .to = data->tensor[tensor],
                                   .bound = data->bound ? data->bound[tensor] : NULL,
                                   .done = m->run->done ? m->run->done[tensor] : NULL,
                                   .count = 1};
    for (int d = 0; d < m->state.kernel->tensor[tensor].rank; d++)
        out->count *= data->extent[tensor][d];
    if (!program_adds_to(m->p, tensor))
        return 0;
    out->sum = allocate(m, sizeof *out->sum * (size_t)out->count);
    for (int64_t i = 0; out->sum && i < out->count; i++) {
        /* What the tensor holds already is a term of its own. */
        int quantum = meaning_quantum(&out->to[i], 1);
        out->sum[i] = (struct meaning_sum){fabs(out->to[i]), 0, out->to[i] != 0, quantum};
    }
    return out->sum ? 0 : 3;
}

static int prepare_all(struct meaning *m)
{
    size_t ops = (size_t)m->p->op_count, tensors = (size_t)m->state.kernel->tensor_count;
    size_t map_bytes = sizeof(int) * (size_t)(m->p->graph->count + 1);
    int *map = allocate(m, map_bytes);
    m->operands = allocate(m, sizeof *m->operands * ops);
    m->state.result = allocate(m, sizeof *m->state.result * ops);
    m->state.loop = allocate(m, sizeof *m->state.loop * ops);
    m->spare = allocate(m, sizeof *m->spare * ops);
    m->sums = allocate(m, sizeof *m->sums * ops);
    m->output = allocate(m, sizeof *m->output * tensors);
    int status = map && m->operands && m->state.result && m->state.loop && m->spare && m->sums && m->output ? 0 : 3;
    for (int i = 0; i < m->p->op_count && !status; i++)
        status = prepare_operation(m, i, map);
    for (int i = 0; i < m->state.kernel->tensor_count && !status; i++)
        if (m->state.kernel->tensor[i].out)
            status = prepare_output(m, i);
    release(m, map, map_bytes);
    if (status)
        return status;
    m->state.scratch = allocate(m, m->tape_bytes);
    m->sum = allocate(m, sizeof *m->sum * (size_t)m->longest);
    m->scratch = allocate(m, 4 * sizeof *m->scratch * (size_t)m->longest);
    bool cells = allocate_cells(m, &m->left, m->largest);
    return allocate_cells(m, &m->right, m->largest) && cells && m->state.scratch && m->sum && m->scratch ? 0 : 3;
}

static void release_all(struct meaning *m)
{
    size_t ops = (size_t)m->p->op_count, tensors = (size_t)m->state.kernel->tensor_count;
    for (size_t i = 0; i < ops && m->operands; i++) {
        const struct program_op *op = &m->p->op[i];
        struct operands *o = &m->operands[i];
        int carried = op->kind == PROGRAM_LOOP ? op->carried : op->kind == PROGRAM_END ? m->p->op[op->loop].carried : 0;
        for (int k = 0; k < 3; k++)
            meaning_tape_free(&o->arg[k]);
        for (int d = 0; d < SPEC_MAX_RANK; d++) {
            meaning_tape_free(&o->start[d]);
            meaning_tape_free(&o->limit[d]);
        }
        meaning_tape_free(&o->from);
        meaning_tape_free(&o->to);
        for (int k = 0; k < carried && o->value; k++)
            meaning_tape_free(&o->value[k]);
        for (int k = 0; k < carried && o->combine; k++)
            meaning_tape_free(&o->combine[k]);
        for (int k = 0; k < carried && o->half; k++)
            release_cells(m, &o->half[k], cells_of(&m->p->op[i + 1 + (size_t)k].tile));
        release(m, o->combine, sizeof *o->combine * (size_t)carried);
        release(m, o->half, sizeof *o->half * (size_t)carried);
        release(m, o->value, sizeof *o->value * (size_t)carried);
        if (m->state.result)
            release_cells(m, &m->state.result[i], cells_given(op));
        if (m->spare)
            release_cells(m, &m->spare[i], cells_of(&op->tile));
        if (m->sums)
            release(m, m->sums[i], sizeof **m->sums * (size_t)cells_of(&op->tile));
    }
    for (size_t i = 0; i < tensors && m->output; i++)
        release(m, m->output[i].sum, sizeof *m->output[i].sum * (size_t)m->output[i].count);
    release_cells(m, &m->left, m->largest);
    release_cells(m, &m->right, m->largest);
    release(m, m->operands, sizeof *m->operands * ops);
    release(m, m->state.result, sizeof *m->state.result * ops);
    release(m, m->state.loop, sizeof *m->state.loop * ops);
    release(m, m->spare, sizeof *m->spare * ops);
    release(m, m->sums, sizeof *m->sums * ops);
    release(m, m->output, sizeof *m->output * tensors);
    release(m, m->state.scratch, m->tape_bytes);
    release(m, m->sum, sizeof *m->sum * (size_t)m->longest);
    release(m, m->scratch, 4 * sizeof *m->scratch * (size_t)m->longest);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* An INT that does not vary over the tile. */
static int number(struct meaning *m, const struct program_op *op, struct meaning_tape *tape, int64_t *value)
{
    struct meaning_part part;
    meaning_start(tape, &m->state, &part);
    meaning_next(tape, &m->state, &part);
    *value = part.value->at.whole[0];
    if (!part.value->exact && part.value->bound[0] != 0)
        return fault(m, op, "a coordinate or a bound of a loop reads an element that its tensor does not have");
    return 0;
}

static int unusable(struct meaning *m, const struct program_op *op, const struct meaning_part *part, int64_t cell,
                    int64_t columns)
{
    return fault(m, op, "at row %lld, column %lld of the tile an element is read that its tensor does not have",
                 (long long)(part->row + cell / columns), (long long)(cell % columns));
}

/* The operand into cells of `type` and extents rows x columns. `mask`: 0 where it is not valid, and there only may it
 * be what nothing may use. */
static int materialise(struct meaning *m, const struct program_op *op, struct meaning_tape *tape, bool mask,
                       enum expr_type type, int64_t rows, int64_t columns, struct meaning_cells *to)
{
    struct meaning_part part;
    bool exact = true;
    int64_t width = tape->columns;
    meaning_start(tape, &m->state, &part);
    m->work += tape->work;
    to->valid = rows * columns;
    while (meaning_next(tape, &m->state, &part)) {
        const struct meaning_cells *from = part.value;
        int64_t base = part.row * width;
        double *bound = to->bound + base;
        if (tape->type != type) {
            for (int64_t i = 0; i < part.count; i++)
                to->at.real[base + i] = (double)from->at.whole[i];
        } else if (type == EXPR_REAL) {
            memcpy(to->at.real + base, from->at.real, sizeof(double) * (size_t)part.count);
        } else {
            memcpy(to->at.whole + base, from->at.whole, sizeof(int64_t) * (size_t)part.count);
        }
        if (from->exact)
            memset(bound, 0, sizeof *bound * (size_t)part.count);
        else
            memcpy(bound, from->bound, sizeof *bound * (size_t)part.count);
        exact = exact && from->exact;
        for (int64_t i = 0; mask && (part.unknown || part.valid || !from->exact) && i < part.count; i++) {
            if (part.unknown && part.unknown[i] != 0)
                return unusable(m, op, &part, i, width);
            if (part.valid && !part.valid[i]) {
                to->at.real[base + i] = 0;
                bound[i] = 0;
                to->valid--;
            } else if (!from->exact && isnan(bound[i])) {
                return unusable(m, op, &part, i, width);
            }
        }
    }
    to->exact = exact;
    to->zeroed = true;
    /* One row, column or number stands for all. */
    for (int64_t r = rows - 1; r >= 0 && (tape->rows != rows || tape->columns != columns); r--)
        for (int64_t c = columns - 1; c >= 0; c--) {
            int64_t from = (tape->rows > 1 ? r : 0) * tape->columns + (tape->columns > 1 ? c : 0);
            memcpy(&to->at.real[r * columns + c], &to->at.real[from], sizeof(double));
            to->bound[r * columns + c] = to->bound[from];
        }
    return 0;
}

static int find_box(struct meaning *m, int op_number, struct meaning_box *box)
{
    const struct program_op *op = &m->p->op[op_number];
    struct operands *o = &m->operands[op_number];
    bool by_number = op->kind == PROGRAM_GATHER || op->kind == PROGRAM_SCATTER_ADD;
    *box = (struct meaning_box){.tensor = op->tensor,
                                .rank = m->state.kernel->tensor[op->tensor].rank,
                                .column = -1,
                                .gathered = by_number ? op->gathered : -1,
                                .window = op->window.dims ? &op->window : NULL,
                                .columns = 1};
    int64_t stride = 1, limit;
    for (int d = box->rank - 1; d >= 0; d--) {
        box->extent[d] = box->limit[d] = m->state.data->extent[op->tensor][d];
        box->stride[d] = stride;
        stride *= box->extent[d];
        if (d == box->gathered)
            continue;
        int status = number(m, op, &o->start[d], &box->start[d]);
        if (!status && op->at[d].limit >= 0) {
            status = number(m, op, &o->limit[d], &limit);
            box->limit[d] = limit < box->limit[d] ? limit : box->limit[d];
        }
        if (status)
            return status;
        box->length[d] = op->at[d].length;
        if (op->at[d].length > 0 && op->at[d].column) {
            box->column = d;
            box->columns = op->at[d].length;
        }
        if (op->at[d].length == 0 && (box->start[d] < 0 || box->start[d] >= meaning_room(box, d)))
            return fault(m, op, "coordinate %lld of dim %d is outside of %s, whose extent is %lld there",
                         (long long)box->start[d], d + 1, tensor_name(m, op->tensor), (long long)meaning_room(box, d));
    }
    return 0;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Stands for the number of a row that is not valid. */
#define NO_ROW INT64_MIN

/* The numbers of the rows that an operation addresses, in m->left. */
static int row_numbers(struct meaning *m, const struct program_op *op, struct meaning_tape *tape,
                       const struct meaning_box *box)
{
    int64_t extent = box->extent[box->gathered];
    struct meaning_part part;
    meaning_start(tape, &m->state, &part);
    while (meaning_next(tape, &m->state, &part))
        for (int64_t i = 0; i < part.count; i++) {
            int64_t at = part.value->at.whole[i];
            bool valid = !part.valid || part.valid[i];
            m->left.at.whole[part.row + i] = valid ? at : NO_ROW;
            if (valid && ((part.unknown && part.unknown[i] != 0) || (!part.value->exact && part.value->bound[i] != 0)))
                return fault(m, op, "the number of row %lld is not known exactly", (long long)(part.row + i));
            if (valid && (at < 0 || at >= extent))
                return fault(m, op, "row number %lld is outside of %s, whose dim %d has %lld", (long long)at,
                             tensor_name(m, op->tensor), box->gathered + 1, (long long)extent);
        }
    return 0;
}

static int load(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    const bool gathers = op->kind == PROGRAM_GATHER;
    struct meaning_box box;
    int status = find_box(m, op_number, &box);
    if (!status && gathers)
        status = row_numbers(m, op, &m->operands[op_number].arg[0], &box);
    m->work += op->tile.rows * op->tile.columns;
    if (!status)
        meaning_load(&m->state, op_number, &box, gathers ? m->left.at.whole : NULL);
    return status;
}

static int store(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    struct operands *o = &m->operands[op_number];
    struct meaning_output out = m->output[op->tensor];
    struct meaning_box box;
    struct meaning_part part;
    bool scatter = op->kind == PROGRAM_SCATTER_ADD;
    int status = find_box(m, op_number, &box);
    if (!status && scatter)
        status = row_numbers(m, op, &o->arg[1], &box);
    int64_t rows = scatter ? op->arg[1].rows : 1, columns = o->arg[0].columns;
    for (int d = 0; d < box.rank && !scatter; d++)
        if (d != box.column && box.length[d] > 0)
            rows *= box.length[d];
    out.add = op->kind != PROGRAM_STORE;
    if (status)
        return status;
    m->work += o->arg[0].work;
    meaning_start(&o->arg[0], &m->state, &part);
    while (meaning_next(&o->arg[0], &m->state, &part)) {
        /* One row, or one column, of the value stands for all of the coordinates. */
        int64_t last = o->arg[0].rows == 1 ? rows : part.row + part.rows;
        for (int64_t r = part.row; r < last; r++) {
            int64_t first, end, offset = meaning_row(&box, r, scatter ? m->left.at.whole[r] : 0, &first, &end);
            int64_t step = box.column >= 0 ? box.stride[box.column] : 0, wrong = -1;
            int64_t from = o->arg[0].rows == 1 ? 0 : r - part.row;
            if (columns == box.columns)
                wrong = meaning_write(&out, &part, from, columns, o->arg[0].type, offset, step, first, end);
            for (int64_t c = first; columns == 1 && box.columns > 1 && c < end && wrong < 0; c++)
                wrong = meaning_write(&out, &part, from, 1, o->arg[0].type, offset + c * step, 0, 0, 1);
            if (wrong >= 0)
                return unusable(m, op, &part, from * columns + wrong, columns);
        }
    }
    return 0;
}

/* The first rows of a SLICE, which its cells hold. */
static int slice(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    struct meaning_cells *to = &m->state.result[op_number];
    int status = materialise(m, op, &m->operands[op_number].arg[1], false, EXPR_INT, op->arg[1].rows, 1, to);
    const int wrong = status ? -1 : meaning_wrong_row(op, to);
    if (wrong >= 0)
        return fault(m, op, "a slice of %d rows from row %lld on is outside of its tile, which has %d, or not known",
                     op->tile.rows, (long long)to->at.whole[wrong], op->arg[0].rows);
    return status;
}

static int dot(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    struct operands *o = &m->operands[op_number];
    struct meaning_cells *to = &m->state.result[op_number];
    bool whole = m->p->graph->node[op->tile.node].type == EXPR_INT, has_c = op->arg[2].node >= 0;
    struct meaning_dot d = {
        .m = op->arg[0].rows,
        .n = op->arg[1].columns,
        .k = op->arg[0].columns,
        .result = *to,
        .has_c = has_c,
        .bits = whole ? 0 : meaning_dot_bits(op->arg[0].dtype),
        .products_round = tw_dtype_info(op->arg[0].dtype)->bits > 16 && op->arg[0].dtype != TW_TF32 && !whole,
        .least = fmax(meaning_least_normal(op->arg[0].dtype), meaning_least_normal(op->arg[1].dtype)),
        .scratch = m->scratch};
    const int from = program_slice(m->p, &op->arg[1]);
    int status = materialise(m, op, &o->arg[0], true, EXPR_REAL, d.m, d.k, &m->left);
    if (!status && from < 0)
        status = materialise(m, op, &o->arg[1], true, EXPR_REAL, d.k, d.n, &m->right);
    if (!status && has_c)
        status = materialise(m, op, &o->arg[2], true, EXPR_REAL, d.m, d.n, &d.result);
    if (status)
        return status;
    if (!has_c) {
        memset(d.result.at.real, 0, sizeof(double) * (size_t)(d.m * d.n));
        d.result.exact = true;
    }
    d.a = m->left;
    d.b = m->right;
    m->work += d.m * d.n * d.k;
    m->products += m->left.valid * (from < 0 ? m->right.valid / d.k : d.n);
    meaning_multiply(&m->state, op_number, &d);
    for (int64_t i = 0; whole && i < d.m * d.n; i++) {
        int64_t value = (int64_t)d.result.at.real[i];
        d.result.at.whole[i] = value;
    }
    *to = d.result;
    return 0;
}

static int reduce(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    struct meaning_tape *tape = &m->operands[op_number].arg[0];
    struct meaning_part part;
    struct meaning_reduction r = {.reduction = op->reduction,
                                  .over_rows = op->over_rows,
                                  .whole = tape->type == EXPR_INT,
                                  .columns = tape->columns,
                                  .count = op->over_rows ? tape->columns : tape->rows,
                                  .result = m->state.result[op_number],
                                  .sum = m->sums[op_number] ? m->sums[op_number] : m->sum,
                                  .low = m->scratch,
                                  .high = m->scratch + m->longest,
                                  .value = m->scratch + 2 * m->longest,
                                  .bound = m->scratch + 3 * m->longest};
    meaning_reduce_begin(&r);
    meaning_start(tape, &m->state, &part);
    m->work += tape->work;
    while (meaning_next(tape, &m->state, &part)) {
        int64_t wrong = meaning_reduce(&r, &part);
        if (wrong >= 0)
            return unusable(m, op, &part, wrong, tape->columns);
    }
    meaning_reduce_end(&r);
    m->state.result[op_number] = r.result;
    return 0;
}

/* What takes its operands whole: TRANSPOSE, RANK, SEGMENT. */
static int of_whole(struct meaning *m, int op_number)
{
    const struct program_op *op = &m->p->op[op_number];
    struct operands *o = &m->operands[op_number];
    const bool turns = op->kind == PROGRAM_TRANSPOSE;
    if (turns && program_slice(m->p, &op->arg[0]) >= 0)
        return 0; /* dots take the rows themselves */
    int64_t rows = op->arg[0].rows, columns = op->arg[0].columns;
    int status = materialise(m, op, &o->arg[0], !turns, o->arg[0].type, rows, columns, &m->left);
    if (!status && op->kind == PROGRAM_SEGMENT)
        status = materialise(m, op, &o->arg[1], true, EXPR_INT, rows, columns, &m->right);
    if (!status && turns)
        meaning_turn(&m->left, rows, columns, &m->state.result[op_number]);
    else if (!status)
        meaning_rank(op, &m->left, &m->right, &m->state.result[op_number]);
    return status;
}

/* A carried value into the cells of its PARAM. */
static int carry(struct meaning *m, const struct program_op *op, struct meaning_tape *tape, int param,
                 struct meaning_cells *to)
{
    const struct program_tile *tile = &m->p->op[param].tile;
    return materialise(m, op, tape, false, m->p->graph->node[tile->node].type, tile->rows, tile->columns, to);
}

static int run_operations(struct meaning *m, int from, int to);

/* The entries of a list: the last dim of its tensor at the place that the loop names. */
static int find_list(struct meaning *m, const struct program_op *op, struct operands *o, struct meaning_turns *c)
{
    int rank = m->state.kernel->tensor[op->list].rank;
    const int64_t *extent = m->state.data->extent[op->list];
    int64_t offset = 0;
    for (int d = 0; d + 1 < rank; d++) {
        int64_t at;
        int status = number(m, op, &o->start[d], &at);
        if (status)
            return status;
        if (at < 0 || at >= extent[d])
            return fault(m, op, "coordinate %lld of dim %d is outside of the list %s, whose extent is %lld there",
                         (long long)at, d + 1, tensor_name(m, op->list), (long long)extent[d]);
        offset = offset * extent[d] + at;
    }
    c->entries = extent[rank - 1];
    c->list = m->state.data->tensor[op->list] + offset * c->entries;
    return 0;
}

/* What a turn added to a carried value: lowerings may group the terms of all turns in any way, so the bound is that of
 * one sum. */
static void go_on_with_sum(struct meaning *m, int param)
{
    if (!m->sums[param])
        return;
    const struct expr_node *n = &m->p->graph->node[meaning_added(m->p, param)];
    const struct program_op *from = n->op == EXPR_TILE ? &m->p->op[n->integer] : NULL;
    const struct program_tile *tile = &m->p->op[param].tile;
    bool known =
        from && from->kind == PROGRAM_REDUCE && from->tile.rows == tile->rows && from->tile.columns == tile->columns;
    meaning_sum_go_on(m->sums[param], known ? m->sums[n->integer] : NULL, &m->state.result[param], &m->spare[param],
                      cells_of(tile));
}

/* These turns, beginning with the first values. */
static int run_turns(struct meaning *m, int number_of_loop, struct meaning_turns c)
{
    const struct program_op *op = &m->p->op[number_of_loop], *end = &m->p->op[op->end];
    struct operands *o = &m->operands[number_of_loop];
    int first = number_of_loop + 1, status = 0; /* its PARAMs stand there, in order */
    for (int i = 0; i < op->carried && !status; i++)
        status = carry(m, op, &o->value[i], first + i, &m->state.result[first + i]);
    for (int i = 0; i < op->carried && !status; i++)
        if (m->sums[first + i])
            meaning_sum_begin(m->sums[first + i], &m->state.result[first + i], cells_of(&m->p->op[first + i].tile));
    for (int64_t i = c.first; !status && c.turns > 0; i += c.by, c.turns--) {
        if (c.list && (i < 0 || i >= c.entries))
            return fault(m, op, "entry %lld is outside of the list %s, which has %lld", (long long)i,
                         tensor_name(m, op->list), (long long)c.entries);
        m->state.loop[number_of_loop] = c.list ? (int64_t)c.list[i] : i;
        status = run_operations(m, first + op->carried, op->end);
        for (int k = 0; k < op->carried && !status; k++)
            status = carry(m, end, &m->operands[op->end].value[k], first + k, &m->spare[first + k]);
        for (int k = 0; k < op->carried && !status; k++)
            go_on_with_sum(m, first + k);
        for (int k = 0; k < op->carried && !status; k++)
            meaning_swap(&m->state.result[first + k], &m->spare[first + k]);
    }
    return status;
}

/* What there is of the loop's values and what further turns come to are put together: the PARAMs have the one, the
 * RESULTs the other. */
static int put_together(struct meaning *m, int number_of_loop)
{
    const struct program_op *op = &m->p->op[number_of_loop];
    struct operands *o = &m->operands[number_of_loop];
    int first = number_of_loop + 1, result = op->end + 1, status = 0;
    for (int k = 0; k < op->carried; k++) {
        meaning_swap(&m->state.result[first + k], &m->state.result[result + k]);
        meaning_swap(&m->state.result[first + k], &o->half[k]);
    }
    for (int k = 0; k < op->carried && !status; k++)
        status = carry(m, op, &o->combine[k], first + k, &m->spare[first + k]);
    for (int k = 0; k < op->carried && !status; k++)
        meaning_swap(&m->state.result[first + k], &m->spare[first + k]);
    return status;
}

/* Parts of the turns, in their order: halves, or of `parts` every so many-th. */
static int run_parts(struct meaning *m, int number_of_loop, struct meaning_turns c, int parts)
{
    const struct program_op *op = &m->p->op[number_of_loop];
    struct operands *o = &m->operands[number_of_loop];
    const int count = parts > 1 ? parts : 2;
    int status = 0;
    for (int i = 0; i < count && !status; i++) {
        status = run_turns(m, number_of_loop, meaning_part_of(&c, i, parts));
        status = status || i == 0 ? status : put_together(m, number_of_loop);
        for (int k = 0; k < op->carried; k++) /* which is aside while the next part runs */
            meaning_swap(&m->state.result[number_of_loop + 1 + k], &o->half[k]);
    }
    for (int k = 0; k < op->carried; k++)
        meaning_swap(&m->state.result[number_of_loop + 1 + k], &o->half[k]);
    return status;
}

static int run_loop(struct meaning *m, int number_of_loop)
{
    const struct program_op *op = &m->p->op[number_of_loop];
    struct operands *o = &m->operands[number_of_loop];
    struct meaning_turns c = {.by = o->step};
    int64_t to = 0;
    int status = number(m, op, &o->from, &c.first);
    status = status ? status : number(m, op, &o->to, &to);
    status = status || op->list < 0 ? status : find_list(m, op, o, &c);
    if (status)
        return status;
    meaning_count_turns(&c, to, m->run->down && m->run->down[number_of_loop]);
    bool outer = m->state.free_casts;
    m->state.free_casts = m->run->free_casts != PROGRAM_CASTS_ROUND;
    const int parts = m->run->parts ? m->run->parts[number_of_loop] : 0;
    status = o->combine && (m->run->halves || parts > 1) ? run_parts(m, number_of_loop, c, m->run->halves ? 0 : parts)
                                                         : run_turns(m, number_of_loop, c);
    m->state.free_casts = outer;
    return status;
}

static int run_operations(struct meaning *m, int from, int to)
{
    int status = 0;
    for (int i = from; i < to && !status; i++) {
        const struct program_op *op = &m->p->op[i];
        switch (op->kind) {
        case PROGRAM_LOAD:
        case PROGRAM_GATHER:
            status = load(m, i);
            break;
        case PROGRAM_DOT:
            status = dot(m, i);
            break;
        case PROGRAM_REDUCE:
            status = reduce(m, i);
            break;
        case PROGRAM_TRANSPOSE:
        case PROGRAM_RANK:
        case PROGRAM_SEGMENT:
            status = of_whole(m, i);
            break;
        case PROGRAM_PICK:
            meaning_pick(m->p, i, m->state.result);
            break;
        case PROGRAM_SLICE:
            status = slice(m, i);
            break;
        case PROGRAM_STAGE:
            status = carry(m, op, &m->operands[i].arg[0], i, &m->state.result[i]);
            break;
        case PROGRAM_LOOP:
            status = run_loop(m, i);
            i = op->end;
            break;
        case PROGRAM_RESULT: /* the loop is over: nothing reads its PARAM before the loop writes it again */
            meaning_swap(&m->state.result[i], &m->state.result[op->loop + 1 + op->which]);
            break;
        case PROGRAM_STORE:
        case PROGRAM_STORE_ADD:
        case PROGRAM_SCATTER_ADD:
            status = store(m, i);
            break;
        default:
            break;
        }
    }
    return status;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static int run_items(struct meaning *m, const int64_t *steps, int64_t *items)
{
    const struct program *p = m->p;
    const struct program_run *run = m->run;
    int64_t all = 1;
    for (int a = 0; a < p->axis_count; a++)
        all *= steps[a];
    int64_t end = !run->item && (run->count < 0 || run->count > all - run->first) ? all : run->first + run->count;
    for (int64_t item = run->first; item < end; item++) {
        int64_t rest = run->item ? run->item[item] : item;
        for (int a = p->axis_count - 1; a >= 0; a--) {
            int64_t tile = p->axis[a].tile > 0 ? p->axis[a].tile : 1;
            m->state.at[a] = rest % steps[a] * tile;
            rest /= steps[a];
        }
        int status = run_operations(m, 0, p->op_count);
        if (status)
            return status;
        ++*items;
    }
    return 0;
}

int program_evaluate(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
                     const struct program_run *run, int64_t *items, struct program_error *error)
{
    bool all_free = run->free_casts == PROGRAM_CASTS_FREE;
    struct meaning m = {.state = {.p = p, .kernel = kernel, .data = data, .free_casts = all_free},
                        .p = p,
                        .run = run,
                        .error = error,
                        .memory = p->graph->memory,
                        .largest = 1,
                        .longest = 1};
    int64_t steps[SPEC_MAX_AXES], done = 0;
    int status = prepare_all(&m);
    for (int a = 0; a < p->axis_count && !status; a++) {
        steps[a] = meaning_steps(p, a, data->symbol);
        if (steps[a] < 0) {
            if (error)
                *error = (struct program_error){p->loc, "the number of work items overflows"};
            status = 1;
        }
    }
    if (!status)
        status = run_items(&m, steps, &done);
    for (int i = 0; i < kernel->tensor_count && !status; i++)
        if (m.output[i].sum)
            meaning_finish(&m.output[i]);
    release_all(&m);
    if (items)
        *items = done;
    if (run->work)
        *run->work = m.work;
    if (run->products)
        *run->products = m.products;
    return status;
}
