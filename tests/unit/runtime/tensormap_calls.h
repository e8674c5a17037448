// Calls that are accepted, for tests to break.
#ifndef TW_TESTS_TENSORMAP_CALLS_H
#define TW_TESTS_TENSORMAP_CALLS_H

#include "tensormap/tensormap.h"

typedef struct tw_tensormap_call call_t;

static inline call_t tiled(void)
{
    return (call_t){
        .func = TW_TENSORMAP_TILED,
        .dtype = 9,
        .rank = 3,
        .addr = UINT64_C(0x7f0000000000),
        .dim = {256, 128, 64},
        .stride = {512, 65536},
        .box = {64, 16, 2},
        .estride = {1, 1, 1},
    };
}

static inline call_t im2col(void)
{
    return (call_t){
        .func = TW_TENSORMAP_IM2COL,
        .dtype = 6,
        .rank = 4,
        .addr = UINT64_C(0x7f0000000000),
        .dim = {64, 20, 30, 8},
        .stride = {128, 2560, 76800},
        .lower = {-1, -2},
        .upper = {-1, 2},
        .channels = 32,
        .pixels = 64,
        .estride = {1, 1, 1, 1},
    };
}

static inline call_t wide(void)
{
    call_t c = im2col();
    c.func = TW_TENSORMAP_IM2COL_WIDE;
    c.swizzle = 3;
    return c;
}

#endif
