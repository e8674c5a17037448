#include "verify/trial.h"

#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "program/meaning/reference.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "verify/layout.h"
#include "verify/pointers.h"

/* Bytes of poison on either side of a tensor: a multiple of every alignment, and as much as one vector store writes. */
enum { GUARD = 1024 };

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

/* Rows, planes and so on farther apart: by 16 bytes more than the next multiple of 16, and by an element more than that
 * where the kernel asks for no alignment, so that no two rows are alike. Strides that the spec gives stay. */
static void pad(const struct plan *p, int tensor, struct shape *s)
{
    int64_t bytes = (int64_t)tw_dtype_bytes(p->tensor[tensor].dtype), dense = 1, unit = 16 / bytes ? 16 / bytes : 1;
    const bool pointers = p->tensor[tensor].pointers; /* none of dim 0 is the kernel's: slices stay aligned */
    for (int d = s->rank - 1; d >= pointers; d--) {
        if (s->stride[d] != dense)
            return;
        dense *= s->extent[d];
    }
    for (int d = s->rank - 2; d >= 0; d--) {
        int64_t least = s->stride[d + 1] * s->extent[d + 1];
        s->stride[d] = (least + unit - 1) / unit * unit + unit + (p->tensor[tensor].align <= bytes && d >= pointers);
    }
}

int trial_layout(const struct plan *p, const int64_t *symbol, bool padded, struct shape *shape,
                 struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < p->tensor_count && status == TW_OK; i++) {
        status = layout_shape(p, i, symbol, &shape[i], error);
        if (status == TW_OK && padded && layout_strides_are_arguments(p, i))
            pad(p, i, &shape[i]);
    }
    return status;
}

static uint64_t address_of(const struct trial *t, int tensor)
{
    return t->tensor[tensor].buffer + t->tensor[tensor].begin;
}

static const struct plan_tensor *plan_tensor_of(const struct trial *t, int tensor)
{
    return &t->request.unit->plan.tensor[tensor];
}

/* The tensor's bytes go to the device. */
static int upload(const struct trial *t, int number, struct tw_error *error)
{
    const struct trial_tensor *of = &t->tensor[number];
    pointers_turn(plan_tensor_of(t, number), &of->shape, of->host + of->begin);
    int status = tw_device_upload(t->request.device, of->buffer, of->host, of->bytes, error);
    pointers_turn(plan_tensor_of(t, number), &of->shape, of->host + of->begin);
    return status;
}

int trial_download(const struct trial *t, int number, struct tw_error *error)
{
    const struct trial_tensor *of = &t->tensor[number];
    int status = tw_device_download(t->request.device, of->host, of->buffer, of->bytes, error);
    pointers_turn(plan_tensor_of(t, number), &of->shape, of->host + of->begin);
    return status;
}

/* Where slices have addresses of their own, these; the launch has their array's. */
static int write_list(struct trial *t, int number, struct tw_error *error)
{
    struct trial_tensor *of = &t->tensor[number];
    const struct plan_tensor *tensor = plan_tensor_of(t, number);
    const size_t bytes = pointers_bytes(tensor, &of->shape);
    int status = bytes && !of->list ? tw_device_alloc(t->request.device, bytes, &of->list, error) : TW_OK;
    const struct pointers pointers = {tensor, &of->shape, address_of(t, number), of->list, true};
    return status == TW_OK ? pointers_write(&t->request.compile->rt, t->request.device, &pointers, error) : status;
}

/* The numbers of an input whose fill is a function; *values is the caller's to free. */
static int run_fill(struct trial *t, int number, double **values, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    int64_t count = shape_count(&t->tensor[number].shape);
    *values = tw_alloc(&r->compile->rt, sizeof **values * (size_t)(count ? count : 1));
    if (!*values)
        return no_memory(error);
    int kernel = (int)(r->unit->kernel - r->compile->spec.kernel);
    int status = spec_run_fill(&r->compile->spec, kernel, number, r->symbol, r->fill_most ? r->fill_most : INT64_MAX,
                               *values, &r->compile->diags);
    if (status == 0)
        return TW_OK;
    tw_free(&r->compile->rt, *values);
    *values = NULL;
    return status == 3
               ? no_memory(error)
               : tw_fail(error, TW_ERROR_INVALID, "the fill of %s failed", r->unit->kernel->tensor[number].name);
}

static int make_tensor(struct trial *t, int number, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    const struct plan *p = &r->unit->plan;
    struct tw_runtime *rt = &r->compile->rt;
    const struct plan_tensor *from = &p->tensor[number];
    struct trial_tensor *to = &t->tensor[number];

    to->begin = GUARD;
    to->span = (size_t)shape_span(&to->shape) * tw_dtype_bytes(from->dtype);
    to->bytes = (2 * (size_t)GUARD + to->span + 3) / 4 * 4;
    to->host = tw_alloc(rt, to->bytes);
    if (!to->host)
        return no_memory(error);
    int status = tw_device_alloc(r->device, to->bytes, &to->buffer, error);
    if (status == TW_OK)
        status = tw_device_limit(r->device, to->buffer + to->begin, to->span, error);
    if (status == TW_OK)
        status = write_list(t, number, error);
    if (status != TW_OK)
        return status;
    if (from->out) {
        int64_t count = shape_count(&to->shape);
        to->reference = tw_alloc_zeroed(rt, sizeof(double) * (size_t)(count ? count : 1));
        if (!to->reference || !r->unit->as->program)
            return to->reference ? TW_OK : no_memory(error);
        to->bound = tw_alloc_zeroed(rt, sizeof(double) * (size_t)(count ? count : 1));
        to->done = tw_alloc_zeroed(rt, (size_t)(count ? count : 1));
        to->begins_at_zero = program_adds_to(r->unit->as->program, number);
        return to->bound && to->done ? TW_OK : no_memory(error);
    }
    memset(to->host, COMPARE_POISON, to->bytes);
    if (r->given && r->given[number]) {
        memcpy(to->host + to->begin, r->given[number], to->span);
        return upload(t, number, error);
    }
    double *values = NULL;
    if (r->unit->kernel->tensor[number].lua_fill && (status = run_fill(t, number, &values, error)) != TW_OK)
        return status;
    struct inputs inputs = {
        .key = inputs_key(r->seed, p->kernel, from->name),
        .kind = r->inputs,
        .scale = r->inputs == INPUTS_NORMAL ? 1.0 : 4.0, /* the largest integer: sums of a million products are exact */
        .fill = r->unit->kernel->tensor[number].fill,
        .values = values,
    };
    inputs_write(&inputs, from->dtype, &to->shape, to->host + to->begin);
    tw_free(rt, values);
    return upload(t, number, error);
}

/* ---- the reference --------------------------------------------------------------------------------------------- */

static double **outputs_of(const struct trial *t)
{
    double **out = tw_alloc_zeroed(&t->request.compile->rt, sizeof *out * (size_t)(t->tensor_count + 1));
    for (int i = 0; out && i < t->tensor_count; i++)
        out[i] = t->tensor[i].reference;
    return out;
}

/* The spec's own function, which wants every tensor as dense doubles. */
int trial_spec_reference(struct trial *t, double *const *out, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    const struct plan *p = &r->unit->plan;
    double **data = tw_alloc_zeroed(rt, sizeof *data * (size_t)(t->tensor_count + 1));
    int status = data ? TW_OK : no_memory(error);

    for (int i = 0; i < t->tensor_count && status == TW_OK; i++) {
        const struct trial_tensor *from = &t->tensor[i];
        enum tw_dtype dtype = p->tensor[i].dtype;
        int64_t count = shape_count(&from->shape);
        struct shape_walk walk;
        if (from->reference) {
            data[i] = out[i];
            continue;
        }
        data[i] = tw_alloc(rt, sizeof(double) * (size_t)(count ? count : 1));
        if (!data[i]) {
            status = no_memory(error);
            break;
        }
        shape_seek(&walk, &from->shape, 0);
        for (int64_t e = 0; e < count; e++, shape_next(&walk))
            data[i][e] = tw_dtype_load(dtype, from->host + from->begin + (size_t)walk.offset * tw_dtype_bytes(dtype));
    }
    if (status == TW_OK && spec_run_reference(&r->compile->spec, (int)(r->unit->kernel - r->compile->spec.kernel),
                                              r->symbol, data, &r->compile->diags) != 0)
        status = tw_fail(error, TW_ERROR_INVALID, "the reference of kernel '%s' failed", p->kernel);
    for (int i = 0; data && i < t->tensor_count; i++)
        if (!t->tensor[i].reference)
            tw_free(rt, data[i]);
    tw_free(rt, data);
    return status;
}

static int make_reference(struct trial *t, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    enum { NO_FUNCTION = -2 }; /* LUA_NOREF */
    if (r->unit->as->program)
        return trial_program_reference(t, error);
    if (r->unit->kernel->lua_reference != NO_FUNCTION) {
        double **own = outputs_of(t);
        int made = own ? trial_spec_reference(t, own, error) : no_memory(error);
        tw_free(rt, own);
        return made;
    }
    return tw_fail(error, TW_ERROR_INVALID, "kernel '%s' has nothing to compare with; write reference = function(t, n)",
                   r->unit->kernel->name);
}

/* ---- the trial ------------------------------------------------------------------------------------------------- */

int trial_begin(struct trial *t, const struct trial_request *request, struct tw_error *error)
{
    const struct plan *p = &request->unit->plan;
    struct tw_runtime *rt = &request->compile->rt;
    double start = compile_clock();

    memset(t, 0, sizeof *t);
    t->request = *request;
    t->tensor = tw_alloc_zeroed(rt, sizeof *t->tensor * (size_t)(p->tensor_count + 1));
    t->scalar = tw_alloc_zeroed(rt, sizeof *t->scalar * (size_t)(p->scalar_count + 1));
    struct shape *shape = tw_alloc_zeroed(rt, sizeof *shape * (size_t)(p->tensor_count + 1));
    int status = t->tensor && t->scalar && shape ? trial_layout(p, request->symbol, request->padded, shape, error)
                                                 : no_memory(error);
    if (status == TW_OK) {
        t->tensor_count = p->tensor_count;
        for (int i = 0; i < p->scalar_count; i++)
            t->scalar[i] = p->scalar[i].value;
    }
    for (int i = 0; i < t->tensor_count; i++)
        t->tensor[i].shape = shape[i];
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        status = make_tensor(t, i, error);
    tw_free(rt, shape);
    t->inputs_seconds = compile_clock() - start;
    start = compile_clock();
    if (status == TW_OK)
        status = make_reference(t, error);
    t->reference_seconds = compile_clock() - start;
    return status;
}

/* Zeros where the elements are, poison around them. */
static int clear(struct trial *t, int number, struct tw_error *error)
{
    struct trial_tensor *to = &t->tensor[number];
    enum tw_dtype dtype = t->request.unit->plan.tensor[number].dtype;
    struct shape_walk walk;
    memset(to->host, COMPARE_POISON, to->bytes);
    shape_seek(&walk, &to->shape, 0);
    for (int64_t e = 0; e < shape_count(&to->shape); e++, shape_next(&walk))
        tw_dtype_store(dtype, to->host + to->begin + (size_t)walk.offset * tw_dtype_bytes(dtype), 0.0);
    return upload(t, number, error);
}

static int poison(struct trial *t, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        if (t->tensor[i].begins_at_zero)
            status = clear(t, i, error);
        else if (t->tensor[i].reference)
            status = tw_device_fill(t->request.device, t->tensor[i].buffer, 0xffffffffu, t->tensor[i].bytes, error);
    return status;
}

/* How far from passing: above 1 fails. */
static double excess(double error, double bound)
{
    if (!(error > 0.0))
        return 0.0;
    return bound > 0.0 ? error / bound : (double)INFINITY;
}

static void take_result(struct trial_result *result, double distance, double bound)
{
    if (excess(distance, bound) >= excess(result->error, result->bound)) {
        result->error = distance;
        result->bound = bound;
    }
}

static void fail_result(struct trial_result *result, const char *why)
{
    if (result->passed)
        snprintf(result->why, sizeof result->why, "%s", why);
    result->passed = false;
}

/* One output by the bounds that a program's meaning gives each element. */
static int judge_elements(struct trial *t, const struct compare *compare, const struct trial_tensor *out,
                          struct trial_result *result, struct tw_error *error)
{
    struct compare_bounds bounds = {out->bound, out->done, !t->sampled, out->begins_at_zero,
                                    t->request.inputs == INPUTS_INTEGER};
    struct compare_bounded values;
    char text[512];
    int status = compare_bounded(&t->request.compile->rt, compare, &bounds, &values, error);
    if (status != TW_OK)
        return status;
    take_result(result, values.error, values.bound);
    result->equality = result->equality && values.exact;
    result->elements += values.done;
    result->unbounded += values.unbounded;
    result->nan += values.nan;
    if (values.beyond) {
        snprintf(text, sizeof text, "%lld elements are beyond their bounds, the farthest: %s",
                 (long long)values.beyond, values.worst);
        fail_result(result, text);
    }
    return TW_OK;
}

/* One output by its norm, or by equality. */
static int judge_values(struct trial *t, const struct compare *compare, struct trial_result *result,
                        struct tw_error *error)
{
    struct compare_result values;
    char text[512];
    int status = compare_values(&t->request.compile->rt, compare, &values, error);
    if (status != TW_OK)
        return status;
    double bound = result->equality ? 0.0 : compare_bound(compare->dtype, values.rounding);
    /* Where results must be equal, a difference that rounding to the dtype removes is none. */
    double distance = bound > 0.0 || values.different ? values.error : 0.0;
    if (bound == 0.0 && values.different && !(distance > 0.0))
        distance = (double)INFINITY;
    take_result(result, distance, bound);
    if (excess(distance, bound) > 1.0) {
        snprintf(text, sizeof text, "%lld elements differ, the first: %s", (long long)values.different, values.first);
        fail_result(result, bound > 0.0 ? values.worst : text);
    }
    return TW_OK;
}

/* Downloads one output and compares it. */
static int judge(struct trial *t, int number, struct trial_result *result, struct tw_error *error)
{
    const struct plan *p = &t->request.unit->plan;
    const struct plan_tensor *tensor = &p->tensor[number];
    struct trial_tensor *out = &t->tensor[number];
    struct compare compare = {tensor->name, tensor->dtype, &out->shape, out->host + out->begin, out->reference};
    char text[256];

    int status = trial_download(t, number, error);
    if (status == TW_OK)
        status = out->bound ? judge_elements(t, &compare, out, result, error)
                            : judge_values(t, &compare, result, error);
    if (status != TW_OK)
        return status;
    if (!compare_untouched(tensor->name, tensor->dtype, &out->shape, out->host, out->begin, out->bytes, text))
        fail_result(result, text);
    return TW_OK;
}

static void drop_workspace(struct trial *t)
{
    tw_device_free(t->request.device, t->workspace);
    t->workspace = t->workspace_bytes = 0;
}

/* As many zeros as a launch wants. */
static int make_workspace(struct trial *t, uint64_t wanted, struct tw_error *error)
{
    size_t bytes = ((size_t)wanted + 3) / 4 * 4;
    if (bytes <= t->workspace_bytes)
        return bytes ? tw_device_limit(t->request.device, t->workspace, (size_t)wanted, error) : TW_OK;
    drop_workspace(t);
    int status = tw_device_alloc(t->request.device, bytes, &t->workspace, error);
    if (status == TW_OK)
        status = tw_device_limit(t->request.device, t->workspace, (size_t)wanted, error);
    if (status == TW_OK)
        status = tw_device_fill(t->request.device, t->workspace, 0, bytes, error);
    t->workspace_bytes = status == TW_OK ? bytes : 0;
    return status;
}

/* A launch leaves its workspace as it was: the next one finds zeros. */
static int judge_workspace(struct trial *t, struct trial_result *result, struct tw_error *error)
{
    struct tw_runtime *rt = &t->request.compile->rt;
    unsigned char *bytes = tw_alloc(rt, t->workspace_bytes + 1);
    int status = bytes ? TW_OK : no_memory(error);
    if (status == TW_OK)
        status = tw_device_download(t->request.device, bytes, t->workspace, t->workspace_bytes, error);
    /* A list of turns stays there until the next one is written. */
    const struct plan *p = &t->request.unit->plan;
    const size_t zeros = p->list ? (size_t)p->workspace_bytes : t->workspace_bytes;
    for (size_t i = 0; i < t->workspace_bytes && i < zeros && status == TW_OK; i++)
        if (bytes[i])
            fail_result(result, "the launch left its workspace other than zero");
    tw_free(rt, bytes);
    return status;
}

/* Where a tensor begins behind an address that is aligned for all: where the variant takes it and none before does. A
 * set-up is asked first where sizes choose it. */
static size_t skew(const struct launcher *launcher, int variant, int tensor)
{
    int64_t own = 0, most = 0;
    for (int v = launcher_unit(launcher, variant)->setup ? variant : 0; v <= variant; v++) {
        const struct plan_tensor *t = &launcher_unit(launcher, v)->plan.tensor[tensor];
        own = t->align > 0 ? t->align : (int64_t)tw_dtype_bytes(t->dtype);
        most = v < variant && own > most ? own : most;
    }
    return most > own ? (size_t)own : 0;
}

int trial_fits(struct compile *c, struct launcher *launcher, int variant, const int64_t *symbol, bool padded,
               struct tw_error *error)
{
    const struct plan *p = &launcher_unit(launcher, 0)->plan;
    const int64_t *fixed = launcher_unit(launcher, variant)->plan.symbol_fixed;
    for (int i = 0; fixed && i < p->symbol_count; i++)
        if (fixed[i] >= 0 && fixed[i] != symbol[i])
            return tw_fail(error, TW_ERROR_UNSUPPORTED, "the set-up is for %s = %lld alone", p->symbol[i],
                           (long long)fixed[i]);
    struct shape *shape = tw_alloc_zeroed(&c->rt, sizeof *shape * (size_t)(p->tensor_count + 1));
    uint64_t *address = tw_alloc_zeroed(&c->rt, sizeof *address * 2 * (size_t)(p->tensor_count + 1));
    uint64_t *const align = address ? address + p->tensor_count + 1 : NULL;
    double *scalar = tw_alloc_zeroed(&c->rt, sizeof *scalar * (size_t)(p->scalar_count + 1));
    const struct launcher_arguments arguments = {
        .symbol = symbol, .address = address, .align = align, .shape = shape, .strides = padded, .scalar = scalar};
    struct launcher_answer answer;
    int status = shape && address && scalar ? trial_layout(p, symbol, padded, shape, error) : no_memory(error);
    for (int i = 0; i < p->tensor_count && status == TW_OK; i++) {
        align[i] = skew(launcher, variant, i);
        address[i] = GUARD + (p->tensor[i].pointers ? 0 : align[i]);
    }
    launcher_force(launcher, variant);
    if (status == TW_OK)
        status = launcher_ask(launcher, &arguments, &answer, error);
    if (status == TW_OK && answer.variant != variant)
        status = tw_fail(error, TW_ERROR_UNSUPPORTED, "variant '%s' is taken",
                         launcher_unit(launcher, answer.variant)->plan.variant);
    tw_free(&c->rt, shape);
    tw_free(&c->rt, address);
    tw_free(&c->rt, scalar);
    return status;
}

/* Moves a tensor's elements so that it begins at GUARD + `by`. */
static int place(struct trial *t, int number, size_t by, struct tw_error *error)
{
    struct trial_tensor *to = &t->tensor[number];
    size_t begin = GUARD + by, payload = to->bytes - 2 * (size_t)GUARD;
    if (to->begin == begin)
        return TW_OK;
    memmove(to->host + begin, to->host + to->begin, payload);
    if (begin > to->begin)
        memset(to->host + to->begin, COMPARE_POISON, begin - to->begin);
    else
        memset(to->host + begin + payload, COMPARE_POISON, to->begin - begin);
    to->begin = begin;
    int status = tw_device_limit(t->request.device, address_of(t, number), to->span, error);
    if (status != TW_OK)
        return status;
    status = write_list(t, number, error);
    return status != TW_OK || to->reference ? status : upload(t, number, error);
}

/* The arguments of a launch on the trial's tensors; address, twice, and shape have room for all. */
static struct launcher_arguments arguments_of(const struct trial *t, uint64_t *address, struct shape *shape)
{
    uint64_t *const align = address + t->tensor_count + 1;
    for (int i = 0; i < t->tensor_count; i++) {
        address[i] = plan_tensor_of(t, i)->pointers ? t->tensor[i].list : address_of(t, i);
        align[i] = t->tensor[i].begin - GUARD;
        shape[i] = t->tensor[i].shape;
    }
    return (struct launcher_arguments){.symbol = t->request.symbol,
                                       .address = address,
                                       .align = align,
                                       .shape = shape,
                                       .strides = t->request.padded,
                                       .scalar = t->scalar,
                                       .workspace = t->workspace};
}

int trial_run(struct trial *t, const struct trial_way *way, struct trial_result *result, struct tw_error *error)
{
    const struct trial_request *r = &t->request;
    struct tw_runtime *rt = &r->compile->rt;
    uint64_t *address = tw_alloc(rt, sizeof *address * 2 * (size_t)(t->tensor_count + 1));
    struct shape *shape = tw_alloc(rt, sizeof *shape * (size_t)(t->tensor_count + 1));
    int status = address && shape ? poison(t, error) : no_memory(error);

    memset(result, 0, sizeof *result);
    result->passed = true;
    result->equality = r->inputs == INPUTS_INTEGER && /* of a program until an output says otherwise */
                       r->unit->as->program;
    if (status == TW_OK)
        status = make_workspace(t, way->workspace, error);
    if (status == TW_OK) {
        const struct launcher_arguments arguments = arguments_of(t, address, shape);
        double start = compile_clock();
        status = way->launch(way->context, &arguments, &result->launched, error);
        if (status == TW_OK)
            status = tw_device_synchronize(r->device, error);
        result->seconds = compile_clock() - start;
    }
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        if (t->tensor[i].reference)
            status = judge(t, i, result, error);
    if (status == TW_OK && t->workspace_bytes)
        status = judge_workspace(t, result, error);
    if (status != TW_OK || !result->passed) /* what a launch that failed leaves there is not the next one's fault */
        drop_workspace(t);
    tw_free(rt, address);
    tw_free(rt, shape);
    return status;
}

/* A variant of a launcher, as a way to launch. */
struct chosen {
    struct launcher *launcher;
    int variant;
};

static int launch_chosen(void *context, const struct launcher_arguments *arguments, bool *launched,
                         struct tw_error *error)
{
    const struct chosen *chosen = context;
    struct launcher_answer answer;
    int status = launcher_ask(chosen->launcher, arguments, &answer, error);
    if (status != TW_OK)
        return status;
    if (answer.variant != chosen->variant)
        return tw_fail(error, TW_ERROR_INVALID, "%s is launched where %s was to be",
                       launcher_unit(chosen->launcher, answer.variant)->plan.entry,
                       launcher_unit(chosen->launcher, chosen->variant)->plan.entry);
    *launched = answer.grid[0] != 0;
    return launcher_launch(chosen->launcher, arguments, error);
}

int trial_launch(struct trial *t, struct launcher *launcher, int variant, struct trial_result *result,
                 struct tw_error *error)
{
    struct chosen chosen = {launcher, variant};
    struct trial_way way = {.launch = launch_chosen, .context = &chosen};
    int status = TW_OK;
    memset(result, 0, sizeof *result);
    launcher_force(launcher, variant);
    for (int i = 0; i < t->tensor_count && status == TW_OK; i++)
        status = place(t, i, skew(launcher, variant, i), error);
    if (status == TW_OK)
        status = launcher_workspace(launcher, t->request.symbol, &way.workspace, error);
    return status == TW_OK ? trial_run(t, &way, result, error) : status;
}

void trial_end(struct trial *t)
{
    struct tw_runtime *rt = &t->request.compile->rt;
    for (int i = 0; i < t->tensor_count; i++) {
        tw_free(rt, t->tensor[i].host);
        tw_free(rt, t->tensor[i].reference);
        tw_free(rt, t->tensor[i].bound);
        tw_free(rt, t->tensor[i].done);
        tw_device_free(t->request.device, t->tensor[i].buffer);
        tw_device_free(t->request.device, t->tensor[i].list);
    }
    drop_workspace(t);
    tw_free(rt, t->tensor);
    tw_free(rt, t->scalar);
    memset(t, 0, sizeof *t);
}
