//@ -- Reading a tensor from a fused function. NAME_read: what `lanes` neighbours of a fragment, (m, n) and (m, n + 1),
//@ -- see of it along its own axes. A single one lies inside of D. Of a pair either may lie outside: what is not stored
//@ -- reads the last row or column instead, which costs no branch. guard: a condition, `if (...) `, under which it is read;
//@ -- else it is 0. NAME_at: any element, 0 outside of the tensor.
//@ param tensor table
//@ param extent table
//@ param lanes int
//@ param read bool
//@ param at bool
//@ param guard text
//@ local t, rank, dtype = tensor.name, tensor.rank, tensor.dtype
//@ local axis, indices, inside, place = tensor.axis, {}, {}, {}
//@ for i = 1, rank do
//@     local index = "i" .. (i - 1)
//@     indices[i] = "i64 " .. index
//@     inside[i] = index .. " >= 0 && " .. index .. " < " .. extent[axis[i]]
//@     place[i] = i == rank and index or index .. " * args." .. t .. "_stride" .. (i - 1)
//@ end
//@ local list = csv(indices)
//@ local condition, at_place = table.concat(inside, " && "), table.concat(place, " + ")
//@ local function element(m, n)
//@     local sum = {}
//@     for i = 1, rank do
//@         local index = axis[i] == "n" and n or m
//@         sum[i] = i == rank and index or index .. " * args." .. t .. "_stride" .. (i - 1)
//@     end
//@     return table.concat(sum, " + ")
//@ end
//@ local first, second, single = element("row", "column"), element("row", "next"), element("m", "n")
//@ local by_n = axis[rank] == "n"
//@ local wide = by_n and tensor.whole_rows and tensor.align >= 2 * bytes(dtype)
//@ local use_m, use_n = false, false
//@ for i = 1, rank do
//@     use_m, use_n = use_m or axis[i] == "m", use_n or axis[i] == "n"
//@ end
//@ if at then

__device__ __forceinline__ float ${t}_at(const arguments &args, ${list})
{
    return ${condition} ? from_${dtype}(args.${t}[${at_place}]) : 0.0f;
}
//@ end
//@ if read and lanes == 1 then

__device__ __forceinline__ void ${t}_read(const arguments &args, int m, int n, float &x0)
{
    x0 = 0.0f;
    ${guard}x0 = from_${dtype}(args.${t}[${single}]);
}
//@ elseif read then

__device__ __forceinline__ void ${t}_read(const arguments &args, int m, int n, float &x0, float &x1)
{
//@     if use_m then
    const int row = min(m, (int)(${extent.m}) - 1);
//@     end
//@     if wide then
    const int column = min(n, (int)(${extent.n}) - 2); // both are even
//@         if bytes(dtype) == 2 then
    u32 both = 0;
    ${guard}both = *(const u32 *)(args.${t} + ${first});
    x0 = from_${dtype}((u16)both);
    x1 = from_${dtype}((u16)(both >> 16));
//@         else
    float2 both = {0.0f, 0.0f};
    ${guard}both = *(const float2 *)(args.${t} + ${first});
    x0 = both.x;
    x1 = both.y;
//@         end
//@     elseif use_n then
    const int column = min(n, (int)(${extent.n}) - 1), next = min(n + 1, (int)(${extent.n}) - 1);
    x0 = x1 = 0.0f;
    ${guard}x0 = from_${dtype}(args.${t}[${first}]);
    ${guard}x1 = from_${dtype}(args.${t}[${second}]);
//@     else
    x0 = x1 = from_${dtype}(args.${t}[${first}]);
//@     end
}
//@ end
