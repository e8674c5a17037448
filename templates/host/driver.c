//@ -- Failures, and the driver's entry points.
//@ param host table
//@ local NAME = host.name
/* ---- failures -------------------------------------------------------------------------------------------------- */

APART static int fail(struct ${NAME}_error *error, int status, int result, const char *format, ...)
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

APART static int driver_fault(struct ${NAME}_error *error, int result, const char *call, const char *of)
{
    enum { out_of_memory = 2, not_initialized = 3, no_context = 201 };
    int status = ${NAME}_DRIVER;
    if (result == out_of_memory)
        status = ${NAME}_NO_MEMORY;
    if (result == not_initialized || result == no_context)
        status = ${NAME}_NO_CONTEXT;
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
static int open_driver(struct ${NAME} *k, struct ${NAME}_error *error)
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
        return fail(error, ${NAME}_NO_DRIVER, 0, "no CUDA driver: the loader finds no libcuda.so.1");
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
//@ if host.debug then
    if (!find_symbol(k->library, "cuModuleGetGlobal_v2", &k->driver.module_global))
        missing = "cuModuleGetGlobal";
    if (!find_symbol(k->library, "cuMemcpyHtoD_v2", &k->driver.copy_to_device))
        missing = "cuMemcpyHtoD";
    if (!find_symbol(k->library, "cuMemHostAlloc", &k->driver.host_alloc))
        missing = "cuMemHostAlloc";
    if (!find_symbol(k->library, "cuMemFreeHost", &k->driver.host_free))
        missing = "cuMemFreeHost";
//@ end
//@ if host.tuned then
    find_symbol(k->library, "cuDeviceGetName", &k->driver.device_name);
//@ end
    find_symbol(k->library, "cuOccupancyMaxActiveClusters", &k->driver.max_active_clusters);
    find_symbol(k->library, "cuTensorMapEncodeTiled", &k->driver.encode_tiled);
//@ if host.windows then
    find_symbol(k->library, "cuTensorMapEncodeIm2col", &k->driver.encode_im2col);
//@ end
    if (missing)
        return fail(error, ${NAME}_OLD_DRIVER, 0, "the CUDA driver has no %s", missing);
    return ${NAME}_OK;
}

static int take_driver(struct ${NAME} *k, const struct ${NAME}_driver *driver, struct ${NAME}_error *error)
{
    k->driver = *driver;
    if (!driver->version || !driver->context_device || !driver->device_attribute || !driver->module_load ||
        !driver->module_unload || !driver->module_function || !driver->function_set || !driver->launch)
        return fail(error, ${NAME}_INVALID, 0, "the driver's table lacks an entry point; only max_active_clusters may be "
                                          "NULL, and encode_tiled where no tensor map is used");
//@ if host.debug then
    if (!driver->module_global || !driver->copy_to_device || !driver->host_alloc || !driver->host_free)
        return fail(error, ${NAME}_INVALID, 0, "the driver's table lacks an entry point that a debug build needs");
//@ end
    return ${NAME}_OK;
}
