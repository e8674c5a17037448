/* Stands in front of int.c, bits.c, ... and cvt.c where they are compiled once more, for processors with AVX2: their
   handlers with wider vectors, and their other names changed. choice.c chooses. Without FMA, so that no compiler fuses
   what must be rounded twice. */
#ifndef EMU_ALU_AVX2_H
#define EMU_ALU_AVX2_H

#if defined(__x86_64__)
#define EMU_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define emu_rows_int emu_rows_int_avx2
#define emu_rows_bits emu_rows_bits_avx2
#define emu_rows_float emu_rows_float_avx2
#define emu_rows_double emu_rows_double_avx2
#define emu_rows_half emu_rows_half_avx2
#define emu_op_lop3 emu_op_lop3_avx2
#define emu_op_lop3_pred emu_op_lop3_pred_avx2
#define emu_op_set_word emu_op_set_word_avx2
#define emu_op_mov32 emu_op_mov32_avx2
#define emu_op_mov64 emu_op_mov64_avx2
#define emu_op_mov128 emu_op_mov128_avx2
#define emu_op_mov_pred emu_op_mov_pred_avx2
#define emu_faster emu_faster_avx2
#define emu_shift_by emu_shift_by_avx2
#define emu_setp_end emu_setp_end_avx2
#define emu_setp_half emu_setp_half_avx2
#define emu_set_half emu_set_half_avx2
#define emu_cvt_choose emu_cvt_choose_avx2
#else
typedef int emu_no_avx2; /* a file must hold something */
#endif

#endif
