/* Finding, opening and using NVRTC: with made-up folders, and with the real one where there is one. */
#include "nvrtc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit/check.h"
#include "fake_cuda.h"
#include "find_cuda.h"

static const char source[] = "extern \"C\" __global__ void kern(float *x) { x[threadIdx.x] += 1.0f; }\n";

static struct tw_compile_request request_of(const char *text)
{
    struct tw_compile_request request;

    memset(&request, 0, sizeof request);
    request.source = text;
    request.source_bytes = strlen(text);
    request.name = "/tilewright/kern.sm_90a.cu";
    request.entry = "kern";
    request.arch = "sm_90a";
    return request;
}

/* Made-up folders: everything outside of one does not exist, so that what this machine has plays no part. */

static char root[64];
static struct tw_files files;
static const char *opened[8];
static int opened_count;
static void *(*open_library)(void *self, const char *name, int global, const char **why);

static int inside(const char *path)
{
    return !strncmp(path, root, strlen(root));
}

/* Where a file is looked for: the loader's cache lies in the folder too. */
static const char *moved(const char *path, char cache[128])
{
    snprintf(cache, 128, "%s/ld.so.cache", root);
    return strcmp(path, "/etc/ld.so.cache") ? path : cache;
}

static int stat_inside(void *self, const char *path, struct tw_file_info *info)
{
    char cache[128];

    path = moved(path, cache);
    return inside(path) ? files.stat(self, path, info) : -ENOENT;
}

static int folder_open_inside(void *self, const char *path, void **folder)
{
    return inside(path) ? files.folder_open(self, path, folder) : -ENOENT;
}

static int open_inside(void *self, const char *path, int flags, unsigned mode)
{
    char cache[128];

    path = moved(path, cache);
    return inside(path) ? files.open(self, path, flags, mode) : -ENOENT;
}

static void *record_open(void *self, const char *name, int global, const char **why)
{
    char *copy = strdup(name);

    if (opened_count < 8)
        opened[opened_count++] = copy;
    else
        free(copy);
    return open_library(self, name, global, why);
}

static void make_file(const char *path)
{
    char full[256], *slash;
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs("no library\n", file);
    fclose(file);
}

static void begin_inside(struct tw_runtime *rt)
{
    strcpy(root, "/tmp/tw_test_nvrtc_XXXXXX");
    assert_non_null(mkdtemp(root));
    fake_begin(rt);
    files = rt->files;
    rt->files.stat = stat_inside;
    rt->files.open = open_inside;
    rt->files.folder_open = folder_open_inside;
    open_library = rt->loader.open;
    rt->loader.open = record_open;
    opened_count = 0;
}

static void end_inside(struct tw_runtime *rt)
{
    char command[256];

    tw_runtime_close(rt);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
    while (opened_count)
        free((char *)(uintptr_t)opened[--opened_count]);
    assert_true(fake_is_clean());
}

static void missing(void **state)
{
    struct tw_runtime rt;
    struct tw_error error;

    (void)state;
    begin_inside(&rt);
    assert_int_equal(tw_nvrtc_find(&rt, &error), TW_ERROR_NO_NVRTC);
    assert_non_null(strstr(error.text, "$CUDA_HOME"));
    assert_non_null(strstr(error.text, "pip install --target build/cuda"));
    end_inside(&rt);
}

static void old_is_refused_by_name(void **state)
{
    struct tw_runtime rt;
    struct tw_error error;
    char expected[256];

    (void)state;
    begin_inside(&rt);
    make_file("lib64/libnvrtc.so.12");
    make_file("lib64/libnvrtc-builtins.so.12.6");
    fake_variable("CUDA_HOME", root);
    assert_int_equal(tw_nvrtc_open(&rt, &error), TW_ERROR_OLD_NVRTC);
    snprintf(expected, sizeof expected, "NVRTC 12.6 (%s/lib64/libnvrtc.so.12) is too old: 12.8 or newer is needed",
             root);
    assert_int_equal(strncmp(error.text, expected, strlen(expected)), 0);
    assert_int_equal(opened_count, 0); /* nothing was opened to find out */
    end_inside(&rt);
}

/* Where names do not say the version, the library does. */
static void old_that_says_so_itself(void **state)
{
    struct tw_runtime rt;
    struct tw_error error;

    (void)state;
    begin_inside(&rt);
    make_file("lib/libnvrtc.so.12");
    fake_variable("CUDA_HOME", root);
    fake.version_major = 12;
    fake.version_minor = 4;
    assert_int_equal(tw_nvrtc_open(&rt, &error), TW_ERROR_OLD_NVRTC);
    assert_non_null(strstr(error.text, "NVRTC 12.4 ("));
    end_inside(&rt);
}

static void newer_elsewhere_is_taken(void **state)
{
    struct tw_runtime rt;
    struct tw_error error;
    char home[256], env[256];

    (void)state;
    begin_inside(&rt);
    make_file("old/lib64/libnvrtc.so.12");
    make_file("old/lib64/libnvrtc-builtins.so.12.2");
    make_file("env/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    make_file("env/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc-builtins.so.13.1");
    snprintf(home, sizeof home, "%s/old", root);
    snprintf(env, sizeof env, "%s/env", root);
    fake_variable("CUDA_HOME", home);
    fake_variable("VIRTUAL_ENV", env);
    assert_int_equal(tw_nvrtc_find(&rt, &error), TW_OK);
    assert_int_equal(rt.nvrtc->major, 13);
    assert_int_equal(rt.nvrtc->minor, 1);
    assert_string_equal(rt.nvrtc->where, "Python, $VIRTUAL_ENV");
    assert_int_equal(strncmp(rt.nvrtc->build_id, "hash-", 5), 0); /* no ELF file, no note */
    assert_int_equal(strlen(rt.nvrtc->build_id), 5 + 32);
    end_inside(&rt);
}

static void builtins_go_first(void **state)
{
    static const char *const layouts[] = {
        "lib64/", "lib/", "targets/x86_64-linux/lib/", "nvidia/cuda_nvrtc/lib/", "nvidia/cu13/lib/",
    };
    struct tw_runtime rt;
    struct tw_error error;
    char path[512], folder[128];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        begin_inside(&rt);
        snprintf(folder, sizeof folder, "build/cuda/%s", layouts[i]);
        snprintf(rt.program_folder, sizeof rt.program_folder, "%s/build", root);
        snprintf(path, sizeof path, "%slibnvrtc.so.13", folder);
        make_file(path);
        snprintf(path, sizeof path, "%slibnvrtc-builtins.so.13.0", folder);
        make_file(path);
        snprintf(path, sizeof path, "%slibnvrtc-builtins.alt.so.13.0", folder);
        make_file(path);
        snprintf(path, sizeof path, "%slibnvrtc.alt.so.13", folder);
        make_file(path);
        if (tw_nvrtc_open(&rt, &error) != TW_OK)
            fail_msg("%s: %s", layouts[i], error.text);
        assert_int_equal(opened_count, 2);
        snprintf(path, sizeof path, "%s/%slibnvrtc-builtins.so.13.0", root, folder);
        assert_string_equal(opened[0], path);
        snprintf(path, sizeof path, "%s/%slibnvrtc.so.13", root, folder);
        assert_string_equal(opened[1], path);
        assert_string_equal(rt.nvrtc->where, "build/cuda");
        end_inside(&rt);
    }
}

/* The loader's cache: two libraries, the second NVRTC; then the same cut at every length. */
static void loaders_cache(void **state)
{
    unsigned char cache[512] = "glibc-ld.so.cache1.1";
    enum { HEADER = 48, ENTRY = 24, STRINGS = HEADER + 2 * ENTRY };
    struct tw_runtime rt;
    struct tw_error error;
    char path[128];
    size_t count, cut, at;
    FILE *file;

    (void)state;
    begin_inside(&rt);
    make_file("somewhere/libnvrtc.so.12");
    make_file("somewhere/libnvrtc-builtins.so.12.9");
    cache[20] = 2;
    at = STRINGS;
    cache[HEADER + 8] = (unsigned char)at;
    at += (size_t)snprintf((char *)cache + at, 128, "%s/elsewhere/libm.so.6", root) + 1;
    cache[HEADER + ENTRY + 8] = (unsigned char)at;
    at += (size_t)snprintf((char *)cache + at, 128, "%s/somewhere/libnvrtc.so.12", root) + 1;
    count = at;
    snprintf(path, sizeof path, "%s/ld.so.cache", root);
    for (cut = 0; cut <= count; cut++) {
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(cache, 1, cut, file), cut);
        fclose(file);
        if (cut == count)
            assert_int_equal(tw_nvrtc_find(&rt, &error), TW_OK);
        else if (cut < STRINGS)
            assert_int_equal(tw_nvrtc_find(&rt, &error), TW_ERROR_NO_NVRTC);
        else if (tw_nvrtc_find(&rt, &error) == TW_OK)
            tw_nvrtc_close(&rt);
    }
    assert_string_equal(rt.nvrtc->where, "the loader's cache");
    assert_int_equal(rt.nvrtc->minor, 9);
    end_inside(&rt);
}

static void requests_are_checked(void **state)
{
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_nvrtc nvrtc;
    struct tw_runtime rt;
    struct tw_error error;

    (void)state;
    memset(&compiled, 0, sizeof compiled);
    fake_begin(&rt);
    fake_nvrtc(&rt, &nvrtc);
    request = request_of(source);
    request.arch = "90a";
    assert_int_equal(tw_compile(&rt, &request, &compiled, &error), TW_ERROR_INVALID);
    request = request_of(source);
    request.source_bytes++; /* the zero at the end */
    assert_int_equal(tw_compile(&rt, &request, &compiled, &error), TW_ERROR_INVALID);
    request = request_of(source);
    request.entry = NULL;
    assert_int_equal(tw_compile(&rt, &request, &compiled, &error), TW_ERROR_INVALID);
    assert_int_equal(fake.compiles, 0);
    tw_runtime_close(&rt);
    assert_true(fake_is_clean());
}

static void ptxas_messages(void **state)
{
    static const char *const allow[] = {"C7508"}, *const all[] = {"all"};
    static const struct {
        const char *log;
        const char *const *allow;
        int status;
    } rows[] = {
        {"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count "
         "at entry.\n",
         NULL, TW_ERROR_COMPILE},
        {"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count "
         "at entry.\n",
         allow, TW_OK},
        {"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
         "insufficient register resources for the wgmma pipeline in the function 'kern'\n",
         allow, TW_ERROR_COMPILE},
        {"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
         "ill formed pipeline stage in the function 'kern'\n",
         all, TW_OK},
        {"ptxas info    : (C7519) warpgroup.arrive is injected in around line 218 by compiler to allow use of "
         "registers in GMMA in function 'kern'\n",
         NULL, TW_OK},
        {"ptxas warning : option is ignored\n", NULL, TW_ERROR_COMPILE},
        {"/tilewright/kern.cu(3): warning #177-D: what is ignored here is no matter of ptxas\n", NULL, TW_OK},
        {"", NULL, TW_OK},
    };
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_message message;
    struct tw_nvrtc nvrtc;
    struct tw_runtime rt;
    struct tw_error error;
    const char *cursor;
    size_t i;

    (void)state;
    fake_begin(&rt);
    fake_nvrtc(&rt, &nvrtc);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&compiled, 0, sizeof compiled);
        request = request_of(source);
        request.allow = rows[i].allow;
        request.allow_count = rows[i].allow ? 1 : 0;
        fake.log = rows[i].log;
        assert_int_equal(tw_compile(&rt, &request, &compiled, &error), rows[i].status);
        tw_compiled_free(&rt, &compiled);
    }
    cursor = rows[4].log;
    assert_int_equal(tw_next_message(&cursor, &message), 1);
    assert_string_equal(message.code, "C7519");
    assert_int_equal(message.is_error, 0);
    assert_int_equal(message.line_bytes, strlen(rows[4].log) - 1);
    assert_int_equal(tw_next_message(&cursor, &message), 0);
    cursor = NULL;
    assert_int_equal(tw_next_message(&cursor, &message), 0);
    tw_runtime_close(&rt);
    assert_true(fake_is_clean());
}

/* The real one. */

static int open_real(void **state)
{
    struct tw_runtime *rt = calloc(1, sizeof *rt);
    struct tw_error error;

    *state = rt;
    if (!rt || tw_runtime_init(rt, &error) != TW_OK)
        return -1;
    if (tw_nvrtc_open(rt, &error) != TW_OK) {
        print_message("not run: %s\n", error.text);
        tw_runtime_close(rt); /* zeroes has_mutex, by which the tests know */
    }
    return 0;
}

static int close_real(void **state)
{
    struct tw_runtime *rt = *state;

    tw_runtime_close(rt);
    free(rt);
    return 0;
}

#define NEEDS_NVRTC(rt)                                                                                                \
    do {                                                                                                               \
        if (!(rt)->has_mutex)                                                                                          \
            skip();                                                                                                    \
    } while (0)

static void real_identity(void **state)
{
    struct tw_runtime *rt = *state;

    NEEDS_NVRTC(rt);
    assert_true(rt->nvrtc->major > 12 || (rt->nvrtc->major == 12 && rt->nvrtc->minor >= 8));
    assert_true(rt->nvrtc->path[0] == '/');
    assert_true(strlen(rt->nvrtc->build_id) >= 16);
    print_message("NVRTC %d.%d, build-id %s, %s\n", rt->nvrtc->major, rt->nvrtc->minor, rt->nvrtc->build_id,
                  rt->nvrtc->path);
}

static void real_compile_is_deterministic(void **state)
{
    static const char *const ab[] = {"-DA=1", "-DB=2"}, *const ba[] = {"-DB=2", "-DA=1"};
    struct tw_compile_request request = request_of(source);
    struct tw_compiled a, b;
    struct tw_runtime *rt = *state;
    struct tw_error error;

    NEEDS_NVRTC(rt);
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    request.outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
    request.options = ab;
    request.option_count = 2;
    assert_int_equal(tw_compile(rt, &request, &a, &error), TW_OK);
    request.options = ba;
    assert_int_equal(tw_compile(rt, &request, &b, &error), TW_OK);
    assert_int_equal(a.cubin_bytes, b.cubin_bytes);
    assert_memory_equal(a.cubin, b.cubin, a.cubin_bytes);
    assert_string_equal(a.ptx, b.ptx);
    assert_non_null(strstr(a.ptx, ".target sm_90a"));
    assert_true(a.info.registers > 0);
    assert_int_equal(a.info.frame, 0);
    assert_true(a.seconds > 0);
    tw_compiled_free(rt, &b);

    request.outputs = TW_OUTPUT_PTX; /* what ptxas is given is what the PTX says */
    assert_int_equal(tw_compile(rt, &request, &b, &error), TW_OK);
    assert_null(b.cubin);
    assert_string_equal(a.ptx, b.ptx);
    tw_compiled_free(rt, &a);
    tw_compiled_free(rt, &b);
}

static void real_errors(void **state)
{
    static const char wrong[] = "#line 40 \"/tilewright/gemm.cu\"\nextern \"C\" __global__ void kern() { nope(); }\n";
    static const char other[] = "extern \"C\" __global__ void other() {}\n";
    static const char *const bad_option[] = {"--no-such-option"};
    struct tw_compile_request request = request_of(wrong);
    struct tw_compiled compiled;
    struct tw_runtime *rt = *state;
    struct tw_error error;

    NEEDS_NVRTC(rt);
    memset(&compiled, 0, sizeof compiled);
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_COMPILE);
    assert_int_equal(strncmp(error.text, "/tilewright/gemm.cu(40): error: identifier \"nope\" is undefined", 62), 0);
    assert_non_null(compiled.log);
    tw_compiled_free(rt, &compiled);

    request = request_of(other);
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_COMPILE);
    assert_non_null(strstr(error.text, "no kernel 'kern'"));
    tw_compiled_free(rt, &compiled);
    request.outputs = TW_OUTPUT_PTX;
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_COMPILE);
    tw_compiled_free(rt, &compiled);

    request = request_of(source);
    request.options = bad_option;
    request.option_count = 1;
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_INVALID);
    assert_non_null(strstr(error.text, "--no-such-option"));
    tw_compiled_free(rt, &compiled);
    request = request_of(source);
    request.arch = "sm_12345";
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_INVALID);
    tw_compiled_free(rt, &compiled);
}

static void real_setmaxnreg_ignored(void **state)
{
    static const char text[] = "extern \"C\" __global__ void kern(float *x) {\n"
                               "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n    *x = 1;\n}\n";
    static const char *const allow[] = {"C7508"};
    struct tw_compile_request request = request_of(text);
    struct tw_compiled compiled;
    struct tw_runtime *rt = *state;
    struct tw_error error;

    NEEDS_NVRTC(rt);
    memset(&compiled, 0, sizeof compiled);
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_ERROR_COMPILE);
    assert_non_null(strstr(error.text, "(C7508)"));
    tw_compiled_free(rt, &compiled);
    request.allow = allow;
    request.allow_count = 1;
    assert_int_equal(tw_compile(rt, &request, &compiled, &error), TW_OK);
    tw_compiled_free(rt, &compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing),
        cmocka_unit_test(old_is_refused_by_name),
        cmocka_unit_test(old_that_says_so_itself),
        cmocka_unit_test(newer_elsewhere_is_taken),
        cmocka_unit_test(builtins_go_first),
        cmocka_unit_test(loaders_cache),
        cmocka_unit_test(requests_are_checked),
        cmocka_unit_test(ptxas_messages),
        cmocka_unit_test(real_identity),
        cmocka_unit_test(real_compile_is_deterministic),
        cmocka_unit_test(real_errors),
        cmocka_unit_test(real_setmaxnreg_ignored),
    };

    return cmocka_run_group_tests_name("nvrtc", tests, open_real, close_real);
}
