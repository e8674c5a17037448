// mma.sync, ldmatrix, stmatrix and wgmma of every family.
extern "C" __global__ void matrix(unsigned *in, float *out, unsigned long long a, unsigned long long b)
{
    __shared__ alignas(128) unsigned tile[1024];
    unsigned s = (unsigned)__cvta_generic_to_shared(tile), r[4], t = threadIdx.x;
    float c[4] = {0, 0, 0, 0};
    double d[2] = {0, 0}, e = out[0];
    int i[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s + t * 16));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%0}, [%1+64];" : "=r"(r[0]) : "r"(s));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, "
                 "{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, "
                 "{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%0,%1,%2,%3}, {%0,%1}, {%2,%3};"
                 : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, "
                 "{%0,%1,%2,%3};" : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};" : "+d"(d[0]), "+d"(d[1])
                 : "d"(e));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(s), "r"(r[0]), "r"(r[1]));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r[0]));
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, "
                 "%4, %5, p, 1, -1, 0, 1; }" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b), "r"(t));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%0,%1,%2,%3},"
                 " {%4,%5,%6,%7}, %8, p, 1, 1; }" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b), "r"(t));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%0,%1,%2,%3}, %4, %5, 1;" : "+r"(i[0]), "+r"(i[1]),
                 "+r"(i[2]), "+r"(i[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    out[t] = c[0] + c[1] + c[2] + c[3] + d[0] + d[1] + i[0] + i[1] + i[2] + i[3] + r[0];
}
