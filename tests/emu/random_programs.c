/* Random programs (random_spec.h) against their meaning: each on the emulator in three completion modes with hazards
 * fatal, within the meaning's bounds, and against the naive twin in fp32. A spec's kernels differ in how they run alone:
 * the meanings of all are within the bounds of the first one's.
 *
 *   random_programs [--first SEED] [--count N] [--seconds S] [--all] [--plan] [--strict] [--keep DIR]
 *                   [--quiet] [--stop] [--arch A] [--log FILE] [--only A+B] [--leave-out A+B]... [FILE...]
 *   random_programs --replay LOG
 *   random_programs --print SEED
 *
 * FILE...: these specs in the place of random ones. --leave-out A+B: no programs that have all of these features;
 * --only A+B: none that lack one; --count is of those that are left. --all: every kernel on every architecture in every
 * mode; else each kernel on one, each size with each kind of inputs in one mode, and of all kernels but the first one
 * variant. --plan: nothing is compiled. --strict: what is refused by rule is a failure. --keep DIR: specs that fail are
 * kept there. --seconds: no new program after that time.
 * --stop: none after a failure. --log: what was seen is appended there; --replay counts it again, of several runs in one
 * file as of one.
 *
 * Each program runs in a process of its own: one that crashes or hangs is a failure of that program. What a lowering
 * refuses by rule is counted; a Plan that the proof refuses is a failure. TAP on stdout, and what was covered as
 * comments behind it. A spec whose first line is "-- refused by RULE: ..." is fine where that rule refuses it.
 *
 * Rings: each is to be wrapped twice by one block, over all sizes: its first stage is filled a third time, all others
 * twice. A ring that is filled once an item cannot be, in a kernel whose blocks have one item each. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/compile.h"
#include "cmd/launch.h"
#include "cmd/ring_fills.h"
#include "cmd/sizes.h"
#include "cmd/trial.h"
#include "emu/emu.h"
#include "unit/program_naive.h"
#include "random_spec.h"

enum { NAMES = 512, SECONDS_EACH = 300, FEATURES = 128, CASES = 16 };

struct options {
    uint64_t first;
    int count;
    double seconds;
    bool all, quiet, stop, plan, strict;
    const char *only;        /* features that each program has, "a+b" */
    const char *without[16]; /* features that are not to meet, "a+b" */
    int withouts;
    const char *arch; /* of every kernel; NULL: they share */
    const char *keep, *log, *replay;
};

/* How often each thing was met, by name. */
struct tally {
    char name[NAMES][200];
    int count[NAMES];
    int names;
};

static const char *const modes[] = {"eager", "late", "random"};

static int *tally_of(struct tally *t, const char *name)
{
    for (int i = 0; i < t->names; i++)
        if (strcmp(t->name[i], name) == 0)
            return &t->count[i];
    if (t->names == NAMES)
        return &t->count[NAMES - 1];
    snprintf(t->name[t->names], sizeof t->name[0], "%s", name);
    return &t->count[t->names++];
}

/* ---- one program, in its process: lines "hit NAME" and "bad TEXT" -------------------------------------------------
 */

/* What the first kernel means at one size with one kind of inputs, output by output. */
struct meant {
    double *value[16], *bound[16];
    int64_t count[16];
};

struct work {
    const struct options *o;
    const char *path;
    uint64_t seed;
    FILE *out;
    int bad;
    char expected[32]; /* the rule that is to refuse the spec; "": none is */
    bool refused;      /* by that rule */
    bool by_tile;      /* what the program means depends on its tiles, in which kernels differ */
    bool first;        /* the kernel in hand is the spec's first */
    int number;         /* its number */
    const char *kernel; /* the name of the first */
    struct meant meant[CASES][2];
    struct ring_fills fills[16]; /* by compile.unit */
    struct ring_block *block;
    int current; /* the unit that runs, -1: none */
    int passed;  /* launches of the kernel in hand */
};

static void hit(struct work *w, const char *kind, const char *name)
{
    fprintf(w->out, "hit %s.%s\n", kind, name);
}

static void bad(struct work *w, const char *kernel, const char *arch, const char *text)
{
    fprintf(w->out, "bad %s %s: %.*s\n", kernel, arch, (int)strcspn(text, "\n"), text);
    w->bad++;
}

/* What a lowering may say of a random program: that its numbers do not fit, or that there is no lowering of it. */
static bool is_refusal(const char *rule)
{
    static const char *const rules[] = {"PROGRAM-LOWER", "REGS", "SMEM", "TMA-BOX", "CLUSTER-SLICE"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rule, rules[i]) == 0)
            return true;
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
        if (!d->rule || w->o->strict || !is_refusal(d->rule))
            bad(w, kernel, arch, text);
    }
    if (own)
        bad(w, kernel, arch, "refused without a word");
}

static void count_plan(struct work *w, const struct compile_unit *unit)
{
    static const char *const op[] = {
#define PLAN_OP(id, name, doc) name,
#include "plan/plan_ops.def"
#undef PLAN_OP
    };
    static const char *const place[] = {
#define PLAN_PLACE(id, name, doc) name,
#include "plan/plan_places.def"
#undef PLAN_PLACE
    };
    const struct program *p = unit->kernel->program;
    char rule[300];
    bool ops[PLAN_OP_COUNT] = {false}, kinds[PROGRAM_KIND_COUNT] = {false}, places[PLAN_PLACE_COUNT] = {false};
    for (int i = 0; i < unit->plan.role_count; i++)
        for (int s = 0; s < unit->plan.role[i].step_count; s++)
            ops[unit->plan.role[i].step[s].op] = true;
    for (int i = 0; i < unit->plan.role_count; i++)
        for (int s = 0; s < unit->plan.role[i].step_count; s++)
            if (unit->plan.role[i].step[s].why) {
                snprintf(rule, sizeof rule, "%s: %.150s", op[unit->plan.role[i].step[s].op],
                         unit->plan.role[i].step[s].why);
                hit(w, "rule", rule);
            }
    for (int i = 0; i < unit->plan.place_count; i++)
        places[unit->plan.place[i].kind] = true;
    for (int i = 0; i < p->op_count; i++)
        kinds[p->op[i].kind] = true;
    for (int i = 0; i < PLAN_OP_COUNT; i++)
        if (ops[i])
            hit(w, "step", op[i]);
    for (int i = 0; i < PLAN_PLACE_COUNT; i++)
        if (places[i])
            hit(w, "place", place[i]);
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

/* The naive twin on the trial's inputs, three times with sums in other orders. */
static void check_twin(struct work *w, struct trial *t, const char *sizes)
{
    const struct spec_kernel *k = t->request.unit->kernel;
    double *tensor[16] = {0}, *own[16] = {0};
    int64_t extent[16][SPEC_MAX_RANK] = {{0}};
    for (int i = 0; i < t->tensor_count; i++) {
        int64_t count = shape_count(&t->tensor[i].shape);
        size_t bytes = tw_dtype_bytes(k->tensor[i].dtype);
        struct shape_walk walk;
        memcpy(extent[i], t->tensor[i].shape.extent, sizeof extent[i]);
        tensor[i] = calloc((size_t)count + 1, sizeof(double));
        own[i] = calloc((size_t)count + 1, sizeof(double));
        assert_true(tensor[i] && own[i]);
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
    naive_run(k->program, k, &data, own, w->seed + 1);
    for (int i = 0; i < t->tensor_count; i++) {
        const struct trial_tensor *want = &t->tensor[i];
        for (int64_t e = 0; k->tensor[i].out && e < shape_count(&want->shape); e++) {
            char text[512];
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

/* The first kernel's meaning is kept; that of another, which differs in how it runs alone, lies within both bounds. */
static void check_meaning(struct work *w, const struct trial *t, const char *kernel, const char *sizes, int run, int inputs)
{
    const struct spec_kernel *k = t->request.unit->kernel;
    struct meant *m = run < CASES && !w->by_tile ? &w->meant[run][inputs] : NULL;
    for (int i = 0; m && i < t->tensor_count && i < 16; i++) {
        const struct trial_tensor *now = &t->tensor[i];
        int64_t count = shape_count(&now->shape);
        if (!k->tensor[i].out || !now->bound || t->sampled)
            continue;
        if (w->first && !m->value[i]) {
            size_t bytes = ((size_t)count + 1) * sizeof(double);
            m->value[i] = malloc(bytes);
            m->bound[i] = malloc(bytes);
            assert_true(m->value[i] && m->bound[i]);
            memcpy(m->value[i], now->reference, (size_t)count * sizeof(double));
            memcpy(m->bound[i], now->bound, (size_t)count * sizeof(double));
            m->count[i] = count;
        }
        for (int64_t e = 0; m->value[i] && count == m->count[i] && e < count; e++) {
            if (!now->done[e] || within(now->reference[e], m->value[i][e], m->bound[i][e] + now->bound[e]))
                continue;
            char text[400];
            snprintf(text, sizeof text, "%s: how it runs changes what it means: %s[%lld] is %.9g, the first kernel's %.9g",
                     sizes, k->tensor[i].name, (long long)e, now->reference[e], m->value[i][e]);
            bad(w, kernel, "-", text);
            break;
        }
        if (!w->first && m->value[i])
            hit(w, "how", "compared with the first kernel");
    }
}

/* Why a launch failed: the hazards found, else the device's words. */
static void take_failure(struct work *w, struct tw_device *device, const struct compile_unit *unit, const char *what,
                         const char *error)
{
    char text[2048];
    const struct emu_report *report = emu_device_report(device, 0);
    snprintf(text, sizeof text, "%s: %s", what, report ? report->text : error);
    bad(w, unit->plan.entry, unit->arch->name, text);
    emu_device_clear_reports(device);
}

/* All variants at one set of sizes, in one mode, with one kind of inputs. */
static void run_case(struct work *w, struct compile *c, struct tw_device *device, struct tw_kernel **kernel,
                     const int64_t *symbol, int run, int mode, enum family_inputs inputs, bool twin)
{
    struct tw_error error = {""};
    struct shape shape[16];
    uint64_t address[16] = {0};
    bool fits[16] = {false}, any = false, padded = inputs == FAMILY_INTEGER;
    char sizes[256], what[320];
    sizes_print(&c->unit[0], symbol, sizes, sizeof sizes);
    snprintf(what, sizeof what, "%s, %s, %s", sizes, modes[mode], padded ? "integers, padded" : "normal");
    struct launch_arguments arguments = {.symbol = symbol, .address = address, .shape = shape};
    for (int v = 0; v < c->unit_count; v++) {
        fits[v] = kernel[v] && trial_layout(&c->unit[v].plan, symbol, padded, shape, &error) == TW_OK &&
                  launch_fits(&c->unit[v].plan, &arguments, &error) == TW_OK;
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
                                    .padded = padded,
                                    .reference = TRIAL_HOST};
    int status = trial_begin(&trial, &request, &error);
    if (status != TW_OK)
        bad(w, c->unit[0].plan.entry, c->unit[0].arch->name, error.text);
    for (int v = 0; v < c->unit_count && status == TW_OK; v++) {
        struct trial_result result;
        if (!fits[v])
            continue;
        w->current = v < 16 ? v : -1;
        int launched = trial_launch(&trial, &c->unit[v], kernel[v], &result, &error);
        w->current = -1;
        hit(w, "launch", modes[mode]);
        if (launched != TW_OK || emu_device_report(device, 0)) {
            take_failure(w, device, &c->unit[v], what, error.text);
        } else if (!result.passed) {
            char text[1024];
            snprintf(text, sizeof text, "%s: %s", what, result.why);
            bad(w, c->unit[v].plan.entry, c->unit[v].arch->name, text);
        } else {
            hit(w, "launch", result.equality ? "equal" : "within bounds");
            w->passed++;
        }
    }
    if (status == TW_OK)
        check_meaning(w, &trial, c->unit[0].plan.entry, sizes, run, (int)inputs);
    if (status == TW_OK && twin)
        check_twin(w, &trial, sizes);
    trial_end(&trial);
}

static int blocks_of(const struct plan *p)
{
    int blocks = 1;
    for (int i = 0; i < 3; i++)
        blocks *= p->launch.cluster[i] ? p->launch.cluster[i] : 1;
    return blocks;
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
    for (int i = 0; i < fills->ring_count; i++) {
        const struct ring_seen *ring = &fills->ring[i];
        int least = RING_FILLS_MOST;
        for (int s = 0; s < ring->stages; s++)
            least = fills->fills[ring->first + s] < least ? fills->fills[ring->first + s] : least;
        bool wrapped = ring->stages > 0 && least >= 2 && fills->fills[ring->first] >= 3;
        bool item = is_of_items(p, i);
        char stages[64];
        snprintf(stages, sizeof stages, "%s of %d stages", item ? "item's ring" : "ring", ring->stages);
        if (wrapped) {
            hit(w, "wrapped twice", stages);
        } else if (item && one_item) {
            hit(w, "once a block", stages);
        } else {
            hit(w, "NOT WRAPPED", stages);
            fprintf(w->out, "ring %s: %s, %d stages, least fills %d\n", p->entry, p->ring[i].name, ring->stages, least);
        }
    }
}

static void run_modes(struct work *w, struct compile *c, bool twin)
{
    const struct spec_kernel *k = c->unit[0].kernel;
    int64_t symbol[32];
    for (int mode = 0; mode < 3; mode++) {
        struct emu_options options = {.arch = c->unit[0].arch->name,
                                      .completion = (enum emu_completion)mode,
                                      .hazards = EMU_HAZARDS_STRICT,
                                      .seed = w->seed,
                                      .sm_count = 1 + (int)(w->seed / 4 % 2),
                                      .instruction_limit = UINT64_C(200000000),
                                      .event = take_event,
                                      .event_context = w,
                                      .events = ring_fills_events()};
        struct tw_device *device = NULL;
        struct tw_kernel *kernel[16] = {NULL};
        struct tw_error error = {""};
        if (tw_device_open_emu(&c->rt, &options, &device, &error) != TW_OK) {
            bad(w, k->name, c->unit[0].arch->name, error.text);
            return;
        }
        for (int i = 0; i < c->unit_count && i < 16; i++) {
            const struct tw_compiled *made = &c->unit[i].compiled[COMPILE_NVRTC];
            struct tw_load load = {.entry = c->unit[i].plan.entry, .ptx = made->ptx, .ptx_bytes = made->ptx_bytes};
            if (blocks_of(&c->unit[i].plan) > device->sm_count)
                emu_device_set_sms(device, blocks_of(&c->unit[i].plan));
            if (c->unit[i].wanted && tw_device_load(device, &load, &kernel[i], &error) != TW_OK)
                bad(w, c->unit[i].plan.entry, c->unit[i].arch->name, error.text);
        }
        for (int r = 0; r < k->run_count; r++) {
            bool last = r == k->run_count - 1;
            for (int inputs = 0; inputs < 2; inputs++) {
                if (!w->o->all && (r + inputs) % 3 != mode)
                    continue;
                memcpy(symbol, k->run[r].value, sizeof *symbol * (size_t)(c->unit[0].plan.symbol_count - 1));
                if (last) /* the size in which rings wrap: all items in one cluster */
                    emu_device_set_sms(device, blocks_of(&c->unit[0].plan));
                symbol[c->unit[0].plan.symbol_count - 1] = device->sm_count;
                run_case(w, c, device, kernel, symbol, r, mode, (enum family_inputs)inputs,
                         twin && mode == (r + inputs) % 3 && (!last || inputs == 0));
            }
        }
        for (int i = 0; i < c->unit_count && i < 16; i++)
            if (kernel[i])
                tw_device_unload(device, kernel[i]);
        tw_device_close(device);
    }
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
        c.unit[i].outputs = TW_OUTPUT_PTX;
        count_plan(w, &c.unit[i]);
        c.unit[i].plan.kernel = w->kernel; /* of whose name inputs are made: all kernels of the spec have the same */
        if (i < 16)
            ring_fills_open(&w->fills[i], &c.unit[i].plan);
    }
    w->passed = 0;
    w->current = -1;
    if (status == 0 && c.unit_count)
        hit(w, "arch", arch);
    if (status == 0 && c.unit_count && !w->o->plan) {
        status = compile_cubins(&c, COMPILE_NVRTC);
        if (status)
            bad(w, kernel, arch, c.diags.count ? c.diags.item[0].text : c.unit[0].error[COMPILE_NVRTC].text);
        else
            run_modes(w, &c, twin);
        for (int i = 0; i < c.unit_count && i < 16; i++)
            if (w->passed && c.unit[i].wanted && w->fills[i].ring_count)
                count_rings(w, &c.unit[i], &w->fills[i]);
    }
    if (status == 0 && c.unit_count && !w->bad && (w->passed || w->o->plan))
        fprintf(w->out, "ran %s %s\n", kernel, arch);
    compile_close(&c);
}

/* The words of the spec's first lines: the program's, and behind " | NAME:" each kernel's own. `kernel`: the program's
 * and that kernel's alone. */
static void read_words(const char *spec, const char *kernel, char *words, size_t size)
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

static void run_spec(struct work *w)
{
    struct compile c;
    char name[16][64], line[256] = "";
    bool has[16][2]; /* sm_90a, sm_80 */
    int count = 0;
    FILE *f = fopen(w->path, "r");
    if (f && fgets(line, sizeof line, f))
        sscanf(line, "-- refused by %31[A-Z0-9-]", w->expected);
    w->by_tile = strncmp(line, "-- random program ", strlen("-- random program ")) != 0 || strstr(line, " by_tile");
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
        snprintf(name[count++], sizeof name[0], "%s", k->name);
    }
    bool dots = false;
    for (int i = 0; count && i < c.spec.kernel[0].program->op_count; i++)
        dots = dots || c.spec.kernel[0].program->op[i].kind == PROGRAM_DOT;
    compile_close(&c);
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 2; a++) {
            char words[4096];
            read_words(w->path, name[i], words, sizeof words);
            int one = w->o->arch ? strcmp(w->o->arch, "sm_80") == 0
                      : dots     ? strstr(words, " sm_80 ") != NULL
                                 : (int)(((unsigned)i + w->seed) % 2);
            if (!has[i][a] || (!w->o->all && a != one))
                continue;
            w->first = i == 0;
            w->number = i;
            run_kernel(w, name[i], a ? "sm_80" : "sm_90a", i == 0);
        }
    if (*w->expected && !w->refused)
        bad(w, "(spec)", "-", "the rule that is to refuse it did not");
}

/* ---- all of them ---------------------------------------------------------------------------------------------------
 */

struct all {
    struct options o;
    struct tally tally, refused, unwrapped;
    int count[FEATURES], pair[FEATURES][FEATURES]; /* kernels that ran and have the feature, both */
    int programs, failed;
    FILE *log; /* NULL: none */
    char scratch[256];
};

static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs it in a process of its own, whose lines go to a file. Returns its wait status. */
static int in_process(const struct options *o, const char *path, uint64_t seed, const char *lines, const char *errors)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static struct work w;
        w = (struct work){.o = o, .path = path, .seed = seed, .out = fopen(lines, "w")};
        if (!w.out || !freopen(errors, "w", stderr))
            _exit(3);
        alarm(SECONDS_EACH);
        setvbuf(w.out, NULL, _IOLBF, 0);
        run_spec(&w);
        fclose(w.out);
        exit(w.bad ? 1 : 0);
    }
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

/* A kernel that ran, with its architecture. */
static void take_words(struct all *a, const char *spec, const char *kernel, const char *arch)
{
    char words[4096];
    int number[RANDOM_WORDS], count = 0;
    read_words(spec, kernel, words, sizeof words);
    for (char *rest, *word = strtok_r(words, " ", &rest); word && count < RANDOM_WORDS; word = strtok_r(NULL, " ", &rest)) {
        int at = random_feature_number(word);
        if (at >= 0 && (random_feature_number(arch) < 0 || !random_apart(at, random_feature_number(arch))))
            number[count++] = at;
    }
    if (count && count < RANDOM_WORDS && random_feature_number(arch) >= 0)
        number[count++] = random_feature_number(arch);
    for (int i = 0; i < count; i++) {
        a->count[number[i]]++;
        for (int k = 0; k < count; k++)
            a->pair[number[i]][number[k]]++;
    }
}

/* Whether the words hold all of the list, "a+b". */
static bool has_all(const char *words, const char *list)
{
    char copy[256], padded[80];
    snprintf(copy, sizeof copy, "%s", list);
    for (char *rest, *word = strtok_r(copy, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        snprintf(padded, sizeof padded, " %s ", word);
        if (!strstr(words, padded))
            return false;
    }
    return true;
}

/* Whether the features in the spec's first lines are not wanted. */
static bool is_left_out(const struct options *o, const char *spec)
{
    char words[4096];
    bool out = false;
    read_words(spec, NULL, words, sizeof words);
    for (int i = 0; i < o->withouts && !out; i++)
        out = has_all(words, o->without[i]);
    return out || (o->only && !has_all(words, o->only));
}

static void copy_file(const char *from, const char *folder, const char *name)
{
    char path[512];
    FILE *in = fopen(from, "r"), *out;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "w");
    for (int ch; in && out && (ch = getc(in)) != EOF;)
        putc(ch, out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
}

/* A line that a program's process wrote: counts what it says. True: it is bad news, to be printed. */
static bool take_line(struct all *a, char *line, const char *path, const char *title)
{
    char kernel[64], arch[32];
    line[strcspn(line, "\n")] = '\0';
    if (a->log)
        fprintf(a->log, "%s\n", line);
    if (sscanf(line, "ran %63s %31s", kernel, arch) == 2)
        take_words(a, path, kernel, arch);
    else if (strncmp(line, "ring ", 5) == 0)
        printf("# %s: %s\n", title, line);
    else if (strncmp(line, "hit ", 4) == 0)
        ++*tally_of(&a->tally, line + 4);
    else if (strncmp(line, "why ", 4) == 0)
        ++*tally_of(&a->refused, line + 4);
    else
        return true;
    return false;
}

static void one(struct all *a, const char *path, uint64_t seed, const char *title)
{
    char lines[320], errors[320], line[4096];
    snprintf(lines, sizeof lines, "%s/lines", a->scratch);
    snprintf(errors, sizeof errors, "%s/errors", a->scratch);
    int status = in_process(&a->o, path, seed, lines, errors), shown = 0;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    a->programs++;
    a->failed += !good;
    if (!a->o.quiet)
        printf("%sok %d - %s\n", good ? "" : "not ", a->programs, title);
    else if (!good)
        printf("# %s failed:\n", title);
    if (WIFSIGNALED(status))
        printf("# ended by signal %d (%s)\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? "time" : "crash");
    if (a->log)
        fprintf(a->log, "program %llu %d\n", (unsigned long long)seed, good);
    FILE *f = fopen(lines, "r");
    while (f && fgets(line, sizeof line, f))
        if (take_line(a, line, path, title) && !good && shown++ < 6)
            printf("# %s\n", line);
    if (f)
        fclose(f);
    if (a->log)
        fflush(a->log);
    f = good ? NULL : fopen(errors, "r");
    for (shown = 0; f && shown < 12 && fgets(line, sizeof line, f); shown++)
        printf("#   %s", line);
    if (f)
        fclose(f);
    if (!good && a->o.keep) {
        char name[64];
        snprintf(name, sizeof name, "random_%llu.lua", (unsigned long long)seed);
        copy_file(path, a->o.keep, name);
    }
    fflush(stdout);
}

static bool write_spec(const char *path, uint64_t seed)
{
    FILE *f = fopen(path, "w");
    if (f)
        random_spec_write(seed, f);
    return f && fclose(f) == 0;
}

/* Counts what a log says in the place of running its programs. */
static void replay(struct all *a, const char *log, const char *path)
{
    char title[64] = "", line[4096];
    unsigned long long seed;
    int good;
    FILE *f = fopen(log, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "program %llu %d", &seed, &good) != 2) {
            if (take_line(a, line, path, title))
                printf("# %s\n", line);
            continue;
        }
        snprintf(title, sizeof title, "random program %llu", seed);
        a->programs++;
        a->failed += !good;
        if (!good)
            printf("# %s failed:\n", title);
        if (!write_spec(path, seed))
            break;
    }
    if (f)
        fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void print_tally(const char *title, const struct tally *t)
{
    char(*line)[224] = calloc((size_t)t->names + 1, sizeof *line);
    assert_non_null(line);
    for (int i = 0; i < t->names; i++)
        snprintf(line[i], sizeof line[0], "%s %d", t->name[i], t->count[i]);
    qsort(line, (size_t)t->names, sizeof *line, by_name);
    printf("# %s\n", title);
    for (int i = 0; i < t->names; i++)
        printf("#   %s\n", line[i]);
    free(line);
}

/* What no program had, of the closed lists. */
static void print_holes(struct all *a)
{
    static const char *const closed[] = {
#define PLAN_OP(id, name, doc) "step." name,
#include "plan/plan_ops.def"
#undef PLAN_OP
#define PLAN_PLACE(id, name, doc) "place." name,
#include "plan/plan_places.def"
#undef PLAN_PLACE
#define PROGRAM_OP(id, name, arguments, doc) "operation." name,
#include "program/program_ops.def"
#undef PROGRAM_OP
    };
    printf("# not hit:");
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (closed[i][strlen(closed[i]) - 1] != '.' && *tally_of(&a->tally, closed[i]) == 0)
            printf(" %s", closed[i]);
    printf("\n");
}

/* Features and their pairs: those that can meet, whether they did, and why others cannot. */
static void print_pairs(const struct all *a)
{
    static struct tally reasons;
    int possible = 0, met = 0, all = 0;
    printf("# features of kernels that ran:");
    for (int i = 0; i < random_feature_count; i++)
        printf(" %s %d", random_features[i].name, a->count[i]);
    printf("\n# pairs that never met:");
    for (int i = 0; i < random_feature_count; i++)
        for (int k = i + 1; k < random_feature_count; k++, all++) {
            const char *reason = random_apart(i, k);
            char text[200];
            snprintf(text, sizeof text, "%s",
                     !reason ? ""
                     : strcmp(reason, "family") == 0
                         ? "no family of programs has both"
                         : reason);
            if (reason && !strchr(reason, ' ') && strcmp(reason, "family") != 0)
                snprintf(text, sizeof text, "one kernel has one of: %s", reason);
            possible += !reason;
            met += !reason && a->pair[i][k] > 0;
            if (reason)
                ++*tally_of(&reasons, text);
            else if (!a->pair[i][k] && a->programs >= 500)
                printf(" %s+%s", random_features[i].name, random_features[k].name);
        }
    printf("%s\n# pairs that cannot meet: %d of %d\n", a->programs >= 500 ? "" : " (listed from 500 programs on)",
           all - possible, all);
    for (int i = 0; i < reasons.names; i++)
        printf("#   %d: %s\n", reasons.count[i], reasons.name[i]);
    printf("# %d of %d pairs of features met\n", met, possible);
}

int main(int argc, char **argv)
{
    static struct all a = {.o = {.first = 1, .count = 100}};
    char path[320], title[256];
    double start = clock_now();
    int at = 1, left_out = 0;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *word = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(word, "--all") == 0)
            a.o.all = true;
        else if (strcmp(word, "--plan") == 0)
            a.o.plan = true;
        else if (strcmp(word, "--strict") == 0)
            a.o.strict = true;
        else if (strcmp(word, "--stop") == 0)
            a.o.stop = true;
        else if (strcmp(word, "--quiet") == 0)
            a.o.quiet = true;
        else if (at++, strcmp(word, "--print") == 0)
            return random_spec_write(strtoull(value, NULL, 10), stdout), 0;
        else if (strcmp(word, "--first") == 0)
            a.o.first = strtoull(value, NULL, 10);
        else if (strcmp(word, "--count") == 0)
            a.o.count = atoi(value);
        else if (strcmp(word, "--seconds") == 0)
            a.o.seconds = atof(value);
        else if (strcmp(word, "--only") == 0)
            a.o.only = value;
        else if (strcmp(word, "--leave-out") == 0 && a.o.withouts < 16)
            a.o.without[a.o.withouts++] = value;
        else if (strcmp(word, "--keep") == 0)
            a.o.keep = value;
        else if (strcmp(word, "--arch") == 0)
            a.o.arch = value;
        else if (strcmp(word, "--log") == 0)
            a.o.log = value;
        else if (strcmp(word, "--replay") == 0)
            a.o.replay = value;
        else
            return fprintf(stderr, "random_programs: no option %s\n", word), 2;
    }
    if (a.o.keep)
        mkdir(a.o.keep, 0777);
    snprintf(a.scratch, sizeof a.scratch, "%s/tw_random_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(a.scratch))
        return 3;
    if (a.o.log && !(a.log = fopen(a.o.log, "a")))
        return 3;
    snprintf(path, sizeof path, "%s/random.lua", a.scratch);
    if (a.o.replay)
        replay(&a, a.o.replay, path);
    for (int i = at; i < argc; i++)
        one(&a, argv[i], (uint64_t)i, argv[i]);
    uint64_t seed = a.o.first;
    for (; at == argc && !a.o.replay && a.programs < a.o.count && !(a.o.stop && a.failed); seed++) {
        if (a.o.seconds > 0 && clock_now() - start > a.o.seconds)
            break;
        snprintf(path, sizeof path, "%s/random.lua", a.scratch);
        if (!write_spec(path, seed))
            return 3;
        snprintf(title, sizeof title, "random program %llu", (unsigned long long)seed);
        if (is_left_out(&a.o, path)) {
            left_out++;
            continue;
        }
        one(&a, path, seed, title);
    }
    static const char *const left[] = {"random.lua", "lines", "errors"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", a.scratch, left[i]);
        unlink(path);
    }
    rmdir(a.scratch);
    print_holes(&a);
    print_pairs(&a);
    print_tally("what was hit", &a.tally);
    print_tally("refused", &a.refused);
    if (a.o.quiet)
        printf("%sok 1 - random programs\n", a.failed ? "not " : "");
    printf("# %d kernels lowered\n", *tally_of(&a.tally, "arch.sm_90a") + *tally_of(&a.tally, "arch.sm_80"));
    printf("# %d programs, %d failed, %d left out\n1..%d\n", a.programs, a.failed, left_out,
           a.o.quiet ? 1 : a.programs);
    return a.failed ? 1 : 0;
}
