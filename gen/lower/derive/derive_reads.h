/* What the arithmetic of a store reads beside its sums, a chunk of it ahead. */
#ifndef TW_GEN_LOWER_DERIVE_READS_H
#define TW_GEN_LOWER_DERIVE_READS_H

#include "lower/derive/derive.h"

enum { DERIVE_MAX_READS = 4 };

/* Of a store by chunks of `width` columns: the steps that read, ahead, what its arithmetic needs of tensors, where
 * registers hold that. Those for the first chunk are written, before a wait that was written last; those for the chunk
 * behind another one are in next[DERIVE_MAX_READS], *count of them. 0 or 3. */
int derive_reads(struct derive *d, const struct plan_step *write, int width, struct plan_step *next, int *count);

#endif
