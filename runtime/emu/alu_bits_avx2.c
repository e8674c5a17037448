#include "alu_avx2.h"
#if defined(__x86_64__)
#include "alu_bits.c"
#endif
