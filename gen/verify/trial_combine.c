/* A loop's combine, which says what two parts of its turns make together, held against all turns one by one. */
#include "program/meaning/reference.h"
#include "verify/trial.h"

enum { PART = 8 }; /* of a meaning's work, the others' one of so many */

/* The first loop that has one; NULL: none does. */
static const struct program_op *combined(const struct program *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].kind == PROGRAM_LOOP && p->op[i].combine)
            return &p->op[i];
    return NULL;
}

static int differs(const struct trial *t, const struct program_op *loop, int i, int64_t e,
                   const struct trial_meaning *whole, const struct trial_meaning *halves, struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_INVALID,
                   "kernel '%s', line %d: combine of loop '%s' is not what its turns come to: element %lld of %s is "
                   "%.9g where each loop's two halves are combined, and %.9g within %.3g turn by turn",
                   t->request.unit->kernel->name, loop->loc.line, loop->name ? loop->name : "", (long long)e,
                   t->request.unit->plan.tensor[i].name, halves->value[i][e], whole->value[i][e],
                   halves->bound[i][e] + whole->bound[i][e]);
}

/* The first output in which both are apart and there the first element, or -1. */
static int apart(const struct trial *t, const struct trial_meaning *whole, const struct trial_meaning *halves,
                 int64_t *element)
{
    for (int i = 0; i < t->tensor_count; i++) {
        *element = t->tensor[i].reference ? trial_meanings_apart(t, i, whole, halves) : -1;
        if (*element >= 0)
            return i;
    }
    return -1;
}

/* A half rounds other numbers than all turns do, so that bounds have to hold whatever casts round: of the whole too, of
 * which that is asked where its own bounds are not enough. */
int trial_check_combine(const struct trial *t, const bool *down, const struct trial_meaning *whole,
                        struct tw_error *error)
{
    const struct program_op *loop = combined(trial_program(t));
    const struct trial_turns turns = {.down = down, .free_casts = PROGRAM_CASTS_FREE_IN_LOOPS, .part = PART},
                             in_halves = {
                                 .down = down, .halves = true, .free_casts = PROGRAM_CASTS_FREE_IN_LOOPS, .part = PART};
    struct trial_meaning halves = {0}, free = {0};
    int64_t e = -1;
    int output = -1, status = TW_OK;
    if (!loop)
        return TW_OK;
    status = trial_meaning_open(t, &halves, error);
    status = status ? status : trial_meaning(t, &in_halves, &halves, error);
    output = status == TW_OK ? apart(t, whole, &halves, &e) : -1;
    if (output >= 0) {
        status = trial_meaning_open(t, &free, error);
        status = status ? status : trial_meaning(t, &turns, &free, error);
        output = status == TW_OK ? apart(t, &free, &halves, &e) : -1;
        status = output >= 0 ? differs(t, loop, output, e, &free, &halves, error) : status;
    }
    trial_meaning_close(t, &halves);
    trial_meaning_close(t, &free);
    return status;
}
