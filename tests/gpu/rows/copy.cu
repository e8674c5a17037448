// A plain copy, what the rates of row programs are compared with: a block copies `each` times its threads of 16 bytes,
// all loads before the first store.
#ifndef EACH
#define EACH 4
#endif

extern "C" __global__ void __launch_bounds__(256) copy(const uint4 *from, uint4 *to, unsigned long long vectors)
{
    const unsigned long long first = (unsigned long long)blockIdx.x * 256 * EACH + threadIdx.x;
    uint4 x[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (first + i * 256 < vectors)
            x[i] = from[first + i * 256];
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (first + i * 256 < vectors)
            to[first + i * 256] = x[i];
}
