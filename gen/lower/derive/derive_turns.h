/* What a loop's masks say of its turns: those that lie wholly inside of them (derive_turns.c), and those that they
 * leave out (derive_idle.c). */
#ifndef TW_GEN_LOWER_DERIVE_TURNS_H
#define TW_GEN_LOWER_DERIVE_TURNS_H

#include "lower/derive/derive.h"

/* ---- derive_turns.c */

/* A condition on the elements of a tile: node of the work graph, and the tile's columns; its rows are the item's. */
struct derive_mask {
    int condition, columns;
};
/* plan_some(node of plan.fused): from the first on so many turns, in which the condition holds for every element, or
 * `somewhere`: behind which it holds for none. 0: not known. */
int derive_turns_where(struct derive *d, int loop, const struct derive_mask *mask, bool somewhere, int *status);

/* The same from the other side: so many turns from the first on in which it holds for no element, or `everywhere`: not
 * for all. */
int derive_turns_before(struct derive *d, int loop, const struct derive_mask *mask, bool everywhere, int *status);

/* plan_some(node) of the least of two, of which the one may be the least of several, the other among them. */
int derive_least(struct expr_graph *g, int of, int other);

/* The condition turns from true to false as the loop's variable grows, in its range; from false to true; and what its
 * bound goes by with the item's place along an axis, 0: nothing is known. */
bool derive_falls(const struct derive *d, int loop, int condition);
bool derive_climbs(const struct derive *d, int loop, int condition);
int64_t derive_along(const struct derive *d, int condition, int axis);

/* Turns at most in which the condition holds for some elements and not for all, of those that the loop makes; idle: it
 * makes none where the condition holds nowhere. Many where that is not known. */
int derive_partly(const struct derive *d, int loop, const struct derive_mask *mask, bool idle);

/* plan_some(node of plan.fused): from the first turn on so many need none of the conditions marked in `inside`, and so
 * many need those marked in `behind_low`; 0 where there is none. */
struct derive_inside {
    int until, low;
};

/* Marks both, and sets *turns. The loop's first value and step are in the Plan. 0 or 3. */
int derive_turns_inside(struct derive *d, int loop, struct derive_inside *turns);

/* plan_some(node): a turn is one of the first `turns` if it ends there or before, as its variable and step say. */
int derive_end_inside(struct derive *d, int loop, int turns);

/* A condition as one on the thread's column: plan_some(node) of the first column, counted from the thread's first,
 * where it does not hold, or `rises`: where it does; 0: it is none, or *status says why. */
int derive_column_bound(struct derive *d, int op, int condition, bool rises, int shift, int *status);

/* The condition, a comparison, is one of them. */
bool derive_is_bounded(struct derive *d, int condition, bool rises);

/* An integer that goes by the column, as a real operand: plan_some(node) of its value at the thread's first column, one
 * for the row, and in *steps the node of what the element's own column adds, a constant. As reals their sum is the
 * integer's up to 2^24, and rounded once more beyond. 0: it is none, or *status says why. */
int derive_column_sum(struct derive *d, int op, int integer, int shift, int *steps, int *status);

/* A place in a tensor's last dim that goes by the column and by data, or the greater of that and 0: plan_some(node) of
 * one that fits 32 bits, a constant beside the thread's own. What it names is the same where no dim is longer than such
 * places reach (PLAN_INDEX_COLUMN is below DERIVE_MOST_COLUMN): the caller asks for a tensor whose last one is a size
 * or a number. Outside of it lies 0. 0: it is none, or *status says why. */
enum { DERIVE_MOST_COLUMN = 1 << 16 }; /* beyond every tile */
int derive_column_place(struct derive *d, int op, int index, int shift, int *status);

/* ---- derive_zero.c */

/* One consumer goes along what data say there is, tile by tile: it waits for memory, and what it computes meanwhile
 * costs no time. */
bool derive_waits_for_memory(const struct derive *d, int loop);

/* The text has a branch in front of the wait for the dot that stands behind the one that is issued ahead, as its
 * operand of fp8 takes shuffles behind it (templates/blocks/steps.cuh). So another branch changes no wait's place. */
bool derive_holds_waits(const struct derive *d);

/* Behind a loop: sums that were kept by lane are added up. 0, 1, 3. */
int derive_add_lanes(struct derive *d, int loop);

/* ---- derive_idle.c */

/* Conditions that turn from true to false as the loop goes on, or from false to true, and without which its turns
 * change nothing: at most DERIVE_MAX_MASKS. Returns how many; *status 3 out of memory. */
int derive_masks(struct derive *d, int loop, struct derive_mask *mask, int *status);

/* What the choices of the loop's arithmetic ask, at most DERIVE_MAX_MASKS conditions, and in idle[i] without which of
 * them a turn changes nothing. Returns how many; *status 3 out of memory. */
int derive_choices(struct derive *d, int loop, struct derive_mask *mask, bool *idle, int *status);

/* *turns: plan_some(node of plan.fused), turns behind which none changes anything; 0: not known, or not as many for all
 * blocks of a cluster. The loop's first value and step are in the Plan. 0 or 3. */
int derive_turns_possible(struct derive *d, int loop, int *turns);

/* *turns: so many from the first on that change nothing; 0 as above. */
int derive_turns_skipped(struct derive *d, int loop, int *turns);

/* Of the turns that the loop makes at most one needs its masks. Once derive_turns_inside was called. */
bool derive_one_masked(struct derive *d, int loop, int *status);

/* derive_down.c: turns go from the last to the first: as the kernel says; by default where the loop looks ahead and its
 * masks leave turns out and cut others (`masked`), as by a list, if the order does not matter. *status: 3. */
bool derive_goes_down(struct derive *d, int loop, bool masked, int *status);

/* ---- derive_produce.c: the producer's steps for the next stage of the ring. 0, 1, 3. */
int derive_produce(struct derive *d, int number, int shift);

/* ---- derive_limits.c */

/* Of a store whose tile ends where data say: what stands before it (it is left out where the tile has no rows), with
 * the rows' end in `store`; and, `store` NULL, behind it. Of others nothing. 0, 1, 3. */
int derive_limit(struct derive *d, int op, struct plan_step *store);

/* Of a load whose rows a dot sums up to a limit, and of runs of rows by number: their end in the step that fills, and
 * of the latter their numbers, wherever that is. 0, 1, 3. */
int derive_fill_end(struct derive *d, int op, int shift, struct plan_step *fill);

#endif
