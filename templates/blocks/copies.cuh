//@ -- What rings that all threads of the block fill are made of: a copy of 16 bytes, groups of copies, the block's
//@ -- barrier. A thread closes one group of copies for each stage, an empty one where there is nothing to copy, so that
//@ -- the number of open groups tells which have landed. Where tensors are filled by plain loads and stores there are
//@ -- no groups.
//@ param tensors table
//@ param rings table
//@ param roles table
//@ param threads int
//@ local asynchronous, plain, seen = false, false, {}
//@ for _, t in ipairs(tensors) do
//@     if t.access == "cp_async" then asynchronous = true else plain = true end
//@ end
//@ if asynchronous then
//@ include "blocks/copy_async.cuh"

// Closes the group of this thread's copies since the last commit.
__device__ __forceinline__ void copies_commit()
{
    asm volatile("cp.async.commit_group;");
}
//@ end
//@ if plain then
__device__ __forceinline__ void store_shared(u32 destination, const u32 (&word)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(destination), "r"(word[0]), "r"(word[1]),
                 "r"(word[2]), "r"(word[3])
                 : "memory");
}
//@ end
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "cp_wait" and not has(seen, step.call) then
//@             seen[step.call] = true
//@             local groups = step.count == 0 and "No group" or step.count == 1 and "At most one group"
//@             local left = groups and groups .. " of this thread is"
//@             left = left or "Of this thread at most " .. step.count .. " groups are"

// ${left} still under way.
__device__ __forceinline__ void ${step.call}()
{
    asm volatile("cp.async.wait_group ${step.count};" ::: "memory");
}
//@         end
//@     end
//@ end

// What all threads have filled and waited for can be read, and all reads before are over.
__device__ __forceinline__ void block_meet()
{
//@ if threads == 32 then
    __syncwarp();
//@ else
    __syncthreads();
//@ end
}
//@ for _, r in ipairs(rings) do
//@     local stages = r.stages == 1 and "one stage" or r.stages .. " stages"

// Ring ${r.name}: ${stages}. The next stage after this one.
__device__ __forceinline__ void ${r.name}_advance(u32 &stage)
{
//@     if r.stages == 1 then
    stage = 0;
//@     else
    stage = stage + 1 == ${r.stages} ? 0 : stage + 1;
//@     end
}
//@ end
