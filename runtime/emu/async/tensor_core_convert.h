/* Operands of the fast way of tensor_core.c, for vectors of LANES results: raw elements become values and powers of
   two. Part of tensor_core_lanes.h, which says what LANES, TARGET and NAME(x) are. */

typedef float NAME(vector) __attribute__((vector_size(4 * LANES)));
typedef int32_t NAME(integers) __attribute__((vector_size(4 * LANES)));
typedef uint32_t NAME(words) __attribute__((vector_size(4 * LANES)));
/* of half the lanes */
typedef float NAME(half_vector) __attribute__((vector_size(2 * LANES)));
typedef int32_t NAME(half_integers) __attribute__((vector_size(2 * LANES)));
typedef double NAME(doubles) __attribute__((vector_size(4 * LANES)));
typedef uint64_t NAME(longs) __attribute__((vector_size(4 * LANES)));

#define VECTOR NAME(vector)
#define INTEGERS NAME(integers)
#define WORDS NAME(words)

/* Vectors go through memory, so that no function takes one: before AVX that would be another ABI. */
#define FETCH(to, from) memcpy(&(to), (from), sizeof(to))
#define STORE(to, from) memcpy((to), &(from), sizeof(from))
#define INLINE TARGET __attribute__((always_inline)) static inline

/* Elements `at` bits up in LANES words of one operand, to values and powers of two; *finite loses the lanes that are
   not, *any gains those that are not zero. */
INLINE void NAME(convert)(enum emu_tc_type type, const WORDS *from, unsigned at, float *value, float *power,
                          INTEGERS *finite, INTEGERS *any)
{
    const struct format *f = &formats[type];
    WORDS bits = *from >> at, result, scale, some;
    if (f->bytes < 4)
        bits &= (1u << 8 * f->bytes) - 1;
    if (type == EMU_TC_BF16 || type == EMU_TC_TF32) {
        result = type == EMU_TC_BF16 ? bits << 16 : bits & ~(uint32_t)0x1fff;
        WORDS field = result & F32_INFINITY;
        some = (WORDS)(result << 1 != 0);
        scale = field | ((WORDS)(field == 0) & some & (1u << 23));
        *finite &= (INTEGERS)(field != F32_INFINITY);
    } else {
        uint32_t ones = (1u << f->exponent) - 1, bias = ones >> 1;
        WORDS field = bits >> f->mantissa & ones, mantissa = bits & ((1u << f->mantissa) - 1);
        WORDS sign = bits >> (f->exponent + f->mantissa) << 31;
        WORDS normal = (WORDS)(field != 0);
        WORDS significand = mantissa | (normal & (1u << f->mantissa));
        WORDS exponent = (field | (~normal & 1)) + (127 - bias); /* a subnormal has that of 1 */
        some = (WORDS)(significand != 0);
        scale = exponent << 23 & some;
        WORDS small = (exponent - f->mantissa) << 23;
        VECTOR x = __builtin_convertvector((INTEGERS)significand, VECTOR), unit;
        FETCH(unit, &small);
        x *= unit;
        FETCH(result, &x);
        result |= sign;
        if (type == EMU_TC_E4M3)
            *finite &= (INTEGERS)((bits & 0x7f) != 0x7f);
        else
            *finite &= (INTEGERS)(field != ones);
    }
    *any |= (INTEGERS)some;
    STORE(value, result);
    STORE(power, scale);
}

/* `rows` rows of k elements at `from`, turned: element l of row i goes to [l * ROWS + i]; rows up to a multiple of
   LANES are filled with zeros. */
INLINE void NAME(convert_rows)(enum emu_tc_type type, const uint8_t *from, size_t rows, size_t k, struct factors *to)
{
    uint32_t raw[EMU_TC_MAX_K * ROWS];
    unsigned bytes = formats[type].bytes, each = 4 / bytes;
    size_t across = k / each;
    for (size_t i = 0; i < rows; i++)
        for (size_t w = 0; w < across; w++)
            memcpy(&raw[w * ROWS + i], from + (i * across + w) * 4, 4);
    for (size_t i = rows; i % LANES; i++)
        for (size_t w = 0; w < across; w++)
            raw[w * ROWS + i] = 0;
    for (size_t i = 0; i < rows; i += LANES) {
        INTEGERS finite = ~(INTEGERS){0}, any = {0};
        for (size_t w = 0; w < across; w++)
            for (unsigned e = 0; e < each; e++) {
                size_t at = (w * each + e) * ROWS + i;
                WORDS x;
                FETCH(x, &raw[w * ROWS + i]);
                NAME(convert)(type, &x, 8 * bytes * e, &to->value[at], &to->power[at], &finite, &any);
            }
        any = ~any;
        STORE(&to->usual[i], finite);
        STORE(&to->zero[i], any);
    }
}

/* With the type a constant in each case, so that the loops above lose their branches. */
TARGET static void NAME(convert_operand)(enum emu_tc_type type, const uint8_t *from, size_t rows, size_t k,
                                         struct factors *to)
{
    switch (type) {
    case EMU_TC_BF16:
        NAME(convert_rows)(EMU_TC_BF16, from, rows, k, to);
        break;
    case EMU_TC_F16:
        NAME(convert_rows)(EMU_TC_F16, from, rows, k, to);
        break;
    case EMU_TC_TF32:
        NAME(convert_rows)(EMU_TC_TF32, from, rows, k, to);
        break;
    case EMU_TC_E4M3:
        NAME(convert_rows)(EMU_TC_E4M3, from, rows, k, to);
        break;
    default:
        NAME(convert_rows)(EMU_TC_E5M2, from, rows, k, to);
    }
}
