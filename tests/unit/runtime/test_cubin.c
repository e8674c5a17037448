/* The reader of cubins: on a small one built by hand, on every cut and many changed bytes of it, and on what NVRTC
   makes, against what ptxas -v says of the same kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "fake_cuda.h"

static void reads_every_figure(void **state)
{
    struct tw_cubin_info info;
    struct tw_error error;
    unsigned char bytes[4096];
    size_t count = fake_cubin(bytes, sizeof bytes);
    char name[16];

    (void)state;
    assert_int_equal(tw_cubin_info(bytes, count, "kern", &info, &error), TW_OK);
    assert_int_equal(info.registers, 40);
    assert_int_equal(info.static_shared, 512);
    assert_int_equal(info.frame, 16);
    assert_int_equal(info.stack, 24);
    assert_int_equal(info.max_threads, 256);
    assert_int_equal(info.required_threads, 0);
    assert_int_equal(info.parameter_bytes, 24);
    assert_int_equal(info.parameter_count, 3);
    assert_int_equal(info.barriers, 2);
    assert_int_equal(info.spill_instructions, 3);
    assert_int_equal(info.code_bytes, 128);
    assert_int_equal(tw_cubin_entry(bytes, count, 0, name, sizeof name, &error), TW_OK);
    assert_string_equal(name, "kern");
    assert_int_equal(tw_cubin_entry(bytes, count, 1, name, sizeof name, &error), TW_ERROR_NOT_FOUND);
    assert_int_equal(tw_cubin_entry(bytes, count, 0, name, 4, &error), TW_ERROR_CUBIN);
    assert_int_equal(tw_cubin_info(bytes, count, "ker", &info, &error), TW_ERROR_NOT_FOUND);
    assert_string_equal(error.text, "the cubin has no kernel 'ker'");
}

/* Bytes in a block of just their size, so that a sanitizer sees a read past the end. */
static int read_copy(const unsigned char *bytes, size_t count)
{
    unsigned char *copy = malloc(count ? count : 1);
    struct tw_cubin_info info;
    struct tw_error error;
    char name[64];
    int status;

    memcpy(copy, bytes, count);
    status = tw_cubin_info(copy, count, "kern", &info, &error);
    tw_cubin_entry(copy, count, 0, name, sizeof name, &error);
    free(copy);
    return status;
}

static void survives_cuts(void **state)
{
    unsigned char bytes[4096];
    size_t count = fake_cubin(bytes, sizeof bytes), cut;

    (void)state;
    for (cut = 0; cut < count - 128; cut++) /* the last 128 bytes are code */
        assert_int_not_equal(read_copy(bytes, cut), TW_OK);
    assert_int_equal(read_copy(bytes, count), TW_OK);
}

static void survives_changes(void **state)
{
    static const unsigned char values[] = {0, 1, 4, 0x7f, 0x80, 0xff};
    unsigned char bytes[4096], was;
    size_t count = fake_cubin(bytes, sizeof bytes), i, k;
    uint64_t seed = 1;

    (void)state;
    for (i = 0; i < count; i++) {
        was = bytes[i];
        for (k = 0; k < sizeof values; k++) {
            int status;

            bytes[i] = values[k];
            status = read_copy(bytes, count);
            assert_true(status == TW_OK || status == TW_ERROR_CUBIN || status == TW_ERROR_NOT_FOUND);
        }
        bytes[i] = was;
    }
    for (k = 0; k < 50000; k++) { /* several at once */
        fake_cubin(bytes, sizeof bytes);
        for (i = 0; i < 4; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[(seed >> 33) % count] = (unsigned char)(seed >> 20);
        }
        read_copy(bytes, count);
    }
}

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(128, 1) kern(float *o, int n) {\n"
    "    __shared__ float s[256];\n"
    "    s[threadIdx.x] = o[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    o[threadIdx.x] = s[threadIdx.x ^ 1] + (float)n;\n"
    "}\n"
    "extern \"C\" __global__ void array(float *o, int n) {\n"
    "    float a[64], s = 0;\n"
    "    for (int k = 0; k < 64; k++) a[k] = o[k * n];\n"
    "    for (int k = 0; k < n; k++) s += a[(k * 7) & 63];\n"
    "    o[0] = s;\n"
    "}\n"
    "extern \"C\" __global__ void __maxnreg__(24) spills(float *o, int n) {\n"
    "    float a[64];\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < 64; k++) a[k] = o[k * n];\n"
    "    __syncthreads();\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < 64; k++) o[k * n + 1] = a[k] * a[(k + 1) % 64];\n"
    "}\n";

/* The number before `unit` in the lines that ptxas printed about a kernel. */
static long reported(const char *log, const char *kernel, const char *unit)
{
    char head[128];
    const char *at, *end, *hit, *digits;

    snprintf(head, sizeof head, "entry function '%s'", kernel);
    at = strstr(log, head);
    if (!at)
        return -1;
    at += strlen(head);
    end = strstr(at, "entry function");
    hit = strstr(at, unit);
    if (!hit || (end && hit > end))
        return 0;
    for (digits = hit; digits > at && digits[-1] >= '0' && digits[-1] <= '9'; digits--)
        ;
    return strtol(digits, NULL, 10);
}

static void agrees_with_ptxas(void **state)
{
    static const char *const kernels[] = {"kern", "array", "spills"};
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_120a"};
    static const char *const options[] = {"--ptxas-options=-v"};
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_cubin_info info;
    struct tw_runtime rt;
    struct tw_error error;
    size_t a, k;

    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    if (tw_nvrtc_open(&rt, &error) != TW_OK) {
        print_message("not run: %s\n", error.text);
        tw_runtime_close(&rt);
        skip();
    }
    for (a = 0; a < 3; a++) {
        memset(&request, 0, sizeof request);
        memset(&compiled, 0, sizeof compiled);
        request.source = source;
        request.source_bytes = sizeof source - 1;
        request.name = "/tilewright/kern.cu";
        request.entry = "kern";
        request.arch = archs[a];
        request.options = options;
        request.option_count = 1;
        if (tw_compile(&rt, &request, &compiled, &error) != TW_OK)
            fail_msg("%s: %s", archs[a], error.text);
        for (k = 0; k < 3; k++) {
            assert_int_equal(tw_cubin_info(compiled.cubin, compiled.cubin_bytes, kernels[k], &info, &error), TW_OK);
            assert_int_equal(info.registers, reported(compiled.log, kernels[k], " registers"));
            assert_int_equal(info.frame, reported(compiled.log, kernels[k], " bytes stack frame"));
            assert_int_equal(info.static_shared, reported(compiled.log, kernels[k], " bytes smem"));
            assert_int_equal(info.barriers, reported(compiled.log, kernels[k], " barriers"));
            assert_int_equal(info.parameter_count, 2);
            assert_int_equal(info.parameter_bytes, 12);
            assert_true(info.code_bytes > 0);
            assert_int_equal(info.spill_instructions > 0,
                             reported(compiled.log, kernels[k], " bytes spill stores") > 0);
        }
        assert_int_equal(compiled.info.max_threads, 128);
        assert_int_equal(compiled.info.static_shared, 1024);
        tw_compiled_free(&rt, &compiled);
    }
    tw_runtime_close(&rt);
}

/* Real cubins too: every cut at a multiple of 7, and scattered changes. */
static void survives_damaged_real_cubins(void **state)
{
    struct tw_compile_request request;
    struct tw_compiled compiled;
    struct tw_runtime rt;
    struct tw_error error;
    uint64_t seed = 7;
    size_t i;

    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    if (tw_nvrtc_open(&rt, &error) != TW_OK) {
        tw_runtime_close(&rt);
        skip();
    }
    memset(&request, 0, sizeof request);
    memset(&compiled, 0, sizeof compiled);
    request.source = source;
    request.source_bytes = sizeof source - 1;
    request.name = "/tilewright/kern.cu";
    request.entry = "kern";
    request.arch = "sm_90a";
    assert_int_equal(tw_compile(&rt, &request, &compiled, &error), TW_OK);
    for (i = 0; i < compiled.cubin_bytes; i += 7)
        read_copy(compiled.cubin, i);
    for (i = 0; i < 5000; i++) {
        size_t at;
        unsigned char was;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at = (seed >> 33) % compiled.cubin_bytes;
        was = compiled.cubin[at];
        compiled.cubin[at] = (unsigned char)(seed >> 20);
        read_copy(compiled.cubin, compiled.cubin_bytes);
        if (i % 4) /* keep every fourth change, so that damage piles up */
            compiled.cubin[at] = was;
    }
    tw_compiled_free(&rt, &compiled);
    tw_runtime_close(&rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_figure),
        cmocka_unit_test(survives_cuts),
        cmocka_unit_test(survives_changes),
        cmocka_unit_test(agrees_with_ptxas),
        cmocka_unit_test(survives_damaged_real_cubins),
    };

    return cmocka_run_group_tests_name("cubin", tests, NULL, NULL);
}
