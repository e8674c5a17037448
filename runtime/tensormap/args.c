// The arguments of a call as a table.
#include "tensormap_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct tmap_dtype dtypes[] = {
#define X(name, bits, is_float, hardware, tf32) {#name, bits, is_float, hardware, tf32},
#include "tensormap_dtypes.def"
#undef X
};

static const struct {
    enum tmap_arg arg;
    uint64_t value;
    const char *name;
} values[] = {
#define VALUE(ID, value, name) {TMAP_##ID, value, name},
#include "tensormap_args.def"
};

const char *tw_tmap_func_name(enum tw_tensormap_func func)
{
    static const char *const names[] = {"tiled", "im2col", "im2col_wide"};
    return (unsigned)func < 3 ? names[func] : "?";
}

const char *tw_tmap_value_name(enum tmap_arg arg, uint64_t value)
{
    if (arg == TMAP_DTYPE)
        return value < sizeof dtypes / sizeof *dtypes ? dtypes[value].name : NULL;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].arg == arg && values[i].value == value)
            return values[i].name;
    return NULL;
}

int tw_tmap_value_from_name(enum tmap_arg arg, const char *name, uint64_t *value)
{
    for (size_t i = 0; arg == TMAP_DTYPE && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *value = i;
            return 0;
        }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].arg == arg && strcmp(values[i].name, name) == 0) {
            *value = values[i].value;
            return 0;
        }
    return -1;
}

const struct tmap_dtype *tw_tmap_dtype(uint32_t dtype)
{
    return dtype < sizeof dtypes / sizeof *dtypes ? &dtypes[dtype] : NULL;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t tw_tmap_smem_bytes(const struct tw_tensormap_call *c)
{
    const struct tmap_dtype *dtype = tw_tmap_dtype(c->dtype);
    unsigned rank = tmap_rank(c);
    uint64_t elements = 1;
    if (!dtype || !rank)
        return 0;
    if (c->func == TW_TENSORMAP_TILED)
        for (unsigned i = 0; i < rank; i++) {
            if (c->estride[i] == 0)
                return 0;
            elements = multiply(elements, c->box[i] / c->estride[i]);
        }
    else
        elements = (uint64_t)c->channels * c->pixels;
    uint64_t bits = multiply(elements, dtype->bits);
    return bits == UINT64_MAX ? bits : bits / 8;
}

uint32_t tw_tmap_smem_align(uint32_t swizzle)
{
    return swizzle == 0 ? 16 : 128u << (swizzle & 3);
}

unsigned tw_tmap_corner_bits(unsigned rank)
{
    return rank == 3 ? 16 : rank == 4 ? 8 : 5;
}

void tw_tmap_append(char *text, size_t size, size_t *used, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text + *used, size - *used, format, list);
    va_end(list);
    if (length > 0)
        *used += (size_t)length < size - *used ? (size_t)length : size - *used - 1;
}
