/* Kernels whose blocks have shares of all turns (schedule.stream): results do not depend on which block comes last, nor
 * on what the workspace held where it has no counters, and launch after launch finds it as the first did.
 *
 * On one grid who comes last differs with the completion of asynchronous operations and its seed. Random normal inputs:
 * sums in another order are other bits, which a text with such an order shows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "unit/rounds.h"

#include "compile/compile.h"
#include "emu/emu.h"
#include "unit/plan/plan_launch.h"
#include "version.h"

enum { TENSORS = 3, COUNTER = 128, POISON = 0xff, SEEDS = 4 };

static const struct {
    int64_t m, n, k;
    int sms;
} grids[] = {
    {40, 40, 1160, 5},  /* one item in five parts */
    {40, 136, 520, 7},  /* three items among seven */
    {200, 200, 328, 5}, /* sixteen of which six are cut, at most in two */
};
enum { GRIDS = sizeof grids / sizeof grids[0] };

struct bench {
    struct compile c;
    struct tw_runtime rt;
    struct tw_device *device;
    struct tw_kernel *kernel;
    const struct plan *plan;
    uint64_t address[TENSORS];
    struct shape shape[TENSORS];
    size_t bytes[TENSORS]; /* of D's buffer: the last */
    unsigned char *first, *again;
    int64_t record;
};

static struct tw_error error;

static void fine(int status)
{
    if (status != TW_OK)
        fprintf(stderr, "%s\n", error.text);
    assert_int_equal(status, TW_OK);
}

static void open(struct bench *b)
{
    const struct compile_choice choice = {.kernel = "gemm_stream", .arch = "sm_90a", .variant = "0"};
    const struct emu_options options = {.hazards = EMU_HAZARDS_FATAL};
    memset(b, 0, sizeof *b);
    assert_int_equal(compile_open(&b->c, "test_stream", "specs/gemm_split.lua"), 0);
    assert_int_equal(compile_units(&b->c, &choice), 0);
    fine(tw_runtime_init(&b->rt, &error));
    fine(tw_device_open_emu(&b->rt, &options, &b->device, &error));
    for (int i = 0; i < b->c.unit_count && !b->plan; i++)
        b->plan = b->c.unit[i].emitted ? &b->c.unit[i].plan : NULL;
    assert_non_null(b->plan);
    assert_int_equal(b->plan->tensor_count, TENSORS);
    for (int i = 0; i < b->plan->value_count; i++)
        if (strcmp(b->plan->value[i].name, "parts.record") == 0)
            b->record = b->plan->value[i].integer;
    assert_true(b->record > COUNTER);
}

static void close_bench(struct bench *b)
{
    tw_device_close(b->device);
    tw_runtime_close(&b->rt);
    compile_close(&b->c);
}

/* The text of the kernel, in which `from`, which stands there once, is `to`. */
static void load(struct bench *b, const char *from, const char *to)
{
    const char *text = NULL;
    for (int i = 0; i < b->c.unit_count; i++)
        text = &b->c.unit[i].plan == b->plan ? b->c.unit[i].source : text;
    assert_non_null(text);
    const char *at = from ? strstr(text, from) : text;
    assert_non_null(at);
    size_t before = (size_t)(at - text), cut = from ? strlen(from) : 0, room = strlen(text) + (to ? strlen(to) : 0) + 1;
    assert_true(!from || !strstr(at + cut, from));
    char *edited = malloc(room);
    assert_non_null(edited);
    snprintf(edited, room, "%.*s%s%s", (int)before, text, to ? to : "", at + cut);
    const struct tw_compile_request request = {.source = edited,
                                               .source_bytes = strlen(edited),
                                               .name = "/tilewright/stream.cu",
                                               .entry = b->plan->entry,
                                               .arch = b->plan->arch,
                                               .outputs = TW_OUTPUT_PTX,
                                               .generator = TW_GENERATOR};
    struct tw_compiled compiled = {0};
    fine(tw_compile_cached(&b->rt, &request, &compiled, &error));
    const struct tw_load how = {.ptx = compiled.ptx, .ptx_bytes = compiled.ptx_bytes, .entry = b->plan->entry};
    fine(tw_device_load(b->device, &how, &b->kernel, &error));
    tw_compiled_free(&b->rt, &compiled);
    free(edited);
}

/* Of some magnitudes, so that sums depend on their order. */
static double draw(uint64_t x)
{
    x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return ldexp((double)(int)(x >> 40 & 0xff) - 127.5, (int)(x >> 20 & 7) - 10);
}

static void fill(struct bench *b, const int64_t *symbol)
{
    for (int i = 0; i < TENSORS; i++) {
        fine(layout_shape(b->plan, i, symbol, &b->shape[i], &error));
        b->bytes[i] = (size_t)b->shape[i].extent[0] * (size_t)b->shape[i].stride[0] * 2;
        unsigned char *host = malloc(b->bytes[i]);
        assert_non_null(host);
        for (size_t e = 0; e < b->bytes[i] / 2; e++)
            tw_dtype_store(TW_BF16, host + 2 * e, draw(e * TENSORS + (uint64_t)i));
        fine(tw_device_alloc(b->device, b->bytes[i], &b->address[i], &error));
        fine(tw_device_upload(b->device, b->address[i], host, b->bytes[i], &error));
        free(host);
    }
    b->first = malloc(b->bytes[TENSORS - 1]);
    b->again = malloc(b->bytes[TENSORS - 1]);
    assert_true(b->first && b->again);
}

static void drain(struct bench *b)
{
    for (int i = 0; i < TENSORS; i++)
        tw_device_free(b->device, b->address[i]);
    free(b->first);
    free(b->again);
}

/* Counters are zero; of parts each is as it was, or zeros. */
static void look_at_workspace(const struct bench *b, const unsigned char *bytes, int64_t size)
{
    for (int64_t at = 0; at < size; at++) {
        const int64_t within = at < COUNTER ? 0 : (at - COUNTER) % b->record;
        assert_true(within < COUNTER ? bytes[at] == 0 : bytes[at] == 0 || bytes[at] == POISON);
    }
}

/* Two launches, the workspace poisoned before the first but for its counters; how many bytes of D differ from the very
 * first launch's. */
static int64_t launch_twice(struct bench *b, const int64_t *symbol, bool very_first)
{
    struct launch_arguments arguments = {.symbol = symbol, .address = b->address, .shape = b->shape};
    const int d = TENSORS - 1;
    int64_t size, different = 0;
    assert_true(expr_eval_int(&b->plan->graph, plan_number(b->plan->workspace), symbol, &size));
    size += b->plan->workspace_bytes;
    unsigned char *bytes = calloc(1, (size_t)size);
    assert_non_null(bytes);
    for (int64_t at = COUNTER; at < size; at += b->record)
        memset(bytes + at + COUNTER, POISON, (size_t)b->record - COUNTER);
    fine(tw_device_alloc(b->device, (size_t)size, &arguments.workspace, &error));
    fine(tw_device_upload(b->device, arguments.workspace, bytes, (size_t)size, &error));
    for (int launch = 0; launch < 2; launch++) {
        unsigned char *to = very_first && launch == 0 ? b->first : b->again;
        fine(launch_plan(b->device, b->kernel, b->plan, &arguments, NULL, &error));
        fine(tw_device_synchronize(b->device, &error));
        fine(tw_device_download(b->device, to, b->address[d], b->bytes[d], &error));
        fine(tw_device_download(b->device, bytes, arguments.workspace, (size_t)size, &error));
        look_at_workspace(b, bytes, size);
        for (size_t i = 0; i < b->bytes[d] && to == b->again; i++)
            different += b->first[i] != b->again[i];
    }
    tw_device_free(b->device, arguments.workspace);
    free(bytes);
    return different;
}

/* How many bytes differ over all completions and seeds. */
static int64_t differences(struct bench *b, int grid)
{
    const int64_t symbol[] = {grids[grid].m, grids[grid].n, grids[grid].k, grids[grid].sms};
    int64_t different = 0;
    emu_device_set_sms(b->device, grids[grid].sms);
    fill(b, symbol);
    for (int seed = 0; seed < rounds(2 + SEEDS); seed++) {
        emu_device_set_completion(b->device, seed > 1 ? EMU_RANDOM : seed ? EMU_LATE : EMU_EAGER);
        different += launch_twice(b, symbol, seed == 0);
    }
    drain(b);
    return different;
}

static void equal_whoever_is_last(void **state)
{
    (void)state;
    struct bench b;
    open(&b);
    load(&b, NULL, NULL);
    for (int grid = 0; grid < GRIDS; grid++)
        assert_int_equal(differences(&b, grid), 0);
    tw_device_unload(b.device, b.kernel);
    close_bench(&b);
}

/* Planted: the last block begins with its own sums. */
static void order_shows(void **state)
{
    (void)state;
    struct bench b;
    open(&b);
    load(&b, "if (parts.first < parts.own) {",
         "for (u32 taker = parts.first; taker < parts.own; ++taker) {\n"
         "            dot_sum_read(parts_at(args, parts, taker), part);\n"
         "            for (int i = 0; i < 8; ++i) {\n"
         "                sum[0][i * 4] += part[i].x;\n"
         "                sum[0][i * 4 + 1] += part[i].y;\n"
         "                sum[0][i * 4 + 2] += part[i].z;\n"
         "                sum[0][i * 4 + 3] += part[i].w;\n"
         "            }\n"
         "        }\n"
         "        if (false) {");
    assert_true(differences(&b, 0) > 0);
    tw_device_unload(b.device, b.kernel);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_whoever_is_last), cmocka_unit_test(order_shows)};
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
