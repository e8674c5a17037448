//@ -- How the block (or cluster) begins where its first warp sets up the barriers and then fills rings of its own block
//@ -- alone: the warp arrives and goes on, the others wait for it. A cluster's arrival orders the initialisation, which
//@ -- barrier_init_fence released, and no more: a releasing one would wait for all that is under way.
//@ param clustered bool
//@ param threads int
//@ if clustered then
// Every thread.
//@ op meet
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Every thread but the first warp's: all barriers of the cluster are set up.
//@ op meet
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
//@ else
// The first warp: the barriers are set up.
//@ op meet
__device__ __forceinline__ void block_arrive()
{
    asm volatile("bar.arrive 0, ${threads};" ::: "memory");
}

// Every other one.
//@ op meet
__device__ __forceinline__ void block_wait()
{
    asm volatile("bar.sync 0, ${threads};" ::: "memory");
}
//@ end
