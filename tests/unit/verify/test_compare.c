/* Results against references: errors, equality after rounding, memory that nobody may touch. */
#include "unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/compare.h"

static struct tw_runtime rt;

static int begin(void **state)
{
    struct tw_error error;
    (void)state;
    return tw_runtime_init(&rt, &error);
}

static int end(void **state)
{
    (void)state;
    tw_runtime_close(&rt);
    return 0;
}

/* Stores `reference` at the shape's places in a poisoned buffer. */
static unsigned char *store(enum tw_dtype dtype, const struct shape *s, size_t before, size_t bytes,
                            const double *reference)
{
    unsigned char *buffer = malloc(bytes);
    struct shape_walk walk;
    memset(buffer, COMPARE_POISON, bytes);
    shape_seek(&walk, s, 0);
    for (int64_t i = 0; i < shape_count(s); i++, shape_next(&walk))
        tw_dtype_store(dtype, buffer + before + (size_t)walk.offset * tw_dtype_bytes(dtype), reference[i]);
    return buffer;
}

static void bounds(void **state)
{
    (void)state;
    assert_true(compare_bound(TW_BF16, 0.0017) == 3e-3);
    assert_true(compare_bound(TW_FP16, 0.0) == 5e-4);
    assert_true(compare_bound(TW_FP32, 0.0) == 1e-5);
    assert_true(compare_bound(TW_INT32, 0.1) == 0.0);
    assert_true(compare_bound(TW_BF16, 0.0039) > 0.0039 && compare_bound(TW_BF16, 0.0039) < 0.0042);
}

static void equal_after_rounding(void **state)
{
    static const double reference[6] = {1.0, 1.001, -3.14159, 0.0, 1e30, -0.0};
    const struct shape s = {2, {2, 3}, {5, 1}};
    struct compare_result r;
    struct tw_error error;
    (void)state;
    unsigned char *buffer = store(TW_BF16, &s, 0, 32, reference);
    struct compare c = {"D", TW_BF16, &s, buffer, reference};
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_int_equal(r.different, 0);
    assert_true(r.error > 0.0 && r.error < 4e-3);
    assert_true(r.rounding == r.error);
    assert_string_equal(r.first, "");
    assert_string_not_equal(r.worst, "");
    free(buffer);
}

static void first_difference(void **state)
{
    static const double reference[6] = {1, 2, 3, 4, 5, 6};
    const struct shape s = {2, {2, 3}, {5, 1}};
    struct compare_result r;
    struct tw_error error;
    (void)state;
    unsigned char *buffer = store(TW_FP32, &s, 0, 64, reference);
    struct compare c = {"D", TW_FP32, &s, buffer, reference};
    tw_dtype_store(TW_FP32, buffer + 4 * 5, 4.5);  /* D[1,0] */
    tw_dtype_store(TW_FP32, buffer + 4 * 7, -6.0); /* D[1,2] */
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_int_equal(r.different, 2);
    assert_string_equal(r.first, "D[1,0] is 4.5, the reference 4");
    assert_string_equal(r.worst, "D[1,2] is -6, the reference 6");
    assert_true(fabs(r.error - sqrt((0.25 + 144.0) / 91.0)) < 1e-12);
    free(buffer);
}

static void not_written(void **state)
{
    static const double reference[4] = {1, 2, 3, 4};
    const struct shape s = {1, {4}, {1}};
    struct compare_result r;
    struct tw_error error;
    (void)state;
    unsigned char *buffer = store(TW_BF16, &s, 0, 8, reference);
    struct compare c = {"y", TW_BF16, &s, buffer, reference};
    memset(buffer + 4, COMPARE_POISON, 2);
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_true(isinf(r.error));
    assert_string_equal(r.first, "y[2] was not written, the reference is 3");
    free(buffer);
}

static void what_is_not_finite(void **state)
{
    static const double reference[4] = {INFINITY, NAN, 1e9, 1};
    const struct shape s = {1, {4}, {1}};
    struct compare_result r;
    struct tw_error error;
    (void)state;
    unsigned char *buffer = store(TW_FP16, &s, 0, 8, reference); /* 1e9 becomes infinity in fp16, as it should */
    struct compare c = {"D", TW_FP16, &s, buffer, reference};
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_int_equal(r.different, 0);
    assert_true(r.error == 0.0);
    tw_dtype_store(TW_FP16, buffer, 1.0);
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_int_equal(r.different, 1);
    assert_true(isinf(r.error));
    free(buffer);
}

static void nothing_and_zeros(void **state)
{
    static const double zero[3] = {0, 0, 0};
    const struct shape none = {2, {0, 7}, {7, 1}}, three = {1, {3}, {1}};
    struct compare_result r;
    struct tw_error error;
    float values[3] = {0, 0, 0};
    (void)state;
    struct compare c = {"D", TW_FP32, &none, NULL, NULL};
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_true(r.error == 0.0 && r.different == 0);
    c = (struct compare){"D", TW_FP32, &three, (const unsigned char *)values, zero};
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_true(r.error == 0.0);
    values[1] = 1e-20f;
    assert_int_equal(compare_values(&rt, &c, &r, &error), TW_OK);
    assert_true(isinf(r.error));
}

/* Several blocks of elements, on any number of threads, give one sum. */
static void large_and_repeatable(void **state)
{
    const int64_t rows = 1000, columns = 333;
    const struct shape s = {2, {1000, 333}, {336, 1}};
    struct compare_result first, again;
    struct tw_error error;
    (void)state;
    double *reference = malloc(sizeof *reference * (size_t)(rows * columns));
    for (int64_t i = 0; i < rows * columns; i++)
        reference[i] = (double)((i * 2654435761) % 1009) / 1009.0 - 0.5;
    unsigned char *buffer = store(TW_BF16, &s, 256, 1000 * 336 * 2 + 512, reference);
    struct compare c = {"D", TW_BF16, &s, buffer + 256, reference};
    assert_int_equal(compare_values(&rt, &c, &first, &error), TW_OK);
    assert_true(first.error > 1e-4 && first.error < 3e-3);
    assert_int_equal(first.different, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(compare_values(&rt, &c, &again, &error), TW_OK);
        assert_memory_equal(&first.error, &again.error, sizeof first.error);
    }
    tw_dtype_store(TW_BF16, buffer + 256 + (size_t)(900 * 336 + 5) * 2, 7.0);
    assert_int_equal(compare_values(&rt, &c, &again, &error), TW_OK);
    assert_int_equal(again.different, 1);
    assert_int_equal(strncmp(again.first, "D[900,5] is 7,", 14), 0);
    free(buffer);
    free(reference);
}

/* Each element has its own bound. Where there is none, anything is right, of integers too, and where the reference is
 * NaN; else NaN is. */
static void own_bounds(void **state)
{
    static const double reference[5] = {NAN, NAN, 1, 2, 3}, bound[5] = {INFINITY, 0, INFINITY, 0.5, 0.5};
    static const double right[5] = {-INFINITY, NAN, NAN, 2.25, 3}, wrong[5] = {0, 1, 0, 2.75, NAN};
    static const unsigned char done[5] = {1, 1, 1, 1, 1};
    const struct shape five = {1, {5}, {1}};
    struct compare_bounded r;
    struct tw_error error;
    float values[5];
    (void)state;
    const struct compare c = {"D", TW_FP32, &five, (const unsigned char *)values, reference};
    for (int integers = 0; integers < 2; integers++) {
        const struct compare_bounds b = {.bound = bound, .done = done, .all = true, .integers = integers};
        for (int i = 0; i < 5; i++)
            values[i] = (float)right[i];
        assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
        assert_int_equal(r.beyond, 0);
        for (int i = 0; i < 5; i++)
            values[i] = (float)wrong[i];
        assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
        assert_int_equal(r.beyond, 3);
    }
}

/* Of integers that the type does not hold it is said what it holds; of others, and of floats, nothing. */
static void beyond_range(void **state)
{
    static const struct {
        enum tw_dtype dtype;
        double reference, value;
        const char *text;
    } cases[] = {
        {TW_INT8, 129, -127, "D[0] is -127, the reference 129, its bound 2; int8 holds -128 to 127"},
        {TW_UINT8, -1, 254, "D[0] is 254, the reference -1, its bound 2; uint8 holds 0 to 255"},
        {TW_INT32, 4e9, -294967296,
         "D[0] is -294967296, the reference 4e+09, its bound 2; int32 holds -2147483648 to 2147483647"},
        {TW_INT8, 127, 100, "D[0] is 100, the reference 127, its bound 2"},
        {TW_FP16, 1e9, 100, "D[0] is 100, the reference 1e+09, its bound 2"},
    };
    static const double bound[1] = {2};
    static const unsigned char done[1] = {1};
    const struct shape one = {1, {1}, {1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char element[8];
        struct compare_bounded r;
        struct tw_error error;
        const struct compare c = {"D", cases[i].dtype, &one, element, &cases[i].reference};
        const struct compare_bounds b = {.bound = bound, .done = done, .all = true};
        tw_dtype_store(cases[i].dtype, element, cases[i].value);
        assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
        assert_string_equal(r.worst, cases[i].text);
    }
}

/* What is no number lies within a bound that is infinite, and is counted; poison was not written at all. */
static void lost(void **state)
{
    static const double reference[4] = {1, 2, NAN, 4}, bound[4] = {INFINITY, INFINITY, INFINITY, 1};
    static const unsigned char done[4] = {1, 1, 1, 1};
    const struct shape four = {1, {4}, {1}};
    const float values[4] = {NAN, 7, NAN, 4};
    const struct compare c = {"D", TW_FP32, &four, (const unsigned char *)values, reference};
    const struct compare_bounds b = {.bound = bound, .done = done, .all = true};
    struct compare_bounded r;
    struct tw_error error;
    (void)state;
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 0);
    assert_int_equal(r.unbounded, 3);
    assert_int_equal(r.nan, 1);
}

static void untouched(void **state)
{
    static const double reference[6] = {1, 2, 3, 4, 5, 6};
    static const struct {
        size_t byte;
        const char *text;
    } touched[] = {
        {63, "D: byte 1 before the tensor was written"},
        {0, "D: byte 64 before the tensor was written"},
        {64 + 6, "D: padding at byte 6 of the tensor was written"},
        {64 + 9, "D: padding at byte 9 of the tensor was written"},
        {64 + 16, "D: byte 0 behind the tensor was written"},
        {127, "D: byte 47 behind the tensor was written"},
    };
    const struct shape s = {2, {2, 3}, {5, 1}};
    char text[256];
    (void)state;
    unsigned char *buffer = store(TW_BF16, &s, 64, 128, reference);
    assert_true(compare_untouched("D", TW_BF16, &s, buffer, 64, 128, text));
    for (size_t i = 0; i < sizeof touched / sizeof *touched; i++) {
        memset(buffer, COMPARE_POISON, 128);
        buffer[touched[i].byte] = 0x3f;
        assert_false(compare_untouched("D", TW_BF16, &s, buffer, 64, 128, text));
        assert_string_equal(text, touched[i].text);
    }
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(equal_after_rounding),
        cmocka_unit_test(first_difference),
        cmocka_unit_test(not_written),
        cmocka_unit_test(what_is_not_finite),
        cmocka_unit_test(nothing_and_zeros),
        cmocka_unit_test(large_and_repeatable),
        cmocka_unit_test(lost),
        cmocka_unit_test(untouched),
        cmocka_unit_test(own_bounds),
        cmocka_unit_test(beyond_range),
    };
    return cmocka_run_group_tests_name("compare", tests, begin, end);
}
