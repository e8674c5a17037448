/* bf16 is the upper half of a float. */
#ifndef BF16_H
#define BF16_H

#include <stdint.h>
#include <string.h>

/* To the nearest, ties to even. Of a finite number. */
static inline uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
