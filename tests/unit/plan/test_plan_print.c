/* A Plan printed: JSON that is well-formed, complete and the same each time, and tables. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_samples.h"

#include "plan/json.h"

static struct plan *sample(struct plan *p)
{
    sample_gemm_sm90(p, (struct sample_gemm){.stages = 4, .consumers = 2, .cluster_m = 2, .d_stages = 2, .d_tiles = 1});
    p->scalar = plan_alloc(p, sizeof *p->scalar);
    p->scalar[0] = (struct spec_scalar){.name = "alpha", .dtype = TW_FP32, .value = 0.1};
    p->scalar_count = 1;
    struct expr_node acc = {.op = EXPR_ACC, .type = EXPR_REAL, .arg = {-1, -1, -1}};
    struct expr_node alpha = {.op = EXPR_SCALAR, .type = EXPR_REAL, .arg = {-1, -1, -1}};
    int product = expr_binary(&p->fused, EXPR_MUL, expr_add(&p->fused, &acc), expr_add(&p->fused, &alpha));
    assert_true(product >= 0);
    p->workspace_bytes = INT64_MAX;
    return p;
}

static char *json_of(const struct plan *p)
{
    char *text;
    size_t length;
    assert_int_equal(plan_print_json(p, &text, &length), 0);
    assert_int_equal(strlen(text), length);
    return text;
}

static void test_json_is_deterministic(void **state)
{
    (void)state;
    struct plan p, q;
    char *first = json_of(sample(&p)), *second = json_of(sample(&q));
    assert_string_equal(first, second);
    q.ring[0].stages = 5;
    free(second);
    second = json_of(&q);
    assert_string_not_equal(first, second);
    free(first);
    free(second);
    plan_free(&p);
    plan_free(&q);
}

/* Every key of the top level, in the order of the struct. */
static void test_json_is_complete(void **state)
{
    (void)state;
    static const char *const key[] = {
        "kernel",
        "entry",
        "variant",
        "arch",
        "family",
        "template_name",
        "line",
        "symbol",
        "axis",
        "tensor",
        "map",
        "scalar",
        "param",
        "param_bytes",
        "shared",
        "shared_align",
        "ring",
        "barrier",
        "role",
        "mma",
        "value",
        "launch",
        "workspace_bytes",
        "fused",
        "registers_estimate",
        "register_limit",
        "allow_spills",
        "blocks_per_sm",
        "flops",
        "bytes_moved",
        "reason",
    };
    struct plan p;
    char *text = json_of(sample(&p)), *at = text;
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  \"%s\": ", key[i]);
        at = strstr(at, line);
        if (!at)
            fail_msg("no %s", key[i]);
    }
    assert_non_null(strstr(text, "      \"tile\": [128, 64],\n"));
    assert_non_null(strstr(text, "\"workspace_bytes\": 9223372036854775807"));
    assert_non_null(strstr(text, "\"grid\": [\"sm_count\", \"1\", \"1\"]"));
    assert_non_null(strstr(text, "\"bytes_moved\": null"));
    assert_non_null(strstr(text, "\"scalar\": \"alpha\""));
    assert_non_null(strstr(text, "\"value\": \"0.10000000000000001\""));
    free(text);
    plan_free(&p);
}

/* Brackets match, strings end, and nothing but JSON's own words stands outside them. */
static void test_json_is_well_formed(void **state)
{
    (void)state;
    struct plan p;
    char *text = json_of(sample(&p)), open[64];
    int depth = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '"') {
            for (c++; *c != '"'; c++) {
                assert_true((unsigned char)*c >= 0x20);
                c += *c == '\\';
            }
        } else if (*c == '{' || *c == '[') {
            assert_true(depth < 64);
            open[depth++] = *c;
        } else if (*c == '}' || *c == ']') {
            assert_true(depth > 0 && open[--depth] == (*c == '}' ? '{' : '['));
        } else if (*c == ',') {
            assert_true(c[1] == '\n' || c[1] == ' ');
            assert_true(c[2 + (int)strspn(c + 2, " ")] != '}');
        }
    }
    assert_int_equal(depth, 0);
    free(text);
    plan_free(&p);
}

static void test_json_escapes(void **state)
{
    (void)state;
    struct json json = {0};
    struct sink s = json_sink(&json);
    char *text;
    size_t length;
    s.object(s.context, NULL);
    s.text(s.context, "a\"b", "back\\slash \"quote\" \n\t\x01 gr\xc3\xbc\xc3\x9f");
    s.array(s.context, "empty");
    s.end(s.context);
    s.object(s.context, "none");
    s.end(s.context);
    s.array(s.context, "mixed");
    s.integer(s.context, NULL, INT64_MIN);
    s.boolean(s.context, NULL, true);
    s.text(s.context, NULL, NULL);
    s.object(s.context, NULL);
    s.boolean(s.context, "x", false);
    s.end(s.context);
    s.end(s.context);
    s.end(s.context);
    assert_int_equal(json_finish(&json, &text, &length), 0);
    assert_string_equal(text, "{\n"
                              "  \"a\\\"b\": \"back\\\\slash \\\"quote\\\" \\n\\t\\u0001 gr\xc3\xbc\xc3\x9f\",\n"
                              "  \"empty\": [],\n"
                              "  \"none\": {},\n"
                              "  \"mixed\": [-9223372036854775808, true, null,\n"
                              "    {\n"
                              "      \"x\": false\n"
                              "    }\n"
                              "  ]\n"
                              "}\n");
    free(text);
}

static char *tables_of(const struct plan *p, bool why)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    plan_print_tables(p, why, out);
    fclose(out);
    return text;
}

static void test_tables(void **state)
{
    (void)state;
    struct plan p;
    char *text = tables_of(sample(&p), false), *why = tables_of(&p, true);
    assert_non_null(strstr(text, "kernel gemm_bf16 on sm_90a\n"));
    assert_non_null(strstr(text, "launch: grid (sm_count, 1, 1), block 384, cluster (2 x 1 x 1), 164928 bytes"));
    assert_non_null(strstr(text, "\n  ab    4       bulk     A B      1              32768          4\n"));
    assert_non_null(strstr(text, "\n  3         ab_wait_empty  wait_empty  ab            phase 1\n"));
    assert_non_null(strstr(text, "\n  B_map  B       64 x 64   1             2          128B     128B\n"));
    assert_null(strstr(text, "as many as shared memory holds"));
    assert_non_null(strstr(why, "\n  pipeline.stages  4      as many as shared memory holds\n"));
    for (const char *c = text; *c; c++)
        assert_false(*c == ' ' && c[1] == '\n'); /* no line ends in white space */
    free(text);
    free(why);
    plan_free(&p);
}

/* More cells than a table holds at once. */
static void test_long_tables(void **state)
{
    (void)state;
    struct plan p;
    sample(&p);
    enum { REASONS = 2000 };
    p.reason = plan_alloc(&p, REASONS * sizeof *p.reason);
    p.reason_count = REASONS;
    for (int i = 0; i < REASONS; i++)
        p.reason[i] =
            (struct plan_reason){plan_text(&p, "field.%d", i), "value", i % 3 ? "a reason of some length" : NULL};
    char *text = tables_of(&p, true);
    assert_non_null(strstr(text, "field.0 "));
    assert_non_null(strstr(text, "field.1999 "));
    free(text);
    plan_free(&p);
}

static void test_memory(void **state)
{
    (void)state;
    struct plan p = {0};
    char *bytes = plan_alloc(&p, 100000);
    assert_non_null(bytes);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(bytes[i], 0);
    assert_string_equal(plan_text(&p, "%s.%d", "tile", 7), "tile.7");
    plan_free(&p);
    assert_null(p.arena);
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_is_deterministic),
        cmocka_unit_test(test_json_is_complete),
        cmocka_unit_test(test_json_is_well_formed),
        cmocka_unit_test(test_json_escapes),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_long_tables),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
