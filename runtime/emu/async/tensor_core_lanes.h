/* The fast way of tensor_core.c for vectors of LANES results; included there once for each width, with TARGET the
   attribute of functions, NAME(x) their names and LARGER(x, y) the maximum of vectors that are not negative. The head
   of that file says why it is exact. */

#include "tensor_core_convert.h"

/* c of LANES columns as floats with their powers. A subnormal's power of 0 is well: it is below every fast sum's last
   bit, and a sum of zeros is fast only where c is 0. */
INLINE void NAME(accumulators)(int half, const void *d, size_t count, VECTOR *c, VECTOR *power)
{
    float values[LANES] = {0}, powers[LANES] = {0};
    if (half) {
        for (size_t l = 0; l < count; l++)
            if (!convert(EMU_TC_F16, load(d, 2, l), &values[l], &powers[l]))
                powers[l] = float_of(F32_INFINITY);
        FETCH(*power, powers);
        FETCH(*c, values);
        return;
    }
    if (count < LANES)
        memcpy(values, d, count * 4);
    FETCH(*c, count < LANES ? (const void *)values : d);
    WORDS bits;
    FETCH(bits, c);
    bits &= F32_INFINITY;
    FETCH(*power, &bits);
}

/* Sums of one row of a and LANES columns of b on their way: c, the largest power of two 2^E, 2^(F-E), where nothing but
   zeros is added, and the sums of both halves of k. */
struct NAME(sum) {
    VECTOR c, e, scale;
    INTEGERS nothing, half[2];
};

/* *all loses the lanes for which the fast way's conditions do not hold. */
INLINE void NAME(scales)(const struct emu_tc_row *row, int32_t zero, const struct factors *b, size_t column,
                         struct NAME(sum) * s, INTEGERS *all)
{
    INTEGERS power, usual, zeros;
    FETCH(power, &s->e);
    FETCH(usual, b->usual + column);
    FETCH(zeros, b->zero + column);
    s->nothing = (zeros | zero) & (INTEGERS)(s->c == 0);
    *all &= (((power >= LOWEST) & (power <= HIGHEST)) | s->nothing) & usual;
    WORDS up = (uint32_t)(254 + row->fraction) * (1u << 23) - (WORDS)power;
    FETCH(s->scale, &up);
    s->half[0] = s->half[1] = (INTEGERS){0};
}

/* Whether every lane is all ones. */
INLINE int NAME(every)(const INTEGERS *lanes)
{
    int64_t pair[LANES / 2], all = -1;
    STORE(pair, *lanes);
    for (size_t l = 0; l < LANES / 2; l++)
        all &= pair[l];
    return all == -1;
}

/* Lanes from[0 .. LANES/2 - 1] of both halves and c, added. */
INLINE void NAME(add)(const int32_t *first, const int32_t *second, const int32_t *last, NAME(doubles) * sum)
{
    NAME(half_integers) x, y, z;
    FETCH(x, first);
    FETCH(y, second);
    FETCH(z, last);
    *sum = __builtin_convertvector(x, NAME(doubles)) + __builtin_convertvector(y, NAME(doubles)) +
           __builtin_convertvector(z, NAME(doubles));
}

/* Half a vector's results at a time: what is stored by halves and fetched whole waits for the stores. */
INLINE void NAME(finish)(const struct emu_tc_row *row, struct NAME(sum) * s, size_t count, uint8_t *d)
{
    INTEGERS c = __builtin_convertvector(s->c * s->scale, INTEGERS), power;
    int32_t first[LANES], second[LANES], last[LANES], powers[LANES], nothings[LANES];
    STORE(first, s->half[0]);
    STORE(second, s->half[1]);
    STORE(last, c);
    FETCH(power, &s->e);
    STORE(powers, power);
    STORE(nothings, s->nothing);
    for (size_t l = 0; l < LANES; l += LANES / 2) {
        NAME(doubles) sum;
        NAME(add)(first + l, second + l, last + l, &sum);
        if (row->d == EMU_TC_F16) {
            double exact[LANES / 2];
            STORE(exact, sum);
            for (size_t i = 0; i < LANES / 2 && l + i < count; i++)
                store(d, 2, l + i,
                      round_sum(row->round, (int64_t)exact[i], (powers[l + i] >> 23) - 127 - row->fraction));
            continue;
        }
        NAME(longs) bits;
        FETCH(bits, &sum);
        bits &= row->round == EMU_TC_F32_RZ ? ~(uint64_t)0 << 29 : ~(uint64_t)0 << 39;
        FETCH(sum, &bits);
        NAME(half_vector) result = __builtin_convertvector(sum, NAME(half_vector)), unit;
        NAME(half_integers) down, nothing, r;
        FETCH(down, powers + l);
        FETCH(nothing, nothings + l);
        down -= row->fraction << 23;
        FETCH(unit, &down); /* 2^(E-F) */
        result *= unit;
        FETCH(r, &result);
        r &= ~nothing;
        if (count >= l + LANES / 2)
            STORE(d + 4 * l, r);
        else if (count > l)
            memcpy(d + 4 * l, &r, (count - l) * 4);
    }
}

/* Results of rows i and i2 of a and LANES columns of b, of which `count` are there, at d and d2. 0: the conditions do
   not hold for all of them, and nothing was written. i and i2 may be the same. */
INLINE int NAME(sums)(const struct emu_tc_row *row, size_t k, const struct factors *a, size_t i, size_t i2,
                      const struct factors *b, size_t column, size_t count, uint8_t *d, uint8_t *d2)
{
    struct NAME(sum) s, t;
    NAME(accumulators)(row->d == EMU_TC_F16, d, count, &s.c, &s.e);
    NAME(accumulators)(row->d == EMU_TC_F16, d2, count, &t.c, &t.e);
    for (size_t l = 0; l < k; l++) {
        VECTOR p, q;
        FETCH(p, b->power + l * ROWS + column);
        q = p * a->power[l * ROWS + i2];
        p = p * a->power[l * ROWS + i];
        s.e = LARGER(p, s.e);
        t.e = LARGER(q, t.e);
    }
    INTEGERS ok = ~(INTEGERS){0};
    NAME(scales)(row, a->zero[i], b, column, &s, &ok);
    NAME(scales)(row, a->zero[i2], b, column, &t, &ok);
    if (!NAME(every)(&ok))
        return 0; /* the conversions below might be out of range */
    for (size_t part = 0; part < 2; part++) {
        INTEGERS x = {0}, y = {0};
        for (size_t l = part * (k / 2); l < (part + 1) * (k / 2); l++) {
            VECTOR v;
            FETCH(v, b->value + l * ROWS + column);
            x += __builtin_convertvector(v * a->value[l * ROWS + i] * s.scale, INTEGERS);
            y += __builtin_convertvector(v * a->value[l * ROWS + i2] * t.scale, INTEGERS);
        }
        s.half[part] = x;
        t.half[part] = y;
    }
    NAME(finish)(row, &s, count, d);
    NAME(finish)(row, &t, count, d2);
    return 1;
}

/* Up to ROWS x ROWS results at d, whose rows are n elements apart; a and b raw and converted. */
INLINE void NAME(panel)(const struct emu_tc_row *row, size_t k, size_t rows, size_t columns, size_t n, const uint8_t *a,
                        const uint8_t *b, const struct factors *fa, const struct factors *fb, uint8_t *d)
{
    size_t a_row = k * formats[row->a].bytes, b_row = k * formats[row->b].bytes;
    unsigned bytes = formats[row->d].bytes;
    for (size_t j = 0; j < columns; j += LANES) {
        size_t count = columns - j < LANES ? columns - j : LANES;
        for (size_t i = 0; i < rows; i += 2) {
            size_t i2 = i + 1 < rows ? i + 1 : i;
            uint8_t *at = d + (i * n + j) * bytes;
            if (fa->usual[i] & fa->usual[i2] &&
                NAME(sums)(row, k, fa, i, i2, fb, j, count, at, at + (i2 - i) * n * bytes))
                continue;
            for (size_t r = i; r <= i2; r++, at += n * bytes)
                for (size_t l = 0; l < count; l++)
                    store(at, bytes, l,
                          fused_unusual(row, fa->nan[r] | fb->nan[j + l], a + r * a_row, b + (j + l) * b_row,
                                        load(at, bytes, l)));
        }
    }
}

TARGET static void NAME(fused)(const struct emu_tc_row *row, size_t m, size_t n, const void *a, const void *b, void *d)
{
    struct factors fa, fb;
    size_t k = row->k;
    const uint8_t *a_bytes = a, *b_bytes = b;
    uint8_t *d_bytes = d;
    for (size_t i = 0; i < m; i += ROWS) {
        size_t rows = m - i < ROWS ? m - i : ROWS;
        const uint8_t *a_from = a_bytes + i * k * formats[row->a].bytes;
        NAME(convert_operand)(row->a, a_from, rows, k, &fa);
        find_nans(row->a, a_from, rows, k, &fa);
        for (size_t j = 0; j < n; j += ROWS) {
            size_t columns = n - j < ROWS ? n - j : ROWS;
            const uint8_t *b_from = b_bytes + j * k * formats[row->b].bytes;
            uint8_t *to = d_bytes + (i * n + j) * formats[row->d].bytes;
            NAME(convert_operand)(row->b, b_from, columns, k, &fb);
            find_nans(row->b, b_from, columns, k, &fb);
            if (k == 16) /* a constant for the most common loops */
                NAME(panel)(row, 16, rows, columns, n, a_from, b_from, &fa, &fb, to);
            else
                NAME(panel)(row, k, rows, columns, n, a_from, b_from, &fa, &fb, to);
        }
    }
}

#undef VECTOR
#undef INTEGERS
#undef WORDS
#undef FETCH
#undef STORE
#undef INLINE
#undef LANES
#undef TARGET
#undef NAME
#undef LARGER
