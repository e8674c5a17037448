#include "emu/damage/damage_edits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int edit_draw(struct edit *e, int below)
{
    uint64_t z = *e->seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ z >> 31) % (uint64_t)below);
}

bool edit_copy(struct edit *e, const struct plan *p)
{
    bool fits = p->role_count <= EDIT_ROLES && p->ring_count <= EDIT_RINGS && p->shared_count <= EDIT_REGIONS;
    e->plan = *p;
    e->text[0] = '\0';
    for (int r = 0; r < p->role_count && fits; r++) {
        e->role[r] = p->role[r];
        fits = p->role[r].step_count + 4 < EDIT_MOST_STEPS;
        if (fits)
            memcpy(e->step[r], p->role[r].step, sizeof(struct plan_step) * (size_t)p->role[r].step_count);
        e->role[r].step = e->step[r];
    }
    if (!fits)
        return false;
    if (p->ring_count)
        memcpy(e->ring, p->ring, sizeof *e->ring * (size_t)p->ring_count);
    if (p->shared_count)
        memcpy(e->shared, p->shared, sizeof *e->shared * (size_t)p->shared_count);
    e->plan.role = e->role;
    e->plan.ring = e->ring;
    e->plan.shared = e->shared;
    return true;
}

__attribute__((format(printf, 2, 3))) static inline void edit_say(struct edit *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(e->text, sizeof e->text, format, list);
    va_end(list);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static bool edit_is_flow(const struct plan_step *s)
{
    return s->op == PLAN_LOOP || s->op == PLAN_WHEN || s->op == PLAN_END;
}

static bool edit_is_silent(const struct plan_step *s)
{
    return s->op == PLAN_READ || (s->op == PLAN_TOUCH && !s->call) || (s->op == PLAN_SCRATCH_READ && s->count == 1);
}

/* Steps that keep order and compute nothing. */
static bool edit_is_order(const struct plan_step *s)
{
    static const bool order[PLAN_OP_COUNT] = {
        [PLAN_WAIT_EMPTY] = true, [PLAN_EXPECT] = true,     [PLAN_FILL] = true,     [PLAN_WAIT_FULL] = true,
        [PLAN_RELEASE] = true,    [PLAN_DRAIN] = true,      [PLAN_BARRIER] = true,  [PLAN_BARRIER_ARRIVE] = true,
        [PLAN_MMA_FENCE] = true,  [PLAN_MMA_COMMIT] = true, [PLAN_MMA_WAIT] = true, [PLAN_FENCE_ASYNC] = true,
        [PLAN_STORE_WAIT] = true, [PLAN_CP_COMMIT] = true,  [PLAN_CP_WAIT] = true,  [PLAN_TAKE] = true};
    return order[s->op];
}

static const char *edit_step_text(const struct edit *e, int role, int step)
{
    static char text[2][96];
    static int which;
    const struct plan_step *s = &e->step[role][step];
    which = !which;
    snprintf(text[which], sizeof text[which], "%s step %d %s", e->role[role].name, step + 1, s->call ? s->call : "end");
    return text[which];
}

void edit_take(struct edit *e, int role, int at)
{
    struct plan_step *s = e->step[role];
    memmove(&s[at], &s[at + 1], sizeof *s * (size_t)(e->role[role].step_count - at - 1));
    e->role[role].step_count--;
}

int edit_put(struct edit *e, int role, int at, struct plan_step step)
{
    struct plan_step *s = e->step[role];
    while (at > 0 && edit_is_silent(&s[at - 1]))
        at--;
    memmove(&s[at + 1], &s[at], sizeof *s * (size_t)(e->role[role].step_count - at));
    s[at] = step;
    e->role[role].step_count++;
    return at;
}

/* A step that `fits`, drawn among all of them. False: there is none. */
static bool edit_find(struct edit *e, bool (*fits)(const struct plan_step *), int *role, int *step)
{
    int count = 0;
    for (int r = 0; r < e->plan.role_count; r++)
        for (int i = 0; i < e->role[r].step_count; i++)
            count += fits(&e->step[r][i]);
    if (!count)
        return false;
    int nth = edit_draw(e, count);
    for (int r = 0; r < e->plan.role_count; r++)
        for (int i = 0; i < e->role[r].step_count; i++)
            if (fits(&e->step[r][i]) && nth-- == 0) {
                *role = r;
                *step = i;
                return true;
            }
    return false;
}

#define EDIT_IS(name, condition)                                                                                       \
    static inline bool edit_is_##name(const struct plan_step *s)                                                       \
    {                                                                                                                  \
        return condition;                                                                                              \
    }
EDIT_IS(release, s->op == PLAN_RELEASE)
EDIT_IS(wait, s->op == PLAN_WAIT_FULL || s->op == PLAN_WAIT_EMPTY)
EDIT_IS(expect, s->op == PLAN_EXPECT)
EDIT_IS(group_wait, s->op == PLAN_MMA_WAIT || s->op == PLAN_STORE_WAIT || s->op == PLAN_CP_WAIT)
EDIT_IS(strong_wait, edit_is_group_wait(s) && s->count > 0)
EDIT_IS(full_wait, s->op == PLAN_MMA_WAIT || s->op == PLAN_CP_WAIT)
EDIT_IS(ahead, s->op == PLAN_FILL && s->ahead > 0)
EDIT_IS(fence, s->op == PLAN_MMA_FENCE || s->op == PLAN_FENCE_ASYNC)
EDIT_IS(barrier, s->op == PLAN_BARRIER)
EDIT_IS(own_barrier, s->op == PLAN_BARRIER && !s->only)
EDIT_IS(turn, s->op == PLAN_BARRIER_ARRIVE || (s->op == PLAN_BARRIER && s->only))
EDIT_IS(when, s->op == PLAN_WHEN && !s->place) /* what a late place holds has no number */

bool edit_is_loop(const struct plan_step *s)
{
    return s->op == PLAN_LOOP && s->loop && s->node && !s->kept;
}

/* Moves that leave its coordinates and its buffer alone are for MOVED and SWAPPED. */
EDIT_IS(movable, edit_is_order(s) || s->op == PLAN_STORE)

/* The group wait that leaves `count` groups; the block function's name follows the number. */
static void edit_set_count(struct edit *e, struct plan_step *s, int count)
{
    if (s->count == count)
        return;
    s->count = count;
    s->call = s->op == PLAN_MMA_WAIT  ? plan_text(&e->plan, "mma_wait_%d", count)
              : s->op == PLAN_CP_WAIT ? plan_text(&e->plan, "copies_wait_%d", count)
                                      : plan_text(&e->plan, "%s_wait_for_%d", e->ring[s->ring].name, count);
}

/* Where the body that holds step `at` begins and ends: first and one past its last. */
static void edit_body(const struct edit *e, int role, int at, int *first, int *end)
{
    const struct plan_step *s = e->step[role];
    int depth = 0;
    for (*first = at; *first > 0; --*first) {
        const struct plan_step *before = &s[*first - 1];
        depth += before->op == PLAN_END;
        if (before->op == PLAN_LOOP || before->op == PLAN_WHEN)
            if (depth-- == 0)
                break;
    }
    depth = 0;
    for (*end = at; *end < e->role[role].step_count; ++*end) {
        depth += s[*end].op == PLAN_LOOP || s[*end].op == PLAN_WHEN;
        if (s[*end].op == PLAN_END && depth-- == 0)
            break;
    }
}

/* ---- damage ----------------------------------------------------------------------------------------------------- */

static bool edit_remove(struct edit *e, bool (*fits)(const struct plan_step *))
{
    int role, step;
    if (!edit_find(e, fits, &role, &step))
        return false;
    edit_say(e, "%s taken out", edit_step_text(e, role, step));
    edit_take(e, role, step);
    return true;
}

bool edit_move_to(struct edit *e, int role, int step, int to)
{
    struct plan_step moved = e->step[role][step];
    char from[96];
    snprintf(from, sizeof from, "%s", edit_step_text(e, role, step));
    edit_take(e, role, step);
    int at = edit_put(e, role, to > step ? to - 1 : to, moved);
    edit_say(e, "%s moved to %d", from, at + 1);
    return at != step;
}

static bool edit_move(struct edit *e)
{
    int role, step, first = 0, end;
    if (!edit_find(e, edit_is_movable, &role, &step))
        return false;
    const struct plan_step *s = &e->step[role][step];
    end = e->role[role].step_count;
    if (s->op == PLAN_FILL || s->op == PLAN_STORE || s->op == PLAN_WAIT_FULL)
        edit_body(e, role, step, &first, &end);
    int low = step - 10 > first ? step - 10 : first, high = step + 11 < end ? step + 11 : end;
    return edit_move_to(e, role, step, low + edit_draw(e, high - low + 1));
}

static bool edit_swap(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_movable, &role, &step))
        return false;
    const struct plan_step *s = e->step[role];
    int next = step + 1, count = e->role[role].step_count;
    while (next < count && edit_is_silent(&s[next]))
        next++;
    if (next >= count || edit_is_flow(&s[next]))
        return false;
    return edit_move_to(e, role, step, next + 1);
}

static bool edit_double(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_order, &role, &step))
        return false;
    edit_say(e, "%s twice", edit_step_text(e, role, step));
    edit_put(e, role, step, e->step[role][step]);
    return true;
}

/* Another of the Plan's named barriers. */
static bool edit_count(struct edit *e)
{
    int role, step;
    if (e->plan.barrier_count < 2 || !edit_find(e, edit_is_own_barrier, &role, &step))
        return false;
    struct plan_step *s = &e->step[role][step];
    int other = (s->count + 1 + edit_draw(e, e->plan.barrier_count - 1)) % e->plan.barrier_count;
    for (int i = 0; i < e->role[role].step_count; i++)
        if (e->step[role][i].op == PLAN_BARRIER && e->step[role][i].count == other) {
            edit_say(e, "%s at barrier %s", edit_step_text(e, role, step), e->plan.barrier[other].name);
            s->call = e->step[role][i].call;
            s->count = other;
            return true;
        }
    return false;
}

/* Every step with the block function of one: there is one text of it. */
static bool edit_phase(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_wait, &role, &step))
        return false;
    const char *call = e->step[role][step].call;
    for (int r = 0; r < e->plan.role_count; r++)
        for (int i = 0; i < e->role[r].step_count; i++)
            if (e->step[r][i].call && strcmp(e->step[r][i].call, call) == 0)
                e->step[r][i].phase ^= 1;
    edit_say(e, "%s: the other phase", call);
    return true;
}

static bool edit_bytes(struct edit *e)
{
    static const int by[] = {-4096, -16, 16, 4096};
    int role, step;
    if (!edit_find(e, edit_is_expect, &role, &step))
        return false;
    int change = by[edit_draw(e, 4)];
    const char *call = e->step[role][step].call;
    const bool reused = e->step[role][step].reuse && edit_draw(e, 2);
    for (int i = 0; i < e->role[role].step_count; i++)
        if (e->step[role][i].call && strcmp(e->step[role][i].call, call) == 0)
            *(reused ? &e->step[role][i].reuse : &e->step[role][i].count) += change;
    edit_say(e, "%s: %+d bytes%s", call, change, reused ? " reused" : "");
    return true;
}

/* A ring that one of two kinds of copies fill. */
static struct plan_ring *edit_ring_of(struct edit *e, enum plan_filler one, enum plan_filler other)
{
    int count = 0;
    for (int g = 0; g < e->plan.ring_count; g++)
        count += e->ring[g].filler == one || e->ring[g].filler == other;
    int nth = count ? edit_draw(e, count) : 0;
    for (int g = 0; g < e->plan.ring_count && count; g++)
        if ((e->ring[g].filler == one || e->ring[g].filler == other) && nth-- == 0)
            return &e->ring[g];
    return NULL;
}

static bool edit_arrivals(struct edit *e)
{
    static const int by[] = {-4, -1, 1, 4};
    struct plan_ring *ring = edit_ring_of(e, PLAN_FILL_BULK, PLAN_FILL_BULK);
    if (!ring)
        return false;
    bool full = edit_draw(e, 4) == 0;
    int change = full ? 1 : by[edit_draw(e, 4)];
    int *arrivals = full ? &ring->full_arrivals : &ring->empty_arrivals;
    if (*arrivals + change < 1)
        return false;
    *arrivals += change;
    edit_say(e, "ring %s: %s arrivals %+d", ring->name, full ? "full" : "empty", change);
    return true;
}

void edit_set_stages(struct edit *e, struct plan_ring *ring, int stages)
{
    size_t length = strlen(ring->name);
    for (int i = 0; i < e->plan.shared_count; i++) {
        struct plan_shared *s = &e->shared[i];
        if (strncmp(s->name, ring->name, length) != 0 || s->name[length] != '.')
            continue;
        s->bytes = s->bytes / s->count * stages;
        s->count = stages;
    }
    ring->stages = stages;
    family_place_shared(&e->plan);
}

static bool edit_stages(struct edit *e)
{
    struct plan_ring *ring = edit_ring_of(e, PLAN_FILL_BULK, PLAN_FILL_CP_ASYNC);
    if (!ring)
        return false;
    ring->stages++;
    edit_say(e, "ring %s: %d stages in the memory of %d", ring->name, ring->stages, ring->stages - 1);
    return true;
}

static bool edit_weaken(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_group_wait, &role, &step))
        return false;
    edit_say(e, "%s: one group more", edit_step_text(e, role, step));
    edit_set_count(e, &e->step[role][step], e->step[role][step].count + 1);
    return true;
}

static bool edit_release_earlier(struct edit *e)
{
    int role, step, first, end;
    if (!edit_find(e, edit_is_release, &role, &step))
        return false;
    edit_body(e, role, step, &first, &end);
    int by = 1 + edit_draw(e, 8);
    return edit_move_to(e, role, step, step - by > first ? step - by : first);
}

static bool edit_turn(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_turn, &role, &step))
        return false;
    struct plan_step *s = &e->step[role][step];
    int way = edit_draw(e, 3);
    if (way == 0) {
        edit_say(e, "%s taken out", edit_step_text(e, role, step));
        edit_take(e, role, step);
    } else if (way == 1 && s->only) {
        s->only = s->only % e->role[role].instances + 1;
        edit_say(e, "%s by instance %d", edit_step_text(e, role, step), plan_number(s->only));
    } else {
        int to = step - 12 + edit_draw(e, 25);
        return edit_move_to(e, role, step, to < 0 ? 0 : to > e->role[role].step_count ? step : to);
    }
    return true;
}

/* Whether the text makes up for turns that the body at `step` leaves out: a loop around it over the same variable, or
 * the next one, goes on counting from where it stopped, where the check has a number of each by itself. */
static bool edit_goes_on(const struct edit *e, int role, int step)
{
    const struct plan_step *s = e->step[role];
    int loop = 0, depth = 0, at = step;
    do {
        depth += s[at].op == PLAN_LOOP || s[at].op == PLAN_WHEN ? 1 : s[at].op == PLAN_END ? -1 : 0;
        if (s[at].op == PLAN_LOOP && !loop)
            loop = s[at].loop;
        at++;
    } while (depth > 0);
    if (!loop)
        return false;
    if (at < e->role[role].step_count && edit_is_loop(&s[at]) && s[at].loop == loop)
        return true;
    for (int first, end, inner = step; inner > 0; inner = first - 1) {
        edit_body(e, role, inner, &first, &end);
        if (first > 0 && s[first - 1].op == PLAN_LOOP && s[first - 1].loop == loop)
            return true;
    }
    return false;
}

static bool edit_shorten(struct edit *e)
{
    int role, step;
    if (!e->shorter || !edit_find(e, edit_is_loop, &role, &step) || !e->shorter[role][step] ||
        edit_goes_on(e, role, step))
        return false;
    e->step[role][step].less++;
    e->step[role][step].node = e->shorter[role][step];
    edit_say(e, "%s: a turn less", edit_step_text(e, role, step));
    return true;
}

/* A guard of nothing but what is computed decides values and no order. */
static bool edit_guards_order(const struct edit *e, int role, int step)
{
    int at = step + 1;
    while (e->step[role][at].op == PLAN_TOUCH)
        at++;
    return e->step[role][at].op != PLAN_END;
}

static bool edit_guard(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_when, &role, &step) || !edit_guards_order(e, role, step) || edit_goes_on(e, role, step))
        return false;
    int change = edit_draw(e, 2) ? 1 : -1;
    e->step[role][step].count += change;
    edit_say(e, "%s: guard %+d", edit_step_text(e, role, step), change);
    return true;
}

static bool edit_fill_ahead(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_ahead, &role, &step))
        return false;
    int change = edit_draw(e, 2) ? 1 : -1;
    e->step[role][step].ahead += change;
    edit_say(e, "%s: %+d turns ahead", edit_step_text(e, role, step), change);
    return true;
}

/* ---- what does no harm ------------------------------------------------------------------------------------------- */

static bool edit_release_later(struct edit *e)
{
    int role, step, first, end;
    if (!edit_find(e, edit_is_release, &role, &step))
        return false;
    const struct plan_step *s = e->step[role];
    edit_body(e, role, step, &first, &end);
    int last = step + 1;
    while (last < end && !edit_is_flow(&s[last]) &&
           !((s[last].op == PLAN_WAIT_FULL || s[last].op == PLAN_RELEASE) && s[last].ring == s[step].ring))
        last++;
    return last > step + 1 && edit_move_to(e, role, step, step + 2 + edit_draw(e, last - step - 1));
}

static bool edit_insert(struct edit *e, int role, struct plan_step step)
{
    int at = edit_put(e, role, edit_draw(e, e->role[role].step_count + 1), step);
    edit_say(e, "%s put in", edit_step_text(e, role, at));
    return true;
}

static bool edit_strengthen(struct edit *e)
{
    int role, step;
    if (edit_draw(e, 2) && edit_find(e, edit_is_strong_wait, &role, &step)) {
        edit_say(e, "%s: a group less", edit_step_text(e, role, step));
        edit_set_count(e, &e->step[role][step], e->step[role][step].count - 1);
        return true;
    }
    if (!edit_find(e, edit_is_full_wait, &role, &step))
        return false;
    struct plan_step wait = e->step[role][step];
    edit_set_count(e, &wait, 0);
    return edit_insert(e, role, wait);
}

static bool edit_copy_of(struct edit *e, bool (*fits)(const struct plan_step *))
{
    int role, step;
    return edit_find(e, fits, &role, &step) && edit_insert(e, role, e->step[role][step]);
}

static bool edit_own_barrier(struct edit *e)
{
    int role, step;
    if (!edit_find(e, edit_is_own_barrier, &role, &step) || e->plan.barrier[e->step[role][step].count].turns)
        return false;
    return edit_insert(e, role, e->step[role][step]);
}

static bool edit_deepen(struct edit *e)
{
    struct plan_ring *ring = edit_ring_of(e, PLAN_FILL_BULK, PLAN_FILL_CP_ASYNC);
    if (!ring)
        return false;
    edit_set_stages(e, ring, ring->stages + 1 + edit_draw(e, 2));
    edit_say(e, "ring %s: %d stages", ring->name, ring->stages);
    return e->plan.launch.shared_bytes <= arch_find(e->plan.arch)->shared_limit;
}

bool edit_make(struct edit *e, enum edit_class class)
{
    switch (class) {
    case EDIT_REMOVED:
        return edit_remove(e, edit_is_order);
    case EDIT_MOVED:
        return edit_move(e);
    case EDIT_SWAPPED:
        return edit_swap(e);
    case EDIT_DOUBLED:
        return edit_double(e);
    case EDIT_COUNT:
        return edit_count(e);
    case EDIT_PHASE:
        return edit_phase(e);
    case EDIT_ARRIVALS:
        return edit_arrivals(e);
    case EDIT_BYTES:
        return edit_bytes(e);
    case EDIT_STAGES:
        return edit_stages(e);
    case EDIT_WEAKER:
        return edit_weaken(e);
    case EDIT_EARLIER:
        return edit_release_earlier(e);
    case EDIT_NO_FENCE:
        return edit_remove(e, edit_is_fence);
    case EDIT_NO_BARRIER:
        return edit_remove(e, edit_is_barrier);
    case EDIT_TURN:
        return edit_turn(e);
    case EDIT_LOOP:
        return edit_shorten(e);
    case EDIT_WHEN:
        return edit_guard(e);
    case EDIT_AHEAD:
        return edit_fill_ahead(e);
    case EDIT_LATER:
        return edit_release_later(e);
    case EDIT_STRONGER:
        return edit_strengthen(e);
    case EDIT_BARRIER:
        return edit_own_barrier(e);
    case EDIT_DEEPER:
        return edit_deepen(e);
    case EDIT_FENCE:
        return edit_copy_of(e, edit_is_fence);
    case EDIT_CLASSES:
        break;
    }
    return false;
}
