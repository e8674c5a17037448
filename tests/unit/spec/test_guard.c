/* No value of launch meets a Lua boolean unseen: random programs in plain Lua give, traced, what they compute with a
 * number, or are refused; the code of rewritten texts holds no test without a guard; plain values may be compared,
 * tested and counted. */
#include <dirent.h>

#include "program/program.h"
#include "spec/guard.h"
#include "unit/spec/lua_code.h"
#include "unit/spec/random_lua.h"
#include "unit/spec/spec_samples.h"

/* ---- traced and computed ----------------------------------------------------------------------------------------- */

/* f(x) of a text by Lua itself, unguarded: false: an error, or no whole number. */
static bool compute(const char *text, int64_t x, int64_t *result)
{
    static const char words[] = "local function where(c, a, b) if c then return a else return b end end local select = "
                                "(function(s) return function(c, ...) if type(c) == 'boolean' then return where(c, "
                                "...) end return s(c, ...) end "
                                "end)(select) local function lt(a, b) return a < b end local function le(a, b) return "
                                "a <= b end local function "
                                "eq(a, b) return a == b end local function ne(a, b) return a ~= b end local min, max, "
                                "abs = math.min, math.max, "
                                "math.abs ";
    static const struct sandbox_options options = {.memory_limit = 8 << 20, .instruction_limit = 200000};
    struct sandbox *s = sandbox_open(&options);
    assert_non_null(s);
    struct sandbox_error error;
    char whole[sizeof words + RANDOM_LUA_ROOM + 64];
    int length = snprintf(whole, sizeof whole, "%s%s\nreturn f(%lld)", words, text, (long long)x), good = 0;
    assert_true(length < (int)sizeof whole);
    if (sandbox_load(s, "f.lua", whole, (size_t)length, NULL, &error) == SANDBOX_OK &&
        sandbox_call(s, 0, 1, &error) == SANDBOX_OK && lua_type(sandbox_lua(s), -1) == LUA_TNUMBER)
        *result = lua_tointegerx(sandbox_lua(s), -1, &good);
    sandbox_close(s);
    return good;
}

static double scalar_value;

static double give_scalar(void *context, int scalar)
{
    (void)context;
    (void)scalar;
    return scalar_value;
}

struct tally {
    int refused, traced, agreed, meaningless;
};

/* The text traced with x a scalar of the kernel, and its expression compared with what Lua computes. */
static void try(const char *text, struct tally *tally)
{
    static const int64_t numbers[] = {0, 1, 2, -1, 3, 7, -5};
    struct spec spec;
    struct diag_set diags = {0};
    char whole[RANDOM_LUA_ROOM + 512];
    snprintf(
        whole, sizeof whole,
        "%s\nkernel 'k' { y = tensor { 1, dtype = 'int32', out = true }, s = scalar 'int32', axes = 'r', grid = { r "
        "= 1 }, tile = { r = 1 },\n  program = function(t, at, tile) store(t.y, span(0, 1), f(t.s) + 0 * t.s) end }",
        text);
    struct spec_options options = sample_options;
    options.instruction_limit = 200000;
    int status = spec_read(sample_write("spec.lua", whole), &options, &spec, &diags);
    assert_true(status == 0 || status == 1);
    const struct program *p = status == 0 ? spec.kernel[0].program : NULL;
    tally->refused += status != 0;
    for (size_t n = 0; p && n < sizeof numbers / sizeof *numbers; n++) {
        int64_t expected = 0;
        scalar_value = (double)numbers[n];
        for (int i = 0; i < p->op_count; i++) {
            if (p->op[i].kind != PROGRAM_STORE)
                continue;
            struct expr_env env = {.scalar = give_scalar};
            double value = expr_eval(p->graph, p->op[i].arg[0].node, &env);
            bool computed = compute(text, numbers[n], &expected);
            if (computed && value != (double)expected) {
                fprintf(stderr, "%s\nf(%lld) is %lld, traced it is %g\n", whole, (long long)numbers[n],
                        (long long)expected, value);
                fail();
            }
            tally->agreed += computed;
            tally->meaningless += !computed;
        }
    }
    tally->traced += p != NULL;
    spec_free(&spec);
    diag_free(&diags);
}

static void test_traced_is_computed(void **state)
{
    struct tally tally = {0};
    const char *count = getenv("RANDOM_LUA");
    (void)state;
    for (unsigned seed = 1, last = count ? (unsigned)atoi(count) : 1500; seed <= last; seed++) {
        char text[RANDOM_LUA_ROOM];
        random_lua(seed, text);
        try(text, &tally);
    }
    printf("# %d refused, %d traced, %d values agreed, %d without meaning\n", tally.refused, tally.traced, tally.agreed,
           tally.meaningless);
    assert_true(tally.refused > 300);
    assert_true(tally.agreed > 300);
    assert_true(tally.meaningless < tally.agreed / 4);
}

/* ---- the code of rewritten texts --------------------------------------------------------------------------------- */

/* 0: no Lua; 1: its code is guarded. */
static int look(const char *text, size_t length)
{
    struct arena arena = {{NULL, NULL}, NULL};
    struct tokens tokens;
    const char *guarded;
    size_t guarded_length;
    struct guard_lines lines;
    struct lua_code code = {0};
    lua_State *L = luaL_newstate();
    assert_true(tokens_scan(&tokens, text, length, &arena));
    enum guard_status status = guard_rewrite(&tokens, length, 0, &arena, &guarded, &guarded_length, &lines);
    bool plain = luaL_loadbufferx(L, text, length, "@plain", "t") == LUA_OK;
    bool made = status == GUARD_DONE && luaL_loadbufferx(L, guarded, guarded_length, "@guarded", "t") == LUA_OK;
    if (made && !plain)
        fprintf(stderr, "no Lua, but its rewriting is:\n%s\n%s\n", text, guarded);
    if (plain && !made)
        fprintf(stderr, "Lua, but not rewritten: %s\n%s\n%s\n", lua_tostring(L, -1), text,
                status == GUARD_DONE ? guarded : "");
    if (made && !lua_code_is_guarded(L, &code))
        fprintf(stderr, "%s\n%s\n%s\n", code.fault, text, guarded);
    bool good = plain == made && !*code.fault;
    free(code.data);
    lua_close(L);
    arena_free(&arena);
    assert_true(good);
    return plain;
}

static void test_code(void **state)
{
    static const char *const texts[] = {
        "local a, b = 1, 2 return a == b, a ~= b, a < b, a <= b, a > b, a >= b, not a, a and b, a or b",
        "local a = ... if not(a)then return(a)or(a)end while(a)do break end repeat until(a)",
        "local a = ... if a == nil or nil ~= a then return a==nil and 1 or 2 end",
        "local t, a = {}, ... t[a] = t[a][t[a]] t[a].x[a], t.y[a] = 1, 2 return t[a](a)[a]:m(a)[a]",
        "local t = {[1] = 2, [...] = 3, x = 1; 4, [\"a\"] = 5, ...} return #t == 1, -t[1] == 2 and (not t[2] == 3)",
        "local s = 'a\\z\n  ' == \"b\\\n\" return s, [[ == ]] == [==[ ]] ]==] -- == [[\n--[[ a == b ]] or (1 == 1)",
        "goto e do local x <const>, y <close> = 1, nil end ::e:: for i = 1, #\"x\" do for k in ... do end end",
        "function f.a.b:c(...) return (...) == 1, ... end local function g() return end return function() end == f",
        "return 1 == 2 == 3, 1 < 2 == true, not 1 == 2, 2^3^2 == -2^2, 'a'..'b'..'c' == 'abc', 1 .. 2 == '12'",
        ("return (a or b)(c and d).e, (a), ((a and b)), -(a or b), not (a and (b or not c)), {} and {} or function() "
         "end"),
        "a = b == c; b, c = d and e, f or g; local h = i[j] i[j]() k = l \"m\" == n { o }",
        "return x == y -- no newline behind it",
        "local __tw0a, __tw7b = 1, 2 return __tw0a == __tw7b",
        "if a then elseif b == c then else end while a == b do end repeat local z = 1 until z == a",
        "return a[b == c], a[b and c], a[{}], a[function() end], a[nil], a[true], a[1000000], a[1.5], a[-1], a.b[...]",
        "return t[\"a text of more than forty characters is no short one\"], t[1 + 1], (\"x\")[i], (t)[i][(j)]",
        "return",
        ";;;",
        "local a <const> = 5 return a == 5, a and a, not a, a < 6",
        "return f{a == b}, f'x' == g[[y]], f(a == b, c and d), o:m(a or b).n == o:m{}",
        "local x = a and b or c and d or e and (f or g) and h or i",
        "x = (function(...) if ... then return select('#', ...) == 1 end end)(1 == 1)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(look(texts[i], strlen(texts[i])), 1);
    for (unsigned seed = 1; seed <= 3000; seed++) {
        char text[RANDOM_LUA_ROOM];
        random_lua(seed, text);
        assert_int_equal(look(text, strlen(text)), 1);
        for (unsigned cut = 0; cut < 3; cut++) { /* what is mostly no Lua */
            size_t at = (seed * 7919u + cut * 104729u) % strlen(text);
            memmove(text + at, text + at + 1, strlen(text + at));
            if (*text)
                look(text, strlen(text));
        }
    }
}

/* What the rewriting would make Lua of what is none: what stands where a call may, and is made one. */
static void test_no_lua(void **state)
{
    static const char *const texts[] = {
        "local x, s = {}, 1 x[s]",
        "x[s] O = 0",
        "t.O[b][h][q][c] s = um > 0 and o[c] / sum or 0",
        "if a then x[s] end",
        "for i = 1, 2 do f(x)[i] end",
        "(x)[s]",
        "x[s].y",
        "x[s][1]",
        "x.y",
        "x",
        "(x)",
        "(f())",
        "a, x[s]",
        "x[s], a",
        "x[s]:m",
        "f() = 1",
        "f(x)[s]() = 1",
        "x[s]:m() = 1",
        "f 'x', a = 1",
        "a, f{x[s]} = 1",
        "(x[s]) = 1",
        "a, (x) = 1",
        "x[s] == 1",
        "x == y",
        "not x",
        "f() x[s] f()",
        "function x[s]() end",
        "local x[s] = 1",
        "for x[s] = 1, 2 do end",
        "goto x[s]",
        "x[s, t] = 1",
        "f(x[s, t])",
        "x[] = f(x[])",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(look(texts[i], strlen(texts[i])), 0);
}

/* Every text of up to four such pieces, most of them no Lua. */
static void test_short_texts(void **state)
{
    static const char *const piece[] = {"x", "[s]", ".y", ":m", "(a)", "{}", "'t'", "1", "not", "==", "=", ",", ";"};
    enum { PIECES = sizeof piece / sizeof *piece, TEXTS = PIECES * PIECES * PIECES * PIECES };
    const int every = TEXTS / rounds_compared(TEXTS);
    int lua = 0, none = 0;
    (void)state;
    for (int i = 1; i < TEXTS; i += every) {
        char text[32] = "";
        for (int left = i; left > 0; left /= PIECES)
            strcat(strcat(text, piece[left % PIECES]), " ");
        if (look(text, strlen(text)))
            lua++;
        else
            none++;
    }
    assert_true(lua > 0 && none > lua);
}

/* Every Lua text of the tree. */
static void test_code_of_specs(void **state)
{
    static const char *const folder[] = {"specs", "specs/lib", "tests/errors", "tests/programs", "tests/gpu"};
    int count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        DIR *d = opendir(folder[i]);
        for (struct dirent *e; d && (e = readdir(d));) {
            char path[512], text[1 << 16];
            size_t n = strlen(e->d_name);
            snprintf(path, sizeof path, "%s/%s", folder[i], e->d_name);
            FILE *f = n > 4 && strcmp(e->d_name + n - 4, ".lua") == 0 ? fopen(path, "rb") : NULL;
            size_t length = f ? fread(text, 1, sizeof text - 1, f) : 0;
            if (f)
                fclose(f);
            text[length] = 0;
            if (length > 0 && length < sizeof text - 1 && strlen(text) == length)
                count += look(text, length);
        }
        if (d)
            closedir(d);
    }
    assert_true(count > 100);
}

/* ---- plain values ------------------------------------------------------------------------------------------------ */

/* What is legitimate in a traced function: decisions by what is known, loops over lists of constants. */
static void test_plain_values(void **state)
{
    struct spec spec;
    struct diag_set diags;
    (void)state;
    sample_read(
        "local M, N, K = dims 'M N K'\n"
        "local c = { 0.5, 0.25, 0.125 }\n"
        "local mode, table_of = 'wide', { wide = { scale = 2 }, narrow = { scale = 3 } }\n"
        "local function polynomial(x, list) local r = 0\n"
        "  for k = #list, 1, -1 do r = r * x + list[k] end\n"
        "  return r end\n"
        "local function choose(x, n, p) if n == 0 then return x elseif n < 0 and p == nil then return -x end\n"
        "  return p ~= nil and p or x * n end\n"
        "kernel 'k' { family = 'gemm', A = tensor { M, K, dtype = 'bf16' }, B = tensor { N, K, dtype = 'bf16' },\n"
        "  D = tensor { M, N, dtype = 'bf16' },\n"
        "  epilogue = function(acc, t, i)\n"
        "    local s = table_of[mode].scale\n"
        "    if mode == 'wide' and s ~= 3 then acc = acc * s end\n"
        "    for _, v in ipairs(c) do if v >= 0.25 then acc = acc + v end end\n"
        "    for name, row in pairs(table_of) do if name == mode then acc = acc * row.scale end end\n"
        "    local n = 0 while n < 3 do n = n + 1 if n == 2 then break end end\n"
        "    if type(acc) == 'number' or acc == nil then error 'x' end\n"
        "    local list = { acc, acc * 2 } acc = list[n] + #list\n"
        "    return choose(polynomial(acc, c), n - 2) + choose(acc, 1, acc)\n"
        "  end }\n",
        &spec, &diags);
    assert_int_equal(spec.kernel_count, 1);
    spec_free(&spec);
    diag_free(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traced_is_computed),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_no_lua),
        cmocka_unit_test(test_short_texts),
        cmocka_unit_test(test_code_of_specs),
        cmocka_unit_test(test_plain_values),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
