#include "watch.h"

enum { RANGES = 128 };

/* Tensor memory as the hazard engine has it: 4 bytes a lane, 512 a column (addresses.h). */
static uint64_t address_of(const struct emu_warp *warp, unsigned lane, unsigned column)
{
    return EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE + EMU_TENSOR_OFFSET + column * UINT64_C(512) +
           lane * UINT64_C(4);
}

struct list {
    struct emu_warp *warp;
    emu_hazard_operation handle;
    enum emu_hazard_tensor what;
    uint32_t count;
    struct emu_hazard_range range[RANGES];
};

static void flush(struct list *l)
{
    emu_hazard_tensor(l->warp->hazard, l->handle, l->what, l->range, l->count);
    l->count = 0;
}

static void add(struct list *l, unsigned lane, unsigned lanes, unsigned column)
{
    uint64_t at = address_of(l->warp, lane, column), bytes = lanes * UINT64_C(4);
    struct emu_hazard_range *last = l->count ? &l->range[l->count - 1] : NULL;
    if (last && last->address + last->bytes == at) {
        last->bytes += bytes;
        return;
    }
    if (l->count == RANGES)
        flush(l);
    l->range[l->count++] = (struct emu_hazard_range){at, bytes};
}

void emu_watch_tensor_free(struct emu_warp *warp, const struct emu_op *op, uint32_t column, uint32_t columns)
{
    struct emu_hazard_range range = {address_of(warp, 0, column), columns * UINT64_C(512)};
    emu_hazard_tensor_free(warp->hazard, warp->lanes.mask, &range, 1, emu_position(warp, op));
}

emu_hazard_operation emu_watch_tensor_move(struct emu_warp *warp, const struct emu_op *op,
                                           const struct emu_tensor_move *move, unsigned lane, unsigned column,
                                           unsigned columns)
{
    uint32_t registers[EMU_TENSOR_LANES], position = emu_position(warp, op);
    enum emu_hazard_async kind = move->store ? EMU_HAZARD_TCGEN05_ST : EMU_HAZARD_TCGEN05_LD;
    struct list list = {.warp = warp, .what = move->store ? EMU_TENSOR_WRITES : EMU_TENSOR_READS};
    list.handle = emu_hazard_issue(warp->hazard, warp->lanes.mask, kind, position);
    for (unsigned i = 0; i < columns; i++)
        add(&list, lane, emu_tensor_rows((enum emu_tensor_shape)move->shape), column + i);
    flush(&list);
    uint32_t frame = (uint32_t)(warp->lanes.base[0] - warp->registers);
    for (uint32_t i = 0; i < move->count; i++)
        registers[i] = (frame + (move->registers[i] & ~1u)) / EMU_SLOT;
    if (!move->store)
        emu_hazard_tensor_loads(warp->hazard, list.handle, registers, move->count, position);
    return list.handle;
}

/* Lanes of a column that D, or A, has: all of 128, or 16 of each 32. */
static void add_matrix(struct list *l, unsigned m, unsigned lane, unsigned column, unsigned columns,
                       const uint32_t *masked)
{
    for (unsigned i = 0; i < columns; i++)
        for (unsigned row = 0; row < m; row += masked ? 1 : 16) {
            unsigned at = lane + emu_tensor_row_lane(m, row);
            if (!masked || !(masked[at / 32] >> at % 32 & 1))
                add(l, at, masked ? 1 : 16, column + i);
        }
    flush(l);
}

uint64_t emu_watch_mma(struct emu_warp *warp, const struct emu_op *op, unsigned lane,
                       const struct emu_tensor_flight *flight)
{
    const struct emu_tcgen05_mma *m = &flight->mma;
    const struct emu_tensor_mma *extra = flight->op;
    uint32_t shape = 1u + (m->m == 64) + (m->n / 8 << 1) + ((uint32_t)m->d << 7) + ((uint32_t)extra->kind << 11) +
                     ((uint32_t)flight->column << 13) + ((uint32_t)flight->lane << 22);
    emu_hazard_operation handle = emu_hazard_mma(warp->hazard, 1u << lane, shape, emu_position(warp, op));
    struct emu_operand operand = emu_tensor_operand(flight, 0);
    struct list list = {.warp = warp, .handle = handle, .what = EMU_TENSOR_READS};
    if (extra->a_in_tensor)
        add_matrix(&list, m->m, flight->a_lane, flight->a_column, 8, NULL);
    else
        emu_watch_operand(warp, op, handle, lane, &operand, "A");
    operand = emu_tensor_operand(flight, 1);
    emu_watch_operand(warp, op, handle, lane, &operand, "B");
    list.what = flight->accumulate ? EMU_TENSOR_ACCUMULATES : EMU_TENSOR_WRITES;
    add_matrix(&list, m->m, flight->lane, flight->column, m->n, extra->has_masks ? flight->masked : NULL);
    return emu_watch_tag(warp->launch, op, handle);
}
