// Each block of a cluster says its rank, through the shared memory of the first one.
extern "C" __global__ void ranks(unsigned *out)
{
    __shared__ unsigned held[8];
    unsigned rank, remote, here = static_cast<unsigned>(__cvta_generic_to_shared(held));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(remote) : "r"(here + 4 * rank));
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); // it has begun
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(remote), "r"(rank + 100) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0)
        for (int i = 0; i < 2; i++)
            out[blockIdx.x + i] = held[i];
}
