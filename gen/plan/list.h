/* Turns of a loop by a list: which of them a mask lets anything into, where data decide that.
 *
 * A kernel of its own, launched before the Plan's own on the same stream, writes a record for each set of items that
 * see the same turns, in the workspace behind plan.workspace_bytes: PLAN_LIST_HEAD words, of which the first are
 *     0  turns in the list    1, 2  from which on, and up to which, no mask is needed: the longest such run
 * and then the loop's variable in each of these turns, in the order of the range. Behind as many as the range has are
 * PLAN_LIST_TAIL words more, which a role that looks ahead may read and nobody takes. EXPR_LISTED reads a word of all
 * records. A turn is asked by the least and the largest of what each tensor holds for the rows, or the columns, of its
 * tile (EXPR_BOUND), so that what is left out changes nothing and what is kept may turn out to change nothing.
 */
#ifndef TW_GEN_PLAN_LIST_H
#define TW_GEN_PLAN_LIST_H

#include <stdbool.h>

enum {
    PLAN_LIST_HEAD = 4, /* words of a record before its turns, and behind them */
    PLAN_LIST_TAIL = 2,
    PLAN_LIST_READS = 8,
    PLAN_LIST_ITEMS = 8,
    PLAN_LIST_OFFSET = 128, /* bytes of the workspace before the records */
    PLAN_LIST_THREADS = 256,
};

/* Elements of a tensor, whose least and largest BOUND leaves 2 r and 2 r + 1 are. Nodes of plan.fused over ROW, which
 * counts all elements, whether they lie along rows or columns. */
struct plan_list_read {
    int element, inside; /* the element; whether it is there */
    int count;
    bool by_turn; /* others are the same for all turns of a record */
};

struct plan_list {
    int loop;                  /* of plan.loop: the variable is of its name */
    int item[PLAN_LIST_ITEMS]; /* of plan.item: by whose places records differ, the last varying fastest */
    int item_count;
    int from, turns, words; /* nodes of plan.fused: the range's first number, its turns, words of a record */
    int records;            /* node of plan.graph */
    int possible, certain;  /* nodes of plan.fused, for a turn: its masks may let something in; they let in all */
    struct plan_list_read read[PLAN_LIST_READS];
    int read_count;
};

struct plan;

/* Launches of both may follow each other on one workspace: neither leaves records of a list where the other has to find
 * zeros. */
bool plan_share_workspace(const struct plan *a, const struct plan *b);

#endif
