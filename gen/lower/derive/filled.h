/* Items that store nothing, as far as data say so: what need not be taken (derive_filled.c). */
#ifndef TW_GEN_LOWER_DERIVE_FILLED_H
#define TW_GEN_LOWER_DERIVE_FILLED_H

#include "lower/derive/derive.h"

/* How far along one axis items have anything to store, where data say so. */
struct derive_filled {
    int axis;  /* of the program; -1: all items of all axes may */
    int along; /* the one other axis by whose places the end is known; -1: it is one for all items; `axis`: it differs
                  from item to item in some other way */
    int end;   /* plan_some(node of plan.fused): items that begin there and further on store nothing */
};

/* cluster: by axis, neighbouring items that blocks take together, which know one end. 0 or 3. */
int derive_filled(struct derive *d, const int *cluster, struct derive_filled *filled);

/* Items along the axis may have different values of the node: those of one multiple of `span` places, which begin at
 * that multiple; span 0: any. */
bool derive_tells_apart(const struct expr_graph *g, int node, int axis, int span);

#endif
