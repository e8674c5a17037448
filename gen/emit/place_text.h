/* Helpers of templates whose threads hold tiles in a layout (plan_layout): the statements of one step, by level of the
 * loops over elements that the template writes around them.
 *
 *     level 0   once                               uniform: items, loops, dims, scalars, tiles of one element
 *     level 1   for each row of the thread         `row`, tiles of one column: s[i]
 *     level 2   for each vector                    `column`, its first column
 *     level 3   for each element of the vector     tiles with columns: w[j][e], x[i][j][e]
 *
 * place_step(n) takes the number of a step of the Plan's first role, from 1, and gives a table:
 *     at[l + 1]      the statements of level l, "" where there are none
 *     value          text of the step's node; value_level
 *     row, column    whether any of it names the thread's row or column
 *     whole          text of the vector, where the value is a tile that lies in vectors as in memory; whole_dtype
 *     inside         text of the condition; nil: everywhere; inside_level
 *     first, last    of a partial store: its columns are those from `first` up to `last`
 *     coordinate[d]  of the step's tensor, in memory order: { base, base_level, row, column, more }: base is the
 *                    text of what is neither the thread's row nor its column, "0" where that is all; row and column
 *                    say that they are added; more is a number to add, of a dim whose stride is fixed
 *
 * place_pairs(n) is of a step that sets pairs of fp16 (reads_pair): `at` of the levels 0 and 1, `pairs` the statements
 * for the word `word` of a vector, `value` its text, and `row`.
 *
 * place_uniform(prefix, node, ...) gives the texts of nodes of plan.fused that are the same in all threads, and in `at`
 * the statements before them, which declare PREFIX0, PREFIX1, ...
 */
#ifndef TW_GEN_EMIT_PLACE_TEXT_H
#define TW_GEN_EMIT_PLACE_TEXT_H

#include "emit/emit.h"
#include "emit/template/text.h"

/* What stands for a dim (by symbol of the Plan) in a kernel's text: "args.K", or the number that it is fixed to. NULL
 * out of memory. */
const char *symbol_text(const struct plan *p, int symbol, struct arena *arena);

/* Adds a scalar of the Plan as arithmetic reads it: "args.alpha", of a float type below fp32, which comes as a word,
 * "from_bf16(args.alpha)". */
void emit_scalar(const struct plan *p, int scalar, struct emit_text *out);

/* Their emit_helper.context, which lasts for one expansion. */
struct place_context {
    const struct plan *plan;
    const struct place_range *range; /* by node of plan->fused: its integers; NULL: nobody has asked yet */
};

int emit_place_step(lua_State *L);
int emit_place_uniform(lua_State *L);
int emit_place_pairs(lua_State *L);

#endif
