/* Random damage to the steps of derived Plans, and harmless edits: what the protocol check says of a step list against
 * what the emulator says of the text that is emitted from the very same list. What passes must run clean and right in
 * all three modes, and what is harmless must pass. What is refused must fail there, but for one in ten: the check
 * proves for every number of turns, and a loop of this text may have fewer at any size (the masked end of attention
 * over whole rows has one), or a stage that is free too early may be refilled only after a wait for something else.
 *
 *     test_damage [DAMAGES [HARMLESS [SEED [SUBJECT]]]]
 *
 * With arguments, of which SUBJECT is a part of a kernel's name, every disagreement is printed, and a table by class.
 */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage_edits.h"

#include "cache.h"
#include "compile/compile.h"
#include "unit/plan/plan_launch.h"
#include "unit/rounds.h"
#include "verify/trial.h"
#include "emu/emu.h"
#include "version.h"

/* Edits of the test without arguments: fewer where every instruction is checked, and there at one size in one mode. */
enum { DAMAGES = TW_TESTS_SANITIZED ? 5 : 48, HARMLESS = TW_TESTS_SANITIZED ? 5 : 20 };

enum { SETS = 4, SYMBOLS = 8, MODES = 3 };

/* Sizes by the spec's dims; the modes in which they run, as bits of enum emu_completion. */
struct set {
    int64_t size[SYMBOLS];
    unsigned modes;
};

/* A kernel, with rings so shallow that these sizes wrap them several times. `single`: stages of rings that have one by
 * themselves; with two the producer runs ahead into the next item, and refills what is free too early. */
static const struct subject {
    const char *spec, *kernel, *arch; /* NULL: sm_90a */
    int stages, single, sms;
    struct set set[SETS];
} subjects[] = {
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full",
     .stages = 2,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full_ahead",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_full_turns",
     .stages = 2,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 300, 330}, 7}, {{1, 2, 140, 64}, 2}, {{1, 2, 140, 0}, 1}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_causal_lse",
     .stages = 3,
     .single = 2,
     .sms = 1,
     .set = {{{1, 2, 140, 330}, 7}, {{1, 2, 300, 30}, 2}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_km_kn",
     .stages = 3,
     .single = 1,
     .sms = 1,
     .set = {{{136, 200, 232}, 7}, {{136, 200, 24}, 2}, {{136, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_tall",
     .stages = 2,
     .single = 1,
     .sms = 2,
     .set = {{{200, 264, 344}, 7}, {{200, 264, 40}, 2}, {{200, 264, 0}, 1}}},
    {.spec = "tests/programs/pipeline_gemm.lua",
     .kernel = "gemm_program_epilogue",
     .arch = "sm_80",
     .sms = 1,
     .set = {{{136, 200, 440}, 7}, {{136, 200, 40}, 2}, {{136, 200, 0}, 1}}},
    {.spec = "tests/programs/pipeline_attention.lua",
     .kernel = "attention_causal_lse_ahead",
     .arch = "sm_80",
     .sms = 1,
     .set = {{{1, 2, 140, 330}, 7}, {{1, 2, 300, 30}, 2}}},
    {.spec = "specs/rows.lua", .kernel = "softmax", .sms = 1, .set = {{{5, 9000}, 7}, {{5, 1000}, 2}}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* Whether the subject runs at that size in that mode. */
static bool runs(const struct subject *s, int set, int mode)
{
    return (s->set[set].modes >> mode & 1) && (!TW_TESTS_SANITIZED || (set == 0 && mode == EMU_LATE));
}

struct bench {
    bool open, sound;
    struct compile c;
    struct compile_unit unit; /* with the shallow rings */
    struct edit base;
    int shorter[EDIT_ROLES][EDIT_MOST_STEPS];
    struct tw_device *device[MODES];
    struct trial trial[SETS][MODES];
};

static struct bench benches[SUBJECTS];
static struct tw_error error;

/* What the emulator says of a text. */
enum verdict { CLEAN, HAZARD, WRONG, STUCK, NO_TEXT, VERDICTS };
static const char *const verdict_name[] = {"clean", "hazard", "wrong", "stuck", "no text"};

struct outcome {
    bool refused;
    enum verdict verdict;
    char rule[64], told[400], seen[400];
};

/* ---- the text of a Plan, executed -------------------------------------------------------------------------------- */

static bool is_deadlock(const struct tw_device *device)
{
    const struct emu_report *report;
    for (size_t i = 0; (report = emu_device_report(device, i)); i++)
        if (strcmp(report->name, "DEADLOCK") == 0)
            return true;
    return false;
}

static enum verdict launch(struct bench *b, const struct compile_unit *unit, const char *ptx, size_t bytes,
                           struct trial *t, struct tw_device *device, char *seen, size_t size)
{
    struct tw_kernel *kernel = NULL;
    struct tw_load load = {.ptx = ptx, .ptx_bytes = bytes, .entry = unit->plan.entry};
    struct trial_result result = {0};
    (void)b;
    emu_device_clear_reports(device);
    int status = tw_device_load(device, &load, &kernel, &error);
    enum verdict v = status == TW_OK ? CLEAN : NO_TEXT;
    if (status == TW_OK) {
        struct plan_way by = {device, kernel, &unit->plan};
        const struct trial_way way = {(uint64_t)unit->plan.workspace_bytes, plan_way_launch, &by};
        status = trial_run(t, &way, &result, &error);
        const struct emu_report *first = emu_device_report(device, 0);
        v = is_deadlock(device) ? STUCK : first || status != TW_OK ? HAZARD : result.passed ? CLEAN : WRONG;
        snprintf(seen, size, "%.390s", first ? first->text : status != TW_OK ? error.text : result.why);
    }
    tw_device_unload(device, kernel);
    return v;
}

static enum verdict execute(struct bench *b, const struct subject *s, const struct compile_unit *unit, char *seen,
                            size_t size)
{
    static const char *const all[] = {"all"};
    struct emit_options options = {.generator_version = TW_GENERATOR};
    struct diag_set diags = {0};
    struct tw_compiled compiled = {0};
    char *text = NULL;
    size_t length = 0;
    enum verdict v = CLEAN;
    int status = emit_template(unit->plan.template_name, &unit->plan, &options, &text, &length, &diags);
    snprintf(seen, size, "%s", status && diags.count ? diags.item[0].text : "");
    diag_free(&diags);
    assert_int_not_equal(status, 3);
    if (status)
        return NO_TEXT;
    struct tw_compile_request request = {.source = text,
                                         .source_bytes = length,
                                         .name = "/tilewright/damaged.cu",
                                         .entry = unit->plan.entry,
                                         .arch = unit->plan.arch,
                                         .allow = all,
                                         .allow_count = 1,
                                         .outputs = TW_OUTPUT_PTX,
                                         .generator = TW_GENERATOR};
    if (tw_compile_cached(&b->c.rt, &request, &compiled, &error) != TW_OK) {
        v = NO_TEXT;
        snprintf(seen, size, "%.390s", error.text);
    }
    free(text);
    for (int i = 0; i < SETS && v == CLEAN; i++)
        for (int mode = 0; mode < MODES && v == CLEAN; mode++)
            if (runs(s, i, mode))
                v = launch(b, unit, compiled.ptx, compiled.ptx_bytes, &b->trial[i][mode], b->device[mode], seen, size);
    tw_compiled_free(&b->c.rt, &compiled);
    return v;
}

static void judge(struct bench *b, const struct subject *s, const struct plan *plan, struct outcome *o)
{
    struct compile_unit unit = b->unit;
    struct diag_set diags = {0};
    unit.plan = *plan;
    memset(o, 0, sizeof *o);
    plan_check(&unit.plan, &diags);
    if (diags.errors == 0)
        plan_check_protocol(&unit.plan, &diags);
    o->refused = diags.errors > 0;
    if (o->refused) {
        snprintf(o->rule, sizeof o->rule, "%s", diags.item[0].rule);
        snprintf(o->told, sizeof o->told, "%s", diags.item[0].text);
    }
    diag_free(&diags);
    o->verdict = execute(b, s, &unit, o->seen, sizeof o->seen);
}

/* ---- subjects ---------------------------------------------------------------------------------------------------- */

/* Opens the subject: its Plan with shallow rings, and trials by size and mode. The undamaged text must be clean. */
static void open_bench(struct bench *b, const struct subject *s)
{
    struct compile_choice choice = {.kernel = s->kernel, .arch = s->arch ? s->arch : "sm_90a", .variant = "0"};
    if (b->open)
        return;
    b->open = true;
    assert_int_equal(compile_open(&b->c, "test_damage", s->spec), 0);
    assert_int_equal(compile_units(&b->c, &choice), 0);
    assert_int_equal(b->c.unit_count, 1);
    struct plan *p = &b->c.unit[0].plan;
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *step = &p->role[r].step[i];
            /* Where all is one role a shorter loop computes something else, in order. */
            if (!p->derived || p->mma_count == 0 || p->role_count == 1 || !edit_is_loop(step))
                continue;
            int node = expr_binary(&p->fused, EXPR_SUB, plan_number(step->node), expr_int(&p->fused, 1));
            assert_true(node >= 0);
            b->shorter[r][i] = plan_some(node);
        }
    assert_true(edit_copy(&b->base, p));
    for (int g = 0; g < p->ring_count; g++)
        if (b->base.ring[g].filler == PLAN_FILL_BULK)
            edit_set_stages(&b->base, &b->base.ring[g], b->base.ring[g].stages > 1 ? s->stages : s->single);
    b->unit = b->c.unit[0];
    b->unit.plan = b->base.plan;
    for (int mode = 0; mode < MODES; mode++) {
        struct emu_options options = {.arch = p->arch,
                                      .completion = (enum emu_completion)mode,
                                      .hazards = EMU_HAZARDS_FATAL,
                                      .seed = 5,
                                      .sm_count = s->sms,
                                      .instruction_limit = 20000000};
        assert_int_equal(tw_device_open_emu(&b->c.rt, &options, &b->device[mode], &error), TW_OK);
        for (int i = 0; i < SETS; i++) {
            int64_t symbol[SYMBOLS + 1];
            if (!runs(s, i, mode))
                continue;
            assert_true(p->symbol_count <= SYMBOLS + 1);
            memcpy(symbol, s->set[i].size, sizeof s->set[i].size);
            symbol[p->symbol_count - 1] = s->sms;
            int64_t *kept = tw_alloc(&b->c.rt, sizeof symbol);
            assert_non_null(kept);
            memcpy(kept, symbol, sizeof symbol);
            struct trial_request request = {.compile = &b->c,
                                            .device = b->device[mode],
                                            .unit = &b->unit,
                                            .symbol = kept,
                                            .inputs = INPUTS_NORMAL,
                                            .seed = 1};
            int status = trial_begin(&b->trial[i][mode], &request, &error);
            if (status != TW_OK)
                fail_msg("%s: %s", s->kernel, error.text);
        }
    }
    struct outcome o;
    judge(b, s, &b->unit.plan, &o);
    if (o.refused || o.verdict != CLEAN)
        fail_msg("%s without damage: %s, %s: %s", s->kernel, o.refused ? o.told : "passes", verdict_name[o.verdict],
                 o.seen);
}

static void close_bench(struct bench *b)
{
    if (!b->open)
        return;
    for (int mode = 0; mode < MODES; mode++) {
        for (int i = 0; i < SETS; i++)
            if (b->trial[i][mode].tensor) {
                tw_free(&b->c.rt, (void *)(uintptr_t)b->trial[i][mode].request.symbol);
                trial_end(&b->trial[i][mode]);
            }
        tw_device_close(b->device[mode]);
    }
    compile_close(&b->c);
    b->open = false;
}

/* ---- many edits -------------------------------------------------------------------------------------------------- */

struct count {
    int made[2][VERDICTS]; /* [refused][verdict] */
};

struct round {
    const char *subject; /* NULL: all */
    uint64_t seed;
    bool prints;
    struct count class[EDIT_CLASSES];
    int blind, strict; /* passes and is not clean; is refused and clean, or refused though harmless */
};

static void print_table(const struct round *r, int first, int end)
{
    struct count sum = {0};
    printf("# %-28s %28s   %28s\n", "", "refused", "passed");
    printf("# %-28s %7s%7s%7s%7s   %7s%7s%7s%7s\n", "class", "hazard", "wrong", "stuck", "clean", "hazard", "wrong",
           "stuck", "clean");
    static const enum verdict column[] = {HAZARD, WRONG, STUCK, CLEAN};
    for (int c = first; c <= end; c++) {
        const struct count *n = c < end ? &r->class[c] : &sum;
        printf("# %-28s ", c < end ? edit_name[c] : "all");
        for (int refused = 1; refused >= 0; refused--)
            for (int v = 0; v < 4; v++)
                printf("%7d%s", n->made[refused][column[v]], v < 3 ? "" : refused ? "   " : "\n");
        for (int refused = 0; refused < 2 && c < end; refused++)
            for (int v = 0; v < VERDICTS; v++)
                sum.made[refused][v] += n->made[refused][v];
    }
}

/* One edit of the class on some subject that has one. False: none was found, or it has no text. */
static bool edit_one(struct round *r, enum edit_class class)
{
    static struct edit e;
    struct outcome o;
    e.seed = &r->seed;
    for (int attempt = 0; attempt < 100; attempt++) {
        int which = edit_draw(&e, SUBJECTS);
        const struct subject *s = &subjects[which];
        struct bench *b = &benches[which];
        if (r->subject && !strstr(s->kernel, r->subject))
            continue;
        open_bench(b, s);
        e.shorter = (const int(*)[EDIT_MOST_STEPS])b->shorter;
        if (!edit_copy(&e, &b->base.plan) || !edit_make(&e, class))
            continue;
        judge(b, s, &e.plan, &o);
        if (o.verdict == NO_TEXT) {
            if (r->prints)
                printf("# no text: %s: %s: %.150s\n", s->kernel, e.text, o.seen);
            continue;
        }
        r->class[class].made[o.refused][o.verdict]++;
        bool blind = !o.refused && o.verdict != CLEAN;
        bool strict = o.refused && (o.verdict == CLEAN || class >= EDIT_HARMLESS);
        r->blind += blind;
        r->strict += strict;
        if (r->prints && (blind || strict))
            printf("# %s: %s: %s: %s\n#     %s %s\n#     %s %.300s\n", blind ? "BLIND" : "strict", s->kernel,
                   edit_name[class], e.text, o.refused ? o.rule : "passes", o.told, verdict_name[o.verdict], o.seen);
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

static const struct subject *subject_of(const char *kernel, struct bench **b)
{
    int i = 0;
    while (strcmp(subjects[i].kernel, kernel) != 0)
        i++;
    *b = &benches[i];
    open_bench(*b, &subjects[i]);
    return &subjects[i];
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
    struct bench *b;
    struct outcome o;
    const struct subject *s = subject_of("gemm_program_tall", &b);
    (void)state;
    assert_true(edit_copy(&e, &b->base.plan));
    int fill = first_step(&e, 0, PLAN_FILL);
    assert_int_equal(e.step[0][fill + 1].op, PLAN_FILL);
    assert_true(edit_move_to(&e, 0, fill, fill + 2));
    judge(b, s, &e.plan, &o);
    assert_false(o.refused);
    assert_int_equal(o.verdict, CLEAN);
}

/* The text of a release frees one stage, whatever the step keeps: one too many, or one that is to free two, is refused.
 */
static void releases_free_one_stage(void **state)
{
    static const char *const kernel[] = {"attention_full_ahead", "gemm_program_tall"};
    static struct edit e;
    struct bench *b;
    struct outcome o;
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct subject *s = subject_of(kernel[i / 2], &b);
        assert_true(edit_copy(&e, &b->base.plan));
        int release = first_step(&e, 1, PLAN_RELEASE);
        if (i % 2)
            edit_put(&e, 1, release, e.step[1][release]);
        else
            edit_take(&e, 1, release);
        judge(b, s, &e.plan, &o);
        assert_true(o.refused);
        assert_string_equal(o.rule, "PROTOCOL-RELEASE");
        assert_true(o.verdict == HAZARD || o.verdict == STUCK);
    }
}

static void damage_is_seen_by_both(void **state)
{
    static struct round r = {.seed = 7, .prints = true};
    (void)state;
    edit_many(&r, 0, EDIT_HARMLESS, DAMAGES);
    print_table(&r, 0, EDIT_HARMLESS);
    assert_int_equal(r.blind, 0);
    assert_true(TW_TESTS_SANITIZED || r.strict * 10 <= DAMAGES); /* one mode may not show what is refused */
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
        close_bench(&benches[i]);
    return 0;
}

static int damages, harmless;
static struct round asked = {.seed = 1, .prints = true};

static void as_asked(void **state)
{
    (void)state;
    edit_many(&asked, 0, EDIT_HARMLESS, damages);
    edit_many(&asked, EDIT_HARMLESS, EDIT_CLASSES, harmless);
    print_table(&asked, 0, EDIT_CLASSES);
    printf("# %d passed and are not clean, %d were refused and are clean or harmless\n", asked.blind, asked.strict);
    assert_int_equal(asked.blind, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_go_in_any_order),
        cmocka_unit_test(releases_free_one_stage),
        cmocka_unit_test(damage_is_seen_by_both),
        cmocka_unit_test(harmless_edits_pass),
    };
    const struct CMUnitTest one[] = {cmocka_unit_test(as_asked)};
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, close_all);
    damages = atoi(argv[1]);
    harmless = argc > 2 ? atoi(argv[2]) : 0;
    asked.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    asked.subject = argc > 4 ? argv[4] : NULL;
    return cmocka_run_group_tests(one, NULL, close_all);
}
