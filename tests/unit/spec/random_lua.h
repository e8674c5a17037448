/* Random functions f(x) in plain Lua, of a whole number x: comparisons, logic, loops, tables, calls and library
 * functions, some of them on x. For tests of what tracing makes of them. */
#ifndef TW_TESTS_RANDOM_LUA_H
#define TW_TESTS_RANDOM_LUA_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { RANDOM_LUA_ROOM = 1 << 14 };

struct random_lua {
    char *text;
    size_t length;
    unsigned long long state;
    int names; /* locals a1.. that stand in scope */
    int loops;
    bool plain; /* x may stand in no condition of plain Lua: what is made can be traced */
};

static inline unsigned random_lua_below(struct random_lua *r, unsigned n)
{
    r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(r->state >> 33) % n;
}

static inline void random_lua_add(struct random_lua *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void random_lua_add(struct random_lua *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(r->text + r->length, RANDOM_LUA_ROOM - r->length, format, list);
    va_end(list);
    if (n > 0 && r->length + (size_t)n < RANDOM_LUA_ROOM)
        r->length += (size_t)n;
}

static inline void random_lua_number(struct random_lua *r, int depth);

/* A condition of values; in `plain` programs those that expressions have. */
static inline void random_lua_condition(struct random_lua *r, int depth)
{
    static const char *const compare[] = {"==", "~=", "<", "<=", ">", ">="}, *const word[] = {"lt", "le", "eq", "ne"};
    unsigned form = random_lua_below(r, depth > 0 ? 7 : 2);
    if (form == 0 || (r->plain && form != 6)) {
        random_lua_add(r, "%s(", word[random_lua_below(r, 4)]);
        random_lua_number(r, depth - 1);
        random_lua_add(r, ", ");
        random_lua_number(r, depth - 1);
        random_lua_add(r, ")");
    } else if (form <= 3) {
        random_lua_number(r, depth - 1);
        random_lua_add(r, " %s ", compare[random_lua_below(r, 6)]);
        random_lua_number(r, depth - 1);
    } else if (form == 4) {
        random_lua_add(r, "not (");
        random_lua_condition(r, depth - 1);
        random_lua_add(r, ")");
    } else if (form == 5) {
        random_lua_add(r, "(");
        random_lua_condition(r, depth - 1);
        random_lua_add(r, random_lua_below(r, 2) ? " and " : " or ");
        random_lua_condition(r, depth - 1);
        random_lua_add(r, ")");
    } else {
        random_lua_add(r, "lt(%d, %d)", (int)random_lua_below(r, 3), (int)random_lua_below(r, 3));
    }
}

/* A condition that plain Lua tests: in `plain` programs one of plain values. */
static inline void random_lua_test(struct random_lua *r, int depth)
{
    static const char *const known[] = {"n == 2", "#list > 2", "list[n] ~= 5", "not (n < 1)", "mode == 'a' or n > 9"};
    if (r->plain && random_lua_below(r, 20))
        random_lua_add(r, "%s", known[random_lua_below(r, 5)]);
    else
        random_lua_condition(r, depth);
}

static inline void random_lua_pair(struct random_lua *r, const char *begin, const char *between, const char *end,
                                   int depth)
{
    random_lua_add(r, "%s", begin);
    random_lua_number(r, depth - 1);
    random_lua_add(r, "%s", between);
    random_lua_number(r, depth - 1);
    random_lua_add(r, "%s", end);
}

/* Ways to get a plain value out of one that may be x: number `which`. */
static inline void random_lua_escape(struct random_lua *r, unsigned which, int depth)
{
    static const char *const form[][2] = {
        {"(list[", "] or 7)"},
        {"(tonumber(", ") or 8)"},
        {"(math.tointeger(", ") or 9)"},
        {"(rawequal(", ", 1) and 3 or 4)"},
        {"(tostring(", ") == '0' and 5 or 6)"},
        {"(string.format('%s', ", ") == '1' and 5 or 6)"},
        {"(math.type(", ") == 'integer' and 11 or 12)"},
        {"select('#', ", ")"},
        {"#tostring(", ")"},
        {"(({ [0] = 13, 14 })[", "] or 15)"},
        {"(pick(", "))"},
        {"(s.get(", "))"},
        {"((", ") ~= nil and 1 or 2)"},
        {"(({ pcount(", ", 1) })[1])"},
        {"(next({ [1] = ", " }) == 1 and 2 or 3)"},
        {"math.max(", ", 1)"},
        {"string.byte(", ")"},
        {"assert(", ")"},
        {"(function(...) local v = ... if v == 1 then return 2 end return v end)(", ")"},
        {"(sorted(", "))"},
        {"where(n == 2 and lt(", ", 1) or lt(x, 2), 3, 4)"},
        {"(rawequal(0, ", ") and 3 or 4)"},
        {"((function() s.w = ", " return s.w == 1 and 2 or 3 end)())"},
        {"where(not lt(", ", 1), 3, 4)"},
        {"(({ ", " })[1] == 1 and 2 or 3)"},
        {"((function(...) for k, v in pairs({ ... }) do if v == 1 then return 2 end end return 3 end)(", "))"},
        {"((function(v) local m = 0 while m < v and m < 3 do m = m + 1 end return m end)(", "))"},
        {"((function(v) local m = 0 for j = v, 3 do m = m + 1 end return m end)(", "))"},
        {"((function(v) local l = {} l[v] = 1 return next(l) end)(", "))"},
        {"(id(", ") <= 1 and 2 or 3)"},
    };
    which %= (unsigned)(sizeof form / sizeof *form);
    random_lua_add(r, "%s", form[which][0]);
    random_lua_number(r, depth - 1);
    random_lua_add(r, "%s", form[which][1]);
}

static inline void random_lua_number(struct random_lua *r, int depth)
{
    unsigned form = depth > 0 ? random_lua_below(r, 16) : random_lua_below(r, 4);
    switch (form) {
    case 0:
        random_lua_add(r, "%d", (int)random_lua_below(r, 5));
        return;
    case 1:
    case 2:
        random_lua_add(r, "x");
        return;
    case 3:
        if (r->names)
            random_lua_add(r, "a%u", 1 + random_lua_below(r, (unsigned)r->names));
        else
            random_lua_add(r, "n");
        return;
    case 4:
    case 5:
        random_lua_pair(r, "(", " + ", ")", depth);
        return;
    case 6:
        random_lua_pair(r, "(", " - ", ")", depth);
        return;
    case 7:
        random_lua_add(r, "(");
        random_lua_number(r, depth - 1);
        random_lua_add(r, " * %u)", random_lua_below(r, 4));
        return;
    case 8:
        random_lua_add(r, "(");
        random_lua_number(r, depth - 1);
        random_lua_add(r, " %s %u)", random_lua_below(r, 2) ? "//" : "%", 1 + random_lua_below(r, 4));
        return;
    case 9:
        random_lua_pair(r, random_lua_below(r, 2) ? "min(" : "max(", ", ", ")", depth);
        return;
    case 10:
        random_lua_add(r, random_lua_below(r, 2) ? "where(" : "select(");
        random_lua_condition(r, depth - 1);
        random_lua_pair(r, ", ", ", ", ")", depth);
        return;
    case 11:
        random_lua_add(r, "((");
        random_lua_test(r, depth - 1);
        random_lua_pair(r, ") and ", " or ", ")", depth);
        return;
    case 12:
        random_lua_add(r, "s.v");
        return;
    case 13:
        random_lua_add(r, "-(");
        random_lua_number(r, depth - 1);
        random_lua_add(r, ")");
        return;
    default:
        if (!r->plain || !random_lua_below(r, 40))
            random_lua_escape(r, random_lua_below(r, 1000), depth);
        else
            random_lua_add(r, "(list[n] + #list)");
    }
}

static inline void random_lua_block(struct random_lua *r, int statements, int depth);

static inline void random_lua_statement(struct random_lua *r, int depth)
{
    int names = r->names;
    switch (random_lua_below(r, depth > 0 ? 8 : 3)) {
    case 0:
        random_lua_add(r, "local a%d = ", r->names + 1);
        random_lua_number(r, 2);
        r->names++;
        break;
    case 1:
        random_lua_add(r, names ? "a1 = " : "s.v = ");
        random_lua_number(r, 2);
        break;
    case 2:
        random_lua_add(r, "s.v = ");
        random_lua_number(r, 2);
        break;
    case 3:
        random_lua_add(r, "if ");
        random_lua_test(r, 1);
        random_lua_add(r, " then ");
        random_lua_block(r, 2, depth - 1);
        random_lua_add(r, random_lua_below(r, 2) ? "else " : "elseif n == 3 then ");
        random_lua_block(r, 1, depth - 1);
        random_lua_add(r, "end");
        break;
    case 4:
        random_lua_add(r, "for j = 1, ");
        if (r->plain)
            random_lua_add(r, "3");
        else
            random_lua_number(r, 1);
        random_lua_add(r, " do if j > 4 then break end s.v = s.v + j ");
        random_lua_block(r, 1, depth - 1);
        random_lua_add(r, "end");
        break;
    case 5:
        random_lua_add(r, "for k, c in ipairs(list) do s.v = s.v * 2 + c ");
        random_lua_block(r, 1, depth - 1);
        random_lua_add(r, "end");
        break;
    case 6:
        random_lua_add(r, "do local m = 0 repeat m = m + 1 ");
        random_lua_block(r, 1, depth - 1);
        random_lua_add(r, "until m > 2 or ");
        random_lua_test(r, 1);
        random_lua_add(r, " end");
        break;
    default:
        random_lua_add(r, "do local m = 0 while m < 3 and ");
        random_lua_test(r, 1);
        random_lua_add(r, " do m = m + 1 ");
        random_lua_block(r, 1, depth - 1);
        random_lua_add(r, "end end");
    }
    if (depth < 2 && r->names > names)
        r->names = names; /* left with its block, or hidden */
    random_lua_add(r, "%s", random_lua_below(r, 3) ? " " : "\n");
}

static inline void random_lua_block(struct random_lua *r, int statements, int depth)
{
    int names = r->names;
    for (int i = 0; i < statements; i++)
        random_lua_statement(r, depth);
    r->names = names;
}

/* Writes the text of function f into `text`, RANDOM_LUA_ROOM bytes. */
static inline void random_lua(unsigned seed, char *text)
{
    struct random_lua r = {.text = text, .state = seed * 2654435761u + 12345u, .plain = seed % 3 != 0};
    for (int i = 0; i < 8; i++)
        random_lua_below(&r, 2);
    random_lua_add(&r,
                   "local list, mode, n, s = { 2, 5, 1 }, 'a', 2, { v = 1 }\n"
                   "s.get = function(v) return s.v == v and 1 or 2 end\n"
                   "local function pick(v) if v == 0 then return 1 end return 2 end local function id(v) return v "
                   "end\n"
                   "local function pcount(...) return (select(1, ...)) end\n"
                   "local function sorted(v) local l = { 3, 1, 2 } table.sort(l, function(a, b) return lt(a, v) end) "
                   "return l[1] end\n"
                   "local function f(x)\n");
    for (int i = 0; i < 3; i++)
        random_lua_statement(&r, 2);
    random_lua_add(&r, "return ");
    random_lua_number(&r, 3);
    if (seed % 3 == 1) { /* nothing else in it is refused, as a rule */
        random_lua_add(&r, " + ");
        random_lua_escape(&r, seed / 3, 1);
    }
    random_lua_add(&r, "\nend\n");
}

#endif
