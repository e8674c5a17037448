/* Names of the PTX tables: types, spaces, modifiers, opcodes, special registers. */
#ifndef PTX_NAMES_H
#define PTX_NAMES_H

#include <stdint.h>

enum ptx_type {
    PTX_TYPE_NONE,
#define TYPE(id, text, bits, kind, lanes) PTX_##id,
#include "ptx_types.def"
#undef TYPE
    PTX_TYPE_COUNT
};

enum ptx_type_kind {
    PTX_KIND_NONE,
    PTX_KIND_BITS,
    PTX_KIND_UNSIGNED,
    PTX_KIND_SIGNED,
    PTX_KIND_FLOAT, /* binary16, 32, 64 */
    PTX_KIND_BFLOAT,
    PTX_KIND_TF32,
    PTX_KIND_NARROW, /* 8-bit floats */
    PTX_KIND_PRED,
    PTX_KIND_OPAQUE
};

struct ptx_type_info {
    const char *text; /* "u32" */
    uint8_t bits;     /* of the whole value, all lanes */
    uint8_t kind;     /* ptx_type_kind */
    uint8_t lanes;    /* 2 for f16x2 */
};
extern const struct ptx_type_info ptx_types[PTX_TYPE_COUNT];

enum ptx_space {
    PTX_SPACE_NONE, /* not named: generic addressing */
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED, /* .shared and .shared::cta */
    PTX_SPACE_SHARED_CLUSTER,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM,
    PTX_SPACE_COUNT
};

/* Modifier words: PTX_MOD_FTZ, PTX_MOD_RN, PTX_MOD_ACQUIRE, ... The FLAG rows come first, from 1 on. */
enum ptx_modifier {
    PTX_MOD_NONE,
#define FLAG(id, text) PTX_MOD_##id,
#define MODIFIER(id, text, value)
#include "ptx_modifiers.def"
#undef FLAG
#undef MODIFIER
    PTX_FLAG_END, /* no word */
#define FLAG(id, text)
#define MODIFIER(id, text, value) PTX_MOD_##id,
#include "ptx_modifiers.def"
#undef FLAG
#undef MODIFIER
    PTX_MOD_COUNT
};
extern const char *const ptx_modifier_texts[PTX_MOD_COUNT]; /* "ftz"; NULL for PTX_MOD_NONE and PTX_FLAG_END */

/* A flag's bit in ptx_instruction.mods: PTX_FLAG(FTZ). */
#define PTX_FLAG(id) (UINT64_C(1) << (PTX_MOD_##id - 1))

/* Opcodes, one a family: PTX_OP_ADD, PTX_OP_LD, PTX_OP_MBARRIER_TRY_WAIT, ... */
enum ptx_opcode {
#define OPCODE(id, mnemonic, reason) PTX_OP_##id,
#define FORM(operands, modifiers)
#include "ptx_opcodes.def"
#undef OPCODE
#undef FORM
    PTX_OP_COUNT
};
extern const char *const ptx_opcode_texts[PTX_OP_COUNT]; /* "mbarrier.try_wait" */

/* Special registers: PTX_SR_TID_X, ... %envreg<0..31> and %pm<0..7> are PTX_SR_ENVREG + n, PTX_SR_PM + n. */
enum ptx_special {
#define SPECIAL(id, text, bits) PTX_SR_##id,
#include "ptx_special.def"
#undef SPECIAL
    PTX_SR_ENVREG,
    PTX_SR_PM = PTX_SR_ENVREG + 32,
    PTX_SR_COUNT = PTX_SR_PM + 8
};
extern const char *const ptx_special_texts[PTX_SR_ENVREG];

#endif
