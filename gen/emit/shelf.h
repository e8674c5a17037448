/* Engines for several expansions: one that has expanded a template of the program, with all that it includes, may
 * expand it again for another model, or another one that includes the same; one for each thread that does so at the
 * same time. Expansions with a shelf also take the program's own templates as they were prepared when it was built. */
#ifndef TW_GEN_EMIT_SHELF_H
#define TW_GEN_EMIT_SHELF_H

#include <stdbool.h>

#include "spec/arena.h"

struct emit_model;
struct emit_options;
struct engine;
struct shelf;

/* NULL out of memory. Threads may share a shelf; nothing that uses it may outlive it. */
struct shelf *shelf_open(const struct memory *memory);
void shelf_close(struct shelf *shelf); /* NULL is fine */

/* An engine for such a model with such helpers, the caller's alone from now on; NULL: there is none. shelf_give_engine
 * puts one there after an expansion without faults; false: it is not for others, and the caller's still. */
struct engine *shelf_take_engine(struct shelf *shelf, const struct emit_model *model,
                                 const struct emit_options *options);
bool shelf_give_engine(struct shelf *shelf, struct engine *engine);

#endif
