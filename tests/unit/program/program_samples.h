/* Programs for tests of the meaning: built operation by operation, or drawn at random, on matrices of 16 x 16; run by
 * the meaning and by the naive twin. */
#ifndef TW_TESTS_PROGRAM_SAMPLES_H
#define TW_TESTS_PROGRAM_SAMPLES_H

#include "unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"
#include "program_naive.h"

enum { MOST_OPS = 160, MOST_VALUES = 200, INPUTS = 4, OUTPUTS = 4, SIDE = 16 };

/* A value that operations take: a tile of extents 1 or `side`. */
struct value {
    int node, rows, columns, valid_row, valid_column, depth;
};

/* A program by hand or at random, on matrices of SIDE x SIDE: 0 bf16, 1 fp32, 2 int32, 3 fp32 with infinities; outputs
 * fp32, bf16, fp16, int32. */
struct sample {
    struct expr_graph g;
    struct program p;
    struct program_op op[MOST_OPS];
    struct spec_kernel kernel;
    struct spec_tensor tensor[INPUTS + OUTPUTS];
    struct spec_scalar scalar;
    int64_t extent[INPUTS + OUTPUTS][SPEC_MAX_RANK], symbol[1];
    double cell[INPUTS + OUTPUTS][SIDE * SIDE], bound[INPUTS + OUTPUTS][SIDE * SIDE], number[1];
    double *cells[INPUTS + OUTPUTS], *bounds[INPUTS + OUTPUTS];
    unsigned char done[INPUTS + OUTPUTS][SIDE * SIDE], *dones[INPUTS + OUTPUTS];
    struct value value[MOST_VALUES];
    int values, side, depth, bodies;
    uint64_t random;
    bool ranks;  /* it may have ranks and segments of rows, */
    bool slices; /* and products with slices */
};

static inline uint64_t draw(struct sample *s, uint64_t most)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random % most;
}

static const struct program_tile no_tile = {
    .node = -1, .valid_row = -1, .valid_column = -1, .index = {-1, -1, -1, -1, -1, -1, -1, -1}};

static inline void begin(struct sample *s, int side, uint64_t seed)
{
    static const enum tw_dtype dtype[INPUTS + OUTPUTS] = {TW_BF16, TW_FP32, TW_INT32, TW_FP32,
                                                          TW_FP32, TW_BF16, TW_FP16,  TW_INT32};
    static const char *const name[INPUTS + OUTPUTS] = {"x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3"};
    memset(s, 0, sizeof *s);
    s->random = seed * 2654435761u + 88172645463325252u;
    s->side = side;
    s->p.graph = &s->g;
    s->p.op = s->op;
    s->p.axis_count = 1;
    s->p.axis[0] = (struct program_axis){.name = "r", .extent = expr_symbol(&s->g, 0), .tile = side};
    s->symbol[0] = SIDE;
    s->number[0] = 0.1;
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        s->tensor[i] = (struct spec_tensor){.name = name[i], .dtype = dtype[i], .rank = 2, .out = i >= INPUTS};
        s->extent[i][0] = s->extent[i][1] = SIDE;
        s->cells[i] = s->cell[i];
        s->bounds[i] = s->bound[i];
        s->dones[i] = s->done[i];
        for (int e = 0; e < SIDE * SIDE && i < INPUTS; e++) {
            double v = (double)(int64_t)draw(s, 2001) / 250 - 4;
            if (i == 2)
                v = (double)draw(s, 4);
            if (i == 3 && draw(s, 4) == 0)
                v = draw(s, 2) ? -(double)INFINITY : 0;
            s->cell[i][e] = naive_element(dtype[i], v);
        }
    }
    s->kernel = (struct spec_kernel){.name = "sample",
                                     .tensor = s->tensor,
                                     .tensor_count = INPUTS + OUTPUTS,
                                     .scalar = &s->scalar,
                                     .scalar_count = 1,
                                     .program = &s->p};
    s->scalar = (struct spec_scalar){.name = "a", .dtype = TW_FP32};
}

static inline struct program_tile tile_of(const struct value *v)
{
    struct program_tile t = no_tile;
    t.node = v->node;
    t.rows = v->rows;
    t.columns = v->columns;
    t.dtype = TW_FP32;
    t.valid_row = v->valid_row;
    t.valid_column = v->valid_column;
    return t;
}

static inline struct program_op operation(enum program_kind kind)
{
    struct program_op op = {.kind = kind, .tensor = -1, .gathered = -1, .list = -1, .loop = -1, .end = -1};
    op.tile = op.arg[0] = op.arg[1] = op.arg[2] = no_tile;
    op.tile.rows = op.tile.columns = 0;
    return op;
}

static inline int append(struct sample *s, struct program_op op)
{
    assert_true(s->p.op_count < MOST_OPS);
    op.depth = s->depth;
    op.loc.line = s->p.op_count + 1;
    s->op[s->p.op_count] = op;
    return s->p.op_count++;
}

/* What an operation gave, as a value; `type` of its elements. */
static inline struct value give(struct sample *s, struct program_op op, enum expr_type type)
{
    int at = append(s, op);
    s->op[at].tile.node = expr_leaf(&s->g, EXPR_TILE, type, at);
    struct value v = {s->op[at].tile.node, op.tile.rows,         op.tile.columns,
                      op.tile.valid_row,   op.tile.valid_column, s->depth};
    return v;
}

static inline void keep(struct sample *s, struct value v)
{
    if (s->values < MOST_VALUES && v.node >= 0)
        s->value[s->values++] = v;
}

static inline int both(struct sample *s, int a, int b)
{
    return a < 0 ? b : b < 0 || a == b ? a : expr_binary(&s->g, EXPR_AND, a, b);
}

/* ROW + start >= 0 and ROW + start < SIDE, or with COLUMN. */
static inline int inside(struct sample *s, enum expr_op leaf, int start)
{
    int at = expr_binary(&s->g, EXPR_ADD, expr_leaf(&s->g, leaf, EXPR_INT, 0), start);
    return expr_binary(&s->g, EXPR_AND, expr_binary(&s->g, EXPR_GE, at, expr_int(&s->g, 0)),
                       expr_binary(&s->g, EXPR_LT, at, expr_int(&s->g, SIDE)));
}

static inline struct value load_at(struct sample *s, int tensor, int row, int column, int rows, int columns)
{
    struct program_op op = operation(PROGRAM_LOAD);
    op.tensor = tensor;
    op.at[0] = (struct program_coordinate){row, rows, -1, false};
    op.at[1] = (struct program_coordinate){column, columns, -1, true};
    op.tile.rows = rows;
    op.tile.columns = columns;
    op.tile.valid_row = rows > 1 ? inside(s, EXPR_ROW, row) : -1;
    op.tile.valid_column = columns > 1 ? inside(s, EXPR_COLUMN, column) : -1;
    return give(s, op, tensor == 2 ? EXPR_INT : EXPR_REAL);
}

static inline void store_at(struct sample *s, enum program_kind kind, int tensor, int row, int column, struct value v)
{
    struct program_op op = operation(kind);
    op.tensor = tensor;
    op.arg[0] = tile_of(&v);
    op.at[0] = (struct program_coordinate){row, s->side, -1, false};
    op.at[1] = (struct program_coordinate){column, s->side, -1, true};
    append(s, op);
}

static inline enum expr_type type_of(const struct sample *s, const struct value *v)
{
    return s->g.node[v->node].type;
}

static inline void finish(struct sample *s)
{
    for (int i = 0; i < s->p.op_count; i++)
        free(s->op[i].value);
    expr_free(&s->g);
}

static inline void reset(double *const *out)
{
    for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
        for (int e = 0; e < SIDE * SIDE; e++)
            out[i][e] = i == INPUTS ? 0 : -1;
}

static inline int evaluate(struct sample *s, struct program_error *error)
{
    struct program_data data = {s->symbol, s->cells, (const int64_t(*)[SPEC_MAX_RANK])s->extent, s->number, s->bounds};
    struct program_run run = {.count = -1, .done = s->dones};
    int64_t items;
    reset(s->cells);
    memset(s->done, 0, sizeof s->done);
    return program_evaluate(&s->p, &s->kernel, &data, &run, &items, error);
}

static inline bool within(double value, double want, double bound)
{
    return isinf(bound) || value == want || (isnan(value) && isnan(want)) || fabs(value - want) <= bound;
}

/* How many elements of the outputs the twin of `p` computes outside of the bounds. */
static inline int twin_beyond(struct sample *s, const struct program *p, uint64_t seed, char *text, size_t size)
{
    static double own[INPUTS + OUTPUTS][SIDE * SIDE];
    double *out[INPUTS + OUTPUTS];
    int beyond = 0;
    for (int i = 0; i < INPUTS + OUTPUTS; i++)
        out[i] = own[i];
    struct program_data data = {s->symbol, s->cells, (const int64_t(*)[SPEC_MAX_RANK])s->extent, s->number, NULL};
    reset(out);
    naive_run(p, &s->kernel, &data, NULL, out, seed);
    for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
        for (int e = 0; e < SIDE * SIDE; e++) {
            bool same = s->done[i][e] ? within(own[i][e], s->cell[i][e], s->bound[i][e]) : own[i][e] == s->cell[i][e];
            if (!same && !beyond)
                snprintf(text, size, "y%d[%d,%d] is %.9g, the meaning %.9g within %.3g, done %d", i - INPUTS, e / SIDE,
                         e % SIDE, own[i][e], s->cell[i][e], s->bound[i][e], s->done[i][e]);
            beyond += !same;
        }
    return beyond;
}

#endif
