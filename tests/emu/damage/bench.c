#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/damage/bench.h"

#include "cache.h"
#include "unit/plan/plan_launch.h"
#include "unit/rounds.h"
#include "version.h"

const char *const bench_verdict_name[] = {"clean", "hazard", "wrong", "stuck", "no text"};

static struct tw_error error;

/* Whether the subject runs at that size in that mode. */
static bool runs(const struct bench_subject *s, int set, int mode)
{
    return (s->set[set].modes >> mode & 1) && (!TW_TESTS_SANITIZED || (set == 0 && mode == EMU_LATE));
}

static bool is_deadlock(const struct tw_device *device)
{
    const struct emu_report *report;
    for (size_t i = 0; (report = emu_device_report(device, i)); i++)
        if (strcmp(report->name, "DEADLOCK") == 0)
            return true;
    return false;
}

static void launch(const struct plan *plan, const struct tw_compiled *compiled, struct trial *t,
                   struct tw_device *device, struct bench_seen *seen)
{
    struct tw_kernel *kernel = NULL;
    struct tw_load load = {.ptx = compiled->ptx, .ptx_bytes = compiled->ptx_bytes, .entry = plan->entry};
    struct trial_result result = {0};
    emu_device_clear_reports(device);
    int status = tw_device_load(device, &load, &kernel, &error);
    seen->verdict = status == TW_OK ? BENCH_CLEAN : BENCH_NO_TEXT;
    snprintf(seen->text, sizeof seen->text, "%.390s", status == TW_OK ? "" : error.text);
    if (status == TW_OK) {
        struct plan_way by = {device, kernel, plan};
        const struct trial_way way = {(uint64_t)plan->workspace_bytes, plan_way_launch, &by};
        status = trial_run(t, &way, &result, &error);
        const struct emu_report *first = emu_device_report(device, 0);
        seen->verdict = is_deadlock(device)        ? BENCH_STUCK
                        : first || status != TW_OK ? BENCH_HAZARD
                        : result.passed            ? BENCH_CLEAN
                                                   : BENCH_WRONG;
        snprintf(seen->hazard, sizeof seen->hazard, "%s", first ? first->name : "");
        snprintf(seen->text, sizeof seen->text, "%.390s",
                 first             ? first->text
                 : status != TW_OK ? error.text
                                   : result.why);
    }
    tw_device_unload(device, kernel);
}

int bench_emit(const struct bench *b, const struct plan *plan, const struct emit_source *source, char **text,
               size_t *length, struct diag_set *diags)
{
    const struct emit_options options = {.generator_version = TW_GENERATOR,
                                         .user_folder = b->subject->user_folder,
                                         .source = source,
                                         .source_count = source ? 1 : 0};
    int status = emit_template(plan->template_name, plan, &options, text, length, diags);
    assert_int_not_equal(status, 3);
    return status;
}

bool bench_compile(struct bench *b, const char *text, size_t length, struct tw_compiled *compiled,
                   struct bench_seen *seen)
{
    static const char *const all[] = {"all"};
    const struct plan *plan = &b->unit.plan;
    const struct tw_compile_request request = {.source = text,
                                               .source_bytes = length,
                                               .name = "/tilewright/damaged.cu",
                                               .entry = plan->entry,
                                               .arch = plan->arch,
                                               .allow = all,
                                               .allow_count = 1,
                                               .outputs = TW_OUTPUT_PTX,
                                               .generator = TW_GENERATOR};
    if (tw_compile_cached(&b->c.rt, &request, compiled, &error) == TW_OK)
        return true;
    *seen = (struct bench_seen){.verdict = BENCH_NO_TEXT};
    snprintf(seen->text, sizeof seen->text, "%.390s", error.text);
    return false;
}

void bench_run(struct bench *b, const struct plan *plan, const struct tw_compiled *compiled, struct bench_seen *seen)
{
    *seen = (struct bench_seen){.verdict = BENCH_CLEAN};
    for (int i = 0; i < BENCH_SETS && seen->verdict == BENCH_CLEAN; i++)
        for (int mode = 0; mode < BENCH_MODES && seen->verdict == BENCH_CLEAN; mode++)
            if (runs(b->subject, i, mode))
                launch(plan, compiled, &b->trial[i][mode], b->device[mode], seen);
}

/* A Plan with shallow rings, and for edits of loops their trips less one. */
static void shallow(struct bench *b, const struct bench_subject *s)
{
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
        if (s->stages && b->base.ring[g].filler == PLAN_FILL_BULK)
            edit_set_stages(&b->base, &b->base.ring[g], b->base.ring[g].stages > 1 ? s->stages : s->single);
    b->unit = b->c.unit[0];
    b->unit.plan = b->base.plan;
}

/* A size's modes have the same inputs and one meaning: what the spec's reference says of it is asked in the first. */
static void begin_trial(struct bench *b, int set, int mode)
{
    enum { NO_FUNCTION = -2 }; /* LUA_NOREF */
    struct spec_kernel *kernel = &b->c.spec.kernel[b->unit.kernel - b->c.spec.kernel];
    int reference = kernel->lua_reference;
    bool asked = false;
    const struct bench_subject *s = b->subject;
    const struct plan *p = &b->c.unit[0].plan;
    assert_true(p->symbol_count <= BENCH_SYMBOLS + 1);
    int64_t *symbol = tw_alloc(&b->c.rt, (BENCH_SYMBOLS + 1) * sizeof *symbol);
    assert_non_null(symbol);
    memcpy(symbol, s->set[set].size, sizeof s->set[set].size);
    symbol[p->symbol_count - 1] = s->sms;
    const struct trial_request request = {.compile = &b->c,
                                          .device = b->device[mode],
                                          .unit = &b->unit,
                                          .symbol = symbol,
                                          .inputs = INPUTS_NORMAL,
                                          .seed = 1};
    for (int before = 0; before < mode; before++)
        asked = asked || runs(s, set, before);
    if (asked && kernel->program)
        kernel->lua_reference = NO_FUNCTION;
    if (trial_begin(&b->trial[set][mode], &request, &error) != TW_OK)
        fail_msg("%s: %s", s->kernel, error.text);
    kernel->lua_reference = reference;
}

void bench_open(struct bench *b, const struct bench_subject *s, enum emu_hazards hazards)
{
    const struct compile_choice choice = {.kernel = s->kernel, .arch = s->arch ? s->arch : "sm_90a", .variant = "0"};
    if (b->subject)
        return;
    b->subject = s;
    assert_int_equal(compile_open(&b->c, "test_damage", s->spec), 0);
    assert_int_equal(compile_units(&b->c, &choice), 0);
    assert_int_equal(b->c.unit_count, 1);
    shallow(b, s);
    for (int mode = 0; mode < BENCH_MODES; mode++) {
        const struct emu_options options = {.arch = b->unit.plan.arch,
                                            .completion = (enum emu_completion)mode,
                                            .hazards = hazards,
                                            .seed = 5,
                                            .sm_count = s->sms,
                                            .instruction_limit = 20000000};
        assert_int_equal(tw_device_open_emu(&b->c.rt, &options, &b->device[mode], &error), TW_OK);
        for (int i = 0; i < BENCH_SETS; i++)
            if (runs(s, i, mode))
                begin_trial(b, i, mode);
    }
}

void bench_close(struct bench *b)
{
    if (!b->subject)
        return;
    for (int mode = 0; mode < BENCH_MODES; mode++) {
        for (int i = 0; i < BENCH_SETS; i++)
            if (b->trial[i][mode].tensor) {
                tw_free(&b->c.rt, (void *)(uintptr_t)b->trial[i][mode].request.symbol);
                trial_end(&b->trial[i][mode]);
            }
        tw_device_close(b->device[mode]);
    }
    compile_close(&b->c);
    b->subject = NULL;
}
