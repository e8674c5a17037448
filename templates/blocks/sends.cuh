//@ -- Groups of bulk stores of a thread: sends_commit closes one, sends_wait waits until at most so many have not read
//@ -- their stages yet.
__device__ __forceinline__ void sends_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int LEFT> __device__ __forceinline__ void sends_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
