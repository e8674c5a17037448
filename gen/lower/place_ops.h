/* Places and what each step does on them: one closed table for each text that emits derived steps. */
#ifndef TW_GEN_LOWER_PLACE_OPS_H
#define TW_GEN_LOWER_PLACE_OPS_H

#include "plan/plan.h"

enum place_text {
    PLACE_TEXT_DIRECT,
    PLACE_TEXT_COPY,
    PLACE_TEXT_SM_90A,
    PLACE_TEXT_MMA_SYNC,
    PLACE_TEXTS,
    PLACE_TEXT_NONE = -1
};

/* Where a step takes from and gives to: a kind of plan_places.def, or one of these. */
enum place_end {
    PLACE_END_GLOBAL = PLAN_PLACE_COUNT,
    PLACE_END_STAGE,
    PLACE_END_BUFFER,
    PLACE_END_VALUE,
    PLACE_END_MULTIPLY,
    PLACE_ENDS
};
extern const char *const place_end_word[PLACE_ENDS];

/* A row of place_ops.def. */
struct place_op {
    enum place_text text;
    enum plan_op step;
    const char *call;
    int from, to; /* enum place_end, or enum plan_place_kind */
    const char *block;
};
extern const struct place_op place_ops[]; /* ends with block == NULL */

/* The text that emits the Plan's steps; PLACE_TEXT_NONE: a template of another kind. */
enum place_text place_text_of(const struct plan *p);

/* Whether a step moves or computes anything between places; *from and *to receive where. */
bool place_ends(const struct plan *p, const struct plan_step *step, int *from, int *to);

/* The row of a step of the Plan; NULL: it has none and needs none, or, where place_ends says that it does, none that
 * the text could emit. */
const struct place_op *place_op_of(const struct plan *p, const struct plan_step *step);

/* The places that the text reaches from there by such a step, as words: "rows, columns"; "nothing". */
const char *place_op_others(const struct plan *p, const struct plan_step *step, char *text, size_t size);

#endif
