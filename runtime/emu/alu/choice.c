/* Which of the two copies of the arithmetic runs: that for any processor, or that for one with AVX2 (avx2.h). */
#include "handlers.h"
#include "vectors.h"

#define ALU(suffix)                                                                                                    \
    {                                                                                                                  \
        .rows = {emu_rows_int##suffix, emu_rows_bits##suffix, emu_rows_float##suffix, emu_rows_double##suffix,         \
                 emu_rows_half##suffix},                                                                               \
        .faster = emu_faster##suffix, .shift_by = emu_shift_by##suffix, .cvt_choose = emu_cvt_choose##suffix,          \
        .setp_half = emu_setp_half##suffix, .set_half = emu_set_half##suffix, .lop3 = &emu_op_lop3##suffix,            \
        .lop3_pred = &emu_op_lop3_pred##suffix, .set_word = &emu_op_set_word##suffix, .mov32 = &emu_op_mov32##suffix,  \
        .mov64 = &emu_op_mov64##suffix, .mov128 = &emu_op_mov128##suffix, .mov_pred = &emu_op_mov_pred##suffix         \
    }

#if defined(__x86_64__)
struct emu_rows emu_rows_int_avx2(void);
struct emu_rows emu_rows_bits_avx2(void);
struct emu_rows emu_rows_float_avx2(void);
struct emu_rows emu_rows_double_avx2(void);
struct emu_rows emu_rows_half_avx2(void);
extern const emu_handler emu_op_lop3_avx2, emu_op_lop3_pred_avx2, emu_op_set_word_avx2, emu_op_mov32_avx2,
    emu_op_mov64_avx2, emu_op_mov128_avx2, emu_op_mov_pred_avx2;
emu_handler emu_faster_avx2(emu_handler run);
emu_handler emu_shift_by_avx2(emu_handler run, uint64_t *amount);
emu_handler emu_cvt_choose_avx2(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                                struct emu_cvt *cvt, uint64_t *imm);
const struct emu_op *emu_setp_half_avx2(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_set_half_avx2(struct emu_warp *warp, const struct emu_op *op);
#endif

static const struct emu_alu any = ALU();
#if defined(__x86_64__)
static const struct emu_alu avx2 = ALU(_avx2);
#endif

const struct emu_alu *emu_alu(void)
{
#if defined(__x86_64__)
    if (emu_vectors() >= EMU_VECTORS_AVX2)
        return &avx2;
#endif
    return &any;
}

static int matches(const struct emu_row *row, const struct ptx_instruction *in)
{
    return row->opcode == in->opcode && (!row->type0 || row->type0 == in->type[0]) &&
           (!row->type1 || row->type1 == in->type[1]) && (!row->operation || row->operation == in->operation) &&
           (!row->second || row->second == in->second) && (!row->rounding || row->rounding == in->rounding) &&
           (!row->compare || row->compare == in->compare) && (in->mods & row->mask) == row->bits;
}

const struct emu_row *emu_find_row(const struct ptx_instruction *in)
{
    for (size_t t = 0; t < EMU_ALU_TABLES; t++) {
        struct emu_rows table = emu_alu()->rows[t]();
        for (size_t i = 0; i < table.count; i++)
            if (matches(&table.rows[i], in))
                return &table.rows[i];
    }
    return NULL;
}
