/* The walk: the program's operations in order, as steps of the producer and of the consumers. See derive.h. */
#include "lower/derive/derive_turns.h"

#include <string.h>

#include "lower/derive/derive_early.h"
#include "lower/derive/derive_ops.h"
#include "lower/derive/derive_reads.h"
#include "lower/family.h"

static int body(struct derive *d, int first, int end);

/* ---- the end of a turn ------------------------------------------------------------------------------------------- */

/* The parameter of the loop's carried value number `which`, as a node. */
static int carried_leaf(const struct derive *d, int loop, int which)
{
    const struct program *p = d->work.program;
    for (int o = loop + 1; o < p->op[loop].end; o++)
        if (p->op[o].kind == PROGRAM_PARAM && p->op[o].which == which && p->op[o].loop == loop)
            return d->work.op[o].leaf;
    return -1;
}

/* The carried value is there already, as a dot leaves it that sums on: others may be computed from it as long as it has
 * not become the parameter. */
static bool is_home(const struct derive *d, const int *value, const int *leaf, int which)
{
    return derive_place_of(d, value[which]) == derive_home_of(d, leaf[which]);
}

/* What others that are still to be carried on need is carried on after these: the first that none needs; -1: each needs
 * another's. What is at home comes last. */
static int carried_next(struct derive *d, const int *value, const int *leaf, const bool *done, int count, int *status)
{
    bool moves = false;
    for (int i = 0; i < count; i++)
        moves = moves || (!done[i] && !is_home(d, value, leaf, i));
    for (int i = 0; i < count; i++) {
        bool needed = done[i] || (moves && is_home(d, value, leaf, i));
        for (int j = 0; j < count && !needed && !*status; j++)
            needed = j != i && !done[j] && derive_needs(d, value[j], leaf[i], -1, status);
        if (!needed)
            return i;
    }
    return -1;
}

int derive_carry(struct derive *d, int op, const int *value, const int *leaf, int count)
{
    int status = 0;
    bool done[PROGRAM_MAX_CARRIED] = {false};
    for (int i = 0; i < count && !status; i++)
        status = derive_prepare(d, op, value[i]);
    for (int turn = 0; turn < count && !status; turn++) {
        int i = carried_next(d, value, leaf, done, count, &status);
        if (status || i < 0)
            return status ? status
                          : derive_refuse(d, op,
                                          "carried values that change places, or tiles of which each is computed from "
                                          "another's last, are not lowered; carry them on as they are");
        int place = derive_home_of(d, leaf[i]);
        if (!is_home(d, value, leaf, i))
            status = derive_evaluate(d, op, value[i], place);
        status = status ? status : derive_own(d, place, leaf[i]);
        done[i] = true;
    }
    return status;
}

/* What a turn carries on becomes what the next one finds. */
static int carry_on(struct derive *d, int end)
{
    const int loop = d->work.program->op[end].loop, count = d->work.program->op[loop].carried;
    int leaf[PROGRAM_MAX_CARRIED];
    for (int i = 0; i < count; i++)
        leaf[i] = carried_leaf(d, loop, i);
    return derive_carry(d, end, d->work.op[end].value, leaf, count);
}

/* A value lives in its place for one turn; what the next turn finds are the carried ones. */
static void forget(struct derive *d, int loop)
{
    for (int i = 0; i < d->owner_count; i++) {
        if (d->owner[i] < 0)
            continue;
        bool kept = derive_early_stays(d, loop, d->owner[i]);
        for (int o = 0; o < d->work.program->op_count; o++) {
            const struct program_op *op = &d->work.program->op[o];
            bool within = o > loop && o < d->work.program->op[loop].end;
            if (d->work.op[o].leaf == d->owner[i] &&
                (!within || o == d->ahead || (op->kind == PROGRAM_PARAM && op->loop == loop)))
                kept = true;
        }
        if (!kept)
            d->owner[i] = -1;
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The node needs what the loop's turn computes. */
static bool is_of_turn(const struct derive *d, int loop, int node)
{
    const struct expr_node *n = &d->work.graph.node[node];
    for (int o = loop + 1; o < d->work.program->op[loop].end && n->op == EXPR_TILE; o++)
        if (d->work.op[o].leaf == node && d->work.program->op[o].kind != PROGRAM_PARAM)
            return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && is_of_turn(d, loop, n->arg[i]))
            return true;
    return false;
}

/* The dot's sum is changed in each turn, from what is known before it. Where it is in flight as the turn begins, ptxas
 * does so before the turn's first dot is over, and serialises all of them (C7514). */
static bool is_changed_early(const struct derive *d, int loop, int dot)
{
    int c = dot >= 0 ? d->work.op[dot].arg[2] : -1;
    return c >= 0 && d->work.op[dot].parent == loop && expr_ops[d->work.graph.node[c].op].arity > 0 &&
           !is_of_turn(d, loop, c);
}

/* The dot's sum goes on with what an earlier loop has summed up, behind one within another that looked ahead or changed
 * its sum early: where it is in flight as the turn begins, ptxas sees it set by others within its stage, and serialises
 * all of them (C7515). */
static bool is_set_before(const struct derive *d, int loop, int dot)
{
    return d->behind && dot >= 0 && d->work.op[dot].parent == loop && d->work.op[dot].arg[2] >= 0 &&
           !derive_starts_from_zero(d, dot);
}

/* The end of a turn: what it carries on. What is old by then is waited for, and where registers are short all but the
 * newest. */
static int end_turn(struct derive *d, int loop)
{
    int status = carry_on(d, d->work.program->op[loop].end);
    status = status ? status : derive_release_late(d);
    for (int i = d->flights - 1; i >= 0 && !status; i--)
        if (d->flight[i].old || is_changed_early(d, loop, d->flight[i].dot) ||
            is_set_before(d, loop, d->flight[i].dot) || (d->crowded && i + 1 < d->flights)) {
            status = derive_wait(d, i);
            break;
        }
    forget(d, loop);
    for (int r = 0; r < d->ring_count; r++)
        if (d->ring[r].parent == loop)
            d->taken &= ~(1u << r);
    return status;
}

static int turn(struct derive *d, int loop)
{
    int due = derive_early_turn(d, loop), status = body(d, loop + 1, d->work.program->op[loop].end);
    status = status ? status : end_turn(d, loop);
    derive_early_end(d, due);
    return status;
}

/* What the dot adds to, as soon as it is known: the next turn's dot is then issued without arithmetic in between. The
 * first turn's is zero without being computed. */
static int early_sum(struct derive *d, int op, bool first)
{
    int c = d->work.op[op].arg[2], place = d->dot[op].place;
    if (c < 0)
        return 0;
    int status = derive_prepare(d, op, c);
    if (status || (first && derive_starts_from_zero(d, op)))
        return status ? status : derive_own(d, place, c);
    return derive_evaluate(d, op, c, place);
}

/* Of a loop that looks ahead, a turn up to the dot that the next turn's goes before. Reductions of what lies in the
 * latter's accumulator by then are made, too. */
static int begin_turn(struct derive *d, int loop, int shift)
{
    int end = d->work.program->op[loop].end;
    d->shift = shift;
    int status = body(d, loop + 1, d->before);
    for (int i = d->before + 1; i < end && !status; i++) {
        int value = d->owner[plan_number(d->dot[d->ahead].place)]; /* a reduction may have put another there */
        if (d->work.program->op[i].kind == PROGRAM_REDUCE && d->work.op[i].parent == loop && value >= 0 &&
            derive_needs(d, d->work.op[i].arg[0], value, -1, &status)) {
            d->done[i] = true;
            status = status ? status : derive_reduce(d, i);
        }
    }
    if (!status && d->dot[d->before].load[0] < 0)
        status = derive_pack(d, d->before);
    status = status ? status : early_sum(d, d->before, shift == 0 && !d->alone);
    d->shift = 0;
    return status;
}

/* Consumers take whole items in turn. Each waits until the one before it has issued its item's last dot, so that it
 * knows of every stage that it skips, and then takes its own from the one ring; the tensor cores go from main loop to
 * main loop, and what is behind one runs under the next. Behind the last item one more turn was passed on: who would be
 * next takes it. */
static bool in_turn(const struct derive *d)
{
    return d->abreast < d->consumers;
}

/* Turns within an item. */
static int pass_turn(struct derive *d, enum plan_op op)
{
    return in_turn(d) ? 0 : derive_pass_on(d, op, 0, NULL);
}

/* The rest of it, with the next turn's dot unless it is the last. What this turn's dot gave is gone with that one. */
static int rest_of_turn(struct derive *d, int loop, bool last)
{
    int status = 0, place = d->dot[d->ahead].place, next = -1;
    if (!last) {
        status = derive_land(d, place);
        d->taken &= ~d->ahead_rings;
        status = status ? status : pass_turn(d, PLAN_BARRIER);
        status = status ? status : derive_issue(d, d->ahead, PLAN_FROM_ZERO, d->ahead_shift);
        next = d->owner[plan_number(place)];
        d->owner[plan_number(place)] = -1;
    }
    status = status ? status : derive_finish_dot(d, d->before);
    status = status || last ? status : pass_turn(d, PLAN_BARRIER_ARRIVE);
    status = status ? status : body(d, d->before + 1, d->work.program->op[loop].end);
    status = status ? status : end_turn(d, loop);
    if (!last)
        d->owner[plan_number(place)] = next;
    return status;
}

static void grow_old(struct derive *d, int loop)
{
    for (int i = 0; i < d->flights; i++)
        d->flight[i].old = true;
    for (int i = 0; i < d->helds; i++)
        d->held[i].old = d->held[i].old || d->ring[d->held[i].ring].parent == loop;
}

static int both(struct derive *d, struct plan_step step)
{
    int status = d->producer ? derive_emit(d, d->producer, step) : 0;
    return status ? status : derive_emit(d, d->consumer, step);
}

/* How often a loop turns of which the first value and the end are known. */
static int turns_of_range(struct expr_graph *g, const struct plan_loop *known)
{
    int span = expr_binary(g, EXPR_SUB, known->to, known->from);
    if (span >= 0 && !expr_is_natural(g, span))
        span = expr_binary(g, EXPR_MAX, span, expr_int(g, 0));
    return expr_ceil_div(g, span, expr_int(g, known->step));
}

/* The loop's variable, which begins with the first turn that its masks let anything into, and how often it turns:
 * plan_some(node). 0: *status says why. */
static int range_of(struct derive *d, int loop, int *status)
{
    struct plan *p = d->work.l->plan;
    struct expr_graph *g = &p->fused;
    int from = derive_built(d, loop, d->work.op[loop].from, 0, status),
        to = derive_built(d, loop, d->work.op[loop].to, 0, status);
    if (*status)
        return 0;
    struct plan_loop *known = &p->loop[d->loop[loop]];
    known->from = plan_number(from);
    known->to = plan_number(to);
    known->first = 0;
    int skipped = 0;
    *status = derive_turns_skipped(d, loop, &skipped);
    if (*status)
        return 0;
    if (skipped) {
        int by = expr_binary(g, EXPR_MUL, plan_number(skipped), expr_int(g, known->step));
        known->from = expr_binary(g, EXPR_ADD, known->from, by);
    }
    const char *name = plan_text(p, "turns_before.%s", d->work.program->op[loop].name);
    if (skipped && !d->dry &&
        (!name || family_reason(p, name, "left out", "the masks let nothing into the first turns")))
        *status = 3;
    int turns = turns_of_range(g, known);
    const struct program_op *l = &d->work.program->op[loop];
    if (l->stream)
        turns = expr_leaf(g, EXPR_AT, EXPR_INT, l->part_axis + 1);
    if (turns < 0)
        *status = 3;
    return plan_some(turns);
}

/* What the loop in the text repeats: a turn, or the rest of one and the beginning of the next. */
static int repeat(struct derive *d, int loop)
{
    int status = d->ahead < 0 ? turn(d, loop) : rest_of_turn(d, loop, false);
    status = status ? status : derive_late_turn(d, loop);
    status = status || d->ahead < 0 ? status : begin_turn(d, loop, d->ahead_shift);
    if (!status && d->ahead >= 0 && d->flights) /* of dots behind the one that is issued ahead: see derive.h */
        status = derive_wait(d, d->flights - 1);
    grow_old(d, loop);
    return status;
}

/* Turns of the loop from where the one before it stopped, as many as the LOOP says. */
static int turn_on(struct derive *d, int loop, struct plan_step begin)
{
    begin.op = PLAN_LOOP;
    begin.ring = begin.tensor = -1;
    begin.loop = plan_some(d->loop[loop]);
    int status = both(d, begin);
    status = status ? status : repeat(d, loop);
    return status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

static int turns_until(struct derive *d, int loop, const char *name, int turns, int most)
{
    return turn_on(d, loop, (struct plan_step){.node = turns, .call = name, .most = most});
}

/* The dot of the loop that `ahead` names, if it can be moved. 0 or 1. */
static int find_ahead(struct derive *d, int loop)
{
    const struct spec_kernel *k = d->work.l->kernel;
    const struct program *p = d->work.program;
    d->ahead = d->before = -1;
    for (int i = 0; i < k->ahead_count && !d->synchronous; i++) {
        int op = work_named(&d->work, k->ahead[i].name), before = work_named(&d->work, k->ahead[i].before);
        if (op < 0 || d->work.op[op].parent != loop)
            continue;
        for (int o = op + 1; o < p->op[loop].end && !k->ahead[i].before && before < 0; o++)
            before = p->op[o].kind == PROGRAM_DOT && d->work.op[o].parent == loop ? o : -1;
        bool dots = p->op[op].kind == PROGRAM_DOT && before > op && p->op[before].kind == PROGRAM_DOT &&
                    d->work.op[before].parent == loop;
        if (!dots || k->ahead[i].turns != 1 || d->ahead >= 0)
            return program_refuse(d->work.l, k->ahead[i].loc, "PROGRAM-AHEAD",
                                  "one dot of a loop is issued one turn ahead, before a dot that follows it; write "
                                  "ahead = { %s = { turns = 1, before = \"NAME\" } }",
                                  k->ahead[i].name);
        d->ahead_rings = 0;
        for (int o = 0; o < 2; o++) {
            int r = d->dot[op].load[o] >= 0 ? derive_ring_of(d, d->dot[op].load[o]) : -1;
            if (r < 0 || d->dot[op].converted || (d->ring[r].parent == loop && d->ring[r].users > 1) ||
                d->work.op[op].arg[2] >= 0)
                return program_refuse(d->work.l, k->ahead[i].loc, "PROGRAM-AHEAD",
                                      "%s is a sum, or has a computed operand or one that another dot reads too, and "
                                      "cannot be issued a turn ahead; name a dot of tiles that are loaded for it",
                                      k->ahead[i].name);
            if (d->ring[r].parent == loop)
                d->ahead_rings |= 1u << r;
        }
        if (d->work.op[loop].parent >= 0 && is_changed_early(d, loop, before))
            return program_refuse(d->work.l, k->ahead[i].loc, "PROGRAM-AHEAD",
                                  "in a loop within another, what %s adds to is changed by what is known before the "
                                  "turn, and ptxas serialises the dots then (C7515); change it behind the loops, or "
                                  "leave ahead out",
                                  p->op[before].name ? p->op[before].name : "the dot behind it");
        field_reads_add(&d->work.l->plan->reads, FIELD_AHEAD, i);
        d->ahead = op;
        d->before = before;
        d->ahead_shift = d->work.l->plan->loop[d->loop[loop]].step;
    }
    return 0;
}

/* One turn less, which is peeled off. */
static int one_less(struct expr_graph *g, int turns)
{
    return plan_some(expr_binary(g, EXPR_SUB, plan_number(turns), expr_int(g, 1)));
}

/* What the loop in the text leaves in flight and held where it turns: nothing is written. */
static int settle(struct derive *d, int loop)
{
    int known = d->owner_count, status = 0;
    bool dry = d->dry;
    int *owner = plan_alloc(d->work.l->plan, sizeof *owner * (size_t)(known + 1));
    if (!owner)
        return 3;
    if (known)
        memcpy(owner, d->owner, sizeof *owner * (size_t)known);
    d->dry = true;
    for (int i = 0; i < 2 && !status; i++) /* the second time with what the first leaves in flight */
        status = repeat(d, loop);
    d->dry = dry;
    for (int i = 0; i < d->owner_count; i++)
        d->owner[i] = i < known ? owner[i] : -1;
    return status;
}

/* How a loop turns. */
struct range {
    const char *name;
    int count, inside; /* plan_some(node): turns in all, and those that need no masks; 0: all may need them */
    int low;           /* plan_some(node): turns upwards that need masks which the others do not; 0: none of the kind */
    int end;           /* plan_some(node): turns that are not wholly below it need masks */
    bool one_masked;   /* at most one does */
    bool one_body;     /* turns with and without masks have one, with a branch around them */
    bool down;         /* those are the first */
};

/* The variable of the turn that is walked, in steps of the program, beyond the end of those that need no masks. */
static int beyond_end(struct derive *d, int number, int end)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    int step = expr_int(g, d->work.l->plan->loop[d->loop[number]].step);
    int variable = expr_leaf(g, EXPR_LOOP, EXPR_INT, d->loop[number]);
    return plan_some(expr_binary(g, EXPR_SUB, expr_binary(g, EXPR_ADD, variable, step), plan_number(end)));
}

/* Above 0 where the turn behind the one that is walked is not wholly below the end of those that need no masks: the
 * loop goes down. */
static int before_end(struct derive *d, int number, int end)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    int variable = expr_leaf(g, EXPR_LOOP, EXPR_INT, d->loop[number]);
    return plan_some(expr_binary(g, EXPR_SUB, variable, plan_number(end)));
}

/* Above 0 where the turn behind the one that is walked is one of the first `low` upwards, whose variable is below that
 * of the next by a step: the loop goes down. */
static int within_low(struct derive *d, int number, int low)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    const struct plan_loop *known = &d->work.l->plan->loop[d->loop[number]];
    int by = expr_binary(g, EXPR_MUL, plan_number(low), expr_int(g, known->step));
    int most = expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_ADD, known->from, by), expr_int(g, 1));
    return plan_some(expr_binary(g, EXPR_SUB, most, expr_leaf(g, EXPR_LOOP, EXPR_INT, d->loop[number])));
}

/* Turns of a loop that goes down without the masks of its last turns upwards. One body serves them, which around what
 * masks the first ones upwards has a condition: a second body is a quarter of what a compiler takes for the kernel, and
 * the condition one branch of a warp. Where turns go by a list, few of them are masked and each waits for its number: a
 * body of their own has no branch between the products (of eight documents it took 5 % less time). */
static int turns_behind(struct derive *d, int number, const struct range *r, const char *name, int count)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    if (r->low && p->list) {
        int until = plan_some(expr_binary(&p->fused, EXPR_SUB, plan_number(count), plan_number(r->low)));
        d->unmasked_low = true;
        status = turns_until(d, number, plan_text(p, "%s_within", r->name), until, 0);
        d->unmasked_low = false;
        return status ? status : turns_until(d, number, name, count, 0);
    }
    d->cut = r->low ? within_low(d, number, r->low) : r->one_body ? before_end(d, number, r->end) : 0;
    d->cut_low = r->low != 0;
    d->apart = r->one_body;
    status = turns_until(d, number, name, count, 0);
    d->cut = 0;
    d->cut_low = d->apart = false;
    return status;
}

/* Turns without masks of a loop that goes down and begins with several that have them: these begin and end by
 * themselves, and only from the last on there are more. */
static int behind_last_masked(struct derive *d, int number, const struct range *r, int count)
{
    struct plan *p = d->work.l->plan;
    struct expr_graph *g = &p->fused;
    int variable = expr_leaf(g, EXPR_LOOP, EXPR_INT, d->loop[number]);
    int left = expr_binary(g, EXPR_SUB, plan_number(r->end), variable);
    int status = both(d, (struct plan_step){.op = PLAN_WHEN,
                                            .ring = -1,
                                            .tensor = -1,
                                            .node = plan_some(expr_binary(g, EXPR_ADD, left, expr_int(g, 1))),
                                            .call = plan_text(p, "%s_behind", r->name)});
    status = status ? status : turns_behind(d, number, r, plan_text(p, "%s_inside", r->name), count);
    return status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

/* An item's source is asked for in the first half of the loop's turns, which are all alike: chunk by chunk, a share of
 * them in front of each. All blocks begin their items together, and asked for at once the chunks would hold up the
 * tiles that the products wait for: at 4096^3 by 2 % of the time. */
static bool brings_among_turns(const struct derive *d, int number, const struct range *r)
{
    return derive_brings_source(d, number) && d->ahead < 0 && !r->inside && !r->low && !r->down;
}

static int turns_among_source(struct derive *d, int number, const struct range *r, int count)
{
    struct plan *p = d->work.l->plan;
    const int chunks = p->ring[d->source_ring].stages;
    const char *of = p->tensor[d->work.program->op[d->source_of].tensor].name;
    const char *some = plan_text(p, "%s_first", r->name);
    int status = both(d, (struct plan_step){.op = PLAN_LOOP, .ring = -1, .tensor = -1, .count = chunks, .call = of});
    status = status ? status : turn_on(d, number, (struct plan_step){.node = count, .call = some, .part = 2 * chunks});
    status = status ? status : derive_bring_chunk(d);
    return status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

/* The loops of a range, as many as their bodies differ. */
static int loops(struct derive *d, int number, const struct range *r, int count, int inside)
{
    struct plan *p = d->work.l->plan;
    struct expr_graph *g = &p->fused;
    int status = 0;
    if (inside && r->down) {
        if (d->ahead < 0) {
            int masked = plan_some(expr_binary(g, EXPR_SUB, plan_number(count), plan_number(inside)));
            /* A loop even for one turn: known to begin with zeros, a sum would be moved behind its fence. */
            status = turns_until(d, number, plan_text(p, "%s_masked", r->name), masked, 0);
        }
        d->unmasked = !r->one_body;
        status = status     ? status
                 : d->alone ? behind_last_masked(d, number, r, count)
                            : turns_behind(d, number, r, r->name, count);
    } else {
        if (r->low) /* with the masks of the last ones, too, of which they may be some */
            status = turns_until(d, number, plan_text(p, "%s_masked", r->name), r->low, 0);
        d->cut = r->one_body ? beyond_end(d, number, r->end) : 0;
        inside = r->one_body ? 0 : inside;
        d->unmasked = inside != 0;
        d->unmasked_low = r->low != 0;
        if (inside && !status)
            status = turns_until(d, number, plan_text(p, "%s_inside", r->name), inside, 0);
        d->unmasked = d->unmasked_low = false;
        if (!status && brings_among_turns(d, number, r))
            status = turns_among_source(d, number, r, count);
        if (!status && !d->alone)
            status = turns_until(d, number, r->name, count, inside && r->one_masked);
        d->cut = 0;
    }
    d->unmasked = false;
    return status;
}

/* The turns of a loop, and what is peeled off. */
static int turns(struct derive *d, int number, const struct range *r)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    int status = derive_early_begin(d, number), count = r->count, inside = r->inside;
    d->around = number;
    if (!status && derive_brings_source(d, number) && !brings_among_turns(d, number, r))
        status = derive_bring_source(d);
    if (d->ahead >= 0 && !status) {
        status = derive_issue(d, d->ahead, PLAN_FROM_ZERO, 0);
        d->cut = inside ? beyond_end(d, number, r->end) : 0;
        status = status ? status : begin_turn(d, number, 0);
        d->cut = 0;
        count = one_less(g, count);
        inside = inside ? one_less(g, inside) : 0;
    }
    status = status ? status : settle(d, number);
    int flights = d->flights, helds = d->helds;
    status = status ? status : loops(d, number, r, count, inside);
    if (!status && (d->flights != flights || d->helds != helds))
        status = derive_refuse(d, number, "what is in flight at the end of a turn differs from turn to turn");
    status = status ? status : derive_early_leave(d, number);
    return status || d->ahead < 0 ? status : rest_of_turn(d, number, true);
}

/* plan_some(node): the variable of the first turn, upwards, that needs masks. */
static int first_masked(struct derive *d, int number, int inside)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    const struct plan_loop *known = &d->work.l->plan->loop[d->loop[number]];
    int by = expr_binary(g, EXPR_MUL, plan_number(inside), expr_int(g, known->step));
    return plan_some(expr_binary(g, EXPR_ADD, known->from, by));
}

/* The last of `count` turns becomes the first. */
static int turn_around(struct derive *d, int number, int count)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    struct plan_loop *known = &d->work.l->plan->loop[d->loop[number]];
    int by = expr_binary(g, EXPR_MUL, plan_number(one_less(g, count)), expr_int(g, known->step));
    known->first = plan_some(expr_binary(g, EXPR_ADD, known->from, by));
    d->ahead_shift = -d->ahead_shift;
    return known->first ? 0 : 3;
}

/* range.low, of so many turns upwards that need such masks; a loop upwards that looks ahead does not part them. */
static int low_turns(struct derive *d, const struct range *r, int low)
{
    if (!low || !r->inside || (!r->down && d->ahead >= 0))
        return 0;
    return r->down ? low : derive_least(&d->work.l->plan->fused, low, r->count);
}

/* one_body: of a loop upwards that does not look ahead, where the way of the next tiles hides what masks take; and of
 * one that goes down from several turns with masks, where the compiler's waits are held: so the next dot runs under all
 * of them but the first. Each turn asks then, so that the end stands without a division. */
static void find_end(struct derive *d, int number, int until, struct range *r)
{
    const bool plain = r->inside && !r->low && d->work.l->listed != plan_some(number);
    r->one_body = plain && (r->down ? d->ahead >= 0 && !r->one_masked && derive_holds_waits(d)
                                    : d->ahead < 0 && derive_waits_for_memory(d, number));
    if (r->one_body && r->down)
        r->end = derive_end_inside(d, number, until);
    else if (r->inside && (d->ahead >= 0 || r->one_body))
        r->end = first_masked(d, number, r->inside);
}

static int loop(struct derive *d, int number)
{
    const struct program_op *l = &d->work.program->op[number];
    int around = d->around, inside;
    struct derive_inside masks;
    bool outer_alone = d->alone, may_peel = d->work.l->kernel->ahead_count > 0;
    int status = d->flights ? derive_wait(d, d->flights - 1) : 0; /* a loop knows its own groups alone */
    if (!status && !d->producer)
        status = derive_fill_outer(d, number);
    if (!status && d->producer && !may_peel)
        status = derive_take_for(d, number, false);
    status = status ? status : derive_first_values(d, number);
    int count = status ? 0 : range_of(d, number, &status), possible = 0;
    if (!status && !d->producer) {
        status = derive_fill_prologue(d, number);
        status = status ? status : derive_take_outer(d, number);
        status = status ? status : derive_take_for(d, number, false);
    }
    status = status ? status : derive_turns_possible(d, number, &possible);
    status = status ? status : derive_turns_inside(d, number, &masks);
    status = status ? status : find_ahead(d, number);
    const char *name = plan_text(d->work.l->plan, "%s", l->name ? l->name : "loop");
    if (status || !name)
        return status ? status : 3;
    struct expr_graph *g = &d->work.l->plan->fused;
    if (possible) {
        count = derive_least(g, count, possible);
        if (!d->dry && family_reason(d->work.l->plan, plan_text(d->work.l->plan, "turns.%s", name), "visible", "%s",
                                     "behind the last that its masks let anything into, turns would change nothing"))
            return 3;
    }
    inside = masks.until ? derive_least(g, masks.until, count) : 0;
    struct range range = {
        .name = name, .count = count, .inside = inside, .one_masked = inside && derive_one_masked(d, number, &status)};
    range.down = !status && derive_goes_down(d, number, possible && inside, &status);
    range.low = low_turns(d, &range, masks.low);
    if (!status)
        find_end(d, number, masks.until, &range);
    if (!status && range.down)
        status = turn_around(d, number, count);
    if (status)
        return status;
    /* Around what is peeled: a condition, or the loop of the turns that begin and end by themselves: those that need
     * masks, but for one in front of the others, and but for those of a loop upwards whose masks leave turns out. They
     * are many then, the last of each item, and have a loop that looks ahead. */
    bool peeled = d->ahead >= 0;
    bool alone = d->alone = peeled && inside && (range.down ? !range.one_masked && !range.one_body : !possible);
    struct plan_step around_peeled = {.op = alone ? PLAN_LOOP : PLAN_WHEN,
                                      .ring = -1,
                                      .tensor = -1,
                                      .node = count,
                                      .loop = alone ? plan_some(d->loop[number]) : 0,
                                      .call = alone ? name : plan_text(d->work.l->plan, "%s_any", name)};
    status = derive_zeros_without_turns(d, number, name, count);
    if (d->producer && may_peel && (!peeled || alone) && !status)
        status = derive_take_for(d, number, false);
    int helds = d->helds;
    if (peeled && !status)
        status = both(d, around_peeled);
    if (d->producer && peeled && !alone && !status)
        status = derive_take_for(d, number, true);
    status = status ? status : turns(d, number, &range);
    status = status ? status : derive_late_left(d, number);
    d->around = around;
    d->ahead = d->before = -1;
    d->alone = outer_alone;
    for (int i = number; i < l->end && d->work.op[number].parent >= 0; i++)
        d->behind = d->behind || peeled || (l[i - number].kind == PROGRAM_DOT && is_changed_early(d, number, i));
    if (peeled && !status && d->flights)
        status = derive_wait(d, d->flights - 1);
    if (!status && alone && d->helds != helds)
        status = derive_refuse(d, number, "stages are held between turns that begin and end by themselves");
    if (alone && !status)
        status = both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    for (int i = 0; i < d->helds; i++)
        if (d->ring[d->held[i].ring].inner == number)
            d->held[i].uses = 0;
    status = status ? status : derive_release(d);
    if (peeled && !alone && !status)
        status = both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    status = status ? status : derive_keep(d, number);
    return status ? status : derive_add_lanes(d, number);
}

static int body(struct derive *d, int first, int end)
{
    int status = 0;
    for (int i = first; i < end && !status; i++) {
        const struct program_op *op = &d->work.program->op[i];
        switch (op->kind) {
        case PROGRAM_DOT:
            status = d->ahead == i ? 0 : derive_dot_steps(d, i);
            break;
        case PROGRAM_REDUCE:
            status = d->done[i] ? 0 : derive_reduce(d, i);
            d->done[i] = false;
            break;
        case PROGRAM_STORE:
        case PROGRAM_STORE_ADD:
            status = derive_store(d, i);
            break;
        case PROGRAM_LOOP:
            status = loop(d, i);
            i = op->end;
            break;
        case PROGRAM_RESULT:
            status = derive_add_parts(d, i);
            status = status ? status : derive_own(d, derive_home_of(d, d->work.op[i].leaf), d->work.op[i].leaf);
            break;
        default:
            break;
        }
    }
    return status;
}

/* Other blocks' consumers arrive at this one's barriers: nobody leaves before them. */
static bool is_multicast(const struct derive *d, const struct derive_ring *ring)
{
    for (int i = 0; i < ring->load_count; i++)
        if (d->work.l->plan->tensor[d->work.program->op[ring->load[i]].tensor].multicast > 1)
            return true;
    return false;
}

static int items_begin(struct derive *d)
{
    struct plan_step step = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "tiles"};
    int status = d->producer ? derive_emit(d, d->producer, step) : 0;
    if (in_turn(d))
        step.share = d->consumers;
    return status ? status : derive_emit(d, d->consumer, step);
}

/* One past the last operation of an item that a dot is issued in, loops whole. */
static int end_of_dots(const struct derive *d)
{
    int end = 0;
    for (int i = 0; i < d->work.program->op_count; i++) {
        int at = i;
        while (d->work.op[at].parent >= 0)
            at = d->work.op[at].parent;
        if (d->work.program->op[i].kind == PROGRAM_DOT)
            end = (at == i ? i : d->work.program->op[at].end) + 1;
    }
    return end;
}

/* An item: its dots in its turn, and what is behind them as soon as the next one's may begin. */
static int item(struct derive *d)
{
    int all = d->work.program->op_count, dots = in_turn(d) ? end_of_dots(d) : all, status = 0;
    if (in_turn(d))
        status = derive_pass_on(d, PLAN_BARRIER, 0,
                                "the stages before this item's are known to be full, and their dots issued");
    if (!status && d->source && !derive_brings_source(d, -1))
        status = derive_bring_source(d);
    status = status ? status : body(d, 0, dots);
    if (!status && in_turn(d))
        status = derive_pass_on(d, PLAN_BARRIER_ARRIVE, 0,
                                "this item's dots are issued: the next one's follow on the tensor cores");
    return status ? status : body(d, dots, all);
}

int derive_steps(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    d->around = d->ahead = d->before = -1;
    int status = derive_zeros_before_items(d);
    status = status ? status
                    : derive_pass_on(d, PLAN_BARRIER_ARRIVE, plan_some(d->consumers - 1),
                                     in_turn(d) ? "the first may begin" : NULL);
    status = status ? status : derive_next_item(d, true);
    status = status ? status : items_begin(d);
    status = status ? status : derive_take_item(d);
    status = status ? status : item(d);
    if (!status && d->flights) /* every result is stored, or is refused as unused */
        status = derive_refuse(d, d->flight[0].dot, "a dot is in flight at an item's end, and nobody waits for it");
    status = status ? status : derive_end_last(d);
    status = status ? status : derive_next_item(d, false);
    status = status ? status : both(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    status = status ? status : derive_late_left(d, -1);
    status = status ? status : derive_end_items(d);
    status = status       ? status
             : in_turn(d) ? derive_pass_on(d, PLAN_BARRIER, PLAN_NEXT, "nobody leaves behind what was passed on to it")
                          : derive_pass_on(d, PLAN_BARRIER, plan_some(0), NULL);
    for (int r = 0; r < d->ring_count && !status; r++)
        if (is_multicast(d, &d->ring[r]))
            status = derive_emit(d, d->producer,
                                 (struct plan_step){.op = PLAN_DRAIN,
                                                    .ring = d->ring[r].number,
                                                    .tensor = -1,
                                                    .call = plan_text(p, "%s_drain", d->ring[r].name)});
    status = status ? status : derive_drain_parts(d);
    int ring = p->ring_count - 1;
    if (!status && ring >= 0 && p->ring[ring].filler == PLAN_FILL_THREADS)
        status = derive_emit(d, d->consumer,
                             (struct plan_step){.op = PLAN_STORE_WAIT,
                                                .ring = ring,
                                                .tensor = -1,
                                                .call = "d_wait_0",
                                                .why = "the block may not end while a bulk store reads"});
    return status;
}
