/* Row programs: what the lowering decides for specs/rows.lua, and that the proof stands behind its barriers. */
#include "unit/check.h"
#include "unit/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "emit/shelf.h"

static struct compile_tables tables;
static struct spec spec;
static struct diag_set spec_diags;

static int read_spec(void **state)
{
    (void)state;
    compile_tables_fill(&tables);
    int status = spec_read("specs/rows.lua", &tables.options, &spec, &spec_diags);
    diag_print(&spec_diags, stderr);
    return status;
}

static int free_spec(void **state)
{
    (void)state;
    spec_free(&spec);
    diag_free(&spec_diags);
    return 0;
}

static const struct spec_kernel *kernel(const char *name)
{
    for (int i = 0; i < spec.kernel_count; i++)
        if (strcmp(spec.kernel[i].name, name) == 0)
            return &spec.kernel[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void plan_of(struct plan *p, const char *name, const char *arch, int variant)
{
    struct diag_set diags = {0};
    int status = family_plan(&spec, kernel(name), arch_find(arch), variant, NULL, p, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    assert_int_equal(status, 0);
}

/* The steps as words: call, and of what; loops in brackets. */
static char *story(const struct plan *p)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (int i = 0; i < p->role[0].step_count; i++) {
        const struct plan_step *s = &p->role[0].step[i];
        const char *of = s->tensor >= 0               ? p->tensor[s->tensor].name
                         : plan_number(s->place) >= 0 ? p->place[plan_number(s->place)].name
                                                      : "";
        if (s->op == PLAN_LOOP && s->kept)
            fprintf(out, "%d x [ ", s->count);
        else if (s->op == PLAN_LOOP)
            fprintf(out, "from %d [ ", s->less);
        else if (s->op == PLAN_END)
            fputs("] ", out);
        else
            fprintf(out, "%s%s%s ", s->call, *of ? ":" : "", of);
    }
    fclose(out);
    return text;
}

static void test_stories(void **state)
{
    static const struct {
        const char *kernel, *story;
    } rows[] = {
        {"rms_norm", "set:sum 8 x [ load:x ] 8 x [ fold:sum ] load:x from 8 [ set:x load:x fold:sum ] lanes:sum "
                     "share:sum_parts meet gather:sum_parts 8 x [ load:w store:y ] load:x load:w "
                     "from 8 [ set:x_2 set:w_2 load:x load:w store:y ] "},
        {"transpose", "load:x turn:turned meet turn:turned store:y "},
        {"column_sum",
         "set:sum load:x from 0 [ set:x load:x fold:sum ] lanes:sum share:sum_parts meet gather:sum_parts store:y "},
        {"embedding", "load:ids load:table store:y "},
        {"stencil", "load:x load:x load:x window:x window:x_2 window:x_3 window:x_4 window:x_5 store:y "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan p;
        plan_of(&p, rows[i].kernel, "sm_90a", 0);
        char *text = story(&p);
        assert_string_equal(text, rows[i].story);
        free(text);
        plan_free(&p);
    }
}

/* Vectors where rows, tiles and coordinates divide by them; a second variant where they do. */
static void test_vectors(void **state)
{
    static const struct {
        const char *kernel;
        int variants, vector, threads;
    } rows[] = {{"rms_norm", 2, 8, 128},   {"layer_norm", 2, 8, 128}, {"softmax", 2, 8, 128}, {"transpose", 2, 8, 256},
                {"column_sum", 2, 8, 256}, {"embedding", 2, 8, 128},  {"stencil", 2, 4, 128}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct spec_kernel *k = kernel(rows[i].kernel);
        struct plan p;
        assert_int_equal(family_of(k)->variants(&spec, k, &arch_sm_90a), rows[i].variants);
        for (int v = 0; v < rows[i].variants; v++) {
            plan_of(&p, rows[i].kernel, v ? "sm_80" : "sm_90a", v);
            assert_int_equal(p.layout[0].vector, v ? 1 : rows[i].vector);
            if (v == 0)
                assert_int_equal(p.launch.block, rows[i].threads);
            assert_int_equal(p.layout[0].down * p.layout[0].across, p.launch.block);
            for (int t = 0; t < p.tensor_count; t++)
                if (p.layout[0].vector > 1 && strcmp(p.tensor[t].name, "ids") != 0)
                    assert_int_equal(p.tensor[t].align, p.layout[0].vector * (int)tw_dtype_bytes(p.tensor[t].dtype));
            plan_free(&p);
        }
    }
}

static bool proved(struct plan *p, const char *rule)
{
    struct diag_set diags = {0};
    bool found = false;
    int faults = plan_check_protocol(p, &diags);
    for (int i = 0; rule && i < diags.count; i++)
        found = found || strcmp(diags.item[i].rule, rule) == 0;
    diag_free(&diags);
    return rule ? faults > 0 && found : faults == 0;
}

/* Without any one of its barriers a Plan is refused, and a barrier more is no fault. */
static void test_barriers(void **state)
{
    (void)state;
    for (int k = 0; k < spec.kernel_count; k++) {
        struct plan p;
        plan_of(&p, spec.kernel[k].name, "sm_90a", 0);
        assert_true(proved(&p, NULL));
        struct plan_role *r = &p.role[0];
        for (int i = 0; i < r->step_count; i++) {
            if (r->step[i].op != PLAN_BARRIER)
                continue;
            struct plan_step meet = r->step[i];
            memmove(&r->step[i], &r->step[i + 1], sizeof *r->step * (size_t)(r->step_count - i - 1));
            r->step_count--;
            assert_true(proved(&p, "SCRATCH-RACE"));
            memmove(&r->step[i + 1], &r->step[i], sizeof *r->step * (size_t)(r->step_count - i));
            r->step[i] = meet;
            r->step_count++;
            assert_true(proved(&p, NULL));
        }
        plan_free(&p);
    }
}

/* What is loaded once by one block alone is said to be; weights are not. */
static void test_once(void **state)
{
    struct plan p;
    (void)state;
    plan_of(&p, "rms_norm", "sm_90a", 0);
    int once = 0, again = 0;
    for (int i = 0; i < p.role[0].step_count; i++) {
        const struct plan_step *s = &p.role[0].step[i];
        if (s->op != PLAN_GLOBAL || !s->place)
            continue;
        once += s->once;
        again += !s->once;
        if (s->once)
            assert_string_equal(p.tensor[s->tensor].name, "x");
    }
    assert_int_equal(once, 1);
    assert_int_equal(again, 7);
    plan_free(&p);
}

/* What `arch` says of the tile is what that architecture's Plan has: items of 9 x 304 in tiles of 4 x 256
 * and 2 x 128. */
static void test_tiles_by_arch(void **state)
{
    static const struct {
        const char *arch;
        int64_t items;
    } rows[] = {{"sm_90a", 3 * 2}, {"sm_80", 5 * 3}};
    struct spec edges = {0};
    struct diag_set diags = {0};
    int found = -1;
    (void)state;
    assert_int_equal(spec_read("tests/rows/edges.lua", &tables.options, &edges, &diags), 0);
    for (int i = 0; i < edges.kernel_count; i++)
        found = strcmp(edges.kernel[i].name, "tiles_by_arch") == 0 ? i : found;
    assert_true(found >= 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan p;
        assert_int_equal(family_plan(&edges, &edges.kernel[found], arch_find(rows[i].arch), 0, NULL, &p, &diags), 0);
        int64_t symbol[16] = {0}, items;
        for (int n = 0; n < p.symbol_count && n < 16; n++)
            symbol[n] = strcmp(p.symbol[n], "R") == 0 ? 9 : strcmp(p.symbol[n], "C") == 0 ? 304 : 132;
        assert_true(expr_eval_int(&p.graph, p.launch.grid[0], symbol, &items));
        assert_int_equal(items, rows[i].items);
        plan_free(&p);
    }
    spec_free(&edges);
    diag_free(&diags);
}

/* Rows that several loads read are held once, in windows, and each load is a part of them: eight vectors a thread of
 * the stencil's two rows in place of fourteen. */
static void test_windows(void **state)
{
    struct plan p;
    int held = 0, loads = 0;
    (void)state;
    for (int v = 0; v < 2; v++) {
        plan_of(&p, "stencil", "sm_90a", v);
        assert_int_equal(p.layout[0].apart, 1);
        held = loads = 0;
        for (int i = 0; i < p.role[0].step_count; i++) {
            const struct plan_step *s = &p.role[0].step[i];
            bool load = s->op == PLAN_GLOBAL && s->place;
            int rows = p.layout[0].rows / p.layout[0].down;
            loads += load;
            held += load ? rows + s->more : 0;
            if (load)
                assert_int_equal(p.place[plan_number(s->place)].more, s->more);
            if (s->call && strcmp(s->call, "window") == 0) {
                const struct plan_place *from = &p.place[plan_number(s->window)];
                assert_true(s->skip >= 0 && s->skip <= from->more);
                assert_int_equal(s->shift > 0, s->window2 > 0);
            }
        }
        assert_int_equal(loads, 3);
        assert_int_equal(held, 4 + 2 + 2);
        plan_free(&p);
    }
    plan_of(&p, "column_sum", "sm_90a", 0);
    assert_int_equal(p.layout[0].apart, p.layout[0].down);
    plan_free(&p);
}

/* What the text is, or why there is none. */
static char *emitted(const struct plan *p, struct emit_options options)
{
    struct diag_set diags = {0};
    char *text = NULL, *told = NULL;
    size_t length;
    int status = emit_template(p->template_name, p, &options, &text, &length, &diags);
    FILE *out = open_memstream(&told, &length);
    assert_non_null(out);
    diag_print(&diags, out);
    fprintf(out, "%d %s", status, text ? text : "");
    fclose(out);
    free(text);
    diag_free(&diags);
    return told;
}

/* Texts and faults are the same whether templates were read before, whatever allocation of the shelf fails. */
static void test_shelf(void **state)
{
    static const struct emit_options options[] = {{.generator_version = 1}, {.instruction_limit = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct plan p;
        struct failing f = {.fail_at = 1};
        plan_of(&p, "stencil", "sm_80", 0);
        char *expected = emitted(&p, options[i]);
        assert_int_equal(*expected == '0', i == 0);
        do {
            struct memory memory = {failing_alloc, &f};
            struct shelf *shelf = shelf_open(&memory);
            struct emit_options with = options[i];
            with.shelf = shelf;
            for (int round = 0; round < 3; round++) {
                char *text = emitted(&p, with);
                assert_string_equal(text, expected);
                free(text);
            }
            shelf_close(shelf);
            assert_int_equal(f.blocks, 0);
            f.fail_at = f.calls < f.fail_at ? 0 : failing_next(f.fail_at) + (f.fail_at < 20 ? 0 : 16);
            f.calls = 0;
        } while (f.fail_at);
        free(expected);
        plan_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_tiles_by_arch),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_shelf),
    };
    return cmocka_run_group_tests(tests, read_spec, free_spec);
}
