/* plan_check: sound Plans pass, each planted fault is found by its rule id and named. */
#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_samples.h"
#include "unit/rounds.h"

#include "arch/arch.h"

static struct plan *sample(struct plan *p)
{
    return sample_gemm_sm90(
        p, (struct sample_gemm){.stages = 4, .consumers = 2, .cluster_m = 2, .d_stages = 2, .d_tiles = 2});
}

static void expect_clean(struct plan *p)
{
    struct diag_set diags = {0};
    int faults = plan_check(p, &diags);
    if (faults)
        diag_print(&diags, stderr);
    assert_int_equal(faults, 0);
    assert_int_equal(diags.count, 0);
    diag_free(&diags);
    plan_free(p);
}

static void test_sound_plans_pass(void **state)
{
    (void)state;
    struct plan p;
    expect_clean(sample(&p));
    expect_clean(sample_gemm_sm90(&p, (struct sample_gemm){.stages = 3, .consumers = 3, .d_stages = 1, .d_tiles = 1}));
    expect_clean(sample_gemm_sm90(
        &p, (struct sample_gemm){.stages = 2, .consumers = 2, .cluster_m = 2, .cluster_n = 2, .tile_n = 256}));
    expect_clean(sample_gemm_sm80(&p, 4, 1, false));
    expect_clean(sample_rms_norm(&p, 4, 8, false));
}

static void test_architectures(void **state)
{
    (void)state;
    assert_ptr_equal(arch_find("sm_80"), arch_all[0]);
    assert_ptr_equal(arch_find("sm_86"), arch_all[1]);
    assert_ptr_equal(arch_find("sm_89"), arch_all[2]);
    assert_ptr_equal(arch_find("sm_90a"), arch_all[3]);
    assert_ptr_equal(arch_find("sm_120a"), arch_all[5]);
    assert_ptr_equal(arch_find("sm_100a"), arch_all[4]);
    assert_null(arch_all[6]);
    assert_null(arch_find("sm_90"));
    assert_null(arch_find(NULL));
    assert_int_equal(arch_find("sm_80")->shared_limit, 163 * 1024);
    assert_int_equal(arch_find("sm_86")->shared_limit, 99 * 1024);
    assert_int_equal(arch_find("sm_90a")->shared_limit, 227 * 1024);
    assert_int_equal(arch_find("sm_120a")->shared_limit, 99 * 1024);
    assert_true(arch_find("sm_89")->on_request && !arch_find("sm_80")->on_request);
    assert_non_null(arch_find_mma(arch_find("sm_89"), "mma.sync", TW_FP8_E4M3, TW_FP32, 16, 8, 32));
    assert_null(arch_dot(arch_find("sm_86"), TW_FP8_E4M3));
    const struct arch *a = arch_find("sm_90a");
    assert_non_null(arch_find_mma(a, "wgmma", TW_BF16, TW_FP32, 64, 256, 16));
    assert_non_null(arch_find_mma(a, "wgmma", TW_FP8_E4M3, TW_FP32, 64, 8, 32));
    assert_null(arch_find_mma(a, "wgmma", TW_BF16, TW_FP32, 64, 260, 16));
    assert_null(arch_find_mma(a, "wgmma", TW_BF16, TW_FP32, 64, 264, 16));
    assert_null(arch_find_mma(a, "wgmma", TW_BF16, TW_FP32, 128, 256, 16));
    assert_null(arch_find_mma(arch_find("sm_80"), "wgmma", TW_BF16, TW_FP32, 64, 256, 16));
    assert_int_equal(arch_resident_blocks(a, 384, 168, 200000), 1);
    assert_int_equal(arch_resident_blocks(a, 128, 128, 40000), 4); /* 512 registers of 65536 a warp, 40 KB of 228 */
    assert_int_equal(arch_resident_blocks(a, 1024, 0, 0), 2);
}

static struct plan_list *with_list(struct plan *p);

/* What a list leaves in its workspace, a split's counters must not find there; a kernel that counts items, and one that
 * has a list itself, do not mind. */
static void test_shared_workspace(void **state)
{
    (void)state;
    struct plan list, split, counts, none;
    with_list(sample(&list));
    sample(&split)->workspace_bytes = 128;
    split.workspace = plan_some(expr_int(&split.graph, 512));
    sample(&counts)->workspace_bytes = 8;
    sample(&none);
    const struct plan *all[] = {&list, &split, &counts, &none};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            assert_int_equal(plan_share_workspace(all[a], all[b]), !(a + b == 1));
    expect_clean(&list);
    expect_clean(&split);
    plan_free(&counts);
    plan_free(&none);
}

/* ---- planted faults -------------------------------------------------------------------------------------------- */

struct planted {
    void (*plant)(struct plan *p);
    const char *field, *rule;
    const char *text; /* occurs in the message */
};

#define PLANT(name) static void name(struct plan *p)
PLANT(arch_unknown)
{
    p->arch = "sm_42";
}
PLANT(arch_without_tma)
{
    p->arch = "sm_80";
}
PLANT(box_wide)
{
    p->tensor[0].box[1] = p->map[0].box[0] = 96;
}
PLANT(box_high)
{
    p->tensor[0].box[0] = p->map[0].box[1] = 512;
}
PLANT(box_odd)
{
    p->tensor[0].box[1] = p->map[0].box[0] = 4;
}
PLANT(row_pitch)
{
    p->tensor[0].stride[0] = expr_int(&p->graph, 100);
}
PLANT(map_rank)
{
    p->map[1].rank = 3;
}
PLANT(map_box)
{
    p->map[1].box[1] = 128;
}
PLANT(map_swizzle)
{
    p->map[1].swizzle = TW_SWIZZLE_64B;
}
PLANT(map_tensor)
{
    p->map[1].tensor = 9;
}
PLANT(tile_bytes)
{
    p->tensor[0].tile_bytes += 128;
}
PLANT(multicast_odd)
{
    p->tensor[1].multicast = 3;
}
PLANT(cluster_large)
{
    p->launch.cluster[1] = 8;
}
/* A list of turns that is sound but for what the others plant. */
static struct plan_list *with_list(struct plan *p)
{
    struct plan_list *l = plan_alloc(p, sizeof *l);
    p->loop = plan_alloc(p, sizeof *p->loop);
    p->item = plan_alloc(p, sizeof *p->item);
    assert_true(l && p->loop && p->item);
    p->loop_count = p->item_count = 1;
    l->item_count = 1;
    p->list = l;
    p->workspace_bytes = PLAN_LIST_OFFSET;
    p->workspace = plan_some(expr_int(&p->graph, 4096));
    return l;
}
PLANT(list_before_counters)
{
    with_list(p);
    p->workspace_bytes = 64;
}
PLANT(list_without_room)
{
    with_list(p);
    p->workspace = 0;
}
PLANT(list_loop)
{
    with_list(p)->loop = p->loop_count;
}
PLANT(list_item)
{
    with_list(p)->item[0] = p->item_count;
}
PLANT(list_of_parts)
{
    with_list(p);
    p->value[0].name = "parts.record";
}
PLANT(shared_overlap)
{
    p->shared[1].offset -= 1024;
}
PLANT(shared_align)
{
    p->shared[1].offset += 512;
}
PLANT(shared_base)
{
    p->shared_align = 128;
}
PLANT(shared_swizzle)
{
    p->shared[0].align = 512;
}
PLANT(shared_short)
{
    p->launch.shared_bytes = 1000;
}
PLANT(shared_limit)
{
    p->launch.shared_bytes = 240000;
}
PLANT(stage_bytes)
{
    p->shared[0].bytes += 4 * 1024;
}
PLANT(stage_count)
{
    p->shared[0].count = 2;
}
PLANT(barrier_bytes)
{
    p->shared[3].bytes = 24;
}
PLANT(registers_sum)
{
    p->role[1].registers = 248;
}
PLANT(registers_begin)
{
    p->role[0].registers = 32;
    p->role[1].registers = 240;
}
PLANT(registers_odd)
{
    p->role[1].registers = 230;
}
PLANT(registers_few)
{
    p->role[0].registers = 16;
}
PLANT(registers_none)
{
    p->role[0].registers = 0;
}
PLANT(registers_estimate)
{
    p->registers_estimate = 240;
}
PLANT(half_warpgroup)
{
    p->role[0].warps = 2;
    p->launch.block -= 64;
}
PLANT(warps_overlap)
{
    p->role[0].first_warp = 6;
}
PLANT(block_large)
{
    p->launch.block = 2048;
}
PLANT(block_short)
{
    p->launch.block = 512;
}
PLANT(items_of_blocks)
{
    p->launch.once = true;
}
PLANT(blocks_per_sm)
{
    p->blocks_per_sm = 2;
}
PLANT(barrier_number)
{
    p->barrier[0].id = 16;
}
PLANT(barrier_threads)
{
    p->barrier[0].threads = 100;
}
PLANT(mma_n)
{
    p->mma[0].n = 260;
}
PLANT(mma_m)
{
    p->mma[0].m = 128;
}
PLANT(mma_k)
{
    p->mma[0].k = 8;
}
PLANT(mma_types)
{
    p->mma[0].operand[0].dtype = TW_FP64;
}
PLANT(mma_kind)
{
    p->mma[0].kind = "tcgen05";
}
PLANT(mma_major)
{
    p->mma[0].operand[0].dtype = p->mma[0].operand[1].dtype = TW_TF32;
    p->mma[0].k = 8;
    p->mma[0].operand[1].mn_major = true;
}
PLANT(mma_stride)
{
    p->mma[0].operand[0].stride_bytes = 512;
}
PLANT(param_offset)
{
    p->param[1].offset = 64;
}
PLANT(param_bytes)
{
    p->param_bytes -= 8;
}
PLANT(param_limit)
{
    p->param_bytes = 40000;
}
PLANT(param_array)
{
    p->tensor[0].maps = 3;
    p->map[0].rank = 1;
}
PLANT(slices)
{
    p->tensor[0].maps = 1;
    p->map[0].rank = 1;
}
PLANT(param_map)
{
    p->param[0].align = 16;
}
PLANT(arrivals)
{
    p->ring[0].empty_arrivals = 2;
}
PLANT(tx_bytes)
{
    p->ring[0].tx_bytes = 1;
}

/* The consumer's first step takes rows of B's tile from that one on. */
static void plant_slice(struct plan *p, const char *kind, int first)
{
    int consumer = 0;
    while (strcmp(p->role[consumer].name, "consumer") != 0)
        consumer++;
    p->mma[0].kind = kind;
    sample_insert(
        p, consumer, 0,
        (struct plan_step){.op = PLAN_MMA, .ring = -1, .tensor = -1, .call = "first", .at = {plan_some(first)}});
}
PLANT(slice_of_wgmma)
{
    plant_slice(p, "wgmma", expr_int(&p->fused, 0));
}
PLANT(slice_outside)
{
    plant_slice(p, "mma.sync", expr_int(&p->fused, 1024));
}
PLANT(slice_of_data)
{
    const int index[2] = {expr_int(&p->fused, 0), expr_int(&p->fused, 0)};
    const int element = expr_tensor(&p->fused, 0, EXPR_INT, 2, index);
    plant_slice(p, "mma.sync", expr_binary(&p->fused, EXPR_MUL, element, expr_int(&p->fused, 8)));
}
PLANT(slice_odd)
{
    plant_slice(p, "mma.sync", expr_int(&p->fused, 4));
}

PLANT(block_multiplied)
{
    p->mma[0].blocks_m = 1;
    p->mma[0].blocks_n = 2;
    sample_insert(p, 1, 0,
                  (struct plan_step){.op = PLAN_MMA, .ring = -1, .tensor = -1, .call = "half", .block = plan_some(2)});
}
PLANT(block_computed)
{
    const int sum = plan_add_place(p, (struct plan_place){.name = "sum", .rows = 64, .cols = 256, .registers = 128});
    sample_insert(p, 1, 0,
                  (struct plan_step){.op = PLAN_TOUCH,
                                     .ring = -1,
                                     .tensor = -1,
                                     .call = "half",
                                     .place = sum,
                                     .cols = 128,
                                     .block = plan_some(2)});
}

static const struct planted planted[] = {
    {arch_unknown, "arch", "ARCH", "sm_42"},
    {arch_without_tma, "A", "ARCH", "no tensor maps"},
    {box_wide, "A", "TMA-SPAN", "192 bytes"},
    {box_high, "A", "TMA-BOX", "512"},
    {box_odd, "A", "TMA-INNER16", "8 bytes"},
    {row_pitch, "A", "TMA-STR16", "200"},
    {map_rank, "B", "MAP", "rank 3"},
    {map_box, "B", "MAP", "128"},
    {map_swizzle, "B", "SWIZZLE", "64B"},
    {map_tensor, "B_map", "MAP", "tensor 9"},
    {tile_bytes, "A", "SMEM-SIZE", "write 16384"},
    {multicast_odd, "B", "CLUSTER", "3 blocks"},
    {cluster_large, "cluster", "CLUSTER", "16 blocks"},
    {list_before_counters, "workspace_bytes", "LIST", "64 bytes are no workspace"},
    {list_without_room, "workspace_bytes", "LIST", "128 bytes alone"},
    {list_loop, "list", "LIST", "its loop is"},
    {list_item, "list", "LIST", "records are by item"},
    {list_of_parts, "list", "LIST", "find zeros"},
    {shared_overlap, "ab.B", "SMEM-OVERLAP", "ab.A"},
    {shared_align, "ab.B", "SMEM-ALIGN", "write offset = 66560"},
    {shared_base, "ab.A", "SMEM-ALIGN", "shared_align = 1024"},
    {shared_swizzle, "ab.A", "SMEM-ALIGN", "every 1024 bytes"},
    {shared_short, "shared_bytes", "SMEM-SIZE", "163904"},
    {shared_limit, "pipeline.stages", "SMEM", "write 3 or less"},
    {stage_bytes, "ab.A", "SMEM-SIZE", "17408"},
    {stage_count, "ab.A", "SMEM-SIZE", "4"},
    {barrier_bytes, "ab.full", "SMEM-SIZE", "32 bytes"},
    {registers_sum, "registers", "REGS", "68608"},
    {registers_begin, "registers", "REGS", "168 each, 64512 in all"},
    {registers_odd, "consumer", "REGS", "write 224"},
    {registers_few, "producer", "REGS", "write 24"},
    {registers_none, "producer", "REGS", "budget"},
    {registers_estimate, "tile", "REGS", "about 240"},
    {half_warpgroup, "producer", "REGS", "warpgroups"},
    {warps_overlap, "consumer", "THREADS", "producer"},
    {block_large, "threads", "THREADS", "1024"},
    {block_short, "threads", "THREADS", "write block = 384"},
    {items_of_blocks, "launch.once", "ITEMS", "write once = false"},
    {blocks_per_sm, "blocks_per_sm", "SMEM", "write 1"},
    {barrier_number, "epilogue", "BARRIER", "0 to 15"},
    {barrier_threads, "epilogue", "BARRIER", "multiple of 32"},
    {mma_n, "mma", "MMA-SHAPE", "n260"},
    {mma_m, "mma", "MMA-SHAPE", "m = 64"},
    {mma_k, "mma", "MMA-SHAPE", "k = 16"},
    {mma_types, "mma", "MMA-SHAPE", "fp64"},
    {mma_kind, "mma", "ARCH", "tcgen05"},
    {mma_major, "B", "MMA-SHAPE", "K-major"},
    {mma_stride, "A", "SWIZZLE", "write stride_bytes = 1024"},
    {slice_of_wgmma, "sm_90a, role consumer, step 1 first", "SLICE", "takes its second operand as it lies"},
    {slice_outside, "sm_90a, role consumer, step 1 first", "SLICE", "write one up to"},
    {slice_of_data, "sm_90a, role consumer, step 1 first", "SLICE", "may be -"},
    {slice_odd, "sm_90a, role consumer, step 1 first", "SLICE", "from a multiple of 4 on"},
    {block_multiplied, "sm_90a, role consumer, step 1 half", "BLOCK", "multiplies block 2 of 2"},
    {block_computed, "sm_90a, role consumer, step 1 half", "BLOCK", "block 2 of 128 columns, and sum has 256"},
    {param_offset, "B_map", "PARAMS", "puts it at 128"},
    {param_bytes, "param_bytes", "PARAMS", "write 408"},
    {param_limit, "param_bytes", "PARAMS", "32764"},
    {param_array, "A_map", "PARAMS", "its tensor maps have 384 bytes"},
    {slices, "A", "MAPS", "a tile takes 128 slices"},
    {param_map, "A_map", "PARAMS", "alignment 64"},
    {arrivals, "sm_90a, role consumer, stage 0, step 8 ab_release", "PROTOCOL-ARRIVALS", "write empty_arrivals = 4"},
    {tx_bytes, "sm_90a, role producer, stage 0, step 4 ab_expect", "PROTOCOL-BYTES", "write tx_bytes = 32768"},
};
enum { PLANTED = sizeof planted / sizeof *planted };

static void test_planted_faults(void **state)
{
    (void)state;
    int missed = 0;
    for (int i = 0; i < PLANTED; i++) {
        struct plan p;
        struct diag_set diags = {0};
        sample(&p);
        planted[i].plant(&p);
        int faults = plan_check(&p, &diags);
        bool found = false;
        for (int d = 0; d < diags.count; d++)
            found |= diags.item[d].rule && strcmp(diags.item[d].rule, planted[i].rule) == 0 && diags.item[d].field &&
                     strcmp(diags.item[d].field, planted[i].field) == 0 && strstr(diags.item[d].text, planted[i].text);
        if (!found || faults != diags.errors) {
            print_error("fault %d: expected %s [%s] \"%s\", got %d:\n", i, planted[i].field, planted[i].rule,
                        planted[i].text, faults);
            diag_print(&diags, stderr);
            missed++;
        } else if (getenv("TW_TEST_VERBOSE")) {
            diag_print(&diags, stdout);
        }
        diag_free(&diags);
        plan_free(&p);
    }
    assert_int_equal(missed, 0);
}

static void test_faults_come_together(void **state)
{
    (void)state;
    struct plan p;
    struct diag_set diags = {0};
    sample(&p);
    box_wide(&p);
    registers_odd(&p);
    mma_n(&p);
    param_offset(&p);
    assert_true(plan_check(&p, &diags) >= 4);
    diag_free(&diags);
    plan_free(&p);
}

/* Any number of a Plan may be anything: the checks and printers report or print, and read nothing that is not there. */
static void test_damaged_plans(void **state)
{
    (void)state;
    uint32_t seed = 1;
    int faults = 0;
    const int count = TW_TESTS_SANITIZED ? 300 : rounds(600);
    for (int round = 0; round < count; round++) {
        struct plan p;
        struct diag_set diags = {0};
        if (round % 3 == 0)
            sample(&p);
        else if (round % 3 == 1)
            sample_gemm_sm80(&p, 3, 1, true);
        else
            sample_rms_norm(&p, 2, 4, true);
        uint32_t draw[5];
        for (int i = 0; i < 5; i++)
            draw[i] = (seed = seed * 1664525u + 1013904223u) >> 12;
        struct plan_role *role = &p.role[draw[0] % (uint32_t)p.role_count];
        struct plan_step *step = &role->step[draw[1] % (uint32_t)role->step_count];
        struct plan_ring *ring = &p.ring[draw[0] % (uint32_t)p.ring_count];
        struct plan_tensor *tensor = &p.tensor[draw[0] % 3];
        struct plan_shared *shared = &p.shared[draw[0] % (uint32_t)p.shared_count];
        int *const number[] = {
            &step->ring,           &step->tensor,         &step->count,
            &step->phase,          &step->arrivals,       &role->instances,
            &role->warps,          &role->first_warp,     &role->registers,
            &ring->stages,         &ring->tensor_count,   &ring->tensor[0],
            &ring->tx_bytes,       &ring->full_shared,    &ring->empty_shared,
            &ring->empty_arrivals, &tensor->multicast,    &tensor->box[0],
            &tensor->boxes,        &tensor->map,          &tensor->tile_bytes,
            &shared->align,        &shared->count,        &shared->bytes,
            &shared->offset,       &p.launch.cluster[0],  &p.launch.block,
            &p.barrier[0].id,      &p.barrier[0].threads, &p.mma[0].operand[0].tensor,
        };
        *number[draw[2] % (sizeof number / sizeof *number)] = (int)(draw[3] % 110) - 5;
        if (draw[4] % 4 == 0)
            step->op = (enum plan_op)(draw[4] / 4 % PLAN_OP_COUNT);
        faults += plan_check(&p, &diags) + plan_check_protocol(&p, &diags);
        char *text = NULL;
        size_t length;
        assert_int_equal(plan_print_json(&p, &text, &length), 0);
        free(text);
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        plan_print_tables(&p, true, out);
        fclose(out);
        free(text);
        diag_free(&diags);
        plan_free(&p);
    }
    assert_true(2 * faults > count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_plans_pass),     cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_shared_workspace),     cmocka_unit_test(test_planted_faults),
        cmocka_unit_test(test_faults_come_together), cmocka_unit_test(test_damaged_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
