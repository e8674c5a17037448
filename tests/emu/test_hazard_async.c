/* The hazard engine on asynchronous operations: copies, stores, groups, ends of blocks, wgmma; each hazard beside its
   clean twin. */
#include "hazard_check.h"

/* ---- Asynchronous operations ------------------------------------------------------------------------------------- */

static void test_load(void **state)
{
    (void)state;
    uint64_t b = SHARED(0, 0x400), tile = SHARED(0, 0x800);
    for (int wait = 0; wait < 2; wait++)
        for (int late = 0; late < 2; late++) { /* the signal before the read, or after it */
            begin(1, 2);
            init_barrier(b);
            sync_block(0, 0, 0, 2);
            emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
            emu_hazard_operation o = load(warp_of(0, 0), tile, 128, b);
            if (!late || wait)
                emu_hazard_signal(h, o, b, 1);
            if (wait)
                emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 0, 1, 0, 3);
            touch(warp_of(0, 1), ALL, tile, READ);
            if (late && !wait)
                emu_hazard_signal(h, o, b, 1);
            if (wait)
                CLEAN();
            else
                END("UNORDERED-READ");
        }
    for (int wait = 0; wait < 2; wait++) { /* the issuer knows no more than others */
        begin(1, 1);
        init_barrier(b);
        emu_hazard_operation o = load(warp_of(0, 0), tile, 128, b);
        emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
        emu_hazard_signal(h, o, b, 1);
        if (wait)
            emu_hazard_mbarrier_wait(warp_of(0, 0), ALL, b, 0, 1, 0, 3);
        touch(warp_of(0, 0), ALL, tile, WRITE);
        if (wait)
            CLEAN();
        else
            END("UNORDERED-WRITE");
    }
    for (int wait = 0; wait < 2; wait++) { /* end of the block */
        begin(1, 1);
        init_barrier(b);
        emu_hazard_operation o = load(warp_of(0, 0), tile, 128, b);
        emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
        emu_hazard_signal(h, o, b, 1);
        if (wait)
            emu_hazard_mbarrier_wait(warp_of(0, 0), ALL, b, 0, 1, 0, 3);
        emu_hazard_exit(warp_of(0, 0), ALL, 9);
        if (wait)
            CLEAN();
        else
            END("EXIT-IN-FLIGHT");
    }
}

static void test_refill(void **state) /* a generic read before a refill needs the edge alone, unless strict */
{
    (void)state;
    uint64_t b = SHARED(0, 0x400), tile = SHARED(0, 0x800);
    for (int strict = 0; strict < 2; strict++)
        for (int fence = 0; fence < 2; fence++)
            for (int meet = 0; meet < 2; meet++) {
                begin_with((struct emu_hazard_options){.blocks = 1, .threads = 64, .strict = strict});
                init_barrier(b);
                sync_block(0, 0, 0, 2);
                emu_hazard_operation o = load(warp_of(0, 0), tile, 128, b);
                emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
                emu_hazard_signal(h, o, b, 1);
                for (uint32_t i = 0; i < 2; i++)
                    emu_hazard_mbarrier_wait(warp_of(0, i), ALL, b, 0, 1, 0, 3);
                touch(warp_of(0, 1), ALL, tile, READ);
                if (fence)
                    emu_hazard_fence(warp_of(0, 1), ALL, EMU_FENCE_PROXY_ASYNC);
                sync_block(0, 1, 0, 2);
                if (!meet) /* a read behind the barrier */
                    touch(warp_of(0, 1), ALL, tile, READ);
                load(warp_of(0, 0), tile, 128, b);
                if (!meet)
                    END("UNORDERED-READ");
                else if (strict && !fence)
                    END("PROXY-FENCE");
                else
                    CLEAN();
            }
}

static void test_multicast(void **state)
{
    (void)state;
    uint64_t b[2] = {SHARED(0, 0x400), SHARED(1, 0x400)};
    for (uint32_t waits = 0; waits < 3; waits++) { /* which blocks wait for their part; 2: both */
        begin(2, 1);
        init_barrier(b[0]);
        init_barrier(b[1]);
        sync_cluster(2, 1);
        emu_hazard_operation o = emu_hazard_issue(warp_of(0, 0), 1, EMU_HAZARD_SIGNAL, 5);
        for (uint32_t r = 0; r < 2; r++)
            emu_hazard_signals(warp_of(0, 0), o, b[r]);
        for (uint32_t r = 0; r < 2; r++)
            one_write(warp_of(0, 0), o, 0, SHARED(r, 0x800), 128, 0);
        for (uint32_t r = 0; r < 2; r++) {
            emu_hazard_mbarrier_arrive(warp_of(r, 0), 1, b[r], 0, 0, 2);
            emu_hazard_signal(h, o, b[r], 1);
        }
        for (uint32_t r = 0; r < 2; r++) {
            if (r == waits || waits == 2)
                emu_hazard_mbarrier_wait(warp_of(r, 0), ALL, b[r], 0, 1, 0, 3);
            touch(warp_of(r, 0), ALL, SHARED(r, 0x800), READ);
        }
        if (waits == 2)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

static emu_hazard_operation store(struct emu_hazard_warp *w, uint32_t lanes, uint64_t from, uint64_t to, uint32_t bytes)
{
    emu_hazard_operation o = emu_hazard_issue(w, lanes, EMU_HAZARD_BULK, next_position++);
    unsigned lane = (unsigned)__builtin_ctz(lanes);
    one_read(w, o, lane, from, bytes);
    one_write(w, o, lane, to, bytes, 0);
    emu_hazard_commit(w, lanes, EMU_HAZARD_BULK);
    return o;
}

enum {
    STORE_OK,
    NO_FENCE,
    LATE_FENCE,
    FENCE_OF_ONE,
    NO_BARRIER,
    NO_WAIT,
    WAIT_OF_ANOTHER,
    TOO_SHALLOW,
    NO_LAST_WAIT,
    STORE_CASES
};

static void test_store(void **state)
{
    (void)state;
    static const char *const names[STORE_CASES] = {NULL,
                                                   "PROXY-FENCE",
                                                   "PROXY-FENCE",
                                                   "PROXY-FENCE",
                                                   "UNORDERED-READ",
                                                   "UNORDERED-WRITE",
                                                   "UNORDERED-WRITE",
                                                   "UNORDERED-WRITE",
                                                   "EXIT-IN-FLIGHT"};
    for (int drop = 0; drop < STORE_CASES; drop++) {
        begin(1, 2);
        for (int chunk = 0; chunk < 3; chunk++) {
            uint64_t buffer = SHARED(0, 0x800 + 256 * ((unsigned)chunk & 1u));
            if (drop != NO_WAIT)
                emu_hazard_wait_group(warp_of(0, drop == WAIT_OF_ANOTHER), 1, EMU_HAZARD_BULK,
                                      drop == TOO_SHALLOW ? 2 : 1, 1);
            sync_block(0, 0, 0, 2);
            for (uint32_t i = 0; i < 2; i++) {
                if (drop == LATE_FENCE && i == 1)
                    emu_hazard_fence(warp_of(0, i), ALL, EMU_FENCE_PROXY_SHARED);
                touch(warp_of(0, i), ALL, buffer + 128 * i, WRITE);
                if (drop != NO_FENCE && !(drop == LATE_FENCE && i == 1))
                    emu_hazard_fence(warp_of(0, i), drop == FENCE_OF_ONE ? 1 : ALL, EMU_FENCE_PROXY_SHARED);
            }
            if (drop != NO_BARRIER)
                sync_block(0, 0, 0, 2);
            store(warp_of(0, 0), 1, buffer, GLOBAL + 256 * (uint64_t)chunk, 256);
        }
        if (drop != NO_LAST_WAIT)
            emu_hazard_wait_group(warp_of(0, 0), 1, EMU_HAZARD_BULK, 0, 1);
        for (uint32_t i = 0; i < 2; i++)
            emu_hazard_exit(warp_of(0, i), ALL, 9);
        if (names[drop])
            END(names[drop], drop == NO_BARRIER ? "UNORDERED-READ" : names[drop]);
        else
            CLEAN();
    }
    for (int wait = 0; wait < 3; wait++) { /* the result in global memory: wait_group, not .read */
        begin(1, 1);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        emu_hazard_fence(warp_of(0, 0), ALL, EMU_FENCE_PROXY_ASYNC);
        emu_hazard_sync(warp_of(0, 0), ALL);
        store(warp_of(0, 0), 1, SHARED(0, 0x800), GLOBAL, 128);
        if (wait)
            emu_hazard_wait_group(warp_of(0, 0), 1, EMU_HAZARD_BULK, 0, wait == 1);
        emu_hazard_sync(warp_of(0, 0), ALL);
        touch(warp_of(0, 0), ALL, GLOBAL, READ);
        if (wait == 2)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

static void test_reduce(void **state)
{
    (void)state;
    for (int reduce = 0; reduce < 2; reduce++) { /* reductions of several threads meet in one place */
        begin(1, 2);
        for (uint32_t i = 0; i < 2; i++) {
            touch(warp_of(0, i), ALL, SHARED(0, 0x800 + 128 * i), WRITE);
            emu_hazard_fence(warp_of(0, i), ALL, EMU_FENCE_PROXY_ASYNC);
            emu_hazard_sync(warp_of(0, i), ALL);
            emu_hazard_operation o = emu_hazard_issue(warp_of(0, i), 1, EMU_HAZARD_BULK, next_position++);
            one_read(warp_of(0, i), o, 0, SHARED(0, 0x800 + 128 * i), 128);
            one_write(warp_of(0, i), o, 0, GLOBAL, 128, reduce);
        }
        if (reduce)
            CLEAN();
        else
            END("UNORDERED-WRITE");
    }
}

static void test_cp_async(void **state)
{
    (void)state;
    uint64_t tile = SHARED(0, 0x800), b = SHARED(0, 0x400);
    for (int drop = 0; drop < 5; drop++) { /* 1 no wait, 2 no commit, 3 no barrier, 4 too shallow */
        begin(1, 2);
        for (uint32_t i = 0; i < 2; i++) {
            copies(warp_of(0, i), tile + 512 * i);
            if (drop != 2)
                emu_hazard_commit(warp_of(0, i), ALL, EMU_HAZARD_CP_ASYNC);
            emu_hazard_commit(warp_of(0, i), ALL, EMU_HAZARD_CP_ASYNC);
            if (drop != 1)
                emu_hazard_wait_group(warp_of(0, i), ALL, EMU_HAZARD_CP_ASYNC, drop == 4 ? 2 : drop == 2 ? 2 : 1, 0);
        }
        if (drop != 3)
            sync_block(0, 0, 0, 2);
        for (uint32_t i = 0; i < 8; i++)
            touch(warp_of(0, i & 1), ALL, tile + 128 * i, READ);
        if (drop)
            END("UNORDERED-READ");
        else
            CLEAN();
    }
    for (int wait = 0; wait < 2; wait++) { /* a part of the lanes waits */
        begin(1, 1);
        copies(warp_of(0, 0), tile);
        emu_hazard_commit(warp_of(0, 0), ALL, EMU_HAZARD_CP_ASYNC);
        emu_hazard_lanes(warp_of(0, 0), 0xffff);
        emu_hazard_wait_group(warp_of(0, 0), 0xffff, EMU_HAZARD_CP_ASYNC, 0, 0);
        touch_one(warp_of(0, 0), 0, tile + (wait ? 15u : 16u) * 16, 16, READ);
        if (wait)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
    for (int arrive = 0; arrive < 2; arrive++) { /* through an mbarrier */
        begin(1, 2);
        emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
        sync_block(0, 0, 0, 2);
        copies(warp_of(0, 0), tile);
        emu_hazard_operation o = 0;
        if (arrive)
            o = emu_hazard_cp_arrive(warp_of(0, 0), ALL, b, 7);
        else
            emu_hazard_mbarrier_arrive(warp_of(0, 0), ALL, b, 0, 1, 7);
        if (arrive)
            emu_hazard_signal(h, o, b, 1);
        emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 0, 1, 0, 8);
        touch(warp_of(0, 1), ALL, tile, READ);
        if (arrive)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
    for (int wait = 0; wait < 2; wait++) { /* end of the thread */
        begin(1, 1);
        copies(warp_of(0, 0), tile);
        if (wait)
            emu_hazard_wait_all(warp_of(0, 0), ALL, EMU_HAZARD_CP_ASYNC);
        emu_hazard_exit(warp_of(0, 0), ALL, 9);
        if (wait)
            CLEAN();
        else
            END("EXIT-IN-FLIGHT");
    }
}

static void test_exit(void **state)
{
    (void)state;
    uint64_t b = SHARED(1, 0x400);
    for (int known = 0; known < 2; known++) { /* an arrival at a peer that is not known there when it ends */
        begin(2, 1);
        init_barrier(b);
        sync_cluster(2, 1);
        emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
        if (known)
            emu_hazard_mbarrier_wait(warp_of(1, 0), ALL, b, 0, 1, 0, 3);
        emu_hazard_exit(warp_of(1, 0), ALL, 9);
        emu_hazard_exit(warp_of(0, 0), ALL, 9);
        if (known)
            CLEAN();
        else
            END("EXIT-IN-FLIGHT");
    }
    begin(2, 1); /* after its end */
    init_barrier(b);
    sync_cluster(2, 1);
    emu_hazard_exit(warp_of(1, 0), ALL, 9);
    emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
    END("EXIT-IN-FLIGHT");
    begin(2, 1); /* a copy to it */
    init_barrier(b);
    sync_cluster(2, 1);
    emu_hazard_exit(warp_of(1, 0), ALL, 9);
    load(warp_of(0, 0), SHARED(1, 0x800), 128, b);
    END("EXIT-IN-FLIGHT");
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static void test_wgmma_registers(void **state)
{
    (void)state;
    uint32_t accumulators[4] = {10, 11, 12, 13}, fragments[2] = {300, 301};
    struct emu_hazard_wgmma mma = {accumulators, 4, NULL, 0, 7}, other = {accumulators, 4, NULL, 0, 8};
    struct emu_hazard_wgmma ra = {accumulators, 4, fragments, 2, 7};
    struct emu_hazard_warp *w;
    for (int wrong = 0; wrong < 10; wrong++) {
        static const char *const names[] = {
            NULL,          "WGMMA-FENCE",   "REG-IN-FLIGHT", "REG-IN-FLIGHT", "REG-IN-FLIGHT",
            "WGMMA-FENCE", "REG-IN-FLIGHT", "WGMMA-FENCE",   "REG-IN-FLIGHT", "WGMMA-FENCE"};
        begin(1, 1);
        w = warp_of(0, 0);
        touch_register(w, 10, 1, 1);
        if (wrong != 1) /* 1: no fence at all */
            emu_hazard_wgmma_fence(w);
        emu_hazard_wgmma_issue(w, &mma, 2);
        emu_hazard_wgmma_issue(w, &mma, 3); /* same shape: no fence */
        if (wrong == 8)                     /* 8: another shape in flight */
            emu_hazard_wgmma_issue(w, &other, 3);
        if (wrong != 2) /* 2: no commit */
            emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
        if (wrong != 3)                                                     /* 3: no wait */
            emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, wrong == 4, 0); /* 4: too shallow */
        if (wrong == 9)                                                     /* 9: another shape without fence */
            emu_hazard_wgmma_issue(w, &other, 3);
        else
            touch_register(w, 12, 0, 4);
        assert_int_equal(w->watched, 1);
        if (wrong != 5) /* 5: none after the registers were read */
            emu_hazard_wgmma_fence(w);
        emu_hazard_wgmma_issue(w, wrong == 9 ? &other : &ra, 5);
        if (wrong == 6)
            touch_register(w, 301, 1, 6); /* 6: a fragment of A in flight */
        emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
        emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, 0, 0);
        touch_register(w, 301, 1, 6);
        touch_register(w, 299, 1, 6);
        if (wrong != 7) /* 7: a fragment written behind the fence */
            emu_hazard_wgmma_fence(w);
        emu_hazard_wgmma_issue(w, wrong == 9 ? &other : &ra, 7);
        emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
        emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, 0, 0);
        emu_hazard_exit(w, ALL, 9);
        if (wrong == 2) /* the first group is never waited for: its wgmmas go into the next one */
            END("REG-IN-FLIGHT");
        else if (names[wrong])
            END(names[wrong]);
        else
            CLEAN();
    }
    begin(1, 1);
    w = warp_of(0, 0);
    emu_hazard_wgmma_fence(w);
    emu_hazard_wgmma_issue(w, &mma, 2);
    emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
    emu_hazard_exit(w, ALL, 9);
    END("EXIT-IN-FLIGHT");
}

static void test_wgmma_shared(void **state)
{
    (void)state;
    uint32_t accumulators[1] = {1};
    struct emu_hazard_wgmma mma = {accumulators, 1, NULL, 0, 7};
    for (int drop = 0; drop < 5; drop++) {
        static const char *const names[] = {NULL, "PROXY-FENCE", "UNORDERED-READ", "UNORDERED-WRITE",
                                            "UNORDERED-WRITE"};
        begin(1, 5);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        if (drop != 1) /* 1: no proxy fence */
            emu_hazard_fence(warp_of(0, 0), ALL, EMU_FENCE_PROXY_ASYNC);
        if (drop != 2) /* 2: no barrier */
            sync_block(0, 0, 0, 5);
        struct emu_hazard_warp *w = warp_of(0, 4);
        emu_hazard_wgmma_fence(w);
        emu_hazard_operation o = emu_hazard_wgmma_issue(w, &mma, 2);
        one_read(w, o, 0, SHARED(0, 0x800), 128);
        if (drop != 4) /* 4: no commit */
            emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
        if (drop != 3) /* 3: no wait */
            emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, 0, 0);
        sync_block(0, 1, 0, 5);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        if (names[drop])
            END(names[drop]);
        else
            CLEAN();
    }
}

/* Of one warpgroup: what a warp does before it issues its own wgmma comes before the others' have read. */
static void test_wgmma_of_four(void **state)
{
    (void)state;
    uint32_t accumulators[1] = {1};
    struct emu_hazard_wgmma mma = {accumulators, 1, NULL, 0, 7};
    for (int drop = 0; drop < 8; drop++) {
        static const char *const names[] = {
            NULL,              /* 0: warp 3 writes when the others have issued theirs */
            NULL,              /* 1: it writes, and issues its own, before them */
            "PROXY-FENCE",     /* 2: 0 without a fence */
            "PROXY-FENCE",     /* 3: 1 without a fence */
            "UNORDERED-WRITE", /* 4: it writes again behind its own */
            "UNORDERED-READ",  /* 5: a warp of another warpgroup writes then */
            "UNORDERED-READ",  /* 6: before all of them */
            NULL,              /* 7: nothing was written before */
        };
        begin(1, 8);
        if (drop != 7)
            touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        emu_hazard_fence(warp_of(0, 0), ALL, EMU_FENCE_PROXY_ASYNC);
        sync_block(0, 0, 0, 8);
        if (drop == 6) {
            touch(warp_of(0, 7), ALL, SHARED(0, 0x800), WRITE);
            emu_hazard_fence(warp_of(0, 7), ALL, EMU_FENCE_PROXY_ASYNC);
        }
        for (unsigned i = 0; i < 4; i++) {
            unsigned late = drop == 1 || drop == 3 ? 0 : 3, warp = (i + (late ? 0 : 3)) % 4;
            struct emu_hazard_warp *w = warp_of(0, warp);
            if (i == late && drop != 5 && drop != 6) {
                touch(w, ALL, SHARED(0, 0x800), WRITE);
                if (drop != 2 && drop != 3)
                    emu_hazard_fence(w, ALL, EMU_FENCE_PROXY_ASYNC);
                emu_hazard_sync(w, ALL);
            }
            emu_hazard_wgmma_fence(w);
            emu_hazard_operation o = emu_hazard_wgmma_issue(w, &mma, 2);
            one_read(w, o, 0, SHARED(0, 0x800), 128);
        }
        if (drop == 4 || drop == 5)
            touch(warp_of(0, drop == 4 ? 3 : 7), ALL, SHARED(0, 0x800), WRITE);
        for (unsigned i = 0; i < 4; i++) {
            emu_hazard_commit(warp_of(0, i), ALL, EMU_HAZARD_WGMMA);
            emu_hazard_wait_group(warp_of(0, i), ALL, EMU_HAZARD_WGMMA, 0, 0);
        }
        sync_block(0, 1, 0, 8);
        touch(warp_of(0, 7), ALL, SHARED(0, 0x800), WRITE);
        if (names[drop])
            END(names[drop]);
        else
            CLEAN();
    }
}

/* Each warp reads rows of A of its own, which warp 3 writes for warp 0. */
static void issue_rows(unsigned warp, emu_hazard_operation *operation, struct emu_hazard_wgmma *mma)
{
    emu_hazard_wgmma_fence(warp_of(0, warp));
    *operation = emu_hazard_wgmma_issue(warp_of(0, warp), mma, 2);
    one_read(warp_of(0, warp), *operation, 0, SHARED(0, 0x800 + 128 * warp), 128);
}

static void test_wgmma_rows(void **state)
{
    (void)state;
    uint32_t accumulators[1] = {1};
    struct emu_hazard_wgmma mma = {accumulators, 1, NULL, 0, 7};
    for (int drop = 0; drop < 5; drop++) {
        static const char *const names[] = {
            NULL,             /* 0: warp 3 writes when the others have issued theirs */
            "PROXY-FENCE",    /* 1: the same without a fence */
            "UNINIT",         /* 2: nobody has written what warp 1 reads */
            "UNORDERED-READ", /* 3: it writes behind its own, in front of the others' */
            "UNORDERED-READ", /* 4: it writes between two of its own, the first of which the others have issued */
        };
        emu_hazard_operation of[4];
        begin(1, 4);
        for (unsigned i = 0; i < 4; i++)
            if (i != 1 || drop != 2)
                touch(warp_of(0, 0), ALL, SHARED(0, 0x800 + 128 * i), WRITE);
        emu_hazard_fence(warp_of(0, 0), ALL, EMU_FENCE_PROXY_ASYNC);
        sync_block(0, 0, 0, 4);
        for (unsigned i = 0; i < 4 && drop != 3; i++) {
            if (i == 3 && drop == 4)
                issue_rows(3, &of[3], &mma);
            if (i == 3 && drop != 2) {
                touch(warp_of(0, 3), ALL, SHARED(0, 0x800), WRITE);
                if (drop != 1)
                    emu_hazard_fence(warp_of(0, 3), ALL, EMU_FENCE_PROXY_ASYNC);
                emu_hazard_sync(warp_of(0, 3), ALL);
            }
            issue_rows(i, &of[i], &mma);
            if (drop == 4 && i < 3)
                issue_rows(i, &of[i], &mma);
        }
        if (drop == 3) {
            issue_rows(3, &of[3], &mma);
            touch(warp_of(0, 3), ALL, SHARED(0, 0x800), WRITE);
            emu_hazard_fence(warp_of(0, 3), ALL, EMU_FENCE_PROXY_ASYNC);
            for (unsigned i = 0; i < 3; i++)
                issue_rows(i, &of[i], &mma);
        }
        for (unsigned i = 0; i < 4; i++) /* all have issued theirs: a second look */
            if (emu_hazard_wgmma_doubtful(warp_of(0, i), of[i]))
                one_read(warp_of(0, i), of[i], 0, SHARED(0, 0x800 + 128 * i), 128);
        for (unsigned i = 0; i < 4; i++) {
            emu_hazard_commit(warp_of(0, i), ALL, EMU_HAZARD_WGMMA);
            emu_hazard_wait_group(warp_of(0, i), ALL, EMU_HAZARD_WGMMA, 0, 0);
        }
        if (names[drop])
            END(names[drop]);
        else
            CLEAN();
    }
}

/* ---- Long runs --------------------------------------------------------------------------------------------------- */

static void test_many_operations(void **state) /* the table of operations is collected, and forgets nothing */
{
    (void)state;
    uint64_t b = SHARED(0, 0x400), tile = SHARED(0, 0x800);
    begin(1, 2);
    init_barrier(b);
    sync_block(0, 0, 0, 2);
    uint64_t old = SHARED(0, 0x2000);
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b + 8, 1);
    emu_hazard_fence(warp_of(0, 0), 1, EMU_FENCE_MBARRIER_INIT);
    load(warp_of(0, 0), old, 128, b + 8); /* never waited for */
    for (unsigned i = 0; i < 200000; i++) {
        emu_hazard_operation o = load(warp_of(0, 0), tile, 16, b);
        emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
        emu_hazard_signal(h, o, b, 1);
        emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, i & 1, 1, 0, 3);
        touch_one(warp_of(0, 1), 0, tile, 16, READ);
        sync_block(0, 1, 0, 2);
        copies(warp_of(0, 0), SHARED(0, 0x4000));
        emu_hazard_commit(warp_of(0, 0), ALL, EMU_HAZARD_CP_ASYNC);
        emu_hazard_wait_group(warp_of(0, 0), ALL, EMU_HAZARD_CP_ASYNC, 0, 0);
        if (i % 1000 == 0) {
            store(warp_of(0, 1), 1, tile, GLOBAL + 65536, 16);
            emu_hazard_wait_group(warp_of(0, 1), 1, EMU_HAZARD_BULK, 0, 1);
            emu_hazard_bar_arrive(warp_of(0, 1), ALL, 2, 64, 0, 4);
            emu_hazard_bar_arrive(warp_of(0, 0), ALL, 2, 64, 1, 4);
            emu_hazard_bar_complete(cluster, 0, 2);
        }
    }
    const struct emu_hazard_report *r; /* stores of one place, not waited for: nothing else */
    for (size_t i = 0; (r = emu_hazard_report_at(h, i)); i++)
        assert_int_equal(r->name, EMU_HAZARD_UNORDERED_WRITE);
    touch(warp_of(0, 1), ALL, old, READ);
    END("UNORDERED-READ", "UNORDERED-WRITE");
}

/* ---- Chunks alike ------------------------------------------------------------------------------------------------ */

/* Some of the 64 chunks behind `from`: ranges of one to sixteen, or each chunk by itself. */
static uint32_t draw_ranges(uint32_t *random, uint64_t from, int apart, struct emu_hazard_range *ranges)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < 64;) {
        *random = *random * 1664525 + 1013904223;
        uint32_t chunks = 1 + (*random >> 28), gap = (*random >> 24 & 15) < 4 ? 1 + (*random >> 20 & 7) : 0;
        chunks = chunks < 64 - at ? chunks : 64 - at;
        if (!apart)
            ranges[count++] = (struct emu_hazard_range){from + 16 * at, 16 * chunks};
        for (uint32_t i = 0; i < chunks && apart; i++)
            ranges[count++] = (struct emu_hazard_range){from + 16 * (at + i), 16};
        at += chunks + gap;
    }
    return count;
}

static void tell(struct emu_hazard_warp *w, emu_hazard_operation o, uint32_t *random, uint64_t from, int apart,
                 int write)
{
    struct emu_hazard_range ranges[64];
    uint32_t count = draw_ranges(random, from, apart, ranges);
    for (uint32_t i = 0; i < count; i += apart ? 1 : count)
        if (write)
            emu_hazard_writes(w, o, 0, ranges + i, apart ? 1 : count, write > 1);
        else
            emu_hazard_reads(w, o, 0, ranges + i, apart ? 1 : count);
}

/* Operations on few bytes by four warps, ordered now and then. */
static void tell_many(uint32_t random, int apart, int strict)
{
    const uint64_t b = SHARED(0, 0x400), tile = SHARED(0, 0x1000);
    uint32_t loads = 0;
    begin_with((struct emu_hazard_options){.blocks = 1, .threads = 128, .strict = strict});
    init_barrier(b);
    sync_block(0, 1, 0, 4);
    for (int i = 0; i < 400; i++) {
        random = random * 1664525 + 1013904223;
        struct emu_hazard_warp *w = warp_of(0, random >> 30);
        uint32_t what = random >> 24 & 15, more = random >> 16;
        if (what < 4) {
            emu_hazard_operation o = emu_hazard_issue(warp_of(0, 0), 1, EMU_HAZARD_SIGNAL, next_position++);
            emu_hazard_signals(warp_of(0, 0), o, b);
            tell(warp_of(0, 0), o, &random, GLOBAL, apart, 0);
            tell(warp_of(0, 0), o, &random, tile, apart, 1 + (what == 0));
            emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 0, 2);
            emu_hazard_signal(h, o, b, 1);
            for (uint32_t each = 0; each < 4; each++)
                if (more >> each & 3)
                    emu_hazard_mbarrier_wait(warp_of(0, each), ALL, b, loads & 1, 1, 0, 3);
            loads++;
        } else if (what < 8) {
            struct emu_hazard_wgmma none = {.shape = 1};
            emu_hazard_wgmma_fence(w);
            emu_hazard_operation o = emu_hazard_wgmma_issue(w, &none, next_position++);
            tell(w, o, &random, tile, apart, 0);
            emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
            if (more & 1)
                emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, more >> 1 & 1, 0);
        } else if (what < 10) {
            emu_hazard_operation o = emu_hazard_issue(w, 1, EMU_HAZARD_BULK, next_position++);
            tell(w, o, &random, tile, apart, 0);
            tell(w, o, &random, GLOBAL + 4096, apart, 1 + (int)(more & 1));
            emu_hazard_commit(w, 1, EMU_HAZARD_BULK);
            if (more & 2)
                emu_hazard_wait_group(w, 1, EMU_HAZARD_BULK, 0, (int)(more >> 2 & 1));
        } else if (what < 13) {
            touch(w, more & 1 ? ALL : more | 1, tile + 16 * (more % 56), what == 10 ? WRITE : READ);
        } else if (what < 14) {
            emu_hazard_fence(w, ALL, EMU_FENCE_PROXY_ASYNC);
        } else {
            sync_block(0, 1, 0, 4);
        }
    }
}

/* Ranges that are told together, of which chunks alike are answered once, give the reports that each chunk by itself
   gives. */
static void test_alike(void **state)
{
    (void)state;
    size_t told = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct emu_hazard_report *reports[2] = {NULL, NULL};
        size_t count[2] = {0, 0};
        for (int apart = 0; apart < 2; apart++) {
            tell_many(seed * 2654435761u, apart, (int)(seed & 1));
            for (const struct emu_hazard_report *r; (r = emu_hazard_report_at(h, count[apart]));) {
                reports[apart] = realloc(reports[apart], (count[apart] + 1) * sizeof *r);
                assert_non_null(reports[apart]);
                reports[apart][count[apart]++] = *r;
            }
            assert_int_equal(emu_hazard_status(h), TW_OK);
            emu_hazard_cluster_end(cluster);
            emu_hazard_close(h);
        }
        assert_int_equal(count[0], count[1]);
        for (size_t i = 0; i < count[0]; i++) {
            const struct emu_hazard_report *x = &reports[0][i], *y = &reports[1][i];
            assert_string_equal(x->text, y->text);
            assert_true(x->name == y->name && x->count == y->count && x->address == y->address &&
                        x->bytes == y->bytes && x->position == y->position && x->other == y->other &&
                        x->warp == y->warp && x->other_warp == y->other_warp && x->lanes == y->lanes);
        }
        told += count[0];
        free(reports[0]);
        free(reports[1]);
    }
    assert_true(told > 1000);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),         cmocka_unit_test(test_refill),
        cmocka_unit_test(test_multicast),    cmocka_unit_test(test_store),
        cmocka_unit_test(test_reduce),       cmocka_unit_test(test_cp_async),
        cmocka_unit_test(test_exit),         cmocka_unit_test(test_wgmma_registers),
        cmocka_unit_test(test_wgmma_shared), cmocka_unit_test(test_wgmma_of_four),
        cmocka_unit_test(test_wgmma_rows),   cmocka_unit_test(test_many_operations),
        cmocka_unit_test(test_alike),
    };
    struct tw_error error;
    if (tw_runtime_init(&rt, &error) != TW_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tw_runtime_close(&rt);
    return failed;
}
