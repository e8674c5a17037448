/* The layer's sizes and weights, which server and client both know. They stand where a real server reads a
 * checkpoint. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <stdint.h>

#include "bf16.h"

enum { FFN_WIDTH = 256, FFN_HIDDEN = 512 };

/* Row-major bf16, as its 16 bits. */
struct ffn_weights {
    uint16_t up[FFN_HIDDEN][FFN_WIDTH], up_bias[FFN_HIDDEN];
    uint16_t down[FFN_WIDTH][FFN_HIDDEN], down_bias[FFN_WIDTH];
};

/* -1 to 1, from any state but 0. */
static inline float next_number(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static inline void make_weights(struct ffn_weights *w)
{
    uint32_t state = 2463534242u;
    for (int h = 0; h < FFN_HIDDEN; h++) {
        w->up_bias[h] = to_bf16(next_number(&state));
        for (int i = 0; i < FFN_WIDTH; i++)
            w->up[h][i] = to_bf16(next_number(&state) / 8);
    }
    for (int i = 0; i < FFN_WIDTH; i++) {
        w->down_bias[i] = to_bf16(next_number(&state));
        for (int h = 0; h < FFN_HIDDEN; h++)
            w->down[i][h] = to_bf16(next_number(&state) / 8);
    }
}

#endif
