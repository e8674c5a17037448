// Prefix sums, compaction and what is made of them.
#define FULL 0xffffffffu

__device__ int scan_warp(int v)
{
    int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int t = __shfl_up_sync(FULL, v, d);
        if (lane >= d)
            v += t;
    }
    return v;
}

__device__ int scan_block(int v, int *total)
{
    __shared__ int sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = scan_warp(v);
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < (blockDim.x + 31) / 32 ? sums[lane] : 0;
        sums[lane] = scan_warp(s);
    }
    __syncthreads();
    if (warp)
        v += sums[warp - 1];
    *total = sums[(blockDim.x + 31) / 32 - 1];
    __syncthreads();
    return v;
}

extern "C" __global__ void scan_inclusive(const int *in, int *out)
{
    int total, i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = scan_block(in[i], &total);
}

extern "C" __global__ void scan_hillis_steele(const int *in, int *out)
{
    extern __shared__ int two[];
    int n = blockDim.x, tid = threadIdx.x, from = 0;
    two[tid] = tid ? in[tid - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        int to = 1 - from;
        two[to * n + tid] = two[from * n + tid] + (tid >= offset ? two[from * n + tid - offset] : 0);
        from = to;
        __syncthreads();
    }
    out[tid] = two[from * n + tid];
}

// Up and down a tree, with padding against bank conflicts.
extern "C" __global__ void scan_blelloch(const int *in, int *out)
{
#define AT(i) ((i) + ((i) >> 5))
    __shared__ int t[AT(512) + 1];
    int tid = threadIdx.x, n = blockDim.x * 2, offset = 1;
    t[AT(2 * tid)] = in[2 * tid];
    t[AT(2 * tid + 1)] = in[2 * tid + 1];
    for (int d = n >> 1; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (tid < d)
            t[AT(offset * (2 * tid + 2) - 1)] += t[AT(offset * (2 * tid + 1) - 1)];
    }
    if (tid == 0)
        t[AT(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = AT(offset * (2 * tid + 1) - 1), b = AT(offset * (2 * tid + 2) - 1), x = t[a];
            t[a] = t[b];
            t[b] += x;
        }
    }
    __syncthreads();
    out[2 * tid] = t[AT(2 * tid)];
    out[2 * tid + 1] = t[AT(2 * tid + 1)];
}

// One pass over all blocks: a block waits for the sum of those before it (decoupled look-back).
extern "C" __global__ void scan_look_back(const int *in, int *out, unsigned long long *states, unsigned *ticket)
{
    __shared__ int tile, before;
    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1);
    __syncthreads();
    int total, i = tile * blockDim.x + threadIdx.x, v = scan_block(in[i], &total);
    if (threadIdx.x == 0) {
        int sum = 0;
        volatile unsigned long long *s = states;
        if (tile > 0) {
            s[tile] = 1ull << 32 | (unsigned)total;
            for (int t = tile - 1;; t--) {
                unsigned long long word;
                do
                    word = s[t];
                while (word >> 32 == 0);
                sum += (int)(unsigned)word;
                if (word >> 32 == 2)
                    break;
            }
        }
        __threadfence();
        s[tile] = 2ull << 32 | (unsigned)(sum + total);
        before = sum;
    }
    __syncthreads();
    out[i] = v + before;
}

// Keep the elements that pass, in order, by ballot and popc.
extern "C" __global__ void compact(const int *in, int *out, int *count, int n)
{
    __shared__ int warps[8], base;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        base = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        int i = start + threadIdx.x, v = i < n ? in[i] : 0;
        bool keep = i < n && v > 0;
        unsigned bits = __ballot_sync(FULL, keep);
        if (lane == 0)
            warps[warp] = __popc(bits);
        __syncthreads();
        int at = base;
        for (int w = 0; w < warp; w++)
            at += warps[w];
        if (keep)
            out[at + __popc(bits & ((1u << lane) - 1))] = v;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1)
            base = at + warps[warp];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *count = base;
}

extern "C" __global__ void scan_segmented(const float *in, const int *heads, float *out)
{
    int lane = threadIdx.x & 31, i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    unsigned starts = __ballot_sync(FULL, heads[i] > 5) | 1u;
    int start = 31 - __clz(starts & (FULL >> (31 - lane)));
    for (int d = 1; d < 32; d <<= 1) {
        float t = __shfl_up_sync(FULL, v, d);
        if (lane - d >= start)
            v += t;
    }
    out[i] = v;
}

struct pair {
    int sum, most;
};

// Scan of a struct with an operator of its own: the largest sum of neighbours that ends here.
extern "C" __global__ void scan_largest_run(const int *in, int *out)
{
    __shared__ pair s[128];
    int tid = threadIdx.x;
    s[tid] = {in[tid], in[tid] > 0 ? in[tid] : 0};
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        pair b = s[tid], a = tid >= d ? s[tid - d] : pair{0, 0};
        __syncthreads();
        s[tid] = {a.sum + b.sum, max(b.most, a.most + b.sum)};
    }
    out[tid] = s[tid].most;
}
