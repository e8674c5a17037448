// What programs do with the CUDA runtime, and what comes of it, held against the host. Each part says "right NAME".
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cg = cooperative_groups;

static const char *part = "";

static void fail(int line, const char *what)
{
    printf("wrong %s: line %d: %s\n", part, line, what);
    exit(1);
}
#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_ != cudaSuccess)                                   \
            fail(__LINE__, cudaGetErrorString(error_));              \
    } while (0)
#define WANT(condition)                                              \
    do {                                                             \
        if (!(condition))                                            \
            fail(__LINE__, #condition);                              \
    } while (0)

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void scale(int *x, int by)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}

static void vectors()
{
    enum { N = 300 };
    float a[N], b[N], c[N], *da, *db, *dc;
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = (float)(2 * i);
    CHECK(cudaMalloc(&da, sizeof a));
    CHECK(cudaMalloc(&db, sizeof b));
    CHECK(cudaMalloc(&dc, sizeof c));
    CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyDefault));
    add<<<3, 128>>>(da, db, dc, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        WANT(c[i] == (float)(3 * i));
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
}

static void CUDART_CB count(void *data)
{
    ++*(int *)data;
}

static void streams()
{
    enum { N = 64 };
    cudaStream_t one, two;
    cudaEvent_t begin, end;
    int *x, *host, calls = 0;
    float milliseconds = -1;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMallocHost(&host, N * sizeof *host));
    CHECK(cudaMallocAsync(&x, N * sizeof *x, one));
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaEventRecord(begin, one));
    CHECK(cudaMemcpyAsync(x, host, N * sizeof *x, cudaMemcpyHostToDevice, one));
    scale<<<2, 32, 0, one>>>(x, 3);
    CHECK(cudaEventRecord(end, one));
    CHECK(cudaStreamWaitEvent(two, end, 0));
    scale<<<2, 32, 0, two>>>(x, 5);
    CHECK(cudaMemcpyAsync(host, x, N * sizeof *x, cudaMemcpyDeviceToHost, two));
    CHECK(cudaLaunchHostFunc(two, count, &calls));
    CHECK(cudaStreamSynchronize(two));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    WANT(milliseconds >= 0 && calls == 1 && cudaStreamQuery(one) == cudaSuccess);
    for (int i = 0; i < N; i++)
        WANT(host[i] == 15 * i);
    CHECK(cudaFreeAsync(x, one));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

// Memory that both sides reach, and copies with a pitch.
static void memory()
{
    enum { W = 12, H = 5 };
    int *managed, *mapped, *seen, *pitched, own[64], rows[H][W], back[H][W];
    size_t pitch;
    cudaPointerAttributes attributes;
    CHECK(cudaMallocManaged(&managed, 64 * sizeof *managed));
    for (int i = 0; i < 64; i++)
        managed[i] = own[i] = i;
    scale<<<2, 32>>>(managed, 7);
    CHECK(cudaDeviceSynchronize());
    WANT(managed[63] == 441);
    CHECK(cudaPointerGetAttributes(&attributes, managed + 3));
    WANT(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == managed + 3);

    CHECK(cudaHostAlloc(&mapped, 32 * sizeof *mapped, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&seen, mapped, 0));
    for (int i = 0; i < 32; i++)
        mapped[i] = -i;
    scale<<<1, 32>>>(seen, -2);
    CHECK(cudaDeviceSynchronize());
    WANT(mapped[31] == 62);
    CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    CHECK(cudaHostGetDevicePointer(&seen, own, 0));
    scale<<<2, 32>>>(seen, 2);
    CHECK(cudaDeviceSynchronize());
    WANT(own[63] == 126);
    CHECK(cudaHostUnregister(own));
    CHECK(cudaPointerGetAttributes(&attributes, own));
    WANT(attributes.type == cudaMemoryTypeUnregistered);

    for (int i = 0; i < W * H; i++)
        rows[i / W][i % W] = i;
    CHECK(cudaMallocPitch(&pitched, &pitch, sizeof rows[0], H));
    CHECK(cudaMemset2D(pitched, pitch, 0xff, sizeof rows[0], H));
    CHECK(cudaMemcpy2D(pitched, pitch, rows, sizeof rows[0], sizeof rows[0], H - 1, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back, sizeof rows[0], pitched, pitch, sizeof rows[0], H, cudaMemcpyDeviceToHost));
    WANT(pitch >= sizeof rows[0] && back[H - 2][W - 1] == (H - 1) * W - 1 && back[H - 1][0] == -1);

    // A copy that goes the wrong way, and a pointer that is freed twice.
    WANT(cudaMemcpy(own, back, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaFree(pitched));
    WANT(cudaFree(pitched) == cudaErrorInvalidValue);
    WANT(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(mapped));
}

__constant__ int table[4];
__device__ int total = 100;
__device__ int held[2] = {5, 6};

__global__ void sum_table()
{
    atomicAdd(&total, table[threadIdx.x]);
}

__global__ void take_total(int *out)
{
    *out = total + held[1];
}

// Variables belong to the module, and its kernels share them.
static void symbols()
{
    const int values[4] = {1, 20, 300, 4000};
    int *out, answer = 0, read = 0;
    size_t bytes;
    void *address;
    CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
    CHECK(cudaMemcpyToSymbol(held, &values[3], sizeof(int), sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof *out));
    sum_table<<<1, 4>>>();
    take_total<<<1, 1>>>(out);
    CHECK(cudaMemcpy(&answer, out, sizeof answer, cudaMemcpyDeviceToHost));
    WANT(answer == 100 + 4321 + 4000);
    CHECK(cudaMemcpyFromSymbol(&read, total, sizeof read));
    WANT(read == 100 + 4321);
    CHECK(cudaGetSymbolAddress(&address, held));
    CHECK(cudaGetSymbolSize(&bytes, held));
    WANT(address && bytes == 8);
    CHECK(cudaMemset(address, 0, bytes));
    take_total<<<1, 1>>>(out);
    CHECK(cudaMemcpy(&answer, out, sizeof answer, cudaMemcpyDeviceToHost));
    WANT(answer == 100 + 4321);
    WANT(cudaMemcpyToSymbol(held, values, sizeof values) == cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(cudaFree(out));
}

// Each block of a cluster adds what its neighbour has in shared memory.
__global__ void neighbours(int *out)
{
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), count = cluster.num_blocks();
    if (threadIdx.x == 0)
        mine = 10 * (int)blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = mine + *cluster.map_shared_rank(&mine, (rank + 1) % count);
    cluster.sync();
}

__global__ void late(const int *in, int *out)
{
    cudaGridDependencySynchronize();
    out[threadIdx.x] = in[threadIdx.x] + 1;
}

static void clusters()
{
    int *out, *more, host[8];
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMalloc(&more, sizeof host));
    cudaLaunchAttribute attribute[1] = {};
    cudaLaunchConfig_t config = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = 4;
    attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    config.gridDim = 8;
    config.blockDim = 32;
    config.attrs = attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, neighbours, out));
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = 1;
    config.blockDim = 8;
    CHECK(cudaLaunchKernelEx(&config, late, (const int *)out, more));
    CHECK(cudaMemcpy(host, more, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        WANT(host[i] == 10 * i + 10 * (i / 4 * 4 + (i + 1) % 4) + 1);
    int size = 0;
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, neighbours, &config));
    WANT(size == 8);
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = 16;
    attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    config.gridDim = 16;
    WANT(cudaLaunchKernelEx(&config, neighbours, out) == cudaErrorInvalidClusterSize);
    cudaGetLastError();
    CHECK(cudaFree(out));
    CHECK(cudaFree(more));
}

// Every block waits for all others, twice.
__global__ void rounds(int *x, int *y)
{
    cg::grid_group grid = cg::this_grid();
    unsigned b = blockIdx.x, next = (b + 1) % gridDim.x;
    if (threadIdx.x == 0)
        x[b] = (int)b;
    grid.sync();
    if (threadIdx.x == 0)
        y[b] = x[next] * 2;
    grid.sync();
    if (threadIdx.x == 0)
        x[b] = y[next] + 1;
}

static void cooperative()
{
    enum { BLOCKS = 6 };
    int *x, *y, host[BLOCKS], supported = 0, fit = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, rounds, 64, 0));
    WANT(supported == 1 && fit >= 1);
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof host));
    void *arguments[] = {&x, &y};
    CHECK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(BLOCKS), dim3(64), arguments, 0, 0));
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS; i++)
        WANT(host[i] == 2 * ((i + 2) % BLOCKS) + 1);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
}

// A capture that forks and joins, launched twice; a graph by hand; one that is updated.
static void graphs()
{
    enum { N = 32 };
    cudaStream_t one, two;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCaptureStatus status;
    size_t nodes = 0;
    int *x, *y, host[N], calls = 0;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof host));
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    scale<<<1, N, 0, one>>>(x, 2);
    CHECK(cudaEventRecord(fork, one));
    CHECK(cudaStreamWaitEvent(two, fork, 0));
    CHECK(cudaMemcpyAsync(y, x, sizeof host, cudaMemcpyDeviceToDevice, two));
    CHECK(cudaStreamIsCapturing(two, &status));
    WANT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaEventRecord(join, two));
    CHECK(cudaStreamWaitEvent(one, join, 0));
    scale<<<1, N, 0, one>>>(y, 10);
    CHECK(cudaLaunchHostFunc(one, count, &calls));
    CHECK(cudaStreamEndCapture(one, &graph));
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    WANT(nodes == 4 && calls == 0);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
    WANT(calls == 2 && host[0] == 0 && host[N - 1] == 40 * (N - 1));
    CHECK(cudaGraphExecDestroy(executable));

    cudaGraphNode_t fill, kernel, copy;
    cudaMemsetParams fills = {};
    cudaKernelNodeParams params = {};
    int by = 3;
    void *arguments[] = {&x, &by};
    fills.dst = x;
    fills.value = 7;
    fills.elementSize = 4;
    fills.width = N;
    fills.height = 1;
    params.func = (void *)scale;
    params.gridDim = 1;
    params.blockDim = N;
    params.kernelParams = arguments;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, x, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &params));
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fills));
    CHECK(cudaGraphAddDependencies(graph, &fill, &kernel, nullptr, 1));
    CHECK(cudaGraphAddDependencies(graph, &kernel, &copy, nullptr, 1));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    WANT(host[0] == 21 && host[N - 1] == 21);
    by = 9;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, kernel, &params));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    WANT(host[N - 1] == 63);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
}

__global__ void __launch_bounds__(256) large(int *x)
{
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x + 15000] = (int)threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x + 15000];
    if (threadIdx.x == 0)
        printf("from the device: %d\n", x[0]);
}

// What the device and its kernels are, and what a launch may not be.
static void limits()
{
    enum { BYTES = 64 * 1024 };
    int *x, host[32];
    cudaDeviceProp p;
    cudaFuncAttributes a;
    CHECK(cudaGetDeviceProperties(&p, 0));
    WANT(p.major == 9 && p.minor == 0 && p.multiProcessorCount == 132 && p.warpSize == 32 && p.clusterLaunch == 1);
    WANT(p.sharedMemPerBlockOptin == 227 * 1024 && p.maxThreadsPerBlock == 1024 && p.hostNumaId == -1);
    CHECK(cudaFuncGetAttributes(&a, large));
    WANT(a.maxThreadsPerBlock == 256 && a.numRegs > 0 && a.maxDynamicSharedSizeBytes == 48 * 1024);
    CHECK(cudaMalloc(&x, sizeof host));
    large<<<1, 32, BYTES>>>(x);
    WANT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
    large<<<1, 32, BYTES>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    WANT(host[0] == 31 && host[31] == 0);
    large<<<1, 2048>>>(x);
    WANT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    WANT(cudaSetDevice(1) == cudaErrorInvalidDevice);
    cudaGetLastError();
    CHECK(cudaFree(x));
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } parts[] = {{"vectors", vectors},   {"streams", streams},         {"memory", memory}, {"symbols", symbols},
                 {"clusters", clusters}, {"cooperative", cooperative}, {"graphs", graphs}, {"limits", limits}};
    for (const auto &p : parts) {
        if (argc > 1 && strcmp(argv[1], p.name) != 0)
            continue;
        part = p.name;
        p.run();
        printf("right %s\n", part);
    }
    return 0;
}
