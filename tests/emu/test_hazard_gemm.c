/* The protocol of the sm_90a GEMM as the hazard engine sees it: a cluster of two blocks, each with a producer and two
   warpgroups of consumers, a ring of stages filled by loads of which half is multicast, wgmma, and an epilogue through
   bulk stores. Every role is a list of steps; a seeded scheduler interleaves them and the signals of copies as it
   likes. The whole reports nothing, whatever the order, and neither do two other ways that are right (no name below);
   with any one synchronisation dropped the hazard of that name is
   reported, whatever the order. */
#include "hazard_check.h"

#include <stdbool.h>

enum { BLOCKS = 2, WARPS = 12, CONSUMERS = 2, STAGES = 2, STEPS = 5, TILES = 2, CHUNKS = 3, SEEDS = 40 };

/* What can be dropped, or done wrongly, and the name it must have. */
#define DROPS(DROP)                                                                                                    \
    DROP(NOTHING, NULL)                                                                                                \
    DROP(INIT_FENCE, "BARRIER-INIT")                                                                                   \
    DROP(CLUSTER_MEET, "BARRIER-INIT")                                                                                 \
    DROP(WAIT_EMPTY, "UNORDERED-WRITE")                                                                                \
    DROP(WAIT_FULL, "UNORDERED-READ")                                                                                  \
    DROP(PARITY_FULL, "PHASE")                                                                                         \
    DROP(EARLY_RELEASE, "UNORDERED-WRITE")                                                                             \
    DROP(RELEASE_BY_ONE_WARP, NULL)                                                                                    \
    DROP(WGMMA_FENCE, "WGMMA-FENCE")                                                                                   \
    DROP(WGMMA_COMMIT, "REG-IN-FLIGHT")                                                                                \
    DROP(WGMMA_WAIT_1, "UNORDERED-WRITE")                                                                              \
    DROP(WGMMA_WAIT_0, "REG-IN-FLIGHT")                                                                                \
    DROP(WGMMA_TOO_SHALLOW, "UNORDERED-WRITE")                                                                         \
    DROP(STORE_WAIT, "UNORDERED-WRITE")                                                                                \
    DROP(STORE_WAIT_TOO_SHALLOW, "UNORDERED-WRITE")                                                                    \
    DROP(BARRIER_BEFORE_WRITE, "UNORDERED-WRITE")                                                                      \
    DROP(PROXY_FENCE, "PROXY-FENCE")                                                                                   \
    DROP(PROXY_FENCE_BY_ONE_LANE, "PROXY-FENCE")                                                                       \
    DROP(PROXY_FENCE_AFTER_BARRIER, NULL)                                                                              \
    DROP(BARRIER_BEFORE_STORE, "UNORDERED-READ")                                                                       \
    DROP(STORE_LAST_WAIT, "EXIT-IN-FLIGHT")                                                                            \
    DROP(DRAIN, "EXIT-IN-FLIGHT")                                                                                      \
    DROP(NAMED_BARRIER_COUNT, "BARRIER-COUNT")                                                                         \
    DROP(PEER_EXITS_EARLY, "EXIT-IN-FLIGHT")

enum drop {
#define DROP(id, name) D_##id,
    DROPS(DROP)
#undef DROP
        DROP_COUNT
};

enum action {
    INIT, /* a barrier, b count */
    INIT_FENCE,
    CLUSTER_ARRIVE,
    CLUSTER_WAIT,
    WAIT,   /* a barrier, b parity */
    EXPECT, /* a barrier, b bytes */
    LOAD_A, /* a stage */
    LOAD_B, /* a stage */
    W_FENCE,
    WGMMA, /* a stage */
    W_COMMIT,
    W_WAIT,     /* a groups */
    RELEASE,    /* a stage */
    STORE_WAIT, /* a groups */
    BAR_ARRIVE, /* a barrier, b threads */
    BAR_WAIT,
    READ_SUM,
    WRITE_D, /* a buffer */
    P_FENCE, /* a lanes */
    STORE,   /* a buffer, b chunk in all */
    EXIT
};

struct step {
    enum action action;
    uint32_t a, b;
};

struct agent {
    struct step step[400];
    uint32_t count, at;
    uint32_t block, warp, consumer; /* consumer: 0, 1; else 2 */
    uint32_t lanes;
    uint32_t commits;    /* groups of wgmmas */
    uint32_t meets;      /* cluster barriers passed */
    uint32_t generation; /* of the named barrier at its last arrival */
};

struct object {
    uint32_t pending, expected, phase;
    int64_t bytes;
};

struct signal {
    emu_hazard_operation operation;
    uint32_t block, barrier, bytes;
};

static struct agent agents[BLOCKS * WARPS];
static struct object objects[BLOCKS][2 * STAGES]; /* full, then empty */
static struct signal signals[64];
static uint32_t signal_count, arrived, bar_count[BLOCKS][4], bar_generation[BLOCKS][4];
static uint64_t random_state;

static uint32_t dice(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

static uint64_t barrier_at(uint32_t block, uint32_t barrier)
{
    return SHARED(block, 0x400 + 8 * barrier);
}

static void add(struct agent *g, enum action action, uint32_t a, uint32_t b)
{
    assert_true(g->count < sizeof g->step / sizeof g->step[0]);
    g->step[g->count++] = (struct step){action, a, b};
}

/* ---- The roles --------------------------------------------------------------------------------------------------- */

static void meet(struct agent *g, enum drop drop)
{
    if (drop == D_CLUSTER_MEET)
        return;
    add(g, CLUSTER_ARRIVE, 0, 0);
    add(g, CLUSTER_WAIT, 0, 0);
}

static void producer(struct agent *g, enum drop drop)
{
    for (uint32_t s = 0; g->warp == 0 && s < STAGES; s++) {
        add(g, INIT, s, 1);
        add(g, INIT, STAGES + s, 4 * CONSUMERS * BLOCKS);
    }
    if (g->warp == 0 && drop != D_INIT_FENCE)
        add(g, INIT_FENCE, 0, 0);
    meet(g, drop);
    if (g->warp == 0 && !(drop == D_PEER_EXITS_EARLY && g->block == 1)) {
        uint32_t fill = 0;
        for (; fill < TILES * STEPS; fill++) {
            uint32_t s = fill % STAGES, phase = fill / STAGES & 1;
            if (drop != D_WAIT_EMPTY)
                add(g, WAIT, STAGES + s, phase ^ 1);
            add(g, EXPECT, s, 0x800);
            add(g, LOAD_A, s, 0);
            add(g, LOAD_B, s, 0);
        }
        for (uint32_t i = 0; i < STAGES && drop != D_DRAIN; i++, fill++)
            add(g, WAIT, STAGES + fill % STAGES, (fill / STAGES & 1) ^ 1);
    }
    add(g, EXIT, 0, 0);
}

static void epilogue(struct agent *g, enum drop drop, uint32_t tile)
{
    uint32_t id = 1 + g->consumer, threads = drop == D_NAMED_BARRIER_COUNT ? 64 : 128;
    for (uint32_t chunk = tile * CHUNKS; chunk < (tile + 1) * CHUNKS; chunk++) {
        if (g->warp % 4 == 0 && drop != D_STORE_WAIT)
            add(g, STORE_WAIT, drop == D_STORE_WAIT_TOO_SHALLOW ? 2 : 1, 0);
        if (drop != D_BARRIER_BEFORE_WRITE) {
            add(g, BAR_ARRIVE, id, threads);
            add(g, BAR_WAIT, id, 0);
        }
        add(g, READ_SUM, 0, 0);
        add(g, WRITE_D, chunk % 2, 0);
        if (drop != D_PROXY_FENCE && drop != D_PROXY_FENCE_AFTER_BARRIER)
            add(g, P_FENCE, drop == D_PROXY_FENCE_BY_ONE_LANE ? 1 : ALL, 0);
        if (drop != D_BARRIER_BEFORE_STORE) {
            add(g, BAR_ARRIVE, id, threads);
            add(g, BAR_WAIT, id, 0);
        }
        if (drop == D_PROXY_FENCE_AFTER_BARRIER)
            add(g, P_FENCE, ALL, 0);
        if (g->warp % 4 == 0)
            add(g, STORE, chunk % 2, chunk);
    }
}

static void consumer(struct agent *g, enum drop drop)
{
    uint32_t released = 0;
    meet(g, drop);
    for (uint32_t tile = 0; tile < TILES && !(drop == D_PEER_EXITS_EARLY && g->block == 1); tile++) {
        for (uint32_t step = 0; step < STEPS; step++) {
            uint32_t read = tile * STEPS + step, s = read % STAGES;
            if (drop != D_WAIT_FULL)
                add(g, WAIT, s, (read / STAGES & 1) ^ (drop == D_PARITY_FULL));
            if (drop != D_WGMMA_FENCE)
                add(g, W_FENCE, 0, 0);
            add(g, WGMMA, s, 0);
            add(g, WGMMA, s, 1);
            if (drop != D_WGMMA_COMMIT)
                add(g, W_COMMIT, 0, 0);
            if (drop == D_EARLY_RELEASE)
                add(g, RELEASE, released++ % STAGES, 0);
            if (drop != D_WGMMA_WAIT_1)
                add(g, W_WAIT, drop == D_WGMMA_TOO_SHALLOW ? 2 : 1, 0);
            if (step > 0 && drop != D_EARLY_RELEASE)
                add(g, RELEASE, released++ % STAGES, drop == D_RELEASE_BY_ONE_WARP);
        }
        if (drop != D_WGMMA_WAIT_0)
            add(g, W_WAIT, 0, 0);
        if (drop != D_EARLY_RELEASE)
            add(g, RELEASE, released++ % STAGES, drop == D_RELEASE_BY_ONE_WARP);
        epilogue(g, drop, tile);
    }
    if (g->warp % 4 == 0 && drop != D_STORE_LAST_WAIT)
        add(g, STORE_WAIT, 0, 0);
    add(g, EXIT, 0, 0);
}

/* ---- Execution --------------------------------------------------------------------------------------------------- */

static int object_step(struct object *o) /* 1: the phase ended */
{
    if (o->pending || o->bytes)
        return 0;
    o->pending = o->expected;
    o->phase++;
    return 1;
}

static void signal_step(uint32_t i)
{
    struct signal *s = &signals[i];
    uint32_t bytes = s->bytes > 16 && dice(2) ? s->bytes / 2 : s->bytes;
    struct object *o = &objects[s->block][s->barrier];
    o->bytes -= bytes;
    emu_hazard_signal(h, s->operation, barrier_at(s->block, s->barrier), object_step(o));
    s->bytes -= bytes;
    if (!s->bytes)
        *s = signals[--signal_count];
}

static int enabled(const struct agent *g)
{
    if (g->at == g->count)
        return 0;
    const struct step *s = &g->step[g->at];
    switch (s->action) {
    case WAIT:
        return (objects[g->block][s->a].phase & 1) != s->b;
    case CLUSTER_WAIT:
        return arrived == BLOCKS * WARPS;
    case BAR_WAIT:
        return bar_generation[g->block][s->a] != g->generation;
    case W_WAIT: /* a group is one operation of the warpgroup */
        for (uint32_t i = g->block * WARPS + g->warp / 4 * 4, end = i + 4; i < end; i++)
            if (agents[i].at < agents[i].count && agents[i].commits + s->a < g->commits)
                return 0;
        return 1;
    default:
        return 1;
    }
}

static void loads(struct agent *g, struct emu_hazard_warp *w, uint32_t stage, int multicast)
{
    emu_hazard_operation o = emu_hazard_issue(w, 1, EMU_HAZARD_SIGNAL, multicast ? LOAD_B : LOAD_A);
    for (uint32_t r = 0; r < BLOCKS; r++) {
        if (!multicast && r != g->block)
            continue;
        emu_hazard_signals(w, o, barrier_at(r, stage));
        signals[signal_count++] = (struct signal){o, r, stage, multicast ? 0x200 : 0x400};
    }
    one_read(w, o, 0, GLOBAL, 0x400);
    for (uint32_t r = 0; r < BLOCKS; r++)
        if (multicast)
            one_write(w, o, 0, SHARED(r, 0x2000 + 0x400 * stage + 0x200 * g->block), 0x200, 0);
        else if (r == g->block)
            one_write(w, o, 0, SHARED(r, 0x1000 + 0x400 * stage), 0x400, 0);
}

/* Barriers of all kinds. False: the step is another. */
static bool step_of_barriers(struct agent *g, struct step s)
{
    struct emu_hazard_warp *w = warp_of(g->block, g->warp);
    struct object *o = &objects[g->block][s.a % (2 * STAGES)];
    switch (s.action) {
    case INIT:
        *o = (struct object){s.b, s.b, 0, 0};
        emu_hazard_lanes(w, 1);
        emu_hazard_mbarrier_init(w, 1, barrier_at(g->block, s.a), INIT);
        return true;
    case INIT_FENCE:
        emu_hazard_fence(w, 1, EMU_FENCE_MBARRIER_INIT);
        return true;
    case CLUSTER_ARRIVE:
        emu_hazard_lanes(w, ALL);
        emu_hazard_cluster_arrive(w, ALL, 0);
        arrived++;
        return true;
    case CLUSTER_WAIT:
        emu_hazard_cluster_wait(w, ALL);
        if (g->warp == 0)
            emu_hazard_lanes(w, 1);
        return true;
    case WAIT:
        emu_hazard_mbarrier_wait(w, g->lanes, barrier_at(g->block, s.a), s.b, 1, 0, WAIT);
        return true;
    case EXPECT:
        o->bytes += s.b;
        o->pending -= o->pending > 0;
        emu_hazard_mbarrier_arrive(w, 1, barrier_at(g->block, s.a), 0, object_step(o), EXPECT);
        return true;
    case RELEASE: /* lane r arrives in block r; wrong: the first warp arrives for all four */
        for (uint32_t r = 0; r < BLOCKS; r++)
            for (uint32_t n = 0; n < (s.b ? g->warp % 4 ? 0u : 4u : 1u); n++) {
                o = &objects[r][STAGES + s.a];
                o->pending -= o->pending > 0;
                emu_hazard_mbarrier_arrive(w, 1u << r, barrier_at(r, STAGES + s.a), 0, object_step(o), RELEASE);
            }
        return true;
    case BAR_ARRIVE:
        g->generation = bar_generation[g->block][s.a];
        emu_hazard_bar_arrive(w, ALL, s.a, s.b, 1, BAR_ARRIVE);
        if (++bar_count[g->block][s.a] == s.b / 32) {
            bar_count[g->block][s.a] = 0;
            bar_generation[g->block][s.a]++;
            emu_hazard_bar_complete(cluster, g->block, s.a);
        }
        return true;
    case BAR_WAIT:
        return true;
    default:
        return false;
    }
}

/* Matrix instructions, and reads of what they sum up. */
static bool step_of_matrices(struct agent *g, struct step s)
{
    static const uint32_t sums[4] = {20, 21, 22, 23};
    static const struct emu_hazard_wgmma mma = {sums, 4, NULL, 0, 1};
    struct emu_hazard_warp *w = warp_of(g->block, g->warp);
    emu_hazard_operation operation;
    switch (s.action) {
    case W_FENCE:
        emu_hazard_wgmma_fence(w);
        return true;
    case WGMMA:
        operation = emu_hazard_wgmma_issue(w, &mma, WGMMA);
        one_read(w, operation, 0,
                 SHARED(g->block, 0x1000 + 0x400 * s.a + 0x200 * g->consumer + 0x80 * (g->warp % 4) + 0x40 * s.b),
                 0x40);
        one_read(w, operation, 0, SHARED(g->block, 0x2000 + 0x400 * s.a + 0x200 * s.b), 0x200);
        return true;
    case W_COMMIT:
        g->commits++;
        emu_hazard_commit(w, ALL, EMU_HAZARD_WGMMA);
        return true;
    case W_WAIT:
        emu_hazard_wait_group(w, ALL, EMU_HAZARD_WGMMA, s.a, 0);
        return true;
    case READ_SUM:
        for (uint32_t i = 0; i < 4; i++)
            touch_register(w, sums[i], 0, READ_SUM);
        return true;
    default:
        return false;
    }
}

/* Bulk copies of both directions, and what is written for them. */
static bool step_of_copies(struct agent *g, struct step s, int eager)
{
    struct emu_hazard_warp *w = warp_of(g->block, g->warp);
    uint32_t buffer = 0x4000 + 0x800 * g->consumer + 0x400 * s.a, before = signal_count;
    emu_hazard_operation operation;
    switch (s.action) {
    case LOAD_A:
    case LOAD_B:
        loads(g, w, s.a, s.action == LOAD_B);
        while (eager && signal_count > before)
            signal_step(signal_count - 1);
        return true;
    case STORE_WAIT:
        emu_hazard_wait_group(w, 1, EMU_HAZARD_BULK, s.a, 1);
        return true;
    case WRITE_D:
        touch(w, ALL, SHARED(g->block, buffer + 0x80 * (g->warp % 4)), WRITE);
        return true;
    case P_FENCE:
        emu_hazard_fence(w, s.a, EMU_FENCE_PROXY_SHARED);
        return true;
    case STORE:
        operation = emu_hazard_issue(w, 1, EMU_HAZARD_BULK, STORE);
        one_read(w, operation, 0, SHARED(g->block, buffer), 0x200);
        one_write(w, operation, 0,
                  GLOBAL + 0x10000 + 0x200 * (s.b + CHUNKS * TILES * (g->consumer + CONSUMERS * (uint64_t)g->block)),
                  0x200, 0);
        emu_hazard_commit(w, 1, EMU_HAZARD_BULK);
        return true;
    default:
        return false;
    }
}

static void execute(struct agent *g, int eager)
{
    const struct step s = g->step[g->at++];
    if (!step_of_barriers(g, s) && !step_of_matrices(g, s) && !step_of_copies(g, s, eager))
        emu_hazard_exit(warp_of(g->block, g->warp), ALL, EXIT);
}

enum { EAGER, LATE, RANDOM, MODES };

/* 1: every role came to its end. */
static int simulate(enum drop drop, unsigned mode, uint32_t seed)
{
    memset(agents, 0, sizeof agents);
    memset(objects, 0, sizeof objects);
    memset(bar_count, 0, sizeof bar_count);
    memset(bar_generation, 0, sizeof bar_generation);
    signal_count = arrived = 0;
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    begin(BLOCKS, WARPS);
    uint32_t bias[BLOCKS * WARPS]; /* some run much more often than others */
    for (uint32_t i = 0; i < BLOCKS * WARPS; i++) {
        struct agent *g = &agents[i];
        g->block = i / WARPS;
        g->warp = i % WARPS;
        g->consumer = g->warp < 4 ? 2 : g->warp / 4 - 1;
        g->lanes = g->warp ? ALL : 1;
        bias[i] = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 1 + dice(20) : g->warp < 4 ? 20 : 1;
        if (g->warp < 4)
            producer(g, drop);
        else
            consumer(g, drop);
    }
    for (;;) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < BLOCKS * WARPS; i++)
            sum += enabled(&agents[i]) ? bias[i] : 0;
        if (signal_count && (!sum || (mode == RANDOM && dice(8) == 0))) {
            signal_step(dice(signal_count));
            continue;
        }
        if (!sum)
            break;
        uint32_t chosen = dice(sum), i = 0;
        for (;; i++) {
            if (!enabled(&agents[i]))
                continue;
            if (chosen < bias[i])
                break;
            chosen -= bias[i];
        }
        execute(&agents[i], mode == EAGER);
    }
    int ended = 1;
    for (uint32_t i = 0; i < BLOCKS * WARPS; i++)
        ended &= agents[i].at == agents[i].count;
    for (uint32_t i = 0; i < BLOCKS * WARPS && !ended; i++) {
        const struct agent *g = &agents[i];
        if (g->at < g->count && g->step[g->at].action == WAIT)
            emu_hazard_mbarrier_wait(warp_of(g->block, g->warp), g->lanes, barrier_at(g->block, g->step[g->at].a),
                                     g->step[g->at].b, 0, 0, WAIT);
    }
    if (!ended)
        emu_hazard_stuck(h);
    return ended;
}

static void test_whole(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < MODES; mode++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            assert_true(simulate(D_NOTHING, mode, seed));
            CLEAN();
        }
}

static void test_drops(void **state)
{
    (void)state;
    static const char *const names[] = {
#define DROP(id, name) name,
        DROPS(DROP)
#undef DROP
    };
    static const char *const ids[] = {
#define DROP(id, name) #id,
        DROPS(DROP)
#undef DROP
    };
    int missing = 0;
    for (unsigned drop = 1; drop < DROP_COUNT; drop++) {
        unsigned found = 0, runs = 0, with[EMU_HAZARD_COUNT] = {0};
        for (unsigned mode = 0; mode < MODES; mode++)
            for (uint32_t seed = 0; seed < SEEDS; seed++, runs++) {
                simulate((enum drop)drop, mode, seed);
                unsigned seen[EMU_HAZARD_COUNT] = {0};
                const struct emu_hazard_report *r;
                for (size_t i = 0; (r = emu_hazard_report_at(h, i)); i++)
                    seen[r->name] = 1;
                unsigned any = 0;
                for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++)
                    any |= seen[i];
                found += names[drop] ? seen[emu_hazard_find(names[drop])] : !any;
                for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++)
                    with[i] += seen[i];
                emu_hazard_cluster_end(cluster);
                emu_hazard_close(h);
            }
        char line[300];
        int at = snprintf(line, sizeof line, "# %-26s %u of %u runs %-16s", ids[drop], found, runs,
                          names[drop] ? names[drop] : "nothing");
        for (unsigned i = 0; i < EMU_HAZARD_COUNT; i++)
            if (with[i] && at < 250 &&
                (!names[drop] || strcmp(emu_hazard_info((enum emu_hazard_name)i)->name, names[drop]) != 0))
                at += snprintf(line + at, sizeof line - (size_t)at, " %s(%u)",
                               emu_hazard_info((enum emu_hazard_name)i)->name, with[i]);
        print_message("%s\n", line);
        missing += found != runs;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_drops),
    };
    struct tw_error error;
    if (tw_runtime_init(&rt, &error) != TW_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tw_runtime_close(&rt);
    return failed;
}
