/* The search for set-ups by a clock that is none: what is measured, kept, resumed and written. */
#include "unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "time/time.h"
#include "tune/clock.h"
#include "tune/journal.h"
#include "tune/rows.h"
#include "tune/tune.h"
#include "unit/runtime/fake_cuda.h"
#include "unit/time/clocked.h"

static char folder[] = "/tmp/tilewright_tune_XXXXXX";
static char spec[128], tuned[128], journal[160];

static const char text[] =
    "local M, N, K = dims \"M N K\"\n"
    "kernel \"other\" { family = \"gemm\", A = tensor { M, K, dtype = \"bf16\" }, B = tensor { N, K, dtype = \"bf16\" "
    "},\n"
    "  D = tensor { M, N, dtype = \"bf16\" }, tile = { m = 128, n = 64, k = 64 } }\n"
    "kernel \"gemm\" { family = \"gemm\", A = tensor { M, K, dtype = \"bf16\" }, B = tensor { N, K, dtype = \"bf16\" "
    "},\n"
    "  D = tensor { M, N, dtype = \"bf16\" }, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 },\n"
    "  tune = { tile = { m = { 64, 128 }, n = { 64, 128, 192 } }, cluster = { m = { 1, 2 } } },\n"
    "  bench = { { M = 64, N = 4096, K = 4096 }, { M = 4096, N = 4096, K = 4096 } } }\n";

static void write_file(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(bytes, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path)
{
    static char buffers[4][1 << 16];
    static int next;
    char *to = buffers[next++ % 4];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(to, 1, sizeof *buffers - 1, file) : 0;
    to[n] = 0;
    if (file)
        fclose(file);
    return to;
}

/* A time that the tile, the stages and the sizes make, the same each time; stages of 3 are the best of all, which no
 * product has. fail_at: the job that does not return, as that of a killed process. */
struct fake {
    int jobs, times, fail_at;
    int read_cached[2], written_cached[2]; /* set-ups that say what the L2 keeps; [1]: whose products take longest */
};

static void count_cached(struct fake *f, const struct plan *p, const int64_t *symbol)
{
    const struct model_device device = model_device_of("sm_90a");
    const enum model_limit limit = model_time(p, symbol, &device).limit;
    const bool products = limit == MODEL_TENSOR || limit == MODEL_SHARED;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].cache || p->tensor[i].prefetch)
            ++*(p->tensor[i].out ? &f->written_cached[products] : &f->read_cached[products]);
}

static double time_of(const struct plan *p, const int64_t *symbol)
{
    double ns = 1000.0 + 10.0 * p->ring[0].stages + p->launch.cluster[0];
    ns += strcmp(p->mma[0].kind, "mma.sync") == 0 ? 500.0 : 0.0;
    for (int i = 0; i < p->item_count; i++) {
        const double wanted = symbol[0] < 100 ? 64.0 : 192.0;
        ns += p->item[i].tile > wanted ? p->item[i].tile - wanted : wanted - p->item[i].tile;
    }
    return ns;
}

static int measure(void *context, const struct tune_job *job, double *ns, struct tw_error *error)
{
    struct fake *f = context;
    if (++f->jobs == f->fail_at)
        return tw_fail(error, TW_ERROR_DRIVER, "the device is gone");
    for (int i = 0; i < job->count; i++) {
        const struct plan *p = &job->compile->unit[job->unit[i]].plan;
        ns[i] = time_of(p, job->symbol) + (job->brief ? 0.0 : 0.5);
        count_cached(f, p, job->symbol);
    }
    f->times += job->count;
    return TW_OK;
}

static int run(struct fake *f, bool resume, bool burst)
{
    const struct tune_clock clock = {.measure = measure, .context = f, .gpu = "Mock GPU", .no_code = true};
    const struct tune_options o = {.spec = spec, .arch = "sm_90a", .resume = resume, .burst = burst};
    return tune_run(&o, &clock);
}

static void begin(const char *file)
{
    unlink(journal);
    unlink(tuned);
    write_file(spec, text);
    if (file)
        write_file(tuned, file);
}

/* A tile that says what is computed, the keys of a block that lists name, has no other beside it. */
static void test_meaning(void **state)
{
    (void)state;
    static const char sparse[] =
        "local B, T, G = dims \"B T G\"\n"
        "local function keys() return tensor { B, T, G, 64, dtype = \"bf16\" } end\n"
        "local function queries() return tensor { B, T, G, 16, 64, dtype = \"bf16\" } end\n"
        "kernel \"sparse\" { family = \"nsa\", Q = queries(), K = keys(), V = keys(), O = queries(),\n"
        "  blocks = tensor { B, T, G, 8, dtype = \"int32\" }, tile = { kv = 32 }, arch = { sm_90a = {} },\n"
        "  bench = { { B = 1, T = 512, G = 1 } } }\n";
    const struct tune_options o = {.spec = spec, .kernel = "sparse", .arch = "sm_90a"};
    char *told = NULL;
    size_t bytes = 0;
    begin(NULL);
    write_file(spec, sparse);
    FILE *out = open_memstream(&told, &bytes);
    assert_non_null(out);
    assert_int_equal(tune_list(&o, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(told, "together: tile.h 8, 32 (offered)"));
    assert_null(strstr(told, "tile.kv"));
    free(told);
}

/* The best at each size is found, a field that is offered among them, and rows of others stay. */
static void test_search(void **state)
{
    struct fake f = {0};
    (void)state;
    begin("tuned \"other\" { gpu = \"Mock GPU\", arch = \"sm_90a\", { M = 8, N = 8, K = 8, us = 3 } }\n"
          "tuned \"gemm\" { gpu = \"Mock GPU\", arch = \"sm_90a\", { M = 64, N = 4096, K = 4096, us = 3 },\n"
          "  { M = 8, N = 8, K = 8, use = { tile = { n = 64 } } } }\n"
          "tuned \"gemm\" { gpu = \"A GPU\", arch = \"sm_90a\", { M = 64, N = 4096, K = 4096, use = { cluster = { m = "
          "1 } } } }\n");
    assert_int_equal(run(&f, false, false), 0);
    assert_string_equal(read_file(tuned),
                        "-- The quickest set-ups of this spec's kernels, by GPU and sizes: made by `tilewright tune`, "
                        "which keeps the rows\n"
                        "-- that it does not measure again. us: of a launch; ratio: the best peer's time by it.\n"
                        "tuned \"other\" { gpu = \"Mock GPU\", arch = \"sm_90a\",\n"
                        "  { M = 8, N = 8, K = 8, mode = \"sustained\", use = {}, us = 3.00 },\n"
                        "}\n"
                        "tuned \"gemm\" { gpu = \"A GPU\", arch = \"sm_90a\",\n"
                        "  { M = 64, N = 4096, K = 4096, mode = \"sustained\", use = { cluster = { m = 1 } } },\n"
                        "}\n"
                        "tuned \"gemm\" { gpu = \"Mock GPU\", arch = \"sm_90a\",\n"
                        "  { M = 8, N = 8, K = 8, mode = \"sustained\", use = { tile = { n = 64 } } },\n"
                        "  { M = 64, N = 4096, K = 4096, mode = \"sustained\", use = { cluster = { m = 1 }, "
                        "pipeline = "
                        "{ stages = 3 }, tile "
                        "= { k = 128, m = 64, n = 64 } }, us = 1.03 },\n"
                        "  { M = 4096, N = 4096, K = 4096, mode = \"sustained\", use = { cluster = { m = 1 }, tile = { "
                        "k = 128, n = 192 } }, "
                        "us = 1.09 },\n"
                        "}\n");
    /* What the L2 keeps of what is read is not tried where products take longest. */
    assert_true(f.read_cached[0] > 0);
    assert_int_equal(f.read_cached[1], 0);
    assert_true(f.written_cached[1] > 0);
    assert_int_not_equal(access(journal, F_OK), 0);
}

/* Wherever it is interrupted, going on gives the same file and measures nothing twice. */
static void test_resume(void **state)
{
    struct fake whole = {0};
    (void)state;
    begin(NULL);
    assert_int_equal(run(&whole, false, true), 0);
    const char *expected = read_file(tuned);
    assert_true(whole.jobs >= 6);
    for (int at = 1; at <= whole.jobs; at += 3) {
        struct fake broken = {.fail_at = at}, after = {0};
        begin(NULL);
        assert_int_equal(run(&broken, false, true), 3);
        assert_int_not_equal(access(tuned, F_OK), 0);
        FILE *file = fopen(journal, "a"); /* the line of a process that was killed */
        fputs("12.5\tlook\tgemm\tsm_90a", file);
        fclose(file);
        assert_int_equal(run(&after, true, true), 0);
        assert_string_equal(read_file(tuned), expected);
        assert_int_equal(broken.times + after.times, whole.times);
    }
}

/* Rows are measured again beside the kernel's own set-up, which comes back where it is quicker; other GPUs' and the
 * other mode's stay. */
static void test_again(void **state)
{
    struct fake f = {0};
    const struct tune_clock clock = {.measure = measure, .context = &f, .gpu = "Mock GPU", .no_code = true};
    const struct tune_options o = {.spec = spec, .device = {132, 1e9}};
    (void)state;
    begin("tuned \"gemm\" { gpu = \"Mock GPU\", arch = \"sm_90a\",\n"
          "  { M = 64, N = 64, K = 64, use = { tile = { m = 64, n = 64 } }, us = 9, ratio = 1.5 },\n"
          "  { M = 64, N = 128, K = 64, use = { tile = { n = 192 } }, us = 9 },\n"
          "  { M = 64, N = 256, K = 64, us = 9 },\n"
          "  { M = 64, N = 64, K = 64, mode = \"burst\", use = { tile = { n = 64 } }, us = 9 } }\n"
          "tuned \"gemm\" { gpu = \"A GPU\", arch = \"sm_90a\", { M = 64, N = 64, K = 64, us = 9 } }\n");
    assert_int_equal(tune_again(&o, &clock), 0);
    assert_int_equal(f.jobs, 3);
    const char *got = read_file(tuned);
    assert_non_null(strstr(got,
                           "gpu = \"A GPU\", arch = \"sm_90a\",\n  { M = 64, N = 64, K = 64, mode = \"sustained\", use "
                           "= {}, us = 9.00 },\n"));
    assert_non_null(
        strstr(got, "{ M = 64, N = 64, K = 64, mode = \"sustained\", use = { tile = { m = 64, n = 64 } }, us = 1."));
    assert_non_null(
        strstr(got, "{ M = 64, N = 64, K = 64, mode = \"burst\", use = { tile = { n = 64 } }, us = 9.00 },\n"));
    assert_non_null(strstr(got, "{ M = 64, N = 128, K = 64, mode = \"sustained\", use = {}, us = 1."));
    assert_non_null(strstr(got, "{ M = 64, N = 256, K = 64, mode = \"sustained\", use = {}, us = 1."));
    assert_null(strstr(got, "ratio ="));
}

/* A journal of another spec is refused, one that is not resumed is begun anew. */
static void test_stale(void **state)
{
    struct fake broken = {.fail_at = 3}, after = {0}, again = {0};
    (void)state;
    begin(NULL);
    assert_int_equal(run(&broken, false, false), 3);
    FILE *file = fopen(spec, "a");
    fputs("-- another text\n", file);
    fclose(file);
    assert_int_equal(run(&after, true, false), 1);
    assert_int_equal(after.jobs, 0);
    assert_int_equal(run(&again, false, false), 0);
    assert_int_not_equal(access(journal, F_OK), 0);
}

/* The file's text comes back as it was, whatever the rows. */
static void test_round_trip(void **state)
{
    static const char *const use[] = {"", "tile = { m = 64 }", "cluster = { m = 1 }, tile = { n = 64 }",
                                      "pipeline = { stages = 3, turns = true }, schedule = { order = \"row\" }"};
    struct compile c;
    struct arena arena = {0};
    struct tune_rows rows = {0};
    int64_t value[40][3];
    (void)state;
    begin(NULL);
    assert_int_equal(compile_open(&c, "tune", spec), 0);
    for (int i = 0; i < 40; i++) {
        struct tune_row row = {.kernel = i % 2};
        for (int d = 0; d < 3; d++)
            value[i][d] = 1 + (i * 7919 + d * 104729) % 977;
        row.tuned = (struct spec_tuned){.gpu = i % 3 ? "One" : "Two GPU",
                                        .arch = i % 5 ? "sm_90a" : "sm_80",
                                        .value = value[i],
                                        .burst = i % 7 == 0,
                                        .use = i % 5 ? use[i % 4] : "",
                                        .us = i * 1.37,
                                        .ratio = i % 2 ? 0.5 + i / 64.0 : 0.0};
        assert_int_equal(tune_rows_put(&c.spec, &rows, row, &arena), 0);
    }
    const char *first = tune_rows_text(&c.spec, &rows, &arena);
    compile_close(&c);
    write_file(tuned, first);
    assert_int_equal(compile_open(&c, "tune", spec), 0);
    struct tune_rows read = {0};
    assert_int_equal(tune_rows_of(&c.spec, &read, &arena), 0);
    assert_int_equal(read.count, 40);
    assert_string_equal(tune_rows_text(&c.spec, &read, &arena), first);
    compile_close(&c);
    arena_free(&arena);
}

/* A row that is exact stays so where it is measured again with the same set-up, and with another is not. */
static void test_exact(void **state)
{
    struct compile c;
    struct arena arena = {0};
    struct tune_rows rows = {0};
    int64_t value[3] = {64, 64, 64};
    struct tune_row row = {.tuned = {.gpu = "One", .arch = "sm_90a", .value = value, .use = "tile = { m = 64 }"}};
    (void)state;
    begin(NULL);
    assert_int_equal(compile_open(&c, "tune", spec), 0);
    assert_int_equal(tune_rows_put(&c.spec, &rows, row, &arena), 0);
    row.tuned.exact = -1;
    assert_int_equal(tune_rows_put(&c.spec, &rows, row, &arena), 0);
    assert_int_equal(rows.count, 1);
    assert_non_null(strstr(tune_rows_text(&c.spec, &rows, &arena), "exact = true"));
    row.tuned.use = "tile = { n = 64 }";
    assert_int_equal(tune_rows_put(&c.spec, &rows, row, &arena), 0);
    assert_int_equal(rows.count, 1);
    assert_null(strstr(tune_rows_text(&c.spec, &rows, &arena), "exact"));
    compile_close(&c);
    arena_free(&arena);
}

/* A field more, another value of one that is there, a group that is there. */
static void test_with(void **state)
{
    struct arena arena = {0};
    (void)state;
    assert_string_equal(tune_with("", "tile.m", "64", &arena), "tile = { m = 64 }");
    assert_string_equal(tune_with("tile = { m = 64 }", "tile.m", "256", &arena), "tile = { m = 256 }");
    assert_string_equal(tune_with("tile = { k = 8, m = 64, n = 32 }", "tile.m", "256", &arena),
                        "tile = { k = 8, m = 256, n = 32 }");
    assert_string_equal(tune_with("cluster = { m = 2 }, tile = { n = 64 }", "tile.m", "8", &arena),
                        "cluster = { m = 2 }, tile = { m = 8, n = 64 }");
    assert_string_equal(tune_with("tile = { n = 64 }", "l2_promotion", "\"64B\"", &arena),
                        "tile = { n = 64 }, l2_promotion = \"64B\"");
    arena_free(&arena);
}

/* ---- planted latencies, found by the measuring core on a simulated clock ---------------------------------------- */

/* What a launch takes differs from one to the next, and on a board that is hot. */
enum { LOADING_MS = 700, SETS = 2 };
struct planted {
    struct tw_device *device;
    struct clocked_work work[1024];
    double least[2]; /* that was asked for at the first and at the second of the sizes, in a cool board's seconds */
    int jobs, untimed, timed;
    const struct compile *compile;
};

static int launch_planted(void *context, int set, struct tw_error *error)
{
    (void)set, (void)error;
    clocked_launch(context);
    return TW_OK;
}

static double planted_now(void *context)
{
    (void)context;
    return clocked.host;
}

static int measure_planted(void *context, const struct tune_job *job, double *ns, struct tw_error *error)
{
    static struct time_candidate candidate[1024];
    static struct time_result result[1024][TIME_MODES];
    struct planted *p = context;
    const enum time_mode mode = job->burst ? TIME_BURST : TIME_SUSTAINED;
    struct time_options options = tune_time_options(job, SETS);
    const double from = clocked.host;
    double *least = &p->least[job->symbol[0] > 100];
    int failed;
    assert_true(job->count <= 1024);
    for (int i = 0; i < job->count; i++) {
        const double us = time_of(&job->compile->unit[job->unit[i]].plan, job->symbol) - 1000.0;
        p->work[i] = (struct clocked_work){1e-6 * us, 1.2e-6 * us, 700};
        candidate[i] = (struct time_candidate){launch_planted, &p->work[i]};
        *least = *least <= 0 || 1e-6 * us < *least ? 1e-6 * us : *least;
    }
    if (p->compile != job->compile) /* compiled and loaded before it is timed */
        clocked.host += 1e-3 * LOADING_MS;
    p->compile = job->compile;
    options.seconds = job->seconds > 0 ? fmax(1e-6, job->seconds - (clocked.host - from)) : 0.0;
    int status = time_candidates(p->device, &options, candidate, job->count, result, &failed, error);
    for (int i = 0; i < job->count; i++) {
        ns[i] = result[i][mode].rounds ? 1e9 * result[i][mode].median : TUNE_UNTIMED;
        p->untimed += !result[i][mode].rounds;
        p->timed += result[i][mode].rounds > 0;
    }
    p->jobs++;
    return status;
}

/* Tunes within so many seconds of the simulated clock, and without a limit where that is 0. Returns those it took;
 * us[i]: what the row of size i says, 0 where there is none. sizes: those alone, NULL both. */
static double run_planted(struct planted *p, uint64_t seconds, const char *sizes, double us[2])
{
    struct tw_runtime rt;
    struct tw_driver driver;
    struct tw_error error;
    const struct tune_clock clock = {
        .measure = measure_planted, .context = p, .gpu = "Mock GPU", .no_code = true, .now = planted_now};
    const struct tune_options o = {.spec = spec, .arch = "sm_90a", .seconds = seconds, .set = {{sizes}, sizes ? 1 : 0}};
    begin(NULL);
    fake_begin(&rt);
    driver = fake_driver;
    clocked_begin(&driver, &rt);
    clocked.jitter = 0.01;
    rt.driver = &driver;
    memset(p, 0, sizeof *p);
    assert_int_equal(tw_device_open_cuda(&rt, 0, &p->device, &error), TW_OK);
    assert_int_equal(tune_run(&o, &clock), 0);
    const double took = clocked.host;
    tw_device_close(p->device);
    tw_runtime_close(&rt);
    const char *rows = read_file(tuned);
    for (int i = 0; i < 2; i++) {
        const char *row = strstr(rows, i ? "{ M = 4096," : "{ M = 64,"), *of = row ? strstr(row, "us = ") : NULL;
        us[i] = of ? strtod(of + 5, NULL) : 0.0;
    }
    return took;
}

/* The least of the planted times is found, although single looks scatter. */
static void test_planted(void **state)
{
    static struct planted p;
    double us[2];
    (void)state;
    const double took = run_planted(&p, 0, "M=64,N=4096,K=4096", us);
    assert_true(took > 5.0 && took < 30.0);
    assert_int_equal(p.untimed, 0);
    if (fabs(us[0] - 1.2e6 * p.least[0]) > 0.01 * us[0]) /* sustained: the board is hot */
        fail_msg("%g us for %g", us[0], 1.2e6 * p.least[0]);
}

/* The time is kept, whatever it is; sizes without a row are told, and so are fewer set-ups with less of it. */
static void test_time_is_kept(void **state)
{
    static const uint64_t seconds[] = {1, 9};
    static struct planted p;
    double us[2];
    int timed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        const double took = run_planted(&p, seconds[i], NULL, us);
        /* As much as is left to a new process, and two looks at a size that was begun. */
        if (took > 0.85 * (double)seconds[i] + 1.0)
            fail_msg("%g s of %d", took, (int)seconds[i]);
        assert_true(p.timed >= timed);
        timed = p.timed;
        assert_int_equal(access(journal, F_OK) == 0, us[0] <= 0 || us[1] <= 0); /* there is something to resume */
        for (int k = 0; k < 2 && seconds[i] >= 9; k++)
            assert_true(us[k] > 0 && us[k] <= 1.2e6 * 1.1 * p.least[k]);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(spec, sizeof spec, "%s/spec.lua", folder);
    snprintf(tuned, sizeof tuned, "%s/spec.tuned.lua", folder);
    snprintf(journal, sizeof journal, "%s.journal", tuned);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(journal);
    unlink(tuned);
    unlink(spec);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),      cmocka_unit_test(test_search), cmocka_unit_test(test_resume),
        cmocka_unit_test(test_stale),        cmocka_unit_test(test_again),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_with),         cmocka_unit_test(test_exact),  cmocka_unit_test(test_planted),
        cmocka_unit_test(test_time_is_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
