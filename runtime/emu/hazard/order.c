/* Which of two accesses to the same bytes happened before the other, and what is said where neither did. */
#include "access.h"

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
    uint32_t serial = hz_serial_of(r->who), component = hz_component_of(r->who), epoch = r->epoch;
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

/* Whether the lanes know of a warp of the same warpgroup that has waited for this wgmma's group. */
static int over_by_another(const struct hz_access *a, const struct hz_operation *o)
{
    const struct emu_hazard_cluster *c = a->cluster;
    const struct hz_warp *issuer = &c->warps[o->issuer - 1];
    uint32_t first = issuer->index & ~3u;
    for (uint32_t i = first; i < first + 4 && i < c->h->warps; i++) {
        const struct hz_warp *w = &c->warps[issuer->rank * c->h->warps + i];
        uint32_t epoch = w == issuer ? 0 : hz_wgmma_known(w, o->group);
        if (epoch && known_of(a, w->component) >= epoch)
            return 1;
    }
    return 0;
}

static int is_sibling(const struct hz_warp *a, const struct hz_warp *b) /* another warp of the same warpgroup */
{
    return a != b && a->rank == b->rank && a->index / 4 == b->index / 4;
}

/* A wgmma reads its operands when the last of the four warps has issued it: an H200's does
   (tests/strangers/late_warp.cu), though PTX does not say so, and strict does not rely on it. So what one of them does
   before it issues its own comes first. The epoch up to which that is so of this warp and this access, a wgmma of
   another; 0: of none. */
static uint32_t before_issue(const struct hz_access *a, const struct hz_warp *other)
{
    struct hz_operation *o = a->operation ? &a->cluster->operations[a->operation - 1] : NULL;
    if (!o || !o->wgmma || a->h->options.strict || !is_sibling(a->warp, other))
        return 0;
    if (other->wgmma_issued < o->wgmma) {
        o->doubtful = 1;
        return UINT32_MAX;
    }
    return other->wgmma_issued - o->wgmma < HZ_WGMMA_ISSUES ? other->wgmma_epochs[(o->wgmma - 1) % HZ_WGMMA_ISSUES] : 0;
}

/* Whether the access is a wgmma that another warp of its warpgroup has still to issue: it reads later. */
static int reads_later(const struct hz_access *a)
{
    const struct emu_hazard_cluster *c = a->cluster;
    uint32_t first = a->warp->index & ~3u;
    for (uint32_t i = first; i < first + 4 && i < c->h->warps; i++)
        if (before_issue(a, &c->warps[a->warp->rank * c->h->warps + i]) == UINT32_MAX)
            return 1;
    return 0;
}

/* The other way about: an ordinary access by a warp that has not yet issued what that wgmma is. */
static int not_issued(const struct hz_access *a, struct hz_operation *o)
{
    if (!o->wgmma || a->operation || a->h->options.strict || a->warp->wgmma_issued >= o->wgmma_first ||
        !is_sibling(a->warp, &a->cluster->warps[o->issuer - 1]))
        return 0;
    o->doubtful = 1;
    return 1;
}

/* Whether what the record says happened before the access. If it did not, *issued says whether it is an asynchronous
   operation that was at least issued before. */
static int ordered(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask, int read,
                   int *issued)
{
    const struct hz_warp *w = a->warp;
    *issued = 0;
    if (hz_serial_of(r->who) != a->cluster->serial)
        return ordered_foreign(a, r, read);
    uint32_t component = hz_component_of(r->who);
    if (r->flags & HZ_ASYNC) {
        if (r->epoch + 1 == a->operation) /* of one group: several instructions, which nothing orders */
            return read || !a->writes;
        struct hz_operation *o = &a->cluster->operations[r->epoch];
        if (o->kind >= EMU_HAZARD_TCGEN05_MMA) {
            *issued = w->clock.at[o->issuer] >= o->epoch;
            return hz_tensor_ordered(a, o, read);
        }
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
        if (o->kind == EMU_HAZARD_WGMMA && (over_by_another(a, o) || not_issued(a, o)))
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
    if (known >= r->epoch &&
        hz_released(&a->cluster->warps[component - 1], r->epoch, known, lanes_of(r->lane, mask & r->mask)))
        return 1;
    return before_issue(a, &a->cluster->warps[component - 1]) >= r->epoch;
}

/* Whether an ordinary access is separated from this asynchronous one by a proxy fence: of who made it, before an edge,
   or of who issues this one, behind it. */
static int proxy_fenced(const struct hz_access *a, const struct hz_record *r, uint64_t address, uint32_t mask)
{
    unsigned kind = hz_is_shared(address) ? HZ_FENCE_SHARED : HZ_FENCE_GLOBAL;
    uint32_t serial = hz_serial_of(r->who), component = hz_component_of(r->who), epoch = r->epoch;
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
    if (limit < epoch) {
        uint32_t issued = before_issue(a, writer);
        if (issued == UINT32_MAX)
            return 1; /* its fence may still come */
        limit = issued > limit ? issued : limit;
    }
    return hz_fenced(writer, epoch, limit, lanes, kind) ||
           hz_fenced_behind(a->warp, a->cluster->operations[a->operation - 1].lanes, c == a->cluster ? writer : NULL,
                            epoch, kind);
}

/* Two strong accesses are in no conflict where the scope of each holds the other. Two volatile writes of different
   values by different blocks are, but where somebody waits for the value in a loop: one of them is lost, as of a
   counter that nobody counts atomically. */
static int morally_strong(const struct hz_access *a, const struct hz_record *r, uint64_t address)
{
    if (!(a->flags & r->flags & HZ_STRONG))
        return 0;
    unsigned need = 0;
    int both = a->flags & r->flags & HZ_VOLATILE;
    if (both && a->h->options.strict && r->who == a->who)
        return 0; /* lanes that rely on running together */
    if (hz_serial_of(r->who) != a->cluster->serial)
        need = 2;
    else if (a->cluster->warps[hz_component_of(r->who) - 1].rank != a->warp->rank)
        need = 1;
    if (both && need == 2 && a->writes && (r->flags & HZ_WRITE) && !hz_polled(a->h, address))
        return 0;
    return (unsigned)(a->flags / HZ_SCOPE & 3) >= need && (unsigned)(r->flags / HZ_SCOPE & 3) >= need;
}

/* A volatile access to what another block accessed before the release that an atomic of this block has seen. Without
   the fence behind that atomic an ordinary read may find an old line of its L1; a volatile one does not look there. */
static int seen_by_block(const struct hz_access *a, const struct hz_record *r)
{
    const struct hz_known *seen = &a->cluster->blocks[a->warp->rank].seen;
    if (a->h->options.strict || !(a->flags & HZ_STRONG) || (r->flags & HZ_ASYNC) || !seen->count)
        return 0;
    if (hz_serial_of(r->who) < seen->all_before)
        return 1;
    for (uint32_t i = 0; i < seen->count; i++)
        if (seen->entries[i].key >> 4 == hz_serial_of(r->who) &&
            hz_clock_at(&seen->entries[i].clock, hz_component_of(r->who)) >= r->epoch)
            return 1;
    return 0;
}

/* ---- Findings ---------------------------------------------------------------------------------------------------- */

static void describe(const struct hz_access *a, const struct hz_record *r, struct hz_finding *f)
{
    uint32_t component = hz_component_of(r->who);
    f->other = r->position;
    f->other_block = 0;
    f->other_warp = 0;
    const struct emu_hazard_cluster *c =
        hz_serial_of(r->who) == a->cluster->serial ? a->cluster : hz_cluster_of(a->h, hz_serial_of(r->who));
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
    if (!w->waited || !(w->waited_again || w->waited_free) || hz_serial_of(r->who) != a->cluster->serial)
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

/* What was waited for, where tcgen05's own fences alone are missing. */
static int unfenced_tensor(const struct hz_access *a, const struct hz_record *r)
{
    return (r->flags & HZ_ASYNC) && hz_serial_of(r->who) == a->cluster->serial &&
           hz_tensor_waited(a, &a->cluster->operations[r->epoch], !(r->flags & HZ_WRITE));
}

static __attribute__((noinline, cold)) void conflict(const struct hz_access *a, const struct hz_record *r, uint8_t lane,
                                                     uint32_t mask, uint64_t address, int issued)
{
    int theirs_writes = (r->flags & HZ_WRITE) != 0;
    int both = theirs_writes && a->writes, late = issued && a->writes;
    uint32_t bytes = mask & r->mask;
    struct hz_finding f = {.name = both || late ? EMU_HAZARD_UNORDERED_WRITE : EMU_HAZARD_UNORDERED_READ,
                           .warp = a->warp,
                           .lanes = a->operation || lane == HZ_MIXED << 5 ? a->warp->lanes : lanes_of(lane, bytes),
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
    } else if (hz_serial_of(r->who) == 0)
        hz_report(a->h, &f, "%s of what the previous kernel wrote, without griddepcontrol.wait", what);
    else if (unfenced_tensor(a, r))
        hz_report(a->h, &f,
                  "asynchronous %s of tensor memory behind a %s that was waited for, but without tcgen05.fence: "
                  "::after_thread_sync behind the edge, and ::before_thread_sync by who waited for a tcgen05.ld or st",
                  what, other_what);
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

static int in_gap(const struct emu_hazard *h, uint64_t offset)
{
    for (uint32_t g = 0; g < h->options.gap_count; g++)
        if (offset - h->options.gaps[g].address < h->options.gaps[g].bytes)
            return 1;
    return 0;
}

__attribute__((cold)) void hz_tell_bytes(const struct hz_access *a, enum emu_hazard_name name, uint8_t lane,
                                         uint32_t mask, uint64_t address)
{
    if (name == EMU_HAZARD_UNINIT && reads_later(a))
        return;
    struct hz_finding f = {.name = name,
                           .warp = a->warp,
                           .lanes = a->operation ? a->warp->lanes : lanes_of(lane, mask),
                           .address = address + (unsigned)__builtin_ctz(mask),
                           .bytes = (uint32_t)__builtin_popcount(mask),
                           .event = a->h->event,
                           .position = a->position,
                           .other = EMU_HAZARD_NOWHERE,
                           .held = name == EMU_HAZARD_UNINIT ? HZ_HELD_LATE : 0};
    if (hz_is_shared(address) && in_gap(a->h, f.address & 0xffffff)) {
        f.name = EMU_HAZARD_BOUNDS;
        f.held = 0;
        hz_report(a->h, &f, "%s%s of bytes between two arrays of shared memory", a->operation ? "asynchronous " : "",
                  a->writes ? "write" : "read");
    } else if (name == EMU_HAZARD_UNORDERED_READ)
        hz_report(a->h, &f,
                  "ld.global.nc, or a fetch of a texture or surface, of bytes that the kernel writes: it reads them as "
                  "if nothing did, whatever orders it");
    else if (name == EMU_HAZARD_UNINIT)
        hz_report(a->h, &f, "%sread of %s memory that nothing has written", a->operation ? "asynchronous " : "",
                  emu_is_tensor(address)  ? "tensor"
                  : hz_is_shared(address) ? "shared"
                                          : "global");
    else
        hz_report(a->h, &f, "%swrite over the bytes of an mbarrier", a->operation ? "asynchronous " : "");
}

__attribute__((cold)) void hz_tell_swizzle(const struct hz_access *a, const struct hz_record *r, uint32_t mask,
                                           uint64_t address)
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
    if ((a->layout - 1u) % 16 == (written - 1) % 16)
        hz_report(
            a->h, &f,
            "the matrix descriptor has a base offset of %u, the tensor load wrote as the address says, which is 0",
            (a->layout - 1u) / 16);
    else
        hz_report(a->h, &f,
                  "the matrix descriptor says a swizzle of %u bytes, the tensor load wrote with one of %u (0: none)",
                  (a->layout - 1u) % 16 * 16, (written - 1) % 16 * 16);
}

/* ---- The rules -------------------------------------------------------------------------------------------------- */

void hz_check(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask, uint64_t address)
{
    int read = !(r->flags & HZ_WRITE), issued;
    if (read && !a->writes)
        return;
    if (!ordered(a, r, lane, mask, read, &issued)) {
        if (morally_strong(a, r, address + (unsigned)__builtin_ctz(mask & r->mask)) || seen_by_block(a, r) ||
            (a->flags & r->flags & HZ_REDUCE) || (!read && a->same))
            return;
        conflict(a, r, lane, mask, address, issued);
    } else if (a->async_proxy && (!read || (a->h->options.strict && a->writes)) && (!read || !(r->flags & HZ_ASYNC)) &&
               !proxy_fenced(a, r, address, mask)) {
        unfenced(a, r, mask, address);
    }
}

/* A read makes an older read superfluous that it is ordered behind: who is ordered behind this one is so behind
   that. */
int hz_covers(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    int issued;
    if ((a->flags & HZ_STRONG) && !(r->flags & HZ_STRONG))
        return 0;
    if (a->h->options.strict && !a->tensor && a->async_proxy != ((r->flags & HZ_ASYNC) != 0))
        return 0;
    return ordered(a, r, lane, mask, 1, &issued);
}
