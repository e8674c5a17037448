/* Asks an sm_90a GPU for the answers to tensor_core_cases.h:  tensor_core_probe GOLDEN FULL
   GOLDEN: tests/golden/tensor_core.bin, records as in test_tensor_core.c; FULL: the whole results of every fourth case.
   It also checks that wgmma with a from registers, and with imm-scale-a -1 on a negated a, gives the same bits.
   nvcc -O1 -std=c++17 --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a -I tests/emu -I runtime/emu/async
   tests/emu/matrix/tensor_core_probe.cu */
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#include "tensor_core_cases.h"

enum { WGMMA, MMA };
enum Kind {
#define TC(name, ...) K_##name,
#include "tensor_core.def"
#undef TC
    KINDS
};

struct Row {
    const char *name;
    int engine, m, n, k;
    tc_case_type a, b, d;
};
static constexpr Row rows[] = {
#define TC(name, engine, m, n, k, a, b, d, ...) {#name, engine, m, n, k, TCC_##a, TCC_##b, TCC_##d},
#include "tensor_core.def"
#undef TC
};

#define MMA4(text)                                                                                                     \
    asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                        \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA2(text)                                                                                                     \
    asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"                                 \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define MMA4H(text)                                                                                                    \
    asm volatile("mma.sync.aligned." text " {%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};"                                    \
                 : "+r"(d[0]), "+r"(d[1])                                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA2H(text)                                                                                                    \
    asm volatile("mma.sync.aligned." text " {%0,%1},{%2,%3},{%4},{%0,%1};"                                             \
                 : "+r"(d[0]), "+r"(d[1])                                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]))

/* a warp a case; every layout is the same in bytes: 32 bytes (4 registers of a) or 16 (2) along k */
template <int kind> __global__ void mma_kernel(const unsigned *A, const unsigned *B, const unsigned *C, unsigned *D)
{
    constexpr Row row = rows[kind];
    constexpr int element = tc_case_formats[row.a].bytes, words = row.k * element / 4;
    constexpr bool half = row.d == TCC_F16;
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    size_t one = blockIdx.x;
    A += one * 16 * words;
    B += one * 8 * words;
    C += one * (half ? 64 : 128);
    D += one * (half ? 64 : 128);
    unsigned a[4] = {}, b[2] = {}, d[4];
    for (int r = 0; r < words / 2; r++)
        a[r] = A[(g + 8 * (r & 1)) * words + t + 4 * (r >> 1)];
    for (int r = 0; r < words / 4; r++)
        b[r] = B[g * words + t + 4 * r];
    if (half)
        for (int r = 0; r < 2; r++)
            d[r] = C[(g + 8 * r) * 4 + t];
    else
        for (int r = 0; r < 4; r++)
            d[r] = C[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)];
    if constexpr (kind == K_MMA_K16_F32_BF16)
        MMA4("m16n8k16.row.col.f32.bf16.bf16.f32");
    if constexpr (kind == K_MMA_K8_F32_BF16)
        MMA2("m16n8k8.row.col.f32.bf16.bf16.f32");
    if constexpr (kind == K_MMA_K16_F32_F16)
        MMA4("m16n8k16.row.col.f32.f16.f16.f32");
    if constexpr (kind == K_MMA_K8_F32_F16)
        MMA2("m16n8k8.row.col.f32.f16.f16.f32");
    if constexpr (kind == K_MMA_K16_F16_F16)
        MMA4H("m16n8k16.row.col.f16.f16.f16.f16");
    if constexpr (kind == K_MMA_K8_F16_F16)
        MMA2H("m16n8k8.row.col.f16.f16.f16.f16");
    if constexpr (kind == K_MMA_K8_F32_TF32)
        MMA4("m16n8k8.row.col.f32.tf32.tf32.f32");
    if constexpr (kind == K_MMA_K4_F32_TF32)
        MMA2("m16n8k4.row.col.f32.tf32.tf32.f32");
    if constexpr (kind == K_MMA_K32_F32_E4M3_E4M3)
        MMA4("m16n8k32.row.col.f32.e4m3.e4m3.f32");
    if constexpr (kind == K_MMA_K32_F32_E4M3_E5M2)
        MMA4("m16n8k32.row.col.f32.e4m3.e5m2.f32");
    if constexpr (kind == K_MMA_K32_F32_E5M2_E4M3)
        MMA4("m16n8k32.row.col.f32.e5m2.e4m3.f32");
    if constexpr (kind == K_MMA_K32_F32_E5M2_E5M2)
        MMA4("m16n8k32.row.col.f32.e5m2.e5m2.f32");
    if constexpr (kind == K_MMA_K32_F16_E4M3_E4M3)
        MMA4H("m16n8k32.row.col.f16.e4m3.e4m3.f16");
    if constexpr (kind == K_MMA_K32_F16_E4M3_E5M2)
        MMA4H("m16n8k32.row.col.f16.e4m3.e5m2.f16");
    if constexpr (kind == K_MMA_K32_F16_E5M2_E4M3)
        MMA4H("m16n8k32.row.col.f16.e5m2.e4m3.f16");
    if constexpr (kind == K_MMA_K32_F16_E5M2_E5M2)
        MMA4H("m16n8k32.row.col.f16.e5m2.e5m2.f16");
    if constexpr (kind == K_MMA_K32_S32_S8_S8)
        MMA4("m16n8k32.row.col.s32.s8.s8.s32");
    if constexpr (kind == K_MMA_K32_S32_S8_U8)
        MMA4("m16n8k32.row.col.s32.s8.u8.s32");
    if constexpr (kind == K_MMA_K32_S32_U8_S8)
        MMA4("m16n8k32.row.col.s32.u8.s8.s32");
    if constexpr (kind == K_MMA_K32_S32_U8_U8)
        MMA4("m16n8k32.row.col.s32.u8.u8.s32");
    if constexpr (kind == K_MMA_K32_S32_S8_S8_SAT)
        MMA4("m16n8k32.row.col.satfinite.s32.s8.s8.s32");
    if constexpr (kind == K_MMA_K32_S32_S8_U8_SAT)
        MMA4("m16n8k32.row.col.satfinite.s32.s8.u8.s32");
    if constexpr (kind == K_MMA_K32_S32_U8_S8_SAT)
        MMA4("m16n8k32.row.col.satfinite.s32.u8.s8.s32");
    if constexpr (kind == K_MMA_K32_S32_U8_U8_SAT)
        MMA4("m16n8k32.row.col.satfinite.s32.u8.u8.s32");
    if constexpr (kind == K_MMA_K16_F32_E4M3_E4M3)
        MMA2("m16n8k16.row.col.f32.e4m3.e4m3.f32");
    if constexpr (kind == K_MMA_K16_F32_E4M3_E5M2)
        MMA2("m16n8k16.row.col.f32.e4m3.e5m2.f32");
    if constexpr (kind == K_MMA_K16_F32_E5M2_E4M3)
        MMA2("m16n8k16.row.col.f32.e5m2.e4m3.f32");
    if constexpr (kind == K_MMA_K16_F32_E5M2_E5M2)
        MMA2("m16n8k16.row.col.f32.e5m2.e5m2.f32");
    if constexpr (kind == K_MMA_K16_F16_E4M3_E4M3)
        MMA2H("m16n8k16.row.col.f16.e4m3.e4m3.f16");
    if constexpr (kind == K_MMA_K16_F16_E4M3_E5M2)
        MMA2H("m16n8k16.row.col.f16.e4m3.e5m2.f16");
    if constexpr (kind == K_MMA_K16_F16_E5M2_E4M3)
        MMA2H("m16n8k16.row.col.f16.e5m2.e4m3.f16");
    if constexpr (kind == K_MMA_K16_F16_E5M2_E5M2)
        MMA2H("m16n8k16.row.col.f16.e5m2.e5m2.f16");
    if constexpr (kind == K_MMA_K16_S32_S8_S8)
        MMA2("m16n8k16.row.col.s32.s8.s8.s32");
    if constexpr (kind == K_MMA_K16_S32_S8_U8)
        MMA2("m16n8k16.row.col.s32.s8.u8.s32");
    if constexpr (kind == K_MMA_K16_S32_U8_S8)
        MMA2("m16n8k16.row.col.s32.u8.s8.s32");
    if constexpr (kind == K_MMA_K16_S32_U8_U8)
        MMA2("m16n8k16.row.col.s32.u8.u8.s32");
    if constexpr (kind == K_MMA_K16_S32_S8_S8_SAT)
        MMA2("m16n8k16.row.col.satfinite.s32.s8.s8.s32");
    if constexpr (kind == K_MMA_K16_S32_S8_U8_SAT)
        MMA2("m16n8k16.row.col.satfinite.s32.s8.u8.s32");
    if constexpr (kind == K_MMA_K16_S32_U8_S8_SAT)
        MMA2("m16n8k16.row.col.satfinite.s32.u8.s8.s32");
    if constexpr (kind == K_MMA_K16_S32_U8_U8_SAT)
        MMA2("m16n8k16.row.col.satfinite.s32.u8.u8.s32");
    if (half)
        for (int r = 0; r < 2; r++)
            D[(g + 8 * r) * 4 + t] = d[r];
    else
        for (int r = 0; r < 4; r++)
            D[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)] = d[r];
}

template <int kind> __global__ void f64_kernel(const double *A, const double *B, const double *C, double *D)
{
    constexpr Row row = rows[kind];
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    size_t one = blockIdx.x;
    A += one * row.m * row.k;
    B += one * 8 * row.k;
    C += one * row.m * 8;
    D += one * row.m * 8;
    double a[8] = {}, b[4] = {}, d[4] = {};
    if (row.m == 8)
        a[0] = A[g * row.k + t];
    else
        for (int r = 0; r < row.k / 2; r++)
            a[r] = A[(g + 8 * (r & 1)) * row.k + t + 4 * (r >> 1)];
    for (int r = 0; r < row.k / 4; r++)
        b[r] = B[g * row.k + t + 4 * r];
    for (int r = 0; r < row.m / 4; r++)
        d[r] = C[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)];
    if constexpr (kind == K_MMA_M8_K4_F64)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                     : "+d"(d[0]), "+d"(d[1])
                     : "d"(a[0]), "d"(b[0]));
    if constexpr (kind == K_MMA_K4_F64)
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(b[0]));
    if constexpr (kind == K_MMA_K8_F64)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
                     "{%0,%1,%2,%3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    if constexpr (kind == K_MMA_K16_F64)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},"
                     "{%12,%13,%14,%15},{%0,%1,%2,%3};"
                     : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    for (int r = 0; r < row.m / 4; r++)
        D[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)] = d[r];
}

/* Unswizzled, K-major: core matrices of 8 rows x 16 bytes, two along k (LBO 128 bytes), then down the rows (SBO 256) */
__device__ unsigned long long descriptor(const void *at)
{
    unsigned long long address = (unsigned)__cvta_generic_to_shared(at);
    return address >> 4 | 8ull << 16 | 16ull << 32;
}

#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define DONE                                                                                                           \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                                     \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
#define WG4(text, tail)                                                                                                \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned." text                            \
                 " {%0,%1,%2,%3}, %4, %5, p" tail "; }"                                                                \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                      \
                 : "l"(da), "l"(db), "r"(scale))
#define WG4F(text, tail)                                                                                               \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned." text                            \
                 " {%0,%1,%2,%3}, %4, %5, p" tail "; }"                                                                \
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                                      \
                 : "l"(da), "l"(db), "r"(scale))
#define WG2(text, tail)                                                                                                \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; wgmma.mma_async.sync.aligned." text " {%0,%1}, %2, %3, p" tail \
                 "; }"                                                                                                 \
                 : "+r"(d[0]), "+r"(d[1])                                                                              \
                 : "l"(da), "l"(db), "r"(scale))

/* a warpgroup a case; `steps` instructions on the same accumulator, operands of step s behind each other */
template <int kind>
__global__ void wgmma_kernel(const uint4 *A, const uint4 *B, const unsigned *C, unsigned *D, int steps, int scale)
{
    constexpr Row row = rows[kind];
    constexpr bool half = row.d == TCC_F16, real = row.d == TCC_F32;
    __shared__ alignas(1024) uint4 sa[128], sb[16];
    int thread = threadIdx.x, lane = thread & 31, g = (thread >> 5) * 16 + (lane >> 2), t = lane & 3;
    size_t one = blockIdx.x;
    C += one * (half ? 256 : 512);
    D += one * (half ? 256 : 512);
    unsigned d[4] = {};
    float f[4] = {};
    if (half)
        for (int r = 0; r < 2; r++)
            d[r] = C[(g + 8 * r) * 4 + t];
    else
        for (int r = 0; r < 4; r++)
            d[r] = C[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)];
    for (int r = 0; r < 4; r++)
        f[r] = __uint_as_float(d[r]);
    unsigned long long da = descriptor(sa), db = descriptor(sb);
    for (int s = 0; s < steps; s++) {
        const uint4 *a = A + (one * steps + s) * 128, *b = B + (one * steps + s) * 16;
        __syncthreads();
        sa[((thread >> 1) / 8 * 2 + (thread & 1)) * 8 + (thread >> 1) % 8] = a[thread];
        if (thread < 16)
            sb[(thread & 1) * 8 + (thread >> 1)] = b[thread];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        FENCE;
        if constexpr (kind == K_WGMMA_F32_BF16)
            WG4F("m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0");
        if constexpr (kind == K_WGMMA_F32_F16)
            WG4F("m64n8k16.f32.f16.f16", ", 1, 1, 0, 0");
        if constexpr (kind == K_WGMMA_F16_F16)
            WG2("m64n8k16.f16.f16.f16", ", 1, 1, 0, 0");
        if constexpr (kind == K_WGMMA_F32_TF32)
            WG4F("m64n8k8.f32.tf32.tf32", ", 1, 1");
        if constexpr (kind == K_WGMMA_F32_E4M3_E4M3)
            WG4F("m64n8k32.f32.e4m3.e4m3", ", 1, 1");
        if constexpr (kind == K_WGMMA_F32_E4M3_E5M2)
            WG4F("m64n8k32.f32.e4m3.e5m2", ", 1, 1");
        if constexpr (kind == K_WGMMA_F32_E5M2_E4M3)
            WG4F("m64n8k32.f32.e5m2.e4m3", ", 1, 1");
        if constexpr (kind == K_WGMMA_F32_E5M2_E5M2)
            WG4F("m64n8k32.f32.e5m2.e5m2", ", 1, 1");
        if constexpr (kind == K_WGMMA_F16_E4M3_E4M3)
            WG2("m64n8k32.f16.e4m3.e4m3", ", 1, 1");
        if constexpr (kind == K_WGMMA_F16_E4M3_E5M2)
            WG2("m64n8k32.f16.e4m3.e5m2", ", 1, 1");
        if constexpr (kind == K_WGMMA_F16_E5M2_E4M3)
            WG2("m64n8k32.f16.e5m2.e4m3", ", 1, 1");
        if constexpr (kind == K_WGMMA_F16_E5M2_E5M2)
            WG2("m64n8k32.f16.e5m2.e5m2", ", 1, 1");
        if constexpr (kind == K_WGMMA_S32_S8_S8)
            WG4("m64n8k32.s32.s8.s8", "");
        if constexpr (kind == K_WGMMA_S32_S8_U8)
            WG4("m64n8k32.s32.s8.u8", "");
        if constexpr (kind == K_WGMMA_S32_U8_S8)
            WG4("m64n8k32.s32.u8.s8", "");
        if constexpr (kind == K_WGMMA_S32_U8_U8)
            WG4("m64n8k32.s32.u8.u8", "");
        if constexpr (kind == K_WGMMA_S32_S8_S8_SAT)
            WG4("m64n8k32.s32.s8.s8.satfinite", "");
        if constexpr (kind == K_WGMMA_S32_S8_U8_SAT)
            WG4("m64n8k32.s32.s8.u8.satfinite", "");
        if constexpr (kind == K_WGMMA_S32_U8_S8_SAT)
            WG4("m64n8k32.s32.u8.s8.satfinite", "");
        if constexpr (kind == K_WGMMA_S32_U8_U8_SAT)
            WG4("m64n8k32.s32.u8.u8.satfinite", "");
        DONE;
    }
    if (real)
        for (int r = 0; r < 4; r++)
            d[r] = __float_as_uint(f[r]);
    if (half)
        for (int r = 0; r < 2; r++)
            D[(g + 8 * r) * 4 + t] = d[r];
    else
        for (int r = 0; r < 4; r++)
            D[(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)] = d[r];
}

/* bf16 and tf32 with a from registers; scale_a: 1, or -1 in a second instruction */
template <int kind, bool registers>
__global__ void variant_kernel(const uint4 *A, const uint4 *B, const unsigned *C, unsigned *D)
{
    __shared__ alignas(1024) uint4 sa[128], sb[16];
    int thread = threadIdx.x, lane = thread & 31, g = (thread >> 5) * 16 + (lane >> 2), t = lane & 3;
    size_t one = blockIdx.x;
    const unsigned *words = (const unsigned *)(A + one * 128);
    unsigned a[4];
    float f[4];
    for (int r = 0; r < 4; r++) {
        a[r] = words[(g + 8 * (r & 1)) * 8 + t + 4 * (r >> 1)];
        f[r] = __uint_as_float(C[one * 512 + (g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)]);
    }
    uint4 v = A[one * 128 + thread];
    unsigned sign = kind == K_WGMMA_F32_TF32 ? 0x80000000u : 0x80008000u;
    v.x ^= sign;
    v.y ^= sign;
    v.z ^= sign;
    v.w ^= sign;
    sa[((thread >> 1) / 8 * 2 + (thread & 1)) * 8 + (thread >> 1) % 8] = v;
    if (thread < 16)
        sb[(thread & 1) * 8 + (thread >> 1)] = B[one * 16 + thread];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long da = descriptor(sa), db = descriptor(sb);
    FENCE;
#define RS(text, tail)                                                                                                 \
    asm volatile("wgmma.mma_async.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1" tail ";"            \
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db))
#define NEGATED(text, tail)                                                                                            \
    asm volatile("wgmma.mma_async.sync.aligned." text " {%0,%1,%2,%3}, %4, %5, 1, -1, 1" tail ";"                      \
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                                      \
                 : "l"(da), "l"(db))
    if constexpr (kind == K_WGMMA_F32_BF16 && registers)
        RS("m64n8k16.f32.bf16.bf16", ", 0");
    if constexpr (kind == K_WGMMA_F32_TF32 && registers)
        RS("m64n8k8.f32.tf32.tf32", "");
    if constexpr (kind == K_WGMMA_F32_BF16 && !registers)
        NEGATED("m64n8k16.f32.bf16.bf16", ", 0, 0");
    if constexpr (kind == K_WGMMA_F32_TF32 && !registers)
        NEGATED("m64n8k8.f32.tf32.tf32", "");
    DONE;
    for (int r = 0; r < 4; r++)
        D[one * 512 + (g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)] = __float_as_uint(f[r]);
}

/* 64 x 64 x (16 steps): one warpgroup, m64n64k16, all in flight one after the other, c = 0 by scale-d */
template <int kind> __global__ void chain_kernel(const uint4 *A, const uint4 *B, float *D, int steps)
{
    __shared__ alignas(1024) uint4 sa[128], sb[128];
    int thread = threadIdx.x, lane = thread & 31, g = (thread >> 5) * 16 + (lane >> 2), t = lane & 3;
    float f[32];
    unsigned long long da = descriptor(sa), db = descriptor(sb);
    for (int s = 0; s < steps; s++) {
        size_t at = ((size_t)blockIdx.x * steps + s) * 128;
        int where = ((thread >> 1) / 8 * 2 + (thread & 1)) * 8 + (thread >> 1) % 8;
        __syncthreads();
        sa[where] = A[at + thread];
        sb[where] = B[at + thread];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        FENCE;
#define CHAIN(type)                                                                                                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type    \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,"    \
                 "%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0; }"                                                \
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7]),     \
                   "+f"(f[8]), "+f"(f[9]), "+f"(f[10]), "+f"(f[11]), "+f"(f[12]), "+f"(f[13]), "+f"(f[14]),            \
                   "+f"(f[15]), "+f"(f[16]), "+f"(f[17]), "+f"(f[18]), "+f"(f[19]), "+f"(f[20]), "+f"(f[21]),          \
                   "+f"(f[22]), "+f"(f[23]), "+f"(f[24]), "+f"(f[25]), "+f"(f[26]), "+f"(f[27]), "+f"(f[28]),          \
                   "+f"(f[29]), "+f"(f[30]), "+f"(f[31])                                                               \
                 : "l"(da), "l"(db), "r"(s))
        if (kind == K_WGMMA_F32_BF16)
            CHAIN("bf16");
        else
            CHAIN("f16");
        DONE;
    }
    for (int j = 0; j < 8; j++)
        for (int r = 0; r < 4; r++)
            D[(size_t)blockIdx.x * 4096 + (g + 8 * (r >> 1)) * 64 + j * 8 + 2 * t + (r & 1)] = f[j * 4 + r];
}

static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

static FILE *golden, *full;

/* One record of GOLDEN and FULL. */
static void put(const char *prefix, const Row &r, unsigned cases, unsigned bytes, const unsigned char *d,
                unsigned sampled, unsigned groups)
{
    char name[32] = {};
    snprintf(name, sizeof name, "%s%s", prefix, r.name);
    unsigned head[4] = {cases, bytes, sampled, groups}, whole[2] = {groups == 1 ? cases : cases / 4, bytes};
    size_t element = tc_case_formats[r.d].bytes;
    fwrite(name, 1, 32, golden);
    fwrite(head, 4, 4, golden);
    for (unsigned i = 0; i < sampled; i++)
        for (size_t at = i % 8; at < bytes / element; at += 8)
            fwrite(d + (size_t)i * bytes + at * element, element, 1, golden);
    for (unsigned g = 0; g < groups; g++) {
        uint64_t h = tcc_hash(d + (size_t)g * (cases / groups) * bytes, (size_t)(cases / groups) * bytes);
        fwrite(&h, 8, 1, golden);
    }
    fwrite(name, 1, 32, full);
    fwrite(whole, 4, 2, full);
    fwrite(d, bytes, whole[0], full);
    printf("%s\n", name);
}

template <int kind> void launch(int cases, void *a, void *b, void *c, void *d, int steps)
{
    if constexpr (rows[kind].engine == WGMMA)
        wgmma_kernel<kind><<<cases, 128>>>((uint4 *)a, (uint4 *)b, (unsigned *)c, (unsigned *)d, steps, 1);
    else if constexpr (rows[kind].d == TCC_F64)
        f64_kernel<kind><<<cases, 32>>>((double *)a, (double *)b, (double *)c, (double *)d);
    else
        mma_kernel<kind><<<cases, 32>>>((unsigned *)a, (unsigned *)b, (unsigned *)c, (unsigned *)d);
    check(cudaDeviceSynchronize(), rows[kind].name);
}

static std::vector<unsigned char> on_device(size_t na, size_t nb, size_t nc, std::vector<unsigned char> &a,
                                            std::vector<unsigned char> &b, std::vector<unsigned char> &c,
                                            void (*go)(int, void *, void *, void *, void *, int), int cases, int steps)
{
    void *pa, *pb, *pc, *pd;
    std::vector<unsigned char> d(nc);
    check(cudaMalloc(&pa, na), "malloc");
    check(cudaMalloc(&pb, nb), "malloc");
    check(cudaMalloc(&pc, nc), "malloc");
    check(cudaMalloc(&pd, nc), "malloc");
    check(cudaMemcpy(pa, a.data(), na, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(pb, b.data(), nb, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(pc, c.data(), nc, cudaMemcpyHostToDevice), "copy");
    go(cases, pa, pb, pc, pd, steps);
    check(cudaMemcpy(d.data(), pd, nc, cudaMemcpyDeviceToHost), "copy");
    cudaFree(pa);
    cudaFree(pb);
    cudaFree(pc);
    cudaFree(pd);
    return d;
}

template <int kind, bool registers> void variant(int cases, void *a, void *b, void *c, void *d, int)
{
    variant_kernel<kind, registers><<<cases, 128>>>((uint4 *)a, (uint4 *)b, (unsigned *)c, (unsigned *)d);
    check(cudaDeviceSynchronize(), "variant");
}

template <int kind> void ask()
{
    constexpr Row r = rows[kind];
    int cases = (r.engine == WGMMA ? 2048 : r.d == TCC_F64 ? 1024 : 8192);
    size_t ea = tc_case_formats[r.a].bytes, eb = tc_case_formats[r.b].bytes, ec = tc_case_formats[r.d].bytes;
    size_t na = ea * r.m * r.k, nb = eb * r.n * r.k, nc = ec * r.m * r.n;
    std::vector<unsigned char> a(na * cases), b(nb * cases), c(nc * cases);
    for (int i = 0; i < cases; i++)
        tcc_fill(kind, i, r.m, r.n, r.k, r.a, r.b, r.d, &a[na * i], &b[nb * i], &c[nc * i]);
    auto d = on_device(na * cases, nb * cases, nc * cases, a, b, c, launch<kind>, cases, 1);
    put("", r, cases, nc, d.data(), r.engine == WGMMA ? 36 : r.d == TCC_F64 ? 54 : 144, cases / 64);
    if constexpr (kind == K_WGMMA_F32_BF16 || kind == K_WGMMA_F32_TF32) {
        long differ[2] = {0, 0};
        for (int v = 0; v < 2; v++) {
            auto e = on_device(na * cases, nb * cases, nc * cases, a, b, c,
                               v ? variant<kind, true> : variant<kind, false>, cases, 1);
            for (size_t i = 0; i < e.size(); i += 4)
                differ[v] += memcmp(&e[i], &d[i], 4) != 0;
        }
        printf("  of %zu differ: scale-a -1 of -a: %ld, a from registers: %ld\n", nc * cases / 4, differ[0], differ[1]);
    }
    /* a chain of wgmma of every type, 64 x 8 */
    if constexpr (r.engine == WGMMA) {
        int chains = 4, steps = 64;
        a.assign(na * chains * steps, 0);
        b.assign(nb * chains * steps, 0);
        c.assign(nc * chains, 0);
        for (int i = 0; i < chains; i++)
            for (int s = 0; s < steps; s++) {
                tcc_fill_chain(i, s, r.m, r.k, r.a, 0, &a[na * (i * steps + s)]);
                tcc_fill_chain(i, s, r.n, r.k, r.b, 1, &b[nb * (i * steps + s)]);
            }
        d = on_device(na * chains * steps, nb * chains * steps, nc * chains, a, b, c, launch<kind>, chains, steps);
        put("+", r, chains, nc, d.data(), chains, 1);
    }
}

template <int kind> void launch_chain(int cases, void *a, void *b, void *, void *d, int steps)
{
    chain_kernel<kind><<<cases, 128>>>((uint4 *)a, (uint4 *)b, (float *)d, steps);
    check(cudaDeviceSynchronize(), "chain");
}

template <int kind> void ask_chain()
{
    constexpr Row r = rows[kind];
    int chains = 4, steps = 256;
    std::vector<unsigned char> a((size_t)2048 * chains * steps), b(a.size()), c((size_t)16384 * chains);
    for (int i = 0; i < chains; i++)
        for (int s = 0; s < steps; s++) {
            tcc_fill_chain(i, s, 64, 16, r.a, 0, &a[(size_t)2048 * (i * steps + s)]);
            tcc_fill_chain(i, s, 64, 16, r.b, 1, &b[(size_t)2048 * (i * steps + s)]);
        }
    auto d = on_device(a.size(), b.size(), c.size(), a, b, c, launch_chain<kind>, chains, steps);
    put("*", r, chains, 16384, d.data(), chains, 1);
}

int main(int argc, char **argv)
{
    if (argc != 3 || !(golden = fopen(argv[1], "wb")) || !(full = fopen(argv[2], "wb")))
        return 2;
#define TC(name, ...) ask<K_##name>();
#include "tensor_core.def"
#undef TC
    ask_chain<K_WGMMA_F32_BF16>();
    ask_chain<K_WGMMA_F32_F16>();
    fclose(golden);
    fclose(full);
    return 0;
}
