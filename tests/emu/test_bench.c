/* bench SPEC without a GPU: kernels run on the emulator, beside a stand-in for cuBLASLt that multiplies as cublasLt.h
 * says, on a clock that a table of this file advances. What is verified, chosen, timed and written down is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "unit/check.h"

#include "bench/kernels.h"
#include "unit/time/clocked.h"

/* ---- times ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *kernel;
    struct clocked_work work;
} kernels[] = {
    {"plain", {1.00e-3, 1.25e-3, 700}},
    {"other", {1.10e-3, 1.15e-3, 600}},
    {"fused", {1.20e-3, 1.40e-3, 700}},
    {"", {1.00e-3, 1.25e-3, 700}},
};

/* Heuristics of the stand-in: what is wrong with some, and their times. */
enum what { FINE, WRONG, NO_STATE, NO_LAUNCH };
static const struct {
    enum what what;
    struct clocked_work work;
} heuristics[] = {
    {FINE, {1.30e-3, 1.50e-3, 700}},     {WRONG, {0.10e-3, 0.10e-3, 700}},
    {NO_STATE, {0.10e-3, 0.10e-3, 700}}, {NO_LAUNCH, {0.10e-3, 0.10e-3, 700}},
    {FINE, {0.95e-3, 1.45e-3, 700}}, /* the best of bursts */
    {FINE, {1.05e-3, 1.20e-3, 650}}, /* sustained */
    {FINE, {1.06e-3, 1.30e-3, 650}},     {FINE, {1.07e-3, 1.30e-3, 650}},
    {FINE, {2.00e-3, 1.00e-3, 650}}, /* would win sustained; bursts say that it is not worth a trial */
};
enum { HEURISTICS = sizeof heuristics / sizeof *heuristics, BEST_BURST = 4, BEST_SUSTAINED = 5 };

static struct bench bench;

/* ---- the stand-in for cuBLASLt ----------------------------------------------------------------------------------- */

/* A matrix by columns; an operation of two of them. */
struct layout {
    int type;
    uint64_t rows, columns;
    int64_t stride;
};
struct operation {
    int compute, scale_type, turned[2], fast;
    uint64_t scale[2];
};
static long objects;

static int lt_create(void **handle)
{
    objects++;
    *handle = malloc(1);
    return 0;
}

static int drop(void *object)
{
    objects--;
    free(object);
    return 0;
}
#define lt_destroy drop
#define lt_operation_destroy drop
#define lt_layout_destroy drop
#define lt_preference_destroy drop
#define lt_preference_create lt_create

static int lt_operation_create(void **out, int compute, int scale_type)
{
    struct operation *o = calloc(1, sizeof *o);
    objects++;
    o->compute = compute;
    o->scale_type = scale_type;
    *out = o;
    return 0;
}

static int lt_operation_set(void *operation, int attribute, const void *value, size_t bytes)
{
    struct operation *o = operation;
    void *to = attribute == 3    ? (void *)&o->turned[0]
               : attribute == 4  ? (void *)&o->turned[1]
               : attribute == 17 ? (void *)&o->scale[0]
               : attribute == 18 ? (void *)&o->scale[1]
               : attribute == 25 ? (void *)&o->fast
                                 : NULL;
    if (!to)
        return 7;
    memcpy(to, value, bytes);
    return 0;
}

static int lt_layout_create(void **out, int type, uint64_t rows, uint64_t columns, int64_t stride)
{
    struct layout *l = calloc(1, sizeof *l);
    objects++;
    *l = (struct layout){type, rows, columns, stride};
    *out = l;
    return 0;
}

static int lt_layout_set(void *layout, int attribute, const void *value, size_t bytes)
{
    (void)layout, (void)attribute, (void)value, (void)bytes;
    return 7;
}

static int lt_preference_set(void *preference, int attribute, const void *value, size_t bytes)
{
    uint64_t workspace;
    (void)preference;
    memcpy(&workspace, value, bytes);
    return attribute == 1 && bytes == 8 && workspace == 64 << 20 ? 0 : 7;
}

static int lt_heuristics(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference, int most,
                         struct cublaslt_heuristic *found, int *count)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    for (*count = 0; *count < HEURISTICS && *count < most; ++*count) {
        found[*count].algorithm[0] = (uint64_t)*count;
        found[*count].state = heuristics[*count].what == NO_STATE ? 15 : 0;
    }
    return 0;
}

static enum tw_dtype dtype_of(const struct operation *o, int type)
{
    return type == 14   ? TW_BF16
           : type == 28 ? TW_FP8_E4M3
           : type == 29 ? TW_FP8_E5M2
           : type == 3  ? TW_INT8
           : type == 10 ? TW_INT32
           : type == 0  ? o->compute == 77 ? TW_TF32 : TW_FP32
                        : TW_FP64;
}

static double *take(const struct operation *o, const struct layout *l, uint64_t address)
{
    enum tw_dtype dtype = dtype_of(o, l->type);
    size_t bytes = tw_dtype_bytes(dtype), count = ((l->columns - 1) * (size_t)l->stride + l->rows);
    unsigned char *raw = malloc(count * bytes);
    double *values = calloc(l->rows * l->columns, sizeof *values);
    assert_int_equal(tw_device_download(bench.device, raw, address, count * bytes, NULL), TW_OK);
    for (size_t c = 0; c < l->columns; c++)
        for (size_t r = 0; r < l->rows; r++)
            values[c * l->rows + r] = tw_dtype_load(dtype, raw + (c * (size_t)l->stride + r) * bytes);
    free(raw);
    return values;
}

static double scale_of(const struct operation *o, int i)
{
    float scale = 1;
    if (o->scale[i])
        assert_int_equal(tw_device_download(bench.device, &scale, o->scale[i], sizeof scale, NULL), TW_OK);
    return (double)scale;
}

static double number(const struct operation *o, const void *from)
{
    float real;
    int32_t whole;
    memcpy(&real, from, sizeof real);
    memcpy(&whole, from, sizeof whole);
    return o->scale_type == 10 ? whole : (double)real;
}

static int lt_matmul(void *handle, void *operation, const void *alpha, uint64_t a, void *of_a, uint64_t b, void *of_b,
                     const void *beta, uint64_t c, void *of_c, uint64_t d, void *of_d, const uint64_t *algorithm,
                     uint64_t workspace, size_t bytes, void *stream)
{
    const struct operation *o = operation;
    const struct layout *la = of_a, *lb = of_b, *ld = of_d;
    const uint64_t which = algorithm[0];
    (void)handle, (void)stream;
    assert_true(workspace != 0 && bytes == 64 << 20 && c == d && of_c == of_d);
    if (heuristics[which].what == NO_LAUNCH)
        return 15;
    uint64_t depth = o->turned[0] ? la->rows : la->columns;
    assert_int_equal(o->turned[0] ? la->columns : la->rows, ld->rows);
    assert_int_equal(o->turned[1] ? lb->rows : lb->columns, ld->columns);
    assert_int_equal(o->turned[1] ? lb->columns : lb->rows, depth);
    double *x = take(o, la, a), *y = take(o, lb, b);
    enum tw_dtype dtype = ld->type == 0 ? TW_FP32 : dtype_of(o, ld->type);
    size_t element = tw_dtype_bytes(dtype), count = ((ld->columns - 1) * (size_t)ld->stride + ld->rows) * element;
    unsigned char *out = calloc(count, 1);
    double factor = number(o, alpha) * scale_of(o, 0) * scale_of(o, 1);
    assert_true(number(o, beta) == 0.0 && number(o, alpha) == 1.0);
    for (size_t n = 0; n < ld->columns; n++)
        for (size_t m = 0; m < ld->rows; m++) {
            double sum = 0;
            for (size_t k = 0; k < depth; k++)
                sum += (o->turned[0] ? x[m * la->rows + k] : x[k * la->rows + m]) *
                       (o->turned[1] ? y[k * lb->rows + n] : y[n * lb->rows + k]);
            tw_dtype_store(dtype, out + (n * (size_t)ld->stride + m) * element,
                           heuristics[which].what == WRONG && m % 2 ? sum + 3 : sum * factor);
        }
    assert_int_equal(tw_device_upload(bench.device, d, out, count, NULL), TW_OK);
    free(x);
    free(y);
    free(out);
    clocked_launch(&heuristics[which].work);
    return 0;
}

static int cublaslt;
static bool no_cublaslt;
static struct tw_loader real_loader;

static void *open_library(void *self, const char *name, int global, const char **why)
{
    if (!strstr(name, "cublasLt"))
        return real_loader.open(self, name, global, why);
    *why = "there is none";
    return no_cublaslt ? NULL : &cublaslt;
}

static void *find_symbol(void *self, void *library, const char *name)
{
    void *address = NULL;
    if (library != &cublaslt)
        return real_loader.symbol(self, library, name);
#define CUBLASLT_CALL(field, symbol, arguments)                                                                        \
    if (strcmp(name, symbol) == 0) {                                                                                   \
        int(*call) arguments = lt_##field;                                                                             \
        memcpy(&address, &call, sizeof address);                                                                       \
    }
#include "bench/cublaslt_calls.def"
#undef CUBLASLT_CALL
    return address;
}

static void close_library(void *self, void *library)
{
    if (library != &cublaslt)
        real_loader.close(self, library);
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static const struct tw_device_ops *emulator;
static struct tw_device_ops ops;
static struct tw_driver driver;
static const char *broken; /* the kernel that does nothing, */
static int sound;          /* but for so many launches */

static int launch(struct tw_device *device, const struct tw_launch *l, struct tw_error *error)
{
    size_t i = 0, entries = sizeof kernels / sizeof *kernels;
    while (i + 1 < entries && strncmp(l->kernel->entry, kernels[i].kernel, strlen(kernels[i].kernel)) != 0)
        i++;
    clocked_launch(&kernels[i].work);
    if (broken && strncmp(l->kernel->entry, broken, strlen(broken)) == 0 && --sound < 0)
        return TW_OK;
    return emulator->launch(device, l, error);
}

static char folder[] = "/tmp/tw_bench_XXXXXX", library[64], rows_file[64];

static const char *spec = "tests/emu/bench.lua", *set; /* what is benched, and on other sizes than its own */

/* Opens a kernel's bench, NULL: all; then puts clock, libraries and launches in the place of the emulator's. */
static void begin(const char *kernel)
{
    memset(&bench, 0, sizeof bench);
    bench.options = (struct bench_options){.spec = spec,
                                           .kernel = kernel,
                                           .device = "emu",
                                           .json = rows_file,
                                           .peer = BENCH_PEER_CUBLASLT,
                                           .mode = {true, true},
                                           .rounds = 3};
    bench.options.set.item[0] = set;
    bench.options.set.count = set != NULL;
    assert_int_equal(bench_begin(&bench), 0);
    struct tw_runtime *rt = &bench.compile.rt;
    emulator = bench.device->ops;
    ops = *emulator;
    ops.kind = "stand-in";
    ops.launch = launch;
    bench.device->ops = &ops;
    bench.device->l2_bytes = 1 << 14;
    bench.device->rt = rt;
    driver = *bench.device->driver;
    real_loader = rt->loader;
    rt->loader.open = open_library;
    rt->loader.symbol = find_symbol;
    rt->loader.close = close_library;
    clocked_begin(&driver, rt);
    bench.device->driver = &driver;
    setenv("CUDA_HOME", folder, 1);
    broken = NULL;
    sound = 0;
}

static void end(void)
{
    bench_end(&bench);
    assert_int_equal(clocked.live, 0);
    assert_int_equal(objects, 0);
    unsetenv("CUDA_HOME");
}

static const struct bench_result *row(const char *kernel, const char *backend, enum time_mode mode)
{
    const struct bench_result *found = NULL;
    for (int i = 0; i < bench.rows; i++) {
        const struct bench_result *r = &bench.row[i];
        if (strcmp(r->kernel, kernel) == 0 && strcmp(r->backend, backend) == 0 && r->mode == mode) {
            assert_null(found);
            found = r;
        }
    }
    return found;
}

static void is(const char *kernel, const char *backend, enum time_mode mode, double seconds, double ratio)
{
    const struct bench_result *r = row(kernel, backend, mode);
    if (!r || fabs(r->time.median - seconds) > 2e-3 * seconds || fabs(r->ratio - ratio) > 2e-3 * ratio)
        fail_msg("%s %s %s: %g s, ratio %g; %g and %g were to be", kernel, backend, time_mode_word[mode],
                 r ? r->time.median : 0, r ? r->ratio : 0, seconds, ratio);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const char *const field[] = {
#define JSON_FIELD(commands, path, type, doc) commands, path, type,
#include "common/json_fields.def"
#undef JSON_FIELD
};

/* Rows have the fields that are listed for them, and no others. */
static void check_json(int rows)
{
    struct json_object *list = json_object_from_file(rows_file);
    assert_int_equal(json_object_array_length(list), rows);
    for (int i = 0; i < rows; i++) {
        struct json_object *one = json_object_array_get_idx(list, (size_t)i), *value = NULL;
        int listed = 0;
        for (size_t f = 0; f < sizeof field / sizeof *field; f += 3) {
            if (strcmp(field[f], "bench") != 0 || strncmp(field[f + 1], "[].", 3) != 0 || strchr(field[f + 1] + 3, '.'))
                continue;
            listed++;
            if (!json_object_object_get_ex(one, field[f + 1] + 3, &value))
                fail_msg("row %d lacks %s", i, field[f + 1]);
            if (strcmp(field[f + 2], "text") == 0)
                assert_int_equal(json_object_get_type(value), json_type_string);
        }
        assert_int_equal(json_object_object_length(one), listed);
        assert_true(json_object_object_get_ex(one, "problem_size", &value));
        assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                            "{\"M\":136,\"N\":72,\"K\":64}");
    }
    json_object_put(list);
}

/* Kernels of one problem are one run; each mode has its own best heuristic; the wrong ones are left out. */
static void one_group(void **state)
{
    (void)state;
    begin(NULL);
    broken = "wrong";
    bench.groups = 1; /* that of "plain" */
    assert_int_equal(bench.group[0].count, 4);
    assert_int_equal(bench_all(&bench), 1);
    assert_int_equal(bench.failed, 1);
    assert_int_equal(bench.rows, 2 * (3 + 2));
    double burst = heuristics[BEST_BURST].work.cool, sustained = heuristics[BEST_SUSTAINED].work.hot;
    for (int i = 0; i < 3; i++) {
        is(kernels[i].kernel, "tilewright", TIME_BURST, kernels[i].work.cool, burst / kernels[i].work.cool);
        is(kernels[i].kernel, "tilewright", TIME_SUSTAINED, kernels[i].work.hot, sustained / kernels[i].work.hot);
        assert_int_equal(row(kernels[i].kernel, "tilewright", TIME_BURST)->plain, i < 2);
    }
    is("plain", "cublaslt", TIME_BURST, burst, 1);
    is("plain", "cublaslt", TIME_SUSTAINED, sustained, 1);
    is("plain", "cublaslt_first", TIME_BURST, heuristics[0].work.cool, burst / heuristics[0].work.cool);
    is("plain", "cublaslt_first", TIME_SUSTAINED, heuristics[0].work.hot, sustained / heuristics[0].work.hot);
    assert_null(row("wrong", "tilewright", TIME_BURST));
    const struct bench_result *r = row("plain", "tilewright", TIME_SUSTAINED);
    assert_true(r->flops == 2.0 * 136 * 72 * 64 && r->bytes == 2.0 * (136 * 64 + 72 * 64 + 136 * 72));
    assert_true(r->sets == 2 && r->time.rounds == 1 && r->time.clock_mhz == 1400);
    assert_true(fabs(r->time.joules - 700 * kernels[0].work.hot) < 1e-3);
    check_json(bench.rows);
    bench.groups = 13;
    end();
}

/* What its meaning finds right, and the peer's D does not, is not timed either. */
static void wrong_beside_peer(void **state)
{
    (void)state;
    begin("plain");
    broken = "plain";
    sound = 1;
    assert_int_equal(bench_all(&bench), 1);
    assert_int_equal(bench.failed, 1);
    assert_int_equal(bench.rows, 0);
    end();
}

/* In every layout and type the stand-in, which reads its arguments as cublasLt.h says, comes to the kernel's D. */
static void all_problems(void **state)
{
    static const struct {
        const char *kernel;
        int compute, fast;
    } problem[] = {{"at", 68, 0},    {"bt", 68, 0},       {"at_bt", 68, 0}, {"dt", 68, 0},   {"at_dt", 68, 0},
                   {"bt_dt", 68, 0}, {"at_bt_dt", 68, 0}, {"fp8", 68, 1},   {"int8", 72, 0}, {"tf32", 77, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof problem / sizeof *problem; i++) {
        begin(problem[i].kernel);
        assert_int_equal(bench.groups, 1);
        bench.options.mode[TIME_SUSTAINED] = false;
        assert_int_equal(bench_all(&bench), 0);
        assert_int_equal(bench.rows, 3);
        is(problem[i].kernel, "cublaslt", TIME_BURST, heuristics[BEST_BURST].work.cool, 1);
        const struct operation *o = bench.lt.operation;
        assert_int_equal(o->compute, problem[i].compute);
        assert_int_equal(o->fast, problem[i].fast);
        assert_int_equal(o->scale[0] != 0, problem[i].fast);
        assert_int_equal(o->scale_type, problem[i].compute == 72 ? 10 : 0);
        end();
    }
}

/* Groups of rows that data decide: operations and bytes are of the rows that are there, and the peer is one product of
 * all of them, with one B. */
static void groups_of_rows(void **state)
{
    static const struct {
        const char *kernel;
        double rows, of_b, data; /* all groups' rows, groups of B that are read, bytes of counts or numbers */
    } grouped[] = {{"masked", 70 + 136, 2, 3 * 4}, {"contiguous", 64 + 8, 3, 3 * 4}};
    (void)state;
    for (size_t i = 0; i < sizeof grouped / sizeof *grouped; i++) {
        const double rows = grouped[i].rows, n = 72, k = 64;
        begin(grouped[i].kernel);
        bench.options.mode[TIME_SUSTAINED] = false;
        assert_int_equal(bench_all(&bench), 0);
        assert_int_equal(bench.rows, 3);
        is(grouped[i].kernel, "cublaslt", TIME_BURST, heuristics[BEST_BURST].work.cool, 1);
        const struct bench_result *own = row(grouped[i].kernel, "tilewright", TIME_BURST);
        const struct bench_result *peer = row(grouped[i].kernel, "cublaslt", TIME_BURST);
        assert_true(fabs(own->flops - 2 * rows * n * k) < 1);
        assert_true(fabs(own->bytes - 2 * (rows * k + grouped[i].of_b * n * k + rows * n) - grouped[i].data) < 1);
        assert_true(peer->flops == 2 * rows * n * k && peer->bytes == 2 * (rows * k + n * k + rows * n));
        assert_true(!own->plain && peer->plain);
        end();
    }
}

static const struct clocked_work of_copy = {0.8e-3, 0.8e-3, 300};

static int copy_async(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    unsigned char *through = malloc(bytes);
    (void)stream;
    assert_int_equal(tw_device_download(bench.device, through, from, bytes, NULL), TW_OK);
    assert_int_equal(tw_device_upload(bench.device, to, through, bytes, NULL), TW_OK);
    free(through);
    clocked_launch(&of_copy);
    return 0;
}

/* Copies by bulk copies and by threads are one problem, beside them the driver's; boxes are counted. */
static void copies(void **state)
{
    (void)state;
    spec = "specs/tile_copy.lua", set = "H=200,W=136";
    for (int i = 0; i < 3; i++) {
        const char *const only = i == 0 ? NULL : i == 1 ? "tile_copy_direct" : "tile_copy_64B";
        begin(only);
        bench.options.mode[TIME_SUSTAINED] = false;
        bench.options.peer = i == 2 ? BENCH_PEER_NONE : BENCH_PEER_AUTO;
        no_cublaslt = true;
        driver.copy_on_device_async = copy_async;
        assert_int_equal(bench.groups, i == 0 ? 3 : 1); /* a matrix; slabs to slabs; slabs to one */
        assert_int_equal(bench_all(&bench), 0);
        const struct bench_result *peer = row(i ? only : bench.row[0].kernel, "memcpy", TIME_BURST);
        if (i == 0) {
            assert_int_equal(bench.rows, bench.kernels + bench.groups);
            is(bench.row[0].kernel, "memcpy", TIME_BURST, 0.8e-3, 1);
            is("tile_copy", "tilewright", TIME_BURST, 1e-3, 0.8);
            assert_true(peer->bytes == 2.0 * 2 * 200 * 136 && peer->boxes == 0.0 && peer->plain);
            assert_true(row("tile_copy", "tilewright", TIME_BURST)->boxes == 4 * 3);
            assert_true(row("tile_copy_32B", "tilewright", TIME_BURST)->boxes == 4 * 3 * 4);
            assert_true(row("tile_copy_direct", "tilewright", TIME_BURST)->boxes == 0.0);
        } else {
            assert_null(peer); /* a kernel that is not known to copy; no peer wanted */
            assert_int_equal(bench.rows, 1);
        }
        end();
    }
    no_cublaslt = false;
    spec = "tests/emu/bench.lua", set = NULL;
}

/* Without the library: a fault where it is asked for, else rows without ratios. */
static void no_library(void **state)
{
    (void)state;
    no_cublaslt = true;
    begin("plain");
    assert_int_equal(bench_all(&bench), 3);
    end();
    begin("plain");
    bench.options.peer = BENCH_PEER_AUTO;
    assert_int_equal(bench_all(&bench), 0);
    assert_int_equal(bench.rows, 2);
    assert_true(row("plain", "tilewright", TIME_BURST)->ratio == 0.0);
    check_json(bench.rows);
    end();
    no_cublaslt = false;
}

static int begin_all(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(library, sizeof library, "%s/lib", folder);
    assert_int_equal(mkdir(library, 0700), 0);
    snprintf(library, sizeof library, "%s/lib/libcublasLt.so.13", folder);
    snprintf(rows_file, sizeof rows_file, "%s/rows.json", folder);
    fclose(fopen(library, "w"));
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    unlink(library);
    unlink(rows_file);
    snprintf(library, sizeof library, "%s/lib", folder);
    rmdir(library);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_group),    cmocka_unit_test(wrong_beside_peer),
                                       cmocka_unit_test(all_problems), cmocka_unit_test(groups_of_rows),
                                       cmocka_unit_test(copies),       cmocka_unit_test(no_library)};
    return cmocka_run_group_tests_name("bench", tests, begin_all, end_all);
}
