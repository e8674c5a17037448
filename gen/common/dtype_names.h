/* Names of element types as people write them on a command line. */
#ifndef TW_GEN_COMMON_DTYPE_NAMES_H
#define TW_GEN_COMMON_DTYPE_NAMES_H

#include "dtype.h"

/* The tw_dtype of a name: those of specs ("bf16", "fp32", "int32") and short ones ("f32", "u8", "half", "e4m3");
 * TW_DTYPE_COUNT where there is none. */
int dtype_from_short_name(const char *name);

/* A name of the type, the short one where it has one. */
const char *dtype_written(enum tw_dtype dtype);

/* Name number 0, 1, ... of those that dtype_from_short_name knows; NULL past the last. */
const char *dtype_short_name(int number);

#endif
