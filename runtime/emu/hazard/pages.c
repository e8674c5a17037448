/* Pages of the shadow of shared memory, made where it is touched. */
#include "access.h"

void hz_pages_free(struct emu_hazard *h, struct hz_page **pages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct hz_page *page = pages[i];
        if (!page)
            continue;
        for (unsigned k = 0; k < HZ_PAGE / HZ_CHUNK; k++)
            if (page->chunks[k].more) /* or its words; the rest is cleared where the page is used again */
                hz_chunk_forget(h, &page->chunks[k]);
        page->next = h->free_pages;
        h->free_pages = page;
        pages[i] = NULL;
    }
}

/* What is nobody's is marked as an mbarrier's bytes are: whoever writes there is told. */
static void mark_gaps(const struct emu_hazard *h, struct hz_page *page, uint64_t first)
{
    for (uint32_t g = 0; g < h->options.gap_count; g++) {
        uint64_t from = h->options.gaps[g].address, end = from + h->options.gaps[g].bytes;
        for (uint64_t at = from > first ? from : first; at < end && at < first + HZ_PAGE; at++)
            page->chunks[(at - first) / HZ_CHUNK].marked |= (uint16_t)(1u << at % HZ_CHUNK);
    }
}

struct hz_page *hz_shared_page(struct emu_hazard_cluster *c, uint64_t address)
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
        if (*page)
            mark_gaps(c->h, *page, at * HZ_PAGE);
    }
    return *page;
}

struct hz_chunk *hz_shared_chunk(struct emu_hazard_cluster *cluster, uint64_t address)
{
    struct hz_page *page = hz_shared_page(cluster, address);
    struct hz_chunk *k = page ? &page->chunks[address % HZ_PAGE / HZ_CHUNK] : NULL;
    if (k)
        hz_words_join(cluster->h, k);
    return k;
}
