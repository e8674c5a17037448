//@ -- y = x, a row a block, element by element.
//@ param entry text
//@ param launch.block int
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
    for (int c = threadIdx.x; c < args.C; c += ${launch.block})
        args.y[blockIdx.x * args.y_stride0 + c] = args.x[blockIdx.x * args.x_stride0 + c];
}
