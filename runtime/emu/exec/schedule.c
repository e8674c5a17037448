/* A launch: blocks become resident, their warps run in turn, and what waits is found out. */
#include "barrier.h"
#include "copies.h"
#include "emu/async/tcgen05.h"
#include "event.h"
#include "exec.h"
#include "flow.h"
#include "memory.h"
#include "stall.h"
#include "watch.h"

/* ---- Clusters ---------------------------------------------------------------------------------------------------- */

static size_t align_to(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

/* One allocation holds the cluster, its blocks, warps and shared memory; the warps' register files are their own. */
static struct emu_cluster *cluster_new(struct emu_launch *launch)
{
    struct tw_runtime *rt = launch->device->device.rt;
    uint32_t blocks = launch->cluster_blocks, warps = launch->warps;
    size_t at_blocks = align_to(sizeof(struct emu_cluster), 64);
    size_t at_warps = align_to(at_blocks + blocks * sizeof(struct emu_block), 64);
    size_t at_shared = align_to(at_warps + (size_t)blocks * warps * sizeof(struct emu_warp), 128);
    size_t shared = align_to(EMU_SHARED_START + launch->shared_room, 128);
    size_t bytes = at_shared + blocks * shared;
    unsigned char *memory = tw_alloc_zeroed(rt, bytes);
    if (!memory)
        return NULL;
    struct emu_cluster *cluster = (struct emu_cluster *)(void *)memory;
    cluster->launch = launch;
    cluster->storage = memory;
    cluster->block_count = blocks;
    cluster->blocks = (struct emu_block *)(void *)(memory + at_blocks);
    cluster->bytes = (struct emu_bytes){cluster, emu_bytes_read, emu_bytes_write};
    cluster->issuer = launch->issuers;
    launch->issuers += blocks * warps * EMU_LANES;
    launch->bytes += bytes;
    for (uint32_t b = 0; b < blocks; b++) {
        struct emu_block *block = &cluster->blocks[b];
        block->launch = launch;
        block->cluster = cluster;
        block->rank = b;
        block->shared = memory + at_shared + b * shared;
        block->shared_end = EMU_SHARED_START + launch->shared_room;
        block->warp_count = warps;
        block->warps = (struct emu_warp *)(void *)(memory + at_warps) + (size_t)b * warps;
        for (uint32_t w = 0; w < warps; w++) {
            struct emu_warp *warp = &block->warps[w];
            warp->block = block;
            warp->launch = launch;
            warp->index = w;
            warp->free_path = PTX_NONE;
        }
    }
    return cluster;
}

static void cluster_free(struct emu_launch *launch, struct emu_cluster *cluster)
{
    struct tw_runtime *rt = launch->device->device.rt;
    for (uint32_t b = 0; b < cluster->block_count; b++) {
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            struct emu_warp *warp = &cluster->blocks[b].warps[w];
            tw_free(rt, warp->registers);
            tw_free(rt, warp->predicates);
            tw_free(rt, warp->local);
            tw_free(rt, warp->local_written);
            tw_free(rt, warp->paths);
            tw_free(rt, warp->looks);
        }
    }
    tw_free(rt, cluster->storage);
}

/* Cooperative groups' barriers in reserved memory are zero when a block starts, and so to speak written. */
static void reserved_written(struct emu_block *block)
{
    enum { WORDS = 5 };
    const struct emu_launch *launch = block->launch;
    struct emu_warp *warp = &block->warps[0];
    if (!warp->hazard || !launch->kernel->module->has_reserved)
        return;
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t address[EMU_LANES] = {EMU_RESERVED + 4 * i + block->rank * (uint32_t)EMU_SHARED_STRIDE};
        emu_hazard_shared(warp->hazard, 1, address, 0, 4, EMU_ACCESS_WRITE | EMU_ACCESS_STRONG | EMU_ACCESS_CTA,
                          emu_position(warp, warp->pc));
    }
}

/* The warp as it is when its block starts: one path with all lanes at the kernel's first operation. */
static int warp_start(struct emu_warp *warp)
{
    struct emu_launch *launch = warp->launch;
    const struct emu_function *entry = launch->entry;
    uint32_t first = warp->index * EMU_LANES;
    uint32_t count = launch->threads - first < EMU_LANES ? launch->threads - first : EMU_LANES;
    warp->exists = count == EMU_LANES ? UINT32_MAX : (1u << count) - 1;
    warp->alive = warp->exists;
    warp->path_count = warp->ready = warp->polls = 0;
    warp->free_path = PTX_NONE;
    warp->current = 0;
    warp->region = NULL;
    warp->max_registers = launch->max_registers;
    warp->moved_registers = NULL;
    warp->cluster_arrived = warp->cluster_waits = 0;
    warp->done = warp->watch = warp->looked = 0;
    warp->wgmma_count = warp->wgmma_commits = warp->look_count = 0;
    warp->wgmma_sum = 0;
    warp->idle = 0;
    warp->spin_op = NULL;
    warp->lanes.carry = 0;
    warp->hazard =
        launch->hazard ? emu_hazard_warp(warp->block->cluster->hazard, warp->block->rank, warp->index) : NULL;
    warp->told = warp->exists;
    warp->lanes.base[1] = launch->kernel->module->constants;
    warp->function = launch->entry;
    if (emu_warp_room(warp, entry->frame_bytes, entry->frame_preds, EMU_LOCAL_START + entry->local_bytes))
        return 1;
    emu_local_written(warp, 0, EMU_LOCAL_START + entry->local_bytes, UINT32_MAX, 0);
    uint32_t path = emu_path_new(warp);
    if (path == PTX_NONE)
        return 1;
    struct emu_path *p = &warp->paths[path];
    p->pc = entry->ops;
    entry->went[0] |= EMU_WENT_HERE;
    p->function = entry;
    p->local = EMU_LOCAL_START;
    p->local_top = EMU_LOCAL_START + entry->local_bytes;
    p->mask = warp->exists;
    emu_path_enter(warp, path);
    emu_event(warp, p->pc, EMU_EVENT_START, 0, 0, 0);
    return 0;
}

static int cluster_start(struct emu_launch *launch, struct emu_cluster *cluster, uint64_t number)
{
    cluster->first = number;
    cluster->live_blocks = cluster->block_count;
    cluster->phase = 0;
    cluster->missing = cluster->block_count * launch->threads;
    if (launch->hazard &&
        !(cluster->hazard = emu_hazard_cluster_begin(launch->hazard, number * cluster->block_count))) {
        emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for the hazard engine");
        return 1;
    }
    uint64_t rest = number;
    for (int i = 0; i < 3; i++) {
        cluster->index[i] = (uint32_t)(rest % launch->clusters[i]);
        rest /= launch->clusters[i];
    }
    for (uint32_t b = 0; b < cluster->block_count; b++) {
        struct emu_block *block = &cluster->blocks[b];
        uint32_t in = b;
        for (int i = 0; i < 3; i++) {
            block->index[i] = cluster->index[i] * launch->cluster[i] + in % launch->cluster[i];
            in /= launch->cluster[i];
        }
        block->linear = block->index[0] +
                        (uint64_t)launch->grid[0] * (block->index[1] + (uint64_t)launch->grid[1] * block->index[2]);
        block->live_warps = block->warp_count;
        block->registers_free = 0;
        block->tensor_columns = block->tensor_relinquished = 0;
        memset(block->barriers, 0, sizeof block->barriers);
        memset(block->shared, EMU_POISON, block->shared_end);
        memset(block->shared + EMU_RESERVED, 0, EMU_RESERVED_BYTES);
        for (uint32_t w = 0; w < block->warp_count; w++)
            if (warp_start(&block->warps[w]))
                return 1;
        reserved_written(block);
    }
    return 0;
}

/* The next cluster of the grid becomes resident. 0: there is none, or no room for it. */
static int admit(struct emu_launch *launch)
{
    if (launch->status || launch->cluster_next == launch->cluster_total ||
        launch->resident_count == launch->resident_limit)
        return 0;
    struct emu_cluster *cluster = launch->spare;
    if (cluster)
        launch->spare = cluster->next;
    else if (!(cluster = cluster_new(launch))) {
        if (launch->resident_count) { /* fewer at a time will do, as long as they do not wait for others */
            launch->resident_limit = launch->resident_count;
            return 0;
        }
        emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for a resident block");
        return 0;
    }
    struct emu_cluster **end = &launch->resident;
    while (*end)
        end = &(*end)->next;
    cluster->next = NULL;
    *end = cluster;
    launch->resident_count++;
    if (launch->bytes > launch->peak_bytes)
        launch->peak_bytes = launch->bytes;
    return !cluster_start(launch, cluster, launch->cluster_next++);
}

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

static void async_fault(struct emu_launch *launch, const struct emu_fault *fault);

enum { IDLE_TO_RELEASE = 16384 }; /* whole slices without a change, after which lanes wait for no others at joins */

/* Runs a warp for a slice. Returns whether it ran at all. */
static int run(struct emu_warp *warp)
{
    struct emu_launch *launch = warp->launch;
    if (warp->polls && warp->poll_changes != launch->changes)
        emu_polls_look(warp);
    if (!emu_path_next(warp))
        return 0;
    uint64_t changes = launch->changes;
    uint32_t slice = launch->slice, left = slice;
    const struct emu_op *op = warp->pc;
    uint64_t lanes = 0, instructions = 0;
    int watched = warp->hazard && launch->kernel->module->has_wgmma;
    for (;;) {
        if (EMU_UNLIKELY(watched)) {
            while (op && left) {
                if (warp->hazard->watched)
                    emu_watch_registers(warp, op);
                instructions += op->counts;
                lanes += (uint64_t)op->counts * warp->active;
                op = op->run(warp, op);
                left--;
            }
        }
        while (op && left) {
            instructions += op->counts;
            lanes += (uint64_t)op->counts * warp->active;
            op = op->run(warp, op);
            left--;
        }
        if (op || launch->status || !left)
            break;
        if (!emu_path_next(warp))
            break;
        op = warp->pc;
    }
    if (op)
        warp->paths[warp->current].pc = op;
    launch->instructions += instructions;
    launch->lane_instructions += lanes - warp->predicated_off;
    warp->predicated_off = 0;
    launch->time += slice - left;
    if (launch->changes != changes || left) {
        warp->idle = 0;
        warp->watch = 0;
    } else if (++warp->idle % (launch->released ? 1 : 8) == 0) { /* where lanes wait for lanes, spinning is the rule */
        warp->watch = 1;
        warp->spin_op = NULL;
        if (warp->idle % (IDLE_TO_RELEASE * (EMU_SLICE / launch->slice)) == 0)
            emu_paths_release(warp);
    }
    return 1;
}

/* Columns of tensor memory that the block has not given back go to others all the same. */
static void tensor_check(struct emu_block *block)
{
    struct emu_tensor_memory *memory = block->tensor_columns ? emu_tensor_of(block) : NULL;
    uint32_t owned = memory ? emu_tensor_owned(memory, block->linear + 1) : 0;
    if (!owned)
        return;
    emu_report_at(block->tensor_warp, block->tensor_alloc, "TENSOR-POOL", 0, 0,
                  "the block has ended with %u columns of tensor memory that no tcgen05.dealloc gave back", owned);
    emu_tensor_drop(memory, block->linear + 1);
    emu_tensor_ready(block->launch);
}

static void retire(struct emu_launch *launch, struct emu_cluster **at)
{
    struct emu_cluster *cluster = *at;
    struct emu_fault fault;
    struct emu_async_event event;
    uint32_t count = cluster->block_count * launch->warps * EMU_LANES;
    for (uint32_t b = 0; b < cluster->block_count && cluster->hazard; b++) {
        emu_registers_check(&cluster->blocks[b]);
        emu_wgmma_check(&cluster->blocks[b]);
    }
    /* What its threads started ends now at the latest. */
    for (unsigned tries = 0; emu_async_issued_by(launch->async, cluster->issuer, count, &event) && tries < 1u << 20;
         tries++) {
        for (unsigned g = 0; g < EMU_ASYNC_GROUPS; g++)
            if (emu_async_wait_all(launch->async, (enum emu_async_group)g, event.issuer, &fault))
                async_fault(launch, &fault);
        if (emu_async_issued_by(launch->async, event.issuer, 1, &event) && emu_async_step(launch->async, NULL, &fault))
            async_fault(launch, &fault);
    }
    for (uint32_t b = 0; b < cluster->block_count; b++)
        tensor_check(&cluster->blocks[b]);
    if (cluster->hazard) {
        emu_watch_retire(cluster);
        emu_hazard_cluster_end(cluster->hazard);
    }
    cluster->hazard = NULL;
    launch->blocks_ended += cluster->block_count;
    *at = cluster->next;
    cluster->next = launch->spare;
    launch->spare = cluster;
    launch->resident_count--;
    launch->changes++;
}

/* Every resident warp that can runs a slice. Returns whether one did. */
static int round_of(struct emu_launch *launch)
{
    int ran = 0;
    launch->rounds++;
    for (struct emu_cluster **at = &launch->resident; *at && !launch->status;) {
        struct emu_cluster *cluster = *at;
        uint32_t live = 0;
        for (uint32_t b = 0; b < cluster->block_count; b++) {
            struct emu_block *block = &cluster->blocks[b];
            for (uint32_t w = 0; w < block->warp_count && block->live_warps; w++) {
                if (!block->warps[w].done && !launch->status)
                    ran |= run(&block->warps[w]);
            }
            live += block->live_warps;
        }
        if (live || launch->status) {
            at = &cluster->next;
        } else {
            retire(launch, at);
            ran = 1;
        }
    }
    return ran;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void async_fault(struct emu_launch *launch, const struct emu_fault *fault)
{
    struct emu_async_event event = emu_async_culprit(launch->async);
    emu_async_report(launch, fault, &event);
}

static int wake_pollers(struct emu_launch *launch)
{
    int any = 0;
    for (struct emu_cluster *c = launch->resident; c; c = c->next) {
        for (uint32_t b = 0; b < c->block_count; b++) {
            for (uint32_t w = 0; w < c->blocks[b].warp_count; w++) {
                struct emu_warp *warp = &c->blocks[b].warps[w];
                any |= !warp->done && warp->polls;
                if (!warp->done)
                    emu_polls_ready(warp);
            }
        }
    }
    return any;
}

/* Warps with a path that loops without end let those lanes go on that wait for it at a join. */
static int release_joins(struct emu_launch *launch)
{
    int any = 0;
    for (struct emu_cluster *c = launch->resident; c; c = c->next) {
        for (uint32_t b = 0; b < c->block_count; b++) {
            for (uint32_t w = 0; w < c->blocks[b].warp_count; w++) {
                struct emu_warp *warp = &c->blocks[b].warps[w];
                int loops = 0;
                for (uint32_t i = 0; !warp->done && i < warp->path_count; i++)
                    loops |= warp->paths[i].state == EMU_PATH_POLL && !warp->paths[i].wait_address;
                any |= loops && emu_paths_release(warp);
            }
        }
    }
    launch->released |= any;
    return any;
}

enum {
    START_RESIDENT = 2, /* clusters that are resident from the start; more come when these cannot go on */
    TURNS_TO_STOP = 64, /* rounds after which a launch asks whether it is to end */
    PATIENCE = 64,      /* rounds after which one more cluster is admitted: the others may wait for it */
    LEAPS = 4,          /* how often time leaps in vain for pollers that look at a clock */
    LEAPS_IN_ALL = 1000,
    POLLS_TO_DEADLOCK = 32 /* how often pollers are woken in vain before that is a deadlock */
};

static void run_all(struct emu_launch *launch)
{
    struct emu_fault fault;
    uint32_t rounds = 0, woken = 0;
    uint64_t woken_at = 0, clocks = 0, leapt_at = 0;
    uint32_t leaps = 0, leaps_in_all = 0;
    struct emu_stall stall;
    const struct emu_options *options = &launch->device->options;
    uint64_t limit = options->instruction_limit, turns = 0;
    while (!launch->status) {
        while (launch->resident_count < START_RESIDENT && admit(launch))
            rounds = 0;
        if (!launch->resident_count)
            break;
        if (emu_async_tick(launch->async, &fault))
            async_fault(launch, &fault);
        int ran = round_of(launch);
        if (options->stop && ++turns % TURNS_TO_STOP == 0 && options->stop(options->stop_context))
            emu_fail_launch(launch, TW_ERROR_LAUNCH, "it was asked to stop");
        if (limit && launch->instructions > limit)
            emu_fail_launch(launch, TW_ERROR_LAUNCH, "more than %llu instructions", (unsigned long long)limit);
        if (ran) {
            if (++rounds >= PATIENCE * EMU_SLICE / launch->slice) {
                rounds = 0;
                if (!admit(launch) && launch->async_idle++ > 64) { /* loops that look at a clock wait for events too */
                    launch->async_idle = 0;
                    if (emu_async_step(launch->async, NULL, &fault))
                        async_fault(launch, &fault);
                }
            }
            continue;
        }
        int happened = 0;
        if (emu_async_step(launch->async, &happened, &fault))
            async_fault(launch, &fault);
        if (happened || launch->status || admit(launch))
            continue;
        if (launch->changes != woken_at)
            woken = 0;
        if (woken && release_joins(launch)) {
            woken = 0;
            continue;
        }
        if (woken < POLLS_TO_DEADLOCK && wake_pollers(launch)) {
            woken++;
            woken_at = launch->changes;
            continue;
        }
        /* Where the pollers look at a clock, time is what they wait for: 4 seconds of it, then ever more. What comes of
         * it may be that they give up by a trap; then what they had waited for is the news. */
        emu_stall_find(launch, &stall);
        if (launch->changes != leapt_at)
            leaps = 0;
        if (launch->clocks == clocks || leaps == LEAPS || leaps_in_all == LEAPS_IN_ALL) {
            emu_stall_report(launch, &stall);
            break;
        }
        launch->time += (uint64_t)1 << (32 + 4 * leaps);
        clocks = launch->clocks;
        leaps++;
        leaps_in_all++;
        woken = 0;
        wake_pollers(launch);
        leapt_at = woken_at = launch->changes;
    }
    if (launch->trapped && leaps_in_all)
        emu_stall_report(launch, &stall);
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

enum { WORKSPACE = 256 }; /* bytes of a cooperative grid's workspace */

/* Blocks of this launch that an SM holds at a time. */
static uint32_t occupancy(const struct emu_launch *launch)
{
    uint32_t blocks =
        tw_resident_blocks(launch->device->arch, launch->threads, launch->max_registers, launch->shared_bytes);
    return blocks ? blocks : 1;
}

/* How many clusters are resident at a time. Local memory is held for those alone, and half of it more to grow into;
   where it is much, fewer are, so that a short text does not ask for much memory. One always is. */
static int limit_residents(struct emu_launch *launch, const struct tw_launch *given, struct tw_error *error)
{
    const uint64_t most_local = UINT64_C(2) << 30;
    uint64_t threads = (uint64_t)launch->cluster_blocks * launch->threads;
    uint64_t fit = most_local / (threads * launch->entry->local_bytes * 3 / 2 + 1);
    uint64_t resident = (uint64_t)occupancy(launch) * launch->sms / launch->cluster_blocks;
    resident = fit < resident ? fit : resident;
    launch->resident_limit = resident ? (uint32_t)resident : 1;
    if (!(given->flags & TW_LAUNCH_COOPERATIVE) || launch->cluster_total <= launch->resident_limit)
        return TW_OK;
    return tw_fail(
        error, TW_ERROR_INVALID,
        "%s: a cooperative launch of %llu blocks, %u fit at a time; a thread has %u bytes of local memory, of "
        "which the emulator holds 2 GiB",
        given->kernel->entry, (unsigned long long)launch->cluster_total * launch->cluster_blocks,
        launch->resident_limit * launch->cluster_blocks, launch->entry->local_bytes);
}

uint32_t emu_launch_registers(const struct tw_architecture *arch, const struct emu_function *entry, uint32_t warps)
{
    const struct ptx_function *f = entry->ptx;
    uint32_t most = arch->registers_per_sm / (warps * EMU_LANES) / TW_ARCH_REGISTER_UNIT * TW_ARCH_REGISTER_UNIT;
    uint32_t estimate = (entry->registers + 7) / 8 * 8;
    uint32_t registers = f->maxnreg ? f->maxnreg : f->minnctapersm ? most / f->minnctapersm / 8 * 8 : estimate;
    if (registers > TW_ARCH_REGISTERS_PER_THREAD)
        registers = TW_ARCH_REGISTERS_PER_THREAD;
    return registers > most ? most : registers;
}

static int check(struct emu_launch *launch, const struct tw_launch *given, struct tw_error *error)
{
    const struct tw_architecture *arch = launch->device->arch;
    const struct ptx_function *f = launch->entry->ptx;
    uint64_t threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = given->grid[i];
        launch->block[i] = given->block[i] ? given->block[i] : 1;
        launch->cluster[i] = given->cluster[i] ? given->cluster[i] : 1;
        if (f->reqnctapercluster[0] && launch->cluster[i] == 1)
            launch->cluster[i] = f->reqnctapercluster[i] ? f->reqnctapercluster[i] : 1;
        threads *= threads > UINT32_MAX ? 1 : launch->block[i]; /* too many is enough: no overflow */
        blocks *= blocks > UINT32_MAX ? 1 : launch->cluster[i];
        if (launch->grid[i] % launch->cluster[i])
            return tw_fail(error, TW_ERROR_INVALID,
                           "%s: a grid of %u blocks in direction %d is no multiple of the "
                           "cluster's %u",
                           given->kernel->entry, launch->grid[i], i, launch->cluster[i]);
        launch->clusters[i] = launch->grid[i] / launch->cluster[i];
        if (f->reqntid[0] && launch->block[i] != (f->reqntid[i] ? f->reqntid[i] : 1))
            return tw_fail(error, TW_ERROR_INVALID, "%s: a block of %u threads in direction %d: .reqntid wants %u",
                           given->kernel->entry, launch->block[i], i, f->reqntid[i] ? f->reqntid[i] : 1);
    }
    if (launch->grid[0] > INT32_MAX || launch->grid[1] > 65535 || launch->grid[2] > 65535)
        return tw_fail(error, TW_ERROR_INVALID, "%s: a grid of %u x %u x %u blocks is too large", given->kernel->entry,
                       launch->grid[0], launch->grid[1], launch->grid[2]);
    if (threads > given->kernel->max_threads)
        return tw_fail(error, TW_ERROR_INVALID, "%s: a block of %llu threads, it may have %u", given->kernel->entry,
                       (unsigned long long)threads, given->kernel->max_threads);
    if (blocks > arch->cluster)
        return tw_fail(error, TW_ERROR_INVALID, "%s: a cluster of %llu blocks, %s allows %u", given->kernel->entry,
                       (unsigned long long)blocks, arch->name, arch->cluster);
    if (given->params_bytes < f->param_bytes)
        return tw_fail(error, TW_ERROR_INVALID, "%s: %zu bytes of parameters, it has %llu", given->kernel->entry,
                       given->params_bytes, (unsigned long long)f->param_bytes);
    launch->threads = (uint32_t)threads;
    launch->warps = (uint32_t)(threads + EMU_LANES - 1) / EMU_LANES;
    launch->cluster_blocks = (uint32_t)blocks;
    launch->dynamic_bytes = given->shared_bytes;
    const struct emu_module *module = launch->kernel->module;
    uint64_t room = given->shared_bytes ? (uint64_t)module->dynamic_offset + given->shared_bytes : module->shared_end;
    uint64_t shared = room - (given->shared_bytes ? module->dynamic_pad : module->static_pad);
    if (shared > arch->shared_limit)
        return tw_fail(error, TW_ERROR_INVALID, "%s: %llu bytes of shared memory, a block on %s may have %u",
                       given->kernel->entry, (unsigned long long)shared, arch->name, arch->shared_limit);
    launch->shared_bytes = (uint32_t)shared;
    launch->shared_room = (uint32_t)room;
    /* ptxas ignores setmaxnreg where it cannot tell the registers at entry (C7508) */
    launch->moves_registers = f->maxnreg || (f->minnctapersm && (f->maxntid[0] || f->reqntid[0]));
    launch->max_registers = emu_launch_registers(arch, launch->entry, launch->warps);
    return TW_OK;
}

/* Of a grid the clusters that the launch asks for. */
static int choose_blocks(struct emu_launch *launch, const struct tw_launch *given, struct tw_error *error)
{
    uint64_t all = (uint64_t)launch->clusters[0] * launch->clusters[1] * launch->clusters[2];
    uint64_t first = given->first_block, count = given->block_count, of_cluster = launch->cluster_blocks;
    launch->cluster_total = all;
    if (!count)
        return TW_OK;
    if (first >= all * of_cluster || count > all * of_cluster - first)
        return tw_fail(error, TW_ERROR_INVALID, "%s: blocks %llu to %llu, and the grid has %llu", given->kernel->entry,
                       (unsigned long long)first, (unsigned long long)(first + count - 1),
                       (unsigned long long)(all * of_cluster));
    if (given->flags & TW_LAUNCH_COOPERATIVE)
        return tw_fail(error, TW_ERROR_INVALID, "%s: a part of a cooperative launch would wait for the rest",
                       given->kernel->entry);
    if (launch->cluster[1] * launch->cluster[2] != 1 || first % of_cluster || count % of_cluster)
        return tw_fail(error, TW_ERROR_INVALID,
                       "%s: blocks of a cluster run together: choose multiples of %llu, of a grid whose clusters go "
                       "along x",
                       given->kernel->entry, (unsigned long long)of_cluster);
    launch->cluster_next = first / of_cluster;
    launch->cluster_total = (first + count) / of_cluster;
    return TW_OK;
}

static void tables_free(struct emu_launch *launch)
{
    struct tw_runtime *rt = launch->device->device.rt;
    for (uint32_t i = 0; launch->tensor && i < launch->sms; i++)
        tw_free(rt, launch->tensor[i]);
    tw_free(rt, launch->tensor);
    for (int i = 0; i < EMU_MAPS; i++)
        tw_free(rt, launch->maps[i].map);
}

int emu_launch_run(struct emu_device *device, const struct tw_launch *given, struct tw_error *error)
{
    struct tw_runtime *rt = device->device.rt;
    struct emu_kernel *kernel = (struct emu_kernel *)given->kernel;
    struct emu_launch *launch = tw_alloc_zeroed(rt, sizeof *launch);
    if (!launch)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory");
    launch->device = device;
    launch->kernel = kernel;
    launch->entry = kernel->entry;
    launch->sms = (uint32_t)device->device.sm_count;
    launch->number = ++device->launches;
    launch->reports_before = device->reports.count;
    launch->ranges = given->ranges;
    launch->range_count = given->range_count;
    launch->listens = !device->options.event ? 0 : device->options.events ? device->options.events : UINT32_MAX;
    launch->slice = device->options.slice && device->options.slice < EMU_SLICE ? device->options.slice : EMU_SLICE;
    int status = check(launch, given, error);
    if (status)
        goto done;
    status = choose_blocks(launch, given, error);
    if (!status)
        status = limit_residents(launch, given, error);
    if (status)
        goto done;
    launch->params_bytes = (uint32_t)given->params_bytes;
    launch->params = tw_alloc(rt, given->params_bytes);
    if (!launch->params) {
        status = tw_fail(error, TW_ERROR_MEMORY, "no memory");
        goto done;
    }
    if (given->params_bytes)
        memcpy(launch->params, given->params, given->params_bytes);
    if (given->flags & TW_LAUNCH_COOPERATIVE) {
        uint32_t words[2] = {WORKSPACE, 0};
        status = emu_region_new(device, WORKSPACE, WORKSPACE, &launch->workspace, error);
        if (status)
            goto done;
        launch->workspace->internal = 1;
        memcpy(launch->workspace->data, words, sizeof words);
        if (device->hazard_memory)
            emu_hazard_memory_written(device->hazard_memory, launch->workspace->base, sizeof words);
    }
    status = emu_async_start(launch, error);
    if (!status)
        status = emu_watch_start(launch, given, error);
    if (status)
        goto done;
    run_all(launch);
    for (struct emu_cluster *c = launch->resident; c; c = c->next)
        if (c->hazard)
            emu_hazard_cluster_end(c->hazard);
    emu_watch_end(launch);
    emu_reports_end(launch);
    status = launch->status;
    if (status)
        tw_fail(error, status, "%s", launch->error.text);
done:
    device->statistics.warp_instructions += launch->instructions;
    device->statistics.thread_instructions += launch->lane_instructions;
    device->statistics.launches++;
    device->statistics.blocks += launch->blocks_ended;
    if (launch->peak_bytes > device->statistics.peak_bytes)
        device->statistics.peak_bytes = launch->peak_bytes;
    while (launch->resident || launch->spare) {
        struct emu_cluster **from = launch->resident ? &launch->resident : &launch->spare, *next = (*from)->next;
        cluster_free(launch, *from);
        *from = next;
    }
    if (launch->async)
        emu_async_close(launch->async);
    tables_free(launch);
    if (launch->workspace)
        emu_region_free(device, launch->workspace);
    tw_free(rt, launch->params);
    tw_free(rt, launch);
    return status;
}
