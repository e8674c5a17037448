//@ -- NAME_read: an element of a fragment and its neighbour to the right from a tensor, whose dim `columns` (from 1)
//@ -- the fragment's columns run along. What lies outside of the tensor is not stored, and reads the last row or column
//@ -- instead, which costs no branch. Unless `needed` nothing is read, and both are 0. NAME_split makes two numbers of
//@ -- them, apart from the read, so that many reads can be on their way.
//@ param tensor table
//@ param extent table
//@ param columns int
//@ local t, rank, dtype, types, nodes, names = tensor.name, tensor.rank, tensor.dtype, {}, {}, {}
//@ local wide = columns == rank and tensor.whole_rows and tensor.align >= 2 * bytes(dtype)
//@ for d = 1, rank do
//@     types[d], names[d], nodes[d] = "int i" .. d - 1, "i" .. d - 1, extent["d" .. d - 1]
//@ end
//@ local function as_int(value) return tonumber(value) and value or "(int)" .. value end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, list, column, past = ends.at, csv(types), names[columns], as_int(ends[columns])
//@ local base, from = slice(tensor, "i0")
//@ local function place(index)
//@     local sum = {}
//@     for d = from, rank do
//@         local name = d == columns and index or names[d]
//@         sum[#sum + 1] = d == rank and name or "(i64)" .. name .. " * args." .. t .. "_stride" .. d - 1
//@     end
//@     return table.concat(sum, " + ")
//@ end
//@ local first, second = place(column), place("next")
//@ local word = wide and bytes(dtype) == 2
//@ local two = word and "u32" or "float2"

typedef ${two} ${t}_two; // as they were read

__device__ __forceinline__ ${t}_two ${t}_read(const arguments &args, ${list}, bool needed)
{
    ${statements}
//@ for d = 1, rank do
//@     local name, last = names[d], as_int(ends[d])
//@     if d ~= columns then
    ${name} = min(${name}, ${last} - 1);
//@     end
//@ end
//@ if wide then
    ${column} = min(${column}, ${past} - 2); // both are even
//@     if word then
    u32 both = 0;
//@     else
    float2 both = {0.0f, 0.0f};
//@     end
    if (needed)
        both = *(const ${t}_two *)(${base} + ${first});
//@ else
    const int next = min(${column} + 1, ${past} - 1);
    ${column} = min(${column}, ${past} - 1);
    float2 both = {0.0f, 0.0f};
    if (needed) {
        both.x = from_${dtype}(${base}[${first}]);
        both.y = from_${dtype}(${base}[${second}]);
    }
//@ end
    return both;
}

__device__ __forceinline__ void ${t}_split(${t}_two both, float (&x)[2])
{
//@ if word then
    x[0] = from_${dtype}((u16)both);
    x[1] = from_${dtype}((u16)(both >> 16));
//@ else
    x[0] = both.x;
    x[1] = both.y;
//@ end
}
