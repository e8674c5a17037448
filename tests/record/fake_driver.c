// A libcuda.so.1 for machines without one, whose "GPU" is this file: kernels.cu in C, memory of the host's. It loads
// CUDA_INJECTION64_PATH in cuInit as the driver does and shows each call to tests/explain/fake_cupti.c.
//   FAKE_CC=10.0      compute capability of the device; 9.0. From 10.0 on tensor maps have a bit more
//   FAKE_WRONG=N      element N of a result of scale is another than the PTX gives; N:inf: it is infinite
//   FAKE_FAIL=R       launches fail with this result when they are waited for
//   FAKE_LOW=1        memory lies below where the emulator has global memory
//   FAKE_CAPTURES=1   another stream is captured: who waits or copies in another mode than the relaxed one breaks that
//   FAKE_SHIFT=48     where the first parameter begins, as on an H200 before one that lies at a multiple of 64
//   FAKE_OLD=1        as a driver before CUDA 12.4: no cuFuncGetParamInfo
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"
#include "explain/cupti_abi.h"
#include "record/fake.h"
#include "tensormap/tensormap.h"

void (*fake_hook)(int site, uint32_t cbid, const char *name, const void *parameters, int *result);

struct range {
    uint64_t base;
    size_t bytes;
    int pinned;
};
static struct range ranges[64];
static int range_count, broken, launches_begun;

// A module or library; a function or kernel.
struct fake_module {
    const void *image;
    float bias[4];
};
struct fake_function {
    struct fake_module *module;
    const char *name;
    int is_kernel;
};

static int show(uint32_t cbid, const char *name, const void *parameters, int (*work)(const void *parameters))
{
    int result = 0;
    if (fake_hook)
        fake_hook(0, cbid, name, parameters, &result);
    result = broken ? broken : work(parameters);
    if (fake_hook)
        fake_hook(1, cbid, name, parameters, &result);
    return result;
}

int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    void *address = library ? dlsym(library, "InitializeInjection") : NULL;
    int (*initialize)(void);
    (void)flags;
    memcpy(&initialize, &address, sizeof address);
    if (path && (!address || initialize() != 1))
        fprintf(stderr, "fake driver: %s\n", dlerror());
    return 0;
}

// ---- memory

static int find(uint64_t address, int pinned, struct range *found)
{
    for (int i = 0; i < range_count; i++)
        if (address - ranges[i].base < ranges[i].bytes && ranges[i].pinned == pinned) {
            *found = ranges[i];
            return 0;
        }
    return 1;
}

static void *add_range(size_t bytes, int pinned)
{
    char *low = (char *)(uintptr_t)(UINT64_C(0x302000000) + (uint64_t)range_count * 0x200000);
    void *memory = getenv("FAKE_LOW") ? mmap(low, bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
                                      : aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (memory == MAP_FAILED)
        abort();
    ranges[range_count++] = (struct range){(uintptr_t)memory, bytes, pinned};
    return memory;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = (uintptr_t)add_range(bytes, 0);
    return 0;
}

int cuMemAllocHost_v2(void **memory, size_t bytes)
{
    *memory = add_range(bytes, 1);
    return 0;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
    struct range found;
    if (find(address, 0, &found))
        return 500;
    *base = found.base;
    *bytes = found.bytes;
    return 0;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    struct range found;
    if (find(address, 1, &found) || (attribute != 11 && attribute != 12))
        return 1;
    memcpy(value, attribute == 11 ? &found.base : &found.bytes, 8);
    return 0;
}

static int mode, captures_broken;

int cuThreadExchangeStreamCaptureMode(int *other)
{
    int before = mode;
    mode = *other;
    *other = before;
    return 0;
}

static int allowed(void)
{
    captures_broken |= getenv("FAKE_CAPTURES") && mode != 2;
    return captures_broken ? 900 : broken;
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return allowed();
}

int cuCtxSynchronize(void)
{
    return allowed();
}

int cuStreamIsCapturing(void *stream, int *status)
{
    *status = stream == FAKE_CAPTURING;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const char *cc = getenv("FAKE_CC");
    (void)device;
    *value = attribute == 75 ? (cc ? atoi(cc) : 9) : attribute == 76 ? 0 : 132;
    return 0;
}

// ---- modules

static int load(const void *parameters)
{
    const struct cupti_load *p = parameters;
    struct fake_module *m = calloc(1, sizeof *m);
    static const float bias[4] = {1, 2, 3, 4};
    m->image = p->from;
    memcpy(m->bias, bias, sizeof bias);
    *p->module = m;
    return 0;
}

int cuModuleLoad(void **module, const char *path)
{
    return show(18, __func__, &(struct cupti_load){module, path}, load);
}

int cuModuleLoadData(void **module, const void *image)
{
    return show(19, __func__, &(struct cupti_load){module, image}, load);
}

int cuLibraryLoadData(void **library, const void *image)
{
    return show(678, __func__, &(struct cupti_load){library, image}, load);
}

static int get(const struct cupti_get *p, int is_kernel)
{
    struct fake_function *f = calloc(1, sizeof *f);
    *f = (struct fake_function){p->from, p->name, is_kernel};
    *p->to = f;
    return 0;
}

static int get_function(const void *parameters)
{
    return get(parameters, 0);
}

static int get_kernel(const void *parameters)
{
    return get(parameters, 1);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return show(23, __func__, &(struct cupti_get){function, module, name}, get_function);
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return show(681, __func__, &(struct cupti_get){kernel, library, name}, get_kernel);
}

static int function_of(const void *parameters)
{
    const struct cupti_get *p = parameters;
    const struct fake_function *kernel = p->from;
    struct fake_function *f = calloc(1, sizeof *f);
    *f = (struct fake_function){kernel->module, kernel->name, 0};
    *p->to = f;
    return kernel->is_kernel ? 0 : 400;
}

int cuKernelGetFunction(void **function, void *kernel)
{
    return show(683, __func__, &(struct cupti_get){function, kernel, NULL}, function_of);
}

int cuFuncGetModule(void **module, void *function)
{
    const struct fake_function *f = function;
    *module = f->module;
    return f->is_kernel ? 400 : 0;
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    struct fake_module *m = module;
    if (strcmp(name, "bias") != 0)
        return 500;
    *address = (uintptr_t)m->bias;
    *bytes = sizeof m->bias;
    return 0;
}

#ifndef FAKE_OLD
int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
    static const size_t scale[][2] = {{0, 8}, {8, 4}, {12, 4}}, tile[][2] = {{0, 128}, {128, 8}};
    const struct fake_function *f = function;
    int is_tile = strcmp(f->name, "tile") == 0;
    if (f->is_kernel)
        return 400;
    if (index >= (is_tile ? 2 : 3))
        return 1;
    const char *shift = getenv("FAKE_SHIFT");
    *offset = (is_tile ? tile[index][0] : scale[index][0]) + (shift ? strtoul(shift, NULL, 10) : 0);
    *bytes = is_tile ? tile[index][1] : scale[index][1];
    return 0;
}
#endif

// ---- launches

static void run_scale(const struct fake_function *f, const struct cupti_launch *p, void **arguments)
{
    float *x, by;
    int count;
    const char *wrong = getenv("FAKE_WRONG");
    memcpy(&x, arguments[0], sizeof x);
    memcpy(&by, arguments[1], sizeof by);
    memcpy(&count, arguments[2], sizeof count);
    for (int i = 0; i < count && (uint32_t)i < p->grid[0] * p->block[0]; i++) {
        float product = x[i] * by;
        x[i] = product + f->module->bias[i % 4];
        if (wrong && atoi(wrong) == i)
            x[i] += strchr(wrong, ':') ? INFINITY : 0.25f;
    }
}

static void run_tile(const struct cupti_launch *p, void **arguments)
{
    struct tw_tensormap_call call;
    uint64_t map[16];
    float *out;
    memcpy(map, arguments[0], sizeof map);
    memcpy(&out, arguments[1], sizeof out);
    map[1] &= ~(UINT64_C(1) << 21);
    if (tw_tensormap_decode(map, &call, NULL))
        abort();
    const float *from = (const float *)(uintptr_t)call.addr;
    for (uint32_t b = 0; b < p->grid[0]; b++)
        for (uint32_t i = 0; i < 256; i++)
            out[256 * b + i] = from[(16 * b + i / 16) * call.dim[0] + 16 + i % 16];
}

static int launch(const void *parameters)
{
    const struct cupti_launch *p = parameters;
    const struct fake_function *f = p->function;
    void *held[3];
    void **arguments = p->arguments;
    if (!arguments) { // CU_LAUNCH_PARAM_BUFFER_POINTER comes first here
        char *buffer = p->extra[1];
        held[0] = buffer;
        held[1] = buffer + 8;
        held[2] = buffer + 12;
        arguments = held;
    }
    launches_begun++;
    if (strcmp(f->name, "tile") == 0)
        run_tile(p, arguments);
    else
        run_scale(f, p, arguments);
    broken = getenv("FAKE_FAIL") ? atoi(getenv("FAKE_FAIL")) : 0;
    return 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra)
{
    struct cupti_launch p = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, extra};
    return show(307, __func__, &p, launch);
}

static int launch_ex(const void *parameters)
{
    const struct cupti_launch_ex *p = parameters;
    struct cupti_launch all = {.function = p->function, .arguments = p->arguments, .extra = p->extra};
    memcpy(all.grid, p->config->grid, sizeof all.grid);
    memcpy(all.block, p->config->block, sizeof all.block);
    return launch(&all);
}

int cuLaunchKernelEx(const struct tw_launch_config *config, void *function, void **arguments, void **extra)
{
    return show(652, __func__, &(struct cupti_launch_ex){config, function, arguments, extra}, launch_ex);
}

// ---- tensor maps

static int encode(const void *parameters)
{
    const struct cupti_tiled *p = parameters;
    struct tw_tensormap_call call = {.func = TW_TENSORMAP_TILED,
                                     .dtype = (uint32_t)p->dtype,
                                     .rank = p->rank,
                                     .addr = (uintptr_t)p->address,
                                     .swizzle = (uint32_t)p->swizzle};
    uint64_t map[16];
    memcpy(call.dim, p->dim, p->rank * sizeof *p->dim);
    memcpy(call.stride, p->stride, (p->rank - 1) * sizeof *p->stride);
    memcpy(call.box, p->box, p->rank * sizeof *p->box);
    memcpy(call.estride, p->estride, p->rank * sizeof *p->estride);
    if (tw_tensormap_encode(&call, 90, map))
        return 1;
    if (getenv("FAKE_CC") && atoi(getenv("FAKE_CC")) >= 10)
        map[1] |= UINT64_C(1) << 21; // bit 85, as drivers set it on Blackwell
    memcpy(p->map, map, sizeof map);
    return 0;
}

int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *estride, int interleave,
                           int swizzle, int l2, int oob)
{
    struct cupti_tiled p = {map, dtype, rank, address, dim, stride, box, estride, interleave, swizzle, l2, oob};
    return show(697, __func__, &p, encode);
}
