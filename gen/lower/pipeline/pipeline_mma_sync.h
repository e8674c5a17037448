/* Between lower_mma_sync.c and pipeline_mma_sync.c, which has the shapes and layouts of mma.sync. Each function of
 * status returns 0, 1 a fault, 3 out of memory. */
#ifndef TW_GEN_LOWER_PIPELINE_PIPELINE_MMA_SYNC_H
#define TW_GEN_LOWER_PIPELINE_PIPELINE_MMA_SYNC_H

#include "lower/pipeline/pipeline.h"

enum {
    MMA_SYNC_M = 16,
    MMA_SYNC_N = 8,
};

/* Threads of a block with so many warps that multiply. */
static inline int mma_sync_threads(const struct pipeline *x, int warps)
{
    return 32 * (warps + (x->grouped ? 4 : x->bulk));
}

int mma_sync_warps(struct pipeline *x);       /* warps and their parts of the tiles */
int mma_sync_dot(struct pipeline *x, int op); /* its instruction and places */
int mma_sync_tensors(struct pipeline *x);     /* tiles in shared memory, outputs */
int mma_sync_stages(struct pipeline *x);      /* how many stages rings of loops have, into x->stages */

/* Why bulk copies cannot bring what dots read, once the derivation is open; NULL: they do. */
const char *mma_sync_no_bulk(const struct pipeline *x);

/* Registers of a thread, about: what places hold, two steps of operands, the rest. Above `limit` the compiler reads
 * operands later, and one step of them is held. */
int mma_sync_registers(const struct pipeline *x, int limit);
/* With which a tile is refused: those, and what the compiler takes where they are short, so that nothing that passes is
 * spilled. */
int mma_sync_registers_at_most(const struct pipeline *x, int limit);
int mma_sync_registers_at_ease(const struct pipeline *x); /* with which it need not wait for some to become free */
int mma_sync_register_limit(const struct pipeline *x);    /* that a thread of the block can have */

int mma_sync_register_threads(const struct pipeline *x, int warps); /* whose registers such a block takes */

/* That a thread can have where the producer is a warpgroup, and keeps `producer` itself, at the least
 * MMA_SYNC_PRODUCER; 0: it cannot be one. */
int mma_sync_registers_moved(const struct pipeline *x, int warps, int producer);

enum { MMA_SYNC_PRODUCER = 40 };
int mma_sync_check_registers(struct pipeline *x);

#endif
