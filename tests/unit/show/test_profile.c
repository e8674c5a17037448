/* What stamps amount to: tensor cores busy and idle, rings, spans, on stamps by hand. */
#include "unit/check.h"

#include <string.h>

#include "show/profile.h"

/* A producer and two consumers: per item two turns of a loop with a product, then a store. */
static struct plan_step producer_steps[] = {
    {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "tiles"},
    {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "k", .loop = 1},
    {.op = PLAN_WAIT_EMPTY, .ring = 0, .tensor = -1, .call = "ab_wait_empty"},
    {.op = PLAN_FILL, .ring = 0, .tensor = 0, .call = "A_load"},
    {.op = PLAN_END, .ring = -1, .tensor = -1},
    {.op = PLAN_END, .ring = -1, .tensor = -1},
};
static struct plan_step consumer_steps[] = {
    {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "tiles"},
    {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "k", .loop = 1},
    {.op = PLAN_WAIT_FULL, .ring = 0, .tensor = -1, .call = "ab_wait_full"},
    {.op = PLAN_MMA, .ring = -1, .tensor = -1, .call = "dot", .count = 0},
    {.op = PLAN_MMA_COMMIT, .ring = -1, .tensor = -1, .call = "mma_commit"},
    {.op = PLAN_MMA_WAIT, .ring = -1, .tensor = -1, .call = "mma_wait_0", .count = 0},
    {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .call = "evaluate"},
    {.op = PLAN_RELEASE, .ring = 0, .tensor = -1, .call = "ab_release"},
    {.op = PLAN_END, .ring = -1, .tensor = -1},
    {.op = PLAN_GLOBAL, .ring = -1, .tensor = 0, .call = "D_store"},
    {.op = PLAN_END, .ring = -1, .tensor = -1},
};
enum { TILES = 0, EMPTY = 2, FILL = 3, FULL = 2, MMA = 3, WAIT = 5, TOUCH = 6, RELEASE = 7, STORE = 9 };

static struct plan_role roles[] = {
    {.name = "producer", .instances = 1, .first_warp = 0, .warps = 4, .step = producer_steps, .step_count = 6},
    {.name = "consumer", .instances = 2, .first_warp = 4, .warps = 8, .step = consumer_steps, .step_count = 11},
};
static struct plan_ring rings[] = {
    {.name = "ab", .stages = 2, .filler = PLAN_FILL_BULK, .tensor = {0}, .tensor_count = 1},
};
static struct plan_tensor tensor[1];
/* 64 x 64 x 16 in 4 steps, bf16: 524,288 operations, 128 clocks as rated. */
static struct plan_mma mma[] = {
    {.name = "dot",
     .kind = "wgmma",
     .m = 64,
     .n = 64,
     .k = 16,
     .blocks_m = 1,
     .blocks_n = 1,
     .k_steps = 4,
     .operand = {{.dtype = TW_BF16}, {.dtype = TW_BF16}}},
};

struct world {
    struct tw_runtime rt;
    struct plan plan;
    struct profile profile;
    struct profile_instance instance[3];
    struct profile_stamp stamp[3][32];
};

static void stamp(struct world *w, int instance, uint64_t clock, int step)
{
    struct profile_instance *in = &w->instance[instance];
    in->stamp[in->count++] = (struct profile_stamp){clock, step};
    in->ended = clock;
}

static void begin(struct world *w, bool timed)
{
    struct tw_error error;
    memset(w, 0, sizeof *w);
    assert_int_equal(tw_runtime_init(&w->rt, &error), TW_OK);
    w->plan = (struct plan){.kernel = "k",
                            .entry = "k",
                            .arch = "sm_90a",
                            .role = roles,
                            .role_count = 2,
                            .ring = rings,
                            .ring_count = 1,
                            .tensor = tensor,
                            .tensor_count = 1,
                            .mma = mma,
                            .mma_count = 1};
    w->profile =
        (struct profile){.rt = &w->rt, .plan = &w->plan, .instances = 3, .blocks = 1, .grid = 1, .timed = timed};
    w->profile.block[0].instance = w->instance;
    for (int i = 0; i < 3; i++)
        w->instance[i] = (struct profile_instance){
            .role = i > 0, .instance = i == 2, .stamp = w->stamp[i], .began_ns = 1000, .ended_ns = 2000};
}

/* One consumer: loads are late by 100 at first, by 300 in the second turn. */
static void one_item(struct world *w, int instance)
{
    stamp(w, instance, 50, TILES);
    stamp(w, instance, 100, FULL);
    stamp(w, instance, 110, MMA);     /* in flight from 100 on, 128 as rated */
    stamp(w, instance, 260, WAIT);    /* 32 longer than rated */
    stamp(w, instance, 300, TOUCH);   /* 40 in the loop */
    stamp(w, instance, 310, RELEASE); /* 10 */
    stamp(w, instance, 610, FULL);    /* 300 waiting */
    stamp(w, instance, 620, MMA);
    stamp(w, instance, 750, WAIT); /* 610 to 738 */
    stamp(w, instance, 760, TOUCH);
    stamp(w, instance, 770, RELEASE);
    stamp(w, instance, 900, STORE);
}

static void close_to(double got, double want)
{
    assert_true(got > want - 0.01 && got < want + 0.01);
}

static void alone(void **state)
{
    struct world w;
    struct profile_tensor t;
    struct tw_error error;
    (void)state;
    begin(&w, true);
    w.profile.instances = 2;
    stamp(&w, 0, 90, FILL);
    one_item(&w, 1);
    profile_settle(&w.profile);
    assert_int_equal(profile_tensor(&w.profile, 0, &t, &error), TW_OK);
    assert_true(t.any);
    close_to(t.busy, 256);
    close_to(t.idle[PROFILE_BEFORE], 100);
    close_to(t.idle[PROFILE_SLOW], 32);
    close_to(t.idle[PROFILE_LOOP], 50);
    close_to(t.idle[PROFILE_LOADS], 300);
    close_to(t.idle[PROFILE_EPILOGUE], 0);
    close_to(t.idle[PROFILE_AFTER], 900 - 738);
    tw_runtime_close(&w.rt);
}

/* A second item: what stands between the two is an epilogue. */
static void items(void **state)
{
    struct world w;
    struct profile_tensor t;
    struct tw_error error;
    (void)state;
    begin(&w, true);
    w.profile.instances = 2;
    stamp(&w, 0, 90, FILL);
    one_item(&w, 1);
    stamp(&w, 1, 910, TILES);
    stamp(&w, 1, 920, FULL);
    stamp(&w, 1, 930, MMA);
    stamp(&w, 1, 1048, WAIT);
    profile_settle(&w.profile);
    assert_int_equal(profile_tensor(&w.profile, 0, &t, &error), TW_OK);
    close_to(t.busy, 3 * 128);
    close_to(t.idle[PROFILE_SLOW], 32 + 12);
    close_to(t.idle[PROFILE_LOOP], 50 + 20);
    close_to(t.idle[PROFILE_EPILOGUE], 130 + 10);
    close_to(t.idle[PROFILE_LOADS], 300 + 10);
    close_to(t.idle[PROFILE_AFTER], 0);
    tw_runtime_close(&w.rt);
}

/* Two consumers beside each other take the tensor cores in turn: what one waits for, the other's products hide. */
static void together(void **state)
{
    struct world w;
    struct profile_tensor t;
    struct tw_error error;
    double sum = 0;
    (void)state;
    begin(&w, true);
    stamp(&w, 0, 90, FILL);
    one_item(&w, 1);
    stamp(&w, 2, 50, TILES);
    stamp(&w, 2, 300, FULL);
    stamp(&w, 2, 310, MMA); /* 300 to 428, while the other waits */
    stamp(&w, 2, 428, WAIT);
    stamp(&w, 2, 600, FULL);
    stamp(&w, 2, 605, MMA); /* 600 to 728; the other's come behind it, to 856, but are known to be done at 750 */
    stamp(&w, 2, 740, WAIT);
    stamp(&w, 2, 900, STORE);
    profile_settle(&w.profile);
    assert_int_equal(profile_tensor(&w.profile, 0, &t, &error), TW_OK);
    close_to(t.busy, 128 + 128 + 150);
    close_to(t.idle[PROFILE_AFTER], 150);
    for (int i = 0; i < PROFILE_IDLES; i++)
        sum += t.idle[i];
    close_to(t.busy + sum, 900);
    tw_runtime_close(&w.rt);
}

/* Clocks that are instructions have no rates: products are in flight until they are waited for. */
static void untimed(void **state)
{
    struct world w;
    struct profile_tensor t;
    struct tw_error error;
    (void)state;
    begin(&w, false);
    w.profile.instances = 2;
    stamp(&w, 0, 90, FILL);
    one_item(&w, 1);
    profile_settle(&w.profile);
    assert_true(w.profile.block[0].nanoseconds == 0);
    assert_int_equal(profile_tensor(&w.profile, 0, &t, &error), TW_OK);
    close_to(t.busy, 160 + 140);
    close_to(t.idle[PROFILE_SLOW], 0);
    tw_runtime_close(&w.rt);
}

/* Rows: spans reach from stamp to stamp, a stage is on its way, read, free. */
static void rows(void **state)
{
    struct world w;
    struct timeline t;
    struct tw_error error;
    (void)state;
    begin(&w, true);
    w.instance[0].ended_ns = 1450;
    stamp(&w, 0, 20, EMPTY);
    stamp(&w, 0, 30, FILL);
    stamp(&w, 0, 40, EMPTY);
    stamp(&w, 0, 50, FILL);
    stamp(&w, 0, 700, EMPTY);
    one_item(&w, 1);
    one_item(&w, 2);
    w.instance[2].stamp[9].clock = 765; /* this one releases last */
    w.instance[2].stamp[10].clock = 775;
    profile_settle(&w.profile);
    close_to(w.profile.block[0].nanoseconds, (450.0 + 1000 + 1000) / (700 + 900 + 900));
    assert_int_equal(timeline_of_stamps(&t, &w.profile, 0, &error), TW_OK);
    assert_int_equal(t.steps, 900);
    assert_int_equal(t.role_rows, 3);
    assert_int_equal(t.row_count, 5);
    assert_int_equal(t.row[0].span[0].kind, TIMELINE_WAIT_EMPTY);
    assert_int_equal(t.row[0].span[0].from, 0);
    assert_int_equal(t.row[0].span[0].to, 20);
    assert_int_equal(t.row[0].span[4].kind, TIMELINE_WAIT_EMPTY);
    assert_int_equal(t.row[0].span[4].to - t.row[0].span[4].from, 650);
    assert_int_equal(t.row[0].span[4].stage, 0);
    const struct timeline_row *first = &t.row[3], *second = &t.row[4];
    assert_int_equal(first->span_count, 3);
    assert_int_equal(first->span[0].kind, TIMELINE_FILLING);
    assert_int_equal(first->span[0].from, 30);
    assert_int_equal(first->span[1].kind, TIMELINE_READING);
    assert_int_equal(first->span[1].from, 100);
    assert_int_equal(first->span[2].kind, TIMELINE_FREE);
    assert_int_equal(first->span[2].from, 310);
    assert_int_equal(second->span[1].from, 610);
    assert_int_equal(second->span[2].from, 775);
    /* From 30 to 310 and from 50 to 775, of 745 clocks in use. */
    close_to(t.filled[0], (280.0 + 725.0) / 745.0);
    timeline_free(&t);
    tw_runtime_close(&w.rt);
}

/* ---- memory that a kernel has left ------------------------------------------------------------------------------- */

/* By region: 9 words for stamps, the first of which has nothing to say, numbers from NUMBERS on: clock at its beginning
 * and its end, bytes of room left; of the last instance nanoseconds at beginning and end, multiprocessor + 1, number
 * and count of blocks. */
enum { REGIONS = 6, ROOM = 16, NUMBERS = 9, LEFT = NUMBERS + 2 };
static uint64_t memory[REGIONS * ROOM];

static uint64_t written(uint64_t clock, int step)
{
    return ((uint64_t)step << 52) + clock;
}

static int download(struct tw_device *device, void *to, uint64_t from, size_t bytes, struct tw_error *error)
{
    (void)device;
    (void)from;
    (void)error;
    memcpy(to, memory, bytes);
    return TW_OK;
}

/* Instance i of block n begins at this clock and has two stamps, between which a step was left out. */
static void leave(int n, int i, uint64_t began, int first, int second)
{
    uint64_t *word = memory + (n * 3 + i) * ROOM;
    const uint64_t block = n ? 7 : 0;
    const uint64_t number[] = {began, began + 500, 5 * 8, 100, 600, 5, block << 32 | 14};
    memset(word, 0, ROOM * sizeof *word);
    word[1] = written(began + 10, first);
    word[3] = written(began + 30, second);
    memcpy(word + NUMBERS, number, (i == 2 ? 7 : 3) * sizeof *number);
}

static int take(struct world *w, struct profile *profile, struct tw_error *error)
{
    const struct tw_device_ops ops = {.kind = "cuda", .download = download};
    struct tw_device device = {.ops = &ops, .rt = &w->rt};
    const struct profile_memory place = {0x1000, sizeof memory};
    return profile_take(profile, &w->rt, &device, &place, &w->plan, error);
}

static void reading(void **state)
{
    struct world w;
    struct profile p;
    struct tw_error error;
    const uint64_t began = (uint64_t)3 << 52;
    (void)state;
    begin(&w, true);
    for (int i = 0; i < 3; i++) {
        leave(0, i, began + (uint64_t)(i == 1 ? 0 : 40), 1, 2);
        leave(1, i, 5000, 3, 3);
    }
    assert_int_equal(take(&w, &p, &error), TW_OK);
    assert_int_equal(p.blocks, 2);
    assert_int_equal(p.grid, 14);
    assert_int_equal(p.block[1].number, 7);
    assert_int_equal(p.block[0].multiprocessor, 4);
    assert_int_equal(p.block[0].clocks, 540);
    assert_int_equal(p.block[0].instance[1].began, 0);
    assert_int_equal(p.block[0].instance[1].count, 2);
    assert_int_equal(p.block[0].instance[1].stamp[0].clock, 10);
    assert_int_equal(p.block[0].instance[1].stamp[1].clock, 30);
    assert_int_equal(p.block[0].instance[1].stamp[1].step, 1);
    assert_int_equal(p.block[0].instance[2].began, 40);
    assert_int_equal(p.block[0].instance[2].stamp[0].clock, 50);
    assert_int_equal(p.block[0].instance[2].instance, 1);
    close_to(p.block[0].nanoseconds, 1);
    assert_false(p.block[0].instance[0].full);
    profile_free(&p);
    tw_runtime_close(&w.rt);
}

/* What no kernel leaves is told, and not drawn. */
static void damaged(void **state)
{
    const struct {
        int word;
        uint64_t value;
    } damage[] = {
        {1, written(5010, 0)}, /* no step */
        {1, written(5010, 7)}, /* one more than the producer has */
        {3, written(5005, 2)}, /* before the first */
        {3, written(9000, 2)}, /* behind the end */
        {NUMBERS + 1, 0},      /* it did not end */
        {LEFT, 10 * 8},        /* more room than there is */
        {LEFT, 5 * 8 + 4},     /* half a stamp */
    };
    (void)state;
    for (size_t d = 0; d < sizeof damage / sizeof *damage; d++) {
        struct world w;
        struct profile p;
        struct tw_error error = {""};
        begin(&w, true);
        for (int i = 0; i < 3; i++) {
            leave(0, i, 5000, 1, 2);
            leave(1, i, 5000, 1, 2);
        }
        memory[damage[d].word] = damage[d].value;
        assert_int_equal(take(&w, &p, &error), TW_ERROR_DAMAGED);
        assert_true(error.text[0]);
        profile_free(&p);
        tw_runtime_close(&w.rt);
    }
}

/* An instance that made more stamps than there is room has those that fit; clocks have bits where steps are. */
static void overfull(void **state)
{
    struct world w;
    struct profile p;
    struct tw_error error;
    const uint64_t began = ((uint64_t)1 << 60) - 20;
    (void)state;
    begin(&w, true);
    for (int i = 0; i < 3; i++) {
        leave(0, i, began, 1, 2);
        leave(1, i, began, 1, 2);
    }
    for (int k = 0; k < 8; k++)
        memory[1 + k] = written(began + 10 * (uint64_t)(k + 1), 1 + k % 6);
    memory[LEFT] = (uint64_t)(-3 * 8);
    assert_int_equal(take(&w, &p, &error), TW_OK);
    const struct profile_instance *in = &p.block[0].instance[0];
    assert_true(in->full);
    assert_int_equal(in->count, 8);
    for (int k = 0; k < 8; k++)
        assert_int_equal(in->stamp[k].clock, 10 * (k + 1));
    assert_false(p.block[0].instance[1].full);
    profile_free(&p);
    tw_runtime_close(&w.rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone), cmocka_unit_test(items),   cmocka_unit_test(together), cmocka_unit_test(untimed),
        cmocka_unit_test(rows),  cmocka_unit_test(reading), cmocka_unit_test(damaged),  cmocka_unit_test(overfull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
