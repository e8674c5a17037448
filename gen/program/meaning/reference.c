#include "program/meaning/reference.h"

#include <string.h>

#include "program/meaning/meaning.h"

/* A sample has FEWEST items however much one costs: the first, the last, corners and some between them. */
enum { PARTS_PER_THREAD = 4, BLOCK_ROWS = 256, FEWEST = 6, MOST_SAMPLED = 1 << 20 };

bool program_adds_to(const struct program *p, int tensor)
{
    for (int i = 0; i < p->op_count; i++)
        if ((p->op[i].kind == PROGRAM_STORE_ADD || p->op[i].kind == PROGRAM_SCATTER_ADD) && p->op[i].tensor == tensor)
            return true;
    return false;
}

enum tw_dtype program_narrowest_cast(const struct program *p)
{
    enum tw_dtype narrow = TW_FP32;
    double coarsest = 0;
    for (int i = 0; i < p->graph->count; i++) {
        const struct expr_node *n = &p->graph->node[i];
        if (n->op != EXPR_CAST || tw_dtype_info(n->dtype)->kind != TW_KIND_FLOAT)
            continue;
        double third = 1.0 / 3, away = fabs(meaning_round(n->dtype, third) - third);
        if (n->dtype != TW_FP32 && away > coarsest) {
            coarsest = away;
            narrow = n->dtype;
        }
    }
    return narrow;
}

/* ---- inputs as doubles ------------------------------------------------------------------------------------------- */

struct widening {
    const struct program_tensor *tensor;
    enum tw_dtype dtype;
    int rank;
    int64_t rows; /* of the innermost dim */
    double *to;
};

static int64_t elements(const struct program_tensor *t, int rank)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= t->extent[d];
    return count;
}

static void widen_rows(void *context, int64_t block)
{
    const struct widening *w = context;
    int64_t inner = w->rank ? w->tensor->extent[w->rank - 1] : 1, step = w->rank ? w->tensor->stride[w->rank - 1] : 1;
    int64_t bytes = (int64_t)tw_dtype_bytes(w->dtype), first = block * BLOCK_ROWS, last = first + BLOCK_ROWS;
    for (int64_t row = first; row < last && row < w->rows; row++) {
        int64_t rest = row, offset = 0;
        for (int d = w->rank - 2; d >= 0; d--) {
            offset += rest % w->tensor->extent[d] * w->tensor->stride[d];
            rest /= w->tensor->extent[d];
        }
        const unsigned char *from = (const unsigned char *)w->tensor->bytes + offset * bytes;
        for (int64_t i = 0; i < inner; i++)
            w->to[row * inner + i] = tw_dtype_load(w->dtype, from + i * step * bytes);
    }
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

struct evaluation {
    const struct program_reference *r;
    struct program_data data;
    struct program_run run;
    int64_t first, items, parts; /* what the parts share: so many items from the first one on */
    struct part {
        int status;
        int64_t work, products;
        struct program_error error;
    } * part;
};

static const struct program *meant(const struct program_reference *r)
{
    return r->program ? r->program : r->kernel->program;
}

static void evaluate_part(void *context, int64_t i)
{
    const struct evaluation *e = context;
    struct program_run run = e->run;
    if (e->r->stop && e->r->stop(e->r->stop_context))
        return;
    const int64_t begin = e->items * i / e->parts;
    run.first = e->first + begin;
    run.count = e->items * (i + 1) / e->parts - begin;
    run.work = &e->part[i].work;
    run.products = &e->part[i].products;
    e->part[i].status = program_evaluate(meant(e->r), e->r->kernel, &e->data, &run, NULL, &e->part[i].error);
}

static void in_parallel(const struct program_reference *r, int64_t count, void (*work)(void *, int64_t), void *context)
{
    if (r->parallel)
        r->parallel(count, r->threads, work, context);
    for (int64_t i = 0; !r->parallel && i < count; i++)
        work(context, i);
}

/* Evaluates `items` items from the first one on in parts, of which two items have one each. *sum is raised by their
 * work, *most to the most that a part does. */
static int evaluate_some(struct evaluation *e, int64_t first, int64_t items, int64_t *most, int64_t *sum,
                         struct program_error *error)
{
    const struct program_reference *r = e->r;
    const struct memory *memory = &meant(r)->graph->memory;
    int status = 0;
    e->first = first;
    e->items = items;
    e->parts = r->parallel ? (int64_t)r->threads * PARTS_PER_THREAD : 2;
    e->parts = e->parts > items ? items : e->parts;
    if (e->parts <= 0)
        return 0;
    size_t bytes = sizeof *e->part * (size_t)e->parts;
    e->part = memory_resize(memory, NULL, 0, bytes);
    if (!e->part)
        return 3;
    memset(e->part, 0, bytes);
    in_parallel(r, e->parts, evaluate_part, e);
    for (int64_t i = 0; i < e->parts && !status; i++) {
        status = e->part[i].status;
        *sum += e->part[i].work;
        *most = e->part[i].work > *most ? e->part[i].work : *most;
        if (r->products)
            *r->products += e->part[i].products;
        if (status == 1 && error)
            *error = e->part[i].error;
    }
    memory_resize(memory, e->part, bytes, 0);
    return status;
}

/* The first and the last item say what one costs, and with that how many there may be. They are the first two of a
 * sample. */
static int evaluate_sample(struct evaluation *e, int64_t all, bool *whole, int64_t *work, struct program_error *error)
{
    const struct program_reference *r = e->r;
    const struct memory *memory = &meant(r)->graph->memory;
    int64_t ends[2] = {0, all - 1}, most = 1;
    e->run.item = ends;
    int status = evaluate_some(e, 0, 2, &most, work, error);
    int64_t count = r->budget / most;
    count = count > FEWEST ? count : FEWEST;
    *whole = count >= all;
    if (status)
        return status;
    count = count < MOST_SAMPLED ? count : MOST_SAMPLED;
    if (*whole) {
        e->run.item = NULL;
        return evaluate_some(e, 1, all - 2, &most, work, error);
    }
    const size_t bytes = sizeof *e->run.item * (size_t)count;
    int64_t *item = memory_resize(memory, NULL, 0, bytes);
    if (!item)
        return 3;
    program_sample(meant(r), r->symbol, count, r->seed, item);
    e->run.item = item;
    status = evaluate_some(e, 2, count - 2, &most, work, error);
    memory_resize(memory, item, bytes, 0);
    return status;
}

static int evaluate(const struct program_reference *r, const struct program_data *data, bool *all, int64_t *work,
                    struct program_error *error)
{
    const struct program *p = meant(r);
    struct evaluation e = {.r = r,
                           .data = *data,
                           .run = {.done = r->done,
                                   .down = r->down,
                                   .halves = r->halves,
                                   .parts = r->parts,
                                   .free_casts = r->free_casts,
                                   .count = -1}};
    const int64_t items = program_items(p, r->symbol);
    int64_t most = 0;
    bool adds = false;
    for (int i = 0; i < r->kernel->tensor_count; i++)
        adds = adds || program_adds_to(p, i);
    *all = true;
    *work = 0;
    if (r->products)
        *r->products = 0;
    if (adds || items < 0) {
        e.run.work = work;
        e.run.products = r->products;
        return program_evaluate(p, r->kernel, data, &e.run, NULL, error);
    }
    if (r->budget > 0 && items > 1)
        return evaluate_sample(&e, items, all, work, error);
    return evaluate_some(&e, 0, items, &most, work, error);
}

int program_reference(const struct program_reference *r, bool *all, int64_t *work, struct program_error *error)
{
    const struct spec_kernel *k = r->kernel;
    const struct memory *memory = r->memory ? r->memory : &meant(r)->graph->memory;
    size_t extents = sizeof(int64_t[SPEC_MAX_RANK]) * (size_t)(k->tensor_count + 1);
    size_t tensors = sizeof(double *) * (size_t)(k->tensor_count + 1);
    int64_t(*extent)[SPEC_MAX_RANK] = memory_resize(memory, NULL, 0, extents);
    double **tensor = memory_resize(memory, NULL, 0, tensors);
    int status = extent && tensor ? 0 : 3;
    if (tensor)
        memset(tensor, 0, tensors);
    for (int i = 0; i < k->tensor_count && !status; i++) {
        struct widening w = {&r->tensor[i], k->tensor[i].dtype, k->tensor[i].rank, 0, NULL};
        int64_t count = elements(w.tensor, w.rank), inner = w.rank ? w.tensor->extent[w.rank - 1] : 1;
        memcpy(extent[i], r->tensor[i].extent, sizeof extent[i]);
        tensor[i] = k->tensor[i].out ? r->out[i] : memory_resize(memory, NULL, 0, sizeof(double) * (size_t)(count + 1));
        if (!tensor[i])
            status = 3;
        if (status || k->tensor[i].out || count == 0)
            continue;
        w.rows = count / inner;
        w.to = tensor[i];
        in_parallel(r, (w.rows + BLOCK_ROWS - 1) / BLOCK_ROWS, widen_rows, &w);
    }
    struct program_data data = {r->symbol, tensor, (const int64_t(*)[SPEC_MAX_RANK])extent, r->scalar, r->bound};
    if (!status)
        status = evaluate(r, &data, all, work, error);
    for (int i = 0; i < k->tensor_count && tensor; i++)
        if (tensor[i] && !k->tensor[i].out)
            memory_resize(memory, tensor[i], sizeof(double) * (size_t)(elements(&r->tensor[i], k->tensor[i].rank) + 1),
                          0);
    if (extent)
        memory_resize(memory, extent, extents, 0);
    if (tensor)
        memory_resize(memory, tensor, tensors, 0);
    return status;
}
