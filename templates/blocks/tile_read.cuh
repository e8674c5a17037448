//@ -- NAME_read: an element of a fragment and its neighbour to the right from a tensor, whose dim `columns` (from 1) the
//@ -- fragment's columns run along. What lies outside of the tensor is not stored, and reads the last row or column
//@ -- instead, which costs no branch. Unless `needed` nothing is read, and both are 0.
//@ param tensor table
//@ param extent table
//@ param columns int
//@ local t, rank, dtype, types, nodes, names = tensor.name, tensor.rank, tensor.dtype, {}, {}, {}
//@ local wide = columns == rank and tensor.whole_rows and tensor.align >= 2 * bytes(dtype)
//@ for d = 1, rank do
//@     types[d], names[d], nodes[d] = "int i" .. d - 1, "i" .. d - 1, extent["d" .. d - 1]
//@ end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, list, column, past = ends.at, csv(types), names[columns], ends[columns]
//@ local function place(index)
//@     local sum = {}
//@     for d = 1, rank do
//@         local name = d == columns and index or names[d]
//@         sum[d] = d == rank and name or "(i64)" .. name .. " * args." .. t .. "_stride" .. d - 1
//@     end
//@     return table.concat(sum, " + ")
//@ end
//@ local first, second = place(column), place("next")

__device__ __forceinline__ void ${t}_read(const arguments &args, ${list}, bool needed, float (&x)[2])
{
    ${statements}
//@ for d = 1, rank do
//@     local name, last = names[d], ends[d]
//@     if d ~= columns then
    ${name} = min(${name}, (int)(${last}) - 1);
//@     end
//@ end
//@ if wide then
    ${column} = min(${column}, (int)(${past}) - 2); // both are even
//@     if bytes(dtype) == 2 then
    u32 both = 0;
    if (needed)
        both = *(const u32 *)(args.${t} + ${first});
    x[0] = from_${dtype}((u16)both);
    x[1] = from_${dtype}((u16)(both >> 16));
//@     else
    float2 both = {0.0f, 0.0f};
    if (needed)
        both = *(const float2 *)(args.${t} + ${first});
    x[0] = both.x;
    x[1] = both.y;
//@     end
//@ else
    const int next = min(${column} + 1, (int)(${past}) - 1);
    ${column} = min(${column}, (int)(${past}) - 1);
    x[0] = x[1] = 0.0f;
    if (needed) {
        x[0] = from_${dtype}(args.${t}[${first}]);
        x[1] = from_${dtype}(args.${t}[${second}]);
    }
//@ end
}
