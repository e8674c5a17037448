/* The protocol check: arrivals and bytes, what the steps bring against what the mbarriers count. */
#include "plan/protocol.h"

/* Steps `op` that a role makes for each stage that it fills. */
static int steps_a_stage(const struct plan *p, const struct plan_role *role, enum plan_op op, int ring)
{
    int steps = 0, fills = 0;
    unsigned own = protocol_own_tensors(p, role, PLAN_FILL, ring);
    for (int i = 0; i < role->step_count; i++) {
        steps += role->step[i].op == op && role->step[i].ring == ring;
        fills += role->step[i].op == PLAN_FILL && role->step[i].ring == ring;
    }
    int stages = own ? fills / __builtin_popcount(own) : 1;
    return stages ? steps / stages : steps;
}

/* Each tensor of the ring is filled by some role and read by some role. */
static void check_tensors(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    enum plan_op op = protocol_fill_op(p, ring);
    for (int r = 0; r < p->role_count; r++)
        for (int t = 0; t < g->tensor_count; t++) {
            const struct plan_role *q = &p->role[r];
            int fill = protocol_find_last(q, op, ring), read = protocol_find_last(q, PLAN_READ, ring);
            bool is_filled = false, is_read = false;
            for (int o = 0; o < p->role_count; o++) {
                is_filled |= protocol_has(&p->role[o], op, ring, g->tensor[t]);
                is_read |= protocol_has(&p->role[o], PLAN_READ, ring, g->tensor[t]);
            }
            const char *name = p->tensor[g->tensor[t]].name;
            if (fill >= 0 && !is_filled && op == PLAN_FILL)
                protocol_fault(p, diags, r, 0, fill, "PROTOCOL-BYTES",
                               "no role fills %s of ring %s: its %d bytes never arrive; write a fill step for it", name,
                               g->name, p->tensor[g->tensor[t]].tile_bytes);
            else if (fill >= 0 && !is_filled)
                protocol_fault(p, diags, r, 0, fill, "PROTOCOL-ORDER",
                               "no role writes %s of ring %s; write a write step for it", name, g->name);
            if (read >= 0 && !is_read)
                protocol_fault(p, diags, r, 0, read, "PROTOCOL-ORDER",
                               "no role reads %s of ring %s; write a read step for it", name, g->name);
        }
}

/* A FILL that is left out where the item before left its tile stands in turns of one loop, right within that of items,
 * of which each takes a stage of the ring, and nothing else does. No blocks share the tile: they release stages for
 * each other, and know that the turn before is over by what was sent. What is wrong, or NULL. */
static const char *why_not_left(const struct plan *p, const struct plan_role *q, int fill)
{
    const struct plan_step *own = &q->step[fill], *turns = NULL, *items = NULL;
    int around[PROTOCOL_MAX_DEPTH], depth = 0, stages = 0;
    for (int s = 0; s < q->step_count; s++) {
        const struct plan_step *t = &q->step[s];
        depth -= t->op == PLAN_END && depth > 0;
        if ((t->op == PLAN_LOOP || t->op == PLAN_WHEN) && depth < PROTOCOL_MAX_DEPTH)
            around[depth++] = s;
        if (s == fill && depth == 2)
            items = &q->step[around[0]], turns = &q->step[around[1]];
        stages += t->op == PLAN_EXPECT && t->ring == own->ring;
        if (t->op == PLAN_FILL && t->reuse && p->ring[t->ring].stages != p->ring[own->ring].stages)
            return "beside one of a ring of another depth";
    }
    if (p->tensor[own->tensor].multicast > 1)
        return "though blocks share it, which then send each other nothing";
    if (!turns || turns->op != PLAN_LOOP || turns->count || turns->less || turns->part || turns->share ||
        items->op != PLAN_LOOP || items->count || p->ring[own->ring].filler != PLAN_FILL_BULK)
        return "in no loop of turns right within that of items";
    return stages == 1 ? NULL : "though other steps fill stages of the ring too";
}

/* FILLs of the ring that are left out where the item before left their tile, and as many bytes fewer are announced. */
static void check_reuse(const struct plan *p, int ring, struct diag_set *diags)
{
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *q = &p->role[r];
        int bytes = 0, expect = -1;
        for (int s = 0; s < q->step_count; s++) {
            const struct plan_step *t = &q->step[s];
            if (plan_step_ring(t) != ring || (t->op != PLAN_FILL && t->op != PLAN_EXPECT))
                continue;
            expect = t->op == PLAN_EXPECT ? s : expect;
            if (t->op != PLAN_FILL || !t->reuse)
                continue;
            bytes += p->tensor[t->tensor].tile_bytes;
            const char *why = why_not_left(p, q, s);
            if (why)
                protocol_fault(p, diags, r, 0, s, "PROTOCOL-ORDER",
                               "is left out where the item before left %s in ring %s, %s; write reuse = 0",
                               p->tensor[t->tensor].name, p->ring[ring].name, why);
        }
        if (expect >= 0 && q->step[expect].reuse != bytes)
            protocol_fault(p, diags, r, 0, expect, "PROTOCOL-BYTES",
                           "announces %d bytes fewer where tiles of ring %s are left from the item before, but these "
                           "are %d; write reuse = %d",
                           q->step[expect].reuse, p->ring[ring].name, bytes, bytes);
    }
}

/* The full barrier of a ring that bulk copies fill. */
static void check_full_barrier(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    int arrivals = 0, bytes = 0, role = -1, step = -1;
    for (int t = 0; t < g->tensor_count; t++)
        bytes += p->tensor[g->tensor[t]].tile_bytes;
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *q = &p->role[r];
        unsigned own = protocol_own_tensors(p, q, PLAN_FILL, ring);
        int first = protocol_find(q, PLAN_EXPECT, ring);
        for (int s = 0; s < q->step_count; s++) {
            const struct plan_step *fill = &q->step[s];
            if (fill->op != PLAN_FILL || fill->ring != ring)
                continue;
            const struct plan_tensor *t = &p->tensor[fill->tensor];
            int shares = t->multicast > 1 ? t->multicast : 1;
            if (fill->count * shares != t->tile_bytes)
                protocol_fault(p, diags, r, 0, s, "PROTOCOL-BYTES",
                               "brings %d bytes of %s to each of %d block%s, but its tile is %d bytes; write %d",
                               fill->count, t->name, shares, shares > 1 ? "s" : "", t->tile_bytes,
                               t->tile_bytes / shares);
        }
        if (own && first < 0 && role < 0) {
            int fill = protocol_find(q, PLAN_FILL, ring);
            protocol_fault(p, diags, r, 0, fill, "PROTOCOL-ARRIVALS",
                           "fills ring %s without announcing the bytes; write an expect step before it", g->name);
        }
        if (first < 0)
            continue;
        arrivals += q->instances / protocol_stage_sets(p, ring) * steps_a_stage(p, q, PLAN_EXPECT, ring);
        role = r;
        step = first;
        int mine = 0, announced = 0, seen = 0;
        for (int t = 0; t < g->tensor_count; t++)
            if (own >> t & 1)
                mine += p->tensor[g->tensor[t]].tile_bytes;
        for (int s = 0; s < q->step_count && seen < steps_a_stage(p, q, PLAN_EXPECT, ring); s++)
            if (q->step[s].op == PLAN_EXPECT && q->step[s].ring == ring) {
                announced += q->step[s].count;
                seen++;
            }
        if (announced != mine)
            protocol_fault(p, diags, r, 0, first, "PROTOCOL-BYTES",
                           "announces %d bytes a stage of ring %s, but the tiles that it fills are %d; write %d",
                           announced, g->name, mine, mine);
    }
    check_reuse(p, ring, diags);
    if (role < 0)
        return;
    if (g->full_arrivals != arrivals)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-ARRIVALS",
                       "the full barrier of ring %s completes after %d arrival%s, but %d come%s; "
                       "write full_arrivals = %d",
                       g->name, g->full_arrivals, g->full_arrivals == 1 ? "" : "s", arrivals, arrivals == 1 ? "s" : "",
                       arrivals);
    if (g->tx_bytes != bytes)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-BYTES",
                       "ring %s counts %d bytes a stage, but its tiles are %d; write tx_bytes = %d", g->name,
                       g->tx_bytes, bytes, bytes);
}

/* The full barrier of a ring that the threads of other blocks fill: each instance announces what comes for it. */
static void check_sent_barrier(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    const struct protocol_cluster c = protocol_cluster(p);
    const int others = __builtin_popcount(protocol_neighbours(p, &c, ring, 0));
    int arrivals = 0, bytes = 0, role = -1, step = -1;
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *q = &p->role[r];
        const int expect = protocol_find(q, PLAN_EXPECT, ring);
        int fill = protocol_find(q, PLAN_FILL, ring);
        if (fill >= 0 && expect < 0)
            protocol_fault(p, diags, r, 0, fill, "PROTOCOL-ARRIVALS",
                           "fills ring %s without announcing the bytes; write an expect step before it", g->name);
        if (expect < 0 || fill < 0)
            continue;
        role = r;
        step = expect;
        arrivals += q->instances;
        bytes += q->instances * q->step[expect].count;
        for (int s = expect, e = expect; s < q->step_count; s++) {
            if (q->step[s].ring != ring || (q->step[s].op != PLAN_EXPECT && q->step[s].op != PLAN_FILL))
                continue;
            e = q->step[s].op == PLAN_EXPECT ? s : e;
            if (q->step[s].op == PLAN_FILL && q->step[s].count * others != q->step[e].count)
                protocol_fault(p, diags, r, 0, s, "PROTOCOL-BYTES",
                               "%d blocks bring %d bytes each, but %d are announced; write %d", others,
                               q->step[s].count, q->step[e].count, q->step[e].count / (others ? others : 1));
        }
    }
    if (role >= 0 && g->full_arrivals != arrivals)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-ARRIVALS",
                       "the full barrier of ring %s completes after %d arrival%s, but %d come%s; "
                       "write full_arrivals = %d",
                       g->name, g->full_arrivals, g->full_arrivals == 1 ? "" : "s", arrivals, arrivals == 1 ? "s" : "",
                       arrivals);
    if (role >= 0 && g->tx_bytes != bytes)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-BYTES",
                       "ring %s counts %d bytes a stage, but %d are announced; write tx_bytes = %d", g->name,
                       g->tx_bytes, bytes, bytes);
}

/* The full barrier of a ring whose stages a role's threads write. */
static void check_written_barrier(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    int arrivals = 0, role = -1, step = -1;
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *q = &p->role[r];
        int write = protocol_find(q, PLAN_WRITE, ring), first = protocol_find(q, PLAN_ARRIVE, ring);
        if (write >= 0 && first < 0)
            protocol_fault(
                p, diags, r, 0, write, "PROTOCOL-ARRIVALS",
                "writes ring %s and never arrives on its full barrier; write an arrive step behind the writes",
                g->name);
        if (first < 0)
            continue;
        role = r;
        step = first;
        arrivals += q->instances * protocol_arrivals(&q->step[first]);
        for (int s = first; s < q->step_count; s++)
            if (q->step[s].op == PLAN_ARRIVE && q->step[s].ring == ring &&
                protocol_arrivals(&q->step[s]) != protocol_arrivals(&q->step[first]))
                protocol_fault(p, diags, r, 0, s, "PROTOCOL-ARRIVALS",
                               "arrives %d times where step %d %s arrives %d times; each arrive must count alike",
                               protocol_arrivals(&q->step[s]), first + 1, protocol_step_name(&q->step[first]),
                               protocol_arrivals(&q->step[first]));
    }
    if (role >= 0 && g->full_arrivals != arrivals)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-ARRIVALS",
                       "the full barrier of ring %s completes after %d arrival%s, but %d come%s; "
                       "write full_arrivals = %d",
                       g->name, g->full_arrivals, g->full_arrivals == 1 ? "" : "s", arrivals, arrivals == 1 ? "s" : "",
                       arrivals);
    if (role >= 0 && g->tx_bytes != 0)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-BYTES",
                       "ring %s counts %d bytes a stage, but threads write it; write tx_bytes = 0", g->name,
                       g->tx_bytes);
}

static void check_empty_barrier(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    bool refilled = false;
    int arrivals = 0, role = -1, step = -1;
    for (int r = 0; r < p->role_count; r++)
        refilled |=
            protocol_has(&p->role[r], PLAN_WAIT_EMPTY, ring, -1) || protocol_has(&p->role[r], PLAN_RELEASE, ring, -1);
    for (int r = 0; r < p->role_count && refilled; r++) {
        const struct plan_role *q = &p->role[r];
        if (!protocol_has(q, PLAN_READ, ring, -1))
            continue;
        int release = protocol_find(q, PLAN_RELEASE, ring);
        int each = release < 0 ? 1 : protocol_arrivals(&q->step[release]);
        arrivals +=
            (protocol_has(q, PLAN_SKIP, ring, -1) ? 1 : q->instances) * each; /* one instance takes each stage */
        role = r;
        step = release;
        if (release < 0) {
            step = protocol_find_last(q, PLAN_READ, ring);
            protocol_fault(p, diags, r, 0, step, "PROTOCOL-RELEASE",
                           "reads ring %s and never releases it; write a release step after the reads are over",
                           g->name);
        }
        int depth = 0;
        for (int s = 0; s < q->step_count; s++) {
            enum plan_op op = q->step[s].op;
            depth += op == PLAN_LOOP || op == PLAN_WHEN ? 1 : op == PLAN_END ? -1 : 0;
            if (q->step[s].op != PLAN_RELEASE || q->step[s].ring != ring)
                continue;
            if (protocol_arrivals(&q->step[s]) != each)
                protocol_fault(p, diags, r, 0, s, "PROTOCOL-ARRIVALS",
                               "arrives %d times where step %d %s arrives %d times; each release must count alike",
                               protocol_arrivals(&q->step[s]), release + 1, protocol_step_name(&q->step[release]),
                               each);
            if (q->step[s].count >= g->stages && depth > 0)
                protocol_fault(
                    p, diags, r, 0, s, "PROTOCOL-DEPTH",
                    "keeps %d stages of ring %s, which has %d, so that none is left to fill; write %d stages "
                    "or keep %d",
                    q->step[s].count, g->name, g->stages, q->step[s].count + 1, g->stages - 1);
        }
    }
    struct protocol_cluster c = protocol_cluster(p);
    int blocks = __builtin_popcount(protocol_neighbours(p, &c, ring, 0));
    if (role >= 0 && g->empty_arrivals != arrivals * blocks)
        protocol_fault(p, diags, role, 0, step, "PROTOCOL-ARRIVALS",
                       "the empty barrier of ring %s completes after %d arrival%s, but %d come (%d from each of %d "
                       "block%s); write empty_arrivals = %d",
                       g->name, g->empty_arrivals, g->empty_arrivals == 1 ? "" : "s", arrivals * blocks, arrivals,
                       blocks, blocks > 1 ? "s" : "", arrivals * blocks);
    if (role < 0 && refilled)
        for (int r = 0; r < p->role_count; r++) {
            int wait = protocol_find(&p->role[r], PLAN_WAIT_EMPTY, ring);
            if (wait >= 0)
                protocol_fault(p, diags, r, 0, wait, "PROTOCOL-ROLES", "no role reads and releases ring %s", g->name);
        }
}

int protocol_check_counts(const struct plan *p, struct diag_set *diags)
{
    int faults = diags->errors;
    for (int g = 0; g < p->ring_count; g++) {
        if (!protocol_has_mbarriers(p, g))
            continue;
        if (p->ring[g].filler == PLAN_FILL_BULK || p->ring[g].filler == PLAN_FILL_OWN)
            check_full_barrier(p, g, diags);
        else if (p->ring[g].filler == PLAN_FILL_PEERS)
            check_sent_barrier(p, g, diags);
        else
            check_written_barrier(p, g, diags);
        check_tensors(p, g, diags);
        check_empty_barrier(p, g, diags);
    }
    return diags->errors - faults;
}
