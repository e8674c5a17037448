// Atomic operations of every kind, and histograms.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define FULL 0xffffffffu

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i])
            atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void histogram_match(const unsigned *in, unsigned *bins, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned bin = in[i] % 13, peers = __match_any_sync(__activemask(), bin);
        if (__ffs(peers) - 1 == threadIdx.x % 32)
            atomicAdd(&bins[bin], __popc(peers));
    }
}

// The lanes that come here together send one atomic and share the result.
__device__ int add_together(int *counter)
{
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1, lane = threadIdx.x % 32, old = 0;
    if (lane == leader)
        old = atomicAdd(counter, __popc(mask));
    old = __shfl_sync(mask, old, leader);
    return old + __popc(mask & ((1u << lane) - 1));
}

extern "C" __global__ void aggregated(const int *in, int *counter, int *seen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 3 == 0)
        atomicAdd(&seen[add_together(counter)], 1);
}

extern "C" __global__ void all_32(const unsigned *in, unsigned *u, int *s)
{
    unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];
    int x = (int)v;
    atomicAdd(&u[0], v);
    atomicSub(&u[1], v);
    atomicMin(&u[2], v);
    atomicMax(&u[3], v);
    atomicAnd(&u[4], v | 0xff);
    atomicOr(&u[5], v & 0xf0f0);
    atomicXor(&u[6], v);
    atomicInc(&u[7], 37);
    atomicDec(&u[8], 41);
    atomicMin(&s[0], x);
    atomicMax(&s[1], x);
    atomicAdd(&s[2], x);
    if (blockIdx.x == 1)
        atomicAdd_block((unsigned *)&s[3], 1u);
    atomicAdd_system(&s[4], 2);
    atomicExch(&s[5], 77);
    atomicCAS(&s[6], 0, 5);
}

extern "C" __global__ void all_64(const unsigned long long *in, unsigned long long *u, long long *s)
{
    unsigned long long v = in[blockIdx.x * blockDim.x + threadIdx.x];
    long long x = (long long)v;
    atomicAdd(&u[0], v);
    atomicMin(&u[1], v);
    atomicMax(&u[2], v);
    atomicAnd(&u[3], v | 0xff00ff);
    atomicOr(&u[4], v & 0xf0f00000f0f0ull);
    atomicXor(&u[5], v);
    atomicMin(&s[0], x);
    atomicMax(&s[1], x);
    atomicExch(&u[6], 123456789012345ull);
    atomicCAS(&u[7], 0ull, 99ull);
}

// What the operations return: a ticket each, so the sum of what came back is known.
extern "C" __global__ void returned(unsigned *counters, unsigned long long *sums)
{
    __shared__ unsigned local;
    if (threadIdx.x == 0)
        local = 0;
    __syncthreads();
    atomicAdd(&sums[0], (unsigned long long)atomicAdd(&counters[0], 1));
    atomicAdd(&sums[1], (unsigned long long)atomicInc(&counters[1], 9));
    atomicAdd(&sums[2], (unsigned long long)atomicAdd(&local, 3));
    atomicAdd(&sums[3], (unsigned long long)atomicExch(&counters[2], 1));
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&sums[4], (unsigned long long)local);
}

__device__ float atomic_max_float(float *at, float value)
{
    int *bits = (int *)at, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __float_as_int(fmaxf(value, __int_as_float(seen))));
    } while (seen != old);
    return __int_as_float(old);
}

__device__ double atomic_mul_double(double *at, double value)
{
    unsigned long long *bits = (unsigned long long *)at, old = *bits, seen;
    do {
        seen = old;
        old = atomicCAS(bits, seen, __double_as_longlong(value * __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}

// Integer values: whatever the order, the sums are exact.
extern "C" __global__ void floats(const float *in, float *f, double *d)
{
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&f[0], v);
    atomic_max_float(&f[1], v);
    atomicAdd(&d[0], (double)v);
    atomic_mul_double(&d[1], v > 0 ? 2.0 : 0.5);
    __shared__ float s;
    __shared__ double t;
    if (threadIdx.x == 0)
        s = 0, t = 0;
    __syncthreads();
    atomicAdd(&s, v);
    atomicAdd(&t, (double)v);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&f[2], s);
        atomicAdd(&d[2], t);
    }
}

extern "C" __global__ void halves(const float *in, __half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2)
{
    float v = in[threadIdx.x];
    atomicAdd(h, __float2half(v));
    atomicAdd(h2, __floats2half2_rn(v, -v));
    atomicAdd(b, __float2bfloat16(v > 0 ? 1.0f : 0.0f));
    atomicAdd(b2, __floats2bfloat162_rn(v > 2 ? 1.0f : 0.0f, 1.0f));
}

// 16-bit compare and swap on both halves of a word.
extern "C" __global__ void cas_16(unsigned short *counters)
{
    unsigned short *at = counters + threadIdx.x % 4, old = *(volatile unsigned short *)at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, (unsigned short)(seen + 1));
    } while (old != seen);
}

// A hash table with open addressing: every key once, counted.
extern "C" __global__ void hash_table(const unsigned *keys, unsigned *table, unsigned *counts, unsigned *distinct,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned key = keys[i] % 97 + 1, slot = key * 2654435761u >> 24;
    for (;;) {
        unsigned old = atomicCAS(&table[slot], 0u, key);
        if (old == 0)
            atomicAdd(distinct, 1);
        if (old == 0 || old == key) {
            atomicAdd(&counts[key], 1);
            return;
        }
        slot = (slot + 1) & 255;
    }
}
