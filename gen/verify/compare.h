/* Results against a double-precision reference, and memory that nothing may have touched. */
#ifndef TW_GEN_VERIFY_COMPARE_H
#define TW_GEN_VERIFY_COMPARE_H

#include <stdbool.h>

#include "dtype.h"
#include "hooks.h"
#include "verify/shape.h"

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

/* Two results of one shape and dtype, first elements. *relative: |one - other| / |other|, Frobenius norms over all
 * elements, infinities that are equal left out of the second; NaN where one is not a number, but with `numbers_alone`
 * where both are not. TW_OK or TW_ERROR_MEMORY. */
struct compare_pair {
    enum tw_dtype dtype;
    const struct shape *shape;
    const unsigned char *one, *other;
    bool numbers_alone;
};
int compare_apart(struct tw_runtime *rt, const struct compare_pair *pair, double *relative, struct tw_error *error);

/* Compares all elements. TW_OK or TW_ERROR_MEMORY; whether they agree is the caller's to say. The sums are made in a
 * fixed order: the same data give the same error to the last bit. */
int compare_values(struct tw_runtime *rt, const struct compare *compare, struct compare_result *result,
                   struct tw_error *error);

/* What a program's meaning says beside the reference, element by element. */
struct compare_bounds {
    const double *bound;       /* how far a result may lie from the reference; infinity: anywhere */
    const unsigned char *done; /* 0: the program does not write the element */
    bool all;                  /* false: it may write elements that are not done, as only some items were evaluated */
    bool begins_at_zero;       /* what is not written holds 0, else COMPARE_POISON */
    bool integers;             /* inputs are integers: where the bound is that of one rounding, the value is the
                                  rounded reference */
};

struct compare_bounded {
    double error, bound;  /* relative Frobenius norms, over the elements that are done, of the differences and of the
                             bounds */
    int64_t beyond;       /* elements beyond their bound, or written where none should be */
    int64_t done;         /* elements that the program writes ... */
    int64_t unbounded;    /* ... and those of them that may hold anything */
    int64_t nan;          /* ... of which so many are no number where the reference is one */
    bool exact;           /* no bound is more than what rounding to the dtype takes */
    char worst[256];      /* one that is beyond its bound: the farthest, in bounds; "" where none is */
};

/* Compares all elements that are done with their own bounds, and where all items were evaluated the others with what
 * they held before. As compare_values otherwise. */
int compare_bounded(struct tw_runtime *rt, const struct compare *compare, const struct compare_bounds *bounds,
                    struct compare_bounded *result, struct tw_error *error);

/* True where every byte of buffer[0..count) outside the tensor's elements, whose first begins at `begin`, still holds
 * COMPARE_POISON. Overwrites the elements, which is what makes any strides easy. Else *text says which byte was
 * touched. */
bool compare_untouched(const char *name, enum tw_dtype dtype, const struct shape *shape, unsigned char *buffer,
                       size_t begin, size_t count, char text[256]);

#endif
