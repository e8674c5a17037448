// The mbarrier word: phases, transaction bytes, faults; and a random walk against a model that counts in plain ints.
#include "emu/async/mbarrier.h"
#include "unit/check.h"

static void init_and_inval(void **state)
{
    uint64_t word = 0;
    struct emu_mbarrier b;
    struct emu_fault fault;
    (void)state;
    assert_int_equal(emu_mbarrier_init(&word, 0, &fault), EMU_FAULT_BARRIER_COUNT);
    assert_int_equal(emu_mbarrier_init(&word, 1 << 20, NULL), EMU_FAULT_BARRIER_COUNT);
    assert_int_equal(emu_mbarrier_init(&word, (1 << 20) - 1, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_mbarrier_decode(word, &b, NULL), EMU_FAULT_NONE);
    assert_int_equal(b.pending, (1 << 20) - 1);
    assert_int_equal(b.expected, (1 << 20) - 1);
    assert_int_equal(b.tx, 0);
    assert_int_equal(b.parity, 0);
    assert_int_equal(emu_mbarrier_inval(&word, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_mbarrier_inval(&word, &fault), EMU_FAULT_BARRIER_INIT);
    assert_string_equal(emu_fault_name(fault.kind), "BARRIER-INIT");
    // Poison, zeros and data are no barrier.
    const uint64_t junk[] = {0, UINT64_MAX, UINT64_C(0xcdcdcdcdcdcdcdcd), UINT64_C(0x3f803f803f803f80),
                             UINT64_C(0x7ff8000000000000)};
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        word = junk[i];
        assert_int_equal(emu_mbarrier_arrive(&word, 1, 0, 0, NULL, NULL, NULL), EMU_FAULT_BARRIER_INIT);
        assert_int_equal(emu_mbarrier_complete_tx(&word, 16, NULL, NULL), EMU_FAULT_BARRIER_INIT);
        assert_true(word == junk[i]);
    }
}

static void phases(void **state)
{
    uint64_t word = 0, token = 0;
    uint32_t count = 0;
    int done = -1, completed = -1;
    (void)state;
    emu_mbarrier_init(&word, 2, NULL);
    // The phase before the first is complete, the first is not.
    assert_int_equal(emu_mbarrier_test_parity(word, 1, &done, NULL), 0);
    assert_int_equal(done, 1);
    emu_mbarrier_test_parity(word, 0, &done, NULL);
    assert_int_equal(done, 0);
    assert_int_equal(emu_mbarrier_arrive(&word, 1, 0, 0, &token, &completed, NULL), 0);
    assert_int_equal(completed, 0);
    assert_int_equal(emu_mbarrier_pending_count(token, &count, NULL), 0);
    assert_int_equal(count, 2);
    emu_mbarrier_test(word, token, &done, NULL);
    assert_int_equal(done, 0);
    uint64_t before = word;
    assert_int_equal(emu_mbarrier_arrive(&word, 1, 0, EMU_MBARRIER_NO_COMPLETE, NULL, NULL, NULL), EMU_FAULT_PHASE);
    assert_true(word == before);
    assert_int_equal(emu_mbarrier_arrive(&word, 2, 0, 0, NULL, NULL, NULL), EMU_FAULT_BARRIER_COUNT);
    assert_int_equal(emu_mbarrier_arrive(&word, 0, 0, 0, NULL, NULL, NULL), EMU_FAULT_BARRIER_COUNT);
    assert_int_equal(emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL), 0);
    assert_int_equal(completed, 1);
    emu_mbarrier_test(word, token, &done, NULL);
    assert_int_equal(done, 1);
    emu_mbarrier_test_parity(word, 0, &done, NULL);
    assert_int_equal(done, 1);
    // arrive_drop: one arrival fewer from the next phase on.
    emu_mbarrier_arrive(&word, 1, 0, EMU_MBARRIER_DROP, NULL, NULL, NULL);
    emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL);
    assert_int_equal(completed, 1);
    emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL);
    assert_int_equal(completed, 1);
    // cp.async.mbarrier.arrive: one more in this phase alone.
    assert_int_equal(emu_mbarrier_increment(&word, NULL), 0);
    emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL);
    assert_int_equal(completed, 0);
    emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL);
    assert_int_equal(completed, 1);
}

static void transaction_bytes(void **state)
{
    uint64_t word = 0;
    int completed;
    (void)state;
    // Bytes that come before they are expected.
    emu_mbarrier_init(&word, 1, NULL);
    assert_int_equal(emu_mbarrier_complete_tx(&word, 64, &completed, NULL), EMU_FAULT_NONE);
    assert_int_equal(completed, 0);
    assert_int_equal(emu_mbarrier_arrive(&word, 1, 128, 0, NULL, &completed, NULL), EMU_FAULT_NONE);
    assert_int_equal(completed, 0);
    assert_int_equal(emu_mbarrier_complete_tx(&word, 64, &completed, NULL), EMU_FAULT_NONE);
    assert_int_equal(completed, 1);
    // Too many: after the last arrival nobody can expect them.
    emu_mbarrier_arrive(&word, 1, 32, 0, NULL, &completed, NULL);
    assert_int_equal(emu_mbarrier_complete_tx(&word, 48, &completed, NULL), EMU_FAULT_TX_BYTES);
    assert_int_equal(completed, 0);
    // The range.
    emu_mbarrier_init(&word, 2, NULL);
    assert_int_equal(emu_mbarrier_expect_tx(&word, (1 << 20) - 1, NULL, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_mbarrier_expect_tx(&word, 1, NULL, NULL), EMU_FAULT_TX_BYTES);
    assert_int_equal(emu_mbarrier_arrive(&word, 1, 1, 0, NULL, NULL, NULL), EMU_FAULT_TX_BYTES);
    assert_int_equal(emu_mbarrier_complete_tx(&word, (1 << 20) - 1, NULL, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_mbarrier_complete_tx(&word, (1 << 20) - 1, NULL, NULL), EMU_FAULT_NONE);
    assert_int_equal(emu_mbarrier_complete_tx(&word, 1, NULL, NULL), EMU_FAULT_TX_BYTES);
    // expect_tx alone can end a phase, when the bytes came first.
    emu_mbarrier_init(&word, 1, NULL);
    emu_mbarrier_complete_tx(&word, 16, NULL, NULL);
    emu_mbarrier_arrive(&word, 1, 0, 0, NULL, &completed, NULL);
    assert_int_equal(completed, 0);
    emu_mbarrier_expect_tx(&word, 16, &completed, NULL);
    assert_int_equal(completed, 1);
}

static void against_a_model(void **state)
{
    uint64_t random = 88172645463325252u;
    (void)state;
    for (int round = 0; round < 200; round++) {
        int64_t expected = 1 + (int64_t)(random % 5), pending = expected, tx = 0;
        unsigned parity = 0;
        uint64_t word = 0;
        emu_mbarrier_init(&word, (uint32_t)expected, NULL);
        for (int step = 0; step < 200; step++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            uint32_t bytes = (uint32_t)(random >> 20 & 7) * 16;
            int what = (int)(random >> 40 & 3), completed = 0;
            enum emu_fault_kind kind;
            if (what == 0) {
                kind = emu_mbarrier_arrive(&word, 1, bytes, 0, NULL, &completed, NULL);
                if (pending == 0) {
                    assert_int_equal(kind, EMU_FAULT_BARRIER_COUNT);
                    continue;
                }
                pending--;
                tx += bytes;
            } else if (what == 1) {
                kind = emu_mbarrier_expect_tx(&word, bytes, &completed, NULL);
                tx += bytes;
            } else {
                kind = emu_mbarrier_complete_tx(&word, bytes, &completed, NULL);
                tx -= bytes;
                if (kind == EMU_FAULT_TX_BYTES) {
                    assert_true(pending == 0 && tx < 0);
                    kind = EMU_FAULT_NONE;
                }
            }
            assert_int_equal(kind, EMU_FAULT_NONE);
            int ended = pending == 0 && tx == 0;
            assert_int_equal(completed, ended);
            if (ended) {
                pending = expected;
                parity ^= 1;
            }
            struct emu_mbarrier b;
            assert_int_equal(emu_mbarrier_decode(word, &b, NULL), EMU_FAULT_NONE);
            assert_int_equal(b.pending, pending);
            assert_int_equal(b.tx, tx);
            assert_int_equal(b.parity, parity);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_and_inval),
        cmocka_unit_test(phases),
        cmocka_unit_test(transaction_bytes),
        cmocka_unit_test(against_a_model),
    };
    return cmocka_run_group_tests_name("mbarrier", tests, NULL, NULL);
}
