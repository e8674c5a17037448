// Planted faults of textures and surfaces, one for each word: what the program is told of its launch.
#include <cstdio>
#include <cstring>

__global__ void own_writes(cudaTextureObject_t line, float *memory)
{
    memory[threadIdx.x] = 2;
    __syncthreads();
    memory[threadIdx.x + 64] = tex1Dfetch<float>(line, 63 - (int)threadIdx.x); // written: by this kernel
}

__global__ void others_writes(cudaTextureObject_t line, float *memory)
{
    memory[threadIdx.x + 64] = tex1Dfetch<float>(line, 63 - (int)threadIdx.x);
}

__global__ void surface_twice(cudaSurfaceObject_t surf, float *out)
{
    surf1Dwrite((float)threadIdx.x, surf, threadIdx.x * 4);
    out[threadIdx.x] = surf1Dread<float>(surf, threadIdx.x * 4); // surface: read back
}

__global__ void surface_behind(cudaSurfaceObject_t surf)
{
    surf1Dwrite(1.0f, surf, threadIdx.x * 4 + 4); // behind: the last one
}

__global__ void surface_askew(cudaSurfaceObject_t surf)
{
    surf1Dwrite(1.0f, surf, threadIdx.x); // askew: x counts bytes
}

__global__ void surface_alike(cudaSurfaceObject_t surf)
{
    surf1Dwrite((float)threadIdx.x, surf, 0); // alike: 64 values in one place
}

__global__ void fetch(cudaTextureObject_t tex, float *out)
{
    out[threadIdx.x] = tex1D<float>(tex, threadIdx.x + 0.5f); // fetch: one texel a lane
}

__global__ void fetch_deep(cudaTextureObject_t tex, float *out)
{
    out[threadIdx.x] = tex1DLayered<float>(tex, threadIdx.x + 0.5f, 1); // layer: of none
}

// Cube maps are not emulated: the kernel cannot run, nor one that calls such a function, and the others can.
__global__ void cube(cudaTextureObject_t tex, float *out)
{
    out[threadIdx.x] = texCubemap<float>(tex, 1, 0, 0);
}

typedef float (*function)(cudaTextureObject_t, float);
__device__ __noinline__ float by_cube(cudaTextureObject_t tex, float x)
{
    return texCubemap<float>(tex, x, 0, 0);
}
__device__ __noinline__ float by_number(cudaTextureObject_t, float x)
{
    return 2 * x;
}
__device__ function functions[] = {by_number, by_cube};

__global__ void through_pointer(cudaTextureObject_t tex, float *out, int which)
{
    out[threadIdx.x] = functions[which](tex, 3);
}

static cudaArray_t array;
static cudaTextureObject_t tex, line;
static cudaSurfaceObject_t surf;
static float *memory, zeros[64];

static void make(bool fill)
{
    cudaResourceDesc resource = {}, linear = {};
    cudaTextureDesc texture = {};
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaMalloc(&memory, 128 * sizeof(float));
    cudaMemset(memory, 0, 128 * sizeof(float));
    cudaMallocArray(&array, &channels, 64, 0, cudaArraySurfaceLoadStore);
    if (fill)
        cudaMemcpy2DToArray(array, 0, 0, zeros, sizeof zeros, sizeof zeros, 1, cudaMemcpyHostToDevice);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaCreateTextureObject(&tex, &resource, &texture, nullptr);
    cudaCreateSurfaceObject(&surf, &resource);
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = memory;
    linear.res.linear.desc = channels;
    linear.res.linear.sizeInBytes = sizeof zeros;
    cudaCreateTextureObject(&line, &linear, &texture, nullptr);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    auto is = [&](const char *name) { return strcmp(word, name) == 0; };
    make(!is("fresh"));
    if (is("written")) {
        own_writes<<<1, 64>>>(line, memory);
    } else if (is("surface")) {
        surface_twice<<<1, 64>>>(surf, memory);
    } else if (is("behind")) {
        surface_behind<<<1, 64>>>(surf);
    } else if (is("askew")) {
        surface_askew<<<1, 64>>>(surf);
    } else if (is("alike")) {
        surface_alike<<<1, 64>>>(surf);
    } else if (is("fresh")) {
        fetch<<<1, 64>>>(tex, memory);
    } else if (is("none")) {
        fetch<<<1, 64>>>(0, memory);
    } else if (is("kind")) {
        fetch<<<1, 64>>>(surf, memory);
    } else if (is("line")) {
        fetch<<<1, 64>>>(line, memory);
    } else if (is("layer")) {
        fetch_deep<<<1, 64>>>(tex, memory);
    } else if (is("destroyed")) {
        cudaDestroyTextureObject(tex);
        fetch<<<1, 64>>>(tex, memory);
    } else if (is("freed")) {
        cudaFreeArray(array);
        fetch<<<1, 64>>>(tex, memory);
    } else if (is("cube")) {
        cube<<<1, 64>>>(tex, memory);
    } else if (is("pointer")) {
        through_pointer<<<1, 64>>>(tex, memory, 1);
    } else { // nothing is wrong
        surface_behind<<<1, 63>>>(surf);
        fetch<<<1, 64>>>(tex, memory);
        others_writes<<<1, 64>>>(line, memory);
        through_pointer<<<1, 64>>>(tex, memory, 0);
    }
    cudaError_t launched = cudaGetLastError();
    printf("%s\n", cudaGetErrorName(launched ? launched : cudaDeviceSynchronize()));
    return 0;
}
