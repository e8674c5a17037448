// The queue of asynchronous operations: when each moment happens in each mode, groups, signals, faults.
#include <stdlib.h>

#include "emu/async/async.h"
#include "emu/async/mbarrier.h"
#include "emu/memory.h"
#include "unit/check.h"

#define BARRIER (TEST_SHARED + 0x10000)

static struct test_memory memory;
static struct tw_runtime rt;

// What the hook saw.
struct seen {
    int count[5];
    uint32_t signalled; // bytes
    int completed;
    uint64_t hash;
    uint64_t done[64];
    int dones;
};

static void hook(void *context, const struct emu_async_event *event)
{
    struct seen *s = context;
    s->count[event->moment]++;
    s->hash = (s->hash ^ (event->operation * 31 + event->moment * 7 + event->bytes + event->target)) * 1099511628211u;
    if (event->moment == EMU_ASYNC_SIGNAL) {
        s->signalled += event->bytes;
        s->completed += event->completed;
        assert_true(event->bytes == 0 || event->bytes >= 16 || event->kind == EMU_ASYNC_ST_ASYNC ||
                    event->kind == EMU_ASYNC_RED_ASYNC || event->completed);
    }
    if (event->moment == EMU_ASYNC_DONE && s->dones < 64)
        s->done[s->dones++] = event->operation;
}

static struct emu_async *open_queue(enum emu_async_mode mode, uint64_t seed, struct seen *seen)
{
    struct emu_async_options options = {.mode = mode, .seed = seed, .hook = hook, .context = seen};
    struct emu_async *q = NULL;
    struct tw_error error;
    memset(seen, 0, sizeof *seen);
    test_memory_init(&memory);
    assert_int_equal(emu_async_open(&rt, &options, &q, &error), TW_OK);
    return q;
}

static void barrier_init(uint64_t address, uint32_t count, uint32_t tx)
{
    uint64_t word = 0;
    emu_mbarrier_init(&word, count, NULL);
    if (tx)
        emu_mbarrier_expect_tx(&word, tx, NULL, NULL);
    test_write(&memory, address, &word, 8);
}

static void barrier_arrive(uint64_t address, uint32_t tx)
{
    uint64_t word = 0;
    test_read(&memory, address, &word, 8);
    assert_int_equal(emu_mbarrier_arrive(&word, 1, tx, 0, NULL, NULL, NULL), 0);
    test_write(&memory, address, &word, 8);
}

static int barrier_done(uint64_t address)
{
    uint64_t word = 0;
    int done = 0;
    test_read(&memory, address, &word, 8);
    assert_int_equal(emu_mbarrier_test_parity(word, 0, &done, NULL), 0);
    return done;
}

static void run(struct emu_async *q)
{
    int happened = 1;
    while (happened)
        assert_int_equal(emu_async_step(q, &happened, NULL), EMU_FAULT_NONE);
}

static void bulk_loads(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 5, .tag = 77};
    uint8_t first[256];
    (void)state;
    for (int mode = EMU_ASYNC_EAGER; mode <= EMU_ASYNC_RANDOM; mode++) {
        struct emu_async *q = open_queue((enum emu_async_mode)mode, 3, &seen);
        barrier_init(BARRIER, 1, 0);
        barrier_arrive(BARRIER, 256);
        memcpy(first, memory.global, 256);
        assert_int_equal(emu_async_bulk_load(q, &issue, TEST_SHARED + 1024, TEST_GLOBAL, 256, 0, BARRIER, NULL), 0);
        int eager = mode == EMU_ASYNC_EAGER;
        assert_int_equal(emu_async_possible(q), !eager);
        assert_int_equal(emu_async_signals(q), !eager);
        assert_int_equal(barrier_done(BARRIER), eager);
        assert_true(emu_async_bytes_to_come(q, &memory.bytes, BARRIER) == (eager ? 0 : 256));
        assert_int_equal(emu_async_touches(q, &memory.bytes, TEST_SHARED + 1279, TEST_SHARED + 2000, NULL), !eager);
        assert_int_equal(emu_async_touches(q, &memory.bytes, TEST_SHARED + 1280, TEST_SHARED + 2000, NULL), 0);
        assert_int_equal(emu_async_issued_by(q, 0, 5, NULL), 0);
        assert_int_equal(emu_async_issued_by(q, 5, 1, NULL), !eager);
        // The source is read late: what is there by then counts.
        memset(memory.global, 9, 16);
        run(q);
        assert_int_equal(barrier_done(BARRIER), 1);
        assert_int_equal(memory.shared[0][1024], eager ? first[0] : 9);
        assert_memory_equal(memory.shared[0] + 1024 + 16, first + 16, 240);
        assert_int_equal(seen.signalled, 256);
        assert_int_equal(seen.completed, 1);
        assert_int_equal(seen.count[EMU_ASYNC_READ], 1);
        assert_int_equal(seen.count[EMU_ASYNC_WRITE], 1);
        assert_int_equal(seen.count[EMU_ASYNC_DONE], 1);
        if (mode != EMU_ASYNC_RANDOM)
            assert_int_equal(seen.count[EMU_ASYNC_SIGNAL], 1);
        emu_async_close(q);
    }
}

static void late_is_one_moment_at_a_time(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes};
    struct emu_async *q = open_queue(EMU_ASYNC_LATE, 0, &seen);
    (void)state;
    barrier_init(BARRIER, 1, 64);
    emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 64, 0, BARRIER, NULL);
    emu_async_tick(q, NULL);
    assert_int_equal(seen.count[EMU_ASYNC_READ], 0);
    assert_int_equal(emu_async_spurious(q), 0);
    emu_async_step(q, NULL, NULL);
    assert_int_equal(seen.count[EMU_ASYNC_READ], 1);
    assert_int_equal(memory.shared[0][0], 0xcd);
    emu_async_step(q, NULL, NULL);
    assert_int_equal(memory.shared[0][0], memory.global[0]);
    assert_int_equal(seen.signalled, 0);
    emu_async_step(q, NULL, NULL);
    assert_int_equal(seen.signalled, 64);
    assert_int_equal(emu_async_possible(q), 0);
    int happened = 1;
    emu_async_step(q, &happened, NULL);
    assert_int_equal(happened, 0);
    emu_async_close(q);
}

static void groups(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 1000}, other = issue;
    (void)state;
    other.issuer = 1001;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct emu_async *q = open_queue(seed ? EMU_ASYNC_RANDOM : EMU_ASYNC_LATE, seed, &seen);
        for (uint32_t g = 0; g < 4; g++) {
            for (uint32_t i = 0; i < 3; i++)
                emu_async_cp_async(q, &issue, TEST_SHARED + 64 * g + 16 * i, TEST_GLOBAL + 64 * g + 16 * i, 16, 16,
                                   NULL);
            assert_true(emu_async_uncommitted(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000) == 3);
            emu_async_commit(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000, NULL);
            assert_true(emu_async_uncommitted(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000) == 0);
        }
        emu_async_cp_async(q, &other, TEST_SHARED + 1024, TEST_GLOBAL, 4, 4, NULL);
        emu_async_wait_group(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000, 2, 0, NULL);
        assert_memory_equal(memory.shared[0], memory.global, 48);
        assert_memory_equal(memory.shared[0] + 64, memory.global + 64, 48);
        assert_true(emu_async_pending(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000) == 6);
        assert_true(emu_async_pending(q, EMU_ASYNC_GROUP_CP_ASYNC, 1001) == 1);
        assert_int_equal(memory.shared[0][128], 0xcd);
        // Fewer bytes from the source: the rest is 0.
        emu_async_cp_async(q, &issue, TEST_SHARED + 512, TEST_GLOBAL, 16, 5, NULL);
        emu_async_wait_group(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000, 0, 0, NULL);
        assert_int_equal(memory.shared[0][512], 0xcd);
        assert_memory_equal(memory.shared[0] + 192, memory.global + 192, 48);
        emu_async_wait_all(q, EMU_ASYNC_GROUP_CP_ASYNC, 1000, NULL);
        assert_memory_equal(memory.shared[0] + 512, memory.global, 5);
        assert_int_equal(memory.shared[0][517], 0);
        assert_int_equal(memory.shared[0][1024], 0xcd);
        assert_true(emu_async_possible(q) == 1);
        emu_async_forget(q, &memory.bytes);
        assert_true(emu_async_possible(q) == 0);
        emu_async_close(q);
    }
}

static void bulk_stores(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 3};
    struct emu_async *q = open_queue(EMU_ASYNC_LATE, 0, &seen);
    uint8_t was = memory.global[4096];
    (void)state;
    memset(memory.shared[0], 1, 64);
    emu_async_bulk_store(q, &issue, TEST_GLOBAL + 4096, TEST_SHARED, 64, 0xffff, NULL);
    emu_async_commit(q, EMU_ASYNC_GROUP_BULK, 3, NULL);
    memset(memory.shared[0], 2, 64);
    // .read: from here on the source is free, and the destination is not written.
    emu_async_wait_group(q, EMU_ASYNC_GROUP_BULK, 3, 0, 1, NULL);
    memset(memory.shared[0], 3, 64);
    assert_int_equal(memory.global[4096], was);
    assert_true(emu_async_pending(q, EMU_ASYNC_GROUP_BULK, 3) == 1);
    emu_async_wait_group(q, EMU_ASYNC_GROUP_BULK, 3, 0, 0, NULL);
    assert_int_equal(memory.global[4096], 2);
    assert_true(emu_async_pending(q, EMU_ASYNC_GROUP_BULK, 3) == 0);
    // Bytes by mask.
    was = memory.global[8193];
    emu_async_bulk_store(q, &issue, TEST_GLOBAL + 8192, TEST_SHARED, 32, 0x0005, NULL);
    assert_int_equal(emu_async_drain(q, NULL), 0);
    assert_int_equal(memory.global[8192], 3);
    assert_int_equal(memory.global[8193], was);
    assert_int_equal(memory.global[8194], 3);
    assert_int_equal(memory.global[8208], 3);
    // A reduction, f32: subnormals are not flushed, on an H200.
    uint32_t a[4] = {0x3f800000, 1, 0x80000001, 0x40000000}, b[4] = {0x3f800000, 0, 0, 0xc0000000};
    memcpy(memory.global, a, 16);
    memcpy(memory.shared[0], b, 16);
    emu_async_bulk_reduce(q, &issue, TEST_GLOBAL, TEST_SHARED, 16, EMU_REDUCE_ADD, EMU_REDUCE_F32, 0, NULL);
    emu_async_wait_all(q, EMU_ASYNC_GROUP_BULK, 3, NULL);
    memcpy(a, memory.global, 16);
    assert_int_equal(a[0], 0x40000000);
    assert_int_equal(a[1], 1);
    assert_int_equal(a[3], 0);
    // And one into the shared memory of a peer.
    uint32_t five = 5;
    memcpy(memory.shared[2], &five, 4);
    memcpy(memory.shared[0], &five, 4);
    barrier_init(emu_async_target(BARRIER, 2), 1, 16);
    emu_async_bulk_reduce(q, &issue, emu_async_target(TEST_SHARED, 2), TEST_SHARED, 16, EMU_REDUCE_ADD, EMU_REDUCE_U32,
                          emu_async_target(BARRIER, 2), NULL);
    emu_async_drain(q, NULL);
    assert_int_equal(memory.shared[2][0], 10);
    emu_async_close(q);
}

static struct emu_tma_map simple_map(uint32_t width)
{
    struct tw_tensormap_call c = {.func = TW_TENSORMAP_TILED,
                                  .dtype = 9,
                                  .rank = 2,
                                  .addr = TEST_GLOBAL,
                                  .dim = {width, 64},
                                  .stride = {(width * 2 + 15) / 16 * 16},
                                  .box = {64, 8},
                                  .estride = {1, 1},
                                  .swizzle = 3};
    uint64_t bytes[16];
    struct emu_tma_map map;
    assert_int_equal(tw_tensormap_encode(&c, 90, bytes), TW_OK);
    assert_int_equal(emu_tma_open(bytes, &map, NULL), EMU_FAULT_NONE);
    return map;
}

static void multicast(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes};
    struct emu_tma_map map = simple_map(64);
    struct emu_tma_request request = {.map = &map, .rank = 2, .smem = emu_async_target(TEST_SHARED + 2048, 1)};
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct emu_async *q = open_queue(seed ? EMU_ASYNC_RANDOM : EMU_ASYNC_LATE, seed, &seen);
        for (unsigned rank = 0; rank < 4; rank++)
            barrier_init(emu_async_target(BARRIER, rank), 1, 0), barrier_arrive(emu_async_target(BARRIER, rank), 1024);
        emu_async_tensor_load(q, &issue, &request, 0xd, BARRIER, NULL);
        assert_int_equal(emu_async_touches(q, &memory.bytes, emu_async_target(TEST_SHARED, 1),
                                           emu_async_target(TEST_SHARED, 1) + TEST_SHARED_BYTES, NULL),
                         0);
        for (int i = 0; i < 1000; i++) {
            emu_async_tick(q, NULL);
            // A barrier never opens before its data.
            for (unsigned rank = 0; rank < 4; rank++)
                if (barrier_done(emu_async_target(BARRIER, rank)))
                    assert_memory_equal(memory.shared[rank] + 2048, memory.global, 16);
        }
        emu_async_drain(q, NULL);
        for (unsigned rank = 0; rank < 4; rank++) {
            assert_int_equal(barrier_done(emu_async_target(BARRIER, rank)), rank != 1);
            assert_int_equal(memory.shared[rank][2048 + 128 + 16], rank == 1 ? 0xcd : memory.global[128]);
        }
        assert_int_equal(seen.count[EMU_ASYNC_READ], 1);
        assert_int_equal(seen.count[EMU_ASYNC_WRITE], 3);
        assert_int_equal(seen.signalled, 3 * 1024);
        emu_async_close(q);
    }
}

static void tensor_stores(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .tag = 42};
    struct emu_async *q = open_queue(EMU_ASYNC_LATE, 0, &seen);
    struct emu_tma_map map = simple_map(60);
    struct emu_tma_request request = {.map = &map, .rank = 2, .smem = TEST_SHARED + 1024};
    struct emu_fault fault = {0};
    (void)state;
    memset(memory.shared[0], 7, 8192);
    assert_int_equal(emu_async_tensor_store(q, &issue, &request, EMU_REDUCE_STORE, &fault), 0);
    emu_async_commit(q, EMU_ASYNC_GROUP_BULK, 0, NULL);
    // The last 16 bytes of a row of 60 are written whole: reported, done all the same.
    assert_int_equal(emu_async_wait_group(q, EMU_ASYNC_GROUP_BULK, 0, 0, 0, &fault), EMU_FAULT_TMA_CHUNK);
    assert_true(fault.address == TEST_GLOBAL + 120);
    assert_true(emu_async_culprit(q).tag == 42);
    assert_int_equal(memory.global[0], 7);
    assert_int_equal(memory.global[8 * 128 - 1], 7);
    request.coord[0] = 3;
    assert_int_equal(emu_async_tensor_store(q, &issue, &request, EMU_REDUCE_STORE, &fault), EMU_FAULT_TMA_INNER);
    emu_async_close(q);
}

static void arrivals_of_cp_async(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 9};
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++)
        for (int no_increment = 0; no_increment < 2; no_increment++) {
            struct emu_async *q = open_queue(seed ? EMU_ASYNC_RANDOM : EMU_ASYNC_LATE, seed, &seen);
            barrier_init(BARRIER, 1, 0);
            for (uint32_t i = 0; i < 4; i++)
                emu_async_cp_async(q, &issue, TEST_SHARED + 16 * i, TEST_GLOBAL + 16 * i, 16, 16, NULL);
            emu_async_cp_arrive(q, &issue, BARRIER, no_increment, NULL);
            emu_async_cp_async(q, &issue, TEST_SHARED + 64, TEST_GLOBAL + 64, 16, 16, NULL);
            while (emu_async_signals(q)) {
                assert_int_equal(barrier_done(BARRIER), 0);
                assert_int_equal(emu_async_step(q, NULL, NULL), 0);
            }
            assert_memory_equal(memory.shared[0], memory.global, 64);
            assert_int_equal(barrier_done(BARRIER), no_increment);
            if (!no_increment)
                barrier_arrive(BARRIER, 0);
            assert_int_equal(barrier_done(BARRIER), 1);
            emu_async_close(q);
        }
}

static void st_async(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes};
    struct emu_async *q = open_queue(EMU_ASYNC_LATE, 0, &seen);
    uint32_t value = 17, now;
    uint64_t to = emu_async_target(TEST_SHARED + 64, 3), barrier = emu_async_target(BARRIER, 3);
    (void)state;
    barrier_init(barrier, 1, 8);
    assert_int_equal(emu_async_st_async(q, &issue, to, &value, 4, barrier, NULL), 0);
    value = 4;
    assert_int_equal(emu_async_red_async(q, &issue, to, &value, EMU_REDUCE_ADD, EMU_REDUCE_U32, barrier, NULL), 0);
    assert_int_equal(memory.shared[3][64], 0xcd);
    emu_async_drain(q, NULL);
    memcpy(&now, memory.shared[3] + 64, 4);
    assert_int_equal(now, 21);
    assert_int_equal(emu_async_st_async(q, &issue, to + 2, &value, 4, barrier, NULL), EMU_FAULT_ALIGN);
    emu_async_close(q);
}

// wgmma: a sum that depends on its order, operands read at any time.
struct product {
    uint64_t *accumulator, *operand;
    uint64_t read;
};

static enum emu_fault_kind product_read(void *context, void *payload, struct emu_fault *fault)
{
    struct product *p = payload;
    (void)context;
    (void)fault;
    p->read = *p->operand;
    return EMU_FAULT_NONE;
}

static enum emu_fault_kind product_write(void *context, void *payload, struct emu_fault *fault)
{
    struct product *p = payload;
    (void)context;
    (void)fault;
    *p->accumulator = *p->accumulator * 3 + p->read;
    return EMU_FAULT_NONE;
}

static void wgmma(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 2};
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct emu_async *q = open_queue(seed < 2 ? (enum emu_async_mode)seed : EMU_ASYNC_RANDOM, seed, &seen);
        uint64_t accumulator = 1, operand[6] = {1, 2, 3, 4, 5, 6};
        for (int i = 0; i < 6; i++) {
            struct product p = {&accumulator, &operand[i], 0};
            struct emu_async_work work = {.read = product_read,
                                          .write = product_write,
                                          .payload = sizeof p + 100,
                                          .argument = &p,
                                          .argument_bytes = sizeof p};
            assert_int_equal(emu_async_wgmma(q, &issue, &work, NULL), 0);
            if (i % 2)
                emu_async_commit(q, EMU_ASYNC_GROUP_WGMMA, 2, NULL);
        }
        for (int i = 0; i < (int)seed; i++)
            emu_async_tick(q, NULL);
        emu_async_wait_group(q, EMU_ASYNC_GROUP_WGMMA, 2, 1, 0, NULL);
        assert_true(emu_async_pending(q, EMU_ASYNC_GROUP_WGMMA, 2) <= 2);
        if (seed == 1) { // late: the first four and no more
            assert_true(accumulator == (((3 + 1) * 3 + 2) * 3 + 3) * 3 + 4);
            operand[5] = 60; // overwritten too early
        }
        emu_async_wait_group(q, EMU_ASYNC_GROUP_WGMMA, 2, 0, 0, NULL);
        uint64_t last = seed == 1 ? 60 : 6;
        assert_true(accumulator == (((((3 + 1) * 3 + 2) * 3 + 3) * 3 + 4) * 3 + 5) * 3 + last);
        emu_async_close(q);
    }
}

// tcgen05: a thread's products in order, a commit behind those before it alone and not behind another thread's, stores
// by their own wait.
static void tcgen05(void **state)
{
    struct seen seen;
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct emu_async *q = open_queue(seed < 2 ? (enum emu_async_mode)seed : EMU_ASYNC_RANDOM, seed, &seen);
        uint64_t accumulator = 1, other = 1, stored = 1, operand[4] = {1, 2, 3, 4};
        struct emu_async_issue issue = {.memory = &memory.bytes, .issuer = 2}, another = issue;
        another.issuer = 3;
        barrier_init(BARRIER, 1, 0);
        barrier_init(BARRIER + 8, 1, 0);
        barrier_init(BARRIER + 16, 1, 0);
        for (int i = 0; i < 6; i++) {
            struct product p = {i < 4 ? &accumulator : i == 4 ? &other : &stored, &operand[i % 4], 0};
            struct emu_async_work work = {.read = product_read,
                                          .write = product_write,
                                          .payload = sizeof p,
                                          .argument = &p,
                                          .argument_bytes = sizeof p};
            enum emu_async_kind kind = i == 5 ? EMU_ASYNC_TCGEN05_ST : EMU_ASYNC_TCGEN05_MMA;
            assert_int_equal(emu_async_tcgen05(q, i == 4 ? &another : &issue, kind, &work, NULL), 0);
            if (i == 1 || i == 3)
                assert_int_equal(emu_async_tcgen05_commit(q, &issue, BARRIER + (i == 3 ? 8u : 0u), NULL), 0);
        }
        assert_int_equal(emu_async_tcgen05_commit(q, &another, BARRIER + 16, NULL), 0);
        assert_int_equal(emu_async_tcgen05_commit(q, &issue, BARRIER + 4, NULL), EMU_FAULT_ALIGN);
        if (seed == EMU_ASYNC_LATE)
            assert_true(accumulator == 1 && other == 1 && stored == 1);
        for (int happened = 1; happened && !barrier_done(BARRIER);) {
            assert_int_equal(emu_async_step(q, &happened, NULL), 0);
            uint64_t two = (3 + 1) * 3 + 2;
            assert_true(!barrier_done(BARRIER) || accumulator >= two);
        }
        if (seed == EMU_ASYNC_LATE) // the oldest arrival, what it waits for, and no more
            assert_true(accumulator == (3 + 1) * 3 + 2 && other == 1 && stored == 1 && !barrier_done(BARRIER + 8));
        assert_int_equal(emu_async_wait_all(q, EMU_ASYNC_GROUP_TCGEN05_ST, 2, NULL), 0);
        assert_int_equal(stored, 3 + 2);
        run(q);
        assert_true(accumulator == (((3 + 1) * 3 + 2) * 3 + 3) * 3 + 4 && other == 3 + 1);
        assert_true(barrier_done(BARRIER) && barrier_done(BARRIER + 8) && barrier_done(BARRIER + 16));
        assert_int_equal(emu_async_pending(q, EMU_ASYNC_GROUP_TCGEN05, 2), 0);
        emu_async_close(q);
    }
}

static void faults(void **state)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes, .tag = 5};
    struct emu_fault fault = {0};
    (void)state;
    for (int mode = EMU_ASYNC_EAGER; mode <= EMU_ASYNC_RANDOM; mode++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct emu_async *q = open_queue((enum emu_async_mode)mode, seed, &seen);
            enum emu_fault_kind kind;
            // Fewer bytes expected than come: TX-BYTES, in this phase or in the next.
            barrier_init(BARRIER, 1, 0);
            barrier_arrive(BARRIER, 128);
            kind = emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 256, 0, BARRIER, &fault);
            if (kind == EMU_FAULT_NONE)
                kind = emu_async_drain(q, &fault);
            assert_int_equal(kind, EMU_FAULT_TX_BYTES);
            assert_true(emu_async_culprit(q).tag == 5);
            assert_true(fault.address == BARRIER);
            // More expected than come: the phase does not end and nothing is to come.
            barrier_init(BARRIER, 1, 0);
            barrier_arrive(BARRIER, 512);
            assert_int_equal(emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 256, 0, BARRIER, &fault), 0);
            assert_int_equal(emu_async_drain(q, &fault), 0);
            assert_int_equal(barrier_done(BARRIER), 0);
            assert_true(emu_async_bytes_to_come(q, &memory.bytes, BARRIER) == 0);
            // No barrier there.
            kind = emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 256, 0, BARRIER + 64, &fault);
            if (kind == EMU_FAULT_NONE)
                kind = emu_async_drain(q, &fault);
            assert_int_equal(kind, EMU_FAULT_BARRIER_INIT);
            assert_true(emu_async_possible(q) == 0);
            // Bounds on both sides; the queue goes on.
            kind = emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL + TEST_GLOBAL_BYTES - 16, 32, 0, BARRIER,
                                       &fault);
            if (kind == EMU_FAULT_NONE)
                kind = emu_async_drain(q, &fault);
            assert_int_equal(kind, EMU_FAULT_BOUNDS);
            kind = emu_async_bulk_load(q, &issue, TEST_SHARED + TEST_SHARED_BYTES - 16, TEST_GLOBAL, 32, 0, BARRIER,
                                       &fault);
            if (kind == EMU_FAULT_NONE)
                kind = emu_async_drain(q, &fault);
            assert_int_equal(kind, EMU_FAULT_BOUNDS);
            assert_int_equal(emu_async_bulk_load(q, &issue, TEST_SHARED + 8, TEST_GLOBAL, 32, 0, BARRIER, &fault),
                             EMU_FAULT_ALIGN);
            assert_int_equal(emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 24, 0, BARRIER, &fault),
                             EMU_FAULT_ALIGN);
            assert_int_equal(emu_async_bulk_load(q, &issue, TEST_SHARED, TEST_GLOBAL, 32, 0, BARRIER + 4, &fault),
                             EMU_FAULT_ALIGN);
            assert_true(emu_async_possible(q) == 0);
            emu_async_close(q);
        }
}

// The same seed gives the same moments, another one others.
static uint64_t story(uint64_t seed)
{
    struct seen seen;
    struct emu_async_issue issue = {.memory = &memory.bytes};
    struct emu_async *q = open_queue(EMU_ASYNC_RANDOM, seed, &seen);
    uint64_t spurious = 0;
    barrier_init(BARRIER, 1, 16 * 1024);
    for (uint32_t i = 0; i < 16; i++) {
        emu_async_bulk_load(q, &issue, TEST_SHARED + 1024 * i, TEST_GLOBAL + 1024 * i, 1024, 0, BARRIER, NULL);
        emu_async_tick(q, NULL);
        spurious = spurious * 2 + (uint64_t)emu_async_spurious(q);
    }
    while (emu_async_possible(q))
        emu_async_tick(q, NULL);
    assert_int_equal(seen.signalled, 16 * 1024);
    assert_memory_equal(memory.shared[0], memory.global, 16 * 1024);
    emu_async_close(q);
    return seen.hash ^ spurious;
}

static void determinism(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++)
        assert_true(story(seed) == story(seed));
    assert_true(story(1) != story(2));
}

// Every allocation fails once: a fault, nothing is lost, nothing leaks.
static void *failing_alloc(void *self, size_t bytes)
{
    int *left = self;
    return (*left)-- > 0 ? malloc(bytes) : NULL;
}

static void *failing_realloc(void *self, void *old, size_t bytes)
{
    int *left = self;
    return (*left)-- > 0 ? realloc(old, bytes) : NULL;
}

static void plain_free(void *self, void *pointer)
{
    (void)self;
    free(pointer);
}

static void no_memory(void **state)
{
    struct tw_memory keep = rt.memory;
    struct emu_async_issue issue = {.memory = &memory.bytes};
    struct emu_tma_map map = simple_map(64);
    struct emu_tma_request request = {.map = &map, .rank = 2, .smem = TEST_SHARED + 1024};
    int n, failed = 1;
    (void)state;
    for (n = 0; failed && n < 100; n++) {
        int left = n;
        struct emu_async_options options = {.mode = EMU_ASYNC_LATE};
        struct emu_async *q = NULL;
        struct tw_error error;
        struct emu_fault fault = {0};
        rt.memory = (struct tw_memory){&left, failing_alloc, failing_realloc, plain_free};
        test_memory_init(&memory);
        barrier_init(BARRIER, 1, 1024);
        failed = emu_async_open(&rt, &options, &q, &error) != TW_OK;
        if (!failed)
            failed = emu_async_tensor_load(q, &issue, &request, 0, BARRIER, &fault) == EMU_FAULT_MEMORY;
        if (!failed)
            failed = emu_async_cp_async(q, &issue, TEST_SHARED, TEST_GLOBAL, 16, 16, &fault) == EMU_FAULT_MEMORY;
        if (!failed)
            failed = emu_async_commit(q, EMU_ASYNC_GROUP_BULK, 7, &fault) == EMU_FAULT_MEMORY;
        if (!failed)
            failed = emu_async_drain(q, &fault) == EMU_FAULT_MEMORY;
        emu_async_close(q);
        rt.memory = keep;
    }
    assert_in_range(n, 5, 50);
    assert_false(failed);
}

static int open_runtime(void **state)
{
    struct tw_error error;
    (void)state;
    return tw_runtime_init(&rt, &error) != TW_OK;
}

static int close_runtime(void **state)
{
    (void)state;
    tw_runtime_close(&rt);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_loads), cmocka_unit_test(late_is_one_moment_at_a_time),
        cmocka_unit_test(groups),     cmocka_unit_test(bulk_stores),
        cmocka_unit_test(multicast),  cmocka_unit_test(tensor_stores),
        cmocka_unit_test(st_async),   cmocka_unit_test(arrivals_of_cp_async),
        cmocka_unit_test(wgmma),      cmocka_unit_test(tcgen05),
        cmocka_unit_test(faults),     cmocka_unit_test(determinism),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("async", tests, open_runtime, close_runtime);
}
