// tilewright 1: kernel rms_norm, entry rms_norm, arch sm_90a
// 16 bytes of shared memory, 128 threads

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 56 bytes, as the host packs it. Strides are in elements.
struct arguments {
    const unsigned short *x; // byte 0
    unsigned short *y; // byte 8
    const unsigned short *w; // byte 16
    i64 x_stride0; // byte 24
    i64 y_stride0; // byte 32
    int R; // byte 40
    int C; // byte 44
    float eps; // byte 48
};

extern __shared__ __align__(16) unsigned char shared_memory[];

__device__ __forceinline__ float from_bf16(u16 x)
{
    return __uint_as_float((u32)x << 16);
}

// Two neighbours in one word, the first in the low half.
__device__ __forceinline__ u32 pack_bf16(float first, float second)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}

__device__ __forceinline__ float element_bf16(unsigned short x)
{
    return from_bf16(x);
}

__device__ __forceinline__ float ew_rsqrt(float x)
{
    return rsqrtf(x);
}

// 8 of bf16.
struct alignas(16) bf16_vector {
    u32 word[4];
};

__device__ __forceinline__ float bf16_element(const bf16_vector &v, int e)
{
    return element_bf16((unsigned short)(v.word[e / 2] >> e % 2 * 16));
}

// From values, rounded.
__device__ __forceinline__ bf16_vector bf16_join(const float (&x)[8])
{
    bf16_vector v;
    #pragma unroll
    for (int w = 0; w < 4; ++w)
        v.word[w] = pack_bf16(x[2 * w], x[2 * w + 1]);
    return v;
}

// Zeros outside. Volatile: an asm that only computes may be moved in front of its condition.
__device__ __forceinline__ bf16_vector bf16_load(const unsigned short *from, bool inside)
{
    bf16_vector v = {};
    if (inside) {
        asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                     "=r"(v.word[3]) : "l"(from));
    }
    return v;
}

// Zeros outside. Volatile: an asm that only computes may be moved in front of its condition.
__device__ __forceinline__ bf16_vector bf16_load_once(const unsigned short *from, bool inside)
{
    bf16_vector v = {};
    if (inside) {
        asm volatile("ld.global.cs.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]),
                     "=r"(v.word[2]), "=r"(v.word[3]) : "l"(from));
    }
    return v;
}

__device__ __forceinline__ void bf16_store(unsigned short *to, const bf16_vector &v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
                 "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

__device__ __forceinline__ float fold_sum(float a, float b)
{
    return a + b;
}

extern "C" __global__ void __launch_bounds__(128) rms_norm(const __grid_constant__ arguments args)
{
    // Tiles of 1 x 1024: a thread has one row, of each one vector.
    const int column0 = threadIdx.x * 8;

    const i64 at_r = (i64)blockIdx.x;

    float sum;
    bf16_vector x_kept[8];
    bf16_vector x;
    bf16_vector x_next;
    bf16_vector w;
    bf16_vector x_2;
    bf16_vector x_next_2;
    bf16_vector w_2;
    bf16_vector w_next;

    // set sum
    {
        sum = 0.0f;
    }

    #pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
        const i64 at_sum = turn * 1024;
        if (at_sum >= args.C)
            break;
        // load x
        {
            const int k0 = args.C - at_sum;
            const unsigned short *const first = args.x + at_r * args.x_stride0 + at_sum;
            const int column = column0;
            const bool k1 = column < k0;
            x_kept[turn] = bf16_load_once(first + column, k1);
        }
    }

    #pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
        const i64 at_sum = turn * 1024;
        if (at_sum >= args.C)
            break;
        // fold sum
        {
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                const float v0 = bf16_element(x_kept[turn], e) * bf16_element(x_kept[turn], e);
                sum = fold_sum(sum, v0);
            }
        }
    }

    // load x
    {
        const bool k0 = 8192 < args.C;
        const int k1 = args.C - 8192;
        const unsigned short *const first = args.x + at_r * args.x_stride0 + 8192;
        const int column = column0;
        const bool k2 = column < k1;
        const bool k3 = k2 && k0;
        x_next = bf16_load(first + column, k3);
    }

    #pragma unroll 1
    for (i64 at_sum = 8192; at_sum < args.C; at_sum += 1024) {
        // set x
        {
            x = x_next;
        }

        // load x
        {
            const int k0 = at_sum + 1024;
            const bool k1 = k0 < args.C;
            const int k2 = args.C - k0;
            const unsigned short *const first = args.x + at_r * args.x_stride0 + k0;
            const int column = column0;
            const bool k3 = column < k2;
            const bool k4 = k3 && k1;
            x_next = bf16_load(first + column, k4);
        }

        // fold sum
        {
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                const float v0 = bf16_element(x, e) * bf16_element(x, e);
                sum = fold_sum(sum, v0);
            }
        }
    }

    #pragma unroll
    for (int lane = 1; lane < 32; lane *= 2) {
        sum = fold_sum(sum, __shfl_xor_sync(~0u, sum, lane));
    }

    if (threadIdx.x % 32 == 0) {
        float *const parts = (float *)(shared_memory) + threadIdx.x / 32;
        parts[0] = sum;
    }

    __syncthreads();

    {
        const float *const parts = (const float *)(shared_memory);
        sum = parts[0];
        #pragma unroll
        for (int group = 1; group < 4; ++group)
            sum = fold_sum(sum, parts[group]);
    }

    #pragma unroll
    for (int turn = 0; turn < 8; ++turn) {
        const i64 at_sum = turn * 1024;
        if (at_sum >= args.C)
            break;
        // load w
        {
            const int k0 = args.C - at_sum;
            const unsigned short *const first = args.w + at_sum;
            const int column = column0;
            const bool k1 = column < k0;
            w = bf16_load(first + column, k1);
        }

        // store y
        {
            const int k0 = args.C - at_sum;
            const float v0 = sum / (float)args.C;
            const float v1 = v0 + args.eps;
            const float v2 = ew_rsqrt(v1);
            unsigned short *const first = args.y + at_r * args.y_stride0 + at_sum;
            const int column = column0;
            const bool k1 = column < k0;
            float part[8];
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                const float v3 = bf16_element(x_kept[turn], e) * v2;
                const float v4 = v3 * bf16_element(w, e);
                part[e] = v4;
            }
            if (k1)
                bf16_store(first + column, bf16_join(part));
        }
    }

    // load x
    {
        const bool k0 = 8192 < args.C;
        const int k1 = args.C - 8192;
        const unsigned short *const first = args.x + at_r * args.x_stride0 + 8192;
        const int column = column0;
        const bool k2 = column < k1;
        const bool k3 = k2 && k0;
        x_next_2 = bf16_load(first + column, k3);
    }

    // load w
    {
        const bool k0 = 8192 < args.C;
        const int k1 = args.C - 8192;
        const unsigned short *const first = args.w + 8192;
        const int column = column0;
        const bool k2 = column < k1;
        const bool k3 = k2 && k0;
        w_next = bf16_load(first + column, k3);
    }

    #pragma unroll 1
    for (i64 at_sum = 8192; at_sum < args.C; at_sum += 1024) {
        // set x_2
        {
            x_2 = x_next_2;
        }

        // set w_2
        {
            w_2 = w_next;
        }

        // load x
        {
            const int k0 = at_sum + 1024;
            const bool k1 = k0 < args.C;
            const int k2 = args.C - k0;
            const unsigned short *const first = args.x + at_r * args.x_stride0 + k0;
            const int column = column0;
            const bool k3 = column < k2;
            const bool k4 = k3 && k1;
            x_next_2 = bf16_load(first + column, k4);
        }

        // load w
        {
            const int k0 = at_sum + 1024;
            const bool k1 = k0 < args.C;
            const int k2 = args.C - k0;
            const unsigned short *const first = args.w + k0;
            const int column = column0;
            const bool k3 = column < k2;
            const bool k4 = k3 && k1;
            w_next = bf16_load(first + column, k4);
        }

        // store y
        {
            const int k0 = args.C - at_sum;
            const float v0 = sum / (float)args.C;
            const float v1 = v0 + args.eps;
            const float v2 = ew_rsqrt(v1);
            unsigned short *const first = args.y + at_r * args.y_stride0 + at_sum;
            const int column = column0;
            const bool k1 = column < k0;
            float part[8];
            #pragma unroll
            for (int e = 0; e < 8; ++e) {
                const float v3 = bf16_element(x_2, e) * v2;
                const float v4 = v3 * bf16_element(w_2, e);
                part[e] = v4;
            }
            if (k1)
                bf16_store(first + column, bf16_join(part));
        }
    }
}
