/* Tokens of PTX. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "parser.h"

static void stop(struct ptx_parser *p)
{
    p->cursor = p->end;
    p->token = (struct ptx_token){.kind = TOKEN_END, .text = p->end};
}

static void fail(struct ptx_parser *p, int status, const char *format, va_list arguments)
{
    char text[900];
    if (!p->status) {
        vsnprintf(text, sizeof text, format, arguments);
        for (char *c = text; *c; c++)
            if ((unsigned char)*c < 32 || (unsigned char)*c >= 127)
                *c = '?';
        p->status = tw_fail(p->error, status, "PTX line %u: %s", p->line, text);
    }
    stop(p);
}

void ptx_error(struct ptx_parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(p, TW_ERROR_INVALID, format, arguments);
    va_end(arguments);
}

void ptx_refuse(struct ptx_parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(p, TW_ERROR_UNSUPPORTED, format, arguments);
    va_end(arguments);
}

void ptx_refuse_function(struct ptx_parser *p, const char *format, ...)
{
    enum { MOST = 240 };
    char *text = p->function->refused ? NULL : ptx_arena(p, MOST);
    if (!text)
        return;
    va_list arguments;
    int taken = snprintf(text, MOST, "PTX line %u: ", p->line);
    va_start(arguments, format);
    vsnprintf(text + taken, (size_t)(MOST - taken), format, arguments);
    va_end(arguments);
    p->function->refused = text;
}

void ptx_no_memory(struct ptx_parser *p)
{
    if (!p->status)
        p->status = tw_fail(p->error, TW_ERROR_MEMORY, "out of memory at PTX line %u", p->line);
    stop(p);
}

enum { NAME = 1, NAME_START = 2, BLANK = 4, DIGIT = 8, HEX = 16 };

/* Classes of characters; independent of the locale. */
static const uint8_t classes[256] = {
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['\v'] = BLANK,
    ['\f'] = BLANK,
    [' '] = BLANK,
    ['\n'] = BLANK,
    ['$'] = NAME | NAME_START,
    ['%'] = NAME | NAME_START,
    ['_'] = NAME | NAME_START,
#define D NAME | DIGIT | HEX
    ['0'] = D,
    ['1'] = D,
    ['2'] = D,
    ['3'] = D,
    ['4'] = D,
    ['5'] = D,
    ['6'] = D,
    ['7'] = D,
    ['8'] = D,
    ['9'] = D,
#undef D
#define A NAME | NAME_START | HEX
    ['a'] = A,
    ['b'] = A,
    ['c'] = A,
    ['d'] = A,
    ['e'] = A,
    ['f'] = A,
    ['A'] = A,
    ['B'] = A,
    ['C'] = A,
    ['D'] = A,
    ['E'] = A,
    ['F'] = A,
#undef A
#define A NAME | NAME_START
    ['g'] = A,
    ['h'] = A,
    ['i'] = A,
    ['j'] = A,
    ['k'] = A,
    ['l'] = A,
    ['m'] = A,
    ['n'] = A,
    ['o'] = A,
    ['p'] = A,
    ['q'] = A,
    ['r'] = A,
    ['s'] = A,
    ['t'] = A,
    ['u'] = A,
    ['v'] = A,
    ['w'] = A,
    ['x'] = A,
    ['y'] = A,
    ['z'] = A,
    ['G'] = A,
    ['H'] = A,
    ['I'] = A,
    ['J'] = A,
    ['K'] = A,
    ['L'] = A,
    ['M'] = A,
    ['N'] = A,
    ['O'] = A,
    ['P'] = A,
    ['Q'] = A,
    ['R'] = A,
    ['S'] = A,
    ['T'] = A,
    ['U'] = A,
    ['V'] = A,
    ['W'] = A,
    ['X'] = A,
    ['Y'] = A,
    ['Z'] = A,
#undef A
};

static int is(char c, unsigned mask)
{
    return (classes[(uint8_t)c] & mask) != 0;
}

int ptx_name_char(char c)
{
    return is(c, NAME);
}

/* Blanks and comments; p->cursor stands on the next token. */
void ptx_skip_blank(struct ptx_parser *p)
{
    const char *c = p->cursor, *end = p->end;
    for (;;) {
        while (c < end && is(*c, BLANK))
            p->line += *c++ == '\n';
        if (end - c < 2 || c[0] != '/')
            break;
        if (c[1] == '/') {
            c = memchr(c, '\n', (size_t)(end - c));
            if (!c)
                c = end;
        } else if (c[1] == '*') {
            uint32_t start = p->line;
            for (c += 2; end - c >= 2 && !(c[0] == '*' && c[1] == '/'); c++)
                p->line += *c == '\n';
            if (end - c < 2) {
                p->line = start;
                ptx_error(p, "a comment that does not end");
                return;
            }
            c += 2;
        } else {
            break;
        }
    }
    p->cursor = c;
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

/* 0f3F800000 and 0d3FF0000000000000. */
static void exact_float(struct ptx_parser *p, struct ptx_token *token, const char *c)
{
    unsigned digits = (c[1] | 32) == 'f' ? 8 : 16, i = 0;
    uint64_t value = 0;
    for (c += 2; i < digits && c < p->end && is(*c, HEX); i++, c++)
        value = value << 4 | hex_digit(*c);
    if (i < digits || (c < p->end && is(*c, NAME))) {
        ptx_error(p, "a float constant needs %u hexadecimal digits", digits);
        return;
    }
    *token = (struct ptx_token){.kind = TOKEN_FLOAT,
                                .float_bits = (uint8_t)(digits * 4),
                                .value = value,
                                .text = token->text,
                                .length = (uint32_t)(c - token->text)};
    p->cursor = c;
}

/* 1.5, 1e-3; the text is cut from the source, so that strtod sees an end. */
static void decimal_float(struct ptx_parser *p, struct ptx_token *token)
{
    char copy[128];
    const char *c = token->text;
    size_t n = 0;
    while (c < p->end && n < sizeof copy - 1 &&
           (is(*c, DIGIT) || *c == '.' || (*c | 32) == 'e' || ((*c == '+' || *c == '-') && (c[-1] | 32) == 'e')))
        copy[n++] = *c++;
    copy[n] = 0;
    char *stop;
    double value = strtod(copy, &stop);
    if (stop != copy + n || (c < p->end && is(*c, NAME))) {
        ptx_error(p, "malformed number %.40s", copy);
        return;
    }
    memcpy(&token->value, &value, sizeof value);
    token->kind = TOKEN_FLOAT;
    token->float_bits = 64;
    token->is_decimal = 1;
    token->length = (uint32_t)n;
    p->cursor = c;
}

static void number(struct ptx_parser *p, struct ptx_token *token)
{
    const char *c = p->cursor, *end = p->end;
    unsigned base = 10;
    if (*c == '0' && end - c > 2) {
        char kind = (char)(c[1] | 32);
        if (kind == 'f' || kind == 'd') {
            exact_float(p, token, c);
            return;
        }
        if (kind == 'x' || kind == 'b') {
            base = kind == 'x' ? 16 : 2;
            c += 2;
        }
    }
    if (base == 10) {
        const char *d = c;
        while (d < end && is(*d, DIGIT))
            d++;
        if (d < end && (*d == '.' || (*d | 32) == 'e')) {
            decimal_float(p, token);
            return;
        }
        if (*c == '0' && d - c > 1)
            base = 8;
    }
    uint64_t value = 0;
    unsigned count = 0;
    for (; c < end && is(*c, HEX); c++, count++) {
        unsigned digit = hex_digit(*c);
        if (digit >= base)
            break;
        if (value > (UINT64_MAX - digit) / base) {
            ptx_error(p, "an integer of more than 64 bits");
            return;
        }
        value = value * base + digit;
    }
    token->is_unsigned = value > INT64_MAX;
    if (c < end && *c == 'U') {
        token->is_unsigned = 1;
        c++;
    }
    if (!count || (c < end && is(*c, NAME))) {
        ptx_error(p, "malformed number %.*s", (int)(end - token->text < 20 ? end - token->text : 20), token->text);
        return;
    }
    token->kind = TOKEN_INTEGER;
    token->value = value;
    token->length = (uint32_t)(c - token->text);
    p->cursor = c;
}

void ptx_next(struct ptx_parser *p)
{
    if (p->status)
        p->cursor = p->end;
    ptx_skip_blank(p);
    const char *c = p->cursor, *end = p->end;
    struct ptx_token *token = &p->token;
    *token = (struct ptx_token){.kind = TOKEN_END, .text = c};
    if (c >= end)
        return;
    if (is(*c, NAME_START)) {
        uint32_t hash = 2166136261u;
        do
            hash = ptx_hash_step(hash, *c++);
        while (c < end && is(*c, NAME));
        token->kind = TOKEN_NAME;
        token->hash = hash;
        token->length = (uint32_t)(c - token->text);
        p->cursor = c;
    } else if (*c == '.' && end - c > 1 && is(c[1], NAME)) {
        token->text = ++c;
        while (c < end && is(*c, NAME))
            c++;
        token->kind = TOKEN_DIRECTIVE;
        token->length = (uint32_t)(c - token->text);
        p->cursor = c;
    } else if (is(*c, DIGIT)) {
        number(p, token);
    } else if (*c == '"') {
        const char *start = ++c;
        while (c < end && *c != '"' && *c != '\n')
            c += *c == '\\' && end - c > 1 && c[1] != '\n' ? 2 : 1;
        if (c >= end || *c != '"') {
            ptx_error(p, "a string that does not end");
            return;
        }
        token->kind = TOKEN_STRING;
        token->text = start;
        token->length = (uint32_t)(c - start);
        p->cursor = c + 1;
    } else if ((uint8_t)*c < 32 || (uint8_t)*c >= 127) {
        ptx_error(p, "a byte 0x%02x outside of a string or comment", (uint8_t)*c);
    } else {
        token->kind = TOKEN_PUNCTUATION;
        token->punctuation = *c;
        token->length = 1;
        p->cursor = c + 1;
    }
}

int ptx_is(const struct ptx_parser *p, char punctuation)
{
    return p->token.kind == TOKEN_PUNCTUATION && p->token.punctuation == punctuation;
}

int ptx_same(const struct ptx_token *token, const char *text)
{
    return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}

int ptx_is_directive(const struct ptx_parser *p, const char *text)
{
    return p->token.kind == TOKEN_DIRECTIVE && ptx_same(&p->token, text);
}

int ptx_take(struct ptx_parser *p, char punctuation)
{
    if (!ptx_is(p, punctuation))
        return 0;
    ptx_next(p);
    return 1;
}

const char *ptx_token_text(const struct ptx_parser *p, char out[48])
{
    const struct ptx_token *token = &p->token;
    int length = token->length < 36 ? (int)token->length : 36;
    if (token->kind == TOKEN_END)
        snprintf(out, 48, "the end of the text");
    else
        snprintf(out, 48, "'%s%.*s%s'", token->kind == TOKEN_DIRECTIVE ? "." : "", length, token->text,
                 token->length > 36 ? "..." : "");
    return out;
}

void ptx_expect(struct ptx_parser *p, char punctuation)
{
    char text[48];
    if (!ptx_take(p, punctuation))
        ptx_error(p, "expected '%c', found %s", punctuation, ptx_token_text(p, text));
}
