/* Asynchronous operations: from issue to the waits that make them known. */
#include "access.h"

/* ---- The table --------------------------------------------------------------------------------------------------- */

/*      63          44 43       32 31           0
       +--------------+-----------+--------------+
       | serial       | generation| number + 1   |     of the cluster, of the entry, in the cluster's table
       +--------------+-----------+--------------+   */
emu_hazard_operation hz_handle_of(const struct emu_hazard_cluster *c, uint32_t number)
{
    return (uint64_t)c->serial << 44 | (uint64_t)(c->operations[number].generation & 0xfff) << 32 | (number + 1);
}

struct hz_operation *hz_operation_of(struct emu_hazard_cluster *c, emu_hazard_operation handle)
{
    uint32_t number = (uint32_t)handle - 1;
    if (!handle || !c || c->serial != handle >> 44 || number >= c->operation_count)
        return NULL;
    struct hz_operation *o = &c->operations[number];
    return o->issuer && (o->generation & 0xfff) == (handle >> 32 & 0xfff) ? o : NULL;
}

static void mark_record(struct emu_hazard_cluster *c, const struct hz_record *r)
{
    if (r->mask && (r->flags & HZ_ASYNC) && r->who >> HZ_COMPONENT_BITS == c->serial)
        c->operations[r->epoch].marked = 1;
}

static void mark_chunk(struct emu_hazard_cluster *c, const struct hz_chunk *k)
{
    for (unsigned i = 0; k->split && i < HZ_CHUNK / 4; i++)
        mark_chunk(c, &k->words->at[i]);
    if (k->split)
        return;
    mark_record(c, &k->write);
    mark_record(c, &k->read);
    for (uint32_t i = 0; k->more && i < k->more->count; i++)
        mark_record(c, &k->more->at[i]);
}

static void mark_handle(struct emu_hazard_cluster *c, emu_hazard_operation handle)
{
    struct hz_operation *o = hz_operation_of(c, handle);
    if (o)
        o->marked = 1;
}

/* Frees operations that no byte of the shadow names and that are waited for (or will only be waited for in vain). */
static void collect(struct emu_hazard_cluster *c)
{
    struct emu_hazard *h = c->h;
    for (uint32_t rank = 0; rank < h->options.blocks; rank++)
        for (unsigned i = 0; i < HZ_SHARED_PAGES; i++)
            for (unsigned k = 0; c->blocks[rank].pages[i] && k < HZ_PAGE / HZ_CHUNK; k++)
                mark_chunk(c, &c->blocks[rank].pages[i]->chunks[k]);
    for (size_t i = 0; i < h->global_slots; i++)
        for (unsigned k = 0; h->global[i] && k < HZ_PAGE / HZ_CHUNK; k++)
            mark_chunk(c, &h->global[i]->chunks[k]);
    for (uint32_t i = 0; i < h->options.blocks * h->warps; i++) {
        struct hz_warp *w = &c->warps[i];
        for (int kind = 0; kind < EMU_HAZARD_ASYNC_KINDS; kind++) {
            struct hz_groups *g = &w->groups[kind];
            uint32_t kept = 0;
            for (uint32_t p = 0; p < g->count; p++) {
                struct hz_operation *o = &c->operations[g->pending[p]];
                if (p < g->unread && !o->marked)
                    continue; /* only its write is left to wait for, and nobody remembers it */
                o->marked = 1;
                g->pending[kept++] = g->pending[p];
            }
            uint32_t dropped = g->count - kept;
            g->unread = g->unread > dropped ? g->unread - dropped : 0;
            g->count = kept;
            if (g->open)
                c->operations[g->open - 1].marked = 1;
        }
        for (uint32_t r = 0; r < w->known_count; r++)
            mark_handle(c, w->registers[w->known_registers[r]].operation);
    }
    uint32_t live = 0;
    for (uint32_t i = 0; i < c->operation_count; i++) {
        struct hz_operation *o = &c->operations[i];
        if (!o->issuer)
            continue;
        if (o->barrier && c->barriers[o->barrier - 1 - h->options.blocks * h->warps]->phases <= o->phase)
            o->marked = 1; /* its signal is still to come */
        if (o->marked)
            live++;
        for (uint32_t n = o->next; o->marked && n; n = c->operations[n - 1].next)
            c->operations[n - 1].marked = 1;
    }
    for (uint32_t i = 0; i < c->operation_count; i++) {
        struct hz_operation *o = &c->operations[i];
        if (o->issuer && !o->marked) {
            *o = (struct hz_operation){.generation = (uint16_t)(o->generation + 1), .next = c->operation_free};
            c->operation_free = i + 1;
        }
        o->marked = 0;
    }
    c->collect_at = live > c->operation_count / 2 ? 2 * c->operation_count : c->operation_count;
}

/* A new entry: number + 1, or 0 where there is no memory. */
uint32_t hz_operation_new(struct hz_warp *w, uint32_t lanes, unsigned kind, uint32_t position)
{
    struct emu_hazard_cluster *c = w->cluster;
    if (!c->operation_free && c->operation_count >= c->collect_at)
        collect(c);
    uint32_t number;
    if (c->operation_free) {
        number = c->operation_free - 1;
        c->operation_free = c->operations[number].next;
    } else {
        if (hz_grow(c->h, &c->operations, &c->operation_room, c->operation_count + 1, sizeof *c->operations))
            return 0;
        number = c->operation_count++;
    }
    struct hz_operation *o = &c->operations[number];
    *o = (struct hz_operation){.issuer = w->component,
                               .epoch = w->clock.at[w->component],
                               .lanes = lanes,
                               .position = position,
                               .block = w->rank,
                               .generation = o->generation,
                               .kind = (uint8_t)kind};
    return number + 1;
}

static uint32_t equal_groups(const struct hz_groups *g, uint32_t lanes) /* lanes that are as far as the first of them */
{
    unsigned first = (unsigned)__builtin_ctz(lanes);
    uint32_t equal = 0;
    for (unsigned i = 0; i < HZ_LANES; i++)
        equal |= (uint32_t)(g->committed[i] == g->committed[first]) << i;
    return equal & lanes;
}

emu_hazard_operation emu_hazard_issue(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind,
                                      uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_groups *g = &w->groups[kind];
    if (c->h->status || !lanes)
        return 0;
    c->h->event++;
    if (kind != EMU_HAZARD_SIGNAL && g->open) { /* operations of one group share their fate */
        struct hz_operation *o = &c->operations[g->open - 1];
        if (o->lanes == lanes && g->open_epoch == w->clock.at[w->component]) {
            o->position = position;
            return hz_handle_of(c, g->open - 1);
        }
        g->open = 0;
    }
    uint32_t head = 0, last = 0;
    while (lanes) {
        uint32_t part = kind == EMU_HAZARD_SIGNAL ? lanes : equal_groups(g, lanes);
        uint32_t number = hz_operation_new(w, part, kind, position);
        if (!number)
            return 0;
        if (last)
            c->operations[last - 1].next = number;
        else
            head = number;
        last = number;
        lanes &= ~part;
        if (kind == EMU_HAZARD_SIGNAL)
            break;
        c->operations[number - 1].group = g->committed[__builtin_ctz(part)];
        if (hz_grow(c->h, &g->pending, &g->room, g->count + 1, sizeof *g->pending))
            return 0;
        g->pending[g->count++] = number - 1;
    }
    if (kind != EMU_HAZARD_SIGNAL && head == last)
        g->open = head;
    g->open_epoch = w->clock.at[w->component];
    return hz_handle_of(c, head - 1);
}

/* ---- Accesses ---------------------------------------------------------------------------------------------------- */

int hz_access_begin(struct hz_access *a, struct hz_warp *w, uint32_t number, unsigned flags, uint32_t position)
{
    struct emu_hazard_cluster *c = w->cluster;
    *a = (struct hz_access){.h = c->h,
                            .cluster = c,
                            .warp = w,
                            .operation = number + 1,
                            .who = c->serial << HZ_COMPONENT_BITS | w->component,
                            .epoch = number,
                            .position = position,
                            .flags = (uint8_t)(HZ_ASYNC | flags),
                            .async_proxy = c->operations[number].kind != EMU_HAZARD_CP_ASYNC &&
                                           c->operations[number].kind < EMU_HAZARD_TCGEN05_LD,
                            .layout = c->operations[number].layout};
    int matrix = c->operations[number].kind == EMU_HAZARD_WGMMA || c->operations[number].kind == EMU_HAZARD_TCGEN05_MMA;
    if (!matrix)
        a->layout = 0;
    int apart = c->operations[number].kind != EMU_HAZARD_WGMMA && (c->operations[number].lanes & ~w->acquired);
    a->clock = w->acquired && apart ? w->behind.at : w->clock.at;
    return c->h->status != 0;
}

static void ended_block(struct hz_warp *w, uint32_t rank, uint64_t address, uint32_t position)
{
    struct hz_finding f = {.name = EMU_HAZARD_EXIT_IN_FLIGHT,
                           .warp = w,
                           .lanes = w->lanes,
                           .address = address,
                           .position = position,
                           .other = EMU_HAZARD_NOWHERE,
                           .other_block = w->cluster->first + rank};
    hz_report(w->cluster->h, &f, "copy into the shared memory of block %u of the cluster, which has ended", rank);
}

/* The part of the operation that the lane, or a write to that block, belongs to. */
static uint32_t part_of(const struct emu_hazard_cluster *c, uint32_t number, unsigned lane, uint64_t address, int write)
{
    const struct hz_operation *o = &c->operations[number];
    for (uint32_t at = number + 1; at; at = c->operations[at - 1].next) {
        const struct hz_operation *part = &c->operations[at - 1];
        if (o->kind != EMU_HAZARD_SIGNAL ? part->lanes >> (lane & 31) & 1
                                         : !write || !hz_is_shared(address) || part->block == hz_rank(address))
            return at - 1;
    }
    return number;
}

void hz_access_ranges(struct hz_access *a, const struct emu_hazard_range *ranges, uint32_t count, unsigned lane)
{
    struct hz_alike alike;
    alike.last = 0;
    for (unsigned i = 0; i < HZ_ANSWERS; i++)
        alike.answers[i].mask = 0;
    a->alike = count > 1 || ranges[0].bytes > 4 * HZ_CHUNK ? &alike : NULL;
    for (uint32_t i = 0; i < count; i++)
        hz_range(a, ranges[i].address, ranges[i].bytes, lane, 7);
    hz_alike_end(a->h, &alike);
    a->alike = NULL;
}

void emu_hazard_reads(struct emu_hazard_warp *warp, emu_hazard_operation operation, unsigned lane,
                      const struct emu_hazard_range *ranges, uint32_t count)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_access a;
    if (!count || c->h->status || !hz_operation_of(c, operation))
        return;
    uint64_t address = ranges[0].address;
    uint32_t number = part_of(c, (uint32_t)operation - 1, lane, address, 0);
    struct hz_operation *o = &c->operations[number];
    if (hz_is_shared(address) && hz_rank(address) < c->h->options.blocks) {
        struct hz_block *b = &c->blocks[hz_rank(address)];
        o->reads_shared = 1;
        if (o->kind == EMU_HAZARD_SIGNAL && o->barrier) {
            if (hz_grow(c->h, &b->outgoing, &b->outgoing_count, o->barrier + 1, sizeof *b->outgoing))
                return;
            b->outgoing[o->barrier] = o->phase + 1;
            b->outgoing_position = o->position;
        }
    }
    if (hz_access_begin(&a, w, number, 0, o->position))
        return;
    a.reads = 1;
    a.again = o->doubtful;
    hz_access_ranges(&a, ranges, count, a.layout ? HZ_MIXED << 5 : lane & 31);
}

void emu_hazard_writes(struct emu_hazard_warp *warp, emu_hazard_operation operation, unsigned lane,
                       const struct emu_hazard_range *ranges, uint32_t count, int reduce)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_access a;
    if (!count || c->h->status || !hz_operation_of(c, operation))
        return;
    uint32_t number = part_of(c, (uint32_t)operation - 1, lane, ranges[0].address, 1);
    const struct hz_operation *o = &c->operations[number];
    if (hz_access_begin(&a, w, number, reduce ? HZ_REDUCE : 0, o->position))
        return;
    a.writes = 1;
    a.reads = reduce != 0;
    hz_access_ranges(&a, ranges, count, lane & 31);
}

void emu_hazard_swizzle(struct emu_hazard_warp *warp, emu_hazard_operation operation, uint32_t span, uint32_t line)
{
    struct hz_operation *o = hz_operation_of(hz_warp_of(warp)->cluster, operation);
    if (o)
        o->layout = (uint8_t)(1 + span / 16 + (span ? line * 16 % span : 0));
}

/* ---- Barriers ---------------------------------------------------------------------------------------------------- */

static void to_come(struct hz_mbarrier *m, const struct hz_operation *o)
{
    if (m->to_come > m->phases + 1)
        return;
    m->to_come = m->phases + 1;
    m->to_come_position = o->position;
    m->to_come_warp = o->issuer;
}

void emu_hazard_signals(struct emu_hazard_warp *warp, emu_hazard_operation operation, uint64_t address)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_operation *o = hz_operation_of(c, operation);
    if (!o || c->h->status)
        return;
    uint32_t number = (uint32_t)operation - 1, position = o->position;
    if (hz_rank(address) < c->h->options.blocks && c->blocks[hz_rank(address)].ended)
        ended_block(w, hz_rank(address), address, position);
    struct hz_mbarrier *m = hz_mbarrier_use(w, o->lanes, address, o->kind != EMU_HAZARD_CP_ASYNC, position);
    if (!m)
        return;
    if (o->barrier) { /* another target */
        uint32_t part = hz_operation_new(w, o->lanes, o->kind, position);
        if (!part)
            return;
        o = &c->operations[part - 1];
        o->next = c->operations[number].next;
        o->layout = c->operations[number].layout;
        c->operations[number].next = part;
    }
    o->barrier = m->component;
    o->phase = m->phases;
    o->block = m->rank;
    m->used = 1;
    m->signalled[(w->component - 1) / 64] |= UINT64_C(1) << (w->component - 1) % 64;
    to_come(m, o);
    hz_clock_join(c->h, &m->pending, &w->clock);
    hz_known_join(c->h, &m->known, &w->known);
    hz_release(w, o->lanes);
}

void emu_hazard_signal(struct emu_hazard *hazard, emu_hazard_operation operation, uint64_t address, int completed)
{
    struct emu_hazard_cluster *c = hz_cluster_of(hazard, (uint32_t)(operation >> 44));
    if (!operation || !c || hazard->status)
        return;
    struct hz_mbarrier *m = hz_mbarrier_find(c, address);
    struct hz_operation *o = hz_operation_of(c, operation);
    struct hz_warp *by = o ? &c->warps[o->issuer - 1] : NULL;
    uint32_t position = o ? o->position : EMU_HAZARD_NOWHERE;
    if (!m)
        return;
    if (o && o->commits) {
        hz_tensor_signalled(c, m, o);
        o->phase = m->phases;
    }
    for (; o; o = o->next ? &c->operations[o->next - 1] : NULL)
        if (o->barrier == m->component && o->phase < m->phases) { /* not in the phase in which it was issued */
            o->phase = m->phases;
            to_come(m, o);
        }
    if (completed)
        hz_mbarrier_complete(c, m, by, position);
}

uint32_t hz_signal_new(struct hz_warp *w, uint32_t lanes, struct hz_mbarrier *m, uint32_t position)
{
    struct emu_hazard_cluster *c = w->cluster;
    m->used = 1;
    hz_clock_join(c->h, &m->pending, &w->clock);
    hz_known_join(c->h, &m->known, &w->known);
    hz_release(w, lanes);
    uint32_t number = hz_operation_new(w, lanes, EMU_HAZARD_SIGNAL, position);
    if (number) {
        struct hz_operation *o = &c->operations[number - 1];
        o->barrier = m->component;
        o->phase = m->phases;
        o->block = m->rank;
    }
    return number;
}

emu_hazard_operation emu_hazard_cp_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address,
                                          uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_groups *g = &w->groups[EMU_HAZARD_CP_ASYNC];
    struct hz_mbarrier *m = hz_mbarrier_use(w, lanes, address, 0, position);
    if (!m)
        return 0;
    for (uint32_t i = 0; i < g->count; i++) {
        struct hz_operation *o = &c->operations[g->pending[i]];
        if (o->barrier || (o->lanes & ~lanes))
            continue;
        o->barrier = m->component;
        o->phase = m->phases;
    }
    g->open = 0;
    uint32_t number = hz_signal_new(w, lanes, m, position);
    if (!number)
        return 0;
    struct hz_operation *o = &c->operations[number - 1];
    to_come(m, o);
    return hz_handle_of(c, number - 1);
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

void emu_hazard_commit(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind)
{
    struct hz_groups *g = &hz_warp_of(warp)->groups[kind];
    if (kind == EMU_HAZARD_WGMMA && lanes)
        hz_wgmma_commit(hz_warp_of(warp), lanes, g->committed[__builtin_ctz(lanes)]);
    for (unsigned i = 0; i < HZ_LANES; i++)
        g->committed[i] += lanes >> i & 1;
    g->open = 0;
}

static void wait_for(struct hz_warp *w, uint32_t lanes, unsigned kind, uint32_t most, int read, int all)
{
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_groups *g = &w->groups[kind];
    uint32_t epoch = w->clock.at[w->component], kept = read ? g->unread : 0, from = kept, unread = kept;
    int waiting = 0;     /* an operation that may still read was kept */
    w->touched |= lanes; /* what these lanes know now, others do not */
    for (uint32_t i = from; i < g->count; i++) {
        struct hz_operation *o = &c->operations[g->pending[i]];
        uint32_t covered = 0;
        for (unsigned l = 0; l < HZ_LANES; l++)
            covered |= (uint32_t)(all || g->committed[l] > (uint64_t)o->group + most) << l;
        covered &= lanes & o->lanes;
        o->read_waited |= covered;
        if (o->read_waited == o->lanes && !o->read_done)
            o->read_done = epoch;
        if (!read) {
            o->write_waited |= covered;
            if (o->write_waited == o->lanes) {
                o->write_done = epoch;
                continue;
            }
        }
        waiting |= !o->read_done;
        g->pending[kept++] = g->pending[i];
        if (!waiting)
            unread = kept;
    }
    g->count = kept;
    g->unread = unread < kept ? unread : kept;
    if (all)
        g->open = 0;
}

void emu_hazard_wait_group(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind, uint32_t most,
                           int read)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (kind == EMU_HAZARD_WGMMA && lanes && w->groups[kind].committed[__builtin_ctz(lanes)] > most)
        hz_wgmma_waited(w, w->groups[kind].committed[__builtin_ctz(lanes)] - most);
    wait_for(w, lanes, kind, most, read, 0);
}

void emu_hazard_wait_all(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind)
{
    wait_for(hz_warp_of(warp), lanes, kind, 0, 0, 1);
}

void hz_exit_groups(struct hz_warp *w, uint32_t lanes)
{
    static const unsigned kinds[] = {EMU_HAZARD_CP_ASYNC, EMU_HAZARD_BULK, EMU_HAZARD_WGMMA};
    struct emu_hazard_cluster *c = w->cluster;
    for (unsigned k = 0; k < 3; k++) {
        const struct hz_groups *g = &w->groups[kinds[k]];
        for (uint32_t i = 0; i < g->count; i++) {
            const struct hz_operation *o = &c->operations[g->pending[i]];
            int bulk = o->kind == EMU_HAZARD_BULK;
            uint32_t left = o->lanes & lanes & ~(bulk ? o->read_waited : o->write_waited);
            if (!left || (bulk && !o->reads_shared) || (o->kind == EMU_HAZARD_CP_ASYNC && o->barrier))
                continue;
            struct hz_finding f = {.name = EMU_HAZARD_EXIT_IN_FLIGHT,
                                   .warp = w,
                                   .lanes = left,
                                   .position = o->position,
                                   .other = EMU_HAZARD_NOWHERE};
            hz_report(c->h, &f, "the thread ends, and has not waited for its asynchronous operation on shared memory");
        }
    }
}
