//@ -- Consumers that take turns: each waits at a barrier of its own for the one before it.
//@ param barrier table
//@ param consumers int
__device__ __forceinline__ void turn_wait(u32 consumer)
{
    asm volatile("bar.sync %0, ${barrier.threads};" ::"r"(${barrier.id} + consumer) : "memory");
}

// The next consumer's turn.
__device__ __forceinline__ void turn_pass(u32 consumer)
{
    const u32 next = consumer + 1 == ${consumers} ? 0 : consumer + 1;
    asm volatile("bar.arrive %0, ${barrier.threads};" ::"r"(${barrier.id} + next) : "memory");
}
