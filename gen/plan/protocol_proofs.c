/* What the exploration reads of a Plan, as a list of numbers, and the lists of which nothing was found wrong.
 *
 * WHY A LIST THAT WAS PROVED NEED NOT BE PROVED AGAIN. The exploration never sees the Plan itself: it sees one that is
 * made from the list alone, in which everything else is missing. So what it finds is a function of the list, and two
 * Plans with the same list are the same to it: kernels that differ in what they compute, architectures and variants
 * that take the same steps. Where it finds something, it looks at the Plan itself, for the names. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plan/protocol.h"
#include "spec/arena.h"

enum { NAMES_MOST = 64 };

/* Numbers that are written, or read back. Writing without `number` counts them. */
struct numbers {
    int *number;
    int at;
};

static void put(struct numbers *n, int number)
{
    if (n->number)
        n->number[n->at] = number;
    n->at++;
}

static int get(struct numbers *n)
{
    return n->number[n->at++];
}

/* Names of classes, which are compared with each other and read for nothing else: each is told by where it came first.
 */
struct names {
    const char *name[NAMES_MOST];
    int count;
    bool full;
};

static int number_of(struct names *names, const char *name)
{
    if (!name)
        return -1;
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return i;
    if (names->count == NAMES_MOST) {
        names->full = true;
        return -1;
    }
    names->name[names->count] = name;
    return names->count++;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Fields that are numbers, in the order of the list. */
#define OF_STEP(X)                                                                                                     \
    X(count)                                                                                                           \
    X(phase)                                                                                                           \
    X(arrivals)                                                                                                        \
    X(place) X(place2) X(back) X(ahead) X(least) X(less) X(part) X(share) X(only) X(loop) X(to) X(reuse)
#define OF_RING(X) X(stages) X(tensor_count) X(full_arrivals) X(tx_bytes) X(empty_arrivals) X(peers) X(into)
#define OF_ROLE(X) X(instances) X(warps) X(resting) X(step_count)
#define OF_MMA(X) X(m) X(n) X(k)
#define OF_PLAN(X) X(ring_count) X(role_count) X(barrier_count) X(place_count) X(mma_count)

enum { RING_TENSORS = sizeof((struct plan_ring *)0)->tensor / sizeof(int) };

/* Tensors of rings, in their order: steps name them by their place in this list. Where a cluster's numbers of tensors
 * are cut off (protocol_cluster), all tensors. */
struct tensors {
    int number[16 * RING_TENSORS]; /* of plan.tensor */
    int count;
};

static bool is_of_ring(const struct plan *p, int tensor)
{
    for (int g = 0; g < p->ring_count; g++)
        for (int i = 0; i < p->ring[g].tensor_count; i++)
            if (p->ring[g].tensor[i] == tensor)
                return true;
    return false;
}

/* False: there are too many. */
static bool find_tensors(const struct plan *p, struct tensors *t)
{
    struct protocol_cluster all = protocol_cluster(p);
    t->count = 0;
    for (int i = 0; i < p->tensor_count; i++) {
        if (all.tensors == p->tensor_count && p->tensor[i].multicast <= 1 && !is_of_ring(p, i))
            continue;
        if (t->count == sizeof t->number / sizeof *t->number)
            return false;
        t->number[t->count++] = i;
    }
    return true;
}

static int tensor_of(const struct tensors *t, int tensor)
{
    for (int i = 0; i < t->count; i++)
        if (t->number[i] == tensor)
            return i;
    return -1;
}

/* Which sets of axes tensors are shared along: numbered as they come. */
struct sharing {
    unsigned axes[SPEC_MAX_AXES];
    int count;
    bool full;
};

/* The number of the tensor's set; -1: it is not shared, or there is no room. */
static int sharing_of(const struct plan *p, int tensor, struct sharing *s)
{
    unsigned axes = protocol_axes(p, tensor);
    if (p->tensor[tensor].multicast <= 1)
        return -1;
    for (int i = 0; i < s->count; i++)
        if (s->axes[i] == axes)
            return i;
    if (s->count == SPEC_MAX_AXES) {
        s->full = true;
        return -1;
    }
    s->axes[s->count] = axes;
    return s->count++;
}

/* Writes the list of the Plan, whose steps protocol_check_program found sound. False: there are too many names or
 * sets. */
static bool put_plan(const struct plan *p, struct numbers *n)
{
    struct names class = {.count = 0};
    struct sharing sharing = {.count = 0};
    struct tensors tensors;
    if (!find_tensors(p, &tensors))
        return false;
#define PUT(field) put(n, p->field);
    OF_PLAN(PUT)
#undef PUT
    put(n, p->derived);
    for (int i = 0; i < 3; i++)
        put(n, p->launch.cluster[i]);
    put(n, tensors.count);
    for (int i = 0; i < tensors.count; i++) {
        int t = tensors.number[i];
        put(n, (int)p->tensor[t].access);
        put(n, p->tensor[t].multicast);
        put(n, sharing_of(p, t, &sharing));
    }
    for (int i = 0; i < p->ring_count; i++) {
        const struct plan_ring *ring = &p->ring[i];
        put(n, (int)ring->filler);
#define PUT(field) put(n, ring->field);
        OF_RING(PUT)
#undef PUT
        for (int t = 0; t < RING_TENSORS; t++)
            put(n, t < ring->tensor_count ? tensor_of(&tensors, ring->tensor[t]) : -1);
    }
    for (int i = 0; i < p->barrier_count; i++) {
        put(n, p->barrier[i].threads);
        put(n, p->barrier[i].turns);
    }
    for (int i = 0; i < p->place_count; i++)
        put(n, p->place[i].kind == PLAN_PLACE_LATE);
    for (int i = 0; i < p->mma_count; i++) {
        const struct plan_mma *m = &p->mma[i];
        const struct plan_step step = {.count = i};
        put(n, protocol_is_synchronous(p, &step));
#define PUT(field) put(n, m->field);
        OF_MMA(PUT)
#undef PUT
    }
    for (int r = 0; r < p->role_count; r++) {
        const struct plan_role *role = &p->role[r];
        put(n, role->one_thread);
#define PUT(field) put(n, role->field);
        OF_ROLE(PUT)
#undef PUT
        for (int i = 0; i < role->step_count; i++) {
            const struct plan_step *s = &role->step[i];
            put(n, (int)s->op);
            put(n, s->op == PLAN_LOOP || s->op == PLAN_WHEN ? number_of(&class, s->call) : -1);
            put(n, plan_step_ring(s));
            put(n, s->op == PLAN_GLOBAL ? -1 : tensor_of(&tensors, plan_step_tensor(s)));
#define PUT(field) put(n, s->field);
            OF_STEP(PUT)
#undef PUT
        }
    }
    return !class.full && !sharing.full;
}

/* A different text for each number, NULL for -1. */
static const char *name_of(int number)
{
    static const char name[NAMES_MOST][3] = {
#define FOUR(a, b) {a, b}, {a, b + 1}, {a, b + 2}, {a, b + 3}
#define SIXTEEN(a) FOUR(a, 'a'), FOUR(a, 'e'), FOUR(a, 'i'), FOUR(a, 'm')
        SIXTEEN('a'), SIXTEEN('b'), SIXTEEN('c'), SIXTEEN('d')
#undef SIXTEEN
#undef FOUR
    };
    return number < 0 ? NULL : name[number];
}

/* Makes the Plan of a list. Its arrays come from the arena; false out of memory. */
static bool get_plan(struct numbers *n, struct arena *arena, struct plan *p)
{
    *p = (struct plan){.kernel = "", .entry = "", .arch = "", .loc = {-1, 0, 0}, .axis_count = SPEC_MAX_AXES};
#define GET(field) p->field = get(n);
    OF_PLAN(GET)
#undef GET
#define ARRAY(field, count) (p->field = arena_alloc(arena, ((size_t)(count) + 1) * sizeof *p->field))
    if (!ARRAY(ring, p->ring_count) || !ARRAY(barrier, p->barrier_count) || !ARRAY(mma, p->mma_count) ||
        !ARRAY(role, p->role_count) || !ARRAY(place, p->place_count))
        return false;
#undef ARRAY
    p->derived = get(n);
    for (int i = 0; i < 3; i++)
        p->launch.cluster[i] = get(n);
    p->tensor_count = get(n);
    if (!(p->tensor = arena_alloc(arena, ((size_t)p->tensor_count + 1) * sizeof *p->tensor)))
        return false;
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        p->axis[i] = name_of(i);
    for (int i = 0; i < p->tensor_count; i++) {
        struct plan_tensor *t = &p->tensor[i];
        t->name = "";
        t->access = (enum plan_access)get(n);
        t->multicast = get(n);
        t->rank = 1;
        t->axis[0] = name_of(get(n));
    }
    for (int i = 0; i < p->ring_count; i++) {
        struct plan_ring *ring = &p->ring[i];
        ring->name = "";
        ring->filler = (enum plan_filler)get(n);
#define GET(field) ring->field = get(n);
        OF_RING(GET)
#undef GET
        for (int t = 0; t < RING_TENSORS; t++)
            ring->tensor[t] = get(n);
    }
    for (int i = 0; i < p->barrier_count; i++) {
        p->barrier[i].name = "";
        p->barrier[i].threads = get(n);
        p->barrier[i].turns = get(n);
    }
    for (int i = 0; i < p->place_count; i++) {
        p->place[i].name = "";
        p->place[i].kind = get(n) ? PLAN_PLACE_LATE : PLAN_PLACE_ACCUMULATOR;
    }
    for (int i = 0; i < p->mma_count; i++) {
        struct plan_mma *m = &p->mma[i];
        m->kind = get(n) ? "mma.sync" : "";
#define GET(field) m->field = get(n);
        OF_MMA(GET)
#undef GET
    }
    for (int r = 0; r < p->role_count; r++) {
        struct plan_role *role = &p->role[r];
        role->name = "";
        role->one_thread = get(n);
#define GET(field) role->field = get(n);
        OF_ROLE(GET)
#undef GET
        role->step = arena_alloc(arena, ((size_t)role->step_count + 1) * sizeof *role->step);
        if (!role->step)
            return false;
        for (int i = 0; i < role->step_count; i++) {
            struct plan_step *s = &role->step[i];
            s->op = (enum plan_op)get(n);
            s->call = name_of(get(n));
            s->ring = get(n);
            s->tensor = get(n);
#define GET(field) s->field = get(n);
            OF_STEP(GET)
#undef GET
        }
    }
    return true;
}

/* ---- what was proved --------------------------------------------------------------------------------------------- */

struct proof {
    int count;
    unsigned hash; /* of the numbers: lists that differ in it need no look */
    struct plan_proof size;
    struct proof *next;
    int number[];
};

struct plan_proofs {
    struct memory memory;
    pthread_mutex_t lock;
    struct arena arena;
    struct proof *first;
};

struct plan_proofs *plan_proofs_open(const struct memory *memory)
{
    struct plan_proofs *proofs = memory_resize(memory, NULL, 0, sizeof *proofs);
    if (!proofs)
        return NULL;
    *proofs = (struct plan_proofs){.memory = *memory, .arena = {.memory = *memory}};
    if (pthread_mutex_init(&proofs->lock, NULL) != 0)
        return memory_resize(memory, proofs, sizeof *proofs, 0);
    return proofs;
}

void plan_proofs_close(struct plan_proofs *proofs)
{
    if (!proofs)
        return;
    struct memory memory = proofs->memory;
    pthread_mutex_destroy(&proofs->lock);
    arena_free(&proofs->arena);
    memory_resize(&memory, proofs, sizeof *proofs, 0);
}

static unsigned hash_of(const struct numbers *n)
{
    unsigned hash = 2166136261u;
    for (int i = 0; i < n->at; i++)
        hash = (hash ^ (unsigned)n->number[i]) * 16777619u;
    return hash;
}

/* *size: of the proof, where there is one. */
static bool is_proved(struct plan_proofs *proofs, const struct numbers *n, unsigned hash, struct plan_proof *size)
{
    bool found = false;
    if (!proofs)
        return false;
    pthread_mutex_lock(&proofs->lock);
    for (const struct proof *f = proofs->first; f && !found; f = f->next) {
        found = f->hash == hash && f->count == n->at &&
                memcmp(f->number, n->number, (size_t)n->at * sizeof *n->number) == 0;
        if (found)
            *size = f->size;
    }
    pthread_mutex_unlock(&proofs->lock);
    return found;
}

/* Out of memory it is proved again the next time. */
static void keep(struct plan_proofs *proofs, const struct numbers *n, unsigned hash, const struct plan_proof *size)
{
    if (!proofs)
        return;
    pthread_mutex_lock(&proofs->lock);
    size_t bytes = (size_t)n->at * sizeof *n->number;
    struct proof *f = arena_alloc(&proofs->arena, sizeof *f + bytes);
    if (f) {
        f->count = n->at;
        f->hash = hash;
        f->size = *size;
        f->next = proofs->first;
        memcpy(f->number, n->number, bytes);
        proofs->first = f;
    }
    pthread_mutex_unlock(&proofs->lock);
}

/* Explores the Plan that the list makes. Returns its faults, which nobody is told, or -1 out of memory. */
static int explore_list(const struct numbers *list, struct arena *arena, struct plan_proof *size)
{
    struct numbers n = {list->number, 0};
    struct plan p;
    struct diag_set quiet = {0};
    if (!get_plan(&n, arena, &p))
        return -1;
    int faults = protocol_explore(&p, &quiet, size);
    diag_free(&quiet);
    return faults;
}

int protocol_prove(struct plan *p, struct diag_set *diags)
{
    struct arena arena = {.block = NULL};
    struct numbers count = {NULL, 0};
    put_plan(p, &count);
    struct numbers list = {arena_alloc(&arena, ((size_t)count.at + 1) * sizeof(int)), 0};
    struct plan_proof size = {0};
    int faults = 0, found = -1;
    if (list.number && put_plan(p, &list)) {
        unsigned hash = hash_of(&list);
        bool known = is_proved(p->proofs, &list, hash, &size);
        found = known ? 0 : explore_list(&list, &arena, &size);
        if (!known && found == 0)
            keep(p->proofs, &list, hash, &size);
    }
    if (found != 0)
        faults = protocol_explore(p, diags, &size);
    if (found > 0 && faults == 0) {
        diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-LIMIT",
                    "%s: the steps are proved and their numbers are not, which is tilewright's own fault and not the "
                    "spec's; report the spec",
                    p->arch);
        faults = 1;
    }
    p->proof = faults ? (struct plan_proof){0} : size;
    arena_free(&arena);
    return faults;
}
