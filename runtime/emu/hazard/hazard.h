/* The hazard engine: what the order of a kernel's accesses allows to go wrong, whatever happened this time.

   The executor tells it every access, every synchronisation and every asynchronous operation. The engine keeps a vector
   clock for each warp of the resident blocks and a shadow of shared and global memory, and reports accesses that no
   chain of edges (hazards.def) orders. Nothing is executed here.

       warp ---- access ---> shadow: who wrote last, who has read since        each with epoch, lane, place
         |                                                                     an asynchronous operation: its record
         +------ arrive ---> object (named barrier, mbarrier, cluster, flag): clock of all that arrived
         +<----- wait ------ object: the waiter knows what they knew

   Addresses are generic: shared memory at EMU_SHARED_WINDOW + rank << 24 + offset, everything else is global; local,
   parameter and constant memory are never told. Where a call takes 32-bit shared addresses, they are the low 32 bits.

   Three rules keep the result independent of when asynchronous operations happen:
     - accesses of an operation are told at its issue, all of them, before the operation is handed to async.h;
     - a signal (complete_tx) is told when it happens, the wait when it returns true;
     - an instruction that must wait is told when it arrives, not each time it is tried again.

   position: a number of the caller's for an instruction, printed by him: EMU_HAZARD_NOWHERE is none.

   When memory runs out the engine falls silent, and emu_hazard_status says so. Not thread-safe. */
#ifndef EMU_HAZARD_H
#define EMU_HAZARD_H

#include <stddef.h>
#include <stdint.h>

#include "emu/hazards.h"
#include "hooks.h"

struct emu_hazard;         /* engine of one launch */
struct emu_hazard_memory;  /* what is known of global memory, over launches: one for a device */
struct emu_hazard_cluster; /* a resident cluster; a block without one is a cluster of one */

#define EMU_HAZARD_NOWHERE UINT32_MAX

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/* One finding. Findings of one name at one pair of positions are one report. */
struct emu_hazard_report {
    enum emu_hazard_name name;
    char text[200];    /* what was found, in words, without places */
    uint64_t count;    /* how often: accesses of a warp, or of an operation */
    uint64_t address;  /* generic, of the first time; 0 where there is none */
    uint32_t bytes;    /* of the access at address; 0 where there is none */
    uint32_t position; /* of the access or instruction that was being executed */
    uint32_t other;    /* of what it is in conflict with, or EMU_HAZARD_NOWHERE */
    uint64_t block;    /* linear number in the grid */
    uint64_t other_block;
    uint32_t warp, other_warp; /* in their blocks */
    uint32_t lanes;            /* that the finding is about */
    uint32_t tag;              /* the caller's; 0 at first */
    uint64_t event;            /* the engine's: which access was told when it was last found */
    uint32_t guess;            /* the engine's */
    uint8_t held;              /* not told yet (emu_hazard_settle) */
};

/* ---- Global memory over launches --------------------------------------------------------------------------------- */

/* Bytes of global memory that somebody has written since they were allocated. fresh: allocated or freed. */
int emu_hazard_memory_open(struct tw_runtime *rt, struct emu_hazard_memory **memory, struct tw_error *error);
void emu_hazard_memory_close(struct emu_hazard_memory *memory);
void emu_hazard_memory_fresh(struct emu_hazard_memory *memory, uint64_t address, uint64_t bytes);
void emu_hazard_memory_written(struct emu_hazard_memory *memory, uint64_t address, uint64_t bytes); /* by the host */

/* ---- A launch ---------------------------------------------------------------------------------------------------- */

struct emu_hazard_range {
    uint64_t address, bytes;
};

struct emu_hazard_options {
    uint32_t blocks;     /* of a cluster, 1 to 16 */
    uint32_t threads;    /* of a block, 1 to 1024 */
    int strict;          /* a generic read before an asynchronous refill needs the proxy fence too; an atomic
                            that does not say so acquires nothing, what its own block wrote neither */
    int programmatic;    /* what the previous launch wrote needs griddepcontrol.wait */
    int parts;           /* emu_hazard_sync may be told of a part of a warp: reads by its lanes stay apart */
    size_t shadow_bytes; /* most for the shadow of global memory, which then forgets; 0: 256 MiB */
    struct emu_hazard_memory *memory;    /* NULL: reads of global memory are never UNINIT */
    const struct emu_hazard_range *gaps; /* nobody's bytes of each block's shared memory: offsets */
    uint32_t gap_count;
    int first_only; /* hold nothing back, and tell nothing behind the first finding */
    /* Called when a report is made (count 1), or told at last; may set its tag; may be NULL */
    void (*report)(void *context, struct emu_hazard_report *report);
    void *context;
};

int emu_hazard_open(struct tw_runtime *rt, const struct emu_hazard_options *options, struct emu_hazard **hazard,
                    struct tw_error *error);
void emu_hazard_close(struct emu_hazard *hazard);       /* NULL is allowed */
int emu_hazard_status(const struct emu_hazard *hazard); /* TW_OK or TW_ERROR_MEMORY */

/* Reports in the order of first finding; valid until the next event. NULL behind the last. */
struct emu_hazard_report *emu_hazard_report_at(const struct emu_hazard *hazard, size_t index);

/* Some findings are mostly what another one brings about: reads of bytes that nothing has written, an arrival too many.
   They are held back until this is called, at the end of the launch or before a fault that ends it is reported. What
   only follows from findings that were told is dropped then. */
void emu_hazard_settle(struct emu_hazard *hazard);

/* A cluster becomes resident: linear numbers of its blocks are first + rank. NULL: no memory. It lives until _end,
   which comes after the last of its warps has exited (or when the launch is cut short). */
struct emu_hazard_cluster *emu_hazard_cluster_begin(struct emu_hazard *hazard, uint64_t first);
void emu_hazard_cluster_end(struct emu_hazard_cluster *cluster);

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

/* A warp of a resident block. The members below are for the executor's inline tests; the rest is the engine's. */
struct emu_hazard_warp {
    uint8_t *registers;      /* for each register: not 0 if accesses to it must be told */
    uint32_t register_count; /* registers behind the last are not told */
    uint8_t watched;         /* 1 where any register must be told */
    uint32_t *written;       /* for each register: what emu_hazard_written says; as many as register_count */
};

/* Stays in place until emu_hazard_cluster_end. */
struct emu_hazard_warp *emu_hazard_warp(struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t warp);

/* These lanes run from here on: another path. That orders nothing. All lanes run at first. */
void emu_hazard_lanes(struct emu_hazard_warp *warp, uint32_t lanes);

/* __syncwarp, or another instruction with a member mask, holds these lanes: what each of them did is before what any of
   them does next. Lanes that merely run together know nothing of each other. */
void emu_hazard_sync(struct emu_hazard_warp *warp, uint32_t lanes);

/* Lanes end. With the last lane of a block the block ends. */
void emu_hazard_exit(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t position);

/* A finding of somebody else's (bounds, alignment, ...), so that all are in one list. warp may be NULL. */
void emu_hazard_found(struct emu_hazard *hazard, struct emu_hazard_warp *warp, enum emu_hazard_name name,
                      uint32_t lanes, uint64_t address, uint32_t position, const char *format, ...) TW_PRINTF(7, 8);

/* ---- Accesses of threads ----------------------------------------------------------------------------------------- */

/* What an access is. ATOMIC: read-modify-write. STRONG: volatile, relaxed, acquire, release and atomics; with a scope.
   SAME: a write of the bytes that were there already: it is in no conflict with another write. */
enum {
    EMU_ACCESS_READ = 1,
    EMU_ACCESS_WRITE = 2,
    EMU_ACCESS_STRONG = 4,
    EMU_ACCESS_ATOMIC = EMU_ACCESS_READ | EMU_ACCESS_WRITE | EMU_ACCESS_STRONG,
    EMU_ACCESS_ACQUIRE = 8,
    EMU_ACCESS_RELEASE = 16,
    EMU_ACCESS_SAME = 32,
    EMU_ACCESS_CTA = 0 << 6, /* scopes; .sys is GPU here */
    EMU_ACCESS_CLUSTER = 1 << 6,
    EMU_ACCESS_GPU = 2 << 6,
    EMU_ACCESS_CAS = 1 << 8,       /* an ATOMIC that compares: an ordinary read before it, a guess, is no hazard */
    EMU_ACCESS_NC = 1 << 9,        /* ld.global.nc, tex, suld: what the launch writes may not be seen */
    EMU_ACCESS_VOLATILE = 1 << 10, /* .volatile, of those that are STRONG */
    EMU_ACCESS_POLL = 1 << 11,     /* a VOLATILE read in a loop that writes nothing: it waits for a value */
    EMU_ACCESS_ROW = 1 << 12,      /* known: all 32 lanes, each behind the bytes of the one before */
    EMU_ACCESS_PLACE = 1 << 13,    /* known: all lanes of `lanes` at one place */
    EMU_ACCESS_OWN = 1 << 14       /* known: in the block's own shared memory, below EMU_TENSOR_OFFSET */
};

/* Each lane of `lanes` accesses `bytes` bytes (1 to 32) at address[lane] + offset: ld, st, atom, red, ldmatrix and
   stmatrix rows. _shared: 32-bit shared addresses; _generic: any mix of global and shared ones. Told before or after
   the memory itself is accessed, in the order of execution. Lanes outside of memory must not be in `lanes`. */
void emu_hazard_shared(struct emu_hazard_warp *warp, uint32_t lanes, const uint32_t address[32], uint32_t offset,
                       uint32_t bytes, unsigned access, uint32_t position);
void emu_hazard_generic(struct emu_hazard_warp *warp, uint32_t lanes, const uint64_t address[32], uint64_t offset,
                        uint32_t bytes, unsigned access, uint32_t position);

/* ---- Fences ------------------------------------------------------------------------------------------------------ */

enum emu_hazard_fence {
    EMU_FENCE_CTA, /* fence.sc, fence.acq_rel, membar of that scope */
    EMU_FENCE_CLUSTER,
    EMU_FENCE_GPU,          /* and .sys */
    EMU_FENCE_PROXY_ASYNC,  /* all spaces */
    EMU_FENCE_PROXY_SHARED, /* fence.proxy.async.shared::cta, ::cluster */
    EMU_FENCE_PROXY_GLOBAL,
    EMU_FENCE_MBARRIER_INIT,
    EMU_FENCE_GRID /* griddepcontrol.wait */
};
void emu_hazard_fence(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_fence fence);

/* ---- Named barriers and the cluster's ---------------------------------------------------------------------------- */

/* Lanes arrive at barrier `id` (0 to 15). threads: the count they give, or all threads of the block where they give
   none. waits: bar.sync and bar.red, not bar.arrive. Lanes of one warp may come in parts. */
void emu_hazard_bar_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t id, uint32_t threads, int waits,
                           uint32_t position);

/* The barrier has its threads: everybody who waits at it passes. Told at once, before any of them goes on. */
void emu_hazard_bar_complete(struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t id);

/* barrier.cluster. The wait is told when it passes. */
void emu_hazard_cluster_arrive(struct emu_hazard_warp *warp, uint32_t lanes, int relaxed);
void emu_hazard_cluster_wait(struct emu_hazard_warp *warp, uint32_t lanes);
void emu_hazard_setmaxnreg(struct emu_hazard_warp *warp, uint32_t position);

/* ---- mbarrier ---------------------------------------------------------------------------------------------------- */

/* One object at a time; lanes are those that execute it with this address. address: generic, of any block's shared
   memory. completed: the phase ended by it. relaxed: .relaxed, no edge. */
void emu_hazard_mbarrier_init(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position);
void emu_hazard_mbarrier_inval(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position);
void emu_hazard_mbarrier_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, int relaxed,
                                int completed, uint32_t position); /* arrive, arrive_drop, with or without expect_tx */
void emu_hazard_mbarrier_expect(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position);

/* test_wait or try_wait: of the phase of this parity; done: it returned true. A failed one may be told each time. */
void emu_hazard_mbarrier_wait(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, unsigned parity, int done,
                              int relaxed, uint32_t position);

/* An arrival that finds none pending. Where the warp has arrived in this phase before, it ran ahead of a wait: then
   what it does next is the finding, and this one is told only if nothing else comes. */
void emu_hazard_mbarrier_over(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address, uint32_t position,
                              const char *text);

/* Nothing can run any more: failed waits are looked at once more. Reported as PHASE (a wrong parity), beside DEADLOCK:
   a wait for a phase whose forerunner the warp never waited for, and two warps that wait for each other's first phase.
 */
void emu_hazard_stuck(struct emu_hazard *hazard);

/* Whether a copy by a warp that still lives completed bytes on this barrier in the phase before and none in this one:
   that copy is what the phase waits for. */
int emu_hazard_mbarrier_lacks_copy(struct emu_hazard_cluster *cluster, uint64_t address);

/* Warps that have ever come to a named barrier. */
uint32_t emu_hazard_bar_warps(const struct emu_hazard_cluster *cluster, uint32_t rank, uint32_t id);

/* Addresses of the cluster's live barriers, one by one; 0 behind the last. */
uint64_t emu_hazard_mbarrier_at(const struct emu_hazard_cluster *cluster, uint32_t *next);

/* ---- Asynchronous operations ------------------------------------------------------------------------------------- */

enum emu_hazard_async {
    EMU_HAZARD_CP_ASYNC, /* cp.async: generic proxy; groups of a thread, or cp.async.mbarrier.arrive */
    EMU_HAZARD_BULK,     /* bulk and tensor stores and reductions to global memory: async proxy, bulk groups */
    EMU_HAZARD_SIGNAL,   /* bulk and tensor loads, cp.reduce to shared memory, st.async, red.async: a barrier's bytes */
    EMU_HAZARD_WGMMA,    /* wgmma: async proxy, groups of a warp */
    EMU_HAZARD_TCGEN05_MMA, /* tcgen05.mma: async proxy in shared memory; tcgen05.commit and a barrier */
    EMU_HAZARD_TCGEN05_LD,  /* tcgen05.ld: all of the warp's, tcgen05.wait::ld */
    EMU_HAZARD_TCGEN05_ST,  /* tcgen05.st: the same, tcgen05.wait::st */
    EMU_HAZARD_ASYNC_KINDS
};

/* A handle of an operation; 0 is none and is ignored everywhere. */
typedef uint64_t emu_hazard_operation;

/* An instruction starts asynchronous operations for these lanes: one handle for all of them, but for SIGNAL one for
   each lane whose barrier differs. Its accesses follow at once. Handles are valid until the cluster ends. */
emu_hazard_operation emu_hazard_issue(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind,
                                      uint32_t position);

/* What the operation reads and writes: source and destination, any number of ranges, those of one call all in global
   memory or all in one block's; the more in one call, the faster. lane: that issued it (of CP_ASYNC; else any).
   reduce: a write that reads too (cp.reduce, red.async): such are in no conflict with each other. */
void emu_hazard_reads(struct emu_hazard_warp *warp, emu_hazard_operation operation, unsigned lane,
                      const struct emu_hazard_range *ranges, uint32_t count);
void emu_hazard_writes(struct emu_hazard_warp *warp, emu_hazard_operation operation, unsigned lane,
                       const struct emu_hazard_range *ranges, uint32_t count, int reduce);

/* How the 16-byte chunks lie that are told from here on, as a tensor load writes and a wgmma reads them: bytes of the
   swizzle's span, 0 for none; line of 128 bytes of the address's pattern that is its first: a descriptor's base offset,
   0 of a copy. What was written in another way than it is read is SWIZZLE. */
void emu_hazard_swizzle(struct emu_hazard_warp *warp, emu_hazard_operation operation, uint32_t span, uint32_t line);

/* At issue, before the ranges are told: the operation will signal on this barrier, for the part of it that writes to
   the barrier's block. Once for each target. */
void emu_hazard_signals(struct emu_hazard_warp *warp, emu_hazard_operation operation, uint64_t address);

/* It signals now; completed: the phase ended by it. Several parts of one operation may come one by one. */
void emu_hazard_signal(struct emu_hazard *hazard, emu_hazard_operation operation, uint64_t address, int completed);

/* cp.async.mbarrier.arrive: the lanes' cp.asyncs so far are waited for by that barrier's phase, too. The arrival itself
   comes as emu_hazard_signal of the handle that this returns. */
emu_hazard_operation emu_hazard_cp_arrive(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address,
                                          uint32_t position);

/* commit_group and wait_group of kind CP_ASYNC, BULK or WGMMA: all but the last `most` groups. read: .read. _wait_all:
   cp.async.wait_all, committed or not. Told when the wait passes. */
void emu_hazard_commit(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind);
void emu_hazard_wait_group(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind, uint32_t most,
                           int read);
void emu_hazard_wait_all(struct emu_hazard_warp *warp, uint32_t lanes, enum emu_hazard_async kind);

#endif
