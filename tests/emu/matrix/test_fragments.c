// Fragment layouts against the PTX ISA's formulas, and operands behind descriptors against the matrix that a tensor
// load wrote.
#include <stdlib.h>
#include <time.h>

#include "emu/async/fragments.h"
#include "emu/memory.h"
#include "emu/async/tma.h"
#include "swizzle.h"
#include "unit/check.h"

static struct test_memory memory;

// PTX ISA 9.7.14.5: groupID = lane / 4, threadID_in_group = lane % 4.
static void places(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned group = lane / 4, thread = lane % 4;
        for (unsigned i = 0; i < 8; i++) { // m16n8k16 of 16 bits: a0..a7
            struct emu_place p = emu_fragment_place_a(16, lane, i / 2, i % 2);
            assert_int_equal(p.row, (i < 2 || (i >= 4 && i < 6)) ? group : group + 8);
            assert_int_equal(p.column, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8);
        }
        for (unsigned i = 0; i < 4; i++) { // b0..b3
            struct emu_place p = emu_fragment_place_b(16, lane, i / 2, i % 2);
            assert_int_equal(p.row, group);
            assert_int_equal(p.column, i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8);
        }
        for (unsigned i = 0; i < 4; i++) { // c0..c3
            struct emu_place p = emu_fragment_place_c(32, lane, i, 0);
            assert_int_equal(p.row, i < 2 ? group : group + 8);
            assert_int_equal(p.column, thread * 2 + (i & 1));
            struct emu_place h = emu_fragment_place_c(16, lane, i / 2, i % 2);
            assert_int_equal(h.row, p.row);
            assert_int_equal(h.column, p.column);
        }
        for (unsigned i = 0; i < 4; i++) { // m16n8k8 of tf32: a0..a3
            struct emu_place p = emu_fragment_place_a(32, lane, i, 0);
            assert_int_equal(p.row, i == 0 || i == 2 ? group : group + 8);
            assert_int_equal(p.column, i < 2 ? thread : thread + 4);
        }
        for (unsigned i = 0; i < 16; i++) { // m16n8k32 of 8 bits: a0..a15
            struct emu_place p = emu_fragment_place_a(8, lane, i / 4, i % 4);
            assert_int_equal(p.row, i < 4 || (i >= 8 && i < 12) ? group : group + 8);
            assert_int_equal(p.column, i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16);
        }
        for (unsigned i = 0; i < 8; i++) { // b0..b7
            struct emu_place p = emu_fragment_place_b(8, lane, i / 4, i % 4);
            assert_int_equal(p.row, group);
            assert_int_equal(p.column, i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16);
        }
    }
}

static uint32_t element(const uint8_t *at, unsigned bits)
{
    uint32_t value = 0;
    memcpy(&value, at, bits / 8);
    return value;
}

// Gathers agree with the places, for every width and count.
static void gathers(void **state)
{
    uint32_t reg[128][32], back[128][32];
    uint32_t *rows[128];
    uint8_t dense[16 * 256 * 4];
    (void)state;
    for (unsigned i = 0; i < 128; i++) {
        rows[i] = reg[i];
        for (unsigned lane = 0; lane < 32; lane++)
            reg[i][lane] = (i * 32 + lane) * 2654435761u;
    }
    const uint32_t *const *regs = (const uint32_t *const *)rows;
    for (unsigned bits = 8; bits <= 32; bits *= 2)
        for (unsigned count = 2; count <= 4; count += 2) {
            unsigned p = 32 / bits, k = count / 2 * 4 * p;
            emu_fragment_gather_a(regs, count, bits, dense);
            for (unsigned i = 0; i < count; i++)
                for (unsigned lane = 0; lane < 32; lane++)
                    for (unsigned e = 0; e < p; e++) {
                        struct emu_place at = emu_fragment_place_a(bits, lane, i, e);
                        assert_int_equal(element(dense + (at.row * k + at.column) * bits / 8, bits),
                                         reg[i][lane] >> e * bits & (uint32_t)((UINT64_C(1) << bits) - 1));
                    }
            k = count * 4 * p;
            emu_fragment_gather_b(regs, count, bits, dense);
            for (unsigned i = 0; i < count; i++)
                for (unsigned lane = 0; lane < 32; lane++)
                    for (unsigned e = 0; e < p; e++) {
                        struct emu_place at = emu_fragment_place_b(bits, lane, i, e);
                        assert_int_equal(element(dense + (at.row * k + at.column) * bits / 8, bits),
                                         reg[i][lane] >> e * bits & (uint32_t)((UINT64_C(1) << bits) - 1));
                    }
        }
    for (unsigned bits = 16; bits <= 32; bits *= 2)
        for (unsigned n = 8; n <= 256; n += 8) {
            unsigned count = n * bits / 64, p = 32 / bits;
            emu_fragment_gather_c(regs, n, bits, dense);
            for (unsigned i = 0; i < count; i++)
                for (unsigned lane = 0; lane < 32; lane++)
                    for (unsigned e = 0; e < p; e++) {
                        struct emu_place at = emu_fragment_place_c(bits, lane, i, e);
                        assert_true(at.row < 16 && at.column < n);
                        assert_int_equal(element(dense + (at.row * n + at.column) * bits / 8, bits),
                                         reg[i][lane] >> e * bits & (uint32_t)((UINT64_C(1) << bits) - 1));
                    }
            for (unsigned i = 0; i < 128; i++)
                rows[i] = back[i];
            memset(back, 0, sizeof back);
            emu_fragment_scatter_d(rows, n, bits, 0x0ffffff0, dense);
            for (unsigned i = 0; i < count; i++)
                for (unsigned lane = 0; lane < 32; lane++)
                    assert_int_equal(back[i][lane], lane >= 4 && lane < 28 ? reg[i][lane] : 0);
            for (unsigned i = 0; i < 128; i++)
                rows[i] = reg[i];
        }
}

static void doubles(void **state)
{
    uint64_t reg[8][32], back[4][32], dense[16 * 16];
    uint64_t *rows[8], *to[4] = {back[0], back[1], back[2], back[3]};
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        rows[i] = reg[i];
        for (unsigned lane = 0; lane < 32; lane++)
            reg[i][lane] = i * 32 + lane + 1;
    }
    const uint64_t *const *regs = (const uint64_t *const *)rows;
    for (unsigned m = 8; m <= 16; m += 8)
        for (unsigned k = 4; k <= (m == 8 ? 4u : 16u); k *= 2) {
            emu_fragment_gather_a64(regs, m, k, dense);
            for (unsigned i = 0; i < m / 8 * k / 4; i++)
                for (unsigned lane = 0; lane < 32; lane++) {
                    unsigned row = lane / 4 + (m == 16 ? 8 * (i % 2) : 0), col = lane % 4 + 4 * (m == 16 ? i / 2 : i);
                    assert_true(dense[row * k + col] == reg[i][lane]);
                }
            emu_fragment_gather_b64(regs, k, dense);
            for (unsigned i = 0; i < k / 4; i++)
                for (unsigned lane = 0; lane < 32; lane++)
                    assert_true(dense[lane / 4 * k + lane % 4 + 4 * i] == reg[i][lane]);
            emu_fragment_gather_c64(regs, m, dense);
            memset(back, 0, sizeof back);
            emu_fragment_scatter_d64(to, m, UINT32_MAX, dense);
            assert_memory_equal(back, reg, m / 4 * sizeof reg[0]);
            assert_true(dense[1] == reg[1][0] && dense[2] == reg[0][1] && dense[8] == reg[0][4]);
        }
}

static void ldmatrix(void **state)
{
    uint8_t row[32][16], back[32][16];
    uint32_t reg[4][32];
    uint32_t *rows[4] = {reg[0], reg[1], reg[2], reg[3]};
    (void)state;
    for (unsigned i = 0; i < 32; i++)
        for (unsigned k = 0; k < 8; k++) {
            uint16_t value = (uint16_t)(i * 8 + k);
            memcpy(&row[i][2 * k], &value, 2);
        }
    for (unsigned count = 1; count <= 4; count *= 2)
        for (int trans = 0; trans < 2; trans++) {
            emu_ldmatrix((const uint8_t(*)[16])row, count, trans, rows, UINT32_MAX);
            for (unsigned j = 0; j < count; j++)
                for (unsigned lane = 0; lane < 32; lane++)
                    for (unsigned e = 0; e < 2; e++) {
                        unsigned r = lane / 4, c = lane % 4 * 2 + e, at = trans ? c * 8 + r : r * 8 + c;
                        assert_int_equal(reg[j][lane] >> 16 * e & 0xffff, j * 64 + at);
                    }
            memset(back, 0, sizeof back);
            emu_stmatrix((const uint32_t *const *)rows, count, trans, back);
            assert_memory_equal(back, row, count * 8 * 16);
            if (!trans) {
                uint32_t moved[32], twice[32];
                emu_movmatrix(reg[0], moved);
                emu_movmatrix(moved, twice);
                assert_memory_equal(twice, reg[0], sizeof twice);
                uint32_t *transposed[1] = {twice};
                emu_ldmatrix((const uint8_t(*)[16])row, 1, 1, transposed, UINT32_MAX);
                assert_memory_equal(moved, twice, sizeof twice);
            }
        }
}

static uint64_t descriptor(uint32_t start, uint32_t lbo, uint32_t sbo, uint32_t base, enum tw_swizzle swizzle)
{
    return (uint64_t)(start >> 4 & 0x3fff) | (uint64_t)(lbo >> 4 & 0x3fff) << 16 | (uint64_t)(sbo >> 4 & 0x3fff) << 32 |
           (uint64_t)base << 49 | (uint64_t)tw_swizzles[swizzle].wgmma << 62;
}

// Loads boxes of a matrix [outer][inner] (elements of `size` bytes, inner contiguous) side by side: boxes of box_inner
// x box_outer along inner, each at the next free place from `start` on.
static void load_boxes(uint32_t size, uint64_t inner, uint64_t outer, uint32_t box_inner, uint32_t box_outer,
                       enum tw_swizzle swizzle, uint32_t start)
{
    struct tw_tensormap_call c = {.func = TW_TENSORMAP_TILED,
                                  .dtype = size == 1   ? 0
                                           : size == 2 ? 9
                                                       : 7,
                                  .rank = 2,
                                  .addr = TEST_GLOBAL,
                                  .dim = {inner, outer},
                                  .stride = {inner * size},
                                  .box = {box_inner, box_outer},
                                  .estride = {1, 1},
                                  .swizzle = tw_swizzles[swizzle].tensormap};
    uint64_t bytes[16];
    struct emu_tma_map map;
    struct emu_fault fault = {0};
    assert_int_equal(tw_tensormap_encode(&c, 90, bytes), TW_OK);
    assert_int_equal(emu_tma_open(bytes, &map, &fault), 0);
    uint8_t *image = malloc(map.extent);
    for (uint32_t i = 0; i * box_inner < inner; i++) {
        struct emu_tma_request request = {.map = &map,
                                          .rank = 2,
                                          .coord = {(int32_t)(i * box_inner), 0},
                                          .smem = TEST_SHARED + start + i * map.extent};
        assert_int_equal(emu_tma_read_global(&request, &memory.bytes, image, &fault), 0);
        assert_int_equal(emu_tma_write_shared(&request, &memory.bytes, request.smem, image, &fault), 0);
    }
    free(image);
}

static int count_piece(void *context, uint32_t address, uint32_t bytes)
{
    uint8_t *touched = context;
    for (uint32_t i = 0; i < bytes; i++)
        touched[address + i]++;
    return 0;
}

// Gathered through the descriptor, the operand is the matrix: dense[row][k] for each step along K.
static void check_operand(const struct emu_operand *o, uint64_t inner, uint32_t k0)
{
    struct emu_fault fault = {0};
    uint8_t dense[256 * 32], touched[1 << 17] = {0};
    assert_int_equal(emu_operand_gather(o, memory.shared[0], TEST_SHARED_BYTES, dense, &fault), EMU_FAULT_NONE);
    assert_int_equal(emu_operand_pieces(o, count_piece, touched), 0);
    for (unsigned r = 0; r < o->rows; r++)
        for (unsigned k = 0; k < o->k; k++) {
            uint64_t row = o->first_row + r, column = k0 + k;
            uint64_t at = (o->mn_major ? column * inner + row : row * inner + column) * o->bytes;
            assert_memory_equal(dense + (r * o->k + k) * o->bytes, memory.global + at, o->bytes);
            uint32_t address = emu_operand_address(o, o->first_row + r, k);
            assert_memory_equal(memory.shared[0] + address, memory.global + at, o->bytes);
            assert_int_equal(touched[address], 1);
        }
}

static void operands(void **state)
{
    static const uint32_t starts[] = {1024, 4096 + 1024};
    (void)state;
    for (int s = TW_SWIZZLE_NONE; s < TW_SWIZZLE_COUNT; s++)
        for (uint32_t size = 1; size <= 4; size *= 2)
            for (size_t place = 0; place < 2; place++) {
                enum tw_swizzle swizzle = (enum tw_swizzle)s;
                uint32_t span = tw_swizzles[s].span ? tw_swizzles[s].span : 16, start = starts[place], rows = 64;
                uint32_t each = span / size, k = 32 / size, depth = 128 / size;
                // K-major: boxes of a span along K, all rows.
                test_memory_init(&memory);
                load_boxes(size, depth, rows, each, rows, swizzle, start);
                for (uint32_t k0 = 0; k0 < depth; k0 += k) {
                    uint32_t box = k0 / each * rows * span, within = k0 % each * size;
                    struct emu_operand o = {.bytes = size, .rows = rows, .k = k};
                    o.descriptor = descriptor(start + box + within, swizzle == TW_SWIZZLE_NONE ? rows * 16 : 16,
                                              8 * span, 0, swizzle);
                    check_operand(&o, depth, k0);
                    o.first_row = 16;
                    o.rows = 16;
                    check_operand(&o, depth, k0);
                }
                if (size != 2)
                    continue;
                // MN-major: boxes of a span along MN, 64 deep.
                uint32_t mn = 192, deep = 64;
                test_memory_init(&memory);
                load_boxes(size, mn, deep, each, deep, swizzle, start);
                for (uint32_t k0 = 0; k0 < deep; k0 += k) {
                    struct emu_operand o = {.bytes = size, .mn_major = 1, .rows = mn, .k = k};
                    uint32_t box = deep * span, eight = 8 * span;
                    o.descriptor = swizzle == TW_SWIZZLE_NONE ? descriptor(start + k0 * span, eight, box, 0, swizzle)
                                                              : descriptor(start + k0 * span, box, eight, 0, swizzle);
                    check_operand(&o, mn, k0);
                    o.first_row = 48;
                    o.rows = 16;
                    check_operand(&o, mn, k0);
                    o.first_row = 4;
                    o.rows = 5;
                    check_operand(&o, mn, k0);
                }
            }
    // Outside of the block's shared memory.
    struct emu_operand o = {
        .descriptor = descriptor(2048, 16, 1024, 0, TW_SWIZZLE_128B), .bytes = 2, .rows = 64, .k = 16};
    uint8_t dense[64 * 32];
    struct emu_fault fault;
    assert_int_equal(emu_operand_gather(&o, memory.shared[0], 2048 + 8192 - 16, dense, &fault), EMU_FAULT_BOUNDS);
    assert_int_equal(emu_operand_gather(&o, memory.shared[0], 2048 + 8192, dense, &fault), EMU_FAULT_NONE);
}

// What a 512 x 512 x 512 product of m64n256k16 gathers and scatters stays far below a second.
static void speed(void **state)
{
    struct emu_operand o = {
        .descriptor = descriptor(1024, 16, 1024, 0, TW_SWIZZLE_128B), .bytes = 2, .rows = 256, .k = 16};
    static uint8_t dense[256 * 32];
    clock_t start = clock();
    (void)state;
    test_memory_init(&memory);
    start = clock();
    for (int i = 0; i < 512 * 4; i++)
        assert_int_equal(emu_operand_gather(&o, memory.shared[0], TEST_SHARED_BYTES, dense, NULL), 0);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("# 2,048 operands of 256 x 16 in %.3f s\n", seconds);
    assert_true(seconds < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),   cmocka_unit_test(gathers),  cmocka_unit_test(doubles),
        cmocka_unit_test(ldmatrix), cmocka_unit_test(operands), cmocka_unit_test(speed),
    };
    return cmocka_run_group_tests_name("fragments", tests, NULL, NULL);
}
