/* Late places: results that are packed behind one item and go out, chunk by chunk, in the turns of the next.
 *
 * WHAT GOES OUT. How many chunks a place holds follows from the steps alone: packed, held, taken. So a WHEN or LOOP
 * that asks for it goes the same way in all schedules and in all threads of an executor, and what it asks is a part of
 * where the executor is in its program (struct protocol_flow). A chunk goes out once: what is taken must be held, and
 * nothing may be packed, and no role may end, while a chunk is. That it goes to its own item's place is read off the
 * steps: the STORE behind a WRITE of the place takes both from there.
 *
 * The registers are the threads' own: no matrix instruction writes or reads them. */
#include "plan/protocol.h"

int protocol_late_place(const struct plan *p, const struct plan_step *s)
{
    const struct plan_place *place = protocol_place(p, s->place);
    int number = 0;
    if (!place || place->kind != PLAN_PLACE_LATE)
        return -1;
    for (const struct plan_place *q = p->place; q < place; q++)
        number += q->kind == PLAN_PLACE_LATE;
    return number < PROTOCOL_MAX_LATE ? number : -1;
}

bool protocol_holds(const struct plan *p, const struct plan_step *s)
{
    return (s->op == PLAN_TOUCH || s->op == PLAN_WRITE) && s->place && protocol_late_place(p, s) >= 0;
}

enum protocol_late_fault protocol_hold(const struct plan *p, const struct plan_step *s, struct protocol_flow *flow)
{
    struct protocol_late *late = &flow->late[protocol_late_place(p, s)];
    if (s->op == PLAN_WRITE) {
        const bool none = late->left == 0;
        late->left -= !none;
        return none ? LATE_NONE_HELD : LATE_FINE;
    }
    if (late->left > 0)
        return LATE_LOST;
    if (s->count == 0) {
        late->packed++;
        return LATE_FINE;
    }
    if (late->packed != s->count)
        return LATE_NOT_PACKED;
    *late = (struct protocol_late){.left = s->count, .all = s->count};
    return LATE_FINE;
}

static bool is_late(const struct plan *p, const struct plan_step *s)
{
    const struct plan_place *place = protocol_place(p, s->place);
    return place && place->kind == PLAN_PLACE_LATE;
}

/* A step that may name a late place, and must name none of another kind. */
static void check_step(const struct plan *p, int role, int step, struct diag_set *diags)
{
    const struct plan_step *s = &p->role[role].step[step];
    if (!is_late(p, s))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE",
                       "place %d is none of kind %s, and a step %s has no other", plan_number(s->place),
                       plan_place_word[PLAN_PLACE_LATE], plan_op_word[s->op]);
    else if (protocol_late_place(p, s) < 0)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-LIMIT", "the Plan has more than %d places of kind %s",
                       PROTOCOL_MAX_LATE, plan_place_word[PLAN_PLACE_LATE]);
    else if (protocol_is_flow(s->op) && (s->count || s->least || s->less || s->share))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE",
                       "asks what %s holds, and has a number of its own beside that; write count, least, less and "
                       "share = 0",
                       p->place[plan_number(s->place)].name);
}

/* What takes turns with others, or fills a cp.async ring, whose stages are counted ahead, holds nothing late: the
 * exploration does not follow it there. */
static bool is_followed(const struct plan *p, const struct plan_role *role)
{
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        const bool fills = s->op == PLAN_FILL && s->ring >= 0 && s->ring < p->ring_count;
        if (s->share > 1 || (fills && p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC))
            return false;
    }
    return true;
}

void protocol_check_late(const struct plan *p, int role, struct diag_set *diags)
{
    const struct plan_role *r = &p->role[role];
    int first = -1, written[16] = {0}; /* by ring: the place of the last WRITE */
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        const bool may = protocol_is_flow(s->op) || s->op == PLAN_WRITE || s->op == PLAN_STORE;
        if (may && s->place)
            check_step(p, role, i, diags);
        first = first < 0 && is_late(p, s) ? i : first;
        if (s->op == PLAN_WRITE && s->ring >= 0 && s->ring < 16)
            written[s->ring] = s->place;
        if (s->op == PLAN_STORE && s->ring >= 0 && s->ring < 16 && s->place != written[s->ring])
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-PLACE",
                           "stores at the place of another item than the chunk's that was written last; write the same "
                           "late place in both steps, or in neither");
    }
    if (first >= 0 && !is_followed(p, r))
        protocol_fault(p, diags, role, -1, first, "PROTOCOL-LIMIT",
                       "holds results in a role that takes turns with others or fills a cp.async ring; nothing is "
                       "proved of that");
}
