/* What the arithmetic of a store reads beside its sums, a chunk of it ahead. */
#ifndef TW_GEN_LOWER_DERIVE_READS_H
#define TW_GEN_LOWER_DERIVE_READS_H

#include "lower/derive/derive.h"

enum { DERIVE_MAX_READS = 4 };

/* Of a store by chunks of `width` columns: the steps that read, ahead, what its arithmetic needs of tensors, where
 * registers hold that. Those for the first chunk are written, before a wait that was written last; those for the chunk
 * behind another one are in next[DERIVE_MAX_READS], *count of them. late: plan_some(place) where results are packed to
 * go out later, 0 where they go out at once. 0 or 3. */
int derive_reads(struct derive *d, const struct plan_step *write, int width, int late, struct plan_step *next,
                 int *count);

/* ---- what comes into the buffers of a store, nothing where no tensor does. Each returns 0, 1 or 3 ---------------- */

/* The loop is the one under whose turns the item's tile comes, behind the first of them or in front of all.
 */
bool derive_brings_source(const struct derive *d, int loop);
int derive_bring_source(struct derive *d);                   /* all chunks of an item, once its buffers are free */
int derive_bring_chunk(struct derive *d);                    /* the one in hand, in a loop over them */
int derive_take_source(struct derive *d, int op, int width); /* in front of the STORE's arithmetic: the next chunk */

#endif
