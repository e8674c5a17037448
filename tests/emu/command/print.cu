#include <cstdio>
extern "C" __global__ void hello(int n) { printf("thread %d of %d\n", threadIdx.x, n); }
