//@ -- Failures, and the driver's entry points.
//@ param host table
//@ local T, STATIC = host.types, host.linkage
/* ---- failures -------------------------------------------------------------------------------------------------- */

APART ${STATIC}int fail(struct ${T}_error *error, int status, int result, const char *format, ...)
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
        {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {3, "CUDA_ERROR_NOT_INITIALIZED: call cuInit, or cudaFree(0), before"},
        {4, "CUDA_ERROR_DEINITIALIZED: the program is at its end"},
        {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
        {201, "CUDA_ERROR_INVALID_CONTEXT: call cuCtxSetCurrent, or cudaSetDevice, in this thread before"},
        {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {218, "CUDA_ERROR_INVALID_PTX"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is older than the compiler"},
        {400, "CUDA_ERROR_INVALID_HANDLE: the stream is of another context, or gone"}, {500, "CUDA_ERROR_NOT_FOUND"},
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

APART ${STATIC}int driver_fault(struct ${T}_error *error, int result, const char *call, const char *of)
{
    enum { out_of_memory = 2, not_initialized = 3, no_context = 201 };
    int status = result == out_of_memory ? ${T}_NO_MEMORY : ${T}_DRIVER;
    if (result == not_initialized || result == no_context)
        status = ${T}_NO_CONTEXT;
    return fail(error, status, result, "%s of %s failed with CUresult %d (%s)", call, of, result,
                result_name(result));
}

${STATIC}const char *status_words(int status)
{
    static const char *const words[] = {
        "done", "an argument is refused", "CUDA driver not found", "CUDA driver is too old", "no current CUDA context",
        "no variant for this device", "NVRTC not found, or too old", "compilation failed", "out of memory",
        "CUDA driver call failed"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "unknown status";
}

/* ---- load: the driver -------------------------------------------------------------------------------------------- */

struct entry {
    const char *name;
    int optional;
};

/* Functions by name, into pointers that lie one behind the other. POSIX: a function's address is as a void *. */
static void find_symbols(void *library, const struct entry *entry, size_t count, void *functions)
{
    size_t i;
    for (i = 0; i < count; i++) {
        void *symbol = dlsym(library, entry[i].name);
        memcpy((unsigned char *)functions + i * sizeof symbol, &symbol, sizeof symbol);
    }
}

/* The first of those pointers that must be there and is not; NULL: none. */
static const char *missing_symbol(const struct entry *entry, size_t count, const void *functions)
{
    void *symbol;
    size_t i;
    for (i = 0; i < count; i++) {
        memcpy(&symbol, (const unsigned char *)functions + i * sizeof symbol, sizeof symbol);
        if (!symbol && !entry[i].optional)
            return entry[i].name;
    }
    return NULL;
}

/* Opens the driver, or takes the caller's table. Beside the loader's own search: containers, NixOS and WSL keep the
 * driver where no cache lists it. */
static int open_driver(struct ${T}_state *k, const struct ${T}_driver *driver, struct ${T}_error *error)
{
    static const struct entry calls[] = { /* the members of ${T}_driver */
        {"cuDriverGetVersion", 0}, {"cuCtxGetDevice", 0}, {"cuDeviceGetAttribute", 0}, {"cuModuleLoadData", 0},
        {"cuModuleUnload", 0}, {"cuModuleGetFunction", 0}, {"cuFuncSetAttribute", 0},
        {"cuOccupancyMaxActiveClusters", 1}, {"cuLaunchKernelEx", 0}, {"cuTensorMapEncodeTiled", 1},
//@ if host.part.debug then
        {"cuModuleGetGlobal_v2", 0}, {"cuMemcpyHtoD_v2", 0}, {"cuMemHostAlloc", 0}, {"cuMemFreeHost", 0},
//@ end
//@ if host.part.tuned then
        {"cuDeviceGetName", 1},
//@ end
//@ if host.part.windows then
        {"cuTensorMapEncodeIm2col", 1},
//@ end
    };
    static const char *const files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/run/opengl-driver/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    const char *missing;
    size_t i, count = sizeof calls / sizeof *calls;
    if (driver) {
        k->driver = *driver;
        missing = missing_symbol(calls, count, &k->driver);
        return !missing ? ${T}_OK
                        : fail(error, ${T}_INVALID, 0, "the driver's table lacks an entry point, %s; only "
                               "max_active_clusters may be NULL, and encoders where no tensor map is used", missing);
    }
    for (i = 0; i < sizeof files / sizeof *files && !k->library; i++)
        k->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!k->library)
        return fail(error, ${T}_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
    find_symbols(k->library, calls, count, &k->driver);
    missing = missing_symbol(calls, count, &k->driver);
    return !missing ? ${T}_OK : fail(error, ${T}_OLD_DRIVER, 0, "the CUDA driver has no %s", missing);
}
