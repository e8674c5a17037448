/* Executions of the recorded roles: compared with the Plan's steps, or turned into steps. */
#include <stdio.h>
#include <string.h>

#include "emit/record/record_internal.h"

enum { MOST_EVENTS = 1 << 17 };

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* What happens in an execution. LOOP begins a loop (count: its number of trips where that is constant, else 0), END
 * ends one of its turns; a RELEASE is of one stage. */
struct event {
    struct plan_step step; /* call: the function, or the loop's name */
    int source;            /* step of the Plan or node of the record */
};

struct events {
    struct event *item;
    int count, capacity;
    bool too_many, bare; /* bare: loops are not told */
};

static void happen(struct recorder *r, struct events *e, struct plan_step step, int source)
{
    if (e->bare && (step.op == PLAN_LOOP || step.op == PLAN_END))
        return;
    if (e->count == e->capacity) {
        int capacity = e->capacity ? 2 * e->capacity : 256;
        e->too_many = e->too_many || capacity > MOST_EVENTS;
        struct event *grown = e->too_many ? NULL : arena_alloc(r->arena, (size_t)capacity * sizeof *grown);
        r->no_memory = r->no_memory || (!grown && !e->too_many);
        if (!grown)
            return;
        if (e->count)
            memcpy(grown, e->item, (size_t)e->count * sizeof *grown);
        e->item = grown;
        e->capacity = capacity;
    }
    e->item[e->count++] = (struct event){step, source};
}

/* ---- an execution of the record -------------------------------------------------------------------------------- */

/* The step of a recorded call, as the Plan has it. */
struct plan_step record_step(const struct recorder *r, int role, const struct plan_step *declared)
{
    struct plan_step s = *declared;
    const struct plan_role *p = &r->plan->role[role];
    s.arrivals = s.op == PLAN_RELEASE ? p->warps / p->instances : 0;
    return s;
}

struct execution {
    struct recorder *r;
    int role;
    const struct trial *trial;
    struct around around;
    struct events *events;
};

static void execute(struct execution *x, int from, int to)
{
    struct recorder *r = x->r;
    const struct role_record *role = &r->role[x->role];
    for (int i = from; i < to && !x->events->too_many && !r->no_memory; i++) {
        const struct node *n = &role->node[i];
        int end = n->kind == NODE_LOOP || n->kind == NODE_WHEN ? record_node_end(role, i) : i;
        if (n->kind == NODE_CALL) {
            const struct function *f = &r->function[n->function];
            for (int s = 0; s < f->step_count && f->kind == FUNCTION_STEPS; s++)
                happen(r, x->events, record_step(r, x->role, &f->step[s]), i);
        } else if (n->kind == NODE_WHEN) {
            if (record_holds(r, x->trial, &x->around, n->condition))
                execute(x, i + 1, end);
        } else if (n->kind == NODE_LOOP && x->around.count < MOST_LOOPS) {
            const struct loop_class *l = &r->loop[n->loop];
            int trips = record_trips(r, x->trial, n->loop), level = x->around.count++;
            struct plan_step mark = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = l->name};
            mark.count = l->number > 0 ? l->number : 0;
            happen(r, x->events, mark, i);
            x->around.counter[level] = n->counter;
            mark.op = PLAN_END;
            for (int turn = 0; turn < trips; turn++) {
                x->around.turn[level] = turn;
                execute(x, i + 1, end);
                happen(r, x->events, mark, end);
            }
            x->around.count--;
        }
        i = end;
    }
}

/* ---- an execution of the Plan's steps -------------------------------------------------------------------------- */

struct plan_execution {
    struct recorder *r;
    int role;
    const struct trial *trial;
    struct stages stages;
    int filled[MOST_RINGS], fill_limit[MOST_RINGS];
    unsigned filling[MOST_RINGS], fills[MOST_RINGS];
    struct events *events;
};

static int plan_trips(const struct plan_execution *x, const struct plan_step *s)
{
    const struct recorder *r = x->r;
    int trips = s->count < 1 ? 1 : s->count < MOST_TRIPS ? s->count : MOST_TRIPS;
    for (int i = 0; i < r->loop_count && (s->count == 0 || s->op == PLAN_WHEN); i++)
        if (s->call && strcmp(r->loop[i].name, s->call) == 0) {
            trips = record_trips(r, x->trial, i);
            break;
        }
    if (s->op == PLAN_WHEN)
        return trips > s->count;
    return trips > s->less ? trips - s->less : 0;
}

static bool opens(const struct plan_step *s)
{
    return s->op == PLAN_LOOP || s->op == PLAN_WHEN;
}

/* Stages of the ring that one pass over the steps reads, each loop but the outermost `turns` in full. */
static int reads_in(const struct plan_execution *x, int from, int to, int ring)
{
    const struct plan_role *role = &x->r->plan->role[x->role];
    int reads = 0;
    for (int i = from; i < to; i++) {
        const struct plan_step *s = &role->step[i];
        if (opens(s)) {
            int end = plan_body_end(role, i);
            reads += plan_trips(x, s) * reads_in(x, i + 1, end, ring);
            i = end;
        } else if (s->op == PLAN_READ && s->ring == ring && record_tensor_bit(x->r->plan, s) == 1) {
            reads++;
        }
    }
    return reads;
}

static bool is_copied(const struct plan *p, const struct plan_step *s)
{
    return s->op == PLAN_FILL && s->ring >= 0 && s->ring < MOST_RINGS && p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC;
}

static void execute_plan(struct plan_execution *x, int from, int to)
{
    struct recorder *r = x->r;
    const struct plan *p = r->plan;
    const struct plan_role *role = &p->role[x->role];
    for (int i = from; i < to && !x->events->too_many && !r->no_memory; i++) {
        struct plan_step s = role->step[i];
        if (opens(&s)) {
            int end = plan_body_end(role, i), trips = plan_trips(x, &s);
            if (s.op == PLAN_LOOP)
                happen(r, x->events, s, i);
            struct plan_step mark = {.op = PLAN_END, .ring = -1, .tensor = -1, .call = s.call, .count = s.count};
            for (int turn = 0; turn < trips; turn++) {
                for (int g = 0; s.call && strcmp(s.call, "tiles") == 0 && g < p->ring_count && g < MOST_RINGS; g++)
                    x->fill_limit[g] = x->filled[g] + reads_in(x, i + 1, end, g);
                execute_plan(x, i + 1, end);
                if (s.op == PLAN_LOOP)
                    happen(r, x->events, mark, end);
            }
            i = end;
            continue;
        }
        bool copied = is_copied(p, &s);
        bool left_out = copied && x->filled[s.ring] >= x->fill_limit[s.ring];
        if (copied && !left_out) {
            x->filling[s.ring] |= record_tensor_bit(p, &s);
            if (x->filling[s.ring] == x->fills[s.ring]) {
                x->filling[s.ring] = 0;
                x->filled[s.ring]++;
            }
        }
        record_take(p, &x->stages, &s);
        if (!s.call || left_out)
            continue;
        if (s.op == PLAN_RELEASE && s.ring >= 0 && s.ring < MOST_RINGS) {
            int keep = s.count;
            s.count = 0;
            for (; x->stages.taken[s.ring] - x->stages.released[s.ring] > keep; x->stages.released[s.ring]++)
                happen(r, x->events, s, i);
        } else if (s.op != PLAN_END) {
            happen(r, x->events, s, i);
        }
    }
}

static void run_plan(struct recorder *r, int role, const struct trial *trial, struct events *events)
{
    struct plan_execution x = {.r = r, .role = role, .trial = trial, .events = events};
    const struct plan_role *p = &r->plan->role[role];
    for (int i = 0; i < p->step_count; i++) {
        record_own(r->plan, &x.stages, &p->step[i]);
        if (is_copied(r->plan, &p->step[i]))
            x.fills[p->step[i].ring] |= record_tensor_bit(r->plan, &p->step[i]);
    }
    for (int g = 0; g < r->plan->ring_count && g < MOST_RINGS; g++)
        x.fill_limit[g] = reads_in(&x, 0, p->step_count, g);
    execute_plan(&x, 0, p->step_count);
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

/* `a` is the Plan's, whose loops of count 0 have any number of trips. */
static bool same(const struct event *a, const struct event *b)
{
    const struct plan_step *s = &a->step, *t = &b->step;
    bool any_count = (s->op == PLAN_LOOP || s->op == PLAN_END) && s->count == 0;
    if (s->op != t->op || s->ring != t->ring || s->tensor != t->tensor || s->phase != t->phase ||
        (s->count != t->count && !any_count))
        return false;
    if (s->op == PLAN_RELEASE && (s->arrivals ? s->arrivals : 1) != (t->arrivals ? t->arrivals : 1))
        return false;
    return strcmp(s->call ? s->call : "", t->call ? t->call : "") == 0;
}

/* What an event is, in words; `other` is what it is to differ from. */
static const char *described(struct recorder *r, const struct event *e, const struct event *other)
{
    if (!e)
        return "the end of the role";
    const struct plan_step *s = &e->step;
    const char *call = s->call ? s->call : "";
    if (s->op == PLAN_LOOP && s->count)
        return arena_format(r->arena, "the beginning of loop '%s' of %d trips", call, s->count);
    if (s->op == PLAN_LOOP || s->op == PLAN_END)
        return arena_format(r->arena, "the %s of loop '%s'", s->op == PLAN_LOOP ? "beginning" : "end", call);
    if (!other || !other->step.call || strcmp(other->step.call, call) != 0)
        return arena_format(r->arena, "a call of %s", call);
    const char *tensor = s->tensor >= 0 ? r->plan->tensor[s->tensor].name : "";
    return arena_format(r->arena, "%s%s%s with count %d, phase %d, %d arrivals", plan_op_word[s->op],
                        *tensor ? " " : "", tensor, s->count, s->phase, s->arrivals);
}

/* Whether the step moves its role on to the ring's next stage. */
static bool advances(const struct plan *p, const struct plan_step *s, int ring)
{
    if (s->ring != ring)
        return false;
    const struct plan_ring *g = &p->ring[ring];
    bool last = g->tensor_count == 0 || s->tensor == g->tensor[g->tensor_count - 1];
    return s->op == PLAN_STORE || ((s->op == PLAN_FILL || s->op == PLAN_READ) && last);
}

/* "step 4 (fill A, ring 'ab', stage i % 4)". The stage is known where neither the step nor one that moves on the ring
 * before it stands in a loop; a RELEASE is of an older stage, which depends on its count. */
static const char *step_text(struct recorder *r, const struct plan_role *role, int step)
{
    const struct plan *p = r->plan;
    const struct plan_step *s = &role->step[step];
    const char *tensor = s->tensor >= 0 && s->tensor < p->tensor_count ? p->tensor[s->tensor].name : NULL;
    const char *ring = "";
    if (s->ring >= 0 && s->ring < p->ring_count) {
        int depth = 0, stages = p->ring[s->ring].stages;
        int64_t taken = 0;
        bool known = stages > 0 && s->op != PLAN_RELEASE;
        for (int n = 0; n < step; n++) {
            depth += (role->step[n].op == PLAN_LOOP) - (role->step[n].op == PLAN_END);
            bool next = advances(p, &role->step[n], s->ring);
            taken += next;
            known = known && !(next && depth > 0);
        }
        for (int n = step, inner = depth; n < role->step_count && inner > 0; n++) {
            inner += (role->step[n].op == PLAN_LOOP) - (role->step[n].op == PLAN_END);
            known = known && !advances(p, &role->step[n], s->ring);
        }
        if (known)
            ring = arena_format(r->arena, ", ring '%s', stage %d", p->ring[s->ring].name, (int)(taken % stages));
        else
            ring = arena_format(r->arena, ", ring '%s', stage i %% %d", p->ring[s->ring].name, stages);
    }
    return arena_format(r->arena, "step %d (%s%s%s%s)", step + 1, plan_op_word[s->op], tensor ? " " : "",
                        tensor ? tensor : "", ring ? ring : "");
}

/* The trip counts of a trial, "with 2 trips of loop 'tiles', 0 of loop 'k'". */
static const char *trial_text(struct recorder *r, const struct trial *trial)
{
    const char *text = "";
    for (int i = 0; i < r->loop_count && text; i++)
        if (r->loop[i].trips == i && r->loop[i].number < 0)
            text = arena_format(r->arena, "%s%s%d of loop '%s'", text, *text ? ", " : "; seen with trips ",
                                record_trips(r, trial, i), r->loop[i].name);
    return text;
}

/* True where the role does in every trial what the Plan orders. */
static bool compare(struct recorder *r, int role, struct events *order, struct events *seen)
{
    const struct plan_role *p = &r->plan->role[role];
    const struct role_record *record = &r->role[role];
    struct trial trial;
    int i = 0;
    for (trial.number = record_trials(r, &trial) - 1; trial.number >= 0; trial.number--) { /* many trips tell more */
        struct execution x = {.r = r, .role = role, .trial = &trial, .events = seen};
        order->count = seen->count = i = 0;
        run_plan(r, role, &trial, order);
        execute(&x, 0, record->count);
        if (r->no_memory)
            return false;
        if (order->too_many || seen->too_many)
            return RECORD_FAULT(r, record->opened, -1, "TEMPLATE-LIMIT",
                                "role '%s' has more than %d operations in a few turns of its loops", p->name,
                                MOST_EVENTS);
        while (i < order->count && i < seen->count && same(&order->item[i], &seen->item[i]))
            i++;
        if (i < order->count || i < seen->count)
            break;
    }
    if (trial.number < 0)
        return true;
    const struct event *want = i < order->count ? &order->item[i] : NULL;
    const struct event *have = i < seen->count ? &seen->item[i] : NULL;
    const char *step = want ? step_text(r, p, want->source) : "after its last step";
    const char *wanted = described(r, want, have), *had = described(r, have, want), *when = trial_text(r, &trial);
    if (!step || !wanted || !had || !when) {
        r->no_memory = true;
        return false;
    }
    struct record_place at = have ? record->node[have->source].at : record->closed;
    return RECORD_FAULT(r, at, have ? record->node[have->source].column : -1, "TEMPLATE-ORDER",
                        "role '%s', %s: the Plan orders %s, the template has %s%s", p->name, step, wanted, had, when);
}

bool record_check_derived(struct recorder *r, int role)
{
    struct events order = {.bare = true}, seen = {.bare = true};
    return compare(r, role, &order, &seen);
}

int record_check(struct recorder *r)
{
    struct events order = {0}, seen = {0};
    int faults = 0;
    for (int i = 0; i < r->plan->role_count && !r->no_memory; i++) {
        bool has_steps = r->plan->role[i].step_count > 0, fine = record_check_names(r, &r->role[i]);
        fine = fine && (!has_steps || (compare(r, i, &order, &seen) && record_check_positions(r, i, false)));
        faults += !fine;
    }
    return faults;
}
