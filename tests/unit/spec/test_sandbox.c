/* The sandbox: what is left out says so, limits stop quickly and cannot be caught, order and texts are the same in
 * every state, require stays in its folder. */
#include "spec_samples.h"

/* More than it takes to fill the memory; a test of loops without end lowers it by rounds(). */
static int most_steps = 2000000;

/* However slow the machine is, steps and memory end a text; a test of time lowers it. */
static double most_seconds = 10000;

static bool guarded;

static struct sandbox *open_small(void)
{
    const struct sandbox_options options = {
        .memory_limit = 8 << 20, .instruction_limit = most_steps, .seconds = most_seconds, .guarded = guarded};
    struct sandbox *s = sandbox_open(&options);
    assert_non_null(s);
    return s;
}

/* Runs a text; returns the status, and in `out` the string that it returns or the error's text. */
static int run(struct sandbox *s, const char *text, char *out, size_t size, struct sandbox_error *error)
{
    lua_State *L = sandbox_lua(s);
    int status = sandbox_load(s, "t.lua", text, strlen(text), NULL, error);
    if (status == SANDBOX_OK)
        status = sandbox_call(s, 0, 1, error);
    if (status == SANDBOX_OK) {
        snprintf(out, size, "%s", lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?");
        lua_pop(L, 1);
    } else {
        snprintf(out, size, "%s", error->text);
    }
    assert_int_equal(lua_gettop(L), 0);
    return status;
}

static void expect_result(const char *text, const char *expected)
{
    char out[1000];
    struct sandbox_error error;
    struct sandbox *s = open_small();
    int status = run(s, text, out, sizeof out, &error);
    assert_string_equal(out, expected);
    assert_int_equal(status, SANDBOX_OK);
    sandbox_close(s);
}

static void expect_fault(const char *text, int line, const char *rule, const char *expected)
{
    char out[1100];
    struct sandbox_error error;
    struct sandbox *s = open_small();
    int status = run(s, text, out, sizeof out, &error);
    assert_string_equal(out, expected);
    assert_int_equal(status, SANDBOX_FAULT);
    assert_int_equal(error.line, line);
    assert_string_equal(error.rule, rule);
    /* The state stays usable. */
    assert_int_equal(run(s, "return 'still here'", out, sizeof out, &error), SANDBOX_OK);
    assert_string_equal(out, "still here");
    sandbox_close(s);
}

/* Where lines are not followed, a fault stands where it is all the same; of memory, in the loop that took it. */
static void test_compute(void **state)
{
    static const struct {
        const char *text, *rule;
        int line;
    } faults[] = {
        {"\n\nlocal x = nil + 1", "LUA-RUN", 3},
        {"\nlocal function f(n)\nif n == 0 then error('no') end\nreturn f(n - 1)\nend\nf(5000)", "LUA-RUN", 3},
        {"\n\n\nwhile true do end", "SANDBOX-STEPS", 4},
        {"local t = {}\nlocal n = 0\nwhile true do n = n + 1 t[n] = n end", "SANDBOX-MEMORY", 3},
    };
    (void)state;
    char out[1100];
    struct sandbox_error error;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct sandbox *s = open_small();
        sandbox_compute(s, true);
        assert_int_equal(run(s, faults[i].text, out, sizeof out, &error), SANDBOX_FAULT);
        assert_string_equal(error.rule, faults[i].rule);
        assert_int_equal(error.line, faults[i].line);
        /* Followed again: memory that one call takes at once. */
        sandbox_compute(s, false);
        assert_int_equal(run(s, "\n\n\n\nlocal s = ('x'):rep(1 << 30)", out, sizeof out, &error), SANDBOX_FAULT);
        assert_int_equal(error.line, 5);
        sandbox_close(s);
    }
}

static void test_order(void **state)
{
    (void)state;
    expect_result("local s = '' for k in pairs { b = 1, a = 2, [3] = 1, [1.5] = 1, [-2] = 1, [true] = 1, B = 1 } do "
                  "s = s .. tostring(k) .. ' ' end return s",
                  "-2 1.5 3 B a b true ");
    expect_result(
        "local t, s, k = { x = 1, y = 2, z = 3 }, '' repeat k = next(t, k) s = s .. (k or '.') until not k return s",
        "xyz.");
    expect_result("local t, s = { a = 1, b = 2, c = 3 }, '' for k in pairs(t) do t.b = nil s = s .. k end return s",
                  "ac");
    expect_result(
        "local t = {} for i = 1, 500 do t[i] = { i % 3, i } end table.sort(t, function(x, y) return x[1] < y[1] "
        "end) for i = 2, 500 do if t[i - 1][1] == t[i][1] and t[i - 1][2] > t[i][2] then return 'unstable' end end "
        "return 'stable'",
        "stable");
    expect_result("local t = { 5, 3, 9, 1 } table.sort(t) return table.concat(t, ',')", "1,3,5,9");
}

static void test_texts(void **state)
{
    (void)state;
    expect_result("return tostring({}) .. tostring(pairs) .. tostring(nil) .. tostring(1.5) .. tostring(true)",
                  "tablefunctionnil1.5true");
    expect_result("return string.format('%s %5.1f %d %% %s', {}, 1.25, 3, next)", "table   1.2 3 % function");
    expect_result("return ('ab'):rep(3, '-') .. ('x'):upper()", "ab-ab-abX");
    expect_result("return (''):rep(1 << 60)", "");
    expect_result("return table.concat(table.move({ 1, 2, 3 }, 2, 3, 1), ' ')", "2 3 3");
    expect_result("return '' .. math.max(1, 2) .. select('#', 1, 2) .. #table.pack(1, 2, 3)", "223");
}

static void test_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } table[] = {
        {"\nio.open('x')", "the sandbox leaves io.open out: a spec reads no file but what it requires"},
        {"\nlocal t = os.time()",
         "the sandbox leaves os.time out: the output must not depend on the machine or the time"},
        {"\nload('x')", "the sandbox leaves load out: require reads files beside the spec"},
        {"\npcall(error)", "the sandbox leaves pcall out: faults are to be seen"},
        {"\nxpcall(error)", "the sandbox leaves xpcall out: faults are to be seen"},
        {"\nreturn string.find", "the sandbox leaves string.find out: no cap can stop a pattern; compare with == or "
                                 "string.sub"},
        {"\nreturn ('x'):gsub('x', 'y')",
         "the sandbox leaves string.gsub out: no cap can stop a pattern; compare with == "
         "or string.sub"},
        {"\nreturn math.random()", "the sandbox leaves math.random out: the output must not change from run to run"},
        {"\nreturn debug.getinfo(1)", "the sandbox leaves debug.getinfo out: it reaches past the sandbox"},
        {"\nreturn coroutine.wrap", "the sandbox leaves coroutine.wrap out: a spec runs once, top to bottom"},
        {"\nreturn package.path", "the sandbox leaves package.path out: require reads files beside the spec"},
        {"\nreturn setmetatable({}, {})", "the sandbox leaves setmetatable out: a spec declares in plain tables"},
        {"\nreturn collectgarbage()", "the sandbox leaves collectgarbage out: memory is the host's"},
        {"\nreturn _G", "the sandbox leaves _G out: globals are read by name"},
        {"\nrequire 'x'", "the sandbox leaves require out: there is no folder to read from"},
        {"\nprint('x')", "the sandbox leaves print out: a spec prints nothing; error(text) stops with a text"},
        {"\nstring.foo()", "there is no string.foo"},
        {"\nmath.maxx(1)", "there is no math.maxx; did you mean 'math.max'?"},
        {"\nlocal x = tostrng", "there is no tostrng; did you mean 'tostring'?"},
        {"\nlocal x = completely", "'completely' is not declared; write local completely = ... before"},
        {"\nfoo = 1", "'foo' is assigned but not declared; write local foo = ..."},
        {"\n_ENV.foo = 1", "'foo' is assigned but not declared; write local foo = ..."},
        {"\npairs = nil", "pairs is a word of the language and cannot be assigned; write local and another name"},
        {"\nstring.rep = nil", "string.rep: the library cannot be changed"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_fault(table[i].text, 2, "SANDBOX-NAME", table[i].expected);
    expect_fault("return string.format('%p', {})", 1, "LUA-RUN",
                 "string.format: the sandbox leaves %p out: addresses change from run to run");
    expect_fault("return pairs { [{}] = 1 }", 1, "LUA-RUN",
                 "a table with a table as key has no order; use texts or numbers as keys");
}

static void test_limits(void **state)
{
    (void)state;
    static const char format[] = "this runs more than %d steps, the sandbox's limit; is there a loop without end?";
    static const char memory[] =
        "this takes more than 8 MiB of memory, the sandbox's limit; a spec declares kernels, data stay outside";
    static const char rep[] = "string.rep: the sandbox makes no string of more than 1048576 bytes";
    char steps[100];
    const int most = most_steps;
    most_steps = rounds(most);
    snprintf(steps, sizeof steps, format, most_steps);
    expect_fault("\nwhile true do end", 2, "SANDBOX-STEPS", steps);
    expect_fault("\nlocal function f() return f() end\nf()", 2, "SANDBOX-STEPS", steps);
    expect_fault("\ntable.move({}, 1, 1 << 62, 2)", 2, "SANDBOX-STEPS", steps);
    expect_fault("\ntable.move({}, math.mininteger, math.maxinteger, 2)", 2, "SANDBOX-STEPS", steps);
    expect_fault("\nreturn ('x'):rep(1e9)", 2, "LUA-RUN", rep);
    expect_fault("\nreturn ('x'):rep(1 << 62, ('y'):rep(9))", 2, "LUA-RUN", rep);
    most_steps = most;
    snprintf(steps, sizeof steps, format, most);
    expect_fault("\nlocal s = ('x'):rep(1 << 20)\nwhile true do local x = s .. 'y' end", 3, "SANDBOX-STEPS", steps);
    const double seconds = most_seconds;
    most_seconds = 0.3;
    static const char compares[] = "local s = ('x'):rep(1 << 20) s = s .. s\nlocal a, b = s .. 'a', s .. 'a'\n"
                                   "while true do if a ~= b then return end end";
    expect_fault(compares, 3, "SANDBOX-STEPS",
                 "this takes more than 0.3 seconds of a processor, the sandbox's limit; is there a loop without end?");
    /* Guarded, that is counted, and so are keys: within a fraction of the time. */
    most_seconds = 10;
    guarded = true;
    expect_fault(compares, 3, "SANDBOX-STEPS", steps);
    expect_fault("local s = ('x'):rep(1 << 20)\nlocal a, b = s .. 'a', s .. 'a'\nlocal t = { [a] = 1 }\n"
                 "while true do if not t[b] then return end end",
                 4, "SANDBOX-STEPS", steps);
    expect_fault("local s = ('x'):rep(1 << 20)\nlocal a, b = s .. 'a', s .. 'a'\nlocal t = { [a] = 1 }\n"
                 "while true do t[b] = 2 end",
                 4, "SANDBOX-STEPS", steps);
    guarded = false;
    most_seconds = seconds;
    expect_fault("\nlocal t = {}\nfor i = 1, 1e9 do\nt[i] = i\nend", 4, "SANDBOX-MEMORY", memory);
    expect_fault("\nlocal s = 'x'\nwhile true do s = s .. s end", 3, "SANDBOX-MEMORY", memory);
    expect_fault("local function f() return 1 + f() end\nf()", 1, "SANDBOX-MEMORY", memory);
}

/* sandbox_try, for host code, catches what the text does wrong but never a limit. */
static int attempt(lua_State *L)
{
    struct sandbox_error error;
    lua_pushvalue(L, lua_upvalueindex(1));
    int status = sandbox_try(L, 0, 0, &error);
    lua_pushstring(L, status == SANDBOX_OK ? "fine" : error.text);
    return 1;
}

static int try_it(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, attempt, 1);
    lua_call(L, 0, 1);
    return 1;
}

static int set_try(lua_State *L)
{
    lua_pushcfunction(L, try_it);
    sandbox_set_global(sandbox_of(L), "try");
    return 0;
}

static void test_try(void **state)
{
    (void)state;
    char out[1100];
    struct sandbox_error error;
    struct sandbox *s = open_small();
    assert_int_equal(sandbox_protect(s, set_try, NULL, &error), SANDBOX_OK);
    assert_int_equal(run(s, "return try(function() end)", out, sizeof out, &error), SANDBOX_OK);
    assert_string_equal(out, "fine");
    assert_int_equal(run(s, "return try(function() error('no') end)", out, sizeof out, &error), SANDBOX_OK);
    assert_string_equal(out, "no");
    sandbox_set_instruction_limit(s, rounds(most_steps));
    assert_int_equal(run(s, "try(function()\nwhile true do end end)", out, sizeof out, &error), SANDBOX_FAULT);
    assert_string_equal(error.rule, "SANDBOX-STEPS");
    assert_int_equal(error.line, 2);
    sandbox_set_instruction_limit(s, most_steps);
    assert_int_equal(run(s, "try(function() local t = {} for i = 1, 1e9 do t[i] = i end end)", out, sizeof out, &error),
                     SANDBOX_FAULT);
    assert_string_equal(error.rule, "SANDBOX-MEMORY");
    sandbox_close(s);
}

static void test_text_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        int line, column;
        const char *rule, *expected;
    } table[] = {
        {"", 0, 0, 0, "FILE-EMPTY", "the file is empty; a spec declares at least one kernel"},
        {"\x1bLuaT", 5, 0, 0, "FILE-BYTECODE", "this is Lua bytecode; a spec is Lua text"},
        {"a = 1\n\xff", 7, 2, 1, "FILE-UTF8", "column 1 holds byte 0xff, which is no UTF-8; save the file as UTF-8"},
        {"x \xed\xa0\x80", 5, 1, 3, "FILE-UTF8", "column 3 holds byte 0xed, which is no UTF-8; save the file as UTF-8"},
        {"\xc0\x80", 2, 1, 1, "FILE-UTF8", "column 1 holds byte 0xc0, which is no UTF-8; save the file as UTF-8"},
        {"\xe2\x82", 2, 1, 1, "FILE-UTF8", "column 1 holds byte 0xe2, which is no UTF-8; save the file as UTF-8"},
        {"a\0b", 3, 1, 2, "FILE-UTF8", "column 2 holds a zero byte; a spec is text"},
        {"local x = = 1", 13, 1, 0, "LUA-SYNTAX", "unexpected symbol near '='"},
        {"local x = ) 1", 13, 1, 11, "LUA-SYNTAX", "unexpected symbol near ')'"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sandbox *s = open_small();
        struct sandbox_error error;
        assert_int_equal(sandbox_load(s, "x", table[i].text, table[i].length, NULL, &error), SANDBOX_FAULT);
        assert_string_equal(error.text, table[i].expected);
        assert_string_equal(error.rule, table[i].rule);
        assert_int_equal(error.line, table[i].line);
        assert_int_equal(error.column, table[i].column);
        sandbox_close(s);
    }
    expect_result("\xef\xbb\xbfreturn '\xe2\x82\xac\xf0\x9f\x98\x80'", "\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_files(void **state)
{
    (void)state;
    struct sandbox_error error;
    struct sandbox *s = open_small();
    sample_write("empty.lua", "");
    (void)unlink(sample_path("dangling.lua"));
    assert_int_equal(symlink("nowhere.lua", sample_path("dangling.lua")), 0);
    assert_int_equal(mkdir(sample_path("folder.lua"), 0777), 0);
    assert_int_equal(mkfifo(sample_path("pipe.lua"), 0666), 0);
    static const struct {
        const char *name, *rule, *expected;
    } table[] = {
        {"empty.lua", "FILE-EMPTY", "the file is empty; a spec declares at least one kernel"},
        {"dangling.lua", "FILE-LINK", "this is a link to 'nowhere.lua', which does not exist"},
        {"folder.lua", "FILE-FOLDER", "this is a folder; name a .lua file in it"},
        {"pipe.lua", "FILE-KIND", "this is no regular file; a spec is a file"},
        {"missing.lua", "FILE-MISSING", "there is no such file"},
        {"empty.lua/x.lua", "FILE-MISSING", "there is no such file"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(sandbox_load_file(s, sample_path(table[i].name), &error), SANDBOX_FAULT);
        assert_string_equal(error.text, table[i].expected);
        assert_string_equal(error.rule, table[i].rule);
        assert_int_equal(error.line, 0);
        assert_string_equal(sandbox_source(s, error.file)->name, sample_path(table[i].name));
    }
    sandbox_close(s);
}

static void test_require(void **state)
{
    (void)state;
    char out[1100];
    struct sandbox_error error;
    mkdir(sample_path("specs"), 0777);
    mkdir(sample_path("specs/lib"), 0777);
    mkdir(sample_path("specs/a"), 0777);
    sample_write("specs/one.lua", "return { x = require 'two'.x + 1 }");
    sample_write("specs/lib/two.lua", "return { x = 41 }");
    sample_write("specs/a/three.lua", "return '3'");
    sample_write("specs/nothing.lua", "local x = 1");
    sample_write("specs/wrong.lua", "local x\nx.y = 1");
    sample_write("specs/syntax.lua", "\nreturn (");
    sample_write("specs/loop.lua", "return require 'loop'");
    sample_write("outside.lua", "return 'outside'");
    (void)unlink(sample_path("specs/link.lua"));
    assert_int_equal(symlink("../outside.lua", sample_path("specs/link.lua")), 0);
    struct sandbox_options options = {.folder = sample_path("specs")};
    struct sandbox *s = sandbox_open(&options);
    assert_non_null(s);
    assert_int_equal(run(s, "return '' .. require 'one'.x .. require 'a.three' .. tostring(require 'nothing')", out,
                         sizeof out, &error),
                     SANDBOX_OK);
    assert_string_equal(out, "423true");
    assert_int_equal(sandbox_dependency_count(s), 4);
    assert_string_equal(sandbox_dependency(s, 1), sample_path("specs/lib/two.lua"));
    assert_int_equal(run(s, "if require 'one' ~= require 'one' then error 'twice' end", out, sizeof out, &error),
                     SANDBOX_OK);
    static const char *const outside[] = {"../outside", "/etc/passwd", "a/../../outside", "..", "~/x", "",
                                          "a\\b",       "./one"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        char text[200], expected[200];
        snprintf(text, sizeof text, "require [[%s]]", outside[i]);
        snprintf(expected, sizeof expected, "require '%s' leaves the spec's folder; name a file in it or in its lib",
                 outside[i]);
        assert_int_equal(run(s, text, out, sizeof out, &error), SANDBOX_FAULT);
        assert_string_equal(out, expected);
        assert_string_equal(error.rule, "REQUIRE");
    }
    assert_int_equal(run(s, "require 'link'", out, sizeof out, &error), SANDBOX_FAULT);
    assert_non_null(strstr(out, "is a link that leaves the spec's folder"));
    assert_int_equal(run(s, "require 'missing'", out, sizeof out, &error), SANDBOX_FAULT);
    assert_non_null(strstr(out, "there is neither"));
    assert_int_equal(run(s, "require 'loop'", out, sizeof out, &error), SANDBOX_FAULT);
    assert_non_null(strstr(out, "requires itself"));
    assert_int_equal(run(s, "require 'wrong'", out, sizeof out, &error), SANDBOX_FAULT);
    assert_int_equal(error.line, 2);
    assert_string_equal(sandbox_source(s, error.file)->name, sample_path("specs/wrong.lua"));
    assert_int_equal(run(s, "require 'syntax'", out, sizeof out, &error), SANDBOX_FAULT);
    assert_string_equal(error.rule, "LUA-SYNTAX");
    assert_int_equal(error.line, 2);
    sandbox_close(s);
}

/* A template's text: what Lua runs and what diagnostics show differ. */
static void test_shown(void **state)
{
    (void)state;
    struct sandbox_error error;
    struct diag_set diags = {0};
    struct sandbox *s = open_small();
    const char *text = "local n = 1\nlocal x = n.y.z";
    assert_int_equal(sandbox_load(s, "t.cu", text, strlen(text), "first\n//@ second", &error), SANDBOX_OK);
    assert_int_equal(sandbox_call(s, 0, 0, &error), SANDBOX_FAULT);
    sandbox_report(s, &diags, &error, "k", NULL);
    char *printed = sample_print(&diags);
    assert_string_equal(printed, "t.cu:2: error: kernel 'k': 'n' is a number, which has no fields [LUA-RUN]\n"
                                 "    //@ second\n    ^\n");
    free(printed);
    diag_free(&diags);
    sandbox_close(s);
}

static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (long fail = 1; !done; fail = failing_next_path(fail)) {
        struct failing memory = {.fail_at = fail, .by_path = true};
        struct sandbox_options options = {.memory = {failing_alloc, &memory}};
        char out[1100];
        struct sandbox_error error;
        struct sandbox *s = sandbox_open(&options);
        int status = SANDBOX_NO_MEMORY;
        if (s)
            status = run(s,
                         "local t = {} for i = 1, 50 do t['k' .. i] = { i } end local s = '' "
                         "for k, v in pairs(t) do s = s .. k end return 'done'",
                         out, sizeof out, &error);
        done = memory.calls < fail;
        /* Lua collects and tries again: a refusal may pass unseen. Never may it be something else. */
        assert_true(status == SANDBOX_NO_MEMORY || status == SANDBOX_OK);
        assert_true(!done || status == SANDBOX_OK);
        sandbox_close(s);
        assert_int_equal(memory.blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compute),    cmocka_unit_test(test_order),     cmocka_unit_test(test_texts),
        cmocka_unit_test(test_left_out),   cmocka_unit_test(test_limits),    cmocka_unit_test(test_try),
        cmocka_unit_test(test_text_kinds), cmocka_unit_test(test_files),     cmocka_unit_test(test_require),
        cmocka_unit_test(test_shown),      cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
