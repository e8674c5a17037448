/* Arithmetic: which handler executes which form of an instruction, in tables, and what is written out beside them.

   There are two copies of every handler, for any processor and for one with AVX2; emu_alu gives the one that fits this
   processor. Results never depend on it. */
#ifndef EMU_ALU_H
#define EMU_ALU_H

#include "emu/ptx/ptx.h"
#include "lanes.h"

/* A row matches an instruction of its opcode whose first types are type0 and type1 (PTX_TYPE_NONE: any), whose
   operation, second, rounding and compare are those given (0: any), and whose mods have of mask exactly bits.
   operands: a letter for each PTX operand, destination first, into d a b c e in order:
       w l q  lanes of 32, 64, 128 bits    p  predicate    -  not used, must be absent or is ignored */
struct emu_row {
    uint16_t opcode;
    uint8_t type0, type1;
    uint8_t operation, second, rounding, compare;
    uint64_t mask, bits;
    const char *operands;
    emu_handler run;
    uint64_t imm;
};
const struct emu_row *emu_find_row(const struct ptx_instruction *instruction); /* NULL: no row matches */

/* A conversion: the extra of its handler. */
struct emu_cvt {
    uint8_t to, from;           /* ptx_type; of pairs the type of one */
    uint8_t to_bits, from_bits; /* of the types */
    uint8_t to_signed, from_signed;
    uint8_t register_bits; /* of the destination: 16, 32, 64 */
    uint8_t from_wide;     /* the source's lanes have 64 bits */
    uint8_t integral;      /* .rni and the like between floats */
    uint16_t flags;        /* floats.h */
};

/* The handlers of arithmetic that fit this processor, beside the rows. */
struct emu_rows; /* handlers.h */
enum { EMU_ALU_TABLES = 5 };
struct emu_alu {
    struct emu_rows (*rows[EMU_ALU_TABLES])(void);              /* emu_find_row looks there */
    emu_handler (*faster)(emu_handler run);                     /* the same with this machine's instructions */
    emu_handler (*shift_by)(emu_handler run, uint64_t *amount); /* by a constant; NULL: stay with run */

    /* The handler of a cvt or cvt.pack whose destination and first source are registers of these widths; *cvt is to
       become its extra and *imm its imm. Operands: d, a, b, c. */
    emu_handler (*cvt_choose)(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                              struct emu_cvt *cvt, uint64_t *imm);
    emu_handler setp_half, set_half;
    const emu_handler *lop3, *lop3_pred, *set_word, *mov32, *mov64, *mov128, *mov_pred; /* handlers without a row */
};
const struct emu_alu *emu_alu(void);

/* The handler of a SIMD video instruction, for lanes of 32 bits at d, a, b, c, and its imm; NULL: it is none. */
emu_handler emu_video(const struct ptx_instruction *instruction, uint64_t *imm);

/* Atomics: *at = op(*at, b, c), and what stood there before into *old. 0, or 1 for no such operation.
   Sums of f32 in global memory flush subnormals, those in shared memory do not. */
int emu_atomic(unsigned operation, unsigned type, int is_global, void *at, const void *b, const void *c, void *old);

#endif
