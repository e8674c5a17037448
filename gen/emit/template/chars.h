/* Characters of emitted text, in line: passes over all of it ask of each. */
#ifndef TW_GEN_EMIT_TEMPLATE_CHARS_H
#define TW_GEN_EMIT_TEMPLATE_CHARS_H

#include <stdbool.h>

static inline bool is_digit_char(char c)
{
    return c >= '0' && c <= '9';
}

/* A character of C's names and numbers. */
static inline bool is_word_char(char c)
{
    char lower = (char)(c | 32);
    return (lower >= 'a' && lower <= 'z') || is_digit_char(c) || c == '_';
}

#endif
