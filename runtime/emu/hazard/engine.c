/* The engine's life: launches, clusters, warps and their lanes, the ends of blocks. */
#include "engine.h"

void *hz_alloc(struct emu_hazard *h, size_t bytes)
{
    void *p = tw_alloc_zeroed(h->rt, bytes);
    if (!p)
        h->status = TW_ERROR_MEMORY;
    return p;
}

int hz_grow(struct emu_hazard *h, void *array, uint32_t *room, uint32_t count, size_t item)
{
    if (count <= *room)
        return 0;
    uint32_t more = *room < 8 ? 8 : 2 * *room;
    if (more < count)
        more = count;
    void *old;
    memcpy(&old, array, sizeof old);
    unsigned char *bytes = tw_realloc(h->rt, old, more * item);
    if (!bytes) {
        h->status = TW_ERROR_MEMORY;
        return 1;
    }
    memset(bytes + *room * item, 0, (more - *room) * item);
    *room = more;
    memcpy(array, &bytes, sizeof bytes);
    return 0;
}

int emu_hazard_open(struct tw_runtime *rt, const struct emu_hazard_options *options, struct emu_hazard **hazard,
                    struct tw_error *error)
{
    *hazard = NULL;
    if (options->blocks < 1 || options->blocks > 16 || options->threads < 1 || options->threads > 1024)
        return tw_fail(error, TW_ERROR_INVALID, "hazards: %u threads in clusters of %u blocks", options->threads,
                       options->blocks);
    struct emu_hazard *h = tw_alloc_zeroed(rt, sizeof *h);
    if (!h)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory for the hazard engine");
    h->rt = rt;
    h->options = *options;
    h->warps = (options->threads + HZ_LANES - 1) / HZ_LANES;
    h->global_most = (options->shadow_bytes ? options->shadow_bytes : (size_t)256 << 20) / sizeof(struct hz_page);
    if (options->memory)
        options->memory->launch++;
    *hazard = h;
    return TW_OK;
}

int emu_hazard_status(const struct emu_hazard *hazard)
{
    return hazard->status;
}

struct emu_hazard_cluster *hz_cluster_of(struct emu_hazard *h, uint32_t serial)
{
    for (struct emu_hazard_cluster *c = h->clusters; c; c = c->next)
        if (c->serial == serial)
            return c;
    return NULL;
}

uint32_t hz_full(const struct hz_warp *warp)
{
    uint32_t left = warp->cluster->h->options.threads - warp->index * HZ_LANES;
    return left >= HZ_LANES ? UINT32_MAX : (UINT32_C(1) << left) - 1;
}

struct emu_hazard_cluster *emu_hazard_cluster_begin(struct emu_hazard *hazard, uint64_t first)
{
    if (hazard->status)
        return NULL;
    struct emu_hazard_cluster *c = hz_alloc(hazard, sizeof *c);
    if (!c)
        return NULL;
    uint32_t warps = hazard->options.blocks * hazard->warps;
    c->h = hazard;
    c->first = first;
    hazard->next_serial = hazard->next_serial + 1 == HZ_SERIALS ? 1 : hazard->next_serial + 1;
    c->serial = hazard->next_serial;
    c->components = 1 + warps;
    c->room = (c->components + 15 + 16) & ~15u;
    c->collect_at = 1 << 15;
    c->next = hazard->clusters;
    hazard->clusters = c;
    c->warps = hz_alloc(hazard, warps * sizeof *c->warps);
    c->blocks = hz_alloc(hazard, hazard->options.blocks * sizeof *c->blocks);
    if (!c->warps || !c->blocks)
        goto fail;
    for (uint32_t rank = 0; rank < hazard->options.blocks; rank++) {
        c->blocks[rank].live_warps = hazard->warps;
        for (uint32_t i = 0; i < hazard->warps; i++) {
            struct hz_warp *w = &c->warps[rank * hazard->warps + i];
            w->cluster = c;
            w->rank = rank;
            w->index = i;
            w->component = 1 + rank * hazard->warps + i;
            w->alive = w->lanes = hz_full(w);
            w->synced = 1;
            w->clock.at = hz_alloc(hazard, c->room * sizeof(uint32_t));
            if (!w->clock.at)
                goto fail;
            w->clock.count = c->room;
            w->clock.at[0] = hazard->options.programmatic ? 0 : 1;
            w->clock.at[w->component] = 1;
        }
    }
    return c;
fail:
    emu_hazard_cluster_end(c);
    return NULL;
}

static void warp_free(struct emu_hazard *h, struct hz_warp *w)
{
    hz_clock_free(h, &w->clock);
    hz_clock_free(h, &w->behind);
    hz_clock_free(h, &w->inits);
    for (int i = 0; i < HZ_PROXIED; i++)
        hz_clock_free(h, &w->proxied[i].clock);
    hz_known_clear(h, &w->known);
    hz_known_clear(h, &w->fenced_known);
    for (int i = 0; i < HZ_SCOPES; i++) {
        hz_clock_free(h, &w->fenced[i]);
        hz_known_clear(h, &w->seen[i]);
    }
    hz_clock_free(h, &w->tensor.clock);
    for (int i = 0; i < EMU_HAZARD_ASYNC_KINDS; i++)
        tw_free(h->rt, w->groups[i].pending);
    tw_free(h->rt, w->met);
    tw_free(h->rt, w->registers);
    tw_free(h->rt, w->known_registers);
    tw_free(h->rt, w->face.registers);
    tw_free(h->rt, w->face.written);
}

void emu_hazard_cluster_end(struct emu_hazard_cluster *cluster)
{
    if (!cluster)
        return;
    struct emu_hazard *h = cluster->h;
    for (struct emu_hazard_cluster **at = &h->clusters; *at; at = &(*at)->next)
        if (*at == cluster) {
            *at = cluster->next;
            break;
        }
    hz_barriers_free(cluster);
    hz_warpgroups_free(cluster);
    if (cluster->warps)
        for (uint32_t i = 0; i < h->options.blocks * h->warps; i++)
            warp_free(h, &cluster->warps[i]);
    if (cluster->blocks)
        for (uint32_t rank = 0; rank < h->options.blocks; rank++) {
            struct hz_block *b = &cluster->blocks[rank];
            hz_pages_free(h, b->pages, HZ_SHARED_PAGES);
            hz_clock_free(h, &b->left);
            hz_known_clear(h, &b->left_known);
            hz_known_clear(h, &b->seen);
            tw_free(h->rt, b->remote);
            tw_free(h->rt, b->remote_position);
            tw_free(h->rt, b->remote_address);
            tw_free(h->rt, b->outgoing);
        }
    tw_free(h->rt, cluster->operations);
    tw_free(h->rt, cluster->warps);
    tw_free(h->rt, cluster->blocks);
    tw_free(h->rt, cluster);
}

void emu_hazard_close(struct emu_hazard *hazard)
{
    if (!hazard)
        return;
    while (hazard->clusters)
        emu_hazard_cluster_end(hazard->clusters);
    hz_global_free(hazard);
    hz_flags_free(hazard);
    while (hazard->free_pages) {
        struct hz_page *page = hazard->free_pages;
        hazard->free_pages = page->next;
        tw_free(hazard->rt, page);
    }
    hz_lists_free(hazard);
    hz_words_free(hazard);
    tw_free(hazard->rt, hazard->reports);
    tw_free(hazard->rt, hazard->guesses);
    tw_free(hazard->rt, hazard->report_slots);
    tw_free(hazard->rt, hazard);
}

struct emu_hazard_warp *emu_hazard_warp(struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t warp)
{
    return &cluster->warps[rank * cluster->h->warps + warp].face;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

void hz_release(struct hz_warp *w, uint32_t lanes)
{
    uint32_t epoch = w->clock.at[w->component]++, by = lanes;
    for (uint32_t a = w->met_valid ? lanes : 0; a; a &= a - 1)
        for (unsigned b = 0; b < HZ_LANES; b++)
            by |= (uint32_t)(w->met[(unsigned)__builtin_ctz(a) * HZ_LANES + b] >= w->synced) << b;
    if (!(w->touched & ~by))
        by = UINT32_MAX; /* one that tells all is kept too: a later one that does not takes nothing of it back */
    else {
        w->partial_last = epoch;
        w->cluster->partials = 1;
    }
    struct hz_partial *p = &w->partials[(w->partial_count - 1) % HZ_PARTIALS];
    if (!w->partial_count || p->lanes != by) {
        p = &w->partials[w->partial_count++ % HZ_PARTIALS];
        *p = (struct hz_partial){.first = epoch, .lanes = by};
    }
    p->last = epoch;
    p->synced = w->synced;
}

int hz_released(const struct hz_warp *w, uint32_t epoch, uint32_t until, uint32_t lanes)
{
    if (epoch > w->partial_last || !lanes)
        return 1;
    uint32_t kept = w->partial_count < HZ_PARTIALS ? w->partial_count : HZ_PARTIALS, by = 0;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct hz_partial *p = &w->partials[(w->partial_count - i) % HZ_PARTIALS];
        if (p->first > until)
            continue;
        if (p->last < epoch)
            return !by;
        by |= p->lanes;
        if (epoch < p->synced || !(lanes & ~by))
            return 1;
    }
    return !by || w->partial_count > HZ_PARTIALS;
}

/* What the warp did before `synced` is known to all lanes. What lane b did later is known to lane a up to met[a][b]. */
static int lanes_matrix(struct hz_warp *w)
{
    if (!w->met) {
        w->met = hz_alloc(w->cluster->h, sizeof(uint32_t) * HZ_LANES * HZ_LANES);
        if (!w->met)
            return 1;
    }
    if (!w->met_valid) {
        for (unsigned i = 0; i < HZ_LANES * HZ_LANES; i++)
            w->met[i] = w->synced - 1;
        w->met_valid = 1;
    }
    return 0;
}

void emu_hazard_lanes(struct emu_hazard_warp *warp, uint32_t lanes)
{
    struct hz_warp *w = hz_warp_of(warp);
    w->lanes = lanes & w->alive;
}

void emu_hazard_sync(struct emu_hazard_warp *warp, uint32_t lanes)
{
    struct hz_warp *w = hz_warp_of(warp);
    uint32_t *now = &w->clock.at[w->component], most[HZ_LANES] = {0};
    lanes &= w->alive;
    if (lanes & w->acquired)
        w->acquired |= lanes;
    if (!(w->alive & ~w->acquired))
        hz_all_know(w);
    if (!w->touched)
        return;
    if (lanes == w->alive && !w->left) {
        w->synced = ++*now;
        w->touched = 0;
        w->met_valid = 0;
        return;
    }
    if (!(lanes & (lanes - 1)) || lanes_matrix(w))
        return;
    for (uint32_t a = lanes; a; a &= a - 1) {
        const uint32_t *row = &w->met[__builtin_ctz(a) * HZ_LANES];
        for (unsigned b = 0; b < HZ_LANES; b++)
            most[b] = row[b] > most[b] ? row[b] : most[b];
    }
    for (unsigned b = 0; b < HZ_LANES; b++)
        most[b] = lanes >> b & 1 ? *now : most[b];
    for (uint32_t a = lanes; a; a &= a - 1)
        memcpy(&w->met[__builtin_ctz(a) * HZ_LANES], most, sizeof most);
    ++*now;
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* Of an access by what the warp executes now to the shared memory of another block. */
static struct hz_finding of_block(enum emu_hazard_name name, struct hz_warp *warp, uint64_t address, uint32_t position)
{
    return (struct hz_finding){.name = name,
                               .warp = warp,
                               .lanes = warp->lanes,
                               .address = address,
                               .position = position,
                               .other = EMU_HAZARD_NOWHERE,
                               .other_block = warp->cluster->first + hz_rank(address)};
}

/* A thread, or an arrival of one, touches the shared memory of another block of its cluster. */
void hz_touch_remote(struct hz_warp *warp, uint64_t address, uint32_t position)
{
    struct emu_hazard_cluster *c = warp->cluster;
    struct emu_hazard *h = c->h;
    uint32_t rank = hz_rank(address);
    if (h->status || rank == warp->rank || rank >= h->options.blocks)
        return;
    struct hz_block *b = &c->blocks[rank];
    if (b->ended) {
        struct hz_finding f = of_block(EMU_HAZARD_EXIT_IN_FLIGHT, warp, address, position);
        hz_report(h, &f, "access to the shared memory of block %u of the cluster, which has ended", rank);
        return;
    }
    if (!b->remote) {
        uint32_t count = 1 + h->options.blocks * h->warps;
        b->remote = hz_alloc(h, count * sizeof *b->remote);
        b->remote_position = hz_alloc(h, count * sizeof *b->remote_position);
        b->remote_address = hz_alloc(h, count * sizeof *b->remote_address);
        if (h->status)
            return;
    }
    b->remote[warp->component] = warp->clock.at[warp->component];
    b->remote_position[warp->component] = position;
    b->remote_address[warp->component] = address;
}

void hz_write_remote(struct hz_warp *warp, uint64_t address, uint32_t position)
{
    struct emu_hazard_cluster *c = warp->cluster;
    struct emu_hazard *h = c->h;
    uint32_t rank = hz_rank(address);
    if (c->met || rank >= h->options.blocks || warp->began >> rank & 1)
        return;
    warp->began |= UINT32_C(1) << rank;
    for (uint32_t i = 0; i < h->warps; i++)
        if (hz_clock_at(&warp->clock, c->warps[rank * h->warps + i].component))
            return;
    struct hz_finding f = of_block(EMU_HAZARD_UNORDERED_WRITE, warp, address, position);
    hz_report(h, &f, "write to the shared memory of block %u of the cluster, and nothing says that it has begun", rank);
}

static void block_end(struct hz_warp *warp, uint32_t position)
{
    struct emu_hazard_cluster *c = warp->cluster;
    struct emu_hazard *h = c->h;
    struct hz_block *b = &c->blocks[warp->rank];
    struct hz_clock all = {NULL, 0};
    b->ended = 1;
    for (uint32_t i = 0; i < h->warps; i++)
        hz_clock_join(h, &all, &c->warps[warp->rank * h->warps + i].clock);
    struct hz_finding f = {.name = EMU_HAZARD_EXIT_IN_FLIGHT, .warp = warp, .lanes = warp->lanes, .position = position};
    for (uint32_t i = 1; b->remote && i <= h->options.blocks * h->warps; i++)
        if (b->remote[i] > hz_clock_at(&all, i)) {
            f.other = b->remote_position[i];
            f.address = b->remote_address[i];
            f.other_block = c->first + c->warps[i - 1].rank;
            f.other_warp = c->warps[i - 1].index;
            hz_report(h, &f,
                      "the block ends, and an access of another block of the cluster to its shared memory is not "
                      "ordered before that");
        }
    for (uint32_t i = 0; i < c->barrier_count; i++) {
        const struct hz_mbarrier *m = c->barriers[i];
        if (m->rank == warp->rank && m->to_come > m->observed) {
            f.other = m->to_come_position;
            f.address = m->address;
            f.other_block = c->first + c->warps[m->to_come_warp - 1].rank;
            f.other_warp = c->warps[m->to_come_warp - 1].index;
            hz_report(h, &f, "the block ends, and nobody in it has waited for a copy into its shared memory");
        }
    }
    for (uint32_t i = 0; i < b->outgoing_count; i++)
        if (b->outgoing[i] > hz_clock_at(&all, i)) {
            f.other = b->outgoing_position;
            f.address = 0;
            f.other_block = c->first + warp->rank;
            hz_report(h, &f, "the block ends, and nothing says that a copy out of its shared memory has been made");
        }
    hz_clock_free(h, &all);
    hz_pages_free(h, b->pages, HZ_SHARED_PAGES);
}

void emu_hazard_exit(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct hz_block *b = &w->cluster->blocks[w->rank];
    lanes &= w->alive;
    if (!lanes || w->cluster->h->status)
        return;
    hz_exit_groups(w, lanes);
    if (lanes == w->alive) {
        hz_clock_join(w->cluster->h, &b->left, &w->clock);
        hz_known_join(w->cluster->h, &b->left_known, &w->known);
        if (--b->live_warps == 0)
            block_end(w, position);
    }
    w->left |= w->touched & lanes;
    w->alive &= ~lanes;
    w->lanes &= ~lanes;
    if (!(w->alive & ~w->acquired))
        hz_all_know(w);
}
