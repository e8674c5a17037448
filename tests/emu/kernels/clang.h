// What clang needs in place of CUDA's headers to compile the kernels here; see list.def.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
typedef unsigned long size_t;
#define CUDA_VERSION 11000
#define D static __device__ __forceinline__
struct R3 {
    unsigned x, y, z;
};
#define B(n) __nvvm_read_ptx_sreg_##n
struct TI {
    __declspec(property(get = gx)) unsigned x;
    __declspec(property(get = gy)) unsigned y;
    __declspec(property(get = gz)) unsigned z;
    D unsigned gx()
    {
        return B(tid_x)();
    }
    D unsigned gy()
    {
        return B(tid_y)();
    }
    D unsigned gz()
    {
        return B(tid_z)();
    }
};
struct BI {
    __declspec(property(get = gx)) unsigned x;
    __declspec(property(get = gy)) unsigned y;
    __declspec(property(get = gz)) unsigned z;
    D unsigned gx()
    {
        return B(ctaid_x)();
    }
    D unsigned gy()
    {
        return B(ctaid_y)();
    }
    D unsigned gz()
    {
        return B(ctaid_z)();
    }
};
struct BD {
    __declspec(property(get = gx)) unsigned x;
    __declspec(property(get = gy)) unsigned y;
    __declspec(property(get = gz)) unsigned z;
    D unsigned gx()
    {
        return B(ntid_x)();
    }
    D unsigned gy()
    {
        return B(ntid_y)();
    }
    D unsigned gz()
    {
        return B(ntid_z)();
    }
};
struct GD {
    __declspec(property(get = gx)) unsigned x;
    __declspec(property(get = gy)) unsigned y;
    __declspec(property(get = gz)) unsigned z;
    D unsigned gx()
    {
        return B(nctaid_x)();
    }
    D unsigned gy()
    {
        return B(nctaid_y)();
    }
    D unsigned gz()
    {
        return B(nctaid_z)();
    }
};
extern const __device__ __attribute__((weak)) TI threadIdx;
extern const __device__ __attribute__((weak)) BI blockIdx;
extern const __device__ __attribute__((weak)) BD blockDim;
extern const __device__ __attribute__((weak)) GD gridDim;
#define SH(n, b, c)                                                                                                    \
    D int __shfl_##n##_sync(unsigned m, int v, int o, int w = 32)                                                      \
    {                                                                                                                  \
        return __nvvm_shfl_sync_##b##_i32(m, v, o, ((32 - w) << 8) | c);                                               \
    }                                                                                                                  \
    D unsigned __shfl_##n##_sync(unsigned m, unsigned v, int o, int w = 32)                                            \
    {                                                                                                                  \
        return (unsigned)__shfl_##n##_sync(m, (int)v, o, w);                                                           \
    }                                                                                                                  \
    D float __shfl_##n##_sync(unsigned m, float v, int o, int w = 32)                                                  \
    {                                                                                                                  \
        return __int_as_float_(__shfl_##n##_sync(m, __float_as_int_(v), o, w));                                        \
    }                                                                                                                  \
    D long long __shfl_##n##_sync(unsigned m, long long v, int o, int w = 32)                                          \
    {                                                                                                                  \
        unsigned a = v, b2 = v >> 32;                                                                                  \
        a = __shfl_##n##_sync(m, a, o, w);                                                                             \
        b2 = __shfl_##n##_sync(m, b2, o, w);                                                                           \
        return (long long)((unsigned long long)b2 << 32 | a);                                                          \
    }                                                                                                                  \
    D double __shfl_##n##_sync(unsigned m, double v, int o, int w = 32)                                                \
    {                                                                                                                  \
        long long t;                                                                                                   \
        __builtin_memcpy(&t, &v, 8);
t = __shfl_##n##_sync(m, t, o, w);
__builtin_memcpy(&v, &t, 8);
return v;
}
D int __float_as_int_(float f)
{
    int i;
    __builtin_memcpy(&i, &f, 4);
    return i;
}
D float __int_as_float_(int f)
{
    float i;
    __builtin_memcpy(&i, &f, 4);
    return i;
}
SH(down, down, 0x1f)
SH(up, up, 0) SH(xor, bfly, 0x1f) SH(idx, idx, 0x1f)
#define __shfl_sync __shfl_idx_sync
    D int __syncthreads_count(int p)
{
    return __nvvm_bar0_popc(p);
}
D int __syncthreads_and(int p)
{
    return __nvvm_bar0_and(p);
}
D int __syncthreads_or(int p)
{
    return __nvvm_bar0_or(p);
}
D void __syncwarp(unsigned m = -1)
{
    __nvvm_bar_warp_sync(m);
}
D void __threadfence()
{
    __nvvm_membar_gl();
}
D void __threadfence_block()
{
    __nvvm_membar_cta();
}
D unsigned __ballot_sync(unsigned m, int p)
{
    return __nvvm_vote_ballot_sync(m, p);
}
D unsigned __match_any_sync(unsigned m, unsigned v)
{
    return __nvvm_match_any_sync_i32(m, v);
}
D unsigned __activemask()
{
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r));
    return r;
}
D int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
D int __clz(int x)
{
    return x ? __builtin_clz(x) : 32;
}
D int __ffs(int x)
{
    return __builtin_ffs(x);
}
D int max(int a, int b)
{
    return a > b ? a : b;
}
D int min(int a, int b)
{
    return a < b ? a : b;
}
D float fminf(float a, float b)
{
    return __nvvm_fmin_f(a, b);
}
D float fmaxf(float a, float b)
{
    return __nvvm_fmax_f(a, b);
}
D int atomicAdd(int *p, int v)
{
    return __nvvm_atom_add_gen_i(p, v);
}
D unsigned atomicAdd(unsigned *p, unsigned v)
{
    return __nvvm_atom_add_gen_i((int *)p, v);
}
D unsigned atomicSub(unsigned *p, unsigned v)
{
    return __nvvm_atom_add_gen_i((int *)p, -v);
}
D unsigned atomicInc(unsigned *p, unsigned v)
{
    return __nvvm_atom_inc_gen_ui(p, v);
}
D unsigned atomicCAS(unsigned *p, unsigned c, unsigned v)
{
    return __nvvm_atom_cas_gen_i((int *)p, c, v);
}
D int atomicCAS(int *p, int c, int v)
{
    return __nvvm_atom_cas_gen_i(p, c, v);
}
D unsigned atomicExch(unsigned *p, unsigned v)
{
    return __nvvm_atom_xchg_gen_i((int *)p, v);
}
D int atomicExch(int *p, int v)
{
    return __nvvm_atom_xchg_gen_i(p, v);
}
#define RX(n, T, k)                                                                                                    \
    D T __reduce_##n##_sync(unsigned m, T v)                                                                           \
    {                                                                                                                  \
        T r; asm volatile("redux.sync." k " %0, %1, %2;"
    : "=r"(r) : "r"(v), "r"(m));
    return r;
    }
    RX(add, unsigned, "add.u32")
    RX(min, unsigned, "min.u32") RX(min, int, "min.s32") RX(max, int, "max.s32") RX(and, unsigned, "and.b32")
        RX(or, unsigned, "or.b32") RX(xor, unsigned, "xor.b32")
#define __syncthreads() asm volatile("bar.sync 0;" ::: "memory")
