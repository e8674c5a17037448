extern "C" __global__ void unknown(int *x)
{
    int y = x[threadIdx.x];
#ifdef TCGEN
    asm volatile("tcgen05.fence::before_thread_sync;");
#else
    asm volatile("frobnicate.b32 %0, %0;" : "+r"(y));
#endif
    x[threadIdx.x] = y;
}
