/* Limits of architectures: what the emulator models, and what plans are checked against. architectures.def has a row
   for each; what all of them share stands here.

   Sources: CUDA programming guide, "Compute capabilities"; the CUDA occupancy calculator. Constant data: any thread may
   read it. */
#ifndef TW_ARCHITECTURE_H
#define TW_ARCHITECTURE_H

#include <stddef.h>
#include <stdint.h>

/* Of every architecture here. */
enum {
    TW_ARCH_WARP = 32,      /* threads */
    TW_ARCH_THREADS = 1024, /* most of a block */
    TW_ARCH_BARRIERS = 16,  /* named barriers of a block, number 0 included */
    TW_ARCH_REGISTERS_PER_THREAD = 255,
    TW_ARCH_REGISTER_UNIT = 8,      /* registers of a thread are given out in multiples of it */
    TW_ARCH_SHARED_UNIT = 128,      /* bytes: the same of shared memory */
    TW_ARCH_SHARED_RESERVED = 1024, /* bytes of a multiprocessor's that the system takes for each resident block */
    TW_ARCH_PORTABLE_CLUSTER = 8,   /* most blocks of a cluster without the opt-in */
    TW_ARCH_PARAMETER_BYTES = 32764 /* of a kernel; drivers before CUDA 12.1 take 4096 */
};

struct tw_architecture {
    const char *name; /* "sm_90a" */
    int major, minor; /* compute capability */
    uint32_t shared_per_sm, shared_limit, registers_per_sm, threads_per_sm, blocks_per_sm, cluster;
    int multiprocessors, khz;
    size_t l2;
};

/* Oldest first; ends with name == NULL. */
extern const struct tw_architecture tw_architectures[];

/* The row of that name; NULL: there is none. */
const struct tw_architecture *tw_architecture_find(const char *name);

/* What a name says: "sm_90a" is 9.0, with features that no other architecture has. Returns 0, or -1: it is none. */
struct tw_architecture_name {
    int major, minor;
    int number;  /* 90 */
    char suffix; /* 'a', or 0 */
};
int tw_architecture_parse(const char *name, struct tw_architecture_name *parsed);

/* "sm_80, sm_86 and sm_90": all of them into text, cut at bytes. Returns text. */
const char *tw_architecture_names(char *text, size_t bytes);

/* Blocks that a multiprocessor holds at a time; 0: not one fits. registers: of a thread, 0: not known. */
uint32_t tw_resident_blocks(const struct tw_architecture *architecture, uint32_t threads, uint32_t registers,
                            uint32_t shared_bytes);

#endif
