/* Passes of a profile, each with a part of the stamps, put together: the steps in the order in which one pass has them.
 */
#include "unit/check.h"

#include <string.h>

#include "emit/stamps.h"
#include "verify/profile.h"

#define STEP(...)                                                                                                      \
    {                                                                                                                  \
        .ring = -1, .tensor = -1, __VA_ARGS__                                                                          \
    }
#define LOOP STEP(.op = PLAN_LOOP, .call = "k", .loop = 1)
#define END STEP(.op = PLAN_END)
#define TOUCH STEP(.op = PLAN_TOUCH, .call = "evaluate")

/* Items of two loops, one in the other, the second with a step that some turns leave out before its first other one;
 * a body where all are such; steps before and behind, and a loop that begins with steps that some turns leave out. */
static struct plan_step steps[] = {
    TOUCH,
    STEP(.op = PLAN_LOOP, .call = "tiles", .loop = 1),
    TOUCH,
    LOOP,
    STEP(.op = PLAN_WHEN, .call = "mask"),
    TOUCH,
    END,
    TOUCH,
    STEP(.op = PLAN_MMA_FENCE, .call = "fence"),
    TOUCH,
    LOOP,
    TOUCH,
    TOUCH,
    END,
    TOUCH,
    END,
    LOOP,
    STEP(.op = PLAN_WHEN, .call = "mask"),
    TOUCH,
    TOUCH,
    END,
    END,
    TOUCH,
    STEP(.op = PLAN_BARRIER, .call = "turn", .only = 1),
    TOUCH,
    END,
    TOUCH,
    LOOP,
    STEP(.op = PLAN_BARRIER, .call = "turn", .only = 1),
    STEP(.op = PLAN_RELEASE, .call = "release", .back = 1),
    TOUCH,
    STEP(.op = PLAN_RELEASE, .call = "release", .back = 1),
    TOUCH,
    END,
};
enum { STEPS = sizeof steps / sizeof *steps, MOST = 4000 };
static struct plan_role role = {.name = "consumer", .instances = 1, .step = steps, .step_count = STEPS};
static const struct plan plan = {
    .kernel = "k", .entry = "k", .template_name = "program.sm_90a.cu", .role = &role, .role_count = 1};

/* The steps of a run in which numbers by chance say how many turns loops make, and what is left out. */
struct run {
    int step[MOST];
    int count;
    uint64_t random;
};

static int chance(struct run *r, int below)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (int)(r->random >> 33) % below;
}

static int end_of(int begin)
{
    int depth = 0;
    for (int i = begin;; i++) {
        depth += steps[i].op == PLAN_LOOP || steps[i].op == PLAN_WHEN;
        depth -= steps[i].op == PLAN_END;
        if (depth == 0)
            return i;
    }
}

static void make(struct run *r, int from, int to)
{
    for (int i = from; i < to; i++) {
        const bool loop = steps[i].op == PLAN_LOOP, body = loop || steps[i].op == PLAN_WHEN;
        for (int turns = !body ? 0 : chance(r, loop ? 4 : 2); turns > 0; turns--) {
            if (stamp_of(&plan, &role, i) != STAMP_NONE)
                r->step[r->count++] = i;
            make(r, i + 1, end_of(i));
        }
        if (body)
            i = end_of(i);
        else if (stamp_of(&plan, &role, i) != STAMP_NONE && !((steps[i].only || steps[i].back) && chance(r, 2)))
            r->step[r->count++] = i;
    }
}

struct world {
    struct tw_runtime rt;
    struct profile profile[PROFILE_PASSES], *pass[PROFILE_PASSES];
    struct profile_instance instance[PROFILE_PASSES];
};

/* Passes of the run, of which each takes longer than the one before. */
static void begin(struct world *w, const struct run *r, int passes)
{
    struct tw_error error;
    memset(w, 0, sizeof *w);
    assert_int_equal(tw_runtime_init(&w->rt, &error), TW_OK);
    for (int p = 0; p < passes; p++) {
        struct profile_instance *in = &w->instance[p];
        w->pass[p] = &w->profile[p];
        w->profile[p] = (struct profile){.rt = &w->rt, .plan = &plan, .instances = 1, .blocks = 1, .grid = 1};
        w->profile[p].block[0].instance = in;
        in->stamp = tw_alloc(&w->rt, sizeof *in->stamp * MOST);
        assert_non_null(in->stamp);
        in->began = (uint64_t)(5 * p);
        in->ended = in->began + (uint64_t)((r->count + 1) * 10 * (p + 1));
        for (int i = 0; i < r->count; i++) {
            const int own = stamp_pass(&plan, &role, r->step[i], passes);
            if (own < 0 || own == p)
                in->stamp[in->count++] =
                    (struct profile_stamp){in->began + (uint64_t)((i + 1) * 10 * (p + 1)), r->step[i]};
        }
    }
}

static void end(struct world *w, int passes)
{
    for (int p = 0; p < passes; p++)
        tw_free(&w->rt, w->instance[p].stamp);
    tw_runtime_close(&w->rt);
}

static void test_steps(void **state)
{
    (void)state;
    /* Of each loop's body the first step that all turns make; of the body that has none, all of them. */
    static const bool anchor[STEPS] = {
        [1] = true, [2] = false, [7] = true, [11] = true, [18] = true, [19] = true, [30] = true};
    for (int i = 0; i < STEPS; i++) {
        const bool stamped = stamp_of(&plan, &role, i) != STAMP_NONE;
        assert_int_equal(stamped && stamp_pass(&plan, &role, i, 1) < 0, anchor[i]);
    }
    assert_int_equal(stamp_passes(&plan), 4); /* of the items' body: 2, 22, 23 and 24; of the last: 28, 29, 31, 32 */
    struct plan other = plan;
    other.item_ring = plan_some(0);
    assert_int_equal(stamp_passes(&other), 1);
    other = plan;
    other.template_name = "program.direct.cu";
    assert_int_equal(stamp_passes(&other), 1);
}

static void test_whole(void **state)
{
    (void)state;
    int64_t all = 0;
    for (uint64_t seed = 1; seed <= 400; seed++)
        for (int passes = 2; passes <= stamp_passes(&plan); passes++) {
            static struct run run;
            struct world w;
            struct tw_error error;
            run = (struct run){.random = seed};
            make(&run, 0, STEPS);
            begin(&w, &run, passes);
            assert_int_equal(profile_merge(w.pass[0], w.pass, passes, &error), TW_OK);
            const struct profile_instance *in = &w.instance[0];
            assert_int_equal(in->count, run.count);
            assert_false(in->full);
            for (int i = 0; i < run.count; i++) { /* at the first pass's clocks, but for what is rounded */
                assert_int_equal(in->stamp[i].step, run.step[i]);
                assert_in_range(in->stamp[i].clock, (i + 1) * 10 - 1, (i + 1) * 10);
            }
            all += run.count;
            end(&w, passes);
        }
    assert_true(all > 10000);
}

/* Launches that were not alike are refused; where one has no room for more, the others' rest is left out. */
static void test_unlike(void **state)
{
    (void)state;
    static struct run run, longer;
    struct world w;
    struct tw_error error;
    run.random = longer.random = 3;
    make(&run, 0, STEPS);
    begin(&w, &run, 3);
    size_t at = 0;
    while (stamp_pass(&plan, &role, w.instance[2].stamp[at].step, 3) >= 0)
        at++;
    w.instance[2].stamp[at].step = w.instance[2].stamp[at].step == 7 ? 11 : 7;
    assert_int_equal(profile_merge(w.pass[0], w.pass, 3, &error), TW_ERROR_INVALID);
    assert_non_null(strstr(error.text, "--passes 1"));
    end(&w, 3);
    begin(&w, &run, 3);
    w.instance[1].full = true;
    w.instance[1].count /= 2;
    assert_int_equal(profile_merge(w.pass[0], w.pass, 3, &error), TW_OK);
    assert_true(w.instance[0].full && w.instance[0].count > 0 && w.instance[0].count < (size_t)run.count);
    for (size_t i = 0; i < w.instance[0].count; i++)
        assert_int_equal(w.instance[0].stamp[i].step, run.step[i]);
    end(&w, 3);
}

/* Whatever is left out, each stamp of a pass has a word of its own, in the order of the run, as profile_mark writes
 * them: a frame's first goes on by all of it, and every one writes the stamp before it. */
static void test_frames(void **state)
{
    static struct run run;
    static int word[8 * MOST];
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int passes = 1; passes <= 3; passes++)
            for (int pass = 0; pass < passes; pass++) {
                int to = 0, hand = 0, at = 0;
                memset(word, 0, sizeof word);
                run = (struct run){.random = seed};
                make(&run, 0, STEPS);
                for (int i = 0; i <= run.count; i++) { /* the last one is written at the end */
                    const int step = i < run.count ? run.step[i] : 0, own = stamp_pass(&plan, &role, step, passes);
                    if (i < run.count && own >= 0 && own != pass)
                        continue;
                    const struct stamp_frame f =
                        i < run.count ? stamp_frame_of(&plan, &role, step, pass, passes) : (struct stamp_frame){0, 1};
                    to += f.slot ? 0 : f.slots;
                    assert_true(f.slots >= 1 && f.slot < f.slots && to <= 8 * MOST && to >= f.slots);
                    assert_int_equal(word[to - f.slots + f.slot], 0);
                    word[to - f.slots + f.slot] = hand;
                    hand = step + 1;
                }
                for (int i = 0; i < run.count; i++) {
                    const int own = stamp_pass(&plan, &role, run.step[i], passes);
                    while (at < to && !word[at] && (own < 0 || own == pass))
                        at++;
                    if (own < 0 || own == pass)
                        assert_int_equal(word[at++], run.step[i] + 1);
                }
                while (at < to)
                    assert_int_equal(word[at++], 0);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_unlike), cmocka_unit_test(test_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
