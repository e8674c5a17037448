//@ -- A number of which a compiler knows nothing: conditions on it are asked, none is foretold. ptxas finds too few
//@ -- registers for a wgmma (C7511) of whose result it knows that nobody reads a part.
__device__ __forceinline__ int unforetold(int number)
{
    asm("" : "+r"(number));
    return number;
}
