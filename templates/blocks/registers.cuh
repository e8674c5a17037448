//@ -- setmaxnreg: roles give registers back and take them. At entry each thread has an equal share of 65536, where
//@ -- `threads` are those of all blocks that a multiprocessor holds at once.
//@ param roles table
//@ param threads int
//@ local entry = 65536 // threads // 8 * 8
//@ for _, role in ipairs(roles) do
//@     if role.registers > 0 then
//@         local way = role.registers > entry and "inc" or "dec"

// Registers a thread of role ${role.name}, by all of its warps.
__device__ __forceinline__ void ${role.name}_registers()
{
    asm volatile("setmaxnreg.${way}.sync.aligned.u32 ${role.registers};");
}
//@     end
//@ end
