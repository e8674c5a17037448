/* gemm_bf16.c: a kernel and its host code, made by tilewright 1. Do not edit: change the spec and generate again.
 *
 * sm_80: 256 threads, 98304 bytes of shared memory, ring ab of 3 stages
 * sm_80, unaligned: 256 threads, 98304 bytes of shared memory, ring ab of 3 stages
 * sm_90a: 384 threads, 229440 bytes of shared memory, ring ab of 4 stages, ring d of 2 stages, cluster 2 x 1 x 1
 * sm_90a, unaligned: 384 threads, 213568 bytes of shared memory, ring ab of 4 stages, cluster 2 x 1 x 1
 *
 * C99 and C++17; needs libc and, at run time, the CUDA driver, with NVRTC of CUDA 12.8 or newer to compile the kernel
 * at load.
 * Link with -ldl where libc is older than glibc 2.34.
 * The output of the generator belongs to whoever generated it. */

#include "gemm_bf16.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read it from here down, in the order in which a program calls it:
 *
 *     load     the driver; the variants for the device, compiled where they are text; what launches ask of the driver
 *     check    the arguments, before any driver call: sizes, addresses, strides
 *     patch    a copy of the variant's launch: tensor maps, pointers, sizes, the grid
 *     launch   one driver call
 *
 * Check and patch are what every launch runs. What most arguments need of them is one stretch of code without a call
 * (INLINE, TOGETHER), and all else is kept apart from it (APART): between two launches the driver takes the caches for
 * itself, and what is brought back should be little and lie together. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define TOGETHER __attribute__((hot))
#define INLINE static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(64)))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ASSUME(fact) do { if (!(fact)) __builtin_unreachable(); } while (0)
#else
#define APART
#define TOGETHER
#define INLINE static inline
#define ALIGNED
#define LIKELY(condition) (condition)
#define ASSUME(fact) ((void)0)
#endif

/* ---- the kernels ----------------------------------------------------------------------------------------------- */

/* gemm_bf16 for sm_80: CUDA, compiled by load. */
static const char *const source_sm_80[] = {
};

/* gemm_bf16__unaligned for sm_80: CUDA, compiled by load. */
static const char *const source_sm_80_unaligned[] = {
};

/* gemm_bf16 for sm_90a: CUDA, compiled by load. */
static const char *const source_sm_90a[] = {
};

/* gemm_bf16__unaligned for sm_90a: CUDA, compiled by load. */
static const char *const source_sm_90a_unaligned[] = {
};

/* One kernel's code; what is missing is NULL. */
struct image {
    const void *cubin;
    const char *const *source, *const *ptx; /* in chunks, one after the other */
    int source_chunks, ptx_chunks;
    const char *file;                       /* what the compiler's messages call the source */
    int blocks_per_sm;                      /* that run at once on a multiprocessor */
};

static const struct image images[] = {
    {NULL, source_sm_80, NULL, 5, 0, "/tilewright/gemm_bf16.sm_80.cu", 1},
    {NULL, source_sm_80_unaligned, NULL, 5, 0, "/tilewright/gemm_bf16.sm_80_unaligned.cu", 1},
    {NULL, source_sm_90a, NULL, 6, 0, "/tilewright/gemm_bf16.sm_90a.cu", 1},
    {NULL, source_sm_90a_unaligned, NULL, 6, 0, "/tilewright/gemm_bf16.sm_90a_unaligned.cu", 1},
};

static const struct gemm_bf16_variant variants[] = {
    {"", "gemm_bf16", "sm_80", 256u, 98304u, {1u, 1u, 1u}, 0, 64u, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_80", 256u, 98304u, {1u, 1u, 1u}, 0, 64u, -1},
    {"", "gemm_bf16", "sm_90a", 384u, 229440u, {2u, 1u, 1u}, 0, 448u, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_90a", 384u, 213568u, {2u, 1u, 1u}, 0, 320u, -1},
};

static const struct gemm_bf16_tensor tensors[] = {
    {"A", "bf16", "M, K", 2u, 2u, 2u, 16u, 0},
    {"B", "bf16", "N, K", 2u, 2u, 2u, 16u, 0},
    {"D", "bf16", "M, N", 2u, 2u, 2u, 16u, 1},
};

/* An architecture: the variants that were made for it, and the devices that take them. */
struct target {
    const char *arch;
    int major, minor;
    int exact;        /* runs on that compute capability alone */
    int newer;        /* its PTX may run on later ones */
    int first, count; /* of variants */
    int shared_bytes; /* of a block, that its variants want; a set-up that wants more is not loaded */
    const char *binary, *text; /* NVRTC's options for a cubin and for PTX */
};

static const struct target targets[] = {
    {"sm_80", 8, 0, 0, 1, 0, 2, 98304, "--gpu-architecture=sm_80", "--gpu-architecture=compute_80"},
    {"sm_90a", 9, 0, 1, 0, 2, 2, 229440, "--gpu-architecture=sm_90a", "--gpu-architecture=compute_90a"},
};
enum { target_count = sizeof targets / sizeof *targets };

/* ---- failures -------------------------------------------------------------------------------------------------- */

APART static int fail(struct gemm_bf16_error *error, int status, int result, const char *format, ...)
{
    va_list list;
    if (!error)
        return status;
    error->status = status;
    error->driver_result = result;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    return status;
}

/* A CUresult's name and, where one can be told, what it comes from here. */
static const char *result_name(int result)
{
    static const struct {
        int result;
        const char *name;
    } names[] = {
        {1, "CUDA_ERROR_INVALID_VALUE"},
        {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {3, "CUDA_ERROR_NOT_INITIALIZED: call cuInit, or cudaFree(0), before"},
        {4, "CUDA_ERROR_DEINITIALIZED: the program is at its end"},
        {101, "CUDA_ERROR_INVALID_DEVICE"},
        {200, "CUDA_ERROR_INVALID_IMAGE"},
        {201, "CUDA_ERROR_INVALID_CONTEXT: call cuCtxSetCurrent, or cudaSetDevice, in this thread before"},
        {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {218, "CUDA_ERROR_INVALID_PTX"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is older than the compiler"},
        {400, "CUDA_ERROR_INVALID_HANDLE: the stream is of another context, or gone"},
        {500, "CUDA_ERROR_NOT_FOUND"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS: of a kernel before; the context is lost"},
        {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
        {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
        {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION: of a kernel before; the context is lost"},
        {716, "CUDA_ERROR_MISALIGNED_ADDRESS: of a kernel before; the context is lost"},
        {719, "CUDA_ERROR_LAUNCH_FAILED: of a kernel before; the context is lost"},
        {801, "CUDA_ERROR_NOT_SUPPORTED"},
        {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].result == result)
            return names[i].name;
    return "see cuda.h";
}

APART static int driver_fault(struct gemm_bf16_error *error, int result, const char *call, const char *of)
{
    enum { out_of_memory = 2, not_initialized = 3, no_context = 201 };
    int status = gemm_bf16_DRIVER;
    if (result == out_of_memory)
        status = gemm_bf16_NO_MEMORY;
    if (result == not_initialized || result == no_context)
        status = gemm_bf16_NO_CONTEXT;
    return fail(error, status, result, "%s of %s failed with CUresult %d (%s)", call, of, result,
                result_name(result));
}

/* ---- load: the driver -------------------------------------------------------------------------------------------- */

/* POSIX: a function's address has the representation of a void *. */
static int find_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Beside the loader's own search: containers, NixOS and WSL keep the driver where no cache lists it. */
static int open_driver(struct gemm_bf16 *k, struct gemm_bf16_error *error)
{
    static const char *const names[] = {
        "libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
    };
    const char *missing = NULL;
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names && !k->library; i++)
        k->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!k->library)
        return fail(error, gemm_bf16_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
    if (!find_symbol(k->library, "cuDriverGetVersion", &k->driver.version))
        missing = "cuDriverGetVersion";
    if (!find_symbol(k->library, "cuCtxGetDevice", &k->driver.context_device))
        missing = "cuCtxGetDevice";
    if (!find_symbol(k->library, "cuDeviceGetAttribute", &k->driver.device_attribute))
        missing = "cuDeviceGetAttribute";
    if (!find_symbol(k->library, "cuModuleLoadData", &k->driver.module_load))
        missing = "cuModuleLoadData";
    if (!find_symbol(k->library, "cuModuleUnload", &k->driver.module_unload))
        missing = "cuModuleUnload";
    if (!find_symbol(k->library, "cuModuleGetFunction", &k->driver.module_function))
        missing = "cuModuleGetFunction";
    if (!find_symbol(k->library, "cuFuncSetAttribute", &k->driver.function_set))
        missing = "cuFuncSetAttribute";
    if (!find_symbol(k->library, "cuLaunchKernelEx", &k->driver.launch))
        missing = "cuLaunchKernelEx";
    find_symbol(k->library, "cuOccupancyMaxActiveClusters", &k->driver.max_active_clusters);
    find_symbol(k->library, "cuTensorMapEncodeTiled", &k->driver.encode_tiled);
    if (missing)
        return fail(error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no %s", missing);
    return gemm_bf16_OK;
}

static int take_driver(struct gemm_bf16 *k, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    k->driver = *driver;
    if (!driver->version || !driver->context_device || !driver->device_attribute || !driver->module_load ||
        !driver->module_unload || !driver->module_function || !driver->function_set || !driver->launch)
        return fail(error, gemm_bf16_INVALID, 0,
                    "the driver's table lacks an entry point; only max_active_clusters may be "
                                          "NULL, and encode_tiled where no tensor map is used");
    return gemm_bf16_OK;
}

/* ---- load: sources and PTX --------------------------------------------------------------------------------------- */

/* The chunks as one text, which the caller frees. */
static char *join(const char *const *chunk, int count)
{
    size_t bytes = 1;
    char *text, *end;
    int i;
    for (i = 0; i < count; i++)
        bytes += strlen(chunk[i]);
    text = (char *)malloc(bytes);
    if (!text)
        return NULL;
    end = text;
    for (i = 0; i < count; i++) {
        size_t length = strlen(chunk[i]);
        memcpy(end, chunk[i], length);
        end += length;
    }
    *end = '\0';
    return text;
}

/* ---- load: the compiler ------------------------------------------------------------------------------------------ */

/* NVRTC. Signatures are those of nvrtc.h of CUDA 12 and 13; a program is a void *. */
struct compiler {
    void *builtins, *library;
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*cubin_size)(void *program, size_t *bytes);
    int (*cubin)(void *program, char *bytes);
    int (*ptx_size)(void *program, size_t *bytes);
    int (*ptx)(void *program, char *text);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
};

static void close_compiler(struct compiler *c)
{
    if (c->library)
        dlclose(c->library);
    if (c->builtins)
        dlclose(c->builtins);
    memset(c, 0, sizeof *c);
}

static int is_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

/* The newest NVRTC in a folder. libnvrtc looks for its builtins by bare name when it compiles, which finds them only if
 * they are open by then. */
static void open_in(struct compiler *c, const char *root, const char *below)
{
    enum { newest = 19, oldest = 12 };
    char path[4096];
    int major, minor, length;
    for (major = newest; major >= oldest && !c->library; major--) {
        for (minor = 9; minor >= 0 && !c->builtins; minor--) {
            length = snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, below, major, minor);
            if (length > 0 && (size_t)length < sizeof path && is_file(path))
                c->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
        if (!c->builtins)
            continue;
        length = snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, below, major);
        if (length > 0 && (size_t)length < sizeof path)
            c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!c->library)
            close_compiler(c);
    }
}

static int open_compiler(struct compiler *c, struct gemm_bf16_error *error)
{
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *roots[3];
    int major = 0, minor = 0;
    size_t i, n;
    roots[0] = getenv("CUDA_HOME");
    roots[1] = getenv("CUDA_PATH");
    roots[2] = "/usr/local/cuda";
    memset(c, 0, sizeof *c);
    for (i = 0; i < sizeof roots / sizeof *roots; i++)
        for (n = 0; n < sizeof below / sizeof *below && roots[i] && !c->library; n++)
            open_in(c, roots[i], below[n]);
    for (i = 0; i < sizeof names / sizeof *names && !c->library; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(error, gemm_bf16_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (!find_symbol(c->library, "nvrtcVersion", &c->version) ||
        !find_symbol(c->library, "nvrtcCreateProgram", &c->create) ||
        !find_symbol(c->library, "nvrtcDestroyProgram", &c->destroy) ||
        !find_symbol(c->library, "nvrtcCompileProgram", &c->compile) ||
        !find_symbol(c->library, "nvrtcGetCUBINSize", &c->cubin_size) ||
        !find_symbol(c->library, "nvrtcGetCUBIN", &c->cubin) ||
        !find_symbol(c->library, "nvrtcGetPTXSize", &c->ptx_size) ||
        !find_symbol(c->library, "nvrtcGetPTX", &c->ptx) ||
        !find_symbol(c->library, "nvrtcGetProgramLogSize", &c->log_size) ||
        !find_symbol(c->library, "nvrtcGetProgramLog", &c->log) || c->version(&major, &minor))
        return fail(error, gemm_bf16_NO_COMPILER, 0, "NVRTC lacks an entry point");
    if (major < 12 || (major == 12 && minor < 8))
        return fail(error, gemm_bf16_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
    return gemm_bf16_OK;
}

/* The compiler's messages as the detail of a failure. */
static int compile_fault(const struct compiler *c, void *program, int result, const char *file,
                         struct gemm_bf16_error *error)
{
    size_t bytes = 0;
    char *log = NULL;
    int status;
    if (c->log_size(program, &bytes) == 0 && bytes > 1)
        log = (char *)malloc(bytes + 1);
    if (log && c->log(program, log) == 0) {
        log[bytes] = '\0';
        status = fail(error, gemm_bf16_COMPILE, result, "%s", log);
    } else {
        status = fail(error, gemm_bf16_COMPILE, result, "NVRTC fails on %s with nvrtcResult %d", file, result);
    }
    free(log);
    return status;
}

/* Compile to a cubin, or to PTX for a device newer than the target; *out is the caller's to free. */
static int compile(const struct compiler *c, const struct image *image, const char *architecture, int as_ptx,
                   char **out, struct gemm_bf16_error *error)
{
    const char *options[] = {
        architecture,
        "--std=c++17",
    };
    void *program = NULL;
    size_t bytes = 0;
    int result, status = gemm_bf16_OK;
    char *text = join(image->source, image->source_chunks);
    *out = NULL;
    if (!text)
        return fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the kernel's source");
    result = c->create(&program, text, image->file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(error, gemm_bf16_COMPILE, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = c->compile(program, (int)(sizeof options / sizeof *options), options);
    if (!result)
        result = as_ptx ? c->ptx_size(program, &bytes) : c->cubin_size(program, &bytes);
    if (result) {
        status = compile_fault(c, program, result, image->file, error);
        goto done;
    }
    *out = (char *)malloc(bytes + 1);
    if (!*out) {
        status = fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the compiled kernel");
        goto done;
    }
    (*out)[bytes] = '\0';
    result = as_ptx ? c->ptx(program, *out) : c->cubin(program, *out);
    if (result) {
        status = compile_fault(c, program, result, image->file, error);
        free(*out);
        *out = NULL;
    }
done:
    c->destroy(&program);
    return status;
}

/* ---- load ------------------------------------------------------------------------------------------------------ */

/* What load settles for those below. */
static void choose_copy(struct gemm_bf16 *k);
static int uses_maps(int target);
static void check_images(struct gemm_bf16 *k);

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
struct launch_attribute {
    int id, pad;
    union {
        uint32_t cluster[3];
        uint64_t word[8];
    } value;
};

struct launch_config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *stream;
    const struct launch_attribute *attributes;
    uint32_t attribute_count;
};

/* CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID */
enum {
    sm_count_attribute = 16,
    major_attribute = 75,
    minor_attribute = 76,
    shared_attribute = 97, /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    function_shared_bytes = 8,
    function_any_cluster = 14,
    cluster_attribute = 4,
    programmatic_attribute = 6
};

/* By variant, in the order of `variants`. */
static const struct launch_attribute attributes[][2] = {
    {{0, 0, {{0, 0, 0}}}, {0, 0, {{0, 0, 0}}}},
    {{0, 0, {{0, 0, 0}}}, {0, 0, {{0, 0, 0}}}},
    {{cluster_attribute, 0, {{2, 1, 1}}}, {0, 0, {{0, 0, 0}}}},
    {{cluster_attribute, 0, {{2, 1, 1}}}, {0, 0, {{0, 0, 0}}}},
};

static uint32_t cluster_blocks(const struct gemm_bf16_variant *v)
{
    return v->cluster[0] * v->cluster[1] * v->cluster[2];
}

/* What the driver takes; the grid and the stream are a launch's. */
static const struct launch_config configs[] = {
    {{0, 0, 0}, {256, 1, 1}, 98304, NULL, attributes[0], 0},
    {{0, 0, 0}, {256, 1, 1}, 98304, NULL, attributes[1], 0},
    {{0, 0, 0}, {384, 1, 1}, 229440, NULL, attributes[2], 1},
    {{0, 0, 0}, {384, 1, 1}, 213568, NULL, attributes[3], 1},
};

static inline void configure(struct launch_config *config, int variant, const uint32_t *grid, void *stream)
{
    *config = configs[variant];
    config->grid[0] = grid[0];
    config->grid[1] = grid[1];
    config->grid[2] = grid[2];
    config->stream = stream;
}

/* The current device, as the driver has it. */
struct device {
    int major, minor;
    int shared_bytes; /* most that a block can opt in to */
    int sm_count;
};

/* The target for a device whose blocks have the shared memory for it: that of its compute capability, else the nearest
 * of the same major version, else the newest whose PTX may run on later devices. -1: none. */
static int choose_target(const struct device *d)
{
    int i, best = -1, best_score = 0;
    for (i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        int own = 10 * t->major + t->minor, score = 0;
        if (t->shared_bytes > d->shared_bytes)
            continue;
        if (t->major == d->major && t->minor == d->minor)
            score = 3000 + t->exact;
        else if (t->major == d->major && t->minor < d->minor && !t->exact)
            score = 2000 + own;
        else if (t->newer && own < 10 * d->major + d->minor)
            score = 1000 + own;
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* Why there is none: what the device is, and what each target wants. */
static int refuse_device(const struct device *d, struct gemm_bf16_error *error)
{
    char wanted[700];
    size_t at = 0;
    int i;
    for (i = 0; i < target_count && at < sizeof wanted; i++) {
        const struct target *t = &targets[i];
        const char *before = i ? ", " : "";
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        int length = snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", before, t->arch, t->major,
                              t->minor, later, t->shared_bytes);
        at += length > 0 ? (size_t)length : 0;
    }
    return fail(error, gemm_bf16_UNSUPPORTED, 0,
                "the current device has compute capability %d.%d and %d bytes of shared "
                "memory for a block; the kernel was made for %s", d->major, d->minor, d->shared_bytes, wanted);
}

/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct gemm_bf16 *k, int v, int variant, int sm_count)
{
    static const uint32_t one[3] = {1, 1, 1};
    struct launch_config config;
    uint32_t blocks = cluster_blocks(&variants[variant]);
    int clusters = 0;
    k->resident[v] = sm_count > (int)blocks ? sm_count : (int)blocks; /* a persistent grid is one cluster at least */
    if (blocks < 2 || !k->driver.max_active_clusters)
        return;
    configure(&config, variant, one, NULL);
    config.grid[0] = variants[variant].cluster[0];
    config.grid[1] = variants[variant].cluster[1];
    config.grid[2] = variants[variant].cluster[2];
    if (k->driver.max_active_clusters(&clusters, k->function[v], &config) == 0 && clusters > 0 &&
        (int64_t)clusters * (int64_t)blocks < (int64_t)sm_count * images[variant].blocks_per_sm)
        k->resident[v] = (int32_t)((int64_t)clusters * (int64_t)blocks / images[variant].blocks_per_sm);
}

/* *result: what cuModuleLoadData gave. */
static int load_image(struct gemm_bf16 *k, int v, const void *bytes, int *result, struct gemm_bf16_error *error)
{
    enum { portable_cluster = 8 };
    int variant = targets[k->target - 1].first + v, other;
    const struct gemm_bf16_variant *row = &variants[variant];
    *result = k->driver.module_load(&k->module[v], bytes);
    if (*result) {
        k->module[v] = NULL;
        return driver_fault(error, *result, "cuModuleLoadData", row->entry);
    }
    other = k->driver.module_function(&k->function[v], k->module[v], row->entry);
    if (other)
        return driver_fault(error, other, "cuModuleGetFunction", row->entry);
    if (row->shared_bytes > 0) {
        other = k->driver.function_set(k->function[v], function_shared_bytes, (int)row->shared_bytes);
        if (other)
            return driver_fault(error, other, "cuFuncSetAttribute", row->entry);
    }
    if (cluster_blocks(row) > portable_cluster) {
        other = k->driver.function_set(k->function[v], function_any_cluster, 1);
        if (other)
            return driver_fault(error, other, "cuFuncSetAttribute", row->entry);
    }
    return gemm_bf16_OK;
}

/* What of a variant is made here, for the caller to free: PTX where as_ptx wants it, its source compiled. *text is NULL
 * where it is loaded as the cubin that it is. */
static int make_text(struct compiler *compiler, const struct target *t, const struct image *image, int as_ptx,
                     char **text, struct gemm_bf16_error *error)
{
    int status = gemm_bf16_OK;
    *text = NULL;
    if (as_ptx && image->ptx) {
        *text = join(image->ptx, image->ptx_chunks);
        return *text ? gemm_bf16_OK : fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the kernel's PTX");
    }
    if (!image->source || (image->cubin && !as_ptx))
        return gemm_bf16_OK;
    if (!compiler->library)
        status = open_compiler(compiler, error);
    return status ? status : compile(compiler, image, as_ptx ? t->text : t->binary, as_ptx, text, error);
}

/* PTX for a device that is newer than the target, and for one that takes no binaries at all, an emulated one. */
static int load_variants(struct gemm_bf16 *k, const struct device *device, struct gemm_bf16_error *error)
{
    enum { no_binary_for_gpu = 209 };
    const struct target *t = &targets[k->target - 1];
    int status = gemm_bf16_OK, v = 0;
    int as_ptx = t->major != device->major;
    struct compiler compiler;
    memset(&compiler, 0, sizeof compiler);
    while (v < t->count && !status) {
        const struct image *image = &images[t->first + v];
        int result = 0;
        char *text = NULL;
        status = make_text(&compiler, t, image, as_ptx, &text, error);
        if (!status)
            status = load_image(k, v, text ? text : image->cubin, &result, error);
        free(text);
        if (result == no_binary_for_gpu && !as_ptx && (image->source || image->ptx)) {
            status = gemm_bf16_OK;
            as_ptx = 1;
            continue;
        }
        if (!status)
            count_resident(k, v, t->first + v, device->sm_count);
        v++;
    }
    close_compiler(&compiler);
    return status;
}

static int attribute(struct gemm_bf16 *k, int *value, int which, int device, struct gemm_bf16_error *error)
{
    int result = k->driver.device_attribute(value, which, device);
    return result ? driver_fault(error, result, "cuDeviceGetAttribute", "the current device") : 0;
}

int gemm_bf16_load(struct gemm_bf16 *kernel, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    struct gemm_bf16 *k = kernel;
    struct gemm_bf16_driver table; /* the caller's may lie in *kernel */
    struct device device = {0, 0, 0, 0};
    int status, result, ordinal = 0;
    if (driver)
        table = *driver;
    memset(k, 0, sizeof *k);
    choose_copy(k);
    status = driver ? take_driver(k, &table, error) : open_driver(k, error);
    if (status)
        goto fail;
    result = k->driver.version(&k->driver_version);
    if (result) {
        status = driver_fault(error, result, "cuDriverGetVersion", "the driver");
        goto fail;
    }
    result = k->driver.context_device(&ordinal);
    if (result) {
        status = driver_fault(error, result, "cuCtxGetDevice", "the current context");
        goto fail;
    }
    status = attribute(k, &device.major, major_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.minor, minor_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.shared_bytes, shared_attribute, ordinal, error);
    if (!status)
        status = attribute(k, &device.sm_count, sm_count_attribute, ordinal, error);
    if (status)
        goto fail;
    k->capability = 10 * device.major + device.minor;
    k->target = 1 + choose_target(&device);
    if (k->target == 0) {
        status = refuse_device(&device, error);
        goto fail;
    }
    status = load_variants(k, &device, error);
    if (status)
        goto fail;
    if (uses_maps(k->target) && !k->driver.encode_tiled) {
        status = fail(error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
        goto fail;
    }
    if (uses_maps(k->target))
        check_images(k);
    return gemm_bf16_OK;

fail:
    gemm_bf16_unload(k, NULL);
    return status;
}

int gemm_bf16_unload(struct gemm_bf16 *kernel, struct gemm_bf16_error *error)
{
    int status = gemm_bf16_OK, v;
    for (v = 0; v < (int)(sizeof kernel->module / sizeof *kernel->module); v++) {
        int result = kernel->module[v] ? kernel->driver.module_unload(kernel->module[v]) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", "gemm_bf16");
    }
    if (kernel->library)
        dlclose(kernel->library);
    memset(kernel, 0, sizeof *kernel);
    return status;
}

/* ---- check: the arguments ---------------------------------------------------------------------------------------- */

/* A tensor as one call has it: extents and strides in elements, in memory order, the innermost last. */
struct tensor {
    uint64_t address;
    int64_t dim[2], stride[2];
};

/* Tensors by number. */
enum {
    tensor_A,
    tensor_B,
    tensor_D,
    tensors_in_all
};

/* What a variant asks of a tensor. */
struct rule {
    int tensor, rank;
    uint64_t bytes;       /* of an element */
    uint64_t align;       /* of address, pitches and, with whole_rows, of the rows; bytes */
    int whole_rows, map;
};

INLINE uint64_t pitch(int64_t extent, int64_t stride, uint64_t element_bytes)
{
    return extent > 1 ? (uint64_t)stride * element_bytes : 0;
}

/* The tensors in the order of gemm_bf16_args, with defaults in place of strides of 0; dense: all are. */
INLINE void resolve(const struct gemm_bf16_args *args, int dense, struct tensor *t)
{
    t[tensor_A].address = (uint64_t)(uintptr_t)args->A;
    t[tensor_A].dim[0] = args->M;
    t[tensor_A].dim[1] = args->K;
    t[tensor_A].stride[0] =
        dense || !args->A_stride[0] ? args->K : args->A_stride[0];
    t[tensor_B].address = (uint64_t)(uintptr_t)args->B;
    t[tensor_B].dim[0] = args->N;
    t[tensor_B].dim[1] = args->K;
    t[tensor_B].stride[0] =
        dense || !args->B_stride[0] ? args->K : args->B_stride[0];
    t[tensor_D].address = (uint64_t)(uintptr_t)args->D;
    t[tensor_D].dim[0] = args->M;
    t[tensor_D].dim[1] = args->N;
    t[tensor_D].stride[0] =
        dense || !args->D_stride[0] ? args->N : args->D_stride[0];
}

APART static int refuse_size(struct gemm_bf16_error *error, const char *name, int64_t value, int64_t limit,
                             int64_t multiple)
{
    long long v = (long long)value;
    if (value < 0)
        return fail(error, gemm_bf16_INVALID, 0, "%s is %lld, which is no size; write 0 or more", name, v);
    if (value > limit)
        return fail(error, gemm_bf16_INVALID, 0,
                    "%s is %lld, past %lld, the most that the kernel counts to; split the work",
                    name, v, (long long)limit);
    return fail(error, gemm_bf16_INVALID, 0, "%s is %lld, no multiple of %lld; pad it to %lld", name, v,
                (long long)multiple, (long long)((value / multiple + 1) * multiple));
}

/* The sizes, before any formula over them is computed. */
INLINE int check_sizes(const struct gemm_bf16_args *args, struct gemm_bf16_error *error)
{
    if (args->M < 0 || args->M > 2147482624)
        return refuse_size(error, "M", args->M, 2147482624, 1);
    if (args->N < 0 || args->N > 2147482624)
        return refuse_size(error, "N", args->N, 2147482624, 1);
    if (args->K < 0 || args->K > 2147482624)
        return refuse_size(error, "K", args->K, 2147482624, 1);
    return gemm_bf16_OK;
}

APART static int refuse_address(struct gemm_bf16_error *error, const char *name, uint64_t address)
{
    if (address == 0)
        return fail(error, gemm_bf16_INVALID, 0, "%s is NULL; pass the tensor's device address", name);
    return fail(error, gemm_bf16_INVALID, 0, "%s is 0x%llx, at or past 2^57, so no device address [TMA-ADDR57]", name,
                (unsigned long long)address);
}

APART static int refuse_stride(struct gemm_bf16_error *error, const char *name, int dim, int64_t stride, uint64_t bytes)
{
    return fail(error, gemm_bf16_INVALID, 0,
                "%s_stride[%d] is %lld elements of %llu bytes; strides are 0 or more and below "
                "2^40 bytes, %llu elements [TMA-STRMAX]", name, dim, (long long)stride, (unsigned long long)bytes,
                (unsigned long long)(((uint64_t)1 << 40) / bytes));
}

APART static int refuse_overlap(struct gemm_bf16_error *error, const char *name, int dim, int64_t stride, int64_t row)
{
    return fail(error, gemm_bf16_INVALID, 0,
                "%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap "
                "itself: its rows have %lld; write %lld or more", name, dim, (long long)stride, (long long)row,
                (long long)row);
}

/* What holds for every variant: no extent below 0 or past a map's, addresses, strides below 2^40 bytes, none of a
 * tensor that is written below its row. */
INLINE int check_tensors(const struct tensor *t, struct gemm_bf16_error *error)
{
    if (t[tensor_A].address >> 57 != 0 ||
        (t[tensor_A].address == 0 && t[tensor_A].dim[0] > 0 && t[tensor_A].dim[1] > 0))
        return refuse_address(error, "A", t[tensor_A].address);
    if ((uint64_t)t[tensor_A].stride[0] >= ((uint64_t)1 << 40) / 2 &&
        t[tensor_A].dim[0] > 1)
        return refuse_stride(error, "A", 0, t[tensor_A].stride[0], 2);
    if (t[tensor_B].address >> 57 != 0 ||
        (t[tensor_B].address == 0 && t[tensor_B].dim[0] > 0 && t[tensor_B].dim[1] > 0))
        return refuse_address(error, "B", t[tensor_B].address);
    if ((uint64_t)t[tensor_B].stride[0] >= ((uint64_t)1 << 40) / 2 &&
        t[tensor_B].dim[0] > 1)
        return refuse_stride(error, "B", 0, t[tensor_B].stride[0], 2);
    if (t[tensor_D].address >> 57 != 0 ||
        (t[tensor_D].address == 0 && t[tensor_D].dim[0] > 0 && t[tensor_D].dim[1] > 0))
        return refuse_address(error, "D", t[tensor_D].address);
    if ((uint64_t)t[tensor_D].stride[0] >= ((uint64_t)1 << 40) / 2 &&
        t[tensor_D].dim[0] > 1)
        return refuse_stride(error, "D", 0, t[tensor_D].stride[0], 2);
    if (t[tensor_D].stride[0] < t[tensor_D].dim[1] &&
        t[tensor_D].dim[0] > 1)
        return refuse_overlap(error, "D", 0, t[tensor_D].stride[0],
                              t[tensor_D].dim[1]);
    return gemm_bf16_OK;
}

/* Whether every size is in its range, and above 1. Sums of signs with one branch, here and below, for this is what most
 * launches are: nothing has to be put in the place of an extent, stride or address that is never used. */
INLINE int ordinary_sizes(const struct gemm_bf16_args *args)
{
    uint64_t wrong = 0; /* its highest bit */
    wrong |= ((uint64_t)args->M - 2) | ((uint64_t)2147482624 - (uint64_t)args->M);
    wrong |= ((uint64_t)args->N - 2) | ((uint64_t)2147482624 - (uint64_t)args->N);
    wrong |= ((uint64_t)args->K - 2) | ((uint64_t)2147482624 - (uint64_t)args->K);
    return wrong >> 63 == 0;
}

/* Whether all strides are the default ones. */
INLINE int all_dense(const struct gemm_bf16_args *args)
{
    int64_t given = 0;
    given |= args->A_stride[0];
    given |= args->B_stride[0];
    given |= args->D_stride[0];
    return given == 0;
}

/* Whether every tensor has an address, extents above 1 and strides in their range. */
INLINE int ordinary_tensors(const struct tensor *t, int dense)
{
    uint64_t wrong = 0, any = 0;
    any |= t[tensor_A].address;
    wrong |= t[tensor_A].address - 1;
    if (!dense)
        wrong |= (uint64_t)t[tensor_A].stride[0] |
                 (((uint64_t)1 << 40) / 2 - 1 - (uint64_t)t[tensor_A].stride[0]);
    any |= t[tensor_B].address;
    wrong |= t[tensor_B].address - 1;
    if (!dense)
        wrong |= (uint64_t)t[tensor_B].stride[0] |
                 (((uint64_t)1 << 40) / 2 - 1 - (uint64_t)t[tensor_B].stride[0]);
    any |= t[tensor_D].address;
    wrong |= t[tensor_D].address - 1;
    wrong |= (uint64_t)t[tensor_D].stride[0] - (uint64_t)t[tensor_D].dim[1];
    if (!dense)
        wrong |= (uint64_t)t[tensor_D].stride[0] |
                 (((uint64_t)1 << 40) / 2 - 1 - (uint64_t)t[tensor_D].stride[0]);
    wrong |= (((uint64_t)1 << 57) - 1 - any) | any;
    return wrong >> 63 == 0;
}

/* What the two have found, for the compiler. */
INLINE void assume_ordinary(const struct gemm_bf16_args *args, const struct tensor *t)
{
    ASSUME(args->M >= 2 && args->M <= 2147482624);
    ASSUME(args->N >= 2 && args->N <= 2147482624);
    ASSUME(args->K >= 2 && args->K <= 2147482624);
    ASSUME(t[tensor_A].address != 0);
    ASSUME(t[tensor_A].dim[0] > 1);
    ASSUME(t[tensor_A].dim[1] > 1);
    ASSUME(t[tensor_B].address != 0);
    ASSUME(t[tensor_B].dim[0] > 1);
    ASSUME(t[tensor_B].dim[1] > 1);
    ASSUME(t[tensor_D].address != 0);
    ASSUME(t[tensor_D].dim[0] > 1);
    ASSUME(t[tensor_D].dim[1] > 1);
}

/* Says which tensor keeps the variant that asks least from being taken, and what would do. */
APART static int refuse_alignment(const struct gemm_bf16_args *args, const struct rule *rule, int rules,
                                  struct gemm_bf16_error *error)
{
    struct tensor tensor[tensors_in_all];
    int i, d;
    resolve(args, 0, tensor);
    for (i = 0; i < rules; i++) {
        const struct rule *r = &rule[i];
        const struct tensor *t = &tensor[r->tensor];
        const char *name = tensors[r->tensor].name;
        unsigned long long align = (unsigned long long)r->align;
        if (t->address % r->align != 0)
            return fail(error, gemm_bf16_INVALID, 0,
                        "%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example [%s]",
                        name, (unsigned long long)t->address, align,
                        (unsigned long long)(t->address - t->address % r->align), r->map ? "TMA-ADDR16" : "ALIGN");
        for (d = 0; d + 1 < r->rank; d++) {
            uint64_t bytes = pitch(t->dim[d], t->stride[d], r->bytes);
            if (bytes % r->align != 0)
                return fail(error, gemm_bf16_INVALID, 0,
                            "the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of %llu; "
                            "pad it to %llu elements and pass that as %s_stride[%d] [%s]",
                            d, name, (long long)t->stride[d], tensors[r->tensor].dtype,
                            (unsigned long long)bytes, align,
                            (unsigned long long)((bytes / r->align + 1) * r->align / r->bytes), name, d,
                            r->map ? "TMA-STR16" : "ALIGN");
        }
        if (r->whole_rows && (uint64_t)t->dim[r->rank - 1] * r->bytes % r->align != 0)
            return fail(error, gemm_bf16_INVALID, 0,
                        "rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                        "elements", name, (long long)t->dim[r->rank - 1], tensors[r->tensor].dtype, align,
                        (unsigned long long)(((uint64_t)t->dim[r->rank - 1] * r->bytes / r->align + 1) * r->align /
                                             r->bytes));
    }
    return fail(error, gemm_bf16_INVALID, 0, "no variant takes these arguments");
}

/* ---- patch: tensor maps -----------------------------------------------------------------------------------------
 *
 * A tensor map is 16 words of 64 bits. The image, the numbers below, holds the bits that this kernel's maps always
 * have: type, rank, box, swizzle, promotion, and extents that are constants. These are patched in for each launch:
 *
 *   word      63                              32 31                               0
 *     0     |                              address                                  |
 *     1     |           stride[0] / 16          |              (image)              |
 *     2     |           stride[2] / 16          |           stride[1] / 16          |
 *     3     |    (0)     | h3 | h2 | h1 | h0 |  |           stride[3] / 16          |   h: bits 32-35 of stride / 16
 *     4     |             dim[1] - 1            |             dim[0] - 1            |
 *     5     |             dim[3] - 1            |             dim[2] - 1            |
 *     6     |              (image)              |             dim[4] - 1            |
 *
 * dim[0] is the innermost extent, in elements; stride[i] the bytes from one index of dimension i + 1 to the next. load
 * compares the result with the driver's encoder; where they differ, every map is the driver's. */

/* The constant arguments of one cuTensorMapEncodeTiled call. */
struct map_call {
    const char *name;
    int dtype, swizzle, promotion; /* as in cuda.h */
    uint32_t rank;
    uint32_t box[5];
    uint64_t dim[5];               /* 0: not constant */
    uint64_t stride[4];            /* bytes, of a dense tensor, which stand in the image; 0: not constant */
};

/* Address, extent and pitch as maps take them: those of an empty tensor, and the stride of a dimension of one index,
 * are never used, but must be valid. */
INLINE uint64_t map_address(uint64_t address)
{
    return address ? address : 16;
}

INLINE uint64_t map_dim(int64_t extent)
{
    return extent > 0 ? (uint64_t)extent : 1;
}

INLINE uint64_t map_pitch(int64_t extent, int64_t stride, uint64_t element_bytes)
{
    return extent > 1 ? (uint64_t)stride * element_bytes : 16;
}

/* Driver-version work-arounds: bits of a map that drivers up to a version set wrongly, on devices from a compute
 * capability on. They are cleared in images and in what the driver writes alike; no image here has one set.
 *   bit 85, Blackwell, drivers up to 13.1: sporadic illegal accesses to small tensors (NVIDIA bug 5736804) */
struct workaround {
    int capability, driver_version, word;
    uint64_t clear;
};

static const struct workaround workarounds[] = {
    {100, 13010, 1, (uint64_t)1 << 21},
};

static void work_around(const struct gemm_bf16 *k, uint64_t *map)
{
    size_t i;
    for (i = 0; i < sizeof workarounds / sizeof *workarounds; i++)
        if (k->capability >= workarounds[i].capability && k->driver_version <= workarounds[i].driver_version)
            map[workarounds[i].word] &= ~workarounds[i].clear;
}

/* The driver's encoder; map is written only on success. */
static int encode(const struct gemm_bf16 *k, const struct map_call *call, uint64_t address, const uint64_t *dim,
                  const uint64_t *stride, uint64_t *map)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
    int result = k->driver.encode_tiled(aligned, call->dtype, call->rank, (void *)(uintptr_t)address, dim, stride,
                                        call->box, element_stride, 0, call->swizzle, call->promotion, 0);
    if (result)
        return result;
    memcpy(map, aligned, 128);
    work_around(k, map);
    return 0;
}

APART static int map_fault(const struct map_call *call, int result, struct gemm_bf16_error *error)
{
    return driver_fault(error, result, "cuTensorMapEncodeTiled", call->name);
}

/* A_map: bf16, rank 2, box 64, 128, swizzle 128B, innermost first. */
static const struct map_call A_map_call = {
    "A_map", 9, 3, 2, 2, {64, 128}, {0, 0},
    {0},
};

#define A_map_image \
    0x0000000000000000, 0x0000000000046510, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x3f00000000000000, 0x000000000000007f, \
    0x0000000000004000, 0x0000000000000400, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000

/* In a copy of the image. dense: strides are the default ones. */
INLINE void A_map_patch(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    map[0] = address;
    map[4] = ((dim[0] - 1) & 0xffffffff) | (dim[1] - 1) << 32;
    map[1] = 0x0000000000046510 | stride[0] >> 4 << 32;
    map[3] = stride[0] >> 36 << 32;
    (void)dense;
}

static void A_map_whole(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    static const uint64_t image[16] = {A_map_image};
    memcpy(map, image, sizeof image);
    A_map_patch(map, dense, address, dim, stride);
}

/* The map of A_map for a tensor. */
INLINE int A_map(const struct gemm_bf16 *k, int patched, int dense, const struct tensor *t, uint64_t *map,
                   struct gemm_bf16_error *error)
{
    const uint64_t address = map_address(t->address);
    uint64_t dim[5], stride[4];
    int result;
    dim[0] = map_dim(t->dim[1]);
    dim[1] = map_dim(t->dim[0]);
    stride[0] = map_pitch(t->dim[0], t->stride[0], 2);
    if (patched) {
        A_map_patch(map, dense, address, dim, stride);
        return gemm_bf16_OK;
    }
    result = encode(k, &A_map_call, address, dim, stride, map);
    return result ? map_fault(&A_map_call, result, error) : 0;
}

/* B_map: bf16, rank 2, box 64, 128, swizzle 128B, innermost first. */
static const struct map_call B_map_call = {
    "B_map", 9, 3, 2, 2, {64, 128}, {0, 0},
    {0},
};

#define B_map_image \
    0x0000000000000000, 0x0000000000046510, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x3f00000000000000, 0x000000000000007f, \
    0x0000000000004000, 0x0000000000000400, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000

/* In a copy of the image. dense: strides are the default ones. */
INLINE void B_map_patch(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    map[0] = address;
    map[4] = ((dim[0] - 1) & 0xffffffff) | (dim[1] - 1) << 32;
    map[1] = 0x0000000000046510 | stride[0] >> 4 << 32;
    map[3] = stride[0] >> 36 << 32;
    (void)dense;
}

static void B_map_whole(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    static const uint64_t image[16] = {B_map_image};
    memcpy(map, image, sizeof image);
    B_map_patch(map, dense, address, dim, stride);
}

/* The map of B_map for a tensor. */
INLINE int B_map(const struct gemm_bf16 *k, int patched, int dense, const struct tensor *t, uint64_t *map,
                   struct gemm_bf16_error *error)
{
    const uint64_t address = map_address(t->address);
    uint64_t dim[5], stride[4];
    int result;
    dim[0] = map_dim(t->dim[1]);
    dim[1] = map_dim(t->dim[0]);
    stride[0] = map_pitch(t->dim[0], t->stride[0], 2);
    if (patched) {
        B_map_patch(map, dense, address, dim, stride);
        return gemm_bf16_OK;
    }
    result = encode(k, &B_map_call, address, dim, stride, map);
    return result ? map_fault(&B_map_call, result, error) : 0;
}

/* D_map: bf16, rank 2, box 64, 64, swizzle 128B, innermost first. */
static const struct map_call D_map_call = {
    "D_map", 9, 3, 0, 2, {64, 64}, {0, 0},
    {0},
};

#define D_map_image \
    0x0000000000000000, 0x0000000000006510, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x3f00000000000000, 0x000000000000003f, \
    0x0000000000002000, 0x0000000000000400, 0x0000000000000000, 0x0000000000000000, \
    0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000

/* In a copy of the image. dense: strides are the default ones. */
INLINE void D_map_patch(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    map[0] = address;
    map[4] = ((dim[0] - 1) & 0xffffffff) | (dim[1] - 1) << 32;
    map[1] = 0x0000000000006510 | stride[0] >> 4 << 32;
    map[3] = stride[0] >> 36 << 32;
    (void)dense;
}

static void D_map_whole(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    static const uint64_t image[16] = {D_map_image};
    memcpy(map, image, sizeof image);
    D_map_patch(map, dense, address, dim, stride);
}

/* The map of D_map for a tensor. */
INLINE int D_map(const struct gemm_bf16 *k, int patched, int dense, const struct tensor *t, uint64_t *map,
                   struct gemm_bf16_error *error)
{
    const uint64_t address = map_address(t->address);
    uint64_t dim[5], stride[4];
    int result;
    dim[0] = map_dim(t->dim[1]);
    dim[1] = map_dim(t->dim[0]);
    stride[0] = map_pitch(t->dim[0], t->stride[0], 2);
    if (patched) {
        D_map_patch(map, dense, address, dim, stride);
        return gemm_bf16_OK;
    }
    result = encode(k, &D_map_call, address, dim, stride, map);
    return result ? map_fault(&D_map_call, result, error) : 0;
}

/* ---- load: images against the driver ----------------------------------------------------------------------------- */

struct map {
    const struct map_call *call;
    void (*patch)(uint64_t *map, int dense, uint64_t address, const uint64_t *dim, const uint64_t *stride);
    unsigned targets; /* bit i: targets[i] has it */
};

static const struct map maps[] = {
    {&A_map_call, A_map_whole, 2u},
    {&B_map_call, B_map_whole, 2u},
    {&D_map_call, D_map_whole, 2u},
};
enum { map_count = sizeof maps / sizeof *maps };

static int uses_maps(int target)
{
    int i, uses = 0;
    for (i = 0; i < map_count; i++)
        uses |= (int)(maps[i].targets >> (target - 1) & 1u);
    return uses;
}

/* Call number n of a fixed list that crosses every bit of every patched field: each bit alone, then all of them; before
 * that a dense tensor, whose strides the image has by itself where they are constants. Returns 0 past the end. */
static int sample(const struct map_call *call, unsigned n, int *dense, uint64_t *address, uint64_t *dim,
                  uint64_t *stride)
{
    enum { address_low = 4, address_bits = 53, dim_bits = 32, stride_low = 4, stride_bits = 36 };
    uint32_t i;
    *dense = n == 0 && call->stride[0] != 0;
    *address = (uint64_t)1 << 32;
    for (i = 0; i < call->rank; i++)
        dim[i] = call->dim[i] ? call->dim[i] : 1;
    for (i = 0; i + 1 < call->rank; i++)
        stride[i] = *dense ? call->stride[i] : 16;
    if (n == 0)
        return 1;
    n--;
    if (n < address_bits) {
        *address = (uint64_t)1 << (address_low + n);
        return 1;
    }
    n -= address_bits;
    for (i = 0; i < call->rank; i++) {
        if (call->dim[i])
            continue;
        if (n < dim_bits) {
            dim[i] = ((uint64_t)1 << n) + 1;
            return 1;
        }
        n -= dim_bits;
    }
    for (i = 0; i + 1 < call->rank; i++) {
        if (n < stride_bits) {
            stride[i] = (uint64_t)1 << (stride_low + n);
            return 1;
        }
        n -= stride_bits;
    }
    *address = (((uint64_t)1 << address_bits) - 1) << address_low;
    for (i = 0; i < call->rank; i++)
        if (!call->dim[i])
            dim[i] = (uint64_t)1 << dim_bits;
    for (i = 0; i + 1 < call->rank; i++)
        stride[i] = (((uint64_t)1 << stride_bits) - 1) << stride_low;
    return n == 0;
}

/* Compares one map's image with the driver; says what differs in k->images. */
static int image_agrees(struct gemm_bf16 *k, const struct map *m)
{
    uint64_t ours[16], theirs[16], address, dim[5], stride[4];
    unsigned n;
    int dense, word, result;
    for (n = 0; sample(m->call, n, &dense, &address, dim, stride); n++) {
        m->patch(ours, dense, address, dim, stride);
        work_around(k, ours);
        result = encode(k, m->call, address, dim, stride, theirs);
        if (result) {
            snprintf(k->images, sizeof k->images, "%s: the driver's encoder refuses call %u of the check with CUresult "
                     "%d (%s)", m->call->name, n, result, result_name(result));
            return 0;
        }
        for (word = 0; word < 16; word++) {
            if (ours[word] == theirs[word])
                continue;
            snprintf(k->images, sizeof k->images,
                     "%s: in call %u of the check, word %d of the driver's map is 0x%llx, not 0x%llx", m->call->name, n,
                     word, (unsigned long long)theirs[word], (unsigned long long)ours[word]);
            return 0;
        }
    }
    return 1;
}

static void check_images(struct gemm_bf16 *k)
{
    int i;
    k->static_images = 1;
    for (i = 0; i < map_count && k->static_images; i++)
        if (maps[i].targets >> (k->target - 1) & 1u)
            k->static_images = image_agrees(k, &maps[i]);
}

/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

INLINE void put(uint64_t *word, size_t offset, const void *value, size_t bytes)
{
    memcpy((unsigned char *)word + offset, value, bytes);
}

/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time. */
#if defined(__GNUC__) && defined(__x86_64__)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));

/* memcpy of a struct gemm_bf16_params; the last 32 bytes overlap those before. */
__attribute__((target("avx"))) TOGETHER static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { count = sizeof(struct gemm_bf16_params) / sizeof(lanes) };
    const size_t last = sizeof(struct gemm_bf16_params) - sizeof(lanes);
    lanes *t = (lanes *)to;
    const lanes *f = (const lanes *)from;
    int i;
#if defined(__clang__) || __GNUC__ >= 8
#pragma GCC unroll 256
#endif
    for (i = 0; i < count; i++)
        t[i] = f[i];
    *(lanes *)((unsigned char *)to + last) = *(const lanes *)((const unsigned char *)from + last);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    (void)bytes;
    return to;
}
#endif

static void choose_copy(struct gemm_bf16 *k)
{
    k->copy = memcpy;
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        k->copy = copy_avx;
#endif
}

/* Stores the grid; an extent of 0 anywhere stores zeros. */
INLINE int put_grid(struct gemm_bf16_params *p, int64_t x, int64_t y, int64_t z, struct gemm_bf16_error *error)
{
    if (x <= 0 || y <= 0 || z <= 0)
        x = y = z = 0;
    if (x > 2147483647 || y > 65535 || z > 65535)
        return fail(error, gemm_bf16_INVALID, 0, "the sizes ask for a grid of %lld x %lld x %lld blocks, more than "
                    "2147483647 x 65535 x 65535; split the work", (long long)x, (long long)y, (long long)z);
    p->grid[0] = (uint32_t)x;
    p->grid[1] = (uint32_t)y;
    p->grid[2] = (uint32_t)z;
    return gemm_bf16_OK;
}

/* gemm_bf16 for sm_80. */
INLINE int fits_sm_80(const struct tensor *t)
{
    uint64_t low = 0; /* what lies below the alignment that this variant asks for */
    low |= t[tensor_A].address & 15;
    low |= pitch(t[tensor_A].dim[0], t[tensor_A].stride[0], 2) & 15;
    low |= t[tensor_B].address & 15;
    low |= pitch(t[tensor_B].dim[0], t[tensor_B].stride[0], 2) & 15;
    low |= t[tensor_D].address & 1;
    return low == 0;
}

INLINE int grid_sm_80(const struct gemm_bf16 *k, const struct gemm_bf16_args *args, struct gemm_bf16_params *p,
                        struct gemm_bf16_error *error)
{
    (void)k;
    return put_grid(p, (args->M + 127) / 128 * ((args->N + 127) / 128), 1, 1, error);
}

/* A launch of gemm_bf16 for sm_80, but for its tensors, sizes and grid. */
static const struct gemm_bf16_params launch_sm_80 ALIGNED = {
    {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    },
    64, NULL, 0, 256, {1, 1, 1},
    0, 98304, {0, 0, 0},
};

/* In a copy of that launch. patched: whether maps are patched images; else the driver encodes them. dense: whether all
 * strides are the default ones. */
INLINE int patch_sm_80(const struct gemm_bf16 *k, int patched, int dense, const struct gemm_bf16_args *args,
                          const struct tensor *t, struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    p->function = k->function[0];
    put(p->word, 0, &t[tensor_A].address, 8);
    put(p->word, 8, &t[tensor_B].address, 8);
    put(p->word, 16, &t[tensor_D].address, 8);
    put(p->word, 24, &t[tensor_A].stride[0], 8);
    put(p->word, 32, &t[tensor_B].stride[0], 8);
    put(p->word, 40, &t[tensor_D].stride[0], 8);
    {
        const int32_t value = (int32_t)args->M;
        put(p->word, 48, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->N;
        put(p->word, 52, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->K;
        put(p->word, 56, &value, 4);
    }
    (void)patched;
    (void)dense;
    return grid_sm_80(k, args, p, error);
}

/* gemm_bf16__unaligned for sm_80. */
INLINE int fits_sm_80_unaligned(const struct tensor *t)
{
    uint64_t low = 0; /* what lies below the alignment that this variant asks for */
    low |= t[tensor_A].address & 1;
    low |= t[tensor_B].address & 1;
    low |= t[tensor_D].address & 1;
    return low == 0;
}

INLINE int grid_sm_80_unaligned(const struct gemm_bf16 *k, const struct gemm_bf16_args *args,
                                struct gemm_bf16_params *p,
                        struct gemm_bf16_error *error)
{
    (void)k;
    return put_grid(p, (args->M + 127) / 128 * ((args->N + 127) / 128), 1, 1, error);
}

/* A launch of gemm_bf16__unaligned for sm_80, but for its tensors, sizes and grid. */
static const struct gemm_bf16_params launch_sm_80_unaligned ALIGNED = {
    {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,
    },
    64, NULL, 1, 256, {1, 1, 1},
    0, 98304, {0, 0, 0},
};

/* In a copy of that launch. patched: whether maps are patched images; else the driver encodes them. dense: whether all
 * strides are the default ones. */
INLINE int patch_sm_80_unaligned(const struct gemm_bf16 *k, int patched, int dense, const struct gemm_bf16_args *args,
                          const struct tensor *t, struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    p->function = k->function[1];
    put(p->word, 0, &t[tensor_A].address, 8);
    put(p->word, 8, &t[tensor_B].address, 8);
    put(p->word, 16, &t[tensor_D].address, 8);
    put(p->word, 24, &t[tensor_A].stride[0], 8);
    put(p->word, 32, &t[tensor_B].stride[0], 8);
    put(p->word, 40, &t[tensor_D].stride[0], 8);
    {
        const int32_t value = (int32_t)args->M;
        put(p->word, 48, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->N;
        put(p->word, 52, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->K;
        put(p->word, 56, &value, 4);
    }
    (void)patched;
    (void)dense;
    return grid_sm_80_unaligned(k, args, p, error);
}

/* gemm_bf16 for sm_90a. */
INLINE int fits_sm_90a(const struct tensor *t)
{
    uint64_t low = 0; /* what lies below the alignment that this variant asks for */
    low |= t[tensor_A].address & 15;
    low |= pitch(t[tensor_A].dim[0], t[tensor_A].stride[0], 2) & 15;
    low |= t[tensor_B].address & 15;
    low |= pitch(t[tensor_B].dim[0], t[tensor_B].stride[0], 2) & 15;
    low |= t[tensor_D].address & 15;
    low |= pitch(t[tensor_D].dim[0], t[tensor_D].stride[0], 2) & 15;
    low |= (uint64_t)t[tensor_D].dim[1] * 2 & 15;
    return low == 0;
}

INLINE int grid_sm_90a(const struct gemm_bf16 *k, const struct gemm_bf16_args *args, struct gemm_bf16_params *p,
                        struct gemm_bf16_error *error)
{
    const int64_t sm_count = k->resident[0];
    return put_grid(p,
                    ((args->M + 255) / 256 * ((args->N + 255) / 256) < sm_count / 2
                     ? (args->M + 255) / 256 * ((args->N + 255) / 256) : sm_count / 2) * 2, 1, 1, error);
}

/* A launch of gemm_bf16 for sm_90a, but for its tensors, sizes and grid. */
static const struct gemm_bf16_params launch_sm_90a ALIGNED = {
    {
        A_map_image,
        B_map_image,
        D_map_image,
        0, 0, 0, 0, 0, 0, 0, 0,
    },
    448, NULL, 0, 384, {2, 1, 1},
    0, 229440, {0, 0, 0},
};

/* In a copy of that launch. patched: whether maps are patched images; else the driver encodes them. dense: whether all
 * strides are the default ones. */
INLINE int patch_sm_90a(const struct gemm_bf16 *k, int patched, int dense, const struct gemm_bf16_args *args,
                          const struct tensor *t, struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    int status;
    p->function = k->function[0];
    status = A_map(k, patched, dense, &t[tensor_A], p->word, error);
    if (status)
        return status;
    status = B_map(k, patched, dense, &t[tensor_B], p->word + 16, error);
    if (status)
        return status;
    status = D_map(k, patched, dense, &t[tensor_D], p->word + 32, error);
    if (status)
        return status;
    {
        const int32_t value = (int32_t)args->M;
        put(p->word, 384, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->N;
        put(p->word, 388, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->K;
        put(p->word, 392, &value, 4);
    }
    (void)dense;
    return grid_sm_90a(k, args, p, error);
}

/* gemm_bf16__unaligned for sm_90a. */
INLINE int fits_sm_90a_unaligned(const struct tensor *t)
{
    uint64_t low = 0; /* what lies below the alignment that this variant asks for */
    low |= t[tensor_A].address & 15;
    low |= pitch(t[tensor_A].dim[0], t[tensor_A].stride[0], 2) & 15;
    low |= t[tensor_B].address & 15;
    low |= pitch(t[tensor_B].dim[0], t[tensor_B].stride[0], 2) & 15;
    low |= t[tensor_D].address & 1;
    return low == 0;
}

INLINE int grid_sm_90a_unaligned(const struct gemm_bf16 *k, const struct gemm_bf16_args *args,
                                 struct gemm_bf16_params *p,
                        struct gemm_bf16_error *error)
{
    const int64_t sm_count = k->resident[1];
    return put_grid(p,
                    ((args->M + 255) / 256 * ((args->N + 255) / 256) < sm_count / 2
                     ? (args->M + 255) / 256 * ((args->N + 255) / 256) : sm_count / 2) * 2, 1, 1, error);
}

/* A launch of gemm_bf16__unaligned for sm_90a, but for its tensors, sizes and grid. */
static const struct gemm_bf16_params launch_sm_90a_unaligned ALIGNED = {
    {
        A_map_image,
        B_map_image,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    },
    320, NULL, 1, 384, {2, 1, 1},
    0, 213568, {0, 0, 0},
};

/* In a copy of that launch. patched: whether maps are patched images; else the driver encodes them. dense: whether all
 * strides are the default ones. */
INLINE int patch_sm_90a_unaligned(const struct gemm_bf16 *k, int patched, int dense, const struct gemm_bf16_args *args,
                          const struct tensor *t, struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    int status;
    p->function = k->function[1];
    status = A_map(k, patched, dense, &t[tensor_A], p->word, error);
    if (status)
        return status;
    status = B_map(k, patched, dense, &t[tensor_B], p->word + 16, error);
    if (status)
        return status;
    put(p->word, 256, &t[tensor_D].address, 8);
    put(p->word, 264, &t[tensor_D].stride[0], 8);
    {
        const int32_t value = (int32_t)args->M;
        put(p->word, 272, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->N;
        put(p->word, 276, &value, 4);
    }
    {
        const int32_t value = (int32_t)args->K;
        put(p->word, 280, &value, 4);
    }
    (void)dense;
    return grid_sm_90a_unaligned(k, args, p, error);
}

/* What the variant that asks least asks, on sm_80. */
static const struct rule rules_sm_80[] = {
    {tensor_A, 2, 2, 2, 0, 0},
    {tensor_B, 2, 2, 2, 0, 0},
    {tensor_D, 2, 2, 2, 0, 0},
};

/* What the variant that asks least asks, on sm_90a. */
static const struct rule rules_sm_90a[] = {
    {tensor_A, 2, 2, 16, 0, 1},
    {tensor_B, 2, 2, 16, 0, 1},
    {tensor_D, 2, 2, 2, 0, 0},
};

/* The first variant that the tensors fit. */
INLINE int choose(const struct gemm_bf16 *k, const struct gemm_bf16_args *args, const struct tensor *t,
                         struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    switch (k->target) {
    case 1: /* sm_80 */
        if (fits_sm_80(t)) {
            k->copy(p, &launch_sm_80, sizeof *p);
            return patch_sm_80(k, k->static_images, 0, args, t, p, error);
        }
        if (fits_sm_80_unaligned(t)) {
            k->copy(p, &launch_sm_80_unaligned, sizeof *p);
            return patch_sm_80_unaligned(k, k->static_images, 0, args, t, p, error);
        }
        return refuse_alignment(args, rules_sm_80, sizeof rules_sm_80 / sizeof *rules_sm_80, error);
    case 2: /* sm_90a */
        if (fits_sm_90a(t)) {
            k->copy(p, &launch_sm_90a, sizeof *p);
            return patch_sm_90a(k, k->static_images, 0, args, t, p, error);
        }
        if (fits_sm_90a_unaligned(t)) {
            k->copy(p, &launch_sm_90a_unaligned, sizeof *p);
            return patch_sm_90a_unaligned(k, k->static_images, 0, args, t, p, error);
        }
        return refuse_alignment(args, rules_sm_90a, sizeof rules_sm_90a / sizeof *rules_sm_90a, error);
    default:
        return fail(error, gemm_bf16_INVALID, 0, "the kernel is not loaded");
    }
}

/* Whether these sizes leave nothing to compute; what their tensors are then does not matter. */
APART static int launches_nothing(const struct gemm_bf16 *k, const struct gemm_bf16_args *args)
{
    struct gemm_bf16_params p;
    memset(&p, 0, sizeof p);
    switch (k->target) {
    case 1:
        return !grid_sm_80_unaligned(k, args, &p, NULL) && p.grid[0] == 0;
    case 2:
        return !grid_sm_90a_unaligned(k, args, &p, NULL) && p.grid[0] == 0;
    default:
        return 0;
    }
}

/* Any arguments: those that are refused, empty tensors, maps that the driver encodes. */
APART static int params_of_any(const struct gemm_bf16 *k, const struct gemm_bf16_args *args,
                               struct gemm_bf16_params *params,
                              struct gemm_bf16_error *error)
{
    struct tensor t[tensors_in_all];
    int status = check_sizes(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(t, error);
    if (!status)
        status = choose(k, args, t, params, error);
    if (status == gemm_bf16_INVALID && launches_nothing(k, args)) {
        memset(params, 0, sizeof *params);
        return gemm_bf16_OK;
    }
    return status;
}

/* Arguments that need no substitute, in the variant that asks most. Returns whether *params is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int params_of_ordinary(const struct gemm_bf16 *k, const struct gemm_bf16_args *args, int dense,
                              struct gemm_bf16_params *params)
{
    struct tensor t[tensors_in_all];
    switch (k->target) {
    case 1: /* sm_80 */
        k->copy(params, &launch_sm_80, sizeof *params);
        resolve(args, dense, t);
        if (!LIKELY(ordinary_tensors(t, dense)))
            return 0;
        assume_ordinary(args, t);
        return LIKELY(fits_sm_80(t)) && !patch_sm_80(k, 1, dense, args, t, params, NULL);
    case 2: /* sm_90a */
        if (!LIKELY(k->static_images))
            return 0;
        k->copy(params, &launch_sm_90a, sizeof *params);
        resolve(args, dense, t);
        if (!LIKELY(ordinary_tensors(t, dense)))
            return 0;
        assume_ordinary(args, t);
        return LIKELY(fits_sm_90a(t)) && !patch_sm_90a(k, 1, dense, args, t, params, NULL);
    default:
        return 0;
    }
}

APART static int params_of_strided(const struct gemm_bf16 *k, const struct gemm_bf16_args *args,
                                   struct gemm_bf16_params *params)
{
    return params_of_ordinary(k, args, 0, params);
}

/* gemm_bf16_params; launch calls it without a detour through the linker's table. */
TOGETHER APART static int prepare(const struct gemm_bf16 *k, const struct gemm_bf16_args *args,
                                  struct gemm_bf16_params *params,
                                  struct gemm_bf16_error *error)
{
    if (LIKELY(ordinary_sizes(args))) {
        if (all_dense(args) ? params_of_ordinary(k, args, 1, params) : params_of_strided(k, args, params))
            return gemm_bf16_OK;
    }
    return params_of_any(k, args, params, error);
}

int gemm_bf16_params(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, struct gemm_bf16_params *params,
                   struct gemm_bf16_error *error)
{
    return prepare(kernel, args, params, error);
}

/* ---- launch ---------------------------------------------------------------------------------------------------- */

int gemm_bf16_workspace(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, uint64_t *bytes,
                      struct gemm_bf16_error *error)
{
    int status = check_sizes(args, error);
    (void)kernel;
    *bytes = 0;
    return status;
}

TOGETHER int gemm_bf16_launch(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, void *stream,
                            struct gemm_bf16_error *error)
{
    struct gemm_bf16_params p ALIGNED;
    struct launch_config config;
    void *arguments[1];
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    configure(&config, targets[kernel->target - 1].first + p.variant, p.grid, stream);
    arguments[0] = p.word; /* one struct is the kernel's only parameter; the driver copies it */
    result = kernel->driver.launch(&config, p.function, arguments, NULL);
    return result ? driver_fault(error, result, "cuLaunchKernelEx", "gemm_bf16") : 0;
}

void gemm_bf16_info(const struct gemm_bf16 *kernel, struct gemm_bf16_info *info)
{
    const struct target *t = kernel->target == 0 ? NULL : &targets[kernel->target - 1];
    info->name = "gemm_bf16";
    info->generator = 1;
    info->arch = t ? t->arch : "";
    info->capability = kernel->capability;
    info->driver_version = kernel->driver_version;
    info->tensor = tensors;
    info->tensor_count = tensors_in_all;
    info->variant = t ? &variants[t->first] : variants;
    info->variant_count = t ? t->count : 0;
    info->static_images = kernel->static_images;
    info->images = kernel->images;
}

const char *gemm_bf16_strerror(int status)
{
    switch (status) {
    case gemm_bf16_OK:
        return "done";
    case gemm_bf16_INVALID:
        return "an argument is refused";
    case gemm_bf16_NO_DRIVER:
        return "CUDA driver not found";
    case gemm_bf16_OLD_DRIVER:
        return "CUDA driver is too old";
    case gemm_bf16_NO_CONTEXT:
        return "no current CUDA context";
    case gemm_bf16_UNSUPPORTED:
        return "no variant for this device";
    case gemm_bf16_NO_COMPILER:
        return "NVRTC not found, or too old";
    case gemm_bf16_COMPILE:
        return "compilation failed";
    case gemm_bf16_NO_MEMORY:
        return "out of memory";
    case gemm_bf16_DRIVER:
        return "CUDA driver call failed";
    default:
        return "unknown status";
    }
}
