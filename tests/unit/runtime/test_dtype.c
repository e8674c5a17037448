// Element types: the table, and every conversion against the definition of its format.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dtype.h"
#include "swizzle.h"

static uint32_t store32(enum tw_dtype dtype, double value)
{
    unsigned char bytes[8] = {0};
    uint32_t word;
    tw_dtype_store(dtype, bytes + 1, value); // at an odd address
    memcpy(&word, bytes + 1, 4);
    return word;
}

static double load32(enum tw_dtype dtype, uint32_t word)
{
    unsigned char bytes[8] = {0};
    memcpy(bytes + 1, &word, 4);
    return tw_dtype_load(dtype, bytes + 1);
}

static uint64_t store64(enum tw_dtype dtype, double value)
{
    uint64_t word = 0;
    tw_dtype_store(dtype, &word, value);
    return word;
}

static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < TW_DTYPE_COUNT; i++) {
        enum tw_dtype dtype = (enum tw_dtype)i;
        const struct tw_dtype_info *info = tw_dtype_info(dtype);
        assert_int_equal(tw_dtype_from_name(info->name), dtype);
        assert_string_equal(tw_dtype_name(dtype), info->name);
        assert_int_equal(tw_dtype_bytes(dtype) * 8, info->bits);
        // tf32 is fp32 in memory, so that is how it comes back.
        assert_int_equal(tw_dtype_from_dlpack(info->dlpack_code, (int)info->bits), dtype == TW_TF32 ? TW_FP32 : dtype);
    }
    assert_int_equal(tw_dtype_from_name("bf17"), TW_DTYPE_COUNT);
    assert_int_equal(tw_dtype_from_name(""), TW_DTYPE_COUNT);
    assert_int_equal(tw_dtype_from_name(NULL), TW_DTYPE_COUNT);
    assert_int_equal(tw_dtype_from_dlpack(5, 64), TW_DTYPE_COUNT);
    assert_string_equal(tw_dtype_name(TW_DTYPE_COUNT), "?");
    assert_int_equal(tw_dtype_info(TW_BF16)->tensormap, 9);
    assert_int_equal(tw_dtype_info(TW_FP8_E4M3)->tensormap, 0);
}

// A small format, from its definition alone.
struct format {
    enum tw_dtype dtype;
    int bits, mantissa, bias;
    uint32_t largest;  // finite magnitude
    uint32_t infinity; // 0: none
    uint32_t overflow; // what storing infinity gives
    uint32_t nan;      // what storing NaN gives
};

static const struct format formats[] = {
    {TW_BF16, 16, 7, 127, 0x7f7f, 0x7f80, 0x7f80, 0x7fff},
    {TW_FP16, 16, 10, 15, 0x7bff, 0x7c00, 0x7c00, 0x7fff},
    {TW_FP8_E4M3, 8, 3, 7, 0x7e, 0, 0x7e, 0x7f},
    {TW_FP8_E5M2, 8, 2, 15, 0x7b, 0x7c, 0x7b, 0x7f},
};

static double define(const struct format *f, uint32_t magnitude)
{
    int exponent = (int)(magnitude >> f->mantissa);
    double fraction = ldexp(magnitude & ((1u << f->mantissa) - 1), -f->mantissa);
    return exponent ? ldexp(1 + fraction, exponent - f->bias) : ldexp(fraction, 1 - f->bias);
}

// Every pattern, and around every midpoint of two neighbours.
static void test_small_floats(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const struct format *f = &formats[k];
        const uint32_t sign = 1u << (f->bits - 1), mask = sign | (sign - 1);
        for (uint32_t m = 0; m < sign; m++) {
            double value = load32(f->dtype, m), negative = load32(f->dtype, m | sign);
            if (m > f->largest) {
                assert_int_equal(isinf(value) != 0, f->infinity && m == f->infinity);
                assert_int_equal(isnan(value) != 0, !f->infinity || m != f->infinity);
                continue;
            }
            assert_true(value == define(f, m) && negative == -value && signbit(negative));
            assert_int_equal(store32(f->dtype, value) & mask, m);
            assert_int_equal(store32(f->dtype, negative) & mask, m | sign);
            // Past the largest value the next one would be, were there one, decides the rounding.
            double next = define(f, m + 1), middle = (value + next) / 2;
            uint32_t up = m == f->largest ? f->overflow : m + 1;
            assert_int_equal(store32(f->dtype, middle) & mask, m % 2 ? up : m);
            assert_int_equal(store32(f->dtype, nextafter(middle, 0)) & mask, m);
            assert_int_equal(store32(f->dtype, nextafter(middle, INFINITY)) & mask, up);
            assert_int_equal(store32(f->dtype, -nextafter(middle, INFINITY)) & mask, up | sign);
        }
        assert_int_equal(store32(f->dtype, INFINITY) & mask, f->overflow);
        assert_int_equal(store32(f->dtype, -1e300) & mask, f->overflow | sign);
        assert_int_equal(store32(f->dtype, NAN) & mask, f->nan);
        assert_int_equal(store32(f->dtype, 0x1p-1074) & mask, 0);
        assert_int_equal(store32(f->dtype, -0.0) & mask, sign);
    }
}

static void test_tf32(void **state)
{
    (void)state;
    for (uint64_t m = 0; m < 0x7f800000; m += 0x2000) {
        uint32_t code = (uint32_t)m;
        double value = load32(TW_FP32, code), next = code == 0x7f7fe000 ? 0x1p128 : load32(TW_FP32, code + 0x2000);
        double middle = (value + next) / 2;
        assert_int_equal(store32(TW_TF32, value), code);
        assert_int_equal(store32(TW_TF32, -value), code | 1u << 31);
        assert_int_equal(store32(TW_TF32, middle), code >> 13 & 1 ? code + 0x2000 : code);
        assert_int_equal(store32(TW_TF32, nextafter(middle, 0)), code);
        assert_int_equal(store32(TW_TF32, nextafter(middle, INFINITY)), code + 0x2000);
    }
    assert_int_equal(store32(TW_TF32, INFINITY), 0x7f800000);
    assert_int_equal(store32(TW_TF32, 1e300), 0x7f800000);
    assert_true(isnan(load32(TW_TF32, store32(TW_TF32, NAN))));
    assert_true(load32(TW_TF32, 0x3f800001) == 1 + 0x1p-23);
}

static void test_wide_types(void **state)
{
    (void)state;
    assert_int_equal(store32(TW_FP32, 1 + 0x1p-24), 0x3f800000);
    assert_int_equal(store32(TW_FP32, 1 + 0x1.8p-23), 0x3f800002);
    assert_int_equal(store32(TW_FP32, 1e300), 0x7f800000);
    assert_int_equal(store64(TW_FP64, 1.5), UINT64_C(0x3ff8000000000000));
    double value = -0.1;
    assert_true(tw_dtype_load(TW_FP64, &value) == value);
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        enum tw_dtype dtype;
        double low, high;
    } range[] = {
        {TW_INT8, -128, 127},
        {TW_UINT8, 0, 255},
        {TW_INT16, -32768, 32767},
        {TW_UINT16, 0, 65535},
        {TW_INT32, -0x1p31, 0x1p31 - 1},
        {TW_UINT32, 0, 0x1p32 - 1},
    };
    for (size_t k = 0; k < sizeof range / sizeof *range; k++) {
        enum tw_dtype dtype = range[k].dtype;
        assert_true(load32(dtype, store32(dtype, range[k].high)) == range[k].high);
        assert_true(load32(dtype, store32(dtype, range[k].high + 1)) == range[k].high);
        assert_true(load32(dtype, store32(dtype, INFINITY)) == range[k].high);
        assert_true(load32(dtype, store32(dtype, range[k].low)) == range[k].low);
        assert_true(load32(dtype, store32(dtype, range[k].low - 1)) == range[k].low);
        assert_true(load32(dtype, store32(dtype, -INFINITY)) == range[k].low);
        assert_true(load32(dtype, store32(dtype, 2.5)) == 2);
        assert_true(load32(dtype, store32(dtype, 3.5)) == 4);
        assert_true(load32(dtype, store32(dtype, NAN)) == 0);
    }
    for (uint32_t i = 0; i < 65536; i++) {
        double s = i < 32768 ? i : (double)i - 65536;
        assert_true(load32(TW_UINT16, i) == i && (store32(TW_UINT16, i) & 0xffff) == i);
        assert_true(load32(TW_INT16, i) == s && (store32(TW_INT16, s) & 0xffff) == i);
    }
    assert_true(store64(TW_INT64, 0x1p63) == INT64_MAX && store64(TW_INT64, -1e30) == UINT64_C(1) << 63);
    assert_true(store64(TW_INT64, -3) == 0 - UINT64_C(3) && store64(TW_INT64, NAN) == 0);
    assert_true(store64(TW_UINT64, 0x1p64) == UINT64_MAX && store64(TW_UINT64, -1) == 0);
    assert_true(store64(TW_UINT64, 0x1p63) == UINT64_C(1) << 63);
    uint64_t word = UINT64_MAX;
    assert_true(tw_dtype_load(TW_UINT64, &word) == 0x1p64 && tw_dtype_load(TW_INT64, &word) == -1);
    assert_int_equal(store32(TW_BOOL, -0.0), 0);
    assert_int_equal(store32(TW_BOOL, 0.25), 1);
    assert_int_equal(store32(TW_BOOL, NAN), 1);
    assert_true(load32(TW_BOOL, 7) == 1 && load32(TW_BOOL, 0) == 0);
}

// Rows of 128 bytes: the 16-byte chunk c of row r lies at chunk c ^ (r mod 8 spans, in units of 128 bytes).
static void test_swizzles(void **state)
{
    (void)state;
    static const uint32_t shift[] = {0, 1, 2, 3};
    for (int s = 0; s < TW_SWIZZLE_COUNT; s++) {
        enum tw_swizzle swizzle = (enum tw_swizzle)s;
        for (uint32_t address = 0; address < 4096; address++) {
            uint32_t chunk = address >> 4 & ((1u << shift[s]) - 1), row = address >> 7 & ((1u << shift[s]) - 1);
            uint32_t there = tw_swizzle(swizzle, address);
            assert_int_equal(there, address - (chunk << 4) + ((chunk ^ row) << 4));
            assert_int_equal(tw_swizzle(swizzle, there), address);
            assert_int_equal(tw_swizzle(swizzle, address + tw_swizzles[s].align), there + tw_swizzles[s].align);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_small_floats), cmocka_unit_test(test_tf32),
        cmocka_unit_test(test_wide_types), cmocka_unit_test(test_integers),     cmocka_unit_test(test_swizzles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
