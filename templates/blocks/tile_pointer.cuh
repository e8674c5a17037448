//@ -- NAME_tile: the tile of a stage as elements, for threads that read it with plain loads. Without a swizzle the
//@ -- boxes of a one-row tile follow each other, so that column c is element c.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local type = ctype(tensor.dtype)

//@ op read tensor = tensor.name, ring = ring.name
__device__ __forceinline__ const ${type} *${tensor.name}_tile(${ring.name}_position p)
{
    return (const ${type} *)(shared_memory + ${offset} + p.stage * ${tensor.tile_bytes});
}
