// Values of expressions in source code: what the arguments of a call can be when a person pastes it.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tensormap/tensormap_c.h"
#include "cmd/tensormap/tensormap_values.h"
#include "common/dtype_names.h"
#include "dtype.h"

enum { DEPTH = 24, NAME = 96, LEVELS = 6 };

// An expression under way.
struct reader {
    const struct c_source *source;
    int at, before, depth;
    enum tmap_arg arg;
    struct tensormap_fault *fault;
};

static int binary(struct reader *r, int level, uint64_t *value);

static const struct c_token *token(const struct reader *r, int ahead)
{
    int at = r->at + ahead;
    return &r->source->token[at < r->source->count ? at : r->source->count];
}

static int fail_at(struct reader *r, const struct c_token *t, const char *what)
{
    return tensormap_fail(r->fault, "'%.*s'%s",
                          t->kind == C_END ? 15
                          : t->length > 60 ? 60
                                           : t->length,
                          t->kind == C_END ? "the text's end" : t->text, what);
}

// ---- names

static int is_type(const struct c_token *t)
{
    static const char *const types[] = {"void",  "char",  "short", "int",      "long",   "unsigned", "signed",
                                        "const", "float", "half",  "volatile", "struct", "usize",    "u8",
                                        "u16",   "u32",   "u64",   "i32",      "i64"};
    if (t->kind != C_NAME)
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (c_is(t, types[i]))
            return 1;
    return (t->length > 2 && memcmp(t->text + t->length - 2, "_t", 2) == 0) ||
           (t->length > 11 && memcmp(t->text, "CUtensorMap", 11) == 0) ||
           (t->length > 3 && memcmp(t->text, "cuu", 3) == 0) || c_is(t, "CUdeviceptr");
}

// Whether "(" begins a cast: names of types and stars up to ")".
static int is_cast(const struct reader *r)
{
    int i = 1, types = 0;
    for (; token(r, i)->kind != C_END && !c_is(token(r, i), ")"); i++) {
        if (is_type(token(r, i)))
            types++;
        else if (!c_is(token(r, i), "*") && !c_is(token(r, i), "::") && !c_is(token(r, i), "std"))
            return 0;
    }
    return types > 0;
}

static int same(const struct c_token *a, const struct c_token *b)
{
    return a->kind == C_NAME && b->kind == C_NAME && a->length == b->length &&
           memcmp(a->text, b->text, (size_t)a->length) == 0;
}

// Behind the type that Rust and Python write between a name and its "=": ": [u64; 2]", ": int"; `at` where none is.
static int behind_type(const struct c_source *source, int at)
{
    const struct c_token *all = source->token;
    if (!c_is(&all[at], ":"))
        return at;
    int next = at + 1;
    if (is_type(&all[next]) || (all[next].kind == C_NAME && c_is(&all[next + 1], "[")))
        next++;
    if (c_is(&all[next], "["))
        next = c_close(source, next);
    return next > at + 1 && next < source->count && c_is(&all[next], "=") ? next : at;
}

// Where the last value of a name before a token begins: behind its "=", at its "{", or in a #define. -1: nowhere.
static int defined_before(const struct reader *r, const struct c_token *name, int before)
{
    const struct c_token *all = r->source->token;
    for (int i = before - 1; i >= 0 && --*r->source->work > 0; i--) {
        if (!same(&all[i], name) || (i > 0 && (c_is(&all[i - 1], ".") || c_is(&all[i - 1], "->"))))
            continue;
        if (i > 1 && c_is(&all[i - 1], "define") && c_is(&all[i - 2], "#"))
            return i + 1;
        int next = i + 1;
        while (c_is(&all[next], "["))
            next = c_close(r->source, next);
        if (next == i + 1)
            next = behind_type(r->source, next);
        if (c_is(&all[next], "=") && next + 1 < r->source->count) {
            // name[2] = 5 is an entry's, int name[2] = {1, 2} a list's.
            if (!c_is(&all[i + 1], "[") || c_is(&all[next + 1], "{") || c_is(&all[next + 1], "["))
                return next + 1;
            continue;
        }
        if (c_is(&all[next], "{") && i > 0 && (all[i - 1].kind == C_NAME || c_is(&all[i - 1], ">")))
            return next;
        if (c_is(&all[next], "(") && next == i + 1 && i > 0 && is_type(&all[i - 1]))
            return next;
    }
    return -1;
}

// The pieces of a text may stand in any order: what is not defined before is looked for behind.
static int definition(const struct reader *r, const struct c_token *name)
{
    int at = defined_before(r, name, r->before);
    return at >= 0 || r->before == 0 ? at : defined_before(r, name, r->source->count);
}

static int enumerator(struct reader *r, const struct c_token *t, uint64_t *value)
{
    char name[NAME];
    snprintf(name, sizeof name, "%.*s", t->length, t->text);
    struct tensormap_fault ignored;
    if (strncmp(name, "CU_TENSOR_MAP_", 14) != 0 && strncmp(name, "CU_", 3) != 0)
        return -1;
    return tensormap_read_value(name, r->arg, value, &ignored);
}

static int named(struct reader *r, uint64_t *value)
{
    const struct c_token *t = token(r, 0);
    if (c_is(t, "nullptr") || c_is(t, "NULL") || c_is(t, "None") || c_is(t, "false")) {
        r->at++;
        *value = 0;
        return 0;
    }
    if (enumerator(r, t, value) == 0) {
        r->at++;
        return 0;
    }
    int at = definition(r, t);
    if (at < 0)
        return tensormap_fail(
            r->fault,
            "'%.*s' is given no value in the text; add it in a line before the call, '%.*s = 64;' for "
            "example",
            t->length > 60 ? 60 : t->length, t->text, t->length > 60 ? 60 : t->length, t->text);
    if (r->depth >= DEPTH)
        return fail_at(r, t, " depends on itself, or on too many names");
    // What stands in a definition means what it means there.
    struct reader inner = {r->source, at, at, r->depth + 1, r->arg, r->fault};
    if (binary(&inner, 0, value))
        return -1;
    r->at++;
    return 0;
}

// ---- expressions

static int number(struct reader *r, uint64_t *value)
{
    char digits[64];
    int length = 0;
    const struct c_token *t = token(r, 0);
    for (int i = 0; i < t->length && length < (int)sizeof digits - 1; i++)
        if (t->text[i] != '\'' && t->text[i] != '_')
            digits[length++] = t->text[i];
    digits[length] = 0;
    char *end;
    int hex = digits[0] == '0' && (digits[1] | 32) == 'x';
    *value = strtoull(digits, &end, hex ? 16 : 10);
    // 64ull of C, 64u64 of Rust
    const size_t suffix = strspn(end, "uUlLzZ");
    if (end[suffix] && !(suffix <= 1 && (!strcmp(end, "u64") || !strcmp(end, "u32") || !strcmp(end, "usize") ||
                                         !strcmp(end, "i64") || !strcmp(end, "i32"))))
        return fail_at(r, t, " is no whole number");
    r->at++;
    return 0;
}

static int size_of(struct reader *r, uint64_t *value)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } others[] = {{"char", 1},          {"short", 2},   {"int", 4},        {"long", 8},          {"float", 4},
                  {"double", 8},        {"half", 2},    {"__half", 2},     {"uint8_t", 1},       {"int8_t", 1},
                  {"uint16_t", 2},      {"int16_t", 2}, {"uint32_t", 4},   {"int32_t", 4},       {"uint64_t", 8},
                  {"int64_t", 8},       {"half_t", 2},  {"bfloat16_t", 2}, {"__nv_bfloat16", 2}, {"nv_bfloat16", 2},
                  {"__nv_fp8_e4m3", 1}, {"bf16", 2},    {"cuuint64_t", 8}, {"cuuint32_t", 4},    {"size_t", 8}};
    const struct c_token *name = NULL;
    const int end = c_close(r->source, r->at + 1);
    for (int i = r->at + 2; i < end - 1; i++)
        name = r->source->token[i].kind == C_NAME ? &r->source->token[i] : name;
    for (size_t i = 0; name && i < sizeof others / sizeof *others; i++)
        if (c_is(name, others[i].name)) {
            *value = others[i].bytes;
            r->at = end;
            return 0;
        }
    return name ? fail_at(r, name, " is no type whose size is known; write the bytes") : fail_at(r, token(r, 0), "");
}

// static_cast<T>(x), T(x), T{x}, a::b, a.b(x): what stands last, or in the brackets, counts.
static int qualified(struct reader *r, uint64_t *value)
{
    if (c_is(token(r, 0), "sizeof") && c_is(token(r, 1), "("))
        return size_of(r, value);
    while ((c_is(token(r, 1), "::") || c_is(token(r, 1), ".")) && token(r, 2)->kind == C_NAME)
        r->at += 2;
    const int length = token(r, 0)->length;
    if (length > 5 && memcmp(token(r, 0)->text + length - 5, "_cast", 5) == 0 && c_is(token(r, 1), "<")) {
        while (token(r, 0)->kind != C_END && !c_is(token(r, 0), "("))
            r->at++;
        return binary(r, LEVELS, value);
    }
    if (is_type(token(r, 0)) && (c_is(token(r, 1), "(") || c_is(token(r, 1), "{"))) {
        r->at++;
        return binary(r, LEVELS, value);
    }
    return named(r, value);
}

static int unary(struct reader *r, uint64_t *value)
{
    const struct c_token *t = token(r, 0);
    if (++r->depth > 4 * DEPTH)
        return fail_at(r, t, " is nested too deeply");
    int status = -1;
    if (t->kind == C_NUMBER) {
        status = number(r, value);
    } else if (t->kind == C_NAME) {
        status = qualified(r, value);
    } else if (c_is(t, "-") || c_is(t, "+")) {
        r->at++;
        status = unary(r, value);
        *value = status == 0 && c_is(t, "-") ? 0 - *value : *value;
    } else if (c_is(t, "(") && is_cast(r)) {
        r->at = c_close(r->source, r->at);
        status = unary(r, value);
    } else if (c_is(t, "(") || c_is(t, "{")) {
        const int end = c_close(r->source, r->at);
        r->at++;
        status = binary(r, 0, value);
        if (status == 0 && r->at != end - 1)
            status = fail_at(r, token(r, 0), " is not understood here");
        r->at = end;
    } else {
        status = fail_at(r, t, " is no value");
    }
    r->depth--;
    return status;
}

static int level_of(const struct c_token *t)
{
    static const struct {
        const char *mark;
        int level;
    } operators[] = {{"|", 0}, {"^", 1}, {"&", 2}, {"<<", 3}, {">>", 3}, {"+", 4},
                     {"-", 4}, {"*", 5}, {"/", 5}, {"//", 5}, {"%", 5}};
    for (size_t i = 0; t->kind == C_MARK && i < sizeof operators / sizeof *operators; i++)
        if (c_is(t, operators[i].mark))
            return operators[i].level;
    return -1;
}

static int binary(struct reader *r, int level, uint64_t *value)
{
    if (level == LEVELS)
        return unary(r, value);
    if (binary(r, level + 1, value))
        return -1;
    while (level_of(token(r, 0)) == level) {
        const struct c_token *mark = token(r, 0);
        const char c = mark->text[0];
        uint64_t right;
        r->at++;
        if (binary(r, level + 1, &right))
            return -1;
        if ((c == '/' || c == '%') && right == 0)
            return fail_at(r, mark, " divides by 0");
        *value = c == '|'   ? *value | right
                 : c == '^' ? *value ^ right
                 : c == '&' ? *value & right
                 : c == '<' ? (right > 63 ? 0 : *value << right)
                 : c == '>' ? (right > 63 ? 0 : *value >> right)
                 : c == '+' ? *value + right
                 : c == '-' ? *value - right
                 : c == '*' ? *value * right
                 : c == '/' ? *value / right
                            : *value % right;
    }
    return 0;
}

int c_value(const struct c_source *source, int at, int before, enum tmap_arg arg, uint64_t *value,
            struct tensormap_fault *fault)
{
    struct reader r = {source, at, before, 0, arg, fault};
    if (binary(&r, 0, value))
        return -1;
    const struct c_token *t = token(&r, 0);
    if (t->kind == C_END || c_is(t, ",") || c_is(t, ")") || c_is(t, ";") || c_is(t, "}") || c_is(t, "]"))
        return 0;
    return t->kind == C_MARK ? fail_at(&r, t, " is not understood here") : 0;
}

// ---- lists

// The entry in the braces or brackets at `open`, whose expression begins at *at; -1: there are fewer.
static int entry_in(const struct c_source *source, int open, int entry, int *at)
{
    const int end = c_close(source, open) - 1;
    int i = open + 1;
    // std::array<T, 2>{{1, 2}}
    if (c_is(&source->token[i], "{") && c_close(source, i) == end)
        return entry_in(source, i, entry, at);
    for (; entry > 0 && i < end; i++) {
        const struct c_token *t = &source->token[i];
        if (c_is(t, "(") || c_is(t, "[") || c_is(t, "{"))
            i = c_close(source, i) - 1;
        else if (c_is(t, ","))
            entry--;
    }
    *at = i;
    return entry == 0 && i < end ? 0 : -1;
}

// name[entry] = value, the last one between two tokens. -1: there is none.
static int assigned(const struct c_source *source, const struct c_token *name, int after, int before, int entry)
{
    struct tensormap_fault ignored;
    uint64_t index;
    for (int i = before - 1; i > after && --*source->work > 0; i--) {
        if (!same(&source->token[i], name) || !c_is(&source->token[i + 1], "["))
            continue;
        const int behind = c_close(source, i + 1);
        if (behind < source->count && c_is(&source->token[behind], "=") && !c_is(&source->token[behind + 1], "{") &&
            c_value(source, i + 2, i, TMAP_NONE, &index, &ignored) == 0 && index == (uint64_t)entry)
            return behind + 1;
    }
    return -1;
}

// Finds where an entry of a list in place begins: {1, 2}, [1, 2], (T[]){1, 2}, T[]{1, 2}, std::array<T, 2>{1, 2}.
static int open_of(const struct c_source *source, int at)
{
    const struct c_token *all = source->token;
    if (c_is(&all[at], "{") || c_is(&all[at], "["))
        return at;
    if (c_is(&all[at], "("))
        at = c_close(source, at);
    else
        while (all[at].kind == C_NAME || c_is(&all[at], "::") || c_is(&all[at], "<") || c_is(&all[at], ">") ||
               (at > 0 && all[at].kind == C_NUMBER) || c_is(&all[at], "["))
            at = c_is(&all[at], "[") ? c_close(source, at) : at + 1;
    return at < source->count && c_is(&all[at], "{") ? at : -1;
}

int c_entry(const struct c_source *source, int at, int before, enum tmap_arg arg, int entry, uint64_t *value,
            struct tensormap_fault *fault)
{
    const struct c_token *all = source->token;
    struct reader r = {source, at, before, 0, arg, fault};
    while (c_is(&all[at], "&") ||
           (c_is(&all[at], "(") && c_close(source, at) < source->count && all[c_close(source, at)].kind == C_NAME))
        at = c_is(&all[at], "&") ? at + 1 : c_close(source, at); // the address, or a cast
    // A cast by name: what counts stands in its parentheses.
    if (all[at].length > 5 && memcmp(all[at].text + all[at].length - 5, "_cast", 5) == 0) {
        while (at < source->count && !c_is(&all[at], "("))
            at++;
        return c_entry(source, at + 1, before, arg, entry, value, fault);
    }
    const struct c_token *name = &all[at];
    int list = -1, where = -1, start = -1;
    if (name->kind == C_NAME && (start = definition(&r, name)) >= 0)
        list = open_of(source, start);
    if (name->kind == C_NAME && (list >= 0 || assigned(source, name, 0, before, entry) >= 0)) {
        // name + 1, name.data() + 1, &name[1]
        uint64_t offset = 0;
        int p = at + 1;
        if (c_is(&all[p], ".") && c_is(&all[p + 2], "("))
            p = c_close(source, p + 2);
        if ((c_is(&all[p], "+") || c_is(&all[p], "[")) && c_value(source, p + 1, before, TMAP_NONE, &offset, fault))
            return -1;
        entry += offset < 64 ? (int)offset : 64;
        where = assigned(source, name, start > 0 ? start : 0, before, entry);
        if (where >= 0)
            return c_value(source, where, where, arg, value, fault);
    } else {
        list = name->kind == C_NAME && !is_type(name) && start < 0 ? -1 : open_of(source, at);
    }
    if (list < 0)
        return tensormap_fail(fault,
                              "'%.*s' is no list in the text; add it before the call, 'uint64_t %.*s[2] = {1024, 64};' "
                              "for example",
                              name->length > 60 ? 60 : name->length, name->text, name->length > 60 ? 60 : name->length,
                              name->text);
    // [1] * 5 of Python
    const int behind = c_close(source, list);
    if (entry > 0 && behind < source->count && c_is(&all[behind], "*") && entry_in(source, list, 1, &where))
        entry = 0;
    if (entry_in(source, list, entry, &where))
        return tensormap_fail(fault, "'%.*s' has no entry %d, which the rank asks for",
                              name->length > 60 ? 60 : name->length, name->text, entry);
    return c_value(source, where, start >= 0 ? where : before, arg, value, fault);
}
