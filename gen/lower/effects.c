/* Fields that say something of an architecture which nothing there reads. */
#include <stdio.h>
#include <string.h>

#include "lower/family.h"
#include "program/program.h"

/* Whether an architecture has what a field needs: the instructions of its row, or clusters. */
static bool has(const struct arch *arch, const char *needs)
{
    return strcmp(needs, "wgmma") == 0 ? arch->wgmma : strcmp(needs, "clusters") == 0 ? arch->clusters : !arch->wgmma;
}

/* Whether one of the kernel's architectures has it: then the kernel says it for that one. */
static bool any_has(const struct spec_kernel *kernel, const char *needs)
{
    for (int i = 0; arch_all[i]; i++) {
        bool named = kernel->arch_count == 0;
        for (int a = 0; a < kernel->arch_count; a++)
            named |= strcmp(kernel->arch[a].name, arch_all[i]->name) == 0;
        if (named && has(arch_all[i], needs))
            return true;
    }
    return false;
}

/* What `like` brings along from another kernel stands before this one. */
static bool is_own(const struct spec_kernel *kernel, struct diag_loc loc)
{
    return loc.line && loc.file == kernel->loc.file && loc.line >= kernel->loc.line;
}

static void check_fields(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    for (int f = 0; f < SPEC_FIELD_COUNT; f++) {
        const struct spec_row *row = &spec_rows[f];
        const struct spec_value *general = &kernel->fields.value[f];
        if (!row->needs[0] || has(arch, row->needs))
            continue;
        for (int a = 0; a < kernel->arch_count; a++)
            if (strcmp(kernel->arch[a].name, arch->name) == 0 && kernel->arch[a].fields.value[f].set)
                diag_report(diags, DIAG_ERROR, kernel->arch[a].fields.value[f].loc, kernel->name, row->path,
                            "FIELD-EFFECT", "nothing on %s reads it: it is about %s; take it out", arch->name,
                            row->needs);
        if (general->set && is_own(kernel, general->loc) && !any_has(kernel, row->needs))
            diag_report(diags, DIAG_ERROR, general->loc, kernel->name, row->path, "FIELD-EFFECT",
                        "nothing on %s reads it: it is about %s; take it out", arch->name, row->needs);
    }
}

static void check_clusters(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    const struct program *program = spec_program(kernel, arch->name), *general = kernel->program;
    for (int i = 0; program && i < program->axis_count && !arch->clusters; i++) {
        const struct program_axis *axis = &program->axis[i];
        const struct diag_loc loc = axis->cluster_loc, all = general->axis[i].cluster_loc;
        const bool of_all = loc.file == all.file && loc.line == all.line && loc.column == all.column;
        char field[64];
        if (axis->cluster <= 1 || !is_own(kernel, loc) || (of_all && any_has(kernel, "clusters")))
            continue;
        snprintf(field, sizeof field, "cluster.%.40s", axis->name);
        diag_report(diags, DIAG_ERROR, loc, kernel->name, field, "FIELD-EFFECT",
                    "%s has no clusters, a block there is alone; write 1", arch->name);
    }
}

int family_check_effects(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    const int before = diags->errors;
    check_fields(kernel, arch, diags);
    check_clusters(kernel, arch, diags);
    return diags->out_of_memory ? 3 : diags->errors > before;
}
