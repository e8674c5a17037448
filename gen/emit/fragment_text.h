/* Helpers of templates whose warpgroups hold tiles as fragments, in the layout of wgmma's results: the statements of
 * one step, by level of the loops that the template writes around them.
 *
 *     level 0   once                        uniform: items, loops, dims, scalars
 *     level 1   for each row of the thread  `row`, and values of rows: m[block][half]
 *     level 2   for each element            `column`, and fragments: s[block][pair * 4 + half * 2 + lane]
 *
 * fragment_step(role, n [, part]) takes the role's name and the number of one of its steps, from 1, and gives a table,
 * of a GLOBAL step for its "value" or its "place" alone where part says so: at[l + 1]   the statements of level l, ""
 * where there are none value       the text of the step's node inside      that of the condition under which it is
 * stored; nil: everywhere coordinate[d]  of a GLOBAL step's element, in memory order row, column whether the texts name
 * `row` or `column`      sums: the names of the accumulators that it reads
 *
 * Leaves of plan.fused that have a meaning of their own here: ACC, the first column of the thread, and INDEX, the
 * element's column counted from it, which is a constant in the unrolled loops.
 *
 * fragment_uniform(prefix, node, ...) gives the texts of nodes of plan.fused that are the same in all threads, and in
 * `at` the statements before them, which declare PREFIX0, PREFIX1, ...; `fixed` where they are the same for every item.
 * Where nodes differ from row to row, `rows` has the statements that name `row`.
 *
 * fragment_item(role) gives the integers in memory that are one for an item: words of its list of turns, and elements
 * of tensors that say how often a loop of the role turns and that at least three of its steps ask for. `at`: statements
 * before them, and by number `name`, of an int that the template declares at the beginning of each item, and `value`.
 * From then on its name is the text of such a node, until fragment_item() says that there are none: it is read once,
 * and the compiler knows that arithmetic on it, which is long, is the same wherever it stands.
 *
 * fragment_sends_line(role, n): fragment_sends_line of that step.
 *
 * fragment_foretold(): a condition asks an element's column alone, so that a compiler may know for a whole register of
 * a fragment that nobody reads it.
 */
#ifndef TW_GEN_EMIT_FRAGMENT_TEXT_H
#define TW_GEN_EMIT_FRAGMENT_TEXT_H

#include <stdbool.h>

#include "emit/emit.h"

/* By node of plan->fused: an integer that fits 32 bits. NULL out of memory. */
const bool *fragment_narrow(const struct plan *p, struct arena *arena);

/* The element, of a tensor of int32, has a place of 32 bits in its last dim that goes by the column, and all others go
 * by the row at most: it is read by NAME_line_at of blocks/element_line.cuh. narrow: fragment_narrow's. */
bool fragment_is_line(const struct plan *p, int node, const bool *narrow);

/* The step reads such elements so: it computes in registers, as masks do, and stores nothing. */
bool fragment_takes_lines(const struct plan_step *step);

/* The step sends elements of a tensor of fp32 into a stage, whose places in all dims but the last are the item's: where
 * they begin is found once for it. They are read by NAME_line_at. */
bool fragment_sends_line(const struct plan *p, const struct plan_step *step, const bool *narrow);

/* Their emit_helper.context, which lasts for one expansion. */
struct fragment_context {
    const struct plan *plan;
    const bool *narrow; /* by node of plan->fused: an integer that fits 32 bits; NULL: nobody has asked yet */
    const char **item;  /* by node of plan->fused: the name that the template has given it for an item; NULL: none */
};

int emit_fragment_step(lua_State *L);
int emit_fragment_uniform(lua_State *L);
int emit_fragment_item(lua_State *L);
int emit_fragment_foretold(lua_State *L);
int emit_fragment_sends_line(lua_State *L);

#endif
