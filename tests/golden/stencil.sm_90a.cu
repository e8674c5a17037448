// tilewright 1: kernel stencil, entry stencil, arch sm_90a
// 0 bytes of shared memory, 128 threads

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 48 bytes, as the host packs it. Strides are in elements.
struct arguments {
    const float *x; // byte 0
    float *y; // byte 8
    i64 x_stride0; // byte 16
    i64 y_stride0; // byte 24
    int R; // byte 32
    int C; // byte 36
    float a; // byte 40
    float b; // byte 44
};

extern __shared__ __align__(16) unsigned char shared_memory[];

__device__ __forceinline__ float to_fp32(float x)
{
    return x;
}

// 4 of fp32.
struct alignas(16) fp32_vector {
    u32 word[4];
};

__device__ __forceinline__ float fp32_element(const fp32_vector &v, int e)
{
    return __uint_as_float(v.word[e]);
}

// From elements as they lie in memory.
__device__ __forceinline__ fp32_vector fp32_gather(const float (&x)[4])
{
    fp32_vector v;
    #pragma unroll
    for (int e = 0; e < 4; ++e)
        v.word[e] = __float_as_uint(x[e]);
    return v;
}

// From values, rounded.
__device__ __forceinline__ fp32_vector fp32_join(const float (&x)[4])
{
    float rounded[4];
    #pragma unroll
    for (int e = 0; e < 4; ++e)
        rounded[e] = to_fp32(x[e]);
    return fp32_gather(rounded);
}

// The vector that begins `shift` elements behind the beginning of a, and ends in b.
__device__ __forceinline__ fp32_vector fp32_between(const fp32_vector &a, const fp32_vector &b,
                                                            int shift)
{
    fp32_vector v;
    const int word = shift * 4 / 4, bits = shift * 4 % 4 * 8;
    u32 all[8];
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        all[w] = a.word[w];
        all[4 + w] = b.word[w];
    }
    #pragma unroll
    for (int w = 0; w < 4; ++w)
        v.word[w] = bits ? __funnelshift_r(all[word + w], all[word + w + 1], bits) : all[word + w];
    return v;
}

// Zeros outside. Volatile: an asm that only computes may be moved in front of its condition.
__device__ __forceinline__ fp32_vector fp32_load(const float *from, bool inside)
{
    fp32_vector v = {};
    if (inside) {
        asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                     "=r"(v.word[3]) : "l"(from));
    }
    return v;
}

__device__ __forceinline__ void fp32_store(float *to, const fp32_vector &v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
                 "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) stencil(const __grid_constant__ arguments args)
{
    // Tiles of 8 x 128: a thread has 2 rows 1 apart, of each one vector.
    const int row0 = threadIdx.x / 32 * 2;
    const int column0 = threadIdx.x % 32 * 4;

    const int tiles_c_0 = args.C + 127;
    const int tiles_c_1 = tiles_c_0 / 128;
    const i64 at_c = (i64)(blockIdx.x % (u32)tiles_c_1) * 128;
    u32 item = blockIdx.x / (u32)tiles_c_1;
    const i64 at_r = (i64)item * 8;

    fp32_vector x_window[4];
    fp32_vector x_window_2[2];
    fp32_vector x_window_3[2];
    fp32_vector x[2];
    fp32_vector x_2[2];
    fp32_vector x_3[2];
    fp32_vector x_4[2];
    fp32_vector x_5[2];

    // load x
    {
        const int k0 = at_r - 1;
        const int k1 = args.R - k0;
        const int k3 = -k0;
        const int k6 = args.C - at_c;
        const float *const first = args.x + k0 * args.x_stride0 + row0 * args.x_stride0 + at_c;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = row0 + i;
            const bool k2 = row < k1;
            const bool k4 = row >= k3;
            const bool k5 = k2 && k4;
            const float *const from = first + i * args.x_stride0;
            const int column = column0;
            const bool k7 = column < k6;
            const bool k8 = k5 && k7;
            x_window[i] = fp32_load(from + column, k8);
        }
    }

    // load x
    {
        const int k0 = args.R - at_r;
        const int k2 = at_c - 4;
        const int k3 = args.C - k2;
        const int k6 = -k2;
        const float *const first = args.x + at_r * args.x_stride0 + row0 * args.x_stride0 + k2;
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = row0 + i;
            const bool k1 = row < k0;
            const float *const from = first + i * args.x_stride0;
            const int column = column0;
            const bool k4 = column < k3;
            const bool k5 = k1 && k4;
            const bool k7 = column >= k6;
            const bool k8 = k5 && k7;
            x_window_2[i] = fp32_load(from + column, k8);
        }
    }

    // load x
    {
        const int k0 = args.R - at_r;
        const int k2 = at_c + 4;
        const int k3 = args.C - k2;
        const float *const first = args.x + at_r * args.x_stride0 + row0 * args.x_stride0 + k2;
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = row0 + i;
            const bool k1 = row < k0;
            const float *const from = first + i * args.x_stride0;
            const int column = column0;
            const bool k4 = column < k3;
            const bool k5 = k1 && k4;
            x_window_3[i] = fp32_load(from + column, k5);
        }
    }

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        x[i] = x_window[i];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        x_2[i] = x_window[i + 2];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        x_3[i] = fp32_between(x_window_2[i], x_window[i + 1], 3);

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        x_4[i] = fp32_between(x_window[i + 1], x_window_3[i], 1);

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        x_5[i] = x_window[i + 1];

    // store y
    {
        const int k0 = at_r - 1;
        const int k1 = args.R - k0;
        const int k2 = -k0;
        const int k4 = args.C - at_c;
        const int k5 = args.R - at_r;
        const int k6 = at_r + 1;
        const int k7 = args.R - k6;
        const int k8 = at_c - 1;
        const int k9 = at_c + 1;
        const int k10 = -k8;
        const int k11 = args.C - k8;
        const int k12 = args.C - k9;
        const int k13 = min(k1, k5);
        const int k14 = min(k7, k13);
        const int k15 = min(k4, k11);
        const int k16 = min(k12, k15);
        float *const first = args.y + at_r * args.y_stride0 + row0 * args.y_stride0 + at_c;
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = row0 + i;
            const bool k3 = row >= k2;
            const bool k17 = row < k14;
            const bool k18 = k3 && k17;
            float *const from = first + i * args.y_stride0;
            const int column = column0;
            float part[4];
            #pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float v0 = args.a * fp32_element(x_5[i], e);
                const float v1 = fp32_element(x[i], e) + fp32_element(x_2[i], e);
                const float v2 = v1 + fp32_element(x_3[i], e);
                const float v3 = v2 + fp32_element(x_4[i], e);
                const float v4 = args.b * v3;
                const float v5 = v0 + v4;
                part[e] = v5;
            }
            if (k18 && column >= k10 && column + 4 <= k16) {
                fp32_store(from + column, fp32_join(part));
            } else {
                #pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (k18 && column + e >= k10 && column + e < k16)
                        (from + column)[e] = to_fp32(part[e]);
            }
        }
    }
}
