/* Executions of the recorded roles: trip counts, conditions, and the positions in rings. */
#include <string.h>

#include "emit/record/record_internal.h"

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

int record_turn(const struct role_record *role, const struct around *around)
{
    for (int i = around->count - 1; i >= 0 && role->peel; i--) {
        struct peel p = role->peel[around->node[i]];
        if (p.head + p.tail == 0)
            continue;
        int turn = around->turn[i];
        return turn < p.head ? turn : turn >= around->trips[i] - p.tail ? TURN_TAIL : TURN_MIDDLE;
    }
    return TURN_MIDDLE;
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

static bool is_copied(const struct plan *p, const struct plan_step *s)
{
    return p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC;
}

void record_own(const struct plan *p, struct stages *g, const struct plan_step *s)
{
    if (s->op == PLAN_READ && s->ring >= 0 && s->ring < MOST_RINGS)
        g->own[s->ring] |= record_tensor_bit(p, s);
}

void record_take(const struct plan *p, struct stages *g, const struct plan_step *s)
{
    if (s->ring < 0 || s->ring >= MOST_RINGS)
        return;
    if (!is_copied(p, s)) {
        g->taken[s->ring] += s->op == PLAN_WAIT_FULL;
    } else if (s->op == PLAN_READ) {
        g->reading[s->ring] |= record_tensor_bit(p, s);
        if (g->reading[s->ring] == g->own[s->ring]) {
            g->reading[s->ring] = 0;
            g->taken[s->ring]++;
        }
    }
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
        const char *name;
        int ring, stage;
    } pointer[MOST_POSITIONS]; /* what variables point into; ring -1: nothing yet */
    int pointers;
    struct {
        unsigned fills, filling;
        int taken, filled, released;
    } ring[MOST_RINGS];
    bool silent;
};

static bool is_step(const struct function *f)
{
    return f->kind == FUNCTION_STEPS && f->step_count && f->step[0].ring >= 0 && f->step[0].ring < MOST_RINGS;
}

/* The stages that a position may stand at for such a step: stages that went past before, of a READ any that is taken
 * and not released. */
static void due(const struct walk *x, const struct plan_step *s, int *first, int *last)
{
    switch (s->op) {
    case PLAN_WAIT_FULL:
    case PLAN_ASK:
        *first = *last = x->ring[s->ring].taken;
        return;
    case PLAN_READ:
        *first = x->ring[s->ring].released;
        *last = x->ring[s->ring].taken - 1;
        return;
    case PLAN_RELEASE:
        *first = *last = x->ring[s->ring].released;
        return;
    default:
        *first = *last = x->ring[s->ring].filled;
        return;
    }
}

static void go_on(struct walk *x, const struct plan_step *s)
{
    unsigned bit = record_tensor_bit(x->r->plan, s);
    x->ring[s->ring].taken += s->op == PLAN_WAIT_FULL;
    x->ring[s->ring].released += s->op == PLAN_RELEASE;
    if (s->op == PLAN_FILL && (x->ring[s->ring].filling |= bit) == x->ring[s->ring].fills) {
        x->ring[s->ring].filling = 0;
        x->ring[s->ring].filled++;
    }
}

/* The pointer's number, a new one where it has none; -1: there are too many. */
static int pointer_of(struct walk *x, const char *name)
{
    int p = 0;
    while (p < x->pointers && strcmp(x->pointer[p].name, name) != 0)
        p++;
    if (p == MOST_POSITIONS)
        return -1;
    if (p == x->pointers) {
        x->pointer[p].name = name;
        x->pointer[p].ring = -1;
        x->pointers++;
    }
    return p;
}

/* What a pointer points into is not released. */
static bool use(struct walk *x, const struct node *n)
{
    int p = pointer_of(x, n->pointer), ring = p < 0 ? -1 : x->pointer[p].ring;
    if (x->silent || ring < 0 || x->pointer[p].stage >= x->ring[ring].released)
        return true;
    return RECORD_FAULT(x->r, n->at, n->column, "TEMPLATE-ORDER",
                        "'%s' points into a stage of ring '%s' that is released; release it behind the last use",
                        n->pointer, x->r->plan->ring[ring].name);
}

static bool check_position(struct walk *x, struct node *n, int v)
{
    struct recorder *r = x->r;
    const struct function *f = &r->function[n->function];
    const struct plan_step *step = &f->step[0];
    int at = x->position[v].at, stages = r->plan->ring[step->ring].stages, first, last;
    const char *name = r->plan->ring[step->ring].name;
    if (x->position[v].ring < 0) {
        x->position[v].ring = step->ring;
        x->position[v].elected = n->elected;
    }
    if (x->position[v].ring != step->ring || x->position[v].elected != n->elected)
        return x->silent || RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                         x->position[v].ring != step->ring
                                             ? "'%s' was a position in another ring than '%s' before; declare one for "
                                               "each"
                                             : "'%s' is moved by one thread and by all, and they do not agree where in "
                                               "ring '%s' it is; declare one for each",
                                         n->position, name);
    if (f->kind != FUNCTION_STEPS)
        return true;
    due(x, step, &first, &last);
    if (step->op == PLAN_READ && !r->role[x->role].peel)
        first = last; /* the Plan's own steps read what was taken last */
    if (step->op == PLAN_READ && at >= first && at <= last) {
        int back = x->ring[step->ring].taken - 1 - at;
        int turn = record_turn(&r->role[x->role], &x->around);
        n->back[turn] = n->placed[turn] && n->back[turn] != back ? -1 : back;
        n->placed[turn] = true;
        if (n->back[turn] < 0 && !x->silent)
            return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                                "'%s' is not always as many stages behind the one that %s_wait_full took last; give "
                                "each distance its own call",
                                n->position, name);
    }
    if (x->silent || (at >= first && at <= last))
        return true;
    if (first > last)
        return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER", "%s reads a stage of ring '%s', and none is taken",
                            f->name, name);
    int nearest = at < first ? first : last, off = at < first ? first - at : at - last;
    return RECORD_FAULT(r, n->at, n->column, "TEMPLATE-ORDER",
                        "'%s' is %d stage%s %s where %s of ring '%s' is due (stage %d of %d, turn %d); move it on once "
                        "for each stage",
                        n->position, off, off == 1 ? "" : "s", at < first ? "behind" : "ahead of", f->name, name,
                        nearest % stages, stages, nearest / stages);
}

static bool call(struct walk *x, struct node *n)
{
    const struct function *f = &x->r->function[n->function];
    int v = 0;
    while (n->position && v < x->positions && strcmp(x->position[v].name, n->position) != 0)
        v++;
    if (n->position && v < x->positions) {
        if (!check_position(x, n, v))
            return false;
        int p = n->pointer ? pointer_of(x, n->pointer) : -1;
        if (p >= 0) {
            x->pointer[p].ring = f->step[0].ring;
            x->pointer[p].stage = x->position[v].at;
        }
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
        struct node *n = &role->node[i];
        int end = n->kind == NODE_LOOP || n->kind == NODE_WHEN ? record_node_end(role, i) : i;
        if (n->kind == NODE_POSITION)
            declare(x, n);
        if ((n->kind == NODE_CALL && !call(x, n)) || (n->kind == NODE_USE && !use(x, n)))
            return false;
        if (n->kind == NODE_WHEN && record_holds(r, x->trial, &x->around, n->condition) && !walk(x, i + 1, end))
            return false;
        if (n->kind == NODE_LOOP) {
            int trips = record_trips(r, x->trial, n->loop), level = x->around.count++;
            x->around.counter[level] = n->counter;
            x->around.node[level] = i;
            x->around.trips[level] = trips;
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

bool record_check_positions(struct recorder *r, int role, bool silent)
{
    const struct role_record *record = &r->role[role];
    struct walk own = {.r = r, .role = role, .silent = silent};
    struct trial trial;
    for (int i = 0; i < record->count; i++) {
        const struct function *f = record->node[i].kind == NODE_CALL ? &r->function[record->node[i].function] : NULL;
        for (int s = 0; f && is_step(f) && s < f->step_count; s++) {
            const struct plan_step *step = &f->step[s];
            if (step->op == PLAN_FILL)
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
