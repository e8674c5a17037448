//@ -- NAME_epilogue for each output: the fused function on two neighbours of a fragment, (m, n) and (m, n + 1).
//@ -- v = alpha v + beta C first; a beta of 0 reads no C.
//@ param model table
//@ param outputs table
//@ local fused, extent = model.fused, model.extent
//@ local function canonical(node)
//@     local t = model.tensor[node.tensor]
//@     for i, index in ipairs(node.index) do
//@         local n = fused[index + 1]
//@         if n.op ~= "INDEX" or n.axis ~= t.axis[i] then return false end
//@     end
//@     return true
//@ end
//@ local dtypes, operands, paired, functions = {}, {}, {}, false
//@ for _, t in ipairs(outputs) do dtypes[t.dtype] = true end
//@ local function operand(t)
//@     if not has(paired, t.name) then
//@         operands[#operands + 1] = t
//@         paired[t.name] = false
//@         dtypes[t.dtype] = true
//@     end
//@ end
//@ for _, node in ipairs(fused) do
//@     if node.op == "TENSOR" then
//@         operand(model.tensor[node.tensor])
//@         if canonical(node) then paired[node.tensor] = true end
//@     elseif node.op == "CAST" then
//@         dtypes[node.dtype] = true
//@     end
//@ end
//@ local C = model.tensor.C
//@ local has_alpha, has_beta = model.scalar.alpha ~= nil, model.scalar.beta ~= nil
//@ if C then
//@     operand(C)
//@     paired.C = true
//@ end
//@ include "blocks/convert.cuh" dtypes = dtypes
//@ if model.epilogue.set then

//@ include "blocks/math.cuh" fused = fused
//@ end
//@ for _, t in ipairs(operands) do
//@     local pair = paired[t.name]
//@ include "blocks/operand.cuh" tensor = t, extent = extent, pair = pair
//@ end
//@ for _, t in ipairs(outputs) do

__device__ __forceinline__ void ${t.name}_epilogue(const arguments &args, float &v0, float &v1, i64 m, i64 n)
{
//@     if has_alpha then
    v0 *= args.alpha;
    v1 *= args.alpha;
//@     end
//@     if C and has_beta then
    if (args.beta != 0.0f) {
        float c0, c1;
        C_pair(args, m, n, c0, c1);
        v0 += args.beta * c0;
        v1 += args.beta * c1;
    }
//@     elseif C then
    float c0, c1;
    C_pair(args, m, n, c0, c1);
    v0 += c0;
    v1 += c1;
//@     end
//@     if model.epilogue.set then
//@         for _, o in ipairs(operands) do
//@             if paired[o.name] and o.name ~= "C" then
    float ${o.name}0, ${o.name}1;
    ${o.name}_pair(args, m, n, ${o.name}0, ${o.name}1);
//@             end
//@         end
//@         local first, second = fused_text(t.name, 0), fused_text(t.name, 1)
    {
        ${first}
    }
    {
        ${second}
    }
//@     end
}
//@ end
