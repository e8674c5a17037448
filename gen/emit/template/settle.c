#include "emit/template/settle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emit/template/chars.h"
#include "emit/template/fold.h"

enum { MAX_NAME = 64, STEP = 4 };

static size_t indent_of(const struct output_line *l)
{
    return l->indent;
}

static bool starts(const char *text, const char *with, size_t length)
{
    return *text == *with && strncmp(text, with, length) == 0;
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_word_char(text[length]))
        length++;
    return length;
}

/* The next line that stays, count where there is none. */
static int after(const struct output *o, int line)
{
    do
        line++;
    while (line < o->count && o->line[line].dropped);
    return line;
}

static int before(const struct output *o, int line)
{
    do
        line--;
    while (line >= 0 && o->line[line].dropped);
    return line;
}

/* The last line at which a name may stand that is declared at `line`: the scope ends at a brace further left. */
static int scope_end(const struct output *o, int line)
{
    size_t indent = indent_of(&o->line[line]);
    int end = after(o, line);
    while (end < o->count && !(indent_of(&o->line[end]) < indent && o->line[end].text[indent_of(&o->line[end])] == '}'))
        end = after(o, end);
    return end;
}

static void drop(struct output *o, int line)
{
    o->line[line].dropped = true;
    int next = after(o, line);
    if (next < o->count)
        o->line[next].blank = o->line[next].blank || o->line[line].blank;
}

/* ---- words of a line ------------------------------------------------------------------------------------------- */

/* Whether the name at `c` is a member's. */
static bool is_member(const char *line, const char *c)
{
    return c > line && (c[-1] == '.' || (c - line > 1 && c[-1] == '>' && c[-2] == '-'));
}

/* The word stands at `c`, whole, and is no member's name. */
static bool is_word(const char *line, const char *c, const char *word, size_t length)
{
    return *c == *word && strncmp(c, word, length) == 0 && !is_word_char(c[length]) &&
           (c == line || !is_word_char(c[-1])) && !is_member(line, c);
}

/* The next place of the word at or behind `from`, outside of strings and comments; NULL: none. bit: the word's. */
static const char *find_word(struct output_line *l, const char *from, const char *word, size_t length, uint64_t bit)
{
    const char *line = l->text;
    char quote = 0;
    if (!(output_words(l) & bit))
        return NULL;
    if (!l->quotes && length > 0) {
        const char *const end = line + l->length, *c = from;
        while ((c = memchr(c, *word, (size_t)(end - c))) != NULL && !is_word(line, c, word, length))
            c++;
        return c;
    }
    for (const char *c = line; *c; c++) {
        if (quote) {
            c += *c == '\\' && c[1];
            quote = *c == quote ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (c[0] == '/' && c[1] == '/') {
            return NULL;
        } else if (c[0] == '/' && c[1] == '*') {
            const char *close = strstr(c + 2, "*/");
            if (!close)
                return NULL;
            c = close + 1;
        } else if (c >= from && is_word(line, c, word, length)) {
            return c;
        }
    }
    return NULL;
}

/* Puts 0 for the word throughout the line, and folds it. */
static void put_zero(struct output *o, struct output_line *l, const char *word, size_t length)
{
    const uint64_t bit = output_word(word, length);
    const char *at = find_word(l, l->text, word, length, bit);
    if (!at)
        return;
    char *text = arena_alloc(o->arena, l->length + 1);
    if (!text) {
        o->failed = true;
        return;
    }
    size_t used = 0;
    const char *from = l->text;
    for (; at; from = at + length, at = find_word(l, from, word, length, bit)) {
        memcpy(text + used, from, (size_t)(at - from));
        used += (size_t)(at - from);
        text[used++] = '0';
    }
    size_t rest = (size_t)(l->text + l->length - from);
    memcpy(text + used, from, rest);
    l->length = fold_line(text, used + rest);
    text[l->length] = '\0';
    l->text = text;
}

static void move_left(struct output_line *l, size_t columns)
{
    size_t indent = indent_of(l);
    columns = columns < indent ? columns : indent;
    l->text += columns;
    l->length -= columns;
    l->indent -= columns;
}

/* ---- declarations ---------------------------------------------------------------------------------------------- */

/* Where the declared names of a line begin, past the type; NULL where it declares nothing. */
static const char *declared(const char *text)
{
    static const char *const statement[] = {"return", "if",   "for",   "while",    "do",  "else",
                                            "asm",    "case", "break", "continue", "goto"};
    const char *c = text;
    if (starts(c, "[[maybe_unused]] ", 17))
        c += 17;
    if (starts(c, "const ", 6))
        c += 6;
    if (starts(c, "struct ", 7))
        c += 7;
    size_t length = word_length(c);
    for (size_t i = 0; i < sizeof statement / sizeof *statement; i++)
        if (starts(c, statement[i], length) && !statement[i][length])
            return NULL;
    /* `long long`, `unsigned short`: the type's last word is what counts. */
    static const char *const more[] = {"long ", "short ", "char ", "int "};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (length > 0 && (*c == 'l' || *c == 'u') && c[length] == ' ' &&
            strncmp(c + length + 1, more[i], strlen(more[i])) == 0) {
            c += length + 1;
            length = strlen(more[i]) - 1;
            break;
        }
    if (length == 0 || c[length] != ' ')
        return NULL;
    c += length + 1;
    while (*c == '*' || *c == '&')
        c++;
    c += strncmp(c, "const ", 6) == 0 ? 6 : 0;
    length = word_length(c);
    bool ends = strncmp(c + length, " = ", 3) == 0 || (c[length] && strchr("[,;", c[length]));
    return length > 0 && !is_digit_char(*c) && ends ? c : NULL;
}

/* The declarator behind the one at `c`, NULL: it was the last. */
static const char *next_declared(const char *c)
{
    int depth = 0;
    for (; *c; c++) {
        depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
        if (depth == 0 && c[0] == ',' && c[1] == ' ')
            return c + 2 + strspn(c + 2, "*&");
    }
    return NULL;
}

/* Whether a name that the body declares stands in the scope around the loop, in front of it. */
static bool clashes(const struct output *o, int loop, int first, int end, size_t depth)
{
    size_t outer = indent_of(&o->line[loop]);
    for (int i = first; i < end; i++) {
        const struct output_line *l = &o->line[i];
        if (l->dropped || indent_of(l) != depth)
            continue;
        for (const char *c = declared(l->text + depth); c; c = next_declared(c)) {
            const size_t length = word_length(c);
            const uint64_t bit = output_word(c, length);
            for (int k = before(o, loop); k >= 0; k = before(o, k)) {
                if (find_word(&o->line[k], o->line[k].text, c, length, bit))
                    return true;
                if (indent_of(&o->line[k]) < outer && strcmp(o->line[k].text, "{") != 0)
                    break;
            }
        }
    }
    return false;
}

static bool declares(const struct output *o, int first, int end, size_t depth)
{
    for (int i = first; i < end; i++)
        if (!o->line[i].dropped && indent_of(&o->line[i]) == depth && declared(o->line[i].text + depth))
            return true;
    return false;
}

/* ---- loops ----------------------------------------------------------------------------------------------------- */

/* Whether the line is the head of a loop that runs once; gives its variable, and whether a brace follows. */
static bool runs_once(const struct output_line *l, char name[MAX_NAME], bool *brace)
{
    const char *c = l->text + indent_of(l);
    if (!starts(c, "for (", 5))
        return false;
    c += 5 + word_length(c + 5);
    size_t length = *c == ' ' ? word_length(c + 1) : 0;
    if (length == 0 || length >= MAX_NAME)
        return false;
    memcpy(name, c + 1, length);
    name[length] = '\0';
    c += 1 + length;
    if (strncmp(c, " = 0; ", 6) != 0 || strncmp(c + 6, name, length) != 0 || strncmp(c + 6 + length, " < ", 3) != 0)
        return false;
    char *after;
    unsigned long limit = strtoul(c + 6 + length + 3, &after, 10), step = 1;
    bool counts = strncmp(after, "; ++", 4) == 0;
    c = after + (counts ? 4 : 2);
    if (after[0] != ';' || strncmp(c, name, length) != 0)
        return false;
    c += length;
    if (!counts && strncmp(c, " += ", 4) == 0) {
        step = strtoul(c + 4, &after, 10);
        c = after;
    }
    if (limit == 0 || step < limit || *c != ')')
        return false;
    *brace = strcmp(c + 1, " {") == 0;
    return *brace || c[1] == '\0';
}

/* The next place in the line of any of the words, NULL: of none. */
static const char *find_any(struct output_line *l, const char *const *word, size_t count)
{
    const char *at = NULL;
    for (size_t i = 0; i < count && !at; i++) {
        size_t length = strlen(word[i]);
        at = find_word(l, l->text, word[i], length, output_word(word[i], length));
    }
    return at;
}

/* Whether a `break` or a `continue` of the lines is of the loop around them. A switch in between takes the first. */
static bool leaves(const struct output *o, int first, int end, bool in_switch)
{
    static const char *const loops[] = {"for", "while", "do"}, *const choice[] = {"switch"};
    static const char *const ways[] = {"continue", "break"};
    for (int i = first; i < end; i++) {
        struct output_line *line = &o->line[i];
        if (line->dropped)
            continue;
        const char *loop = find_any(line, loops, 3), *chosen = find_any(line, choice, 1);
        const char *way = find_any(line, ways, in_switch || chosen ? 1 : 2);
        if (way && (!loop || way < loop))
            return true;
        if (!loop && !chosen)
            continue;
        size_t indent = indent_of(line);
        int inner = i + 1;
        for (; inner < end; inner++) { /* a switch's labels may stand below it */
            const struct output_line *l = &o->line[inner];
            if (!l->dropped && indent_of(l) <= indent && (!chosen || loop || l->text[indent_of(l)] == '}'))
                break;
        }
        if (!loop && leaves(o, i + 1, inner, true))
            return true;
        i = inner - 1;
    }
    return false;
}

/* Whether the loop is all that a head without a brace governs, `if (x)`: then its own braces say where that ends. */
static bool is_governed(const struct output *o, int loop)
{
    int head = before(o, loop);
    while (head >= 0 && o->line[head].text[indent_of(&o->line[head])] == '#')
        head = before(o, head);
    if (head < 0 || indent_of(&o->line[head]) >= indent_of(&o->line[loop]))
        return false;
    const struct output_line *l = &o->line[head];
    const char *text = l->text + indent_of(l);
    size_t length = l->length - indent_of(l);
    return text[length - 1] == ')' || (length >= 4 && memcmp(text + length - 4, "else", 4) == 0) ||
           (length == 2 && memcmp(text, "do", 2) == 0);
}

static void settle_loop(struct output *o, int loop, const char *name, bool brace)
{
    size_t indent = indent_of(&o->line[loop]), length = strlen(name), depth = indent + STEP;
    int first = after(o, loop), end = first;
    while (end < o->count && indent_of(&o->line[end]) > indent)
        end = after(o, end);
    bool closed = !brace || (end < o->count && indent_of(&o->line[end]) == indent &&
                             strcmp(o->line[end].text + indent, "}") == 0);
    if (first >= end || !closed || indent_of(&o->line[first]) != depth || leaves(o, first, end, false))
        return;
    for (int i = first; i < end; i++) {
        const char *c = o->line[i].dropped ? NULL : declared(o->line[i].text + indent_of(&o->line[i]));
        for (; c; c = next_declared(c))
            if (word_length(c) == length && strncmp(c, name, length) == 0)
                return; /* another of the same name */
    }
    int pragma = before(o, loop);
    if (pragma >= 0 && strncmp(o->line[pragma].text + indent_of(&o->line[pragma]), "#pragma unroll", 14) == 0) {
        o->line[loop].blank = o->line[loop].blank || o->line[pragma].blank;
        o->line[pragma].dropped = true;
    }
    for (int i = first; i < end; i++)
        if (!o->line[i].dropped)
            put_zero(o, &o->line[i], name, length);
    int next = brace ? after(o, end) : end;
    bool last = next >= o->count || indent_of(&o->line[next]) < indent;
    bool scope = brace && (is_governed(o, loop) ||
                           (declares(o, first, end, depth) && !(last && !clashes(o, loop, first, end, depth))));
    if (scope) {
        char *text = arena_alloc(o->arena, indent + 2);
        if (!text) {
            o->failed = true;
            return;
        }
        memset(text, ' ', indent);
        memcpy(text + indent, "{", 2);
        o->line[loop].text = text;
        o->line[loop].length = indent + 1;
        return;
    }
    for (int i = first; i < end; i++)
        if (!o->line[i].dropped)
            move_left(&o->line[i], STEP);
    drop(o, loop);
    if (brace)
        drop(o, end);
}

/* Takes names for 0 out of `const int NAME = 0, OTHER = x;`. */
static void settle_zeros(struct output *o, int line)
{
    struct output_line *l = &o->line[line];
    size_t indent = indent_of(l);
    const char *c = l->text + indent, *begin;
    c += starts(c, "[[maybe_unused]] ", 17) ? 17 : 0;
    if (!l->template->embedded || *c != 'c' || (strncmp(c, "const int ", 10) != 0 && strncmp(c, "const u32 ", 10) != 0))
        return;
    if (l->text[l->length - 1] != ';' || !strstr(c, " = 0") || !(begin = declared(c)) || begin != c + 10)
        return;
    char *text = arena_alloc(o->arena, l->length + 1);
    if (!text) {
        o->failed = true;
        return;
    }
    size_t used = (size_t)(begin - l->text), kept = 0;
    memcpy(text, l->text, used);
    for (const char *next; begin; begin = next) {
        next = next_declared(begin);
        size_t length = next ? (size_t)(next - 2 - begin) : (size_t)(l->text + l->length - 1 - begin);
        size_t name = word_length(begin);
        if (length == name + 4 && strncmp(begin + name, " = 0", 4) == 0) {
            for (int i = after(o, line), end = scope_end(o, line); i < end; i = after(o, i))
                put_zero(o, &o->line[i], begin, name);
            continue;
        }
        if (kept++ > 0) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, begin, length);
        used += length;
    }
    if (kept == 0) {
        drop(o, line);
        return;
    }
    text[used++] = ';';
    text[used] = '\0';
    l->text = text;
    l->length = used;
}

void settle_loops(struct output *o)
{
    for (int i = 0; i < o->count && !o->failed; i++) {
        char name[MAX_NAME];
        bool brace;
        if (o->line[i].dropped)
            continue;
        if (o->line[i].template->embedded && runs_once(&o->line[i], name, &brace))
            settle_loop(o, i, name, brace);
        else
            settle_zeros(o, i);
    }
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Whether what is behind `=` calls nothing that does more than compute. */
static bool computes(const char *c)
{
    for (const char *open = strchr(c, '('); open; open = strchr(open + 1, '(')) {
        const char *name = open;
        while (name > c && is_word_char(name[-1]))
            name--;
        size_t length = (size_t)(open - name);
        if (length == 0 && open > c && open[-1] == '>')
            return false; /* what template arguments make of a name may do anything */
        if (length > 0 && !(length == 3 && (strncmp(name, "min", 3) == 0 || strncmp(name, "max", 3) == 0)))
            return false;
    }
    return !strchr(c, '"');
}

static bool is_read(const struct output *o, int line, const char *name, size_t length)
{
    const size_t indent = indent_of(&o->line[line]);
    const uint64_t bit = output_word(name, length);
    for (int i = after(o, line); i < o->count; i = after(o, i)) {
        if (indent_of(&o->line[i]) < indent && o->line[i].text[indent_of(&o->line[i])] == '}')
            return false;
        if (find_word(&o->line[i], o->line[i].text, name, length, bit))
            return true;
    }
    return false;
}

void settle_constants(struct output *o)
{
    static const char attribute[] = "[[maybe_unused]] ";
    const size_t skip = sizeof attribute - 1;
    for (int i = o->count - 1; i >= 0 && !o->failed; i--) {
        struct output_line *l = &o->line[i];
        size_t indent = indent_of(l);
        if (l->dropped || indent == 0 || !l->template->embedded || l->text[l->length - 1] != ';')
            continue;
        const char *c = l->text + indent;
        bool marked = starts(c, attribute, skip);
        c += marked ? skip : 0;
        const char *name = starts(c, "const ", 6) ? declared(c) : NULL;
        if (!name || next_declared(name) || !strchr(name, '='))
            continue;
        size_t length = word_length(name);
        if (!is_read(o, i, name, length)) {
            if (computes(strchr(name, '=')))
                drop(o, i);
        } else if (marked) {
            char *text = arena_alloc(o->arena, l->length - skip + 1);
            if (!text) {
                o->failed = true;
                return;
            }
            memcpy(text, l->text, indent);
            memcpy(text + indent, c, l->length - indent - skip + 1);
            l->text = text;
            l->length -= skip;
        }
    }
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

struct function {
    const char *name;
    size_t length;
    int first, body, end; /* lines: with its comment, of the signature, of the closing brace */
    bool called;
};

/* The function whose signature is at `line`; false: it is none. */
static bool read_function(const struct output *o, int line, struct function *f)
{
    const struct output_line *l = &o->line[line];
    if (!l->template->embedded || !starts(l->text, "__device__ ", 11))
        return false;
    const char *open = strchr(l->text, '(');
    if (!open)
        return false;
    const char *name = open;
    while (name > l->text && is_word_char(name[-1]))
        name--;
    int end = line;
    while (end < o->count && strcmp(o->line[end].text, "}") != 0)
        end = after(o, end);
    if (end == o->count || name == open)
        return false;
    *f = (struct function){name, (size_t)(open - name), line, line, end, false};
    for (int i = before(o, line); i >= 0 && !o->line[f->first].blank && strncmp(o->line[i].text, "//", 2) == 0;
         i = before(o, i))
        f->first = i;
    return true;
}

/* The functions, and by a name's first character the lengths that names with it have: most words are none of them. */
struct functions {
    struct function *at;
    int count;
    uint64_t lengths[128]; /* bit: the length, modulo 64 */
};

static bool may_name(const struct functions *all, const char *word, size_t length)
{
    return (unsigned char)*word < 128 && all->lengths[(unsigned char)*word] >> length % 64 & 1;
}

/* Where the name ends that has the template arguments before `c`, as `f<3>(`: c, where there are none. */
static const char *past_arguments(const char *from, const char *c)
{
    const char *open = c;
    int depth = 0;
    if (c == from || c[-1] != '>')
        return c;
    do {
        open--;
        depth += (*open == '>') - (*open == '<');
    } while (open > from && depth > 0);
    return depth == 0 && open > from && is_word_char(open[-1]) ? open : c;
}

/* The next word of a line that may be a function's name, its length, and *next where to go on behind it; NULL: there is
 * none before the line's comment. A user's line may name a function without calling it. */
static const char *next_name(const struct output_line *l, const char *from, const char *end, size_t *length,
                             const char **next)
{
    for (const char *c = from; c < end; c++) {
        if (l->template->embedded && !(c = memchr(c, '(', (size_t)(end - c))))
            return NULL;
        const char *word = c, *after = c;
        if (l->template->embedded) {
            after = word = past_arguments(l->text, word);
            while (word > l->text && is_word_char(word[-1]))
                word--;
        }
        while (!l->template->embedded && after < end && is_word_char(*after))
            after++;
        *length = (size_t)(after - word);
        if (*length > 0) {
            *next = c + 1 > after ? c + 1 : after;
            return word;
        }
    }
    return NULL;
}

/* Where the line's comment begins, or it ends. */
static const char *text_end(const struct output_line *l)
{
    char quote = 0;
    for (const char *c = l->text; c[0] && c[1]; c++) {
        if (quote) {
            c += *c == '\\';
            quote = *c == quote ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (c[0] == '/' && c[1] == '/') {
            return c;
        }
    }
    return l->text + l->length;
}

/* Marks the functions that the lines name, and what those name. */
static void mark(const struct output *o, const struct functions *all, int from, int end, int skip)
{
    struct function *f = all->at;
    for (int i = from; i < end; i++) {
        const struct output_line *l = &o->line[i];
        if (l->dropped || (l->text[0] == '/' && l->text[1] == '/'))
            continue;
        const char *stop = strstr(l->text, "//") ? text_end(l) : l->text + l->length, *next;
        size_t length;
        for (const char *c = l->text; (c = next_name(l, c, stop, &length, &next)); c = next)
            for (int k = may_name(all, c, length) ? 0 : all->count; k < all->count; k++) {
                if (f[k].called || k == skip || f[k].length != length || memcmp(f[k].name, c, length) != 0)
                    continue;
                f[k].called = true;
                mark(o, all, f[k].body, f[k].end, k);
            }
    }
}

void settle_functions(struct output *o)
{
    struct function *f = NULL;
    int count = 0;
    for (int i = 0; i < o->count && !o->failed; i++) {
        struct function found;
        if (o->line[i].dropped || !read_function(o, i, &found))
            continue;
        struct function *grown = arena_grow(o->arena, f, count, sizeof *grown);
        if (!grown) {
            o->failed = true;
            return;
        }
        f = grown;
        f[count++] = found;
        i = found.end;
    }
    if (count == 0)
        return;
    /* What stands outside of all of them is what is there to be called from. */
    struct functions all = {.at = f, .count = count};
    for (int k = 0; k < count; k++)
        if ((unsigned char)*f[k].name < 128)
            all.lengths[(unsigned char)*f[k].name] |= UINT64_C(1) << f[k].length % 64;
    int from = 0;
    for (int k = 0; k <= count; k++) {
        mark(o, &all, from, k < count ? f[k].first : o->count, -1);
        from = k < count ? f[k].end : from;
    }
    for (int k = 0; k < count; k++) {
        if (f[k].called)
            continue;
        bool blank = o->line[f[k].first].blank;
        for (int i = f[k].first; i <= f[k].end; i++)
            o->line[i].dropped = true;
        int next = after(o, f[k].end);
        if (next < o->count)
            o->line[next].blank = o->line[next].blank || blank;
    }
}
