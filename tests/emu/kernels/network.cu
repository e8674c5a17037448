// Layers of a network.
#include <cuda_bf16.h>
#define FULL 0xffffffffu

__device__ float sum_block(float v)
{
    __shared__ float s[33];
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(FULL, v, d);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        v = 0;
        for (unsigned i = 0; i < blockDim.x / 32; i++)
            v += s[i];
        s[32] = v;
    }
    __syncthreads();
    v = s[32];
    __syncthreads();
    return v;
}

// Softmax in one pass: the largest so far and the sum that belongs to it.
extern "C" __global__ void softmax_online(const float *in, float *out, int columns)
{
    const float *x = in + blockIdx.x * columns;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        float m = fmaxf(most, x[i]);
        sum = sum * expf(most - m) + expf(x[i] - m);
        most = m;
    }
    for (int d = 16; d; d >>= 1) {
        float m2 = __shfl_xor_sync(FULL, most, d), s2 = __shfl_xor_sync(FULL, sum, d), m = fmaxf(most, m2);
        sum = sum * expf(most - m) + s2 * expf(m2 - m);
        most = m;
    }
    for (int i = threadIdx.x; i < columns; i += 32)
        out[blockIdx.x * columns + i] = expf(x[i] - most) / sum;
}

extern "C" __global__ void layer_norm(const float *in, const float *gain, const float *bias, float *out, int columns,
                                      float eps)
{
    const float *x = in + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += x[i];
    float mean = sum_block(sum) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(sum_block(squares) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

extern "C" __global__ void rms_norm(const __nv_bfloat162 *in, const __nv_bfloat162 *gain, __nv_bfloat162 *out,
                                    int pairs)
{
    float squares = 0;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        float2 v = __bfloat1622float2(in[blockIdx.x * pairs + i]);
        squares += v.x * v.x + v.y * v.y;
    }
    float scale = rsqrtf(sum_block(squares) / (2 * pairs) + 1e-5f);
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        float2 v = __bfloat1622float2(in[blockIdx.x * pairs + i]), g = __bfloat1622float2(gain[i]);
        out[blockIdx.x * pairs + i] = __floats2bfloat162_rn(v.x * scale * g.x, v.y * scale * g.y);
    }
}

extern "C" __global__ void activations(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    float4 r;
    r.x = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    r.y = 0.5f * x * (1 + erff(x * 0.70710678f));
    r.z = x / (1 + __expf(-x));
    r.w = x > 0 ? x : expm1f(x);
    ((float4 *)out)[i] = r;
}

extern "C" __global__ void embedding(const unsigned *tokens, const float4 *table, float4 *out, int words, int vectors)
{
    unsigned token = tokens[blockIdx.x] % words;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x)
        out[blockIdx.x * vectors + i] = __ldg(&table[token * vectors + i]);
}

extern "C" __global__ void rope(const float2 *in, float2 *out, int half)
{
    int position = blockIdx.x, i = threadIdx.x;
    float angle = position * powf(10000.0f, -(float)i / half), s, c;
    sincosf(angle, &s, &c);
    float2 v = in[position * half + i];
    out[position * half + i] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

extern "C" __global__ void cross_entropy(const float *logits, const unsigned *targets, float *loss, int columns)
{
    const float *x = logits + threadIdx.x * columns;
    float most = x[0], sum = 0;
    for (int i = 1; i < columns; i++)
        most = fmaxf(most, x[i]);
    for (int i = 0; i < columns; i++)
        sum += expf(x[i] - most);
    loss[threadIdx.x] = logf(sum) + most - x[targets[threadIdx.x] % columns];
}

extern "C" __global__ void adam(float *w, const float *g, float *m, float *v, float rate, float step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
    float mh = m[i] / (1 - powf(0.9f, step)), vh = v[i] / (1 - powf(0.999f, step));
    w[i] -= rate * mh / (sqrtf(vh) + 1e-8f);
}

extern "C" __global__ void convolution(const float *in, const float *weights, float *out, int h, int w, int channels)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, o = blockIdx.z;
    if (x >= w || y >= h)
        return;
    float sum = 0;
    for (int c = 0; c < channels; c++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int yy = y + dy, xx = x + dx;
                if (yy >= 0 && yy < h && xx >= 0 && xx < w)
                    sum += in[(c * h + yy) * w + xx] * weights[((o * channels + c) * 3 + dy + 1) * 3 + dx + 1];
            }
    out[(o * h + y) * w + x] = fmaxf(sum, 0.0f);
}

extern "C" __global__ void max_pool(const float *in, float *out, unsigned char *which, int w)
{
    int x = threadIdx.x, y = blockIdx.x, best = 0;
    float v[4] = {in[2 * y * w + 2 * x], in[2 * y * w + 2 * x + 1], in[(2 * y + 1) * w + 2 * x],
                  in[(2 * y + 1) * w + 2 * x + 1]};
    for (int i = 1; i < 4; i++)
        if (v[i] > v[best])
            best = i;
    out[y * w / 2 + x] = v[best];
    which[y * w / 2 + x] = best;
}
