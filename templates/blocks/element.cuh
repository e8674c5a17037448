//@ -- NAME_at: an element of a tensor at any coordinates, 0 outside of it. Where rows are aligned for it, the element
//@ -- comes out of a word with its neighbour: it is the lane's of the two, and both lanes' loads are one. Integers are
//@ -- numbers that others are computed from: places, counts, entries of lists. known: by dim, whether whatever is asked
//@ -- for lies within. still: nothing writes to it while the kernel runs, and what was read need not be read again.
//@ param tensor table
//@ param extent table
//@ param known table
//@ param still bool
//@ local t, rank, dtype, indices, inside, place, nodes = tensor.name, tensor.rank, tensor.dtype, {}, {}, {}, {}
//@ for i = 1, rank do nodes[i] = extent["d" .. i - 1] end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements = ends.at
//@ local base, from = slice(tensor, "i0")
//@ for i = 1, rank do
//@     local index = "i" .. (i - 1)
//@     indices[i] = "i64 " .. index
//@     if not known[i] then inside[#inside + 1] = index .. " >= 0 && " .. index .. " < " .. ends[i] end
//@     local stride = i == rank and "" or " * args." .. t .. "_stride" .. (i - 1)
//@     if i >= from then place[#place + 1] = index .. stride end
//@ end
//@ local list, condition, at = csv(indices), table.concat(inside, " && "), table.concat(place, " + ")
//@ if condition == "" then condition = "true" end
//@ local pairs, real = tensor.whole_rows, is_real(dtype)

//@ if pairs then
__device__ __forceinline__ float ${t}_at(const arguments &args, ${list}, int lane)
{
    ${statements}
    if (!(${condition}))
        return 0.0f;
    const u32 both = *(const u32 *)(${base} + ${at} - lane);
    return from_${dtype}((u16)(both >> lane * 16));
}
//@ elseif not real then
__device__ __forceinline__ i64 ${t}_at(const arguments &args, ${list})
{
    ${statements}
//@     if still then
    return ${condition} ? (i64)__ldg(&${base}[${at}]) : 0;
//@     else
    return ${condition} ? (i64)${base}[${at}] : 0;
//@     end
}
//@ else
__device__ __forceinline__ float ${t}_at(const arguments &args, ${list})
{
    ${statements}
    return ${condition} ? from_${dtype}(${base}[${at}]) : 0.0f;
}
//@ end
