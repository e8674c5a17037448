/* libFuzzer target of specs: any text as a Lua spec, through the sandbox with its limits on memory and instructions.
   README.md says how to run it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emit/embed.h"
#include "program/program.h"
#include "spec/diag.h"
#include "spec/spec.h"

static const char *const spec_arches[] = {"sm_80", "sm_90a", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_options options = {
        .arch = spec_arches, .library = emit_find_template, .memory_limit = 8 << 20, .instruction_limit = 100000};
    struct spec spec;
    struct diag_set diags = {0};
    char path[64], *printed = NULL;
    size_t printed_bytes = 0;
    int file = memfd_create("spec.lua", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int status = spec_read(path, &options, &spec, &diags);
    if (status != 0 && status != 1 && status != 3)
        abort();
    if (status == 1 && !diags.errors)
        abort();
    for (int k = 0; status == 0 && k < spec.kernel_count; k++)
        for (int a = 0; a < 2; a++) {
            struct spec_fields merged;
            spec_merge(&spec.kernel[k], spec_arches[a], &merged);
        }
    FILE *out = open_memstream(&printed, &printed_bytes);
    if (!out)
        abort();
    for (int k = 0; status == 0 && k < spec.kernel_count; k++)
        if (spec.kernel[k].program)
            program_print(spec.kernel[k].program, &spec, &spec.kernel[k], out);
    diag_print(&diags, out);
    fclose(out);
    if (status == 1 && !printed_bytes)
        abort();
    free(printed);
    spec_free(&spec);
    diag_free(&diags);
    close(file);
    return 0;
}
