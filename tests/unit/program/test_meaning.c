/* The meaning of programs: random programs against the naive twin in fp32, errors that are planted, nodes over whole
 * tiles against one element at a time, memory that runs out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "unit/rounds.h"
#include "program/meaning/meaning.h"
#include "program_drawn.h"

static void test_random(void **state)
{
    (void)state;
    long stored = 0, exact = 0, endless = 0, kinds[PROGRAM_KIND_COUNT] = {0};
    const int count = rounds_compared(2000);
    for (int seed = 1; seed <= count; seed++) {
        static struct sample s;
        struct program_error error = {{0}, ""};
        char text[256];
        random_program(&s, (uint64_t)seed);
        if (evaluate(&s, &error))
            fail_msg("seed %d: operation %d: %s", seed, error.loc.line, error.text);
        for (uint64_t turn = 1; turn <= 3; turn++)
            if (twin_beyond(&s, &s.p, turn, text, sizeof text))
                fail_msg("seed %d: %s", seed, text);
        for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
            for (int e = 0; e < SIDE * SIDE; e++) {
                stored += s.done[i][e];
                exact += s.done[i][e] && s.bound[i][e] == 0;
                endless += s.done[i][e] && isinf(s.bound[i][e]);
            }
        for (int i = 0; i < s.p.op_count; i++)
            kinds[s.op[i].kind]++;
        finish(&s);
    }
    print_message("# stored %ld, exact %ld, without bound %ld\n", stored, exact, endless);
    for (int k = 0; k < PROGRAM_KIND_COUNT; k++)
        assert_true(kinds[k] > count / 40 || k == PROGRAM_SCATTER_ADD);
    assert_true(endless < stored / 4);
}

/* ---- planted errors ---------------------------------------------------------------------------------------------- */

/* Changes an operator that the program may use. False where node `at` has none that can be changed. */
static bool plant(struct expr_graph *g, int at)
{
    static const enum expr_op other[EXPR_OP_COUNT] = {
        [EXPR_ADD] = EXPR_SUB,   [EXPR_SUB] = EXPR_ADD,   [EXPR_MUL] = EXPR_ADD,      [EXPR_MIN] = EXPR_MAX,
        [EXPR_MAX] = EXPR_MIN,   [EXPR_EXP] = EXPR_EXP2,  [EXPR_NEG] = EXPR_ABS,      [EXPR_RELU] = EXPR_ABS,
        [EXPR_LT] = EXPR_LE,     [EXPR_GE] = EXPR_GT,     [EXPR_LE] = EXPR_LT,        [EXPR_GT] = EXPR_GE,
        [EXPR_SILU] = EXPR_GELU, [EXPR_GELU] = EXPR_SILU, [EXPR_TANH] = EXPR_SIGMOID,
    };
    struct expr_node *n = &g->node[at];
    if (n->op == EXPR_CAST && n->dtype != TW_FP32) {
        n->dtype = TW_FP32;
        return true;
    }
    if (other[n->op] == EXPR_CONST_INT)
        return false;
    n->op = other[n->op];
    return true;
}

/* A twin whose program has one operator changed is beyond the bounds wherever that changes more than roundings. */
static void test_planted(void **state)
{
    (void)state;
    int planted = 0, changed = 0, found = 0, silent = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        static struct sample s;
        struct program_error error = {{0}, ""};
        char text[256];
        random_program(&s, seed);
        assert_int_equal(evaluate(&s, &error), 0);
        for (int at = 0; at < s.g.count; at++) {
            static double own[2][INPUTS + OUTPUTS][SIDE * SIDE];
            struct expr_graph g = {0};
            struct program p = s.p;
            struct program_data data = {s.symbol, s.cells, (const int64_t(*)[SPEC_MAX_RANK])s.extent, s.number, NULL};
            bool far = false;
            p.graph = &g;
            assert_true(expr_copy(&g, &s.g));
            if (plant(&g, at)) {
                planted++;
                for (int k = 0; k < 2; k++) {
                    double *out[INPUTS + OUTPUTS];
                    for (int i = 0; i < INPUTS + OUTPUTS; i++)
                        out[i] = own[k][i];
                    reset(out);
                    naive_run(k ? &p : &s.p, &s.kernel, &data, NULL, out, 1);
                }
                for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
                    for (int e = 0; e < SIDE * SIDE; e++)
                        far = far || (s.done[i][e] && isfinite(s.bound[i][e]) &&
                                      fabs(own[0][i][e] - own[1][i][e]) > 2 * s.bound[i][e]);
                int beyond = twin_beyond(&s, &p, 1, text, sizeof text);
                bool differs = memcmp(own[0], own[1], sizeof own[0]) != 0;
                changed += differs;
                found += differs && beyond > 0;
                silent += far && beyond == 0;
            }
            expr_free(&g);
        }
        finish(&s);
    }
    print_message("# planted %d, of which %d change a result, %d of them found\n", planted, changed, found);
    assert_int_equal(silent, 0); /* what is twice the bound away is found */
    assert_true(planted > 1000 && 10 * found > 9 * changed);
}

/* ---- node at a time, and one element at a time ------------------------------------------------------------------- */

static double read_cell(void *context, int tensor, int rank, const int64_t *at)
{
    const struct sample *s = context;
    (void)rank;
    return at[0] >= 0 && at[0] < SIDE && at[1] >= 0 && at[1] < SIDE ? s->cell[tensor][at[0] * SIDE + at[1]] : 0;
}

static double read_number(void *context, int scalar)
{
    const struct sample *s = context;
    return s->number[scalar];
}

/* The same nodes twice: as the meaning has them, of rows and columns, and as a reference has them, of indices. */
struct twins {
    struct sample s;
    struct expr_graph twin;
    int node[300], mirror[300], count; /* the first LEAVES are leaves */
    uint64_t seed;
};
enum { LEAVES = 8 };

static void draw_leaves(struct twins *t)
{
    int *leaf = t->node, *same = t->mirror;
    leaf[0] = expr_leaf(&t->s.g, EXPR_ROW, EXPR_INT, 0);
    leaf[1] = expr_leaf(&t->s.g, EXPR_COLUMN, EXPR_INT, 0);
    same[0] = expr_leaf(&t->twin, EXPR_INDEX, EXPR_INT, 0);
    same[1] = expr_leaf(&t->twin, EXPR_INDEX, EXPR_INT, 1);
    for (int i = 2; i < 6; i++) {
        int tensor = i - 2;
        enum expr_type type = tensor == 2 ? EXPR_INT : EXPR_REAL;
        leaf[i] = expr_tensor(&t->s.g, tensor, type, 2, (const int[2]){leaf[i % 2], leaf[draw(&t->s, 2)]});
        const struct expr_node *n = &t->s.g.node[leaf[i]];
        int index[2];
        for (int k = 0; k < 2; k++)
            index[k] = t->s.g.index[n->first_index + k] == leaf[0] ? same[0] : same[1];
        same[i] = expr_tensor(&t->twin, tensor, type, 2, index);
    }
    leaf[6] = expr_leaf(&t->s.g, EXPR_SCALAR, EXPR_REAL, 0);
    same[6] = expr_leaf(&t->twin, EXPR_SCALAR, EXPR_REAL, 0);
    leaf[7] = expr_real(&t->s.g, 0.25);
    same[7] = expr_real(&t->twin, 0.25);
    t->count = LEAVES;
}

static void draw_nodes(struct twins *t)
{
    while (t->count < 60) {
        struct expr_node n = {.op = (enum expr_op)draw(&t->s, EXPR_OP_COUNT), .arg = {-1, -1, -1}};
        int chosen[3];
        bool divides = n.op == EXPR_DIV || n.op == EXPR_RSQRT, chooses = n.op == EXPR_MIN || n.op == EXPR_MAX;
        if (expr_ops[n.op].rule == EXPR_LEAF || (t->seed % 2 ? divides : chooses)) /* of 0 and -0 either is larger */
            continue;
        for (int i = 0; i < expr_ops[n.op].arity; i++) {
            chosen[i] = (int)draw(&t->s, (uint64_t)t->count);
            n.arg[i] = t->node[chosen[i]];
        }
        if (n.op == EXPR_CAST)
            n.dtype = (enum tw_dtype)draw(&t->s, TW_DTYPE_COUNT);
        enum expr_type type;
        if (!expr_result_type(&t->s.g, n.op, n.arg, &type))
            continue;
        int made = expr_add(&t->s.g, &n);
        for (int i = 0; i < expr_ops[n.op].arity; i++)
            n.arg[i] = t->mirror[chosen[i]];
        int other = expr_add(&t->twin, &n);
        if (made < 0 || other < 0)
            continue;
        t->node[t->count] = made;
        t->mirror[t->count++] = other;
    }
}

/* Node i by the meaning's tape, element by element against the twin. */
static void compare_node(struct twins *t, int i)
{
    struct value v = {t->node[i], t->s.side, t->s.side, -1, -1, 0};
    struct program_tile tile = tile_of(&v);
    struct meaning_tape tape;
    struct meaning_part part;
    int *slots = calloc((size_t)t->s.g.count, sizeof *slots);
    struct program_data data = {t->s.symbol, t->s.cells, (const int64_t(*)[SPEC_MAX_RANK])t->s.extent, t->s.number,
                                NULL};
    struct meaning_state at = {.p = &t->s.p, .kernel = &t->s.kernel, .data = &data};
    assert_int_equal(meaning_prepare(&tape, &t->s.p, &tile, -1, slots), 0);
    at.scratch = malloc(tape.bytes);
    meaning_start(&tape, &at, &part);
    while (meaning_next(&tape, &at, &part))
        for (int64_t e = 0; e < part.count; e++) {
            int64_t index[2] = {part.row + e / t->s.side, e % t->s.side};
            struct expr_env env = {&t->s, t->s.symbol, index, 0, read_cell, read_number};
            double want = expr_eval(&t->twin, t->mirror[i], &env);
            double got = tape.type == EXPR_REAL ? part.value->at.real[e] : (double)part.value->at.whole[e];
            if (got != want && !(isnan(got) && isnan(want)))
                fail_msg("seed %llu, node %d, %s: %.17g, one element at a time %.17g", (unsigned long long)t->seed, i,
                         expr_ops[t->s.g.node[t->node[i]].op].name, got, want);
        }
    meaning_tape_free(&tape);
    free(at.scratch);
    free(slots);
}

/* Random graphs over ROW, COLUMN, elements of tensors and scalars: expr_eval knows ROW and COLUMN as indices 0 and 1.
 */
static void test_nodes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        static struct twins t;
        memset(&t.twin, 0, sizeof t.twin);
        t.seed = seed;
        begin(&t.s, 2 + (int)(seed % 15), seed);
        draw_leaves(&t);
        draw_nodes(&t);
        for (int i = LEAVES; i < t.count; i++)
            compare_node(&t, i);
        expr_free(&t.twin);
        finish(&t.s);
    }
}

/* Every allocation fails once: the answer is 3, and nothing is left. */
static void test_memory(void **state)
{
    static struct sample s;
    struct program_error error;
    struct failing f = {0};
    (void)state;
    random_program(&s, 11);
    struct memory own = s.g.memory;
    s.g.memory = (struct memory){failing_alloc, &f};
    assert_int_equal(evaluate(&s, &error), 0);
    assert_int_equal(f.blocks, 0);
    long calls = f.calls;
    assert_true(calls > 50);
    for (long i = 1; i <= calls; i = failing_next(i)) {
        f = (struct failing){.fail_at = i};
        int status = evaluate(&s, &error);
        if (status != 3)
            fail_msg("allocation %ld of %ld fails: status %d, %s", i, calls, status, error.text);
        assert_int_equal(f.blocks, 0);
    }
    s.g.memory = own;
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
