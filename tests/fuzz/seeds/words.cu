//@ -- Every directive and helper once.
//@ param entry text
//@ param launch.block int
//@ local x, list, text = plan.tensor.x, { 1, 2, "c" }, ("a"):rep(3)
${banner}
//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align
//@ for i, t in ipairs(plan.tensor) do
int ${t.name}_${i} = ${bytes(t.dtype)}; // ${csv(list)} ${upper(text)} ${hex(i)} ${ctype(t.dtype)}
//@ end
//@ deeper()
//@ if has(plan, "role") and is_real(x.dtype) and log2(8) == 3 and ceil_div(9, 4) == align_up(3, 3) then
int a = ${debug_ms};
//@ end
//@ shallower()
//@ for _, f in ipairs(functions()) do local n, d = f.name, f.doc
// ${n}: ${d}
//@ end
//@ local s = swizzle("128B") local span = s.span
//@ for k, v in pairs(plan) do if type(v) == "number" then
#define ${k} ${v}
//@ end end
//@ op wait_full ring = "x"
static __device__ void f() { ${span} }
//@ role "producer"
//@ elect
//@ loop "k" step < steps
//@ when step > 0
    f();
//@ endwhen
//@ endloop
//@ endelect
//@ endrole
//@ role "consumer"
//@ loop "tiles" while more()
    g();
//@ endloop
//@ endrole
