/* Whatever a template gives to its helpers, to the functions of the library and to what its own lines call: it is
 * answered or refused at the line, and nothing else happens. And what an expansion gives and takes has bounds. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compile.h"
#include "emit/emit.h"

static struct compile_tables tables;
static struct spec spec;
static struct plan plan;

static int open_plan(void **state)
{
    struct diag_set diags = {0};
    (void)state;
    compile_tables_fill(&tables);
    int status = spec_read("specs/rms_norm.lua", &tables.options, &spec, &diags);
    if (status == 0)
        status = family_plan(&spec, &spec.kernel[0], arch_find("sm_90a"), 0, NULL, &plan, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    return status;
}

static int close_plan(void **state)
{
    (void)state;
    plan_free(&plan);
    spec_free(&spec);
    return 0;
}

/* Expands the text; what is told, to be freed, "" where it holds no fault. */
static char *expand(const char *text)
{
    const struct emit_source source = {"rms_norm.cu", text, strlen(text)};
    const struct emit_options options = {.generator_version = 1, .source = &source, .source_count = 1};
    struct diag_set diags = {0};
    char *out = NULL, *told = NULL;
    size_t length = 0, told_length = 0;
    int status = emit_template(plan.template_name, &plan, &options, &out, &length, &diags);
    FILE *f = open_memstream(&told, &told_length);
    assert_non_null(f);
    for (int i = 0; i < diags.count; i++)
        diag_print_one(&diags, i, f);
    fclose(f);
    if (getenv("SHOW_CALLS"))
        fputs(told, stdout);
    if (status > 1 || (status == 1) != (diags.errors > 0) || (out != NULL) != (status == 0))
        fprintf(stderr, "status %d of\n%s\n%s\n", status, text, told);
    assert_true(status == 0 || status == 1);
    assert_int_equal(status == 1, diags.errors > 0);
    assert_int_equal(out != NULL, status == 0);
    free(out);
    diag_free(&diags);
    return told;
}

static const char *const values[] = {"nil",
                                     "2",
                                     "4",
                                     "5",
                                     "true",
                                     "0",
                                     "1",
                                     "-1",
                                     "99999",
                                     "1 << 31",
                                     "math.mininteger",
                                     "2^53",
                                     "0/0",
                                     "1/0",
                                     "0.5",
                                     "''",
                                     "'x'",
                                     "'bf16'",
                                     "'producer'",
                                     "'128B'",
                                     "('x'):rep(9000)",
                                     "{}",
                                     "{ 1, 2, 'c' }",
                                     "{ by = 'one' }",
                                     "{ {} }",
                                     "plan",
                                     "plan.tensor",
                                     "plan.tensor.x",
                                     "plan.role",
                                     "plan.value",
                                     "plan.ring.x",
                                     "plan.tile",
                                     "__e",
                                     "__p",
                                     "hex",
                                     "function(...) return ... end"};
static const char *const others[] = {"__e",
                                     "__i",
                                     "__f",
                                     "__o",
                                     "__p.x",
                                     "plan.tensor",
                                     "place_step",
                                     "place_uniform",
                                     "fragment_step",
                                     "fragment_uniform",
                                     "fragment_item",
                                     "fragment_foretold",
                                     "fragment_reads",
                                     "stamp",
                                     "assert",
                                     "error",
                                     "ipairs",
                                     "next",
                                     "pairs",
                                     "rawequal",
                                     "rawlen",
                                     "select",
                                     "tonumber",
                                     "tostring",
                                     "type",
                                     "math.max",
                                     "math.tointeger",
                                     "math.floor",
                                     "string.byte",
                                     "string.char",
                                     "string.format",
                                     "string.rep",
                                     "string.sub",
                                     "string.upper",
                                     "table.concat",
                                     "table.insert",
                                     "table.move",
                                     "table.pack",
                                     "table.remove",
                                     "table.sort",
                                     "table.unpack",
                                     "#",
                                     "-",
                                     "require"};

static const char *function_name(int index)
{
    int count = 0;
    for (; emit_helpers[count].name; count++)
        if (count == index)
            return emit_helpers[count].name;
    index -= count;
    return index < (int)(sizeof others / sizeof *others) ? others[index] : NULL;
}

static void test_calls(void **state)
{
    enum { VALUES = sizeof values / sizeof *values };
    unsigned random = 1, calls = 0;
    const char *name;
    (void)state;
    for (int f = 0; (name = function_name(f)); f++)
        for (unsigned v = 0; v < VALUES; v++)
            for (int place = 0; place < 2; place++) {
                char text[20000];
                int length = snprintf(text, sizeof text,
                                      "// a line\n//@ local n = 5\n${n}\n//@ if n == 0 then\n"
                                      "//@ include \"blocks/mbarrier.cuh\" remote = false\n"
                                      "//@ op wait_full ring = \"x\"\n//@ end\n//@ local r = %s(",
                                      name);
                for (int i = 0; i <= place + (int)(random >> 3 & 1); i++, random = random * 1103515245u + 12345u)
                    length += snprintf(text + length, sizeof text - (size_t)length, "%s%s", i ? ", " : "",
                                       values[i == place ? v : (random >> 8) % VALUES]);
                snprintf(text + length, sizeof text - (size_t)length, ")\n// behind it\n");
                free(expand(text));
                calls++;
            }
    assert_true(calls > 3000);
}

/* Each ends within seconds and says where and why. */
static void test_bounds(void **state)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"//@ local a = ...\n//@ a(99999)\n", ":2: error: kernel 'rms_norm_ring': this is a function of the engine"},
        {"//@ __i(0)\n", ":1: error: kernel 'rms_norm_ring': this is a function of the engine"},
        {"//@ for i = 1, 20000000 do\n// a line of some length that is printed again and again and again\n//@ end\n",
         ":2: error: kernel 'rms_norm_ring': the template gives more than 16 MiB of text"},
        {"//@ local s = ('x'):rep(1000000)\n//@ for i = 1, 100 do\n${s}\n//@ end\n",
         ":3: error: kernel 'rms_norm_ring': the template gives more than 16 MiB of text"},
        {"//@ local s = ('\\n'):rep(1000000)\n//@ for i = 1, 60 do deeper() end\n${s}\n",
         ":3: error: kernel 'rms_norm_ring': the template gives more than 16 MiB of text"},
        {"//@ while true do deeper() end\n",
         ":1: error: kernel 'rms_norm_ring': lines stand more than 256 columns deep"},
        {"//@ while true do banner() end\n", ":1: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ while true do fragment_item() end\n", "SANDBOX-STEPS|TEMPLATE-LIMIT"},
        {"//@ while true do fragment_foretold() end\n", "SANDBOX-STEPS|TEMPLATE-LIMIT"},
        {"//@ local t = {}\n//@ for i = 1, 100000 do t[i] = '' end\n//@ while true do table.concat(t) end\n",
         ":3: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ local t = {}\n//@ for i = 1, 100000 do t[i] = 1 end\n//@ while true do local x = table.unpack(t) end\n",
         ":3: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ local t = {}\n//@ while true do table.insert(t, 1, 1) end\n",
         ":2: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ local s = ('x'):rep(1000000)\n//@ while true do local x = s:byte(1, 900000) end\n",
         ":2: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ while true do local s = ('x'):rep(1000000) end\n",
         ":1: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        {"//@ local s, t = ('\\0'):rep(1000000), {}\n//@ for i = 1, 100000 do t[i] = s end\n//@ table.sort(t)\n",
         ":3: error: kernel 'rms_norm_ring': this runs more than 10000000 steps"},
        /* Each step compares a million bytes, which nobody charges here. */
        {"//@ local s = ('\\0'):rep(1000000) local u = s .. 'x'\n//@ while true do local x = s < u end\n",
         ":2: error: kernel 'rms_norm_ring': this takes more than 2 seconds"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        char *told = expand(cases[i].text);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        const char *bar = strchr(cases[i].told, '|');
        bool said = bar ? strstr(told, "SANDBOX-STEPS") || strstr(told, bar + 1) : strstr(told, cases[i].told) != NULL;
        if (!said)
            fprintf(stderr, "%s\n%s\n", cases[i].text, told);
        assert_true(said);
        assert_true(b.tv_sec - a.tv_sec < 60); /* of a sanitized build under load; 2 s of another */
        free(told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, open_plan, close_plan);
}
