#include "verify/run/breaks.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "status.h"

#define KERNEL "kernel"
#define REMOVE(function, from) {BREAK_REMOVE, function, 0, from, NULL}
#define REMOVE_AT(function, n, from) {BREAK_REMOVE, function, n, from, NULL}
#define REPLACE(function, from, to) {BREAK_REPLACE, function, 0, from, to}
#define REPLACE_AT(function, n, from, to) {BREAK_REPLACE, function, n, from, to}

const struct break_row break_all[] = {
#define BREAK(name, arch, variant, hazard, text, ...) {#name, arch, variant, hazard, text, {__VA_ARGS__}},
#include "verify/run/breaks.def"
#undef BREAK
    {.name = NULL},
};

const struct break_row *break_find(const char *name, const char *arch)
{
    for (const struct break_row *row = break_all; row->name; row++)
        if (strcmp(row->name, name) == 0 && (!arch || strcmp(row->arch, arch) == 0))
            return row;
    return NULL;
}

/* A stretch of the text. */
struct span {
    const char *begin, *end;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Past a string, character or comment that begins here; else past one character. */
static const char *skip_token(const char *at, const char *end)
{
    if (*at == '"' || *at == '\'') {
        char quote = *at++;
        while (at < end && *at != quote)
            at += *at == '\\' && at + 1 < end ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    if (*at == '/' && at + 1 < end && at[1] == '/')
        return at + strcspn(at, "\n");
    return at + 1;
}

/* Past the bracket that closes the one at `at`. */
static const char *skip_brackets(const char *at, const char *end)
{
    int depth = 0;
    while (at < end) {
        depth += *at == '(' || *at == '{' || *at == '[';
        depth -= *at == ')' || *at == '}' || *at == ']';
        at = skip_token(at, end);
        if (depth == 0)
            return at;
    }
    return end;
}

/* The body of the function that is defined under this name, braces included. False where there is none. */
static bool find_function(struct span text, const char *name, struct span *body)
{
    size_t length = strlen(name);
    for (const char *at = text.begin; at < text.end; at = skip_token(at, text.end)) {
        if (strncmp(at, name, length) != 0 || at[length] != '(' || (at > text.begin && is_word(at[-1])))
            continue;
        const char *next = skip_brackets(at + length, text.end);
        next += strspn(next, " \n");
        if (next >= text.end || *next != '{')
            continue;
        body->begin = next;
        body->end = skip_brackets(next, text.end);
        return true;
    }
    return false;
}

/* Where the edit's text stands; NULL, and why, where it does not as the row tells. */
static const char *find_text(struct span in, const struct break_edit *edit, struct tw_error *error)
{
    const char *found = NULL;
    size_t length = strlen(edit->from);
    int count = 0;
    for (const char *at = in.begin; at + length <= in.end; at++) {
        if (strncmp(at, edit->from, length) != 0 || (is_word(*at) && at > in.begin && is_word(at[-1])))
            continue;
        count++;
        if (count == (edit->at ? edit->at : 1))
            found = at;
        at += length - 1;
    }
    if (edit->at == 0 && count > 1)
        found = NULL;
    if (!found)
        tw_fail(error, TW_ERROR_INVALID, "'%s' stands %d times in %s, and %s", edit->from, count,
                *edit->function ? edit->function : "the text",
                edit->at ? "as many are too few" : "should stand there once");
    return found;
}

/* The statement that begins here, up to its semicolon; false where none does. */
static bool find_statement(const char *begin, struct span in, struct span *statement)
{
    const char *before = begin;
    while (before > in.begin && isspace((unsigned char)before[-1]))
        before--;
    /* It begins a line, so nothing but a brace, a semicolon, a condition or a line directive stands before it. */
    bool line = false;
    for (const char *at = before; at < begin; at++)
        line = line || *at == '\n';
    const char *at = begin;
    while (at < in.end && *at != ';' && *at != '}')
        at = *at == '(' || *at == '{' || *at == '[' ? skip_brackets(at, in.end) : skip_token(at, in.end);
    statement->begin = begin;
    statement->end = at + 1;
    return line && at < in.end && *at == ';';
}

static int apply(struct tw_runtime *rt, const struct break_edit *edit, const char *entry, char **text,
                 struct tw_error *error)
{
    struct span all = {*text, *text + strlen(*text)}, in = all, old;
    const char *function = strcmp(edit->function, KERNEL) == 0 ? entry : edit->function;
    if (*function && !find_function(all, function, &in))
        return tw_fail(error, TW_ERROR_INVALID, "the text defines no function %s", function);
    const char *at = find_text(in, edit, error);
    if (!at)
        return TW_ERROR_INVALID;
    old = (struct span){at, at + strlen(edit->from)};
    if (edit->kind == BREAK_REMOVE && !find_statement(at, in, &old))
        return tw_fail(error, TW_ERROR_INVALID, "no statement begins with '%s' in %s", edit->from, function);

    const char *put = edit->kind == BREAK_REMOVE ? ";" : edit->to;
    size_t room = strlen(*text) + strlen(put) + 1, lines = 0;
    for (const char *p = old.begin; p < old.end; p++)
        lines += *p == '\n';
    char *edited = tw_alloc(rt, room);
    if (!edited)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    size_t n = (size_t)(old.begin - all.begin);
    memcpy(edited, all.begin, n);
    memcpy(edited + n, put, strlen(put));
    n += strlen(put);
    while (lines--)
        edited[n++] = '\n';
    memcpy(edited + n, old.end, (size_t)(all.end - old.end) + 1);
    tw_free(rt, *text);
    *text = edited;
    return TW_OK;
}

int break_apply(struct tw_runtime *rt, const struct break_row *row, const char *entry, const char *text, char **out,
                struct tw_error *error)
{
    char *edited = tw_strdup(rt, text);
    int status = edited ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < BREAK_EDITS && row->edit[i].kind != BREAK_NONE && status == TW_OK; i++) {
        struct tw_error why = {""};
        status = apply(rt, &row->edit[i], entry, &edited, &why);
        if (status != TW_OK)
            tw_fail(error, status, "%s cannot be planted into %s: %s", row->name, entry, why.text);
    }
    if (status != TW_OK) {
        tw_free(rt, edited);
        edited = NULL;
    }
    *out = edited;
    return status;
}

void break_print_edits(FILE *out, const char *before, const char *after)
{
    for (int line = 1; *before && *after; line++) {
        size_t old = strcspn(before, "\n"), new = strcspn(after, "\n");
        if (old != new || strncmp(before, after, old) != 0)
            fprintf(out, "- %d: %.*s\n+ %d: %.*s\n", line, (int)old, before, line, (int)new, after);
        before += old + (before[old] == '\n');
        after += new + (after[new] == '\n');
    }
}

void break_print_list(FILE *out)
{
    int name = 0, hazard = 0;
    for (const struct break_row *row = break_all; row->name; row++) {
        name = (int)strlen(row->name) > name ? (int)strlen(row->name) : name;
        hazard = (int)strlen(row->hazard) > hazard ? (int)strlen(row->hazard) : hazard;
    }
    for (const struct break_row *row = break_all; row->name; row++)
        fprintf(out, "%-*s  %-6s  %-*s  %s\n", name, row->name, row->arch, hazard, row->hazard, row->text);
}
