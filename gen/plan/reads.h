/* How the arithmetic of stores reads tensors: which elements are read beside their neighbours, and which only under a
 * condition.
 *
 * An element of a tensor whose indices count along the axes of the items, rows by `row` and columns by `column`, is
 * read with its neighbour along the fragment's columns, by NAME_read of blocks/tile_read.cuh or tile_line.cuh. Outside
 * of the tensor any number may stand for it: it is not stored.
 */
#ifndef TW_GEN_PLAN_READS_H
#define TW_GEN_PLAN_READS_H

#include "plan/plan.h"

/* The dim of the tensor that the fragment's columns run along, where the node is such an element; -1: it is not, or an
 * earlier one of the tensor is by another dim. */
int reads_columns(const struct plan *p, int node);

/* guard[node], by node of plan.fused: the condition, the same in all threads, under which alone `root` needs the node;
 * READS_ALWAYS; READS_NEVER. */
enum { READS_ALWAYS = -1, READS_NEVER = -2 };
void reads_guards(const struct plan *p, int root, int *guard);

/* No thread reads an element of the tensor where a condition on scalars does not hold: launches for which it does not
 * need none. scratch: room for plan.fused.count numbers. */
bool reads_may_skip(const struct plan *p, int tensor, int *scratch);

/* The arithmetic is more than moves and a scale: its text had better stand once. */
bool reads_is_long(const struct plan *p, int root);

/* The one place of a fragment that the root reads, where it reads no other and no values of rows; -1. */
int reads_only_place(const struct plan *p, int root);

/* Arithmetic on pairs of fp16 elements, two at a time: what a node of plan.fused is for tiles that lie packed in the
 * layout (plan_some). Each is rounded to fp16, sums of a product once. */
enum reads_pair {
    READS_PAIR_NONE,
    READS_PAIR_TILE, /* elements of a packed place */
    READS_PAIR_ROW,  /* of a row alone, and rounded to fp16: both of a pair */
    READS_PAIR_MUL,  /* cast(x * y), */
    READS_PAIR_ADD,  /* cast(x + y), */
    READS_PAIR_FMA   /* cast(x * y + z) of such, of which one at least goes by the column */
};
/* known: what was found of the nodes up to this one, of the same layout; zero at first. */
enum reads_pair reads_pair(const struct plan *p, int node, int layout, int operand[3], unsigned char *known);

#endif
