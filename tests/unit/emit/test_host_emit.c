/* The emitted C pair: made from Plans built by hand, compiled with the strictest flags by every compiler that is there,
 * loaded, and run against a driver that is none (tests/embed/mock_driver.c). Runs in the repository's folder; links
 * with -rdynamic, as what is loaded calls back. */
#include "unit/check.h"
#include "unit/rounds.h"
#include "unit/shell.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embed/host_plans.h"
#include "embed/mock_driver.h"
#include "embed/use.h"
#include "emit/host/host.h"

static char folder[] = "/tmp/tilewright_host_XXXXXX";

/* Sanitizers of the test are those of what it loads, which finds their runtime in the test. Optimised, and warned of by
 * what that sees, it is without them. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZE "-O0 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error -static-libasan"
#else
#define SANITIZE ""
#endif

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
    char command[SHELL_ROOM];
    va_list list;
    va_start(list, format);
    int status = shell_list(command, format, list);
    va_end(list);
    if (status != 0)
        fail_msg("failed: %s", command);
}

static bool has_program(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "command -v %s > %s/which", name, folder);
    return system(command) == 0;
}

/* ---- emission -------------------------------------------------------------------------------------------------- */

static const char *const options[] = {"--std=c++17"};

static struct host_image source_image(struct plan *plan, const char *text)
{
    return (struct host_image){.plan = plan, .source = text, .source_bytes = strlen(text), .registers = -1};
}

static void write_pair(const char *name, const char *header, const char *source)
{
    char path[512];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.%c", folder, name, "hc"[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(i ? source : header, file);
        assert_int_equal(fclose(file), 0);
    }
}

/* Emits, expects success, and leaves NAME.h and NAME.c in the folder. */
static void emit(const struct host_model *model)
{
    struct emit_options emit_options = {.generator_version = 1, .line_directives = true};
    struct diag_set diags = {0};
    char *header, *source, *again_header, *again_source;
    int status = emit_host(model, &emit_options, &header, &source, &diags);
    diag_print(&diags, stderr);
    assert_int_equal(status, 0);
    assert_int_equal(emit_host(model, &emit_options, &again_header, &again_source, &diags), 0);
    assert_string_equal(header, again_header);
    assert_string_equal(source, again_source);
    assert_null(strstr(source, "#line"));
    write_pair(model->name, header, source);
    free(header);
    free(source);
    free(again_header);
    free(again_source);
    diag_free(&diags);
}

/* ---- compile, load, run ---------------------------------------------------------------------------------------- */

/* Those that take the test's own sanitizers first; with these the others would show no more than without. */
static const struct compiler {
    const char *program, *arguments;
    bool is_c, sanitized;
} compilers[] = {
    {"gcc", "-std=c99 -O2 -Wshadow", true, true},
    {"g++", "-std=c++17 -O2 -fno-exceptions -x c++", false, true},
    {"clang", "-std=c99 -O1 -Wshadow", true, false},
    {"clang++", "-std=c++17 -O1 -x c++", false, false},
};
enum { compiler_count = sizeof SANITIZE > 1 ? 2 : sizeof compilers / sizeof *compilers };

static int cases_compilers = compiler_count; /* how many run cases, of those in order */

static void compile(const struct compiler *c, const char *name)
{
    shell("kept=$PWD/tests/kept.sh && cd %s && sh $kept %s.o %s %s -Wall -Wextra -Wpedantic -Wconversion -Werror -fPIC "
          "%s %s -c %s.c",
          folder, name, c->program, c->arguments, c->sanitized ? SANITIZE : "",
          c->is_c ? "-Dmalloc=mock_malloc -Dfree=mock_free" : "", name);
}

/* By every compiler, without a warning: of what does not run the sanitizers of a build have nothing to see. */
static void compile_alone(const char *name)
{
    for (int i = 0; i < compiler_count && !TW_TESTS_SANITIZED; i++)
        if (has_program(compilers[i].program))
            compile(&compilers[i], name);
}

/* Every case of a library of tests/embed/USE.c; where is what a failure is told with. */
static void run_library(const char *path, const char *where)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    const struct use_case *c = dlsym(library, "use_cases");
    assert_non_null(c);
    for (; c->name; c++) {
        const char *wrong = c->run();
        if (wrong)
            fail_msg("%s, case %s: %s", where, c->name, wrong);
    }
    dlclose(library);
}

/* Every case of tests/embed/USE.c on the pair NAME, compiled by each compiler. */
static void run_cases(const char *name, const char *use)
{
    for (int i = 0; i < cases_compilers; i++) {
        char path[512];
        if (!has_program(compilers[i].program)) {
            print_message("not run: no %s\n", compilers[i].program);
            continue;
        }
        compile(&compilers[i], name);
        shell("sh tests/kept.sh %s/%s_%d.so gcc -std=c11 -Wall -Wextra -Wconversion -Werror -fPIC -shared %s -I%s "
              "-Iruntime -Itests/embed tests/embed/%s.c %s/%s.o -ldl",
              folder, name, i, SANITIZE, folder, use, folder, name);
        snprintf(path, sizeof path, "%s/%s_%d.so", folder, name, i);
        run_library(path, compilers[i].program);
    }
}

/* The same cases of a pair whose launcher is tilewright_host.c, beside the other's, of the first compiler of C. */
static void run_shared(const struct host_model *model, const char *use)
{
    const struct emit_options emit_options = {.generator_version = 1};
    struct host_model shared = *model;
    struct diag_set diags = {0};
    char path[512], *header, *source;
    shared.shared = true;
    emit(&shared);
    assert_int_equal(emit_host_shared(&emit_options, &header, &source, &diags), 0);
    write_pair("tilewright_host", header, source);
    free(header);
    free(source);
    diag_free(&diags);
    compile(&compilers[0], model->name);
    compile(&compilers[0], "tilewright_host");
    /* The table of entry points has all that any kernel takes; those behind are NULL. */
    shell("sh tests/kept.sh %s/%s_shared.so gcc -std=c11 -Wall -Wextra -Wconversion -Werror "
          "-Wno-missing-field-initializers -fPIC -shared %s -I%s -Iruntime -Itests/embed tests/embed/%s.c %s/%s.o "
          "%s/tilewright_host.o -ldl",
          folder, model->name, SANITIZE, folder, use, folder, model->name, folder);
    snprintf(path, sizeof path, "%s/%s_shared.so", folder, model->name);
    run_library(path, "shared");
}

static void test_gemm(void **state)
{
    static const char *const text[HOST_PLAN_COUNT] = {
        "// gemm_test of sm_90a\nconst char *text = \"quoted\\\" ?\?= \t\xc3\xa4\";\n",
        "// gemm_test of sm_90a, unaligned\n",
        "// gemm_test of sm_80\n",
    };
    static struct plan plan[HOST_PLAN_COUNT];
    struct host_image image[HOST_PLAN_COUNT];
    (void)state;
    for (int i = 0; i < HOST_PLAN_COUNT; i++) {
        host_plan_gemm(&plan[i], (enum host_plan)i);
        image[i] = source_image(&plan[i], text[i]);
    }
    const struct host_model model = {.name = "gemm_test",
                                     .image = image,
                                     .image_count = HOST_PLAN_COUNT,
                                     .newer = true,
                                     .option = options,
                                     .option_count = 1};
    emit(&model);
    run_cases("gemm_test", "use_gemm");
    run_shared(&model, "use_gemm");
    for (int i = 0; i < HOST_PLAN_COUNT; i++)
        plan_free(&plan[i]);
}

/* Two set-ups beside the variants of gemm_test, measured on two GPUs: tests/embed/use_tuned.c. */
static void test_tuned(void **state)
{
    enum { OWN = 2, SETUPS = 2, IMAGES = OWN + SETUPS + 1 };
    static const int64_t size[][3] = {{16, 4096, 4096}, {4096, 4096, 4096}, {1024, 1024, 1024}, {16, 512, 512}};
    static const struct host_tuned tuned[] = {
        {"sm_90a", "Mock One", size[0], 1, 0, "tile = { m = 64 }", false, 10.25, 1.5},
        {"sm_90a", "Mock One", size[1], 0, 0, "", false, 200.0, 0.0},
        {"sm_90a", "Mock One", size[2], 2, 0, "cluster = { m = 1 }", true, 0.0, 0.0},
        {"sm_90a", "Mock One", size[3], 2, 0, "cluster = { m = 1 }", false, 5.0, 0.98},
        {"sm_90a", "Mock One", size[0], 2, 0, "cluster = { m = 1 }", true, 9.0, 1.0},
        {"sm_90a", "Mock Two", size[2], 1, 0, "tile = { m = 64 }", false, 7.0, 1.0},
    };
    static struct plan plan[IMAGES];
    struct host_image image[IMAGES];
    (void)state;
    for (int i = 0; i < IMAGES; i++) {
        const bool setup = i >= OWN && i < OWN + SETUPS;
        host_plan_gemm(&plan[i], setup ? HOST_PLAN_SM_90A : i < OWN ? (enum host_plan)i : HOST_PLAN_SM_80);
        if (setup) {
            plan[i].variant = i == OWN ? "tile_m64" : "cluster_m1";
            plan[i].entry = i == OWN ? "tuned_test__tile_m64" : "tuned_test__cluster_m1";
            plan[i].launch.block = 128 * (i - OWN + 1);
            plan[i].launch.cluster[0] = i == OWN ? 2 : 1;
            plan[i].launch.shared_bytes += i == OWN ? 0 : 4096;
        }
        image[i] = source_image(&plan[i], "//\n");
        image[i].setup = setup ? i - OWN + 1 : 0;
    }
    const struct host_model model = {.name = "tuned_test",
                                     .image = image,
                                     .image_count = IMAGES,
                                     .option = options,
                                     .option_count = 1,
                                     .tuned = tuned,
                                     .tuned_count = sizeof tuned / sizeof *tuned};
    emit(&model);
    run_cases("tuned_test", "use_tuned");
    run_shared(&model, "use_tuned");
    for (int i = 0; i < IMAGES; i++)
        plan_free(&plan[i]);
}

/* Five architectures, of which each has its own shared memory: the choice among devices that are simulated. */
static void test_architectures(void **state)
{
    enum { IMAGES = 5 };
    static const struct {
        const char *arch, *cubin, *ptx;
        int shared_bytes;
    } made[IMAGES] = {
        {"sm_80", "CUBIN of sm_80", NULL, 163840},
        {"sm_86", "CUBIN of sm_86", NULL, 98304},
        {"sm_89", "CUBIN of sm_89", "PTX of sm_89", 98304},
        {"sm_90a", "CUBIN of sm_90a", NULL, 197632},
        {"sm_120a", "CUBIN of sm_120a", NULL, 98384},
    };
    static struct plan plan[IMAGES];
    struct host_image image[IMAGES];
    (void)state;
    for (int i = 0; i < IMAGES; i++) {
        host_plan_copy(&plan[i]);
        plan[i].arch = made[i].arch;
        plan[i].launch.shared_bytes = made[i].shared_bytes;
        image[i] = (struct host_image){.plan = &plan[i],
                                       .cubin = (const unsigned char *)made[i].cubin,
                                       .cubin_bytes = strlen(made[i].cubin) + 1,
                                       .ptx = made[i].ptx,
                                       .ptx_bytes = made[i].ptx ? strlen(made[i].ptx) : 0,
                                       .registers = 16};
    }
    emit(&(struct host_model){.name = "arch_test", .image = image, .image_count = IMAGES, .newer = true});
    run_cases("arch_test", "use_arch");
    for (int i = 0; i < IMAGES; i++)
        plan_free(&plan[i]);
}

static void test_batch(void **state)
{
    static const unsigned char cubin[] = "x\177ELF or nearly";
    static struct plan plan;
    (void)state;
    host_plan_batch(&plan);
    struct host_image image = {.plan = &plan, .cubin = cubin, .cubin_bytes = sizeof cubin, .registers = 168};
    emit(&(struct host_model){.name = "batch_test", .image = &image, .image_count = 1, .newer = true});
    run_cases("batch_test", "use_batch");
    plan_free(&plan);
}

static void test_windows(void **state)
{
    static struct plan plan;
    (void)state;
    host_plan_windows(&plan);
    struct host_image image = source_image(&plan, "//\n");
    emit(&(struct host_model){.name = "windows_test",
                              .image = &image,
                              .image_count = 1,
                              .newer = true,
                              .option = options,
                              .option_count = 1});
    run_cases("windows_test", "use_windows");
    plan_free(&plan);
}

/* A wrong bit in any word of an emitted image is found by load, or does no harm. */
static void test_planted_bits(void **state)
{
    static struct plan plan;
    static const char *const map[] = {"MAP_0()", "MAP_1()"};
    char path[512], where[64];
    (void)state;
    host_plan_fixed(&plan);
    struct host_image image = source_image(&plan, "//\n");
    emit(&(struct host_model){
        .name = "fixed_test", .image = &image, .image_count = 1, .newer = true, .option = options, .option_count = 1});
    run_cases("fixed_test", "use_fixed");
    shell("cd %s && mv fixed_test.c fixed_good.c", folder);
    shell("sh tests/kept.sh %s/planted.o gcc -std=c11 -w -fPIC -DPLANTED %s -I%s -Iruntime -Itests/embed "
          "-c tests/embed/use_fixed.c",
          folder, SANITIZE, folder);
    const int words = rounds_compared(32);
    for (int each = 0; each < words; each++) {
        const int word = each * 32 / words;
        const int bit = word % 2 ? 5 : 37;
        /* The word-th number behind "#define MAP_0()" is made an expression. */
        shell("cd %s && awk -v from='#define %s ' -v n=%d '"
              "index($0, from) == 1 { on = 1 } "
              "{ line = \"\"; if (index($0, from) == 1) { line = from; $0 = substr($0, length(from) + 1) } "
              "while (on && match($0, /(0x)?[0-9a-f]+/)) { "
              "  line = line substr($0, 1, RSTART - 1) "
              "    (n-- == 0 ? \"(\" substr($0, RSTART, RLENGTH) \" ^ 1ull << %d)\" : substr($0, RSTART, RLENGTH)); "
              "  $0 = substr($0, RSTART + RLENGTH) } "
              "if (on && !/\\\\$/) on = 0; print line $0 }' fixed_good.c >fixed_test.c && "
              "! cmp -s fixed_good.c fixed_test.c",
              folder, map[word / 16], word % 16, bit);
        shell("sh tests/kept.sh %s/planted_%d.so gcc -std=c11 -w -fPIC -shared -DPLANTED %s %s/planted.o "
              "%s/fixed_test.c -ldl",
              folder, word, SANITIZE, folder, folder);
        snprintf(path, sizeof path, "%s/planted_%d.so", folder, word);
        snprintf(where, sizeof where, "bit %d of word %d of %s", bit, word % 16, map[word / 16]);
        run_library(path, where);
    }
    plan_free(&plan);
}

/* Whatever a model lacks, what is left is clean: no maps, no strides, no source; PTX beside a cubin. */
static void test_small_models(void **state)
{
    static const unsigned char cubin[100] = {0x7f};
    static struct plan plan;
    (void)state;
    host_plan_copy(&plan);
    for (int ptx = 0; ptx < 2; ptx++) {
        struct host_image image = {.plan = &plan, .cubin = cubin, .cubin_bytes = sizeof cubin, .registers = 16};
        image.ptx = ptx ? ".version 8.0\n" : NULL;
        image.ptx_bytes = ptx ? strlen(image.ptx) : 0;
        emit(&(struct host_model){.name = "copy_test", .image = &image, .image_count = 1, .newer = true});
        compile_alone("copy_test");
    }
    plan_free(&plan);
}

/* ---- what goes in ---------------------------------------------------------------------------------------------- */

/* No line passes 120 columns, and no literal the 4,095 bytes that C99 promises: compilers warn of those. */
static void test_long_lines(void **state)
{
    enum { LENGTH = 20000 };
    static char text[LENGTH + 2], line[32768];
    static struct plan plan;
    char path[512];
    size_t longest = 0;
    (void)state;
    memset(text, '\\', LENGTH);
    text[LENGTH] = '\n';
    host_plan_copy(&plan);
    struct host_image image = source_image(&plan, text);
    emit(&(struct host_model){
        .name = "copy_test", .image = &image, .image_count = 1, .newer = false, .option = options, .option_count = 1});
    compile_alone("copy_test");
    snprintf(path, sizeof path, "%s/copy_test.c", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        longest = strlen(line) > longest ? strlen(line) : longest;
    fclose(file);
    assert_in_range(longest, 100, 121); /* with its end */
    plan_free(&plan);
}

/* Appends what the literals of a line of C stand for: plain characters, \n, \", \\, \? and three octal digits. */
static size_t append_literals(char *to, const char *line)
{
    size_t count = 0;
    for (bool inside = false; *line; line++) {
        if (*line == '"') {
            inside = !inside;
        } else if (inside && *line == '\\') {
            line++;
            if (*line >= '0' && *line <= '7') {
                to[count++] = (char)strtol((char[]){line[0], line[1], line[2], 0}, NULL, 8);
                line += 2;
            } else {
                to[count++] = (char)(*line == 'n' ? '\n' : *line);
            }
        } else if (inside) {
            to[count++] = *line;
        }
    }
    return count;
}

/* The text of the emitted pair's one source, from its literals. */
static void read_source(char *text, size_t room)
{
    char path[512], line[256];
    bool within = false;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/copy_test.c", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        assert_in_range(strlen(line), 1, 121); /* with its end */
        assert_null(strstr(line, "?"
                                 "?")); /* a trigraph */
        if (within && line[0] == '}')
            within = false;
        if (within)
            count += append_literals(text + count, line);
        within = within || strncmp(line, "static const char *const source_", 32) == 0;
        assert_true(count < room);
    }
    fclose(file);
    text[count] = 0;
}

/* Texts of every character that C writes in a way of its own, at all lengths about that at which a line is cut. */
static void test_texts_come_back(void **state)
{
    static const char signs[] = "aaaaaaaabc (,;0?\"\\\t\x7f\xc3 ??";
    enum { TEXTS = 14, LINES = 60, ROOM = 1 << 14 };
    static char text[ROOM], found[ROOM];
    static struct plan plan;
    uint64_t draw = 1;
    (void)state;
    host_plan_copy(&plan);
    for (int i = 0; i < TEXTS; i++) {
        size_t length = 0;
        for (int line = 0; line < LINES; line++) {
            /* Few of all signs, or one in eight: most lines have none that is rare. */
            const int most = line % 3 ? 8 : (int)sizeof signs - 1,
                      columns = line % 7 ? 100 + (i + 3 * line) % 20 : line;
            for (int c = 0; c < columns; c++) {
                draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                const bool rare = (draw >> 40) % 40 == 0;
                text[length++] = signs[(draw >> 48) % (unsigned)(rare ? (int)sizeof signs - 1 : most)];
            }
            text[length++] = '\n';
        }
        text[length - (size_t)(i % 2)] = 0; /* or without an end of the last line */
        struct host_image image = source_image(&plan, text);
        emit(&(struct host_model){.name = "copy_test",
                                  .image = &image,
                                  .image_count = 1,
                                  .newer = false,
                                  .option = options,
                                  .option_count = 1});
        read_source(found, sizeof found);
        assert_string_equal(found, text);
    }
    plan_free(&plan);
}

static void expect_fault(struct plan *plan, const char *rule)
{
    struct emit_options emit_options = {.generator_version = 1};
    struct host_image image = source_image(plan, "//\n");
    struct host_model model = {
        .name = plan->kernel, .image = &image, .image_count = 1, .newer = true, .option = options, .option_count = 1};
    struct diag_set diags = {0};
    char *header = NULL, *source = NULL;
    assert_int_equal(emit_host(&model, &emit_options, &header, &source, &diags), 1);
    assert_null(header);
    assert_null(source);
    assert_true(diags.errors > 0);
    assert_string_equal(diags.item[0].rule, rule);
    diag_free(&diags);
}

static void test_faults(void **state)
{
    static struct plan plan;
    (void)state;
    host_plan_copy(&plan);
    plan.tensor[0].name = "class";
    expect_fault(&plan, "HOST-NAME");
    plan.tensor[0].name = "N";
    expect_fault(&plan, "HOST-NAME");
    plan.tensor[0].name = "x";
    plan.arch = "gfx942";
    expect_fault(&plan, "HOST-ARCH");
    plan.arch = "sm_80";
    plan.param[2].bytes = 2;
    expect_fault(&plan, "HOST-PARAM");
    plan_free(&plan);
    host_plan_batch(&plan);
    plan.map[0].box[1] = 300;
    expect_fault(&plan, "HOST-MAP");
    plan_free(&plan);
}

/* ---- out of memory --------------------------------------------------------------------------------------------- */

/* Fails allocations throughout an emission; all of them would take minutes. */
static void test_memory(void **state)
{
    static struct plan plan;
    struct failing counter = {0};
    struct emit_options emit_options = {.generator_version = 1, .memory = {failing_alloc, &counter}};
    int status = 3;
    (void)state;
    host_plan_gemm(&plan, HOST_PLAN_SM_90A);
    struct host_image image = source_image(&plan, "//\n");
    struct host_model model = {
        .name = "gemm_test", .image = &image, .image_count = 1, .newer = true, .option = options, .option_count = 1};
    for (long n = 1; status == 3; n += 1 + n / 6) {
        struct diag_set diags = {0};
        char *header, *source;
        counter = (struct failing){.fail_at = n};
        status = emit_host(&model, &emit_options, &header, &source, &diags);
        if (counter.calls < n)
            assert_int_equal(status, 0);
        else if (status != 0)
            assert_int_equal(status, 3);
        if (status == 0) {
            memory_resize(&emit_options.memory, header, strlen(header) + 1, 0);
            memory_resize(&emit_options.memory, source, strlen(source) + 1, 0);
        }
        assert_int_equal(counter.blocks, 0);
        status = counter.calls < n ? 0 : 3;
        diag_free(&diags);
    }
    plan_free(&plan);
}

/* ---- where the compiler is looked for --------------------------------------------------------------------------- */

/* $CUDA_HOME goes before $CUDA_PATH, each with lib64, lib and targets/NAME/lib; the builtins beside it are opened by
 * their full path before. The compilers' work has been looked at: one is enough. */
static void test_places(void **state)
{
    static const char below[] = "targets/x86_64-linux/lib";
    char path[512];
    shell("mkdir -p %s/other/%s && cp %s/cuda/lib64/* %s/other/%s", folder, below, folder, folder, below);
    snprintf(path, sizeof path, "%s/other", folder);
    setenv("CUDA_PATH", path, 1);
    setenv("CUDA_HOME", folder, 1); /* has none */
    cases_compilers = 1;
    test_gemm(state);
    cases_compilers = compiler_count;
    unsetenv("CUDA_PATH");
    snprintf(path, sizeof path, "%s/cuda", folder);
    setenv("CUDA_HOME", path, 1);
}

/* ---- set-up ---------------------------------------------------------------------------------------------------- */

/* A CUDA folder with an NVRTC, and a driver under the name that the loader looks for. */
static int set_up(void **state)
{
    char path[512];
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    shell("mkdir -p %s/cuda/lib64 && gcc -w -fPIC -shared -Itests/embed tests/embed/mock_nvrtc.c -o "
          "%s/cuda/lib64/libnvrtc.so.12",
          folder, folder);
    shell("echo 'int nothing;' | gcc -x c - -fPIC -shared -o %s/cuda/lib64/libnvrtc-builtins.so.12.9", folder);
    shell("gcc -fPIC -shared -Itests/embed tests/embed/mock_libcuda.c -Wl,-soname,libcuda.so.1 -o %s/libcuda.so.1",
          folder);
    snprintf(path, sizeof path, "%s/cuda", folder);
    setenv("CUDA_HOME", path, 1);
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shell("rm -r %s", folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_small_models),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_planted_bits),
        cmocka_unit_test(test_texts_come_back),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_architectures),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
