//@ -- NAME_at: an element of a tensor at any coordinates, 0 outside of it.
//@ param tensor table
//@ param extent table
//@ local t, rank, dtype, indices, inside, place, nodes = tensor.name, tensor.rank, tensor.dtype, {}, {}, {}, {}
//@ for i = 1, rank do nodes[i] = extent["d" .. i - 1] end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements = ends.at
//@ for i = 1, rank do
//@     local index = "i" .. (i - 1)
//@     indices[i] = "i64 " .. index
//@     inside[i] = index .. " >= 0 && " .. index .. " < " .. ends[i]
//@     place[i] = i == rank and index or index .. " * args." .. t .. "_stride" .. (i - 1)
//@ end
//@ local list, condition, at = csv(indices), table.concat(inside, " && "), table.concat(place, " + ")

__device__ __forceinline__ float ${t}_at(const arguments &args, ${list})
{
    ${statements}
    return ${condition} ? from_${dtype}(args.${t}[${at}]) : 0.0f;
}
