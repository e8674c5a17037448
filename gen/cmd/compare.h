/* Results against a double-precision reference, and memory that nothing may have touched. */
#ifndef TW_GEN_CMD_COMPARE_H
#define TW_GEN_CMD_COMPARE_H

#include <stdbool.h>

#include "cmd/shape.h"
#include "dtype.h"
#include "hooks.h"

/* What untouched memory holds: each byte of it. A float of such bytes is not a number. */
enum { COMPARE_POISON = 0xff };

/* One output tensor on the host. */
struct compare {
    const char *name;
    enum tw_dtype dtype;
    const struct shape *shape;
    const unsigned char *bytes; /* its first element */
    const double *reference;    /* dense, row-major in its dims */
};

struct compare_result {
    double error;        /* relative Frobenius error: |result - reference| / |reference|; infinity where one of them is
                            not a number and the other is */
    double rounding;     /* the same error of the reference rounded to the dtype: what no result can be blamed for */
    int64_t different;   /* elements that differ from the reference rounded to the dtype */
    char first[256];     /* "D[3,17] is 2.5, the reference 2.75": the first that differs so; "" where none does */
    char worst[256];     /* the one farthest from the reference, rounding aside or not; "" where none differs at all */
};

/* The bound on the relative error of a result of this type: 3e-3 bf16, 5e-4 fp16, 1e-5 fp32; 0: must be equal. A result
 * of few elements may be farther away by rounding alone (one bf16 by 2^-8): the bound is then just above `rounding`. */
double compare_bound(enum tw_dtype dtype, double rounding);

/* Compares all elements. TW_OK or TW_ERROR_MEMORY; whether they agree is the caller's to say. The sums are made in a
 * fixed order: the same data give the same error to the last bit. */
int compare_values(struct tw_runtime *rt, const struct compare *compare, struct compare_result *result,
                   struct tw_error *error);

/* True where every byte of buffer[0..count) outside the tensor's elements, whose first begins at `begin`, still holds
 * COMPARE_POISON. Overwrites the elements, which is what makes any strides easy. Else *text says which byte was
 * touched. */
bool compare_untouched(const char *name, enum tw_dtype dtype, const struct shape *shape, unsigned char *buffer,
                       size_t begin, size_t count, char text[256]);

#endif
