#include "unit/plan/protocol_programs.h"

#include <string.h>

static void program_step(struct plan_role *role, struct plan_step step)
{
    role->step[role->step_count++] = step;
}

static struct plan_role *program_role(struct plan *p, const char *name, int instances, int warps)
{
    struct plan_role *r = &p->role[p->role_count++];
    r->name = name;
    r->instances = instances;
    r->warps = instances * warps;
    return r;
}

static void program_begin(struct plan *p)
{
    static const char *const name[] = {"k", "v", "q", "o"};
    sample_begin(p, "program", "sm_90a");
    for (int i = 0; i < 4; i++) {
        sample_tensor(p, i, name[i], 0, 2, "m", "k");
        p->tensor[i].tile_bytes = BYTES;
    }
    p->tensor_count = 4;
    p->mma = plan_alloc(p, 2 * sizeof *p->mma);
    p->mma[0] = (struct plan_mma){.name = "qk", .kind = "wgmma", .m = 64, .n = 64, .k = 16};
    p->mma[1] = (struct plan_mma){.name = "pv", .kind = "wgmma", .m = 64, .n = 128, .k = 16};
    p->mma_count = 2;
}

/* A ring of the tensor of its number, or of `tensor` if it is above 0. */
static void program_ring(struct plan *p, const char *name, enum plan_filler filler, int stages, int full, int empty)
{
    int n = p->ring_count++;
    p->ring[n] = (struct plan_ring){.name = name,
                                    .stages = stages,
                                    .filler = filler,
                                    .tensor = {n},
                                    .tensor_count = 1,
                                    .full_arrivals = full,
                                    .tx_bytes = filler == PLAN_FILL_BULK ? BYTES : 0,
                                    .empty_arrivals = empty,
                                    .full_shared = -1,
                                    .empty_shared = -1};
}

static int program_place(struct plan *p, const char *name, enum plan_place_kind kind)
{
    return plan_add_place(p, (struct plan_place){.name = name, .kind = kind, .rows = 64, .cols = 64, .shared = -1});
}

static void op(struct plan_role *r, enum plan_op which, int count)
{
    STEP(r, .op = which, .count = count);
}

static void begin_loop(struct plan_role *r, const char *name, int less)
{
    STEP(r, .op = PLAN_LOOP, .call = name, .less = less);
}

static void begin_when(struct plan_role *r, const char *name, int count)
{
    STEP(r, .op = PLAN_WHEN, .call = name, .count = count);
}

static void end(struct plan_role *r)
{
    op(r, PLAN_END, 0);
}

static void touch(struct plan_role *r, int place)
{
    STEP(r, .op = PLAN_TOUCH, .place = place);
}

static void fill(struct plan_role *r, int ring)
{
    STEP(r, .op = PLAN_WAIT_EMPTY, .ring = ring, .phase = 1);
    STEP(r, .op = PLAN_EXPECT, .ring = ring, .count = BYTES);
    STEP(r, .op = PLAN_FILL, .ring = ring, .tensor = ring, .count = BYTES);
}

static void take(struct plan_role *r, int ring)
{
    STEP(r, .op = PLAN_WAIT_FULL, .ring = ring);
}

static void release(struct plan_role *r, int ring, int keep, int arrivals)
{
    STEP(r, .op = PLAN_RELEASE, .ring = ring, .count = keep, .arrivals = arrivals);
}

/* Starts an instruction that reads the newest stage of a ring, and closes its group. */
static void multiply(struct plan_role *r, int ring, int shape, int place, int operand)
{
    STEP(r, .op = PLAN_READ, .ring = ring, .tensor = ring, .count = 1);
    STEP(r, .op = PLAN_MMA, .count = shape, .place = place, .place2 = operand);
    op(r, PLAN_MMA_COMMIT, 0);
}

static void scratch(struct plan_role *r, enum plan_op which, int place, int asynchronous)
{
    STEP(r, .op = which, .place = place, .count = asynchronous);
}

static void attention_q(struct plan_role *r, const struct attention *a)
{
    if (a->q_stages)
        STEP(r, .op = PLAN_READ, .ring = Q, .tensor = Q, .count = 1);
}

/* LOOPs and WHENs of kv say what is known of it; where a guard is not needed there is none. */
static void attention_begin(struct plan_role *r, const struct attention *a, const char *kv, int less)
{
    begin_loop(r, kv, less);
    r->step[r->step_count - 1].least = a->known;
}

static void attention_when(struct plan_role *r, const struct attention *a, const char *kv)
{
    if (!a->known)
        begin_when(r, kv, 0);
}

static void attention_end_when(struct plan_role *r, const struct attention *a)
{
    if (!a->known)
        end(r);
}

static void attention_fill(struct plan_role *r, const struct attention *a, const char *kv)
{
    if (a->filled_ahead) {
        attention_when(r, a, kv);
        fill(r, K);
        attention_end_when(r, a);
    }
    attention_begin(r, a, kv, a->filled_ahead);
    fill(r, K);
    fill(r, V);
    end(r);
    if (a->filled_ahead) {
        attention_when(r, a, kv);
        fill(r, V);
        attention_end_when(r, a);
    }
}

static void attention_loop(struct plan_role *r, const struct attention *a, const char *kv, int o, int s, int p)
{
    if (!a->ahead) {
        attention_begin(r, a, kv, 0);
        if (a->turns)
            op(r, PLAN_BARRIER, 0);
        op(r, PLAN_MMA_FENCE, 0);
        take(r, K);
        attention_q(r, a);
        multiply(r, K, 0, s, 0);
        op(r, PLAN_MMA_WAIT, 0);
        release(r, K, 0, WARPS);
        touch(r, s);
        touch(r, p);
        op(r, PLAN_MMA_FENCE, 0);
        take(r, V);
        multiply(r, V, 1, o, p);
        if (a->turns)
            op(r, PLAN_BARRIER_ARRIVE, 0);
        op(r, PLAN_MMA_WAIT, 0);
        release(r, V, 0, WARPS);
        end(r);
        return;
    }
    attention_when(r, a, kv);
    op(r, PLAN_MMA_FENCE, 0);
    take(r, K);
    attention_q(r, a);
    multiply(r, K, 0, s, 0);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, K, 0, WARPS);
    touch(r, s);
    touch(r, p);
    attention_end_when(r, a);
    attention_begin(r, a, kv, 1);
    if (a->turns)
        op(r, PLAN_BARRIER, 0);
    op(r, PLAN_MMA_FENCE, 0);
    take(r, K);
    attention_q(r, a);
    multiply(r, K, 0, s, 0);
    take(r, V);
    multiply(r, V, 1, o, p);
    if (a->turns)
        op(r, PLAN_BARRIER_ARRIVE, 0);
    op(r, PLAN_MMA_WAIT, 1);
    release(r, K, 0, WARPS);
    touch(r, s);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, V, 0, WARPS);
    touch(r, p);
    touch(r, o);
    end(r);
    attention_when(r, a, kv);
    op(r, PLAN_MMA_FENCE, 0);
    take(r, V);
    multiply(r, V, 1, o, p);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, V, 0, WARPS);
    attention_end_when(r, a);
}

bool program_attention(struct plan *p, struct attention a)
{
    program_begin(p);
    a.guarded = a.guarded && !a.masked && !a.known;
    program_ring(p, "k", PLAN_FILL_BULK, a.k_stages, 1, WARPS * a.consumers);
    program_ring(p, "v", PLAN_FILL_BULK, a.v_stages, 1, WARPS * a.consumers);
    if (a.q_stages)
        program_ring(p, "q", PLAN_FILL_BULK, a.q_stages, 1, WARPS * a.consumers);
    int buffer = p->ring_count;
    if (a.o_buffers)
        program_ring(p, "o", PLAN_FILL_THREADS, a.o_buffers, 0, 0);
    int o = program_place(p, "o", PLAN_PLACE_ACCUMULATOR), s = program_place(p, "s", PLAN_PLACE_ACCUMULATOR);
    int q = program_place(p, "p", PLAN_PLACE_OPERAND);
    if (a.turns)
        p->barrier[p->barrier_count++] =
            (struct plan_barrier){.name = "turn", .id = 4, .threads = 64 * WARPS, .turns = true};
    int rows = p->barrier_count;
    if (a.o_buffers)
        p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "rows", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    if (a.tiles)
        begin_loop(r, "tiles", 0);
    if (a.heads)
        begin_loop(r, "heads", 0);
    if (a.q_stages)
        fill(r, Q);
    attention_fill(r, &a, "kv");
    if (a.masked)
        attention_fill(r, &a, "masked");
    if (a.heads)
        end(r);
    if (a.tiles)
        end(r);
    r = program_role(p, "consumer", a.consumers, WARPS);
    if (a.turns)
        STEP(r, .op = PLAN_BARRIER_ARRIVE, .only = plan_some(a.consumers - 1));
    if (a.tiles)
        begin_loop(r, "tiles", 0);
    if (a.heads)
        begin_loop(r, "heads", 0);
    if (a.q_stages)
        take(r, Q);
    if (a.guarded)
        begin_when(r, "kv", 0);
    touch(r, o);
    attention_loop(r, &a, "kv", o, s, q);
    if (a.masked)
        attention_loop(r, &a, "masked", o, s, q);
    if (a.guarded)
        end(r);
    if (a.q_stages)
        release(r, Q, 0, WARPS);
    touch(r, o);
    if (a.o_buffers) {
        STEP(r, .op = PLAN_STORE_WAIT, .ring = buffer, .count = a.o_buffers - 1);
        op(r, PLAN_BARRIER, rows);
        STEP(r, .op = PLAN_WRITE, .ring = buffer, .tensor = buffer);
        op(r, PLAN_FENCE_ASYNC, 0);
        op(r, PLAN_BARRIER, rows);
        STEP(r, .op = PLAN_STORE, .ring = buffer, .tensor = buffer);
    }
    if (a.heads)
        end(r);
    if (a.tiles)
        end(r);
    if (a.o_buffers)
        STEP(r, .op = PLAN_STORE_WAIT, .ring = buffer, .count = 0);
    return true;
}

bool program_together(struct plan *p, struct together a)
{
    program_begin(p);
    program_ring(p, "kv", PLAN_FILL_BULK, a.stages, 1 + a.producers, WARPS * a.consumers);
    p->ring[0].tensor[1] = V;
    p->ring[0].tensor_count = 2;
    p->ring[0].tx_bytes = 2 * BYTES;
    int o = program_place(p, "o", PLAN_PLACE_ACCUMULATOR), s = program_place(p, "s", PLAN_PLACE_ACCUMULATOR);
    int q = program_place(p, "p", PLAN_PLACE_OPERAND);
    for (int i = 0; i <= a.producers; i++) {
        struct plan_role *r = program_role(p, i ? "other producer" : "producer", 1, 1);
        if (a.tiles)
            begin_loop(r, "tiles", 0);
        begin_loop(r, "kv", 0);
        STEP(r, .op = PLAN_WAIT_EMPTY, .phase = 1);
        STEP(r, .op = PLAN_EXPECT, .count = a.producers ? BYTES : 2 * BYTES);
        if (!i)
            STEP(r, .op = PLAN_FILL, .tensor = K, .count = BYTES);
        if (i || !a.producers)
            STEP(r, .op = PLAN_FILL, .tensor = V, .count = BYTES);
        end(r);
        if (a.tiles)
            end(r);
    }
    struct plan_role *r = program_role(p, "consumer", a.consumers, WARPS);
    if (a.tiles)
        begin_loop(r, "tiles", 0);
    touch(r, o);
    begin_when(r, "kv", 0);
    op(r, PLAN_MMA_FENCE, 0);
    take(r, 0);
    multiply(r, 0, 0, s, 0);
    op(r, PLAN_MMA_WAIT, 0);
    touch(r, s);
    touch(r, q);
    end(r);
    begin_loop(r, "kv", 1);
    op(r, PLAN_MMA_FENCE, 0);
    take(r, 0);
    multiply(r, 0, 0, s, 0);
    STEP(r, .op = PLAN_READ, .tensor = V, .count = 1, .back = 1);
    STEP(r, .op = PLAN_MMA, .count = 1, .place = o, .place2 = q);
    op(r, PLAN_MMA_COMMIT, 0);
    op(r, PLAN_MMA_WAIT, 1);
    touch(r, s);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, 0, 1, WARPS);
    touch(r, q);
    touch(r, o);
    end(r);
    begin_when(r, "kv", 0);
    op(r, PLAN_MMA_FENCE, 0);
    STEP(r, .op = PLAN_READ, .tensor = V, .count = 1);
    STEP(r, .op = PLAN_MMA, .count = 1, .place = o, .place2 = q);
    op(r, PLAN_MMA_COMMIT, 0);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, 0, 0, WARPS);
    end(r);
    touch(r, o);
    if (a.tiles)
        end(r);
    return true;
}

bool program_handoff(struct plan *p, int roles, bool first_waits)
{
    program_begin(p);
    p->barrier[0] = (struct plan_barrier){.name = "there", .id = 1, .threads = 64 * roles};
    p->barrier[1] = (struct plan_barrier){.name = "back", .id = 2, .threads = 64 * roles};
    p->barrier_count = 2;
    int acc = program_place(p, "acc", PLAN_PLACE_FRAGMENT);
    for (int i = 0; i < 2; i++) {
        struct plan_role *r = program_role(p, i ? "other" : "one", roles, 1);
        begin_loop(r, "tiles", 0);
        if (i == 0) {
            touch(r, acc);
            op(r, first_waits ? PLAN_BARRIER : PLAN_BARRIER_ARRIVE, 0);
            op(r, PLAN_BARRIER, 1);
        } else {
            op(r, PLAN_BARRIER, 0);
            touch(r, acc);
            op(r, PLAN_BARRIER_ARRIVE, 1);
        }
        end(r);
    }
    return true;
}

bool program_readers(struct plan *p, struct readers a)
{
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_BULK, a.stages + a.keep, 1, WARPS * a.readers);
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "tiles", 0);
    begin_loop(r, "k", 0);
    fill(r, K);
    end(r);
    end(r);
    for (int i = 0; i < a.readers; i++) {
        r = program_role(p, i ? "other" : "one", 1, WARPS);
        begin_loop(r, "tiles", 0);
        op(r, PLAN_MMA_FENCE, 0);
        begin_loop(r, "k", 0);
        take(r, K);
        multiply(r, K, 0, acc, 0);
        if (a.again && i)
            multiply(r, K, 0, acc, 0);
        op(r, PLAN_MMA_WAIT, a.again && i ? 2 * a.keep : a.keep);
        release(r, K, a.keep, WARPS);
        end(r);
        op(r, PLAN_MMA_WAIT, 0);
        release(r, K, 0, WARPS);
        touch(r, acc);
        end(r);
    }
    return true;
}

bool program_norm(struct plan *p, struct norm a)
{
    int arrivals = a.by_warps ? WARPS : 1;
    program_begin(p);
    program_ring(p, "x", PLAN_FILL_BULK, a.stages + a.columns - 1, 1, arrivals * a.instances);
    int sum = program_place(p, "sum", PLAN_PLACE_ROWS), all = program_place(p, "all", PLAN_PLACE_SHARED);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "rows", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "tiles", 0);
    for (int i = 0; i < a.columns; i++)
        fill(r, K);
    end(r);
    r = program_role(p, "consumer", a.instances, WARPS);
    begin_loop(r, "tiles", 0);
    for (int i = 0; i < a.columns; i++) {
        take(r, K);
        STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    }
    touch(r, sum);
    scratch(r, PLAN_SCRATCH_WRITE, all, 0);
    op(r, PLAN_BARRIER, 0);
    scratch(r, PLAN_SCRATCH_READ, all, 0);
    for (int i = a.columns - 1; i >= 0; i--)
        STEP(r, .op = PLAN_READ, .ring = K, .tensor = K, .back = i);
    op(r, PLAN_BARRIER, 0);
    release(r, K, 0, arrivals);
    end(r);
    return true;
}

bool program_convert(struct plan *p, struct convert a)
{
    int arrivals = a.by_warps ? WARPS : 1, each = a.arrive_by_warps ? WARPS : 1;
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_BULK, a.stages, 1, arrivals * a.converters);
    program_ring(p, "b", PLAN_FILL_ARRIVE, a.b_stages, each * a.converters, WARPS * a.consumers);
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "all", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "k", 0);
    fill(r, K);
    end(r);
    r = program_role(p, "convert", a.converters, WARPS);
    begin_loop(r, "k", 0);
    take(r, K);
    STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    STEP(r, .op = PLAN_WAIT_EMPTY, .ring = V, .phase = 1);
    STEP(r, .op = PLAN_WRITE, .ring = V, .tensor = V);
    op(r, PLAN_FENCE_ASYNC, 0);
    if (!a.by_warps || !a.arrive_by_warps)
        op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_ARRIVE, .ring = V, .arrivals = each);
    release(r, K, 0, arrivals);
    end(r);
    r = program_role(p, "consumer", a.consumers, WARPS);
    op(r, PLAN_MMA_FENCE, 0);
    begin_loop(r, "k", 0);
    take(r, V);
    multiply(r, V, 0, acc, 0);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, V, 0, WARPS);
    end(r);
    touch(r, acc);
    return true;
}

bool program_parts(struct plan *p, struct parts a)
{
    const int ring = a.loads;
    program_begin(p);
    p->launch.cluster[0] = 2;
    p->launch.cluster[1] = p->launch.cluster[2] = 1;
    if (a.loads)
        program_ring(p, "k", PLAN_FILL_BULK, 1, 1, WARPS);
    program_ring(p, "parts", PLAN_FILL_PEERS, a.stages, 1, WARPS);
    p->ring[ring].tensor_count = 0;
    p->ring[ring].tx_bytes = BYTES;
    p->ring[ring].peers = 2;
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR), part = program_place(p, "part", PLAN_PLACE_FRAGMENT);
    struct plan_role *r;
    if (a.loads) {
        r = program_role(p, "producer", 1, 1);
        if (a.tiles)
            begin_loop(r, "tiles", 0);
        fill(r, K);
        if (a.tiles)
            end(r);
    }
    r = program_role(p, "consumer", 1, WARPS);
    if (a.tiles)
        begin_loop(r, "tiles", 0);
    if (a.loads) {
        take(r, K);
        op(r, PLAN_MMA_FENCE, 0);
        multiply(r, K, 0, acc, 0);
        op(r, PLAN_MMA_WAIT, 0);
        release(r, K, 0, WARPS);
    }
    for (int i = 0; i < a.stages; i++) {
        touch(r, acc);
        STEP(r, .op = PLAN_WAIT_EMPTY, .ring = ring, .tensor = -1, .phase = 1);
        STEP(r, .op = PLAN_EXPECT, .ring = ring, .tensor = -1, .count = BYTES);
        STEP(r, .op = PLAN_FILL, .ring = ring, .tensor = -1, .count = BYTES, .place = acc);
        take(r, ring);
        STEP(r, .op = PLAN_READ, .ring = ring, .tensor = -1, .place = part);
        op(r, PLAN_FENCE_ASYNC, 0);
        release(r, ring, 0, WARPS);
        touch(r, part);
    }
    if (a.tiles)
        end(r);
    STEP(r, .op = PLAN_DRAIN, .ring = ring, .tensor = -1);
    return true;
}

bool program_through_scratch(struct plan *p, int stages, bool by_warps)
{
    int arrivals = by_warps ? WARPS : 1;
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_BULK, stages, 1, arrivals);
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR), b = program_place(p, "b", PLAN_PLACE_SHARED);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "all", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "k", 0);
    fill(r, K);
    end(r);
    r = program_role(p, "consumer", 1, WARPS);
    touch(r, acc);
    begin_loop(r, "k", 0);
    take(r, K);
    STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    scratch(r, PLAN_SCRATCH_WRITE, b, 0);
    op(r, PLAN_FENCE_ASYNC, 0);
    op(r, PLAN_BARRIER, 0);
    release(r, K, 0, arrivals);
    op(r, PLAN_MMA_FENCE, 0);
    scratch(r, PLAN_SCRATCH_READ, b, 1);
    STEP(r, .op = PLAN_MMA, .place = acc);
    op(r, PLAN_MMA_COMMIT, 0);
    op(r, PLAN_MMA_WAIT, 0);
    op(r, PLAN_BARRIER, 0);
    end(r);
    touch(r, acc);
    return true;
}

bool program_in_turn(struct plan *p, struct in_turn a)
{
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_BULK, a.stages, 1, WARPS);
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR);
    p->barrier[p->barrier_count++] =
        (struct plan_barrier){.name = "turn", .id = 1, .threads = 64 * WARPS, .turns = true};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "items", 0);
    begin_loop(r, "k", 0);
    fill(r, K);
    end(r);
    end(r);
    r = program_role(p, "consumer", a.consumers, WARPS);
    if (a.turns)
        STEP(r, .op = PLAN_BARRIER_ARRIVE, .only = plan_some(a.consumers - 1));
    STEP(r, .op = PLAN_LOOP, .call = "items", .share = a.consumers);
    for (int i = 0; i < 2; i++) {
        if (i == a.skip_first) {
            if (a.turns)
                op(r, PLAN_BARRIER, 0);
            op(r, PLAN_MMA_FENCE, 0);
            begin_loop(r, "k", 0);
            take(r, K);
            multiply(r, K, 0, acc, 0);
            op(r, PLAN_MMA_WAIT, 0);
            release(r, K, 0, WARPS);
            end(r);
            if (a.turns)
                op(r, PLAN_BARRIER_ARRIVE, 0);
            touch(r, acc);
        } else {
            begin_loop(r, "k", 0);
            STEP(r, .op = PLAN_SKIP, .ring = K);
            end(r);
        }
    }
    end(r);
    if (a.awaited)
        STEP(r, .op = PLAN_BARRIER, .only = PLAN_NEXT);
    return a.turns;
}

/* Chunks of the late place, while or if one is held. */
static void send_late(struct plan_role *r, enum plan_op flow, int place, int buffers, int part)
{
    STEP(r, .op = flow, .place = place, .part = part);
    STEP(r, .op = PLAN_STORE_WAIT, .ring = V, .count = buffers - 1);
    op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_WRITE, .ring = V, .tensor = V, .place = place);
    op(r, PLAN_FENCE_ASYNC, 0);
    op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_STORE, .ring = V, .tensor = V, .place = place);
    end(r);
}

/* A chunk for each buffer: they are asked for, then taken, written over and stored. */
static void through_buffers(struct plan_role *r, int buffers)
{
    STEP(r, .op = PLAN_STORE_WAIT, .ring = V, .count = 0);
    STEP(r, .op = PLAN_LOOP, .count = buffers);
    STEP(r, .op = PLAN_EXPECT, .ring = K, .tensor = -1, .count = BYTES);
    STEP(r, .op = PLAN_FILL, .ring = K, .tensor = K, .count = BYTES);
    end(r);
    STEP(r, .op = PLAN_LOOP, .count = buffers);
    take(r, K);
    STEP(r, .op = PLAN_READ, .ring = K, .tensor = K);
    STEP(r, .op = PLAN_WRITE, .ring = V, .tensor = V);
    op(r, PLAN_FENCE_ASYNC, 0);
    op(r, PLAN_BARRIER, 0);
    STEP(r, .op = PLAN_STORE, .ring = V, .tensor = V);
    end(r);
}

bool program_source(struct plan *p, struct source a)
{
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_OWN, a.buffers, 1, 0);
    program_ring(p, "v", PLAN_FILL_THREADS, a.buffers, 0, 0);
    p->ring[K].tx_bytes = BYTES;
    p->ring[K].into = plan_some(V);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "rows", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "consumer", a.consumers, WARPS);
    begin_loop(r, "tiles", 0);
    through_buffers(r, a.buffers);
    if (a.doubled)
        through_buffers(r, a.buffers);
    end(r);
    STEP(r, .op = PLAN_STORE_WAIT, .ring = V, .count = 0);
    return true;
}

bool program_late(struct plan *p, struct late a)
{
    program_begin(p);
    program_ring(p, "k", PLAN_FILL_BULK, a.stages, 1, WARPS * a.consumers);
    program_ring(p, "v", PLAN_FILL_THREADS, a.buffers, 0, 0);
    int acc = program_place(p, "acc", PLAN_PLACE_ACCUMULATOR), late = program_place(p, "late", PLAN_PLACE_LATE);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "rows", .id = 1, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "producer", 1, 1);
    begin_loop(r, "tiles", 0);
    begin_loop(r, "k", 0);
    fill(r, K);
    end(r);
    end(r);
    r = program_role(p, "consumer", a.consumers, WARPS);
    begin_loop(r, "tiles", 0);
    begin_loop(r, "k", 0);
    take(r, K);
    op(r, PLAN_MMA_FENCE, 0);
    multiply(r, K, 0, acc, 0);
    op(r, PLAN_MMA_WAIT, 1);
    release(r, K, 1, WARPS);
    send_late(r, PLAN_WHEN, late, a.buffers, a.part);
    end(r);
    if (!a.behind)
        send_late(r, PLAN_LOOP, late, a.buffers, 0);
    op(r, PLAN_MMA_WAIT, 0);
    release(r, K, 0, WARPS);
    if (a.behind)
        send_late(r, PLAN_LOOP, late, a.buffers, 0);
    touch(r, acc);
    STEP(r, .op = PLAN_LOOP, .count = a.chunks);
    touch(r, late);
    end(r);
    STEP(r, .op = PLAN_TOUCH, .place = late, .count = a.chunks);
    end(r);
    send_late(r, PLAN_LOOP, late, a.buffers, 0);
    STEP(r, .op = PLAN_STORE_WAIT, .ring = V);
    return true;
}

static void copy_stage(struct plan *p, struct plan_role *r, int ring)
{
    STEP(r, .op = PLAN_FILL, .ring = ring, .tensor = ring, .count = BYTES);
    if (p->tensor[ring].access != PLAN_ACCESS_GLOBAL)
        STEP(r, .op = PLAN_CP_COMMIT, .ring = ring);
}

/* The stage is there; `behind` groups may come after it. */
static void land(struct plan *p, struct plan_role *r, int ring, int behind)
{
    if (p->tensor[ring].access != PLAN_ACCESS_GLOBAL)
        STEP(r, .op = PLAN_CP_WAIT, .ring = ring, .count = behind);
    op(r, PLAN_BARRIER, 0);
}

bool program_copied(struct plan *p, struct copied a)
{
    program_begin(p);
    p->mma[0].kind = p->mma[1].kind = "mma.sync";
    for (int i = 0; i < 2 + (a.queries > 0); i++) {
        p->tensor[i].access = a.at_once ? PLAN_ACCESS_GLOBAL : PLAN_ACCESS_CP_ASYNC;
        program_ring(p, p->tensor[i].name, PLAN_FILL_CP_ASYNC, i == Q ? 1 : a.stages, 0, 0);
    }
    int s = program_place(p, "s", PLAN_PLACE_ACCUMULATOR), o = program_place(p, "o", PLAN_PLACE_ACCUMULATOR);
    int x = program_place(p, "x", PLAN_PLACE_OPERAND);
    p->barrier[p->barrier_count++] = (struct plan_barrier){.name = "block", .id = 0, .threads = 32 * WARPS};
    struct plan_role *r = program_role(p, "block", 1, WARPS);
    int ahead = a.stages - 1;
    if (a.tiles)
        begin_loop(r, "tiles", 0);
    if (a.queries) {
        op(r, PLAN_BARRIER, 0);
        copy_stage(p, r, Q);
    }
    touch(r, o);
    STEP(r, .op = PLAN_LOOP, .call = "first", .count = ahead);
    copy_stage(p, r, K);
    copy_stage(p, r, V);
    end(r);
    if (a.queries) {
        land(p, r, Q, 2 * ahead);
        STEP(r, .op = PLAN_TAKE, .ring = Q);
    }
    if (a.queries == 1) {
        touch(r, x);
        STEP(r, .op = PLAN_READ, .ring = Q, .tensor = Q);
    }
    for (int body = 0; body <= a.masked; body++) {
        begin_loop(r, body ? "kv" : "masked", 0);
        for (int ring = K; ring <= V; ring++) {
            land(p, r, ring, 2 * ahead - 1);
            copy_stage(p, r, ring);
            STEP(r, .op = PLAN_TAKE, .ring = ring);
            if (a.queries == 2 && ring == K)
                STEP(r, .op = PLAN_READ, .ring = Q, .tensor = Q);
            STEP(r, .op = PLAN_READ, .ring = ring, .tensor = ring);
            STEP(r, .op = PLAN_MMA, .count = ring, .place = ring == K ? s : o, .place2 = x);
            touch(r, ring == K ? s : o);
        }
        end(r);
    }
    if (a.tiles)
        end(r);
    return true;
}
