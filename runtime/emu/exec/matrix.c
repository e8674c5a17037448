/* Matrix instructions: from registers and shared memory to dense arrays, through the arithmetic of tensor_core.h, and
   back. */
#include "copies.h"
#include "emu/async/fragments.h"
#include "emu/async/sparse.h"
#include "emu/async/tensor_core.h"
#include "event.h"
#include "watch.h"

enum { MOST_REGISTERS = 128, MOST_N = 256 };

static void places(unsigned char *frame, const unsigned char *constants, const uint32_t *at, uint32_t count,
                   const uint32_t **to)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = (const uint32_t *)(const void *)((at[i] & 1 ? constants : frame) + (at[i] & ~1u));
}

static void targets(unsigned char *frame, const uint32_t *at, uint32_t count, uint32_t **to)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = (uint32_t *)(void *)(frame + (at[i] & ~1u));
}

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------------ */

/* Row addresses come from the first 8 lanes of each matrix. */
static int row_place(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *m, unsigned row,
                     int write, unsigned char **at)
{
    uint64_t address = emu_lane_address(warp, &m->address, row);
    if (address % 16) {
        emu_report_at(warp, op, "ALIGN", address, 1, "a matrix row at 0x%llx, which is no multiple of 16",
                      (unsigned long long)address);
        return 1;
    }
    *at = address < EMU_LOCAL_WINDOW ? emu_resolve(warp->block->cluster, address, 16, write) : NULL;
    if (*at)
        return 0;
    emu_report_at(warp, op, "BOUNDS", address, 1, "a matrix row at 0x%llx, which is outside of shared memory",
                  (unsigned long long)address);
    return 1;
}

const struct emu_op *emu_op_ldmatrix(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_matrix *m = op->extra;
    uint8_t rows[32][16];
    uint32_t *reg[4];
    unsigned char *at;
    emu_aligned(warp, op);
    for (unsigned r = 0; r < 8u * m->count; r++) {
        if (row_place(warp, op, m, r, 0, &at))
            return NULL;
        memcpy(rows[r], at, 16);
    }
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_rows(warp, op, m, 8u * m->count, 0);
    emu_event(warp, op, EMU_EVENT_READ, emu_lane_address(warp, &m->address, 0), 0, 0);
    targets(warp->lanes.base[0], m->d, m->d_count, reg);
    emu_ldmatrix((const uint8_t(*)[16])rows, m->count, m->trans, reg, warp->lanes.mask);
    return op + 1;
}

const struct emu_op *emu_op_stmatrix(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_matrix *m = op->extra;
    uint8_t rows[32][16];
    const uint32_t *reg[4];
    unsigned char *at;
    emu_aligned(warp, op);
    places(warp->lanes.base[0], warp->lanes.base[1], m->d, m->d_count, reg);
    emu_stmatrix(reg, m->count, m->trans, rows);
    for (unsigned r = 0; r < 8u * m->count; r++) {
        if (row_place(warp, op, m, r, 1, &at))
            return NULL;
        memcpy(at, rows[r], 16);
    }
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_rows(warp, op, m, 8u * m->count, 1);
    emu_event(warp, op, EMU_EVENT_WRITE, emu_lane_address(warp, &m->address, 0), 0, 0);
    emu_changed(warp);
    return op + 1;
}

const struct emu_op *emu_op_movmatrix(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t r[EMU_LANES];
    emu_movmatrix(EMU_W(op->a), r);
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

static const struct emu_op *mma_f64(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *m)
{
    const uint64_t *a_reg[16], *b_reg[16], *c_reg[16];
    uint64_t *d_reg[16];
    uint64_t a[16 * 16], b[8 * 16], d[16 * 8];
    for (uint32_t i = 0; i < m->a_count; i++)
        a_reg[i] = EMU_L(m->a[i]);
    for (uint32_t i = 0; i < m->b_count; i++)
        b_reg[i] = EMU_L(m->b[i]);
    for (uint32_t i = 0; i < m->c_count; i++)
        c_reg[i] = EMU_L(m->c[i]);
    for (uint32_t i = 0; i < m->d_count; i++)
        d_reg[i] = EMU_L(m->d[i]);
    emu_fragment_gather_a64(a_reg, m->m, m->k, a);
    emu_fragment_gather_b64(b_reg, m->k, b);
    emu_fragment_gather_c64(c_reg, m->m, d);
    emu_tc_accumulate((enum emu_tc_kind)m->kind, m->m, m->n, a, b, d);
    emu_fragment_scatter_d64(d_reg, m->m, warp->lanes.mask, d);
    return op + 1;
}

const struct emu_op *emu_op_mma(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_matrix *m = op->extra;
    emu_aligned(warp, op);
    emu_event(warp, op, EMU_EVENT_MMA, 0, 0, 0);
    if (m->is_f64)
        return mma_f64(warp, op, m);
    const uint32_t *reg[8];
    uint32_t *out[8];
    _Alignas(64) unsigned char a[16 * 32 * 4], b[8 * 32 * 4];
    _Alignas(64) uint32_t d[16 * 8];
    places(warp->lanes.base[0], warp->lanes.base[1], m->a, m->a_count, reg);
    emu_fragment_gather_a(reg, m->a_count, m->bits_a, a);
    places(warp->lanes.base[0], warp->lanes.base[1], m->b, m->b_count, reg);
    emu_fragment_gather_b(reg, m->b_count, m->bits_a, b);
    places(warp->lanes.base[0], warp->lanes.base[1], m->c, m->c_count, reg);
    emu_fragment_gather_c(reg, m->n, m->bits_d, d);
    emu_tc_accumulate((enum emu_tc_kind)m->kind, 16, m->n, a, b, d);
    targets(warp->lanes.base[0], m->d, m->d_count, out);
    emu_fragment_scatter_d(out, m->n, m->bits_d, warp->lanes.mask, d);
    return op + 1;
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

/* A wgmma on its way, one warp's part of it. */
struct flight {
    struct emu_warp *warp;
    const struct emu_matrix *matrix;
    uint64_t a_descriptor, b_descriptor;
    uint32_t frame, mask;
    int scale_d;
    struct emu_sparse sparse; /* of a sparse A */
};

/* The payload: the flight, then A and B as dense arrays. */
static size_t a_offset(void)
{
    return (sizeof(struct flight) + 63) / 64 * 64;
}

static size_t a_bytes(const struct emu_matrix *m)
{
    return (size_t)16 * m->k * (m->bits_a / 8u);
}

static size_t b_bytes(const struct emu_matrix *m)
{
    return (size_t)m->n * emu_matrix_depth(m) * (m->bits_a / 8u);
}

/* Rows of 64 bytes in a swizzle of 32: nothing says where their second half lies. */
static enum emu_fault_kind sparse_layout(const struct emu_matrix *m, uint64_t b, struct emu_fault *fault)
{
    struct emu_descriptor d;
    emu_descriptor_decode(b, &d);
    unsigned bytes = emu_matrix_depth(m) * (m->bits_a / 8u);
    if (m->trans_b || !d.span || d.span >= bytes)
        return EMU_FAULT_NONE;
    return emu_fail(fault, EMU_FAULT_ILLEGAL, d.start,
                    "operand B of a sparse wgmma has rows of %u bytes along K, more than its swizzle of %uB: give it "
                    "64B or 128B",
                    bytes, d.span);
}

static enum emu_fault_kind wgmma_read(void *context, void *payload, struct emu_fault *fault)
{
    const struct flight *flight = payload;
    const struct emu_matrix *m = flight->matrix;
    struct emu_warp *warp = flight->warp;
    unsigned char *a = (unsigned char *)payload + a_offset(), *b = a + a_bytes(m);
    unsigned bytes = m->bits_a / 8u;
    (void)context;
    if (m->a_in_registers) {
        const uint32_t *reg[8];
        places(warp->registers + flight->frame, warp->lanes.base[1], m->a, m->a_count, reg);
        emu_fragment_gather_a(reg, m->a_count, m->bits_a, a);
    } else {
        struct emu_operand operand = {.descriptor = flight->a_descriptor,
                                      .bytes = bytes,
                                      .mn_major = m->trans_a,
                                      .first_row = 16 * (warp->index % 4),
                                      .rows = 16,
                                      .k = m->k};
        enum emu_fault_kind kind = emu_operand_gather(&operand, warp->block->shared, warp->block->shared_end, a, fault);
        if (kind)
            return kind;
    }
    struct emu_operand operand = {.descriptor = flight->b_descriptor,
                                  .bytes = bytes,
                                  .mn_major = m->trans_b,
                                  .rows = m->n,
                                  .k = emu_matrix_depth(m)};
    return emu_operand_gather(&operand, warp->block->shared, warp->block->shared_end, b, fault);
}

static enum emu_fault_kind wgmma_write(void *context, void *payload, struct emu_fault *fault)
{
    const struct flight *flight = payload;
    const struct emu_matrix *m = flight->matrix;
    struct emu_warp *warp = flight->warp;
    unsigned char *a = (unsigned char *)payload + a_offset(), *b = a + a_bytes(m);
    const struct emu_tc_row *row = &emu_tc_rows[m->kind];
    _Alignas(64) uint32_t d[16 * MOST_N];
    const uint32_t *in[MOST_REGISTERS];
    uint32_t *out[MOST_REGISTERS];
    (void)context, (void)fault;
    unsigned char *frame = warp->registers + flight->frame;
    if (flight->scale_d) {
        places(frame, warp->lanes.base[1], m->d, m->d_count, in);
        emu_fragment_gather_c(in, m->n, m->bits_d, d);
    } else {
        memset(d, 0, (size_t)16 * m->n * (m->bits_d / 8u));
    }
    if (m->negate_a)
        emu_tc_negate(row->a, (size_t)16 * m->k, a);
    if (m->negate_b)
        emu_tc_negate(row->b, (size_t)m->n * emu_matrix_depth(m), b);
    if (m->sparse)
        emu_sparse_accumulate((enum emu_tc_kind)m->kind, &flight->sparse, m->n, a, b, d);
    else
        emu_tc_accumulate((enum emu_tc_kind)m->kind, 16, m->n, a, b, d);
    targets(frame, m->d, m->d_count, out);
    emu_fragment_scatter_d(out, m->n, m->bits_d, flight->mask, d);
    return EMU_FAULT_NONE;
}

const struct emu_op *emu_op_wgmma(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_matrix *m = op->extra;
    unsigned first = emu_first(warp->lanes.mask);
    struct flight flight = {.warp = warp,
                            .matrix = m,
                            .a_descriptor = m->a_in_registers ? 0 : EMU_L(m->a_descriptor)[first],
                            .b_descriptor = EMU_L(m->b_descriptor)[first],
                            .frame = (uint32_t)(warp->lanes.base[0] - warp->registers),
                            .mask = warp->lanes.mask,
                            .scale_d = (int)(emu_pred(warp, m->scale_d) >> first & 1)};
    struct emu_async_work work = {.context = warp->launch,
                                  .read = wgmma_read,
                                  .write = wgmma_write,
                                  .payload = a_offset() + a_bytes(m) + b_bytes(m),
                                  .argument = &flight,
                                  .argument_bytes = sizeof flight,
                                  .number = warp->wgmma_count + 1};
    struct emu_async_issue issue = {
        .memory = &warp->block->cluster->bytes, .issuer = emu_issuer(warp, 0), .tag = (uintptr_t)op};
    struct emu_fault fault;
    emu_aligned(warp, op);
    if (m->sparse && (emu_sparse_places(m->bits_a, m->selector, EMU_W(m->metadata), &flight.sparse, &fault) ||
                      sparse_layout(m, flight.b_descriptor, &fault)))
        return emu_fault_at(warp, op, &fault);
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_watch_wgmma(warp, op, m, flight.a_descriptor, flight.b_descriptor, &issue.tag);
    warp->wgmma = op;
    warp->wgmma_count++;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t part = i == 0 ? (uint64_t)m->n << 8 | m->k : i == 1 ? flight.a_descriptor : flight.b_descriptor;
        warp->wgmma_sum = (warp->wgmma_sum ^ part) * UINT64_C(0x9e3779b97f4a7c15);
    }
    emu_event(warp, op, EMU_EVENT_MMA,
              EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE + (flight.b_descriptor & 0x3fff) * 16, 0, 0);
    if (emu_async_wgmma(warp->launch->async, &issue, &work, &fault))
        return emu_fault_at(warp, op, &fault);
    return emu_wgmma_meet(warp) ? NULL : op + 1;
}

int emu_wgmma_meet(struct emu_warp *warp)
{
    struct emu_block *block = warp->block;
    struct emu_async *queue = warp->launch->async;
    uint32_t first = warp->index - warp->index % EMU_WARPGROUP, end = first + EMU_WARPGROUP, least = UINT32_MAX;
    end = end < block->warp_count ? end : block->warp_count;
    for (uint32_t i = first; i < end; i++)
        if (!block->warps[i].done && block->warps[i].wgmma_count < least)
            least = block->warps[i].wgmma_count;
    for (uint32_t i = first; i < end; i++) {
        struct emu_fault fault;
        if (block->warps[i].look_count)
            emu_watch_wgmma_met(&block->warps[i], least);
        if (block->warps[i].wgmma_count && emu_async_meet(queue, emu_issuer(&block->warps[i], 0), least, &fault)) {
            struct emu_async_event event = emu_async_culprit(queue);
            emu_async_report(warp->launch, &fault, &event);
        }
    }
    return warp->launch->status;
}

void emu_wgmma_check(struct emu_block *block)
{
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct emu_warp *first = &block->warps[i - i % EMU_WARPGROUP], *warp = &block->warps[i];
        if (warp->wgmma_count == first->wgmma_count && warp->wgmma_sum == first->wgmma_sum)
            continue;
        struct emu_warp *at = warp->wgmma_count ? warp : first;
        if (warp->wgmma_count != first->wgmma_count)
            emu_report_at(at, at->wgmma, "DIVERGED-ALIGNED", 0, 0,
                          "warps %u and %u of a warpgroup execute %u and %u wgmma: all four execute the same ones",
                          first->index, warp->index, first->wgmma_count, warp->wgmma_count);
        else
            emu_report_at(at, at->wgmma, "DIVERGED-ALIGNED", 0, 0,
                          "warps %u and %u of a warpgroup give their wgmmas other shapes or descriptors: all four "
                          "execute the same ones",
                          first->index, warp->index);
    }
}
