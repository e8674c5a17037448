#include "random_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "emu/emu.h"
#include "program/meaning/reference.h"
#include "random_tables.h"
#include "unit/program/program_naive.h"
#include "verify/compare.h"
#include "verify/launcher.h"
#include "verify/run/ring_fills.h"
#include "verify/sizes.h"
#include "verify/trial.h"

enum { CASES = 16, GPU = 3 /* a mode of its own */ };

static const char *const modes[] = {"eager", "late", "random", [GPU] = "on the GPU"};

void random_words(const char *spec, const char *kernel, char *words, size_t size)
{
    char line[4096], wanted[80];
    FILE *f = fopen(spec, "r");
    size_t length = 0;
    snprintf(wanted, sizeof wanted, "-- %s:", kernel ? kernel : "");
    words[0] = '\0';
    for (int i = 0; f && fgets(line, sizeof line, f) && strncmp(line, "-- ", 3) == 0 && strchr(line, ':'); i++) {
        line[strcspn(line, "\n")] = '\0';
        if (i > 0 && kernel && strncmp(line, wanted, strlen(wanted)) != 0)
            continue;
        length += (size_t)snprintf(words + length, size - length, "%s ", strchr(line, ':') + 1);
        length = length < size ? length : size - 1;
    }
    if (f)
        fclose(f);
}

/* What the first kernel means at one size with one kind of inputs, output by output, as its tensors stand there. */
struct meant {
    char name[16][64]; /* another kernel's tensors may stand in another order; "": no output */
    double *value[16], *bound[16];
    int64_t count[16];
    bool *down; /* by operation: loops whose turns it took from the last to the first */
    int tile[SPEC_MAX_AXES];
};

struct work {
    const struct random_run *o;
    const char *path;
    uint64_t seed;
    FILE *out;
    int bad;
    char expected[32];  /* the rule that is to refuse the spec; "": none is */
    bool refused;       /* by that rule */
    bool by_tile;       /* what the program means depends on its tiles, in which kernels differ */
    bool first;         /* the kernel in hand is the spec's first */
    int number;         /* its number */
    const char *kernel; /* the name of the first */
    struct meant meant[CASES][2];
    struct ring_fills fills[16]; /* by compile.unit */
    struct ring_block *block;
    int current; /* the unit that runs, -1: none */
    int passed;  /* launches of the kernel in hand */
};

static bool on_gpu(const struct work *w)
{
    return w->o->device && strcmp(w->o->device, "cuda") == 0;
}

static void hit(struct work *w, const char *kind, const char *name)
{
    fprintf(w->out, "hit %s.%s\n", kind, name);
}

static void bad(struct work *w, const char *kernel, const char *arch, const char *text)
{
    fprintf(w->out, "bad %s %s: %.*s\n", kernel, arch, (int)strcspn(text, "\n"), text);
    w->bad++;
}

/* What a lowering may say of a random program: that its numbers do not fit, or that there is no lowering of it, and
 * what to write instead; what it says without that is of a derivation that went wrong. */
static bool is_refusal(const char *rule, const char *text)
{
    static const char *const rules[] = {"PROGRAM-LOWER", "PROGRAM-AHEAD", "SCHEDULE-TAIL", "SCHEDULE-REUSE", "REGS",
                                        "SMEM",          "TMA-BOX",       "CLUSTER-SLICE", "SPILLS"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rule, rules[i]) == 0)
            return strcmp(rule, "PROGRAM-LOWER") != 0 || strchr(text, ';');
    return false;
}

/* Counts what was refused. */
static void take_refusal(struct work *w, struct compile *c, const char *kernel, const char *arch)
{
    bool own = c->diags.errors == 0;
    for (int i = 0; i < c->diags.count; i++) {
        const struct diag *d = &c->diags.item[i];
        char text[1024];
        if (d->severity != DIAG_ERROR)
            continue;
        snprintf(text, sizeof text, "%s [%s]", d->text, d->rule ? d->rule : "no rule");
        if (*w->expected && d->rule && strcmp(d->rule, w->expected) == 0) {
            w->refused = true;
            continue;
        }
        hit(w, "refused", d->rule ? d->rule : "no rule");
        fprintf(w->out, "why %s\n", text);
        if (!d->rule || w->o->strict || !(w->o->specs || is_refusal(d->rule, d->text)))
            bad(w, kernel, arch, text);
    }
    if (own)
        bad(w, kernel, arch, "refused without a word");
}

static void count_plan(struct work *w, const struct compile_unit *unit)
{
    const struct program *p = unit->kernel->program;
    char rule[300];
    bool ops[PLAN_OP_COUNT] = {false}, kinds[PROGRAM_KIND_COUNT] = {false}, places[PLAN_PLACE_COUNT] = {false};
    for (int i = 0; i < unit->plan.role_count; i++)
        for (int s = 0; s < unit->plan.role[i].step_count; s++)
            ops[unit->plan.role[i].step[s].op] = true;
    for (int i = 0; i < unit->plan.role_count; i++)
        for (int s = 0; s < unit->plan.role[i].step_count; s++)
            if (unit->plan.role[i].step[s].why) {
                snprintf(rule, sizeof rule, "%s: %.150s", plan_op_word[unit->plan.role[i].step[s].op],
                         unit->plan.role[i].step[s].why);
                hit(w, "rule", rule);
            }
    for (int i = 0; i < unit->plan.place_count; i++)
        places[unit->plan.place[i].kind] = true;
    for (int i = 0; i < p->op_count; i++)
        kinds[p->op[i].kind] = true;
    for (int i = 0; i < PLAN_OP_COUNT; i++)
        if (ops[i])
            hit(w, "step", plan_op_word[i]);
    for (int i = 0; i < PLAN_PLACE_COUNT; i++)
        if (places[i])
            hit(w, "place", plan_place_word[i]);
    for (int i = 0; i < PROGRAM_KIND_COUNT; i++)
        if (kinds[i])
            hit(w, "operation", *program_kinds[i].name ? program_kinds[i].name : "(of a loop)");
    for (int i = 0; i < unit->plan.reason_count; i++)
        hit(w, "decided", unit->plan.reason[i].field);
    hit(w, "variant", *unit->plan.variant ? unit->plan.variant : "aligned");
}

static bool within(double value, double want, double bound)
{
    return isnan(want)   ? isnan(value) || bound > 0
           : isinf(want) ? value == want || bound > 0
                         : fabs(value - want) <= bound;
}

/* By operation: loops whose turns go from the last to the first. The caller frees it. */
static bool *loops_down(const struct trial *t)
{
    bool *down = calloc((size_t)t->request.unit->kernel->program->op_count + 1, sizeof *down);
    assert_non_null(down);
    trial_loops_down(&t->request.unit->plan, down);
    return down;
}

/* The naive twin on the trial's inputs. every: one in so many items, where no two of them add to one element. */
static void check_twin(struct work *w, struct trial *t, const char *sizes, int every)
{
    const struct spec_kernel *k = t->request.unit->kernel;
    double *tensor[16] = {0}, *own[16] = {0};
    bool some = every > 1;
    int64_t extent[16][SPEC_MAX_RANK] = {{0}};
    for (int i = 0; i < t->tensor_count; i++) {
        int64_t count = shape_count(&t->tensor[i].shape);
        size_t bytes = tw_dtype_bytes(k->tensor[i].dtype);
        struct shape_walk walk;
        memcpy(extent[i], t->tensor[i].shape.extent, sizeof extent[i]);
        tensor[i] = calloc((size_t)count + 1, sizeof(double));
        own[i] = calloc((size_t)count + 1, sizeof(double));
        assert_true(tensor[i] && own[i]);
        some = some && !(k->tensor[i].out && t->tensor[i].begins_at_zero);
        shape_seek(&walk, &t->tensor[i].shape, 0);
        for (int64_t e = 0; e < count; e++, shape_next(&walk)) {
            if (k->tensor[i].out)
                own[i][e] = t->tensor[i].begins_at_zero ? 0 : (double)NAN;
            else
                tensor[i][e] = tw_dtype_load(k->tensor[i].dtype,
                                             t->tensor[i].host + t->tensor[i].begin + (size_t)walk.offset * bytes);
        }
    }
    struct program_data data = {.symbol = t->request.symbol,
                                .tensor = tensor,
                                .extent = (const int64_t(*)[SPEC_MAX_RANK])extent,
                                .scalar = t->scalar};
    bool *down = loops_down(t);
    naive_run_some(k->program, k, &data, down, own, w->seed + 1, some ? every : 1);
    free(down);
    for (int i = 0; i < t->tensor_count; i++) {
        const struct trial_tensor *want = &t->tensor[i];
        for (int64_t e = 0; k->tensor[i].out && e < shape_count(&want->shape); e++) {
            char text[512];
            if ((some && isnan(own[i][e])) || (t->sampled && !want->done[e])) /* one of them left its item out */
                continue;
            if (want->done[e] ? within(own[i][e], want->reference[e], want->bound[e])
                              : isnan(own[i][e]) || own[i][e] == 0)
                continue;
            snprintf(text, sizeof text, "%s: twin: %s[%lld] is %.9g, the meaning %.9g within %.3g%s", sizes,
                     k->tensor[i].name, (long long)e, own[i][e], want->reference[e], want->bound[e],
                     want->done[e] ? "" : ", which does not store it");
            bad(w, k->name, "-", text);
            break;
        }
        free(tensor[i]);
        free(own[i]);
    }
    hit(w, "twin", "compared");
}

/* Whether both ways of turns come to the same within bounds that hold whatever casts round. */
static bool is_rounding(struct work *w, const struct trial *t, const struct meant *m, int i)
{
    struct trial_meaning meaning[2] = {{0}};
    struct tw_error error;
    bool *down[2] = {m->down, loops_down(t)}, fine = true;
    for (int way = 0; way < 2 && fine; way++)
        fine = trial_meaning_open(t, &meaning[way], &error) == TW_OK &&
               trial_meaning(t, &(struct trial_turns){.down = down[way], .free_casts = true}, &meaning[way], &error) ==
                   TW_OK;
    fine = fine && trial_meanings_apart(t, i, &meaning[0], &meaning[1]) < 0;
    for (int way = 0; way < 2; way++)
        trial_meaning_close(t, &meaning[way]);
    free(down[1]);
    hit(w, "how", "compared by bounds with turns the other way");
    return fine;
}

/* Whether the first kernel's numbers are as far away at most as casts may round here, and as much again, which they may
 * with its tile. */
static bool is_rounding_of_tile(struct work *w, const struct trial *t, const struct meant *m, int i, int at)
{
    struct trial_meaning meaning = {0};
    struct tw_error error;
    bool *down = loops_down(t);
    bool fine = trial_meaning_open(t, &meaning, &error) == TW_OK &&
                trial_meaning(t, &(struct trial_turns){.down = down, .free_casts = true}, &meaning, &error) == TW_OK;
    for (int64_t e = 0; fine && e < m->count[at]; e++)
        fine = !t->tensor[i].done[e] || within(t->tensor[i].reference[e], m->value[at][e],
                                               2 * meaning.bound[i][e] + m->bound[at][e] + t->tensor[i].bound[e]);
    trial_meaning_close(t, &meaning);
    free(down);
    hit(w, "how", "compared by bounds with another tile");
    return fine;
}

/* Casts round other numbers where turns go the other way or are of another tile: mostly results are as far apart at
 * most as those of the narrowest cast may be. Where they are not, as behind a difference of nearly equal numbers or a
 * choice between two, an element's own bounds say what rounding comes to. */
static void check_other_way(struct work *w, const struct trial *t, const char *kernel, const char *sizes,
                            const struct meant *m, int i, int at, bool tile)
{
    const struct trial_tensor *now = &t->tensor[i];
    const struct spec_kernel *k = t->request.unit->kernel;
    double most = 2 * compare_bound(program_narrowest_cast(k->program), 0.0), difference = 0, norm = 0;
    char text[700];
    for (int64_t e = 0; e < m->count[at]; e++) {
        double one = m->value[at][e], other = now->reference[e];
        if (!now->done[e])
            continue;
        norm += isfinite(one) ? one * one : 0;
        if (one == other || (isnan(one) && isnan(other)))
            continue;
        double bound = m->bound[at][e] + now->bound[e], far = fabs(one - other) - bound;
        difference += isinf(bound) || far <= 0 ? 0 : far * far;
    }
    hit(w, "how", tile ? "compared with another tile" : "compared with turns the other way");
    if (difference <= most * most * norm || (tile ? is_rounding_of_tile(w, t, m, i, at) : is_rounding(w, t, m, i)))
        return;
    snprintf(text, sizeof text,
             "%s: the %s changes what it means: %s is %.3g away, at most %.3g are right, and farther than "
             "its elements' bounds",
             sizes, tile ? "tile" : "way of turns", k->tensor[i].name, sqrt(difference / norm), most);
    bad(w, kernel, "-", text);
}

/* The tile by axis. True: it is the first kernel's. */
static bool is_tile(const struct trial *t, struct meant *m, bool first)
{
    const struct program *p = trial_program(t);
    bool same = true;
    for (int i = 0; i < p->axis_count; i++) {
        if (first)
            m->tile[i] = p->axis[i].tile;
        same = same && m->tile[i] == p->axis[i].tile;
    }
    return same;
}

/* The first kernel's meaning is kept. */
static void keep_meaning(const struct trial_tensor *now, struct meant *m, int i, const char *name)
{
    snprintf(m->name[i], sizeof m->name[i], "%s", name);
    int64_t count = shape_count(&now->shape);
    size_t bytes = ((size_t)count + 1) * sizeof(double);
    m->value[i] = malloc(bytes);
    m->bound[i] = malloc(bytes);
    assert_true(m->value[i] && m->bound[i]);
    memcpy(m->value[i], now->reference, (size_t)count * sizeof(double));
    memcpy(m->bound[i], now->bound, (size_t)count * sizeof(double));
    m->count[i] = count;
}

/* The first element that is farther from the first kernel's than both bounds; -1: none. at: the tensor's there. */
static int64_t first_apart(const struct trial_tensor *now, const struct meant *m, int at)
{
    for (int64_t e = 0; e < m->count[at]; e++)
        if (now->done[e] && !within(now->reference[e], m->value[at][e], m->bound[at][e] + now->bound[e]))
            return e;
    return -1;
}

/* That of another kernel, which differs in how it runs alone, lies within both bounds, or near them where its turns go
 * the other way or its tile is another. */
static void check_meaning(struct work *w, const struct trial *t, const char *kernel, const char *sizes, int run,
                          int inputs)
{
    const struct spec_kernel *k = t->request.unit->kernel;
    struct meant *m = run < CASES && !w->by_tile ? &w->meant[run][inputs] : NULL;
    bool *down = m ? loops_down(t) : NULL, same = true, tile = m ? is_tile(t, m, !m->down) : true;
    if (m && !m->down)
        m->down = down;
    else if (m)
        same = memcmp(m->down, down, (size_t)k->program->op_count * sizeof *down) == 0;
    if (!m || m->down != down)
        free(down);
    for (int i = 0; m && i < t->tensor_count && i < 16; i++) {
        const struct trial_tensor *now = &t->tensor[i];
        if (!k->tensor[i].out || !now->bound || t->sampled)
            continue;
        if (w->first && !m->value[i])
            keep_meaning(now, m, i, k->tensor[i].name);
        int at = 0;
        while (at < 16 && strcmp(m->name[at], k->tensor[i].name) != 0)
            at++;
        if (at == 16)
            continue; /* the first kernel was refused, or is not run */
        if (shape_count(&now->shape) != m->count[at]) {
            bad(w, kernel, "-", "how it runs changes the size of an output");
            continue;
        }
        int64_t e = same ? first_apart(now, m, at) : -1;
        if (!same || (!tile && e >= 0)) {
            check_other_way(w, t, kernel, sizes, m, i, at, !tile);
        } else if (e >= 0) {
            char text[400];
            snprintf(text, sizeof text,
                     "%s: how it runs changes what it means: %s[%lld] is %.9g, the first kernel's %.9g", sizes,
                     k->tensor[i].name, (long long)e, now->reference[e], m->value[at][e]);
            bad(w, kernel, "-", text);
        }
        if (!w->first)
            hit(w, "how", "compared with the first kernel");
    }
}

/* Why a launch failed: the hazards found, else the device's words. */
static void take_failure(struct work *w, struct tw_device *device, const struct compile_unit *unit, const char *what,
                         const char *error)
{
    char text[2048];
    const struct emu_report *report = on_gpu(w) ? NULL : emu_device_report(device, 0);
    snprintf(text, sizeof text, "%s: %s", what, report ? report->text : error);
    bad(w, unit->plan.entry, unit->arch->name, text);
    if (!on_gpu(w))
        emu_device_clear_reports(device);
}

/* Of the elements that have a bound: how far the one that is farthest is from its reference, as a part of its bound.
 * The comparison left nothing of what it had downloaded. */
static double worst_of(const struct trial *t)
{
    double worst = 0;
    for (int i = 0; i < t->tensor_count; i++) {
        const struct trial_tensor *out = &t->tensor[i];
        enum tw_dtype dtype = t->request.unit->plan.tensor[i].dtype;
        struct shape_walk walk;
        struct tw_error error;
        if (!out->reference || !out->bound ||
            tw_device_download(t->request.device, out->host, out->buffer, out->bytes, &error) != TW_OK)
            continue;
        shape_seek(&walk, &out->shape, 0);
        for (int64_t e = 0; e < shape_count(&out->shape); e++, shape_next(&walk)) {
            size_t at = out->begin + (size_t)walk.offset * tw_dtype_bytes(dtype);
            double far = fabs(tw_dtype_load(dtype, out->host + at) - out->reference[e]);
            if (out->done[e] && out->bound[e] > 0 && isfinite(out->bound[e]) && far / out->bound[e] > worst)
                worst = far / out->bound[e];
        }
    }
    return worst;
}

/* A launch that passed. */
static void take_passed(struct work *w, const struct trial *t, const struct compile_unit *unit,
                        const struct trial_result *result)
{
    hit(w, "launch", result->equality ? "equal" : "within bounds");
    w->passed++;
    if (w->o->device)
        fprintf(w->out, "worst %.4f %.4f %s %s\n", worst_of(t), result->bound > 0 ? result->error / result->bound : 0.0,
                unit->plan.entry, unit->arch->name);
}

/* All variants at one set of sizes, in one mode, with one kind of inputs. */
static void run_case(struct work *w, struct compile *c, struct tw_device *device, struct launcher *launcher,
                     int variants, const int64_t *symbol, int run, int mode, enum inputs_kind inputs, bool twin,
                     bool some)
{
    struct tw_error error = {""};
    bool fits[16] = {false}, any = false, padded = inputs == INPUTS_INTEGER;
    char sizes[256], what[320];
    sizes_print(&c->unit[0], symbol, sizes, sizeof sizes);
    snprintf(what, sizeof what, "%s, %s, %s", sizes, modes[mode], padded ? "integers, padded" : "normal");
    for (int v = 0; v < variants; v++) {
        fits[v] = trial_fits(c, launcher, v, symbol, padded, &error) == TW_OK;
        any = any || fits[v];
    }
    if (!any) {
        hit(w, "launch", "no variant fits");
        return;
    }
    struct trial trial;
    struct trial_request request = {.compile = c,
                                    .device = device,
                                    .unit = &c->unit[0],
                                    .symbol = symbol,
                                    .inputs = inputs,
                                    .seed = w->seed + 1,
                                    .padded = padded};
    int status = trial_begin(&trial, &request, &error);
    if (status != TW_OK)
        bad(w, c->unit[0].plan.entry, c->unit[0].arch->name, error.text);
    for (int v = 0; v < variants && status == TW_OK; v++) {
        const struct compile_unit *unit = launcher_unit(launcher, v);
        struct trial_result result;
        if (!fits[v])
            continue;
        w->current = (int)(unit - c->unit);
        int launched = trial_launch(&trial, launcher, v, &result, &error);
        w->current = -1;
        hit(w, "launch", modes[mode]);
        if (launched != TW_OK || (!on_gpu(w) && emu_device_report(device, 0))) {
            take_failure(w, device, unit, what, error.text);
        } else if (!result.passed) {
            char text[1024];
            snprintf(text, sizeof text, "%s: %s", what, result.why);
            bad(w, unit->plan.entry, unit->arch->name, text);
        } else {
            take_passed(w, &trial, unit, &result);
        }
    }
    if (status == TW_OK)
        check_meaning(w, &trial, c->unit[0].plan.entry, sizes, run, (int)inputs);
    if (status == TW_OK && twin)
        check_twin(w, &trial, sizes, some ? 4 : 1);
    trial_end(&trial);
}

static void take_event(void *context, const struct emu_event *event)
{
    struct work *w = context;
    if (w->current >= 0)
        ring_fills_event(&w->fills[w->current], w->block, event);
}

/* The ring is filled in each item anew, outside of loops. */
static bool is_of_items(const struct plan *p, int ring)
{
    for (int r = 0; r < p->role_count; r++)
        for (int s = 0, depth = 0; s < p->role[r].step_count; s++) {
            const struct plan_step *step = &p->role[r].step[s];
            depth += step->op == PLAN_LOOP;
            depth -= step->op == PLAN_END;
            if (step->op == PLAN_FILL && step->ring == ring && p->ring[ring].filler != PLAN_FILL_THREADS && depth > 1)
                return false;
        }
    return true;
}

/* Rings of a unit that ran. */
static void count_rings(struct work *w, const struct compile_unit *unit, const struct ring_fills *fills)
{
    const struct plan *p = &unit->plan;
    bool one_item = !unit->arch->wgmma;
    for (int i = 0; i < SPEC_FIELD_COUNT; i++)
        one_item = one_item || (strcmp(spec_rows[i].path, "schedule.persistent") == 0 &&
                                unit->kernel->fields.value[i].set && !unit->kernel->fields.value[i].integer);
    for (int i = 0; i < p->role[p->role_count - 1].step_count; i++) /* of ITEMS the third consumer in turn has one */
        one_item = one_item || p->role[p->role_count - 1].step[i].share > 2;
    for (int i = 0; i < fills->ring_count; i++) {
        const struct ring_seen *ring = &fills->ring[i];
        int least = RING_FILLS_MOST;
        for (int s = 0; s < ring->stages; s++)
            least = fills->fills[ring->first + s] < least ? fills->fills[ring->first + s] : least;
        bool wrapped = ring->stages > 0 && least >= 2 && fills->fills[ring->first] >= 3;
        char stages[64];
        snprintf(stages, sizeof stages, "%s of %d stages", is_of_items(p, i) ? "item's ring" : "ring", ring->stages);
        if (wrapped) {
            hit(w, "wrapped twice", stages);
        } else if (is_of_items(p, i) && one_item) {
            hit(w, "once a block", stages);
        } else {
            hit(w, "NOT WRAPPED", stages);
            if (!w->o->specs)
                fprintf(w->out, "ring %s: %s, %d stages, least fills %d\n", p->entry, p->ring[i].name, ring->stages,
                        least);
        }
    }
}

/* The completion mode of a launch, of which each kernel has all three; -1: it is none of those that are made. Each size
 * has both kinds of inputs. The last of a program, which takes ten times as long as the others together, has one, the
 * same for all of its kernels, and its modes come in turn, from kernel to kernel and from program to program. */
static int mode_of(const struct work *w, int run, bool last, int inputs)
{
    if (!last || w->o->specs)
        return (run + inputs) % 3;
    return inputs == (int)(w->seed / 3 % 2) ? (int)((w->seed + (uint64_t)w->number) % 3) : -1;
}

/* The emulator in that mode, with room for the largest cluster; or the GPU. */
static int open_device(struct work *w, struct compile *c, struct launcher *launcher, int variants, int mode,
                       struct tw_device **device, struct tw_error *error)
{
    struct emu_options options = {.arch = c->unit[0].arch->name,
                                  .completion = (enum emu_completion)mode,
                                  .hazards = EMU_HAZARDS_STRICT,
                                  .seed = w->seed,
                                  .sm_count = 1 + (int)(w->seed / 4 % 2),
                                  .instruction_limit = UINT64_C(200000000),
                                  .event = take_event,
                                  .event_context = w,
                                  .events = ring_fills_events()};
    int status = mode == GPU ? tw_device_open_cuda(&c->rt, 0, device, error)
                             : tw_device_open_emu(&c->rt, &options, device, error);
    for (int v = 0; v < variants && status == TW_OK && mode != GPU; v++)
        if (plan_blocks(&launcher_unit(launcher, v)->plan) > (*device)->sm_count)
            emu_device_set_sms(*device, plan_blocks(&launcher_unit(launcher, v)->plan));
    if (status == TW_OK && w->o->device)
        fprintf(w->out, "device %s\n", (*device)->name);
    return status;
}

/* The emulator executes PTX; a GPU needs it for code of another major number. */
static int load(struct compile *c, struct launcher *launcher, struct tw_device *device, int mode,
                struct tw_error *error)
{
    return launcher_load(launcher, device, mode != GPU || c->unit[0].arch->major != device->major, error);
}

/* All sizes with both kinds of inputs on one device. On a GPU that is all there is, and the twin, which would say
 * nothing of it, is left to the emulator. */
static int run_sizes(struct work *w, struct compile *c, struct tw_device *device, struct launcher *launcher,
                     int variants, int mode, bool twin, struct tw_error *error)
{
    const struct spec_kernel *k = c->unit[0].kernel;
    int symbols = c->unit[0].plan.symbol_count - 1, loaded = load(c, launcher, device, mode, error);
    int64_t symbol[32];
    for (int r = 0; r < k->run_count && loaded == TW_OK; r++) {
        bool last = r == k->run_count - 1;
        if (last && mode != GPU) { /* the size in which rings wrap: all items in one cluster */
            emu_device_set_sms(device, plan_cluster(&c->unit[0].plan));
            loaded = load(c, launcher, device, mode, error);
        }
        for (int inputs = 0; inputs < 2 && loaded == TW_OK; inputs++) {
            bool due = mode == mode_of(w, r, last, inputs);
            if (!w->o->all && !due && mode != GPU)
                continue;
            memcpy(symbol, k->run[r].value, sizeof *symbol * (size_t)symbols);
            symbol[symbols] = device->sm_count;
            /* The twin takes each size once, with one kind of inputs and the next with the other; of the last, the
               largest, some items. */
            bool compared = due && (last ? !w->o->specs || inputs == 0 : inputs == (int)((w->seed + (uint64_t)r) % 2));
            run_case(w, c, device, launcher, variants, symbol, r, mode, (enum inputs_kind)inputs, twin && compared,
                     last && !w->o->all);
        }
    }
    return loaded;
}

static void run_modes(struct work *w, struct compile *c, bool twin)
{
    const struct spec_kernel *k = c->unit[0].kernel;
    struct launcher *launcher = NULL;
    struct tw_error error = {""};
    int unit[COMPILE_LIBRARY_UNITS], variants = 0;
    for (int i = 0; i < c->unit_count && variants < COMPILE_LIBRARY_UNITS; i++)
        if (c->unit[i].wanted)
            unit[variants++] = i;
    if (launcher_open(&launcher, c, unit, variants, &error) != TW_OK)
        bad(w, k->name, c->unit[0].arch->name, error.text);
    for (int mode = on_gpu(w) ? GPU : 0; mode <= GPU && launcher && !*error.text; mode++) {
        struct tw_device *device = NULL;
        if (mode == GPU && !on_gpu(w))
            break;
        if (open_device(w, c, launcher, variants, mode, &device, &error) != TW_OK ||
            run_sizes(w, c, device, launcher, variants, mode, twin, &error) != TW_OK)
            bad(w, k->name, c->unit[0].arch->name, error.text);
        launcher_unload(launcher);
        if (device)
            tw_device_close(device);
    }
    launcher_close(launcher);
}

/* What `mean` says: of sizes that are small, or else of the smallest. */
static void run_meaning(struct work *w, struct compile *c, bool twin)
{
    enum { SMALL = 1 << 16, EVERY = 16 };
    const struct compile_unit *unit = &c->unit[0];
    const struct spec_kernel *k = unit->kernel;
    struct emu_options options = {.arch = unit->arch->name, .sm_count = 1};
    struct tw_device *device = NULL;
    struct tw_error error = {""};
    double volume[CASES], least = INFINITY;
    int64_t symbol[32];
    int symbols = unit->plan.symbol_count - 1, runs = k->run_count < CASES ? k->run_count : CASES;
    int status = tw_device_open_emu(&c->rt, &options, &device, &error);
    for (int r = 0; r < runs; r++) {
        volume[r] = 1;
        for (int i = 0; i < symbols; i++)
            volume[r] *= (double)k->run[r].value[i] + 1;
        least = volume[r] < least ? volume[r] : least;
    }
    for (int r = 0; r < runs && status == TW_OK; r++) {
        struct trial trial;
        char sizes[256];
        if (volume[r] > SMALL && volume[r] > least)
            continue;
        memcpy(symbol, k->run[r].value, sizeof *symbol * (size_t)symbols);
        symbol[symbols] = 1;
        sizes_print(unit, symbol, sizes, sizeof sizes);
        status = trial_begin(&trial,
                             &(struct trial_request){.compile = c,
                                                     .device = device,
                                                     .unit = unit,
                                                     .symbol = symbol,
                                                     .inputs = (enum inputs_kind)(r % 2),
                                                     .seed = w->seed + 1},
                             &error);
        if (status == TW_OK)
            check_meaning(w, &trial, unit->plan.entry, sizes, r, r % 2);
        if (status == TW_OK && twin)
            check_twin(w, &trial, sizes, EVERY);
        trial_end(&trial);
    }
    if (status != TW_OK)
        bad(w, k->name, unit->arch->name, error.text);
    if (device)
        tw_device_close(device);
}

static void take_ran(struct work *w, const struct compile *c)
{
    fprintf(w->out, "ran %s %s\n", c->unit[0].kernel->name, c->unit[0].arch->name);
    random_tables_fields(&c->unit[0], &c->spec.kernel[0], w->out);
    for (int i = 0; i < c->unit_count; i++)
        if (c->unit[i].wanted)
            random_tables_rows(&c->unit[i], w->out);
}

/* One kernel on one architecture. */
static void run_kernel(struct work *w, const char *kernel, const char *arch, bool twin)
{
    struct compile c;
    int status = compile_open(&c, "random", w->path);
    if (status == 0) {
        struct compile_choice choice = {.kernel = kernel, .arch = arch};
        status = compile_units(&c, &choice);
    }
    if (status == 1)
        take_refusal(w, &c, kernel, arch);
    else if (status)
        bad(w, kernel, arch, "the environment's fault");
    for (int i = 0; i < c.unit_count && status == 0; i++) {
        /* Variants of how it runs are the first kernel's: of the others one each is enough. */
        c.unit[i].wanted = w->o->all || w->first || i == w->number % c.unit_count;
        c.unit[i].line_info = true;
        c.unit[i].outputs = w->o->both || on_gpu(w) ? TW_OUTPUT_CUBIN | TW_OUTPUT_PTX
                            : w->o->compile         ? TW_OUTPUT_CUBIN
                                                    : TW_OUTPUT_PTX;
        count_plan(w, &c.unit[i]);
        c.unit[i].plan.kernel = w->kernel; /* of whose name inputs are made: all kernels of the spec have the same */
        if (i < 16)
            ring_fills_open(&w->fills[i], &c.unit[i].plan);
    }
    w->passed = 0;
    w->current = -1;
    if (status == 0 && c.unit_count)
        hit(w, "arch", arch);
    if (status == 0 && c.unit_count && w->o->mean)
        run_meaning(w, &c, twin);
    if (status == 0 && c.unit_count && !w->o->plan) {
        status = compile_cubins(&c, COMPILE_NVRTC);
        bool spills = status == 1 && c.diags.count && strcmp(c.diags.item[0].rule, "SPILLS") == 0;
        if (spills && !w->o->specs) /* a tile too large: what the compiler alone can say */
            take_refusal(w, &c, kernel, arch);
        else if (status)
            bad(w, kernel, arch, c.diags.count ? c.diags.item[0].text : c.unit[0].error[COMPILE_NVRTC].text);
        else if (!w->o->compile || w->o->both)
            run_modes(w, &c, twin);
        for (int i = 0; i < c.unit_count && i < 16; i++)
            if (w->passed && !on_gpu(w) && c.unit[i].wanted && w->fills[i].ring_count)
                count_rings(w, &c.unit[i], &w->fills[i]);
    }
    if (status == 0 && c.unit_count && !w->bad && (w->passed || w->o->plan || (w->o->compile && !w->o->both)))
        take_ran(w, &c);
    compile_close(&c);
}

static bool starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static void run_spec(struct work *w)
{
    struct compile c;
    char name[16][64], line[256] = "";
    bool has[16][2];   /* sm_90a, sm_80 */
    bool by_warps[16]; /* on sm_90a too, where it runs then */
    int count = 0;
    FILE *f = fopen(w->path, "r");
    if (f && fgets(line, sizeof line, f))
        sscanf(line, "-- refused by %31[A-Z0-9-]", w->expected);
    w->by_tile = !(starts(line, "-- random program ") || starts(line, "-- one meaning: ")) || strstr(line, " by_tile");
    if (f)
        fclose(f);
    w->kernel = name[0];
    w->block = calloc(RING_FILLS_BLOCKS, sizeof *w->block);
    assert_non_null(w->block);
    int status = compile_open(&c, "random", w->path);
    if (status == 1)
        take_refusal(w, &c, "(read)", "-");
    else if (status)
        bad(w, "(read)", "-", "the environment's fault");
    for (int i = 0; i < c.spec.kernel_count && status == 0 && count < 16; i++) {
        const struct spec_kernel *k = &c.spec.kernel[i];
        for (int a = 0; a < 2; a++)
            has[count][a] = k->arch_count == 0;
        for (int a = 0; a < k->arch_count; a++) {
            has[count][0] |= strcmp(k->arch[a].name, "sm_90a") == 0;
            has[count][1] |= strcmp(k->arch[a].name, "sm_80") == 0;
        }
        struct spec_fields on_sm_90a;
        spec_merge(k, "sm_90a", &on_sm_90a);
        const char *by = on_sm_90a.value[FIELD_INSTRUCTION].text;
        by_warps[count] = by && strcmp(by, "mma.sync") == 0;
        snprintf(name[count++], sizeof name[0], "%s", k->name);
    }
    bool dots = false;
    for (int i = 0; count && i < c.spec.kernel[0].program->op_count; i++)
        dots = dots || c.spec.kernel[0].program->op[i].kind == PROGRAM_DOT;
    compile_close(&c);
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 2; a++) {
            char words[4096];
            random_words(w->path, name[i], words, sizeof words);
            int one = w->o->arch ? strcmp(w->o->arch, "sm_80") == 0
                      : dots     ? strstr(words, " sm_80 ") != NULL && !by_warps[i]
                                 : (int)(((unsigned)i + w->seed) % 2);
            if (!has[i][a] || (!w->o->all && !w->o->specs && a != one))
                continue;
            w->first = i == 0;
            w->number = i;
            run_kernel(w, name[i], a ? "sm_80" : "sm_90a", i == 0);
        }
    if (*w->expected && !w->refused)
        bad(w, "(spec)", "-", "the rule that is to refuse it did not");
}

int random_run(const struct random_run *run, FILE *out)
{
    static struct work w;
    w = (struct work){.o = run, .path = run->path, .seed = run->seed, .out = out};
    run_spec(&w);
    free(w.block);
    for (int i = 0; i < CASES * 2; i++) {
        struct meant *m = &w.meant[i / 2][i % 2];
        for (int tensor = 0; tensor < 16; tensor++) {
            free(m->value[tensor]);
            free(m->bound[tensor]);
        }
        free(m->down);
    }
    return w.bad;
}
