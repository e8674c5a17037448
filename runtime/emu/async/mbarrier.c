// The mbarrier object; mbarrier.h draws the word.
#include "mbarrier.h"

#include "emu/barrier_word.h"

enum {
    FIELD = EMU_BARRIER_EXPECTED_AT,
    TX_AT = EMU_BARRIER_TX_AT,
    TX_BITS = EMU_BARRIER_TX_BITS,
    PARITY_AT = EMU_BARRIER_PARITY_AT,
    SIGN_AT = EMU_BARRIER_SIGN_AT,
    SIGN = EMU_BARRIER_SIGN
};

static uint64_t encode(const struct emu_mbarrier *b)
{
    uint64_t tx = (uint64_t)(int64_t)b->tx & ((UINT64_C(1) << TX_BITS) - 1);
    return (uint64_t)SIGN << SIGN_AT | tx << TX_AT | (uint64_t)b->parity << PARITY_AT | (uint64_t)b->expected << FIELD |
           b->pending;
}

enum emu_fault_kind emu_mbarrier_decode(uint64_t word, struct emu_mbarrier *barrier, struct emu_fault *fault)
{
    struct emu_mbarrier *b = barrier;
    int32_t tx = (int32_t)(word >> TX_AT & ((1u << TX_BITS) - 1));
    b->pending = (uint32_t)word & EMU_MBARRIER_COUNT_MOST;
    b->expected = (uint32_t)(word >> FIELD) & EMU_MBARRIER_COUNT_MOST;
    b->parity = (unsigned)(word >> PARITY_AT) & 1;
    b->tx = tx >> (TX_BITS - 1) ? tx - (1 << TX_BITS) : tx;
    // Nothing is pending without transaction bytes: such a phase would have completed.
    int broken = word >> SIGN_AT != SIGN || b->tx < -EMU_MBARRIER_COUNT_MOST || (b->pending == 0 && b->tx == 0);
    if (broken)
        return emu_fail(fault, EMU_FAULT_BARRIER_INIT, 0,
                        "no mbarrier was initialised here, or something was written over it (it holds 0x%016llx)",
                        (unsigned long long)word);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_init(uint64_t *word, uint32_t count, struct emu_fault *fault)
{
    if (count < 1 || count > EMU_MBARRIER_COUNT_MOST)
        return emu_fail(fault, EMU_FAULT_BARRIER_COUNT, 0, "mbarrier.init with count %u, a barrier takes 1 to %d",
                        count, EMU_MBARRIER_COUNT_MOST);
    struct emu_mbarrier b = {.pending = count, .expected = count};
    *word = encode(&b);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_inval(uint64_t *word, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(*word, &b, fault);
    if (kind == EMU_FAULT_NONE)
        *word = 0;
    return kind;
}

// Ends the phase if nothing is missing.
static int settle(struct emu_mbarrier *b)
{
    if (b->pending || b->tx)
        return 0;
    b->pending = b->expected;
    b->parity ^= 1;
    return 1;
}

static enum emu_fault_kind tx_range(const struct emu_mbarrier *b, int64_t tx, struct emu_fault *fault)
{
    if (tx > EMU_MBARRIER_COUNT_MOST || tx < -EMU_MBARRIER_COUNT_MOST)
        return emu_fail(fault, EMU_FAULT_TX_BYTES, 0,
                        "the transaction count goes from %d to %lld bytes, a barrier counts at most %d", b->tx,
                        (long long)tx, EMU_MBARRIER_COUNT_MOST);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_arrive(uint64_t *word, uint32_t count, uint32_t tx, unsigned flags, uint64_t *state,
                                        int *completed, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(*word, &b, fault);
    if (kind != EMU_FAULT_NONE)
        return kind;
    if ((kind = tx_range(&b, (int64_t)b.tx + tx, fault)) != EMU_FAULT_NONE)
        return kind;
    if (count < 1 || count > b.pending || ((flags & EMU_MBARRIER_DROP) && count > b.expected))
        return emu_fail(fault, EMU_FAULT_BARRIER_COUNT, 0,
                        "%u arrivals where %u of %u are pending: more arrive in a phase than mbarrier.init said", count,
                        b.pending, b.expected);
    b.tx += (int32_t)tx;
    b.pending -= count;
    if (flags & EMU_MBARRIER_DROP)
        b.expected -= count;
    int ended = settle(&b);
    if (ended && (flags & EMU_MBARRIER_NO_COMPLETE))
        return emu_fail(fault, EMU_FAULT_PHASE, 0, "mbarrier.arrive.noComplete completes the phase");
    if (state)
        *state = *word;
    if (completed)
        *completed = ended;
    *word = encode(&b);
    return EMU_FAULT_NONE;
}

// Adds bytes, of either sign.
static enum emu_fault_kind add_tx(uint64_t *word, int64_t tx, int *completed, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(*word, &b, fault);
    if (completed)
        *completed = 0;
    if (kind != EMU_FAULT_NONE)
        return kind;
    if ((kind = tx_range(&b, b.tx + tx, fault)) != EMU_FAULT_NONE)
        return kind;
    b.tx += (int32_t)tx;
    int ended = settle(&b);
    if (completed)
        *completed = ended;
    *word = encode(&b);
    if (tx < 0 && b.tx < 0 && b.pending == 0)
        return emu_fail(fault, EMU_FAULT_TX_BYTES, 0,
                        "%d bytes more than expected came in this phase, and no arrival is left that could expect them",
                        -b.tx);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_expect_tx(uint64_t *word, uint32_t tx, int *completed, struct emu_fault *fault)
{
    return add_tx(word, tx, completed, fault);
}

enum emu_fault_kind emu_mbarrier_complete_tx(uint64_t *word, uint32_t tx, int *completed, struct emu_fault *fault)
{
    return add_tx(word, -(int64_t)tx, completed, fault);
}

enum emu_fault_kind emu_mbarrier_increment(uint64_t *word, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(*word, &b, fault);
    if (kind != EMU_FAULT_NONE)
        return kind;
    if (b.pending == EMU_MBARRIER_COUNT_MOST)
        return emu_fail(fault, EMU_FAULT_BARRIER_COUNT, 0, "more than %d arrivals are pending",
                        EMU_MBARRIER_COUNT_MOST);
    b.pending++;
    *word = encode(&b);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_test(uint64_t word, uint64_t state, int *done, struct emu_fault *fault)
{
    struct emu_mbarrier b, then;
    enum emu_fault_kind kind = emu_mbarrier_decode(word, &b, fault);
    if (kind != EMU_FAULT_NONE)
        return kind;
    if ((kind = emu_mbarrier_decode(state, &then, fault)) != EMU_FAULT_NONE)
        return kind;
    *done = b.parity != then.parity;
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_test_parity(uint64_t word, uint32_t parity, int *done, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(word, &b, fault);
    if (kind != EMU_FAULT_NONE)
        return kind;
    *done = b.parity != (parity & 1);
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_mbarrier_pending_count(uint64_t state, uint32_t *count, struct emu_fault *fault)
{
    struct emu_mbarrier b;
    enum emu_fault_kind kind = emu_mbarrier_decode(state, &b, fault);
    if (kind == EMU_FAULT_NONE)
        *count = b.pending;
    return kind;
}
