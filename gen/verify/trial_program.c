/* The reference of a kernel that is a program: its meaning, checked against the spec's reference where there is one. */
#include <math.h>
#include <string.h>

#include "program/meaning/reference.h"
#include "verify/compare.h"
#include "verify/trial.h"

/* Elements and products that a reference in Lua may go through. */
#define MOST_FOR_LUA (INT64_C(1) << 23)

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

/* What by hand was written to output i: within the bounds, where the program rounds as the reference does; else as far
 * away at most as a result of the narrowest dtype that it rounds to may be. */
static int agree(const struct trial *t, int i, const double *own, struct tw_error *error)
{
    const struct trial_tensor *out = &t->tensor[i];
    const struct program *p = trial_program(t);
    const char *name = t->request.unit->plan.tensor[i].name;
    enum tw_dtype narrow = program_narrowest_cast(p);
    double difference = 0.0, norm = 0.0, most = compare_bound(narrow, 0.0);
    for (int64_t e = 0; e < shape_count(&out->shape); e++) {
        double want = out->reference[e], slack = out->bound[e] + 1e-12 * fabs(want);
        bool same = (isnan(want) && isnan(own[e])) || own[e] == want || fabs(own[e] - want) <= slack;
        if (!out->done[e])
            continue;
        if (!same && (narrow == TW_FP32 || !isfinite(want) || !isfinite(own[e])))
            return tw_fail(error, TW_ERROR_INVALID,
                           "kernel '%s': the reference says %.9g for element %lld of %s, the program means %.9g within "
                           "%.3g",
                           t->request.unit->kernel->name, own[e], (long long)e, name, want, out->bound[e]);
        if (isfinite(want)) {
            difference += (own[e] - want) * (own[e] - want);
            norm += want * want;
        }
    }
    if (difference > most * most * norm)
        return tw_fail(error, TW_ERROR_INVALID,
                       "kernel '%s': the reference of %s is %.3g away from what the program means, at most %.3g are "
                       "right where it rounds to %s",
                       t->request.unit->kernel->name, name, sqrt(difference / norm), most, tw_dtype_name(narrow));
    return TW_OK;
}

static int check_by_hand(struct trial *t, struct tw_error *error)
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
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        if (own[i])
            status = agree(t, i, own[i], error);
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

int trial_program_reference(struct trial *t, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    size_t count = (size_t)t->tensor_count + 1;
    struct trial_meaning own = {.value = tw_alloc_zeroed(rt, sizeof *own.value * count),
                                .bound = tw_alloc_zeroed(rt, sizeof *own.bound * count),
                                .done = tw_alloc_zeroed(rt, sizeof *own.done * count)};
    bool *down = tw_alloc_zeroed(rt, sizeof *down * (size_t)(trial_program(t)->op_count + 1));
    enum { NO_FUNCTION = -2 }; /* LUA_NOREF */

    int status = own.value && own.bound && own.done && down ? TW_OK : no_memory(error);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        own.value[i] = t->tensor[i].reference;
        own.bound[i] = t->tensor[i].bound;
        own.done[i] = t->tensor[i].done;
    }
    if (status == TW_OK) {
        trial_loops_down(&r->unit->plan, down); /* it rounds as the lowering does */
        status = trial_meaning(t, &(struct trial_turns){.down = down}, &own, error);
    }
    t->sampled = !own.all;
    if (status == TW_OK)
        status = trial_check_combine(t, down, &own, error);
    if (status == TW_OK && own.all && r->unit->kernel->lua_reference != NO_FUNCTION && own.work <= MOST_FOR_LUA)
        status = check_by_hand(t, error);
    tw_free(rt, own.value);
    tw_free(rt, own.bound);
    tw_free(rt, own.done);
    tw_free(rt, down);
    return status;
}
