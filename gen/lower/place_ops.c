#include "lower/place_ops.h"

#include <stdio.h>
#include <string.h>

/* Names of places, of the .def's columns, as numbers. */
enum {
#define PLAN_PLACE(id, name, doc) END_##id = PLAN_PLACE_##id,
#include "plan/plan_places.def"
#undef PLAN_PLACE
    END_GLOBAL = PLACE_END_GLOBAL,
    END_STAGE = PLACE_END_STAGE,
    END_BUFFER = PLACE_END_BUFFER,
    END_VALUE = PLACE_END_VALUE,
    END_MULTIPLY = PLACE_END_MULTIPLY,
};

const char *const place_end_word[PLACE_ENDS] = {
#define PLAN_PLACE(id, name, doc) [PLAN_PLACE_##id] = name,
#include "plan/plan_places.def"
#undef PLAN_PLACE
    [PLACE_END_GLOBAL] = "global memory",          [PLACE_END_STAGE] = "a stage",
    [PLACE_END_BUFFER] = "a buffer of stores",     [PLACE_END_VALUE] = "a value",
    [PLACE_END_MULTIPLY] = "a matrix instruction",
};

const struct place_op place_ops[] = {
#define PLACE_OP(text, step, call, from, to, block) {PLACE_TEXT_##text, PLAN_##step, call, END_##from, END_##to, block},
#include "lower/place_ops.def"
#undef PLACE_OP
    {PLACE_TEXT_NONE, PLAN_OP_COUNT, NULL, 0, 0, NULL},
};

enum place_text place_text_of(const struct plan *p)
{
    static const char *const name[PLACE_TEXTS] = {[PLACE_TEXT_DIRECT] = "program.direct.cu",
                                                  [PLACE_TEXT_COPY] = "program.copy.cu",
                                                  [PLACE_TEXT_SM_90A] = "program.sm_90a.cu",
                                                  [PLACE_TEXT_MMA_SYNC] = "program.mma_sync.cu"};
    for (int i = 0; i < PLACE_TEXTS && p->template_name && p->derived; i++)
        if (strcmp(p->template_name, name[i]) == 0)
            return (enum place_text)i;
    return PLACE_TEXT_NONE;
}

/* The kind of the place that a field of the step names. */
static int kind_of(const struct plan *p, int field, int otherwise)
{
    return field ? (int)p->place[plan_number(field)].kind : otherwise;
}

/* A reduction of what the place holds already. */
static bool is_own(const struct plan *p, const struct plan_step *s)
{
    const struct expr_node *n = s->node ? &p->fused.node[plan_number(s->node)] : NULL;
    return s->reduction && (!n || (n->op == EXPR_TILE && n->integer == plan_number(s->place)));
}

/* Which item is next, from a counter and through a ring: no value of the program. */
static bool is_of_items(const struct plan *p, const struct plan_step *s)
{
    bool passes = s->op == PLAN_READ || s->op == PLAN_WRITE;
    return (s->op == PLAN_GLOBAL && s->tensor < 0) || (passes && p->item_ring && s->ring == plan_number(p->item_ring));
}

bool place_ends(const struct plan *p, const struct plan_step *s, int *from, int *to)
{
    int place = kind_of(p, s->place, PLACE_END_VALUE);
    if (is_of_items(p, s))
        return false;
    switch (s->op) {
    case PLAN_FILL:
        *from = kind_of(p, s->place, PLACE_END_GLOBAL), *to = PLACE_END_STAGE;
        return true;
    case PLAN_READ:
        *from = PLACE_END_STAGE, *to = s->to ? PLACE_END_GLOBAL : s->place ? place : PLACE_END_MULTIPLY;
        return true;
    case PLAN_MMA:
        *from = kind_of(p, s->place2, PLACE_END_STAGE), *to = place;
        return true;
    case PLAN_TOUCH:
        *from = kind_of(p, s->window, is_own(p, s) ? place : PLACE_END_VALUE), *to = place;
        return true;
    case PLAN_GLOBAL:
        *from = s->place ? PLACE_END_GLOBAL : PLACE_END_VALUE, *to = s->place ? place : PLACE_END_GLOBAL;
        return true;
    case PLAN_WRITE: /* by threads of a producer, or of what holds the results */
        *from = p->ring[s->ring].filler == PLAN_FILL_ARRIVE ? PLACE_END_GLOBAL : place;
        *to = p->ring[s->ring].filler == PLAN_FILL_ARRIVE ? PLACE_END_STAGE : PLACE_END_BUFFER;
        return true;
    case PLAN_STORE:
        *from = PLACE_END_BUFFER, *to = PLACE_END_GLOBAL;
        return true;
    case PLAN_SCRATCH_WRITE:
        *from = kind_of(p, s->place2, PLACE_END_VALUE), *to = place;
        return true;
    case PLAN_SCRATCH_READ:
        *from = place, *to = kind_of(p, s->place2, PLACE_END_MULTIPLY);
        return true;
    default: /* waits, arrivals, fences, loops: of stages and executors, not of what lies in places */
        return false;
    }
}

static bool is_called(const char *call, const char *row)
{
    if (!call || !row)
        return !call && !row;
    size_t length = strlen(call), suffix = strlen(row);
    return strcmp(row, "*") == 0 || strcmp(call, row) == 0 ||
           (*row == '_' && length > suffix && strcmp(call + length - suffix, row) == 0);
}

const struct place_op *place_op_of(const struct plan *p, const struct plan_step *s)
{
    enum place_text text = place_text_of(p);
    int from, to;
    if (!place_ends(p, s, &from, &to))
        return NULL;
    for (const struct place_op *o = place_ops; o->block; o++)
        if (o->text == text && o->step == s->op && o->from == from && o->to == to && is_called(s->call, o->call))
            return o;
    return NULL;
}

const char *place_op_others(const struct plan *p, const struct plan_step *s, char *out, size_t size)
{
    enum place_text text = place_text_of(p);
    int from, to;
    size_t length = 0;
    snprintf(out, size, "nothing");
    place_ends(p, s, &from, &to);
    for (const struct place_op *o = place_ops; o->block && length < size; o++)
        if (o->text == text && o->step == s->op && o->from == from && is_called(s->call, o->call))
            length += (size_t)snprintf(out + length, size - length, "%s%s", length ? ", " : "", place_end_word[o->to]);
    return out;
}
