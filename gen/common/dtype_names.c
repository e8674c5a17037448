#include "common/dtype_names.h"

#include <string.h>

static const struct {
    const char *name;
    enum tw_dtype dtype;
} rows[] = {
    {"f16", TW_FP16},           {"f32", TW_FP32},
    {"f64", TW_FP64},           {"i8", TW_INT8},
    {"u8", TW_UINT8},           {"i16", TW_INT16},
    {"u16", TW_UINT16},         {"i32", TW_INT32},
    {"u32", TW_UINT32},         {"i64", TW_INT64},
    {"u64", TW_UINT64},         {"s32", TW_INT32},
    {"s64", TW_INT64},          {"s16", TW_INT16},
    {"s8", TW_INT8},            {"half", TW_FP16},
    {"float", TW_FP32},         {"double", TW_FP64},
    {"fp8", TW_FP8_E4M3},       {"e4m3", TW_FP8_E4M3},
    {"e5m2", TW_FP8_E5M2},      {"float8_e4m3fn", TW_FP8_E4M3},
    {"float8_e5m2", TW_FP8_E5M2},
};
enum { ROWS = sizeof rows / sizeof *rows };

int dtype_from_short_name(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (int)rows[i].dtype;
    return (int)tw_dtype_from_name(name);
}

const char *dtype_written(enum tw_dtype dtype)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].dtype == dtype)
            return rows[i].name;
    return tw_dtype_name(dtype);
}

const char *dtype_short_name(int number)
{
    if (number < ROWS)
        return rows[number].name;
    return number < ROWS + TW_DTYPE_COUNT ? tw_dtype_name((enum tw_dtype)(number - ROWS)) : NULL;
}
