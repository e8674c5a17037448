//@ -- The words of a status: a function that kernels share, or the kernel's own.
//@ param host table
//@ local FUNCTION = host.shared and "status_words" or host.name .. "_strerror"
const char *${FUNCTION}(int status)
{
    static const char *const words[] = {
        "done", "an argument is refused", "CUDA driver not found", "CUDA driver is too old", "no current CUDA context",
        "no variant for this device", "NVRTC not found, or too old", "compilation failed", "out of memory",
        "CUDA driver call failed"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "unknown status";
}
