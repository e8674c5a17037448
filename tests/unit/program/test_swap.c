/* Programs with rows and columns swapped: drawn ones mean what they meant, by the meaning and by the naive twin, and
 * faults that are planted into the swapped program do not pass. */
#include "unit/program/program_drawn.h"

#include "program/swap.h"
#include "unit/rounds.h"

enum { ROUNDS = 600, PLANTED = 150 };

struct swapped {
    struct sample s;
    struct arena arena;
    struct program_swapped to;
    int status; /* of program_swap */
};

static void swap_drawn(struct swapped *t, uint64_t seed)
{
    const struct memory memory = {0};
    struct program_swap_fault fault = {-1, NULL};
    memset(t, 0, sizeof *t);
    random_program(&t->s, seed);
    t->status = program_swap(&t->s.p, &t->arena, &memory, &t->to, &fault);
    if (t->status)
        assert_true(t->status == 1 && fault.text && fault.op >= 0 && fault.op < t->s.p.op_count);
}

static void close_swapped(struct swapped *t)
{
    program_swap_free(&t->to);
    arena_free(&t->arena);
    finish(&t->s);
}

/* Elements of the outputs that the swapped program does not give as the other did; the sample's are the other's. */
static int apart(struct swapped *t, uint64_t seed)
{
    static double own[INPUTS + OUTPUTS][SIDE * SIDE], bound[INPUTS + OUTPUTS][SIDE * SIDE];
    static unsigned char done[INPUTS + OUTPUTS][SIDE * SIDE];
    double *cells[INPUTS + OUTPUTS], *bounds[INPUTS + OUTPUTS];
    unsigned char *dones[INPUTS + OUTPUTS];
    struct program_error error;
    char text[200];
    int64_t items;
    int count = twin_beyond(&t->s, &t->to.program, seed, text, sizeof text);
    memcpy(own, t->s.cell, sizeof own);
    memset(done, 0, sizeof done);
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        cells[i] = own[i];
        bounds[i] = bound[i];
        dones[i] = done[i];
    }
    reset(cells);
    struct program_data data = {t->s.symbol, cells, (const int64_t(*)[SPEC_MAX_RANK])t->s.extent, t->s.number, bounds};
    struct program_run run = {.count = -1, .done = dones};
    if (program_evaluate(&t->to.program, &t->s.kernel, &data, &run, &items, &error))
        return count + 1;
    for (int i = INPUTS; i < INPUTS + OUTPUTS; i++)
        for (int e = 0; e < SIDE * SIDE; e++)
            count +=
                done[i][e] != t->s.done[i][e] || !within(own[i][e], t->s.cell[i][e], bound[i][e] + t->s.bound[i][e]);
    return count;
}

static void test_drawn(void **state)
{
    int swapped = 0, dots = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)rounds_compared(ROUNDS); seed++) {
        static struct swapped t;
        struct program_error error;
        swap_drawn(&t, seed);
        if (!t.status && !evaluate(&t.s, &error)) {
            swapped++;
            if (apart(&t, seed))
                fail_msg("seed %llu means something else", (unsigned long long)seed);
            for (int i = 0; i < t.to.program.op_count; i++) {
                const struct program_op *op = &t.to.program.op[i];
                const int from = t.to.written[i];
                assert_true(from >= 0 ? t.s.op[from].kind == op->kind : op->kind == PROGRAM_TRANSPOSE);
                dots += op->kind == PROGRAM_DOT;
            }
        }
        close_swapped(&t);
    }
    assert_true(swapped > rounds_compared(ROUNDS) / 2 && dots > swapped / 2);
}

/* Products, or else stores, forget that their tiles are swapped. */
static int plant(struct program *p, bool dots)
{
    int planted = 0;
    for (int i = 0; i < p->op_count; i++) {
        struct program_op *op = &p->op[i];
        const struct program_tile *value = &op->arg[0];
        if (dots && op->kind == PROGRAM_DOT && op->tile.rows > 1 && op->tile.rows == value->columns &&
            op->tile.rows == op->tile.columns) {
            const struct program_tile a = op->arg[0];
            op->arg[0] = op->arg[1];
            op->arg[1] = a;
            planted++;
        }
        const struct expr_node *n = value->node >= 0 ? &p->graph->node[value->node] : NULL;
        if (dots || (op->kind != PROGRAM_STORE && op->kind != PROGRAM_STORE_ADD) || n->op != EXPR_TILE ||
            p->op[n->integer].kind != PROGRAM_TRANSPOSE)
            continue;
        value = &p->op[n->integer].arg[0];
        if (value->rows > 1 && value->rows == value->columns) {
            op->arg[0].node = value->node;
            planted++;
        }
    }
    return planted;
}

static void test_planted(void **state)
{
    int planted = 0, found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= PLANTED; seed++) {
        static struct swapped t;
        struct program_error error;
        swap_drawn(&t, seed);
        if (!t.status && !evaluate(&t.s, &error) && plant(&t.to.program, seed % 2) > 0) {
            planted++;
            found += apart(&t, seed) > 0;
        }
        close_swapped(&t);
    }
    assert_true(planted > PLANTED / 4);
    if (found < planted / 2) /* others reach no output, or have no bound */
        fail_msg("%d of %d planted faults found", found, planted);
}

/* Every allocation fails once: the answer is 3, and nothing is left. */
static void test_memory(void **state)
{
    static struct sample s;
    struct program_swap_fault fault;
    struct failing f = {0};
    uint64_t seed = 0;
    (void)state;
    for (long fail = 0, calls = 1; fail <= calls;) {
        struct program_swapped to;
        f = (struct failing){.fail_at = fail};
        const struct memory memory = {failing_alloc, &f};
        struct arena arena = {.memory = memory};
        if (!seed)
            random_program(&s, seed = 13);
        const int status = program_swap(&s.p, &arena, &memory, &to, &fault);
        assert_int_equal(status, fail ? 3 : 0);
        program_swap_free(&to);
        arena_free(&arena);
        assert_int_equal(f.blocks, 0);
        calls = fail ? calls : f.calls;
        fail = failing_next(fail);
    }
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
