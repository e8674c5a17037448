/* Conversions: which handler, and what it needs to know. */
#ifndef EMU_CVT_H
#define EMU_CVT_H

#include "emu_internal.h"

struct emu_cvt {
    uint8_t to, from;            /* ptx_type; of pairs the type of one */
    uint8_t to_bits, from_bits;  /* of the types */
    uint8_t to_signed, from_signed;
    uint8_t register_bits;       /* of the destination: 16, 32, 64 */
    uint8_t from_wide;           /* the source's lanes have 64 bits */
    uint8_t integral;            /* .rni and the like between floats */
    uint16_t flags;              /* floats.h */
};

/* The handler of a cvt or cvt.pack whose destination and first source are registers of these widths; *cvt is to become
   its extra and *imm its imm. Operands: d, a, b, c. */
emu_handler emu_cvt_choose(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                           struct emu_cvt *cvt, uint64_t *imm);

#endif
