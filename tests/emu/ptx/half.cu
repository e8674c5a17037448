// Half, bfloat16, fp8 and tf32 arithmetic by inline assembly, each in a scope of its own with the same names.
extern "C" __global__ void half(unsigned *h, float *f, unsigned short *b)
{
    int t = threadIdx.x;
    unsigned x = h[t], y = h[t + 1], z;
    asm("{ .reg .b32 t; mul.rn.f16x2 t, %1, %2; add.f16x2 %0, t, %1; }" : "=r"(z) : "r"(x), "r"(y));
    asm("{ .reg .b32 t; fma.rn.relu.bf16x2 t, %1, %2, %0; max.NaN.bf16x2 %0, t, %1; }" : "+r"(z) : "r"(x), "r"(y));
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %0; cvt.f32.f16 %1, a; cvt.f32.bf16 %2, b; }"
        : "+r"(z), "=f"(f[0]), "=f"(f[1]));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(f[t]), "f"(f[t + 1]));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(f[t]), "f"(f[t + 1]));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(b[t]) : "f"(f[t]), "f"(f[t + 1]));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(z) : "h"(b[t]));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(h[t + 9]) : "f"(f[t]));
    asm("{ .reg .pred p, q; .reg .b16 a, c; mov.b32 {a, c}, %0; setp.lt.f16 p, a, c; setp.gt.and.f16x2 p|q, %0, %1, p;"
        " selp.b32 %0, %0, %1, q; ex2.approx.f16 a, a; tanh.approx.bf16x2 %0, %0; neg.bf16 c, c;"
        " mov.b32 %0, {a, c}; }" : "+r"(z) : "r"(y));
    asm("cvt.rn.f16.f32 %0, %1; cvt.rz.bf16.f32 %0, %1; cvt.rni.s32.f32 %2, %1;" : "=h"(b[t + 1]) : "f"(f[t]), "r"(t));
    h[t] = x + y + z;
}
