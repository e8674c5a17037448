#include "emit/template/cuda_text.h"

#include <ctype.h>
#include <string.h>

/* Signs of several characters, longer ones before those that they begin with. */
static const char *const signs[] = {"<<=", ">>=", "...", "->*", "::", "->", "++", "--", "&&", "||", "==", "!=", "<=",
                                    ">=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "<<", ">>", "##", NULL};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

void cuda_line(struct cuda_scanner *s, const char *text, size_t length)
{
    s->at = text;
    s->end = text + length;
    s->fault = length && text[length - 1] == '\\' ? "a line that goes on behind a \\" : NULL;
}

/* White space and comments. */
static void skip(struct cuda_scanner *s)
{
    while (s->at < s->end) {
        if (s->comment) {
            s->comment = !(s->end - s->at >= 2 && s->at[0] == '*' && s->at[1] == '/');
            s->at += s->comment ? 1 : 2;
        } else if (s->end - s->at >= 2 && s->at[0] == '/' && s->at[1] == '/') {
            s->at = s->end;
        } else if (s->end - s->at >= 2 && s->at[0] == '/' && s->at[1] == '*') {
            s->comment = true;
            s->at += 2;
        } else if (isspace((unsigned char)*s->at)) {
            s->at++;
        } else {
            return;
        }
    }
}

static bool quoted(struct cuda_scanner *s)
{
    char quote = *s->at++;
    while (s->at < s->end && *s->at != quote)
        s->at += *s->at == '\\' && s->at + 1 < s->end ? 2 : 1;
    if (s->at >= s->end) {
        s->fault = "a text that does not end in its line";
        return false;
    }
    s->at++;
    return true;
}

bool cuda_next(struct cuda_scanner *s, struct cuda_token *t)
{
    skip(s);
    if (s->fault || s->at >= s->end)
        return false;
    const char *begin = s->at;
    char c = *begin;
    t->text = begin;
    if (c == '"' || c == '\'') {
        t->kind = CUDA_TEXT;
        if (!quoted(s))
            return false;
    } else if (isdigit((unsigned char)c) || (c == '.' && s->end - begin > 1 && isdigit((unsigned char)begin[1]))) {
        t->kind = CUDA_NUMBER;
        while (s->at < s->end && (is_word(*s->at) || *s->at == '.' || *s->at == '\'' ||
                                  ((*s->at == '+' || *s->at == '-') && strchr("eEpP", s->at[-1]))))
            s->at++;
    } else if (is_word(c)) {
        t->kind = CUDA_WORD;
        while (s->at < s->end && is_word(*s->at))
            s->at++;
        if (s->at < s->end && *s->at == '"' && s->at[-1] == 'R') {
            s->fault = "a raw text";
            return false;
        }
    } else {
        t->kind = CUDA_SIGN;
        int length = 1;
        for (int i = 0; signs[i] && length == 1; i++)
            if ((size_t)(s->end - begin) >= strlen(signs[i]) && memcmp(begin, signs[i], strlen(signs[i])) == 0)
                length = (int)strlen(signs[i]);
        if (s->end - begin >= 2 && ((c == '<' && begin[1] == '%') || (c == '%' && strchr(":>", begin[1])))) {
            s->fault = "a digraph";
            return false;
        }
        s->at = c == '#' && length == 1 ? s->end : begin + length;
        if (c == '#')
            length = 1;
    }
    t->length = t->kind == CUDA_SIGN && c == '#' ? 1 : (int)(s->at - begin);
    return true;
}

bool cuda_is(const struct cuda_token *t, const char *text)
{
    return (size_t)t->length == strlen(text) && memcmp(t->text, text, (size_t)t->length) == 0;
}

bool cuda_is_one(const struct cuda_token *t, const char *const *list)
{
    for (; *list; list++)
        if (cuda_is(t, *list))
            return true;
    return false;
}
