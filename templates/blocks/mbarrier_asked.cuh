//@ -- An mbarrier that is looked at before anybody waits. Behind mbarrier.cuh, whose waits look at a clock in a debug
//@ -- build as these do.
//@ local site, began, or_late = "", "", ""
//@ if debug_ms() > 0 then
//@     site = ", const char *ring = \"\", u32 kind = 0,\n" .. (" "):rep(45) ..
//@         "u32 stage = 0, u32 step = 0, int line = __builtin_LINE()"
//@     began = "\nu64 began = 0;"
//@     or_late = " && debug_again(began, barrier, parity, ring, kind, stage, step, line)"
//@ end
// Whether the barrier has completed the phase of this parity; does not wait.
//@ op part
__device__ __forceinline__ bool barrier_is_over(u32 barrier, u32 parity)
{
    u32 over;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}

// Returns once the barrier has completed the phase of this parity; over: it is known to have. A loop like that of
// barrier_wait, which is entered in any case: past a branch around it the compiler would move what is computed for the
// matrix instructions behind their fence.
//@ op part
__device__ __forceinline__ void barrier_wait_unless(bool over, u32 barrier, u32 parity${site})
{
    u32 done;${began}
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "setp.ne.u32 p, %3, 0;\n"
                     "@!p mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity), "r"((u32)over)
                     : "memory");
    } while (!done${or_late});
}
