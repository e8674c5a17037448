/* One tensor load by itself: what it writes into shared memory and whether its barrier completes, for whoever wants to
   look at a tensor map without a kernel.

   The tensor lies at EMU_GLOBAL_START or behind it (addresses.h); byte i of memory from there on holds the low byte of
   (i * 2654435761) >> 16, the product cut to 32 bits. Shared memory begins as EMU_TENSOR_LOAD_POISON. */
#ifndef EMU_TENSOR_LOAD_H
#define EMU_TENSOR_LOAD_H

#include "hooks.h"
#include "tensormap/tensormap.h"

enum {
    EMU_TENSOR_LOAD_POISON = 0xcd,
    EMU_TENSOR_LOAD_LEAST = 3072,          /* bytes of shared memory that there are at least */
    EMU_TENSOR_LOAD_EXPECT = (1 << 20) - 1 /* most that a barrier can expect */
};

struct emu_tensor_load {
    uint64_t image[16]; /* the tensor map, encoded */
    int32_t coord[5];   /* innermost first: as many as the map has dims */
    uint16_t offset[3]; /* im2col: two less */
    uint32_t expected;  /* bytes that the barrier is told to expect */
};

struct emu_tensor_loaded {
    unsigned char *shared; /* the bytes of a box, at least EMU_TENSOR_LOAD_LEAST; the caller's to free with tw_free.
                              NULL where the load is an illegal instruction */
    size_t bytes;
    int completed;      /* the barrier's phase ended */
    const char *hazard; /* why it is illegal: a name of hazards.def, or of a fault; NULL: it is not */
    char text[160];     /* the same in words */
};

/* TW_OK, also for an illegal one; TW_ERROR_MEMORY. */
int emu_tensor_load(struct tw_runtime *rt, const struct emu_tensor_load *load, struct emu_tensor_loaded *loaded);

#endif
