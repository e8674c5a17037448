/* Executions of the recorded roles: compared with the Plan's steps, or turned into steps. */
#include <stdio.h>
#include <string.h>

#include "emit/record_internal.h"

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
    bool too_many;
};

static void happen(struct recorder *r, struct events *e, struct plan_step step, int source)
{
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

/* Stages of the rings that a role has read and released. */
struct stages {
    unsigned own[MOST_RINGS], reading[MOST_RINGS]; /* tensors that it reads; that it has read of the newest stage */
    int read[MOST_RINGS], released[MOST_RINGS];
};

static void own_read(const struct plan *p, struct stages *g, const struct plan_step *s)
{
    if (s->op == PLAN_READ && s->ring >= 0 && s->ring < MOST_RINGS)
        g->own[s->ring] |= record_tensor_bit(p, s);
}

static void count_read(const struct plan *p, struct stages *g, const struct plan_step *s)
{
    if (s->op != PLAN_READ || s->ring < 0 || s->ring >= MOST_RINGS)
        return;
    g->reading[s->ring] |= record_tensor_bit(p, s);
    if (g->reading[s->ring] != g->own[s->ring])
        return;
    g->reading[s->ring] = 0;
    g->read[s->ring]++;
}

/* ---- an execution of the record -------------------------------------------------------------------------------- */

/* The step of a recorded call, as the Plan has it. */
static struct plan_step step_of(const struct recorder *r, int role, const struct plan_step *declared)
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
                happen(r, x->events, step_of(r, x->role, &f->step[s]), i);
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
    for (int i = 0; i < r->loop_count && s->count == 0; i++)
        if (s->call && strcmp(r->loop[i].name, s->call) == 0)
            return record_trips(r, x->trial, i);
    return s->count < 1 ? 1 : s->count < MOST_TRIPS ? s->count : MOST_TRIPS;
}

static int plan_end(const struct plan_role *role, int step)
{
    int depth = 0;
    for (int i = step; i < role->step_count; i++) {
        depth += (role->step[i].op == PLAN_LOOP) - (role->step[i].op == PLAN_END);
        if (depth == 0)
            return i;
    }
    return role->step_count;
}

/* Stages of the ring that one pass over the steps reads, each loop but the outermost `turns` in full. */
static int reads_in(const struct plan_execution *x, int from, int to, int ring)
{
    const struct plan_role *role = &x->r->plan->role[x->role];
    int reads = 0;
    for (int i = from; i < to; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->op == PLAN_LOOP) {
            int end = plan_end(role, i);
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
        if (s.op == PLAN_LOOP) {
            int end = plan_end(role, i), trips = plan_trips(x, &s);
            happen(r, x->events, s, i);
            struct plan_step mark = {.op = PLAN_END, .ring = -1, .tensor = -1, .call = s.call, .count = s.count};
            for (int turn = 0; turn < trips; turn++) {
                for (int g = 0; s.call && strcmp(s.call, "tiles") == 0 && g < p->ring_count && g < MOST_RINGS; g++)
                    x->fill_limit[g] = x->filled[g] + reads_in(x, i + 1, end, g);
                execute_plan(x, i + 1, end);
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
        count_read(p, &x->stages, &s);
        if (!s.call || left_out)
            continue;
        if (s.op == PLAN_RELEASE && s.ring >= 0 && s.ring < MOST_RINGS) {
            int keep = s.count;
            s.count = 0;
            for (; x->stages.read[s.ring] - x->stages.released[s.ring] > keep; x->stages.released[s.ring]++)
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
        own_read(r->plan, &x.stages, &p->step[i]);
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

static const char *const op_name[PLAN_OP_COUNT] = {
#define PLAN_OP(id, name, doc) name,
#include "plan/plan_ops.def"
#undef PLAN_OP
};

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
    return arena_format(r->arena, "%s%s%s with count %d, phase %d, %d arrivals", op_name[s->op], *tensor ? " " : "",
                        tensor, s->count, s->phase, s->arrivals);
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
    return arena_format(r->arena, "step %d (%s%s%s%s)", step + 1, op_name[s->op], tensor ? " " : "",
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

int record_check(struct recorder *r)
{
    struct events order = {0}, seen = {0};
    int faults = 0;
    for (int i = 0; i < r->plan->role_count && !r->no_memory; i++) {
        bool has_steps = r->plan->role[i].step_count > 0, fine = record_check_names(r, &r->role[i]);
        fine = fine && (!has_steps || (compare(r, i, &order, &seen) && record_check_positions(r, i)));
        faults += !fine;
    }
    return faults;
}

int record_positions(struct recorder *r)
{
    int faults = 0;
    for (int i = 0; i < r->plan->role_count; i++)
        faults += r->role[i].place && !record_check_positions(r, i);
    return faults;
}

/* ---- deriving -------------------------------------------------------------------------------------------------- */

/* What a release call was seen to keep: stages that are unreleased after it, -1 not seen; and where it was left out,
 * the most that there were. */
struct kept {
    int after, left_out;
    bool varies, early; /* other numbers than before; nothing was read */
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
    struct kept *k = &x->kept[node];
    int unreleased = x->stages.read[ring] - x->stages.released[ring];
    if (!made) {
        k->left_out = unreleased > k->left_out ? unreleased : k->left_out;
        return;
    }
    k->early = k->early || unreleased < 1;
    k->varies = k->varies || (k->after >= 0 && k->after != unreleased - 1);
    k->after = k->after < 0 ? unreleased - 1 : k->after;
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
                    count_read(r->plan, &x->stages, &f->step[s]);
                if (f->step[s].op == PLAN_RELEASE && f->step[s].ring < MOST_RINGS)
                    note_release(x, i, f->step[s].ring, made);
            }
        } else if (n->kind == NODE_WHEN) {
            keep(x, i + 1, end, made && record_holds(r, x->trial, &x->around, n->condition));
        } else if (n->kind == NODE_LOOP) {
            int trips = made ? record_trips(r, x->trial, n->loop) : 1, level = x->around.count++;
            x->around.counter[level] = n->counter;
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
        kept[i] = (struct kept){.after = -1};
        const struct function *f = record->node[i].kind == NODE_CALL ? &r->function[record->node[i].function] : NULL;
        for (int s = 0; f && f->kind == FUNCTION_STEPS && s < f->step_count; s++)
            own_read(r->plan, &own, &f->step[s]);
    }
    for (int trials = record_trials(r, &trial); trial.number < trials; trial.number++) {
        struct keeping x = {.r = r, .role = role, .trial = &trial, .stages = own, .kept = kept};
        keep(&x, 0, record->count, true);
    }
    for (int i = 0; i < record->count; i++) {
        const struct node *n = &record->node[i];
        const struct kept *k = &kept[i];
        if (k->early)
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                "role '%s': %s releases a stage that is not read yet; write it behind the last read of "
                                "the stage",
                                r->plan->role[role].name, r->function[n->function].name);
        if (k->varies || (k->after >= 0 && k->left_out > k->after))
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                "role '%s': %s releases the oldest stage, but not always as many are read and "
                                "unreleased then; release each stage once, so many turns after its last read",
                                r->plan->role[role].name, r->function[n->function].name);
        if (k->after < 0 && k->left_out)
            kept[i].after = k->left_out; /* it is never made */
    }
    return true;
}

/* Only releases stand under a condition: what the step language has no word for is refused. */
static bool check_conditions(struct recorder *r, const struct role_record *role)
{
    int when = 0;
    for (int i = 0; i < role->count; i++) {
        const struct node *n = &role->node[i];
        when += (n->kind == NODE_WHEN) - (n->kind == NODE_END_WHEN);
        if (when == 0 || n->kind == NODE_WHEN || n->kind == NODE_END_WHEN)
            continue;
        const struct function *f = n->kind == NODE_CALL ? &r->function[n->function] : NULL;
        for (int s = 0; f && f->kind == FUNCTION_STEPS && s < f->step_count; s++)
            if (f->step[s].op != PLAN_RELEASE)
                return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-GUARD",
                                    "'%s' stands under //@ when, where the proof follows releases alone; write it in a "
                                    "loop of its own, whose trips are counted",
                                    f->name);
        if (n->kind == NODE_LOOP)
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-GUARD",
                                "a loop stands under //@ when; write the condition into the loop's bound");
    }
    return true;
}

static void add_step(struct role_record *record, struct plan_role *role, const struct node *n, struct plan_step step)
{
    record->place[role->step_count] = n->at;
    record->column[role->step_count] = n->column;
    role->step[role->step_count++] = step;
}

/* Steps that the role's record amounts to. */
static bool derive(struct recorder *r, struct plan *p, int number)
{
    struct role_record *record = &r->role[number];
    struct plan_role *role = &p->role[number];
    size_t most = 1;
    for (int i = 0; i < record->count; i++)
        most += record->node[i].kind == NODE_CALL ? (size_t)r->function[record->node[i].function].step_count : 1;
    struct kept *kept = arena_alloc(r->arena, ((size_t)record->count + 1) * sizeof *kept);
    record->place = arena_alloc(r->arena, most * sizeof *record->place);
    record->column = arena_alloc(r->arena, most * sizeof *record->column);
    role->step = plan_alloc(p, most * sizeof *role->step);
    if (!kept || !record->place || !record->column || !role->step)
        return !(r->no_memory = true);
    if (!check_conditions(r, record) || !find_kept(r, number, kept))
        return false;
    for (int i = 0; i < record->count; i++) {
        const struct node *n = &record->node[i];
        struct plan_step step = {.ring = -1, .tensor = -1};
        if (n->kind == NODE_LOOP) {
            step.op = PLAN_LOOP;
            step.count = r->loop[n->loop].number > 0 ? r->loop[n->loop].number : 0;
            step.call = plan_text(p, "%s", r->loop[n->loop].name);
        } else if (n->kind == NODE_END_LOOP) {
            step.op = PLAN_END;
        } else if (n->kind != NODE_CALL || r->function[n->function].kind == FUNCTION_ADVANCE) {
            continue;
        }
        if (n->kind != NODE_CALL) {
            add_step(record, role, n, step);
            continue;
        }
        const struct function *f = &r->function[n->function];
        for (int s = 0; s < f->step_count; s++) {
            step = step_of(r, number, &f->step[s]);
            step.call = plan_text(p, "%s", f->name);
            step.count = step.op == PLAN_RELEASE ? kept[i].after : step.count;
            add_step(record, role, n, step);
            if (!step.call)
                return !(r->no_memory = true);
        }
    }
    return true;
}

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
                snprintf(behind, sizeof behind, ", step %d %s", s + 1, step->call ? step->call : op_name[step->op]);
                const char *at = strstr(fault->field + length, behind);
                if (at && strcmp(at, behind) == 0 && (at == fault->field + length || fault->field[length] == ','))
                    fault->loc =
                        template_loc(record->place[s].template, diags, record->place[s].line, record->column[s]);
            }
        }
}
