/* Templates that were read and compiled once, for several expansions: of a kernel's entry points most lines are the
 * same. Only templates that are part of the program, and without faults, which depend on no spec. */
#ifndef TW_GEN_EMIT_TEMPLATE_SHELF_H
#define TW_GEN_EMIT_TEMPLATE_SHELF_H

#include "emit/template/template.h"
#include "spec/arena.h"

struct shelf;

/* NULL out of memory. Threads may share a shelf; nothing that uses it may outlive it. */
struct shelf *shelf_open(const struct memory *memory);
void shelf_close(struct shelf *shelf); /* NULL is fine */

/* Fills t, whose name, shown, text and length are set, with what template_parse makes of it where nothing is wrong with
 * it; its lines are the caller's own, from `arena`. 1: done; 0: template_parse must do it, and tell the faults; -1 out
 * of memory. */
int shelf_parse(struct shelf *shelf, struct template *t, const struct template_names *names, struct arena *arena);

/* The compiled Lua text of a template that shelf_parse filled, as source number `source` of a sandbox; NULL: not there
 * yet. shelf_keep puts it there; out of memory it does not. */
const char *shelf_code(struct shelf *shelf, const struct template *t, int source, size_t *length);
void shelf_keep(struct shelf *shelf, const struct template *t, int source, const char *code, size_t length);

#endif
