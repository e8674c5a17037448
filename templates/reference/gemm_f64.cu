//@ -- The sums over k in double precision, a thread an element: sum[m, n], row-major. Plain on purpose: the reference for
//@ -- sizes that take the host too long. It is itself compared with the host's sums on small sizes.
//@ local A, B = plan.tensor.A, plan.tensor.B
//@ local dtypes = { [A.dtype] = true }
//@ local a = A.axis[1] == "m" and "m * args.A_stride0 + k" or "k * args.A_stride0 + m"
//@ local b = B.axis[1] == "n" and "n * args.B_stride0 + k" or "k * args.B_stride0 + n"
//@ local type = ctype(A.dtype)
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;

// Strides of the outer dims in elements.
struct arguments {
    const ${type} *A, *B;
    double *sum;
    i64 A_stride0, B_stride0, M, N, K;
};

//@ include "blocks/convert.cuh" dtypes = dtypes

extern "C" __global__ void reference(const __grid_constant__ arguments args)
{
    for (i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x; at < args.M * args.N; at += (i64)gridDim.x * blockDim.x) {
        const i64 m = at / args.N, n = at % args.N;
        double sum = 0.0;
        for (i64 k = 0; k < args.K; ++k)
            sum += (double)from_${A.dtype}(args.A[${a}]) * (double)from_${B.dtype}(args.B[${b}]);
        args.sum[at] = sum;
    }
}
