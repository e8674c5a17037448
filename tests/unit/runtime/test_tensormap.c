// Tensor maps: each rule on both sides of its edge, each bit of the layout, and the way there and back.
#include "unit/check.h"

#include <stdio.h>
#include <string.h>

#include "tensormap_calls.h"
#include "unit/rounds.h"

static const struct tw_tensormap_finding *find(const struct tw_tensormap_verdict *v, const char *rule, unsigned entry)
{
    for (int i = 0; i < v->count; i++)
        if (strcmp(tw_tensormap_rule_name(v->finding[i].rule), rule) == 0 && v->finding[i].entry == entry)
            return &v->finding[i];
    return NULL;
}

static void accepted_cc(call_t c, int cc)
{
    struct tw_tensormap_verdict v;
    char text[TW_TENSORMAP_MESSAGE];
    if (tw_tensormap_check(&c, cc, &v) != TW_OK)
        fail_msg("refused: %s", tw_tensormap_message(&c, cc, &v.finding[0], text, sizeof text));
    assert_int_equal(v.refused, 0);
    assert_int_equal(tw_tensormap_check(&c, cc, NULL), TW_OK);
}

static void accepted(call_t c)
{
    uint64_t map[16];
    accepted_cc(c, 90);
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
}

// The call breaks the rule in that entry, with that message; the nearest call does not, and is accepted.
static void broken_cc(call_t c, int cc, const char *rule, unsigned entry, const char *message, int warning)
{
    struct tw_tensormap_verdict v;
    call_t nearest;
    char text[TW_TENSORMAP_MESSAGE];
    uint64_t map[16];
    tw_tensormap_check(&c, cc, &v);
    const struct tw_tensormap_finding *f = find(&v, rule, entry);
    if (!f)
        fail_msg("%s is not reported for entry %u", rule, entry);
    assert_int_equal(f->warning, warning);
    assert_string_equal(tw_tensormap_message(&c, cc, f, text, sizeof text), message);
    assert_int_equal(v.refused + v.warned, v.count);
    if (warning)
        return;
    assert_int_equal(tw_tensormap_check(&c, cc, NULL), TW_ERROR_INVALID);
    memset(map, 0xab, sizeof map);
    assert_int_equal(tw_tensormap_encode(&c, cc, map), TW_ERROR_INVALID);
    assert_true(map[0] == UINT64_C(0xabababababababab) && map[15] == map[0]);
    if (strcmp(rule, "TMA-CC") == 0 || strcmp(rule, "TMA-FUNC") == 0)
        return;
    assert_int_equal(tw_tensormap_nearest(&c, cc, &nearest), TW_OK);
    accepted_cc(nearest, cc);
}

static void broken(call_t c, const char *rule, unsigned entry, const char *message)
{
    broken_cc(c, 90, rule, entry, message, 0);
}

static void warned(call_t c, int cc, const char *rule, unsigned entry, const char *message)
{
    accepted_cc(c, cc);
    broken_cc(c, cc, rule, entry, message, 1);
}

// A call like `base` with some arguments set.
#define WITH(base, ...) (c = base(), __VA_ARGS__, c)

static void test_enums(void **state)
{
    (void)state;
    call_t c;
    accepted(tiled());
    accepted(im2col());
    accepted(wide());
    broken(WITH(tiled, c.func = (enum tw_tensormap_func)3), "TMA-FUNC", 0,
           "there is no such encode call; write tiled, im2col or im2col_wide");
    broken_cc(tiled(), 80, "TMA-CC", 0,
              "compute capability 8.0 has no tensor memory accelerator; take a device of 9.0 or higher", 0);
    broken(WITH(tiled, c.rank = 0), "TMA-RANK", 0, "rank is 0, a tiled map has 1 to 5 dimensions; write 1");
    broken(WITH(tiled, c.rank = 6), "TMA-RANK", 0, "rank is 6, a tiled map has 1 to 5 dimensions; write 5");
    accepted(WITH(tiled, c.rank = 1));
    accepted(WITH(tiled, c.rank = 5, c.dim[3] = c.dim[4] = c.box[3] = c.box[4] = c.estride[3] = c.estride[4] = 1));
    broken(WITH(im2col, c.rank = 2), "TMA-RANK", 0, "rank is 2, an im2col map has 3 to 5 dimensions; write 3");
    broken(WITH(wide, c.rank = 6), "TMA-RANK", 0, "rank is 6, an im2col map has 3 to 5 dimensions; write 5");
    accepted(WITH(im2col, c.rank = 3));
    broken(WITH(tiled, c.dtype = 16), "TMA-DT", 0, "dtype is 16, the last CUtensorMapDataType is 15; write 0 to 15");
    for (uint32_t dtype = 0; dtype <= 12; dtype++)
        accepted(WITH(tiled, c.dtype = dtype, c.box[0] = 16));
    broken(WITH(tiled, c.dtype = 13), "TMA-DT-CC", 0,
           "dtype is 16U4_ALIGN8B, which needs compute capability 10.0 and this is 9.0; carry the bits as UINT8");
    broken(WITH(tiled, c.dtype = 15), "TMA-DT-CC", 0,
           "dtype is 16U6_ALIGN16B, which needs compute capability 10.0 and this is 9.0; carry the bits as UINT8");
    broken(WITH(tiled, c.interleave = 3), "TMA-IL", 0,
           "interleave is 3, the last CUtensorMapInterleave is 2; write 0 (NONE), 1 (16B) or 2 (32B)");
    accepted(WITH(tiled, c.interleave = 2, c.swizzle = 1));
    broken(WITH(tiled, c.swizzle = 7), "TMA-SWZ", 0,
           "swizzle is 7, the last CUtensorMapSwizzle is 6; write 0 (NONE), 1 (32B), 2 (64B) or 3 (128B)");
    accepted(WITH(tiled, c.swizzle = 3));
    broken(WITH(tiled, c.swizzle = 4), "TMA-SWZ-CC", 0,
           "swizzle is 128B_ATOM_32B, which needs compute capability 10.0 and this is 9.0; write 128B");
    broken(WITH(tiled, c.swizzle = 6), "TMA-SWZ-CC", 0,
           "swizzle is 128B_ATOM_64B, which needs compute capability 10.0 and this is 9.0; write 128B");
    broken(WITH(tiled, c.l2 = 4), "TMA-L2", 0,
           "l2 is 4, the last CUtensorMapL2promotion is 3; write 0 (NONE), 1 (64B), 2 (128B) or 3 (256B)");
    accepted(WITH(tiled, c.l2 = 3));
    broken(WITH(tiled, c.oob = 2), "TMA-OOB", 0,
           "oob is 2, the last CUtensorMapFloatOOBfill is 1; write 0 (zeros) or 1 (NaN)");
    accepted(WITH(tiled, c.oob = 1));
    broken(WITH(tiled, c.oob = 1, c.dtype = 0), "TMA-OOB-NAN", 0,
           "oob is NaN fill and dtype UINT8 is no floating-point type; write 0 (zeros)");
    broken(WITH(wide, c.mode = 2), "TMA-MODE", 0,
           "mode is 2, the last CUtensorMapIm2ColWideMode is 1; write 0 (W) or 1 (W128)");
    accepted(WITH(wide, c.mode = 1));
    broken(WITH(tiled, c.interleave = 1, c.rank = 2), "TMA-RANK-IL", 0,
           "interleave is 1 and rank is below 3; write interleave 0 (NONE), or rank 3 or more");
    accepted(WITH(tiled, c.interleave = 1, c.rank = 3));
}

static void test_address_dims_strides(void **state)
{
    (void)state;
    call_t c;
    accepted(WITH(tiled, c.addr += 16));
    broken(WITH(tiled, c.addr += 8), "TMA-ADDR16", 0,
           "addr is 0x7f0000000008, no multiple of 16 bytes; move the tensor's start, to 0x7f0000000000 for example");
    broken(WITH(tiled, c.addr += 16, c.interleave = 2), "TMA-ADDR32-IL", 0,
           "addr is 0x7f0000000010, no multiple of 32 bytes as interleave 32B needs; move the tensor's start, to "
           "0x7f0000000000 for example");
    accepted(WITH(tiled, c.addr += 32, c.interleave = 2));
    accepted(WITH(tiled, c.addr += 16, c.interleave = 1));
    accepted(WITH(tiled, c.addr = (UINT64_C(1) << 57) - 16));
    broken(
        WITH(tiled, c.addr = UINT64_C(1) << 57), "TMA-ADDR57", 0,
        "addr is 0x200000000000000, at or past 2^57, so no device address; pass the pointer that the allocator gave");

    broken(WITH(tiled, c.dim[1] = 0), "TMA-DIM", 1,
           "dim[1] is 0: no map describes an empty tensor, a dimension has 1 to 4294967296 (2^32); leave the call "
           "and the kernel out, or write 1");
    accepted(WITH(tiled, c.dim[1] = 1));
    accepted(WITH(tiled, c.dim[2] = UINT64_C(1) << 32));
    broken(WITH(tiled, c.dim[2] = (UINT64_C(1) << 32) + 1), "TMA-DIM", 2,
           "dim[2] is 4294967297 elements, a dimension has 1 to 4294967296 (2^32); write 4294967296");
    accepted(WITH(tiled, c.rank = 2, c.dim[2] = 0)); // past the rank nothing is read

    accepted(WITH(tiled, c.stride[0] = 0));
    accepted(WITH(tiled, c.stride[0] = 528));
    broken(WITH(tiled, c.stride[0] = 520), "TMA-STR16", 0,
           "stride[0] is 520 bytes, no multiple of 16; pad the rows to a stride of 528");
    broken(WITH(tiled, c.stride[1] = 65552, c.interleave = 2), "TMA-STR32-IL", 1,
           "stride[1] is 65552 bytes, no multiple of 32 as interleave 32B needs; pad the rows to a stride of 65568");
    accepted(WITH(tiled, c.stride[1] = 65552, c.interleave = 1));
    accepted(WITH(tiled, c.stride[1] = (UINT64_C(1) << 40) - 16));
    broken(WITH(tiled, c.stride[1] = UINT64_C(1) << 40), "TMA-STRMAX", 1,
           "stride[1] is 1099511627776 bytes, a stride is below 1099511627776 (2^40); write 1099511627744 or less");

    broken(WITH(tiled, c.estride[2] = 0), "TMA-ES", 2,
           "estride[2] is 0 elements, an element stride is 1 to 8; write 1");
    broken(WITH(tiled, c.estride[0] = 9), "TMA-ES", 0,
           "estride[0] is 9 elements, an element stride is 1 to 8; write 8");
    accepted(WITH(tiled, c.estride[0] = 8, c.estride[2] = 8));
}

static void test_tiled_box(void **state)
{
    (void)state;
    call_t c;
    broken(WITH(tiled, c.box[2] = 0), "TMA-BOX", 2,
           "box[2] is 0 elements, a box has 1 to 256 in each dimension; write 1 and load the rest with more boxes");
    accepted(WITH(tiled, c.box[1] = 256));
    broken(WITH(tiled, c.box[1] = 257), "TMA-BOX", 1,
           "box[1] is 257 elements, a box has 1 to 256 in each dimension; write 256 and load the rest with more boxes");
    accepted(WITH(tiled, c.dim[1] = 4, c.box[1] = 16)); // a box may be larger than the tensor
    broken(WITH(tiled, c.box[0] = 20), "TMA-INNER16", 0,
           "box[0] is 20 elements of BFLOAT16, 40 bytes, no multiple of 16; write 24");
    broken(WITH(tiled, c.box[0] = 20, c.interleave = 1), "TMA-INNER16", 0,
           "box[0] is 20 elements of BFLOAT16, 40 bytes, no multiple of 16; write 24");
    accepted(WITH(tiled, c.box[0] = 24));
    accepted(WITH(tiled, c.box[0] = 32, c.swizzle = 2));
    broken(
        WITH(tiled, c.box[0] = 40, c.swizzle = 2), "TMA-SPAN", 0,
        "box[0] is 40 elements of BFLOAT16, 80 bytes, wider than the 64-byte span of swizzle 64B; write 32, or a wider "
        "swizzle");
    broken(
        WITH(tiled, c.box[0] = 24, c.swizzle = 1), "TMA-SPAN", 0,
        "box[0] is 24 elements of BFLOAT16, 48 bytes, wider than the 32-byte span of swizzle 32B; write 16, or a wider "
        "swizzle");
    accepted(WITH(tiled, c.box[0] = 64, c.swizzle = 3));
    broken(WITH(tiled, c.box[0] = 72, c.swizzle = 3), "TMA-SPAN", 0,
           "box[0] is 72 elements of BFLOAT16, 144 bytes, wider than the 128-byte span of swizzle 128B; write 64, or a "
           "wider swizzle");
    accepted(WITH(tiled, c.box[0] = 40, c.swizzle = 2, c.interleave = 1)); // no span where the tensor is interleaved
    // 228 KiB: 57 x 256 x 16 bytes
    accepted(WITH(tiled, c.box[0] = 8, c.box[1] = 256, c.box[2] = 57));
    broken(WITH(tiled, c.box[0] = 8, c.box[1] = 256, c.box[2] = 58), "TMA-SMEM", 1,
           "box[1] is 256 elements, which makes the box 237568 bytes of shared memory, more than 233472; write 251");
    // Element strides divide, rounding down: one row of two here, none at all there.
    accepted(WITH(tiled, c.box[0] = 8, c.box[1] = 256, c.box[2] = 115, c.estride[2] = 2));
    broken(WITH(tiled, c.box[0] = 8, c.box[1] = 256, c.box[2] = 116, c.estride[2] = 2), "TMA-SMEM", 1,
           "box[1] is 256 elements, which makes the box 237568 bytes of shared memory, more than 233472; write 251");
    accepted(WITH(tiled, c.box[0] = 64, c.box[1] = 256, c.box[2] = 7, c.estride[2] = 8));
}

static void test_im2col_box(void **state)
{
    (void)state;
    call_t c;
    broken(WITH(im2col, c.channels = 0), "TMA-CH", 0,
           "channels is 0, a pixel has 1 to 256; write 1 and load the rest with more columns");
    accepted(WITH(im2col, c.channels = 256));
    broken(WITH(wide, c.channels = 257), "TMA-CH", 0,
           "channels is 257, a pixel has 1 to 256; write 256 and load the rest with more columns");
    broken(WITH(im2col, c.channels = 12), "TMA-INNER16", 0,
           "channels is 12 elements of FLOAT16, 24 bytes, no multiple of 16; write 16");
    accepted(WITH(im2col, c.channels = 64, c.swizzle = 3));
    broken(
        WITH(wide, c.channels = 72), "TMA-SPAN", 0,
        "channels is 72 elements of FLOAT16, 144 bytes, wider than the 128-byte span of swizzle 128B; write 64, or a "
        "wider swizzle");
    broken(WITH(im2col, c.pixels = 0), "TMA-PX", 0, "pixels is 0, a column has 1 to 1024; write 1");
    accepted(WITH(im2col, c.pixels = 1024));
    broken(WITH(wide, c.pixels = 1025, c.mode = 1), "TMA-PX", 0, "pixels is 1025, a column has 1 to 1024; write 1024");
    accepted(WITH(im2col, c.channels = 256, c.pixels = 456)); // 228 KiB
    broken(WITH(im2col, c.channels = 256, c.pixels = 457), "TMA-SMEM", 0,
           "pixels is 457, which makes the column 233984 bytes of shared memory, more than 233472; write 456");

    static const int limit[6] = {0, 0, 0, 32768, 128, 16};
    for (uint32_t rank = 3; rank <= 5; rank++) {
        call_t base =
            WITH(im2col, c.rank = rank, c.dim[1] = c.dim[2] = c.dim[3] = 1 << 20, c.dim[4] = c.estride[4] = 1);
        char text[TW_TENSORMAP_MESSAGE];
        for (int wider = 0; wider <= 1; wider++) {
            base.func = wider ? TW_TENSORMAP_IM2COL_WIDE : TW_TENSORMAP_IM2COL;
            c = base;
            accepted((c.lower[0] = -limit[rank], c.upper[0] = limit[rank] - 1, c));
            snprintf(text, sizeof text, "lower[0] is %d, a corner of this rank is at least -%d and below %d; write %d",
                     -limit[rank] - 1, limit[rank], limit[rank], -limit[rank]);
            broken((c.lower[0] = -limit[rank] - 1, c), "TMA-CORNER", 0, text);
            c.lower[0] = 0;
            snprintf(text, sizeof text, "upper[0] is %d, a corner of this rank is at least -%d and below %d; write %d",
                     limit[rank], limit[rank], limit[rank], limit[rank] - 1);
            broken((c.upper[0] = limit[rank], c), "TMA-CORNER", 0, text);
        }
    }

    // W is 20 pixels, H is 30: the box must keep one.
    accepted(WITH(im2col, c.lower[0] = 0, c.upper[0] = -19));
    broken(
        WITH(im2col, c.lower[0] = 0, c.upper[0] = -20), "TMA-AREA", 0,
        "upper[0] is -20, which leaves a bounding box dim + upper - lower = 0 pixels wide in that dimension, not 1 or "
        "more; write -19 or more");
    broken(
        WITH(im2col, c.lower[1] = 1, c.upper[1] = -30), "TMA-AREA", 1,
        "upper[1] is -30, which leaves a bounding box dim + upper - lower = -1 pixels wide in that dimension, not 1 or "
        "more; write -28 or more");
    accepted(WITH(wide, c.lower[0] = 0, c.upper[0] = -19, c.lower[1] = 100)); // the wide box has no corner in H
    // An interleaved tensor is held against dim[k]: 64 channels, then W.
    accepted(WITH(im2col, c.interleave = 1, c.lower[0] = 0, c.upper[0] = -20, c.lower[1] = 0, c.upper[1] = -19));
    broken(
        WITH(im2col, c.interleave = 1, c.lower[1] = 0, c.upper[1] = -20), "TMA-AREA", 1,
        "upper[1] is -20, which leaves a bounding box dim + upper - lower = 0 pixels wide in that dimension, not 1 or "
        "more; write -19 or more");
    warned(
        WITH(im2col, c.interleave = 1, c.lower[0] = 0, c.upper[0] = -20), 90, "TMA-AREA", 0,
        "upper[0] is -20, which leaves a bounding box dim + upper - lower = 0 pixels wide in that dimension, not 1 or "
        "more; write a larger upper corner");
    // Where dim + upper reaches 2^31, the driver sees a negative number.
    accepted(WITH(im2col, c.dim[1] = UINT64_C(1) << 31));
    broken(WITH(im2col, c.dim[1] = (UINT64_C(1) << 31) + 5, c.upper[0] = -3), "TMA-AREA", 1,
           "dim[1] is 2147483653 pixels, and dim + upper in that dimension is past 2147483647 (2^31 - 1), which the "
           "driver takes for a negative number, and finds no bounding box; write 2147483650 or less");
    broken(WITH(im2col, c.dim[1] = INT32_MAX, c.upper[0] = 2), "TMA-AREA", 0,
           "upper[0] is 2, and dim + upper in that dimension is past 2147483647 (2^31 - 1), which the driver takes for "
           "a negative number, and finds no bounding box; write 0 or less");
    broken(WITH(wide, c.dim[2] = UINT64_C(3952631812)), "TMA-AREA", 2,
           "dim[2] is 3952631812 pixels, and dim + upper in that dimension is past 2147483647 (2^31 - 1), which the "
           "driver takes for a negative number, and finds no bounding box; write 2147483647 or less");
    accepted(WITH(im2col, c.dim[3] = UINT64_C(1) << 32)); // the outermost has no corner
}

// What the driver takes and the documentation forbids, and what newer machines add.
static void test_warnings_and_cc(void **state)
{
    (void)state;
    call_t c;
    struct tw_tensormap_verdict v;
    uint64_t map[16];
    warned(WITH(tiled, c.interleave = 2), 90, "TMA-IL32-SWZ", 0,
           "swizzle is NONE with interleave 32B, which is documented with swizzle 32B alone; write 32B");
    c = WITH(tiled, c.interleave = 2, c.swizzle = 1);
    assert_int_equal(tw_tensormap_check(&c, 90, &v), TW_OK);
    assert_int_equal(v.count, 0);
    warned(wide(), 90, "TMA-WIDE-CC", 0,
           "im2col_wide is documented for compute capability 10.0 or higher, this is 9.0; write im2col");
    c = wide();
    assert_int_equal(tw_tensormap_check(&c, 100, &v), TW_OK);
    assert_int_equal(v.count, 0);
    warned(WITH(wide, c.interleave = 1), 100, "TMA-WIDE-IL", 0,
           "interleave is 1, which im2col_wide loads do not support; write 0 (NONE)");
    warned(WITH(wide, c.swizzle = 0), 90, "TMA-WIDE-SWZ", 0,
           "swizzle is NONE, im2col_wide is documented with 64B, 128B and 128B_ATOM_32B; write 128B");
    broken_cc(WITH(wide, c.swizzle = 1, c.channels = 16), 100, "TMA-WIDE-SWZ", 0,
              "swizzle is 32B, im2col_wide is documented with 64B, 128B and 128B_ATOM_32B; write 128B", 0);
    warned(WITH(tiled, c.box[0] = 8, c.box[1] = 256, c.box[2] = 57), 90, "TMA-SMEM-BLOCK", 1,
           "box[1] is 256 elements, which makes the box larger than the 232448 bytes of shared memory that a block can "
           "have; write a smaller box");
    warned(WITH(im2col, c.channels = 256, c.pixels = 455), 90, "TMA-SMEM-BLOCK", 0,
           "pixels is 455, which makes the column larger than the 232448 bytes of shared memory that a block can have; "
           "write fewer");
    c = WITH(im2col, c.channels = 256, c.pixels = 454);
    assert_int_equal(tw_tensormap_check(&c, 90, &v), TW_OK);
    assert_int_equal(v.count, 0);

    accepted_cc(WITH(tiled, c.swizzle = 4), 100);
    assert_int_equal(tw_tensormap_encode(&c, 100, map), TW_ERROR_UNSUPPORTED);
    warned(c, 120, "TMA-SWZ-CC", 0,
           "swizzle is 128B_ATOM_32B, which tensor loads do not support on compute capability 12.0; write 128B");
    accepted_cc(WITH(tiled, c.dtype = 13), 100);
    assert_int_equal(tw_tensormap_encode(&c, 100, map), TW_ERROR_UNSUPPORTED);
    warned(
        c, 121, "TMA-DT-CC", 0,
        "dtype is 16U4_ALIGN8B, which tensor loads do not support on compute capability 12.1; carry the bits as UINT8");
    broken_cc(WITH(tiled, c.dtype = 13, c.dim[0] = 255), 100, "TMA-DIM-PK", 0,
              "dim[0] is 255 elements, no multiple of 2 as dtype 16U4_ALIGN8B needs; pad it to 256", 0);
    accepted_cc(WITH(tiled, c.dtype = 14, c.box[0] = 128), 100);
    broken_cc(WITH(tiled, c.dtype = 14), 100, "TMA-BOX-PK", 0,
              "box[0] is 64 elements, dtype 16U4_ALIGN16B has boxes of 128; write 128", 0);
    broken_cc(WITH(im2col, c.dtype = 14, c.dim[0] = 128), 100, "TMA-BOX-PK", 0,
              "channels is 32, dtype 16U4_ALIGN16B has 128 to a pixel; write 128", 0);
    broken_cc(WITH(tiled, c.dtype = 15, c.box[0] = 128, c.dim[0] = 192), 100, "TMA-DIM-PK", 0,
              "dim[0] is 192 elements, no multiple of 128 as dtype 16U6_ALIGN16B needs; pad it to 256", 0);
    broken_cc(
        WITH(tiled, c.dtype = 15, c.box[0] = 128, c.addr += 16), 100, "TMA-ADDR32-PK", 0,
        "addr is 0x7f0000000010, no multiple of 32 bytes as dtype 16U6_ALIGN16B needs; move the tensor's start, to "
        "0x7f0000000000 for example",
        0);
    broken_cc(WITH(tiled, c.dtype = 15, c.box[0] = 128, c.stride[0] = 528), 100, "TMA-STR32-PK", 0,
              "stride[0] is 528 bytes, no multiple of 32 as dtype 16U6_ALIGN16B needs; pad the rows to a stride of 544",
              0);
    broken_cc(WITH(tiled, c.dtype = 15, c.box[0] = 128, c.interleave = 1), 100, "TMA-U6-IL", 0,
              "interleave is 1 and dtype is 16U6_ALIGN16B, which has none; write 0 (NONE)", 0);
    broken_cc(WITH(tiled, c.dtype = 15, c.box[0] = 128, c.swizzle = 2), 100, "TMA-U6-SWZ", 0,
              "swizzle is 64B, dtype 16U6_ALIGN16B takes NONE, 128B, 128B_ATOM_32B and 128B_ATOM_64B; write 128B", 0);
    broken_cc(WITH(tiled, c.dtype = 14, c.box[0] = 128, c.swizzle = 6), 100, "TMA-U4A16-SWZ", 0,
              "swizzle is 128B_ATOM_64B, dtype 16U4_ALIGN16B takes NONE, 128B and 128B_ATOM_32B; write 128B", 0);

    // All faults at once.
    c = WITH(tiled, c.addr += 1, c.stride[0] = 8, c.stride[1] = 9, c.box[1] = 300, c.l2 = 9, c.oob = 7);
    assert_int_equal(tw_tensormap_check(&c, 90, &v), TW_ERROR_INVALID);
    assert_true(find(&v, "TMA-ADDR16", 0) && find(&v, "TMA-STR16", 0) && find(&v, "TMA-STR16", 1));
    assert_true(find(&v, "TMA-BOX", 1) && find(&v, "TMA-L2", 0) && find(&v, "TMA-OOB", 0));
    assert_int_equal(v.refused, 6);
}

// Bits [low, low + width) hold `value`, and nothing but them differs from the map of `base`.
static void bits(call_t base, call_t changed, unsigned low, unsigned width, uint64_t value)
{
    uint64_t a[16], b[16];
    assert_int_equal(tw_tensormap_encode(&base, 90, a), TW_OK);
    assert_int_equal(tw_tensormap_encode(&changed, 90, b), TW_OK);
    for (unsigned bit = 0; bit < 1024; bit++) {
        unsigned was = a[bit / 64] >> bit % 64 & 1, is = b[bit / 64] >> bit % 64 & 1;
        if (bit >= low && bit < low + width)
            assert_int_equal(is, value >> (bit - low) & 1);
        else if (bit < 512 || bit >= 640) // the driver's reckoning, words 8 and 9, is tested by itself
            assert_int_equal(is, was);
    }
}

static void test_layout(void **state)
{
    (void)state;
    call_t c;
    static const unsigned hardware[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};
    call_t base = WITH(tiled, c.rank = 5, c.stride[2] = c.stride[3] = 1 << 20, c.dim[3] = c.dim[4] = 2,
                       c.box[3] = c.box[4] = c.estride[3] = c.estride[4] = 1, c.box[0] = 16, c.box[1] = 8);
    for (unsigned bit = 4; bit < 57; bit++)
        bits(base, (c = base, c.addr = UINT64_C(1) << bit, c), 0, 64, UINT64_C(1) << bit);
    for (uint32_t dtype = 0; dtype <= 12; dtype++) {
        c = base;
        c.dtype = dtype;
        call_t same = c;
        same.dtype = dtype >= 11 ? 7 : dtype;
        bits(same, c, 71, 10, hardware[dtype] | (dtype >= 11 ? 1u << 9 : 0));
    }
    for (uint32_t v = 0; v < 4; v++) {
        if (v < 3)
            bits(base, (c = base, c.interleave = v, c), 75, 2, v);
        bits(base, (c = base, c.swizzle = v, c.interleave = 1, c), 75, 4, v << 2 | 1);
        bits(base, (c = base, c.l2 = v, c), 81, 2, v);
    }
    bits(base, (c = base, c.oob = 1, c), 79, 1, 1);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned bit = 4; bit < 40; bit++) {
            uint64_t stride = UINT64_C(1) << bit;
            call_t low = (c = base, c.stride[i] = 0, c);
            bits(low, (c = base, c.stride[i] = stride, c), bit < 36 ? 96 + 32 * i : 224 + 4 * i, bit < 36 ? 32 : 4,
                 bit < 36 ? stride >> 4 : stride >> 36);
        }
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned bit = 0; bit < 32; bit++)
            bits(base, (c = base, c.dim[i] = (UINT64_C(1) << bit) + 1, c), 256 + 32 * i, 32, UINT64_C(1) << bit);
        for (uint32_t v = 1; v <= 8; v++)
            bits(base, (c = base, c.estride[i] = v, c), 416 + 3 * i, 3, v - 1);
        for (uint32_t v = 1; v <= 256; v++)
            if (i > 0 || v % 8 == 0)
                bits(base, (c = base, c.box[i] = v, c), 440 + 8 * i, 8, v - 1);
    }
    for (uint32_t rank = 1; rank <= 5; rank++) {
        uint64_t map[16];
        c = base;
        c.rank = rank;
        assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
        assert_int_equal(map[1] >> 4 & 7, rank - 1);
    }
}

static void test_layout_im2col(void **state)
{
    (void)state;
    call_t c;
    static const unsigned width[] = {0, 0, 0, 16, 8, 5};
    uint64_t map[16], same[16];
    for (uint32_t rank = 3; rank <= 5; rank++) {
        unsigned w = width[rank];
        call_t base = WITH(im2col, c.rank = rank, c.estride[4] = 1);
        base.dim[1] = base.dim[2] = base.dim[3] = base.dim[4] = 1 << 20;
        memset(base.lower, 0, sizeof base.lower);
        memset(base.upper, 0, sizeof base.upper);
        for (unsigned i = 0; i + 2 < rank; i++)
            for (int v = -(1 << (w - 1)); v < 1 << (w - 1); v += w == 16 ? 255 : 1) {
                bits(base, (c = base, c.lower[i] = v, c), 448 + w * i, w, (uint64_t)v);
                bits(base, (c = base, c.upper[i] = v, c), 464 + w * i, w, (uint64_t)v);
            }
        for (uint32_t v = 1; v <= 1024; v++)
            bits(base, (c = base, c.pixels = v, c), 480, 10, v - 1);
        for (uint32_t v = 8; v <= 256; v += 8)
            bits(base, (c = base, c.channels = v, c), 440, 8, v - 1);
        // The wide map is the im2col map with no corners in H and D, whatever its mode.
        base.lower[0] = -3;
        base.upper[0] = 2;
        assert_int_equal(tw_tensormap_encode(&base, 90, map), TW_OK);
        assert_int_equal(map[1] & 1, 1);
        c = base;
        c.func = TW_TENSORMAP_IM2COL_WIDE;
        c.lower[1] = c.upper[1] = 99;
        for (c.mode = 0; c.mode < 2; c.mode++) {
            assert_int_equal(tw_tensormap_encode(&c, 90, same), TW_OK);
            assert_memory_equal(map, same, sizeof map);
        }
    }
}

static void test_layout_reckoning(void **state)
{
    (void)state;
    call_t c;
    uint64_t map[16];
    static const unsigned align[] = {16, 256, 512, 1024};
    for (uint32_t swizzle = 0; swizzle < 4; swizzle++) {
        c = WITH(tiled, c.swizzle = swizzle, c.box[0] = 16, c.box[1] = 15, c.estride[1] = 2);
        assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
        assert_true(map[8] == 16 * 7 * 2 * 2 && map[9] == align[swizzle]);
        assert_true((map[10] | map[11] | map[12] | map[13] | map[14] | map[15]) == 0);
    }
    c = im2col();
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_true(map[8] == 32 * 64 * 2 && map[9] == 16);
}

static void test_replace_address(void **state)
{
    (void)state;
    call_t c = tiled();
    uint64_t map[16], want[16];
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    c.addr = (UINT64_C(1) << 57) - 16;
    assert_int_equal(tw_tensormap_encode(&c, 90, want), TW_OK);
    assert_int_equal(tw_tensormap_replace_address(map, c.addr), TW_OK);
    assert_memory_equal(map, want, sizeof map);
    assert_int_equal(tw_tensormap_replace_address(map, 8), TW_ERROR_INVALID);
    assert_int_equal(tw_tensormap_replace_address(map, UINT64_C(1) << 57), TW_ERROR_INVALID);
    assert_memory_equal(map, want, sizeof map);
    c = WITH(tiled, c.interleave = 2, c.swizzle = 1);
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_int_equal(tw_tensormap_replace_address(map, 16), TW_ERROR_INVALID);
    assert_int_equal(tw_tensormap_replace_address(map, 32), TW_OK);
    c = WITH(tiled, c.interleave = 1);
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_int_equal(tw_tensormap_replace_address(map, 16), TW_OK);
}

// Field by field: the struct has padding.
static int same(const call_t *a, const call_t *b)
{
    return a->func == b->func && a->dtype == b->dtype && a->rank == b->rank && a->addr == b->addr &&
           memcmp(a->dim, b->dim, sizeof a->dim) == 0 && memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           memcmp(a->box, b->box, sizeof a->box) == 0 && memcmp(a->lower, b->lower, sizeof a->lower) == 0 &&
           memcmp(a->upper, b->upper, sizeof a->upper) == 0 && a->mode == b->mode && a->channels == b->channels &&
           a->pixels == b->pixels && memcmp(a->estride, b->estride, sizeof a->estride) == 0 &&
           a->interleave == b->interleave && a->swizzle == b->swizzle && a->l2 == b->l2 && a->oob == b->oob;
}

static void test_decode(void **state)
{
    (void)state;
    call_t c = tiled(), back;
    uint64_t map[16];
    struct tw_tensormap_extra extra;
    char text[64];
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_int_equal(tw_tensormap_decode(map, &back, &extra), TW_OK);
    assert_true(same(&back, &c));
    assert_true(extra.smem_bytes == 64 * 16 * 2 * 2 && extra.smem_align == 16);
    map[1] ^= UINT64_C(1) << 21; // bit 85, as drivers set on Blackwell
    map[15] = 1;
    assert_int_equal(tw_tensormap_decode(map, &back, &extra), TW_ERROR_INVALID);
    assert_true(same(&back, &c));
    assert_true(extra.unknown[1] == UINT64_C(1) << 21 && extra.unknown[15] == 1 && extra.unknown[0] == 0);
    assert_int_equal(tw_tensormap_decode(map, &back, NULL), TW_ERROR_INVALID);

    char words[256];
    assert_string_equal(tw_tensormap_format(&c, words, sizeof words),
                        "f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128,64 stride=512,65536 box=64,16,2");
    assert_string_equal(tw_tensormap_format(&c, text, 8), "f=tiled");
    c = im2col();
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_int_equal(tw_tensormap_decode(map, &back, NULL), TW_OK);
    assert_true(same(&back, &c));
    assert_string_equal(tw_tensormap_format(&c, words, sizeof words),
                        "f=im2col dtype=FLOAT16 addr=0x7f0000000000 dim=64,20,30,8 stride=128,2560,76800 lower=-1,-2 "
                        "upper=-1,2 channels=32 pixels=64");
}

static uint64_t seed = 20;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint32_t among(const uint32_t *values, size_t count)
{
    return values[draw() % count];
}

static call_t mended(call_t c, int cc)
{
    call_t nearest;
    assert_int_equal(tw_tensormap_nearest(&c, cc, &nearest), TW_OK);
    accepted_cc(nearest, cc);
    return nearest;
}

// The nearest call is one that somebody would write: whole rows, planes that hold them, as many bytes as before.
static void test_nearest(void **state)
{
    (void)state;
    call_t c, n;
    struct tw_tensormap_verdict v;
    n = mended(WITH(tiled, c.dim[0] = 100, c.stride[0] = 200, c.stride[1] = 200 * 128), 90);
    assert_true(n.stride[0] == 208 && n.stride[1] == 208 * 128);
    n = mended(WITH(tiled, c.stride[0] = 256 + 1, c.stride[1] = 32768), 90); // elements in the place of bytes
    assert_true(n.stride[0] == 512 && n.stride[1] == 32768);
    tw_tensormap_check(&n, 90, &v);
    assert_true(v.warned == 1 && strcmp(tw_tensormap_rule_name(v.finding[0].rule), "TMA-STR-OVERLAP") == 0);
    assert_true(v.finding[0].entry == 1 && v.finding[0].nearest == 65536);
    n = mended(WITH(tiled, c.stride[1] = UINT64_MAX), 90);
    assert_true(n.stride[1] == (UINT64_C(1) << 40) - 32);
    n = mended(WITH(tiled, c.dtype = 13, c.box[0] = 128, c.stride[0] = 128, c.stride[1] = 16384), 90);
    assert_true(n.dtype == 0 && n.dim[0] == 128 && n.box[0] == 64); // 256 elements of 4 bits
    assert_true(mended(WITH(tiled, c.swizzle = 32, c.box[0] = 16), 90).swizzle == 1);
    assert_true(mended(WITH(tiled, c.swizzle = 64, c.box[0] = 16), 90).swizzle == 2);
    assert_true(mended(WITH(tiled, c.swizzle = 128), 90).swizzle == 3);
    assert_true(mended(WITH(tiled, c.l2 = 64), 90).l2 == 1 && mended(WITH(tiled, c.l2 = 128), 90).l2 == 2);
    assert_true(mended(WITH(tiled, c.swizzle = 9, c.interleave = 2, c.box[0] = 16), 90).swizzle == 1);
}

// im2col_wide past Hopper: what the documentation says, and no bytes, which nobody here has seen.
static void test_wide(void **state)
{
    (void)state;
    call_t c;
    uint64_t map[16];
    accepted_cc(WITH(wide, c.dim[1] = 4000, c.lower[0] = -2000), 100);
    broken(WITH(wide, c.dim[1] = 4000, c.lower[0] = -2000), "TMA-CORNER", 0,
           "lower[0] is -2000, a corner of this rank is at least -128 and below 128; write -128");
    accepted_cc(WITH(wide, c.mode = 1, c.pixels = 0), 100);
    accepted_cc(WITH(wide, c.mode = 1, c.pixels = 5000), 100);
    broken_cc(WITH(wide, c.pixels = 0), 100, "TMA-PX", 0, "pixels is 0, a column has 1 to 1024; write 1", 0);
    c = wide();
    assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
    assert_int_equal(tw_tensormap_encode(&c, 100, map), TW_ERROR_UNSUPPORTED);
}

// Random calls around the edges: nothing crashes, the quick check agrees with the full one, the nearest call is
// accepted, and what is encoded comes back.
static void test_random_calls(void **state)
{
    (void)state;
    static const uint32_t edge[] = {0,  1,  2,   3,   7,   8,    9,    15,         16,
                                    17, 64, 255, 256, 257, 1024, 1025, 0x7fffffff, 0xffffffff};
    size_t encoded = 0;
    const int count = rounds(100000);
    for (int n = 0; n < count; n++) {
        call_t c, back, nearest;
        struct tw_tensormap_verdict v;
        uint64_t map[16];
        char text[TW_TENSORMAP_MESSAGE];
        int wild = n % 4 == 0; // three in four are near an accepted call
        c = n % 3 == 0 ? tiled() : n % 3 == 1 ? im2col() : wide();
        uint64_t raw[sizeof c / 8];
        memcpy(raw, &c, sizeof raw);
        for (int times = (int)(draw() % (wild ? 40 : 4)); times; times--) {
            size_t word = 1 + draw() % (sizeof raw / 4 - 1);
            uint32_t value = draw() % 2 ? among(edge, sizeof edge / sizeof *edge) : (uint32_t)(draw() >> draw() % 33);
            memcpy((char *)raw + 4 * word, &value, 4);
        }
        memcpy(&c, raw, sizeof raw);
        int cc = draw() % 2 ? 90 : (int)(draw() % 130);
        int status = tw_tensormap_check(&c, cc, &v);
        assert_int_equal(status, tw_tensormap_check(&c, cc, NULL));
        assert_true(v.count == v.refused + v.warned && v.count < TW_TENSORMAP_FINDINGS);
        for (int i = 0; i < v.count; i++) {
            size_t length = strlen(tw_tensormap_message(&c, cc, &v.finding[i], text, sizeof text));
            assert_true(length > 20 && length < sizeof text - 1 && !strchr(text, '%') && !strchr(text, '?'));
        }
        if (cc >= 90) {
            assert_int_equal(tw_tensormap_nearest(&c, cc, &nearest), TW_OK);
            assert_int_equal(tw_tensormap_check(&nearest, cc, NULL), TW_OK);
        }
        tw_tensormap_format(&c, text, 1 + draw() % sizeof text);
        int coded = tw_tensormap_encode(&c, cc, map);
        assert_int_equal(coded == TW_ERROR_INVALID, status == TW_ERROR_INVALID);
        if (coded != TW_OK)
            continue;
        encoded++;
        uint64_t again[16];
        assert_int_equal(tw_tensormap_decode(map, &back, NULL), TW_OK);
        assert_int_equal(tw_tensormap_encode(&back, cc, again), TW_OK);
        assert_memory_equal(map, again, sizeof map);
        assert_true(back.addr == c.addr && back.dtype == c.dtype && back.rank == c.rank && back.oob == c.oob);
        for (unsigned i = 0; i < c.rank; i++)
            assert_true(back.dim[i] == c.dim[i] && (i + 1 == c.rank || back.stride[i] == c.stride[i]));
    }
    assert_true(20 * encoded > (size_t)count);
}

static void test_random_maps(void **state)
{
    (void)state;
    const int count = rounds(100000);
    for (int n = 0; n < count; n++) {
        uint64_t map[16];
        call_t c = n % 2 ? tiled() : im2col(), back;
        struct tw_tensormap_extra extra;
        char text[256];
        assert_int_equal(tw_tensormap_encode(&c, 90, map), TW_OK);
        for (int times = (int)(draw() % 40); times; times--)
            map[draw() % 16] = draw() % 2 ? draw() : 0;
        int status = tw_tensormap_decode(map, &back, &extra);
        tw_tensormap_format(&back, text, sizeof text);
        if (status == TW_OK) {
            uint64_t again[16];
            assert_int_equal(tw_tensormap_encode(&back, 90, again), TW_OK);
            assert_memory_equal(map, again, sizeof map);
        }
        tw_tensormap_replace_address(map, draw());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enums),           cmocka_unit_test(test_address_dims_strides),
        cmocka_unit_test(test_tiled_box),       cmocka_unit_test(test_im2col_box),
        cmocka_unit_test(test_warnings_and_cc), cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_im2col),   cmocka_unit_test(test_layout_reckoning),
        cmocka_unit_test(test_replace_address), cmocka_unit_test(test_decode),
        cmocka_unit_test(test_random_calls),    cmocka_unit_test(test_random_maps),
        cmocka_unit_test(test_nearest),         cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
