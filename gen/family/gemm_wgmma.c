/* GEMM on architectures with TMA, mbarriers and wgmma: a producer warpgroup and one to three consumers.
 *
 * Budgets: 65536 registers and 227 KB of shared memory a multiprocessor, one block on each. Two consumers with 64 x 256
 * of fp32 each hold 128 accumulators a thread; 4 stages of (128 + 256) x 64 bf16 are 192 KB and leave 32 KB for results.
 */
#include "family/gemm.h"

#include <stdio.h>
#include <string.h>

enum {
    WARPGROUP = 128,
    MMA_M = 64,
    MMA_K_BYTES = 32,
    BUFFERS = 2,            /* of results, a consumer */
    MOST_STAGES = 8,
    PRODUCER_REGISTERS = 40,
    OTHER_REGISTERS = 40,   /* of a consumer beside its accumulators: addresses, descriptors, the epilogue */
};

static int consumer_registers(int consumers)
{
    return consumers == 3 ? 152 : 232;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static int choose_consumers(struct gemm *g)
{
    const struct spec_value *tile = &g->fields.value[FIELD_TILE_M];
    int fallback = 2;
    if (tile->set && tile->integer == 64)
        fallback = 1;
    else if (tile->set && tile->integer == 192)
        fallback = 3;
    return gemm_choose(g, FIELD_CONSUMERS, fallback, "each multiplies %s rows of the tile",
                       tile->set ? "its share of the" : "64");
}

static int choose_tiles(struct gemm *g, int consumers)
{
    int size = (int)tw_dtype_bytes(g->plan->tensor[g->a].dtype);
    int faults = 0;
    g->tile_m = gemm_choose(g, FIELD_TILE_M, MMA_M * consumers, "64 rows for each of %d consumers", consumers);
    if (g->tile_m % (MMA_M * consumers)) {
        int low = g->tile_m / (MMA_M * consumers) * MMA_M * consumers;
        faults |= gemm_fault(g, FIELD_TILE_M, "WGMMA-SHAPE",
                             "wgmma computes 64 rows and %d consumers share the tile's %d; write %d", consumers,
                             g->tile_m, low ? low : MMA_M * consumers);
        g->tile_m = low ? low : MMA_M * consumers;
    }
    int blocks = g->tile_m / consumers / MMA_M, most = 256 / blocks / 8 * 8;
    if (g->n > 0 && g->n < most)
        most = (int)((g->n + 7) / 8 * 8);
    g->tile_n = gemm_choose(g, FIELD_TILE_N, most, g->n > 0 && g->n <= 256 ? "N is %lld" : "the widest wgmma",
                            (long long)g->n);
    if (g->tile_n % 8)
        faults |= gemm_fault(g, FIELD_TILE_N, "WGMMA-SHAPE",
                             "wgmma computes a multiple of 8 columns up to 256, not %d; write %d or %d", g->tile_n,
                             g->tile_n / 8 * 8, g->tile_n / 8 * 8 + 8);
    g->tile_k = gemm_choose(g, FIELD_TILE_K, 128 / size, "128 bytes, the span of the widest swizzle");
    if (g->tile_k * size % MMA_K_BYTES)
        faults |= gemm_fault(g, FIELD_TILE_K, "WGMMA-SHAPE",
                             "wgmma takes %d %s along k at a time, and %d is no multiple; write %d", MMA_K_BYTES / size,
                             tw_dtype_name(g->plan->tensor[g->a].dtype), g->tile_k,
                             (g->tile_k * size / MMA_K_BYTES + 1) * MMA_K_BYTES / size);
    int budget = consumer_registers(consumers), accumulators = blocks * g->tile_n / 2;
    if (!faults && accumulators + OTHER_REGISTERS > budget) {
        int fits = (budget - OTHER_REGISTERS) * 2 / blocks / 8 * 8;
        faults |= gemm_fault(g, FIELD_TILE_N, "REGS",
                             "%d x %d of fp32 for each consumer are %d registers a thread, and with %d for addresses "
                             "more than the %d that %d consumers can have; write tile.n = %d or fewer rows",
                             g->tile_m / consumers, g->tile_n, accumulators, OTHER_REGISTERS, budget, consumers,
                             fits > 256 ? 256 : fits);
    }
    return faults;
}

static int choose_cluster(struct gemm *g)
{
    int faults = 0;
    bool divides = g->tile_n % 16 == 0 || g->b_mn_major;
    g->cluster_m = gemm_choose(g, FIELD_CLUSTER_M, divides ? 2 : 1,
                               divides ? "two blocks share B by multicast" : "8-row slices of B's tile need tile.n %% 16 == 0");
    g->cluster_n = gemm_choose(g, FIELD_CLUSTER_N, 1, "A is not shared");
    int rows_a = g->a_mn_major ? g->tile_k : g->tile_m, rows_b = g->b_mn_major ? g->tile_k : g->tile_n;
    const char *const name_a = g->a_mn_major ? "tile.k" : "tile.m", *const name_b = g->b_mn_major ? "tile.k" : "tile.n";
    if (rows_b % (8 * g->cluster_m))
        faults |= gemm_fault(g, FIELD_CLUSTER_M, "CLUSTER-SLICE",
                             "%d blocks each load a slice of B's %d rows (%s) in multiples of 8 rows, and %d does not "
                             "divide by %d; write cluster.m = 1 or %s = %d",
                             g->cluster_m, rows_b, name_b, rows_b, 8 * g->cluster_m, name_b,
                             (rows_b / (8 * g->cluster_m) + 1) * 8 * g->cluster_m);
    if (rows_a % (8 * g->cluster_n))
        faults |= gemm_fault(g, FIELD_CLUSTER_N, "CLUSTER-SLICE",
                             "%d blocks each load a slice of A's %d rows (%s) in multiples of 8 rows, and %d does not "
                             "divide by %d; write cluster.n = 1 or %s = %d",
                             g->cluster_n, rows_a, name_a, rows_a, 8 * g->cluster_n, name_a,
                             (rows_a / (8 * g->cluster_n) + 1) * 8 * g->cluster_n);
    if (g->cluster_m * g->cluster_n > g->arch->max_cluster)
        faults |= gemm_fault(g, FIELD_CLUSTER_M, "CLUSTER-SIZE", "%d x %d blocks are more than the %d of a cluster; write less",
                             g->cluster_m, g->cluster_n, g->arch->max_cluster);
    return faults;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* An operand's tile in one stage, and how wgmma reads it. */
static int operand(struct gemm *g, int tensor, struct plan_mma *mma, int which)
{
    struct plan_tensor *t = &g->plan->tensor[tensor];
    bool mn_major = which == 0 ? g->a_mn_major : g->b_mn_major;
    int across = which == 0 ? g->tile_m : g->tile_n;
    enum spec_field field = which == 0 ? FIELD_TILE_M : FIELD_TILE_N;
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->multicast = which == 0 ? g->cluster_n : g->cluster_m;
    if (mn_major ? gemm_tile_layout(g, tensor, g->tile_k, across, field)
                 : gemm_tile_layout(g, tensor, across, g->tile_k, FIELD_TILE_K))
        return 1;
    int span = t->box_bytes / t->tile[0];
    t->box[0] = t->tile[0] / t->multicast;
    mma->operand[which].tensor = tensor;
    mma->operand[which].mn_major = mn_major;
    bool plain = t->swizzle == TW_SWIZZLE_NONE;
    if (mn_major) {
        /* Groups of 8 k rows lie 8 spans apart; the next span along m or n is the next box. */
        mma->operand[which].leading_bytes = plain ? 8 * span : t->box_bytes;
        mma->operand[which].stride_bytes = plain ? t->box_bytes : 8 * span;
        mma->operand[which].k_bytes = mma->k * span;
        mma->operand[which].block_bytes = MMA_M * (int)tw_dtype_bytes(t->dtype) / span * t->box_bytes;
    } else {
        /* Groups of 8 rows lie 8 spans apart. Without a swizzle the second 16 bytes along k are the next box. */
        mma->operand[which].leading_bytes = plain ? t->box_bytes : 16;
        mma->operand[which].stride_bytes = 8 * span;
        mma->operand[which].k_bytes = MMA_K_BYTES;
        mma->operand[which].block_bytes = MMA_M * span;
    }
    if (mn_major && MMA_M * (int)tw_dtype_bytes(t->dtype) % span)
        return gemm_fault(g, field, "WGMMA-SHAPE", "64 rows of wgmma are narrower than the %d-byte span", span);
    return 0;
}

/* What one step of the epilogue stores of an output: 64 rows and as many columns as a box holds. */
static int output(struct gemm *g, int tensor)
{
    struct plan_tensor *t = &g->plan->tensor[tensor];
    int size = (int)tw_dtype_bytes(t->dtype);
    bool by_row = strcmp(t->axis[1], "n") == 0;
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->whole_rows = true;
    if (by_row) {
        if (gemm_tile_layout(g, tensor, MMA_M, g->tile_n, FIELD_TILE_N))
            return 1;
        t->tile[1] = t->box[1];
        t->boxes = 1;
    } else {
        int columns = size == 4 ? 32 : 64;
        while (g->tile_n % columns)
            columns /= 2;
        if (gemm_tile_layout(g, tensor, columns, MMA_M, FIELD_TILE_M))
            return 1;
    }
    t->tile_bytes = t->boxes * t->box_bytes;
    if (t->tile[by_row ? 1 : 0] % 8)
        return gemm_fault(g, FIELD_TILE_N, "TMA-SPAN", "a box of %s is narrower than the 8 columns of a fragment; write swizzle = \"32B\"",
                          t->name);
    return 0;
}

/* Pairs of neighbours along n are read as one word where rows are aligned to it. */
static void operands_of_epilogue(struct gemm *g, bool aligned)
{
    struct plan *p = g->plan;
    for (int i = 0; i < p->tensor_count; i++) {
        struct plan_tensor *t = &p->tensor[i];
        if (i == g->a || i == g->b || t->out)
            continue;
        bool by_row = t->rank == 2 && strcmp(t->axis[1], "n") == 0;
        t->align = (int)tw_dtype_bytes(t->dtype) * (aligned && by_row ? 2 : 1);
    }
}

/* ---- rings and roles --------------------------------------------------------------------------------------------- */

static int step(struct gemm *g, struct plan_role *role, enum plan_op op, int ring, int tensor, int count, int phase,
                int arrivals, const char *call)
{
    return family_add_step(g->plan, role, (struct plan_step){op, ring, tensor, count, phase, arrivals, call});
}

static int producer(struct gemm *g, int stage_bytes, bool clustered)
{
    struct plan *p = g->plan;
    struct plan_role *r = family_add_role(p, "producer", 1, 0, 4, PRODUCER_REGISTERS);
    return !r || step(g, r, PLAN_LOOP, -1, -1, 0, 0, 0, "tiles") || step(g, r, PLAN_LOOP, -1, -1, 0, 0, 0, "k") ||
           step(g, r, PLAN_WAIT_EMPTY, 0, -1, 0, 1, 0, "ab_wait_empty") ||
           step(g, r, PLAN_EXPECT, 0, -1, stage_bytes, 0, 0, "ab_expect") ||
           step(g, r, PLAN_FILL, 0, g->a, p->tensor[g->a].tile_bytes / p->tensor[g->a].multicast, 0, 0, "A_load") ||
           step(g, r, PLAN_FILL, 0, g->b, p->tensor[g->b].tile_bytes / p->tensor[g->b].multicast, 0, 0, "B_load") ||
           step(g, r, PLAN_END, -1, -1, 0, 0, 0, NULL) || step(g, r, PLAN_END, -1, -1, 0, 0, 0, NULL) ||
           (clustered && step(g, r, PLAN_DRAIN, 0, -1, 0, 0, 0, "ab_drain"));
}

static int store_steps(struct gemm *g, struct plan_role *r, int tensor)
{
    struct plan *p = g->plan;
    const char *name = p->tensor[tensor].name;
    return step(g, r, PLAN_LOOP, -1, -1, 0, 0, 0, name) ||
           step(g, r, PLAN_STORE_WAIT, 1, -1, BUFFERS - 1, 0, 0, "d_wait") ||
           step(g, r, PLAN_BARRIER, -1, -1, 0, 0, 0, "d_barrier") ||
           step(g, r, PLAN_WRITE, 1, tensor, 0, 0, 0, plan_text(p, "%s_write", name)) ||
           step(g, r, PLAN_FENCE_ASYNC, 1, -1, 0, 0, 0, "d_fence") ||
           step(g, r, PLAN_BARRIER, -1, -1, 0, 0, 0, "d_barrier") ||
           step(g, r, PLAN_STORE, 1, tensor, 0, 0, 0, plan_text(p, "%s_store", name)) ||
           step(g, r, PLAN_END, -1, -1, 0, 0, 0, NULL);
}

static int consumer(struct gemm *g, int consumers, bool staged)
{
    struct plan *p = g->plan;
    struct plan_role *r = family_add_role(p, "consumer", consumers, 4, 4 * consumers, consumer_registers(consumers));
    if (!r || step(g, r, PLAN_LOOP, -1, -1, 0, 0, 0, "tiles") || step(g, r, PLAN_LOOP, -1, -1, 0, 0, 0, "k") ||
        step(g, r, PLAN_WAIT_FULL, 0, -1, 0, 0, 0, "ab_wait_full") || step(g, r, PLAN_READ, 0, g->a, 1, 0, 0, "mma") ||
        step(g, r, PLAN_READ, 0, g->b, 1, 0, 0, "mma") || step(g, r, PLAN_MMA_COMMIT, -1, -1, 0, 0, 0, "mma_commit") ||
        step(g, r, PLAN_MMA_WAIT, -1, -1, 1, 0, 0, "mma_wait_1") ||
        step(g, r, PLAN_RELEASE, 0, -1, 1, 0, 4, "ab_release") || step(g, r, PLAN_END, -1, -1, 0, 0, 0, NULL) ||
        step(g, r, PLAN_MMA_WAIT, -1, -1, 0, 0, 0, "mma_wait_0") ||
        step(g, r, PLAN_RELEASE, 0, -1, 0, 0, 4, "ab_release"))
        return 1;
    for (int i = 0; i < g->output_count; i++)
        if (staged ? store_steps(g, r, g->output[i])
                   : step(g, r, PLAN_GLOBAL, -1, g->output[i], 0, 0, 0,
                          plan_text(p, "%s_store_global", p->tensor[g->output[i]].name)))
            return 1;
    return step(g, r, PLAN_END, -1, -1, 0, 0, 0, NULL) ||
           (staged && step(g, r, PLAN_STORE_WAIT, 1, -1, 0, 0, 0, "d_wait_0"));
}

/* As many stages as the shared memory beside the results holds. Returns 0, 1 a fault. */
static int choose_stages(struct gemm *g, int stage_bytes, int result_bytes, int *stages)
{
    int limit = g->arch->shared_limit - result_bytes;
    int fit = limit / (stage_bytes + 16);
    *stages = gemm_choose(g, FIELD_STAGES, fit > MOST_STAGES ? MOST_STAGES : fit,
                          "stages of %d bytes beside %d bytes of results in %d bytes", stage_bytes, result_bytes,
                          g->arch->shared_limit);
    if (fit < 1)
        return gemm_fault(g, FIELD_TILE_N, "SMEM",
                          "one stage of %d bytes and %d bytes of results exceed the %d bytes of a block; write smaller "
                          "tiles",
                          stage_bytes, result_bytes, g->arch->shared_limit);
    if (*stages > fit)
        return gemm_fault(g, FIELD_STAGES, "SMEM",
                          "%d stages of %d bytes and %d bytes of results are %d bytes, more than the %d of a block; write "
                          "%d",
                          *stages, stage_bytes, result_bytes, *stages * (stage_bytes + 16) + result_bytes,
                          g->arch->shared_limit, fit);
    return 0;
}

static int memory_and_roles(struct gemm *g, int consumers, bool staged)
{
    struct plan *p = g->plan;
    struct plan_tensor *a = &p->tensor[g->a], *b = &p->tensor[g->b];
    int stage_bytes = a->tile_bytes + b->tile_bytes, result_bytes = 0, stages;
    int result_align = 128;
    for (int i = 0; staged && i < g->output_count; i++) {
        const struct plan_tensor *t = &p->tensor[g->output[i]];
        if (t->tile_bytes > result_bytes)
            result_bytes = t->tile_bytes;
        if ((int)tw_swizzles[t->swizzle].align > result_align)
            result_align = (int)tw_swizzles[t->swizzle].align;
    }
    result_bytes = (result_bytes + 1023) / 1024 * 1024 * BUFFERS * consumers;
    if (choose_stages(g, stage_bytes, result_bytes, &stages))
        return 1;
    int peers = g->cluster_m + g->cluster_n - 1;
    bool clustered = g->cluster_m * g->cluster_n > 1;
    struct plan_ring *ring = family_add_ring(p, "ab", stages, PLAN_FILL_BULK);
    if (!ring)
        return 3;
    ring->tensor[0] = g->a;
    ring->tensor[1] = g->b;
    ring->tensor_count = 2;
    ring->full_arrivals = 1;
    ring->tx_bytes = stage_bytes;
    ring->empty_arrivals = 4 * consumers * peers; /* every warp of every block that reads what this one loads */
    int align_a = (int)tw_swizzles[a->swizzle].align, align_b = (int)tw_swizzles[b->swizzle].align;
    if (!family_add_shared(p, "ab.A", stages * a->tile_bytes, align_a, stages) ||
        !family_add_shared(p, "ab.B", stages * b->tile_bytes, align_b, stages))
        return 3;
    if (staged) {
        struct plan_ring *d = family_add_ring(p, "d", BUFFERS, PLAN_FILL_THREADS);
        if (!d || !family_add_shared(p, "d", result_bytes, result_align, BUFFERS * consumers))
            return 3;
        for (int i = 0; i < g->output_count; i++)
            d->tensor[d->tensor_count++] = g->output[i];
        if (family_add_barrier(p, "d_barrier", 1, WARPGROUP))
            return 3;
    }
    p->ring[0].full_shared = p->shared_count;
    p->ring[0].empty_shared = p->shared_count + 1;
    if (!family_add_shared(p, "ab.full", 8 * stages, 8, stages) || !family_add_shared(p, "ab.empty", 8 * stages, 8, stages))
        return 3;
    return producer(g, stage_bytes, clustered) || consumer(g, consumers, staged) ? 3 : 0;
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

int gemm_resolve_wgmma(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                       struct plan *p, struct diag_set *diags)
{
    struct gemm g = {.spec = spec, .kernel = kernel, .arch = arch, .plan = p, .diags = diags};
    bool staged = variant == 0;
    p->variant = staged ? "" : "unaligned";
    p->entry = plan_text(p, staged ? "%s" : "%s__unaligned", kernel->name);
    p->template_name = "gemm.sm_90a.cu";
    int status = gemm_begin(&g);
    if (status)
        return status;
    int consumers = choose_consumers(&g);
    status = choose_tiles(&g, consumers);
    if (status == 0)
        status = choose_cluster(&g);
    if (status)
        return status;

    struct plan_mma *mma = family_add_mma(p, "mma", "wgmma");
    if (!mma)
        return 3;
    mma->m = MMA_M;
    mma->n = g.tile_n;
    mma->k = MMA_K_BYTES / (int)tw_dtype_bytes(p->tensor[g.a].dtype);
    mma->input = p->tensor[g.a].dtype;
    mma->accumulator = TW_FP32;
    mma->blocks_m = g.tile_m / consumers / MMA_M;
    mma->blocks_n = 1;
    mma->k_steps = g.tile_k / mma->k;
    status = operand(&g, g.a, mma, 0) | operand(&g, g.b, mma, 1);
    for (int i = 0; staged && i < g.output_count; i++)
        status |= output(&g, g.output[i]);
    if (status)
        return status;
    operands_of_epilogue(&g, staged);

    const struct spec_value *promotion = &g.fields.value[FIELD_PROMOTION];
    int l2 = promotion->set ? (int)promotion->integer : 2;
    if (!family_add_map(p, g.a, l2) || !family_add_map(p, g.b, l2))
        return 3;
    for (int i = 0; staged && i < g.output_count; i++)
        if (!family_add_map(p, g.output[i], 0))
            return 3;
    p->launch.block = WARPGROUP * (consumers + 1);
    p->launch.min_blocks = 1;
    p->registers_estimate = mma->blocks_m * mma->n / 2 + OTHER_REGISTERS;
    const struct spec_value *most = &g.fields.value[FIELD_REGISTERS], *spills = &g.fields.value[FIELD_SPILLS];
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    status = memory_and_roles(&g, consumers, staged);
    const struct spec_value *persistent = &g.fields.value[FIELD_PERSISTENT];
    if (status == 0 && (family_add_word(p, "store", staged ? "tma" : "global")))
        status = 3;
    return status ? status : gemm_end(&g, !persistent->set || persistent->integer, 1);
}
