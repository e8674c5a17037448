// Planted faults, one for each word: what the program is told of them, and its status is 0 all the same.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void reverse(int *x)
{
    extern __shared__ int held[];
    held[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x]; // the race: nobody waits
}

__global__ void behind(int *x)
{
    x[threadIdx.x + 40] = 1; // the bounds
}

__global__ void stop(int *x)
{
    assert(x[threadIdx.x] == 0 && "planted");
}

int main(int argc, char **argv)
{
    int *x;
    const char *word = argc > 1 ? argv[1] : "";
    cudaMalloc(&x, 64 * sizeof *x);
    cudaMemset(x, strcmp(word, "assert") == 0, 64 * sizeof *x);
    if (strcmp(word, "race") == 0)
        reverse<<<1, 64, 64 * sizeof *x>>>(x);
    else if (strcmp(word, "bounds") == 0)
        behind<<<1, 64>>>(x);
    else if (strcmp(word, "assert") == 0)
        stop<<<1, 64>>>(x);
    else
        reverse<<<1, 1, 64 * sizeof *x>>>(x);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s\n", cudaGetErrorName(cudaMemset(x, 0, 4)));
    cudaDeviceReset();
    printf("%s\n", cudaGetErrorName(cudaMemset(x, 0, 4)));
    return 0;
}
