/* How the arithmetic of stores reads tensors: which elements are read beside their neighbours, and which only under a
 * condition.
 *
 * An element of a tensor whose indices count along the axes of the items, rows by `row` and columns by `column`, is
 * read with its neighbour along the fragment's columns, by NAME_read of blocks/tile_read.cuh. Outside of the tensor any
 * of its elements may stand for it: it is not stored.
 */
#ifndef TW_GEN_EMIT_FRAGMENT_READS_H
#define TW_GEN_EMIT_FRAGMENT_READS_H

#include "emit/emit.h"

/* The dim of the tensor that the fragment's columns run along, where the node is such an element; -1: it is not. */
int fragment_read_columns(const struct plan *p, int node);

/* guard[node], by node of plan.fused: the condition, the same in all threads, under which alone `root` needs the node;
 * FRAGMENT_ALWAYS; FRAGMENT_NEVER. */
enum { FRAGMENT_ALWAYS = -1, FRAGMENT_NEVER = -2 };
void fragment_guards(const struct plan *p, int root, int *guard);

/* The arithmetic is more than moves and a scale: its text had better stand once. */
bool fragment_is_long(const struct plan *p, int root);

/* The one place of a fragment that the root reads, where it reads no other and no values of rows; -1. */
int fragment_only_place(const struct plan *p, int root);

/* The step stores a tile straight from registers, an element and its neighbour at a time. */
bool fragment_stores_pairs(const struct plan *p, const struct plan_step *step);

/* fragment_reads(NAME) of a tensor: a table with `pairs`, that some store reads it by NAME_read, `columns`, the dim as
 * above from 1, and `elements`, that something reads it by NAME_at. Its context is the struct plan. */
int emit_fragment_reads(lua_State *L);

#endif
