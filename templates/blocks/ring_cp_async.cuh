//@ -- A ring of stages that all threads of the block fill by cp.async. A thread closes one group of copies for each
//@ -- stage, an empty one where there is nothing to copy, so that the number of open groups tells which have landed.
//@ -- Where tensors are filled by plain loads and stores alone, there are no groups. The block's barrier tells it to the other threads, and that all of them have left the stage that is filled next.
//@ param ring table
//@ param roles table
//@ local r, wait = ring.name, -1
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.call == r .. "_wait" then wait = step.count end
//@     end
//@ end

// Ring ${r}: ${ring.stages} stages. The next stage after this one.
__device__ __forceinline__ void ${r}_advance(u32 &stage)
{
    stage = stage + 1 == ${ring.stages} ? 0 : stage + 1;
}

//@ if wait >= 0 then
// Closes the group of this thread's copies since the last commit.
//@ op cp_commit ring = r
__device__ __forceinline__ void ${r}_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// At most ${wait} of this thread's groups are still on their way.
//@ op cp_wait ring = r, count = wait
__device__ __forceinline__ void ${r}_wait()
{
    asm volatile("cp.async.wait_group ${wait};" ::: "memory");
}

//@ end
// What all threads have filled and waited for can be read, and all reads before are over.
//@ op barrier barrier = "block"
__device__ __forceinline__ void ${r}_meet()
{
    __syncthreads();
}
