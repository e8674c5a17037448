/* What blocks declare: operations, and the functions that have them. */
#include <string.h>

#include "emit/record/record_internal.h"

/* ---- functions of blocks --------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *needs, *may;
    enum plan_op op;
} effects[] = {
#define EFFECT(id, needs, may) {NULL, needs, may, PLAN_##id},
#include "emit/record/effects.def"
#undef EFFECT
};
enum { EFFECT_COUNT = sizeof effects / sizeof *effects };

int record_function(const struct recorder *r, const struct cuda_token *token)
{
    for (int i = 0; token->kind == CUDA_WORD && i < r->function_count; i++)
        if (r->function[i].length == token->length &&
            memcmp(r->function[i].name, token->text, (size_t)token->length) == 0)
            return i;
    return -1;
}

static int find_tensor(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensor[i].name, name) == 0)
            return i;
    return -1;
}

/* The ring of that name, or the one that holds the tensor; -1 where there is none, -2 where there are several. */
static int find_ring(const struct plan *p, const char *name, int tensor)
{
    int found = -1;
    for (int i = 0; i < p->ring_count; i++) {
        bool is = name && strcmp(p->ring[i].name, name) == 0;
        for (int t = 0; !name && t < p->ring[i].tensor_count; t++)
            is = is || p->ring[i].tensor[t] == tensor;
        if (is)
            found = found == -1 ? i : -2;
    }
    return found;
}

/* The number that a BARRIER step gives: of the Plan's barriers, or behind them of those that blocks declare. */
static int find_barrier(struct recorder *r, const struct record_operation *o)
{
    const struct plan *p = r->plan;
    for (int i = 0; i < p->barrier_count; i++)
        if (o->barrier ? strcmp(p->barrier[i].name, o->barrier) == 0 : p->barrier[i].id == o->id.value)
            return i;
    for (int i = 0; i < r->barrier_count && !o->barrier; i++)
        if (r->barrier[i].id == o->id.value)
            return r->barrier[i].threads == o->threads.value ? p->barrier_count + i : -2;
    if (o->barrier)
        return -1;
    struct plan_barrier *grown = arena_grow(r->arena, r->barrier, r->barrier_count, sizeof *grown);
    const char *name = arena_format(r->arena, "barrier_%d", o->id.value);
    if (!grown || !name) {
        r->no_memory = true;
        return -1;
    }
    r->barrier = grown;
    r->barrier[r->barrier_count++] =
        (struct plan_barrier){.name = name, .id = o->id.value, .threads = o->threads.value};
    return p->barrier_count + r->barrier_count - 1;
}

/* The field that the operation lacks, or has and does not take; NULL: none. */
static const char *misplaced(const struct record_operation *o, const char *needs, const char *may, bool *lacks)
{
    const struct {
        char letter;
        bool set;
        const char *name;
    } field[] = {
        {'R', o->ring, "ring"},           {'T', o->tensor, "tensor"},   {'C', o->count.set, "count"},
        {'P', o->phase.set, "phase"},     {'B', o->barrier, "barrier"}, {'I', o->id.set, "id"},
        {'I', o->threads.set, "threads"},
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        *lacks = strchr(needs, field[i].letter) != NULL && !field[i].set;
        if (*lacks || (field[i].set && !strchr(needs, field[i].letter) && !strchr(may, field[i].letter)))
            return field[i].name;
    }
    return NULL;
}

static bool op_fault(struct recorder *r, struct record_place at, const struct record_operation *o)
{
    const char *known[EFFECT_COUNT + 5] = {"part", "meet", "turns", "advance"};
    for (int i = 0; i < EFFECT_COUNT; i++)
        known[i + 4] = plan_op_word[effects[i].op];
    const char *near = diag_suggest(o->word, known);
    return RECORD_FAULT(r, at, record_column(at, o->word, (int)strlen(o->word)), "TEMPLATE-OP",
                        "'%s' is no operation of a block%s%s%s", o->word, near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
}

/* The step of an operation. False: reported. */
static bool make_step(struct recorder *r, struct record_place at, const struct record_operation *o,
                      struct plan_step *step)
{
    int e = 0;
    while (e < EFFECT_COUNT && strcmp(plan_op_word[effects[e].op], o->word) != 0)
        e++;
    if (e == EFFECT_COUNT)
        return op_fault(r, at, o);
    bool lacks;
    const char *field = misplaced(o, effects[e].needs, effects[e].may, &lacks);
    if (field)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", lacks ? "%s needs %s = ..." : "%s takes no %s", o->word, field);
    *step = (struct plan_step){.op = effects[e].op, .ring = -1, .tensor = -1};
    if (o->tensor && (step->tensor = find_tensor(r->plan, o->tensor)) < 0)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "the Plan has no tensor '%s'", o->tensor);
    bool in_ring = strchr(effects[e].needs, 'R') || strchr(effects[e].may, 'R');
    if (in_ring && (step->ring = find_ring(r->plan, o->ring, step->tensor)) < 0)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP",
                            step->ring == -2 ? "several rings hold '%s'; write ring = ..."
                            : o->ring        ? "the Plan has no ring '%s'"
                                             : "no ring of the Plan holds '%s'",
                            o->ring ? o->ring : o->tensor);
    step->count = o->count.value;
    step->phase = o->phase.value;
    if (step->op != PLAN_BARRIER)
        return true;
    if (!o->barrier && !(o->id.set && o->threads.set))
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "barrier needs barrier = NAME, or id = ... and threads = ...");
    step->count = find_barrier(r, o);
    if (step->count < 0 && !r->no_memory)
        return step->count == -1
                   ? RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "the Plan has no barrier '%s'", o->barrier)
                   : RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "barrier %d was declared with other threads than %d",
                                  o->id.value, o->threads.value);
    return !r->no_memory;
}

bool record_op(struct recorder *r, struct record_place at, const struct record_operation *o)
{
    static const char *const word[] = {"", "part", "meet", "turns", "advance"};
    if (at.template == r->top)
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "only a block declares operations; include one that has '%s'",
                            o->word);
    enum function_kind kind = FUNCTION_ADVANCE;
    while (kind != FUNCTION_STEPS && strcmp(word[kind], o->word) != 0)
        kind--;
    struct plan_step step = {.tensor = -1};
    if (kind == FUNCTION_STEPS && !make_step(r, at, o, &step))
        return false;
    if (kind == FUNCTION_ADVANCE && (!o->ring || (step.ring = find_ring(r->plan, o->ring, -1)) < 0))
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "advance needs ring = ..., a ring of the Plan");
    if (r->declared < 0) {
        struct function *grown = arena_grow(r->arena, r->function, r->function_count, sizeof *grown);
        if (!grown)
            return !(r->no_memory = true);
        r->function = grown;
        r->declared = r->function_count++;
        r->function[r->declared] = (struct function){.kind = kind, .one = o->one, .at = at, .position = -1};
    }
    struct function *f = &r->function[r->declared];
    if (f->kind != kind || f->one != o->one || (kind != FUNCTION_STEPS && f->at.line != at.line))
        return RECORD_FAULT(r, at, -1, "TEMPLATE-OP", "the lines of one function do not agree");
    if (kind != FUNCTION_STEPS && kind != FUNCTION_ADVANCE)
        return true;
    struct plan_step *grown = arena_grow(r->arena, f->step, f->step_count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    f->step = grown;
    f->step[f->step_count++] = step;
    return true;
}

/* ---- text outside of kernels ----------------------------------------------------------------------------------- */

/* What the declaration before a { of the file's level is, and the name of a function. */
static enum frame_kind declaration(const struct statement *s, const char **name)
{
    static const char *const type[] = {"struct", "class", "union", "enum", "namespace", "extern", "=", NULL};
    bool kernel = false, holds = false;
    int depth = 0;
    *name = NULL;
    for (int i = 0; i < s->count; i++) {
        const struct cuda_token *t = &s->piece[i].token;
        kernel = kernel || cuda_is(t, "__global__");
        holds = holds || (depth == 0 && cuda_is_one(t, type));
        depth += cuda_is(t, "(") - cuda_is(t, ")");
        if (!*name && i + 1 < s->count && t->kind == CUDA_WORD && cuda_is(&s->piece[i + 1].token, "(") &&
            !cuda_is(t, "__launch_bounds__") && !cuda_is(t, "__align__") && !cuda_is(t, "alignas") &&
            !cuda_is(t, "__attribute__"))
            *name = t->text;
    }
    return kernel ? FRAME_KERNEL : *name && !holds ? FRAME_FUNCTION : FRAME_TYPE;
}

/* Which of a function's parameters is a position in the ring of its steps, or its stage where the ring has positions:
 * `x_position p`, `x_position &p`, `u32 stage`. */
static void find_position(const struct recorder *r, const struct statement *s, struct function *f)
{
    const struct plan *p = r->plan;
    int ring = f->step_count ? f->step[0].ring : -1, parameter = 0, depth = 0;
    if (ring < 0 || p->ring[ring].filler != PLAN_FILL_BULK)
        return;
    size_t length = strlen(p->ring[ring].name);
    for (int i = 0; i < s->count; i++) {
        const struct cuda_token *t = &s->piece[i].token, *next = i + 1 < s->count ? &s->piece[i + 1].token : NULL;
        depth += cuda_is(t, "(") - cuda_is(t, ")");
        parameter += depth == 1 && cuda_is(t, ",");
        bool position = t->kind == CUDA_WORD && strncmp(t->text, p->ring[ring].name, length) == 0 &&
                        strcmp(t->text + length, "_position") == 0;
        if (depth != 1 || f->position >= 0 || !(position || cuda_is(t, "stage")))
            continue;
        f->position = parameter;
        f->moves = position && next && cuda_is(next, "&");
    }
}

/* The { behind a declaration. The function that op lines stand before is this one. */
static bool open_declaration(struct recorder *r, const struct piece *brace)
{
    const char *name;
    enum frame_kind kind = declaration(&r->statement, &name);
    struct frame frame = {.kind = kind, .at = brace->at, .function = -1, .word = name};
    if (r->declared >= 0) {
        struct function *f = &r->function[r->declared];
        if (kind != FRAME_FUNCTION)
            return RECORD_FAULT(r, f->at, -1, "TEMPLATE-OP", "no function follows //@ op");
        for (int i = 0; i < r->function_count; i++)
            if (r->function[i].name && strcmp(r->function[i].name, name) == 0)
                return RECORD_FAULT(r, f->at, -1, "TEMPLATE-OP", "'%s' is defined twice", name);
        for (int i = 0; i < r->word_count; i++)
            if (strcmp(r->word[i], name) == 0)
                return RECORD_FAULT(r, f->at, -1, "TEMPLATE-GUARD",
                                    "the template names '%s', an operation, before it includes this block, and the "
                                    "proof did not see who calls it; include it first",
                                    name);
        f->name = name;
        f->length = (int)strlen(name);
        for (int i = 0; i < f->step_count; i++)
            f->step[i].call = name;
        find_position(r, &r->statement, f);
        frame.function = r->declared;
        r->declared = -1;
    }
    r->statement.count = r->statement.nested = 0;
    return record_push(r, frame) != NULL;
}

/* A token of the file's level. */
bool record_file_token(struct recorder *r, const struct piece *piece)
{
    const struct cuda_token *t = &piece->token;
    struct statement *s = &r->statement;
    if (s->nested == 0 && cuda_is(t, "{"))
        return open_declaration(r, piece);
    s->nested += cuda_is(t, "(") - cuda_is(t, ")");
    if (s->nested <= 0 && (cuda_is(t, ";") || cuda_is(t, "}"))) {
        s->count = s->nested = 0;
        return true;
    }
    struct piece *grown = arena_grow(r->arena, s->piece, s->count, sizeof *grown);
    if (!grown)
        return !(r->no_memory = true);
    s->piece = grown;
    s->piece[s->count++] = *piece;
    return piece->at.template != r->top || record_other_token(r, piece);
}
