//@ -- Bulk tensor copies of tensors of any rank. loads, shares, stores: by rank, "2", whether there is one, and by
//@ -- "hinted_2" whether one says what becomes of its bytes in the L2; shares are loads for several blocks, "add_2" in
//@ -- stores one that adds. policies: the words for the L2.
//@ param loads table
//@ param shares table
//@ param stores table
//@ param policies table
//@ local space = copy_space()
//@ local first = true
//@ for _, word in ipairs(policies) do
//@     if not first then

//@     end
//@     first = false
// What the L2 does with what a copy brings: ${word}.
__device__ __forceinline__ u64 cache_${word}()
{
    u64 policy;
    asm("createpolicy.fractional.L2::${word}.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
//@ end
//@ for rank = 1, 5 do
//@     local types, from, to, bindings, comma = "", "", "", "", ""
//@     for d = rank - 1, 0, -1 do -- innermost first
//@         from, to = from .. comma .. "%" .. (3 + rank - 1 - d), to .. comma .. "%" .. (2 + rank - 1 - d)
//@         bindings, comma = bindings .. comma .. '"r"(i' .. d .. ")", ", "
//@     end
//@     for d = 0, rank - 1 do types = types .. ", int i" .. d end
//@     for hinted = 0, 1 do
//@         local hint, also = hinted == 1 and ".L2::cache_hint" or "", hinted == 1 and "hinted_" or ""
//@         local policy = hinted == 1 and ", u64 policy" or ""
//@         if has(loads, also .. rank) then
//@             if not first then

//@             end
//@             first = false
//@             local operand = hinted == 1 and ", %" .. rank + 3 or ""
//@             local value = hinted == 1 and ', "l"(policy)' or ""
// Starts the copy of the box at these coordinates into shared memory; its bytes are counted on the barrier.
__device__ __forceinline__ void tma_load_${also}${rank}d(u32 destination, const tensor_map *map, u32 barrier${types}${policy})
{
    asm volatile("cp.async.bulk.tensor.${rank}d.${space}.global.mbarrier::complete_tx::bytes${hint} "
                 "[%0], [%1, {${from}}], [%2]${operand};" ::"r"(destination),
                 "l"(map), "r"(barrier), ${bindings}${value}
                 : "memory");
}
//@         end
//@         if has(shares, also .. rank) then
//@             if not first then

//@             end
//@             first = false
//@             local blocks, operand = rank + 3, hinted == 1 and ", %" .. rank + 4 or ""
//@             local value = hinted == 1 and ', "l"(policy)' or ""
//@             local blank, behind = hint == "" and " " or "", hint == "" and "" or hint .. " "
// The same into every block of the cluster whose bit is set in blocks, at the same address and barrier of each.
__device__ __forceinline__ void tma_multicast_${also}${rank}d(u32 destination, const tensor_map *map, u32 barrier${types},
                                                 u16 blocks${policy})
{
    asm volatile("cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster${blank}"
                 "${behind}[%0], [%1, {${from}}], [%2], %${blocks}${operand};" ::"r"(destination),
                 "l"(map), "r"(barrier), ${bindings}, "h"(blocks)${value}
                 : "memory");
}
//@         end
//@         if has(stores, also .. rank) then
//@             if not first then

//@             end
//@             first = false
//@             local operand = hinted == 1 and ", %" .. rank + 2 or ""
//@             local value = hinted == 1 and ', "l"(policy)' or ""
// Starts the copy of a box out of shared memory; what lies outside of the tensor is not written.
__device__ __forceinline__ void tma_store_${also}${rank}d(const tensor_map *map, u32 source${types}${policy})
{
    asm volatile("cp.async.bulk.tensor.${rank}d.global.shared::cta.bulk_group${hint} [%0, {${to}}], [%1]${operand};" ::"l"(map),
                 "r"(source), ${bindings}${value}
                 : "memory");
}
//@         end
//@         if has(stores, "add_" .. also .. rank) then
//@             if not first then

//@             end
//@             first = false
//@             local operand = hinted == 1 and ", %" .. rank + 2 or ""
//@             local value = hinted == 1 and ', "l"(policy)' or ""
// The same adds to what the box holds, element by element, in any order.
__device__ __forceinline__ void tma_add_${also}${rank}d(const tensor_map *map, u32 source${types}${policy})
{
    asm volatile("cp.reduce.async.bulk.tensor.${rank}d.global.shared::cta.add.bulk_group${hint} [%0, {${to}}], [%1]${operand};" ::"l"(map),
                 "r"(source), ${bindings}${value}
                 : "memory");
}
//@         end
//@     end
//@ end

__device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
