//@ -- One lane of the warp, all of whose lanes come by; the same each time. Behind this condition ptxas knows that one
//@ -- lane is there: behind a comparison of threadIdx.x each bulk copy stands in a loop over the lanes that may be.
__device__ __forceinline__ bool elect_one()
{
    u32 one;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(one));
    return one;
}
