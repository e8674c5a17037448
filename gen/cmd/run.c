/* tilewright run: from a spec to verified results. Compiles, launches the run sizes, compares with a double-precision
 * reference. Where no GPU can run a kernel, the emulator does. */
#include "verify/run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/parallel.h"
#include "emu/emu.h"
#include "verify/run/breaks.h"
#include "verify/debug.h"
#include "verify/launcher.h"

/* What is compiled where there is no device to ask. */
static const char default_arch[] = "sm_90a";

/* ---- architectures --------------------------------------------------------------------------------------------- */

bool run_is_emulator(const struct tw_device *device)
{
    return device && strcmp(device->ops->kind, "emu") == 0;
}

static const struct arch *pick(const void *context, const struct arch *const *arch, int count)
{
    const struct run *run = context;
    if (run->options.arch)
        return arch[0];
    for (int i = count - 1; i >= 0 && run->device; i--)
        if (launcher_runs_on(arch[i], run->device))
            return arch[i];
    for (int i = 0; i < count; i++)
        if (strcmp(arch[i]->name, default_arch) == 0)
            return arch[i];
    return arch[0];
}

/* ---- the device ------------------------------------------------------------------------------------------------ */

const char *const run_completion_word[RUN_COMPLETION_WORDS] = {"eager", "late", "random", "all", "alternate"};
const char *const run_hazards_word[] = {"off", "on", "fatal", "strict"};

/* The default where a kernel that is wanted is for it, else the newest that one is for: no kernel runs on what it was
 * not made for without need. */
static const char *newest_arch(const struct run *run)
{
    const struct spec *spec = &run->compile.spec;
    const struct arch *has[COMPILE_ARCHITECTURES], *newest = NULL;
    for (int k = 0; k < spec->kernel_count; k++) {
        if (run->options.kernel && strcmp(run->options.kernel, spec->kernel[k].name) != 0)
            continue;
        int count = compile_architectures(&spec->kernel[k], NULL, has);
        for (int a = 0; a < count; a++) {
            if (strcmp(has[a]->name, default_arch) == 0)
                return default_arch;
            if (!newest || has[a]->major * 10 + has[a]->minor > newest->major * 10 + newest->minor)
                newest = has[a];
        }
    }
    return newest ? newest->name : default_arch;
}

/* What to emulate: what is asked for, what a text by hand is for, or the spec's, also for what compile_units refuses in
 * a moment. */
static int open_emulator(struct run *run, struct tw_error *error)
{
    const char *arch = *run->source.arch ? run->source.arch : run->options.arch;
    struct emu_options options = {.arch = arch && arch_find(arch) ? arch : newest_arch(run),
                                  .completion = (enum emu_completion)(run->options.completion % RUN_COMPLETIONS),
                                  .hazards = (enum emu_hazards)run->options.hazards,
                                  .seed = run->options.seed,
                                  .sm_count = (int)run->options.sms,
                                  .stop = run->options.limit ? run_stop : NULL,
                                  .stop_context = run,
                                  .event = run_coverage_event,
                                  .event_context = run,
                                  .events = run_coverage_events()};
    return tw_device_open_emu(&run->compile.rt, &options, &run->device, error);
}

static bool is_auto(const struct run *run)
{
    return strcmp(run->options.device, "auto") == 0;
}

/* Opens what --device asks for; where auto finds no GPU, the emulator. Exit status. */
static int open_device(struct run *run)
{
    const char *name = run->options.device;
    struct tw_error error;
    int ordinal = strncmp(name, "cuda:", 5) == 0 ? atoi(name + 5) : 0, status = TW_OK;
    double start = compile_clock();
    if (strcmp(name, "none") == 0)
        return 0;
    if (strcmp(name, "emu") == 0 || run->bug)
        status = open_emulator(run, &error);
    else
        status = tw_device_open_cuda(&run->compile.rt, ordinal, &run->device, &error);
    if (status != TW_OK && is_auto(run) && !run->bug) {
        compile_say(&run->compile, DIAG_WARNING, "no GPU (%s): running on the emulator", error.text);
        status = open_emulator(run, &error);
    }
    run->device_seconds = compile_clock() - start;
    if (status == TW_OK)
        return 0;
    run->device = NULL;
    return compile_fail(&run->compile, status, &error);
}

static bool known_device(const char *name)
{
    static const char *const known[] = {"auto", "cuda", "emu", "none"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return strncmp(name, "cuda:", 5) == 0 && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5) &&
           strlen(name) < 8;
}

/* ---- from spec to loaded kernels --------------------------------------------------------------------------------- */

/* What the compiler is asked for. The emulator takes any text that gives PTX, and its reports name source lines. Where
 * nobody asked for it, what was emitted is compiled to the end all the same, so that spills are found. */
static void choose_outputs(const struct run *run, struct compile_unit *unit)
{
    bool runs = run->device && launcher_runs_on(unit->arch, run->device);
    bool emulated = run_is_emulator(run->device) || (run->device && is_auto(run) && !runs);
    unit->line_info = emulated;
    bool ptx_alone = emulated && (unit->source_path || (!is_auto(run) && !run->options.keep));
    unit->outputs = ptx_alone ? TW_OUTPUT_PTX : TW_OUTPUT_CUBIN;
    if (run->options.keep || emulated || (runs && launcher_needs_ptx(unit->arch, run->device)))
        unit->outputs |= TW_OUTPUT_PTX;
}

static int plan_and_compile(struct run *run)
{
    struct compile *c = &run->compile;
    /* A set-up is compiled and run as a kernel is, and may be one of twenty: on the emulator who wants them asks. */
    const bool own = run_is_emulator(run->device) && !run->options.setups && !run->options.source;
    struct compile_choice choice = {
        .kernel = run->options.kernel, .arch = run->options.arch, .own = own, .pick = pick, .context = run};
    if (*run->source.kernel)
        choice.kernel = run->source.kernel;
    if (*run->source.arch) {
        choice.arch = run->source.arch;
        choice.pick = NULL;
    }
    int status = compile_units(c, &choice);
    if (status == 0 && c->left_out && !run->bug)
        compile_say(c, DIAG_NOTE,
                    "on the emulator %d set-up%s of SPEC.tuned.lua %s left out; --setups verifies them too",
                    c->left_out, c->left_out == 1 ? "" : "s", c->left_out == 1 ? "is" : "are");
    for (int i = 0; i < c->unit_count; i++)
        c->unit[i].wanted = true;
    if (status == 0 && run->options.source)
        status = run_source_replace(run);
    if (status == 0 && run->bug)
        status = run_break_plant(run);
    if (status)
        return status;
    for (int i = 0; i < c->unit_count; i++)
        choose_outputs(run, &c->unit[i]);
    return compile_cubins(c, COMPILE_NVRTC);
}

/* Units from `first` on that go into one launcher: of one kernel on one architecture. */
struct together {
    struct run *run;
    int unit[COMPILE_LIBRARY_UNITS];
    int count;
    struct launcher *launcher;
    int status;
    struct tw_error error;
};

/* Sorts out what this device runs, and the GPU before it could not. Returns the number of launchers, or minus the exit
 * status. */
static int gather(struct run *run, struct together *all)
{
    const struct compile *c = &run->compile;
    const struct compile_unit *before = NULL;
    int count = 0;
    for (int i = 0; i < c->unit_count; i++) {
        const struct compile_unit *unit = &c->unit[i];
        if (!unit->wanted || (run->gpu && launcher_runs_on(unit->arch, run->gpu)))
            continue;
        if (!launcher_runs_on(unit->arch, run->device)) {
            run->left_out++;
            continue;
        }
        if (run->options.sms && plan_cluster(&unit->plan) > run->device->sm_count)
            return -options_fault("run", "--sms %d: a cluster of %s has %d blocks, and wants as many multiprocessors",
                                  run->device->sm_count, unit->plan.entry, plan_cluster(&unit->plan));
        if (!before || before->kernel != unit->kernel || before->arch != unit->arch ||
            all[count - 1].count == COMPILE_LIBRARY_UNITS)
            all[count++].run = run;
        all[count - 1].unit[all[count - 1].count++] = i;
        before = unit;
    }
    return count;
}

static void open_one(void *context, int64_t i)
{
    struct together *t = (struct together *)context + i;
    t->status = launcher_open(&t->launcher, &t->run->compile, t->unit, t->count, &t->error);
}

/* How many multiprocessors the emulated GPU has where nobody asks: on few of them small sizes give a persistent block
 * several tiles, so that its rings wrap. As many as the largest cluster of a loaded kernel wants, or three of them. */
static int few_sms(const struct compile *c, const struct together *all, int count)
{
    int most = 2;
    for (int i = 0; i < count; i++)
        for (int v = 0; v < all[i].count; v++) {
            int blocks = plan_blocks(&c->unit[all[i].unit[v]].plan);
            most = blocks > most ? blocks : most;
        }
    return most;
}

static int load_one(struct run *run, const struct together *t, struct tw_error *error)
{
    const struct compile_unit *first = &run->compile.unit[t->unit[0]];
    int status = launcher_load(t->launcher, run->device, launcher_needs_ptx(first->arch, run->device), error);
    for (int v = 0; v < t->count && status == TW_OK; v++) {
        run->launcher[t->unit[v]] = t->launcher;
        run->kernel[t->unit[v]] = launcher_kernel(t->launcher, v);
    }
    return status;
}

/* Loads what the device can run through the emitted C of each kernel. Exit status. */
static int load_all(struct run *run, struct together *all)
{
    struct compile *c = &run->compile;
    int count = gather(run, all);
    if (count < 0)
        return -count;
    if (run_is_emulator(run->device) && !run->options.sms)
        emu_device_set_sms(run->device, few_sms(c, all, count));
    parallel_for(count, parallel_cores(), open_one, all);
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].status == TW_OK && result == 0)
            all[i].status = load_one(run, &all[i], &all[i].error);
        if (all[i].status != TW_OK && result == 0)
            result = compile_fail(c, all[i].status, &all[i].error);
        if (!run->launcher[all[i].unit[0]])
            launcher_close(all[i].launcher);
    }
    return result;
}

static int load_kernels(struct run *run)
{
    struct compile *c = &run->compile;
    double start = compile_clock();
    size_t units = (size_t)c->unit_count + 1;
    struct together *all = tw_alloc_zeroed(&c->rt, sizeof *all * units);
    if (!run->launcher)
        run->launcher = tw_alloc_zeroed(&c->rt, sizeof *run->launcher * units);
    if (!run->kernel)
        run->kernel = tw_alloc_zeroed(&c->rt, sizeof *run->kernel * units);
    run->left_out = 0;
    int status = all && run->launcher && run->kernel ? 0 : 3;
    if (status == 0 && run->device)
        status = load_all(run, all);
    tw_free(&c->rt, all);
    if (status == 0 && run_is_emulator(run->device) && run_coverage_open(run))
        status = 3;
    run->load_seconds += compile_clock() - start;
    if (!run->gpu)
        run->to_loaded_seconds = compile_clock() - c->started - run->device_seconds;
    return status;
}

static void unload_kernels(struct run *run)
{
    for (int i = 0; run->launcher && i < run->compile.unit_count; i++) {
        struct launcher *launcher = run->launcher[i];
        for (int j = i; launcher && j < run->compile.unit_count; j++)
            if (run->launcher[j] == launcher)
                run->launcher[j] = NULL;
        launcher_close(launcher);
        run->kernel[i] = NULL;
    }
}

static int keep_files(struct run *run)
{
    struct compile *c = &run->compile;
    struct file_set files = {.rt = &c->rt};
    struct tw_error error;
    char name[420];
    int status = TW_OK;
    for (int i = 0; i < c->unit_count && status == TW_OK; i++) {
        const struct compile_unit *unit = &c->unit[i];
        if (!unit->wanted)
            continue;
        snprintf(name, sizeof name, "%s.%s.cu", unit->plan.entry, unit->arch->name);
        status = files_add(&files, run->options.keep, name, unit->source, unit->source_bytes, false, &error);
        if (status == TW_OK)
            status = compile_keep(c, unit, COMPILE_NVRTC, run->options.keep, &files, &error);
    }
    if (status == TW_OK)
        status = files_commit(&files, &error);
    files_free(&files);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

/* Under auto the emulator runs what the GPU cannot. */
static int run_left_out(struct run *run)
{
    struct tw_error error;
    compile_say(&run->compile, DIAG_WARNING, "%s cannot run %d of the entry points: running them on the emulator",
                run->device->name, run->left_out);
    unload_kernels(run);
    run->gpu = run->device;
    run->device = NULL;
    int status = open_emulator(run, &error);
    if (status != TW_OK)
        return compile_fail(&run->compile, status, &error);
    status = load_kernels(run);
    return status ? status : run_cases(run);
}

/* What was compiled and did not run; exit status: 3, but 0 where that was asked for. */
static int say_not_executed(const struct run *run)
{
    const struct compile *c = &run->compile;
    int compiled = 0;
    for (int i = 0; i < c->unit_count; i++) {
        if (!c->unit[i].wanted || (run->device && launcher_runs_on(c->unit[i].arch, run->device)))
            continue;
        if (!run->options.json)
            run_print_unit(&c->unit[i]);
        compiled++;
    }
    const char *plural = compiled == 1 ? "" : "s";
    char text[256];
    if (run->device)
        snprintf(text, sizeof text, "compiled %d entry point%s that %.120s cannot run; they were not executed",
                 compiled, plural, run->device->name);
    else
        snprintf(text, sizeof text, "compiled %d entry point%s; nothing was executed: --device none", compiled, plural);
    if (run->options.json)
        compile_say(c, run->device ? DIAG_WARNING : DIAG_NOTE, "%s", text);
    else
        puts(text);
    return run->device ? 3 : 0;
}

static int go(struct run *run)
{
    struct compile *c = &run->compile;
    int status = run->options.bug ? run_break_begin(run, default_arch) : 0;
    if (status == 0)
        status = sizes_check(c, &run->options.set);
    if (status == 0 && run->options.source)
        status = run_source_read(run);
    if (status == 0)
        status = open_device(run);
    if (status == 0)
        status = plan_and_compile(run);
    if (status == 0 && run->options.keep)
        status = keep_files(run);
    if (status == 0)
        status = load_kernels(run);
    compile_report(c);
    if (status)
        return status;
    if (run->device)
        status = run_cases(run);
    if (status != 3 && is_auto(run) && run->left_out && !run_is_emulator(run->device)) {
        int rest = run_left_out(run);
        status = rest > status ? rest : status;
    }
    if (status != 3 && run_coverage_report(run))
        status = 3;
    if (run->bug)
        return status == 3 ? 3 : run_break_end(run);
    if (run->device && !run->options.json)
        run_print_count(run);
    if (status == 0 && (!run->device || run->left_out))
        status = say_not_executed(run);
    return status;
}

static void close_run(struct run *run)
{
    struct tw_runtime *rt = &run->compile.rt;
    unload_kernels(run);
    for (int i = 0; i < run->case_count; i++) {
        for (int h = 0; h < run->cases[i].hazard_count; h++)
            run_hazard_free(rt, &run->cases[i].hazard[h]);
        tw_free(rt, run->cases[i].hazard);
    }
    run_coverage_close(run);
    tw_free(rt, run->kernel);
    tw_free(rt, run->launcher);
    tw_free(rt, run->cases);
    tw_free(rt, run->source.text);
    tw_device_close(run->device);
    tw_device_close(run->gpu);
    compile_close(&run->compile);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

/* Finds a word; its number, or -1. */
static int word_number(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static int read_words(struct run_options *o, const char *inputs, const char *rows, const char *complete,
                      const char *hazards)
{
    static const char *const inputs_word[] = {"normal", "integer", "both"};
    static const char *const rows_word[RUN_ROWS_COUNT] = {"auto", "dense", "padded"};
    int kind = word_number(inputs, inputs_word, 3);
    int row = word_number(rows, rows_word, RUN_ROWS_COUNT);
    o->completion = word_number(complete, run_completion_word, RUN_COMPLETION_WORDS);
    o->hazards = word_number(hazards, run_hazards_word, 4);
    if (kind < 0)
        return options_fault("run", "--inputs %s: write normal, integer or both", inputs);
    if (row < 0)
        return options_fault("run", "--rows %s: write auto, dense or padded", rows);
    if (o->completion < 0)
        return options_fault("run", "--complete %s: write eager, late, random, all or alternate", complete);
    if (o->hazards < 0)
        return options_fault("run", "--hazards %s: write on, off, fatal or strict", hazards);
    if (!known_device(o->device))
        return options_fault("run", "--device %s: write auto, cuda, cuda:N, emu or none", o->device);
    o->inputs[INPUTS_NORMAL] = kind != 1;
    o->inputs[INPUTS_INTEGER] = kind != 0;
    o->rows = (enum run_rows)row;
    return -1;
}

int cmd_run(int argc, char **argv)
{
    struct run run;
    struct run_options *o = &run.options;
    const char *path, *inputs = "both", *rows = "auto", *complete = "eager", *hazards = "strict";
    int operands;
    memset(&run, 0, sizeof run);
    o->device = "auto";
    o->seed = 1;
    o->debug_timeout = DEBUG_NOT_GIVEN;
    const struct option_row table[] = {
        {"--kernel", OPTION_TEXT, &o->kernel, "K", "this kernel alone"},
        {"--set", OPTION_LIST, &o->set, "M=512,N=1/64",
         "in the place of the spec's sizes; / separates several; repeatable"},
        {"--device", OPTION_TEXT, &o->device, "auto|cuda[:N]|emu|none",
         "auto: a GPU that can run the kernel, else emu, the emulator; none: compile only"},
        {"--complete", OPTION_TEXT, &complete, "eager|late|random|all|alternate",
         "when asynchronous operations happen; alternate: case after case; eager"},
        {"--hazards", OPTION_TEXT, &hazards, "on|off|fatal|strict",
         "what the emulator does about hazards (tilewright help hazards): tell, nothing, stop; strict"},
        {"--arch", OPTION_TEXT, &o->arch, "A", "this architecture; without it the best that the device runs"},
        {"--seed", OPTION_NUMBER, &o->seed, "S", "of the random inputs and of random completion; 1"},
        {"--sms", OPTION_NUMBER, &o->sms, "N",
         "multiprocessors of the emulated GPU; by default 2, or what a cluster wants: blocks have several tiles then"},
        {"--inputs", OPTION_TEXT, &inputs, "normal|integer", "one kind of inputs; both by default"},
        {"--rows", OPTION_TEXT, &rows, "dense|padded",
         "layout of rows; by default dense for normal inputs, padded for integers"},
        {"--source", OPTION_TEXT, &o->source, "FILE.cu", "run this text as the kernel that its first line names"},
        {"--break", OPTION_TEXT, &o->bug, "NAME",
         "plant a bug into the emitted text, and see whether the emulator finds it; list: which there are"},
        {"--setups", OPTION_FLAG, &o->setups, NULL,
         "verify the set-ups of SPEC.tuned.lua on the emulator too; on a GPU they always are"},
        {"--debug", OPTION_FLAG, &o->debug, NULL, DEBUG_DOC},
        {"--debug-timeout", OPTION_NUMBER, &o->debug_timeout, "MS", DEBUG_TIMEOUT_DOC},
        {"--keep", OPTION_TEXT, &o->keep, "DIR", "leave source, PTX, cubin and (where a disassembler is found) SASS"},
        {"--dump", OPTION_TEXT, &o->dump, "DIR",
         "leave each case's tensors: the bytes of their elements, and case.json, which says what they are"},
        {"--verbose", OPTION_FLAG, &o->verbose, NULL, "a line for each case; without it, of over ten cases, a summary"},
        {"--limit", OPTION_NUMBER, &o->limit, "SECONDS",
         "begin no case after as many seconds; the emulator breaks off the one under way, a GPU cannot"},
        {"--json", OPTION_FLAG, &o->json, NULL, "cases and phases (milliseconds) as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int debug_ms, status = options_parse("run", table, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (o->bug && strcmp(o->bug, "list") == 0) {
        break_print_list(stdout);
        return 0;
    }
    if (!operands)
        return options_fault("run", "which spec?");
    if (o->arch && strchr(o->arch, ','))
        return options_fault("run", "--arch %s: run takes one architecture", o->arch);
    if (o->sms > 1024)
        return options_fault("run", "--sms %" PRIu64 ": at most 1024", o->sms);
    if (o->bug && o->source)
        return options_fault("run", "--break edits the emitted text; it does not go with --source");
    if (o->bug && strcmp(o->device, "auto") != 0 && strcmp(o->device, "emu") != 0)
        return options_fault("run", "--break %s --device %s: only the emulator reports hazards", o->bug, o->device);
    if (o->bug && strcmp(hazards, "off") == 0)
        return options_fault("run", "--break %s --hazards off: nothing would be reported", o->bug);
    status = read_words(o, inputs, rows, complete, hazards);
    if (status < 0)
        status = debug_options("run", o->debug, o->debug_timeout, &debug_ms);
    if (status >= 0)
        return status;

    status = compile_open_as(&run.compile, "run", path, o->json);
    run.compile.debug_ms = debug_ms;
    if (status == 0)
        status = go(&run);
    compile_report(&run.compile);
    if (o->json)
        status = run_print_json(&run, status);
    close_run(&run);
    return status;
}
