/* Steps of a role that has none: what its record amounts to, in the words of plan_ops.def. A release under a condition
 * is a RELEASE with the count that it keeps; turns that other conditions tell apart are peeled off their loop. */
#include <stdio.h>
#include <string.h>

#include "emit/record/record_internal.h"

enum { MOST_EVENTS = 1 << 17, MOST_CLASSES = 32 };

/* ---- what releases keep ------------------------------------------------------------------------------------------ */

/* What a release call was seen to keep, by turn (record_turn): stages that are unreleased after it, -1 not seen; and
 * where it was left out, the most that there were. */
struct kept {
    struct {
        int after, left_out;
        bool varies, early; /* other numbers than before; nothing was taken */
    } turn[TURNS];
};

struct keeping {
    struct recorder *r;
    int role;
    const struct trial *trial;
    struct around around;
    struct stages stages;
    struct kept *kept; /* by node */
    int events;
};

static void note_release(struct keeping *x, int node, int ring, bool made)
{
    int unreleased = x->stages.taken[ring] - x->stages.released[ring];
    int turn = record_turn(&x->r->role[x->role], &x->around);
    struct kept *k = &x->kept[node];
    if (!made) {
        k->turn[turn].left_out = unreleased > k->turn[turn].left_out ? unreleased : k->turn[turn].left_out;
        return;
    }
    k->turn[turn].early = k->turn[turn].early || unreleased < 1;
    k->turn[turn].varies = k->turn[turn].varies || (k->turn[turn].after >= 0 && k->turn[turn].after != unreleased - 1);
    k->turn[turn].after = k->turn[turn].after < 0 ? unreleased - 1 : k->turn[turn].after;
    x->stages.released[ring]++;
}

static void keep(struct keeping *x, int from, int to, bool made)
{
    struct recorder *r = x->r;
    const struct role_record *role = &r->role[x->role];
    for (int i = from; i < to && x->events < MOST_EVENTS; i++) {
        const struct node *n = &role->node[i];
        int end = n->kind == NODE_LOOP || n->kind == NODE_WHEN ? record_node_end(role, i) : i;
        x->events++;
        if (n->kind == NODE_CALL) {
            const struct function *f = &r->function[n->function];
            for (int s = 0; s < f->step_count && f->kind == FUNCTION_STEPS; s++) {
                if (made)
                    record_take(r->plan, &x->stages, &f->step[s]);
                if (f->step[s].op == PLAN_RELEASE && f->step[s].ring < MOST_RINGS)
                    note_release(x, i, f->step[s].ring, made);
            }
        } else if (n->kind == NODE_WHEN) {
            keep(x, i + 1, end, made && record_holds(r, x->trial, &x->around, n->condition));
        } else if (n->kind == NODE_LOOP) {
            int trips = made ? record_trips(r, x->trial, n->loop) : 1, level = x->around.count++;
            x->around.counter[level] = n->counter;
            x->around.node[level] = i;
            x->around.trips[level] = trips;
            for (int turn = 0; turn < trips; turn++) {
                x->around.turn[level] = turn;
                keep(x, i + 1, end, made);
            }
            x->around.count--;
        }
        i = end;
    }
}

/* The count of each RELEASE: what is unreleased after it, the same at every time. False: reported. */
static bool find_kept(struct recorder *r, int role, struct kept *kept)
{
    const struct role_record *record = &r->role[role];
    struct stages own = {0};
    struct trial trial;
    for (int i = 0; i < record->count; i++) {
        for (int t = 0; t < TURNS; t++)
            kept[i].turn[t].after = -1;
        const struct function *f = record->node[i].kind == NODE_CALL ? &r->function[record->node[i].function] : NULL;
        for (int s = 0; f && f->kind == FUNCTION_STEPS && s < f->step_count; s++)
            record_own(r->plan, &own, &f->step[s]);
    }
    for (int trials = record_trials(r, &trial); trial.number < trials; trial.number++) {
        struct keeping x = {.r = r, .role = role, .trial = &trial, .stages = own, .kept = kept};
        keep(&x, 0, record->count, true);
    }
    for (int i = 0; i < record->count; i++)
        for (int t = 0; t < TURNS; t++) {
            const struct node *n = &record->node[i];
            int after = kept[i].turn[t].after, left_out = kept[i].turn[t].left_out;
            if (kept[i].turn[t].early)
                return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                    "role '%s': %s releases a stage that is not taken yet; write it behind the last "
                                    "read of the stage",
                                    r->plan->role[role].name, r->function[n->function].name);
            if (kept[i].turn[t].varies || (after >= 0 && left_out > after))
                return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                    "role '%s': %s releases the oldest stage, but not always as many are taken and "
                                    "unreleased then; release each stage once, so many turns after its last read",
                                    r->plan->role[role].name, r->function[n->function].name);
            if (after < 0)
                kept[i].turn[t].after = left_out; /* it is never made */
        }
    return true;
}

/* ---- conditions ------------------------------------------------------------------------------------------------ */

/* Left less right of a condition: of each loop around coefficient `counter`, of each class `bound`, and a number. A
 * turn that is written out has a number for its counter. */
struct sum {
    int counter[MOST_LOOPS], bound[MOST_CLASSES], number;
};

enum part { PART_WRITTEN, PART_MIDDLE, PART_TAIL };

/* A loop around the steps that are being written: one turn written out, or all that are neither in its head nor in its
 * tail, or one of the tail. */
struct level {
    int node, class, turn;
    enum part part;
    const char *counter;
    struct peel peel;
};

struct derivation {
    struct recorder *r;
    struct plan *plan;
    int number;
    struct kept *kept;
    struct level level[MOST_LOOPS];
    int levels, steps;
    struct plan_step *step;
};

static bool sum_up(const struct derivation *d, const struct condition *c, struct sum *s)
{
    const struct recorder *r = d->r;
    *s = (struct sum){.number = 0};
    for (int t = 0; t < c->count; t++) {
        const struct term *term = &c->term[t];
        int sign = t < c->left ? term->sign : -term->sign, l = d->levels - 1, b = 0;
        while (l >= 0 && term->name && !(d->level[l].counter && strcmp(d->level[l].counter, term->name) == 0))
            l--;
        while (b < r->loop_count && term->name && (r->loop[b].turns || strcmp(r->loop[b].bound, term->name) != 0))
            b++;
        if (!term->name)
            s->number += sign * term->number;
        else if (l >= 0 && d->level[l].part == PART_WRITTEN)
            s->number += sign * d->level[l].turn;
        else if (l >= 0)
            s->counter[l] += sign;
        else if (b < r->loop_count && r->loop[b].trips < MOST_CLASSES)
            s->bound[r->loop[b].trips] += sign;
        else
            return false;
    }
    return true;
}

/* What is left of a sum: of one counter and of one bound the coefficients. False: more than that. */
static bool simple(const struct sum *s, int *level, int *class)
{
    int counters = 0, bounds = 0;
    *level = *class = -1;
    for (int i = 0; i < MOST_LOOPS; i++)
        if (s->counter[i]) {
            counters += s->counter[i] * s->counter[i];
            *level = i;
        }
    for (int i = 0; i < MOST_CLASSES; i++)
        if (s->bound[i]) {
            bounds += s->bound[i] * s->bound[i];
            *class = i;
        }
    return counters <= 1 && bounds <= 1;
}

enum truth { ALWAYS, NEVER, ABOVE, UNKNOWN }; /* ABOVE: where the class's number is above `least` */

static enum truth choose(bool always, bool never)
{
    return always ? ALWAYS : never ? NEVER : UNKNOWN;
}

/* Whether the sum is at most `most`. A counter s of a loop with bound b is head <= s < b; in the middle s < b - tail,
 * in the tail s >= b - tail. */
static enum truth at_most(const struct derivation *d, const struct sum *s, int most, int *class, int *least)
{
    int level, left = most - s->number;
    if (!simple(s, &level, class))
        return UNKNOWN;
    const struct level *l = level >= 0 ? &d->level[level] : NULL;
    if (!l && *class < 0)
        return left >= 0 ? ALWAYS : NEVER;
    if (!l && s->bound[*class] < 0) { /* b >= -left */
        *least = -left - 1;
        return *least < 0 ? ALWAYS : ABOVE;
    }
    if (!l)
        return left < 0 ? NEVER : UNKNOWN;
    if (*class < 0) /* s <= left, or s >= -left */
        return s->counter[level] > 0 ? choose(false, left < l->peel.head) : choose(-left <= l->peel.head, false);
    if (d->r->loop[l->class].trips != *class || s->counter[level] + s->bound[*class] != 0)
        return UNKNOWN;
    bool in_tail = l->part == PART_TAIL;
    if (s->counter[level] > 0) /* s <= b + left */
        return choose(-left <= 1 || (!in_tail && -left <= l->peel.tail + 1), in_tail && -left > l->peel.tail);
    /* s >= b - left */
    return choose(in_tail && left >= l->peel.tail && l->peel.tail > 0, left <= 0 || (!in_tail && left <= l->peel.tail));
}

static enum truth is_equal(const struct derivation *d, const struct sum *s)
{
    int class, least;
    struct sum minus = {.number = -s->number};
    for (int i = 0; i < MOST_LOOPS; i++)
        minus.counter[i] = -s->counter[i];
    for (int i = 0; i < MOST_CLASSES; i++)
        minus.bound[i] = -s->bound[i];
    enum truth most = at_most(d, s, 0, &class, &least), more = at_most(d, &minus, 0, &class, &least);
    return most == NEVER || more == NEVER ? NEVER : most == ALWAYS && more == ALWAYS ? ALWAYS : UNKNOWN;
}

static enum truth truth_of(const struct derivation *d, const struct condition *c, int *class, int *least)
{
    struct sum s, minus = {.number = 0};
    if (!sum_up(d, c, &s))
        return UNKNOWN;
    minus.number = -s.number;
    for (int i = 0; i < MOST_LOOPS; i++)
        minus.counter[i] = -s.counter[i];
    for (int i = 0; i < MOST_CLASSES; i++)
        minus.bound[i] = -s.bound[i];
    bool strict = !c->compare[1];
    switch (c->compare[0]) {
    case '<':
        return at_most(d, &s, strict ? -1 : 0, class, least);
    case '>':
        return at_most(d, &minus, strict ? -1 : 0, class, least);
    case '=':
        return is_equal(d, &s);
    default: {
        enum truth equal = is_equal(d, &s);
        return equal == ALWAYS ? NEVER : equal == NEVER ? ALWAYS : UNKNOWN;
    }
    }
}

/* ---- writing steps --------------------------------------------------------------------------------------------- */

/* Nothing but releases stands between these nodes: RELEASE says with its count when it does something. */
static bool only_releases(const struct recorder *r, const struct role_record *record, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct node *n = &record->node[i];
        const struct function *f = n->kind == NODE_CALL ? &r->function[n->function] : NULL;
        if (n->kind == NODE_LOOP)
            return false;
        for (int s = 0; f && f->kind == FUNCTION_STEPS && s < f->step_count; s++)
            if (f->step[s].op != PLAN_RELEASE)
                return false;
    }
    return true;
}

static bool add_step(struct derivation *d, const struct node *n, struct plan_step step)
{
    struct recorder *r = d->r;
    struct role_record *record = &r->role[d->number];
    struct plan_step *steps = arena_grow(r->arena, d->step, d->steps, sizeof *steps);
    struct record_place *place = arena_grow(r->arena, record->place, d->steps, sizeof *place);
    int *column = arena_grow(r->arena, record->column, d->steps, sizeof *column);
    if (!steps || !place || !column)
        return !(r->no_memory = true);
    d->step = steps;
    record->place = place;
    record->column = column;
    place[d->steps] = n->at;
    column[d->steps] = n->column;
    steps[d->steps++] = step;
    return true;
}

/* A LOOP or WHEN of a class, or its END. */
static bool add_mark(struct derivation *d, const struct node *n, enum plan_op op, int class, int count, int less)
{
    struct plan_step step = {.op = op, .ring = -1, .tensor = -1, .count = count, .less = less};
    if (op != PLAN_END && !(step.call = plan_text(d->plan, "%s", d->r->loop[class].name)))
        return !(d->r->no_memory = true);
    return add_step(d, n, step);
}

static int turn_of(const struct derivation *d)
{
    for (int i = d->levels - 1; i >= 0; i--) {
        const struct level *l = &d->level[i];
        if (l->peel.head + l->peel.tail)
            return l->part == PART_WRITTEN ? l->turn : l->part == PART_MIDDLE ? TURN_MIDDLE : TURN_TAIL;
    }
    return TURN_MIDDLE;
}

static bool write(struct derivation *d, int from, int to);

static bool write_call(struct derivation *d, int node)
{
    struct recorder *r = d->r;
    const struct node *n = &r->role[d->number].node[node];
    const struct function *f = &r->function[n->function];
    for (int s = 0; f->kind == FUNCTION_STEPS && s < f->step_count; s++) {
        struct plan_step step = record_step(r, d->number, &f->step[s]);
        step.call = plan_text(d->plan, "%s", f->name);
        step.count = step.op == PLAN_RELEASE ? d->kept[node].turn[turn_of(d)].after : step.count;
        step.back = step.op == PLAN_READ && n->position ? n->back[turn_of(d)] : 0;
        step.back = step.back < 0 ? 0 : step.back; /* record_positions tells that it varies */
        if (!step.call || !add_step(d, n, step))
            return !(r->no_memory = true);
    }
    return true;
}

static bool write_when(struct derivation *d, int node, int end)
{
    struct recorder *r = d->r;
    const struct role_record *record = &r->role[d->number];
    const struct node *n = &record->node[node];
    int class, least = 0;
    if (only_releases(r, record, node + 1, end))
        return write(d, node + 1, end);
    switch (truth_of(d, n->condition, &class, &least)) {
    case ALWAYS:
        return write(d, node + 1, end);
    case NEVER:
        return true;
    case ABOVE:
        return add_mark(d, n, PLAN_WHEN, class, least, 0) && write(d, node + 1, end) &&
               add_mark(d, &record->node[end], PLAN_END, class, 0, 0);
    case UNKNOWN:
        break;
    }
    return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-GUARD",
                        "the proof follows this condition for releases alone; it knows step > 2, step + 2 < steps and "
                        "steps > 2, with one number of the second kind a loop");
}

/* One turn that is written out: under a condition where data decides whether there is one. */
static bool write_turn(struct derivation *d, int node, int end, struct level level, int above)
{
    const struct role_record *record = &d->r->role[d->number];
    bool counted = d->r->loop[level.class].number >= 0;
    d->level[d->levels++] = level;
    bool fine = (counted || add_mark(d, &record->node[node], PLAN_WHEN, level.class, above, 0)) &&
                write(d, node + 1, end) && (counted || add_mark(d, &record->node[end], PLAN_END, level.class, 0, 0));
    d->levels--;
    return fine;
}

static bool write_loop(struct derivation *d, int node, int end)
{
    struct recorder *r = d->r;
    const struct role_record *record = &r->role[d->number];
    const struct node *n = &record->node[node];
    int number = r->loop[n->loop].number;
    struct level level = {.node = node, .class = n->loop, .counter = n->counter, .peel = record->peel[node]};
    if (number >= 0 && level.peel.head) { /* so few that all are written out */
        for (level.turn = 0; level.turn < number; level.turn++)
            if (!write_turn(d, node, end, level, 0))
                return false;
        return true;
    }
    for (; level.turn < level.peel.head; level.turn++)
        if (!write_turn(d, node, end, level, level.turn))
            return false;
    level.part = PART_MIDDLE;
    d->level[d->levels++] = level;
    bool fine = add_mark(d, n, PLAN_LOOP, n->loop, number > 0 ? number : 0, level.peel.head + level.peel.tail) &&
                write(d, node + 1, end) && add_mark(d, &record->node[end], PLAN_END, n->loop, 0, 0);
    d->levels--;
    level.part = PART_TAIL;
    for (int i = 0; i < level.peel.tail && fine; i++)
        fine = write_turn(d, node, end, level, level.peel.head + i);
    return fine;
}

static bool write(struct derivation *d, int from, int to)
{
    const struct role_record *record = &d->r->role[d->number];
    for (int i = from; i < to; i++) {
        const struct node *n = &record->node[i];
        int end = n->kind == NODE_LOOP || n->kind == NODE_WHEN ? record_node_end(record, i) : i;
        bool fine = n->kind == NODE_CALL   ? write_call(d, i)
                    : n->kind == NODE_LOOP ? write_loop(d, i, end)
                    : n->kind == NODE_WHEN ? write_when(d, i, end)
                                           : true;
        if (!fine)
            return false;
        i = end;
    }
    return true;
}

/* ---- what is peeled off ---------------------------------------------------------------------------------------- */

/* Turns of the loop at `node` whose conditions differ from the others': so many at its beginning, so many at its end.
 */
static bool find_peel(struct derivation *d, int node, int end)
{
    struct recorder *r = d->r;
    struct role_record *record = &r->role[d->number];
    struct peel *peel = &record->peel[node];
    const struct node *loop = &record->node[node];
    int me = d->levels - 1;
    for (int i = node + 1; i < end; i++) {
        const struct node *n = &record->node[i];
        struct sum s;
        int level, class;
        if (n->kind != NODE_WHEN || only_releases(r, record, i + 1, record_node_end(record, i)) ||
            !sum_up(d, n->condition, &s) || !simple(&s, &level, &class) || level != me)
            continue;
        bool equality = n->condition->compare[0] == '=' || n->condition->compare[0] == '!';
        bool strict = !n->condition->compare[1], less = n->condition->compare[0] == '<';
        /* sign s + rest compare 0: with sign 1 it changes from s = first on, `first` being the least of the others */
        int sign = s.counter[me], rest = s.number * sign; /* s + rest, or s - b + rest */
        bool upward = less == (sign > 0);                 /* holds below, not above */
        int first = -rest + ((upward && !strict) || (!upward && strict) || equality);
        int last = rest - (upward && !strict) - (!upward && strict) + 0;
        if (class < 0)
            peel->head = first > peel->head ? first : peel->head;
        else if (r->loop[loop->loop].trips == class)
            peel->tail = equality ? (rest > peel->tail ? rest : peel->tail) : last > peel->tail ? last : peel->tail;
    }
    int number = r->loop[loop->loop].number;
    if (number >= 0 && peel->head + peel->tail)
        *peel = (struct peel){.head = number < MOST_PEELED ? number : MOST_PEELED + 1};
    if (peel->head + peel->tail > MOST_PEELED)
        return RECORD_FAULT(r, loop->at, loop->column, "TEMPLATE-LIMIT",
                            "conditions tell %d turns of this loop apart, and the proof up to %d; make loops of their "
                            "own of them",
                            peel->head + peel->tail, MOST_PEELED);
    return true;
}

static bool find_peels(struct derivation *d, int from, int to)
{
    struct role_record *record = &d->r->role[d->number];
    for (int i = from; i < to; i++) {
        const struct node *n = &record->node[i];
        if (n->kind != NODE_LOOP)
            continue;
        int end = record_node_end(record, i);
        d->level[d->levels++] = (struct level){.node = i, .class = n->loop, .counter = n->counter, .part = PART_MIDDLE};
        if (!find_peel(d, i, end) || !find_peels(d, i + 1, end))
            return false;
        d->levels--;
        i = end;
    }
    return true;
}

/* Steps that the role's record amounts to. */
static bool derive(struct recorder *r, struct plan *p, int number)
{
    struct role_record *record = &r->role[number];
    struct plan_role *role = &p->role[number];
    struct derivation d = {.r = r, .plan = p, .number = number};
    d.kept = arena_alloc(r->arena, ((size_t)record->count + 1) * sizeof *d.kept);
    record->peel = arena_alloc(r->arena, ((size_t)record->count + 1) * sizeof *record->peel);
    if (!d.kept || !record->peel)
        return !(r->no_memory = true);
    if (!find_peels(&d, 0, record->count) || !find_kept(r, number, d.kept))
        return false;
    record_check_positions(r, number, true);
    if (!write(&d, 0, record->count))
        return false;
    role->step = plan_alloc(p, ((size_t)d.steps + 1) * sizeof *role->step);
    if (!role->step)
        return !(r->no_memory = true);
    for (int i = 0; i < d.steps; i++)
        role->step[i] = d.step[i];
    role->step_count = d.steps;
    return record_check_derived(r, number);
}

/* ---- all roles ------------------------------------------------------------------------------------------------- */

int record_steps(struct recorder *r, struct plan *p)
{
    int faults = 0;
    if (r->barrier_count) {
        size_t count = (size_t)(p->barrier_count + r->barrier_count);
        struct plan_barrier *all = plan_alloc(p, count * sizeof *all);
        if (!all)
            return -1;
        for (int i = 0; i < p->barrier_count; i++)
            all[i] = p->barrier[i];
        for (int i = 0; i < r->barrier_count; i++) {
            all[p->barrier_count + i] = r->barrier[i];
            if (!(all[p->barrier_count + i].name = plan_text(p, "%s", r->barrier[i].name)))
                return -1;
        }
        p->barrier = all;
        p->barrier_count = (int)count;
    }
    for (int i = 0; i < p->role_count; i++)
        faults += p->role[i].step_count == 0 && !derive(r, p, i);
    return r->no_memory ? -1 : faults;
}

int record_positions(struct recorder *r)
{
    int faults = 0;
    for (int i = 0; i < r->plan->role_count; i++)
        faults += r->role[i].place && !record_check_positions(r, i, false);
    return faults;
}

void record_relocate(struct recorder *r, const struct plan *p, struct diag_set *diags, int first)
{
    char where[256], behind[256];
    for (int d = first; d < diags->count; d++)
        for (int i = 0; i < p->role_count; i++) {
            const struct role_record *record = &r->role[i];
            struct diag *fault = &diags->item[d];
            size_t length = (size_t)snprintf(where, sizeof where, "%s, role %s", p->arch, p->role[i].name);
            if (!record->place || !fault->field || length >= sizeof where || strncmp(fault->field, where, length) != 0)
                continue;
            for (int s = 0; s < p->role[i].step_count; s++) {
                const struct plan_step *step = &p->role[i].step[s];
                snprintf(behind, sizeof behind, ", step %d %s", s + 1,
                         step->call ? step->call : plan_op_word[step->op]);
                const char *at = strstr(fault->field + length, behind);
                if (at && strcmp(at, behind) == 0 && (at == fault->field + length || fault->field[length] == ','))
                    fault->loc =
                        template_loc(record->place[s].template, diags, record->place[s].line, record->column[s]);
            }
        }
}
