/* Plans for the tests of gen/plan: the sm_90a GEMM, the sm_80 GEMM and a row normalisation, as their families would
 * make them, in the sizes that a test asks for. */
#ifndef TW_TESTS_UNIT_PLAN_SAMPLES_H
#define TW_TESTS_UNIT_PLAN_SAMPLES_H

#include "plan/plan.h"
#include "unit/check.h"

enum { SAMPLE_A, SAMPLE_B, SAMPLE_D };
enum { SAMPLE_AB, SAMPLE_RING_D };

struct sample_gemm {
    int stages, consumers;
    int cluster_m, cluster_n; /* blocks along m share B, blocks along n share A */
    int tile_n, tile_k;
    int d_stages, d_tiles; /* buffers and sub-tiles of the epilogue; 0: plain stores */
    bool d_shared_barrier; /* the consumers meet at one barrier, not each at its own */
};

/* The Plan's tensor of so many rows and columns, symbols by number. */
void sample_tensor(struct plan *p, int tensor, const char *name, int rows, int columns, const char *axis0,
                   const char *axis1);

/* Adds a region of shared memory; returns its number. */
int sample_shared(struct plan *p, const char *name, int bytes, int align, int count);

/* An empty Plan of the kernel: symbols, tensors, matrix instruction and launch without their choices. */
void sample_begin(struct plan *p, const char *kernel, const char *arch);

/* The sm_90a GEMM: a producer thread, consumer warpgroups, D through buffers and bulk stores. */
struct plan *sample_gemm_sm90(struct plan *p, struct sample_gemm g);

/* The sm_80 GEMM: every warp copies with cp.async and reads with ldmatrix. */
struct plan *sample_gemm_sm80(struct plan *p, int stages, int instances, bool persistent);

/* A row normalisation: one thread fills, consumer warps read at once and store plainly. `wide`: one executor of all
 * warps, which meets at a barrier before it releases. */
struct plan *sample_rms_norm(struct plan *p, int stages, int warps, bool wide);

/* Position of the n-th step `op` of a role. */
int sample_find(const struct plan *p, int role, enum plan_op op, int nth);

/* A step taken out, put before step `step`, or changed with another. */
void sample_drop(struct plan *p, int role, int step);
void sample_insert(struct plan *p, int role, int step, struct plan_step what);
void sample_swap(struct plan *p, int role, int a, int b);

#endif
