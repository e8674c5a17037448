/* The reference of a kernel that is a program: its meaning, checked against the spec's reference where there is one. */
#include <math.h>
#include <string.h>

#include "program/meaning/reference.h"
#include "verify/compare.h"
#include "verify/trial.h"

/* Elements and products that a reference in Lua may go through: of whole tiles, or of what in them is valid. */
#define MOST_FOR_LUA (INT64_C(1) << 23)
#define MOST_VALID_FOR_LUA (INT64_C(1) << 20)

/* Of some thousand elements that each are a sum of many roundings one is about so many times as far away as they are in
 * the mean. */
enum { FARTHEST = 4 };

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

int trial_program_fault(const struct compile *c, const char *kernel, const struct program_error *fault,
                        struct tw_error *error)
{
    const struct diag_loc loc = fault->loc;
    const char *file = loc.file >= 0 && loc.file < c->diags.source_count ? c->diags.source[loc.file].name : c->path;
    return tw_fail(error, TW_ERROR_INVALID, "%s:%d: kernel '%s': %s", file, loc.line, kernel, fault->text);
}

static bool is_near(double own, double want, double bound)
{
    return own == want || (isnan(want) && isnan(own)) || fabs(own - want) <= bound + 1e-12 * fabs(want);
}

/* The first element of output i that by hand is farther from the meaning than `slack` and its bound, which is that of
 * an element of the output's dtype: a number may be near as such, or as what it is stored as; -1. */
static int64_t far(const struct trial *t, int i, const double *own, const struct trial_meaning *m, double slack)
{
    enum tw_dtype dtype = t->request.unit->plan.tensor[i].dtype;
    unsigned char element[8];
    for (int64_t e = 0, count = shape_count(&t->tensor[i].shape); e < count; e++) {
        double want = m->value[i][e], bound = m->bound[i][e] + slack;
        if (!m->done[i][e] || is_near(own[e], want, bound))
            continue;
        tw_dtype_store(dtype, element, own[e]);
        if (!is_near(tw_dtype_load(dtype, element), want, bound))
            return e;
    }
    return -1;
}

static int too_far(const struct trial *t, int i, int64_t e, double own, double want, double bound,
                   struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_INVALID,
                   "kernel '%s': the reference says %.9g for element %lld of %s, the program means %.9g within %.3g",
                   t->request.unit->kernel->name, own, (long long)e, t->request.unit->plan.tensor[i].name, want, bound);
}

/* Output i of a program that rounds on its way to `narrow`, where by hand that may have been left out: each element
 * within the bound that holds both, and FARTHEST times as much more as rounding takes from a number of the output's
 * size, for inputs that are rounded there and by hand are not (tables of sines); and what all elements are away beyond
 * their bounds, together, within the norm that such rounding has. */
static int agree_free(const struct trial *t, int i, const double *own, const struct trial_meaning *free,
                      enum tw_dtype narrow, struct tw_error *error)
{
    double norm = 0.0, beyond = 0.0, most = compare_bound(narrow, 0.0);
    int64_t finite = 0, count = shape_count(&t->tensor[i].shape);
    for (int64_t e = 0; e < count; e++) {
        double want = free->value[i][e], away = own[e] - want;
        if (!free->done[i][e] || !isfinite(want))
            continue;
        finite++;
        norm += want * want;
        double more = isinf(free->bound[i][e]) ? fabs(away) : fmax(fabs(away) - free->bound[i][e], 0.0);
        beyond += more * more;
    }
    double slack = finite ? FARTHEST * most * sqrt(norm / (double)finite) : 0.0;
    int64_t e = far(t, i, own, free, slack);
    if (e >= 0)
        return too_far(t, i, e, own[e], free->value[i][e], free->bound[i][e] + slack, error);
    if (!(beyond > most * most * norm))
        return TW_OK;
    return tw_fail(error, TW_ERROR_INVALID,
                   "kernel '%s': the reference of %s is %.3g away from what the program means, at most %.3g are "
                   "right where it rounds to %s",
                   t->request.unit->kernel->name, t->request.unit->plan.tensor[i].name, sqrt(beyond / norm), most,
                   tw_dtype_name(narrow));
}

/* What by hand was written to all outputs: each element within its bound; or, of a program that rounds on its way, as
 * agree_free has it. */
static int agree(const struct trial *t, double *const *own, const struct trial_meaning *m, const bool *down,
                 struct tw_error *error)
{
    const struct trial_turns turns = {.down = down, .free_casts = PROGRAM_CASTS_FREE};
    enum tw_dtype narrow = program_narrowest_cast(trial_program(t));
    struct trial_meaning free = {0};
    int status = TW_OK;
    if (narrow != TW_FP32) {
        status = trial_meaning_open(t, &free, error);
        status = status ? status : trial_meaning(t, &turns, &free, error);
    }
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        int64_t e = own[i] && narrow == TW_FP32 ? far(t, i, own[i], m, 0.0) : -1;
        if (e >= 0)
            status = too_far(t, i, e, own[i][e], m->value[i][e], m->bound[i][e], error);
        else if (own[i] && narrow != TW_FP32)
            status = agree_free(t, i, own[i], &free, narrow, error);
    }
    trial_meaning_close(t, &free);
    return status;
}

static int check_by_hand(struct trial *t, const struct trial_meaning *meaning, const bool *down, struct tw_error *error)
{
    struct tw_runtime *rt = &t->request.compile->rt;
    double **own = tw_alloc_zeroed(rt, sizeof *own * (size_t)(t->tensor_count + 1));
    int status = own ? TW_OK : no_memory(error);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        if (!t->tensor[i].reference)
            continue;
        own[i] = tw_alloc_zeroed(rt, sizeof(double) * (size_t)(shape_count(&t->tensor[i].shape) + 1));
        status = own[i] ? TW_OK : no_memory(error);
    }
    if (status == TW_OK)
        status = trial_spec_reference(t, own, error);
    if (status == TW_OK)
        status = agree(t, own, meaning, down, error);
    for (int i = 0; i < t->tensor_count && own; i++)
        tw_free(rt, own[i]);
    tw_free(rt, own);
    return status;
}

void trial_loops_down(const struct plan *plan, bool *down)
{
    for (int i = 0; i < plan->loop_count; i++)
        if (plan->loop[i].first && plan->loop[i].operation)
            down[plan_number(plan->loop[i].operation)] = true;
}

void trial_loop_parts(const struct plan *plan, int *parts)
{
    for (int i = 0; i < plan->loop_count; i++)
        if (plan->loop[i].operation)
            parts[plan_number(plan->loop[i].operation)] = plan->loop[i].parts;
}

int trial_program_reference(struct trial *t, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    size_t count = (size_t)t->tensor_count + 1;
    struct trial_meaning own = {.value = tw_alloc_zeroed(rt, sizeof *own.value * count),
                                .bound = tw_alloc_zeroed(rt, sizeof *own.bound * count),
                                .done = tw_alloc_zeroed(rt, sizeof *own.done * count)};
    bool *down = tw_alloc_zeroed(rt, sizeof *down * (size_t)(trial_program(t)->op_count + 1));
    int *parts = tw_alloc_zeroed(rt, sizeof *parts * (size_t)(trial_program(t)->op_count + 1));
    enum { NO_FUNCTION = -2 }; /* LUA_NOREF */

    int status = own.value && own.bound && own.done && down && parts ? TW_OK : no_memory(error);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        own.value[i] = t->tensor[i].reference;
        own.bound[i] = t->tensor[i].bound;
        own.done[i] = t->tensor[i].done;
    }
    if (status == TW_OK) {
        trial_loops_down(&r->unit->plan, down); /* it rounds as the lowering does */
        trial_loop_parts(&r->unit->plan, parts);
        status = trial_meaning(t, &(struct trial_turns){.down = down, .parts = parts}, &own, error);
    }
    t->sampled = !own.all;
    if (status == TW_OK)
        status = trial_check_combine(t, down, &own, error);
    bool few = own.work <= MOST_FOR_LUA || (own.products && own.products <= MOST_VALID_FOR_LUA);
    if (status == TW_OK && own.all && few && r->unit->kernel->lua_reference != NO_FUNCTION)
        status = check_by_hand(t, &own, down, error);
    tw_free(rt, own.value);
    tw_free(rt, own.bound);
    tw_free(rt, own.done);
    tw_free(rt, down);
    tw_free(rt, parts);
    return status;
}
