//@ -- An mbarrier that is looked at before anybody waits. Behind mbarrier.cuh.
// Whether the barrier has completed the phase of this parity; does not wait.
//@ op part
__device__ __forceinline__ u32 barrier_is_over(u32 barrier, u32 parity)
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
