#include "cmd/dtype_names.h"

#include <string.h>

#include "dtype.h"

int dtype_from_short_name(const char *name)
{
    static const struct {
        const char *name;
        int dtype;
    } rows[] = {
        {"f16", TW_FP16},   {"f32", TW_FP32},   {"f64", TW_FP64},   {"i8", TW_INT8},    {"u8", TW_UINT8},
        {"i16", TW_INT16},  {"u16", TW_UINT16}, {"i32", TW_INT32},  {"u32", TW_UINT32}, {"i64", TW_INT64},
        {"u64", TW_UINT64}, {"s32", TW_INT32},  {"s64", TW_INT64},  {"s16", TW_INT16},  {"s8", TW_INT8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].dtype;
    return (int)tw_dtype_from_name(name);
}
