// A CUDA C++ program with bad tensor maps in it, by each of the ways to the driver's calls. For every call it prints
// "accepted", or "refused RULE" with the rule that was planted; it knows nothing of the library that watches it.
//   program            all calls
//   program null N     one call whose argument N, the map or a list, is NULL
//   program time       nanoseconds of a call that is accepted and of a launch
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <cuda.h>
#include <cuda_runtime.h>

__global__ void empty() {}

struct Call {
    CUtensorMapDataType dtype = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    cuuint32_t rank = 2;
    void *address = nullptr;
    cuuint64_t dim[5] = {256, 64, 8, 4, 2}, stride[4] = {512, 32768, 262144, 1048576};
    cuuint32_t box[5] = {64, 64, 1, 1, 1}, estride[5] = {1, 1, 1, 1, 1};
    int lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0};
    cuuint32_t channels = 64, pixels = 64;
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMapL2promotion l2 = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    CUtensorMapFloatOOBfill oob = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

static decltype(&cuTensorMapEncodeTiled) tiled = cuTensorMapEncodeTiled;
static decltype(&cuTensorMapEncodeIm2col) im2col = cuTensorMapEncodeIm2col;
static decltype(&cuTensorMapEncodeIm2colWide) wide = cuTensorMapEncodeIm2colWide;
static CUtensorMap map;
static void *tensor;

static void say(CUresult result, const char *rule)
{
    if (result == CUDA_SUCCESS)
        std::printf("accepted\n");
    else
        std::printf("refused %s\n", rule);
}

static CUresult encode(const Call &c, void *address)
{
    return tiled(&map, c.dtype, c.rank, address, c.dim, c.stride, c.box, c.estride, c.interleave, c.swizzle, c.l2,
                 c.oob);
}

static CUresult encode_im2col(const Call &c)
{
    return im2col(&map, c.dtype, c.rank, tensor, c.dim, c.stride, c.lower, c.upper, c.channels, c.pixels, c.estride,
                  c.interleave, c.swizzle, c.l2, c.oob);
}

static CUresult encode_wide(const Call &c)
{
    return wide(&map, c.dtype, c.rank, tensor, c.dim, c.stride, c.lower[0], c.upper[0], c.channels, c.pixels, c.estride,
                c.interleave, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, c.swizzle, c.l2, c.oob);
}

// A call with one change, and the rule that the change breaks.
template <class Change> static void plant(const char *rule, Change change)
{
    Call c;
    change(c);
    say(encode(c, static_cast<char *>(tensor) + reinterpret_cast<size_t>(c.address)), rule);
}

template <class Change> static void plant_im2col(const char *rule, Change change)
{
    Call c;
    c.rank = 4;
    change(c);
    say(encode_im2col(c), rule);
}

static void all(int way)
{
    plant("-", [](Call &) {});
    plant("TMA-STR16", [&](Call &c) { c.stride[0] = static_cast<cuuint64_t>(200 + way); });
    plant("TMA-SPAN", [&](Call &c) { c.box[0] = 128 + 8 * static_cast<cuuint32_t>(way); });
    plant("TMA-INNER16", [&](Call &c) { c.box[0] = 9 + static_cast<cuuint32_t>(way); });
    plant("TMA-BOX", [&](Call &c) { c.box[1] = 257 + static_cast<cuuint32_t>(way); });
    plant("TMA-ADDR16", [&](Call &c) { c.address = reinterpret_cast<void *>(8L + way); });
    plant("TMA-DIM", [&](Call &c) {
        c.dim[0] = 0;
        c.dim[1] = static_cast<cuuint64_t>(64 + way);
    });
    plant("TMA-ES", [&](Call &c) { c.estride[1] = 9 + static_cast<cuuint32_t>(way); });
    plant("TMA-RANK", [&](Call &c) { c.rank = 6 + static_cast<cuuint32_t>(way); });
    plant("TMA-DT", [&](Call &c) { c.dtype = static_cast<CUtensorMapDataType>(77 + way); });
    plant("TMA-OOB-NAN", [&](Call &c) {
        c.dtype = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        c.l2 = static_cast<CUtensorMapL2promotion>(way);
        c.oob = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    });
    plant_im2col("-", [](Call &) {});
    plant_im2col("TMA-CORNER", [&](Call &c) { c.lower[1] = -200 - way; });
    plant_im2col("TMA-CH", [&](Call &c) { c.channels = 264 + 8 * static_cast<cuuint32_t>(way); });
    plant_im2col("TMA-PX", [&](Call &c) { c.pixels = 2000 + static_cast<cuuint32_t>(way); });
    Call c;
    c.rank = 4;
    c.pixels = 3000 + static_cast<cuuint32_t>(way);
    say(encode_wide(c), "TMA-PX");
}

static void null(int which)
{
    Call c;
    CUresult result = tiled(which == 0 ? nullptr : &map, c.dtype, c.rank, tensor, which == 1 ? nullptr : c.dim,
                            which == 2 ? nullptr : c.stride, which == 3 ? nullptr : c.box,
                            which == 4 ? nullptr : c.estride, c.interleave, c.swizzle, c.l2, c.oob);
    say(result, "TMA-NULL");
}

template <class Body> static double nanoseconds(Body body)
{
    double best = 1e30;
    for (int round = 0; round < 20; round++) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; i++)
            body();
        std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        best = spent.count() / 1000 < best ? spent.count() / 1000 : best;
        cudaDeviceSynchronize();
    }
    return best;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (cuInit(0) != CUDA_SUCCESS)
        return 3;
    if (!*what) {
        Call c;
        std::printf("without a context: %d\n", encode(c, nullptr));
    }
    if (cudaMalloc(&tensor, 1 << 24) != cudaSuccess)
        return 3;
    if (std::strcmp(what, "null") == 0) {
        null(std::atoi(words[2]));
        return 0;
    }
    if (std::strcmp(what, "time") == 0) {
        Call c;
        std::printf("encode %.1f ns, ", nanoseconds([&] { encode(c, tensor); }));
        std::printf("launch %.1f ns\n", nanoseconds([&] { empty<<<1, 1>>>(); }));
        return 0;
    }
    all(0);
    CUdriverProcAddressQueryResult found;
    void *address;
    if (cuGetProcAddress("cuTensorMapEncodeTiled", &address, 12000, 0, &found) != CUDA_SUCCESS)
        return 3;
    tiled = reinterpret_cast<decltype(tiled)>(address);
    if (cuGetProcAddress("cuTensorMapEncodeIm2col", &address, 12000, 0, &found) != CUDA_SUCCESS)
        return 3;
    im2col = reinterpret_cast<decltype(im2col)>(address);
    all(1);
    cudaDriverEntryPointQueryResult query;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000, cudaEnableDefault, &query) !=
        cudaSuccess)
        return 3;
    tiled = reinterpret_cast<decltype(tiled)>(address);
    std::thread([] {
        cudaSetDevice(0); // makes the context current in this thread
        all(2);
    }).join();
    for (int i = 0; i < 1000; i++) {
        Call c;
        c.stride[0] = 24;
        encode(c, static_cast<char *>(tensor) + 16 * i);
    }
    std::printf("the last: refused TMA-STR16\n");
    empty<<<1, 1>>>();
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 5;
}
