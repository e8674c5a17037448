#include "show/timeline.h"

#include <stdio.h>
#include <string.h>

#include "show/show.h"

const struct timeline_kind_info timeline_kind_all[TIMELINE_KIND_COUNT] = {
#define KIND(ID, letter, colour, name) {letter, colour, name},
#include "show/timeline_kinds.def"
#undef KIND
};

enum { ROWS_MOST = 256, BARRIERS_MOST = 96, RINGS_MOST = 32 };

/* Where an address of shared memory lies. */
enum place_kind { PLACE_NOWHERE, PLACE_STAGE, PLACE_FULL, PLACE_EMPTY };
struct place {
    enum place_kind kind;
    int ring, stage;
};

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

/* A stage that lasts in its state, and a warp that waits, are spans that are open at the end of their rows. */
struct maker {
    struct timeline *t;
    struct {
        int room;
        bool open;
        uint64_t landed;   /* CP_ASYNC: bytes of the stage that have come */
        uint64_t read_at;  /* CP_ASYNC: when it was last read */
        struct place read; /* of a warp: the stage that it loads fragments from */
    } row[ROWS_MOST];
    int stage_row[RINGS_MOST]; /* by ring: its first row, -1: none */
    int stage_rows[RINGS_MOST];
    uint64_t stage_bytes[RINGS_MOST];
    bool failed;
};

static struct timeline_span *add_span(struct maker *m, int row, enum timeline_kind kind, uint64_t step)
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

static struct timeline_span *last_span(struct maker *m, int row)
{
    struct timeline_row *r = &m->t->row[row];
    return r->span_count ? &r->span[r->span_count - 1] : NULL;
}

/* Ends what is open; a wait that took no step is forgotten. */
static void close_span(struct maker *m, int row, uint64_t step)
{
    struct timeline_span *span = last_span(m, row);
    if (!m->row[row].open || !span)
        return;
    m->row[row].open = false;
    span->to = step;
    if (span->from == step)
        m->t->row[row].span_count--;
}

static void set_state(struct maker *m, int row, enum timeline_kind kind, uint64_t step)
{
    struct timeline_span *span = last_span(m, row);
    if (m->row[row].open && span->kind == kind)
        return;
    close_span(m, row, step);
    if ((span = add_span(m, row, kind, step))) {
        span->ring = m->t->row[row].ring;
        span->stage = m->t->row[row].stage;
        m->row[row].open = true;
    }
}

static enum timeline_kind state(struct maker *m, int row)
{
    return last_span(m, row) ? last_span(m, row)->kind : TIMELINE_FREE;
}

/* A mark joins the one before it where that is of the same kind and stage. */
static void mark(struct maker *m, int row, enum timeline_kind kind, struct place at, uint64_t bytes,
                 const struct emu_event *event, uint64_t step)
{
    close_span(m, row, step); /* another path of the warp may wait still */
    struct timeline_span *span = last_span(m, row);
    bool same = span && span->kind == kind && span->ring == at.ring && span->stage == at.stage;
    if (same) {
        span->to = step;
        span->count++;
        span->bytes += bytes;
        return;
    }
    if (!(span = add_span(m, row, kind, step)))
        return;
    span->ring = at.ring;
    span->stage = at.stage;
    span->bytes = bytes;
    span->file = event->file ? event->file : "";
    span->line = event->line;
}

static int barrier_index(struct maker *m, const char *name)
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

static void wait(struct maker *m, int row, enum timeline_kind kind, struct place at, const char *name,
                 const struct emu_event *event, uint64_t step)
{
    struct timeline_span *span = last_span(m, row);
    int barrier = barrier_index(m, name);
    if (m->row[row].open && span->kind == kind && span->barrier == barrier && span->stage == at.stage)
        return; /* polls once more */
    close_span(m, row, step);
    if (!(span = add_span(m, row, kind, step)))
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
        close_span(m, row, step);
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
        close_span(m, row, step);
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
                if (state(m, m->stage_row[g] + s) == TIMELINE_READING)
                    set_state(m, m->stage_row[g] + s, TIMELINE_FREE, step);
        return;
    }
    struct place at = place_of(p, e->address);
    if (at.kind == PLACE_NOWHERE || at.ring >= RINGS_MOST || m->stage_row[at.ring] < 0 ||
        at.stage >= m->stage_rows[at.ring])
        return;
    int row = m->stage_row[at.ring] + at.stage;
    bool bulk = p->ring[at.ring].filler == PLAN_FILL_BULK;
    if (at.kind == PLACE_FULL && e->completed)
        set_state(m, row, TIMELINE_FULL, step);
    else if (at.kind == PLACE_EMPTY && e->completed)
        set_state(m, row, TIMELINE_FREE, step);
    else if (at.kind == PLACE_FULL && e->kind == EMU_EVENT_PASS && state(m, row) == TIMELINE_FULL)
        set_state(m, row, TIMELINE_READING, step);
    if (at.kind != PLACE_STAGE)
        return;
    switch (e->kind) {
    case EMU_EVENT_ISSUE:
        if (state(m, row) != TIMELINE_FILLING)
            m->row[row].landed = 0;
        set_state(m, row, TIMELINE_FILLING, step);
        break;
    case EMU_EVENT_WRITTEN:
        m->row[row].landed += e->number;
        if (!bulk && m->row[row].landed >= m->stage_bytes[at.ring])
            set_state(m, row, TIMELINE_FULL, step);
        break;
    case EMU_EVENT_READ:
        m->row[row].read_at = step;
        if (!bulk)
            set_state(m, row, TIMELINE_READING, step);
        break;
    case EMU_EVENT_WRITE:
        set_state(m, row, TIMELINE_WRITTEN, step);
        break;
    case EMU_EVENT_STORE:
        set_state(m, row, TIMELINE_STORING, step);
        break;
    case EMU_EVENT_STORE_READ:
        set_state(m, row, TIMELINE_FREE, step);
        break;
    default:
        break;
    }
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
        for (int i = 0; i < ring->tensor_count; i++)
            m->stage_bytes[g] += (uint64_t)p->tensor[ring->tensor[i]].tile_bytes;
        for (int s = 0; s < stages && m->stage_row[g] >= 0; s++)
            if ((row = add_row(m, -1, -1, g, s)))
                snprintf(row->name, sizeof row->name, "%.30s[%d]", ring->name, s);
    }
}

static int row_of_warp(const struct timeline *t, uint32_t warp)
{
    for (int i = 0; i < t->role_rows; i++)
        if (t->row[i].warp == (int)warp)
            return i;
    return -1;
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
                if (span->kind == TIMELINE_FULL || span->kind == TIMELINE_READING)
                    sum += span->to - span->from;
            }
        t->filled[g] = last > first ? (double)sum / (double)(last - first) : 0.0;
    }
}

int timeline_make(struct timeline *t, struct tw_runtime *rt, const struct plan *plan, uint64_t block,
                  const struct emu_event *event, size_t count, bool all_warps, struct tw_error *error)
{
    struct maker m;
    memset(t, 0, sizeof *t);
    memset(&m, 0, sizeof m);
    m.t = t;
    t->rt = rt;
    t->plan = plan;
    t->block = block;
    t->row = tw_alloc_zeroed(rt, ROWS_MOST * sizeof *t->row);
    t->barrier = tw_alloc_zeroed(rt, BARRIERS_MOST * sizeof *t->barrier);
    t->filled = tw_alloc_zeroed(rt, sizeof *t->filled * (size_t)(plan->ring_count + 1));
    if (!t->row || !t->barrier || !t->filled)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    make_rows(&m, all_warps);
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
        if (ends && state(&m, r) == TIMELINE_READING) /* no barrier follows the last reads */
            set_state(&m, r, TIMELINE_FREE, m.row[r].read_at + 1);
        close_span(&m, r, t->steps);
        if (r < t->role_rows && t->row[r].end <= t->row[r].begin)
            t->row[r].end = t->steps;
    }
    count_waits(t);
    count_filled(t);
    return m.failed ? tw_fail(error, TW_ERROR_MEMORY, "out of memory") : TW_OK;
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
