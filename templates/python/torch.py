//@ -- NAME_python.c as an operator of PyTorch's.
//@ local NAME, python = host.name, host.python
//@ local inputs, given, outputs, call, names, more, why = {}, {}, {}, {}, {}, {}, nil
//@ for _, t in ipairs(python.tensor) do
//@     if t.kind == "" then
//@         inputs[#inputs + 1] = t.name .. (t.may_be_null and ": Optional[torch.Tensor] = None" or ": torch.Tensor")
//@         call[#call + 1] = t.name .. "=" .. t.name
//@         names[#names + 1] = t.name
//@     else
//@         outputs[#outputs + 1] = t
//@     end
//@ end
//@ for _, s in ipairs(python.scalar) do
//@     local kind = (s.kind == "int" or s.kind == "uint") and "int" or s.kind == "bool" and "bool" or "float"
//@     more[#more + 1] = s.name .. ": " .. kind
//@     call[#call + 1] = s.name .. "=" .. s.name
//@     names[#names + 1] = s.name
//@ end
//@ local sizes = {}
//@ local from_output = false
//@ for _, d in ipairs(python.size) do
//@     if d.given then
//@         more[#more + 1] = d.name .. ": int"
//@         call[#call + 1] = d.name .. "=" .. d.name
//@         names[#names + 1] = d.name
//@     else
//@         sizes[#sizes + 1] = d
//@     end
//@ end
//@ local made = true
//@ for _, t in ipairs(outputs) do made = made and t.made end
//@ -- An input that may be left out has a default, and so stands behind those that have none.
//@ table.sort(inputs, function(a, b)
//@     local x, y = a:sub(-4) == "None", b:sub(-4) == "None"
//@     return x ~= y and y
//@ end)
//@ local type = { bf16 = "bfloat16", fp16 = "float16", fp32 = "float32", fp64 = "float64", tf32 = "float32",
//@                fp8_e4m3 = "float8_e4m3fn", fp8_e5m2 = "float8_e5m2" }
//@ local function torch_type(dtype) return type[dtype] or dtype end
//@ local function join(...)
//@     local parts = {}
//@     for _, part in ipairs({ ... }) do
//@         if part ~= "" then parts[#parts + 1] = part end
//@     end
//@     return table.concat(parts, ", ")
//@ end
//@ local words = #more > 0 and "*, " .. table.concat(more, ", ") or ""
//@ local function_inputs = join(table.concat(inputs, ", "), words)
//@ local mutated, mutated_inputs, mutated_call = {}, {}, {}
//@ for _, t in ipairs(outputs) do
//@     mutated[#mutated + 1] = '"' .. t.name .. '"'
//@     mutated_inputs[#mutated_inputs + 1] = t.name .. ": torch.Tensor"
//@     mutated_call[#mutated_call + 1] = t.name .. "=" .. t.name
//@ end
//@ local into_inputs = join(table.concat(mutated_inputs, ", "), function_inputs)
//@ local results = {}
//@ for i = 1, #outputs do results[i] = "torch.Tensor" end
//@ local returns = #outputs == 1 and "torch.Tensor" or "Tuple[" .. table.concat(results, ", ") .. "]"
//@ local operator_call, into_call = table.concat(call, ", "), join(table.concat(mutated_call, ", "), table.concat(call, ", "))
# ${NAME}_torch.py: ${NAME} as an operator of PyTorch 2.4 or newer, made by tilewright ${host.generator}. Do not edit: change the spec and
# generate again. It imports the module that ${NAME}_python.c is compiled to.
#
//@ if made then
#     torch.ops.tilewright.${NAME}        returns new tensors
//@ end
#     torch.ops.tilewright.${NAME}_into   writes the tensors that it is given first
#
# torch.compile traces them by their fake implementations, without a kernel. None has a gradient of its own.
//@ if made then
# ${NAME}.register_autograd gives one to the first, which may call other kernels.
//@ end
# PyTorch lets no operator that writes its arguments have one: wrap ${NAME}_into in a torch.autograd.Function.
from typing import Optional, Tuple

import torch

from ${NAME} import ${NAME} as _launch

//@ if made then

@torch.library.custom_op("tilewright::${NAME}", mutates_args=())
def ${NAME}(${function_inputs}) -> ${returns}:
    return _launch(${operator_call})


@${NAME}.register_fake
def _(${function_inputs}):
//@     for _, d in ipairs(sizes) do
//@         local divide = d.factor > 1 and " // " .. d.factor or ""
    ${d.name} = ${d.of}.shape[${d.dim}]${divide}
//@     end
//@     local first
//@     for _, t in ipairs(python.tensor) do
//@         if t.kind == "" and not t.may_be_null and not first then first = t.name end
//@     end
//@     -- A line for each shape: what is long is wrapped as C is, to which // begins a comment.
    return (
//@     for _, t in ipairs(outputs) do
//@         local shape, dtype = {}, torch_type(t.dtype)
//@         for _, d in ipairs(t.dim) do shape[#shape + 1] = d.python end
//@         local comma = #outputs > 1 and "," or ""
        ${first}.new_empty(
            (${csv(shape)},),
            dtype=torch.${dtype}
        )${comma}
//@     end
    )
//@ end

@torch.library.custom_op("tilewright::${NAME}_into", mutates_args=(${csv(mutated)},))
def ${NAME}_into(${into_inputs}) -> None:
    _launch(${into_call})


@${NAME}_into.register_fake
def _(${into_inputs}):
    return None
