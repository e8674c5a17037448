//@ -- The order of products among themselves and with tensor memory: fence, groups, waits.
//@ param roles table
//@ param groups int
//@ param barrier table
// What the warpgroup's warps did to tensor memory before is done for the products that follow, and all of them have
// seen the groups end that they waited for.
__device__ __forceinline__ void mma_fence(u32 consumer)
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    asm volatile("bar.sync %0, ${barrier.threads};" ::"r"(${barrier.id} + consumer) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Closes the group of products issued since the last commit.
__device__ __forceinline__ void mma_commit(products &p, u32 consumer)
{
    if (threadIdx.x % 128 < 32 && elect_one())
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                         products_done(consumer, p.groups % ${groups}))
                     : "memory");
    ++p.groups;
}
//@ local seen = {}
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "mma_wait" and not has(seen, step.call) then
//@             seen[step.call] = true
//@             local left = step.count == 0 and "No group is" or step.count == 1 and "At most one group is"
//@             left = left or "At most " .. step.count .. " groups are"

// ${left} still running after it.
__device__ __forceinline__ void ${step.call}(products &p, u32 consumer)
{
//@             local more = step.count > 0 and " + " .. step.count or ""
    for (; p.seen${more} < p.groups; ++p.seen)
        barrier_wait(products_done(consumer, p.seen % ${groups}), p.seen / ${groups} & 1);
}
//@         end
//@     end
//@ end

// Sums whose products were waited for may be read.
__device__ __forceinline__ void mma_landed()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
