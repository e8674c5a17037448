// Integer and floating-point division and remainder, wide products, conversions.
extern "C" __global__ void division(long long *l, unsigned long long *u, int *i, double *d, float *f, short *s)
{
    int t = threadIdx.x;
    l[t] = l[t] / l[t + 1] + l[t] % l[t + 2] + __mul64hi(l[t], l[t + 3]);
    u[t] = u[t] / u[t + 1] + u[t] % 1000003ull + __umul64hi(u[t], u[t + 3]);
    i[t] = i[t] / i[t + 1] + i[t] % 7 + __mulhi(i[t], i[t + 2]) + __mul24(i[t], i[t + 3]) + (i[t] >> 3) +
           __byte_perm(i[t], i[t + 1], 0x3175) + __funnelshift_l(i[t], i[t + 1], 5) + __dp4a(i[t], i[t + 1], i[t + 2]) +
           __sad(i[t], 5, 6u) + abs(i[t]) + min(i[t], 8) + __vadd2(i[t], 3);
    d[t] = d[t] / d[t + 1] + sqrt(d[t]) + (double)l[t] + __fma_rz(d[t], d[t], 1.0) + floor(d[t]);
    f[t] = f[t] / f[t + 1] + sqrtf(f[t]) + __fdividef(f[t], 3) + rsqrtf(f[t]) + __expf(f[t]) + __logf(f[t]) +
           __sinf(f[t]) + __saturatef(f[t]) + rintf(f[t]) + __fmul_rd(f[t], 2) + copysignf(1.f, f[t]) +
           (float)(unsigned char)i[t] + (float)u[t] + sinf(f[t]) + fmaxf(f[t], 1);
    s[t] = (short)(s[t] * 3 + (short)f[t] + (isnan(f[t]) ? 1 : 2)) / 5;
}
