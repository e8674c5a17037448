/* What of a loaded kernel's code was executed, over all its launches since it was loaded: branches, guards, returns and
   calls note which ways they went, and the rest follows from the flow between them. Instructions come with their places
   in the CUDA source, so that a listener can speak of its lines. It costs a byte an operation, a store a branch. */
#ifndef EMU_COVERAGE_H
#define EMU_COVERAGE_H

#include "emu.h"

enum { EMU_COVERED_PLACES = 16 }; /* most levels of inlining that are told: the innermost ones, and the outermost */

/* A line of CUDA source. */
struct emu_covered_place {
    const char *file; /* as the compiler was told; as long as the kernel is loaded */
    uint32_t line;
};

/* One instruction of the PTX text. Valid during the call. */
struct emu_covered {
    struct emu_covered_place place[EMU_COVERED_PLACES]; /* innermost first, through inlining to the function it is in */
    int place_count;                                    /* 0: the compiler's own, or compiled without line numbers */
    uint32_t ptx_line;
    uint8_t ran;      /* for some lane */
    uint8_t doomed;   /* nothing but a trap or a failed assertion comes behind it */
    uint8_t chooses;  /* a conditional branch neither way of which is doomed */
    uint8_t away, on; /* such a branch was taken, was not taken, by some lane */
    uint8_t closes;   /* a branch back, conditional or not: it closes a loop */
    uint8_t repeated; /* such a branch was taken */
};

/* Calls `tell` for every instruction of every function that the kernel's module executes, in the order of the text. The
   kernel must be one of the emulator's. TW_OK, or TW_ERROR_MEMORY. */
int emu_kernel_coverage(const struct tw_kernel *kernel, void (*tell)(void *context, const struct emu_covered *covered),
                        void *context);

#endif
