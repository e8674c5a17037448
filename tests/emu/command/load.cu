// One box of a tensor map into shared memory by TMA, and from there to out.
struct alignas(64) tensor_map { unsigned char bytes[128]; };

extern "C" __global__ void load(const __grid_constant__ tensor_map map, const unsigned char *tensor,
                                unsigned int *out, int x, int y)
{
    alignas(1024) __shared__ unsigned int tile[512];
    __shared__ unsigned long long full;
    unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&full));
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(2048) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];"
                     :: "r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
    }
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again;\n"
                 "}" :: "r"(barrier) : "memory");
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
        out[i] = tile[i];
}
