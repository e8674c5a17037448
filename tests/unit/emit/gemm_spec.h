/* The GEMM that ships, as a test reads it: specs/gemm.lua, Plans of its kernels, their texts. Tests that include this
 * run in the repository's folder, with read_spec and free_spec around them. */
#ifndef TW_TESTS_UNIT_GEMM_SPEC_H
#define TW_TESTS_UNIT_GEMM_SPEC_H

#include "unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "emit/shelf.h"

static struct compile_tables tables;
static struct spec spec;
static struct diag_set spec_diags;

static inline int read_spec(void **state)
{
    (void)state;
    compile_tables_fill(&tables);
    int status = spec_read("specs/gemm.lua", &tables.options, &spec, &spec_diags);
    diag_print(&spec_diags, stderr);
    return status;
}

static inline int free_spec(void **state)
{
    (void)state;
    spec_free(&spec);
    diag_free(&spec_diags);
    return 0;
}

/* What a set says, one fault a line; the caller frees it. Empties the set. */
static inline char *texts(struct diag_set *diags)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    for (int i = 0; i < diags->count; i++)
        diag_print_one(diags, i, out);
    fclose(out);
    diag_free(diags);
    return text;
}

/* The Plan of a kernel as the program makes it, without a fault; plan_free is due. */
static inline void good_plan(struct plan *p, const char *kernel, const char *arch, int variant)
{
    const struct spec_kernel *k = NULL;
    for (int i = 0; i < spec.kernel_count; i++)
        if (strcmp(spec.kernel[i].name, kernel) == 0)
            k = &spec.kernel[i];
    assert_non_null(k);
    struct diag_set diags = {0};
    int status = family_plan(&spec, k, arch_find(arch), variant, NULL, p, &diags);
    char *text = texts(&diags);
    assert_string_equal(text, "");
    assert_int_equal(status, 0);
    free(text);
}

enum { PRODUCER, CONSUMER, BLOCK = 0 }; /* roles of the wgmma Plan, the one of the mma.sync Plan */

/* Position of the n-th step (from 1) of a role that has this call. */
static inline int at(const struct plan *p, int role, const char *call, int n)
{
    for (int i = 0; i < p->role[role].step_count; i++)
        if (p->role[role].step[i].call && strcmp(p->role[role].step[i].call, call) == 0 && --n == 0)
            return i;
    fail_msg("role %s has no such step %s", p->role[role].name, call);
    return -1;
}

static inline struct plan_step *step(struct plan *p, int role, const char *call, int n)
{
    return &p->role[role].step[at(p, role, call, n)];
}

/* Templates that were read once, where a test wants that: it opens and closes it. */
static struct shelf *gemm_shelf;

/* The text by the shipped template, or by template_text in its place; NULL where diags has a fault. */
static inline char *emit(const struct plan *p, const char *template_text, struct diag_set *diags)
{
    const struct emit_source source = {p->template_name, template_text, template_text ? strlen(template_text) : 0};
    const struct emit_options options = {.generator_version = 1,
                                         .line_directives = true,
                                         .source = &source,
                                         .source_count = template_text != NULL,
                                         .shelf = gemm_shelf};
    char *text = NULL;
    size_t length = 0;
    int status = emit_template(p->template_name, p, &options, &text, &length, diags);
    assert_int_equal(status, diags->errors > 0);
    assert_true((text != NULL) == (status == 0));
    return text;
}

#endif
