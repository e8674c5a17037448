/* JSON out. */
#include "plan/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* The end of the text, with room for so many bytes and a zero; NULL: there is none. */
static char *room(struct json *j, size_t count)
{
    if (j->failed)
        return NULL;
    if (j->length + count + 1 > j->capacity) {
        size_t capacity = j->capacity ? j->capacity * 2 : 32768; /* a Plan's text is moved once or twice */
        while (capacity < j->length + count + 1)
            capacity *= 2;
        char *text = realloc(j->text, capacity);
        if (!text) {
            j->failed = true;
            return NULL;
        }
        j->text = text;
        j->capacity = capacity;
    }
    return j->text + j->length;
}

/* The text ends at `end`, in the room that there is. */
static void fill(struct json *j, char *end)
{
    *end = 0;
    j->length = (size_t)(end - j->text);
}

static void put(struct json *j, const char *bytes, size_t count)
{
    char *to = room(j, count);
    if (to) {
        memcpy(to, bytes, count);
        fill(j, to + count);
    }
}

static void put_text(struct json *j, const char *text)
{
    put(j, text, strlen(text));
}

/* Bytes of a new line's beginning, which add_line writes. */
static size_t line_bytes(int depth)
{
    return 1 + 2 * (size_t)depth;
}

static char *add_line(char *to, int depth)
{
    *to++ = '\n';
    for (int i = 0; i < depth; i++, to += 2)
        memcpy(to, "  ", 2);
    return to;
}

static void new_line(struct json *j, int depth)
{
    char *to = room(j, line_bytes(depth));
    if (to)
        fill(j, add_line(to, depth));
}

/* As it stands in a quoted text. */
static bool is_plain(char c)
{
    static const bool escaped[256] = {
#define FOUR(n) [n] = true, [n + 1] = true, [n + 2] = true, [n + 3] = true
        FOUR(0),  FOUR(4),  FOUR(8),      FOUR(12),      FOUR(16),      FOUR(20),
        FOUR(24), FOUR(28), ['"'] = true, ['\\'] = true, [0x7f] = true,
#undef FOUR
    };
    return !escaped[(unsigned char)c];
}

/* UTF-8 goes through; what JSON cannot hold as it stands is escaped. */
static void put_quoted(struct json *j, const char *value)
{
    const char *c = value;
    size_t plain = 0;
    while (is_plain(c[plain]))
        plain++;
    char *to = room(j, plain + 2);
    if (!to)
        return;
    *to++ = '"';
    memcpy(to, c, plain);
    to += plain;
    if (!c[plain]) { /* nearly all */
        *to++ = '"';
        fill(j, to);
        return;
    }
    fill(j, to);
    for (c += plain; *c; c++) {
        char escape[8];
        for (plain = 0; is_plain(c[plain]);)
            plain++;
        put(j, c, plain);
        c += plain;
        if (!*c)
            break;
        if (*c == '"' || *c == '\\')
            snprintf(escape, sizeof escape, "\\%c", *c);
        else if (*c == '\n')
            snprintf(escape, sizeof escape, "\\n");
        else if (*c == '\t')
            snprintf(escape, sizeof escape, "\\t");
        else
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*c);
        put_text(j, escape);
    }
    put(j, "\"", 1);
}

/* Comma, line and key before an entry. `nested`: an object or array follows. */
static void before_entry(struct json *j, const char *key, bool nested)
{
    if (j->depth == 0)
        return;
    int top = j->depth - 1;
    bool line = nested || !j->level[top].array;
    char *to = room(j, 1 + line_bytes(j->depth));
    if (!to)
        return;
    if (j->level[top].begun)
        *to++ = ',';
    if (line) {
        to = add_line(to, j->depth);
        j->level[top].broken = true;
    } else if (j->level[top].begun) {
        *to++ = ' ';
    }
    fill(j, to);
    j->level[top].begun = true;
    if (key) {
        put_quoted(j, key);
        put(j, ": ", 2);
    }
}

static void begin(struct json *j, const char *key, bool array)
{
    before_entry(j, key, true);
    put_text(j, array ? "[" : "{");
    if (j->depth == JSON_MAX_DEPTH) {
        j->failed = true;
        return;
    }
    j->level[j->depth].array = array;
    j->level[j->depth].begun = j->level[j->depth].broken = false;
    j->depth++;
}

static void on_object(void *context, const char *key)
{
    begin(context, key, false);
}

static void on_array(void *context, const char *key)
{
    begin(context, key, true);
}

static void on_end(void *context)
{
    struct json *j = context;
    if (j->depth == 0)
        return;
    j->depth--;
    if (j->level[j->depth].broken)
        new_line(j, j->depth);
    put_text(j, j->level[j->depth].array ? "]" : "}");
}

static void on_integer(void *context, const char *key, int64_t value)
{
    char digit[24], *first = digit + sizeof digit;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--first = '-';
    before_entry(context, key, false);
    put(context, first, (size_t)(digit + sizeof digit - first));
}

static void on_text(void *context, const char *key, const char *value)
{
    before_entry(context, key, false);
    if (value)
        put_quoted(context, value);
    else
        put_text(context, "null");
}

static void on_boolean(void *context, const char *key, bool value)
{
    before_entry(context, key, false);
    put_text(context, value ? "true" : "false");
}

struct sink json_sink(struct json *json)
{
    return (struct sink){json, on_object, on_array, on_end, on_integer, on_text, on_boolean};
}

int json_finish(struct json *json, char **text, size_t *length)
{
    put(json, "\n", 1);
    if (json->failed) {
        free(json->text);
        *text = NULL;
        *length = 0;
        return -1;
    }
    *text = json->text;
    *length = json->length;
    return 0;
}

int plan_print_json(const struct plan *p, char **text, size_t *length)
{
    struct json json = {0};
    struct sink sink = json_sink(&json);
    plan_write(p, &sink);
    return json_finish(&json, text, length);
}
