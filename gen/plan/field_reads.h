/* Which of a kernel's fields a lowering heeds. What a spec says and no lowering heeds is told of: lower/effects.c.
 *
 * A set of numbers by kind of field: bit i is number i; what has no bit counts as heeded.
 */
#ifndef TW_GEN_PLAN_FIELD_READS_H
#define TW_GEN_PLAN_FIELD_READS_H

#include <stdbool.h>
#include <stdint.h>

enum field_kind {
    FIELD_OF_SCHEMA, /* by row */
    FIELD_CLUSTER,   /* by axis */
    FIELD_SWIZZLE,   /* by tensor, and so the next one */
    FIELD_MAPS,
    FIELD_AHEAD, /* by entry of the kernel's, and so the next three */
    FIELD_VIA,
    FIELD_DIRECTION,
    FIELD_CACHE,
    FIELD_SPLIT,
    FIELD_KINDS
};

struct field_reads {
    uint64_t read[FIELD_KINDS];
    uint64_t idle; /* rows of the schema that are read, and decide nothing in this program */
};

static inline uint64_t field_reads_bit(int number)
{
    return number >= 0 && number < 64 ? UINT64_C(1) << number : 0;
}

static inline void field_reads_add(struct field_reads *r, enum field_kind kind, int number)
{
    r->read[kind] |= field_reads_bit(number);
}

static inline bool field_reads_has(const struct field_reads *r, enum field_kind kind, int number)
{
    const uint64_t bit = field_reads_bit(number), set = r->read[kind] & ~(kind == FIELD_OF_SCHEMA ? r->idle : 0);
    return bit == 0 || (set & bit) != 0;
}

#endif
