// Building blocks of CUB, as many kernels are made of them.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void __launch_bounds__(128) cub_sort(const int *in, int *out)
{
    typedef cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockRadixSort<int, 128, 4> Sort;
    typedef cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE> Store;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } temp;
    int items[4];
    Load(temp.load).Load(in, items);
    __syncthreads();
    Sort(temp.sort).Sort(items);
    __syncthreads();
    Store(temp.store).Store(out, items);
}

extern "C" __global__ void __launch_bounds__(128) cub_scan(const int *in, int *out, int *total)
{
    typedef cub::BlockScan<int, 128> Scan;
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Scan::TempStorage scan;
    __shared__ typename Reduce::TempStorage reduce;
    __shared__ typename cub::WarpReduce<int>::TempStorage warps[4];
    int t = threadIdx.x, v = in[t], before, all;
    Scan(scan).ExclusiveSum(v, before, all);
    out[t] = before;
    int sum = Reduce(reduce).Sum(v), w = cub::WarpReduce<int>(warps[t / 32]).Sum(v * v);
    if (t == 0)
        total[4] = all * 1000 + sum;
    if (t % 32 == 0)
        total[t / 32] = w;
}
