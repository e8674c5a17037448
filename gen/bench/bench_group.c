/* One group: kernels of one problem and size, verified, then timed beside each other and beside cuBLASLt. */
#include <stdio.h>
#include <string.h>

#include "bench/group.h"
#include "common/parallel.h"
#include "verify/pointers.h"
#include "verify/sizes.h"
#include "verify/trial.h"

#define MOST_BY_HAND (INT64_C(1) << 24) /* elements of all tensors */

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

const struct plan *bench_plan(const struct bench_part *part)
{
    return &launcher_unit(part->kernel->launcher, 0)->plan;
}

static const char *name_of(const struct bench_part *part)
{
    return bench_plan(part)->kernel;
}

bool bench_is_emulated(const struct bench *b)
{
    return strcmp(b->device->ops->kind, "emu") == 0;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static struct launcher_arguments arguments_of(const struct bench_part *part, int set)
{
    return (struct launcher_arguments){.symbol = part->symbol,
                                       .address = part->address[set],
                                       .shape = part->shape,
                                       .scalar = part->scalar,
                                       .workspace = part->workspace};
}

int bench_launch_part(void *context, int set, struct tw_error *error)
{
    const struct bench_part *part = context;
    const struct launcher_arguments arguments = arguments_of(part, set);
    return launcher_launch(part->kernel->launcher, &arguments, error);
}

/* What a launch is given of the buffer: its address, or that of its slices' addresses. */
static uint64_t given(const struct bench_buffer *b, int set)
{
    return b->address[set] + (b->tensor->pointers ? pointers_behind(b->bytes) : 0);
}

/* Addresses, scalars and workspace of a kernel's launches, and which variant they take. */
static int make_part(struct bench_group *g, struct bench_part *part, struct tw_error *error)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const struct plan *p = bench_plan(part);
    struct launcher_answer answer;
    uint64_t bytes;
    part->address = tw_alloc_zeroed(rt, sizeof *part->address * (size_t)g->sets);
    part->scalar = tw_alloc_zeroed(rt, sizeof *part->scalar * (size_t)(p->scalar_count + 1));
    if (!part->address || !part->scalar)
        return no_memory(error);
    for (int s = 0; s < g->sets; s++)
        for (int t = 0; t < p->tensor_count; t++)
            part->address[s][t] = given(&g->buffer[part->buffer[t]], s);
    for (int i = 0; i < p->scalar_count; i++)
        part->scalar[i] = p->scalar[i].value;
    int status = launcher_workspace(part->kernel->launcher, part->symbol, &bytes, error);
    if (status == TW_OK && bytes) {
        bytes = (bytes + 3) / 4 * 4;
        status = tw_device_alloc(g->bench->device, (size_t)bytes, &part->workspace, error);
        if (status == TW_OK)
            status = tw_device_fill(g->bench->device, part->workspace, 0, (size_t)bytes, error);
    }
    const struct launcher_arguments arguments = arguments_of(part, 0);
    if (status == TW_OK)
        status = launcher_ask(part->kernel->launcher, &arguments, &answer, error);
    if (status == TW_OK)
        part->unit = launcher_unit(part->kernel->launcher, answer.variant);
    return status;
}

static void drop_parts(struct bench_group *g)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    for (int i = 0; i < g->count; i++) {
        tw_device_free(g->bench->device, g->part[i].workspace);
        tw_free(rt, g->part[i].address);
        tw_free(rt, g->part[i].scalar);
        g->part[i].workspace = 0;
        g->part[i].address = NULL;
        g->part[i].scalar = NULL;
    }
}

static int launch_for_trial(void *context, const struct launcher_arguments *arguments, bool *launched,
                            struct tw_error *error)
{
    *launched = true;
    return launcher_launch(context, arguments, error);
}

/* As `run` does at these sizes: against a program's meaning, all elements or those of some work items where they are
 * many; of a kernel with its own template against the reference by hand. */
static int verify_at(struct bench_part *part, const int64_t *symbol, struct tw_error *error)
{
    struct bench *b = part->group->bench;
    /* At the sizes that are timed, what is timed, unless it is another kernel's fill. */
    const unsigned char *given_by[BENCH_TENSORS] = {NULL};
    for (int t = 0; t < part->unit->plan.tensor_count && symbol == part->symbol; t++) {
        const struct bench_buffer *of = &part->group->buffer[part->buffer[t]];
        const struct spec_tensor *own = &part->unit->kernel->tensor[t], *drawn = of->drawn;
        if (drawn && own->lua_fill == drawn->lua_fill && own->fill.kind == drawn->fill.kind &&
            own->fill.low == drawn->fill.low && own->fill.high == drawn->fill.high)
            given_by[t] = of->host;
    }
    const struct trial_request request = {.compile = &b->compile,
                                          .device = b->device,
                                          .unit = part->unit, /* its set-up's program says what is rounded */
                                          .symbol = symbol,
                                          .inputs = INPUTS_NORMAL,
                                          .seed = 1,
                                          .fill_most = SPEC_FILL_TIMED,
                                          .given = given_by};
    struct trial_way way = {.launch = launch_for_trial, .context = part->kernel->launcher};
    struct trial_result result = {0};
    struct trial trial;
    int status = trial_begin(&trial, &request, error);
    if (status == TW_OK)
        status = launcher_workspace(part->kernel->launcher, symbol, &way.workspace, error);
    if (status == TW_OK)
        status = trial_run(&trial, &way, &result, error);
    trial_end(&trial);
    if (status == TW_OK && !result.passed) {
        char sizes[256];
        sizes_print(request.unit, symbol, sizes, sizeof sizes);
        compile_say(&b->compile, DIAG_ERROR, "%s %s: wrong result, which is not timed: %s", name_of(part), sizes,
                    result.why);
        part->failed = true;
        b->failed++;
    }
    return status;
}

/* A reference by hand, which is of all elements or none, would take longer than anybody waits. */
static bool is_too_much_by_hand(const struct bench_part *part)
{
    int64_t elements = 0;
    for (int i = 0; i < part->unit->plan.tensor_count; i++)
        elements += shape_count(&part->shape[i]);
    return !part->unit->as->program && elements > MOST_BY_HAND;
}

/* Where it does, at the sizes of `run` instead, which is told. */
static int verify(struct bench_part *part, struct tw_error *error)
{
    struct bench *b = part->group->bench;
    const struct option_list none = {0};
    struct sizes run = {0};
    char sizes[256];
    int status = TW_OK;
    if (!is_too_much_by_hand(part))
        return verify_at(part, part->symbol, error);
    if (sizes_list(&b->compile, part->unit, &none, &run) != 0 || run.count == 0)
        status = tw_fail(error, TW_ERROR_INVALID,
                         "kernel '%s' has sizes of bench too large for its reference, and none of run", name_of(part));
    for (int i = 0; i < run.count && status == TW_OK && !part->failed; i++) {
        int64_t *symbol = run.value + (size_t)i * (size_t)run.width;
        symbol[run.width - 1] = b->device->sm_count;
        status = verify_at(part, symbol, error);
    }
    sizes_free(&b->compile, &run);
    sizes_print(part->unit, part->symbol, sizes, sizeof sizes);
    if (status == TW_OK && !part->failed)
        compile_say(&b->compile, DIAG_NOTE, "%s %s: too large for its reference; verified at the sizes of run",
                    name_of(part), sizes);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static double formula(const struct bench_part *part, int node)
{
    int64_t value;
    return node >= 0 && expr_eval_int(&part->unit->plan.graph, node, part->symbol, &value) ? (double)value : 0.0;
}

static struct bench_result *add_row(struct bench_group *g, const struct bench_part *part, const char *backend,
                                    enum time_mode mode, const struct time_result *time)
{
    struct bench_result *row = bench_add_row(g->bench);
    if (!row)
        return NULL;
    snprintf(row->backend, sizeof row->backend, "%s", backend);
    sizes_print(part->unit, part->symbol, row->sizes, sizeof row->sizes);
    row->unit = part->unit;
    row->symbol = part->symbol;
    row->kernel = name_of(part);
    row->arch = part->unit->arch->name;
    row->mode = mode;
    row->timed = time != NULL;
    if (time)
        row->time = *time;
    const bool sized = part->unit->plan.flops >= 0;
    row->flops = sized ? bench_visible(g, part, formula(part, part->unit->plan.flops)) : 0.0;
    row->bytes = formula(part, part->unit->plan.bytes_moved);
    bench_count(g, part, &row->flops, &row->bytes);
    row->flops = sized ? row->flops : bench_visible(g, part, 0.0); /* of the rows that there are */
    row->boxes = formula(part, plan_number(part->unit->plan.boxes));
    row->plain = part->unit->kernel->peer.plain;
    row->compile_seconds =
        part->unit->compiled[COMPILE_NVRTC].seconds > 0 ? part->unit->compiled[COMPILE_NVRTC].seconds : -1.0;
    row->sets = g->sets;
    row->group = (int)(g - g->bench->group);
    return row;
}

/* The peer's rows of a mode: its best, and its first. */
static bool add_peers(struct bench_group *g, const struct bench_finalists *finalists,
                      const struct time_result (*result)[TIME_MODES], enum time_mode mode)
{
    static const char *const backend[] = {"cublaslt", "cublaslt_first"};
    const int count = finalists->count[mode], which[] = {bench_fastest(result, count, mode, NULL), 0};
    for (int i = 0; i < 2 && count; i++) {
        struct bench_result *row = add_row(g, &g->part[0], backend[i], mode, &result[which[i]][mode]);
        if (!row)
            return false;
        row->arch = "";
        row->compile_seconds = -1.0;
        row->plain = true;
        row->algorithm = finalists->choice[mode][which[i]].heuristic;
        row->flops = 2.0 * (double)g->gemm.m * (double)g->gemm.n * (double)g->gemm.k * (double)g->gemm.batch;
        row->bytes = bench_gemm_bytes(&g->gemm);
    }
    return true;
}

/* The driver's copy: no kernel, and it has no boxes. */
static bool add_copy(struct bench_group *g, const struct time_result *result, enum time_mode mode)
{
    struct bench_result *row = add_row(g, &g->part[0], "memcpy", mode, result);
    if (!row)
        return false;
    row->arch = "";
    row->compile_seconds = -1.0;
    row->plain = true;
    row->boxes = 0.0;
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void show_round(void *context, enum time_mode mode, int round, int rounds)
{
    const struct bench_group *g = context;
    char sizes[256];
    sizes_print(g->part[0].unit, g->part[0].symbol, sizes, sizeof sizes);
    progress_show("%s %s: %s, round %d of %d", name_of(&g->part[0]), sizes, time_mode_word[mode], round + 1, rounds);
}

/* Kernels first, then the peer's finalists. */
static int measure_mode(struct bench_group *g, struct bench_finalists *finalists, enum time_mode mode,
                        struct time_candidate *candidate, struct time_result (*result)[TIME_MODES],
                        struct tw_error *error)
{
    struct bench *b = g->bench;
    struct time_options options = time_defaults;
    int count = 0, failed = -1;
    options.sets = g->sets;
    options.power = &b->power;
    options.progress = show_round;
    options.progress_context = g;
    if (b->options.rounds) {
        options.rounds[TIME_BURST] = (int)b->options.rounds;
        options.rounds[TIME_SUSTAINED] = ((int)b->options.rounds + 2) / 3;
    }
    for (int other = 0; other < TIME_MODES; other++)
        options.rounds[other] = other == (int)mode ? options.rounds[other] : 0;
    for (int i = 0; i < g->count; i++)
        if (!g->part[i].failed)
            candidate[count++] = (struct time_candidate){bench_launch_part, &g->part[i]};
    const int kernels = count;
    if (!kernels)
        return TW_OK;
    for (int i = 0; i < finalists->count[mode]; i++)
        candidate[count++] = (struct time_candidate){bench_launch_peer, &finalists->choice[mode][i]};
    const int memcpy_at = count;
    if (bench_is_copy(g))
        candidate[count++] = (struct time_candidate){bench_launch_copy, g};
    int status = time_candidates(b->device, &options, candidate, count, result, &failed, error);
    progress_clear();
    bool fine = true;
    for (int i = 0; i < kernels && status == TW_OK; i++)
        fine = fine && add_row(g, candidate[i].context, "tilewright", mode, &result[i][mode]) != NULL;
    if (status == TW_OK)
        fine = fine && add_peers(g, finalists, (const struct time_result(*)[TIME_MODES])result + kernels, mode);
    if (status == TW_OK && count > memcpy_at)
        fine = fine && add_copy(g, &result[memcpy_at][mode], mode);
    return fine ? status : no_memory(error);
}

static int measure(struct bench_group *g, struct bench_finalists *finalists, struct tw_error *error)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const size_t most = (size_t)g->count + BENCH_FINALISTS + 1;
    struct time_candidate *candidate = tw_alloc_zeroed(rt, sizeof *candidate * most);
    struct time_result(*result)[TIME_MODES] = tw_alloc_zeroed(rt, sizeof *result * most);
    int status = candidate && result ? TW_OK : no_memory(error);
    for (int mode = 0; mode < TIME_MODES && status == TW_OK; mode++)
        if (g->bench->options.mode[mode])
            status = measure_mode(g, finalists, (enum time_mode)mode, candidate, result, error);
    tw_free(rt, candidate);
    tw_free(rt, result);
    return status;
}

/* On the emulator, which has no clock: rows without times. */
static int list_verified(struct bench_group *g, struct tw_error *error)
{
    for (int mode = 0; mode < TIME_MODES; mode++)
        for (int i = 0; i < g->count; i++)
            if (g->bench->options.mode[mode] && !g->part[i].failed &&
                !add_row(g, &g->part[i], "tilewright", (enum time_mode)mode, NULL))
                return no_memory(error);
    return TW_OK;
}

int bench_group_run(struct bench_group *g)
{
    struct bench *b = g->bench;
    struct bench_finalists finalists;
    struct tw_error error;
    int first = b->rows, failed = b->failed, status = bench_make_buffers(g, &error);
    for (int i = 0; i < g->count && status == TW_OK; i++) {
        g->part[i].group = g;
        status = make_part(g, &g->part[i], &error);
        progress_show("%s: verifying %s", b->options.spec, name_of(&g->part[i]));
        if (status == TW_OK)
            status = verify(&g->part[i], &error);
    }
    if (status == TW_OK) {
        struct bench_work work;
        const int64_t rows = bench_work(g, &g->part[0], &work) ? work.rows : -1;
        g->has_gemm = bench_gemm(g->part[0].unit, g->part[0].shape, rows, &g->gemm, g->of_gemm);
    }
    const bool emulated = bench_is_emulated(b);
    if (status == TW_OK && !emulated)
        status = bench_choose_peers(g, &finalists, &error);
    if (status == TW_OK)
        status = emulated ? list_verified(g, &error) : measure(g, &finalists, &error);
    drop_parts(g);
    bench_drop_buffers(g);
    progress_clear();
    if (status != TW_OK)
        return compile_fail(&b->compile, status, &error);
    bench_set_ratios(b, first);
    bench_print_group(b, first);
    return b->failed > failed;
}
