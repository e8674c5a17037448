#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/parallel.h"
#include "emu/emu.h"
#include "verify/debug.h"
#include "verify/launcher.h"
#include "verify/run/run.h"

enum { VARIANTS = COMPILE_LIBRARY_UNITS };

/* The loaded variants of one kernel on one architecture, and which of them may be launched on the sizes at hand. */
struct group {
    int unit[VARIANTS];        /* index into compile.unit */
    struct launcher *launcher; /* of them all, in this order */
    struct debug_log *log;     /* by variant */
    int count;
    int own;                    /* how many are no set-ups: they come first */
    bool fits[2][VARIANTS];     /* [padded] */
    struct tw_error refused[2]; /* [padded]: why the last variant that is no set-up does not fit */
    bool others;                /* there are variants that are not loaded, as --source and --break have it */
};

static struct run_case *add_case(struct run *run)
{
    size_t count = (size_t)run->case_count;
    if ((count & (count - 1)) == 0) {
        struct run_case *grown = tw_realloc(&run->compile.rt, run->cases, sizeof *grown * (count ? 2 * count : 1));
        if (!grown)
            return NULL;
        run->cases = grown;
    }
    run->case_count++;
    return memset(&run->cases[count], 0, sizeof *run->cases);
}

/* ---- what the emulator found ------------------------------------------------------------------------------------- */

void run_hazard_free(struct tw_runtime *rt, struct run_hazard *hazard)
{
    tw_free(rt, hazard->text);
    tw_free(rt, hazard->file);
    tw_free(rt, hazard->other_file);
    tw_free(rt, hazard->region);
}

/* Adds a report to the case, behind the last of its name, or counts it where the case has it already. */
static bool add_hazard(struct run *run, struct run_case *c, const struct emu_report *report, int completion)
{
    struct tw_runtime *rt = &run->compile.rt;
    int at = c->hazard_count;
    for (int i = 0; i < c->hazard_count; i++) {
        struct run_hazard *have = &c->hazard[i];
        if (strcmp(have->name, report->name) != 0)
            continue;
        if (have->ptx_line == report->ptx_line && have->line == report->line &&
            have->other_ptx_line == report->other_ptx_line && have->other_line == report->other_line &&
            strcmp(have->file, report->file) == 0) {
            have->count += report->count;
            have->more += report->more;
            have->completions |= 1u << completion;
            return true;
        }
        at = i + 1;
    }
    struct run_hazard *grown = tw_realloc(rt, c->hazard, sizeof *grown * (size_t)(c->hazard_count + 1));
    if (!grown)
        return false;
    c->hazard = grown;
    struct run_hazard made = {
        .name = report->name,
        .text = tw_strdup(rt, report->text),
        .file = tw_strdup(rt, report->file),
        .other_file = tw_strdup(rt, report->other_file),
        .region = tw_strdup(rt, report->region),
        .count = report->count,
        .more = report->more,
        .address = report->address,
        .line = report->line,
        .ptx_line = report->ptx_line,
        .other_line = report->other_line,
        .other_ptx_line = report->other_ptx_line,
        .stage = report->stage,
        .block = {report->block[0], report->block[1], report->block[2]},
        .warp = report->warp,
        .completions = 1u << completion,
    };
    if (!made.text || !made.file || !made.other_file || !made.region) {
        run_hazard_free(rt, &made);
        return false;
    }
    memmove(&grown[at + 1], &grown[at], sizeof *grown * (size_t)(c->hazard_count - at));
    grown[at] = made;
    c->hazard_count++;
    return true;
}

/* Moves what the emulator found in the last launch into the case. Exit status. */
static int take_hazards(struct run *run, struct run_case *c, int completion)
{
    const struct emu_report *report;
    int status = 0;
    if (!run_is_emulator(run->device))
        return 0;
    for (size_t i = 0; (report = emu_device_report(run->device, i)) && status == 0; i++)
        status = add_hazard(run, c, report, completion) ? 0 : 3;
    emu_device_clear_reports(run->device);
    return status;
}

/* "hazards UNORDERED-READ, UNINIT" */
static void name_hazards(const struct run_case *c, char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < c->hazard_count && n < size; i++)
        if (i == 0 || strcmp(c->hazard[i].name, c->hazard[i - 1].name) != 0)
            n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "hazards ", c->hazard[i].name);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static bool is_late(const struct run *run)
{
    return run->options.limit && compile_clock() - run->compile.started >= (double)run->options.limit;
}

int run_stop(void *context)
{
    struct run *run = context;
    if (is_late(run))
        atomic_store(&run->stopped, true);
    return is_late(run);
}

/* Takes back the cases from `first` on that were broken off: what they would have shown is unknown. Those that the
 * emulator has found something in stay. */
static void take_back_cases(struct run *run, int first, const char *kernel, const char *sizes)
{
    int kept = first;
    for (int i = first; i < run->case_count; i++)
        if (run->cases[i].hazard_count)
            run->cases[kept++] = run->cases[i];
    run->case_count = kept;
    snprintf(run->broken_off, sizeof run->broken_off, "%s %s", kernel, sizes);
}

/* Which variants fit these sizes, with dense and with padded rows. */
static void find_fits(struct run *run, struct group *g, const int64_t *symbol)
{
    struct tw_error ignored;
    for (int padded = 0; padded < 2; padded++)
        for (int v = 0; v < g->count; v++)
            g->fits[padded][v] = trial_fits(&run->compile, g->launcher, v, symbol, padded,
                                            v < g->own ? &g->refused[padded] : &ignored) == TW_OK;
}

/* The layout for a kind of inputs. */
static bool layout_of(const struct run *run, int inputs)
{
    if (run->options.rows == RUN_ROWS_AUTO)
        return inputs == INPUTS_INTEGER;
    return run->options.rows == RUN_ROWS_PADDED;
}

/* How far from passing: of a result that did not, farther than any that did. */
static double distance(const struct trial_result *r)
{
    return !r->passed ? (double)INFINITY : r->bound > 0 ? r->error / r->bound : r->error;
}

/* Keeps the worse of a variant's results, with the completion of one that did not pass where there are several. */
static void keep_result(struct trial_result *kept, const struct trial_result *result, int completion,
                        bool several, bool first)
{
    const bool launched = !first && kept->launched;
    if (first || (kept->passed && distance(result) > distance(kept))) {
        *kept = *result;
        if (!result->passed && several) {
            size_t n = strlen(kept->why);
            snprintf(kept->why + n, sizeof kept->why - n, " (--complete %s)", run_completion_word[completion]);
        }
    }
    kept->launched = kept->launched || launched;
}

/* Says of the case why it has no result. */
static void take_failure(struct run_case *one, const struct tw_error *error)
{
    one->passed = false;
    if (one->hazard_count)
        name_hazards(one, one->why, sizeof one->why);
    else
        snprintf(one->why, sizeof one->why, "%s", error->text);
}

/* Launches one variant in each completion that is asked for. Exit status; *fatal where the device cannot go on. */
static int run_variant(struct run *run, const struct group *g, int v, struct trial *trial, struct run_case *one,
                       bool *fatal, struct tw_error *error)
{
    const int inputs = (int)trial->request.inputs, asked = run->options.completion;
    const bool emulated = run_is_emulator(run->device), all = emulated && asked == RUN_ALL;
    const bool several = emulated && asked >= RUN_ALL;
    const int turn = several && !all ? (int)(one - run->cases) + inputs : asked;
    const int from = turn % RUN_COMPLETIONS, to = all ? RUN_COMPLETIONS : from + 1;
    one->part[inputs].padded = trial->request.padded;
    one->part[inputs].sampled = trial->sampled;
    for (int completion = from; completion < to && !*fatal && !atomic_load(&run->stopped); completion++) {
        struct trial_result result;
        if (several)
            emu_device_set_completion(run->device, (enum emu_completion)completion);
        run_coverage_begin(run, g->unit[v]);
        int launched = trial_launch(trial, g->launcher, v, &result, error);
        run_coverage_end(run, result.launched);
        run->launch_seconds += result.seconds;
        keep_result(&one->part[inputs].result, &result, completion, several, completion == from);
        one->part[inputs].done = launched == TW_OK && (one->part[inputs].done || completion == from);
        one->passed = one->passed && launched == TW_OK && result.passed;
        if (take_hazards(run, one, completion) == 3)
            return 3;
        if (launched == TW_OK && run->options.dump)
            launched = run_dump(run, trial, one, error);
        if (launched == TW_OK)
            continue;
        progress_clear();
        debug_log_take(&g->log[v]);
        /* A kernel that fails leaves a GPU's context unusable. */
        *fatal = !emulated;
        take_failure(one, error);
    }
    return 0;
}

/* One kind of inputs over all variants that fit, of those from `from` on that are one set-up: their program is the
 * same. Returns an exit status; *fatal where the device cannot go on. */
static int run_setup(struct run *run, const struct group *g, const int64_t *symbol, int inputs, int from, int to,
                     struct run_case **of, bool *fatal)
{
    struct compile *c = &run->compile;
    bool padded = layout_of(run, inputs);
    struct trial trial;
    struct trial_request request = {
        .compile = c,
        .device = run->device,
        .unit = &c->unit[g->unit[from]],
        .symbol = symbol,
        .inputs = (enum inputs_kind)inputs,
        .seed = run->options.seed,
        .padded = padded,
        .stop = run->options.limit ? run_stop : NULL,
        .stop_context = run,
    };
    struct tw_error error = {""};
    bool any = false;
    for (int v = from; v < to; v++)
        any = any || (of[v] && g->fits[padded][v]);
    if (!any)
        return 0;
    int status = trial_begin(&trial, &request, &error), result = 0;
    run->inputs_seconds += trial.inputs_seconds;
    run->reference_seconds += trial.reference_seconds;
    if (status != TW_OK) {
        result = compile_fail(c, status, &error);
        compile_report(c);
    }
    for (int v = from; v < to; v++) {
        struct run_case *one = of[v];
        if (!one || !g->fits[padded][v])
            continue;
        if (status == TW_OK && !*fatal && !atomic_load(&run->stopped)) {
            result = run_variant(run, g, v, &trial, one, fatal, &error) == 3 ? 3 : result;
            continue;
        }
        take_failure(one, &error);
    }
    trial_end(&trial);
    return result;
}

/* The same over all variants. */
static int run_inputs(struct run *run, const struct group *g, const int64_t *symbol, int inputs, struct run_case **of,
                      bool *fatal)
{
    const struct compile_unit *unit = run->compile.unit;
    int result = 0;
    for (int from = 0, to; from < g->count && result != 3; from = to) {
        for (to = from + 1; to < g->count && unit[g->unit[to]].as == unit[g->unit[from]].as; to++)
            ;
        int status = run_setup(run, g, symbol, inputs, from, to, of, fatal);
        result = status == 3 ? 3 : result ? result : status;
    }
    return result;
}

static int run_sizes(struct run *run, struct group *g, const int64_t *sizes, int width, bool *fatal)
{
    struct compile *c = &run->compile;
    struct run_case *of[VARIANTS] = {NULL};
    int first = run->case_count, made[VARIANTS], result = 0;
    char text[256];
    int64_t *symbol = tw_alloc(&c->rt, sizeof *symbol * (size_t)width);
    if (!symbol)
        return 3;
    memcpy(symbol, sizes, sizeof *symbol * (size_t)width);
    symbol[width - 1] = run->device->sm_count;
    sizes_print(&c->unit[g->unit[0]], symbol, text, sizeof text);
    progress_show("%s %s", c->unit[g->unit[0]].plan.kernel, text);

    bool main_layout = run->options.rows == RUN_ROWS_PADDED, refused = true;
    bool dense = false, padded = false; /* which layouts there will be */
    for (int inputs = 0; inputs < RUN_INPUTS; inputs++) {
        dense = dense || (run->options.inputs[inputs] && !layout_of(run, inputs));
        padded = padded || (run->options.inputs[inputs] && layout_of(run, inputs));
    }
    find_fits(run, g, symbol);
    for (int v = 0; v < g->count && result == 0; v++) {
        bool wanted = (dense && g->fits[false][v]) || (padded && g->fits[true][v]);
        bool last = v == (g->own ? g->own : g->count) - 1;
        made[v] = -1;
        /* The spec's sizes are for all variants, those of --set for the one that runs. */
        if (!wanted && (!last || !refused || (g->others && !run->options.set.count)))
            continue;
        struct run_case *one = add_case(run);
        if (!one) {
            result = 3;
            break;
        }
        made[v] = run->case_count - 1;
        one->unit = &c->unit[g->unit[v]];
        one->device = run->device->ops->kind;
        one->passed = wanted;
        snprintf(one->sizes, sizeof one->sizes, "%s", text);
        if (!wanted) {
            /* No variant takes these sizes: the case is the refusal. */
            snprintf(one->why, sizeof one->why, "%s", g->refused[main_layout].text);
            made[v] = -1;
        }
        refused = false;
    }
    for (int v = 0; v < g->count && result == 0; v++)
        of[v] = made[v] < 0 ? NULL : &run->cases[made[v]];
    for (int inputs = 0; inputs < RUN_INPUTS && result != 3 && !atomic_load(&run->stopped); inputs++)
        if (run->options.inputs[inputs]) {
            int status = run_inputs(run, g, symbol, inputs, of, fatal);
            result = result ? result : status;
        }
    tw_free(&c->rt, symbol);
    progress_clear();
    if (atomic_load(&run->stopped))
        take_back_cases(run, first, c->unit[g->unit[0]].plan.kernel, text);
    for (int i = first; i < run->case_count; i++) {
        run->failed += !run->cases[i].passed;
        if (run->options.json)
            continue;
        run_print_hazards(run, &run->cases[i]);
        run_print_case(run, &run->cases[i]);
    }
    if (!run->options.json)
        fflush(stdout);
    return result;
}

/* The loaded units from `first` on that are one kernel's on one architecture. */
static int group_at(const struct run *run, int first, struct group *g)
{
    const struct compile *c = &run->compile;
    int i = first;
    memset(g, 0, sizeof *g);
    for (; i < c->unit_count; i++) {
        if (c->unit[i].kernel != c->unit[first].kernel || c->unit[i].arch != c->unit[first].arch)
            break;
        if (run->launcher[i] && g->count < VARIANTS) {
            g->launcher = run->launcher[i];
            g->own += c->unit[i].setup == 0;
            g->unit[g->count++] = i;
        } else {
            g->others = g->others || c->unit[i].planned;
        }
    }
    return i;
}

bool run_is_debug_text(const struct compile_unit *unit)
{
    const char *words = strstr(unit->source, ", debug build");
    return words && words < unit->source + strcspn(unit->source, "\n");
}

/* Memory for what the waits of a debug build leave. Exit status. */
static int open_logs(struct run *run, struct group *g)
{
    struct compile *c = &run->compile;
    struct tw_error error;
    int status = TW_OK;
    g->log = tw_alloc_zeroed(&c->rt, sizeof *g->log * VARIANTS);
    if (!g->log)
        return 3;
    for (int v = 0; v < g->count && (status == TW_OK || status == TW_ERROR_NOT_FOUND); v++) {
        const struct compile_unit *unit = &c->unit[g->unit[v]];
        char name[420];
        if (run->options.debug && unit->source_path && !run_is_debug_text(unit)) {
            fprintf(stderr, "tilewright run: --debug: %s is no text of a debug build; make it by gen --debug\n",
                    unit->source_path);
            return 1;
        }
        if (!run_is_debug_text(unit))
            continue; /* asking the driver for a variable that is not there is an error that its tools report */
        snprintf(name, sizeof name, "%s.%s.cu", unit->plan.entry, unit->arch->name);
        status = debug_log_open(&g->log[v], run->device, launcher_module(g->launcher, v), unit->plan.entry,
                                unit->source_path ? unit->source_path : name, &error);
    }
    return status == TW_OK || status == TW_ERROR_NOT_FOUND ? 0 : compile_fail(c, status, &error);
}

static void close_logs(struct run *run, struct group *g)
{
    for (int v = 0; g->log && v < g->count; v++)
        debug_log_close(&g->log[v]);
    tw_free(&run->compile.rt, g->log);
}

/* Few cases have a line each; of many those that fail, and a summary. */
static int count_cases(struct run *run)
{
    enum { FEW = 10 };
    struct compile *c = &run->compile;
    int count = 0, status = 0;
    for (int at = 0, next; at < c->unit_count && status == 0; at = next) {
        struct group g;
        struct sizes sizes = {0};
        next = group_at(run, at, &g);
        if (g.count)
            status = sizes_list(c, &c->unit[g.unit[0]], &run->options.set, &sizes);
        count += sizes.count;
        sizes_free(c, &sizes);
    }
    run->brief = count > FEW && !run->options.verbose;
    return status;
}

int run_cases(struct run *run)
{
    struct compile *c = &run->compile;
    bool fatal = false;
    int result = run->brief ? 0 : count_cases(run);
    if (result)
        return result;

    for (int at = 0, next; at < c->unit_count && !fatal; at = next) {
        struct group g;
        struct sizes sizes = {0};
        next = group_at(run, at, &g);
        if (!g.count)
            continue;
        int status = open_logs(run, &g);
        if (status == 0)
            status = sizes_list(c, &c->unit[g.unit[0]], &run->options.set, &sizes);
        for (int i = 0; i < sizes.count && status == 0 && !fatal; i++) {
            if (is_late(run)) {
                run->not_begun += sizes.count - i;
                break;
            }
            int one = run_sizes(run, &g, sizes.value + (size_t)i * (size_t)sizes.width, sizes.width, &fatal);
            if (one == 3) {
                close_logs(run, &g);
                sizes_free(c, &sizes);
                return 3;
            }
            result = result ? result : one;
        }
        close_logs(run, &g);
        sizes_free(c, &sizes);
        result = result ? result : status;
    }
    if (fatal)
        fputs("tilewright run: the device failed; what follows was not executed\n", stderr);
    return result ? result : run->failed > 0;
}
