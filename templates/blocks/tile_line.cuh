//@ -- NAME_line and NAME_read: elements of a fragment and their neighbours to the right from a tensor, whose dim
//@ -- `columns` (from 1) the fragment's columns run along. A line is where a thread's row of them begins; reads go on
//@ -- from there. What lies outside of the tensor is not stored: a row past the last reads the last row instead; a
//@ -- column past the last, where two are one word, is not read and 0, and reads the last column instead where they are
//@ -- not, for two conditions cost more than that. NAME_split makes two numbers of a read, apart from it, so that many
//@ -- reads can be on their way.
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
//@ local sum = {}
//@ local base, from = slice(tensor, "i0")
//@ for d = from, rank do
//@     sum[#sum + 1] = d == rank and names[d] or "(i64)" .. names[d] .. " * args." .. t .. "_stride" .. d - 1
//@ end
//@ local place, word, along = table.concat(sum, " + "), wide and bytes(dtype) == 2, columns < rank
//@ if #sum > 1 then place = "(" .. place .. ")" end
//@ local two = word and "u32" or "float2"
//@ local function at(further) return along and further .. " * line.stride" or further end

typedef ${two} ${t}_two; // as they were read

struct ${t}_line {
    const ${ctype(dtype)} *at;
//@ if wide then
    int left; // columns of the tensor from here on; none unless they are needed
//@ else
    int last; // columns from here to the tensor's last one
    bool needed;
//@ end
//@ if along then
    i64 stride;
//@ end
};

__device__ __forceinline__ ${t}_line ${t}_from(const arguments &args, ${list}, bool needed)
{
    ${statements}
//@ for d = 1, rank do
//@     local name, last = names[d], as_int(ends[d])
//@     if d ~= columns then
    ${name} = min(${name}, ${last} - 1);
//@     end
//@ end
//@ if wide then
    return {${base} + ${place}, needed ? ${past} - ${column} : 0};
//@ elseif along then
//@     local number = columns - 1
    return {${base} + ${place}, ${past} - 1 - ${column}, needed, args.${t}_stride${number}};
//@ else
    return {${base} + ${place}, ${past} - 1 - ${column}, needed};
//@ end
}

//@ if wide then
// The pair so many columns, an even number, further.
//@ else
// The pair so many columns further.
//@ end
__device__ __forceinline__ ${t}_two ${t}_read(const ${t}_line &line, int further)
{
//@ if word then
    u32 both = 0;
//@ else
    float2 both = {0.0f, 0.0f};
//@ end
//@ if wide then
    if (further < line.left) // and so is the next: their number is even
        both = *(const ${t}_two *)(line.at + further);
//@ else
//@     local first, second = at("min(further, line.last)"), at("min(further + 1, line.last)")
    if (line.needed) {
        both.x = from_${dtype}(line.at[${first}]);
        both.y = from_${dtype}(line.at[${second}]);
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
