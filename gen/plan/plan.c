/* The Plan's memory: everything it points to lives in one arena and goes with it. */
#include "plan/plan.h"
#include "plan/visible.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/arena.h"

static struct arena *arena_of(struct plan *p)
{
    if (!p->arena)
        p->arena = calloc(1, sizeof(struct arena));
    return p->arena;
}

void *plan_alloc(struct plan *p, size_t bytes)
{
    struct arena *arena = arena_of(p);
    return arena ? arena_alloc(arena, bytes) : NULL;
}

const char *plan_text(struct plan *p, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = memory_print(NULL, 0, format, list);
    char *text = length < 0 ? NULL : plan_alloc(p, (size_t)length + 1);
    if (text)
        memory_print(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(list);
    return text;
}

int plan_add_place(struct plan *p, struct plan_place place)
{
    int n = p->place_count;
    if ((n & (n - 1)) == 0) { /* full at 0, 1, 2, 4, 8, ... */
        struct plan_place *grown = plan_alloc(p, (size_t)(n ? 2 * n : 1) * sizeof *grown);
        if (!grown)
            return 0;
        if (n)
            memcpy(grown, p->place, (size_t)n * sizeof *grown);
        p->place = grown;
    }
    p->place[n] = place;
    p->place_count = n + 1;
    return plan_some(n);
}

int plan_step_ring(const struct plan_step *step)
{
    static const bool has[PLAN_OP_COUNT] = {
        [PLAN_WAIT_EMPTY] = true, [PLAN_EXPECT] = true,  [PLAN_FILL] = true,        [PLAN_WAIT_FULL] = true,
        [PLAN_SKIP] = true,       [PLAN_READ] = true,    [PLAN_RELEASE] = true,     [PLAN_DRAIN] = true,
        [PLAN_WRITE] = true,      [PLAN_ARRIVE] = true,  [PLAN_STORE_WAIT] = true,  [PLAN_STORE] = true,
        [PLAN_CP_COMMIT] = true,  [PLAN_CP_WAIT] = true, [PLAN_FENCE_ASYNC] = true, [PLAN_TAKE] = true,
        [PLAN_ASK] = true,
    };
    return has[step->op] ? step->ring : -1;
}

int plan_step_tensor(const struct plan_step *step)
{
    static const bool has[PLAN_OP_COUNT] = {
        [PLAN_FILL] = true, [PLAN_READ] = true, [PLAN_WRITE] = true, [PLAN_STORE] = true, [PLAN_GLOBAL] = true,
    };
    return has[step->op] ? step->tensor : -1;
}

int plan_body_end(const struct plan_role *role, int step)
{
    int depth = 0;
    for (int i = step; i < role->step_count; i++) {
        const enum plan_op op = role->step[i].op;
        depth += op == PLAN_LOOP || op == PLAN_WHEN ? 1 : op == PLAN_END ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return role->step_count;
}

int plan_count_steps(const struct plan_role *role, enum plan_op op, int ring)
{
    int sum = 0;
    for (int i = 0; i < role->step_count; i++)
        sum += role->step[i].op == op && role->step[i].ring == ring;
    return sum;
}

void plan_free(struct plan *p)
{
    expr_free(&p->graph);
    expr_free(&p->fused);
    if (p->visible)
        expr_free(&p->visible->graph);
    if (p->arena) {
        arena_free(p->arena);
        free(p->arena);
    }
    *p = (struct plan){0};
}

const struct plan_shared *plan_region(const struct plan *p, const struct plan_ring *ring, int tensor)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", ring->name, tensor < 0 ? "" : ".", tensor < 0 ? "" : p->tensor[tensor].name);
    for (int i = 0; i < p->shared_count; i++)
        if (strcmp(p->shared[i].name, name) == 0)
            return &p->shared[i];
    return NULL;
}

int plan_cluster(const struct plan *p)
{
    int blocks = 1;
    for (int i = 0; i < 3; i++)
        blocks *= p->launch.cluster[i] ? p->launch.cluster[i] : 1;
    return blocks;
}

/* Behind the bytes that counters have before a list too. */
static bool wants_zeros(const struct plan *p)
{
    return p->workspace > 0 && !p->list;
}

bool plan_share_workspace(const struct plan *a, const struct plan *b)
{
    return !(a->list && wants_zeros(b)) && !(b->list && wants_zeros(a));
}

bool plan_rests(const struct plan *p)
{
    bool rests = false;
    for (int r = 0; r < p->role_count; r++)
        rests = rests || p->role[r].resting > 0;
    return rests;
}

bool plan_reuses(const struct plan *p)
{
    bool reuses = false;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++)
            reuses = reuses || p->role[r].step[s].reuse > 0;
    return reuses;
}

int plan_blocks(const struct plan *p)
{
    const bool shares = p->item_count > 0 && p->item[p->item_count - 1].share;
    return plan_cluster(p) * (shares ? 3 : plan_rests(p) ? 2 : 1);
}
