/* Characters of emitted text, in line: passes over all of it ask of each. */
#ifndef TW_GEN_EMIT_TEMPLATE_CHARS_H
#define TW_GEN_EMIT_TEMPLATE_CHARS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool is_digit_char(char c)
{
    return c >= '0' && c <= '9';
}

/* A character of C's names and numbers. */
static inline bool is_word_char(char c)
{
    /* A bit for each character: digits; letters and _. */
    static const uint64_t set[4] = {UINT64_C(0x03ff000000000000), UINT64_C(0x07fffffe87fffffe)};
    return set[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1;
}

#endif
