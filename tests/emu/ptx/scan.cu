// An inclusive scan with match, redux, masks and named barriers.
extern "C" __global__ void scan(const int *in, int *out, unsigned long long *keys)
{
    extern __shared__ int shared[];
    int lane = threadIdx.x & 31, value = in[threadIdx.x], pred;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, value, d, 16);
        if (lane >= d)
            value += other;
    }
    shared[threadIdx.x] = value;
    asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory");
    asm volatile("barrier.sync.aligned 2; bar.arrive 3, 64; bar.warp.sync 0xffffffff;" ::: "memory");
    unsigned same = __match_any_sync(__activemask(), value), both = __match_all_sync(~0u, keys[lane], &pred);
    int most = __reduce_max_sync(~0u, value);
    unsigned bits = __reduce_or_sync(~0u, (unsigned)value);
    int from, who;
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(from));
    asm("mov.u32 %0, %warpid;" : "=r"(who));
    out[threadIdx.x] = shared[threadIdx.x ^ 1] + same + both + pred + most + bits + from + who +
                       __shfl_sync(~0u, value, lane ^ 3) + __popc(bits) + __clz(bits) + __ffs(bits) + __brev(bits);
}
