/* The protocol check: good Plans pass, planted faults are found and named, and a naive exploration agrees. */
#include "unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "plan_samples.h"
#include "protocol_naive.h"

#include <time.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- good Plans ------------------------------------------------------------------------------------------------ */

static void expect_clean(struct plan *p, const char *what)
{
    struct diag_set diags = {0};
    double start = milliseconds();
    int faults = plan_check_protocol(p, &diags);
    double took = milliseconds() - start;
    if (faults)
        diag_print(&diags, stderr);
    assert_int_equal(faults, 0);
    assert_int_equal(diags.count, 0);
    if (what)
        print_message("%-48s %.3f ms\n", what, took);
    diag_free(&diags);
    plan_free(p);
}

static void test_sm90_passes(void **state)
{
    (void)state;
    struct plan p;
    for (int stages = 1; stages <= 8; stages++)
        for (int consumers = 1; consumers <= 3; consumers++)
            for (int cluster = 0; cluster < 4; cluster++)
                for (int epilogue = 0; epilogue < 4; epilogue++)
                    expect_clean(sample_gemm_sm90(&p, (struct sample_gemm){.stages = stages,
                                                                           .consumers = consumers,
                                                                           .cluster_m = 1 + (cluster & 1),
                                                                           .cluster_n = 1 + (cluster >> 1),
                                                                           .d_stages = epilogue == 3 ? 1 : epilogue,
                                                                           .d_tiles = 3,
                                                                           .d_shared_barrier = epilogue == 3}),
                                 NULL);
}

static void test_sm80_passes(void **state)
{
    (void)state;
    struct plan p;
    for (int stages = 2; stages <= 8; stages++)
        for (int instances = 1; instances <= 4; instances++)
            for (int persistent = 0; persistent < 2; persistent++)
                expect_clean(sample_gemm_sm80(&p, stages, instances, persistent), NULL);
}

static void test_rms_norm_passes(void **state)
{
    (void)state;
    struct plan p;
    for (int stages = 1; stages <= 4; stages++)
        for (int warps = 1; warps <= 8; warps++) {
            expect_clean(sample_rms_norm(&p, stages, warps, false), NULL);
            expect_clean(sample_rms_norm(&p, stages, warps, true), NULL);
        }
    /* Every warp of the one executor arrives for its own reads: no barrier is needed. */
    sample_rms_norm(&p, 2, 8, true);
    sample_drop(&p, 1, sample_find(&p, 1, PLAN_BARRIER, 0));
    p.role[1].step[sample_find(&p, 1, PLAN_RELEASE, 0)].arrivals = 8;
    p.ring[0].empty_arrivals = 8;
    expect_clean(&p, NULL);
}

static void test_time(void **state)
{
    (void)state;
    struct plan p;
    double start = milliseconds();
    expect_clean(
        sample_gemm_sm90(
            &p, (struct sample_gemm){.stages = 4, .consumers = 2, .cluster_m = 2, .d_stages = 2, .d_tiles = 4}),
        "4 stages, 2 consumers, cluster of 2");
    expect_clean(
        sample_gemm_sm90(
            &p, (struct sample_gemm){.stages = 8, .consumers = 3, .cluster_m = 2, .d_stages = 2, .d_tiles = 4}),
        "8 stages, 3 consumers, cluster of 2");
    expect_clean(
        sample_gemm_sm90(&p,
                         (struct sample_gemm){
                             .stages = 8, .consumers = 3, .cluster_m = 2, .cluster_n = 2, .d_stages = 2, .d_tiles = 4}),
        "8 stages, 3 consumers, cluster of 2 x 2");
    expect_clean(sample_gemm_sm80(&p, 4, 1, false), "sm_80, 4 stages");
    expect_clean(sample_rms_norm(&p, 4, 8, false), "row normalisation, 4 stages, 8 warps");
    /* Some microseconds each; the bound only keeps an exponential from creeping in on a loaded machine. */
    assert_true(milliseconds() - start < 500);
}

/* ---- planted faults -------------------------------------------------------------------------------------------- */

struct planted {
    const char *name;
    enum { SM90, STORE, SHARED, CLUSTER, SM80, RMS, RMS_WIDE, BASES } base;
    void (*plant)(struct plan *p);
    const char *where; /* begins the field: "sm_90a, role consumer, stage 0, step 8 ab_release" */
    const char *rule;
    bool text_only; /* the steps themselves would run: no schedule goes wrong */
};

static struct plan *make_base(struct plan *p, int base)
{
    struct sample_gemm g = {.stages = 2, .consumers = 2};
    if (base == STORE || base == SHARED)
        g = (struct sample_gemm){.stages = 2,
                                 .consumers = base == SHARED ? 2 : 1,
                                 .d_stages = 1,
                                 .d_tiles = 1,
                                 .d_shared_barrier = base == SHARED};
    if (base == CLUSTER)
        g = (struct sample_gemm){.stages = 2, .consumers = 1, .cluster_m = 2};
    return base == SM80       ? sample_gemm_sm80(p, 3, 1, false)
           : base == RMS      ? sample_rms_norm(p, 2, 3, false)
           : base == RMS_WIDE ? sample_rms_norm(p, 2, 4, true)
                              : sample_gemm_sm90(p, g);
}

#define PLANT(name) static void name(struct plan *p)
PLANT(empty_low)
{
    p->ring[0].empty_arrivals--;
}
PLANT(empty_high)
{
    p->ring[0].empty_arrivals++;
}
PLANT(full_low)
{
    p->ring[0].full_arrivals--;
}
PLANT(full_high)
{
    p->ring[0].full_arrivals++;
}
PLANT(tx_low)
{
    p->ring[0].tx_bytes -= 16;
}
PLANT(tx_high)
{
    p->ring[0].tx_bytes += 16;
}
PLANT(expect_low)
{
    p->role[0].step[sample_find(p, 0, PLAN_EXPECT, 0)].count -= 16;
}
PLANT(expect_high)
{
    p->role[0].step[sample_find(p, 0, PLAN_EXPECT, 0)].count += 16;
}
PLANT(fill_whole)
{
    p->role[0].step[sample_find(p, 0, PLAN_FILL, 1)].count *= 2;
}
PLANT(release_keeps_all)
{
    p->role[1].step[sample_find(p, 1, PLAN_RELEASE, 0)].count = p->ring[0].stages;
}
PLANT(release_early)
{
    p->role[1].step[sample_find(p, 1, PLAN_RELEASE, 0)].count = 0;
}
PLANT(wait_late)
{
    p->role[1].step[sample_find(p, 1, PLAN_MMA_WAIT, 0)].count = 2;
}
PLANT(wait_dropped)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_MMA_WAIT, 1));
}
PLANT(commit_dropped)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_MMA_COMMIT, 0));
}
PLANT(release_before_wait)
{
    sample_swap(p, 1, sample_find(p, 1, PLAN_MMA_WAIT, 1), sample_find(p, 1, PLAN_RELEASE, 1));
}
PLANT(no_release_in_loop)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_RELEASE, 0));
}
PLANT(no_release_after)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_RELEASE, 1));
}
PLANT(no_release)
{
    no_release_after(p), no_release_in_loop(p);
}
PLANT(empty_phase)
{
    p->role[0].step[sample_find(p, 0, PLAN_WAIT_EMPTY, 0)].phase = 0;
}
PLANT(full_phase)
{
    p->role[1].step[sample_find(p, 1, PLAN_WAIT_FULL, 0)].phase = 1;
}
PLANT(no_wait_empty)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_WAIT_EMPTY, 0));
}
PLANT(no_wait_full)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_WAIT_FULL, 0));
}
PLANT(read_before_wait)
{
    sample_swap(p, 1, sample_find(p, 1, PLAN_WAIT_FULL, 0), sample_find(p, 1, PLAN_READ, 1));
}
PLANT(expect_before_wait)
{
    sample_swap(p, 0, sample_find(p, 0, PLAN_WAIT_EMPTY, 0), sample_find(p, 0, PLAN_EXPECT, 0));
}
PLANT(expect_after_fills)
{
    sample_swap(p, 0, sample_find(p, 0, PLAN_EXPECT, 0), sample_find(p, 0, PLAN_FILL, 1));
}
PLANT(no_expect)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_EXPECT, 0));
}
PLANT(no_fill)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_FILL, 1));
}
PLANT(no_read)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_READ, 1));
}
PLANT(asks_alone)
{
    p->role[1].step[sample_find(p, 1, PLAN_WAIT_FULL, 0)].op = PLAN_ASK;
}
PLANT(consumer_expects)
{
    sample_insert(p, 1, sample_find(p, 1, PLAN_WAIT_FULL, 0), p->role[0].step[sample_find(p, 0, PLAN_EXPECT, 0)]);
}
PLANT(producer_releases)
{
    sample_insert(p, 0, sample_find(p, 0, PLAN_FILL, 1) + 1, p->role[1].step[sample_find(p, 1, PLAN_RELEASE, 0)]);
}
PLANT(two_producers)
{
    p->role[0].instances = 2;
}
PLANT(barrier_shared)
{
    p->role[0].step[sample_find(p, 0, PLAN_WAIT_EMPTY, 0)].op = PLAN_WAIT_EMPTY;
    sample_insert(p, 0, sample_find(p, 0, PLAN_WAIT_EMPTY, 0), p->role[1].step[sample_find(p, 1, PLAN_BARRIER, 0)]);
}
PLANT(no_fence)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_FENCE_ASYNC, 0));
}
PLANT(fence_after_barrier)
{
    sample_swap(p, 1, sample_find(p, 1, PLAN_FENCE_ASYNC, 0), sample_find(p, 1, PLAN_BARRIER, 1));
}
PLANT(no_store_wait)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_STORE_WAIT, 0));
}
PLANT(no_last_store_wait)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_STORE_WAIT, 1));
}
PLANT(no_first_barrier)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_BARRIER, 0));
}
PLANT(no_second_barrier)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_BARRIER, 1));
}
PLANT(no_write)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_WRITE, 0));
}
PLANT(no_drain)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_DRAIN, 0));
}
PLANT(loops_differ)
{
    p->role[1].step[1].call = "j";
    p->role[1].step[sample_find(p, 1, PLAN_END, 0)].call = "j";
}
PLANT(no_cp_wait)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_CP_WAIT, 0));
}
PLANT(cp_wait_late)
{
    p->role[0].step[sample_find(p, 0, PLAN_CP_WAIT, 0)].count++;
}
PLANT(cp_barrier_dropped)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_BARRIER, 0));
}
PLANT(cp_wait_after_barrier)
{
    sample_swap(p, 0, sample_find(p, 0, PLAN_CP_WAIT, 0), sample_find(p, 0, PLAN_BARRIER, 0));
}
PLANT(cp_prologue_long)
{
    p->role[0].step[0].count++;
}
PLANT(cp_no_commit)
{
    sample_drop(p, 0, sample_find(p, 0, PLAN_CP_COMMIT, 1));
}
PLANT(wide_no_barrier)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_BARRIER, 0));
}
PLANT(loop_open)
{
    sample_drop(p, 1, sample_find(p, 1, PLAN_END, 0));
}

#define CONSUMER "sm_90a, role consumer, "
#define PRODUCER "sm_90a, role producer, "
#define BLOCK "sm_80, role block, "
static const struct planted planted[] = {
    {"empty arrivals too low", SM90, empty_low, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS", false},
    {"empty arrivals too high", SM90, empty_high, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS", false},
    {"empty arrivals too low, cluster", CLUSTER, empty_low, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS",
     false},
    {"empty arrivals too high, rows", RMS, empty_high, CONSUMER "stage 0, step 6 x_release", "PROTOCOL-ARRIVALS",
     false},
    {"full arrivals too low", SM90, full_low, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-ARRIVALS", false},
    {"full arrivals too high", SM90, full_high, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-ARRIVALS", false},
    {"transaction bytes too low", SM90, tx_low, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-BYTES", true},
    {"transaction bytes too high", SM90, tx_high, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-BYTES", true},
    {"too few bytes expected", SM90, expect_low, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-BYTES", false},
    {"too many bytes expected", SM90, expect_high, PRODUCER "stage 0, step 4 ab_expect", "PROTOCOL-BYTES", false},
    {"a shared copy of a whole tile", CLUSTER, fill_whole, PRODUCER "stage 0, step 6 B_load", "PROTOCOL-BYTES", false},
    {"release keeps every stage", SM90, release_keeps_all, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-DEPTH",
     false},
    {"release before the reads are over", SM90, release_early, CONSUMER "stage 0, step 8 ab_release",
     "PROTOCOL-OVERWRITE", false},
    {"mma_wait leaves one group more", SM90, wait_late, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-OVERWRITE",
     false},
    {"mma_wait dropped", SM90, wait_dropped, CONSUMER "stage 1, step 10 ab_release", "PROTOCOL-OVERWRITE", false},
    {"mma_commit dropped", SM90, commit_dropped, CONSUMER "stage 0, step 7 ab_release", "PROTOCOL-OVERWRITE", false},
    {"release and mma_wait swapped", SM90, release_before_wait, CONSUMER "stage 1, step 10 ab_release",
     "PROTOCOL-OVERWRITE", false},
    {"no release in the loop", SM90, no_release_in_loop, CONSUMER "stage 0, step 3 ab_wait_full", "PROTOCOL-RELEASE",
     false},
    {"no release after the loop", SM90, no_release_after, CONSUMER "stage 0, step 8 ab_release", "PROTOCOL-RELEASE",
     false},
    {"no release at all", SM90, no_release, CONSUMER "stage 0, step 5 mma", "PROTOCOL-RELEASE", false},
    {"wrong phase of the producer", SM90, empty_phase, PRODUCER "stage 0, step 3 ab_wait_empty", "PROTOCOL-PHASE",
     false},
    {"wrong phase of the consumers", SM90, full_phase, CONSUMER "stage 0, step 3 ab_wait_full", "PROTOCOL-PHASE",
     false},
    {"no wait for empty", SM90, no_wait_empty, PRODUCER "stage 0, step 3 ab_expect", "PROTOCOL-ORDER", false},
    {"no wait for full", SM90, no_wait_full, CONSUMER "stage 0, step 3 A_desc", "PROTOCOL-READ", false},
    {"read before the wait", SM90, read_before_wait, CONSUMER "stage 0, step 3 mma", "PROTOCOL-READ", false},
    {"expect before the wait", SM90, expect_before_wait, PRODUCER "stage 0, step 3 ab_expect", "PROTOCOL-ORDER", false},
    {"expect after the copies", SM90, expect_after_fills, PRODUCER "stage 0, step 6 ab_expect", "PROTOCOL-ORDER",
     false},
    {"expect dropped", SM90, no_expect, PRODUCER "stage 0, step 4 A_load", "PROTOCOL-ARRIVALS", false},
    {"a copy dropped", SM90, no_fill, PRODUCER "stage 0, step 5 A_load", "PROTOCOL-BYTES", false},
    {"a read dropped", SM90, no_read, CONSUMER "stage 0, step 4 A_desc", "PROTOCOL-ORDER", true},
    {"asked for, not waited for", SM90, asks_alone, CONSUMER "stage 0, step 3 ab_wait_full", "PROTOCOL-ROLES", true},
    {"a consumer arrives on full", SM90, consumer_expects, CONSUMER "stage 0, step 3 ab_expect", "PROTOCOL-ROLES",
     true},
    {"the producer arrives on empty", SM90, producer_releases, PRODUCER "stage 0, step 7 ab_release", "PROTOCOL-ROLES",
     true},
    {"two producers", SM90, two_producers, PRODUCER "stage 0, step 5 A_load", "PROTOCOL-ROLES", true},
    {"two roles at one named barrier", STORE, barrier_shared, "sm_90a, role consumer, step 13", "PROTOCOL-ROLES", true},
    {"fence dropped", STORE, no_fence, CONSUMER "stage 0, step 16 D_store", "PROTOCOL-FENCE", false},
    {"fence after the barrier", STORE, fence_after_barrier, CONSUMER "stage 0, step 17 D_store", "PROTOCOL-FENCE",
     false},
    {"store_wait dropped", STORE, no_store_wait, CONSUMER "stage 0, step 13 D_write", "PROTOCOL-OVERWRITE", false},
    {"last store_wait dropped", STORE, no_last_store_wait, CONSUMER "stage 0, step 17 D_store", "PROTOCOL-EXIT", false},
    {"barrier after store_wait dropped", STORE, no_first_barrier, CONSUMER "stage 0, step 13 D_write",
     "PROTOCOL-BARRIER", false},
    {"barrier before store dropped", STORE, no_second_barrier, CONSUMER "stage 0, step 16 D_store", "PROTOCOL-BARRIER",
     false},
    {"barrier before store dropped, shared", SHARED, no_second_barrier, CONSUMER "stage 0, step 16 D_store",
     "PROTOCOL-BARRIER", false},
    {"write dropped", STORE, no_write, CONSUMER "stage 0, step 16 D_store", "PROTOCOL-ROLES", true},
    {"drain dropped", CLUSTER, no_drain, CONSUMER "stage ", "PROTOCOL-EXIT", false},
    {"loops of different names", SM90, loops_differ, "sm_90a, role ", "PROTOCOL-", false},
    {"cp_wait dropped", SM80, no_cp_wait, BLOCK "stage 0, step 8 A_read", "PROTOCOL-READ", false},
    {"cp_wait leaves one group more", SM80, cp_wait_late, BLOCK "stage 0, step 9 A_read", "PROTOCOL-READ", false},
    {"barrier after cp_wait dropped", SM80, cp_barrier_dropped, BLOCK "stage 0, step 8 A_read", "PROTOCOL-BARRIER",
     false},
    {"cp_wait after the barrier", SM80, cp_wait_after_barrier, BLOCK "stage 0, step 9 A_read", "PROTOCOL-BARRIER",
     false},
    {"prologue fills every stage", SM80, cp_prologue_long, BLOCK "stage 0, step 11 A_load", "PROTOCOL-OVERWRITE",
     false},
    {"cp_commit dropped", SM80, cp_no_commit, BLOCK "stage 1, step 9 A_read", "PROTOCOL-READ", false},
    {"one of several warps releases", RMS_WIDE, wide_no_barrier, CONSUMER "stage 0, step 5 x_release",
     "PROTOCOL-BARRIER", false},
    {"a loop that does not end", SM90, loop_open, CONSUMER, "PROTOCOL-ORDER", true},
};
enum { PLANTED = sizeof planted / sizeof *planted };

static void test_planted_faults(void **state)
{
    (void)state;
    int missed = 0;
    for (int i = 0; i < PLANTED; i++) {
        struct plan p;
        struct diag_set diags = {0};
        make_base(&p, (int)planted[i].base);
        planted[i].plant(&p);
        int faults = plan_check_protocol(&p, &diags);
        bool found = false;
        for (int d = 0; d < diags.count; d++)
            found |= diags.item[d].rule && strncmp(diags.item[d].rule, planted[i].rule, strlen(planted[i].rule)) == 0 &&
                     diags.item[d].field &&
                     strncmp(diags.item[d].field, planted[i].where, strlen(planted[i].where)) == 0;
        if (!found) {
            print_error("%s: expected %s [%s], got %d:\n", planted[i].name, planted[i].where, planted[i].rule, faults);
            diag_print(&diags, stderr);
            missed++;
        } else if (getenv("TW_TEST_VERBOSE")) {
            diag_print(&diags, stdout);
        }
        diag_free(&diags);
        plan_free(&p);
    }
    assert_int_equal(missed, 0);
}

/* ---- who may rest ---------------------------------------------------------------------------------------------- */

static void rests(const struct sample_gemm *g, int role, int resting, int from, int drop, const char *rule)
{
    struct plan p;
    struct diag_set diags = {0};
    sample_gemm_sm90(&p, *g);
    p.role[role].resting = resting;
    if (drop >= 0)
        sample_drop(&p, 1, sample_find(&p, 1, (enum plan_op)drop, from));
    plan_check_protocol(&p, &diags);
    const char *found = diags.count ? diags.item[0].rule : "nothing";
    if (strcmp(found, rule) != 0)
        fail_msg("%d of %d rest: %s, not %s", resting, g->consumers, found, rule);
    diag_free(&diags);
    plan_free(&p);
}

/* Consumers that go past a block's last item wait for its stages and give them back, and nobody misses them; who meets
 * the others at a barrier is missed, and who fills. */
static void test_resting(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 4; stages++)
        for (int cluster = 0; cluster < 4; cluster++)
            for (int consumers = 2; consumers <= 3; consumers++) {
                const struct sample_gemm g = {.stages = stages,
                                              .consumers = consumers,
                                              .cluster_m = 1 + (cluster & 1),
                                              .cluster_n = 1 + (cluster >> 1),
                                              .d_stages = 2,
                                              .d_tiles = 3};
                struct sample_gemm shared = g;
                shared.d_shared_barrier = true;
                for (int resting = 0; resting < consumers; resting++) {
                    rests(&g, 1, resting, 0, -1, "nothing");
                    rests(&shared, 1, resting, 0, -1, resting ? "PROTOCOL-DEADLOCK" : "nothing");
                }
                rests(&g, 0, 1, 0, -1, "PROTOCOL-DEADLOCK");
                if (stages > 1)
                    rests(&g, 1, 1, 1, PLAN_RELEASE, "PROTOCOL-RELEASE");
            }
}

/* ---- tiles that the item before left ----------------------------------------------------------------------------- */

static void reuses(const struct sample_gemm *g, int filled, int more, const char *rule)
{
    struct plan p;
    struct diag_set diags = {0};
    sample_gemm_sm90(&p, *g);
    struct plan_step *fill = &p.role[0].step[sample_find(&p, 0, PLAN_FILL, filled)];
    fill->reuse = 1;
    p.role[0].step[sample_find(&p, 0, PLAN_EXPECT, 0)].reuse = p.tensor[fill->tensor].tile_bytes + more;
    plan_check_protocol(&p, &diags);
    const char *found = diags.count ? diags.item[0].rule : "nothing";
    if (strcmp(found, rule) != 0)
        fail_msg("%d stages, %s is left: %s, not %s", g->stages, p.tensor[fill->tensor].name, found, rule);
    diag_free(&diags);
    plan_free(&p);
}

/* What the exploration alone says of so many bytes fewer than the tile has. */
static void misses(const struct sample_gemm *g, int more)
{
    struct plan p;
    struct diag_set diags = {0};
    struct plan_proof proof;
    sample_gemm_sm90(&p, *g);
    struct plan_step *fill = &p.role[0].step[sample_find(&p, 0, PLAN_FILL, 0)];
    fill->reuse = 1;
    p.role[0].step[sample_find(&p, 0, PLAN_EXPECT, 0)].reuse = p.tensor[fill->tensor].tile_bytes + more;
    protocol_explore(&p, &diags, &proof);
    const char *found = diags.count ? diags.item[0].rule : "nothing";
    if (strcmp(found, "PROTOCOL-DEADLOCK") != 0 && strcmp(found, "PROTOCOL-BYTES") != 0)
        fail_msg("%d stages, %d more reused: %s", g->stages, more, found);
    diag_free(&diags);
    plan_free(&p);
}

/* Another loop of an item fills the same stages in between. */
static void other_loop(const struct sample_gemm *g)
{
    struct plan p;
    struct diag_set diags = {0};
    sample_gemm_sm90(&p, *g);
    const int first = sample_find(&p, 0, PLAN_LOOP, 1), end = plan_body_end(&p.role[0], first);
    for (int s = end; s >= first; s--) /* each before what was put there before */
        sample_insert(&p, 0, end + 1, p.role[0].step[s]);
    struct plan_step *fill = &p.role[0].step[sample_find(&p, 0, PLAN_FILL, 2)];
    fill->reuse = 1;
    p.role[0].step[sample_find(&p, 0, PLAN_EXPECT, 1)].reuse = p.tensor[fill->tensor].tile_bytes;
    assert_true(plan_check_protocol(&p, &diags) > 0);
    bool found = false;
    for (int i = 0; i < diags.count; i++)
        found = found || strstr(diags.item[i].text, "other steps fill stages of the ring too");
    assert_true(found);
    diag_free(&diags);
    plan_free(&p);
}

/* The tile of one operand may stay in its stage from item to item, where as many bytes fewer are announced and no
 * blocks share it. */
static void test_reuse(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 4; stages++)
        for (int cluster = 0; cluster < 4; cluster++) {
            const int m = 1 + (cluster & 1), n = 1 + (cluster >> 1);
            const struct sample_gemm g = {
                .stages = stages, .consumers = 2, .cluster_m = m, .cluster_n = n, .d_stages = 2, .d_tiles = 3};
            reuses(&g, 0, 0, n == 1 ? "nothing" : "PROTOCOL-ORDER");
            reuses(&g, 1, 0, m == 1 ? "nothing" : "PROTOCOL-ORDER");
            reuses(&g, 0, n == 1 ? 16 : 0, n == 1 ? "PROTOCOL-BYTES" : "PROTOCOL-ORDER");
            if (n > 1)
                continue;
            misses(&g, -16);
            misses(&g, 16);
            other_loop(&g);
        }
}

/* ---- the naive exploration agrees ------------------------------------------------------------------------------ */

/* Turns of "tiles", and in each of them trips of the other loops; those of a second class are one more, unless few. */
static const struct {
    int tiles, trip[2];
} short_trips[] = {{2, {0, 0}}, {1, {5}}, {2, {1, 2}}};

static struct protocol_trips trips_for(const struct plan *p, size_t which)
{
    struct protocol_trips trips = {.turns = short_trips[which].tiles};
    struct protocol_code code;
    assert_int_equal(protocol_code(p, &code), 0);
    for (int n = 0, other = 0; n < code.classes; n++) {
        bool tiles = strcmp(code.class[n].name, "tiles") == 0;
        for (int i = 0; i < trips.turns; i++) {
            int trip = short_trips[which].trip[(i + other) % trips.turns];
            trips.trip[n][i] = tiles ? short_trips[which].tiles : trip > 1 ? trip + other : trip;
        }
        other += !tiles;
    }
    protocol_code_free(&code);
    return trips;
}

static const char *explore(const struct plan *p, size_t which, size_t *states)
{
    struct protocol_trips trips = trips_for(p, which);
    return naive_explore(p, &trips, states);
}

static int run(const struct plan *p, const struct protocol_trips *trips, struct diag_set *diags)
{
    struct protocol_code code;
    assert_int_equal(protocol_code(p, &code), 0);
    int faults = protocol_run(p, &code, trips, diags);
    protocol_code_free(&code);
    return faults;
}

/* Two consumers that share buffers have a million states after few trips. */
static size_t trips_of(int base)
{
    return base == SHARED ? 1 : sizeof short_trips / sizeof *short_trips;
}

static void test_naive_agrees_on_good_plans(void **state)
{
    (void)state;
    size_t all = 0;
    for (int shape = 0; shape < BASES + 6; shape++) {
        struct plan p;
        if (shape < BASES)
            make_base(&p, shape);
        else if (shape < BASES + 3)
            sample_gemm_sm90(&p, (struct sample_gemm){.stages = shape - BASES + 1, .consumers = 2});
        else if (shape == BASES + 3)
            sample_gemm_sm90(&p, (struct sample_gemm){.stages = 1, .consumers = 1, .cluster_n = 2});
        else if (shape == BASES + 4)
            sample_gemm_sm90(&p, (struct sample_gemm){.stages = 2, .consumers = 1, .d_stages = 2, .d_tiles = 3});
        else
            sample_gemm_sm80(&p, 2, 1, true);
        for (size_t i = 0; i < trips_of(shape); i++) {
            size_t states;
            const char *fault = explore(&p, i, &states);
            if (fault)
                print_error("shape %d, trips %zu: %s\n", shape, i, fault);
            assert_null(fault);
            all += states;
            if (getenv("TW_TEST_VERBOSE"))
                print_message("shape %d, trips %zu: %zu states\n", shape, i, states);
        }
        plan_free(&p);
    }
    print_message("%zu states visited one by one\n", all);
}

/* Stages that loads and stores fill need no groups, but the barrier; where one tensor is copied, its groups count. */
static void test_fills_at_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct plan p;
        struct diag_set diags = {0};
        size_t states = 0;
        sample_gemm_sm80(&p, 2, 1, true);
        p.tensor[SAMPLE_A].access = PLAN_ACCESS_GLOBAL;
        p.tensor[SAMPLE_B].access = kind == 2 ? PLAN_ACCESS_CP_ASYNC : PLAN_ACCESS_GLOBAL;
        if (kind != 3) {
            sample_drop(&p, 0, sample_find(&p, 0, PLAN_CP_COMMIT, 1));
            sample_drop(&p, 0, sample_find(&p, 0, PLAN_CP_COMMIT, 0));
            sample_drop(&p, 0, sample_find(&p, 0, PLAN_CP_WAIT, 0));
        }
        if (kind == 1)
            sample_drop(&p, 0, sample_find(&p, 0, PLAN_BARRIER, 0));
        bool good = kind == 0 || kind == 3;
        assert_int_equal(plan_check_protocol(&p, &diags) == 0, good);
        const char *fault = explore(&p, 2, &states);
        assert_int_equal(fault == NULL, good);
        if (kind == 1)
            assert_string_equal(diags.item[0].rule, "PROTOCOL-BARRIER");
        if (kind == 2)
            assert_string_equal(diags.item[0].rule, "PROTOCOL-READ");
        diag_free(&diags);
        plan_free(&p);
    }
}

static void test_naive_agrees_on_planted_faults(void **state)
{
    (void)state;
    int disagreed = 0;
    for (int i = 0; i < PLANTED; i++) {
        struct plan p;
        const char *fault = NULL;
        if (planted[i].text_only)
            continue;
        make_base(&p, (int)planted[i].base);
        planted[i].plant(&p);
        for (size_t t = 0; t < trips_of((int)planted[i].base) && !fault; t++) {
            size_t states;
            fault = explore(&p, t, &states);
        }
        if (!fault) {
            print_error("%s: no schedule goes wrong\n", planted[i].name);
            disagreed++;
        }
        plan_free(&p);
    }
    assert_int_equal(disagreed, 0);
}

static uint32_t draw(uint32_t *seed, int below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % (uint32_t)below;
}

/* Drops, swaps, repeats or changes a step at random. False where it fell on a loop. */
static bool mutate(struct plan *p, uint32_t *seed)
{
    int role = (int)draw(seed, p->role_count), at = (int)draw(seed, p->role[role].step_count - 1);
    struct plan_step *s = &p->role[role].step[at];
    if (s->op == PLAN_LOOP || s->op == PLAN_END || s[1].op == PLAN_LOOP || s[1].op == PLAN_END)
        return false;
    switch (draw(seed, 5)) {
    case 0:
        sample_drop(p, role, at);
        return true;
    case 1:
        sample_swap(p, role, at, at + 1);
        return true;
    case 2:
        sample_insert(p, role, at, *s);
        return true;
    case 3:
        s->phase ^= 1;
        return s->op == PLAN_WAIT_EMPTY || s->op == PLAN_WAIT_FULL;
    default:
        s->count = s->count > 0 && draw(seed, 2) ? s->count - 1 : s->count + 1;
        return s->op == PLAN_MMA_WAIT || s->op == PLAN_RELEASE || s->op == PLAN_CP_WAIT || s->op == PLAN_STORE_WAIT;
    }
}

/* Both must say the same, but for what only the text shows. */
static void test_naive_agrees_at_random(void **state)
{
    (void)state;
    uint32_t seed = 1;
    int clean = 0, faulty = 0, disagreed = 0;
    for (int round = 0; round < 350; round++) {
        struct plan p;
        int base = round % BASES;
        make_base(&p, base);
        struct diag_set diags = {0};
        bool changed = mutate(&p, &seed);
        changed &= base != CLUSTER || round % 5 == 0; /* many states */
        bool by_text = !changed || protocol_check_program(&p, &diags) > 0 || protocol_check_counts(&p, &diags) > 0;
        bool fast = false;
        const char *naive = NULL;
        for (size_t t = 0; t < trips_of(base) && !by_text; t++) {
            size_t states;
            struct protocol_trips trips = trips_for(&p, t);
            fast |= run(&p, &trips, &diags) > 0;
            naive = naive ? naive : explore(&p, t, &states);
        }
        if (fast != (naive != NULL)) {
            print_error("round %d: naive says %s, the check:\n", round, naive ? naive : "nothing");
            diag_print(&diags, stderr);
            disagreed++;
        }
        clean += !by_text && !fast;
        faulty += !by_text && fast;
        diag_free(&diags);
        plan_free(&p);
    }
    print_message("%d clean and %d faulty variants\n", clean, faulty);
    assert_int_equal(disagreed, 0);
    assert_true(clean > 10 && faulty > 10);
}

static void test_limit_reports_itself(void **state)
{
    (void)state;
    struct plan p;
    struct diag_set diags = {0};
    sample_gemm_sm80(&p, 2, 1, true);
    p.role[0].step[1].count = 40000;
    struct protocol_trips trips = trips_for(&p, 2);
    assert_int_equal(run(&p, &trips, &diags), 1);
    assert_string_equal(diags.item[0].rule, "PROTOCOL-LIMIT");
    diag_free(&diags);
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sm90_passes),
        cmocka_unit_test(test_sm80_passes),
        cmocka_unit_test(test_rms_norm_passes),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_resting),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_naive_agrees_on_good_plans),
        cmocka_unit_test(test_fills_at_once),
        cmocka_unit_test(test_naive_agrees_on_planted_faults),
        cmocka_unit_test(test_naive_agrees_at_random),
        cmocka_unit_test(test_limit_reports_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
