// Element types: names, sizes, and conversion between an element in memory and a double.
// All functions are pure and thread-safe. A `dtype` argument must be a valid enumerator, below TW_DTYPE_COUNT.
#ifndef TW_DTYPE_H
#define TW_DTYPE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_dtype {
#define X(ID, name, bits, kind, cuda_type, c_type, tensormap, dlpack_code) TW_##ID,
#include "dtypes.def"
#undef X
    TW_DTYPE_COUNT // also the answer "no such type"
};

enum tw_dtype_kind { TW_KIND_FLOAT, TW_KIND_INT, TW_KIND_UINT, TW_KIND_BOOL };

// One row of dtypes.def, which says what the columns mean.
struct tw_dtype_info {
    const char *name;        // as in specs
    unsigned bits;           // of one element in memory, a multiple of 8
    enum tw_dtype_kind kind; // how its bits are read
    const char *cuda_type;   // in emitted CUDA
    const char *c_type;      // in emitted C99
    int tensormap;           // CUtensorMapDataType, or -1
    int dlpack_code;         // DLDataTypeCode
};

// The row of a type; never NULL.
const struct tw_dtype_info *tw_dtype_info(enum tw_dtype dtype);

// The type of that name, TW_DTYPE_COUNT if there is none (or name is NULL).
enum tw_dtype tw_dtype_from_name(const char *name);

// The type that a DLPack tensor of this code and width holds, TW_DTYPE_COUNT if there is none. `lanes` of DLPack is the
// caller's to check.
enum tw_dtype tw_dtype_from_dlpack(int code, int bits);

// "bf16"; "?" for a value outside the enum.
const char *tw_dtype_name(enum tw_dtype dtype);

// Bytes of one element.
size_t tw_dtype_bytes(enum tw_dtype dtype);

// The value of the element at `element` (no alignment needed). Exact for every type but 64-bit integers, which are
// rounded to nearest even beyond 2^53. tf32 reads the 32-bit float in memory as it stands.
double tw_dtype_load(enum tw_dtype dtype, const void *element);

// Writes `value` at `element` (no alignment needed), rounded once, to nearest even, as PTX cvt.rn does:
//   fp32, fp16, bf16, tf32  overflow gives infinity; NaN becomes the quiet NaN that cvt writes for 16-bit types, 0x7fff
//   fp8_e4m3, fp8_e5m2      overflow, infinity included, gives the largest finite value (.satfinite, the only form that
//                           PTX has for them); NaN becomes 0x7f
//   integers                rounded to nearest even, clamped to the type's range; NaN becomes 0
//   bool                    0 for +-0, else 1 (NaN too)
void tw_dtype_store(enum tw_dtype dtype, void *element, double value);

#ifdef __cplusplus
}
#endif

#endif
