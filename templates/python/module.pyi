//@ -- The types of NAME_python.c, for editors and type checkers.
//@ local NAME, python = host.name, host.python
//@ local parameters, outputs = {}, 0
//@ for _, t in ipairs(python.tensor) do
//@     local optional = t.may_be_null or t.made
//@     parameters[#parameters + 1] = t.name .. (optional and ": T | None = None" or ": T")
//@     if t.kind ~= "" then outputs = outputs + 1 end
//@ end
//@ parameters[#parameters + 1] = "*"
//@ for _, s in ipairs(python.scalar) do
//@     local kind = (s.kind == "int" or s.kind == "uint") and "int" or s.kind == "bool" and "bool" or "float"
//@     parameters[#parameters + 1] = s.name .. ": " .. kind
//@ end
//@ for _, d in ipairs(python.size) do
//@     if d.given then parameters[#parameters + 1] = d.name .. ": int" end
//@ end
//@ if host.workspace > 0 then parameters[#parameters + 1] = "workspace: Any = None" end
//@ parameters[#parameters + 1] = "stream: Any = None"
//@ local result = {}
//@ for i = 1, outputs do result[i] = "T" end
//@ local returns = outputs == 1 and "T" or "tuple[" .. table.concat(result, ", ") .. "]"
# ${NAME}.pyi: the types of ${NAME}_python.c, made by tilewright ${host.generator}. Do not edit: change the spec and generate again.
from typing import Any, Final, TypedDict, TypeVar

T = TypeVar("T")

class Loaded(TypedDict):
    device: int
    arch: str
    capability: int
    driver_version: int
    variants: int
    static_images: int
    images: str

class Info(TypedDict):
    name: str
    generator: int
    loaded: list[Loaded]

torch_in_place: Final[bool]  # by ${NAME}_torch.cpp; False: not compiled with it, or for another torch

def ${NAME}(
//@ for _, p in ipairs(parameters) do
    ${p},
//@ end
) -> ${returns}:
    """Launches the kernel on the current stream; returns what it writes.

//@ for _, t in ipairs(python.tensor) do
//@     local how = t.kind == "" and "read" or t.kind == "added" and "added to" or "written"
//@     local also = t.made and "; None: made by the framework" or t.may_be_null and "; None where nothing is read of it" or ""
//@     local what = t.pointers and "addresses, at multiples of 16, of " .. t.of .. " [" .. t.slice .. "], " or ""
    ${t.name}: ${t.dtype} [${t.shape}], ${what}${how}${also}
//@ end
//@ for _, s in ipairs(python.scalar) do
    ${s.name}: ${s.dtype}
//@ end
//@ for _, d in ipairs(python.size) do
//@     if d.given then
    ${d.name}: a size that no tensor's shape says
//@     end
//@ end
//@ if host.workspace > 0 then
    workspace: device memory that is zero before the first call and left zero; None: one for each stream
//@ end
    stream: a CUstream as a number, or an object that has one; None: on which the framework works now

    TypeError, ValueError: an argument is at fault, which the message names; nothing is launched.
    RuntimeError: the driver is. The tensors' last dimension has a stride of 1.
    """

def load(driver: Any) -> None: ...
def info() -> Info: ...
