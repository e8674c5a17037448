// Tensor maps: the 128-byte descriptors of the tensor memory accelerator (TMA), without the driver.
//
// The functions here do what cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide and
// cuTensorMapReplaceAddress do, byte for byte, and besides say why a call is refused and what would work. They need no
// GPU, no driver, no context and no allocation. All are thread-safe: they touch their arguments and nothing else.
//
// Two verdicts are kept apart. A call is refused where the driver refuses it. Where the driver takes a call that
// NVIDIA's documentation forbids, the call is accepted with a warning.
//
// What is known, and how:
//   compute capability 9.0   verdict and bytes measured: 30,000 recorded calls and many million random ones
//                            (tests/gpu/tensormap_driver.c) on an H200, driver 580.159.04, CUDA 13.0
//   10.0 and higher          the verdict is that of 9.0 with what cuda.h and the PTX ISA add (packed 4- and 6-bit
//                            types, swizzles with other atoms), not measured. The bytes are those of 9.0; bit 85, which
//                            drivers set on Blackwell and device-side encoders leave clear, is clear. A call that 9.0
//                            has no bytes for cannot be encoded, nor one of im2col_wide, whose bytes Hopper's driver
//                            does not set apart: TW_ERROR_UNSUPPORTED.
// tensormap_rules.def lists the rules with the source of each; tensormap_encode.c draws the bits.
#ifndef TW_TENSORMAP_H
#define TW_TENSORMAP_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tw_tensormap_func {
    TW_TENSORMAP_TILED,       // cuTensorMapEncodeTiled
    TW_TENSORMAP_IM2COL,      // cuTensorMapEncodeIm2col
    TW_TENSORMAP_IM2COL_WIDE, // cuTensorMapEncodeIm2colWide
};

// One call: the driver's arguments in the driver's units. Dimension 0 is the innermost. Enum arguments hold the values
// of cuda.h. Entries past those that `rank` asks for, and arguments that the func does not have, are ignored.
struct tw_tensormap_call {
    enum tw_tensormap_func func;
    uint32_t dtype;      // CUtensorMapDataType; struct tw_dtype_info of dtype.h gives it for a tw_dtype
    uint32_t rank;       // dimensions: 1..5; 3..5 for im2col and im2col_wide
    uint64_t addr;       // global address, bytes
    uint64_t dim[5];     // [rank] elements, 1..2^32
    uint64_t stride[4];  // [rank - 1] bytes from one index of dimension i + 1 to the next
    uint32_t box[5];     // [rank] elements, 1..256; tiled
    int32_t lower[3];    // [rank - 2] pixels, W first, then H, D: box corners relative to the tensor's first pixel ...
    int32_t upper[3];    // ... and to its last; im2col. im2col_wide reads entry 0, the corner in W
    uint32_t mode;       // CUtensorMapIm2ColWideMode: 0 W, 1 W128; im2col_wide
    uint32_t channels;   // per pixel, 1..256; im2col, im2col_wide
    uint32_t pixels;     // per column, 1..1024; im2col, im2col_wide
    uint32_t estride[5]; // [rank] elements from one that is loaded to the next, 1..8
    uint32_t interleave; // 0 NONE, 1 16B, 2 32B
    uint32_t swizzle;    // 0 NONE, 1 32B, 2 64B, 3 128B, 4 128B_ATOM_32B, 5 128B_ATOM_32B_FLIP_8B, 6 128B_ATOM_64B
    uint32_t l2;         // promotion: 0 NONE, 1 64B, 2 128B, 3 256B
    uint32_t oob;        // fill: 0 zeros, 1 NaN
};

// Widths of a map's fields: its address is below 2^57, a stride below 2^40 bytes, an extent 2^32 elements or less.
enum { TW_TENSORMAP_ADDRESS_BITS = 57, TW_TENSORMAP_STRIDE_BITS = 40, TW_TENSORMAP_DIM_BITS = 32 };

// The rows of tensormap_rules.def.
enum tw_tensormap_rule {
#define RULE(ID, name, level, funcs, arg, broken, nearest, bound, text) TW_TENSORMAP_RULE_##ID,
#include "tensormap_rules.def"
#undef RULE
    TW_TENSORMAP_RULE_COUNT
};

// One broken rule: in one entry, where the argument is a list.
struct tw_tensormap_finding {
    enum tw_tensormap_rule rule;
    int warning;      // 1: the driver takes it, the documentation forbids it; 0: the driver refuses it
    unsigned entry;   // of the argument that the rule is about; 0 for one that is no list
    uint64_t value;   // what the argument is; a negative corner is sign-extended
    uint64_t bound;   // what it is held against
    uint64_t nearest; // what it would have to be, the rest of the call being as it is
};

enum { TW_TENSORMAP_FINDINGS = 96 }; // more than any call can have
enum { TW_TENSORMAP_MESSAGE = 512 }; // bytes that hold any one message

// All broken rules, in the order of the table.
struct tw_tensormap_verdict {
    int refused; // findings for which the driver refuses the call; 0: accepted
    int warned;  // findings that are warnings
    int count;   // both
    struct tw_tensormap_finding finding[TW_TENSORMAP_FINDINGS];
};

// Checks a call as a driver on compute capability cc (90 for 9.0, 103 for 10.3) does. Returns TW_OK where it is
// accepted, TW_ERROR_INVALID where it is refused. Fills *verdict with everything that is wrong; verdict may be NULL,
// and then the check ends at the first reason to refuse.
int tw_tensormap_check(const struct tw_tensormap_call *call, int cc, struct tw_tensormap_verdict *verdict);

// The id of a rule, as "TMA-STR16". Rows that state one rule for different calls share an id.
const char *tw_tensormap_rule_name(enum tw_tensormap_rule rule);

// Writes what is wrong, with argument, value, bound and what to write, into text, zero-terminated and cut at size. The
// finding must come from tw_tensormap_check with this call and cc. Returns text.
const char *tw_tensormap_message(const struct tw_tensormap_call *call, int cc,
                                 const struct tw_tensormap_finding *finding, char *text, size_t size);

// The nearest call that is accepted, into *nearest: the arguments that break a rule are moved to the closest value that
// does not, one at a time, until nothing is refused. Returns TW_OK, or TW_ERROR_INVALID where that leads nowhere (a
// machine without TMA).
int tw_tensormap_nearest(const struct tw_tensormap_call *call, int cc, struct tw_tensormap_call *nearest);

// Encodes a call: writes the 128 bytes that the driver writes (a CUtensorMap; it must lie at a multiple of 64 bytes to
// be passed to a kernel, of 128 for CUDA 13's own type). Returns TW_OK; TW_ERROR_INVALID where tw_tensormap_check
// refuses; TW_ERROR_UNSUPPORTED where the call is accepted on cc but its bytes are not known. map is written only on
// TW_OK.
int tw_tensormap_encode(const struct tw_tensormap_call *call, int cc, uint64_t map[16]);

// What a map says beyond the arguments of its call.
struct tw_tensormap_extra {
    uint32_t smem_bytes;  // shared memory that the driver reckons for one box
    uint32_t smem_align;  // alignment that it asks for: 16, or 8 spans of the swizzle
    uint64_t unknown[16]; // bits of the map that no call sets in this way; all 0 for a map of the encoder here
};

// The call that gives a map. Every argument comes back, but two: an im2col_wide map has the bytes of an im2col map with
// corners of 0 in H and D, and is decoded as that; `mode` is in no bit. Returns TW_OK, or TW_ERROR_INVALID where the
// bytes are no map that this encoder could write: a type code that no type has, a rule that the call breaks, such as
// rank or address, or a stray bit. *call is then filled as far as it can be, with a dtype past the last one where the
// code is unknown, and extra->unknown only where the call can be encoded. extra may be NULL.
int tw_tensormap_decode(const uint64_t map[16], struct tw_tensormap_call *call, struct tw_tensormap_extra *extra);

// Sets the address of a map, which must be one of the encoder's. Returns TW_OK, or TW_ERROR_INVALID, with the map as it
// was, where the address breaks a rule of the map: a multiple of 16 bytes (32 with interleave 32B), below 2^57.
int tw_tensormap_replace_address(uint64_t map[16], uint64_t addr);

// The rows of tensormap_workarounds.def: bits that drivers up to a version set wrongly.
enum tw_tensormap_workaround {
#define WORKAROUND(ID, capability, driver_version, bit, text) TW_TENSORMAP_WORKAROUND_##ID,
#include "tensormap_workarounds.def"
#undef WORKAROUND
    TW_TENSORMAP_WORKAROUND_COUNT
};

// Mends a map that a driver wrote, of any of the three encode calls, for a device of compute capability cc;
// driver_version as cuDriverGetVersion gives it, 13010 for 13.1. Returns what was cleared: bit i for row i; 0: nothing.
// A map of the encoder here needs none.
unsigned tw_tensormap_work_around(uint64_t map[16], int cc, int driver_version);

// A row in words, "bit 85, Blackwell, drivers up to 13.1: ...". A static string.
const char *tw_tensormap_workaround_text(enum tw_tensormap_workaround workaround);

// Writes the call as words, "f=tiled dtype=BFLOAT16 dim=100,64 ...", zero-terminated and cut at size. Arguments that
// the func does not have are left out, and so are rank where it is valid (the lists show it), and mode, interleave,
// swizzle, l2, oob and estride where they hold the default (0; 1). Returns text.
const char *tw_tensormap_format(const struct tw_tensormap_call *call, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
