/* GEMM on architectures with TMA, mbarriers and wgmma: a producer warpgroup and one to three consumers.
 *
 * Budgets: 65536 registers and 227 KB of shared memory a multiprocessor, one block on each. Two consumers with 64 x 256
 * of fp32 each hold 128 accumulators a thread; 4 stages of (128 + 256) x 64 bf16 are 192 KB and leave 32 KB for
 * results.
 */
#include "family/gemm.h"

#include <stdio.h>
#include <string.h>

enum {
    WARPGROUP = 128,
    MMA_M = 64,
    MMA_K_BYTES = 32,
    BUFFERS = 2, /* of results, a consumer */
    MOST_STAGES = 8,
    MOST_CONSUMERS = 3,
    MOST_BOX = 256, /* elements of a tensor map's box along one dim */
    PRODUCER_REGISTERS = 40,
    STAGE_BARRIERS = 16,  /* bytes of a stage's two mbarriers */
    OTHER_REGISTERS = 40, /* of a consumer beside its accumulators: addresses, descriptors, results under way */
    OTHER_REGISTERS_FUSED = 56,
    MMA_REGISTERS = 26, /* of a wgmma beside its accumulators, as ptxas counts (C7602) */
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

/* Of a consumer beside its accumulators. Where it has several blocks of them, the operands of an epilogue for all of
 * them are under way. */
static int other_registers(const struct gemm *g, int blocks)
{
    const struct spec_value *spills = &g->fields.value[FIELD_SPILLS];
    bool fused = g->plan->epilogue.set || g->c >= 0;
    return blocks > 1 && fused && !(spills->set && spills->integer) ? OTHER_REGISTERS_FUSED : OTHER_REGISTERS;
}

/* What every thread has before setmaxnreg; ptxas holds one instruction's operands against it. */
static int first_registers(const struct arch *arch, int consumers)
{
    int share = arch->registers_per_block / (WARPGROUP * (consumers + 1)) / 8 * 8;
    return share < arch->registers_per_thread ? share : arch->registers_per_thread;
}

/* The widest tile whose sums a consumer holds in `blocks` blocks of 64 rows. */
static int columns_that_fit(const struct gemm *g, int consumers, int blocks)
{
    int sums = (consumer_registers(consumers) - other_registers(g, blocks)) / blocks;
    int one = first_registers(g->arch, consumers) - MMA_REGISTERS;
    int columns = 2 * (sums < one ? sums : one) / 8 * 8;
    return columns < 256 ? columns : 256;
}

static int choose_tiles(struct gemm *g, int consumers)
{
    int size = (int)tw_dtype_bytes(g->plan->tensor[g->a].dtype);
    int faults = 0;
    g->tile_m = gemm_choose(g, FIELD_TILE_M, MMA_M * consumers, "64 rows for each of %d consumers", consumers);
    if (g->tile_m % (MMA_M * consumers)) {
        int unit = MMA_M * consumers, low = g->tile_m / unit * unit, high = low + unit;
        char rows[80];
        if (low == 0 || high > spec_rows[FIELD_TILE_M].high)
            snprintf(rows, sizeof rows, "%d", low ? low : high);
        else
            snprintf(rows, sizeof rows, "%d or %d", low, high);
        if (g->tile_m % MMA_M == 0 && g->tile_m / MMA_M <= MOST_CONSUMERS)
            snprintf(rows + strlen(rows), sizeof rows - strlen(rows), ", or pipeline.consumers = %d",
                     g->tile_m / MMA_M);
        faults |= gemm_fault(g, FIELD_TILE_M, "WGMMA-SHAPE",
                             "wgmma computes 64 rows, so that %d consumer%s a multiple of %d, not %d; write %s",
                             consumers, consumers == 1 ? " takes" : "s share", unit, g->tile_m, rows);
        g->tile_m = low ? low : high;
    }
    int blocks = g->tile_m / consumers / MMA_M, fits = columns_that_fit(g, consumers, blocks);
    int most = (fits < 256 / blocks ? fits : 256 / blocks) / 16 * 16; /* two blocks of a cluster halve it */
    if (g->n > 0 && g->n < most)
        most = (int)((g->n + 7) / 8 * 8);
    g->tile_n = gemm_choose(g, FIELD_TILE_N, most,
                            g->n > 0 && g->n <= 256 ? "N is %lld" : "the widest wgmma whose sums fit", (long long)g->n);
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
    int accumulators = blocks * g->tile_n / 2, budget = consumer_registers(consumers);
    if (faults || g->tile_n <= fits)
        return faults;
    if (accumulators + other_registers(g, blocks) <= budget)
        return gemm_fault(
            g, FIELD_TILE_N, "REGS",
            "on %s a wgmma of %d columns takes %d registers of a thread, and the %d threads of a block with "
            "%d consumers begin with %d each; write tile.n = %d or fewer consumers",
            g->arch->name, g->tile_n, g->tile_n / 2 + MMA_REGISTERS, WARPGROUP * (consumers + 1), consumers,
            first_registers(g->arch, consumers), fits);
    return gemm_fault(
        g, FIELD_TILE_N, "REGS",
        "on %s %d x %d of fp32 for each consumer are %d registers a thread, and with %d for addresses and "
        "the epilogue more than the %d that %d consumer%s can have; write tile.n = %d or fewer rows",
        g->arch->name, g->tile_m / consumers, g->tile_n, accumulators, other_registers(g, blocks), budget, consumers,
        consumers == 1 ? "" : "s", fits);
}

/* `blocks` blocks of a cluster each load a part of an operand's tile, whole groups of 8 rows as the swizzle has them.
 */
static int check_slices(struct gemm *g, enum spec_field cluster, int blocks, const char *operand, enum spec_field tile,
                        int rows)
{
    int unit = 8 * blocks, fewer = blocks, nearest = (rows + unit - 1) / unit * unit;
    if (rows % unit == 0)
        return 0;
    while (rows % (8 * fewer))
        fewer--;
    if (nearest > spec_rows[tile].high)
        nearest -= unit;
    return gemm_fault(g, cluster, "CLUSTER-SLICE",
                      "%d blocks load %s's tile of %d rows (%s) in slices of whole groups of 8 rows, and %d is no "
                      "multiple of %d; write %d, or %s = %d",
                      blocks, operand, rows, spec_rows[tile].path, rows, unit, fewer, spec_rows[tile].path, nearest);
}

/* `sound`: so are the tiles, and their slices can be judged. */
static int choose_cluster(struct gemm *g, bool sound)
{
    bool divides = g->tile_n % 16 == 0 || g->b_mn_major;
    g->cluster_m =
        gemm_choose(g, FIELD_CLUSTER_M, divides ? 2 : 1,
                    divides ? "two blocks share B by multicast" : "8-row slices of B's tile need tile.n %% 16 == 0");
    g->cluster_n = gemm_choose(g, FIELD_CLUSTER_N, 1, "A is not shared");
    int faults = 0;
    if (sound) {
        faults = check_slices(g, FIELD_CLUSTER_M, g->cluster_m, "B", g->b_mn_major ? FIELD_TILE_K : FIELD_TILE_N,
                              g->b_mn_major ? g->tile_k : g->tile_n);
        faults |= check_slices(g, FIELD_CLUSTER_N, g->cluster_n, "A", g->a_mn_major ? FIELD_TILE_K : FIELD_TILE_M,
                               g->a_mn_major ? g->tile_k : g->tile_m);
    }
    int most = g->arch->max_cluster;
    if (g->cluster_m * g->cluster_n > most) {
        bool along_m = g->cluster_m >= g->cluster_n;
        int other = along_m ? g->cluster_n : g->cluster_m, fits = 1;
        while (2 * fits * other <= most)
            fits *= 2;
        faults |= gemm_fault(g, along_m ? FIELD_CLUSTER_M : FIELD_CLUSTER_N, "CLUSTER-SIZE",
                             "%d x %d blocks are %d, more than the %d of a cluster on %s; write %d", g->cluster_m,
                             g->cluster_n, g->cluster_m * g->cluster_n, most, g->arch->name, fits);
    }
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
    if (t->box[0] > MOST_BOX)
        return gemm_fault(g, mn_major ? FIELD_TILE_K : field, "TMA-BOX",
                          "%d rows of %s in one box, which takes up to %d on %s; write %d", t->box[0], t->name,
                          MOST_BOX, g->arch->name, MOST_BOX * t->multicast);
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
        return gemm_fault(g, FIELD_TILE_N, "TMA-SPAN",
                          "a box of %s is narrower than the 8 columns of a fragment; write swizzle = \"32B\"", t->name);
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
        bool along_n = strcmp(t->axis[t->rank - 1], "n") == 0;
        t->align = (int)tw_dtype_bytes(t->dtype) * (aligned && along_n ? 2 : 1);
        t->whole_rows = aligned && along_n;
    }
}

/* ---- rings and roles --------------------------------------------------------------------------------------------- */

static int step(struct gemm *g, struct plan_role *role, enum plan_op op, int ring, int tensor, int count, int phase,
                int arrivals, const char *call)
{
    struct plan_step made = {.op = op, .ring = ring, .tensor = tensor, .count = count};
    made.phase = phase;
    made.arrivals = arrivals;
    made.call = call;
    return family_add_step(g->plan, role, made);
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

/* As many stages as the shared memory beside the results holds. What the spec sets must fit beside `most_results`, the
 * results of the variant that has the most of them, so that both variants say the same. Returns 0, 1 a fault. */
static int choose_stages(struct gemm *g, int result_bytes, int most_results, int *stages)
{
    const struct plan_tensor *a = &g->plan->tensor[g->a], *b = &g->plan->tensor[g->b];
    int stage_bytes = a->tile_bytes + b->tile_bytes, limit = g->arch->shared_limit;
    int fit = (limit - result_bytes) / (stage_bytes + STAGE_BARRIERS);
    int fit_of_both = (limit - most_results) / (stage_bytes + STAGE_BARRIERS);
    *stages =
        gemm_choose(g, FIELD_STAGES, fit > MOST_STAGES ? MOST_STAGES : fit,
                    "stages of %d bytes beside %d bytes of results in %d bytes", stage_bytes, result_bytes, limit);
    if (fit_of_both < 2)
        return gemm_stage_fault(g, most_results, (limit - most_results) / 2 - STAGE_BARRIERS);
    if (*stages > fit_of_both && g->fields.value[FIELD_STAGES].set)
        return gemm_fault(
            g, FIELD_STAGES, "SMEM",
            "%d stages of %d bytes (A %d, B %d) and %d bytes of results are %d bytes of shared memory, but "
            "a block of %s has %d; write %d",
            *stages, stage_bytes, a->tile_bytes, b->tile_bytes, most_results,
            *stages * (stage_bytes + STAGE_BARRIERS) + most_results, g->arch->name, limit, fit_of_both);
    return 0;
}

/* Bytes of the buffers that results wait in for their bulk stores. */
static int staged_bytes(const struct gemm *g, int consumers)
{
    int most = 0;
    for (int i = 0; i < g->output_count; i++)
        if (g->plan->tensor[g->output[i]].tile_bytes > most)
            most = g->plan->tensor[g->output[i]].tile_bytes;
    return (most + 1023) / 1024 * 1024 * BUFFERS * consumers;
}

/* most_results: bytes of the buffers of bulk stores, 0 where no variant has them. */
static int memory_and_roles(struct gemm *g, int consumers, bool staged, int most_results)
{
    struct plan *p = g->plan;
    struct plan_tensor *a = &p->tensor[g->a], *b = &p->tensor[g->b];
    int stage_bytes = a->tile_bytes + b->tile_bytes, stages;
    int columns = g->tile_n % 32 == 0 ? 32 : g->tile_n % 16 == 0 ? 16 : 8;
    int row_bytes = 4 * consumers * 16 * (columns + 1) * (int)sizeof(float); /* 16 rows a warp, one column of padding */
    int result_bytes = staged ? most_results : row_bytes;
    if (most_results < row_bytes)
        most_results = row_bytes;
    int result_align = 128;
    for (int i = 0; staged && i < g->output_count; i++) {
        const struct plan_tensor *t = &p->tensor[g->output[i]];
        if ((int)tw_swizzles[t->swizzle].align > result_align)
            result_align = (int)tw_swizzles[t->swizzle].align;
    }
    if (choose_stages(g, result_bytes, most_results, &stages))
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
    if (!staged &&
        (!family_add_shared(p, "rows", row_bytes, 16, 4 * consumers) || family_add_value(p, "store_columns", columns)))
        return 3;
    p->ring[0].full_shared = p->shared_count;
    p->ring[0].empty_shared = p->shared_count + 1;
    if (!family_add_shared(p, "ab.full", 8 * stages, 8, stages) ||
        !family_add_shared(p, "ab.empty", 8 * stages, 8, stages))
        return 3;
    return producer(g, stage_bytes, clustered) || consumer(g, consumers, staged) ? 3 : 0;
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

int gemm_resolve_wgmma(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                       struct plan *p, struct diag_set *diags)
{
    struct gemm g = {.spec = spec, .kernel = kernel, .arch = arch, .plan = p, .diags = diags};
    bool bulk_stores = gemm_stores_whole_rows(kernel), staged = variant == 0 && bulk_stores;
    p->variant = variant == 0 ? "" : "unaligned";
    p->entry = plan_text(p, variant == 0 ? "%s" : "%s__unaligned", kernel->name);
    p->template_name = "gemm.sm_90a.cu";
    int status = gemm_begin(&g);
    if (status)
        return status;
    int consumers = choose_consumers(&g);
    status = choose_tiles(&g, consumers);
    status |= choose_cluster(&g, status == 0) | gemm_check_stages(&g);
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
    int most_results = 0;
    if (bulk_stores) {
        int before = p->reason_count;
        struct plan_tensor plain[GEMM_MAX_OUTPUTS];
        for (int i = 0; i < g.output_count; i++) {
            plain[i] = p->tensor[g.output[i]];
            status |= output(&g, g.output[i]);
        }
        most_results = staged_bytes(&g, consumers);
        for (int i = 0; i < g.output_count && !staged; i++)
            p->tensor[g.output[i]] = plain[i];
        if (!staged)
            p->reason_count = before;
    }
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
    p->registers_estimate = mma->blocks_m * mma->n / 2 + other_registers(&g, mma->blocks_m);
    const struct spec_value *most = &g.fields.value[FIELD_REGISTERS], *spills = &g.fields.value[FIELD_SPILLS];
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    status = memory_and_roles(&g, consumers, staged, most_results);
    const struct spec_value *persistent = &g.fields.value[FIELD_PERSISTENT];
    if (status == 0 && (family_add_word(p, "store", staged ? "tma" : "global")))
        status = 3;
    return status ? status : gemm_end(&g, !persistent->set || persistent->integer, 1);
}
