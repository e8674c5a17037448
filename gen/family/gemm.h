/* Inside the family gemm: what its two ways to multiply (wgmma, mma.sync) share. */
#ifndef TW_GEN_FAMILY_GEMM_H
#define TW_GEN_FAMILY_GEMM_H

#include "family/family.h"

enum { GEMM_MAX_OUTPUTS = 8 };

/* A kernel being resolved: D = epilogue(alpha A B + beta C). Tensor numbers are the Plan's. */
struct gemm {
    const struct spec *spec;
    const struct spec_kernel *kernel;
    const struct arch *arch;
    struct plan *plan;
    struct diag_set *diags;
    struct spec_fields fields;       /* the architecture's put over the kernel's */
    int a, b, c, d;                  /* c: -1 where there is none */
    bool a_mn_major, b_mn_major;     /* A stored k m, B stored k n */
    int output[GEMM_MAX_OUTPUTS];    /* D and what else the epilogue returns */
    int output_count;
    int64_t m, n, k;                 /* extents where they are constants, else -1 */
    int m_node, n_node, k_node;
    int tile_m, tile_n, tile_k;
    int cluster_m, cluster_n;
};

/* Copies the spec into the Plan and finds the tensors. 0, 1 faults, 3 out of memory. */
int gemm_begin(struct gemm *g);

/* Values, grid, operations and bytes that every architecture's Plan has, once the tiles are decided. `persistent`: one
 * block (cluster) a multiprocessor takes tile after tile. 0 or 3. */
int gemm_end(struct gemm *g, bool persistent, int blocks_per_sm);

/* A fault at the field's place in the spec (the kernel's where it was left out). Returns 1. */
int gemm_fault(struct gemm *g, enum spec_field field, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The field's integer where the spec sets it, else `fallback`, recorded with the reason. */
int gemm_choose(struct gemm *g, enum spec_field field, int fallback, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

/* Decides the swizzle of a tile whose rows have `row_bytes` bytes (the tile's extent along `field`, `extent` elements):
 * the spec's, or the widest whose span divides them. Sets tile, boxes, box_bytes, tile_bytes of the tensor for `rows`
 * rows. 0 or 1 (fault). */
int gemm_tile_layout(struct gemm *g, int tensor, int rows, int extent, enum spec_field field);

/* A depth that the spec sets is that of a ring that is read and filled at once. 0, 1 a fault. */
int gemm_check_stages(struct gemm *g);

/* The fault of tiles of A and B whose two stages do not fit beside `results` bytes: a stage may have `room`. Returns 1. */
int gemm_stage_fault(struct gemm *g, int results, int room);

/* False where the rows of a result are constants and no multiple of 16 bytes, so that no bulk store writes them. */
bool gemm_stores_whole_rows(const struct spec_kernel *kernel);

/* Resolves on architectures with wgmma, and with mma.sync alone; as family.resolve does. */
int gemm_resolve_wgmma(const struct spec *, const struct spec_kernel *, const struct arch *, int variant, struct plan *,
                       struct diag_set *);
int gemm_resolve_mma_sync(const struct spec *, const struct spec_kernel *, const struct arch *, int variant,
                          struct plan *, struct diag_set *);

#endif
