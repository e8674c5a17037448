/* The shadow of memory: for each 16 bytes who wrote last and who has read since, and the rules that accesses obey. */
#include "engine.h"

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static unsigned lane_of(uint8_t lane, unsigned byte)
{
    unsigned pattern = lane >> 5;
    return pattern == HZ_ONE_LANE ? lane & 31u : ((lane & 31u) + (byte >> (pattern - HZ_LANE_BYTE))) & 31u;
}

/* Lanes that touched these bytes; 0: several that are not known one by one. */
static uint32_t lanes_of(uint8_t lane, uint32_t mask)
{
    uint32_t lanes = 0;
    if (lane >> 5 == HZ_MIXED)
        return 0;
    if (lane >> 5 == HZ_ONE_LANE)
        return UINT32_C(1) << (lane & 31);
    for (; mask; mask &= mask - 1)
        lanes |= UINT32_C(1) << lane_of(lane, (unsigned)__builtin_ctz(mask));
    return lanes;
}

/* Up to which epoch the lanes know a component of their cluster. */
static uint32_t known_of(const struct hz_access *a, uint32_t component)
{
    return component == a->warp->component ? a->warp->clock.at[component] : a->clock[component];
}

static uint32_t serial_of(uint32_t who)
{
    return who >> HZ_COMPONENT_BITS;
}

static uint32_t component_of(uint32_t who)
{
    return who & (HZ_COMPONENTS - 1);
}

/* Bytes of the mask that another lane of this warp touched, without an order. Lanes of one instruction are not told
   apart, and neither are those of several reads. */
static int lanes_apart(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    const struct hz_warp *w = a->warp;
    if (r->lane == lane || (r->position == a->position && r->epoch == a->epoch && !a->operation))
        return 0;
    for (; mask; mask &= mask - 1) {
        unsigned byte = (unsigned)__builtin_ctz(mask);
        uint32_t theirs = lanes_of(r->lane, UINT32_C(1) << byte), mine = lanes_of(lane, UINT32_C(1) << byte);
        if (r->lane == HZ_TOGETHER && !w->met_valid && (mine || a->together))
            return 1;
        for (uint32_t others = theirs && !mine ? a->together & ~theirs : 0; others; others &= others - 1)
            if (!w->met_valid || w->met[__builtin_ctz(others) * HZ_LANES + __builtin_ctz(theirs)] < r->epoch)
                return 1;
        if (!theirs || !mine || theirs == mine)
            continue;
        if (!w->met_valid || w->met[__builtin_ctz(mine) * HZ_LANES + __builtin_ctz(theirs)] < r->epoch)
            return 1;
    }
    return 0;
}

static int ordered_foreign(const struct hz_access *a, const struct hz_record *r, int read)
{
    uint32_t serial = serial_of(r->who), component = component_of(r->who), epoch = r->epoch;
    const struct hz_warp *w = a->warp;
    if (serial == 0)
        return w->clock.at[0] >= 1;
    if (serial < w->known.all_before)
        return 1;
    const struct hz_clock *clock = hz_known_find(&w->known, serial);
    if (!clock)
        return 0;
    if (r->flags & HZ_ASYNC) {
        const struct emu_hazard_cluster *c = hz_cluster_of(a->h, serial);
        if (!c || epoch >= c->operation_count)
            return 1;
        const struct hz_operation *o = &c->operations[epoch];
        if (o->barrier && hz_clock_at(clock, o->barrier) > o->phase)
            return 1;
        epoch = read ? o->read_done : o->write_done;
        return epoch && hz_clock_at(clock, o->issuer) >= epoch;
    }
    return hz_clock_at(clock, component) >= epoch;
}

/* Whether what the record says happened before the access. If it did not, *issued says whether it is an asynchronous
   operation that was at least issued before. */
static int ordered(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask, int read,
                   int *issued)
{
    const struct hz_warp *w = a->warp;
    *issued = 0;
    if (serial_of(r->who) != a->cluster->serial)
        return ordered_foreign(a, r, read);
    uint32_t component = component_of(r->who);
    if (r->flags & HZ_ASYNC) {
        if (r->epoch + 1 == a->operation) /* of one group: several instructions, which nothing orders */
            return read || !a->writes;
        const struct hz_operation *o = &a->cluster->operations[r->epoch];
        uint32_t done = read ? o->read_done : o->write_done;
        if (done && known_of(a, o->issuer) >= done) {
            uint32_t mine = lanes_of(lane, mask & r->mask), theirs = lanes_of(r->lane, mask & r->mask);
            if (o->kind == EMU_HAZARD_WGMMA)
                return 1;
            if (w->component != o->issuer)
                return hz_released(&a->cluster->warps[o->issuer - 1], done, known_of(a, o->issuer),
                                   o->kind == EMU_HAZARD_BULK ? o->lanes : theirs);
            if (done < w->synced || a->operation)
                return 1;
            /* the lanes that have waited know, the others do not yet */
            return !mine || !theirs || !(mine & ~(o->kind == EMU_HAZARD_BULK ? o->lanes : theirs));
        }
        if (o->barrier && known_of(a, o->barrier) > o->phase)
            return 1;
        uint32_t waited = read ? o->read_waited : o->write_waited;
        if (!done && waited && w->component == o->issuer) {
            uint32_t theirs = lanes_of(r->lane, mask & r->mask);
            if (theirs && !(theirs & ~waited))
                return 1;
        }
        *issued = w->clock.at[o->issuer] >= o->epoch;
        return 0;
    }
    if (component == w->component)
        return r->epoch < w->synced || !lanes_apart(a, r, lane, mask & r->mask);
    uint32_t known = known_of(a, component);
    return known >= r->epoch &&
           hz_released(&a->cluster->warps[component - 1], r->epoch, known, lanes_of(r->lane, mask & r->mask));
}

/* Whether an ordinary access is separated from this asynchronous one by the proxy fence of who made it. */
static int proxy_fenced(const struct hz_access *a, const struct hz_record *r, uint64_t address, uint32_t mask)
{
    unsigned kind = hz_is_shared(address) ? HZ_FENCE_SHARED : HZ_FENCE_GLOBAL;
    uint32_t serial = serial_of(r->who), component = component_of(r->who), epoch = r->epoch;
    const struct hz_clock *clock = &a->warp->clock;
    struct emu_hazard_cluster *c = a->cluster;
    if (serial == 0)
        return 1;
    if (serial != c->serial) {
        clock = hz_known_find(&a->warp->known, serial);
        c = hz_cluster_of(a->h, serial);
        if (!c || !clock)
            return 1;
    }
    uint32_t lanes = lanes_of(r->lane, mask & r->mask);
    if (r->flags & HZ_ASYNC) { /* cp.async: by its thread after the wait, or by who waited for its barrier */
        const struct hz_operation *o = &c->operations[r->epoch];
        if (o->kind != EMU_HAZARD_CP_ASYNC)
            return 1;
        if (!o->write_done)
            return a->warp->fence_count != 0;
        epoch = o->write_done;
        component = o->issuer;
    }
    const struct hz_warp *writer = &c->warps[component - 1];
    uint32_t limit = writer == a->warp ? UINT32_MAX : hz_clock_at(clock, component);
    return hz_fenced(writer, epoch, limit, lanes, kind);
}

/* Two strong accesses are in no conflict where the scope of each holds the other. */
static int morally_strong(const struct hz_access *a, const struct hz_record *r)
{
    if (!(a->flags & r->flags & HZ_STRONG))
        return 0;
    unsigned need = 0;
    if (serial_of(r->who) != a->cluster->serial)
        need = 2;
    else if (a->cluster->warps[component_of(r->who) - 1].rank != a->warp->rank)
        need = 1;
    return (unsigned)(a->flags / HZ_SCOPE & 3) >= need && (unsigned)(r->flags / HZ_SCOPE & 3) >= need;
}

/* ---- Findings ---------------------------------------------------------------------------------------------------- */

static void describe(const struct hz_access *a, const struct hz_record *r, struct hz_finding *f)
{
    uint32_t component = component_of(r->who);
    f->other = r->position;
    f->other_block = 0;
    f->other_warp = 0;
    const struct emu_hazard_cluster *c =
        serial_of(r->who) == a->cluster->serial ? a->cluster : hz_cluster_of(a->h, serial_of(r->who));
    if (c && component) {
        f->other_block = c->first + c->warps[component - 1].rank;
        f->other_warp = c->warps[component - 1].index;
    }
}

/* Whether a wait of the wrong parity let the access go on: the warp's last wait told of a phase that it knew of, or of
   none at all, and
     - the other access is an asynchronous write that signals this barrier in a later phase, or
     - this one refills a buffer. */
static int phase_mistaken(const struct hz_access *a, const struct hz_record *r)
{
    const struct hz_warp *w = a->warp;
    int refills = a->operation && a->writes;
    if (!w->waited || !(w->waited_again || w->waited_free) || serial_of(r->who) != a->cluster->serial)
        return 0;
    if ((r->flags & HZ_ASYNC) && !refills) {
        const struct hz_operation *o = &a->cluster->operations[r->epoch];
        return o->barrier == w->waited->component && o->phase >= w->waited_passed;
    }
    return refills && w->waited_again;
}

/* An ordinary read and an atomic. */
static int guess_possible(const struct hz_access *a, const struct hz_record *r)
{
    int mine = a->reads && a->writes && (a->flags & HZ_STRONG);
    int theirs = (r->flags & HZ_WRITE) && (r->flags & HZ_STRONG);
    int reads = a->reads && !a->writes && !(a->flags & HZ_STRONG);
    int read = !(r->flags & (HZ_WRITE | HZ_STRONG | HZ_ASYNC));
    return !a->operation && ((mine && read) || (theirs && reads));
}

static __attribute__((noinline, cold)) void conflict(const struct hz_access *a, const struct hz_record *r, uint8_t lane,
                                                     uint32_t mask, uint64_t address, int issued)
{
    int theirs_writes = (r->flags & HZ_WRITE) != 0;
    int both = theirs_writes && a->writes, late = issued && a->writes;
    uint32_t bytes = mask & r->mask;
    struct hz_finding f = {.name = both || late ? EMU_HAZARD_UNORDERED_WRITE : EMU_HAZARD_UNORDERED_READ,
                           .warp = a->warp,
                           .lanes = a->operation ? a->warp->lanes : lanes_of(lane, bytes),
                           .address = address + (unsigned)__builtin_ctz(bytes),
                           .bytes = (uint32_t)__builtin_popcount(bytes),
                           .event = a->h->event,
                           .position = a->position};
    describe(a, r, &f);
    if (guess_possible(a, r)) {
        f.held = HZ_HELD_GUESS;
        f.guess = a->reads && a->writes ? r->position : a->position;
    }
    const char *mine = a->operation ? "asynchronous " : "";
    const char *what = a->writes ? "write" : "read";
    const char *other = r->flags & HZ_ASYNC ? "asynchronous " : "";
    const char *other_what = theirs_writes ? "write" : "read";
    if (phase_mistaken(a, r)) {
        f.name = EMU_HAZARD_PHASE;
        hz_report(a->h, &f,
                  "%s%s and %s%s of the same bytes: the wait before the %s was for a phase that had passed "
                  "long ago, by its parity",
                  mine, what, other, other_what, what);
    } else if (serial_of(r->who) == 0)
        hz_report(a->h, &f, "%s of what the previous kernel wrote, without griddepcontrol.wait", what);
    else if (issued)
        hz_report(a->h, &f, "%s%s of bytes that an asynchronous %s, issued before, may still %s: it was not waited for",
                  mine, what, other_what, other_what);
    else if (r->who == a->who && !(r->flags & HZ_ASYNC) && !a->operation)
        hz_report(a->h, &f, "%s of bytes that another lane of the warp %s, without __syncwarp between", what,
                  theirs_writes ? "wrote" : "read");
    else
        hz_report(a->h, &f, "%s%s and %s%s of the same bytes, and nothing orders them", mine, what, other, other_what);
}

static __attribute__((noinline, cold)) void unfenced(const struct hz_access *a, const struct hz_record *r,
                                                     uint32_t mask, uint64_t address)
{
    uint32_t bytes = mask & r->mask;
    struct hz_finding f = {.name = EMU_HAZARD_PROXY_FENCE,
                           .warp = a->warp,
                           .lanes = lanes_of(r->lane, bytes),
                           .address = address + (unsigned)__builtin_ctz(bytes),
                           .bytes = (uint32_t)__builtin_popcount(bytes),
                           .event = a->h->event,
                           .position = a->position};
    describe(a, r, &f);
    hz_report(a->h, &f, "asynchronous %s of bytes that ordinary instructions %s, without fence.proxy.async by who did",
              a->writes ? "write" : "read", r->flags & HZ_WRITE ? "wrote" : "read");
}

static __attribute__((noinline, cold)) void simple(const struct hz_access *a, enum emu_hazard_name name, uint8_t lane,
                                                   uint32_t mask, uint64_t address)
{
    struct hz_finding f = {.name = name,
                           .warp = a->warp,
                           .lanes = a->operation ? a->warp->lanes : lanes_of(lane, mask),
                           .address = address + (unsigned)__builtin_ctz(mask),
                           .bytes = (uint32_t)__builtin_popcount(mask),
                           .event = a->h->event,
                           .position = a->position,
                           .other = EMU_HAZARD_NOWHERE,
                           .held = name == EMU_HAZARD_UNINIT ? HZ_HELD_LATE : 0};
    if (name == EMU_HAZARD_UNINIT)
        hz_report(a->h, &f, "%sread of %s memory that nothing has written", a->operation ? "asynchronous " : "",
                  hz_is_shared(address) ? "shared" : "global");
    else
        hz_report(a->h, &f, "%swrite over the bytes of an mbarrier", a->operation ? "asynchronous " : "");
}

static __attribute__((noinline, cold)) void swizzled(const struct hz_access *a, const struct hz_record *r,
                                                     uint32_t mask, uint64_t address)
{
    uint32_t bytes = mask & r->mask, written = a->cluster->operations[r->epoch].layout;
    struct hz_finding f = {.name = EMU_HAZARD_SWIZZLE,
                           .warp = a->warp,
                           .lanes = a->warp->lanes,
                           .address = address + (unsigned)__builtin_ctz(bytes),
                           .bytes = (uint32_t)__builtin_popcount(bytes),
                           .event = a->h->event,
                           .position = a->position};
    describe(a, r, &f);
    hz_report(a->h, &f,
              "the matrix descriptor says a swizzle of %u bytes, the tensor load wrote with one of %u (0: none)",
              (a->layout - 1u) * 16, (written - 1) * 16);
}

/* ---- Chunks ------------------------------------------------------------------------------------------------------ */

static uint32_t node_new(struct emu_hazard *h)
{
    if (h->node_free) {
        uint32_t at = h->node_free;
        h->node_free = h->nodes[at].next;
        return at;
    }
    if (h->node_count == 0)
        h->node_count = 1; /* 0 is none */
    if (hz_grow(h, &h->nodes, &h->node_room, h->node_count + 1, sizeof *h->nodes))
        return 0;
    return h->node_count++;
}

static void node_free(struct emu_hazard *h, uint32_t at)
{
    h->nodes[at].next = h->node_free;
    h->node_free = at;
}

void hz_chunk_forget(struct emu_hazard *h, struct hz_chunk *k)
{
    k->full = 0;
    while (k->more) {
        uint32_t next = h->nodes[k->more].next;
        node_free(h, k->more);
        k->more = next;
    }
}

static void sweep(struct emu_hazard *h, struct hz_chunk *k) /* nodes that hold nothing */
{
    for (uint32_t *at = &k->more; *at;) {
        uint32_t node = *at;
        if (h->nodes[node].record.mask) {
            at = &h->nodes[node].next;
            continue;
        }
        *at = h->nodes[node].next;
        node_free(h, node);
    }
}

static struct hz_record record_of(const struct hz_access *a, uint8_t lane, uint32_t mask, int write)
{
    return (struct hz_record){.who = a->who,
                              .epoch = a->epoch,
                              .position = a->position,
                              .mask = (uint16_t)mask,
                              .lane = lane,
                              .flags = (uint8_t)(a->flags | (write ? HZ_WRITE : 0))};
}

/* Whether this access can be added to that record. */
static int same(const struct hz_access *a, const struct hz_record *r, uint8_t lane, int write)
{
    return r->mask && r->who == a->who && r->epoch == a->epoch && r->flags == (a->flags | (write ? HZ_WRITE : 0)) &&
           r->lane == lane;
}

static void merge(struct hz_record *r, const struct hz_access *a, uint8_t lane, uint32_t mask)
{
    r->mask |= (uint16_t)mask;
    r->position = a->position;
    if (r->lane != lane)
        r->lane = HZ_MIXED << 5;
}

static void check(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask, uint64_t address)
{
    int read = !(r->flags & HZ_WRITE), issued;
    if (read && !a->writes)
        return;
    if (!ordered(a, r, lane, mask, read, &issued)) {
        if (morally_strong(a, r) || (a->flags & r->flags & HZ_REDUCE) || (!read && a->same))
            return;
        conflict(a, r, lane, mask, address, issued);
    } else if (a->async_proxy && (!read || (a->h->options.strict && a->writes)) && (!read || !(r->flags & HZ_ASYNC)) &&
               !proxy_fenced(a, r, address, mask)) {
        unfenced(a, r, mask, address);
    }
}

/* A read makes an older read superfluous that it is ordered behind: who is ordered behind this one is so behind
   that. */
static int covers(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    int issued;
    if ((a->flags & HZ_STRONG) && !(r->flags & HZ_STRONG))
        return 0;
    if (a->h->options.strict && a->async_proxy != ((r->flags & HZ_ASYNC) != 0))
        return 0;
    return ordered(a, r, lane, mask, 1, &issued);
}

/* A read by other lanes of the warp in the same epoch: a few such are kept apart. */
static uint32_t alike_read(const struct hz_access *a, const struct hz_record *r)
{
    return r->mask && r->who == a->who && r->epoch == a->epoch && r->flags == a->flags;
}

static __attribute__((noinline)) void chunk_read(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                 uint32_t mask, uint64_t address)
{
    struct emu_hazard *h = a->h;
    if (mask & ~(uint32_t)k->written)
        simple(a, EMU_HAZARD_UNINIT, lane, mask & ~(uint32_t)k->written, address);
    if (k->write.mask & mask) {
        check(a, &k->write, lane, mask, address);
        if (a->layout && (k->write.flags & HZ_ASYNC) && serial_of(k->write.who) == a->cluster->serial) {
            uint8_t written = a->cluster->operations[k->write.epoch].layout;
            if (written && written != a->layout)
                swizzled(a, &k->write, mask, address);
        }
    }
    if (k->full) {
        k->read = record_of(a, lane, mask, 0);
        return;
    }
    int merged = 0, empty = 0, writes = 0;
    uint32_t readers = 0, alike = alike_read(a, &k->read);
    if (same(a, &k->read, lane, 0)) {
        merge(&k->read, a, lane, mask);
        merged = 1;
    } else if ((k->read.mask & mask) && covers(a, &k->read, lane, mask)) {
        k->read.mask &= (uint16_t)~mask;
    }
    for (uint32_t at = k->more; at; at = h->nodes[at].next) {
        struct hz_record *r = &h->nodes[at].record;
        if (r->flags & HZ_WRITE) {
            writes = 1;
            if (r->mask & mask)
                check(a, r, lane, mask, address);
            continue;
        }
        readers++;
        alike += alike_read(a, r);
        if (!merged && same(a, r, lane, 0)) {
            merge(r, a, lane, mask);
            merged = 1;
        } else if ((r->mask & mask) && covers(a, r, lane, mask)) {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        struct hz_record record = record_of(a, lane, mask, 0);
        if (!k->read.mask) {
            k->read = record;
        } else if (alike >= HZ_LANES_TOLD && alike_read(a, &k->read)) {
            merge(&k->read, a, lane, mask);
        } else if (readers < (hz_is_shared(address) ? HZ_READERS_SHARED : HZ_READERS_GLOBAL) || empty) {
            uint32_t at = node_new(h);
            if (at) {
                h->nodes[at] = (struct hz_node){record, k->more};
                k->more = at;
            }
        } else {
            k->read = record; /* one of many: the oldest is forgotten */
            k->full = !writes && !hz_is_shared(address);
        }
    }
    if (empty)
        sweep(h, k);
}

static __attribute__((noinline)) void chunk_write(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                  uint32_t mask, uint64_t address)
{
    struct emu_hazard *h = a->h;
    k->full = 0;
    if (hz_is_shared(address)) {
        if (k->marked & mask)
            simple(a, EMU_HAZARD_BARRIER_INIT, lane, k->marked & mask, address);
    } else if (mask & ~(uint32_t)k->marked) {
        hz_global_written(h, address, mask);
        k->marked |= (uint16_t)mask;
    }
    if (a->reads && (mask & ~(uint32_t)k->written))
        simple(a, EMU_HAZARD_UNINIT, lane, mask & ~(uint32_t)k->written, address);
    k->written |= (uint16_t)mask;
    int merged = 0, empty = 0;
    if (k->write.mask & mask)
        check(a, &k->write, lane, mask, address);
    if (k->read.mask & mask)
        check(a, &k->read, lane, mask, address);
    k->read.mask &= (uint16_t)~mask;
    if (same(a, &k->write, lane, 1)) {
        merge(&k->write, a, lane, mask);
        merged = 1;
    } else {
        k->write.mask &= (uint16_t)~mask;
    }
    for (uint32_t at = k->more; at; at = h->nodes[at].next) {
        struct hz_record *r = &h->nodes[at].record;
        if (r->mask & mask)
            check(a, r, lane, mask, address);
        if (!merged && same(a, r, lane, 1)) {
            merge(r, a, lane, mask);
            merged = 1;
        } else {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        struct hz_record record = record_of(a, lane, mask, 1);
        if (!k->write.mask) {
            k->write = record;
        } else {
            uint32_t at = node_new(h);
            if (at) {
                h->nodes[at] = (struct hz_node){record, k->more};
                k->more = at;
            }
        }
    }
    if (empty)
        sweep(h, k);
}

/* The quick answer: an ordinary access of this cluster that the warp knows of, in this record or none. */
static inline int known(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    if (!(r->mask & mask))
        return 1;
    if ((r->flags & HZ_ASYNC) || ((r->who ^ a->who) >> HZ_COMPONENT_BITS))
        return 0;
    const struct hz_warp *w = a->warp;
    uint32_t component = component_of(r->who);
    if (r->who == a->who)
        return r->epoch < w->synced || r->lane == lane;
    return a->clock[component] >= r->epoch && a->cluster->warps[component - 1].partial_last < r->epoch;
}

static inline void put(struct hz_record *r, const struct hz_access *a, uint8_t lane, uint32_t mask, unsigned flags)
{
    r->who = a->who;
    r->epoch = a->epoch;
    r->position = a->position;
    r->mask = (uint16_t)mask;
    r->lane = lane;
    r->flags = (uint8_t)flags;
}

static inline void chunk_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask,
                                uint64_t address, int shared)
{
    if (!a->writes) {
        /* the same warp in the same epoch: nothing has been written since, or the record would have lost these bytes */
        if (same(a, &k->read, lane, 0) && !(mask & ~(uint32_t)k->read.mask))
            return;
        if (!k->more && !(mask & ~(uint32_t)k->written) && !a->async_proxy && known(a, &k->write, lane, mask) &&
            known(a, &k->read, lane, mask) && !(a->flags & HZ_STRONG)) {
            if (same(a, &k->read, lane, 0)) {
                merge(&k->read, a, lane, mask);
                return;
            }
            if (!(k->read.mask & ~mask)) {
                put(&k->read, a, lane, mask, a->flags);
                return;
            }
        }
        chunk_read(a, k, lane, mask, address);
        return;
    }
    if (!k->more && !a->async_proxy && !a->reads && known(a, &k->write, lane, mask) && known(a, &k->read, lane, mask) &&
        !(shared ? k->marked & mask : mask & ~(uint32_t)k->marked)) {
        int merges = same(a, &k->write, lane, 1);
        if (merges || !(k->write.mask & ~mask)) {
            k->written |= (uint16_t)mask;
            k->read.mask &= (uint16_t)~mask;
            if (merges)
                merge(&k->write, a, lane, mask);
            else
                put(&k->write, a, lane, mask, a->flags | HZ_WRITE);
            return;
        }
    }
    chunk_write(a, k, lane, mask, address);
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

void hz_pages_free(struct emu_hazard *h, struct hz_page **pages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct hz_page *page = pages[i];
        if (!page)
            continue;
        for (unsigned k = 0; k < HZ_PAGE / HZ_CHUNK; k++)
            hz_chunk_forget(h, &page->chunks[k]);
        page->next = h->free_pages;
        h->free_pages = page;
        pages[i] = NULL;
    }
}

static struct hz_page *shared_page(struct emu_hazard_cluster *c, uint64_t address)
{
    uint32_t rank = hz_rank(address), at = (uint32_t)(address & 0xffffff) / HZ_PAGE;
    if (rank >= c->h->options.blocks || at >= HZ_SHARED_PAGES || c->blocks[rank].ended)
        return NULL;
    struct hz_page **page = &c->blocks[rank].pages[at];
    if (!*page) {
        *page = c->h->free_pages;
        if (*page) {
            c->h->free_pages = (*page)->next;
            memset(*page, 0, sizeof **page);
        } else {
            *page = hz_alloc(c->h, sizeof **page);
        }
    }
    return *page;
}

struct hz_chunk *hz_shared_chunk(struct emu_hazard_cluster *cluster, uint64_t address)
{
    struct hz_page *page = shared_page(cluster, address);
    return page ? &page->chunks[address % HZ_PAGE / HZ_CHUNK] : NULL;
}

void hz_range(struct hz_access *a, uint64_t address, uint64_t bytes, unsigned lane, unsigned shift)
{
    const uint64_t end = address + bytes, begin = address;
    while (address < end) {
        struct hz_page *page = hz_is_shared(address) ? shared_page(a->cluster, address) : hz_global_page(a, address);
        uint64_t stop = (address | (HZ_PAGE - 1)) + 1;
        stop = stop < end ? stop : end;
        if (!page) {
            address = stop;
            continue;
        }
        int shared = hz_is_shared(address);
        while (address < stop) {
            uint64_t base = address & ~UINT64_C(15);
            unsigned from = (unsigned)(address - base), to = stop - base < 16 ? (unsigned)(stop - base) : 16;
            uint32_t mask = (UINT32_C(1) << to) - (UINT32_C(1) << from);
            uint8_t who;
            if (shift == 7)
                who = (uint8_t)lane;
            else if (shift >= 4)
                who = (uint8_t)((lane + (unsigned)((address - begin) >> shift)) & 31u);
            else
                who = (uint8_t)((((lane + (unsigned)((address - begin) >> shift)) - (from >> shift)) & 31u) |
                                (shift + HZ_LANE_BYTE) << 5);
            chunk_access(a, &page->chunks[base % HZ_PAGE / HZ_CHUNK], who, mask, base, shared);
            address = base + to;
        }
    }
}

/* ---- Accesses of threads ----------------------------------------------------------------------------------------- */

static int access_begin(struct hz_access *a, struct emu_hazard_warp *warp, uint32_t lanes, unsigned access,
                        uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    *a = (struct hz_access){.h = w->cluster->h,
                            .cluster = w->cluster,
                            .warp = w,
                            .who = w->cluster->serial << HZ_COMPONENT_BITS | w->component,
                            .epoch = w->clock.at[w->component],
                            .position = position,
                            .reads = (access & EMU_ACCESS_READ) != 0,
                            .writes = (access & EMU_ACCESS_WRITE) != 0,
                            .same = (access & EMU_ACCESS_SAME) != 0,
                            .clock = w->acquired && (lanes & ~w->acquired) ? w->behind.at : w->clock.at};
    a->h->event++;
    if (access & EMU_ACCESS_STRONG)
        a->flags = (uint8_t)(HZ_STRONG | (access >> 6 & 3) * HZ_SCOPE);
    return a->h->status != 0;
}

/* Ranges of lanes that follow each other in memory are one. */
static void lanes_access(struct hz_access *a, uint32_t lanes, const uint64_t *at, uint32_t bytes)
{
    unsigned shift = (unsigned)__builtin_ctz(bytes);
    while (lanes) {
        unsigned first = (unsigned)__builtin_ctz(lanes), last = first;
        while (last + 1 < HZ_LANES && (lanes >> (last + 1) & 1) && at[last + 1] == at[last] + bytes)
            last++;
        unsigned count = last - first + 1;
        if (count == 1)
            hz_range(a, at[first], bytes, first, 7);
        else
            hz_range(a, at[first], (uint64_t)count * bytes, first, shift);
        lanes &= last == 31 ? 0u : UINT32_MAX << (last + 1);
    }
}

/* Where all lanes access one place, it is accessed once. */
static uint32_t broadcast(struct hz_access *a, uint32_t lanes, const uint64_t *at, uint32_t bytes)
{
    unsigned first = (unsigned)__builtin_ctz(lanes);
    uint32_t equal = 0;
    for (unsigned i = 0; i < HZ_LANES; i++)
        equal |= (uint32_t)(at[i] == at[first]) << i;
    equal &= lanes;
    if ((equal & (equal - 1)) == 0)
        return lanes;
    a->together = equal;
    hz_range(a, at[first], bytes, HZ_TOGETHER, 7);
    a->together = 0;
    return lanes & ~equal;
}

void emu_hazard_shared(struct emu_hazard_warp *warp, uint32_t lanes, const uint32_t address[32], uint32_t offset,
                       uint32_t bytes, unsigned access, uint32_t position)
{
    struct hz_access a;
    uint64_t at[HZ_LANES];
    if (!lanes || access_begin(&a, warp, lanes, access, position))
        return;
    unsigned first = (unsigned)__builtin_ctz(lanes);
    a.warp->touched |= lanes;
    uint32_t start = address[first] + offset, apart = 0, far = 0, own = a.warp->rank << 24;
    for (unsigned i = 0; i < HZ_LANES; i++) {
        uint32_t one = address[i] + offset;
        at[i] = EMU_SHARED_WINDOW + one;
        apart |= one ^ (start + (i - first) * bytes);
        far |= ((one ^ own) >> 24) & (0u - (lanes >> i & 1));
    }
    if (far || (access & EMU_ACCESS_STRONG))
        emu_hazard_generic(warp, lanes, at, 0, bytes, access, position);
    else if (lanes == UINT32_MAX && !apart)
        hz_range(&a, at[0], HZ_LANES * (uint64_t)bytes, 0, (unsigned)__builtin_ctz(bytes));
    else
        lanes_access(&a, broadcast(&a, lanes, at, bytes), at, bytes);
}

/* What the warp has read by an ordinary read where it now compares and swaps. */
static void note_guess(struct hz_access *a, uint64_t address, uint32_t bytes)
{
    struct emu_hazard *h = a->h;
    struct hz_page *page = hz_is_shared(address) ? shared_page(a->cluster, address) : hz_global_page(a, address);
    if (!page)
        return;
    const struct hz_chunk *k = &page->chunks[address % HZ_PAGE / HZ_CHUNK];
    uint32_t mask = ((UINT32_C(1) << bytes) - 1) << address % HZ_CHUNK;
    const struct hz_record *r = &k->read;
    for (uint32_t next = k->more; r; next = h->nodes[next].next) {
        if (!(r->flags & (HZ_WRITE | HZ_STRONG | HZ_ASYNC)) && (r->mask & mask) && r->who == a->who) {
            uint32_t g = 0;
            while (g < h->guess_count && h->guesses[g] != r->position)
                g++;
            if (g == h->guess_count && g < 1024 && !hz_grow(h, &h->guesses, &h->guess_room, g + 1, sizeof *h->guesses))
                h->guesses[h->guess_count++] = r->position;
        }
        r = next ? &h->nodes[next].record : NULL;
        if (!next)
            break;
    }
}

void emu_hazard_generic(struct emu_hazard_warp *warp, uint32_t lanes, const uint64_t address[32], uint64_t offset,
                        uint32_t bytes, unsigned access, uint32_t position)
{
    struct hz_access a;
    uint64_t at[HZ_LANES];
    if (!lanes || access_begin(&a, warp, lanes, access, position))
        return;
    a.warp->touched |= lanes;
    for (unsigned i = 0; i < HZ_LANES; i++)
        at[i] = address[i] + offset;
    for (uint32_t left = access & EMU_ACCESS_CAS ? lanes : 0; left; left &= left - 1)
        note_guess(&a, at[__builtin_ctz(left)], bytes);
    if (access & EMU_ACCESS_STRONG) /* what it acquires orders the access itself */
        for (uint32_t left = lanes; left; left &= left - 1)
            if (a.h->flag_count || a.warp->fenced[0].count || (access & EMU_ACCESS_RELEASE))
                hz_strong(a.warp, left & (0u - left), at[__builtin_ctz(left)], access);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint64_t one = at[__builtin_ctz(left)];
        if (hz_is_shared(one) && hz_rank(one) != a.warp->rank)
            hz_touch_remote(a.warp, one, position);
    }
    lanes_access(&a, broadcast(&a, lanes, at, bytes), at, bytes);
}
