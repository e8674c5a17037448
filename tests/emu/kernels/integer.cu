// Integers: division, wide arithmetic, bits.
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned __int128 u128;

extern "C" __global__ void divisions(const u64 *a, const u64 *b, u64 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = a[i], y = b[i] | 1, *o = out + i * 12;
    s64 s = (s64)x >> 1, t = (s64)y >> (i % 40);
    unsigned u = (unsigned)x, v = (unsigned)y;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = t ? s / t : 0;
    o[3] = t ? s % t : 0;
    o[4] = x / v;
    o[5] = u / v;
    o[6] = u % (v >> 20 | 1);
    o[7] = (int)u / (int)(v >> 9 | 1);
    o[8] = x / 1000000007;
    o[9] = s % 10;
    o[10] = (short)u / (short)(v & 0xff | 1);
    o[11] = (unsigned char)u % (unsigned char)(v | 1);
}

extern "C" __global__ void wide(const u64 *a, const u64 *b, u64 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u128 x = (u128)a[i] << 64 | b[i], y = (u128)b[(i + 1) % 64] << (i % 64) | 1, p = (u128)a[i] * b[i], r[8];
    r[0] = x + y;
    r[1] = x - y;
    r[2] = x * y;
    r[3] = x / y;
    r[4] = x % y;
    r[5] = x << (i % 128) ^ y >> (i % 100);
    r[6] = p;
    r[7] = (u128)((__int128)x / -(__int128)(y >> 70 | 3));
    for (int k = 0; k < 8; k++) {
        out[i * 16 + 2 * k] = (u64)r[k];
        out[i * 16 + 2 * k + 1] = (u64)(r[k] >> 64);
    }
}

// 256-bit numbers in eight words with the carry flag.
extern "C" __global__ void carries(const unsigned *in, unsigned *out)
{
    int i = threadIdx.x;
    unsigned a[8], b[8], s[8], p[4];
    for (int k = 0; k < 8; k++)
        a[k] = in[i * 16 + k], b[k] = in[i * 16 + 8 + k];
    asm("add.cc.u32 %0, %8, %16;\n\taddc.cc.u32 %1, %9, %17;\n\taddc.cc.u32 %2, %10, %18;\n\taddc.cc.u32 %3, %11, "
        "%19;\n\t"
        "addc.cc.u32 %4, %12, %20;\n\taddc.cc.u32 %5, %13, %21;\n\taddc.cc.u32 %6, %14, %22;\n\taddc.u32 %7, %15, %23;"
        : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]),
          "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    asm("{\n\tmul.lo.u32 %0, %4, %6;\n\tmul.hi.u32 %1, %4, %6;\n\tmad.lo.cc.u32 %1, %4, %7, %1;\n\t"
        "madc.hi.u32 %2, %4, %7, 0;\n\tmad.lo.cc.u32 %1, %5, %6, %1;\n\tmadc.hi.cc.u32 %2, %5, %6, %2;\n\t"
        "addc.u32 %3, 0, 0;\n\tmad.lo.cc.u32 %2, %5, %7, %2;\n\tmadc.hi.u32 %3, %5, %7, %3;\n\t}"
        : "=&r"(p[0]), "=&r"(p[1]), "=&r"(p[2]), "=&r"(p[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    unsigned d0, d1, borrow;
    asm("sub.cc.u32 %0, %3, %5;\n\tsubc.cc.u32 %1, %4, %6;\n\tsubc.u32 %2, 0, 0;"
        : "=r"(d0), "=r"(d1), "=r"(borrow)
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    for (int k = 0; k < 8; k++)
        out[i * 16 + k] = s[k];
    for (int k = 0; k < 4; k++)
        out[i * 16 + 8 + k] = p[k];
    out[i * 16 + 12] = d0;
    out[i * 16 + 13] = d1;
    out[i * 16 + 14] = borrow;
    out[i * 16 + 15] = 0;
}

__device__ u64 multiply_modulo(u64 a, u64 b, u64 m)
{
    return (u64)((u128)a * b % m);
}

__device__ u64 power_modulo(u64 a, u64 n, u64 m)
{
    u64 r = 1;
    for (a %= m; n; n >>= 1, a = multiply_modulo(a, a, m))
        if (n & 1)
            r = multiply_modulo(r, a, m);
    return r;
}

// Miller-Rabin on 64-bit numbers.
extern "C" __global__ void primes(u64 start, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 n = start + 2 * i, d = n - 1;
    int s = 0;
    bool prime = true;
    while (!(d & 1))
        d >>= 1, s++;
    const u64 bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    for (int k = 0; k < 12 && prime; k++) {
        u64 x = power_modulo(bases[k], d, n);
        bool ok = x == 1 || x == n - 1;
        for (int r = 1; r < s && !ok; r++) {
            x = multiply_modulo(x, x, n);
            ok = x == n - 1;
        }
        prime = ok;
    }
    out[i] = prime;
}

struct packed {
    unsigned a : 3;
    signed b : 7;
    unsigned c : 12;
    u64 d : 40;
    bool e : 1;
};

union view {
    u64 whole;
    unsigned words[2];
    unsigned short halves[4];
    unsigned char bytes[8];
};

extern "C" __global__ void bits(const u64 *in, u64 *out)
{
    int i = threadIdx.x;
    u64 x = in[i], *o = out + i * 16;
    unsigned lo = (unsigned)x, hi = (unsigned)(x >> 32);
    packed p;
    p.a = lo;
    p.b = (int)hi;
    p.c = lo >> 7;
    p.d = x >> 13;
    p.e = lo >> 31;
    view v;
    v.whole = x;
    o[0] = p.a + (s64)p.b * 3 + p.c * 5;
    o[1] = p.d - p.e;
    o[2] = v.bytes[i % 8] + v.halves[i % 4] * 256ull + v.words[i % 2];
    o[3] = __popc(lo) | __popcll(x) << 8 | __clz(lo) << 16 | (u64)__clzll(x) << 32;
    o[4] = __brev(lo) | (u64)__ffs(hi) << 32;
    o[5] = __brevll(x);
    o[6] = __byte_perm(lo, hi, 0x3715);
    o[7] = __funnelshift_l(lo, hi, i) | (u64)__funnelshift_r(lo, hi, i) << 32;
    o[8] = __mulhi((int)lo, (int)hi) ^ (u64)__umulhi(lo, hi) << 20;
    o[9] = __umul64hi(x, x * 3) + __mul64hi((s64)x, -5);
    o[10] = __sad((int)lo, (int)hi, 9) + __usad(lo, hi, 1);
    o[11] = __hadd((int)lo, (int)hi) + (u64)__uhadd(lo, hi) + __urhadd(lo, hi);
    o[12] = __dp4a((int)lo, (int)hi, 5) + (u64)__dp4a(lo, hi, 7u) + __dp2a_lo((int)lo, (int)hi, 1);
    o[13] = __vadd2(lo, hi) | (u64)__vsubus4(lo, hi) << 32;
    o[14] = __vmaxu4(lo, hi) ^ __vcmpgts2(lo, hi) ^ (u64)__vabsdiffu4(lo, hi) << 32;
    o[15] = (u64)max((s64)x, 5ll) + min((int)lo, (int)hi) + (u64)abs((int)lo) + llabs((s64)x) + __vavgu2(lo, hi);
}

extern "C" __global__ void narrow(const signed char *a, const unsigned short *b, int *out)
{
    int i = threadIdx.x;
    signed char c = a[i];
    unsigned char u = (unsigned char)c;
    short s = (short)b[i];
    c += 100;
    u *= 3;
    s <<= 2;
    bool flag = c;
    out[i * 4] = c * u + s;
    out[i * 4 + 1] = (u >> 1) - (c >> 1) + flag;
    out[i * 4 + 2] = (short)(s * s) ^ (signed char)(b[i] >> 3);
    out[i * 4 + 3] = ++u + --c + (char)~s;
}

__device__ u64 greatest_divisor(u64 a, u64 b)
{
    while (b) {
        u64 t = a % b;
        a = b;
        b = t;
    }
    return a;
}

extern "C" __global__ void divisors(const u64 *a, const u64 *b, u64 *gcd, unsigned *root)
{
    int i = threadIdx.x;
    u64 x = a[i], low = 0, high = 1ull << 32;
    gcd[i] = greatest_divisor(x, b[i]);
    while (high - low > 1) {
        u64 mid = (low + high) / 2;
        if (mid * mid <= x)
            low = mid;
        else
            high = mid;
    }
    root[i] = (unsigned)low;
}

#define VIDEO(n, text)                                                                                                 \
    asm(text " %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));                                                   \
    o[n] = r;

// The instructions on two and four parts of a word.
extern "C" __global__ void video(const unsigned *in, unsigned *o)
{
    unsigned x = in[threadIdx.x], y = in[threadIdx.x + 64], z = in[threadIdx.x + 128], r;
    o += threadIdx.x * 32;
    VIDEO(0, "vadd2.u32.u32.u32")
    VIDEO(1, "vadd4.s32.s32.u32.sat") VIDEO(2, "vadd4.u32.s32.s32.add") VIDEO(3, "vadd2.s32.u32.u32.sat")
        VIDEO(4, "vsub2.s32.s32.s32") VIDEO(5, "vsub4.u32.u32.u32.sat") VIDEO(6, "vsub4.s32.u32.u32.add")
            VIDEO(7, "vsub2.u32.s32.u32.sat") VIDEO(8, "vavrg2.s32.s32.s32") VIDEO(9, "vavrg4.u32.u32.u32")
                VIDEO(10, "vavrg4.s32.s32.s32") VIDEO(11, "vavrg2.u32.u32.u32.add") VIDEO(12, "vabsdiff2.u32.u32.u32")
                    VIDEO(13, "vabsdiff4.s32.s32.s32.sat") VIDEO(14, "vabsdiff4.u32.u32.u32.add")
                        VIDEO(15, "vabsdiff2.u32.s32.s32") VIDEO(16, "vmin2.s32.s32.s32") VIDEO(17, "vmin4.u32.u32.s32")
                            VIDEO(18, "vmin4.u32.s32.s32.sat") VIDEO(19, "vmin2.u32.u32.u32.add")
                                VIDEO(20, "vmax2.s32.s32.u32") VIDEO(21, "vmax4.u32.u32.u32")
                                    VIDEO(22, "vmax4.s32.s32.s32.add") VIDEO(23, "vmax2.u32.s32.s32.sat")
                                        VIDEO(24, "vset2.u32.u32.lt") VIDEO(25, "vset4.s32.s32.ge")
                                            VIDEO(26, "vset4.u32.u32.eq.add") VIDEO(27, "vset2.s32.s32.ne")
                                                VIDEO(28, "vset4.u32.s32.gt") VIDEO(29, "vset2.s32.s32.le.add")
                                                    VIDEO(30, "vabsdiff4.u32.u32.u32") o[31] = z;
}
