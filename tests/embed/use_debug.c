/* The debug pair gemm_bf16 of specs/gemm.lua, from `gen --debug` or `build --debug`, in a program that embeds it.
 *   usage: use_debug mock          the driver below, whose launches leave records as the kernel does and then fail
 *          use_debug real M N K    the CUDA driver: launches once, tells what the records say
 * Compiled by tests/debug.sh, with the pair's folder in the include path. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_bf16.h"

/* ---- a driver that keeps its promises to a debug build ---------------------------------------------------------- */

struct state {
    uint64_t record, room, hardware, deadline, count;
};

struct record {
    uint32_t magic, kind;
    char ring[24];
    uint32_t stage, step, parity, barrier;
    uint64_t word, waited;
    uint32_t block[3], blocks[3];
    uint32_t warp, warps, lanes, rank, line, limit;
    uint32_t spare[4];
};

static struct state state[2]; /* the variables of two modules */
static int modules, frees, fail_at, calls, dead;
static size_t allocated;

static int call(void)
{
    return dead ? 719 : ++calls == fail_at ? 999 : 0;
}

static int mock_version(int *version)
{
    *version = 13000;
    return call();
}

static int mock_context_device(int *device)
{
    *device = 0;
    return call();
}

static int mock_device_attribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 132;
    return call();
}

static int mock_module_load(void **module, const void *image)
{
    int result = call();
    (void)image;
    if (!result)
        *module = &state[modules++ % 2];
    return result;
}

static int mock_module_unload(void *module)
{
    (void)module;
    modules--;
    return call();
}

static int mock_module_function(void **function, void *module, const char *name)
{
    (void)name;
    *function = module;
    return call();
}

static int mock_function_set(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return call();
}

static int mock_encode(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim, const uint64_t *stride,
                       const uint32_t *box, const uint32_t *element_stride, int interleave, int swizzle, int promotion,
                       int fill)
{
    (void)map, (void)dtype, (void)rank, (void)address, (void)dim, (void)stride, (void)box, (void)element_stride;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    return 0; /* writes nothing: the images do not agree, and this is asked again at each launch */
}

static int mock_module_global(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    int result = call();
    if (strcmp(name, "tilewright_debug") != 0)
        return 500;
    *address = (uint64_t)(uintptr_t)module;
    *bytes = sizeof(struct state);
    return result;
}

static int mock_copy_to_device(uint64_t to, const void *from, size_t bytes)
{
    int result = call();
    if (!result)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return result;
}

static int mock_host_alloc(void **memory, size_t bytes, unsigned flags)
{
    int result = call();
    if (result)
        return result;
    if (flags != 3)
        return 1;
    allocated = bytes;
    *memory = malloc(bytes);
    memset(*memory, 0xee, bytes);
    return 0;
}

static int mock_host_free(void *memory)
{
    free(memory);
    frees++;
    return call();
}

static void leave(struct state *to, uint32_t block, uint32_t warp, const char *ring, uint32_t kind, uint32_t stage)
{
    struct record *r = (struct record *)(uintptr_t)to->record + to->count++;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    strcpy(r->ring, ring);
    r->stage = stage;
    r->step = 6;
    r->parity = 1;
    r->word = to->hardware ? 0x7fffe3ff831ffff6 : 0; /* of an H200: 4 of 5 arrivals and 1000 bytes are missing */
    r->waited = 2000000000;
    r->block[0] = block;
    r->warp = warp;
    r->warps = 12;
    r->line = 321;
    r->magic = 0x74616877;
}

/* The kernel hangs: its warps leave records and it traps, which the next call shows. */
static int mock_launch(const void *config, void *function, void **arguments, void **extra)
{
    struct state *to = (struct state *)function;
    int result = call();
    (void)config, (void)arguments, (void)extra;
    if (result)
        return result;
    for (uint32_t block = 0; block < 3; block++)
        for (uint32_t warp = 4; warp < 12; warp++)
            if (warp != 9)
                leave(to, block, warp, "ab", 1, 2);
    leave(to, 1, 0, "ab", 2, 3);
    dead = 1;
    return 0;
}

static const struct gemm_bf16_driver mock = {
    .version = mock_version,
    .context_device = mock_context_device,
    .device_attribute = mock_device_attribute,
    .module_load = mock_module_load,
    .module_unload = mock_module_unload,
    .module_function = mock_module_function,
    .function_set = mock_function_set,
    .launch = mock_launch,
    .encode_tiled = mock_encode,
    .module_global = mock_module_global,
    .copy_to_device = mock_copy_to_device,
    .host_alloc = mock_host_alloc,
    .host_free = mock_host_free,
};

static void tell(void *context, const char *line)
{
    printf("%s%s\n", (const char *)context, line);
}

static struct gemm_bf16_args sizes(int64_t m, int64_t n, int64_t k, uint64_t a, uint64_t b, uint64_t d)
{
    struct gemm_bf16_args args;
    memset(&args, 0, sizeof args);
    args.A = (const void *)(uintptr_t)a;
    args.B = (const void *)(uintptr_t)b;
    args.D = (void *)(uintptr_t)d;
    args.M = m;
    args.N = n;
    args.K = k;
    return args;
}

static int on_mock(void)
{
    struct gemm_bf16 kernel;
    struct gemm_bf16_error error;
    struct gemm_bf16_args args = sizes(128, 256, 64, 0x10000, 0x20000, 0x30000);
    int status, needed;

    /* Each call that load makes fails once: nothing stays. */
    if (gemm_bf16_load(&kernel, &mock, &error) != gemm_bf16_OK) {
        puts(error.text);
        return 1;
    }
    needed = calls;
    gemm_bf16_unload(&kernel, NULL);
    for (fail_at = 1, frees = 0; fail_at <= needed; fail_at++, calls = 0) {
        calls = 0;
        status = gemm_bf16_load(&kernel, &mock, &error);
        if (status == gemm_bf16_OK && gemm_bf16_unload(&kernel, NULL))
            return 1;
        if (modules) {
            printf("call %d: %d modules stay\n", fail_at, modules);
            return 1;
        }
    }
    fail_at = calls = 0;
    if (gemm_bf16_load(&kernel, &mock, &error))
        return 1;
    printf("records: %d\n", gemm_bf16_debug_report(&kernel, tell, ""));
    status = gemm_bf16_launch(&kernel, &args, NULL, &error);
    printf("launch: %d\n", status);
    status = gemm_bf16_launch(&kernel, &args, NULL, &error);
    printf("launch: %d %s\n", status, error.text);
    printf("records: %d\n", gemm_bf16_debug_report(&kernel, tell, "> "));
    dead = 0;
    frees = 0;
    status = gemm_bf16_unload(&kernel, &error);
    printf("unload: %d, freed %d times\n", status, frees);
    /* Nobody asks: unload tells on stderr. */
    if (gemm_bf16_load(&kernel, &mock, &error) || gemm_bf16_launch(&kernel, &args, NULL, &error))
        return 1;
    dead = 0;
    return gemm_bf16_unload(&kernel, &error);
}

/* ---- the CUDA driver --------------------------------------------------------------------------------------------- */

static int find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int on_device(int64_t m, int64_t n, int64_t k)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*init)(unsigned), (*retain)(void **, int), (*current)(void *), (*alloc)(uint64_t *, size_t), (*wait)(void);
    uint64_t a, b, d;
    struct gemm_bf16 kernel;
    struct gemm_bf16_error error;
    int result;
    if (!library || !find(library, "cuInit", &init) || !find(library, "cuDevicePrimaryCtxRetain", &retain) ||
        !find(library, "cuCtxSetCurrent", &current) || !find(library, "cuMemAlloc_v2", &alloc) ||
        !find(library, "cuCtxSynchronize", &wait) || init(0) || retain(&context, 0) || current(context) ||
        alloc(&a, (size_t)(2 * m * k)) || alloc(&b, (size_t)(2 * n * k)) || alloc(&d, (size_t)(2 * m * n)))
        return 1;
    struct gemm_bf16_args args = sizes(m, n, k, a, b, d);
    if (gemm_bf16_load(&kernel, NULL, &error) || gemm_bf16_launch(&kernel, &args, NULL, &error)) {
        puts(error.text);
        return 1;
    }
    result = wait();
    printf("synchronize: %d\n", result);
    printf("records: %d\n", gemm_bf16_debug_report(&kernel, tell, "> "));
    result = gemm_bf16_launch(&kernel, &args, NULL, &error);
    printf("launch: %d %s\n", result, result ? error.text : "");
    printf("unload: %d\n", gemm_bf16_unload(&kernel, NULL));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "mock"))
        return on_mock();
    if (argc == 5 && !strcmp(argv[1], "real"))
        return on_device(atoll(argv[2]), atoll(argv[3]), atoll(argv[4]));
    fputs("usage: use_debug mock | real M N K\n", stderr);
    return 2;
}
