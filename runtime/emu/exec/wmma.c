/* wmma: fragments are loaded and stored as a whole, and what lies where in them is left open by PTX. Here it is what an
   H200 has, for programs look at it. */
#include "copies.h"
#include "emu/async/tensor_core.h"
#include "watch.h"

/* Lane l holds element (outer, inner) = (l / 4, scale (l % 4)) as its first one. Bit i of an element's number then
   moves by step[i]: positive along inner, negative along outer, 0 not at all (the element is there more than once).
   Inner is k of A and B, n of C and D, where flipped m. */
struct layout {
    char which;        /* 'A', 'B', or 'C', which is D too */
    uint8_t kind_bits; /* of an element; 0: any */
    uint8_t outer;     /* rows of A and C, columns of B; of flipped ones columns; 0: any */
    uint8_t scale, flipped;
    int8_t step[4];
};

static const struct layout layouts[] = {
    /*    bits outer scale flipped */
    {'A', 16, 16, 2, 0, {1, -8, 8, 0}},  {'A', 16, 32, 2, 0, {1, -8, 8, -16}}, {'A', 16, 8, 2, 0, {1, 8, 0, 0}},
    {'B', 16, 16, 2, 0, {1, 8, -8, 0}},  {'B', 16, 8, 2, 0, {1, 8, 0, 0}},     {'B', 16, 32, 2, 0, {1, -8, 8, -16}},
    {'A', 8, 16, 4, 0, {1, 2, -8, 0}},   {'A', 8, 32, 4, 0, {1, 2, -8, -16}},  {'A', 8, 8, 4, 0, {1, 2, 0, 0}},
    {'B', 8, 16, 4, 0, {1, 2, -8, 0}},   {'B', 8, 8, 4, 0, {1, 2, 0, 0}},      {'B', 8, 32, 4, 0, {1, 2, -8, -16}},
    {'A', 32, 16, 1, 0, {-8, 4, 0, 0}},  {'B', 32, 16, 1, 0, {4, -8, 0, 0}},   {'A', 64, 8, 1, 0, {0, 0, 0, 0}},
    {'B', 64, 8, 1, 0, {0, 0, 0, 0}},    {'C', 64, 8, 2, 0, {1, 0, 0, 0}},     {'C', 0, 16, 2, 0, {1, -8, 8, 0}},
    {'C', 0, 32, 2, 0, {1, -8, -16, 0}}, {'C', 0, 8, 2, 1, {1, -8, -16, 0}},
};

static const struct layout *find(const struct emu_wmma *w, char which, unsigned bits)
{
    unsigned outer = which == 'B' ? w->n : w->m;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout *y = &layouts[i];
        if (y->which == which && (!y->kind_bits || y->kind_bits == bits) && y->outer == outer)
            return y;
    }
    return NULL;
}

/* Row and column in the matrix as PTX has it: A m by k, B k by n, C m by n. */
static void place(const struct layout *y, unsigned lane, unsigned element, unsigned *row, unsigned *column)
{
    unsigned outer = lane / 4, inner = y->scale * (lane % 4);
    for (unsigned i = 0; i < 4; i++) {
        if (!(element >> i & 1))
            continue;
        if (y->step[i] < 0)
            outer += (unsigned)-y->step[i];
        else
            inner += (unsigned)y->step[i];
    }
    int across = (y->which == 'B') != y->flipped;
    *row = across ? inner : outer;
    *column = across ? outer : inner;
}

static unsigned elements(const struct emu_wmma *w, unsigned count)
{
    return w->bits < 32 ? count * 32 / w->bits : count;
}

static uint64_t get(const struct emu_warp *warp, const uint32_t *at, unsigned bits, unsigned lane, unsigned element)
{
    if (bits == 64)
        return EMU_L(at[element])[lane];
    unsigned each = 32 / bits;
    return EMU_W(at[element / each])[lane] >> (element % each * bits) & (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
}

static void put(struct emu_warp *warp, const uint32_t *at, unsigned bits, unsigned lane, unsigned element,
                uint64_t value)
{
    if (bits == 64) {
        EMU_L(at[element])[lane] = value;
        return;
    }
    unsigned each = 32 / bits, shift = element % each * bits;
    uint32_t *to = &EMU_W(at[element / each])[lane];
    uint32_t field = (bits == 32 ? UINT32_MAX : (1u << bits) - 1) << shift;
    *to = (*to & ~field) | ((uint32_t)value << shift & field);
}

/* ---- wmma.load, wmma.store --------------------------------------------------------------------------------------- */

const struct emu_op *emu_op_wmma_move(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_wmma *w = op->extra;
    const struct layout *y = find(w, w->which, w->bits);
    uint32_t bytes = w->bits / 8u;
    struct emu_access access = {.kind = w->store ? EMU_STORE : EMU_LOAD, .bytes = (uint8_t)bytes, .count = 1};
    emu_aligned(warp, op);
    for (unsigned e = 0; e < elements(w, w->d_count); e++) {
        uint64_t address[EMU_LANES] = {0}, value;
        uint32_t same = 0;
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
            unsigned lane = emu_first(m), row, column;
            place(y, lane, e, &row, &column);
            uint64_t stride = w->has_stride ? EMU_W(w->stride)[lane] : w->line;
            uint64_t index = w->by_columns ? column * stride + row : row * stride + column;
            address[lane] = emu_lane_address(warp, &w->address, lane) + index * bytes;
            if (address[lane] % bytes)
                return emu_report_at(warp, op, "ALIGN", address[lane], 1,
                                     "an element of a fragment at 0x%llx, which is no "
                                     "multiple of %u",
                                     (unsigned long long)address[lane], bytes);
            uint64_t before = 0;
            value = w->store ? get(warp, w->d, w->bits, lane, e) : 0;
            int outside = emu_lane_read(warp, lane, address[lane], w->store ? &before : &value, bytes) ||
                          (w->store && emu_lane_write(warp, lane, address[lane], &value, bytes));
            if (outside)
                return emu_report_at(warp, op, "BOUNDS", address[lane], 1,
                                     "an element of a fragment at 0x%llx, where nothing "
                                     "is allocated",
                                     (unsigned long long)address[lane]);
            if (w->store)
                same |= before == value ? 1u << lane : 0;
            else
                put(warp, w->d, w->bits, lane, e, value);
        }
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_watch_access(warp, op, &access, address, EMU_NO_STRIDE, same);
    }
    warp->launch->changes += w->store;
    return op + 1;
}

/* ---- wmma.mma ---------------------------------------------------------------------------------------------------- */

/* Dense arrays are A [m][k], B [n][k], C and D [m][n]. */
static void dense(struct emu_warp *warp, const struct emu_wmma *w, char which, unsigned bits, const uint32_t *at,
                  uint32_t count, unsigned char *array, int scatter)
{
    const struct layout *y = find(w, which, bits);
    unsigned bytes = bits / 8, most = bits < 32 ? count * 32 / bits : count;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        for (unsigned e = 0; e < most; e++) {
            unsigned row, column;
            place(y, lane, e, &row, &column);
            unsigned char *element =
                array + (which == 'B' ? column * w->k + row : row * (which == 'A' ? w->k : w->n) + column) * bytes;
            uint64_t value = 0;
            if (scatter) {
                memcpy(&value, element, bytes);
                if (warp->lanes.mask >> lane & 1)
                    put(warp, at, bits, lane, e, value);
            } else {
                value = get(warp, at, bits, lane, e);
                memcpy(element, &value, bytes);
            }
        }
    }
}

const struct emu_op *emu_op_wmma(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_wmma *w = op->extra;
    _Alignas(64) unsigned char a[32 * 16 * 4], b[32 * 16 * 4], d[32 * 32 * 8];
    emu_aligned(warp, op);
    dense(warp, w, 'A', w->bits, w->a, w->a_count, a, 0);
    dense(warp, w, 'B', w->bits, w->b, w->b_count, b, 0);
    dense(warp, w, 'C', w->bits_d, w->c, w->c_count, d, 0);
    if (w->kind == EMU_TC_MMA_K4_F32_TF32) { /* k is 8, in two steps */
        uint32_t part_a[16 * 4], part_b[16 * 4];
        for (unsigned half = 0; half < 2; half++) {
            for (unsigned row = 0; row < 16; row++) {
                memcpy(part_a + row * 4, a + (row * 8 + half * 4) * 4, 16);
                memcpy(part_b + row * 4, b + (row * 8 + half * 4) * 4, 16);
            }
            emu_tc_accumulate(EMU_TC_MMA_K4_F32_TF32, w->m, w->n, part_a, part_b, d);
        }
    } else {
        emu_tc_accumulate((enum emu_tc_kind)w->kind, w->m, w->n, a, b, d);
    }
    dense(warp, w, 'C', w->bits_d, w->d, w->d_count, d, 1);
    return op + 1;
}
