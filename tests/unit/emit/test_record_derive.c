/* Steps that are read off a template: what each way to write a consumer amounts to, and what has no words. The Plan is
 * that of tests/errors/template_guards.lua: one ring of two stages, filled by one warp and read by two. */
#include "unit/check.h"
#include "unit/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"

static struct compile_tables tables;
static struct spec spec;
static struct diag_set spec_diags;

static int read_spec(void **state)
{
    (void)state;
    compile_tables_fill(&tables);
    int status = spec_read("tests/errors/template_guards.lua", &tables.options, &spec, &spec_diags);
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

static const char head[] =
    "//@ param entry text\n"
    "//@ local x, ring = plan.tensor.x, plan.ring.x\n"
    "//@ include \"blocks/types.cuh\" parameters = plan.param, parameter_bytes = plan.param_bytes,\n"
    "//@     shared_align = plan.shared_align\n"
    "//@ include \"blocks/mbarrier.cuh\" remote = false\n"
    "//@ include \"blocks/tma.cuh\" loads = true, multicast = false, stores = false\n"
    "//@ include \"blocks/ring.cuh\" ring = ring, roles = plan.role, full_offset = plan.shared[\"x.full\"].offset,\n"
    "//@     empty_offset = plan.shared[\"x.empty\"].offset, cluster_m = 1, cluster_n = 1\n"
    "//@ include \"blocks/tma_load.cuh\" tensor = x, ring = ring, offset = plan.shared[\"x.x\"].offset, over = \"m\",\n"
    "//@     cluster_m = 1\n"
    "//@ include \"blocks/tile_pointer.cuh\" tensor = x, ring = ring, offset = plan.shared[\"x.x\"].offset\n"
    "//@ include \"blocks/reduce.cuh\" name = \"sum\", barrier = 1, warps = 2\n"
    "__global__ void ${entry}(const __grid_constant__ arguments args)\n"
    "{\n"
    "    const int steps = (args.K + 63) / 64;\n"
    "//@ role \"producer\"\n"
    "//@ elect\n"
    "            x_position fill = {0, 0};\n"
    "//@ loop \"k\" step < steps\n"
    "                x_wait_empty(fill);\n"
    "                x_expect(fill);\n"
    "                x_load(args, fill, 0, step);\n"
    "                x_advance(fill);\n"
    "//@ endloop\n"
    "//@ endelect\n"
    "//@ endrole\n"
    "//@ role \"consumer\"\n"
    "        x_position full = {0, 0}, read = {0, 0}, done = {0, 0};\n";
static const char tail[] = "//@ endrole\n}\n";

#define TAKE "x_wait_full(full);\nx_advance(full);\n"
#define READ "use(x_tile(read));\nx_advance(read);\n"
#define FREE "x_release(done);\n"
#define READ_AGAIN "use(sum(0.0f, 0, 0));\n"
#define LOOP "//@ loop \"k\" step < steps\n"
#define END "//@ endloop\n"
#define WHEN(condition, body) "//@ when " condition "\n" body "//@ endwhen\n"

/* The steps of a role in one line: "loop k; wait_full; read back 1; release 1; end". */
static char *steps_of(const struct plan_role *role)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        fprintf(out, "%s%s", i ? "; " : "", plan_op_word[s->op]);
        if (s->op == PLAN_LOOP || s->op == PLAN_WHEN)
            fprintf(out, " %s", s->call);
        if (s->op == PLAN_WHEN || s->op == PLAN_RELEASE || (s->op == PLAN_LOOP && s->count))
            fprintf(out, " %d", s->count);
        if (s->less)
            fprintf(out, " less %d", s->less);
        if (s->back)
            fprintf(out, " back %d", s->back);
    }
    fclose(out);
    return text;
}

/* The consumer's steps, or the first fault. */
static char *derived(const char *consumer)
{
    struct diag_set diags = {0};
    struct plan p;
    assert_int_equal(family_plan(&spec, &spec.kernel[0], arch_find("sm_90a"), 0, NULL, &p, &diags), 0);
    size_t bytes = sizeof head + strlen(consumer) + sizeof tail, length;
    char *template = malloc(bytes), *text, *found;
    assert_non_null(template);
    snprintf(template, bytes, "%s%s%s", head, consumer, tail);
    const struct emit_source source = {p.template_name, template, strlen(template)};
    const struct emit_options options = {.source = &source, .source_count = 1};
    int status = emit_steps(p.template_name, &p, &options, &text, &length, &diags);
    assert_int_equal(status, diags.errors > 0);
    assert_true((text != NULL) == (status == 0));
    if (status == 0) {
        found = steps_of(&p.role[1]);
    } else {
        size_t size;
        FILE *out = open_memstream(&found, &size);
        diag_print_one(&diags, 0, out);
        fclose(out);
    }
    free(text);
    free(template);
    diag_free(&diags);
    plan_free(&p);
    return found;
}

static void steps_are_read_off(void **state)
{
    (void)state;
    static const struct {
        const char *consumer, *steps;
    } row[] = {
        {LOOP TAKE READ FREE END, "loop k; wait_full; read; release 0; end"},
        /* a release one turn later, and the last one behind the loop */
        {LOOP TAKE READ WHEN("step > 0", FREE) END WHEN("steps > 0", FREE),
         "loop k; wait_full; read; release 1; end; release 0"},
        {LOOP TAKE READ WHEN("1 <= step", FREE) END WHEN("0 < steps", FREE),
         "loop k; wait_full; read; release 1; end; release 0"},
        /* a wait one turn ahead */
        {WHEN("steps > 0", TAKE) LOOP WHEN("step + 1 < steps", TAKE) READ FREE END,
         "when k 0; wait_full; end; loop k less 1; wait_full; read back 1; release 1; end; when k 0; read; release 0; "
         "end"},
        {WHEN("steps >= 1", TAKE) LOOP WHEN("step != steps - 1", TAKE) READ FREE END,
         "when k 0; wait_full; end; loop k less 1; wait_full; read back 1; release 1; end; when k 0; read; release 0; "
         "end"},
        {LOOP TAKE "const float *x = x_tile(read);\nx_advance(read);\nuse(x);\n" FREE END,
         "loop k; wait_full; read; release 0; end"},
        /* the first turn, two turns, and both ends */
        {LOOP TAKE READ WHEN("step == 0", READ_AGAIN) FREE END,
         "when k 0; wait_full; read; barrier; release 0; end; loop k less 1; wait_full; read; release 0; end"},
        {LOOP TAKE READ WHEN("step < 2", READ_AGAIN) FREE END,
         "when k 0; wait_full; read; barrier; release 0; end; when k 1; wait_full; read; barrier; release 0; end; loop "
         "k "
         "less 2; wait_full; read; release 0; end"},
        {LOOP TAKE READ WHEN("step > 0", READ_AGAIN) WHEN("step + 1 < steps", READ_AGAIN) FREE END,
         "when k 0; wait_full; read; when k 1; barrier; end; release 0; end; loop k less 2; wait_full; read; barrier; "
         "barrier; release 0; end; when k 1; wait_full; read; barrier; release 0; end"},
        /* a stage read twice; loops of a number */
        {LOOP TAKE "use(x_tile(read));\n" READ FREE END, "loop k; wait_full; read; read; release 0; end"},
        {LOOP TAKE READ FREE END "//@ loop \"n\" i < 2\n" WHEN("i == 1", READ_AGAIN) END,
         "loop k; wait_full; read; release 0; end; barrier"},
        {LOOP TAKE READ FREE "//@ loop \"n\" i < 3\n" READ_AGAIN END END,
         "loop k; wait_full; read; release 0; loop n 3; barrier; end; end"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *found = derived(row[i].consumer);
        if (strcmp(found, row[i].steps) != 0 && ++wrong)
            print_error("%s\nwanted %s\nfound  %s\n", row[i].consumer, row[i].steps, found);
        free(found);
    }
    assert_int_equal(wrong, 0);
}

static void what_has_no_words_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *consumer, *message;
    } row[] = {
        {LOOP TAKE READ WHEN("steps < 3", READ_AGAIN) FREE END, "the proof follows this condition for releases alone"},
        {LOOP TAKE READ WHEN("step + 1 < steps", READ_AGAIN) WHEN("step + 2 < steps", READ_AGAIN) FREE END,
         "the proof follows this condition for releases alone"},
        {LOOP TAKE READ WHEN("step > 8", READ_AGAIN) FREE END,
         "tell 9 turns of this loop apart, and the proof up to 8"},
        {LOOP TAKE READ WHEN("step + step > 2", READ_AGAIN) FREE END, "the proof follows this condition"},
        {LOOP TAKE READ FREE FREE END, "x_release releases a stage that is not taken yet"},
        {LOOP TAKE READ WHEN("step > 0", FREE) END, "the role ends with 1 stage of ring x unreleased"},
        {LOOP TAKE READ FREE "x_advance(done);\n" END, "'done' is 1 stage ahead of where x_release"},
        {LOOP TAKE "const float *x = x_tile(read);\nx_advance(read);\n" FREE "use(x);\n" END,
         "'x' points into a stage of ring 'x' that is released"},
        {LOOP TAKE "const float *x = x_tile(read);\nx_advance(read);\n" FREE
                   "for (int i = 0; i < 3; ++i) {\n    if (x[i] > 0)\n        use(1);\n}\n" END,
         "'x' points into a stage of ring 'x' that is released"},
        {LOOP TAKE READ FREE "full.stage = 1;\n" END, "'full' is a position in a ring"},
        {LOOP TAKE READ FREE "full = read;\n" END, "'full' is a position in a ring"},
        {LOOP TAKE READ FREE "change(full);\n" END, "'full' is a position in a ring"},
        {LOOP TAKE READ FREE "++full.phase;\n" END, "'full' is a position in a ring"},
        {LOOP TAKE READ "x_release(pick(done));\n" END, "argument 1 of 'x_release' says which stage"},
        {LOOP TAKE READ "x_release(*where);\n" END, "argument 1 of 'x_release' says which stage"},
        {"x_position late = {1, 0};\n" LOOP TAKE READ FREE END, "a position begins at the ring's first stage"},
        {"x_position late;\n" LOOP TAKE READ FREE END, "a position begins at the ring's first stage"},
        {LOOP "x_position full = {0, 0};\n" TAKE READ FREE END, "'full' is a position in a ring"},
        {LOOP "x_position here = {0, 0};\nx_wait_full(here);\nx_advance(here);\n" READ FREE END,
         "'here' is 1 stage behind where x_wait_full of ring 'x' is due"},
        {LOOP TAKE READ FREE "//@ elect\nx_advance(full);\n//@ endelect\n" END,
         "'full' is moved by one thread and by all"},
        {LOOP TAKE FREE READ END, "[PROTOCOL-READ]"},
        {LOOP READ FREE END, "[TEMPLATE-ORDER]"},
        {LOOP TAKE READ FREE WHEN("step == 0", TAKE) END, "[PROTOCOL-DEADLOCK]"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *found = derived(row[i].consumer);
        if ((strncmp(found, "template_guards.cu:", 19) != 0 || !strstr(found, row[i].message)) && ++wrong)
            print_error("%s\nwanted %s\nfound  %s\n", row[i].consumer, row[i].message, found);
        free(found);
    }
    assert_int_equal(wrong, 0);
}

/* Fails call number `fail` and counts what is not given back. */
static void allocations_fail(void **state)
{
    (void)state;
    static const char consumer[] = WHEN("steps > 0", TAKE) LOOP WHEN("step + 1 < steps", TAKE) READ FREE END;
    size_t bytes = sizeof head + sizeof consumer + sizeof tail, length;
    char *template = malloc(bytes), *text;
    assert_non_null(template);
    snprintf(template, bytes, "%s%s%s", head, consumer, tail);
    bool done = false;
    for (long fail = 1; !done; fail = failing_next(fail)) {
        struct diag_set diags = {0};
        struct failing f = {.fail_at = fail};
        struct plan p;
        assert_int_equal(family_plan(&spec, &spec.kernel[0], arch_find("sm_90a"), 0, NULL, &p, &diags), 0);
        const struct emit_source source = {p.template_name, template, strlen(template)};
        const struct emit_options options = {.source = &source, .source_count = 1, .memory = {failing_alloc, &f}};
        int status = emit_steps(p.template_name, &p, &options, &text, &length, &diags);
        done = f.calls < fail;
        assert_true(status == 0 || (!done && status == 3));
        if (text)
            failing_alloc(&f, text, length + 1, 0);
        assert_int_equal(f.blocks, 0);
        diag_free(&diags);
        plan_free(&p);
    }
    free(template);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_read_off),
        cmocka_unit_test(what_has_no_words_is_refused),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests_name("record_derive", tests, read_spec, free_spec);
}
