/* tcgen05: what its instructions do. Allocations, moves between registers and tensor memory, products and the waits for
   them. */
#include "emu/exec/copies.h"
#include "emu/exec/event.h"
#include "emu/exec/flow.h"
#include "watch.h"

static struct emu_tensor_memory *memory_of(struct emu_warp *warp)
{
    return emu_tensor_of(warp->block);
}

static uint64_t owner_of(const struct emu_warp *warp)
{
    return warp->block->linear + 1;
}

/* ---- alloc, dealloc ---------------------------------------------------------------------------------------------- */

static int is_number_of_columns(uint32_t columns)
{
    return columns >= EMU_TENSOR_UNIT && columns <= EMU_TENSOR_COLUMNS && !(columns & (columns - 1));
}

/* The address of the columns goes to shared memory, as an ordinary store of one lane. 1 after a report. */
static int give_address(struct emu_warp *warp, const struct emu_op *op, uint64_t address, uint32_t column)
{
    unsigned lane = emu_first(warp->lanes.mask);
    unsigned char *at = address % 4 || address < EMU_SHARED_WINDOW || address >= EMU_LOCAL_WINDOW ||
                                emu_shared_rank(address) != warp->block->rank
                            ? NULL
                            : emu_resolve(warp->block->cluster, address, 4, 1);
    if (!at) {
        emu_report_at(warp, op, address % 4 ? "ALIGN" : "BOUNDS", address, 1,
                      "tcgen05.alloc writes its address to 0x%llx, which is no word of its block's shared memory",
                      (unsigned long long)address);
        return 1;
    }
    memcpy(at, &column, 4);
    if (EMU_UNLIKELY(warp->hazard != NULL)) {
        uint64_t all[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            all[i] = address;
        emu_hazard_generic(warp->hazard, 1u << lane, all, 0, 4, EMU_ACCESS_WRITE, emu_position(warp, op));
    }
    return 0;
}

const struct emu_op *emu_op_tensor_alloc(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_tensor_pool *pool = op->extra;
    struct emu_block *block = warp->block;
    unsigned lane = emu_first(warp->lanes.mask);
    uint32_t columns = EMU_W(pool->columns)[lane];
    emu_aligned(warp, op);
    if (!is_number_of_columns(columns))
        return emu_report_at(warp, op, "TENSOR-POOL", 0, 1,
                             "tcgen05.alloc of %u columns: a power of two from 32 to 512 is needed", columns);
    if (block->tensor_relinquished)
        return emu_report_at(warp, op, "TENSOR-POOL", 0, 1,
                             "tcgen05.alloc of %u columns behind tcgen05.relinquish_alloc_permit", columns);
    struct emu_tensor_memory *memory = memory_of(warp);
    int column = memory ? emu_tensor_alloc(memory, owner_of(warp), columns) : 0;
    if (!memory)
        return NULL;
    if (column < 0)
        return emu_wait(warp, op, emu_retry(op), EMU_PATH_TENSOR);
    if (block->tensor_columns && columns > block->tensor_columns)
        emu_report_at(warp, op, "TENSOR-POOL", 0, 0,
                      "tcgen05.alloc of %u columns behind one of %u: a block's allocations must not grow", columns,
                      block->tensor_columns);
    block->tensor_columns = columns;
    block->tensor_warp = warp;
    block->tensor_alloc = op;
    if (give_address(warp, op, emu_lane_address(warp, &pool->to, lane), (uint32_t)column))
        return NULL;
    emu_changed(warp);
    return op + 1;
}

const struct emu_op *emu_op_tensor_dealloc(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_tensor_pool *pool = op->extra;
    unsigned lane = emu_first(warp->lanes.mask);
    uint32_t address = EMU_W(pool->address)[lane], columns = EMU_W(pool->columns)[lane];
    struct emu_tensor_memory *memory = memory_of(warp);
    emu_aligned(warp, op);
    if (!memory)
        return NULL;
    if (address >> 16 || emu_tensor_free(memory, owner_of(warp), address, columns))
        return emu_report_at(warp, op, "TENSOR-POOL", 0, 1,
                             "tcgen05.dealloc of %u columns at 0x%x, which is no allocation of the block's", columns,
                             address);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_tensor_free(warp, op, address, columns);
    emu_tensor_ready(warp->launch);
    return op + 1;
}

const struct emu_op *emu_op_tensor_relinquish(struct emu_warp *warp, const struct emu_op *op)
{
    emu_aligned(warp, op);
    warp->block->tensor_relinquished = 1;
    return op + 1;
}

/* ---- ld, st ------------------------------------------------------------------------------------------------------ */

/* Where a move begins. 1 after a report: lanes that the warp does not reach, or columns that are not the block's. */
static int place_of(struct emu_warp *warp, const struct emu_op *op, const struct emu_tensor_move *move, unsigned *lane,
                    unsigned *column, unsigned *columns)
{
    const uint32_t *lanes = EMU_W(move->address.at);
    unsigned rows = emu_tensor_rows((enum emu_tensor_shape)move->shape), own = warp->index % EMU_WARPGROUP * 32;
    uint32_t address = lanes[emu_first(warp->lanes.mask)] + move->address.offset;
    *lane = address >> 16;
    *column = address & 0xffff;
    *columns = move->count * 32 / rows * (move->pack ? 2 : 1);
    if (*lane != own && (rows == 32 || *lane != own + 16)) {
        emu_report_at(
            warp, op, "BOUNDS", 0, 1,
            "tensor memory from lane %u on: this is warp %u, which reaches lanes %u to %u (32 times its number "
            "modulo 4), and this shape begins at lane %u%s",
            *lane, warp->index, own, own + 31, own, rows == 32 ? "" : " or 16 further");
        return 1;
    }
    if (*column < EMU_TENSOR_COLUMNS && emu_tensor_owns(memory_of(warp), owner_of(warp), *column, *columns))
        return 0;
    emu_report_at(warp, op, "BOUNDS", 0, 1,
                  "%u columns of tensor memory at column %u, which the block has not allocated", *columns, *column);
    return 1;
}

const struct emu_op *emu_op_tensor_load(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_tensor_move *move = op->extra;
    struct emu_tensor_memory *memory = memory_of(warp);
    unsigned lane, column, columns;
    emu_aligned(warp, op);
    if (!memory || place_of(warp, op, move, &lane, &column, &columns))
        return NULL;
    for (uint32_t i = 0; i < move->count; i++) {
        uint32_t value[EMU_LANES];
        for (unsigned t = 0; t < EMU_LANES; t++) {
            struct emu_place p = emu_tensor_place((enum emu_tensor_shape)move->shape, t, i);
            const uint32_t *row = memory->word[lane + p.row] + column;
            value[t] = move->pack ? (row[2 * p.column] & 0xffff) | row[2 * p.column + 1] << 16 : row[p.column];
        }
        emu_put32(warp, move->registers[i], value);
    }
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_tensor_move(warp, op, move, lane, column, columns);
    return op + 1;
}

/* A store on its way, with what the registers held. */
struct store {
    struct emu_tensor_memory *memory;
    const struct emu_tensor_move *move;
    uint16_t lane, column;
    uint32_t lanes;
    uint32_t value[EMU_TENSOR_LANES][EMU_LANES];
};

static enum emu_fault_kind store_read(void *context, void *payload, struct emu_fault *fault)
{
    (void)context, (void)payload, (void)fault; /* the registers were read at issue */
    return EMU_FAULT_NONE;
}

static enum emu_fault_kind store_write(void *context, void *payload, struct emu_fault *fault)
{
    const struct store *s = payload;
    (void)context, (void)fault;
    for (uint32_t i = 0; i < s->move->count; i++)
        for (unsigned t = 0; t < EMU_LANES; t++) {
            struct emu_place p = emu_tensor_place((enum emu_tensor_shape)s->move->shape, t, i);
            uint32_t *row = s->memory->word[s->lane + p.row] + s->column, value = s->value[i][t];
            if (!(s->lanes >> t & 1))
                continue;
            if (s->move->pack) {
                row[2 * p.column] = value & 0xffff;
                row[2 * p.column + 1] = value >> 16;
            } else {
                row[p.column] = value;
            }
        }
    return EMU_FAULT_NONE;
}

const struct emu_op *emu_op_tensor_store(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_tensor_move *move = op->extra;
    struct store store = {.memory = memory_of(warp), .move = move, .lanes = warp->lanes.mask};
    unsigned lane, column, columns;
    struct emu_fault fault;
    emu_aligned(warp, op);
    if (!store.memory || place_of(warp, op, move, &lane, &column, &columns))
        return NULL;
    store.lane = (uint16_t)lane;
    store.column = (uint16_t)column;
    for (uint32_t i = 0; i < move->count; i++)
        memcpy(store.value[i], EMU_W(move->registers[i]), sizeof store.value[i]);
    size_t bytes = offsetof(struct store, value) + move->count * sizeof store.value[0];
    struct emu_async_work work = {.context = warp->launch,
                                  .read = store_read,
                                  .write = store_write,
                                  .payload = bytes,
                                  .argument = &store,
                                  .argument_bytes = bytes};
    struct emu_async_issue issue = {
        .memory = &warp->block->cluster->bytes, .issuer = emu_issuer(warp, 0), .tag = (uintptr_t)op};
    if (EMU_UNLIKELY(warp->hazard != NULL))
        issue.tag = emu_watch_tag(warp->launch, op, emu_watch_tensor_move(warp, op, move, lane, column, columns));
    if (emu_async_tcgen05(warp->launch->async, &issue, EMU_ASYNC_TCGEN05_ST, &work, &fault))
        return emu_fault_at(warp, op, &fault);
    return op + 1;
}

const struct emu_op *emu_op_tensor_wait(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_fault fault;
    emu_aligned(warp, op);
    if (op->a && emu_async_wait_all(warp->launch->async, EMU_ASYNC_GROUP_TCGEN05_ST, emu_issuer(warp, 0), &fault))
        return emu_fault_at(warp, op, &fault);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_wait_all(warp->hazard, warp->lanes.mask, op->a ? EMU_HAZARD_TCGEN05_ST : EMU_HAZARD_TCGEN05_LD);
    return op + 1;
}

const struct emu_op *emu_op_tensor_fence(struct emu_warp *warp, const struct emu_op *op)
{
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_tensor_fence(warp->hazard, (int)op->a);
    return op + 1;
}

/* ---- mma, commit ------------------------------------------------------------------------------------------------- */

/* The payload: the flight, then A and B as dense arrays. */
static size_t a_offset(void)
{
    return (sizeof(struct emu_tensor_flight) + 63) / 64 * 64;
}

static enum emu_fault_kind mma_read(void *context, void *payload, struct emu_fault *fault)
{
    const struct emu_tensor_flight *f = payload;
    unsigned char *a = (unsigned char *)payload + a_offset(), *b = a + f->mma.m * (size_t)32;
    struct emu_operand operand = emu_tensor_operand(f, 0);
    enum emu_fault_kind kind = EMU_FAULT_NONE;
    (void)context;
    if (f->op->a_in_tensor)
        emu_tensor_gather_a(f->memory, &f->mma, f->a_lane, f->a_column, a);
    else
        kind = emu_operand_gather(&operand, f->block->shared, f->block->shared_end, a, fault);
    if (kind)
        return kind;
    operand = emu_tensor_operand(f, 1);
    return emu_operand_gather(&operand, f->block->shared, f->block->shared_end, b, fault);
}

static enum emu_fault_kind mma_write(void *context, void *payload, struct emu_fault *fault)
{
    const struct emu_tensor_flight *f = payload;
    unsigned char *a = (unsigned char *)payload + a_offset(), *b = a + f->mma.m * (size_t)32;
    (void)context, (void)fault;
    emu_tensor_multiply(f->memory, &f->mma, f->lane, f->column, a, b, f->accumulate, f->masked);
    return EMU_FAULT_NONE;
}

/* A matrix in tensor memory: lane 0, or with M 64 lane 0 or 16; columns of the block's. 1 after a report. */
static int matrix_place(struct emu_warp *warp, const struct emu_op *op, const struct emu_tensor_flight *f,
                        const char *which, uint32_t address, unsigned columns, uint16_t *lane, uint16_t *column)
{
    *lane = (uint16_t)(address >> 16);
    *column = (uint16_t)address;
    if (*lane && (f->mma.m != 64 || *lane != 16)) {
        emu_report_at(warp, op, "ALIGN", 0, 1,
                      "matrix %s in tensor memory begins at lane %u: with M = %u it begins at lane 0%s", which, *lane,
                      f->mma.m, f->mma.m == 64 ? " or 16" : "");
        return 1;
    }
    if (emu_tensor_owns(f->memory, owner_of(warp), *column, columns))
        return 0;
    emu_report_at(warp, op, "BOUNDS", 0, 1,
                  "matrix %s has %u columns of tensor memory at column %u, which the block has not allocated", which,
                  columns, *column);
    return 1;
}

/* What a lane's instruction says. 1 after a report. */
static int flight_of(struct emu_warp *warp, const struct emu_op *op, unsigned lane, struct emu_tensor_flight *f)
{
    const struct emu_tensor_mma *m = op->extra;
    struct emu_fault fault;
    *f = (struct emu_tensor_flight){.memory = memory_of(warp),
                                    .op = m,
                                    .block = warp->block,
                                    .a = m->a_in_tensor ? 0 : EMU_L(m->a_descriptor)[lane],
                                    .b = EMU_L(m->b_descriptor)[lane],
                                    .accumulate = (int)(emu_pred(warp, m->accumulate) >> lane & 1)};
    if (!f->memory)
        return 1;
    for (int i = 0; m->has_masks && i < 4; i++)
        f->masked[i] = EMU_W(m->masks[i])[lane];
    if (emu_tcgen05_decode((enum emu_tcgen05_kind)m->kind, EMU_W(m->descriptor)[lane], &f->mma, &fault) ||
        (!m->a_in_tensor && emu_tcgen05_check(f->a, "A", &fault)) || emu_tcgen05_check(f->b, "B", &fault)) {
        emu_fault_at(warp, op, &fault);
        return 1;
    }
    if (matrix_place(warp, op, f, "D", EMU_W(m->d.at)[lane] + m->d.offset, f->mma.n, &f->lane, &f->column) ||
        (m->a_in_tensor &&
         matrix_place(warp, op, f, "A", EMU_W(m->a.at)[lane] + m->a.offset, 8, &f->a_lane, &f->a_column)))
        return 1;
    if (!m->a_in_tensor || f->a_lane == f->lane)
        return 0;
    emu_report_at(warp, op, "ALIGN", 0, 1,
                  "matrix A begins at lane %u of tensor memory, D at lane %u: they must have the same lanes", f->a_lane,
                  f->lane);
    return 1;
}

const struct emu_op *emu_op_tensor_mma(struct emu_warp *warp, const struct emu_op *op)
{
    for (uint32_t lanes = warp->lanes.mask; lanes; lanes &= lanes - 1) {
        unsigned lane = emu_first(lanes);
        struct emu_tensor_flight flight;
        struct emu_fault fault;
        if (flight_of(warp, op, lane, &flight))
            return NULL;
        struct emu_async_work work = {.context = warp->launch,
                                      .read = mma_read,
                                      .write = mma_write,
                                      .payload = a_offset() + (flight.mma.m + flight.mma.n) * (size_t)32,
                                      .argument = &flight,
                                      .argument_bytes = sizeof flight};
        struct emu_async_issue issue = {
            .memory = &warp->block->cluster->bytes, .issuer = emu_issuer(warp, lane), .tag = (uintptr_t)op};
        if (EMU_UNLIKELY(warp->hazard != NULL))
            issue.tag = emu_watch_mma(warp, op, lane, &flight);
        emu_event(warp, op, EMU_EVENT_MMA,
                  EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE + (flight.b & 0x3fff) * 16, 0, 0);
        if (emu_async_tcgen05(warp->launch->async, &issue, EMU_ASYNC_TCGEN05_MMA, &work, &fault))
            return emu_fault_at(warp, op, &fault);
    }
    return op + 1;
}

const struct emu_op *emu_op_tensor_commit(struct emu_warp *warp, const struct emu_op *op)
{
    for (uint32_t lanes = warp->lanes.mask; lanes; lanes &= lanes - 1) {
        unsigned lane = emu_first(lanes);
        uint64_t address = emu_lane_address(warp, op->extra, lane);
        struct emu_fault fault;
        struct emu_async_issue issue = {
            .memory = &warp->block->cluster->bytes, .issuer = emu_issuer(warp, lane), .tag = (uintptr_t)op};
        if (EMU_UNLIKELY(warp->hazard != NULL))
            issue.tag = emu_watch_tag(
                warp->launch, op, emu_hazard_tensor_commit(warp->hazard, 1u << lane, address, emu_position(warp, op)));
        if (emu_async_tcgen05_commit(warp->launch->async, &issue, address, &fault))
            return emu_fault_at(warp, op, &fault);
    }
    emu_changed(warp);
    return op + 1;
}
