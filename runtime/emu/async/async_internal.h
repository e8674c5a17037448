// The operations behind async.h, shared by async.c (queue, moments, groups) and issue.c (one function a kind).
#ifndef EMU_ASYNC_INTERNAL_H
#define EMU_ASYNC_INTERNAL_H

#include "async.h"

enum { ASYNC_SMALL = 32, ASYNC_TARGETS = 16 };

// Who signals what when the destination is written.
enum async_signal {
    ASYNC_SIGNAL_NONE,   // groups alone count it
    ASYNC_SIGNAL_TX,     // complete_tx
    ASYNC_SIGNAL_ARRIVE, // an arrival
};

// One operation. Operations that are not done are linked in the order of issue, and those of one issuer and group
// once more.
struct async_operation {
    struct async_operation *next, *previous;           // all
    struct async_operation *group_next, *group_before; // of the issuer and group
    size_t slot;                                       // in the queue's array of operations
    uint64_t number;
    uint64_t tag;
    const struct emu_bytes *memory;
    uint32_t issuer;
    enum emu_async_kind kind;
    int group;             // enum emu_async_group, -1: none
    uint64_t group_number; // which of the issuer's groups it is in
    enum async_signal signal;

    uint64_t held; // the number of a wgmma that other warps have not issued yet; 0: none
    int has_read;
    uint32_t unwritten;   // a bit for each target, or bit 0
    uint32_t unsignalled; // the same
    int is_multicast;     // targets are ranks
    uint32_t left;        // bytes that the target being signalled has still to complete
    unsigned signalling;  // which target `left` is about
    unsigned parities;    // of the barriers at issue, a bit a target
    int knows_parity;     // whether they could be read

    uint64_t to, from, barrier;
    uint32_t bytes, from_bytes;
    uint16_t byte_mask;
    enum emu_reduce reduce;
    enum emu_reduce_type type;
    struct emu_tma_map map;
    struct emu_tma_request request;
    struct emu_async_work work;

    uint8_t *buffer; // room bytes; `small` where that is enough
    size_t room;
    _Alignas(16) uint8_t small[ASYNC_SMALL];
};

// An issuer's groups of one kind.
struct async_groups {
    struct async_operation *first, *last;
    uint64_t committed; // groups so far; operations issued now go into this number
    uint64_t pending;
};

struct emu_async {
    struct tw_runtime *rt;
    struct emu_async_options options;
    uint64_t random;
    uint64_t issued;
    struct async_operation *first, *last, *free;
    struct async_operation **all; // those not done, in no order: for choices
    size_t count, room;
    uint64_t held;      // of them, those that wait for other warps
    uint64_t signals;   // of them, those that end in a signal
    uint64_t groupless; // of them, those that no group counts
    struct async_groups *groups[EMU_ASYNC_GROUPS];
    uint32_t issuers[EMU_ASYNC_GROUPS]; // room of groups
    struct emu_async_event culprit;
    int has_culprit;
};

// A new operation, not yet in the queue; NULL where there is no memory.
struct async_operation *async_new(struct emu_async *q, enum emu_async_kind kind, const struct emu_async_issue *issue);

// Room in the operation's buffer.
int async_reserve(struct emu_async *q, struct async_operation *o, size_t bytes);

// Puts a new operation into the queue, and in eager mode lets all of it happen. Gives it back where that fails.
enum emu_fault_kind async_add(struct emu_async *q, struct async_operation *o, int group, struct emu_fault *fault);

// Gives back an operation that is not in the queue.
void async_free(struct emu_async *q, struct async_operation *o);

// The moments' work, by kind (issue.c).
enum emu_fault_kind async_read(struct emu_async *q, struct async_operation *o, struct emu_fault *fault);
enum emu_fault_kind async_write(struct async_operation *o, unsigned target, struct emu_fault *fault);

#endif
