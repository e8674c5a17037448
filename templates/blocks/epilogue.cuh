//@ -- NAME_epilogue for each output: the fused function on `lanes` neighbours of a fragment, (m, n) and, of two,
//@ -- (m, n + 1). v = alpha v + beta C first; a beta of 0 reads no C.
//@ param model table
//@ param outputs table
//@ param lanes int
//@ local fused, extent = model.fused, model.extent
//@ local function canonical(node)
//@     local t = model.tensor[node.tensor]
//@     for i, index in ipairs(node.index) do
//@         local n = fused[index + 1]
//@         if n.op ~= "INDEX" or n.axis ~= t.axis[i] then return false end
//@     end
//@     return true
//@ end
//@ -- Operands in the order of their first use: those read along their own axes, and those read elsewhere.
//@ local dtypes, operands, along, elsewhere = {}, {}, {}, {}
//@ for _, t in ipairs(outputs) do dtypes[t.dtype] = true end
//@ local function operand(t, is_along)
//@     if not has(along, t.name) then
//@         operands[#operands + 1] = t
//@         along[t.name], elsewhere[t.name] = false, false
//@         dtypes[t.dtype] = true
//@     end
//@     along[t.name], elsewhere[t.name] = along[t.name] or is_along, elsewhere[t.name] or not is_along
//@ end
//@ for _, node in ipairs(fused) do
//@     if node.op == "TENSOR" then operand(model.tensor[node.tensor], canonical(node)) end
//@     if node.op == "CAST" then dtypes[node.dtype] = true end
//@ end
//@ local C = model.tensor.C
//@ local has_alpha, has_beta = model.scalar.alpha ~= nil, model.scalar.beta ~= nil
//@ if C then operand(C, true) end
//@ local values = lanes == 1 and "float &v0" or "float &v0, float &v1"
//@ include "blocks/convert.cuh" dtypes = dtypes
//@ if model.epilogue.set then

//@ include "blocks/math.cuh" fused = fused
//@ end
//@ for _, t in ipairs(operands) do
//@     local condition = C and t.name == "C" and has_beta and "if (args.beta != 0.0f) " or ""
//@ include "blocks/operand.cuh" tensor = t, extent = extent, lanes = lanes, read = along[t.name],
//@     at = elsewhere[t.name], guard = condition
//@ end
//@ for _, t in ipairs(outputs) do

__device__ __forceinline__ void ${t.name}_epilogue(const arguments &args, ${values}, int m, int n)
{
//@     if has_alpha then
//@         for lane = 0, lanes - 1 do
    v${lane} *= args.alpha;
//@         end
//@     end
//@     if C then
//@         local c = lanes == 1 and "c0" or "c0, c1"
//@         local scale = has_beta and "args.beta * " or ""
    float ${c};
    C_read(args, m, n, ${c});
//@         for lane = 0, lanes - 1 do
    v${lane} += ${scale}c${lane};
//@         end
//@     end
//@     if model.epilogue.set then
//@         for _, o in ipairs(operands) do
//@             if along[o.name] and o.name ~= "C" then
//@                 local x = lanes == 1 and o.name .. "0" or o.name .. "0, " .. o.name .. "1"
    float ${x};
    ${o.name}_read(args, m, n, ${x});
//@             end
//@         end
//@         for lane = 0, lanes - 1 do
//@             local statements = fused_text(t.name, lane)
    {
        ${statements}
    }
//@         end
//@     end
}
//@ end
