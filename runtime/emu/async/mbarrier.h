// The mbarrier object: 8 bytes of shared memory, and what each mbarrier instruction does to them (PTX ISA 9.7.13.15).
//
// The functions work on the word itself. Whoever calls them reads the 8 bytes, calls, and writes them back, so that a
// kernel that writes over a barrier breaks it here as it does on a GPU.
//
//      63 62 61                  41 40 39                 20 19                  0
//     +-----+----------------------+--+---------------------+---------------------+
//     | 1 0 |  transaction bytes   |P |  arrivals expected  |  arrivals pending   |
//     +-----+----------------------+--+---------------------+---------------------+
//       |      signed, 21 bits       |   of every phase to      of the current phase
//       |      (PTX: +-(2^20 - 1))   |   come, 1..2^20-1
//       a word that is none of      parity of the current phase:
//       these is no barrier         0 after init            (emu/barrier_word.h has the places)
//
// A phase completes when no arrival is pending and the transaction bytes are 0: the parity flips and pending becomes
// expected. The state that arrive returns is the word as it was before.
#ifndef EMU_MBARRIER_H
#define EMU_MBARRIER_H

#include "bytes.h"

enum {
    EMU_MBARRIER_COUNT_MOST = (1 << 20) - 1, // arrivals, and bytes either way
};

// The fields of a barrier word.
struct emu_mbarrier {
    uint32_t pending;  // arrivals that are still to come in this phase
    uint32_t expected; // arrivals of each phase to come
    int32_t tx;        // bytes expected less bytes that came
    unsigned parity;   // of the current, incomplete phase
};

// Takes a word apart. EMU_FAULT_BARRIER_INIT where it is no barrier (never initialised, invalidated, written over).
enum emu_fault_kind emu_mbarrier_decode(uint64_t word, struct emu_mbarrier *barrier, struct emu_fault *fault);

// mbarrier.init: the word for `count` arrivals. EMU_FAULT_BARRIER_COUNT unless 1 <= count <= 2^20 - 1.
enum emu_fault_kind emu_mbarrier_init(uint64_t *word, uint32_t count, struct emu_fault *fault);

// mbarrier.inval: the word is no barrier from now on. EMU_FAULT_BARRIER_INIT where it was none.
enum emu_fault_kind emu_mbarrier_inval(uint64_t *word, struct emu_fault *fault);

// What arrive does beside arriving.
enum {
    EMU_MBARRIER_DROP = 1,        // arrive_drop: later phases expect `count` arrivals less
    EMU_MBARRIER_NO_COMPLETE = 2, // .noComplete: PHASE where this arrival completes the phase
};

// mbarrier.arrive, arrive_drop, and with tx > 0 .expect_tx, which comes first. *state (may be NULL) gets what the
// instruction returns; *completed (may be NULL) whether this ended the phase. Faults leave the word as it was:
//   BARRIER_INIT   no barrier
//   BARRIER_COUNT  count is 0 or more than is pending
//   TX_BYTES       the transaction bytes leave +-(2^20 - 1)
//   PHASE          .noComplete completed the phase
enum emu_fault_kind emu_mbarrier_arrive(uint64_t *word, uint32_t count, uint32_t tx, unsigned flags, uint64_t *state,
                                        int *completed, struct emu_fault *fault);

// mbarrier.expect_tx and complete_tx. Besides the range, complete_tx faults with TX_BYTES where more bytes came than
// are expected and no arrival is left that could expect them (the word is changed all the same, as on a GPU).
// Completing can end the phase; *completed may be NULL.
enum emu_fault_kind emu_mbarrier_expect_tx(uint64_t *word, uint32_t tx, int *completed, struct emu_fault *fault);
enum emu_fault_kind emu_mbarrier_complete_tx(uint64_t *word, uint32_t tx, int *completed, struct emu_fault *fault);

// What cp.async.mbarrier.arrive without .noinc does when it is issued: one arrival more is pending in this phase.
enum emu_fault_kind emu_mbarrier_increment(uint64_t *word, struct emu_fault *fault);

// test_wait, try_wait: *done is 1 where the phase that the state names (.parity: the phase of that parity, 0 or 1) has
// completed. Only the current and the phase before it can be asked for, so this is whether the parities differ.
enum emu_fault_kind emu_mbarrier_test(uint64_t word, uint64_t state, int *done, struct emu_fault *fault);
enum emu_fault_kind emu_mbarrier_test_parity(uint64_t word, uint32_t parity, int *done, struct emu_fault *fault);

// mbarrier.pending_count of a state. BARRIER_INIT where the state is none.
enum emu_fault_kind emu_mbarrier_pending_count(uint64_t state, uint32_t *count, struct emu_fault *fault);

#endif
