//@ -- Adding to memory that other blocks add to.

// In any order: sums differ by their rounding from run to run.
__device__ __forceinline__ void add_fp32(float *to, float x)
{
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory");
}
