//@ -- Bulk tensor copies, two-dimensional.
//@ param loads bool
//@ param multicast bool
//@ param stores bool
//@ local space = copy_space()
//@ if loads then
// Starts the copy of the box at (inner, outer) into shared memory; its bytes are counted on the barrier.
//@ op part
__device__ __forceinline__ void tma_load(u32 destination, const tensor_map *map, u32 barrier, int inner, int outer)
{
    asm volatile("cp.async.bulk.tensor.2d.${space}.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(inner), "r"(outer)
                 : "memory");
}
//@ end
//@ if multicast then

// The same into every block of the cluster whose bit is set in blocks, at the same address and barrier of each.
//@ op part
__device__ __forceinline__ void tma_load_multicast(u32 destination, const tensor_map *map, u32 barrier, int inner,
                                                   int outer, u16 blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(inner), "r"(outer), "h"(blocks)
                 : "memory");
}
//@ end
//@ if stores then

// Starts the copy of a box out of shared memory; what lies outside of the tensor is not written.
//@ op part
__device__ __forceinline__ void tma_store(const tensor_map *map, u32 source, int inner, int outer)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(source),
                 "r"(inner), "r"(outer)
                 : "memory");
}
//@ end

__device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
