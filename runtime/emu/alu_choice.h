/* The handlers of arithmetic that fit this processor. */
#ifndef EMU_ALU_CHOICE_H
#define EMU_ALU_CHOICE_H

#include "cvt.h"

enum { EMU_ALU_TABLES = 5 };
struct emu_alu {
    struct emu_rows (*rows[EMU_ALU_TABLES])(void);
    emu_handler (*faster)(emu_handler run);
    emu_handler (*shift_by)(emu_handler run, uint64_t *amount);
    emu_handler (*cvt_choose)(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                              struct emu_cvt *cvt, uint64_t *imm);
    emu_handler setp_half, set_half;
    const emu_handler *lop3, *lop3_pred, *set_word, *mov32, *mov64, *mov128, *mov_pred;
};

const struct emu_alu *emu_alu(void);

#endif
