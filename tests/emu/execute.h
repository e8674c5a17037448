/* Small CUDA kernels on the emulator: text in, compiled by NVRTC to PTX, launched with arguments in a struct. */
#ifndef TW_TESTS_EMU_EXECUTE_H
#define TW_TESTS_EMU_EXECUTE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "cache.h"
#include "device.h"
#include "dtype.h"
#include "emu/emu.h"
#include "nvrtc.h"

struct lab {
    struct tw_runtime rt;
    struct tw_device *device;
    struct emu_options options;
    char printed[65536];
    size_t printed_bytes;
};

/* Random bits, the same in every run. */
static inline uint64_t lab_draw(void)
{
    static uint64_t seed = 1;
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The head of kernel k. */
#define LAB_KERNEL(parameters) "extern \"C\" __global__ void k(" parameters ")\n"

static inline void lab_print(void *context, const char *text, size_t bytes)
{
    struct lab *lab = context;
    if (lab->printed_bytes + bytes < sizeof lab->printed) {
        memcpy(lab->printed + lab->printed_bytes, text, bytes);
        lab->printed_bytes += bytes;
        lab->printed[lab->printed_bytes] = 0;
    }
}

static inline void lab_open_with(struct lab *lab, const char *arch, const struct emu_options *options)
{
    struct tw_error error = {""};
    memset(lab, 0, sizeof *lab);
    if (options)
        lab->options = *options;
    lab->options.arch = arch;
    lab->options.print = lab_print;
    lab->options.print_context = lab;
    assert_int_equal(tw_runtime_init(&lab->rt, &error), TW_OK);
    if (tw_device_open_emu(&lab->rt, &lab->options, &lab->device, &error))
        fail_msg("%s", error.text);
}

static inline void lab_open(struct lab *lab, const char *arch)
{
    lab_open_with(lab, arch, NULL);
}

static inline void lab_close(struct lab *lab)
{
    tw_device_close(lab->device);
    tw_runtime_close(&lab->rt);
}

static inline uint64_t lab_alloc(struct lab *lab, const void *from, size_t bytes)
{
    uint64_t address;
    struct tw_error error;
    if (tw_device_alloc(lab->device, bytes, &address, &error))
        fail_msg("%s", error.text);
    if (from && tw_device_upload(lab->device, address, from, bytes, &error))
        fail_msg("%s", error.text);
    return address;
}

static inline void lab_read(struct lab *lab, void *to, uint64_t from, size_t bytes)
{
    struct tw_error error;
    if (tw_device_download(lab->device, to, from, bytes, &error))
        fail_msg("%s", error.text);
}

static inline struct tw_kernel *lab_load_ptx(struct lab *lab, const char *ptx, const char *entry)
{
    struct tw_error error = {""};
    struct tw_kernel *kernel;
    struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = entry};
    if (tw_device_load(lab->device, &load, &kernel, &error))
        fail_msg("%s", error.text);
    return kernel;
}

/* The kernel `k` of a CUDA text. */
static inline struct tw_kernel *lab_load(struct lab *lab, const char *source, const char *entry)
{
    struct tw_error error = {""};
    struct tw_compiled compiled = {0};
    static const char *const options[] = {"-lineinfo"};
    struct tw_compile_request request = {.source = source,
                                         .source_bytes = strlen(source),
                                         .name = "/test/kernel.cu",
                                         .entry = entry,
                                         .arch = lab->device->arch,
                                         .options = options,
                                         .option_count = 1,
                                         .outputs = TW_OUTPUT_PTX};
    if (tw_compile_cached(&lab->rt, &request, &compiled, &error))
        fail_msg("%s", error.text);
    if (getenv("KEEP_PTX")) {
        FILE *f = fopen(getenv("KEEP_PTX"), "w");
        fputs(compiled.ptx, f);
        fclose(f);
    }
    struct tw_kernel *kernel = lab_load_ptx(lab, compiled.ptx, entry);
    tw_compiled_free(&lab->rt, &compiled);
    return kernel;
}

/* Status of a launch; the error's text into error. */
static inline int lab_try(struct lab *lab, struct tw_kernel *kernel, unsigned grid, unsigned block, unsigned shared,
                          unsigned cluster, const void *params, size_t bytes, struct tw_error *error)
{
    struct tw_launch launch = {.kernel = kernel,
                               .grid = {grid, 1, 1},
                               .block = {block, 1, 1},
                               .cluster = {cluster, 1, 1},
                               .shared_bytes = shared,
                               .params = params,
                               .params_bytes = bytes};
    error->text[0] = 0;
    int status = tw_device_launch(lab->device, &launch, error);
    return status ? status : tw_device_synchronize(lab->device, error);
}

static inline void lab_launch(struct lab *lab, struct tw_kernel *kernel, unsigned grid, unsigned block, unsigned shared,
                              unsigned cluster, const void *params, size_t bytes)
{
    struct tw_error error;
    if (lab_try(lab, kernel, grid, block, shared, cluster, params, bytes, &error))
        fail_msg("%s", error.text);
}

/* Compile, launch, unload. */
static inline void lab_run(struct lab *lab, const char *source, unsigned grid, unsigned block, unsigned shared,
                           unsigned cluster, const void *params, size_t bytes)
{
    struct tw_kernel *kernel = lab_load(lab, source, "k");
    lab_launch(lab, kernel, grid, block, shared, cluster, params, bytes);
    tw_device_unload(lab->device, kernel);
}

#endif
