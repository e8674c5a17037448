/* The checks of places and of what steps name beside rings: rules PLACE (places), NODE (expressions of steps), SLICE
 * (rows of a tile that an instruction takes from a computed one on), BLOCK (of rows or columns, that a step is of
 * alone), and BARRIER for hardware barriers that each instance has one of. */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/protocol.h"

__attribute__((format(printf, 5, 6))) static void fault(const struct plan *p, struct diag_set *diags, const char *field,
                                                        const char *rule, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(diags, DIAG_ERROR, p->loc, p->kernel, field, rule, "%s", text);
}

/* Instances of the role of most that has a step for the place: each has its own part of shared memory. */
static int instances_at(const struct plan *p, int place)
{
    int most = 1;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++)
            if (p->role[r].step[s].place == plan_some(place) && p->role[r].instances > most)
                most = p->role[r].instances;
    return most;
}

static void check_place(const struct plan *p, int place, struct diag_set *diags)
{
    const struct plan_place *q = &p->place[place];
    bool shared = q->kind == PLAN_PLACE_SHARED;
    for (int o = 0; o < place; o++)
        if (q->name && p->place[o].name && strcmp(p->place[o].name, q->name) == 0)
            fault(p, diags, q->name, "PLACE", "two places have this name; give each its own");
    if (q->rows < 1 || q->cols < 1)
        fault(p, diags, q->name, "PLACE", "%d x %d elements; write at least one", q->rows, q->cols);
    if (!shared) {
        if (q->registers < 1 || q->registers > 255)
            fault(p, diags, q->name, "PLACE", "%d registers a thread; write 1 to 255, or a smaller tile", q->registers);
        return;
    }
    if (q->shared < 0 || q->shared >= p->shared_count) {
        fault(p, diags, q->name, "PLACE", "has no shared memory; name a region for its %d bytes", q->bytes);
        return;
    }
    const struct plan_shared *m = &p->shared[q->shared];
    int instances = instances_at(p, place);
    if (q->bytes < 1 || (int64_t)q->bytes * instances > m->bytes)
        fault(p, diags, q->name, "PLACE", "%d instance%s of %d bytes in a region of %d; write %lld bytes for %s",
              instances, instances == 1 ? "" : "s", q->bytes, m->bytes, (long long)q->bytes * instances, m->name);
    for (int g = 0; g < p->ring_count; g++)
        if (p->ring[g].full_shared == q->shared || p->ring[g].empty_shared == q->shared)
            fault(p, diags, q->name, "PLACE", "lies in %s, where ring %s has its barriers; give it a region of its own",
                  m->name, p->ring[g].name);
}

static void check_nodes(const struct plan *p, int role, int step, struct diag_set *diags)
{
    const struct plan_step *s = &p->role[role].step[step];
    int bad = s->node < 0 || s->node > p->fused.count ? s->node : 0;
    for (int d = 0; d < SPEC_MAX_RANK; d++)
        bad = s->at[d] < 0 || s->at[d] > p->fused.count ? s->at[d] : bad;
    if (bad)
        protocol_fault(p, diags, role, -1, step, "NODE", "names expression %d, the Plan has %d", plan_number(bad),
                       p->fused.count);
}

/* Of places of items and of turns. */
static int64_t divisor(const void *context, const struct expr_node *n)
{
    const struct plan *p = context;
    int64_t from = 1;
    for (int i = 0; i < p->item_count && n->op == EXPR_AT; i++)
        if (p->item[i].axis == n->integer)
            return p->item[i].tile > 0 ? p->item[i].tile : 1;
    const bool loop = n->op == EXPR_LOOP && n->integer >= 0 && n->integer < p->loop_count;
    return loop && expr_is_int(&p->fused, p->loop[n->integer].from, &from) && from >= 0
               ? expr_common_divisor(from, p->loop[n->integer].step)
               : 1;
}

/* The first row that an instruction takes of its second operand's tile: at a group of the swizzle's rows, and so that
 * what it reads from there on is the tile's. */
static void check_first_row(const struct plan *p, int role, int step, struct diag_set *diags)
{
    enum { GROUP = 8 };
    const struct plan_step *s = &p->role[role].step[step];
    const int first = plan_number(s->at[0]);
    if (s->op != PLAN_MMA || first < 0 || first >= p->fused.count || s->count < 0 || s->count >= p->mma_count)
        return;
    const struct plan_mma *mma = &p->mma[s->count];
    const int tensor = mma->operand[1].tensor;
    if (strcmp(mma->kind, "mma.sync") != 0 || tensor < 0 || tensor >= p->tensor_count) {
        protocol_fault(p, diags, role, -1, step, "SLICE",
                       "%s takes its second operand as it lies; mma.sync takes rows from a computed one on", mma->kind);
        return;
    }
    const struct plan_tensor *t = &p->tensor[tensor];
    const int taken = mma->operand[1].mn_major ? mma->k * mma->k_steps : mma->n * mma->blocks_n;
    const int64_t by = expr_divisor(&p->fused, first, divisor, p);
    int64_t low, high, rows = 1;
    for (int d = 0; d + 1 < t->rank; d++)
        rows *= t->tile[d];
    expr_range(&p->fused, first, &low, &high);
    if (low < 0 || high > rows - taken)
        protocol_fault(p, diags, role, -1, step, "SLICE",
                       "takes %d rows of %s from one on that may be %lld to %lld, and its tile has %lld; write one up "
                       "to %lld",
                       taken, t->name, (long long)low, (long long)high, (long long)rows, (long long)(rows - taken));
    if (by % GROUP)
        protocol_fault(p, diags, role, -1, step, "SLICE",
                       "takes rows of %s from a multiple of %lld on; write one of the %d that a swizzle exchanges "
                       "chunks in",
                       t->name, (long long)by, GROUP);
}

/* The instruction has the block that it multiplies alone, and the place the columns that are computed. */
static void check_block(const struct plan *p, int role, int step, struct diag_set *diags)
{
    const struct plan_step *s = &p->role[role].step[step];
    const int block = plan_number(s->block), place = plan_number(s->place);
    if (!s->block)
        return;
    if (s->op == PLAN_MMA && s->count >= 0 && s->count < p->mma_count) {
        const struct plan_mma *mma = &p->mma[s->count];
        const int all = mma->blocks_m * mma->blocks_n;
        if (block < 0 || block >= all)
            protocol_fault(p, diags, role, -1, step, "BLOCK", "multiplies block %d of %d; write 0 to %d", block, all,
                           all - 1);
    }
    if (s->op == PLAN_TOUCH && s->cols > 0 && place >= 0 && place < p->place_count) {
        const int columns = p->place[place].cols, all = columns / s->cols;
        if (block < 0 || block >= all || columns % s->cols)
            protocol_fault(p, diags, role, -1, step, "BLOCK", "computes block %d of %d columns, and %s has %d", block,
                           s->cols, p->place[place].name, columns);
    }
}

void plan_check_places(const struct plan *p, int named_barriers, struct diag_set *diags)
{
    for (int i = 0; i < p->place_count; i++)
        check_place(p, i, diags);
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            check_nodes(p, r, s, diags);
            check_first_row(p, r, s, diags);
            check_block(p, r, s, diags);
            if ((step->op != PLAN_BARRIER && step->op != PLAN_BARRIER_ARRIVE) || step->count < 0 ||
                step->count >= p->barrier_count)
                continue;
            const struct plan_barrier *b = &p->barrier[step->count];
            if ((b->turns || protocol_barrier_is_private(p, step->count)) &&
                b->id + p->role[r].instances > named_barriers)
                fault(p, diags, b->name, "BARRIER",
                      "hardware barriers %d to %d, one each instance, a block has 0 to %d", b->id,
                      b->id + p->role[r].instances - 1, named_barriers - 1);
        }
}
