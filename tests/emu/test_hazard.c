/* The hazard engine on sequences of events: threads, flags and barriers, each hazard beside its clean twin; tables,
   reports, lack of memory, speed. How shared memory is remembered is in test_hazard_words.c, asynchronous operations
   are in test_hazard_async.c, a whole kernel's protocol in test_hazard_gemm.c. */
#include "hazard_check.h"

#include <time.h>

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void test_write_read(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < 2; order++) { /* whichever comes first, the name is the same */
        begin(1, 2);
        touch(warp_of(0, 1), ALL, SHARED(0, 0x800), WRITE); /* so that nothing is UNINIT */
        sync_block(0, 0, 0, 2);
        touch(warp_of(0, order), ALL, SHARED(0, 0x800), order ? READ : WRITE);
        touch(warp_of(0, !order), ALL, SHARED(0, 0x800), order ? WRITE : READ);
        END("UNORDERED-READ");
        begin(1, 2);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        sync_block(0, 0, 0, 2);
        touch(warp_of(0, 1), ALL, SHARED(0, 0x800), READ);
        sync_block(0, 0, 0, 2);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        CLEAN();
    }
}

static void test_write_write(void **state)
{
    (void)state;
    begin(1, 2);
    touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x800), WRITE);
    END("UNORDERED-WRITE");
    begin(1, 2);
    touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x800), WRITE | EMU_ACCESS_SAME);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x880), WRITE);
    CLEAN();
    begin(1, 2); /* bytes of one word */
    for (unsigned i = 0; i < 4; i++)
        touch_one(warp_of(0, i & 1), i, SHARED(0, 0x800 + i), 1, WRITE);
    emu_hazard_sync(warp_of(0, 0), ALL);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x802), 1, READ);
    CLEAN();
    begin(1, 2);
    for (unsigned i = 0; i < 4; i++)
        touch_one(warp_of(0, i & 1), i, SHARED(0, 0x800 + i), 1, WRITE);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x803), 1, READ);
    END("UNORDERED-READ");
}

static void test_many_readers(void **state)
{
    (void)state;
    for (int drop = -1; drop < 4; drop++) { /* the writer must know every reader */
        begin(1, 5);
        touch(warp_of(0, 4), ALL, SHARED(0, 0x1000), WRITE);
        sync_block(0, 0, 0, 5);
        for (uint32_t i = 0; i < 4; i++)
            touch(warp_of(0, i), ALL, SHARED(0, 0x1000), READ);
        for (uint32_t i = 0; i < 5; i++)
            if ((int)i != drop)
                emu_hazard_bar_arrive(warp_of(0, i), ALL, 1, 160, i == 4, 51);
        emu_hazard_bar_complete(cluster, 0, 1);
        touch(warp_of(0, 4), ALL, SHARED(0, 0x1000), WRITE);
        if (drop < 0)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

static void test_uninit(void **state)
{
    (void)state;
    begin(1, 1);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, READ);
    CLEAN();
    begin(1, 1);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 8, READ);
    END("UNINIT");
    struct tw_error error;
    assert_int_equal(emu_hazard_memory_open(&rt, &memory, &error), TW_OK);
    begin(1, 1);
    touch(warp_of(0, 0), ALL, GLOBAL, READ);
    END("UNINIT");
    emu_hazard_memory_written(memory, GLOBAL, 128);
    begin(1, 1);
    touch(warp_of(0, 0), ALL, GLOBAL, READ);
    touch(warp_of(0, 0), ALL, GLOBAL + 8192, WRITE);
    CLEAN();
    begin(1, 1); /* the launch before wrote it */
    touch(warp_of(0, 0), ALL, GLOBAL + 8192, READ);
    CLEAN();
    emu_hazard_memory_fresh(memory, GLOBAL, 16384);
    begin(1, 1);
    touch(warp_of(0, 0), ALL, GLOBAL + 8192, READ);
    END("UNINIT");
    emu_hazard_memory_close(memory);
    memory = NULL;
}

static void test_programmatic(void **state)
{
    (void)state;
    struct tw_error error;
    assert_int_equal(emu_hazard_memory_open(&rt, &memory, &error), TW_OK);
    struct emu_hazard_options options = {.blocks = 1, .threads = 64, .programmatic = 1};
    for (int wait = 0; wait < 2; wait++) {
        begin(1, 2);
        touch(warp_of(0, 0), ALL, GLOBAL, WRITE);
        CLEAN();
        begin_with(options);
        if (wait)
            emu_hazard_fence(warp_of(0, 0), ALL, EMU_FENCE_GRID);
        sync_block(0, 0, 0, 2);
        touch(warp_of(0, 1), ALL, GLOBAL, READ);
        if (wait)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
    emu_hazard_memory_close(memory);
    memory = NULL;
}

static void test_lanes(void **state)
{
    (void)state;
    begin(1, 1); /* two paths of a warp touch one word */
    emu_hazard_lanes(warp_of(0, 0), 1);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    emu_hazard_lanes(warp_of(0, 0), 2);
    touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
    END("UNORDERED-READ");
    begin(1, 1); /* the same lane */
    emu_hazard_lanes(warp_of(0, 0), 1);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    emu_hazard_lanes(warp_of(0, 0), ~1u);
    emu_hazard_lanes(warp_of(0, 0), 1);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, READ);
    CLEAN();
    for (int sync = 0; sync < 2; sync++) { /* all meet; or merely run together again */
        begin(1, 1);
        emu_hazard_lanes(warp_of(0, 0), 1);
        touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
        emu_hazard_lanes(warp_of(0, 0), ALL);
        if (sync)
            emu_hazard_sync(warp_of(0, 0), ALL);
        emu_hazard_lanes(warp_of(0, 0), 2);
        touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
        if (sync)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
    for (int sync = 0; sync < 2; sync++) { /* these two meet, or another two */
        begin(1, 1);
        emu_hazard_lanes(warp_of(0, 0), 1);
        touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
        emu_hazard_lanes(warp_of(0, 0), 2);
        emu_hazard_sync(warp_of(0, 0), sync ? 3 : 6);
        touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
        if (sync)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
    begin(1, 1); /* through a third lane */
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    emu_hazard_sync(warp_of(0, 0), 5);
    emu_hazard_sync(warp_of(0, 0), 6);
    touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
    CLEAN();
    begin(1, 1); /* it met that lane before the write */
    touch_one(warp_of(0, 0), 2, SHARED(0, 0x900), 4, WRITE);
    emu_hazard_sync(warp_of(0, 0), 5);
    touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
    emu_hazard_sync(warp_of(0, 0), 6);
    touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
    END("UNORDERED-READ");
    for (int wait = 0; wait < 2; wait++) { /* one has ended: the others meet without it, or at a barrier of the block */
        begin(1, 1);
        touch_one(warp_of(0, 0), 0, SHARED(0, 0x800), 4, WRITE);
        emu_hazard_exit(warp_of(0, 0), 1, 5);
        emu_hazard_sync(warp_of(0, 0), ALL);
        if (wait) {
            emu_hazard_bar_arrive(warp_of(0, 0), ALL & ~1u, 0, 32, 1, 7);
            emu_hazard_bar_complete(cluster, 0, 0);
        }
        touch_one(warp_of(0, 0), 1, SHARED(0, 0x800), 4, READ);
        if (wait)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

/* ---- Flags in global memory -------------------------------------------------------------------------------------- */

static void flag_case(int data_release, unsigned release_scope, int acquire, int clusters, int clean)
{
    struct emu_hazard_options options = {.blocks = 1, .threads = 64};
    begin_with(options);
    struct emu_hazard_cluster *other = clusters ? emu_hazard_cluster_begin(h, 1) : NULL;
    struct emu_hazard_warp *w = warp_of(0, 0), *r = clusters ? emu_hazard_warp(other, 0, 0) : warp_of(0, 1);
    unsigned gpu = EMU_ACCESS_GPU | STRONG;
    touch(w, ALL, GLOBAL, WRITE);
    emu_hazard_sync(w, ALL);
    if (data_release == 1) /* st.release */
        touch_one(w, 0, GLOBAL + 4096, 4, WRITE | STRONG | release_scope | EMU_ACCESS_RELEASE);
    else if (data_release == 2) { /* fence, then a relaxed store */
        emu_hazard_fence(w, ALL, release_scope == EMU_ACCESS_GPU ? EMU_FENCE_GPU : EMU_FENCE_CTA);
        touch_one(w, 0, GLOBAL + 4096, 4, WRITE | gpu);
    } else {
        touch_one(w, 0, GLOBAL + 4096, 4, WRITE | gpu);
    }
    if (acquire == 1) {
        touch_one(r, 0, GLOBAL + 4096, 4, READ | gpu | EMU_ACCESS_ACQUIRE);
    } else {
        touch_one(r, 0, GLOBAL + 4096, 4, READ | gpu);
        if (acquire == 2)
            emu_hazard_fence(r, ALL, EMU_FENCE_GPU);
    }
    touch(r, ALL, GLOBAL, READ);
    emu_hazard_cluster_end(other);
    if (clean)
        CLEAN();
    else
        END("UNORDERED-READ");
}

static void test_flags(void **state)
{
    (void)state;
    for (int clusters = 0; clusters < 2; clusters++)
        for (int release = 0; release < 3; release++)
            for (int acquire = 0; acquire < 3; acquire++)
                flag_case(release, EMU_ACCESS_GPU, acquire, clusters, release && acquire);
    flag_case(1, EMU_ACCESS_CTA, 1, 0, 1); /* the scope must hold both */
    flag_case(2, EMU_ACCESS_CTA, 1, 0, 1);
    flag_case(2, EMU_ACCESS_CTA, 1, 1, 0);
}

static void test_last_block(void **state) /* __threadfence, atomicInc; the last one reads what all wrote */
{
    (void)state;
    enum { NONE, FIRST, BOTH, VOLATILE }; /* fences: before the count; behind it, too; before it, and volatile reads */
    for (int fence = NONE; fence <= VOLATILE; fence++) {
        begin_with((struct emu_hazard_options){.blocks = 1, .threads = 64});
        struct emu_hazard_cluster *c = NULL;
        for (uint32_t i = 0; i < 300; i++) { /* more blocks than are known one by one */
            c = i ? emu_hazard_cluster_begin(h, i) : cluster;
            touch_one(emu_hazard_warp(c, 0, 0), 0, GLOBAL + 4 * i, 4, WRITE);
            touch_one(emu_hazard_warp(c, 0, 1), 0, GLOBAL + 2048 + 4 * i, 4, WRITE);
            for (uint32_t k = 0; k < 2; k++) { /* each thread fences, then they meet and one counts */
                if (fence)
                    emu_hazard_fence(emu_hazard_warp(c, 0, k), ALL, EMU_FENCE_GPU);
                emu_hazard_bar_arrive(emu_hazard_warp(c, 0, k), ALL, 0, 64, 1, 50);
            }
            emu_hazard_bar_complete(c, 0, 0);
            touch_one(emu_hazard_warp(c, 0, 0), 0, GLOBAL + 65536, 4, ATOMIC | EMU_ACCESS_GPU);
            if (i && i < 299)
                emu_hazard_cluster_end(c);
        }
        if (fence == BOTH)
            emu_hazard_fence(emu_hazard_warp(c, 0, 0), ALL, EMU_FENCE_GPU);
        unsigned read = READ | (fence == VOLATILE ? STRONG | EMU_ACCESS_VOLATILE | EMU_ACCESS_GPU : 0);
        for (uint32_t i = 0; i < 300; i++) {
            touch_one(emu_hazard_warp(c, 0, 0), 0, GLOBAL + 4 * i, 4, read);
            touch_one(emu_hazard_warp(c, 0, 0), 0, GLOBAL + 2048 + 4 * i, 4, read);
        }
        emu_hazard_cluster_end(c);
        if (fence >= BOTH)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

static void test_atomics(void **state)
{
    (void)state;
    begin(1, 2);
    for (int i = 0; i < 4; i++)
        touch(warp_of(0, i & 1), ALL, SHARED(0, 0x800), i < 2 ? WRITE | STRONG : ATOMIC);
    CLEAN();
    begin(1, 2);
    touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x800), ATOMIC);
    END("UNORDERED-WRITE");
    begin(1, 2);
    touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
    sync_block(0, 0, 0, 2);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x800), ATOMIC);
    touch(warp_of(0, 0), ALL, SHARED(0, 0x800), READ);
    END("UNORDERED-READ");
    for (int gpu = 0; gpu < 2; gpu++) { /* the scope must hold both blocks */
        begin(1, 1);
        struct emu_hazard_cluster *other = emu_hazard_cluster_begin(h, 1);
        touch(warp_of(0, 0), ALL, GLOBAL, ATOMIC | (gpu ? EMU_ACCESS_GPU : EMU_ACCESS_CTA));
        touch(emu_hazard_warp(other, 0, 0), ALL, GLOBAL, ATOMIC | (gpu ? EMU_ACCESS_GPU : EMU_ACCESS_CTA));
        emu_hazard_cluster_end(other);
        if (gpu)
            CLEAN();
        else
            END("UNORDERED-WRITE");
    }
}

/* ---- Barriers ---------------------------------------------------------------------------------------------------- */

static void test_named_barriers(void **state)
{
    (void)state;
    begin(1, 4); /* each half has its barrier */
    for (int i = 0; i < 3; i++) {
        sync_block(0, 1, 0, 2);
        sync_block(0, 2, 2, 2);
    }
    CLEAN();
    begin(1, 4); /* 64 of 128: two meet, then the other two */
    for (int i = 0; i < 2; i++) {
        sync_block(0, 1, 0, 2);
        sync_block(0, 1, 2, 2);
    }
    END("BARRIER-COUNT");
    begin(1, 2);
    emu_hazard_bar_arrive(warp_of(0, 0), ALL, 1, 64, 1, 50);
    emu_hazard_bar_arrive(warp_of(0, 1), ALL, 1, 96, 1, 51);
    END("BARRIER-COUNT");
    for (int wrong = 0; wrong < 2; wrong++) { /* arrive tells, sync waits; the other way needs another barrier */
        begin(1, 2);
        touch(warp_of(0, 0), ALL, SHARED(0, 0x800), WRITE);
        emu_hazard_bar_arrive(warp_of(0, 0), ALL, 1, 64, wrong, 50);
        emu_hazard_bar_arrive(warp_of(0, 1), ALL, 1, 64, !wrong, 51);
        emu_hazard_bar_complete(cluster, 0, 1);
        touch(warp_of(0, 1), ALL, SHARED(0, 0x800), READ);
        if (wrong)
            END("UNORDERED-READ");
        else
            CLEAN();
    }
}

static void cluster_meets(int relaxed)
{
    for (uint32_t i = 0; i < 2; i++)
        emu_hazard_cluster_arrive(warp_of(i, 0), ALL, relaxed);
    for (uint32_t i = 0; i < 2; i++)
        emu_hazard_cluster_wait(warp_of(i, 0), ALL);
}

static void test_cluster_barrier(void **state)
{
    (void)state;
    begin(2, 1); /* the other block may not have begun */
    touch(warp_of(0, 0), ALL, SHARED(1, 0x800), WRITE);
    END("UNORDERED-WRITE");
    begin(2, 1); /* that it has begun, a relaxed arrival says too */
    cluster_meets(1);
    touch(warp_of(0, 0), ALL, SHARED(1, 0x800), WRITE);
    cluster_meets(0);
    CLEAN();
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        begin(2, 1);
        cluster_meets(0);
        touch(warp_of(0, 0), ALL, SHARED(1, 0x800), WRITE);
        cluster_meets(relaxed);
        touch(warp_of(1, 0), ALL, SHARED(1, 0x800), READ);
        if (relaxed)
            END("UNORDERED-READ");
        else
            CLEAN();
    }
    begin(2, 1); /* what a fast one does before its next arrival is not known to a slow one */
    for (uint32_t i = 0; i < 2; i++)
        emu_hazard_cluster_arrive(warp_of(i, 0), ALL, 0);
    emu_hazard_cluster_wait(warp_of(0, 0), ALL);
    touch(warp_of(0, 0), ALL, SHARED(1, 0x800), WRITE);
    emu_hazard_cluster_arrive(warp_of(0, 0), ALL, 0);
    emu_hazard_cluster_wait(warp_of(1, 0), ALL);
    touch(warp_of(1, 0), ALL, SHARED(1, 0x800), READ);
    END("UNORDERED-READ");
}

static void test_mbarrier_init(void **state)
{
    (void)state;
    uint64_t b = SHARED(0, 0x400);
    begin(1, 2); /* arrivals and waits of the block need no fence */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    sync_block(0, 0, 0, 2);
    emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
    emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 0, 1, 0, 3);
    CLEAN();
    begin(1, 2); /* no barrier */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    emu_hazard_mbarrier_arrive(warp_of(0, 1), 1, b, 0, 1, 2);
    END("BARRIER-INIT");
    begin(1, 2); /* no init */
    emu_hazard_mbarrier_arrive(warp_of(0, 1), 1, b, 0, 1, 2);
    END("BARRIER-INIT");
    begin(1, 2); /* after inval */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    emu_hazard_mbarrier_inval(warp_of(0, 0), 1, b, 2);
    touch_one(warp_of(0, 0), 0, b, 8, WRITE);
    emu_hazard_mbarrier_wait(warp_of(0, 0), 1, b, 0, 1, 0, 3);
    END("BARRIER-INIT");
    begin(1, 2); /* overwritten */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    sync_block(0, 0, 0, 2);
    touch_one(warp_of(0, 1), 0, b + 4, 4, WRITE);
    END("BARRIER-INIT");
    for (int fence = 0; fence < 3; fence++) /* copies need the fence, even of the thread that initialised */
        for (uint32_t user = 0; user < 2; user++) {
            begin(1, 2);
            emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
            if (fence)
                emu_hazard_fence(warp_of(0, 0), 1, fence == 1 ? EMU_FENCE_MBARRIER_INIT : EMU_FENCE_PROXY_ASYNC);
            sync_block(0, 0, 0, 2);
            emu_hazard_operation o = emu_hazard_issue(warp_of(0, user), 1, EMU_HAZARD_SIGNAL, 2);
            emu_hazard_signals(warp_of(0, user), o, b);
            emu_hazard_mbarrier_arrive(warp_of(0, user), 1, b, 0, 0, 3);
            emu_hazard_signal(h, o, b, 1);
            emu_hazard_mbarrier_wait(warp_of(0, 1), 1, b, 0, 1, 0, 4);
            if (fence)
                CLEAN();
            else
                END("BARRIER-INIT");
        }
    for (int fence = 0; fence < 2; fence++) /* so do peers */
        for (int meet = 0; meet < 2; meet++) {
            begin(2, 1);
            emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
            if (fence)
                emu_hazard_fence(warp_of(0, 0), 1, EMU_FENCE_MBARRIER_INIT);
            if (meet)
                sync_cluster(2, 1);
            emu_hazard_mbarrier_arrive(warp_of(1, 0), 1, b, 0, 1, 2);
            if (fence && meet)
                CLEAN();
            else
                END("BARRIER-INIT");
        }
}

static void test_relaxed_meeting(void **state)
{
    (void)state;
    const uint64_t b = SHARED(0, 0x100);
    for (int fence = 0; fence < 3; fence++) /* a relaxed arrival brings what the fence of initialisations released */
        for (uint32_t user = 0; user < 2; user++) {
            begin(2, 1);
            emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
            if (fence)
                emu_hazard_fence(warp_of(0, 0), 1, fence == 1 ? EMU_FENCE_MBARRIER_INIT : EMU_FENCE_PROXY_ASYNC);
            cluster_meets(1);
            emu_hazard_mbarrier_arrive(warp_of(user, 0), 1, b, 0, user == 1, 2);
            if (fence == 1 || user == 0)
                CLEAN();
            else
                END("BARRIER-INIT");
        }
    begin(2, 1); /* and not what stands behind the fence */
    emu_hazard_fence(warp_of(0, 0), 1, EMU_FENCE_MBARRIER_INIT);
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    cluster_meets(1);
    emu_hazard_mbarrier_arrive(warp_of(1, 0), 1, b, 0, 1, 2);
    END("BARRIER-INIT");
    begin(2, 2); /* nor to who did not wait */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    emu_hazard_fence(warp_of(0, 0), 1, EMU_FENCE_MBARRIER_INIT);
    cluster_meets(1);
    emu_hazard_mbarrier_arrive(warp_of(1, 1), 1, b, 0, 1, 2);
    END("BARRIER-INIT");
}

static void test_phase(void **state)
{
    (void)state;
    uint64_t b = SHARED(0, 0x400);
    for (int wrong = 0; wrong < 2; wrong++) {
        begin(1, 2);
        emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
        sync_block(0, 0, 0, 2);
        for (unsigned i = 0; i < 4; i++) {
            emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
            emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, i & 1, 1, 0, 3);
            if (!wrong)
                sync_block(0, 1, 0, 2);
        }
        if (wrong)
            END("PHASE");
        else
            CLEAN();
    }
    for (unsigned parity = 0; parity < 2; parity++) { /* stuck: for the phase to come, or past one that it never saw */
        begin(1, 2);
        emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
        sync_block(0, 0, 0, 2);
        emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
        if (!parity)
            emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 0, 1, 0, 3);
        emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 1, 0, 0, 3);
        emu_hazard_stuck(h);
        if (parity)
            END("PHASE");
        else
            CLEAN();
    }
    begin(1, 2); /* it polls in vain */
    emu_hazard_mbarrier_init(warp_of(0, 0), 1, b, 1);
    sync_block(0, 0, 0, 2);
    emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, b, 0, 0, 0, 3);
    emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
    emu_hazard_mbarrier_arrive(warp_of(0, 0), 1, b, 0, 1, 2);
    END("PHASE");
}

/* ---- Tables, reports --------------------------------------------------------------------------------------------- */

static void test_tables(void **state)
{
    (void)state;
    size_t edges;
    const struct emu_hazard_edge *edge = emu_hazard_edges(&edges);
    assert_true(edges >= 12);
    for (size_t i = 0; i < edges; i++)
        assert_true(strlen(edge[i].name) > 2 && strlen(edge[i].text) > 20);
    assert_int_equal(EMU_HAZARD_COUNT, 20);
    for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++) {
        const struct emu_hazard_info *info = emu_hazard_info((enum emu_hazard_name)i);
        assert_int_equal(emu_hazard_find(info->name), i);
        assert_true(strlen(info->what) > 40 && strlen(info->todo) > 40);
    }
    assert_int_equal(emu_hazard_find("NONE"), EMU_HAZARD_COUNT);
    assert_null(emu_hazard_info(EMU_HAZARD_COUNT));
}

static unsigned reported;

static void count_report(void *context, struct emu_hazard_report *report)
{
    assert_ptr_equal(context, &reported);
    assert_int_equal(report->count, 1);
    reported++;
}

static void test_reports(void **state)
{
    (void)state;
    reported = 0;
    begin_with((struct emu_hazard_options){.blocks = 1, .threads = 33, .report = count_report, .context = &reported});
    for (uint32_t i = 0; i < 1000; i++)
        emu_hazard_found(h, warp_of(0, 1), EMU_HAZARD_BOUNDS, 1, 0x1234, i % 100, "case %u", i);
    emu_hazard_found(h, NULL, EMU_HAZARD_DEADLOCK, 0, 0, EMU_HAZARD_NOWHERE, "nobody runs");
    assert_int_equal(reported, 101);
    const struct emu_hazard_report *r = emu_hazard_report_at(h, 7);
    assert_int_equal(r->count, 10);
    assert_int_equal(r->position, 7);
    assert_int_equal(r->address, 0x1234);
    assert_int_equal(r->warp, 1);
    assert_string_equal(r->text, "case 7");
    assert_null(emu_hazard_report_at(h, 101));
    END("BOUNDS", "DEADLOCK");
    begin(1, 2);
    touch(warp_of(0, 0), 0xff00, SHARED(0, 0x800), WRITE);
    touch(warp_of(0, 1), ALL, SHARED(0, 0x800 + 48), READ);
    r = emu_hazard_report_at(h, 0);
    while (r->name != EMU_HAZARD_UNORDERED_READ)
        r++;
    assert_int_equal(r->position, 101);
    assert_int_equal(r->other, 100);
    assert_int_equal(r->other_warp, 0);
    assert_int_equal(r->address, SHARED(0, 0x830));
    assert_int_equal(r->lanes, 0xf);
    assert_int_equal(r->bytes, 16);
    END("UNORDERED-READ", "UNINIT");
}

/* ---- Long runs and memory ---------------------------------------------------------------------------------------- */

/* ---- Memory and speed -------------------------------------------------------------------------------------------- */

static void *failing_alloc(void *self, size_t bytes)
{
    long *left = self;
    return (*left)-- > 0 ? malloc(bytes) : NULL;
}
static void *failing_realloc(void *self, void *old, size_t bytes)
{
    long *left = self;
    return (*left)-- > 0 ? realloc(old, bytes) : NULL;
}
static void failing_free(void *self, void *pointer)
{
    (void)self;
    free(pointer);
}

static void test_no_memory(void **state) /* every allocation fails once */
{
    (void)state;
    struct tw_runtime saved = rt;
    long left;
    rt.memory = (struct tw_memory){&left, failing_alloc, failing_realloc, failing_free};
    struct emu_hazard_options options = {.blocks = 2, .threads = 64};
    struct tw_error error;
    for (long limit = 0;; limit++) {
        assert_true(limit < 1000);
        left = limit;
        if (emu_hazard_open(&rt, &options, &h, &error) != TW_OK)
            continue;
        cluster = emu_hazard_cluster_begin(h, 0);
        if (cluster) {
            uint32_t accumulators[1] = {1};
            struct emu_hazard_wgmma mma = {accumulators, 1, NULL, 0, 7};
            next_position = 0;
            for (uint32_t i = 0; i < 40; i++)
                init_barrier(SHARED(0, 0x400 + 8 * i));
            sync_cluster(2, 2);
            emu_hazard_operation o = load(warp_of(0, 0), SHARED(0, 0x1000), 128, SHARED(0, 0x400));
            emu_hazard_signal(h, o, SHARED(0, 0x400), 1);
            emu_hazard_mbarrier_wait(warp_of(0, 1), ALL, SHARED(0, 0x400), 0, 1, 0, 3);
            touch(warp_of(0, 1), ALL, SHARED(1, 0x1000), READ);
            touch(warp_of(0, 1), ALL, GLOBAL, WRITE);
            copies(warp_of(0, 0), SHARED(0, 0x3000));
            sync_block(0, 1, 0, 2);
            emu_hazard_wgmma_fence(warp_of(1, 0));
            emu_hazard_wgmma_issue(warp_of(1, 0), &mma, 4);
            emu_hazard_fence(warp_of(1, 0), ALL, EMU_FENCE_GPU);
            touch_one(warp_of(1, 0), 0, GLOBAL + 4096, 4, ATOMIC | EMU_ACCESS_GPU);
            touch_one(warp_of(1, 1), 0, GLOBAL + 4096, 4, READ | STRONG | EMU_ACCESS_GPU);
            emu_hazard_lanes(warp_of(0, 0), 1);
            emu_hazard_lanes(warp_of(0, 0), 2);
            for (uint32_t i = 0; i < 4; i++)
                emu_hazard_exit(warp_of(i / 2, i % 2), ALL, 9);
        }
        int status = emu_hazard_status(h);
        emu_hazard_close(h);
        assert_true(status == TW_OK || status == TW_ERROR_MEMORY);
        if (cluster && status == TW_OK)
            break;
    }
    rt = saved;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_speed(void **state)
{
    (void)state;
    static const char *const names[] = {"coalesced 4 bytes", "coalesced 16 bytes", "one address", "stride 132 bytes",
                                        "ldmatrix rows, new epochs"};
    for (int kind = 0; kind < 5; kind++) {
        begin(1, 8);
        uint32_t at[32], bytes = kind == 1 || kind == 4 ? 16 : 4;
        unsigned rounds = 30000;
        for (uint32_t i = 0; i < 32; i++)
            at[i] = 0x400 + (kind == 2 ? 0 : kind == 3 ? 132 * i : bytes * i);
        double start = now();
        uint64_t accesses = 0;
        for (unsigned i = 0; i < rounds; i++) {
            /* half writes, half reads; a barrier between, each warp in its own place and then in its neighbour's */
            for (uint32_t w = 0; w < 8; w++)
                for (uint32_t k = 0; k < 2; k++, accesses++)
                    emu_hazard_shared(warp_of(0, w), ALL, at, 8192 * w + 4 * k * (kind == 3), bytes, WRITE, 1);
            sync_block(0, 0, 0, 8);
            for (uint32_t w = 0; w < 8; w++)
                for (uint32_t k = 0; k < 2; k++, accesses++)
                    emu_hazard_shared(warp_of(0, w), ALL, at, 8192 * ((w + 1) % 8) + 4 * k * (kind == 3), bytes, READ,
                                      2);
            sync_block(0, 0, 0, 8);
        }
        double seconds = now() - start;
        print_message("# %-26s %6.2f million accesses of 32 lanes a second\n", names[kind],
                      1e-6 * (double)accesses / seconds);
        CLEAN();
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_read),      cmocka_unit_test(test_write_write),
        cmocka_unit_test(test_many_readers),    cmocka_unit_test(test_uninit),
        cmocka_unit_test(test_programmatic),    cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_flags),           cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_atomics),         cmocka_unit_test(test_named_barriers),
        cmocka_unit_test(test_cluster_barrier), cmocka_unit_test(test_mbarrier_init),
        cmocka_unit_test(test_relaxed_meeting), cmocka_unit_test(test_phase),
        cmocka_unit_test(test_tables),          cmocka_unit_test(test_reports),
        cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_speed),
    };
    struct tw_error error;
    if (tw_runtime_init(&rt, &error) != TW_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tw_runtime_close(&rt);
    return failed;
}
