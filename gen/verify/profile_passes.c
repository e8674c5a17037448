/* Several profile builds of a kernel, each of which stamps a part of the steps, put together: by anchors, which all
 * stamp (emit/stamps.h). */
#include "verify/profile.h"

#include <string.h>

#include "emit/stamps.h"

/* What all passes have of an instance, and how far each is read. */
struct merge {
    const struct plan_role *role;
    const struct profile_instance *of[PROFILE_PASSES];
    size_t at[PROFILE_PASSES];
    uint64_t was[PROFILE_PASSES]; /* clock of the anchor before */
    bool anchor[PROFILE_STEPS];   /* by step */
    int passes;
    struct profile_instance *to;
};

/* The pass's next anchor, or the number of its stamps. */
static size_t next_anchor(const struct merge *m, int pass)
{
    size_t at = m->at[pass];
    while (at < m->of[pass]->count && !m->anchor[m->of[pass]->stamp[at].step])
        at++;
    return at;
}

/* In the order of the text behind the anchor; those before it are another turn's. */
static int place_of(const struct merge *m, int step, int anchor)
{
    return step > anchor ? step : step + m->role->step_count;
}

/* What the passes have up to their next anchor or end, whose clocks are until[]: each from where its last anchor was,
 * scaled to the first pass's clocks. */
static void merge_stretch(struct merge *m, const size_t *end, const uint64_t *until, int anchor)
{
    const uint64_t from = m->was[0], length = until[0] - from;
    struct profile_instance *to = m->to;
    uint64_t last = from;
    for (;;) {
        int next = -1, least = 0;
        for (int p = 0; p < m->passes; p++) {
            const int place = m->at[p] < end[p] ? place_of(m, m->of[p]->stamp[m->at[p]].step, anchor) : -1;
            if (place >= 0 && (next < 0 || place < least))
                next = p, least = place;
        }
        if (next < 0)
            return;
        const struct profile_stamp *stamp = &m->of[next]->stamp[m->at[next]++];
        const uint64_t own = until[next] - m->was[next], since = stamp->clock - m->was[next];
        uint64_t clock = from + (own ? (uint64_t)((double)since / (double)own * (double)length) : 0);
        clock = clock < last ? last : clock > until[0] ? until[0] : clock;
        to->stamp[to->count++] = (struct profile_stamp){clock, stamp->step};
        last = clock;
    }
}

/* All stretches of an instance. TW_ERROR_INVALID where the passes' anchors are not the same. */
static int merge_instance(struct merge *m, const char *entry, struct tw_error *error)
{
    bool full = false, ended = false;
    int anchor = -1;
    for (int p = 0; p < m->passes; p++) {
        full = full || m->of[p]->full;
        m->at[p] = 0;
        m->was[p] = m->of[p]->began;
    }
    m->to->count = 0;
    while (!ended) {
        size_t end[PROFILE_PASSES];
        uint64_t until[PROFILE_PASSES];
        int step = -1, others = 0;
        for (int p = 0; p < m->passes; p++) {
            end[p] = next_anchor(m, p);
            const bool there = end[p] < m->of[p]->count;
            const int own = there ? m->of[p]->stamp[end[p]].step : -1;
            until[p] = there ? m->of[p]->stamp[end[p]].clock : m->of[p]->ended;
            step = p ? step : own;
            others += own != step;
            ended = ended || !there;
        }
        if (others && !full)
            return tw_fail(
                error, TW_ERROR_INVALID,
                "%s: role %s makes other steps in each launch, so that passes are not of one; write --passes "
                "1",
                entry, m->role->name);
        if ((others || ended) && full) /* where there was no room for more, what follows is not known of all */
            break;
        merge_stretch(m, end, until, anchor);
        if (ended)
            break;
        m->to->stamp[m->to->count++] = (struct profile_stamp){until[0], step};
        anchor = step;
        for (int p = 0; p < m->passes; p++) {
            m->at[p] = end[p] + 1;
            m->was[p] = until[p];
        }
    }
    m->to->full = full;
    return TW_OK;
}

/* One instance of one block: its stamps in *to, which has those of the first pass. */
static int merge_one(struct profile *to, struct profile *const *pass, int passes, int block, int number,
                     struct tw_error *error)
{
    struct profile_instance merged = to->block[block].instance[number];
    struct merge m = {.role = &to->plan->role[merged.role], .passes = passes, .to = &merged};
    size_t count = 1;
    if (m.role->step_count > PROFILE_STEPS)
        return tw_fail(error, TW_ERROR_INVALID, "%s: role %s has over %d steps; write --passes 1", to->plan->entry,
                       m.role->name, PROFILE_STEPS);
    for (int s = 0; s < m.role->step_count; s++)
        m.anchor[s] =
            stamp_of(to->plan, m.role, s) != STAMP_NONE && stamp_pass(to->plan, m.role, s, passes) < 0;
    for (int p = 0; p < passes; p++) {
        m.of[p] = p ? &pass[p]->block[block].instance[number] : &to->block[block].instance[number];
        count += m.of[p]->count;
    }
    merged.stamp = tw_alloc(to->rt, count * sizeof *merged.stamp);
    if (!merged.stamp)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    int status = merge_instance(&m, to->plan->entry, error);
    if (status == TW_OK) {
        tw_free(to->rt, to->block[block].instance[number].stamp);
        to->block[block].instance[number] = merged;
    } else {
        tw_free(to->rt, merged.stamp);
    }
    return status;
}

int profile_merge(struct profile *to, struct profile *const *pass, int passes, struct tw_error *error)
{
    int status = TW_OK;
    for (int p = 1; p < passes; p++)
        if (pass[p]->instances != to->instances || pass[p]->blocks != to->blocks)
            return tw_fail(error, TW_ERROR_INVALID, "%s: passes have other blocks", to->plan->entry);
    for (int b = 0; b < to->blocks; b++)
        for (int i = 0; i < to->instances && status == TW_OK; i++)
            status = merge_one(to, pass, passes, b, i, error);
    return status;
}
