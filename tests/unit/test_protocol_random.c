/* The protocol check against the brute-force exploration of protocol_naive.h, on random step lists: programs as a
 * derivation would make them, with random stages, instances, orders and places, most of them with random damage.
 *
 *     test_protocol_random [ROUNDS [SEED]]
 *
 * Each list is run with random numbers of its loops by both. They must agree at the very numbers, but that the check may
 * refuse what goes wrong at other numbers only: then longer loops must show it. And what the whole check passes must be
 * clean at random numbers beyond those that it explores. */
#include "plan_samples.h"
#include "protocol_naive.h"

static uint32_t seed;

static int draw(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 12) % (uint32_t)below);
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

enum { K, V, BYTES = 64, WARPS = 4 };

#define STEP(role, ...) add(role, (struct plan_step){__VA_ARGS__})

static void add(struct plan_role *role, struct plan_step step)
{
    role->step[role->step_count++] = step;
}

static struct plan_role *add_role(struct plan *p, const char *name, int instances, int warps)
{
    struct plan_role *r = &p->role[p->role_count++];
    r->name = name;
    r->instances = instances;
    r->warps = instances * warps;
    return r;
}

static void begin(struct plan *p)
{
    static const char *const name[] = {"k", "v", "w"};
    sample_begin(p, "random", "sm_90a");
    for (int i = 0; i < 3; i++) {
        sample_tensor(p, i, name[i], 0, 2, "m", "k");
        p->tensor[i].tile_bytes = BYTES;
    }
    p->tensor_count = 3;
    p->mma = plan_alloc(p, 2 * sizeof *p->mma);
    p->mma[0] = (struct plan_mma){.name = "qk", .kind = "wgmma", .m = 64, .n = 64, .k = 16};
    p->mma[1] = (struct plan_mma){.name = "pv", .kind = "wgmma", .m = 64, .n = 128, .k = 16};
    p->mma_count = 2;
}

/* A ring of one tensor whose readers arrive so often. */
static void add_ring(struct plan *p, const char *name, enum plan_filler filler, int full, int empty)
{
    int n = p->ring_count++;
    p->ring[n] = (struct plan_ring){.name = name,
                                    .stages = 1 + draw(3),
                                    .filler = filler,
                                    .tensor = {n},
                                    .tensor_count = 1,
                                    .full_arrivals = full,
                                    .tx_bytes = filler == PLAN_FILL_BULK ? BYTES : 0,
                                    .empty_arrivals = empty,
                                    .full_shared = -1,
                                    .empty_shared = -1};
}

static int add_place(struct plan *p, const char *name, enum plan_place_kind kind)
{
    return plan_add_place(p, (struct plan_place){.name = name, .kind = kind, .rows = 64, .cols = 64, .shared = -1});
}

static void fill(struct plan_role *r, int ring)
{
    STEP(r, .op = PLAN_WAIT_EMPTY, .ring = ring, .tensor = -1, .phase = 1);
    STEP(r, .op = PLAN_EXPECT, .ring = ring, .tensor = -1, .count = BYTES);
    STEP(r, .op = PLAN_FILL, .ring = ring, .tensor = ring, .count = BYTES);
}

static void loop(struct plan_role *r, const char *name, int less)
{
    STEP(r, .op = PLAN_LOOP, .ring = -1, .call = name, .less = less);
}

static void when(struct plan_role *r, const char *name, int count)
{
    STEP(r, .op = PLAN_WHEN, .ring = -1, .call = name, .count = count);
}

static void op(struct plan_role *r, enum plan_op which, int count)
{
    STEP(r, .op = which, .ring = -1, .tensor = -1, .count = count);
}

static void end(struct plan_role *r)
{
    op(r, PLAN_END, 0);
}

static void touch(struct plan_role *r, int place)
{
    STEP(r, .op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = place);
}

static void release(struct plan_role *r, int ring, int keep, int arrivals)
{
    STEP(r, .op = PLAN_RELEASE, .ring = ring, .tensor = -1, .count = keep, .arrivals = arrivals);
}

/* Waits for a stage and starts an instruction that reads it. */
static void multiply(struct plan_role *r, int ring, int shape, int place, int operand)
{
    STEP(r, .op = PLAN_WAIT_FULL, .ring = ring, .tensor = -1);
    STEP(r, .op = PLAN_READ, .ring = ring, .tensor = ring, .count = 1);
    STEP(r, .op = PLAN_MMA, .ring = -1, .tensor = -1, .count = shape, .place = place, .place2 = operand);
    op(r, PLAN_MMA_COMMIT, 0);
}

/* One producer, two rings, consumers: in program order, or with the first product a turn ahead; with turns or without. */
static bool attention(struct plan *p)
{
    int consumers = 1 + (draw(3) == 0), ahead = draw(2), masked = draw(3) == 0, tiles = draw(2);
    int turns = consumers > 1 && draw(2);
    begin(p);
    add_ring(p, "k", PLAN_FILL_BULK, 1, WARPS * consumers);
    add_ring(p, "v", PLAN_FILL_BULK, 1, WARPS * consumers);
    int o = add_place(p, "o", PLAN_PLACE_ACCUMULATOR), s = add_place(p, "s", PLAN_PLACE_ACCUMULATOR);
    int q = add_place(p, "p", PLAN_PLACE_OPERAND);
    if (turns)
        p->barrier[p->barrier_count++] =
            (struct plan_barrier){.name = "turn", .id = 1, .threads = 64 * WARPS, .turns = true};
    struct plan_role *r = add_role(p, "producer", 1, 1);
    if (tiles)
        loop(r, "tiles", 0);
    for (int i = 0; i <= masked; i++) {
        loop(r, i ? "masked" : "kv", 0);
        fill(r, K);
        fill(r, V);
        end(r);
    }
    if (tiles)
        end(r);
    r = add_role(p, "consumer", consumers, WARPS);
    if (turns)
        STEP(r, .op = PLAN_BARRIER_ARRIVE, .ring = -1, .tensor = -1, .only = plan_some(consumers - 1));
    if (tiles)
        loop(r, "tiles", 0);
    touch(r, o);
    for (int i = 0; i <= masked; i++) {
        const char *kv = i ? "masked" : "kv";
        if (ahead) {
            when(r, kv, 0);
            op(r, PLAN_MMA_FENCE, 0);
            multiply(r, K, 0, s, 0);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, K, 0, WARPS);
            touch(r, s);
            touch(r, q);
            end(r);
            loop(r, kv, 1);
            if (turns)
                op(r, PLAN_BARRIER, 0);
            op(r, PLAN_MMA_FENCE, 0);
            multiply(r, K, 0, s, 0);
            multiply(r, V, 1, o, q);
            if (turns)
                op(r, PLAN_BARRIER_ARRIVE, 0);
            op(r, PLAN_MMA_WAIT, 1);
            release(r, K, 0, WARPS);
            touch(r, s);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, V, 0, WARPS);
            touch(r, q);
            touch(r, o);
            end(r);
            when(r, kv, 0);
            op(r, PLAN_MMA_FENCE, 0);
            multiply(r, V, 1, o, q);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, V, 0, WARPS);
            end(r);
        } else {
            loop(r, kv, 0);
            if (turns)
                op(r, PLAN_BARRIER, 0);
            op(r, PLAN_MMA_FENCE, 0);
            multiply(r, K, 0, s, 0);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, K, 0, WARPS);
            touch(r, s);
            touch(r, q);
            op(r, PLAN_MMA_FENCE, 0);
            multiply(r, V, 1, o, q);
            if (turns)
                op(r, PLAN_BARRIER_ARRIVE, 0);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, V, 0, WARPS);
            end(r);
        }
    }
    touch(r, o);
    if (tiles)
        end(r);
    return true;
}

/* A ring whose newest stages are kept for groups in flight, and a second reader of the same stages, each read again. */
static bool two_readers(struct plan *p)
{
    int keep = draw(2), readers = 1 + draw(2), again = draw(2);
    begin(p);
    add_ring(p, "k", PLAN_FILL_BULK, 1, WARPS * readers);
    p->ring[0].stages += keep;
    int acc = add_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    struct plan_role *r = add_role(p, "producer", 1, 1);
    loop(r, "tiles", 0);
    loop(r, "k", 0);
    fill(r, K);
    end(r);
    end(r);
    for (int i = 0; i < readers; i++) {
        r = add_role(p, i ? "other" : "one", 1, WARPS);
        loop(r, "tiles", 0);
        op(r, PLAN_MMA_FENCE, 0);
        loop(r, "k", 0);
        multiply(r, K, 0, acc, 0);
        if (again && i) {
            STEP(r, .op = PLAN_READ, .ring = K, .tensor = K, .count = 1);
            STEP(r, .op = PLAN_MMA, .ring = -1, .tensor = -1, .place = acc);
            op(r, PLAN_MMA_COMMIT, 0);
            op(r, PLAN_MMA_WAIT, 2 * keep);
        } else {
            op(r, PLAN_MMA_WAIT, keep);
        }
        release(r, K, keep, WARPS);
        end(r);
        op(r, PLAN_MMA_WAIT, 0);
        release(r, K, 0, WARPS);
        touch(r, acc);
        end(r);
    }
    return true;
}

/* Rows that threads read at once, reduce through scratch and read again. */
static bool norm(struct plan *p)
{
    int by_warps = draw(2), columns = draw(2);
    begin(p);
    add_ring(p, "x", PLAN_FILL_BULK, 1, by_warps ? WARPS : 1);
    p->ring[0].stages += columns;
    int sum = add_place(p, "sum", PLAN_PLACE_ROWS), scratch = add_place(p, "all", PLAN_PLACE_SHARED);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "rows", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = add_role(p, "producer", 1, 1);
    loop(r, "tiles", 0);
    for (int i = 0; i <= columns; i++)
        fill(r, K);
    end(r);
    r = add_role(p, "consumer", 1, WARPS);
    loop(r, "tiles", 0);
    for (int i = 0; i <= columns; i++) {
        STEP(r, .op = PLAN_WAIT_FULL, .ring = K, .tensor = -1);
        STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    }
    touch(r, sum);
    STEP(r, .op = PLAN_SCRATCH_WRITE, .ring = -1, .tensor = -1, .place = scratch);
    op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_SCRATCH_READ, .ring = -1, .tensor = -1, .place = scratch);
    for (int i = columns; i >= 0; i--)
        STEP(r, .op = PLAN_READ, .ring = K, .tensor = K, .back = i);
    op(r, PLAN_BARRIER, 0);
    release(r, K, 0, by_warps ? WARPS : 1);
    end(r);
    return true;
}

/* A role that reads one ring and fills another, which a third multiplies; or an operand through scratch. */
static bool convert(struct plan *p)
{
    int by_warps = draw(2), through_scratch = draw(3) == 0, consumers = 1 + (draw(4) == 0);
    begin(p);
    add_ring(p, "k", PLAN_FILL_BULK, 1, by_warps ? WARPS : 1);
    int acc = add_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "all", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = add_role(p, "producer", 1, 1);
    loop(r, "k", 0);
    fill(r, K);
    end(r);
    r = add_role(p, "convert", 1, WARPS);
    if (through_scratch) {
        int scratch = add_place(p, "b", PLAN_PLACE_SHARED);
        touch(r, acc);
        loop(r, "k", 0);
        STEP(r, .op = PLAN_WAIT_FULL, .ring = K, .tensor = -1);
        STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
        STEP(r, .op = PLAN_SCRATCH_WRITE, .ring = -1, .tensor = -1, .place = scratch);
        op(r, PLAN_FENCE_ASYNC, 0);
        op(r, PLAN_BARRIER, 0);
        release(r, K, 0, by_warps ? WARPS : 1);
        op(r, PLAN_MMA_FENCE, 0);
        STEP(r, .op = PLAN_SCRATCH_READ, .ring = -1, .tensor = -1, .place = scratch, .count = 1);
        STEP(r, .op = PLAN_MMA, .ring = -1, .tensor = -1, .place = acc);
        op(r, PLAN_MMA_COMMIT, 0);
        op(r, PLAN_MMA_WAIT, 0);
        op(r, PLAN_BARRIER, 0);
        end(r);
        touch(r, acc);
        return true;
    }
    int each = draw(2) ? WARPS : 1;
    add_ring(p, "b", PLAN_FILL_ARRIVE, each, WARPS * consumers);
    loop(r, "k", 0);
    STEP(r, .op = PLAN_WAIT_FULL, .ring = K, .tensor = -1);
    STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    STEP(r, .op = PLAN_WAIT_EMPTY, .ring = V, .tensor = -1, .phase = 1);
    STEP(r, .op = PLAN_WRITE, .ring = V, .tensor = V);
    op(r, PLAN_FENCE_ASYNC, 0);
    if (!by_warps || each == 1)
        op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_ARRIVE, .ring = V, .tensor = -1, .arrivals = each);
    release(r, K, 0, by_warps ? WARPS : 1);
    end(r);
    r = add_role(p, "consumer", consumers, WARPS);
    op(r, PLAN_MMA_FENCE, 0);
    loop(r, "k", 0);
    multiply(r, V, 0, acc, 0);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, V, 0, WARPS);
    end(r);
    touch(r, acc);
    return true;
}

/* Two consumers take items in turn; each skips the stages of the other's. Without turns that are passed on one of them may
 * see the parity of an older turn. */
static bool in_turn(struct plan *p)
{
    int turns = draw(4) > 0, before = draw(2);
    begin(p);
    add_ring(p, "k", PLAN_FILL_BULK, 1, WARPS);
    int acc = add_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "turn", .id = 1, .threads = 64 * WARPS, .turns = true};
    struct plan_role *r = add_role(p, "producer", 1, 1);
    loop(r, "items", 0);
    loop(r, "k", 0);
    fill(r, K);
    end(r);
    end(r);
    r = add_role(p, "consumer", 2, WARPS);
    if (turns)
        STEP(r, .op = PLAN_BARRIER_ARRIVE, .ring = -1, .tensor = -1, .only = plan_some(1));
    STEP(r, .op = PLAN_LOOP, .ring = -1, .call = "items", .share = 2);
    for (int i = 0; i < 2; i++) {
        if (i == before) {
            if (turns)
                op(r, PLAN_BARRIER, 0);
            op(r, PLAN_MMA_FENCE, 0);
            loop(r, "k", 0);
            multiply(r, K, 0, acc, 0);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, K, 0, WARPS);
            end(r);
            if (turns)
                op(r, PLAN_BARRIER_ARRIVE, 0);
            touch(r, acc);
        } else {
            loop(r, "k", 0);
            STEP(r, .op = PLAN_SKIP, .ring = K, .tensor = -1);
            end(r);
        }
    }
    end(r);
    return turns;
}

static bool copies(struct plan *p)
{
    sample_gemm_sm80(p, 2 + draw(2), 1, draw(2));
    return true;
}

static bool stores(struct plan *p)
{
    int stages = 1 + draw(2), buffers = draw(3);
    sample_gemm_sm90(p, (struct sample_gemm){.stages = stages, .consumers = 1, .d_stages = buffers, .d_tiles = 2});
    return true;
}

static const struct {
    const char *name;
    bool (*make)(struct plan *p); /* true where the program is right */
} kinds[] = {{"attention", attention}, {"two readers", two_readers}, {"norm", norm},    {"convert", convert},
             {"in turn", in_turn},     {"copies", copies},           {"stores", stores}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static void move(struct plan_role *r, int from, int to)
{
    struct plan_step step = r->step[from];
    memmove(r->step + from, r->step + from + 1, (size_t)(r->step_count - from - 1) * sizeof step);
    memmove(r->step + to + 1, r->step + to, (size_t)(r->step_count - 1 - to) * sizeof step);
    r->step[to] = step;
}

static const char *damage(struct plan *p)
{
    int role = draw(p->role_count);
    struct plan_role *r = &p->role[role];
    int at = draw(r->step_count), other = draw(r->step_count), kind = draw(14);
    struct plan_step *s = &r->step[at];
    if (protocol_is_flow(s->op) && kind < 6)
        kind = 6 + draw(8);
    switch (kind) {
    case 0:
    case 1:
        sample_drop(p, role, at);
        return "dropped";
    case 2:
        move(r, at, other);
        return "moved";
    case 3:
    case 4:
        if (at + 1 < r->step_count)
            sample_swap(p, role, at, at + 1);
        return "swapped";
    case 5:
        sample_insert(p, role, other, *s);
        return "repeated";
    case 6:
    case 7:
        s->count = s->count > 0 && draw(2) ? s->count - 1 : s->count + 1;
        return "count";
    case 8:
        s->phase ^= 1;
        return "phase";
    case 9:
        s->less = s->less > 0 && draw(2) ? s->less - 1 : s->less + 1;
        return "less";
    case 10:
        s->back = s->back > 0 && draw(2) ? s->back - 1 : s->back + 1;
        return "back";
    case 11:
        s->op = s->op == PLAN_BARRIER          ? PLAN_BARRIER_ARRIVE
                : s->op == PLAN_BARRIER_ARRIVE ? PLAN_BARRIER
                : s->op == PLAN_MMA_WAIT       ? PLAN_MMA_COMMIT
                : s->op == PLAN_SKIP           ? PLAN_WAIT_FULL
                                               : s->op;
        return "operation";
    case 12:
        p->ring[draw(p->ring_count)].stages = 1 + draw(3);
        return "stages";
    default:
        s->place = s->place ? 1 + draw(p->place_count) : 0;
        s->only = s->only ? 3 - s->only : 0;
        return "place";
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static struct protocol_trips random_trips(const struct protocol_code *code, int most, int outer)
{
    struct protocol_trips trips = {.turns = 1 + draw(3)};
    for (int n = 0; n < code->classes; n++)
        for (int i = 0; i < trips.turns; i++)
            trips.trip[n][i] = code->class[n].outer ? draw(outer + 1) : draw(most + 1);
    return trips;
}

static void print_plan(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips)
{
    plan_print_tables(p, false, stderr);
    for (int n = 0; trips && n < code->classes; n++) {
        fprintf(stderr, "%s:", code->class[n].name);
        for (int i = 0; i < trips->turns; i++)
            fprintf(stderr, " %d", trips->trip[n][i]);
        fprintf(stderr, "\n");
    }
}

static struct {
    int rounds, by_text, clean, faulty, too_large, elsewhere, missed, alarms, holes, refused;
    size_t states;
} tally;

static bool shown(void)
{
    return getenv("TW_TEST_VERBOSE") || tally.missed + tally.alarms + tally.holes <= 3;
}

/* Longer loops show what the check refuses. */
static bool goes_wrong_elsewhere(const struct plan *p, const struct protocol_code *code)
{
    for (int i = 0; i < 12; i++) {
        struct protocol_trips trips = random_trips(code, i < 6 ? 4 : 6, 3);
        size_t states;
        if (naive_explore_some(p, &trips, 60000, &states))
            return true;
    }
    return false;
}

static void compare(const struct plan *p, const struct protocol_code *code, const char *what, bool good)
{
    for (int i = 0; i < 3; i++) {
        struct protocol_trips trips = random_trips(code, 1 + i, 2);
        struct diag_set diags = {0};
        size_t states;
        const char *naive = naive_explore_some(p, &trips, 30000, &states);
        bool fast = protocol_run(p, code, &trips, &diags) > 0;
        tally.states += states;
        if (!naive && states > 30000) {
            tally.too_large++;
        } else if (fast == (naive != NULL)) {
            tally.clean += !fast;
            tally.faulty += fast;
        } else if (!fast || good || !goes_wrong_elsewhere(p, code)) {
            tally.missed += !fast;
            tally.alarms += fast;
            if (shown()) {
                print_error("%s: explored: %s; checked:\n", what, naive ? naive : "clean");
                diag_print(&diags, stderr);
                print_plan(p, code, &trips);
            }
        } else {
            tally.elsewhere++;
        }
        diag_free(&diags);
    }
}

/* What the whole check passes is clean at any numbers. */
static void compare_cut_off(const struct plan *p, const struct protocol_code *code, const char *what, bool good)
{
    struct diag_set diags = {0};
    bool passes = plan_check_protocol(p, &diags) == 0;
    tally.refused += !passes;
    if (good && !passes) {
        print_error("%s is refused:\n", what);
        diag_print(&diags, stderr);
        print_plan(p, code, NULL);
        tally.alarms++;
    }
    for (int i = 0; i < 20 && passes; i++) {
        struct protocol_trips trips = random_trips(code, i < 10 ? 6 : 20, i < 10 ? 3 : 9);
        if (protocol_run(p, code, &trips, &diags) == 0)
            continue;
        tally.holes++;
        if (shown()) {
            print_error("%s: passes, but at other numbers:\n", what);
            diag_print(&diags, stderr);
            print_plan(p, code, &trips);
        }
        break;
    }
    diag_free(&diags);
}

static int rounds = 300;

static void test_random(void **state)
{
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct plan p;
        struct diag_set diags = {0};
        struct protocol_code code = {0};
        char what[160];
        uint32_t begun = seed;
        int kind = draw(KINDS);
        bool good = kinds[kind].make(&p);
        int wounds = draw(5) == 0 ? 0 : 1 + (draw(4) == 0);
        const char *last = good ? "good" : "bad";
        good = good && wounds == 0;
        for (int i = 0; i < wounds; i++)
            last = damage(&p);
        snprintf(what, sizeof what, "round %d, seed %u, %s, %s", round, begun, kinds[kind].name, last);
        tally.rounds++;
        if (protocol_check_program(&p, &diags) > 0 || protocol_check_counts(&p, &diags) > 0) {
            tally.by_text++;
            if (good) {
                print_error("%s:\n", what);
                diag_print(&diags, stderr);
                tally.alarms++;
            }
        } else {
            assert_int_equal(protocol_code(&p, &code), 0);
            compare_cut_off(&p, &code, what, good);
            compare(&p, &code, what, good);
            protocol_code_free(&code);
        }
        diag_free(&diags);
        plan_free(&p);
    }
    print_message("%d lists: %d refused by their text, %d by the exploration; at the same numbers %d clean and %d faulty "
                  "by both, %d faulty for the check and shown at other numbers, %d too large; %zu states\n",
                  tally.rounds, tally.by_text, tally.refused, tally.clean, tally.faulty, tally.elsewhere,
                  tally.too_large, tally.states);
    print_message("missed by the check: %d, false alarms: %d, wrong beyond the cut-off: %d\n", tally.missed, tally.alarms,
                  tally.holes);
    assert_int_equal(tally.missed + tally.alarms + tally.holes, 0);
}

int main(int count, char **argument)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    rounds = count > 1 ? atoi(argument[1]) : rounds;
    seed = count > 2 ? (uint32_t)strtoul(argument[2], NULL, 10) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
