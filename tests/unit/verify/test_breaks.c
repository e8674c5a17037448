/* Planted bugs: an edit that matches exactly as its row tells is made, any other is an error; lines stay in place. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/hazards.h"
#include "verify/run/breaks.h"
#include "status.h"

static struct tw_runtime rt;

static int begin(void **state)
{
    struct tw_error error;
    (void)state;
    return tw_runtime_init(&rt, &error);
}

static int end(void **state)
{
    (void)state;
    tw_runtime_close(&rt);
    return 0;
}

static const char text[] = "struct first { int wait; };\n"
                           "void wait(int a)\n"
                           "{\n"
                           "    asm volatile(\"wait; // } %0\" ::\"r\"(a)\n"
                           "                 : \"memory\");\n"
                           "}\n"
                           "// wait(1);\n"
                           "void entry(int a)\n"
                           "{\n"
                           "    wait(1);\n"
                           "    if (a)\n"
                           "        wait(2);\n"
                           "    await(3);\n"
                           "    arrive(4);\n"
                           "}\n";

/* The text with one line in the place of another. */
static char *with(int number, const char *line)
{
    char *out = malloc(sizeof text + 64), *to = out;
    const char *from = text;
    for (int n = 1; *from; n++) {
        int length = (int)strcspn(from, "\n");
        to += n == number ? sprintf(to, "%s\n", line) : sprintf(to, "%.*s\n", length, from);
        from += length + 1;
    }
    return out;
}

/* Applies one edit; frees nothing. */
static int apply(struct break_edit edit, char **out, struct tw_error *error)
{
    const struct break_row row = {"bug", "sm_90a", "", "DEADLOCK", "", {edit}};
    return break_apply(&rt, &row, "entry", text, out, error);
}

static void made(void **state)
{
    const struct {
        struct break_edit edit;
        int line;
        const char *to;
    } cases[] = {
        {{BREAK_REMOVE, "kernel", 1, "wait(", NULL}, 10, "    ;"},
        {{BREAK_REMOVE, "kernel", 2, "wait(", NULL}, 12, "        ;"},
        {{BREAK_REMOVE, "kernel", 0, "await(3);", NULL}, 13, "    ;"},
        {{BREAK_REPLACE, "entry", 0, "arrive(4)", "arrive(5), 6"}, 14, "    arrive(5), 6;"},
        {{BREAK_REPLACE, "", 0, "struct first", "struct second"}, 1, "struct second { int wait; };"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tw_error error = {""};
        char *out, *want = with(cases[i].line, cases[i].to);
        assert_int_equal(apply(cases[i].edit, &out, &error), TW_OK);
        assert_string_equal(out, want);
        tw_free(&rt, out);
        free(want);
    }
}

/* A statement of two lines leaves two, and what stands in its strings ends neither it nor its function. */
static void lines_stay(void **state)
{
    struct tw_error error;
    char *out, *edits = NULL;
    size_t bytes;
    (void)state;
    assert_int_equal(apply((struct break_edit){BREAK_REMOVE, "wait", 0, "asm volatile(", NULL}, &out, &error), TW_OK);
    FILE *file = open_memstream(&edits, &bytes);
    break_print_edits(file, text, out);
    fclose(file);
    assert_string_equal(edits, "- 4:     asm volatile(\"wait; // } %0\" ::\"r\"(a)\n+ 4:     ;\n"
                               "- 5:                  : \"memory\");\n+ 5: \n");
    free(edits);
    tw_free(&rt, out);
}

static void refused(void **state)
{
    const struct {
        struct break_edit edit;
        const char *why;
    } cases[] = {
        {{BREAK_REMOVE, "kernel", 0, "wait(", NULL},
         "bug cannot be planted into entry: 'wait(' stands 2 times in kernel, and should stand there once"},
        {{BREAK_REMOVE, "kernel", 3, "wait(", NULL},
         "bug cannot be planted into entry: 'wait(' stands 2 times in kernel, and as many are too few"},
        {{BREAK_REPLACE, "wait", 0, "arrive", "x"},
         "bug cannot be planted into entry: 'arrive' stands 0 times in wait, and should stand there once"},
        {{BREAK_REPLACE, "arrive", 0, "4", "5"},
         "bug cannot be planted into entry: the text defines no function arrive"},
        {{BREAK_REMOVE, "kernel", 0, "(3)", NULL},
         "bug cannot be planted into entry: no statement begins with '(3)' in entry"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tw_error error = {""};
        char *out = (char *)&error;
        int status = apply(cases[i].edit, &out, &error);
        assert_int_equal(status, TW_ERROR_INVALID);
        assert_string_equal(error.text, cases[i].why);
        assert_null(out);
    }
}

/* Every row: a hazard that there is, an edit, a name once an architecture, one line of text. */
static void rows(void **state)
{
    int count = 0;
    (void)state;
    for (const struct break_row *row = break_all; row->name; row++, count++) {
        if (strcmp(row->hazard, "ILLEGAL") != 0) /* no hazard: an instruction that there is not */
            assert_int_not_equal(emu_hazard_find(row->hazard), EMU_HAZARD_COUNT);
        assert_int_not_equal(row->edit[0].kind, BREAK_NONE);
        assert_ptr_equal(break_find(row->name, row->arch), row);
        assert_null(strchr(row->text, '\n'));
        for (int i = 0; i < BREAK_EDITS && row->edit[i].kind != BREAK_NONE; i++)
            assert_true(!row->edit[i].to || !strchr(row->edit[i].to, '\n'));
    }
    assert_true(count >= 24);
    assert_null(break_find("no_wait_full", "sm_80"));
    assert_null(break_find("nothing", NULL));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct failing {
    struct tw_memory memory;
    int left;
};

static void *failing_alloc(void *self, size_t bytes)
{
    struct failing *f = self;
    return f->left-- > 0 ? f->memory.alloc(f->memory.self, bytes) : NULL;
}

static void failing_free(void *self, void *pointer)
{
    struct failing *f = self;
    f->memory.free(f->memory.self, pointer);
}

static void no_memory(void **state)
{
    struct failing failing = {.memory = rt.memory};
    struct tw_memory before = rt.memory;
    int failures = 0, status = TW_ERROR_MEMORY;
    (void)state;
    for (int calls = 0; status != TW_OK; calls++) {
        struct tw_error error;
        char *out;
        assert_true(calls < 10);
        failing.left = calls;
        rt.memory.self = &failing;
        rt.memory.alloc = failing_alloc;
        rt.memory.free = failing_free;
        status = apply((struct break_edit){BREAK_REPLACE, "kernel", 0, "arrive(4)", "arrive(5)"}, &out, &error);
        failures += status == TW_ERROR_MEMORY;
        assert_true(status == TW_OK || (status == TW_ERROR_MEMORY && !out));
        tw_free(&rt, out);
        rt.memory = before;
    }
    assert_int_equal(failures, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made), cmocka_unit_test(lines_stay), cmocka_unit_test(refused),
        cmocka_unit_test(rows), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("breaks", tests, begin, end);
}
