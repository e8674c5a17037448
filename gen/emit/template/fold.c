#include "emit/template/fold.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emit/template/chars.h"

/* A line is a row of runs, `operand (operator operand)*`, between separators: what binds less than `|`, and brackets,
 * whose insides are rows of their own. The operators of a run stand between blanks, as the templates write them. */

enum { MAX_LINE = 1024, MAX_RUN = 32, MAX_DEPTH = 16 };

/* From what binds most. */
enum level { LEVEL_PRODUCT, LEVEL_SUM, LEVEL_SHIFT, LEVEL_AND, LEVEL_XOR, LEVEL_OR, LEVELS };

struct operand {
    char op;          /* before it, the first character; the first operand of a run has none */
    enum level level; /* of op */
    const char *text; /* in out or scratch */
    size_t length;
    bool number;
    long long value;
};

struct fold {
    const char *at, *end;
    char out[MAX_LINE];
    size_t used;
    char scratch[4 * MAX_LINE]; /* texts of a run's intermediate results */
    size_t scratched;
    int depth;
    bool open; /* a bracket goes on in the next line: what surrounds it is not known whole */
    bool lost; /* not understood: the line stays */
};

static bool is_word(char c)
{
    return is_word_char(c) || c == '.';
}

static void put(struct fold *f, const char *text, size_t length)
{
    if (length > sizeof f->out - f->used) {
        f->lost = true;
        return;
    }
    if (length == 1)
        f->out[f->used] = *text;
    else
        memmove(f->out + f->used, text, length);
    f->used += length;
}

static void scratch(struct fold *f, const char *text, size_t length)
{
    if (length > sizeof f->scratch - f->scratched) {
        f->lost = true;
        return;
    }
    memcpy(f->scratch + f->scratched, text, length);
    f->scratched += length;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------ */

/* Whether leaving the operand out leaves out no call and no assignment. */
static bool is_pure(const struct operand *o)
{
    for (size_t i = 0; i < o->length; i++) {
        char c = o->text[i], before = i > 0 ? o->text[i - 1] : ' ';
        bool call = c == '(' && (is_word(before) || before == '>');
        if (call || c == '"' || c == '=' || (c == before && (c == '+' || c == '-')))
            return false;
    }
    return true;
}

static void set_number(struct fold *f, struct operand *o, long long value)
{
    char text[24];
    size_t length = (size_t)snprintf(text, sizeof text, "%lld", value);
    o->text = f->scratch + f->scratched;
    o->length = length;
    o->number = true;
    o->value = value;
    scratch(f, text, length);
}

/* The value of `a op b`, where it is one that may stand in the text. */
static bool compute(char op, long long a, long long b, long long *value)
{
    if (((op == '/' || op == '%') && b == 0) || ((op == '<' || op == '>') && b > 30))
        return false;
    *value = op == '*'   ? a * b
             : op == '/' ? a / b
             : op == '%' ? a % b
             : op == '+' ? a + b
             : op == '-' ? a - b
             : op == '<' ? a * (1ll << b)
             : op == '>' ? a / (1ll << b)
             : op == '&' ? (a & b)
             : op == '^' ? (a ^ b)
                         : (a | b);
    return *value >= 0 && *value <= INT_MAX;
}

/* Whether `x op value` is x, and whether `value op x` is. */
static bool is_neutral(char op, long long value)
{
    return op == '*' || op == '/' ? value == 1 : strchr("+-^|<>", op) && value == 0;
}

static bool is_neutral_before(char op, long long value)
{
    return op == '*' ? value == 1 : strchr("+^|", op) && value == 0;
}

/* Takes `b` into the operand `a` before it, where their values allow. first: nothing of the same level stands before a,
 * so that `a op b` is a value; else only the way in which b changes what stands before may be said otherwise. */
static bool join(struct fold *f, struct operand *a, const struct operand *b, bool first)
{
    long long value;
    bool own = first || (a->op == b->op && (a->op == '*' || a->op == '+')); /* x * 2 * 4, and not x / 2 * 4 */
    if (a->number && b->number && own && compute(b->op, a->value, b->value, &value)) {
        set_number(f, a, value);
        return true;
    }
    if (b->number && is_neutral(b->op, b->value))
        return true;
    if (!first)
        return false;
    bool nothing_after = b->number && ((b->op == '*' && b->value == 0) || (b->op == '%' && b->value == 1));
    bool nothing_before = a->number && a->value == 0 && b->level == LEVEL_PRODUCT;
    if ((nothing_after && is_pure(a)) || (nothing_before && is_pure(b))) {
        set_number(f, a, 0);
        return true;
    }
    if (a->number && is_neutral_before(b->op, a->value)) {
        a->text = b->text;
        a->length = b->length;
        a->number = b->number;
        a->value = b->value;
        return true;
    }
    return false;
}

/* Whether the operand is `(-8)`. */
static bool is_negative(const struct operand *o)
{
    bool negative = o->length > 3 && o->text[0] == '(' && o->text[1] == '-' && o->text[o->length - 1] == ')';
    for (size_t i = 2; i + 1 < o->length && negative; i++)
        negative = is_digit_char(o->text[i]);
    return negative;
}

/* `a op b` as one text, for the levels that bind less. first: nothing of the same level stands before a. */
static void glue(struct fold *f, struct operand *a, const struct operand *b, bool first)
{
    const char *text = f->scratch + f->scratched;
    size_t before = f->scratched;
    char op[] = {' ', b->op, b->op, ' '};
    bool zero = a->number && a->value == 0 && is_word(*b->text), negative = is_negative(b) && !f->open;
    if (b->op == '-' && zero && first) { /* 0 - x */
        scratch(f, "-", 1);
        scratch(f, b->text, b->length);
    } else if (b->op == '+' && negative) { /* x + (-8) */
        scratch(f, a->text, a->length);
        scratch(f, " - ", 3);
        scratch(f, b->text + 2, b->length - 3);
    } else if (b->op == '*' && negative && first && b->length == 4 && b->text[2] == '1' && *a->text != '-') {
        scratch(f, "-", 1); /* x * (-1) */
        scratch(f, a->text, a->length);
    } else {
        scratch(f, a->text, a->length);
        scratch(f, op, b->level == LEVEL_SHIFT ? 3 : 2);
        scratch(f, " ", 1);
        scratch(f, b->text, b->length);
    }
    a->text = text;
    a->length = f->scratched - before;
    a->number = false;
}

/* Folds a run to one operand, a level at a time. compared: a comparison, which binds more than `&`, stands beside it.
 */
static struct operand fold_run(struct fold *f, struct operand *o, int count, bool compared)
{
    for (enum level level = 0; level < LEVELS && count > 1 && !f->lost; level++) {
        struct operand row[MAX_RUN]; /* of this level, what is left of it */
        int rows = 0, wholes = 0;
        for (int i = 0; i <= count; i++) {
            if (i < count && i > 0 && o[i].level == level) {
                bool may = !f->open && (level < LEVEL_AND || !compared);
                if (!may || !join(f, &row[rows - 1], &o[i], rows == 1))
                    row[rows++] = o[i];
                continue;
            }
            if (i > 0) {
                struct operand whole = row[0];
                for (int k = 1; k < rows; k++)
                    glue(f, &whole, &row[k], k == 1);
                o[wholes++] = whole;
            }
            rows = 0;
            if (i < count)
                row[rows++] = o[i];
        }
        count = wholes;
    }
    return o[0];
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* The length of the operator at `at` with its blanks, 0 where there is none of a run. */
static size_t operator_at(const struct fold *f, char *op, enum level *level)
{
    static const struct {
        enum level level;
        unsigned char length; /* with the blanks, 0: no operator */
    } known[128] = {
        ['*'] = {LEVEL_PRODUCT, 3}, ['/'] = {LEVEL_PRODUCT, 3}, ['%'] = {LEVEL_PRODUCT, 3}, ['+'] = {LEVEL_SUM, 3},
        ['-'] = {LEVEL_SUM, 3},     ['<'] = {LEVEL_SHIFT, 4},   ['>'] = {LEVEL_SHIFT, 4},   ['&'] = {LEVEL_AND, 3},
        ['^'] = {LEVEL_XOR, 3},     ['|'] = {LEVEL_OR, 3}};
    const char *at = f->at;
    if (f->end - at < 4 || at[0] != ' ' || (unsigned char)at[1] >= 128)
        return 0;
    size_t length = known[(unsigned char)at[1]].length;
    if (length == 0 || (size_t)(f->end - at) <= length || at[length - 1] != ' ' || (length == 4 && at[2] != at[1]))
        return 0;
    *op = at[1];
    *level = known[(unsigned char)at[1]].level;
    return length;
}

static bool is_comparison(const struct fold *f)
{
    const char *at = f->at;
    if (f->end - at < 4 || at[0] != ' ')
        return false;
    return ((at[1] == '<' || at[1] == '>') && (at[2] == ' ' || at[2] == '=')) ||
           ((at[1] == '=' || at[1] == '!') && at[2] == '=');
}

static void take(struct fold *f, size_t length)
{
    put(f, f->at, length);
    f->at += length;
}

static void take_string(struct fold *f)
{
    const char *close = f->at + 1;
    while (close < f->end && *close != *f->at)
        close += *close == '\\' ? 2 : 1;
    if (close >= f->end)
        f->lost = true;
    else
        take(f, (size_t)(close - f->at) + 1);
}

static void read_row(struct fold *f, char close);

/* A bracket. droppable: nothing that it is the argument list or the subscript of stands before it. */
static void read_bracket(struct fold *f, bool droppable)
{
    char open = *f->at, close = open == '(' ? ')' : ']';
    size_t begin = f->used;
    take(f, 1);
    const char *inside = f->at;
    read_row(f, close);
    if (f->lost)
        return;
    if (f->at == f->end) {
        f->open = true;
        return;
    }
    bool changed = (size_t)(f->at - inside) != f->used - begin - 1;
    take(f, 1);
    bool word = droppable && changed && !(f->at < f->end && (is_word(*f->at) || *f->at == '('));
    for (size_t i = begin + 1; i + 1 < f->used && word; i++)
        word = is_word(f->out[i]);
    if (word) {
        f->used -= 2;
        memmove(f->out + begin, f->out + begin + 1, f->used - begin);
    }
}

/* Whether the blank at `at` joins two words of one operand: `u32 stage`, `const arguments &args`. */
static bool is_inside(const struct fold *f)
{
    const char *next = f->at + 1;
    bool sign = next + 1 < f->end && (*next == '&' || *next == '*') && is_word(next[1]);
    return next < f->end && (is_word(*next) || *next == '"' || *next == '(' || sign);
}

static bool is_return(const char *text, size_t length)
{
    return length == 6 && memcmp(text, "return", 6) == 0;
}

/* The length of the template arguments that a word at `at` has, `<int>` of `static_cast<int>(x)`; 0: none. */
static size_t template_arguments(const struct fold *f)
{
    const char *c = f->at;
    int depth = 0;
    if (c + 1 >= f->end || *c != '<' || c[1] == ' ' || c[1] == '=' || c[1] == '<')
        return 0;
    for (; c < f->end && (is_word(*c) || strchr("<>,:*& ", *c)); c++) {
        depth += (*c == '<') - (*c == '>');
        if (depth == 0)
            return c + 1 < f->end && c[1] == '(' ? (size_t)(c + 1 - f->at) : 0;
    }
    return 0;
}

/* Words, strings, brackets and signs, until an operator or a separator follows. */
static struct operand read_operand(struct fold *f)
{
    size_t begin = f->used;
    while (f->at < f->end && !f->lost) {
        char c = *f->at, next = f->at + 1 < f->end ? f->at[1] : ' ', op;
        enum level level;
        if (is_word(c)) {
            const char *word = f->at;
            while (word < f->end && is_word(*word))
                word++;
            take(f, (size_t)(word - f->at));
            if (is_return(f->out + begin, f->used - begin))
                break;
            take(f, template_arguments(f));
        } else if (c == '"' || c == '\'') {
            take_string(f);
        } else if (c == '(' || c == '[') {
            read_bracket(f, c == '(' && f->used == begin);
        } else if (c == ' ' && f->used > begin && !operator_at(f, &op, &level) && is_inside(f)) {
            take(f, 1);
        } else if (c == '-' && next == '>') {
            take(f, 2);
        } else if ((c == '!' || c == '~' || c == '-' || c == '&' || c == '*' || c == '+') && next != ' ' &&
                   next != '=' && !(c == '&' && next == '&')) {
            take(f, 1);
        } else {
            break;
        }
    }
    struct operand o = {.text = f->out + begin, .length = f->used - begin};
    o.number = o.length > 0 && o.length < 10 && (o.length == 1 || *o.text != '0');
    for (size_t i = 0; i < o.length && o.number; i++) {
        o.number = is_digit_char(o.text[i]);
        o.value = o.value * 10 + o.text[i] - '0';
    }
    return o;
}

/* compared: behind a comparison. */
static void read_run(struct fold *f, bool compared)
{
    struct operand o[MAX_RUN];
    size_t begin = f->used, length;
    int count = 1;
    o[0] = read_operand(f);
    bool alone = o[0].length == 0 || is_return(o[0].text, o[0].length);
    char op;
    enum level level;
    for (; !alone && !f->lost && (length = operator_at(f, &op, &level)); count++) {
        f->at += length;
        if (count == MAX_RUN) {
            f->lost = true;
            return;
        }
        o[count] = read_operand(f);
        o[count].op = op;
        o[count].level = level;
        f->lost = f->lost || (o[count].length == 0 && !f->open);
    }
    if (f->lost || count == 1)
        return;
    f->scratched = 0;
    struct operand whole = fold_run(f, o, count, compared || is_comparison(f));
    f->used = begin;
    put(f, whole.text, whole.length);
}

/* A comment at `at` that is the line's rest. */
static bool is_last_comment(const struct fold *f)
{
    if (f->end - f->at < 2 || f->at[0] != '/')
        return false;
    return f->at[1] == '/' || (f->at[1] == '*' && f->end - f->at > 3 && memcmp(f->end - 2, "*/", 2) == 0);
}

/* Runs and what separates them, up to the bracket that closes or the line's end. */
static void read_row(struct fold *f, char close)
{
    bool compared = false;
    if (++f->depth > MAX_DEPTH)
        f->lost = true;
    while (f->at < f->end && !f->lost && *f->at != close) {
        if (is_last_comment(f)) {
            take(f, (size_t)(f->end - f->at));
            break;
        }
        /* What stands on either side of a comment may belong together. */
        f->lost = f->end - f->at > 1 && f->at[0] == '/' && f->at[1] == '*';
        if (!f->lost)
            read_run(f, compared);
        if (f->at >= f->end || *f->at == close || f->lost)
            break;
        if (close && strchr(")]}", *f->at)) {
            f->lost = true;
            break;
        }
        bool compares = is_comparison(f);
        compared = compares || (compared && *f->at != ',' && *f->at != ';');
        take(f, compares ? 3 : 1);
    }
    f->depth--;
}

/* A literal of several lines' text, as sources stand in the C pair: there are many, and nothing in them is arithmetic.
 */
static bool is_literal(const char *text, size_t length)
{
    length -= length > 0 && text[length - 1] == ',';
    return length > 3 && *text == '"' && memcmp(text + length - 3, "\\n\"", 3) == 0;
}

static bool is_operator_char(char c)
{
    return c == '*' || c == '/' || c == '%' || c == '+' || c == '-' || c == '<' || c == '>' || c == '^' || c == '|';
}

/* Whether a number stands beside an operator at all, as in few lines. */
static bool has_constant(const char *line, size_t length, size_t indent)
{
    const char *const end = line + length, *c = line + (indent > 1 ? indent - 1 : 1);
    for (; end - c > 1 && (c = memchr(c, ' ', (size_t)(end - c - 1))) != NULL; c++) {
        if (!is_operator_char(c[1]))
            continue;
        const char *after = c + 2;
        while (after < end && (*after == ' ' || *after == '(' || *after == '-' || *after == c[1]))
            after++;
        if (is_digit_char(c[-1]) || (after < end && is_digit_char(*after)))
            return true;
    }
    return false;
}

/* The columns of a line's indentation; its length where there is nothing to fold. */
static size_t indent_of(const char *line, size_t length)
{
    size_t indent = 0;
    while (indent < length && (line[indent] == ' ' || line[indent] == '\t'))
        indent++;
    bool comment = indent + 1 < length && ((line[indent] == '*' && line[indent + 1] == ' ') ||
                                           (line[indent] == '/' && line[indent + 1] == '*'));
    bool plain = indent == length || line[indent] == '#' || line[length - 1] == '\\' || comment ||
                 is_literal(line + indent, length - indent);
    return plain || length - indent > MAX_LINE || !has_constant(line, length, indent) ? length : indent;
}

/* Folds a text without indentation. Returns its length. */
static size_t fold_text(char *text, size_t length)
{
    struct fold f;
    f.at = text;
    f.end = text + length;
    f.used = f.scratched = 0;
    f.depth = 0;
    f.open = f.lost = false;
    read_row(&f, '\0');
    if (f.lost || f.at != f.end || f.used > length)
        return length;
    memcpy(text, f.out, f.used);
    return f.used;
}

size_t fold_line(char *line, size_t length)
{
    size_t indent = indent_of(line, length);
    return indent == length ? length : indent + fold_text(line + indent, length - indent);
}

/* ---- lines that come again ------------------------------------------------------------------------------------- */

struct folded {
    size_t length, after; /* of the text, and of what it became */
    char text[];          /* the two */
};

static struct folded **find(struct folds *all, const char *text, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ length, word;
    for (size_t at = 0; at < length; at += sizeof word) {
        word = 0;
        memcpy(&word, text + at, length - at < sizeof word ? length - at : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return &all->line[hash % FOLDS];
}

size_t folds_line(struct folds *all, char *line, size_t length)
{
    size_t indent = indent_of(line, length), rest = length - indent;
    if (rest == 0)
        return length;
    char *text = line + indent;
    struct folded **place = find(all, text, rest), *f = *place;
    if (f && f->length == rest && memcmp(f->text, text, rest) == 0) {
        memcpy(text, f->text + rest, f->after);
        return indent + f->after;
    }
    struct folded *fresh = f ? NULL : arena_room(all->arena, sizeof *fresh + 2 * rest);
    if (fresh)
        memcpy(fresh->text, text, rest);
    size_t after = fold_text(text, rest);
    if (fresh) {
        memcpy(fresh->text + rest, text, after);
        fresh->length = rest;
        fresh->after = after;
        *place = fresh;
    }
    return indent + after;
}
