/* The protocol check: items that one role passes on to the others.
 *
 * The other loops' numbers are data that every role reads for itself. How often a block turns over its items is decided
 * while it runs, by the one role that takes them; so what every role turns by must be what that role wrote for this
 * turn. That the stage read is the stage written is the ring's affair. Here is shown that each role asks it once a
 * turn, and in every turn: before the loop, and again in its body. */
#include "plan/protocol.h"

#include <string.h>

static bool is_tiles(const struct plan_step *s)
{
    return s->op == PLAN_LOOP && s->call && strcmp(s->call, "tiles") == 0;
}

/* Steps by which the role learns of an item: WRITE or READ of the ring, in [from, to), in no loop. */
static int told(const struct plan_role *role, int ring, int from, int to)
{
    int times = 0, depth = 0;
    for (int i = from; i < to; i++) {
        const struct plan_step *s = &role->step[i];
        depth += s->op == PLAN_LOOP || s->op == PLAN_WHEN ? 1 : s->op == PLAN_END ? -1 : 0;
        times += depth == 0 && (s->op == PLAN_WRITE || s->op == PLAN_READ) && s->ring == ring;
    }
    return times;
}

static void check_role(const struct plan *p, int r, int ring, struct diag_set *diags)
{
    const struct plan_role *role = &p->role[r];
    int loop = 0, steps = 0;
    while (loop < role->step_count && !is_tiles(&role->step[loop]))
        loop++;
    if (loop == role->step_count)
        return;
    int end = plan_body_end(role, loop);
    for (int i = 0; i < role->step_count; i++)
        steps += (role->step[i].op == PLAN_WRITE || role->step[i].op == PLAN_READ) && role->step[i].ring == ring;
    int before = told(role, ring, 0, loop), within = told(role, ring, loop + 1, end);
    if (before != 1 || within != 1 || steps != 2)
        protocol_fault(p, diags, r, -1, loop, "PROTOCOL-ITEMS",
                       "turns over items that ring %s passes on, but is told of one %d time%s before the loop and %d a "
                       "turn, of %d steps; write or read the ring once before the loop and once in its body, in no "
                       "other loop",
                       p->ring[ring].name, before, before == 1 ? "" : "s", within, steps);
}

void protocol_check_items(const struct plan *p, struct diag_set *diags)
{
    int ring = plan_number(p->item_ring), writers = 0, writer = -1, step = -1;
    if (ring < 0)
        return;
    for (int r = 0; r < p->role_count; r++) {
        int first = protocol_find(&p->role[r], PLAN_WRITE, ring);
        if (first < 0)
            continue;
        writers++;
        writer = r;
        step = first;
    }
    if (writers != 1 || p->role[writer].instances != 1 || !p->role[writer].one_thread) {
        diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-ITEMS",
                    "%s, ring %s passes items on: one thread of one role must take them", p->arch, p->ring[ring].name);
        return;
    }
    if (p->ring[ring].filler != PLAN_FILL_ARRIVE || p->ring[ring].tensor_count != 0)
        protocol_fault(p, diags, writer, 0, step, "PROTOCOL-ITEMS",
                       "ring %s passes items on; it is filled by arrivals and holds no tensors", p->ring[ring].name);
    for (int r = 0; r < p->role_count; r++)
        check_role(p, r, ring, diags);
}
