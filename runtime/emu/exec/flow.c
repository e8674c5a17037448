#include "flow.h"
#include "barrier.h"
#include "emu/barrier_word.h"
#include "copies.h"
#include "event.h"
#include "operations.h"
#include "watch.h"

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

void emu_path_enter(struct emu_warp *warp, uint32_t path)
{
    const struct emu_path *p = &warp->paths[path];
    warp->current = path;
    warp->lanes.base[0] = warp->registers + p->frame;
    warp->lanes.preds = warp->predicates + p->preds;
    warp->lanes.mask = p->mask;
    warp->active = emu_count(p->mask);
    warp->function = p->function;
    warp->pc = p->pc;
    if (EMU_UNLIKELY(warp->hazard != NULL) && warp->told != warp->lanes.mask) {
        warp->told = warp->lanes.mask;
        emu_hazard_lanes(warp->hazard, warp->lanes.mask);
    }
}

int emu_path_next(struct emu_warp *warp)
{
    if (!warp->ready)
        return 0;
    uint32_t path = warp->current;
    do
        path = path + 1 < warp->path_count ? path + 1 : 0;
    while (warp->paths[path].state != EMU_PATH_READY);
    emu_path_enter(warp, path);
    return 1;
}

uint32_t emu_path_new(struct emu_warp *warp)
{
    uint32_t path = warp->free_path;
    if (path != PTX_NONE) {
        warp->free_path = warp->paths[path].parent;
    } else {
        if (warp->path_count == warp->path_room) {
            uint32_t room = warp->path_room ? 2 * warp->path_room : 16;
            struct emu_path *paths =
                tw_realloc(warp->launch->device->device.rt, warp->paths, room * sizeof *warp->paths);
            if (!paths) {
                emu_fail_launch(warp->launch, TW_ERROR_MEMORY, "no memory for diverged paths");
                return PTX_NONE;
            }
            warp->paths = paths;
            warp->path_room = room;
        }
        path = warp->path_count++;
    }
    struct emu_path *p = &warp->paths[path];
    memset(p, 0, sizeof *p);
    p->parent = PTX_NONE;
    p->state = EMU_PATH_READY;
    warp->ready++;
    return path;
}

static void path_free(struct emu_warp *warp, uint32_t path)
{
    struct emu_path *p = &warp->paths[path];
    if (p->state == EMU_PATH_READY)
        warp->ready--;
    p->state = EMU_PATH_FREE;
    p->parent = warp->free_path;
    warp->free_path = path;
}

const struct emu_op *emu_wait(struct emu_warp *warp, const struct emu_op *op, const struct emu_op *pc, uint8_t state)
{
    struct emu_path *p = &warp->paths[warp->current];
    p->state = state;
    p->pc = pc;
    p->wait_op = op;
    warp->ready--;
    if (state == EMU_PATH_POLL && !warp->polls++)
        warp->poll_changes = warp->launch->changes;
    return NULL;
}

void emu_path_ready(struct emu_warp *warp, uint32_t path)
{
    struct emu_path *p = &warp->paths[path];
    if (p->state == EMU_PATH_POLL)
        warp->polls--;
    p->state = EMU_PATH_READY;
    warp->ready++;
}

void emu_polls_ready(struct emu_warp *warp)
{
    for (uint32_t i = 0; warp->polls && i < warp->path_count; i++)
        if (warp->paths[i].state == EMU_PATH_POLL)
            emu_path_ready(warp, i);
}

/* The phase that the path waits for is the barrier's still: its poll would fail again. Every so often it is made all
   the same, for a loop may look at other things too. */
static int fails_still(struct emu_path *p)
{
    enum { LOOKS = 16 };
    const uint64_t parity = UINT64_C(1) << EMU_BARRIER_PARITY_AT, sign = UINT64_C(3) << EMU_BARRIER_SIGN_AT;
    uint64_t word;
    if (!p->barrier || ++p->looked % LOOKS == 0)
        return 0;
    memcpy(&word, p->barrier, sizeof word);
    return !((word ^ p->barrier_word) & (parity | sign));
}

void emu_polls_look(struct emu_warp *warp)
{
    for (uint32_t i = 0; warp->polls && i < warp->path_count; i++)
        if (warp->paths[i].state == EMU_PATH_POLL && !fails_still(&warp->paths[i]))
            emu_path_ready(warp, i);
    warp->poll_changes = warp->launch->changes;
}

const struct emu_op *emu_retry(const struct emu_op *op)
{
    return op != NULL && op[-1].run == emu_op_guard ? op - 1 : op;
}

/* A path has come to its join (lanes: its lanes), or its last lane has ended (lanes 0). Its parent, and the parent's
   parents, go on where nothing is left to wait for. Returns the operation of the path that goes on, NULL if another
   path of the warp must. */
static const struct emu_op *leave(struct emu_warp *warp, uint32_t path, uint32_t lanes)
{
    for (;;) {
        uint32_t parent = warp->paths[path].parent, top = warp->paths[path].local_top, depth = warp->paths[path].depth;
        path_free(warp, path);
        if (parent == PTX_NONE)
            return NULL;
        struct emu_path *p = &warp->paths[parent];
        if (p->depth == depth && top > p->local_top)
            p->local_top = top; /* what one of them took by alloca is still there */
        p->arrived |= lanes;
        if (--p->children)
            return NULL;
        lanes = p->arrived;
        path = parent;
        if (!lanes)
            continue; /* all have ended */
        if (!p->pc) {
            p->mask = lanes;
            continue; /* joined at the function's return: this path returns as well */
        }
        p->mask = lanes;
        p->state = EMU_PATH_READY;
        warp->ready++;
        emu_path_enter(warp, path);
        return p->pc;
    }
}

/* Nothing comes behind this join of a path of the kernel itself: its lanes end there and wait for nobody, so that the
   others may go to barriers without them. */
static int ends_at(const struct emu_path *path, const struct emu_op *join)
{
    return !path->depth && join && (join[1].run == emu_op_ret || join[1].run == emu_op_exit) && !join[1].a;
}

const struct emu_op *emu_op_join(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_path *p = &warp->paths[warp->current];
    if (p->join != op || ends_at(p, op))
        return op + 1;
    return leave(warp, warp->current, p->mask); /* at op again: it may be the parent's join too */
}

/* The current path parts: `away` lanes go on at target, the rest at next; both meet at join. */
static const struct emu_op *split(struct emu_warp *warp, const struct emu_op *next, const struct emu_op *target,
                                  const struct emu_op *join, uint32_t away)
{
    uint32_t current = warp->current;
    uint32_t stay = warp->lanes.mask & ~away;
    struct emu_path *p = &warp->paths[current];
    if (p->join != join) {
        /* The path waits at the join, and a child of it goes on in its place. */
        uint32_t child = emu_path_new(warp);
        if (child == PTX_NONE)
            return NULL;
        p = &warp->paths[current];
        struct emu_path *c = &warp->paths[child];
        *c = *p;
        c->join = join;
        c->parent = current;
        p->state = EMU_PATH_SPLIT;
        p->pc = join;
        p->arrived = 0;
        p->children = 1;
        warp->ready--;
        current = child;
        p = c;
    }
    /* From here on p's join is the branch's. */
    if (join && (target == join || next == join) && p->parent != PTX_NONE && !ends_at(p, join)) {
        uint32_t there = target == join ? away : stay;
        warp->paths[p->parent].arrived |= there;
        p->mask = target == join ? stay : away;
        p->pc = target == join ? next : target;
        emu_path_enter(warp, current);
        return p->pc;
    }
    uint32_t other = emu_path_new(warp);
    if (other == PTX_NONE)
        return NULL;
    p = &warp->paths[current];
    struct emu_path *o = &warp->paths[other];
    *o = *p;
    o->mask = away;
    o->pc = target;
    p->mask = stay;
    p->pc = next;
    if (p->parent != PTX_NONE)
        warp->paths[p->parent].children++;
    emu_path_enter(warp, current);
    return next;
}

const struct emu_op *emu_part(struct emu_warp *warp, const struct emu_op *op, uint32_t lanes)
{
    uint32_t other = emu_path_new(warp);
    if (other == PTX_NONE)
        return NULL;
    struct emu_path *p = &warp->paths[warp->current], *o = &warp->paths[other];
    p->mask &= ~lanes;
    p->pc = emu_retry(op);
    *o = *p;
    o->mask = lanes;
    if (p->parent != PTX_NONE)
        warp->paths[p->parent].children++;
    return NULL;
}

int emu_paths_release(struct emu_warp *warp)
{
    int any = 0;
    uint32_t count = warp->path_count;
    for (uint32_t i = 0; i < count; i++) {
        if (warp->paths[i].state != EMU_PATH_SPLIT || !warp->paths[i].arrived)
            continue;
        uint32_t lanes = warp->paths[i].arrived, path = i;
        /* lanes that are back from a function, or where a branch and what is around it join, are there too */
        for (; path != PTX_NONE; path = warp->paths[path].parent) {
            warp->paths[path].arrived &= ~lanes;
            warp->paths[path].mask &= ~lanes;
            if (warp->paths[path].pc)
                break;
        }
        uint32_t on = path == PTX_NONE ? PTX_NONE : emu_path_new(warp);
        if (on == PTX_NONE)
            continue;
        struct emu_path *p = &warp->paths[path], *c = &warp->paths[on];
        *c = *p;
        c->mask = lanes;
        c->state = EMU_PATH_READY;
        c->arrived = c->children = 0;
        if (p->parent != PTX_NONE)
            warp->paths[p->parent].children++;
        any = 1;
    }
    return any;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

static inline void went(const struct emu_warp *warp, const struct emu_op *op, unsigned ways)
{
    warp->function->went[op - warp->function->ops] |= (uint8_t)ways;
}

const struct emu_op *emu_op_guard(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t saved = warp->lanes.mask;
    uint32_t mask = saved & emu_pred(warp, op->a);
    if (mask != saved)
        warp->predicated_off += emu_count(saved & ~mask);
    went(warp, op, (mask ? EMU_WENT_AWAY : 0) | (mask != saved ? EMU_WENT_ON : 0));
    if (!mask)
        return op + 2;
    warp->lanes.mask = mask;
    const struct emu_op *next = op[1].run(warp, op + 1);
    warp->lanes.mask = saved;
    return next;
}

/* The state that decides what a loop does next: equal hashes at the same branch, with nothing changed in memory in
   between, mean that the loop waits for somebody else. */
static uint64_t path_hash(const struct emu_warp *warp)
{
    uint64_t hash = warp->lanes.mask;
    const struct emu_function *function = warp->function;
    const uint64_t *words = (const uint64_t *)(const void *)warp->lanes.base[0];
    for (uint32_t i = 0; i < function->frame_bytes / 8; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    for (uint32_t i = 0; i < function->frame_preds; i++)
        hash = (hash ^ warp->lanes.preds[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    return hash;
}

static int spins(struct emu_warp *warp, const struct emu_op *op)
{
    if (warp->spin_op && warp->spin_op != op)
        return 0;
    uint64_t hash = path_hash(warp);
    int same = warp->spin_op == op && hash == warp->spin_hash && warp->spin_changes == warp->launch->changes;
    warp->spin_op = op;
    warp->spin_hash = hash;
    warp->spin_changes = warp->launch->changes;
    return same;
}

static const struct emu_op *go(struct emu_warp *warp, const struct emu_op *op, const struct emu_op *target)
{
    if (EMU_LIKELY(!warp->watch) || target > op)
        return target;
    if (warp->looked) {
        warp->looked = 0; /* the registers of another time: none will equal them */
    } else if (spins(warp, op)) {
        warp->spin_op = NULL;
        warp->paths[warp->current].wait_address = 0;
        warp->paths[warp->current].barrier = NULL;
        return emu_wait(warp, op, target, EMU_PATH_POLL);
    }
    return target;
}

const struct emu_op *emu_op_jump(struct emu_warp *warp, const struct emu_op *op)
{
    return go(warp, op, op->extra);
}

const struct emu_op *emu_op_bra(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_branch *branch = op->extra;
    uint32_t away = warp->lanes.mask & emu_pred(warp, op->a);
    went(warp, op, (away ? EMU_WENT_AWAY : 0) | (away != warp->lanes.mask ? EMU_WENT_ON : 0));
    if (!away)
        return op + 1;
    if (EMU_LIKELY(away == warp->lanes.mask))
        return go(warp, op, branch->target[0]);
    return split(warp, op + 1, branch->target[0], branch->join, away);
}

const struct emu_op *emu_op_brx(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_branch *branch = op->extra;
    const uint32_t *index = EMU_W(op->a);
    uint32_t rest = warp->lanes.mask;
    for (uint32_t m = rest; m; m &= m - 1) {
        uint32_t lane = emu_first(m);
        if (index[lane] >= branch->count)
            return emu_report_at(warp, op, "BOUNDS", index[lane], 1, "brx.idx: index %u of a list of %u labels",
                                 index[lane], branch->count);
        went(warp, branch->target[index[lane]], EMU_WENT_HERE);
    }
    uint32_t keep = index[emu_first(rest)];
    const struct emu_op *next = branch->target[keep];
    for (;;) {
        /* Lanes that leave for one other target at a time; the first lane's target is left for last. */
        uint32_t other = 0, which = 0;
        for (uint32_t m = rest; m; m &= m - 1) {
            uint32_t lane = emu_first(m);
            if (branch->target[index[lane]] == next)
                continue;
            if (!other)
                which = index[lane];
            if (branch->target[index[lane]] == branch->target[which])
                other |= 1u << lane;
        }
        if (!other)
            return go(warp, op, next);
        const struct emu_op *to = split(warp, next, branch->target[which], branch->join, other);
        if (!to || warp->lanes.mask != (rest & ~other))
            return to; /* no memory, or those that stay were at the join already */
        rest &= ~other;
    }
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

const struct emu_op *emu_exit_lanes(struct emu_warp *warp, const struct emu_op *next, uint32_t lanes)
{
    struct emu_path *p = &warp->paths[warp->current];
    if (EMU_UNLIKELY(warp->hazard != NULL))
        emu_hazard_exit(warp->hazard, lanes, emu_position(warp, next - 1));
    warp->alive &= ~lanes;
    warp->launch->changes++;
    p->mask &= ~lanes;
    warp->lanes.mask = p->mask;
    warp->active = emu_count(p->mask);
    const struct emu_op *to = next;
    if (!p->mask)
        to = leave(warp, warp->current, 0);
    for (uint32_t i = 0; i < warp->path_count; i++) {
        if (warp->paths[i].state == EMU_PATH_SYNC) /* may have waited for these lanes only */
            emu_path_ready(warp, i);
    }
    uint32_t unarrived = lanes & ~warp->cluster_arrived;
    warp->block->cluster->missing -= emu_count(unarrived);
    if (!warp->alive) {
        warp->done = 1;
        emu_warpgroup_ready(warp);
        emu_wgmma_meet(warp);
        warp->block->live_warps--;
        emu_event(warp, NULL, EMU_EVENT_EXIT, 0, 0, 0);
    }
    emu_barriers_check(warp->block);
    emu_cluster_check(warp->block->cluster);
    return to;
}

/* The lanes that this exit, return or trap is for. */
static uint32_t leaving(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t lanes = op->a ? warp->lanes.mask & emu_pred(warp, op->a) : warp->lanes.mask;
    went(warp, op, (lanes ? EMU_WENT_AWAY : 0) | (lanes != warp->lanes.mask ? EMU_WENT_ON : 0));
    return lanes;
}

const struct emu_op *emu_op_exit(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t lanes = leaving(warp, op);
    return lanes ? emu_exit_lanes(warp, op + 1, lanes) : op + 1;
}

const struct emu_op *emu_op_trap(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t lanes = leaving(warp, op);
    if (!lanes)
        return op + 1;
    char where[256];
    emu_place(warp, op, where, sizeof where);
    warp->launch->trapped = 1;
    emu_fail_launch(warp->launch, TW_ERROR_LAUNCH, "trap: %s", where);
    return NULL;
}

const struct emu_op *emu_op_ret(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t lanes = leaving(warp, op);
    if (!lanes)
        return op + 1;
    struct emu_path *p = &warp->paths[warp->current];
    if (p->parent == PTX_NONE || !p->depth)
        return emu_exit_lanes(warp, op + 1, lanes);
    if (lanes == warp->lanes.mask)
        return leave(warp, warp->current, lanes);
    /* Some return: nothing before the return can be the join here. */
    warp->paths[p->parent].arrived |= lanes;
    p->mask &= ~lanes;
    warp->lanes.mask = p->mask;
    warp->active = emu_count(p->mask);
    return op + 1;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* The number of the function whose address that is, of an alias its own; PTX_NONE: there is none. */
static uint32_t function_at(const struct emu_module *module, uint64_t address)
{
    const uint64_t number = (address - EMU_FUNCTION_START) / 16;
    if (address < EMU_FUNCTION_START || address % 16 || number >= module->ptx->function_count)
        return PTX_NONE;
    const uint32_t alias = module->ptx->functions[number].alias_of;
    return alias != PTX_NONE ? alias : (uint32_t)number;
}

int emu_warp_room(struct emu_warp *warp, uint32_t registers, uint32_t preds, uint32_t local)
{
    struct tw_runtime *rt = warp->launch->device->device.rt;
    struct emu_launch *launch = warp->launch;
    if (local > launch->device->options.stack_bytes) {
        const int runs = warp->current < warp->path_count;
        emu_report_at(warp, runs ? warp->paths[warp->current].pc : launch->kernel->entry->ops, "BOUNDS", 0, 1,
                      "stack overflow: a thread needs %u bytes of local memory, and may use %zu", local,
                      launch->device->options.stack_bytes);
        return 1;
    }
    if (registers > warp->register_room) {
        uint32_t room = registers + registers / 2 + 4096;
        unsigned char *to = tw_realloc(rt, warp->registers, room);
        if (!to)
            goto none;
        memset(to + warp->register_room, EMU_POISON, room - warp->register_room);
        launch->bytes += room - warp->register_room;
        warp->registers = to;
        warp->register_room = room;
    }
    if (preds > warp->predicate_room) {
        uint32_t room = preds + preds / 2 + 64;
        uint32_t *to = tw_realloc(rt, warp->predicates, room * sizeof *to);
        if (!to)
            goto none;
        memset(to + warp->predicate_room, EMU_POISON, (room - warp->predicate_room) * sizeof *to);
        warp->predicates = to;
        warp->predicate_room = room;
    }
    if (local > warp->local_room) {
        uint32_t room = (local + local / 2 + 255) & ~255u;
        unsigned char *to = tw_realloc(rt, warp->local, (size_t)room * EMU_LANES);
        if (!to)
            goto none;
        memset(to + (size_t)warp->local_room * EMU_LANES, EMU_POISON, (size_t)(room - warp->local_room) * EMU_LANES);
        launch->bytes += (size_t)(room - warp->local_room) * EMU_LANES;
        warp->local = to;
        if (launch->hazard && !launch->kernel->module->ptx->is_debug) {
            uint32_t *written = tw_realloc(rt, warp->local_written, room);
            if (!written)
                goto none;
            memset((unsigned char *)written + warp->local_room, 0, room - warp->local_room);
            warp->local_written = written;
        }
        warp->local_room = room;
    }
    if (launch->bytes > launch->peak_bytes)
        launch->peak_bytes = launch->bytes;
    if (warp->current < warp->path_count) {
        warp->lanes.base[0] = warp->registers + warp->paths[warp->current].frame;
        warp->lanes.preds = warp->predicates + warp->paths[warp->current].preds;
    }
    return 0;
none:
    emu_fail_launch(launch, TW_ERROR_MEMORY, "no memory for the frames of a warp");
    return 1;
}

static unsigned char *local_byte(struct emu_warp *warp, uint32_t address, unsigned lane)
{
    return warp->local + (size_t)(address / 4) * EMU_SLOT + lane * 4 + address % 4;
}

/* What lanes have written of some words, or nothing any more. */
void emu_local_written(struct emu_warp *warp, uint32_t address, uint32_t bytes, uint32_t lanes, int written)
{
    if (!warp->local_written || !bytes)
        return;
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++)
        warp->local_written[word] = written ? warp->local_written[word] | lanes : warp->local_written[word] & ~lanes;
}

/* Copies bytes of local memory of lanes from one address to another. */
static void move_local(struct emu_warp *warp, uint32_t to, uint32_t from, uint32_t bytes, uint32_t lanes)
{
    emu_local_written(warp, to, bytes, lanes, 1);
    if ((to | from | bytes) % 4 == 0 && lanes == UINT32_MAX) {
        memmove(warp->local + (size_t)to / 4 * EMU_SLOT, warp->local + (size_t)from / 4 * EMU_SLOT,
                (size_t)bytes / 4 * EMU_SLOT);
        return;
    }
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        for (uint32_t i = 0; i < bytes; i++)
            *local_byte(warp, to + i, lane) = *local_byte(warp, from + i, lane);
    }
}

static void move_register(struct emu_warp *warp, const struct emu_move *move, unsigned char *frame, uint32_t local,
                          uint32_t lanes, int store)
{
    uint32_t offset = store ? move->from : move->to;
    uint32_t address = local + (store ? move->to : move->from);
    unsigned width = store ? move->from_register : move->to_register;
    unsigned char *base = (offset & 1 ? warp->lanes.base[1] : frame) + (offset & ~1u);
    if (store)
        emu_local_written(warp, address, move->bytes, lanes, 1);
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = emu_first(m);
        unsigned char *value = base + lane * width;
        if (!store)
            memset(value, 0, width);
        for (uint32_t i = 0; i < move->bytes; i++) {
            if (store)
                *local_byte(warp, address + i, lane) = i < width ? value[i] : 0;
            else if (i < width)
                value[i] = *local_byte(warp, address + i, lane);
        }
    }
}

enum {
    CALL_STACK = 16,         /* bytes of stack that a call takes at the least */
    MOST_REGISTERS = 1 << 30 /* bytes of a warp's frames */
};

/* A frame for `path`, which enters its function. Frames of unlike functions must not overlap, even if their lanes are
   others: a lane's place depends on whether a register has 32 bits or 64. Lanes that enter the function they are in
   already, by another way, share its frame, so that they can meet there. */
static void place_frame(struct emu_warp *warp, uint32_t path)
{
    struct emu_path *c = &warp->paths[path];
    c->frame = c->preds = 0;
    for (uint32_t i = 0; i < warp->path_count; i++) {
        const struct emu_path *p = &warp->paths[i];
        if (i == path || p->state == EMU_PATH_FREE)
            continue;
        if (p->function == c->function && p->depth == c->depth && !(p->mask & c->mask)) {
            c->frame = p->frame;
            c->preds = p->preds;
            return;
        }
        if (p->frame + p->function->frame_bytes > c->frame)
            c->frame = p->frame + p->function->frame_bytes;
        if (p->preds + p->function->frame_preds > c->preds)
            c->preds = p->preds + p->function->frame_preds;
    }
}

/* A child of path `caller` that executes function with these lanes. */
static int enter_function(struct emu_warp *warp, const struct emu_op *op, uint32_t caller,
                          struct emu_function *function, uint32_t lanes, const struct emu_call *call)
{
    uint32_t child = emu_path_new(warp);
    if (child == PTX_NONE)
        return 1;
    const struct emu_path *p = &warp->paths[caller];
    struct emu_path *c = &warp->paths[child];
    c->function = function;
    c->pc = function->ops;
    function->went[0] |= EMU_WENT_HERE;
    c->join = NULL;
    c->mask = lanes;
    c->parent = caller;
    c->depth = p->depth + 1;
    place_frame(warp, child);
    c->local = p->local_top;
    c->local_top = c->local + function->local_bytes;
    /* A call takes some stack even where its function has no local memory; and so that no sum here overflows. */
    if ((uint64_t)c->depth * CALL_STACK > warp->launch->device->options.stack_bytes ||
        c->local_top > warp->launch->device->options.stack_bytes ||
        (uint64_t)c->frame + function->frame_bytes > MOST_REGISTERS) {
        emu_report_at(warp, op, "BOUNDS", 0, 1,
                      "stack overflow: calls are nested %u deep, and a thread may use %llu bytes of local memory",
                      c->depth, (unsigned long long)warp->launch->device->options.stack_bytes);
        return 1;
    }
    if (emu_warp_room(warp, c->frame + function->frame_bytes, c->preds + function->frame_preds, c->local_top))
        return 1;
    emu_local_written(warp, c->local, function->local_bytes, lanes, 0);
    for (uint32_t i = 0; i < call->move_count; i++) {
        const struct emu_move *move = &call->moves[i];
        if (move->from_register) {
            move_register(warp, move, warp->registers + p->frame, c->local, lanes, 1);
        } else {
            move_local(warp, c->local + move->to, p->local + move->from, move->bytes, lanes);
        }
    }
    return 0;
}

/* Whether a function's parameters or results (formal) lie where a call through the prototype puts them; *at: behind
   those before them. */
static int same_places(const struct ptx_module *ptx, const struct ptx_parameter *given, uint32_t given_count,
                       const struct ptx_parameter *formal, uint32_t formal_count, uint64_t *at)
{
    int same = given_count == formal_count;
    for (uint32_t i = 0; same && i < given_count; i++) {
        uint64_t align = given[i].align ? given[i].align : 1;
        *at = (*at + align - 1) / align * align;
        same = formal[i].variable != PTX_NONE && formal[i].bytes == given[i].bytes &&
               ptx->variables[formal[i].variable].offset == *at;
        *at += given[i].bytes;
    }
    return same;
}

static int fits_prototype(const struct emu_call *call, const struct ptx_function *f)
{
    const struct ptx_prototype *p = call->prototype;
    const struct ptx_module *ptx = call->module->ptx;
    uint64_t at = 0;
    return !f->is_kernel && same_places(ptx, p->returns, p->return_count, f->returns, f->return_count, &at) &&
           same_places(ptx, p->params, p->param_count, f->params, f->param_count, &at);
}

const struct emu_op *emu_op_call(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_call *call = op->extra;
    uint32_t lanes = call->guard == PTX_NONE ? warp->lanes.mask : warp->lanes.mask & emu_pred(warp, call->guard);
    if (!lanes)
        return op + 1;
    uint32_t caller = warp->current;
    warp->paths[caller].arrived = warp->lanes.mask & ~lanes;
    warp->paths[caller].pc = op + 1;
    warp->paths[caller].children = 0;
    uint64_t target[EMU_LANES];
    if (!call->function)
        memcpy(target, EMU_L(call->target), sizeof target);
    while (lanes) {
        struct emu_function *function = call->function;
        uint32_t together = lanes;
        if (!function) {
            uint64_t address = target[emu_first(lanes)];
            together = 0;
            for (uint32_t m = lanes; m; m &= m - 1)
                if (target[emu_first(m)] == address)
                    together |= m & (0u - m);
            const uint32_t number = function_at(call->module, address);
            function = number == PTX_NONE ? NULL : call->module->functions[number];
            const char *refused = number == PTX_NONE ? NULL : call->module->ptx->functions[number].refused;
            if (refused) {
                emu_fail_launch(warp->launch, TW_ERROR_UNSUPPORTED, "%s", refused);
                return NULL;
            }
            if (!function)
                return emu_report_at(warp, op, "BOUNDS", address, 1, "call of 0x%llx, which is no function",
                                     (unsigned long long)address);
            if (!fits_prototype(call, function->ptx))
                return emu_report_at(warp, op, "BOUNDS", address, 1, "call of %s through a prototype that does not fit",
                                     ptx_name(call->module->ptx, function->ptx->name));
        }
        if (enter_function(warp, op, caller, function, together, call))
            return NULL;
        warp->paths[caller].children++;
        lanes &= ~together;
    }
    warp->paths[caller].state = EMU_PATH_SPLIT;
    warp->ready--;
    return NULL; /* the warp goes on with one of the children */
}

const struct emu_op *emu_op_call_end(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_call *call = op->extra;
    const struct emu_path *p = &warp->paths[warp->current];
    uint32_t lanes = call->guard == PTX_NONE ? warp->lanes.mask : warp->lanes.mask & emu_pred(warp, call->guard);
    for (uint32_t i = 0; i < call->move_count; i++) {
        /* A callee's local memory began at this frame's top, with its parameter area. */
        const struct emu_move *move = &call->moves[i];
        if (move->to_register)
            move_register(warp, move, warp->lanes.base[0], p->local_top, lanes, 0);
        else
            move_local(warp, p->local + move->to, p->local_top + move->from, move->bytes, lanes);
    }
    return op + 1;
}
