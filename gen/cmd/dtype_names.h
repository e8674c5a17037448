/* Names of element types as people write them on a command line. */
#ifndef TW_GEN_CMD_DTYPE_NAMES_H
#define TW_GEN_CMD_DTYPE_NAMES_H

/* The tw_dtype of a name: those of specs ("bf16", "fp32", "int32") and short ones ("f32", "i32", "u8"); TW_DTYPE_COUNT
 * where there is none. */
int dtype_from_short_name(const char *name);

#endif
