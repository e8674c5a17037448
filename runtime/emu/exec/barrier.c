#include "barrier.h"
#include "event.h"
#include "flow.h"
#include "operations.h"
#include "watch.h"

/* ---- Named barriers ---------------------------------------------------------------------------------------------- */

/* Threads that have arrived. A warp all of whose living lanes have arrived counts as 32, as on a GPU. */
static uint32_t arrived(const struct emu_block *block, const struct emu_barrier *barrier)
{
    uint32_t threads = barrier->again;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        uint32_t lanes = barrier->lanes[i];
        if (lanes)
            threads += (block->warps[i].alive & ~lanes) ? emu_count(lanes) : EMU_LANES;
    }
    return threads;
}

static uint32_t wanted(const struct emu_block *block, const struct emu_barrier *barrier)
{
    if (!barrier->implicit)
        return barrier->expected;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < block->warp_count; i++)
        if (!block->warps[i].done || barrier->lanes[i])
            threads += EMU_LANES;
    return threads;
}

static void write_reduction(struct emu_warp *warp, const struct emu_path *path, const struct emu_barrier *barrier)
{
    const struct emu_op *op = path->wait_op;
    uint32_t lanes = path->wait_b;
    if (op->imm & EMU_BAR_POPC) {
        uint32_t *to = (uint32_t *)(void *)(warp->registers + path->frame + op->d);
        for (uint32_t m = lanes; m; m &= m - 1)
            to[emu_first(m)] = barrier->ones;
    } else if (op->imm & (EMU_BAR_AND | EMU_BAR_OR)) {
        uint32_t *to = warp->predicates + path->preds + (op->d >> 1);
        int result = op->imm & EMU_BAR_AND ? !barrier->zeros : barrier->ones != 0;
        *to = (*to & ~lanes) | (result ? lanes : 0);
    }
}

/* Lets everybody go if all have arrived. */
static void check(struct emu_block *block, uint32_t number)
{
    struct emu_barrier *barrier = &block->barriers[number];
    if (!barrier->active)
        return;
    uint32_t have = arrived(block, barrier), want = wanted(block, barrier);
    if (have < want)
        return;
    block->launch->changes++;
    if (EMU_UNLIKELY(block->cluster->hazard != NULL))
        emu_hazard_bar_complete(block->cluster->hazard, block->rank, number);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct emu_warp *warp = &block->warps[i];
        if (warp->done)
            continue;
        for (uint32_t j = 0; j < warp->path_count; j++) {
            struct emu_path *path = &warp->paths[j];
            if (path->state != EMU_PATH_BARRIER || path->wait_a != number)
                continue;
            write_reduction(warp, path, barrier);
            emu_path_ready(warp, j);
            emu_event(warp, NULL, EMU_EVENT_BAR_PASS, 0, number, 0);
        }
    }
    memset(barrier, 0, sizeof *barrier);
}

void emu_barriers_check(struct emu_block *block)
{
    for (uint32_t i = 0; i < TW_ARCH_BARRIERS; i++)
        check(block, i);
}

/* Whether lanes that are not here are on their way elsewhere: they may end before they come to any barrier, as threads
   beyond the end of the data do. */
static int others_run(const struct emu_warp *warp)
{
    for (uint32_t i = 0; i < warp->path_count; i++) {
        const struct emu_path *p = &warp->paths[i];
        if (i != warp->current && p->state == EMU_PATH_READY && p->pc->run != emu_op_bar &&
            !(p->pc->run == emu_op_guard && p->pc[1].run == emu_op_bar))
            return 1;
    }
    return 0;
}

const struct emu_op *emu_op_bar(struct emu_warp *warp, const struct emu_op *op)
{
    if (op->e && EMU_UNLIKELY((warp->alive & ~warp->lanes.mask) != 0) && others_run(warp)) {
        warp->paths[warp->current].pc = emu_retry(op);
        return NULL;
    }
    struct emu_block *block = warp->block;
    unsigned first = emu_first(warp->lanes.mask);
    uint32_t number = EMU_W(op->a)[first];
    if (number >= TW_ARCH_BARRIERS)
        return emu_report_at(warp, op, "BARRIER-COUNT", number, 1, "named barrier %u: there are %d", number,
                             TW_ARCH_BARRIERS);
    struct emu_barrier *barrier = &block->barriers[number];
    uint32_t count = op->imm & EMU_BAR_COUNT ? EMU_W(op->b)[first] : 0;
    if (op->imm & EMU_BAR_COUNT && (!count || count % EMU_LANES))
        return emu_report_at(warp, op, "BARRIER-COUNT", number, 1,
                             "named barrier %u with a count of %u threads, "
                             "which is no multiple of 32",
                             number, count);
    if (barrier->active && (barrier->implicit != !count || (count && barrier->expected != count)) &&
        (count ? count : block->warp_count * EMU_LANES) !=
            (barrier->implicit ? block->warp_count * EMU_LANES : barrier->expected))
        return emu_report_at(warp, op, "BARRIER-COUNT", number, 1,
                             "named barrier %u with a count of %u threads, others wait at it with %u", number,
                             count ? count : block->warp_count * EMU_LANES,
                             barrier->implicit ? block->warp_count * EMU_LANES : barrier->expected);
    if (count > block->warp_count * EMU_LANES)
        return emu_report_at(warp, op, "BARRIER-COUNT", number, 1,
                             "named barrier %u with a count of %u threads, the block has %u", number, count,
                             block->warp_count * EMU_LANES);
    if (op->e)
        emu_aligned(warp, op);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_bar_arrive(warp->hazard, warp->lanes.mask, number, count ? count : block->warp_count * EMU_LANES,
                              (op->imm & EMU_BAR_WAIT) != 0, emu_position(warp, op));
    barrier->active = 1;
    barrier->implicit = !count;
    barrier->expected = count;
    uint32_t twice = barrier->lanes[warp->index] & warp->lanes.mask;
    barrier->again += emu_count(twice);
    barrier->lanes[warp->index] |= warp->lanes.mask;
    if (op->imm & (EMU_BAR_POPC | EMU_BAR_AND | EMU_BAR_OR)) {
        uint32_t bits = emu_pred(warp, op->c) & warp->lanes.mask;
        barrier->ones += emu_count(bits);
        barrier->zeros += emu_count(warp->lanes.mask & ~bits);
    }
    warp->launch->changes++;
    emu_event(warp, op, op->imm & EMU_BAR_WAIT ? EMU_EVENT_BAR_WAIT : EMU_EVENT_BAR_ARRIVE, 0, number, 0);
    struct emu_path *path = &warp->paths[warp->current];
    if (!(op->imm & EMU_BAR_WAIT)) {
        check(block, number);
        return op + 1;
    }
    path->wait_a = number;
    path->wait_b = warp->lanes.mask;
    emu_wait(warp, op, op + 1, EMU_PATH_BARRIER);
    check(block, number);
    if (path->state == EMU_PATH_READY)
        return op + 1;
    return NULL;
}

/* ---- The cluster's barrier --------------------------------------------------------------------------------------- */

void emu_cluster_check(struct emu_cluster *cluster)
{
    if (cluster->missing)
        return;
    uint32_t any = 0;
    for (uint32_t i = 0; i < cluster->block_count; i++)
        for (uint32_t j = 0; j < cluster->blocks[i].warp_count; j++)
            any |= cluster->blocks[i].warps[j].cluster_arrived;
    if (!any)
        return;
    cluster->phase++;
    cluster->launch->changes++;
    for (uint32_t i = 0; i < cluster->block_count; i++) {
        for (uint32_t j = 0; j < cluster->blocks[i].warp_count; j++) {
            struct emu_warp *warp = &cluster->blocks[i].warps[j];
            warp->cluster_arrived = 0;
            cluster->missing += emu_count(warp->alive);
            for (uint32_t k = 0; !warp->done && k < warp->path_count; k++) {
                if (warp->paths[k].state != EMU_PATH_CLUSTER)
                    continue;
                if (EMU_UNLIKELY(warp->hazard != NULL))
                    emu_hazard_cluster_wait(warp->hazard, warp->paths[k].wait_b);
                emu_path_ready(warp, k);
                emu_event(warp, NULL, EMU_EVENT_CLUSTER_PASS, 0, 0, 0);
            }
        }
    }
}

const struct emu_op *emu_op_cluster_arrive(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_cluster *cluster = warp->block->cluster;
    if (warp->cluster_waits & warp->lanes.mask)
        return emu_report_at(warp, op, "BARRIER-COUNT", 0, 1,
                             "barrier.cluster.arrive twice without barrier.cluster.wait between");
    if (op->e)
        emu_aligned(warp, op);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_cluster_arrive(warp->hazard, warp->lanes.mask, (int)op->a);
    warp->cluster_arrived |= warp->lanes.mask;
    warp->cluster_waits |= warp->lanes.mask;
    cluster->missing -= emu_count(warp->lanes.mask);
    warp->launch->changes++;
    emu_cluster_check(cluster);
    return op + 1;
}

const struct emu_op *emu_op_cluster_wait(struct emu_warp *warp, const struct emu_op *op)
{
    if (warp->lanes.mask & ~warp->cluster_waits)
        return emu_report_at(warp, op, "BARRIER-COUNT", 0, 1,
                             "barrier.cluster.wait without a barrier.cluster.arrive of the thread before it: what it "
                             "waits for needs that arrival");
    warp->cluster_waits &= ~warp->lanes.mask;
    if (op->e)
        emu_aligned(warp, op);
    if (!(warp->cluster_arrived & warp->lanes.mask)) {
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_cluster_wait(warp->hazard, warp->lanes.mask);
        return op + 1;
    }
    warp->paths[warp->current].wait_b = warp->lanes.mask;
    emu_event(warp, op, EMU_EVENT_CLUSTER_WAIT, 0, 0, 0);
    return emu_wait(warp, op, op + 1, EMU_PATH_CLUSTER);
}

/* ---- setmaxnreg -------------------------------------------------------------------------------------------------- */

const struct emu_op *emu_op_setmaxnreg(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_block *block = warp->block;
    uint32_t want = op->a, have = warp->max_registers;
    int up = op->b != 0;
    emu_aligned(warp, op);
    if (!warp->launch->moves_registers)
        return op + 1;
    warp->moved_registers = op;
    if (up ? want < have : want > have)
        return emu_report_at(warp, op, "REG-POOL", 0, 1, "setmaxnreg.%s %u of a warp that has %u registers a thread",
                             up ? "inc" : "dec", want, have);
    if (up && (want - have) * EMU_LANES > block->registers_free)
        return emu_wait(warp, op, op, EMU_PATH_REGISTERS);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_setmaxnreg(warp->hazard, emu_position(warp, op));
    block->registers_free = block->registers_free + have * EMU_LANES - want * EMU_LANES;
    warp->max_registers = want;
    warp->launch->changes++;
    for (uint32_t i = 0; !up && i < block->warp_count; i++) {
        struct emu_warp *other = &block->warps[i];
        for (uint32_t j = 0; !other->done && j < other->path_count; j++)
            if (other->paths[j].state == EMU_PATH_REGISTERS)
                emu_path_ready(other, j);
    }
    return op + 1;
}

void emu_registers_check(struct emu_block *block)
{
    struct emu_warp *moved = NULL, *stays = NULL;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        if (block->warps[i].moved_registers)
            moved = &block->warps[i];
        else
            stays = &block->warps[i];
    }
    if (moved && stays)
        emu_report_at(moved, moved->moved_registers, "REG-POOL", 0, 0,
                      "warp %u never executes setmaxnreg, other warps of its block do", stays->index);
    for (uint32_t i = 0; moved && !stays && i < block->warp_count; i++) {
        struct emu_warp *warp = &block->warps[i], *first = &block->warps[i - i % EMU_WARPGROUP];
        if (warp->max_registers != first->max_registers)
            emu_report_at(warp, warp->moved_registers, "REG-POOL", 0, 0,
                          "warps %u and %u of a warpgroup leave setmaxnreg with %u and %u registers: all four execute "
                          "the same one",
                          first->index, warp->index, first->max_registers, warp->max_registers);
    }
}

/* ---- Fences ------------------------------------------------------------------------------------------------------ */

/* Memory here is always in order: fences matter to hazards only. a: opcode, b: scope, c: operation, d: space. */
const struct emu_op *emu_op_fence(struct emu_warp *warp, const struct emu_op *op)
{
    if (op->a == PTX_OP_WGMMA_FENCE)
        emu_aligned(warp, op);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_fence(warp, op);
    return op + 1;
}

/* a: wait */
const struct emu_op *emu_op_griddepcontrol(struct emu_warp *warp, const struct emu_op *op)
{
    if (EMU_UNLIKELY(warp->hazard != NULL) && op->a)
        emu_hazard_fence(warp->hazard, warp->lanes.mask, EMU_FENCE_GRID);
    return op + 1;
}

const struct emu_op *emu_op_nanosleep(struct emu_warp *warp, const struct emu_op *op)
{
    warp->launch->time += 100;
    return op + 1;
}
