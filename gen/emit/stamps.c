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

int emit_stamp(lua_State *L)
{
    static const char *const word[] = {"", "behind", "beside"};
    const struct stamp_context *c = emit_helper_context(L);
    const char *name = luaL_checkstring(L, 1);
    const lua_Integer number = luaL_checkinteger(L, 2);
    const int step = number >= 1 && number <= INT32_MAX ? (int)number - 1 : -1;
    const int passes = c->options->passes ? c->options->passes : 1;
    enum stamp stamp = STAMP_NONE;
    for (int r = 0; r < c->plan->role_count && c->options->profile; r++) {
        const struct plan_role *role = &c->plan->role[r];
        if (strcmp(role->name, name) != 0 || step < 0 || step >= role->step_count)
            continue;
        stamp = stamp_of(c->plan, role, step);
        const int pass = stamp == STAMP_NONE ? -1 : stamp_pass(c->plan, role, step, passes);
        stamp = pass >= 0 && pass != c->options->pass ? STAMP_NONE : stamp;
    }
    lua_pushstring(L, word[stamp]);
    return 1;
}
