/* What the emitted text of a tensor's reads is asked for. */
#ifndef TW_GEN_EMIT_FRAGMENT_READS_H
#define TW_GEN_EMIT_FRAGMENT_READS_H

#include "emit/emit.h"

/* The step reads elements of tensors for a store, a chunk of it ahead. */
bool fragment_reads_ahead(const struct plan_step *step);

/* The step packs a chunk of what a store will send off late. */
bool fragment_packs(const struct plan *p, const struct plan_step *step);

/* The step stores a tile straight from registers, an element and its neighbour at a time. */
bool fragment_stores_pairs(const struct plan *p, const struct plan_step *step);

/* fragment_reads(NAME) of a tensor: a table with `pairs`, that some store reads it by NAME_read, `columns`, the dim
 * that the fragment's columns run along, from 1, `elements`, that something reads it by NAME_at, and `lines`, by
 * NAME_line_at. Its context is the struct plan. */
int emit_fragment_reads(lua_State *L);

#endif
