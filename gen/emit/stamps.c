#include "emit/stamps.h"

#include <stdint.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

static bool is_left_out(const struct plan *p, const struct plan_step *step)
{
    const int ring = plan_step_ring(step);
    return (step->op == PLAN_FILL && ring >= 0 && p->ring[ring].filler == PLAN_FILL_CP_ASYNC) ||
           (step->op == PLAN_RELEASE && step->back > 0);
}

enum stamp stamp_of(const struct plan *p, const struct plan_role *role, int number)
{
    const struct plan_step *step = &role->step[number];
    switch (step->op) {
    case PLAN_LOOP:
        return !step->loop || (step->call && strcmp(step->call, "tiles") == 0) ? STAMP_BEHIND : STAMP_NONE;
    case PLAN_WHEN:
    case PLAN_END:
    case PLAN_ASK:
    case PLAN_TAKE:
    case PLAN_SKIP:
    case PLAN_MMA_FENCE:
    case PLAN_MMA_COMMIT:
    case PLAN_CP_COMMIT:
    case PLAN_FENCE_ASYNC:
        return STAMP_NONE;
    default:
        return !step->call ? STAMP_NONE : is_left_out(p, step) ? STAMP_BESIDE : STAMP_BEHIND;
    }
}

/* The innermost LOOP or, with `whens`, WHEN around the step, itself where it is one; -1: none. */
static int body_of(const struct plan_role *role, int step, bool whens)
{
    int ended = 0;
    for (int i = step; i >= 0; i--) {
        const enum plan_op op = role->step[i].op;
        if (op == PLAN_END)
            ended++;
        else if ((op == PLAN_LOOP || op == PLAN_WHEN) && ended)
            ended--;
        else if (op == PLAN_LOOP || (op == PLAN_WHEN && whens))
            return i;
    }
    return -1;
}

/* The first step of the LOOP's body that each turn stamps; -1: there is none. */
static int anchor_of(const struct plan *p, const struct plan_role *role, int loop)
{
    for (int i = loop; i < role->step_count; i++)
        if (stamp_of(p, role, i) == STAMP_BEHIND && !role->step[i].only && body_of(role, i, true) == loop)
            return i;
    return -1;
}

static bool is_anchor(const struct plan *p, const struct plan_role *role, int step)
{
    const int loop = body_of(role, step, false);
    const int anchor = loop < 0 ? -1 : anchor_of(p, role, loop);
    return loop >= 0 && (anchor < 0 || anchor == step);
}

/* Steps of the LOOP's body, -1: of no loop, before `end` that some passes stamp and others do not. */
static int parted(const struct plan *p, const struct plan_role *role, int loop, int end)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += stamp_of(p, role, i) != STAMP_NONE && body_of(role, i, false) == loop && !is_anchor(p, role, i);
    return count;
}

int stamp_pass(const struct plan *p, const struct plan_role *role, int step, int passes)
{
    const int loop = body_of(role, step, false);
    if (is_anchor(p, role, step))
        return -1;
    return (int)((int64_t)parted(p, role, loop, step) * passes / parted(p, role, loop, role->step_count));
}

int stamp_passes(const struct plan *p)
{
    int most = 1;
    if (p->item_ring || !p->template_name || strncmp(p->template_name, "program.sm_", 11) != 0)
        return 1;
    for (int r = 0; r < p->role_count; r++)
        for (int i = -1; i < p->role[r].step_count; i++) {
            const bool body = i < 0 || p->role[r].step[i].op == PLAN_LOOP;
            const int count = body ? parted(p, &p->role[r], i, p->role[r].step_count) : 0;
            most = count > most ? count : most;
        }
    return most;
}

/* Where it is stamped in one of the passes. */
static enum stamp stamp_in(const struct plan *p, const struct plan_role *role, int step, int pass, int passes)
{
    const enum stamp stamp = stamp_of(p, role, step);
    const int own = stamp == STAMP_NONE ? -1 : stamp_pass(p, role, step, passes);
    return own >= 0 && own != pass ? STAMP_NONE : stamp;
}

/* Whether steps before it and from it on are in other bodies. A loop's stamp is one of its body. */
static bool begins_body(const struct plan_role *role, int step)
{
    const enum plan_op op = role->step[step].op;
    return op == PLAN_LOOP || op == PLAN_WHEN || op == PLAN_END;
}

struct stamp_frame stamp_frame_of(const struct plan *p, const struct plan_role *role, int step, int pass, int passes)
{
    struct stamp_frame frame = {0, 1};
    int from = step, first = -1, count = 0;
    while (from > 0 && !begins_body(role, from))
        from--;
    for (int i = from; i < role->step_count && (i == from || !begins_body(role, i)); i++) {
        const enum stamp stamp = stamp_in(p, role, i, pass, passes);
        if (first < 0 && stamp == STAMP_BEHIND && !role->step[i].only)
            first = i;
        if (first >= 0 && i == step)
            frame.slot = count;
        count += first >= 0 && stamp != STAMP_NONE;
    }
    if (first >= 0 && first <= step)
        frame.slots = count;
    return frame;
}

int emit_stamp(lua_State *L)
{
    static const char *const word[] = {"", "behind", "beside"};
    const struct stamp_context *c = emit_helper_context(L);
    const char *name = luaL_checkstring(L, 1);
    const lua_Integer number = luaL_checkinteger(L, 2);
    const int step = number >= 1 && number <= INT32_MAX ? (int)number - 1 : -1;
    const int passes = c->options->passes ? c->options->passes : 1, pass = c->options->pass;
    enum stamp stamp = STAMP_NONE;
    struct stamp_frame frame = {0, 1};
    for (int r = 0; r < c->plan->role_count && c->options->profile; r++) {
        const struct plan_role *role = &c->plan->role[r];
        if (strcmp(role->name, name) != 0 || step < 0 || step >= role->step_count)
            continue;
        stamp = stamp_in(c->plan, role, step, pass, passes);
        frame = stamp_frame_of(c->plan, role, step, pass, passes);
    }
    lua_pushstring(L, word[stamp]);
    lua_pushfstring(L, "%d, %d, %d", (int)number, frame.slot, frame.slots);
    return 2;
}
