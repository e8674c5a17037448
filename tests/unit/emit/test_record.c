/* The recorder: what a template does against what the Plan orders. Each planted fault is found, with role and step;
 * each form in which an operation could hide from the record is refused. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/rounds.h"
#include "emit/emit.h"

#define STEP(operation, r, t, name)                                                                                    \
    {                                                                                                                  \
        .op = PLAN_##operation, .ring = r, .tensor = t, .call = name                                                   \
    }

static struct plan_step producer[] = {
    STEP(LOOP, -1, -1, "tiles"),
    STEP(LOOP, -1, -1, "k"),
    {.op = PLAN_WAIT_EMPTY, .tensor = -1, .phase = 1, .call = "ab_wait_empty"},
    {.op = PLAN_EXPECT, .tensor = -1, .count = 512, .call = "ab_expect"},
    {.op = PLAN_FILL, .tensor = 0, .count = 256, .call = "A_load"},
    {.op = PLAN_FILL, .tensor = 1, .count = 256, .call = "B_load"},
    STEP(END, -1, -1, NULL),
    STEP(END, -1, -1, NULL),
    STEP(DRAIN, 0, -1, "ab_drain"),
};
static struct plan_step consumer[] = {
    STEP(LOOP, -1, -1, "tiles"),
    STEP(LOOP, -1, -1, "k"),
    STEP(WAIT_FULL, 0, -1, "ab_wait_full"),
    {.op = PLAN_READ, .tensor = 0, .count = 1, .call = "mma"},
    {.op = PLAN_READ, .tensor = 1, .count = 1, .call = "mma"},
    STEP(MMA_COMMIT, -1, -1, "mma_commit"),
    {.op = PLAN_MMA_WAIT, .ring = -1, .tensor = -1, .count = 1, .call = "mma_wait_1"},
    {.op = PLAN_RELEASE, .tensor = -1, .count = 1, .arrivals = 4, .call = "ab_release"},
    STEP(END, -1, -1, NULL),
    STEP(MMA_WAIT, -1, -1, "mma_wait_0"),
    {.op = PLAN_RELEASE, .tensor = -1, .count = 0, .arrivals = 4, .call = "ab_release"},
    STEP(GLOBAL, -1, 2, "D_store"),
    STEP(END, -1, -1, NULL),
};
static struct plan_tensor tensor[] = {{.name = "A"}, {.name = "B"}, {.name = "D"}};
static struct plan_ring ring[] = {{.name = "ab", .stages = 4, .tensor = {0, 1}, .tensor_count = 2}};
static struct plan_role role[] = {
    {.name = "producer",
     .instances = 1,
     .warps = 4,
     .step = producer,
     .step_count = sizeof producer / sizeof *producer},
    {.name = "consumer",
     .instances = 2,
     .first_warp = 4,
     .warps = 8,
     .step = consumer,
     .step_count = sizeof consumer / sizeof *consumer},
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
    .launch = {.grid = {-1, -1, -1}, .block = 384},
};

/* A block: every operation of the Plan, and a part. */
#define FUNCTION(name, op) "//@ op " op "\n__device__ void " name "(int &p)\n{\n    spin(p);\n}\n"
static const char block[] =
    "//@ param phase int\n"
    "__device__ int spin(int n)\n{\n    return n;\n}\n"
    "//@ op part\n__device__ void arrive(int n)\n{\n    asm volatile(\"mbarrier.arrive.b64 _, [%0];\" ::\"r\"(n));\n}\n"
    "//@ op meet\n__device__ void meet_all()\n{\n    __syncthreads();\n}\n"
    "//@ op turns\n__device__ bool next(int &tile)\n{\n    return --tile > 0;\n}\n" FUNCTION(
        "ab_wait_empty", "wait_empty ring = 'ab', phase = phase, by = 'one'")
        FUNCTION("ab_expect", "expect ring = 'ab', count = 512, by = 'one'")
            FUNCTION("A_load", "fill tensor = 'A', count = 256, by = 'one'")
                FUNCTION("B_load", "fill tensor = 'B',\n//@     ring = 'ab', count = 256, by = 'one'")
                    FUNCTION("ab_drain", "drain ring = 'ab', by = 'one'")
                        FUNCTION("ab_wait_full", "wait_full ring = 'ab'")
                            FUNCTION("mma", "read tensor = 'A', count = 1\n//@ op read tensor = 'B', count = 1")
                                FUNCTION("mma_commit", "mma_commit") FUNCTION("mma_wait_1", "mma_wait count = 1")
                                    FUNCTION("mma_wait_0", "mma_wait count = 0")
                                        FUNCTION("ab_release", "release ring = 'ab'")
                                            FUNCTION("D_store", "global tensor = 'D'");

#define HEAD                                                                                                           \
    "//@ include \"block.cuh\" phase = 1\n"                                                                            \
    "__global__ void gemm(const arguments args)\n"                                                                     \
    "{\n"                                                                                                              \
    "    const int steps = (int)((args.K + 63) / 64), thread = threadIdx.x;\n"                                         \
    "    int tile = 0;\n"
#define PRODUCER                                                                                                       \
    "//@ role \"producer\"\n"                                                                                          \
    "//@ elect\n"                                                                                                      \
    "            int p = 0;\n"                                                                                         \
    "//@ loop \"tiles\" while next(tile)\n"                                                                            \
    "                #pragma unroll 1\n"                                                                               \
    "//@ loop \"k\" step < steps\n"                                                                                    \
    "                    ab_wait_empty(p);\n"                                                                          \
    "                    ab_expect(p);\n"                                                                              \
    "                    A_load(p); B_load(p);\n"                                                                      \
    "//@ endloop\n"                                                                                                    \
    "//@ endloop\n"                                                                                                    \
    "            ab_drain(p);\n"                                                                                       \
    "//@ endelect\n"                                                                                                   \
    "//@ endrole\n"
#define CONSUMER                                                                                                       \
    "//@ role \"consumer\"\n"                                                                                          \
    "        int q = 0, x[] = {1, 2};\n"                                                                               \
    "//@ local name = \"k\"\n"                                                                                         \
    "//@ loop \"tiles\" while next(tile)\n"                                                                            \
    "//@ loop \"${name}\" step < steps\n"                                                                              \
    "                ab_wait_full(q);\n"                                                                               \
    "                mma(q); // mma(again)\n"                                                                          \
    "                mma_commit(q); /* mma(q);\n"                                                                      \
    "                ab_release(q); */ mma_wait_1 (q);\n"                                                              \
    "//@ when step > 0\n"                                                                                              \
    "                    ab_release(q);\n"                                                                             \
    "//@ endwhen\n"                                                                                                    \
    "//@ endloop\n"                                                                                                    \
    "            mma_wait_0(q);\n"                                                                                     \
    "//@ when steps >= 1\n"                                                                                            \
    "                ab_release(q);\n"                                                                                 \
    "//@ endwhen\n"                                                                                                    \
    "            if (thread < 3) { for (;;) { if (s.mma(1) || p->mma(2)) break; log(\"mma(q) }\"); } }\n"              \
    "            { D_store\n"                                                                                          \
    "(q); }\n"                                                                                                         \
    "//@ endloop\n"                                                                                                    \
    "//@ endrole\n"
#define WHOLE HEAD PRODUCER CONSUMER "}\n"

static const struct emit_source block_source = {"block.cuh", block, sizeof block - 1};

/* The diagnostics of one expansion, "" where there are none; *emitted, where asked for, is the text. */
static char *faults_of(const struct plan *p, const char *template, char **emitted)
{
    const struct emit_source source[] = {{"t.cu", template, strlen(template)}, block_source};
    const struct emit_options options = {.source = source, .source_count = 2, .generator_version = 1};
    struct diag_set diags = {0};
    char *text = NULL, *found = NULL;
    size_t length, bytes;
    int status = emit_template("t.cu", p, &options, &text, &length, &diags);
    assert_int_equal(status, diags.errors > 0);
    assert_true((text != NULL) == (status == 0));
    FILE *out = open_memstream(&found, &bytes);
    for (int i = 0; i < diags.count; i++)
        diag_print_one(&diags, i, out);
    fclose(out);
    diag_free(&diags);
    if (emitted)
        *emitted = text;
    else
        free(text);
    return found;
}

static void check(const struct plan *p, const char *template, const char *expected)
{
    char *found = faults_of(p, template, NULL);
    size_t length = strlen(found);
    if (length && found[length - 1] == '\n')
        found[length - 1] = 0;
    assert_string_equal(found, expected);
    free(found);
}

/* A text with the first occurrence of one text replaced by another. */
static char *planted(const char *template, const char *from, const char *to)
{
    const char *at = strstr(template, from);
    if (!at)
        fail_msg("the template has no '%s'", from);
    char *text = malloc(strlen(template) + strlen(to) + 1);
    assert_non_null(text);
    sprintf(text, "%.*s%s%s", (int)(at - template), template, to, at + strlen(from));
    return text;
}

static void directives_emit(void **state)
{
    (void)state;
    char *text = NULL, *found = faults_of(&plan, WHOLE, &text);
    assert_string_equal(found, "");
    free(found);
    static const char *const line[] = {
        "\n    if (threadIdx.x < 128) {\n        if (threadIdx.x == 0) {\n            int p = 0;\n"
        "            while (next(tile)) {\n                #pragma unroll 1\n"
        "                for (int step = 0; step < steps; ++step) {\n                    ab_wait_empty(p);\n",
        "                }\n            }\n            ab_drain(p);\n        }\n    } else {\n        int q = 0",
        "                if (step > 0) {\n                    ab_release(q);\n                }\n            }\n",
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        if (!strstr(text, line[i]))
            fail_msg("wanted\n%s\nin\n%s", line[i], text);
    free(text);
}

static void equal_order_is_silent(void **state)
{
    (void)state;
    check(&plan, WHOLE, "");
    check(&plan, HEAD CONSUMER PRODUCER "}\n", "");
    static const char *const harmless[][2] = {
        /* a role in two parts */
        {"            ab_drain(p);\n", "//@ endelect\n//@ endrole\n    spin(1);\n//@ role \"producer\"\n//@ elect\n    "
                                       "int p = 1;\n    ab_drain(p);\n"},
        {"ab_expect(p);", "{ ab_expect(p); }"},
        {"ab_expect(p);", "if (p) spin(1); else spin(2); ab_expect(p);"},
        {"ab_expect(p);", "do { spin(1); } while (p); ab_expect(p);"},
        {"ab_expect(p);", "switch (p) { case 1: spin(1); break; default: break; }\nab_expect(p);"},
        {"ab_expect(p);", "auto f = [&](int a) { spin(a); };\nab_expect(p);"},
        {"mma(q);", "const int value = 1 + (int)mma(q);"},
        {"mma(q);", "if (q) { for (int i = 0; i < 3; ++i) { if (i == q) continue; spin(i); } } mma(q);"},
        {"step > 0", "steps - step + 1 < steps + 1"},
        {"    int tile = 0;\n", "    int tile = 0;\n    if (thread == 0) spin(1);\n    meet_all();\n"},
        {"    int tile = 0;\n", "    int tile = 0;\n    __syncthreads();\n"},
    };
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        char *text = planted(WHOLE, harmless[i][0], harmless[i][1]);
        check(&plan, text, "");
        free(text);
    }
}

/* Each text is refused, at the line and with the words that are told. */
struct refused {
    const char *from, *to; /* what of the whole template is replaced */
    int line;
    const char *message, *rule;
};

static void refuse(const struct refused *r, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        char *text = planted(WHOLE, r[i].from, r[i].to), *found = faults_of(&plan, text, NULL), where[64], rule[64];
        snprintf(where, sizeof where, "t.cu:%d: error: kernel 'gemm': ", r[i].line);
        snprintf(rule, sizeof rule, " [%s]\n", r[i].rule);
        if (strncmp(found, where, strlen(where)) != 0 || !strstr(found, r[i].message) || !strstr(found, rule)) {
            print_error("'%s' -> '%s': wanted %s... %s ...%sfound %s\n", r[i].from, r[i].to, where, r[i].message, rule,
                        found);
            wrong++;
        }
        free(found);
        free(text);
    }
    assert_int_equal(wrong, 0);
}
#define REFUSE(list) refuse(list, sizeof(list) / sizeof *(list))

static void other_orders_are_found(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        {"ab_expect(p);\n", "", 13,
         "role 'producer', step 4 (expect, ring 'ab', stage i % 4): the Plan orders a call of ab_expect, the template "
         "has a call of A_load",
         "TEMPLATE-ORDER"},
        {"B_load(p);", "", 15,
         "step 6 (fill B, ring 'ab', stage i % 4): the Plan orders a call of B_load, the template has the end of loop "
         "'k'",
         "TEMPLATE-ORDER"},
        {"A_load(p); B_load(p);", "B_load(p); A_load(p);", 14,
         "step 5 (fill A, ring 'ab', stage i % 4): the Plan orders a call of A_load, the template has a call of B_load",
         "TEMPLATE-ORDER"},
        {"ab_expect(p);", "ab_expect(p);\nab_expect(p);", 14,
         "the Plan orders a call of A_load, the template has a call of ab_expect", "TEMPLATE-ORDER"},
        {"            ab_drain(p);\n", "", 18,
         "step 9 (drain, ring 'ab', stage i % 4): the Plan orders a call of ab_drain, the template has the end of the "
         "role",
         "TEMPLATE-ORDER"},
        {"mma_wait_1 (q);\n", "mma_wait_0(q);\n", 28,
         "step 7 (mma_wait): the Plan orders a call of mma_wait_1, the template has a call of mma_wait_0",
         "TEMPLATE-ORDER"},
        /* a release before the wait that covers it, and other guards than the Plan's */
        {"step > 0", "step >= 0", 30, "the Plan orders the end of loop 'k', the template has a call of ab_release",
         "TEMPLATE-ORDER"},
        {"step > 0", "step == 0", 30, "the Plan orders the end of loop 'k', the template has a call of ab_release",
         "TEMPLATE-ORDER"},
        {"step > 0", "step > 1", 32, "the Plan orders a call of ab_release, the template has the end of loop 'k'",
         "TEMPLATE-ORDER"},
        {"step > 0", "step + 1 < steps", 30, "the template has a call of ab_release", "TEMPLATE-ORDER"},
        {"steps >= 1", "steps > 7", 38, "the Plan orders a call of ab_release, the template has a call of D_store",
         "TEMPLATE-ORDER"},
        {"steps >= 1", "steps >= 0", 35, "the template has a call of ab_release", "TEMPLATE-ORDER"},
        {"//@ loop \"${name}\" step < steps", "//@ loop \"${name}\" step < 4", 24, "'steps' elsewhere",
         "TEMPLATE-GUARD"},
        {"//@ loop \"${name}\" step < steps", "//@ loop \"other\" step < 4", 24,
         "the Plan orders the beginning of loop 'k', the template has the beginning of loop 'other' of 4 trips",
         "TEMPLATE-ORDER"},
    };
    REFUSE(fault);
}

/* An operation that not every thread of the role comes by, or comes by another number of times than the text shows. */
#define GUARD(from, to, line, message)                                                                                 \
    {                                                                                                                  \
        from, to, line, message, "TEMPLATE-GUARD"                                                                      \
    }

/* Calls under conditions and in expressions. */
static void other_control_flow_is_refused(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        GUARD("ab_expect(p);", "if (threadIdx.x == 999)\nab_expect(p);", 14, "under the 'if' of line 13"),
        GUARD("ab_expect(p);", "if (threadIdx.x == 999) ab_expect(p);", 13, "under the 'if' of line 13"),
        GUARD("ab_expect(p);", "if (threadIdx.x == 999) {\nab_expect(p);\n}", 14, "write //@ when CONDITION"),
        GUARD("ab_expect(p);", "if (0) ab_expect(p);", 13, "under the 'if'"),
        GUARD("ab_expect(p);", "if (p) spin(1); else ab_expect(p);", 13, "under the 'else'"),
        GUARD("ab_expect(p);", "if (p) { spin(1); } else { ab_expect(p); }", 13, "under the 'else'"),
        GUARD("ab_expect(p);", "for (int i = 0; i < 1; ++i) ab_expect(p);", 13, "under the 'for'"),
        GUARD("ab_expect(p);", "for (ab_expect(p); p; ) spin(1);", 13, "under the 'for'"),
        GUARD("ab_expect(p);", "while (p) { ab_expect(p); }", 13, "under the 'while'"),
        GUARD("ab_expect(p);", "do ab_expect(p); while (p);", 13, "under the 'do'"),
        GUARD("ab_expect(p);", "do { ab_expect(p); } while (p);", 13, "under the 'do'"),
        GUARD("ab_expect(p);", "switch (p) { case 0: ab_expect(p); }", 13, "under the 'switch'"),
        GUARD("ab_expect(p);", "if (ab_expect(p)) spin(1);", 13, "under the 'if'"),
        GUARD("ab_expect(p);", "p ? ab_expect(p) : spin(p);", 13, "in an expression with '?'"),
        GUARD("ab_expect(p);", "(void)(p && ab_expect(p));", 13, "in an expression with '&&'"),
        GUARD("ab_expect(p);", "(void)(p || ab_expect(p));", 13, "in an expression with '||'"),
        GUARD("ab_expect(p);", "(void)(p and ab_expect(p));", 13, "in an expression with 'and'"),
        GUARD("ab_expect(p);", "spin(sizeof(ab_expect(p)));", 13, "in an expression with 'sizeof'"),
        GUARD("ab_expect(p);", "static int once = ab_expect(p);", 13, "in an expression with 'static'"),
        GUARD("ab_expect(p);", "spin(ab_expect(p), A_load(p));", 13, "whose order is open"),
        GUARD("ab_expect(p);", "auto f = [&] { ab_expect(p); };", 13, "between the braces of an expression"),
        GUARD("ab_expect(p);", "auto f = [&](int) { ab_expect(p); }; f(1);", 13, "between the braces"),
        GUARD("ab_expect(p);", "auto f = ab_expect; f(p);", 13, "is not called here"),
        GUARD("ab_expect(p);", "call(ab_expect, p);", 13, "is not called here"),
        GUARD("ab_expect(p);", "later: ab_expect(p);", 13, "in an expression with ':'"),
        GUARD("ab_expect(p);", "if (p) goto later;", 13, "'goto' in a kernel"),
        GUARD("ab_expect(p);", "if (p) return;", 13, "'return' in a kernel"),
        GUARD("    int tile = 0;\n", "    int tile = 0;\n    if (thread == 3) return;\n", 6, "'return' in a kernel"),
        GUARD("ab_expect(p);", "if (p) break;", 13, "'break' leaves a loop of //@ loop"),
        GUARD("ab_expect(p);", "if (p) { continue; }", 13, "'continue' leaves a loop of //@ loop"),
        GUARD("ab_expect(p);", "switch (p) { case 0: continue; }", 13, "'continue' leaves a loop of //@ loop"),
        GUARD("ab_expect(p);", "arrive(p);", 13, "'arrive' is a part of operations"),
        GUARD("ab_expect(p);", "next(tile);", 13, "'next' begins a loop's turn"),
        GUARD("ab_expect(p);", "meet_all();", 13, "all threads meet in 'meet_all'"),
        GUARD("ab_expect(p);", "__syncthreads();", 13, "all threads of the block meet in '__syncthreads'"),
        GUARD("    int tile = 0;\n", "    int tile = 0;\n    if (thread) __syncthreads();\n", 6, "'__syncthreads'"),
        GUARD("    int tile = 0;\n", "    int tile = 0;\n    if (thread) { meet_all(); }\n", 6, "under the 'if'"),
        GUARD("    int tile = 0;\n", "    int tile = 0;\n    ab_release(tile);\n", 6, "stands in no role"),
        GUARD("ab_expect(p);", "asm volatile(\"mbarrier.arrive.b64 _, [%0];\" :: \"r\"(p));", 13,
              "asm with mbarrier.arrive"),
        GUARD("ab_expect(p);", "asm volatile(\"exit;\");", 13, "asm with exit;"),
        GUARD("ab_expect(p);", "/*\n//@ endloop\n*/", 14, "//@ endloop stands in a comment"),
        GUARD("//@ loop \"k\" step < steps\n", "/*\n//@ loop \"k\" step < steps\n*/\n", 12,
              "//@ loop stands in a comment"),
        GUARD("ab_expect(p);", "asm volatile(\"mbar\"\n\"rier.arrive.b64 _, [%0];\" :: \"r\"(p));", 14,
              "asm with mbarrier.arrive"),
        GUARD("ab_expect(p);", "__trap();", 13, "'__trap' in a kernel"),
        GUARD("ab_expect(p);", "spin(\\u0061);", 13, "outside of a text"),
        GUARD("    int tile = 0;\n", "    int tile = 0;\n    dim3 threadIdx(1);\n", 6, "roles are told by threadIdx"),
        GUARD("void gemm(", "void other(", 6, "stands in the kernel 'other', and 'gemm' is launched"),
    };
    REFUSE(fault);
}

/* Directives under conditions of the text. */
static void other_control_flow_around_directives_is_refused(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        GUARD("//@ loop \"k\" step < steps\n", "if (threadIdx.x == 999)\n//@ loop \"k\" step < steps\n", 12,
              "stands in the statement that begins in line 11"),
        GUARD("//@ loop \"k\" step < steps\n", "if (p) {\n//@ loop \"k\" step < steps\n", 12,
              "//@ loop stands under the 'if' of line 11"),
        GUARD("//@ when step > 0\n", "for (int i = 0; i < 2; ++i) {\n//@ when step > 0\n", 30,
              "//@ when stands under the 'for' of line 29"),
        GUARD("//@ role \"producer\"\n", "if (thread == 999) {\n//@ role \"producer\"\n", 7,
              "//@ role stands under the 'if' of line 6"),
        GUARD("                #pragma unroll 1\n", "}\n", 10, "this } has no { behind the directive of line 9"),
    };
    REFUSE(fault);
}

/* Calls by other threads than the operation wants. */
static void other_threads_are_refused(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        GUARD("//@ elect\n            int p", "            int p", 11, "one thread calls 'ab_wait_empty'"),
        GUARD("                ab_wait_full(q);", "//@ elect\nab_wait_full(q);", 26,
              "all threads of role 'consumer' call"),
    };
    REFUSE(fault);
}

/* Text that is not what it reads as. */
static void what_the_text_hides_is_refused(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        GUARD("ab_expect(p);", "\n#if 0\nab_expect(p);\n#endif\n", 14, "what the preprocessor does"),
        GUARD("__global__", "#define twice(p) ab_release(p)\n__global__", 2, "what the preprocessor does"),
        GUARD("__global__", "# define if while\n__global__", 2, "what the preprocessor does"),
        GUARD("ab_expect(p);", "// none \\\n ab_expect(p);", 13, "a line that goes on behind a \\"),
        GUARD("ab_expect(p);", "spin(R\"(\" ab_expect(p); //)\");", 13, "a raw text"),
        GUARD("ab_expect(p);", "if (p) <% ab_expect(p); %>", 13, "a digraph"),
        GUARD("ab_expect(p);", "spin(\"\n\"); ab_expect(p);", 13, "a text that does not end in its line"),
        GUARD("__global__", "__device__ void twice(int &p)\n{\n    ab_release(p);\n}\n__global__", 4,
              "the proof does not see who calls it"),
        GUARD("__global__", "struct s {\n    int a = ab_release(1);\n};\n__global__", 3,
              "the proof does not see who calls it"),
        GUARD("__global__", "__device__ void (*f)(int &) = ab_release;\n__global__", 2,
              "the proof does not see who calls it"),
        GUARD("__global__", "__device__ void own(int n)\n{\n    asm(\"bar.sync 3;\");\n}\n__global__", 4,
              "asm with bar.sync"),
    };
    REFUSE(fault);
}

/* Loops and conditions that the proof cannot count. */
static void other_trip_counts_are_refused(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        GUARD("//@ loop \"k\" step < steps", "//@ loop \"k\" step < p", 11, "'p' is no trip count"),
        GUARD("//@ loop \"k\" step < steps", "//@ loop \"k\" step < thread", 11, "computed from 'threadIdx'"),
        GUARD("//@ loop \"k\" step < steps", "//@ loop \"k\" step < 2.5", 11, "is no trip count"),
        GUARD("//@ loop \"tiles\" while next(tile)", "//@ loop \"tiles\" while spin(tile)", 9, "declares //@ op turns"),
        GUARD("//@ loop \"tiles\" while next(tile)", "//@ loop \"tiles\" while next(tile) && p", 9,
              "declares //@ op turns"),
        GUARD("//@ loop \"tiles\" while next(tile)", "//@ loop \"tiles\" while next(tile) || (p)", 9,
              "one call, no more"),
        GUARD("            int p = 0;", "            int p = 0, steps = 5;\n", 8, "another name"),
        GUARD("            int p = 0;", "            const int steps = 5;\n", 8, "another name"),
        GUARD("ab_expect(p);", "step += 1;", 13, "'step' counts the loop around"),
        GUARD("ab_expect(p);", "++step;", 13, "'step' counts the loop around"),
        GUARD("ab_expect(p);", "change(&step);", 13, "'step' counts the loop around"),
        GUARD("ab_expect(p);", "for (int step = 0; step < 3; ++step) spin(step);", 13, "'step' counts the loop around"),
        GUARD("//@ loop \"k\" step < steps\n", "//@ loop \"a\" step < 2\n//@ loop \"k\" step < steps\n", 12,
              "counts the loop of line 11 already"),
        GUARD("step > 0", "thread > 0", 29, "'thread' is no counter of a loop around"),
        GUARD("step > 0", "step > q", 29, "'q' is no counter of a loop around"),
        GUARD("step > 0", "step * 2 > 0", 29, "the proof cannot follow 'step * 2 > 0'"),
        GUARD("step > 0", "step > 0 && q", 29, "the proof cannot follow"),
        GUARD("step > 0", "threadIdx.x == 999", 29, "the proof cannot follow"),
    };
    REFUSE(fault);
}

static void roles_and_loops(void **state)
{
    (void)state;
    static const struct refused fault[] = {
        {CONSUMER, "", 1, "the Plan has a role 'consumer', which the template never opens", "TEMPLATE-ORDER"},
        {"role \"consumer\"", "role \"consumr\"", 20, "no role 'consumr'; did you mean 'consumer'?", "TEMPLATE-ORDER"},
        {"//@ endrole\n", "", 19, "role 'consumer' begins inside of role 'producer', which was opened in line 6",
         "TEMPLATE-ORDER"},
        {"//@ role \"producer\"\n", "//@ endrole\n", 6, "no role is open here", "TEMPLATE-ORDER"},
        {"//@ role \"producer\"\n", "//@ loop \"k\" step < 3\n", 6, "//@ loop stands in no role", "TEMPLATE-ORDER"},
        {"//@ role \"producer\"\n", "//@ when 1 < 3\n", 6, "//@ when stands in no role", "TEMPLATE-ORDER"},
        {"//@ role \"producer\"\n", "//@ elect\n", 6, "//@ elect stands in no role", "TEMPLATE-ORDER"},
        {"__global__", "//@ role \"producer\"\n__global__", 2, "stands in no kernel", "TEMPLATE-GUARD"},
        {"//@ endloop\n", "", 17, "//@ loop of line 9 is not ended before //@ endelect; write //@ endloop",
         "TEMPLATE-ORDER"},
        {"//@ endloop\n", "//@ endwhen\n", 15, "no when is open here", "TEMPLATE-ORDER"},
        {"ab_expect(p);", "{", 15, "the { of line 13 is not ended before //@ endloop; write }", "TEMPLATE-ORDER"},
        {"B_load(p);", "spin(p)", 15, "the statement of line 14 has no end", "TEMPLATE-GUARD"},
        {"//@ endrole\n}\n", "}\n", 41, "this } has no {", "TEMPLATE-GUARD"},
        {"role \"consumer\"", "role \"consumer\" x", 20, "nothing follows the name of a role", "TEMPLATE-DIRECTIVE"},
        {"role \"consumer\"", "role", 20, "a name in quotes is missing; write //@ role \"NAME\"", "TEMPLATE-DIRECTIVE"},
        {"step < steps", "", 11, "a loop needs its counter and its bound", "TEMPLATE-DIRECTIVE"},
        {"step < steps", "step <= steps", 11, "write //@ loop \"NAME\" step < steps", "TEMPLATE-DIRECTIVE"},
        {"when step > 0", "when", 29, "a condition is missing", "TEMPLATE-DIRECTIVE"},
        {"endloop", "endloop now", 15, "nothing follows //@ endloop", "TEMPLATE-DIRECTIVE"},
        {"__global__", "//@ op release ring = 'ab'\n__global__", 2, "only a block declares operations", "TEMPLATE-OP"},
    };
    REFUSE(fault);
}

/* What blocks declare. The text is the block's; its fault, in its own line. */
static void declarations(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } fault[] = {
        {"//@ op wait_ful ring = 'ab'\n",
         "1: error: kernel 'gemm': 'wait_ful' is no operation of a block; did you mean "
         "'wait_full'? [TEMPLATE-OP]"},
        {"//@ op\n", "an operation is missing; write //@ op WORD name = ... [TEMPLATE-DIRECTIVE]"},
        {"//@ op wait_full\n", "wait_full needs ring = ... [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 'ab', count = 3\n", "wait_full takes no count [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 'cd'\n", "the Plan has no ring 'cd' [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 3\n", "ring is a name; write a text [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 'ab', phase = -1\n", "phase is an int of 0 or more [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 'ab', color = 1\n", "and something else is here [TEMPLATE-OP]"},
        {"//@ op wait_full ring = 'ab', by = 'two'\n", "by = \"one\", or nothing where all threads call [TEMPLATE-OP]"},
        {"//@ op global tensor = 'X'\n", "the Plan has no tensor 'X' [TEMPLATE-OP]"},
        {"//@ op read tensor = 'D'\n", "no ring of the Plan holds 'D' [TEMPLATE-OP]"},
        {"//@ op barrier barrier = 'b'\n", "the Plan has no barrier 'b' [TEMPLATE-OP]"},
        {"//@ op barrier id = 3\n", "barrier needs barrier = NAME, or id = ... and threads = ... [TEMPLATE-OP]"},
        {"//@ op release ring = 'ab'\nint a = 3;\nstruct s {\n};\n", "no function follows //@ op [TEMPLATE-OP]"},
        {"//@ op release ring = 'ab'\nint a = 3;\n", "no function follows //@ op [TEMPLATE-OP]"},
        {"//@ op release ring = 'ab'\n//@ op part\nvoid f()\n{\n}\n", "the lines of one function do not agree"},
        {"//@ op part\nvoid f()\n{\n}\n//@ op part\nvoid f()\n{\n}\n", "'f' is defined twice [TEMPLATE-OP]"},
        {"//@ op part\nvoid f()\n{\n}\nvoid g()\n{\n    f();\n}\n", "7: error: kernel 'gemm': this function calls 'f', "
                                                                    "an operation; write //@ op above it"},
        {"void f()\n{\n    asm(\"wgmma.fence\");\n}\n",
         "3: error: kernel 'gemm': asm with wgmma. is an operation; write "
         "//@ op above this function"},
    };
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        const struct emit_source source[] = {{"t.cu", "//@ include \"b.cuh\"\n", 21},
                                             {"b.cuh", fault[i].text, strlen(fault[i].text)}};
        const struct emit_options options = {.source = source, .source_count = 2};
        struct diag_set diags = {0};
        char *text = NULL, *found = NULL;
        size_t length, bytes;
        assert_int_equal(emit_template("t.cu", &plan, &options, &text, &length, &diags), 1);
        FILE *out = open_memstream(&found, &bytes);
        diag_print_one(&diags, 0, out);
        fclose(out);
        if (strncmp(found, "b.cuh:", 6) != 0 || !strstr(found, fault[i].message))
            fail_msg("'%s': wanted %s, found %s", fault[i].text, fault[i].message, found);
        free(found);
        diag_free(&diags);
    }
}

/* The same template against a Plan with one number changed. */
static void changed_plans_are_found(void **state)
{
    (void)state;
    static int *const number[] = {&producer[2].phase, &producer[3].count, &producer[4].count,    &consumer[3].count,
                                  &consumer[6].count, &consumer[7].count, &consumer[7].arrivals, &consumer[10].count};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        ++*number[i];
        char *found = faults_of(&plan, WHOLE, NULL);
        --*number[i];
        if (!strstr(found, "[TEMPLATE-ORDER]"))
            fail_msg("number %d counts for nothing", (int)i);
        free(found);
    }
}

/* Fails call number `fail` and counts what is not given back. */
static void every_allocation_fails(void **state)
{
    (void)state;
    char *wrong = planted(WHOLE, "ab_expect(p);\n", "");
    const char *const template[] = {WHOLE, wrong};
    for (int which = 0; which < 2; which++) {
        const struct emit_source source[] = {{"t.cu", template[which], strlen(template[which])}, block_source};
        bool done = false;
        for (long fail = 1; !done; fail = failing_next(fail)) {
            struct failing f = {.fail_at = fail};
            const struct emit_options options = {.source = source, .source_count = 2, .memory = {failing_alloc, &f}};
            struct diag_set diags = {0};
            char *text;
            size_t length;
            int status = emit_template("t.cu", &plan, &options, &text, &length, &diags);
            done = f.calls < fail;
            assert_true(status == which || (!done && status == 3));
            if (text)
                failing_alloc(&f, text, length + 1, 0);
            assert_int_equal(f.blocks, 0);
            diag_free(&diags);
        }
    }
    free(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_emit),         cmocka_unit_test(equal_order_is_silent),
        cmocka_unit_test(other_orders_are_found),  cmocka_unit_test(other_control_flow_is_refused),
        cmocka_unit_test(other_control_flow_around_directives_is_refused),
        cmocka_unit_test(other_threads_are_refused),
        cmocka_unit_test(what_the_text_hides_is_refused),
        cmocka_unit_test(other_trip_counts_are_refused),
        cmocka_unit_test(roles_and_loops),         cmocka_unit_test(declarations),
        cmocka_unit_test(changed_plans_are_found), cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
