// Tokens of C, C++ and Python source.
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_c.h"

enum { LIST_MOST = 20000 }; // tokens between two brackets
enum { AHEAD = 8 };         // ends behind the last token, so that what looks ahead finds one

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int c_is(const struct c_token *token, const char *text)
{
    return token->kind != C_END && (size_t)token->length == strlen(text) &&
           memcmp(token->text, text, (size_t)token->length) == 0;
}

// The end of a comment, a string or the blanks that begin at p; p itself where none does. Counts lines. comments: what
// is behind a // is read too.
static const char *skip(const char *p, const char *end, int comments, int *line)
{
    const char *start = p;
    if (*p == '\n')
        ++*line;
    if (strchr(" \t\r\n\\`", *p))
        return p + 1;
    if (end - p > 1 && p[0] == '/' && p[1] == '/' && comments)
        return p + 2;
    if (end - p > 1 && p[0] == '/' && p[1] == '/') {
        while (p < end && *p != '\n')
            p++;
        return p;
    }
    if (end - p > 1 && p[0] == '/' && p[1] == '*') {
        for (p += 2; end - p > 1 && !(p[0] == '*' && p[1] == '/'); p++)
            *line += *p == '\n';
        return end - p > 1 ? p + 2 : end;
    }
    // An apostrophe of prose closes nothing: a string ends with its line.
    if (*p == '"' || *p == '\'') {
        const char quote = *p;
        for (p++; p < end && *p != quote && *p != '\n'; p++)
            p += *p == '\\' && end - p > 1 && p[1] != '\n';
        return p < end && *p == quote ? p + 1 : start + 1;
    }
    return p;
}

static int length_of(const char *p, const char *end, enum c_token_kind *kind)
{
    int length = 1;
    *kind = is_letter(*p) ? C_NAME : is_digit(*p) ? C_NUMBER : C_MARK;
    if (*kind == C_MARK) {
        static const char *const pairs[] = {"<<", ">>", "::", "->", "==", "!=", "<=", ">=", "//", "**"};
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs && end - p > 1; i++)
            if (memcmp(p, pairs[i], 2) == 0)
                length = 2;
        return length;
    }
    while (p + length < end &&
           (is_letter(p[length]) || is_digit(p[length]) ||
            (*kind == C_NUMBER && p[length] == '\'' && p + length + 1 < end && is_digit(p[length + 1]))))
        length++;
    return length;
}

int c_tokens(const char *text, size_t length, int comments, struct c_source *source)
{
    const char *end = text + length;
    int line = 1, room = 0;
    *source = (struct c_source){0};
    for (const char *p = text;;) {
        if (p < end) {
            const char *behind = skip(p, end, comments, &line);
            if (behind != p) {
                p = behind;
                continue;
            }
        }
        if (source->count + AHEAD >= room) {
            room = room ? 2 * room : 1024;
            struct c_token *grown = realloc(source->token, (size_t)room * sizeof *grown);
            if (!grown) {
                free(source->token);
                *source = (struct c_source){0};
                return -1;
            }
            source->token = grown;
        }
        struct c_token *token = &source->token[source->count];
        for (int i = 0; i < (p == end ? AHEAD : 1); i++)
            token[i] = (struct c_token){C_END, p, 0, line};
        if (p == end)
            return 0;
        token->length = length_of(p, end, &token->kind);
        p += token->length;
        source->count++;
    }
}

int c_close(const struct c_source *source, int open)
{
    int depth = 0;
    for (int i = open; i < source->count && i - open < LIST_MOST; i++) {
        const char c = source->token[i].text[0];
        if (source->token[i].length != 1)
            continue;
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth == 0)
            return i + 1;
    }
    return source->count;
}
