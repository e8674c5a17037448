#include "emit/template/wrap.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "emit/template/chars.h"

enum { MAX_DEPTH = 32, MOST_ALIGNED = 70, STEP = 4 };

/* Where a line may be broken. */
struct place {
    size_t end;   /* of what stays, without the blank */
    size_t next;  /* of what follows */
    size_t align; /* the column of what follows */
    int cost;
};

static size_t indent_of(const char *line, size_t length)
{
    size_t indent = 0;
    while (indent < length && line[indent] == ' ')
        indent++;
    return indent;
}

/* The cost of a break between the words that end and begin at a blank, INT_MAX where none is wanted. What binds less is
 * cheaper, and a bracket costs more than any of it. */
static int cost_of(const char *line, size_t blank, size_t length)
{
    char before = line[blank - 1], after = line[blank + 1];
    bool lone = blank + 2 < length && line[blank + 2] == ' ';
    if (before == ',' || before == ';')
        return 0;
    if (((after == '?' || after == ':') && lone) || (after == ':' && blank + 2 < length && line[blank + 2] == ':'))
        return 1;
    if (blank >= 2 && ((before == '&' && line[blank - 2] == '&') || (before == '|' && line[blank - 2] == '|')))
        return 2;
    bool binary = blank >= 2 && line[blank - 2] == ' ';
    if (binary && (before == '+' || before == '-' || before == '|'))
        return 3;
    if (binary && (before == '*' || before == '/' || before == '%'))
        return 4;
    if (before == '=' && binary)
        return 12;
    if (before == ')' && is_word_char(after)) /* a function's name behind its attributes */
        return 5;
    return before == ')' ? 40 : INT_MAX;
}

/* The best place to break the line, whose first `from` columns are its indentation. */
static bool find_place(const char *line, size_t length, size_t from, bool goes_on, struct place *best)
{
    size_t open[MAX_DEPTH];
    int depth = 0;
    char quote = 0;
    best->cost = INT_MAX;
    for (size_t i = from; i < length && i <= WRAP_COLUMNS; i++) {
        char c = line[i];
        if (quote) {
            i += c == '\\';
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            if (depth == MAX_DEPTH)
                return false;
            open[depth++] = i;
        } else if (c == ')' || c == ']' || c == '}') {
            depth -= depth > 0;
        } else if (c == ' ' && i > from && i + 1 < length) {
            int cost = cost_of(line, i, length);
            if (cost == INT_MAX || cost + 10 * depth > best->cost)
                continue;
            size_t align = from + (goes_on ? 0 : STEP);
            if (depth > 0 && open[depth - 1] + 1 <= MOST_ALIGNED)
                align = open[depth - 1] + 1;
            *best = (struct place){i, i + 1, align, cost + 10 * depth};
        }
    }
    return best->cost != INT_MAX && best->next > best->align;
}

static void add_blanks(struct emit_text *text, size_t count)
{
    for (; count > 0; count--)
        text_add(text, " ", 1);
}

/* What each line of a comment that begins with `begin` begins with after that; NULL: the line is no comment. */
static const char *comment_sign(const char *begin, size_t length, size_t *column)
{
    *column = 0;
    if (length > 2 && begin[0] == '/' && begin[1] == '/')
        return "//";
    if (length > 2 && begin[0] == '*' && begin[1] == ' ')
        return "*";
    if (length > 3 && begin[0] == '/' && begin[1] == '*' && begin[2] == ' ') {
        *column = 1; /* the star's */
        return "*";
    }
    return NULL;
}

static int wrap_comment(struct emit_text *text, const char *line, size_t length, size_t indent, const char *sign,
                        size_t column)
{
    size_t begin = 0, room = WRAP_COLUMNS, prefix = 0;
    int lines = 1;
    while (length - begin > room) {
        size_t end = begin + room;
        while (end > begin && line[end] != ' ')
            end--;
        if (end <= begin + (begin ? 0 : indent + 3))
            break;
        text_add(text, line + begin, end - begin);
        text_string(text, "\n");
        add_blanks(text, indent + column);
        text_string(text, sign);
        begin = end; /* the blank that stood there parts the sign and the word */
        prefix = indent + column + strlen(sign);
        room = WRAP_COLUMNS - prefix;
        lines++;
    }
    text_add(text, line + begin, length - begin);
    text_string(text, "\n");
    return lines;
}

/* Where the comment begins that stands behind what the line says; its length where there is none. */
static size_t comment_behind(const char *line, size_t length)
{
    char quote = 0;
    for (size_t i = 0; i + 1 < length; i++)
        if (quote) {
            i += line[i] == '\\';
            quote = line[i] == quote ? 0 : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '/' && line[i + 1] == '*') {
            return length; /* it goes on in the next line, and ends where it says */
        } else if (line[i] == '/' && line[i + 1] == '/') {
            return i;
        }
    return length;
}

int wrap_line(struct emit_text *text, const char *line, size_t length)
{
    if (length <= WRAP_COLUMNS) { /* nearly all */
        if (!text_reserve(text, length + 1))
            return 1;
        char *const end = text->data + text->length + length;
        memcpy(end - length, line, length);
        memcpy(end, "\n", 2);
        text->length += length + 1;
        return 1;
    }
    size_t indent = indent_of(line, length);
    bool plain = line[indent] == '#' || line[length - 1] == '\\';
    size_t column;
    const char *sign = plain ? NULL : comment_sign(line + indent, length - indent, &column);
    if (sign)
        return wrap_comment(text, line, length, indent, sign, column);
    int lines = 1;
    size_t behind = plain ? length : comment_behind(line, length);
    if (behind < length) { /* broken off, its words would be code: it stands above the line */
        struct emit_text above = {.arena = text->arena};
        add_blanks(&above, indent);
        text_add(&above, line + behind, length - behind);
        text->failed = text->failed || above.failed;
        if (above.failed)
            return lines;
        while (behind > indent && line[behind - 1] == ' ')
            behind--;
        lines = wrap_line(text, above.data, above.length);
        return lines + wrap_line(text, line, behind);
    }
    bool goes_on = strchr(":\"&", line[indent]) != NULL; /* it began in a line before */
    struct place place;
    /* What follows a break is looked at as a line of its own: blanks up to its column, then the rest. */
    struct emit_text rest = {.arena = text->arena};
    while (!plain && length > WRAP_COLUMNS && find_place(line, length, indent, goes_on, &place)) {
        text_add(text, line, place.end);
        text_string(text, "\n");
        struct emit_text next = {.arena = text->arena};
        add_blanks(&next, place.align);
        text_add(&next, line + place.next, length - place.next);
        text->failed = text->failed || next.failed;
        if (next.failed)
            return lines;
        rest = next;
        line = rest.data;
        length = rest.length;
        indent = place.align;
        goes_on = true;
        lines++;
    }
    text_add(text, line, length);
    text_string(text, "\n");
    return lines;
}
