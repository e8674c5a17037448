/* The steps of one operation: a dot, a reduction, a store. */
#include "lower/derive/derive_ops.h"

#include "lower/derive/derive_early.h"
#include "lower/derive/derive_reads.h"
#include "lower/family.h"
#include "lower/derive/derive_turns.h"

static const char *const reduced[PROGRAM_REDUCTIONS] = {
    [PROGRAM_SUM] = "row_sum", [PROGRAM_MAX] = "row_max", [PROGRAM_MIN] = "row_min"};
static const enum plan_reduction reductions[PROGRAM_REDUCTIONS] = {
    [PROGRAM_SUM] = PLAN_SUM, [PROGRAM_MAX] = PLAN_MAX, [PROGRAM_MIN] = PLAN_MIN};

/* What threads do with a dot's converted operand: of each dot, for it may be of a ring and a dtype of its own. */
static const char *call_of(struct derive *d, int op, const char *what)
{
    struct plan *p = d->work.l->plan;
    const int tensor = d->work.program->op[d->dot[op].load[0]].tensor;
    return plan_text(p, "%s_%s_%s", p->mma[d->dot[op].mma].name, p->tensor[tensor].name, what);
}

/* A converted operand from the stage that was taken last into its registers. Nothing is in flight: ptxas serialises all
 * dots where threads make one's operand while another runs (C7513). */
static int convert(struct derive *d, int op)
{
    const int load = d->dot[op].load[0], place = d->dot[op].operand;
    const struct plan_step step[] = {
        {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = place},
        {.op = PLAN_READ,
         .ring = d->ring[derive_ring_of(d, load)].number,
         .tensor = d->work.program->op[load].tensor,
         .place = place,
         .call = call_of(d, op, "operand")},
    };
    int status = d->flights ? derive_wait(d, d->flights - 1) : 0;
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}

/* What threads have read of the stage they have read before it is given back: the next bulk copy would overtake them.
 * Where they read all operands, the release of every stage sees to that. */
static int converted(struct derive *d, int op)
{
    const struct plan_step step = {.op = PLAN_FENCE_ASYNC,
                                   .ring = d->ring[derive_ring_of(d, d->dot[op].load[0])].number,
                                   .tensor = -1,
                                   .call = call_of(d, op, "read")};
    return d->producer && !d->synchronous ? derive_emit(d, d->consumer, step) : 0;
}

int derive_pass_on(struct derive *d, enum plan_op op, int only, const char *why)
{
    return !d->turns ? 0
                     : derive_emit(d, d->consumer,
                                   (struct plan_step){.op = op,
                                                      .ring = -1,
                                                      .tensor = -1,
                                                      .count = plan_number(d->turns),
                                                      .only = only,
                                                      .call = op == PLAN_BARRIER ? "turn_wait" : "turn_pass",
                                                      .why = why});
}

bool derive_passes_on(const struct derive *d, int op)
{
    return d->abreast == d->consumers && d->work.l->kernel->ahead_count == 0 && d->work.op[op].parent >= 0 &&
           d->work.op[op].arg[2] < 0;
}

/* Behind the first dot of a turn, whose products cover the wait, those of the turn before give their operands'
 * registers back: derive.h, CROWDED. */
static int make_room(struct derive *d)
{
    int last = d->flights - 1;
    if (last < 0 || d->flight[last].old)
        return 0;
    while (last >= 0 && !d->flight[last].old)
        last--;
    d->later = true;
    return last >= 0 ? derive_wait(d, last) : 0;
}

/* Issues the dot; block: plan_some(block), of this one alone. */
static int issue(struct derive *d, int op, enum plan_start start, int shift, int block)
{
    struct plan *p = d->work.l->plan;
    struct derive_dot *dot = &d->dot[op];
    int status = 0;
    for (int i = 0; i < 4 && !status; i++) { /* bulk copies first: they come while threads copy */
        int r = dot->load[i % 2] >= 0 ? derive_ring_of(d, dot->load[i % 2]) : -1;
        if (r >= 0 && d->ring[r].copied == (i >= 2) && d->ring[r].inner < 0 && !(d->taken >> r & 1))
            status = derive_take(d, r, shift);
    }
    status = status ? status : derive_read_before(d, op);
    if (!status && dot->converted)
        status = convert(d, op);
    if (!status && d->crowded)
        status = make_room(d);
    const bool passed = d->turns && derive_passes_on(d, op);
    if (!status && passed)
        status = derive_pass_on(d, PLAN_BARRIER, 0, "the dot of the consumer before is issued");
    if (!status && !d->synchronous)
        status = derive_emit(d, d->consumer,
                             (struct plan_step){.op = PLAN_MMA_FENCE, .ring = -1, .tensor = -1, .call = "mma_fence"});
    unsigned counted = 0;
    for (int o = 0; o < 2 && !status; o++) {
        int r = dot->load[o] >= 0 ? derive_ring_of(d, dot->load[o]) : -1, newest = -1;
        if (r < 0 || (o == 0 && dot->resident))
            continue;
        for (int i = 0; i < d->helds; i++)
            newest = d->held[i].ring == r ? i : newest;
        if (newest >= 0 && !(counted >> r & 1)) {
            d->held[newest].group = d->groups;
            d->held[newest].uses -= d->ring[r].inner < 0 && (!block || block == dot->by_block);
            counted |= 1u << r;
        }
        if (o == 1 || !dot->converted)
            status = derive_emit(d, d->consumer,
                                 (struct plan_step){.op = PLAN_READ,
                                                    .ring = d->ring[r].number,
                                                    .tensor = d->work.program->op[dot->load[o]].tensor,
                                                    .count = !d->synchronous});
    }
    const int first =
        !status && dot->slice ? derive_built(d, op, d->work.op[plan_number(dot->slice)].from, shift, &status) : 0;
    if (d->flights == DERIVE_MAX_FLIGHTS)
        return derive_refuse(d, op, "too many dots are in flight at once");
    if (!d->synchronous)
        d->flight[d->flights++] = (struct derive_flight){.dot = op, .group = d->groups++};
    status =
        status ? status
               : derive_emit(d, d->consumer,
                             (struct plan_step){
                                 .op = PLAN_MMA,
                                 .ring = -1,
                                 .tensor = -1,
                                 .count = dot->mma,
                                 .place = dot->place,
                                 .place2 = dot->operand,
                                 .at = {first},
                                 .least = (int)start,
                                 .block = block,
                                 .loop = start == PLAN_FROM_ZERO_FIRST ? plan_some(d->loop[d->work.op[op].parent]) : 0,
                                 .call = p->mma[dot->mma].name});
    if (!status && !d->synchronous)
        status = derive_emit(d, d->consumer,
                             (struct plan_step){.op = PLAN_MMA_COMMIT, .ring = -1, .tensor = -1, .call = "mma_commit"});
    if (!status && passed)
        status = derive_pass_on(d, PLAN_BARRIER_ARRIVE, 0, "the next one's dot runs while this one's result is taken");
    if (!status && dot->converted)
        status = converted(d, op);
    status = status ? status : derive_own(d, dot->place, d->work.op[op].leaf);
    if (!status && d->synchronous)
        status = derive_release(d);
    return status ? status : derive_early_make(d, op);
}

int derive_issue(struct derive *d, int op, enum plan_start start, int shift)
{
    return issue(d, op, start, shift, 0);
}

int derive_pack(struct derive *d, int op)
{
    struct derive_dot *dot = &d->dot[op];
    int root = d->work.op[op].arg[0], status = derive_prepare(d, op, root);
    if (!status && d->work.graph.node[root].op == EXPR_CAST && !derive_place_of(d, root) &&
        d->work.graph.node[root].dtype == d->work.l->plan->mma[dot->mma].operand[0].dtype)
        root = d->work.graph.node[root].arg[0]; /* packing rounds, once */
    int expression = derive_built(d, op, root, 0, &status);
    return status ? status
                  : derive_pass(d, (struct plan_step){
                                       .op = PLAN_TOUCH, .place = dot->operand, .node = expression, .call = "pack"});
}

int derive_reduce(struct derive *d, int op)
{
    const struct work_op *k = &d->work.op[op];
    int status = derive_refuse_whole(d, op, k->arg[0]), place = derive_home_of(d, k->leaf);
    status = status ? status : derive_prepare(d, op, k->arg[0]);
    if (status)
        return status;
    if (!place)
        place = derive_new_place(d, k->leaf, reduced[d->work.program->op[op].reduction], 1);
    if (!place)
        return 3;
    int expression = derive_built(d, op, k->arg[0], 0, &status);
    status = status ? status
                    : derive_pass(d, (struct plan_step){.op = PLAN_TOUCH,
                                                        .place = place,
                                                        .node = expression,
                                                        .reduction = reductions[d->work.program->op[op].reduction],
                                                        .cols = d->work.program->op[op].arg[0].columns,
                                                        .call = d->partial[op] ? "fold" : "reduce"});
    return status ? status : derive_own(d, place, k->leaf);
}

int derive_finish_dot(struct derive *d, int op)
{
    struct derive_dot *k = &d->dot[op];
    int c = d->work.op[op].arg[2], status;
    enum plan_start start = PLAN_FROM_ZERO;
    if (c >= 0) {
        start = derive_starts_from_zero(d, op) ? PLAN_FROM_ZERO_FIRST : PLAN_FROM_SUM;
        status = derive_prepare(d, op, c);
        status = status ? status : derive_evaluate(d, op, c, k->place);
    } else {
        /* The result replaces what an earlier group still writes or others still read. */
        status = derive_land(d, k->place);
    }
    return status ? status : derive_issue(d, op, start, 0);
}

/* The dot block by block, each added to what the turn carries on as soon as it is there: derive.h, BY BLOCK. */
static int add_by_block(struct derive *d, int op)
{
    const struct program *p = d->work.program;
    const struct derive_dot *dot = &d->dot[op];
    const int loop = d->work.op[op].parent, which = plan_number(derive_summed_by(d, op));
    const int value = d->work.op[p->op[loop].end].value[which];
    int sum = 0, status = 0;
    for (int i = loop + 1; i < p->op[loop].end; i++)
        if (p->op[i].kind == PROGRAM_PARAM && p->op[i].loop == loop && p->op[i].which == which)
            sum = derive_home_of(d, d->work.op[i].leaf);
    for (int block = 0; block < dot->by_block && !status; block++) {
        status = derive_land(d, dot->place);
        status = status ? status : issue(d, op, PLAN_FROM_ZERO, 0, plan_some(block));
        status = status ? status : derive_prepare(d, op, value);
        d->column = block * dot->columns;
        d->columns = dot->columns;
        const int node = status ? 0 : derive_built(d, op, value, 0, &status);
        d->column = d->columns = 0;
        status = status ? status
                        : derive_pass(d, (struct plan_step){.op = PLAN_TOUCH,
                                                            .place = sum,
                                                            .node = node,
                                                            .block = plan_some(block),
                                                            .cols = dot->columns,
                                                            .call = "evaluate"});
    }
    return status ? status : derive_own(d, sum, value);
}

int derive_dot_steps(struct derive *d, int op)
{
    if (d->dot[op].by_block)
        return add_by_block(d, op);
    int status = d->dot[op].load[0] < 0 ? derive_pack(d, op) : 0;
    return status ? status : derive_finish_dot(d, op);
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/* Columns of the accumulators that a box of the output takes. */
static int chunk_columns(const struct plan_tensor *t, const struct program_op *store, bool turned)
{
    int last = t->rank - 1, columns = t->tile[last];
    for (int k = 0; k < last && turned; k++)
        if (store->at[k].length > 1)
            columns = t->tile[k];
    return columns;
}

/* Chunks of an item of a consumer. */
static int chunks_of(const struct derive *d, int op)
{
    const struct program_op *o = &d->work.program->op[op];
    bool turned;
    const int columns = work_stored(&d->work, o, &turned)->columns;
    return (d->wide ? 1 : d->blocks) * columns / chunk_columns(&d->work.l->plan->tensor[o->tensor], o, turned);
}

static const struct plan_step told = {.op = PLAN_BARRIER,
                                      .ring = -1,
                                      .tensor = -1,
                                      .call = "d_barrier",
                                      .why = "one thread has waited for the store, for all of them"};

/* The item's only result has a buffer for each of its chunks, of three and more, or of two blocks of rows: who has
 * waited for the stores of the item before has waited for all of them. Two chunks of one block wait one by one: with
 * one wait they were not measured. */
static bool has_all_buffers(const struct derive *d, int op)
{
    const struct plan *p = d->work.l->plan;
    const int ring = p->ring_count - 1, chunks = chunks_of(d, op);
    int stores = 0;
    for (int i = 0; i < d->work.program->op_count; i++)
        stores += work_is_store(&d->work.program->op[i]);
    return stores == 1 && d->work.op[op].parent < 0 && !d->source && !(d->late && d->late[op]) &&
           p->ring[ring].stages >= chunks && (chunks > 2 || (chunks == 2 && d->blocks == 2 && !d->wide));
}

/* In front of its chunks. */
static int wait_for_buffers(struct derive *d, int op)
{
    const struct plan_step wait = {
        .op = PLAN_STORE_WAIT, .ring = d->work.l->plan->ring_count - 1, .tensor = -1, .call = "d_wait_0"};
    int status = has_all_buffers(d, op) ? derive_emit(d, d->consumer, wait) : 0;
    return status || !has_all_buffers(d, op) ? status : derive_emit(d, d->consumer, told);
}

int derive_chunk(struct derive *d, int op, struct plan_step write, struct plan_step store)
{
    const int stages = d->work.l->plan->ring[write.ring].stages;
    /* With what came into the buffer, derive_reads.c; or in front of all chunks. */
    const bool waited = !write.place && (d->source || has_all_buffers(d, op));
    const struct plan_step chunk[] = {
        {.op = PLAN_STORE_WAIT, .ring = write.ring, .tensor = -1, .count = stages - 1, .call = "d_wait"},
        told,
        write,
        {.op = PLAN_FENCE_ASYNC, .ring = write.ring, .tensor = -1, .call = "d_fence"},
        {.op = PLAN_BARRIER,
         .ring = -1,
         .tensor = -1,
         .call = "d_barrier",
         .why = "all have written the buffer before one thread stores it"},
        store,
        {.op = PLAN_END, .ring = -1, .tensor = -1},
    };
    int status = 0;
    for (size_t i = waited ? 2 : 0; i < sizeof chunk / sizeof *chunk && !status; i++)
        status = derive_emit(d, d->consumer, chunk[i]);
    return status;
}

/* The part of a store behind its arithmetic: 64 rows and a box's columns at a time. */
static int store_staged(struct derive *d, int op, int expression)
{
    struct plan *p = d->work.l->plan;
    const struct program_op *o = &d->work.program->op[op];
    const struct plan_tensor *t = &p->tensor[o->tensor];
    bool turned;
    int ring = p->ring_count - 1, status = 0;
    work_stored(&d->work, o, &turned);
    const int width = chunk_columns(t, o, turned);
    struct plan_step write = {.op = PLAN_WRITE,
                              .ring = ring,
                              .tensor = o->tensor,
                              .node = expression,
                              .once = d->once && d->once[op],
                              .call = plan_text(p, "%s_write", t->name)};
    struct plan_step store = {
        .op = PLAN_STORE, .ring = ring, .tensor = o->tensor, .call = plan_text(p, "%s_store", t->name)};
    for (int k = 0; k < t->rank && !status; k++)
        store.at[k] = derive_built(d, op, d->work.op[op].at[k], 0, &status);
    status = status ? status : derive_limit(d, op, &store);
    int chunks = chunks_of(d, op), ahead = 0;
    struct plan_step next[DERIVE_MAX_READS];
    const int late = d->late ? d->late[op] : 0;
    status = status || chunks < 2 || d->wide ? status : derive_reads(d, &write, width, late, next, &ahead);
    if (!status && late)
        return derive_late_pack(d, op, expression, chunks, next, ahead);
    const struct plan_step begin = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .count = chunks, .call = t->name};
    status = status ? status : wait_for_buffers(d, op);
    status = status ? status : derive_emit(d, d->consumer, begin);
    status = status ? status : derive_take_source(d, op, width);
    for (int i = 0; i < ahead && !status; i++)
        status = derive_emit(d, d->consumer, next[i]);
    status = status ? status : derive_chunk(d, op, write, store);
    return status ? status : derive_limit(d, op, NULL);
}

int derive_store(struct derive *d, int op)
{
    struct plan *p = d->work.l->plan;
    const struct program_op *o = &d->work.program->op[op];
    int root = d->work.op[op].arg[0], status = derive_prepare(d, op, root);
    if (!status && d->work.graph.node[root].op == EXPR_CAST && !derive_place_of(d, root) &&
        d->work.graph.node[root].dtype == p->tensor[o->tensor].dtype)
        root = d->work.graph.node[root].arg[0]; /* storing rounds, once */
    /* Stores of elements ask one thread for one column, whichever it is. */
    d->placing = p->tensor[o->tensor].access != PLAN_ACCESS_TMA;
    int expression = derive_built(d, op, root, 0, &status);
    d->placing = false;
    if (status)
        return status;
    struct plan_step step = {.op = PLAN_GLOBAL,
                             .ring = -1,
                             .tensor = o->tensor,
                             .node = expression,
                             .adds = o->kind == PROGRAM_STORE_ADD,
                             .call = plan_text(p, o->kind == PROGRAM_STORE_ADD ? "%s_add_global" : "%s_store_global",
                                               p->tensor[o->tensor].name)};
    status = derive_pass(d, step);
    if (status || p->tensor[o->tensor].access == PLAN_ACCESS_TMA)
        return status ? status : store_staged(d, op, expression);
    bool turned;
    const struct program_tile *tile = work_stored(&d->work, o, &turned);
    for (int k = 0; k < p->tensor[o->tensor].rank && !status; k++) {
        step.at[k] = derive_built(d, op, d->work.op[op].at[k], 0, &status);
        if (status || o->at[k].length <= 1)
            continue;
        int within = work_within(&d->work, &p->fused, o, k, turned);
        int place = expr_binary(&p->fused, EXPR_ADD, plan_number(step.at[k]), within);
        step.at[k] = plan_some(place);
        status = place < 0 ? 3 : 0;
    }
    d->placing = true;
    if (!status && d->work.op[op].inside >= 0)
        step.inside = derive_built(d, op, d->work.op[op].inside, 0, &status);
    d->placing = false;
    step.cols = tile->columns;
    return status ? status : derive_emit(d, d->consumer, step);
}
