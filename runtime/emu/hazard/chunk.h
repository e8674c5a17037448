/* A chunk of the shadow and one access to it: what is told quickly, and at each place that asks in a hurry. */
#ifndef EMU_HAZARD_CHUNK_H
#define EMU_HAZARD_CHUNK_H

#include "access.h"

static inline uint32_t hz_listed(const struct hz_chunk *k) /* records in its list */
{
    return k->more ? k->more->count : 0;
}

/* Field by field in its place: a copy of what has just been put together waits for its parts. */
static inline void hz_put(struct hz_record *r, const struct hz_access *a, uint8_t lane, uint32_t mask, int write)
{
    r->who = a->who;
    r->epoch = a->epoch;
    r->position = a->position;
    r->mask = (uint16_t)mask;
    r->lane = lane;
    r->flags = (uint8_t)(a->flags | (write ? HZ_WRITE : 0));
}

/* Whether this access can be added to that record. */
static inline int hz_same(const struct hz_access *a, const struct hz_record *r, uint8_t lane, int write)
{
    return r->mask && r->who == a->who && r->epoch == a->epoch && r->flags == (a->flags | (write ? HZ_WRITE : 0)) &&
           r->lane == lane;
}

static inline void hz_merge(struct hz_record *r, const struct hz_access *a, uint8_t lane, uint32_t mask)
{
    r->mask |= (uint16_t)mask;
    r->position = a->position;
    if (r->lane != lane)
        r->lane = HZ_MIXED << 5;
}

/* The quick answers: whether the access is ordered behind an ordinary one of this cluster. */
enum hz_quick { HZ_NOT_KNOWN, HZ_KNOWN, HZ_ASK };

static inline enum hz_quick hz_quick(const struct hz_access *a, const struct hz_record *r, uint8_t lane)
{
    if ((r->flags & HZ_ASYNC) || ((r->who ^ a->who) >> HZ_COMPONENT_BITS))
        return HZ_ASK;
    const struct hz_warp *w = a->warp;
    uint32_t component = hz_component_of(r->who);
    if (r->who == a->who)
        return r->epoch < w->synced || r->lane == lane ? HZ_KNOWN : HZ_ASK;
    if (a->clock[component] < r->epoch)
        return HZ_NOT_KNOWN;
    return !a->cluster->partials || a->cluster->warps[component - 1].partial_last < r->epoch ? HZ_KNOWN : HZ_ASK;
}

/* Such an access that the warp knows of, in this record or none. */
static inline int hz_knows(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    return !(r->mask & mask) || hz_quick(a, r, lane) == HZ_KNOWN;
}

/* A read by other lanes of the warp in the same epoch: a few such are kept apart. */
static inline uint32_t hz_alike_read(const struct hz_access *a, const struct hz_record *r)
{
    return r->mask && r->who == a->who && r->epoch == a->epoch && r->flags == a->flags;
}

/* Whether of bytes that the record of a read and this read share each is read by two lanes, and it does not matter by
   which: that is so while the lanes of a warp meet all at once. */
static inline int hz_by_several(const struct hz_access *a, const struct hz_record *r, uint8_t lane)
{
    return (r->lane ^ lane) >> 5 == 0 && lane >> 5 != HZ_MIXED && r->lane != lane && !a->operation &&
           !a->h->options.parts;
}

/* Whether the record says already what this read would add: nothing has been written since, or it would have lost
   these bytes. Where two lanes read the same bytes it says from then on that several did. */
static inline int hz_read_before(const struct hz_access *a, struct hz_record *r, uint8_t lane, uint32_t mask)
{
    if (!hz_alike_read(a, r) || (mask & ~(uint32_t)r->mask))
        return 0;
    if (r->lane == lane || r->lane == HZ_TOGETHER)
        return 1;
    if (r->lane == HZ_MIXED << 5)
        return lane != HZ_TOGETHER;
    if (r->mask != mask || !hz_by_several(a, r, lane))
        return 0;
    r->lane = HZ_TOGETHER;
    return 1;
}

/* ---- Ordinary accesses of threads to shared memory --------------------------------------------------------------- */

/* What their tests need of the access, in registers; for clusters without releases by some lanes of a warp alone. */
struct hz_hurry {
    uint64_t stamp; /* as hz_stamp has it */
    uint64_t
        seen; /* that of the last record that the warp knows, whichever of its lanes made it: the next has it too */
    uint32_t who, position;
    uint32_t synced;
    const uint32_t *clock;
};

static inline struct hz_hurry hz_hurry(const struct hz_access *a)
{
    return (struct hz_hurry){.stamp = (uint64_t)a->epoch << 32 | a->who,
                             .who = a->who,
                             .position = a->position,
                             .synced = a->warp->synced,
                             .clock = a->clock};
}

/* Who and when: one number; 0 is nobody's. */
static inline uint64_t hz_stamp(const struct hz_record *r)
{
    return (uint64_t)r->epoch << 32 | r->who;
}

/* Whether the access is ordered behind that of the record. 0: hz_quick knows more. */
static inline int hz_hurry_knows(struct hz_hurry *h, const struct hz_record *r, uint8_t lane)
{
    uint32_t apart = r->who ^ h->who;
    if (r->flags & HZ_ASYNC)
        return 0;
    if (hz_stamp(r) == h->seen)
        return 1;
    if (apart >> HZ_COMPONENT_BITS)
        return 0;
    if (!apart && r->epoch >= h->synced)
        return r->lane == lane;
    if (apart && h->clock[hz_component_of(r->who)] < r->epoch)
        return 0;
    h->seen = hz_stamp(r);
    return 1;
}

static inline void hz_hurry_put(struct hz_record *r, const struct hz_hurry *h, uint8_t lane, uint32_t mask, int write)
{
    r->who = h->who;
    r->epoch = (uint32_t)(h->stamp >> 32);
    r->position = h->position;
    r->mask = (uint16_t)mask;
    r->lane = lane;
    r->flags = write ? HZ_WRITE : 0;
}

/* A read, or a write, of a chunk that is not by words, or of a word: done where it takes a look at one writer and one
   reader. 0: it has changed nothing. */
static inline __attribute__((always_inline)) int hz_read_at_once(const struct hz_access *a, struct hz_hurry *h,
                                                                 struct hz_chunk *k, uint8_t lane, uint32_t mask)
{
    struct hz_record *r = &k->read;
    int mine = hz_stamp(r) == h->stamp && !r->flags && r->mask;
    if (mine && hz_read_before(a, r, lane, mask))
        return 1;
    if (k->more || (mask & ~(uint32_t)k->written) || ((k->write.mask & mask) && !hz_hurry_knows(h, &k->write, lane)))
        return 0;
    if (mine) {
        if (r->lane != lane)
            return 0;
        r->mask |= (uint16_t)mask;
        r->position = h->position;
        return 1;
    }
    if ((r->mask & ~mask) || (r->mask && !hz_hurry_knows(h, r, lane)))
        return 0;
    hz_hurry_put(r, h, lane, mask, 0);
    return 1;
}

static inline __attribute__((always_inline)) int hz_write_at_once(struct hz_hurry *h, struct hz_chunk *k, uint8_t lane,
                                                                  uint32_t mask)
{
    struct hz_record *r = &k->write;
    if (k->more || (k->marked & mask) || ((k->read.mask & mask) && !hz_hurry_knows(h, &k->read, lane)))
        return 0;
    uint32_t before = 0;
    if (hz_stamp(r) == h->stamp && r->flags == HZ_WRITE && r->lane == lane)
        before = r->mask;
    else if (r->mask && ((r->mask & ~mask) || !hz_hurry_knows(h, r, lane)))
        return 0;
    k->written |= (uint16_t)mask;
    k->read.mask &= (uint16_t)~mask;
    hz_hurry_put(r, h, lane, before | mask, 1);
    return 1;
}

static inline struct hz_page *hz_page_of(struct hz_access *a, uint64_t address)
{
    if (!hz_is_shared(address))
        return hz_global_page(a, address);
    uint32_t rank = hz_rank(address), at = (uint32_t)(address & 0xffffff) / HZ_PAGE;
    if (rank >= a->h->options.blocks || at >= HZ_SHARED_PAGES)
        return NULL;
    const struct hz_block *block = &a->cluster->blocks[rank];
    return block->pages[at] && !block->ended ? block->pages[at] : hz_shared_page(a->cluster, address);
}

#endif
