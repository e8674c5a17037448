/* The shadow of memory: for each 16 bytes who wrote last and who has read since. */
#include "chunk.h"

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

static inline void push(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, int write)
{
    struct hz_record *r = hz_list_push(a->h, k);
    if (!r)
        return;
    hz_put(r, a, lane, mask, write);
    if (!write)
        k->more->readers |= hz_reader(a->who);
}

static inline void check(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask,
                         uint64_t address)
{
    if (!(r->flags & HZ_WRITE) && !a->writes)
        return;
    if (a->async_proxy || hz_quick(a, r, lane) != HZ_KNOWN) /* else fences matter, too */
        hz_check(a, r, lane, mask, address);
}

static inline int covers(const struct hz_access *a, const struct hz_record *r, uint8_t lane, uint32_t mask)
{
    if (!a->async_proxy) {
        enum hz_quick answer = hz_quick(a, r, lane);
        if (answer == HZ_NOT_KNOWN || (answer == HZ_KNOWN && !(a->flags & HZ_STRONG)))
            return answer == HZ_KNOWN;
    }
    return hz_covers(a, r, lane, mask);
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
    if (!k->more || a->again || k->more->owners > 1 || !(k->more->readers & hz_reader(a->who)))
        return 0;
    for (uint32_t i = hz_listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (r->who != a->who || (r->flags & HZ_WRITE))
            continue;
        if (hz_read_before(a, r, lane, mask)) {
            to_front(k, r);
            return 1;
        }
        if (hz_alike_read(a, r) && !(mask & ~(uint32_t)r->mask) && hz_by_several(a, r, lane))
            *theirs = r;
    }
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

/* Whether to remember a chunk by words from now on: threads access one of them each, but not all of the chunk, and its
   records are too many to stand in it. Operations come to whole tiles, and what they write stays together. */
static inline int splits(const struct hz_access *a, const struct hz_chunk *k, uint8_t lane, uint32_t mask,
                         uint64_t address)
{
    int words = lane >> 5 == HZ_ONE_LANE        ? mask == 15u << (__builtin_ctz(mask) & 12)
                : lane >> 5 == HZ_LANE_BYTE + 2 ? mask != 0xffff && (mask & 0x1111) * 15 == mask
                                                : 0;
    return words && (k->written & ~mask) && hz_is_shared(address) && !a->operation &&
           !(k->write.mask && (k->write.flags & HZ_ASYNC));
}

/* An ordinary read of what is known to be written, by a warp that has no read here yet, and unordered with all reads
   that are: one more. 1: it is not so simple. The records of shared memory are of one cluster. */
static int one_more_reader(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask, uint64_t address)
{
    const struct hz_list *list = k->more;
    if (k->read.who == a->who || !k->read.mask || a->flags || a->async_proxy || a->operation ||
        (mask & ~(uint32_t)k->written) || !hz_knows(a, &k->write, lane, mask))
        return 1;
    if (list ? list->owners > 1 || (list->readers & hz_reader(a->who)) || list->count >= HZ_READERS_SHARED - 1
             : splits(a, k, lane, mask, address))
        return 1;
    const uint32_t *clock = a->clock;
    const struct hz_record *r = &k->read, *next = list ? list->at : NULL, *end = list ? next + list->count : NULL;
    for (;; r = next++) {
        if (r->flags || ((r->mask & mask) && clock[hz_component_of(r->who)] >= r->epoch))
            return 1;
        if (next == end)
            break;
    }
    if (!list) /* the other warps of the block are to come */
        k->more = hz_list_new(a->h, a->h->warps > hz_list_room(0) + 1);
    push(a, k, lane, mask, 0);
    return 0;
}

/* An ordinary write of all that is remembered of a chunk but reads by one, known each: it alone is left. 1: it is not
   so simple. */
static int write_over(const struct hz_access *a, struct hz_chunk *k, uint8_t lane, uint32_t mask)
{
    if (a->flags || a->reads || a->async_proxy || a->operation || !k->more || (k->marked & mask) ||
        (k->write.mask & ~mask) || !hz_knows(a, &k->write, lane, mask) || !hz_knows(a, &k->read, lane, mask))
        return 1;
    for (const struct hz_record *r = k->more->at, *end = r + k->more->count; r < end; r++)
        if ((r->mask & ~mask) || hz_quick(a, r, lane) != HZ_KNOWN)
            return 1;
    hz_list_leave(a->h, k->more);
    k->more = NULL;
    k->full = 0;
    k->written |= (uint16_t)mask;
    k->read.mask &= (uint16_t)~mask;
    hz_put(&k->write, a, lane, mask, 1);
    return 0;
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
        hz_put(&k->read, a, lane, mask, 0);
        return;
    }
    if (h->lists_shared) {
        theirs = NULL;
        if (hz_list_own(h, k))
            return;
    }
    if (hz_alike_read(a, &k->read) && !(mask & ~(uint32_t)k->read.mask) && hz_by_several(a, &k->read, lane))
        theirs = &k->read;
    uint8_t as = lane;
    if (theirs) { /* these bytes are no longer one lane's alone */
        theirs->mask &= (uint16_t)~mask;
        as = HZ_TOGETHER;
    }
    int merged = 0, empty = 0, writes = 0;
    uint32_t readers = 0, alike = hz_alike_read(a, &k->read);
    struct hz_record *last = NULL;
    if (hz_same(a, &k->read, as, 0)) {
        hz_merge(&k->read, a, as, mask);
        merged = 1;
    } else if ((k->read.mask & mask) && covers(a, &k->read, lane, mask)) {
        k->read.mask &= (uint16_t)~mask;
    }
    for (uint32_t i = hz_listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (r->flags & HZ_WRITE) {
            writes = 1;
            if (r->mask & mask)
                check(a, r, lane, mask, address);
            continue;
        }
        readers++;
        if (hz_alike_read(a, r)) {
            alike++;
            last = r;
        }
        if (!merged && hz_same(a, r, as, 0)) {
            hz_merge(r, a, as, mask);
            merged = 1;
        } else if ((r->mask & mask) && covers(a, r, lane, mask)) {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        if (!k->read.mask) {
            hz_put(&k->read, a, as, mask, 0);
        } else if (alike >= HZ_LANES_TOLD) {
            if (!hz_alike_read(a, &k->read))
                to_front(k, last);
            hz_merge(&k->read, a, as, mask);
        } else if (readers < (hz_is_shared(address) ? HZ_READERS_SHARED : HZ_READERS_GLOBAL) || empty) {
            push(a, k, as, mask, 0);
        } else {
            hz_put(&k->read, a, as, mask, 0); /* one of many: the oldest is forgotten */
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
    if (hz_same(a, &k->write, lane, 1)) {
        hz_merge(&k->write, a, lane, mask);
        merged = 1;
    } else {
        k->write.mask &= (uint16_t)~mask;
    }
    int kept = 0;
    for (uint32_t i = hz_listed(k); i-- > 0;) {
        const struct hz_record *r = &k->more->at[i];
        if (r->mask & mask)
            check(a, r, lane, mask, address);
        kept |= (r->mask & ~mask) || (!merged && hz_same(a, r, lane, 1));
    }
    if (!kept)
        hz_chunk_forget(h, k);
    else if (h->lists_shared && hz_list_own(h, k))
        return;
    for (uint32_t i = hz_listed(k); i-- > 0;) {
        struct hz_record *r = &k->more->at[i];
        if (!merged && hz_same(a, r, lane, 1)) {
            hz_merge(r, a, lane, mask);
            merged = 1;
        } else {
            r->mask &= (uint16_t)~mask;
            empty |= !r->mask;
        }
    }
    if (!merged) {
        if (!k->write.mask)
            hz_put(&k->write, a, lane, mask, 1);
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
        if (!a->again && hz_read_before(a, &k->read, lane, mask))
            return;
        if (!k->more && !(mask & ~(uint32_t)k->written) && !a->async_proxy && hz_knows(a, &k->write, lane, mask) &&
            hz_knows(a, &k->read, lane, mask) && !(a->flags & HZ_STRONG) && !(a->flags & HZ_NC && k->marked & mask)) {
            if (hz_same(a, &k->read, lane, 0)) {
                hz_merge(&k->read, a, lane, mask);
                return;
            }
            if (!(k->read.mask & ~mask)) {
                hz_put(&k->read, a, lane, mask, 0);
                return;
            }
        }
        if (!shared || one_more_reader(a, k, lane, mask, address))
            chunk_read(a, k, lane, mask, address);
        return;
    }
    if (!k->more && !a->async_proxy && !a->reads && hz_knows(a, &k->write, lane, mask) &&
        hz_knows(a, &k->read, lane, mask) && !(shared ? k->marked & mask : mask & ~(uint32_t)k->marked)) {
        int merges = hz_same(a, &k->write, lane, 1);
        if (merges || !(k->write.mask & ~mask)) {
            k->written |= (uint16_t)mask;
            k->read.mask &= (uint16_t)~mask;
            if (merges)
                hz_merge(&k->write, a, lane, mask);
            else
                hz_put(&k->write, a, lane, mask, 1);
            return;
        }
    }
    if (!shared || write_over(a, k, lane, mask))
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
        if (word->more || word->marked || !hz_knows(a, &word->write, lane, mask) ||
            !hz_knows(a, &word->read, lane, mask))
            return 0;
    }
    hz_words_leave(a->h, k);
    k->written = (uint16_t)mask;
    hz_put(&k->write, a, lane, mask, 1);
    return 1;
}

/* An access to words of a chunk; a write of all of them makes it whole again, if it is not in turns that threads access
   its words and all of it. What operations do is remembered by whole chunks. */
static __attribute__((noinline)) void words_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                   uint32_t mask, uint64_t address)
{
    if (a->operation || (a->writes && mask == 0xffff && k->splits < HZ_SPLITS)) {
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

__attribute__((noinline)) void hz_chunk_access(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                               uint32_t mask, uint64_t address, int shared)
{
    chunk_access(a, k, lane, mask, address, shared);
}

void hz_part_access(const struct hz_access *a, struct hz_chunk *k, struct hz_chunk *part, uint8_t lane, uint32_t mask,
                    uint64_t address)
{
    struct hz_record *theirs = NULL;
    if (a->writes ? !write_over(a, part, lane, mask)
                  : (part->read.mask && !part->full && read_in_list(a, part, lane, mask, &theirs)) ||
                        !one_more_reader(a, part, lane, mask, address))
        return;
    chunk_access(a, k, lane, mask, address, 1);
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

/* ---- Ranges ------------------------------------------------------------------------------------------------------ */

void hz_range(struct hz_access *a, uint64_t address, uint64_t bytes, unsigned lane, unsigned shift)
{
    const uint64_t end = address + bytes, begin = address;
    while (address < end) {
        struct hz_page *page = hz_page_of(a, address);
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
