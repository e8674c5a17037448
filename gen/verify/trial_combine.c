/* A loop's combine, which says what two parts of its turns make together, held against all turns one by one. */
#include <math.h>

#include "program/meaning/reference.h"
#include "verify/trial.h"

/* The first loop that has one; NULL: none does. */
static const struct program_op *combined(const struct program *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (p->op[i].kind == PROGRAM_LOOP && p->op[i].combine)
            return &p->op[i];
    return NULL;
}

static bool within(double own, double want, double bound)
{
    return isinf(bound) || own == want || (isnan(own) && isnan(want)) || fabs(own - want) <= bound;
}

static int agree(const struct trial *t, const struct program_op *loop, int i, const double *own, const double *bound,
                 struct tw_error *error)
{
    const struct trial_tensor *out = &t->tensor[i];
    const int64_t count = shape_count(&out->shape);
    for (int64_t e = 0; e < count; e++)
        if (out->done[e] && !within(own[e], out->reference[e], bound[e] + out->bound[e]))
            return tw_fail(error, TW_ERROR_INVALID,
                           "kernel '%s', line %d: combine of loop '%s' is not what its turns come to: element %lld of "
                           "%s is %.9g where each loop's two halves are combined, and %.9g within %.3g turn by turn",
                           t->request.unit->kernel->name, loop->loc.line, loop->name ? loop->name : "", (long long)e,
                           t->request.unit->plan.tensor[i].name, own[e], out->reference[e], bound[e] + out->bound[e]);
    return TW_OK;
}

int trial_check_combine(const struct trial *t, const struct program_reference *whole, struct tw_error *error)
{
    const struct program_op *loop = combined(whole->program);
    struct tw_runtime *rt = &t->request.compile->rt;
    const size_t tensors = (size_t)t->tensor_count + 1;
    if (!loop)
        return TW_OK;
    double **out = tw_alloc_zeroed(rt, sizeof *out * tensors), **bound = tw_alloc_zeroed(rt, sizeof *bound * tensors);
    unsigned char **done = tw_alloc_zeroed(rt, sizeof *done * tensors);
    int meant = out && bound && done ? 0 : 3, status = TW_OK;
    for (int i = 0; i < t->tensor_count && !meant; i++) {
        const size_t count = t->tensor[i].reference ? (size_t)shape_count(&t->tensor[i].shape) + 1 : 0;
        if (!count)
            continue;
        out[i] = tw_alloc_zeroed(rt, sizeof(double) * count);
        bound[i] = tw_alloc_zeroed(rt, sizeof(double) * count);
        done[i] = tw_alloc_zeroed(rt, count);
        meant = out[i] && bound[i] && done[i] ? 0 : 3;
    }
    struct program_reference halves = *whole;
    struct program_error fault = {{0}, ""};
    bool all = true;
    int64_t work = 0;
    halves.halves = true;
    halves.out = out;
    halves.bound = bound;
    halves.done = done;
    meant = meant ? meant : program_reference(&halves, &all, &work, &fault);
    if (meant == 1)
        status = trial_program_fault(t->request.compile, whole->kernel->name, &fault, error);
    else if (meant)
        status = tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        if (t->tensor[i].reference)
            status = agree(t, loop, i, out[i], bound[i], error);
    for (int i = 0; i < t->tensor_count && out && bound && done; i++) {
        tw_free(rt, out[i]);
        tw_free(rt, bound[i]);
        tw_free(rt, done[i]);
    }
    tw_free(rt, out);
    tw_free(rt, bound);
    tw_free(rt, done);
    return status;
}
