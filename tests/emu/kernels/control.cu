// Branches, loops, calls.

extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, unsigned long long *peak)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x = in[i] % 100000 + 1, most = x;
    unsigned n = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        most = x > most ? x : most;
        n++;
    }
    steps[i] = n;
    peak[i] = most;
}

// Break, continue and return inside two loops, unlike for every lane.
__device__ int search(const int *a, int n, int key)
{
    int score = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] < 0)
            continue;
        for (int j = i; j < n; j++) {
            if (a[j] == key)
                return score * 1000 + j;
            if ((a[j] ^ key) % 11 == 3)
                break;
            score += a[j] & 7;
            if (score > 500)
                goto out;
        }
        if (score % 13 == 5)
            score ^= key;
    }
out:
    return -score;
}

extern "C" __global__ void nested(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = search(in, n, i % 50 - 5);
}

extern "C" __global__ void dense_switch(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned acc = i, x = in[i];
    for (int k = 0; k < 8; k++, x >>= 4) {
        switch (x & 15) {
        case 0:
            acc += 17;
            break;
        case 1:
            acc *= 3;
            break;
        case 2:
            acc ^= 0x55aa; // falls through
        case 3:
            acc = acc << 3 | acc >> 29;
            break;
        case 4:
            acc -= k;
            break;
        case 5:
            acc = ~acc;
            break;
        case 6:
            acc /= 7;
            break;
        case 7:
            acc %= 10007;
            break;
        case 8:
            acc = __brev(acc);
            break;
        case 9:
            acc += __popc(acc);
            break;
        case 10:
            acc = acc * acc + 1;
            break;
        case 12:
            continue;
        case 13:
            if (acc & 1)
                k++;
            break;
        default:
            acc += 1;
        }
        acc ^= acc >> 15;
    }
    out[i] = acc;
}

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n)
{
    return n == 0 ? true : is_odd(n - 1);
}
__device__ __noinline__ bool is_odd(int n)
{
    return n == 0 ? false : is_even(n - 1);
}

extern "C" __global__ void recursion(int *out)
{
    int t = threadIdx.x;
    out[t * 3] = fibonacci(t % 14);
    out[t * 3 + 1] = ackermann(t % 3, t % 5);
    out[t * 3 + 2] = is_even(t);
}

struct tree {
    int left, right, value;
};

__device__ __noinline__ int depth_of(const tree *nodes, int at)
{
    if (at < 0)
        return 0;
    int l = depth_of(nodes, nodes[at].left), r = depth_of(nodes, nodes[at].right);
    return 1 + (l > r ? l : r);
}

__device__ __noinline__ void walk(const tree *nodes, int at, int *out, int &n)
{
    if (at < 0)
        return;
    walk(nodes, nodes[at].left, out, n);
    out[n++] = nodes[at].value;
    walk(nodes, nodes[at].right, out, n);
}

// Every lane builds its own search tree, then walks it in order.
extern "C" __global__ void trees(const int *in, int *out, int *depth)
{
    tree nodes[16];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) {
        nodes[i] = {-1, -1, in[(t * 16 + i) % 1024]};
        for (int at = 0; i > 0;) {
            int &next = nodes[i].value < nodes[at].value ? nodes[at].left : nodes[at].right;
            if (next < 0) {
                next = i;
                break;
            }
            at = next;
        }
    }
    int n = 0;
    walk(nodes, 0, out + t * 16, n);
    depth[t] = depth_of(nodes, 0);
}

typedef float (*operation)(float, float);
__device__ float op_add(float a, float b)
{
    return a + b;
}
__device__ float op_sub(float a, float b)
{
    return a - b;
}
__device__ float op_mul(float a, float b)
{
    return a * b;
}
__device__ float op_most(float a, float b)
{
    return a > b ? a : b;
}
__device__ operation operations[] = {op_add, op_sub, op_mul, op_most};

extern "C" __global__ void function_pointers(const float *in, float *out)
{
    int i = threadIdx.x;
    operation f = operations[i % 4];
    float v = f(in[i], in[(i + 1) % blockDim.x]);
    for (int k = 0; k < 4; k++)
        v = operations[(i + k) & 3](v, in[(i + k) % blockDim.x]);
    out[i] = v;
}

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const
    {
        return 0;
    }
    __device__ virtual ~shape()
    {
    }
};
struct square : shape {
    float a;
    __device__ square(float x) : a(x)
    {
    }
    __device__ float area() const override
    {
        return a * a;
    }
    __device__ int sides() const override
    {
        return 4;
    }
};
struct disc : shape {
    float r;
    __device__ disc(float x) : r(x)
    {
    }
    __device__ float area() const override
    {
        return 3.0f * r * r;
    }
};
struct box : square {
    float b;
    __device__ box(float x, float y) : square(x), b(y)
    {
    }
    __device__ float area() const override
    {
        return a * b;
    }
};

extern "C" __global__ void virtual_functions(const float *in, float *out, int *sides)
{
    int i = threadIdx.x;
    shape *s;
    switch (i % 3) {
    case 0:
        s = new square(in[i]);
        break;
    case 1:
        s = new disc(in[i]);
        break;
    default:
        s = new box(in[i], 2.0f);
        break;
    }
    out[i] = s->area();
    sides[i] = s->sides();
    delete s;
}

// A machine with a stack, one program for each lane.
extern "C" __global__ void interpreter(const unsigned *programs, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, stack[16], top = 0, pc = 0, fuel = 200;
    unsigned seed = programs[i];
    stack[top++] = i;
    while (fuel-- > 0 && pc < 40) {
        seed = seed * 1664525u + 1013904223u;
        unsigned op = seed >> 28;
        if (op < 4) {
            if (top < 16)
                stack[top++] = (int)(seed >> 8 & 0xff);
        } else if (op < 8 && top >= 2) {
            int b = stack[--top], a = stack[--top];
            stack[top++] = op == 4 ? a + b : op == 5 ? a - b : op == 6 ? a * b : a ^ b;
        } else if (op == 8 && top) {
            pc += stack[--top] & 3;
        } else if (op == 9 && pc > 4) {
            pc -= 4;
            continue;
        } else if (op == 10) {
            break;
        }
        pc++;
    }
    out[i] = top ? stack[top - 1] : -1;
}

// Loops whose bounds depend on outer loops and lanes; unrolled by pragma.
extern "C" __global__ void triangular(const int *in, long long *out, int n)
{
    int t = threadIdx.x;
    long long sum = 0;
    for (int i = 0; i < t % 17; i++)
#pragma unroll 4
        for (int j = i; j < n - t % 5; j++)
            sum += (long long)in[j] * in[i] - (j % (i + 1));
    do {
        sum -= t;
    } while (sum > 100000);
    out[t] = sum;
}

// Lanes meet again behind a branch that only some took, three levels deep, with votes in between.
extern "C" __global__ void ballots_in_branches(const int *in, unsigned *out)
{
    int i = threadIdx.x;
    unsigned a = 0, b = 0, c = 0;
    if (in[i] > 0) {
        a = __ballot_sync(__activemask(), in[i] & 1);
        if (in[i] & 2) {
            b = __ballot_sync(__activemask(), in[i] & 4);
            for (int k = 0; k < (in[i] & 3); k++)
                c += __popc(__ballot_sync(__activemask(), k == 1));
        }
    }
    unsigned d = __ballot_sync(0xffffffffu, a != 0);
    out[i * 2] = __popc(d);
    out[i * 2 + 1] = (a != 0) + 2 * (b != 0) + (c > 0 ? 4 : 0);
}
