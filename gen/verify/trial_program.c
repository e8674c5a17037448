/* The reference of a kernel that is a program: its meaning, checked against the spec's reference where there is one. */
#include <math.h>
#include <string.h>

#include "common/parallel.h"
#include "program/meaning/reference.h"
#include "verify/compare.h"
#include "verify/trial.h"

/* Elements and products: some seconds of one processor; and what a reference in Lua may go through. */
#define MOST_WORK (INT64_C(1) << 30)
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

/* The program that the architecture has: its tile decides what is rounded on the way. */
static const struct program *program_of(const struct trial *t)
{
    return spec_program(t->request.unit->kernel, t->request.unit->plan.arch);
}

/* What by hand was written to output i: within the bounds, where the program rounds as the reference does; else as far
 * away at most as a result of the narrowest dtype that it rounds to may be. */
static int agree(const struct trial *t, int i, const double *own, struct tw_error *error)
{
    const struct trial_tensor *out = &t->tensor[i];
    const struct program *p = program_of(t);
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
    const struct spec_kernel *k = r->unit->kernel;
    struct tw_runtime *rt = &r->compile->rt;
    size_t count = (size_t)t->tensor_count + 1;
    struct program_tensor *tensor = tw_alloc_zeroed(rt, sizeof *tensor * count);
    double **out = tw_alloc_zeroed(rt, sizeof *out * count), **bound = tw_alloc_zeroed(rt, sizeof *bound * count);
    unsigned char **done = tw_alloc_zeroed(rt, sizeof *done * count);
    bool *down = tw_alloc_zeroed(rt, sizeof *down * (size_t)(program_of(t)->op_count + 1));
    int64_t work = 0;
    bool all = true;
    enum { NO_FUNCTION = -2 }; /* LUA_NOREF */

    int status = tensor && out && bound && done && down ? TW_OK : no_memory(error);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        const struct trial_tensor *from = &t->tensor[i];
        tensor[i].bytes = from->host + from->begin;
        memcpy(tensor[i].extent, from->shape.extent, sizeof tensor[i].extent);
        memcpy(tensor[i].stride, from->shape.stride, sizeof tensor[i].stride);
        out[i] = from->reference;
        bound[i] = from->bound;
        done[i] = from->done;
    }
    if (status == TW_OK) {
        trial_loops_down(&r->unit->plan, down); /* it rounds as the lowering does */
        struct program_reference reference = {.kernel = k,
                                              .program = program_of(t),
                                              .down = down,
                                              .symbol = r->symbol,
                                              .tensor = tensor,
                                              .scalar = t->scalar,
                                              .out = out,
                                              .bound = bound,
                                              .done = done,
                                              .budget = MOST_WORK,
                                              .seed = r->seed,
                                              .parallel = parallel_for,
                                              .stop = r->stop,
                                              .stop_context = r->stop_context,
                                              .threads = parallel_cores()};
        struct program_error fault = {{0}, ""};
        int meant = program_reference(&reference, &all, &work, &fault);
        if (meant == 1)
            status = trial_program_fault(r->compile, k->name, &fault, error);
        else if (meant)
            status = no_memory(error);
        status = status == TW_OK ? trial_check_combine(t, &reference, error) : status;
    }
    t->sampled = !all;
    if (status == TW_OK && all && k->lua_reference != NO_FUNCTION && work <= MOST_FOR_LUA)
        status = check_by_hand(t, error);
    tw_free(rt, tensor);
    tw_free(rt, out);
    tw_free(rt, bound);
    tw_free(rt, done);
    tw_free(rt, down);
    return status;
}
