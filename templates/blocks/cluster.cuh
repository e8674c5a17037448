//@ -- Meeting of all threads of a cluster: what they wrote before, barriers' initialisation too, is seen after.
//@ op meet
__device__ __forceinline__ void cluster_meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
