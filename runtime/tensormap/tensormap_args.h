// Shared by the files of this room and whoever prints and reads calls: the arguments of a call as a table, so that
// rules, messages, repair, printing and reading go through one list.
#ifndef TW_TENSORMAP_ARGS_H
#define TW_TENSORMAP_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensormap.h"

enum tmap_arg {
    TMAP_NONE, // no argument: one entry, 0
#define ARG(ID, name, member, bytes, funcs, entries, is_signed) TMAP_##ID,
#include "tensormap_args.def"
    TMAP_ARG_COUNT
};

// Sets of funcs.
enum {
    TMAP_FUNCS_TILED = 1 << TW_TENSORMAP_TILED,
    TMAP_FUNCS_IM2COL = 1 << TW_TENSORMAP_IM2COL,
    TMAP_FUNCS_WIDE = 1 << TW_TENSORMAP_IM2COL_WIDE,
    TMAP_FUNCS_PIXELS = TMAP_FUNCS_IM2COL | TMAP_FUNCS_WIDE,
    TMAP_FUNCS_ALL = TMAP_FUNCS_TILED | TMAP_FUNCS_PIXELS,
    TMAP_FUNCS_UNKNOWN = 8,
};

enum tmap_entries { TMAP_ENTRIES_ONE, TMAP_ENTRIES_RANK, TMAP_ENTRIES_STRIDES, TMAP_ENTRIES_CORNERS };

// A row of tensormap_args.def and where it lies in struct tw_tensormap_call.
struct tmap_arg_info {
    const char *name;
    unsigned funcs;
    enum tmap_entries entries;
    unsigned is_signed;
    size_t offset; // in the struct, bytes
    size_t size;   // of one entry, bytes: 4 or 8
    unsigned room; // entries that the struct holds
};

// In the header, as the functions on it are, so that the rules, whose arguments are constants, compile to plain loads.
#define TMAP_ROOM(member, bytes) (sizeof((struct tw_tensormap_call *)0)->member / (bytes))

static const struct tmap_arg_info tmap_args[TMAP_ARG_COUNT] = {
    {"", TMAP_FUNCS_ALL | TMAP_FUNCS_UNKNOWN, TMAP_ENTRIES_ONE, 0, 0, 0, 1},
#define ARG(ID, name, member, bytes, funcs, entries, is_signed)                                                        \
    {name,  TMAP_FUNCS_##funcs,      TMAP_ENTRIES_##entries, is_signed, offsetof(struct tw_tensormap_call, member),    \
     bytes, TMAP_ROOM(member, bytes)},
#include "tensormap_args.def"
};
#undef TMAP_ROOM

// Adds to text[*used] as printf does, zero-terminated and cut at size; *used stays below size.
void tw_tmap_append(char *text, size_t size, size_t *used, const char *format, ...) TW_PRINTF(4, 5);

// The argument that a rule is about; TMAP_NONE for none.
enum tmap_arg tw_tmap_rule_arg(enum tw_tensormap_rule rule);

// "tiled", "im2col", "im2col_wide"; "?" for another value.
const char *tw_tmap_func_name(enum tw_tensormap_func func);

// The rank where it is valid for the func, else 0.
static inline unsigned tmap_rank(const struct tw_tensormap_call *c)
{
    uint32_t least = c->func == TW_TENSORMAP_TILED ? 1 : 3;
    return c->rank >= least && c->rank <= 5 ? c->rank : 0;
}

// Entries of an argument that the driver reads: 0 where the func does not have it or, for a list, the rank is invalid.
static inline unsigned tmap_entries(const struct tw_tensormap_call *c, enum tmap_arg arg)
{
    unsigned func = (unsigned)c->func < 3 ? 1u << c->func : TMAP_FUNCS_UNKNOWN;
    if (!(tmap_args[arg].funcs & func))
        return 0;
    unsigned rank = tmap_rank(c);
    switch (tmap_args[arg].entries) {
    case TMAP_ENTRIES_ONE:
        return 1;
    case TMAP_ENTRIES_RANK:
        return rank;
    case TMAP_ENTRIES_STRIDES:
        return rank ? rank - 1 : 0;
    case TMAP_ENTRIES_CORNERS:
        return rank == 0 ? 0 : c->func == TW_TENSORMAP_IM2COL_WIDE ? 1 : rank - 2;
    }
    return 0;
}

// One entry; signed ones are sign-extended. Setting one keeps the low bits that fit.
static inline uint64_t tmap_get(const struct tw_tensormap_call *c, enum tmap_arg arg, unsigned entry)
{
    const struct tmap_arg_info *a = &tmap_args[arg];
    const char *at = (const char *)c + a->offset + entry * a->size;
    uint64_t wide;
    uint32_t narrow;
    if (a->size == 8) {
        memcpy(&wide, at, 8);
        return wide;
    }
    if (a->size == 0)
        return 0;
    memcpy(&narrow, at, 4);
    return a->is_signed && narrow >> 31 ? narrow | UINT64_C(0xffffffff) << 32 : narrow;
}

static inline void tmap_set(struct tw_tensormap_call *c, enum tmap_arg arg, unsigned entry, uint64_t value)
{
    const struct tmap_arg_info *a = &tmap_args[arg];
    char *at = (char *)c + a->offset + entry * a->size;
    uint32_t narrow = (uint32_t)value;
    if (a->size == 8)
        memcpy(at, &value, 8);
    else if (a->size == 4)
        memcpy(at, &narrow, 4);
}

// The name of an enum argument's value, NULL if it has none (or the argument is no enum).
const char *tw_tmap_value_name(enum tmap_arg arg, uint64_t value);

// The value of that name: 0 and *value set, or -1.
int tw_tmap_value_from_name(enum tmap_arg arg, const char *name, uint64_t *value);

// A CUtensorMapDataType; NULL past the last.
struct tmap_dtype {
    const char *name;
    unsigned bits;
    unsigned is_float;
    int hardware;
    unsigned tf32;
};
const struct tmap_dtype *tw_tmap_dtype(uint32_t dtype);

// Shared memory that the driver reckons for one box, bytes, UINT64_MAX if it does not fit 64 bits: per dimension box /
// estride rounded down (tiled), or channels x pixels. 0 where dtype or rank is invalid or an element stride is 0.
uint64_t tw_tmap_smem_bytes(const struct tw_tensormap_call *c);

// The first numbers past what a map's fields hold.
#define TMAP_ADDRESS_END (UINT64_C(1) << TW_TENSORMAP_ADDRESS_BITS)
#define TMAP_STRIDE_END (UINT64_C(1) << TW_TENSORMAP_STRIDE_BITS)
#define TMAP_DIM_MOST (UINT64_C(1) << TW_TENSORMAP_DIM_BITS)

// Alignment in shared memory that the driver notes for a swizzle of 0..3: 16 bytes, or 8 spans.
uint32_t tw_tmap_smem_align(uint32_t swizzle);

// Bits of a corner: 16, 8 or 5 at rank 3, 4 or 5.
unsigned tw_tmap_corner_bits(unsigned rank);

#endif
