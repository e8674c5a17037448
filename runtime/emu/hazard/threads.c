/* Accesses of threads: where the lanes of a warp come to the same places, or follow each other, is found out once. */
#include "chunk.h"

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
    struct hz_page *page = hz_page_of(a, address);
    if (page)
        hz_chunk_access(a, &page->chunks[address % HZ_PAGE / HZ_CHUNK], lane, ((UINT32_C(1) << bytes) - 1) << from,
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

/* ---- Of the block's own shared memory ---------------------------------------------------------------------------- */

/* An ordinary access to several words of a chunk by words. */
static inline __attribute__((always_inline)) void own_words(const struct hz_access *a, struct hz_chunk *k, uint8_t lane,
                                                            uint32_t mask, uint64_t address, int writes,
                                                            struct hz_hurry *hurry)
{
    if (writes && mask == 0xffff && k->splits < HZ_SPLITS) {
        hz_chunk_access(a, k, lane, mask, address, 1);
        return;
    }
    for (uint32_t left = mask, part; left; left &= ~part) {
        struct hz_chunk *word = &k->words->at[(unsigned)__builtin_ctz(left) / 4];
        part = left & UINT32_C(15) << (__builtin_ctz(left) & 12);
        if (writes ? !hz_write_at_once(hurry, word, lane, part) : !hz_read_at_once(a, hurry, word, lane, part))
            hz_part_access(a, k, word, lane, part, address);
    }
}

/* An ordinary access to a part of one chunk. */
static inline __attribute__((always_inline)) void own_access(const struct hz_access *a, struct hz_chunk *k,
                                                             uint8_t lane, uint32_t mask, uint64_t address, int writes,
                                                             struct hz_hurry *hurry)
{
    struct hz_chunk *part = k;
    if (k->split) {
        part = &k->words->at[(unsigned)__builtin_ctz(mask) / 4];
        if (mask & ~(UINT32_C(15) << (__builtin_ctz(mask) & 12))) {
            own_words(a, k, lane, mask, address, writes, hurry);
            return;
        }
    }
    if (writes ? !hz_write_at_once(hurry, part, lane, mask) : !hz_read_at_once(a, hurry, part, lane, mask))
        hz_part_access(a, k, part, lane, mask, address);
}

/* As hz_range, from this place on. */
static inline __attribute__((always_inline)) void own_chunks(struct hz_access *a, struct hz_page *const *pages,
                                                             uint32_t low, uint32_t bytes, unsigned lane,
                                                             unsigned shift, int writes)
{
    struct hz_hurry hurry = hz_hurry(a);
    for (uint32_t at = low, end = low + bytes, stop; at < end; at = stop) {
        uint32_t base = at & ~(uint32_t)(HZ_CHUNK - 1), from = at - base;
        struct hz_page *page = pages[(at & 0xffffff) / HZ_PAGE];
        unsigned first = shift == 7 ? lane : (lane + ((at - low) >> shift)) & 31, code = first;
        stop = base + HZ_CHUNK < end ? base + HZ_CHUNK : end;
        if (!page) {
            hz_range(a, EMU_SHARED_WINDOW | at, stop - at, first, shift);
            continue;
        }
        if (shift < 4)
            code = ((first - (from >> shift)) & 31) | (shift + HZ_LANE_BYTE) << 5;
        own_access(a, &page->chunks[at % HZ_PAGE / HZ_CHUNK], (uint8_t)code,
                   (UINT32_C(1) << (stop - base)) - (UINT32_C(1) << from), EMU_SHARED_WINDOW | base, writes, &hurry);
    }
}

static __attribute__((noinline)) void own_range(struct hz_access *a, struct hz_page *const *pages, uint32_t low,
                                                uint32_t bytes, unsigned lane, unsigned shift)
{
    if (a->writes)
        own_chunks(a, pages, low, bytes, lane, shift, 1);
    else
        own_chunks(a, pages, low, bytes, lane, shift, 0);
}

static inline __attribute__((always_inline)) void own_lanes(struct hz_access *a, uint32_t lanes, uint32_t steps,
                                                            const struct lanes *at, uint32_t bytes, int writes)
{
    struct hz_hurry hurry = hz_hurry(a);
    unsigned shift = (unsigned)__builtin_ctz(bytes);
    for (uint32_t alone = ~(steps | steps >> 1); lanes;) {
        unsigned first = (unsigned)__builtin_ctz(lanes), code = first;
        uint32_t low = at->low[first], from = low % HZ_CHUNK, all = bytes;
        if (alone >> first & 1) {
            lanes &= lanes - 1;
        } else {
            unsigned end = run_end(steps, first);
            lanes &= end == HZ_LANES ? 0u : UINT32_MAX << end;
            all = (end - first) * bytes;
            code = ((first - (from >> shift)) & 31) | (shift + HZ_LANE_BYTE) << 5;
        }
        struct hz_page *page = at->pages[(low & 0xffffff) / HZ_PAGE];
        if (page && from + all <= HZ_CHUNK)
            own_access(a, &page->chunks[low % HZ_PAGE / HZ_CHUNK], (uint8_t)code, ((UINT32_C(1) << all) - 1) << from,
                       at->high | (low - from), writes, &hurry);
        else if (all == bytes)
            lane_access(a, at->high | low, bytes, (uint8_t)first);
        else
            own_range(a, at->pages, low, all, first, shift);
    }
}

/* A whole warp's lanes that leave out as many bytes as each accesses, as fields of pairs: chunk by chunk, if these are
   not by words. */
static int every_other(struct hz_access *a, const struct lanes *at, uint32_t bytes)
{
    static const uint16_t patterns[] = {[1] = 0x5555, [2] = 0x3333, [4] = 0x0f0f};
    uint32_t low = at->low[0], step = 2 * bytes, phase = low % step, bad = low & (bytes - 1);
    uint32_t end = low + (HZ_LANES - 1) * step + bytes, shift = (uint32_t)__builtin_ctz(step);
    struct hz_hurry hurry = hz_hurry(a);
    for (uint32_t i = 0; i < HZ_LANES; i++)
        bad |= at->low[i] ^ (low + i * step);
    const struct hz_page *first = at->pages ? at->pages[(low & 0xffffff) / HZ_PAGE] : NULL;
    if (bad || end < low || (first && first->chunks[low % HZ_PAGE / HZ_CHUNK].split))
        return 0;
    for (uint32_t base = low & ~(HZ_CHUNK - 1u); base < end; base += HZ_CHUNK) {
        struct hz_page *page = hz_page_of(a, at->high | base);
        uint32_t lane = ((base - (low - phase)) >> shift) & 31, mask = (uint32_t)patterns[bytes] << phase;
        if (base < low)
            mask &= UINT32_MAX << (low - base);
        if (end - base < HZ_CHUNK)
            mask &= (UINT32_C(1) << (end - base)) - 1;
        struct hz_chunk *k = page ? &page->chunks[base % HZ_PAGE / HZ_CHUNK] : NULL;
        uint8_t code = (uint8_t)(lane | (shift + HZ_LANE_BYTE) << 5);
        if (k && at->pages)
            own_access(a, k, code, mask, at->high | base, a->writes, &hurry);
        else if (k)
            hz_chunk_access(a, k, code, mask, at->high | base, hz_is_shared(at->high));
    }
    return 1;
}

/* Ranges of lanes that follow each other in memory are one. */
static void lanes_access(struct hz_access *a, uint32_t lanes, const struct lanes *at, uint32_t bytes)
{
    if (lanes == UINT32_MAX && !at->wide && (bytes <= 2 || bytes == 4) && at->low[1] - at->low[0] == 2 * bytes &&
        every_other(a, at, bytes))
        return;
    uint32_t steps = lanes ? stepping(at, bytes) & lanes & lanes << 1 : 0;
    if (at->pages) {
        if (a->writes)
            own_lanes(a, lanes, steps, at, bytes, 1);
        else
            own_lanes(a, lanes, steps, at, bytes, 0);
        return;
    }
    while (lanes) {
        unsigned first = (unsigned)__builtin_ctz(lanes), end = run_end(steps, first);
        if (end == first + 1)
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
    if (lanes != UINT32_MAX || at->low[0] != at->low[HZ_LANES / 2] || a->h->options.parts || (bytes & (bytes - 1)))
        return 0;
    for (unsigned i = 0; i < HZ_LANES / 2; i++)
        apart |= at->low[i] ^ at->low[i + HZ_LANES / 2];
    for (unsigned i = 0; at->wide && i < HZ_LANES / 2; i++)
        apart |= at->wide[i] != at->wide[i + HZ_LANES / 2];
    if (apart)
        return 0;
    uint32_t steps = (stepping(at, bytes) | stepping(at, 0)) & UINT16_MAX;
    a->together = lanes;
    for (unsigned i = 0, end; i < HZ_LANES / 2; i = end) {
        end = run_end(steps, i);
        if (at->pages)
            own_range(a, at->pages, at->low[i], at->low[end - 1] + bytes - at->low[i], HZ_TOGETHER, 7);
        else
            hz_range(a, place_of(at, i), place_of(at, end - 1) + bytes - place_of(at, i), HZ_TOGETHER, 7);
    }
    a->together = 0;
    return 1;
}

/* The same where a glance shows it: both halves of the warp in one row, or each at one place. */
static int halves(struct hz_access *a, const struct lanes *at, uint32_t bytes)
{
    enum { HALF = HZ_LANES / 2 };
    uint32_t step = at->low[1] - at->low[0], bad = 0;
    if (step && (step != bytes || at->low[HALF] != at->low[0]))
        return 0;
    for (uint32_t i = 0; i < HALF; i++)
        bad |= (at->low[i] ^ (at->low[0] + i * step)) | (at->low[HALF + i] ^ (at->low[HALF] + i * step));
    if (bad)
        return 0;
    a->together = at->low[HALF] == at->low[0] ? UINT32_MAX : UINT16_MAX;
    own_range(a, at->pages, at->low[0], step ? HALF * bytes : bytes, HZ_TOGETHER, 7);
    if (a->together == UINT16_MAX) {
        a->together <<= HALF;
        own_range(a, at->pages, at->low[HALF], bytes, HZ_TOGETHER, 7);
    }
    a->together = 0;
    return 1;
}

/* What several lanes access at one place is accessed once: of all that have such company, or where lanes may meet in
   parts, and which they are matters, of the first, if they are too many to be told apart. Returns the other lanes. */
static uint32_t broadcast(struct hz_access *a, uint32_t lanes, const struct lanes *at, uint32_t bytes)
{
    if (lanes == UINT32_MAX && at->pages && !a->h->options.parts && halves(a, at, bytes))
        return 0;
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
        if (at->pages)
            own_range(a, at->pages, place, bytes, HZ_TOGETHER, 7);
        else
            lane_access(a, place_of(at, first), bytes, HZ_TOGETHER);
        a->together = 0;
        lanes &= ~equal;
        if (a->h->options.parts)
            break;
    }
    return lanes;
}

/* What the executor has found to be one row, or one place. 1: it is not so simple. */
static int own_together(struct hz_access *a, struct emu_hazard_warp *warp, uint32_t lanes, uint32_t low, uint32_t bytes,
                        unsigned access, uint32_t position)
{
    const struct hz_warp *w = hz_warp_of(warp);
    const struct hz_block *block = &w->cluster->blocks[w->rank];
    uint32_t at = low ^ w->rank << 24, count = (uint32_t)__builtin_popcount(lanes);
    if ((access & (EMU_ACCESS_STRONG | EMU_ACCESS_NC)) || at >= (HZ_SHARED_PAGES - 1) * HZ_PAGE || block->ended ||
        w->cluster->partials ||
        (access & EMU_ACCESS_ROW ? lanes != UINT32_MAX
                                 : count < 2 || (w->cluster->h->options.parts && count <= HZ_LANES_TOLD)))
        return 1;
    if (access_begin(a, warp, lanes, access, position))
        return 0;
    a->warp->touched |= lanes;
    if (access & EMU_ACCESS_ROW) {
        own_range(a, block->pages, low, HZ_LANES * bytes, 0, (unsigned)__builtin_ctz(bytes));
        return 0;
    }
    a->together = lanes;
    own_range(a, block->pages, low, bytes, HZ_TOGETHER, 7);
    a->together = 0;
    return 0;
}

void emu_hazard_shared(struct emu_hazard_warp *warp, uint32_t lanes, const uint32_t address[32], uint32_t offset,
                       uint32_t bytes, unsigned access, uint32_t position)
{
    struct hz_access a;
    struct lanes at = {.high = EMU_SHARED_WINDOW};
    const struct hz_warp *w = hz_warp_of(warp);
    uint32_t far = 0, own = w->rank << 24;
    if (!lanes)
        return;
    if ((access & (EMU_ACCESS_ROW | EMU_ACCESS_PLACE)) &&
        !own_together(&a, warp, lanes, address[__builtin_ctz(lanes)] + offset, bytes, access, position))
        return;
    for (unsigned i = 0; i < HZ_LANES; i++)
        at.low[i] = address[i] + offset;
    for (unsigned i = 0; !(access & EMU_ACCESS_OWN) && i < HZ_LANES; i++)
        far |= bit[i] & lanes ? at.low[i] ^ own : 0;
    if (far >> 24 || (access & EMU_ACCESS_STRONG)) {
        uint64_t wide[HZ_LANES];
        for (unsigned i = 0; i < HZ_LANES; i++)
            wide[i] = at.high | at.low[i];
        emu_hazard_generic(warp, lanes, wide, 0, bytes, access & ~(unsigned)EMU_ACCESS_ROW, position);
        return;
    }
    if (access_begin(&a, warp, lanes, access, position))
        return;
    a.warp->touched |= lanes;
    if (far < HZ_SHARED_PAGES * HZ_PAGE && !a.cluster->blocks[w->rank].ended && !a.flags && !a.cluster->partials)
        at.pages = a.cluster->blocks[w->rank].pages;
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
    struct hz_page *page = hz_page_of(a, address);
    if (!page)
        return;
    struct hz_chunk *k = &page->chunks[address % HZ_PAGE / HZ_CHUNK];
    uint32_t mask = ((UINT32_C(1) << bytes) - 1) << address % HZ_CHUNK;
    hz_words_join(a->h, k);
    guess_by(a, &k->read, mask);
    for (uint32_t i = hz_listed(k); i-- > 0;)
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
    if ((access & EMU_ACCESS_ROW) && !(access & EMU_ACCESS_STRONG) && lanes == UINT32_MAX &&
        !hz_is_shared(address[0] + offset)) {
        hz_range(&a, address[0] + offset, HZ_LANES * (uint64_t)bytes, 0, (unsigned)__builtin_ctz(bytes));
        return;
    }
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
