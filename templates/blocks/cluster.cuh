//@ -- Meeting of all threads of a cluster. Of what they wrote before, the initialisation of barriers that
//@ -- barrier_init_fence released is seen after, and no more: a releasing arrival would wait for all that is under way.
//@ op meet
__device__ __forceinline__ void cluster_meet()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
