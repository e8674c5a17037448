// What each kind of asynchronous operation is and does at its moments; async.c says when they are.
#include <string.h>

#include "async_internal.h"
#include "mbarrier.h"

static enum emu_fault_kind no_memory(struct emu_fault *fault)
{
    return emu_fail(fault, EMU_FAULT_MEMORY, 0, "no memory for an asynchronous operation");
}

static enum emu_fault_kind check_align(uint64_t address, uint64_t align, const char *what, struct emu_fault *fault)
{
    if (address % align)
        return emu_fail(fault, EMU_FAULT_ALIGN, address, "%s 0x%llx is no multiple of %llu bytes", what,
                        (unsigned long long)address, (unsigned long long)align);
    return EMU_FAULT_NONE;
}

// Makes an operation signal a barrier by complete_tx, for the targets it has.
static void signal_tx(struct async_operation *o, uint16_t targets, uint64_t barrier)
{
    o->signal = ASYNC_SIGNAL_TX;
    o->barrier = barrier;
    o->is_multicast = targets != 0;
    o->unwritten = o->unsignalled = targets ? targets : 1;
}

// ---- issue

enum emu_fault_kind emu_async_cp_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                       uint64_t from, uint32_t bytes, uint32_t from_bytes, struct emu_fault *fault)
{
    enum emu_fault_kind kind;
    if ((kind = check_align(to, bytes, "destination", fault)) || (kind = check_align(from, bytes, "source", fault)))
        return kind;
    struct async_operation *o = async_new(queue, EMU_ASYNC_CP_ASYNC, issue);
    if (!o)
        return no_memory(fault);
    o->to = to;
    o->from = from;
    o->bytes = bytes;
    o->from_bytes = from_bytes < bytes ? from_bytes : bytes;
    return async_add(queue, o, EMU_ASYNC_GROUP_CP_ASYNC, fault);
}

// An arrival, behind what stands before it in the group.
static struct async_operation *new_arrival(struct emu_async *q, enum emu_async_kind kind,
                                           const struct emu_async_issue *issue, uint64_t barrier)
{
    struct async_operation *o = async_new(q, kind, issue);
    if (!o)
        return NULL;
    o->has_read = 1;
    o->unwritten = 0;
    o->unsignalled = 1;
    o->signal = ASYNC_SIGNAL_ARRIVE;
    o->barrier = barrier;
    return o;
}

enum emu_fault_kind emu_async_cp_arrive(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t barrier,
                                        int no_increment, struct emu_fault *fault)
{
    uint64_t word;
    const struct emu_bytes *memory = issue->memory;
    enum emu_fault_kind kind = check_align(barrier, 8, "barrier", fault);
    if (kind)
        return kind;
    if (!no_increment) {
        if (memory->read(memory->context, barrier, &word, 8))
            return emu_fail(fault, EMU_FAULT_BOUNDS, barrier, "the mbarrier at 0x%llx lies outside of shared memory",
                            (unsigned long long)barrier);
        if ((kind = emu_mbarrier_increment(&word, fault)))
            return kind;
        memory->write(memory->context, barrier, &word, 8);
    }
    struct async_operation *o = new_arrival(queue, EMU_ASYNC_CP_ARRIVE, issue, barrier);
    return o ? async_add(queue, o, EMU_ASYNC_GROUP_CP_ASYNC, fault) : no_memory(fault);
}

enum { MOST_BULK = 1 << 24 }; // bytes of a bulk copy, one end of which is in shared memory

// A copy of whole bytes, of any of the bulk kinds.
static enum emu_fault_kind new_bulk(struct emu_async *q, enum emu_async_kind kind, const struct emu_async_issue *issue,
                                    uint64_t to, uint64_t from, uint32_t bytes, struct async_operation **o,
                                    struct emu_fault *fault)
{
    enum emu_fault_kind bad;
    if ((bad = check_align(to, 16, "destination", fault)) || (bad = check_align(from, 16, "source", fault)) ||
        (bad = check_align(bytes, 16, "number of bytes", fault)))
        return bad;
    if (bytes > MOST_BULK)
        return emu_fail(fault, EMU_FAULT_BOUNDS, to, "a copy of %u bytes, more than any shared memory holds", bytes);
    *o = async_new(q, kind, issue);
    if (!*o)
        return no_memory(fault);
    (*o)->to = to;
    (*o)->from = from;
    (*o)->bytes = bytes;
    (*o)->byte_mask = 0xffff;
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_async_bulk_load(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                        uint64_t from, uint32_t bytes, uint16_t targets, uint64_t barrier,
                                        struct emu_fault *fault)
{
    struct async_operation *o;
    enum emu_fault_kind kind = check_align(barrier, 8, "barrier", fault);
    if (kind || (kind = new_bulk(queue, EMU_ASYNC_BULK_LOAD, issue, to, from, bytes, &o, fault)))
        return kind;
    signal_tx(o, targets, barrier);
    return async_add(queue, o, -1, fault);
}

enum emu_fault_kind emu_async_bulk_store(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                         uint64_t from, uint32_t bytes, uint16_t byte_mask, struct emu_fault *fault)
{
    struct async_operation *o;
    enum emu_fault_kind kind = new_bulk(queue, EMU_ASYNC_BULK_STORE, issue, to, from, bytes, &o, fault);
    if (kind)
        return kind;
    o->byte_mask = byte_mask;
    return async_add(queue, o, EMU_ASYNC_GROUP_BULK, fault);
}

enum emu_fault_kind emu_async_bulk_reduce(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                          uint64_t from, uint32_t bytes, enum emu_reduce op, enum emu_reduce_type type,
                                          uint64_t barrier, struct emu_fault *fault)
{
    struct async_operation *o;
    if (op == EMU_REDUCE_STORE || !emu_reduce_valid(op, type))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, to, "cp.reduce.async.bulk has no such operation for this type");
    enum emu_fault_kind kind = check_align(barrier, 8, "barrier", fault);
    if (kind || (kind = new_bulk(queue, EMU_ASYNC_BULK_REDUCE, issue, to, from, bytes, &o, fault)))
        return kind;
    o->reduce = op;
    o->type = type;
    if (!barrier)
        return async_add(queue, o, EMU_ASYNC_GROUP_BULK, fault);
    signal_tx(o, 0, barrier);
    return async_add(queue, o, -1, fault);
}

static enum emu_fault_kind new_tensor(struct emu_async *q, enum emu_async_kind kind,
                                      const struct emu_async_issue *issue, const struct emu_tma_request *request,
                                      struct async_operation **o, struct emu_fault *fault)
{
    enum emu_fault_kind bad = emu_tma_check(request, kind != EMU_ASYNC_TENSOR_LOAD, fault);
    if (bad)
        return bad;
    *o = async_new(q, kind, issue);
    if (!*o)
        return no_memory(fault);
    (*o)->request = *request;
    (*o)->map = *request->map;
    (*o)->request.map = &(*o)->map;
    (*o)->bytes = request->map->transaction;
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_async_tensor_load(struct emu_async *queue, const struct emu_async_issue *issue,
                                          const struct emu_tma_request *request, uint16_t targets, uint64_t barrier,
                                          struct emu_fault *fault)
{
    struct async_operation *o;
    enum emu_fault_kind kind = check_align(barrier, 8, "barrier", fault);
    if (kind || (kind = new_tensor(queue, EMU_ASYNC_TENSOR_LOAD, issue, request, &o, fault)))
        return kind;
    signal_tx(o, targets, barrier);
    return async_add(queue, o, -1, fault);
}

enum emu_fault_kind emu_async_tensor_store(struct emu_async *queue, const struct emu_async_issue *issue,
                                           const struct emu_tma_request *request, enum emu_reduce op,
                                           struct emu_fault *fault)
{
    struct async_operation *o;
    enum emu_async_kind what = op == EMU_REDUCE_STORE ? EMU_ASYNC_TENSOR_STORE : EMU_ASYNC_TENSOR_REDUCE;
    enum emu_fault_kind kind = new_tensor(queue, what, issue, request, &o, fault);
    if (kind)
        return kind;
    o->reduce = op;
    return async_add(queue, o, EMU_ASYNC_GROUP_BULK, fault);
}

// st.async and red.async: the source is a register, read at issue.
static enum emu_fault_kind add_value(struct emu_async *q, enum emu_async_kind kind, const struct emu_async_issue *issue,
                                     uint64_t to, const void *value, uint32_t bytes, enum emu_reduce op,
                                     enum emu_reduce_type type, uint64_t barrier, struct emu_fault *fault)
{
    enum emu_fault_kind bad;
    if ((bad = check_align(to, bytes, "destination", fault)) || (bad = check_align(barrier, 8, "barrier", fault)))
        return bad;
    struct async_operation *o = async_new(q, kind, issue);
    if (!o)
        return no_memory(fault);
    memcpy(o->buffer, value, bytes);
    o->has_read = 1;
    o->to = to;
    o->bytes = bytes;
    o->reduce = op;
    o->type = type;
    signal_tx(o, 0, barrier);
    return async_add(q, o, -1, fault);
}

enum emu_fault_kind emu_async_st_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                       const void *value, uint32_t bytes, uint64_t barrier, struct emu_fault *fault)
{
    return add_value(queue, EMU_ASYNC_ST_ASYNC, issue, to, value, bytes, EMU_REDUCE_STORE, EMU_REDUCE_B32, barrier,
                     fault);
}

enum emu_fault_kind emu_async_red_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                        const void *value, enum emu_reduce op, enum emu_reduce_type type,
                                        uint64_t barrier, struct emu_fault *fault)
{
    if (!emu_reduce_valid(op, type))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, to, "red.async has no such operation for this type");
    return add_value(queue, EMU_ASYNC_RED_ASYNC, issue, to, value, emu_reduce_bytes(type), op, type, barrier, fault);
}

static enum emu_fault_kind add_work(struct emu_async *queue, const struct emu_async_issue *issue,
                                    enum emu_async_kind kind, int group, const struct emu_async_work *work,
                                    struct emu_fault *fault)
{
    struct async_operation *o = async_new(queue, kind, issue);
    if (!o)
        return no_memory(fault);
    if (async_reserve(queue, o, work->payload)) {
        async_free(queue, o);
        return no_memory(fault);
    }
    if (work->argument_bytes)
        memcpy(o->buffer, work->argument, work->argument_bytes);
    o->work = *work;
    o->work.argument = NULL;
    o->held = work->number;
    return async_add(queue, o, group, fault);
}

enum emu_fault_kind emu_async_wgmma(struct emu_async *queue, const struct emu_async_issue *issue,
                                    const struct emu_async_work *work, struct emu_fault *fault)
{
    return add_work(queue, issue, EMU_ASYNC_WGMMA, EMU_ASYNC_GROUP_WGMMA, work, fault);
}

enum emu_fault_kind emu_async_tcgen05(struct emu_async *queue, const struct emu_async_issue *issue,
                                      enum emu_async_kind kind, const struct emu_async_work *work,
                                      struct emu_fault *fault)
{
    int group = kind == EMU_ASYNC_TCGEN05_MMA ? EMU_ASYNC_GROUP_TCGEN05 : EMU_ASYNC_GROUP_TCGEN05_ST;
    return add_work(queue, issue, kind, group, work, fault);
}

enum emu_fault_kind emu_async_tcgen05_commit(struct emu_async *queue, const struct emu_async_issue *issue,
                                             uint64_t barrier, struct emu_fault *fault)
{
    enum emu_fault_kind kind = check_align(barrier, 8, "barrier", fault);
    if (kind)
        return kind;
    struct async_operation *o = new_arrival(queue, EMU_ASYNC_TCGEN05_COMMIT, issue, barrier);
    return o ? async_add(queue, o, EMU_ASYNC_GROUP_TCGEN05, fault) : no_memory(fault);
}

// ---- moments

static enum emu_fault_kind read_bytes(struct async_operation *o, uint32_t bytes, struct emu_fault *fault)
{
    if (bytes && o->memory->read(o->memory->context, o->from, o->buffer, bytes))
        return emu_fail(fault, EMU_FAULT_BOUNDS, o->from, "%s reads %u bytes at 0x%llx, which is not allocated",
                        emu_async_kind_name(o->kind), bytes, (unsigned long long)o->from);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind async_read(struct emu_async *q, struct async_operation *o, struct emu_fault *fault)
{
    switch (o->kind) {
    case EMU_ASYNC_CP_ASYNC:
        memset(o->buffer, 0, o->bytes);
        return read_bytes(o, o->from_bytes, fault);
    case EMU_ASYNC_BULK_LOAD:
    case EMU_ASYNC_BULK_STORE:
    case EMU_ASYNC_BULK_REDUCE:
        return async_reserve(q, o, o->bytes) ? no_memory(fault) : read_bytes(o, o->bytes, fault);
    case EMU_ASYNC_TENSOR_LOAD:
        return async_reserve(q, o, o->map.extent) ? no_memory(fault)
                                                  : emu_tma_read_global(&o->request, o->memory, o->buffer, fault);
    case EMU_ASYNC_TENSOR_STORE:
    case EMU_ASYNC_TENSOR_REDUCE:
        return async_reserve(q, o, o->map.extent) ? no_memory(fault)
                                                  : emu_tma_read_shared(&o->request, o->memory, o->buffer, fault);
    case EMU_ASYNC_WGMMA:
    case EMU_ASYNC_TCGEN05_MMA:
    case EMU_ASYNC_TCGEN05_ST:
        return o->work.read(o->work.context, o->buffer, fault);
    default:
        return EMU_FAULT_NONE;
    }
}

static enum emu_fault_kind write_bytes(const struct async_operation *o, uint64_t to, const uint8_t *from,
                                       uint32_t bytes, struct emu_fault *fault)
{
    if (bytes && o->memory->write(o->memory->context, to, from, bytes))
        return emu_fail(fault, EMU_FAULT_BOUNDS, to, "%s writes %u bytes at 0x%llx, which is not allocated",
                        emu_async_kind_name(o->kind), bytes, (unsigned long long)to);
    return EMU_FAULT_NONE;
}

// cp_mask: the same bits for every 16 bytes.
static enum emu_fault_kind write_masked(const struct async_operation *o, struct emu_fault *fault)
{
    enum emu_fault_kind kind = EMU_FAULT_NONE;
    if (o->byte_mask == 0xffff)
        return write_bytes(o, o->to, o->buffer, o->bytes, fault);
    for (uint32_t k = 0; k < o->bytes && kind == EMU_FAULT_NONE; k++)
        if (o->byte_mask >> k % 16 & 1)
            kind = write_bytes(o, o->to + k, o->buffer + k, 1, fault);
    return kind;
}

static enum emu_fault_kind write_reduced(const struct async_operation *o, struct emu_fault *fault)
{
    uint8_t old[512];
    for (uint32_t k = 0; k < o->bytes;) {
        uint32_t part = o->bytes - k < sizeof old ? o->bytes - k : (uint32_t)sizeof old;
        if (o->memory->read(o->memory->context, o->to + k, old, part))
            return emu_fail(fault, EMU_FAULT_BOUNDS, o->to + k, "%s reads %u bytes at 0x%llx, which is not allocated",
                            emu_async_kind_name(o->kind), part, (unsigned long long)(o->to + k));
        emu_reduce_apply(o->reduce, o->type, old, o->buffer + k, part / emu_reduce_bytes(o->type));
        enum emu_fault_kind kind = write_bytes(o, o->to + k, old, part, fault);
        if (kind)
            return kind;
        k += part;
    }
    return EMU_FAULT_NONE;
}

static enum emu_fault_kind write_tensor(const struct async_operation *o, struct emu_fault *fault)
{
    uint64_t tail;
    enum emu_fault_kind kind = emu_tma_write_global(&o->request, o->reduce, o->memory, o->buffer, &tail, fault);
    if (kind == EMU_FAULT_NONE && tail)
        return emu_fail(fault, EMU_FAULT_TMA_CHUNK, tail,
                        "the row of the tensor ends at 0x%llx inside of 16 bytes, and the tensor store writes them all",
                        (unsigned long long)tail);
    return kind;
}

enum emu_fault_kind async_write(struct async_operation *o, unsigned target, struct emu_fault *fault)
{
    switch (o->kind) {
    case EMU_ASYNC_BULK_STORE:
        return write_masked(o, fault);
    case EMU_ASYNC_BULK_REDUCE:
    case EMU_ASYNC_RED_ASYNC:
        return write_reduced(o, fault);
    case EMU_ASYNC_TENSOR_LOAD: {
        uint64_t smem = o->is_multicast ? emu_async_target(o->request.smem, target) : o->request.smem;
        return emu_tma_write_shared(&o->request, o->memory, smem, o->buffer, fault);
    }
    case EMU_ASYNC_TENSOR_STORE:
    case EMU_ASYNC_TENSOR_REDUCE:
        return write_tensor(o, fault);
    case EMU_ASYNC_WGMMA:
    case EMU_ASYNC_TCGEN05_MMA:
    case EMU_ASYNC_TCGEN05_ST:
        return o->work.write(o->work.context, o->buffer, fault);
    default:
        return write_bytes(o, o->is_multicast ? emu_async_target(o->to, target) : o->to, o->buffer, o->bytes, fault);
    }
}
