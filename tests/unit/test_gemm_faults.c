/* The GEMM that ships, from specs/gemm.lua through its Plan to its text: faults that are planted in the Plan or in the
 * template are found and named, and every number of the Plan counts. Runs in the repository's folder. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compile.h"
#include "emit/embed.h"
#include "emit/host.h"

static struct compile_tables tables;
static struct spec spec;
static struct diag_set spec_diags;

static int read_spec(void **state)
{
    (void)state;
    compile_tables_fill(&tables);
    int status = spec_read("specs/gemm.lua", &tables.options, &spec, &spec_diags);
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

/* What a set says, one fault a line; the caller frees it. Empties the set. */
static char *texts(struct diag_set *diags)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (int i = 0; i < diags->count; i++)
        diag_print_one(diags, i, out);
    fclose(out);
    diag_free(diags);
    return text;
}

static void good_plan(struct plan *p, const char *kernel, const char *arch, int variant)
{
    const struct spec_kernel *k = NULL;
    for (int i = 0; i < spec.kernel_count; i++)
        if (strcmp(spec.kernel[i].name, kernel) == 0)
            k = &spec.kernel[i];
    assert_non_null(k);
    struct diag_set diags = {0};
    int status = family_plan(&spec, k, arch_find(arch), variant, p, &diags);
    char *text = texts(&diags);
    assert_string_equal(text, "");
    assert_int_equal(status, 0);
    free(text);
}

/* ---- faults of the Plan ---------------------------------------------------------------------------------------- */

enum { PRODUCER, CONSUMER, BLOCK = 0 };

/* Position of the n-th step (from 1) of a role that has this call. */
static int at(const struct plan *p, int role, const char *call, int n)
{
    for (int i = 0; i < p->role[role].step_count; i++)
        if (p->role[role].step[i].call && strcmp(p->role[role].step[i].call, call) == 0 && --n == 0)
            return i;
    fail_msg("role %s has no such step %s", p->role[role].name, call);
    return -1;
}

static struct plan_step *step(struct plan *p, int role, const char *call, int n)
{
    return &p->role[role].step[at(p, role, call, n)];
}

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

static void full_arrivals_high(struct plan *p) { p->ring[0].full_arrivals++; }
static void full_arrivals_low(struct plan *p) { p->ring[0].full_arrivals--; }
static void empty_arrivals_high(struct plan *p) { p->ring[0].empty_arrivals++; }
static void empty_arrivals_low(struct plan *p) { p->ring[0].empty_arrivals--; }
static void release_by_less_warps(struct plan *p) { step(p, CONSUMER, "ab_release", 1)->arrivals = 1; }
static void expects_less(struct plan *p) { step(p, PRODUCER, "ab_expect", 1)->count -= 16; }
static void expects_more(struct plan *p) { step(p, PRODUCER, "ab_expect", 1)->count += 16; }
static void ring_expects_more(struct plan *p) { p->ring[0].tx_bytes += 16; }
static void half_of_a_tile(struct plan *p) { step(p, PRODUCER, "B_load", 1)->count /= 2; }
static void deeper_than_its_memory(struct plan *p) { p->ring[0].stages++; }
static void shallower_than_its_memory(struct plan *p) { p->ring[0].stages--; }
static void one_stage(struct plan *p)
{
    p->ring[0].stages = 1;
    for (int i = 0; i < p->shared_count; i++)
        if (strncmp(p->shared[i].name, "ab.", 3) == 0) {
            p->shared[i].bytes /= p->shared[i].count;
            p->shared[i].count = 1;
        }
}
static void fills_before_it_waits(struct plan *p) { swap(p, PRODUCER, "ab_wait_empty", "A_load"); }
static void expects_before_it_waits(struct plan *p) { swap(p, PRODUCER, "ab_wait_empty", "ab_expect"); }
static void reads_before_it_waits(struct plan *p)
{
    struct plan_step *wait = step(p, CONSUMER, "ab_wait_full", 1), kept = *wait;
    wait[0] = wait[1];
    wait[1] = wait[2];
    wait[2] = kept;
}
static void releases_before_it_waits(struct plan *p) { swap(p, CONSUMER, "mma_wait_1", "ab_release"); }
static void never_waits_empty(struct plan *p) { drop(p, PRODUCER, "ab_wait_empty", 1); }
static void never_expects(struct plan *p) { drop(p, PRODUCER, "ab_expect", 1); }
static void never_fills_b(struct plan *p) { drop(p, PRODUCER, "B_load", 1); }
static void never_drains(struct plan *p) { drop(p, PRODUCER, "ab_drain", 1); }
static void never_waits_full(struct plan *p) { drop(p, CONSUMER, "ab_wait_full", 1); }
static void no_release(struct plan *p) { drop(p, CONSUMER, "ab_release", 1); }
static void no_last_release(struct plan *p) { drop(p, CONSUMER, "ab_release", 2); }
static void no_commit(struct plan *p) { drop(p, CONSUMER, "mma_commit", 1); }
static void producer_phase(struct plan *p) { step(p, PRODUCER, "ab_wait_empty", 1)->phase = 0; }
static void consumer_phase(struct plan *p) { step(p, CONSUMER, "ab_wait_full", 1)->phase = 1; }
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
static void waits_for_no_group(struct plan *p) { step(p, CONSUMER, "mma_wait_1", 1)->count = 2; }
static void releases_too_early(struct plan *p) { step(p, CONSUMER, "ab_release", 1)->count = 0; }
static void no_store_wait(struct plan *p) { drop(p, CONSUMER, "d_wait", 1); }
static void store_wait_too_shallow(struct plan *p) { step(p, CONSUMER, "d_wait", 1)->count = 2; }
static void no_first_barrier(struct plan *p) { drop(p, CONSUMER, "d_barrier", 1); }
static void no_second_barrier(struct plan *p) { drop(p, CONSUMER, "d_barrier", 2); }
static void no_fence(struct plan *p) { drop(p, CONSUMER, "d_fence", 1); }
static void fence_after_barrier(struct plan *p)
{
    struct plan_step *fence = step(p, CONSUMER, "d_fence", 1), kept = *fence;
    fence[0] = fence[1];
    fence[1] = kept;
}
static void stores_before_it_writes(struct plan *p) { swap(p, CONSUMER, "D_write", "D_store"); }
static void barrier_of_more_threads(struct plan *p) { p->barrier[0].threads = 192; }

static void copies_of_fewer_groups(struct plan *p) { step(p, BLOCK, "ab_wait", 1)->count++; }
static void no_meeting(struct plan *p) { drop(p, BLOCK, "ab_meet", 1); }
static void fills_before_meeting(struct plan *p)
{
    struct plan_step *meet = step(p, BLOCK, "ab_meet", 1), kept = *meet;
    meet[0] = meet[1];
    meet[1] = meet[2];
    meet[2] = kept;
}
static void no_copy_commit(struct plan *p) { drop(p, BLOCK, "ab_commit", 2); }
static void prologue_too_long(struct plan *p) { step(p, BLOCK, "prologue", 1)->count++; }
static void never_copies_b(struct plan *p) { drop(p, BLOCK, "B_load", 2); }

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
        for (const char *line = text; line && *line && !found; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
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

#define FAULT(plant, where, rule)      \
    {                                  \
        #plant, plant, where, rule     \
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
        FAULT(never_drains, "role consumer, stage 3, step 11 ab_release", "PROTOCOL-EXIT"),
        FAULT(never_waits_full, "role consumer, stage 0, step 3 mma", "PROTOCOL-READ"),
        FAULT(no_release, "role consumer, stage 0, step 3 ab_wait_full", "PROTOCOL-RELEASE"),
        FAULT(no_last_release, "role consumer, stage 3, step 8 ab_release", "PROTOCOL-RELEASE"),
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

static char *emit(const struct plan *p, const char *template_text, struct diag_set *diags)
{
    const struct emit_source source = {p->template_name, template_text, template_text ? strlen(template_text) : 0};
    const struct emit_options options = {.generator_version = 1, .line_directives = true, .source = &source,
                                         .source_count = template_text != NULL};
    char *text = NULL;
    size_t length = 0;
    int status = emit_template(p->template_name, p, &options, &text, &length, diags);
    assert_int_equal(status, diags->errors > 0);
    assert_true((text != NULL) == (status == 0));
    return text;
}

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

/* ---- numbers of the Plan --------------------------------------------------------------------------------------- */

static struct plan_value *value(struct plan *p, const char *name)
{
    for (int i = 0; i < p->value_count; i++)
        if (strcmp(p->value[i].name, name) == 0)
            return &p->value[i];
    fail_msg("the Plan has no value %s", name);
    return NULL;
}

static struct plan_shared *shared(struct plan *p, const char *name)
{
    for (int i = 0; i < p->shared_count; i++)
        if (strcmp(p->shared[i].name, name) == 0)
            return &p->shared[i];
    fail_msg("the Plan has no region %s", name);
    return NULL;
}

static void stages(struct plan *p) { p->ring[0].stages++; }
static void result_buffers(struct plan *p) { p->ring[1].stages++; }
static void stage_bytes(struct plan *p) { step(p, PRODUCER, "ab_expect", 1)->count += 16; }
static void full_arrivals(struct plan *p) { p->ring[0].full_arrivals++; }
static void empty_arrivals(struct plan *p) { p->ring[0].empty_arrivals++; }
static void empty_phase(struct plan *p) { step(p, PRODUCER, "ab_wait_empty", 1)->phase ^= 1; }
static void full_phase(struct plan *p) { step(p, CONSUMER, "ab_wait_full", 1)->phase ^= 1; }
static void groups_left(struct plan *p) { step(p, CONSUMER, "mma_wait_1", 1)->count = 2; }
static void stores_left(struct plan *p) { step(p, CONSUMER, "d_wait", 1)->count = 0; }
static void tile_m(struct plan *p) { value(p, "tile.m")->integer *= 2; }
static void tile_n(struct plan *p) { value(p, "tile.n")->integer /= 2; }
static void tile_k(struct plan *p) { value(p, "tile.k")->integer *= 2; }
static void cluster_m(struct plan *p) { value(p, "cluster.m")->integer *= 2; }
static void group(struct plan *p) { value(p, "schedule.group")->integer = 16; }
static void order(struct plan *p) { value(p, "schedule.order")->text = "row"; }
static void extent(struct plan *p) { value(p, "extent.k")->text = "(i64)64"; }
static void barrier_id(struct plan *p) { p->barrier[0].id++; }
static void barrier_threads(struct plan *p) { p->barrier[0].threads *= 2; }
static void offset_a(struct plan *p) { shared(p, "ab.A")->offset += 1024; }
static void offset_b(struct plan *p) { shared(p, "ab.B")->offset += 1024; }
static void offset_d(struct plan *p) { shared(p, "d")->offset += 1024; }
static void offset_full(struct plan *p) { shared(p, "ab.full")->offset += 8; }
static void offset_empty(struct plan *p) { shared(p, "ab.empty")->offset += 8; }
static void bytes_d(struct plan *p) { shared(p, "d")->bytes *= 2; }
static void shared_align(struct plan *p) { p->shared_align *= 2; }
static void shared_bytes(struct plan *p) { p->launch.shared_bytes += 1024; }
static void producer_registers(struct plan *p) { p->role[PRODUCER].registers -= 8; }
static void consumer_registers(struct plan *p) { p->role[CONSUMER].registers -= 8; }
static void threads(struct plan *p) { p->launch.block += 128; }
static void instruction_n(struct plan *p) { p->mma[0].n /= 2; }
static void instruction_blocks(struct plan *p) { p->mma[0].blocks_m++; }
static void instruction_steps(struct plan *p) { p->mma[0].k_steps--; }
static void leading_bytes(struct plan *p) { p->mma[0].operand[0].leading_bytes *= 2; }
static void stride_bytes_a(struct plan *p) { p->mma[0].operand[0].stride_bytes *= 2; }
static void stride_bytes_b(struct plan *p) { p->mma[0].operand[1].stride_bytes *= 2; }
static void k_bytes(struct plan *p) { p->mma[0].operand[1].k_bytes *= 2; }
static void block_bytes(struct plan *p) { p->mma[0].operand[0].block_bytes *= 2; }
static void swizzle(struct plan *p) { p->tensor[0].swizzle = TW_SWIZZLE_64B; }
static void result_swizzle(struct plan *p) { p->tensor[2].swizzle = TW_SWIZZLE_64B; }
static void multicast(struct plan *p) { p->tensor[1].multicast = 1; }
static void tile_bytes(struct plan *p) { p->tensor[0].tile_bytes *= 2; }
static void box(struct plan *p) { p->tensor[1].box[0] /= 2; }
static void boxes(struct plan *p) { p->tensor[1].boxes = 2; }
static void dtype_of_results(struct plan *p) { p->tensor[2].dtype = TW_FP16; }
static void dtype_of_operands(struct plan *p) { p->mma[0].input = TW_FP16; }
static void map_box(struct plan *p) { p->map[0].box[1] /= 2; }
static void map_swizzle(struct plan *p) { p->map[0].swizzle = TW_SWIZZLE_64B; }
static void map_promotion(struct plan *p) { p->map[0].l2_promotion = 3; }
static void grid(struct plan *p) { p->launch.grid[0] = expr_int(&p->graph, 132); }
static void cluster(struct plan *p) { p->launch.cluster[0] = 4; }
static void alignment(struct plan *p) { p->tensor[0].align = 32; }
static void parameter_offset(struct plan *p) { p->param[p->param_count - 1].offset += 4; }
static void parameter_bytes(struct plan *p) { p->param_bytes += 64; }
static void entry(struct plan *p) { p->entry = "another"; }

enum { DEVICE = 1, HOST = 2 };

static const struct number {
    const char *name;
    void (*change)(struct plan *p);
    int text; /* which of the two changes, at least */
} number[] = {
#define NUMBER(change, text) {#change, change, text}
    NUMBER(stages, DEVICE),
    NUMBER(result_buffers, DEVICE),
    NUMBER(stage_bytes, DEVICE),
    NUMBER(full_arrivals, DEVICE),
    NUMBER(empty_arrivals, DEVICE),
    NUMBER(empty_phase, DEVICE),
    NUMBER(full_phase, DEVICE),
    NUMBER(groups_left, DEVICE),
    NUMBER(stores_left, DEVICE),
    NUMBER(tile_m, DEVICE),
    NUMBER(tile_n, DEVICE),
    NUMBER(tile_k, DEVICE),
    NUMBER(cluster_m, DEVICE),
    NUMBER(group, DEVICE),
    NUMBER(order, DEVICE),
    NUMBER(extent, DEVICE),
    NUMBER(barrier_id, DEVICE),
    NUMBER(barrier_threads, DEVICE),
    NUMBER(offset_a, DEVICE),
    NUMBER(offset_b, DEVICE),
    NUMBER(offset_d, DEVICE),
    NUMBER(offset_full, DEVICE),
    NUMBER(offset_empty, DEVICE),
    NUMBER(bytes_d, DEVICE),
    NUMBER(shared_align, DEVICE),
    NUMBER(shared_bytes, HOST),
    NUMBER(producer_registers, DEVICE),
    NUMBER(consumer_registers, DEVICE),
    NUMBER(threads, DEVICE | HOST),
    NUMBER(instruction_n, DEVICE),
    NUMBER(instruction_blocks, DEVICE),
    NUMBER(instruction_steps, DEVICE),
    NUMBER(leading_bytes, DEVICE),
    NUMBER(stride_bytes_a, DEVICE),
    NUMBER(stride_bytes_b, DEVICE),
    NUMBER(k_bytes, DEVICE),
    NUMBER(block_bytes, DEVICE),
    NUMBER(swizzle, DEVICE),
    NUMBER(result_swizzle, DEVICE),
    NUMBER(multicast, DEVICE),
    NUMBER(tile_bytes, DEVICE),
    NUMBER(box, DEVICE),
    NUMBER(boxes, DEVICE),
    NUMBER(dtype_of_results, DEVICE),
    NUMBER(dtype_of_operands, DEVICE),
    NUMBER(map_box, HOST),
    NUMBER(map_swizzle, HOST),
    NUMBER(map_promotion, HOST),
    NUMBER(grid, HOST),
    NUMBER(cluster, HOST),
    NUMBER(alignment, HOST),
    NUMBER(parameter_offset, HOST),
    NUMBER(parameter_bytes, HOST),
    NUMBER(entry, DEVICE | HOST),
};

/* The text without its first lines, which print the Plan's values for people. */
static const char *below_banner(const char *text)
{
    while (strncmp(text, "//", 2) == 0)
        text += strcspn(text, "\n") + 1;
    return text;
}

/* The host code, or why there is none: a map that no driver takes. */
static char *emit_c(const struct plan *p)
{
    const struct host_image image = {.plan = p, .source = "//\n", .source_bytes = 3, .registers = -1};
    const struct host_model model = {.name = "gemm_bf16", .image = &image, .image_count = 1};
    const struct emit_options options = {.generator_version = 1, .line_directives = true};
    struct diag_set diags = {0};
    char *header = NULL, *source = NULL;
    int status = emit_host(&model, &options, &header, &source, &diags);
    char *said = texts(&diags);
    free(header);
    if (status)
        return said;
    free(said);
    return source;
}

static void every_number_counts(void **state)
{
    (void)state;
    struct diag_set diags = {0};
    struct plan p;
    int idle = 0;
    good_plan(&p, "gemm_bf16", "sm_90a", 0);
    char *device = emit(&p, NULL, &diags), *host = emit_c(&p);
    plan_free(&p);
    assert_non_null(device);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        good_plan(&p, "gemm_bf16", "sm_90a", 0);
        number[i].change(&p);
        char *now = emit(&p, NULL, &diags), *host_now = emit_c(&p);
        char *said = texts(&diags);
        if (!now)
            fail_msg("%s: %s", number[i].name, said);
        if (number[i].text & DEVICE && strcmp(below_banner(device), below_banner(now)) == 0 && ++idle)
            print_error("%s changes nothing in the device code\n", number[i].name);
        if (number[i].text & HOST && strcmp(host, host_now) == 0 && ++idle)
            print_error("%s changes nothing in the host code\n", number[i].name);
        free(said);
        free(now);
        free(host_now);
        plan_free(&p);
    }
    free(device);
    free(host);
    assert_int_equal(idle, 0);
}

/* ---- readability ----------------------------------------------------------------------------------------------- */

/* The template is CUDA on four screens: no protocol, no descriptor and no PTX is spelt in it. */
static void the_template_is_readable(void **state)
{
    (void)state;
    static const char *const banned[] = {"0x", "0X", "asm",      "mbarrier",   "cp.async", "wgmma.", "stmatrix", "fence.",
                                         "%%", "<<", "bar.sync", "setmaxnreg", "#include", ".shared"};
    const char *text;
    size_t length;
    int lines = 0;
    assert_true(emit_find_template("gemm.sm_90a.cu", &text, &length));
    assert_null(strstr(text, "0x"));
    char *code = calloc(1, length + 1), *end = code; /* without the Lua lines, which name blocks */
    assert_non_null(code);
    for (const char *line = text, *next; *line; line = next, lines++) {
        next = line + strcspn(line, "\n") + 1;
        if (strncmp(line + strspn(line, " "), "//@", 3) != 0) {
            memcpy(end, line, (size_t)(next - line));
            end += next - line;
        }
    }
    assert_in_range(lines, 50, 200);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strstr(code, banned[i]))
            fail_msg("the template spells '%s'", banned[i]);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_wgmma_plan),  cmocka_unit_test(faults_of_the_mma_sync_plan),
        cmocka_unit_test(dropped_calls),             cmocka_unit_test(doubled_calls),
        cmocka_unit_test(swapped_calls),             cmocka_unit_test(dropped_calls_of_mma_sync),
        cmocka_unit_test(every_number_counts),       cmocka_unit_test(the_template_is_readable),
    };
    return cmocka_run_group_tests(tests, read_spec, free_spec);
}
