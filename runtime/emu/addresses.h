/* Where memories lie in the generic address space of the device emu. */
#ifndef EMU_ADDRESSES_H
#define EMU_ADDRESSES_H

#include <stdint.h>

enum {
    EMU_SHARED_START = 0x400, /* offset of a block's first byte of shared memory, as on hardware */
    EMU_RESERVED = 0x80,      /* offset of what CUDA keeps for cooperative groups below a block's shared memory, */
    EMU_RESERVED_BYTES = 288, /* and how much; zeros at first */
    EMU_LOCAL_START = 0x100   /* first valid local address */
};

/* Generic addresses: the 32-bit shared and local addresses lie in windows. Shared memory of the block of rank r starts
   at EMU_SHARED_WINDOW + r * EMU_SHARED_STRIDE. */
#define EMU_SHARED_WINDOW UINT64_C(0x100000000)
#define EMU_SHARED_STRIDE UINT64_C(0x1000000)
/* Tensor memory has no address that loads and stores take. Reports and the hazard engine have a block's at this offset
   of its window: 512 bytes a column, 4 a lane. */
#define EMU_TENSOR_OFFSET UINT64_C(0x80000)
#define EMU_TENSOR_BYTES UINT64_C(0x40000)
#define EMU_LOCAL_WINDOW UINT64_C(0x200000000)
#define EMU_PARAM_WINDOW UINT64_C(0x300000000)
#define EMU_FUNCTION_START UINT64_C(0x500000000)

/* Global memory: from EMU_MAPPED_START on memory of the host's that was mapped at its own address, from
   EMU_GLOBAL_START on what the device allocates. */
#define EMU_MAPPED_START UINT64_C(0x600000000)
#define EMU_GLOBAL_START UINT64_C(0x700000000000)

static inline int emu_is_tensor(uint64_t address)
{
    return address >> 32 == 1 && (address & (EMU_SHARED_STRIDE - 1)) - EMU_TENSOR_OFFSET < EMU_TENSOR_BYTES;
}

#endif
