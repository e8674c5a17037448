/* The protocol check of programs: places, scratch, turns, guards and peeled loops. Good ones pass in the time that they
 * may take, planted faults are found, named and, where they are no mere text, gone wrong in some schedule. */
#include "unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "protocol_programs.h"
#include "protocol_naive.h"

#include <time.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- good programs ----------------------------------------------------------------------------------------------- */

static double expect_clean(struct plan *p)
{
    struct diag_set diags = {0};
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double start = milliseconds();
        int faults = plan_check_protocol(p, &diags);
        double took = milliseconds() - start;
        best = took < best ? took : best;
        if (faults)
            diag_print(&diags, stderr);
        assert_int_equal(faults, 0);
    }
    diag_free(&diags);
    plan_free(p);
    return best;
}

static void test_attention_passes(void **state)
{
    (void)state;
    struct plan p;
    for (int stages = 1; stages <= 3; stages++)
        for (int bits = 0; bits < 64; bits++) {
            struct attention a = {.k_stages = stages, .v_stages = 4 - stages, .consumers = 1 + (bits & 1)};
            a.ahead = bits >> 1 & 1;
            a.masked = bits >> 2 & 1;
            a.tiles = bits >> 3 & 1;
            a.turns = a.consumers > 1 && (bits >> 4 & 1);
            a.q_stages = bits >> 5 & 1;
            a.heads = bits % 3 == 0;
            a.guarded = bits % 5 == 0;
            a.filled_ahead = a.ahead && bits % 3 == 1;
            a.known = bits % 7 == 0;
            a.o_buffers = a.q_stages ? 0 : bits % 3;
            program_attention(&p, a);
            expect_clean(&p);
        }
}

static void test_others_pass(void **state)
{
    (void)state;
    struct plan p;
    for (int bits = 0; bits < 64; bits++) {
        int stages = 1 + (bits & 1), one = bits >> 1 & 1, other = bits >> 2 & 1, third = bits >> 3 & 1;
        program_readers(&p, (struct readers){stages, one, 1 + other, third});
        expect_clean(&p);
        program_norm(&p, (struct norm){stages, 1 + one, 1 + other, third});
        expect_clean(&p);
        program_convert(&p, (struct convert){stages, 1 + (bits >> 4 & 1), 1 + one, 1 + (bits >> 5), other, third});
        expect_clean(&p);
        program_together(&p, (struct together){1 + stages, 1 + one, other, third});
        expect_clean(&p);
        program_handoff(&p, 1 + one, other);
        expect_clean(&p);
        program_through_scratch(&p, stages, one);
        expect_clean(&p);
        program_in_turn(&p, (struct in_turn){stages, 2 + one, true, other, third});
        expect_clean(&p);
        program_parts(&p, (struct parts){stages, one, other});
        expect_clean(&p);
        program_copied(&p, (struct copied){1 + stages, (bits >> 1) % 3, third, bits >> 4 & 1, bits >> 5});
        expect_clean(&p);
        program_source(&p, (struct source){1 + one, stages, other});
        expect_clean(&p);
        for (int part = 0; part < 3; part++) {
            program_late(&p,
                         (struct late){1 + stages, 1 + one, 1 + (bits >> 2) % 4, 1 + (bits >> 4 & 1), bits >> 5, part});
            expect_clean(&p);
        }
    }
}

static void test_time(void **state)
{
    (void)state;
    struct plan p;
    struct attention a = {.k_stages = 2, .v_stages = 2, .consumers = 2, .ahead = true, .masked = true, .tiles = true};
    a.turns = true;
    program_attention(&p, a);
    double took = expect_clean(&p);
    print_message("attention, 2 consumers, 2 + 2 stages, ahead, masked, turns: %.3f ms\n", took);
    a.q_stages = 1;
    a.heads = 1;
    a.consumers = 3;
    program_attention(&p, a);
    double most = expect_clean(&p);
    print_message("the same with Q in a ring, heads and 3 consumers: %.3f ms\n", most);
    assert_true(took < 40 && most < 100); /* a tenth is usual; the bound is for a loaded machine */
}

/* ---- planted faults ---------------------------------------------------------------------------------------------- */

enum base { AHEAD, PLAIN, RESIDENT, NORM, NORM_WARPS, CONVERT, SCRATCH, IN_TURN, PARTS, LATE, SOURCE };

static void make_base(struct plan *p, enum base base)
{
    struct attention a = {.k_stages = 2, .v_stages = 1, .consumers = 1, .tiles = true, .ahead = base == AHEAD};
    a.q_stages = base == RESIDENT;
    a.consumers = base == PLAIN ? 2 : 1;
    a.turns = base == PLAIN;
    if (base == AHEAD || base == PLAIN || base == RESIDENT)
        program_attention(p, a);
    else if (base == NORM || base == NORM_WARPS)
        program_norm(p, (struct norm){.stages = 2, .columns = 1, .instances = 1, .by_warps = base == NORM_WARPS});
    else if (base == CONVERT)
        program_convert(p, (struct convert){2, 2, 1, 1, true, true});
    else if (base == SCRATCH)
        program_through_scratch(p, 2, true);
    else if (base == IN_TURN)
        program_in_turn(p, (struct in_turn){2, 2, true, true, true});
    else if (base == SOURCE)
        program_source(p, (struct source){1, 2, false});
    else if (base == LATE)
        program_late(p, (struct late){.stages = 2, .consumers = 1, .chunks = 3, .buffers = 2});
    else
        program_parts(p, (struct parts){1, true, true});
}

static struct plan_step *nth(struct plan *p, int role, enum plan_op which, int n)
{
    return &p->role[role].step[sample_find(p, role, which, n)];
}

static void drop(struct plan *p, int role, enum plan_op which, int n)
{
    sample_drop(p, role, sample_find(p, role, which, n));
}

/* Moves the n-th step of a kind behind the m-th of another. */
static void behind(struct plan *p, int role, enum plan_op which, int n, enum plan_op other, int m)
{
    int from = sample_find(p, role, which, n);
    struct plan_step step = p->role[role].step[from];
    int to = sample_find(p, role, other, m);
    sample_insert(p, role, to + 1, step);
    sample_drop(p, role, from > to ? from + 1 : from);
}

#define PLANT(name) static void name(struct plan *p)
PLANT(wait_weaker)
{
    nth(p, 1, PLAN_MMA_WAIT, 1)->count = 2;
}
PLANT(wait_dropped)
{
    drop(p, 1, PLAN_MMA_WAIT, 1);
}
PLANT(operand_early)
{
    behind(p, 1, PLAN_MMA_WAIT, 2, PLAN_TOUCH, 4);
    behind(p, 1, PLAN_RELEASE, 2, PLAN_MMA_WAIT, 2);
}
PLANT(fence_dropped)
{
    drop(p, 1, PLAN_MMA_FENCE, 1);
}
PLANT(first_fence_dropped)
{
    drop(p, 1, PLAN_MMA_FENCE, 0);
}
PLANT(other_shape)
{
    nth(p, 1, PLAN_MMA, 2)->place = nth(p, 1, PLAN_MMA, 1)->place;
}
PLANT(k_released_early)
{
    behind(p, 1, PLAN_RELEASE, 1, PLAN_MMA_COMMIT, 2);
}
PLANT(v_released_early)
{
    behind(p, 1, PLAN_RELEASE, 2, PLAN_MMA_WAIT, 1);
}
PLANT(last_released_early)
{
    behind(p, 1, PLAN_MMA_WAIT, 3, PLAN_RELEASE, 3);
}
PLANT(last_wait_dropped)
{
    drop(p, 1, PLAN_MMA_WAIT, 3);
    drop(p, 1, PLAN_RELEASE, 3);
    nth(p, 1, PLAN_RELEASE, 2)->count = 0;
}
PLANT(guard_of_two)
{
    nth(p, 1, PLAN_WHEN, 1)->count = 1;
}
PLANT(guard_gone)
{
    int begin = sample_find(p, 1, PLAN_WHEN, 0);
    sample_drop(p, 1, plan_body_end(&p->role[1], begin));
    sample_drop(p, 1, begin);
}
PLANT(nothing_peeled)
{
    nth(p, 1, PLAN_LOOP, 1)->less = 0;
}
PLANT(no_first_turn)
{
    drop(p, 1, PLAN_BARRIER_ARRIVE, 0);
}
PLANT(turn_not_passed)
{
    drop(p, 1, PLAN_BARRIER_ARRIVE, 1);
}
PLANT(turn_not_awaited)
{
    drop(p, 1, PLAN_BARRIER, 0);
}
PLANT(first_turn_of_all)
{
    nth(p, 1, PLAN_BARRIER_ARRIVE, 0)->only = 0;
}
PLANT(next_is_always_the_second)
{
    nth(p, 1, PLAN_BARRIER, 1)->only = plan_some(1);
}
PLANT(next_is_all)
{
    nth(p, 1, PLAN_BARRIER, 1)->only = 0;
}
PLANT(resident_released_in_loop)
{
    behind(p, 1, PLAN_RELEASE, 2, PLAN_RELEASE, 0);
}
PLANT(resident_released_before_wait)
{
    behind(p, 1, PLAN_RELEASE, 2, PLAN_WAIT_FULL, 0);
}
PLANT(scratch_unmet)
{
    drop(p, 1, PLAN_BARRIER, 0);
}
PLANT(scratch_rewritten)
{
    drop(p, 1, PLAN_BARRIER, 1);
}
PLANT(scratch_in_flight)
{
    drop(p, 1, PLAN_MMA_WAIT, 0);
}
PLANT(scratch_unwritten)
{
    drop(p, 1, PLAN_SCRATCH_WRITE, 0);
}
PLANT(read_after_release)
{
    behind(p, 1, PLAN_READ, 1, PLAN_RELEASE, 0);
}
PLANT(read_of_older)
{
    nth(p, 1, PLAN_READ, 1)->back = 1;
}
PLANT(proxy_dropped)
{
    drop(p, 1, PLAN_FENCE_ASYNC, 0);
}
PLANT(proxy_late)
{
    behind(p, 1, PLAN_FENCE_ASYNC, 0, PLAN_ARRIVE, 0);
}
PLANT(proxy_before_write)
{
    behind(p, 1, PLAN_WRITE, 0, PLAN_FENCE_ASYNC, 0);
}
PLANT(arrive_before_write)
{
    behind(p, 1, PLAN_WRITE, 0, PLAN_ARRIVE, 0);
}
PLANT(no_empty_wait)
{
    drop(p, 1, PLAN_WAIT_EMPTY, 0);
}
PLANT(one_arrives)
{
    nth(p, 1, PLAN_ARRIVE, 0)->arrivals = 1;
    p->ring[V].full_arrivals = 1;
}
PLANT(full_counts_more)
{
    p->ring[V].full_arrivals++;
}
PLANT(full_counts_bytes)
{
    p->ring[V].tx_bytes = BYTES;
}
PLANT(skip_dropped)
{
    drop(p, 1, PLAN_SKIP, 0);
}
PLANT(skip_outside)
{
    nth(p, 1, PLAN_LOOP, 0)->share = 0;
}
PLANT(share_of_three)
{
    nth(p, 1, PLAN_LOOP, 0)->share = 3;
}
PLANT(no_turns)
{
    drop(p, 1, PLAN_BARRIER_ARRIVE, 1);
    drop(p, 1, PLAN_BARRIER_ARRIVE, 0);
    drop(p, 1, PLAN_BARRIER, 1);
    drop(p, 1, PLAN_BARRIER, 0);
    p->ring[0].stages = 1;
}
PLANT(operand_is_accumulator)
{
    nth(p, 1, PLAN_MMA, 2)->place2 = nth(p, 1, PLAN_MMA, 1)->place;
}
PLANT(scratch_is_registers)
{
    nth(p, 1, PLAN_SCRATCH_READ, 0)->place = nth(p, 1, PLAN_TOUCH, 0)->place;
}
PLANT(committed_before)
{
    behind(p, 1, PLAN_MMA, 1, PLAN_MMA_COMMIT, 1);
}
PLANT(operand_unread)
{
    drop(p, 1, PLAN_READ, 1);
}
PLANT(no_such_place)
{
    nth(p, 1, PLAN_TOUCH, 0)->place = 9;
}
PLANT(turn_threads)
{
    p->barrier[0].threads = 128;
}
PLANT(least_differs)
{
    nth(p, 1, PLAN_LOOP, 1)->least = 1;
}
PLANT(nested_otherwise)
{
    nth(p, 0, PLAN_LOOP, 0)->call = "kv";
    nth(p, 0, PLAN_LOOP, 1)->call = "tiles";
}

PLANT(send_unasked)
{
    drop(p, 1, PLAN_WAIT_EMPTY, 0);
}
PLANT(added_early)
{
    behind(p, 1, PLAN_WAIT_FULL, 1, PLAN_READ, 1);
}
PLANT(not_announced)
{
    drop(p, 1, PLAN_EXPECT, 0);
}
PLANT(fewer_sent)
{
    nth(p, 1, PLAN_FILL, 0)->count /= 2;
}
PLANT(sent_behind_wait)
{
    behind(p, 1, PLAN_FILL, 0, PLAN_WAIT_FULL, 1);
}
PLANT(sums_in_flight)
{
    drop(p, 1, PLAN_MMA_WAIT, 0);
}
PLANT(not_released)
{
    drop(p, 1, PLAN_RELEASE, 1);
}
PLANT(released_before_read)
{
    behind(p, 1, PLAN_READ, 1, PLAN_RELEASE, 1);
}
PLANT(not_drained)
{
    drop(p, 1, PLAN_DRAIN, 0);
}
PLANT(empty_of_own)
{
    p->ring[1].empty_arrivals += WARPS;
}
PLANT(late_store_not_awaited)
{
    drop(p, 1, PLAN_STORE_WAIT, 0);
}
PLANT(late_wait_untold)
{
    drop(p, 1, PLAN_BARRIER, 0);
}
PLANT(late_write_unmet)
{
    drop(p, 1, PLAN_BARRIER, 1);
}
PLANT(late_unfenced)
{
    drop(p, 1, PLAN_FENCE_ASYNC, 0);
}
PLANT(late_twice)
{
    struct plan_step chunk[6];
    int at = sample_find(p, 1, PLAN_WHEN, 0);
    memcpy(chunk, p->role[1].step + at + 1, sizeof chunk);
    for (int i = 5; i >= 0; i--)
        sample_insert(p, 1, at, chunk[i]);
}
PLANT(late_never)
{
    int first = sample_find(p, 1, PLAN_LOOP, 2);
    for (int i = 0; i < 8; i++)
        sample_drop(p, 1, first);
}
PLANT(last_late_never)
{
    int first = sample_find(p, 1, PLAN_LOOP, 4);
    for (int i = 0; i < 8; i++)
        sample_drop(p, 1, first);
}
PLANT(late_half_packed)
{
    nth(p, 1, PLAN_LOOP, 3)->count = 1;
}
PLANT(late_not_held)
{
    drop(p, 1, PLAN_TOUCH, 2);
}
PLANT(late_elsewhere)
{
    nth(p, 1, PLAN_STORE, 0)->place = 0;
}
PLANT(late_in_accumulator)
{
    nth(p, 1, PLAN_WHEN, 0)->place = 1;
}
PLANT(late_with_a_number)
{
    nth(p, 1, PLAN_WHEN, 0)->count = 1;
}
PLANT(source_not_awaited)
{
    drop(p, 0, PLAN_WAIT_FULL, 0);
}
PLANT(source_not_announced)
{
    drop(p, 0, PLAN_EXPECT, 0);
}
PLANT(source_fewer_bytes)
{
    nth(p, 0, PLAN_EXPECT, 0)->count /= 2;
}
PLANT(source_too_early)
{
    drop(p, 0, PLAN_STORE_WAIT, 0);
}
PLANT(source_other_phase)
{
    nth(p, 0, PLAN_WAIT_FULL, 0)->phase = 1;
}
PLANT(source_written_over)
{
    behind(p, 0, PLAN_READ, 0, PLAN_WRITE, 0);
}
PLANT(source_nowhere)
{
    p->ring[0].into = 0;
}
#define CONSUMER "sm_90a, role consumer, "
static const struct {
    const char *name;
    enum base base;
    void (*plant)(struct plan *p);
    const char *where, *rule;
    bool text_only;
} planted[] = {
    {"wait one group weaker", AHEAD, wait_weaker, CONSUMER "stage 1, step 25 release", "PROTOCOL-OVERWRITE", false},
    {"wait dropped", AHEAD, wait_dropped, CONSUMER "stage 1, step 24 release", "PROTOCOL-OVERWRITE", false},
    {"operand rewritten in flight", AHEAD, operand_early, CONSUMER "step 27 touch", "REG-IN-FLIGHT", false},
    {"fence dropped", AHEAD, fence_dropped, CONSUMER "step 17 mma", "WGMMA-FENCE", false},
    {"first fence dropped", AHEAD, first_fence_dropped, CONSUMER "step 6 mma", "WGMMA-FENCE", false},
    {"two shapes on an accumulator", AHEAD, other_shape, CONSUMER "step 22 mma", "REG-IN-FLIGHT", false},
    {"K released in flight", AHEAD, k_released_early, CONSUMER "stage 1, step 24 release", "PROTOCOL-OVERWRITE", false},
    {"V released in flight", AHEAD, v_released_early, CONSUMER "stage 0, step 25 release", "PROTOCOL-OVERWRITE", false},
    {"V released before the last wait", AHEAD, last_released_early, CONSUMER "stage 0, step 38 release",
     "PROTOCOL-OVERWRITE", false},
    {"last wait dropped", AHEAD, last_wait_dropped, CONSUMER, "REG-IN-FLIGHT", false},
    {"tail where there are two", AHEAD, guard_of_two, "sm_90a, role ", "PROTOCOL-", false},
    {"prologue unguarded", AHEAD, guard_gone, "sm_90a, role ", "PROTOCOL-", false},
    {"nothing peeled off", AHEAD, nothing_peeled, "sm_90a, role ", "PROTOCOL-", false},
    {"nobody has the first turn", PLAIN, no_first_turn, "sm_90a, role ", "PROTOCOL-DEADLOCK", false},
    {"turns are not passed on", PLAIN, turn_not_passed, "sm_90a, role ", "PROTOCOL-DEADLOCK", false},
    {"turns are not waited for", PLAIN, turn_not_awaited, CONSUMER, "PROTOCOL-TURNS", false},
    {"all have the first turn", PLAIN, first_turn_of_all, CONSUMER, "PROTOCOL-TURNS", false},
    {"Q released in the loop", RESIDENT, resident_released_in_loop, CONSUMER "stage 0, step 7 read", "PROTOCOL-READ",
     false},
    {"Q released before it is read", RESIDENT, resident_released_before_wait, CONSUMER "stage 0, step 8 read",
     "PROTOCOL-READ", false},
    {"scratch read unmet", NORM, scratch_unmet, CONSUMER "step 6 scratch_read", "SCRATCH-RACE", false},
    {"scratch rewritten", NORM_WARPS, scratch_rewritten, CONSUMER "step 5 scratch_write", "SCRATCH-RACE", false},
    {"scratch unwritten", NORM, scratch_unwritten, CONSUMER "step 6 scratch_read", "SCRATCH-RACE", false},
    {"read of a released stage", NORM, read_after_release, CONSUMER "stage 0, step 10 read", "PROTOCOL-READ", false},
    {"read of an older stage", NORM, read_of_older, CONSUMER "stage 0, step 8 read", "PROTOCOL-READ", false},
    {"fence_async dropped", CONVERT, proxy_dropped, CONSUMER "stage 0, step 4 read", "PROXY", false},
    {"fence_async behind the arrive", CONVERT, proxy_late, CONSUMER "stage 0, step 4 read", "PROXY", false},
    {"fence_async before the write", CONVERT, proxy_before_write, CONSUMER "stage 0, step 4 read", "PROXY", false},
    {"arrive before the write", CONVERT, arrive_before_write, "sm_90a, role convert, stage 0, step 6 arrive",
     "PROTOCOL-ORDER", false},
    {"written without a wait for empty", CONVERT, no_empty_wait, "sm_90a, role convert, stage 0, step 4 write",
     "PROTOCOL-OVERWRITE", false},
    {"one warp arrives for all", CONVERT, one_arrives, CONSUMER "stage 0, step 4 read", "PROTOCOL-BARRIER", false},
    {"full counts one arrival more", CONVERT, full_counts_more, "sm_90a, role convert, stage 0, step 7 arrive",
     "PROTOCOL-ARRIVALS", false},
    {"full counts bytes", CONVERT, full_counts_bytes, "sm_90a, role convert, stage 0, step 7 arrive", "PROTOCOL-BYTES",
     true},
    {"scratch operand unfenced", SCRATCH, proxy_dropped, CONSUMER "step 9 scratch_read", "PROXY", false},
    {"scratch operand unmet", SCRATCH, scratch_unmet, CONSUMER "step 9 scratch_read", "SCRATCH-RACE", false},
    {"scratch operand rewritten", SCRATCH, scratch_rewritten, CONSUMER "step 5 scratch_write", "SCRATCH-RACE", false},
    {"scratch operand rewritten in flight", SCRATCH, scratch_in_flight, CONSUMER "step 5 scratch_write", "SCRATCH-RACE",
     false},
    {"sums sent without a wait for empty", PARTS, send_unasked, CONSUMER "stage 0, step ", "PROTOCOL-", false},
    {"sums added before they come", PARTS, added_early, CONSUMER, "PROTOCOL-READ", false},
    {"sums not announced", PARTS, not_announced, CONSUMER, "PROTOCOL-ARRIVALS", false},
    {"fewer sums than announced", PARTS, fewer_sent, CONSUMER, "PROTOCOL-BYTES", false},
    {"sums sent behind the wait for others'", PARTS, sent_behind_wait, CONSUMER, "PROTOCOL-BYTES", false},
    {"sums sent in flight", PARTS, sums_in_flight, CONSUMER, "PROTOCOL-OVERWRITE", false},
    {"sums not released", PARTS, not_released, CONSUMER, "PROTOCOL-RELEASE", false},
    {"sums released before they are added", PARTS, released_before_read, CONSUMER, "PROTOCOL-READ", false},
    {"a block that ends early", PARTS, not_drained, CONSUMER, "PROTOCOL-EXIT", false},
    {"empty counts the block's own", PARTS, empty_of_own, CONSUMER, "PROTOCOL-ARRIVALS", false},
    {"a late chunk's buffer not waited for", LATE, late_store_not_awaited, CONSUMER, "PROTOCOL-OVERWRITE", false},
    {"a late chunk's wait told to nobody", LATE, late_wait_untold, CONSUMER, "PROTOCOL-BARRIER", false},
    {"a late chunk stored before it is written", LATE, late_write_unmet, CONSUMER, "PROTOCOL-BARRIER", false},
    {"a late chunk unfenced", LATE, late_unfenced, CONSUMER, "PROTOCOL-FENCE", false},
    {"a late chunk goes out twice", LATE, late_twice, CONSUMER "step 12 write", "PROTOCOL-LATE", false},
    {"chunks that no turn is left for", LATE, late_never, CONSUMER "step 23 touch", "PROTOCOL-LATE", false},
    {"the last item's chunks never go out", LATE, last_late_never, CONSUMER, "PROTOCOL-LATE", false},
    {"half the chunks packed", LATE, late_half_packed, CONSUMER "step 33 touch", "PROTOCOL-LATE", false},
    {"chunks not held", LATE, late_not_held, CONSUMER, "PROTOCOL-LATE", false},
    {"a late chunk at another item's place", LATE, late_elsewhere, CONSUMER "step 16 store", "PROTOCOL-PLACE", true},
    {"what sums hold", LATE, late_in_accumulator, CONSUMER "step 10 when", "PROTOCOL-PLACE", true},
    {"late chunks and a number", LATE, late_with_a_number, CONSUMER "step 10 when", "PROTOCOL-PLACE", true},
    {"what comes into a buffer is not waited for", SOURCE, source_not_awaited, CONSUMER, "PROTOCOL-", false},
    {"its bytes are not announced", SOURCE, source_not_announced, CONSUMER, "PROTOCOL-ARRIVALS", false},
    {"fewer of them are", SOURCE, source_fewer_bytes, CONSUMER, "PROTOCOL-BYTES", false},
    {"it comes while a store reads", SOURCE, source_too_early, CONSUMER "stage 0, step 4", "PROTOCOL-OVERWRITE", false},
    {"the other phase is waited for", SOURCE, source_other_phase, CONSUMER, "PROTOCOL-PHASE", false},
    {"it is read behind the write", SOURCE, source_written_over, CONSUMER, "PROTOCOL-READ", false},
    {"it comes into no buffers", SOURCE, source_nowhere, CONSUMER, "PROTOCOL-ORDER", true},
    {"a skip dropped", IN_TURN, skip_dropped, "sm_90a, role ", "PROTOCOL-", false},
    {"skips in every turn", IN_TURN, skip_outside, CONSUMER "step 4 skip", "PROTOCOL-ROLES", true},
    {"turns shared by three of two", IN_TURN, share_of_three, CONSUMER "step 2 items", "PROTOCOL-ROLES", true},
    {"the last turn is always the second's", IN_TURN, next_is_always_the_second, "sm_90a, role ", "PROTOCOL-DEADLOCK",
     false},
    {"the last turn is everybody's", IN_TURN, next_is_all, "sm_90a, role ", "PROTOCOL-", false},
    {"an older turn's parity", IN_TURN, no_turns, CONSUMER "stage 0, step 7 wait_full", "PROTOCOL-PHASE", false},
    {"an accumulator as operand", AHEAD, operand_is_accumulator, CONSUMER "step 22 mma", "PROTOCOL-PLACE", true},
    {"registers as scratch", NORM, scratch_is_registers, CONSUMER "step 7 scratch_read", "PROTOCOL-PLACE", true},
    {"a group closed before its instruction", AHEAD, committed_before, CONSUMER "step 17 read", "PROTOCOL-ORDER", true},
    {"an instruction that reads nothing", AHEAD, operand_unread, CONSUMER "step 17 mma", "PROTOCOL-ORDER", true},
    {"no such place", NORM, no_such_place, CONSUMER "step 4 touch", "PROTOCOL-PLACE", true},
    {"threads of one at a barrier with turns", PLAIN, turn_threads, CONSUMER, "PROTOCOL-ROLES", true},
    {"a class of two minds", AHEAD, least_differs, "sm_90a, role ", "PROTOCOL-ORDER", true},
    {"loops nested otherwise", AHEAD, nested_otherwise, CONSUMER, "PROTOCOL-ORDER", true},
};
enum { PLANTED = sizeof planted / sizeof *planted };

static bool some_schedule_goes_wrong(const struct plan *p)
{
    struct protocol_code code;
    const char *fault = NULL;
    assert_int_equal(protocol_code(p, &code), 0);
    for (int round = 0; round < 6 && !fault; round++) {
        struct protocol_trips trips = {.turns = 2};
        size_t states;
        for (int n = 0; n < code.classes; n++)
            for (int i = 0; i < 2; i++)
                trips.trip[n][i] = code.class[n].outer ? 2 : (round + (i ^ n)) % 5;
        fault = naive_explore_some(p, &trips, false, 200000, &states);
    }
    protocol_code_free(&code);
    return fault != NULL;
}

static void test_planted_faults(void **state)
{
    (void)state;
    int missed = 0;
    for (int i = 0; i < PLANTED; i++) {
        struct plan p;
        struct diag_set diags = {0};
        bool found = false;
        make_base(&p, planted[i].base);
        assert_int_equal(plan_check_protocol(&p, &diags), 0);
        planted[i].plant(&p);
        plan_check_protocol(&p, &diags);
        for (int d = 0; d < diags.count; d++)
            found |= diags.item[d].rule && strncmp(diags.item[d].rule, planted[i].rule, strlen(planted[i].rule)) == 0 &&
                     diags.item[d].field &&
                     strncmp(diags.item[d].field, planted[i].where, strlen(planted[i].where)) == 0;
        if (!found) {
            print_error("%s: expected %s [%s], got:\n", planted[i].name, planted[i].where, planted[i].rule);
            diag_print(&diags, stderr);
            missed++;
        } else if (getenv("TW_TEST_VERBOSE")) {
            diag_print(&diags, stdout);
        }
        if (!planted[i].text_only && !some_schedule_goes_wrong(&p)) {
            print_error("%s: no schedule goes wrong\n", planted[i].name);
            missed++;
        }
        diag_free(&diags);
        plan_free(&p);
    }
    assert_int_equal(missed, 0);
}

/* ---- how far a fence holds --------------------------------------------------------------------------------------- */

#define LOOP_TWICE                                                                                                     \
    {                                                                                                                  \
        .op = PLAN_LOOP, .count = 2                                                                                    \
    }

/* Puts a step directly behind the consumer's n-th fence. */
static void behind_fence(struct plan *p, int n, struct plan_step step)
{
    sample_insert(p, 1, sample_find(p, 1, PLAN_MMA_FENCE, n) + 1, step);
}

/* The instruction once more, whose second one takes an operand that threads have touched since, and the sums that they
 * have not. */
static void with_operand(struct plan *p)
{
    int first = sample_find(p, 1, PLAN_MMA_FENCE, 0), end = sample_find(p, 1, PLAN_MMA_WAIT, 0) + 1;
    struct plan_place operand = {.name = "p", .kind = PLAN_PLACE_OPERAND, .rows = 64, .cols = 64, .shared = -1};
    int place = plan_add_place(p, operand);
    for (int i = first; i < end; i++)
        sample_insert(p, 1, end + i - first, p->role[1].step[i]);
    nth(p, 1, PLAN_MMA, 1)->place2 = place;
    sample_insert(p, 1, end, (struct plan_step){.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = place});
}

/* Derived text has a fence again where other steps stand between it and the instruction, but for what is in another
 * body than the fence: what threads did to registers before may pass that fence. */
static void test_fences_hold_in_their_body(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct plan_step step[3]; /* behind the last fence; RELEASE: the one of the list */
        bool text;                /* by a template of its own, which may hold the registers */
        bool operand;
        const char *refused; /* part of the message, NULL: it passes */
    } cases[] = {
        {"nothing", .refused = NULL},
        {"groups", {{.op = PLAN_MMA_WAIT}, {.op = PLAN_FENCE_ASYNC}}, .refused = NULL},
        {"a release", {{.op = PLAN_RELEASE}}, .refused = NULL},
        {"a loop",
         {LOOP_TWICE, {.op = PLAN_END}},
         .refused = "uses acc, which threads touched before a fence that does not hold so far: step 11 end stands"},
        {"a loop in another text", {LOOP_TWICE, {.op = PLAN_END}}, .text = true, .refused = NULL},
        {"a fence behind the loop", {LOOP_TWICE, {.op = PLAN_END}, {.op = PLAN_MMA_FENCE}}, .refused = NULL},
        {"an operand", {{.op = PLAN_RELEASE}}, .operand = true, .refused = NULL},
        {"a loop and an operand", {LOOP_TWICE, {.op = PLAN_END}}, .operand = true, .refused = "uses p, which"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p;
        struct diag_set diags = {0};
        make_base(&p, SCRATCH);
        p.derived = !cases[i].text;
        if (cases[i].operand)
            with_operand(&p);
        for (int k = 2; k >= 0; k--) {
            struct plan_step step = cases[i].step[k];
            if (step.op == PLAN_RELEASE)
                behind(&p, 1, PLAN_RELEASE, 0, PLAN_MMA_FENCE, 0);
            else if (step.op != PLAN_LOOP || step.count)
                behind_fence(&p, cases[i].operand, step);
        }
        plan_check_protocol(&p, &diags);
        if (diags.count != (cases[i].refused != NULL))
            fail_msg("%s: %d faults: %s", cases[i].name, diags.count, diags.count ? diags.item[0].text : "");
        if (cases[i].refused) {
            if (strcmp(diags.item[0].rule, "WGMMA-FENCE") != 0 || !strstr(diags.item[0].text, cases[i].refused))
                fail_msg("%s: %s [%s]", cases[i].name, diags.item[0].text, diags.item[0].rule);
        }
        diag_free(&diags);
        plan_free(&p);
    }
}

/* Places that do not fit, and steps that name expressions which are not there. */
static void test_places(void **state)
{
    (void)state;
    static const struct {
        int registers, bytes, shared, node, barriers;
        const char *rule, *text;
    } cases[] = {
        {64, 512, 0, 0, 16, NULL, NULL},
        {0, 512, 0, 0, 16, "PLACE", "0 registers a thread"},
        {300, 512, 0, 0, 16, "PLACE", "300 registers a thread"},
        {64, 4096, 0, 0, 16, "PLACE", "2 instances of 4096 bytes in a region of 1024; write 8192 bytes for all"},
        {64, 512, 7, 0, 16, "PLACE", "has no shared memory; name a region for its 512 bytes"},
        {64, 512, 0, 3, 16, "NODE", "names expression 2, the Plan has 0"},
        {64, 512, 0, 0, 2, "BARRIER", "hardware barriers 1 to 2, one each instance, a block has 0 to 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p;
        struct diag_set diags = {0};
        program_norm(&p, (struct norm){.stages = 2, .columns = 1, .instances = 2});
        p.place[0].registers = cases[i].registers;
        p.place[1].bytes = cases[i].bytes;
        sample_shared(&p, "all", 1024, 16, 1);
        p.place[1].shared = cases[i].shared;
        nth(&p, 1, PLAN_TOUCH, 0)->node = cases[i].node;
        plan_check_places(&p, cases[i].barriers, &diags);
        assert_int_equal(diags.count > 0, cases[i].rule != NULL);
        if (cases[i].rule) {
            assert_string_equal(diags.item[0].rule, cases[i].rule);
            if (!strstr(diags.item[0].text, cases[i].text))
                fail_msg("%s", diags.item[0].text);
        }
        diag_free(&diags);
        plan_free(&p);
    }
}

/* A step need not name what it lacks, and places, guards and peeled loops are written. */
static void test_written(void **state)
{
    (void)state;
    struct plan p;
    char *text = NULL;
    size_t length = 0;
    make_base(&p, AHEAD);
    assert_int_equal(plan_print_json(&p, &text, &length), 0);
    static const char *const expected[] = {"\"op\":\"when\"", "\"less\":1", "\"place2\":\"p\"", "\"kind\":\"operand\"",
                                           "\"op\":\"mma_fence\""};
    char *squeezed = malloc(length + 1);
    size_t used = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\n')
            squeezed[used++] = text[i];
    squeezed[used] = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(squeezed, expected[i]))
            fail_msg("no %s", expected[i]);
    assert_non_null(strstr(squeezed, "\"op\":\"loop\",\"ring\":null,\"tensor\":null"));
    free(squeezed);
    free(text);
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_passes),
        cmocka_unit_test(test_others_pass),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_fences_hold_in_their_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
