/* The protocol check, first half: what can be read off the roles' steps. protocol_run.c explores them. */
#include "plan/protocol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const op_name[PLAN_OP_COUNT] = {
#define PLAN_OP(id, name, doc) name,
#include "plan/plan_ops.def"
#undef PLAN_OP
};

const char *protocol_step_name(const struct plan_step *step)
{
    return step->call ? step->call : op_name[step->op];
}

void protocol_fault(const struct plan *p, struct diag_set *diags, int role, int stage, int step, const char *rule,
                    const char *format, ...)
{
    char where[256], fault[768], at_stage[32] = "";
    if (stage >= 0)
        snprintf(at_stage, sizeof at_stage, ", stage %d", stage);
    snprintf(where, sizeof where, "%s, role %s%s, step %d %s", p->arch, p->role[role].name, at_stage, step + 1,
             protocol_step_name(&p->role[role].step[step]));
    va_list list;
    va_start(list, format);
    vsnprintf(fault, sizeof fault, format, list);
    va_end(list);
    diag_report(diags, DIAG_ERROR, p->loc, p->kernel, where, rule, "%s", fault);
}

bool protocol_has(const struct plan_role *role, enum plan_op op, int ring, int tensor)
{
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == op && (ring < 0 || role->step[i].ring == ring) &&
            (tensor < 0 || role->step[i].tensor == tensor))
            return true;
    return false;
}

static int find_step(const struct plan_role *role, enum plan_op op, int ring)
{
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == op && (ring < 0 || role->step[i].ring == ring))
            return i;
    return -1;
}

static int find_last(const struct plan_role *role, enum plan_op op, int ring)
{
    for (int i = role->step_count - 1; i >= 0; i--)
        if (role->step[i].op == op && role->step[i].ring == ring)
            return i;
    return -1;
}

int protocol_slot(const struct plan *p, const struct plan_step *step)
{
    const struct plan_ring *ring = &p->ring[step->ring];
    for (int i = 0; i < ring->tensor_count; i++)
        if (ring->tensor[i] == step->tensor)
            return i;
    return -1;
}

unsigned protocol_own_tensors(const struct plan *p, const struct plan_role *role, enum plan_op op, int ring)
{
    unsigned own = 0;
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == op && role->step[i].ring == ring)
            own |= 1u << protocol_slot(p, &role->step[i]);
    return own;
}

static int threads_of_instance(const struct plan_role *role)
{
    return role->warps * 32 / role->instances;
}

bool protocol_reads_as_one(const struct plan_role *role, int ring)
{
    int warps = (threads_of_instance(role) + 31) / 32;
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->ring == ring &&
            ((s->op == PLAN_READ && s->count != 0) || (s->op == PLAN_RELEASE && protocol_arrivals(s) >= warps)))
            return true;
    }
    return false;
}

int protocol_lanes(const struct plan *p, int role)
{
    const struct plan_role *r = &p->role[role];
    bool wide = threads_of_instance(r) > 32;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        bool copies = s->op == PLAN_FILL && p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC;
        bool reads = s->op == PLAN_READ &&
                     (p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC || (wide && !protocol_reads_as_one(r, s->ring)));
        if (copies || reads || s->op == PLAN_WRITE || s->op == PLAN_STORE)
            return 2;
    }
    return 1;
}

static int threads_at_barrier(const struct plan *p, int barrier)
{
    int threads = 0;
    for (int i = 0; i < p->role_count; i++)
        for (int s = 0; s < p->role[i].step_count; s++)
            if (p->role[i].step[s].op == PLAN_BARRIER && p->role[i].step[s].count == barrier) {
                threads += p->role[i].warps * 32;
                break;
            }
    return threads;
}

bool protocol_barrier_is_private(const struct plan *p, int barrier)
{
    return p->barrier[barrier].threads != threads_at_barrier(p, barrier);
}

bool protocol_buffers_are_private(const struct plan *p, int role, int ring)
{
    const struct plan_role *r = &p->role[role];
    for (int i = find_step(r, PLAN_STORE, ring); i >= 0; i--)
        if (r->step[i].op == PLAN_BARRIER)
            return protocol_barrier_is_private(p, r->step[i].count);
    return true;
}

int protocol_loop_end(const struct plan_role *role, int step)
{
    int depth = 0;
    for (int i = step; i < role->step_count; i++) {
        depth += role->step[i].op == PLAN_LOOP ? 1 : role->step[i].op == PLAN_END ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return role->step_count;
}

static bool same_name(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Loops are told apart by name: roles that loop together use one name. The number is that of the name's first LOOP. */
static int loop_number(const struct plan *p, const char *name)
{
    int number = 0;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            if (step->op != PLAN_LOOP || step->count > 0 || same_name(step->call, "tiles"))
                continue;
            if (same_name(step->call, name))
                return number;
            number++;
        }
    return 0;
}

int protocol_trip(const struct plan *p, const struct protocol_trips *trips, int role, int step, int tile)
{
    const struct plan_step *s = &p->role[role].step[step];
    if (s->count > 0)
        return s->count;
    if (same_name(s->call, "tiles"))
        return trips->tiles;
    int n = loop_number(p, s->call), trip = trips->trip[(tile + n) % trips->tiles];
    return trip > 1 ? trip + n : trip;
}

/* ---- clusters -------------------------------------------------------------------------------------------------- */

/* A copy is shared along the axes that its tensor lacks: tensors with the same axes share among the same blocks, others
 * across them. Which of the grid's dimensions that is makes no difference to the protocol. */
static unsigned axes_of(const struct plan *p, const struct plan_tensor *t)
{
    unsigned axes = 0;
    for (int d = 0; d < t->rank; d++)
        for (int a = 0; a < p->axis_count; a++)
            if (same_name(t->axis[d], p->axis[a]))
                axes |= 1u << a;
    return axes;
}

struct protocol_cluster protocol_cluster(const struct plan *p)
{
    struct protocol_cluster c = {.blocks = 1};
    int all = 1, stride = 1;
    for (int i = 0; i < 3; i++)
        all *= p->launch.cluster[i] > 1 ? p->launch.cluster[i] : 1;
    c.tensors = p->tensor_count < 16 ? p->tensor_count : 16;
    for (int t = 0; t < c.tensors; t++) {
        int size = p->tensor[t].multicast;
        c.size[t] = c.stride[t] = 1;
        if (size <= 1 || all % size != 0)
            continue;
        c.blocks = all < PROTOCOL_MAX_BLOCKS ? all : PROTOCOL_MAX_BLOCKS;
        c.size[t] = size;
        int same = -1;
        for (int u = 0; u < t; u++)
            if (c.size[u] == size && axes_of(p, &p->tensor[u]) == axes_of(p, &p->tensor[t]))
                same = u;
        if (same >= 0) {
            c.stride[t] = c.stride[same];
        } else if (stride * size <= all) {
            c.stride[t] = stride;
            stride *= size;
        }
    }
    return c;
}

unsigned protocol_sharing(const struct protocol_cluster *c, int tensor, int block)
{
    if (tensor >= c->tensors || c->size[tensor] <= 1)
        return 1u << block;
    int size = c->size[tensor], stride = c->stride[tensor];
    int first = block - block / stride % size * stride;
    unsigned set = 0;
    for (int i = 0; i < size; i++)
        set |= 1u << (first + i * stride);
    return set;
}

unsigned protocol_neighbours(const struct plan *p, const struct protocol_cluster *c, int ring, int block)
{
    unsigned set = 1u << block;
    for (int i = 0; i < p->ring[ring].tensor_count; i++)
        set |= protocol_sharing(c, p->ring[ring].tensor[i], block);
    return set;
}

/* ---- the text of the roles ------------------------------------------------------------------------------------- */

static bool takes_ring(enum plan_op op)
{
    return op == PLAN_WAIT_EMPTY || op == PLAN_EXPECT || op == PLAN_FILL || op == PLAN_WAIT_FULL || op == PLAN_READ ||
           op == PLAN_RELEASE || op == PLAN_DRAIN || op == PLAN_WRITE || op == PLAN_STORE;
}

static bool fits_filler(enum plan_op op, enum plan_filler filler)
{
    if (op == PLAN_WAIT_EMPTY || op == PLAN_EXPECT || op == PLAN_WAIT_FULL || op == PLAN_RELEASE || op == PLAN_DRAIN)
        return filler == PLAN_FILL_BULK;
    if (op == PLAN_FILL || op == PLAN_READ)
        return filler != PLAN_FILL_THREADS;
    return filler == PLAN_FILL_THREADS;
}

static const char *const filler_name[PLAN_FILL_COUNT] = {"bulk", "cp_async", "threads", "arrive"};

/* One role's steps stand alone: indices in range, loops closed, each step of a kind that its ring knows. */
static int check_role(const struct plan *p, int role, struct diag_set *diags)
{
    const struct plan_role *r = &p->role[role];
    int depth = 0, faults = diags->errors;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        depth += s->op == PLAN_LOOP ? 1 : s->op == PLAN_END ? -1 : 0;
        if (depth < 0 || depth > PROTOCOL_MAX_DEPTH) {
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER",
                           depth < 0 ? "ends a loop that did not begin" : "loops are nested deeper than 8");
            return diags->errors - faults;
        }
        if (s->count < 0)
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER", "count is %d; write 0 or more", s->count);
        if (s->op == PLAN_BARRIER && (s->count < 0 || s->count >= p->barrier_count))
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ROLES", "barrier %d does not exist; the Plan has %d",
                           s->count, p->barrier_count);
        if (!takes_ring(s->op))
            continue;
        if (s->ring < 0 || s->ring >= p->ring_count) {
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER", "ring %d does not exist; the Plan has %d", s->ring,
                           p->ring_count);
            continue;
        }
        const struct plan_ring *ring = &p->ring[s->ring];
        if (!fits_filler(s->op, ring->filler))
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER", "ring %s is filled by %s and has no step %s",
                           ring->name, filler_name[ring->filler], op_name[s->op]);
        if ((s->op == PLAN_FILL || s->op == PLAN_READ) && protocol_slot(p, s) < 0)
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER", "ring %s does not hold that tensor", ring->name);
    }
    if (depth > 0)
        protocol_fault(p, diags, role, -1, r->step_count - 1, "PROTOCOL-ORDER", "%d loop%s not ended", depth,
                       depth > 1 ? "s are" : " is");
    return diags->errors - faults;
}

/* Each side of a ring's barriers has one owner: a role that waits or arrives there takes part in the transfer. */
static void check_sharing(const struct plan *p, int ring, struct diag_set *diags)
{
    static const struct {
        enum plan_op op, because;
        const char *text;
    } rule[] = {
        {PLAN_WAIT_EMPTY, PLAN_FILL, "waits for the empty barrier, but does not fill"},
        {PLAN_EXPECT, PLAN_FILL, "arrives on the full barrier, but does not fill"},
        {PLAN_DRAIN, PLAN_FILL, "waits until its stages are released, but does not fill"},
        {PLAN_WAIT_FULL, PLAN_READ, "waits for the full barrier, but does not read"},
        {PLAN_RELEASE, PLAN_READ, "arrives on the empty barrier, but does not read"},
        {PLAN_STORE, PLAN_WRITE, "stores the buffer, but does not write"},
    };
    const struct plan_ring *g = &p->ring[ring];
    for (int r = 0; r < p->role_count; r++)
        for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
            int step = find_step(&p->role[r], rule[i].op, ring);
            if (step >= 0 && !protocol_has(&p->role[r], rule[i].because, ring, -1))
                protocol_fault(p, diags, r, 0, step, "PROTOCOL-ROLES", "%s ring %s; drop the step", rule[i].text,
                               g->name);
        }
    for (int t = 0; t < g->tensor_count; t++) {
        int first = -1;
        for (int r = 0; r < p->role_count; r++) {
            enum plan_op op = g->filler == PLAN_FILL_THREADS ? PLAN_WRITE : PLAN_FILL;
            if (!protocol_has(&p->role[r], op, ring, op == PLAN_FILL ? g->tensor[t] : -1))
                continue;
            int step = find_step(&p->role[r], op, ring);
            if (first >= 0)
                protocol_fault(p, diags, r, 0, step, "PROTOCOL-ROLES",
                               "roles %s and %s both fill %s of ring %s; one of them must", p->role[first].name,
                               p->role[r].name, p->tensor[g->tensor[t]].name, g->name);
            else if (g->filler == PLAN_FILL_BULK && p->role[r].instances > 1)
                protocol_fault(p, diags, r, 0, step, "PROTOCOL-ROLES",
                               "%d instances fill one stage of ring %s; write instances = 1", p->role[r].instances,
                               g->name);
            first = r;
        }
    }
}

static void check_barrier(const struct plan *p, int barrier, struct diag_set *diags)
{
    const struct plan_barrier *b = &p->barrier[barrier];
    int roles = 0, role = -1, step = -1;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++)
            if (p->role[r].step[s].op == PLAN_BARRIER && p->role[r].step[s].count == barrier) {
                roles++;
                role = r;
                step = s;
                break;
            }
    int all = threads_at_barrier(p, barrier);
    if (roles == 0 || b->threads == all)
        return;
    int each = threads_of_instance(&p->role[role]);
    if (roles > 1 || b->threads != each) {
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "barrier %s is for %d threads, but %d of %d role%s meet there; write threads = %d", b->name,
                       b->threads, all, roles, roles > 1 ? "s" : "", all);
        return;
    }
    for (int o = 0; o < p->barrier_count; o++)
        if (o != barrier && p->barrier[o].id >= b->id && p->barrier[o].id < b->id + p->role[role].instances)
            protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                           "barrier %s takes the hardware barriers %d..%d, one each instance, but %s has %d", b->name,
                           b->id, b->id + p->role[role].instances - 1, p->barrier[o].name, p->barrier[o].id);
}

int protocol_check_program(const struct plan *p, struct diag_set *diags)
{
    int faults = diags->errors;
    for (int g = 0; g < p->ring_count; g++) {
        const struct plan_ring *ring = &p->ring[g];
        bool tensors = ring->tensor_count >= 0 && ring->tensor_count <= 8;
        for (int t = 0; tensors && t < ring->tensor_count; t++)
            tensors = ring->tensor[t] >= 0 && ring->tensor[t] < p->tensor_count;
        if (ring->stages < 1 || ring->stages > PROTOCOL_MAX_STAGES || !tensors)
            diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-DEPTH",
                        "%s, ring %s has %d stages and %d tensors; write 1 to %d stages", p->arch, ring->name,
                        ring->stages, ring->tensor_count, PROTOCOL_MAX_STAGES);
    }
    for (int r = 0; r < p->role_count; r++)
        if (p->role[r].instances < 1 || p->role[r].warps < 1)
            diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-ROLES",
                        "%s, role %s has %d instances on %d warps; write at least one", p->arch, p->role[r].name,
                        p->role[r].instances, p->role[r].warps);
    if (diags->errors > faults)
        return diags->errors - faults; /* the rest would read beyond arrays */
    for (int r = 0; r < p->role_count; r++)
        check_role(p, r, diags);
    if (diags->errors > faults)
        return diags->errors - faults;
    for (int b = 0; b < p->barrier_count; b++) {
        check_barrier(p, b, diags);
        for (int o = 0; o < b; o++)
            if (p->barrier[o].id == p->barrier[b].id)
                diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-ROLES",
                            "%s, barriers %s and %s share the hardware barrier %d; give each its own", p->arch,
                            p->barrier[o].name, p->barrier[b].name, p->barrier[b].id);
    }
    for (int g = 0; g < p->ring_count; g++) {
        check_sharing(p, g, diags);
        for (int o = 0; o < g; o++)
            if (p->ring[g].filler == PLAN_FILL_BULK && p->ring[o].filler == PLAN_FILL_BULK &&
                p->ring[g].full_shared >= 0 &&
                (p->ring[g].full_shared == p->ring[o].full_shared ||
                 p->ring[g].empty_shared == p->ring[o].empty_shared))
                diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-ROLES",
                            "%s, rings %s and %s share their barriers in shared memory; give each its own", p->arch,
                            p->ring[o].name, p->ring[g].name);
    }
    return diags->errors - faults;
}

/* ---- arrivals and bytes ---------------------------------------------------------------------------------------- */

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

static void check_full_barrier(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    int arrivals = 0, bytes = 0, role = -1, step = -1;
    for (int t = 0; t < g->tensor_count; t++)
        bytes += p->tensor[g->tensor[t]].tile_bytes;
    unsigned filled = 0;
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *q = &p->role[r];
        unsigned own = protocol_own_tensors(p, q, PLAN_FILL, ring);
        int first = find_step(q, PLAN_EXPECT, ring);
        filled |= own;
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
            int fill = find_step(q, PLAN_FILL, ring);
            protocol_fault(p, diags, r, 0, fill, "PROTOCOL-ARRIVALS",
                           "fills ring %s without announcing the bytes; write an expect step before it", g->name);
        }
        if (first < 0)
            continue;
        arrivals += q->instances * steps_a_stage(p, q, PLAN_EXPECT, ring);
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
    for (int r = 0; r < p->role_count; r++)
        for (int t = 0; t < g->tensor_count; t++) {
            const struct plan_role *q = &p->role[r];
            int fill = find_last(q, PLAN_FILL, ring), read = find_last(q, PLAN_READ, ring);
            bool is_read = false;
            for (int o = 0; o < p->role_count; o++)
                is_read |= protocol_has(&p->role[o], PLAN_READ, ring, g->tensor[t]);
            const char *name = p->tensor[g->tensor[t]].name;
            if (fill >= 0 && !(filled >> t & 1))
                protocol_fault(p, diags, r, 0, fill, "PROTOCOL-BYTES",
                               "no role fills %s of ring %s: its %d bytes never arrive; write a fill step for it", name,
                               g->name, p->tensor[g->tensor[t]].tile_bytes);
            if (read >= 0 && !is_read)
                protocol_fault(p, diags, r, 0, read, "PROTOCOL-ORDER",
                               "no role reads %s of ring %s; write a read step for it", name, g->name);
        }
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
        int release = find_step(q, PLAN_RELEASE, ring);
        int each = release < 0 ? 1 : protocol_arrivals(&q->step[release]);
        arrivals += q->instances * each;
        role = r;
        step = release;
        if (release < 0) {
            step = find_last(q, PLAN_READ, ring);
            protocol_fault(p, diags, r, 0, step, "PROTOCOL-RELEASE",
                           "reads ring %s and never releases it; write a release step after the reads are over",
                           g->name);
        }
        int depth = 0;
        for (int s = 0; s < q->step_count; s++) {
            depth += q->step[s].op == PLAN_LOOP ? 1 : q->step[s].op == PLAN_END ? -1 : 0;
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
            int wait = find_step(&p->role[r], PLAN_WAIT_EMPTY, ring);
            if (wait >= 0)
                protocol_fault(p, diags, r, 0, wait, "PROTOCOL-ROLES", "no role reads and releases ring %s", g->name);
        }
}

int protocol_check_counts(const struct plan *p, struct diag_set *diags)
{
    int faults = diags->errors;
    for (int g = 0; g < p->ring_count; g++) {
        if (p->ring[g].filler != PLAN_FILL_BULK)
            continue;
        check_full_barrier(p, g, diags);
        check_empty_barrier(p, g, diags);
    }
    return diags->errors - faults;
}

/* ---- the check ------------------------------------------------------------------------------------------------- */

int plan_check_protocol(const struct plan *p, struct diag_set *diags)
{
    int faults = diags->errors, stages = 1;
    if (protocol_check_program(p, diags) > 0)
        return diags->errors - faults;
    protocol_check_counts(p, diags);
    if (diags->errors > faults)
        return diags->errors - faults; /* what the exploration would find are their consequences */
    for (int g = 0; g < p->ring_count; g++)
        stages = p->ring[g].stages > stages ? p->ring[g].stages : stages;
    int wraps_twice = 2 * stages + 2;
    const struct protocol_trips explored[] = {
        {2, {wraps_twice, wraps_twice}},
        {2, {0, 0}},
        {2, {1, 1}},
        {4, {stages, 0, 1, wraps_twice}},
    };
    for (size_t i = 0; i < sizeof explored / sizeof *explored; i++)
        if (protocol_run(p, &explored[i], diags) > 0)
            break;
    return diags->errors - faults;
}
