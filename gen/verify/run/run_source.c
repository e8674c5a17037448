/* A text in the place of the one that was emitted: a file by hand, or the emitted text with a bug planted. */
#include <stdio.h>
#include <string.h>

#include "spec/diag.h"
#include "verify/run/breaks.h"
#include "verify/run/run.h"

/* What the first line names is what runs: an option that names something else is refused. Exit status. */
static int check_banner(const struct run_options *o, const struct run_source *source)
{
    if (!arch_find(source->arch)) {
        fprintf(stderr, "tilewright run: %s:1: there is no architecture '%s'\n", o->source, source->arch);
        return 1;
    }
    if (o->kernel && strcmp(o->kernel, source->kernel) != 0)
        return options_fault("run", "--kernel %s: the first line of %s names kernel '%s'", o->kernel, o->source,
                             source->kernel);
    if (o->arch && strcmp(o->arch, source->arch) != 0)
        return options_fault("run", "--arch %s: the first line of %s names %s", o->arch, o->source, source->arch);
    return 0;
}

int run_source_read(struct run *run)
{
    struct run_source *source = &run->source;
    struct tw_error error;
    unsigned char *bytes;
    int generator;
    int status = tw_read_file(&run->compile.rt, run->options.source, (size_t)1 << 26, &bytes, &source->bytes, &error);
    if (status != TW_OK)
        return compile_fail(&run->compile, status, &error);
    source->text = (char *)bytes;
    /* "// tilewright 1: kernel NAME, entry ENTRY, arch sm_90a" */
    if (sscanf(source->text, "// tilewright %d: kernel %255[^, \n], entry %255[^, \n], arch %31[a-z0-9_]", &generator,
               source->kernel, source->entry, source->arch) == 4)
        return check_banner(&run->options, source);
    compile_say(&run->compile, DIAG_ERROR,
                "%s:1: the first line does not say which kernel this is; write '// tilewright 1: kernel NAME, entry "
                "ENTRY, arch sm_90a'",
                run->options.source);
    return 1;
}

/* Puts the text in the place of the unit's own; only that unit remains wanted. Takes the text. */
static void replace(struct run *run, struct compile_unit *unit, char *text, size_t bytes, const char *path)
{
    struct memory memory = {NULL, NULL};
    char *copy = memory_resize(&memory, NULL, 0, bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes + 1);
        memory_resize(&memory, unit->source, unit->source_bytes + 1, 0);
        unit->source = copy;
        unit->source_bytes = bytes;
        unit->source_path = path;
    }
    tw_free(&run->compile.rt, text);
    for (int i = 0; i < run->compile.unit_count; i++)
        run->compile.unit[i].wanted = &run->compile.unit[i] == unit && copy;
}

int run_source_replace(struct run *run)
{
    struct run_source *source = &run->source;
    for (int i = 0; i < run->compile.unit_count; i++)
        if (strcmp(run->compile.unit[i].plan.entry, source->entry) == 0) {
            replace(run, &run->compile.unit[i], source->text, source->bytes, run->options.source);
            source->text = NULL;
            return run->compile.unit[i].wanted ? 0 : 3;
        }
    compile_say(&run->compile, DIAG_ERROR, "%s:1: kernel '%s' has no entry '%s' for %s", run->options.source,
                source->kernel, source->entry, source->arch);
    return 1;
}

/* ---- planted bugs ------------------------------------------------------------------------------------------------ */

/* The row for the architecture that is asked for, else for the default one, else the name's first. */
static const struct break_row *find_row(const struct run_options *o, const char *default_arch)
{
    const struct break_row *row = break_find(o->bug, o->arch ? o->arch : default_arch);
    return row || o->arch ? row : break_find(o->bug, NULL);
}

int run_break_begin(struct run *run, const char *default_arch)
{
    struct run_options *o = &run->options;
    const struct spec *spec = &run->compile.spec;
    const char *name[256] = {NULL};
    run->bug = find_row(o, default_arch);
    if (!run->bug && break_find(o->bug, NULL))
        return options_fault("run", "--break %s: there is no such bug for %s; --break list lists them", o->bug,
                             o->arch);
    for (size_t i = 0; !run->bug && break_all[i].name && i < 255; i++)
        name[i] = break_all[i].name;
    if (!run->bug) {
        const char *near = diag_suggest(o->bug, name);
        return near ? options_fault("run", "--break %s: there is no such bug; did you mean '%s'?", o->bug, near)
                    : options_fault("run", "--break %s: there is no such bug; --break list lists them", o->bug);
    }
    if (!o->kernel && spec->kernel_count)
        o->kernel = spec->kernel[0].name;
    snprintf(run->source.arch, sizeof run->source.arch, "%s", run->bug->arch);
    o->inputs[INPUTS_INTEGER] = false;
    return 0;
}

int run_break_plant(struct run *run)
{
    struct compile *c = &run->compile;
    struct compile_unit *unit = NULL;
    struct tw_error error;
    char *text;
    for (int i = 0; i < c->unit_count && !unit; i++)
        if (strcmp(c->unit[i].plan.variant, run->bug->variant) == 0)
            unit = &c->unit[i];
    if (!unit)
        return options_fault("run", "--break %s: kernel '%s' has no variant '%s'", run->bug->name,
                             run->options.kernel, run->bug->variant);
    int status = break_apply(&c->rt, run->bug, unit->plan.entry, unit->source, &text, &error);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    snprintf(run->source.entry, sizeof run->source.entry, "%s.%s.cu", unit->plan.entry, unit->arch->name);
    if (!run->options.json) {
        printf("%s: %s\n%s, lines taken out and put in:\n", run->bug->name, run->bug->text, run->source.entry);
        break_print_edits(stdout, unit->source, text);
        printf("expected: %s\n", run->bug->hazard);
        fflush(stdout);
    }
    replace(run, unit, text, strlen(text), run->source.entry);
    return unit->wanted ? 0 : 3;
}

int run_break_end(const struct run *run)
{
    const int asked = run->options.completion;
    unsigned seen = 0, wanted = asked < RUN_ALL ? 1u << asked : (1u << RUN_COMPLETIONS) - 1;
    for (int i = 0; i < run->case_count; i++)
        for (int h = 0; h < run->cases[i].hazard_count; h++)
            if (strcmp(run->cases[i].hazard[h].name, run->bug->hazard) == 0)
                seen |= run->cases[i].hazard[h].completions;
    const bool found = asked == RUN_ALTERNATE ? seen != 0 : seen == wanted;
    if (!run->options.json)
        printf("%s %s as %s\n", found ? "found" : "NOT FOUND:", run->bug->name, run->bug->hazard);
    return !found;
}
