/* How handlers of arithmetic are written: a loop over 32 lanes into local memory, which the compiler turns into vector
   code, and one masked store. Lanes that do not execute are computed too and thrown away, so nothing here may trap. */
#ifndef EMU_HANDLERS_H
#define EMU_HANDLERS_H

/* Nobody looks at the floating-point exceptions of the host: operations may be made in lanes where they are not asked
   for. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "alu.h"

#ifndef EMU_TARGET
#define EMU_TARGET /* avx2.h */
#endif
#define EMU_HANDLER(name) EMU_TARGET static const struct emu_op *name(struct emu_warp *warp, const struct emu_op *op)

/* NAME(lanes out, out width; expression of x, y, z). T is uint32_t with EMU_W and emu_put32, or uint64_t. */
#define EMU_UNARY(name, TO, PUT, TA, AT, expression)                                                                   \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const TA *a = AT(op->a);                                                                                       \
        TO r[EMU_LANES];                                                                                               \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            TA x = a[i];                                                                                               \
            r[i] = (TO)(expression);                                                                                   \
        }                                                                                                              \
        PUT(warp, op->d, r);                                                                                           \
        return op + 1;                                                                                                 \
    }
#define EMU_BINARY(name, TO, PUT, TA, AT, TB, BT, expression)                                                          \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const TA *a = AT(op->a);                                                                                       \
        const TB *b = BT(op->b);                                                                                       \
        TO r[EMU_LANES];                                                                                               \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            TA x = a[i];                                                                                               \
            TB y = b[i];                                                                                               \
            r[i] = (TO)(expression);                                                                                   \
        }                                                                                                              \
        PUT(warp, op->d, r);                                                                                           \
        return op + 1;                                                                                                 \
    }
#define EMU_TERNARY(name, TO, PUT, TA, AT, TB, BT, TC, CT, expression)                                                 \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const TA *a = AT(op->a);                                                                                       \
        const TB *b = BT(op->b);                                                                                       \
        const TC *c = CT(op->c);                                                                                       \
        TO r[EMU_LANES];                                                                                               \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            TA x = a[i];                                                                                               \
            TB y = b[i];                                                                                               \
            TC z = c[i];                                                                                               \
            r[i] = (TO)(expression);                                                                                   \
        }                                                                                                              \
        PUT(warp, op->d, r);                                                                                           \
        return op + 1;                                                                                                 \
    }

#define EMU_UNARY32(name, e) EMU_UNARY(name, uint32_t, emu_put32, uint32_t, EMU_W, e)
#define EMU_UNARY64(name, e) EMU_UNARY(name, uint64_t, emu_put64, uint64_t, EMU_L, e)
#define EMU_BINARY32(name, e) EMU_BINARY(name, uint32_t, emu_put32, uint32_t, EMU_W, uint32_t, EMU_W, e)
#define EMU_BINARY64(name, e) EMU_BINARY(name, uint64_t, emu_put64, uint64_t, EMU_L, uint64_t, EMU_L, e)
#define EMU_TERNARY32(name, e)                                                                                         \
    EMU_TERNARY(name, uint32_t, emu_put32, uint32_t, EMU_W, uint32_t, EMU_W, uint32_t, EMU_W, e)
#define EMU_TERNARY64(name, e)                                                                                         \
    EMU_TERNARY(name, uint64_t, emu_put64, uint64_t, EMU_L, uint64_t, EMU_L, uint64_t, EMU_L, e)

/* Rows. */
#define EMU_ROW(OPCODE, TYPE, OPERANDS, RUN)                                                                           \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_##TYPE, .operands = OPERANDS, .run = RUN                               \
    }
#define EMU_ROW_OP(OPCODE, OPERATION, TYPE, OPERANDS, RUN)                                                             \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_##TYPE, .operation = PTX_MOD_##OPERATION, .operands = OPERANDS,        \
        .run = RUN                                                                                                     \
    }
/* Mods must hold exactly FLAGS of MASK. */
#define EMU_ROW_IF(OPCODE, TYPE, MASK, FLAGS, OPERANDS, RUN)                                                           \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_##TYPE, .mask = (MASK), .bits = (FLAGS), .operands = OPERANDS,         \
        .run = RUN                                                                                                     \
    }

/* One copy of the handlers; choice.c puts them together. */
struct emu_rows {
    const struct emu_row *rows;
    size_t count;
};
struct emu_rows emu_rows_int(void);
struct emu_rows emu_rows_bits(void);
struct emu_rows emu_rows_float(void);
struct emu_rows emu_rows_double(void);
struct emu_rows emu_rows_half(void);
extern const emu_handler emu_op_lop3, emu_op_lop3_pred, emu_op_set_word, emu_op_mov32, emu_op_mov64, emu_op_mov128,
    emu_op_mov_pred;
emu_handler emu_faster(emu_handler run);
emu_handler emu_shift_by(emu_handler run, uint64_t *amount);
const struct emu_op *emu_setp_end(struct emu_warp *warp, const struct emu_op *op, uint32_t bits);
const struct emu_op *emu_setp_half(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_set_half(struct emu_warp *warp, const struct emu_op *op);
emu_handler emu_cvt_choose(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                           struct emu_cvt *cvt, uint64_t *imm);

#endif
