/* One group: kernels of one problem and size, verified, then timed beside each other and beside cuBLASLt. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/kernels.h"
#include "common/parallel.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "verify/layout.h"
#include "verify/trial.h"

/* Sets of inputs: together so many times the L2, and at most so many. */
enum { L2_TIMES = 4, SETS_MOST = 512, L2_GUESS = 64 << 20 };

/* Of cuBLASLt's heuristics all are tried in bursts; those not slower than the fastest by NEAR_PERCENT go into a short
 * sustained trial; and the first of the list, the best of the bursts and the best of those are timed. */
enum { NEAR_PERCENT = 15, BEST_BURSTS = 3, BEST_SUSTAINED = 2, FINALISTS = 1 + BEST_BURSTS + BEST_SUSTAINED };

/* A heuristic of cuBLASLt's, as a candidate. */
struct peer_choice {
    struct bench_group *group;
    int heuristic;
};

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

static const struct plan *plan_of(const struct bench_part *part)
{
    return &launcher_unit(part->kernel->launcher, 0)->plan;
}

static const char *name_of(const struct bench_part *part)
{
    return plan_of(part)->kernel;
}

bool bench_is_emulated(const struct bench *b)
{
    return strcmp(b->device->ops->kind, "emu") == 0;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static bool same_shape(const struct shape *a, const struct shape *b)
{
    size_t dims = sizeof *a->extent * (size_t)a->rank;
    return a->rank == b->rank && memcmp(a->extent, b->extent, dims) == 0 && memcmp(a->stride, b->stride, dims) == 0;
}

/* Finds or makes the buffer of a tensor; -1 out of memory. */
static int buffer_of(struct bench_group *g, const struct bench_part *part, int tensor)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const struct plan_tensor *t = &plan_of(part)->tensor[tensor];
    for (int i = 0; i < g->buffers; i++) {
        const struct bench_buffer *b = &g->buffer[i];
        if (strcmp(b->name, t->name) == 0 && b->dtype == t->dtype && b->out == t->out &&
            same_shape(&b->shape, &part->shape[tensor]))
            return i;
    }
    struct bench_buffer *grown = tw_realloc(rt, g->buffer, sizeof *grown * (size_t)(g->buffers + 1));
    if (!grown)
        return -1;
    g->buffer = grown;
    grown[g->buffers] = (struct bench_buffer){
        .name = t->name,
        .dtype = t->dtype,
        .shape = part->shape[tensor],
        .out = t->out,
        .bytes = ((size_t)shape_span(&part->shape[tensor]) * tw_dtype_bytes(t->dtype) + 3) / 4 * 4,
    };
    return g->buffers++;
}

static int count_sets(const struct bench_group *g)
{
    size_t one = 1, l2 = g->bench->device->l2_bytes ? g->bench->device->l2_bytes : L2_GUESS;
    for (int i = 0; i < g->buffers; i++)
        one += g->buffer[i].bytes;
    size_t sets = L2_TIMES * l2 / one + 1;
    return g->bench->options.hot || bench_is_emulated(g->bench) ? 1
           : sets > SETS_MOST                                   ? SETS_MOST
           : sets < 2                                           ? 2
                                                                : (int)sets;
}

/* Draws an input as a trial does, of a kernel's tensor. */
static int draw(struct bench_group *g, struct bench_buffer *b, const struct bench_part *part, int tensor,
                struct tw_error *error)
{
    struct compile *c = &g->bench->compile;
    const struct compile_unit *unit = launcher_unit(part->kernel->launcher, 0);
    const struct spec_tensor *t = &unit->kernel->tensor[tensor];
    double *values = NULL;
    b->host = tw_alloc_zeroed(&c->rt, b->bytes);
    if (b->host && t->lua_fill) {
        values = tw_alloc(&c->rt, sizeof *values * ((size_t)shape_count(&b->shape) + 1));
        if (values &&
            spec_run_fill(&c->spec, (int)(unit->kernel - c->spec.kernel), tensor, part->symbol, values, &c->diags)) {
            tw_free(&c->rt, values);
            return tw_fail(error, TW_ERROR_INVALID, "the fill of %s failed", b->name);
        }
    }
    if (!b->host || (t->lua_fill && !values))
        return no_memory(error);
    const struct inputs inputs = {
        .key = inputs_key(1, "bench", b->name), .kind = INPUTS_NORMAL, .scale = 1.0, .fill = t->fill, .values = values};
    inputs_write(&inputs, b->dtype, &b->shape, b->host);
    tw_free(&c->rt, values);
    return TW_OK;
}

/* All sets hold the same numbers: what they differ in is where they lie. */
static int fill_sets(struct bench_group *g, struct bench_buffer *b, struct tw_error *error)
{
    struct tw_device *device = g->bench->device;
    int status = TW_OK;
    b->address = tw_alloc_zeroed(&g->bench->compile.rt, sizeof *b->address * (size_t)g->sets);
    if (!b->address)
        return no_memory(error);
    for (int s = 0; s < g->sets && status == TW_OK; s++) {
        status = tw_device_alloc(device, b->bytes, &b->address[s], error);
        if (status != TW_OK || b->bytes == 0)
            continue;
        if (b->out)
            status = tw_device_fill(device, b->address[s], 0, b->bytes, error);
        else
            status = tw_device_upload(device, b->address[s], b->host, b->bytes, error);
    }
    return status;
}

static int make_buffers(struct bench_group *g, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < g->count; i++)
        for (int t = 0; t < plan_of(&g->part[i])->tensor_count; t++)
            if ((g->part[i].buffer[t] = buffer_of(g, &g->part[i], t)) < 0)
                return no_memory(error);
    g->sets = count_sets(g);
    for (int i = 0; i < g->count; i++)
        for (int t = 0; t < plan_of(&g->part[i])->tensor_count && status == TW_OK; t++) {
            struct bench_buffer *b = &g->buffer[g->part[i].buffer[t]];
            if (b->address)
                continue;
            if (!b->out)
                status = draw(g, b, &g->part[i], t, error);
            if (status == TW_OK)
                status = fill_sets(g, b, error);
        }
    return status;
}

static void drop_group(struct bench_group *g)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    for (int i = 0; i < g->buffers; i++) {
        for (int s = 0; s < g->sets && g->buffer[i].address; s++)
            tw_device_free(g->bench->device, g->buffer[i].address[s]);
        tw_free(rt, g->buffer[i].address);
        tw_free(rt, g->buffer[i].host);
    }
    tw_free(rt, g->buffer);
    g->buffer = NULL;
    g->buffers = 0;
    for (int i = 0; i < g->count; i++) {
        tw_device_free(g->bench->device, g->part[i].workspace);
        tw_free(rt, g->part[i].address);
        tw_free(rt, g->part[i].scalar);
        g->part[i].workspace = 0;
        g->part[i].address = NULL;
        g->part[i].scalar = NULL;
    }
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

static int launch_part(void *context, int set, struct tw_error *error)
{
    const struct bench_part *part = context;
    const struct launcher_arguments arguments = arguments_of(part, set);
    return launcher_launch(part->kernel->launcher, &arguments, error);
}

/* Addresses, scalars and workspace of a kernel's launches, and which variant they take. */
static int make_part(struct bench_group *g, struct bench_part *part, struct tw_error *error)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const struct plan *p = plan_of(part);
    struct launcher_answer answer;
    uint64_t bytes;
    part->address = tw_alloc_zeroed(rt, sizeof *part->address * (size_t)g->sets);
    part->scalar = tw_alloc_zeroed(rt, sizeof *part->scalar * (size_t)(p->scalar_count + 1));
    if (!part->address || !part->scalar)
        return no_memory(error);
    for (int s = 0; s < g->sets; s++)
        for (int t = 0; t < p->tensor_count; t++)
            part->address[s][t] = g->buffer[part->buffer[t]].address[s];
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

static int launch_for_trial(void *context, const struct launcher_arguments *arguments, bool *launched,
                            struct tw_error *error)
{
    *launched = true;
    return launcher_launch(context, arguments, error);
}

/* Against the kernel's meaning, as `run` does: all elements, or those of some work items where they are many. */
static int verify(struct bench_part *part, struct tw_error *error)
{
    struct bench *b = part->group->bench;
    const struct trial_request request = {.compile = &b->compile,
                                          .device = b->device,
                                          .unit = part->unit, /* its set-up's program says what is rounded */
                                          .symbol = part->symbol,
                                          .inputs = INPUTS_NORMAL,
                                          .seed = 1};
    struct trial_way way = {.launch = launch_for_trial, .context = part->kernel->launcher};
    struct trial_result result = {0};
    struct trial trial;
    int status = trial_begin(&trial, &request, error);
    if (status == TW_OK)
        status = launcher_workspace(part->kernel->launcher, part->symbol, &way.workspace, error);
    if (status == TW_OK)
        status = trial_run(&trial, &way, &result, error);
    trial_end(&trial);
    if (status == TW_OK && !result.passed) {
        char sizes[256];
        sizes_print(request.unit, part->symbol, sizes, sizeof sizes);
        compile_say(&b->compile, DIAG_ERROR, "%s %s: wrong result, which is not timed: %s", name_of(part), sizes,
                    result.why);
        part->failed = true;
        b->failed++;
    }
    return status;
}

/* ---- cuBLASLt ---------------------------------------------------------------------------------------------------- */

static int launch_peer(void *context, int set, struct tw_error *error)
{
    const struct peer_choice *choice = context;
    const struct bench_group *g = choice->group;
    const struct bench_part *first = &g->part[0];
    const uint64_t *address = first->address[set];
    return cublaslt_launch(&g->bench->lt, choice->heuristic, address[g->of_gemm[0]], address[g->of_gemm[1]],
                           address[g->of_gemm[2]], error);
}

static const struct bench_buffer *operand(const struct bench_group *g, int number)
{
    return &g->buffer[g->part[0].buffer[g->of_gemm[number]]];
}

/* D of set 0 as a candidate leaves it in poisoned memory; the caller frees it. */
static int result_of(struct bench_group *g, const struct time_candidate *candidate, unsigned char **out,
                     struct tw_error *error)
{
    const struct bench_buffer *d = operand(g, 2);
    struct tw_device *device = g->bench->device;
    *out = tw_alloc(&g->bench->compile.rt, d->bytes);
    int status = *out ? tw_device_fill(device, d->address[0], 0xffffffffu, d->bytes, error) : no_memory(error);
    if (status == TW_OK)
        status = candidate->launch(candidate->context, 0, error);
    if (status == TW_OK)
        status = tw_device_synchronize(device, error);
    return status == TW_OK ? tw_device_download(device, *out, d->address[0], d->bytes, error) : status;
}

/* How far D may be from another that was rounded too. */
static double apart_most(const struct bench_group *g)
{
    return 2.0 * compare_bound(g->gemm.d.dtype, 0.0);
}

struct distance_job {
    const struct bench_buffer *d;
    const unsigned char *one, *other;
    double *error, *norm; /* by block */
    int64_t count;
};

static void distance_of_block(void *context, int64_t block)
{
    const struct distance_job *job = context;
    const size_t bytes = tw_dtype_bytes(job->d->dtype);
    struct shape_walk walk;
    int64_t first, end = shape_seek_block(&walk, &job->d->shape, block, job->count, &first);
    for (int64_t i = first; i < end; i++, shape_next(&walk)) {
        double x = tw_dtype_load(job->d->dtype, job->one + (size_t)walk.offset * bytes);
        double y = tw_dtype_load(job->d->dtype, job->other + (size_t)walk.offset * bytes);
        job->error[block] += (x - y) * (x - y);
        job->norm[block] += y * y;
    }
}

/* Relative distance of two results, over all elements; NaN where poison is left. */
static int distance(struct bench_group *g, const unsigned char *one, const unsigned char *other, double *relative,
                    struct tw_error *error)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const struct bench_buffer *d = operand(g, 2);
    int64_t count = shape_count(&d->shape), blocks = (count + SHAPE_BLOCK - 1) / SHAPE_BLOCK;
    struct distance_job job = {.d = d, .one = one, .other = other, .count = count};
    job.error = tw_alloc_zeroed(rt, sizeof *job.error * (size_t)(blocks + 1));
    job.norm = tw_alloc_zeroed(rt, sizeof *job.norm * (size_t)(blocks + 1));
    double away = 0.0, norm = 0.0;
    if (job.error && job.norm)
        parallel_for(blocks, parallel_cores(), distance_of_block, &job);
    for (int64_t i = 0; i < blocks && job.error && job.norm; i++) {
        away += job.error[i];
        norm += job.norm[i];
    }
    *relative = away == 0.0 ? 0.0 : sqrt(away / norm);
    int status = job.error && job.norm ? TW_OK : no_memory(error);
    tw_free(rt, job.error);
    tw_free(rt, job.norm);
    return status;
}

/* Kernels that are the plain product, in all elements, against the peer's D. */
static int compare_parts(struct bench_group *g, const unsigned char *peer, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < g->count && status == TW_OK; i++) {
        struct bench_part *part = &g->part[i];
        unsigned char *own = NULL;
        double away = 0.0;
        if (part->failed || !part->unit->kernel->peer.plain)
            continue;
        status = result_of(g, &(struct time_candidate){launch_part, part}, &own, error);
        if (status == TW_OK)
            status = distance(g, own, peer, &away, error);
        tw_free(&g->bench->compile.rt, own);
        if (status == TW_OK && !(away <= apart_most(g))) {
            compile_say(&g->bench->compile, DIAG_ERROR,
                        "%s: D is %.3g away from cuBLASLt's, %.3g would do; it is not timed", name_of(part), away,
                        apart_most(g));
            part->failed = true;
            g->bench->failed++;
        }
    }
    return status;
}

/* Whether a heuristic launches and is right. *keep: its D, to be freed by the caller, where keep is not NULL. */
static bool peer_is_right(struct bench_group *g, struct peer_choice *choice, unsigned char **keep)
{
    struct bench *b = g->bench;
    struct tw_error error;
    unsigned char *d = NULL;
    int status = result_of(g, &(struct time_candidate){launch_peer, choice}, &d, &error);
    double away = status == TW_OK ? bench_gemm_error(&g->gemm, operand(g, 0)->host, operand(g, 1)->host, d, 1) : 0.0;
    bool right = status == TW_OK && away <= apart_most(g);
    if (status == TW_OK && !right)
        compile_say(&b->compile, DIAG_WARNING,
                    "cuBLASLt's heuristic %d is left out: its D is %.3g away from sums by hand", choice->heuristic,
                    away);
    if (keep && right && !*keep) {
        *keep = d;
        d = NULL;
    }
    tw_free(&b->compile.rt, d);
    return right;
}

/* Which of `count` candidates is fastest in a mode and not yet taken, -1: none. */
static int fastest(const struct time_result (*result)[TIME_MODES], int count, enum time_mode mode, const bool *taken)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!taken[i] && result[i][mode].rounds && (best < 0 || result[i][mode].median < result[best][mode].median))
            best = i;
    return best;
}

/* Times the choices shortly; result by choice. Sustained is of those alone that bursts have near the best. */
static int try_out(struct bench_group *g, struct peer_choice *choice, int count,
                   struct time_result (*result)[TIME_MODES], struct tw_error *error)
{
    struct time_candidate candidate[CUBLASLT_HEURISTICS];
    struct time_result later[CUBLASLT_HEURISTICS][TIME_MODES];
    struct time_options options = time_defaults;
    int near[CUBLASLT_HEURISTICS], nears = 0, failed;
    options.sets = g->sets;
    options.rounds[TIME_BURST] = 3;
    options.rounds[TIME_SUSTAINED] = 0;
    options.burst_seconds = 1e-3;
    options.pause_seconds = 5e-3;
    for (int i = 0; i < count; i++)
        candidate[i] = (struct time_candidate){launch_peer, &choice[i]};
    int status = time_candidates(g->bench->device, &options, candidate, count, result, &failed, error);
    if (status != TW_OK || !g->bench->options.mode[TIME_SUSTAINED])
        return status;
    const bool none[CUBLASLT_HEURISTICS] = {false};
    int best = fastest((const struct time_result(*)[TIME_MODES])result, count, TIME_BURST, none);
    for (int i = 0; i < count; i++)
        if (result[i][TIME_BURST].median <= result[best][TIME_BURST].median * (1.0 + NEAR_PERCENT / 100.0)) {
            candidate[nears] = (struct time_candidate){launch_peer, &choice[i]};
            near[nears++] = i;
        }
    options.rounds[TIME_BURST] = 0;
    options.rounds[TIME_SUSTAINED] = 1;
    options.sustained_seconds = 0.15;
    status = time_candidates(g->bench->device, &options, candidate, nears, later, &failed, error);
    for (int i = 0; i < nears && status == TW_OK; i++)
        result[near[i]][TIME_SUSTAINED] = later[i][TIME_SUSTAINED];
    return status;
}

/* Which heuristics are timed, the library's first of them first, *d: a result of theirs. Returns their number. */
static int choose_peers(struct bench_group *g, struct peer_choice chosen[FINALISTS], unsigned char **d,
                        struct tw_error *error)
{
    static const int wanted[TIME_MODES] = {BEST_BURSTS, BEST_SUSTAINED};
    struct peer_choice choice[CUBLASLT_HEURISTICS];
    struct time_result result[CUBLASLT_HEURISTICS][TIME_MODES];
    bool taken[CUBLASLT_HEURISTICS] = {false};
    struct bench *b = g->bench;
    int count = 0, finalists = 0;
    *d = NULL;
    if (!b->has_lt || !g->has_gemm)
        return 0;
    int status = cublaslt_set(&b->lt, &g->gemm, error);
    if (status == TW_ERROR_UNSUPPORTED) {
        compile_say(&b->compile, DIAG_NOTE, "no peer for %s: %s", name_of(&g->part[0]), error->text);
        return 0;
    }
    for (int i = 0; i < b->lt.heuristics && status == TW_OK; i++) {
        choice[count] = (struct peer_choice){g, i};
        count += peer_is_right(g, &choice[count], d);
    }
    if (status == TW_OK && count)
        status = try_out(g, choice, count, result, error);
    if (status != TW_OK)
        return -status;
    if (count) {
        chosen[finalists++] = choice[0];
        taken[0] = true;
    }
    for (int mode = 0; mode < TIME_MODES && count; mode++)
        for (int i = 0, best; i < wanted[mode]; i++) {
            best = fastest((const struct time_result(*)[TIME_MODES])result, count, (enum time_mode)mode, taken);
            if (best < 0)
                break;
            taken[best] = true;
            chosen[finalists++] = choice[best];
        }
    return finalists;
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
    row->flops = formula(part, part->unit->plan.flops);
    row->bytes = formula(part, part->unit->plan.bytes_moved);
    row->plain = part->unit->kernel->peer.plain;
    row->compile_seconds =
        part->unit->compiled[COMPILE_NVRTC].seconds > 0 ? part->unit->compiled[COMPILE_NVRTC].seconds : -1.0;
    row->sets = g->sets;
    row->group = (int)(g - g->bench->group);
    return row;
}

/* The peer's rows of a mode: its best, and its first. */
static bool add_peers(struct bench_group *g, const struct peer_choice *chosen,
                      const struct time_result (*result)[TIME_MODES], int count, enum time_mode mode)
{
    static const char *const backend[] = {"cublaslt", "cublaslt_first"};
    const bool none[FINALISTS] = {false};
    const int which[] = {fastest(result, count, mode, none), 0};
    for (int i = 0; i < 2 && count; i++) {
        struct bench_result *row = add_row(g, &g->part[0], backend[i], mode, &result[which[i]][mode]);
        if (!row)
            return false;
        row->arch = "";
        row->compile_seconds = -1.0;
        row->plain = true;
        row->algorithm = chosen[which[i]].heuristic;
        row->flops = 2.0 * (double)g->gemm.m * (double)g->gemm.n * (double)g->gemm.k * (double)g->gemm.batch;
        row->bytes = (double)(operand(g, 0)->bytes + operand(g, 1)->bytes + operand(g, 2)->bytes);
    }
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
static int measure(struct bench_group *g, struct peer_choice *chosen, int finalists, struct tw_error *error)
{
    struct bench *b = g->bench;
    struct tw_runtime *rt = &b->compile.rt;
    const size_t most = (size_t)(g->count + finalists) + 1;
    struct time_candidate *candidate = tw_alloc_zeroed(rt, sizeof *candidate * most);
    struct time_result(*result)[TIME_MODES] = tw_alloc_zeroed(rt, sizeof *result * most);
    struct time_options options = time_defaults;
    int count = 0, failed = -1, status = candidate && result ? TW_OK : no_memory(error);
    options.sets = g->sets;
    options.power = &b->power;
    options.progress = show_round;
    options.progress_context = g;
    if (b->options.rounds) {
        options.rounds[TIME_BURST] = (int)b->options.rounds;
        options.rounds[TIME_SUSTAINED] = ((int)b->options.rounds + 2) / 3;
    }
    for (int mode = 0; mode < TIME_MODES; mode++)
        options.rounds[mode] = b->options.mode[mode] ? options.rounds[mode] : 0;
    for (int i = 0; i < g->count && status == TW_OK; i++)
        if (!g->part[i].failed)
            candidate[count++] = (struct time_candidate){launch_part, &g->part[i]};
    const int kernels = count;
    for (int i = 0; i < finalists && status == TW_OK; i++)
        candidate[count++] = (struct time_candidate){launch_peer, &chosen[i]};
    if (status == TW_OK && kernels)
        status = time_candidates(b->device, &options, candidate, count, result, &failed, error);
    progress_clear();
    bool fine = true;
    for (int mode = 0; mode < TIME_MODES && status == TW_OK && kernels; mode++) {
        if (!options.rounds[mode])
            continue;
        for (int i = 0; i < kernels; i++)
            fine =
                fine && add_row(g, candidate[i].context, "tilewright", (enum time_mode)mode, &result[i][mode]) != NULL;
        fine = fine && add_peers(g, chosen, (const struct time_result(*)[TIME_MODES])result + kernels, finalists,
                                 (enum time_mode)mode);
    }
    tw_free(rt, candidate);
    tw_free(rt, result);
    return fine ? status : no_memory(error);
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
    struct peer_choice chosen[FINALISTS];
    struct tw_error error;
    unsigned char *d = NULL;
    int first = b->rows, failed = b->failed, finalists = 0, status = make_buffers(g, &error);
    for (int i = 0; i < g->count && status == TW_OK; i++) {
        g->part[i].group = g;
        status = make_part(g, &g->part[i], &error);
        progress_show("%s: verifying %s", b->options.spec, name_of(&g->part[i]));
        if (status == TW_OK)
            status = verify(&g->part[i], &error);
    }
    g->has_gemm = status == TW_OK && bench_gemm(g->part[0].unit, g->part[0].shape, &g->gemm, g->of_gemm);
    const bool emulated = bench_is_emulated(b);
    if (status == TW_OK && !emulated) {
        finalists = choose_peers(g, chosen, &d, &error);
        status = finalists < 0 ? -finalists : TW_OK;
    }
    if (status == TW_OK && d)
        status = compare_parts(g, d, &error);
    if (status == TW_OK)
        status = emulated ? list_verified(g, &error) : measure(g, chosen, finalists, &error);
    tw_free(&b->compile.rt, d);
    drop_group(g);
    progress_clear();
    if (status != TW_OK)
        return compile_fail(&b->compile, status, &error);
    bench_set_ratios(b, first);
    bench_print_group(b, first);
    return b->failed > failed;
}
