/* cuBLASLt beside a group: which of its heuristics are right, and which are timed. */
#include <math.h>
#include <string.h>

#include "bench/group.h"
#include "common/parallel.h"
#include "driver.h"
#include "verify/compare.h"

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

const struct bench_buffer *bench_operand(const struct bench_group *g, int number)
{
    return &g->buffer[g->part[0].buffer[g->of_gemm[number]]];
}

int bench_launch_peer(void *context, int set, struct tw_error *error)
{
    const struct bench_choice *choice = context;
    const struct bench_group *g = choice->group;
    return cublaslt_launch(&g->bench->lt, choice->heuristic, bench_operand(g, 0)->address[set],
                           bench_operand(g, 1)->address[set], bench_operand(g, 2)->address[set], error);
}

/* Of dense tensors, whose bytes lie in one line. */
static bool is_dense(const struct shape *shape)
{
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (shape->extent[d] != 1 && shape->stride[d] != stride)
            return false;
        stride *= shape->extent[d];
    }
    return true;
}

/* The kernel moves boxes from one tensor to another of its extents, and adds nothing. */
static bool copies_memory(const struct bench_part *part)
{
    const struct plan *p = bench_plan(part);
    bool copies = p->boxes && p->tensor_count == 2 && part->shape[0].rank == part->shape[1].rank;
    for (int d = 0; copies && d < part->shape[0].rank; d++)
        copies = part->shape[0].extent[d] == part->shape[1].extent[d];
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++)
            copies = copies && !p->role[r].step[i].adds;
    return copies;
}

bool bench_is_copy(const struct bench_group *g)
{
    bool copies = false;
    for (int i = 0; i < g->count; i++)
        copies = copies || copies_memory(&g->part[i]);
    return copies && g->bench->options.peer != BENCH_PEER_NONE && g->bench->device->driver->copy_on_device_async &&
           is_dense(&g->part[0].shape[0]) && is_dense(&g->part[0].shape[1]);
}

int bench_launch_copy(void *context, int set, struct tw_error *error)
{
    const struct bench_group *g = context;
    const struct bench_part *part = &g->part[0];
    const struct tw_device *device = g->bench->device;
    const int out = bench_plan(part)->tensor[0].out ? 0 : 1;
    return tw_driver_check(device->driver,
                           device->driver->copy_on_device_async(part->address[set][out], part->address[set][1 - out],
                                                                g->buffer[part->buffer[out]].bytes, device->stream),
                           error, "copying on the device");
}

/* D of set 0 as a candidate leaves it in poisoned memory; the caller frees it. */
static int result_of(struct bench_group *g, const struct time_candidate *candidate, unsigned char **out,
                     struct tw_error *error)
{
    const struct bench_buffer *d = bench_operand(g, 2);
    struct tw_device *device = g->bench->device;
    *out = tw_alloc(&g->bench->compile.rt, d->bytes);
    int status = *out ? tw_device_fill(device, d->address[0], 0xffffffffu, d->bytes, error) : no_memory(error);
    if (status == TW_OK)
        status = candidate->launch(candidate->context, 0, error);
    if (status == TW_OK)
        status = tw_device_synchronize(device, error);
    return status == TW_OK ? tw_device_download(device, *out, d->address[0], d->bytes, error) : status;
}

/* How far D may be from another that was rounded too: what rounding takes of both, or what tensor cores leave out of
 * sums of thousands; of integers nothing. */
static double apart_most(const struct bench_group *g)
{
    double rounding = 2.0 * compare_bound(g->gemm.d.dtype, 0.0);
    return rounding > 0.0 ? fmax(rounding, 1e-3) : 0.0;
}

/* Relative distance of two results, over all elements; NaN where poison is left. */
static int distance(struct bench_group *g, const unsigned char *one, const unsigned char *other, double *relative,
                    struct tw_error *error)
{
    const struct bench_buffer *d = bench_operand(g, 2);
    const struct compare_pair pair = {.dtype = d->dtype, .shape = &d->shape, .one = one, .other = other};
    return compare_apart(&g->bench->compile.rt, &pair, relative, error);
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
        status = result_of(g, &(struct time_candidate){bench_launch_part, part}, &own, error);
        if (status == TW_OK)
            status = distance(g, own, peer, &away, error);
        tw_free(&g->bench->compile.rt, own);
        if (status == TW_OK && !(away <= apart_most(g))) {
            const char *name = bench_plan(part)->kernel;
            if (isnan(away))
                compile_say(&g->bench->compile, DIAG_ERROR,
                            "%s: some of D is no number where cuBLASLt's is; it is not timed", name);
            else
                compile_say(&g->bench->compile, DIAG_ERROR,
                            "%s: D is %.3g away from cuBLASLt's, %.3g would do; it is not timed", name, away,
                            apart_most(g));
            part->failed = true;
            g->bench->failed++;
        }
    }
    return status;
}

/* Whether a heuristic launches and is right. *keep: its D, to be freed by the caller, where keep is not NULL. */
static bool peer_is_right(struct bench_group *g, struct bench_choice *choice, unsigned char **keep)
{
    struct bench *b = g->bench;
    struct tw_error error;
    unsigned char *d = NULL;
    int status = result_of(g, &(struct time_candidate){bench_launch_peer, choice}, &d, &error);
    double away =
        status == TW_OK ? bench_gemm_error(&g->gemm, bench_operand(g, 0)->host, bench_operand(g, 1)->host, d, 1) : 0.0;
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

int bench_fastest(const struct time_result (*result)[TIME_MODES], int count, enum time_mode mode, const bool *taken)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!(taken && taken[i]) && result[i][mode].rounds &&
            (best < 0 || result[i][mode].median < result[best][mode].median))
            best = i;
    return best;
}

/* Times the choices shortly; result by choice. Sustained is of those alone that bursts have near the best. */
static int try_out(struct bench_group *g, struct bench_choice *choice, int count,
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
        candidate[i] = (struct time_candidate){bench_launch_peer, &choice[i]};
    int status = time_candidates(g->bench->device, &options, candidate, count, result, &failed, error);
    if (status != TW_OK || !g->bench->options.mode[TIME_SUSTAINED])
        return status;
    int best = bench_fastest((const struct time_result(*)[TIME_MODES])result, count, TIME_BURST, NULL);
    for (int i = 0; i < count; i++)
        if (result[i][TIME_BURST].median <= result[best][TIME_BURST].median * (1.0 + BENCH_NEAR_PERCENT / 100.0)) {
            candidate[nears] = (struct time_candidate){bench_launch_peer, &choice[i]};
            near[nears++] = i;
        }
    options.rounds[TIME_BURST] = 0;
    options.rounds[TIME_SUSTAINED] = 1;
    options.sustained_seconds = 0.15;
    options.settle_seconds = 2.0;
    options.power = &g->bench->power;
    status = time_candidates(g->bench->device, &options, candidate, nears, later, &failed, error);
    for (int i = 0; i < nears && status == TW_OK; i++)
        result[near[i]][TIME_SUSTAINED] = later[i][TIME_SUSTAINED];
    return status;
}

/* The heuristics that launch and are right, *d: what one of them gives, to be freed. */
static int list_right(struct bench_group *g, struct bench_choice *choice, unsigned char **d)
{
    int count = 0;
    for (int i = 0; i < g->bench->lt.heuristics; i++) {
        choice[count] = (struct bench_choice){g, i};
        count += peer_is_right(g, &choice[count], d);
    }
    return count;
}

int bench_choose_peers(struct bench_group *g, struct bench_finalists *finalists, struct tw_error *error)
{
    struct bench_choice choice[CUBLASLT_HEURISTICS];
    struct time_result result[CUBLASLT_HEURISTICS][TIME_MODES];
    struct bench *b = g->bench;
    unsigned char *d = NULL;
    memset(finalists, 0, sizeof *finalists);
    if (!b->has_lt || !g->has_gemm)
        return TW_OK;
    int status = cublaslt_set(&b->lt, &g->gemm, error);
    if (status == TW_ERROR_UNSUPPORTED) {
        compile_say(&b->compile, DIAG_NOTE, "no peer for %s: %s", bench_plan(&g->part[0])->kernel, error->text);
        return TW_OK;
    }
    if (status != TW_OK)
        return status;
    int count = list_right(g, choice, &d);
    if (d)
        status = compare_parts(g, d, error);
    tw_free(&b->compile.rt, d);
    if (status == TW_OK && count)
        status = try_out(g, choice, count, result, error);
    for (int mode = 0; mode < TIME_MODES && status == TW_OK && count; mode++) {
        bool taken[CUBLASLT_HEURISTICS] = {true};
        finalists->choice[mode][finalists->count[mode]++] = choice[0];
        for (int i = 0; i < BENCH_BEST; i++) {
            int best =
                bench_fastest((const struct time_result(*)[TIME_MODES])result, count, (enum time_mode)mode, taken);
            if (best < 0)
                break;
            taken[best] = true;
            finalists->choice[mode][finalists->count[mode]++] = choice[best];
        }
    }
    return status;
}
