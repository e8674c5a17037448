// c = a + scale * b
__global__ void add(const float *a, const float *b, float *c, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + scale * b[i];
}
