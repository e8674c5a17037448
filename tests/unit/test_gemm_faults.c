/* The GEMM that ships, from specs/gemm.lua: faults that are planted in its Plan or in its template are found and named.
 */
#include "gemm_spec.h"

#include "emit/embed.h"

/* ---- faults of the Plan ---------------------------------------------------------------------------------------- */

static void drop(struct plan *p, int role, const char *call, int n)
{
    struct plan_role *r = &p->role[role];
    int i = at(p, role, call, n);
    r->step_count--;
    memmove(&r->step[i], &r->step[i + 1], sizeof *r->step * (size_t)(r->step_count - i));
}

static void swap(struct plan *p, int role, const char *first, const char *second)
{
    struct plan_step *a = step(p, role, first, 1), *b = step(p, role, second, 1), kept = *a;
    *a = *b;
    *b = kept;
}

static void full_arrivals_high(struct plan *p)
{
    p->ring[0].full_arrivals++;
}
static void full_arrivals_low(struct plan *p)
{
    p->ring[0].full_arrivals--;
}
static void empty_arrivals_high(struct plan *p)
{
    p->ring[0].empty_arrivals++;
}
static void empty_arrivals_low(struct plan *p)
{
    p->ring[0].empty_arrivals--;
}
static void release_by_less_warps(struct plan *p)
{
    step(p, CONSUMER, "ab_release", 1)->arrivals = 1;
}
static void expects_less(struct plan *p)
{
    step(p, PRODUCER, "ab_expect", 1)->count -= 16;
}
static void expects_more(struct plan *p)
{
    step(p, PRODUCER, "ab_expect", 1)->count += 16;
}
static void ring_expects_more(struct plan *p)
{
    p->ring[0].tx_bytes += 16;
}
static void half_of_a_tile(struct plan *p)
{
    step(p, PRODUCER, "B_load", 1)->count /= 2;
}
static void deeper_than_its_memory(struct plan *p)
{
    p->ring[0].stages++;
}
static void shallower_than_its_memory(struct plan *p)
{
    p->ring[0].stages--;
}
static void one_stage(struct plan *p)
{
    p->ring[0].stages = 1;
    for (int i = 0; i < p->shared_count; i++)
        if (strncmp(p->shared[i].name, "ab.", 3) == 0) {
            p->shared[i].bytes /= p->shared[i].count;
            p->shared[i].count = 1;
        }
}
static void fills_before_it_waits(struct plan *p)
{
    swap(p, PRODUCER, "ab_wait_empty", "A_load");
}
static void expects_before_it_waits(struct plan *p)
{
    swap(p, PRODUCER, "ab_wait_empty", "ab_expect");
}
static void reads_before_it_waits(struct plan *p)
{
    struct plan_step *wait = step(p, CONSUMER, "ab_wait_full", 1), kept = *wait;
    wait[0] = wait[1];
    wait[1] = wait[2];
    wait[2] = kept;
}
static void releases_before_it_waits(struct plan *p)
{
    swap(p, CONSUMER, "mma_wait_1", "ab_release");
}
static void never_waits_empty(struct plan *p)
{
    drop(p, PRODUCER, "ab_wait_empty", 1);
}
static void never_expects(struct plan *p)
{
    drop(p, PRODUCER, "ab_expect", 1);
}
static void never_fills_b(struct plan *p)
{
    drop(p, PRODUCER, "B_load", 1);
}
static void never_drains(struct plan *p)
{
    drop(p, PRODUCER, "ab_drain", 1);
}
static void never_waits_full(struct plan *p)
{
    drop(p, CONSUMER, "ab_wait_full", 1);
}
static void no_release(struct plan *p)
{
    drop(p, CONSUMER, "ab_release", 1);
}
static void no_last_release(struct plan *p)
{
    drop(p, CONSUMER, "ab_release", 2);
}
static void no_commit(struct plan *p)
{
    drop(p, CONSUMER, "mma_commit", 1);
}
static void producer_phase(struct plan *p)
{
    step(p, PRODUCER, "ab_wait_empty", 1)->phase = 0;
}
static void consumer_phase(struct plan *p)
{
    step(p, CONSUMER, "ab_wait_full", 1)->phase = 1;
}
static void two_roles_fill(struct plan *p)
{
    step(p, CONSUMER, "mma_commit", 1)[0] = *step(p, PRODUCER, "ab_expect", 1);
}
static void two_roles_release(struct plan *p)
{
    struct plan_step *end = step(p, PRODUCER, "B_load", 1);
    *end = *step(p, CONSUMER, "ab_release", 1);
}
static void producer_at_the_consumers_barrier(struct plan *p)
{
    struct plan_step *drain = step(p, PRODUCER, "ab_drain", 1);
    *drain = *step(p, CONSUMER, "d_barrier", 1);
}
static void waits_for_no_group(struct plan *p)
{
    step(p, CONSUMER, "mma_wait_1", 1)->count = 2;
}
static void releases_too_early(struct plan *p)
{
    step(p, CONSUMER, "ab_release", 1)->count = 0;
}
static void no_store_wait(struct plan *p)
{
    drop(p, CONSUMER, "d_wait", 1);
}
static void store_wait_too_shallow(struct plan *p)
{
    step(p, CONSUMER, "d_wait", 1)->count = 2;
}
static void no_first_barrier(struct plan *p)
{
    drop(p, CONSUMER, "d_barrier", 1);
}
static void no_second_barrier(struct plan *p)
{
    drop(p, CONSUMER, "d_barrier", 2);
}
static void no_fence(struct plan *p)
{
    drop(p, CONSUMER, "d_fence", 1);
}
static void fence_after_barrier(struct plan *p)
{
    struct plan_step *fence = step(p, CONSUMER, "d_fence", 1), kept = *fence;
    fence[0] = fence[1];
    fence[1] = kept;
}
static void stores_before_it_writes(struct plan *p)
{
    swap(p, CONSUMER, "D_write", "D_store");
}
static void barrier_of_more_threads(struct plan *p)
{
    p->barrier[0].threads = 192;
}

static void copies_of_fewer_groups(struct plan *p)
{
    step(p, BLOCK, "ab_wait", 1)->count++;
}
static void no_meeting(struct plan *p)
{
    drop(p, BLOCK, "ab_meet", 1);
}
static void fills_before_meeting(struct plan *p)
{
    struct plan_step *meet = step(p, BLOCK, "ab_meet", 1), kept = *meet;
    meet[0] = meet[1];
    meet[1] = meet[2];
    meet[2] = kept;
}
static void no_copy_commit(struct plan *p)
{
    drop(p, BLOCK, "ab_commit", 2);
}
static void prologue_too_long(struct plan *p)
{
    step(p, BLOCK, "prologue", 1)->count++;
}
static void never_copies_b(struct plan *p)
{
    drop(p, BLOCK, "B_load", 2);
}

struct fault {
    const char *name;
    void (*plant)(struct plan *p);
    const char *where, *rule; /* where: role, stage and step, or the part of the Plan */
};

static void find(const struct fault *fault, const char *arch)
{
    for (; fault->plant; fault++) {
        struct plan p;
        struct diag_set diags = {0};
        good_plan(&p, "gemm_bf16", arch, 0);
        fault->plant(&p);
        if (plan_check(&p, &diags) == 0)
            plan_check_protocol(&p, &diags);
        char rule[64], *text = texts(&diags);
        snprintf(rule, sizeof rule, "[%s]", fault->rule);
        bool found = false;
        for (const char *line = text; line && *line && !found;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
            size_t length = strcspn(line, "\n");
            char one[2048];
            snprintf(one, sizeof one, "%.*s", (int)length, line);
            found = strstr(one, "kernel 'gemm_bf16'") && strstr(one, fault->where) && strstr(one, rule);
        }
        if (!found)
            fail_msg("%s, %s: no line with '%s' and %s in:\n%s", arch, fault->name, fault->where, rule, text);
        free(text);
        plan_free(&p);
    }
}

#define FAULT(plant, where, rule)                                                                                      \
    {                                                                                                                  \
#plant, plant, where, rule                                                                                     \
    }

static void faults_of_the_wgmma_plan(void **state)
{
    (void)state;
    static const struct fault fault[] = {
        FAULT(full_arrivals_high, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(full_arrivals_low, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(empty_arrivals_high, "role consumer, stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(empty_arrivals_low, "role consumer, stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(release_by_less_warps, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(expects_less, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(expects_more, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(ring_expects_more, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(half_of_a_tile, "role producer, stage 0, step 6 B_load", "PROTOCOL-BYTES"),
        FAULT(deeper_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(shallower_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(one_stage, "role consumer, stage 0, step 8 ab_release", "PROTOCOL-DEPTH"),
        FAULT(fills_before_it_waits, "role producer, stage 0, step 3 A_load", "PROTOCOL-OVERWRITE"),
        FAULT(expects_before_it_waits, "role producer, stage 0, step 3 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(reads_before_it_waits, "role consumer, stage 0, step 3 mma", "PROTOCOL-READ"),
        FAULT(releases_before_it_waits, "role consumer, stage 0, step 7 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(never_waits_empty, "role producer, stage 0, step 3 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(never_expects, "role producer, stage 0, step 4 A_load", "PROTOCOL-ARRIVALS"),
        FAULT(never_fills_b, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(never_drains, "role consumer, stage 1, step 11 ab_release", "PROTOCOL-EXIT"),
        FAULT(never_waits_full, "role consumer, stage 0, step 3 mma", "PROTOCOL-READ"),
        FAULT(no_release, "role consumer, stage 0, step 3 ab_wait_full", "PROTOCOL-RELEASE"),
        FAULT(no_last_release, "role consumer, stage 1, step 8 ab_release", "PROTOCOL-RELEASE"),
        FAULT(no_commit, "role consumer, stage 0, step 7 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(producer_phase, "role producer, stage 0, step 3 ab_wait_empty", "PROTOCOL-PHASE"),
        FAULT(consumer_phase, "role consumer, stage 0, step 3 ab_wait_full", "PROTOCOL-PHASE"),
        FAULT(two_roles_fill, "role consumer, stage 0, step 6 ab_expect", "PROTOCOL-ROLES"),
        FAULT(two_roles_release, "role producer, stage 0, step 6 ab_release", "PROTOCOL-ROLES"),
        FAULT(producer_at_the_consumers_barrier, "role consumer, step 14 d_barrier", "PROTOCOL-ROLES"),
        FAULT(waits_for_no_group, "role consumer, stage 0, step 8 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(releases_too_early, "role consumer, stage 0, step 8 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(no_store_wait, "role consumer, stage 0, step 14 D_write", "PROTOCOL-OVERWRITE"),
        FAULT(store_wait_too_shallow, "role consumer, stage 0, step 15 D_write", "PROTOCOL-OVERWRITE"),
        FAULT(no_first_barrier, "role consumer, stage 0, step 14 D_write", "PROTOCOL-BARRIER"),
        FAULT(no_second_barrier, "role consumer, stage 0, step 17 D_store", "PROTOCOL-BARRIER"),
        FAULT(no_fence, "role consumer, stage 0, step 17 D_store", "PROTOCOL-FENCE"),
        FAULT(fence_after_barrier, "role consumer, stage 0, step 18 D_store", "PROTOCOL-FENCE"),
        FAULT(stores_before_it_writes, "role consumer, stage 0, step 15 D_store", "PROTOCOL-ORDER"),
        FAULT(barrier_of_more_threads, "role consumer, step 14 d_barrier", "PROTOCOL-ROLES"),
        {0},
    };
    find(fault, "sm_90a");
}

static void faults_of_the_mma_sync_plan(void **state)
{
    (void)state;
    static const struct fault fault[] = {
        FAULT(deeper_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(copies_of_fewer_groups, "role block, stage 0, step 13 mma", "PROTOCOL-READ"),
        FAULT(no_meeting, "role block, stage 0, step 12 mma", "PROTOCOL-BARRIER"),
        FAULT(fills_before_meeting, "role block, stage 0, step 9 A_load", "PROTOCOL-OVERWRITE"),
        FAULT(no_copy_commit, "role block, stage 1, step 12 mma", "PROTOCOL-READ"),
        FAULT(prologue_too_long, "role block, stage 0, step 10 A_load", "PROTOCOL-OVERWRITE"),
        FAULT(never_copies_b, "role block, stage 2, step 12 mma", "PROTOCOL-READ"),
        {0},
    };
    find(fault, "sm_80");
}

/* ---- faults of the template ------------------------------------------------------------------------------------ */

/* One call of the protocol as it stands in the template; `step` as messages count. */
struct call {
    const char *line;
    int nth; /* of equal lines */
    const char *role;
    int step;
    const char *name;
};

static const struct call wgmma_call[] = {
    {"ab_wait_empty(fill);", 1, "producer", 3, "ab_wait_empty"},
    {"ab_expect(fill);", 1, "producer", 4, "ab_expect"},
    {"A_load(args, fill, m, step * ${tile.k});", 1, "producer", 5, "A_load"},
    {"B_load(args, fill, n, step * ${tile.k});", 1, "producer", 6, "B_load"},
    {"ab_drain(fill);", 1, "producer", 9, "ab_drain"},
    {"ab_wait_full(read);", 1, "consumer", 3, "ab_wait_full"},
    {"mma(sum, read.stage, consumer, step > 0);", 1, "consumer", 4, "mma"},
    {"mma_commit();", 1, "consumer", 6, "mma_commit"},
    {"mma_wait_1();", 1, "consumer", 7, "mma_wait_1"},
    {"ab_release(release);", 1, "consumer", 8, "ab_release"},
    {"mma_wait_0();", 1, "consumer", 10, "mma_wait_0"},
    {"ab_release(release);", 2, "consumer", 11, "ab_release"},
    {"d_wait();", 1, "consumer", 13, "d_wait"},
    {"d_barrier(consumer);", 1, "consumer", 14, "d_barrier"},
    {"${t.name}_write(", 1, "consumer", 15, "D_write"},
    {"d_fence();", 1, "consumer", 16, "d_fence"},
    {"d_barrier(consumer);", 2, "consumer", 17, "d_barrier"},
    {"${t.name}_store(", 1, "consumer", 18, "D_store"},
    {"d_wait_0();", 1, "consumer", 21, "d_wait_0"},
    {0},
};

/* A whole line of a text, its end included. */
struct line {
    size_t begin, end;
};

static struct line line_of(const char *text, const struct call *call)
{
    size_t length = strlen(call->line);
    int nth = call->nth;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *code = line + strspn(line, " ");
        if (strncmp(code, call->line, length) == 0 && --nth == 0)
            return (struct line){(size_t)(line - text), (size_t)(line - text) + strcspn(line, "\n") + 1};
    }
    fail_msg("the template has no line '%s' number %d", call->line, call->nth);
    return (struct line){0, 0};
}

/* The edited template is refused; the message names the role, this step of it and its call. */
static void refused(const struct plan *p, const char *edited, const char *what, const struct call *named)
{
    struct diag_set diags = {0};
    char where[80], call[80], *text = emit(p, edited, &diags), *said = texts(&diags);
    snprintf(where, sizeof where, "role '%s', step %d (", named->role, named->step);
    snprintf(call, sizeof call, "the Plan orders a call of %s, the template has", named->name);
    if (text || !strstr(said, "[TEMPLATE-ORDER]") || !strstr(said, where) || !strstr(said, call) ||
        strncmp(said, p->template_name, strlen(p->template_name)) != 0)
        fail_msg("%s: wanted '%s' and '%s' in:\n%s", what, where, call, said);
    free(said);
}

/* Joins pieces of the text in a new order. */
static char *joined(const char *text, const struct line *piece, int count)
{
    char *out = calloc(1, 2 * strlen(text) + 1), *end = out;
    assert_non_null(out);
    for (int i = 0; i < count; i++) {
        memcpy(end, text + piece[i].begin, piece[i].end - piece[i].begin);
        end += piece[i].end - piece[i].begin;
    }
    return out;
}

static void dropped_calls(void **state)
{
    (void)state;
    const char *text;
    size_t length;
    struct plan p;
    good_plan(&p, "gemm_bf16", "sm_90a", 0);
    assert_true(emit_find_template(p.template_name, &text, &length));
    for (const struct call *c = wgmma_call; c->line; c++) {
        struct line at_line = line_of(text, c);
        struct line piece[2] = {{0, at_line.begin}, {at_line.end, length}};
        char *edited = joined(text, piece, 2), what[120];
        snprintf(what, sizeof what, "%s dropped", c->line);
        refused(&p, edited, what, c);
        free(edited);
    }
    plan_free(&p);
}

/* The second call stands where the Plan orders what follows: the next step of the role that has a call, or an end. */
static void doubled_calls(void **state)
{
    (void)state;
    const char *text;
    size_t length;
    struct plan p;
    good_plan(&p, "gemm_bf16", "sm_90a", 0);
    assert_true(emit_find_template(p.template_name, &text, &length));
    for (const struct call *c = wgmma_call; c->line; c++) {
        struct line at_line = line_of(text, c);
        struct line piece[2] = {{0, at_line.end}, {at_line.begin, length}};
        struct diag_set diags = {0};
        char *edited = joined(text, piece, 2), *emitted = emit(&p, edited, &diags), *said = texts(&diags), where[80],
             has[80];
        snprintf(where, sizeof where, "role '%s', ", c->role);
        snprintf(has, sizeof has, "the template has a call of %s", c->name);
        if (emitted || !strstr(said, where) || !strstr(said, has) || !strstr(said, "[TEMPLATE-ORDER]"))
            fail_msg("%s twice: wanted '%s' and '%s' in:\n%s", c->line, where, has, said);
        free(said);
        free(edited);
    }
    plan_free(&p);
}

static void swapped_calls(void **state)
{
    (void)state;
    const char *text;
    size_t length;
    struct plan p;
    good_plan(&p, "gemm_bf16", "sm_90a", 0);
    assert_true(emit_find_template(p.template_name, &text, &length));
    for (const struct call *c = wgmma_call; c[1].line; c++) {
        if (strcmp(c[0].role, c[1].role) != 0 || strcmp(c[1].name, "d_wait_0") == 0)
            continue; /* beyond the template's loop over results there is no ${t.name} */
        struct line a = line_of(text, &c[0]), b = line_of(text, &c[1]);
        assert_true(a.end <= b.begin);
        struct line piece[5] = {{0, a.begin}, b, {a.end, b.begin}, a, {b.end, length}};
        char *edited = joined(text, piece, 5), what[160];
        snprintf(what, sizeof what, "%s and %s swapped", c[0].line, c[1].line);
        refused(&p, edited, what, &c[0]);
        free(edited);
    }
    plan_free(&p);
}

/* The mma.sync template too: each call once. */
static void dropped_calls_of_mma_sync(void **state)
{
    (void)state;
    const char *text;
    size_t length;
    struct plan p;
    good_plan(&p, "gemm_bf16", "sm_80", 0);
    assert_true(emit_find_template(p.template_name, &text, &length));
    static const char *const name[] = {"ab_wait", "ab_meet", "ab_commit", "A_load", "B_load", "mma"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char *edited = strdup(text), call[40];
        assert_non_null(edited);
        snprintf(call, sizeof call, " %s(", name[i]);
        int calls = 0;
        for (char *found = edited; (found = strstr(found, call)) != NULL; found++) {
            char kept = found[1];
            found[1] = '_'; /* a call of something else: none of the protocol's */
            struct diag_set diags = {0};
            char *emitted = emit(&p, edited, &diags), *said = texts(&diags), has[80];
            found[1] = kept;
            snprintf(has, sizeof has, "the Plan orders a call of %s", name[i]);
            if (!emitted) {
                calls++;
                if (!strstr(said, "role 'block', step") || !strstr(said, has) || !strstr(said, "[TEMPLATE-ORDER]"))
                    fail_msg("%s dropped: wanted '%s' in:\n%s", name[i], has, said);
            }
            free(emitted);
            free(said);
        }
        if (calls == 0)
            fail_msg("no call of %s counts", name[i]);
        free(edited);
    }
    plan_free(&p);
}

/* Forms of the right calls in the right order that do something else. */
static void guards_of_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *from, *to, *message;
    } row[] = {
        {"sm_90a", "//@ when step > 0\n                    ab_release(release);\n//@ endwhen\n",
         "                ab_release(release);\n", "the template has a call of ab_release"},
        {"sm_90a", "//@ when step > 0\n                    ab_release(release);\n//@ endwhen\n",
         "                if (threadIdx.x == 999)\n                    ab_release(release);\n",
         "'ab_release' is called under the 'if'"},
        {"sm_90a", "                ab_wait_full(read);\n",
         "                if (step == 0)\n                    ab_wait_full(read);\n",
         "'ab_wait_full' is called under the 'if'"},
        {"sm_90a", "//@ when steps > 0\n", "//@ when steps > 1\n", "the Plan orders a call of ab_release"},
        {"sm_90a", "//@ loop \"k\" step < steps\n                ab_wait_full",
         "//@ loop \"k\" step < 3\n ab_wait_full", "loops of one name make equally many trips"},
        {"sm_90a", "                ab_advance(read);\n", "", "'read' is 1 stage behind where ab_wait_full"},
        {"sm_90a", "mma(sum, read.stage,", "mma(sum, release.stage,", "'release' is "},
        {"sm_80", "//@ when step < steps\n", "//@ when step > steps\n", "the Plan orders a call of A_load"},
        {"sm_80", "//@ when step + ${ahead} < steps\n", "//@ when step + 1 < steps\n", "A_load"},
        {"sm_80", "            ab_meet();\n", "            if (step > 0)\n                ab_meet();\n",
         "'ab_meet' is called under the 'if'"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text, *found;
        size_t length;
        struct plan p;
        struct diag_set diags = {0};
        good_plan(&p, "gemm_bf16", row[i].arch, 0);
        assert_true(emit_find_template(p.template_name, &text, &length));
        if (!(found = strstr(text, row[i].from)))
            fail_msg("the template has no '%s'", row[i].from);
        char *edited = malloc(length + strlen(row[i].to) + 1);
        assert_non_null(edited);
        sprintf(edited, "%.*s%s%s", (int)(found - text), text, row[i].to, found + strlen(row[i].from));
        char *emitted = emit(&p, edited, &diags), *said = texts(&diags);
        if (emitted || !strstr(said, row[i].message))
            fail_msg("%s: wanted '%s' in:\n%s", row[i].to, row[i].message, said);
        free(said);
        free(edited);
        plan_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_wgmma_plan),
        cmocka_unit_test(faults_of_the_mma_sync_plan),
        cmocka_unit_test(dropped_calls),
        cmocka_unit_test(doubled_calls),
        cmocka_unit_test(swapped_calls),
        cmocka_unit_test(dropped_calls_of_mma_sync),
        cmocka_unit_test(guards_of_the_text),
    };
    return cmocka_run_group_tests(tests, read_spec, free_spec);
}
