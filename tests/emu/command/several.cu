// Names: two functions of one name, one in a namespace, one that is not mangled.
template <typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
template __global__ void scale<float>(float *, float);
template __global__ void scale<int>(int *, int);
namespace tools {
__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
}
extern "C" __global__ void plain(int *x) { x[threadIdx.x] += WIDTH; }
