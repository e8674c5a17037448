/* libFuzzer target of templates: any text as a user's template of a kernel with a ring and two tensors, expanded, its
   steps derived and proved. README.md says how to run it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "emit/emit.h"
#include "plan/plan.h"

static struct compile_tables template_tables;
static struct spec template_spec;
static struct diag_set template_read; /* has the text that the spec's places are in */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char folder[] = "/tmp/tilewright_fuzz_XXXXXX", path[128];
    (void)argc;
    (void)argv;
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/k.cu", folder);
    write_text(path, "\n");
    char text[128];
    snprintf(text, sizeof text, "%s/k.lua", folder);
    write_text(text, "local R, C = dims 'R C%8'\n"
                     "kernel 'k' { template = 'k.cu', x = tensor { R, C, dtype = 'bf16', tile = { 1, 1024 } },\n"
                     "  w = tensor { C, dtype = 'bf16' }, y = tensor { R, C, dtype = 'bf16', out = true },\n"
                     "  eps = scalar('fp32', 1e-5), rings = { { 'x', stages = 2 } }, grid = { R }, threads = 256,\n"
                     "  shared = 64, arch = { sm_90a = {} } }\n");
    compile_tables_fill(&template_tables);
    if (spec_read(text, &template_tables.options, &template_spec, &template_read) != 0) {
        diag_print(&template_read, stderr);
        abort();
    }
    unlink(path);
    unlink(text);
    rmdir(folder);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_set diags = {0};
    char *copy = malloc(size + 1), *text = NULL;
    size_t length = 0;
    if (!copy || memchr(data, 0, size)) { /* files with a zero byte are refused before */
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    copy[size] = 0;
    const struct emit_source source = {"k.cu", copy, size};
    const struct emit_options options = {.generator_version = 1,
                                         .line_directives = true,
                                         .source = &source,
                                         .source_count = 1,
                                         .instruction_limit = 200000};
    struct plan made = {0}, *p = &made;
    if (family_plan(&template_spec, &template_spec.kernel[0], arch_find("sm_90a"), 0, NULL, p, &diags) != 0)
        abort();
    p->template_name = "k.cu";
    int status = emit_steps(p->template_name, p, &options, &text, &length, &diags);
    if ((status != 0 && status != 1) || (status == 1) != (diags.errors > 0) || (status == 0) != (text != NULL))
        abort();
    if (text && strlen(text) != length)
        abort();
    free(text);
    plan_free(p);
    diag_free(&diags);
    free(copy);
    return 0;
}
