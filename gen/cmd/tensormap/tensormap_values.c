// Values of a tensor-map call's arguments as people write them.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L // strcasecmp
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/tensormap/tensormap_values.h"
#include "common/dtype_names.h"
#include "dtype.h"
#include "spec/diag.h"

enum { NAME = 64, CANDIDATES = 64 };

// What cuda.h writes before the names of an enum's values, each part of it left out or not.
static const struct {
    enum tmap_arg arg; // TMAP_NONE: of every enum
    const char *text;
} prefixes[] = {
    {TMAP_NONE, "CU_TENSOR_MAP_"}, {TMAP_DTYPE, "DATA_TYPE_"}, {TMAP_INTERLEAVE, "INTERLEAVE_"},
    {TMAP_SWIZZLE, "SWIZZLE_"},    {TMAP_L2, "L2_PROMOTION_"}, {TMAP_L2, "L2_"},
    {TMAP_OOB, "FLOAT_OOB_FILL_"}, {TMAP_OOB, "OOB_FILL_"},    {TMAP_MODE, "IM2COL_WIDE_MODE_"},
};

// Names beside those of the arguments' own table; of cuda.h where that one has a shorter one.
static const struct {
    enum tmap_arg arg;
    const char *name;
    uint64_t value;
} others[] = {
    {TMAP_OOB, "NAN_REQUEST_ZERO_FMA", 1},
    {TMAP_OOB, "ZERO", 0},
    {TMAP_OOB, "ZEROS", 0},
};

int tensormap_fits(enum tmap_arg arg, uint64_t value)
{
    if (tmap_args[arg].is_signed)
        return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
    return tmap_args[arg].size == 8 || value <= UINT32_MAX;
}

static int dtype_from_name(const char *name, uint64_t *value)
{
    char lower[NAME];
    size_t length = strlen(name);
    if (length >= sizeof lower)
        return -1;
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    // What cuda.h has no type for goes as the unsigned integer of its width.
    const int dtype = dtype_from_short_name(lower);
    if (dtype == TW_DTYPE_COUNT || tw_dtype_info((enum tw_dtype)dtype)->tensormap < 0)
        return -1;
    *value = (uint64_t)tw_dtype_info((enum tw_dtype)dtype)->tensormap;
    return 0;
}

static int value_from_name(enum tmap_arg arg, const char *text, uint64_t *value)
{
    const char *name = text, *known;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i].text);
        if ((prefixes[i].arg == TMAP_NONE || prefixes[i].arg == arg) &&
            strncasecmp(name, prefixes[i].text, length) == 0)
            name += length;
    }
    for (*value = 0; (known = tw_tmap_value_name(arg, *value)); ++*value)
        if (strcasecmp(known, name) == 0)
            return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].arg == arg && strcasecmp(others[i].name, name) == 0) {
            *value = others[i].value;
            return 0;
        }
    return arg == TMAP_DTYPE ? dtype_from_name(text, value) : -1;
}

// Says that an enum has no value of that name, and which it has.
static int no_name(const char *text, enum tmap_arg arg, struct tensormap_fault *fault)
{
    const char *candidate[CANDIDATES], *name;
    char names[320] = "";
    size_t used = 0;
    int count = 0;
    for (uint64_t v = 0; (name = tw_tmap_value_name(arg, v)) && count < CANDIDATES - 1; v++) {
        tw_tmap_append(names, sizeof names, &used, "%s%s", v ? ", " : "", name);
        candidate[count++] = name;
    }
    for (int i = 0; arg == TMAP_DTYPE && count < CANDIDATES - 1 && (name = dtype_short_name(i)); i++)
        candidate[count++] = name;
    candidate[count] = NULL;
    const char *near = diag_suggest(text, candidate);
    return tensormap_fail(fault, "%s=%.80s is no number and none of %s%s%s%s", tmap_args[arg].name, text, names,
                          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int tensormap_read_value(const char *text, enum tmap_arg arg, uint64_t *value, struct tensormap_fault *fault)
{
    const char *name = tmap_args[arg].name, *digits = text + (*text == '-');
    int is_enum = tw_tmap_value_name(arg, 0) != NULL, is_hex = digits[0] == '0' && (digits[1] | 32) == 'x';
    char *end = NULL;
    if (is_enum && value_from_name(arg, text, value) == 0)
        return 0;
    errno = 0;
    if (*digits >= '0' && *digits <= '9')
        *value = strtoull(digits, &end, is_hex ? 16 : 10);
    if ((!end || *end) && is_enum)
        return no_name(text, arg, fault);
    if (!end || *end)
        return tensormap_fail(fault, "%s=%.80s is no number", name, text);
    if (errno || (digits != text && (!tmap_args[arg].is_signed || *value > INT32_MAX)))
        return tensormap_fail(fault, "%s=%.80s is out of range", name, text);
    if (digits != text)
        *value = 0 - *value;
    return tensormap_fits(arg, *value) ? 0 : tensormap_fail(fault, "%s=%.80s is out of range", name, text);
}
