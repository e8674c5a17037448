// What the parts of the emulator share with the memory and with each other: memory as two callbacks, and faults as
// values.
#ifndef EMU_BYTES_H
#define EMU_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

// Memory by generic address: global and shared alike. Both calls move all bytes and return 0, or move none and return
// another value where a part lies outside of what is allocated (of no bytes: where the address does). One of these
// stands for what one cluster sees; whoever hands it to an asynchronous operation keeps it in place until the operation
// is done.
struct emu_bytes {
    void *context;
    int (*read)(void *context, uint64_t address, void *to, size_t bytes);
    int (*write)(void *context, uint64_t address, const void *from, size_t bytes);
};

// Faults. FAULT(ID, name as in the list of hazards, text).
#define EMU_FAULTS(FAULT)                                                                                              \
    FAULT(NONE, "none", "no fault")                                                                                    \
    FAULT(BOUNDS, "BOUNDS", "access outside of allocated memory")                                                      \
    FAULT(ALIGN, "ALIGN", "misaligned address")                                                                        \
    FAULT(TMA_INNER, "TMA-INNER", "innermost coordinate is no multiple of 16 bytes")                                   \
    FAULT(TMA_CHUNK, "TMA-CHUNK", "a tensor store overwrites what follows the row in its last 16 bytes")               \
    FAULT(TX_BYTES, "TX-BYTES", "transaction bytes differ from what the barrier expects")                              \
    FAULT(PHASE, "PHASE", "wrong phase of a barrier")                                                                  \
    FAULT(BARRIER_INIT, "BARRIER-INIT", "no initialised barrier")                                                      \
    FAULT(BARRIER_COUNT, "BARRIER-COUNT", "wrong number of arrivals")                                                  \
    FAULT(ILLEGAL, "ILLEGAL", "illegal instruction")                                                                   \
    FAULT(MEMORY, "MEMORY", "the emulator has no memory left")

enum emu_fault_kind {
#define EMU_FAULT_ENUM(ID, name, text) EMU_FAULT_##ID,
    EMU_FAULTS(EMU_FAULT_ENUM)
#undef EMU_FAULT_ENUM
        EMU_FAULT_COUNT
};

// Why something failed. Functions that take one write it only where they return another kind than EMU_FAULT_NONE; NULL
// is allowed.
struct emu_fault {
    enum emu_fault_kind kind;
    uint64_t address; // where, if at an address
    char text[160];   // in words, zero-terminated
};

// "TMA-INNER" for EMU_FAULT_TMA_INNER; "?" for no kind.
const char *emu_fault_name(enum emu_fault_kind kind);

// Fills *fault (nothing if NULL) and returns kind.
enum emu_fault_kind emu_fail(struct emu_fault *fault, enum emu_fault_kind kind, uint64_t address, const char *format,
                             ...) TW_PRINTF(4, 5);

#endif
