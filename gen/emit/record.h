/* The recorder: what the emitted text calls inside `//@ role`, compared with the order that the Plan's protocol check
 * has proved.
 *
 * It sees the text as emitted, holes filled and blocks included, and notes each call NAME( of a block function that
 * any role's step names, outside of comments, literals and preprocessor lines, and the beginning and end of each
 * `//@ loop`. Other calls and other loops are no concern of the protocol.
 *
 * Against it stand the role's steps in the Plan: LOOP and END by the loop's name; every other step by its call. A step
 * without a call is done by a neighbour's and counts for nothing. Steps of one call that follow each other, those
 * without a call left out, are one call: `ab_load` that fills both A and B. In the text each call counts.
 *
 * The first difference of a role is an error [TEMPLATE-ORDER] that names role, step (its position in plan.role.step,
 * from 1), ring and stage (a number where it is the same in every pass), what the Plan orders, and what the template
 * has, at the template's line.
 */
#ifndef TW_GEN_EMIT_RECORD_H
#define TW_GEN_EMIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "emit/template.h"
#include "plan/plan.h"
#include "spec/arena.h"
#include "spec/diag.h"

/* Where in which template; line from 0. */
struct record_place {
    struct template *template;
    int line;
};

struct recorder;

/* NULL out of memory. */
struct recorder *record_open(const struct plan *plan, struct arena *arena, struct diag_set *diags);

/* The directives. False: the fault was reported. */
bool record_role(struct recorder *r, struct record_place at, const char *name, int column);
bool record_endrole(struct recorder *r, struct record_place at);
bool record_loop(struct recorder *r, struct record_place at, const char *name);

/* One emitted line, in order. False: the fault was reported. */
bool record_text(struct recorder *r, struct record_place at, const char *text, size_t length);

/* Compares every role. `top` is the template that was expanded. Returns the number of faults, -1 out of memory. */
int record_finish(struct recorder *r, struct template *top);

#endif
