/* The reference of a program's run: inputs with padded rows, items in parallel, a budget that all items would pass; and
 * element by element comparisons with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/check.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "common/parallel.h"
#include "program/meaning/reference.h"
#include "unit/spec/spec_samples.h"

enum { TENSORS = 8, PAD = 3 };

/* A kernel of tests/programs on some sizes, its inputs drawn. */
struct sample {
    struct spec spec;
    struct diag_set diags;
    const struct spec_kernel *kernel;
    struct program_tensor tensor[TENSORS];
    struct shape shape[TENSORS];
    void *bytes[TENSORS];
    double *out[TENSORS], *bound[TENSORS], scalar[TENSORS];
    unsigned char *done[TENSORS];
    int64_t count[TENSORS];
};

static void begin(struct sample *s, const char *path, const char *name, const int64_t *symbol, bool padded)
{
    memset(s, 0, sizeof *s);
    assert_int_equal(spec_read(path, &sample_options, &s->spec, &s->diags), 0);
    for (int k = 0; k < s->spec.kernel_count; k++)
        if (strcmp(s->spec.kernel[k].name, name) == 0)
            s->kernel = &s->spec.kernel[k];
    assert_non_null(s->kernel);
    for (int i = 0; i < s->kernel->tensor_count; i++) {
        const struct spec_tensor *t = &s->kernel->tensor[i];
        struct inputs inputs = {
            .key = inputs_key(1, name, t->name), .kind = INPUTS_NORMAL, .scale = 1, .fill = t->fill};
        struct shape *shape = &s->shape[i];
        int64_t stride = 1;
        shape->rank = t->rank;
        s->count[i] = 1;
        for (int d = t->rank - 1; d >= 0; d--) {
            assert_true(expr_eval_int(&s->kernel->shape, t->dim[d], symbol, &shape->extent[d]));
            shape->stride[d] = stride;
            stride *= shape->extent[d] + (padded && d == t->rank - 1 ? PAD : 0);
            s->count[i] *= shape->extent[d];
        }
        memcpy(s->tensor[i].extent, shape->extent, sizeof shape->extent);
        memcpy(s->tensor[i].stride, shape->stride, sizeof shape->stride);
        s->bytes[i] = calloc((size_t)stride + 1, tw_dtype_bytes(t->dtype));
        assert_non_null(s->bytes[i]);
        s->tensor[i].bytes = s->bytes[i];
        if (t->out) {
            s->out[i] = calloc((size_t)s->count[i] + 1, sizeof(double));
            s->bound[i] = calloc((size_t)s->count[i] + 1, sizeof(double));
            s->done[i] = calloc((size_t)s->count[i] + 1, 1);
            assert_true(s->out[i] && s->bound[i] && s->done[i]);
        } else {
            inputs_write(&inputs, t->dtype, shape, s->bytes[i]);
        }
    }
    for (int i = 0; i < s->kernel->scalar_count; i++)
        s->scalar[i] = s->kernel->scalar[i].value;
}

static void end(struct sample *s)
{
    for (int i = 0; i < TENSORS; i++) {
        free(s->bytes[i]);
        free(s->out[i]);
        free(s->bound[i]);
        free(s->done[i]);
    }
    spec_free(&s->spec);
    diag_free(&s->diags);
}

static int64_t products;  /* of valid elements, in the last evaluation */
static const bool *downs; /* loops whose turns go from the last to the first; NULL */

static bool evaluate(struct sample *s, const int64_t *symbol, int64_t budget, int threads, int64_t *work)
{
    struct program_reference r = {.kernel = s->kernel,
                                  .symbol = symbol,
                                  .tensor = s->tensor,
                                  .scalar = s->scalar,
                                  .out = s->out,
                                  .bound = s->bound,
                                  .done = s->done,
                                  .budget = budget,
                                  .down = downs,
                                  .seed = 5,
                                  .parallel = threads ? parallel_for : NULL,
                                  .threads = threads,
                                  .products = &products};
    struct program_error error = {{0}, ""};
    bool all = false;
    if (program_reference(&r, &all, work, &error))
        fail_msg("line %d: %s", error.loc.line, error.text);
    return all;
}

static void expect_same(const struct sample *a, const struct sample *b, bool all)
{
    int64_t compared = 0;
    for (int i = 0; i < a->kernel->tensor_count; i++)
        for (int64_t e = 0; a->out[i] && e < a->count[i]; e++) {
            if (!b->done[i][e] && !all)
                continue;
            compared++;
            assert_int_equal(a->done[i][e], b->done[i][e]);
            assert_true(a->out[i][e] == b->out[i][e] && a->bound[i][e] == b->bound[i][e]);
        }
    assert_true(compared > 0);
}

static const char gemm[] = "tests/programs/gemm.lua";

/* Padding and threads change nothing of what is evaluated. */
static void test_ways(void **state)
{
    static const int64_t symbol[4] = {150, 130, 70, 0};
    struct sample whole, other;
    int64_t work, least;
    (void)state;
    begin(&whole, gemm, "product_bias_gelu_c", symbol, false);
    assert_true(evaluate(&whole, symbol, 0, 0, &work));
    assert_true(work > 150 * 130 * 70);
    begin(&other, gemm, "product_bias_gelu_c", symbol, true);
    assert_true(evaluate(&other, symbol, 0, 0, &least));
    assert_true(least == work);
    assert_in_range(products, 150 * 130 * 60, 150 * 130 * 70); /* of elements that there are: tiles have more */
    expect_same(&whole, &other, true);
    end(&other);
    begin(&other, gemm, "product_bias_gelu_c", symbol, true);
    assert_true(evaluate(&other, symbol, 4 * work, 3, &least));
    assert_in_range(products, 150 * 130 * 60, 150 * 130 * 70);
    expect_same(&whole, &other, true);
    end(&other);
    end(&whole);
}

/* Of many items a sample has the corners; of items that are too much each, it still has them, and few others. */
static void test_samples(void **state)
{
    static const int64_t symbol[4] = {630, 600, 70, 0};
    struct sample whole, other;
    int64_t work, some, least;
    (void)state;
    begin(&whole, gemm, "product_bias_gelu_c", symbol, false);
    assert_true(evaluate(&whole, symbol, 0, 0, &work));
    for (int threads = 0; threads < 4; threads += 3) {
        begin(&other, gemm, "product_bias_gelu_c", symbol, false);
        assert_false(evaluate(&other, symbol, work / 2, threads, &some));
        assert_true(some > work / 4 && some <= work / 2);
        expect_same(&whole, &other, false);
        assert_true(other.done[4][0] && other.done[4][630 * 600 - 1]);
        assert_true(other.done[4][599] && other.done[4][629 * 600]);
        end(&other);
        begin(&other, gemm, "product_bias_gelu_c", symbol, false);
        assert_false(evaluate(&other, symbol, 1, threads, &least));
        assert_true(least > 0 && least < work / 2);
        expect_same(&whole, &other, false);
        assert_true(other.done[4][0] && other.done[4][630 * 600 - 1]);
        end(&other);
    }
    end(&whole);
}

/* The first and the last item, of which a sample finds out what one costs, go the way of all: weights are rounded
 * beside a maximum that depends on the order of turns. */
static void test_sampled_turns(void **state)
{
    static const int64_t symbol[5] = {2, 2, 200, 300, 0};
    bool down[64] = {false};
    struct sample whole, other, up;
    int64_t work, least;
    int different = 0, last = 0;
    (void)state;
    begin(&whole, "tests/programs/attention.lua", "attention_causal", symbol, false);
    const struct program *p = whole.kernel->program;
    for (int i = 0; i < p->op_count; i++)
        down[i] = p->op[i].kind == PROGRAM_LOOP;
    begin(&up, "tests/programs/attention.lua", "attention_causal", symbol, false);
    assert_true(evaluate(&up, symbol, 0, 0, &work));
    downs = down;
    assert_true(evaluate(&whole, symbol, 0, 0, &work));
    begin(&other, "tests/programs/attention.lua", "attention_causal", symbol, false);
    assert_false(evaluate(&other, symbol, work / 8, 2, &least));
    downs = NULL;
    expect_same(&whole, &other, false);
    for (int i = 0; i < whole.kernel->tensor_count; i++)
        for (int64_t e = 0; whole.out[i] && e < whole.count[i]; e++) {
            different += whole.out[i][e] != up.out[i][e];
            last += e == whole.count[i] - 1 && other.done[i][e];
        }
    assert_true(different > 100 && last > 0);
    end(&up);
    end(&other);
    end(&whole);
}

/* What adds is evaluated whole, whatever the budget. */
static void test_additions(void **state)
{
    static const int64_t symbol[3] = {200, 40, 8};
    struct sample s;
    int64_t work;
    (void)state;
    begin(&s, "tests/programs/moves.lua", "scattered", symbol, false);
    assert_true(evaluate(&s, symbol, 10, 2, &work));
    assert_true(program_adds_to(s.kernel->program, 2) && program_adds_to(s.kernel->program, 3));
    assert_false(program_adds_to(s.kernel->program, 0));
    end(&s);
}

/* A result at 0.9 of each bound passes; one element that is two bounds away is found, as is one that is missing, and
 * one that is written where nothing should be. */
static void test_comparison(void **state)
{
    static const int64_t symbol[4] = {40, 50, 30, 0};
    struct sample s;
    struct tw_runtime rt;
    struct tw_error error;
    int64_t work;
    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    begin(&s, gemm, "product_bias_gelu_c", symbol, false);
    assert_true(evaluate(&s, symbol, 0, 0, &work));
    int raw = 5; /* fp32 */
    assert_string_equal(s.kernel->tensor[raw].name, "raw");
    float *got = malloc(sizeof *got * (size_t)s.count[raw]);
    struct compare c = {"raw", TW_FP32, &s.shape[raw], (unsigned char *)got, s.out[raw]};
    struct compare_bounds b = {s.bound[raw], s.done[raw], true, false, false};
    struct compare_bounded r;
    for (int64_t i = 0; i < s.count[raw]; i++)
        got[i] =
            (float)(s.out[raw][i] + (i % 2 ? 0.9 : -0.9) * fmax(0, s.bound[raw][i] - fabs(s.out[raw][i]) * 0x1p-24));
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 0);
    assert_true(r.error > 0 && r.error < r.bound && !r.exact);
    assert_true(r.done == s.count[raw] && r.unbounded == 0);
    double bound = s.bound[raw][77];
    s.bound[raw][77] = (double)INFINITY;
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_true(r.beyond == 0 && r.done == s.count[raw] && r.unbounded == 1);
    s.bound[raw][77] = bound;
    got[77] = (float)(s.out[raw][77] + 2 * s.bound[raw][77]);
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 1);
    assert_memory_equal(r.worst, "raw[1,27] is ", 13);
    memset(&got[77], COMPARE_POISON, sizeof *got);
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 1);
    assert_non_null(strstr(r.worst, "was not written"));
    s.done[raw][77] = 0;
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 0);
    got[77] = 1;
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 1);
    assert_string_equal(r.worst, "raw[1,27] is 1, and the program writes nothing there");
    b.all = false; /* another item may have written it */
    assert_int_equal(compare_bounded(&rt, &c, &b, &r, &error), TW_OK);
    assert_int_equal(r.beyond, 0);
    free(got);
    end(&s);
    tw_runtime_close(&rt);
}

/* A product of 2048 x 2048 x 2048 within the budget of run. */
static void test_large(void **state)
{
    static const int64_t symbol[4] = {2048, 2048, 2048, 0};
    struct sample s;
    struct timespec from, to;
    int64_t work, done = 0;
    (void)state;
    begin(&s, gemm, "product", symbol, false);
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_false(evaluate(&s, symbol, INT64_C(1) << 26, parallel_cores(), &work));
    clock_gettime(CLOCK_MONOTONIC, &to);
    for (int64_t e = 0; e < s.count[2]; e++)
        done += s.done[2][e];
    print_message("# 2048 x 2048 x 2048: %lld elements of %lld, %.3g products, %.2f s\n", (long long)done,
                  (long long)s.count[2], (double)work,
                  (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    assert_true(done > 1000 && work <= INT64_C(1) << 26);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),      cmocka_unit_test(test_samples),    cmocka_unit_test(test_sampled_turns),
        cmocka_unit_test(test_additions), cmocka_unit_test(test_comparison), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
