/* The tracer of programs: whole traces as text, memory that ends at every call, wrong texts without end, and what the
 * printed form does not show. BLESS=1 rewrites tests/golden/programs/NAME.txt. */
#include "unit/spec/spec_samples.h"

#include "program/program.h"

#include "emit/embed.h"

static const char *const programs[] = {"rms_norm", "gemm", "attention", "words", "family", "masks"};

/* The families that ship are there. */
static const char *const unnamed[] = {"sm_80", "sm_90a", NULL};
static const struct spec_options options = {
    .arch = sample_arches, .arch_unnamed = unnamed, .library = emit_find_template};

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    if (f) {
        text[fread(text, 1, (1 << 20) - 1, f)] = 0;
        fclose(f);
    }
    return text;
}

static const char *path_of(const char *name, const char *end)
{
    static char path[2][256];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "tests/golden/programs/%s.%s", name, end);
    return path[turn];
}

static void read_spec(const char *path, struct spec *spec, struct diag_set *diags)
{
    *diags = (struct diag_set){0};
    int status = spec_read(path, &options, spec, diags);
    if (status)
        diag_print(diags, stderr);
    assert_int_equal(status, 0);
}

static char *print_all(const struct spec *spec)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    for (int i = 0; i < spec->kernel_count; i++)
        program_print(spec->kernel[i].program, spec, &spec->kernel[i], f);
    fclose(f);
    return text;
}

/* The printed programs are those of NAME.txt. */
static void check_golden(const char *name, const struct spec *spec)
{
    char *text = print_all(spec);
    if (getenv("BLESS")) {
        FILE *f = fopen(path_of(name, "txt"), "wb");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
    }
    char *golden = read_file(path_of(name, "txt"));
    assert_string_equal(text, golden);
    free(golden);
    free(text);
}

static void test_traces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct spec spec;
        struct diag_set diags;
        read_spec(path_of(programs[i], "lua"), &spec, &diags);
        check_golden(programs[i], &spec);
        spec_free(&spec);
        diag_free(&diags);
    }
}

/* What every program fulfils, whatever it says. */
static void check_program(const struct program *p)
{
    int depth = 0;
    for (int i = 0; i < p->op_count; i++) {
        const struct program_op *op = &p->op[i];
        assert_int_equal(op->depth, depth);
        assert_int_equal(op->tile.rows > 0, op->tile.columns > 0);
        if (op->tile.rows) {
            assert_int_equal(p->graph->node[op->tile.node].op, EXPR_TILE);
            assert_int_equal(p->graph->node[op->tile.node].integer, i);
        }
        for (int a = 0; a < 3; a++)
            assert_true(op->arg[a].node < 0 || (op->arg[a].rows > 0 && op->arg[a].columns > 0));
        if (op->kind == PROGRAM_LOOP) {
            assert_int_equal(p->op[op->end].kind, PROGRAM_END);
            assert_int_equal(p->op[op->end].loop, i);
            for (int c = 0; c < op->carried; c++) {
                const struct program_tile *param = &p->op[i + 1 + c].tile, *result = &p->op[op->end + 1 + c].tile;
                const struct program_tile *first = &op->value[c], *last = &p->op[op->end].value[c];
                assert_int_equal(p->op[i + 1 + c].which, c);
                assert_int_equal(p->op[op->end + 1 + c].which, c);
                assert_int_equal(param->rows, result->rows);
                assert_int_equal(param->columns, result->columns);
                assert_int_equal(param->rows, first->rows);
                assert_int_equal(param->columns, last->columns);
                assert_true(p->graph->node[first->node].type <= p->graph->node[param->node].type);
            }
        }
        depth += (op->kind == PROGRAM_LOOP) - (op->kind == PROGRAM_END);
    }
    assert_int_equal(depth, 0);
}

static void test_invariants(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct spec spec;
        struct diag_set diags;
        read_spec(path_of(programs[i], "lua"), &spec, &diags);
        for (int k = 0; k < spec.kernel_count; k++)
            check_program(spec.kernel[k].program);
        spec_free(&spec);
        diag_free(&diags);
    }
}

/* Every kernel of specs/gemm.lua by the family that is a module. */
static void test_gemm_module(void **state)
{
    (void)state;
    struct spec spec;
    struct diag_set diags = {0};
    int status = spec_read("specs/gemm.lua", &options, &spec, &diags);
    if (status)
        diag_print(&diags, stderr);
    assert_int_equal(status, 0);
    assert_true(spec.kernel_count >= 20);
    for (int i = 0; i < spec.kernel_count; i++) {
        const struct spec_kernel *k = &spec.kernel[i];
        assert_string_equal(k->family, "gemm");
        assert_non_null(k->program);
        check_program(k->program);
        check_program(spec_program(k, "sm_80"));
    }
    spec_free(&spec);
    diag_free(&diags);
}

/* How the kernel runs: fields beside the program, and an architecture's own tile. */
static void test_how(void **state)
{
    (void)state;
    struct spec spec;
    struct diag_set diags;
    read_spec(path_of("attention", "lua"), &spec, &diags);
    const struct spec_kernel *k = &spec.kernel[0];
    assert_int_equal(k->ahead_count, 1);
    assert_string_equal(k->ahead[0].name, "s");
    assert_string_equal(k->ahead[0].before, "o");
    assert_int_equal(k->ahead[0].turns, 1);
    assert_int_equal(k->via_count, 1);
    assert_string_equal(k->via[0].word, "resident");
    assert_int_equal(k->fields.value[FIELD_STAGES].integer, 2);
    assert_true(k->fields.value[FIELD_TURNS].set && k->fields.value[FIELD_TURNS].integer);
    assert_int_equal(k->axis_tune_count, 1);
    assert_int_equal(k->axis_tune[0].count, 3);
    assert_int_equal(k->axis_tune[0].value[2], 176);
    const struct program *hopper = spec_program(k, "sm_90a"), *ampere = spec_program(k, "sm_80");
    assert_ptr_equal(hopper, k->program);
    assert_int_equal(hopper->axis[2].tile, 128);
    assert_int_equal(hopper->axis[2].cluster, 2);
    assert_int_equal(hopper->axis[3].tile, 128);
    assert_int_equal(ampere->axis[3].tile, 64);
    assert_int_equal(ampere->axis[2].cluster, 1);
    assert_int_equal(ampere->op_count, hopper->op_count);
    check_program(ampere);
    spec_free(&spec);
    diag_free(&diags);
}

/* Edges that structure proves away, and those that it does not. Each store is one program. */
static void test_edges(void **state)
{
    (void)state;
    static const struct {
        const char *dims, *grid, *spans;
        bool rows, columns; /* a condition stays */
    } sample[] = {
        {"R C", "r = R, c = C", "span(at.r, 64), span(at.c, 128)", true, true},
        {"R%64 C%128", "r = R, c = C", "span(at.r, 64), span(at.c, 128)", false, false},
        {"R%64 C%64", "r = R, c = C", "span(at.r, 64), span(at.c, 128)", false, true},
        {"R%64 C%128", "r = R, c = C", "span(at.r + 32, 32), span(at.c + 64, 64)", false, false},
        {"R%64 C%128", "r = R, c = C", "span(at.r + 32, 64), span(at.c - 1, 128)", true, true},
        {"R%64 C%128", "r = R, c = C", "span(at.r // 64 * 64, 64), span(min(at.c, 0), 128)", true, false},
        {"R%64 C%128", "r = 2 * R, c = C", "span(at.r, 64), span(at.c, 128)", true, false},
        {"R C", "r = R, c = C", "span(at.r, 1), span(at.c, 1)", false, false},
        {"R%64 C%128", "r = R, c = C", "span(at.r, 64, R), span(at.c, 128, C - 1)", false, true},
    };
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
        char text[2000];
        struct spec spec;
        struct diag_set diags;
        snprintf(text, sizeof text,
                 "local R, C = dims \"%s\"\n"
                 "kernel \"k\" { y = tensor { R, C, dtype = \"fp32\", out = true }, axes = \"r c\",\n"
                 "  tile = { r = 64, c = 128 }, grid = { %s },\n"
                 "  program = function(t, at, tile) store(t.y, %s, zeros()) end }\n",
                 sample[i].dims, sample[i].grid, sample[i].spans);
        sample_read(text, &spec, &diags);
        const struct program *p = spec.kernel[0].program;
        assert_int_equal(p->op_count, 1);
        if ((p->op[0].arg[0].valid_row >= 0) != sample[i].rows ||
            (p->op[0].arg[0].valid_column >= 0) != sample[i].columns)
            fail_msg("edges of %s with %s", sample[i].spans, sample[i].dims);
        spec_free(&spec);
        diag_free(&diags);
    }
}

/* Plain Lua decides over plain values. */
static void test_plain_lua(void **state)
{
    (void)state;
    struct spec spec;
    struct diag_set diags;
    sample_read("local R, C = dims \"R C\"\n"
                "local function body(t, at, tile)\n"
                "  local x, limit = load(t.x, span(at.r, tile.r), span(at.c, tile.c)), nil\n"
                "  if tile.r > 32 and tile.c ~= 7 and x ~= nil then x = x * 2 end\n"
                "  for i = 1, 3 do x = i == 2 and x + i or x end\n"
                "  while limit == nil do limit = not limit and 1 or x end\n"
                "  local last <const> = type(x) == \"userdata\" and 3 or 4\n"
                "  for name, value in pairs({ a = x }) do x = x + value end\n"
                "  local list = { 3, 1 }\n"
                "  table.sort(list, function(x, limit) return x < limit end)\n"
                "  store(t.y, span(at.r, tile.r), span(at.c, tile.c), x * limit * last)\n"
                "end\n"
                "kernel \"k\" { x = tensor { R, C, dtype = \"fp32\" },\n"
                "  y = tensor { R, C, dtype = \"fp32\", out = true },\n"
                "  axes = \"r c\", tile = { r = 64, c = 64 }, grid = { r = R, c = C }, program = body }\n",
                &spec, &diags);
    assert_int_equal(spec.kernel[0].program->op_count, 2);
    spec_free(&spec);
    diag_free(&diags);
}

/* Every allocation fails once: of all words, and of a family. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const few[] = {"words", "family"};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        bool done = false;
        for (long fail = 1; !done; fail = failing_next_path(fail)) {
            struct failing memory = {.fail_at = fail, .by_path = true};
            struct spec_options failing = options;
            failing.alloc = failing_alloc;
            failing.alloc_context = &memory;
            struct spec spec;
            struct diag_set diags = {.arena.memory = {failing_alloc, &memory}};
            int status = spec_read(path_of(few[i], "lua"), &failing, &spec, &diags);
            done = memory.calls < fail;
            assert_true(status == 3 || (status == 0 && diags.count == 0));
            spec_free(&spec);
            diag_free(&diags);
            assert_int_equal(memory.blocks, 0);
        }
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One word of the text becomes another word of it, or goes. */
static void damage(char *out, size_t size, const char *text, uint64_t *random)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strlen(text), from = next_random(random) % length, other = next_random(random) % length;
    size_t n = strspn(text + from, letters), m = strspn(text + other, letters);
    n = n ? n : 1;
    m = m ? m : 1;
    if (next_random(random) % 4 == 0)
        m = 0;
    snprintf(out, size, "%.*s%.*s%s", (int)from, text, (int)m, text + other, text + from + n);
}

/* Damaged programs are read or refused, and those that are read hold what every program holds. */
static void test_damaged_texts(void **state)
{
    (void)state;
    uint64_t random = 0x9e3779b97f4a7c15u;
    int sound = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *text = read_file(path_of(programs[i], "lua")), *wrong = malloc(1 << 20);
        assert_non_null(wrong);
        for (int n = 0; n < 120; n++) {
            struct spec spec;
            struct diag_set diags = {0};
            damage(wrong, 1 << 20, text, &random);
            int status = spec_read(sample_write("spec.lua", wrong), &options, &spec, &diags);
            assert_true(status == 0 || (status == 1 && diags.errors > 0));
            for (int k = 0; status == 0 && k < spec.kernel_count; k++)
                if (spec.kernel[k].program)
                    check_program(spec.kernel[k].program);
            sound += status == 0;
            spec_free(&spec);
            diag_free(&diags);
        }
        free(wrong);
        free(text);
    }
    assert_in_range(sound, 30, 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces),    cmocka_unit_test(test_invariants),    cmocka_unit_test(test_gemm_module),
        cmocka_unit_test(test_how),       cmocka_unit_test(test_edges),         cmocka_unit_test(test_plain_lua),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_damaged_texts),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
