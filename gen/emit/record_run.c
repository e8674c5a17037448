/* Executions of the recorded roles: trip counts, conditions, and the positions in rings. */
#include <string.h>

#include "emit/record_internal.h"

enum { MOST_TRIALS = 4096, MOST_POSITIONS = 32, MOST_NODES = 1 << 17 };

/* ---- trip counts ----------------------------------------------------------------------------------------------- */

int record_trips(const struct recorder *r, const struct trial *trial, int class)
{
    const struct loop_class *l = &r->loop[r->loop[class].trips];
    if (l->number >= 0)
        return l->number < MOST_TRIPS ? l->number : MOST_TRIPS;
    int rest = trial->number;
    for (int i = 0; i < r->loop[class].trips; i++)
        if (r->loop[i].trips == i && r->loop[i].number < 0)
            rest /= trial->base;
    return rest % trial->base;
}

/* Enough digits for one more than every number that a condition has, on top of 0 to 3. */
int record_trials(const struct recorder *r, struct trial *trial)
{
    int classes = 0, most = 0, count = 1;
    for (int i = 0; i < r->plan->role_count; i++)
        for (int n = 0; n < r->role[i].count; n++)
            for (int t = 0; r->role[i].node[n].condition && t < r->role[i].node[n].condition->count; t++)
                if (r->role[i].node[n].condition->term[t].number > most)
                    most = r->role[i].node[n].condition->term[t].number;
    for (int i = 0; i < r->loop_count; i++)
        classes += r->loop[i].trips == i && r->loop[i].number < 0;
    trial->number = 0;
    trial->base = most < 12 ? most + 4 : 16;
    for (int i = 0; i < classes && count * trial->base <= MOST_TRIALS; i++)
        count *= trial->base;
    return count;
}

/* ---- conditions ------------------------------------------------------------------------------------------------ */

/* The value of a condition's name. False: it has none. */
static bool value_of(const struct recorder *r, const struct trial *trial, const struct around *around, const char *name,
                     int *value)
{
    for (int i = around->count - 1; i >= 0; i--)
        if (around->counter[i] && strcmp(around->counter[i], name) == 0) {
            *value = around->turn[i];
            return true;
        }
    for (int i = 0; i < r->loop_count; i++)
        if (!r->loop[i].turns && strcmp(r->loop[i].bound, name) == 0) {
            *value = record_trips(r, trial, i);
            return true;
        }
    return false;
}

bool record_holds(const struct recorder *r, const struct trial *trial, const struct around *around,
                  const struct condition *c)
{
    int side[2] = {0, 0}, value;
    for (int i = 0; i < c->count; i++) {
        const struct term *t = &c->term[i];
        value = t->number;
        if (t->name && !value_of(r, trial, around, t->name, &value))
            return false;
        side[i >= c->left] += t->sign * value;
    }
    bool less = side[0] < side[1], equal = side[0] == side[1];
    switch (c->compare[0]) {
    case '<':
        return less || (equal && c->compare[1]);
    case '>':
        return (!less && !equal) || (equal && c->compare[1]);
    case '=':
        return equal;
    default:
        return !equal;
    }
}

int record_node_end(const struct role_record *role, int node)
{
    int depth = 0;
    for (int i = node; i < role->count; i++) {
        enum node_kind k = role->node[i].kind;
        depth += (k == NODE_LOOP || k == NODE_WHEN) - (k == NODE_END_LOOP || k == NODE_END_WHEN);
        if (depth == 0)
            return i;
    }
    return role->count;
}

unsigned record_tensor_bit(const struct plan *p, const struct plan_step *s)
{
    for (int i = 0; i < p->ring[s->ring].tensor_count; i++)
        if (p->ring[s->ring].tensor[i] == s->tensor)
            return 1u << i;
    return 0;
}

/* Every name of a condition is a counter of a loop around, or a bound. */
bool record_check_names(struct recorder *r, const struct role_record *role)
{
    const struct trial trial = {0, 4};
    struct around around = {.count = 0};
    for (int i = 0; i < role->count; i++) {
        const struct node *n = &role->node[i];
        if (n->kind == NODE_LOOP && around.count == MOST_LOOPS)
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-LIMIT", "loops are nested more than %d deep",
                                MOST_LOOPS);
        if (n->kind == NODE_LOOP)
            around.counter[around.count++] = n->counter;
        around.count -= n->kind == NODE_END_LOOP;
        for (int t = 0, value; n->kind == NODE_WHEN && t < n->condition->count; t++) {
            const char *name = n->condition->term[t].name;
            if (name && !value_of(r, &trial, &around, name, &value))
                return RECORD_FAULT(r, n->at, record_column(n->at, name, (int)strlen(name)), "TEMPLATE-GUARD",
                                    "'%s' is no counter of a loop around and no loop's bound; the proof knows those",
                                    name);
        }
    }
    return true;
}

/* ---- positions ------------------------------------------------------------------------------------------------- */

/* An execution that follows the variables: where each stands, and where its ring's steps are. */
struct walk {
    struct recorder *r;
    int role, nodes;
    const struct trial *trial;
    struct around around;
    struct {
        const char *name;
        int ring, at; /* ring -1: not used yet */
        bool elected;
    } position[MOST_POSITIONS];
    int positions;
    struct {
        unsigned reads, fills, reading, filling;
        int read, filled, released;
    } ring[MOST_RINGS];
};

static bool is_step(const struct function *f)
{
    return f->kind == FUNCTION_STEPS && f->step_count && f->step[0].ring >= 0 && f->step[0].ring < MOST_RINGS;
}

/* Where the ring is for such a step: stages that went past before. */
static int due(const struct walk *x, const struct plan_step *s)
{
    switch (s->op) {
    case PLAN_WAIT_FULL:
    case PLAN_READ:
        return x->ring[s->ring].read;
    case PLAN_RELEASE:
        return x->ring[s->ring].released;
    default:
        return x->ring[s->ring].filled;
    }
}

static void go_on(struct walk *x, const struct plan_step *s)
{
    unsigned bit = record_tensor_bit(x->r->plan, s);
    if (s->op == PLAN_READ && (x->ring[s->ring].reading |= bit) == x->ring[s->ring].reads) {
        x->ring[s->ring].reading = 0;
        x->ring[s->ring].read++;
    } else if (s->op == PLAN_FILL && (x->ring[s->ring].filling |= bit) == x->ring[s->ring].fills) {
        x->ring[s->ring].filling = 0;
        x->ring[s->ring].filled++;
    }
    x->ring[s->ring].released += s->op == PLAN_RELEASE;
}

static bool call(struct walk *x, const struct node *n)
{
    struct recorder *r = x->r;
    const struct function *f = &r->function[n->function];
    int v = 0;
    while (n->position && v < x->positions && strcmp(x->position[v].name, n->position) != 0)
        v++;
    if (n->position && v < x->positions) {
        int ring = f->step[0].ring, at = x->position[v].at, stages = r->plan->ring[ring].stages;
        const char *name = r->plan->ring[ring].name;
        bool first = x->position[v].ring < 0;
        if (first) {
            x->position[v].ring = ring;
            x->position[v].elected = n->elected;
        }
        if (x->position[v].ring != ring || x->position[v].elected != n->elected)
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                x->position[v].ring != ring
                                    ? "'%s' was a position in another ring than '%s' before; declare one for each"
                                    : "'%s' is moved by one thread and by all, and they do not agree where in ring "
                                      "'%s' it is; declare one for each",
                                n->position, name);
        if (is_step(f) && at != due(x, &f->step[0]))
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                "'%s' is %d stage%s %s where %s of ring '%s' is due (stage %d of %d, turn %d); move it "
                                "on once for each stage",
                                n->position,
                                at < due(x, &f->step[0]) ? due(x, &f->step[0]) - at : at - due(x, &f->step[0]),
                                at - due(x, &f->step[0]) == 1 || due(x, &f->step[0]) - at == 1 ? "" : "s",
                                at < due(x, &f->step[0]) ? "behind" : "ahead of", f->name, name,
                                due(x, &f->step[0]) % stages, stages, due(x, &f->step[0]) / stages);
        x->position[v].at += f->moves;
    }
    for (int s = 0; is_step(f) && s < f->step_count; s++)
        if (f->step[s].ring == f->step[0].ring)
            go_on(x, &f->step[s]);
    return true;
}

static void declare(struct walk *x, const struct node *n)
{
    int v = 0;
    while (v < x->positions && strcmp(x->position[v].name, n->position) != 0)
        v++;
    if (v == MOST_POSITIONS)
        return;
    x->positions += v == x->positions;
    x->position[v].name = n->position;
    x->position[v].ring = -1;
    x->position[v].at = 0;
}

static bool walk(struct walk *x, int from, int to)
{
    struct recorder *r = x->r;
    const struct role_record *role = &r->role[x->role];
    for (int i = from; i < to && x->nodes < MOST_NODES; i++, x->nodes++) {
        const struct node *n = &role->node[i];
        int end = n->kind == NODE_LOOP || n->kind == NODE_WHEN ? record_node_end(role, i) : i;
        if (n->kind == NODE_POSITION)
            declare(x, n);
        if (n->kind == NODE_CALL && !call(x, n))
            return false;
        if (n->kind == NODE_WHEN && record_holds(r, x->trial, &x->around, n->condition) && !walk(x, i + 1, end))
            return false;
        if (n->kind == NODE_LOOP) {
            int trips = record_trips(r, x->trial, n->loop), level = x->around.count++;
            x->around.counter[level] = n->counter;
            for (int turn = 0; turn < trips; turn++) {
                x->around.turn[level] = turn;
                if (!walk(x, i + 1, end))
                    return false;
            }
            x->around.count--;
        }
        i = end;
    }
    return true;
}

bool record_check_positions(struct recorder *r, int role)
{
    const struct role_record *record = &r->role[role];
    struct walk own = {.r = r, .role = role};
    struct trial trial;
    for (int i = 0; i < record->count; i++) {
        const struct function *f = record->node[i].kind == NODE_CALL ? &r->function[record->node[i].function] : NULL;
        for (int s = 0; f && is_step(f) && s < f->step_count; s++) {
            const struct plan_step *step = &f->step[s];
            if (step->op == PLAN_READ)
                own.ring[step->ring].reads |= record_tensor_bit(r->plan, step);
            else if (step->op == PLAN_FILL)
                own.ring[step->ring].fills |= record_tensor_bit(r->plan, step);
        }
    }
    for (trial.number = record_trials(r, &trial) - 1; trial.number >= 0; trial.number--) {
        struct walk x = own;
        x.trial = &trial;
        if (!walk(&x, 0, record->count))
            return false;
    }
    return true;
}
