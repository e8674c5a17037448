/* tilewright doctor on machines that are not here: without a driver, with one and no NVRTC, with an older GPU, with a
 * driver whose encoder is missing or answers otherwise, and tries that fail. Each has a plain sentence a line, and exit
 * status 0, or 3 where something is missing that is needed. What has to run runs on the emulator, where there is an
 * NVRTC. */
#include "unit/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cmd/doctor/doctor.h"
#include "driver.h"
#include "emu/emu.h"
#include "nvrtc.h"
#include "unit/runtime/fake_cuda.h"

static char told[16384]; /* what the last report printed */
static struct tw_nvrtc compiler;

/* The report in words; the exit status. Closes the runtime. */
static int report(struct tw_runtime *rt, const char *device)
{
    const struct tell tell = {.command = "doctor"};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int out = dup(1);
    dup2(fileno(file), 1);
    int status = doctor_report(rt, &tell, device);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = '\0';
    fclose(file);
    tw_runtime_close(rt);
    return status;
}

static void has(const char *line)
{
    char between[512];
    snprintf(between, sizeof between, "\n%s\n", line);
    if (strncmp(told, line, strlen(line)) == 0 && told[strlen(line)] == '\n')
        return;
    if (!strstr(told, between))
        fail_msg("no line '%s' in:\n%s", line, told);
}

static void has_part(const char *part)
{
    if (!strstr(told, part))
        fail_msg("no '%s' in:\n%s", part, told);
}

/* ---- what is not there ------------------------------------------------------------------------------------------- */

static void *no_library(void *self, const char *name, int global, const char **why)
{
    (void)self, (void)name, (void)global;
    *why = "libcuda.so.1: cannot open shared object file";
    return NULL;
}

static int no_stat(void *self, const char *path, struct tw_file_info *info)
{
    (void)self, (void)path, (void)info;
    return -ENOENT;
}

static int no_file(void *self, const char *path, int flags, unsigned mode)
{
    (void)self, (void)path, (void)flags, (void)mode;
    return -ENOENT;
}

static int no_path(void *self, const char *path, char *out, size_t bytes)
{
    (void)self, (void)path, (void)out, (void)bytes;
    return -ENOENT;
}

static int no_folder(void *self, const char *path, void **folder)
{
    (void)self, (void)path, (void)folder;
    return -ENOENT;
}

static void without_files(struct tw_runtime *rt)
{
    rt->files.stat = no_stat;
    rt->files.open = no_file;
    rt->files.realpath = no_path;
    rt->files.folder_open = no_folder;
}

static void no_driver(void **state)
{
    struct tw_runtime rt;
    (void)state;
    fake_begin(&rt);
    fake_nvrtc(&rt, &compiler);
    rt.loader.open = no_library;
    assert_int_equal(report(&rt, "auto"), 0);
    has("driver   not usable: no CUDA driver: libcuda.so.1: cannot open shared object file");
    has("gpu      none");
    has("tries    there is no GPU; 'tilewright doctor --device emu' tries the same on the emulator");
    has("runs     no kernel on a GPU; the emulator runs every kernel (run --device emu)");

    fake_begin(&rt); /* a GPU that was asked for is needed */
    fake_nvrtc(&rt, &compiler);
    rt.loader.open = no_library;
    assert_int_equal(report(&rt, "cuda"), 3);
    has("tries    failed: no CUDA driver: libcuda.so.1: cannot open shared object file; 'tilewright doctor --device "
        "emu' tries the same on the emulator");
}

static void nothing_at_all(void **state)
{
    struct tw_runtime rt;
    (void)state;
    fake_begin(&rt);
    without_files(&rt);
    rt.loader.open = no_library;
    assert_int_equal(report(&rt, "auto"), 3);
    has_part("nvrtc    not usable: ");
    has("runs     no kernel: there is no GPU, and the emulator runs what NVRTC has compiled");
}

/* ---- GPUs that are not here -------------------------------------------------------------------------------------- */

static struct tw_driver driver; /* the fake one, with other answers */
static int major, minor, encoded;

static int attribute(int *value, int which, int device)
{
    int result = fake_driver.device_attribute(value, which, device);
    *value = which == TW_CUDA_MAJOR ? major : which == TW_CUDA_MINOR ? minor : *value;
    return result;
}

/* An encoder that knows better. */
static int other_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave,
                       int swizzle, int promotion, int fill)
{
    (void)type, (void)rank, (void)address, (void)extents, (void)strides, (void)box, (void)element_strides;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    memset(map, 0x5a, 128);
    return encoded;
}

static void begin_gpu(struct tw_runtime *rt, int capability)
{
    fake_begin(rt);
    driver = fake_driver;
    driver.device_attribute = attribute;
    major = capability / 10, minor = capability % 10;
    rt->driver = &driver;
}

static void no_nvrtc(void **state)
{
    struct tw_runtime rt;
    (void)state;
    begin_gpu(&rt, 90);
    without_files(&rt);
    assert_int_equal(report(&rt, "auto"), 3);
    has("driver   version 13.0");
    has("gpu 0    Fake GPU, sm_90a, 132 SMs, 1.0 GiB");
    has_part("nvrtc    not usable: NVRTC");
    has("wgmma    not run: there is no NVRTC to compile a kernel");
    has("runs     Fake GPU: what is for sm_90a (TMA, wgmma, clusters) and for sm_80 (cp.async, mma.sync) that was "
        "built "
        "elsewhere, as nothing is compiled here without NVRTC");
    assert_true(fake_is_clean());
}

static void older_gpus(void **state)
{
    struct tw_runtime rt;
    (void)state;
    begin_gpu(&rt, 80);
    fake_nvrtc(&rt, &compiler);
    assert_int_equal(report(&rt, "auto"), 0);
    has("gpu 0    Fake GPU, sm_80, 132 SMs, 1.0 GiB");
    has("tiled    not tried: Fake GPU has compute capability 8.0, and tensor maps come with 9.0");
    has("im2col   not tried: Fake GPU has compute capability 8.0, and tensor maps come with 9.0");
    has("rank-1   not tried: Fake GPU has compute capability 8.0, and tensor maps come with 9.0");
    has("wgmma    not tried: Fake GPU has compute capability 8.0, and wgmma is of 9.0 alone");
    has("runs     Fake GPU: what is for sm_80 (cp.async, mma.sync); what is for sm_90a needs compute capability 9.0");
    assert_int_equal(fake.launches, 0);
    assert_true(fake_is_clean());

    begin_gpu(&rt, 75);
    fake_nvrtc(&rt, &compiler);
    assert_int_equal(report(&rt, "auto"), 0);
    has("runs     no kernel on Fake GPU: compute capability 7.5 is below 8.0; the emulator runs every kernel (run "
        "--device emu)");
}

static void other_encoders(void **state)
{
    struct tw_runtime rt;
    (void)state;
    begin_gpu(&rt, 90);
    fake_nvrtc(&rt, &compiler);
    assert_int_equal(report(&rt, "auto"), 3);
    has("tiled    failed: the driver has no cuTensorMapEncodeTiled, which came with CUDA 12.0; install a newer driver");
    has("im2col   failed: the driver has no cuTensorMapEncodeIm2col, which came with CUDA 12.0; install a newer "
        "driver");

    begin_gpu(&rt, 90);
    fake_nvrtc(&rt, &compiler);
    driver.encode_tiled = other_tiled;
    assert_int_equal(report(&rt, "auto"), 3);
    has_part("tiled    failed: cuTensorMapEncodeTiled writes 0x5a5a5a5a5a5a5a5a as word 0 of the map, and the encoder "
             "here 0x");
    has_part("rank-1   failed: cuTensorMapEncodeTiled writes ");

    begin_gpu(&rt, 90);
    fake_nvrtc(&rt, &compiler);
    driver.encode_tiled = other_tiled;
    encoded = 1;
    assert_int_equal(report(&rt, "auto"), 3);
    encoded = 0;
    has_part("tiled    failed: cuTensorMapEncodeTiled refuses a map that the encoder here makes: ");
    assert_true(fake_is_clean());
}

/* Of every call of the driver and every allocation one fails: a report all the same, and nothing is left. */
static void failing_calls(void **state)
{
    struct tw_runtime rt;
    (void)state;
    for (long n = 1, failed = 1; failed; n++) {
        begin_gpu(&rt, 90);
        fake_nvrtc(&rt, &compiler);
        fake.failing = FAKE_MEMORY | FAKE_DRIVER;
        fake.fail_at = n;
        const int status = report(&rt, "auto");
        failed = fake.failed;
        assert_true(status == 0 || status == 3);
        has_part("\nruns     ");
        assert_true(fake_is_clean());
    }
}

/* ---- on the emulator --------------------------------------------------------------------------------------------- */

static struct tw_device *emulated;
static const struct tw_device_ops *real;
static int wrong_byte; /* of what comes back from the device */

static int download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error)
{
    int status = real->download(device, to, from, bytes, error);
    ((unsigned char *)to)[wrong_byte] ^= 1;
    return status;
}

static void on_the_emulator(void **state)
{
    const struct emu_options options = {.hazards = EMU_HAZARDS_FATAL, .completion = EMU_LATE, .sm_count = 1};
    struct doctor_try tries[DOCTOR_TRIES];
    struct tw_driver table;
    struct tw_error error;
    struct tw_runtime rt;
    (void)state;
    assert_int_equal(tw_runtime_init(&rt, &error), TW_OK);
    if (tw_nvrtc_open(&rt, &error) != TW_OK) {
        print_message("no NVRTC: the tries are not run\n");
        tw_runtime_close(&rt);
        skip();
    }
    assert_int_equal(tw_device_open_emu(&rt, &options, &emulated, &error), TW_OK);
    doctor_tries(&rt, emulated, tries);
    for (int i = 0; i < DOCTOR_TRIES; i++)
        if (tries[i].result != DOCTOR_PASSED)
            fail_msg("%s: %s", tries[i].name, tries[i].text);

    real = emulated->ops; /* one bit of what comes back is wrong */
    struct tw_device_ops ops = *real;
    ops.download = download;
    emulated->ops = &ops;
    wrong_byte = 9;
    doctor_tries(&rt, emulated, tries);
    for (int i = 0; i < DOCTOR_TRIES; i++) {
        assert_int_equal(tries[i].result, DOCTOR_FAILED);
        assert_non_null(strstr(tries[i].text, i == 3 ? "ran, but element 2 of what came is 0x"
                                                     : "ran, but element 4 of what came is 0x"));
    }

    emulated->ops = real;
    table = *emulated->driver; /* the driver's maps are other ones */
    table.encode_tiled = other_tiled;
    emulated->driver = &table;
    doctor_tries(&rt, emulated, tries);
    assert_int_equal(tries[0].result, DOCTOR_FAILED);
    assert_int_equal(tries[1].result, DOCTOR_PASSED);
    assert_int_equal(tries[2].result, DOCTOR_FAILED);
    assert_int_equal(tries[3].result, DOCTOR_PASSED);
    tw_device_close(emulated);
    tw_runtime_close(&rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_driver),      cmocka_unit_test(nothing_at_all),
                                       cmocka_unit_test(no_nvrtc),       cmocka_unit_test(older_gpus),
                                       cmocka_unit_test(other_encoders), cmocka_unit_test(failing_calls),
                                       cmocka_unit_test(on_the_emulator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
