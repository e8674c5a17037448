// Checksums, hashes, ciphers, random numbers.
typedef unsigned long long u64;

__constant__ unsigned K256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned x, int n)
{
    return x >> n | x << (32 - n);
}

extern "C" __global__ void sha256(const unsigned char *in, unsigned *out, int bytes)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char block[64];
    int n = bytes - t % 60, blocks = (n + 8) / 64 + 1;
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < 64; i++) {
            int at = b * 64 + i;
            block[i] = at < n ? in[t + at] : at == n ? 0x80 : 0;
        }
        if (b == blocks - 1)
            for (int i = 0; i < 8; i++)
                block[63 - i] = (unsigned char)((u64)n * 8 >> (8 * i));
        unsigned w[64];
        for (int i = 0; i < 16; i++)
            w[i] = block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
                   (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
        unsigned v[8];
        for (int i = 0; i < 8; i++)
            v[i] = h[i];
        for (int i = 0; i < 64; i++) {
            unsigned t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                          ((v[4] & v[5]) ^ (~v[4] & v[6])) + K256[i] + w[i];
            unsigned t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
                          ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            for (int k = 7; k > 0; k--)
                v[k] = v[k - 1];
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++)
            h[i] += v[i];
    }
    for (int i = 0; i < 8; i++)
        out[t * 8 + i] = h[i];
}

extern "C" __global__ void crc32(const unsigned char *in, unsigned *out, int n)
{
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    unsigned c = ~0u;
    for (int i = 0; i < n - (int)threadIdx.x; i++)
        c = table[(c ^ in[i + threadIdx.x]) & 0xff] ^ c >> 8;
    out[threadIdx.x] = ~c;
}

extern "C" __global__ void philox(unsigned *out, unsigned key0, unsigned key1)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, c[4] = {i, 0, i * 7, 1}, k[2] = {key0, key1};
#pragma unroll
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xd2511f53u, c[0]), l0 = 0xd2511f53u * c[0];
        unsigned h1 = __umulhi(0xcd9e8d57u, c[2]), l1 = 0xcd9e8d57u * c[2];
        unsigned n[4] = {h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0};
        for (int q = 0; q < 4; q++)
            c[q] = n[q];
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
    ((uint4 *)out)[i] = make_uint4(c[0], c[1], c[2], c[3]);
}

struct xorwow {
    unsigned x[5], d;
    __device__ explicit xorwow(unsigned seed) : d(seed ^ 362437)
    {
        for (int i = 0; i < 5; i++)
            x[i] = seed = seed * 1812433253u + 1 + i;
    }
    __device__ unsigned next()
    {
        unsigned t = x[0] ^ x[0] >> 2;
        x[0] = x[1], x[1] = x[2], x[2] = x[3], x[3] = x[4];
        x[4] = x[4] ^ x[4] << 4 ^ (t ^ t << 1);
        return x[4] + (d += 362437);
    }
    __device__ float uniform()
    {
        return next() * 2.3283064e-10f;
    }
};

// Points in the quarter circle.
extern "C" __global__ void monte_carlo(unsigned long long *hits, unsigned *last, int tries)
{
    xorwow random(blockIdx.x * blockDim.x + threadIdx.x + 1);
    unsigned inside = 0;
    for (int i = 0; i < tries; i++) {
        float x = random.uniform(), y = random.uniform();
        inside += __fmaf_rn(x, x, __fmul_rn(y, y)) < 1.0f;
    }
    last[blockIdx.x * blockDim.x + threadIdx.x] = random.next();
    for (int d = 16; d; d >>= 1)
        inside += __shfl_down_sync(0xffffffffu, inside, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(hits, (u64)inside);
}

#define QUARTER(a, b, c, d)                                                                                           \
    a += b, d = rotate(d ^ a, 16), c += d, b = rotate(b ^ c, 20), a += b, d = rotate(d ^ a, 24), c += d,              \
        b = rotate(b ^ c, 25)

extern "C" __global__ void chacha20(const unsigned *key, unsigned *stream)
{
    unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    for (int i = 0; i < 8; i++)
        s[4 + i] = key[i];
    s[12] = threadIdx.x, s[13] = 9, s[14] = 8, s[15] = 7;
    for (int i = 0; i < 16; i++)
        x[i] = s[i];
    for (int r = 0; r < 10; r++) {
        QUARTER(x[0], x[4], x[8], x[12]);
        QUARTER(x[1], x[5], x[9], x[13]);
        QUARTER(x[2], x[6], x[10], x[14]);
        QUARTER(x[3], x[7], x[11], x[15]);
        QUARTER(x[0], x[5], x[10], x[15]);
        QUARTER(x[1], x[6], x[11], x[12]);
        QUARTER(x[2], x[7], x[8], x[13]);
        QUARTER(x[3], x[4], x[9], x[14]);
    }
    for (int i = 0; i < 16; i++)
        stream[threadIdx.x * 16 + i] = x[i] + s[i];
}

extern "C" __global__ void murmur64(const u64 *in, u64 *out)
{
    u64 h = in[threadIdx.x] ^ 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < 5; i++) {
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53ull;
        h ^= h >> 29;
    }
    out[threadIdx.x] = h;
}
