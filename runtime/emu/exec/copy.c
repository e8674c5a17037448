/* Barriers in memory and asynchronous copies: what instructions ask of mbarrier.h and async.h. */
#include <stdio.h>

#include "copies.h"
#include "emu/async/tma.h"
#include "event.h"
#include "flow.h"
#include "watch.h"

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

const struct emu_op *emu_fault_at(struct emu_warp *warp, const struct emu_op *op, const struct emu_fault *fault)
{
    return emu_report_at(warp, op, emu_fault_name(fault->kind), fault->address, 1, "%s", fault->text);
}

/* The warp that issued an operation, from the number of its thread. */
static struct emu_warp *issuer(struct emu_launch *launch, uint32_t number)
{
    for (int spare = 0; spare < 2; spare++) {
        for (struct emu_cluster *c = spare ? launch->spare : launch->resident; c; c = c->next) {
            uint32_t warp = (number - c->issuer) / EMU_LANES;
            if (number >= c->issuer && warp < c->block_count * launch->warps)
                return &c->blocks[warp / launch->warps].warps[warp % launch->warps];
        }
    }
    return NULL;
}

/* A fault of an operation that went on without its thread: at the instruction that issued it. */
void emu_async_report(struct emu_launch *launch, const struct emu_fault *fault, const struct emu_async_event *event)
{
    struct emu_warp *warp = issuer(launch, event->issuer);
    const struct emu_op *op = emu_watch_op(launch, event->tag);
    if (!warp || !op) {
        emu_fail_launch(launch, TW_ERROR_LAUNCH, "hazard %s: %s", emu_fault_name(fault->kind), fault->text);
        return;
    }
    uint32_t mask = warp->lanes.mask;
    warp->lanes.mask = 1u << event->issuer % EMU_LANES;
    emu_report_at(warp, op, emu_fault_name(fault->kind), fault->address, fault->kind != EMU_FAULT_TMA_CHUNK, "%s: %s",
                  emu_async_kind_name(event->kind), fault->text);
    warp->lanes.mask = mask;
}

static void hook(void *context, const struct emu_async_event *event)
{
    struct emu_launch *launch = context;
    if (event->moment == EMU_ASYNC_SIGNAL && event->completed)
        launch->changes++;
    if (EMU_UNLIKELY(launch->listens))
        emu_event_moment(launch, issuer(launch, event->issuer), event);
    if (launch->hazard)
        emu_watch_moment(launch, event);
}

int emu_async_start(struct emu_launch *launch, struct tw_error *error)
{
    struct emu_async_options options = {.context = launch, .hook = hook, .seed = launch->device->options.seed};
    options.seed += launch->number;
    switch (launch->device->options.completion) {
    case EMU_LATE:
        options.mode = EMU_ASYNC_LATE;
        break;
    case EMU_RANDOM:
        options.mode = EMU_ASYNC_RANDOM;
        break;
    default:
        options.mode = EMU_ASYNC_EAGER;
        break;
    }
    return emu_async_open(launch->device->device.rt, &options, &launch->async, error);
}

/* A fault of an issue: of this operation, or in eager mode of another one that it let go. */
static const struct emu_op *issue_fault(struct emu_warp *warp, const struct emu_op *op, const struct emu_fault *fault)
{
    return emu_fault_at(warp, op, fault);
}

/* ---- mbarrier ---------------------------------------------------------------------------------------------------- */

/* The barrier of a lane, or NULL after a report. */
static unsigned char *barrier_of(struct emu_warp *warp, const struct emu_op *op, const struct emu_where *where,
                                 unsigned lane, uint64_t *address)
{
    *address = emu_lane_address(warp, where, lane);
    if (*address % 8) {
        emu_report_at(warp, op, "ALIGN", *address, 1, "a barrier at 0x%llx, which is no multiple of 8",
                      (unsigned long long)*address);
        return NULL;
    }
    unsigned char *at = *address < EMU_LOCAL_WINDOW ? emu_resolve(warp->block->cluster, *address, 8, 1) : NULL;
    if (!at)
        emu_report_at(warp, op, "BOUNDS", *address, 1, "a barrier at 0x%llx, which is outside of shared memory",
                      (unsigned long long)*address);
    return at;
}

/* The same of an instruction that takes barriers of the executing block alone. */
static unsigned char *own_barrier(struct emu_warp *warp, const struct emu_op *op, const struct emu_where *where,
                                  unsigned lane, uint64_t *address)
{
    unsigned char *at = barrier_of(warp, op, where, lane, address);
    if (!at || emu_shared_rank(*address) == warp->block->rank)
        return at;
    emu_report_at(warp, op, "BOUNDS", *address, 1,
                  "a barrier in the shared memory of block %u of the cluster: this instruction takes those of its own "
                  "block, %u",
                  emu_shared_rank(*address), warp->block->rank);
    return NULL;
}

static const struct emu_op *barrier_fault(struct emu_warp *warp, const struct emu_op *op, uint64_t address,
                                          struct emu_fault *fault)
{
    fault->address = address;
    return emu_fault_at(warp, op, fault);
}

const struct emu_op *emu_op_mbarrier_init(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    const uint32_t *count = EMU_W(op->b);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        uint64_t address, word;
        struct emu_fault fault;
        unsigned char *at = own_barrier(warp, op, &extra->barrier, lane, &address);
        if (!at)
            return NULL;
        if (emu_mbarrier_init(&word, count[lane], &fault))
            return barrier_fault(warp, op, address, &fault);
        memcpy(at, &word, 8);
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_mbarrier_init(warp->hazard, 1u << lane, address, emu_position(warp, op));
    }
    emu_changed(warp);
    return op + 1;
}

const struct emu_op *emu_op_mbarrier_inval(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        uint64_t address, word;
        struct emu_fault fault;
        unsigned char *at = own_barrier(warp, op, &extra->barrier, emu_first(m), &address);
        if (!at)
            return NULL;
        memcpy(&word, at, 8);
        if (emu_mbarrier_inval(&word, &fault))
            return barrier_fault(warp, op, address, &fault);
        memcpy(at, &word, 8);
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_mbarrier_inval(warp->hazard, m & (0u - m), address, emu_position(warp, op));
    }
    emu_changed(warp);
    return op + 1;
}

/* expect_tx; with op->c complete_tx */
const struct emu_op *emu_op_mbarrier_tx(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    const uint32_t *bytes = EMU_W(op->b);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        uint64_t address, word;
        struct emu_fault fault;
        unsigned char *at = barrier_of(warp, op, &extra->barrier, lane, &address);
        if (!at)
            return NULL;
        memcpy(&word, at, 8);
        int completed = 0;
        enum emu_fault_kind kind = op->c ? emu_mbarrier_complete_tx(&word, bytes[lane], &completed, &fault)
                                         : emu_mbarrier_expect_tx(&word, bytes[lane], &completed, &fault);
        if (kind)
            return barrier_fault(warp, op, address, &fault);
        memcpy(at, &word, 8);
        if (EMU_UNLIKELY(warp->hazard != NULL) && completed)
            emu_hazard_mbarrier_arrive(warp->hazard, 1u << lane, address, 1, 1, emu_position(warp, op));
        else if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_mbarrier_expect(warp->hazard, 1u << lane, address, emu_position(warp, op));
        emu_event(warp, op, op->c ? EMU_EVENT_SIGNAL : EMU_EVENT_EXPECT, address, bytes[lane], completed);
    }
    emu_changed(warp);
    return op + 1;
}

/* More arrive than are pending: the arrival is told and left out, its bytes are expected, and the kernel goes on: what
   it does next says more about what is wrong. 1: it ends here. */
static int over_arrival(struct emu_warp *warp, const struct emu_op *op, unsigned lane, uint64_t address, uint64_t *word,
                        uint32_t tx, const struct emu_fault *fault)
{
    struct emu_fault more;
    emu_hazard_mbarrier_over(warp->hazard, 1u << lane, address, emu_position(warp, op), fault->text);
    if (warp->launch->status || (tx && emu_mbarrier_expect_tx(word, tx, NULL, &more))) {
        if (!warp->launch->status)
            barrier_fault(warp, op, address, &more);
        return 1;
    }
    return 0;
}

const struct emu_op *emu_op_mbarrier_arrive(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    const uint32_t *operand = EMU_W(op->b);
    uint64_t state[EMU_LANES];
    unsigned flags = (extra->drop ? EMU_MBARRIER_DROP : 0u) | (extra->no_complete ? EMU_MBARRIER_NO_COMPLETE : 0u);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        uint64_t address, word;
        struct emu_fault fault;
        uint32_t count = extra->has_count && !extra->expect_tx ? operand[lane] : 1;
        uint32_t tx = extra->expect_tx ? operand[lane] : 0;
        unsigned char *at = barrier_of(warp, op, &extra->barrier, lane, &address);
        if (!at)
            return NULL;
        memcpy(&word, at, 8);
        int completed = 0;
        enum emu_fault_kind kind = emu_mbarrier_arrive(&word, count, tx, flags, &state[lane], &completed, &fault);
        if (kind == EMU_FAULT_BARRIER_COUNT && warp->hazard && count) {
            if (over_arrival(warp, op, lane, address, &word, tx, &fault))
                return NULL;
            state[lane] = word;
        } else if (kind) {
            return barrier_fault(warp, op, address, &fault);
        } else if (EMU_UNLIKELY(warp->hazard != NULL)) {
            emu_hazard_mbarrier_arrive(warp->hazard, 1u << lane, address, extra->relaxed, completed,
                                       emu_position(warp, op));
        }
        memcpy(at, &word, 8);
        emu_event(warp, op, EMU_EVENT_ARRIVE, address, tx, completed);
    }
    emu_put64(warp, op->d, state);
    emu_changed(warp);
    return op + 1;
}

/* The parity of the phase that a wait names. */
static unsigned phase_of(struct emu_warp *warp, const struct emu_op *op, unsigned lane)
{
    const struct emu_mbarrier_op *extra = op->extra;
    struct emu_mbarrier state;
    if (extra->parity)
        return EMU_W(op->b)[lane] & 1;
    return emu_mbarrier_decode(EMU_L(op->b)[lane], &state, NULL) ? 0 : state.parity;
}

/* Whether all lanes, active or not, hold the same barrier and the same phase: mostly they do, and one look tells it. */
static int wait_together(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    uint64_t apart = 0;
    uint32_t apart_narrow = 0;
    if (extra->barrier.wide) {
        const uint64_t *at = EMU_L(extra->barrier.at);
        EMU_EACH apart |= at[i] ^ at[0];
    } else {
        const uint32_t *at = EMU_W(extra->barrier.at);
        EMU_EACH apart_narrow |= at[i] ^ at[0];
    }
    if (extra->parity) {
        const uint32_t *parity = EMU_W(op->b);
        EMU_EACH apart_narrow |= (parity[i] ^ parity[0]) & 1;
    } else {
        const uint64_t *state = EMU_L(op->b);
        EMU_EACH apart |= state[i] ^ state[0];
    }
    return !(apart | apart_narrow);
}

/* Lanes from the mask that wait on the first one's barrier for the same phase. */
static uint32_t wait_alike(struct emu_warp *warp, const struct emu_op *op, uint32_t mask)
{
    const struct emu_mbarrier_op *extra = op->extra;
    unsigned first = emu_first(mask);
    uint32_t alike = 0;
    if (!(mask & (mask - 1)) || wait_together(warp, op))
        return mask;
    uint64_t address = emu_lane_address(warp, &extra->barrier, first);
    for (uint32_t m = mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        int same = extra->parity ? !((EMU_W(op->b)[lane] ^ EMU_W(op->b)[first]) & 1)
                                 : EMU_L(op->b)[lane] == EMU_L(op->b)[first];
        if (same && emu_lane_address(warp, &extra->barrier, lane) == address)
            alike |= 1u << lane;
    }
    return alike;
}

/* test_wait, and with op->e try_wait. Where it fails, the path waits until something has changed. test_wait goes on
   behind it with the answer no; try_wait looks once more, for a phase that ends while it is suspended ends the wait.
   But of an H200's suspended waits one in forty says no all the same, so in random mode all of them do. */
const struct emu_op *emu_op_mbarrier_test(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_mbarrier_op *extra = op->extra;
    uint32_t yes = 0;
    uint64_t failed = 0, passed = 0;
    struct emu_path *path = &warp->paths[warp->current];
    int again = path->asks;
    path->asks = 0;
    int spurious = op->e && !again && emu_async_spurious(warp->launch->async);
    if (spurious) {
        emu_put_pred(warp, op->d, 0);
        return op + 1;
    }
    for (uint32_t rest = warp->lanes.mask, lanes; rest; rest &= ~lanes) {
        unsigned lane = emu_first(rest);
        uint64_t address, word;
        struct emu_fault fault;
        int done = 0;
        lanes = wait_alike(warp, op, rest);
        unsigned char *at = own_barrier(warp, op, &extra->barrier, lane, &address);
        if (!at)
            return NULL;
        memcpy(&word, at, 8);
        enum emu_fault_kind kind = extra->parity ? emu_mbarrier_test_parity(word, EMU_W(op->b)[lane], &done, &fault)
                                                 : emu_mbarrier_test(word, EMU_L(op->b)[lane], &done, &fault);
        if (kind)
            return barrier_fault(warp, op, address, &fault);
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_mbarrier_wait(warp->hazard, lanes, address, phase_of(warp, op, lane), done, extra->relaxed,
                                     emu_position(warp, op));
        if (done)
            yes |= lanes;
        *(done ? &passed : &failed) = address;
        path->barrier = lanes == warp->lanes.mask ? at : NULL;
        path->barrier_word = word;
    }
    emu_put_pred(warp, op->d, yes);
    if (yes)
        emu_event(warp, op, EMU_EVENT_PASS, passed, 0, 0);
    if (yes == warp->lanes.mask || again)
        return op + 1;
    emu_event(warp, op, EMU_EVENT_WAIT, failed, 0, 0);
    path->wait_address = failed;
    path->looked = 0;
    path->asks = op->e && warp->launch->device->options.completion != EMU_RANDOM;
    return emu_wait(warp, op, path->asks ? emu_retry(op) : op + 1, EMU_PATH_POLL);
}

int emu_lacks_bytes(const struct emu_warp *warp, uint64_t address)
{
    uint64_t word;
    struct emu_mbarrier barrier;
    return !emu_bytes_read(warp->block->cluster, address, &word, 8) && !emu_mbarrier_decode(word, &barrier, NULL) &&
           !barrier.pending && barrier.tx;
}

void emu_describe_mbarrier(const struct emu_warp *warp, const struct emu_path *path, char *out, size_t room)
{
    uint64_t word;
    struct emu_mbarrier barrier;
    char where[120];
    emu_address_text(warp->launch, path->wait_address, where, sizeof where);
    if (emu_bytes_read(warp->block->cluster, path->wait_address, &word, 8) || emu_mbarrier_decode(word, &barrier, NULL))
        snprintf(out, room, "waits for a barrier at %s", where);
    else
        snprintf(out, room,
                 "waits for the barrier at %s: of its phase of parity %u, %u of %u arrivals and %d bytes are "
                 "missing",
                 where, barrier.parity, barrier.pending, barrier.expected, barrier.tx);
}

const struct emu_op *emu_op_mbarrier_pending(struct emu_warp *warp, const struct emu_op *op)
{
    const uint64_t *state = EMU_L(op->a);
    uint32_t r[EMU_LANES] = {0};
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        struct emu_fault fault;
        if (emu_mbarrier_pending_count(state[emu_first(m)], &r[emu_first(m)], &fault))
            return emu_fault_at(warp, op, &fault);
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Maps that were read before, by address and bytes: a few are in use at a time. */
static const struct emu_tma_map *open_map(struct emu_warp *warp, uint64_t address, struct emu_fault *fault)
{
    struct emu_launch *launch = warp->launch;
    uint64_t bytes[16];
    if (address % 64) {
        emu_fail(fault, EMU_FAULT_ALIGN, address, "a tensor map at 0x%llx, which is no multiple of 64",
                 (unsigned long long)address);
        return NULL;
    }
    if (emu_bytes_read(warp->block->cluster, address, bytes, sizeof bytes)) {
        emu_fail(fault, EMU_FAULT_BOUNDS, address, "a tensor map at 0x%llx, which is outside of memory",
                 (unsigned long long)address);
        return NULL;
    }
    struct emu_map_cache *cache = &launch->maps[address / 64 % EMU_MAPS];
    if (cache->map && cache->address == address && !memcmp(cache->bytes, bytes, sizeof bytes))
        return cache->map;
    if (!cache->map && !(cache->map = tw_alloc(launch->device->device.rt, sizeof *cache->map))) {
        emu_fail(fault, EMU_FAULT_MEMORY, address, "no memory");
        return NULL;
    }
    cache->address = UINT64_MAX;
    if (emu_tma_open(bytes, cache->map, fault))
        return NULL;
    cache->address = address;
    memcpy(cache->bytes, bytes, sizeof bytes);
    return cache->map;
}

enum emu_fault_kind emu_copy_request(struct emu_warp *warp, const struct emu_copy *c, unsigned lane,
                                     struct emu_tma_request *request, struct emu_fault *fault)
{
    const struct emu_tma_map *map = open_map(warp, emu_lane_address(warp, &c->map, lane), fault);
    if (!map)
        return fault->kind;
    *request = (struct emu_tma_request){.map = map, .mode = (enum emu_tma_mode)c->mode, .rank = c->rank};
    for (unsigned i = 0; i < c->rank; i++)
        request->coord[i] = (int32_t)EMU_W(c->coordinates[i])[lane];
    for (unsigned i = 0; c->mode == EMU_TMA_IM2COL && i + 2 < c->rank; i++)
        request->offset[i] = (uint16_t)EMU_W(c->offsets[i])[lane];
    request->smem = emu_lane_address(warp, c->store ? &c->from : &c->to, lane);
    return EMU_FAULT_NONE;
}

uint32_t emu_copy_source_bytes(struct emu_warp *warp, const struct emu_copy *c, unsigned lane)
{
    uint32_t have = c->bytes;
    if (c->source_bytes != PTX_NONE && EMU_W(c->source_bytes)[lane] < have)
        have = EMU_W(c->source_bytes)[lane];
    if (c->ignore != PTX_NONE && (emu_pred(warp, c->ignore) >> lane & 1))
        have = 0;
    return have;
}

static enum emu_fault_kind tensor_copy(struct emu_warp *warp, const struct emu_copy *c, unsigned lane,
                                       const struct emu_async_issue *issue, struct emu_fault *fault)
{
    struct emu_async *queue = warp->launch->async;
    struct emu_tma_request request;
    enum emu_fault_kind kind = emu_copy_request(warp, c, lane, &request, fault);
    if (kind)
        return kind;
    if (c->store)
        return emu_async_tensor_store(queue, issue, &request, (enum emu_reduce)c->reduce, fault);
    uint16_t targets = c->multicast == PTX_NONE ? 0 : (uint16_t)EMU_W(c->multicast)[lane];
    uint64_t barrier = emu_lane_address(warp, &c->barrier, lane);
    if (emu_shared_rank(barrier) != emu_shared_rank(request.smem))
        return emu_fail(fault, EMU_FAULT_BOUNDS, barrier,
                        "a tensor load into block %u of the cluster, with a barrier in block %u: it takes one in the "
                        "shared memory that it writes",
                        emu_shared_rank(request.smem), emu_shared_rank(barrier));
    return emu_async_tensor_load(queue, issue, &request, targets, barrier, fault);
}

static enum emu_fault_kind bulk_copy(struct emu_warp *warp, const struct emu_copy *c, unsigned lane,
                                     const struct emu_async_issue *issue, struct emu_fault *fault)
{
    struct emu_async *queue = warp->launch->async;
    uint64_t to = emu_lane_address(warp, &c->to, lane), from = emu_lane_address(warp, &c->from, lane);
    uint32_t bytes = c->bytes_lanes == PTX_NONE ? c->bytes : EMU_W(c->bytes_lanes)[lane];
    if (bytes % 16 || to % 16 || from % 16)
        return emu_fail(fault, EMU_FAULT_ALIGN, to,
                        "a copy of %u bytes from 0x%llx to 0x%llx: all three must be "
                        "multiples of 16",
                        bytes, (unsigned long long)from, (unsigned long long)to);
    if (c->opcode == PTX_OP_CP_REDUCE_ASYNC_BULK)
        return emu_async_bulk_reduce(queue, issue, to, from, bytes, (enum emu_reduce)c->reduce,
                                     (enum emu_reduce_type)c->reduce_type,
                                     c->store ? 0 : emu_lane_address(warp, &c->barrier, lane), fault);
    if (c->store)
        return emu_async_bulk_store(queue, issue, to, from, bytes, 0xffff, fault);
    if (c->from.space != PTX_SPACE_GLOBAL && warp->launch->cluster_blocks < 2) // an H200 says so (tests/gpu/probes)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, to,
                        "a bulk copy within shared memory in a launch whose clusters have one block: it needs two");
    uint16_t targets = c->multicast == PTX_NONE ? 0 : (uint16_t)EMU_W(c->multicast)[lane];
    return emu_async_bulk_load(queue, issue, to, from, bytes, targets, emu_lane_address(warp, &c->barrier, lane),
                               fault);
}

static enum emu_fault_kind small_copy(struct emu_warp *warp, const struct emu_copy *c, unsigned lane,
                                      const struct emu_async_issue *issue, struct emu_fault *fault)
{
    struct emu_async *queue = warp->launch->async;
    if (c->opcode == PTX_OP_CP_ASYNC_MBARRIER_ARRIVE)
        return emu_async_cp_arrive(queue, issue, emu_lane_address(warp, &c->barrier, lane), c->no_increment, fault);
    uint64_t to = emu_lane_address(warp, &c->to, lane);
    if (c->opcode == PTX_OP_CP_ASYNC) {
        uint64_t from = emu_lane_address(warp, &c->from, lane);
        uint32_t have = emu_copy_source_bytes(warp, c, lane);
        if (to % c->bytes || (have && from % c->bytes))
            return emu_fail(fault, EMU_FAULT_ALIGN, from, "a copy of %u bytes from 0x%llx to 0x%llx", c->bytes,
                            (unsigned long long)from, (unsigned long long)to);
        return emu_async_cp_async(queue, issue, to, from, c->bytes, have, fault);
    }
    unsigned char value[32] = {0};
    for (unsigned i = 0; i < c->elements; i++) {
        if (c->wide)
            memcpy(value + 8 * i, &EMU_L(c->data[i])[lane], 8);
        else
            memcpy(value + 4 * i, &EMU_W(c->data[i])[lane], 4);
    }
    uint32_t bytes = (uint32_t)c->elements * c->element_bytes;
    uint64_t barrier = emu_lane_address(warp, &c->barrier, lane);
    if (warp->launch->cluster_blocks < 2) // an H200 traps, compute-sanitizer says why
        return emu_fail(fault, EMU_FAULT_ILLEGAL, to, "%s in a launch whose clusters have one block: it needs two",
                        c->opcode == PTX_OP_RED_ASYNC ? "red.async" : "st.async");
    if (to % bytes)
        return emu_fail(fault, EMU_FAULT_ALIGN, to, "%u bytes at 0x%llx", bytes, (unsigned long long)to);
    if (c->opcode == PTX_OP_RED_ASYNC)
        return emu_async_red_async(queue, issue, to, value, (enum emu_reduce)c->reduce,
                                   (enum emu_reduce_type)c->reduce_type, barrier, fault);
    return emu_async_st_async(queue, issue, to, value, bytes, barrier, fault);
}

const struct emu_op *emu_op_copy(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_copy *c = op->extra;
    uint64_t tags[EMU_LANES];
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_copy(warp, op, c, tags);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        struct emu_async_issue issue = {.memory = &warp->block->cluster->bytes,
                                        .issuer = emu_issuer(warp, lane),
                                        .tag = warp->hazard ? tags[lane] : (uintptr_t)op};
        struct emu_fault fault = {.kind = EMU_FAULT_NONE};
        enum emu_fault_kind kind;
        switch (c->opcode) {
        case PTX_OP_CP_ASYNC_BULK_TENSOR:
        case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
            kind = tensor_copy(warp, c, lane, &issue, &fault);
            break;
        case PTX_OP_CP_ASYNC_BULK:
        case PTX_OP_CP_REDUCE_ASYNC_BULK:
            kind = bulk_copy(warp, c, lane, &issue, &fault);
            break;
        default:
            kind = small_copy(warp, c, lane, &issue, &fault);
            break;
        }
        if (kind)
            return issue_fault(warp, op, &fault);
    }
    return op + 1;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* a: group; cp.async and bulk groups are a thread's, wgmma's the warp's */
const struct emu_op *emu_op_commit(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_fault fault;
    uint32_t lanes = op->a == EMU_ASYNC_GROUP_WGMMA ? 1 : warp->lanes.mask;
    if (op->a == EMU_ASYNC_GROUP_WGMMA)
        emu_aligned(warp, op);
    for (uint32_t m = lanes; m; m &= m - 1)
        if (emu_async_commit(warp->launch->async, (enum emu_async_group)op->a, emu_issuer(warp, emu_first(m)), &fault))
            return emu_fault_at(warp, op, &fault);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_group(warp, op, 0);
    emu_event(warp, op, EMU_EVENT_COMMIT, 0, op->a, 0);
    if (op->a == EMU_ASYNC_GROUP_WGMMA) {
        warp->wgmma_commits++;
        emu_warpgroup_ready(warp);
    }
    return op + 1;
}

static int wait_fault(struct emu_warp *warp, const struct emu_fault *fault)
{
    struct emu_async_event event = emu_async_culprit(warp->launch->async);
    emu_async_report(warp->launch, fault, &event);
    return warp->launch->status;
}

/* A group of wgmmas is one operation of the warpgroup: it is over once all four warps have committed it, and for all of
   them at once (an H200's warps come out of wait_group together). 1: this warp waits for others, or a fault ended it.
 */
static int wait_warpgroup(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_block *block = warp->block;
    struct emu_async *queue = warp->launch->async;
    uint32_t limit = warp->wgmma_commits > op->b ? warp->wgmma_commits - op->b : 0;
    uint32_t first = warp->index - warp->index % EMU_WARPGROUP, end = first + EMU_WARPGROUP;
    end = end < block->warp_count ? end : block->warp_count;
    for (uint32_t i = first; i < end; i++)
        if (block->warps[i].wgmma_commits < limit && !block->warps[i].done) {
            emu_wait(warp, op, emu_retry(op), EMU_PATH_WARPGROUP);
            return 1;
        }
    for (uint32_t i = first; i < end; i++) {
        struct emu_warp *other = &block->warps[i];
        uint32_t left = other->wgmma_commits > limit ? other->wgmma_commits - limit : 0;
        struct emu_fault fault;
        if (emu_async_wait_group(queue, EMU_ASYNC_GROUP_WGMMA, emu_issuer(other, 0), left, 0, &fault) &&
            wait_fault(warp, &fault))
            return 1;
    }
    return 0;
}

void emu_warpgroup_ready(struct emu_warp *warp)
{
    struct emu_block *block = warp->block;
    uint32_t first = warp->index - warp->index % EMU_WARPGROUP;
    for (uint32_t i = first; i < first + EMU_WARPGROUP && i < block->warp_count; i++)
        for (uint32_t j = 0; !block->warps[i].done && j < block->warps[i].path_count; j++)
            if (block->warps[i].paths[j].state == EMU_PATH_WARPGROUP)
                emu_path_ready(&block->warps[i], j);
}

/* b: groups that may be left; c: all, committed or not; d: .read */
const struct emu_op *emu_op_wait_group(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_async *queue = warp->launch->async;
    uint32_t lanes = op->a == EMU_ASYNC_GROUP_WGMMA ? 0 : warp->lanes.mask;
    if (op->a == EMU_ASYNC_GROUP_WGMMA) {
        emu_aligned(warp, op);
        if (wait_warpgroup(warp, op))
            return NULL;
    }
    for (uint32_t m = lanes; m; m &= m - 1) {
        struct emu_fault fault;
        uint32_t thread = emu_issuer(warp, emu_first(m));
        enum emu_fault_kind kind =
            op->c ? emu_async_wait_all(queue, (enum emu_async_group)op->a, thread, &fault)
                  : emu_async_wait_group(queue, (enum emu_async_group)op->a, thread, op->b, (int)op->d, &fault);
        if (kind && wait_fault(warp, &fault))
            return NULL;
    }
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_group(warp, op, 1);
    emu_event(warp, op, EMU_EVENT_WAIT_GROUP, 0, op->a, 0);
    return op + 1;
}

/* ---- Tensor maps in memory --------------------------------------------------------------------------------------- */

const struct emu_op *emu_op_tensormap_copy(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_where *map = op->extra;
    unsigned lane = emu_first(warp->lanes.mask);
    unsigned char bytes[128];
    uint64_t to = emu_lane_address(warp, &map[0], lane), from = emu_lane_address(warp, &map[1], lane);
    struct emu_cluster *cluster = warp->block->cluster;
    if (emu_bytes_read(cluster, from, bytes, sizeof bytes) || emu_bytes_write(cluster, to, bytes, sizeof bytes))
        return emu_report_at(warp, op, "BOUNDS", to, 1, "a copy of a tensor map from 0x%llx to 0x%llx",
                             (unsigned long long)from, (unsigned long long)to);
    return op + 1;
}

/* a: value; b: field; c: index; e: the value has 64 bits. The map is taken apart and put together again. */
const struct emu_op *emu_op_tensormap_replace(struct emu_warp *warp, const struct emu_op *op)
{
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        uint64_t address = emu_lane_address(warp, op->extra, lane), bytes[16];
        uint64_t value = op->e ? EMU_L(op->a)[lane] : EMU_W(op->a)[lane];
        struct tw_tensormap_call call;
        struct emu_cluster *cluster = warp->block->cluster;
        if (emu_bytes_read(cluster, address, bytes, sizeof bytes))
            return emu_report_at(warp, op, "BOUNDS", address, 1, "a tensor map at 0x%llx", (unsigned long long)address);
        tw_tensormap_decode(bytes, &call, NULL); /* as far as it goes: fields may be set one after another */
        switch (op->b) {
        case PTX_MOD_GLOBAL_ADDRESS:
            call.addr = value;
            break;
        case PTX_MOD_RANK:
            call.rank = (uint32_t)value + 1;
            break;
        case PTX_MOD_BOX_DIM:
            call.box[op->c % 5] = (uint32_t)value;
            break;
        case PTX_MOD_GLOBAL_DIM:
            call.dim[op->c % 5] = value;
            break;
        case PTX_MOD_GLOBAL_STRIDE:
            call.stride[op->c % 4] = value;
            break;
        case PTX_MOD_ELEMENT_STRIDE:
            call.estride[op->c % 5] = (uint32_t)value;
            break;
        case PTX_MOD_ELEMTYPE:
            call.dtype = (uint32_t)value;
            break;
        case PTX_MOD_INTERLEAVE_LAYOUT:
            call.interleave = (uint32_t)value;
            break;
        case PTX_MOD_SWIZZLE_MODE:
            call.swizzle = (uint32_t)value;
            break;
        default:
            call.oob = (uint32_t)value;
            break;
        }
        int status = op->b == PTX_MOD_GLOBAL_ADDRESS ? tw_tensormap_replace_address(bytes, value)
                                                     : tw_tensormap_encode(&call, 90, bytes);
        if (status)
            return emu_report_at(
                warp, op, "ILLEGAL", address, 1,
                "tensormap.replace gives a map that the encoder refuses; it must be valid at every step");
        if (emu_bytes_write(cluster, address, bytes, sizeof bytes))
            return emu_report_at(warp, op, "BOUNDS", address, 1, "a tensor map at 0x%llx", (unsigned long long)address);
    }
    return op + 1;
}
