/* What there is: architectures and families for the spec's reader, and a kernel's architectures. */
#include "compile/compile.h"

#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "emit/embed.h"

void compile_tables_fill(struct compile_tables *tables)
{
    int architectures = 0, unnamed = 0, like = 0, modules = 0;
    memset(tables, 0, sizeof *tables);
    while (architectures < COMPILE_ARCHITECTURES && arch_all[architectures]) {
        tables->arch[architectures] = arch_all[architectures]->name;
        tables->arch_dots[architectures] =
            arch_multiplied(arch_all[architectures], ", ", tables->dots[architectures], sizeof *tables->dots);
        if (!arch_all[architectures]->on_request)
            tables->arch_unnamed[unnamed++] = arch_all[architectures]->name;
        if (arch_all[architectures]->like) {
            tables->arch_like[like++] = arch_all[architectures]->name;
            tables->arch_like[like++] = arch_all[architectures]->like;
        }
        architectures++;
    }
    tables->options.arch = tables->arch;
    tables->options.arch_unnamed = tables->arch_unnamed;
    tables->options.arch_like = tables->arch_like;
    tables->options.arch_dots = tables->arch_dots;
    tables->options.library = emit_find_template;
    tables->options.library_family = tables->library;
    for (const struct emit_embedded *f = emit_embedded; f->name && modules < COMPILE_FAMILIES; f++) {
        size_t length = strlen(f->name);
        bool module = strncmp(f->name, "lib/", 4) == 0 && length > 8 && strcmp(f->name + length - 4, ".lua") == 0;
        if (!module || !strstr(f->begin, "\nreturn {")) /* what is no table makes kernels, and is no family */
            continue;
        char *name = tables->library_text[modules];
        snprintf(name, sizeof tables->library_text[modules], "%.*s", (int)length - 8, f->name + 4);
        tables->library[modules++] = name;
    }
}

/* Whether the kernel can run there, where its spec names no architectures: rings are filled by bulk tensor copies. */
static bool kernel_fits(const struct spec_kernel *kernel, const struct arch *arch)
{
    return kernel->family || kernel->ring_count == 0 || arch->tma;
}

int compile_architectures(const struct spec_kernel *kernel, const char *asked,
                          const struct arch *out[COMPILE_ARCHITECTURES])
{
    int count = 0;
    for (int i = 0; arch_all[i] && count < COMPILE_ARCHITECTURES; i++) {
        const bool wanted = !arch_all[i]->on_request || (asked && options_listed(asked, arch_all[i]->name));
        const char *named = spec_named(kernel, arch_all[i]->name);
        bool listed = kernel->arch_count == 0 && wanted && kernel_fits(kernel, arch_all[i]);
        struct spec_fields fields;
        spec_merge(kernel, arch_all[i]->name, &fields);
        const bool by_name = fields.value[FIELD_ASKED].set && fields.value[FIELD_ASKED].integer;
        named = named && (wanted || strcmp(named, arch_all[i]->name) == 0) ? named : NULL;
        if ((listed || named) && (!by_name || (asked && options_listed(asked, arch_all[i]->name))))
            out[count++] = arch_all[i];
    }
    return count;
}
