/* Axes that a GEMM does not write: every way to give its tensors extents of three, in every order of dims. Where
 * exactly one order of a tensor's axes agrees with the others, it has that order; where several do, the spec is asked,
 * at that tensor; where none does, the fault is the extents'. Compared with all orders tried one after the other. */
#include "spec_samples.h"

enum { TENSORS = 3, AXES = 3, ORDERS = 1 << TENSORS };

static const int own[TENSORS][2] = {{0, 2}, {1, 2}, {0, 1}}; /* A m k, B n k, D m n */

/* Axis of dim d of the tensor in order number `orders`. */
static int axis_of(int tensor, int orders, int d)
{
    return own[tensor][(orders >> tensor & 1) ? 1 - d : d];
}

static bool agrees(const int dim[TENSORS][2], int orders)
{
    int extent[AXES] = {-1, -1, -1};
    for (int t = 0; t < TENSORS; t++)
        for (int d = 0; d < 2; d++) {
            int *e = &extent[axis_of(t, orders, d)];
            if (*e >= 0 && *e != dim[t][d])
                return false;
            *e = dim[t][d];
        }
    return true;
}

static void check(const int dim[TENSORS][2], const char *const *extent)
{
    static const char names[] = "ABD";
    char text[600];
    int length = snprintf(text, sizeof text, "local X, Y, Z = dims \"X Y Z\"\nkernel \"k\" {\n  family = \"gemm\",\n"),
        first = -1;
    for (int t = 0; t < TENSORS; t++)
        length += snprintf(text + length, sizeof text - (size_t)length, "  %c = tensor { %s, %s, dtype = \"bf16\" },\n",
                           names[t], extent[dim[t][0]], extent[dim[t][1]]);
    snprintf(text + length, sizeof text - (size_t)length, "}\n");
    bool orders[TENSORS][2] = {{false}};
    for (int o = 0; o < ORDERS; o++)
        if (agrees(dim, o)) {
            first = first < 0 ? o : first;
            for (int t = 0; t < TENSORS; t++)
                orders[t][o >> t & 1] = true;
        }
    struct spec spec;
    struct diag_set diags = {0};
    int status = spec_read(sample_write("spec.lua", text), &sample_options, &spec, &diags), asked = 0;
    for (int t = 0; t < TENSORS; t++)
        asked += orders[t][0] && orders[t][1];
    for (int i = 0; i < diags.count; i++)
        assert_string_equal(diags.item[i].rule, first < 0 ? "TENSOR-EXTENT" : "TENSOR-AXES");
    assert_int_equal(status, first < 0 || asked > 0);
    if (first >= 0)
        assert_int_equal(diags.errors, asked);
    for (int t = 0, i = 0; t < TENSORS && first >= 0; t++) {
        const char name[] = {names[t], '\0'};
        if (orders[t][0] && orders[t][1])
            assert_string_equal(diags.item[i++].field, name);
        for (int d = 0; d < 2 && asked == 0; d++)
            assert_int_equal(spec.kernel[0].tensor[t].axis[d], axis_of(t, first, d));
    }
    spec_free(&spec);
    diag_free(&diags);
}

static void check_all(const char *const *extent)
{
    for (int n = 0; n < 729; n++) {
        int dim[TENSORS][2], rest = n;
        for (int t = 0; t < TENSORS; t++)
            for (int d = 0; d < 2; d++, rest /= 3)
                dim[t][d] = rest % 3;
        check((const int(*)[2])dim, extent);
    }
}

static void of_constants(void **state)
{
    static const char *const extent[] = {"64", "96", "128"};
    (void)state;
    check_all(extent);
}

static void of_symbols(void **state)
{
    static const char *const extent[] = {"X", "2 * Y", "128"};
    (void)state;
    check_all(extent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_constants),
        cmocka_unit_test(of_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
