//@ -- NAME_prefetch: the L2 is asked for a whole tensor by the blocks that begin first, a line a thread, so that it is
//@ -- under way before anybody knows which part of it is wanted. Larger ones would hold up what is wanted at once.
//@ param tensor table
//@ param extent table
//@ param threads int
//@ local t, size, rank, most, nodes = tensor.name, bytes(tensor.dtype), tensor.rank, 4 << 20, {}
//@ for d = 1, rank do nodes[d] = extent["d" .. d - 1] end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, last, some = ends.at, {}, {}
//@ for d = 1, rank do
//@     local number = tonumber(ends[d])
//@     last[d] = number and tostring(number - 1) or "(i64)(" .. ends[d] .. " - 1)"
//@     if d < rank then last[d] = last[d] .. " * args." .. t .. "_stride" .. d - 1 end
//@     if not number then some[#some + 1] = "(" .. ends[d] .. " > 0)" end
//@ end
//@ some[#some + 1] = "(bytes <= " .. most .. ")"
//@ local place, asked = table.concat(last, " + "), table.concat(some, " & ") -- one test for all
// Asks the L2 for this thread's 128 bytes of ${t}, where it has no more than ${most}.
__device__ __forceinline__ void ${t}_prefetch(const arguments &args)
{
    ${statements}
    const i64 bytes = (${place} + 1) * ${size};
    const i64 at = ((i64)blockIdx.x * ${threads} + threadIdx.x) * 128;
    if (${asked} & (at < bytes))
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)args.${t} + at));
}
