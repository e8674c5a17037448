/* The template language: every feature by its output, every fault by its exact message. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lua5.4/lauxlib.h>

#include "unit/rounds.h"
#include "emit/embed.h"
#include "emit/template/prepared.h"
#include "emit/emit.h"
#include "emit/template/template.h"

/* ---- a model, and expansion of texts ----------------------------------------------------------------------------- */

static void walk(const void *model, const struct sink *s)
{
    void *c = s->context;
    (void)model;
    s->object(c, NULL);
    s->text(c, "kernel", "gemm");
    s->text(c, "entry", "gemm__odd");
    s->text(c, "arch", "sm_90a");
    s->text(c, "family", NULL);
    s->boolean(c, "large", true);
    s->integer(c, "big", INT64_C(5000000000));
    s->array(c, "tensor");
    for (int i = 0; i < 2; i++) {
        s->object(c, NULL);
        s->text(c, "name", i ? "B" : "A");
        s->text(c, "dtype", i ? "fp32" : "bf16");
        s->array(c, "box");
        s->integer(c, NULL, 64);
        s->integer(c, NULL, 8 + i);
        s->end(c);
        s->end(c);
    }
    s->end(c);
    s->array(c, "ring");
    s->object(c, NULL);
    s->text(c, "name", "ab");
    s->integer(c, "stages", 4);
    s->end(c);
    s->end(c);
    s->array(c, "shared");
    s->object(c, NULL);
    s->text(c, "name", "ab.full");
    s->integer(c, "offset", 1024);
    s->end(c);
    s->end(c);
    s->array(c, "value");
    const char *const name[] = {"tile.m", "tile.n", "schedule.order", "kernel"};
    for (int i = 0; i < 4; i++) {
        s->object(c, NULL);
        s->text(c, "name", name[i]);
        if (i == 2)
            s->text(c, "text", "grouped");
        else
            s->integer(c, "integer", 128 << i);
        s->end(c);
    }
    s->end(c);
    s->object(c, "launch");
    s->integer(c, "block", 384);
    s->integer(c, "shared_bytes", 2048);
    s->end(c);
    s->end(c);
}

static int twice(lua_State *L)
{
    int *calls = emit_helper_context(L);
    ++*calls;
    lua_pushinteger(L, 2 * luaL_checkinteger(L, 1));
    return 1;
}

static int helper_calls;
static const struct emit_helper own_helper[] = {{"twice", twice, &helper_calls}};
static const struct emit_model model = {.root = "plan", .walk = walk, .kernel = "gemm"};

/* Templates a test may include, beside the one it expands ("t.cu"). */
static const char *const included[][2] = {
    {"ring.cuh", "//@ param ring table\n"
                 "//@ param n int\n"
                 "//@ for i = 1, n do\n"
                 "void ${ring.name}_${i}();\n"
                 "    //@ if i == 1 then\n"
                 "    // first\n"
                 "    //@ end\n"
                 "//@ end\n"},
    {"dotted.cuh", "//@ param ring.stages int\n//@ param dtype text\nint s = ${ring.stages}; // ${dtype}\n"},
    {"outer.cuh", "{\n    //@ include \"inner.cuh\"\n}\n"},
    {"inner.cuh", "x;\n\n    y;\n"},
    {"self.cuh", "//@ include \"self.cuh\"\n"},
    {"global.cuh", "//@ local p = plan\nint x;\n"},
    {"broken.cuh", "int x;\n//@ local y = nil + 1\n"},
    {"macro.cuh", "#define LOAD(x) \\\n    ((x) + 1)\nint z;\n"},
};

struct expansion {
    int status;
    char *text;
    size_t length;
    char *diagnostics;
};

static struct expansion expand_with(const char *template, struct emit_options options)
{
    struct emit_source source[16] = {{"t.cu", template, strlen(template)}};
    int count = 1;
    for (size_t i = 0; i < sizeof included / sizeof *included; i++)
        source[count++] = (struct emit_source){included[i][0], included[i][1], strlen(included[i][1])};
    options.source = source;
    options.source_count = count;
    options.generator_version = 7;
    options.helper = own_helper;
    options.helper_count = 1;
    struct diag_set diags = {0};
    struct expansion e = {0};
    size_t bytes;
    e.status = emit_expand("t.cu", &model, &options, &e.text, &e.length, &diags);
    FILE *out = open_memstream(&e.diagnostics, &bytes);
    diag_print(&diags, out);
    fclose(out);
    diag_free(&diags);
    return e;
}

static void release(struct expansion *e)
{
    free(e->text);
    free(e->diagnostics);
}

struct example {
    const char *template, *expected;
};

static void check_output(const struct example *example, struct emit_options options)
{
    struct expansion e = expand_with(example->template, options);
    assert_string_equal(e.diagnostics, "");
    assert_int_equal(e.status, 0);
    assert_string_equal(e.text, example->expected);
    assert_int_equal(e.length, strlen(e.text));
    release(&e);
}

static void check_outputs(const struct example *example)
{
    for (; example->template; example++)
        check_output(example, (struct emit_options){0});
}

static void check_faults(const struct example *example)
{
    for (; example->template; example++) {
        struct expansion e = expand_with(example->template, (struct emit_options){.instruction_limit = 100000});
        assert_string_equal(e.diagnostics, example->expected);
        assert_int_equal(e.status, 1);
        assert_null(e.text);
        release(&e);
    }
}

/* ---- the language ------------------------------------------------------------------------------------------------ */

static void text_and_holes(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"", ""},
        {"int x;", "int x;\n"},
        {"int x;\r\n\tint y;   \r\n", "int x;\n\tint y;\n"},
        {"//@ param tile.m int\n//@ param entry text\nint ${entry}_${tile.m} = ${ tile.m };\n",
         "int gemm__odd_128 = 128;\n"},
        {"//@ param launch.block int\n//@ param big int\n${launch.block} ${big}\n", "384 5000000000\n"},
        {"${plan.ring.ab.stages} ${plan.tensor.B.dtype} ${plan.shared.ab.full.offset}\n", "4 fp32 1024\n"},
        {"//@ local x = plan.shared[\"ab.full\"]\n${x.offset} $ { $x $\n", "1024 $ { $x $\n"},
        {"//@ param tile table\n${tile.m} x ${tile.n}\n", "128 x 256\n"},
        {"//@ param tile table\n//@ param tile.n int\n${tile.m} x ${tile.n}\n", "128 x 256\n"},
        {"//@ local t = { a = { b = 3 } }\n${t.a.b}\n", "3\n"},
        {"//@ local several = \"a;\\n\\n    b;\\n\"\nvoid f()\n{\n    ${several}\n}\n",
         "void f()\n{\n    a;\n\n        b;\n}\n"},
        {"a\n    //@ local nothing = \"\"\n    ${nothing}\nb\n", "a\nb\n"},
        {"// é ${plan.entry} ü\n", "// é gemm__odd ü\n"},
        {0},
    };
    check_outputs(example);
}

static void lua_lines(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"//@ -- nothing --[[ of this\nx\n//@\n//@--\n", "x\n"},
        {"//@ for i, t in ipairs(plan.tensor) do\n${i} ${t.name} ${t.dtype};\n//@ end\n", "1 A bf16;\n2 B fp32;\n"},
        {"    //@ if plan.tensor.C then\n    c;\n    //@ elseif plan.tensor.B then\n    b;\n    //@ end\n", "    b;\n"},
        {"//@ for k, v in pairs(plan.tensor.A) do\n//@ if k ~= \"box\" then\n${k}=${v}\n//@ end\n//@ end\n",
         "dtype=bf16\nname=A\n"},
        {"//@ for k, v in pairs(plan.ring) do\n${k}=${v.name}\n//@ end\n", "1=ab\n"},
        {"//@ for k, v in pairs({ b = 2, a = 1 }) do\n${k}=${v}\n//@ end\n", "a=1\nb=2\n"},
        {"//@ local n = #plan.tensor + #plan.tensor.A.box\n${n}\n", "4\n"},
        {"//@ local function f(x)\nf(${x});\n//@ end\n//@ f(1) f(2)\n", "f(1);\nf(2);\n"},
        {"//@ local t = {\n//@     1, 2 }\n//@ local c = csv(t)\n${c}\n", "1, 2\n"},
        {"//@ if plan.family == nil and plan.large then\ny\n//@ end\n", "y\n"},
        {"//@ local k = plan.kernel\n${k}\n", "gemm\n"}, /* the field, not the value of that name */
        {0},
    };
    check_outputs(example);
}

static void helpers(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"//@ local a, b, c = hex(0), hex(48879), hex(-1)\n${a} ${b} ${c}\n", "0x0 0xbeef 0xffffffffffffffff\n"},
        {"//@ local a, b, c = log2(1), log2(1024), ceil_div(7, 2)\n${a} ${b} ${c}\n", "0 10 4\n"},
        {"//@ local a, b = align_up(1000, 128), align_up(1024, 128)\n${a} ${b}\n", "1024 1024\n"},
        {"//@ local a = bytes(\"bf16\")\n${a} ${ctype(plan.tensor.A.dtype)} ${upper(plan.entry)}\n",
         "2 unsigned short GEMM__ODD\n"},
        {"${csv(plan.tensor.B.box)} ${hex(plan.tile.m)}\n", "64, 9 0x80\n"},
        {"//@ local a = has(plan, \"family\") and 1 or has(plan, \"nonsense\") and 2 or has(plan, \"tile\") and "
         "3\n${a}\n",
         "3\n"},
        {"${banner}\nx\n", "// tilewright 7: kernel gemm, entry gemm__odd, arch sm_90a\n"
                           "// tile.m 128, tile.n 256, schedule.order grouped, kernel 1024\n"
                           "// 2048 bytes of shared memory, 384 threads, ring ab of 4 stages\nx\n"},
        {"${twice(plan.tile.m)}\n", "256\n"},
        {0},
    };
    helper_calls = 0;
    check_outputs(example);
    assert_int_equal(helper_calls, 1);
    for (const struct emit_helper_doc *h = emit_helpers; h->name; h++)
        assert_true(h->doc[0] && h->arguments && h->function);
}

static void includes(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"a\n    //@ include \"ring.cuh\" ring = plan.ring.ab, n = 2\nb\n",
         "a\n    void ab_1();\n        // first\n    void ab_2();\nb\n"},
        {"//@ include \"ring.cuh\" ring = plan.ring.ab, -- more to come\n//@     n =\n//@ include \"x\"\n", NULL},
        {"//@ include \"ring.cuh\" ring = plan.ring.ab, -- more to come\n//@     n = 1 -- one\nb\n",
         "void ab_1();\n    // first\nb\n"},
        {"//@ include \"dotted.cuh\" ring = plan.ring.ab, dtype = plan.tensor.A.dtype\n", "int s = 4; // bf16\n"},
        {"//@ include \"dotted.cuh\" ring = { stages = 5 }, dtype = \"fp8\"\n", "int s = 5; // fp8\n"},
        {"\t//@ include \"outer.cuh\"\n//@ include \"outer.cuh\"\n",
         "\t{\n\t    x;\n\n\t        y;\n\t}\n{\n    x;\n\n        y;\n}\n"},
        {"//@ if false then\n//@ include \"broken.cuh\"\n//@ end\nx\n", "x\n"},
        {0},
    };
    for (const struct example *x = example; x->template; x++)
        if (x->expected)
            check_output(x, (struct emit_options){0});
}

static void blank_lines_and_branches(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"\n\na\n\n\n\nb\n\n", "a\n\nb\n"},
        {"a\n\n//@ if false then\nx\n//@ end\n\nb\n", "a\n\nb\n"},
        {"f()\n{\n\n    a;\n\n}\n", "f()\n{\n    a;\n}\n"},
        /* emptied by the expansion, with the branch around it */
        {"f {\n    if (a == 1) {\n        if (b) {\n            //@ if false then\n            c;\n            //@ "
         "end\n"
         "        }\n    }\n}\n",
         "f {\n}\n"},
        {"if (a) {\n    b;\n} else {\n    //@ if false then\n    c;\n    //@ end\n}\n", "if (a) {\n    b;\n}\n"},
        /* left empty by the template, a call, an assignment, an else: those stay */
        {"if (a) {\n}\n", "if (a) {\n}\n"},
        {"if (poll()) {\n//@ -- nothing\n}\n", "if (poll()) {\n}\n"},
        {"if (a = b) {\n//@ -- nothing\n}\n", "if (a = b) {\n}\n"},
        {"if (a <= b) {\n//@ -- nothing\n}\nelse\n    c;\n", "if (a <= b) {\n}\nelse\n    c;\n"},
        {"while (a) {\n//@ -- nothing\n}\n", "while (a) {\n}\n"},
        {0},
    };
    check_outputs(example);
}

static void line_directives(void **state)
{
    (void)state;
#define LINE(n, name) "#line " #n " \"/tilewright/templates/" name "\"\n"
    static const struct example example[] = {
        {"${banner}\n\nint a;\nint b;\n\nint c;\n",
         "// tilewright 7: kernel gemm, entry gemm__odd, arch sm_90a\n"
         "// tile.m 128, tile.n 256, schedule.order grouped, kernel 1024\n"
         "// 2048 bytes of shared memory, 384 threads, ring ab of 4 stages\n\n" LINE(
             3, "t.cu") "int a;\nint b;\n\nint c;\n"},
        {"int a;\n//@ -- gone\n// comment\nint b;\n",
         LINE(1, "t.cu") "int a;\n// comment\n" LINE(4, "t.cu") "int b;\n"},
        {"//@ for i = 1, 2 do\nint x${i};\n//@ end\nint b;\n",
         LINE(2, "t.cu") "int x1;\n" LINE(2, "t.cu") "int x2;\n" LINE(4, "t.cu") "int b;\n"},
        {"int a;\n//@ include \"macro.cuh\"\nint b;\n",
         LINE(1, "t.cu") "int a;\n" LINE(1, "macro.cuh") "#define LOAD(x) \\\n    ((x) + 1)\nint z;\n" LINE(
             3, "t.cu") "int b;\n"},
        {"//@ local two = \"a;\\nb;\"\n${two}\nc;\n", LINE(2, "t.cu") "a;\nb;\n" LINE(3, "t.cu") "c;\n"},
        /* no directive inside of a comment or a continued line */
        {"/* a\n//@ -- gone\n   b */\nint c;\n", "/* a\n   b */\n" LINE(4, "t.cu") "int c;\n"},
        {"#define A \\\n//@ -- gone\n    1\nint c;\n",
         LINE(1, "t.cu") "#define A \\\n    1\n" LINE(4, "t.cu") "int c;\n"},
        {"int a; // \"/*\nint b; const char *s = \"/*\";\n//@ -- gone\nint c;\n",
         LINE(1, "t.cu") "int a; // \"/*\nint b; const char *s = \"/*\";\n" LINE(4, "t.cu") "int c;\n"},
        {0},
    };
#undef LINE
    for (const struct example *x = example; x->template; x++)
        check_output(x, (struct emit_options){.line_directives = true});
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

#define AT(line, text) "t.cu:" #line ": error: kernel 'gemm': " text "\n"

static void parameter_faults(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"//@ param tile.m int\nx\n",
         AT(1, "no line uses parameter 'tile.m'; delete it [TEMPLATE-UNUSED]") "    //@ param tile.m int\n             "
                                                                               " ^\n"},
        {"//@ param tile.q int\n${tile.q}\n",
         AT(1, "'plan' has no 'tile.q' [TEMPLATE-NAME]") "    //@ param tile.q int\n              ^\n"},
        {"//@ param entri text\n${entri}\n",
         AT(1, "'plan' has no 'entri'; did you mean 'entry'? [TEMPLATE-NAME]") "    //@ param entri text\n             "
                                                                               " ^\n"},
        {"//@ param entry int\n${entry}\n",
         AT(1, "'entry' is a text, declared as an int [TEMPLATE-TYPE]") "    //@ param entry int\n              ^\n"},
        {"//@ param tile.m table\n//@ param large int\n${tile.m}${large}\n",
         AT(1,
            "'tile.m' is an int, declared as a table [TEMPLATE-TYPE]") "    //@ param tile.m table\n              "
                                                                       "^\n" AT(2,
                                                                                "'large' is a bool, declared as an int "
                                                                                "[TEMPLATE-TYPE]") "    //@ param "
                                                                                                   "large int\n        "
                                                                                                   "      ^\n"},
        {"//@ param\n",
         AT(1, "a parameter has a name; write //@ param NAME TYPE [TEMPLATE-PARAM]") "    //@ param\n             ^\n"},
        {"//@ param entry string\n${entry}\n",
         AT(1, "'entry' needs a type; write int, text, bool or table "
               "[TEMPLATE-PARAM]") "    //@ param entry string\n                    "
                                   "^\n" AT(2, "nothing is called 'entry'; declare "
                                               "it at the top: //@ param entry TYPE "
                                               "[TEMPLATE-NAME]") "    ${entry}\n   "
                                                                  "   ^\n"},
        {"int x;\n//@ param entry text\n${entry}\n", AT(2, "parameter 'entry' stands below other lines; move it to the "
                                                           "top [TEMPLATE-PARAM]") "    //@ param entry text\n    ^\n"},
        {"//@ param entry text\n//@ param entry text\n${entry}\n",
         AT(2,
            "parameter 'entry' was declared in line 1 [TEMPLATE-PARAM]") "    //@ param entry text\n              ^\n"},
        {"//@ param hex int\n${hex}\n",
         AT(1, "'hex' is taken; give the parameter another name [TEMPLATE-PARAM]") "    //@ param hex int\n            "
                                                                                   "  ^\n"},
        {0},
    };
    check_faults(example);
}

static void hole_faults(void **state)
{
    (void)state;
#define NO_HOLE                                                                                                        \
    "this is no hole; write ${name}, ${name.field} or ${helper(name)}, and compute in a //@ line [TEMPLATE-HOLE]"
    static const struct example example[] = {
        {"int a = ${1 + 2};\n", AT(1, NO_HOLE) "    int a = ${1 + 2};\n            ^\n"},
        {"//@ param tile.m int\n  ${tile.m * 2}\n", AT(2, NO_HOLE) "    ${tile.m * 2}\n    ^\n"},
        {"${end}\n", AT(1, NO_HOLE) "    ${end}\n    ^\n"},
        {"${a\n", AT(1, NO_HOLE) "    ${a\n    ^\n"},
        {"//@ local t = 1\nint a = ${stages};\n", AT(2, "nothing is called 'stages'; declare it at the top: //@ param "
                                                        "stages TYPE [TEMPLATE-NAME]") "    int a = ${stages};\n       "
                                                                                       "       ^\n"},
        {"//@ param tile.m int\n${tile.m} ${tile.n}\n",
         AT(2, "nothing is called 'tile.n'; did you mean 'tile.m'? [TEMPLATE-NAME]") "    ${tile.m} ${tile.n}\n        "
                                                                                     "        ^\n"},
        {"${hexx(plan)}\n",
         AT(1, "'hexx' is no helper; did you mean 'hex'? [TEMPLATE-NAME]") "    ${hexx(plan)}\n      ^\n"},
        {"${plan.tensor.A.dtpye}\n", AT(1, "'plan.tensor.A' has no field 'dtpye'; did you mean 'dtype'? "
                                           "[TEMPLATE-NAME]") "    ${plan.tensor.A.dtpye}\n      ^\n"},
        {"int x = ${plan.tensor.C.dtype};\n",
         AT(1,
            "'plan.tensor' has no field 'C' [TEMPLATE-NAME]") "    int x = ${plan.tensor.C.dtype};\n              ^\n"},
        {"${plan.entry.x}\n",
         AT(1, "'plan.entry' is a text, it has no field 'x' [TEMPLATE-TYPE]") "    ${plan.entry.x}\n      ^\n"},
        {"${plan.large}\n", AT(1, "'plan.large' is a bool, a hole takes an int or a text; choose a text in a //@ if "
                                  "[TEMPLATE-TYPE]") "    ${plan.large}\n      ^\n"},
        {"${plan.tile}\n",
         AT(1, "'plan.tile' is a table, a hole takes an int or a text [TEMPLATE-TYPE]") "    ${plan.tile}\n      ^\n"},
        {"//@ local half = plan.tile.m / 2\nx ${half}\n",
         AT(2, "'half' is a float, a hole takes an int or a text; write "
               "// for a whole quotient [TEMPLATE-TYPE]") "    x "
                                                          "${half}\n     "
                                                          "   ^\n"},
        {"//@ local nothing\n${nothing}\n",
         AT(2, "'nothing' is nothing, a hole takes an int or a text [TEMPLATE-TYPE]") "    ${nothing}\n      ^\n"},
        {"//@ local function f() end\n${f}\n",
         AT(2, "'f' is a function, a hole takes an int or a text [TEMPLATE-TYPE]") "    ${f}\n      ^\n"},
        {"${ctype(plan.entry)}\n", AT(1, "argument 1 of this call: no dtype [LUA-RUN]") "    ${ctype(plan.entry)}\n"},
        {0},
    };
    check_faults(example);
}

static void lua_faults(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"x\n//@ if true the\ny\n",
         AT(2, "'then' expected near 'the' [LUA-SYNTAX]") "    //@ if true the\n                ^\n"},
        {"x\n//@ for i = 1, 2 do\ny\n\n", AT(4, "'end' expected (to close 'for' at line 2) near <eof> [LUA-SYNTAX]")},
        {"//@ local x =\ny\nz\n", AT(2, "unexpected symbol near the text of this line [LUA-SYNTAX]") "    y\n"},
        {"//@ return\ny\n", AT(2, "<eof> expected near the text of this line [LUA-SYNTAX]") "    y\n"},
        {"//@ local x = nil\n//@ local y = x.z\n",
         AT(2, "'x' is nil and has no fields; give it its value before, and look "
               "whether the name is right [LUA-RUN]") "    //@ local y = x.z\n                  ^\n"},
        {"//@ local y = plan.tile.q\n",
         AT(1, "plan.tile has no field 'q'; has(t, \"field\") asks [LUA-RUN]") "    //@ local y = plan.tile.q\n        "
                                                                               "                    ^\n"},
        {"//@ plan.tile.m = 3\n",
         AT(1,
            "plan.tile is read-only; copy what you want to change into a local [LUA-RUN]") "    //@ plan.tile.m = 3\n"},
        {"//@ plan.tensor[3] = 3\n", AT(1, "plan.tensor is read-only; copy what you want to change into a local "
                                           "[LUA-RUN]") "    //@ plan.tensor[3] = 3\n"},
        {"//@ error(\"no such thing\")\n", AT(1, "no such thing [LUA-RUN]") "    //@ error(\"no such thing\")\n"},
        {"//@ local x = log2(3)\n",
         AT(1, "argument 1 of 'log2': no power of two [LUA-RUN]") "    //@ local x = log2(3)\n                  "
                                                                        "^\n"},
        {"//@ local x = csv({ {} })\n",
         AT(1, "csv takes a list of ints and texts; item 1 is a table [LUA-RUN]") "    //@ local x = csv({ {} })\n"},
        {"x\n//@ while true do end\n", AT(2, "this runs more than 100000 steps, the sandbox's limit; is there a loop "
                                             "without end? [SANDBOX-STEPS]") "    //@ while true do end\n"},
        {"//@ while true do\nx\n//@ end\n", NULL},
        {0},
    };
    for (const struct example *x = example; x->template; x++)
        if (x->expected)
            check_faults((const struct example[]){*x, {0}});
    struct expansion e =
        expand_with("//@ while true do\nx\n//@ end\n", (struct emit_options){.instruction_limit = 100000});
    assert_int_equal(e.status, 1);
    assert_non_null(strstr(e.diagnostics, "[SANDBOX-STEPS]"));
    release(&e);
    e = expand_with("//@ x = 1\n//@ local y = os.time()\n", (struct emit_options){0});
    assert_int_equal(e.status, 1);
    assert_non_null(strstr(e.diagnostics, "t.cu:1: error: kernel 'gemm': "));
    release(&e);
    e = expand_with("//@ local x = 1\n\n//@ local y = undeclared\n", (struct emit_options){0});
    assert_int_equal(e.status, 1);
    assert_non_null(strstr(e.diagnostics, "t.cu:3: error: kernel 'gemm': "));
    assert_non_null(strstr(e.diagnostics, "                  ^\n"));
    release(&e);
}

static void include_faults(void **state)
{
    (void)state;
    static const struct example example[] = {
        {"//@ include \"nowhere.cuh\" n = 1\n",
         AT(1, "there is no template 'nowhere.cuh' [TEMPLATE-FILE]") "    //@ include \"nowhere.cuh\" "
                                                                     "n = 1\n                 ^\n"},
        {"//@ include ring.cuh\n", AT(1, "a name in quotes is missing; write //@ include \"NAME\" a = "
                                         "... [TEMPLATE-DIRECTIVE]") "    //@ include ring.cuh\n       "
                                                                     "         ^\n"},
        {"//@ include \"ring.cuh\" ring = plan.ring.ab,\nx\n",
         AT(1, "the arguments end in a comma, and no //@ line follows that goes on "
               "[TEMPLATE-DIRECTIVE]") "    //@ include \"ring.cuh\" ring = plan.ring.ab,\n"},
        {"x\n//@ include \"ring.cuh\" ring = plan.ring.ab\n",
         AT(2, "argument 'n' of 'ring.cuh' is missing; its line 2 declares it as an int "
               "[TEMPLATE-NAME]") "    //@ include \"ring.cuh\" ring = plan.ring.ab\n"},
        {"//@ include \"ring.cuh\" ring = 3, n = \"x\"\n",
         AT(1,
            "argument 'ring' of 'ring.cuh' is an int; its line 1 declares it as a table "
            "[TEMPLATE-TYPE]") "    //@ include \"ring.cuh\" ring = 3, n = \"x\"\n" AT(1,
                                                                                       "argument 'n' of 'ring.cuh' is "
                                                                                       "a text; its line 2 declares it "
                                                                                       "as an int "
                                                                                       "[TEMPLATE-TYPE]") "    //@ "
                                                                                                          "include "
                                                                                                          "\"ring."
                                                                                                          "cuh\" ring "
                                                                                                          "= 3, n = "
                                                                                                          "\"x\"\n"},
        {"//@ include \"ring.cuh\" rng = plan.ring.ab, n = 3\n",
         AT(1, "'ring.cuh' has no parameter 'rng'; did you mean 'ring'? [TEMPLATE-NAME]") "    //@ "
                                                                                          "include "
                                                                                          "\"ring.cuh\" "
                                                                                          "rng = "
                                                                                          "plan.ring.ab, "
                                                                                          "n = 3\n"},
        {"//@ include \"ring.cuh\" plan.ring.ab\n",
         AT(1, "an argument of 'ring.cuh' has no name; write name = value [TEMPLATE-NAME]") "    //@ "
                                                                                            "include "
                                                                                            "\"ring.cuh\" "
                                                                                            "plan.ring."
                                                                                            "ab\n"},
        {"x\n//@ include \"global.cuh\"\n",
         "global.cuh:1: error: kernel 'gemm': 'plan' is not visible in an included template; pass what "
         "it needs as an "
         "argument [LUA-RUN]\n    //@ local p = plan\n                  ^\n"
         "t.cu:2: note: kernel 'gemm': 'global.cuh' is included here\n    //@ include "
         "\"global.cuh\"\n"},
        {"//@ include \"broken.cuh\"\n",
         "broken.cuh:2: error: kernel 'gemm': one side is nil, and arithmetic takes numbers "
         "[LUA-RUN]\n    //@ local y = nil + 1\n"
         "t.cu:1: note: kernel 'gemm': 'broken.cuh' is included here\n"
         "    //@ include \"broken.cuh\"\n"},
        {"//@ role \"x\"\n", AT(1, "there are no roles here; a Plan has them [TEMPLATE-ORDER]") "    //@ role \"x\"\n"},
        {"//@ endrole x\n",
         AT(1, "nothing follows //@ endrole [TEMPLATE-DIRECTIVE]") "    //@ endrole x\n                "
                                                                   "^\n"},
        {0},
    };
    check_faults(example);
    struct expansion e = expand_with("//@ include \"self.cuh\"\n", (struct emit_options){0});
    assert_int_equal(e.status, 1);
    assert_non_null(strstr(e.diagnostics, "self.cuh:1: error: kernel 'gemm': includes are nested more than 16 deep"));
    release(&e);
}

/* ---- files, memory, time ----------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text, size_t length)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text, 1, length, f);
    fclose(f);
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
}

static struct expansion expand_file(const char *name, const char *folder)
{
    const struct emit_options options = {.user_folder = folder, .generator_version = 1};
    struct expansion e = {0};
    struct diag_set diags = {0};
    size_t bytes;
    e.status = emit_expand(name, &model, &options, &e.text, &e.length, &diags);
    FILE *out = open_memstream(&e.diagnostics, &bytes);
    diag_print(&diags, out);
    fclose(out);
    diag_free(&diags);
    return e;
}

/* A user's template lies beside the spec, includes embedded blocks, and stays in its folder. */
static void user_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_emit_XXXXXX", expected[512];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "user.cu",
               "//@ param entry text\n//@ include \"blocks/math.cuh\" fused = {}\nvoid ${entry}();\n", 79);
    write_file(folder, "zero.cu", "a\0b", 3);
    write_file(folder, "wrong.cu", "${what}\n", 8);
    /* Arithmetic of lines that go on, and behind what is no operand, is the user's. */
    static const char own[] = "//@ param entry text\n//@ local two = 2\nint ${entry} = c *\n    ${two} + 3;\n"
                              "int d = c++ * ${two} + 3;\nint e = static_cast<int>(c + ${two} * 0);\n";
    write_file(folder, "own.cu", own, sizeof own - 1);
    struct expansion e = expand_file("user.cu", folder);
    assert_string_equal(e.diagnostics, "");
    assert_string_equal(e.text, "void gemm__odd();\n");
    release(&e);
    e = expand_file("own.cu", folder);
    assert_string_equal(e.diagnostics, "");
    assert_string_equal(e.text, "int gemm__odd = c *\n    2 + 3;\nint d = c++ * 2 + 3;\n"
                                "int e = static_cast<int>(c + 2 * 0);\n");
    release(&e);
    const char *const fault[][2] = {
        {"nowhere.cu",
         "error: kernel 'gemm': template '%s/nowhere.cu' cannot be read: No such file or directory [TEMPLATE-FILE]\n"},
        {"zero.cu", "error: kernel 'gemm': template '%s/zero.cu' holds a zero byte; it is no text [TEMPLATE-FILE]\n"},
        {".", "error: kernel 'gemm': template '%s/.' is no file [TEMPLATE-FILE]\n"},
        {"../x.cu", "error: kernel 'gemm': template '../x.cu' is outside of the spec's folder [TEMPLATE-FILE]\n"},
        {"a/../../x.cu",
         "error: kernel 'gemm': template 'a/../../x.cu' is outside of the spec's folder [TEMPLATE-FILE]\n"},
        {"/etc/passwd",
         "error: kernel 'gemm': template '/etc/passwd' is outside of the spec's folder [TEMPLATE-FILE]\n"},
        {"wrong.cu",
         "%s/wrong.cu:1: error: kernel 'gemm': nothing is called 'what'; declare it at the top: //@ param what "
         "TYPE [TEMPLATE-NAME]\n    ${what}\n      ^\n"},
    };
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        e = expand_file(fault[i][0], folder);
        const char *hole = strstr(fault[i][1], "%s");
        snprintf(expected, sizeof expected, "%.*s%s%s", hole ? (int)(hole - fault[i][1]) : (int)strlen(fault[i][1]),
                 fault[i][1], hole ? folder : "", hole ? hole + 2 : "");
        assert_string_equal(e.diagnostics, expected);
        assert_int_equal(e.status, 1);
        release(&e);
    }
    e = expand_file("nowhere.cu", NULL);
    assert_string_equal(e.diagnostics, "error: kernel 'gemm': there is no template 'nowhere.cu' [TEMPLATE-FILE]\n");
    release(&e);
    remove_file(folder, "user.cu");
    remove_file(folder, "own.cu");
    remove_file(folder, "zero.cu");
    remove_file(folder, "wrong.cu");
    rmdir(folder);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    const char *good =
        "//@ param tile.m int\n${banner}\n//@ for i, t in ipairs(plan.tensor) do\n${t.name} ${tile.m}\n//@ end\n"
        "    //@ include \"ring.cuh\" ring = plan.ring.ab, n = 2\n";
    const char *bad = "//@ param tile.m int\n//@ include \"ring.cuh\" ring = plan.ring.ab, n = \"x\"\n${tile.m}\n";
    const char *const template[] = {good, bad};
    for (int which = 0; which < 2; which++) {
        bool done = false;
        for (long fail = 1; !done; fail = failing_next(fail)) {
            struct failing f = {.fail_at = fail};
            struct emit_options options = {.memory = {failing_alloc, &f}, .line_directives = true};
            struct expansion e = expand_with(template[which], options);
            done = f.calls < fail;
            assert_true(e.status == which || (!done && e.status == 3)); /* a retried allocation may succeed */
            if (e.text)
                failing_alloc(&f, e.text, e.length + 1, 0);
            assert_int_equal(f.blocks, 0);
            free(e.diagnostics);
        }
    }
}

/* False under a sanitizer and valgrind, where time says nothing. */
static bool full_speed(void)
{
#if defined __OPTIMIZE__
    return !TW_TESTS_SANITIZED && !under_valgrind();
#else
    return false;
#endif
}

static void same_bytes_and_fast(void **state)
{
    (void)state;
    char *template = NULL;
    size_t bytes;
    FILE *out = open_memstream(&template, &bytes);
    fputs("//@ param tile.m int\n//@ param entry text\n${banner}\n", out);
    for (int i = 0; i < 100; i++)
        fprintf(out,
                "//@ if plan.tensor.A then\n    int ${entry}_%d = ${tile.m} * ${plan.ring.ab.stages};\n    call(%d);\n"
                "//@ end\n",
                i, i);
    fclose(out);
    struct expansion first = expand_with(template, (struct emit_options){0});
    assert_int_equal(first.status, 0);
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        struct expansion e = expand_with(template, (struct emit_options){0});
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
        best = ms < best ? ms : best;
        assert_string_equal(e.text, first.text);
        release(&e);
    }
    print_message("# 400 lines: %.2f ms\n", best);
    if (full_speed())
        assert_true(best < 3);
    release(&first);
    free(template);
}

static void same_path(const struct template_path *a, const struct template_path *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->parts, b->parts);
    assert_int_equal(a->column, b->column);
    for (int i = 0; i < a->parts; i++)
        assert_string_equal(a->part[i], b->part[i]);
}

static void same_line(const struct template_line *a, const struct template_line *b)
{
    const int numbers[][2] = {{(int)a->kind, (int)b->kind},   {a->length, b->length},
                              {a->indent, b->indent},         {a->hole_count, b->hole_count},
                              {a->more, b->more},             {a->word_column, b->word_column},
                              {a->word_end, b->word_end},     {a->rest, b->rest},
                              {a->rest_end, b->rest_end},     {a->word != NULL, b->word != NULL}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(numbers[i][0], numbers[i][1]);
    assert_ptr_equal(a->text, b->text);
    if (a->word)
        assert_string_equal(a->word, b->word);
    for (int h = 0; h < a->hole_count; h++) {
        const struct template_hole *x = &a->hole[h], *y = &b->hole[h];
        assert_int_equal(x->begin, y->begin);
        assert_int_equal(x->end, y->end);
        assert_string_equal(x->helper ? x->helper : "", y->helper ? y->helper : "");
        assert_int_equal(x->path_count, y->path_count);
        for (int i = 0; i < x->path_count; i++)
            same_path(&x->path[i], &y->path[i]);
    }
}

/* What the build made of a template is what reading it makes. */
static void same_as_prepared(const struct template *t, struct arena *arena)
{
    struct template p = {.text = t->text};
    int row = emit_find_row(t->name);
    assert_true(row >= 0 && emit_prepared[row]);
    assert_true(prepared_read(&p, (const unsigned char *)emit_prepared + emit_prepared[row], arena));
    assert_int_equal(p.line_count, t->line_count);
    for (int i = 0; i < t->line_count; i++)
        same_line(&p.line[i], &t->line[i]);
    assert_int_equal(p.param_count, t->param_count);
    for (int i = 0; i < t->param_count; i++) {
        same_path(&p.param[i].path, &t->param[i].path);
        assert_int_equal(p.param[i].type, t->param[i].type);
        assert_int_equal(p.param[i].line, t->param[i].line);
    }
    assert_true(p.lua_length > 4 && memcmp(p.lua, "\x1bLua", 4) == 0);
}

/* What is taken for granted of the program's own templates when they are prepared: they name nothing that is not there,
 * and use their parameters. */
static void own_templates(void **state)
{
    static const char *const of_plans[] = {"place_step", "place_uniform", "fragment_step", "fragment_uniform",
                                           "fragment_reads"};
    const char *helper[64];
    int helpers = 0, templates = 0;
    (void)state;
    for (const struct emit_helper_doc *h = emit_helpers; h->name; h++)
        helper[helpers++] = h->name;
    for (size_t i = 0; i < sizeof of_plans / sizeof *of_plans; i++)
        helper[helpers++] = of_plans[i];
    helper[helpers] = NULL;
    for (const struct emit_embedded *f = emit_embedded; f->name; f++) {
        bool program = strncmp(f->name, "program.", 8) == 0, host = strncmp(f->name, "host/", 5) == 0;
        if (!program && !host && strncmp(f->name, "blocks/", 7) != 0)
            continue;
        const char *root = program ? "plan" : strncmp(f->name, "host/kernel.", 12) == 0 ? "host" : "";
        struct template t = {.name = f->name, .shown = f->name};
        assert_true(emit_find_template(f->name, &t.text, &t.length));
        const struct template_names names = {root, helper, false};
        struct arena arena = {.block = NULL};
        struct diag_set diags = {0};
        int faults = template_parse(&t, &names, NULL, &arena, &diags);
        for (int i = 0; i < diags.count; i++)
            diag_print_one(&diags, i, stderr);
        assert_int_equal(faults, 0);
        same_as_prepared(&t, &arena);
        diag_free(&diags);
        arena_free(&arena);
        templates++;
    }
    assert_true(templates > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_holes),
        cmocka_unit_test(lua_lines),
        cmocka_unit_test(helpers),
        cmocka_unit_test(includes),
        cmocka_unit_test(blank_lines_and_branches),
        cmocka_unit_test(line_directives),
        cmocka_unit_test(parameter_faults),
        cmocka_unit_test(hole_faults),
        cmocka_unit_test(lua_faults),
        cmocka_unit_test(include_faults),
        cmocka_unit_test(user_files),
        cmocka_unit_test(every_allocation_fails),
        cmocka_unit_test(same_bytes_and_fast),
        cmocka_unit_test(own_templates),
    };
    return cmocka_run_group_tests_name("emit", tests, NULL, NULL);
}
