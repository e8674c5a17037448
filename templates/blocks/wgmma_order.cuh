//@ -- The order of matrix instructions among themselves and with the registers: fence, groups, waits.
//@ param roles table
// What threads did to registers before is done for the matrix instructions that follow.
__device__ __forceinline__ void mma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the group of instructions issued since the last commit.
__device__ __forceinline__ void mma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//@ local seen = {}
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "mma_wait" and not has(seen, step.call) then
//@             seen[step.call] = true
//@             local left = step.count == 0 and "No group is" or step.count == 1 and "At most one group is"
//@             left = left or "At most " .. step.count .. " groups are"

// ${left} still running after it.
__device__ __forceinline__ void ${step.call}()
{
    asm volatile("wgmma.wait_group.sync.aligned ${step.count};" ::: "memory");
}
//@         end
//@     end
//@ end
