//@ -- NAME_send: an element of a tensor, which the producer's thread has read, into a stage of its ring: st.async
//@ -- writes it and counts its bytes on the full barrier, as bulk copies do theirs.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local t = tensor.name
__device__ __forceinline__ void ${t}_send(${ring.name}_position p, float element)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                     shared_address(${offset} + p.stage * 4)),
                 "r"(__float_as_uint(element)), "r"(${ring.name}_full(p.stage))
                 : "memory");
}
