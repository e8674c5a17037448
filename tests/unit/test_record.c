/* The recorder: what a template calls against what the Plan orders. Each planted fault is found, with role and step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"

#define STEP(operation, r, t, name)                                                                                    \
    {                                                                                                                  \
        .op = PLAN_##operation, .ring = r, .tensor = t, .call = name                                                   \
    }

static struct plan_step producer[] = {
    STEP(LOOP, -1, -1, "tiles"),      STEP(LOOP, -1, -1, "k"),    STEP(WAIT_EMPTY, 0, -1, "ab_wait_empty"),
    STEP(EXPECT, 0, -1, "ab_expect"), STEP(FILL, 0, 0, "A_load"), STEP(FILL, 0, 1, "B_load"),
    STEP(END, -1, -1, "k"),           STEP(END, -1, -1, "tiles"), STEP(DRAIN, 0, -1, "ab_drain"),
};
static struct plan_step consumer[] = {
    STEP(WAIT_FULL, 0, -1, "ab_wait_full"),
    STEP(READ, 0, 0, "mma"),
    STEP(READ, 0, 1, "mma"),
    STEP(MMA_COMMIT, 0, -1, NULL),
    STEP(MMA_WAIT, 0, -1, "mma"),
    STEP(RELEASE, 0, -1, "ab_release"),
    STEP(WAIT_FULL, 0, -1, "ab_wait_full"),
    STEP(LOOP, -1, -1, "k"),
    STEP(READ, 0, 1, "mma"),
    STEP(END, -1, -1, "k"),
    STEP(GLOBAL, -1, 2, "D_store"),
};
static struct plan_tensor tensor[] = {{.name = "A"}, {.name = "B"}, {.name = "D"}};
static struct plan_ring ring[] = {{.name = "ab", .stages = 4, .tensor = {0, 1}, .tensor_count = 2}};
static struct plan_role role[] = {
    {.name = "producer", .step = producer, .step_count = sizeof producer / sizeof *producer},
    {.name = "consumer", .step = consumer, .step_count = sizeof consumer / sizeof *consumer},
};
static const struct plan plan = {
    .kernel = "gemm",
    .entry = "gemm",
    .variant = "",
    .arch = "sm_90a",
    .template_name = "t.cu",
    .flops = -1,
    .bytes_moved = -1,
    .tensor = tensor,
    .tensor_count = 3,
    .ring = ring,
    .ring_count = 1,
    .role = role,
    .role_count = 2,
    .launch = {.grid = {-1, -1, -1}},
};

#define PRODUCER                                                                                                       \
    "//@ role \"producer\"\n"                                                                                          \
    "//@ loop \"tiles\"\n"                                                                                             \
    "while (next(tile)) {\n"                                                                                           \
    "#pragma unroll 1\n"                                                                                               \
    "//@ loop \"k\"\n"                                                                                                 \
    "for (int k = 0; k < steps; k++) {\n"                                                                              \
    "ab_wait_empty(p);\n"                                                                                              \
    "ab_expect(p);\n"                                                                                                  \
    "A_load(p); B_load(p);\n"                                                                                          \
    "}\n"                                                                                                              \
    "}\n"                                                                                                              \
    "ab_drain(p);\n"                                                                                                   \
    "//@ endrole\n"
#define CONSUMER                                                                                                       \
    "//@ role \"consumer\"\n"                                                                                          \
    "//@ include \"wait.cuh\" ring = \"ab\"\n"                                                                         \
    "mma(sum); // mma(again)\n"                                                                                        \
    "if (step > 0) { ab_release(p); }\n"                                                                               \
    "/* ab_release(p);\n"                                                                                              \
    "   mma(sum); */ ab_wait_full (p);\n"                                                                              \
    "//@ local name = \"k\"\n"                                                                                         \
    "//@ loop \"${name}\"\n"                                                                                           \
    "// the rest\n"                                                                                                    \
    "while (f({1, 2}, ')'))\n"                                                                                         \
    "{ x.mma(1); p->mma(2); my_mma(3); for (;;) { char c = '{'; mma(sum); } }\n"                                       \
    "log(\"mma(sum) }\"); D_store\n"                                                                                   \
    "(sum);\n"                                                                                                         \
    "//@ endrole\n"

static const struct emit_source wait_block = {"wait.cuh", "//@ param ring text\n{ ${ring}_wait_full(p); }\n",
                                              sizeof "//@ param ring text\n{ ${ring}_wait_full(p); }\n" - 1};

/* The diagnostics of one expansion, "" where there are none. */
static char *faults_of(const struct plan *p, const char *template)
{
    const struct emit_source source[] = {{"t.cu", template, strlen(template)}, wait_block};
    const struct emit_options options = {.source = source, .source_count = 2, .generator_version = 1};
    struct diag_set diags = {0};
    char *text = NULL, *found = NULL;
    size_t length, bytes;
    int status = emit_template("t.cu", p, &options, &text, &length, &diags);
    assert_int_equal(status, diags.errors > 0);
    assert_true((text != NULL) == (status == 0));
    FILE *out = open_memstream(&found, &bytes);
    for (int i = 0; i < diags.count; i++) {
        diag_print_one(&diags, i, out);
    }
    fclose(out);
    diag_free(&diags);
    free(text);
    return found;
}

static void check(const struct plan *p, const char *template, const char *expected)
{
    char *found = faults_of(p, template);
    size_t length = strlen(found);
    if (length && found[length - 1] == '\n')
        found[length - 1] = 0;
    assert_string_equal(found, expected);
    free(found);
}

/* PRODUCER with the first occurrence of one text replaced by another. */
static char *planted(const char *template, const char *from, const char *to)
{
    const char *at = strstr(template, from);
    assert_non_null(at);
    char *text = malloc(strlen(template) + strlen(to) + 1);
    assert_non_null(text);
    sprintf(text, "%.*s%s%s", (int)(at - template), template, to, at + strlen(from));
    return text;
}

static void equal_order_is_silent(void **state)
{
    (void)state;
    check(&plan, PRODUCER CONSUMER, "");
    check(&plan, CONSUMER PRODUCER, "");
    /* a role in two parts */
    char *parts =
        planted(PRODUCER CONSUMER, "ab_drain(p);\n", "//@ endrole\nx;\n//@ role \"producer\"\nab_drain(p);\n");
    check(&plan, parts, "");
    free(parts);
    /* calls outside of roles, as in definitions */
    check(&plan, "void A_load(int p) { mma(1); }\n" PRODUCER CONSUMER "A_load(1);\n", "");
}

static void planted_faults_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } fault[] = {
        {"ab_expect(p);\n", "",
         "t.cu:8: error: kernel 'gemm': role 'producer', step 4 (expect, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "ab_expect, the template has a call of A_load [TEMPLATE-ORDER]"},
        {"B_load(p);", "",
         "t.cu:10: error: kernel 'gemm': role 'producer', step 6 (fill B, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "B_load, the template has the end of loop 'k' [TEMPLATE-ORDER]"},
        {"A_load(p); B_load(p);", "B_load(p); A_load(p);",
         "t.cu:9: error: kernel 'gemm': role 'producer', step 5 (fill A, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "A_load, the template has a call of B_load [TEMPLATE-ORDER]"},
        {"ab_expect(p);", "ab_expect(p);\nab_expect(p);",
         "t.cu:9: error: kernel 'gemm': role 'producer', step 5 (fill A, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "A_load, the template has a call of ab_expect [TEMPLATE-ORDER]"},
        {"ab_drain(p);\n", "",
         "t.cu:12: error: kernel 'gemm': role 'producer', step 9 (drain, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "ab_drain, the template has the end of the role [TEMPLATE-ORDER]"},
        {"ab_drain(p);\n", "ab_drain(p);\nmma(p);\n",
         "t.cu:13: error: kernel 'gemm': role 'producer', after its last step: the Plan orders the end of the role, "
         "the "
         "template has a call of mma [TEMPLATE-ORDER]"},
        {"//@ loop \"k\"\n", "",
         "t.cu:6: error: kernel 'gemm': role 'producer', step 2 (loop): the Plan orders the beginning of loop 'k', the "
         "template has a call of ab_wait_empty [TEMPLATE-ORDER]"},
        {"ab_release(p);", "",
         "t.cu:19: error: kernel 'gemm': role 'consumer', step 6 (release, ring 'ab', stage i % 4): the Plan orders a "
         "call of "
         "ab_release, the template has a call of ab_wait_full [TEMPLATE-ORDER]"},
        {"//@ include \"wait.cuh\" ring = \"ab\"\n", "",
         "t.cu:15: error: kernel 'gemm': role 'consumer', step 1 (wait_full, ring 'ab', stage 0): the Plan orders a "
         "call of "
         "ab_wait_full, the template has a call of mma [TEMPLATE-ORDER]"},
        {" ab_wait_full (p)", "",
         "t.cu:23: error: kernel 'gemm': role 'consumer', step 7 (wait_full, ring 'ab', stage 1): the Plan orders a "
         "call of "
         "ab_wait_full, the template has the beginning of loop 'k' [TEMPLATE-ORDER]"},
    };
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        char *text = planted(PRODUCER CONSUMER, fault[i].from, fault[i].to);
        check(&plan, text, fault[i].message);
        free(text);
    }
}

/* The same template against a Plan with one step changed. */
static void changed_plans_are_found(void **state)
{
    (void)state;
    struct plan_step step = producer[4];
    producer[4] = producer[5];
    producer[5] = step;
    check(&plan, PRODUCER CONSUMER,
          "t.cu:9: error: kernel 'gemm': role 'producer', step 5 (fill B, ring 'ab', stage i % 4): the Plan orders a "
          "call of "
          "B_load, the template has a call of A_load [TEMPLATE-ORDER]");
    producer[5] = producer[4];
    producer[4] = step;
    consumer[10].call = "B_load";
    check(&plan, PRODUCER CONSUMER,
          "t.cu:27: error: kernel 'gemm': role 'consumer', step 11 (global D): the Plan orders a call of B_load, the "
          "template has the end of the role [TEMPLATE-ORDER]");
    consumer[10].call = "D_store";
}

static void roles_and_loops(void **state)
{
    (void)state;
    static const struct {
        const char *template, *message;
    } fault[] = {
        {PRODUCER,
         "t.cu:1: error: kernel 'gemm': the Plan has a role 'consumer', which the template never opens; write //@ role "
         "\"consumer\" ... //@ endrole around its program [TEMPLATE-ORDER]"},
        {PRODUCER CONSUMER "//@ role \"consumr\"\n",
         "t.cu:28: error: kernel 'gemm': the Plan has no role 'consumr'; did you mean 'consumer'? [TEMPLATE-ORDER]"},
        {PRODUCER "//@ role \"consumer\"\n//@ role \"producer\"\n",
         "t.cu:15: error: kernel 'gemm': role 'producer' begins inside of role 'consumer', which was opened in line "
         "14; end that "
         "first [TEMPLATE-ORDER]"},
        {"//@ endrole\n", "t.cu:1: error: kernel 'gemm': no role is open here [TEMPLATE-ORDER]"},
        {"//@ loop \"k\"\n",
         "t.cu:1: error: kernel 'gemm': loop 'k' stands in no role; open one: //@ role \"NAME\" [TEMPLATE-ORDER]"},
        {"//@ role \"producer\"\n//@ loop \"k\"\nx;\n", "t.cu:3: error: kernel 'gemm': this line begins no loop; //@ "
                                                        "loop \"k\" stands before a for or while [TEMPLATE-ORDER]"},
        {"//@ role \"producer\"\n//@ loop \"k\"\nfor (;;)\n    x;\n",
         "t.cu:2: error: kernel 'gemm': the body of loop 'k' has no braces; its end cannot be seen without "
         "[TEMPLATE-ORDER]"},
        {"//@ role \"producer\"\n//@ loop \"k\"\nfor (;;) {\n//@ endrole\n",
         "t.cu:4: error: kernel 'gemm': loop 'k' of line 2 does not end in role 'producer' [TEMPLATE-ORDER]"},
        {"//@ role \"producer\"\n//@ loop \"k\"\n//@ loop \"tiles\"\n",
         "t.cu:3: error: kernel 'gemm': loop 'tiles' follows loop 'k' without a line that begins one [TEMPLATE-ORDER]"},
        {CONSUMER "//@ role \"producer\"\n",
         "t.cu:15: error: kernel 'gemm': role 'producer' is not closed; write //@ endrole [TEMPLATE-ORDER]"},
        {"//@ role \"producer\" x\n",
         "t.cu:1: error: kernel 'gemm': nothing follows the name of a role [TEMPLATE-DIRECTIVE]"},
        {"//@ role\n",
         "t.cu:1: error: kernel 'gemm': a name in quotes is missing; write //@ role \"NAME\" [TEMPLATE-DIRECTIVE]"},
    };
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++)
        check(&plan, fault[i].template, fault[i].message);
}

/* Fails call number `fail` and counts what is not given back. */
struct failing {
    long calls, fail, blocks;
};

static void *failing_alloc(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct failing *f = context;
    (void)old_size;
    if (new_size == 0) {
        f->blocks -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (++f->calls == f->fail)
        return NULL;
    f->blocks += pointer == NULL;
    return realloc(pointer, new_size);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    char *wrong = planted(PRODUCER CONSUMER, "ab_expect(p);\n", "");
    const char *const template[] = {PRODUCER CONSUMER, wrong};
    for (int which = 0; which < 2; which++) {
        const struct emit_source source[] = {{"t.cu", template[which], strlen(template[which])}, wait_block};
        int status = 3;
        for (long fail = 1; status == 3; fail++) {
            struct failing f = {.fail = fail};
            const struct emit_options options = {.source = source, .source_count = 2, .memory = {failing_alloc, &f}};
            struct diag_set diags = {0};
            char *text;
            size_t length;
            status = emit_template("t.cu", &plan, &options, &text, &length, &diags);
            assert_true(status == 3 || status == which);
            if (text)
                failing_alloc(&f, text, length + 1, 0);
            assert_int_equal(f.blocks, 0);
            diag_free(&diags);
        }
        assert_int_equal(status, which);
    }
    free(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_order_is_silent),   cmocka_unit_test(planted_faults_are_found),
        cmocka_unit_test(changed_plans_are_found), cmocka_unit_test(roles_and_loops),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
