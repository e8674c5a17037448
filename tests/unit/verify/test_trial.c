/* Whole trials on a device that is host memory and a "kernel" that is C: inputs, maps, parameters, reference and
 * comparison; each way to be wrong is found. Sizes of a run, too. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/plan/plan_launch.h"
#include "verify/sizes.h"
#include "verify/trial.h"
#include "tensormap/tensormap.h"

static const char spec_text[] = "local M, N, K = dims \"M N K\"\n"
                                "kernel \"small\" {\n"
                                "  family = \"gemm\",\n"
                                "  A = tensor { M, K, dtype = \"bf16\" },\n"
                                "  B = tensor { N, K, dtype = \"bf16\" },\n"
                                "  D = tensor { M, N, dtype = \"bf16\" },\n"
                                "  run = { { M = 17, N = 41, K = 64 }, { M = 8, N = 8, K = 8 } },\n"
                                "}\n";

enum fault { SOUND, WRONG_SUM, NEARLY, ELEMENT_LEFT_OUT, PADDING_WRITTEN, BEHIND_WRITTEN, FAULTS };

static struct compile c;
static struct compile_unit *unit; /* the variant whose D is a pointer */
static char path[64];
static enum fault fault;
static struct tw_error error;

/* ---- the device -------------------------------------------------------------------------------------------------- */

static int device_alloc(struct tw_device *d, size_t bytes, uint64_t *address, struct tw_error *e)
{
    (void)d;
    (void)e;
    *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return TW_OK;
}

static void device_free(struct tw_device *d, uint64_t address)
{
    (void)d;
    free((void *)(uintptr_t)address);
}

/* What a launch may touch: a part of each allocation. */
static struct {
    uint64_t address;
    size_t bytes;
} limit[64];
static unsigned limits;

static int device_limit(struct tw_device *d, uint64_t address, size_t bytes, struct tw_error *e)
{
    (void)d;
    (void)e;
    limit[limits % 64].address = address;
    limit[limits++ % 64].bytes = bytes;
    return TW_OK;
}

/* What the last limit says of a tensor: from its first element's address on as many bytes. */
static void check_limit(uint64_t address, int64_t rows, int64_t stride, int64_t columns)
{
    for (unsigned i = limits; i-- > 0;)
        if (limit[i % 64].address == address) {
            assert_int_equal(limit[i % 64].bytes, columns ? (rows - 1) * stride + columns * 2 : 0);
            return;
        }
    fail_msg("a launch may not touch the tensor at 0x%llx", (unsigned long long)address);
}

static int device_upload(struct tw_device *d, uint64_t to, const void *from, size_t bytes, struct tw_error *e)
{
    (void)d;
    (void)e;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return TW_OK;
}

static int device_download(struct tw_device *d, void *to, uint64_t from, size_t bytes, struct tw_error *e)
{
    (void)d;
    (void)e;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return TW_OK;
}

static int device_fill(struct tw_device *d, uint64_t to, uint32_t pattern, size_t bytes, struct tw_error *e)
{
    (void)d;
    (void)e;
    assert_int_equal(pattern, 0xffffffffu);
    memset((void *)(uintptr_t)to, 0xff, bytes);
    return TW_OK;
}

static int device_synchronize(struct tw_device *d, struct tw_error *e)
{
    (void)d;
    (void)e;
    return TW_OK;
}

/* One operand as its tensor map says. */
static double element(const struct tw_tensormap_call *map, int64_t row, int64_t k)
{
    const char *at = (const char *)(uintptr_t)map->addr + row * (int64_t)map->stride[0] + 2 * k;
    return tw_dtype_load(TW_BF16, at);
}

static const struct plan_param *param(enum plan_param_kind kind, const char *name)
{
    for (int i = 0; i < unit->plan.param_count; i++)
        if (unit->plan.param[i].kind == kind && strcmp(unit->plan.param[i].name, name) == 0)
            return &unit->plan.param[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static int device_launch(struct tw_device *d, const struct tw_launch *launch, struct tw_error *e)
{
    const unsigned char *params = launch->params;
    struct tw_tensormap_call a, b;
    uint64_t map[16], to;
    int64_t stride;
    int m, n, k;
    (void)d;
    (void)e;
    memcpy(map, params + param(PLAN_PARAM_MAP, "A_map")->offset, 128);
    assert_int_equal(tw_tensormap_decode(map, &a, NULL), TW_OK);
    memcpy(map, params + param(PLAN_PARAM_MAP, "B_map")->offset, 128);
    assert_int_equal(tw_tensormap_decode(map, &b, NULL), TW_OK);
    memcpy(&to, params + param(PLAN_PARAM_POINTER, "D")->offset, 8);
    memcpy(&stride, params + param(PLAN_PARAM_STRIDE, "D_stride0")->offset, 8);
    memcpy(&m, params + param(PLAN_PARAM_DIM, "M")->offset, 4);
    memcpy(&n, params + param(PLAN_PARAM_DIM, "N")->offset, 4);
    memcpy(&k, params + param(PLAN_PARAM_DIM, "K")->offset, 4);
    char *out = (char *)(uintptr_t)to;
    check_limit(a.addr, m, (int64_t)a.stride[0], k);
    check_limit(b.addr, n, (int64_t)b.stride[0], k);
    check_limit(to, m, 2 * stride, n);
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            double sum = 0.0;
            for (int i = 0; i < k; i++)
                sum += element(&a, row, i) * element(&b, column, i);
            if (fault == WRONG_SUM && row == 3 && column == 5)
                sum += 64.0;
            if (fault == NEARLY && row == 3)
                sum *= 1.02;
            if (fault != ELEMENT_LEFT_OUT || row != m - 1 || column != n - 1)
                tw_dtype_store(TW_BF16, out + 2 * (row * stride + column), sum);
        }
    if (fault == PADDING_WRITTEN)
        tw_dtype_store(TW_BF16, out + 2 * n, 0.0);
    if (fault == BEHIND_WRITTEN)
        tw_dtype_store(TW_BF16, out + 2 * ((m - 1) * stride + n), 0.0);
    return TW_OK;
}

static const struct tw_device_ops ops = {
    .kind = "memory", .alloc = device_alloc, .free = device_free, .upload = device_upload,
    .download = device_download, .fill = device_fill, .launch = device_launch, .synchronize = device_synchronize,
    .limit = device_limit,
};
static struct tw_device device = {.ops = &ops, .major = 9, .sm_count = 132};
static struct tw_kernel kernel = {.device = &device};

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static int begin(void **state)
{
    struct compile_choice choice = {.arch = "sm_90a"};
    int file;
    (void)state;
    snprintf(path, sizeof path, "/tmp/tw_trial_XXXXXX.lua");
    file = mkstemps(path, 4);
    if (file < 0 || write(file, spec_text, sizeof spec_text - 1) != (long)sizeof spec_text - 1 || close(file))
        return -1;
    if (compile_open(&c, "test", path) || compile_units(&c, &choice)) {
        compile_report(&c);
        return -1;
    }
    for (int i = 0; i < c.unit_count; i++)
        if (*c.unit[i].plan.variant)
            unit = &c.unit[i];
    return unit ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    compile_close(&c);
    unlink(path);
    return 0;
}

static void try(enum fault with, int64_t m, int64_t n, int64_t k, enum inputs_kind inputs, bool padded,
                struct trial_result *result)
{
    const int64_t symbol[4] = {m, n, k, 132};
    struct trial_request request = {.compile = &c, .device = &device, .unit = unit, .symbol = symbol,
                                    .inputs = inputs, .seed = 3, .padded = padded};
    struct plan_way by = {&device, &kernel, &unit->plan};
    const struct trial_way way = {0, plan_way_launch, &by};
    struct trial t;
    fault = with;
    assert_int_equal(trial_begin(&t, &request, &error), TW_OK);
    assert_int_equal(trial_run(&t, &way, result, &error), TW_OK);
    trial_end(&t);
}

static void sound(void **state)
{
    static const int64_t sizes[][3] = {{17, 41, 64}, {1, 1, 8}, {33, 7, 72}, {128, 100, 8}};
    struct trial_result r;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int padded = 0; padded < 2; padded++) {
            try(SOUND, sizes[i][0], sizes[i][1], sizes[i][2], INPUTS_NORMAL, padded, &r);
            assert_true(r.passed && r.launched && !r.equality);
            assert_true(r.error <= r.bound && r.bound > 0 && r.bound < 4.2e-3);
            try(SOUND, sizes[i][0], sizes[i][1], sizes[i][2], INPUTS_INTEGER, padded, &r);
            assert_true(r.passed && r.equality && r.error == 0.0);
        }
}

static void nothing(void **state)
{
    struct trial_result r;
    (void)state;
    try(SOUND, 0, 41, 64, INPUTS_NORMAL, false, &r);
    assert_true(r.passed && !r.launched);
    try(SOUND, 17, 0, 64, INPUTS_INTEGER, true, &r);
    assert_true(r.passed && !r.launched);
    try(SOUND, 17, 41, 0, INPUTS_NORMAL, true, &r); /* zeros */
    assert_true(r.passed && r.launched && r.error == 0.0);
    try(ELEMENT_LEFT_OUT, 17, 41, 0, INPUTS_NORMAL, true, &r);
    assert_false(r.passed);
}

static void faults(void **state)
{
    static const char *const says[FAULTS] = {
        [WRONG_SUM] = "D[3,5] is ",
        [ELEMENT_LEFT_OUT] = "D[16,40] was not written",
        [PADDING_WRITTEN] = "D: padding at byte 82 of the tensor was written",
        [BEHIND_WRITTEN] = "D: byte 0 behind the tensor was written",
    };
    struct trial_result r;
    (void)state;
    for (int f = SOUND + 1; f < FAULTS; f++)
        for (int inputs = 0; inputs < 2; inputs++) {
            try((enum fault)f, 17, 41, 64, (enum inputs_kind)inputs, true, &r);
            assert_false(r.passed);
            if (says[f] && !strstr(r.why, says[f]))
                fail_msg("fault %d: %s", f, r.why);
        }
}

static void layouts(void **state)
{
    const int64_t symbol[4] = {17, 41, 64, 132};
    struct shape shape[3];
    (void)state;
    assert_int_equal(trial_layout(&unit->plan, symbol, false, shape, &error), TW_OK);
    assert_int_equal(shape[2].stride[0], 41);
    assert_int_equal(trial_layout(&unit->plan, symbol, true, shape, &error), TW_OK);
    assert_int_equal(shape[0].stride[0], 72); /* whole 16 bytes, and 16 more */
    assert_int_equal(shape[2].stride[0], 57); /* and an element more, for D has no alignment here */
}

static void the_sizes(void **state)
{
    struct option_list none = {.count = 0};
    struct option_list set = {.item = {"M=1/2,K=8/16", "N=5"}, .count = 2};
    struct sizes sizes;
    char text[64];
    (void)state;
    assert_int_equal(sizes_check(&c, &set), 0);
    assert_int_equal(sizes_list(&c, unit, &none, &sizes), 0);
    assert_int_equal(sizes.count, 2);
    sizes_print(unit, sizes.value, text, sizeof text);
    assert_string_equal(text, "M=17,N=41,K=64");
    sizes_free(&c, &sizes);
    /* Of each run size: four of the first --set, one of the second. */
    assert_int_equal(sizes_list(&c, unit, &set, &sizes), 0);
    assert_int_equal(sizes.count, 10);
    sizes_print(unit, sizes.value, text, sizeof text);
    assert_string_equal(text, "M=1,N=41,K=8");
    sizes_print(unit, sizes.value + 4 * sizes.width, text, sizeof text);
    assert_string_equal(text, "M=17,N=5,K=64");
    sizes_free(&c, &sizes);
    /* All dims set: the run sizes give the same set once. */
    set = (struct option_list){.item = {"M=1,N=2,K=8"}, .count = 1};
    assert_int_equal(sizes_list(&c, unit, &set, &sizes), 0);
    assert_int_equal(sizes.count, 1);
    sizes_free(&c, &sizes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound),   cmocka_unit_test(nothing),   cmocka_unit_test(faults),
        cmocka_unit_test(layouts), cmocka_unit_test(the_sizes),
    };
    return cmocka_run_group_tests_name("trial", tests, begin, end);
}
