//@ -- One lane of the warp. Behind this condition ptxas knows that one lane is there, and copies need no loop over
//@ -- lanes.
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
