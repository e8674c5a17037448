/* Global memory: which bytes were ever written, over launches, and the shadow of one launch, made where it is
   touched. */
#include "access.h"

/* ---- Over launches ----------------------------------------------------------------------------------------------- */

static size_t slot_of(uint64_t key, size_t count)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (count - 1);
}

int emu_hazard_memory_open(struct tw_runtime *rt, struct emu_hazard_memory **memory, struct tw_error *error)
{
    *memory = tw_alloc_zeroed(rt, sizeof **memory);
    if (!*memory)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory for the hazard engine");
    (*memory)->rt = rt;
    return TW_OK;
}

void emu_hazard_memory_close(struct emu_hazard_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < memory->slot_count; i++)
        tw_free(memory->rt, memory->slots[i]);
    tw_free(memory->rt, memory->slots);
    tw_free(memory->rt, memory);
}

static struct hz_memory_page *memory_page(struct emu_hazard_memory *m, uint64_t key, int make)
{
    if (make && 2 * (m->count + 1) > m->slot_count) {
        size_t count = m->slot_count ? 2 * m->slot_count : 256;
        struct hz_memory_page **slots = tw_alloc_zeroed(m->rt, count * sizeof *slots);
        if (!slots) {
            m->failed = 1;
            return NULL;
        }
        for (size_t i = 0; i < m->slot_count; i++)
            if (m->slots[i]) {
                size_t at = slot_of(m->slots[i]->key, count);
                while (slots[at])
                    at = (at + 1) & (count - 1);
                slots[at] = m->slots[i];
            }
        tw_free(m->rt, m->slots);
        m->slots = slots;
        m->slot_count = count;
    }
    if (!m->slot_count)
        return NULL;
    size_t at = slot_of(key, m->slot_count);
    for (; m->slots[at]; at = (at + 1) & (m->slot_count - 1))
        if (m->slots[at]->key == key)
            return m->slots[at];
    if (!make)
        return NULL;
    m->slots[at] = tw_alloc_zeroed(m->rt, sizeof **m->slots);
    if (!m->slots[at]) {
        m->failed = 1;
        return NULL;
    }
    m->slots[at]->key = key;
    m->slots[at]->launch = m->launch;
    m->count++;
    return m->slots[at];
}

static void bits_set(uint64_t *bits, unsigned from, unsigned to, int value)
{
    while (from < to) {
        unsigned end = (from | 63) + 1 < to ? (from | 63) + 1 : to, count = end - from;
        uint64_t mask = (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << (from & 63);
        bits[from / 64] = value ? bits[from / 64] | mask : bits[from / 64] & ~mask;
        from = end;
    }
}

static void defined(struct emu_hazard_memory *m, uint64_t address, uint64_t bytes, int value)
{
    for (uint64_t at = address, end = address + bytes; at < end && !m->failed;) {
        uint64_t key = at / HZ_MEMORY_PAGE, stop = (key + 1) * HZ_MEMORY_PAGE;
        stop = stop < end ? stop : end;
        struct hz_memory_page *page = memory_page(m, key, value);
        if (page) {
            unsigned from = (unsigned)(at % HZ_MEMORY_PAGE), to = from + (unsigned)(stop - at);
            bits_set(page->defined, from, to, value);
            bits_set(page->now, from, to, 0);
            bits_set(page->before, from, to, 0);
        }
        at = stop;
    }
}

void emu_hazard_memory_fresh(struct emu_hazard_memory *memory, uint64_t address, uint64_t bytes)
{
    defined(memory, address, bytes, 0);
}

void emu_hazard_memory_written(struct emu_hazard_memory *memory, uint64_t address, uint64_t bytes)
{
    defined(memory, address, bytes, 1);
}

static void memory_turn(const struct emu_hazard_memory *m, struct hz_memory_page *page) /* to the present launch */
{
    if (page->launch == m->launch)
        return;
    if (page->launch + 1 == m->launch)
        memcpy(page->before, page->now, sizeof page->before);
    else
        memset(page->before, 0, sizeof page->before);
    memset(page->now, 0, sizeof page->now);
    page->launch = m->launch;
}

void hz_global_written(struct emu_hazard *h, uint64_t address, uint32_t mask)
{
    struct emu_hazard_memory *m = h->options.memory;
    if (!m || m->failed)
        return;
    struct hz_memory_page *page = memory_page(m, address / HZ_MEMORY_PAGE, 1);
    if (!page)
        return;
    memory_turn(m, page);
    unsigned at = (unsigned)(address % HZ_MEMORY_PAGE);
    page->defined[at / 64] |= (uint64_t)mask << at % 64;
    page->now[at / 64] |= (uint64_t)mask << at % 64;
}

/* ---- Of one launch ----------------------------------------------------------------------------------------------- */

static void page_fill(struct emu_hazard *h, struct hz_page *page)
{
    struct emu_hazard_memory *m = h->options.memory;
    uint64_t address = page->key * HZ_PAGE;
    struct hz_memory_page *known = m && !m->failed ? memory_page(m, address / HZ_MEMORY_PAGE, 0) : NULL;
    if (known)
        memory_turn(m, known);
    for (unsigned i = 0; i < HZ_PAGE / HZ_CHUNK; i++) {
        struct hz_chunk *k = &page->chunks[i];
        unsigned at = (unsigned)(address % HZ_MEMORY_PAGE) + i * HZ_CHUNK;
        k->written = (uint16_t)(!m || m->failed ? 0xffffu : known ? known->defined[at / 64] >> at % 64 : 0u);
        if (!known)
            continue;
        k->marked = (uint16_t)(known->now[at / 64] >> at % 64);
        uint16_t before = (uint16_t)(known->before[at / 64] >> at % 64);
        if (h->options.programmatic && before)
            k->write = (struct hz_record){
                .epoch = 1, .position = EMU_HAZARD_NOWHERE, .mask = before, .lane = HZ_MIXED << 5, .flags = HZ_WRITE};
    }
}

static void global_forget(struct emu_hazard *h)
{
    for (size_t i = 0; i < h->global_slots; i++)
        if (h->global[i])
            hz_pages_free(h, &h->global[i], 1);
    h->global_count = 0;
    memset(h->global_recent, 0, sizeof h->global_recent);
}

void hz_global_free(struct emu_hazard *h)
{
    if (h->global)
        global_forget(h);
    tw_free(h->rt, h->global);
    h->global = NULL;
    h->global_slots = 0;
}

static struct hz_page *global_page_slow(struct emu_hazard *h, uint64_t key)
{
    if (h->global_count >= h->global_most)
        global_forget(h);
    if (2 * (h->global_count + 1) > h->global_slots) {
        size_t count = h->global_slots ? 2 * h->global_slots : 1024;
        struct hz_page **slots = hz_alloc(h, count * sizeof *slots);
        if (!slots)
            return NULL;
        for (size_t i = 0; i < h->global_slots; i++)
            if (h->global[i]) {
                size_t at = slot_of(h->global[i]->key, count);
                while (slots[at])
                    at = (at + 1) & (count - 1);
                slots[at] = h->global[i];
            }
        tw_free(h->rt, h->global);
        h->global = slots;
        h->global_slots = count;
    }
    size_t at = slot_of(key, h->global_slots);
    for (; h->global[at]; at = (at + 1) & (h->global_slots - 1))
        if (h->global[at]->key == key)
            return h->global[at];
    struct hz_page *page = h->free_pages;
    if (page) {
        h->free_pages = page->next;
        memset(page, 0, sizeof *page);
    } else {
        page = hz_alloc(h, sizeof *page);
        if (!page)
            return NULL;
    }
    page->key = key;
    page_fill(h, page);
    h->global[at] = page;
    h->global_count++;
    return page;
}

struct hz_page *hz_global_page(struct hz_access *access, uint64_t address)
{
    struct emu_hazard *h = access->h;
    uint64_t key = address / HZ_PAGE;
    struct hz_page **recent = &h->global_recent[key % HZ_RECENT];
    if (!*recent || (*recent)->key != key)
        *recent = global_page_slow(h, key);
    return *recent;
}
