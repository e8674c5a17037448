/* The interpreter's messages in a spec's own words. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "spec/sandbox_words.h"

enum { PIECES = 5, NAME = 128 };

static const struct {
    const char *lua, *ours;
} words[] = {
#define WORDS(lua, ours) {lua, ours},
#include "spec/sandbox_words.def"
#undef WORDS
};

struct piece {
    const char *text;
    int length;
};

/* Whether a text is of a form, whose pieces are then found: each ends where what follows it in the form begins. */
static bool matches(const char *form, const char *text, struct piece piece[PIECES])
{
    while (*form) {
        if (*form != '%') {
            if (*form++ != *text++)
                return false;
            continue;
        }
        if (form[1] == '%') {
            if (*text++ != '%')
                return false;
            form += 2;
            continue;
        }
        const int number = form[1] - '0';
        const size_t literal = strcspn(form += 2, "%");
        const char *end;
        char next[NAME];
        snprintf(next, sizeof next, "%.*s", (int)literal, form);
        end = literal ? strstr(text, next) : text + strlen(text);
        if (!end || number < 0 || number >= PIECES)
            return false;
        piece[number] = (struct piece){text, (int)(end - text)};
        text = end;
    }
    return !*text;
}

/* "a number"; what is a word of its own stays. */
static void append_kind(char *out, size_t size, const struct piece *p)
{
    static const char *const own[] = {"nil", "nothing", "no value"};
    const char *article = p->length && strchr("aeiou", p->text[0]) ? "an " : "a ";
    size_t used = strlen(out);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if ((size_t)p->length == strlen(own[i]) && strncmp(p->text, own[i], (size_t)p->length) == 0) {
            snprintf(out + used, size - used, "%s", strcmp(own[i], "no value") == 0 ? "nothing" : own[i]);
            return;
        }
    if (p->length == 7 && strncmp(p->text, "boolean", 7) == 0)
        snprintf(out + used, size - used, "true or false");
    else if (p->length == 6 && strncmp(p->text, "string", 6) == 0)
        snprintf(out + used, size - used, "a text");
    else
        snprintf(out + used, size - used, "%s%.*s", article, p->length, p->text);
}

static void expand(const char *ours, const struct piece piece[PIECES], char *out, size_t size)
{
    out[0] = '\0';
    for (const char *p = ours; *p; p++) {
        size_t used = strlen(out);
        if (*p != '%') {
            snprintf(out + used, size - used, "%c", *p);
        } else if (p[1] == 'A') {
            append_kind(out, size, &piece[p[2] - '0']);
            p += 2;
        } else if (p[1] == '%') {
            snprintf(out + used, size - used, "%%");
            p++;
        } else {
            const struct piece *x = &piece[p[1] - '0'];
            snprintf(out + used, size - used, "%.*s", x->length, x->text);
            p++;
        }
    }
}

const char *sandbox_words(const char *text, char *out, size_t size)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct piece piece[PIECES];
        for (int n = 0; n < PIECES; n++)
            piece[n] = (struct piece){"", 0};
        if (!matches(words[i].lua, text, piece) || (piece[3].length == 1 && piece[3].text[0] == '?'))
            continue;
        expand(words[i].ours, piece, out, size);
        return out;
    }
    return text;
}
