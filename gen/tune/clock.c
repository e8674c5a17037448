#include "tune/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "driver.h"
#include "emu/emu.h"
#include "program/meaning/reference.h"
#include "program/program.h"
#include "verify/compare.h"
#include "verify/inputs.h"
#include "verify/launcher.h"
#include "verify/pointers.h"
#include "verify/trial.h"

enum { TENSORS = 64, L2_TIMES = 4, SETS_MOST = 256, L2_GUESS = 64 << 20 };
/* Inputs without a fill repeat so many bytes of random values: drawing all of large ones takes longer than timing. */
enum { DRAWN_BYTES = 16 << 20 };

/* Where a unit is launched through. */
struct way {
    struct launcher *launcher; /* NULL: it is not loaded */
    int variant;
};

/* One tensor, in each set. */
struct buffer {
    struct shape shape;
    enum tw_dtype dtype;
    bool out, adds;
    size_t bytes;
    uint64_t *address;    /* by set */
    unsigned char *right; /* of outputs: what the kernel's own set-up leaves there */
};

struct tune_timer {
    struct tw_runtime rt;
    struct tw_device *device;
    struct power power;      /* of a GPU */
    struct compile *compile; /* whose units are loaded */
    struct way *way;         /* by unit */
    struct launcher **launcher;
    int launchers, own; /* own: unit of the kernel's own set-up */
    /* what launches at `symbol` take */
    int64_t *symbol;
    int symbols;
    struct buffer *buffer; /* by tensor */
    int buffers, sets;
    double *scalar;
    uint64_t workspace, (*address)[TENSORS];
};

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

static bool is_emulated(const struct tune_timer *t)
{
    return strcmp(t->device->ops->kind, "emu") == 0;
}

/* ---- code ----------------------------------------------------------------------------------------------------------
 */

static void drop_buffers(struct tune_timer *t)
{
    for (int i = 0; i < t->buffers; i++) {
        for (int s = 0; s < t->sets && t->buffer[i].address; s++)
            tw_device_free(t->device, t->buffer[i].address[s]);
        tw_free(&t->rt, t->buffer[i].address);
        tw_free(&t->rt, t->buffer[i].right);
    }
    tw_device_free(t->device, t->workspace);
    tw_free(&t->rt, t->buffer);
    tw_free(&t->rt, t->scalar);
    tw_free(&t->rt, t->address);
    tw_free(&t->rt, t->symbol);
    t->buffer = NULL;
    t->scalar = NULL;
    t->address = NULL;
    t->symbol = NULL;
    t->workspace = 0;
    t->buffers = t->sets = 0;
}

static void drop_code(struct tune_timer *t)
{
    for (int i = 0; i < t->launchers; i++)
        launcher_close(t->launcher[i]);
    tw_free(&t->rt, t->launcher);
    tw_free(&t->rt, t->way);
    t->launcher = NULL;
    t->way = NULL;
    t->launchers = 0;
    t->compile = NULL;
}

/* Units that are launched through one pair: the kernel's own set-up first, as a pair wants it. */
struct together {
    struct compile *compile;
    int unit[COMPILE_LIBRARY_UNITS], count;
    struct launcher *launcher;
    int status;
    struct tw_error error;
};

static void open_one(void *context, int64_t i)
{
    struct together *p = (struct together *)context + i;
    p->status = launcher_open(&p->launcher, p->compile, p->unit, p->count, &p->error);
}

static bool is_compiled(const struct compile_unit *unit)
{
    return unit->wanted && unit->emitted && unit->variant == 0 && unit->status[COMPILE_NVRTC] == TW_OK &&
           (unit->compiled[COMPILE_NVRTC].cubin || unit->compiled[COMPILE_NVRTC].ptx);
}

/* Compiled units in groups, the kernel's own in each. Returns the number of groups. */
static int gather(const struct tune_timer *t, struct together *all)
{
    struct compile *c = t->compile;
    int count = 0;
    for (int i = 0; i < c->unit_count; i++) {
        if (i == t->own || !is_compiled(&c->unit[i]))
            continue;
        if (count == 0 || all[count - 1].count == SPEC_MOST_SETUPS) {
            all[count++] = (struct together){.compile = c};
            all[count - 1].unit[all[count - 1].count++] = t->own;
        }
        all[count - 1].unit[all[count - 1].count++] = i;
    }
    if (count == 0)
        all[count++] = (struct together){.compile = c, .unit = {t->own}, .count = 1};
    return count;
}

static int load(struct tune_timer *t, struct together *all, int count, struct tw_error *error)
{
    int status = TW_OK;
    for (int i = 0; i < count; i++) {
        struct together *p = &all[i];
        if (status == TW_OK && p->status != TW_OK) {
            status = p->status;
            *error = p->error;
        }
        if (!p->launcher)
            continue;
        t->launcher[t->launchers++] = p->launcher;
        if (status == TW_OK)
            status = launcher_load(p->launcher, t->device, launcher_needs_ptx(t->compile->unit[t->own].arch, t->device),
                                   error);
        for (int v = 0; v < p->count && status == TW_OK; v++)
            t->way[p->unit[v]] = (struct way){p->launcher, v};
    }
    return status;
}

/* Loads all that is compiled of these units. */
static int load_code(struct tune_timer *t, struct compile *c, struct tw_error *error)
{
    if (t->compile == c)
        return TW_OK;
    drop_buffers(t);
    drop_code(t);
    t->compile = c;
    t->own = -1;
    for (int i = 0; i < c->unit_count && t->own < 0; i++)
        t->own = c->unit[i].setup == 0 && is_compiled(&c->unit[i]) ? i : -1;
    if (t->own < 0)
        return tw_fail(error, TW_ERROR_INVALID, "the kernel's own set-up does not compile");
    if (!launcher_runs_on(c->unit[t->own].arch, t->device))
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "%s does not run code for %s", t->device->name,
                       c->unit[t->own].arch->name);
    const size_t units = (size_t)c->unit_count + 1;
    struct together *all = tw_alloc_zeroed(&t->rt, sizeof *all * units);
    t->way = tw_alloc_zeroed(&t->rt, sizeof *t->way * units);
    t->launcher = tw_alloc_zeroed(&t->rt, sizeof *t->launcher * units);
    int status = all && t->way && t->launcher ? TW_OK : no_memory(error);
    if (status == TW_OK) {
        const int count = gather(t, all);
        parallel_for(count, parallel_cores(), open_one, all);
        status = load(t, all, count, error);
    }
    tw_free(&t->rt, all);
    return status;
}

/* ---- data ----------------------------------------------------------------------------------------------------------
 */

static const struct compile_unit *own_unit(const struct tune_timer *t)
{
    return &t->compile->unit[t->own];
}

/* Writes set 0 of an input: a part of it, which is repeated, where nothing says what it holds. */
static int draw(struct tune_timer *t, int tensor, struct tw_error *error)
{
    const struct compile_unit *unit = own_unit(t);
    const struct spec_tensor *from = &unit->kernel->tensor[tensor];
    struct compile *c = t->compile;
    struct buffer *b = &t->buffer[tensor];
    const bool plain = !from->lua_fill && from->fill.kind == FILL_DRAWN && b->bytes > DRAWN_BYTES;
    const size_t bytes = plain ? DRAWN_BYTES : b->bytes, each = tw_dtype_bytes(b->dtype);
    const struct shape flat = {1, {(int64_t)(bytes / each)}, {1}};
    double *values = NULL;
    unsigned char *host = tw_alloc_zeroed(&t->rt, bytes + 1);
    if (host && from->lua_fill) {
        values = tw_alloc(&t->rt, sizeof *values * ((size_t)shape_count(&b->shape) + 1));
        if (values &&
            spec_run_fill(&c->spec, (int)(unit->kernel - c->spec.kernel), tensor, t->symbol, SPEC_FILL_TIMED,
                          values, &c->diags)) {
            tw_free(&t->rt, values);
            tw_free(&t->rt, host);
            return tw_fail(error, TW_ERROR_INVALID, "the fill of %s failed", from->name);
        }
    }
    int status = host && (values || !from->lua_fill) ? TW_OK : no_memory(error);
    if (status == TW_OK) {
        const struct inputs inputs = {.key = inputs_key(1, "bench", from->name),
                                      .kind = INPUTS_NORMAL,
                                      .scale = 1.0,
                                      .fill = from->fill,
                                      .values = values};
        inputs_write(&inputs, b->dtype, plain ? &flat : &b->shape, host);
    }
    for (size_t at = 0; at < b->bytes && status == TW_OK; at += bytes)
        status =
            tw_device_upload(t->device, b->address[0] + at, host, b->bytes - at < bytes ? b->bytes - at : bytes, error);
    tw_free(&t->rt, values);
    tw_free(&t->rt, host);
    return status;
}

static int make_sets(struct tune_timer *t, int tensor, struct tw_error *error)
{
    struct buffer *b = &t->buffer[tensor];
    const struct tw_driver *driver = t->device->driver;
    int status = TW_OK;
    b->address = tw_alloc_zeroed(&t->rt, sizeof *b->address * (size_t)t->sets);
    if (!b->address)
        return no_memory(error);
    for (int s = 0; s < t->sets && status == TW_OK; s++) {
        const struct plan_tensor *of = &own_unit(t)->plan.tensor[tensor];
        const size_t more = pointers_bytes(of, &b->shape), behind = more ? pointers_behind(b->bytes) : 0;
        status = tw_device_alloc(t->device, more ? behind + more : b->bytes, &b->address[s], error);
        t->address[s][tensor] = b->address[s] + behind;
        if (status != TW_OK || b->bytes == 0)
            continue;
        const struct pointers pointers = {of, &b->shape, b->address[s], b->address[s] + behind, false};
        status = pointers_write(&t->rt, t->device, &pointers, error);
        if (status != TW_OK)
            continue;
        if (b->out)
            status = tw_device_fill(t->device, b->address[s], 0, b->bytes, error);
        else if (s == 0)
            status = draw(t, tensor, error);
        else
            status = tw_driver_check(driver, driver->copy_on_device(b->address[s], b->address[0], b->bytes), error,
                                     "copying a set of inputs");
    }
    return status;
}

static int count_sets(const struct tune_timer *t)
{
    size_t one = 1, l2 = t->device->l2_bytes ? t->device->l2_bytes : L2_GUESS;
    for (int i = 0; i < t->buffers; i++)
        one += t->buffer[i].bytes;
    const size_t sets = L2_TIMES * l2 / one + 1;
    return is_emulated(t) ? 1 : sets > SETS_MOST ? SETS_MOST : sets < 2 ? 2 : (int)sets;
}

static int make_workspace(struct tune_timer *t, struct tw_error *error)
{
    uint64_t most = 0, bytes;
    int status = TW_OK;
    for (int i = 0; i < t->launchers && status == TW_OK; i++) {
        status = launcher_workspace(t->launcher[i], t->symbol, &bytes, error);
        most = status == TW_OK && bytes > most ? bytes : most;
    }
    most = (most + 3) / 4 * 4;
    if (status == TW_OK && most)
        status = tw_device_alloc(t->device, (size_t)most, &t->workspace, error);
    return status == TW_OK && most ? tw_device_fill(t->device, t->workspace, 0, (size_t)most, error) : status;
}

/* What launches at these sizes take, for all units that are loaded. */
static int make_data(struct tune_timer *t, const int64_t *symbol, struct tw_error *error)
{
    const struct plan *p = &own_unit(t)->plan;
    const size_t bytes = sizeof *symbol * (size_t)p->symbol_count;
    struct shape shape[TENSORS];
    if (t->symbol && t->symbols == p->symbol_count && memcmp(t->symbol, symbol, bytes) == 0)
        return TW_OK;
    drop_buffers(t);
    if (p->tensor_count > TENSORS)
        return tw_fail(error, TW_ERROR_UNSUPPORTED, "more than %d tensors", TENSORS);
    t->symbols = p->symbol_count;
    t->symbol = tw_alloc(&t->rt, bytes);
    t->buffer = tw_alloc_zeroed(&t->rt, sizeof *t->buffer * TENSORS);
    t->scalar = tw_alloc_zeroed(&t->rt, sizeof *t->scalar * ((size_t)p->scalar_count + 1));
    if (!t->symbol || !t->buffer || !t->scalar)
        return no_memory(error);
    memcpy(t->symbol, symbol, bytes);
    for (int i = 0; i < p->scalar_count; i++)
        t->scalar[i] = p->scalar[i].value;
    int status = trial_layout(p, symbol, false, shape, error);
    for (int i = 0; i < p->tensor_count && status == TW_OK; i++) {
        const struct program *program = own_unit(t)->kernel->program;
        t->buffer[t->buffers++] =
            (struct buffer){.shape = shape[i],
                            .dtype = p->tensor[i].dtype,
                            .out = p->tensor[i].out,
                            .adds = p->tensor[i].out && program && program_adds_to(program, i),
                            .bytes = ((size_t)shape_span(&shape[i]) * tw_dtype_bytes(p->tensor[i].dtype) + 3) / 4 * 4};
    }
    t->sets = status == TW_OK ? count_sets(t) : 0;
    t->address = tw_alloc_zeroed(&t->rt, sizeof *t->address * ((size_t)t->sets + 1));
    if (status == TW_OK && !t->address)
        status = no_memory(error);
    for (int i = 0; i < t->buffers && status == TW_OK; i++)
        status = make_sets(t, i, error);
    return status == TW_OK ? make_workspace(t, error) : status;
}

/* ---- launches ------------------------------------------------------------------------------------------------------
 */

/* A candidate as the measuring core launches it. */
struct candidate {
    struct tune_timer *timer;
    struct way way;
};

static int launch(void *context, int set, struct tw_error *error)
{
    const struct candidate *c = context;
    const struct tune_timer *t = c->timer;
    const struct launcher_arguments arguments = {
        .symbol = t->symbol, .address = t->address[set], .scalar = t->scalar, .workspace = t->workspace};
    launcher_force(c->way.launcher, c->way.variant);
    return launcher_launch(c->way.launcher, &arguments, error);
}

/* Whether a launch at these sizes takes the unit: not where its tensors do not fit it. */
static bool is_taken(const struct tune_timer *t, struct way way)
{
    struct tw_error ignored;
    struct launcher_answer answer;
    const struct launcher_arguments arguments = {
        .symbol = t->symbol, .address = t->address[0], .scalar = t->scalar, .workspace = t->workspace};
    launcher_force(way.launcher, way.variant);
    return launcher_ask(way.launcher, &arguments, &answer, &ignored) == TW_OK && answer.variant == way.variant;
}

/* Whether two results of an output agree: but for rounding, of sums in another order. */
static int agree(struct tune_timer *t, const struct buffer *b, const unsigned char *one, bool *fine,
                 struct tw_error *error)
{
    const struct compare_pair pair = {
        .dtype = b->dtype, .shape = &b->shape, .one = one, .other = b->right, .numbers_alone = true};
    double relative = 0.0;
    int status = compare_apart(&t->rt, &pair, &relative, error);
    *fine = relative <= 2.0 * compare_bound(b->dtype, 0.0);
    return status;
}

/* Launches on poisoned outputs. keep: its results are those that are right; else *right says whether they agree. */
static int compare(struct tune_timer *t, struct way way, bool keep, bool *right, struct tw_error *error)
{
    struct candidate c = {t, way};
    int status = TW_OK;
    *right = true;
    for (int i = 0; i < t->buffers && status == TW_OK; i++)
        if (t->buffer[i].out)
            status = tw_device_fill(t->device, t->buffer[i].address[0], t->buffer[i].adds ? 0 : 0xffffffffu,
                                    t->buffer[i].bytes, error);
    if (status == TW_OK)
        status = launch(&c, 0, error);
    if (status == TW_OK)
        status = tw_device_synchronize(t->device, error);
    for (int i = 0; i < t->buffers && status == TW_OK; i++) {
        struct buffer *b = &t->buffer[i];
        unsigned char *got = b->out ? tw_alloc(&t->rt, b->bytes + 1) : NULL;
        if (!b->out)
            continue;
        status = got ? tw_device_download(t->device, got, b->address[0], b->bytes, error) : no_memory(error);
        if (status == TW_OK && keep) {
            tw_free(&t->rt, b->right);
            b->right = got;
            continue;
        }
        bool fine = true;
        if (status == TW_OK)
            status = agree(t, b, got, &fine, error);
        *right = *right && status == TW_OK && fine;
        tw_free(&t->rt, got);
    }
    return status;
}

/* ---- the clock -----------------------------------------------------------------------------------------------------
 */

struct time_options tune_time_options(const struct tune_job *job, int sets)
{
    struct time_options o = time_defaults;
    o.sets = sets;
    o.seconds = job->seconds;
    o.rounds[TIME_BURST] = !job->burst ? 0 : job->brief ? 3 : o.rounds[TIME_BURST];
    o.rounds[TIME_SUSTAINED] = job->burst ? 0 : o.rounds[TIME_SUSTAINED];
    /* Single bursts scatter by some percent, long looks by 1 or 2. */
    o.margin[TIME_BURST] = job->brief ? 0.15 : 0.3;
    o.margin[TIME_SUSTAINED] = 0.04;
    o.settle_seconds = 2.0; /* behind looks at others the board is not at rest */
    o.quick = job->brief;
    if (job->brief) {
        o.burst_seconds = 1e-3;
        o.pause_seconds = 4e-3;
    }
    return o;
}

/* Times what is left of the job; number[i]: of the job, candidate i. */
static int time_all(struct tune_timer *t, const struct tune_job *job, struct candidate *candidate, const int *number,
                    int count, double *ns, struct tw_error *error)
{
    struct time_options options = tune_time_options(job, t->sets);
    options.power = is_emulated(t) ? NULL : &t->power;
    struct time_candidate *timed = tw_alloc_zeroed(&t->rt, sizeof *timed * ((size_t)count + 1));
    struct time_result(*result)[TIME_MODES] = tw_alloc_zeroed(&t->rt, sizeof *result * ((size_t)count + 1));
    const enum time_mode mode = job->burst ? TIME_BURST : TIME_SUSTAINED;
    int failed, status = timed && result ? TW_OK : no_memory(error);
    for (int i = 0; i < count && status == TW_OK; i++)
        timed[i] = (struct time_candidate){launch, &candidate[i]};
    if (status == TW_OK)
        status = time_candidates(t->device, &options, timed, count, result, &failed, error);
    for (int i = 0; i < count && status == TW_OK; i++)
        ns[number[i]] = result[i][mode].rounds ? 1e9 * result[i][mode].median : TUNE_UNTIMED;
    tw_free(&t->rt, timed);
    tw_free(&t->rt, result);
    return status;
}

/* Counts the time since *since as the part's. */
static void spend(const struct tune_job *job, enum tune_part part, double *since)
{
    const double now = compile_clock();
    if (job->spent)
        job->spent[part] += now - *since;
    *since = now;
}

/* The candidates of a job that can be launched and are right; number[i]: of the job, candidate i. */
static int admit(struct tune_timer *t, const struct tune_job *job, struct candidate *candidate, int *number, int *count,
                 double *ns, struct tw_error *error)
{
    const bool compared = !job->brief || is_emulated(t);
    bool right = true;
    int status = compared ? compare(t, t->way[t->own], true, &right, error) : TW_OK;
    for (int i = 0; i < job->count && status == TW_OK; i++) {
        const struct way way = t->way[job->unit[i]];
        ns[i] = 0.0;
        if (!way.launcher || !is_taken(t, way))
            continue;
        right = true;
        if (compared)
            status = compare(t, way, false, &right, error);
        if (!right && status == TW_OK)
            compile_say(job->compile, DIAG_WARNING, "%s: its result differs from the kernel's own, and it is left out",
                        job->compile->unit[job->unit[i]].plan.entry);
        else
            number[*count] = i;
        if (right)
            candidate[(*count)++] = (struct candidate){t, way};
    }
    return status;
}

static int measure(void *context, const struct tune_job *job, double *ns, struct tw_error *error)
{
    struct tune_timer *t = context;
    struct candidate *candidate = tw_alloc_zeroed(&t->rt, sizeof *candidate * ((size_t)job->count + 1));
    int *number = tw_alloc_zeroed(&t->rt, sizeof *number * ((size_t)job->count + 1)), count = 0;
    double since = compile_clock(), began = since;
    int status = candidate && number ? load_code(t, job->compile, error) : no_memory(error);
    spend(job, TUNE_LOAD, &since);
    if (status == TW_OK)
        status = make_data(t, job->symbol, error);
    spend(job, TUNE_DATA, &since);
    if (status == TW_OK)
        status = admit(t, job, candidate, number, &count, ns, error);
    spend(job, TUNE_COMPARE, &since);
    const struct model_device device = {t->device->sm_count,
                                        1e3 * (t->device->clock_khz ? t->device->clock_khz : 1000000)};
    for (int i = 0; i < count && status == TW_OK && is_emulated(t); i++)
        ns[number[i]] = 1e3 * model_time(&job->compile->unit[job->unit[number[i]]].plan, job->symbol, &device).us;
    struct tune_job rest = *job;
    if (job->seconds > 0) /* the least that is more than none, where all of it is gone */
        rest.seconds = fmax(job->seconds - (since - began), 1e-6);
    if (status == TW_OK && count && !is_emulated(t))
        status = time_all(t, &rest, candidate, number, count, ns, error);
    spend(job, TUNE_TIME, &since);
    tw_free(&t->rt, candidate);
    tw_free(&t->rt, number);
    return status;
}

static void leave(void *context, const struct compile *compile)
{
    struct tune_timer *t = context;
    if (t->compile != compile)
        return;
    drop_buffers(t);
    drop_code(t);
}

int tune_timer_open(struct tune_timer **out, const char *name, const char *arch, struct tune_clock *clock,
                    struct tw_error *error)
{
    struct tune_timer *t = calloc(1, sizeof *t);
    *out = t;
    if (!t)
        return no_memory(error);
    int status = tw_runtime_init(&t->rt, error);
    const struct emu_options emulator = {
        .arch = arch ? arch : "sm_90a", .hazards = EMU_HAZARDS_FATAL, .seed = 1, .sm_count = 8};
    const int ordinal = strncmp(name, "cuda:", 5) == 0 ? atoi(name + 5) : 0;
    if (status == TW_OK)
        status = strcmp(name, "emu") == 0 ? tw_device_open_emu(&t->rt, &emulator, &t->device, error)
                                          : tw_device_open_cuda(&t->rt, ordinal, &t->device, error);
    if (status != TW_OK) {
        t->device = NULL;
        return status;
    }
    if (!is_emulated(t))
        power_open(&t->power, t->device);
    *clock = (struct tune_clock){.measure = measure, .context = t, .gpu = t->device->name, .leave = leave};
    return TW_OK;
}

void tune_timer_close(struct tune_timer *t)
{
    if (!t)
        return;
    if (t->device) {
        drop_buffers(t);
        drop_code(t);
    }
    if (t->device && !is_emulated(t))
        power_close(&t->power);
    tw_device_close(t->device);
    tw_runtime_close(&t->rt);
    free(t);
}

const struct tw_device *tune_timer_device(const struct tune_timer *t)
{
    return t->device;
}
