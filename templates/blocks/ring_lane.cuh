//@ -- Waits for a stage by one lane of a warp: fewer of them poll, and what that one saw the others see behind it.
//@ -- The loop stands in the statement: a branch of the compiler's own would let it move arithmetic past the fence that
//@ -- follows. Debug builds look at a clock, in all lanes.
//@ param ring table
//@ param role table
//@ local line, told = "", ""
//@ if debug_ms() > 0 then line, told = ", int line = __builtin_LINE()", ", line" end
//@ local phase = 0
//@ for _, step in ipairs(role.step) do
//@     if step.op == "wait_full" and step.ring == ring.name then phase = step.phase end
//@ end

// Drainer, every warp: the stage has arrived.
//@ op part
__device__ __forceinline__ void ${ring.name}_wait_full_lane(${ring.name}_position p${line})
{
//@ if debug_ms() > 0 then
    ${ring.name}_wait_full(p${told});
//@ else
    asm volatile("{\n"
                 ".reg .pred other, done;\n"
                 "setp.ne.u32 other, %2, 0;\n"
                 "setp.ne.u32 done, %2, 0;\n"
                 "again:\n"
                 "@!other mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "bar.warp.sync 0xffffffff;\n"
                 "}" ::"r"(${ring.name}_full(p.stage)),
                 "r"(p.phase ^ ${phase}), "r"(threadIdx.x % 32)
                 : "memory");
//@ end
}
