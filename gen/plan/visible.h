/* Elements of a loop's tiles that count: they are there, and the loop's masks let them in. `bench` counts operations by
 * them; nothing that is emitted depends on it. */
#ifndef TW_GEN_PLAN_VISIBLE_H
#define TW_GEN_PLAN_VISIBLE_H

#include "spec/expr.h"

enum { PLAN_VISIBLE_LOOPS = 4 };

/* Of a turn's tile: rows are the item's. Nodes are of the graph below but for flops. */
struct plan_visible_loop {
    int loop;          /* of plan.loop */
    int from, to;      /* its range */
    int rows, columns; /* of the tile */
    int counts;        /* the condition of an element */
    int64_t each;      /* operations of a whole tile: of the dots that make it, and of those that take it */
    int flops; /* node of plan.graph: operations of the loop's dots where each element counts; -1: data decide */
};

struct plan_visible {
    struct expr_graph graph; /* over AT, LOOP (of plan.loop), ROW, COLUMN, sizes, and elements of plan.tensor */
    struct plan_visible_loop loop[PLAN_VISIBLE_LOOPS];
    int count;
    bool all; /* no other loop has dots */
};

#endif
