/* How often each loop of a Plan turns: the numbers of its classes, the way of an executor through its program, and
 * which numbers are explored.
 *
 * WHICH NUMBERS STAND FOR ALL. protocol_run decides one assignment of numbers to the classes, in all schedules. There
 * are endlessly many. A turn of a loop meets the rest of the program in two ways only: by the stages that it takes, as
 * i % stages and the parity of i / stages, and by what is in flight when it begins: groups, unreleased stages, turns of
 * named barriers. The first repeats after 2 * stages stages. Of the second nothing is older than that: each rule is
 * about a step and one that came before it on the same stage (i and i - stages, and for parities i - 2 * stages), on
 * the same place, or in the same group; a wait that leaves more groups unfinished than it may leaves them so in the
 * first turn in which they are used. So a loop of more turns than 2 * stages + 2, and those that are peeled off, has in
 * its midst only turns before and behind which lie 2 * stages turns of its own. Such turns are also in a loop of just
 * so many: the same steps at the same distance, ordered by the same waits. Its first and last turns are those of the
 * shorter loop, but for stages that are shifted, and all stages are alike once each was used twice. Hence each class is
 * explored with every number from 0 to most = 2 * stages + 2 + what is peeled off, the others at numbers of their own,
 *     in pairs of classes at 0, 1 and most,
 *     often, with all loops inside of it at 0, at 1 and at 2,
 *     with the loops inside of it at edges: 0, 1, 2, stages - 1, stages, stages + 1, 2 * stages + 1, most,
 *     and in one long run in which edges follow each other as they fall.
 * A late place holds chunks of one item in the turns of the next, one less with each turn in which one goes out. Such
 * turns are as many as chunks are held at most, and so many more are explored, as of turns that are peeled off. Where
 * they stand apart (`part` of a WHEN) the distance grows with the loop, and instances have their own: that adds turns
 * in which nothing goes out, like those of the loop's midst, and what a chunk passes, its instance's buffers, has no
 * part in the rings. test_protocol_random.c tries loops far longer than those explored.
 * The argument is for each loop and its neighbours. Three loops that fail only together, at three numbers that do not
 * follow each other in the long run, are beyond it; tests/unit/plan/test_protocol_random.c holds what passes against
 * random numbers beyond those explored.
 *
 * ITS PREMISE is the language's: numbers come from data which every role reads alike and nobody writes, and data
 * decides how often a body is run, never what is in it. What a late place holds is no number of its own: it follows
 * from the way so far. */
#include "plan/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "spec/arena.h"

/* ---- classes --------------------------------------------------------------------------------------------------- */

enum { ROLES = sizeof((struct protocol_code *)0)->end / sizeof(int *) };

static bool names_class(const struct plan_step *s)
{
    return !s->place && (s->op == PLAN_WHEN || (s->op == PLAN_LOOP && s->count == 0));
}

/* The number of the class of that name, -1 where there is no room for it. LOOPs without a name are one class. */
static int class_of(struct protocol_code *code, const char *name)
{
    for (int i = 0; i < code->classes; i++)
        if (code->class[i].name == name || (name && code->class[i].name && strcmp(code->class[i].name, name) == 0))
            return i;
    if (code->classes == PROTOCOL_MAX_CLASSES)
        return -1;
    code->class[code->classes] = (struct protocol_class){.name = name};
    return code->classes++;
}

int protocol_code(const struct plan *p, struct protocol_code *code)
{
    size_t steps = 0;
    *code = (struct protocol_code){0};
    for (int r = 0; r < p->role_count; r++)
        steps += (size_t)p->role[r].step_count;
    code->memory = p->role_count <= ROLES ? calloc(3 * steps + ROLES, sizeof(int)) : NULL;
    if (!code->memory)
        return 3;
    int *next = code->memory;
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *role = &p->role[r];
        int open[PROTOCOL_MAX_DEPTH], around[PROTOCOL_MAX_DEPTH], depth = 0;
        code->end[r] = next;
        code->number[r] = next + role->step_count;
        code->next[r] = next + 2 * role->step_count;
        next += 3 * role->step_count + 1;
        code->next[r][role->step_count] = role->step_count;
        for (int i = role->step_count - 1; i >= 0; i--)
            code->next[r][i] =
                protocol_is_flow(role->step[i].op) || protocol_holds(p, &role->step[i]) ? i : code->next[r][i + 1];
        for (int i = 0; i < role->step_count; i++) {
            const struct plan_step *s = &role->step[i];
            code->number[r][i] = -1;
            if (s->op == PLAN_END) {
                code->end[r][open[--depth]] = i;
                continue;
            }
            if (s->op != PLAN_LOOP && s->op != PLAN_WHEN)
                continue;
            int n = -1, loops = 0;
            if (names_class(s)) {
                if ((n = class_of(code, s->call)) < 0) {
                    protocol_code_free(code);
                    return 3;
                }
                code->class[n].least = s->least > code->class[n].least ? s->least : code->class[n].least;
                for (int d = 0; d < depth; d++) {
                    loops += role->step[open[d]].op == PLAN_LOOP;
                    if (role->step[open[d]].op == PLAN_LOOP && around[d] >= 0 && around[d] != n)
                        code->class[around[d]].outer = true;
                }
                code->class[n].nested = loops > code->class[n].nested ? loops : code->class[n].nested;
            }
            code->number[r][i] = n;
            around[depth] = n;
            open[depth++] = i;
        }
    }
    return 0;
}

void protocol_code_free(struct protocol_code *code)
{
    free(code->memory);
    *code = (struct protocol_code){0};
}

/* ---- the way of an executor -------------------------------------------------------------------------------------- */

/* The key of the turns of the LOOPs that are open. */
static unsigned key_of(const struct plan_role *role, const struct protocol_flow *flow)
{
    unsigned key = 0;
    if (flow->depth > 0) {
        key = flow->loop[flow->depth - 1].key;
        if (role->step[flow->loop[flow->depth - 1].begin].op == PLAN_LOOP)
            key = key * 7 + (unsigned)flow->loop[flow->depth - 1].turn;
    }
    return key;
}

int protocol_number(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips,
                    int role, const struct protocol_flow *flow)
{
    int n = code->number[role][flow->step], late = protocol_late_place(p, &p->role[role].step[flow->step]);
    if (late >= 0)
        return flow->late[late].left;
    if (n < 0)
        return p->role[role].step[flow->step].count;
    int trip = trips->trip[n][key_of(&p->role[role], flow) % (unsigned)trips->turns];
    return trip > code->class[n].least ? trip : code->class[n].least;
}

/* Whether the next of the place's chunks goes out in this turn of the loop around: see `part` of a WHEN. */
static bool goes_out(const struct plan *p, int role, int instance, const struct protocol_flow *flow)
{
    const struct plan_step *s = &p->role[role].step[flow->step];
    const struct protocol_late *late = &flow->late[protocol_late_place(p, s)];
    int d = flow->depth - 1;
    while (d >= 0 && p->role[role].step[flow->loop[d].begin].op != PLAN_LOOP)
        d--;
    const int64_t instances = p->role[role].instances;
    return d < 0 || s->part * late->all * instances * flow->loop[d].turn >=
                        ((late->all - late->left) * instances + instance) * flow->loop[d].end;
}

int protocol_turns(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips, int role,
                   int instance, const struct protocol_flow *flow)
{
    const struct plan_step *s = &p->role[role].step[flow->step];
    int number = protocol_number(p, code, trips, role, flow);
    if (s->op == PLAN_WHEN && s->part && protocol_late_place(p, s) >= 0 && !goes_out(p, role, instance, flow))
        return 0;
    return s->op == PLAN_LOOP ? number : number > s->count;
}

/* The turn of the innermost loop is another instance's, or its own again. */
static void see_whose_turn(const struct plan_role *role, int instance, struct protocol_flow *flow)
{
    int share = role->step[flow->loop[flow->depth - 1].begin].share;
    if (share > 1)
        flow->next = (flow->loop[flow->depth - 1].turn + 1) % share;
    if (share > 1 && (flow->foreign == 0 || flow->foreign == flow->depth))
        flow->foreign = flow->loop[flow->depth - 1].turn % share == instance % share ? 0 : flow->depth;
}

void protocol_turn(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips, int role,
                   int instance, struct protocol_flow *flow)
{
    const struct plan_role *q = &p->role[role];
    const struct plan_step *s = &q->step[flow->step];
    if (s->op == PLAN_END) {
        int last = flow->depth - 1;
        if (++flow->loop[last].turn < flow->loop[last].end) {
            flow->step = flow->loop[last].begin + 1;
            see_whose_turn(q, instance, flow);
            return;
        }
        flow->foreign = flow->foreign == flow->depth ? 0 : flow->foreign;
        flow->depth--;
        flow->step++;
        return;
    }
    int turn = s->op == PLAN_LOOP ? s->less : 0, end = protocol_turns(p, code, trips, role, instance, flow);
    if (turn >= end) {
        if (s->share > 1)
            flow->next = turn % s->share;
        flow->step = code->end[role][flow->step] + 1;
        return;
    }
    unsigned key = key_of(q, flow);
    flow->loop[flow->depth].begin = flow->step;
    flow->loop[flow->depth].turn = turn;
    flow->loop[flow->depth].end = end;
    flow->loop[flow->depth].key = key;
    flow->depth++;
    flow->step++;
    see_whose_turn(q, instance, flow);
}

/* ---- what is explored -------------------------------------------------------------------------------------------- */

enum { MOST_SEEN = 256 };

/* The way of all roles through their programs in one run, as the numbers of their LOOPs and WHENs in the order in which
 * they come to them. Nothing else of the trips is in what an executor does, but whose turn a shared one is and in which
 * an instance's chunks go out, which follow from the loops' turns: runs of the same way are the same run. */
struct way {
    struct way *next;
    unsigned hash; /* of the numbers: ways that differ in it need no look */
    int64_t steps; /* of the run */
    int count;
    int number[];
};

struct exploration {
    const struct plan *p;
    struct protocol_code code;
    struct protocol_runs *runs;
    struct protocol_trips trips;
    struct diag_set *diags;
    int stages, most;                                      /* of the deepest ring; 2 * stages + 2 */
    int seen[MOST_SEEN][PROTOCOL_MAX_CLASSES], seen_count; /* numbers that were explored, the same in every turn */
    struct arena arena;
    struct way *gone; /* ways that were explored */
};

/* Whether the same numbers were explored before: nothing goes wrong with them. */
static bool is_seen(struct exploration *e)
{
    int number[PROTOCOL_MAX_CLASSES] = {0};
    if (e->trips.turns > 1)
        return false;
    for (int n = 0; n < e->code.classes; n++)
        number[n] = e->trips.trip[n][0] > e->code.class[n].least ? e->trips.trip[n][0] : e->code.class[n].least;
    for (int i = 0; i < e->seen_count; i++)
        if (memcmp(e->seen[i], number, sizeof number) == 0)
            return true;
    if (e->seen_count < MOST_SEEN)
        memcpy(e->seen[e->seen_count++], number, sizeof number);
    return false;
}

/* The way with the trips at hand. NULL out of memory, and where it is too long to be kept. */
static struct way *way_of(struct exploration *e)
{
    enum { MOST = 4096 };
    int number[MOST], count = 0;
    unsigned hash = 2166136261u;
    for (int r = 0; r < e->p->role_count; r++) {
        const struct plan_role *role = &e->p->role[r];
        struct protocol_flow flow = {.step = e->code.next[r][0]};
        while (flow.step < role->step_count) {
            if (count == MOST)
                return NULL;
            if (protocol_holds(e->p, &role->step[flow.step])) {
                protocol_hold(e->p, &role->step[flow.step], &flow);
                flow.step = e->code.next[r][flow.step + 1];
                continue;
            }
            if (role->step[flow.step].op != PLAN_END) {
                int turns = protocol_turns(e->p, &e->code, &e->trips, r, 0, &flow), least = role->step[flow.step].less;
                number[count] = role->step[flow.step].op == PLAN_LOOP && turns < least ? least : turns;
                hash = (hash ^ (unsigned)number[count++]) * 16777619u;
            }
            protocol_turn(e->p, &e->code, &e->trips, r, 0, &flow);
            flow.step = e->code.next[r][flow.step];
        }
    }
    struct way *w = arena_room(&e->arena, sizeof *w + (size_t)count * sizeof *number);
    if (!w)
        return NULL;
    *w = (struct way){.hash = hash, .count = count};
    memcpy(w->number, number, (size_t)count * sizeof *number);
    return w;
}

/* The run of the same way that nothing went wrong in, NULL: there is none. */
static const struct way *gone_before(const struct exploration *e, const struct way *way)
{
    for (const struct way *w = e->gone; w; w = w->next)
        if (w->hash == way->hash && w->count == way->count &&
            memcmp(w->number, way->number, (size_t)w->count * sizeof *w->number) == 0)
            return w;
    return NULL;
}

static bool goes_wrong(struct exploration *e)
{
    if (is_seen(e))
        return false;
    struct way *way = way_of(e);
    const struct way *before = way ? gone_before(e, way) : NULL;
    if (before) {
        protocol_runs_again(e->runs, before->steps);
        return false;
    }
    struct plan_proof so_far = {0}, with = {0};
    protocol_runs_count(e->runs, &so_far);
    for (int rests = 0; rests <= plan_rests(e->p); rests++)
        for (int reuses = 0; reuses <= plan_reuses(e->p); reuses++) {
            e->trips.rests = rests;
            e->trips.reuses = reuses;
            if (protocol_runs_run(e->runs, &e->trips, e->diags) > 0)
                return true;
        }
    protocol_runs_count(e->runs, &with);
    if (way) {
        way->steps = with.steps - so_far.steps;
        way->next = e->gone;
        e->gone = way;
    }
    return false;
}

static void set_class(struct exploration *e, int class, int number)
{
    for (int i = 0; i < PROTOCOL_MAX_TURNS; i++)
        e->trips.trip[class][i] = number;
}

/* Counts that are few, or few more or less than a ring has stages. */
static int edge(const struct exploration *e, int i)
{
    const int edges[] = {0, 1, e->stages, 2, e->stages + 1, e->most, e->stages - 1, 2 * e->stages + 1};
    return edges[(unsigned)i % (sizeof edges / sizeof *edges)];
}

/* Every number from 0 to most in the first turn of the loop around, an edge in the second. */
static bool every_number_goes_wrong(struct exploration *e)
{
    for (int number = e->most; number >= 0; number--) {
        e->trips.turns = 2;
        for (int n = 0, inner = 0; n < e->code.classes; n++) {
            bool outer = e->code.class[n].outer;
            set_class(e, n, 2);
            if (outer && !e->code.class[n].nested)
                continue;
            e->trips.trip[n][0] = outer ? 2 : (number + inner * (e->stages + 1)) % (e->most + 1);
            e->trips.trip[n][1] = outer ? number & 1 : edge(e, number + inner);
            inner += !outer;
        }
        if (goes_wrong(e))
            return true;
    }
    return false;
}

/* Every number of a loop that has others in it, these by edges. */
static bool every_product_goes_wrong(struct exploration *e)
{
    for (int outer = 0; outer < e->code.classes; outer++)
        for (int number = 0; e->code.class[outer].outer && number <= e->most; number++) {
            e->trips.turns = 5;
            for (int n = 0; n < e->code.classes; n++) {
                set_class(e, n, n == outer ? number : 1);
                for (int i = 0; i < 5 && !e->code.class[n].outer; i++)
                    e->trips.trip[n][i] = edge(e, i * (n + 1) + number) % (e->stages + 2);
            }
            if (goes_wrong(e))
                return true;
        }
    return false;
}

/* Loops with others in them turn often while these turn seldom: what the outer ones do is then least held back. */
static bool every_small_one_goes_wrong(struct exploration *e)
{
    e->trips.turns = 1;
    for (int number = 0; number < 3; number++) {
        for (int n = 0; n < e->code.classes; n++)
            set_class(e, n, !e->code.class[n].outer ? number : e->code.class[n].nested ? 3 : e->most);
        if (goes_wrong(e))
            return true;
    }
    return false;
}

/* Each pair of classes at 0, 1 and most, the others at 1. */
static bool every_pair_goes_wrong(struct exploration *e)
{
    const int number[] = {0, 1, e->most};
    e->trips.turns = 1;
    for (int a = 0; a < e->code.classes; a++)
        for (int b = 0; b < a; b++)
            for (int i = 0; i < 9; i++) {
                bool few = (e->code.class[a].outer || i / 3 < 2) && (e->code.class[b].outer || i % 3 < 2);
                for (int n = 0; n < e->code.classes; n++) {
                    bool outer = e->code.class[n].outer;
                    int often = few && !e->code.class[n].nested ? e->most : 3;
                    int to = n == a ? number[i / 3] : n == b ? number[i % 3] : outer ? often : 1;
                    set_class(e, n, outer && to > often ? often : to);
                }
                if (goes_wrong(e))
                    return true;
            }
    return false;
}

/* Many turns of the loop around, in which edges follow each other in every order. */
static bool every_order_goes_wrong(struct exploration *e)
{
    unsigned draw = 1;
    e->trips.turns = PROTOCOL_MAX_TURNS;
    for (int n = 0; n < e->code.classes; n++) {
        set_class(e, n, PROTOCOL_MAX_TURNS);
        for (int i = 0; i < PROTOCOL_MAX_TURNS && (e->code.class[n].nested || !e->code.class[n].outer); i++) {
            draw = draw * 1664525u + 1013904223u;
            e->trips.trip[n][i] = e->code.class[n].outer ? (int)(draw >> 24) % 3 : edge(e, (int)(draw >> 24));
        }
    }
    return goes_wrong(e);
}

/* Turns that are peeled off a loop, at most; those that guards count, and in which chunks go out late, too. */
static int peeled(const struct plan *p)
{
    int most = 0, late = 0;
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *s = &p->role[r].step[i];
            int turns = s->op == PLAN_LOOP ? s->less : s->op == PLAN_WHEN ? s->count : 0;
            most = turns > most ? turns : most;
            late += s->op == PLAN_TOUCH && protocol_holds(p, s) ? s->count : 0;
        }
    return most + late;
}

int protocol_explore(const struct plan *p, struct diag_set *diags, struct plan_proof *proof)
{
    struct exploration e = {.p = p, .diags = diags, .stages = 1};
    int faults = diags->errors;
    bool coded = protocol_code(p, &e.code) == 0;
    e.runs = coded ? protocol_runs_open(p, &e.code) : NULL;
    if (!e.runs) {
        protocol_code_free(&e.code);
        diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-LIMIT",
                    "%s: memory is out; nothing is proved", p->arch);
        return 1;
    }
    for (int g = 0; g < p->ring_count; g++)
        e.stages = p->ring[g].stages > e.stages ? p->ring[g].stages : e.stages;
    e.most = 2 * e.stages + 2 + peeled(p);
    if (e.code.classes == 0) {
        e.trips.turns = 1;
        goes_wrong(&e);
    } else if (!every_number_goes_wrong(&e) && !every_product_goes_wrong(&e) && !every_small_one_goes_wrong(&e) &&
               !every_pair_goes_wrong(&e)) {
        every_order_goes_wrong(&e);
    }
    *proof = (struct plan_proof){.turns = e.code.classes == 0 ? 1 : e.most};
    protocol_runs_count(e.runs, proof);
    protocol_runs_close(e.runs);
    protocol_code_free(&e.code);
    arena_free(&e.arena);
    return diags->errors - faults;
}
