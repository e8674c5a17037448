/* What is left of a template's general case: constants folded, loops of one trip, names for 0, functions that nobody
 * calls, long lines. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/template/fold.h"
#include "emit/template/output.h"
#include "emit/template/wrap.h"

static void folds(const char *line, const char *expected)
{
    char text[2048];
    size_t length = strlen(line);
    memcpy(text, line, length + 1);
    length = fold_line(text, length);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void test_neutral(void **state)
{
    (void)state;
    folds("    x = 0 + y;", "    x = y;");
    folds("f(y + 0, 0 ^ z, u | 0);", "f(y, z, u);");
    folds("return 0 + p.stage * 1;", "return p.stage;");
    folds("x = y - 0 + z / 1 % 2 << 0;", "x = y + z % 2;");
    folds("x = 1 * (int)y[i] * 1;", "x = (int)y[i];");
    folds("x = 0 - y;", "x = -y;");
    folds("x = 0 - y * z + 1;", "x = -y * z + 1;");
    folds("x = y + (-8) * z;", "x = y + (-8) * z;");
    folds("x = y + (-8);", "x = y - 8;");
    folds("x = y * (-1);", "x = -y;");
    folds("x = (a * 1 + 0) * 64 + (b + c + 0) * 2;", "x = a * 64 + (b + c) * 2;");
    folds("f(a + 0)(b + 0);", "f(a)(b);");
    folds("x = a->b * 1;", "x = a->b;");
    folds("\"r\"(a + 0), \"l\"(\"b + 0\")", "\"r\"(a), \"l\"(\"b + 0\")");
}

static void test_constants(void **state)
{
    (void)state;
    folds("u32 a[64 / 2], b[7 % 4], c[5 - 3];", "u32 a[32], b[3], c[2];");
    folds("x = y * 2 * 4 + 3 + 5;", "x = y * 8 + 8;");
    folds("x = y / 2 * 4 * 8;", "x = y / 2 * 32;");
    folds("x = (1 + 2) * y;", "x = 3 * y;");
    folds("x = y % 1 + z * 0 + 0 * w;", "x = 0;");
    folds("x = 2 * 3 < y && 1 << 4 == z;", "x = 6 < y && 16 == z;");
    folds("x = static_cast<int>(a + 0) * 1;", "x = static_cast<int>(a);");
    folds("x = 0 + f<3, int *>(a * 1) + p->b * 1;", "x = f<3, int *>(a) + p->b;");
    folds("x = y + 0; /* 0 + z */", "x = y; /* 0 + z */");
}

static void test_stays(void **state)
{
    (void)state;
    static const char *const line[] = {
        "x = 1.0f * 2 + 0.0f;",    /* no integers */
        "x = 1u * y + 0x0;",       /* a suffix is a type */
        "x = f(y) % 1;",           /* a call */
        "x = i++ * 0;",            /* an assignment */
        "x = 3 - 5;",              /* negative */
        "x = 65536 * 65536;",      /* no int */
        "x = 5 / 0;",              /* no value */
        "x = y / 2 * 4;",          /* not y / 8, not y * 2 */
        "x = y < 0 ? 1 : 0;",      /* no arithmetic */
        "x = y == z & 0;",         /* not y == 0 */
        "x = y; // 0 + 1 * z",     /* a comment */
        "#define F 0 + x",         /* the preprocessor's */
        "x = \"a \\\" + 0\";",     /* a string */
        "f(0 * g(x,",              /* goes on in the next line */
        "x = f<3>(y) * 0;",        /* a call */
        "x = 5 - 2 /* of */ * z;", /* not 3 * z */
        "/* 64 / 2 of them",       /* a comment that goes on, */
        " * 64 / 2 of them",       /* and further on */
        "x = (1 < 1) & 2 == 2;",   /* comparisons */
        "x = (a + b] + 0;",        /* not understood */
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        folds(line[i], line[i]);
    char deep[256];
    memset(deep, '(', sizeof deep);
    memcpy(deep + 200, "0 + x", 6);
    folds(deep, deep);
}

/* The text of lines that a block of the program's, or a user's template, expanded to. */
static void writes(const char *text, bool embedded, const char *expected)
{
    struct arena arena = {.memory = {0}};
    struct template template = {.name = "t", .embedded = embedded};
    struct output o = {.arena = &arena};
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t length = (size_t)(strchr(line, '\n') - line);
        if (length == 0)
            output_blank(&o);
        else
            output_line(&o, &template, 0, false, line, length);
    }
    struct emit_text result = {.arena = &arena};
    output_write(&o, false, &result);
    assert_false(result.failed);
    assert_string_equal(result.data, expected);
    arena_free(&arena);
}

static void test_loops(void **state)
{
    (void)state;
    writes("void f()\n{\n    #pragma unroll\n    for (int i = 0; i < 1; ++i)\n        a[i * 4] = b.i + i;\n}\n", true,
           "void f()\n{\n    a[0] = b.i;\n}\n");
    writes("void f()\n{\n    for (u32 i = 0; i < 1; ++i) {\n        const int j = i + k;\n        g(j, i);\n    }\n}\n",
           true, "void f()\n{\n    const int j = k;\n    g(j, 0);\n}\n");
    /* A name that stands in the scope already, or may be declared again behind. */
    writes("void f(int j)\n{\n    for (int i = 0; i < 1; ++i) {\n        int j = g();\n        h(j);\n    }\n}\n", true,
           "void f(int j)\n{\n    {\n        int j = g();\n        h(j);\n    }\n}\n");
    writes("void f()\n{\n    for (int i = 0; i < 1; ++i) {\n        int j = g();\n        h(j);\n    }\n    int j = "
           "2;\n}\n",
           true, "void f()\n{\n    {\n        int j = g();\n        h(j);\n    }\n    int j = 2;\n}\n");
    writes("void f()\n{\n    for (int i = 0; i < 2; ++i)\n        g(i);\n}\n", true,
           "void f()\n{\n    for (int i = 0; i < 2; ++i)\n        g(i);\n}\n");
    writes("void f()\n{\n    for (u32 i = 0; i < 8; i += 8)\n        g(i);\n    for (u32 i = 0; i < 9; i += 8)\n       "
           " g(i);\n}\n",
           true, "void f()\n{\n    g(0);\n    for (u32 i = 0; i < 9; i += 8)\n        g(i);\n}\n");
    /* What the body leaves stays; what leaves a loop or a switch in it is not the loop's own. */
    static const char *const left[] = {"break", "continue"};
    for (int i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "void f()\n{\n    for (int i = 0; i < 1; ++i) {\n        if (i + n > m)\n            %s;\n"
                 "        g(i);\n    }\n}\n",
                 left[i]);
        writes(text, true, text);
    }
    static const char chosen[] = "void f()\n{\n    for (int i = 0; i < 1; ++i)\n        switch (n) {\n"
                                 "        case 1:\n            continue;\n        }\n}\n";
    writes(chosen, true, chosen);
    writes("void f()\n{\n    for (int i = 0; i < 1; ++i) {\n        for (int j = 0; j < n; ++j)\n"
           "            if (j == i)\n                break;\n        switch (n) {\n        case 1:\n"
           "            break;\n        }\n        g(i);\n    }\n}\n",
           true,
           "void f()\n{\n    for (int j = 0; j < n; ++j)\n        if (j == 0)\n            break;\n    switch (n) {\n"
           "    case 1:\n        break;\n    }\n    g(0);\n}\n");
    /* One in another, and a name for 0. */
    writes("void f()\n{\n    for (int i = 0; i < 1; ++i)\n        for (int j = 0; j < 1; ++j) {\n"
           "            const int k = i * 8 + j, l = j + m;\n            g(k + l);\n        }\n}\n",
           true, "void f()\n{\n    const int l = m;\n    g(l);\n}\n");
}

static void test_constants_unread(void **state)
{
    (void)state;
    writes("void f()\n{\n    const int a = b + 1;\n    const int c = max(a, 2);\n    const float *const d = e;\n    "
           "g(d);\n}\n",
           true, "void f()\n{\n    const float *const d = e;\n    g(d);\n}\n");
    writes("void f()\n{\n    const int a = g();\n    [[maybe_unused]] const long long b = 1;\n    h(b);\n}\n", true,
           "void f()\n{\n    const int a = g();\n    const long long b = 1;\n    h(b);\n}\n");
    writes("void f()\n{\n    const int a = 1;\n}\n", false, "void f()\n{\n    const int a = 1;\n}\n");
}

/* Forms that the program's own templates may come to have. */
static void test_other_forms(void **state)
{
    (void)state;
    /* A loop that is all that a head without a brace governs keeps its braces. */
    static const char *const head[] = {"if (n)", "else", "while (n)", "#pragma unroll"};
    for (int i = 0; i < 4; i++) {
        char text[256], expected[256];
        snprintf(text, sizeof text,
                 "void f()\n{\n    if (m)\n        %s\n            for (int i = 0; i < 1; ++i) {\n"
                 "                a(i);\n                b();\n            }\n}\n",
                 head[i]);
        snprintf(expected, sizeof expected,
                 "void f()\n{\n    if (m)\n        %s\n            {\n                a(0);\n                b();\n"
                 "            }\n}\n",
                 head[i]);
        if (i == 3)
            snprintf(expected, sizeof expected,
                     "void f()\n{\n    if (m)\n            {\n                a(0);\n                b();\n"
                     "            }\n}\n");
        writes(text, true, expected);
    }
    writes("void f()\n{\n    if (m) {\n        for (int i = 0; i < 1; ++i) {\n            a(i);\n            b();\n"
           "        }\n    }\n}\n",
           true, "void f()\n{\n    if (m) {\n        a(0);\n        b();\n    }\n}\n");
    /* A member of the loop's name, and a comment with an apostrophe before it. */
    writes("void f()\n{\n    for (int i = 0; i < 1; ++i)\n        a[i] = p->i + b.i /* it isn't */ + i;\n}\n", true,
           "void f()\n{\n    a[0] = p->i + b.i /* it isn't */ + 0;\n}\n");
    /* Calls with template arguments: what they do is not known, and what they name is there. */
    writes("void f()\n{\n    const int a = g<3>(1);\n    const int b = static_cast<int>(c);\n}\n", true,
           "void f()\n{\n    const int a = g<3>(1);\n    const int b = static_cast<int>(c);\n}\n");
    static const char called[] = "__device__ int one()\n{\n    return 1;\n}\n\n"
                                 "__device__ int two()\n{\n    return 2;\n"
                                 "}\n\nint kernel()\n{\n    g(\"//\", one<two()>());\n}\n";
    writes(called, true, called);
}

static void test_functions(void **state)
{
    (void)state;
    static const char text[] = "// One.\n__device__ int one()\n{\n    return 1;\n}\n\n// Two\n// lines.\n"
                               "__device__ int two()\n{\n    return one();\n}\n\n__device__ int three()\n{\n"
                               "    return three();\n}\n\nint kernel()\n{\n    return one(); // two\n}\n";
    static const char called[] = "// One.\n__device__ int one()\n{\n    return 1;\n}\n\nint kernel()\n{\n"
                                 "    return one(); // two\n}\n";
    writes(text, true, called);
    writes(text, false, text); /* a user's own */
}

static void wraps(const char *line, const char *expected)
{
    struct arena arena = {.memory = {0}};
    struct emit_text text = {.arena = &arena};
    int lines = wrap_line(&text, line, strlen(line)), ends = 0;
    for (const char *c = text.data; *c; c++)
        ends += *c == '\n';
    assert_int_equal(lines, ends);
    assert_string_equal(text.data, expected);
    arena_free(&arena);
}

#define FIFTY "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"

static void test_wrap(void **state)
{
    (void)state;
    wraps("short;", "short;\n");
    wraps("    f(" FIFTY ", " FIFTY ", third, fourth);", "    f(" FIFTY ", " FIFTY ", third,\n      fourth);\n");
    wraps("x = " FIFTY " ? " FIFTY " : the_other_of_the_two;",
          "x = " FIFTY " ? " FIFTY "\n    : the_other_of_the_two;\n");
    wraps("x = (" FIFTY " + " FIFTY ") + that_which_comes_last;",
          "x = (" FIFTY " + " FIFTY ") +\n    that_which_comes_last;\n");
    wraps("// " FIFTY " " FIFTY " and some words more", "// " FIFTY " " FIFTY " and some words\n// more\n");
    wraps("    f(" FIFTY ", \"//\", a); // " FIFTY, "    // " FIFTY "\n    f(" FIFTY ", \"//\", a);\n");
    wraps("    f(" FIFTY ", " FIFTY ", third, fourth); // why, and when",
          "    // why, and when\n    f(" FIFTY ", " FIFTY ", third,\n      fourth);\n");
    wraps("int " FIFTY "; /* " FIFTY ", the // of two */", "int " FIFTY "; /* " FIFTY ",\n    the // of two */\n");
    wraps("#define " FIFTY FIFTY FIFTY " 1", "#define " FIFTY FIFTY FIFTY " 1\n");
    wraps(FIFTY FIFTY FIFTY, FIFTY FIFTY FIFTY "\n");
}

/* A user's CUDA says what it means, in forms that the program's own templates do not have. */
static void test_of_users(void **state)
{
    (void)state;
    static const char *const text[] = {
        "void f(int c)\n{\n    if (c)\n        for (int i = 0; i < 1; ++i) {\n            a();\n            b();\n     "
        "   "
        "}\n}\n",
        "void f()\n{\n    for (float x = 0; x < 1; ++x)\n        y = (x + 1) / 2;\n}\n",
        "void f()\n{\n    const u32 base = 0;\n    y = (base - 1) / 2;\n}\n",
        "void f()\n{\n    for (int i = 0; i < 1; ++i) {\n        /* for the last */ break;\n    }\n}\n",
        "void f()\n{\n    x = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb; // what stood "
        "here "
        "once: y = 4; y = 5; y = 6;\n}\n",
        "#if ONE\nvoid f()\n{\n        for (int i = 0; i < 1; ++i) {\n            a();\n#endif\n",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        writes(text[i], false, text[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neutral),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_constants_unread),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_of_users),
        cmocka_unit_test(test_wrap),
    };
    return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
