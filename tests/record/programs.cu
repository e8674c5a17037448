// Programs whose launches are recorded: programs NAME.
//   add        c = a + b, three launches, the second with other numbers
//   variables  a kernel that reads a __constant__ and a __device__ variable and changes the latter
//   struct     pointers in a struct, one of them into the middle of an allocation
//   race       a block is reversed through shared memory without a barrier
//   map        a tile by a tensor map
//   cluster    blocks of a cluster read each other's shared memory
//   pinned     memory of the host's
//   graph      a launch that is captured
//   cooperative  a grid that meets, with dynamic shared memory
//   bad        a launch that goes out of bounds
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

enum { N = 1024, THREADS = 128 };

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__constant__ int factor[4] = {1, 2, 3, 4};
__device__ int counts[THREADS];

extern "C" __global__ void count(int *out)
{
    counts[threadIdx.x] += factor[threadIdx.x % 4];
    out[threadIdx.x] = counts[threadIdx.x];
}

struct pointers {
    int first;
    const int *from;
    int *to;
};

extern "C" __global__ void follow(pointers p)
{
    p.to[threadIdx.x] = p.from[threadIdx.x] + p.first;
}

extern "C" __global__ void reverse(int *x)
{
    __shared__ int held[THREADS];
    held[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = held[THREADS - 1 - threadIdx.x]; // the race
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

extern "C" __global__ void __cluster_dims__(2) neighbours(int *out)
{
    namespace cg = cooperative_groups;
    __shared__ int own;
    if (threadIdx.x == 0)
        own = 10 + blockIdx.x;
    cg::this_cluster().sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = *cg::this_cluster().map_shared_rank(&own, cg::this_cluster().block_rank() ^ 1);
    cg::this_cluster().sync();
}

extern "C" __global__ void together(int *x, int *sum)
{
    extern __shared__ int held[];
    held[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < blockDim.x; i++)
            atomicAdd(sum, held[i]);
    cooperative_groups::this_grid().sync();
    x[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int *)sum - held[threadIdx.x];
}

extern "C" __global__ void beyond(int *x)
{
    x[threadIdx.x + 1000000] = 1;
}

template <typename T> static T *filled(int count, int first)
{
    T *device, *host = (T *)malloc(count * sizeof(T));
    for (int i = 0; i < count; i++)
        host[i] = (T)(first + i % 97);
    cudaMalloc(&device, count * sizeof(T));
    cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return device;
}

static int map()
{
    CUtensorMap m;
    float *from = filled<float>(64 * 64, 1), *to = filled<float>(4 * 256, 0);
    cuuint64_t dim[2] = {64, 64}, stride[1] = {256};
    cuuint32_t box[2] = {16, 16}, one[2] = {1, 1};
    void *entry;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    CUresult result = ((decltype(&cuTensorMapEncodeTiled))entry)(
        &m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, from, dim, stride, box, one, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    tile<<<4, THREADS>>>(m, to);
    return result;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int failed = 0;
    if (strcmp(what, "add") == 0) {
        float *a = filled<float>(N, 1), *b = filled<float>(N, 5), *c = filled<float>(N, 0);
        add<<<N / THREADS, THREADS>>>(a, b, c, N);
        add<<<N / THREADS, THREADS>>>(c, b, a, N - 3);
        add<<<N / THREADS, THREADS>>>(a, a, c, N);
    } else if (strcmp(what, "variables") == 0) {
        int *out = filled<int>(THREADS, 0), other[4] = {9, 8, 7, 6};
        count<<<1, THREADS>>>(out);
        cudaMemcpyToSymbol(factor, other, sizeof other);
        count<<<1, THREADS>>>(out);
    } else if (strcmp(what, "struct") == 0) {
        int *x = filled<int>(N, 3), *y = filled<int>(THREADS, 0);
        follow<<<1, THREADS>>>(pointers{7, x + 100, y});
    } else if (strcmp(what, "race") == 0) {
        reverse<<<1, THREADS>>>(filled<int>(THREADS, 0));
    } else if (strcmp(what, "map") == 0) {
        failed = map();
    } else if (strcmp(what, "cluster") == 0) {
        neighbours<<<4, 32>>>(filled<int>(4, 0));
    } else if (strcmp(what, "pinned") == 0) {
        float *a, *b = filled<float>(N, 5);
        cudaMallocHost(&a, N * sizeof *a);
        for (int i = 0; i < N; i++)
            a[i] = (float)i;
        add<<<N / THREADS, THREADS>>>(a, b, b, N);
    } else if (strcmp(what, "graph") == 0) {
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        float *a = filled<float>(N, 1);
        cudaStreamCreate(&stream);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        add<<<N / THREADS, THREADS, 0, stream>>>(a, a, a, N);
        cudaStreamEndCapture(stream, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, stream);
    } else if (strcmp(what, "cooperative") == 0) {
        int *x = filled<int>(4 * THREADS, 1), *sum = filled<int>(1, 0);
        void *arguments[] = {&x, &sum};
        failed = cudaLaunchCooperativeKernel((const void *)together, dim3(4), dim3(THREADS), arguments,
                                             THREADS * sizeof(int), 0);
    } else if (strcmp(what, "bad") == 0) {
        beyond<<<1, THREADS>>>(filled<int>(THREADS, 0));
    }
    failed |= cudaDeviceSynchronize();
    printf("%s %s\n", what, failed ? "failed" : "done");
    return failed != 0;
}
