//@ -- cp.async of 16 bytes. To the compiler it leaves memory as it is, so that what is read to find one tile need not
//@ -- be read again for the next: the stage that is written was last read before a meeting, and is read behind another.
// Starts the copy of the first `bytes` of 16 bytes; the rest of them becomes zero.
__device__ __forceinline__ void copy_async(u32 destination, const void *source, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(bytes));
}
