// What `tilewright doctor` tries on a GPU with tensor maps: a load by a map of each kind, and a product by wgmma. Each
// kernel is launched with one block of 128 threads and writes what it got to `out`.
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct __align__(64) tensor_map {
    u64 words[16];
};

struct arguments {
    tensor_map map;
    void *out;
};

__device__ __forceinline__ u32 shared_address(const void *pointer)
{
    return (u32)__cvta_generic_to_shared(pointer);
}

// One arrival, and so many bytes of a copy.
__device__ __forceinline__ void barrier_begin(u64 *barrier, u32 bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

// By all threads: the copy has come, and goes to out.
__device__ __forceinline__ void finish(u64 *barrier, const u16 *tile, int elements, void *out)
{
    __syncthreads();
    u32 done = 0;
    while (!done)
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier))
                     : "memory");
    for (int i = threadIdx.x; i < elements; i += 128)
        ((u16 *)out)[i] = tile[i];
}

// The box of 64 x 8 elements that begins at column 64 of row 15, in swizzle 128B.
extern "C" __global__ void __launch_bounds__(128) load_tiled(const __grid_constant__ arguments args)
{
    __shared__ __align__(1024) u16 tile[512];
    __shared__ u64 barrier;
    if (threadIdx.x == 0) {
        barrier_begin(&barrier, sizeof tile);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(tile)),
                     "l"(&args.map), "r"(shared_address(&barrier)), "r"(64), "r"(15)
                     : "memory");
    }
    finish(&barrier, tile, 512, args.out);
}

// 32 pixels of 8 channels that begin with the first pixel's lower corner, for the weight at (2, 1) of a filter.
extern "C" __global__ void __launch_bounds__(128) load_im2col(const __grid_constant__ arguments args)
{
    __shared__ __align__(1024) u16 tile[256];
    __shared__ u64 barrier;
    if (threadIdx.x == 0) {
        barrier_begin(&barrier, sizeof tile);
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3, %4, %4, %3}], [%2], {%5, %6};" ::"r"(shared_address(tile)),
                     "l"(&args.map), "r"(shared_address(&barrier)), "r"(0), "r"(-1), "h"((u16)2), "h"((u16)1)
                     : "memory");
    }
    finish(&barrier, tile, 256, args.out);
}

// 256 elements from number 896 on.
extern "C" __global__ void __launch_bounds__(128) load_rank_1(const __grid_constant__ arguments args)
{
    __shared__ __align__(1024) u16 tile[256];
    __shared__ u64 barrier;
    if (threadIdx.x == 0) {
        barrier_begin(&barrier, sizeof tile);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%3}], [%2];" ::"r"(shared_address(tile)),
                     "l"(&args.map), "r"(shared_address(&barrier)), "r"(896)
                     : "memory");
    }
    finish(&barrier, tile, 256, args.out);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// A small whole number as bf16.
__device__ __forceinline__ u16 bf16_of(int value)
{
    return (u16)(__float_as_uint((float)value) >> 16);
}

// Of a matrix whose k is innermost, in core matrices of 8 rows by 16 bytes: the two of 8 rows lie beside each other.
__device__ __forceinline__ u64 matrix_descriptor(const void *tile)
{
    return ((u64)shared_address(tile) >> 4 & 0x3fff) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
}

// out[64][8] = a[64][16] b[8][16]^T in fp32.
extern "C" __global__ void __launch_bounds__(128) multiply(const __grid_constant__ arguments args)
{
    __shared__ __align__(128) u16 a[64 * 16];
    __shared__ __align__(128) u16 b[8 * 16];
    for (int i = threadIdx.x; i < 64 * 16; i += 128) {
        const int row = i / 16, k = i % 16;
        const int at = (row / 8 * 2 + k / 8) * 64 + row % 8 * 8 + k % 8;
        a[at] = bf16_of((row * 3 + k * 5) % 7 - 3);
        if (row < 8)
            b[at] = bf16_of((row * 2 + k) % 5 - 2);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n"
                 ".reg .pred none;\n"
                 "setp.ne.b32 none, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, none, 1, 1, 0, 0;\n"
                 "}"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "l"(matrix_descriptor(a)), "l"(matrix_descriptor(b)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    float *out = (float *)args.out;
    for (int i = 0; i < 4; ++i)
        out[(row + i / 2 * 8) * 8 + column + i % 2] = d[i];
}

#endif
