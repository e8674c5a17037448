//@ -- Failures, in words.
//@ param host table
//@ local T, STATIC = host.types, host.linkage
/* ---- failures -------------------------------------------------------------------------------------------------- */

COLD ${STATIC}int fail(struct ${T}_error *error, int status, int result, const char *format, ...)
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

//@ if not host.shared then
#define REFUSE(...) fail(error, ${T}_INVALID, 0, __VA_ARGS__)

//@ end
/* A driver call that failed; of its result the name and, where one can be told, what it comes from here. */
COLD ${STATIC}int driver_fault(struct ${T}_error *error, int result, const char *call, const char *of)
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
    const int status = i == 0 ? ${T}_NO_MEMORY : i < 3 ? ${T}_NO_CONTEXT : ${T}_DRIVER;
    return fail(error, status, result, "%s of %s failed with CUresult %d (%s)", call, of, result, names[i].name);
}

//@ if host.shared then
//@     include "host/words.c" host = host
//@ end
