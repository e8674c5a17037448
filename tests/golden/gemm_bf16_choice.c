/* ---- choose ------------------------------------------------------------------------------------------------------ */

/* What was measured, in microseconds; ratio: the best peer's time by this one's. Of sizes measured in both modes,
 * sustained counts. Set-up 0 is the spec's own.
 *
 * NVIDIA H200 (sm_90a):
 *        M        N        K           us  ratio  mode       set-up
 *        1     4096     4096       10.200  1.223  sustained  2
 *       16     4096     4096       10.300  1.247  sustained  4
 *       64     4096     4096       10.700  1.084  sustained  6
 *       64     7168     2048        9.500  1.070  sustained  8
 *      128     7168     2048       11.200  0.994  sustained  10
 *      128    24576     1536       24.700  0.992  sustained  12
 *      512      512      512        3.300  1.144  sustained  14
 *     1024     1024     1024        5.900  1.051  sustained  16
 *     2048     2048     2048       28.400  0.969  sustained  18
 *     4096     2112     7168      196.700  0.950  sustained  19
 *     4096     4096     4096      203.200  1.017  sustained  20
 *     4096     4096    14336      689.300  1.017  sustained  0
 *     4096     6144     4096      298.200  1.036  sustained  21
 *     4096     7168     2048      173.700  1.008  sustained  23
 *     4096    14336     4096      704.800  1.003  sustained  24
 *     4096    24576     1536      444.400  1.009  sustained  26
 *     8192     8192     8192     1617.500  0.991  sustained  20
 *     8192     8192    28672     5588.800  0.973  sustained  27
 *     8192    28672     8192     5492.100  1.015  sustained  21
 *    16384     8192     8192     3174.000  1.001  sustained  21
 * set-up 2: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 8, n = 64 },
 * with these sizes as numbers
 * set-up 4: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 16, n = 64 },
 * with these sizes as numbers
 * set-up 6: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, split = {
 * k = 2 }, tile = { k = 128, m = 64, n = 64 }, with these sizes as numbers
 * set-up 8: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * k = 128, m = 64, n = 64 }, with these sizes as numbers
 * set-up 10: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * m = 128, n = 64 }, with these sizes as numbers
 * set-up 12: cache = { A = "evict_last", B = "evict_first", D = "evict_first" }, cluster = { m = 1 }, tile = { m = 128,
 * n = 96 }, with these sizes as numbers
 * set-up 14: cluster = { m = 1 }, tile = { k = 128, m = 64, n = 32 }, with these sizes as numbers
 * set-up 16: cluster = { m = 1 }, tile = { m = 64, n = 128 }, with these sizes as numbers
 * set-up 18: cluster = { m = 1, n = 2 }, with these sizes as numbers
 * set-up 19: cluster = { m = 1 }, tile = { m = 192, n = 176 }
 * set-up 20: cache = { D = "evict_first" }, pipeline = { store = "late" }
 * set-up 21: tile = { m = 256, n = 192 }
 * set-up 23: cache = { D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16 }, with these sizes
 * as numbers
 * set-up 24: cluster = { m = 1, n = 2 }, schedule = { group = 16 }, tile = { m = 256, n = 160 }
 * set-up 26: pipeline = { store = "late" }, schedule = { group = 16 }, with these sizes as numbers
 * set-up 27: pipeline = { stages = 3, store = "whole" }
 */

/* Sizes are halved until all that were measured in a part have one set-up, half-way between two of them by ratio. */
static const struct split splits[] = {
    {2897, 0, {1, 9}}, {5, 0, {24, 2}}, {33, 0, {30, 3}}, {257, 0, {4, 7}}, {13273, 1, {5, 54}}, {91, 0, {6, 48}},
        {2897, 2, {36, 42}}, {725, 0, {60, 8}}, {1449, 0, {66, 72}}, {2897, 2, {10, 11}}, {13273, 1, {78, 84}},
        {10837, 2, {12, 18}}, {2942, 1, {~19, 13}}, {5017, 1, {~20, 14}}, {5793, 0, {15, 16}}, {9386, 1, {~21, ~24}},
        {15326, 1, {17, ~21}}, {11586, 0, {~20, ~21}}, {5793, 0, {~0, ~27}}, {2, 0, {~2, ~1}}, {1, 0, {~1, 19}},
        {4097, 1, {20, ~1}}, {4096, 1, {~1, 21}}, {4097, 2, {22, ~1}}, {4096, 2, {~1, 23}}, {17, 0, {~4, ~3}},
        {16, 0, {~3, 25}}, {4097, 1, {26, ~3}}, {4096, 1, {~3, 27}}, {4097, 2, {28, ~3}}, {4096, 2, {~3, 29}},
        {65, 0, {~8, ~7}}, {64, 0, {~7, 31}}, {7169, 1, {32, ~7}}, {7168, 1, {~7, 33}}, {2049, 2, {34, ~7}},
        {2048, 2, {~7, 35}}, {65, 0, {~6, ~5}}, {64, 0, {~5, 37}}, {4097, 1, {38, ~5}}, {4096, 1, {~5, 39}},
        {4097, 2, {40, ~5}}, {4096, 2, {~5, 41}}, {129, 0, {~10, ~9}}, {128, 0, {~9, 43}}, {7169, 1, {44, ~9}},
        {7168, 1, {~9, 45}}, {2049, 2, {46, ~9}}, {2048, 2, {~9, 47}}, {129, 0, {~12, ~11}}, {128, 0, {~11, 49}},
        {24577, 1, {50, ~11}}, {24576, 1, {~11, 51}}, {1537, 2, {52, ~11}}, {1536, 2, {~11, 53}}, {513, 0, {~14, ~13}},
        {512, 0, {~13, 55}}, {513, 1, {56, ~13}}, {512, 1, {~13, 57}}, {513, 2, {58, ~13}}, {512, 2, {~13, 59}},
        {1025, 0, {~16, ~15}}, {1024, 0, {~15, 61}}, {1025, 1, {62, ~15}}, {1024, 1, {~15, 63}}, {1025, 2, {64, ~15}},
        {1024, 2, {~15, 65}}, {2049, 0, {~18, ~17}}, {2048, 0, {~17, 67}}, {2049, 1, {68, ~17}}, {2048, 1, {~17, 69}},
        {2049, 2, {70, ~17}}, {2048, 2, {~17, 71}}, {4097, 0, {~23, ~22}}, {4096, 0, {~22, 73}}, {7169, 1, {74, ~22}},
        {7168, 1, {~22, 75}}, {2049, 2, {76, ~22}}, {2048, 2, {~22, 77}}, {4097, 0, {~26, ~25}}, {4096, 0, {~25, 79}},
        {24577, 1, {80, ~25}}, {24576, 1, {~25, 81}}, {1537, 2, {82, ~25}}, {1536, 2, {~25, 83}}
};

static const struct choice choices[] = {
    {"NVIDIA H200", 2, 0}, /* sm_90a */
};
enum { slot_count = 29, target_count = 2, map_count = 19, option_count = 1, choice_count = 1 };

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
    const struct wanted *wanted;
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
        "?cuTensorMapEncodeTiled", "?cuDeviceGetName"};
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

/* One that asks for more shared memory than the device has is left out, as one for other sizes is. */
static int is_wanted(const struct loader *l, int variant)
{
    const int setup = images[variant].setup;
    return variants[variant].shared_bytes <= (uint32_t)l->shared_bytes &&
           (!setup || !l->wanted->takes || l->wanted->takes(l->k, l->wanted->args, l->wanted->count, setup));
}

/* The GPU's own choice among set-ups, else the first of its architecture. */
static void choose_table(struct loader *l)
{
    char name[256] = "";
    int i, found = 0;
    if (l->k->driver.device_name && l->k->driver.device_name(name, (int)sizeof name - 1, l->device))
        name[0] = '\0';
    l->k->choice = ~0;
    for (i = 0; i < choice_count; i++) {
        if (choices[i].target != l->k->target || (found && strcmp(choices[i].gpu, name) != 0))
            continue;
        l->k->choice = choices[i].begin;
        found = 1;
    }
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

static int load_wanted(struct gemm_bf16 *kernel, const struct gemm_bf16_driver *driver, const struct wanted *wanted,
                       struct gemm_bf16_error *error)
{
    struct gemm_bf16_state *k = &kernel->state;
    struct gemm_bf16_driver table; /* the caller's may lie in what is loaded */
    struct loader l;
    if (driver)
        table = *driver;
    memset(kernel, 0, sizeof *kernel);
    memset(&l, 0, sizeof l);
    l.k = k;
    l.wanted = wanted;
    l.error = error;
    int status = open_driver(&l, driver ? &table : NULL);
    status = status ? status : choose_target(&l);
    if (!status)
        choose_table(&l);
    for (int v = 0; !status && v < l.target->count; v++)
        if (is_wanted(&l, l.target->first + v))
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

INLINE int is_empty(const struct tensor *t, int rank)
{
    int empty = 0;
    for (int d = 0; d < rank; d++)
        empty |= t->dim[d] <= 0;
    return empty;
}

/* What every variant asks of tensors: no extent below 0 or past a map's, addresses, strides below 2^40 bytes, none of
 * one that is written below its row; of a target, what its variant that asks least does, and what would do; 0: none. */
static int check_tensors(struct tensor *tensor, int target, struct gemm_bf16_error *error)
{
    uint64_t somewhere = 0;
    for (int i = 0; i < tensor_count; i++) {
        const struct gemm_bf16_tensor *about = &tensors[i];
        const struct rule *r = target ? &rules[(target - 1) * tensor_count + i] : NULL;
        const struct tensor *t = &tensor[i];
        const int rank = (int)about->rank;
        const long long row = t->dim[rank - 1];
        const int empty = is_empty(t, rank);
        const unsigned long long address = t->address, element = about->element_bytes;
        const unsigned long long align = r ? r->align : 1, end = ((uint64_t)1 << 40) / element,
            bytes = (uint64_t)row * element;
        if (address == 0 && !empty)
            return REFUSE("%s is NULL; pass the tensor's device address", about->name);
        if (address >> 57 != 0)
            return REFUSE("%s is 0x%llx, at or past 2^57, so no device address [TMA-ADDR57]", about->name, address);
        if (address % align != 0)
            return REFUSE("%s is 0x%llx, no multiple of %llu bytes; move the tensor's start, to 0x%llx for example "
                          "[%s]", about->name, address, align, address - address % align,
                          r->map ? "TMA-ADDR16" : "ALIGN");
        for (int d = 0; d + 1 < rank; d++) {
            const long long stride = t->stride[d];
            const unsigned long long step = t->dim[d] > 1 ? (uint64_t)stride * element : 0;
            if (t->dim[d] > 1 && (unsigned long long)stride >= end)
                return REFUSE("%s_stride[%d] is %lld elements of %u bytes; strides are 0 or more and below 2^40 bytes, "
                              "%llu elements [TMA-STRMAX]", about->name, d, stride, (unsigned)element, end);
            if (t->dim[d] > 1 && about->out && stride < row)
                return REFUSE("%s_stride[%d] is %lld elements, and the tensor, which is written, would overlap itself: "
                              "its rows have %lld; write %lld or more", about->name, d, stride, row, row);
            if (step % align != 0)
                return REFUSE("the stride of dimension %d of %s is %lld elements of %s, %llu bytes, no multiple of "
                              "%llu; pad it to %llu elements and pass that as %s_stride[%d] [%s]", d, about->name,
                              stride, about->dtype, step, align, (step / align + 1) * align / element, about->name, d,
                              r->map ? "TMA-STR16" : "ALIGN");
        }
        if (r && r->whole_rows && bytes % align != 0)
            return REFUSE("rows of %s hold %lld elements of %s, which are no multiple of %llu bytes; pad them to %llu "
                          "elements", about->name, row, about->dtype, align, (bytes / align + 1) * align / element);
        if (!somewhere && !empty)
            somewhere = address & ~(uint64_t)127;
    }
    /* The map of an empty tensor lies where the first other tensor does: a load whose box is outside of its map touches
     * the map's address [H200], and a tensor of no elements need not have memory. What a box inside would bring, as the
     * map's extent is 1, no kernel uses: there is no such element. */
    for (int i = 0; i < tensor_count; i++)
        if (somewhere && is_empty(&tensor[i], (int)tensors[i].rank))
            tensor[i].address = somewhere;
    return target ? REFUSE("no variant takes these arguments") : gemm_bf16_OK;
}

