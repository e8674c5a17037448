#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "emu/damage/judge.h"

const char *const clean_name[] = {
#define X(id, name, reason) name,
    CLEAN_REASONS(X)
#undef X
};
const char *const clean_why[] = {
#define X(id, name, reason) reason,
    CLEAN_REASONS(X)
#undef X
};

void judge_steps(struct plan *plan, struct outcome *o)
{
    struct diag_set diags = {0};
    memset(o, 0, sizeof *o);
    plan_check(plan, &diags);
    if (diags.errors == 0)
        plan_check_protocol(plan, &diags);
    o->refused = diags.errors > 0;
    if (o->refused) {
        snprintf(o->rule, sizeof o->rule, "%s", diags.item[0].rule);
        snprintf(o->told, sizeof o->told, "%s", diags.item[0].text);
    }
    diag_free(&diags);
}

void judge(struct bench *b, const struct plan *plan, struct outcome *o)
{
    struct plan judged = *plan;
    struct diag_set diags = {0};
    struct tw_compiled compiled = {0};
    struct bench_seen seen = {.verdict = BENCH_NO_TEXT};
    char *text = NULL;
    size_t length = 0;
    judge_steps(&judged, o);
    if (bench_emit(b, &judged, NULL, &text, &length, &diags))
        snprintf(seen.text, sizeof seen.text, "%s", diags.count ? diags.item[0].text : "");
    else if (bench_compile(b, text, length, &compiled, &seen))
        bench_run(b, &judged, &compiled, &seen);
    tw_compiled_free(&b->c.rt, &compiled);
    free(text);
    diag_free(&diags);
    o->verdict = seen.verdict;
    snprintf(o->seen, sizeof o->seen, "%s", seen.text);
}

/* ---- refused and clean ------------------------------------------------------------------------------------------- */

/* `of` with `one` stages in this ring and `others` in the others that bulk copies or cp.async fill. False: they do not
 * fit into shared memory. */
static bool with_depths(struct edit *e, const struct plan *of, int ring, int one, int others)
{
    if (!edit_copy(e, of))
        return false;
    for (int g = 0; g < e->plan.ring_count; g++)
        if (e->ring[g].filler == PLAN_FILL_BULK || e->ring[g].filler == PLAN_FILL_CP_ASYNC)
            edit_set_stages(e, &e->ring[g], g == ring ? one : others);
    return e->plan.launch.shared_bytes <= arch_find(e->plan.arch)->shared_limit;
}

static bool is_right_at(struct bench *b, struct edit *e, int ring, int one, int others)
{
    struct outcome o;
    if (!with_depths(e, &b->base.plan, ring, one, others))
        return false;
    judge(b, &e->plan, &o);
    return !o.refused && o.verdict == BENCH_CLEAN;
}

static bool shows_at_other_depths(struct bench *b, const struct edit *damaged)
{
    static const struct {
        int one, others;
    } depth[] = {{1, 3}, {2, 4}};
    static struct edit e;
    struct outcome o;
    for (size_t d = 0; d < sizeof depth / sizeof *depth; d++)
        for (int g = 0; g < damaged->plan.ring_count; g++) {
            const int one = depth[d].one, others = depth[d].others;
            if (damaged->ring[g].filler != PLAN_FILL_BULK && damaged->ring[g].filler != PLAN_FILL_CP_ASYNC)
                continue;
            if (!with_depths(&e, &damaged->plan, g, one, others))
                continue;
            judge(b, &e.plan, &o);
            if (o.refused && o.verdict != BENCH_CLEAN && o.verdict != BENCH_NO_TEXT &&
                is_right_at(b, &e, g, one, others))
                return true;
        }
    return false;
}

/* The text of a release with `back` frees one stage behind the first turn, whatever the step keeps. */
static bool passes_where_it_keeps_more(const struct edit *damaged)
{
    static struct edit e;
    struct outcome o;
    bool passes = false;
    if (!edit_copy(&e, &damaged->plan))
        return false;
    for (int r = 0; r < e.plan.role_count && !passes; r++)
        for (int i = 0; i < e.role[r].step_count && !passes; i++) {
            struct plan_step *s = &e.step[r][i];
            if (s->op != PLAN_RELEASE || !s->back)
                continue;
            s->count++;
            judge_steps(&e.plan, &o);
            passes = !o.refused;
            s->count--;
        }
    return passes;
}

static int fences(const struct plan *p)
{
    int count = 0;
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++)
            count += p->role[r].step[i].op == PLAN_FENCE_ASYNC;
    return count;
}

/* Writers that fence where they write, beside the fences that are there. */
static bool passes_where_writers_fence(struct bench *b, const struct edit *damaged)
{
    static struct edit e;
    struct outcome o;
    if (fences(&damaged->plan) < fences(&b->base.plan) || !edit_copy(&e, &damaged->plan))
        return false;
    for (int r = 0; r < e.plan.role_count; r++)
        for (int i = 0; i < e.role[r].step_count; i++) {
            const struct plan_step *s = &e.step[r][i];
            const struct plan_step fence = {.op = PLAN_FENCE_ASYNC, .ring = s->ring, .tensor = -1, .call = "fence"};
            if (s->op == PLAN_WRITE && e.plan.ring[s->ring].filler == PLAN_FILL_THREADS)
                edit_put(&e, r, i + 1, fence);
        }
    judge_steps(&e.plan, &o);
    return !o.refused;
}

enum clean_reason explain_clean(struct bench *b, const struct edit *damaged)
{
    if (passes_where_writers_fence(b, damaged))
        return CLEAN_FENCES;
    if (passes_where_it_keeps_more(damaged))
        return CLEAN_KEEPS;
    return shows_at_other_depths(b, damaged) ? CLEAN_DEPTHS : CLEAN_NONE;
}
