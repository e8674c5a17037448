template <class T> concept small = sizeof(T) <= 4; // C++20

template <small T> int twice(T x) // without an execution space: -default-device
{
    return x + x;
}

extern "C" __global__ void k(int *x)
{
    x[threadIdx.x] = twice(threadIdx.x);
}
