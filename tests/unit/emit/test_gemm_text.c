/* The text of the GEMM that ships: every number of its Plan counts, and its template is one that people read. */
#include "gemm_spec.h"

#include "emit/embed.h"
#include "emit/host/host.h"

/* ---- numbers of the Plan --------------------------------------------------------------------------------------- */

static struct plan_value *value(struct plan *p, const char *name)
{
    for (int i = 0; i < p->value_count; i++)
        if (strcmp(p->value[i].name, name) == 0)
            return &p->value[i];
    fail_msg("the Plan has no value %s", name);
    return NULL;
}

static struct plan_shared *shared(struct plan *p, const char *name)
{
    for (int i = 0; i < p->shared_count; i++)
        if (strcmp(p->shared[i].name, name) == 0)
            return &p->shared[i];
    fail_msg("the Plan has no region %s", name);
    return NULL;
}

static void stages(struct plan *p)
{
    p->ring[0].stages++;
}
static void result_buffers(struct plan *p)
{
    p->ring[1].stages++;
}
static void stage_bytes(struct plan *p)
{
    step(p, PRODUCER, "ab_expect", 1)->count += 16;
}
static void full_arrivals(struct plan *p)
{
    p->ring[0].full_arrivals++;
}
static void empty_arrivals(struct plan *p)
{
    p->ring[0].empty_arrivals++;
}
static void empty_phase(struct plan *p)
{
    step(p, PRODUCER, "ab_wait_empty", 1)->phase ^= 1;
}
static void full_phase(struct plan *p)
{
    step(p, CONSUMER, "ab_wait_full", 1)->phase ^= 1;
}
static void groups_left(struct plan *p)
{
    step(p, CONSUMER, "mma_wait_1", 1)->count = 2;
}
static void stores_left(struct plan *p)
{
    step(p, CONSUMER, "d_wait", 1)->count = 0;
}
static void tile_m(struct plan *p)
{
    p->item[0].tile *= 2;
}
static void tile_n(struct plan *p)
{
    p->item[1].tile /= 2;
}
static void tile_k(struct plan *p)
{
    p->loop[0].step *= 2;
}
static void cluster_m(struct plan *p)
{
    value(p, "cluster.m")->integer *= 2;
}
static void group(struct plan *p)
{
    value(p, "schedule.group")->integer = 16;
}
static void order(struct plan *p)
{
    value(p, "schedule.order")->text = "row";
}
static void first_turn(struct plan *p)
{
    p->loop[0].from = expr_int(&p->fused, 64);
}
static void turns(struct plan *p)
{
    step(p, PRODUCER, "k", 1)->node = plan_some(expr_int(&p->fused, 2));
}
static void accumulator(struct plan *p)
{
    p->place[0].cols /= 2;
}
static void barrier_id(struct plan *p)
{
    p->barrier[0].id++;
}
static void barrier_threads(struct plan *p)
{
    p->barrier[0].threads *= 2;
}
static void offset_a(struct plan *p)
{
    shared(p, "ab.A")->offset += 1024;
}
static void offset_b(struct plan *p)
{
    shared(p, "ab.B")->offset += 1024;
}
static void offset_d(struct plan *p)
{
    shared(p, "d")->offset += 1024;
}
static void offset_full(struct plan *p)
{
    shared(p, "ab.full")->offset += 8;
}
static void offset_empty(struct plan *p)
{
    shared(p, "ab.empty")->offset += 8;
}
static void bytes_d(struct plan *p)
{
    shared(p, "d")->bytes *= 2;
}
static void shared_align(struct plan *p)
{
    p->shared_align *= 2;
}
static void shared_bytes(struct plan *p)
{
    p->launch.shared_bytes += 1024;
}
static void producer_registers(struct plan *p)
{
    p->role[PRODUCER].registers -= 8;
}
static void consumer_registers(struct plan *p)
{
    p->role[CONSUMER].registers -= 8;
}
static void threads(struct plan *p)
{
    p->launch.block += 128;
}
static void instruction_n(struct plan *p)
{
    p->mma[0].n /= 2;
}
static void instruction_blocks(struct plan *p)
{
    p->mma[0].blocks_m++;
}
static void instruction_steps(struct plan *p)
{
    p->mma[0].k_steps--;
}
static void leading_bytes(struct plan *p)
{
    p->mma[0].operand[0].leading_bytes *= 2;
}
static void stride_bytes_a(struct plan *p)
{
    p->mma[0].operand[0].stride_bytes *= 2;
}
static void stride_bytes_b(struct plan *p)
{
    p->mma[0].operand[1].stride_bytes *= 2;
}
static void k_bytes(struct plan *p)
{
    p->mma[0].operand[1].k_bytes *= 2;
}
static void block_bytes(struct plan *p)
{
    p->mma[0].operand[0].block_bytes *= 2;
}
static void swizzle(struct plan *p)
{
    p->tensor[0].swizzle = TW_SWIZZLE_64B;
}
static void result_swizzle(struct plan *p)
{
    p->tensor[2].swizzle = TW_SWIZZLE_64B;
}
static void multicast(struct plan *p)
{
    p->tensor[1].multicast = 1;
    step(p, PRODUCER, "B_load", 1)->count = p->tensor[1].tile_bytes;
}
static void tile_bytes(struct plan *p)
{
    p->tensor[0].tile_bytes *= 2;
    step(p, PRODUCER, "A_load", 1)->count *= 2;
}
static void box(struct plan *p)
{
    p->tensor[1].box[0] /= 2;
}
static void boxes(struct plan *p)
{
    p->tensor[1].boxes = 2;
}
static void dtype_of_results(struct plan *p)
{
    p->tensor[2].dtype = TW_FP16;
}
static void dtype_of_operands(struct plan *p)
{
    p->mma[0].operand[1].dtype = TW_FP16;
}
static void map_box(struct plan *p)
{
    p->map[0].box[1] /= 2;
}
static void map_swizzle(struct plan *p)
{
    p->map[0].swizzle = TW_SWIZZLE_64B;
}
static void map_promotion(struct plan *p)
{
    p->map[0].l2_promotion = 3;
}
static void grid(struct plan *p)
{
    p->launch.grid[0] = expr_int(&p->graph, 132);
}
static void cluster(struct plan *p)
{
    p->launch.cluster[0] = 4;
}
static void alignment(struct plan *p)
{
    p->tensor[0].align = 32;
}
static void parameter_offset(struct plan *p)
{
    p->param[p->param_count - 1].offset += 4;
}
static void parameter_bytes(struct plan *p)
{
    p->param_bytes += 64;
}
static void entry(struct plan *p)
{
    p->entry = "another";
}

enum { DEVICE = 1, HOST = 2 };

static const struct number {
    const char *name;
    void (*change)(struct plan *p);
    int text; /* which of the two changes, at least */
} number[] = {
#define NUMBER(change, text)                                                                                           \
    {                                                                                                                  \
#change, change, text                                                                                          \
    }
    NUMBER(stages, DEVICE),
    NUMBER(result_buffers, DEVICE),
    NUMBER(stage_bytes, DEVICE),
    NUMBER(full_arrivals, DEVICE),
    NUMBER(empty_arrivals, DEVICE),
    NUMBER(empty_phase, DEVICE),
    NUMBER(full_phase, DEVICE),
    NUMBER(groups_left, DEVICE),
    NUMBER(stores_left, DEVICE),
    NUMBER(tile_m, DEVICE),
    NUMBER(tile_n, DEVICE),
    NUMBER(tile_k, DEVICE),
    NUMBER(cluster_m, DEVICE),
    NUMBER(group, DEVICE),
    NUMBER(order, DEVICE),
    NUMBER(first_turn, DEVICE),
    NUMBER(turns, DEVICE),
    NUMBER(accumulator, DEVICE),
    NUMBER(barrier_id, DEVICE),
    NUMBER(barrier_threads, DEVICE),
    NUMBER(offset_a, DEVICE),
    NUMBER(offset_b, DEVICE),
    NUMBER(offset_d, DEVICE),
    NUMBER(offset_full, DEVICE),
    NUMBER(offset_empty, DEVICE),
    NUMBER(bytes_d, DEVICE),
    NUMBER(shared_align, DEVICE),
    NUMBER(shared_bytes, HOST),
    NUMBER(producer_registers, DEVICE),
    NUMBER(consumer_registers, DEVICE),
    NUMBER(threads, DEVICE | HOST),
    NUMBER(instruction_n, DEVICE),
    NUMBER(instruction_blocks, DEVICE),
    NUMBER(instruction_steps, DEVICE),
    NUMBER(leading_bytes, DEVICE),
    NUMBER(stride_bytes_a, DEVICE),
    NUMBER(stride_bytes_b, DEVICE),
    NUMBER(k_bytes, DEVICE),
    NUMBER(block_bytes, DEVICE),
    NUMBER(swizzle, DEVICE),
    NUMBER(result_swizzle, DEVICE),
    NUMBER(multicast, DEVICE),
    NUMBER(tile_bytes, DEVICE),
    NUMBER(box, DEVICE),
    NUMBER(boxes, DEVICE),
    NUMBER(dtype_of_results, DEVICE),
    NUMBER(dtype_of_operands, DEVICE),
    NUMBER(map_box, HOST),
    NUMBER(map_swizzle, HOST),
    NUMBER(map_promotion, HOST),
    NUMBER(grid, HOST),
    NUMBER(cluster, HOST),
    NUMBER(alignment, HOST),
    NUMBER(parameter_offset, HOST),
    NUMBER(parameter_bytes, HOST),
    NUMBER(entry, DEVICE | HOST),
};

/* The text without its first lines, which print the Plan's values for people. */
static const char *below_banner(const char *text)
{
    while (strncmp(text, "//", 2) == 0)
        text += strcspn(text, "\n") + 1;
    return text;
}

/* The host code, or why there is none: a map that no driver takes. */
static char *emit_c(const struct plan *p)
{
    const struct host_image image = {.plan = p, .source = "//\n", .source_bytes = 3, .registers = -1};
    const struct host_model model = {.name = "gemm_bf16", .image = &image, .image_count = 1};
    const struct emit_options options = {.generator_version = 1, .line_directives = true, .shelf = gemm_shelf};
    struct diag_set diags = {0};
    char *header = NULL, *source = NULL;
    int status = emit_host(&model, &options, &header, &source, &diags);
    char *said = texts(&diags);
    free(header);
    if (status)
        return said;
    free(said);
    return source;
}

static void every_number_counts(void **state)
{
    (void)state;
    struct diag_set diags = {0};
    struct plan p;
    int idle = 0;
    gemm_shelf = shelf_open(&(struct memory){0});
    assert_non_null(gemm_shelf);
    good_plan(&p, "gemm_bf16", "sm_90a", 0);
    char *device = emit(&p, NULL, &diags), *host = emit_c(&p);
    plan_free(&p);
    assert_non_null(device);
    assert_non_null(strstr(host, "gemm_bf16_launch"));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        good_plan(&p, "gemm_bf16", "sm_90a", 0);
        number[i].change(&p);
        char *now = emit(&p, NULL, &diags), *host_now = emit_c(&p);
        char *said = texts(&diags);
        if (!now)
            fail_msg("%s: %s", number[i].name, said);
        if (number[i].text & DEVICE && strcmp(below_banner(device), below_banner(now)) == 0 && ++idle)
            print_error("%s changes nothing in the device code\n", number[i].name);
        if (number[i].text & HOST && strcmp(host, host_now) == 0 && ++idle)
            print_error("%s changes nothing in the host code\n", number[i].name);
        free(said);
        free(now);
        free(host_now);
        plan_free(&p);
    }
    free(device);
    free(host);
    shelf_close(gemm_shelf);
    gemm_shelf = NULL;
    assert_int_equal(idle, 0);
}

/* ---- readability ----------------------------------------------------------------------------------------------- */

/* The template is CUDA on four screens: no protocol, no descriptor and no PTX is spelt in it. */
static void the_template_is_readable(void **state)
{
    (void)state;
    static const char *const banned[] = {"0x",     "0X", "asm", "mbarrier", "cp.async",   "wgmma.",   "stmatrix",
                                         "fence.", "%%", "<<",  "bar.sync", "setmaxnreg", "#include", ".shared"};
    const char *text;
    size_t length;
    int lines = 0;
    assert_true(emit_find_template("program.sm_90a.cu", &text, &length));
    assert_null(strstr(text, "0x"));
    char *code = calloc(1, length + 1), *end = code; /* without the Lua lines, which name blocks */
    assert_non_null(code);
    for (const char *line = text, *next; *line; line = next, lines++) {
        next = line + strcspn(line, "\n") + 1;
        if (strncmp(line + strspn(line, " "), "//@", 3) != 0) {
            memcpy(end, line, (size_t)(next - line));
            end += next - line;
        }
    }
    assert_in_range(lines, 50, 200);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strstr(code, banned[i]))
            fail_msg("the template spells '%s'", banned[i]);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_counts),
        cmocka_unit_test(the_template_is_readable),
    };
    return cmocka_run_group_tests(tests, read_spec, free_spec);
}
