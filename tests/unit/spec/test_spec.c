/* The spec reader: the language's every construct as data, every fault with its place, memory failed once everywhere.
 */
#include <time.h>

#include "program/program.h"
#include "spec_samples.h"

#define HEAD "local M, N, K = dims \"M N K\"\n"
#define TENSORS                                                                                                        \
    "  A = tensor { M, K, dtype = \"bf16\" },\n  B = tensor { N, K, dtype = \"bf16\" },\n"                             \
    "  D = tensor { M, N, dtype = \"bf16\" },\n"
#define GEMM(rest) HEAD "local base = kernel \"g\" {\n  family = \"gemm\",\n" TENSORS rest "}\n"

static const char whole[] =
    "local M, N, K = dims \"M N K%8\"\n"
    "local bf16 = kernel \"gemm_bf16\" {\n"
    "  family   = \"gemm\",\n"
    "  A        = tensor { M, K, dtype = \"bf16\", swizzle = \"128B\" },\n"
    "  B        = tensor { N, K, dtype = \"bf16\", stride = { 2 * K, 1 } },\n"
    "  D        = tensor { M, N, dtype = \"bf16\" },\n"
    "  tile     = { m = 128, n = 256, k = 512 / 8 },\n"
    "  pipeline = { stages = 4, mode = \"cooperative\" },\n"
    "  schedule = { order = \"row\", persistent = false },\n"
    "  arch     = { sm_90a = {}, sm_80 = { tile = { n = 128 }, pipeline = { stages = 3 } } },\n"
    "  tune     = { pipeline = { stages = { 3, 4, 5 } }, tile = { n = { 128, 256 }, k = 64 } },\n"
    "  run      = { { M = 257, N = 512, K = 192 } },\n"
    "  bench    = { { M = 4096, N = 4096, K = 4096 }, { M = 8192, N = 8192, K = 8192 } },\n"
    "}\n"
    "kernel \"km\" { like = bf16, A = tensor { K, M, axes = \"k m\", dtype = \"bf16\" }, tile = { m = 64 } }\n"
    "kernel \"gelu\" {\n"
    "  like = bf16,\n"
    "  bias = tensor { N, axes = \"n\", dtype = \"bf16\" },\n"
    "  R    = tensor { M, N, dtype = \"fp16\", fill = \"ones\" },\n"
    "  slope = scalar(\"fp32\", 1.5),\n"
    "  epilogue = function(acc, t, i) return gelu(acc * t.slope + t.bias) + t.R + t.bias[i.n] end,\n"
    "}\n"
    "kernel \"two\" {\n"
    "  like = bf16, E = tensor { M, N, dtype = \"fp32\" },\n"
    "  epilogue = function(acc, t, i)\n"
    "    return { E = acc, D = select(lt(i.m, i.n) & ~eq(acc, 0), clamp(acc, -1, 1), cast(acc / K, \"bf16\")) }\n"
    "  end,\n"
    "}\n";

static const struct spec_value *field(const struct spec_kernel *k, const char *arch, enum spec_field f)
{
    static struct spec_fields merged;
    spec_merge(k, arch, &merged);
    return &merged.value[f];
}

static const struct program_axis *axis(const struct spec_kernel *k, const char *arch, int number)
{
    return &spec_program(k, arch)->axis[number];
}

static void test_whole(void **state)
{
    (void)state;
    struct spec s;
    struct diag_set d;
    int64_t dims[] = {257, 512, 192}, value;
    sample_read(whole, &s, &d);
    assert_int_equal(s.dim_count, 3);
    assert_string_equal(s.dim[2].name, "K");
    assert_int_equal(s.dim[2].multiple, 8);
    assert_int_equal(s.kernel_count, 4);
    assert_int_equal(s.dependency_count, 1);
    assert_non_null(s.lua);
    const struct spec_kernel *k = &s.kernel[0];
    assert_string_equal(k->family, "gemm");
    assert_null(k->template_path);
    assert_int_equal(k->axis_count, 3);
    assert_int_equal(k->loc.line, 2);
    assert_int_equal(k->tensor_count, 3);
    assert_string_equal(k->tensor[1].name, "B");
    assert_int_equal(k->tensor[1].axis[0], 1);
    assert_int_equal(k->tensor[1].axis[1], 2);
    assert_true(expr_eval_int(&k->shape, k->tensor[1].stride[0], dims, &value));
    assert_int_equal(value, 384);
    assert_int_equal(k->tensor[1].stride[1], -1);
    assert_true(k->tensor[0].swizzle_set && k->tensor[0].swizzle == TW_SWIZZLE_128B && !k->tensor[1].swizzle_set);
    assert_true(k->tensor[2].out && !k->tensor[0].out);
    assert_int_equal(k->tensor[0].loc.line, 4);
    assert_int_equal(k->tensor[0].swizzle_loc.column, 55);
    assert_int_equal(axis(k, "sm_90a", 1)->tile, 256);
    assert_int_equal(axis(k, "sm_80", 1)->tile, 128);
    assert_int_equal(axis(k, "sm_80", 1)->tile_loc.line, 10);
    assert_int_equal(axis(k, "sm_80", 1)->tile_loc.column, 52);
    assert_int_equal(axis(k, "sm_80", 2)->tile, 64);
    assert_false(axis(k, "sm_80", 1)->chosen || axis(k, "sm_80", 2)->chosen);
    assert_int_equal(field(k, "sm_80", FIELD_STAGES)->integer, 3);
    assert_int_equal(field(k, "sm_90a", FIELD_ORDER)->integer, 1);
    assert_string_equal(field(k, "sm_90a", FIELD_ORDER)->text, "row");
    assert_true(field(k, "sm_90a", FIELD_PERSISTENT)->set && !field(k, "sm_90a", FIELD_PERSISTENT)->integer);
    assert_false(field(k, "sm_90a", FIELD_GROUP)->set);
    assert_int_equal(k->arch_count, 2);
    assert_string_equal(k->arch[0].name, "sm_80"); /* the table's order */
    assert_int_equal(k->axis_tune_count, 2);
    assert_int_equal(k->axis_tune[1].axis, 1);
    assert_int_equal(k->axis_tune[1].count, 2);
    assert_int_equal(k->axis_tune[0].count, 1);
    assert_int_equal(k->tune_count, 1);
    assert_int_equal(k->tune[0].value[2].integer, 5);
    assert_int_equal(k->run_count, 1);
    assert_int_equal(k->run[0].value[0], 257);
    assert_int_equal(k->bench[1].value[2], 8192);

    const struct spec_kernel *km = &s.kernel[1];
    assert_int_equal(km->tensor[0].axis[0], 2);
    assert_false(km->tensor[0].swizzle_set);
    assert_int_equal(km->tensor[0].loc.line, 15);
    assert_int_equal(km->tensor[1].loc.line, 5); /* inherited */
    assert_int_equal(axis(km, "sm_90a", 0)->tile, 64);
    assert_int_equal(axis(km, "sm_90a", 0)->tile_loc.line, 15);
    assert_int_equal(axis(km, "sm_90a", 1)->tile, 256);
    assert_int_equal(axis(km, "sm_90a", 1)->tile_loc.line, 7);

    const struct spec_kernel *gelu = &s.kernel[2];
    assert_int_equal(gelu->tensor_count, 5);
    assert_string_equal(gelu->tensor[3].name, "bias"); /* in the order of the source */
    assert_int_equal(gelu->tensor[4].axis[0], 0);
    assert_true(gelu->tensor[4].fill.kind == FILL_CONSTANT && gelu->tensor[4].fill.low == 1);
    assert_int_equal(gelu->scalar_count, 1);
    assert_true(gelu->scalar[0].value == 1.5);
    assert_true(gelu->tensor[3].read && gelu->tensor[4].read && gelu->scalar[0].read);

    const struct spec_kernel *two = &s.kernel[3];
    assert_true(two->tensor[2].out && two->tensor[3].out);
    spec_free(&s);
    diag_free(&d);
}

/* What D[3][4] is where the sum is `acc`, a tensor of one dim holds its index and one of two dims its row; scalars are
 * 2, 3, ... */
static double evaluate(const char *body, const char *operands, double acc)
{
    enum { M = 10, N = 20, K = 30 };
    char text[2000];
    struct spec s;
    struct diag_set d;
    const int64_t symbol[] = {M, N, K};
    const double scalar[] = {2, 3};
    static double value[4][M * N + N * K];
    int64_t extent[4][SPEC_MAX_RANK] = {{0}};
    double *tensor[4], *bound[4] = {NULL};
    snprintf(text, sizeof text,
             GEMM("%s  epilogue = function(acc, t, i)\n"
                  "    local function value() %s end\n    return value() + 0 * acc\n  end,\n"),
             operands, body);
    sample_read(text, &s, &d);
    const struct spec_kernel *k = &s.kernel[0];
    for (int t = 0; t < k->tensor_count; t++) {
        tensor[t] = value[t];
        for (int i = 0; i < k->tensor[t].rank; i++)
            assert_true(expr_eval_int(&k->shape, k->tensor[t].dim[i], symbol, &extent[t][i]));
        int64_t inner = k->tensor[t].rank == 2 ? extent[t][1] : 1;
        for (int64_t e = 0; e < extent[t][0] * inner; e++)
            value[t][e] = t > 1 ? (double)(e / inner) : e % inner ? 0 : t == 0 ? acc : 1; /* A[m][0] B[n][0] */
    }
    struct program_data data = {symbol, tensor, (const int64_t(*)[SPEC_MAX_RANK])extent, scalar, bound};
    struct program_run run = {.count = -1};
    assert_int_equal(program_evaluate(k->program, k, &data, &run, NULL, NULL), 0);
    spec_free(&s);
    diag_free(&d);
    return value[2][3 * N + 4];
}

static void test_functions(void **state)
{
    (void)state;
    const char *bias = "  bias = tensor { N, axes = \"n\", dtype = \"bf16\" },\n";
    assert_true(evaluate("return acc + t.bias", bias, 1) == 5);
    assert_true(evaluate("return acc + t.bias[i.m]", bias, 1) == 4);
    assert_true(evaluate("return t.bias[(i.m - 7) % 5] + (i.m - 7) // 3", bias, 1) == 1 - 2);
    assert_true(evaluate("return acc + t.R", "  R = tensor { M, N, dtype = \"bf16\" },\n", 1) == 1 + 3);
    assert_true(evaluate("return acc / M + K // 7", "", 1) == 0.1 + 4);
    assert_true(evaluate("return i.m / 2", "", 1) == 1.5);
    assert_true(evaluate("return max(acc, 2, i.n) + min(acc, 0)", "", -1) == 3);
    assert_true(evaluate("return clamp(acc, -1, 1)", "", -7) == -1);
    assert_true(evaluate("return select(ge(acc, 0) | ~ne(i.m, 3), 5, acc)", "", -7) == 5);
    assert_true(evaluate("return select(gt(acc, 0) & le(i.m, 3), 5, acc)", "", -7) == -7);
    assert_true(evaluate("return cast(acc, 'bf16')", "", 1.001) == 1);
    assert_true(evaluate("return relu(acc) + abs(acc)", "", -2) == 2);
    assert_true(evaluate("return -acc * t.slope", "  slope = scalar \"fp32\",\n", -2) == 4);
    assert_true(evaluate("return sqrt(4) + exp(0) + acc", "", 0) == 3);
    assert_true(evaluate("local function twice(x) return x + x end return twice(twice(acc))", "", 1) == 4);
    assert_true(evaluate("return 7", "", 0) == 7);
    assert_true(evaluate("return select(lt(1, 2), acc, 0)", "", 9) == 9);
}

/* Of more numbers than are asked for whole slices are made, one at least, which repeat. */
static void test_fill_repeats(void **state)
{
    (void)state;
    enum { ROWS = 5, COLUMNS = 3 };
    static const struct {
        int64_t most;
        int rows; /* that are the function's own */
    } cases[] = {{INT64_MAX, 5}, {15, 5}, {14, 4}, {7, 2}, {3, 1}, {1, 1}};
    static const char text[] =
        "local R, C = dims \"R C\"\nkernel \"k\" {\n  axes = \"r c\", grid = { r = R, c = C },\n"
        "  x = tensor { R, C, dtype = \"fp32\", fill = function(r, c, n) return 10 * r + c + n.R end },\n"
        "  y = tensor { R, C, dtype = \"fp32\", out = true }, tile = { r = 8, c = 8 },\n"
        "  arch = { sm_80 = {} }, run = { { R = 1, C = 1 } },\n"
        "  program = function(t, at, tile)\n"
        "    local r, c = span(at.r, tile.r), span(at.c, tile.c)\n"
        "    store(t.y, r, c, load(t.x, r, c))\n  end }\n";
    struct spec spec;
    struct diag_set diags = {0};
    const int64_t dims[] = {ROWS, COLUMNS};
    assert_int_equal(spec_read(sample_write("fill.lua", text), &sample_options, &spec, &diags), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double to[ROWS * COLUMNS] = {0};
        assert_int_equal(spec_run_fill(&spec, 0, 0, dims, cases[i].most, to, &diags), 0);
        for (int e = 0; e < ROWS * COLUMNS; e++)
            assert_true(to[e] == 10 * (e / COLUMNS % cases[i].rows) + e % COLUMNS + ROWS);
    }
    spec_free(&spec);
    diag_free(&diags);
}

/* Many numbers are those that few are, whoever computes them; what is wrong with one is told. */
static void test_fill_by_many(void **state)
{
    (void)state;
    enum { ROWS = 700, COLUMNS = 503 };
    static const char text[] =
        "local R, C = dims \"R C\"\nkernel \"k\" {\n  axes = \"r c\", grid = { r = R, c = C },\n"
        "  x = tensor { R, C, dtype = \"fp32\", fill = function(r, c, n) return 1000 * r + c + n.R end },\n"
        "  z = tensor { R, C, dtype = \"fp32\", fill = function(r, c) return r + c < 1200 and 1 or {} end },\n"
        "  y = tensor { R, C, dtype = \"fp32\", out = true }, tile = { r = 8, c = 8 },\n"
        "  arch = { sm_80 = {} }, run = { { R = 1, C = 1 } },\n"
        "  program = function(t, at, tile)\n"
        "    local r, c = span(at.r, tile.r), span(at.c, tile.c)\n"
        "    store(t.y, r, c, load(t.x, r, c) + load(t.z, r, c))\n  end }\n";
    struct spec spec;
    struct diag_set diags = {0};
    const int64_t dims[] = {ROWS, COLUMNS};
    double *to = calloc(ROWS * COLUMNS, sizeof *to);
    assert_non_null(to);
    assert_int_equal(spec_read(sample_write("fill.lua", text), &sample_options, &spec, &diags), 0);
    assert_int_equal(spec_run_fill(&spec, 0, 0, dims, INT64_MAX, to, &diags), 0);
    for (int e = 0; e < ROWS * COLUMNS; e++)
        assert_true(to[e] == 1000 * (e / COLUMNS) + e % COLUMNS + ROWS);
    assert_int_equal(diags.errors, 0);
    assert_int_equal(spec_run_fill(&spec, 0, 1, dims, INT64_MAX, to, &diags), 1);
    assert_int_equal(diags.errors, 1);
    free(to);
    spec_free(&spec);
    diag_free(&diags);
}

static void test_template(void **state)
{
    (void)state;
    struct spec s;
    struct diag_set d;
    sample_write("own.cu", "// text\n");
    sample_read("local R, C = dims 'R C'\n"
                "kernel 'rms' {\n"
                "  template = 'own.cu',\n"
                "  x = tensor { R, C, dtype = 'bf16', tile = { 1, 1024 } },\n"
                "  w = tensor { C, dtype = 'bf16', axes = 'c' },\n"
                "  y = tensor { R, C, dtype = 'bf16', out = true },\n"
                "  eps = scalar('fp32', 0.5),\n"
                "  rings = { { 'x', stages = 2 } }, grid = { R, (C + 7) // 8 }, threads = 256,\n"
                "  run = { { R = 2, C = 3 } },\n"
                "  reference = function(t, n)\n"
                "    for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[r][c] = t.x[r][c] * t.w[c] + t.eps end end\n"
                "  end,\n"
                "}\n",
                &s, &d);
    const struct spec_kernel *k = &s.kernel[0];
    assert_null(k->family);
    assert_string_equal(k->template_path, sample_path("own.cu"));
    assert_string_equal(k->tensor[0].name, "x");
    assert_int_equal(k->tensor[0].tile[1], 1024);
    assert_true(k->tensor[2].out && k->tensor[1].read);
    assert_int_equal(k->axis_count, 1);
    assert_int_equal(k->ring_count, 1);
    assert_int_equal(k->ring[0].stages, 2);
    assert_true(k->grid[1] >= 0 && k->grid[2] == -1);
    assert_int_equal(k->fields.value[FIELD_THREADS].integer, 256);
    int64_t dims[] = {2, 3};
    double x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10, 100}, y[6] = {0}, *data[] = {x, w, y};
    assert_int_equal(spec_run_reference(&s, 0, dims, data, &d), 0);
    assert_true(y[0] == 1.5 && y[1] == 20.5 && y[5] == 600.5);
    spec_free(&s);
    diag_free(&d);

    sample_read("local R = dims 'R'\n"
                "kernel 'r' { template = 'own.cu', x = tensor { R, dtype = 'fp32' }, grid = { 1 },\n"
                "  reference = function(t, n)\n"
                "    t.x[n.R] = 1\n"
                "  end }\n",
                &s, &d);
    assert_int_equal(spec_run_reference(&s, 0, dims, data, &d), 1);
    char *text = sample_print(&d);
    assert_string_equal(text,
                        "spec.lua:4: error: kernel 'r', reference: index 2 is outside of t.x, whose dim 1 has the "
                        "indices 0 to 1 [LUA-RUN]\n    t.x[n.R] = 1\n               ^\n");
    free(text);
    spec_free(&s);
    diag_free(&d);
}

static void test_faults(void **state)
{
    (void)state;
    sample_expect_faults("", "spec.lua: error: the file is empty; a spec declares at least one kernel [FILE-EMPTY]\n");
    sample_expect_faults(" ", "spec.lua: error: the spec declares no kernel; write kernel \"NAME\" { family = ... } "
                              "[KERNEL-NONE]\n");
    sample_expect_faults("kernel 'x'", "spec.lua:1: error: kernel 'x': there are no fields; write kernel \"x\" { ... } "
                                       "[KERNEL-FIELDS]\n    kernel 'x'\n    ^\n");
    sample_expect_faults(
        "local M = dims 'M'\nif M < 5 then end",
        "spec.lua:2: error: '<' knows no value of an expression of dims, which comes at launch; write lt(a, b) in a "
        "function of the kernel [TRACE-LUA]\n    if M < 5 then end\n         ^\n");
    sample_expect_faults("local M = dims 'M'\nlocal x = M / 2",
                         "spec.lua:2: error: / gives fp32, and shapes are whole numbers; write // [LUA-RUN]\n"
                         "    local x = M / 2\n                ^\n");
    sample_expect_faults("local M = dims 'M%0'",
                         "spec.lua:1: error: 'M%0': after % stands what must divide the dim: K%8 "
                         "[LUA-RUN]\n    local M = dims 'M%0'\n              ^\n");
    sample_expect_faults(
        GEMM("  tile = { m = \"128\", n = 0, kx = 1 },\n"),
        "spec.lua:7: error: kernel 'g', tile.m: takes a whole number, this is the text '128' [FIELD-TYPE]\n"
        "    tile = { m = \"128\", n = 0, kx = 1 },\n"
        "                 ^\n"
        "spec.lua:7: error: kernel 'g', tile.n: 0 is out of range; write 1 to 1048576 [FIELD-RANGE]\n"
        "    tile = { m = \"128\", n = 0, kx = 1 },\n"
        "                            ^\n"
        "spec.lua:7: error: kernel 'g', tile.kx: there is no such axis; there are m, n and k "
        "[PROGRAM-AXES]\n"
        "    tile = { m = \"128\", n = 0, kx = 1 },\n"
        "                               ^\n");
    /* Faults of a base are told once, those of a loop too; a Lua error ends the run, what came before stays. */
    sample_expect_faults(GEMM("  pipelin = {},\n") "kernel \"h\" { like = base }\nfor i = 1, 3 do kernel(\"k\" .. i) { "
                                                   "like = base, tyle = 1 } end\n"
                                                   "error 'stop'\n",
                         "spec.lua:7: error: kernel 'g', pipelin: there is no such field; did you mean 'pipeline'? "
                         "[FIELD-UNKNOWN]\n    pipelin = {},\n    ^\n"
                         "spec.lua:10: error: kernel 'k1', tyle: there is no such field; did you mean 'tile'? "
                         "[FIELD-UNKNOWN]\n"
                         "    for i = 1, 3 do kernel(\"k\" .. i) { like = base, tyle = 1 } end\n"
                         "                                                    ^\n"
                         "spec.lua:11: error: stop [LUA-RUN]\n    error 'stop'\n    ^\n");
    /* Tables that code made have the place of the call. */
    sample_expect_faults(
        HEAD "local f = { family = 'gemm', A = 1 }\nkernel \"g\" (f)\n",
        "spec.lua:3: error: kernel 'g', A: takes tensor { ... }, this is 1 [FIELD-TYPE]\n"
        "    kernel \"g\" (f)\n    ^\n"
        "spec.lua:3: error: kernel 'g': family \"gemm\" needs tensor B; write B = tensor { ..., dtype = "
        "\"bf16\" } with the dims of \"n k\" [TENSOR-MISSING]\n    kernel \"g\" (f)\n    ^\n"
        "spec.lua:3: error: kernel 'g': family \"gemm\" needs tensor D; write D = tensor { ..., dtype = "
        "\"bf16\" } with the dims of \"m n\" [TENSOR-MISSING]\n    kernel \"g\" (f)\n    ^\n");

    /* A tensor that a name holds has the place of its own call. */
    sample_expect_faults(HEAD "local a = tensor { M, K, dtype = \"bf61\" }\n"
                              "kernel \"g\" { family = 'gemm', A = a, B = tensor { N, K, dtype = 'bf16' },\n"
                              "  D = tensor { M, N, dtype = 'bf16' } }\n",
                         "spec.lua:2: error: kernel 'g', A.dtype: there is no dtype \"bf61\"; did you mean 'bf16'? "
                         "[FIELD-WORD]\n    local a = tensor { M, K, dtype = \"bf61\" }\n"
                         "                                     ^\n");
}

static void test_fused_faults(void **state)
{
    (void)state;
    sample_expect_faults(GEMM("  epilogue = function(acc, t, i)\n    if acc < 0 then return not acc end\n"
                              "    return acc\n  end,\n"),
                         "spec.lua:8: error: kernel 'g', epilogue: '<' is plain Lua, which knows no value of an "
                         "expression; write lt(a, b) [TRACE-LUA]\n"
                         "    if acc < 0 then return not acc end\n           ^\n");
    sample_expect_faults(GEMM("  epilogue = function(acc, t, i)\n    local x <const> = acc\n"
                              "    return x == 0 and 1 or 2\n  end,\n"),
                         "spec.lua:9: error: kernel 'g', epilogue: '==' is plain Lua, which knows no value of an "
                         "expression; write eq(a, b) [TRACE-LUA]\n    return x == 0 and 1 or 2\n             ^\n");
    /* A helper that gets a traced value is part of the function; one that gets numbers is not. */
    sample_expect_faults(
        "local function pick(n) if n > 3 then return 1 end return 2 end\n"
        "local function leak(x) return x == 0 and 1 or 2 end\n" GEMM(
            "  epilogue = function(acc) return acc * pick(4) end,\n") "kernel \"h\" { like = base, epilogue = "
                                                                      "function(acc) return leak(acc) end }\n",
        "spec.lua:2: error: kernel 'h', epilogue: '==' is plain Lua, which knows no value of an "
        "expression; write eq(a, b) [TRACE-LUA]\n"
        "    local function leak(x) return x == 0 and 1 or 2 end\n"
        "                                    ^\n");
    static const struct {
        const char *body, *expected;
    } table[] = {
        {"return gelo(acc)", "there is no gelo; did you mean 'gelu'? [SANDBOX-NAME]"},
        {"return acc + t.bais", "the kernel has no tensor or scalar 'bais'; did you mean 'bias'? [TRACE-OPERAND]"},
        {"return acc + t.D", "t.D is written by this kernel and cannot be read in it [TRACE-OPERAND]"},
        {"return acc + t.bias[i.k]", "there is no index i.k; this function runs over m and n [TRACE-INDEX]"},
        {"return acc + t.bias[acc]", "an index of t.bias is a whole number, this is a value [LUA-RUN]"},
        {"return acc + t.A", "t.A has axis k, over which this function does not run; it runs over m and n [LUA-RUN]"},
        {"return acc ^ 2", "expressions have no operator ^; write x * x, or exp(y * log(x)) [LUA-RUN]"},
        {"return acc .. 'x'", "an expression is no text; its value comes at launch [LUA-RUN]"},
        {"return acc + 'x'", "the text 'x' stands in an expression; it takes numbers, tensors, scalars and indices "
                             "[LUA-RUN]"},
        {"return acc + lt(acc, 0)",
         "+ takes numbers, this is a condition; select(condition, 1, 0) makes a number of it "
         "[LUA-RUN]"},
        {"return acc // 2", "// takes whole numbers, this is a value [LUA-RUN]"},
        {"return acc & 1", "& takes conditions such as lt(a, b), this is a value [LUA-RUN]"},
        {"return gelu(acc, 1)", "gelu takes 1 argument, 2 are given [LUA-RUN]"},
        {"return cast(acc, 'int8')", "cast takes a value and a floating dtype: cast(x, \"bf16\") [LUA-RUN]"},
        {"return lt(acc, 0)", "epilogue returns a condition; select(condition, 1, 0) makes a number of it "
                              "[TRACE-RESULT]"},
        {"return nil", "epilogue returns nothing; it returns a value, or a table of values by output tensor "
                       "[TRACE-RESULT]"},
        {"return { X = acc }", "epilogue returns X, which is no tensor of the kernel; write { D = value } "
                               "[TRACE-RESULT]"},
        {"return { A = acc }", "epilogue returns A, which the kernel reads and cannot write too [TRACE-RESULT]"},
        {"t.D = acc return acc", "a fused function returns its values and assigns nothing; write return { D = ... } "
                                 "[LUA-RUN]"},
        {"kernel 'x' {} return acc", "a kernel is declared at the top of a spec, not in a function of one [LUA-RUN]"},
        {"local x = acc repeat x = x + t.bias until false", "the expression has more than 65536 terms [LUA-RUN]"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[1000], expected[1000], got[1000];
        struct spec s;
        struct diag_set d = {0};
        snprintf(text, sizeof text,
                 GEMM("  bias = tensor { N, axes = \"n\", dtype = \"bf16\" },\n"
                      "  epilogue = function(acc, t, i) %s end,\n"),
                 table[i].body);
        assert_int_equal(spec_read(sample_write("spec.lua", text), &sample_options, &s, &d), 1);
        snprintf(expected, sizeof expected, "spec.lua:8: error: kernel 'g', epilogue: %s", table[i].expected);
        char *printed = sample_print(&d);
        snprintf(got, sizeof got, "%.*s", (int)strcspn(printed, "\n"), printed);
        assert_string_equal(got, expected);
        assert_int_equal(d.count, 1);
        free(printed);
        spec_free(&s);
        diag_free(&d);
    }
}

/* The same spec, read again in another state: all that is printed is equal. */
static char *print_spec(const struct spec *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (int i = 0; i < s->kernel_count; i++) {
        const struct spec_kernel *k = &s->kernel[i];
        fprintf(f, "%s %d:", k->name, k->loc.line);
        for (int t = 0; t < k->tensor_count; t++)
            fprintf(f, " %s %d %d %d", k->tensor[t].name, k->tensor[t].loc.line, k->tensor[t].loc.column,
                    k->tensor[t].dim[0]);
        for (int n = 0; n < SPEC_FIELD_COUNT; n++)
            if (k->fields.value[n].set)
                fprintf(f, " %s=%lld", spec_rows[n].path, (long long)k->fields.value[n].integer);
        for (int n = 0; n < k->graph.count; n++)
            fprintf(f, " %d(%d %d %d)", k->graph.node[n].op, k->graph.node[n].arg[0], k->graph.node[n].arg[1],
                    k->graph.node[n].arg[2]);
        fputc('\n', f);
    }
    spec_print_help(f, &sample_options);
    spec_print_luacats(f, &sample_options);
    fclose(f);
    return text;
}

/* Whatever dims add up to is no negative stride. */
static void test_strides_of_sums(void **state)
{
    static const char *const stride[] = {"K + N * 8",
                                         "M + N + K",
                                         "K + M * N * K",
                                         "M * N * K + M * N * K + K",
                                         "K - (0 - M * N) - (0 - M * K)",
                                         "K + (1 << 62) // (M + N)"};
    (void)state;
    for (size_t i = 0; i < sizeof stride / sizeof *stride; i++) {
        char text[1000];
        struct spec spec;
        struct diag_set diags;
        snprintf(text, sizeof text,
                 HEAD "kernel 'g' { family = 'gemm', A = tensor { M, K, dtype = 'bf16', stride = { %s, 1 } },\n"
                      "  B = tensor { N, K, dtype = 'bf16' }, D = tensor { M, N, dtype = 'bf16' } }\n",
                 stride[i]);
        sample_read(text, &spec, &diags);
        assert_int_equal(spec.kernel_count, 1);
        spec_free(&spec);
        diag_free(&diags);
    }
}

static void test_determinism(void **state)
{
    (void)state;
    char *first = NULL;
    for (int i = 0; i < 5; i++) {
        struct spec s;
        struct diag_set d;
        sample_read(whole, &s, &d);
        char *text = print_spec(&s);
        if (first)
            assert_string_equal(text, first);
        else
            first = text;
        if (text != first)
            free(text);
        spec_free(&s);
        diag_free(&d);
    }
    assert_non_null(strstr(first, "pipeline.stages"));
    assert_non_null(strstr(first, "---@field stages? integer depth of the ring"));
    free(first);
}

static void fail_each(const char *path, const char *tuned)
{
    bool done = false;
    for (long fail = 1; !done; fail = failing_next_path(fail)) {
        struct failing memory = {.fail_at = fail, .by_path = true};
        struct spec_options options = sample_options;
        options.alloc = failing_alloc;
        options.alloc_context = &memory;
        options.tuned = tuned;
        struct spec s;
        struct diag_set d = {.arena.memory = {failing_alloc, &memory}};
        int status = spec_read(path, &options, &s, &d);
        done = memory.calls < fail;
        /* Lua collects and tries again, so that the spec may be read all the same. */
        if (status == 1)
            diag_print(&d, stderr);
        assert_true(status == 3 || (status == 0 && d.count == 0));
        assert_true(!done || status == 0);
        spec_free(&s);
        diag_free(&d);
        assert_int_equal(memory.blocks, 0);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    fail_each(sample_write("spec.lua", whole), NULL);
}

/* The same of set-ups. */
static void test_no_memory_for_setups(void **state)
{
    (void)state;
    fail_each(sample_write("spec.lua", GEMM("  tile = { m = 128 },\n")),
              "tuned \"g\" { gpu = \"G\", arch = \"sm_90a\",\n"
              "  { M = 8, N = 8, K = 8, mode = \"burst\", use = { tile = { n = 64 } }, us = 1.5, ratio = 1 },\n"
              "  { M = 8, N = 8, K = 16, use = { pipeline = { stages = 3 }, schedule = { order = \"row\" } } },\n"
              "  { M = 8, N = 8, K = 32, use = { tile = { n = 64 } } }, { M = 9, N = 8, K = 8 } }\n");
}

/* The same with faults to report: each is reported, or the end is status 3. */
static void test_no_memory_for_faults(void **state)
{
    (void)state;
    const char *path =
        sample_write("spec.lua", GEMM("  tile = { mm = 1 },\n  epilogue = function(acc, t) return t.x end,\n"));
    bool done = false;
    for (long fail = 1; !done; fail = failing_next_path(fail)) {
        struct failing memory = {.fail_at = fail, .by_path = true};
        struct spec_options options = sample_options;
        options.alloc = failing_alloc;
        options.alloc_context = &memory;
        struct spec s;
        struct diag_set d = {.arena.memory = {failing_alloc, &memory}};
        int status = spec_read(path, &options, &s, &d);
        done = memory.calls < fail;
        assert_true(status == 3 || (status == 1 && d.errors == 2));
        spec_free(&s);
        diag_free(&d);
        assert_int_equal(memory.blocks, 0);
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    sample_expect_faults(HEAD "local x = M\nfor i = 1, 1e6 do x = (x + N) * K end\n",
                         "spec.lua:3: error: the expression has more than 65536 terms [LUA-RUN]\n"
                         "    for i = 1, 1e6 do x = (x + N) * K end\n                                  ^\n");
    sample_expect_faults(
        HEAD "local x = M\nfor i = 1, 64 do x = (x + N) * x end\n"
             "kernel \"g\" { family = \"gemm\", A = tensor { x, K, dtype = \"bf16\" },\n"
             "  B = tensor { N, K, dtype = \"bf16\" }, D = tensor { x, N, dtype = \"bf16\" } }\n",
        "spec.lua:4: error: kernel 'g', A[1]: a dim is a symbol of dims, a whole number or an expression "
        "of both, this is an expression of more than 4000 characters [FIELD-TYPE]\n"
        "    kernel \"g\" { family = \"gemm\", A = tensor { x, K, dtype = \"bf16\" },\n"
        "                                               ^\n"
        "spec.lua:5: error: kernel 'g', D[1]: a dim is a symbol of dims, a whole number or an expression "
        "of both, this is an expression of more than 4000 characters [FIELD-TYPE]\n"
        "    B = tensor { N, K, dtype = \"bf16\" }, D = tensor { x, N, dtype = \"bf16\" } }\n"
        "                                                      ^\n");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    assert_true(b.tv_sec - a.tv_sec < 60);
}

static void test_suggest(void **state)
{
    (void)state;
    static const char *const words[] = {"tile", "cluster", "pipeline", "D", "bias", NULL};
    assert_string_equal(diag_suggest("tiel", words), "tile");
    assert_string_equal(diag_suggest("Pipeline", words), "pipeline");
    assert_string_equal(diag_suggest("clutser", words), "cluster");
    assert_string_equal(diag_suggest("d", words), "D");
    assert_null(diag_suggest("E", words));
    assert_null(diag_suggest("completely_else", words));
}

static void test_diag(void **state)
{
    (void)state;
    struct diag_set d = {0};
    int file = diag_add_source(&d, "a.lua", "one\n\ttwo \xe2\x82\xac three\n");
    assert_int_equal(diag_add_source(&d, "a.lua", NULL), file);
    diag_report(&d, DIAG_ERROR, (struct diag_loc){file, 2, 10}, "k", "f", "RULE", "second\x1b[31m");
    diag_report(&d, DIAG_WARNING, (struct diag_loc){file, 1, 1}, NULL, NULL, NULL, "first");
    diag_report(&d, DIAG_ERROR, (struct diag_loc){file, 2, 10}, "other", "f", "RULE", "second\x1b[31m");
    diag_report(&d, DIAG_NOTE, (struct diag_loc){-1, 0, 0}, NULL, NULL, NULL, "nowhere");
    assert_int_equal(d.errors, 1);
    assert_int_equal(d.count, 3);
    char *text = sample_print(&d);
    assert_string_equal(text,
                        "note: nowhere\na.lua:1: warning: first\n    one\n    ^\n"
                        "a.lua:2: error: kernel 'k', f: second?[31m [RULE]\n    two \xe2\x82\xac three\n          ^\n");
    free(text);
    diag_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_fill_repeats),
        cmocka_unit_test(test_fill_by_many),
        cmocka_unit_test(test_template),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_fused_faults),
        cmocka_unit_test(test_strides_of_sums),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_setups),
        cmocka_unit_test(test_no_memory_for_faults),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_suggest),
        cmocka_unit_test(test_diag),
    };
    return cmocka_run_group_tests(tests, NULL, sample_remove);
}
