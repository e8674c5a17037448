// Atomics of all kinds, fences, volatile and ordered accesses.
struct pair { long long a, b; };
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d, int *out)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    int r = atomicAdd(i, 1) + atomicSub(i, 2) + atomicExch(i, 3) + atomicMin(i, -4) + atomicMax(i, 5);
    r += atomicInc(u, 6) + atomicDec(u, 7) + atomicCAS(u, 8, 9) + atomicAnd(u, 10) + atomicOr(u, 11) + atomicXor(u, 12);
    r += (int)atomicAdd(l, 13ull) + (int)atomicCAS(l, 14ull, 15ull) + (int)atomicMax((long long *)l, -16ll);
    atomicAdd(f, 1.5f);
    atomicAdd(d, 2.5);
    r += atomicAdd(&s, 17) + atomicAdd_block(i, 18) + atomicAdd_system(i, 19);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    volatile int *v = i;
    *v = *v + 1;
    int seen;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(i) : "memory");
    asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(i), "r"(seen) : "memory");
    asm volatile("st.relaxed.cluster.s32 [%0+4], -1;" ::"l"(i) : "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0], 1; atom.acq_rel.cta.shared.or.b32 %1, [%2], 3;"
                 ::"l"(i), "r"(seen), "r"(seen) : "memory");
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1; red.global.add.v4.f32 [%0], {%2, %2, %2, %2};" ::"l"(i),
                 "r"(r), "f"(1.f) : "memory");
    out[threadIdx.x] = r + seen;
}
