// Tensor loads and stores against plain formulas. What an H200 does is in tests/emu/tensormap_load.sh.
#include <math.h>
#include <stdlib.h>

#include "emu/memory.h"
#include "emu/async/tma.h"
#include "swizzle.h"
#include "unit/check.h"

static const uint32_t element_bytes[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
static struct test_memory memory;

// A dense tiled map over the test's global memory.
static struct emu_tma_map tiled(uint32_t dtype, unsigned rank, const uint64_t *dim, const uint32_t *box,
                                uint32_t swizzle, uint32_t oob)
{
    struct tw_tensormap_call c = {
        .func = TW_TENSORMAP_TILED, .dtype = dtype, .rank = rank, .addr = TEST_GLOBAL, .swizzle = swizzle, .oob = oob};
    uint64_t stride = dim[0] * element_bytes[dtype], bytes[16];
    struct emu_tma_map map;
    struct emu_fault fault = {0};
    for (unsigned i = 0; i < rank; i++) {
        c.dim[i] = dim[i];
        c.box[i] = box[i];
        c.estride[i] = 1;
        stride = (stride + 15) / 16 * 16;
        if (i + 1 < rank)
            c.stride[i] = stride;
        if (i + 1 < rank)
            stride *= dim[i + 1];
    }
    assert_int_equal(tw_tensormap_encode(&c, 90, bytes), TW_OK);
    assert_int_equal(emu_tma_open(bytes, &map, &fault), EMU_FAULT_NONE);
    return map;
}

static void load(const struct emu_tma_request *request)
{
    struct emu_fault fault = {0};
    uint8_t *image = malloc(request->map->extent);
    assert_int_equal(emu_tma_check(request, 0, &fault), EMU_FAULT_NONE);
    assert_int_equal(emu_tma_read_global(request, &memory.bytes, image, &fault), EMU_FAULT_NONE);
    assert_int_equal(emu_tma_write_shared(request, &memory.bytes, request->smem, image, &fault), EMU_FAULT_NONE);
    free(image);
}

// Every type, swizzle and rank; boxes that hang over each edge; the place of every byte by the formula.
static void tile_loads(void **state)
{
    (void)state;
    for (uint32_t dtype = 0; dtype < 13; dtype++)
        for (uint32_t swizzle = 0; swizzle < 4; swizzle++)
            for (unsigned rank = 1; rank <= 5; rank++) {
                uint32_t size = element_bytes[dtype], span = tw_swizzles[swizzle].span;
                uint32_t inner = (span ? span : 48) / size / (rank == 3 && span ? 2 : 1);
                uint64_t dim[5] = {inner * 3 / size * size / 2 + 16 / size, 7, 5, 4, 3};
                uint32_t box[5] = {inner, 3, 2, 3, 2};
                if (dtype >= 11)
                    continue; // rounding: see tf32
                for (int place = 0; place < 3; place++) {
                    struct emu_tma_map map = tiled(dtype, rank, dim, box, swizzle, 0);
                    struct emu_tma_request request = {.map = &map, .rank = rank, .smem = TEST_SHARED + 1024 + 128};
                    request.coord[0] = (place - 1) * (int32_t)(32 / size);
                    for (unsigned i = 1; i < rank; i++)
                        request.coord[i] = place == 0 ? -1 : place == 1 ? 1 : (int32_t)dim[i] - 1;
                    test_memory_init(&memory);
                    load(&request);
                    uint32_t row = 0;
                    assert_int_equal(map.transaction, map.rows * inner * size);
                    for (uint32_t w = 0; w < (rank > 4 ? box[4] : 1); w++)
                        for (uint32_t v = 0; v < (rank > 3 ? box[3] : 1); v++)
                            for (uint32_t z = 0; z < (rank > 2 ? box[2] : 1); z++)
                                for (uint32_t y = 0; y < (rank > 1 ? box[1] : 1); y++, row++)
                                    for (uint32_t b = 0; b < inner * size; b++) {
                                        int64_t c[5] = {b / size, y, z, v, w};
                                        for (unsigned i = 0; i < rank; i++)
                                            c[i] += request.coord[i];
                                        uint64_t at = (uint64_t)c[0] * size + b % size;
                                        int inside = c[0] >= 0 && c[0] < (int64_t)dim[0];
                                        for (unsigned i = 1; i < rank; i++) {
                                            inside &= c[i] >= 0 && c[i] < (int64_t)dim[i];
                                            at += (uint64_t)c[i] * map.call.stride[i - 1];
                                        }
                                        uint32_t to = 1024 + 128 + row * (span ? span : inner * size) + b;
                                        uint8_t want = inside ? memory.global[at] : 0;
                                        assert_int_equal(memory.shared[0][tw_swizzle((enum tw_swizzle)swizzle, to)],
                                                         want);
                                    }
                    // Nothing else was touched.
                    size_t other = 0;
                    for (size_t i = 0; i < TEST_SHARED_BYTES; i++)
                        other += i < 1024 + 128 || i >= 1024 + 128 + map.extent ? memory.shared[0][i] != 0xcd : 0;
                    assert_int_equal(other, 0);
                }
            }
}

static void tf32(void **state)
{
    static const uint32_t pairs[][2] = {{0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000},
                                        {0x3f803000, 0x3f804000}, {0x80000fff, 0x80000000}, {0x804811da, 0x80482000},
                                        {0xffc79058, 0x7fffe000}, {0x7f800001, 0x7fffe000}, {0x7f800000, 0x7f800000},
                                        {0xff800000, 0xff800000}, {0x7f7fffff, 0x7f800000}, {0x7f7ff000, 0x7f800000}};
    uint64_t dim[1] = {12};
    uint32_t box[1] = {12};
    (void)state;
    for (uint32_t dtype = 11; dtype <= 12; dtype++) {
        struct emu_tma_map map = tiled(dtype, 1, dim, box, 0, 0);
        struct emu_tma_request request = {.map = &map, .rank = 1, .smem = TEST_SHARED};
        test_memory_init(&memory);
        for (size_t i = 0; i < 12; i++)
            memcpy(memory.global + 4 * i, &pairs[i][0], 4);
        load(&request);
        for (size_t i = 0; i < 12; i++)
            assert_memory_equal(memory.shared[0] + 4 * i, &pairs[i][1], 4);
    }
}

static void traps(void **state)
{
    uint64_t dim[2] = {64, 8}, bytes[16] = {0};
    uint32_t box[2] = {16, 4};
    struct emu_tma_map map = tiled(9, 2, dim, box, 1, 0), none;
    struct emu_tma_request request = {.map = &map, .rank = 2, .smem = TEST_SHARED};
    struct emu_fault fault = {0};
    uint8_t image[128];
    (void)state;
    test_memory_init(&memory);
    request.coord[0] = 4;
    assert_int_equal(emu_tma_check(&request, 0, &fault), EMU_FAULT_TMA_INNER);
    assert_string_equal(emu_fault_name(fault.kind), "TMA-INNER");
    assert_int_equal(emu_tma_check(&request, 1, NULL), EMU_FAULT_TMA_INNER);
    request.coord[0] = -8;
    assert_int_equal(emu_tma_check(&request, 1, NULL), EMU_FAULT_ILLEGAL);
    assert_int_equal(emu_tma_check(&request, 0, NULL), EMU_FAULT_NONE);
    request.smem += 64;
    assert_int_equal(emu_tma_check(&request, 0, NULL), EMU_FAULT_ALIGN);
    request.smem -= 64;
    request.rank = 3;
    assert_int_equal(emu_tma_check(&request, 0, NULL), EMU_FAULT_ILLEGAL);
    request.rank = 2;
    request.mode = EMU_TMA_IM2COL;
    assert_int_equal(emu_tma_check(&request, 0, NULL), EMU_FAULT_ILLEGAL);
    request.mode = EMU_TMA_TILE;
    map.call.addr = TEST_GLOBAL + TEST_GLOBAL_BYTES - 256;
    request.coord[1] = -2; // the last row of the box is row 1, the last one allocated
    assert_int_equal(emu_tma_read_global(&request, &memory.bytes, image, &fault), EMU_FAULT_NONE);
    request.coord[1] = -1;
    assert_int_equal(emu_tma_read_global(&request, &memory.bytes, image, &fault), EMU_FAULT_BOUNDS);
    memset(bytes, 0xee, sizeof bytes);
    assert_int_equal(emu_tma_open(bytes, &none, &fault), EMU_FAULT_ILLEGAL);
}

// What tensormap.replace leaves behind (the driver's notes out of date) is a map.
static void replaced(void **state)
{
    uint64_t dim[2] = {64, 8}, bytes[16];
    uint32_t box[2] = {16, 4};
    struct emu_tma_map map = tiled(9, 2, dim, box, 1, 0), again;
    (void)state;
    assert_int_equal(tw_tensormap_encode(&map.call, 90, bytes), TW_OK);
    bytes[8] = 7;
    assert_int_equal(emu_tma_open(bytes, &again, NULL), EMU_FAULT_NONE);
    assert_int_equal(again.extent, map.extent);
}

// A store writes what a load of the same box reads, and nothing outside of the tensor but the last 16 bytes of a row.
static void stores(void **state)
{
    static uint8_t before[TEST_GLOBAL_BYTES];
    (void)state;
    for (uint32_t swizzle = 0; swizzle < 4; swizzle++)
        for (uint64_t width = 20; width <= 24; width += 4)
            for (int x = 0; x < 4; x++) {
                uint64_t dim[2] = {width, 6}, tail = 0;
                uint32_t box[2] = {16, 4};
                struct emu_tma_map map = tiled(9, 2, dim, box, swizzle, 0);
                struct emu_tma_request request = {.map = &map, .rank = 2, .coord = {x * 8, 3}, .smem = TEST_SHARED};
                struct emu_fault fault = {0};
                uint8_t image[1024];
                if (map.span && map.span < 32)
                    continue;
                test_memory_init(&memory);
                for (size_t i = 0; i < TEST_SHARED_BYTES; i++)
                    memory.shared[0][i] = (uint8_t)(i * 7 + 3);
                memcpy(before, memory.global, sizeof before);
                memset(image, 0xee, sizeof image);
                assert_int_equal(emu_tma_read_shared(&request, &memory.bytes, image, &fault), EMU_FAULT_NONE);
                assert_int_equal(emu_tma_write_global(&request, EMU_REDUCE_STORE, &memory.bytes, image, &tail, &fault),
                                 EMU_FAULT_NONE);
                uint64_t pitch = map.call.stride[0];
                for (uint64_t i = 0; i < 8 * pitch; i++) {
                    int64_t b = (int64_t)(i % pitch) - x * 16, row = (int64_t)(i / pitch) - 3;
                    int in_box = b >= 0 && b < 32 && row >= 0 && row < 4 && i / pitch < 6;
                    int in_chunk = i % pitch < (dim[0] * 2 + 15) / 16 * 16; // the rest of a started chunk too
                    if (in_box && in_chunk) {
                        uint32_t from = (uint32_t)row * (map.span ? map.span : 32) + (uint32_t)b;
                        assert_int_equal(memory.global[i],
                                         (uint8_t)(tw_swizzle((enum tw_swizzle)swizzle, from) * 7 + 3));
                    } else {
                        assert_int_equal(memory.global[i], before[i]);
                    }
                }
                int overhang = width == 20 && x * 8 < 20 && x * 8 + 16 > 20;
                assert_int_equal(tail != 0, overhang);
                if (overhang)
                    assert_true(tail == TEST_GLOBAL + 3 * pitch + 40);
            }
}

// The value of a positive f16 code; of infinity, what would be next.
static double half_value(uint32_t code)
{
    return code < 0x400 ? ldexp(code, -24) : ldexp(1024 + (code & 0x3ff), (int)(code >> 10) - 25);
}

static void reductions(void **state)
{
    static const struct {
        enum emu_reduce op;
        enum emu_reduce_type type;
        uint64_t a, b, want;
    } rows[] = {
        {EMU_REDUCE_ADD, EMU_REDUCE_U32, 0xffffffff, 2, 1},
        {EMU_REDUCE_MIN, EMU_REDUCE_S32, 0xffffffff, 1, 0xffffffff},
        {EMU_REDUCE_MAX, EMU_REDUCE_S32, 0xffffffff, 1, 1},
        {EMU_REDUCE_MIN, EMU_REDUCE_U32, 0xffffffff, 1, 1},
        {EMU_REDUCE_MAX, EMU_REDUCE_S64, UINT64_MAX, 1, 1},
        {EMU_REDUCE_MIN, EMU_REDUCE_U64, UINT64_MAX, 1, 1},
        {EMU_REDUCE_INC, EMU_REDUCE_U32, 4, 5, 5},
        {EMU_REDUCE_INC, EMU_REDUCE_U32, 5, 5, 0},
        {EMU_REDUCE_DEC, EMU_REDUCE_U32, 0, 5, 5},
        {EMU_REDUCE_DEC, EMU_REDUCE_U32, 6, 5, 5},
        {EMU_REDUCE_DEC, EMU_REDUCE_U32, 3, 5, 2},
        {EMU_REDUCE_AND, EMU_REDUCE_B32, 12, 10, 8},
        {EMU_REDUCE_OR, EMU_REDUCE_B64, 12, 10, 14},
        {EMU_REDUCE_XOR, EMU_REDUCE_B64, 12, 10, 6},
        {EMU_REDUCE_ADD, EMU_REDUCE_F32, 0x3f800000, 0x33800000, 0x3f800000}, // 1 + 2^-24: tie to even
        {EMU_REDUCE_ADD, EMU_REDUCE_F32, 0x00000001, 0x00000001, 0x00000002},
        {EMU_REDUCE_ADD, EMU_REDUCE_F32_FTZ, 0x80000001, 0x80000001, 0x80000000},
        {EMU_REDUCE_ADD, EMU_REDUCE_F64, 0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000},
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x3c00, 0x1000, 0x3c00}, // 1 + 2^-11
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x3c01, 0x1000, 0x3c02},
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x7bff, 0x7bff, 0x7c00},
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x0001, 0x0001, 0x0002},
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x03ff, 0x0001, 0x0400},
        {EMU_REDUCE_ADD, EMU_REDUCE_F16, 0x7c00, 0xfc00, 0x7fff},
        {EMU_REDUCE_ADD, EMU_REDUCE_BF16, 0x3f80, 0x3b80, 0x3f80},
        {EMU_REDUCE_ADD, EMU_REDUCE_BF16, 0x3f81, 0x3b80, 0x3f82},
        {EMU_REDUCE_ADD, EMU_REDUCE_BF16, 0x7f7f, 0x7f7f, 0x7f80},
        {EMU_REDUCE_MIN, EMU_REDUCE_F16, 0x8000, 0x0000, 0x8000},
        {EMU_REDUCE_MAX, EMU_REDUCE_BF16, 0x8000, 0x0000, 0x0000},
        {EMU_REDUCE_MAX, EMU_REDUCE_F16, 0x7e00, 0x3c00, 0x3c00},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t a = rows[i].a;
        assert_true(emu_reduce_valid(rows[i].op, rows[i].type));
        emu_reduce_apply(rows[i].op, rows[i].type, &a, &rows[i].b, 1);
        if (a != rows[i].want)
            print_error("row %zu: %llx\n", i, (unsigned long long)a);
        assert_true(a == rows[i].want);
    }
    assert_false(emu_reduce_valid(EMU_REDUCE_INC, EMU_REDUCE_S32));
    assert_false(emu_reduce_valid(EMU_REDUCE_MIN, EMU_REDUCE_F32));
}

// f16 addition against a search for the nearest code.
static void sums_of_halves(void **state)
{
    (void)state;
    for (uint32_t x = 0; x < 0x7c00; x += 311)
        for (uint32_t y = 0; y < 0x7c00; y += 137) {
            uint16_t sum = (uint16_t)x, with = (uint16_t)y;
            double exact = half_value(x) + half_value(y);
            uint32_t low = 0, high = 0x7c00; // half_value(low) <= exact < half_value(high), infinity as 2^16
            while (high - low > 1) {
                uint32_t middle = (low + high) / 2;
                *(half_value(middle) <= exact ? &low : &high) = middle;
            }
            double down = exact - half_value(low), up = half_value(high) - exact;
            emu_reduce_apply(EMU_REDUCE_ADD, EMU_REDUCE_F16, &sum, &with, 1);
            assert_int_equal(sum, down < up || (down == up && low % 2 == 0) ? low : high);
        }
}

// A tensor reduction, with a row that ends inside of 16 bytes.
static void reductions_of_tensors(void **state)
{
    uint64_t dim[2] = {18, 4}, tail = 1;
    uint32_t box[2] = {16, 2};
    struct emu_tma_map map = tiled(2, 2, dim, box, 2, 0);
    struct emu_tma_request request = {.map = &map, .rank = 2, .coord = {16, 3}, .smem = TEST_SHARED};
    struct emu_fault fault = {0};
    uint8_t image[1024] = {0};
    uint32_t old[20], now[20];
    (void)state;
    test_memory_init(&memory);
    memset(image, 1, sizeof image);
    memcpy(old, memory.global + 3 * map.call.stride[0], sizeof old);
    assert_int_equal(emu_tma_write_global(&request, EMU_REDUCE_ADD, &memory.bytes, image, &tail, &fault), 0);
    memcpy(now, memory.global + 3 * map.call.stride[0], sizeof now);
    for (int i = 0; i < 20; i++)
        assert_int_equal(now[i], i >= 16 ? old[i] + 0x01010101 : old[i]); // 18, 19: the rest of the chunk
    assert_true(tail == TEST_GLOBAL + 3 * map.call.stride[0] + 72);
    request.coord[1] = -1;
    assert_int_equal(emu_tma_check(&request, 1, NULL), EMU_FAULT_ILLEGAL);
    assert_int_equal(emu_tma_check(&request, 0, NULL), EMU_FAULT_NONE);
    request.coord[1] = 3;
    assert_int_equal(emu_tma_write_global(&request, EMU_REDUCE_INC, &memory.bytes, image, NULL, &fault), 0);
    map.call.dtype = 3;
    assert_int_equal(emu_tma_write_global(&request, EMU_REDUCE_INC, &memory.bytes, image, NULL, &fault),
                     EMU_FAULT_ILLEGAL);
}

// An im2col store is the way back of an im2col load without offsets.
static void im2col(void **state)
{
    struct tw_tensormap_call c = {.func = TW_TENSORMAP_IM2COL,
                                  .dtype = 9,
                                  .rank = 4,
                                  .addr = TEST_GLOBAL,
                                  .dim = {32, 9, 7, 3},
                                  .stride = {64, 576, 4032},
                                  .lower = {0, 0},
                                  .upper = {0, 0},
                                  .channels = 32,
                                  .pixels = 40,
                                  .estride = {1, 1, 1, 1},
                                  .swizzle = 2};
    uint64_t bytes[16];
    struct emu_tma_map map;
    struct emu_fault fault = {0};
    static uint8_t before[TEST_GLOBAL_BYTES];
    (void)state;
    assert_int_equal(tw_tensormap_encode(&c, 90, bytes), TW_OK);
    assert_int_equal(emu_tma_open(bytes, &map, &fault), EMU_FAULT_NONE);
    struct emu_tma_request request = {
        .map = &map, .mode = EMU_TMA_IM2COL, .rank = 4, .coord = {0, 5, 6, 1}, .smem = TEST_SHARED};
    test_memory_init(&memory);
    load(&request);
    // 4 pixels of the last row of image 1, then image 2 from its start.
    for (uint32_t p = 0; p < 40; p++)
        for (uint32_t b = 0; b < 64; b++) {
            uint32_t pixel = 63 + 6 * 9 + 5 + p;
            assert_int_equal(memory.shared[0][tw_swizzle(TW_SWIZZLE_64B, p * 64 + b)], memory.global[pixel * 64 + b]);
        }
    memcpy(before, memory.global, sizeof before);
    uint8_t image[40 * 64];
    request.mode = EMU_TMA_IM2COL_NO_OFFS;
    assert_int_equal(emu_tma_check(&request, 1, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_tma_read_shared(&request, &memory.bytes, image, &fault), EMU_FAULT_NONE);
    memset(memory.global, 0, sizeof memory.global);
    assert_int_equal(emu_tma_write_global(&request, EMU_REDUCE_STORE, &memory.bytes, image, NULL, &fault), 0);
    assert_memory_equal(memory.global + 122 * 64, before + 122 * 64, 40 * 64);
    request.coord[1] = 9; // outside of the bounding box
    assert_int_equal(emu_tma_check(&request, 1, NULL), EMU_FAULT_ILLEGAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_loads), cmocka_unit_test(tf32),   cmocka_unit_test(traps),
        cmocka_unit_test(replaced),   cmocka_unit_test(stores), cmocka_unit_test(reductions),
        cmocka_unit_test(sums_of_halves), cmocka_unit_test(reductions_of_tensors),
        cmocka_unit_test(im2col),
    };
    return cmocka_run_group_tests_name("tma", tests, NULL, NULL);
}
