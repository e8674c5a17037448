/* The protocol check: what can be read off the roles' steps. protocol_counts.c counts arrivals and bytes,
 * protocol_run.c explores. */
#include "plan/protocol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *protocol_step_name(const struct plan_step *step)
{
    return step->call ? step->call : plan_op_word[step->op];
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

int protocol_find(const struct plan_role *role, enum plan_op op, int ring)
{
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == op && (ring < 0 || role->step[i].ring == ring))
            return i;
    return -1;
}

int protocol_find_last(const struct plan_role *role, enum plan_op op, int ring)
{
    for (int i = role->step_count - 1; i >= 0; i--)
        if (role->step[i].op == op && role->step[i].ring == ring)
            return i;
    return -1;
}

enum plan_op protocol_fill_op(const struct plan *p, int ring)
{
    enum plan_filler filler = p->ring[ring].filler;
    return filler == PLAN_FILL_THREADS || filler == PLAN_FILL_ARRIVE ? PLAN_WRITE : PLAN_FILL;
}

bool protocol_has_mbarriers(const struct plan *p, int ring)
{
    return p->ring[ring].filler == PLAN_FILL_BULK || p->ring[ring].filler == PLAN_FILL_ARRIVE ||
           p->ring[ring].filler == PLAN_FILL_PEERS || p->ring[ring].filler == PLAN_FILL_OWN;
}

int protocol_stage_sets(const struct plan *p, int ring)
{
    for (int r = 0; r < p->role_count && p->ring[ring].filler == PLAN_FILL_OWN; r++)
        if (protocol_has(&p->role[r], PLAN_FILL, ring, -1))
            return p->role[r].instances;
    return 1;
}

int protocol_source_of(const struct plan *p, int ring)
{
    for (int g = 0; g < p->ring_count; g++)
        if (p->ring[g].filler == PLAN_FILL_OWN && plan_number(p->ring[g].into) == ring)
            return g;
    return -1;
}

int protocol_slot(const struct plan *p, const struct plan_step *step)
{
    const struct plan_ring *ring = &p->ring[step->ring];
    if (ring->tensor_count == 0 && (ring->filler == PLAN_FILL_ARRIVE || ring->filler == PLAN_FILL_PEERS) &&
        step->tensor < 0)
        return 0; /* what it passes on is one thing */
    for (int i = 0; i < ring->tensor_count; i++)
        if (ring->tensor[i] == step->tensor)
            return i;
    return -1;
}

unsigned protocol_own_tensors(const struct plan *p, const struct plan_role *role, enum plan_op op, int ring)
{
    unsigned own = 0;
    for (int i = 0; i < role->step_count; i++) {
        int slot = role->step[i].op == op && role->step[i].ring == ring ? protocol_slot(p, &role->step[i]) : -1;
        own |= slot >= 0 ? 1u << slot : 0;
    }
    return own;
}

int protocol_instance_threads(const struct plan_role *role)
{
    return role->warps * 32 / role->instances;
}

static int warps_of_instance(const struct plan_role *role)
{
    return (protocol_instance_threads(role) + 31) / 32;
}

bool protocol_reads_as_one(const struct plan_role *role, int ring)
{
    bool at_once = false;
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->ring == ring && s->op == PLAN_RELEASE && protocol_arrivals(s) >= warps_of_instance(role))
            return true;
        at_once |= s->ring == ring && s->op == PLAN_READ && s->count == 0;
    }
    return !at_once;
}

int protocol_lanes(const struct plan *p, int role)
{
    const struct plan_role *r = &p->role[role];
    bool wide = protocol_instance_threads(r) > 32;
    if (r->one_thread)
        return 1;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        bool copies = s->op == PLAN_FILL && p->ring[s->ring].filler != PLAN_FILL_BULK;
        bool reads = s->op == PLAN_READ &&
                     (p->ring[s->ring].filler == PLAN_FILL_CP_ASYNC || (wide && !protocol_reads_as_one(r, s->ring)));
        bool shares = s->op == PLAN_WRITE || s->op == PLAN_STORE || s->op == PLAN_SCRATCH_WRITE;
        if (copies || reads || shares || s->op == PLAN_SCRATCH_READ)
            return 2;
    }
    return 1;
}

int protocol_arrivals_of_lane(const struct plan_role *role, const struct plan_step *step, int lanes, int lane)
{
    int all = protocol_arrivals(step);
    if (lanes == 1 || all < warps_of_instance(role) || all == 1)
        return lane == 0 ? all : 0;
    return lane == 0 ? all - all / 2 : all / 2;
}

static bool meets(const struct plan_step *s, int barrier)
{
    return (s->op == PLAN_BARRIER || s->op == PLAN_BARRIER_ARRIVE) && s->count == barrier;
}

static int threads_at_barrier(const struct plan *p, int barrier)
{
    int threads = 0;
    for (int i = 0; i < p->role_count; i++)
        for (int s = 0; s < p->role[i].step_count; s++)
            if (meets(&p->role[i].step[s], barrier)) {
                threads += p->role[i].warps * 32;
                break;
            }
    return threads;
}

bool protocol_barrier_is_private(const struct plan *p, int barrier)
{
    return !p->barrier[barrier].turns && p->barrier[barrier].threads != threads_at_barrier(p, barrier);
}

int protocol_meeting(const struct plan *p, int role, int instance, const struct plan_step *step)
{
    if (p->barrier[step->count].turns)
        return (instance + (step->op == PLAN_BARRIER_ARRIVE)) % p->role[role].instances;
    return protocol_barrier_is_private(p, step->count) ? instance : 0;
}

bool protocol_buffers_are_private(const struct plan *p, int role, int ring)
{
    const struct plan_role *r = &p->role[role];
    for (int i = protocol_find(r, PLAN_STORE, ring); i >= 0; i--)
        if (r->step[i].op == PLAN_BARRIER)
            return protocol_barrier_is_private(p, r->step[i].count);
    return true;
}

static bool same_name(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* ---- clusters -------------------------------------------------------------------------------------------------- */

/* A copy is shared along the axes that its tensor lacks: tensors with the same axes share among the same blocks, others
 * across them. Which of the grid's dimensions that is makes no difference to the protocol. */
unsigned protocol_axes(const struct plan *p, int tensor)
{
    const struct plan_tensor *t = &p->tensor[tensor];
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
            if (c.size[u] == size && protocol_axes(p, u) == protocol_axes(p, t))
                same = u;
        if (same >= 0) {
            c.stride[t] = c.stride[same];
        } else if (stride * size <= all) {
            c.stride[t] = stride;
            stride *= size;
        }
    }
    for (int g = 0; g < p->ring_count; g++) {
        const int peers = p->ring[g].filler == PLAN_FILL_PEERS ? p->ring[g].peers : 1;
        if (peers <= 1 || stride * peers > all)
            continue;
        c.blocks = all < PROTOCOL_MAX_BLOCKS ? all : PROTOCOL_MAX_BLOCKS;
        c.peers = stride;
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
    if (p->ring[ring].filler == PLAN_FILL_PEERS) {
        const int peers = p->ring[ring].peers, own = c->peers ? block / c->peers % peers : 0;
        set = 0;
        for (int i = 0; i < peers && c->peers; i++)
            set |= i == own ? 0 : 1u << (block + (i - own) * c->peers);
        return set;
    }
    for (int i = 0; i < p->ring[ring].tensor_count; i++)
        set |= protocol_sharing(c, p->ring[ring].tensor[i], block);
    return set;
}

/* ---- the text of the roles ------------------------------------------------------------------------------------- */

/* Fillers of the rings that a step may have, as a bit set; 0: the step has no ring of its own. */
enum {
    BULK = 1 << PLAN_FILL_BULK,
    COPIED = 1 << PLAN_FILL_CP_ASYNC,
    BUFFERS = 1 << PLAN_FILL_THREADS,
    ARRIVED = 1 << PLAN_FILL_ARRIVE,
    SENT = 1 << PLAN_FILL_PEERS,
    OWN = 1 << PLAN_FILL_OWN
};
static const unsigned char fillers[PLAN_OP_COUNT] = {
    [PLAN_WAIT_EMPTY] = BULK | ARRIVED | SENT,
    [PLAN_EXPECT] = BULK | SENT | OWN,
    [PLAN_FILL] = BULK | COPIED | SENT | OWN,
    [PLAN_WAIT_FULL] = BULK | ARRIVED | SENT | OWN,
    [PLAN_ASK] = BULK | ARRIVED,
    [PLAN_TAKE] = COPIED,
    [PLAN_SKIP] = BULK | ARRIVED,
    [PLAN_READ] = BULK | COPIED | ARRIVED | SENT | OWN,
    [PLAN_RELEASE] = BULK | ARRIVED | SENT,
    [PLAN_DRAIN] = BULK | SENT,
    [PLAN_WRITE] = BUFFERS | ARRIVED,
    [PLAN_STORE] = BUFFERS,
    [PLAN_ARRIVE] = ARRIVED,
};

static void check_ring(const struct plan *p, int role, int step, struct diag_set *diags)
{
    const struct plan_step *s = &p->role[role].step[step];
    if (s->ring < 0 || s->ring >= p->ring_count) {
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ORDER", "ring %d does not exist; the Plan has %d", s->ring,
                       p->ring_count);
        return;
    }
    const struct plan_ring *ring = &p->ring[s->ring];
    if (!(fillers[s->op] >> ring->filler & 1))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ORDER", "ring %s is filled by %s and has no step %s",
                       ring->name, plan_filler_word[ring->filler], plan_op_word[s->op]);
    bool has_tensor =
        s->op == PLAN_FILL || s->op == PLAN_READ || (s->op == PLAN_WRITE && ring->filler == PLAN_FILL_ARRIVE);
    if (has_tensor && protocol_slot(p, s) < 0)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ORDER", "ring %s does not hold that tensor", ring->name);
}

/* Which kinds of place a step may have, as a bit set. */
enum { REGISTERS = (1 << PLAN_PLACE_COUNT) - 1 - (1 << PLAN_PLACE_SHARED) };
static const unsigned short kinds[PLAN_OP_COUNT] = {
    [PLAN_MMA] = 1 << PLAN_PLACE_ACCUMULATOR,
    [PLAN_TOUCH] = REGISTERS,
    [PLAN_SCRATCH_WRITE] = 1 << PLAN_PLACE_SHARED,
    [PLAN_SCRATCH_READ] = 1 << PLAN_PLACE_SHARED,
};

static void check_places(const struct plan *p, int role, int step, struct diag_set *diags)
{
    const struct plan_step *s = &p->role[role].step[step];
    const struct plan_place *at = protocol_place(p, s->place), *operand = protocol_place(p, s->place2);
    if (!at || (s->place2 && !operand))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE", "place %d does not exist; the Plan has %d",
                       plan_number(at ? s->place2 : s->place), p->place_count);
    else if (!(kinds[s->op] >> at->kind & 1))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE", "place %s is of kind %s, which a step %s has not",
                       at->name, plan_place_word[at->kind], plan_op_word[s->op]);
    else if (operand && s->op != PLAN_SCRATCH_WRITE && s->op != PLAN_SCRATCH_READ &&
             (s->op != PLAN_MMA || operand->kind != PLAN_PLACE_OPERAND))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE",
                       "place %s is of kind %s; the second place is the operand of a matrix instruction, of kind %s",
                       operand->name, plan_place_word[operand->kind], plan_place_word[PLAN_PLACE_OPERAND]);
    if (s->op == PLAN_MMA && s->count >= p->mma_count)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-PLACE", "instruction %d does not exist; the Plan has %d",
                       s->count, p->mma_count);
}

/* Turns that are shared: every instance takes some, and no other step than a reader's skips what another takes. */
static void check_share(const struct plan *p, int role, int step, int share_step, struct diag_set *diags)
{
    const struct plan_role *r = &p->role[role];
    const struct plan_step *s = &r->step[step];
    if (s->op == PLAN_LOOP && s->share != 0 && share_step >= 0)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "shares its turns inside of step %d %s, which shares them already; write share = 0",
                       share_step + 1, protocol_step_name(&r->step[share_step]));
    else if (s->op == PLAN_LOOP && s->share != 0 && s->share != r->instances)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "shares its turns among %d, but the role has %d instances; write share = %d", s->share,
                       r->instances, r->instances);
    if (s->op == PLAN_SKIP && share_step < 0)
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "skips a stage outside of a loop that shares its turns: nobody takes it; write wait_full");
    if (share_step >= 0 && r->instances > 1 &&
        (s->op == PLAN_EXPECT || s->op == PLAN_FILL || s->op == PLAN_WAIT_EMPTY || s->op == PLAN_ARRIVE))
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "fills a ring in a loop that shares its turns; fill in every turn, in a role of its own");
}

/* What a matrix instruction reads stands directly before it, in its group. In a role without MMA steps an asynchronous
 * READ is itself the instruction. */
static void check_operands(const struct plan *p, int role, struct diag_set *diags)
{
    const struct plan_role *r = &p->role[role];
    int read = -1;
    if (protocol_find(r, PLAN_MMA, -1) < 0)
        return;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        bool reads = (s->op == PLAN_READ || s->op == PLAN_SCRATCH_READ) && s->count != 0;
        if (s->op == PLAN_MMA && protocol_is_synchronous(p, s)) {
            const struct plan_step *before = i > 0 ? &r->step[i - 1] : s;
            if (read >= 0 || (before->op != PLAN_READ && before->op != PLAN_SCRATCH_READ))
                protocol_fault(p, diags, role, -1, read >= 0 ? read : i, "PROTOCOL-ORDER",
                               "%s; write reads of its operands directly before it, with count = 0: they are over with "
                               "it",
                               read >= 0 ? "reads asynchronously for an instruction that does not" : "reads nothing");
            read = -1;
            continue;
        }
        if (s->op == PLAN_MMA && read < 0)
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER",
                           "reads nothing; write asynchronous reads of its operands directly before it");
        bool ends =
            protocol_is_flow(s->op) || s->op == PLAN_MMA_COMMIT || s->op == PLAN_MMA_WAIT || s->op == PLAN_RELEASE;
        if (read >= 0 && ends) {
            protocol_fault(p, diags, role, -1, read, "PROTOCOL-ORDER",
                           "reads for no matrix instruction: %s stands before the next; write mma behind it",
                           protocol_step_name(s));
            return;
        }
        read = reads ? i : s->op == PLAN_MMA ? -1 : read;
    }
    if (read >= 0)
        protocol_fault(p, diags, role, -1, read, "PROTOCOL-ORDER",
                       "reads for no matrix instruction: the role ends; write mma behind it");
}

/* One role's steps stand alone: indices in range, loops closed, each step of a kind that its ring knows. */
static int check_role(const struct plan *p, int role, struct diag_set *diags)
{
    const struct plan_role *r = &p->role[role];
    int depth = 0, faults = diags->errors, open[PROTOCOL_MAX_DEPTH], share = -1;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->step[i];
        bool begins = s->op == PLAN_LOOP || s->op == PLAN_WHEN;
        if (s->op == PLAN_END ? depth == 0 : begins && depth == PROTOCOL_MAX_DEPTH) {
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER",
                           depth == 0 ? "ends a loop that did not begin" : "loops are nested deeper than 8");
            return diags->errors - faults;
        }
        check_share(p, role, i, share, diags);
        if (begins)
            open[depth++] = i;
        if (s->op == PLAN_LOOP && s->share)
            share = i;
        if (s->op == PLAN_END && open[--depth] == share)
            share = -1;
        if (s->count < 0 || s->least < 0 || s->less < 0 || s->back < 0)
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER",
                           "a number is below zero: count %d, least %d, less %d, "
                           "back %d; write 0 or more",
                           s->count, s->least, s->less, s->back);
        if (s->op == PLAN_WHEN && !s->call && !s->place)
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ORDER", "names no class of loops whose trips decide");
        if (s->op == PLAN_BARRIER || s->op == PLAN_BARRIER_ARRIVE) {
            if (s->count >= p->barrier_count)
                protocol_fault(p, diags, role, -1, i, "PROTOCOL-ROLES", "barrier %d does not exist; the Plan has %d",
                               s->count, p->barrier_count);
            else if (s->only && (!p->barrier[s->count].turns || s->only < PLAN_NEXT || s->only > r->instances))
                protocol_fault(p, diags, role, -1, i, "PROTOCOL-ROLES",
                               "is for instance %d alone, of %d; only a barrier with turns is met by one", s->only - 1,
                               r->instances);
        } else if (s->only) {
            protocol_fault(p, diags, role, -1, i, "PROTOCOL-ROLES",
                           "is for instance %d alone; only barriers with turns are met by one", s->only - 1);
        }
        if (kinds[s->op])
            check_places(p, role, i, diags);
        if (fillers[s->op])
            check_ring(p, role, i, diags);
    }
    check_operands(p, role, diags);
    protocol_check_late(p, role, diags);
    if (depth > 0)
        protocol_fault(p, diags, role, -1, r->step_count - 1, "PROTOCOL-ORDER", "%d loop%s not ended", depth,
                       depth > 1 ? "s are" : " is");
    return diags->errors - faults;
}

/* Each side of a ring's barriers has one owner: a role that waits or arrives there takes part in the transfer. */
static void check_sharing(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    enum plan_op fill = protocol_fill_op(p, ring);
    const struct {
        enum plan_op op, because;
        const char *text;
    } rule[] = {
        {PLAN_WAIT_EMPTY, fill, "waits for the empty barrier, but does not fill"},
        {PLAN_EXPECT, fill, "arrives on the full barrier, but does not fill"},
        {PLAN_ARRIVE, fill, "arrives on the full barrier, but does not fill"},
        {PLAN_DRAIN, fill, "waits until its stages are released, but does not fill"},
        {PLAN_WAIT_FULL, PLAN_READ, "waits for the full barrier, but does not read"},
        {PLAN_ASK, PLAN_WAIT_FULL, "asks whether a stage is full, but does not wait for it"},
        {PLAN_TAKE, PLAN_READ, "takes a stage, but does not read"},
        {PLAN_SKIP, PLAN_READ, "skips a stage, but does not read"},
        {PLAN_RELEASE, PLAN_READ, "arrives on the empty barrier, but does not read"},
        {PLAN_STORE, PLAN_WRITE, "stores the buffer, but does not write"},
    };
    for (int r = 0; r < p->role_count; r++)
        for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
            int step = protocol_find(&p->role[r], rule[i].op, ring);
            if (step >= 0 && !protocol_has(&p->role[r], rule[i].because, ring, -1))
                protocol_fault(p, diags, r, 0, step, "PROTOCOL-ROLES", "%s ring %s; drop the step", rule[i].text,
                               g->name);
        }
    for (int t = 0; t < g->tensor_count; t++) {
        int first = -1;
        for (int r = 0; r < p->role_count; r++) {
            if (!protocol_has(&p->role[r], fill, ring, g->filler == PLAN_FILL_THREADS ? -1 : g->tensor[t]))
                continue;
            int step = protocol_find(&p->role[r], fill, ring);
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

/* What comes into buffers is brought, read and written over by the role that stores them, by each instance its own. */
static void check_source(const struct plan *p, int ring, struct diag_set *diags)
{
    const struct plan_ring *g = &p->ring[ring];
    const int into = plan_number(g->into);
    const bool buffers = into >= 0 && into < p->ring_count && p->ring[into].filler == PLAN_FILL_THREADS &&
                         p->ring[into].stages == g->stages;
    for (int r = 0; r < p->role_count && g->filler == PLAN_FILL_OWN; r++) {
        const struct plan_role *q = &p->role[r];
        const int fill = protocol_find(q, PLAN_FILL, ring), read = protocol_find(q, PLAN_READ, ring);
        const int step = fill >= 0 ? fill : read;
        if (step >= 0 && !buffers)
            protocol_fault(p, diags, r, 0, step, "PROTOCOL-ORDER",
                           "ring %s comes into buffers of a threads ring, and there is none of %d stages; write into",
                           g->name, g->stages);
        else if (step >= 0 && (fill < 0 || read < 0 || protocol_find(q, PLAN_STORE, into) < 0 ||
                               (q->instances > 1 && !protocol_buffers_are_private(p, r, into))))
            protocol_fault(p, diags, r, 0, step, "PROTOCOL-ROLES",
                           "ring %s is filled and read by each instance of the role that stores ring %s, in buffers of "
                           "its own",
                           g->name, p->ring[into].name);
    }
}

static void check_barrier(const struct plan *p, int barrier, struct diag_set *diags)
{
    const struct plan_barrier *b = &p->barrier[barrier];
    int roles = 0, role = -1, step = -1;
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0; s < p->role[r].step_count; s++)
            if (meets(&p->role[r].step[s], barrier)) {
                roles++;
                role = r;
                step = s;
                break;
            }
    int all = threads_at_barrier(p, barrier);
    if (roles == 0 || (!b->turns && b->threads == all))
        return;
    int each = protocol_instance_threads(&p->role[role]);
    if (b->turns && (roles > 1 || p->role[role].instances < 2)) {
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "%d instance%s of %d role%s pass turns on at barrier %s; one role of two or more does",
                       p->role[role].instances, p->role[role].instances == 1 ? "" : "s", roles, roles == 1 ? "" : "s",
                       b->name);
        return;
    }
    if (b->turns ? b->threads != 2 * each : roles > 1 || b->threads != each) {
        protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                       "barrier %s is for %d threads, but %d of %d role%s meet there; write threads = %d", b->name,
                       b->threads, b->turns ? 2 * each : all, roles, roles > 1 ? "s" : "", b->turns ? 2 * each : all);
        return;
    }
    for (int o = 0; o < p->barrier_count; o++)
        if (o != barrier && p->barrier[o].id >= b->id && p->barrier[o].id < b->id + p->role[role].instances)
            protocol_fault(p, diags, role, -1, step, "PROTOCOL-ROLES",
                           "barrier %s takes the hardware barriers %d..%d, one each instance, but %s has %d", b->name,
                           b->id, b->id + p->role[role].instances - 1, p->barrier[o].name, p->barrier[o].id);
}

/* The LOOPs around a step, outermost first: classes, or -2 - count. Returns how many. */
static int loops_around(const struct plan_role *role, const struct protocol_code *code, int r, int step, int *loop)
{
    int open[PROTOCOL_MAX_DEPTH], depth = 0, loops = 0;
    for (int i = 0; i < step; i++) {
        depth -= role->step[i].op == PLAN_END;
        if (role->step[i].op == PLAN_LOOP || role->step[i].op == PLAN_WHEN)
            open[depth++] = i;
    }
    for (int d = 0; d < depth; d++)
        if (role->step[open[d]].op == PLAN_LOOP)
            loop[loops++] = code->number[r][open[d]] < 0 ? -2 - role->step[open[d]].count : code->number[r][open[d]];
    return loops;
}

/* Every step that names a class lies in the same loops, on which the number depends, and says the same of its least. */
static void check_classes(const struct plan *p, struct diag_set *diags)
{
    struct protocol_code code;
    if (protocol_code(p, &code) != 0) {
        diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-LIMIT",
                    "%s: more than %d classes of loops or 16 roles, or memory is out; nothing is proved", p->arch,
                    PROTOCOL_MAX_CLASSES);
        return;
    }
    struct {
        int role, step, loops, loop[PROTOCOL_MAX_DEPTH];
    } first[PROTOCOL_MAX_CLASSES], here;
    for (int n = 0; n < code.classes; n++)
        first[n].role = -1;
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *s = &p->role[r].step[i];
            int n = code.number[r][i];
            if (n < 0 || (s->op != PLAN_LOOP && s->op != PLAN_WHEN))
                continue;
            const char *name = code.class[n].name ? code.class[n].name : "the loop";
            if (s->least != code.class[n].least)
                protocol_fault(p, diags, r, -1, i, "PROTOCOL-ORDER",
                               "says that %s is at least %d where another step says %d; write least = %d in all", name,
                               s->least, code.class[n].least, code.class[n].least);
            here.loops = loops_around(&p->role[r], &code, r, i, here.loop);
            here.role = r;
            here.step = i;
            if (first[n].role < 0)
                first[n] = here;
            else if (here.loops != first[n].loops ||
                     memcmp(here.loop, first[n].loop, (size_t)here.loops * sizeof(int)) != 0)
                protocol_fault(p, diags, r, -1, i, "PROTOCOL-ORDER",
                               "names %s in other loops than step %d of role %s does, and its number depends on them; "
                               "nest both alike",
                               name, first[n].step + 1, p->role[first[n].role].name);
        }
    protocol_code_free(&code);
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
    check_classes(p, diags);
    protocol_check_items(p, diags);
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
        check_source(p, g, diags);
        for (int o = 0; o < g; o++)
            if (protocol_has_mbarriers(p, g) && protocol_has_mbarriers(p, o) && p->ring[g].full_shared >= 0 &&
                (p->ring[g].full_shared == p->ring[o].full_shared ||
                 p->ring[g].empty_shared == p->ring[o].empty_shared))
                diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-ROLES",
                            "%s, rings %s and %s share their barriers in shared memory; give each its own", p->arch,
                            p->ring[o].name, p->ring[g].name);
    }
    return diags->errors - faults;
}

/* ---- the check ------------------------------------------------------------------------------------------------- */

int plan_check_protocol(struct plan *p, struct diag_set *diags)
{
    int faults = diags->errors;
    if (protocol_check_program(p, diags) == 0 && protocol_check_counts(p, diags) == 0)
        protocol_prove(p, diags); /* else what it would find are the consequences */
    return diags->errors - faults;
}
