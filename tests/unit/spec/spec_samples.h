/* For tests of the spec reader: a family and architectures of their own, texts as files, an allocator that fails once.
 */
#ifndef TW_TESTS_SPEC_SAMPLES_H
#define TW_TESTS_SPEC_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/check.h"
#include "unit/rounds.h"
#include "emit/embed.h"
#include "spec/sandbox.h"
#include "spec/spec.h"

static const char *const sample_families[] = {"gemm", NULL};
static const char *const sample_arches[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", NULL};
static const struct spec_options sample_options = {
    .arch = sample_arches, .library = emit_find_template, .library_family = sample_families};

/* A folder for the files of a test, made at first use; sample_remove takes it away. */
static char sample_folder[64];

static inline const char *sample_path(const char *name)
{
    static char path[4][256];
    static int turn;
    if (!*sample_folder) {
        strcpy(sample_folder, "/tmp/tilewright_spec_XXXXXX");
        assert_non_null(mkdtemp(sample_folder));
    }
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", sample_folder, name);
    return path[turn];
}

static inline const char *sample_write_bytes(const char *name, const char *bytes, size_t count)
{
    const char *path = sample_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline const char *sample_write(const char *name, const char *text)
{
    return sample_write_bytes(name, text, strlen(text));
}

static inline int sample_remove(void **state)
{
    char command[128];
    (void)state;
    if (!*sample_folder)
        return 0;
    snprintf(command, sizeof command, "rm -rf '%s'", sample_folder);
    *sample_folder = 0;
    return system(command);
}

/* What diag_print prints, with "FOLDER/" taken out. The caller frees it. */
static inline char *sample_print(const struct diag_set *diags)
{
    char *text = NULL, *at;
    size_t size = 0, n = strlen(sample_folder) + 1;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    diag_print(diags, f);
    fclose(f);
    while (n > 1 && (at = strstr(text, sample_folder)))
        memmove(at, at + n, strlen(at + n) + 1);
    return text;
}

/* Reads the text as spec.lua and compares all that is printed about it. */
static inline void sample_expect_faults(const char *text, const char *expected)
{
    struct spec spec;
    struct diag_set diags = {0};
    int status = spec_read(sample_write("spec.lua", text), &sample_options, &spec, &diags);
    char *printed = sample_print(&diags);
    assert_string_equal(printed, expected);
    assert_int_equal(status, *expected ? 1 : 0);
    free(printed);
    spec_free(&spec);
    diag_free(&diags);
}

/* Reads the text, which holds no fault. */
static inline void sample_read(const char *text, struct spec *spec, struct diag_set *diags)
{
    *diags = (struct diag_set){0};
    int status = spec_read(sample_write("spec.lua", text), &sample_options, spec, diags);
    if (status)
        diag_print(diags, stderr);
    assert_int_equal(status, 0);
}

#endif
