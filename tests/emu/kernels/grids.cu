// Stencils, images, simulations, dynamic programming, graphs.

extern "C" __global__ void transpose(const float *in, float *out, int w, int h)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < w && y + j < h)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < h && y + j < w)
            out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

#define RADIUS 3
__constant__ float taps[2 * RADIUS + 1] = {0.0625f, 0.125f, 0.1875f, 0.25f, 0.1875f, 0.125f, 0.0625f};

extern "C" __global__ void stencil_1d(const float *in, float *out, int n)
{
    __shared__ float s[128 + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
    s[l] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
        s[l + 128] = i + 128 < n ? in[i + 128] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += s[l + k] * taps[k + RADIUS];
    if (i < n)
        out[i] = sum;
}

extern "C" __global__ void heat_3d(const double *in, double *out, int n)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z + blockIdx.x * blockDim.z;
    auto at = [&](int dx, int dy, int dz) {
        int u = x + dx, v = y + dy, w = z + dz;
        return u < 0 || v < 0 || w < 0 || u >= n || v >= n || w >= n ? 0.0 : in[(w * n + v) * n + u];
    };
    out[(z * n + y) * n + x] = at(0, 0, 0) + 0.1 * (at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0) +
                                                    at(0, 0, -1) + at(0, 0, 1) - 6 * at(0, 0, 0));
}

extern "C" __global__ void life(const unsigned char *in, unsigned char *out, int rounds)
{
    __shared__ unsigned char cells[2][32][32];
    int x = threadIdx.x, y = threadIdx.y, now = 0;
    cells[0][y][x] = in[y * 32 + x] & 1;
    for (int r = 0; r < rounds; r++) {
        __syncthreads();
        int n = 0;
        for (int dy = 31; dy <= 33; dy++)
            for (int dx = 31; dx <= 33; dx++)
                n += (dx != 32 || dy != 32) && cells[now][(y + dy) % 32][(x + dx) % 32];
        cells[1 - now][y][x] = n == 3 || (n == 2 && cells[now][y][x]);
        now = 1 - now;
    }
    out[y * 32 + x] = cells[now][y][x];
}

// Median of 3 x 3 by a network of exchanges, on 8-bit pixels.
extern "C" __global__ void median(const unsigned char *in, unsigned char *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    unsigned char v[9];
    for (int i = 0; i < 9; i++) {
        int xx = min(max(x + i % 3 - 1, 0), w - 1), yy = min(max(y + i / 3 - 1, 0), h - 1);
        v[i] = in[yy * w + xx];
    }
    for (int i = 0; i < 5; i++)
        for (int j = i + 1; j < 9; j++)
            if (v[j] < v[i]) {
                unsigned char t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
    out[y * w + x] = v[4];
}

extern "C" __global__ void grey(const uchar4 *in, unsigned char *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 p = in[i];
        float f = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
        out[i] = (unsigned char)(f + 0.5f);
    }
}

extern "C" __global__ void mandelbrot(unsigned short *out, int w, int h, int most)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
    float cx = -2 + 3.0f * x / w, cy = -1.5f + 3.0f * y / h, zx = 0, zy = 0;
    while (n < most) {
        float xx = __fmul_rn(zx, zx), yy = __fmul_rn(zy, zy);
        if (__fadd_rn(xx, yy) > 4)
            break;
        zy = __fadd_rn(__fmul_rn(2 * zx, zy), cy);
        zx = __fadd_rn(__fsub_rn(xx, yy), cx);
        n++;
    }
    out[y * w + x] = n;
}

extern "C" __global__ void bodies(const float4 *in, float4 *force, int n)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = in[i];
    float3 a = {0, 0, 0};
    for (int t = 0; t < n; t += blockDim.x) {
        tile[threadIdx.x] = in[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[j].w * inverse * inverse * inverse;
            a.x += dx * s, a.y += dy * s, a.z += dz * s;
        }
        __syncthreads();
    }
    force[i] = make_float4(a.x, a.y, a.z, 0);
}

// Edit distance along diagonals, both words in shared memory.
extern "C" __global__ void edit_distance(const unsigned char *a, const unsigned char *b, int *out, int n)
{
    __shared__ int d[3][130];
    int i = threadIdx.x;
    for (int s = 0; s <= 2 * n; s++) {
        int *now = d[s % 3], *last = d[(s + 2) % 3], *older = d[(s + 1) % 3], j = s - i;
        if (i <= n && j >= 0 && j <= n)
            now[i] = i == 0   ? j
                     : j == 0 ? i
                              : min(min(last[i - 1], last[i]) + 1, older[i - 1] + (a[i - 1] % 4 != b[j - 1] % 4));
        __syncthreads();
    }
    if (i == n)
        *out = d[2 * n % 3][n];
}

extern "C" __global__ void shortest_paths(const unsigned *weights, unsigned *distance, int n)
{
    __shared__ unsigned d[64];
    __shared__ int changed;
    int i = threadIdx.x;
    d[i] = i == 0 ? 0 : 0x3fffffff;
    do {
        __syncthreads();
        if (i == 0)
            changed = 0;
        __syncthreads();
        for (int j = 0; j < n; j++) {
            unsigned w = weights[i * n + j];
            if (w % 5 == 0 &&
                atomicMin(&d[j], *(volatile unsigned *)&d[i] + w % 1000) > *(volatile unsigned *)&d[i] + w % 1000)
                changed = 1;
        }
        __syncthreads();
    } while (changed);
    distance[i] = d[i];
}

struct complex {
    float re, im;
};
__device__ complex operator*(complex a, complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ complex operator+(complex a, complex b)
{
    return {a.re + b.re, a.im + b.im};
}
__device__ complex operator-(complex a, complex b)
{
    return {a.re - b.re, a.im - b.im};
}

extern "C" __global__ void fft(const float2 *in, float2 *out)
{
    __shared__ complex s[256];
    int t = threadIdx.x;
    for (int k = t; k < 256; k += 128)
        s[__brev(k) >> 24] = {in[k].x, in[k].y};
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        int k = t % half, i = (t - k) * 2 + k;
        float angle = -3.14159265f * k / half;
        complex w = {cosf(angle), sinf(angle)}, a = s[i], b = s[i + half] * w;
        s[i] = a + b;
        s[i + half] = a - b;
    }
    __syncthreads();
    for (int k = t; k < 256; k += 128)
        out[k] = make_float2(s[k].re, s[k].im);
}

// Elimination with pivots, one block.
extern "C" __global__ void solve(const double *in, const double *right, double *x)
{
    __shared__ double a[16][17];
    __shared__ int pivot;
    int i = threadIdx.y, j = threadIdx.x;
    a[i][j] = j < 16 ? in[i * 16 + j] + (i == j ? 9.0 : 0.0) : right[i];
    for (int k = 0; k < 16; k++) {
        __syncthreads();
        if (i == 0 && j == 0) {
            pivot = k;
            for (int r = k + 1; r < 16; r++)
                if (fabs(a[r][k]) > fabs(a[pivot][k]))
                    pivot = r;
        }
        __syncthreads();
        if (i == 0 && pivot != k) {
            double t = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = t;
        }
        __syncthreads();
        double f = i != k ? a[i][k] / a[k][k] : 0, mine = a[i][j] - f * a[k][j];
        __syncthreads();
        a[i][j] = mine;
    }
    __syncthreads();
    if (j == 16)
        x[i] = a[i][16] / a[i][i];
}

extern "C" __global__ void options_price(const float *spot, const float *strike, float *call, float *put, float rate,
                                         float vol)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 5 + 25 * spot[i], k = 1 + 99 * strike[i], t = 0.25f + i % 9, root = sqrtf(t);
    float d1 = (__logf(s / k) + (rate + 0.5f * vol * vol) * t) / (vol * root), d2 = d1 - vol * root;
    float n1 = normcdff(d1), n2 = normcdff(d2), e = __expf(-rate * t);
    call[i] = s * n1 - k * e * n2;
    put[i] = k * e * (1 - n2) - s * (1 - n1);
}
