// Locks, queues, barriers between blocks, warps with roles, lanes that leave early.
#define FULL 0xffffffffu

// The lock that a warp's own lanes fight for: only one of them gets it, the others must let it go on.
extern "C" __global__ void lock_lanes(unsigned *lock, unsigned *counter, unsigned *order)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0u, 1u) == 0) {
            unsigned n = *(volatile unsigned *)counter;
            *(volatile unsigned *)counter = n + 1;
            order[n] = 1;
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
}

// No sleep, no fence instruction in the loop; acquire and release by asm.
extern "C" __global__ void lock_no_backoff(int *lock, int *counter)
{
    if (threadIdx.x % 32 == 0) {
        int old;
        do
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
        while (old);
        *counter += (int)threadIdx.x;
        asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(lock), "r"(0) : "memory");
    }
}

extern "C" __global__ void lock_ticket(unsigned *tickets, volatile unsigned *serving, unsigned *value)
{
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(tickets, 1);
        while (*serving != mine)
            ;
        __threadfence();
        *(volatile unsigned *)value = *(volatile unsigned *)value * 3 + 1;
        __threadfence();
        *serving = mine + 1;
    }
}

// All blocks of the grid wait for each other, several times. All must be resident.
__device__ void grid_wait(unsigned *count, volatile unsigned *generation)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = *generation;
        __threadfence();
        if (atomicAdd(count, 1) == gridDim.x - 1) {
            *count = 0;
            __threadfence();
            *generation = now + 1;
        } else {
            while (*generation == now)
                ;
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void grid_barrier(int *data, unsigned *count, unsigned *generation, int rounds)
{
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    int *from = data, *to = data + n;
    for (int r = 0; r < rounds; r++) {
        to[i] = from[(i + blockDim.x + 1) % n] + r;
        grid_wait(count, generation);
        int *t = from;
        from = to;
        to = t;
    }
}

// Blocks take work from a queue in global memory and put new work there.
extern "C" __global__ void work_queue(unsigned *queue, unsigned *head, unsigned *tail, unsigned *pending,
                                      unsigned *result)
{
    __shared__ unsigned item;
    for (;;) {
        if (threadIdx.x == 0) {
            unsigned got = 0;
            while (!got && *(volatile unsigned *)pending) {
                unsigned h = *(volatile unsigned *)head;
                if (h < *(volatile unsigned *)tail && atomicCAS(head, h, h + 1) == h)
                    while ((got = ((volatile unsigned *)queue)[h]) == 0)
                        ;
            }
            __threadfence();
            item = got;
        }
        __syncthreads();
        unsigned n = item;
        __syncthreads();
        if (!n)
            return;
        atomicAdd(&result[threadIdx.x % 4], n * (threadIdx.x + 1));
        if (threadIdx.x == 0) {
            unsigned children = n > 1 ? 2 : 0;
            atomicAdd(pending, children);
            for (unsigned c = 0; c < children; c++) {
                unsigned at = atomicAdd(tail, 1);
                __threadfence();
                ((volatile unsigned *)queue)[at] = n - 1;
            }
            __threadfence();
            atomicSub(pending, 1);
        }
    }
}

// Producer and consumer warps with named barriers: 64 threads fill, 64 empty, two buffers.
extern "C" __global__ void named_barriers(const int *in, int *out, int tiles)
{
    __shared__ int buffer[2][64];
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < tiles; i++) {
            if (i >= 2)
                asm volatile("bar.sync %0, 128;" ::"r"(3 + i % 2) : "memory");
            buffer[i % 2][t] = in[i * 64 + t] * 2;
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + i % 2) : "memory");
        }
    } else {
        for (int i = 0; i < tiles; i++) {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + i % 2) : "memory");
            out[i * 64 + t] = buffer[i % 2][63 - t] + 1;
            if (i + 2 < tiles)
                asm volatile("bar.arrive %0, 128;" ::"r"(3 + i % 2) : "memory");
        }
    }
}

// Threads behind the end leave before the barrier, as many kernels have it.
extern "C" __global__ void early_return(const int *in, int *out, int n)
{
    __shared__ int s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = 0;
    __syncthreads();
    if (i >= n)
        return;
    s[threadIdx.x] = in[i];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 128; k++)
        sum += s[k];
    out[i] = sum;
}

// Halves of a warp that meet among themselves.
extern "C" __global__ void halves_meet(const int *in, int *out)
{
    __shared__ int s[64];
    int lane = threadIdx.x % 32, mask = lane < 16 ? 0x0000ffff : 0xffff0000;
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    if (lane < 16) {
        __syncwarp(mask);
        out[threadIdx.x] = s[threadIdx.x ^ 15];
        __syncwarp(mask);
        s[threadIdx.x] = 100 + __shfl_xor_sync(0x0000ffff, lane, 3);
    } else {
        for (int d = 8; d; d /= 2) {
            int v = s[threadIdx.x ^ d];
            __syncwarp(mask);
            s[threadIdx.x] += v;
            __syncwarp(mask);
        }
        out[threadIdx.x] = s[threadIdx.x];
    }
    __syncwarp();
    out[threadIdx.x] += s[threadIdx.x ^ 31] * 1000;
}

// Blocks hand a token round in the opposite order of their numbers.
extern "C" __global__ void blocks_in_reverse(volatile int *token, int *order)
{
    if (threadIdx.x == 0) {
        while (*token != (int)(gridDim.x - 1 - blockIdx.x))
            ;
        __threadfence();
        order[*token] = blockIdx.x;
        __threadfence();
        *token = *token + 1;
    }
}
