/* Random inputs: the same for the same key whatever the strides, of the right distribution, and what `fill` says. */
#include "unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/inputs.h"


static double at(enum tw_dtype dtype, const void *bytes, const struct shape *s, int64_t row, int64_t column)
{
    return tw_dtype_load(dtype, (const char *)bytes +
                                    (row * s->stride[0] + column * s->stride[1]) * (int64_t)tw_dtype_bytes(dtype));
}

static void keys_differ(void **state)
{
    (void)state;
    uint64_t key = inputs_key(1, "gemm", "A");
    assert_true(key == inputs_key(1, "gemm", "A"));
    assert_true(key != inputs_key(2, "gemm", "A"));
    assert_true(key != inputs_key(1, "gemm", "B"));
    assert_true(key != inputs_key(1, "gemn", "A"));
    assert_true(inputs_key(1, "ab", "c") != inputs_key(1, "a", "bc"));
    assert_true(inputs_random(key, 0) != inputs_random(key, 1));
}

/* These values are a promise: a failure that a seed shows can be shown again. */
static void values_are_fixed(void **state)
{
    (void)state;
    assert_true(inputs_random(0, 0) == UINT64_C(0xe220a8397b1dcdaf)); /* splitmix64 of seed 0 */
    assert_true(inputs_random(0, 1) == UINT64_C(0x6e789e6aa1b965f4));
}

static void strides_do_not_matter(void **state)
{
    const struct shape dense = {2, {300, 333}, {333, 1}}, padded = {2, {300, 333}, {344, 1}},
                       columns = {2, {300, 333}, {1, 300}};
    const struct shape *shapes[] = {&dense, &padded, &columns};
    struct inputs inputs = {inputs_key(7, "k", "A"), INPUTS_NORMAL, 1.0, {FILL_DRAWN, 0, 0}, NULL};
    unsigned short *data[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)shape_span(shapes[i]) * 2;
        data[i] = malloc(bytes);
        memset(data[i], 0xff, bytes);
        inputs_write(&inputs, TW_BF16, shapes[i], data[i]);
    }
    for (int64_t r = 0; r < 300; r++)
        for (int64_t c = 0; c < 333; c++) {
            double value = at(TW_BF16, data[0], &dense, r, c);
            assert_true(value == at(TW_BF16, data[1], &padded, r, c));
            assert_true(value == at(TW_BF16, data[2], &columns, r, c));
        }
    for (int64_t r = 0; r + 1 < 300; r++)
        for (int64_t c = 333; c < 344; c++)
            assert_int_equal(data[1][r * 344 + c], 0xffff); /* padding stays */
    for (int i = 0; i < 3; i++)
        free(data[i]);
}

static void normal_distribution(void **state)
{
    enum { COUNT = 1 << 20 };
    const struct shape s = {1, {COUNT}, {1}};
    struct inputs inputs = {inputs_key(1, "k", "A"), INPUTS_NORMAL, 0.5, {FILL_DRAWN, 0, 0}, NULL};
    float *data = malloc(sizeof *data * COUNT);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0;
    int beyond = 0;
    (void)state;
    inputs_write(&inputs, TW_FP32, &s, data);
    for (int i = 0; i < COUNT; i++) {
        double x = 2.0 * (double)data[i];
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        neighbours += i ? x * 2.0 * (double)data[i - 1] : 0.0;
        beyond += fabs(x) > 3.0;
    }
    assert_true(fabs(sum / COUNT) < 5e-3);
    assert_true(fabs(squares / COUNT - 1.0) < 1e-2);
    assert_true(fabs(fourth / COUNT - 3.0) < 5e-2);
    assert_true(fabs(neighbours / COUNT) < 5e-3);
    assert_true(beyond > COUNT * 0.0022 && beyond < COUNT * 0.0032); /* 0.27 percent */
    free(data);
}

static void integers(void **state)
{
    const struct shape s = {1, {10000}, {1}};
    struct inputs inputs = {inputs_key(1, "k", "A"), INPUTS_INTEGER, 3.0, {FILL_DRAWN, 0, 0}, NULL};
    unsigned short data[10000];
    int seen[7] = {0};
    (void)state;
    inputs_write(&inputs, TW_BF16, &s, data);
    for (int i = 0; i < 10000; i++) {
        double x = tw_dtype_load(TW_BF16, &data[i]);
        assert_true(x == floor(x) && fabs(x) <= 3.0);
        seen[(int)x + 3]++;
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i] > 1200 && seen[i] < 1700);
}

static void integer_types(void **state)
{
    const struct shape s = {1, {1000}, {1}};
    struct inputs inputs = {inputs_key(1, "k", "A"), INPUTS_NORMAL, 1.0, {FILL_DRAWN, 0, 0}, NULL};
    unsigned char data[1000];
    (void)state;
    inputs_write(&inputs, TW_UINT8, &s, data);
    for (int i = 0; i < 1000; i++)
        assert_true(data[i] <= 1);
    inputs_write(&inputs, TW_BOOL, &s, data);
    for (int i = 0; i < 1000; i++)
        assert_true(data[i] <= 1);
    inputs.kind = INPUTS_INTEGER;
    inputs.scale = 5.0;
    inputs_write(&inputs, TW_INT8, &s, data);
    for (int i = 0; i < 1000; i++)
        assert_true(abs((signed char)data[i]) <= 5);
}

static struct fill filled(const char *text)
{
    struct fill fill = {FILL_DRAWN, 0, 0};
    assert_true(fill_read(fill_word_of(text), text, &fill));
    return fill;
}

static void fills(void **state)
{
    const struct shape s = {2, {16, 100}, {100, 1}};
    struct inputs inputs = {inputs_key(1, "k", "doc"), INPUTS_NORMAL, 1.0, {FILL_DRAWN, 0, 0}, NULL};
    int data[1600], changes = 0;
    (void)state;
    inputs.fill = filled("documents 8");
    inputs_write(&inputs, TW_INT32, &s, data);
    for (int r = 0; r < 16; r++) {
        assert_true(data[r * 100] >= 0 && data[r * 100 + 99] == 7);
        for (int c = 1; c < 100; c++) {
            assert_true(data[r * 100 + c] >= data[r * 100 + c - 1]);
            changes += data[r * 100 + c] > data[r * 100 + c - 1];
        }
    }
    assert_true(changes > 16 * 4);
    inputs.fill = filled("constant -2.5");
    float values[1600];
    inputs_write(&inputs, TW_FP32, &s, values);
    assert_true(values[0] == -2.5f && values[1599] == -2.5f);
    inputs.fill = filled("iota");
    inputs_write(&inputs, TW_INT32, &s, data);
    assert_int_equal(data[0], 0);
    assert_int_equal(data[1599], 99);
    inputs.fill = filled("integers -1 2");
    inputs_write(&inputs, TW_INT32, &s, data);
    for (int i = 0; i < 1600; i++)
        assert_true(data[i] >= -1 && data[i] <= 2);
    inputs.fill = filled("zeros");
    inputs_write(&inputs, TW_INT32, &s, data);
    assert_int_equal(data[77], 0);
    inputs.fill = filled("ones");
    inputs_write(&inputs, TW_INT32, &s, data);
    assert_int_equal(data[77], 1);
}

static void fills_that_are_none(void **state)
{
    static const char *const unknown[] = {"", " ones", "zero", "onesx", "one"};
    static const char *const wrong[] = {"documents", "documents 0", "documents x", "documents nan", "documents 1e9",
                                        "constant", "constant 1 2", "integers 3 1", "integers 0.2 0.8",
                                        "integers 0 nan", "integers 0 1e16", "ones 1"};
    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(fill_word_of(unknown[i]));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fill fill;
        assert_non_null(fill_word_of(wrong[i]));
        assert_false(fill_read(fill_word_of(wrong[i]), wrong[i], &fill));
    }
}

static void empty(void **state)
{
    const struct shape s = {2, {0, 8}, {8, 1}};
    struct inputs inputs = {1, INPUTS_NORMAL, 1.0, {FILL_DRAWN, 0, 0}, NULL};
    (void)state;
    inputs_write(&inputs, TW_BF16, &s, NULL);
    inputs.fill = filled("documents 3");
    inputs_write(&inputs, TW_BF16, &s, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_differ),   cmocka_unit_test(values_are_fixed), cmocka_unit_test(strides_do_not_matter),
        cmocka_unit_test(normal_distribution), cmocka_unit_test(integers),   cmocka_unit_test(integer_types),
        cmocka_unit_test(fills),         cmocka_unit_test(fills_that_are_none), cmocka_unit_test(empty),
    };
    return cmocka_run_group_tests_name("inputs", tests, NULL, NULL);
}
