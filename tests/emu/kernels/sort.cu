// Sorting and selecting.
#define FULL 0xffffffffu

extern "C" __global__ void sort_bitonic(unsigned *data)
{
    extern __shared__ unsigned s[];
    unsigned tid = threadIdx.x;
    data += blockIdx.x * blockDim.x;
    s[tid] = data[tid];
    __syncthreads();
    for (unsigned k = 2; k <= blockDim.x; k <<= 1) {
        for (unsigned j = k >> 1; j > 0; j >>= 1) {
            unsigned other = tid ^ j;
            if (other > tid) {
                bool up = (tid & k) == 0;
                if ((s[tid] > s[other]) == up) {
                    unsigned t = s[tid];
                    s[tid] = s[other];
                    s[other] = t;
                }
            }
            __syncthreads();
        }
    }
    data[tid] = s[tid];
}

extern "C" __global__ void sort_bitonic_warp(const float *in, float *out)
{
    int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            float w = __shfl_xor_sync(FULL, v, j);
            bool up = (lane & k) == 0, low = (lane & j) == 0;
            v = up == low ? fminf(v, w) : fmaxf(v, w);
        }
    out[i] = v;
}

// One digit of 4 bits of a stable radix sort, for the tile of one block.
extern "C" __global__ void sort_radix(unsigned *keys, unsigned *values)
{
    __shared__ unsigned k[2][256], v[2][256], count[16][8 + 1];
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, from = 0;
    k[0][tid] = keys[tid];
    v[0][tid] = values[tid];
    for (int shift = 0; shift < 32; shift += 4) {
        __syncthreads();
        unsigned key = k[from][tid], value = v[from][tid], digit = key >> shift & 15;
        unsigned peers = __match_any_sync(FULL, digit), rank = __popc(peers & ((1u << lane) - 1));
        if (tid < 128)
            count[tid / 8][tid % 8] = 0;
        __syncthreads();
        if (rank == 0)
            count[digit][warp] = __popc(peers);
        __syncthreads();
        if (tid == 0) {
            unsigned sum = 0;
            for (int d = 0; d < 16; d++)
                for (int w = 0; w < 8; w++) {
                    unsigned c = count[d][w];
                    count[d][w] = sum;
                    sum += c;
                }
        }
        __syncthreads();
        unsigned at = count[digit][warp] + rank;
        k[1 - from][at] = key;
        v[1 - from][at] = value;
        from = 1 - from;
    }
    __syncthreads();
    keys[tid] = k[from][tid];
    values[tid] = v[from][tid];
}

__device__ void swap(int &a, int &b)
{
    int t = a;
    a = b;
    b = t;
}

__device__ __noinline__ void quicksort(int *a, int low, int high)
{
    if (low >= high)
        return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j)
            swap(a[i++], a[j--]);
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

extern "C" __global__ void sort_quick(const int *in, int *out, int each)
{
    int local[64], t = blockIdx.x * blockDim.x + threadIdx.x, n = each - t % 7;
    for (int i = 0; i < each; i++)
        local[i] = in[t * each + i];
    quicksort(local, 0, n - 1);
    for (int i = 0; i < each; i++)
        out[t * each + i] = local[i];
}

__device__ void sift(float *heap, int *index, int n, int i)
{
    for (;;) {
        int least = i, left = 2 * i + 1, right = 2 * i + 2;
        if (left < n && heap[left] < heap[least])
            least = left;
        if (right < n && heap[right] < heap[least])
            least = right;
        if (least == i)
            return;
        float t = heap[i];
        heap[i] = heap[least];
        heap[least] = t;
        swap(index[i], index[least]);
        i = least;
    }
}

// The k largest of each thread's row, kept in a heap in local memory.
extern "C" __global__ void top_k(const float *in, float *values, int *indices, int columns, int rows)
{
    const int K = 8;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float heap[K];
    int index[K];
    for (int i = 0; i < K; i++)
        heap[i] = in[row * columns + i], index[i] = i;
    for (int i = K / 2 - 1; i >= 0; i--)
        sift(heap, index, K, i);
    for (int c = K; c < columns; c++) {
        float x = in[row * columns + c];
        if (x > heap[0]) {
            heap[0] = x;
            index[0] = c;
            sift(heap, index, K, 0);
        }
    }
    for (int n = K; n > 0; n--) {
        values[row * K + n - 1] = heap[0];
        indices[row * K + n - 1] = index[0];
        heap[0] = heap[n - 1];
        index[0] = index[n - 1];
        sift(heap, index, n - 1, 0);
    }
}

// Merge of two sorted lists: every thread finds its diagonal by bisection.
extern "C" __global__ void merge_path(const int *a, const int *b, int *out, int n, int m)
{
    int each = (n + m + blockDim.x - 1) / blockDim.x, diagonal = threadIdx.x * each;
    if (diagonal >= n + m)
        return;
    int low = max(0, diagonal - m), high = min(diagonal, n);
    while (low < high) {
        int mid = (low + high) >> 1;
        if (a[mid] <= b[diagonal - 1 - mid])
            low = mid + 1;
        else
            high = mid;
    }
    int i = low, j = diagonal - low;
    for (int k = diagonal; k < min(diagonal + each, n + m); k++)
        out[k] = j >= m || (i < n && a[i] <= b[j]) ? a[i++] : b[j++];
}
