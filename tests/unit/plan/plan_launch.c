#include "plan_launch.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "tensormap/tensormap.h"

/* ---- what fits ------------------------------------------------------------------------------------------------- */

static bool tensor_fits(const struct plan_tensor *t, uint64_t address, const struct shape *s)
{
    int64_t bytes = (int64_t)tw_dtype_bytes(t->dtype), align = t->align > 0 ? t->align : bytes;
    bool fits = address % (uint64_t)align == 0;
    for (int d = 0; d + 1 < t->rank; d++)
        fits = fits && (s->stride[d] * bytes % align == 0 || s->extent[d] == 1);
    return fits && (!t->whole_rows || t->rank == 0 || s->extent[t->rank - 1] * bytes % align == 0);
}

bool launch_fits(const struct plan *p, const struct launch_arguments *a)
{
    bool fits = true;
    for (int i = 0; i < p->symbol_count; i++)
        fits = fits && (a->symbol[i] < 0 || a->symbol[i] % p->symbol_multiple[i] == 0);
    for (int i = 0; i < p->tensor_count; i++)
        fits = fits && (shape_count(&a->shape[i]) == 0 || tensor_fits(&p->tensor[i], a->address[i], &a->shape[i]));
    return fits;
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static int encode(const struct plan *p, const struct plan_map *m, const struct launch_arguments *a, int cc,
                  void *map, struct tw_error *error)
{
    const struct plan_tensor *t = &p->tensor[m->tensor];
    const struct shape *s = &a->shape[m->tensor];
    uint64_t bytes = tw_dtype_bytes(t->dtype), words[16];
    struct tw_tensormap_call call = {
        .func = TW_TENSORMAP_TILED,
        .dtype = (uint32_t)tw_dtype_info(t->dtype)->tensormap,
        .rank = (uint32_t)m->rank,
        .addr = a->address[m->tensor],
        .swizzle = tw_swizzles[m->swizzle].tensormap,
        .l2 = (uint32_t)m->l2_promotion,
    };
    for (int i = 0; i < m->rank; i++) {
        int d = t->rank - 1 - i; /* the driver's dim 0 is the innermost */
        call.dim[i] = d >= 0 && s->extent[d] > 0 ? (uint64_t)s->extent[d] : 1;
        call.box[i] = (uint32_t)m->box[i];
        call.estride[i] = 1;
        if (i == 0)
            continue;
        call.stride[i - 1] = d >= 0 ? (uint64_t)s->stride[d] * bytes : 16;
        /* A dim of one index, or a tensor without elements, is never stepped along. */
        if (call.stride[i - 1] % 16 && (d < 0 || s->extent[d] <= 1 || shape_count(s) == 0))
            call.stride[i - 1] = (call.stride[i - 1] + 15) / 16 * 16;
        if (call.stride[i - 1] == 0)
            call.stride[i - 1] = 16;
    }
    int status = tw_tensormap_encode(&call, cc, words);
    if (status == TW_OK) {
        memcpy(map, words, sizeof words);
        return TW_OK;
    }
    struct tw_tensormap_verdict verdict;
    char text[TW_TENSORMAP_MESSAGE];
    tw_tensormap_check(&call, cc, &verdict);
    for (int i = 0; i < verdict.count; i++) {
        const struct tw_tensormap_finding *f = &verdict.finding[i];
        if (!f->warning)
            return tw_fail(error, TW_ERROR_UNSUPPORTED, "%s: %s [%s]", m->name,
                           tw_tensormap_message(&call, cc, f, text, sizeof text), tw_tensormap_rule_name(f->rule));
    }
    return tw_fail(error, status, "%s: no tensor map for compute capability %d.%d", m->name, cc / 10, cc % 10);
}

static int pack_integer(const struct plan_param *q, int64_t value, unsigned char *to, struct tw_error *error)
{
    int32_t word = (int32_t)value;
    if (q->bytes == 8) {
        memcpy(to, &value, 8);
        return TW_OK;
    }
    if (value < INT32_MIN || value > INT32_MAX)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "%s is %" PRId64 ", past a 32-bit integer", q->name, value);
    memcpy(to, &word, 4);
    return TW_OK;
}

int launch_pack(const struct plan *p, const struct launch_arguments *a, int cc, void *params, struct tw_error *error)
{
    unsigned char *bytes = params;
    int status = TW_OK;

    memset(bytes, 0, (size_t)p->param_bytes);
    for (int i = 0; i < p->param_count && status == TW_OK; i++) {
        const struct plan_param *q = &p->param[i];
        unsigned char *to = bytes + q->offset;
        switch (q->kind) {
        case PLAN_PARAM_MAP:
            status = encode(p, &p->map[q->index], a, cc, to, error);
            break;
        case PLAN_PARAM_POINTER:
            memcpy(to, &a->address[q->tensor], 8);
            break;
        case PLAN_PARAM_DIM:
            status = pack_integer(q, a->symbol[q->index], to, error);
            break;
        case PLAN_PARAM_STRIDE:
            status = pack_integer(q, a->shape[q->tensor].stride[q->index], to, error);
            break;
        case PLAN_PARAM_SCALAR:
            tw_dtype_store(p->scalar[q->index].dtype, to, a->scalar[q->index]);
            break;
        case PLAN_PARAM_WORKSPACE:
            if (!a->workspace)
                status = tw_fail(error, TW_ERROR_INVALID,
                                 "no workspace is given, and the kernel takes %" PRId64 " bytes", p->workspace_bytes);
            memcpy(to, &a->workspace, 8);
            break;
        }
    }
    return status;
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

static bool nothing_to_write(const struct plan *p, const struct launch_arguments *a)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].out && shape_count(&a->shape[i]) > 0)
            return false;
    return true;
}

int launch_grid(const struct plan *p, const struct launch_arguments *a, uint32_t grid[3], struct tw_error *error)
{
    grid[0] = grid[1] = grid[2] = 0;
    if (nothing_to_write(p, a))
        return TW_OK;
    for (int i = 0; i < 3; i++) {
        int64_t blocks;
        if (!expr_eval_int(&p->graph, p->launch.grid[i], a->symbol, &blocks) || blocks < 0 || blocks > INT32_MAX)
            return tw_fail(error, TW_ERROR_UNSUPPORTED, "dimension %d of the grid is not 0 to 2147483647", i);
        grid[i] = (uint32_t)blocks;
    }
    return TW_OK;
}

int launch_plan(struct tw_device *device, struct tw_kernel *kernel, const struct plan *p,
                const struct launch_arguments *a, bool *launched, struct tw_error *error)
{
    enum { MOST = 32768 }; /* bytes of parameters that any architecture takes */
    alignas(128) unsigned char params[MOST];
    struct layout_shared shared;
    struct tw_launch launch = {
        .kernel = kernel,
        .block = {(uint32_t)p->launch.block, 1, 1},
        .shared_bytes = (uint32_t)p->launch.shared_bytes,
        .flags = p->launch.programmatic ? TW_LAUNCH_PROGRAMMATIC : 0,
        .params = params,
        .params_bytes = (size_t)p->param_bytes,
        .ranges = shared.range,
    };
    bool any;
    layout_shared(p, &shared);
    launch.range_count = shared.count;
    int status = launch_grid(p, a, launch.grid, error);
    if (status != TW_OK)
        return status;
    any = launch.grid[0] && launch.grid[1] && launch.grid[2];
    if (launched)
        *launched = any;
    if (!any)
        return TW_OK;
    if (p->param_bytes > MOST)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "%d bytes of parameters", p->param_bytes);
    for (int i = 0; i < 3; i++)
        launch.cluster[i] = (uint32_t)p->launch.cluster[i];
    status = launch_pack(p, a, device->major * 10 + device->minor, params, error);
    return status == TW_OK ? tw_device_launch(device, &launch, error) : status;
}

int plan_way_launch(void *context, const struct launcher_arguments *a, bool *launched, struct tw_error *error)
{
    const struct plan_way *way = context;
    const struct launch_arguments arguments = {a->symbol, a->address, a->shape, a->scalar, a->workspace};
    return launch_plan(way->device, way->kernel, way->plan, &arguments, launched, error);
}
