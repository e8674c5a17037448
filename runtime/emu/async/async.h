// The queue of asynchronous operations: everything that an instruction starts and that goes on without its thread.
//
// An operation has three moments between its issue and its deadline:
//
//     issue ----> READ ----> WRITE ----> SIGNAL ...      once for a multicast's source; WRITE and SIGNAL for each
//     target
//                 source     destination complete_tx in pieces of at least 16 bytes, in any order among operations;
//                 is read    is written  or an arrival; or nothing but "done", which the groups count
//
// Deadlines: wait_group.read for READ, wait_group for WRITE, and for what a barrier counts the moment when nothing but
// its completion can go on. When the moments happen is the mode's:
//
//     eager    all of them at issue
//     late     none before somebody has to wait: a wait_group makes what it covers happen, and emu_async_step, which
//     the
//              executor calls when no warp can run but pollers, makes the oldest next moment happen
//     random   emu_async_tick, which the executor calls as often as it likes, makes a few seeded choices; the rest as
//              late, but in a random order
//
// The sequence of moments depends on seed and calls alone. The queue knows memory through emu_bytes only and allocates
// through the runtime it is given. One queue serves all resident blocks of a launch; it is not thread-safe.
//
// Example, a tensor load:
//     struct emu_async_issue issue = {.memory = &cluster->bytes, .issuer = thread, .tag = pc};
//     emu_async_tensor_load(queue, &issue, &request, 1u << rank, barrier, &fault);
// and where no warp can run:
//     while (nothing runs && emu_async_possible(queue)) emu_async_step(queue, &fault);
#ifndef EMU_ASYNC_H
#define EMU_ASYNC_H

#include "bytes.h"
#include "hooks.h"
#include "tma.h"

enum emu_async_mode { EMU_ASYNC_EAGER, EMU_ASYNC_LATE, EMU_ASYNC_RANDOM };

enum emu_async_kind {
    EMU_ASYNC_CP_ASYNC,       // cp.async: generic proxy; group CP_ASYNC
    EMU_ASYNC_CP_ARRIVE,      // cp.async.mbarrier.arrive: the arrival, after the cp.asyncs before it
    EMU_ASYNC_BULK_LOAD,      // cp.async.bulk to shared memory, complete_tx
    EMU_ASYNC_BULK_STORE,     // cp.async.bulk to global memory; group BULK
    EMU_ASYNC_BULK_REDUCE,    // cp.reduce.async.bulk: to global, group BULK; to shared::cluster, complete_tx
    EMU_ASYNC_TENSOR_LOAD,    // cp.async.bulk.tensor to shared memory, complete_tx
    EMU_ASYNC_TENSOR_STORE,   // cp.async.bulk.tensor to global memory; group BULK
    EMU_ASYNC_TENSOR_REDUCE,  // cp.reduce.async.bulk.tensor; group BULK
    EMU_ASYNC_ST_ASYNC,       // st.async, complete_tx
    EMU_ASYNC_RED_ASYNC,      // red.async, complete_tx
    EMU_ASYNC_WGMMA,          // wgmma.mma_async; group WGMMA
    EMU_ASYNC_TCGEN05_MMA,    // tcgen05.mma; group TCGEN05
    EMU_ASYNC_TCGEN05_ST,     // tcgen05.st; group TCGEN05_ST
    EMU_ASYNC_TCGEN05_COMMIT, // tcgen05.commit: the arrival, after the tcgen05.mmas before it
    EMU_ASYNC_KIND_COUNT
};
const char *emu_async_kind_name(enum emu_async_kind kind); // "cp.async.bulk.tensor load" and so on

// What commit_group and wait_group speak of. cp.async and bulk groups belong to a thread, wgmma groups to a warp. The
// others are no groups of PTX: a thread's tcgen05.mmas and commits, of which only an mbarrier tells, and a warp's
// tcgen05.sts, all of which tcgen05.wait::st waits for.
enum emu_async_group {
    EMU_ASYNC_GROUP_CP_ASYNC,
    EMU_ASYNC_GROUP_BULK,
    EMU_ASYNC_GROUP_WGMMA,
    EMU_ASYNC_GROUP_TCGEN05,
    EMU_ASYNC_GROUP_TCGEN05_ST,
    EMU_ASYNC_GROUPS
};

enum emu_async_moment {
    EMU_ASYNC_ISSUE,  // before anything else; in eager mode the other moments follow before the call returns
    EMU_ASYNC_READ,   // the accesses to the source follow
    EMU_ASYNC_WRITE,  // the accesses to the destination follow
    EMU_ASYNC_SIGNAL, // the access to the barrier was made: bytes, completed
    EMU_ASYNC_DONE,   // nothing is left
};

// One moment of one operation, as the hook sees it.
struct emu_async_event {
    enum emu_async_moment moment;
    enum emu_async_kind kind;
    uint64_t operation; // number in the order of issue, from 1 on; never used again
    uint32_t issuer;
    uint64_t tag;                   // of the issue
    const struct emu_bytes *memory; // of the issue
    unsigned target;                // WRITE, SIGNAL: rank in a multicast, else 0
    uint64_t barrier;               // SIGNAL: its address
    uint32_t bytes;                 // SIGNAL: of complete_tx; 0 for an arrival
    int completed;                  // SIGNAL: it ended the barrier's phase, so that waiters can go on
    uint64_t source, destination;   // of copies: in a multicast, of this target
    uint64_t extent;                // bytes in shared memory; 0: it copies nothing
    uint32_t targets;               // ranks of a multicast, 0: none
};

struct emu_async_options {
    enum emu_async_mode mode;
    uint64_t seed; // random
    // Called at every moment; may be NULL. The memory accesses of READ and WRITE come through emu_bytes after the call
    // and before the next one.
    void (*hook)(void *context, const struct emu_async_event *event);
    void *context;
};

struct emu_async;

// A queue, and its end: operations that are left are dropped. rt must outlive it.
int emu_async_open(struct tw_runtime *rt, const struct emu_async_options *options, struct emu_async **queue,
                   struct tw_error *error);
void emu_async_close(struct emu_async *queue);

// Who issues, common to all operations.
struct emu_async_issue {
    const struct emu_bytes *memory; // as the issuing cluster sees it
    uint32_t issuer;                // thread, or for wgmma warp: a small number, unique among those resident
    uint64_t tag;                   // the caller's, in events and faults: the instruction
};

// Every function below that returns a fault kind has failed, wholly or in a moment of some operation, where it returns
// another than EMU_FAULT_NONE. emu_async_culprit then says which operation it was. A faulting operation is dropped.
//   BOUNDS, TMA_*, ALIGN, ILLEGAL   as emu_tma_* and memory say
//   TX_BYTES       bytes came that the barrier does not expect: no arrival is left, or the phase that the barrier was
//   in
//                  when the operation was issued has ended without them. The signal was made all the same.
//   BARRIER_INIT   the barrier of a signal is none
//   MEMORY         no memory; nothing was issued
struct emu_async_event emu_async_culprit(const struct emu_async *queue);

// ---- issue

// cp.async: `bytes` (4, 8, 16) to shared memory of which the first `from_bytes` come from the source, the rest is 0.
enum emu_fault_kind emu_async_cp_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                       uint64_t from, uint32_t bytes, uint32_t from_bytes, struct emu_fault *fault);

// cp.async.mbarrier.arrive{.noinc}: without no_increment the barrier's pending count goes up by one now; it goes down
// when all cp.async that this thread issued before are done.
enum emu_fault_kind emu_async_cp_arrive(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t barrier,
                                        int no_increment, struct emu_fault *fault);

// cp.async.bulk into shared memory: global or shared::cta to shared::cluster. targets: 0 for the block of `to`; else a
// mask of ranks for .multicast::cluster, and to, barrier are moved to each rank's window: address with bits 24..31
// replaced by the rank (see emu_async_target).
enum emu_fault_kind emu_async_bulk_load(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                        uint64_t from, uint32_t bytes, uint16_t targets, uint64_t barrier,
                                        struct emu_fault *fault);

// cp.async.bulk from shared to global memory, in the thread's open bulk group. byte_mask 0xffff: all; else .cp_mask.
enum emu_fault_kind emu_async_bulk_store(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                         uint64_t from, uint32_t bytes, uint16_t byte_mask, struct emu_fault *fault);

// cp.reduce.async.bulk. barrier 0: to global memory, in the bulk group; else to shared::cluster with complete_tx. f32
// additions flush no subnormals: so an H200, against the PTX ISA (tests/emu/vectors.def).
enum emu_fault_kind emu_async_bulk_reduce(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                          uint64_t from, uint32_t bytes, enum emu_reduce op, enum emu_reduce_type type,
                                          uint64_t barrier, struct emu_fault *fault);

// cp.async.bulk.tensor to shared memory. The request and its map are copied; request->smem is the box's address in the
// block of the destination operand. targets as above.
enum emu_fault_kind emu_async_tensor_load(struct emu_async *queue, const struct emu_async_issue *issue,
                                          const struct emu_tma_request *request, uint16_t targets, uint64_t barrier,
                                          struct emu_fault *fault);

// cp.async.bulk.tensor to global memory, and with another op than STORE cp.reduce.async.bulk.tensor; in the bulk group.
// *chunk_tail of the write goes to the fault: TMA_CHUNK, which is reported and does not drop the operation.
enum emu_fault_kind emu_async_tensor_store(struct emu_async *queue, const struct emu_async_issue *issue,
                                           const struct emu_tma_request *request, enum emu_reduce op,
                                           struct emu_fault *fault);

// st.async: `bytes` (4, 8, 16) of value to shared::cluster, then complete_tx of as many. red.async: a reduction.
enum emu_fault_kind emu_async_st_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                       const void *value, uint32_t bytes, uint64_t barrier, struct emu_fault *fault);
enum emu_fault_kind emu_async_red_async(struct emu_async *queue, const struct emu_async_issue *issue, uint64_t to,
                                        const void *value, enum emu_reduce op, enum emu_reduce_type type,
                                        uint64_t barrier, struct emu_fault *fault);

// wgmma.mma_async, one warp's part. The executor brings the work: `read` fetches A and B (registers, shared memory)
// into `payload` bytes that the queue keeps for the operation, `write` multiplies and writes the accumulators. Both may
// fault. `argument` (argument_bytes, copied) stands at the payload's beginning. Operations of one issuer write in the
// order of issue.
struct emu_async_work {
    void *context; // first argument of both
    enum emu_fault_kind (*read)(void *context, void *payload, struct emu_fault *fault);
    enum emu_fault_kind (*write)(void *context, void *payload, struct emu_fault *fault);
    size_t payload; // bytes, argument included; 16-byte aligned
    const void *argument;
    size_t argument_bytes;
    uint64_t number; // of its issuer's wgmmas, from 1 on: it reads nothing before emu_async_meet; 0: it may at once
};
enum emu_fault_kind emu_async_wgmma(struct emu_async *queue, const struct emu_async_issue *issue,
                                    const struct emu_async_work *work, struct emu_fault *fault);
// All warps of the issuer's warpgroup have issued their wgmmas up to that number: its own may read.
enum emu_fault_kind emu_async_meet(struct emu_async *queue, uint32_t issuer, uint64_t number, struct emu_fault *fault);

// tcgen05.mma (by a thread) and tcgen05.st (by a warp), kind says which, in the same way: the mmas of a thread write in
// the order of issue. tcgen05.commit: an arrival on the barrier when all mmas that the thread issued before are done.
enum emu_fault_kind emu_async_tcgen05(struct emu_async *queue, const struct emu_async_issue *issue,
                                      enum emu_async_kind kind, const struct emu_async_work *work,
                                      struct emu_fault *fault);
enum emu_fault_kind emu_async_tcgen05_commit(struct emu_async *queue, const struct emu_async_issue *issue,
                                             uint64_t barrier, struct emu_fault *fault);

// ---- groups

// commit_group: what the issuer issued since the last one is a group. Free of cost where there is nothing.
enum emu_fault_kind emu_async_commit(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                     struct emu_fault *fault);

// wait_group N: all but the last N committed groups of the issuer are done when this returns; with read_only (.read)
// they have read their sources. Returns the first fault; the rest is done all the same.
enum emu_fault_kind emu_async_wait_group(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                         uint64_t most, int read_only, struct emu_fault *fault);

// cp.async.wait_all: everything the thread issued, committed or not. Also the way out of a thread: its bulk operations.
enum emu_fault_kind emu_async_wait_all(struct emu_async *queue, enum emu_async_group group, uint32_t issuer,
                                       struct emu_fault *fault);

// Operations of the issuer that no commit_group covers, and that are not done. (Never in eager mode.)
uint64_t emu_async_uncommitted(const struct emu_async *queue, enum emu_async_group group, uint32_t issuer);
// Operations of the issuer that are not done, committed or not.
uint64_t emu_async_pending(const struct emu_async *queue, enum emu_async_group group, uint32_t issuer);

// ---- letting things happen

// Operations that are not done and wait for no other warp's wgmma: whether any event could still happen.
uint64_t emu_async_possible(const struct emu_async *queue);
// The same, but only of those whose end a barrier sees (loads, st.async, cp.async with an arrival).
uint64_t emu_async_signals(const struct emu_async *queue);

// Lets one moment happen, in late mode the oldest next one of those that end in a signal (of the others if there are
// none), in random mode a random one. *happened (may be NULL): 0 where nothing was left.
enum emu_fault_kind emu_async_step(struct emu_async *queue, int *happened, struct emu_fault *fault);

// Random mode: lets none, one or several moments happen, as the dice say. Nothing in the other modes.
enum emu_fault_kind emu_async_tick(struct emu_async *queue, struct emu_fault *fault);

// Random mode: 1 where this try_wait, though its phase is complete, shall fail (one of eight). 0 in the other modes.
int emu_async_spurious(struct emu_async *queue);

// Everything happens: kernel end.
enum emu_fault_kind emu_async_drain(struct emu_async *queue, struct emu_fault *fault);

// ---- questions of the executor

// An operation that is not done and will still read or write or signal at an address in [begin, end) of this memory; or
// that was issued by one of the threads [first, first + count) (wgmma, which warps issue, aside). 1, and the operation
// as an event (moment: its next one), or 0. For EXIT-IN-FLIGHT: shared windows of blocks that exit.
int emu_async_touches(const struct emu_async *queue, const struct emu_bytes *memory, uint64_t begin, uint64_t end,
                      struct emu_async_event *event);
int emu_async_issued_by(const struct emu_async *queue, uint32_t first, uint32_t count, struct emu_async_event *event);

// Bytes that operations not done will still complete on this barrier.
uint64_t emu_async_bytes_to_come(const struct emu_async *queue, const struct emu_bytes *memory, uint64_t barrier);

// Forgets everything that is in flight and was issued with this memory: a cluster that ended, or was ended. After it
// the memory may go away.
void emu_async_forget(struct emu_async *queue, const struct emu_bytes *memory);

// The address in the window of another rank of the cluster: bits 24..31 are the rank.
static inline uint64_t emu_async_target(uint64_t address, unsigned rank)
{
    return (address & ~UINT64_C(0xff000000)) | (uint64_t)rank << 24;
}

#endif
