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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_before),
        cmocka_unit_test(nested),
        cmocka_unit_test(many),
        cmocka_unit_test(endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
