/* tilewright build: gen, every variant compiled, a table of what came out, and C files that carry the cubins. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "cmd/depends.h"
#include "common/json.h"
#include "common/options.h"
#include "compile/compile.h"
#include "verify/debug.h"

static const char *shown_variant(const struct compile_unit *unit)
{
    return *unit->plan.variant ? unit->plan.variant : "-";
}

static bool is_compiled(const struct compile_unit *unit, const bool with[COMPILE_WITH_COUNT], int w)
{
    return with[w] && unit->status[w] == TW_OK && unit->compiled[w].cubin;
}

static void print_table(const struct compile *c, const bool with[COMPILE_WITH_COUNT])
{
    int width = 6, variants = 10;
    for (int i = 0; i < c->unit_count; i++) {
        int length = (int)strlen(c->unit[i].kernel->name), variant = (int)strlen(shown_variant(&c->unit[i]));
        width = length > width ? length : width;
        variants = variant > variants ? variant : variants;
    }
    bool any = false;
    for (int i = 0; i < c->unit_count; i++)
        for (int w = 0; w < COMPILE_WITH_COUNT; w++)
            any |= is_compiled(&c->unit[i], with, w);
    if (!any)
        return; /* the faults are all there is to say */
    printf("%-*s  %-8s %-*s %-6s %9s %8s %7s %6s %8s\n", width, "kernel", "arch", variants, "variant", "with",
           "registers", "shared", "spills", "frame", "seconds");
    for (int i = 0; i < c->unit_count; i++)
        for (int w = 0; w < COMPILE_WITH_COUNT; w++) {
            const struct compile_unit *unit = &c->unit[i];
            const struct tw_compiled *compiled = &unit->compiled[w];
            if (!is_compiled(unit, with, w))
                continue;
            printf("%-*s  %-8s %-*s %-6s %9" PRIu32 " %8ld %7" PRIu32 " %6" PRIu32, width, unit->kernel->name,
                   unit->arch->name, variants, shown_variant(unit), compile_with_word[w], compiled->info.registers,
                   compile_shared(unit, (enum compile_with)w), compiled->info.spill_instructions, compiled->info.frame);
            if (compiled->cache == TW_CACHE_HIT)
                printf(" %8s\n", "cached");
            else
                printf(" %8.3f\n", compiled->seconds);
        }
}

static json_object *phases_object(const struct compile *c)
{
    json_object *o = json_object_new_object();
    json_add_real(o, "read", 1e3 * c->phases.read);
    json_add_real(o, "plan", 1e3 * c->phases.plan);
    json_add_real(o, "emit", 1e3 * c->phases.emit);
    json_add_real(o, "compile", 1e3 * c->phases.compile);
    return o;
}

static json_object *unit_object(const struct compile_unit *unit, enum compile_with with)
{
    const struct tw_compiled *compiled = &unit->compiled[with];
    json_object *o = json_object_new_object();
    json_add_text(o, "kernel", unit->kernel->name);
    json_add_text(o, "entry", unit->plan.entry);
    json_add_text(o, "arch", unit->arch->name);
    json_add_text(o, "variant", unit->plan.variant);
    json_add_text(o, "with", compile_with_word[with]);
    json_add_number(o, "registers", compiled->info.registers);
    json_add_number(o, "shared", (uint64_t)compile_shared(unit, with));
    json_add_number(o, "spills", compiled->info.spill_instructions);
    json_add_number(o, "frame", compiled->info.frame);
    json_add_real(o, "seconds", compiled->seconds);
    json_add_truth(o, "cached", compiled->cache == TW_CACHE_HIT);
    json_add_number(o, "cubin_bytes", compiled->cubin_bytes);
    return o;
}

static int print_json(const struct compile *c, const bool with[COMPILE_WITH_COUNT], int status)
{
    json_object *more = json_object_new_object(), *kernels = more ? json_object_new_array() : NULL;
    if (kernels) {
        for (int i = 0; i < c->unit_count; i++)
            for (int w = 0; w < COMPILE_WITH_COUNT; w++)
                if (is_compiled(&c->unit[i], with, w))
                    json_object_array_add(kernels, unit_object(&c->unit[i], (enum compile_with)w));
        json_object_object_add(more, "phases_ms", phases_object(c));
        json_object_object_add(more, "kernels", kernels);
    }
    status = compile_print_json(c, status, more);
    json_object_put(more);
    return status;
}

/* Two compilers, one source: they are expected to agree. */
static void compare(const struct compile *c)
{
    for (int i = 0; i < c->unit_count; i++) {
        const struct compile_unit *unit = &c->unit[i];
        const struct tw_compiled *a = &unit->compiled[COMPILE_NVRTC], *b = &unit->compiled[COMPILE_NVCC];
        if (a->cubin && b->cubin && a->info.registers != b->info.registers)
            compile_say(c, DIAG_NOTE, "%s for %s takes %u registers by nvrtc, %u by nvcc", unit->plan.entry,
                        unit->arch->name, a->info.registers, b->info.registers);
    }
}

static int read_with(const char *text, bool with[COMPILE_WITH_COUNT])
{
    char word[32];
    for (int i = 0; options_entry(text, i, word, sizeof word); i++) {
        int w = 0;
        while (w < COMPILE_WITH_COUNT && strcmp(word, compile_with_word[w]) != 0)
            w++;
        if (w == COMPILE_WITH_COUNT)
            return options_fault("build", "--with %s: there is no compiler '%s'; write nvrtc, nvcc or both", text,
                                 word);
        with[w] = true;
    }
    return 0;
}

/* Whether the unit's PTX serves devices that nothing else fits: it is of the kernel's newest architecture that others
 * may follow, one without a suffix. */
static bool serves_newer(const struct compile *c, const struct compile_unit *unit)
{
    struct tw_architecture_name own, other;
    if (tw_architecture_parse(unit->arch->name, &own) || own.suffix)
        return false;
    for (int i = 0; i < c->unit_count; i++)
        if (c->unit[i].kernel == unit->kernel && !tw_architecture_parse(c->unit[i].arch->name, &other) &&
            !other.suffix && other.number > own.number)
            return false;
    return true;
}

/* How it is built. */
struct build_how {
    bool with[COMPILE_WITH_COUNT];
    bool keep, no_ptx, lines;
    const char *folder, *depfile;
    const char *rules; /* for ninja, which are all that is written then */
};

/* Everything between the spec and the files. */
static int build(struct compile *c, const struct compile_choice *choice, const struct build_how *how,
                 struct file_set *files)
{
    const bool *with = how->with, keep = how->keep;
    struct tw_error error;
    int status = compile_units(c, choice);
    if (status || how->rules)
        return status;
    for (int i = 0; i < c->unit_count; i++) {
        c->unit[i].wanted = true;
        c->unit[i].newer = !how->no_ptx && serves_newer(c, &c->unit[i]);
        c->unit[i].line_info = how->lines;
        c->unit[i].outputs = keep || how->lines || c->unit[i].newer ? TW_OUTPUT_CUBIN | TW_OUTPUT_PTX : TW_OUTPUT_CUBIN;
    }
    for (int w = 0; w < COMPILE_WITH_COUNT; w++) {
        int result = with[w] ? compile_cubins(c, (enum compile_with)w) : 0;
        status = result > status ? result : status;
    }
    if (status)
        return status;
    enum compile_with best = with[COMPILE_NVRTC] ? COMPILE_NVRTC : COMPILE_NVCC;
    status = compile_outputs(c, best, how->folder, files);
    for (int i = 0; status == 0 && keep && i < c->unit_count; i++) {
        int result = compile_keep(c, &c->unit[i], best, how->folder, files, &error);
        if (result != TW_OK)
            status = compile_fail(c, result, &error);
    }
    return status;
}

int cmd_build(int argc, char **argv)
{
    struct compile_choice choice = {.kernel = NULL};
    const char *path, *compilers = "nvrtc";
    struct build_how how = {.keep = false};
    bool json = false, debug = false, python = false, torch = false, shared = false;
    uint64_t debug_timeout = DEBUG_NOT_GIVEN;
    int operands, debug_ms;
    const struct option_row rows[] = {
        {"-o", OPTION_TEXT, &how.folder, "DIR", "where to write; made where it is missing"},
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--with", OPTION_TEXT, &compilers, "nvrtc,nvcc", "which compilers; of both, nvrtc's cubins are kept"},
        {"--no-ptx", OPTION_FLAG, &how.no_ptx, NULL,
         "no PTX of the newest architecture without a suffix, which runs where no cubin does"},
        {"--lines", OPTION_FLAG, &how.lines, NULL,
         "cubins say which lines their instructions come from, for profilers; `run` on the emulator finds their PTX"},
        {"--keep", OPTION_FLAG, &how.keep, NULL, "leave PTX, cubin and (where a disassembler is found) SASS too"},
        {"--depfile", OPTION_TEXT, &how.depfile, "FILE", "a rule of what the outputs depend on, for ninja and make"},
        {"--ninja", OPTION_TEXT, &how.rules, "FILE", "write ninja's rules alone: an edge a kernel, with its depfile"},
        {"--python", OPTION_FLAG, &python, NULL, PYTHON_DOC},
        {"--torch", OPTION_FLAG, &torch, NULL, TORCH_DOC},
        {"--shared", OPTION_FLAG, &shared, NULL, SHARED_DOC},
        {"--json", OPTION_FLAG, &json, NULL, "the report as JSON"},
        {"--debug", OPTION_FLAG, &debug, NULL, DEBUG_DOC},
        {"--debug-timeout", OPTION_NUMBER, &debug_timeout, "MS", DEBUG_TIMEOUT_DOC},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("build", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("build", "which spec?");
    if (!how.folder || !*how.folder)
        return options_fault("build", "write into which folder? -o DIR");
    if (how.rules && how.keep)
        return options_fault("build", "--keep leaves files that --ninja does not know of; write one of them");
    if (shared && debug)
        return options_fault("build", SHARED_DEBUG);
    status = debug_options("build", debug, debug_timeout, &debug_ms);
    if (status >= 0)
        return status;
    status = read_with(compilers, how.with);
    if (status)
        return status;

    struct compile c;
    struct tw_error error;
    status = compile_open_as(&c, "build", path, json);
    c.debug_ms = debug_ms;
    c.python = compile_python(python, torch);
    c.share = shared;
    struct file_set files = {.rt = &c.rt};
    if (status == 0)
        status = build(&c, &choice, &how, &files);
    compile_report(&c);
    if (status == 0) {
        int result = how.rules     ? depends_ninja(&c, how.rules, how.folder, argc, argv, &files, &error)
                     : how.depfile ? depends_file(&c, how.depfile, &files, &error)
                                   : TW_OK;
        if (result == TW_OK)
            result = files_commit(&files, &error);
        if (result != TW_OK)
            status = compile_fail(&c, result, &error);
    }
    if (!json && c.unit_count && status != 2)
        print_table(&c, how.with);
    if (status == 0 && how.with[COMPILE_NVRTC] && how.with[COMPILE_NVCC])
        compare(&c);
    if (json)
        status = print_json(&c, how.with, status);
    files_free(&files);
    compile_close(&c);
    return status;
}
