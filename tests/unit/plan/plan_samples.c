#include "unit/plan/plan_samples.h"

#include <string.h>

static int sample_step(struct plan_role *role, enum plan_op op, int ring, int tensor, int count, int phase,
                       const char *call)
{
    role->step[role->step_count] =
        (struct plan_step){.op = op, .ring = ring, .tensor = tensor, .count = count, .phase = phase, .call = call};
    return role->step_count++;
}

void sample_tensor(struct plan *p, int tensor, const char *name, int rows, int columns, const char *axis0,
                   const char *axis1)
{
    struct plan_tensor *t = &p->tensor[tensor];
    *t = (struct plan_tensor){
        .name = name, .dtype = TW_BF16, .rank = 2, .multicast = 1, .boxes = 1, .align = 16, .map = -1};
    t->dim[0] = expr_symbol(&p->graph, rows);
    t->dim[1] = expr_symbol(&p->graph, columns);
    t->stride[0] = t->dim[1];
    t->stride[1] = expr_int(&p->graph, 1);
    t->axis[0] = axis0;
    t->axis[1] = axis1;
}

/* Rows x columns of bf16, swizzled over 128 bytes; split among `multicast` blocks along the rows. */
static void sample_tile(struct plan *p, int tensor, int rows, int columns, int multicast)
{
    struct plan_tensor *t = &p->tensor[tensor];
    int inner = columns > 64 ? 64 : columns;
    t->tile[0] = rows;
    t->tile[1] = columns;
    t->box[0] = rows / multicast;
    t->box[1] = inner;
    t->boxes = columns / inner;
    t->box_bytes = rows * inner * 2;
    t->multicast = multicast;
    t->swizzle = inner == 64 ? TW_SWIZZLE_128B : inner == 32 ? TW_SWIZZLE_64B : TW_SWIZZLE_32B;
    t->tile_bytes = rows * columns * 2;
}

static void sample_map(struct plan *p, int tensor, const char *name)
{
    struct plan_map *m = &p->map[p->map_count];
    const struct plan_tensor *t = &p->tensor[tensor];
    *m = (struct plan_map){.name = name, .tensor = tensor, .rank = 2, .swizzle = t->swizzle, .l2_promotion = 2};
    m->box[0] = t->box[1];
    m->box[1] = t->box[0];
    p->tensor[tensor].map = p->map_count;
    p->param[p->param_count] = (struct plan_param){.kind = PLAN_PARAM_MAP,
                                                   .name = name,
                                                   .type = "tw_tensor_map",
                                                   .tensor = tensor,
                                                   .index = p->map_count,
                                                   .offset = p->param_bytes,
                                                   .bytes = 128,
                                                   .align = 64};
    p->param_bytes += 128;
    p->param_count++;
    p->map_count++;
}

static void sample_dim_param(struct plan *p, int symbol)
{
    p->param[p->param_count++] = (struct plan_param){.kind = PLAN_PARAM_DIM,
                                                     .name = p->symbol[symbol],
                                                     .type = "long long",
                                                     .tensor = -1,
                                                     .index = symbol,
                                                     .offset = p->param_bytes,
                                                     .bytes = 8,
                                                     .align = 8};
    p->param_bytes += 8;
}

int sample_shared(struct plan *p, const char *name, int bytes, int align, int count)
{
    int offset = 0;
    if (p->shared_count > 0) {
        const struct plan_shared *last = &p->shared[p->shared_count - 1];
        offset = (last->offset + last->bytes + align - 1) / align * align;
    }
    p->shared[p->shared_count] = (struct plan_shared){name, offset, bytes, align, count};
    p->launch.shared_bytes = offset + bytes + 1024;
    return p->shared_count++;
}

void sample_begin(struct plan *p, const char *kernel, const char *arch)
{
    static const char *const symbol[] = {"M", "N", "K", "sm_count"};
    *p = (struct plan){
        .kernel = kernel, .entry = kernel, .variant = "", .arch = arch, .family = "gemm", .template_name = "gemm.cu"};
    p->symbol = plan_alloc(p, sizeof symbol);
    memcpy(p->symbol, symbol, sizeof symbol);
    p->symbol_count = 4;
    p->symbol_multiple = plan_alloc(p, 4 * sizeof(int64_t));
    for (int i = 0; i < 4; i++)
        p->symbol_multiple[i] = 1;
    p->axis[0] = "m";
    p->axis[1] = "n";
    p->axis[2] = "k";
    p->axis_count = 3;
    p->tensor = plan_alloc(p, 4 * sizeof *p->tensor);
    p->map = plan_alloc(p, 4 * sizeof *p->map);
    p->param = plan_alloc(p, 16 * sizeof *p->param);
    p->shared = plan_alloc(p, 8 * sizeof *p->shared);
    p->ring = plan_alloc(p, 4 * sizeof *p->ring);
    p->barrier = plan_alloc(p, 4 * sizeof *p->barrier);
    p->role = plan_alloc(p, 4 * sizeof *p->role);
    for (int r = 0; r < 4; r++)
        p->role[r].step = plan_alloc(p, 128 * sizeof *p->role[r].step);
    p->mma = plan_alloc(p, sizeof *p->mma);
    p->value = plan_alloc(p, 4 * sizeof *p->value);
    p->reason = plan_alloc(p, 4 * sizeof *p->reason);
    p->shared_align = 1024;
    p->launch.cluster[0] = p->launch.cluster[1] = p->launch.cluster[2] = 1;
    p->flops = p->bytes_moved = -1;
}

/* Its shared memory, rings and named barrier. */
static void gemm_sm90_rings(struct plan *p, struct sample_gemm g)
{
    int a_bytes = p->tensor[SAMPLE_A].tile_bytes, b_bytes = p->tensor[SAMPLE_B].tile_bytes;

    sample_shared(p, "ab.A", g.stages * a_bytes, 1024, g.stages);
    sample_shared(p, "ab.B", g.stages * b_bytes, 1024, g.stages);
    if (g.d_stages)
        sample_shared(p, "D", g.d_stages * g.consumers * 8192, 1024, g.d_stages);
    p->ring[SAMPLE_AB] = (struct plan_ring){.name = "ab",
                                            .stages = g.stages,
                                            .filler = PLAN_FILL_BULK,
                                            .tensor = {SAMPLE_A, SAMPLE_B},
                                            .tensor_count = 2,
                                            .full_arrivals = 1,
                                            .tx_bytes = a_bytes + b_bytes,
                                            .empty_arrivals = g.consumers * (g.cluster_m + g.cluster_n - 1)};
    p->ring[SAMPLE_AB].full_shared = sample_shared(p, "ab.full", 8 * g.stages, 8, g.stages);
    p->ring[SAMPLE_AB].empty_shared = sample_shared(p, "ab.empty", 8 * g.stages, 8, g.stages);
    p->ring_count = 1;
    if (g.d_stages)
        p->ring[p->ring_count++] = (struct plan_ring){.name = "d",
                                                      .stages = g.d_stages,
                                                      .filler = PLAN_FILL_THREADS,
                                                      .tensor = {SAMPLE_D},
                                                      .tensor_count = 1,
                                                      .full_shared = -1,
                                                      .empty_shared = -1};
    p->barrier[0] = (struct plan_barrier){.name = "epilogue", .id = 1, .threads = 128};
    if (g.d_shared_barrier)
        p->barrier[0].threads = g.consumers * 128;
    p->barrier_count = g.d_stages ? 1 : 0;
}

static void gemm_sm90_producer(struct plan *p, struct sample_gemm g)
{
    int a_bytes = p->tensor[SAMPLE_A].tile_bytes, b_bytes = p->tensor[SAMPLE_B].tile_bytes;
    struct plan_role *r = &p->role[0];
    r->name = "producer";
    r->instances = 1;
    r->first_warp = 4 * g.consumers;
    r->warps = 4;
    r->registers = g.consumers == 3 ? 32 : 40;
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "tiles");
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_WAIT_EMPTY, SAMPLE_AB, -1, 0, 1, "ab_wait_empty");
    sample_step(r, PLAN_EXPECT, SAMPLE_AB, -1, a_bytes + b_bytes, 0, "ab_expect");
    sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_A, a_bytes / g.cluster_n, 0, "A_load");
    sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_B, b_bytes / g.cluster_m, 0, "B_load");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "tiles");
    if (g.cluster_m * g.cluster_n > 1)
        sample_step(r, PLAN_DRAIN, SAMPLE_AB, -1, 0, 0, "ab_drain");
}

static void gemm_sm90_consumers(struct plan *p, struct sample_gemm g)
{
    struct plan_role *r = &p->role[1];
    r->name = "consumer";
    r->instances = g.consumers;
    r->warps = 4 * g.consumers;
    r->registers = g.consumers == 3 ? 160 : g.consumers == 2 ? 232 : 240;
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "tiles");
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_WAIT_FULL, SAMPLE_AB, -1, 0, 0, "ab_wait_full");
    sample_step(r, PLAN_READ, SAMPLE_AB, SAMPLE_A, 1, 0, "A_desc");
    sample_step(r, PLAN_READ, SAMPLE_AB, SAMPLE_B, 1, 0, "mma");
    sample_step(r, PLAN_MMA_COMMIT, -1, -1, 0, 0, "mma_commit");
    sample_step(r, PLAN_MMA_WAIT, -1, -1, g.stages > 1, 0, "mma_wait");
    sample_step(r, PLAN_RELEASE, SAMPLE_AB, -1, g.stages > 1, 0, "ab_release");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_MMA_WAIT, -1, -1, 0, 0, "mma_wait");
    sample_step(r, PLAN_RELEASE, SAMPLE_AB, -1, 0, 0, "ab_release");
    for (int i = 0; g.d_stages && i < g.d_tiles; i++) {
        sample_step(r, PLAN_STORE_WAIT, SAMPLE_RING_D, -1, g.d_stages - 1, 0, "D_store_wait");
        sample_step(r, PLAN_BARRIER, -1, -1, 0, 0, "epilogue_sync");
        sample_step(r, PLAN_WRITE, SAMPLE_RING_D, SAMPLE_D, 0, 0, "D_write");
        sample_step(r, PLAN_FENCE_ASYNC, -1, -1, 0, 0, "fence_async");
        sample_step(r, PLAN_BARRIER, -1, -1, 0, 0, "epilogue_sync");
        sample_step(r, PLAN_STORE, SAMPLE_RING_D, SAMPLE_D, 0, 0, "D_store");
    }
    if (!g.d_stages)
        sample_step(r, PLAN_GLOBAL, -1, SAMPLE_D, 0, 0, "D_store_global");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "tiles");
    if (g.d_stages)
        sample_step(r, PLAN_STORE_WAIT, SAMPLE_RING_D, -1, 0, 0, "D_store_wait");
}

static void gemm_sm90_mma(struct plan *p, int n, int k)
{
    p->mma[0] = (struct plan_mma){.name = "mma",
                                  .kind = "wgmma",
                                  .m = 64,
                                  .n = n,
                                  .k = 16,
                                  .accumulator = TW_FP32,
                                  .blocks_m = 1,
                                  .blocks_n = 1,
                                  .k_steps = k / 16};
    p->mma[0].operand[0].tensor = SAMPLE_A;
    p->mma[0].operand[1].tensor = SAMPLE_B;
    p->mma[0].operand[0].dtype = p->mma[0].operand[1].dtype = TW_BF16;
    for (int o = 0; o < 2; o++) {
        p->mma[0].operand[o].leading_bytes = 16;
        p->mma[0].operand[o].stride_bytes = 1024;
        p->mma[0].operand[o].k_bytes = 32;
        p->mma[0].operand[o].block_bytes = 8192;
    }
    p->mma_count = 1;
}

struct plan *sample_gemm_sm90(struct plan *p, struct sample_gemm g)
{
    sample_begin(p, "gemm_bf16", "sm_90a");
    int k = g.tile_k ? g.tile_k : 64, n = g.tile_n ? g.tile_n : 128, m = 64 * g.consumers;
    g.cluster_m = g.cluster_m ? g.cluster_m : 1;
    g.cluster_n = g.cluster_n ? g.cluster_n : 1;
    p->tensor_count = 3;
    sample_tensor(p, SAMPLE_A, "A", 0, 2, "m", "k");
    sample_tensor(p, SAMPLE_B, "B", 1, 2, "n", "k");
    sample_tensor(p, SAMPLE_D, "D", 0, 1, "m", "n");
    sample_tile(p, SAMPLE_A, m, k, g.cluster_n);
    sample_tile(p, SAMPLE_B, n, k, g.cluster_m);
    sample_tile(p, SAMPLE_D, 64, 64, 1);
    p->tensor[SAMPLE_D].out = true;
    p->tensor[SAMPLE_D].whole_rows = true;
    sample_map(p, SAMPLE_A, "A_map");
    sample_map(p, SAMPLE_B, "B_map");
    sample_map(p, SAMPLE_D, "D_map");
    for (int i = 0; i < 3; i++)
        sample_dim_param(p, i);
    gemm_sm90_rings(p, g);
    gemm_sm90_producer(p, g);
    gemm_sm90_consumers(p, g);
    p->role_count = 2;
    gemm_sm90_mma(p, n, k);
    p->value[p->value_count++] = (struct plan_value){"tile.m", m, NULL};
    p->value[p->value_count++] = (struct plan_value){"tile.n", n, NULL};
    p->value[p->value_count++] = (struct plan_value){"tile.k", k, NULL};
    p->value[p->value_count++] = (struct plan_value){"schedule.order", 0, "grouped"};
    p->reason[p->reason_count++] = (struct plan_reason){"pipeline.stages", "4", "as many as shared memory holds"};
    p->launch.grid[0] = expr_symbol(&p->graph, 3);
    p->launch.grid[1] = p->launch.grid[2] = expr_int(&p->graph, 1);
    p->launch.block = 128 * (g.consumers + 1);
    p->launch.cluster[0] = g.cluster_m;
    p->launch.cluster[1] = g.cluster_n;
    p->launch.min_blocks = 1;
    p->registers_estimate = p->role[1].registers;
    p->register_limit = p->role[1].registers;
    p->blocks_per_sm = 1;
    p->flops = expr_binary(
        &p->graph, EXPR_MUL, expr_int(&p->graph, 2),
        expr_binary(&p->graph, EXPR_MUL, expr_symbol(&p->graph, 0),
                    expr_binary(&p->graph, EXPR_MUL, expr_symbol(&p->graph, 1), expr_symbol(&p->graph, 2))));
    return p;
}

struct plan *sample_gemm_sm80(struct plan *p, int stages, int instances, bool persistent)
{
    sample_begin(p, "gemm_bf16", "sm_80");
    p->tensor_count = 3;
    sample_tensor(p, SAMPLE_A, "A", 0, 2, "m", "k");
    sample_tensor(p, SAMPLE_B, "B", 1, 2, "n", "k");
    sample_tensor(p, SAMPLE_D, "D", 0, 1, "m", "n");
    sample_tile(p, SAMPLE_A, 128, 64, 1);
    sample_tile(p, SAMPLE_B, 128, 64, 1);
    p->tensor[SAMPLE_A].access = p->tensor[SAMPLE_B].access = PLAN_ACCESS_CP_ASYNC;
    p->tensor[SAMPLE_D].access = PLAN_ACCESS_GLOBAL;
    p->tensor[SAMPLE_D].out = true;
    for (int i = 0; i < 3; i++)
        sample_dim_param(p, i);
    sample_shared(p, "ab.A", stages * 16384, 1024, stages);
    sample_shared(p, "ab.B", stages * 16384, 1024, stages);
    p->ring[SAMPLE_AB] = (struct plan_ring){.name = "ab",
                                            .stages = stages,
                                            .filler = PLAN_FILL_CP_ASYNC,
                                            .tensor = {SAMPLE_A, SAMPLE_B},
                                            .tensor_count = 2,
                                            .full_shared = -1,
                                            .empty_shared = -1};
    p->ring_count = 1;
    p->barrier[0] = (struct plan_barrier){.name = "block", .id = 0, .threads = 128};
    p->barrier_count = 1;
    struct plan_role *r = &p->role[0];
    r->name = "block";
    r->instances = instances;
    r->warps = 4;
    if (persistent)
        sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "tiles");
    if (stages > 1) {
        sample_step(r, PLAN_LOOP, -1, -1, stages - 1, 0, "fills");
        sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_A, 16384, 0, "A_load");
        sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_B, 16384, 0, "B_load");
        sample_step(r, PLAN_CP_COMMIT, -1, -1, 0, 0, "cp_commit");
        sample_step(r, PLAN_END, -1, -1, 0, 0, "fills");
    }
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_CP_WAIT, -1, -1, stages - 2, 0, "cp_wait");
    sample_step(r, PLAN_BARRIER, -1, -1, 0, 0, "block_sync");
    sample_step(r, PLAN_READ, SAMPLE_AB, SAMPLE_A, 0, 0, "A_read");
    sample_step(r, PLAN_READ, SAMPLE_AB, SAMPLE_B, 0, 0, "B_read");
    sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_A, 16384, 0, "A_load");
    sample_step(r, PLAN_FILL, SAMPLE_AB, SAMPLE_B, 16384, 0, "B_load");
    sample_step(r, PLAN_CP_COMMIT, -1, -1, 0, 0, "cp_commit");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "k");
    sample_step(r, PLAN_GLOBAL, -1, SAMPLE_D, 0, 0, "D_store_global");
    if (persistent)
        sample_step(r, PLAN_END, -1, -1, 0, 0, "tiles");
    p->role_count = 1;
    p->mma[0] = (struct plan_mma){.name = "mma",
                                  .kind = "mma.sync",
                                  .m = 16,
                                  .n = 8,
                                  .k = 16,
                                  .accumulator = TW_FP32,
                                  .blocks_m = 4,
                                  .blocks_n = 8,
                                  .k_steps = 4};
    p->mma[0].operand[0].tensor = SAMPLE_A;
    p->mma[0].operand[1].tensor = SAMPLE_B;
    p->mma[0].operand[0].dtype = p->mma[0].operand[1].dtype = TW_BF16;
    p->mma_count = 1;
    p->launch.grid[0] = expr_ceil_div(&p->graph, expr_symbol(&p->graph, 0), expr_int(&p->graph, 128));
    p->launch.grid[1] = p->launch.grid[2] = expr_int(&p->graph, 1);
    p->launch.block = 128;
    p->registers_estimate = 200;
    p->blocks_per_sm = 1;
    return p;
}

struct plan *sample_rms_norm(struct plan *p, int stages, int warps, bool wide)
{
    sample_begin(p, "rms_norm", "sm_90a");
    p->family = NULL;
    p->tensor_count = 3;
    sample_tensor(p, 0, "x", 0, 2, "r", "c");
    sample_tensor(p, 1, "w", 2, 2, "c", "c");
    sample_tensor(p, 2, "y", 0, 2, "r", "c");
    p->tensor[2].out = true;
    p->tensor[1].access = p->tensor[2].access = PLAN_ACCESS_GLOBAL;
    p->tensor[0].tile[0] = 1;
    p->tensor[0].tile[1] = 1024;
    p->tensor[0].box[0] = 1;
    p->tensor[0].box[1] = 256;
    p->tensor[0].boxes = 4;
    p->tensor[0].box_bytes = 512;
    p->tensor[0].tile_bytes = 2048;
    sample_map(p, 0, "x_map");
    sample_shared(p, "x.x", 2048 * stages, 128, stages);
    p->ring[0] = (struct plan_ring){.name = "x",
                                    .stages = stages,
                                    .filler = PLAN_FILL_BULK,
                                    .tensor = {0},
                                    .tensor_count = 1,
                                    .full_arrivals = 1,
                                    .tx_bytes = 2048,
                                    .empty_arrivals = wide ? 1 : warps};
    p->ring[0].full_shared = sample_shared(p, "x.full", 8 * stages, 8, stages);
    p->ring[0].empty_shared = sample_shared(p, "x.empty", 8 * stages, 8, stages);
    p->ring_count = 1;
    p->barrier[0] = (struct plan_barrier){.name = "rows", .id = 1, .threads = warps * 32};
    p->barrier_count = 1;
    struct plan_role *r = &p->role[0];
    r->name = "producer";
    r->instances = 1;
    r->first_warp = warps;
    r->warps = 1;
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "tiles");
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "c");
    sample_step(r, PLAN_WAIT_EMPTY, 0, -1, 0, 1, "x_wait_empty");
    sample_step(r, PLAN_EXPECT, 0, -1, 2048, 0, "x_expect");
    sample_step(r, PLAN_FILL, 0, 0, 2048, 0, "x_load");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "c");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "tiles");
    r = &p->role[1];
    r->name = "consumer";
    r->instances = wide ? 1 : warps;
    r->warps = warps;
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "tiles");
    sample_step(r, PLAN_LOOP, -1, -1, 0, 0, "c");
    sample_step(r, PLAN_WAIT_FULL, 0, -1, 0, 0, "x_wait_full");
    sample_step(r, PLAN_READ, 0, 0, 0, 0, "x_read");
    sample_step(r, PLAN_BARRIER, -1, -1, 0, 0, "rows_sync");
    sample_step(r, PLAN_RELEASE, 0, -1, 0, 0, "x_release");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "c");
    sample_step(r, PLAN_GLOBAL, -1, 2, 0, 0, "y_store");
    sample_step(r, PLAN_END, -1, -1, 0, 0, "tiles");
    p->role_count = 2;
    p->launch.grid[0] = expr_symbol(&p->graph, 0);
    p->launch.grid[1] = p->launch.grid[2] = expr_int(&p->graph, 1);
    p->launch.block = (warps + 1) * 32;
    p->registers_estimate = 64;
    p->blocks_per_sm = 1;
    return p;
}

/* ---- planting faults ------------------------------------------------------------------------------------------- */

int sample_find(const struct plan *p, int role, enum plan_op op, int nth)
{
    for (int i = 0; i < p->role[role].step_count; i++)
        if (p->role[role].step[i].op == op && nth-- == 0)
            return i;
    fail_msg("role %d has no such step", role);
    return -1;
}

void sample_drop(struct plan *p, int role, int step)
{
    struct plan_role *r = &p->role[role];
    memmove(r->step + step, r->step + step + 1, (size_t)(r->step_count - step - 1) * sizeof *r->step);
    r->step_count--;
}

void sample_insert(struct plan *p, int role, int step, struct plan_step what)
{
    struct plan_role *r = &p->role[role];
    memmove(r->step + step + 1, r->step + step, (size_t)(r->step_count - step) * sizeof *r->step);
    r->step[step] = what;
    r->step_count++;
}

void sample_swap(struct plan *p, int role, int a, int b)
{
    struct plan_step step = p->role[role].step[a];
    p->role[role].step[a] = p->role[role].step[b];
    p->role[role].step[b] = step;
}
