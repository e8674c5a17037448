/* The way of a thread of protocol_naive.h through its loops: which step is next, whose turn it is, how often a body is
 * run. */
#include "unit/plan/protocol_naive.h"

const struct plan_step *naive_step_of(const struct naive *n, const struct naive_thread *q, int t)
{
    return &n->p->role[n->who[t].role].step[q->step];
}

static int naive_number(const struct naive *n, const struct naive_thread *q, int t)
{
    const struct plan_role *role = &n->p->role[n->who[t].role];
    int class = n->code.number[n->who[t].role][q->step];
    unsigned key = 0;
    if (role->step[q->step].place) /* what is held in a late place */
        return q->place[plan_number(role->step[q->step].place)].held;
    if (class < 0)
        return role->step[q->step].count;
    for (int d = 0; d < q->depth; d++)
        if (role->step[q->begin[d]].op == PLAN_LOOP)
            key = key * 7 + (unsigned)q->turn[d];
    int number = n->trips->trip[class][key % (unsigned)n->trips->turns];
    return number < n->code.class[class].least ? n->code.class[class].least : number;
}

/* A turn begins; of a shared loop it is known whose is the next. */
static void naive_turn(const struct plan_role *role, struct naive_thread *q, int d)
{
    int share = role->step[q->begin[d]].share;
    q->next = (uint8_t)(share ? (q->turn[d] + 1) % share : q->next);
}

/* The first turn of the loop around, of so many, in which the next chunk of a late place may go out. */
static int naive_due(const struct naive *n, const struct naive_thread *q, int t, int turns)
{
    const struct plan_step *e = naive_step_of(n, q, t);
    const struct naive_place *a = &q->place[plan_number(e->place)];
    const int instances = n->p->role[n->who[t].role].instances, steps = e->part * a->all * instances;
    return steps ? ((a->all - a->held) * instances + n->who[t].instance) * turns / steps +
                       (((a->all - a->held) * instances + n->who[t].instance) * turns % steps != 0)
                 : 0;
}

/* A LOOP, WHEN or END. */
void naive_loop(const struct naive *n, struct naive_thread *q, int t)
{
    const struct plan_role *role = &n->p->role[n->who[t].role];
    const struct plan_step *e = &role->step[q->step];
    if (e->op == PLAN_END) {
        int d = q->depth - 1;
        for (int g = 0; g < n->p->ring_count; g++)
            if (n->who[t].scope[g] == q->begin[d])
                q->ring[g].filled_here = 0;
        if (++q->turn[d] < q->end[d]) {
            q->step = (uint8_t)(q->begin[d] + 1);
            naive_turn(role, q, d);
            return;
        }
        q->begin[d] = 0;
        q->turn[d] = q->end[d] = 0;
        q->depth--;
        q->step++;
        return;
    }
    int number = naive_number(n, q, t);
    int turn = e->op == PLAN_WHEN ? 0 : e->less, end = e->op == PLAN_WHEN ? number > e->count : number;
    for (int d = q->depth - 1; d >= 0 && e->op == PLAN_WHEN && e->part && end; d--)
        if (role->step[q->begin[d]].op == PLAN_LOOP) {
            end = q->turn[d] >= naive_due(n, q, t, q->end[d]);
            break;
        }
    if (turn >= end) {
        q->next = (uint8_t)(e->share ? turn % e->share : q->next);
        q->step = (uint8_t)(plan_body_end(role, q->step) + 1);
        return;
    }
    q->begin[q->depth] = q->step++;
    q->turn[q->depth] = (int8_t)turn;
    q->end[q->depth++] = (int8_t)end;
    naive_turn(role, q, q->depth - 1);
}

/* The turn is another instance's. */
bool naive_is_foreign(const struct naive *n, const struct naive_thread *q, int t)
{
    const struct plan_role *role = &n->p->role[n->who[t].role];
    for (int d = 0; d < q->depth; d++) {
        int share = role->step[q->begin[d]].share;
        if (share > 1 && q->turn[d] % share != n->who[t].instance % share)
            return true;
    }
    return false;
}

/* Stages of a cp.async ring that the role reads in this turn of the loop around its FILLs and READs. */
int naive_reads_here(const struct naive *n, const struct naive_thread *at, int t, int g)
{
    const struct plan_role *r = &n->p->role[n->who[t].role];
    struct naive_thread q = *at;
    int depth = 0, reads = 0;
    while (depth < q.depth && n->who[t].scope[g] >= 0 && q.begin[depth++] != n->who[t].scope[g])
        ;
    q.depth = (uint8_t)(n->who[t].scope[g] >= 0 ? depth : 0);
    depth = q.depth;
    for (q.step = (uint8_t)(n->who[t].scope[g] + 1); q.step < r->step_count;) {
        const struct plan_step *e = &r->step[q.step];
        if (e->op == PLAN_END && q.depth == depth)
            break;
        if (protocol_is_flow(e->op)) {
            naive_loop(n, &q, t);
            continue;
        }
        bool taking = n->who[t].takes[g] ? e->op == PLAN_TAKE : e->op == PLAN_READ && e->back == 0;
        reads += taking && e->ring == g;
        q.step++;
    }
    return n->who[t].takes[g] ? reads : reads / __builtin_popcount(n->who[t].reads[g]);
}
