/* What a command has to say of a spec beside its result: text on stderr, or objects for --json. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json.h"
#include "common/options.h"
#include "common/parallel.h"
#include "compile/compile.h"

static const char *const severities[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};

/* ---- objects: what help json describes -------------------------------------------------------------------------- */

int compile_as_json(struct compile *c)
{
    struct tw_error error;
    c->faults = json_object_new_array();
    return c->faults ? 0 : compile_fail(c, tw_fail(&error, TW_ERROR_MEMORY, "out of memory"), &error);
}

static void add_fault(const struct compile *c, const struct diag *d, const char *file)
{
    json_add_diagnostic(c->faults, &(struct json_diagnostic){.severity = severities[d->severity],
                                                             .text = d->text,
                                                             .file = file,
                                                             .kernel = d->kernel,
                                                             .field = d->field,
                                                             .rule = d->rule,
                                                             .line = d->loc.line,
                                                             .column = d->loc.column});
}

int compile_print_json(const struct compile *c, int status, json_object *more)
{
    if (options_answered())
        return status;
    return json_print(&(struct json_answer){.command = c->command,
                                            .spec = c->path,
                                            .status = status,
                                            .diagnostics = c->faults,
                                            .result = more,
                                            .pretty = 1});
}

void compile_free_faults(struct compile *c)
{
    json_object_put(c->faults);
    c->faults = NULL;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

void compile_say(const struct compile *c, enum diag_severity severity, const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    progress_clear();
    if (c->faults) {
        add_fault(c, &(struct diag){.severity = severity, .text = text}, NULL);
        return;
    }
    fprintf(stderr, "tilewright %s: %s%s\n", c->command, severity == DIAG_NOTE ? "note: " : "", text);
}

int compile_fail(const struct compile *c, int status, const struct tw_error *error)
{
    compile_say(c, DIAG_ERROR, "%s", error->text);
    return tw_status_exit(status);
}

void compile_report(struct compile *c)
{
    progress_clear();
    for (int i = 0; c->faults && i < c->diags.count; i++) {
        const struct diag *d = &c->diags.item[i];
        const bool known = d->loc.file >= 0 && d->loc.file < c->diags.source_count;
        struct diag note;
        add_fault(c, d, known ? c->diags.source[d->loc.file].name : NULL);
        if (diag_note(&c->diags, i, i + 1 < c->diags.count ? i + 1 : -1, &note))
            add_fault(c, &note, c->diags.source[note.loc.file].name);
    }
    if (!c->faults)
        diag_print(&c->diags, stderr);
    /* The sources stay: what is reported later refers to them. */
    c->diags.count = c->diags.errors = 0;
}
