/* The values of input tensors: random, yet the same for the same seed, kernel, tensor and element, whatever the order,
 * the number of threads and the strides. */
#ifndef TW_GEN_VERIFY_INPUTS_H
#define TW_GEN_VERIFY_INPUTS_H

#include <stdint.h>

#include "dtype.h"
#include "spec/fill.h"
#include "verify/shape.h"

/* How the inputs of a verification run are drawn. */
enum inputs_kind {
    INPUTS_NORMAL, /* random normal values: relative Frobenius error */
    INPUTS_INTEGER /* small integers: sums are exact in fp32, results must be equal where the arithmetic is exact */
};

/* How one tensor is filled. */
struct inputs {
    uint64_t key;             /* of inputs_key */
    enum inputs_kind kind;
    double scale;             /* NORMAL: standard deviation; INTEGER: the largest magnitude */
    struct fill fill;         /* FILL_DRAWN: as kind says */
    const double *values;     /* of each element, row-major, or NULL: as fill says */
};

/* The key of a tensor's values. */
uint64_t inputs_key(uint64_t seed, const char *kernel, const char *tensor);

/* Writes every element of the tensor at `bytes` (its first element), converted by tw_dtype_store; bytes between rows
 * stay. Integer types without a fill get integers: of magnitude `scale`, 4 where that is less than 1. */
void inputs_write(const struct inputs *inputs, enum tw_dtype dtype, const struct shape *shape, void *bytes);

/* One random number: stream element `counter` of `key`, uniform over 64 bits. */
uint64_t inputs_random(uint64_t key, uint64_t counter);

#endif
