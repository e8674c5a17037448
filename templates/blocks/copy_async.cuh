//@ -- cp.async of 16 bytes.
// Starts the copy of the first `bytes` of 16 bytes; the rest of them becomes zero.
__device__ __forceinline__ void copy_async(u32 destination, const void *source, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(bytes)
                 : "memory");
}
