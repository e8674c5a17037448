// tilewright 1: kernel transpose, entry transpose, arch sm_80
// 16384 bytes of shared memory, 256 threads

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 40 bytes, as the host packs it. Strides are in elements.
struct arguments {
    const unsigned short *x; // byte 0
    unsigned short *y; // byte 8
    i64 x_stride0; // byte 16
    i64 y_stride0; // byte 24
    int R; // byte 32
    int C; // byte 36
};

extern __shared__ __align__(16) unsigned char shared_memory[];

// 8 of bf16.
struct alignas(16) bf16_vector {
    u32 word[4];
};

// From elements as they lie in memory.
__device__ __forceinline__ bf16_vector bf16_gather(const unsigned short (&x)[8])
{
    bf16_vector v;
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        v.word[w] = 0;
        #pragma unroll
        for (int e = 0; e < 2; ++e)
            v.word[w] |= (u32)(u16)x[w * 2 + e] << e * 16;
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

extern "C" __global__ void __launch_bounds__(256) transpose(const __grid_constant__ arguments args)
{
    // Tiles of 128 x 64: a thread has 4 rows 32 apart, of each one vector.
    const int row0 = threadIdx.x / 8;
    const int column0 = threadIdx.x % 8 * 8;
    // Tiles of 64 x 128: a thread has 4 rows 16 apart, of each one vector.
    const int row1 = threadIdx.x / 16;
    const int column1 = threadIdx.x % 16 * 8;

    const int tiles_c_0 = args.C + 63;
    const int tiles_c_1 = tiles_c_0 / 64;
    const i64 at_c = (i64)(blockIdx.x % (u32)tiles_c_1) * 64;
    u32 item = blockIdx.x / (u32)tiles_c_1;
    const i64 at_r = (i64)item * 128;

    bf16_vector x[4];
    bf16_vector across[4];

    // load x
    {
        const int k0 = args.R - at_r;
        const int k2 = args.C - at_c;
        const unsigned short *const first = args.x + at_r * args.x_stride0 + at_c;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = row0 + i * 32;
            const bool k1 = row < k0;
            const unsigned short *const from = first + row * args.x_stride0;
            const int column = column0;
            const bool k3 = column < k2;
            const bool k4 = k1 && k3;
            x[i] = bf16_load_once(from + column, k4);
        }
    }

    // transpose
    {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = row0 + i * 32;
            const int column = column0;
            unsigned short *const to = (unsigned short *)(shared_memory) + row * 64;
            *(bf16_vector *)(to + (column / 8 ^ row / 8 % 8) * 8) = x[i];
        }
    }

    __syncthreads();

    {
        const unsigned short *const tile = (const unsigned short *)(shared_memory);
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = row1 + i * 16;
            const int column = column1;
            unsigned short word[8] = {};
            const unsigned short *const from = tile + (row / 8 ^ column / 8 % 8) * 8 + row % 8;
            #pragma unroll
            for (int e = 0; e < 8; ++e)
                word[e] = from[(column + e) * 64];
            across[i] = bf16_gather(word);
        }
    }

    // store y
    {
        const int k0 = args.R - at_r;
        const int k1 = args.C - at_c;
        unsigned short *const first = args.y + at_c * args.y_stride0 + at_r;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = row1 + i * 16;
            const bool k2 = row < k1;
            unsigned short *const from = first + row * args.y_stride0;
            const int column = column1;
            const bool k3 = column < k0;
            const bool k4 = k2 && k3;
            if (k4)
                bf16_store(from + column, across[i]);
        }
    }
}
