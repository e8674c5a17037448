//@ -- NAME_prefetch: as blocks begin the L2 is asked for what is read first of a tensor, 128 bytes a thread, so that it
//@ -- is under way before barriers stand, or before anybody knows which part is wanted. What bulk copies bring is a
//@ -- matrix, and its rows begin with what the first turns read: a line of each row, the second of each, as many as
//@ -- there are threads. What threads copy is asked for from the first byte on, as far as blocks reach, unless it is so
//@ -- large that it would hold up what is wanted at once.
//@ param tensor table
//@ param extent table
//@ param threads int
//@ local t, size, rank, nodes = tensor.name, bytes(tensor.dtype), tensor.rank, {}
//@ for d = 1, rank do nodes[d] = extent["d" .. d - 1] end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, last, some = ends.at, {}, {}
//@ if tensor.access == "tma" then
//@     local rows, columns, most = ends[1], tonumber(ends[2]), 1024
//@     local divisor = tonumber(rows) and rows or "max(" .. rows .. ", 1)"
//@     local whole = most .. " && at < (i64)" .. ends[2] .. " * " .. size
//@     if columns then whole = tostring(math.min(columns * size, most)) end
// Asks the L2 for 128 of the first ${most} bytes of a row of ${t}.
__device__ __forceinline__ void ${t}_prefetch(const arguments &args)
{
    ${statements}
    const u32 thread = blockIdx.x * ${threads} + threadIdx.x, rows = ${divisor};
    const u32 row = thread % rows, at = thread / rows * 128;
    if (at < ${whole})
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)(args.${t} + row * args.${t}_stride0) + at));
}
//@ else
//@     local most = 1 << 20
//@     for d = 1, rank do
//@         local number = tonumber(ends[d])
//@         last[d] = number and tostring(number - 1) or "(i64)(" .. ends[d] .. " - 1)"
//@         if d < rank then last[d] = last[d] .. " * args." .. t .. "_stride" .. d - 1 end
//@         if not number then some[#some + 1] = "(" .. ends[d] .. " > 0)" end
//@     end
//@     some[#some + 1] = "(bytes <= " .. most .. ")"
//@     local place, asked, blocks = table.concat(last, " + "), table.concat(some, " & "), most // (128 * threads)
// Asks the L2 for this thread's 128 bytes of ${t}, where it has no more than ${most}.
__device__ __forceinline__ void ${t}_prefetch(const arguments &args)
{
    if (blockIdx.x >= ${blocks})
        return;
    ${statements}
    const i64 bytes = (${place} + 1) * ${size};
    const u32 at = (blockIdx.x * ${threads} + threadIdx.x) * 128;
    if (${asked} & (at < bytes))
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)args.${t} + at));
}
//@ end
