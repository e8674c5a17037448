#include "lanes.h"

const uint32_t emu_lane_bits[EMU_LANES] = {
#define BITS(i) 1u << (i), 1u << (i + 1), 1u << (i + 2), 1u << (i + 3)
    BITS(0),  BITS(4),  BITS(8), BITS(12), BITS(16),
    BITS(20), BITS(24), BITS(28)
#undef BITS
};
