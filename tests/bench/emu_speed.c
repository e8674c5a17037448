/* Speed of the emulator: thread-instructions (executed PTX instructions times the lanes that execute them) a second of
 * user CPU time, kernel by kernel, without and with hazards.
 *
 *     build/tests/bench/emu_speed [--only TEXT] [--seconds S] [--hazards on|off] > tests/bench/results/emu_speed.json
 *
 * Small kernels are compiled by NVRTC for sm_90a; GEMMs come from specs/gemm.lua, for sm_90a and sm_80. User time, not
 * wall time: the machine may be shared. The table is on stderr, a JSON row a kernel on stdout. The last rows say what
 * resident blocks took for grids of 100 to 1,000,000 blocks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "compile/compile.h"
#include "unit/plan/plan_launch.h"
#include "emu/emu.h"
#include "nvrtc.h"

/* What every small kernel takes: three buffers of WORDS words, a size and a number of steps. */
struct arguments {
    uint64_t a, b, d;
    int32_t n, steps;
};

enum { WORDS = 1 << 20 };

#define HEAD                                                                                                           \
    "struct arguments { float *a, *b, *d; int n, steps; };\n"                                                          \
    "#define KERNEL extern \"C\" __global__ void\n"

struct small {
    const char *name, *group, *source;
    unsigned grid, block;
    int32_t n, steps;
};

static const struct small small[] = {
    {"integer_mix", "alu", HEAD
     "KERNEL integer_mix(arguments g) {\n"
     "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i * 2654435761u, y = i ^ 0x9e3779b9u, z = 1;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
     "    y = y * 1664525u + 1013904223u;\n"
     "    z += (x & y) | __popc(x ^ z); z = (z << 7) | (z >> 25);\n"
     "    y = min(y, x + z); x += max((int)y, (int)z);\n"
     "  }\n"
     "  ((unsigned *)g.d)[i] = x + y + z;\n"
     "}\n", 64, 256, 0, 256},
    {"float_fma", "alu", HEAD
     "KERNEL float_fma(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  float x = i * 0.001f, y = 1.0f, z = 0.5f, w = x;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    x = x * 0.999f + y; y = y * 0.998f + z; z = z * 0.5f + w; w = w * 0.25f + x;\n"
     "  }\n"
     "  g.d[i] = x + y + z + w;\n"
     "}\n", 64, 256, 0, 512},
    {"double_fma", "alu", HEAD
     "KERNEL double_fma(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  double x = i * 0.001, y = 1.0, z = 0.5;\n"
     "  for (int k = 0; k < g.steps; k++) { x = x * 0.999 + y; y = y * 0.998 - z; z = z * 0.5 + x; }\n"
     "  g.d[i] = (float)(x + y + z);\n"
     "}\n", 64, 256, 0, 512},
    {"half2_fma", "alu", HEAD
     "static __device__ unsigned fma2(unsigned x, unsigned y, unsigned z) {\n"
     "  unsigned r; asm(\"fma.rn.f16x2 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(y), \"r\"(z)); return r;\n"
     "}\n"
     "static __device__ unsigned add2(unsigned x, unsigned y) {\n"
     "  unsigned r; asm(\"add.rn.bf16x2 %0, %1, %2;\" : \"=r\"(r) : \"r\"(x), \"r\"(y)); return r;\n"
     "}\n"
     "KERNEL half2_fma(arguments g) {\n"
     "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = 0x3c003800, y = 0x38003a00 + i % 64, z = 0x3f803f80;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    x = fma2(x, 0x38003800, y); y = fma2(y, 0x3a003400, x); z = add2(z, y & 0x3f803f80);\n"
     "  }\n"
     "  ((unsigned *)g.d)[i] = x + y + z;\n"
     "}\n", 64, 256, 0, 512},
    {"address_mad", "alu", HEAD
     "KERNEL address_mad(arguments g) {\n"
     "  long long row = blockIdx.x, column = threadIdx.x, pitch = g.n, sum = 0;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    sum += (row + k) * pitch + column; column = column * 3 + (sum >> 5); row ^= column & 0xff;\n"
     "    int low = (int)row; sum += (long long)low * 12;\n"
     "  }\n"
     "  g.d[blockIdx.x * blockDim.x + threadIdx.x] = (float)sum;\n"
     "}\n", 64, 256, 1000, 256},
    {"integer_divide", "alu", HEAD
     "KERNEL integer_divide(arguments g) {\n"
     "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i * 2654435761u, sum = 0;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    sum += x / (unsigned)(g.n + k); sum ^= x % (unsigned)(g.n + (i & 7)); x = x * 1664525u + 1013904223u;\n"
     "  }\n"
     "  ((unsigned *)g.d)[i] = sum;\n"
     "}\n", 64, 256, 1000, 256},
    {"shuffle_scan", "warp", HEAD
     "KERNEL shuffle_scan(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, x = i;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    for (int by = 1; by < 32; by *= 2) {\n"
     "      int up = __shfl_up_sync(~0u, x, by); if (lane >= by) x += up;\n"
     "    }\n"
     "    for (int by = 16; by; by /= 2) x ^= __shfl_xor_sync(~0u, x, by);\n"
     "    if (__any_sync(~0u, x & 1)) x += __popc(__ballot_sync(~0u, x & 2));\n"
     "  }\n"
     "  ((int *)g.d)[i] = x;\n"
     "}\n", 64, 256, 0, 64},
    {"vector_add", "memory", HEAD
     "KERNEL vector_add(arguments g) {\n"
     "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < g.n; i += gridDim.x * blockDim.x)\n"
     "    g.d[i] = g.a[i] + g.b[i];\n"
     "}\n", 64, 256, WORDS, 0},
    {"vector_add_4", "memory", HEAD
     "KERNEL vector_add_4(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  if (i < g.n / 4) {\n"
     "    float4 x = ((float4 *)g.a)[i], y = ((float4 *)g.b)[i];\n"
     "    ((float4 *)g.d)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);\n"
     "  }\n"
     "}\n", WORDS / 1024, 256, WORDS, 0},
    {"bytes_to_float", "memory", HEAD
     "KERNEL bytes_to_float(arguments g) {\n"
     "  const signed char *from = (const signed char *)g.a; const unsigned short *half = (const unsigned short *)g.b;\n"
     "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < g.n; i += gridDim.x * blockDim.x)\n"
     "    g.d[i] = from[i] * 0.0078125f + (float)half[i];\n"
     "}\n", 64, 256, WORDS, 0},
    {"shared_reduction", "memory", HEAD
     "KERNEL shared_reduction(arguments g) {\n"
     "  __shared__ float sum[256];\n"
     "  int t = threadIdx.x; float x = 0;\n"
     "  for (int i = blockIdx.x * 1024 + t; i < (blockIdx.x + 1) * 1024; i += 256) x += g.a[i];\n"
     "  sum[t] = x; __syncthreads();\n"
     "  for (int by = 128; by; by /= 2) { if (t < by) sum[t] += sum[t + by]; __syncthreads(); }\n"
     "  if (t == 0) g.d[blockIdx.x] = sum[0];\n"
     "}\n", WORDS / 1024, 256, WORDS, 0},
    {"transpose", "memory", HEAD
     "KERNEL transpose(arguments g) {\n"
     "  __shared__ float tile[32][33];\n"
     "  int x = threadIdx.x & 31, y = threadIdx.x / 32, bx = blockIdx.x % 32 * 32, by = blockIdx.x / 32 * 32;\n"
     "  for (int k = 0; k < 32; k += 8) tile[y + k][x] = g.a[(by + y + k) * 1024 + bx + x];\n"
     "  __syncthreads();\n"
     "  for (int k = 0; k < 32; k += 8) g.d[(bx + y + k) * 1024 + by + x] = tile[x][y + k];\n"
     "}\n", 1024, 256, 0, 0},
    {"gather", "memory", HEAD
     "KERNEL gather(arguments g) {\n"
     "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i; float sum = 0;\n"
     "  for (int k = 0; k < g.steps; k++) { at = at * 1664525u + 1013904223u; sum += g.a[at >> 12]; }\n"
     "  g.d[i] = sum;\n"
     "}\n", 64, 256, 0, 128},
    {"histogram", "memory", HEAD
     "KERNEL histogram(arguments g) {\n"
     "  __shared__ unsigned count[256];\n"
     "  count[threadIdx.x] = 0; __syncthreads();\n"
     "  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  for (int k = 0; k < g.steps; k++) { x = x * 1664525u + 1013904223u; atomicAdd(&count[x >> 24], 1u); }\n"
     "  __syncthreads(); atomicAdd((unsigned *)g.d + threadIdx.x, count[threadIdx.x]);\n"
     "}\n", 64, 256, 0, 64},
    {"local_array", "memory", HEAD
     "KERNEL local_array(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x, at = i; int box[16];\n"
     "  for (int k = 0; k < 16; k++) box[k] = i * k;\n"
     "  for (int k = 0; k < g.steps; k++) { at = box[at & 15] + k; box[(at >> 4) & 15] += at; }\n"
     "  ((int *)g.d)[i] = at;\n"
     "}\n", 64, 256, 0, 128},
    {"collatz", "branch", HEAD
     "KERNEL collatz(arguments g) {\n"
     "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i + 1, n = 0;\n"
     "  while (x != 1 && n < 1000) { if (x & 1) x = 3 * x + 1; else x >>= 1; n++; }\n"
     "  ((unsigned *)g.d)[i] = n;\n"
     "}\n", 64, 256, 0, 0},
    {"mandelbrot", "branch", HEAD
     "KERNEL mandelbrot(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;\n"
     "  float cx = (i & 127) * (3.0f / 128) - 2.0f, cy = (i >> 7) * (2.0f / 128) - 1.0f, x = 0, y = 0;\n"
     "  while (n < g.steps && x * x + y * y < 4.0f) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; n++; }\n"
     "  ((int *)g.d)[i] = n;\n"
     "}\n", 64, 256, 0, 256},
    {"switch_calls", "branch", HEAD
     "static __device__ __noinline__ int step(int x, int k) { return x * 5 + k; }\n"
     "KERNEL switch_calls(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x, x = i;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    switch ((x >> 3) & 3) { case 0: x = step(x, k); break; case 1: x ^= k; break; case 2: x -= 7; break;\n"
     "                            default: x = (x >> 1) + 11; }\n"
     "  }\n"
     "  ((int *)g.d)[i] = x;\n"
     "}\n", 64, 256, 0, 64},
    {"epilogue_gelu", "epilogue", HEAD
     "static __device__ unsigned pack(float x, float y) {\n"
     "  unsigned r; asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(y), \"f\"(x)); return r;\n"
     "}\n"
     "static __device__ float tanh_(float x) {\n"
     "  float r; asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x)); return r; }\n"
     "static __device__ float gelu(float x) {\n"
     "  return 0.5f * x * (1 + tanh_(0.79788456f * (x + 0.044715f * x * x * x))); }\n"
     "KERNEL epilogue_gelu(arguments g) {\n"
     "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
     "  float4 x = ((float4 *)g.a)[i]; float bias[4];\n"
     "  for (int k = 0; k < 4; k++) bias[k] = __uint_as_float(((unsigned *)g.b)[(4 * i + k) & 1023] << 16);\n"
     "  uint2 r; r.x = pack(gelu(x.x + bias[0]), gelu(x.y + bias[1]));\n"
     "  r.y = pack(gelu(x.z + bias[2]), gelu(x.w + bias[3]));\n"
     "  ((uint2 *)g.d)[i] = r;\n"
     "}\n", WORDS / 1024, 256, 0, 0},
    {"softmax_row", "epilogue", HEAD
     "KERNEL softmax_row(arguments g) {\n"
     "  __shared__ float part[8];\n"
     "  int t = threadIdx.x, lane = t & 31; float x[4], most = -1e30f, sum = 0;\n"
     "  for (int k = 0; k < 4; k++) { x[k] = g.a[blockIdx.x * 1024 + k * 256 + t]; most = fmaxf(most, x[k]); }\n"
     "  for (int by = 16; by; by /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, by));\n"
     "  if (!lane) part[t / 32] = most;\n"
     "  __syncthreads(); for (int k = 0; k < 8; k++) most = fmaxf(most, part[k]);\n"
     "  for (int k = 0; k < 4; k++) { x[k] = __expf(x[k] - most); sum += x[k]; }\n"
     "  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);\n"
     "  __syncthreads(); if (!lane) part[t / 32] = sum;\n"
     "  __syncthreads(); sum = 0; for (int k = 0; k < 8; k++) sum += part[k];\n"
     "  for (int k = 0; k < 4; k++) g.d[blockIdx.x * 1024 + k * 256 + t] = x[k] / sum;\n"
     "}\n", WORDS / 1024, 256, 0, 0},
    {"grid_barrier", "grid", HEAD
     "KERNEL grid_barrier(arguments g) {\n"
     "  unsigned *count = (unsigned *)g.d;\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    g.d[1024 + blockIdx.x * blockDim.x + threadIdx.x] += 1; __syncthreads();\n"
     "    if (!threadIdx.x) {\n"
     "      __threadfence(); unsigned round = atomicAdd(count, 1u) / gridDim.x + 1;\n"
     "      while (*(volatile unsigned *)count < round * gridDim.x);\n"
     "      __threadfence();\n"
     "    }\n"
     "    __syncthreads();\n"
     "  }\n"
     "}\n", 132, 256, 0, 10},
    /* Kernels that live in shared memory: most of what they do is reading and writing it. */
    {"tiled_matmul", "shared", HEAD
     "KERNEL tiled_matmul(arguments g) {\n"
     "  __shared__ float a[16][16], b[16][16];\n"
     "  int x = threadIdx.x & 15, y = threadIdx.x / 16, row = blockIdx.x / 8 * 16 + y, col = blockIdx.x % 8 * 16 + x;\n"
     "  float sum = 0;\n"
     "  for (int k = 0; k < g.n; k += 16) {\n"
     "    a[y][x] = g.a[row * g.n + k + x]; b[y][x] = g.b[(k + y) * g.n + col]; __syncthreads();\n"
     "    for (int i = 0; i < 16; i++) sum += a[y][i] * b[i][x];\n"
     "    __syncthreads();\n"
     "  }\n"
     "  g.d[row * g.n + col] = sum;\n"
     "}\n", 64, 256, 128, 0},
    {"register_tiles", "shared", HEAD
     "KERNEL register_tiles(arguments g) {\n"
     "  __shared__ float a[8][64], b[8][64];\n"
     "  int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4; float d[4][4] = {};\n"
     "  for (int k = 0; k < g.n; k += 8) {\n"
     "    for (int i = t; i < 512; i += 256) {\n"
     "      a[i % 8][i / 8] = g.a[(i / 8) * g.n + k + i % 8]; b[i / 64][i % 64] = g.b[(k + i / 64) * 64 + i % 64];\n"
     "    }\n"
     "    __syncthreads();\n"
     "    for (int i = 0; i < 8; i++) {\n"
     "      float4 u = *(float4 *)&a[i][y], v = *(float4 *)&b[i][x];\n"
     "      float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};\n"
     "      for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) d[r][c] += us[r] * vs[c];\n"
     "    }\n"
     "    __syncthreads();\n"
     "  }\n"
     "  float *to = g.d + blockIdx.x * 4096 + y * 64 + x;\n"
     "  for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) to[r * 64 + c] = d[r][c];\n"
     "}\n", 32, 256, 128, 0},
    {"bitonic_sort", "shared", HEAD
     "KERNEL bitonic_sort(arguments g) {\n"
     "  __shared__ float v[512];\n"
     "  int t = threadIdx.x; v[t] = g.a[blockIdx.x * 512 + t]; v[t + 256] = g.a[blockIdx.x * 512 + 256 + t];\n"
     "  for (int size = 2; size <= 512; size *= 2)\n"
     "    for (int by = size / 2; by; by /= 2) {\n"
     "      __syncthreads();\n"
     "      int i = 2 * t - (t & (by - 1)); float x = v[i], y = v[i + by];\n"
     "      if ((x > y) == ((i & size) == 0)) { v[i] = y; v[i + by] = x; }\n"
     "    }\n"
     "  __syncthreads(); g.d[blockIdx.x * 512 + t] = v[t]; g.d[blockIdx.x * 512 + 256 + t] = v[t + 256];\n"
     "}\n", 64, 256, 0, 0},
    {"block_scan", "shared", HEAD
     "KERNEL block_scan(arguments g) {\n"
     "  __shared__ float v[512];\n"
     "  int t = threadIdx.x, at = blockIdx.x * 512 + 2 * t, by = 1; v[2 * t] = g.a[at]; v[2 * t + 1] = g.a[at + 1];\n"
     "  for (int n = 256; n; n /= 2, by *= 2) {\n"
     "    __syncthreads(); if (t < n) v[by * (2 * t + 2) - 1] += v[by * (2 * t + 1) - 1];\n"
     "  }\n"
     "  if (!t) v[511] = 0;\n"
     "  for (int n = 1; n < 512; n *= 2) {\n"
     "    by /= 2; __syncthreads();\n"
     "    if (t < n) {\n"
     "      int i = by * (2 * t + 1) - 1, j = by * (2 * t + 2) - 1; float x = v[i]; v[i] = v[j]; v[j] += x;\n"
     "    }\n"
     "  }\n"
     "  __syncthreads(); g.d[at] = v[2 * t]; g.d[at + 1] = v[2 * t + 1];\n"
     "}\n", 128, 256, 0, 0},
    {"stencil", "shared", HEAD
     "KERNEL stencil(arguments g) {\n"
     "  __shared__ float v[2][18][18];\n"
     "  int x = threadIdx.x % 16 + 1, y = threadIdx.x / 16 + 1;\n"
     "  for (int i = threadIdx.x; i < 648; i += 256) (&v[0][0][0])[i] = g.a[blockIdx.x * 648 + i];\n"
     "  __syncthreads();\n"
     "  for (int k = 0; k < g.steps; k++) {\n"
     "    const float (*from)[18] = v[k & 1]; float (*to)[18] = v[~k & 1];\n"
     "    float side = from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1];\n"
     "    to[y][x] = 0.5f * from[y][x] + 0.125f * side;\n"
     "    __syncthreads();\n"
     "  }\n"
     "  g.d[blockIdx.x * 256 + threadIdx.x] = v[g.steps & 1][y][x];\n"
     "}\n", 64, 256, 0, 32},
    {"columns", "shared", HEAD
     "KERNEL columns(arguments g) {\n"
     "  __shared__ float v[32][33];\n"
     "  int x = threadIdx.x & 31, y = threadIdx.x / 32;\n"
     "  for (int k = 0; k < 32; k += 8) v[y + k][x] = g.a[(y + k) * 32 + x];\n"
     "  for (int s = 0; s < g.steps; s++) {\n"
     "    __syncthreads(); float r[4]; for (int k = 0; k < 4; k++) r[k] = v[x][y + 8 * k];\n"
     "    __syncthreads(); for (int k = 0; k < 4; k++) v[y + 8 * k][x] = r[k] + 1;\n"
     "  }\n"
     "  __syncthreads(); for (int k = 0; k < 32; k += 8) g.d[blockIdx.x * 1024 + (y + k) * 32 + x] = v[y + k][x];\n"
     "}\n", 64, 256, 0, 16},
    {"butterflies", "shared", HEAD
     "KERNEL butterflies(arguments g) {\n"
     "  __shared__ float2 v[512];\n"
     "  int t = threadIdx.x; for (int k = t; k < 512; k += 256) v[k] = ((float2 *)g.a)[blockIdx.x * 512 + k];\n"
     "  for (int by = 1; by < 512; by *= 2) {\n"
     "    __syncthreads();\n"
     "    int i = 2 * t - (t & (by - 1)); float2 x = v[i], y = v[i + by];\n"
     "    float c = __cosf(t * by), s = __sinf(t * by);\n"
     "    float2 z = make_float2(c * y.x - s * y.y, c * y.y + s * y.x);\n"
     "    v[i] = make_float2(x.x + z.x, x.y + z.y); v[i + by] = make_float2(x.x - z.x, x.y - z.y);\n"
     "  }\n"
     "  __syncthreads(); for (int k = t; k < 512; k += 256) ((float2 *)g.d)[blockIdx.x * 512 + k] = v[k];\n"
     "}\n", 64, 256, 0, 0},
    {"all_pairs", "shared", HEAD
     "KERNEL all_pairs(arguments g) {\n"
     "  __shared__ float4 body[128];\n"
     "  int t = threadIdx.x; float x = t, y = 0, z = 0;\n"
     "  for (int s = 0; s < g.steps; s++) {\n"
     "    body[t] = ((float4 *)g.a)[s * 128 + t]; __syncthreads();\n"
     "    for (int k = 0; k < 128; k++) {\n"
     "      float4 b = body[k]; float d = x - b.x, e = d * d + b.y; y += d * e; z += b.w;\n"
     "    }\n"
     "    __syncthreads();\n"
     "  }\n"
     "  g.d[blockIdx.x * 128 + t] = y + z;\n"
     "}\n", 32, 128, 0, 8},
    {"dynamic_table", "shared", HEAD
     "KERNEL dynamic_table(arguments g) {\n"
     "  __shared__ short cost[2][130];\n"
     "  int t = threadIdx.x; for (int k = 0; k < 2; k++) for (int i = t; i < 130; i += 128) cost[k][i] = i;\n"
     "  __syncthreads();\n"
     "  for (int s = 0; s < g.steps; s++) {\n"
     "    int from = s & 1, to = from ^ 1;\n"
     "    cost[to][t + 1] = min(min(cost[from][t], cost[from][t + 1]), cost[from][t + 2]) + (short)(t * s & 3);\n"
     "    __syncthreads();\n"
     "  }\n"
     "  g.d[blockIdx.x * 128 + t] = cost[g.steps & 1][t + 1];\n"
     "}\n", 64, 128, 0, 64},
    {"table_lookup", "shared", HEAD
     "KERNEL table_lookup(arguments g) {\n"
     "  __shared__ unsigned table[256];\n"
     "  unsigned t = threadIdx.x, x = t; table[t] = ((unsigned *)g.a)[t]; __syncthreads();\n"
     "  for (int s = 0; s < g.steps; s++) x = table[x & 255] ^ (x >> 8) ^ (t * s);\n"
     "  ((unsigned *)g.d)[blockIdx.x * 256 + t] = x;\n"
     "}\n", 64, 256, 0, 64},
};

struct from_spec {
    const char *name, *path, *kernel, *arch;
    int64_t size; /* of every dim */
};

static const struct from_spec specs[] = {
    {"gemm_bf16 sm_80 512^3", "specs/gemm.lua", "gemm_bf16", "sm_80", 512},
    {"gemm_bf16 sm_90a 512^3", "specs/gemm.lua", "gemm_bf16", "sm_90a", 512},
    {"gemm_bf16_bias_gelu sm_80 K=64", "specs/gemm.lua", "gemm_bf16_bias_gelu", "sm_80", 64},
    {"gemm_bf16_bias_gelu sm_90a K=64", "specs/gemm.lua", "gemm_bf16_bias_gelu", "sm_90a", 64},
    {"rms_norm sm_90a", "specs/rms_norm.lua", "rms_norm_ring", "sm_90a", 1024},
};

/* One kernel, ready to be launched again and again on an open device. */
struct prepared {
    struct tw_device *device;
    struct tw_kernel *kernel;
    struct tw_launch launch;
};

struct measured {
    double seconds, rate; /* user time of a launch; thread-instructions a second */
    uint64_t instructions; /* of a launch */
    size_t peak_bytes;
};

static const char *only = "";
static double least_seconds = 0.4;
static int modes[2] = {1, 1}; /* hazards off, on */

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "emu_speed: %s: %s\n", what, why);
    exit(1);
}

static double user_time(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec;
}

static struct tw_device *open_device(struct tw_runtime *rt, const char *arch, int hazards)
{
    struct emu_options options = {.arch = arch, .hazards = hazards ? EMU_HAZARDS_ON : EMU_HAZARDS_OFF};
    struct tw_error error;
    struct tw_device *device;
    if (tw_device_open_emu(rt, &options, &device, &error))
        stop("emulator", error.text);
    return device;
}

/* Launches until the time is enough, at least twice; the first launch, which takes memory, does not count. */
static struct measured measure(const char *name, struct tw_device *device, int (*run)(void *, struct tw_error *),
                               void *context)
{
    struct tw_error error;
    struct emu_statistics before, after;
    struct measured m = {0};
    unsigned launches = 0;
    if (run(context, &error))
        stop(name, error.text);
    emu_device_statistics(device, &before);
    double start = user_time(), seconds;
    do {
        if (run(context, &error))
            stop(name, error.text);
        launches++;
        seconds = user_time() - start;
    } while (seconds < least_seconds);
    emu_device_statistics(device, &after);
    m.instructions = (after.thread_instructions - before.thread_instructions) / launches;
    m.seconds = seconds / launches;
    m.rate = (double)(after.thread_instructions - before.thread_instructions) / seconds;
    m.peak_bytes = after.peak_bytes;
    return m;
}

/* ---- Small kernels ----------------------------------------------------------------------------------------------- */

static char *small_ptx(struct tw_runtime *rt, const char *name, const char *source)
{
    struct tw_error error;
    struct tw_compiled compiled = {0};
    struct tw_compile_request request = {.source = source,
                                         .source_bytes = strlen(source),
                                         .name = name,
                                         .entry = name,
                                         .arch = "sm_90a",
                                         .outputs = TW_OUTPUT_PTX};
    if (tw_compile(rt, &request, &compiled, &error))
        stop(name, error.text);
    char *ptx = strdup(compiled.ptx);
    tw_compiled_free(rt, &compiled);
    if (!ptx)
        stop(name, "no memory");
    return ptx;
}

static int run_small(void *context, struct tw_error *error)
{
    const struct prepared *p = context;
    return tw_device_launch(p->device, &p->launch, error);
}

static struct measured small_once(struct tw_runtime *rt, const char *name, const char *ptx, unsigned grid,
                                  unsigned block, struct arguments *arguments, int hazards, int once)
{
    struct tw_error error;
    struct tw_device *device = open_device(rt, "sm_90a", hazards);
    struct tw_load load = {.ptx = ptx, .ptx_bytes = strlen(ptx), .entry = name};
    struct prepared p = {.device = device};
    uint64_t *buffer[3] = {&arguments->a, &arguments->b, &arguments->d};
    float *values = malloc(4 * (size_t)WORDS);
    if (!values)
        stop(name, "no memory");
    for (int i = 0; i < WORDS; i++)
        values[i] = (float)(i % 1009) * 0.001f;
    if (tw_device_load(device, &load, &p.kernel, &error))
        stop(name, error.text);
    for (int i = 0; i < 3; i++)
        if (tw_device_alloc(device, 4 * (size_t)WORDS, buffer[i], &error) ||
            tw_device_upload(device, *buffer[i], values, 4 * (size_t)WORDS, &error))
            stop(name, error.text);
    free(values);
    p.launch = (struct tw_launch){.kernel = p.kernel,
                                  .grid = {grid, 1, 1},
                                  .block = {block, 1, 1},
                                  .params = arguments,
                                  .params_bytes = sizeof *arguments};
    struct measured m = {0};
    if (once) {
        double start = user_time();
        struct emu_statistics statistics;
        if (run_small(&p, &error))
            stop(name, error.text);
        emu_device_statistics(device, &statistics);
        m.seconds = user_time() - start;
        m.instructions = statistics.thread_instructions;
        m.peak_bytes = statistics.peak_bytes;
    } else {
        m = measure(name, device, run_small, &p);
    }
    for (int i = 0; i < 3; i++)
        tw_device_free(device, *buffer[i]);
    tw_device_unload(device, p.kernel);
    tw_device_close(device);
    return m;
}

/* ---- Kernels of specs -------------------------------------------------------------------------------------------- */

struct planned {
    struct tw_device *device;
    struct tw_kernel *kernel;
    const struct plan *plan;
    struct launch_arguments arguments;
};

static int run_planned(void *context, struct tw_error *error)
{
    struct planned *p = context;
    return launch_plan(p->device, p->kernel, p->plan, &p->arguments, NULL, error);
}

static struct measured spec_once(struct compile *c, const struct from_spec *s, int hazards)
{
    enum { MOST = 16 };
    struct tw_error error;
    struct tw_device *device = open_device(&c->rt, s->arch, hazards);
    const struct compile_unit *unit = &c->unit[0];
    const struct plan *plan = &unit->plan;
    int64_t symbol[MOST];
    uint64_t address[MOST];
    struct shape shape[MOST];
    double scalar[MOST];
    if (plan->symbol_count > MOST || plan->tensor_count > MOST || plan->scalar_count > MOST)
        stop(s->name, "too many symbols");
    for (int i = 0; i < plan->symbol_count; i++)
        symbol[i] = strcmp(plan->symbol[i], "K") == 0 ? s->size : s->size < 512 ? 512 : s->size;
    symbol[plan->symbol_count - 1] = device->sm_count;
    for (int i = 0; i < plan->scalar_count; i++)
        scalar[i] = plan->scalar[i].value;
    for (int i = 0; i < plan->tensor_count; i++) {
        if (layout_shape(plan, i, symbol, &shape[i], &error))
            stop(s->name, error.text);
        size_t bytes = (size_t)shape_span(&shape[i]) * tw_dtype_bytes(plan->tensor[i].dtype);
        if (tw_device_alloc(device, bytes, &address[i], &error) ||
            tw_device_fill(device, address[i], 0x3c013c00, bytes, &error))
            stop(s->name, error.text);
    }
    struct planned p = {.device = device, .plan = plan, .arguments = {symbol, address, shape, scalar, 0}};
    struct tw_load load = {.ptx = unit->compiled[COMPILE_NVRTC].ptx,
                           .ptx_bytes = unit->compiled[COMPILE_NVRTC].ptx_bytes,
                           .entry = plan->entry};
    if (tw_device_load(device, &load, &p.kernel, &error))
        stop(s->name, error.text);
    struct measured m = measure(s->name, device, run_planned, &p);
    for (int i = 0; i < plan->tensor_count; i++)
        tw_device_free(device, address[i]);
    tw_device_unload(device, p.kernel);
    tw_device_close(device);
    return m;
}

static void open_spec(struct compile *c, const struct from_spec *s)
{
    struct compile_choice choice = {.kernel = s->kernel, .arch = s->arch, .variant = "0"};
    int status = compile_open(c, "emu_speed", s->path);
    if (!status)
        status = compile_units(c, &choice);
    for (int i = 0; !status && i < c->unit_count; i++) {
        c->unit[i].wanted = i == 0;
        c->unit[i].outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
    }
    if (!status)
        status = compile_cubins(c, COMPILE_NVRTC);
    compile_report(c);
    if (status || !c->unit_count)
        stop(s->name, "not compiled");
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int rows;
static double logs[2];
static int counted;

static void row(const char *name, const char *group, const struct measured m[2], int counts)
{
    printf("%s{\"kernel\": \"%s\", \"group\": \"%s\", \"thread_instructions\": %llu, \"seconds\": %.6f, "
           "\"thread_instructions_per_s\": %.0f, \"hazards_seconds\": %.6f, "
           "\"hazards_thread_instructions_per_s\": %.0f, \"peak_bytes\": %zu}",
           rows++ ? ",\n " : "[", name, group, (unsigned long long)m[0].instructions, m[0].seconds, m[0].rate,
           m[1].seconds, m[1].rate, m[0].peak_bytes);
    fprintf(stderr, "%-34s %-9s %9.2f M  %8.2f ms  %8.1f M/s  hazards %9.2f ms  %8.1f M/s\n", name, group,
            1e-6 * (double)m[0].instructions, 1e3 * m[0].seconds, 1e-6 * m[0].rate, 1e3 * m[1].seconds,
            1e-6 * m[1].rate);
    if (!counts)
        return;
    logs[0] += log(m[0].rate);
    logs[1] += log(m[1].rate);
    counted++;
}

static void all_small(struct tw_runtime *rt)
{
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        const struct small *s = &small[i];
        if (!strstr(s->name, only))
            continue;
        char *ptx = small_ptx(rt, s->name, s->source);
        struct arguments arguments = {.n = s->n, .steps = s->steps};
        struct measured m[2];
        memset(m, 0, sizeof m);
        for (int hazards = 0; hazards < 2; hazards++)
            if (modes[hazards])
                m[hazards] = small_once(rt, s->name, ptx, s->grid, s->block, &arguments, hazards, 0);
        row(s->name, s->group, m, 1);
        free(ptx);
    }
}

static void all_specs(void)
{
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        if (!strstr(specs[i].name, only))
            continue;
        struct compile c;
        struct measured m[2];
        memset(m, 0, sizeof m);
        open_spec(&c, &specs[i]);
        for (int hazards = 0; hazards < 2; hazards++)
            if (modes[hazards])
                m[hazards] = spec_once(&c, &specs[i], hazards);
        row(specs[i].name, "spec", m, 0);
        compile_close(&c);
    }
}

/* What resident blocks take must not grow with the grid. */
static void memory(struct tw_runtime *rt)
{
    static const char source[] = HEAD
        "KERNEL grids(arguments g) {\n"
        "  __shared__ float tile[1024]; tile[threadIdx.x] = (float)blockIdx.x; __syncthreads();\n"
        "  if (!blockIdx.x) g.d[threadIdx.x] = tile[63 - threadIdx.x];\n"
        "}\n";
    if (!strstr("grids", only))
        return;
    char *ptx = small_ptx(rt, "grids", source);
    for (unsigned grid = 100; grid <= 1000000; grid *= 10) {
        struct arguments arguments = {0};
        struct measured m = small_once(rt, "grids", ptx, grid, 64, &arguments, 0, 1);
        printf("%s{\"kernel\": \"grids\", \"group\": \"resident\", \"blocks\": %u, \"seconds\": %.6f, "
               "\"peak_bytes\": %zu}",
               rows++ ? ",\n " : "[", grid, m.seconds, m.peak_bytes);
        fprintf(stderr, "grid of %7u blocks: %zu bytes for those resident, %.3f s\n", grid, m.peak_bytes, m.seconds);
    }
    free(ptx);
}

int main(int count, char **argument)
{
    struct tw_runtime rt;
    struct tw_error error;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(argument[i], "--only"))
            only = argument[i + 1];
        else if (!strcmp(argument[i], "--seconds"))
            least_seconds = atof(argument[i + 1]);
        else if (!strcmp(argument[i], "--hazards"))
            modes[strcmp(argument[i + 1], "on") == 0 ? 0 : 1] = 0;
        else
            stop(argument[i], "write --only TEXT, --seconds S or --hazards on|off");
    }
    if (tw_runtime_init(&rt, &error))
        stop("runtime", error.text);
    all_small(&rt);
    all_specs();
    if (counted > 1) {
        double mean[2] = {exp(logs[0] / counted), exp(logs[1] / counted)};
        fprintf(stderr, "geometric mean of the %d small kernels: %.1f M/s, with hazards %.1f M/s\n", counted,
                1e-6 * mean[0], 1e-6 * mean[1]);
        printf("%s{\"kernel\": \"geometric mean\", \"group\": \"mean\", \"thread_instructions_per_s\": %.0f, "
               "\"hazards_thread_instructions_per_s\": %.0f}",
               rows++ ? ",\n " : "[", mean[0], mean[1]);
    }
    memory(&rt);
    puts(rows ? "]" : "[]");
    tw_runtime_close(&rt);
    return 0;
}
