// Fragments of mma.sync and wgmma, ldmatrix and its kin, operands behind matrix descriptors; fragments.h draws them.
#include "fragments.h"

#include <string.h>

#include "swizzle.h"

// ---- mma.sync

struct emu_place emu_fragment_place_a(unsigned bits, unsigned lane, unsigned reg, unsigned element)
{
    unsigned p = bits < 32 ? 32 / bits : 1;
    return (struct emu_place){lane / 4 + 8 * (reg % 2), p * (lane % 4) + element + 4 * p * (reg / 2)};
}

struct emu_place emu_fragment_place_b(unsigned bits, unsigned lane, unsigned reg, unsigned element)
{
    unsigned p = bits < 32 ? 32 / bits : 1;
    return (struct emu_place){lane / 4, p * (lane % 4) + element + 4 * p * reg};
}

struct emu_place emu_fragment_place_c(unsigned bits, unsigned lane, unsigned reg, unsigned element)
{
    unsigned i = bits == 16 ? 2 * reg + element : reg; // of the 32-bit pattern
    return (struct emu_place){lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i / 4)};
}

// A register's elements are neighbours along K, and so are the registers of four lanes: 16 bytes move at once, whatever
// the element.
void emu_fragment_gather_a(const uint32_t *const *reg, unsigned registers, unsigned bits, void *a)
{
    size_t row_bytes = registers / 2 * 16u;
    (void)bits;
    for (unsigned i = 0; i < registers; i++)
        for (unsigned row = 0; row < 8; row++)
            memcpy((uint8_t *)a + (row + 8 * (i % 2)) * row_bytes + 16u * (i / 2), &reg[i][4 * row], 16);
}

void emu_fragment_gather_b(const uint32_t *const *reg, unsigned registers, unsigned bits, void *b)
{
    size_t row_bytes = registers * 16u;
    (void)bits;
    for (unsigned i = 0; i < registers; i++)
        for (unsigned row = 0; row < 8; row++)
            memcpy((uint8_t *)b + row * row_bytes + 16u * i, &reg[i][4 * row], 16);
}

// Byte offset of register i of a lane in c[16][n].
static size_t place_c(unsigned n, unsigned bits, unsigned lane, unsigned i)
{
    if (bits == 16)
        return ((lane / 4 + 8 * (i % 2)) * n + 2 * (lane % 4) + 8 * (i / 2)) * 2u;
    return ((lane / 4 + 8 * (i / 2 % 2)) * n + 2 * (lane % 4) + i % 2 + 8 * (i / 4)) * 4u;
}

// Lanes 4 row .. 4 row + 3 of one or two registers hold eight neighbours of a row: of 16 bits in one register, of 32
// bits in turn in registers i and i + 1.
void emu_fragment_gather_c(const uint32_t *const *reg, unsigned n, unsigned bits, void *c)
{
    unsigned registers = n * bits / 64, step = bits == 16 ? 1 : 2;
    size_t stride = n * bits / 8;
    for (unsigned i = 0; i < registers; i += step) {
        uint8_t *to = (uint8_t *)c + place_c(n, bits, 0, i);
        for (unsigned row = 0; row < 8; row++, to += stride) {
            uint32_t eight[8];
            if (bits == 16) {
                memcpy(to, &reg[i][4 * row], 16);
                continue;
            }
            for (unsigned l = 0; l < 4; l++) {
                eight[2 * l] = reg[i][4 * row + l];
                eight[2 * l + 1] = reg[i + 1][4 * row + l];
            }
            memcpy(to, eight, sizeof eight);
        }
    }
}

void emu_fragment_scatter_d(uint32_t *const *reg, unsigned n, unsigned bits, uint32_t mask, const void *d)
{
    unsigned registers = n * bits / 64, step = bits == 16 ? 1 : 2;
    size_t stride = n * bits / 8;
    if (mask != UINT32_MAX) {
        for (unsigned i = 0; i < registers; i++)
            for (unsigned lane = 0; lane < 32; lane++)
                if (mask >> lane & 1)
                    memcpy(&reg[i][lane], (const uint8_t *)d + place_c(n, bits, lane, i), 4);
        return;
    }
    for (unsigned i = 0; i < registers; i += step) {
        const uint8_t *from = (const uint8_t *)d + place_c(n, bits, 0, i);
        for (unsigned row = 0; row < 8; row++, from += stride) {
            uint32_t eight[8];
            if (bits == 16) {
                memcpy(&reg[i][4 * row], from, 16);
                continue;
            }
            memcpy(eight, from, sizeof eight);
            for (unsigned l = 0; l < 4; l++) {
                reg[i][4 * row + l] = eight[2 * l];
                reg[i + 1][4 * row + l] = eight[2 * l + 1];
            }
        }
    }
}

void emu_fragment_gather_a64(const uint64_t *const *reg, unsigned m, unsigned k, uint64_t *a)
{
    unsigned blocks = m / 8;
    for (unsigned i = 0; i < blocks * k / 4; i++)
        for (unsigned lane = 0; lane < 32; lane++)
            a[(lane / 4 + 8 * (i % blocks)) * k + lane % 4 + 4 * (i / blocks)] = reg[i][lane];
}

void emu_fragment_gather_b64(const uint64_t *const *reg, unsigned k, uint64_t *b)
{
    for (unsigned i = 0; i < k / 4; i++)
        for (unsigned lane = 0; lane < 32; lane++)
            b[lane / 4 * k + lane % 4 + 4 * i] = reg[i][lane];
}

void emu_fragment_gather_c64(const uint64_t *const *reg, unsigned m, uint64_t *c)
{
    for (unsigned i = 0; i < m / 4; i++)
        for (unsigned lane = 0; lane < 32; lane++)
            c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = reg[i][lane];
}

void emu_fragment_scatter_d64(uint64_t *const *reg, unsigned m, uint32_t mask, const uint64_t *d)
{
    for (unsigned i = 0; i < m / 4; i++)
        for (unsigned lane = 0; lane < 32; lane++)
            if (mask >> lane & 1)
                reg[i][lane] = d[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2];
}

// ---- 8 x 8 matrices of 16-bit elements

void emu_ldmatrix(const uint8_t (*row)[16], unsigned matrices, int trans, uint32_t *const *reg, uint32_t mask)
{
    if (!trans && mask == UINT32_MAX) { // a row is what four lanes get
        for (unsigned r = 0; r < 8 * matrices; r++)
            memcpy(&reg[r / 8][r % 8 * 4], row[r], 16);
        return;
    }
    for (unsigned j = 0; j < matrices; j++)
        for (unsigned lane = 0; lane < 32; lane++) {
            const uint8_t(*m)[16] = row + 8 * j;
            uint8_t bytes[4];
            if (!(mask >> lane & 1))
                continue;
            if (trans) {
                memcpy(bytes, m[lane % 4 * 2] + lane / 4 * 2, 2);
                memcpy(bytes + 2, m[lane % 4 * 2 + 1] + lane / 4 * 2, 2);
            } else {
                memcpy(bytes, m[lane / 4] + lane % 4 * 4, 4);
            }
            memcpy(&reg[j][lane], bytes, 4);
        }
}

void emu_stmatrix(const uint32_t *const *reg, unsigned matrices, int trans, uint8_t (*row)[16])
{
    for (unsigned j = 0; j < matrices; j++)
        for (unsigned lane = 0; lane < 32; lane++) {
            uint8_t(*m)[16] = row + 8 * j, bytes[4];
            memcpy(bytes, &reg[j][lane], 4);
            if (trans) {
                memcpy(m[lane % 4 * 2] + lane / 4 * 2, bytes, 2);
                memcpy(m[lane % 4 * 2 + 1] + lane / 4 * 2, bytes + 2, 2);
            } else {
                memcpy(m[lane / 4] + lane % 4 * 4, bytes, 4);
            }
        }
}

void emu_movmatrix(const uint32_t *from, uint32_t *to)
{
    uint32_t copy[32];
    memcpy(copy, from, sizeof copy);
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned row = lane / 4, column = lane % 4 * 2, value = 0;
        for (unsigned e = 0; e < 2; e++) // element (column + e, row) of the source
            value |= (copy[(column + e) * 4 + row / 2] >> row % 2 * 16 & 0xffff) << 16 * e;
        to[lane] = value;
    }
}

// ---- wgmma operands

void emu_descriptor_decode(uint64_t bits, struct emu_descriptor *descriptor)
{
    descriptor->start = (uint32_t)(bits & 0x3fff) << 4;
    descriptor->lbo = (uint32_t)(bits >> 16 & 0x3fff) << 4;
    descriptor->sbo = (uint32_t)(bits >> 32 & 0x3fff) << 4;
    descriptor->base = (uint32_t)(bits >> 49 & 7);
    int swizzle = 0;
    while (tw_swizzles[swizzle].wgmma != bits >> 62) // the column has each of the four codes
        swizzle++;
    descriptor->span = tw_swizzles[swizzle].span;
    descriptor->mask = tw_swizzles[swizzle].mask;
}

enum { SHARED_MASK = (1 << 18) - 1 };

// Where the byte x of row or column `major` lies: `minor` counts the other direction (K-major: major is the row of M or
// N, x runs along K; MN-major: major is k, x runs along M or N).
__attribute__((always_inline)) static inline uint32_t operand_byte(const struct emu_descriptor *d, int mn_major,
                                                                   unsigned major, unsigned x)
{
    uint32_t at = d->start;
    if (!d->span)
        at += mn_major ? x / 16 * d->sbo + major / 8 * d->lbo : major / 8 * d->sbo + x / 16 * d->lbo;
    else
        at += major / 8 * d->sbo + (mn_major ? x / d->span * d->lbo : 0);
    if (!d->span)
        at += major % 8 * 16 + x % 16;
    else
        at += major % 8 * d->span + (mn_major ? x % d->span : x);
    at ^= (at - (d->base << 7)) >> 3 & d->mask;
    return at & SHARED_MASK;
}

uint32_t emu_operand_address(const struct emu_operand *operand, unsigned row, unsigned k)
{
    struct emu_descriptor d;
    emu_descriptor_decode(operand->descriptor, &d);
    return operand->mn_major ? operand_byte(&d, 1, k, row * operand->bytes)
                             : operand_byte(&d, 0, row, k * operand->bytes);
}

static enum emu_fault_kind outside(uint32_t at, size_t bytes, struct emu_fault *fault)
{
    return emu_fail(fault, EMU_FAULT_BOUNDS, at,
                    "a wgmma operand reads shared memory at 0x%x, the block has 0x%zx bytes", at, bytes);
}

// K-major: rows of 32 bytes, two chunks of 16.
static enum emu_fault_kind gather_k_major(const struct emu_operand *operand, struct emu_descriptor d,
                                          const uint8_t *shared, size_t bytes, uint8_t *dense, struct emu_fault *fault)
{
    const struct emu_operand o = *operand;
    unsigned width = o.k * o.bytes;
    for (unsigned r = 0; r < o.rows; r++)
        for (unsigned x = 0; x < width; x += 16) {
            uint32_t at = operand_byte(&d, 0, o.first_row + r, x);
            if (at + (size_t)16 > bytes)
                return outside(at, bytes, fault);
            memcpy(dense + (size_t)r * width + x, shared + at, 16);
        }
    return EMU_FAULT_NONE;
}

// MN-major: chunks of 16 bytes run along M or N and are transposed into rows. `size`: of an element, a constant where
// this is called.
__attribute__((always_inline)) static inline enum emu_fault_kind
gather_mn_major(const struct emu_operand *operand, struct emu_descriptor d, unsigned size, const uint8_t *shared,
                size_t bytes, uint8_t *dense, struct emu_fault *fault)
{
    unsigned depth = operand->k, each = 16 / size, begin = operand->first_row, end = begin + operand->rows;
    for (unsigned k = 0; k < depth; k++)
        for (unsigned row = begin / each * each; row < end; row += each) {
            uint32_t at = operand_byte(&d, 1, k, row * size);
            if (at + (size_t)16 > bytes)
                return outside(at, bytes, fault);
            for (unsigned e = 0; e < each; e++)
                if (row + e >= begin && row + e < end)
                    memcpy(dense + ((size_t)(row + e - begin) * depth + k) * size, shared + at + e * size, size);
        }
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_operand_gather(const struct emu_operand *operand, const uint8_t *shared, size_t bytes,
                                       void *dense, struct emu_fault *fault)
{
    struct emu_descriptor d;
    emu_descriptor_decode(operand->descriptor, &d);
    if (!operand->mn_major)
        return gather_k_major(operand, d, shared, bytes, dense, fault);
    return operand->bytes == 2 ? gather_mn_major(operand, d, 2, shared, bytes, dense, fault)
                               : gather_mn_major(operand, d, operand->bytes, shared, bytes, dense, fault);
}

int emu_operand_pieces(const struct emu_operand *operand, int (*piece)(void *context, uint32_t address, uint32_t bytes),
                       void *context)
{
    const struct emu_operand *o = operand;
    struct emu_descriptor decoded;
    uint32_t start = 0, length = 0;
    emu_descriptor_decode(o->descriptor, &decoded);
    const struct emu_descriptor d = decoded; // its address is nobody else's: it stays in registers
    unsigned lines = o->mn_major ? o->k : o->rows, first = o->mn_major ? 0 : o->first_row;
    unsigned begin = o->mn_major ? o->first_row * o->bytes / 16 * 16 : 0;
    unsigned end = (o->mn_major ? o->first_row + o->rows : o->k) * o->bytes;
    for (unsigned line = first; line < first + lines; line++)
        for (unsigned x = begin; x < end; x += 16) {
            uint32_t at = operand_byte(&d, o->mn_major, line, x);
            if (length && at == start + length) {
                length += 16;
                continue;
            }
            if (length && at + 16 == start) {
                start = at;
                length += 16;
                continue;
            }
            int status = length ? piece(context, start, length) : 0;
            if (status)
                return status;
            start = at;
            length = 16;
        }
    return length ? piece(context, start, length) : 0;
}
