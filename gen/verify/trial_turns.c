/* The meaning of a trial's program, whatever way its loops' turns go. */
#include <math.h>
#include <string.h>

#include "common/parallel.h"
#include "program/meaning/reference.h"
#include "verify/trial.h"

/* Elements and products: some seconds of one processor. */
#define MOST_WORK (INT64_C(1) << 30)

const struct program *trial_program(const struct trial *t)
{
    return spec_program(t->request.unit->as, t->request.unit->plan.arch);
}

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

int trial_meaning_open(const struct trial *t, struct trial_meaning *m, struct tw_error *error)
{
    struct tw_runtime *rt = &t->request.compile->rt;
    const size_t tensors = (size_t)t->tensor_count + 1;
    *m = (struct trial_meaning){.value = tw_alloc_zeroed(rt, sizeof *m->value * tensors),
                                .bound = tw_alloc_zeroed(rt, sizeof *m->bound * tensors),
                                .done = tw_alloc_zeroed(rt, sizeof *m->done * tensors)};
    bool fine = m->value && m->bound && m->done;
    for (int i = 0; i < t->tensor_count && fine; i++) {
        const size_t count = t->tensor[i].reference ? (size_t)shape_count(&t->tensor[i].shape) + 1 : 0;
        if (!count)
            continue;
        m->value[i] = tw_alloc_zeroed(rt, sizeof(double) * count);
        m->bound[i] = tw_alloc_zeroed(rt, sizeof(double) * count);
        m->done[i] = tw_alloc_zeroed(rt, count);
        fine = m->value[i] && m->bound[i] && m->done[i];
    }
    return fine ? TW_OK : no_memory(error);
}

void trial_meaning_close(const struct trial *t, struct trial_meaning *m)
{
    struct tw_runtime *rt = &t->request.compile->rt;
    for (int i = 0; i < t->tensor_count && m->value && m->bound && m->done; i++) {
        tw_free(rt, m->value[i]);
        tw_free(rt, m->bound[i]);
        tw_free(rt, m->done[i]);
    }
    tw_free(rt, m->value);
    tw_free(rt, m->bound);
    tw_free(rt, m->done);
}

int trial_meaning(const struct trial *t, const struct trial_turns *turns, struct trial_meaning *m,
                  struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    struct program_tensor *tensor = tw_alloc_zeroed(rt, sizeof *tensor * ((size_t)t->tensor_count + 1));
    struct program_error fault = {{0}, ""};
    const struct memory memory = {NULL, NULL};
    for (int i = 0; i < t->tensor_count && tensor; i++) {
        const struct trial_tensor *from = &t->tensor[i];
        tensor[i].bytes = from->host + from->begin;
        memcpy(tensor[i].extent, from->shape.extent, sizeof tensor[i].extent);
        memcpy(tensor[i].stride, from->shape.stride, sizeof tensor[i].stride);
    }
    struct program_reference reference = {.kernel = r->unit->as,
                                          .program = trial_program(t),
                                          .down = turns->down,
                                          .halves = turns->halves,
                                          .parts = turns->parts,
                                          .free_casts = turns->free_casts,
                                          .symbol = r->symbol,
                                          .tensor = tensor,
                                          .scalar = t->scalar,
                                          .out = m->value,
                                          .bound = m->bound,
                                          .done = m->done,
                                          .budget = MOST_WORK / (turns->part ? turns->part : 1),
                                          .memory = &memory,
                                          .seed = r->seed,
                                          .parallel = parallel_for,
                                          .stop = r->stop,
                                          .stop_context = r->stop_context,
                                          .threads = parallel_cores(),
                                          .products = &m->products};
    int meant = tensor ? program_reference(&reference, &m->all, &m->work, &fault) : 3;
    tw_free(rt, tensor);
    return meant == 1 ? trial_program_fault(r->compile, r->unit->kernel->name, &fault, error)
           : meant    ? no_memory(error)
                      : TW_OK;
}

int64_t trial_meanings_apart(const struct trial *t, int i, const struct trial_meaning *one,
                             const struct trial_meaning *other)
{
    for (int64_t e = 0, count = shape_count(&t->tensor[i].shape); e < count; e++) {
        double a = one->value[i][e], b = other->value[i][e], bound = one->bound[i][e] + other->bound[i][e];
        bool near = isinf(bound) || a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= bound;
        if (one->done[i][e] && other->done[i][e] && !near)
            return e;
    }
    return -1;
}
