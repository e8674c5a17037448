//@ -- NAME_send: an element of a tensor, which the producer's thread has read, or two of them, into a stage of its
//@ -- ring: st.async writes them and counts their bytes on the full barrier, as bulk copies do theirs.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local t = tensor.name
//@ if tensor.tile_bytes == 8 then
__device__ __forceinline__ void ${t}_send(${ring.name}_position p, float element, float other)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
                     shared_address(${offset} + p.stage * 8)),
                 "r"(__float_as_uint(element)), "r"(__float_as_uint(other)), "r"(${ring.name}_full(p.stage))
                 : "memory");
}
//@ else
__device__ __forceinline__ void ${t}_send(${ring.name}_position p, float element)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                     shared_address(${offset} + p.stage * 4)),
                 "r"(__float_as_uint(element)), "r"(${ring.name}_full(p.stage))
                 : "memory");
}
//@ end
