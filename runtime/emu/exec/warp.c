/* What the lanes of a warp do together: shuffles, votes, matches, reductions.

   The lanes of the member mask must come to the instruction together. Where they have parted, those that come first
   wait for the rest; lanes that have ended are not waited for. */
#include "flow.h"
#include "operations.h"
#include "watch.h"

int emu_sync(struct emu_warp *warp, const struct emu_op *op, uint32_t members, int any)
{
    members &= warp->alive;
    if (EMU_LIKELY(!(members & ~warp->lanes.mask))) {
        if (EMU_UNLIKELY(warp->hazard != NULL))
            emu_hazard_sync(warp->hazard, members);
        return 1;
    }
    struct emu_path *self = &warp->paths[warp->current];
    uint32_t here = warp->lanes.mask;
    for (uint32_t i = 0; i < warp->path_count; i++) {
        const struct emu_path *p = &warp->paths[i];
        if (p->state == EMU_PATH_SYNC && p->wait_a == members && p->frame == self->frame &&
            (p->wait_op == op || (any && p->wait_op->run == op->run)))
            here |= p->wait_b;
    }
    if (members & ~here) {
        self->wait_a = members;
        self->wait_b = warp->lanes.mask;
        emu_wait(warp, op, emu_retry(op), EMU_PATH_SYNC);
        return 0;
    }
    /* The last to come executes it for all, and the others go on behind it. */
    for (uint32_t i = 0; i < warp->path_count; i++) {
        struct emu_path *p = &warp->paths[i];
        if (p->state == EMU_PATH_SYNC && p->wait_a == members && p->frame == self->frame &&
            (p->wait_op == op || (any && p->wait_op->run == op->run))) {
            p->pc = p->wait_op + 1;
            emu_path_ready(warp, i);
        }
    }
    warp->lanes.mask = here;
    if (EMU_UNLIKELY(warp->hazard != NULL)) {
        warp->told = here;
        emu_hazard_lanes(warp->hazard, here);
        emu_hazard_sync(warp->hazard, members);
    }
    return 1;
}

static uint32_t members_of(struct emu_warp *warp, const struct emu_op *op)
{
    return EMU_W(op->e)[emu_first(warp->lanes.mask)];
}

/* Lanes whose own bit is missing in the mask that they give: what they do is not defined. */
static void tell_outsiders(struct emu_warp *warp, const struct emu_op *op, uint32_t members)
{
    if (EMU_UNLIKELY((warp->lanes.mask & ~members) != 0) && warp->hazard)
        emu_report_at(warp, op, "DIVERGED-ALIGNED", 0, 0,
                      "lanes 0x%x give the member mask 0x%x, which does not hold them", warp->lanes.mask & ~members,
                      members);
}

/* Whether lanes give masks unlike the first one's: several groups, as tiles of a warp, come together. */
static int unlike(const struct emu_warp *warp, const struct emu_op *op, uint32_t members)
{
    const uint32_t *e = EMU_W(op->e);
    if (op->e & 1)
        return 0; /* a constant */
    for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
        if (e[emu_first(m)] != members)
            return 1;
    return 0;
}

/* Executes op group by group. A group that is not all here goes on by itself, as a path of its own. */
static const struct emu_op *by_groups(struct emu_warp *warp, const struct emu_op *op)
{
    const uint32_t *e = EMU_W(op->e);
    uint32_t saved = warp->lanes.mask, groups[EMU_LANES], count = 0;
    for (uint32_t rest = saved; rest; rest &= ~groups[count++]) {
        uint32_t members = e[emu_first(rest)];
        groups[count] = 0;
        for (uint32_t m = rest; m; m &= m - 1)
            groups[count] |= e[emu_first(m)] == members ? m & (0u - m) : 0;
        if (members & warp->alive & ~groups[count])
            return emu_part(warp, op, groups[count]);
    }
    for (uint32_t i = 0; i < count; i++) {
        warp->lanes.mask = groups[i];
        op->run(warp, op);
    }
    warp->lanes.mask = saved;
    return op + 1;
}

#define WITH_MEMBERS(any)                                                                                              \
    uint32_t saved = warp->lanes.mask, members = members_of(warp, op);                                                 \
    if (EMU_UNLIKELY(unlike(warp, op, members)))                                                                       \
        return by_groups(warp, op);                                                                                    \
    tell_outsiders(warp, op, members);                                                                                 \
    if (!emu_sync(warp, op, members, any))                                                                             \
        return NULL;                                                                                                   \
    members &= warp->lanes.mask

const struct emu_op *emu_op_bar_warp(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(1);
    (void)members;
    warp->lanes.mask = saved;
    return op + 1;
}

/* The lane that each lane reads, itself where that is not inside of its segment. */
#define SHUFFLE(expression, test)                                                                                      \
    EMU_EACH                                                                                                           \
    {                                                                                                                  \
        uint32_t lane = (uint32_t)i, segment = c[i] >> 8 & 31, clamp = c[i] & 31, by = b[i] & 31;                      \
        uint32_t most = (lane & segment) | (clamp & ~segment), from = expression;                                      \
        int in = test;                                                                                                 \
        at[i] = in ? from & 31 : lane;                                                                                 \
        inside |= in ? emu_lane_bits[i] : 0;                                                                           \
    }

/* Lanes that read a lane which is not there: gone, or not in the mask. Sums of a part of a warp do so by .down (and
   scans by .up) in the lanes whose sums nobody wants; where the lane that gets the result does, it is wrong. */
static __attribute__((noinline, cold)) void tell_absent(struct emu_warp *warp, const struct emu_op *op,
                                                        uint32_t members, const uint32_t *at, uint32_t operation)
{
    uint32_t absent = 0, here = warp->lanes.mask & members;
    for (uint32_t m = here; m; m &= m - 1)
        absent |= members >> at[emu_first(m)] & 1 ? 0 : m & (0u - m);
    uint32_t result = operation == PTX_MOD_DOWN ? here & (0u - here)
                      : operation == PTX_MOD_UP ? UINT32_C(1) << (31 - __builtin_clz(here | 1))
                                                : here;
    int strict = warp->launch->device->options.hazards == EMU_HAZARDS_STRICT;
    if (absent & (strict ? here : result))
        emu_report_at(warp, op, "DIVERGED-ALIGNED", 0, 0,
                      "lanes 0x%x read by a shuffle from lanes that do not execute it: those here are 0x%x", absent,
                      members);
}

/* extra: second destination, operation */
const struct emu_op *emu_op_shfl(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    const struct emu_list *list = op->extra;
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES], at[EMU_LANES], inside = 0;
    switch (list->at[1]) {
    case PTX_MOD_UP:
        SHUFFLE(lane - by, (int32_t)from >= (int32_t)most); /* clamps from below: c's clamp is 0 */
        break;
    case PTX_MOD_DOWN:
        SHUFFLE(lane + by, from <= most);
        break;
    case PTX_MOD_BFLY:
        SHUFFLE(lane ^ by, from <= most);
        break;
    default:
        SHUFFLE((lane & segment) | (by & ~segment), from <= most);
        break;
    }
    EMU_EACH r[i] = a[at[i]];
    emu_put32(warp, op->d, r);
    emu_put_pred(warp, list->at[0], inside);
    if (EMU_UNLIKELY(members != UINT32_MAX) && warp->hazard)
        tell_absent(warp, op, members, at, list->at[1]);
    warp->lanes.mask = saved;
    return op + 1;
}

/* imm: operation */
const struct emu_op *emu_op_vote(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    uint32_t yes = emu_pred(warp, op->a) & members;
    switch (op->imm) {
    case PTX_MOD_BALLOT: {
        uint32_t r[EMU_LANES];
        EMU_EACH r[i] = yes;
        emu_put32(warp, op->d, r);
        break;
    }
    case PTX_MOD_ALL:
        emu_put_pred(warp, op->d, yes == members ? UINT32_MAX : 0);
        break;
    case PTX_MOD_ANY:
        emu_put_pred(warp, op->d, yes ? UINT32_MAX : 0);
        break;
    default:
        emu_put_pred(warp, op->d, !yes || yes == members ? UINT32_MAX : 0);
        break;
    }
    warp->lanes.mask = saved;
    return op + 1;
}

static uint64_t lane_value(struct emu_warp *warp, const struct emu_op *op, unsigned lane)
{
    return op->c == 64 ? EMU_L(op->a)[lane] : EMU_W(op->a)[lane];
}

const struct emu_op *emu_op_match_any(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    uint32_t r[EMU_LANES] = {0};
    for (uint32_t rest = members; rest;) {
        uint64_t value = lane_value(warp, op, emu_first(rest));
        uint32_t same = 0;
        for (uint32_t m = rest; m; m &= m - 1)
            if (lane_value(warp, op, emu_first(m)) == value)
                same |= m & (0u - m);
        for (uint32_t m = same; m; m &= m - 1)
            r[emu_first(m)] = same;
        rest &= ~same;
    }
    emu_put32(warp, op->d, r);
    warp->lanes.mask = saved;
    return op + 1;
}

const struct emu_op *emu_op_match_all(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    uint32_t r[EMU_LANES];
    int same = 1;
    for (uint32_t m = members; m; m &= m - 1)
        same &= lane_value(warp, op, emu_first(m)) == lane_value(warp, op, emu_first(members));
    EMU_EACH r[i] = same ? members : 0;
    emu_put32(warp, op->d, r);
    emu_put_pred(warp, op->b, same ? UINT32_MAX : 0);
    warp->lanes.mask = saved;
    return op + 1;
}

const struct emu_op *emu_op_redux(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    const uint32_t *a = EMU_W(op->a);
    uint32_t result = a[emu_first(members ? members : 1)], r[EMU_LANES];
    for (uint32_t m = members & (members - 1); m; m &= m - 1) {
        uint32_t x = a[emu_first(m)];
        int less = op->c ? (int32_t)x < (int32_t)result : x < result;
        switch (op->imm) {
        case PTX_MOD_ADD:
            result += x;
            break;
        case PTX_MOD_MIN:
            result = less ? x : result;
            break;
        case PTX_MOD_MAX:
            result = less ? result : x;
            break;
        case PTX_MOD_AND:
            result &= x;
            break;
        case PTX_MOD_OR:
            result |= x;
            break;
        default:
            result ^= x;
            break;
        }
    }
    EMU_EACH r[i] = result;
    emu_put32(warp, op->d, r);
    warp->lanes.mask = saved;
    return op + 1;
}

/* The lowest lane is the leader. */
const struct emu_op *emu_op_elect(struct emu_warp *warp, const struct emu_op *op)
{
    WITH_MEMBERS(0);
    uint32_t leader = members ? emu_first(members) : 0, r[EMU_LANES];
    EMU_EACH r[i] = leader;
    emu_put32(warp, op->d, r);
    emu_put_pred(warp, op->b, members & (1u << leader));
    warp->lanes.mask = saved;
    return op + 1;
}

const struct emu_op *emu_op_activemask(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = warp->lanes.mask;
    emu_put32(warp, op->d, r);
    return op + 1;
}
