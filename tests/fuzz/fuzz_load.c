/* libFuzzer target of the emulator: whatever PTX is loaded and launched, with whatever arguments, no crash, no leak, no
   hang and no access of the host's memory outside of what the device owns. README.md says how to run it.

   A first line "//fuzz HEX", 16 digits, chooses how the text is run (struct plan); without one it is run the plain way.
   Every kernel of the text is launched, twice, so that what one launch leaves behind is there for the next. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "dtype.h"
#include "emu/emu.h"
#include "emu/ptx/ptx.h"
#include "tensormap/tensormap.h"

enum {
    LOAD_KERNELS = 4,                      /* of a text that are launched */
    LOAD_BUFFER = 1 << 16,                 /* bytes of the buffer that pointers among the arguments point to */
    LOAD_MOST = 192 << 20,                 /* bytes that the emulator may hold */
    LOAD_PARAMS = 1 << 16                  /* bytes of arguments; a kernel with more is launched with too few */
};

/* What the 64 bits of the first line mean, from the lowest on. */
struct plan {
    unsigned completion, hazards, arch, grid, block, cluster, shared, slice, stack, flags, arguments, map, listens;
    unsigned fail; /* this allocation fails; 0: none */
    uint64_t seed;
};

static unsigned load_take(uint64_t *bits, unsigned count)
{
    unsigned value = (unsigned)(*bits & ((1u << count) - 1));
    *bits >>= count;
    return value;
}

static struct plan load_plan(const char *text, size_t size)
{
    uint64_t bits = 0;
    struct plan p;
    if (size > 23 && !memcmp(text, "//fuzz ", 7)) {
        for (int i = 0; i < 16; i++) {
            char c = text[7 + i];
            unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c + 9) & 15;
            bits = bits << 4 | digit;
        }
    }
    p.completion = load_take(&bits, 2) % 3;
    p.hazards = load_take(&bits, 2);
    p.arch = load_take(&bits, 1);
    p.grid = load_take(&bits, 3);
    p.block = load_take(&bits, 3);
    p.cluster = load_take(&bits, 2);
    p.shared = load_take(&bits, 3);
    p.slice = load_take(&bits, 1);
    p.stack = load_take(&bits, 1);
    p.flags = load_take(&bits, 2);
    p.arguments = load_take(&bits, 3);
    p.map = load_take(&bits, 3);
    p.listens = load_take(&bits, 1);
    unsigned fails = load_take(&bits, 1);
    p.fail = load_take(&bits, 10);
    p.fail = fails ? p.fail + 1 : 0;
    p.seed = bits;
    return p;
}

/* ---- Memory: with a ceiling, and a failure where the plan says --------------------------------------------------- */

struct load_heap {
    size_t held, peak;
    unsigned calls, fail;
};

/* Bytes that the last input made the emulator hold at a time. */
static size_t load_peak;
/* Kernels that were launched. */
static unsigned load_launched;

union load_header {
    size_t bytes;
    max_align_t align;
};

static void *load_realloc(void *self, void *old, size_t bytes)
{
    struct load_heap *heap = self;
    union load_header *header = old ? (union load_header *)old - 1 : NULL;
    size_t before = header ? header->bytes : 0;
    if (++heap->calls == heap->fail || bytes > LOAD_MOST || heap->held - before > LOAD_MOST - bytes)
        return NULL;
    header = realloc(header, sizeof *header + bytes);
    if (!header)
        return NULL;
    heap->held = heap->held - before + bytes;
    heap->peak = heap->held > heap->peak ? heap->held : heap->peak;
    header->bytes = bytes;
    return header + 1;
}

static void *load_alloc(void *self, size_t bytes)
{
    return load_realloc(self, NULL, bytes);
}

static void load_free(void *self, void *pointer)
{
    struct load_heap *heap = self;
    if (!pointer)
        return;
    union load_header *header = (union load_header *)pointer - 1;
    heap->held -= header->bytes;
    free(header);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static uint64_t load_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 16;
}

/* A tensor map of the buffer; map % 8: its kind, above that none of its bits is where it was. */
static void load_map(const struct plan *p, uint64_t buffer, uint64_t out[16])
{
    struct tw_tensormap_call call = {.func = p->map & 4 ? TW_TENSORMAP_IM2COL : TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)tw_dtype_info(p->map & 1 ? TW_BF16 : TW_FP32)->tensormap,
                                     .rank = p->map & 4 ? 4 : p->map & 2 ? 3 : 2,
                                     .addr = buffer,
                                     .dim = {64, 16, 4, 2, 1},
                                     .stride = {256, 4096, 8192, 16384},
                                     .box = {32, 8, 2, 1, 1},
                                     .channels = 32,
                                     .pixels = 8,
                                     .estride = {1, 1, 1, 1, 1},
                                     .swizzle = p->map & 1 ? 2 : 3};
    if (tw_tensormap_encode(&call, 90, out) != TW_OK)
        abort();
    uint64_t state = p->seed;
    if (p->arguments & 1)
        for (unsigned flips = 1 + p->seed % 4; flips; flips--) {
            unsigned bit = (unsigned)(load_random(&state) % 1024);
            out[bit / 64] ^= UINT64_C(1) << bit % 64;
        }
}

/* Parameters: pointers where 8 bytes are wanted, small numbers where fewer are, a map and pointers in arrays; or
   noise. */
static void load_arguments(const struct plan *p, const struct ptx_module *ptx, const struct ptx_function *f,
                           uint64_t buffer, unsigned char *to, size_t bytes)
{
    static const uint32_t small[8] = {16, 1, 0, 33, 5, 1000000, UINT32_MAX, 64};
    uint64_t state = p->seed, map[16];
    load_map(p, buffer, map);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(p->arguments == 7 ? load_random(&state) : 0);
    for (uint32_t i = 0; i < f->param_count && p->arguments != 7; i++) {
        const struct ptx_variable *v = &ptx->variables[f->params[i].variable];
        if (v->offset >= bytes || v->bytes > bytes - v->offset)
            continue;
        unsigned char *at = to + v->offset;
        size_t k = v->bytes >= sizeof map ? sizeof map : 0;
        memcpy(at, map, k);
        for (; k + 8 <= v->bytes; k += 8)
            memcpy(at + k, &buffer, 8);
        for (size_t rest = v->bytes - k; rest; rest = 0)
            memcpy(at + k, &small[p->arguments], rest > 4 ? 4 : rest);
    }
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void load_print(void *context, const char *text, size_t bytes)
{
    uint64_t *sum = context;
    for (size_t i = 0; i < bytes; i++)
        *sum += (unsigned char)text[i];
}

static void load_report(void *context, const struct emu_report *report)
{
    uint64_t *sum = context;
    *sum += strlen(report->name) + strlen(report->text) + strlen(report->what) + strlen(report->todo) +
            strlen(report->file) + strlen(report->other_file) + strlen(report->region);
}

static void load_event(void *context, const struct emu_event *event)
{
    uint64_t *sum = context;
    *sum += strlen(emu_event_name(event->kind)) + strlen(event->file);
}

static void load_launches(const struct plan *p, struct tw_device *device, const struct tw_load *load,
                          const struct ptx_module *ptx, const struct ptx_function *f, uint64_t buffer)
{
    static const uint32_t grids[8][3] = {{1, 1, 1}, {2, 1, 1}, {3, 2, 1}, {4, 1, 1},
                                         {8, 4, 2}, {1, 1, 0}, {INT32_MAX, 65535, 65535}, {16, 1, 1}};
    static const uint32_t blocks[8][3] = {{32, 1, 1}, {1, 1, 1}, {33, 1, 1}, {8, 8, 2},
                                          {256, 1, 1}, {384, 1, 1}, {1u << 31, 1u << 31, 4}, {64, 1, 1}};
    static const uint32_t clusters[4][3] = {{0, 0, 0}, {2, 1, 1}, {1, 2, 1}, {1u << 31, 1u << 31, 4}};
    static const uint32_t shared[8] = {0, 1024, 49152, 131072, 232448, 17, UINT32_MAX, 4096};
    static const struct tw_shared_range ranges[2] = {{"ring full barrier", 0, 64, 8}, {"ring A", 64, 1 << 20, 4096}};
    struct tw_error error = {""};
    struct tw_kernel *kernel;
    if (tw_device_load(device, load, &kernel, &error) != TW_OK) {
        if (!error.text[0])
            abort();
        return;
    }
    load_launched++;
    size_t bytes = f->param_bytes < LOAD_PARAMS ? (size_t)f->param_bytes : LOAD_PARAMS;
    unsigned char *params = aligned_alloc(128, (bytes + 128) / 128 * 128);
    if (!params)
        abort();
    load_arguments(p, ptx, f, buffer, params, bytes);
    struct tw_launch launch = {.kernel = kernel,
                               .shared_bytes = shared[p->shared],
                               .flags = p->flags,
                               .params = params,
                               .params_bytes = bytes,
                               .ranges = ranges,
                               .range_count = 2};
    memcpy(launch.grid, grids[p->grid], sizeof launch.grid);
    memcpy(launch.block, f->reqntid[0] && p->block < 6 ? f->reqntid : blocks[p->block], sizeof launch.block);
    memcpy(launch.cluster, clusters[p->cluster], sizeof launch.cluster);
    for (int i = 0; i < 3 && p->grid < 5; i++)
        launch.grid[i] *= f->reqnctapercluster[i] ? f->reqnctapercluster[i] : 1;
    for (int i = 0; i < 2; i++) {
        error.text[0] = 0;
        if (tw_device_launch(device, &launch, &error) != TW_OK && !error.text[0])
            abort();
        const struct emu_report *report;
        uint64_t sum = 0;
        for (size_t r = 0; (report = emu_device_report(device, r)); r++)
            load_report(&sum, report);
    }
    free(params);
    tw_device_unload(device, kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan p = load_plan((const char *)data, size);
    struct load_heap heap = {.fail = 0};
    struct tw_memory memory = {&heap, load_alloc, load_realloc, load_free};
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct ptx_module *ptx = NULL;
    struct tw_device *device = NULL;
    uint64_t sum = 0, buffer = 0;
    struct emu_options options = {.arch = p.arch ? "sm_80" : "sm_90a",
                                  .completion = (enum emu_completion)p.completion,
                                  .hazards = (enum emu_hazards)p.hazards,
                                  .seed = p.seed,
                                  .memory_bytes = 64 << 20,
                                  .stack_bytes = p.stack ? 4096 : 0,
                                  .instruction_limit = 20000,
                                  .report = load_report,
                                  .report_context = &sum,
                                  .print = load_print,
                                  .print_context = &sum,
                                  .event = p.listens ? load_event : NULL,
                                  .event_context = &sum,
                                  .slice = p.slice};
    char *text = malloc(size + 1);
    if (!text || tw_runtime_init(&rt, &error) != TW_OK)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    rt.memory = memory;
    if (ptx_parse(&memory, text, size, &ptx, &error) != TW_OK) {
        if (ptx || !error.text[0])
            abort();
        goto end;
    }
    heap.fail = p.fail ? heap.calls + p.fail : 0;
    error.text[0] = 0;
    if (tw_device_open_emu(&rt, &options, &device, &error) != TW_OK ||
        tw_device_alloc(device, LOAD_BUFFER, &buffer, &error) != TW_OK) {
        if (!error.text[0])
            abort();
        goto end;
    }
    if (tw_device_fill(device, buffer, 0x00010203, LOAD_BUFFER / 2, &error) != TW_OK && !p.fail)
        abort();
    unsigned kernels = 0;
    for (uint32_t i = 0; i < ptx->function_count && kernels < LOAD_KERNELS; i++) {
        const struct ptx_function *f = &ptx->functions[i];
        struct tw_load load = {.ptx = text, .ptx_bytes = size, .entry = ptx_name(ptx, f->name)};
        if (!f->is_kernel || !f->has_body)
            continue;
        kernels++;
        load_launches(&p, device, &load, ptx, f, buffer);
    }
end:
    load_peak = heap.peak;
    if (device)
        tw_device_close(device);
    ptx_free(ptx);
    if (heap.held)
        abort(); /* a leak, and told at once */
    tw_runtime_close(&rt);
    free(text);
    return 0;
}
