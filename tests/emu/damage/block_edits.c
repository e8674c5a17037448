#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/damage/block_edits.h"

const char *const block_edit_name[] = {
#define X(id, name) name,
    BLOCK_EDITS(X)
#undef X
};

enum { MOST_COPIED = 128 };

/* A text as it is read, line by line, and where its edits go. */
struct reader {
    const char *text;
    enum block_edit_kind kind;
    void (*offer)(void *context, const struct block_edit *e);
    void *context;
    struct block_edit now; /* place and function of the line; what an edit begins as */
    bool in_struct, functions;
    /* The statement before this one, where nothing stands between. */
    size_t last, last_length;
    /* Those so far that can be copied. */
    struct {
        size_t at, length;
    } copied[MOST_COPIED];
    int copied_count;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

static size_t line_length(const char *at)
{
    return strcspn(at, "\n");
}

static const char *first_of(const char *line)
{
    return line + strspn(line, " ");
}

/* A word of code, holes being part of it. Its length. */
static size_t word_length(const char *at)
{
    size_t n = 0;
    for (;;)
        if (is_word(at[n]))
            n++;
        else if (begins(at + n, "${"))
            n += strcspn(at + n, "}\n") + 1;
        else
            return n;
}

static bool one_of(const char *at, const char *const *word)
{
    for (; *word; word++)
        if (begins(at, *word) && !is_word(at[strlen(*word)]))
            return true;
    return false;
}

/* Behind a string that begins at `at`. */
static const char *behind_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

/* A line that is code of a body: no Lua, comment, preprocessor or brace alone. */
static bool is_code(const struct reader *r, const char *line)
{
    const char *at = first_of(line);
    if (r->in_struct || (at == line && r->functions) || *at == '\n' || *at == 0 || begins(at, "//") || *at == '#' ||
        *at == '{' || *at == '}')
        return false;
    static const char *const heads[] = {"__device__", "template", "extern", "typedef", "struct", NULL};
    return !one_of(at, heads);
}

/* Length of the statement that begins on this line, 0: none does that can be taken as a whole. */
static size_t statement_length(const struct reader *r, const char *line)
{
    static const char *const no_statement[] = {"else", "if", "for", "while", "do", "switch", "case", NULL};
    const char *at = first_of(line), *begin = at, *end = line + line_length(line);
    int depth = 0;
    if (!is_code(r, line) || one_of(at, no_statement) || *at == '"' || *at == ':' || *at == '(')
        return 0;
    for (;; at++) {
        if (at >= end) {
            line = end + (*end == '\n');
            if (*line == 0 || !is_code(r, line) || depth == 0)
                return 0;
            at = first_of(line);
            end = line + line_length(line);
        }
        if (*at == '"') {
            at = behind_string(at, end) - 1;
        } else if (begins(at, "${")) {
            at += strcspn(at, "}");
        } else if (strchr("([{", *at)) {
            if (*at == '{' && depth == 0 && !memchr(begin, '=', (size_t)(at - begin)))
                return 0;
            depth++;
        } else if (strchr(")]}", *at)) {
            if (--depth < 0)
                return 0;
        } else if (*at == ';' && depth == 0) {
            return (size_t)(at + 1 - begin);
        } else if (begins(at, "//")) {
            return 0;
        }
    }
}

static bool holds(const char *at, size_t length, const char *const *word)
{
    for (; *word; word++)
        if (memmem(at, length, *word, strlen(*word)))
            return true;
    return false;
}

/* "type name": two words beside each other. */
static bool declares(const char *at)
{
    static const char *const verbs[] = {"return", "asm", NULL};
    size_t n = word_length(at);
    if (n == 0 || one_of(at, verbs) || at[n] != ' ')
        return false;
    at += n + strspn(at + n, " *&(");
    return word_length(at) > 0;
}

static void give(struct reader *r, size_t at, size_t length, const char *format, const char *with, size_t with_length,
                 const char *lua)
{
    struct block_edit e = r->now;
    e.at = at;
    e.length = length;
    if (snprintf(e.with, sizeof e.with, format, (int)with_length, with) >= (int)sizeof e.with)
        return;
    snprintf(e.lua, sizeof e.lua, "%s", lua);
    r->offer(r->context, &e);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static const char *const orders[] = {"fence",  "commit", "__sync", "bar.",          "wait_all",     "wait_group",
                                     "arrive", "expect", "_wait",  "mbarrier.init", "barrier_init", NULL};

static bool is_plain(const char *at, size_t length)
{
    static const char *const acts[] = {"asm", "_load", "_store", "copy", "tma_", "_release", "_drain", NULL};
    return !holds(at, length, orders) && !holds(at, length, acts);
}

/* Whether the first is an assignment of something that the second does not name. */
static bool is_apart(const char *one, size_t length, const char *other, size_t other_length)
{
    const char *sign = memmem(one, length, " = ", 3), *at = sign, *other_end = other + other_length;
    while (at && at > one && at[-1] != ' ' && at[-1] != '*' && at[-1] != '&')
        at--;
    if (!sign || at == sign)
        return false;
    size_t n = (size_t)(sign - at);
    for (; (other = memmem(other, (size_t)(other_end - other), at, n)); other++)
        if (!is_word(other[-1]) && !is_word(other[n]))
            return false;
    return true;
}

/* The statement and the one before it, where nothing but the end of a line stands between them. */
static void edit_neighbours(struct reader *r, size_t at, size_t length)
{
    const char *text = r->text + at, *before = r->text + r->last, *between = before + r->last_length;
    if (r->last_length == 0 || between >= text || strspn(between, "\n ") != (size_t)(text - between) ||
        memchr(between + 1, '\n', (size_t)(text - between - 1)))
        return;
    char both[BLOCK_MOST_PIECE];
    int n = snprintf(both, sizeof both, "%.*s%.*s%.*s", (int)length, text, (int)(text - between), between,
                     (int)r->last_length, before);
    r->now.plain = is_plain(text, length) && is_plain(before, r->last_length);
    r->now.harmless =
        r->now.plain && is_apart(text, length, before, r->last_length) && is_apart(before, r->last_length, text, length)
            ? "neither reads what the other writes"
            : NULL;
    if (n < (int)sizeof both)
        give(r, r->last, at + length - r->last, "%.*s", both, (size_t)n, "");
}

/* Each of the statements so far, and this one again, behind this one. */
static void edit_copies(struct reader *r, size_t at, size_t length)
{
    if (!r->now.declares && r->copied_count < MOST_COPIED) {
        r->copied[r->copied_count].at = at;
        r->copied[r->copied_count++].length = length;
    }
    for (int i = 0; i < r->copied_count; i++) {
        char with[BLOCK_MOST_PIECE];
        int n = snprintf(with, sizeof with, " %.*s", (int)r->copied[i].length, r->text + r->copied[i].at);
        const char *copied = r->text + r->copied[i].at;
        static const char *const tells[] = {"arrive", "expect", "init", "bar.", NULL};
        r->now.harmless = holds(copied, r->copied[i].length, orders) && !holds(copied, r->copied[i].length, tells)
                              ? "a fence or a wait more"
                              : NULL;
        if (n < (int)sizeof with)
            give(r, at + length, 0, "%.*s", with, (size_t)n, "");
    }
}

static void edit_statement(struct reader *r, size_t at, size_t length)
{
    const char *text = r->text + at;
    bool order = holds(text, length, orders), leaves = begins(text, "return");
    if (!r->now.declares && !leaves && r->kind == (order ? BLOCK_ORDER : BLOCK_REMOVED))
        give(r, at, length, "%.*s", ";", 1, "");
    if (r->kind == BLOCK_SWAPPED && !leaves)
        edit_neighbours(r, at, length);
    if (r->kind == BLOCK_COPIED && !leaves)
        edit_copies(r, at, length);
    r->last = at;
    r->last_length = length;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void edit_number(struct reader *r, const char *at, size_t length)
{
    size_t place = (size_t)(at - r->text);
    char with[24];
    long value = strtol(at, NULL, 10);
    snprintf(with, sizeof with, "%ld", value + 1);
    give(r, place, length, "%.*s", with, strlen(with), "");
    if (value > 0) {
        snprintf(with, sizeof with, "%ld", value - 1);
        give(r, place, length, "%.*s", with, strlen(with), "");
    }
}

/* A hole of a plain name: the Plan's number and one, or less one. What is no number there fails as Lua. */
static void edit_hole(struct reader *r, const char *at, size_t length)
{
    for (int change = -1; change <= 1; change += 2) {
        char lua[200];
        r->now.harmless = r->kind == BLOCK_WAIT && change < 0 ? "a wait for more than is needed" : NULL;
        snprintf(lua, sizeof lua, "//@ local edited = %.*s + %d\n", (int)length - 3, at + 2, change);
        give(r, (size_t)(at - r->text), length, "%.*s", "${edited}", 9, lua);
    }
}

static bool is_hole(const char *at, const char *end, size_t *length)
{
    if (!begins(at, "${"))
        return false;
    const char *c = at + 2;
    while (c < end && (is_word(*c) || *c == '.'))
        c++;
    *length = (size_t)(c + 1 - at);
    return c < end && *c == '}';
}

static void edit_numbers(struct reader *r, const char *from, const char *end)
{
    for (const char *at = from; at < end; at++) {
        size_t n = 0;
        char before = at > from ? at[-1] : ' ';
        if (is_hole(at, end, &n)) {
            if (!is_word(before) && before != '.' && before != '}' && !is_word(at[n]) && at[n] != '.' &&
                !begins(at + n, "${"))
                edit_hole(r, at, n);
            at += n - 1;
        } else if (isdigit((unsigned char)*at)) {
            while (at + n < end && (is_word(at[n]) || at[n] == '.'))
                n++;
            if (!is_word(before) && !strchr("%.}", before) && strspn(at, "0123456789") == n && n < 9)
                edit_number(r, at, n);
            at += n - 1;
        } else if (is_word(*at)) {
            at += word_length(at) - 1;
        }
    }
}

static void edit_parities(struct reader *r, const char *from, const char *end)
{
    for (const char *at = from; at < end; at++)
        if (begins(at, " ^= 1"))
            give(r, (size_t)(at - r->text), 5, "%.*s", " ^= 0", 5, "");
        else if (begins(at, " ^ "))
            give(r, (size_t)(at - r->text), 3, "%.*s", " ^ 1 ^ ", 7, "");
}

static void edit_wait(struct reader *r, const char *from, const char *end)
{
    const char *at = memmem(from, (size_t)(end - from), "wait_group", 10);
    if (at && (at = memchr(at, ' ', (size_t)(end - at))))
        edit_numbers(r, at, end);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 16 };

struct arguments {
    const char *at[MOST_ARGUMENTS];
    size_t length[MOST_ARGUMENTS];
    char letter[MOST_ARGUMENTS]; /* of an operand of asm; ',' of a call */
    int count;
};

static void edit_arguments(struct reader *r, const struct arguments *a)
{
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < a->count; j++)
            if (a->letter[i] == a->letter[j] &&
                (a->length[i] != a->length[j] || memcmp(a->at[i], a->at[j], a->length[i]) != 0))
                give(r, (size_t)(a->at[i] - r->text), a->length[i], "%.*s", a->at[j], a->length[j], "");
}

static void add_argument(struct arguments *a, const char *at, const char *end, char letter)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (a->count < MOST_ARGUMENTS && end > at) {
        a->at[a->count] = at;
        a->length[a->count] = (size_t)(end - at);
        a->letter[a->count++] = letter;
    }
}

/* The bracket that closes the one at `at`, with the arguments between them; NULL: it is not within. */
static const char *read_arguments(const char *at, const char *end, struct arguments *a)
{
    const char *begin = at + 1;
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '"')
            at = behind_string(at, end) - 1;
        else if (begins(at, "${"))
            at += strcspn(at, "}");
        else if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && --depth == 0)
            return add_argument(a, begin, at, ','), at;
        else if (*at == ',' && depth == 1)
            add_argument(a, begin, at, ','), begin = at + 1;
    }
    return NULL;
}

static void edit_calls(struct reader *r, const char *from, const char *end)
{
    static const char *const none[] = {"if", "for", "while", "asm", "volatile", "sizeof", "switch", "return", NULL};
    struct arguments operands = {0};
    for (const char *at = from; at < end; at++) {
        size_t n = word_length(at);
        if (*at == '"') {
            const char *next = behind_string(at, end), *close;
            struct arguments one = {0};
            if (next - at == 3 && next < end && *next == '(' && (close = read_arguments(next, end, &one)))
                add_argument(&operands, next + 1, close, at[1]);
            at = next - 1;
        } else if (n > 0) {
            struct arguments call = {0};
            if (at[n] == '(' && !one_of(at, none) && read_arguments(at + n, end, &call))
                edit_arguments(r, &call);
            at += n - 1;
        }
    }
    edit_arguments(r, &operands);
}

/* ---- a text ------------------------------------------------------------------------------------------------------ */

/* The name before the bracket of a head: `__device__ __forceinline__ void NAME(`. */
static void read_head(struct reader *r, const char *line)
{
    const char *bracket = memchr(line, '(', line_length(line)), *at = bracket;
    if (!begins(line, "__device__") || !bracket)
        return;
    while (at > line && at[-1] != ' ' && at[-1] != '&' && at[-1] != '*')
        at--;
    snprintf(r->now.function, sizeof r->now.function, "%.*s", (int)(bracket - at), at);
}

static void edit_line(struct reader *r, const char *line, const char *end)
{
    switch (r->kind) {
    case BLOCK_CONSTANT:
        if (!memmem(line, (size_t)(end - line), "wait_group", 10))
            edit_numbers(r, line, end);
        break;
    case BLOCK_PARITY:
        edit_parities(r, line, end);
        break;
    case BLOCK_WAIT:
        edit_wait(r, line, end);
        break;
    default:
        break;
    }
}

void block_edits(const char *text, enum block_edit_kind kind, void (*offer)(void *context, const struct block_edit *e),
                 void *context)
{
    struct reader r = {.text = text, .kind = kind, .offer = offer, .context = context};
    size_t behind = 0; /* end of the statement that was begun last */
    r.functions = strstr(text, "\n__device__") != NULL || begins(text, "__device__");
    for (const char *line = text; *line; line += line_length(line) + 1) {
        const char *end = line + line_length(line), *at = first_of(line);
        r.now.kind = kind;
        r.now.line++;
        r.now.line_at = (size_t)(line - text);
        r.in_struct = r.in_struct ? !begins(line, "}") : begins(line, "struct ");
        read_head(&r, line);
        if (is_code(&r, line)) {
            const char *comment = memmem(line, (size_t)(end - line), " // ", 4);
            size_t length = r.now.line_at < behind ? 0 : statement_length(&r, line);
            if (length > 0) {
                r.now.statement = (size_t)(at - text);
                r.now.statement_length = length;
                r.now.declares = declares(at);
                behind = r.now.statement + length;
                edit_statement(&r, r.now.statement, length);
            } else if (r.now.line_at >= behind) {
                r.now.statement_length = 0;
            }
            edit_line(&r, line, comment ? comment : end);
            if (kind == BLOCK_ARGUMENT && (length > 0 || r.now.statement_length == 0))
                edit_calls(&r, at, length > 0 ? at + length : comment ? comment : end);
        }
        if (*end == 0)
            break;
    }
}

static size_t put(char *out, size_t length, const char *text, size_t count)
{
    if (length + count >= BLOCK_MOST_TEXT)
        return BLOCK_MOST_TEXT;
    memcpy(out + length, text, count);
    out[length + count] = 0;
    return length + count;
}

/* Before `line_at` comes `lua`; what stands at `at` becomes `with`. */
static size_t put_all(const char *text, const struct block_edit *e, char *out)
{
    size_t n = put(out, 0, text, e->line_at < e->at ? e->line_at : e->at);
    n = put(out, n, e->lua, strlen(e->lua));
    if (e->line_at < e->at)
        n = put(out, n, text + e->line_at, e->at - e->line_at);
    n = put(out, n, e->with, strlen(e->with));
    n = put(out, n, text + e->at + e->length, strlen(text + e->at + e->length));
    return n < BLOCK_MOST_TEXT ? n : 0;
}

size_t block_edit_make(const char *text, const struct block_edit *e, char *out)
{
    return put_all(text, e, out);
}

size_t block_edit_trap(const char *text, const struct block_edit *e, char *out)
{
    struct block_edit trap = *e;
    if (e->statement_length == 0)
        return 0;
    trap.at = e->statement;
    trap.length = e->statement_length;
    trap.lua[0] = 0;
    trap.line_at = trap.at;
    int n = snprintf(trap.with, sizeof trap.with,
                     e->declares ? "asm volatile(\"trap;\"); %.*s" : "{ asm volatile(\"trap;\"); %.*s }",
                     (int)e->statement_length, text + e->statement);
    return n < (int)sizeof trap.with ? put_all(text, &trap, out) : 0;
}

static void fold(const char *from, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++)
        if (!isspace((unsigned char)from[i]))
            out[n++] = from[i];
        else if (n > 0 && out[n - 1] != ' ')
            out[n++] = ' ';
    out[n] = 0;
}

void block_edit_tell(const char *text, const struct block_edit *e, char *out, size_t size)
{
    /* Whole lines, which say more than the bytes that change. */
    size_t from = e->at, to = e->at + e->length;
    char old[300], now[300], whole[BLOCK_MOST_PIECE + 600], named[80] = "";
    while (from > 0 && text[from - 1] != '\n')
        from--;
    to += line_length(text + to);
    fold(text + from, to - from, old, sizeof old);
    snprintf(whole, sizeof whole, "%.*s%s%.*s", (int)(e->at - from), text + from, e->with,
             (int)(to - e->at - e->length), text + e->at + e->length);
    fold(whole, strlen(whole), now, sizeof now);
    if (e->lua[0])
        snprintf(named, sizeof named, ", %.*s", (int)strcspn(e->lua + 10, "\n"), e->lua + 10);
    snprintf(out, size, "- %s + %s%s", old, now, named);
}
