/* The GEMM that ships, from specs/gemm.lua: faults that are planted in its Plan are found and named. */
#include "gemm_spec.h"

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
    memmove(wait, wait + 1, 4 * sizeof *wait); /* behind the reads and the instruction */
    wait[4] = kept;
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
static void no_last_wait(struct plan *p)
{
    drop(p, CONSUMER, "mma_wait_0", 1);
}
static void no_fence_of_registers(struct plan *p)
{
    drop(p, CONSUMER, "mma_fence", 1);
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
    step(p, BLOCK, "copies_wait_1", 1)->count++;
}
static void no_meeting(struct plan *p)
{
    drop(p, BLOCK, "block_meet", 1);
}
static void fills_before_meeting(struct plan *p)
{
    struct plan_step *meet = step(p, BLOCK, "block_meet", 1), kept = *meet;
    meet[0] = meet[1];
    meet[1] = meet[2];
    meet[2] = kept;
}
static void no_copy_commit(struct plan *p)
{
    drop(p, BLOCK, "copies_commit", 2);
}
static void prologue_too_long(struct plan *p)
{
    step(p, BLOCK, "first_at_k", 1)->count++;
}
static void never_copies_b(struct plan *p)
{
    drop(p, BLOCK, "ab_B_load", 2);
}

struct fault {
    const char *name;
    void (*plant)(struct plan *p);
    const char *where, *rule; /* where: role, stage and step, or the part of the Plan */
};

static void find(const struct fault *fault, const char *arch)
{
    int missing = 0;
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
        if (!found && ++missing)
            print_error("%s, %s: no line with '%s' and %s in:\n%s", arch, fault->name, fault->where, rule, text);
        free(text);
        plan_free(&p);
    }
    assert_int_equal(missing, 0);
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
        FAULT(empty_arrivals_high, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(empty_arrivals_low, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(release_by_less_warps, "role consumer, stage 0, step 14 ab_release", "PROTOCOL-ARRIVALS"),
        FAULT(expects_less, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(expects_more, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(ring_expects_more, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(half_of_a_tile, "role producer, stage 0, step 6 B_load", "PROTOCOL-BYTES"),
        FAULT(deeper_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(shallower_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(one_stage, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-DEPTH"),
        FAULT(fills_before_it_waits, "role producer, stage 0, step 3 A_load", "PROTOCOL-OVERWRITE"),
        FAULT(expects_before_it_waits, "role producer, stage 0, step 3 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(reads_before_it_waits, "role consumer, stage 0, step 5 read", "PROTOCOL-READ"),
        FAULT(releases_before_it_waits, "role consumer, stage 0, step 10 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(never_waits_empty, "role producer, stage 0, step 3 ab_expect", "PROTOCOL-ARRIVALS"),
        FAULT(never_expects, "role producer, stage 0, step 4 A_load", "PROTOCOL-ARRIVALS"),
        FAULT(never_fills_b, "role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES"),
        FAULT(never_drains, "role consumer, stage 1, step 14 ab_release", "PROTOCOL-EXIT"),
        FAULT(never_waits_full, "role consumer, stage 0, step 5 read", "PROTOCOL-READ"),
        FAULT(no_release, "role consumer, stage 0, step 4 ab_wait_full", "PROTOCOL-RELEASE"),
        FAULT(no_last_release, "role consumer, step 11 ab_release", "PROTOCOL-RELEASE"),
        FAULT(no_last_wait, "role consumer, stage 1, step 13 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(no_fence_of_registers, "role consumer, step 7 dot", "WGMMA-FENCE"),
        FAULT(no_commit, "role consumer, stage 0, step 10 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(producer_phase, "role producer, stage 0, step 3 ab_wait_empty", "PROTOCOL-PHASE"),
        FAULT(consumer_phase, "role consumer, stage 0, step 4 ab_wait_full", "PROTOCOL-PHASE"),
        FAULT(two_roles_fill, "role consumer, stage 0, step 9 ab_expect", "PROTOCOL-ROLES"),
        FAULT(two_roles_release, "role producer, stage 0, step 6 ab_release", "PROTOCOL-ROLES"),
        FAULT(producer_at_the_consumers_barrier, "role consumer, step 18 d_barrier", "PROTOCOL-ROLES"),
        FAULT(waits_for_no_group, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(releases_too_early, "role consumer, stage 0, step 11 ab_release", "PROTOCOL-OVERWRITE"),
        FAULT(no_store_wait, "role consumer, stage 0, step 18 D_write", "PROTOCOL-OVERWRITE"),
        FAULT(store_wait_too_shallow, "role consumer, stage 0, step 19 D_write", "PROTOCOL-OVERWRITE"),
        FAULT(no_first_barrier, "role consumer, stage 0, step 18 D_write", "PROTOCOL-BARRIER"),
        FAULT(no_second_barrier, "role consumer, stage 0, step 21 D_store", "PROTOCOL-BARRIER"),
        FAULT(no_fence, "role consumer, stage 0, step 21 D_store", "PROTOCOL-FENCE"),
        FAULT(fence_after_barrier, "role consumer, stage 0, step 22 D_store", "PROTOCOL-FENCE"),
        FAULT(stores_before_it_writes, "role consumer, stage 0, step 19 D_store", "PROTOCOL-ORDER"),
        FAULT(barrier_of_more_threads, "role consumer, step 18 d_barrier", "PROTOCOL-ROLES"),
        {0},
    };
    find(fault, "sm_90a");
}

static void faults_of_the_mma_sync_plan(void **state)
{
    (void)state;
    static const struct fault fault[] = {
        FAULT(deeper_than_its_memory, "ab.A", "SMEM-SIZE"),
        FAULT(copies_of_fewer_groups, "role block, stage 0, step 15 read", "PROTOCOL-READ"),
        FAULT(no_meeting, "role block, stage 0, step 14 read", "PROTOCOL-BARRIER"),
        FAULT(fills_before_meeting, "role block, stage 0, step 10 ab_A_load", "PROTOCOL-OVERWRITE"),
        FAULT(no_copy_commit, "role block, stage 1, step 14 read", "PROTOCOL-READ"),
        FAULT(prologue_too_long, "role block, stage 0, step 11 ab_A_load", "PROTOCOL-ORDER"),
        FAULT(never_copies_b, "role block, stage 2, step 11 ab_A_load", "PROTOCOL-ORDER"),
        {0},
    };
    find(fault, "sm_80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_wgmma_plan),
        cmocka_unit_test(faults_of_the_mma_sync_plan),
    };
    return cmocka_run_group_tests(tests, read_spec, free_spec);
}
