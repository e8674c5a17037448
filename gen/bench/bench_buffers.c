/* The tensors of a group, in sets. */
#include <string.h>

#include "bench/group.h"
#include "verify/inputs.h"
#include "verify/pointers.h"

/* Sets of inputs: together so many times the L2, and at most so many. */
enum { L2_TIMES = 4, SETS_MOST = 512, L2_GUESS = 64 << 20 };

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    size_t dims = sizeof *a->extent * (size_t)a->rank;
    return a->rank == b->rank && memcmp(a->extent, b->extent, dims) == 0 && memcmp(a->stride, b->stride, dims) == 0;
}

/* Finds or makes the buffer of a tensor; -1 out of memory. */
static int buffer_of(struct bench_group *g, const struct bench_part *part, int tensor)
{
    struct tw_runtime *rt = &g->bench->compile.rt;
    const struct plan_tensor *t = &bench_plan(part)->tensor[tensor];
    for (int i = 0; i < g->buffers; i++) {
        const struct bench_buffer *b = &g->buffer[i];
        if (strcmp(b->name, t->name) == 0 && b->dtype == t->dtype && b->out == t->out &&
            b->tensor->pointers == t->pointers && same_shape(&b->shape, &part->shape[tensor]))
            return i;
    }
    struct bench_buffer *grown = tw_realloc(rt, g->buffer, sizeof *grown * (size_t)(g->buffers + 1));
    if (!grown)
        return -1;
    g->buffer = grown;
    grown[g->buffers] = (struct bench_buffer){
        .name = t->name,
        .tensor = t,
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
    b->drawn = t;
    if (b->host && t->lua_fill) {
        values = tw_alloc(&c->rt, sizeof *values * ((size_t)shape_count(&b->shape) + 1));
        if (values && spec_run_fill(&c->spec, (int)(unit->kernel - c->spec.kernel), tensor, part->symbol,
                                    SPEC_FILL_TIMED, values, &c->diags)) {
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
        const size_t more = pointers_bytes(b->tensor, &b->shape), behind = pointers_behind(b->bytes);
        status = tw_device_alloc(device, more ? behind + more : b->bytes, &b->address[s], error);
        if (status != TW_OK || b->bytes == 0)
            continue;
        const struct pointers pointers = {b->tensor, &b->shape, b->address[s], b->address[s] + behind, false};
        status = pointers_write(&g->bench->compile.rt, device, &pointers, error);
        if (status != TW_OK)
            continue;
        if (b->out)
            status = tw_device_fill(device, b->address[s], 0, b->bytes, error);
        else
            status = tw_device_upload(device, b->address[s], b->host, b->bytes, error);
    }
    return status;
}

int bench_make_buffers(struct bench_group *g, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < g->count; i++)
        for (int t = 0; t < bench_plan(&g->part[i])->tensor_count; t++)
            if ((g->part[i].buffer[t] = buffer_of(g, &g->part[i], t)) < 0)
                return no_memory(error);
    g->sets = count_sets(g);
    for (int i = 0; i < g->count; i++)
        for (int t = 0; t < bench_plan(&g->part[i])->tensor_count && status == TW_OK; t++) {
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

void bench_drop_buffers(struct bench_group *g)
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
}
