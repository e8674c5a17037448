// The queue of asynchronous operations: when the moments happen, and groups. async.h has the rules; what the moments do
// is in issue.c.
#include <string.h>

#include "async_internal.h"
#include "mbarrier.h"

const char *emu_async_kind_name(enum emu_async_kind kind)
{
    static const char *const names[EMU_ASYNC_KIND_COUNT] = {
        "cp.async",
        "cp.async.mbarrier.arrive",
        "cp.async.bulk load",
        "cp.async.bulk store",
        "cp.reduce.async.bulk",
        "cp.async.bulk.tensor load",
        "cp.async.bulk.tensor store",
        "cp.reduce.async.bulk.tensor",
        "st.async",
        "red.async",
        "wgmma.mma_async",
        "tcgen05.mma",
        "tcgen05.st",
        "tcgen05.commit",
    };
    return (unsigned)kind < EMU_ASYNC_KIND_COUNT ? names[kind] : "?";
}

// xorshift64*: the same on every machine.
static uint64_t dice(struct emu_async *q)
{
    q->random ^= q->random >> 12;
    q->random ^= q->random << 25;
    q->random ^= q->random >> 27;
    return q->random * UINT64_C(2685821657736338717) >> 16;
}

int emu_async_open(struct tw_runtime *rt, const struct emu_async_options *options, struct emu_async **queue,
                   struct tw_error *error)
{
    struct emu_async *q = tw_alloc_zeroed(rt, sizeof *q);
    *queue = q;
    if (!q)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory for the queue of asynchronous operations");
    q->rt = rt;
    q->options = *options;
    q->random = (options->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    return TW_OK;
}

static void drop_buffer(struct emu_async *q, struct async_operation *o)
{
    if (o->buffer != o->small)
        tw_free(q->rt, o->buffer);
}

void emu_async_close(struct emu_async *queue)
{
    struct emu_async *q = queue;
    if (!q)
        return;
    for (struct async_operation *o = q->first, *next; o; o = next) {
        next = o->next;
        drop_buffer(q, o);
        tw_free(q->rt, o);
    }
    for (struct async_operation *o = q->free, *next; o; o = next) {
        next = o->next;
        drop_buffer(q, o);
        tw_free(q->rt, o);
    }
    for (int g = 0; g < EMU_ASYNC_GROUPS; g++)
        tw_free(q->rt, q->groups[g]);
    tw_free(q->rt, q->all);
    tw_free(q->rt, q);
}

// ---- operations come and go

struct async_operation *async_new(struct emu_async *q, enum emu_async_kind kind, const struct emu_async_issue *issue)
{
    struct async_operation *o = q->free;
    if (o) {
        uint8_t *buffer = o->buffer;
        size_t room = o->room;
        q->free = o->next;
        memset(o, 0, offsetof(struct async_operation, buffer));
        o->buffer = buffer;
        o->room = room;
    } else {
        o = tw_alloc_zeroed(q->rt, sizeof *o);
        if (!o)
            return NULL;
        o->buffer = o->small;
        o->room = sizeof o->small;
    }
    o->kind = kind;
    o->memory = issue->memory;
    o->issuer = issue->issuer;
    o->tag = issue->tag;
    o->group = -1;
    o->unwritten = 1;
    return o;
}

void async_free(struct emu_async *q, struct async_operation *o)
{
    if (o->room > 1 << 16) { // large buffers are not hoarded
        drop_buffer(q, o);
        o->buffer = o->small;
        o->room = sizeof o->small;
    }
    o->next = q->free;
    q->free = o;
}

int async_reserve(struct emu_async *q, struct async_operation *o, size_t bytes)
{
    if (bytes <= o->room)
        return 0;
    uint8_t *buffer = tw_alloc(q->rt, bytes);
    if (!buffer)
        return -1;
    drop_buffer(q, o);
    o->buffer = buffer;
    o->room = bytes;
    return 0;
}

static enum emu_fault_kind no_memory(struct emu_fault *fault)
{
    return emu_fail(fault, EMU_FAULT_MEMORY, 0, "no memory for an asynchronous operation");
}

// An issuer's groups; NULL where there is no memory.
static struct async_groups *groups_of(struct emu_async *q, int group, uint32_t issuer)
{
    if (issuer >= q->issuers[group]) {
        uint32_t room = q->issuers[group] ? q->issuers[group] : 256;
        while (room <= issuer && room < UINT32_C(1) << 31)
            room *= 2;
        struct async_groups *more = tw_realloc(q->rt, q->groups[group], room * sizeof *more);
        if (!more)
            return NULL;
        memset(more + q->issuers[group], 0, (room - q->issuers[group]) * sizeof *more);
        q->groups[group] = more;
        q->issuers[group] = room;
    }
    return &q->groups[group][issuer];
}

static const struct async_groups *groups_at(const struct emu_async *q, int group, uint32_t issuer)
{
    static const struct async_groups none;
    return issuer < q->issuers[group] ? &q->groups[group][issuer] : &none;
}

static uint64_t target_address(const struct async_operation *o, uint64_t address, unsigned target)
{
    return o->is_multicast ? emu_async_target(address, target) : address;
}

// Bytes of a box or copy in shared memory, for what is still to be touched.
static uint64_t extent(const struct async_operation *o)
{
    return o->request.map ? o->map.extent : o->bytes;
}

static uint64_t source_of(const struct async_operation *o)
{
    return o->kind == EMU_ASYNC_TENSOR_STORE || o->kind == EMU_ASYNC_TENSOR_REDUCE ? o->request.smem : o->from;
}

static struct emu_async_event event_of(const struct async_operation *o, enum emu_async_moment moment, unsigned target)
{
    uint64_t to = o->kind == EMU_ASYNC_TENSOR_LOAD ? o->request.smem : o->to;
    return (struct emu_async_event){.moment = moment,
                                    .kind = o->kind,
                                    .operation = o->number,
                                    .issuer = o->issuer,
                                    .tag = o->tag,
                                    .memory = o->memory,
                                    .target = target,
                                    .source = source_of(o),
                                    .destination = target_address(o, to, target),
                                    .extent = extent(o),
                                    .targets = o->is_multicast ? o->unwritten : 0};
}

static void tell(struct emu_async *q, const struct emu_async_event *event)
{
    if (q->options.hook)
        q->options.hook(q->options.context, event);
}

// Takes an operation out of the queue and gives it back.
static void leave(struct emu_async *q, struct async_operation *o)
{
    *(o->previous ? &o->previous->next : &q->first) = o->next;
    *(o->next ? &o->next->previous : &q->last) = o->previous;
    q->all[o->slot] = q->all[--q->count];
    q->all[o->slot]->slot = o->slot;
    q->held -= o->held != 0;
    q->signals -= o->signal != ASYNC_SIGNAL_NONE;
    q->groupless -= o->group < 0;
    if (o->group >= 0) {
        struct async_groups *g = &q->groups[o->group][o->issuer];
        *(o->group_before ? &o->group_before->group_next : &g->first) = o->group_next;
        *(o->group_next ? &o->group_next->group_before : &g->last) = o->group_before;
        g->pending--;
    }
    async_free(q, o);
}

// ---- moments

// One piece of one target's signal. Sets *all_signalled where it was the last.
static enum emu_fault_kind signal(struct emu_async *q, struct async_operation *o, unsigned target, int in_pieces,
                                  struct emu_fault *fault)
{
    struct emu_async_event event = event_of(o, EMU_ASYNC_SIGNAL, target);
    uint64_t word, at = target_address(o, o->barrier, target);
    enum emu_fault_kind kind, again;
    uint32_t piece = 0;
    if (o->memory->read(o->memory->context, at, &word, 8)) {
        o->unsignalled = 0;
        return emu_fail(fault, EMU_FAULT_BOUNDS, at, "the mbarrier at 0x%llx lies outside of shared memory",
                        (unsigned long long)at);
    }
    struct emu_mbarrier before;
    kind = emu_mbarrier_decode(word, &before, fault);
    if (kind != EMU_FAULT_NONE) {
        o->unsignalled = 0;
        if (fault)
            fault->address = at;
        return kind;
    }
    if (o->signal == ASYNC_SIGNAL_ARRIVE) {
        kind = emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &event.completed, fault);
        o->unsignalled = 0;
    } else {
        // `left` says how much is to come, once a target has begun.
        if (!o->left)
            o->left = o->bytes;
        piece = o->left;
        if (in_pieces && piece > 16)
            piece = 16 * (1 + (uint32_t)(dice(q) % ((piece + 15) / 16)));
        piece = piece < o->left ? piece : o->left;
        kind = emu_mbarrier_complete_tx(&word, piece, &event.completed, fault);
        o->left -= piece;
        if (!o->left)
            o->unsignalled &= ~(1u << target);
        int stale = o->knows_parity && (o->parities >> target & 1) != before.parity;
        if (kind == EMU_FAULT_NONE && stale)
            kind = emu_fail(fault, EMU_FAULT_TX_BYTES, at,
                            "%u bytes came in a later phase of the barrier than the one in which they were asked for",
                            piece);
    }
    if (fault && kind != EMU_FAULT_NONE)
        fault->address = at;
    if (o->memory->write(o->memory->context, at, &word, 8)) {
        again =
            emu_fail(fault, EMU_FAULT_BOUNDS, at, "the mbarrier at 0x%llx cannot be written", (unsigned long long)at);
        o->unsignalled = 0;
        return again;
    }
    event.barrier = at;
    event.bytes = piece;
    tell(q, &event);
    return kind;
}

// The index of the n-th set bit, n below their number.
static unsigned pick_bit(uint32_t bits, unsigned n)
{
    while (n--)
        bits &= bits - 1;
    unsigned at = 0;
    while (!(bits >> at & 1))
        at++;
    return at;
}

static unsigned count_bits(uint32_t bits)
{
    unsigned count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

static unsigned choose(struct emu_async *q, uint32_t bits)
{
    return pick_bit(bits, q->options.mode == EMU_ASYNC_RANDOM ? (unsigned)(dice(q) % count_bits(bits)) : 0);
}

static int is_done(const struct async_operation *o)
{
    return o->has_read && !o->unwritten && !o->unsignalled;
}

// What must be done before an operation's next moment, NULL if nothing: the cp.asyncs before an arrival, the writes of
// the wgmmas before a wgmma, of the tcgen05.mmas before a tcgen05.mma, and all of these before their commit.
static struct async_operation *in_the_way(struct async_operation *o)
{
    if (o->kind == EMU_ASYNC_CP_ARRIVE) {
        for (struct async_operation *b = o->group_before; b; b = b->group_before)
            if (b->kind == EMU_ASYNC_CP_ASYNC)
                return b;
    } else if (o->kind == EMU_ASYNC_WGMMA && o->has_read && o->group_before) {
        return o->group_before;
    } else if (o->kind == EMU_ASYNC_TCGEN05_COMMIT || (o->kind == EMU_ASYNC_TCGEN05_MMA && o->has_read)) {
        for (struct async_operation *b = o->group_before; b; b = b->group_before)
            if (b->kind == EMU_ASYNC_TCGEN05_MMA)
                return b;
    }
    return NULL;
}

static void let_go(struct emu_async *q, struct async_operation *o)
{
    q->held -= o->held != 0;
    o->held = 0;
}

// Lets the next moment of an operation happen, or of what is in its way. The operation leaves the queue with its last
// moment and after a fault (but TX_BYTES and TMA_CHUNK, which are reports).
static enum emu_fault_kind happen(struct emu_async *q, struct async_operation *o, struct emu_fault *fault)
{
    enum emu_fault_kind kind = EMU_FAULT_NONE;
    struct emu_async_event event;
    for (struct async_operation *before; (before = in_the_way(o));)
        o = before;
    let_go(q, o);
    if (!o->has_read) {
        event = event_of(o, EMU_ASYNC_READ, 0);
        tell(q, &event);
        kind = async_read(q, o, fault);
        o->has_read = 1;
    } else {
        // A target is signalled after it was written; in random order among targets.
        uint32_t ready = o->unsignalled & ~o->unwritten;
        int write = o->unwritten && (!ready || (q->options.mode == EMU_ASYNC_RANDOM && !o->left && dice(q) % 2));
        unsigned target = write ? choose(q, o->unwritten) : o->left ? o->signalling : choose(q, ready);
        event = event_of(o, write ? EMU_ASYNC_WRITE : EMU_ASYNC_SIGNAL, target);
        if (write) {
            tell(q, &event);
            kind = async_write(o, target, fault);
            o->unwritten &= ~(1u << target);
        } else {
            o->signalling = target;
            kind = signal(q, o, target, q->options.mode == EMU_ASYNC_RANDOM, fault);
        }
    }
    int dropped = kind != EMU_FAULT_NONE && kind != EMU_FAULT_TX_BYTES && kind != EMU_FAULT_TMA_CHUNK;
    if (kind != EMU_FAULT_NONE)
        q->culprit = event;
    if (dropped || is_done(o)) {
        event = event_of(o, EMU_ASYNC_DONE, 0);
        tell(q, &event);
        leave(q, o);
    }
    return kind;
}

// Lets an operation happen to its end, or with read_only until it has read. Returns the first fault.
static enum emu_fault_kind finish(struct emu_async *q, struct async_operation *o, int read_only,
                                  struct emu_fault *fault)
{
    enum emu_fault_kind first = EMU_FAULT_NONE;
    uint64_t number = o->number;
    size_t slot = o->slot;
    // The operation is gone when its slot holds another, or none; slots move only when an operation leaves.
    while (!(read_only && o->has_read)) {
        struct async_operation *before = in_the_way(o);
        enum emu_fault_kind kind = before ? finish(q, before, 0, first == EMU_FAULT_NONE ? fault : NULL)
                                          : happen(q, o, first == EMU_FAULT_NONE ? fault : NULL);
        first = first == EMU_FAULT_NONE ? kind : first;
        if (before) {
            slot = o->slot;
            continue;
        }
        if (slot >= q->count || q->all[slot] != o || o->number != number)
            break;
    }
    return first;
}

static void note_parities(struct async_operation *o)
{
    uint32_t targets = o->unsignalled;
    o->knows_parity = 1;
    for (unsigned t = 0; t < ASYNC_TARGETS; t++) {
        struct emu_mbarrier barrier;
        uint64_t word, at = target_address(o, o->barrier, t);
        if (!(targets >> t & 1))
            continue;
        if (o->memory->read(o->memory->context, at, &word, 8) || emu_mbarrier_decode(word, &barrier, NULL))
            o->knows_parity = 0;
        else
            o->parities |= barrier.parity << t;
    }
}

enum emu_fault_kind async_add(struct emu_async *q, struct async_operation *o, int group, struct emu_fault *fault)
{
    if (q->count == q->room) {
        size_t room = q->room ? 2 * q->room : 256;
        struct async_operation **all = tw_realloc(q->rt, q->all, room * sizeof *all);
        if (!all) {
            async_free(q, o);
            return no_memory(fault);
        }
        q->all = all;
        q->room = room;
    }
    struct async_groups *g = group >= 0 ? groups_of(q, group, o->issuer) : NULL;
    if (group >= 0 && !g) {
        async_free(q, o);
        return no_memory(fault);
    }
    o->group = group;
    o->number = ++q->issued;
    if (o->signal == ASYNC_SIGNAL_TX)
        note_parities(o);
    o->slot = q->count;
    q->all[q->count++] = o;
    q->held += o->held != 0;
    q->signals += o->signal != ASYNC_SIGNAL_NONE;
    q->groupless += group < 0;
    o->previous = q->last;
    o->next = NULL;
    *(q->last ? &q->last->next : &q->first) = o;
    q->last = o;
    if (g) {
        o->group_number = g->committed;
        o->group_before = g->last;
        o->group_next = NULL;
        *(g->last ? &g->last->group_next : &g->first) = o;
        g->last = o;
        g->pending++;
    }
    struct emu_async_event event = event_of(o, EMU_ASYNC_ISSUE, 0);
    tell(q, &event);
    return q->options.mode == EMU_ASYNC_EAGER && !o->held ? finish(q, o, 0, fault) : EMU_FAULT_NONE;
}

enum emu_fault_kind emu_async_meet(struct emu_async *queue, uint32_t issuer, uint64_t number, struct emu_fault *fault)
{
    enum emu_fault_kind first = EMU_FAULT_NONE;
    struct async_operation *o = groups_at(queue, EMU_ASYNC_GROUP_WGMMA, issuer)->last;
    while (o && o->held && o->group_before && o->group_before->held) // those that are held stand at the end
        o = o->group_before;
    for (struct async_operation *next; o && o->held && o->held <= number; o = next) {
        next = o->group_next;
        let_go(queue, o);
        if (queue->options.mode != EMU_ASYNC_EAGER)
            continue;
        enum emu_fault_kind kind = finish(queue, o, 0, first == EMU_FAULT_NONE ? fault : NULL);
        first = first == EMU_FAULT_NONE ? kind : first;
    }
    return first;
}

struct emu_async_event emu_async_culprit(const struct emu_async *queue)
{
    return queue->culprit;
}

// ---- groups

enum emu_fault_kind emu_async_commit(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                     struct emu_fault *fault)
{
    struct async_groups *g = groups_of(queue, (int)group, issuer);
    if (!g)
        return no_memory(fault);
    g->committed++;
    return EMU_FAULT_NONE;
}

// Operations of the issuer in groups below `limit` happen. Reading alone leaves them in the list.
static enum emu_fault_kind finish_groups(struct emu_async *q, enum emu_async_group group, uint32_t issuer,
                                         uint64_t limit, int read_only, struct emu_fault *fault)
{
    enum emu_fault_kind first = EMU_FAULT_NONE;
    if (issuer >= q->issuers[group])
        return first;
    struct async_operation *o = q->groups[group][issuer].first;
    while (o && o->group_number < limit) {
        struct async_operation *next = o->group_next;
        enum emu_fault_kind kind = finish(q, o, read_only, first == EMU_FAULT_NONE ? fault : NULL);
        first = first == EMU_FAULT_NONE ? kind : first;
        o = read_only ? next : q->groups[group][issuer].first;
    }
    return first;
}

enum emu_fault_kind emu_async_wait_group(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                         uint64_t most, int read_only, struct emu_fault *fault)
{
    uint64_t committed = groups_at(queue, (int)group, issuer)->committed;
    uint64_t limit = committed > most ? committed - most : 0;
    return finish_groups(queue, group, issuer, limit, read_only, fault);
}

enum emu_fault_kind emu_async_wait_all(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                       struct emu_fault *fault)
{
    return finish_groups(queue, group, issuer, UINT64_MAX, 0, fault);
}

uint64_t emu_async_uncommitted(const struct emu_async *queue, enum emu_async_group group, uint32_t issuer)
{
    const struct async_groups *g = groups_at(queue, (int)group, issuer);
    uint64_t count = 0;
    for (const struct async_operation *o = g->last; o && o->group_number == g->committed; o = o->group_before)
        count++;
    return count;
}

uint64_t emu_async_pending(const struct emu_async *queue, enum emu_async_group group, uint32_t issuer)
{
    return groups_at(queue, (int)group, issuer)->pending;
}

// ---- letting things happen

uint64_t emu_async_possible(const struct emu_async *queue)
{
    return queue->count - queue->held;
}

uint64_t emu_async_signals(const struct emu_async *queue)
{
    return queue->signals;
}

enum emu_fault_kind emu_async_step(struct emu_async *queue, int *happened, struct emu_fault *fault)
{
    struct emu_async *q = queue;
    struct async_operation *o = q->first;
    if (happened)
        *happened = q->count != q->held;
    if (q->count == q->held)
        return EMU_FAULT_NONE;
    if (q->options.mode == EMU_ASYNC_RANDOM)
        for (o = q->all[dice(q) % q->count]; o->held;)
            o = q->all[(o->slot + 1) % q->count];
    else
        while (o->held || (q->signals && o->signal == ASYNC_SIGNAL_NONE))
            o = o->next;
    return happen(q, o, fault);
}

enum emu_fault_kind emu_async_tick(struct emu_async *queue, struct emu_fault *fault)
{
    if (queue->options.mode != EMU_ASYNC_RANDOM || queue->count == queue->held)
        return EMU_FAULT_NONE;
    uint64_t roll = dice(queue) % 8;
    unsigned moments = roll < 5 ? 0 : roll < 7 ? 1 : 1 + (unsigned)(dice(queue) % 8);
    enum emu_fault_kind first = EMU_FAULT_NONE;
    for (; moments && queue->count != queue->held; moments--) {
        enum emu_fault_kind kind = emu_async_step(queue, NULL, first == EMU_FAULT_NONE ? fault : NULL);
        first = first == EMU_FAULT_NONE ? kind : first;
    }
    return first;
}

int emu_async_spurious(struct emu_async *queue)
{
    return queue->options.mode == EMU_ASYNC_RANDOM && dice(queue) % 8 == 0;
}

enum emu_fault_kind emu_async_drain(struct emu_async *queue, struct emu_fault *fault)
{
    enum emu_fault_kind first = EMU_FAULT_NONE;
    while (queue->first) {
        if (queue->count == queue->held)
            let_go(queue, queue->first);
        enum emu_fault_kind kind = emu_async_step(queue, NULL, first == EMU_FAULT_NONE ? fault : NULL);
        first = first == EMU_FAULT_NONE ? kind : first;
    }
    return first;
}

// ---- questions

static int overlaps(uint64_t at, uint64_t bytes, uint64_t begin, uint64_t end)
{
    return at < end && at + bytes > begin;
}

static int touches(const struct async_operation *o, uint64_t begin, uint64_t end)
{
    uint64_t source = source_of(o);
    if (!o->has_read && source && overlaps(source, extent(o), begin, end))
        return 1;
    for (unsigned t = 0; t < ASYNC_TARGETS; t++) {
        uint64_t to = o->kind == EMU_ASYNC_TENSOR_LOAD ? o->request.smem : o->to;
        if ((o->unwritten >> t & 1) && to && overlaps(target_address(o, to, t), extent(o), begin, end))
            return 1;
        if ((o->unsignalled >> t & 1) && overlaps(target_address(o, o->barrier, t), 8, begin, end))
            return 1;
    }
    return 0;
}

static enum emu_async_moment next_moment(const struct async_operation *o)
{
    return !o->has_read ? EMU_ASYNC_READ : o->unwritten ? EMU_ASYNC_WRITE : EMU_ASYNC_SIGNAL;
}

int emu_async_touches(const struct emu_async *queue, const struct emu_bytes *memory, uint64_t begin, uint64_t end,
                      struct emu_async_event *event)
{
    for (const struct async_operation *o = queue->first; o; o = o->next)
        if (o->memory == memory && touches(o, begin, end)) {
            if (event)
                *event = event_of(o, next_moment(o), 0);
            return 1;
        }
    return 0;
}

int emu_async_issued_by(const struct emu_async *queue, uint32_t first, uint32_t count, struct emu_async_event *event)
{
    if (count == 1 && !queue->groupless && !groups_at(queue, EMU_ASYNC_GROUP_CP_ASYNC, first)->pending &&
        !groups_at(queue, EMU_ASYNC_GROUP_BULK, first)->pending)
        return 0; /* without looking through those of all */
    for (const struct async_operation *o = queue->first; o; o = o->next)
        if (o->issuer - first < count && o->kind != EMU_ASYNC_WGMMA) {
            if (event)
                *event = event_of(o, next_moment(o), 0);
            return 1;
        }
    return 0;
}

uint64_t emu_async_bytes_to_come(const struct emu_async *queue, const struct emu_bytes *memory, uint64_t barrier)
{
    uint64_t bytes = 0;
    for (const struct async_operation *o = queue->first; o; o = o->next)
        for (unsigned t = 0; t < ASYNC_TARGETS && o->signal == ASYNC_SIGNAL_TX && o->memory == memory; t++)
            if ((o->unsignalled >> t & 1) && target_address(o, o->barrier, t) == barrier)
                bytes += o->left && o->signalling == t ? o->left : o->bytes;
    return bytes;
}

void emu_async_forget(struct emu_async *queue, const struct emu_bytes *memory)
{
    for (struct async_operation *o = queue->first, *next; o; o = next) {
        next = o->next;
        if (o->memory == memory)
            leave(queue, o);
    }
}
