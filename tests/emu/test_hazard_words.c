/* How the hazard engine remembers shared memory, 16 bytes or words of them at a time, and its quick ways to it: against
   a model of a word each. */
#include "hazard_check.h"

/* Random accesses to 48 bytes of shared memory by four warps, a lane's words, twos and fours of them and runs of lanes,
   in reach of each other, and barriers of two warps: the first that nothing orders is found, and nothing before it. */
enum { WORDS_WARPS = 4, WORDS_COUNT = 12, WORDS_MOST = 144 };

struct words_model {
    uint32_t clock[WORDS_WARPS][WORDS_WARPS]; /* its own: the present epoch */
    uint32_t writer[WORDS_MOST], written[WORDS_MOST], read[WORDS_MOST][WORDS_WARPS];
};

static int words_conflict(struct words_model *m, uint32_t w, uint32_t first, uint32_t count, int writes)
{
    int found = 0;
    for (uint32_t i = first; i < first + count; i++) {
        found |= m->writer[i] != w && m->clock[w][m->writer[i]] < m->written[i];
        for (uint32_t u = 0; writes && u < WORDS_WARPS; u++)
            found |= u != w && m->clock[w][u] < m->read[i][u];
        if (!writes) {
            m->read[i][w] = m->clock[w][w];
            continue;
        }
        memset(m->read[i], 0, sizeof m->read[i]);
        m->writer[i] = w;
        m->written[i] = m->clock[w][w];
    }
    return found;
}

static void words_meet(struct words_model *m, uint32_t a, uint32_t b)
{
    for (uint32_t u = 0; u < WORDS_WARPS; u++)
        m->clock[a][u] = m->clock[b][u] = m->clock[a][u] > m->clock[b][u] ? m->clock[a][u] : m->clock[b][u];
    m->clock[a][a]++;
    m->clock[b][b]++;
    uint32_t id = a < b ? 4 * a + b : 4 * b + a; /* of these two alone */
    emu_hazard_bar_arrive(warp_of(0, a), ALL, id, 64, 1, 51);
    emu_hazard_bar_arrive(warp_of(0, b), ALL, id, 64, 1, 51);
    emu_hazard_bar_complete(cluster, 0, id);
}

static void test_words(void **state)
{
    uint32_t x = 1, found = 0, steps = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct words_model m = {.clock = {{0}}};
        begin(1, WORDS_WARPS);
        for (uint32_t i = 0; i < WORDS_WARPS; i++)
            m.clock[i][i] = 1;
        touch(warp_of(0, 0), 0xfff, SHARED(0, 0x800), WRITE);
        words_conflict(&m, 0, 0, WORDS_COUNT, 1);
        for (uint32_t i = 0; i < 2 * WORDS_WARPS; i++)
            words_meet(&m, i % WORDS_WARPS, (i + 1) % WORDS_WARPS);
        for (int step = 0, over = 0; step < 60 && !over; step++, steps++) {
            x = x * 1664525u + 1013904223u;
            uint32_t w = x >> 30, kind = x >> 26 & 15, count = 1u << (x >> 24 & 3) % 3, lane = x >> 19 & 31;
            uint32_t first = (x >> 8 & 0xff) % (WORDS_COUNT / count) * count;
            if (kind < 7) {
                words_meet(&m, w, (w + 1 + first % 3) % WORDS_WARPS);
                continue;
            }
            if (kind < 9) { /* a run of lanes, which may begin anywhere */
                count = 1 + first % 7 < WORDS_COUNT - first ? 1 + first % 7 : WORDS_COUNT - first;
                touch(warp_of(0, w), (UINT32_C(1) << count) - 1, SHARED(0, 0x800 + 4 * first), kind & 1 ? READ : WRITE);
            } else {
                touch_one(warp_of(0, w), lane, SHARED(0, 0x800 + 4 * first), 4 * count, kind == 9 ? WRITE : READ);
            }
            emu_hazard_sync(warp_of(0, w), ALL);
            over = words_conflict(&m, w, first, count, kind < 9 ? !(kind & 1) : kind == 9);
            assert_int_equal(emu_hazard_report_at(h, 0) != NULL, over);
            found += (uint32_t)over;
        }
        emu_hazard_cluster_end(cluster);
        emu_hazard_close(h);
    }
    assert_in_range(found, 10000, 19999);
    assert_true(steps > 100000);
}

/* ---- Whole warps ------------------------------------------------------------------------------------------------- */

static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 8) % below;
}

/* An access of a warp's lanes to words of 4 bytes, `words` each: lane by lane the first of them. */
struct form {
    uint32_t lanes, words, at[32];
    unsigned known; /* what an executor may say of it */
};

static struct form draw_form(void)
{
    struct form f = {.lanes = ALL, .words = 1u << draw(3)};
    uint32_t kind = draw(9), span = 32 * f.words, first = draw((WORDS_MOST - span) / f.words) * f.words;
    uint32_t other = draw((WORDS_MOST - span) / f.words) * f.words;
    if (kind == 5 && f.words == 4)
        kind = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t half = i % 16;
        f.at[i] = kind == 0   ? first + i * f.words                       /* a row */
                  : kind == 1 ? first                                     /* a place */
                  : kind == 2 ? first + half * f.words                    /* a row, by both halves */
                  : kind == 3 ? (i < 16 ? first : other)                  /* a place for each half */
                  : kind == 4 ? (i < 16 ? first : other) + half * f.words /* a row for each half */
                  : kind == 5 ? first % 16 + 2 * i * f.words              /* every other */
                              : draw(WORDS_MOST / f.words) * f.words;
    }
    if (kind == 5 && f.words == 2)
        for (uint32_t i = 0; i < 32; i++)
            f.at[i] = first % 16 + 4 * i;
    f.known = kind == 0 ? EMU_ACCESS_ROW : kind == 1 ? EMU_ACCESS_PLACE : 0;
    if (kind > 6 || (kind == 1 && draw(2))) {
        f.lanes = draw(1u << 16) << 16 | draw(1u << 16);
        f.lanes |= !f.lanes;
        f.lanes >>= draw(2) * 30;
        f.lanes |= !f.lanes;
    }
    return f;
}

/* Whether it is in conflict with what other warps did; one store's lanes are in none with each other. */
static int form_conflict(struct words_model *m, uint32_t w, const struct form *f, int writes)
{
    int found = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (f->lanes >> i & 1)
            found |= words_conflict(m, w, f->at[i], f->words, writes);
    return found;
}

static void form_tell(uint32_t w, const struct form *f, int writes)
{
    uint32_t at[32];
    for (uint32_t i = 0; i < 32; i++)
        at[i] = 4 * f->at[i];
    emu_hazard_shared(warp_of(0, w), f->lanes, at, 0x810, 4 * f->words,
                      (writes ? WRITE : READ) | EMU_ACCESS_OWN | f->known, next_position++);
}

/* Random accesses of whole warps and parts of them, in the forms that have quick ways, and barriers of two warps: the
   first that nothing orders is found, and nothing before it. */
static void test_forms(void **state)
{
    uint32_t found = 0, steps = 0;
    (void)state;
    drawn = 7;
    for (int round = 0; round < 6000; round++) {
        struct words_model m = {.clock = {{0}}};
        begin(1, WORDS_WARPS);
        for (uint32_t i = 0; i < WORDS_WARPS; i++)
            m.clock[i][i] = 1;
        for (uint32_t i = 0; i < WORDS_MOST; i += 16)
            touch(warp_of(0, 0), 0xffff, SHARED(0, 0x810 + 4 * i), WRITE);
        words_conflict(&m, 0, 0, WORDS_MOST, 1);
        for (uint32_t i = 0; i < 2 * WORDS_WARPS; i++)
            words_meet(&m, i % WORDS_WARPS, (i + 1) % WORDS_WARPS);
        for (int step = 0, over = 0, wrote = 0; step < 60 && !over; step++, steps++) {
            uint32_t w = draw(WORDS_WARPS);
            int writes = draw(3) == 0;
            if ((writes || wrote) && draw(16))
                for (uint32_t i = 0; i < 2 * WORDS_WARPS - 1; i++) /* all */
                    words_meet(&m, i % WORDS_WARPS, (i + 1) % WORDS_WARPS);
            wrote = writes;
            struct form f = draw_form();
            form_tell(w, &f, writes);
            over = form_conflict(&m, w, &f, writes);
            assert_int_equal(emu_hazard_report_at(h, 0) != NULL, over);
            emu_hazard_sync(warp_of(0, w), ALL);
            if (draw(8) == 0)
                words_meet(&m, w, (w + 1) % WORDS_WARPS);
            found += (uint32_t)over;
        }
        emu_hazard_cluster_end(cluster);
        emu_hazard_close(h);
    }
    print_message("# %u steps, %u hazards\n", steps, found);
    assert_in_range(found, 1000, 5999);
    assert_true(steps > 60000);
}

/* ---- From words to chunks and back ------------------------------------------------------------------------------- */

/* The words of 16 bytes are accessed each by a lane: so they are remembered by words from then on. */
static void by_words(uint32_t warp, uint64_t address, unsigned access)
{
    for (unsigned i = 0; i < 4; i++)
        touch_one(warp_of(0, warp), i, address + 4 * i, 4, access);
}

/* An asynchronous operation that reads 16 bytes: they are remembered as one. */
static void as_one(uint32_t warp, uint64_t address)
{
    emu_hazard_fence(warp_of(0, warp), ALL, EMU_FENCE_PROXY_ASYNC);
    emu_hazard_operation o = emu_hazard_issue(warp_of(0, warp), 1, EMU_HAZARD_BULK, next_position++);
    one_read(warp_of(0, warp), o, 0, address, 16);
    emu_hazard_commit(warp_of(0, warp), 1, EMU_HAZARD_BULK);
    emu_hazard_wait_all(warp_of(0, warp), 1, EMU_HAZARD_BULK);
    emu_hazard_sync(warp_of(0, warp), ALL);
}

/* One lane, by the way of executors. */
static void tell_one(uint32_t warp, unsigned lane, uint64_t address, uint32_t bytes, unsigned access)
{
    uint32_t at[32] = {0};
    at[lane] = (uint32_t)address;
    emu_hazard_shared(warp_of(0, warp), UINT32_C(1) << lane, at, 0, bytes, access | EMU_ACCESS_OWN, next_position++);
}

/* Four words have the records of one access to them as one record again: else the readers of all words are more than
   a list holds, and the last ones are forgotten. */
static void test_words_join(void **state)
{
    enum { WARPS = 32 };
    const uint64_t at = SHARED(0, 0x800);
    (void)state;
    for (uint32_t late = 0; late < WARPS; late++) {
        begin_with((struct emu_hazard_options){.blocks = 1, .threads = 32 * WARPS, .parts = 1});
        by_words(0, at, WRITE);
        sync_block(0, 0, 0, WARPS);
        for (uint32_t w = 0; w < WARPS; w++)
            for (unsigned lane = 3; lane < 5; lane++) /* two records of each warp, in each word */
                touch_one(warp_of(0, w), lane, at, 16, READ);
        as_one(1, at);
        for (uint32_t w = 0; w < WARPS; w++)
            if (w != late)
                emu_hazard_bar_arrive(warp_of(0, w), ALL, 1, 32 * WARPS, w == (late ? 0 : 1), 51);
        emu_hazard_bar_complete(cluster, 0, 1);
        touch_one(warp_of(0, late ? 0 : 1), 0, at + 12, 4, WRITE);
        END("UNORDERED-READ");
    }
}

/* What is told of a word is its own access, also where another word's differs in nothing but its instruction. */
static void test_words_position(void **state)
{
    const uint64_t at = SHARED(0, 0x800);
    (void)state;
    for (uint32_t word = 0; word < 4; word++) {
        begin(1, 3);
        by_words(0, at, WRITE);
        sync_block(0, 0, 0, 3);
        uint32_t first = next_position;
        for (unsigned i = 0; i < 4; i++)
            touch_one(warp_of(0, 1), 7, at + 4 * i, 4, READ);
        as_one(2, at);
        touch_one(warp_of(0, 0), 0, at + 4 * word, 4, WRITE);
        const struct emu_hazard_report *r = emu_hazard_report_at(h, 0);
        assert_non_null(r);
        assert_int_equal(r->other, first + word);
        END("UNORDERED-READ");
    }
}

/* The bytes of an mbarrier are known in each word and in all. */
static void test_words_marked(void **state)
{
    const uint64_t at = SHARED(0, 0x800);
    (void)state;
    for (uint32_t form = 0; form < 4; form++)
        for (uint32_t word = 0; word < 4; word++) {
            begin(1, 1);
            by_words(0, at, WRITE);
            emu_hazard_sync(warp_of(0, 0), ALL);
            emu_hazard_mbarrier_init(warp_of(0, 0), 1, at, 1);
            emu_hazard_sync(warp_of(0, 0), ALL);
            for (unsigned i = 2; i < 4; i++)
                touch_one(warp_of(0, 0), i, at + 4 * i, 4, WRITE);
            emu_hazard_sync(warp_of(0, 0), ALL);
            if (form & 1)
                as_one(0, at);
            if (form & 2)
                tell_one(0, 0, at + 4 * word, 4, WRITE);
            else
                touch_one(warp_of(0, 0), 0, at + 4 * word, 4, WRITE);
            if (word < 2)
                END("BARRIER-INIT");
            else
                CLEAN();
        }
}

/* A write leaves what others have read of the same 16 bytes beside it. */
static void test_reads_beside(void **state)
{
    const uint64_t at = SHARED(0, 0x800);
    (void)state;
    for (uint32_t knows = 0; knows < 2; knows++) {
        begin(1, 3);
        tell_one(0, 0, at, 16, WRITE);
        sync_block(0, 0, 0, 3);
        tell_one(1, 0, at + 8, 8, READ);
        tell_one(0, 0, at, 8, WRITE);
        if (knows)
            sync_block(0, 0, 0, 3);
        tell_one(2, 0, at + 8, 8, WRITE);
        if (knows)
            CLEAN();
        else
            END("UNORDERED-READ");
    }
}

/* Lanes of a warp that have not met, in an access whose first lanes come to what the warp knows. */
static void test_lanes_beside(void **state)
{
    (void)state;
    for (uint32_t met = 0; met < 2; met++)
        for (uint32_t writes = 0; writes < 2; writes++) {
            begin(1, 2);
            for (uint32_t i = 0; i < 4; i++)
                touch(warp_of(0, 0), ALL, SHARED(0, 0x800 + 128 * i), WRITE);
            sync_block(0, 0, 0, 2);
            struct form row = {.lanes = ALL, .words = 1, .known = EMU_ACCESS_ROW}, apart = row;
            for (uint32_t i = 0; i < 32; i++) {
                row.at[i] = 16 + i;
                apart.at[i] = i < 16 || i % 4 ? 56 + 2 * i : 17 + i;
            }
            apart.known = 0;
            form_tell(1, &row, 1);
            if (met)
                emu_hazard_sync(warp_of(0, 1), ALL);
            form_tell(1, &apart, (int)writes);
            if (met)
                CLEAN();
            else
                END(writes ? "UNORDERED-WRITE" : "UNORDERED-READ");
        }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),          cmocka_unit_test(test_forms),        cmocka_unit_test(test_words_join),
        cmocka_unit_test(test_words_position), cmocka_unit_test(test_words_marked), cmocka_unit_test(test_reads_beside),
        cmocka_unit_test(test_lanes_beside),
    };
    struct tw_error error;
    if (tw_runtime_init(&rt, &error) != TW_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tw_runtime_close(&rt);
    return failed;
}
