//@ -- Where the threads that hold sums meet: when all have written theirs, and to be told what one of them found.
//@ -- barrier: hardware's, of all of them.
//@ param threads int
//@ param barrier int
// All threads have written their sums.
__device__ __forceinline__ void parts_meet()
{
    asm volatile("bar.sync ${barrier}, ${threads};" ::: "memory");
}

// What one thread knows, all do; and what it has seen, they see.
__device__ __forceinline__ bool parts_last(bool last)
{
    u32 all;
    asm volatile("{\n"
                 ".reg .pred p, q;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "bar.red.or.pred q, ${barrier}, ${threads}, p;\n"
                 "selp.u32 %0, 1, 0, q;\n"
                 "}"
                 : "=r"(all)
                 : "r"((u32)last)
                 : "memory");
    return all != 0;
}
