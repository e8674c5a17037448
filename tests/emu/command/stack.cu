extern "C" __global__ void k(int *x, int n)
{
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = x[i];
    x[64 + threadIdx.x] = a[n & 63] + a[(n + threadIdx.x) & 63];
}
