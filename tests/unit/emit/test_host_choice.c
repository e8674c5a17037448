/* The choice among set-ups: exact where something was measured, total elsewhere. */
#include "unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "embed/host_plans.h"
#include "emit/host/host_choice.h"

enum { MOST = 60, DIMS = 3 };

static uint64_t draw = 1;

static int64_t drawn(int64_t end)
{
    draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(draw >> 33) % end;
}

struct made {
    int64_t size[MOST][DIMS];
    struct host_tuned row[MOST];
    int count;
    struct plan plan;
    struct arena arena;
    struct host_target target;
    struct host_image image;
    struct host_model model;
    struct host_facts facts;
};

static void decide(struct made *m)
{
    host_plan_gemm(&m->plan, HOST_PLAN_SM_90A);
    m->target = (struct host_target){.id = "sm_90a"};
    m->image = (struct host_image){.plan = &m->plan};
    m->model = (struct host_model){.image = &m->image, .image_count = 1, .tuned = m->row, .tuned_count = m->count};
    m->facts = (struct host_facts){
        .model = &m->model, .plan = &m->plan, .arena = &m->arena, .target = &m->target, .target_count = 1};
    assert_int_equal(host_decide_choice(&m->facts), 0);
}

static void end(struct made *m)
{
    plan_free(&m->plan);
    arena_free(&m->arena);
    m->arena = (struct arena){0};
}

/* As templates/host/choice.c walks it. */
static int chosen(const struct made *m, const struct host_choice *c, const int64_t *size)
{
    int at = c->root, steps = 0;
    while (at >= 0) {
        const struct host_split *s = &m->facts.split[at];
        assert_in_range(at, c->split, c->split + c->splits - 1);
        at = size[s->symbol] < s->from ? s->less : s->more;
        assert_true(++steps <= c->splits);
    }
    return ~at;
}

/* The row that counts at the sizes of row i: the first sustained one, else the first. */
static int counts(const struct made *m, int i)
{
    int found = -1;
    for (int n = 0; n < m->count; n++)
        if (memcmp(m->size[n], m->size[i], sizeof m->size[i]) == 0 &&
            (found < 0 || (m->row[found].burst && !m->row[n].burst)))
            found = n;
    return found;
}

static void test_random(void **state)
{
    static struct made m;
    (void)state;
    for (int round = 0; round < 300; round++) {
        const int setups = 1 + (int)drawn(8), few = 1 + (int)drawn(12);
        m.count = 1 + (int)drawn(MOST);
        for (int i = 0; i < m.count; i++) {
            for (int d = 0; d < DIMS; d++)
                m.size[i][d] = round % 3 ? INT64_C(1) << drawn(few) : 1 + drawn(few * few);
            m.row[i] = (struct host_tuned){.arch = "sm_90a",
                                           .gpu = "gpu",
                                           .size = m.size[i],
                                           .setup = (int)drawn(setups),
                                           .exact = round % 2 && drawn(3) == 0 ? setups + i : 0,
                                           .use = "",
                                           .burst = drawn(3) == 0};
        }
        decide(&m);
        const struct host_choice *c = &m.facts.choice[0];
        assert_int_equal(m.facts.choice_count, 1);
        for (int i = 0; i < m.count; i++) {
            const struct host_tuned *row = &m.row[counts(&m, i)];
            assert_int_equal(chosen(&m, c, m.size[i]), row->exact ? row->exact : row->setup);
        }
        for (int i = 0; i < 100; i++) {
            int64_t size[DIMS] = {drawn(1 << 14), (int64_t)1 << drawn(41), drawn(64)};
            if (i % 2) /* beside a measured size */
                memcpy(size, m.size[i % m.count], sizeof size);
            size[i % DIMS] += i % 2 ? (int64_t)drawn(3) - 1 : 0;
            const int exact = chosen(&m, c, size) - setups; /* none, or the row of just these sizes */
            assert_true(exact < 0 || memcmp(m.size[exact], size, sizeof size) == 0);
            assert_int_equal(host_setup_of(&m.model, "sm_90a", "gpu", size), chosen(&m, c, size));
        }
        end(&m);
    }
}

/* Between two measured sizes the limit is half-way by ratio; what one size explains needs no other. */
static void test_halves(void **state)
{
    static struct made m;
    static const int64_t size[4][DIMS] = {{16, 4096, 4096}, {4096, 4096, 4096}, {16, 512, 512}, {4096, 512, 512}};
    (void)state;
    m.count = 4;
    for (int i = 0; i < 4; i++) {
        memcpy(m.size[i], size[i], sizeof size[i]);
        m.row[i] = (struct host_tuned){"sm_90a", "gpu", m.size[i], i % 2, 0, "", false, 1.0, 1.0};
    }
    decide(&m);
    assert_int_equal(m.facts.split_count, 1);
    assert_int_equal(m.facts.split[0].symbol, 0);
    assert_int_equal(m.facts.split[0].from, 257); /* 256 is as near to 16 as to 4096 */
    end(&m);
}

/* Rows of an architecture that is not emitted are left out; GPUs have each their own. */
static void test_gpus(void **state)
{
    static struct made m;
    (void)state;
    m.count = 3;
    for (int i = 0; i < 3; i++) {
        m.size[i][0] = m.size[i][1] = m.size[i][2] = 64;
        m.row[i] =
            (struct host_tuned){i ? "sm_90a" : "sm_80", i == 1 ? "one" : "two", m.size[i], i, 0, "", false, 1, 1};
    }
    decide(&m);
    assert_int_equal(m.facts.choice_count, 2);
    assert_int_equal(m.facts.split_count, 0);
    assert_string_equal(m.facts.choice[0].gpu, "one");
    assert_int_equal(m.facts.choice[0].root, ~1);
    assert_int_equal(m.facts.choice[1].root, ~2);
    assert_int_equal(host_setup_of(&m.model, "sm_90a", "two", m.size[0]), 2);
    assert_int_equal(host_setup_of(&m.model, "sm_90a", "three", m.size[0]),
                     1); /* the first that the architecture has */
    assert_int_equal(host_setup_of(&m.model, "sm_80", "one", m.size[0]), 0);
    assert_int_equal(host_setup_of(&m.model, "sm_100a", "one", m.size[0]), 0);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_gpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
