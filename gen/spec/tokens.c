#include "spec/tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- scan ------------------------------------------------------------------------------------------------------ */

static const char *const keywords[] = {"and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
                                       "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
                                       "repeat",   "return", "then", "true", "until",  "while", NULL};

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Level of a long bracket "[==[" at p, or -1. */
static int long_bracket(const char *p)
{
    int level = 0;
    if (*p != '[')
        return -1;
    while (p[1 + level] == '=')
        level++;
    return p[1 + level] == '[' ? level : -1;
}

/* Length of the long string or comment body at p, brackets included; to the end of the text where it is not closed. */
static size_t long_length(const char *p, int level)
{
    size_t n = (size_t)level + 2;
    for (; p[n]; n++) {
        if (p[n] != ']')
            continue;
        int equals = 0;
        while (p[n + 1 + (size_t)equals] == '=')
            equals++;
        if (equals == level && p[n + 1 + (size_t)equals] == ']')
            return n + (size_t)level + 2;
    }
    return n;
}

static bool newline(char c)
{
    return c == '\n' || c == '\r';
}

/* Exactly as Lua's lexer has it, escaped line ends and \z included: what it takes for a string is no code. */
static size_t string_length(const char *p)
{
    size_t n = 1;
    while (p[n] && p[n] != p[0] && !newline(p[n])) {
        if (p[n] != '\\' || !p[n + 1]) {
            n++;
        } else if (p[n + 1] == 'z') {
            for (n += 2; p[n] && strchr(" \t\r\n\v\f", p[n]);)
                n++;
        } else {
            bool pair = newline(p[n + 1]) && newline(p[n + 2]) && p[n + 1] != p[n + 2];
            n += pair ? 3 : 2;
        }
    }
    return p[n] == p[0] ? n + 1 : n;
}

static size_t number_length(const char *p)
{
    bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    size_t n = hex ? 2 : 0;
    for (;; n++) {
        bool sign = n > 0 && (p[n] == '+' || p[n] == '-') &&
                    (hex ? p[n - 1] == 'p' || p[n - 1] == 'P' : p[n - 1] == 'e' || p[n - 1] == 'E');
        if (!sign && !letter(p[n]) && !digit(p[n]) && p[n] != '.')
            return n;
    }
}

static size_t operator_length(const char *p)
{
    static const char *const longer[] = {"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>", NULL};
    for (int i = 0; longer[i]; i++)
        if (*p == *longer[i] && strncmp(p, longer[i], strlen(longer[i])) == 0)
            return strlen(longer[i]);
    return strchr("+-*/%^#&~|<>=(){}[];:,.", *p) ? 1 : 0;
}

/* Kind and length of what begins at p; length 0: no token. */
static enum token_kind classify(const char *p, size_t *length)
{
    int level = long_bracket(p);
    if (letter(*p)) {
        size_t n = 1;
        while (letter(p[n]) || digit(p[n]))
            n++;
        *length = n;
        for (int i = 0; keywords[i]; i++)
            if (*p == *keywords[i] && strlen(keywords[i]) == n && memcmp(p, keywords[i], n) == 0)
                return TOKEN_KEYWORD;
        return TOKEN_NAME;
    }
    if (digit(*p) || (*p == '.' && digit(p[1]))) {
        *length = number_length(p);
        return TOKEN_NUMBER;
    }
    if (*p == '"' || *p == '\'' || level >= 0) {
        *length = level >= 0 ? long_length(p, level) : string_length(p);
        return TOKEN_STRING;
    }
    *length = operator_length(p);
    return TOKEN_OPERATOR;
}

/* Length of white space or a comment at p, 0: none. */
static size_t blank_length(const char *p)
{
    if (strchr(" \t\r\n\v\f", *p))
        return 1;
    if (p[0] != '-' || p[1] != '-')
        return 0;
    int level = long_bracket(p + 2);
    return level >= 0 ? 2 + long_length(p + 2, level) : strcspn(p, "\r\n");
}

bool token_is(const struct tokens *t, int index, const char *word)
{
    if (index < 0 || index >= t->count)
        return false;
    const struct token *k = &t->token[index];
    return k->kind != TOKEN_STRING && t->text[k->start] == word[0] && (size_t)k->length == strlen(word) &&
           memcmp(t->text + k->start, word, (size_t)k->length) == 0;
}

static bool is_any(const struct tokens *t, int index, const char *const *words)
{
    for (; *words; words++)
        if (token_is(t, index, *words))
            return true;
    return false;
}

/* Sets `match` of every opening token. An if, do, function closes at its end, a repeat at its until; `while` and `for`
 * own no closing word, the `do` in them does. */
static bool match_tokens(struct tokens *t, struct arena *arena)
{
    static const char *const opening[] = {"(", "[", "{", "function", "do", "if", "repeat", NULL};
    static const char *const closing[] = {")", "]", "}", "end", "until", NULL};
    int *stack = arena_alloc(arena, (size_t)t->count * sizeof *stack), depth = 0;
    if (!stack)
        return false;
    for (int i = 0; i < t->count; i++) {
        if (t->token[i].kind != TOKEN_OPERATOR && t->token[i].kind != TOKEN_KEYWORD)
            continue;
        if (is_any(t, i, opening))
            stack[depth++] = i;
        else if (is_any(t, i, closing) && depth > 0)
            t->token[stack[--depth]].match = i;
    }
    return true;
}

bool tokens_scan(struct tokens *t, const char *text, size_t length, struct arena *arena)
{
    *t = (struct tokens){text, NULL, 0};
    int line = 1;
    const char *begin = text;
    for (const char *p = text; p <= text + length;) {
        size_t n = *p ? blank_length(p) : 0;
        struct token k = {TOKEN_END, line, (int)(p - begin) + 1, (int)(p - text), 0, -1};
        bool end = p == text + length || !*p;
        if (n == 0 && !end) {
            k.kind = classify(p, &n);
            k.length = (int)n;
        }
        if (k.length > 0 || end) {
            struct token *grown = arena_grow(arena, t->token, t->count, sizeof *grown);
            if (!grown)
                return false;
            t->token = grown;
            t->token[t->count++] = k;
        }
        if (end)
            break;
        n = n ? n : 1;
        for (size_t i = 0; i < n; i++)
            if (p[i] == '\n') {
                line++;
                begin = p + i + 1;
            }
        p += n;
    }
    return match_tokens(t, arena);
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

/* The constructor in the arguments that begin at `i`: {...} or ({...}). -1: none. */
static int constructor_at(const struct tokens *t, int i)
{
    if (token_is(t, i, "(") && token_is(t, i + 1, "{"))
        i++;
    return token_is(t, i, "{") && t->token[i].match >= 0 ? i : -1;
}

/* The end of the arguments that begin at i, or -1: no arguments. */
static int arguments_end(const struct tokens *t, int i)
{
    if (t->token[i].kind == TOKEN_STRING)
        return i + 1;
    if ((token_is(t, i, "(") || token_is(t, i, "{")) && t->token[i].match >= 0)
        return t->token[i].match + 1;
    return -1;
}

bool tokens_is_string(const struct tokens *t, int index, const char *text)
{
    const struct token *k = &t->token[index];
    return k->kind == TOKEN_STRING && (size_t)k->length == strlen(text) + 2 &&
           memcmp(t->text + k->start + 1, text, strlen(text)) == 0;
}

int tokens_find_call(const struct tokens *t, const char *function, const char *name, int line)
{
    int found = -1;
    for (int i = 0; i + 1 < t->count; i++) {
        if (t->token[i].kind != TOKEN_NAME || !token_is(t, i, function) ||
            (i > 0 && (token_is(t, i - 1, ".") || token_is(t, i - 1, ":"))))
            continue;
        int open = constructor_at(t, i + 1), label = -1;
        if (open < 0) { /* kernel "x" {...}, kernel(expr) {...}, kernel("x", {...}) is no form of ours */
            int after = arguments_end(t, i + 1);
            label = token_is(t, i + 1, "(") ? i + 2 : i + 1;
            open = after >= 0 ? constructor_at(t, after) : -1;
        }
        if (open < 0 || (t->token[i].line != line && t->token[open].line != line))
            continue;
        if (name && label >= 0 && t->token[label].kind == TOKEN_STRING && tokens_is_string(t, label, name))
            return open;
        if (found < 0 && !(name && label >= 0 && t->token[label].kind == TOKEN_STRING && label + 1 < open &&
                           !token_is(t, label + 1, "..") && !tokens_is_string(t, label, name)))
            found = open; /* a literal name that differs is another kernel's */
    }
    return found;
}

int tokens_argument(const struct tokens *t, int call)
{
    return call >= 0 && call + 1 < t->count ? constructor_at(t, call + 1) : -1;
}

/* Where the call of the word at i ends; where it is no call, at the word. */
static int call_end(const struct tokens *t, int i)
{
    int end = i + 1 < t->count ? arguments_end(t, i + 1) : -1;
    return end < 0 ? i : end;
}

/* The first token of that line or of one behind it. */
static int first_of_line(const struct tokens *t, int line)
{
    int first = 0, end = t->count;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (t->token[middle].line < line)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

int tokens_nth_call(const struct tokens *t, const char *word, int line, int n)
{
    const int first = first_of_line(t, line);
    int count = 0;
    for (int i = first; i < t->count && t->token[i].line == line; i++)
        count += token_is(t, i, word);
    for (int i = first; count && i < t->count && t->token[i].line == line; i++) {
        if (!token_is(t, i, word))
            continue;
        int before = 0;
        for (int k = first; k < t->count && t->token[k].line == line; k++)
            before += token_is(t, k, word) && call_end(t, k) < call_end(t, i);
        if (before == n % count)
            return i;
    }
    return -1;
}

int tokens_nearest(const struct tokens *t, const char *word, int at)
{
    const int line = t->token[at].line;
    int reach = at; /* the last token of a bracket that opens behind */
    for (int i = at; i < t->count && (t->token[i].line == line || i <= reach); i++) {
        if (token_is(t, i, word))
            return i;
        reach = t->token[i].match > reach && token_is(t, i, "(") ? t->token[i].match : reach;
    }
    for (int i = at - 1; i >= 0 && t->token[i].line == line; i--)
        if (token_is(t, i, word))
            return i;
    return -1;
}

/* The first token after the expression that begins at i: a comma, semicolon or the closing brace at `close`. */
static int skip_value(const struct tokens *t, int i, int close)
{
    while (i < close && !token_is(t, i, ",") && !token_is(t, i, ";"))
        i = t->token[i].match > i ? t->token[i].match + 1 : i + 1;
    return i;
}

/* What stands between the quotes or long brackets of a string. */
static const char *content(const struct tokens *t, int string, size_t *length)
{
    const struct token *k = &t->token[string];
    const char *text = t->text + k->start;
    size_t edge = *text == '[' ? strcspn(text + 1, "[") + 2 : 1;
    *length = (size_t)k->length >= 2 * edge ? (size_t)k->length - 2 * edge : 0;
    return text + edge;
}

/* Whether a path begins with the key: then what is left of it begins another step. */
static bool begins(const char *path, const char *key, size_t length)
{
    return strncmp(path, key, length) == 0 && (!path[length] || path[length] == '.' || path[length] == '[');
}

/* One step of a path: a position, or the longest key of the constructor that it begins with (one may hold dots). Its
 * length; 0: it is not there. The last of equals counts, as it does in Lua. */
static size_t find_item(const struct tokens *t, int open, const char *path, struct token_field *field)
{
    int close = t->token[open].match;
    const size_t step = *path == '[' ? strcspn(path, "]") + 1 : 0;
    const long position = step ? atol(path + 1) : 0;
    long count = 0;
    size_t found = 0;
    for (int i = open + 1; i < close;) {
        int key = i, value = i;
        const struct token *k = &t->token[i];
        size_t length = 0;
        if (k->kind == TOKEN_NAME && token_is(t, i + 1, "=")) {
            value = i + 2;
            length = begins(path, t->text + k->start, (size_t)k->length) ? (size_t)k->length : 0;
        } else if (token_is(t, i, "[") && k->match >= 0 && token_is(t, k->match + 1, "=")) {
            const struct token *in = &t->token[i + 1];
            const bool alone = k->match == i + 2;
            size_t n = 0;
            value = k->match + 2;
            key = alone ? i + 1 : i;
            if (alone && in->kind == TOKEN_STRING) {
                const char *text = content(t, i + 1, &n);
                length = begins(path, text, n) ? n : 0;
            } else if (alone && step && in->kind == TOKEN_NUMBER && atol(t->text + in->start) == position) {
                length = step;
            }
        } else {
            count++;
            length = step && count == position ? step : 0;
        }
        if (length && length >= found) {
            *field = (struct token_field){key, value < close ? value : key};
            found = length;
        }
        i = skip_value(t, value, close);
        if (i < close)
            i++;
    }
    return found;
}

/* The constructor that a value is: {...} or NAME {...} or NAME ({...}). */
static int value_constructor(const struct tokens *t, int value)
{
    if (t->token[value].kind == TOKEN_NAME && value + 1 < t->count)
        value++;
    return constructor_at(t, value);
}

bool tokens_find_field(const struct tokens *t, int open, const char *path, struct token_field *field)
{
    if (!*path)
        return false;
    while (*path) {
        const size_t length = open >= 0 ? find_item(t, open, path, field) : 0;
        if (!length)
            return false;
        path += strnlen(path, length);
        path += *path == '.';
        open = value_constructor(t, field->value);
    }
    return true;
}
