/* tilewright run: from a spec to verified results. Compiles, launches the run sizes, compares with a double-precision
 * reference. */
#include "cmd/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/parallel.h"
#include "emu/emu.h"

/* What is compiled where there is no device to ask. */
static const char default_arch[] = "sm_90a";

/* ---- architectures --------------------------------------------------------------------------------------------- */

/* Code for sm_90a runs on compute capability 9.0 alone; code without such a suffix on that and higher ones, from PTX
 * where the major number is another. */
static bool runs_on(const struct arch *arch, const struct tw_device *device)
{
    if (strspn(arch->name + 3, "0123456789") != strlen(arch->name + 3))
        return arch->major == device->major && arch->minor == device->minor;
    return arch->major < device->major || (arch->major == device->major && arch->minor <= device->minor);
}

/* The emulator executes PTX; a GPU needs it for code of another major number. */
static bool needs_ptx(const struct arch *arch, const struct tw_device *device)
{
    return strcmp(device->ops->kind, "emu") == 0 || arch->major != device->major;
}

static const struct arch *pick(const void *context, const struct arch *const *arch, int count)
{
    const struct run *run = context;
    if (run->options.arch)
        return arch[0];
    for (int i = count - 1; i >= 0 && run->device; i--)
        if (runs_on(arch[i], run->device))
            return arch[i];
    for (int i = 0; i < count; i++)
        if (strcmp(arch[i]->name, default_arch) == 0)
            return arch[i];
    return arch[0];
}

/* ---- the device ------------------------------------------------------------------------------------------------ */

static const char *const completion_word[] = {"eager", "late", "random"};
static const char *const hazards_word[] = {"off", "on", "fatal", "strict"};

/* A finding of the emulator, once. */
static void show_report(void *context, const struct emu_report *report)
{
    (void)context;
    progress_clear();
    fprintf(stderr, "%s\n", report->text);
}

static int open_emulator(struct run *run)
{
    struct emu_options options = {.arch = run->options.arch ? run->options.arch : default_arch,
                                  .completion = (enum emu_completion)run->options.completion,
                                  .hazards = (enum emu_hazards)run->options.hazards,
                                  .seed = run->options.seed,
                                  .report = show_report};
    return tw_device_open_emu(&run->compile.rt, &options, &run->device, &run->no_device);
}

/* Opens what --device asks for; no device is no fault under auto. Exit status. */
static int open_device(struct run *run)
{
    const char *name = run->options.device;
    bool must = strcmp(name, "auto") != 0;
    int ordinal = strncmp(name, "cuda:", 5) == 0 ? atoi(name + 5) : 0;
    double start = compile_clock();
    int status = strcmp(name, "emu") == 0
                     ? open_emulator(run)
                     : tw_device_open_cuda(&run->compile.rt, ordinal, &run->device, &run->no_device);
    run->device_seconds = compile_clock() - start;
    if (status == TW_OK)
        return 0;
    run->device = NULL;
    return must ? compile_fail(&run->compile, status, &run->no_device) : 0;
}

static bool known_device(const char *name)
{
    if (strcmp(name, "auto") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "emu") == 0)
        return true;
    return strncmp(name, "cuda:", 5) == 0 && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5) &&
           strlen(name) < 8;
}

/* ---- a source by hand ------------------------------------------------------------------------------------------ */

/* What the first line of a generated source names: "// tilewright 1: kernel NAME, entry ENTRY, arch sm_90a". */
struct banner {
    char kernel[256], entry[256], arch[32];
};

/* What the first line names is what runs: an option that names something else is refused. Exit status. */
static int check_banner(const struct run_options *o, const struct banner *banner)
{
    if (!arch_find(banner->arch)) {
        fprintf(stderr, "tilewright run: %s:1: there is no architecture '%s'\n", o->source, banner->arch);
        return 1;
    }
    if (o->kernel && strcmp(o->kernel, banner->kernel) != 0)
        return options_fault("run", "--kernel %s: the first line of %s names kernel '%s'", o->kernel, o->source,
                             banner->kernel);
    if (o->arch && strcmp(o->arch, banner->arch) != 0)
        return options_fault("run", "--arch %s: the first line of %s names %s", o->arch, o->source, banner->arch);
    return 0;
}

static int read_source(struct run *run, char **text, size_t *length, struct banner *banner)
{
    struct tw_error error;
    unsigned char *bytes;
    int generator;
    int status = tw_read_file(&run->compile.rt, run->options.source, (size_t)1 << 26, &bytes, length, &error);
    if (status != TW_OK)
        return compile_fail(&run->compile, status, &error);
    *text = (char *)bytes;
    if (sscanf(*text, "// tilewright %d: kernel %255[^, \n], entry %255[^, \n], arch %31[a-z0-9_]", &generator,
               banner->kernel, banner->entry, banner->arch) == 4)
        return check_banner(&run->options, banner);
    fprintf(stderr,
            "tilewright run: %s:1: the first line does not say which kernel this is; write '// tilewright 1: kernel "
            "NAME, entry ENTRY, arch sm_90a'\n",
            run->options.source);
    return 1;
}

/* Puts the text in the place of the unit's own; only that unit remains wanted. */
static int replace_source(struct run *run, const char *text, size_t length, const struct banner *banner)
{
    struct memory memory = {NULL, NULL};
    struct compile_unit *found = NULL;
    for (int i = 0; i < run->compile.unit_count; i++)
        if (strcmp(run->compile.unit[i].plan.entry, banner->entry) == 0)
            found = &run->compile.unit[i];
    if (!found) {
        fprintf(stderr, "tilewright run: %s:1: kernel '%s' has no entry '%s' for %s\n", run->options.source,
                banner->kernel, banner->entry, banner->arch);
        return 1;
    }
    char *copy = memory_resize(&memory, NULL, 0, length + 1);
    if (!copy)
        return 3;
    memcpy(copy, text, length + 1);
    memory_resize(&memory, found->source, found->source_bytes + 1, 0);
    found->source = copy;
    found->source_bytes = length;
    found->source_path = run->options.source;
    for (int i = 0; i < run->compile.unit_count; i++)
        run->compile.unit[i].wanted = &run->compile.unit[i] == found;
    return 0;
}

/* ---- from spec to loaded kernels --------------------------------------------------------------------------------- */

static int plan_and_compile(struct run *run)
{
    struct compile *c = &run->compile;
    struct compile_choice choice = {.kernel = run->options.kernel, .arch = run->options.arch, .pick = pick,
                                    .context = run};
    struct banner banner;
    char *text = NULL;
    size_t length = 0;
    int status = run->options.source ? read_source(run, &text, &length, &banner) : 0;
    if (status == 0 && text) {
        choice.kernel = banner.kernel;
        choice.arch = banner.arch;
        choice.pick = NULL;
    }
    if (status == 0)
        status = compile_units(c, &choice);
    for (int i = 0; i < c->unit_count; i++)
        c->unit[i].wanted = true;
    if (status == 0 && text)
        status = replace_source(run, text, length, &banner);
    tw_free(&c->rt, text);
    if (status)
        return status;
    for (int i = 0; i < c->unit_count; i++) {
        struct compile_unit *unit = &c->unit[i];
        unit->outputs = TW_OUTPUT_CUBIN;
        bool ptx = run->device && runs_on(unit->arch, run->device) && needs_ptx(unit->arch, run->device);
        if (run->options.keep || ptx)
            unit->outputs |= TW_OUTPUT_PTX;
    }
    return compile_cubins(c, COMPILE_NVRTC);
}

static int load_kernels(struct run *run)
{
    struct compile *c = &run->compile;
    struct tw_error error;
    double start = compile_clock();

    run->kernel = tw_alloc_zeroed(&c->rt, sizeof(struct tw_kernel *) * (size_t)(c->unit_count + 1));
    if (!run->kernel)
        return 3;
    for (int i = 0; i < c->unit_count && run->device; i++) {
        const struct compile_unit *unit = &c->unit[i];
        const struct tw_compiled *compiled = &unit->compiled[COMPILE_NVRTC];
        if (!unit->wanted)
            continue;
        if (!runs_on(unit->arch, run->device)) {
            run->left_out++;
            continue;
        }
        struct tw_load load = {.entry = unit->plan.entry};
        if (needs_ptx(unit->arch, run->device)) {
            load.ptx = compiled->ptx;
            load.ptx_bytes = compiled->ptx_bytes;
        } else {
            load.cubin = compiled->cubin;
            load.cubin_bytes = compiled->cubin_bytes;
        }
        int status = tw_device_load(run->device, &load, &run->kernel[i], &error);
        if (status != TW_OK)
            return compile_fail(c, status, &error);
    }
    run->load_seconds = compile_clock() - start;
    run->to_loaded_seconds = compile_clock() - c->started - run->device_seconds;
    return 0;
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

/* What was compiled and why it did not run; exit status 3. */
static int say_not_executed(const struct run *run)
{
    const struct compile *c = &run->compile;
    int compiled = 0;
    for (int i = 0; i < c->unit_count; i++) {
        if (!c->unit[i].wanted || (run->kernel && run->kernel[i]))
            continue;
        if (!run->options.json)
            run_print_unit(&c->unit[i]);
        compiled++;
    }
    FILE *out = run->options.json ? stderr : stdout;
    if (run->device)
        fprintf(out, "compiled %d entry point%s that %s cannot run; they were not executed\n", compiled,
                compiled == 1 ? "" : "s", run->device->name);
    else
        fprintf(out, "compiled %d entry point%s; nothing was executed: %s\n", compiled, compiled == 1 ? "" : "s",
                run->no_device.text);
    return 3;
}

static int go(struct run *run)
{
    struct compile *c = &run->compile;
    int status = sizes_check(c, &run->options.set);
    if (status == 0)
        status = open_device(run);
    if (status == 0)
        status = plan_and_compile(run);
    if (status == 0 && run->options.keep)
        status = keep_files(run);
    if (status == 0)
        status = load_kernels(run);
    compile_report(c);
    if (status == 0 && run->device)
        status = run_cases(run);
    if (status == 0 && (!run->device || run->left_out))
        status = say_not_executed(run);
    return status;
}

static void close_run(struct run *run)
{
    for (int i = 0; run->kernel && i < run->compile.unit_count; i++)
        tw_device_unload(run->device, run->kernel[i]);
    tw_free(&run->compile.rt, run->kernel);
    tw_free(&run->compile.rt, run->cases);
    tw_device_close(run->device);
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

static int read_words(struct run_options *o, const char *inputs, const char *rows, const char *reference,
                      const char *complete, const char *hazards)
{
    static const char *const inputs_word[] = {"normal", "integer", "both"};
    static const char *const rows_word[RUN_ROWS_COUNT] = {"auto", "dense", "padded"};
    int kind = word_number(inputs, inputs_word, 3);
    int row = word_number(rows, rows_word, RUN_ROWS_COUNT);
    int where = word_number(reference, trial_reference_word, TRIAL_REFERENCES);
    o->completion = word_number(complete, completion_word, 3);
    o->hazards = word_number(hazards, hazards_word, 4);
    if (kind < 0)
        return options_fault("run", "--inputs %s: write normal, integer or both", inputs);
    if (row < 0)
        return options_fault("run", "--rows %s: write auto, dense or padded", rows);
    if (where < 0)
        return options_fault("run", "--reference %s: write auto, host, device or both", reference);
    if (o->completion < 0)
        return options_fault("run", "--complete %s: write eager, late or random", complete);
    if (o->hazards < 0)
        return options_fault("run", "--hazards %s: write on, off, fatal or strict", hazards);
    if (!known_device(o->device))
        return options_fault("run", "--device %s: write auto, cuda, cuda:N or emu", o->device);
    o->inputs[FAMILY_NORMAL] = kind != 1;
    o->inputs[FAMILY_INTEGER] = kind != 0;
    o->rows = (enum run_rows)row;
    o->reference = (enum trial_reference)where;
    return -1;
}

int cmd_run(int argc, char **argv)
{
    struct run run;
    struct run_options *o = &run.options;
    const char *path, *inputs = "both", *rows = "auto", *reference = "auto", *complete = "eager",
               *hazards = "on";
    int operands;
    memset(&run, 0, sizeof run);
    o->device = "auto";
    o->seed = 1;
    const struct option_row table[] = {
        {"--kernel", OPTION_TEXT, &o->kernel, "K", "this kernel alone"},
        {"--set", OPTION_LIST, &o->set, "M=512,N=1/64",
         "in the place of the spec's sizes; / separates several; repeatable"},
        {"--device", OPTION_TEXT, &o->device, "auto|cuda[:N]|emu",
         "auto: a GPU that can run the kernel, else compile only; emu: the emulator"},
        {"--complete", OPTION_TEXT, &complete, "eager|late|random",
         "when the emulator's asynchronous operations happen; eager"},
        {"--hazards", OPTION_TEXT, &hazards, "on|off|fatal|strict",
         "what the emulator does about hazards (tilewright help hazards): tell, nothing, stop; on"},
        {"--arch", OPTION_TEXT, &o->arch, "A", "this architecture; without it the best that the device runs"},
        {"--seed", OPTION_NUMBER, &o->seed, "S", "of the random inputs; 1"},
        {"--inputs", OPTION_TEXT, &inputs, "normal|integer", "one kind of inputs; both by default"},
        {"--rows", OPTION_TEXT, &rows, "dense|padded",
         "layout of rows; by default dense for normal inputs, padded for integers"},
        {"--reference", OPTION_TEXT, &reference, "WHERE",
         "host, device or both; by default the device above 2^30 multiply-adds"},
        {"--source", OPTION_TEXT, &o->source, "FILE.cu", "run this text as the kernel that its first line names"},
        {"--keep", OPTION_TEXT, &o->keep, "DIR", "leave source, PTX, cubin and (where a disassembler is found) SASS"},
        {"--json", OPTION_FLAG, &o->json, NULL, "cases and phases (milliseconds) as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("run", table, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("run", "which spec?");
    if (o->arch && strchr(o->arch, ','))
        return options_fault("run", "--arch %s: run takes one architecture", o->arch);
    status = read_words(o, inputs, rows, reference, complete, hazards);
    if (status >= 0)
        return status;

    status = compile_open(&run.compile, "run", path);
    if (status == 0)
        status = go(&run);
    compile_report(&run.compile);
    if (o->json)
        run_print_json(&run, status);
    close_run(&run);
    return status;
}
