//@ param entry text
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align
//@ include "blocks/tma.cuh" loads = true, multicast = false, stores = false
//@ include "blocks/tma_load.cuh" tensor = plan.tensor.x, ring = plan.ring.x, offset = 0, over = "m", cluster_m = 1
extern "C" __global__ void ${entry}(const __grid_constant__ arguments args)
{
}
