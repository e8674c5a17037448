/* Malformed input never crashes: the inputs that once did (tests/fuzz/found), and inputs that are large in one respect,
   through the entry points of the fuzz targets. Needs no libFuzzer. */
#include "unit/check.h"
#include "unit/rounds.h"

#include <dirent.h>
#include <stdarg.h>
#include <time.h>

#define LLVMFuzzerTestOneInput fuzz_ptx
#include "fuzz/fuzz_ptx.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_load
#include "fuzz/fuzz_load.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_record
#include "fuzz/fuzz_record.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_tensormap
#include "fuzz/fuzz_tensormap.c"

#include "fuzz/mutate_ptx.c"

/* What libFuzzer does to bytes: some are turned, left out or put in. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    size_t at = pick(size + 1);
    uint8_t byte = (uint8_t)pick(256);
    if (size && pick(3))
        data[at % size] ^= (uint8_t)(1u << pick(8));
    else if (size && pick(2))
        return splice(data, size, most, at % size, 1, "", 0);
    else
        return splice(data, size, most, at, 0, &byte, 1);
    return size;
}

static void run_file(const char *path)
{
    struct tw_runtime rt;
    struct tw_error error;
    unsigned char *bytes;
    size_t count;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    if (tw_read_file(&rt, path, 0, &bytes, &count, &error) != TW_OK)
        fail_msg("%s", error.text);
    const char *dot = strrchr(path, '.');
    print_message("%s\n", path); /* where it crashes, this is the last line */
    if (dot && !strcmp(dot, ".ptx")) {
        fuzz_ptx(bytes, count);
        fuzz_load(bytes, count);
    } else if (dot && !strcmp(dot, ".tensormap")) {
        fuzz_tensormap(bytes, count);
    } else if (dot && !strcmp(dot, ".record")) {
        fuzz_record(bytes, count);
    } /* else unit/fuzz/test_fuzz_targets.c runs it */
    tw_free(&rt, bytes);
    tw_runtime_close(&rt);
}

static void found_before(void **state)
{
    (void)state;
    DIR *folder = opendir("tests/fuzz/found");
    assert_non_null(folder);
    unsigned count = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        char path[512];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "tests/fuzz/found/%s", e->d_name);
        run_file(path);
        count++;
    }
    closedir(folder);
    assert_true(count >= 15);
}

/* ---- Large ones -------------------------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t count, room;
};

static void put(struct text *t, const char *format, ...)
{
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < sizeof line);
    if (t->count + (size_t)n > t->room) {
        t->room = 2 * t->room + 65536;
        t->bytes = realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->count, line, (size_t)n);
    t->count += (size_t)n;
}

static void repeat(struct text *t, const char *what, unsigned count)
{
    while (count--)
        put(t, "%s", what);
}

static struct text begin(void)
{
    struct text t = {0};
    put(&t, "//fuzz 0000000000000000\n.version 8.0\n.target sm_90a\n.address_size 64\n");
    return t;
}

static void finish(struct text *t, const char *what)
{
    clock_t start = clock();
    fuzz_ptx((const uint8_t *)t->bytes, t->count);
    fuzz_load((const uint8_t *)t->bytes, t->count);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%s: %zu bytes, %.2f s\n", what, t->count, seconds);
    free(t->bytes);
    if (seconds > 30)
        fail_msg("%s took %.1f s", what, seconds);
}

/* Times are judged without sanitizers; what is nested is beyond every limit with them, too. */
enum { DEEP = TW_TESTS_SANITIZED ? 20000 : 100000, MANY = TW_TESTS_SANITIZED ? 2000 : 10000 };

static void nested(void **state)
{
    static const struct {
        const char *what, *before, *open, *middle, *close, *after;
    } cases[] = {
        {"parentheses", ".global .b32 x = ", "(", "1", ")", ";\n"},
        {"minus signs", ".global .b32 x = ", "-", "1", "", ";\n"},
        {"negations", ".global .b32 x = ", "!~", "1", "", ";\n"},
        {"casts", ".global .b64 x = ", "(.s64)", "1", "", ";\n"},
        {"choices", ".global .b32 x = ", "1?", "1", ":2", ";\n"},
        {"initialisers", ".global .b32 x[2] = ", "{", "1", "}", ";\n"},
        {"blocks", ".entry k ()\n{\n", "{\n", "ret;\n", "}\n", "}\n"},
        {"vectors", ".entry k ()\n{\n.reg .b32 %r;\nmov.b32 %r, ", "{", "%r", "}", ";\nret;\n}\n"},
        {"comments", "", "/*", "", "*/", ".entry k ()\n{\nret;\n}\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = begin();
        put(&t, "%s", cases[i].before);
        repeat(&t, cases[i].open, DEEP);
        put(&t, "%s", cases[i].middle);
        repeat(&t, cases[i].close, DEEP);
        put(&t, "%s", cases[i].after);
        finish(&t, cases[i].what);
    }
}

static void many(void **state)
{
    (void)state;
    struct text t = begin(); /* each function calls the next */
    for (unsigned i = 0; i < MANY; i++)
        put(&t, ".func f%u ();\n", i);
    for (unsigned i = 0; i + 1 < MANY; i++)
        put(&t, ".func f%u ()\n{\ncall f%u;\nret;\n}\n", i, i + 1);
    put(&t, ".func f%u ()\n{\nret;\n}\n.entry k ()\n{\ncall f0;\nret;\n}\n", MANY - 1);
    finish(&t, "chain of calls");

    t = begin();
    put(&t, ".entry k ()\n{\n");
    for (unsigned i = 0; i < 10 * MANY; i++)
        put(&t, "L%u:\n", i);
    put(&t, "ret;\n}\n");
    finish(&t, "labels");

    t = begin();
    put(&t, ".entry k ()\n{\n.reg .pred %%p;\n");
    for (unsigned i = 0; i < MANY; i++)
        put(&t, "L%u:\n@%%p bra L%u;\n", i, (i * 7919 + 13) % MANY);
    put(&t, "ret;\n}\n");
    finish(&t, "branches");

    t = begin();
    put(&t, ".entry k (.param .b64 first");
    for (unsigned i = 0; i < MANY; i++)
        put(&t, ", .param .b64 p%u", i);
    put(&t, ")\n{\nret;\n}\n");
    finish(&t, "parameters");

    t = begin();
    for (unsigned i = 0; i < MANY; i++)
        put(&t, ".global .b8 v%u;\n", i);
    put(&t, ".entry k ()\n{\nret;\n}\n");
    finish(&t, "variables");

    t = begin();
    for (unsigned i = 0; i < 40; i++)
        put(&t, ".func f%u ()\n{\n.reg .b64 %%d<1048576>;\nret;\n}\n", i);
    put(&t, ".entry k ()\n{\nret;\n}\n");
    finish(&t, "registers");

    t = begin();
    put(&t, ".entry k ()\n{\n.reg .b64 %%d<%u>;\n", MANY);
    for (unsigned i = 0; i < MANY; i++)
        put(&t, "add.u64 %%d%u, %%d%u, %%d%u;\n", i, i * 7 % MANY, i * 11 % MANY);
    put(&t, "ret;\n}\n");
    finish(&t, "registers in use");
}

/* Without an instruction limit: what ends these is a limit of the emulator's own. */
static void endless(void **state)
{
    static const struct {
        const char *ptx, *says;
    } cases[] = {
        {".func f ()\n{\ncall f;\nret;\n}\n.entry k ()\n{\ncall f;\nret;\n}\n", "stack overflow"},
        {".func f (.param .b64 x)\n{\n.param .b64 y;\n.reg .b64 %d;\nst.param.b64 [y], %d;\ncall f, (y);\nret;\n}\n"
         ".entry k ()\n{\n.param .b64 y;\ncall f, (y);\nret;\n}\n",
         "stack overflow"},
        {".entry k ()\n{\n.reg .b64 %d<3>;\nmov.b64 %d1, 4096;\nL:\nalloca.u64 %d2, %d1;\nbra L;\n}\n",
         "stack overflow"},
        {".entry k ()\n{\nL:\nbra L;\n}\n", "DEADLOCK"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tw_runtime rt;
        struct tw_device *device;
        struct tw_kernel *kernel;
        struct tw_error error = {""};
        char ptx[1000];
        int n = snprintf(ptx, sizeof ptx, ".version 8.0\n.target sm_90a\n.address_size 64\n%s", cases[i].ptx);
        struct tw_load load = {.ptx = ptx, .ptx_bytes = (size_t)n, .entry = "k"};
        assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
        assert_int_equal(tw_device_open_emu(&rt, NULL, &device, &error), TW_OK);
        if (tw_device_load(device, &load, &kernel, &error) != TW_OK)
            fail_msg("%s", error.text);
        struct tw_launch launch = {.kernel = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}};
        assert_int_equal(tw_device_launch(device, &launch, &error), TW_ERROR_LAUNCH);
        if (!strstr(error.text, cases[i].says))
            fail_msg("case %zu: %s", i, error.text);
        tw_device_unload(device, kernel);
        tw_device_close(device);
        tw_runtime_close(&rt);
    }
}

/* ---- Mutations --------------------------------------------------------------------------------------------------- */

struct seed {
    unsigned char *bytes;
    size_t count;
};
enum { SEEDS = 256, MUTATED = 1 << 17 };

/* Texts of a file: one, or those of tests/fuzz/seeds.ptx, which begin with a line "//fuzz". */
static size_t read_seeds(struct tw_runtime *rt, const char *path, struct seed *seeds, size_t count)
{
    struct tw_error error;
    unsigned char *bytes;
    size_t length, begin = 0;
    if (tw_read_file(rt, path, 0, &bytes, &length, &error) != TW_OK)
        fail_msg("%s", error.text);
    for (size_t end = 1; end <= length; end++) {
        if (end < length && (length - end < 8 || memcmp(bytes + end, "\n//fuzz ", 8) != 0))
            continue;
        assert_true(count < SEEDS);
        seeds[count].count = end - begin;
        seeds[count].bytes = malloc(end - begin);
        memcpy(seeds[count++].bytes, bytes + begin, end - begin);
        begin = end + 1;
    }
    tw_free(rt, bytes);
    return count;
}

static size_t all_seeds(struct tw_runtime *rt, struct seed *seeds)
{
    static const char *const paths[] = {
        "tests/fuzz/seeds.ptx",      "tests/emu/ptx/atomics.ptx",        "tests/emu/ptx/calls.ptx",
        "tests/emu/ptx/cluster.ptx", "tests/emu/ptx/division.ptx",       "tests/emu/ptx/flow.ptx",
        "tests/emu/ptx/half.ptx",    "tests/emu/ptx/matrix.ptx",         "tests/emu/ptx/reduce.ptx",
        "tests/emu/ptx/scan.ptx",    "tests/emu/kernels/nvcc_async.ptx", "tests/emu/kernels/triton_scan.ptx"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        count = read_seeds(rt, paths[i], seeds, count);
    return count;
}

/* Bytes that a text may make the emulator hold, under the options of fuzz_load: the device's memory; the local memory
   and registers of the two clusters that are resident at a time; the tables of what is declared for nothing; and of
   each of the text's bytes what an instruction takes. */
static size_t most_held(size_t bytes)
{
    return ((size_t)64 << 20) + 1024 * bytes;
}

/* A mutation that the parser often takes: a line that is moved, doubled or left out, a number at an edge, a register
   for another. */
static size_t gentle(uint8_t *data, size_t size, size_t most)
{
    size_t way = pick(6);
    if (way < 2)
        return move_line(data, size, most, (int)way);
    struct span s = way == 2 ? line_of(data, size) : word_of(data, size);
    if (way == 2)
        return splice(data, size, most, s.at, s.length, "", 0);
    for (int tries = 0; tries < 50 && kind_of(data, s) != NUMBER && kind_of(data, s) != REGISTER; tries++)
        s = word_of(data, size);
    if (kind_of(data, s) == NUMBER) {
        const char *number = numbers[pick(sizeof numbers / sizeof numbers[0])];
        return splice(data, size, most, s.at, s.length, number, strlen(number));
    }
    struct span other = word_of(data, size);
    char text[64];
    if (kind_of(data, other) != REGISTER || other.length > sizeof text)
        return size;
    memcpy(text, data + other.at, other.length);
    return splice(data, size, most, s.at, s.length, text, other.length);
}

/* The text of a turn, with a plan of fuzz_load in its first line. */
static size_t mutated(int turn, const struct seed *from, const struct seed *other, uint8_t *text)
{
    char plan[32];
    mutate_state = (uint64_t)turn * 977 + 1;
    snprintf(plan, sizeof plan, "//fuzz %08x%08x\n", (unsigned)pick(UINT32_MAX), (unsigned)pick(UINT32_MAX));
    memcpy(text, plan, 24);
    memcpy(text + 24, from->bytes, from->count);
    size_t size = 24 + from->count;
    if (turn % 2) {
        for (size_t times = 1 + pick(3); times && size > 24; times--)
            size = gentle(text, size, MUTATED);
        return size;
    }
    if (turn % 8 == 6)
        size = LLVMFuzzerCustomCrossOver(from->bytes, from->count, other->bytes, other->count, text, MUTATED,
                                         (unsigned)turn);
    return LLVMFuzzerCustomMutator(text, size, MUTATED, (unsigned)turn);
}

/* Mutations of real kernels: each is parsed, and loaded and launched as fuzz_load does. What it does is the same in
   every run. */
static void mutations(void **state)
{
    static struct seed seeds[SEEDS];
    static uint8_t text[MUTATED];
    struct tw_runtime rt;
    struct tw_error error;
    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    size_t count = all_seeds(&rt, seeds), largest = 0;
    assert_true(count >= 12);
    load_launched = 0;
    int turns = rounds(5000);
    for (int turn = 0; turn < turns; turn++) {
        const struct seed *from = &seeds[(size_t)turn % count], *other = &seeds[(size_t)turn * 7919 % count];
        size_t size = mutated(turn, from, other, text);
        fuzz_ptx(text, size);
        load_peak = 0;
        fuzz_load(text, size);
        largest = load_peak > largest ? load_peak : largest;
        if (load_peak > most_held(size)) {
            FILE *f = fopen("build/mutation.ptx", "wb");
            fwrite(text, 1, size, f);
            fclose(f);
            fail_msg("mutation %d, %zu bytes (build/mutation.ptx), held %zu bytes", turn, size, load_peak);
        }
    }
    print_message("%d mutations of %zu texts, %u kernels launched, at most %zu MiB held\n", turns, count, load_launched,
                  largest >> 20);
    assert_true(load_launched > (unsigned)turns / 4);
    for (size_t i = 0; i < count; i++)
        free(seeds[i].bytes);
    tw_runtime_close(&rt);
}

/* Few bytes that ask for much: each is refused by a sentence of its own, or, beside it, is not. */
static void few_bytes(void **state)
{
    static const struct {
        const char *ptx, *says;
    } cases[] = {
        {".global .b8 a[5000000000];\n.entry k ()\n{\nret;\n}\n", "allocate large memory (cudaMalloc)"},
        {".global .b8 a[1073741824];\n.global .b8 b;\n.entry k ()\n{\nret;\n}\n", "variable b of 1 bytes"},
        {".const .b8 a[65537];\n.entry k ()\n{\nret;\n}\n", "more than the 65536 that a GPU has"},
        {".const .b8 a[65536];\n.entry k ()\n{\nret;\n}\n", NULL},
        {".entry k ()\n{\n.reg .b32 %r<1000000>;\nret;\n}\n", "registers, which are more than a text of"},
        {".func f ()\n{\n.reg .b32 %r<10000>;\nret;\n}\n.entry k ()\n{\n.reg .b32 %r<10000>;\nret;\n}\n",
         "registers, which are more than a text of"},
        {".entry k ()\n{\n.reg .b32 %r<16000>;\nret;\n}\n", NULL},
        {".entry k ()\n{\n.local .b8 a[300000000];\nret;\n}\n", "a GPU has 524288, put large arrays into global"},
        {".shared .b8 a[300000000];\n.entry k ()\n{\n.reg .b64 %d;\nmov.u64 %d, a;\nret;\n}\n", "is too large"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct load_heap heap = {0};
        struct tw_runtime rt;
        struct tw_device *device;
        struct tw_kernel *kernel;
        struct tw_error error = {""};
        char ptx[1000];
        int n = snprintf(ptx, sizeof ptx, ".version 8.0\n.target sm_90a\n.address_size 64\n%s", cases[i].ptx);
        struct tw_load load = {.ptx = ptx, .ptx_bytes = (size_t)n, .entry = "k"};
        assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
        rt.memory = (struct tw_memory){&heap, load_alloc, load_realloc, load_free};
        assert_int_equal(tw_device_open_emu(&rt, NULL, &device, &error), TW_OK);
        int status = tw_device_load(device, &load, &kernel, &error);
        if (cases[i].says ? !status || !strstr(error.text, cases[i].says) : status)
            fail_msg("case %zu: %s", i, error.text);
        if (!status)
            tw_device_unload(device, kernel);
        assert_true(heap.peak < 16 << 20);
        tw_device_close(device);
        tw_runtime_close(&rt);
    }
}

/* 200 blocks that would hold nearly 6 GB of local memory together: fewer are resident at a time. */
static void much_local_memory(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k ()\n{\n.local .b8 a[300000];\n"
                              "bar.sync 0;\nret;\n}\n";
    struct tw_runtime rt;
    struct tw_device *device;
    struct tw_kernel *kernel;
    struct tw_error error = {""};
    struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = "k"};
    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    assert_int_equal(tw_device_open_emu(&rt, NULL, &device, &error), TW_OK);
    assert_int_equal(tw_device_load(device, &load, &kernel, &error), TW_OK);
    struct tw_launch launch = {
        .kernel = kernel, .grid = {200, 1, 1}, .block = {64, 1, 1}, .flags = TW_LAUNCH_COOPERATIVE};
    assert_true(tw_device_launch(device, &launch, &error) != TW_OK);
    if (!strstr(error.text, "200 blocks, 74 fit at a time; a thread has 300"))
        fail_msg("%s", error.text);
    launch.flags = 0; /* nobody waits for another */
    launch.grid[0] = 5;
    if (tw_device_launch(device, &launch, &error) || tw_device_synchronize(device, &error))
        fail_msg("%s", error.text);
    tw_device_unload(device, kernel);
    tw_device_close(device);
    tw_runtime_close(&rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_bytes), cmocka_unit_test(much_local_memory),
        cmocka_unit_test(mutations), cmocka_unit_test(found_before),
        cmocka_unit_test(nested),    cmocka_unit_test(many),
        cmocka_unit_test(endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
