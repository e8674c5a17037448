/* What the masks of a loop let in: the part of its dots' products that is not left out by a condition. `bench` counts
 * operations by it; nothing that is emitted depends on it. */
#ifndef TW_GEN_PLAN_VISIBLE_H
#define TW_GEN_PLAN_VISIBLE_H

#include "spec/expr.h"

enum { PLAN_VISIBLE_LOOPS = 4 };

/* Of a turn's tile: rows are the item's. */
struct plan_visible_loop {
    int loop;     /* of plan.loop */
    int from, to; /* nodes of plan.graph */
    int rows, columns;
    int inside, mask; /* nodes of the graph below: an element is there; and it counts, which is there */
    int flops;        /* node of plan.graph: operations of the loop's dots, of all elements that are there */
};

struct plan_visible {
    struct expr_graph graph; /* over AT, LOOP (of plan.loop), ROW, COLUMN, sizes, and elements of plan.tensor */
    struct plan_visible_loop loop[PLAN_VISIBLE_LOOPS];
    int count;
};

#endif
