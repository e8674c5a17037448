/* Random damage to the steps of derived Plans, and harmless edits: what the protocol check says of a step list against
 * what the emulator says of the text that is emitted from the very same list. What passes must run clean and right in
 * all three modes, and what is harmless must pass. What is refused must fail there, but for one in ten, and of each of
 * those it must be known why (judge.h).
 *
 *     test_damage [DAMAGES [HARMLESS [SEED [SUBJECT [FILE.json]]]]]
 *
 * With arguments, of which SUBJECT is a part of a kernel's name ("": all), every disagreement is printed, and a table
 * by kind of damage.
 */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "result_file.h"

#include "unit/rounds.h"

/* Edits of the test without arguments: fewer where every instruction is checked, and there at one size in one mode. */
enum { DAMAGES = TW_TESTS_SANITIZED ? 5 : 48, HARMLESS = TW_TESTS_SANITIZED ? 5 : 20 };

/* The last size of most is there for a number of turns at which alone some damage shows: attention of 30 keys, whose
 * only turn is a masked one; 384 keys of one item, an odd number of turns at a barrier with turns; 320 keys of 129
 * rows, whose last item has no masked turn. */
static const struct bench_subject subjects[] = {
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full",
     .stages = 2,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}, {{1, 2, 140, 30}, 2}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full_ahead",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}, {{1, 2, 140, 30}, 2}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full_turns",
     .stages = 2,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}, {{1, 1, 100, 384}, 2}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_causal_lse",
     .stages = 3,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 140, 330}, 7}, {{1, 2, 300, 30}, 2}, {{1, 2, 129, 320}, 2}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_late_up",
     .stages = 2,
     .single = 1,
     .sms = 1,
     .set = {{{1, 2, 600, 300}, 7}, {{1, 2, 300, 30}, 2}, {{1, 2, 200, 200}, 1}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_km_kn",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{136, 200, 232}, 7}, {{136, 200, 24}, 2}, {{136, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_late.lua",
     .kernel = "late_small",
     .stages = 2,
     .single = 1,
     .sms = 1,
     .set = {{{136, 248, 136}, 7}, {{136, 248, 24}, 2}, {{136, 248, 0}, 1}}},
    {.spec = "tests/programs/pipeline_tail.lua",
     .kernel = "tail_wide",
     .stages = 2,
     .single = 1,
     .sms = 4,
     .set = {{{264, 264, 136}, 7}, {{264, 264, 24}, 2}, {{264, 264, 0}, 1}}},
    {.spec = "tests/programs/pipeline_reuse.lua",
     .kernel = "reuse_late",
     .stages = 2,
     .single = 1,
     .sms = 2,
     .set = {{{264, 264, 136}, 7}, {{264, 264, 24}, 2}, {{264, 264, 0}, 1}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_tall",
     .stages = 2,
     .single = 1,
     .sms = 2,
     .set = {{{200, 264, 344}, 7}, {{200, 264, 40}, 2}, {{200, 264, 0}, 1}}},
    {.spec = "tests/programs/pipeline_along.lua",
     .kernel = "along_two_stages",
     .stages = 2,
     .single = 1,
     .sms = 1,
     .set = {{{264, 136, 200}, 7}, {{136, 136, 24}, 2}, {{136, 136, 0}, 1}}},
    {.spec = "tests/programs/pipeline_items.lua",
     .kernel = "items_of_three",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{264, 232, 136}, 7}, {{136, 200, 24}, 2}, {{136, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_items.lua",
     .kernel = "items_gemm",
     .stages = 2,
     .single = 1,
     .sms = 2,
     .set = {{{600, 264, 200}, 7}, {{600, 264, 24}, 2}, {{264, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_epilogue",
     .arch = "sm_80",
     .sms = 1,
     .set = {{{136, 200, 440}, 7}, {{136, 200, 40}, 2}, {{136, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_causal_lse_ahead",
     .arch = "sm_80",
     .sms = 1,
     .set = {{{1, 2, 140, 330}, 7}, {{1, 2, 300, 30}, 2}, {{1, 2, 129, 320}, 2}}},
    {.spec = "specs/rows.lua", .kernel = "softmax", .sms = 1, .set = {{{5, 9000}, 7}, {{5, 1000}, 2}}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static struct bench benches[SUBJECTS];

/* Opens the subject. The undamaged text must be clean. */
static struct bench *open_bench(int which)
{
    struct bench *b = &benches[which];
    const struct bench_subject *s = &subjects[which];
    struct outcome o;
    if (b->subject)
        return b;
    bench_open(b, s, EMU_HAZARDS_STRICT);
    judge(b, &b->unit.plan, &o);
    if (o.refused || o.verdict != BENCH_CLEAN)
        fail_msg("%s without damage: %s, %s: %s", s->kernel, o.refused ? o.told : "passes",
                 bench_verdict_name[o.verdict], o.seen);
    return b;
}

/* ---- many edits -------------------------------------------------------------------------------------------------- */

struct count {
    int made[2][BENCH_VERDICTS]; /* [refused][verdict] */
};

struct round {
    const char *subject; /* NULL: all */
    uint64_t seed;
    bool prints;
    struct count class[EDIT_CLASSES];
    struct json_object *disagreements; /* one by one, where they are kept */
    int blind, strict;                 /* passes and is not clean; is refused and clean, or refused though harmless */
    int reason[CLEAN_COUNT];           /* of those that do harm, are refused and clean */
};

static void print_table(const struct round *r, int first, int end)
{
    struct count sum = {0};
    printf("# %-28s %28s   %28s\n", "", "refused", "passed");
    printf("# %-28s %7s%7s%7s%7s   %7s%7s%7s%7s\n", "class", "hazard", "wrong", "stuck", "clean", "hazard", "wrong",
           "stuck", "clean");
    static const enum bench_verdict column[] = {BENCH_HAZARD, BENCH_WRONG, BENCH_STUCK, BENCH_CLEAN};
    for (int c = first; c <= end; c++) {
        const struct count *n = c < end ? &r->class[c] : &sum;
        printf("# %-28s ", c < end ? edit_name[c] : "all");
        for (int refused = 1; refused >= 0; refused--)
            for (int v = 0; v < 4; v++)
                printf("%7d%s", n->made[refused][column[v]], v < 3 ? "" : refused ? "   " : "\n");
        for (int refused = 0; refused < 2 && c < end; refused++)
            for (int v = 0; v < BENCH_VERDICTS; v++)
                sum.made[refused][v] += n->made[refused][v];
    }
}

static void print_reasons(const struct round *r)
{
    for (int i = 0; i < CLEAN_COUNT; i++)
        if (r->reason[i])
            printf("# %d refused and clean: %s\n", r->reason[i], clean_name[i]);
}

static void keep(struct json_object *list, const char *kernel, enum edit_class class, const struct edit *e,
                 const struct outcome *o, enum clean_reason reason)
{
    struct json_object *one = json_object_new_object();
    result_text(one, "kernel", kernel);
    result_text(one, "damage", edit_name[class]);
    result_text(one, "class", clean_name[reason]);
    result_text(one, "edit", e->text);
    result_text(one, "proof", o->refused ? o->rule : "passes");
    result_text(one, "told", o->told);
    result_text(one, "emulator", bench_verdict_name[o->verdict]);
    json_object_array_add(list, one);
}

/* A judged edit. What is refused and clean is explained where that can be: every size and mode runs. */
static void count(struct round *r, struct bench *b, enum edit_class class, const struct edit *e,
                  const struct outcome *o)
{
    const char *kernel = b->subject->kernel;
    bool blind = !o->refused && o->verdict != BENCH_CLEAN, harmless = class >= EDIT_HARMLESS;
    bool clean = o->refused && o->verdict == BENCH_CLEAN && !harmless, strict = clean || (o->refused && harmless);
    enum clean_reason reason = clean && !TW_TESTS_SANITIZED ? explain_clean(b, e) : CLEAN_NONE;
    r->class[class].made[o->refused][o->verdict]++;
    r->blind += blind;
    r->strict += strict;
    r->reason[reason] += clean;
    if (r->disagreements && (blind || strict))
        keep(r->disagreements, kernel, class, e, o, reason);
    if (r->prints && (blind || strict))
        printf("# %s: %s: %s: %s\n#     %s %s\n#     %s %.300s%s\n", blind ? "BLIND" : "strict", kernel,
               edit_name[class], e->text, o->refused ? o->rule : "passes", o->told, bench_verdict_name[o->verdict],
               o->seen, clean ? clean_name[reason] : "");
}

/* One edit of the class on some subject that has one. False: none was found, or it has no text. */
static bool edit_one(struct round *r, enum edit_class class)
{
    static struct edit e;
    struct outcome o;
    e.seed = &r->seed;
    for (int attempt = 0; attempt < 100; attempt++) {
        int which = edit_draw(&e, SUBJECTS);
        const struct bench_subject *s = &subjects[which];
        if (r->subject && !strstr(s->kernel, r->subject))
            continue;
        struct bench *b = open_bench(which);
        e.shorter = (const int(*)[EDIT_MOST_STEPS])b->shorter;
        if (!edit_copy(&e, &b->base.plan) || !edit_make(&e, class))
            continue;
        judge(b, &e.plan, &o);
        if (o.verdict == BENCH_NO_TEXT) {
            if (r->prints)
                printf("# no text: %s: %s: %.150s\n", s->kernel, e.text, o.seen);
            continue;
        }
        count(r, b, class, &e, &o);
        fflush(stdout);
        return true;
    }
    return false;
}

static void edit_many(struct round *r, int first, int end, int count)
{
    for (int i = 0; i < count; i++)
        edit_one(r, (enum edit_class)(first + i % (end - first)));
}

/* ---- findings, reduced ------------------------------------------------------------------------------------------- */

static struct bench *bench_of(const char *kernel)
{
    int i = 0;
    while (strcmp(subjects[i].kernel, kernel) != 0)
        i++;
    return open_bench(i);
}

static int first_step(const struct edit *e, int role, enum plan_op op)
{
    int i = 0;
    while (e->step[role][i].op != op)
        i++;
    return i;
}

/* A stage is filled by its last copy, whichever tensor's that is. */
static void fills_go_in_any_order(void **state)
{
    static struct edit e;
    struct outcome o;
    struct bench *b = bench_of("gemm_program_tall");
    (void)state;
    assert_true(edit_copy(&e, &b->base.plan));
    int fill = first_step(&e, 0, PLAN_FILL);
    assert_int_equal(e.step[0][fill + 1].op, PLAN_FILL);
    assert_true(edit_move_to(&e, 0, fill, fill + 2));
    judge(b, &e.plan, &o);
    assert_false(o.refused);
    assert_int_equal(o.verdict, BENCH_CLEAN);
}

/* The text of a release frees one stage, whatever the step keeps: one too many, or one that is to free two, is refused.
 */
static void releases_free_one_stage(void **state)
{
    static const char *const kernel[] = {"attention_full_ahead", "gemm_program_tall"};
    static struct edit e;
    struct outcome o;
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct bench *b = bench_of(kernel[i / 2]);
        assert_true(edit_copy(&e, &b->base.plan));
        int release = first_step(&e, 1, PLAN_RELEASE);
        if (i % 2)
            edit_put(&e, 1, release, e.step[1][release]);
        else
            edit_take(&e, 1, release);
        judge(b, &e.plan, &o);
        assert_true(o.refused);
        assert_string_equal(o.rule, "PROTOCOL-RELEASE");
        assert_true(o.verdict == BENCH_HAZARD || o.verdict == BENCH_STUCK);
    }
}

/* A release or a wait between a fence and its instruction branches: behind that a compiler may place what threads did
 * to registers before the fence (NVRTC 13.0 did behind a release of the masked end of attention), so that the text has
 * the fence once more at the instruction. */
static void fences_hold_behind_branches(void **state)
{
    static const struct {
        enum plan_op op;
        const char *call;
    } moved[] = {{PLAN_RELEASE, "k_release"}, {PLAN_WAIT_FULL, "v_wait_full"}};
    static struct edit e;
    struct outcome o;
    struct bench *b = bench_of("attention_full");
    (void)state;
    for (int n = 0; n < 4; n++) { /* in both loops */
        assert_true(edit_copy(&e, &b->base.plan));
        int from = -1, fence;
        for (int i = 0; i <= n / 2; i++)
            do
                from++;
            while (e.step[1][from].op != moved[n % 2].op || strcmp(e.step[1][from].call, moved[n % 2].call) != 0);
        for (fence = from; e.step[1][fence].op != PLAN_MMA_FENCE;)
            fence++;
        assert_true(edit_move_to(&e, 1, from, fence + 1));
        judge(b, &e.plan, &o);
        if (o.refused || o.verdict != BENCH_CLEAN)
            fail_msg("%s: %s, %s %s", e.text, o.refused ? o.told : "passes", bench_verdict_name[o.verdict], o.seen);
    }
}

static int next_step(const struct edit *e, int role, const char *call, int from)
{
    while (!e->step[role][from].call || strcmp(e->step[role][from].call, call) != 0)
        from++;
    return from;
}

/* What the subjects' last sizes and depths are for: harm that other numbers of turns do not show. */
static void harm_shows_at_some_size(void **state)
{
    static struct edit e;
    struct outcome o;
    (void)state;
    for (int n = 0; n < 6; n++) {
        static const char *const kernel[] = {"attention_full_turns",       "attention_causal_lse_ahead",
                                             "attention_causal_lse_ahead", "attention_full",
                                             "attention_late_up",          "attention_late_up"};
        struct bench *b = bench_of(kernel[n]);
        int last = b->base.plan.role_count - 1, at;
        assert_true(edit_copy(&e, &b->base.plan));
        if (n == 0) { /* instances that do not wait for their turn pass it on all the same */
            struct plan_step *turn = &e.step[last][next_step(&e, last, "turn_wait", 0)];
            const struct plan_step *other = &e.step[last][next_step(&e, last, "d_barrier", 0)];
            turn->call = other->call;
            turn->count = other->count;
        } else if (n < 3) { /* a fill too many or too few behind the last turn without masks */
            at = next_step(&e, 0, "k_K_load", next_step(&e, 0, "kv_inside", 0));
            e.step[0][at].ahead += n == 1 ? 1 : -1;
        } else if (n == 3) { /* of the first masked turn, before which no other fence stands in that item */
            at = next_step(&e, last, "kv", 0);
            edit_take(&e, last, next_step(&e, last, "mma_fence", at));
        } else { /* of one role alone */
            e.step[n - 4][next_step(&e, n - 4, "kv_any", 0)].count += n == 4 ? 1 : -1;
        }
        judge(b, &e.plan, &o);
        if (!o.refused || (o.verdict == BENCH_CLEAN && !TW_TESTS_SANITIZED))
            fail_msg("%s, %d: %s, %s %s", kernel[n], n, o.refused ? o.told : "passes", bench_verdict_name[o.verdict],
                     o.seen);
    }
}

/* Each reason by an edit that has it. An emulator that does not look is no reason. */
static void clean_is_explained(void **state)
{
    static struct edit e;
    static struct bench blind;
    struct outcome o;
    (void)state;
    if (TW_TESTS_SANITIZED) /* one size in one mode explains nothing */
        return;
    struct bench *b = bench_of("attention_late_up");
    assert_true(edit_copy(&e, &b->base.plan));
    int wait = next_step(&e, 1, "v_wait_full", next_step(&e, 1, "v_release", next_step(&e, 1, "kv", 0)));
    assert_true(edit_move_to(&e, 1, next_step(&e, 1, "v_release", wait), wait + 1));
    judge(b, &e.plan, &o);
    assert_true(o.refused && o.verdict == BENCH_CLEAN);
    assert_int_equal(explain_clean(b, &e), CLEAN_DEPTHS);

    b = bench_of("attention_causal_lse");
    assert_true(edit_copy(&e, &b->base.plan));
    int release = next_step(&e, 1, "v_release", 0);
    assert_true(e.step[1][release].back);
    assert_true(edit_move_to(&e, 1, release, next_step(&e, 1, "o", release) + 1));
    judge(b, &e.plan, &o);
    assert_true(o.refused && o.verdict == BENCH_CLEAN);
    assert_int_equal(explain_clean(b, &e), CLEAN_KEEPS);

    b = bench_of("tail_wide");
    assert_true(edit_copy(&e, &b->base.plan));
    int fence = next_step(&e, 1, "d_fence", 0);
    assert_true(edit_move_to(&e, 1, fence, fence + 2));
    judge(b, &e.plan, &o);
    assert_true(o.refused && o.verdict == BENCH_CLEAN);
    assert_int_equal(explain_clean(b, &e), CLEAN_FENCES);
    edit_take(&e, 1, next_step(&e, 1, "d_fence", 0));
    assert_int_not_equal(explain_clean(b, &e), CLEAN_FENCES);

    bench_open(&blind, &subjects[0], EMU_HAZARDS_OFF);
    assert_true(edit_copy(&e, &blind.base.plan));
    edit_take(&e, 1, first_step(&e, 1, PLAN_MMA_FENCE));
    judge(&blind, &e.plan, &o);
    assert_true(o.refused && o.verdict == BENCH_CLEAN);
    assert_int_equal(explain_clean(&blind, &e), CLEAN_NONE);
    bench_close(&blind);
}

/* Edits that do harm which the proof refused, whatever the emulator said of them. */
static int refusals(const struct round *r)
{
    int sum = 0;
    for (int c = 0; c < EDIT_HARMLESS; c++)
        for (int v = 0; v < BENCH_VERDICTS; v++)
            sum += r->class[c].made[1][v];
    return sum;
}

static void damage_is_seen_by_both(void **state)
{
    static struct round r = {.seed = 7, .prints = true};
    (void)state;
    edit_many(&r, 0, EDIT_HARMLESS, DAMAGES);
    print_table(&r, 0, EDIT_HARMLESS);
    assert_int_equal(r.blind, 0);
    int refused = refusals(&r);
    printf("# %d of %d refused are clean\n", r.strict, refused);
    print_reasons(&r);
    assert_true(refused > 0);
    if (!TW_TESTS_SANITIZED) { /* one size in one mode may not show what is refused */
        assert_true(r.strict * 10 <= refused);
        assert_int_equal(r.reason[CLEAN_NONE], 0);
    }
}

static void harmless_edits_pass(void **state)
{
    static struct round r = {.seed = 7, .prints = true};
    (void)state;
    edit_many(&r, EDIT_HARMLESS, EDIT_CLASSES, HARMLESS);
    print_table(&r, EDIT_HARMLESS, EDIT_CLASSES);
    assert_int_equal(r.blind + r.strict, 0);
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++)
        bench_close(&benches[i]);
    return 0;
}

static int damages, harmless;
static struct round asked = {.subject = "", .seed = 1, .prints = true};
static uint64_t first_seed;

static const char *path; /* of the record, NULL: none */

/* By class and by what the proof says, how many were of each verdict. */
static void record_round(const struct round *r)
{
    char command[200];
    struct json_object *classes = json_object_new_object(), *reasons = json_object_new_object();
    snprintf(command, sizeof command, "build/tests/emu/damage/test_damage %d %d %llu '%s' %s", damages, harmless,
             (unsigned long long)first_seed, r->subject, path);
    struct json_object *all = result_begin("tests/emu/damage/test_damage.c",
                                           "random damage to derived steps, and harmless edits, judged by the proof "
                                           "and by the emulator in three completion modes",
                                           command);
    for (int c = 0; c < EDIT_CLASSES; c++) {
        struct json_object *row = json_object_new_object();
        for (int refused = 1; refused >= 0; refused--) {
            struct json_object *counts = json_object_new_object();
            for (int v = 0; v < BENCH_NO_TEXT; v++)
                result_number(counts, bench_verdict_name[v], r->class[c].made[refused][v]);
            json_object_object_add(row, refused ? "refused" : "passes", counts);
        }
        json_object_object_add(classes, edit_name[c], row);
    }
    result_number(all, "damages", damages);
    result_number(all, "harmless", harmless);
    result_number(all, "damages refused", refusals(r));
    result_number(all, "passed and not clean", r->blind);
    result_number(all, "refused and clean or harmless", r->strict);
    for (int i = 0; i < CLEAN_COUNT; i++) {
        struct json_object *row = json_object_new_object();
        result_number(row, "lists", r->reason[i]);
        result_text(row, "why", clean_why[i]);
        json_object_object_add(reasons, clean_name[i], row);
    }
    json_object_object_add(all, "refused and clean by class", reasons);
    json_object_object_add(all, "damages and edits", classes);
    json_object_object_add(all, "disagreements", r->disagreements);
    result_end(all, path);
}

static void as_asked(void **state)
{
    (void)state;
    asked.disagreements = path ? json_object_new_array() : NULL;
    first_seed = asked.seed;
    edit_many(&asked, 0, EDIT_HARMLESS, damages);
    edit_many(&asked, EDIT_HARMLESS, EDIT_CLASSES, harmless);
    print_table(&asked, 0, EDIT_CLASSES);
    print_reasons(&asked);
    printf("# %d passed and are not clean, %d were refused and are clean or harmless; %d that do harm were refused\n",
           asked.blind, asked.strict, refusals(&asked));
    if (path)
        record_round(&asked);
    assert_int_equal(asked.blind + asked.reason[CLEAN_NONE], 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_go_in_any_order),       cmocka_unit_test(releases_free_one_stage),
        cmocka_unit_test(fences_hold_behind_branches), cmocka_unit_test(harm_shows_at_some_size),
        cmocka_unit_test(clean_is_explained),          cmocka_unit_test(damage_is_seen_by_both),
        cmocka_unit_test(harmless_edits_pass),
    };
    const struct CMUnitTest one[] = {cmocka_unit_test(as_asked)};
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, close_all);
    damages = atoi(argv[1]);
    harmless = argc > 2 ? atoi(argv[2]) : 0;
    asked.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    asked.subject = argc > 4 ? argv[4] : "";
    path = argc > 5 ? argv[5] : NULL;
    return cmocka_run_group_tests(one, NULL, close_all);
}
