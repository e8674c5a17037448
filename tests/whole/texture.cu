// Textures and surfaces as programs use them, held against the formulas of the programming guide ("Texture Fetching")
// computed on the host from the coordinates that the device had. Each part says "right NAME".
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>

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

// ---- The host's

// Texel i of n, by the addressing mode; -1: the border.
static int texel(long i, long n, cudaTextureAddressMode mode)
{
    if (i >= 0 && i < n)
        return (int)i;
    switch (mode) {
    case cudaAddressModeBorder:
        return -1;
    case cudaAddressModeClamp:
        return i < 0 ? 0 : (int)n - 1;
    case cudaAddressModeWrap:
        return (int)(i - n * (long)floor((double)i / n));
    default: // mirrored: the neighbours of the ends are the ends again
        return texel(i < 0 ? -1 - i : 2 * n - 1 - i, n, mode);
    }
}

// Along one axis: two texels, and how much of the second.
struct between {
    int low, high;
    double alpha;
};

static between axis(float x, int n, cudaTextureAddressMode mode, bool normalized, bool linear)
{
    double at = x;
    if (normalized)
        at *= n;
    else if (mode != cudaAddressModeBorder)
        mode = cudaAddressModeClamp;
    if (!linear)
        return {texel((long)floor(at), n, mode), 0, 0};
    at -= 0.5;
    long i = (long)floor(at);
    return {texel(i, n, mode), texel(i + 1, n, mode), nearbyint((at - i) * 256) / 256};
}

static float mix(double a, double b, double alpha)
{
    return (float)((1 - alpha) * a + (alpha ? alpha * b : 0));
}

// ---- Objects

static cudaTextureObject_t object(cudaArray_t array, cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                  bool normalized, cudaTextureReadMode read = cudaReadModeElementType)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaTextureObject_t made;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (auto &m : texture.addressMode)
        m = mode;
    texture.filterMode = filter;
    texture.readMode = read;
    texture.normalizedCoords = normalized;
    CHECK(cudaCreateTextureObject(&made, &resource, &texture, nullptr));
    return made;
}

static cudaSurfaceObject_t surface(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t made;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&made, &resource));
    return made;
}

template <class T> static cudaChannelFormatDesc channels_of()
{
    return cudaCreateChannelDesc<T>();
}
template <> cudaChannelFormatDesc channels_of<__half>()
{
    return cudaCreateChannelDescHalf();
}

template <class T> static cudaArray_t array_of(const T *from, size_t width, size_t height, unsigned flags = 0)
{
    cudaArray_t array;
    cudaChannelFormatDesc channels = channels_of<T>();
    CHECK(cudaMallocArray(&array, &channels, width, height, flags));
    if (from)
        CHECK(cudaMemcpy2DToArray(array, 0, 0, from, width * sizeof(T), width * sizeof(T), height ? height : 1,
                                  cudaMemcpyHostToDevice));
    return array;
}

// ---- An image that is turned

__global__ void turn(cudaTextureObject_t image, float *out, float2 *where, int width, int height, float angle)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float u = x / (float)width - 0.5f, v = y / (float)height - 0.5f;
    float tu = u * cosf(angle) - v * sinf(angle) + 0.5f, tv = v * cosf(angle) + u * sinf(angle) + 0.5f;
    out[y * width + x] = tex2D<float>(image, tu, tv);
    where[y * width + x] = make_float2(tu, tv);
}

static void image()
{
    enum { W = 37, H = 21 };
    static float host[H][W], out[H][W];
    static float2 where[H][W];
    float *d;
    float2 *at;
    for (int i = 0; i < W * H; i++)
        host[i / W][i % W] = (float)((i * 37) % 101) / 7;
    cudaArray_t array = array_of(&host[0][0], W, H);
    cudaTextureObject_t tex = object(array, cudaAddressModeWrap, cudaFilterModeLinear, true);
    CHECK(cudaMalloc(&d, sizeof out));
    CHECK(cudaMalloc(&at, sizeof where));
    turn<<<dim3(5, 3), dim3(8, 8)>>>(tex, d, at, W, H, 0.5f);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(where, at, sizeof where, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            between i = axis(where[y][x].x, W, cudaAddressModeWrap, true, true);
            between j = axis(where[y][x].y, H, cudaAddressModeWrap, true, true);
            double top = (1 - i.alpha) * host[j.low][i.low] + i.alpha * host[j.low][i.high];
            double bottom = (1 - i.alpha) * host[j.high][i.low] + i.alpha * host[j.high][i.high];
            WANT(fabsf(out[y][x] - mix(top, bottom, j.alpha)) < 1e-5f);
        }
    CHECK(cudaDestroyTextureObject(tex));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
    CHECK(cudaFree(at));
}

// ---- Every addressing mode, filter and kind of coordinates

__global__ void along(cudaTextureObject_t line, float *out, float from, float step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1D<float>(line, from + i * step);
}

static void modes()
{
    enum { N = 8, POINTS = 1280 };
    float host[N], out[POINTS], *d; // no point lies on the border of two texels
    for (int i = 0; i < N; i++)
        host[i] = (float)(i * i + 1);
    cudaArray_t array = array_of(host, N, 0);
    CHECK(cudaMalloc(&d, sizeof out));
    for (int mode = 0; mode < 4; mode++)
        for (int how = 0; how < 4; how++) {
            const bool normalized = how & 1, linear = how & 2;
            const auto m = (cudaTextureAddressMode)mode;
            const float step = normalized ? 1 / 256.0f : 1 / 32.0f, from = (0.5f - POINTS / 2) * step;
            cudaTextureObject_t tex =
                object(array, m, linear ? cudaFilterModeLinear : cudaFilterModePoint, normalized);
            along<<<POINTS / 128, 128>>>(tex, d, from, step);
            CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
            for (int i = 0; i < POINTS; i++) {
                between a = axis(from + i * step, N, m, normalized, linear);
                double low = a.low < 0 ? 0 : host[a.low], high = a.high < 0 ? 0 : host[a.high];
                WANT(out[i] == mix(low, high, a.alpha));
            }
            CHECK(cudaDestroyTextureObject(tex));
        }
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
}

// ---- Formats

__global__ void read_formats(cudaTextureObject_t bytes, cudaTextureObject_t as_float, cudaTextureObject_t shorts,
                             cudaTextureObject_t halves, cudaTextureObject_t ints, float4 *f, uint4 *u)
{
    int x = threadIdx.x;
    uchar4 b = tex2D<uchar4>(bytes, x + 0.5f, 1.5f);
    float2 s = tex1D<float2>(shorts, (float)x);
    u[2 * x] = make_uint4(b.x, b.y, b.z, b.w);
    u[2 * x + 1] = make_uint4((unsigned)tex1D<int>(ints, (float)x), 0, 0, 0);
    f[3 * x] = tex2D<float4>(as_float, x + 0.5f, 1.25f);
    f[3 * x + 1] = make_float4(s.x, s.y, 0, 0);
    f[3 * x + 2] = make_float4(tex1D<float>(halves, x + 0.75f), 0, 0, 0);
}

static void formats()
{
    enum { N = 16 };
    static uchar4 bytes[2][N];
    short2 shorts[N];
    __half halves[N];
    int ints[N];
    float4 f[3 * N], *df;
    uint4 u[2 * N], *du;
    for (int i = 0; i < N; i++) {
        for (int y = 0; y < 2; y++)
            bytes[y][i] = make_uchar4(i * 16 + y, 255 - i, i * y, 255 * y);
        shorts[i] = make_short2(i * 2000, i ? -i * 2100 : -32768);
        halves[i] = __float2half(i * 0.25f - 1);
        ints[i] = i - (1 << 30);
    }
    cudaArray_t arrays[] = {array_of(&bytes[0][0], N, 2), array_of(shorts, N, 0), array_of(halves, N, 0),
                            array_of(ints, N, 0)};
    const auto clamp = cudaAddressModeClamp;
    const auto point = cudaFilterModePoint, linear = cudaFilterModeLinear;
    const auto real = cudaReadModeNormalizedFloat;
    cudaTextureObject_t t[] = {object(arrays[0], clamp, point, false), object(arrays[0], clamp, linear, false, real),
                               object(arrays[1], clamp, point, false, real), object(arrays[2], clamp, linear, false),
                               object(arrays[3], clamp, point, false)};
    CHECK(cudaMalloc(&df, sizeof f));
    CHECK(cudaMalloc(&du, sizeof u));
    read_formats<<<1, N>>>(t[0], t[1], t[2], t[3], t[4], df, du);
    CHECK(cudaMemcpy(f, df, sizeof f, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(u, du, sizeof u, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        WANT(u[2 * i].x == bytes[1][i].x && u[2 * i].w == 255 && (int)u[2 * i + 1].x == ints[i]);
        WANT(fabsf(f[3 * i].x - (0.25f * bytes[0][i].x + 0.75f * bytes[1][i].x) / 255) < 1e-6f);
        WANT(fabsf(f[3 * i].w - 0.75f) < 1e-6f);
        WANT(f[3 * i + 1].x == shorts[i].x / 32767.0f && f[3 * i + 1].y == fmaxf(shorts[i].y / 32767.0f, -1));
        WANT(f[3 * i + 2].x == (i == N - 1 ? i : i + 0.25f) * 0.25f - 1);
    }
    cudaTextureDesc back;
    CHECK(cudaGetTextureObjectTextureDesc(&back, t[1]));
    WANT(back.readMode == real && back.filterMode == linear && !back.normalizedCoords);
    for (auto one : t)
        CHECK(cudaDestroyTextureObject(one));
    for (auto one : arrays)
        CHECK(cudaFreeArray(one));
    CHECK(cudaFree(df));
    CHECK(cudaFree(du));
}

// ---- Memory of rows, and of a line

__global__ void shift(cudaTextureObject_t rows, float *out, int width, int height, float dx, float dy)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(rows, (x + dx) / (float)width, (y + dy) / (float)height);
}

__global__ void fetch(cudaTextureObject_t line, float4 *out, int from)
{
    out[threadIdx.x] = tex1Dfetch<float4>(line, from + (int)threadIdx.x);
}

static void memory()
{
    enum { W = 40, H = 24, N = 64 };
    static float host[H][W], out[H][W];
    float4 line[N], fetched[N];
    float *rows, *d;
    float4 *dl, *df;
    size_t pitch;
    for (int i = 0; i < W * H; i++)
        host[i / W][i % W] = (float)i;
    CHECK(cudaMallocPitch(&rows, &pitch, sizeof host[0], H));
    CHECK(cudaMalloc(&d, sizeof out));
    CHECK(cudaMemcpy2D(rows, pitch, host, sizeof host[0], sizeof host[0], H, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaTextureObject_t tex;
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = pitch;
    texture.normalizedCoords = 1;
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeWrap;
    CHECK(cudaCreateTextureObject(&tex, &resource, &texture, nullptr));
    shift<<<dim3(3, 2), dim3(16, 16)>>>(tex, d, W, H, 5.5f, 7.5f); // their middles
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            WANT(out[y][x] == host[(y + 7) % H][(x + 5) % W]);
    CHECK(cudaDestroyTextureObject(tex));

    for (int i = 0; i < N; i++)
        line[i] = make_float4(i, -i, 2 * i, 1);
    CHECK(cudaMalloc(&dl, sizeof line));
    CHECK(cudaMalloc(&df, sizeof fetched));
    CHECK(cudaMemcpy(dl, line, sizeof line, cudaMemcpyHostToDevice));
    cudaResourceDesc one = {}, back = {};
    one.resType = cudaResourceTypeLinear;
    one.res.linear.devPtr = dl;
    one.res.linear.desc = cudaCreateChannelDesc<float4>();
    one.res.linear.sizeInBytes = sizeof line;
    texture = {};
    CHECK(cudaCreateTextureObject(&tex, &one, &texture, nullptr));
    CHECK(cudaGetTextureObjectResourceDesc(&back, tex));
    WANT(back.res.linear.devPtr == dl && back.res.linear.desc.w == 32 &&
         back.res.linear.desc.f == cudaChannelFormatKindFloat);
    fetch<<<1, N>>>(tex, df, -8);
    CHECK(cudaMemcpy(fetched, df, sizeof fetched, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        WANT(i >= 8 ? fetched[i].x == i - 8 && fetched[i].y == 8 - i && fetched[i].w == 1 : fetched[i].w == 0);
    }
    fetch<<<1, N>>>(tex, df, 8); // behind the end: 0
    CHECK(cudaMemcpy(fetched, df, sizeof fetched, cudaMemcpyDeviceToHost));
    WANT(fetched[N - 9].x == N - 1 && fetched[N - 8].x == 0 && fetched[N - 8].w == 0);
    CHECK(cudaDestroyTextureObject(tex));
    CHECK(cudaFree(rows));
    CHECK(cudaFree(d));
    CHECK(cudaFree(dl));
    CHECK(cudaFree(df));
}

// ---- A volume

__global__ void cut(cudaTextureObject_t volume, float *out, float depth)
{
    float u = threadIdx.x / 16.0f, v = threadIdx.y / 16.0f;
    out[threadIdx.y * blockDim.x + threadIdx.x] = tex3D<float>(volume, u, v, depth);
}

static void volume()
{
    enum { W = 12, H = 10, D = 6 };
    static unsigned char host[D][H][W];
    float out[16][16], *d;
    for (int i = 0; i < W * H * D; i++)
        host[i / (W * H)][i / W % H][i % W] = (unsigned char)(i * 7);
    cudaArray_t array;
    cudaExtent extent = make_cudaExtent(W, H, D);
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaMalloc3DArray(&array, &channels, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, W, W, H);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    CHECK(cudaMalloc(&d, sizeof out));
    cudaTextureObject_t tex =
        object(array, cudaAddressModeBorder, cudaFilterModeLinear, true, cudaReadModeNormalizedFloat);
    for (float depth = -0.1f; depth < 1.2f; depth += 0.23f) {
        cut<<<1, dim3(16, 16)>>>(tex, d, depth);
        CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++) {
                const auto m = cudaAddressModeBorder;
                const between a[3] = {axis(x / 16.0f, W, m, true, true), axis(y / 16.0f, H, m, true, true),
                                      axis(depth, D, m, true, true)};
                double sum = 0;
                for (int corner = 0; corner < 8; corner++) {
                    int at[3];
                    double weight = 1;
                    for (int k = 0; k < 3; k++) {
                        at[k] = corner >> k & 1 ? a[k].high : a[k].low;
                        weight *= corner >> k & 1 ? a[k].alpha : 1 - a[k].alpha;
                    }
                    if (at[0] >= 0 && at[1] >= 0 && at[2] >= 0)
                        sum += weight * host[at[2]][at[1]][at[0]] / 255;
                }
                WANT(fabs(out[y][x] - sum) < 1e-6);
            }
    }
    CHECK(cudaDestroyTextureObject(tex));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
}

// ---- Layers

__global__ void per_layer(cudaTextureObject_t layers, float *out, int width, int layer)
{
    int x = threadIdx.x, y = threadIdx.y;
    float u = (x + 0.5f) / width, v = (y + 0.5f) / width;
    out[(layer * width + y) * width + x] = -tex2DLayered<float>(layers, u, v, layer) + layer;
}

static void layers()
{
    enum { W = 16, LAYERS = 5 };
    static float host[LAYERS][W][W], out[LAYERS][W][W], back[LAYERS][W][W];
    float *d;
    for (int i = 0; i < LAYERS * W * W; i++)
        (&host[0][0][0])[i] = (float)(i % 97);
    cudaArray_t array;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>(), got;
    cudaExtent extent = make_cudaExtent(W, W, LAYERS), had;
    unsigned flags;
    CHECK(cudaMalloc3DArray(&array, &channels, extent, cudaArrayLayered));
    CHECK(cudaArrayGetInfo(&got, &had, &flags, array));
    WANT(got.x == 32 && !got.y && had.depth == LAYERS && flags == cudaArrayLayered);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, W * sizeof(float), W, W);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    CHECK(cudaMalloc(&d, sizeof out));
    cudaTextureObject_t tex = object(array, cudaAddressModeWrap, cudaFilterModeLinear, true);
    for (int layer = 0; layer < LAYERS; layer++)
        per_layer<<<1, dim3(W, W)>>>(tex, d, W, layer);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < LAYERS * W * W; i++)
        WANT((&out[0][0][0])[i] == -(&host[0][0][0])[i] + i / (W * W));
    cudaMemcpy3DParms down = {};
    down.srcArray = array;
    down.srcPos = make_cudaPos(0, 0, 2);
    down.dstPtr = make_cudaPitchedPtr(back, W * sizeof(float), W, W);
    down.extent = make_cudaExtent(W, W, 3);
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&down));
    WANT(memcmp(back, host[2], 3 * sizeof host[0]) == 0);
    CHECK(cudaDestroyTextureObject(tex));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
}

// ---- Surfaces

__global__ void write(const float *from, cudaSurfaceObject_t to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite(from[y * width + x], to, x * 4, y);
}

__global__ void read_outside(cudaSurfaceObject_t from, float *out)
{
    int x = (int)threadIdx.x - 4;
    out[2 * threadIdx.x] = surf2Dread<float>(from, x * 4, -1, cudaBoundaryModeZero);
    out[2 * threadIdx.x + 1] = surf2Dread<float>(from, x * 4, 1000, cudaBoundaryModeClamp);
}

__global__ void deep(cudaSurfaceObject_t volume, cudaSurfaceObject_t layered)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(make_ushort4(x, y, z, x * y * z), volume, x * 8, y, z);
    surf2DLayeredwrite((unsigned char)(x + 10 * y + 50 * z), layered, x, y, z);
    surf2DLayeredwrite((unsigned char)1, layered, x, y, z + 100, cudaBoundaryModeZero);
}

__global__ void deep_sum(cudaSurfaceObject_t volume, cudaSurfaceObject_t layered, int *out)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    ushort4 v = surf3Dread<ushort4>(volume, x * 8, y, z);
    out[(z * 4 + y) * 8 + x] = v.x + 8 * v.y + 64 * v.z + 1024 * v.w +
                               100000 * surf2DLayeredread<unsigned char>(layered, x, y, z);
}

static void surfaces()
{
    enum { W = 20, H = 12 };
    static float host[H][W], out[H][W], back[H][W];
    float *d, *from, rim[64], *drim;
    for (int i = 0; i < W * H; i++)
        host[i / W][i % W] = (float)(i + 1);
    cudaArray_t array = array_of<float>(nullptr, W, H, cudaArraySurfaceLoadStore);
    cudaSurfaceObject_t surf = surface(array);
    CHECK(cudaMalloc(&from, sizeof host));
    CHECK(cudaMalloc(&d, sizeof out));
    CHECK(cudaMalloc(&drim, sizeof rim));
    CHECK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
    write<<<dim3(3, 2), dim3(8, 8)>>>(from, surf, W, H);
    cudaTextureObject_t tex = object(array, cudaAddressModeWrap, cudaFilterModeLinear, true);
    shift<<<dim3(3, 2), dim3(8, 8)>>>(tex, d, W, H, 0, 0);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) { // corners of texels: the mean of the four around
            float mean = (host[y][x] + host[y][(x + W - 1) % W] + host[(y + H - 1) % H][x] +
                          host[(y + H - 1) % H][(x + W - 1) % W]) /
                         4;
            WANT(fabsf(out[y][x] - mean) < 1e-4f);
        }
    CHECK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], H, cudaMemcpyDeviceToHost));
    WANT(memcmp(back, host, sizeof host) == 0);
    read_outside<<<1, 32>>>(surf, drim);
    CHECK(cudaMemcpy(rim, drim, sizeof rim, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        WANT(rim[2 * i] == 0 && rim[2 * i + 1] == host[H - 1][i < 4 ? 0 : i >= W + 4 ? W - 1 : i - 4]);
    CHECK(cudaDestroySurfaceObject(surf));
    CHECK(cudaDestroyTextureObject(tex));
    CHECK(cudaFreeArray(array));

    cudaArray_t volume, layered;
    cudaChannelFormatDesc four = cudaCreateChannelDesc<ushort4>(), one = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaMalloc3DArray(&volume, &four, make_cudaExtent(8, 4, 4), cudaArraySurfaceLoadStore));
    CHECK(cudaMalloc3DArray(&layered, &one, make_cudaExtent(8, 4, 4), cudaArraySurfaceLoadStore | cudaArrayLayered));
    cudaSurfaceObject_t s[] = {surface(volume), surface(layered)};
    int sums[128], *dsums;
    CHECK(cudaMalloc(&dsums, sizeof sums));
    deep<<<1, dim3(8, 4, 4)>>>(s[0], s[1]);
    deep_sum<<<1, dim3(8, 4, 4)>>>(s[0], s[1], dsums);
    CHECK(cudaMemcpy(sums, dsums, sizeof sums, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++) {
        int x = i % 8, y = i / 8 % 4, z = i / 32;
        WANT(sums[i] == x + 8 * y + 64 * z + 1024 * x * y * z + 100000 * (x + 10 * y + 50 * z));
    }
    cudaResourceDesc resource;
    CHECK(cudaGetSurfaceObjectResourceDesc(&resource, s[1]));
    WANT(resource.resType == cudaResourceTypeArray && resource.res.array.array == layered);
    for (auto object : s)
        CHECK(cudaDestroySurfaceObject(object));
    CHECK(cudaFreeArray(volume));
    CHECK(cudaFreeArray(layered));
    CHECK(cudaFree(from));
    CHECK(cudaFree(d));
    CHECK(cudaFree(drim));
    CHECK(cudaFree(dsums));
}

// ---- Levels, gradients, gathers, and copies of arrays

__global__ void other_fetches(cudaTextureObject_t image, float4 *out)
{
    float x = threadIdx.x + 0.25f, y = 1.75f;
    float plain = tex2D<float>(image, x, y), level = tex2DLod<float>(image, x, y, 0);
    float grad = tex2DGrad<float>(image, x, y, make_float2(0, 0), make_float2(0, 0));
    out[2 * threadIdx.x] = make_float4(plain, level, grad, 0);
    out[2 * threadIdx.x + 1] = tex2Dgather<float4>(image, x, y, 0);
}

static void others()
{
    enum { W = 9, H = 5 };
    float host[H][W], back[H * W], *line;
    float4 out[2 * W], *d;
    for (int i = 0; i < W * H; i++)
        host[i / W][i % W] = (float)(i * i);
    cudaArray_t array = array_of(&host[0][0], W, H, cudaArrayTextureGather), copy = array_of<float>(nullptr, W, H);
    cudaTextureObject_t tex = object(array, cudaAddressModeClamp, cudaFilterModeLinear, false);
    CHECK(cudaMalloc(&d, sizeof out));
    other_fetches<<<1, W>>>(tex, d);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W; i++) {
        int low = i ? i - 1 : 0; // x_B = i - 0.25, y_B = 1.25
        float top = 0.25f * host[1][low] + 0.75f * host[1][i], bottom = 0.25f * host[2][low] + 0.75f * host[2][i];
        WANT(out[2 * i].x == 0.75f * top + 0.25f * bottom && out[2 * i].x == out[2 * i].y && out[2 * i].x == out[2 * i].z);
        WANT(out[2 * i + 1].x == host[2][low] && out[2 * i + 1].y == host[2][i]);
        WANT(out[2 * i + 1].z == host[1][i] && out[2 * i + 1].w == host[1][low]);
    }
    CHECK(cudaMemcpy2DArrayToArray(copy, 0, 0, array, 0, 0, sizeof host[0], H));
    CHECK(cudaMalloc(&line, sizeof back));
    CHECK(cudaMemcpy2DFromArray(line, sizeof host[0], copy, 0, 0, sizeof host[0], H, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(back, line, sizeof back, cudaMemcpyDeviceToHost));
    WANT(memcmp(back, host, sizeof back) == 0);
    CHECK(cudaMemcpy2DToArray(copy, 2 * sizeof(float), 1, host, sizeof(float) * W, 3 * sizeof(float), 2,
                              cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(back, sizeof host[0], copy, 0, 0, sizeof host[0], H, cudaMemcpyDeviceToHost));
    WANT(back[W + 1] == host[1][1] && back[W + 2] == host[0][0] && back[2 * W + 4] == host[1][2]);
    // The old calls go on in the next row. nvcc says that they are old.
    CHECK(cudaMemcpyToArray(copy, 7 * sizeof(float), 0, host, 12 * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyFromArray(back, copy, 7 * sizeof(float), 0, 13 * sizeof(float), cudaMemcpyDeviceToHost));
    WANT(memcmp(back, host, 12 * sizeof(float)) == 0 && back[12] == host[2][1]); // untouched
    WANT(cudaMemcpy2DToArray(copy, 2 * sizeof(float), 1, host, sizeof(float) * W, sizeof host[0], 2,
                             cudaMemcpyHostToDevice) == cudaErrorInvalidValue); // over the row's end
    WANT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaDestroyTextureObject(tex));
    WANT(cudaDestroyTextureObject(tex) == cudaErrorInvalidValue);
    WANT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(copy));
    CHECK(cudaFree(d));
    CHECK(cudaFree(line));
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } parts[] = {{"image", image},   {"modes", modes},   {"formats", formats},   {"memory", memory},
                 {"volume", volume}, {"layers", layers}, {"surfaces", surfaces}, {"others", others}};
    for (const auto &p : parts) {
        if (argc > 1 && strcmp(argv[1], p.name) != 0)
            continue;
        part = p.name;
        p.run();
        printf("right %s\n", part);
    }
    return 0;
}
