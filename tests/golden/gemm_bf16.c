/* gemm_bf16.c: a kernel and its host code, made by tilewright 1. Do not edit: change the spec and generate
 * again. gemm_bf16.h says what it is. */

#include "gemm_bf16.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read it from here down: what is known of a kernel; what every launch runs; load, and why arguments are refused; then
 * the kernel itself, its tables, how its arguments become a launch's parameter, and what the header declares.
 * What most arguments need of a launch is one stretch of code without a call (INLINE, TOGETHER), and all else is kept
 * apart from it (APART): between two launches the driver takes the caches for itself, and what is brought back should
 * be little and lie together. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define TOGETHER __attribute__((hot))
#define INLINE static inline __attribute__((always_inline, unused))
#define ALIGNED __attribute__((aligned(64)))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ASSUME(fact) do { if (!(fact)) __builtin_unreachable(); } while (0)
#else
#define APART
#define TOGETHER
#define INLINE static inline
#define ALIGNED
#define LIKELY(condition) (condition)
#define ASSUME(fact) ((void)(fact))
#endif

/* ---- tables ---------------------------------------------------------------------------------------------------- */

struct tensor { /* as one call has it: extents and strides in elements, in memory order, the innermost last */
    uint64_t address;
    int64_t dim[2], stride[2];
};
struct size { /* of the arguments, and where in them */
    const char *name;
    size_t at;
    int64_t limit, multiple;
};
struct rule { /* what the variant of an architecture that asks least asks of a tensor */
    int tensor;
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
    const void *cubin;
    const char *const *source, *const *ptx; /* in chunks, NULL behind the last */
    int blocks_per_sm, shape; /* how many run at once on a multiprocessor; those of a shape have the same parameter */
};
struct target { /* an architecture: the variants that were made for it, and the devices that take them */
    const char *arch;
    int major, minor, exact, newer; /* exact: runs on that compute capability alone; newer: its PTX may on later ones */
    int first, own, count;          /* of variants: those of the spec's own stand before set-ups */
    int shared_bytes; /* of a block, that its own variants want; a set-up that wants more is not loaded */
};
struct tables {
    const char *name;
    const struct gemm_bf16_tensor *tensor;
    const struct rule *rule; /* by target, then by tensor */
    const struct size *size;
    const struct map *map;
    const struct target *target;
    const struct image *image; /* by variant */
    const struct gemm_bf16_variant *variant;
    const char *const *option; /* of NVRTC, beside the architecture */
    int slots; /* variants of the architecture that has most */
    int tensor_count, target_count, size_count, map_count, option_count;
};

/* ---- what every launch runs ------------------------------------------------------------------------------------ */

/* CUlaunchAttribute and CUlaunchConfig of cuda.h. */
struct launch_attribute {
    uint64_t id; /* a CUlaunchAttributeID, an int, and what pads it: machines with a GPU store low bits first */
    union {
        uint32_t cluster[3];
        uint64_t word[8];
    } value;
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
        memcpy(attribute->value.cluster, cluster, sizeof attribute->value.cluster);
        config.attribute_count = 1;
    }
    return config;
}

INLINE int64_t stride_of(int dense, int64_t given, int64_t otherwise) { return dense || !given ? otherwise : given; }

/* Of a size that the kernel keeps in 32 bits the low ones. */
INLINE void put(uint64_t *word, size_t offset, const void *value, size_t bytes)
{
    memcpy((unsigned char *)word + offset, value, bytes);
}

/* Ordinary is what most launches are: sizes, extents and strides in their range and above 1, addresses that are there,
 * so that nothing has to be put in the place of what is never used. Each of these is a sum of signs: its highest bit is
 * set where something is out of the ordinary. */
INLINE uint64_t odd_size(int64_t size, int64_t limit, int64_t multiple)
{
    return ((uint64_t)size - 2) | ((uint64_t)limit - (uint64_t)size) | (uint64_t)(size % multiple != 0) << 63;
}
INLINE uint64_t odd_address(uint64_t all) { return (all - 1) | (((uint64_t)1 << 57) - 1 - all) | all; }
INLINE uint64_t odd_stride(int64_t stride, uint64_t bytes)
{
    return (uint64_t)stride | (((uint64_t)1 << 40) / bytes - 1 - (uint64_t)stride);
}

/* The bytes from one index of dimension d to the next, where there are several. */
INLINE uint64_t pitch(const struct tensor *t, int d, uint64_t bytes)
{
    return t->dim[d] > 1 ? (uint64_t)t->stride[d] * bytes : 0;
}

/* What of a tensor lies below the alignment mask + 1: of its address, its pitches and, where whole_rows asks for them,
 * its rows. */
INLINE uint64_t unaligned(const struct tensor *t, int rank, uint64_t bytes, uint64_t mask, int whole_rows)
{
    uint64_t low = t->address;
    if (mask >= bytes) {
        low |= rank > 1 ? pitch(t, 0, bytes) : 0;
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
    put(map, 4 * (size_t)h, &half, sizeof half);
}

INLINE void patch_map(uint64_t *map, uint32_t rank, uint64_t address, const uint64_t *dim, const uint64_t *stride)
{
    map[0] = address;
    put_half(map, 8, (dim[0] - 1));
    if (rank > 1) {
        put_half(map, 3, stride[0] >> 4);
        put_half(map, 7, stride[0] >> 36);
        put_half(map, 9, (dim[1] - 1));
    }
}

/* Address, extents and strides as maps take them: those of an empty tensor, and the stride of a dimension of one index,
 * are never used, but must be valid. d counts from the innermost dimension. */
INLINE uint64_t map_dim(const struct tensor *t, int rank, int d)
{
    return d < rank && t->dim[rank - 1 - d] > 0 ? (uint64_t)t->dim[rank - 1 - d] : 1;
}
INLINE uint64_t map_stride(const struct tensor *t, int rank, int d, uint64_t bytes)
{
    return d < rank - 1 && t->dim[rank - 2 - d] > 1 ? (uint64_t)t->stride[rank - 2 - d] * bytes : 16;
}
INLINE uint64_t map_view(const struct tensor *t, int rank, uint64_t bytes, uint64_t *dim, uint64_t *stride)
{
    dim[0] = map_dim(t, rank, 0);
    dim[1] = map_dim(t, rank, 1);
    stride[0] = map_stride(t, rank, 0, bytes);
    return t->address ? t->address : 16;
}

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

/* Into the caller's `error`. */
#define REFUSE(...) fail(error, gemm_bf16_INVALID, 0, __VA_ARGS__)

/* A CUresult's name and, where one can be told, what it comes from here. */
static const char *result_name(int result)
{
    static const struct { int result; const char *name; } names[] = {
        {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {101, "CUDA_ERROR_INVALID_DEVICE"},
        {3, "CUDA_ERROR_NOT_INITIALIZED: call cuInit, or cudaFree(0), before"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
        {4, "CUDA_ERROR_DEINITIALIZED: the program is at its end"}, {500, "CUDA_ERROR_NOT_FOUND"},
        {201, "CUDA_ERROR_INVALID_CONTEXT: call cuCtxSetCurrent, or cudaSetDevice, in this thread before"},
        {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {218, "CUDA_ERROR_INVALID_PTX"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is older than the compiler"},
        {400, "CUDA_ERROR_INVALID_HANDLE: the stream is of another context, or gone"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS: of a kernel before; the context is lost"},
        {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
        {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION: of a kernel before; the context is lost"},
        {716, "CUDA_ERROR_MISALIGNED_ADDRESS: of a kernel before; the context is lost"},
        {719, "CUDA_ERROR_LAUNCH_FAILED: of a kernel before; the context is lost"},
        {801, "CUDA_ERROR_NOT_SUPPORTED"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
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
    const int status = result == out_of_memory ? gemm_bf16_NO_MEMORY
                       : result == not_initialized || result == no_context ? gemm_bf16_NO_CONTEXT : gemm_bf16_DRIVER;
    return fail(error, status, result, "%s of %s failed with CUresult %d (%s)", call, of, result, result_name(result));
}

static const char *status_words(int status)
{
    static const char *const words[] = {
        "done", "an argument is refused", "CUDA driver not found", "CUDA driver is too old", "no current CUDA context",
        "no variant for this device", "NVRTC not found, or too old", "compilation failed", "out of memory",
        "CUDA driver call failed"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "unknown status";
}

/* ---- load: the driver -------------------------------------------------------------------------------------------- */

/* Functions by name, into pointers that lie one behind the other; library NULL: they are there. Returns the first name
 * for which there is none, NULL: there is none such. A name behind a `?` need not be there. POSIX: a function's address
 * is as a void *. */
static const char *find_symbols(void *library, const char *const *name, size_t count, void *functions)
{
    const char *missing = NULL;
    size_t i;
    for (i = 0; i < count; i++) {
        unsigned char *place = (unsigned char *)functions + i * sizeof(void *);
        void *symbol = library ? dlsym(library, name[i] + (*name[i] == '?')) : NULL;
        if (library)
            memcpy(place, &symbol, sizeof symbol);
        memcpy(&symbol, place, sizeof symbol);
        if (!symbol && *name[i] != '?' && !missing)
            missing = name[i];
    }
    return missing;
}

/* Opens the driver, or takes the caller's table. Beside the loader's own search: containers, NixOS and WSL keep the
 * driver where no cache lists it. */
static int open_driver(struct gemm_bf16_state *k, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    static const char *const calls[] = { /* the members of gemm_bf16_driver */
        "cuDriverGetVersion", "cuCtxGetDevice", "cuDeviceGetAttribute", "cuModuleLoadData", "cuModuleUnload",
        "cuModuleGetFunction", "cuFuncSetAttribute", "?cuOccupancyMaxActiveClusters", "cuLaunchKernelEx",
        "?cuTensorMapEncodeTiled"};
    static const char *const files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/run/opengl-driver/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    const char *missing;
    size_t i;
    if (driver)
        k->driver = *driver;
    for (i = 0; i < sizeof files / sizeof *files && !k->library && !driver; i++)
        k->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!k->library && !driver)
        return fail(error, gemm_bf16_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
    missing = find_symbols(k->library, calls, sizeof calls / sizeof *calls, &k->driver);
    if (missing && driver)
        return REFUSE("the driver's table lacks an entry point, %s; only max_active_clusters may be NULL, and encoders "
                      "where no tensor map is used", missing);
    return missing ? fail(error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no %s", missing) : gemm_bf16_OK;
}

/* ---- load: sources and PTX --------------------------------------------------------------------------------------- */

/* The chunks as one text, which the caller frees. */
static char *join(const char *const *chunk, struct gemm_bf16_error *error)
{
    size_t bytes = 1, at = 0;
    char *text;
    int i;
    for (i = 0; chunk[i]; i++)
        bytes += strlen(chunk[i]);
    text = (char *)malloc(bytes);
    for (i = 0; text && chunk[i]; at += strlen(chunk[i++]))
        memcpy(text + at, chunk[i], strlen(chunk[i]) + 1);
    if (!text)
        fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the kernel's text");
    return text;
}

/* NVRTC. Signatures are those of nvrtc.h of CUDA 12 and 13; a program is a void *. */
enum { a_cubin, a_ptx, a_log, texts }; /* what it gives */
struct compiler {
    void *builtins, *library;
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers, const char *const *header,
                  const char *const *header_name);
    int (*destroy)(void **program);
    int (*compile)(void *program, int options, const char *const *option);
    int (*size[texts])(void *program, size_t *bytes);
    int (*read[texts])(void *program, char *bytes);
};

static void close_compiler(struct compiler *c)
{
    if (c->library)
        dlclose(c->library);
    if (c->builtins)
        dlclose(c->builtins);
    memset(c, 0, sizeof *c);
}

/* The newest NVRTC in a folder. libnvrtc looks for its builtins by bare name when it compiles, which finds them only if
 * they are open by then. */
static void open_newest(struct compiler *c, const char *root, const char *below)
{
    enum { newest = 199, oldest = 120 }; /* versions, of 19.9 and 12.0 */
    char path[4096];
    int version;
    for (version = newest; version >= oldest && !c->library && strlen(root) < sizeof path - 100; version--) {
        snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d.%d", root, below, version / 10, version % 10);
        c->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", root, below, version / 10);
        c->library = c->builtins ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (!c->library)
            close_compiler(c);
    }
}

static int open_compiler(struct compiler *c, struct gemm_bf16_error *error)
{
    static const char *const calls[] = { /* the members of struct compiler */
        "nvrtcVersion", "nvrtcCreateProgram", "nvrtcDestroyProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",
        "nvrtcGetPTXSize", "nvrtcGetProgramLogSize", "nvrtcGetCUBIN", "nvrtcGetPTX", "nvrtcGetProgramLog"};
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                        "targets/aarch64-linux/lib"};
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    int major = 0, minor = 0;
    size_t i, n;
    for (i = 0; i < sizeof roots / sizeof *roots; i++)
        for (n = 0; n < sizeof below / sizeof *below && roots[i] && !c->library; n++)
            open_newest(c, roots[i], below[n]);
    for (i = 0; i < sizeof names / sizeof *names && !c->library; i++)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        return fail(error, gemm_bf16_NO_COMPILER, 0,
                    "NVRTC, which compiles the kernel, is not found in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the "
                    "loader's folders; install CUDA 12.8 or newer, or embed compiled kernels");
    if (find_symbols(c->library, calls, sizeof calls / sizeof *calls, &c->version) || c->version(&major, &minor))
        return fail(error, gemm_bf16_NO_COMPILER, 0, "NVRTC lacks an entry point");
    return major > 12 || (major == 12 && minor >= 8) ? gemm_bf16_OK
           : fail(error, gemm_bf16_NO_COMPILER, 0, "NVRTC is version %d.%d; 12.8 or newer is needed", major, minor);
}

/* What the compiler has made of a program, which the caller frees; *result: what it gave. NULL: there is none, or no
 * memory for it, where *result is 0. */
static char *read_text(const struct compiler *c, void *program, int which, int *result)
{
    size_t bytes = 0;
    char *text;
    *result = c->size[which](program, &bytes);
    text = *result ? NULL : (char *)malloc(bytes + 1);
    if (!text)
        return NULL;
    text[bytes] = '\0';
    *result = c->read[which](program, text);
    if (!*result)
        return text;
    free(text);
    return NULL;
}

/* Compiles to a cubin, or to PTX for a device newer than the target; *out is the caller's to free. A failure tells the
 * compiler's messages. */
static int compile(const struct compiler *c, const struct tables *of, int variant, int as_ptx, char **out,
                   struct gemm_bf16_error *error)
{
    const struct gemm_bf16_variant *v = &of->variant[variant];
    const char *option[32], *dash = v->name[0] ? "_" : "";
    char architecture[64], file[1024], *text = join(of->image[variant].source, error), *log;
    void *program = NULL;
    int i, result, unread, status = gemm_bf16_COMPILE;
    *out = NULL;
    if (!text)
        return gemm_bf16_NO_MEMORY;
    snprintf(file, sizeof file, "/tilewright/%s.%s%s%s.cu", of->name, v->arch, dash, v->name);
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%s", as_ptx ? "compute_" : "sm_", v->arch + 3);
    option[0] = architecture;
    for (i = 0; i < of->option_count; i++)
        option[1 + i] = of->option[i];
    result = c->create(&program, text, file, 0, NULL, NULL);
    free(text);
    if (result)
        return fail(error, status, result, "nvrtcCreateProgram failed with nvrtcResult %d", result);
    result = c->compile(program, 1 + of->option_count, option);
    if (!result)
        *out = read_text(c, program, as_ptx ? a_ptx : a_cubin, &result);
    if (*out) {
        status = gemm_bf16_OK;
    } else if (!result) {
        status = fail(error, gemm_bf16_NO_MEMORY, 0, "no memory for the compiled kernel");
    } else {
        const int told = (log = read_text(c, program, a_log, &unread)) != NULL && *log;
        fail(error, status, result, told ? "%s" : "NVRTC fails on %s with nvrtcResult %d", told ? log : file, result);
        free(log);
    }
    c->destroy(&program);
    return status;
}

/* ---- load: tensor maps ------------------------------------------------------------------------------------------- */

/* Driver-version work-arounds: bits of a map that drivers up to a version set wrongly, on devices from a compute
 * capability on. They are cleared in images and in what the driver writes alike; no image here has one set. */
static void work_around(const struct gemm_bf16_state *k, uint64_t *map)
{
    if (k->capability >= 100 && k->driver_version <= 13010) /* bit 85, Blackwell,
        drivers up to 13.1: sporadic illegal accesses to small tensors (NVIDIA bug 5736804) */
        map[1] &= ~((uint64_t)1 << 21);
}

/* The driver's encoder; map is written only on success. */
static int encode(const struct gemm_bf16_state *k, const struct map *m, uint64_t address, const uint64_t *dim,
                  const uint64_t *stride, uint64_t *map)
{
    static const uint32_t element_stride[5] = {1, 1, 1, 1, 1};
    unsigned char room[128 + 63]; /* the driver wants a multiple of 64 */
    unsigned char *aligned = room + (64 - (uintptr_t)room % 64) % 64;
    void *at = (void *)(uintptr_t)address;
    const int result = k->driver.encode_tiled(aligned, m->dtype, m->rank, at, dim, stride, m->box, element_stride, 0,
                                              m->swizzle, m->promotion, 0);
    if (!result) {
        memcpy(map, aligned, 128);
        work_around(k, map);
    }
    return result;
}

APART static int encode_map(const struct gemm_bf16_state *k, const struct map *m, uint64_t *map, const struct tensor *t,
                            struct gemm_bf16_error *error)
{
    uint64_t dim[5], stride[4];
    const uint64_t address = map_view(t, (int)m->rank, m->element_bytes, dim, stride);
    int result = encode(k, m, address, dim, stride, map);
    return result ? driver_fault(error, result, "cuTensorMapEncodeTiled", m->name) : gemm_bf16_OK;
}

/* What is patched into a map: the address, five extents, four strides; of each values that cross every bit of it,
 * `base` and `plus` with each bit alone, and all of them. Images of windows are as long as the walk over them takes. */
struct field {
    uint64_t base, plus, all;
    int low, bits;
};
enum { fields = 10 };

static struct field field_of(const struct map *m, int field)
{
    static const struct field address = {(uint64_t)1 << 32, 0, (((uint64_t)1 << 53) - 1) << 4, 4, 53};
    static const struct field extent = {1, 1, (uint64_t)1 << 32, 0, 32};
    static const struct field stride = {16, 0, (((uint64_t)1 << 36) - 1) << 4, 4, 36};
    struct field f = field == 0 ? address : field < 6 ? extent : stride;
    const int d = field < 6 ? field - 1 : field - 5; /* the map must have more dimensions */
    if (field > 0 && field < 6 && m->dim[d])
        f.base = f.all = m->dim[d];
    if (d >= (int)m->rank || (field > 0 && field < 6 && m->dim[d]))
        f.bits = 0;
    return f;
}

/* Compares one map's image with the driver, each bit of each field alone, then all; says what differs in k->images. */
static int image_agrees(struct gemm_bf16_state *k, const struct map *m)
{
    uint64_t value[fields], ours[16], theirs[16];
    int field, bit, bits, i, result = 0, word = 16;
    unsigned call = 0;
    for (field = 0; field <= fields && !result && word == 16; field++) {
        bits = field < fields ? field_of(m, field).bits : 1;
        for (bit = 0; bit < bits && !result && word == 16; bit++, call++) {
            for (i = 0; i < fields; i++) {
                const struct field f = field_of(m, i);
                value[i] = field == fields ? f.all : i == field ? ((uint64_t)1 << (f.low + bit)) + f.plus : f.base;
            }
            memcpy(ours, m->image, sizeof ours);
            patch_map(ours, m->rank, value[0], value + 1, value + 6);
            work_around(k, ours);
            result = encode(k, m, value[0], value + 1, value + 6, theirs);
            for (word = 0; !result && word < 16 && ours[word] == theirs[word];)
                word++;
        }
    }
    if (result)
        snprintf(k->images, sizeof k->images, "%s: the driver's encoder refuses call %u of the check with CUresult %d "
                 "(%s)", m->name, call - 1, result, result_name(result));
    else if (word < 16)
        snprintf(k->images, sizeof k->images, "%s: in call %u of the check, word %d of the driver's map is 0x%llx, not "
                 "0x%llx", m->name, call - 1, word, (unsigned long long)theirs[word], (unsigned long long)ours[word]);
    return !result && word == 16;
}

/* Where the variants have maps, their images are used if they are what the driver encodes. */
static int check_images(struct gemm_bf16_state *k, const struct tables *of, struct gemm_bf16_error *error)
{
    int i, uses = 0;
    for (i = 0; i < of->map_count; i++) {
        if (!(of->map[i].targets >> (k->target - 1) & 1u))
            continue;
        if (!k->driver.encode_tiled)
            return fail(error, gemm_bf16_OLD_DRIVER, 0, "the CUDA driver has no cuTensorMapEncodeTiled");
        k->static_images = (!uses++ || k->static_images) && image_agrees(k, &of->map[i]);
    }
    return gemm_bf16_OK;
}

/* ---- load ------------------------------------------------------------------------------------------------------ */

struct device { int major, minor, sm_count, shared_bytes; }; /* the current one; bytes that a block can opt in to */

/* The target for a device whose blocks have the shared memory for it: that of its compute capability, else the nearest
 * of the same major version, else the newest whose PTX may run on later devices. -1: none. */
static int choose_target(const struct tables *of, const struct device *d)
{
    int i, best = -1, best_score = 0;
    for (i = 0; i < of->target_count; i++) {
        const struct target *t = &of->target[i];
        const int own = 10 * t->major + t->minor, wanted = 10 * d->major + d->minor;
        const int score = own == wanted                                              ? 3000 + t->exact
                          : t->major == d->major && t->minor < d->minor && !t->exact ? 2000 + own
                          : t->newer && own < wanted                                 ? 1000 + own : 0;
        if (t->shared_bytes > d->shared_bytes || score <= best_score)
            continue;
        best = i;
        best_score = score;
    }
    return best;
}

/* Why there is none: what the device is, and what each target wants. */
static int refuse_device(const struct tables *of, const struct device *d, struct gemm_bf16_error *error)
{
    char wanted[700];
    size_t at = 0;
    int i;
    for (i = 0; i < of->target_count && at < sizeof wanted; i++) {
        const struct target *t = &of->target[i];
        const char *later = t->exact ? "" : t->newer ? " or newer" : " or newer of that major version";
        int length = snprintf(wanted + at, sizeof wanted - at, "%s%s (%d.%d%s, %d bytes)", i ? ", " : "", t->arch,
                              t->major, t->minor, later, t->shared_bytes);
        at += length > 0 ? (size_t)length : 0;
    }
    return fail(error, gemm_bf16_UNSUPPORTED, 0,
                "the current device has compute capability %d.%d and %d bytes of shared memory for a block; the kernel "
                "was made for %s", d->major, d->minor, d->shared_bytes, wanted);
}

/* Persistent grids take one block for each multiprocessor that can hold one: where clusters do not fill every GPC, that
 * is fewer than there are. Only a number of blocks depends on it, so a driver that cannot say is no fault. */
static void count_resident(struct gemm_bf16_state *k, struct gemm_bf16_slot *slot, const struct gemm_bf16_variant *v,
                           const struct image *image, int sm_count)
{
    struct launch_attribute attribute[2];
    struct launch_config config;
    const int blocks = (int)(v->cluster[0] * v->cluster[1] * v->cluster[2]);
    int clusters = 0;
    slot->resident = sm_count > blocks ? sm_count : blocks; /* a persistent grid is one cluster at least */
    if (blocks < 2 || !k->driver.max_active_clusters)
        return;
    config = configure(attribute, v->cluster, v->threads, v->shared_bytes, NULL, v->cluster);
    if (!k->driver.max_active_clusters(&clusters, slot->function, &config) && clusters > 0 &&
        (int64_t)clusters * blocks < (int64_t)sm_count * image->blocks_per_sm)
        slot->resident = (int32_t)((int64_t)clusters * blocks / image->blocks_per_sm);
}

/* *result: what cuModuleLoadData gave. */
static int load_image(struct gemm_bf16_state *k, struct gemm_bf16_slot *slot, const struct tables *of, int variant,
                      const void *bytes, int *result, struct gemm_bf16_error *error)
{
    enum { shared_bytes = 8, any_cluster = 14, portable_cluster = 8 }; /* of CUfunction_attribute */
    const struct gemm_bf16_variant *v = &of->variant[variant];
    int other;
    *result = k->driver.module_load(&slot->module, bytes);
    if (*result) {
        slot->module = NULL;
        return driver_fault(error, *result, "cuModuleLoadData", v->entry);
    }
    other = k->driver.module_function(&slot->function, slot->module, v->entry);
    if (other)
        return driver_fault(error, other, "cuModuleGetFunction", v->entry);
    if (v->shared_bytes > 0)
        other = k->driver.function_set(slot->function, shared_bytes, (int)v->shared_bytes);
    if (!other && v->cluster[0] * v->cluster[1] * v->cluster[2] > portable_cluster)
        other = k->driver.function_set(slot->function, any_cluster, 1);
    return other ? driver_fault(error, other, "cuFuncSetAttribute", v->entry) : gemm_bf16_OK;
}

/* PTX for a device that is newer than the target, and for one that takes no binaries at all, an emulated one. What is
 * text is made here, and freed when it is loaded. */
static int load_variants(struct gemm_bf16_state *k, struct gemm_bf16_slot *slots, const struct tables *of,
                         const struct device *device, struct gemm_bf16_error *error)
{
    const struct target *t = &of->target[k->target - 1];
    int status = gemm_bf16_OK, v, result;
    enum { no_binary_for_gpu = 209 };
    int as_ptx = t->major != device->major;
    struct compiler compiler;
    memset(&compiler, 0, sizeof compiler);
    for (v = t->first; v < t->first + t->count && !status; v++) {
        struct gemm_bf16_slot *slot = &slots[v - t->first];
        const struct image *image = &of->image[v];
        do {
            char *text = NULL;
            result = 0;
            if (as_ptx && image->ptx)
                status = (text = join(image->ptx, error)) ? gemm_bf16_OK : gemm_bf16_NO_MEMORY;
            else if (image->source && (as_ptx || !image->cubin)) {
                status = compiler.library ? gemm_bf16_OK : open_compiler(&compiler, error);
                status = status ? status : compile(&compiler, of, v, as_ptx, &text, error);
            }
            if (!status)
                status = load_image(k, slot, of, v, text ? text : image->cubin, &result, error);
            free(text);
        } while (result == no_binary_for_gpu && (image->source || image->ptx) && !as_ptx++);
        if (!status)
            count_resident(k, slot, &of->variant[v], image, device->sm_count);
    }
    close_compiler(&compiler);
    return status;
}

static int unload_kernel(struct gemm_bf16_state *k, struct gemm_bf16_slot *slots, const struct tables *of,
                         struct gemm_bf16_error *error)
{
    int status = gemm_bf16_OK, v;
    for (v = 0; v < of->slots; v++) {
        int result = slots[v].module ? k->driver.module_unload(slots[v].module) : 0;
        if (result && !status)
            status = driver_fault(error, result, "cuModuleUnload", of->name);
    }
    if (k->library)
        dlclose(k->library);
    memset(slots, 0, (size_t)of->slots * sizeof *slots);
    memset(k, 0, sizeof *k);
    return status;
}

/* Looks at the device. 0, or a status. */
static int find_device(struct gemm_bf16_state *k, struct device *device, int *ordinal, struct gemm_bf16_error *error)
{
    static const int asked[] = {75, 76, 16, 97}; /* CUdevice_attributes */
    int *const value[] = {&device->major, &device->minor, &device->sm_count, &device->shared_bytes};
    int i, result = k->driver.version(&k->driver_version);
    if (result)
        return driver_fault(error, result, "cuDriverGetVersion", "the driver");
    result = k->driver.context_device(ordinal);
    if (result)
        return driver_fault(error, result, "cuCtxGetDevice", "the current context");
    for (i = 0; i < 4 && !result; i++)
        result = k->driver.device_attribute(value[i], asked[i], *ordinal);
    k->capability = 10 * device->major + device->minor;
    return result ? driver_fault(error, result, "cuDeviceGetAttribute", "the current device") : gemm_bf16_OK;
}

static int load_kernel(struct gemm_bf16_state *k, struct gemm_bf16_slot *slots, const struct tables *of,
                       const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    struct gemm_bf16_driver table; /* the caller's may lie in what is loaded */
    struct device device = {0, 0, 0, 0};
    int status, ordinal = 0;
    if (driver)
        table = *driver;
    memset(k, 0, sizeof *k);
    memset(slots, 0, (size_t)of->slots * sizeof *slots);
    status = open_driver(k, driver ? &table : NULL, error);
    status = status ? status : find_device(k, &device, &ordinal, error);
    if (!status && !(k->target = 1 + choose_target(of, &device)))
        status = refuse_device(of, &device, error);
    status = status ? status : load_variants(k, slots, of, &device, error);
    status = status ? status : check_images(k, of, error);
    if (status)
        unload_kernel(k, slots, of, NULL);
    return status;
}

/* ---- check: the arguments ---------------------------------------------------------------------------------------- */

/* The sizes, before any formula over them is computed. */
APART static int check_sizes(const struct tables *of, const void *args, struct gemm_bf16_error *error)
{
    int i;
    for (i = 0; i < of->size_count; i++) {
        const struct size *s = &of->size[i];
        const long long most = s->limit, multiple = s->multiple;
        long long v; /* of 64 bits, as it is */
        memcpy(&v, (const unsigned char *)args + s->at, sizeof v);
        if (v < 0)
            return REFUSE("%s is %lld, which is no size; write 0 or more", s->name, v);
        if (v > most)
            return REFUSE("%s is %lld, past %lld, the most that the kernel counts to; split the work", s->name, v,
                          most);
        if (v % multiple != 0)
            return REFUSE("%s is %lld, no multiple of %lld; pad it to %lld", s->name, v, multiple,
                          (v / multiple + 1) * multiple);
    }
    return gemm_bf16_OK;
}

INLINE int is_empty(const struct tensor *t, int rank)
{
    int empty = 0, d;
    for (d = 0; d < rank; d++)
        empty |= t->dim[d] <= 0;
    return empty;
}

/* What holds for every variant: no extent below 0 or past a map's, addresses, strides below 2^40 bytes, none of a
 * tensor that is written below its row. */
APART static int check_tensors(const struct tables *of, const struct tensor *tensor, struct gemm_bf16_error *error)
{
    int i, d;
    for (i = 0; i < of->tensor_count; i++) {
        const struct gemm_bf16_tensor *about = &of->tensor[i];
        const struct tensor *t = &tensor[i];
        const long long row = t->dim[about->rank - 1];
        const unsigned long long address = t->address, end = ((uint64_t)1 << 40) / about->element_bytes;
        const int rank = (int)about->rank;
        if (address == 0 && !is_empty(t, rank))
            return REFUSE("%s is NULL; pass the tensor's device address", about->name);
        if (address >> 57 != 0)
            return REFUSE("%s is 0x%llx, at or past 2^57, so no device address [TMA-ADDR57]", about->name, address);
        for (d = 0; d + 1 < rank; d++) {
            const long long stride = t->stride[d];
            if (t->dim[d] > 1 && (unsigned long long)stride >= end)
                return REFUSE("%s_stride[%d] is %lld elements of %u bytes; strides are 0 or more and below 2^40 bytes, "
                              "%llu elements [TMA-STRMAX]", about->name, d, stride, (unsigned)about->element_bytes,
                              end);
            if (t->dim[d] > 1 && about->out && stride < row)
                return REFUSE("%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap itself: "
                              "its rows have %lld; write %lld or more", about->name, d, stride, row, row);
        }
    }
    return gemm_bf16_OK;
}

/* The map of an empty tensor lies where the first other tensor does: a load whose box is outside of its map touches the
 * map's address [H200], and a tensor of no elements need not have memory. What a box inside would bring, as the map's
 * extent is 1, no kernel uses: there is no such element. */
APART static void place_empty(const struct tables *of, struct tensor *tensor)
{
    uint64_t address = 0;
    int i;
    for (i = of->tensor_count; i-- > 0;)
        if (!is_empty(&tensor[i], (int)of->tensor[i].rank))
            address = tensor[i].address & ~(uint64_t)127;
    for (i = 0; i < of->tensor_count; i++)
        if (address && is_empty(&tensor[i], (int)of->tensor[i].rank))
            tensor[i].address = address;
}

/* Which tensor keeps the variant that asks least from being taken, and what would do. */
APART static int refuse_alignment(const struct tables *of, int target, const struct tensor *tensor,
                                  struct gemm_bf16_error *error)
{
    int i, d;
    for (i = 0; i < of->tensor_count; i++) {
        const struct gemm_bf16_tensor *about = &of->tensor[i];
        const struct rule *r = &of->rule[(target - 1) * of->tensor_count + i];
        const struct tensor *t = &tensor[i];
        const unsigned long long align = r->align, element = about->element_bytes, address = t->address;
        const long long row = t->dim[about->rank - 1];
        if (address % align != 0)
            return REFUSE("%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example "
                          "[%s]", about->name, address, align, address - address % align,
                          r->map ? "TMA-ADDR16" : "ALIGN");
        for (d = 0; d + 1 < (int)about->rank; d++) {
            const unsigned long long bytes = pitch(t, d, element);
            if (bytes % align != 0)
                return REFUSE("the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of "
                              "%llu; pad it to %llu elements and pass that as %s_stride[%d] [%s]", d, about->name,
                              (long long)t->stride[d], about->dtype, bytes, align,
                              (bytes / align + 1) * align / element, about->name, d, r->map ? "TMA-STR16" : "ALIGN");
        }
        if (r->whole_rows && (unsigned long long)row * element % align != 0)
            return REFUSE("rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                          "elements", about->name, row, about->dtype, align,
                          ((unsigned long long)row * element / align + 1) * align / element);
    }
    return REFUSE("no variant takes these arguments");
}

APART static int refuse_grid(const int64_t *n, struct gemm_bf16_error *error)
{
    return REFUSE("the sizes ask for a grid of %lld x %lld x %lld blocks, more than 2147483647 x 65535 x 65535; split "
                  "the work", (long long)n[0], (long long)n[1], (long long)n[2]);
}

/* ---- the kernels ----------------------------------------------------------------------------------------------- */

static const char *const source_0[] = {
};
static const char *const source_1[] = {
};
static const char *const source_2[] = {
};
static const char *const source_3[] = {
};

static const struct image images[] = {{NULL, source_0, NULL, 1, 0}, {NULL, source_1, NULL, 1, 1},
                                      {NULL, source_2, NULL, 1, 2}, {NULL, source_3, NULL, 1, 3}};
static const struct gemm_bf16_variant variants[] = {
    {"", "gemm_bf16", "sm_80", 256, 98304, {1, 1, 1}, 0, 64, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_80", 256, 98304, {1, 1, 1}, 0, 64, -1},
    {"", "gemm_bf16", "sm_90a", 384, 229440, {2, 1, 1}, 0, 448, -1},
    {"unaligned", "gemm_bf16__unaligned", "sm_90a", 384, 213568, {2, 1, 1}, 0, 320, -1},
};
static const struct target targets[] = {
    {"sm_80", 8, 0, 0, 1, 0, 2, 2, 98304},
    {"sm_90a", 9, 0, 1, 0, 2, 2, 2, 229440},
};
enum { at_A, at_B, at_D, tensors_in_all }; /* by number */
static const struct gemm_bf16_tensor tensors[] = {
    {"A", "bf16", "M, K", 2, 2, 2, 16, 0},
    {"B", "bf16", "N, K", 2, 2, 2, 16, 0},
    {"D", "bf16", "M, N", 2, 2, 2, 16, 1},
};
static const struct rule rules[] = {
    {at_A, 2, 0, 0}, {at_B, 2, 0, 0}, {at_D, 2, 0, 0}, /* sm_80 */
    {at_A, 16, 0, 1}, {at_B, 16, 0, 1}, {at_D, 2, 0, 0}, /* sm_90a */
};
static const struct size sizes[] = {
    {"M", offsetof(struct gemm_bf16_args, M), 2147482624, 1},
    {"N", offsetof(struct gemm_bf16_args, N), 2147482624, 1},
    {"K", offsetof(struct gemm_bf16_args, K), 2147482624, 1},
};

/* Images of tensor maps; with parentheses, as a size may have any name. */
#define MAP_0() 0, 0x46510, 0, 0, 0, 0, 0x3f00000000000000, 0x7f, 0x4000, 0x400, 0, 0, 0, 0, 0, 0
#define MAP_1() 0, 0x46510, 0, 0, 0, 0, 0x3f00000000000000, 0x7f, 0x4000, 0x400, 0, 0, 0, 0, 0, 0
#define MAP_2() 0, 0x6510, 0, 0, 0, 0, 0x3f00000000000000, 0x3f, 0x2000, 0x400, 0, 0, 0, 0, 0, 0
static const struct map maps[] = {
    {"A_map", 2, 9, 3, 2, 2, 2, {64, 128}, {0, 0}, {MAP_0()}},
    {"B_map", 2, 9, 3, 2, 2, 2, {64, 128}, {0, 0}, {MAP_1()}},
    {"D_map", 2, 9, 3, 0, 2, 2, {64, 64}, {0, 0}, {MAP_2()}},
};
static const char *const options[] = {"--std=c++17"};

static const struct tables tables = {"gemm_bf16", tensors, rules, sizes, maps, targets, images, variants, options, 2,
                                     tensors_in_all, 2, 3, 3, 1};

/* ---- patch: the parameter ---------------------------------------------------------------------------------------- */

/* The grid of a launch into its parameters; an extent of 0 anywhere stores zeros. n: blocks along x, y and z, items
 * that blocks count and lists of turns, or 0. */
INLINE int put_grid(const int64_t *n, uint32_t *grid, struct gemm_bf16_error *error)
{
    const int nothing = n[0] <= 0 || n[1] <= 0 || n[2] <= 0;
    if (n[0] > 2147483647 || n[1] > 65535 || n[2] > 65535 || n[3] > 2147483647 || (uint64_t)n[4] > 2147483647)
        return refuse_grid(n, error);
    grid[0] = nothing ? 0 : (uint32_t)n[0];
    grid[1] = nothing ? 0 : (uint32_t)n[1];
    grid[2] = nothing ? 0 : (uint32_t)n[2];
    return gemm_bf16_OK;
}

/* A tensor's map in a copy of its image; where the driver encodes maps, by it. The first failure stays in *status. */
INLINE void put_map(const struct gemm_bf16_state *k, int patched, const struct map *m, uint64_t *map,
                    const struct tensor *t, int rank, uint64_t bytes, int *status, struct gemm_bf16_error *error)
{
    uint64_t dim[5], stride[4];
    if (patched)
        patch_map(map, (uint32_t)rank, map_view(t, rank, bytes, dim, stride), dim, stride);
    else if (!*status)
        *status = encode_map(k, m, map, t, error);
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
    return check_sizes(&tables, args, error);
}

/* What a variant has: blocks along x, y and z, items that they count and lists of turns. */
INLINE void count_work(const struct gemm_bf16_args *args, int v, int64_t sm_count, int64_t *n)
{
    n[0] = n[1] = n[2] = 1;
    n[3] = n[4] = 0;
    switch (v) {
    case 0: case 1: n[0] = (args->M + 127) / 128 * ((args->N + 127) / 128); break;
    case 2: case 3:
        n[0] = ((args->M + 255) / 256 * ((args->N + 255) / 256) < sm_count / 2
                ? (args->M + 255) / 256 * ((args->N + 255) / 256) : sm_count / 2) * 2;
        break;
    }
    (void)args, (void)v, (void)sm_count;
}

/* Whether the tensors are aligned as variants of that shape ask. */
INLINE int fits(int shape, const struct tensor *t)
{
    (void)t;
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

/* In a copy of variant v's launch. patched: whether maps are patched images; else the driver encodes them. */
INLINE int patch(const struct gemm_bf16_state *k, int shape, int v, int patched, const struct gemm_bf16_args *args,
                 const struct tensor *t, uint64_t *word, struct gemm_bf16_error *error)
{
    int status = gemm_bf16_OK;
    switch (shape) {
    case 0: case 1: /* gemm_bf16 for sm_80 */
        put(word, 0, &t[at_A].address, 8); put(word, 8, &t[at_B].address, 8); put(word, 16, &t[at_D].address, 8);
        put(word, 24, &t[at_A].stride[0], 8); put(word, 32, &t[at_B].stride[0], 8);
        put(word, 40, &t[at_D].stride[0], 8); put(word, 48, &args->M, 4); put(word, 52, &args->N, 4);
        put(word, 56, &args->K, 4);
        break;
    case 2: /* gemm_bf16 for sm_90a */
        put_map(k, patched, &maps[0], word, t + at_A, 2, 2, &status, error);
        put_map(k, patched, &maps[1], word + 16, t + at_B, 2, 2, &status, error);
        put_map(k, patched, &maps[2], word + 32, t + at_D, 2, 2, &status, error);
        put(word, 384, &args->M, 4); put(word, 388, &args->N, 4); put(word, 392, &args->K, 4);
        break;
    case 3: /* gemm_bf16__unaligned for sm_90a */
        put_map(k, patched, &maps[0], word, t + at_A, 2, 2, &status, error);
        put_map(k, patched, &maps[1], word + 16, t + at_B, 2, 2, &status, error);
        put(word, 256, &t[at_D].address, 8); put(word, 264, &t[at_D].stride[0], 8); put(word, 272, &args->M, 4);
        put(word, 276, &args->N, 4); put(word, 280, &args->K, 4);
        break;
    }
    (void)k, (void)v, (void)patched, (void)args, (void)t, (void)word, (void)error;
    return status;
}

/* What is out of the ordinary, as a sum of signs: of the sizes, and of the tensors. */
INLINE uint64_t odd_sizes(const struct gemm_bf16_args *args)
{
    return odd_size(args->M, 2147482624, 1) | odd_size(args->N, 2147482624, 1) | odd_size(args->K, 2147482624, 1);
}

INLINE uint64_t odd_tensors(const struct tensor *t, int dense)
{
    uint64_t odd = (t[at_A].address - 1) | (t[at_B].address - 1) | (t[at_D].address - 1) |
        odd_address(t[at_A].address | t[at_B].address | t[at_D].address);
    odd |= ((uint64_t)t[at_D].stride[0] - (uint64_t)t[at_D].dim[1]);
    if (!dense)
        odd |= odd_stride(t[at_A].stride[0], 2) | odd_stride(t[at_B].stride[0], 2) | odd_stride(t[at_D].stride[0], 2);
    return odd;
}

/* What the two have found, for the compiler. */
INLINE void assume_ordinary(const struct gemm_bf16_args *args, const struct tensor *t)
{
    ASSUME(args->M > 1 && args->M <= 2147482624 && args->N > 1 && args->N <= 2147482624 && args->K > 1 &&
           args->K <= 2147482624 && t[at_A].address != 0 && t[at_B].address != 0 && t[at_D].address != 0);
}

/* Whether all strides are the default ones. */
INLINE int all_dense(const struct gemm_bf16_args *args)
{
    return (args->A_stride[0] | args->B_stride[0] | args->D_stride[0]) == 0;
}

/* A launch's bytes are copied by a function that load chooses, as what a compiler puts in the place of memcpy takes
 * registers that every machine has. Where a machine has AVX, straight lines of it are faster than libc's memcpy, which
 * finds out the size each time. */
#if defined(__GNUC__) && defined(__x86_64__)
typedef uint64_t lanes __attribute__((vector_size(32), aligned(8), may_alias));
/* memcpy of a launch's parameters; the last 32 bytes overlap those before. */
__attribute__((target("avx"))) TOGETHER static void *copy_avx(void *to, const void *from, size_t bytes)
{
    enum { turns = sizeof(struct gemm_bf16_params) / sizeof(lanes) };
    const size_t last = sizeof(struct gemm_bf16_params) - sizeof(lanes);
    int i;
#if defined(__clang__) || __GNUC__ >= 8
#pragma GCC unroll 256
#endif
    for (i = 0; i < turns; i++)
        ((lanes *)to)[i] = ((const lanes *)from)[i];
    *(lanes *)((unsigned char *)to + last) = *(const lanes *)((const unsigned char *)from + last);
    __builtin_ia32_vzeroupper(); /* compilers add it by themselves only where they optimise */
    (void)bytes;
    return to;
}
#define COPY (__builtin_cpu_supports("avx") ? copy_avx : memcpy)
#else
#define COPY memcpy
#endif

/* In a copy of variant v's launch, where `slot` has it loaded. 0, or why it is none. */
INLINE int fill_launch(const struct gemm_bf16_state *k, const struct gemm_bf16_slot *slot, int shape, int v,
                       int patched, const struct gemm_bf16_args *args, const struct tensor *t,
                       struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    int64_t n[5];
    int status = patch(k, shape, v, patched, args, t, p->word, error);
    p->function = slot->function;
    count_work(args, v, slot->resident, n);
    return status ? status : put_grid(n, p->grid, error);
}

/* Arguments that need no substitute, in a variant whose tensors they fit. Returns whether *p is filled. The copy comes
 * first: nothing but pointers must be kept across it. */
INLINE int ordinary(const struct gemm_bf16_state *k, const struct gemm_bf16_slot *slot,
                    const struct gemm_bf16_args *args, int dense, int shape, int v, struct gemm_bf16_params *p)
{
    struct tensor t[tensors_in_all];
    k->copy(p, &launches[v].p, sizeof *p);
    resolve(args, dense, t);
    if (!LIKELY(odd_tensors(t, dense) >> 63 == 0))
        return 0;
    assume_ordinary(args, t);
    return LIKELY(fits(shape, t)) && !fill_launch(k, slot, shape, v, 1, args, t, p, NULL);
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
    const struct target *target = kernel->state.target ? &targets[kernel->state.target - 1] : NULL;
    struct tensor t[tensors_in_all];
    int64_t n[5];
    int v, last, status = check_arguments(args, error);
    if (status)
        return status;
    resolve(args, 0, t);
    status = check_tensors(&tables, t, error);
    if (!status)
        place_empty(&tables, t);
    if (!target)
        return status ? status : REFUSE("the kernel is not loaded");
    last = target->first + target->own - 1;
    v = target->first;
    while (v < last && !fits(images[v].shape, t))
        v++;
    if (!status && !fits(images[v].shape, t))
        status = refuse_alignment(&tables, kernel->state.target, t, error);
    if (!status) {
        memcpy(p, &launches[v].p, sizeof *p);
        status = fill_launch(&kernel->state, &kernel->slot[v - target->first], images[v].shape, v,
                             kernel->state.static_images, args, t, p, error);
    }
    if (status != gemm_bf16_INVALID)
        return status;
    /* Where the sizes leave nothing to compute, it does not matter what their tensors are. */
    count_work(args, last, kernel->slot[target->own - 1].resident, n);
    if (put_grid(n, p->grid, NULL) || p->grid[0])
        return status;
    memset(p, 0, sizeof *p);
    return gemm_bf16_OK;
}

APART static int params_of_strided(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args,
                                   struct gemm_bf16_params *p)
{
    return params_of_ordinary(kernel, args, 0, p);
}

/* What follows it; launch calls it without a detour through the linker's table. */
TOGETHER APART static int prepare(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args,
                                  struct gemm_bf16_params *p, struct gemm_bf16_error *error)
{
    if (LIKELY(odd_sizes(args) >> 63 == 0) &&
        (all_dense(args) ? params_of_ordinary(kernel, args, 1, p) : params_of_strided(kernel, args, p)))
        return gemm_bf16_OK;
    return params_of_any(kernel, args, p, error);
}

int gemm_bf16_params(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, struct gemm_bf16_params *params,
                     struct gemm_bf16_error *error)
{
    return prepare(kernel, args, params, error);
}

/* ---- what the header declares ----------------------------------------------------------------------------------- */

int gemm_bf16_load(struct gemm_bf16 *kernel, const struct gemm_bf16_driver *driver, struct gemm_bf16_error *error)
{
    int status = load_kernel(&kernel->state, kernel->slot, &tables, driver, error);
    kernel->state.copy = status ? NULL : COPY;
    return status;
}

int gemm_bf16_workspace(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, uint64_t *bytes,
                        struct gemm_bf16_error *error)
{
    (void)kernel;
    *bytes = 0;
    return check_arguments(args, error);
}

int gemm_bf16_unload(struct gemm_bf16 *kernel, struct gemm_bf16_error *error)
{
    return unload_kernel(&kernel->state, kernel->slot, &tables, error);
}

TOGETHER int gemm_bf16_launch(const struct gemm_bf16 *kernel, const struct gemm_bf16_args *args, void *stream,
                              struct gemm_bf16_error *error)
{
    struct gemm_bf16_params p ALIGNED;
    struct launch_attribute attribute[2];
    struct launch_config config;
    void *arguments[] = {p.word}; /* one struct is the kernel's only parameter; the driver copies it */
    int result, status = prepare(kernel, args, &p, error);
    if (status || p.grid[0] == 0)
        return status;
    config = configure(attribute, p.grid, p.threads, p.shared_bytes, stream, p.cluster);
    result = kernel->state.driver.launch(&config, p.function, arguments, NULL);
    return result ? driver_fault(error, result, "cuLaunchKernelEx", tables.name) : 0;
}

void gemm_bf16_info(const struct gemm_bf16 *kernel, struct gemm_bf16_info *info)
{
    const struct target *t = kernel->state.target ? &targets[kernel->state.target - 1] : NULL;
    const struct gemm_bf16_info told = {
        tables.name, 1, t ? t->arch : "", kernel->state.capability, kernel->state.driver_version, tensors,
            tensors_in_all,
        t ? &variants[t->first] : variants, t ? t->count : 0, kernel->state.static_images, kernel->state.images};
    *info = told;
}

const char *gemm_bf16_strerror(int status) { return status_words(status); }
