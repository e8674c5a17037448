/* GEMM on architectures that multiply by mma.sync: cp.async ring, ldmatrix, results straight to global memory.
 *
 * Variant 0 copies 16 bytes at a time and asks A and B for rows that begin at multiples of 16 bytes; variant 1,
 * "unaligned", reads their elements one by one and asks for nothing. D and the epilogue's operands are reached element
 * by element in both.
 */
#include "family/gemm.h"

#include <stdio.h>
#include <string.h>

enum {
    MMA_M = 16,
    MMA_N = 8,
    MMA_K = 16,
    MAX_WARPS_CHOSEN = 8,  /* with more, warps share too little of what they read from shared memory */
    MAX_STAGES_CHOSEN = 4, /* deeper rings hide nothing more: three stages in flight cover the latency of memory */
    OTHER_REGISTERS = 40,  /* addresses, extents, strides, counters; 26 to 47 in what the compiler makes of it */
};

struct mma_sync {
    struct gemm g;
    int warps_m, warps_n, threads;
    int blocks_m, blocks_n; /* instruction tiles of a warp */
    int stages;
    int registers; /* estimate */
    int blocks_per_sm;
    bool persistent;
};

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

/* The smallest power of two from `least` that covers a constant extent, at most `most`; `most` for symbols. */
static int cover(int64_t extent, int least, int most)
{
    int tile = most;
    while (extent > 0 && tile / 2 >= least && extent <= tile / 2)
        tile /= 2;
    return tile;
}

static int check_multiple(struct gemm *g, enum spec_field field, int extent, int unit, const char *what)
{
    int low = extent / unit * unit;
    if (low == extent)
        return 0;
    if (low == 0)
        return gemm_fault(g, field, "MMA-SHAPE", "%d is no multiple of the %d %s of an mma.sync; write %d", extent,
                          unit, what, unit);
    return gemm_fault(g, field, "MMA-SHAPE", "%d is no multiple of the %d %s of an mma.sync; write %d or %d", extent,
                      unit, what, low, low + unit);
}

static int choose_tile(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    int m = cover(g->m, MMA_M, 128), n = cover(g->n, MMA_N, 128);
    const char *whole = "128 x 128 tiles use each element often enough that shared memory keeps up";
    g->tile_m = gemm_choose(g, FIELD_TILE_M, m, m < 128 ? "M is %lld" : whole, (long long)g->m);
    g->tile_n = gemm_choose(g, FIELD_TILE_N, n, n < 128 ? "N is %lld" : whole, (long long)g->n);
    g->tile_k = gemm_choose(g, FIELD_TILE_K, 64, "64 elements of 2 bytes fill the 128 bytes of a line");
    g->cluster_m = g->cluster_n = 1;
    family_reason(g->plan, "cluster", "1 x 1", "%s has no clusters", g->arch->name);
    int faults = check_multiple(g, FIELD_TILE_M, g->tile_m, MMA_M, "rows");
    faults |= check_multiple(g, FIELD_TILE_N, g->tile_n, MMA_N, "columns");
    faults |= check_multiple(g, FIELD_TILE_K, g->tile_k, MMA_K, "elements along k");
    return faults;
}

/* A warp count that the spec sets must divide the tile into whole instructions. */
static int check_warps(struct gemm *g, enum spec_field field, int tile, int unit, const char *axis)
{
    const struct spec_value *v = &g->fields.value[field];
    if (!v->set || tile % ((int)v->integer * unit) == 0)
        return 0;
    int warps = (int)v->integer, step = warps * unit, nearest = (tile / step + 1) * step;
    if (nearest > spec_rows[field == FIELD_WARPS_M ? FIELD_TILE_M : FIELD_TILE_N].high)
        nearest -= step;
    while (tile % (warps * unit))
        warps--;
    return gemm_fault(g, field, "MMA-WARPS",
                      "%d warps take %d elements along %s at a time, which do not divide tile.%s = %d; "
                      "write %d, or tile.%s = %d",
                      (int)v->integer, step, axis, axis, tile, warps, axis, nearest);
}

/* The most warps up to `most` whose parts are whole instructions; of equal counts the one whose warps read the least of
 * A and B from shared memory. What the spec sets stays. */
static void pick_warps(const struct gemm *g, int tile_m, int tile_n, int *warps_m, int *warps_n)
{
    const struct spec_value *set_m = &g->fields.value[FIELD_WARPS_M], *set_n = &g->fields.value[FIELD_WARPS_N];
    int most = tile_m * tile_n >= 128 * 128 ? MAX_WARPS_CHOSEN : MAX_WARPS_CHOSEN / 2;
    int best_m = set_m->set ? (int)set_m->integer : 1, best_n = set_n->set ? (int)set_n->integer : 1;
    for (int m = 1; m <= most; m++)
        for (int n = 1; m * n <= most; n++) {
            if (tile_m % (m * MMA_M) || tile_n % (n * MMA_N) || (set_m->set && m != set_m->integer) ||
                (set_n->set && n != set_n->integer))
                continue;
            int reads = tile_m / m + tile_n / n, best_reads = tile_m / best_m + tile_n / best_n;
            if (m * n > best_m * best_n || (m * n == best_m * best_n && reads < best_reads)) {
                best_m = m;
                best_n = n;
            }
        }
    *warps_m = best_m;
    *warps_n = best_n;
}

static int choose_warps(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    if (check_warps(g, FIELD_WARPS_M, g->tile_m, MMA_M, "m") | check_warps(g, FIELD_WARPS_N, g->tile_n, MMA_N, "n"))
        return 1;
    int best_m, best_n;
    pick_warps(g, g->tile_m, g->tile_n, &best_m, &best_n);
    x->warps_m = gemm_choose(g, FIELD_WARPS_M, best_m, "%d x %d warps have parts of %d x %d", best_m, best_n,
                             g->tile_m / best_m, g->tile_n / best_n);
    x->warps_n = gemm_choose(g, FIELD_WARPS_N, best_n, "%d x %d warps have parts of %d x %d", best_m, best_n,
                             g->tile_m / best_m, g->tile_n / best_n);
    x->blocks_m = g->tile_m / x->warps_m / MMA_M;
    x->blocks_n = g->tile_n / x->warps_n / MMA_N;
    x->threads = 32 * x->warps_m * x->warps_n;
    if (x->threads > g->arch->max_threads)
        return gemm_fault(g, FIELD_WARPS_M, "THREADS",
                          "%d x %d warps are %d threads; %s has %d in a block; write fewer", x->warps_m, x->warps_n,
                          x->threads, g->arch->name, g->arch->max_threads);
    return 0;
}

/* Registers that a thread of a block can have. */
static int register_limit(const struct arch *arch, int threads)
{
    int limit = arch->registers_per_block / threads / 8 * 8;
    return limit < arch->registers_per_thread ? limit : arch->registers_per_thread;
}

/* Registers of a thread: accumulators, two steps of operands, the rest. Above the limit the compiler reads operands
 * later, and one step of them is held. */
static int estimate(int blocks_m, int blocks_n, int limit)
{
    int sums = blocks_m * blocks_n * 4, fragments = blocks_m * 4 + blocks_n * 2;
    int registers = sums + 2 * fragments + OTHER_REGISTERS;
    return registers <= limit ? registers : registers - fragments;
}

/* The widest tile of as many rows whose sums fit; 0: none. */
static int tile_n_that_fits(const struct mma_sync *x)
{
    const struct gemm *g = &x->g;
    for (int n = g->tile_n - MMA_N; n > 0; n -= MMA_N) {
        int warps_m, warps_n;
        pick_warps(g, g->tile_m, n, &warps_m, &warps_n);
        int limit = register_limit(g->arch, 32 * warps_m * warps_n);
        if (n % (warps_n * MMA_N) == 0 && estimate(g->tile_m / warps_m / MMA_M, n / warps_n / MMA_N, limit) <= limit)
            return n;
    }
    return 0;
}

static int check_registers(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    int sums = x->blocks_m * x->blocks_n * 4, limit = register_limit(g->arch, x->threads);
    x->registers = estimate(x->blocks_m, x->blocks_n, limit);
    if (x->registers <= limit)
        return 0;
    if (sums < limit / 2)
        return gemm_fault(
            g, FIELD_WARPS_M, "REGS",
            "on %s %d x %d warps leave each of %d threads %d registers, and about %d are needed; write fewer warps",
            g->arch->name, x->warps_m, x->warps_n, x->threads, limit, x->registers);
    int fits = tile_n_that_fits(x);
    char nearest[40];
    snprintf(nearest, sizeof nearest, fits ? "tile.n = %d" : "a tile of fewer rows", fits);
    return gemm_fault(
        g, g->fields.value[FIELD_TILE_N].set ? FIELD_TILE_N : FIELD_TILE_M, "REGS",
        "on %s each of %d threads holds %d sums of a %d x %d tile and needs about %d registers, but has %d; "
        "write %s%s",
        g->arch->name, x->threads, sums, g->tile_m, g->tile_n, x->registers, limit, nearest,
        x->threads < 32 * MAX_WARPS_CHOSEN ? " or more warps" : "");
}

static int choose_stages(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    const struct plan_tensor *a = &g->plan->tensor[g->a], *b = &g->plan->tensor[g->b];
    int stage_bytes = a->tile_bytes + b->tile_bytes, most = g->arch->shared_limit / stage_bytes;
    int chosen = most < MAX_STAGES_CHOSEN ? most : MAX_STAGES_CHOSEN;
    x->stages =
        gemm_choose(g, FIELD_STAGES, chosen < 2 ? 2 : chosen, "stages of %d bytes: as many as %s holds, at most %d",
                    stage_bytes, g->arch->name, MAX_STAGES_CHOSEN);
    if (most < 2)
        return gemm_stage_fault(g, 0, g->arch->shared_limit / 2);
    if (x->stages > most)
        return gemm_fault(
            g, FIELD_STAGES, "SMEM",
            "%d stages of %d bytes (A %d, B %d) are %d bytes of shared memory, but a block of %s has %d; write "
            "%d",
            x->stages, stage_bytes, a->tile_bytes, b->tile_bytes, x->stages * stage_bytes, g->arch->name,
            g->arch->shared_limit, most);
    return 0;
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

/* Tiles of A and B as they lie in shared memory, rows of D as the warps write them. */
static int lay_out(struct mma_sync *x, bool aligned)
{
    struct gemm *g = &x->g;
    struct plan *p = g->plan;
    int faults = g->a_mn_major ? gemm_tile_layout(g, g->a, g->tile_k, g->tile_m, FIELD_TILE_M)
                               : gemm_tile_layout(g, g->a, g->tile_m, g->tile_k, FIELD_TILE_K);
    faults |= g->b_mn_major ? gemm_tile_layout(g, g->b, g->tile_k, g->tile_n, FIELD_TILE_N)
                            : gemm_tile_layout(g, g->b, g->tile_n, g->tile_k, FIELD_TILE_K);
    for (int i = 0; i < 2; i++) {
        struct plan_tensor *t = &p->tensor[i ? g->b : g->a];
        t->access = aligned ? PLAN_ACCESS_CP_ASYNC : PLAN_ACCESS_GLOBAL;
        t->align = aligned ? 16 : (int)tw_dtype_bytes(t->dtype);
    }
    for (int i = 0; i < g->output_count; i++) {
        struct plan_tensor *t = &p->tensor[g->output[i]];
        for (int d = 0; d < t->rank; d++)
            t->tile[d] = strcmp(t->axis[d], "m") == 0 ? g->tile_m : g->tile_n;
        t->swizzle = TW_SWIZZLE_NONE;
    }
    return faults;
}

static int add_mma(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    struct plan *p = g->plan;
    struct plan_mma *mma = family_add_mma(p, "mma", "mma.sync");
    if (!mma)
        return 3;
    mma->m = MMA_M;
    mma->n = MMA_N;
    mma->k = MMA_K;
    mma->input = p->tensor[g->a].dtype;
    mma->accumulator = TW_FP32;
    mma->blocks_m = x->blocks_m;
    mma->blocks_n = x->blocks_n;
    mma->k_steps = g->tile_k / MMA_K;
    for (int i = 0; i < 2; i++) {
        const struct plan_tensor *t = &p->tensor[i ? g->b : g->a];
        bool across = i ? g->b_mn_major : g->a_mn_major;
        int row_bytes = t->box_bytes / t->tile[0], size = (int)tw_dtype_bytes(t->dtype), unit = i ? MMA_N : MMA_M;
        mma->operand[i].tensor = i ? g->b : g->a;
        mma->operand[i].mn_major = across;
        mma->operand[i].k_bytes = (across ? row_bytes : size) * MMA_K;
        mma->operand[i].block_bytes = (across ? size : row_bytes) * unit;
    }
    return 0;
}

/* Every thread runs one program. The stage that iteration k + stages - 1 will read is copied as soon as the barrier has
 * shown that nobody reads what lay there, iteration k - 1's; copies beyond the tile's last stage are left out, their
 * groups stay empty. */
static int add_program(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    struct plan *p = g->plan;
    int barrier = p->barrier_count, ring = p->ring_count;
    struct plan_ring *r = family_add_ring(p, "ab", x->stages, PLAN_FILL_CP_ASYNC);
    if (!r || family_add_barrier(p, "block", 0, x->threads))
        return 3;
    r->tensor[r->tensor_count++] = g->a;
    r->tensor[r->tensor_count++] = g->b;
    struct plan_role *role = family_add_role(p, "block", 1, 0, x->threads / 32, 0);
    if (!role)
        return 3;
    const int a_bytes = p->tensor[g->a].tile_bytes, b_bytes = p->tensor[g->b].tile_bytes;
    const struct plan_step fill_a = {.op = PLAN_FILL, .ring = ring, .tensor = g->a, .count = a_bytes, .call = "A_load"};
    const struct plan_step fill_b = {.op = PLAN_FILL, .ring = ring, .tensor = g->b, .count = b_bytes, .call = "B_load"};
    const struct plan_step read_a = {.op = PLAN_READ, .ring = ring, .tensor = g->a, .call = "mma"};
    const struct plan_step read_b = {.op = PLAN_READ, .ring = ring, .tensor = g->b, .call = "mma"};
    const struct plan_step commit = {.op = PLAN_CP_COMMIT, .ring = ring, .tensor = -1, .call = "ab_commit"};
    const struct plan_step wait = {
        .op = PLAN_CP_WAIT, .ring = ring, .tensor = -1, .count = x->stages - 2, .call = "ab_wait"};
    const struct plan_step meet = {.op = PLAN_BARRIER, .ring = -1, .tensor = -1, .count = barrier, .call = "ab_meet"};
    const struct plan_step tiles = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "tiles"};
    const struct plan_step k = {.op = PLAN_LOOP, .ring = -1, .tensor = -1, .call = "k"};
    const struct plan_step prologue = {
        .op = PLAN_LOOP, .ring = -1, .tensor = -1, .count = x->stages - 1, .call = "prologue"};
    const struct plan_step end = {.op = PLAN_END, .ring = -1, .tensor = -1};
    const struct plan_step *const program[] = {&tiles, &prologue, &fill_a, &fill_b, &commit, &end,    &k,  &wait,
                                               &meet,  &fill_a,   &fill_b, &commit, &read_a, &read_b, &end};
    /* What loads and stores have filled is there when the barrier is passed: nothing to commit and to wait for. */
    bool copies = p->tensor[g->a].access == PLAN_ACCESS_CP_ASYNC || p->tensor[g->b].access == PLAN_ACCESS_CP_ASYNC;
    int status = 0;
    for (size_t i = 0; i < sizeof program / sizeof *program && !status; i++)
        if (copies || (program[i] != &commit && program[i] != &wait))
            status = family_add_step(p, role, *program[i]);
    for (int i = 0; i < g->output_count && !status; i++) {
        const char *call = plan_text(p, "%s_store_global", p->tensor[g->output[i]].name);
        struct plan_step store = {.op = PLAN_GLOBAL, .ring = -1, .tensor = g->output[i], .call = call};
        status = call ? family_add_step(p, role, store) : 3;
    }
    return status ? status : family_add_step(p, role, end);
}

static int add_shared(struct mma_sync *x)
{
    struct plan *p = x->g.plan;
    for (int i = 0; i < 2; i++) {
        const struct plan_tensor *t = &p->tensor[i ? x->g.b : x->g.a];
        if (!family_add_shared(p, i ? "ab.B" : "ab.A", x->stages * t->tile_bytes, (int)tw_swizzles[t->swizzle].align,
                               x->stages))
            return 3;
    }
    return 0;
}

static int name_entry(struct plan *p, bool aligned)
{
    p->variant = aligned ? "" : "unaligned";
    p->entry = aligned ? p->kernel : plan_text(p, "%s__unaligned", p->kernel);
    p->template_name = "gemm.sm_80.cu";
    return p->entry ? 0 : 3;
}

static int add_launch(struct mma_sync *x)
{
    struct gemm *g = &x->g;
    struct plan *p = g->plan;
    const struct spec_value *registers = &g->fields.value[FIELD_REGISTERS];
    int share = g->arch->registers_per_sm / (x->threads * x->blocks_per_sm) / 8 * 8;
    p->launch.block = x->threads;
    p->launch.min_blocks = x->blocks_per_sm;
    p->registers_estimate = x->registers;
    p->register_limit = registers->set                          ? (int)registers->integer
                        : share < g->arch->registers_per_thread ? share
                                                                : g->arch->registers_per_thread;
    p->allow_spills = g->fields.value[FIELD_SPILLS].set && g->fields.value[FIELD_SPILLS].integer;
    return family_add_value(p, "pipeline.stages", x->stages) || family_add_value(p, "pipeline.warps_m", x->warps_m) ||
                   family_add_value(p, "pipeline.warps_n", x->warps_n)
               ? 3
               : 0;
}

int gemm_resolve_mma_sync(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch,
                          int variant, struct plan *plan, struct diag_set *diags)
{
    struct mma_sync x = {.g = {.spec = spec, .kernel = kernel, .arch = arch, .plan = plan, .diags = diags}};
    bool aligned = variant == 0;
    int status = gemm_begin(&x.g);
    if (status == 3 || (status = status | choose_tile(&x) | gemm_check_stages(&x.g)))
        return status;
    status = lay_out(&x, aligned);
    if (status == 0)
        status = choose_stages(&x);
    if (choose_warps(&x) || check_registers(&x) || status)
        return 1;
    int shared_bytes = x.stages * (plan->tensor[x.g.a].tile_bytes + plan->tensor[x.g.b].tile_bytes);
    x.blocks_per_sm = arch_resident_blocks(arch, x.threads, x.registers, shared_bytes);
    if (x.blocks_per_sm < 1)
        x.blocks_per_sm = 1;
    const struct spec_value *persistent = &x.g.fields.value[FIELD_PERSISTENT];
    x.persistent = persistent->set && persistent->integer;
    if (family_reason(plan, "schedule.persistent", x.persistent ? "true" : "false",
                      persistent->set ? "the spec says so"
                                      : "a block that begins hides the end of the block before it on the same "
                                        "multiprocessor") ||
        name_entry(plan, aligned) || add_mma(&x) || add_program(&x) || add_shared(&x) || add_launch(&x))
        return 3;
    return gemm_end(&x.g, x.persistent, x.blocks_per_sm);
}
