// The math library: what NVRTC makes of it are sequences of PTX.

extern "C" __global__ void float_exact(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = in[(i + 1) % 256], *o = out + i * 16;
    o[0] = x / (y == 0 ? 1 : y);
    o[1] = sqrtf(fabsf(x));
    o[2] = __frcp_rn(x + 17);
    o[3] = fmodf(x, y + 0.3f);
    o[4] = remainderf(x, y + 0.7f);
    o[5] = floorf(x) + ceilf(y) * 2 + truncf(x * 3) + rintf(y * 5) + roundf(x * 7);
    o[6] = ldexpf(x, (int)y) + scalbnf(y, 3);
    o[7] = fmaf(x, y, -x);
    o[8] = nextafterf(x, y);
    o[9] = copysignf(x, y) + fdimf(x, y) + fminf(x, y) - fmaxf(x, y);
    int e;
    o[10] = frexpf(x, &e) + e;
    float whole;
    float part = modff(x * 1.7f, &whole);
    o[11] = part + whole * 2;
    o[12] = (float)ilogbf(x + 1000) + (isnan(x) ? 1 : 0) + (signbit(y) ? 2 : 0) + (isfinite(x) ? 4 : 0);
    o[13] = __fadd_rz(x, y * 1e-3f) - __fmul_ru(x, y) + __fdiv_rd(x, 3.0f) + __fsqrt_rz(fabsf(y));
    o[14] = (float)__float2int_rd(x * 100) + __float2uint_rn(fabsf(y)) + __int2float_rz((int)(x * 1e7f));
    o[15] = (float)lrintf(x * 9) + llroundf(y * 11) + __uint2float_ru(123456789u + i) +
            __ll2float_rn(123456789012345ll * i);
}

// Functions that use .approx instructions within.
extern "C" __global__ void float_near(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], a = fabsf(x) + 0.01f, *o = out + i * 32;
    o[0] = sinf(x), o[1] = cosf(x), o[2] = tanf(x * 0.3f), o[3] = expf(x), o[4] = logf(a), o[5] = powf(a, x);
    o[6] = exp2f(x), o[7] = log2f(a), o[8] = exp10f(x * 0.2f), o[9] = log10f(a), o[10] = log1pf(a),
    o[11] = expm1f(x * 0.1f);
    o[12] = sinhf(x * 0.5f), o[13] = coshf(x * 0.5f), o[14] = tanhf(x), o[15] = asinf(x * 0.1f),
    o[16] = acosf(x * 0.1f);
    o[17] = atanf(x), o[18] = atan2f(x, a - 1), o[19] = asinhf(x), o[20] = acoshf(1 + a), o[21] = atanhf(x * 0.1f);
    o[22] = erff(x), o[23] = erfcf(x * 0.5f), o[24] = lgammaf(a), o[25] = tgammaf(a), o[26] = cbrtf(x),
    o[27] = rsqrtf(a);
    o[28] = hypotf(x, a), o[29] = sinpif(x * 0.7f), o[30] = normcdff(x), o[31] = j0f(x);
}

// Far from zero: the argument is reduced with a table and 96-bit products.
extern "C" __global__ void float_reduction(const float *in, float *out)
{
    int i = threadIdx.x;
    float x = in[i] * 1e6f * (i + 1);
    out[i * 3] = sinf(x);
    out[i * 3 + 1] = cosf(x);
    out[i * 3 + 2] = tanf(x);
}

extern "C" __global__ void float_fast(const float *in, float *out)
{
    int i = threadIdx.x;
    float x = in[i], a = fabsf(x) + 0.5f, s, c, *o = out + i * 8;
    __sincosf(x, &s, &c);
    o[0] = s;
    o[1] = c;
    o[2] = __expf(x);
    o[3] = __logf(a);
    o[4] = __powf(a, x);
    o[5] = __fdividef(x, a);
    o[6] = __log2f(a) + __exp10f(x * 0.1f);
    o[7] = __tanf(x * 0.4f) + __saturatef(x);
}

extern "C" __global__ void double_exact(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i], y = in[(i + 1) % 128], *o = out + i * 10;
    o[0] = x / y;
    o[1] = sqrt(fabs(x));
    o[2] = fmod(x * 100, y);
    o[3] = remainder(x * 10, y);
    o[4] = floor(x) + ceil(y) * 2 + trunc(x * 3) + rint(y * 5) + round(x * 7);
    o[5] = fma(x, y, -x);
    o[6] = __dadd_ru(x, y * 1e-9) * __drcp_rn(y) - __ddiv_rz(x, y) + __dsqrt_rd(fabs(y));
    o[7] = (double)__double2ll_rn(x * 1e10) + __double2int_rz(y * 100) + __double2uint_ru(fabs(x));
    o[8] = __hiloint2double(__double2hiint(x), __double2loint(y)) + (float)x;
    o[9] = ldexp(x, (int)y) + logb(x) + copysign(x, y) + nextafter(x, y);
}

extern "C" __global__ void double_near(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i], a = fabs(x) + 0.01, *o = out + i * 24;
    o[0] = sin(x), o[1] = cos(x), o[2] = tan(x * 0.3), o[3] = exp(x), o[4] = log(a), o[5] = pow(a, x);
    o[6] = exp2(x), o[7] = log2(a), o[8] = exp10(x * 0.2), o[9] = log10(a), o[10] = log1p(a), o[11] = expm1(x * 0.1);
    o[12] = sinh(x * 0.5), o[13] = cosh(x * 0.5), o[14] = tanh(x), o[15] = asin(x * 0.1), o[16] = acos(x * 0.1);
    o[17] = atan2(x, a - 1), o[18] = erf(x), o[19] = erfc(x * 0.5), o[20] = lgamma(a), o[21] = tgamma(a),
    o[22] = cbrt(x);
    o[23] = rsqrt(a) + hypot(x, a) + sin(x * 1e9);
}

extern "C" __global__ void special_values(const unsigned *bits, unsigned *out)
{
    int i = threadIdx.x;
    float x = __uint_as_float(bits[i]), y = __uint_as_float(bits[(i + 5) % 64]);
    unsigned *o = out + i * 6;
    o[0] = (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | (x > y) << 4 | !(x >= y) << 5 | isnan(x) << 6 |
           isinf(y) << 7 | !(x < y || x >= y) << 8;
    o[1] = __float_as_uint(fminf(x, y)) & (isnan(fminf(x, y)) ? 0x7fc00000 : ~0u);
    o[2] = (unsigned)__float2int_rz(x);
    o[3] = __float2uint_rz(y);
    o[4] = (unsigned)(__float2ll_rn(x) >> 20);
    o[5] = __float_as_uint(x + y) & (isnan(x + y) ? 0x7fc00000 : ~0u);
}
