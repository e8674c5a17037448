//@ -- NAME_begin and NAME_along: elements of a tensor that differ in one dim alone, `along` (from 1), 0 outside of it.
//@ -- Where they begin is found once, for it takes products of 64 bits, and is kept.
//@ param tensor table
//@ param extent table
//@ param along int
//@ local t, rank, dtype, list, inside, place, nodes = tensor.name, tensor.rank, tensor.dtype, {}, {}, {}, {}
//@ local base, from = slice(tensor, "i0")
//@ for i = 1, rank do
//@     if i ~= along then
//@         local index = "i" .. i - 1
//@         nodes[#nodes + 1] = extent["d" .. i - 1]
//@         list[#list + 1] = "i64 " .. index
//@         local stride = i == rank and "" or " * args." .. t .. "_stride" .. i - 1
//@         if i >= from then place[#place + 1] = index .. stride end
//@     end
//@ end
//@ local ends, last = fragment_uniform("x", table.unpack(nodes)), fragment_uniform("x", extent["d" .. along - 1])
//@ for i, text in ipairs(list) do
//@     local index = text:sub(5)
//@     inside[i] = index .. " >= 0 && " .. index .. " < " .. ends[i]
//@ end
//@ local statements, condition, at = ends.at, table.concat(inside, " && "), table.concat(place, " + ")
//@ local last_statements, past, others = last.at, last[1], csv(list)
//@ if #place == 0 then at = "0" end
//@ local type = from > 1 and "const " .. ctype(dtype) .. " *" or "decltype(args." .. t .. ")"
//@ local further = along == rank and "i" or "i * args." .. t .. "_stride" .. along - 1
// Their address; below 0: they are outside.
__device__ __forceinline__ i64 ${t}_begin(const arguments &args, ${others})
{
    ${statements}
    i64 begin = ${condition} ? (i64)(${base} + (${at})) : -1;
    asm volatile("" : "+l"(begin)); // known from now on, and not computed again in each turn
    return begin;
}

__device__ __forceinline__ float ${t}_along(const arguments &args, i64 begin, i64 i)
{
    ${last_statements}
    const auto *element = (${type})begin + ${further};
    __builtin_assume(__isGlobal(element));
    return begin >= 0 && i >= 0 && i < ${past} ? from_${dtype}(*element) : 0.0f;
}
