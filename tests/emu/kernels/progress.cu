// Lanes of a warp that wait for each other: every one must go on, wherever the others are.

// The lock as many write it: the loop waits, the critical section lies behind it.
extern "C" __global__ void lock_behind_loop(int *lock, volatile int *counter)
{
    while (atomicCAS(lock, 0, 1) != 0)
        __nanosleep(20);
    __threadfence();
    *counter = *counter + 3;
    __threadfence();
    atomicExch(lock, 0);
}

// One lane waits in a loop for what another lane of its warp writes later.
extern "C" __global__ void lane_waits_for_lane(volatile int *flag, int *out)
{
    if (threadIdx.x % 2 == 0) {
        while (flag[threadIdx.x / 2] == 0)
            ;
        out[threadIdx.x] = flag[threadIdx.x / 2];
    } else {
        out[threadIdx.x] = 1;
        flag[threadIdx.x / 2] = threadIdx.x * 5;
    }
}

// The lanes take turns, the highest first.
extern "C" __global__ void lanes_in_reverse(int *turn, int *order)
{
    int lane = threadIdx.x;
    volatile int *now = turn;
    while (*now != 31 - lane)
        ;
    order[*now] = lane * lane;
    __threadfence();
    *now = *now + 1;
}

// A lock with growing pauses, by all lanes of several warps, in a function that is called.
__device__ __noinline__ void acquire(unsigned *lock)
{
    unsigned ns = 8;
    while (atomicExch(lock, 1u) != 0) {
        __nanosleep(ns);
        if (ns < 256)
            ns *= 2;
    }
    __threadfence();
}

__device__ __noinline__ void release(unsigned *lock)
{
    __threadfence();
    atomicExch(lock, 0u);
}

extern "C" __global__ void lock_in_functions(unsigned *lock, unsigned *value)
{
    if (threadIdx.x % 3 != 1) {
        acquire(lock);
        *value = *value + threadIdx.x;
        release(lock);
    }
}

// Lanes that come to the same function by unlike ways meet in it.
__device__ __noinline__ int exchange(int value)
{
    return __shfl_xor_sync(0xffffffffu, value, 17) * 3;
}

extern "C" __global__ void meet_in_function(const int *in, int *out)
{
    int lane = threadIdx.x % 32, other = threadIdx.x ^ 17, v = in[threadIdx.x], r;
    if (lane < 16)
        r = exchange(v + 1) + 5;
    else
        r = exchange(v * 2) - 5;
    out[threadIdx.x] = r - (lane < 16 ? in[other] * 2 * 3 + 5 : (in[other] + 1) * 3 - 5);
}
