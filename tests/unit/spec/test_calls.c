/* Whatever a spec gives to the words of the language, to the functions of the library and to operators, at the top of a
 * file, in a function that is traced and in one that computes: it is answered or refused, and nothing else happens.
 * Each function that can be named is called with every kind of value in each place. */
#include "unit/spec/spec_samples.h"

enum { MOST_NAMES = 400, CALLS_PER_SPEC = 25 };

/* Values by the text that makes them. In a traced function, at the top of a file those of `top`. */
static const char *const top_values[] = {"nil",
                                         "true",
                                         "false",
                                         "0",
                                         "1",
                                         "-1",
                                         "2^53",
                                         "math.mininteger",
                                         "math.maxinteger",
                                         "0/0",
                                         "1/0",
                                         "-1e308",
                                         "0.5",
                                         "''",
                                         "'x'",
                                         "'bf16'",
                                         "'m n'",
                                         "('x'):rep(5000)",
                                         "'%s %d'",
                                         "'\\0'",
                                         "{}",
                                         "{ 1, 2, 3 }",
                                         "{ x = 1 }",
                                         "{ [1 << 40] = 1 }",
                                         "{ {} }",
                                         "function() end",
                                         "function(...) return ... end",
                                         "error",
                                         "select",
                                         "string",
                                         "M",
                                         "M * 2 + 1",
                                         "base",
                                         "tensor { M, dtype = 'fp32' }",
                                         "scalar 'fp32'",
                                         "math",
                                         "{ M }",
                                         "stale.v",
                                         "stale.e",
                                         "stale.t",
                                         "stale.s",
                                         "stale.r"};
static const char *const traced_values[] = {"t",
                                            "t.x",
                                            "t.x[1]",
                                            "t.x[0][1]",
                                            "t.y",
                                            "t.s",
                                            "at",
                                            "at.r",
                                            "tile",
                                            "tile.r",
                                            "span(0, 8)",
                                            "span(at.r, 8)",
                                            "all",
                                            "range(0, 4)",
                                            "lt(t.s, 1)",
                                            "load(t.x, span(0, 8), span(0, 8))",
                                            "load(t.ids, span(0, 8))",
                                            "zeros()",
                                            "rows(0)",
                                            "row()",
                                            "index()",
                                            "index().r",
                                            "t.s * 2",
                                            "inf",
                                            "dot(load(t.x, all, all), load(t.x, all, all))"};
static const char *const operations[] = {
    "OP(a + b)",
    "OP(a - b)",
    "OP(a * b)",
    "OP(a / b)",
    "OP(a % b)",
    "OP(a // b)",
    "OP(a ^ b)",
    "OP(a .. b)",
    "OP(a == b)",
    "OP(a ~= b)",
    "OP(a < b)",
    "OP(a >= b)",
    "OP(a & b)",
    "OP(a | b)",
    "OP(a ~ b)",
    "OP(a << b)",
    "OP(a[b])",
    "OP(a(b, c))",
    "OP(-a)",
    "OP(#a)",
    "OP(~a)",
    "OP(not a)",
    "OP(a and b or c)",
    "OP(a:as(b))",
    "OP(a:t(b))",
    "OP(a.x)",
    "DO(a[b] = c)",
    "DO(a.x = b)",
    "DO(for i = a, b, c do break end)",
    "DO(for k, v in a, b, c do break end)",
    "DO(for k, v in pairs(a) do break end)",
    "DO(local z <close> = a)",
    "OP({ [a] = b, c })",
    "OP(a:rep(b, c))",
    "OP(loop(a, b, c, function(...) return ... end))",
    "OP(loop('k', range(0, 4), { a, b }, function(i, x, y) return x, y end, { combine = c }))",
    "OP(loop('k', range(0, 4), { a }, function(i, x) return b end))",
    "OP(table.sort({ 3, 1, 2 }, a))",
    "OP(store(t.y, a, b, c))",
    "OP(load(t.x, a, b))",
    "OP(gather(t.x, a, b))",
    "OP(scatter_add(t.y, a, b, c))"};

static char name[MOST_NAMES][64];
static int names;

static void add_names(lua_State *L, const char *library, int depth)
{
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        char text[64];
        if (lua_type(L, -2) != LUA_TSTRING || names == MOST_NAMES)
            continue;
        snprintf(text, sizeof text, "%s%s%s", library, *library ? "." : "", lua_tostring(L, -2));
        if (lua_isfunction(L, -1))
            strcpy(name[names++], text);
        else if (depth == 0 && lua_istable(L, -1) && lua_getmetatable(L, -1)) { /* a guarded library */
            lua_getfield(L, -1, "__index");
            if (lua_istable(L, -1))
                add_names(L, text, 1);
            lua_pop(L, 2);
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void find_names(void)
{
    struct spec spec;
    struct diag_set diags;
    sample_read(
        "local M = dims 'M'\nkernel 'k' { x = tensor { M, dtype = 'fp32' }, y = tensor { M, dtype = 'fp32', out "
        "= true }, axes = 'r', tile = { r = 8 }, grid = { r = M },\n"
        "  program = function(t, at, tile) local r = span(at.r, 8) store(t.y, r, load(t.x, r)) end }",
        &spec, &diags);
    lua_State *L = spec.lua;
    names = 0;
    lua_getfield(L, LUA_REGISTRYINDEX, "readable");
    add_names(L, "", 0);
    lua_settop(L, 0);
    strcpy(name[names++], "load");
    qsort(name, (size_t)names, sizeof name[0], compare_names);
    spec_free(&spec);
    diag_free(&diags);
    assert_true(names > 90);
}

static unsigned long long random_state;

static unsigned below(size_t n)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(random_state >> 33) % (unsigned)n;
}

static const char *value(bool traced, unsigned which)
{
    const unsigned top = sizeof top_values / sizeof *top_values, more = sizeof traced_values / sizeof *traced_values;
    which %= traced ? top + more : top;
    return which < top ? top_values[which] : traced_values[which - top];
}

/* A statement: `what` with the value in place `place` (from 0), any others beside it. */
static void add_call(char *out, size_t size, const char *what, bool traced, int place, unsigned which)
{
    char arguments[4096] = "";
    bool operation = strncmp(what, "OP(", 3) == 0 || strncmp(what, "DO(", 3) == 0;
    int count = operation ? 3 : place + 1 + (int)below(4);
    for (int i = 0; i < count; i++) {
        strcat(arguments, i ? ", " : "");
        strcat(arguments, value(traced, i == place ? which : below(1000)));
    }
    if (!operation)
        snprintf(out, size, "local r = %s(%s) if type(r) == 'userdata' then r = r + 1 end", what, arguments);
    else
        snprintf(out, size, "local a, b, c = %s %s%.*s", arguments, what[0] == 'O' ? "local r = " : "",
                 (int)strlen(what) - 4, what + 3);
}

static const char head[] =
    "local M = dims 'M%8'\nlocal stale = {}\n"
    "local base = kernel 'base' { x = tensor { 8, 8, dtype = 'bf16' }, s = scalar 'int32', y = tensor { 8, 8, dtype = "
    "'fp32', out = true }, ids = tensor { 8, dtype = 'int32' },\n  axes = 'r c', tile = { r = 8, c = 8 }, grid = { r = "
    "8 "
    "},\n  program = function(t, at, tile) local x = load(t.x, span(0, 8), span(0, 8)) stale.v, stale.e, stale.t, "
    "stale.s, stale.r = x, t.x[1], t, span(0, 8), range(0, 4)\n  store(t.y, all, all, x * t.s * t.ids[0]) end }\n";

/* Reads the spec; a fault is told, and its text has no words from underneath. */
static void read_it(const char *text, bool run_fill)
{
    struct spec spec;
    struct diag_set diags = {0};
    struct spec_options options = sample_options;
    options.instruction_limit = 300000;
    int status = spec_read(sample_write("spec.lua", text), &options, &spec, &diags);
    bool good = status == 0 || (status == 1 && diags.errors > 0);
    if (status == 0 && run_fill) {
        double data[64] = {0};
        struct spec_kernel *k = &spec.kernel[spec.kernel_count - 1];
        int64_t dims[8] = {8, 8, 8, 8, 8, 8, 8, 8};
        int filled = 0;
        while (strcmp(k->tensor[filled].name, "x") != 0)
            filled++;
        int answer = spec_run_fill(&spec, (int)(k - spec.kernel), filled, dims, INT64_MAX, data, &diags);
        good = answer == 0 || answer == 1;
    }
    for (int i = 0; i < diags.count; i++) {
        good = good && diags.item[i].text[0];
        if (getenv("SHOW_CALLS"))
            diag_print_one(&diags, i, stdout);
    }
    if (!good)
        fprintf(stderr, "status %d of\n%s\n", status, text);
    assert_true(good);
    spec_free(&spec);
    diag_free(&diags);
}

static const char *what_of(int index)
{
    return index < names ? name[index] : operations[index - names];
}

static void test_traced(void **state)
{
    enum { OPERATIONS = sizeof operations / sizeof *operations };
    static char text[1 << 18];
    size_t length = 0;
    int calls = 0;
    (void)state;
    find_names();
    random_state = 1;
    unsigned values = (unsigned)(sizeof top_values / sizeof *top_values + sizeof traced_values / sizeof *traced_values);
    int places = getenv("ALL_CALLS") ? 5 : 2;
    for (int i = 0; i < names + (int)OPERATIONS; i++)
        for (int place = 0; place < places; place++)
            for (unsigned v = 0; v < values; v++) {
                char call[6000];
                if (place > 0 && places < 5 && below(3)) /* a third of them */
                    continue;
                add_call(call, sizeof call, what_of(i), true, place, v);
                if (length == 0)
                    length = (size_t)snprintf(text, sizeof text, "%s", head);
                length += (size_t)snprintf(text + length, sizeof text - length,
                                           "kernel 'k%d' { like = base, program = function(t, at, tile) %s end }\n",
                                           calls, call);
                if (++calls % CALLS_PER_SPEC == 0) {
                    assert_true(length < sizeof text - 8000);
                    read_it(text, false);
                    length = 0;
                }
            }
    if (length)
        read_it(text, false);
    printf("# %d calls\n", calls);
}

/* At the top of a file, and in a function that computes elements, each in a spec of its own. */
static void test_computed(void **state)
{
    enum { OPERATIONS = sizeof operations / sizeof *operations };
    static char text[1 << 14];
    (void)state;
    find_names();
    random_state = 2;
    unsigned values = (unsigned)(sizeof top_values / sizeof *top_values);
    for (int i = 0; i < names + (int)OPERATIONS; i++)
        for (unsigned v = 0; v < values; v++) {
            char call[6000];
            bool fill = below(2);
            if (!getenv("ALL_CALLS") && below(3))
                continue;
            add_call(call, sizeof call, what_of(i), false, 0, v);
            snprintf(text, sizeof text,
                     fill ? "%skernel 'f' { like = base, x = tensor { 8, 8, dtype = 'bf16', fill = "
                            "function(i, j, n) local t = n %s return 1 end } }\n"
                          : "%slocal t = {} %s\n",
                     head, call);
            read_it(text, fill);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traced), cmocka_unit_test(test_computed)};
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
