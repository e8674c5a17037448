#include "unit/program/program_drawn.h"

static struct value any_value(struct sample *s)
{
    return s->value[draw(s, (uint64_t)s->values)];
}

static struct value join(struct sample *s, struct value a, struct value b, int node)
{
    return (struct value){node,
                          a.rows > b.rows ? a.rows : b.rows,
                          a.columns > b.columns ? a.columns : b.columns,
                          both(s, a.valid_row, b.valid_row),
                          both(s, a.valid_column, b.valid_column),
                          s->depth};
}

static void random_elementwise(struct sample *s)
{
    static const enum expr_op unary[] = {EXPR_NEG,     EXPR_ABS,  EXPR_RELU,        EXPR_EXP,
                                         EXPR_EXP2,    EXPR_SQRT, EXPR_RSQRT,       EXPR_TANH,
                                         EXPR_SIGMOID, EXPR_SILU, EXPR_GELU,        EXPR_GELU_TANH,
                                         EXPR_LOG,     EXPR_LOG2, EXPR_TANH_APPROX, EXPR_GELU_TANH_APPROX};
    static const enum expr_op binary[] = {EXPR_ADD,       EXPR_SUB, EXPR_MUL, EXPR_DIV, EXPR_MIN,      EXPR_MAX,
                                          EXPR_EXP2_DIFF, EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_FLOORDIV, EXPR_MOD};
    static const enum expr_op compare[] = {EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE, EXPR_EQ, EXPR_NE};
    static const enum tw_dtype cast[] = {TW_BF16, TW_FP16, TW_TF32, TW_FP8_E4M3, TW_FP8_E5M2, TW_FP32};
    struct value a = any_value(s), b = any_value(s), c = any_value(s);
    int node = -1, condition;
    switch (draw(s, 8)) {
    case 0:
    case 1:
        keep(s, join(s, a, a, expr_unary(&s->g, unary[draw(s, sizeof unary / sizeof *unary)], a.node)));
        return;
    case 2:
        if (type_of(s, &a) == EXPR_REAL)
            keep(s, join(s, a, a, expr_cast(&s->g, a.node, cast[draw(s, sizeof cast / sizeof *cast)])));
        return;
    case 3:
        condition = expr_binary(&s->g, compare[draw(s, 6)], c.node, draw(s, 2) ? b.node : expr_int(&s->g, 0));
        if (draw(s, 3) == 0)
            condition = expr_unary(&s->g, EXPR_NOT, condition);
        if (draw(s, 3) == 0)
            condition = expr_binary(&s->g, draw(s, 2) ? EXPR_AND : EXPR_OR, condition,
                                    expr_binary(&s->g, EXPR_LT, a.node, b.node));
        node = condition < 0 ? -1 : expr_select(&s->g, condition, a.node, b.node);
        keep(s, join(s, join(s, a, b, node), c, node));
        return;
    case 4: {
        /* An element by indices that may lie outside, read behind a condition. */
        int at =
            expr_binary(&s->g, EXPR_ADD, expr_leaf(&s->g, EXPR_ROW, EXPR_INT, 0), expr_int(&s->g, (int64_t)draw(s, 9)));
        int index[2] = {at, expr_leaf(&s->g, EXPR_COLUMN, EXPR_INT, 0)};
        int element = expr_tensor(&s->g, (int)draw(s, 2), EXPR_REAL, 2, index);
        condition = expr_binary(&s->g, EXPR_LT, at, expr_int(&s->g, SIDE));
        struct value whole = {
            expr_select(&s->g, condition, element, expr_real(&s->g, 0.5)), s->side, s->side, -1, -1, s->depth};
        keep(s, whole);
        return;
    }
    default:
        node = expr_binary(&s->g, binary[draw(s, sizeof binary / sizeof *binary)], a.node, b.node);
        keep(s, join(s, a, b, node));
    }
}

static void random_reduction(struct sample *s)
{
    struct value a = any_value(s);
    struct program_op op = operation(PROGRAM_REDUCE);
    op.arg[0] = op.tile = tile_of(&a);
    op.reduction = (enum program_reduction)draw(s, PROGRAM_REDUCTIONS);
    op.over_rows = draw(s, 2);
    *(op.over_rows ? &op.tile.rows : &op.tile.columns) = 1;
    *(op.over_rows ? &op.tile.valid_row : &op.tile.valid_column) = -1;
    if (type_of(s, &a) == EXPR_INT && op.reduction != PROGRAM_SUM)
        return; /* the identity of integers takes more than a float */
    keep(s, give(s, op, type_of(s, &a)));
}

/* a b, which lies where rows of a do. */
static struct program_op product(const struct value *a, const struct value *b)
{
    struct program_op op = operation(PROGRAM_DOT);
    op.arg[0] = tile_of(a);
    op.arg[1] = tile_of(b);
    op.tile = no_tile;
    op.tile.rows = a->rows;
    op.tile.columns = b->columns;
    op.tile.valid_row = a->valid_row;
    return op;
}

static void random_dot(struct sample *s)
{
    struct value a = any_value(s), b = any_value(s), c = any_value(s);
    if (type_of(s, &a) != EXPR_REAL || type_of(s, &b) != EXPR_REAL || a.columns != b.rows)
        return;
    struct program_op op = product(&a, &b);
    op.tile.valid_column = b.valid_column;
    if (draw(s, 2) && type_of(s, &c) == EXPR_REAL && c.rows == a.rows && c.columns == b.columns) {
        op.arg[2] = tile_of(&c);
        op.tile.valid_row = both(s, op.tile.valid_row, c.valid_row);
        op.tile.valid_column = both(s, op.tile.valid_column, c.valid_column);
    }
    keep(s, give(s, op, EXPR_REAL));
}

/* A product with rows of a tile from one on that is a constant, or goes by the row of the first operand. */
static void random_slice(struct sample *s)
{
    struct value a = any_value(s);
    if (type_of(s, &a) != EXPR_REAL || a.rows < 1 || a.columns < 1)
        return;
    const bool turned = draw(s, 2);
    const int wide = draw(s, 4) ? s->side : 1; /* columns of the product: extents are 1 or the side */
    const int length = turned ? wide : a.columns, columns = turned ? a.columns : wide;
    const int rows = length + (int)draw(s, 4);
    if (rows > SIDE)
        return;
    struct value tile = load_at(s, (int)draw(s, 2), expr_int(&s->g, (int64_t)draw(s, SIDE)),
                                expr_int(&s->g, (int64_t)draw(s, SIDE)), rows, columns);
    struct program_op slice = operation(PROGRAM_SLICE), turn = operation(PROGRAM_TRANSPOSE);
    const int most = expr_int(&s->g, rows - length + 1), by_row = (int)draw(s, 3);
    struct value first = {by_row
                              ? expr_binary(&s->g, EXPR_MOD,
                                            expr_binary(&s->g, EXPR_FLOORDIV, expr_leaf(&s->g, EXPR_ROW, EXPR_INT, 0),
                                                        expr_int(&s->g, by_row)),
                                            most)
                              : expr_int(&s->g, (int64_t)draw(s, (uint64_t)(rows - length + 1))),
                          by_row ? a.rows : 1,
                          1,
                          -1,
                          -1,
                          s->depth};
    slice.arg[0] = slice.tile = tile_of(&tile);
    slice.arg[1] = tile_of(&first);
    slice.tile.rows = length;
    slice.tile.valid_row = slice.tile.valid_column = -1;
    struct value b = give(s, slice, EXPR_REAL);
    if (turned) {
        turn.arg[0] = turn.tile = tile_of(&b);
        turn.tile.rows = b.columns;
        turn.tile.columns = b.rows;
        b = give(s, turn, EXPR_REAL);
    }
    struct program_op op = product(&a, &b);
    keep(s, give(s, op, EXPR_REAL));
}

static void random_move(struct sample *s)
{
    struct value a = any_value(s);
    struct program_op op = operation(draw(s, 2) ? PROGRAM_TRANSPOSE : PROGRAM_STAGE);
    if (a.valid_row >= 0 || a.valid_column >= 0)
        return;
    op.arg[0] = op.tile = tile_of(&a);
    if (op.kind == PROGRAM_TRANSPOSE) {
        op.tile.rows = a.columns;
        op.tile.columns = a.rows;
    }
    keep(s, give(s, op, type_of(s, &a)));
}

/* Ranks of a row, or its sums by numbers, which are small so that some are columns. */
static void random_rank(struct sample *s)
{
    struct value a = any_value(s), b = any_value(s), joined = join(s, a, b, -1);
    struct program_op op = operation(draw(s, 2) ? PROGRAM_RANK : PROGRAM_SEGMENT);
    bool segment = op.kind == PROGRAM_SEGMENT;
    if (type_of(s, &a) != EXPR_INT || (segment && type_of(s, &b) != EXPR_INT) || a.valid_row >= 0 ||
        a.valid_column >= 0 || joined.valid_row >= 0 || joined.valid_column >= 0)
        return;
    op.arg[0] = op.tile = tile_of(&a);
    op.reduction = (enum program_reduction)draw(s, PROGRAM_REDUCTIONS);
    for (int i = 0; segment && i < 2; i++) {
        op.arg[i] = tile_of(i ? &b : &a);
        op.arg[i].rows = op.tile.rows = joined.rows;
        op.arg[i].columns = op.tile.columns = joined.columns;
    }
    if (segment)
        op.arg[1].node = expr_binary(&s->g, EXPR_MOD, b.node, expr_int(&s->g, 7));
    keep(s, give(s, op, EXPR_INT));
}

static void random_load(struct sample *s)
{
    int row = draw(s, 2) ? expr_leaf(&s->g, EXPR_AT, EXPR_INT, 0) : expr_int(&s->g, (int64_t)draw(s, SIDE));
    int column = expr_int(&s->g, (int64_t)draw(s, SIDE));
    int rows = draw(s, 4) ? s->side : 1, columns = draw(s, 4) ? s->side : 1;
    if (draw(s, 3) == 0 && rows > 1) /* begins outside */
        row = expr_int(&s->g, (int64_t)draw(s, 6) - 5);
    if (draw(s, 3) == 0) { /* wholly inside */
        row = expr_int(&s->g, (int64_t)draw(s, (uint64_t)(SIDE - rows + 1)));
        column = expr_int(&s->g, (int64_t)draw(s, (uint64_t)(SIDE - columns + 1)));
    }
    struct value v = load_at(s, (int)draw(s, INPUTS), row, column, rows, columns);
    bool whole = s->g.node[row].op == EXPR_CONST_INT && s->g.node[row].integer >= 0 &&
                 s->g.node[row].integer + rows <= SIDE && s->g.node[column].integer + columns <= SIDE;
    if (whole)
        v.valid_row = v.valid_column = s->op[s->p.op_count - 1].tile.valid_row =
            s->op[s->p.op_count - 1].tile.valid_column = -1;
    keep(s, v);
    if (whole && draw(s, 8) == 0) {
        struct program_op pick = operation(PROGRAM_PICK);
        pick.arg[0] = pick.tile = tile_of(&v);
        pick.tile.columns = 1;
        pick.which = (int)draw(s, (uint64_t)columns);
        keep(s, give(s, pick, type_of(s, &v)));
    }
}

static void random_gather(struct sample *s)
{
    struct program_op op = operation(PROGRAM_GATHER);
    struct value number =
        load_at(s, 2, expr_leaf(&s->g, EXPR_AT, EXPR_INT, 0), expr_int(&s->g, (int64_t)draw(s, SIDE)), s->side, 1);
    int column = expr_int(&s->g, (int64_t)draw(s, SIDE));
    op.tensor = (int)draw(s, 2);
    op.gathered = 0;
    op.arg[0] = tile_of(&number);
    op.at[0] = (struct program_coordinate){expr_int(&s->g, 0), 0, -1, false};
    op.at[1] = (struct program_coordinate){column, s->side, -1, true};
    op.tile.rows = op.tile.columns = s->side;
    op.tile.valid_row = number.valid_row;
    op.tile.valid_column = s->side > 1 ? inside(s, EXPR_COLUMN, column) : -1;
    keep(s, give(s, op, EXPR_REAL));
}

static void random_body(struct sample *s, int length);

/* A value like `like` that is valid everywhere and may be carried on. */
static struct value carried_like(struct sample *s, struct value like, enum expr_type type)
{
    for (int tries = 0; tries < 12; tries++) {
        struct value v = any_value(s);
        if (v.rows <= like.rows && v.columns <= like.columns && v.valid_row < 0 && v.valid_column < 0 &&
            type_of(s, &v) == type)
            return v;
    }
    return like;
}

static void random_loop(struct sample *s)
{
    int first_value = s->values, carried = (int)draw(s, 3), param[2] = {0};
    struct program_tile *begins = calloc(2, sizeof *begins), *ends = calloc(2, sizeof *ends);
    struct program_op op = operation(PROGRAM_LOOP), end = operation(PROGRAM_END);
    int64_t trips[] = {0, 1, 2, 4};
    int index[2] = {expr_int(&s->g, (int64_t)draw(s, SIDE)), expr_int(&s->g, 3)};
    op.from = expr_int(&s->g, (int64_t)draw(s, 2));
    op.to = draw(s, 2) ? expr_int(&s->g, trips[draw(s, 4)]) : expr_tensor(&s->g, 2, EXPR_INT, 2, index);
    op.step = expr_int(&s->g, 1 + (int64_t)draw(s, 2));
    op.carried = carried;
    op.value = begins;
    int loop = append(s, op);
    for (int i = 0; i < carried; i++) {
        struct value like = {expr_real(&s->g, (double)draw(s, 3) - 1),
                             draw(s, 3) ? s->side : 1,
                             draw(s, 3) ? s->side : 1,
                             -1,
                             -1,
                             s->depth};
        struct value init = carried_like(s, like, EXPR_REAL);
        struct program_op p = operation(PROGRAM_PARAM);
        begins[i] = tile_of(&init);
        p.tile = no_tile;
        p.tile.rows = like.rows;
        p.tile.columns = like.columns;
        p.loop = loop;
        p.which = i;
        s->depth++;
        keep(s, give(s, p, EXPR_REAL));
        s->depth--;
        param[i] = s->p.op_count - 1;
    }
    s->depth++;
    struct value variable = {expr_leaf(&s->g, EXPR_LOOP, EXPR_INT, loop), 1, 1, -1, -1, s->depth};
    keep(s, variable);
    random_body(s, 6);
    for (int i = 0; i < carried; i++) {
        struct value like = {
            s->op[param[i]].tile.node, s->op[param[i]].tile.rows, s->op[param[i]].tile.columns, -1, -1, 0};
        struct value next = carried_like(s, like, EXPR_REAL);
        if (draw(s, 2))
            next.node =
                expr_binary(&s->g, EXPR_ADD, expr_binary(&s->g, EXPR_MUL, like.node, expr_real(&s->g, 0.5)), next.node);
        ends[i] = tile_of(&next);
        ends[i].rows = like.rows;
        ends[i].columns = like.columns;
    }
    s->depth--;
    end.loop = loop;
    end.carried = carried;
    end.value = ends;
    s->op[loop].end = append(s, end);
    s->values = first_value; /* what a turn made is gone */
    for (int i = 0; i < carried; i++) {
        struct program_op r = operation(PROGRAM_RESULT);
        r.tile = s->op[param[i]].tile;
        r.loop = loop;
        r.which = i;
        keep(s, give(s, r, EXPR_REAL));
    }
}

static void random_body(struct sample *s, int length)
{
    for (int i = 0; i < length && s->p.op_count < MOST_OPS - 40; i++) {
        switch (draw(s, s->slices ? 18 : s->ranks ? 16 : 12)) {
        case 0:
        case 1:
            random_load(s);
            break;
        case 2:
            random_reduction(s);
            break;
        case 3:
            random_dot(s);
            break;
        case 4:
            random_move(s);
            break;
        case 5:
            random_gather(s);
            break;
        case 6:
            if (s->depth < 2)
                random_loop(s);
            break;
        case 12:
        case 13:
        case 14:
        case 15:
            random_rank(s);
            break;
        case 16:
        case 17:
            random_slice(s);
            break;
        default:
            random_elementwise(s);
        }
    }
}

void random_program(struct sample *s, uint64_t seed)
{
    static const int sides[] = {1, 3, 5, 8, 16};
    begin(s, sides[seed % 5], seed);
    s->ranks = seed % 7 < 2; /* others can be swapped (program_swap) */
    s->slices = seed % 14 == 0;
    for (int i = 0; i < 3; i++)
        random_load(s);
    keep(s, (struct value){expr_leaf(&s->g, EXPR_SCALAR, EXPR_REAL, 0), 1, 1, -1, -1, 0});
    keep(s, (struct value){expr_leaf(&s->g, EXPR_ROW, EXPR_INT, 0), s->side, 1, -1, -1, 0});
    random_body(s, 14);
    int row = expr_leaf(&s->g, EXPR_AT, EXPR_INT, 0);
    for (int i = 0; i < 6; i++) {
        struct value v = any_value(s);
        bool real = type_of(s, &v) == EXPR_REAL;
        int output = real ? INPUTS + (int)draw(s, 3) : INPUTS + 3;
        /* Additions into one tensor and stores into another: their order does not matter. */
        bool adds = output == INPUTS;
        store_at(s, adds ? PROGRAM_STORE_ADD : PROGRAM_STORE, output, row, expr_int(&s->g, 2), v);
    }
}
