#include "watch.h"
#include "copies.h"
#include "emu/async/fragments.h"
#include "emu/async/tma.h"
#include "memory.h"

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* A report of the engine becomes one of the device. */
static void found(void *context, struct emu_hazard_report *report)
{
    report->tag = (uint32_t)emu_report_found(context, report);
}

int emu_watch_start(struct emu_launch *launch, const struct tw_launch *given, struct tw_error *error)
{
    struct emu_device *device = launch->device;
    if (device->options.hazards == EMU_HAZARDS_OFF)
        return TW_OK;
    struct emu_hazard_options options = {.blocks = launch->cluster_blocks,
                                         .threads = launch->threads,
                                         .strict = device->options.hazards == EMU_HAZARDS_STRICT,
                                         .programmatic = (given->flags & TW_LAUNCH_PROGRAMMATIC) != 0,
                                         .memory = device->hazard_memory,
                                         .parts = launch->kernel->module->has_parts,
                                         .gaps = launch->kernel->module->gaps,
                                         .gap_count = launch->kernel->module->gap_count,
                                         .first_only = device->options.hazards == EMU_HAZARDS_FATAL,
                                         .report = found,
                                         .context = launch};
    return emu_hazard_open(device->device.rt, &options, &launch->hazard, error);
}

void emu_watch_end(struct emu_launch *launch)
{
    struct emu_device *device = launch->device;
    if (!launch->hazard)
        return;
    emu_hazard_settle(launch->hazard);
    const struct emu_hazard_report *r;
    for (size_t i = 0; (r = emu_hazard_report_at(launch->hazard, i)); i++)
        if (r->tag)
            device->reports.items[r->tag - 1].report.count += r->count - 1;
    if (!launch->status && emu_hazard_status(launch->hazard))
        emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for the hazard engine");
    emu_hazard_close(launch->hazard);
    launch->hazard = NULL;
    tw_free(device->device.rt, launch->flights);
    tw_free(device->device.rt, launch->image);
}

/* Bytes that came to a barrier in a phase in which nobody ever expected them. */
void emu_watch_retire(struct emu_cluster *cluster)
{
    uint32_t next = 0;
    for (uint64_t address; (address = emu_hazard_mbarrier_at(cluster->hazard, &next));) {
        struct emu_mbarrier barrier;
        uint64_t word;
        if (emu_bytes_read(cluster, address, &word, 8) || emu_mbarrier_decode(word, &barrier, NULL) || barrier.tx >= 0)
            continue;
        struct emu_hazard *hazard = cluster->launch->hazard;
        struct emu_hazard_warp *warp = emu_hazard_warp(cluster->hazard, emu_shared_rank(address), 0);
        emu_hazard_found(hazard, warp, EMU_HAZARD_TX_BYTES, 0, address, EMU_HAZARD_NOWHERE,
                         "the block has ended, and %d bytes more came to its barrier than were expected", -barrier.tx);
    }
}

/* ---- Accesses of threads ----------------------------------------------------------------------------------------- */

static unsigned scope_flags(unsigned scope)
{
    return scope == PTX_MOD_CTA ? EMU_ACCESS_CTA : scope == PTX_MOD_CLUSTER ? EMU_ACCESS_CLUSTER : EMU_ACCESS_GPU;
}

static unsigned access_flags(const struct emu_access *access)
{
    unsigned flags = access->kind == EMU_LOAD    ? EMU_ACCESS_READ
                     : access->kind == EMU_STORE ? EMU_ACCESS_WRITE
                                                 : EMU_ACCESS_ATOMIC;
    if (access->semantics == PTX_MOD_ACQUIRE || access->semantics == PTX_MOD_ACQ_REL)
        flags |= EMU_ACCESS_ACQUIRE | EMU_ACCESS_STRONG;
    if (access->semantics == PTX_MOD_RELEASE || access->semantics == PTX_MOD_ACQ_REL)
        flags |= EMU_ACCESS_RELEASE | EMU_ACCESS_STRONG;
    if (access->is_volatile)
        flags |= EMU_ACCESS_STRONG | (access->semantics == PTX_MOD_NONE ? EMU_ACCESS_VOLATILE : 0);
    if (access->polls)
        flags |= EMU_ACCESS_POLL;
    if (access->is_nc)
        flags |= EMU_ACCESS_NC;
    if (access->kind == EMU_ATOM && access->operation == PTX_MOD_CAS)
        flags |= EMU_ACCESS_CAS;
    return flags & EMU_ACCESS_STRONG ? flags | scope_flags(access->scope) : flags;
}

/* The bytes of an access that are used: from the first element that something reads to the last one. */
static uint32_t used_bytes(const struct emu_access *access, uint32_t *offset)
{
    uint32_t first = 0, end = access->count;
    while (first + 1 < end && (access->unused >> first & 1))
        first++;
    while (end > first + 1 && (access->unused >> (end - 1) & 1))
        end--;
    *offset = first * access->bytes;
    return (end - first) * access->bytes;
}

/* What the lanes' places are known to be: where not all bytes are used there is no row of them. */
static unsigned form_flags(const struct emu_access *access, uint32_t stride, uint32_t bytes)
{
    if (!stride)
        return EMU_ACCESS_PLACE;
    return stride == bytes && bytes == (uint32_t)access->bytes * access->count ? EMU_ACCESS_ROW : 0;
}

void emu_watch_shared(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                      const uint32_t *offset, uint32_t stride, uint32_t same)
{
    uint32_t first, bytes = used_bytes(access, &first), position = emu_position(warp, op), lanes = warp->lanes.mask;
    unsigned flags = access_flags(access) | form_flags(access, stride, bytes);
    flags |=
        warp->block->shared_end <= EMU_TENSOR_OFFSET ? EMU_ACCESS_OWN : 0; /* what is behind is told place by place */
    first += warp->block->rank * (uint32_t)EMU_SHARED_STRIDE;
    if (lanes & ~same)
        emu_hazard_shared(warp->hazard, lanes & ~same, offset, first, bytes, flags, position);
    if (lanes & same)
        emu_hazard_shared(warp->hazard, lanes & same, offset, first, bytes, flags | EMU_ACCESS_SAME, position);
}

void emu_watch_access(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                      const uint64_t *address, uint32_t stride, uint32_t same)
{
    uint32_t lanes = 0, shared = 0, position = emu_position(warp, op);
    uint32_t offset, bytes = used_bytes(access, &offset);
    unsigned flags = access_flags(access) | form_flags(access, stride, bytes);
    uint32_t below = access->space == PTX_SPACE_SHARED;
    for (int i = 0; i < EMU_LANES; i++)
        below |= address[i] < EMU_MAPPED_START;
    if (!below)
        lanes = warp->lanes.mask;
    else if (access->space == PTX_SPACE_SHARED)
        shared = warp->lanes.mask;
    for (uint32_t m = lanes | shared ? 0 : warp->lanes.mask; m; m &= m - 1) {
        uint64_t a = address[emu_first(m)];
        if (a >= EMU_MAPPED_START)
            lanes |= m & (0u - m);
        else if (a >= EMU_SHARED_WINDOW && a < EMU_LOCAL_WINDOW)
            shared |= m & (0u - m);
    }
    for (int part = 0; part < 2; part++) {
        uint32_t which = part ? same : ~same;
        unsigned kind = part ? flags | EMU_ACCESS_SAME : flags;
        if (!lanes && (shared & which)) {
            uint32_t narrow[EMU_LANES];
            for (int i = 0; i < EMU_LANES; i++)
                narrow[i] = (uint32_t)address[i];
            emu_hazard_shared(warp->hazard, shared & which, narrow, offset, bytes, kind, position);
        } else if ((lanes | shared) & which) {
            emu_hazard_generic(warp->hazard, (lanes | shared) & which, address, offset, bytes, kind, position);
        }
    }
}

void emu_watch_lost(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access, uint64_t address,
                    uint32_t lanes)
{
    if (!(access_flags(access) & EMU_ACCESS_STRONG))
        emu_report_at(
            warp, op, "UNORDERED-WRITE", address, 0,
            "lanes of one store write different values to the same bytes: which one stays is chance (not that "
            "of lanes 0x%x here)",
            lanes);
}

void emu_watch_rows(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *matrix, unsigned rows,
                    int write)
{
    uint32_t address[EMU_LANES] = {0};
    for (unsigned i = 0; i < rows; i++)
        address[i] = (uint32_t)emu_lane_address(warp, &matrix->address, i);
    emu_hazard_shared(warp->hazard, rows == 32 ? UINT32_MAX : (1u << rows) - 1, address, 0, 16,
                      write ? EMU_ACCESS_WRITE : EMU_ACCESS_READ, emu_position(warp, op));
}

/* a: opcode, b: scope, c: operation, d: space */
void emu_watch_fence(struct emu_warp *warp, const struct emu_op *op)
{
    enum emu_hazard_fence fence;
    switch (op->a) {
    case PTX_OP_WGMMA_FENCE:
        emu_hazard_wgmma_fence(warp->hazard);
        return;
    case PTX_OP_FENCE_MBARRIER_INIT:
        fence = EMU_FENCE_MBARRIER_INIT;
        break;
    case PTX_OP_FENCE_PROXY:
        if (op->c != PTX_MOD_ASYNC && op->c != PTX_MOD_ASYNC_GENERIC)
            return; /* other proxies are not modelled */
        fence = op->d == PTX_SPACE_GLOBAL ? EMU_FENCE_PROXY_GLOBAL
                : op->d == PTX_SPACE_NONE ? EMU_FENCE_PROXY_ASYNC
                                          : EMU_FENCE_PROXY_SHARED;
        break;
    default:
        fence = op->b == PTX_MOD_CTA ? EMU_FENCE_CTA : op->b == PTX_MOD_CLUSTER ? EMU_FENCE_CLUSTER : EMU_FENCE_GPU;
        break;
    }
    emu_hazard_fence(warp->hazard, warp->lanes.mask, fence);
}

/* ---- Asynchronous operations ------------------------------------------------------------------------------------- */

/* An operation on its way: the tag that the queue carries is its number here, plus 1. */
struct emu_flight {
    const struct emu_op *op;
    emu_hazard_operation handle;
    uint32_t next; /* free */
};

uint64_t emu_watch_tag(struct emu_launch *launch, const struct emu_op *op, emu_hazard_operation handle)
{
    if (launch->flight_free == launch->flight_room) {
        uint32_t room = launch->flight_room ? 2 * launch->flight_room : 1024;
        struct emu_flight *flights =
            tw_realloc(launch->device->device.rt, launch->flights, room * sizeof *launch->flights);
        if (!flights) {
            emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for operations on their way");
            return 0;
        }
        for (uint32_t i = launch->flight_room; i < room; i++)
            flights[i].next = i + 1;
        launch->flights = flights;
        launch->flight_room = room;
    }
    uint32_t number = launch->flight_free;
    struct emu_flight *flight = &launch->flights[number];
    launch->flight_free = flight->next;
    flight->op = op;
    flight->handle = handle;
    return number + 1u;
}

const struct emu_op *emu_watch_op(struct emu_launch *launch, uint64_t tag)
{
    if (!launch->hazard)
        return (const struct emu_op *)(uintptr_t)tag;
    return tag && tag <= launch->flight_room ? launch->flights[tag - 1].op : NULL;
}

void emu_watch_moment(struct emu_launch *launch, const struct emu_async_event *event)
{
    if (!event->tag || event->tag > launch->flight_room)
        return;
    struct emu_flight *flight = &launch->flights[event->tag - 1];
    if (event->moment == EMU_ASYNC_SIGNAL) {
        emu_hazard_signal(launch->hazard, flight->handle, event->barrier, event->completed);
    } else if (event->moment == EMU_ASYNC_DONE) {
        flight->next = launch->flight_free;
        launch->flight_free = (uint32_t)event->tag - 1;
    }
}

/* Ranges that an operation reads or writes. Neighbours are one, and many are told together. */
enum { RANGES = 128 };
struct recorder {
    struct emu_warp *warp;
    emu_hazard_operation handle;
    unsigned lane;
    int writes, reduce;
    uint64_t base; /* of pieces */
    uint32_t count;
    struct emu_hazard_range range[RANGES];
};

static void record_begin(struct recorder *r, struct emu_warp *warp, emu_hazard_operation handle, unsigned lane)
{
    r->warp = warp;
    r->handle = handle;
    r->lane = lane;
    r->writes = r->reduce = 0;
    r->base = 0;
    r->count = 0;
}

static void flush(struct recorder *r)
{
    if (r->writes)
        emu_hazard_writes(r->warp->hazard, r->handle, r->lane, r->range, r->count, r->reduce);
    else
        emu_hazard_reads(r->warp->hazard, r->handle, r->lane, r->range, r->count);
    r->count = 0;
}

static void record(struct recorder *r, uint64_t address, uint64_t bytes)
{
    struct emu_hazard_range *last = r->count ? &r->range[r->count - 1] : NULL;
    if (last && last->address + last->bytes == address) {
        last->bytes += bytes;
        return;
    }
    if (r->count == RANGES)
        flush(r);
    r->range[r->count++] = (struct emu_hazard_range){address, bytes};
}

/* Global memory that a tensor copy touches: a memory that tells instead of storing. */
static int record_read(void *context, uint64_t address, void *to, size_t bytes)
{
    struct recorder *r = context;
    int status = emu_bytes_read(r->warp->block->cluster, address, to, bytes);
    if (!status && bytes && !r->writes)
        record(r, address, bytes);
    return status;
}

static int record_write(void *context, uint64_t address, const void *from, size_t bytes)
{
    struct recorder *r = context;
    (void)from;
    if (!emu_resolve(r->warp->block->cluster, address, bytes, EMU_MAY_WRITE))
        return 1;
    record(r, address, bytes);
    return 0;
}

static unsigned char *image_of(struct emu_launch *launch, size_t bytes)
{
    if (bytes > launch->image_room) {
        unsigned char *image = tw_realloc(launch->device->device.rt, launch->image, bytes);
        if (!image)
            return NULL;
        launch->image = image;
        launch->image_room = bytes;
    }
    return launch->image;
}

static int record_box(void *context, struct emu_tma_piece piece)
{
    struct recorder *r = context;
    record(r, r->base + piece.at, piece.bytes);
    return 0;
}

/* A tile off the pattern of its swizzle works where copy and descriptor go by the address, both. */
static int is_strict(const struct emu_warp *warp)
{
    return warp->launch->device->options.hazards == EMU_HAZARDS_STRICT;
}

/* A tensor copy that would fault tells nothing: the issue reports it. */
static void tell_tensor(struct emu_warp *warp, const struct emu_op *op, const struct emu_copy *c, unsigned lane,
                        emu_hazard_operation handle, uint16_t targets)
{
    struct emu_fault fault;
    struct emu_tma_request request;
    if (emu_copy_request(warp, c, lane, &request, &fault) || emu_tma_check(&request, c->store, &fault))
        return;
    unsigned char *image = image_of(warp->launch, request.map->extent);
    if (!image)
        return;
    uint32_t pattern = 8 * request.map->span;
    if (pattern && request.map->extent >= pattern && request.smem % pattern && is_strict(warp))
        emu_report_at(warp, op, "ALIGN", request.smem, 0,
                      "a box of swizzle %uB at a shared address that is no multiple of its pattern of %u bytes",
                      request.map->span, pattern);
    if (!c->store)
        emu_hazard_swizzle(warp->hazard, handle, request.map->span, 0);
    struct recorder recorder, box;
    struct emu_bytes memory = {&recorder, record_read, record_write};
    record_begin(&recorder, warp, handle, lane);
    recorder.writes = c->store;
    recorder.reduce = c->reduce != EMU_REDUCE_STORE;
    record_begin(&box, warp, handle, lane);
    box.writes = !c->store;
    box.base = request.smem;
    if (c->store) {
        uint64_t tail;
        memset(image, 0, request.map->extent);
        emu_tma_stored(&request, record_box, &box);
        flush(&box);
        emu_tma_write_global(&request, (enum emu_reduce)c->reduce, &memory, image, &tail, &fault);
        flush(&recorder);
        return;
    }
    emu_tma_read_global(&request, &memory, image, &fault);
    flush(&recorder);
    for (unsigned rank = 0; rank < 16; rank++) {
        if (targets && !(targets >> rank & 1))
            continue;
        if (targets)
            box.base = emu_async_target(request.smem, rank);
        emu_tma_pieces(&request, record_box, &box);
        flush(&box);
        if (!targets)
            break;
    }
}

static void tell_signals(struct emu_warp *warp, emu_hazard_operation handle, uint64_t barrier, uint16_t targets)
{
    if (!targets)
        emu_hazard_signals(warp->hazard, handle, barrier);
    for (unsigned rank = 0; rank < 16; rank++)
        if (targets >> rank & 1)
            emu_hazard_signals(warp->hazard, handle, emu_async_target(barrier, rank));
}

static void tell_lane(struct emu_warp *warp, const struct emu_op *op, const struct emu_copy *c, unsigned lane,
                      emu_hazard_operation handle)
{
    struct emu_hazard_warp *hazard = warp->hazard;
    uint16_t targets = c->multicast == PTX_NONE ? 0 : (uint16_t)EMU_W(c->multicast)[lane];
    int signals = !c->store && c->opcode != PTX_OP_CP_ASYNC;
    if (signals)
        tell_signals(warp, handle, emu_lane_address(warp, &c->barrier, lane), targets);
    if (c->opcode == PTX_OP_CP_ASYNC_BULK_TENSOR || c->opcode == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR) {
        tell_tensor(warp, op, c, lane, handle, targets);
        return;
    }
    uint64_t to = emu_lane_address(warp, &c->to, lane);
    if (c->opcode == PTX_OP_ST_ASYNC || c->opcode == PTX_OP_RED_ASYNC) {
        const struct emu_hazard_range range = {to, (uint64_t)c->elements * c->element_bytes};
        emu_hazard_writes(hazard, handle, lane, &range, 1, c->opcode == PTX_OP_RED_ASYNC);
        return;
    }
    uint64_t from = emu_lane_address(warp, &c->from, lane);
    uint32_t bytes = c->bytes_lanes == PTX_NONE ? c->bytes : EMU_W(c->bytes_lanes)[lane], read = bytes;
    if (c->opcode == PTX_OP_CP_ASYNC)
        read = emu_copy_source_bytes(warp, c, lane);
    if (read && emu_resolve(warp->block->cluster, from, read, 0))
        emu_hazard_reads(hazard, handle, lane, &(struct emu_hazard_range){from, read}, 1);
    if (!targets && emu_resolve(warp->block->cluster, to, bytes, EMU_MAY_WRITE))
        emu_hazard_writes(hazard, handle, lane, &(struct emu_hazard_range){to, bytes}, 1,
                          c->reduce != EMU_REDUCE_STORE);
    for (unsigned rank = 0; rank < 16; rank++) {
        const struct emu_hazard_range range = {emu_async_target(to, rank), bytes};
        if ((targets >> rank & 1) && emu_resolve(warp->block->cluster, range.address, bytes, EMU_MAY_WRITE))
            emu_hazard_writes(hazard, handle, lane, &range, 1, 0);
    }
}

/* Whether two lanes store the same bytes to the same place: as good as one store. */
static int same_store(struct emu_warp *warp, const struct emu_copy *c, unsigned a, unsigned b)
{
    if (!c->store || c->reduce != EMU_REDUCE_STORE)
        return 0;
    if (c->opcode == PTX_OP_CP_ASYNC_BULK_TENSOR) {
        struct emu_tma_request one, other;
        struct emu_fault fault;
        if (emu_lane_address(warp, &c->map, a) != emu_lane_address(warp, &c->map, b) ||
            emu_copy_request(warp, c, a, &one, &fault) || emu_copy_request(warp, c, b, &other, &fault))
            return 0;
        return one.smem == other.smem && !memcmp(one.coord, other.coord, sizeof one.coord) &&
               !memcmp(one.offset, other.offset, sizeof one.offset);
    }
    return emu_lane_address(warp, &c->to, a) == emu_lane_address(warp, &c->to, b) &&
           emu_lane_address(warp, &c->from, a) == emu_lane_address(warp, &c->from, b) &&
           (c->bytes_lanes == PTX_NONE || EMU_W(c->bytes_lanes)[a] == EMU_W(c->bytes_lanes)[b]);
}

void emu_watch_copy(struct emu_warp *warp, const struct emu_op *op, const struct emu_copy *c, uint64_t *tags)
{
    uint32_t position = emu_position(warp, op);
    if (c->opcode == PTX_OP_CP_ASYNC_MBARRIER_ARRIVE) {
        for (uint32_t rest = warp->lanes.mask; rest;) { /* lanes of one barrier at a time */
            uint64_t address = emu_lane_address(warp, &c->barrier, emu_first(rest));
            uint32_t same = 0;
            for (uint32_t m = rest; m; m &= m - 1)
                if (emu_lane_address(warp, &c->barrier, emu_first(m)) == address)
                    same |= m & (0u - m);
            emu_hazard_operation handle = emu_hazard_cp_arrive(warp->hazard, same, address, position);
            for (uint32_t m = same; m; m &= m - 1)
                tags[emu_first(m)] = emu_watch_tag(warp->launch, op, handle);
            rest &= ~same;
        }
        return;
    }
    enum emu_hazard_async kind = c->opcode == PTX_OP_CP_ASYNC ? EMU_HAZARD_CP_ASYNC
                                 : c->store                   ? EMU_HAZARD_BULK
                                                              : EMU_HAZARD_SIGNAL;
    emu_hazard_operation handle = emu_hazard_issue(warp->hazard, warp->lanes.mask, kind, position);
    unsigned first = emu_first(warp->lanes.mask);
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
        if (emu_first(m) == first || !same_store(warp, c, first, emu_first(m)))
            tell_lane(warp, op, c, emu_first(m), handle);
        tags[emu_first(m)] = emu_watch_tag(warp->launch, op, handle);
    }
}

void emu_watch_group(struct emu_warp *warp, const struct emu_op *op, int wait)
{
    static const enum emu_hazard_async kinds[EMU_ASYNC_GROUPS] = {EMU_HAZARD_CP_ASYNC, EMU_HAZARD_BULK,
                                                                  EMU_HAZARD_WGMMA};
    if (!wait)
        emu_hazard_commit(warp->hazard, warp->lanes.mask, kinds[op->a]);
    else if (op->c)
        emu_hazard_wait_all(warp->hazard, warp->lanes.mask, kinds[op->a]);
    else
        emu_hazard_wait_group(warp->hazard, warp->lanes.mask, kinds[op->a], op->b, (int)op->d);
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static int record_operand(void *context, uint32_t address, uint32_t bytes)
{
    struct recorder *r = context;
    record(r, r->base + address, bytes);
    return 0;
}

/* The rows of a swizzle's pattern begin where the address says, but for the descriptor's base offset. */
static void tell_operand(struct emu_warp *warp, const struct emu_op *op, struct recorder *box,
                         const struct emu_operand *operand, const char *which)
{
    struct emu_descriptor d;
    emu_descriptor_decode(operand->descriptor, &d);
    uint32_t lines = d.span / 16; /* of 128 bytes, in a pattern */
    if (lines && operand->rows > 8 && d.sbo % (8 * d.span))
        emu_report_at(
            warp, op, "ALIGN", box->base + d.start, 0,
            "operand %s of swizzle %uB: its groups of 8 rows are %u bytes apart, no multiple of the pattern of "
            "%u bytes",
            which, d.span, d.sbo, 8 * d.span);
    if (lines && (d.start / 128 ^ d.base) % lines && is_strict(warp))
        emu_report_at(warp, op, "ALIGN", box->base + d.start, 0,
                      "operand %s of swizzle %uB begins inside of a pattern of %u bytes, at its line %u of 128 bytes; "
                      "the descriptor says line %u",
                      which, d.span, 8 * d.span, d.start / 128 % lines, d.base);
    emu_hazard_swizzle(warp->hazard, box->handle, d.span, d.base);
    emu_operand_pieces(operand, record_operand, box);
    flush(box);
}

void emu_watch_operand(struct emu_warp *warp, const struct emu_op *op, emu_hazard_operation handle, unsigned lane,
                       const struct emu_operand *operand, const char *which)
{
    struct recorder box;
    record_begin(&box, warp, handle, lane);
    box.base = EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE;
    tell_operand(warp, op, &box, operand, which);
}

static void tell_operands(struct emu_warp *warp, const struct emu_wgmma_look *look)
{
    const struct emu_matrix *m = look->op->extra;
    unsigned bytes = m->bits_a / 8u;
    struct emu_operand operand = {.descriptor = look->a,
                                  .bytes = bytes,
                                  .mn_major = m->trans_a,
                                  .first_row = 16 * (warp->index % 4),
                                  .rows = 16,
                                  .k = m->k};
    if (!m->a_in_registers)
        emu_watch_operand(warp, look->op, look->handle, look->lane, &operand, "A");
    operand = (struct emu_operand){
        .descriptor = look->b, .bytes = bytes, .mn_major = m->trans_b, .rows = m->n, .k = emu_matrix_depth(m)};
    emu_watch_operand(warp, look->op, look->handle, look->lane, &operand, "B");
}

/* Where there is no memory it is not looked at again. */
static void remember(struct emu_warp *warp, const struct emu_wgmma_look *look)
{
    if (is_strict(warp))
        return;
    if (warp->look_count == warp->look_room) {
        uint32_t room = warp->look_room ? 2 * warp->look_room : 16;
        struct emu_wgmma_look *more = tw_realloc(warp->launch->device->device.rt, warp->looks, room * sizeof *more);
        if (!more)
            return;
        warp->looks = more;
        warp->look_room = room;
    }
    warp->looks[warp->look_count++] = *look;
}

void emu_watch_wgmma_met(struct emu_warp *warp, uint32_t number)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < warp->look_count; i++) {
        const struct emu_wgmma_look look = warp->looks[i];
        if (look.number > number)
            warp->looks[kept++] = look;
        else if (emu_hazard_wgmma_doubtful(warp->hazard, look.handle))
            tell_operands(warp, &look);
    }
    warp->look_count = kept;
}

void emu_watch_wgmma(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *m, uint64_t a, uint64_t b,
                     uint64_t *tag)
{
    uint32_t accumulators[128], fragments[8];
    uint32_t frame = (uint32_t)(warp->lanes.base[0] - warp->registers);
    for (uint32_t i = 0; i < m->d_count; i++)
        accumulators[i] = (frame + m->d[i]) / EMU_SLOT;
    for (uint32_t i = 0; m->a_in_registers && i < m->a_count; i++)
        fragments[i] = (frame + m->a[i]) / EMU_SLOT;
    struct emu_hazard_wgmma wgmma = {.accumulators = accumulators,
                                     .accumulator_count = m->d_count,
                                     .fragments = fragments,
                                     .fragment_count = m->a_in_registers ? m->a_count : 0,
                                     .shape = 1 + ((uint32_t)m->kind * 2 + m->sparse) * 512 + m->n};
    emu_hazard_operation handle = emu_hazard_wgmma_issue(warp->hazard, &wgmma, emu_position(warp, op));
    struct emu_wgmma_look look = {op, a, b, handle, warp->wgmma_count + 1, emu_first(warp->lanes.mask)};
    tell_operands(warp, &look);
    remember(warp, &look);
    *tag = emu_watch_tag(warp->launch, op, handle);
}

void emu_watch_registers(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_function *f = warp->function;
    if (op->source == PTX_NONE || !f->touch)
        return;
    if (op->run == emu_op_guard && !(warp->lanes.mask & emu_pred(warp, op->a)))
        return;
    if (op > f->ops && op[-1].source == op->source) /* once for an instruction */
        return;
    uint32_t frame = (uint32_t)(warp->lanes.base[0] - warp->registers), position = emu_position(warp, op);
    uint32_t from = EMU_HAZARD_NOWHERE;
    int moves = f->ptx->instructions[op->source].opcode == PTX_OP_MOV;
    for (uint32_t i = f->touch_start[op->source]; i < f->touch_start[op->source + 1]; i++) {
        uint32_t reg = (frame + (f->touch[i] & ~1u)) / EMU_SLOT;
        if (reg < warp->hazard->register_count && warp->hazard->registers[reg])
            emu_hazard_register(warp->hazard, reg, (int)(f->touch[i] & 1), position);
        if (!(f->touch[i] & 1))
            from = reg;
        else if (!moves || from != EMU_HAZARD_NOWHERE)
            emu_hazard_written(warp->hazard, reg, moves ? from : EMU_HAZARD_NOWHERE);
    }
}
