// Tensor cores by hand: mma.sync with ldmatrix, and attention for one head.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void load_a(unsigned *r, const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p))
                 : "memory");
}

__device__ void load_b(unsigned *r, const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(p))
                 : "memory");
}

__device__ void mma(float *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// C (32 x 32) = A (32 x K) B (K x 32), a warp for each 16 x 16.
extern "C" __global__ void product_f16(const __half *a, const __half *b, float *c, int k)
{
    __shared__ __align__(16) __half as[32][16 + 8], bs[16][32 + 8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m0 = warp / 2 * 16, n0 = warp % 2 * 16;
    float d[2][4] = {};
    for (int t = 0; t < k; t += 16) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            as[i / 16][i % 16] = a[i / 16 * k + t + i % 16];
            bs[i / 32][i % 32] = b[(t + i / 32) * 32 + i % 32];
        }
        __syncthreads();
        unsigned fa[4], fb[2];
        load_a(fa, &as[m0 + lane % 16][lane / 16 * 8]);
        for (int h = 0; h < 2; h++) {
            load_b(fb, &bs[lane % 16][n0 + h * 8]);
            mma(d[h], fa, fb);
        }
        __syncthreads();
    }
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 4; i++)
            c[(m0 + lane / 4 + i / 2 * 8) * 32 + n0 + h * 8 + lane % 4 * 2 + i % 2] = d[h][i];
}

extern "C" __global__ void product_s8(const int *a, const int *b, int *c)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, d[4] = {};
    for (int k = 0; k < 2; k++) {
        const int *ra = a + g * 16 + k * 8, *rb = b + g * 16 + k * 8;
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
            "%2, %3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(ra[t]), "r"(ra[8 * 16 + t]), "r"(ra[t + 4]), "r"(ra[8 * 16 + t + 4]), "r"(rb[t]), "r"(rb[t + 4]));
    }
    for (int i = 0; i < 4; i++)
        c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

extern "C" __global__ void product_tf32(const float *a, const float *b, float *c)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    float d[4] = {};
    unsigned x[6];
    const float v[6] = {a[g * 8 + t],           a[(g + 8) * 8 + t], a[g * 8 + t + 4],
                        a[(g + 8) * 8 + t + 4], b[t * 8 + g],       b[(t + 4) * 8 + g]};
    for (int i = 0; i < 6; i++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[i]) : "f"(v[i]));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]));
    for (int i = 0; i < 4; i++)
        c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

extern "C" __global__ void product_f64(const double *a, const double *b, double *c)
{
    int lane = threadIdx.x;
    double d0 = 0, d1 = 0;
    for (int k = 0; k < 8; k += 4)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(d0), "+d"(d1)
            : "d"(a[lane / 4 * 8 + k + lane % 4]), "d"(b[(k + lane % 4) * 8 + lane / 4]));
    c[lane / 4 * 8 + lane % 4 * 2] = d0;
    c[lane / 4 * 8 + lane % 4 * 2 + 1] = d1;
}

__device__ unsigned pack(float low, float high)
{
    __half2 h = __floats2half2_rn(low, high);
    return *(unsigned *)&h;
}

// Attention of 64 queries, one warp for 16 of them, keys in tiles of 16, head size 32: the softmax goes along.
extern "C" __global__ void attention(const __half *q, const __half *key, const __half *value, float *out, int keys,
                                     float scale)
{
    __shared__ __align__(16) __half qs[64][32 + 8], ks[16][32 + 8], vs[16][32 + 8];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int i = threadIdx.x; i < 64 * 4; i += blockDim.x)
        *(uint4 *)&qs[i / 4][i % 4 * 8] = *(const uint4 *)&q[i / 4 * 32 + i % 4 * 8];
    __syncthreads();
    unsigned fq[2][4];
    for (int h = 0; h < 2; h++)
        load_a(fq[h], &qs[warp * 16 + lane % 16][h * 16 + lane / 16 * 8]);
    float o[4][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
    for (int start = 0; start < keys; start += 16) {
        __syncthreads();
        for (int i = threadIdx.x; i < 16 * 4; i += blockDim.x) {
            *(uint4 *)&ks[i / 4][i % 4 * 8] = *(const uint4 *)&key[(start + i / 4) * 32 + i % 4 * 8];
            *(uint4 *)&vs[i / 4][i % 4 * 8] = *(const uint4 *)&value[(start + i / 4) * 32 + i % 4 * 8];
        }
        __syncthreads();
        float s[2][4] = {};
        for (int n = 0; n < 2; n++)
            for (int h = 0; h < 2; h++) {
                unsigned fk[2] = {*(unsigned *)&ks[n * 8 + g][h * 16 + t * 2],
                                  *(unsigned *)&ks[n * 8 + g][h * 16 + t * 2 + 8]};
                mma(s[n], fq[h], fk);
            }
        float p[2][4];
        for (int r = 0; r < 2; r++) {
            float m = most[r];
            for (int n = 0; n < 2; n++)
                m = fmaxf(m, fmaxf(s[n][r * 2], s[n][r * 2 + 1]) * scale);
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
            float keep = __expf(most[r] - m), add = 0;
            for (int n = 0; n < 2; n++)
                for (int i = 0; i < 2; i++)
                    add += p[n][r * 2 + i] = __expf(s[n][r * 2 + i] * scale - m);
            sum[r] = sum[r] * keep + add;
            most[r] = m;
            for (int n = 0; n < 4; n++)
                o[n][r * 2] *= keep, o[n][r * 2 + 1] *= keep;
        }
        unsigned fp[4] = {pack(p[0][0], p[0][1]), pack(p[0][2], p[0][3]), pack(p[1][0], p[1][1]),
                          pack(p[1][2], p[1][3])};
        for (int n = 0; n < 4; n++) {
            unsigned fv[2];
            load_b(fv, &vs[lane % 16][n * 8]);
            mma(o[n], fp, fv);
        }
    }
    for (int r = 0; r < 2; r++) {
        sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 1);
        sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 2);
        for (int n = 0; n < 4; n++)
            *(float2 *)&out[(warp * 16 + g + r * 8) * 32 + n * 8 + t * 2] =
                make_float2(o[n][r * 2] / sum[r], o[n][r * 2 + 1] / sum[r]);
    }
}
