#include "emit/template/output.h"

#include "emit/template/chars.h"
#include "emit/template/settle.h"
#include "emit/template/wrap.h"

#include <ctype.h>
#include <string.h>

void output_blank(struct output *o)
{
    o->blank = true;
}

uint64_t output_word(const char *word, size_t length)
{
    if (length == 0)
        return UINT64_MAX;
    unsigned sum = (unsigned char)word[0] + 3u * (unsigned char)word[length / 2] + 5u * (unsigned char)word[length - 1];
    return UINT64_C(1) << ((sum + (unsigned)length) & 63);
}

uint64_t output_words(struct output_line *line)
{
    if (line->words)
        return line->words;
    uint64_t words = 0;
    for (const char *c = line->text + line->indent; *c;) {
        const char *word = c;
        if (*c == '"' || *c == '\'') { /* up to its end, or the line's */
            line->quotes = true;
            for (c++; *c && *c != *word; c++)
                c += *c == '\\' && c[1];
            c += *c != 0;
        } else if (is_word_char(*c)) {
            while (is_word_char(*c))
                c++;
            words |= output_word(word, (size_t)(c - word));
        } else if (c[0] == '/' && c[1] == '/') {
            line->quotes = true;
            break;
        } else {
            line->quotes = line->quotes || (c[0] == '/' && c[1] == '*');
            c++;
        }
    }
    return line->words = words ? words : output_word("0", 1);
}

/* In large steps, and without touching what nobody uses: an expansion has thousands of lines or few. */
static bool grow(struct output *o)
{
    const int capacity = o->capacity ? 4 * o->capacity : 256;
    struct output_line *grown = arena_room(o->arena, (size_t)capacity * sizeof *grown);
    if (!grown)
        return false;
    if (o->count)
        memcpy(grown, o->line, (size_t)o->count * sizeof *grown);
    o->line = grown;
    o->capacity = capacity;
    return true;
}

/* Adds the line that the rest is of. */
static void add(struct output *o, struct output_line line)
{
    if (!line.text || (o->count == o->capacity && !grow(o))) {
        o->failed = true;
        return;
    }
    while (line.text[line.indent] == ' ')
        line.indent++;
    line.blank = o->blank;
    o->line[o->count++] = line;
    o->blank = false;
}

void output_line(struct output *o, const struct template *t, int line, bool continued, const char *text, size_t length)
{
    const char *copy = arena_copy(o->arena, text, length);
    add(o, (struct output_line){.text = copy, .length = length, .template = t, .line = line, .continued = continued});
}

void output_block(struct output *o, const struct template *t, int line, struct emit_text *text)
{
    add(o,
        (struct output_line){.text = text->data, .length = text->length, .template = t, .line = line, .block = true});
    *text = (struct emit_text){.arena = text->arena};
}

/* ---- empty branches -------------------------------------------------------------------------------------------- */

static size_t indent_of(const struct output_line *l)
{
    return l->text[l->indent] == '\t' ? strspn(l->text, " \t") : l->indent;
}

static bool is(const struct output_line *l, const char *text)
{
    const char *begin = l->text + indent_of(l);
    return *begin == *text && strcmp(begin, text) == 0;
}

static bool begins(const struct output_line *l, const char *text)
{
    const char *begin = l->text + indent_of(l);
    return *begin == *text && strncmp(begin, text, strlen(text)) == 0;
}

/* `if (...) {` on one line, whose condition calls and assigns nothing: leaving it out changes nothing. */
static bool is_plain_if(const struct output_line *l)
{
    if (!begins(l, "if (") || l->text[l->length - 1] != '{')
        return false;
    for (const char *c = l->text + indent_of(l) + 4; *c; c++) {
        bool compares = c[0] == '=' && (c[1] == '=' || strchr("=!<>", c[-1]));
        if ((c[0] == '=' && !compares) || (c[0] == '+' && c[1] == '+') || (c[0] == '-' && c[1] == '-'))
            return false;
        if (c[0] == '(' && (isalnum((unsigned char)c[-1]) || c[-1] == '_'))
            return false;
    }
    return true;
}

/* Whether the expansion left something out between two lines: a branch that the template itself left empty stays. */
static bool emptied(const struct output_line *open, const struct output_line *close)
{
    if (open->template != close->template || close->line <= open->line)
        return true;
    for (int i = open->line + 1; i < close->line; i++)
        if (open->template->line[i].kind != LINE_BLANK)
            return true;
    return false;
}

static void drop(struct output *o, int line, int next)
{
    o->line[line].dropped = true;
    if (next < o->count)
        o->line[next].blank = o->line[next].blank || o->line[line].blank;
}

/* Each closing brace looks at the last line that stays before it, so that a branch emptied by this goes as well. */
static void drop_empty_branches(struct output *o)
{
    for (int i = 1; i < o->count; i++) {
        struct output_line *close = &o->line[i];
        int before = i - 1;
        while (before >= 0 && o->line[before].dropped)
            before--;
        if (before < 0 || !is(close, "}") || !emptied(&o->line[before], close) ||
            indent_of(&o->line[before]) != indent_of(close))
            continue;
        if (is(&o->line[before], "} else {")) {
            drop(o, before, i);
        } else if (is_plain_if(&o->line[before]) && !(i + 1 < o->count && begins(&o->line[i + 1], "else"))) {
            drop(o, before, i);
            drop(o, i, i + 1);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Follows comments and continued lines of the output: in them a #line would be text. */
struct scanner {
    bool comment, continued;
};

static void scan(struct scanner *s, const struct output_line *l)
{
    char quote = 0;
    for (const char *c = l->text; *c; c++) {
        if (s->comment) {
            s->comment = !(c[0] == '*' && c[1] == '/');
            c += !s->comment;
        } else if (quote) {
            c += *c == '\\' && c[1];
            quote = *c == quote ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (c[0] == '/' && c[1] == '/') {
            break;
        } else if (c[0] == '/' && c[1] == '*') {
            s->comment = true;
            c++;
        }
    }
    s->continued = l->text[l->length - 1] == '\\';
}

size_t output_bytes(const struct output *o)
{
    size_t bytes = 1;
    for (int i = 0; i < o->count; i++)
        bytes += o->line[i].length + 2;
    return bytes;
}

void output_write(struct output *o, bool line_directives, struct emit_text *result)
{
    drop_empty_branches(o);
    settle_loops(o);
    settle_constants(o);
    settle_functions(o);
    text_reserve(result, output_bytes(o));
    struct scanner scanner = {false, false};
    const struct template *counted = NULL; /* what the compiler takes the next line for */
    int number = 0;
    const struct output_line *last = NULL;
    for (int i = 0; i < o->count; i++) {
        const struct output_line *l = &o->line[i];
        if (l->dropped)
            continue;
        bool counts = line_directives && !l->continued && !scanner.comment && !scanner.continued && !begins(l, "//") &&
                      !begins(l, "/*");
        if (l->blank && last && last->text[last->length - 1] != '{' && !begins(l, "}")) {
            text_string(result, "\n");
            number++;
        }
        if (counts && (counted != l->template || number != l->line)) {
            text_format(result, "#line %d \"/tilewright/templates/%s\"\n", l->line + 1, l->template->name);
            counted = l->template;
            number = l->line;
        }
        if (l->template && l->template->embedded && !l->block) {
            number += wrap_line(result, l->text, l->length);
        } else { /* a user's line stays as it is, and a block, which no #line follows */
            text_add(result, l->text, l->length);
            text_string(result, "\n");
            number++;
        }
        if (line_directives)
            scan(&scanner, l);
        last = l;
    }
    result->failed = result->failed || o->failed;
}
