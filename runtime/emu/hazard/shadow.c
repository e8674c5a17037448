/* The shadow of memory: for each 16 bytes who wrote last and who has read since. */
#include "access.h"

/* ---- Chunks ------------------------------------------------------------------------------------------------------ */

void hz_chunk_forget(struct emu_hazard *h, struct hz_chunk *k)
{
    k->full = 0;
    if (k->split) {
        for (unsigned i = 0; i < HZ_CHUNK / 4; i++)
            hz_chunk_forget(h, &k->words->at[i]);
        hz_words_leave(h, k);
    }
    if (k->more)
        hz_list_leave(h, k->more);
    k->more = NULL;
}

static inline uint32_t listed(const struct hz_chunk *k) /* records in its list */
{
    return k->more ? k->more->count : 0;
}

/* Field by field in its place: a copy of what has just been put together waits for its parts. */
static inline void put(struct hz_record *r, const struct hz_access *a, uint8_t lane, uint32_t mask, int write)
{
    r->who = a->who;
    r->epoch = a->epoch;
    r->position = a->position;
    r->mask = (uint16_t)mask;
    r->lane = lane;
    r->flags = (uint8_t)(a->flags | (write ? HZ_WRITE : 0));
}

static inline void push(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, int write)
{
    struct hz_record *r = hz_list_push(a->h, k);
    if (!r)
        return;
    put(r, a, lane, mask, write);
    if (!write)
        k->more->readers |= hz_reader(a->who);
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

/* The quick answers: whether the access is ordered behind an ordinary one of this cluster. */
enum quick { NOT_KNOWN, KNOWN, ASK };

static inline enum quick quick(const struct hz_access *a, const struct hz_record *r, uint8_t lane)
{
    if ((r->flags & HZ_ASYNC) || ((r->who ^ a->who) >> HZ_COMPONENT_BITS))
        return ASK;
    const struct hz_warp *w = a->warp;
    uint32_t component = hz_component_of(r->who);
    if (r->who == a->who)
        return r->epoch < w->synced || r->lane == lane ? KNOWN : ASK;
    if (a->clock[component] < r->epoch)
        return NOT_KNOWN;
    return !a->cluster->partials || a->cluster->warps[component - 1].partial_last < r->epoch ? KNOWN : ASK;
}

/* Such an access that the warp knows of, in this record or none. */
static inline int known(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    return !(r->mask & mask) || quick(a, r, lane) == KNOWN;
}

static inline void check(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask,
                         uint64_t address)
{
    if (!(r->flags & HZ_WRITE) && !a->writes)
        return;
    if (a->async_proxy || quick(a, r, lane) != KNOWN) /* else fences matter, too */
        hz_check(a, r, lane, mask, address);
}

static inline int covers(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    if (!a->async_proxy) {
        enum quick answer = quick(a, r, lane);
        if (answer == NOT_KNOWN || (answer == KNOWN && !(a->flags & HZ_STRONG)))
            return answer == KNOWN;
    }
    return hz_covers(a, r, lane, mask);
}

/* A read by other lanes of the warp in the same epoch: a few such are kept apart. */
static uint32_t alike_read(const struct hz_access *a, const struct hz_record *r)
{
    return r->mask && r->who == a->who && r->epoch == a->epoch && r->flags == a->flags;
}

/* Whether of bytes that the record of a read and this read share each is read by two lanes, and it does not matter by
   which: that is so while the lanes of a warp meet all at once. */
static inline int by_several(const struct hz_access *a, const struct hz_record *r, uint8_t lane)
{
    return (r->lane ^ lane) >> 5 == 0 && lane >> 5 != HZ_MIXED && r->lane != lane && !a->operation &&
           !a->h->options.parts;
}

/* Whether the record says already what this read would add: nothing has been written since, or it would have lost
   these bytes. Where two lanes read the same bytes it says from then on that several did. */
static inline int read_before(const struct hz_access *a, struct hz_record *r, uint8_t lane, uint32_t mask)
{
    if (!alike_read(a, r) || (mask & ~(uint32_t)r->mask))
        return 0;
    if (r->lane == lane || r->lane == HZ_TOGETHER)
        return 1;
    if (r->lane == HZ_MIXED << 5)
        return lane != HZ_TOGETHER;
    if (r->mask != mask || !by_several(a, r, lane))
        return 0;
    r->lane = HZ_TOGETHER;
    return 1;
}

/* Who has read a chunk reads it again: its record goes to the front. */
static void to_front(struct hz_chunk *k, struct hz_record *r)
{
    struct hz_record front = k->read;
    k->read = *r;
    *r = front;
    k->more->readers |= hz_reader(front.who);
}

/* The read stands in the chunk's own list already; or else another lane's record that has all of these bytes. */
static inline int read_in_list(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask,
                               struct hz_record **theirs)
{
    if (!k->more || k->more->owners > 1 || !(k->more->readers & hz_reader(a->who)))
        return 0;
    for (uint32_t i = listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (r->who != a->who || (r->flags & HZ_WRITE))
            continue;
        if (read_before(a, r, lane, mask)) {
            to_front(k, r);
            return 1;
        }
        if (alike_read(a, r) && !(mask & ~(uint32_t)r->mask) && by_several(a, r, lane))
            *theirs = r;
    }
    return 0;
}

/* An ordinary read of what is known to be written, by a warp that has no read here yet, and unordered with all reads
   that are: one more. 1: it is not so simple. The records of shared memory are of one cluster. */
static int one_more_reader(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask)
{
    struct hz_list *list = k->more;
    if (!list || list->owners > 1 || (list->readers & hz_reader(a->who)) || list->count >= HZ_READERS_SHARED - 1 ||
        k->read.who == a->who || !k->read.mask || a->flags || a->async_proxy || a->operation ||
        (mask & ~(uint32_t)k->written) || !known(a, &k->write, lane, mask))
        return 1;
    const uint32_t *clock = a->clock;
    const struct hz_record *r = &k->read, *end = list->at + list->count;
    for (const struct hz_record *next = list->at;; r = next++) {
        if (r->flags || ((r->mask & mask) && clock[hz_component_of(r->who)] >= r->epoch))
            return 1;
        if (next == end)
            break;
    }
    push(a, k, lane, mask, 0);
    return 0;
}

static void check_layout(const struct hz_access *a, const struct hz_record *r, uint32_t mask, uint64_t address)
{
    if (!(r->flags & HZ_ASYNC) || hz_serial_of(r->who) != a->cluster->serial)
        return;
    uint8_t written = a->cluster->operations[r->epoch].layout;
    if (written && written != a->layout)
        hz_tell_swizzle(a, r, mask, address);
}

static void words_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, uint64_t address);

/* Whether to remember a chunk by words from now on: threads access one of them, and its records are too many to stand
   in it. Operations come to whole tiles, and what they write stays together. */
static inline int splits(const struct hz_access *a, const struct hz_chunk *k, uint8_t lane, uint32_t mask,
                         uint64_t address)
{
    return (k->written & ~mask) && mask == 15u << (__builtin_ctz(mask) & 12) && lane >> 5 == HZ_ONE_LANE &&
           hz_is_shared(address) && !a->operation && !(k->write.mask && (k->write.flags & HZ_ASYNC));
}

static __attribute__((noinline)) void chunk_read(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                 uint32_t mask, uint64_t address)
{
    struct emu_hazard *h = a->h;
    struct hz_record *theirs = NULL;
    if (k->read.mask && !k->full && read_in_list(a, k, lane, mask, &theirs))
        return;
    if (splits(a, k, lane, mask, address) && !hz_words_split(h, k)) {
        words_access(a, k, lane, mask, address);
        return;
    }
    if (mask & ~(uint32_t)k->written)
        hz_tell_bytes(a, EMU_HAZARD_UNINIT, lane, mask & ~(uint32_t)k->written, address);
    if ((a->flags & HZ_NC) && (k->marked & mask))
        hz_tell_bytes(a, EMU_HAZARD_UNORDERED_READ, lane, k->marked & mask, address);
    if (k->write.mask & mask) {
        check(a, &k->write, lane, mask, address);
        if (a->layout)
            check_layout(a, &k->write, mask, address);
    }
    if (k->full) {
        put(&k->read, a, lane, mask, 0);
        return;
    }
    if (h->lists_shared) {
        theirs = NULL;
        if (hz_list_own(h, k))
            return;
    }
    if (alike_read(a, &k->read) && !(mask & ~(uint32_t)k->read.mask) && by_several(a, &k->read, lane))
        theirs = &k->read;
    uint8_t as = lane;
    if (theirs) { /* these bytes are no longer one lane's alone */
        theirs->mask &= (uint16_t)~mask;
        as = HZ_TOGETHER;
    }
    int merged = 0, empty = 0, writes = 0;
    uint32_t readers = 0, alike = alike_read(a, &k->read);
    struct hz_record *last = NULL;
    if (same(a, &k->read, as, 0)) {
        merge(&k->read, a, as, mask);
        merged = 1;
    } else if ((k->read.mask & mask) && covers(a, &k->read, lane, mask)) {
        k->read.mask &= (uint16_t)~mask;
    }
    for (uint32_t i = listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (r->flags & HZ_WRITE) {
            writes = 1;
            if (r->mask & mask)
                check(a, r, lane, mask, address);
            continue;
        }
        readers++;
        if (alike_read(a, r)) {
            alike++;
            last = r;
        }
        if (!merged && same(a, r, as, 0)) {
            merge(r, a, as, mask);
            merged = 1;
        } else if ((r->mask & mask) && covers(a, r, lane, mask)) {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        if (!k->read.mask) {
            put(&k->read, a, as, mask, 0);
        } else if (alike >= HZ_LANES_TOLD) {
            if (!alike_read(a, &k->read))
                to_front(k, last);
            merge(&k->read, a, as, mask);
        } else if (readers < (hz_is_shared(address) ? HZ_READERS_SHARED : HZ_READERS_GLOBAL) || empty) {
            push(a, k, as, mask, 0);
        } else {
            put(&k->read, a, as, mask, 0); /* one of many: the oldest is forgotten */
            k->full = !writes && !hz_is_shared(address);
        }
    }
    if (empty)
        hz_list_sweep(h, k);
}

static __attribute__((noinline)) void chunk_write(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                  uint32_t mask, uint64_t address)
{
    struct emu_hazard *h = a->h;
    if (splits(a, k, lane, mask, address) && !hz_words_split(h, k)) {
        words_access(a, k, lane, mask, address);
        return;
    }
    k->full = 0;
    if (hz_is_shared(address)) {
        if (k->marked & mask)
            hz_tell_bytes(a, EMU_HAZARD_BARRIER_INIT, lane, k->marked & mask, address);
    } else if (mask & ~(uint32_t)k->marked) {
        hz_global_written(h, address, mask);
        k->marked |= (uint16_t)mask;
    }
    if (a->reads && (mask & ~(uint32_t)k->written))
        hz_tell_bytes(a, EMU_HAZARD_UNINIT, lane, mask & ~(uint32_t)k->written, address);
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
    int kept = 0;
    for (uint32_t i = listed(k); i-- > 0;) {
        const struct hz_record *r = &k->more->at[i];
        if (r->mask & mask)
            check(a, r, lane, mask, address);
        kept |= (r->mask & ~mask) || (!merged && same(a, r, lane, 1));
    }
    if (!kept)
        hz_chunk_forget(h, k);
    else if (h->lists_shared && hz_list_own(h, k))
        return;
    for (uint32_t i = listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (!merged && same(a, r, lane, 1)) {
            merge(r, a, lane, mask);
            merged = 1;
        } else {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        if (!k->write.mask)
            put(&k->write, a, lane, mask, 1);
        else
            push(a, k, lane, mask, 1);
    }
    if (empty)
        hz_list_sweep(h, k);
}

/* Inline at both places: a call for each chunk of each access is a fiftieth of what hazards cost. */
static inline __attribute__((always_inline)) void
whole_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, uint64_t address, int shared)
{
    if (!a->writes) {
        if (read_before(a, &k->read, lane, mask))
            return;
        if (!k->more && !(mask & ~(uint32_t)k->written) && !a->async_proxy && known(a, &k->write, lane, mask) &&
            known(a, &k->read, lane, mask) && !(a->flags & HZ_STRONG) && !(a->flags & HZ_NC && k->marked & mask)) {
            if (same(a, &k->read, lane, 0)) {
                merge(&k->read, a, lane, mask);
                return;
            }
            if (!(k->read.mask & ~mask)) {
                put(&k->read, a, lane, mask, 0);
                return;
            }
        }
        if (!shared || one_more_reader(a, k, lane, mask))
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
                put(&k->write, a, lane, mask, 1);
            return;
        }
    }
    chunk_write(a, k, lane, mask, address);
}

static __attribute__((noinline)) void word_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                  uint32_t mask, uint64_t address)
{
    whole_access(a, k, lane, mask, address, 1);
}

/* A write of all the words that is ordered behind everything: they are one chunk again. */
static int written_over(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask)
{
    if (mask != 0xffff || !a->writes || a->reads)
        return 0;
    for (unsigned i = 0; i < HZ_CHUNK / 4; i++) {
        const struct hz_chunk *word = &k->words->at[i];
        if (word->more || word->marked || !known(a, &word->write, lane, mask) || !known(a, &word->read, lane, mask))
            return 0;
    }
    hz_words_leave(a->h, k);
    k->written = (uint16_t)mask;
    put(&k->write, a, lane, mask, 1);
    return 1;
}

/* An access to words of a chunk; a write of all of them makes it whole again. What operations do is remembered by whole
   chunks. */
static __attribute__((noinline)) void words_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                   uint32_t mask, uint64_t address)
{
    if (a->operation || (a->writes && mask == 0xffff)) {
        if (!a->operation && written_over(a, k, lane, mask))
            return;
        hz_words_join(a->h, k);
        word_access(a, k, lane, mask, address);
        return;
    }
    for (uint32_t left = mask, part; left; left &= ~part) {
        unsigned i = (unsigned)__builtin_ctz(left) / 4;
        part = UINT32_C(15) << 4 * i;
        word_access(a, &k->words->at[i], lane, left & part, address);
    }
}

static inline __attribute__((always_inline)) void
chunk_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, uint64_t address, int shared)
{
    if (shared && k->split) {
        unsigned i = (unsigned)__builtin_ctz(mask) / 4;
        if (a->operation || (mask & ~(UINT32_C(15) << 4 * i))) {
            words_access(a, k, lane, mask, address);
            return;
        }
        k = &k->words->at[i];
    }
    whole_access(a, k, lane, mask, address, shared);
}

/* ---- Chunks alike ------------------------------------------------------------------------------------------------ */

/* What one access makes of a chunk depends on what the chunk remembers alone, and an asynchronous access comes to
   hundreds that remember the same: a tile that one copy wrote and the same warps have read. So the last few answers are
   kept, with their lists, and given again. What is told of a chunk is told of each: such an answer is not kept. */
static void alike_drop(struct emu_hazard *h, struct hz_answer *answer)
{
    hz_list_leave(h, answer->before.more);
    hz_list_leave(h, answer->after.more);
    answer->mask = 0;
}

void hz_alike_end(struct emu_hazard *h, struct hz_alike *alike)
{
    for (unsigned i = 0; i < HZ_ANSWERS; i++)
        if (alike->answers[i].mask)
            alike_drop(h, &alike->answers[i]);
}

static int is_alike(const struct hz_answer *answer, const struct hz_chunk *k, uint32_t mask)
{
    return answer->mask == mask && memcmp(&answer->before, k, sizeof *k) == 0;
}

static __attribute__((noinline)) void chunk_alike(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                  uint32_t mask, uint64_t address, int shared)
{
    struct emu_hazard *h = a->h;
    struct hz_alike *alike = a->alike;
    if (k->split)
        hz_words_join(h, k);
    struct hz_answer *answer = &alike->answers[alike->last];
    for (unsigned i = 1; i < HZ_ANSWERS && !is_alike(answer, k, mask); i++)
        answer = &alike->answers[(alike->last + i) % HZ_ANSWERS];
    if (is_alike(answer, k, mask)) {
        if (!shared && a->writes && (mask & ~(uint32_t)k->marked))
            hz_global_written(h, address, mask);
        if (k->more != answer->after.more) {
            hz_list_share(h, answer->after.more);
            hz_list_leave(h, k->more);
        }
        *k = answer->after;
        alike->last = (unsigned)(answer - alike->answers);
        return;
    }
    alike->last = (alike->last + 1) % HZ_ANSWERS;
    answer = &alike->answers[alike->last];
    if (answer->mask)
        alike_drop(h, answer);
    uint64_t findings = h->findings;
    answer->before = *k;
    hz_list_share(h, k->more);
    chunk_access(a, k, lane, mask, address, shared);
    answer->after = *k;
    hz_list_share(h, k->more);
    answer->mask = mask;
    if (h->findings != findings)
        alike_drop(h, answer);
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

static inline struct hz_page *page_of(struct hz_access *a, uint64_t address)
{
    if (!hz_is_shared(address))
        return hz_global_page(a, address);
    uint32_t rank = hz_rank(address), at = (uint32_t)(address & 0xffffff) / HZ_PAGE;
    if (rank >= a->h->options.blocks || at >= HZ_SHARED_PAGES)
        return NULL;
    const struct hz_block *block = &a->cluster->blocks[rank];
    return block->pages[at] && !block->ended ? block->pages[at] : hz_shared_page(a->cluster, address);
}

void hz_range(struct hz_access *a, uint64_t address, uint64_t bytes, unsigned lane, unsigned shift)
{
    const uint64_t end = address + bytes, begin = address;
    while (address < end) {
        struct hz_page *page = page_of(a, address);
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
            struct hz_chunk *k = &page->chunks[base % HZ_PAGE / HZ_CHUNK];
            if (a->alike)
                chunk_alike(a, k, who, mask, base, shared);
            else
                chunk_access(a, k, who, mask, base, shared);
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
        a->flags =
            (uint8_t)(HZ_STRONG | (access >> 6 & 3) * HZ_SCOPE | (access & EMU_ACCESS_VOLATILE ? HZ_VOLATILE : 0));
    else if (access & EMU_ACCESS_NC)
        a->flags = HZ_NC;
    return a->h->status != 0;
}

/* What one lane accesses is mostly a part of one chunk. */
static inline void lane_access(struct hz_access *a, uint64_t address, uint32_t bytes, uint8_t lane)
{
    unsigned from = (unsigned)(address % HZ_CHUNK);
    if (from + bytes > HZ_CHUNK) {
        hz_range(a, address, bytes, lane, 7);
        return;
    }
    struct hz_page *page = page_of(a, address);
    if (page)
        chunk_access(a, &page->chunks[address % HZ_PAGE / HZ_CHUNK], lane, ((UINT32_C(1) << bytes) - 1) << from,
                     address - from, hz_is_shared(address));
}

static const uint32_t bit[HZ_LANES] = {
    0x1,       0x2,       0x4,       0x8,       0x10,       0x20,       0x40,       0x80,
    0x100,     0x200,     0x400,     0x800,     0x1000,     0x2000,     0x4000,     0x8000,
    0x10000,   0x20000,   0x40000,   0x80000,   0x100000,   0x200000,   0x400000,   0x800000,
    0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80000000,
};

/* Addresses of lanes: mostly all within the same 4 GB, and their low halves say all. */
struct lanes {
    uint64_t high;
    uint32_t low[HZ_LANES];
    const uint64_t *wide;         /* NULL: `high` is that of all */
    struct hz_page *const *pages; /* of the block's own shared memory, where all are there; or NULL */
};

static inline uint64_t place_of(const struct lanes *at, unsigned lane)
{
    return at->wide ? at->wide[lane] : at->high | at->low[lane];
}

/* Lanes whose place is that of the lane before and so many bytes. */
static uint32_t stepping(const struct lanes *at, uint32_t bytes)
{
    uint32_t steps = 0, before[HZ_LANES] = {0};
    memcpy(&before[1], at->low, sizeof before - sizeof before[0]);
    for (unsigned i = 0; i < HZ_LANES; i++)
        steps |= at->low[i] - before[i] == bytes ? bit[i] : 0;
    steps &= ~UINT32_C(1);
    for (uint32_t left = at->wide ? steps : 0; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        steps &= at->wide[lane] - at->wide[lane - 1] == bytes ? UINT32_MAX : ~bit[lane];
    }
    return steps;
}

/* The lane behind those that go on like this from the first one. */
static unsigned run_end(uint32_t steps, unsigned first)
{
    uint32_t ends = first == HZ_LANES - 1 ? 0 : ~steps & (UINT32_MAX << (first + 1));
    return ends ? (unsigned)__builtin_ctz(ends) : HZ_LANES;
}

/* Of a place in the block's own shared memory, where the shadow of that is there: as lane_access. */
static inline __attribute__((always_inline)) void own_lane_access(struct hz_access *a, const struct lanes *at,
                                                                  uint32_t bytes, unsigned lane)
{
    uint32_t low = at->low[lane], from = low % HZ_CHUNK;
    struct hz_page *page = at->pages[(low & 0xffffff) / HZ_PAGE];
    if (!page || from + bytes > HZ_CHUNK)
        lane_access(a, at->high | low, bytes, (uint8_t)lane);
    else
        chunk_access(a, &page->chunks[low % HZ_PAGE / HZ_CHUNK], (uint8_t)lane, ((UINT32_C(1) << bytes) - 1) << from,
                     at->high | (low - from), 1);
}

/* Ranges of lanes that follow each other in memory are one. */
static void lanes_access(struct hz_access *a, uint32_t lanes, const struct lanes *at, uint32_t bytes)
{
    uint32_t steps = lanes ? stepping(at, bytes) & lanes & lanes << 1 : 0;
    while (lanes) {
        unsigned first = (unsigned)__builtin_ctz(lanes), end = run_end(steps, first);
        if (end == first + 1 && at->pages)
            own_lane_access(a, at, bytes, first);
        else if (end == first + 1)
            lane_access(a, place_of(at, first), bytes, (uint8_t)first);
        else
            hz_range(a, place_of(at, first), (uint64_t)(end - first) * bytes, first, (unsigned)__builtin_ctz(bytes));
        lanes &= end == HZ_LANES ? 0u : UINT32_MAX << end;
    }
}

/* Lanes of a whole warp of which each touches the same as the one 16 further: what half of them touch, by several. */
static int by_halves(struct hz_access *a, uint32_t lanes, const struct lanes *at, uint32_t bytes)
{
    uint32_t apart = 0;
    for (unsigned i = 0; i < HZ_LANES / 2; i++)
        apart |= at->low[i] ^ at->low[i + HZ_LANES / 2];
    for (unsigned i = 0; at->wide && i < HZ_LANES / 2; i++)
        apart |= at->wide[i] != at->wide[i + HZ_LANES / 2];
    if (lanes != UINT32_MAX || apart || a->h->options.parts || (bytes & (bytes - 1)))
        return 0;
    uint32_t steps = (stepping(at, bytes) | stepping(at, 0)) & UINT16_MAX;
    a->together = lanes;
    for (unsigned i = 0, end; i < HZ_LANES / 2; i = end) {
        end = run_end(steps, i);
        hz_range(a, place_of(at, i), place_of(at, end - 1) + bytes - place_of(at, i), HZ_TOGETHER, 7);
    }
    a->together = 0;
    return 1;
}

/* What several lanes access at one place is accessed once: of all that have such company, or where lanes may meet in
   parts, and which they are matters, of the first, if they are too many to be told apart. Returns the other lanes. */
static uint32_t broadcast(struct hz_access *a, uint32_t lanes, const struct lanes *at, uint32_t bytes)
{
    if (by_halves(a, lanes, at, bytes))
        return 0;
    while (lanes) {
        unsigned first = (unsigned)__builtin_ctz(lanes);
        uint32_t equal = 0, place = at->low[first];
        for (unsigned i = 0; i < HZ_LANES; i++)
            equal |= at->low[i] == place ? bit[i] : 0;
        equal &= lanes;
        if ((equal & (equal - 1)) == 0 || (a->h->options.parts && __builtin_popcount(equal) <= HZ_LANES_TOLD))
            break;
        for (uint32_t others = at->wide ? equal : 0; others; others &= others - 1)
            if (at->wide[__builtin_ctz(others)] != at->wide[first])
                return lanes;
        a->together = equal;
        lane_access(a, place_of(at, first), bytes, HZ_TOGETHER);
        a->together = 0;
        lanes &= ~equal;
        if (a->h->options.parts)
            break;
    }
    return lanes;
}

void emu_hazard_shared(struct emu_hazard_warp *warp, uint32_t lanes, const uint32_t address[32], uint32_t offset,
                       uint32_t bytes, unsigned access, uint32_t position)
{
    struct hz_access a;
    struct lanes at = {.high = EMU_SHARED_WINDOW};
    const struct hz_warp *w = hz_warp_of(warp);
    uint32_t far = 0, apart = 0, own = w->rank << 24;
    for (unsigned i = 0; i < HZ_LANES; i++)
        at.low[i] = address[i] + offset;
    for (unsigned i = 0; i < HZ_LANES; i++) {
        far |= bit[i] & lanes ? at.low[i] ^ own : 0;
        apart |= at.low[i] ^ (at.low[0] + i * bytes);
    }
    if (far >> 24 || (access & EMU_ACCESS_STRONG)) {
        uint64_t wide[HZ_LANES];
        for (unsigned i = 0; i < HZ_LANES; i++)
            wide[i] = at.high | at.low[i];
        emu_hazard_generic(warp, lanes, wide, 0, bytes, access, position);
        return;
    }
    if (!lanes || access_begin(&a, warp, lanes, access, position))
        return;
    a.warp->touched |= lanes;
    if (far < HZ_SHARED_PAGES * HZ_PAGE && !a.cluster->blocks[w->rank].ended)
        at.pages = a.cluster->blocks[w->rank].pages;
    if (lanes == UINT32_MAX && !apart)
        hz_range(&a, at.high | at.low[0], HZ_LANES * (uint64_t)bytes, 0, (unsigned)__builtin_ctz(bytes));
    else
        lanes_access(&a, broadcast(&a, lanes, &at, bytes), &at, bytes);
}

static void guess_by(struct hz_access *a, const struct hz_record *r, uint32_t mask)
{
    struct emu_hazard *h = a->h;
    uint32_t g = 0;
    if ((r->flags & (HZ_WRITE | HZ_STRONG | HZ_ASYNC)) || !(r->mask & mask) || r->who != a->who)
        return;
    while (g < h->guess_count && h->guesses[g] != r->position)
        g++;
    if (g == h->guess_count && g < 1024 && !hz_grow(h, &h->guesses, &h->guess_room, g + 1, sizeof *h->guesses))
        h->guesses[h->guess_count++] = r->position;
}

/* What the warp has read by an ordinary read where it now compares and swaps. */
static void note_guess(struct hz_access *a, uint64_t address, uint32_t bytes)
{
    struct hz_page *page = page_of(a, address);
    if (!page)
        return;
    struct hz_chunk *k = &page->chunks[address % HZ_PAGE / HZ_CHUNK];
    uint32_t mask = ((UINT32_C(1) << bytes) - 1) << address % HZ_CHUNK;
    hz_words_join(a->h, k);
    guess_by(a, &k->read, mask);
    for (uint32_t i = listed(k); i-- > 0;)
        guess_by(a, &k->more->at[i], mask);
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
            if (a.h->flag_count || a.warp->fenced[0].count || (access & (EMU_ACCESS_RELEASE | EMU_ACCESS_POLL)))
                hz_strong(a.warp, left & (0u - left), at[__builtin_ctz(left)], access);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint64_t one = at[__builtin_ctz(left)];
        if (!hz_is_shared(one) || hz_rank(one) == a.warp->rank)
            continue;
        hz_touch_remote(a.warp, one, position);
        if (access & EMU_ACCESS_WRITE)
            hz_write_remote(a.warp, one, position);
    }
    if (!(lanes & (lanes - 1))) {
        lane_access(&a, at[__builtin_ctz(lanes)], bytes, (uint8_t)__builtin_ctz(lanes));
        return;
    }
    struct lanes near = {.high = at[__builtin_ctz(lanes)] & ~(uint64_t)UINT32_MAX};
    uint32_t elsewhere = 0;
    for (unsigned i = 0; i < HZ_LANES; i++) {
        near.low[i] = (uint32_t)at[i];
        elsewhere |= at[i] >> 32 != near.high >> 32 ? bit[i] : 0;
    }
    near.wide = elsewhere & lanes ? at : NULL;
    lanes_access(&a, broadcast(&a, lanes, &near, bytes), &near, bytes);
}
