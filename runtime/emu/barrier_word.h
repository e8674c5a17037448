/* The 8 bytes of an mbarrier on the device emu, for whoever reads a kernel's memory (async/mbarrier.h draws them):
   where its fields lie. Bit 63 is set and bit 62 is not: no other word is a barrier. */
#ifndef EMU_BARRIER_WORD_H
#define EMU_BARRIER_WORD_H

enum {
    EMU_BARRIER_PENDING_AT = 0, /* arrivals that are still to come in this phase */
    EMU_BARRIER_EXPECTED_AT = 20,
    EMU_BARRIER_COUNT_BITS = 20, /* of both */
    EMU_BARRIER_PARITY_AT = 40,
    EMU_BARRIER_TX_AT = 41, /* bytes expected less bytes that came, signed */
    EMU_BARRIER_TX_BITS = 21,
    EMU_BARRIER_SIGN_AT = 62,
    EMU_BARRIER_SIGN = 2
};

#endif
