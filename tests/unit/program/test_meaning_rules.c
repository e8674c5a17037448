/* The rules of the meaning, by hand: NaN and infinities, bounds, choices that rounding decides, sums, faults of data,
 * work items and samples, time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/check.h"
#include "program/meaning/meaning.h"
#include "program_samples.h"

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/* y0 = node over a tile of 16 x 16 at (0, 0). */
static void store_node(struct sample *s, int node)
{
    struct value v = {node, SIDE, SIDE, -1, -1, 0};
    s->p.axis[0].tile = SIDE;
    store_at(s, PROGRAM_STORE, INPUTS, expr_int(&s->g, 0), expr_int(&s->g, 0), v);
}

static void expect_evaluated(struct sample *s)
{
    struct program_error error = {{0}, ""};
    if (evaluate(s, &error))
        fail_msg("%s", error.text);
}

static int element(struct sample *s, int tensor)
{
    int index[2] = {expr_leaf(&s->g, EXPR_ROW, EXPR_INT, 0), expr_leaf(&s->g, EXPR_COLUMN, EXPR_INT, 0)};
    return expr_tensor(&s->g, tensor, tensor == 2 ? EXPR_INT : EXPR_REAL, 2, index);
}

static void test_not_finite(void **state)
{
    static const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        enum expr_op op;
        double a, b, want;
    } row[] = {
        {EXPR_MAX, nan, 2, 2},        {EXPR_MAX, 2, nan, 2},       {EXPR_MIN, nan, -2, -2},
        {EXPR_MAX, nan, nan, nan},    {EXPR_MAX, -inf, 3, 3},      {EXPR_ADD, inf, -inf, nan},
        {EXPR_ADD, inf, 5, inf},      {EXPR_MUL, 0, inf, nan},     {EXPR_EXP2_DIFF, -inf, -inf, 0},
        {EXPR_EXP2_DIFF, -inf, 4, 0}, {EXPR_DIV, 1, 0, inf},       {EXPR_DIV, 0, 0, nan},
        {EXPR_DIV, 3, inf, 0},        {EXPR_SUB, -inf, -inf, nan}, {EXPR_MUL, -inf, 2, -inf},
        {EXPR_DIV, 0, 5, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct sample s;
        begin(&s, SIDE, 1);
        for (int e = 0; e < SIDE * SIDE; e++) {
            s.cell[0][e] = row[i].a;
            s.cell[1][e] = row[i].b;
        }
        store_node(&s, expr_binary(&s.g, row[i].op, element(&s, 0), element(&s, 1)));
        expect_evaluated(&s);
        if (!(s.cell[INPUTS][7] == row[i].want || (isnan(row[i].want) && isnan(s.cell[INPUTS][7]))) ||
            s.bound[INPUTS][7] != 0)
            fail_msg("%s of %g and %g is %g within %g", expr_ops[row[i].op].name, row[i].a, row[i].b, s.cell[INPUTS][7],
                     s.bound[INPUTS][7]);
        finish(&s);
    }
}

static void expect_bound(const struct sample *s, int output, int e, double value, double least, double most)
{
    double got = s->cell[INPUTS + output][e], bound = s->bound[INPUTS + output][e];
    if (got != value || bound < least || bound > most)
        fail_msg("y%d[%d] is %.17g within %.9g, not %.17g within %.9g to %.9g", output, e, got, bound, value, least,
                 most);
}

/* What rounds, by how much, and what a choice by a condition that rounding decides may come to. */
static void test_bounds(void **state)
{
    struct sample s;
    (void)state;
    begin(&s, SIDE, 1);
    s.cell[1][0] = 1;
    s.cell[1][1] = 0x1.000002p0; /* 1 and an ulp */
    s.cell[1][2] = 0x1p24;
    s.cell[1][3] = 3;
    int x = element(&s, 1), third = expr_binary(&s.g, EXPR_DIV, x, expr_real(&s.g, 3));
    /* x * x: exact of 1; of 1 + u half an ulp at most; x / 3: 2 ulp */
    store_node(&s, expr_binary(&s.g, EXPR_MUL, x, x));
    expect_evaluated(&s);
    expect_bound(&s, 0, 0, 1, 0, 0);
    expect_bound(&s, 0, 1, 0x1.000002p0 * 0x1.000002p0, 0x1p-60, 0x1p-24);
    expect_bound(&s, 0, 2, 0x1p48, 0, 0);
    s.p.op_count = 0;
    store_node(&s, third);
    expect_evaluated(&s);
    expect_bound(&s, 0, 0, 1.0 / 3, 0x1p-26, 0x1.1p-23);
    /* where(x / 3 <= 1, 5, 7): 3 / 3 may be above or below 1 */
    s.p.op_count = 0;
    int choice = expr_select(&s.g, expr_binary(&s.g, EXPR_LE, third, expr_real(&s.g, 1)), expr_real(&s.g, 5),
                             expr_real(&s.g, 7));
    store_node(&s, choice);
    expect_evaluated(&s);
    expect_bound(&s, 0, 3, 5, 0x1.0000000000001p1, 0x1.0000000000001p1); /* the least that is more than 2 */
    expect_bound(&s, 0, 0, 5, 0, 0);
    expect_bound(&s, 0, 2, 7, 0, 0);
    /* where(x / 3 <= 1, 5, 1 / 0): anything */
    s.p.op_count = 0;
    int endless = expr_binary(&s.g, EXPR_DIV, x, expr_binary(&s.g, EXPR_SUB, x, x));
    store_node(&s,
               expr_select(&s.g, expr_binary(&s.g, EXPR_LE, third, expr_real(&s.g, 1)), expr_real(&s.g, 5), endless));
    expect_evaluated(&s);
    expect_bound(&s, 0, 3, 5, (double)INFINITY, (double)INFINITY);
    /* A cast takes a rounded value to one neighbour, or to either where it stands near the middle. */
    s.p.op_count = 0;
    s.cell[1][0] = 3 * (1 + 0x1p-8); /* a third of it is a tie of bf16 */
    s.cell[1][1] = 3 * (1 + 0x1p-9);
    store_node(&s, expr_cast(&s.g, third, TW_BF16));
    expect_evaluated(&s);
    expect_bound(&s, 0, 0, 1, 0x1.0000000000001p-7, 0x1.0000000000001p-7);
    expect_bound(&s, 0, 1, 1, 0, 0);
    finish(&s);
}

/* Sums are exact while every partial sum is, in any order; then (n - 1) half ulps of the magnitudes. */
static void test_sums(void **state)
{
    double term[3] = {0x1p23, 0x1p22, 1}, half[3] = {0x1p23, 0x1p22, 0.5};
    struct meaning_sum sum = {0x1p23 + 0x1p22 + 1, 0, 3, meaning_quantum(term, 3)};
    (void)state;
    assert_int_equal(sum.quantum, 0);
    assert_true(meaning_sum_bound(sum.magnitude, &sum, 24) == 0);
    sum.quantum = meaning_quantum(half, 3);
    assert_int_equal(sum.quantum, -1);
    assert_true(meaning_sum_bound(sum.magnitude, &sum, 25) == 0);
    double bound = meaning_sum_bound(0, &sum, 24);
    assert_true(bound >= 2 * 0x1p-24 * sum.magnitude && bound < 2.001 * 0x1p-24 * sum.magnitude);
    sum.carried = (double)NAN;
    assert_true(isinf(meaning_sum_bound(0, &sum, 24)));
    double nothing[2] = {0, -0.0}, infinite[2] = {1, -(double)INFINITY};
    assert_int_equal(meaning_quantum(nothing, 2), MEANING_ZEROS);
    assert_int_equal(meaning_quantum(infinite, 2), MEANING_ENDLESS);
    for (int i = 0; i < 2000; i++) { /* as tw_dtype_store rounds */
        static const enum tw_dtype dtype[] = {TW_BF16, TW_FP16, TW_FP32, TW_FP8_E4M3, TW_INT8};
        double x = ldexp(1 + i / 1000.0, i % 300 - 150) * (i % 2 ? 1 : -1);
        assert_true(meaning_round(dtype[i % 5], x) == naive_element(dtype[i % 5], x));
    }
}

/* A dot of two products: one of a subnormal number of fp16, which tensor cores align as if it were 2^-14, so that the
 * last bit kept is 2^-29, and one below that. */
static void test_subnormal_products(void **state)
{
    static const struct {
        enum tw_dtype dtype;
        double a, b, least, most;
    } row[] = {
        {TW_FP16, 0x1p-24, 0x1p10, 0x1p-29, 0x1p-26},   {TW_FP16, -0x1p-14, 1, 0, 0x1p-37},
        {TW_FP16, 0x1p10, 0x1p-24, 0x1p-29, 0x1p-26},   {TW_FP8_E5M2, 0x1p-16, 0x1p10, 0x1p-29, 0x1p-26},
        {TW_FP8_E4M3, 0x1p-9, 0x1p7, 0x1p-24, 0x1p-21}, {TW_BF16, 0x1p-24, 0x1p10, 0, 0x1p-37},
        {TW_FP32, 0x1p-24, 0x1p10, 0, 0x1p-37},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double a[2] = {row[i].a, 0x1p-14}, b[2] = {row[i].b, 0x1p-20}, result = 0, zero[3][2] = {{0}}, scratch[4];
        struct meaning_dot d = {.m = 1, .n = 1, .k = 2, .bits = 24, .scratch = scratch};
        d.least = meaning_least_normal(row[i].dtype);
        d.a = (struct meaning_cells){{a}, zero[0], true, true, 2};
        d.b = (struct meaning_cells){{b}, zero[1], true, true, 2};
        d.result = (struct meaning_cells){{&result}, zero[2], true, true, 1};
        meaning_dot(&d);
        if (result != a[0] * b[0] + 0x1p-34 || zero[2][0] < row[i].least || zero[2][0] > row[i].most)
            fail_msg("row %zu: %g within %g", i, result, zero[2][0]);
    }
    assert_true(meaning_least_normal(TW_INT8) == 0);
}

static void expect_fault(struct sample *s, const char *want)
{
    struct program_error error = {{0}, ""};
    assert_int_equal(evaluate(s, &error), 1);
    assert_string_equal(error.text, want);
    assert_true(error.loc.line > 0);
    finish(s);
}

static void test_faults(void **state)
{
    struct sample s;
    (void)state;
    begin(&s, 4, 1);
    int outside[2] = {expr_binary(&s.g, EXPR_ADD, expr_leaf(&s.g, EXPR_ROW, EXPR_INT, 0), expr_int(&s.g, 14)),
                      expr_leaf(&s.g, EXPR_COLUMN, EXPR_INT, 0)};
    struct value v = {expr_tensor(&s.g, 1, EXPR_REAL, 2, outside), 4, 4, -1, -1, 0};
    store_at(&s, PROGRAM_STORE, INPUTS, expr_int(&s.g, 0), expr_int(&s.g, 0), v);
    expect_fault(&s, "at row 2, column 0 of the tile an element is read that its tensor does not have");

    begin(&s, 4, 1); /* the same, where the tile is not valid */
    outside[0] = expr_binary(&s.g, EXPR_ADD, expr_leaf(&s.g, EXPR_ROW, EXPR_INT, 0), expr_int(&s.g, 14));
    outside[1] = expr_leaf(&s.g, EXPR_COLUMN, EXPR_INT, 0);
    v = (struct value){expr_tensor(&s.g, 1, EXPR_REAL, 2, outside), 4, 4, -1, -1, 0};
    v.valid_row = expr_binary(&s.g, EXPR_LT, outside[0], expr_int(&s.g, SIDE));
    store_at(&s, PROGRAM_STORE, INPUTS, expr_int(&s.g, 0), expr_int(&s.g, 0), v);
    expect_evaluated(&s);
    assert_int_equal(s.done[INPUTS][SIDE], 1);
    assert_int_equal(s.done[INPUTS][2 * SIDE], 0);
    finish(&s);

    begin(&s, 4, 1);
    struct program_op op = operation(PROGRAM_LOAD);
    op.tensor = 1;
    op.at[0] = (struct program_coordinate){expr_int(&s.g, SIDE), 0, -1, false};
    op.at[1] = (struct program_coordinate){expr_int(&s.g, 0), 4, -1, true};
    op.tile.rows = 1;
    op.tile.columns = 4;
    give(&s, op, EXPR_REAL);
    expect_fault(&s, "coordinate 16 of dim 1 is outside of x1, whose extent is 16 there");

    begin(&s, 4, 1);
    struct value number = load_at(&s, 2, expr_int(&s.g, 0), expr_int(&s.g, 0), 4, 1);
    s.cell[2][3 * SIDE] = 99;
    op = operation(PROGRAM_GATHER);
    op.tensor = 0;
    op.gathered = 0;
    op.arg[0] = tile_of(&number);
    op.at[1] = (struct program_coordinate){expr_int(&s.g, 0), 4, -1, true};
    op.tile.rows = op.tile.columns = 4;
    give(&s, op, EXPR_REAL);
    expect_fault(&s, "row number 99 is outside of x0, whose dim 1 has 16");

    begin(&s, 4, 1);
    op = operation(PROGRAM_LOOP);
    op.from = op.step = expr_int(&s.g, 1);
    op.to = expr_int(&s.g, 18);
    op.list = 2;
    op.at[0].start = expr_int(&s.g, 0);
    int loop = append(&s, op);
    op = operation(PROGRAM_END);
    op.loop = loop;
    s.op[loop].end = append(&s, op);
    expect_fault(&s, "entry 16 is outside of the list x2, which has 16");

    begin(&s, 4, 1);
    s.p.loc.line = 3;
    s.p.axis[0].extent = expr_binary(&s.g, EXPR_MUL, expr_symbol(&s.g, 0), expr_symbol(&s.g, 0));
    s.symbol[0] = INT64_MAX / 2;
    assert_true(program_items(&s.p, s.symbol) == -1);
    expect_fault(&s, "the number of work items overflows");
}

static void test_items(void **state)
{
    struct sample s;
    (void)state;
    begin(&s, 4, 1);
    s.p.axis_count = 3;
    s.p.axis[1] = (struct program_axis){.name = "k", .extent = -1, .tile = 64};
    s.p.axis[2] = (struct program_axis){.name = "c", .extent = expr_int(&s.g, 1000), .tile = 1};
    s.symbol[0] = 17;
    assert_true(program_items(&s.p, s.symbol) == 5000);
    s.symbol[0] = 0;
    assert_true(program_items(&s.p, s.symbol) == 0);
    s.p.axis[2].extent = expr_symbol(&s.g, 0);
    s.symbol[0] = INT64_C(1) << 40;
    assert_true(program_items(&s.p, s.symbol) == -1);
    finish(&s);

    /* What a list names is evaluated, from the first one on. */
    begin(&s, 1, 1);
    s.p.axis[0].tile = 1;
    struct value v = {expr_leaf(&s.g, EXPR_AT, EXPR_INT, 0), 1, 1, -1, -1, 0};
    store_at(&s, PROGRAM_STORE, INPUTS + 3, expr_leaf(&s.g, EXPR_AT, EXPR_INT, 0), expr_int(&s.g, 0), v);
    static const int64_t item[5] = {1, 0, 15, 7, 14};
    struct program_data data = {s.symbol, s.cells, (const int64_t(*)[SPEC_MAX_RANK])s.extent, s.number, NULL};
    struct program_run run = {.first = 1, .count = 3, .item = item, .done = s.dones};
    int64_t items;
    memset(s.done, 0, sizeof s.done);
    assert_int_equal(program_evaluate(&s.p, &s.kernel, &data, &run, &items, NULL), 0);
    assert_int_equal(items, 3);
    for (int r = 0; r < SIDE; r++) {
        assert_int_equal(s.done[INPUTS + 3][r * SIDE], r == 0 || r == 15 || r == 7);
        assert_true(!s.done[INPUTS + 3][r * SIDE] || s.cell[INPUTS + 3][r * SIDE] == r);
    }
    finish(&s);
}

/* A sample of any size has each item once, begins with the ends, and goes on as a larger one does; its corners are
 * there before it is twice as large as there are corners. */
static void test_sample(void **state)
{
    enum { MOST = 4 * 5 * 3 };
    static const int extent[][3] = {{4, 5, 3}, {1, 5, 1}, {2, 2, 2}, {1, 1, 1}, {16, 1, 2}, {3, 1, 3}};
    struct sample s;
    (void)state;
    begin(&s, 4, 1);
    s.p.axis_count = 3;
    for (size_t c = 0; c < sizeof extent / sizeof extent[0]; c++) {
        int64_t all[MOST], some[MOST], items = 1;
        for (int a = 0; a < 3; a++) {
            s.p.axis[a] = (struct program_axis){.name = "a", .extent = expr_int(&s.g, extent[c][a]), .tile = 1};
            items *= extent[c][a];
        }
        for (uint64_t seed = 1; seed < 20; seed++) {
            bool there[MOST] = {false};
            program_sample(&s.p, s.symbol, items, seed, all);
            for (int64_t i = 0; i < items; i++) {
                assert_true(all[i] >= 0 && all[i] < items && !there[all[i]]);
                there[all[i]] = true;
                program_sample(&s.p, s.symbol, i + 1, seed, some);
                assert_memory_equal(all, some, sizeof *all * (size_t)(i + 1));
            }
            assert_true(all[0] == 0 && (items == 1 || all[1] == items - 1));
            if (c == 0)
                assert_true(all[2] == (2 * 5 + 3) * 3 + 1); /* the last whole one */
        }
    }
    int64_t many[20];
    int corners = 0;
    s.p.axis[0].extent = s.p.axis[2].extent = expr_int(&s.g, 1 << 20);
    s.p.axis[1].extent = expr_int(&s.g, 1000);
    program_sample(&s.p, s.symbol, 20, 3, many);
    for (int i = 0; i < 20; i++) {
        const int64_t last[3] = {(1 << 20) - 1, 999, (1 << 20) - 1};
        const int64_t at[3] = {(many[i] >> 20) / 1000, (many[i] >> 20) % 1000, many[i] & ((1 << 20) - 1)};
        bool end = true;
        for (int a = 0; a < 3; a++)
            end = end && (at[a] == 0 || at[a] == last[a]);
        corners += end;
    }
    assert_int_equal(corners, 8);
    finish(&s);
}

/* 4096 x 4096 elements through ten nodes, tiles of 128 x 256. */
static void test_time(void **state)
{
    enum { EXTENT = 4096, ROWS = 128, COLUMNS = 256 };
    static struct sample s;
    size_t count = (size_t)EXTENT * EXTENT;
    (void)state;
    begin(&s, 4, 1);
    double *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y), *bound = malloc(count * sizeof *bound);
    assert_true(x && y && bound);
    for (size_t i = 0; i < count; i++)
        x[i] = (double)(float)((double)(i % 1999) / 7 - 100);
    s.cells[1] = x;
    s.cells[INPUTS] = y;
    s.bounds[INPUTS] = bound;
    for (int d = 0; d < 2; d++)
        s.extent[1][d] = s.extent[INPUTS][d] = EXTENT;
    s.symbol[0] = EXTENT;
    s.p.axis_count = 2;
    s.p.axis[0].tile = ROWS;
    s.p.axis[1] = (struct program_axis){.name = "c", .extent = expr_symbol(&s.g, 0), .tile = COLUMNS};
    int row = expr_leaf(&s.g, EXPR_AT, EXPR_INT, 0), column = expr_leaf(&s.g, EXPR_AT, EXPR_INT, 1);
    struct program_op op = operation(PROGRAM_LOAD);
    op.tensor = 1;
    op.at[0] = (struct program_coordinate){row, ROWS, -1, false};
    op.at[1] = (struct program_coordinate){column, COLUMNS, -1, true};
    op.tile = no_tile;
    op.tile.rows = ROWS;
    op.tile.columns = COLUMNS;
    struct value v = give(&s, op, EXPR_REAL);
    int loaded = v.node;
    for (int i = 0; i < 10; i++) {
        static const enum expr_op ops[5] = {EXPR_MUL, EXPR_ADD, EXPR_MAX, EXPR_SUB, EXPR_ABS};
        v.node = ops[i % 5] == EXPR_ABS
                     ? expr_unary(&s.g, EXPR_ABS, v.node)
                     : expr_binary(&s.g, ops[i % 5], v.node, i % 2 ? loaded : expr_real(&s.g, 0.75 + i));
    }
    op = operation(PROGRAM_STORE);
    op.tensor = INPUTS;
    op.arg[0] = tile_of(&v);
    op.at[0] = (struct program_coordinate){row, ROWS, -1, false};
    op.at[1] = (struct program_coordinate){column, COLUMNS, -1, true};
    append(&s, op);
    struct program_data data = {s.symbol, s.cells, (const int64_t(*)[SPEC_MAX_RANK])s.extent, s.number, s.bounds};
    struct program_run run = {.count = -1};
    struct timespec from, to;
    int64_t items;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    assert_int_equal(program_evaluate(&s.p, &s.kernel, &data, &run, &items, NULL), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    print_message("# %lld items, 4096 x 4096 elements through 10 nodes: %.2f s\n", (long long)items, seconds);
    assert_true(seconds < 20); /* sanitizers, valgrind */
    free(x);
    free(y);
    free(bound);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_sums),       cmocka_unit_test(test_faults),
        cmocka_unit_test(test_items),      cmocka_unit_test(test_sample),
        cmocka_unit_test(test_time),       cmocka_unit_test(test_subnormal_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
