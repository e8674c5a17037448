/* Loops: what is carried, totals that their end completes, tiles that stay, loads ahead. */
#include "lower/direct/direct.h"

#include <string.h>

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The loop's variable; loops over the same range have one. */
int direct_loop_variable(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct plan *p = d->plan;
    int from = direct_value(d, o->from), to = direct_value(d, o->to);
    int64_t by = 1;
    if (from < 0 || to < 0)
        return direct_failed(d, number);
    if (!expr_is_int(d->program->graph, o->step, &by) || by < 1 || by > INT32_MAX)
        return direct_refuse(d, number, "the step of a loop is a constant; write range(from, to, 64)");
    for (int i = 0; i < p->loop_count; i++)
        if (p->loop[i].from == from && p->loop[i].to == to && p->loop[i].step == by && !o->depth) {
            d->op[number].loop = plan_some(i);
            return 0;
        }
    struct plan_loop *grown = plan_alloc(p, sizeof *grown * (size_t)(p->loop_count + 1));
    const char *word = plan_text(p, "at_%s", o->name ? o->name : "loop");
    const char *name = word ? direct_new_name(d, word) : NULL;
    if (!grown || !name)
        return 3;
    if (p->loop_count)
        memcpy(grown, p->loop, sizeof *grown * (size_t)p->loop_count);
    grown[p->loop_count] = (struct plan_loop){.name = name, .from = from, .to = to, .step = (int)by};
    p->loop = grown;
    d->op[number].loop = plan_some(p->loop_count++);
    return 0;
}

static int begin_loop(struct direct *d, int number, int turns, bool kept, int less)
{
    int loop = d->op[number].loop;
    d->around[d->depth++] = plan_number(loop);
    d->loaded[d->depth] = 0;
    d->gathered = d->number_count = d->operand_count = 0;
    return direct_add_step(d, (struct plan_step){.op = PLAN_LOOP,
                                                 .ring = -1,
                                                 .tensor = -1,
                                                 .count = turns,
                                                 .less = less,
                                                 .loop = loop,
                                                 .kept = kept,
                                                 .why = kept   ? "turns whose tiles stay in registers for later loops"
                                                        : less ? "turns beyond those whose tiles stay"
                                                               : NULL,
                                                 .call = d->plan->loop[plan_number(loop)].name});
}

static int end_loop(struct direct *d)
{
    d->depth--;
    d->number_count = d->operand_count = 0;
    return direct_add_step(d, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

/* The reduction of the loop's body that value k is the running total of, read by nobody within: -1 where it is none. */
static int running_total(const struct direct *d, int loop, int k)
{
    const struct program *p = d->program;
    const struct expr_graph *g = p->graph;
    const struct expr_node *n = &g->node[p->op[p->op[loop].end].value[k].node];
    for (int i = 0; i < 2 && (n->op == EXPR_ADD || n->op == EXPR_MAX || n->op == EXPR_MIN); i++) {
        const struct expr_node *a = &g->node[n->arg[i]], *b = &g->node[n->arg[1 - i]];
        if (a->op != EXPR_TILE || b->op != EXPR_TILE)
            continue;
        const struct program_op *before = &p->op[a->integer], *o = &p->op[b->integer];
        bool fits = before->kind == PROGRAM_PARAM && before->loop == loop && before->which == k &&
                    o->kind == PROGRAM_REDUCE && o->depth == p->op[loop].depth + 1 && b->integer > loop &&
                    b->integer < p->op[loop].end;
        enum expr_op op = o->reduction == PROGRAM_SUM ? EXPR_ADD : o->reduction == PROGRAM_MAX ? EXPR_MAX : EXPR_MIN;
        if (fits && n->op == op && d->op[a->integer].uses == 1 && d->op[b->integer].uses == 1)
            return (int)b->integer;
    }
    return -1;
}

/* PARAM or RESULT k of the loop. */
static int carried_op(const struct direct *d, int loop, enum program_kind kind, int k)
{
    for (int i = loop; i < d->program->op_count; i++)
        if (d->program->op[i].kind == kind && d->program->op[i].loop == loop && d->program->op[i].which == k)
            return i;
    return -1;
}

static bool reads_place(const struct expr_graph *g, int node, int place)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_TILE)
        return n->integer == place;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && reads_place(g, n->arg[i], place))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (reads_place(g, g->index[n->first_index + i], place))
            return true;
    return false;
}

/* What a turn carries on. All values are those of before: one that another still reads goes by a place between. */
static int carry_on(struct direct *d, int loop, const int *total)
{
    const struct program_op *end = &d->program->op[d->program->op[loop].end];
    int count = d->program->op[loop].carried, node[PROGRAM_MAX_CARRIED], place[PROGRAM_MAX_CARRIED];
    int between[PROGRAM_MAX_CARRIED] = {0}, status = 0;
    for (int k = 0; k < count; k++) {
        if (total[k] >= 0)
            continue;
        place[k] = d->op[carried_op(d, loop, PROGRAM_PARAM, k)].place;
        d->layout = plan_number(d->plan->place[plan_number(place[k])].layout);
        node[k] = direct_value_of(d, &end->value[k]);
        if (node[k] < 0 || d->misfit)
            return direct_failed(d, d->program->op[loop].end);
        if ((node[k] = direct_pairs(d, node[k], d->layout)) < 0)
            return 3;
    }
    for (int k = 0; k < count && !status; k++) {
        bool later = false;
        if (total[k] >= 0)
            continue;
        for (int o = k + 1; o < count; o++)
            later = later || (total[o] < 0 && reads_place(&d->plan->fused, node[o], plan_number(place[k])));
        if (later) {
            const struct plan_place at = d->plan->place[plan_number(place[k])];
            const char *name = plan_text(d->plan, "%s_next", at.name);
            struct plan_place next = at;
            next.name = name ? direct_new_name(d, name) : NULL;
            between[k] = next.name ? plan_add_place(d->plan, next) : 0;
            if (!between[k])
                return 3;
        }
        status = direct_set(d, later ? between[k] : place[k], node[k]);
    }
    for (int k = 0; k < count && !status; k++)
        if (total[k] < 0 && between[k]) {
            enum expr_type type = d->plan->place[plan_number(place[k])].dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
            status = direct_set(d, place[k], expr_leaf(&d->plan->fused, EXPR_TILE, type, plan_number(between[k])));
        }
    return status;
}

/* Loads of a turn that are issued in the turn before, so that they are on their way while that is computed. */
enum { AHEAD_REGISTERS = 40 };
struct ahead {
    int load[8], now[8], next[8], count; /* operations, places */
};

static void find_ahead(struct direct *d, int loop, struct ahead *a)
{
    int registers = 0;
    a->count = 0;
    for (int i = loop + 1; i < d->program->op[loop].end; i++) {
        const struct program_op *o = &d->program->op[i];
        bool fits = o->kind == PROGRAM_LOAD && o->depth == d->program->op[loop].depth + 1 && o->tile.columns > 1 &&
                    !d->op[i].picks && !d->op[i].place && !d->op[i].aside && direct_is_free(d, i) && a->count < 8;
        int bytes = fits ? (int)tw_dtype_bytes(o->tile.dtype) * o->tile.rows * o->tile.columns / d->threads : 0;
        if (!fits || (registers += (bytes + 3) / 4) > AHEAD_REGISTERS)
            continue;
        a->load[a->count++] = i;
    }
    if (registers > AHEAD_REGISTERS || d->vector == 1)
        a->count = 0;
}

/* Loads the turn whose variable is `at` into the places of the next turn, if there is such a turn. */
static int load_ahead(struct direct *d, int loop, const struct ahead *a, int at)
{
    struct expr_graph *g = &d->plan->fused;
    int guard = expr_binary(g, EXPR_LT, at, d->plan->loop[plan_number(d->op[loop].loop)].to),
        status = guard < 0 ? 3 : 0;
    int64_t always;
    if (!status && g->node[guard].op == EXPR_CONST_INT && (always = g->node[guard].integer) != 0)
        guard = -1;
    d->op[loop].ahead = plan_some(at);
    d->op_ahead = true;
    for (int i = 0; i < a->count && !status; i++)
        status = direct_load_guarded(d, a->load[i], a->next[i], guard);
    d->op[loop].ahead = 0;
    d->op_ahead = false;
    return status;
}

static int begin_ahead(struct direct *d, int loop, struct ahead *a, int less)
{
    const struct plan_loop *l = &d->plan->loop[plan_number(d->op[loop].loop)];
    struct expr_graph *g = &d->plan->fused;
    int first = expr_binary(g, EXPR_ADD, l->from, expr_int(g, (int64_t)less * l->step));
    for (int i = 0; i < a->count; i++) {
        const struct program_op *o = &d->program->op[a->load[i]];
        const char *word = direct_word_of(d, a->load[i], d->plan->tensor[o->tensor].name);
        const char *next = plan_text(d->plan, "%s_next", word);
        struct direct_shape shape = {o->tile.rows, o->tile.columns};
        a->now[i] = direct_new_place(d, word, shape, o->tile.dtype, true, 0);
        a->next[i] = next ? direct_new_place(d, next, shape, o->tile.dtype, true, 0) : 0;
        if (!a->now[i] || !a->next[i])
            return 3;
    }
    return first < 0 ? 3 : a->count ? load_ahead(d, loop, a, first) : 0;
}

/* At the head of a turn: its own tiles are there, those of the next are asked for. */
static int turn_ahead(struct direct *d, int loop, const struct ahead *a)
{
    const struct plan_loop *l = &d->plan->loop[plan_number(d->op[loop].loop)];
    struct expr_graph *g = &d->plan->fused;
    int at = expr_leaf(g, EXPR_LOOP, EXPR_INT, plan_number(d->op[loop].loop));
    int next = at < 0 ? -1 : expr_binary(g, EXPR_ADD, at, expr_int(g, l->step)), status = next < 0 ? 3 : 0;
    for (int i = 0; i < a->count && !status; i++) {
        enum expr_type type = d->program->graph->node[d->program->op[a->load[i]].tile.node].type;
        d->op[a->load[i]].place = a->now[i];
        status = direct_set(d, a->now[i], expr_leaf(g, EXPR_TILE, type, plan_number(a->next[i])));
    }
    return status || !a->count ? status : load_ahead(d, loop, a, next);
}

/* One loop of the plan over the body. */
static int turns_of(struct direct *d, int loop, const int *total, struct plan_step how)
{
    struct ahead ahead = {.count = 0};
    if (!how.kept)
        find_ahead(d, loop, &ahead);
    int status = begin_ahead(d, loop, &ahead, how.less);
    if (!status)
        status = begin_loop(d, loop, how.count, how.kept, how.less);
    if (!status)
        status = turn_ahead(d, loop, &ahead);
    if (!status)
        status = direct_lower_body(d, loop + 1, d->program->op[loop].end);
    if (!status)
        status = carry_on(d, loop, total);
    for (int i = 0; i < ahead.count; i++)
        d->op[ahead.load[i]].place = 0;
    return status ? status : end_loop(d);
}

/* The tiles that stay get places with turns; the first loop of the group fills them. */
static int load_kept(struct direct *d, int loop, const struct direct_keep *keep)
{
    int status = 0, *kept = d->kept;
    for (int i = 0; i < keep->load_count && loop == keep->first; i++) {
        const struct program_op *o = &d->program->op[keep->load[i]];
        const char *name =
            plan_text(d->plan, "%s_kept", direct_word_of(d, keep->load[i], d->plan->tensor[o->tensor].name));
        struct direct_shape shape = {o->tile.rows, o->tile.columns};
        kept[keep->load[i]] = name ? direct_new_place(d, name, shape, o->tile.dtype, true, keep->turns) : 0;
        if (!kept[keep->load[i]])
            return 3;
    }
    if (loop == keep->first) {
        status = begin_loop(d, loop, keep->turns, true, 0);
        for (int i = 0; i < keep->load_count && !status; i++)
            status = direct_load_into(d, keep->load[i], kept[keep->load[i]]);
        if (!status)
            status = end_loop(d);
    }
    return status;
}

static int begin_carried(struct direct *d, int loop, int *total)
{
    const struct program_op *o = &d->program->op[loop];
    int status = 0;
    for (int k = 0; k < o->carried && !status; k++) {
        total[k] = running_total(d, loop, k);
        if (total[k] >= 0) {
            status = direct_begin_reduction(d, total[k]);
            continue;
        }
        int param = carried_op(d, loop, PROGRAM_PARAM, k), result = carried_op(d, loop, PROGRAM_RESULT, k);
        const struct program_op *p = &d->program->op[param];
        const char *name = plan_text(d->plan, "%s_%d", o->name ? o->name : "carried", k + 1);
        enum expr_type type = p->tile.dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
        int place = name ? direct_new_place(d, name, (struct direct_shape){p->tile.rows, p->tile.columns},
                                            direct_value_dtype(type), false, 0)
                         : 0;
        if (!place)
            return 3;
        d->layout = plan_number(d->plan->place[plan_number(place)].layout);
        int node = direct_value_of(d, &o->value[k]);
        if (node < 0 || d->misfit)
            return direct_failed(d, loop);
        d->op[param].place = place;
        if (result >= 0)
            d->op[result].place = place;
        status = direct_set(d, place, node);
    }
    return status;
}

/* Totals are made whole and added to what the loop began with. */
static int end_carried(struct direct *d, int loop, const int *total)
{
    static const enum expr_op op[PROGRAM_REDUCTIONS] = {
        [PROGRAM_SUM] = EXPR_ADD, [PROGRAM_MAX] = EXPR_MAX, [PROGRAM_MIN] = EXPR_MIN};
    const struct program_op *o = &d->program->op[loop];
    struct expr_graph *g = &d->plan->fused;
    int number[PROGRAM_MAX_CARRIED], count = 0, status = 0;
    for (int k = 0; k < o->carried; k++)
        if (total[k] >= 0)
            number[count++] = total[k];
    status = count ? direct_complete(d, number, count) : 0;
    for (int k = 0; k < o->carried && !status; k++) {
        if (total[k] < 0)
            continue;
        int place = d->op[total[k]].part, result = carried_op(d, loop, PROGRAM_RESULT, k);
        const struct program_op *r = &d->program->op[total[k]];
        enum expr_type type = d->plan->place[plan_number(place)].dtype == TW_INT64 ? EXPR_INT : EXPR_REAL;
        d->layout = plan_number(d->plan->place[plan_number(place)].layout);
        int first = direct_value_of(d, &o->value[k]), none = direct_identity(d, r);
        int part = expr_leaf(g, EXPR_TILE, type, plan_number(place));
        if (first < 0 || none < 0 || part < 0 || d->misfit)
            return direct_failed(d, loop);
        if (first != none) {
            int sum = expr_binary(g, op[r->reduction], first, part);
            status = direct_set(d, place, sum);
        }
        if (result >= 0)
            d->op[result].place = place;
        d->op[total[k]].part = 0;
    }
    return status;
}

int direct_lower_loop(struct direct *d, int loop)
{
    const struct program_op *o = &d->program->op[loop];
    int total[PROGRAM_MAX_CARRIED];
    struct direct_keep keep;
    int status = begin_carried(d, loop, total);
    d->op[loop].plain = direct_is_plain(d, loop);
    if (!status)
        direct_keep(d, loop, &keep);
    if (!status && keep.turns) {
        status = load_kept(d, loop, &keep);
        for (int i = loop + 1; i < o->end; i++)
            d->op[i].place =
                d->program->op[i].kind == PROGRAM_LOAD ? direct_kept(d, &keep, d->kept, i) : d->op[i].place;
        if (!status)
            status = turns_of(d, loop, total, (struct plan_step){.count = keep.turns, .kept = true});
        for (int i = loop + 1; i < o->end; i++)
            if (d->program->op[i].kind == PROGRAM_LOAD)
                d->op[i].place = 0;
        if (!status && !keep.all)
            status = turns_of(d, loop, total, (struct plan_step){.less = keep.turns});
    } else if (!status) {
        status = turns_of(d, loop, total, (struct plan_step){0});
    }
    return status ? status : end_carried(d, loop, total);
}
