/* The steps of one operation of the program: `op` is its number. Each returns 0, 1 or 3. */
#ifndef TW_GEN_LOWER_DERIVE_OPS_H
#define TW_GEN_LOWER_DERIVE_OPS_H

#include "lower/derive/derive.h"

/* Of a dot: its computed first operand, rounded, into registers. */
int derive_pack(struct derive *d, int op);

/* A step of taking turns; `only`: plan_some(consumer) that alone makes it, or PLAN_NEXT; 0: all. None without turns. */
int derive_pass_on(struct derive *d, enum plan_op op, int only, const char *why);

/* Of a dot whose operands are there: the reads and the instruction, as one group. shift: as derive_take has it. */
int derive_issue(struct derive *d, int op, enum plan_start start, int shift);

/* Of a dot whose operands are there: what it adds to, then the dot. */
int derive_finish_dot(struct derive *d, int op);

int derive_dot_steps(struct derive *d, int op);
int derive_reduce(struct derive *d, int op);
int derive_store(struct derive *d, int op);

/* A chunk through a buffer to memory: what `write` writes, behind the wait for the buffer, then `store`; and the end
 * of the loop or condition around it. */
int derive_chunk(struct derive *d, int op, struct plan_step write, struct plan_step store);

/* 1 where fp32 cannot hold the node, which is computed from sums of integers, as is told; else 0 or 3. */
int derive_refuse_whole(struct derive *d, int op, int node);

/* What a turn or a part gives becomes the carried values of those leaves, each at its home. 0, 1, 3. */
int derive_carry(struct derive *d, int op, const int *value, const int *leaf, int count);

/* ---- derive_late.c: nothing where no store is late. Each returns 0, 1 or 3. */

int derive_late_turn(struct derive *d, int loop); /* at the end of a turn: a chunk of each that is held */
int derive_late_left(struct derive *d, int loop); /* behind its turns, or (-1) the last item: what is held still */
/* Behind an item: the results of the STORE, `chunks` of them, and where they belong. next: the steps, `count` of them,
 * that read for the chunk behind another one. */
int derive_late_pack(struct derive *d, int op, int expression, int chunks, const struct plan_step *next, int count);

/* ---- derive_zero.c. Each returns 0, 1 or 3. */

/* Zeros before the first item, where sums begin from zero without them: those of a loop without turns are never left
 * to what the hardware began with. */
int derive_zeros_before_items(struct derive *d);

int derive_first_values(struct derive *d, int loop); /* into their places, but for such sums */

/* Those sums, where the loop makes no turn for this item but may have made some for the one before. count: plan_some
 * (node), its turns. */
int derive_zeros_without_turns(struct derive *d, int loop, const char *name, int count);

/* ---- derive_items.c: items from a counter; nothing where their order is static. Each returns 0 or 3. */

int derive_next_item(struct derive *d, bool first); /* the item of the next turn, by all roles */
int derive_take_item(struct derive *d);             /* the producer asks for the number behind it */
int derive_end_items(struct derive *d);

/* ---- derive_parts.c: nothing where no loop is split. Each returns 0 or 3. */

int derive_add_parts(struct derive *d, int op); /* of the RESULT */
int derive_end_last(struct derive *d);          /* at an item's end */
int derive_drain_parts(struct derive *d);       /* at the end */

#endif
