#include "show/timeline_make.h"

#include <stdio.h>
#include <string.h>

static bool inside(const struct plan_shared *region, int64_t address, int *stage)
{
    if (!region || address < region->offset || address >= region->offset + region->bytes || region->count < 1)
        return false;
    *stage = (int)((address - region->offset) / (region->bytes / region->count));
    return true;
}

static struct place place_of(const struct plan *p, int64_t address)
{
    struct place at = {PLACE_NOWHERE, -1, -1};
    for (int g = 0; g < p->ring_count; g++) {
        const struct plan_ring *ring = &p->ring[g];
        at.ring = g;
        if (ring->full_shared >= 0 && inside(&p->shared[ring->full_shared], address, &at.stage))
            at.kind = PLACE_FULL;
        else if (ring->empty_shared >= 0 && inside(&p->shared[ring->empty_shared], address, &at.stage))
            at.kind = PLACE_EMPTY;
        else if (ring->filler == PLAN_FILL_THREADS && inside(plan_region(p, ring, -1), address, &at.stage))
            at.kind = PLACE_STAGE;
        for (int i = 0; i < ring->tensor_count && at.kind == PLACE_NOWHERE; i++)
            if (inside(plan_region(p, ring, ring->tensor[i]), address, &at.stage))
                at.kind = PLACE_STAGE;
        if (at.kind != PLACE_NOWHERE)
            return at;
    }
    return (struct place){PLACE_NOWHERE, -1, -1};
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* A mark joins the one before it where that is of the same kind and stage. */
static void mark(struct maker *m, int row, enum timeline_kind kind, struct place at, uint64_t bytes,
                 const struct emu_event *event, uint64_t step)
{
    maker_close_span(m, row, step); /* another path of the warp may wait still */
    struct timeline_span *span = maker_last_span(m, row);
    bool same = span && span->kind == kind && span->ring == at.ring && span->stage == at.stage;
    if (same) {
        span->to = step;
        span->count++;
        span->bytes += bytes;
        return;
    }
    if (!(span = maker_add_span(m, row, kind, step)))
        return;
    span->ring = at.ring;
    span->stage = at.stage;
    span->bytes = bytes;
    span->file = event->file ? event->file : "";
    span->line = event->line;
}

static void wait(struct maker *m, int row, enum timeline_kind kind, struct place at, const char *name,
                 const struct emu_event *event, uint64_t step)
{
    struct timeline_span *span = maker_last_span(m, row);
    int barrier = maker_barrier(m, name);
    if (m->row[row].open && span->kind == kind && span->barrier == barrier && span->stage == at.stage)
        return; /* polls once more */
    maker_close_span(m, row, step);
    if (!(span = maker_add_span(m, row, kind, step)))
        return;
    span->ring = at.ring;
    span->stage = at.stage;
    span->barrier = barrier;
    span->file = event->file ? event->file : "";
    span->line = event->line;
    m->row[row].open = true;
}

/* The name of a named barrier: barriers that instances have for themselves are one. */
static void barrier_name(const struct plan *p, uint64_t number, char *out, size_t room)
{
    const struct plan_barrier *best = NULL;
    for (int i = 0; i < p->barrier_count; i++)
        if ((uint64_t)p->barrier[i].id <= number && (!best || p->barrier[i].id > best->id))
            best = &p->barrier[i];
    if (best && (best->id > 0 || number == 0))
        snprintf(out, room, "%s", best->name);
    else if (number == 0)
        snprintf(out, room, "block");
    else
        snprintf(out, room, "barrier %llu", (unsigned long long)number);
}

/* ---- events of warps ------------------------------------------------------------------------------------------- */

static void warp_waits(struct maker *m, int row, const struct emu_event *e, uint64_t step)
{
    const struct plan *p = m->t->plan;
    struct place none = {PLACE_NOWHERE, -1, -1}, at = place_of(p, e->address);
    char name[48];
    if (e->kind == EMU_EVENT_WAIT && at.kind == PLACE_FULL) {
        snprintf(name, sizeof name, "%s.full", p->ring[at.ring].name);
        wait(m, row, TIMELINE_WAIT_FULL, at, name, e, step);
    } else if (e->kind == EMU_EVENT_WAIT && at.kind == PLACE_EMPTY) {
        snprintf(name, sizeof name, "%s.empty", p->ring[at.ring].name);
        wait(m, row, TIMELINE_WAIT_EMPTY, at, name, e, step);
    } else if (e->kind == EMU_EVENT_WAIT) {
        snprintf(name, sizeof name, "mbarrier +%lld", (long long)e->address);
        wait(m, row, TIMELINE_WAIT_OTHER, none, name, e, step);
    } else if (e->kind == EMU_EVENT_BAR_WAIT) {
        barrier_name(p, e->number, name, sizeof name);
        wait(m, row, TIMELINE_WAIT_BAR, none, name, e, step);
    } else {
        wait(m, row, TIMELINE_WAIT_CLUSTER, none, "cluster", e, step);
    }
}

static void warp_event(struct maker *m, int row, const struct emu_event *e, uint64_t step)
{
    struct timeline_row *r = &m->t->row[row];
    struct place none = {PLACE_NOWHERE, -1, -1}, at = place_of(m->t->plan, e->address);
    struct place stage = at.kind == PLACE_STAGE ? at : none;
    switch (e->kind) {
    case EMU_EVENT_START:
        r->begin = step;
        break;
    case EMU_EVENT_EXIT:
        maker_close_span(m, row, step);
        r->end = step;
        break;
    case EMU_EVENT_WAIT:
    case EMU_EVENT_BAR_WAIT:
    case EMU_EVENT_CLUSTER_WAIT:
        warp_waits(m, row, e, step);
        break;
    case EMU_EVENT_PASS:
    case EMU_EVENT_BAR_PASS:
    case EMU_EVENT_CLUSTER_PASS:
        maker_close_span(m, row, step);
        break;
    case EMU_EVENT_ARRIVE:
        mark(m, row,
             e->number                ? TIMELINE_EXPECT
             : at.kind == PLACE_EMPTY ? TIMELINE_RELEASE
                                      : TIMELINE_ARRIVE,
             at, e->number, e, step);
        break;
    case EMU_EVENT_EXPECT:
        mark(m, row, TIMELINE_EXPECT, at, e->number, e, step);
        break;
    case EMU_EVENT_ISSUE:
        mark(m, row, TIMELINE_COPY, stage, e->number, e, step);
        break;
    case EMU_EVENT_STORE:
        mark(m, row, TIMELINE_STORE, stage, e->number, e, step);
        break;
    case EMU_EVENT_READ:
        m->row[row].read = stage;
        break;
    case EMU_EVENT_MMA: /* mma.sync has its operands from what was read before */
        mark(m, row, TIMELINE_MMA, e->address < 0 ? m->row[row].read : stage, 0, e, step);
        break;
    case EMU_EVENT_WRITE:
        mark(m, row, TIMELINE_WRITE, stage, 0, e, step);
        break;
    case EMU_EVENT_WAIT_GROUP:
        mark(m, row,
             e->number == EMU_EVENT_WGMMA  ? TIMELINE_WAIT_MMA
             : e->number == EMU_EVENT_BULK ? TIMELINE_WAIT_STORE
                                           : TIMELINE_WAIT_COPY,
             none, 0, e, step);
        break;
    default:
        break;
    }
}

/* ---- events of stages ------------------------------------------------------------------------------------------ */

static void stage_event(struct maker *m, const struct emu_event *e, uint64_t step)
{
    const struct plan *p = m->t->plan;
    if (e->kind == EMU_EVENT_BAR_PASS) { /* whoever read a stage that has no barrier is behind it */
        for (int g = 0; g < p->ring_count && g < RINGS_MOST; g++)
            for (int s = 0; p->ring[g].filler == PLAN_FILL_CP_ASYNC && s < m->stage_rows[g]; s++)
                if (maker_state(m, m->stage_row[g] + s) == TIMELINE_READING)
                    maker_set_state(m, m->stage_row[g] + s, TIMELINE_FREE, step);
        return;
    }
    struct place at = place_of(p, e->address);
    if (at.kind == PLACE_NOWHERE || at.ring >= RINGS_MOST || m->stage_row[at.ring] < 0 ||
        at.stage >= m->stage_rows[at.ring])
        return;
    int row = m->stage_row[at.ring] + at.stage;
    bool bulk = p->ring[at.ring].filler == PLAN_FILL_BULK;
    if (at.kind == PLACE_FULL && e->completed)
        maker_set_state(m, row, TIMELINE_FULL, step);
    else if (at.kind == PLACE_EMPTY && e->completed)
        maker_set_state(m, row, TIMELINE_FREE, step);
    else if (at.kind == PLACE_FULL && e->kind == EMU_EVENT_PASS && maker_state(m, row) == TIMELINE_FULL)
        maker_set_state(m, row, TIMELINE_READING, step);
    if (at.kind != PLACE_STAGE)
        return;
    switch (e->kind) {
    case EMU_EVENT_ISSUE:
        if (maker_state(m, row) != TIMELINE_FILLING)
            m->row[row].landed = 0;
        maker_set_state(m, row, TIMELINE_FILLING, step);
        break;
    case EMU_EVENT_WRITTEN:
        m->row[row].landed += e->number;
        if (!bulk && m->row[row].landed >= m->stage_bytes[at.ring])
            maker_set_state(m, row, TIMELINE_FULL, step);
        break;
    case EMU_EVENT_READ:
        m->row[row].read_at = step;
        if (!bulk)
            maker_set_state(m, row, TIMELINE_READING, step);
        break;
    case EMU_EVENT_WRITE:
        maker_set_state(m, row, TIMELINE_WRITTEN, step);
        break;
    case EMU_EVENT_STORE:
        maker_set_state(m, row, TIMELINE_STORING, step);
        break;
    case EMU_EVENT_STORE_READ:
        maker_set_state(m, row, TIMELINE_FREE, step);
        break;
    default:
        break;
    }
}

static int row_of_warp(const struct timeline *t, uint32_t warp)
{
    for (int i = 0; i < t->role_rows; i++)
        if (t->row[i].warp == (int)warp)
            return i;
    return -1;
}

int timeline_make(struct timeline *t, struct tw_runtime *rt, const struct plan *plan, uint64_t block,
                  const struct emu_event *event, size_t count, bool all_warps, struct tw_error *error)
{
    struct maker m;
    if (!maker_open(&m, t, rt, plan, block, all_warps))
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    t->first_step = count ? event[0].step : 0;
    for (size_t i = 0; i < count && !m.failed; i++) {
        uint64_t step = event[i].step - t->first_step;
        int row = event[i].block == block ? row_of_warp(t, event[i].warp) : -1;
        bool engine = event[i].kind == EMU_EVENT_WRITTEN || event[i].kind == EMU_EVENT_SIGNAL ||
                      event[i].kind == EMU_EVENT_STORE_READ;
        t->steps = step + 1 > t->steps ? step + 1 : t->steps;
        /* An issue of a multicast is told once a target: the warp's own is the one that counts. */
        bool remote = event[i].kind == EMU_EVENT_ISSUE && event[i].at_block != block;
        if (row >= 0 && !engine && !remote)
            warp_event(&m, row, &event[i], step);
        if (event[i].at_block == block)
            stage_event(&m, &event[i], step);
    }
    for (int r = 0; r < t->row_count; r++) {
        bool ends = r >= t->role_rows && m.row[r].read_at && plan->ring[t->row[r].ring].filler == PLAN_FILL_CP_ASYNC;
        if (ends && maker_state(&m, r) == TIMELINE_READING) /* no barrier follows the last reads */
            maker_set_state(&m, r, TIMELINE_FREE, m.row[r].read_at + 1);
        maker_close_span(&m, r, t->steps);
        if (r < t->role_rows && t->row[r].end <= t->row[r].begin)
            t->row[r].end = t->steps;
    }
    maker_count(t);
    return m.failed ? tw_fail(error, TW_ERROR_MEMORY, "out of memory") : TW_OK;
}
