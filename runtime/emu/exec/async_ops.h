/* The operations on barriers in memory, asynchronous copies and matrices: their handlers, and what each carries as its
   extra (copy.c, matrix.c, wmma.c). */
#ifndef EMU_ASYNC_OPS_H
#define EMU_ASYNC_OPS_H

#include "emu/alu/lanes.h"

/* An address operand. */
struct emu_where {
    uint32_t at;   /* lanes */
    uint8_t wide;  /* they have 64 bits */
    uint8_t space; /* ptx_space */
    uint64_t offset;
};

/* mbarrier.*: d result (lanes of 64 bits, or a predicate), b and c operands. */
struct emu_mbarrier_op {
    struct emu_where barrier;
    uint8_t opcode_kind; /* what: */
    uint8_t expect_tx, no_complete, drop, parity, relaxed;
    uint8_t has_count;
};

/* Asynchronous copies. */
struct emu_copy {
    uint16_t opcode;
    struct emu_where to, from, barrier, map;
    uint32_t bytes;                /* constant, or lanes where bytes_lanes */
    uint32_t bytes_lanes;          /* PTX_NONE: constant */
    uint32_t source_bytes, ignore; /* cp.async: lanes of the source size, predicate; PTX_NONE: none */
    uint32_t multicast;            /* lanes of the mask; PTX_NONE: none */
    uint32_t coordinates[5], offsets[3], data[4];
    uint8_t rank, mode, elements, element_bytes, wide;
    uint8_t store; /* to global memory */
    uint8_t reduce, reduce_type;
    uint8_t no_increment;
    uint8_t group, read_only;
    uint32_t most; /* wait_group's number */
};

/* ldmatrix, stmatrix, mma, wgmma. */
struct emu_matrix {
    struct emu_where address;
    uint8_t count, trans; /* ldmatrix, stmatrix */
    uint8_t is_f64, bits_a, bits_d;
    uint16_t m, n, k;         /* k: as A has it, half of B's where it is sparse */
    int kind;                 /* emu_tc_kind; of a sparse wgmma the dense one's of this k */
    uint8_t sparse, selector; /* A is sparse; which lanes give metadata */
    uint32_t metadata;        /* lanes */
    uint8_t a_in_registers, trans_a, trans_b, negate_a, negate_b;
    uint32_t a_count, b_count, c_count, d_count;  /* registers */
    uint32_t a_descriptor, b_descriptor, scale_d; /* lanes, lanes, predicate operand */
    uint32_t *a, *b, *c, *d;                      /* offsets */
};

/* k of B. */
static inline unsigned emu_matrix_depth(const struct emu_matrix *m)
{
    return (unsigned)m->k << m->sparse;
}

/* wmma. Of a load or store d is the fragment. */
struct emu_wmma {
    struct emu_where address;
    char which; /* 'A', 'B', 'C' */
    uint8_t store, by_columns, has_stride;
    uint8_t bits, bits_d;  /* of elements: of the fragment, or A and B; of C and D */
    uint8_t m, n, k, line; /* line: elements from row to row (or column) where no stride is given */
    uint32_t stride;       /* lanes */
    int kind;              /* emu_tc_kind */
    uint32_t a_count, b_count, c_count, d_count;
    uint32_t *a, *b, *c, *d;
};

const struct emu_op *emu_op_wmma_move(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_wmma(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_init(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_inval(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_tx(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_arrive(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_test(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mbarrier_pending(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_copy(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_commit(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_wait_group(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_ldmatrix(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_stmatrix(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_movmatrix(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_mma(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_wgmma(struct emu_warp *warp, const struct emu_op *op);
struct emu_block;
/* The warp has issued a wgmma, or has ended: those that all warps of its warpgroup have issued may read their operands,
 * as an H200's do not before that (tests/strangers/late_warp.cu). The launch's status. */
int emu_wgmma_meet(struct emu_warp *warp);
void emu_wgmma_check(struct emu_block *block); /* all its warps have ended: did warpgroups execute them as one? */
const struct emu_op *emu_op_tensormap_replace(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensormap_copy(struct emu_warp *warp, const struct emu_op *op);

#endif
