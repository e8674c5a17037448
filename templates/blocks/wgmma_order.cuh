//@ -- The order of matrix instructions among themselves and with the registers: fence, groups, waits.
//@ -- held: values are computed in front of a wait.
//@ param roles table
//@ param held bool
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
//@ if held then

// What x is computed from stands in front of the wait that follows: the compiler would move that up. It knows no
// bound of x, which is never so large.
__device__ __forceinline__ void mma_hold(float x)
{
    asm volatile("{\n"
                 ".reg .pred huge;\n"
                 "setp.gt.f32 huge, %0, 0f7F000000;\n"
                 "@huge nanosleep.u32 0;\n"
                 "}" ::"f"(x) : "memory");
}
//@ end
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
