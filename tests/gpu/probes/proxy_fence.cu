// Who executes fence.proxy.async between ordinary writes to shared memory and the bulk store that reads them?
// Cases: the thread that issues, behind the barrier; every writer, before the barrier; nobody.
// Outcomes: words that the store brought as they were written last; words that are older.
extern "C" __global__ void __launch_bounds__(256) probe(const ask q)
{
    __shared__ __align__(128) u32 words[256];
    u32 *const there = (u32 *)(q.memory + blockIdx.x * ROOM);
    u32 fresh = 0, stale = 0;
    for (u32 round = 1; round <= q.rounds; round++) {
        words[threadIdx.x] = round * 256 + threadIdx.x;
        if (q.which == 1)
            proxy_fence();
        __syncthreads();
        if (!threadIdx.x) {
            if (q.which == 0)
                proxy_fence();
            bulk_store(there, at(words), sizeof words);
            bulk_commit();
            bulk_wait();
        }
        __syncthreads();
        const bool right = ((volatile u32 *)there)[threadIdx.x] == round * 256 + threadIdx.x;
        fresh += right, stale += !right;
        __syncthreads();
    }
    outcome(q, 0, fresh);
    outcome(q, 1, stale);
}
