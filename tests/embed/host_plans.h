/* Plans made by hand for tests of the emitted C pair: as the family gemm resolves them, without its shared memory,
 * roles and rings, which host code does not read. */
#ifndef TW_TESTS_EMBED_HOST_PLANS_H
#define TW_TESTS_EMBED_HOST_PLANS_H

#include "plan/plan.h"

/* D[M, N] = alpha A[M, K] B[N, K]^T + bias[N], bf16, K a multiple of 8, in clusters of two blocks: sm_90a with maps of
 * A, B and D; its variant "unaligned", which stores D by plain stores; sm_80, without maps. */
enum host_plan { HOST_PLAN_SM_90A, HOST_PLAN_SM_90A_UNALIGNED, HOST_PLAN_SM_80, HOST_PLAN_COUNT };
void host_plan_gemm(struct plan *p, enum host_plan which);

/* A batch of matrices with constant and computed extents: X[B, H // G, S, 64] of fp16 through a map of rank 4, y[S * 4]
 * fp32, plain; one variant on sm_100a. */
void host_plan_batch(struct plan *p);

/* Tensors with constant strides: X[M, 1024] of fp16 and Y[4, 8, 256] of bf16, which is written, both through maps; one
 * variant on sm_90a. */
void host_plan_fixed(struct plan *p);

/* Images X[N, H, W, 64] of bf16, of which a map of windows takes 3 x 2 pixels, every second along H, padded by 1 above
 * and below; y[N] of fp32, which is written; one variant on sm_90a. */
void host_plan_windows(struct plan *p);

/* y[N] = x[N] of fp32 on sm_80, 64-bit sizes, one block for 1,024 elements. */
void host_plan_copy(struct plan *p);

#endif
