/* Templates that were read and compiled once, for several expansions: of a kernel's entry points most lines are the
 * same. Only templates that are part of the program, which tests hold to be without faults. And whole engines that
 * have expanded such a template, with all that it includes, and may expand it again for another model: one for each
 * thread that does so at the same time. */
#ifndef TW_GEN_EMIT_SHELF_H
#define TW_GEN_EMIT_SHELF_H

#include "emit/template/template.h"
#include "spec/arena.h"

struct emit_model;
struct emit_options;
struct engine;
struct shelf;

/* NULL out of memory. Threads may share a shelf; nothing that uses it may outlive it. */
struct shelf *shelf_open(const struct memory *memory);
void shelf_close(struct shelf *shelf); /* NULL is fine */

/* Fills t, whose name, shown, text and length are set, with what template_parse makes of it where nothing is wrong with
 * it; its source is a number from SANDBOX_OWN on that no other has. 1: done; 0: template_parse must do it, and tell the
 * faults. */
int shelf_parse(struct shelf *shelf, struct template *t, const struct template_names *names);

/* The compiled Lua text of a template that shelf_parse filled; NULL: not there yet. shelf_keep puts it there; out of
 * memory it does not. */
const char *shelf_code(struct shelf *shelf, const struct template *t, size_t *length);
void shelf_keep(struct shelf *shelf, const struct template *t, const char *code, size_t length);

/* An engine that has expanded the template for such a model with such helpers, the caller's alone from now on; NULL:
 * there is none. shelf_give_engine puts one there after an expansion without faults; false: it is not for others, and
 * the caller's still. */
struct engine *shelf_take_engine(struct shelf *shelf, const char *template_name, const struct emit_model *model,
                                 const struct emit_options *options);
bool shelf_give_engine(struct shelf *shelf, struct engine *engine);

#endif
