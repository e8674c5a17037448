/* The table of places and steps is closed: every derived step of the specs has its row, every row is some step's, and
 * what has none is refused by name. */
#include "unit/check.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "compile/compile.h"
#include "emit/embed.h"
#include "lower/place_ops.h"

enum { MOST_ROWS = 128 };

static int used[MOST_ROWS], plans[PLACE_TEXTS];
static struct plan kept; /* one of the first text, to plant in */

static void take(struct plan *p)
{
    enum place_text text = place_text_of(p);
    if (text == PLACE_TEXT_NONE)
        return;
    plans[text]++;
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            int from, to;
            const struct place_op *o = place_op_of(p, &p->role[r].step[i]);
            if (o)
                used[o - place_ops]++;
            else
                assert_false(place_ends(p, &p->role[r].step[i], &from, &to));
        }
}

static void take_spec(const char *path)
{
    struct compile_tables tables;
    struct spec spec = {0};
    struct diag_set diags = {0};
    compile_tables_fill(&tables);
    int status = spec_read(path, &tables.options, &spec, &diags);
    for (int k = 0; k < spec.kernel_count && status == 0; k++) {
        const struct spec_kernel *kernel = &spec.kernel[k];
        const struct arch *arch[COMPILE_ARCHITECTURES];
        int count = kernel->program ? compile_architectures(kernel, NULL, arch) : 0;
        for (int a = 0; a < count; a++)
            for (int v = 0; v < family_of(kernel)->variants(&spec, kernel, arch[a]); v++) {
                struct plan p = {0};
                bool lowered = family_plan(&spec, kernel, arch[a], v, NULL, &p, &diags) == 0;
                if (lowered)
                    take(&p);
                if (lowered && !kept.role_count && place_text_of(&p) == PLACE_TEXT_DIRECT)
                    kept = p;
                else
                    plan_free(&p);
            }
    }
    for (int i = 0; i < diags.count; i++) /* programs that have a meaning alone are refused by other rules */
        assert_true(diags.item[i].rule && strcmp(diags.item[i].rule, "PROGRAM-PLACE") != 0);
    diag_free(&diags);
    spec_free(&spec);
    assert_int_equal(status, 0);
}

static void test_rows_are_used(void **state)
{
    static const char *const pattern[] = {"specs/*.lua", "tests/programs/*.lua", "tests/rows/*.lua"};
    static const char *const word[PLACE_TEXTS] = {"direct", "sm_90a", "sm_80"};
    int rows[PLACE_TEXTS] = {0}, idle = 0;
    (void)state;
    for (size_t i = 0; i < sizeof pattern / sizeof *pattern; i++) {
        glob_t files;
        assert_int_equal(glob(pattern[i], 0, NULL, &files), 0);
        for (size_t f = 0; f < files.gl_pathc; f++)
            if (!strstr(files.gl_pathv[f], ".tuned.lua")) /* set-ups of the spec beside it */
                take_spec(files.gl_pathv[f]);
        globfree(&files);
    }
    for (int i = 0; place_ops[i].block; i++) {
        const struct place_op *o = &place_ops[i];
        assert_true(i < MOST_ROWS);
        rows[o->text]++;
        if (plans[o->text] == 0 || used[i]) /* a text that this program does not have yet has no steps */
            continue;
        print_error("%s: no step of any spec is row %s, from %s to %s\n", word[o->text], o->call ? o->call : "-",
                    place_end_word[o->from], place_end_word[o->to]);
        idle++;
    }
    for (int t = 0; t < PLACE_TEXTS; t++)
        print_message("# %s: %d rows, %d plans\n", word[t], rows[t], plans[t]);
    assert_int_equal(idle, 0);
}

/* Each block is a template that there is, where the text is. */
static void test_blocks(void **state)
{
    (void)state;
    for (const struct place_op *o = place_ops; o->block; o++) {
        char name[64];
        const char *text;
        size_t length;
        snprintf(name, sizeof name, "blocks/%s.cuh", o->block);
        if (plans[o->text] && !emit_find_template(name, &text, &length))
            fail_msg("there is no %s", name);
    }
}

/* No row is there twice. */
static void test_distinct(void **state)
{
    (void)state;
    for (const struct place_op *a = place_ops; a->block; a++)
        for (const struct place_op *b = place_ops; b < a; b++) {
            bool call = !a->call || !b->call ? a->call == b->call : strcmp(a->call, b->call) == 0;
            assert_false(a->text == b->text && a->step == b->step && a->from == b->from && a->to == b->to && call);
        }
}

/* A step of another place or another call than any row's has none. */
static void test_what_is_lacking(void **state)
{
    struct plan *p = &kept;
    char others[160];
    int planted = 0;
    (void)state;
    assert_true(p->role_count > 0);
    for (int i = 0; i < p->role[0].step_count; i++) {
        struct plan_step *s = &p->role[0].step[i], before = *s;
        int from, to;
        if (!place_ends(p, s, &from, &to) || !s->place)
            continue;
        enum plan_place_kind kind = p->place[plan_number(s->place)].kind;
        p->place[plan_number(s->place)].kind = PLAN_PLACE_ACCUMULATOR;
        assert_null(place_op_of(p, s));
        place_op_others(p, s, others, sizeof others);
        assert_null(strstr(others, "accumulator"));
        p->place[plan_number(s->place)].kind = kind;
        s->call = "something";
        assert_null(place_op_of(p, s));
        assert_string_equal(place_op_others(p, s, others, sizeof others), "nothing");
        *s = before;
        assert_non_null(place_op_of(p, s));
        planted++;
    }
    assert_true(planted > 2);
    plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_used),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_what_is_lacking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
