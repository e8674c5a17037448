// Reductions: through shared memory, shuffles, redux, atomics; the last block finishes.
#define FULL 0xffffffffu

template <typename T, typename F> __device__ T warp_reduce(T value, F combine)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value = combine(value, __shfl_down_sync(FULL, value, offset));
    return value;
}

template <int THREADS, typename T, typename F> __device__ T block_reduce(T value, T identity, F combine)
{
    __shared__ T partial[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_reduce(value, combine);
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    value = threadIdx.x < THREADS / 32 ? partial[lane] : identity;
    if (warp == 0)
        value = warp_reduce(value, combine);
    return value;
}

// The oldest way there is: a tree in shared memory, the last warp without barriers, volatile.
extern "C" __global__ void sum_tree(const int *in, int *out, int n)
{
    extern __shared__ int data[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + tid;
    int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n)
        sum += in[i + blockDim.x];
    data[tid] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            data[tid] = sum = sum + data[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        sum += data[tid + 32];
        for (int offset = 16; offset; offset >>= 1)
            sum += __shfl_xor_sync(FULL, sum, offset);
    }
    if (tid == 0)
        out[blockIdx.x] = sum;
}

extern "C" __global__ void sum_float(const float *in, float *out, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    sum = block_reduce<256>(sum, 0.0f, [](float a, float b) { return a + b; });
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int n)
{
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += a[i] * b[i];
    sum = block_reduce<128>(sum, 0.0, [](double x, double y) { return x + y; });
    if (threadIdx.x == 0)
        *out = sum;
}

extern "C" __global__ void redux_all(const unsigned *in, unsigned *out)
{
    unsigned v = in[threadIdx.x], *o = out + threadIdx.x * 8;
    o[0] = __reduce_add_sync(FULL, v);
    o[1] = __reduce_min_sync(FULL, v);
    o[2] = __reduce_max_sync(FULL, (int)v);
    o[3] = __reduce_min_sync(FULL, (int)v);
    o[4] = __reduce_and_sync(FULL, v | 0x10);
    o[5] = __reduce_or_sync(FULL, v);
    o[6] = __reduce_xor_sync(FULL, v);
    o[7] = 0;
    if (threadIdx.x % 3 == 1) {
        unsigned mask = __activemask();
        o[7] = __reduce_add_sync(mask, v);
    }
}

struct best {
    float value;
    int index;
};

__device__ best better(best a, best b)
{
    return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
}

extern "C" __global__ void argmax_rows(const float *in, int *out, float *most, int columns)
{
    __shared__ best partial[8];
    const float *row = in + blockIdx.x * columns;
    best mine = {-3.4e38f, 0x7fffffff};
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        mine = better(mine, best{row[i], i});
    for (int offset = 16; offset; offset /= 2) {
        best other = {__shfl_down_sync(FULL, mine.value, offset), __shfl_down_sync(FULL, mine.index, offset)};
        mine = better(mine, other);
    }
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            mine = better(mine, partial[w]);
        out[blockIdx.x] = mine.index;
        most[blockIdx.x] = mine.value;
    }
}

__device__ unsigned blocks_done = 0;

// All blocks add to their own slot; the last one to finish adds the slots.
extern "C" __global__ void sum_last_block(const int *in, volatile long long *slots, long long *out, int n)
{
    __shared__ bool last;
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += (long long)in[i] * in[i];
    sum = block_reduce<128>(sum, 0ll, [](long long a, long long b) { return a + b; });
    if (threadIdx.x == 0) {
        slots[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        long long total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += slots[b];
        *out = total;
    }
}

// Mean and variance in one pass (Welford), merged across lanes.
extern "C" __global__ void mean_variance(const float *in, float *out, int n)
{
    float mean = 0, m2 = 0, count = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float d = in[i] - mean;
        count += 1;
        mean += d / count;
        m2 += d * (in[i] - mean);
    }
    for (int offset = 1; offset < 32; offset *= 2) {
        float mean2 = __shfl_xor_sync(FULL, mean, offset), m22 = __shfl_xor_sync(FULL, m2, offset);
        float count2 = __shfl_xor_sync(FULL, count, offset), total = count + count2, d = mean2 - mean;
        if (total > 0) {
            mean += d * (count2 / total);
            m2 += m22 + d * d * (count * count2 / total);
        }
        count = total;
    }
    if (threadIdx.x == 0) {
        out[0] = mean;
        out[1] = m2 / count;
    }
}

// bar.red: how many threads of the block, any, all.
extern "C" __global__ void barrier_votes(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int many = __syncthreads_count(in[i] > 0), any = __syncthreads_or(in[i] == 7), all = __syncthreads_and(in[i] > -9);
    out[i] = many * 4 + (any ? 2 : 0) + (all ? 1 : 0);
}
