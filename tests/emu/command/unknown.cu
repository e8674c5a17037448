extern "C" __global__ void unknown(int *x)
{
    int y = x[threadIdx.x];
#ifdef TCGEN
    asm volatile(TCGEN ::"r"(y));
#else
    asm volatile("frobnicate.b32 %0, %0;" : "+r"(y));
#endif
    x[threadIdx.x] = y;
}
