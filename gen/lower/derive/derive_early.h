/* What the arithmetic of a loop's turns reads from tensors and no dot gives, read before it is taken (derive_early.c).
 * Each returns 0, 1 or 3 if nothing else is said. */
#ifndef TW_GEN_LOWER_DERIVE_EARLY_H
#define TW_GEN_LOWER_DERIVE_EARLY_H

#include "lower/derive/derive.h"

/* In front of the loop's turns, which begin with the variable as it is there: what the first takes is read. */
int derive_early_begin(struct derive *d, int loop);

/* A turn begins, whose values are then to be made: returns the loop of those that were, for derive_early_end. */
int derive_early_turn(struct derive *d, int loop);
void derive_early_end(struct derive *d, int due);

/* If they are still to be made, and the operation is one of that turn's: this turn's values, from what was read for it,
 * and the reads for the next turn. Called where a dot runs, or else where arithmetic begins. */
int derive_early_make(struct derive *d, int op);

/* The node's value is the same in all turns of the loop, and stays in its place. */
bool derive_early_stays(const struct derive *d, int loop, int node);

/* Behind the loop nothing of it is held, and what the next item's takes first is read. */
int derive_early_leave(struct derive *d, int loop);

#endif
