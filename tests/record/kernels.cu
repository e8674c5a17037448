// What tests/record/program.c launches; kernels.ptx is made of it:
//   nvcc -arch=compute_90 -ptx -fmad=false tests/record/kernels.cu -o tests/record/kernels.ptx
#include <cuda.h>

extern "C" __device__ float bias[4] = {1, 2, 3, 4};

extern "C" __global__ void scale(float *x, float by, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] = x[i] * by + bias[i % 4];
}

extern "C" __global__ void tile(const __grid_constant__ CUtensorMap map, float *out)
{
    __shared__ alignas(128) float held[16 * 16];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned at = (unsigned)__cvta_generic_to_shared(held), full = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(full) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(at),
                     "l"(&map), "r"(16), "r"(16 * (int)blockIdx.x), "r"(full)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}" ::"r"(
                     full)
                 : "memory");
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        out[256 * blockIdx.x + i] = held[i];
}
