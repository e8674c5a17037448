/* Expression graphs: folding and sharing keep every value, overflow is seen, printed C and Lua compute the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "spec/expr.h"
#include "spec_samples.h"

#include <lua5.4/lauxlib.h>
#include <lua5.4/lualib.h>

static const char *const names[] = {"M", "N", "K"};

static void expect_text(const struct expr_graph *g, int node, const char *c, const char *lua)
{
    char text[512];
    assert_int_equal(expr_print_c(g, node, names, text, sizeof text), strlen(c));
    assert_string_equal(text, c);
    assert_int_equal(expr_print_lua(g, node, names, text, sizeof text), strlen(lua));
    assert_string_equal(text, lua);
}

static void test_folding(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int m = expr_symbol(&g, 0), n = expr_symbol(&g, 1);
    assert_int_equal(expr_symbol(&g, 0), m);
    assert_int_equal(expr_binary(&g, EXPR_ADD, m, n), expr_binary(&g, EXPR_ADD, n, m));
    assert_int_equal(expr_binary(&g, EXPR_ADD, m, expr_int(&g, 0)), m);
    assert_int_equal(expr_binary(&g, EXPR_MUL, expr_int(&g, 1), m), m);
    assert_int_equal(expr_binary(&g, EXPR_FLOORDIV, m, expr_int(&g, 1)), m);
    assert_int_equal(expr_binary(&g, EXPR_MUL, m, expr_int(&g, 0)), expr_int(&g, 0));
    assert_int_equal(expr_binary(&g, EXPR_MOD, m, expr_int(&g, 1)), expr_int(&g, 0));
    assert_int_equal(expr_binary(&g, EXPR_SUB, m, m), expr_int(&g, 0));
    assert_int_equal(expr_binary(&g, EXPR_FLOORDIV, m, m), expr_int(&g, 1));
    int ratio = expr_binary(&g, EXPR_FLOORDIV, m, n); /* of two sizes, or of what is no size: as it is written */
    assert_int_equal(g.node[ratio].op, EXPR_FLOORDIV);
    assert_int_equal(g.node[expr_binary(&g, EXPR_FLOORDIV, ratio, ratio)].op, EXPR_FLOORDIV);
    assert_int_equal(expr_binary(&g, EXPR_FLOORDIV, expr_int(&g, -7), expr_int(&g, 2)), expr_int(&g, -4));
    assert_int_equal(expr_binary(&g, EXPR_MOD, expr_int(&g, -7), expr_int(&g, 2)), expr_int(&g, 1));
    assert_int_equal(expr_binary(&g, EXPR_MOD, expr_int(&g, 7), expr_int(&g, -2)), expr_int(&g, -1));
    int m5 = expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_ADD, m, expr_int(&g, 2)), expr_int(&g, 3));
    assert_int_equal(m5, expr_binary(&g, EXPR_ADD, m, expr_int(&g, 5)));
    int not_folded = expr_binary(&g, EXPR_MUL, expr_int(&g, INT64_MAX), expr_int(&g, 2));
    int64_t value;
    assert_false(expr_is_int(&g, not_folded, &value));
    assert_false(expr_eval_int(&g, not_folded, NULL, &value));
    int by_zero = expr_binary(&g, EXPR_FLOORDIV, expr_int(&g, 1), expr_int(&g, 0));
    assert_false(expr_eval_int(&g, by_zero, NULL, &value));
    expr_free(&g);
    assert_int_equal(g.count, 0);
}

/* Values: constants become real, identities hold only where they are exact. */
static void test_values(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int acc = expr_leaf(&g, EXPR_ACC, EXPR_REAL, 0), one = expr_int(&g, 1);
    assert_int_equal(expr_binary(&g, EXPR_MUL, acc, one), acc);
    assert_int_equal(expr_binary(&g, EXPR_DIV, acc, one), acc);
    assert_int_not_equal(expr_binary(&g, EXPR_ADD, acc, expr_int(&g, 0)), acc); /* -0 + 0 is 0 */
    int half = expr_binary(&g, EXPR_DIV, one, expr_int(&g, 2));
    assert_int_equal(g.node[half].op, EXPR_CONST_REAL);
    assert_true(g.node[half].real == 0.5);
    int less = expr_binary(&g, EXPR_LT, acc, expr_int(&g, 0));
    assert_int_equal(g.node[less].type, EXPR_PRED);
    assert_int_equal(expr_binary(&g, EXPR_ADD, less, acc), -1);
    assert_int_equal(expr_select(&g, acc, acc, acc), -1);
    assert_int_equal(expr_select(&g, less, acc, acc), acc);
    int known = expr_binary(&g, EXPR_LT, expr_int(&g, 3), expr_int(&g, 4));
    assert_int_equal(expr_select(&g, known, acc, half), acc);
    assert_int_equal(expr_unary(&g, EXPR_NOT, expr_unary(&g, EXPR_NOT, less)), less);
    assert_int_equal(expr_cast(&g, acc, TW_BF16), expr_cast(&g, acc, TW_BF16));
    assert_int_not_equal(expr_cast(&g, acc, TW_BF16), expr_cast(&g, acc, TW_FP16));
    int index[2] = {expr_leaf(&g, EXPR_INDEX, EXPR_INT, 0), expr_leaf(&g, EXPR_INDEX, EXPR_INT, 1)};
    int count = g.index_count;
    int load = expr_tensor(&g, 3, EXPR_REAL, 2, index);
    assert_int_equal(expr_tensor(&g, 3, EXPR_REAL, 2, index), load);
    assert_int_equal(g.index_count, count + 2);
    assert_int_not_equal(expr_tensor(&g, 3, EXPR_REAL, 1, index), load);
    expr_free(&g);
}

static void test_print(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int m = expr_symbol(&g, 0), n = expr_symbol(&g, 1), k = expr_symbol(&g, 2);
    int tiles = expr_ceil_div(&g, m, expr_int(&g, 128));
    expect_text(&g, tiles, "(M + 127) / 128", "(M + 127) // 128");
    expect_text(&g, expr_binary(&g, EXPR_MUL, tiles, expr_ceil_div(&g, n, k)),
                "(M + 127) / 128 * ((N + K - 1) / K - ((N + K - 1) % K != 0 && (N + K - 1 < 0) != (K < 0)))",
                "(M + 127) // 128 * ((N + K - 1) // K)");
    expect_text(&g, expr_binary(&g, EXPR_SUB, m, expr_binary(&g, EXPR_SUB, n, k)), "M - (N - K)", "M - (N - K)");
    expect_text(&g, expr_binary(&g, EXPR_MIN, m, n), "(M < N ? M : N)", "min(M, N)");
    expect_text(&g, expr_unary(&g, EXPR_NEG, expr_binary(&g, EXPR_ADD, m, n)), "-(M + N)", "-(M + N)");
    expect_text(&g, expr_binary(&g, EXPR_MUL, m, expr_int(&g, -3)), "M * (-3)", "M * (-3)");
    expect_text(&g, expr_int(&g, INT64_MIN), "(-9223372036854775807 - 1)", "(-9223372036854775807 - 1)");
    /* A graph of 100 nodes whose text would have 2^100 terms ends. */
    int twice = m;
    for (int i = 0; i < 100; i++)
        twice = expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_MUL, twice, n), twice);
    assert_true(expr_print_c(&g, twice, names, NULL, 0) > EXPR_MAX_TEXT);
    int deep = m;
    for (int i = 0; i < 20000; i++)
        deep = expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_MUL, deep, n), k);
    assert_true(expr_print_c(&g, deep, names, NULL, 0) > EXPR_MAX_TEXT);
    int64_t symbol[] = {0, 1, 1}, value;
    assert_true(expr_eval_int(&g, deep, symbol, &value));
    assert_int_equal(value, 20000);
    expr_free(&g);
}

static unsigned long long seed = 1;
static int draw(int count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (unsigned long long)count);
}

/* Random integer expressions: Lua on the printed text, and a plain evaluation without folding, agree. */
static void test_random(void **state)
{
    (void)state;
    static const enum expr_op ops[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_FLOORDIV, EXPR_MOD,
                                       EXPR_MIN, EXPR_MAX, EXPR_NEG, EXPR_ABS};
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    assert_int_equal(luaL_dostring(L, "min, max, abs = math.min, math.max, math.abs"), 0);
    for (int round = rounds(3000); round > 0; round--) {
        struct expr_graph g = {0};
        int64_t symbol[3], value = 0, plain[20];
        int node[20];
        bool good[20];
        for (int i = 0; i < 3; i++) {
            symbol[i] = draw(40);
            lua_pushinteger(L, symbol[i]);
            lua_setglobal(L, names[i]);
        }
        for (int i = 0; i < 20; i++) {
            good[i] = true;
            if (i < 3) {
                node[i] = expr_symbol(&g, i);
                plain[i] = symbol[i];
                continue;
            }
            if (i < 8) {
                plain[i] = draw(21) - 10;
                node[i] = expr_int(&g, plain[i]);
                continue;
            }
            enum expr_op op = ops[draw(sizeof ops / sizeof *ops)];
            int a = draw(i), b = draw(i);
            bool unary = op == EXPR_NEG || op == EXPR_ABS;
            node[i] = unary ? expr_unary(&g, op, node[a]) : expr_binary(&g, op, node[a], node[b]);
            assert_true(node[i] >= 0);
            struct expr_graph single = {0};
            int x = expr_int(&single, plain[a]), y = expr_int(&single, plain[b]);
            int result = unary ? expr_unary(&single, op, x) : expr_binary(&single, op, x, y);
            good[i] = good[a] && (unary || good[b]) && expr_is_int(&single, result, &plain[i]);
            if (!good[i])
                plain[i] = 1;
            expr_free(&single);
        }
        for (int i = 8; i < 20; i++) {
            if (!good[i])
                continue; /* folding may remove a fault (x * 0), never add one */
            assert_true(expr_eval_int(&g, node[i], symbol, &value));
            assert_int_equal(value, plain[i]);
            char text[20000], chunk[20100];
            if (expr_print_lua(&g, node[i], names, text, sizeof text) >= sizeof text)
                continue;
            snprintf(chunk, sizeof chunk, "return %s", text);
            assert_int_equal(luaL_dostring(L, chunk), 0);
            assert_true(lua_isinteger(L, -1));
            assert_int_equal(lua_tointeger(L, -1), plain[i]);
            lua_settop(L, 0);
            if (expr_is_natural(&g, node[i]))
                assert_true(value >= 0);
        }
        expr_free(&g);
    }
    lua_close(L);
}

/* The printed C, compiled, gives what expr_eval_int gives. */
static void test_printed_c(void **state)
{
    (void)state;
    static const enum expr_op ops[] = {EXPR_ADD, EXPR_SUB, EXPR_FLOORDIV, EXPR_MOD,
                                       EXPR_MIN, EXPR_MAX, EXPR_NEG,      EXPR_ABS};
    enum { COUNT = 200 };
    int64_t expected[COUNT], symbol[3] = {17, 5, 192};
    const char *source = sample_path("printed.c"), *program = sample_path("printed");
    FILE *f = fopen(source, "w");
    assert_non_null(f);
    fputs("#include <stdint.h>\n#include <stdio.h>\nint main(void) { int64_t M = 17, N = 5, K = 192;\n", f);
    int made = 0;
    while (made < COUNT) {
        struct expr_graph g = {0};
        int node[12] = {expr_symbol(&g, 0), expr_symbol(&g, 1), expr_symbol(&g, 2), expr_int(&g, draw(30) - 15)};
        for (int i = 4; i < 12; i++) {
            enum expr_op op = ops[draw(sizeof ops / sizeof *ops)];
            int a = node[draw(i)], b = node[draw(i)];
            node[i] = op == EXPR_NEG || op == EXPR_ABS ? expr_unary(&g, op, a) : expr_binary(&g, op, a, b);
        }
        char text[2000];
        if (expr_eval_int(&g, node[11], symbol, &expected[made]) &&
            expr_print_c(&g, node[11], names, text, sizeof text) < sizeof text) {
            fprintf(f, "printf(\"%%lld\\n\", (long long)(%s));\n", text);
            made++;
        }
        expr_free(&g);
    }
    fputs("return (int)((M + N + K) * 0); }\n", f);
    fclose(f);
    char command[400];
    snprintf(command, sizeof command, "cc -std=c99 -w -o '%s' '%s' && '%s' > '%s.out'", program, source, program,
             program);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s.out", program);
    f = fopen(command, "r");
    assert_non_null(f);
    for (int i = 0; i < COUNT; i++) {
        long long got;
        assert_int_equal(fscanf(f, "%lld", &got), 1);
        assert_int_equal(got, expected[i]);
    }
    fclose(f);
}

static void expect_range(const struct expr_graph *g, int node, int64_t low, int64_t high)
{
    int64_t least, most;
    expr_range(g, node, &least, &most);
    assert_int_equal(least, low);
    assert_int_equal(most, high);
}

/* What has no bound has none whatever is added, and sums of the largest numbers are beyond the bounds. */
static void test_range(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int m = expr_symbol(&g, 0), n = expr_symbol(&g, 1), five = expr_int(&g, 5),
        i = expr_leaf(&g, EXPR_ROW, EXPR_INT, 0);
    int most = expr_int(&g, EXPR_MOST), least = expr_int(&g, EXPR_LEAST), many = expr_binary(&g, EXPR_MUL, m, n);
    int negative = expr_unary(&g, EXPR_NEG, m);
    expect_range(&g, expr_binary(&g, EXPR_ADD, m, n), 2, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_ADD, many, many), 2, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_SUB, m, n), EXPR_LEAST, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_SUB, i, five), -5, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_SUB, five, i), EXPR_LEAST, 5);
    expect_range(&g, expr_binary(&g, EXPR_SUB, negative, n), EXPR_LEAST, -2);
    expect_range(&g, expr_binary(&g, EXPR_ADD, negative, five), EXPR_LEAST, 4);
    expect_range(&g, expr_binary(&g, EXPR_MUL, negative, five), EXPR_LEAST, -5);
    expect_range(&g, expr_binary(&g, EXPR_MUL, negative, negative), 1, EXPR_MOST);
    expect_range(&g, expr_unary(&g, EXPR_NEG, negative), 1, EXPR_MOST);
    expect_range(&g, expr_unary(&g, EXPR_ABS, expr_binary(&g, EXPR_SUB, m, n)), 0, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_FLOORDIV, m, n), 0, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_MOD, m, n), 0, EXPR_MOST);
    expect_range(&g, expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_MUL, most, m), most), EXPR_MOST, EXPR_MOST);
    /* Bounds of reals are what fp32 makes of them: 2^24 - 1 is exact, 2^24 + 1 is not. */
    int x = expr_leaf(&g, EXPR_ACC, EXPR_REAL, 0);
    int low = expr_binary(&g, EXPR_MAX, x, expr_real(&g, 0.0));
    const int bound[] = {expr_real(&g, 16777215.0), expr_real(&g, 16777219.0), expr_int(&g, 16777219)};
    const int64_t largest[] = {16777215, 16777220, 16777220};
    for (int k = 0; k < 3; k++)
        expect_range(&g, expr_unary(&g, EXPR_WHOLE, expr_binary(&g, EXPR_MIN, low, bound[k])), 0, largest[k]);
    expect_range(&g, expr_binary(&g, EXPR_SUB, expr_binary(&g, EXPR_MUL, least, m), most), EXPR_LEAST, EXPR_LEAST);
    for (int twice = m, steps = 0; steps < 200; steps++) {
        twice = expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_MUL, twice, most), most);
        expect_range(&g, expr_unary(&g, EXPR_NEG, twice), EXPR_LEAST, EXPR_LEAST);
    }
    expr_free(&g);
}

/* A number of few bits or of nearly all, of either sign. */
static int64_t draw_size(void)
{
    static const int64_t edge[] = {
        0, 1, 7, 1000, EXPR_MOST / 2, EXPR_MOST - 1, EXPR_MOST, EXPR_MOST + 1, INT64_MAX - 1};
    const int64_t size = edge[draw(sizeof edge / sizeof *edge)] + draw(2);
    return draw(2) ? -size : size;
}

/* Random expressions lie between their bounds wherever nothing in them overflows; a bound of LEAST or MOST is none. */
static void test_random_range(void **state)
{
    (void)state;
    static const enum expr_op ops[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_FLOORDIV, EXPR_MOD,
                                       EXPR_MIN, EXPR_MAX, EXPR_NEG, EXPR_ABS};
    int bounded = 0;
    for (int round = rounds(3000); round > 0; round--) {
        struct expr_graph g = {0};
        int node[16];
        for (int i = 0; i < 16; i++) {
            enum expr_op op = ops[draw(sizeof ops / sizeof *ops)];
            int a = i < 7 ? 0 : node[draw(i)], b = i < 7 ? 0 : node[draw(i)];
            node[i] = i < 3                              ? expr_symbol(&g, i)
                      : i < 7                            ? expr_int(&g, draw_size())
                      : op == EXPR_NEG || op == EXPR_ABS ? expr_unary(&g, op, a)
                                                         : expr_binary(&g, op, a, b);
            assert_true(node[i] >= 0);
        }
        for (int time = 0; time < 8; time++) {
            int64_t symbol[3], value, low, high;
            for (int i = 0; i < 3; i++)
                symbol[i] = time < 4 ? 1 + draw(9) : (int64_t)1 << draw(63);
            for (int i = 3; i < 16; i++) {
                if (!expr_eval_int(&g, node[i], symbol, &value))
                    continue;
                expr_range(&g, node[i], &low, &high);
                assert_true(EXPR_LEAST <= low && low <= high && high <= EXPR_MOST);
                assert_true((low == EXPR_LEAST || low <= value) && (high == EXPR_MOST || value <= high));
                bounded += low > EXPR_LEAST || high < EXPR_MOST;
            }
        }
        expr_free(&g);
    }
    assert_true(bounded > 100);
}

/* How far a value is from 0 at most: of a function that has bounds whatever it is given, and of what is made of it. */
static void test_magnitude(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    const int x = expr_leaf(&g, EXPR_TILE, EXPR_REAL, 0), fifty = expr_real(&g, 50), three = expr_real(&g, -3);
    const int near = expr_unary(&g, EXPR_TANH_APPROX, x), cap = expr_binary(&g, EXPR_MUL, fifty, near);
    const int least = expr_binary(&g, EXPR_MAX, x, three), both = expr_binary(&g, EXPR_MIN, least, fifty);
    const int more = expr_binary(&g, EXPR_LT, x, fifty), infinite = expr_real(&g, INFINITY);
    assert_true(isinf(expr_magnitude(&g, x)));
    assert_true(expr_magnitude(&g, near) == 1);
    assert_true(expr_magnitude(&g, expr_unary(&g, EXPR_TANH, x)) == 1);
    assert_true(expr_magnitude(&g, expr_unary(&g, EXPR_SIGMOID, x)) == 1);
    assert_true(expr_magnitude(&g, cap) == 50);
    assert_true(expr_magnitude(&g, expr_unary(&g, EXPR_NEG, cap)) == 50);
    assert_true(expr_magnitude(&g, expr_binary(&g, EXPR_ADD, cap, near)) == 51);
    assert_true(expr_magnitude(&g, expr_binary(&g, EXPR_SUB, cap, near)) == 51);
    assert_true(expr_magnitude(&g, expr_select(&g, more, cap, three)) == 50);
    assert_true(expr_magnitude(&g, both) == 50);
    assert_true(isinf(expr_magnitude(&g, least)));
    assert_true(isinf(expr_magnitude(&g, expr_binary(&g, EXPR_MUL, near, x))));
    assert_true(isinf(expr_magnitude(&g, expr_binary(&g, EXPR_MUL, near, infinite))));
    assert_true(isinf(expr_magnitude(&g, expr_select(&g, more, cap, x))));
    assert_true(isinf(expr_magnitude(&g, expr_unary(&g, EXPR_EXP, near))));
    expr_free(&g);
}

static double element(void *context, int tensor, int rank, const int64_t *at)
{
    int *calls = context;
    ++*calls;
    return tensor * 100 + (double)at[0] * 10 + (rank > 1 ? (double)at[1] : 0);
}

static double scalar(void *context, int index)
{
    (void)context;
    return index + 0.5;
}

static void test_eval(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int calls = 0;
    int64_t symbol[] = {9}, index[] = {2, 3};
    struct expr_env env = {&calls, symbol, index, -1.5, element, scalar};
    int acc = expr_leaf(&g, EXPR_ACC, EXPR_REAL, 0);
    int im = expr_leaf(&g, EXPR_INDEX, EXPR_INT, 0), in = expr_leaf(&g, EXPR_INDEX, EXPR_INT, 1);
    int both[2] = {im, in};
    int load = expr_tensor(&g, 4, EXPR_REAL, 2, both);
    assert_true(expr_eval(&g, expr_binary(&g, EXPR_ADD, acc, load), &env) == -1.5 + 423);
    assert_true(expr_eval(&g, expr_leaf(&g, EXPR_SCALAR, EXPR_REAL, 1), &env) == 1.5);
    int q = expr_binary(&g, EXPR_DIV, im, in);
    assert_true(expr_eval(&g, q, &env) == 2.0 / 3.0);
    int floor_q = expr_binary(&g, EXPR_FLOORDIV, expr_unary(&g, EXPR_NEG, in), im);
    assert_true(expr_eval(&g, floor_q, &env) == -2);
    calls = 0;
    int negative = expr_binary(&g, EXPR_LT, acc, expr_int(&g, 0));
    assert_true(expr_eval(&g, expr_select(&g, negative, acc, load), &env) == -1.5);
    assert_int_equal(calls, 0); /* only the chosen side */
    assert_true(expr_eval(&g, expr_select(&g, expr_unary(&g, EXPR_NOT, negative), acc, load), &env) == 423);
    assert_true(expr_eval(&g, expr_cast(&g, expr_real(&g, 1.00001), TW_BF16), &env) == 1);
    assert_true(expr_eval(&g, expr_unary(&g, EXPR_RELU, acc), &env) == 0);
    assert_true(fabs(expr_eval(&g, expr_unary(&g, EXPR_GELU, acc), &env) + 0.1002108) < 1e-6);
    assert_true(fabs(expr_eval(&g, expr_unary(&g, EXPR_GELU_TANH, acc), &env) + 0.1004283) < 1e-6);
    assert_true(fabs(expr_eval(&g, expr_unary(&g, EXPR_GELU_TANH_APPROX, acc), &env) + 0.1004283) < 1e-6);
    assert_true(fabs(expr_eval(&g, expr_unary(&g, EXPR_SILU, acc), &env) + 0.2736390) < 1e-6);
    int chain = acc; /* deeper than any stack */
    for (int i = 0; i < 30000; i++)
        chain = expr_binary(&g, EXPR_SUB, in, chain);
    assert_true(expr_eval(&g, chain, &env) == -1.5);
    expr_free(&g);
}

static void test_copy_import(void **state)
{
    (void)state;
    struct expr_graph g = {0}, copy = {0}, other = {0};
    int m = expr_symbol(&g, 0), n = expr_symbol(&g, 1), index[2];
    int sum = expr_binary(&g, EXPR_ADD, expr_binary(&g, EXPR_MUL, m, n), expr_int(&g, 7));
    index[0] = index[1] = sum;
    int load = expr_tensor(&g, 2, EXPR_REAL, 2, index);
    assert_true(expr_copy(&copy, &g));
    assert_int_equal(copy.count, g.count);
    assert_int_equal(expr_tensor(&copy, 2, EXPR_REAL, 2, index), load);
    expr_symbol(&other, 2);
    int there = expr_import(&other, &g, load);
    assert_true(there >= 0);
    assert_int_equal(other.node[there].op, EXPR_TENSOR);
    int64_t symbol[] = {3, 4}, value;
    assert_true(expr_eval_int(&other, other.index[other.node[there].first_index], symbol, &value));
    assert_int_equal(value, 19);
    assert_int_equal(expr_import(&other, &g, load), there);
    expr_free(&g), expr_free(&copy), expr_free(&other);
}

static void test_bounds(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int last = 0;
    for (int64_t i = 0; i < EXPR_MAX_NODES + 10; i++)
        last = expr_int(&g, i);
    assert_int_equal(last, -1);
    assert_int_equal(g.count, EXPR_MAX_NODES);
    expr_free(&g);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (long fail = 1;; fail = failing_next(fail)) {
        struct failing memory = {.fail_at = fail};
        struct expr_graph g = {.memory = {failing_alloc, &memory}}, copy = {.memory = {failing_alloc, &memory}};
        int last = 0;
        for (int i = 0; i < 100 && last >= 0; i++) {
            int index[1] = {expr_int(&g, i)};
            last = index[0] < 0 ? -1 : expr_tensor(&g, i, EXPR_REAL, 1, index);
        }
        bool copied = last >= 0 && expr_copy(&copy, &g) && expr_import(&copy, &g, last) >= 0;
        expr_free(&g);
        expr_free(&copy);
        assert_int_equal(memory.blocks, 0);
        assert_int_equal(copied, memory.calls < fail);
        if (memory.calls < fail)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folding),      cmocka_unit_test(test_values),      cmocka_unit_test(test_print),
        cmocka_unit_test(test_random),       cmocka_unit_test(test_printed_c),   cmocka_unit_test(test_eval),
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_range),       cmocka_unit_test(test_magnitude),
        cmocka_unit_test(test_random_range), cmocka_unit_test(test_copy_import), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
