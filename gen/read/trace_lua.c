/* Plain Lua over traced values. `if`, `and`, `==` and their kin make a Lua boolean of whatever they meet, so a traced
 * value there would silently decide something once and for all. Before a line of the text runs, the operands of such
 * words on it are looked up; one that is symbolic is an error. Plain numbers may be compared: if tile.q > 64 then. */
#include "read/trace.h"

#include <stdio.h>
#include <string.h>

enum word_kind { COMPARE, LOGIC, CONTROL, NO_WORD };

static const struct {
    const char *word;
    enum word_kind kind;
    const char *instead;
} plain_words[] = {
    {"<", COMPARE, "lt(a, b)"},
    {"<=", COMPARE, "le(a, b)"},
    {">", COMPARE, "gt(a, b)"},
    {">=", COMPARE, "ge(a, b)"},
    {"==", COMPARE, "eq(a, b)"},
    {"~=", COMPARE, "ne(a, b)"},
    {"and", LOGIC, "a & b, or x == nil where an argument may be missing"},
    {"or", LOGIC, "a | b, or x == nil where an argument may be missing"},
    {"not", CONTROL, "~a, or x == nil where an argument may be missing"},
    {"if", CONTROL, "where(condition, yes, no)"},
    {"elseif", CONTROL, "where(condition, yes, no)"},
    {"while", CONTROL, "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
    {"until", CONTROL, "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
    {"for", CONTROL, "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
};

static int word_of(const struct tokens *t, int token)
{
    const struct token *k = &t->token[token];
    if (k->kind != TOKEN_OPERATOR && k->kind != TOKEN_KEYWORD)
        return -1;
    const char first = t->text[k->start];
    if (!strchr("<>=~anoieuwf", first)) /* none of them begins so */
        return -1;
    for (int i = 0; i < (int)(sizeof plain_words / sizeof *plain_words); i++)
        if (plain_words[i].word[0] == first && token_is(t, token, plain_words[i].word))
            return i;
    return -1;
}

/* Tokens at which an operand ends. */
static bool is_border(const struct tokens *t, int token)
{
    const struct token *k = &t->token[token];
    if (k->kind == TOKEN_END || word_of(t, token) >= 0 || token_is(t, token, ",") || token_is(t, token, ";") ||
        token_is(t, token, "="))
        return true;
    return k->kind == TOKEN_KEYWORD && !token_is(t, token, "nil") && !token_is(t, token, "true") &&
           !token_is(t, token, "false");
}

static int bracket(const struct tokens *t, int token)
{
    if (token_is(t, token, "(") || token_is(t, token, "[") || token_is(t, token, "{"))
        return 1;
    return token_is(t, token, ")") || token_is(t, token, "]") || token_is(t, token, "}") ? -1 : 0;
}

/* The border of the operand that begins (step 1) or ends (step -1) beside the token. */
static int border(const struct tokens *t, int token, int step)
{
    int depth = 0, i = token + step;
    for (; i >= 0 && i < t->count - 1; i += step) {
        depth += bracket(t, i) * step;
        if (depth < 0 || (depth == 0 && is_border(t, i)))
            break;
    }
    return i;
}

/* ---- what a name means at the line that runs --------------------------------------------------------------------- */

static bool is_traced(lua_State *L, int index)
{
    static const char *const type[] = {TYPE_TENSORS, TYPE_INDICES, TYPE_AT, TYPE_SPAN, TYPE_RANGE};
    if (is_symbolic(L, index))
        return true;
    bool traced = false;
    int top = lua_gettop(L);
    for (size_t i = 0; i < sizeof type / sizeof *type && lua_getmetatable(L, index); i++) {
        luaL_getmetatable(L, type[i]);
        traced |= lua_rawequal(L, -1, -2);
        lua_settop(L, top);
    }
    return traced;
}

/* Pushes the local or upvalue of that name; false: there is none (a global, or declared on this very line). */
static bool push_variable(lua_State *L, lua_Debug *ar, const char *name, size_t length)
{
    const char *found;
    int hit = 0;
    for (int n = 1; (found = lua_getlocal(L, ar, n)) != NULL; n++) {
        if (strlen(found) == length && memcmp(found, name, length) == 0)
            hit = n;
        lua_pop(L, 1);
    }
    if (hit) {
        lua_getlocal(L, ar, hit);
        return true;
    }
    lua_getinfo(L, "f", ar);
    for (int n = 1; (found = lua_getupvalue(L, -1, n)) != NULL; n++) {
        if (strlen(found) == length && memcmp(found, name, length) == 0) {
            lua_remove(L, -2);
            return true;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return false;
}

/* Follows .name in plain tables from the value on top of the stack; what lies behind stays there. */
static void follow_fields(lua_State *L, const struct tokens *t, int token, int last)
{
    for (; token + 2 < last && token_is(t, token + 1, ".") && lua_istable(L, -1) && !is_traced(L, lua_gettop(L));
         token += 2) {
        const struct token *key = &t->token[token + 2];
        lua_pushlstring(L, t->text + key->start, (size_t)key->length);
        lua_rawget(L, -2);
        lua_remove(L, -2);
    }
}

/* A value between the tokens first and last, both excluded, is traced. */
static bool has_traced(lua_State *L, lua_Debug *ar, const struct tokens *t, int first, int last)
{
    for (int i = first + 1; i < last; i++) {
        const struct token *k = &t->token[i];
        bool field = i > 0 && (token_is(t, i - 1, ".") || token_is(t, i - 1, ":"));
        bool plain = token_is(t, i, "type") || token_is(t, i, "axes") || token_is(t, i, "dtype");
        if (plain && !field && token_is(t, i + 1, "(") && t->token[i + 1].match > i) {
            i = t->token[i + 1].match; /* plain texts */
            continue;
        }
        if (k->kind != TOKEN_NAME || field || !push_variable(L, ar, t->text + k->start, (size_t)k->length))
            continue;
        follow_fields(L, t, i, last);
        bool traced = is_traced(L, lua_gettop(L));
        lua_pop(L, 1);
        if (traced)
            return true;
    }
    return false;
}

static bool is_nil(const struct tokens *t, int first, int last)
{
    return last == first + 2 && token_is(t, first + 1, "nil");
}

static bool is_comparison(const struct tokens *t, int token)
{
    int word = token >= 0 ? word_of(t, token) : -1;
    return word >= 0 && plain_words[word].kind == COMPARE;
}

/* The word at `token` would make a boolean of a traced value. */
static bool meets_traced(lua_State *L, lua_Debug *ar, const struct tokens *t, int token, enum word_kind kind)
{
    int left = border(t, token, -1), right = border(t, token, 1);
    if (token_is(t, token, "for")) {
        if (!token_is(t, right, "="))
            return false; /* for k, v in pairs(...) */
        for (left = right; left < t->count - 1 && !token_is(t, left, "do"); left++)
            right = left + 2;
        return has_traced(L, ar, t, token, right - 1);
    }
    switch (kind) {
    case COMPARE:
        return !is_nil(t, left, token) && !is_nil(t, token, right) &&
               (has_traced(L, ar, t, left, token) || has_traced(L, ar, t, token, right));
    case LOGIC: /* decided by the left side; a comparison was looked at as one, and plain and x or y chooses x or y */
        return !is_comparison(t, left) && !(token_is(t, token, "or") && token_is(t, left, "and")) &&
               has_traced(L, ar, t, left, token);
    default:
        return !is_comparison(t, right) && has_traced(L, ar, t, token, right);
    }
}

/* The `function` of the code that runs; -1: several are written on its lines, or it is a whole file. */
static int function_of(const struct tokens *t, const lua_Debug *ar)
{
    int own = tokens_find_function(t, ar->linedefined, ar->lastlinedefined, -1);
    return own >= 0 && tokens_find_function(t, ar->linedefined, ar->lastlinedefined, own) < 0 ? own : -1;
}

void trace_look_at_line(lua_State *L, lua_Debug *ar)
{
    struct reader *r = reader_of(L);
    if (!r || !r->program || !lua_checkstack(L, 8))
        return;
    lua_getinfo(L, "Sl", ar);
    int file = sandbox_source_index(ar->source), low = 0;
    const struct tokens *t = file >= 0 ? sandbox_tokens(r->sandbox, file) : NULL;
    if (!t)
        return;
    for (int high = t->count; low < high;) {
        int middle = (low + high) / 2;
        if (t->token[middle].line < ar->currentline)
            low = middle + 1;
        else
            high = middle;
    }
    int first = low;
    while (first < t->count && t->token[first].line == ar->currentline && word_of(t, first) < 0)
        first++;
    if (first == t->count || t->token[first].line != ar->currentline)
        return;
    int own = function_of(t, ar);
    for (int i = low; i < t->count && t->token[i].line == ar->currentline; i++) {
        if (own >= 0 && (i < own || i > t->token[own].match))
            continue; /* its names mean other variables */
        if (own >= 0 && i != own && token_is(t, i, "function") && t->token[i].match > i) {
            i = t->token[i].match;
            continue;
        }
        int word = word_of(t, i);
        bool attribute = token_is(t, i, "<") && t->token[i + 1].kind == TOKEN_NAME && token_is(t, i + 2, ">") &&
                         (token_is(t, i + 1, "const") || token_is(t, i + 1, "close"));
        if (attribute) /* local x <const> = ... */
            i += 2;
        if (attribute || word < 0 || !meets_traced(L, ar, t, i, plain_words[word].kind))
            continue;
        struct sandbox_error e = {
            .file = file, .line = t->token[i].line, .column = t->token[i].column, .rule = "TRACE-LUA"};
        snprintf(e.text, sizeof e.text, "'%s' is plain Lua, which knows no value of an expression; write %s",
                 plain_words[word].word, plain_words[word].instead);
        sandbox_raise(L, &e);
    }
}
