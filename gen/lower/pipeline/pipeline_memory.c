/* Sums and computed operands in tensor memory (tcgen05): which columns they have, and the barriers by which products
 * are waited for.
 *
 * A warpgroup's products are what a wgmma's are: they join groups, which end in order, and MMA_WAIT waits until so many
 * are left. Here a group ends by an arrival on an mbarrier, of which a consumer has n: group i arrives on barrier i %
 * n, which completes phase i / n. Every thread waits for every group, once and in order, so that no phase is taken for
 * another: which of two arrivals on two barriers comes first nobody promises. And a barrier completes no phase more
 * before all threads have seen the one before: MMA_FENCE, in front of what begins a group, is a meeting of the
 * warpgroup's warps, and n the most groups that a thread may not have seen when it comes to that meeting, with those
 * that end before the next one. So what the protocol check proves of wgmma's groups, whose instructions are the whole
 * warpgroup's, holds for these.
 */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum {
    WARPGROUP = 128,
    LEAST_COLUMNS = 32,
    UPPER_HALF = 16 << 16, /* of an address: lane 16 */
    OTHER_REGISTERS = 24,  /* of a thread beside its places */
    GROUP_BARRIER = 9, /* hardware barriers of each consumer's warps, and of all with the warp that allocates, two */
    ALL_BARRIER = 12,
    MOST_GROUPS = 8,
    PIECE_COLUMNS = 32, /* of sums that threads change where they are: a power of two, which come and go at once */
    PLACE_BYTES = 16,   /* where the address of the columns is handed on */
};

int pipeline_memory_bytes(const struct pipeline *x)
{
    return x->l->arch->tensor_columns ? PLACE_BYTES + 8 * MOST_GROUPS * x->d.consumers : 0;
}

bool pipeline_stays_in_memory(const struct pipeline *x)
{
    bool stays = x->l->arch->tensor_columns > 0;
    for (int i = 0; i < x->program->op_count && stays; i++) {
        const struct program_op *o = &x->program->op[i];
        int row_spans = 0; /* along several rows go out by elements from registers */
        switch (o->kind) {
        case PROGRAM_DOT:
            stays = x->d.work.op[i].parent >= 0 && x->d.work.op[x->d.work.op[i].parent].parent < 0 &&
                    derive_starts_from_zero(&x->d, i);
            break;
        case PROGRAM_LOOP:
            stays = !o->parts;
            break;
        case PROGRAM_STORE:
            for (int d = 0; d < x->plan->tensor[o->tensor].rank; d++)
                row_spans += !o->at[d].column && o->at[d].length > 1;
            stays = row_spans <= 1 && o->arg[0].columns > 1 && x->d.work.op[i].parent < 0;
            break;
        case PROGRAM_LOAD:
        case PROGRAM_GATHER:
        case PROGRAM_TRANSPOSE:
        case PROGRAM_PARAM:
        case PROGRAM_END:
        case PROGRAM_RESULT:
            break;
        default:
            stays = false;
        }
    }
    return stays;
}

int pipeline_own_rows(const struct pipeline *x)
{
    if (!x->d.in_memory || x->d.rows % (2 * PIPELINE_ROWS))
        return PIPELINE_ROWS;
    const struct spec_value *store = pipeline_field(x, "pipeline.store");
    bool fills = !store->set || strcmp(store->text, "late") != 0;
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_DOT) /* such an instruction has multiples of 16 columns */
            fills = fills && x->d.dot[i].load[0] >= 0 && !x->d.dot[i].converted &&
                    x->program->op[i].tile.columns % 16 == 0;
    return fills ? 2 * PIPELINE_ROWS : PIPELINE_ROWS;
}

bool pipeline_is_wide(const struct pipeline *x)
{
    return x->d.blocks == 2 && pipeline_own_rows(x) == 2 * PIPELINE_ROWS;
}

/* Groups on their way. */
struct flight {
    int own, met; /* that a thread has not seen; that one may not have seen when all met last, and those since */
    int most;
};

static int follow(const struct plan_role *role, int first, struct flight *f)
{
    int i = first;
    for (; i < role->step_count && role->step[i].op != PLAN_END; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->op == PLAN_LOOP || s->op == PLAN_WHEN) { /* turns begin alike from the second on */
            const struct flight before = *f;
            int end = i;
            for (int turn = 0; turn < (s->op == PLAN_LOOP ? 3 : 1); turn++)
                end = follow(role, i + 1, f);
            f->own = f->own > before.own ? f->own : before.own; /* it may be passed by */
            f->met = f->met > before.met ? f->met : before.met;
            i = end;
        }
        if (s->op == PLAN_MMA_COMMIT) {
            f->own++;
            f->met++;
        }
        if (s->op == PLAN_MMA_WAIT && s->count < f->own)
            f->own = s->count;
        if (s->op == PLAN_MMA_FENCE)
            f->met = f->own;
        f->most = f->met > f->most ? f->met : f->most;
    }
    return i;
}

/* Barriers of a consumer: a power of two. */
static int groups(const struct plan_role *role)
{
    struct flight f = {0};
    int count = 1;
    follow(role, 0, &f);
    while (count < f.most)
        count *= 2;
    return count;
}

/* Products add to what threads made of the place's sums: these go back to tensor memory before. */
static bool is_kept(const struct plan_role *role, int place)
{
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->op != PLAN_MMA || s->place != place || s->least == PLAN_FROM_ZERO)
            continue;
        if (s->least != PLAN_FROM_ZERO_FIRST)
            return true;
        for (int k = i - 1; k >= 0 && role->step[k].op != PLAN_LOOP; k--)
            if (role->step[k].op == PLAN_TOUCH && role->step[k].place == place)
                return true;
    }
    return false;
}

/* ---- sums that threads change where they are --------------------------------------------------------------------- */

/* The Plan has the value KIND.NAME. */
static bool has_value(const struct plan *p, const char *kind, const char *name)
{
    const size_t length = strlen(kind);
    for (int i = 0; i < p->value_count; i++)
        if (strncmp(p->value[i].name, kind, length) == 0 && p->value[i].name[length] == '.' &&
            strcmp(p->value[i].name + length + 1, name) == 0)
            return true;
    return false;
}

/* reached[node]: the root takes it. */
static void reach(const struct expr_graph *g, int root, bool *reached)
{
    const struct expr_node *n = &g->node[root];
    if (reached[root])
        return;
    reached[root] = true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            reach(g, n->arg[i], reached);
    for (int d = 0; n->op == EXPR_TENSOR && d < n->rank; d++)
        reach(g, g->index[n->first_index + d], reached);
}

/* Beside values of rows and columns the step's arithmetic takes the place's sums alone (*takes), or none of it. */
static bool takes_alone(const struct plan *p, const struct plan_step *s, int place, bool *reached, bool *takes)
{
    bool others = false;
    *takes = false;
    if (!s->node)
        return true;
    memset(reached, 0, sizeof *reached * ((size_t)p->fused.count + 1));
    reach(&p->fused, plan_number(s->node), reached);
    for (int i = 0; i < p->fused.count; i++) {
        const struct expr_node *n = &p->fused.node[i];
        if (!reached[i] || n->op != EXPR_TILE)
            continue;
        const enum plan_place_kind kind = p->place[n->integer].kind;
        *takes = *takes || n->integer == place;
        others = others || (n->integer != place && kind != PLAN_PLACE_ROWS);
    }
    return !others;
}

/* All that threads do with the place's sums is to change each by itself, and to store them: pieces of a few columns
 * come into registers for that, one at a time. */
static bool goes_in_pieces(const struct plan *p, const struct plan_role *role, int place, bool *reached)
{
    bool multiplied = false;
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        const bool here = s->place == plan_some(place);
        bool takes, alone = takes_alone(p, s, place, reached, &takes);
        multiplied = multiplied || (s->op == PLAN_MMA && here);
        if (here && s->op != PLAN_MMA && (s->op != PLAN_TOUCH || (s->call && strcmp(s->call, "evaluate") != 0)))
            return false;
        if (here && s->op == PLAN_TOUCH && !alone)
            return false;
        if (!takes || (here && s->op == PLAN_TOUCH))
            continue;
        if (!alone || s->place || (s->op != PLAN_WRITE && (s->op != PLAN_GLOBAL || s->cols <= 1)))
            return false;
    }
    return multiplied;
}

/* Threads compute the operand, all of it at once: it goes where products read it as it is made. */
static bool is_given(const struct plan_role *role, int place)
{
    bool given = false;
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->place != plan_some(place))
            continue;
        if (s->op != PLAN_TOUCH || (s->call && !s->node))
            return false;
        given = given || s->node;
    }
    return given;
}

/* 0 or 3. */
static int find_pieces(struct pipeline *x)
{
    struct plan *p = x->plan;
    bool *reached = plan_alloc(p, sizeof *reached * ((size_t)p->fused.count + 1));
    if (!reached)
        return 3;
    for (int i = 0; i < p->place_count && !x->d.in_memory; i++) {
        int width = PIECE_COLUMNS;
        if (p->place[i].kind == PLAN_PLACE_OPERAND && is_given(x->d.consumer, i) &&
            family_add_value(p, plan_text(p, "given.%s", p->place[i].name), 1))
            return 3;
        if (p->place[i].kind != PLAN_PLACE_ACCUMULATOR || !goes_in_pieces(p, x->d.consumer, i, reached))
            continue;
        while (p->place[i].cols % width)
            width /= 2;
        if (family_add_value(p, plan_text(p, "pieces.%s", p->place[i].name), width))
            return 3;
        p->place[i].registers = width / 2;
    }
    return 0;
}

/* ---- registers, columns, barriers -------------------------------------------------------------------------------- */

int pipeline_registers_spared(const struct pipeline *x)
{
    const struct plan *p = x->plan;
    int most = 0, sum = 0;
    for (int i = 0; i < p->place_count; i++)
        if (has_value(p, "pieces", p->place[i].name) || has_value(p, "given", p->place[i].name)) {
            sum += p->place[i].registers;
            most = p->place[i].registers > most ? p->place[i].registers : most;
        }
    return sum - most;
}

int pipeline_even_share(const struct pipeline *x)
{
    return x->l->arch->registers_per_sm / x->blocks_per_sm / pipeline_threads(x) / 8 * 8;
}

/* For such an architecture ptxas (13.0.88) spills what roles have in common, most often, where they have setmaxnreg. */
bool pipeline_shares_evenly(const struct pipeline *x)
{
    const int taken = pipeline_registers_taken(x) - pipeline_registers_spared(x) + OTHER_REGISTERS;
    return x->d.in_memory ||
           (x->l->arch->tensor_columns && (taken > x->held ? taken : x->held) <= pipeline_even_share(x));
}

/* Of 64 rows a warp has the first or the last 16 of its 32 lanes, of 128 (wide) all: columns count twice. An operand
 * lies in the lanes of the sums that it is multiplied into. half[place], 0 or 1. */
static void choose_halves(const struct plan *p, const struct plan_role *role, int blocks, bool wide, int *half)
{
    int used[2] = {0, 0};
    for (int i = 0; i < p->place_count; i++) {
        const struct plan_place *q = &p->place[i];
        int forced = -1;
        if (q->kind != PLAN_PLACE_ACCUMULATOR)
            continue;
        for (int s = 0; s < role->step_count; s++) {
            const int operand = plan_number(role->step[s].place2);
            if (role->step[s].op == PLAN_MMA && role->step[s].place == plan_some(i) && operand >= 0 &&
                half[operand] >= 0)
                forced = half[operand];
        }
        half[i] = forced >= 0 ? forced : !wide && used[1] < used[0];
        used[half[i]] += blocks * q->cols;
        for (int s = 0; s < role->step_count; s++) {
            const int operand = plan_number(role->step[s].place2);
            if (role->step[s].op != PLAN_MMA || role->step[s].place != plan_some(i) || operand < 0 ||
                half[operand] >= 0)
                continue;
            half[operand] = half[i];
            used[half[i]] += 2 * p->place[operand].registers;
        }
    }
}

/* Columns of a consumer's place. */
static int columns_of(const struct plan_place *q, int blocks)
{
    return q->kind == PLAN_PLACE_ACCUMULATOR ? blocks * q->cols : 2 * q->registers;
}

/* Columns of a consumer, a value for each place: where it begins, with its first lane in the upper half. Of two
 * consumers that have no room side by side the second has what is the first's with both halves exchanged (*crossed):
 * there what is in the upper half begins behind what is in the lower one. -1: the lanes do not suit. -2: out of
 * memory. */
static int place_columns(struct plan *p, const struct plan_role *role, int blocks, bool wide, int limit, bool *crossed)
{
    int used[2] = {0, 0}, *half = plan_alloc(p, sizeof *half * ((size_t)p->place_count + 1));
    if (!half)
        return -2;
    for (int i = 0; i < p->place_count; i++)
        half[i] = -1;
    choose_halves(p, role, blocks, wide, half);
    for (int s = 0; s < role->step_count; s++) {
        const struct plan_step *q = &role->step[s];
        if (q->op == PLAN_MMA && q->place2 && half[plan_number(q->place)] != half[plan_number(q->place2)])
            return -1;
    }
    for (int i = 0; i < p->place_count; i++)
        if (half[i] >= 0)
            used[half[i]] += columns_of(&p->place[i], blocks);
    const int most = used[0] > used[1] ? used[0] : used[1], both = used[0] + used[1];
    *crossed = role->instances == 2 && !wide && 2 * most > limit && both <= limit;
    used[1] = *crossed ? used[0] : 0;
    used[0] = 0;
    for (int i = 0; i < p->place_count; i++) {
        const bool sums = p->place[i].kind == PLAN_PLACE_ACCUMULATOR;
        if ((!sums && p->place[i].kind != PLAN_PLACE_OPERAND) || half[i] < 0)
            continue;
        if (family_add_value(p, plan_text(p, "column.%s", p->place[i].name), half[i] * UPPER_HALF + used[half[i]]) ||
            ((sums ? is_kept(role, plan_some(i)) && !has_value(p, "pieces", p->place[i].name)
                   : !has_value(p, "given", p->place[i].name)) &&
             family_add_value(p, plan_text(p, "kept.%s", p->place[i].name), 1)))
            return -2;
        used[half[i]] += columns_of(&p->place[i], blocks);
    }
    return *crossed ? both : most;
}

int pipeline_memory(struct pipeline *x)
{
    struct plan *p = x->plan;
    const int consumers = x->d.consumers, limit = x->l->arch->tensor_columns / x->blocks_per_sm;
    int all = LEAST_COLUMNS, status = 0;
    if (!x->l->arch->tensor_columns)
        return 0;
    if (find_pieces(x))
        return 3;
    if (pipeline_shares_evenly(x))
        x->d.producer->registers = x->d.consumer->registers = 0;
    bool crossed = false;
    const int columns = place_columns(p, x->d.consumer, p->mma[0].blocks_m, x->d.wide, limit, &crossed);
    if (columns == -2)
        return 3;
    if (columns < 0)
        return program_refuse(x->l, x->program->loc, "TENSOR-MEMORY",
                              "an operand that threads compute is multiplied into sums of several lanes; write another "
                              "architecture");
    while (all < (crossed ? columns : consumers * columns))
        all *= 2;
    if (all > limit) {
        char text[300];
        snprintf(
            text, sizeof text,
            "%d consumer%s with sums of %d columns need %d columns of tensor memory, a power of two, and a block has "
            "%d; write a smaller tile or fewer consumers",
            consumers, consumers == 1 ? "" : "s", columns, all, limit);
        return pipeline_report(x, x->l->kernel->loc, "tile", "TENSOR-MEMORY", text);
    }
    const int count = groups(x->d.consumer);
    if (count > MOST_GROUPS)
        return program_refuse(x->l, x->program->loc, "TENSOR-MEMORY",
                              "%d groups of products are told apart at once, at most %d can be; write fewer dots",
                              count, MOST_GROUPS);
    status = status ? status : family_add_value(p, "memory.stays", x->d.in_memory);
    status = status ? status : family_add_value(p, "memory.wide", x->d.wide);
    status = status ? status : family_add_value(p, "memory.columns", all);
    status = status ? status : family_add_value(p, "memory.each", crossed ? 0 : columns);
    status = status ? status : family_add_value(p, "memory.crossed", crossed);
    status = status ? status : family_add_value(p, "memory.groups", count);
    status = status ? status : family_add_barrier(p, "group_barrier", GROUP_BARRIER, WARPGROUP);
    status = status ? status : family_add_barrier(p, "all_barrier", ALL_BARRIER, WARPGROUP * consumers + 32);
    if (status || !family_add_shared(p, "memory.done", 8 * count * consumers, 8, count * consumers) ||
        !family_add_shared(p, "memory.place", PLACE_BYTES, PLACE_BYTES, 1))
        return 3;
    return 0;
}
