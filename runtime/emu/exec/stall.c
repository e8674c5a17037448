/* When no warp can go on: what each of them waits for, and what that is a sign of. */
#include <stdio.h>

#include "stall.h"
#include "copies.h"
#include "emu/async/tcgen05.h"
#include "watch.h"

/* ---- One wait ---------------------------------------------------------------------------------------------------- */

static uint32_t waiting_threads(const struct emu_block *block, const struct emu_barrier *barrier)
{
    uint32_t have = barrier->again;
    for (uint32_t i = 0; i < block->warp_count; i++)
        have += emu_count(barrier->lanes[i]);
    return have;
}

static void describe(const struct emu_warp *warp, const struct emu_path *path, char *out, size_t room)
{
    switch (path->state) {
    case EMU_PATH_SYNC:
        snprintf(out, room, "lanes 0x%x wait for lanes 0x%x of their warp", path->wait_b, path->wait_a & ~path->wait_b);
        break;
    case EMU_PATH_BARRIER: {
        const struct emu_barrier *barrier = &warp->block->barriers[path->wait_a];
        snprintf(out, room, "waits at named barrier %u, where %u of %u threads are", path->wait_a,
                 waiting_threads(warp->block, barrier),
                 barrier->implicit ? warp->block->live_warps * EMU_LANES : barrier->expected);
        break;
    }
    case EMU_PATH_CLUSTER:
        snprintf(out, room, "waits at the cluster's barrier for %u threads", warp->block->cluster->missing);
        break;
    case EMU_PATH_REGISTERS:
        snprintf(out, room, "waits for registers: %u are free in the block's pool", warp->block->registers_free);
        break;
    case EMU_PATH_TENSOR:
        snprintf(out, room, "waits at tcgen05.alloc for columns of tensor memory, %u of 512 are its block's already",
                 emu_tensor_owned(emu_tensor_of(warp->block), warp->block->linear + 1));
        break;
    case EMU_PATH_WARPGROUP:
        snprintf(out, room, "waits at wgmma.wait_group for the other warps of its warpgroup to commit as many groups");
        break;
    default:
        if (!path->wait_address)
            snprintf(out, room, "loops without end");
        else
            emu_describe_mbarrier(warp, path, out, room);
        break;
    }
}

/* The hazard that this wait is a sign of, beside the deadlock; NULL: none. */
static const char *cause(const struct emu_warp *warp, const struct emu_path *path)
{
    struct emu_hazard_cluster *hazard = warp->block->cluster->hazard;
    if (path->state == EMU_PATH_REGISTERS)
        return "REG-POOL";
    if (path->state == EMU_PATH_TENSOR)
        return "TENSOR-POOL";
    if (path->state == EMU_PATH_WARPGROUP)
        return "DIVERGED-ALIGNED";
    if (path->state == EMU_PATH_POLL && path->wait_address && emu_lacks_bytes(warp, path->wait_address) &&
        !(hazard && emu_hazard_mbarrier_lacks_copy(hazard, path->wait_address)))
        return "TX-BYTES";
    if (path->state == EMU_PATH_BARRIER && hazard) {
        const struct emu_barrier *barrier = &warp->block->barriers[path->wait_a];
        uint32_t ever = emu_hazard_bar_warps(hazard, warp->block->rank, path->wait_a);
        if (!barrier->implicit && emu_count(ever) * EMU_LANES < barrier->expected)
            return "BARRIER-COUNT";
    }
    return NULL;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* Warps of one block that wait for the same at the same place. */
struct group {
    struct emu_warp *warp; /* the first */
    const struct emu_path *path;
    uint32_t last, count;
    char what[160];
};
enum { GROUPS = 24 };

static void group_line(const struct group *g, char *out, size_t room)
{
    char where[300];
    struct emu_warp *warp = g->warp;
    const struct emu_function *function = warp->function;
    uint32_t mask = warp->lanes.mask;
    warp->function = g->path->function;
    warp->lanes.mask = g->path->mask;
    emu_place(warp, g->path->wait_op, where, sizeof where);
    warp->function = function;
    warp->lanes.mask = mask;
    if (g->count > 1)
        snprintf(out, room, "\n  %s and %u more up to warp %u: %s", where, g->count - 1, g->last, g->what);
    else
        snprintf(out, room, "\n  %s: %s", where, g->what);
}

static void add_cause(struct emu_stall *stall, const char *name, struct emu_warp *warp, const struct emu_path *path)
{
    for (uint32_t i = 0; i < stall->cause_count; i++)
        if (!strcmp(stall->causes[i].name, name))
            return;
    if (stall->cause_count == EMU_STALL_CAUSES)
        return;
    struct emu_stall_cause *c = &stall->causes[stall->cause_count++];
    *c = (struct emu_stall_cause){
        name, warp, path->wait_op, path->function, path->mask, path->state == EMU_PATH_POLL ? path->wait_address : 0,
        ""};
    describe(warp, path, c->what, sizeof c->what);
}

void emu_stall_find(struct emu_launch *launch, struct emu_stall *stall)
{
    struct group groups[GROUPS];
    uint32_t count = 0, more = 0;
    memset(stall, 0, sizeof *stall);
    for (struct emu_cluster *c = launch->resident; c; c = c->next) {
        for (uint32_t n = 0; n < c->block_count * launch->warps; n++) {
            struct emu_warp *warp = &c->blocks[n / launch->warps].warps[n % launch->warps];
            for (uint32_t i = 0; !warp->done && i < warp->path_count; i++) {
                const struct emu_path *p = &warp->paths[i];
                char what[160];
                if (p->state < EMU_PATH_SYNC)
                    continue;
                const char *sign = cause(warp, p);
                if (sign)
                    add_cause(stall, sign, warp, p);
                describe(warp, p, what, sizeof what);
                struct group *g = count ? &groups[count - 1] : NULL;
                if (g && g->warp->block == warp->block && g->path->wait_op == p->wait_op && !strcmp(g->what, what)) {
                    g->count++;
                    g->last = warp->index;
                } else if (count < GROUPS) {
                    groups[count] = (struct group){warp, p, warp->index, 1, ""};
                    memcpy(groups[count++].what, what, sizeof what);
                } else {
                    more++;
                }
            }
        }
    }
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        char line[520];
        group_line(&groups[i], line, sizeof line);
        if (n + strlen(line) + 64 > sizeof stall->lines) {
            more += groups[i].count;
            continue;
        }
        n += (size_t)snprintf(stall->lines + n, sizeof stall->lines - n, "%s", line);
    }
    if (more)
        snprintf(stall->lines + n, sizeof stall->lines - n, "\n  and %u more warps", more);
    if (count)
        stall->shown = (struct emu_stall_cause){
            "DEADLOCK", groups[0].warp, groups[0].path->wait_op, groups[0].path->function, groups[0].path->mask, 0, ""};
}

static void tell(const struct emu_stall_cause *c, const char *text, const char *lines)
{
    struct emu_warp *warp = c->warp;
    const struct emu_function *function = warp->function;
    uint32_t mask = warp->lanes.mask;
    warp->function = c->function;
    warp->lanes.mask = c->mask;
    emu_report_at(warp, c->op, c->name, c->address, 0, "%s%s", text, lines);
    warp->function = function;
    warp->lanes.mask = mask;
}

void emu_stall_report(struct emu_launch *launch, const struct emu_stall *stall)
{
    if (launch->hazard) {
        emu_hazard_stuck(launch->hazard);
        emu_hazard_settle(launch->hazard);
    }
    for (uint32_t i = 0; i < stall->cause_count; i++) {
        const struct emu_stall_cause *c = &stall->causes[i];
        char text[400];
        snprintf(text, sizeof text, "the warp %s, and nothing will end that", c->what);
        tell(c, text, "");
    }
    if (stall->shown.warp)
        tell(&stall->shown, "no warp can go on", stall->lines);
    launch->status = TW_OK; /* a trap that came of it is the lesser news */
    emu_fail_launch(launch, TW_ERROR_LAUNCH, "hazard DEADLOCK: no warp can go on%s", stall->lines);
}
