/* Values of a tensor-map call's arguments as people write them: numbers and names. */
#ifndef TW_GEN_CMD_TENSORMAP_TENSORMAP_VALUES_H
#define TW_GEN_CMD_TENSORMAP_TENSORMAP_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/tensormap/tensormap_json.h"
#include "tensormap/tensormap_args.h"

/* Whether a value fits the type that the driver takes for the argument; a negative one is sign-extended. */
int tensormap_fits(enum tmap_arg arg, uint64_t value);

/* Read one value: a number, decimal or 0x, or the name of an enum's value, in any case: as in cuda.h, with its prefix
   (CU_TENSOR_MAP_SWIZZLE_128B) or without (128B); of a dtype also the names of specs and the usual short ones (bf16,
   half, e4m3), for the CUtensorMapDataType that carries it. Returns 0, or -1 and a reason that lists the names. */
int tensormap_read_value(const char *text, enum tmap_arg arg, uint64_t *value, struct tensormap_fault *fault);

#endif
