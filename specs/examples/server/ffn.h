/* The layer of ffn.lua on a device: out = x + gelu(x W1^T + b1) W2^T + b2, row by row. */
#ifndef FFN_H
#define FFN_H

#include <stdint.h>

#include "ffn_down.h"
#include "ffn_up.h"
#include "gpu.h"
#include "protocol.h"
#include "weights.h"

struct ffn {
    struct gpu *gpu;
    struct ffn_up up;
    struct ffn_down down;
    uint64_t weights, x, hidden, out; /* device addresses; the last three have room for MOST_ROWS */
};

/* Loads both kernels and the weights. 0, or -1 with a reason in gpu->why. After any result ffn_close is due. */
int ffn_open(struct ffn *ffn, struct gpu *gpu, const struct ffn_weights *weights);
void ffn_close(struct ffn *ffn);

/* out[rows][FFN_WIDTH] from x[rows][FFN_WIDTH], rows at most MOST_ROWS. 0, or -1 with a reason in gpu->why. */
int ffn_run(struct ffn *ffn, const float *x, float *out, uint32_t rows);

#endif
