#include "show/timeline_make.h"

#include <stdio.h>
#include <string.h>

const struct timeline_kind_info timeline_kind_all[TIMELINE_KIND_COUNT] = {
#define KIND(ID, letter, colour, name) {letter, colour, name},
#include "show/timeline_kinds.def"
#undef KIND
};

struct timeline_span *maker_add_span(struct maker *m, int row, enum timeline_kind kind, uint64_t step)
{
    struct timeline_row *r = &m->t->row[row];
    if (r->span_count == m->row[row].room) {
        int room = m->row[row].room ? 2 * m->row[row].room : 64;
        struct timeline_span *grown = tw_realloc(m->t->rt, r->span, (size_t)room * sizeof *grown);
        if (!grown) {
            m->failed = true;
            return NULL;
        }
        r->span = grown;
        m->row[row].room = room;
    }
    struct timeline_span *span = &r->span[r->span_count++];
    *span = (struct timeline_span){
        .kind = kind, .from = step, .to = step, .ring = -1, .stage = -1, .barrier = -1, .count = 1, .file = ""};
    return span;
}

struct timeline_span *maker_last_span(struct maker *m, int row)
{
    struct timeline_row *r = &m->t->row[row];
    return r->span_count ? &r->span[r->span_count - 1] : NULL;
}

void maker_close_span(struct maker *m, int row, uint64_t step)
{
    struct timeline_span *span = maker_last_span(m, row);
    if (!m->row[row].open || !span)
        return;
    m->row[row].open = false;
    span->to = step;
    if (span->from == step)
        m->t->row[row].span_count--;
}

void maker_set_state(struct maker *m, int row, enum timeline_kind kind, uint64_t step)
{
    struct timeline_span *span = maker_last_span(m, row);
    if (m->row[row].open && span->kind == kind)
        return;
    maker_close_span(m, row, step);
    if ((span = maker_add_span(m, row, kind, step))) {
        span->ring = m->t->row[row].ring;
        span->stage = m->t->row[row].stage;
        m->row[row].open = true;
    }
}

enum timeline_kind maker_state(struct maker *m, int row)
{
    return maker_last_span(m, row) ? maker_last_span(m, row)->kind : TIMELINE_FREE;
}

int maker_barrier(struct maker *m, const char *name)
{
    struct timeline *t = m->t;
    for (int i = 0; i < t->barrier_count; i++)
        if (strcmp(t->barrier[i].name, name) == 0)
            return i;
    if (t->barrier_count == BARRIERS_MOST)
        return -1;
    struct timeline_barrier *b = &t->barrier[t->barrier_count];
    b->waited = tw_alloc_zeroed(t->rt, ROWS_MOST * sizeof *b->waited);
    if (!b->waited) {
        m->failed = true;
        return -1;
    }
    snprintf(b->name, sizeof b->name, "%s", name);
    return t->barrier_count++;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static struct timeline_row *add_row(struct maker *m, int role, int warp, int ring, int stage)
{
    if (m->t->row_count == ROWS_MOST)
        return NULL;
    struct timeline_row *row = &m->t->row[m->t->row_count++];
    row->role = role;
    row->warp = warp;
    row->ring = ring;
    row->stage = stage;
    m->row[m->t->row_count - 1].read = (struct place){PLACE_NOWHERE, -1, -1};
    return row;
}

static void make_rows(struct maker *m, bool all_warps)
{
    const struct plan *p = m->t->plan;
    struct timeline_row *row;
    for (int i = 0; i < p->role_count; i++) {
        const struct plan_role *role = &p->role[i];
        int each = role->warps / (role->instances ? role->instances : 1);
        for (int w = 0; w < role->warps; w++) {
            int instance = w / (each ? each : 1);
            if ((!all_warps && each && w % each) || !(row = add_row(m, i, role->first_warp + w, -1, -1)))
                continue;
            if (each > 1 && all_warps)
                snprintf(row->name, sizeof row->name, "%.30s w%d", role->name, role->first_warp + w);
            else if (role->instances > 1)
                snprintf(row->name, sizeof row->name, "%.30s %d", role->name, instance);
            else
                snprintf(row->name, sizeof row->name, "%.40s", role->name);
        }
    }
    for (int w = 0; !p->role_count && w < (p->launch.block + 31) / 32; w++)
        if ((row = add_row(m, -1, w, -1, -1)))
            snprintf(row->name, sizeof row->name, "warp %d", w);
    m->t->role_rows = m->t->row_count;
    for (int g = 0; g < p->ring_count && g < RINGS_MOST; g++) {
        const struct plan_ring *ring = &p->ring[g];
        const struct plan_shared *buffers = ring->filler == PLAN_FILL_THREADS ? plan_region(p, ring, -1) : NULL;
        int stages = buffers ? buffers->count : ring->stages;
        m->stage_row[g] = m->t->row_count + stages <= ROWS_MOST ? m->t->row_count : -1;
        m->stage_rows[g] = stages;
        if (ring->filler == PLAN_FILL_OWN) /* its stages are the buffers of another */
            m->stage_row[g] = -1;
        for (int i = 0; i < ring->tensor_count; i++)
            m->stage_bytes[g] += (uint64_t)p->tensor[ring->tensor[i]].tile_bytes;
        for (int s = 0; s < stages && m->stage_row[g] >= 0; s++)
            if ((row = add_row(m, -1, -1, g, s)))
                snprintf(row->name, sizeof row->name, "%.30s[%d]", ring->name, s);
    }
}

bool maker_open(struct maker *m, struct timeline *t, struct tw_runtime *rt, const struct plan *plan, uint64_t block,
                bool all_warps)
{
    memset(t, 0, sizeof *t);
    memset(m, 0, sizeof *m);
    m->t = t;
    t->rt = rt;
    t->plan = plan;
    t->block = block;
    t->unit = "steps";
    t->about = "over steps: in one, every warp that can go on executes one operation";
    t->microseconds = 1;
    t->row = tw_alloc_zeroed(rt, ROWS_MOST * sizeof *t->row);
    t->barrier = tw_alloc_zeroed(rt, BARRIERS_MOST * sizeof *t->barrier);
    t->filled = tw_alloc_zeroed(rt, sizeof *t->filled * (size_t)(plan->ring_count + 1));
    if (!t->row || !t->barrier || !t->filled)
        return false;
    make_rows(m, all_warps);
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static void count_waits(struct timeline *t)
{
    for (int r = 0; r < t->role_rows; r++)
        for (int i = 0; i < t->row[r].span_count; i++) {
            const struct timeline_span *span = &t->row[r].span[i];
            if (span->barrier < 0)
                continue;
            t->barrier[span->barrier].waited[r] += span->to - span->from;
            t->barrier[span->barrier].total += span->to - span->from;
        }
}

static void count_filled(struct timeline *t)
{
    for (int g = 0; g < t->plan->ring_count; g++) {
        uint64_t first = UINT64_MAX, last = 0, sum = 0;
        for (int r = t->role_rows; r < t->row_count; r++)
            for (int i = 0; t->row[r].ring == g && i < t->row[r].span_count; i++) {
                const struct timeline_span *span = &t->row[r].span[i];
                if (span->kind == TIMELINE_FREE)
                    continue;
                first = span->from < first ? span->from : first;
                last = span->to > last ? span->to : last;
                bool full = span->kind == TIMELINE_FULL || span->kind == TIMELINE_READING;
                if (full || (t->stamped && span->kind == TIMELINE_FILLING))
                    sum += span->to - span->from;
            }
        t->filled[g] = last > first ? (double)sum / (double)(last - first) : 0.0;
    }
}

bool timeline_has_filled(const struct timeline *t, int ring)
{
    enum plan_filler filler = t->plan->ring[ring].filler;
    bool skipped = filler == PLAN_FILL_CP_ASYNC;
    for (int r = 0; r < t->plan->role_count; r++)
        for (int i = 0; i < t->plan->role[r].step_count; i++)
            skipped = skipped ||
                      (t->plan->role[r].step[i].op == PLAN_SKIP && plan_step_ring(&t->plan->role[r].step[i]) == ring);
    return filler != PLAN_FILL_THREADS && filler != PLAN_FILL_OWN && !(t->stamped && skipped);
}

void maker_count(struct timeline *t)
{
    count_waits(t);
    count_filled(t);
}

void timeline_free(struct timeline *t)
{
    for (int i = 0; t->row && i < t->row_count; i++)
        tw_free(t->rt, t->row[i].span);
    for (int i = 0; t->barrier && i < t->barrier_count; i++)
        tw_free(t->rt, t->barrier[i].waited);
    if (t->rt) {
        tw_free(t->rt, t->row);
        tw_free(t->rt, t->barrier);
        tw_free(t->rt, t->filled);
    }
    memset(t, 0, sizeof *t);
}
