//@ -- Bulk tensor copies of tensors of any rank. loads, shares, stores: by rank, whether there is one; shares are loads
//@ -- for several blocks.
//@ param loads table
//@ param shares table
//@ param stores table
//@ local first = true
//@ for rank = 1, 5 do
//@     local types, from, to, bindings, comma = "", "", "", "", ""
//@     for d = rank - 1, 0, -1 do -- innermost first
//@         from, to = from .. comma .. "%" .. (3 + rank - 1 - d), to .. comma .. "%" .. (2 + rank - 1 - d)
//@         bindings, comma = bindings .. comma .. '"r"(i' .. d .. ")", ", "
//@     end
//@     for d = 0, rank - 1 do types = types .. ", int i" .. d end
//@     if has(loads, rank) then
//@         if not first then

//@         end
//@         first = false
// Starts the copy of the box at these coordinates into shared memory; its bytes are counted on the barrier.
__device__ __forceinline__ void tma_load_${rank}d(u32 destination, const tensor_map *map, u32 barrier${types})
{
    asm volatile("cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {${from}}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), ${bindings}
                 : "memory");
}
//@     end
//@     if has(shares, rank) then
//@         if not first then

//@         end
//@         first = false
//@         local blocks = rank + 3
// The same into every block of the cluster whose bit is set in blocks, at the same address and barrier of each.
__device__ __forceinline__ void tma_multicast_${rank}d(u32 destination, const tensor_map *map, u32 barrier${types},
                                                 u16 blocks)
{
    asm volatile("cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {${from}}], [%2], %${blocks};" ::"r"(destination),
                 "l"(map), "r"(barrier), ${bindings}, "h"(blocks)
                 : "memory");
}
//@     end
//@     if has(stores, rank) then
//@         if not first then

//@         end
//@         first = false
// Starts the copy of a box out of shared memory; what lies outside of the tensor is not written.
__device__ __forceinline__ void tma_store_${rank}d(const tensor_map *map, u32 source${types})
{
    asm volatile("cp.async.bulk.tensor.${rank}d.global.shared::cta.bulk_group [%0, {${to}}], [%1];" ::"l"(map),
                 "r"(source), ${bindings}
                 : "memory");
}
//@     end
//@ end

__device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
