//@ -- What tiles are multiplied by: wgmma, whose sums are in registers, or tcgen05, whose sums are in tensor memory.
//@ -- model: the Plan.
//@ param model table
//@ if has(model, "memory") then
//@ include "blocks/tensor_dots.cuh" model = model
//@ else
//@ include "blocks/wgmma_dots.cuh" model = model
//@ end
