/* Programs with dots: the steps that are derived, that each of them is needed, and what is refused. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "program/any_order.h"

static struct compile_tables tables;

struct read {
    struct spec spec;
    struct diag_set diags;
};
static struct read gemm, attention, groups, along;
static struct read *const reads[] = {&gemm, &attention, &groups, &along};

static int read_specs(void **state)
{
    static const char *const files[] = {"gemm", "attention", "groups", "along"};
    char path[64];
    int status = 0;
    (void)state;
    compile_tables_fill(&tables);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "tests/programs/pipeline_%s.lua", files[i]);
        status |= spec_read(path, &tables.options, &reads[i]->spec, &reads[i]->diags);
        diag_print(&reads[i]->diags, stderr);
    }
    return status;
}

static int free_specs(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        spec_free(&reads[i]->spec);
        diag_free(&reads[i]->diags);
    }
    return 0;
}

static void plan_on(struct plan *p, const struct read *from, const char *name, const char *arch, int variant)
{
    const struct spec_kernel *kernel = NULL;
    for (int i = 0; i < from->spec.kernel_count; i++)
        if (strcmp(from->spec.kernel[i].name, name) == 0)
            kernel = &from->spec.kernel[i];
    assert_non_null(kernel);
    struct diag_set diags = {0};
    int status = family_plan(&from->spec, kernel, arch_find(arch), variant, NULL, p, &diags);
    diag_print(&diags, stderr);
    diag_free(&diags);
    assert_int_equal(status, 0);
}

static void plan_of(struct plan *p, const struct read *from, const char *name)
{
    plan_on(p, from, name, "sm_90a", 0);
}

/* The steps of a role that say something, loops in brackets. */
static char *story(const struct plan *p, const char *name)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count && strcmp(p->role[r].name, name) == 0; i++) {
            const struct plan_step *s = &p->role[r].step[i];
            bool opens = s->op == PLAN_LOOP || s->op == PLAN_WHEN;
            if (s->op == PLAN_END)
                fprintf(out, "] ");
            else if (s->op == PLAN_TOUCH && s->call)
                fprintf(out, "%s:%s ", s->call, p->place[plan_number(s->place)].name);
            else if (s->call)
                fprintf(out, "%s%s", s->call, opens ? "[ " : " ");
        }
    fclose(out);
    return text;
}

static void expect(const struct read *from, const char *kernel, const char *role, const char *steps)
{
    struct plan p;
    plan_of(&p, from, kernel);
    char *text = story(&p, role);
    assert_string_equal(text, steps);
    free(text);
    plan_free(&p);
}

/* One group stays in flight: the wait covers the turn before, whose stage goes back. */
static void test_gemm(void **state)
{
    (void)state;
    expect(&gemm, "gemm_program", "producer", "tiles[ k[ ab_wait_empty ab_expect A_load B_load ] ] ab_drain ");
    expect(&gemm, "gemm_program", "consumer",
           "evaluate:dot_sum tiles[ k[ ab_wait_full mma_fence dot mma_commit mma_wait_1 ab_release ] mma_wait_0 "
           "ab_release D[ d_wait d_barrier D_write d_fence d_barrier D_store ] ] d_wait_0 ");
}

/* A consumer that has its turn issues its dot, passes the turn on, asks for a stage, and takes what the dot gave. */
static void test_turns(void **state)
{
    (void)state;
    expect(&gemm, "gemm_program_turns", "consumer",
           "turn_pass tiles[ evaluate:carried1 k[ ab_wait_full turn_wait mma_fence dot mma_commit turn_pass "
           "ab_ask mma_wait_0 ab_release evaluate:carried1 ] D[ d_wait d_barrier D_write d_fence d_barrier D_store ] ] "
           "turn_wait d_wait_0 ");
}

/* The wait for S covers O of the turn before; V goes back there. */
static void test_attention(void **state)
{
    (void)state;
    expect(&attention, "attention_full", "producer",
           "tiles[ q_wait_empty q_expect Q_load kv_inside[ k_wait_empty k_expect K_load v_wait_empty v_expect V_load ] "
           "kv[ k_wait_empty k_expect K_load v_wait_empty v_expect V_load ] ] ");
}

/* Nothing is in flight where the loop turns; S of the next turn goes before O of this one. */
static void test_ahead(void **state)
{
    (void)state;
    struct plan p;
    plan_of(&p, &attention, "attention_full_ahead");
    char *text = story(&p, "consumer");
    const char *body = strstr(text, "kv_inside[ ");
    assert_non_null(body);
    const char *order[] = {"k_wait_full mma_fence s mma_commit",
                           "v_wait_full mma_fence o mma_commit",
                           "mma_wait_1",
                           "k_release",
                           "mma_wait_0",
                           "v_release",
                           "pack:o_operand",
                           "] "};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        body = strstr(body, order[i]);
        assert_non_null(body);
    }
    free(text);
    plan_free(&p);
}

/* What data decide changes no step: a list's loop is a range of its places, rows by number fill a stage as a tile does,
 * or by threads, which then arrive. A tile that ends where data say is not stored where it has no rows. */
static void test_data(void **state)
{
    (void)state;
    static const char producer[] = "tiles[ k[ ab_wait_empty ab_expect A_load B_load ] ] ";
    static const char consumer[] =
        "tiles[ evaluate:dot_sum k[ ab_wait_full mma_fence dot mma_commit mma_wait_1 ab_release ] mma_wait_0 "
        "ab_release D[ d_wait d_barrier D_write d_fence d_barrier D_store ] ] d_wait_0 "; /* no item stores nothing */
    expect(&groups, "block_sparse", "producer", producer);
    expect(&groups, "masked_groups", "producer", producer);
    expect(&groups, "masked_groups", "consumer", consumer);
    expect(&groups, "experts_copied", "producer",
           "tiles[ k[ b_wait_empty b_expect B_load a_wait_empty A_write a_fence a_arrive ] ] ");
    expect(&groups, "experts", "producer", producer);
    expect(&groups, "experts", "consumer", consumer);
    struct plan p;
    plan_of(&p, &groups, "experts");
    assert_int_equal(plan_number(p.tensor[0].gathered), 0);
    assert_int_equal(p.tensor[0].box[0], 1);
    assert_int_equal(p.tensor[0].tile[0], 128);
    plan_free(&p);
}

/* Without a producer: stages - 1 fills before the loop, then one a turn, right behind the barrier; groups of as many
 * turns, and of both rings, come between a fill and its wait. Where loads and stores fill there are no groups. */
static void test_without_producer(void **state)
{
    (void)state;
    static const struct {
        const struct read *from;
        const char *kernel, *steps;
        int variant;
    } cases[] = {
        {&gemm, "gemm_program",
         "tiles[ evaluate:dot_sum first_at_k[ ab_A_load ab_B_load copies_commit ] k[ copies_wait_1 block_meet "
         "ab_A_load "
         "ab_B_load copies_commit ab_advance dot ] D_store_global ] ",
         0},
        {&gemm, "gemm_program",
         "tiles[ evaluate:dot_sum first_at_k[ ab_A_load ab_B_load ] k[ block_meet ab_A_load ab_B_load ab_advance dot ] "
         "D_store_global ] ",
         1},
        {&attention, "attention_full_turns",
         "tiles[ block_meet q_Q_load copies_commit evaluate:o_sum evaluate:carried3 evaluate:carried4 first_at_kv[ "
         "k_K_load copies_commit v_V_load copies_commit ] copies_wait_2 block_meet q_advance Q_operand kv_inside[ "
         "copies_wait_1 block_meet k_K_load copies_commit k_advance s reduce:row_max6 evaluate:row7 evaluate:s_sum "
         "pack:o_operand evaluate:row8 evaluate:o_sum copies_wait_1 block_meet v_V_load copies_commit v_advance o "
         "fold:row_sum9 evaluate:row10 evaluate:carried3 evaluate:carried4 ] kv[ copies_wait_1 block_meet k_K_load "
         "copies_commit k_advance s evaluate:s_sum reduce:row_max6 evaluate:row7 evaluate:s_sum pack:o_operand "
         "evaluate:row8 evaluate:o_sum copies_wait_1 block_meet v_V_load copies_commit v_advance o fold:row_sum9 "
         "evaluate:row10 evaluate:carried3 evaluate:carried4 ] lanes:carried4 O_store_global ] ",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p;
        plan_on(&p, cases[i].from, cases[i].kernel, "sm_80", cases[i].variant);
        char *text = story(&p, "block");
        assert_string_equal(text, cases[i].steps);
        free(text);
        plan_free(&p);
    }
}

/* What the text fills, turn by turn, is what the proof counts: another distance is refused. */
static void test_fills_ahead(void **state)
{
    (void)state;
    for (int more = -1; more <= 1; more++) {
        struct plan p;
        struct diag_set diags = {0};
        int changed = 0;
        plan_on(&p, &attention, "attention_full", "sm_80", 0);
        for (int i = 0; i < p.role[0].step_count; i++)
            if (p.role[0].step[i].op == PLAN_FILL && p.role[0].step[i].ahead > 0) {
                p.role[0].step[i].ahead += more;
                changed++;
            }
        assert_int_equal(changed, 4);
        assert_int_equal(plan_check_protocol(&p, &diags), more != 0);
        if (more)
            assert_string_equal(diags.item[0].rule, "PROTOCOL-ORDER");
        diag_free(&diags);
        plan_free(&p);
    }
}

static bool is_once_an_item(const struct plan_role *role, int step)
{
    int loops = 0, bodies[16], depth = 0;
    for (int i = 0; i < step; i++) {
        enum plan_op op = role->step[i].op;
        if (op == PLAN_LOOP || op == PLAN_WHEN)
            loops += bodies[depth++] = op == PLAN_LOOP;
        else if (op == PLAN_END)
            loops -= bodies[--depth];
    }
    return loops < 2;
}

/* Whatever synchronises is there because it is needed: without any one of these steps the Plan is refused. */
static void test_each_step_is_needed(void **state)
{
    (void)state;
    static const struct {
        const struct read *from;
        const char *kernel, *arch;
    } kernels[] = {{&attention, "attention_full", "sm_90a"},
                   {&attention, "attention_full_ahead", "sm_90a"},
                   {&attention, "attention_full_turns", "sm_90a"},
                   {&gemm, "gemm_program", "sm_90a"},
                   {&gemm, "gemm_program", "sm_80"},
                   {&attention, "attention_full", "sm_80"},
                   {&attention, "attention_causal_lse", "sm_90a"},
                   {&groups, "masked_groups", "sm_90a"},
                   {&groups, "experts", "sm_90a"},
                   {&groups, "experts_copied", "sm_90a"},
                   {&along, "by_columns_deep", "sm_90a"}};
    int removed = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        struct plan p;
        plan_on(&p, kernels[k].from, kernels[k].kernel, kernels[k].arch, 0);
        for (int r = 0; r < p.role_count; r++)
            for (int i = 0; i < p.role[r].step_count; i++) {
                enum plan_op op = p.role[r].step[i].op;
                bool own = op == PLAN_CP_WAIT || op == PLAN_BARRIER || op == PLAN_TAKE || op == PLAN_FILL;
                bool bulk = op == PLAN_MMA_WAIT || op == PLAN_WAIT_FULL || op == PLAN_WAIT_EMPTY ||
                            op == PLAN_RELEASE || op == PLAN_EXPECT || op == PLAN_ARRIVE;
                bulk = bulk || (op == PLAN_FENCE_ASYNC && !is_once_an_item(&p.role[r], i));
                /* Waits before fills that are made once an item may follow from those of the item's other rings; of two
                 * rings that a turn takes and releases together the second's follows from the first's. */
                bool follows = strcmp(kernels[k].kernel, "experts_copied") == 0 && p.role[r].step[i].ring == 0;
                if (!(p.role_count == 1 ? own : bulk) ||
                    (op == PLAN_WAIT_EMPTY && (follows || is_once_an_item(&p.role[r], i))))
                    continue;
                struct plan damaged = p;
                struct plan_role roles[4];
                memcpy(roles, p.role, sizeof *roles * (size_t)p.role_count);
                roles[r].step = malloc(sizeof(struct plan_step) * (size_t)p.role[r].step_count);
                assert_non_null(roles[r].step);
                memcpy(roles[r].step, p.role[r].step, sizeof(struct plan_step) * (size_t)i);
                memcpy(roles[r].step + i, p.role[r].step + i + 1,
                       sizeof(struct plan_step) * (size_t)(p.role[r].step_count - i - 1));
                roles[r].step_count--;
                damaged.role = roles;
                struct diag_set diags = {0};
                const char *call = p.role[r].step[i].call ? p.role[r].step[i].call : "";
                if (plan_check_protocol(&damaged, &diags) == 0)
                    fail_msg("%s, role %s: step %d %s can go", p.kernel, p.role[r].name, i + 1, call);
                diag_free(&diags);
                free(roles[r].step);
                removed++;
            }
        plan_free(&p);
    }
    assert_true(removed > 60);
}

/* No copy is made twice, within loops and outside of them. */
static void test_each_fill_is_made_once(void **state)
{
    (void)state;
    static const struct {
        const struct read *from;
        const char *kernel, *arch;
    } kernels[] = {{&attention, "attention_full", "sm_90a"},
                   {&attention, "attention_full", "sm_80"},
                   {&attention, "attention_full_ahead", "sm_80"},
                   {&attention, "attention_causal_lse_ahead", "sm_80"},
                   {&gemm, "gemm_program", "sm_90a"},
                   {&gemm, "gemm_program", "sm_80"},
                   {&gemm, "gemm_program_epilogue", "sm_80"},
                   {&groups, "experts_copied", "sm_90a"}};
    int doubled = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        struct plan p;
        plan_on(&p, kernels[k].from, kernels[k].kernel, kernels[k].arch, 0);
        for (int r = 0; r < p.role_count; r++)
            for (int i = 0; i < p.role[r].step_count; i++) {
                if (p.role[r].step[i].op != PLAN_FILL)
                    continue;
                struct plan damaged = p;
                struct plan_role roles[4];
                struct diag_set diags = {0};
                const size_t count = (size_t)p.role[r].step_count, at = (size_t)i;
                memcpy(roles, p.role, sizeof *roles * (size_t)p.role_count);
                roles[r].step = malloc(sizeof(struct plan_step) * (count + 1));
                assert_non_null(roles[r].step);
                memcpy(roles[r].step, p.role[r].step, sizeof(struct plan_step) * (at + 1));
                memcpy(roles[r].step + at + 1, p.role[r].step + at, sizeof(struct plan_step) * (count - at));
                roles[r].step_count++;
                damaged.role = roles;
                if (plan_check_protocol(&damaged, &diags) == 0)
                    fail_msg("%s on %s, role %s: step %d %s may stand twice", p.kernel, p.arch, p.role[r].name, i + 1,
                             p.role[r].step[i].call);
                diag_free(&diags);
                free(roles[r].step);
                doubled++;
            }
        plan_free(&p);
    }
    assert_true(doubled > 20);
}

/* A loop that ends in a mask has a body without it for the turns before. */
static void test_masks(void **state)
{
    (void)state;
    struct plan p;
    plan_of(&p, &attention, "attention_causal_lse");
    char *text = story(&p, "consumer");
    const char *inside = strstr(text, "kv_inside[ "), *masked = strstr(text, "kv[ ");
    assert_non_null(inside);
    assert_non_null(masked);
    char *between = strndup(inside, (size_t)(masked - inside));
    assert_null(strstr(between, "evaluate:s_sum evaluate:s_sum"));
    assert_null(strstr(between, "evaluate:s_sum reduce:"));
    assert_non_null(strstr(masked, "evaluate:s_sum reduce:"));
    free(between);
    free(text);
    plan_free(&p);
}

/* Where items differ in length a counter gives them out: the producer passes on where the next one begins. */
static void test_items_from_a_counter(void **state)
{
    (void)state;
    struct plan p;
    plan_of(&p, &attention, "attention_causal_lse");
    char *producer = story(&p, "producer"), *consumer = story(&p, "consumer");
    const char *begins = "item_write item_arrive tiles[ items_take q_wait_empty",
               *ends = "] item_wait_empty item_write item_arrive ] items_done ";
    assert_int_equal(strncmp(producer, begins, strlen(begins)), 0);
    assert_string_equal(producer + strlen(producer) - strlen(ends), ends);
    begins = "item_wait_full item_read item_release tiles[ q_wait_full";
    ends = "lse_store_global item_wait_full item_read item_release ] d_wait_0 ";
    assert_int_equal(strncmp(consumer, begins, strlen(begins)), 0);
    assert_string_equal(consumer + strlen(consumer) - strlen(ends), ends);
    assert_int_equal(p.workspace_bytes, 8);
    free(producer);
    free(consumer);
    plan_free(&p);
    plan_of(&p, &attention, "attention_full");
    assert_int_equal(p.item_ring, 0);
    assert_int_equal(p.workspace_bytes, 0);
    plan_free(&p);
}

/* Every role turns by what is passed on, once a turn. */
static void test_items_are_told_once_a_turn(void **state)
{
    (void)state;
    struct plan p;
    plan_of(&p, &attention, "attention_causal_lse");
    int ring = plan_number(p.item_ring), damaged = 0;
    for (int r = 0; r < p.role_count; r++)
        for (int i = 0; i < p.role[r].step_count; i++) {
            struct plan_step *s = &p.role[r].step[i], kept = *s;
            if ((s->op != PLAN_WRITE && s->op != PLAN_READ) || s->ring != ring)
                continue;
            struct diag_set diags = {0};
            *s = (struct plan_step){.op = PLAN_GLOBAL, .ring = -1, .tensor = -1};
            assert_true(plan_check_protocol(&p, &diags) > 0);
            *s = kept;
            diag_free(&diags);
            damaged++;
        }
    assert_int_equal(damaged, 4);
    struct diag_set diags = {0};
    p.role[0].one_thread = false;
    assert_true(plan_check_protocol(&p, &diags) > 0);
    diag_free(&diags);
    plan_free(&p);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

enum { ONLY_READ = -1 /* and give no Plan */ };

static void plan_text_of(const char *fields, const char *program, struct read *r, struct plan *p, int expected)
{
    char path[] = "/tmp/tilewright_derive_XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    fprintf(out,
            "local M, N, K = dims \"M N K\"\n"
            "kernel \"k\" { axes = \"m n k\", grid = { m = M, n = N }, arch = { sm_90a = {} },\n"
            "  A = tensor { M, K, dtype = \"bf16\", axes = \"m k\" }, B = tensor { N, K, dtype = \"bf16\", axes = \"n "
            "k\" },\n"
            "  D = tensor { M, N, dtype = \"bf16\", axes = \"m n\", out = true },\n  %s,\n"
            "  program = function(t, at, tile)\n%s\n  end }\n",
            fields, program);
    fclose(out);
    int status = spec_read(path, &tables.options, &r->spec, &r->diags);
    unlink(path);
    if (expected == ONLY_READ)
        expected = 0;
    else
        status =
            status ? status : family_plan(&r->spec, &r->spec.kernel[0], arch_find("sm_90a"), 0, NULL, p, &r->diags);
    if (status != expected)
        diag_print(&r->diags, stderr);
    assert_int_equal(status, expected);
}

static void refuses(const char *fields, const char *program, const char *rule, const char *text)
{
    struct read r = {0};
    struct plan p = {0};
    plan_text_of(fields, program, &r, &p, 1);
    char *told = NULL;
    size_t length;
    FILE *memory = open_memstream(&told, &length);
    diag_print(&r.diags, memory);
    fclose(memory);
    if (!strstr(told, rule) || !strstr(told, text))
        fail_msg("no '%s' [%s] in\n%s", text, rule, told);
    free(told);
    plan_free(&p);
    spec_free(&r.spec);
    diag_free(&r.diags);
}

#define SUM                                                                                                            \
    "local sum = loop(\"k\", range(0, K, tile.k), { zeros() }, function(k, sum)\n"                                     \
    "  return dot(load(t.A, span(at.m, tile.m), span(k, tile.k)), load(t.B, span(at.n, tile.n), span(k, "              \
    "tile.k)):t(), "                                                                                                   \
    "sum)\nend)\n"
#define STORE "store(t.D, span(at.m, tile.m), span(at.n, tile.n), sum)"

/* What a store reads comes a chunk ahead, of the first chunk before the wait for the last products; of a second store
 * before its chunks. Where sums leave fewer registers, chunks are smaller. By bulk copies it comes from the first turn
 * on. */
static void test_reads_ahead(void **state)
{
#define FROM_C "C = tensor { M, N, dtype = \"bf16\", axes = \"m n\" }, "
#define STORE_WITH_C                                                                                                   \
    "store(t.D, span(at.m, tile.m), span(at.n, tile.n), sum + load(t.C, span(at.m, tile.m), span(at.n, tile.n)))"
#define FROM_BIAS "bias = tensor { N, dtype = \"bf16\", axes = \"n\" }, "
#define TO_E "E = tensor { M, N, dtype = \"bf16\", axes = \"m n\", out = true }, "
    static const struct {
        const char *fields, *program, *steps;
        int registers; /* of C_for_D */
    } cases[] = {
        {FROM_C "tile = { m = 128, n = 256, k = 64 }", SUM STORE_WITH_C,
         "] C_ahead mma_wait_0 ab_release D[ C_ahead d_wait ", 16},
        {FROM_C FROM_BIAS TO_E "tile = { m = 128, n = 256, k = 64 }",
         SUM STORE_WITH_C "\n"
                          "store(t.E, span(at.m, tile.m), span(at.n, tile.n), sum + t.bias)",
         "D_store ] bias_ahead E[ bias_ahead d_wait ", 16},
        {FROM_C "tile = { m = 192, n = 192, k = 64 }", SUM STORE_WITH_C,
         "] C_ahead mma_wait_0 ab_release D[ C_ahead d_wait ", 4},
        {FROM_C "via = { c = \"bulk\" }, tile = { m = 128, n = 256, k = 64 }",
         SUM "store(t.D, span(at.m, tile.m), span(at.n, tile.n), "
             "sum + load(t.C, span(at.m, tile.m), span(at.n, tile.n)):as \"c\")",
         "ab_release ] d_wait_0 source_expect C_fetch ] k[ ", 0},
        {FROM_C FROM_BIAS "via = { c = \"bulk\" }, tile = { m = 128, n = 256, k = 64 }",
         SUM "store(t.D, span(at.m, tile.m), span(at.n, tile.n), "
             "sum + t.bias + load(t.C, span(at.m, tile.m), span(at.n, tile.n)):as \"c\")",
         "D[ source_wait_full C_take bias_ahead D_write d_fence d_barrier D_store ] ] d_wait_0 ", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read r = {0};
        struct plan p = {0};
        plan_text_of(cases[i].fields, cases[i].program, &r, &p, 0);
        char *text = story(&p, "consumer");
        if (!strstr(text, cases[i].steps))
            fail_msg("no '%s' in\n%s", cases[i].steps, text);
        free(text);
        int registers = 0;
        for (int k = 0; k < p.place_count; k++)
            if (p.place[k].kind == PLAN_PLACE_READ && strcmp(p.place[k].name, "C_for_D") == 0)
                registers = p.place[k].registers;
        assert_int_equal(registers, cases[i].registers);
        plan_free(&p);
        spec_free(&r.spec);
        diag_free(&r.diags);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("tile = { m = 128, n = 128, k = 64 }, schedule = { dynamic = true }, cluster = { m = 2 }", SUM STORE,
            "PROGRAM-DYNAMIC", "write cluster extents of 1");
    refuses(
        "tile = { m = 128, n = 128, k = 64 }, schedule = { dynamic = true, persistent = false }, cluster = { m = 1 }",
        SUM STORE, "PROGRAM-DYNAMIC", "leave persistent out");
    refuses("tile = { m = 96, n = 128, k = 64 }", SUM STORE, "WGMMA-SHAPE", "wgmma computes 64 rows");
    refuses("tile = { m = 128, n = 100, k = 64 }", SUM STORE, "WGMMA-SHAPE", "a multiple of 8 columns");
    refuses("tile = { m = 128, n = 128, k = 24 }", SUM STORE, "WGMMA-SHAPE", "takes 16 bf16 along k at a time");
    refuses("tile = { m = 128, n = 256, k = 512 }", SUM STORE, "SMEM", "shared memory");
    refuses("tile = { m = 128, n = 256, k = 64 }, pipeline = { stages = 9 }", SUM STORE, "SMEM", "write 4");
    refuses(
        "tile = { m = 128, n = 128, k = 64 }",
        "local sum = loop(\"k\", range(0, K, tile.k), { zeros() }, function(k, sum)\n"
        "  local b = load(t.B, span(at.n, tile.n), span(k, tile.k))\n"
        "  return dot(load(t.A, span(at.m, tile.m), span(k, tile.k)), cast(b * 2, \"bf16\"):t(), sum)\nend)\n" STORE,
        "PROGRAM-LOWER", "the second operand of this dot is computed");
}

/* Turns are left out where the mask makes them change nothing, and only then: items then differ in length. */
static void test_idle_turns(void **state)
{
    (void)state;
    static const struct {
        const char *masked, *most, *scaled, *visible;
        bool idle;
    } c[] = {
        {"-inf", "-inf", "r", "le(k, at.m + row())", true},
        {"-100", "-inf", "r", "le(k, at.m + row())", false}, /* what is masked counts */
        {"-inf", "0", "r", "le(k, at.m + row())", false},    /* a maximum of no elements that is no minus infinity */
        {"-inf", "-inf", "r * 0.5", "le(k, at.m + row())", false}, /* a turn without elements halves the sum */
        {"-inf", "-inf", "r", "le(at.m, row())", false},           /* not a matter of turns */
        {"-inf", "-inf", "r", "ge(k, at.m + row())", false},       /* first turns, not last ones */
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char program[2000];
        struct read r = {0};
        struct plan p = {0};
        snprintf(program, sizeof program,
                 "local o, most, sum = loop(\"k\", range(0, N, 64), { zeros(), rows(%s), rows(0) }, function(k, o, "
                 "most, sum)\n"
                 "  local b = load(t.B, span(k, 64), span(0, 64))\n"
                 "  local s = where(%s, dot(load(t.A, span(at.m, tile.m), span(0, 64)), b:t()), %s)\n"
                 "  local m = max(most, row_max(s))\n"
                 "  local p, r = exp2_diff(s, m), exp2_diff(most, m)\n"
                 "  return dot(cast(p, \"bf16\"), b, o * (%s)), m, sum * r + row_sum(p)\nend)\n"
                 "store(t.D, span(at.m, tile.m), span(0, 64), ratio(o, sum, 0))",
                 c[i].most, c[i].visible, c[i].masked, c[i].scaled);
        plan_text_of("tile = { m = 128, n = 64, k = 64 }, grid = { m = M }", program, &r, &p, 0);
        if ((p.item_ring != 0) != c[i].idle)
            fail_msg("program %zu: turns are %sleft out", i, p.item_ring ? "" : "not ");
        plan_free(&p);
        spec_free(&r.spec);
        diag_free(&r.diags);
    }
}

/* A loop over blocks of B: it carries the product o, the maximum `most` and the sum, of which m(), p() and r() are this
 * turn's maximum, powers relative to it, and what it rescales by. */
static void softmax_of(const char *fields, const char *visible, const char *carried, struct read *r, struct plan *p,
                       int expected)
{
    char program[2000], all[300];
    snprintf(program, sizeof program,
             "local o, most, sum = loop(\"k\", range(0, N, 64), { zeros(), rows(-inf), rows(0) }, function(k, o, "
             "most, sum)\n"
             "  local b, v = load(t.B, span(k, 64), span(0, 64)), load(t.B, span(k, 64), span(0, 64))\n"
             "  local s = where(%s, dot(load(t.A, span(at.m, tile.m), span(0, 64)), b:t()):as \"s\", -inf)\n"
             "  local new\n"
             "  local function m() if new == nil then new = max(most, row_max(s)) end return new end\n"
             "  local function p() return exp2_diff(s, m()) end\n"
             "  local function r() return exp2_diff(most, m()) end\n"
             "  return %s\nend)\n"
             "store(t.D, span(at.m, tile.m), span(0, 64), ratio(o, sum, 0)%s)",
             visible, carried, expected == ONLY_READ ? " + most" : "");
    snprintf(all, sizeof all, "grid = { m = M }, %s", fields);
    plan_text_of(all, program, r, p, expected);
}

#define TILE "tile = { m = 64, n = 64, k = 64 }"
#define TALL "tile = { m = 128, n = 64, k = 64 }"
#define AHEAD ", ahead = { s = { before = \"o\" } }"
#define CAUSAL "le(k, at.m + row())"
#define ONLINE "dot(cast(p(), \"bf16\"), v, o * r()):as \"o\", m(), sum * r() + row_sum(p())"

/* Which turns come first, and as how many loops they stand in the text. */
static void test_direction(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *visible;
        bool down;
        const char *loops;
    } c[] = {
        /* one turn needs masks: it begins, and the others are looked ahead to from it on */
        {TILE AHEAD, "le(k + column(), at.m + row())", true, "k_any[ k[ ] ] "},
        {TILE AHEAD ", direction = { k = \"up\" }", "le(k + column(), at.m + row())", false,
         "k_any[ k_inside[ ] k[ ] ] "},
        /* two do: a run for the first, and one for the others */
        {TALL AHEAD, "le(k + column(), at.m + row())", true, "k[ k_behind[ k_inside[ ] ] ] "},
        /* nothing is left out: the ragged turn is the last */
        {TILE AHEAD, "lt(k + column(), N)", false, "k[ k_inside[ ] ] "},
        {TILE AHEAD ", direction = { k = \"down\" }", "lt(k + column(), N)", true, "k_any[ k[ ] ] "},
        {TILE, "le(k + column(), at.m + row())", false, "k_inside[ ] k[ ] "},
        {TILE ", direction = { k = \"down\" }", "le(k + column(), at.m + row())", true, "k_masked[ ] k[ ] "},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct read r = {0};
        struct plan p = {0};
        softmax_of(c[i].fields, c[i].visible, ONLINE, &r, &p, 0);
        char *text = story(&p, "producer"), *loops = NULL, *at = text;
        size_t length;
        FILE *out = open_memstream(&loops, &length);
        for (char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at))
            if ((*word == 'k' && strchr(word, '[')) || *word == ']')
                fprintf(out, "%s ", word);
        fclose(out);
        loops[strlen(loops) - strlen("] ")] = '\0'; /* of the items */
        if ((p.loop[0].first != 0) != c[i].down || strcmp(loops, c[i].loops) != 0)
            fail_msg("%zu: turns go %s, as %s", i, p.loop[0].first ? "down" : "up", loops);
        free(loops);
        free(text);
        plan_free(&p);
        spec_free(&r.spec);
        diag_free(&r.diags);
    }
}

/* Weights of fp8 hold the compiler's waits: turns with and without masks are one body, where what masks choose of is
 * computed in front of their branch. The first turn has masks always. */
static void test_one_body(void **state)
{
    (void)state;
    struct read r = {0};
    struct plan p = {0};
    plan_text_of(TALL AHEAD
                 ", grid = { m = M }, scale = scalar(\"fp32\", 1), A = tensor { M, K, dtype = \"fp8_e4m3\" },\n"
                 "  B = tensor { N, K, dtype = \"fp8_e4m3\" }, V = tensor { K, N, dtype = \"fp8_e4m3\" }",
                 "local o, most, sum = loop(\"k\", range(0, N, 64), { zeros(), rows(-inf), rows(0) }, function(k, o, "
                 "most, sum)\n"
                 "  local b, v = load(t.B, span(k, 64), span(0, 64)), load(t.V, span(0, 64), span(k, 64))\n"
                 "  local s = dot(load(t.A, span(at.m, tile.m), span(0, 64)), b:t()):as \"s\" * t.scale\n"
                 "  s = where(le(k + column(), at.m + row()), s, -inf)\n"
                 "  local m = max(most, row_max(s))\n"
                 "  local p, r = exp2_diff(s, m - 8), exp2_diff(most, m)\n"
                 "  return dot(cast(p, \"fp8_e4m3\"), v:t(), o * r):as \"o\", m, sum * r + row_sum(p)\nend)\n"
                 "store(t.D, span(at.m, tile.m), span(0, 64), ratio(o, sum, 0))",
                 &r, &p, 0);
    char *text = story(&p, "consumer");
    const char *masked = strstr(text, "mma_wait_1 ba_release evaluate:s_sum mask[ evaluate:s_sum ] reduce:");
    const char *first = strstr(text, "k_any[ "), *turns = strstr(text, " k[ ");
    if (!p.loop[0].first || !first || !turns || !masked || first > turns || turns > masked ||
        strstr(text, "mask[") != strstr(masked, "mask[") || strstr(text, "inside[") || strstr(text, "behind["))
        fail_msg("%s", text);
    free(text);
    plan_free(&p);
    spec_free(&r.spec);
    diag_free(&r.diags);
}

/* What may depend on the order of turns stays in it. */
static void test_any_order(void **state)
{
    (void)state;
    static const struct {
        const char *carried;
        int fault; /* the carried value of which the order matters, from 1; 0: none */
    } c[] = {
        {ONLINE, 0},
        {"dot(cast(p() / 2, \"bf16\"), v, o * r()), m(), sum * r() - row_sum(where(" CAUSAL ", p(), 0))", 0},
        {"dot(cast(s, \"bf16\"), v, o), most, sum + row_sum(s) * 2", 0},
        {"dot(cast(exp2_diff(s, m() - 8), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(exp2_diff(s, 3 + m()))", 0},
        {"dot(cast(exp2_diff(s, m() - 8 + 1.5), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 0},
        {"dot(cast(exp2_diff(s, 8 - m()), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(exp2_diff(s, m() * 2), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(exp2_diff(s, m() + m()), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(exp2_diff(s, m() + math.huge), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(exp2_diff(s, most - 8), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(p(), \"bf16\"), v, o * exp2_diff(most, m() - 8)), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), m() - 8", 3},
        {"dot(cast(s, \"bf16\"), v, o), min(row_min(s), most), sum", 0},
        {"dot(cast(exp2(s - m()), \"bf16\"), v, o * exp2(most - m())), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(exp(s - m()), \"bf16\"), v, o * exp(most - m())), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(p(), \"bf16\"), v, o * (r() * 0.5)), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(p(), \"bf16\"), v, o), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(s)", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p() * p())", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(p()) + 1", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), (sum + 1) * r() + row_sum(p())", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() + row_sum(exp2_diff(s, most))", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() + row_max(p())", 3},
        {"dot(cast(p(), \"bf16\"), v, o * r()), m(), sum * r() * r() + row_sum(p())", 3},
        {"dot(cast(exp(s - m()), \"bf16\"), v, o * exp2(most - m())), m(), sum * r() + row_sum(p())", 1},
        {"dot(cast(s, \"bf16\"), v, o), max(most, row_max(s)) + 1, sum", 2},
        {"dot(cast(s, \"bf16\"), v, o), row_max(s), sum", 2},
        {"dot(cast(s, \"bf16\"), v, o), max(most, row_max(s) * sum), sum", 2},
        {"dot(cast(s, \"bf16\"), v, o), most, sum * row_sum(s) + 1", 3},
        {"dot(cast(s, \"bf16\"), v, o), most, row_sum(s) - sum", 3},
        {"dot(cast(s, \"bf16\"), v, o), sum, most", 2},
        {"dot(cast(s * most, \"bf16\"), v, o), m(), sum", 1},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct read r = {0};
        struct plan p = {0};
        softmax_of(TILE, CAUSAL, c[i].carried, &r, &p, ONLY_READ);
        int which = -1;
        const struct program *program = r.spec.kernel[0].program;
        int loop = 0;
        while (program->op[loop].kind != PROGRAM_LOOP)
            loop++;
        enum any_order order = program_any_order(program, loop, &program->graph->memory, &which);
        if (order != (c[i].fault ? ANY_ORDER_CARRIED : ANY_ORDER) || (c[i].fault && which != c[i].fault - 1))
            fail_msg("%s: found %d, value %d", c[i].carried, (int)order, which + 1);
        spec_free(&r.spec);
        diag_free(&r.diags);
    }
}

/* Of a tall tile block by block, of a wide one half by half; not where the turn takes the product otherwise, too. */
static void test_by_block(void **state)
{
    (void)state;
#define PARTS(first, carried, next, stored)                                                                            \
    "local " carried " = loop(\"k\", range(0, K, tile.k), { " first " }, function(k, " carried ")\n"                   \
    "  local p = dot(load(t.A, span(at.m, tile.m), span(k, 64)), load(t.B, span(at.n, tile.n), span(k, 64)):t())\n"    \
    "  return " next "\nend)\nstore(t.D, span(at.m, tile.m), span(at.n, tile.n), " stored ")"
#define TALLEST "tile = { m = 256, n = 128, k = 64 }"
#define ODD "tile = { m = 128, n = 248, k = 64 }" /* no instruction has 124 columns */
    for (int i = 0; i < 2; i++) {
        struct plan p;
        plan_of(&p, &along, i ? "by_columns_masks" : "by_block_masks");
        char *text = story(&p, "consumer");
        assert_non_null(strstr(text, "mma_wait_0 evaluate:carried1 mma_fence dot mma_commit ab_ask mma_wait_0 ab_r"));
        assert_true(p.mma[0].n == 128 && p.mma[0].blocks_m == 2 - i && p.mma[0].blocks_n == 1 + i);
        free(text);
        plan_free(&p);
    }
    refuses(ODD, PARTS("zeros()", "sum", "sum + p", "sum"), "REGS", "needs about");
    refuses(TALLEST, PARTS("zeros(), rows(0)", "a, b", "a + p, b + row_sum(p)", "a + b"), "REGS", "needs about");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_reads_ahead),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_each_step_is_needed),
        cmocka_unit_test(test_each_fill_is_made_once),
        cmocka_unit_test(test_items_from_a_counter),
        cmocka_unit_test(test_items_are_told_once_a_turn),
        cmocka_unit_test(test_idle_turns),
        cmocka_unit_test(test_direction),
        cmocka_unit_test(test_one_body),
        cmocka_unit_test(test_by_block),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_without_producer),
        cmocka_unit_test(test_fills_ahead),
        cmocka_unit_test(test_data),
    };
    return cmocka_run_group_tests(tests, read_specs, free_specs);
}
