/* tcgen05 and tensor memory (PTX ISA 9.7.16.6): what orders its asynchronous operations.

       tcgen05.mma ---- commit, its barrier's phase, wait ------------+
       tcgen05.ld, st - wait::ld, wait::st -- [fence::before] -- edge -+-- [fence::after] --> tcgen05.mma, ld, st

   In the thread that waited, wait::ld and wait::st are enough. A barrier, of whoever it tells, is behind
   fence::after_thread_sync alone; what another thread waited for by wait::ld or st is told by fence::before_thread_sync
   and an edge. dealloc is no asynchronous operation and needs the edge alone. mmas of one shape on one accumulator are
   executed in the order of issue: in one thread, or with both fences and an edge between threads. */
#include "access.h"
#include "matrix.h"

/* ---- Fences ------------------------------------------------------------------------------------------------------ */

void emu_hazard_tensor_fence(struct emu_hazard_warp *warp, int after)
{
    struct hz_warp *w = hz_warp_of(warp);
    if (w->cluster->h->status)
        return;
    if (after)
        hz_clock_join(w->cluster->h, &w->tensor.clock, &w->clock);
    else
        w->tensor.fences[w->tensor.fence_count++ % HZ_TENSOR_FENCES] = w->clock.at[w->component]++;
}

/* The epoch from which on another warp knows that this one had fenced what it did up to `epoch`; 0: it has not. */
static uint32_t fenced(const struct hz_warp *w, uint32_t epoch)
{
    const struct hz_tensor *t = &w->tensor;
    uint32_t kept = t->fence_count < HZ_TENSOR_FENCES ? t->fence_count : HZ_TENSOR_FENCES, found = 0;
    for (uint32_t i = 1; i <= kept; i++) {
        uint32_t at = t->fences[(t->fence_count - i) % HZ_TENSOR_FENCES];
        if (at < epoch)
            return found;
        found = at + 1;
    }
    return t->fence_count > kept ? epoch : found; /* older ones are forgotten */
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* Up to which epoch the access knows a component, by its fences or without them. */
static uint32_t known(const struct hz_access *a, uint32_t component, int fences)
{
    const struct hz_warp *w = a->warp;
    if (component == w->component || !a->tensor || !fences)
        return a->tensor || component == w->component ? w->clock.at[component] : a->clock[component];
    return hz_clock_at(&w->tensor.clock, component);
}

/* Both are mmas of one shape on one accumulator, and this is the access to it. */
static int pipelined(const struct hz_access *a, const struct hz_operation *o)
{
    const struct hz_operation *mine = a->operation ? &a->cluster->operations[a->operation - 1] : NULL;
    if (!a->tensor || !a->writes || !mine || mine->kind != EMU_HAZARD_TCGEN05_MMA || mine->shape != o->shape)
        return 0;
    if (mine->issuer == o->issuer)
        return mine->lanes == o->lanes;
    uint32_t epoch = fenced(&a->cluster->warps[o->issuer - 1], o->epoch);
    return epoch && known(a, o->issuer, 1) >= epoch;
}

static int ordered(const struct hz_access *a, const struct hz_operation *o, int read, int fences)
{
    if (o->kind == EMU_HAZARD_TCGEN05_MMA)
        return (o->barrier && known(a, o->barrier, fences) > o->phase) || (!read && pipelined(a, o));
    uint32_t done = read ? o->read_done : o->write_done;
    if (!done)
        return 0;
    if (o->issuer == a->warp->component)
        return 1;
    uint32_t epoch = a->tensor && fences ? fenced(&a->cluster->warps[o->issuer - 1], done) : done;
    return epoch && known(a, o->issuer, fences) >= epoch;
}

int hz_tensor_ordered(const struct hz_access *a, const struct hz_operation *o, int read)
{
    return ordered(a, o, read, 1);
}

int hz_tensor_waited(const struct hz_access *a, const struct hz_operation *o, int read)
{
    return a->tensor && ordered(a, o, read, 0);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* What counts the commits of a thread: a barrier that is none, behind the block's tensor memory. */
static struct hz_mbarrier *commits_of(struct hz_warp *w, uint32_t lanes)
{
    uint64_t address = EMU_SHARED_WINDOW + w->rank * EMU_SHARED_STRIDE + EMU_TENSOR_OFFSET + EMU_TENSOR_BYTES +
                       8 * ((uint64_t)w->index * HZ_LANES + (unsigned)__builtin_ctz(lanes));
    struct hz_mbarrier *m = hz_mbarrier_find(w->cluster, address);
    return m ? m : hz_mbarrier_new(w->cluster, address);
}

emu_hazard_operation emu_hazard_mma(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t shape, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    const struct hz_mbarrier *commits = c->h->status ? NULL : commits_of(w, lanes);
    c->h->event++;
    uint32_t number = commits ? hz_operation_new(w, lanes, EMU_HAZARD_TCGEN05_MMA, position) : 0;
    if (!number)
        return 0;
    struct hz_operation *o = &c->operations[number - 1];
    o->shape = shape;
    o->barrier = commits->component;
    o->phase = commits->observed; /* commits so far */
    return hz_handle_of(c, number - 1);
}

void emu_hazard_tensor(struct emu_hazard_warp *warp, emu_hazard_operation operation, enum emu_hazard_tensor what,
                       const struct emu_hazard_range *ranges, uint32_t count)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct hz_operation *o = hz_operation_of(w->cluster, operation);
    struct hz_access a;
    if (!count || !o || hz_access_begin(&a, w, (uint32_t)operation - 1, 0, o->position))
        return;
    a.tensor = 1;
    a.async_proxy = 0;
    a.layout = 0;
    a.writes = what != EMU_TENSOR_READS;
    a.reads = what != EMU_TENSOR_WRITES;
    hz_access_ranges(&a, ranges, count, HZ_MIXED << 5);
}

void emu_hazard_tensor_free(struct emu_hazard_warp *warp, uint32_t lanes, const struct emu_hazard_range *ranges,
                            uint32_t count, uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_access a = {.h = c->h,
                          .cluster = c,
                          .warp = w,
                          .who = c->serial << HZ_COMPONENT_BITS | w->component,
                          .epoch = w->clock.at[w->component],
                          .position = position,
                          .writes = 1,
                          .clock = w->acquired && (lanes & ~w->acquired) ? w->behind.at : w->clock.at};
    if (c->h->status)
        return;
    c->h->event++;
    for (uint32_t i = 0; i < count; i++) {
        hz_range(&a, ranges[i].address, ranges[i].bytes, HZ_MIXED << 5, 7);
        for (uint64_t at = ranges[i].address; at < ranges[i].address + ranges[i].bytes; at += HZ_CHUNK) {
            struct hz_chunk *k = hz_shared_chunk(c, at);
            if (!k)
                continue;
            hz_chunk_forget(c->h, k);
            memset(k, 0, sizeof *k);
        }
    }
}

emu_hazard_operation emu_hazard_tensor_commit(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address,
                                              uint32_t position)
{
    struct hz_warp *w = hz_warp_of(warp);
    struct emu_hazard_cluster *c = w->cluster;
    struct hz_mbarrier *m = hz_mbarrier_use(w, lanes, address, 0, position);
    if (!m || c->h->status)
        return 0;
    struct hz_mbarrier *commits = commits_of(w, lanes);
    if (!commits)
        return 0;
    uint32_t number = hz_signal_new(w, lanes, m, position);
    if (!number)
        return 0;
    struct hz_operation *o = &c->operations[number - 1];
    o->commits = commits->component;
    o->commit = ++commits->observed;
    return hz_handle_of(c, number - 1);
}

void hz_tensor_signalled(struct emu_hazard_cluster *c, struct hz_mbarrier *m, const struct hz_operation *o)
{
    struct hz_mbarrier *commits = c->barriers[o->commits - 1 - c->h->options.blocks * c->h->warps];
    struct hz_clock *pending = &m->pending;
    commits->phases = commits->phases > o->commit ? commits->phases : o->commit;
    if (!hz_grow(c->h, &pending->at, &pending->count, o->commits + 1, sizeof *pending->at) &&
        pending->at[o->commits] < o->commit)
        pending->at[o->commits] = o->commit;
}
