/* Expression graphs as CUDA: the exact statements, exact constants, and that NVRTC takes them with the functions of
 * templates/blocks/math.cuh. */
#include "unit/check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/rounds.h"
#include "emit/emit.h"
#include "emit/expr_cuda.h"

static const char *const scalar_name[] = {"args.alpha"};
static const char *const tensor_name[] = {"bias", "index"};
static const char *const axis_name[] = {"m", "n"};

static void leaf(void *context, const struct expr_node *node, const char *const *at, struct emit_text *out)
{
    const char *lane = context;
    switch (node->op) {
    case EXPR_ACC:
        text_format(out, "acc%s", lane);
        break;
    case EXPR_SCALAR:
        text_string(out, scalar_name[node->integer]);
        break;
    case EXPR_INDEX:
        text_string(out, axis_name[node->integer]);
        break;
    case EXPR_SYMBOL:
        text_format(out, "args.dim%d", (int)node->integer);
        break;
    default:
        text_format(out, "%s_at(", tensor_name[node->integer]);
        for (int i = 0; i < node->rank; i++)
            text_format(out, "%s%s", i ? ", " : "", at[i]);
        text_string(out, ")");
    }
}

static const struct expr_cuda_names names = {.context = (void *)"0", .leaf = leaf, .prefix = "v"};

static int add(struct expr_graph *g, enum expr_op op, enum expr_type type, int a, int b, int c)
{
    const struct expr_node node = {.op = op, .type = type, .arg = {a, b, c}};
    int at = expr_add(g, &node);
    assert_true(at >= 0);
    return at;
}

static int add_leaf(struct expr_graph *g, enum expr_op op, enum expr_type type, int64_t integer)
{
    const struct expr_node node = {.op = op, .type = type, .arg = {-1, -1, -1}, .integer = integer};
    int at = expr_add(g, &node);
    assert_true(at >= 0);
    return at;
}

static int add_cast(struct expr_graph *g, enum tw_dtype dtype, int a)
{
    const struct expr_node node = {.op = EXPR_CAST, .type = EXPR_REAL, .arg = {a, -1, -1}, .dtype = dtype};
    int at = expr_add(g, &node);
    assert_true(at >= 0);
    return at;
}

static void check(const struct expr_graph *g, const int *root, int count, const char *statements, const char *results)
{
    struct arena arena = {0};
    struct emit_text out = {.arena = &arena}, all = {.arena = &arena};
    const char *result[8];
    assert_int_equal(expr_print_cuda(g, root, count, &names, &out, result), 0);
    for (int i = 0; i < count; i++)
        text_format(&all, "%s%s", i ? " " : "", result[i]);
    assert_string_equal(out.data ? out.data : "", statements);
    assert_string_equal(all.data, results);
    arena_free(&arena);
}

static void statements(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int acc = add_leaf(&g, EXPR_ACC, EXPR_REAL, 0), alpha = add_leaf(&g, EXPR_SCALAR, EXPR_REAL, 0);
    int n = add_leaf(&g, EXPR_INDEX, EXPR_INT, 1), dim = add_leaf(&g, EXPR_SYMBOL, EXPR_INT, 2);
    int bias = expr_tensor(&g, 0, EXPR_REAL, 1, &n);
    int scaled = add(&g, EXPR_MUL, EXPR_REAL, acc, alpha, -1), sum = add(&g, EXPR_ADD, EXPR_REAL, scaled, bias, -1);
    int unused = add(&g, EXPR_EXP, EXPR_REAL, sum, -1, -1);
    int gelu = add(&g, EXPR_GELU, EXPR_REAL, sum, -1, -1), square = add(&g, EXPR_MUL, EXPR_REAL, sum, gelu, -1);
    (void)unused;
    check(&g, &acc, 1, "", "acc0");
    check(&g, &gelu, 1,
          "float v0 = bias_at(n);\nfloat v1 = acc0 * args.alpha;\nfloat v2 = v1 + v0;\nfloat v3 = ew_gelu(v2);", "v3");
    const int both[] = {square, gelu, alpha};
    check(&g, both, 3,
          "float v0 = bias_at(n);\nfloat v1 = acc0 * args.alpha;\nfloat v2 = v1 + v0;\nfloat v3 = ew_gelu(v2);\n"
          "float v4 = v2 * v3;",
          "v4 v3 args.alpha");

    /* half of a sum that nothing else takes */
    int approx = add(&g, EXPR_GELU_TANH_APPROX, EXPR_REAL, sum, -1, -1);
    check(&g, &approx, 1,
          "float v0 = bias_at(n);\nfloat v1 = acc0 * args.alpha;\nfloat v2 = fmaf(0.5f, v1, 0.5f * v0);\n"
          "float v3 = ew_gelu_tanh_approx_doubled(v2);",
          "v3");
    const int with_sum[] = {approx, sum};
    check(&g, with_sum, 2,
          "float v0 = bias_at(n);\nfloat v1 = acc0 * args.alpha;\nfloat v2 = v1 + v0;\n"
          "float v3 = ew_gelu_tanh_approx(v2);",
          "v3 v2");

    /* index arithmetic, conversions, conditions */
    int row = add_leaf(&g, EXPR_INDEX, EXPR_INT, 0), minus = expr_int(&g, -3);
    int quotient = add(&g, EXPR_FLOORDIV, EXPR_INT, row, minus, -1),
        least = add(&g, EXPR_MIN, EXPR_INT, quotient, dim, -1);
    const int place[] = {least, n};
    int gathered = expr_tensor(&g, 1, EXPR_INT, 2, place);
    int mixed = add(&g, EXPR_MAX, EXPR_REAL, gathered, acc, -1), below = add(&g, EXPR_LT, EXPR_PRED, row, n, -1);
    int compared = add(&g, EXPR_GE, EXPR_PRED, acc, row, -1),
        both_true = add(&g, EXPR_AND, EXPR_PRED, below, compared, -1);
    int not_both = add(&g, EXPR_NOT, EXPR_PRED, both_true, -1, -1);
    int chosen = add(&g, EXPR_SELECT, EXPR_REAL, not_both, mixed, row);
    int rounded = add_cast(&g, TW_BF16, chosen), same = add_cast(&g, TW_FP32, rounded);
    check(&g, &same, 1,
          "long long v0 = ew_floor_div(m, (-3ll));\n"
          "long long v1 = ew_min(args.dim2, v0);\n"
          "long long v2 = index_at(v1, n);\n"
          "float v3 = ew_max((float)v2, acc0);\n"
          "bool v4 = m < n;\n"
          "bool v5 = acc0 >= (float)m;\n"
          "bool v6 = v4 && v5;\n"
          "bool v7 = !v6;\n"
          "float v8 = v7 ? v3 : (float)m;\n"
          "float v9 = ew_cast_bf16(v8);",
          "v9");
    expr_free(&g);
}

static void constants(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } constant[] = {
        {0, "0.0f"},
        {1, "1.0f"},
        {0.5, "0.5f"},
        {-1.5, "(-1.5f)"},
        {-0.0, "(-0.0f)"},
        {0.1, "0.1f"},
        {1e30, "1e+30f"},
        {1.0 / 3, "0.33333334f"},
        {16777216, "16777216.0f"},
        {0x1p-149, "1e-45f"},
        {1e300, "__int_as_float(0x7f800000)"},
        {-1e300, "__int_as_float(0xff800000)"},
        {0.70710678118654752440, "0.70710677f"},
        {3.4028234663852886e38, "3.4028235e+38f"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++) {
        struct emit_text out = {.arena = &arena};
        expr_cuda_real(constant[i].value, &out);
        assert_string_equal(out.data, constant[i].text);
    }
    struct emit_text out = {.arena = &arena};
    expr_cuda_real((double)NAN, &out);
    assert_string_equal(out.data, "__int_as_float(0x7fffffff)");
    /* every float reads back */
    for (uint32_t bits = 1; bits < 0x7f800000; bits += 99991) {
        float f;
        memcpy(&f, &bits, sizeof f);
        out.length = 0;
        expr_cuda_real((double)f, &out);
        assert_true(strtof(out.data, NULL) == f);
    }
    arena_free(&arena);

    struct expr_graph g = {0};
    int least = expr_int(&g, INT64_MIN), five = expr_int(&g, 5), big = expr_int(&g, INT64_C(1) << 40);
    const int roots[] = {least, five, big};
    check(&g, roots, 3, "", "(-9223372036854775807ll - 1) 5ll 1099511627776ll");
    expr_free(&g);
}

/* ---- with math.cuh through NVRTC --------------------------------------------------------------------------------- */

/* Every operator and every cast, as one fused function. */
static int everything(struct expr_graph *g, int *root)
{
    int count = 0, acc = add_leaf(g, EXPR_ACC, EXPR_REAL, 0), n = add_leaf(g, EXPR_INDEX, EXPR_INT, 1);
    int m = add_leaf(g, EXPR_INDEX, EXPR_INT, 0);
    static const enum expr_op unary[] = {
        EXPR_NEG,     EXPR_ABS,  EXPR_EXP,  EXPR_LOG,  EXPR_SQRT,      EXPR_RSQRT,       EXPR_TANH,
        EXPR_SIGMOID, EXPR_RELU, EXPR_SILU, EXPR_GELU, EXPR_GELU_TANH, EXPR_TANH_APPROX, EXPR_GELU_TANH_APPROX};
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
        root[count++] = add(g, unary[i], EXPR_REAL, acc, -1, -1);
    static const enum expr_op binary[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_DIV, EXPR_MIN, EXPR_MAX};
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        root[count++] = add(g, binary[i], EXPR_REAL, acc, n, -1);
    static const enum expr_op whole[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_FLOORDIV, EXPR_MOD, EXPR_MIN, EXPR_MAX};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        root[count++] = add(g, whole[i], EXPR_INT, n, m, -1);
    root[count++] = add(g, EXPR_ABS, EXPR_INT, n, -1, -1);
    root[count++] = add(g, EXPR_MUL, EXPR_REAL, acc, expr_real(g, -(double)INFINITY), -1);
    static const enum expr_op compare[] = {EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE, EXPR_EQ, EXPR_NE};
    for (size_t i = 0; i < sizeof compare / sizeof *compare; i++)
        root[count++] = add(g, EXPR_SELECT, EXPR_REAL, add(g, compare[i], EXPR_PRED, acc, n, -1), acc, m);
    for (int dtype = 0; dtype < TW_DTYPE_COUNT; dtype++)
        root[count++] = add_cast(g, (enum tw_dtype)dtype, acc);
    return count;
}

static const struct expr_graph *walked;

static void walk(const void *model, const struct sink *s)
{
    static const char *const word[EXPR_OP_COUNT] = {
#define EXPR_OP(id, name, arity, rule, spelling) #id,
#include "spec/expr_ops.def"
#undef EXPR_OP
    };
    static const char *const type[] = {"int", "real", "pred"};
    (void)model;
    s->object(s->context, NULL);
    s->array(s->context, "fused");
    for (int i = 0; i < walked->count; i++) {
        s->object(s->context, NULL);
        s->text(s->context, "op", word[walked->node[i].op]);
        s->text(s->context, "type", type[walked->node[i].type]);
        s->array(s->context, "arg");
        for (int a = 0; a < 3 && walked->node[i].arg[a] >= 0; a++)
            s->integer(s->context, NULL, walked->node[i].arg[a]);
        s->end(s->context);
        if (walked->node[i].op == EXPR_CONST_REAL) {
            char real[40];
            snprintf(real, sizeof real, "%.17g", walked->node[i].real);
            s->text(s->context, "real", real);
        }
        if (walked->node[i].op == EXPR_CAST)
            s->text(s->context, "dtype", tw_dtype_name(walked->node[i].dtype));
        s->end(s->context);
    }
    s->end(s->context);
    s->end(s->context);
}

static void *open_library(const char *stem)
{
    const char *home = getenv("CUDA_HOME");
    const char *const folder[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda"};
    static const char *const version[] = {"", ".13", ".12"};
    for (size_t f = 0; f < 2; f++) {
        for (size_t v = 0; v < 3; v++) {
            char path[512];
            snprintf(path, sizeof path, "%s/lib64/%s.so%s", folder[f], stem, version[v]);
            void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
            if (library)
                return library;
        }
    }
    return NULL;
}

static char *all_in_one_source(void)
{
    struct expr_graph g = {0};
    struct arena arena = {0};
    struct emit_text out = {.arena = &arena};
    int root[128], count = everything(&g, root);
    const char *result[128];
    assert_int_equal(expr_print_cuda(&g, root, count, &names, &out, result), 0);
    struct emit_text kernel = {.arena = &arena};
    text_string(&kernel, "//@ param fused table\n//@ include \"blocks/math.cuh\" fused = fused\n"
                         "extern \"C\" __global__ void all(float *out, float acc0, long long m, long long n)\n{\n");
    text_add(&kernel, out.data, out.length);
    for (int i = 0; i < count; i++)
        text_format(&kernel, "\n    out[%d] = (float)%s;", i, result[i]);
    text_string(&kernel, "\n}\n");
    const struct emit_source source = {"all.cu", kernel.data, kernel.length};
    const struct emit_options options = {.source = &source, .source_count = 1};
    const struct emit_model model = {.root = "plan", .walk = walk};
    struct diag_set diags = {0};
    char *text = NULL;
    size_t length;
    walked = &g;
    int status = emit_expand("all.cu", &model, &options, &text, &length, &diags);
    diag_print(&diags, stderr);
    assert_int_equal(status, 0);
    diag_free(&diags);
    expr_free(&g);
    arena_free(&arena);
    return text;
}

static void nvrtc_takes_it(void **state)
{
    (void)state;
    (void)open_library("libnvrtc-builtins"); /* libnvrtc looks for it by bare name */
    void *library = open_library("libnvrtc");
    char *source = all_in_one_source();
    if (!library) {
        print_message("# not run: no NVRTC below $CUDA_HOME or /usr/local/cuda\n");
        free(source);
        skip();
        return;
    }
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*destroy)(void **);
    *(void **)&create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&destroy = dlsym(library, "nvrtcDestroyProgram");
    assert_true(create && compile && log_size && log && destroy);
    static const char *const arch[] = {"--gpu-architecture=sm_90a", "--gpu-architecture=sm_89"};
    for (size_t i = 0; i < 2; i++) {
        void *program = NULL;
        size_t bytes = 0;
        assert_int_equal(create(&program, source, "/tilewright/all.cu", 0, NULL, NULL), 0);
        int status = compile(program, 1, &arch[i]);
        assert_int_equal(log_size(program, &bytes), 0);
        char *messages = calloc(1, bytes + 1);
        assert_non_null(messages);
        assert_int_equal(log(program, messages), 0);
        assert_string_equal(messages, "");
        assert_int_equal(status, 0);
        free(messages);
        destroy(&program);
    }
    free(source);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void every_allocation_fails(void **state)
{
    (void)state;
    struct expr_graph g = {0};
    int root[128], count = everything(&g, root), status = 3;
    const char *result[128];
    for (long fail = 1; status; fail = failing_next(fail)) {
        struct failing f = {.fail_at = fail};
        struct arena arena = {.memory = {failing_alloc, &f}};
        struct emit_text out = {.arena = &arena};
        status = expr_print_cuda(&g, root, count, &names, &out, result);
        assert_true(status == (f.calls >= fail ? 3 : 0));
        arena_free(&arena);
    }
    expr_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements),
        cmocka_unit_test(constants),
        cmocka_unit_test(nvrtc_takes_it),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("expr_cuda", tests, NULL, NULL);
}
