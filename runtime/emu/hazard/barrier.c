/* Named barriers, the cluster's barrier and mbarriers: what an arrival brings and a wait takes. */
#include "engine.h"

/* ---- Named barriers ---------------------------------------------------------------------------------------------- */

/* Who comes to a barrier must be ordered behind all who came to its use before; else which of them meet is chance: the
   sign of a wrong count. */
static void bar_check(struct hz_warp *w, struct hz_bar *bar, uint32_t lanes, uint32_t id, uint32_t threads,
                      uint32_t position)
{
    struct emu_hazard_cluster *c = w->cluster;
    struct emu_hazard *h = c->h;
    struct hz_finding f = {.name = EMU_HAZARD_BARRIER_COUNT,
                           .warp = w,
                           .lanes = lanes,
                           .position = position,
                           .other = bar->position,
                           .other_block = c->first + w->rank};
    if (bar->any && bar->threads != threads) {
        hz_report(h, &f, "barrier %u: this place gives %u threads, another one of the same use gave %u", id, threads,
                  bar->threads);
        return;
    }
    for (uint32_t i = 0; i < h->warps; i++) {
        const struct hz_warp *other = &c->warps[w->rank * h->warps + i];
        if (bar->last[i] > w->clock.at[other->component]) {
            f.other_warp = i;
            hz_report(h, &f,
                      "barrier %u for %u threads: the warp comes to it without an order behind those who met there "
                      "before: which ones meet is chance",
                      id, threads);
            return;
        }
    }
}

/* Lanes that arrive, and where all do that live, those that have ended: they count as having come. */
static uint32_t with_left(struct hz_warp *w, uint32_t lanes)
{
    if (lanes != w->alive)
        return lanes;
    w->left = 0;
    return hz_full(w);
}

void emu_hazard_bar_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t id, uint32_t threads, int waits,
                           uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard *h = w->cluster->h;
    if (h->status || id >= HZ_BARRIERS)
        return;
    struct hz_bar *bar = &w->cluster->blocks[w->rank].bars[id];
    if (!bar->arrived) {
        bar->arrived = hz_alloc(h, h->warps * sizeof(uint32_t));
        bar->last = hz_alloc(h, h->warps * sizeof(uint32_t));
        if (h->status)
            return;
    }
    bar_check(w, bar, lanes, id, threads, position);
    bar->ever |= UINT32_C(1) << w->index;
    if (!bar->any) {
        bar->any = 1;
        bar->threads = threads;
        bar->position = position;
    }
    lanes = with_left(w, lanes);
    bar->arrived[w->index] = w->clock.at[w->component];
    if (waits)
        bar->waiting |= UINT32_C(1) << w->index;
    hz_clock_join(h, &bar->clock, &w->clock);
    hz_known_join(h, &bar->known, &w->known);
    if (w->fenced[HZ_SCOPES - 1].count) {
        hz_clock_join(h, &bar->fenced, &w->fenced[HZ_SCOPES - 1]);
        hz_known_join(h, &bar->fenced_known, &w->fenced_known);
    }
    hz_release(w, lanes);
}

void emu_hazard_bar_complete(struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t id)
{
    struct emu_hazard *h = cluster->h;
    if (h->status || id >= HZ_BARRIERS)
        return;
    struct hz_bar *bar = &cluster->blocks[rank].bars[id];
    if (!bar->arrived)
        return;
    const struct hz_block *b = &cluster->blocks[rank];
    if (bar->threads >= h->options.threads && b->left.count) {
        hz_clock_join(h, &bar->clock, &b->left);
        hz_known_join(h, &bar->known, &b->left_known);
    }
    for (uint32_t left = bar->waiting; left; left &= left - 1) {
        struct hz_warp *w = &cluster->warps[rank * h->warps + (unsigned)__builtin_ctz(left)];
        hz_clock_join(h, &w->clock, &bar->clock);
        hz_know_own(w, hz_clock_at(&bar->clock, w->component));
        hz_all_know(w);
        hz_learn(w, &bar->known);
        hz_known_join(h, &w->fenced_known, &bar->fenced_known);
        /* a fence of scope gpu, then a barrier: who passes may release what was fenced by a strong write */
        for (int s = 0; bar->fenced.count && s < HZ_SCOPES; s++)
            hz_clock_join(h, &w->fenced[s], &bar->fenced);
    }
    memcpy(bar->last, bar->arrived, h->warps * sizeof(uint32_t));
    memset(bar->arrived, 0, h->warps * sizeof(uint32_t));
    bar->waiting = 0;
    bar->any = 0;
}

uint32_t emu_hazard_bar_warps(const struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t id)
{
    return id < HZ_BARRIERS ? cluster->blocks[rank].bars[id].ever : 0;
}

/* ---- barrier.cluster --------------------------------------------------------------------------------------------- */

/* fence.mbarrier_init releases initialisations alone, through a relaxed arrival too, to who waits (PTX ISA, membar). */
void emu_hazard_cluster_arrive(struct emu_hazard_warp *warp, uint32_t lanes, int relaxed)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (w->cluster->h->status)
        return;
    if (w->inits_fenced) {
        struct hz_clock *inits = &w->cluster->meet_inits[w->cluster_phase & 1];
        if (hz_grow(w->cluster->h, &inits->at, &inits->count, w->component + 1, sizeof *inits->at))
            return;
        inits->at[w->component] = w->inits_fenced;
    }
    if (relaxed)
        return;
    hz_clock_join(w->cluster->h, &w->cluster->meet[w->cluster_phase & 1], &w->clock);
    hz_known_join(w->cluster->h, &w->cluster->meet_known, &w->known);
    hz_release(w, with_left(w, lanes));
}

void emu_hazard_cluster_wait(struct emu_hazard_warp *warp, uint32_t lanes)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (w->cluster->h->status)
        return;
    hz_clock_join(w->cluster->h, &w->clock, &w->cluster->meet[w->cluster_phase & 1]);
    hz_clock_join(w->cluster->h, &w->inits, &w->cluster->meet_inits[w->cluster_phase & 1]);
    hz_know_own(w, hz_clock_at(&w->cluster->meet[w->cluster_phase & 1], w->component));
    hz_learn(w, &w->cluster->meet_known);
    for (uint32_t rank = 0; rank < w->cluster->h->options.blocks; rank++) {
        const struct hz_block *b = &w->cluster->blocks[rank];
        if (!b->left.count)
            continue;
        hz_clock_join(w->cluster->h, &w->clock, &b->left);
        hz_learn(w, &b->left_known);
    }
    hz_all_know(w);
    w->cluster->met = 1;
    w->cluster_waited |= lanes;
    if (!(w->alive & ~w->cluster_waited)) {
        w->cluster_phase++;
        w->cluster_waited = 0;
    }
}

/* ---- setmaxnreg -------------------------------------------------------------------------------------------------- */

/* The warps of a warpgroup meet between one setmaxnreg and the next. */
void emu_hazard_setmaxnreg(struct emu_hazard_warp *warp, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    uint32_t moves = w->register_moves, first = w->index & ~3u;
    for (uint32_t i = first; moves && i < first + 4 && i < c->h->warps; i++) {
        const struct hz_warp *other = &c->warps[w->rank * c->h->warps + i];
        if (other->register_moves >= moves && hz_clock_at(&w->clock, other->component) >= other->moved_at[moves & 1])
            continue;
        struct hz_finding f = {.name = EMU_HAZARD_REG_POOL,
                               .warp = w,
                               .lanes = w->lanes,
                               .position = position,
                               .other = EMU_HAZARD_NOWHERE};
        hz_report(c->h, &f,
                  "setmaxnreg once more, and nothing orders the one before of warp %u of its warpgroup before that", i);
        break;
    }
    w->register_moves = ++moves;
    w->moved_at[moves & 1] = w->clock.at[w->component];
}

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t address, uint32_t count)
{
    return (uint32_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (count - 1);
}

struct hz_mbarrier *hz_mbarrier_find(struct emu_hazard_cluster *c, uint64_t address)
{
    if (!c->barrier_slot_count)
        return NULL;
    for (uint32_t at = slot_of(address, c->barrier_slot_count); c->barrier_slots[at];
         at = (at + 1) & (c->barrier_slot_count - 1)) {
        struct hz_mbarrier *m = c->barriers[c->barrier_slots[at] - 1];
        if (m->address == address)
            return m;
    }
    return NULL;
}

static int component_new(struct emu_hazard_cluster *c, uint32_t *component)
{
    struct emu_hazard *h = c->h;
    if (c->components == HZ_COMPONENTS)
        return 1;
    if (c->components == c->room) {
        uint32_t room = 2 * c->room;
        for (uint32_t i = 0; i < h->options.blocks * h->warps; i++) {
            struct hz_clock *clock = &c->warps[i].clock, *behind = &c->warps[i].behind;
            if (hz_grow(h, &clock->at, &clock->count, room, sizeof *clock->at) ||
                (behind->at && hz_grow(h, &behind->at, &behind->count, room, sizeof *behind->at)))
                return 1;
        }
        c->room = room;
    }
    *component = c->components++;
    return 0;
}

struct hz_mbarrier *hz_mbarrier_new(struct emu_hazard_cluster *c, uint64_t address)
{
    struct emu_hazard *h = c->h;
    struct hz_mbarrier *m = hz_alloc(h, sizeof *m);
    if (!m)
        return NULL;
    m->wait_epoch = hz_alloc(h, (4 + 2 * h->options.blocks) * h->warps * sizeof(uint32_t));
    if (!m->wait_epoch || component_new(c, &m->component) ||
        hz_grow(h, &c->barriers, &c->barrier_room, c->barrier_count + 1, sizeof *c->barriers))
        goto fail;
    m->wait_phases = m->wait_epoch + h->warps;
    m->wait_position = m->wait_phases + h->warps;
    m->poll = m->wait_position + h->warps;
    m->arrived = m->poll + h->warps;
    m->arrived_lanes = m->arrived + h->options.blocks * h->warps;
    m->address = address;
    m->rank = hz_rank(address);
    if (2 * (c->barrier_count + 1) > c->barrier_slot_count) {
        uint32_t count = c->barrier_slot_count ? 2 * c->barrier_slot_count : 32;
        uint32_t *slots = hz_alloc(h, count * sizeof *slots);
        if (!slots)
            goto fail;
        for (uint32_t i = 0; i < c->barrier_count; i++) {
            uint32_t at = slot_of(c->barriers[i]->address, count);
            while (slots[at])
                at = (at + 1) & (count - 1);
            slots[at] = i + 1;
        }
        tw_free(h->rt, c->barrier_slots);
        c->barrier_slots = slots;
        c->barrier_slot_count = count;
    }
    c->barriers[c->barrier_count++] = m;
    uint32_t at = slot_of(address, c->barrier_slot_count);
    while (c->barrier_slots[at])
        at = (at + 1) & (c->barrier_slot_count - 1);
    c->barrier_slots[at] = c->barrier_count;
    return m;
fail:
    tw_free(h->rt, m->wait_epoch);
    tw_free(h->rt, m);
    return NULL;
}

void hz_barriers_free(struct emu_hazard_cluster *c)
{
    struct emu_hazard *h = c->h;
    for (uint32_t i = 0; i < c->barrier_count; i++) {
        hz_clock_free(h, &c->barriers[i]->pending);
        hz_clock_free(h, &c->barriers[i]->done);
        hz_known_clear(h, &c->barriers[i]->known);
        tw_free(h->rt, c->barriers[i]->wait_epoch);
        tw_free(h->rt, c->barriers[i]);
    }
    tw_free(h->rt, c->barriers);
    tw_free(h->rt, c->barrier_slots);
    for (uint32_t rank = 0; c->blocks && rank < h->options.blocks; rank++)
        for (int i = 0; i < HZ_BARRIERS; i++) {
            struct hz_bar *bar = &c->blocks[rank].bars[i];
            hz_clock_free(h, &bar->clock);
            hz_clock_free(h, &bar->fenced);
            hz_known_clear(h, &bar->known);
            hz_known_clear(h, &bar->fenced_known);
            tw_free(h->rt, bar->arrived);
            tw_free(h->rt, bar->last);
        }
    hz_clock_free(h, &c->meet[0]);
    hz_clock_free(h, &c->meet[1]);
    hz_clock_free(h, &c->meet_inits[0]);
    hz_clock_free(h, &c->meet_inits[1]);
    hz_known_clear(h, &c->meet_known);
}

/* The 8 bytes are a barrier's, or not any more. They hold something then. */
static void mark(struct emu_hazard_cluster *c, uint64_t address, int live)
{
    struct hz_chunk *k = hz_shared_chunk(c, address);
    uint16_t bytes = address & 8 ? 0xff00 : 0x00ff;
    if (!k)
        return;
    k->written |= bytes;
    k->marked = (uint16_t)(live ? k->marked | bytes : k->marked & ~bytes);
}

static void write_barrier(struct hz_warp *w, uint32_t lanes, uint64_t address, uint32_t position)
{
    uint64_t at[HZ_LANES];
    unsigned lane = (unsigned)__builtin_ctz(lanes);
    at[lane] = address;
    for (unsigned i = 0; i < HZ_LANES; i++)
        at[i] = address;
    emu_hazard_generic(&w->face, UINT32_C(1) << lane, at, 0, 8, EMU_ACCESS_WRITE, position);
}

void emu_hazard_mbarrier_init(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    if (c->h->status || !lanes)
        return;
    struct hz_mbarrier *m = hz_mbarrier_find(c, address);
    if (!m)
        m = hz_mbarrier_new(c, address);
    if (!m || c->h->status)
        return;
    if (m->live) {
        const struct hz_warp *by = &c->warps[m->init_warp - 1];
        struct hz_finding f = {.name = EMU_HAZARD_BARRIER_INIT,
                               .warp = w,
                               .lanes = lanes,
                               .address = address,
                               .bytes = 8,
                               .position = position,
                               .other = m->init_position,
                               .other_block = c->first + by->rank,
                               .other_warp = by->index};
        hz_report(c->h, &f, "a barrier is initialised where one is alive: mbarrier.inval has not ended it");
    }
    mark(c, address, 0);
    write_barrier(w, lanes, address, position);
    mark(c, address, 1);
    m->live = 1;
    m->base = m->phases;
    m->init_warp = w->component;
    m->init_epoch = w->clock.at[w->component];
    m->init_lanes = lanes;
    m->init_position = position;
    m->observed = m->to_come = 0;
    m->used = 0;
    memset(m->signalled, 0, sizeof m->signalled);
    memset(m->signalled_before, 0, sizeof m->signalled_before);
    memset(m->wait_epoch, 0, (4 + 2 * c->h->options.blocks) * c->h->warps * sizeof(uint32_t));
}

void emu_hazard_mbarrier_inval(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct hz_mbarrier *m = hz_mbarrier_use(w, lanes, address, 0, position);
    if (!m)
        return;
    mark(w->cluster, address, 0);
    m->live = 0;
    write_barrier(w, lanes, address, position);
}

struct hz_mbarrier *hz_mbarrier_use(struct hz_warp *w, uint32_t lanes, uint64_t address, int async, uint32_t position)
{
    struct emu_hazard_cluster *c = w->cluster;
    struct emu_hazard *h = c->h;
    if (h->status)
        return NULL;
    struct hz_mbarrier *m = hz_mbarrier_find(c, address);
    struct hz_finding f = {.name = EMU_HAZARD_BARRIER_INIT,
                           .warp = w,
                           .lanes = lanes,
                           .address = address,
                           .bytes = 8,
                           .position = position,
                           .other = EMU_HAZARD_NOWHERE};
    if (!m || !m->live) {
        hz_report(h, &f, "no barrier was initialised here");
        return NULL;
    }
    const struct hz_warp *by = &c->warps[m->init_warp - 1];
    f.other = m->init_position;
    f.other_block = c->first + by->rank;
    f.other_warp = by->index;
    int remote = by->rank != w->rank || m->rank != w->rank;
    uint32_t known = w->clock.at[m->init_warp], brought = hz_clock_at(&w->inits, m->init_warp);
    known = known > brought ? known : brought;
    if (known < m->init_epoch)
        hz_report(h, &f, "the barrier is used, and nothing orders its initialisation before that");
    else if ((async || remote) &&
             !hz_fenced(by, m->init_epoch, by == w ? UINT32_MAX : known, m->init_lanes, HZ_FENCE_INIT))
        hz_report(h, &f, "the barrier is used by %s, and no fence.mbarrier_init stands behind its initialisation",
                  async ? "a copy" : "another block");
    return m;
}

/* A phase completes. Whoever has waited for the one before must be known to those who completed this one: else it might
   not have looked yet, and would miss it. */
void hz_mbarrier_complete(struct emu_hazard_cluster *c, struct hz_mbarrier *m, struct hz_warp *by, uint32_t position)
{
    struct emu_hazard *h = c->h;
    for (uint32_t i = 0; i < h->warps; i++) {
        struct hz_warp *waiter = &c->warps[m->rank * h->warps + i];
        int missed = m->wait_epoch[i] && m->wait_phases[i] == m->phases &&
                     hz_clock_at(&m->pending, waiter->component) < m->wait_epoch[i];
        int behind = m->poll[i] && m->poll[i] == m->phases;
        if (!missed && !behind)
            continue;
        struct hz_finding f = {.name = EMU_HAZARD_PHASE,
                               .warp = waiter,
                               .lanes = waiter->lanes,
                               .address = m->address,
                               .bytes = 8,
                               .position = m->wait_position[i],
                               .other = position};
        if (by) {
            f.other_block = c->first + by->rank;
            f.other_warp = by->index;
        }
        hz_report(h, &f,
                  behind ? "the phase that is waited for has completed, and so has the next one, before the wait saw it"
                         : "the next phase completes, and nothing orders that behind the wait for this one");
        m->poll[i] = 0;
    }
    m->phases++;
    memcpy(m->signalled_before, m->signalled, sizeof m->signalled);
    memset(m->signalled, 0, sizeof m->signalled);
    hz_clock_join(h, &m->done, &m->pending);
}

static void note_arrival(struct hz_mbarrier *m, const struct hz_warp *w, uint32_t lanes)
{
    uint32_t i = w->component - 1;
    m->arrived_lanes[i] = m->arrived[i] == m->phases + 1 ? m->arrived_lanes[i] | lanes : lanes;
    m->arrived[i] = m->phases + 1;
    m->used = 1;
}

void emu_hazard_mbarrier_over(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position,
                              const char *text)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard *h = w->cluster->h;
    const struct hz_mbarrier *m = hz_mbarrier_find(w->cluster, address);
    if (h->status)
        return;
    uint32_t i = w->component - 1;
    int ahead = m && m->arrived[i] == m->phases + 1 && (m->arrived_lanes[i] & lanes);
    struct hz_finding f = {.name = EMU_HAZARD_BARRIER_COUNT,
                           .warp = w,
                           .lanes = lanes,
                           .address = address,
                           .bytes = 8,
                           .position = position,
                           .other = EMU_HAZARD_NOWHERE,
                           .held = ahead ? HZ_HELD_WEAK : 0};
    hz_report(h, &f, "%s", text);
}

/* Whether everything that ended the last phase was known to the warp, whose arrival was the last: so it always is. */
static int ends_alone(const struct hz_mbarrier *m, const struct hz_warp *w)
{
    for (size_t i = 0; i < sizeof m->signalled_before / sizeof m->signalled_before[0]; i++)
        if (m->signalled_before[i])
            return 0;
    for (uint32_t i = 0; i < m->pending.count; i++)
        if (i != m->component && m->pending.at[i] > w->clock.at[i])
            return 0;
    return 1;
}

void emu_hazard_mbarrier_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, int relaxed,
                                int completed, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard *h = w->cluster->h;
    struct hz_mbarrier *m = hz_mbarrier_use(w, lanes, address, 0, position);
    hz_touch_remote(w, address, position);
    if (!m || h->status)
        return;
    if (!relaxed) {
        hz_clock_join(h, &m->pending, &w->clock);
        hz_known_join(h, &m->known, &w->known);
    }
    if (m->phases > m->base && w->clock.at[m->component] < m->phases) {
        struct hz_finding f = {.name = EMU_HAZARD_BARRIER_COUNT,
                               .warp = w,
                               .lanes = lanes,
                               .address = address,
                               .bytes = 8,
                               .position = position,
                               .other = EMU_HAZARD_NOWHERE};
        hz_report(h, &f,
                  "the arrival is not ordered behind the end of the phase before, and may be counted in that one");
    }
    note_arrival(m, w, lanes);
    if (completed) {
        hz_mbarrier_complete(w->cluster, m, w, position);
        if (ends_alone(m, w))
            w->clock.at[m->component] = m->phases;
    }
    if (!relaxed)
        hz_release(w, lanes);
}

void emu_hazard_mbarrier_expect(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    hz_mbarrier_use(w, lanes, address, 0, position);
    hz_touch_remote(w, address, position);
}

/* These lanes learn something, the others do not. */
static void acquire_apart(struct hz_warp *w, uint32_t lanes)
{
    struct emu_hazard *h = w->cluster->h;
    if (!(w->alive & ~lanes))
        return;
    if (!w->acquired) {
        if (hz_grow(h, &w->behind.at, &w->behind.count, w->clock.count, sizeof *w->behind.at))
            return;
        memcpy(w->behind.at, w->clock.at, w->clock.count * sizeof *w->clock.at);
    }
    w->acquired |= lanes;
    if (!(w->alive & ~w->acquired))
        hz_all_know(w);
}

void emu_hazard_mbarrier_wait(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, unsigned parity, int done,
                              int relaxed, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard *h = w->cluster->h;
    if (h->status)
        return;
    if (!done) {
        struct hz_mbarrier *m = hz_mbarrier_find(w->cluster, address);
        if (m && m->live && !m->poll[w->index]) {
            hz_mbarrier_use(w, lanes, address, 0, position);
            m->poll[w->index] = m->phases + 1;
            m->wait_position[w->index] = position;
        }
        return;
    }
    struct hz_mbarrier *m = hz_mbarrier_use(w, lanes, address, 0, position);
    if (!m)
        return;
    /* the phase that it waited for is the last one of this parity */
    uint32_t passed = m->phases;
    if (passed > m->base && ((passed - m->base - 1) & 1) != (parity & 1))
        passed--;
    m->poll[w->index] = 0;
    uint32_t mine = w->clock.at[w->component];
    if (w->waited != m || m->wait_position[w->index] != position || m->wait_epoch[w->index] != mine) {
        w->waited = m; /* else another lane of the same wait */
        w->waited_passed = passed;
        w->waited_free = passed == m->base;
        w->waited_again = passed > m->base ? w->clock.at[m->component] >= passed : m->wait_epoch[w->index] != 0;
    }
    if (passed > m->base) {
        acquire_apart(w, lanes);
        if (!relaxed) {
            if (w->acquired && !(w->alive & ~lanes))
                hz_clock_join(h, &w->behind, &m->done);
            hz_clock_join(h, &w->clock, &m->done);
            hz_know_own(w, hz_clock_at(&m->done, w->component));
            hz_learn(w, &m->known);
        }
        if (w->clock.at[m->component] < passed)
            w->clock.at[m->component] = passed;
        if (m->observed < passed)
            m->observed = passed;
    }
    m->wait_epoch[w->index] = w->clock.at[w->component];
    m->wait_phases[w->index] = passed;
    m->wait_position[w->index] = position;
}

/* A warp waits for the first phase of a barrier on which nothing has ever happened. */
static int waits_first(const struct hz_mbarrier *m, uint32_t warp)
{
    return m->live && !m->used && m->phases == m->base && m->poll[warp] == m->phases + 1 && !m->wait_epoch[warp];
}

/* Two warps that wait for each other's first phase: one of them begins with the wrong parity. */
static void stuck_at_first(struct emu_hazard_cluster *c)
{
    struct emu_hazard *h = c->h;
    const struct hz_warp *first = NULL;
    const struct hz_mbarrier *at = NULL;
    for (uint32_t b = 0; b < c->barrier_count; b++) {
        const struct hz_mbarrier *m = c->barriers[b];
        for (uint32_t i = 0; i < h->warps; i++) {
            struct hz_warp *w = &c->warps[m->rank * h->warps + i];
            if (!waits_first(m, i))
                continue;
            if (!first) {
                first = w;
                at = m;
            } else if (at != m && first != w) {
                struct hz_finding f = {.name = EMU_HAZARD_PHASE,
                                       .warp = w,
                                       .lanes = w->lanes,
                                       .address = m->address,
                                       .bytes = 8,
                                       .position = m->wait_position[i],
                                       .other = at->wait_position[first->index],
                                       .other_block = c->first + first->rank,
                                       .other_warp = first->index};
                hz_report(h, &f,
                          "two warps wait for the first phase of two barriers on which nobody has arrived: one of them "
                          "must begin with the other parity");
                return;
            }
        }
    }
}

uint64_t emu_hazard_mbarrier_at(const struct emu_hazard_cluster *cluster, uint32_t *next)
{
    while (*next < cluster->barrier_count) {
        const struct hz_mbarrier *m = cluster->barriers[(*next)++];
        if (m->live)
            return m->address;
    }
    return 0;
}

int emu_hazard_mbarrier_lacks_copy(struct emu_hazard_cluster *cluster, uint64_t address)
{
    const struct hz_mbarrier *m = hz_mbarrier_find(cluster, address);
    for (uint32_t i = 0; m && i < cluster->h->options.blocks * cluster->h->warps; i++)
        if ((m->signalled_before[i / 64] & ~m->signalled[i / 64]) >> i % 64 & 1 && cluster->warps[i].alive)
            return 1;
    return 0;
}

void emu_hazard_stuck(struct emu_hazard *hazard)
{
    for (struct emu_hazard_cluster *c = hazard->clusters; c && !hazard->status; c = c->next)
        stuck_at_first(c);
    for (struct emu_hazard_cluster *c = hazard->clusters; c && !hazard->status; c = c->next)
        for (uint32_t b = 0; b < c->barrier_count; b++) {
            const struct hz_mbarrier *m = c->barriers[b];
            for (uint32_t i = 0; i < hazard->warps; i++) {
                int waited = m->wait_epoch[i] && m->wait_phases[i] == m->phases;
                if (!m->live || m->poll[i] != m->phases + 1 || m->phases == m->base || waited)
                    continue;
                struct hz_warp *w = &c->warps[m->rank * hazard->warps + i];
                struct hz_finding f = {.name = EMU_HAZARD_PHASE,
                                       .warp = w,
                                       .lanes = w->lanes,
                                       .address = m->address,
                                       .bytes = 8,
                                       .position = m->wait_position[i],
                                       .other = EMU_HAZARD_NOWHERE};
                hz_report(
                    hazard, &f,
                    "the wait is for phase %u of the barrier, and the warp has not waited for the one before, which "
                    "has completed",
                    m->phases - m->base);
            }
        }
}
