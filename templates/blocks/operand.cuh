//@ -- Reading a tensor from a fused function. NAME_at: one element; NAME_pair: what the two neighbours (m, n) and
//@ -- (m, n + 1) of a fragment see. Outside of the tensor both give 0.
//@ param tensor table
//@ param extent table
//@ param pair bool
//@ local t, rank = tensor.name, tensor.rank
//@ local axis, indices, inside, place = tensor.axis, {}, {}, {}
//@ local pair_inside, pair_at = {}, {}
//@ for i = 1, rank do
//@     local index = "i" .. (i - 1)
//@     indices[i] = "i64 " .. index
//@     inside[i] = index .. " >= 0 && " .. index .. " < " .. extent[axis[i]]
//@     place[i] = i == rank and index or index .. " * args." .. t .. "_stride" .. (i - 1)
//@     pair_at[i] = axis[i]
//@ end
//@ local list = csv(indices)
//@ local condition, at = table.concat(inside, " && "), table.concat(place, " + ")
//@ local here, next_column = {}, {}
//@ for i = 1, rank do
//@     here[i] = axis[i]
//@     next_column[i] = axis[i] == "n" and "n + 1" or axis[i]
//@ end
//@ local first, second = csv(here), csv(next_column)
//@ local wide = rank == 2 and axis[2] == "n" and tensor.align >= 2 * bytes(tensor.dtype)

__device__ __forceinline__ float ${t}_at(const arguments &args, ${list})
{
    return ${condition} ? from_${tensor.dtype}(args.${t}[${at}]) : 0.0f;
}
//@ if pair then

__device__ __forceinline__ void ${t}_pair(const arguments &args, i64 m, i64 n, float &x0, float &x1)
{
//@     if wide then
    if (m < ${extent.m} && n + 1 < ${extent.n}) {
//@         if bytes(tensor.dtype) == 2 then
        u32 both = *(const u32 *)(args.${t} + m * args.${t}_stride0 + n);
        x0 = from_${tensor.dtype}((u16)both);
        x1 = from_${tensor.dtype}((u16)(both >> 16));
//@         else
        float2 both = *(const float2 *)(args.${t} + m * args.${t}_stride0 + n);
        x0 = both.x;
        x1 = both.y;
//@         end
        return;
    }
//@     end
    x0 = ${t}_at(args, ${first});
    x1 = ${t}_at(args, ${second});
}
//@ end
