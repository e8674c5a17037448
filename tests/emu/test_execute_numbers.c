/* The numbers of the emulator's executor, on small CUDA kernels that NVRTC compiles here: what a kernel computes must
   be what C computes from the same numbers. */
#include <math.h>

#include "execute.h"

/* Random bits with a taste for edges. */
static uint64_t edgy(void)
{
    static const uint64_t edges[] = {0, 1, 2, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63,
                                     0x7fffffff, 0x80000000, 0xffffffff, UINT64_C(0x100000000), 31, 32, 33, 63, 64};
    uint64_t x = lab_draw();
    switch (lab_draw() % 4) {
    case 0:
        return edges[x % (sizeof edges / sizeof edges[0])];
    case 1:
        return x & 0xff;
    default:
        return x;
    }
}

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

enum { N = 1024 };

static void integers_64(void **state)
{
    (void)state;
    static const char source[] =
        LAB_KERNEL("const unsigned long long *a, const unsigned long long *b, unsigned long long *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned long long x = a[i], y = b[i]; "
        "long long s = x, t = y;\n"
        "  o += 16 * i;\n"
        "  o[0] = y ? x / y : 7; o[1] = y ? x % y : 7; o[2] = t && t != -1 ? s / t : 7; "
        "o[3] = t && t != -1 ? s % t : 7;\n"
        "  o[4] = x * y; o[5] = __umul64hi(x, y); o[6] = __mul64hi(s, t); o[7] = x << (y & 63); o[8] = x >> (y & 63);\n"
        "  o[9] = s >> (y & 63); o[10] = s < t; o[11] = x < y; o[12] = __popcll(x); o[13] = __clzll(x);\n"
        "  o[14] = __brevll(x); o[15] = __ffsll(x); }\n";
    struct lab lab;
    static uint64_t a[N], b[N], o[N][16];
    for (int i = 0; i < N; i++)
        a[i] = edgy(), b[i] = edgy();
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, b, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, b, sizeof b), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 128, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        uint64_t x = a[i], y = b[i];
        int64_t s = (int64_t)x, t = (int64_t)y;
        __extension__ typedef unsigned __int128 wide;
        __extension__ typedef __int128 signed_wide;
        uint64_t reversed = 0;
        for (int k = 0; k < 64; k++)
            reversed |= (x >> k & 1) << (63 - k);
        uint64_t want[16] = {y ? x / y : 7,
                             y ? x % y : 7,
                             t && t != -1 ? (uint64_t)(s / t) : 7,
                             t && t != -1 ? (uint64_t)(s % t) : 7,
                             x * y,
                             (uint64_t)((wide)x * y >> 64),
                             (uint64_t)((wide)((signed_wide)s * t) >> 64),
                             x << (y & 63),
                             x >> (y & 63),
                             (uint64_t)(s >> (y & 63)),
                             s < t,
                             x < y,
                             (uint64_t)__builtin_popcountll(x),
                             x ? (uint64_t)__builtin_clzll(x) : 64,
                             reversed,
                             (uint64_t)__builtin_ffsll((long long)x)};
        for (int k = 0; k < 16; k++)
            if (o[i][k] != want[k])
                fail_msg("%d of %llx, %llx: %llx, not %llx", k, (unsigned long long)x, (unsigned long long)y,
                         (unsigned long long)o[i][k], (unsigned long long)want[k]);
    }
    lab_close(&lab);
}

/* CUDA's __byte_perm drops the selector's sign bits. */
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t byte = (uint32_t)(bytes >> ((s >> (4 * i) & 7) * 8)) & 0xff;
        r |= byte << (8 * i);
    }
    return r;
}

static void integers_32(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const unsigned *a, const unsigned *b, const unsigned *c, unsigned *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned x = a[i], y = b[i], z = c[i]; int s = x, t = y;\n"
        "  o += 24 * i;\n"
        "  o[0] = y ? x / y : 7; o[1] = y ? x % y : 7; o[2] = t && t != -1 ? s / t : 7; "
        "o[3] = t && t != -1 ? s % t : 7;\n"
        "  o[4] = __umulhi(x, y); o[5] = __mulhi(s, t); o[6] = __byte_perm(x, y, z); o[7] = __funnelshift_l(x, y, z);\n"
        "  o[8] = __funnelshift_rc(x, y, z); o[9] = __dp4a(s, t, (int)z); o[10] = __usad(x, y, z); o[11] = min(s, t);\n"
        "  o[12] = max(x, y); o[13] = abs(s); o[14] = (unsigned char)x * (signed char)y; o[15] = (short)x >> (y & 7);\n"
        "  o[16] = (x & y) ^ (~z | x); o[17] = __popc(x); o[18] = __clz(x); o[19] = __vadd4(x, y); "
        "o[20] = __vmaxs2(x, y);\n"
        "  o[21] = __mul24(s, t); o[22] = (x >> 7) & 0x1f; o[23] = (int)(x << 11) >> 20; }\n";
    struct lab lab;
    static uint32_t a[N], b[N], c[N], o[N][24];
    for (int i = 0; i < N; i++)
        a[i] = (uint32_t)edgy(), b[i] = (uint32_t)edgy(), c[i] = (uint32_t)edgy();
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, b, c, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, b, sizeof b), lab_alloc(&lab, c, sizeof c),
           lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 256, 256, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        uint32_t x = a[i], y = b[i], z = c[i], shift = z & 31, clamped = z > 32 ? 32 : z;
        int32_t s = (int32_t)x, t = (int32_t)y;
        uint64_t both = (uint64_t)y << 32 | x;
        uint32_t dp = z, add4 = 0, max2 = 0;
        for (int k = 0; k < 4; k++) {
            dp += (uint32_t)((int8_t)(x >> (8 * k)) * (int8_t)(y >> (8 * k)));
            add4 |= (((x >> (8 * k)) + (y >> (8 * k))) & 0xff) << (8 * k);
        }
        for (int k = 0; k < 2; k++) {
            int16_t p2 = (int16_t)(x >> (16 * k)), q2 = (int16_t)(y >> (16 * k));
            max2 |= (uint32_t)(uint16_t)(p2 > q2 ? p2 : q2) << (16 * k);
        }
        uint32_t want[24] = {y ? x / y : 7,
                             y ? x % y : 7,
                             t && t != -1 ? (uint32_t)(s / t) : 7,
                             t && t != -1 ? (uint32_t)(s % t) : 7,
                             (uint32_t)((uint64_t)x * y >> 32),
                             (uint32_t)((uint64_t)((int64_t)s * t) >> 32),
                             permuted(x, y, z),
                             (uint32_t)(both << shift >> 32),
                             clamped == 32 ? y : (uint32_t)(both >> clamped),
                             dp,
                             (x > y ? x - y : y - x) + z,
                             (uint32_t)(s < t ? s : t),
                             x > y ? x : y,
                             s < 0 ? 0 - x : x,
                             (uint32_t)((int)(uint8_t)x * (int8_t)y),
                             (uint32_t)((int16_t)x >> (y & 7)),
                             (x & y) ^ (~z | x),
                             (uint32_t)__builtin_popcount(x),
                             x ? (uint32_t)__builtin_clz(x) : 32,
                             add4,
                             max2,
                             (uint32_t)((int64_t)((int32_t)(x << 8) >> 8) * ((int32_t)(y << 8) >> 8)),
                             x >> 7 & 0x1f,
                             (uint32_t)((int32_t)(x << 11) >> 20)};
        for (int k = 0; k < 24; k++)
            if (o[i][k] != want[k])
                fail_msg("%d of %x, %x, %x: %x, not %x", k, x, y, z, o[i][k], want[k]);
    }
    lab_close(&lab);
}

/* ---- Floats ------------------------------------------------------------------------------------------------------ */

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return f != f ? 0x7fffffff : bits;
}

static uint32_t float_bits(void)
{
    static const uint32_t edges[] = {0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0x3f800000, 0xbf800000, 0x3effffff, 0x4f000000};
    uint32_t x = (uint32_t)lab_draw();
    switch (lab_draw() % 4) {
    case 0:
        return edges[x % (sizeof edges / sizeof edges[0])];
    case 1:
        return bits_of((float)(int32_t)(x % 2000) - 1000.0f);
    case 2:
        return (x & 0x807fffff) | (0x70 + x % 32) << 23;
    default:
        return x;
    }
}

static void floats_exact(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const float *a, const float *b, const float *c, float *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; float x = a[i], y = b[i], z = c[i]; o += 16 * i;\n"
        "  o[0] = __fadd_rn(x, y); o[1] = __fmul_rn(x, y); o[2] = __fmaf_rn(x, y, z); o[3] = __fdiv_rn(x, y);\n"
        "  o[4] = __fsqrt_rn(x); o[5] = __frcp_rn(x); o[6] = fminf(x, y); o[7] = fmaxf(x, y); "
        "o[8] = x < y ? 1.f : 2.f;\n"
        "  o[9] = x != x ? 1.f : 2.f; o[10] = rintf(x); o[11] = floorf(x); o[12] = __fadd_rz(x, y);\n"
        "  o[13] = __fmaf_rd(x, y, z); o[14] = __fdiv_ru(x, y); o[15] = x - z; }\n";
    struct lab lab;
    static uint32_t a[N], b[N], c[N], o[N][16];
    for (int i = 0; i < N; i++)
        a[i] = float_bits(), b[i] = float_bits(), c[i] = float_bits();
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, b, c, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, b, sizeof b), lab_alloc(&lab, c, sizeof c),
           lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 256, 256, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        float x = float_of(a[i]), y = float_of(b[i]), z = float_of(c[i]);
        int more = !isnan(x) && !isnan(y);
        uint32_t want[12] = {bits_of(x + y),
                             bits_of(x * y),
                             bits_of(fmaf(x, y, z)),
                             bits_of(x / y),
                             bits_of(sqrtf(x)),
                             bits_of(1 / x),
                             more ? bits_of(fminf(x, y)) : 0,
                             more ? bits_of(fmaxf(x, y)) : 0,
                             bits_of(x < y ? 1.f : 2.f),
                             bits_of(x != x ? 1.f : 2.f),
                             bits_of(rintf(x)),
                             bits_of(floorf(x))};
        for (int k = 0; k < 12; k++) {
            if ((k == 6 || k == 7) && (!more || (x == 0 && y == 0)))
                continue;
            if (bits_of(float_of(o[i][k])) != want[k])
                fail_msg("%d of %a, %a, %a: %x, not %x", k, (double)x, (double)y, (double)z, o[i][k], want[k]);
        }
        /* directed roundings bracket the exact result */
        double sum = (double)x + y, quotient = (double)x / y;
        if (isfinite(sum) && fabs(sum) < 3e38 && (double)float_of(o[i][12]) != sum)
            assert_true(fabs((double)float_of(o[i][12])) <= fabs(sum));
        if (isfinite(quotient) && fabs(quotient) < 3e38)
            assert_true((double)float_of(o[i][14]) >= quotient);
        assert_int_equal(bits_of(float_of(o[i][15])), bits_of(x - z));
    }
    lab_close(&lab);
}

static void doubles(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const double *a, const double *b, double *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; double x = a[i], y = b[i]; o += 10 * i;\n"
        "  o[0] = x + y; o[1] = x * y; o[2] = fma(x, y, x); o[3] = x / y; o[4] = sqrt(fabs(x)); o[5] = fmin(x, y);\n"
        "  o[6] = (float)x; o[7] = (double)(long long)y; o[8] = floor(x); o[9] = exp(sin(x)); }\n";
    struct lab lab;
    static double a[N], b[N], o[N][10];
    for (int i = 0; i < N; i++) {
        a[i] = ((double)(int64_t)lab_draw()) * ldexp(1, (int)(lab_draw() % 40) - 70);
        b[i] = ((double)(int64_t)lab_draw()) * ldexp(1, (int)(lab_draw() % 40) - 70);
    }
    lab_open(&lab, "sm_80");
    struct {
        uint64_t a, b, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, b, sizeof b), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 128, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        double x = a[i], y = b[i];
        double want[9] = {x + y,   x * y,          fma(x, y, x),      x / y,   sqrt(fabs(x)), fmin(x, y),
                          (float)x, (double)(long long)y, floor(x)};
        for (int k = 0; k < 9; k++)
            if (o[i][k] != want[k])
                fail_msg("%d of %a, %a: %a, not %a", k, x, y, o[i][k], want[k]);
        assert_true(fabs(o[i][9] - exp(sin(x))) <= 2e-15);
    }
    lab_close(&lab);
}

static void approximations(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const float *a, float *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; float x = a[i]; o += 8 * i;\n"
        "  o[0] = __expf(x); o[1] = __logf(fabsf(x)); o[2] = __sinf(x); o[3] = __cosf(x); o[4] = rsqrtf(fabsf(x));\n"
        "  o[5] = tanhf(x); o[6] = __fdividef(x, 3.f); o[7] = expf(x) + logf(fabsf(x)) + sinf(x) + powf(fabsf(x), "
        "1.5f); }\n";
    struct lab lab;
    static float a[N], o[N][8];
    for (int i = 0; i < N; i++)
        a[i] = ((float)(lab_draw() % 200000) - 100000.0f) * 3e-5f + 1e-5f;
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 128, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        double x = a[i], m = fabs(x);
        double want[8] = {exp(x),      log(m),  sin(x), cos(x),
                          1 / sqrt(m), tanh(x), x / 3,  exp(x) + log(m) + sin(x) + pow(m, 1.5)};
        for (int k = 0; k < 8; k++)
            if (fabs(o[i][k] - want[k]) > 4e-6 * (1 + fabs(want[k])))
                fail_msg("%d of %g: %g, not %g", k, x, (double)o[i][k], want[k]);
    }
    lab_close(&lab);
}

/* ---- Conversions and halves -------------------------------------------------------------------------------------- */

static void conversions(void **state)
{
    (void)state;
    static const char source[] =
        "template <class T> __device__ unsigned w(T x) { unsigned r = 0; memcpy(&r, &x, sizeof x); return r; }\n"
        LAB_KERNEL("const float *a, unsigned *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; float x = a[i]; o += 16 * i; unsigned short h; unsigned r;\n"
        "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x)); o[0] = h;\n"
        "  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x)); o[1] = h;\n"
        "  asm(\"cvt.rz.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x)); o[2] = h;\n"
        "  asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;\" : \"=h\"(h) : \"f\"(x)); o[3] = h;\n"
        "  asm(\"cvt.rn.satfinite.e5m2x2.f32 %0, %1, %1;\" : \"=h\"(h) : \"f\"(x)); o[4] = h;\n"
        "  asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(x)); o[5] = r;\n"
        "  o[6] = (int)x; o[7] = __float2int_rn(x); o[8] = __float2uint_rd(x); o[9] = (unsigned)(signed char)(int)x;\n"
        "  o[10] = __float2ll_rz(x) >> 32; o[11] = __float_as_uint((float)(int)o[6]); "
        "o[12] = w((float)(long long)(x * 1e10f));\n"
        "  asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(x), \"f\"(-x)); o[13] = r;\n"
        "  asm(\"{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h;}\" : \"=r\"(r) : \"f\"(x)); o[14] = r;\n"
        "  asm(\"cvt.sat.f32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(x)); o[15] = r; }\n";
    struct lab lab;
    static uint32_t a[N], o[N][16];
    for (int i = 0; i < N; i++)
        a[i] = float_bits();
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 128, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        float x = float_of(a[i]);
        if (isnan(x))
            continue;
        uint16_t h;
        uint8_t e4, e5;
        float back;
        double limit = 9.2e18;
        tw_dtype_store(TW_FP16, &h, (double)x);
        assert_int_equal(o[i][0], h);
        back = (float)tw_dtype_load(TW_FP16, &h);
        assert_int_equal(o[i][14], bits_of(back));
        assert_true(fabs(tw_dtype_load(TW_FP16, (uint16_t[]){(uint16_t)o[i][2]})) <= fabs((double)x));
        tw_dtype_store(TW_BF16, &h, (double)x);
        assert_int_equal(o[i][1], h);
        assert_int_equal(o[i][13] >> 16, h);
        assert_int_equal(o[i][13] & 0xffff, h ^ 0x8000);
        tw_dtype_store(TW_FP8_E4M3, &e4, (double)x);
        assert_int_equal(o[i][3], e4 * 0x101);
        tw_dtype_store(TW_FP8_E5M2, &e5, (double)x);
        assert_int_equal(o[i][4], e5 * 0x101);
        if (isfinite(x))
            assert_int_equal(o[i][5], (a[i] + 0x1000) & ~0x1fffu);
        int32_t whole = x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : (int32_t)x;
        assert_int_equal((int32_t)o[i][6], whole);
        if (fabsf(x) < 1e9f) {
            assert_int_equal((int32_t)o[i][7], (int32_t)rintf(x));
            assert_int_equal(o[i][8], x < 0 ? 0 : (uint32_t)floorf(x));
        }
        assert_int_equal(o[i][9], (uint32_t)(int8_t)whole);
        if (fabs((double)x) < limit)
            assert_int_equal(o[i][10], (uint32_t)((uint64_t)(int64_t)x >> 32));
        assert_int_equal(o[i][11], bits_of((float)whole));
        if (fabs((double)(x * 1e10f)) < limit)
            assert_int_equal(o[i][12], bits_of((float)(int64_t)(x * 1e10f)));
        assert_int_equal(o[i][15], bits_of(x > 1 ? 1 : x > 0 ? x : 0));
    }
    lab_close(&lab);
}

static void halves(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const unsigned short *a, const unsigned short *b, unsigned *o")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned short x = a[i], y = b[i], r; unsigned w; "
        "o += 8 * i;\n"
        "  asm(\"add.f16 %0, %1, %2;\" : \"=h\"(r) : \"h\"(x), \"h\"(y)); o[0] = r;\n"
        "  asm(\"mul.f16 %0, %1, %2;\" : \"=h\"(r) : \"h\"(x), \"h\"(y)); o[1] = r;\n"
        "  asm(\"fma.rn.f16 %0, %1, %2, %1;\" : \"=h\"(r) : \"h\"(x), \"h\"(y)); o[2] = r;\n"
        "  asm(\"fma.rn.bf16 %0, %1, %2, %1;\" : \"=h\"(r) : \"h\"(x), \"h\"(y)); o[3] = r;\n"
        "  unsigned p = x | y << 16, q = y | x << 16;\n"
        "  asm(\"add.f16x2 %0, %1, %2;\" : \"=r\"(w) : \"r\"(p), \"r\"(q)); o[4] = w;\n"
        "  asm(\"max.bf16x2 %0, %1, %2;\" : \"=r\"(w) : \"r\"(p), \"r\"(q)); o[5] = w;\n"
        "  asm(\"{.reg .pred s, t; setp.lt.f16x2 s|t, %1, %2; selp.u32 %0, 1, 0, s; "
        "@t add.u32 %0, %0, 2;}\" : \"=r\"(w) : \"r\"(p), \"r\"(q)); o[6] = w;\n"
        "  asm(\"set.gt.f16x2.f16x2 %0, %1, %2;\" : \"=r\"(w) : \"r\"(p), \"r\"(q)); o[7] = w; }\n";
    struct lab lab;
    static uint16_t a[N], b[N];
    static uint32_t o[N][8];
    for (int i = 0; i < N; i++) {
        a[i] = (uint16_t)lab_draw();
        b[i] = i % 3 ? (uint16_t)lab_draw() : (uint16_t)(a[i] ^ (lab_draw() & 0x83ff));
    }
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, b, o;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, b, sizeof b), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, N / 128, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < N; i++) {
        double x = tw_dtype_load(TW_FP16, &a[i]), y = tw_dtype_load(TW_FP16, &b[i]);
        double s = tw_dtype_load(TW_BF16, &a[i]), t = tw_dtype_load(TW_BF16, &b[i]);
        uint16_t h;
        if (isnan(x) || isnan(y) || isnan(s) || isnan(t))
            continue;
        tw_dtype_store(TW_FP16, &h, x + y);
        if (h != 0 && h != 0x8000)
            assert_int_equal(o[i][0], h);
        assert_int_equal(o[i][4] & 0xffff, o[i][0]);
        assert_int_equal(o[i][4] >> 16, o[i][0]);
        tw_dtype_store(TW_FP16, &h, x * y);
        assert_int_equal(o[i][1], h);
        long double exact = (long double)x * y + x;
        if (isfinite((double)exact) && (long double)(double)exact == exact && exact != 0) {
            tw_dtype_store(TW_FP16, &h, (double)exact);
            if (o[i][2] != h)
                fail_msg("%a * %a + %a: %x, not %x", x, y, x, o[i][2], h);
        }
        exact = (long double)s * t + s;
        if (isfinite((double)exact) && fabs(t) > 1e-6 && fabs(t) < 1e6 && exact != 0) {
            tw_dtype_store(TW_BF16, &h, (double)exact);
            if (o[i][3] != h)
                fail_msg("%a * %a + %a: %x, not %x", s, t, s, o[i][3], h);
        }
        if (s != t) {
            h = s > t ? a[i] : b[i];
            assert_int_equal(o[i][5], h * 0x10001u);
        }
        assert_int_equal(o[i][6], (x < y) + 2 * (y < x));
        assert_int_equal(o[i][7], (x > y ? 0x3c00u : 0) | (y > x ? 0x3c000000u : 0));
    }
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_64),
        cmocka_unit_test(integers_32),
        cmocka_unit_test(floats_exact),
        cmocka_unit_test(doubles),
        cmocka_unit_test(approximations),
        cmocka_unit_test(conversions),
        cmocka_unit_test(halves),
    };
    return cmocka_run_group_tests_name("emu execute numbers", tests, NULL, NULL);
}
