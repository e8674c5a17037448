// State spaces, vectors, structs, tables, allocation, printing.

__device__ int counters[4] = {10, 20, 30, 40};
__device__ const float polynomial[5] = {1.0f, -0.5f, 0.25f, 3.0f, 2.0f};
__constant__ short lookup[8] = {3, 1, 4, 1, 5, 9, 2, 6};
struct node {
    int key;
    const node *next;
    const char *name;
};
__device__ const char text_a[] = "alpha";
__device__ node third = {33, nullptr, "gamma"};
__device__ node second = {22, &third, "beta"};
__device__ node first = {11, &second, text_a};
__device__ int *pointers[2] = {&counters[1], &counters[3]};
__device__ double grid[3][2] = {{1, 2}, {3, 4}, {5, 6}};
extern __constant__ int weights[];
__constant__ int weights[3] = {7, 8, 9};

extern "C" __global__ void initialised(int *out, float *values)
{
    int t = threadIdx.x, sum = 0;
    for (const node *n = &first; n; n = n->next)
        for (const char *c = n->name; *c; c++)
            sum = sum * 31 + *c + n->key;
    out[t * 3] = sum + *pointers[t & 1];
    out[t * 3 + 1] = lookup[t & 7] * weights[t % 3];
    out[t * 3 + 2] = counters[t & 3];
    float p = 0, x = t * 0.25f;
    for (int i = 4; i >= 0; i--)
        p = __fadd_rn(__fmul_rn(p, x), polynomial[i]);
    values[t] = p + (float)grid[t % 3][t & 1];
}

extern "C" __global__ void vectors(const float4 *in, float4 *out, const int2 *pairs, short4 *narrow, double2 *wide)
{
    int i = threadIdx.x;
    float4 v = in[i], w = __ldg(&in[(i + 3) % 64]);
    v.x += w.w, v.y -= w.z, v.z *= w.y, v.w = fmaxf(v.w, w.x);
    out[i] = v;
    int2 p = pairs[i];
    narrow[i] = make_short4(p.x, p.y, p.x >> 16, p.y >> 16);
    wide[i] = make_double2(v.x, p.x);
    ((char3 *)(narrow + 64))[i] = make_char3(p.x, p.y, i);
}

extern "C" __global__ void cached(const int *a, const int *b, int *out)
{
    int i = threadIdx.x;
    int v = __ldcg(a + i) + __ldca(a + (i ^ 1)) + __ldcs(a + (i ^ 2)) + __ldcv(b + i) + __ldlu(b + (i ^ 4));
    int w;
    asm("ld.global.nc.L1::no_allocate.L2::128B.b32 %0, [%1];" : "=r"(w) : "l"(b + (i ^ 8)));
    __stcs(out + i, v);
    __stwt(out + blockDim.x + i, w);
    __stcg(out + 2 * blockDim.x + i, v ^ w);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a + i));
}

// One piece of dynamic shared memory cut into arrays of several types.
extern "C" __global__ void cut_shared(const int *in, double *out)
{
    extern __shared__ __align__(16) unsigned char raw[];
    __shared__ int fixed[4];
    double *d = (double *)raw;
    int *n = (int *)(d + blockDim.x);
    unsigned char *c = (unsigned char *)(n + blockDim.x);
    int t = threadIdx.x;
    if (t < 4)
        fixed[t] = t * 10;
    d[t] = in[t] * 0.5;
    n[t] = in[t] * 3;
    c[t] = (unsigned char)in[t];
    __syncthreads();
    int u = blockDim.x - 1 - t;
    out[t] = d[u] + n[u] + c[u] + fixed[u & 3];
}

struct particle {
    float3 position;
    unsigned char kind, flags;
    short charge;
    double mass;
};

extern "C" __global__ void structs(const particle *in, particle *out, float *flat)
{
    __shared__ particle s[64];
    int t = threadIdx.x;
    particle p = in[t];
    p.position.x += 1;
    p.kind = p.kind * 2 + 1;
    p.charge = -p.charge;
    p.mass = p.mass == p.mass ? (double)p.kind : 0;
    s[t] = p;
    __syncthreads();
    particle q = s[(t * 7 + 3) % 64];
    q.position.y = (float)t;
    out[t] = q;
    flat[t] = (float)(q.charge + p.kind);
}

struct big {
    int values[32];
    float scale;
    const int *data;
    char tag;
};

extern "C" __global__ void by_value(big b, int3 shift, char c, int *out)
{
    int t = threadIdx.x;
    out[t] = b.values[t % 32] * (int)b.scale + b.data[t] + shift.x * shift.y - shift.z + b.tag + c;
}

extern "C" __global__ void grid_constant(const __grid_constant__ big b, int *out)
{
    const big *p = &b;
    out[threadIdx.x] = p->values[(threadIdx.x * 5) % 32] + (int)p->scale;
}

// Indices known only when it runs: the arrays live in local memory.
extern "C" __global__ void local_arrays(const unsigned *in, int *out)
{
    int stack[100], t = threadIdx.x;
    short small[40];
    unsigned char seen[64] = {};
    for (int i = 0; i < 100; i++)
        stack[i] = i * t;
    for (int i = 0; i < 40; i++)
        small[i] = (short)(i * 111 - t);
    for (int i = 0; i < 64; i++)
        seen[in[(t + i) % 256] & 63]++;
    int sum = 0;
    for (int i = 0; i < 50; i++)
        sum += stack[in[(t * 3 + i) % 256] % 100] - small[in[i + t] % 40];
    int *p = in[t] & 1 ? stack : stack + 50;
    p[in[t + 1] % 50] = 12345;
    out[t * 3] = sum;
    out[t * 3 + 1] = stack[in[t + 1] % 50] + stack[50 + in[t + 1] % 50];
    out[t * 3 + 2] = seen[t % 64];
}

// The same function on pointers into all spaces.
__device__ __noinline__ int total(const int *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 3 + p[i];
    return sum;
}

__device__ int in_global[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ int in_constant[8] = {8, 7, 6, 5, 4, 3, 2, 1};

extern "C" __global__ void generic(int *out)
{
    __shared__ int in_shared[8];
    int in_local[8], t = threadIdx.x;
    for (int i = 0; i < 8; i++)
        in_local[i] = i * i - t;
    if (t < 8)
        in_shared[t] = t + 100;
    __syncthreads();
    const int *p = t % 4 == 0 ? in_global : t % 4 == 1 ? in_constant : t % 4 == 2 ? in_shared : in_local;
    out[t * 2] = total(p, 8);
    out[t * 2 + 1] = (__isGlobal(p) ? 1 : 0) | (__isShared(p) ? 2 : 0) | (__isLocal(p) ? 4 : 0);
}

struct cell {
    int value;
    cell *next;
};

// Lists on the device's heap.
extern "C" __global__ void heap(const int *in, int *out)
{
    int t = threadIdx.x;
    cell *head = nullptr;
    for (int i = 0; i < t % 5 + 1; i++) {
        cell *c = (cell *)malloc(sizeof(cell));
        c->value = in[(t + i) % 64];
        c->next = head;
        head = c;
    }
    int sum = 0, n = 1;
    while (head) {
        cell *next = head->next;
        sum += head->value * n++;
        free(head);
        head = next;
    }
    int *array = new int[t + 1];
    for (int i = 0; i <= t; i++)
        array[i] = i;
    out[t] = sum + array[t / 2];
    delete[] array;
}

#pragma pack(push, 1)
struct tight {
    char a;
    int b;
    short c;
    long long d;
};
#pragma pack(pop)

extern "C" __global__ void bytes(const tight *in, unsigned char *out, unsigned long long *sums)
{
    int t = threadIdx.x;
    tight x = in[t];
    x.b += 5;
    x.d = -x.d;
    memcpy(out + t * 16, &x, sizeof x);
    out[t * 16 + 15] = sizeof x;
    unsigned long long buffer[4];
    memset(buffer, 0x5a, sizeof buffer);
    memcpy((char *)buffer + 3, in + t, 15);
    sums[t] = buffer[0] + buffer[1] * 3 + buffer[2] * 5 + buffer[3];
}

template <int N> struct power {
    __device__ static int of(int x)
    {
        return x * power<N - 1>::of(x);
    }
};
template <> struct power<0> {
    __device__ static int of(int)
    {
        return 1;
    }
};

template <typename... T> __device__ int add_all(T... values)
{
    return (0 + ... + values);
}

template <typename F, typename G> struct composed {
    F f;
    G g;
    template <typename X> __device__ auto operator()(X x) const
    {
        return f(g(x));
    }
};

extern "C" __global__ void templates(int *out)
{
    int t = threadIdx.x;
    auto twice = [=](int x) { return x * 2 + t; };
    out[t] = composed<decltype(twice), decltype(twice)>{twice, twice}(5) + power<5>::of(t % 9) +
             add_all(t, 2, 3ll, (short)4);
}

extern "C" __global__ void printing(const float *in, int n)
{
    if (threadIdx.x >= n)
        return;
    int i = threadIdx.x;
    if (i == 0) {
        printf("plain text, 100%%\n");
        printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d\n", -5, 7, 4000000000u, 255, 255, 8, 'z', 42, 42, 42, 42);
        printf("%f %.3f %8.2f %-8.1f| %e %g %G %a\n", 1.5, 3.14159, 2.5, -1.25, 12345.678, 1e-10, 1e20, 1.0);
        printf("%lld %llu %llx %ld %hd\n", -1234567890123ll, 18446744073709551615ull, 0xabcdef012345ull, -9l,
               (short)-3);
        printf("%s and %s, %10s|%-6s|%.2s\n", "one", text_a, "right", "left", "cut");
        printf("%p %5s|%3c|%#x %#o % d\n", (void *)0, "ab", (char)120, 255, 8, 5);
        printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1,
               2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
               30, 31, 32);
        int got = printf("%d-%s-%f\n", 1, "x", 2.0f);
        printf("returned %d\n", got);
    }
    __syncwarp();
    printf("lane %2d: %6.3f\n", i, in[i]);
}

extern "C" __global__ void volatile_flags(volatile int *data, volatile int *flag, int *out)
{
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t * 3;
        __threadfence();
        __syncthreads();
        if (t == 0)
            *flag = 1;
    } else {
        while (*flag == 0)
            ;
        __threadfence();
        s[t] = data[t];
        __syncthreads();
        out[t] = s[63 - t];
    }
}

extern "C" __global__ void who_am_i(unsigned *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned *o = out + (block * blockDim.x * blockDim.y * blockDim.z + thread) * 4, lane, warp, le, gt;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    asm("mov.u32 %0, %nwarpid;" : "=r"(warp));
    asm("mov.u32 %0, %lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %lanemask_gt;" : "=r"(gt));
    long long before = clock64();
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    __nanosleep(100);
    o[0] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16 | lane << 24;
    o[1] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16 | (clock64() > before) << 24 | (warp > 0) << 25 |
           (ns > 0) << 26;
    o[2] = blockDim.x | blockDim.y << 8 | blockDim.z << 16 | warpSize << 24;
    o[3] = (le ^ gt) == 0xffffffffu && __popc(le) == lane + 1 ? gridDim.x | gridDim.y << 8 | gridDim.z << 16 : 0;
}
