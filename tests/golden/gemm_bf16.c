/* gemm_bf16.c: a kernel and its host code, made by tilewright 1. Do not edit: change the spec and generate
 * again. gemm_bf16.h says what it is. */

#include "gemm_bf16.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From here down: the kernel and what is known of it, what every launch runs, load, why arguments are refused, how they
 * become a launch's parameter. What most launches run is one stretch of code without a call (INLINE, TOGETHER), and all
 * else is kept apart from it (APART, COLD): between two launches the driver takes the caches for itself, and what is
 * brought back should be little and lie together. */
#if defined(__GNUC__)
#define MARK(...) __attribute__((__VA_ARGS__))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define MARK(...)
#define LIKELY(condition) (condition)
#endif
#define APART MARK(noinline)
#define COLD MARK(noinline, cold)
#define TOGETHER MARK(noinline, hot)
#define INLINE static inline MARK(always_inline, unused)
#define ALIGNED MARK(aligned(64))

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

struct tensor { /* as one call has it: extents and strides in elements, in memory order, the innermost last */
    uint64_t address;
    int64_t dim[2], stride[2];
    int empty; /* as check_tensors finds it: an extent is 0 */
};
struct rule { /* what the variant of a target that asks least asks of a tensor; by target, then by tensor */
    uint32_t align; /* of address, pitches and, with whole_rows, of the rows; bytes */
    int whole_rows, map;
};
struct map { /* the constant arguments of a cuTensorMapEncodeTiled, innermost first, and what they come to */
    const char *name;
    unsigned targets;              /* bit i: targets[i] has it */
    int dtype, swizzle, promotion; /* as in cuda.h */
    uint32_t rank, element_bytes, box[5];
    uint64_t dim[5], image[16];    /* an extent of 0: not constant */
};
struct image { /* a variant's code, what is missing is NULL; and how it is launched */
    const char *const *source; /* in chunks, NULL behind the last */
    int blocks_per_sm, shape; /* how many run at once on a multiprocessor; those of a shape have the same parameter */
};
struct target { /* an architecture: the variants that were made for it, and the devices that take them */
    const char *arch;
    int major, minor, exact, newer; /* exact: runs on that compute capability alone; newer: its PTX may on later ones */
    int first, own, count;          /* of variants: those of the spec's own stand before set-ups */
    int shared_bytes; /* of a block, that its own variants want; a set-up that wants more is not loaded */
};

static const char *const source_0[] = {
};
static const char *const source_1[] = {
};
static const char *const source_2[] = {
};
static const char *const source_3[] = {
};

static const struct image images[] = {{source_0, 1, 0}, {source_1, 1, 1}, {source_2, 1, 2}, {source_3, 1, 3}};
static const struct gemm_bf16_variant variants[] = {
    {"", "gemm_bf16", "sm_80", 256, 98304, {1, 1, 1}, 0, 64, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_80", 256, 98304, {1, 1, 1}, 0, 64, -1},
    {"", "gemm_bf16", "sm_90a", 384, 229440, {2, 1, 1}, 0, 448, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_90a", 384, 213568, {2, 1, 1}, 0, 320, -1},
};
static const struct target targets[] = {{"sm_80", 8, 0, 0, 1, 0, 2, 2, 98304}, {"sm_90a", 9, 0, 1, 0, 2, 2, 2, 229440}};
enum { at_A, at_B, at_D, tensor_count }; /* by number */
static const struct gemm_bf16_tensor tensors[] = {{"A", "bf16", "M, K", 2, 2, 2, 16, 0},
                                                  {"B", "bf16", "N, K", 2, 2, 2, 16, 0},
                                                  {"D", "bf16", "M, N", 2, 2, 2, 16, 1}};
static const struct rule rules[] = {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {16, 0, 1}, {16, 0, 1}, {2, 0, 0}};

/* Images of tensor maps; with parentheses, as a size may have any name. */
#define MAP_0() 0, 0x46510, 0, 0, 0, 0, 0x3f00000000000000, 0x7f, 0x4000, 0x400, 0, 0, 0, 0, 0, 0
#define MAP_1() 0, 0x46510, 0, 0, 0, 0, 0x3f00000000000000, 0x7f, 0x4000, 0x400, 0, 0, 0, 0, 0, 0
#define MAP_2() 0, 0x6510, 0, 0, 0, 0, 0x3f00000000000000, 0x3f, 0x2000, 0x400, 0, 0, 0, 0, 0, 0
static const struct map maps[] = {{"A_map", 2, 9, 3, 2, 2, 2, {64, 128}, {0, 0}, {MAP_0()}},
                                  {"B_map", 2, 9, 3, 2, 2, 2, {64, 128}, {0, 0}, {MAP_1()}},
                                  {"D_map", 2, 9, 3, 0, 2, 2, {64, 64}, {0, 0}, {MAP_2()}}};
static const char *const options[] = {"--std=c++17"};
enum { slot_count = 2, target_count = 2, map_count = 3, option_count = 1 };

/* ---- what every launch runs ------------------------------------------------------------------------------------ */

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
struct launch_attribute {
    uint64_t id; /* a CUlaunchAttributeID, an int, and what pads it: machines with a GPU store low bits first */
    uint32_t value[16];
};
struct launch_config {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    const struct launch_attribute *attributes;
    uint32_t attribute_count;
};

/* How the driver is to launch: one block of `threads` in each place of the grid. */
INLINE struct launch_config configure(struct launch_attribute *attribute, const uint32_t *grid, uint32_t threads,
                                      uint32_t shared_bytes, void *stream, const uint32_t *cluster)
{
    struct launch_config config = {{grid[0], grid[1], grid[2]}, {threads, 1, 1}, shared_bytes, stream, attribute, 0};
    if (cluster[0] * cluster[1] * cluster[2] > 1) {
        attribute->id = 4; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
        memcpy(attribute->value, cluster, 3 * sizeof *cluster);
        config.attribute_count = 1;
    }
    return config;
}

INLINE int64_t stride_of(int dense, int64_t given, int64_t otherwise) { return dense || !given ? otherwise : given; }

/* What lies below the alignment mask + 1 of a tensor's address, pitches and, with whole_rows, rows. */
INLINE uint64_t unaligned(const struct tensor *t, int rank, uint64_t bytes, uint64_t mask, int whole_rows)
{
    uint64_t low = t->address;
    if (mask >= bytes) {
        low |= rank > 1 && t->dim[0] > 1 ? (uint64_t)t->stride[0] * bytes : 0;
        low |= whole_rows ? (uint64_t)t->dim[rank - 1] * bytes : 0;
    }
    return low & mask;
}

/* ---- tensor maps ------------------------------------------------------------------------------------------------
 *
 * A tensor map is 16 words of 64 bits. Its image holds the bits that a kernel's maps always have: type, rank, box,
 * swizzle, promotion. These are patched in for each launch, where constants have been already with what they are:
 *
 *   word      63                              32 31                               0
 *     0     |                              address                                  |
 *     1     |           stride[0] / 16          |              (image)              |
 *     3     |    (0)     | h3 | h2 | h1 | h0 |  |           stride[3] / 16          |   h: bits 32-35 of stride / 16
 *     4     |             dim[1] - 1            |             dim[0] - 1            |
 *
 * dim[0] is the innermost extent, in elements; stride[i] the bytes from one index of dimension i + 1 to the next. load
 * compares the result with the driver's encoder; where they differ, every map is the driver's. */

INLINE void put_half(uint64_t *map, int h, uint64_t value)
{
    const uint32_t half = (uint32_t)value;
    memcpy((unsigned char *)map + 4 * h, &half, sizeof half);
}

/* Address, extents and strides as maps take them: those of an empty tensor, and the stride of a dimension of one index,
 * are never used, but must be valid. d counts from the innermost dimension. */
INLINE uint64_t map_address(const struct tensor *t) { return t->address ? t->address : 16; }
INLINE uint64_t map_dim(const struct tensor *t, int rank, int d)
{
    return d < rank && t->dim[rank - 1 - d] > 0 ? (uint64_t)t->dim[rank - 1 - d] : 1;
}
INLINE uint64_t map_stride(const struct tensor *t, int rank, int d, uint64_t bytes)
{
    return d < rank - 1 && t->dim[rank - 2 - d] > 1 ? (uint64_t)t->stride[rank - 2 - d] * bytes : 16;
}

INLINE void patch_map(uint64_t *map, const struct tensor *t, int rank, uint64_t bytes)
{
    map[0] = map_address(t);
    put_half(map, 8, map_dim(t, rank, 0) - 1);
    if (rank > 1) {
        put_half(map, 3, map_stride(t, rank, 0, bytes) >> 4);
        put_half(map, 7, map_stride(t, rank, 0, bytes) >> 36);
        put_half(map, 9, map_dim(t, rank, 1) - 1);
    }
}

/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time; the last 32 bytes overlap those before. */
#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__) && __GNUC__ >= 8)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));
TOGETHER MARK(target("avx")) static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { all = sizeof(struct gemm_bf16_params), step = sizeof(lanes) };
    (void)bytes;
#pragma GCC unroll 256
    for (int i = 0; i < all / step; i++)
        ((lanes *)to)[i] = ((const lanes *)from)[i];
    *(lanes *)((unsigned char *)to + all - step) = *(const lanes *)((const unsigned char *)from + all - step);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    return to;
}
#define COPY (__builtin_cpu_supports("avx") ? copy_avx : memcpy)
#else
#define COPY memcpy
#endif

/* ---- failures -------------------------------------------------------------------------------------------------- */

COLD static int fail(struct gemm_bf16_error *error, int status, int result, const char *format, ...)
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

#define REFUSE(...) fail(error, gemm_bf16_INVALID, 0, __VA_ARGS__)

/* A driver call that failed; of its result the name and, where one can be told, what it comes from here. */
COLD static int driver_fault(struct gemm_bf16_error *error, int result, const char *call, const char *of)
{
    static const struct { int result; const char *name; } names[] = {
        {2, "CUDA_ERROR_OUT_OF_MEMORY"}, /* and two that say that there is no context */
        {3, "CUDA_ERROR_NOT_INITIALIZED: call cuInit, or cudaFree(0), before"},
        {201, "CUDA_ERROR_INVALID_CONTEXT: call cuCtxSetCurrent, or cudaSetDevice, in this thread before"},
        {1, "CUDA_ERROR_INVALID_VALUE"}, {4, "CUDA_ERROR_DEINITIALIZED: the program is at its end"},
        {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is older than the compiler"},
        {400, "CUDA_ERROR_INVALID_HANDLE: the stream is of another context, or gone"}, {218, "CUDA_ERROR_INVALID_PTX"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS: of a kernel before; the context is lost"},
        {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION: of a kernel before; the context is lost"},
        {716, "CUDA_ERROR_MISALIGNED_ADDRESS: of a kernel before; the context is lost"},
        {719, "CUDA_ERROR_LAUNCH_FAILED: of a kernel before; the context is lost"}, {500, "CUDA_ERROR_NOT_FOUND"},
        {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
        {801, "CUDA_ERROR_NOT_SUPPORTED"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}, {0, "see cuda.h"},
    };
    int i = 0;
    while (names[i].result != result && names[i].result)
        i++;
    const int status = i == 0 ? gemm_bf16_NO_MEMORY : i < 3 ? gemm_bf16_NO_CONTEXT : gemm_bf16_DRIVER;
    return fail(error, status, result, "%s of %s failed with CUresult %d (%s)", call, of, result, names[i].name);
}

/* ---- load ------------------------------------------------------------------------------------------------------ */

enum { a_cubin, a_ptx, a_log, texts }; /* what NVRTC gives */
struct loader { /* what load works on */
    struct gemm_bf16_state *k;
    struct gemm_bf16_error *error;
    const struct target *target;
    int device, major, minor, sm_count, shared_bytes; /* the current one; bytes that a block can opt in to */
    int as_ptx; /* for a device newer than the target, and one that takes no binaries at all, an emulated one */
    void *builtins, *nvrtc; /* NVRTC, whose calls follow as in nvrtc.h of CUDA 12 and 13; a program is a void * */
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*size[texts])(void *program, size_t *bytes);
    int (*read[texts])(void *program, char *bytes);
};

/* Functions by name, into pointers that lie one behind the other; library NULL: they are there. Returns the first name
 * that is missing, or NULL; one behind a `?` may be. POSIX: a function's address is as a void *. */
static const char *find_symbols(void *library, const char *const *name, size_t count, void *functions)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char *place = (unsigned char *)functions + i * sizeof(void *);
        void *symbol = library ? dlsym(library, name[i] + (*name[i] == '?')) : NULL;
        if (library)
            memcpy(place, &symbol, sizeof symbol);
        memcpy(&symbol, place, sizeof symbol);
        if (!symbol && *name[i] != '?')
            return name[i];
    }
    return NULL;
}

/* Opens the driver, or takes the caller's table. Beside the loader's own search: containers, NixOS and WSL keep the
 * driver where no cache lists it. */
static int open_driver(struct loader *l, const struct gemm_bf16_driver *driver)
{
    static const char *const calls[] = { /* the members of gemm_bf16_driver */
        "cuDriverGetVersion", "cuCtxGetDevice", "cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleUnload",
        "cuModuleGetFunction", "cuFuncSetAttribute", "?cuOccupancyMaxActiveClusters", "cuLaunchKernelEx",
        "?cuTensorMapEncodeTiled"};
    static const char *const files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/run/opengl-driver/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    struct gemm_bf16_state *k = l->k;
    if (driver)
        k->driver = *driver;
    for (size_t i = 0; i < sizeof files / sizeof *files && !k->library && !driver; i++)
        k->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!k->library && !driver)
        return fail(l->error, gemm_bf16_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
    const char *missing = find_symbols(k->library, calls, sizeof calls / sizeof *calls, &k->driver);
    if (missing && driver)
        return fail(l->error, gemm_bf16_INVALID, 0,
                    "the driver's table lacks an entry point, %s; only max_active_clusters "
                    "may be NULL, and encoders where no tensor map is used", missing);
    return missing ? fail(l->error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no %s", missing) : gemm_bf16_OK;
}

/* The chunks as one text, which the caller frees. */
static int join(const char *const *chunk, char **text, struct gemm_bf16_error *error)
{
    size_t bytes = 1, at = 0;
    for (int i = 0; chunk[i]; i++)
        bytes += strlen(chunk[i]);
    *text = (char *)malloc(bytes);
    if (!*text)
        return fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the kernel's text");
    for (; *chunk; at += strlen(*chunk++))
        memcpy(*text + at, *chunk, strlen(*chunk) + 1);
    return gemm_bf16_OK;
}

static void close_compiler(struct loader *l)
{
    if (l->nvrtc)
        dlclose(l->nvrtc);
    if (l->builtins)
        dlclose(l->builtins);
    l->nvrtc = l->builtins = NULL;
}

/* The newest NVRTC of a folder where CUDA is, else the loader's. libnvrtc looks for its builtins by bare name when it
 * compiles, which finds them only if they are open by then. */
static int open_compiler(struct loader *l)
{
    static const char *const calls[] = { /* the members of struct loader */
        "nvrtcVersion", "nvrtcCreateProgram", "nvrtcDestroyProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",
        "nvrtcGetPTXSize", "nvrtcGetProgramLogSize", "nvrtcGetCUBIN", "nvrtcGetPTX", "nvrtcGetProgramLog"};
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    enum { newest = 199, oldest = 120, folders = sizeof below / sizeof *below }; /* versions, of 19.9 and 12.0 */
    char path[4096];
    int major = 0, minor = 0;
    for (size_t i = 0; i < folders * (sizeof roots / sizeof *roots); i++) {
        const char *root = roots[i / folders], *folder = below[i % folders];
        int v = root && strlen(root) < sizeof path - 100 ? newest : 0;
        for (; v >= oldest && !l->nvrtc; v--) {
            snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, folder, v / 10, v % 10);
            l->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, folder, v / 10);
            l->nvrtc = l->builtins ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
            if (!l->nvrtc)
                close_compiler(l);
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !l->nvrtc; i++)
        l->nvrtc = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!l->nvrtc)
        return fail(l->error, gemm_bf16_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (find_symbols(l->nvrtc, calls, sizeof calls / sizeof *calls, &l->version) || l->version(&major, &minor))
        return fail(l->error, gemm_bf16_NO_COMPILER, 0, "NVRTC lacks an entry point");
    return major > 12 || (major == 12 && minor >= 8) ? gemm_bf16_OK
           : fail(l->error, gemm_bf16_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
}

/* Compiles a variant to a cubin, or to PTX. *code is the caller's to free, after a failure too, which tells what the
 * compiler says. */
static int compile(struct loader *l, int variant, char **code)
{
    const struct gemm_bf16_variant *v = &variants[variant];
    const char *option[32];
    char architecture[64], file[1024], *text = NULL;
    void *program = NULL;
    size_t bytes = 0;
    int status = l->nvrtc ? gemm_bf16_OK : open_compiler(l);
    status = status ? status : join(images[variant].source, &text, l->error);
    if (status)
        return status;
    snprintf(file, sizeof file, "/tilewright/%s.%s.cu", v->entry, v->arch);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%s", l->as_ptx ? "compute_" : "sm_", v->arch + 3);
    option[0] = architecture;
    for (int i = 0; i < option_count; i++)
        option[1 + i] = options[i];
    int result = l->create(&program, text, file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(l->error, gemm_bf16_COMPILE, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = l->compile(program, 1 + option_count, option);
    const int what = result ? a_log : l->as_ptx ? a_ptx : a_cubin;
    int unread = l->size[what](program, &bytes);
    *code = text = unread ? NULL : (char *)malloc(bytes + 1);
    if (text) {
        text[bytes] = '\0';
        unread = l->read[what](program, text);
    }
    l->destroy(&program);
    if (!result && !unread)
        return text ? gemm_bf16_OK : fail(l->error, gemm_bf16_NO_MEMORY, 0, "no memory for the compiled kernel");
    const int told = !unread && text && *text;
    result = result ? result : unread;
    return fail(l->error, gemm_bf16_COMPILE, result, told ? "%s" : "NVRTC fails on %s with nvrtcResult %d",
                told ? text : file, result);
}

/* A tensor's map by the driver's encoder; `map` is written only on success. */
static int encode_map(const struct gemm_bf16_state *k, const struct map *m, uint64_t *map, const struct tensor *t,
                      struct gemm_bf16_error *error)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
    void *at = (void *)(uintptr_t)map_address(t);
    uint64_t dim[5], stride[5];
    for (int d = 0; d < 5; d++) {
        dim[d] = map_dim(t, (int)m->rank, d);
        stride[d] = map_stride(t, (int)m->rank, d, m->element_bytes);
    }
    const int result = k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                              m->swizzle, m->promotion, 0);
    if (result)
        return driver_fault(error, result, "cuTensorMapEncodeTiled", m->name);
    memcpy(map, aligned, 128);
    return gemm_bf16_OK;
}

/* Where the variants have maps, their images are used if, patched, they are what the driver encodes: for tensors whose
 * every field is random, the same in each run, so that a bit which is wrong, missing or elsewhere shows. */
static int check_images(struct loader *l)
{
    struct gemm_bf16_state *k = l->k;
    uint64_t random[11] = {0}, ours[16], theirs[16];
    struct gemm_bf16_error error;
    struct tensor t;
    memset(&t, 0, sizeof t);
    for (const struct map *m = maps; m < maps + map_count; m++) {
        const int rank = (int)m->rank;
        int call, i, differs = 0;
        if (!(m->targets >> (k->target - 1) & 1u))
            continue;
        if (!k->driver.encode_tiled)
            return fail(l->error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
        for (call = 0; call < 64 && !differs && !k->images[0]; call++) {
            for (i = 0; i < 11; i++)
                random[i] = random[(i + 10) % 11] * 6364136223846793005u + 1442695040888963407u;
            t.address = random[10] >> 11 << 4;
            for (i = 0; i < rank; i++) {
                const uint64_t constant = m->dim[rank - 1 - i];
                t.dim[i] = (int64_t)(constant ? constant : 1 + (random[i] >> 32));
                t.stride[i] = (int64_t)((random[5 + i] >> 28 << 4) / m->element_bytes);
            }
            memcpy(ours, m->image, sizeof ours);
            patch_map(ours, &t, rank, m->element_bytes);
            differs = encode_map(k, m, theirs, &t, &error);
            for (i = 0; i < 16 && !differs; i++)
                if (ours[i] != theirs[i])
                    differs = fail(&error, 1, 0, "word %d of the driver's map is 0x%llx, not 0x%llx", i,
                                   (unsigned long long)theirs[i], (unsigned long long)ours[i]);
        }
        if (differs)
            snprintf(k->images, sizeof k->images, "%.30s: in call %d of the check, %.130s", m->name, call, error.text);
        k->static_images = !k->images[0];
    }
    return gemm_bf16_OK;
}

/* The target for the device, whose blocks must have the shared memory for it: that of its compute capability, else the
 * nearest of the same major version, else the newest whose PTX may run on later devices. */
static int choose_target(struct loader *l)
{
    static const int asked[] = {75, 76, 16, 97}; /* CUdevice_attributes */
    int *const value[] = {&l->major, &l->minor, &l->sm_count, &l->shared_bytes};
    struct gemm_bf16_state *k = l->k;
    char wanted[700];
    size_t at = 0;
    int i, best = 0, result = k->driver.version(&k->driver_version);
    if (result)
        return driver_fault(l->error, result, "cuDriverGetVersion", "the driver");
    result = k->driver.context_device(&l->device);
    if (result)
        return driver_fault(l->error, result, "cuCtxGetDevice", "the current context");
    for (i = 0; i < 4 && !result; i++)
        result = k->driver.device_attribute(value[i], asked[i], l->device);
    if (result)
        return driver_fault(l->error, result, "cuDeviceGetAttribute", "the current device");
    k->capability = 10 * l->major + l->minor;
    for (i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        const int own = 10 * t->major + t->minor;
        const int score = t->shared_bytes > l->shared_bytes                                 ? 0
                          : own == k->capability                                            ? 3000 + t->exact
                          : t->major == l->major && own < k->capability && !t->exact        ? 2000 + own
                          : t->newer && own < k->capability                                 ? 1000 + own : 0;
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        if (score > best) {
            best = score;
            l->target = t;
            k->target = 1 + i;
        }
        if (at < sizeof wanted)
            at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", i ? ", " : "", t->arch,
                                   t->major, t->minor, later, t->shared_bytes);
    }
    l->as_ptx = best && l->target->major != l->major;
    return best ? gemm_bf16_OK
           : fail(l->error, gemm_bf16_UNSUPPORTED, 0,
                  "the current device has compute capability %d.%d and %d bytes of shared "
                  "memory for a block; the kernel was made for %s", l->major, l->minor, l->shared_bytes, wanted);
}

/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct loader *l, struct gemm_bf16_slot *slot, int variant)
{
    const struct gemm_bf16_variant *v = &variants[variant];
    const int blocks = (int)(v->cluster[0] * v->cluster[1] * v->cluster[2]), per_sm = images[variant].blocks_per_sm;
    struct launch_attribute attribute[2];
    const struct launch_config config = configure(attribute, v->cluster, v->threads, v->shared_bytes, NULL, v->cluster);
    int clusters = 0;
    slot->resident = l->sm_count > blocks ? l->sm_count : blocks; /* a persistent grid is one cluster at least */
    if (blocks > 1 && l->k->driver.max_active_clusters &&
        !l->k->driver.max_active_clusters(&clusters, slot->function, &config) && clusters > 0 &&
        (int64_t)clusters * blocks < (int64_t)l->sm_count * per_sm)
        slot->resident = (int32_t)((int64_t)clusters * blocks / per_sm);
}

/* Loads a variant into a slot. What is text is made here, and freed when it is loaded. */
static int load_variant(struct loader *l, struct gemm_bf16_slot *slot, int variant)
{
    enum { no_binary_for_gpu = 209, shared_bytes = 8, any_cluster = 14, portable_cluster = 8 }; /* as in cuda.h */
    const struct gemm_bf16_driver *driver = &l->k->driver;
    const struct gemm_bf16_variant *v = &variants[variant];
    void *module = NULL;
    int result, status = gemm_bf16_OK;
    do {
        char *code = NULL;
        status = compile(l, variant, &code);
        result = status ? 0 : driver->module_load(&module, code);
        free(code);
    } while (result == no_binary_for_gpu && !l->as_ptx++);
    if (status)
        return status;
    if (result)
        return driver_fault(l->error, result, "cuModuleLoadData", v->entry);
    slot->module = module;
    result = driver->module_function(&slot->function, slot->module, v->entry);
    if (result)
        return driver_fault(l->error, result, "cuModuleGetFunction", v->entry);
    if (v->shared_bytes > 0)
        result = driver->function_set(slot->function, shared_bytes, (int)v->shared_bytes);
    if (!result && v->cluster[0] * v->cluster[1] * v->cluster[2] > portable_cluster)
        result = driver->function_set(slot->function, any_cluster, 1);
    if (result)
        return driver_fault(l->error, result, "cuFuncSetAttribute", v->entry);
    count_resident(l, slot, variant);
    return gemm_bf16_OK;
}

int gemm_bf16_unload(struct gemm_bf16 *kernel, struct gemm_bf16_error *error)
{
    struct gemm_bf16_state *k = &kernel->state;
    int status = gemm_bf16_OK;
    for (int v = 0; v < slot_count; v++) {
        int result = kernel->slot[v].module ? k->driver.module_unload(kernel->slot[v].module) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", "gemm_bf16");
    }
    if (k->library)
        dlclose(k->library);
    memset(kernel, 0, sizeof *kernel);
    return status;
}

int gemm_bf16_load(struct gemm_bf16 *kernel, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    struct gemm_bf16_state *k = &kernel->state;
    struct gemm_bf16_driver table; /* the caller's may lie in what is loaded */
    struct loader l;
    if (driver)
        table = *driver;
    memset(kernel, 0, sizeof *kernel);
    memset(&l, 0, sizeof l);
    l.k = k;
    l.error = error;
    int status = open_driver(&l, driver ? &table : NULL);
    status = status ? status : choose_target(&l);
    for (int v = 0; !status && v < l.target->count; v++)
        status = load_variant(&l, &kernel->slot[v], l.target->first + v);
    close_compiler(&l);
    status = status ? status : check_images(&l);
    k->copy = COPY;
    if (status)
        gemm_bf16_unload(kernel, NULL);
    return status;
}

/* ---- check: the arguments ---------------------------------------------------------------------------------------- */

/* A size, before any formula over it is computed. */
static int check_size(const char *name, long long size, long long most, long long multiple,
                      struct gemm_bf16_error *error)
{
    if (size < 0)
        return REFUSE("%s is %lld, which is no size; write 0 or more", name, size);
    if (size > most)
        return REFUSE("%s is %lld, past %lld, the most that the kernel counts to; split the work", name, size, most);
    if (size % multiple != 0)
        return REFUSE("%s is %lld, no multiple of %lld; pad it to %lld", name, size, multiple,
                      (size / multiple + 1) * multiple);
    return gemm_bf16_OK;
}

/* What every variant asks of tensors: no extent below 0 or past a map's, addresses, strides below 2^40 bytes, none of
 * one that is written below its row; of a target, what its variant that asks least does, and what would do; 0: none. */
static int check_tensors(struct tensor *tensor, int target, struct gemm_bf16_error *error)
{
    uint64_t somewhere = 0;
    int empties = 0;
    for (int i = 0; i < tensor_count; i++) {
        const struct gemm_bf16_tensor *about = &tensors[i];
        const struct tensor *t = &tensor[i];
        const int rank = (int)about->rank;
        const long long row = t->dim[rank - 1];
        const unsigned long long address = t->address, element = about->element_bytes,
            end = ((uint64_t)1 << 40) / element;
        int empty = row <= 0;
        if (address >> 57 != 0)
            return REFUSE("%s is 0x%llx, at or past 2^57, so no device address [TMA-ADDR57]", about->name, address);
        for (int d = 0; d + 1 < rank; d++) {
            const long long stride = t->stride[d];
            if (t->dim[d] <= 1)
                empty |= t->dim[d] <= 0;
            else if ((unsigned long long)stride >= end)
                return REFUSE("%s_stride[%d] is %lld elements of %u bytes; strides are 0 or more and below 2^40 bytes, "
                              "%llu elements [TMA-STRMAX]", about->name, d, stride, (unsigned)element, end);
            else if (about->out && stride < row)
                return REFUSE("%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap itself: "
                              "its rows have %lld; write %lld or more", about->name, d, stride, row, row);
        }
        if (address == 0 && !empty)
            return REFUSE("%s is NULL; pass the tensor's device address", about->name);
        tensor[i].empty = empty;
        empties |= empty;
        if (!somewhere && !empty)
            somewhere = address & ~(uint64_t)127;
        if (!target)
            continue;
        const struct rule *r = &rules[(target - 1) * tensor_count + i];
        const unsigned long long align = r->align;
        if (address % align != 0)
            return REFUSE("%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example "
                          "[%s]", about->name, address, align, address - address % align,
                          r->map ? "TMA-ADDR16" : "ALIGN");
        for (int d = 0; d + 1 < rank; d++) {
            const unsigned long long step = t->dim[d] > 1 ? (uint64_t)t->stride[d] * element : 0;
            if (step % align != 0)
                return REFUSE("the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of "
                              "%llu; pad it to %llu elements and pass that as %s_stride[%d] [%s]", d, about->name,
                              (long long)t->stride[d], about->dtype, step, align, (step / align + 1) * align / element,
                              about->name, d, r->map ? "TMA-STR16" : "ALIGN");
        }
        if (r->whole_rows && (uint64_t)row * element % align != 0)
            return REFUSE("rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                          "elements", about->name, row, about->dtype, align,
                          ((uint64_t)row * element / align + 1) * align / element);
    }
    /* The map of an empty tensor lies where the first other tensor does: a load whose box is outside of its map touches
     * the map's address [H200], and a tensor of no elements need not have memory. What a box inside would bring, as the
     * map's extent is 1, no kernel uses: there is no such element. */
    for (int i = 0; empties && i < tensor_count; i++)
        if (somewhere && tensor[i].empty)
            tensor[i].address = somewhere;
    return target ? REFUSE("no variant takes these arguments") : gemm_bf16_OK;
}

/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

/* A tensor's map in a copy of its image; where the driver encodes maps, by it. */
INLINE int put_map(const struct gemm_bf16_state *encoder, const struct map *m, uint64_t *map, const struct tensor *t,
                   int rank, uint64_t bytes, struct gemm_bf16_error *error)
{
    if (encoder)
        return encode_map(encoder, m, map, t, error);
    patch_map(map, t, rank, bytes);
    return gemm_bf16_OK;
}

/* Launches by variant, but for their tensors, sizes and grid. */
static const struct { struct gemm_bf16_params p ALIGNED; } launches[] = {
    {{{0}, 64, NULL, 0, 256, {1, 1, 1}, 0, 98304, {0, 0, 0}}},
    {{{0}, 64, NULL, 1, 256, {1, 1, 1}, 0, 98304, {0, 0, 0}}},
    {{{MAP_0(), MAP_1(), MAP_2()}, 448, NULL, 0, 384, {2, 1, 1}, 0, 229440, {0, 0, 0}}},
    {{{MAP_0(), MAP_1()}, 320, NULL, 1, 384, {2, 1, 1}, 0, 213568, {0, 0, 0}}},
};

/* The tensors in the order of gemm_bf16_args, with defaults in place of strides of 0; dense: all are. */
INLINE void resolve(const struct gemm_bf16_args *args, int dense, struct tensor *t)
{
    t[at_A].address = (uint64_t)(uintptr_t)args->A; t[at_A].dim[0] = args->M; t[at_A].dim[1] = args->K;
    t[at_A].stride[0] = stride_of(dense, args->A_stride[0], args->K);
    t[at_B].address = (uint64_t)(uintptr_t)args->B; t[at_B].dim[0] = args->N; t[at_B].dim[1] = args->K;
    t[at_B].stride[0] = stride_of(dense, args->B_stride[0], args->K);
    t[at_D].address = (uint64_t)(uintptr_t)args->D; t[at_D].dim[0] = args->M; t[at_D].dim[1] = args->N;
    t[at_D].stride[0] = stride_of(dense, args->D_stride[0], args->N);
}

static int check_arguments(const struct gemm_bf16_args *args, struct gemm_bf16_error *error)
{
    int status = check_size("M", args->M, 2147482624, 1, error);
    status = status ? status : check_size("N", args->N, 2147482624, 1, error);
    status = status ? status : check_size("K", args->K, 2147482624, 1, error);
    return status;
}

/* What a variant has, into its launch: blocks along x, y and z, where an extent of 0 anywhere stores zeros, items that
 * they count and lists of turns. */
INLINE int count_work(const struct gemm_bf16_args *args, int v, int64_t sm_count, struct gemm_bf16_params *p,
                      struct gemm_bf16_error *error)
{
    int64_t n[5] = {1, 1, 1, 0, 0};
    switch (v) {
    case 0: case 1: n[0] = (args->M + 127) / 128 * ((args->N + 127) / 128); break;
    case 2: case 3:
        n[0] = ((args->M + 255) / 256 * ((args->N + 255) / 256) < sm_count / 2
                ? (args->M + 255) / 256 * ((args->N + 255) / 256) : sm_count / 2) * 2;
        break;
    }
    const int nothing = n[0] <= 0 || n[1] <= 0 || n[2] <= 0;
    if (n[0] > 2147483647 || n[1] > 65535 || n[2] > 65535)
        return REFUSE("the sizes ask for a grid of %lld x %lld x %lld blocks, more than 2147483647 x 65535 x 65535; "
                      "split the work", (long long)n[0], (long long)n[1], (long long)n[2]);
    p->grid[0] = nothing ? 0 : (uint32_t)n[0];
    p->grid[1] = nothing ? 0 : (uint32_t)n[1];
    p->grid[2] = nothing ? 0 : (uint32_t)n[2];
    return gemm_bf16_OK;
}

/* Whether the tensors are aligned as variants of that shape ask. */
INLINE int fits(int shape, const struct tensor *t)
{
    switch (shape) {
    case 0: case 3: /* gemm_bf16 for sm_80 */
        return !(unaligned(t + at_A, 2, 2, 15, 0) | unaligned(t + at_B, 2, 2, 15, 0) | unaligned(t + at_D, 2, 2, 1, 0));
    case 1: /* gemm_bf16__unaligned for sm_80 */
        return !(unaligned(t + at_A, 2, 2, 1, 0) | unaligned(t + at_B, 2, 2, 1, 0) | unaligned(t + at_D, 2, 2, 1, 0));
    case 2: /* gemm_bf16 for sm_90a */
        return !(unaligned(t + at_A, 2, 2, 15, 0) | unaligned(t + at_B, 2, 2, 15, 0) |
                 unaligned(t + at_D, 2, 2, 15, 1));
    }
    return 0;
}

/* In a copy of variant v's launch, where `slot` has it loaded. encoder: where the driver encodes maps, what is loaded;
 * NULL: images are patched. 0, or why it is none. */
INLINE int fill_launch(const struct gemm_bf16_state *encoder, const struct gemm_bf16_slot *slot, int shape, int v,
                       const struct gemm_bf16_args *args, const struct tensor *t, struct gemm_bf16_params *p,
                       struct gemm_bf16_error *error)
{
    unsigned char *to = (unsigned char *)p->word;
    int status = gemm_bf16_OK;
    p->function = slot->function;
    switch (shape) {
    case 0: case 1: /* gemm_bf16 for sm_80 */
        memcpy(to, &t[at_A].address, 8); memcpy(to + 8, &t[at_B].address, 8); memcpy(to + 16, &t[at_D].address, 8);
        memcpy(to + 24, &t[at_A].stride[0], 8); memcpy(to + 32, &t[at_B].stride[0], 8);
        memcpy(to + 40, &t[at_D].stride[0], 8); memcpy(to + 48, &args->M, 4); memcpy(to + 52, &args->N, 4);
        memcpy(to + 56, &args->K, 4);
        break;
    case 2: /* gemm_bf16 for sm_90a */
        status = put_map(encoder, &maps[0], p->word, t + at_A, 2, 2, error);
        status = status ? status : put_map(encoder, &maps[1], p->word + 16, t + at_B, 2, 2, error);
        status = status ? status : put_map(encoder, &maps[2], p->word + 32, t + at_D, 2, 2, error);
        memcpy(to + 384, &args->M, 4); memcpy(to + 388, &args->N, 4); memcpy(to + 392, &args->K, 4);
        break;
    case 3: /* gemm_bf16__unaligned for sm_90a */
        status = put_map(encoder, &maps[0], p->word, t + at_A, 2, 2, error);
        status = status ? status : put_map(encoder, &maps[1], p->word + 16, t + at_B, 2, 2, error);
        memcpy(to + 256, &t[at_D].address, 8); memcpy(to + 264, &t[at_D].stride[0], 8); memcpy(to + 272, &args->M, 4);
        memcpy(to + 276, &args->N, 4); memcpy(to + 280, &args->K, 4);
        break;
    }
    return status ? status : count_work(args, v, slot->resident, p, error);
}

/* What most launches are: sizes, extents and strides in their range and above 1, addresses that are there, so that
 * nothing has to be put in the place of what is never used. */
INLINE int is_ordinary(const struct gemm_bf16_args *args, const struct tensor *t, int dense)
{
    return args->M > 1 && args->M <= 2147482624 && args->N > 1 && args->N <= 2147482624 && args->K > 1 &&
        args->K <= 2147482624 && t[at_A].address != 0 && t[at_B].address != 0 && t[at_D].address != 0 &&
        t[at_D].stride[0] >= t[at_D].dim[1] && (t[at_A].address | t[at_B].address | t[at_D].address) >> 57 == 0 &&
        (dense ||
         ((uint64_t)t[at_A].stride[0] < 549755813888u && (uint64_t)t[at_B].stride[0] < 549755813888u &&
          (uint64_t)t[at_D].stride[0] < 549755813888u));
}

/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct gemm_bf16_state *k, const struct gemm_bf16_slot *slot,
                    const struct gemm_bf16_args *args, int dense, int shape, int v, struct gemm_bf16_params *p)
{
    struct tensor t[tensor_count];
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
    return LIKELY(is_ordinary(args, t, dense) && fits(shape, t)) &&
           !fill_launch(NULL, slot, shape, v, args, t, p, NULL);
}

/* In the variant that asks most of those for the sizes. */
INLINE int params_of_ordinary(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, int dense,
                              struct gemm_bf16_params *p)
{
    switch (kernel->state.target) {
    case 1: /* sm_80 */
        return ordinary(&kernel->state, kernel->slot, args, dense, 0, 0, p);
    case 2: /* sm_90a */
        return LIKELY(kernel->state.static_images) && ordinary(&kernel->state, kernel->slot, args, dense, 2, 2, p);
    }
    return 0;
}

/* Any arguments: those that are refused, empty tensors, maps that the driver encodes. */
APART static int params_of_any(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args,
                               struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    struct tensor t[tensor_count];
    int status = check_arguments(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(t, 0, error);
    if (!kernel->state.target)
        return status ? status : REFUSE("the kernel is not loaded");
    const struct target *target = &targets[kernel->state.target - 1];
    const int last = target->first + target->own - 1;
    int v = target->first;
    while (v < last && !fits(images[v].shape, t))
        v++;
    if (!status && !fits(images[v].shape, t))
        status = check_tensors(t, kernel->state.target, error);
    if (!status) {
        memcpy(p, &launches[v].p, sizeof *p);
        status = fill_launch(kernel->state.static_images ? NULL : &kernel->state, &kernel->slot[v - target->first],
                             images[v].shape, v, args, t, p, error);
    }
    if (status != gemm_bf16_INVALID)
        return status;
    /* Where the sizes leave nothing to compute, it does not matter what their tensors are. */
    if (count_work(args, last, kernel->slot[target->own - 1].resident, p, NULL) || p->grid[0])
        return status;
    memset(p, 0, sizeof *p);
    return gemm_bf16_OK;
}

/* What follows it; launch calls it without a detour through the linker's table. */
TOGETHER static int prepare(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args,
                            struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    if (LIKELY((args->A_stride[0] | args->B_stride[0] | args->D_stride[0]) == 0)
        ? params_of_ordinary(kernel, args, 1, p) : params_of_ordinary(kernel, args, 0, p))
        return gemm_bf16_OK;
    return params_of_any(kernel, args, p, error);
}

int gemm_bf16_params(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, struct gemm_bf16_params *params,
                     struct gemm_bf16_error *error)
{
    return prepare(kernel, args, params, error);
}

/* ---- what the header declares ----------------------------------------------------------------------------------- */

int gemm_bf16_workspace(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, uint64_t *bytes,
                        struct gemm_bf16_error *error)
{
    (void)kernel;
    *bytes = 0;
    return check_arguments(args, error);
}

TOGETHER int gemm_bf16_launch(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, void *stream,
                              struct gemm_bf16_error *error)
{
    struct gemm_bf16_params p ALIGNED;
    struct launch_attribute attribute[2];
    void *arguments[] = {p.word}; /* one struct is the kernel's only parameter; the driver copies it */
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    const struct launch_config config = configure(attribute, p.grid, p.threads, p.shared_bytes, stream, p.cluster);
    result = kernel->state.driver.launch(&config, p.function, arguments, NULL);
    return result ? driver_fault(error, result, "cuLaunchKernelEx", "gemm_bf16") : 0;
}

void gemm_bf16_info(const struct gemm_bf16 *kernel, struct gemm_bf16_info *info)
{
    const struct target *t = kernel->state.target ? &targets[kernel->state.target - 1] : NULL;
    const struct gemm_bf16_info told = {
        "gemm_bf16", 1, t ? t->arch : "", kernel->state.capability, kernel->state.driver_version, tensors,
        tensor_count, t ? &variants[t->first] : variants, t ? t->count : 0, kernel->state.static_images,
        kernel->state.images};
    *info = told;
}

const char *gemm_bf16_strerror(int status)
{
    static const char *const words[] = {
        "done", "an argument is refused", "CUDA driver not found", "CUDA driver is too old", "no current CUDA context",
        "no variant for this device", "NVRTC not found, or too old", "compilation failed", "out of memory",
        "CUDA driver call failed"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "unknown status";
}
