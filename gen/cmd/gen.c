/* tilewright gen: the generated files, all or none. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "compile/compile.h"
#include "verify/debug.h"

/* A word of a makefile: spaces and what make reads are escaped. */
static char *append_word(struct tw_runtime *rt, char *text, const char *before, const char *word)
{
    size_t length = strlen(text ? text : ""), extra = strlen(before) + 2 * strlen(word) + 1;
    char *grown = tw_realloc(rt, text, length + extra), *to;
    if (!grown) {
        tw_free(rt, text);
        return NULL;
    }
    to = grown + length;
    to += sprintf(to, "%s", before);
    for (; *word; word++) {
        if (*word == ' ' || *word == '#' || *word == '\\')
            *to++ = '\\';
        else if (*word == '$')
            *to++ = '$';
        *to++ = *word;
    }
    *to = '\0';
    return grown;
}

/* Adds a depfile: the files of the set depend on every file that the spec read, and on users' templates. */
static int add_depfile(struct compile *c, const char *path, struct file_set *files, struct tw_error *error)
{
    char *text = NULL;
    const char *before = "";
    for (size_t i = 0; i < files->count; i++) {
        text = append_word(&c->rt, text, before, files->entry[i].path);
        if (!text)
            goto fail;
        before = " ";
    }
    before = ": ";
    for (int i = 0; i < c->spec.dependency_count; i++) {
        text = append_word(&c->rt, text, before, c->spec.dependency[i]);
        if (!text)
            goto fail;
        before = " ";
    }
    for (int i = 0; i < c->spec.kernel_count; i++) {
        const char *name = c->spec.kernel[i].template_path;
        bool known = !name;
        for (int k = 0; k < c->spec.dependency_count && !known; k++)
            known = strcmp(c->spec.dependency[k], name) == 0;
        for (int k = 0; k < i && !known; k++)
            known = c->spec.kernel[k].template_path && strcmp(c->spec.kernel[k].template_path, name) == 0;
        if (known)
            continue;
        text = append_word(&c->rt, text, before, name);
        if (!text)
            goto fail;
    }
    text = append_word(&c->rt, text, "\n", "");
    if (text)
        return files_add(files, NULL, path, text, strlen(text), true, error);
fail:
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

static int report_json(const struct compile *c, const struct file_set *files, int status)
{
    json_object *list = json_object_new_array(), *more = json_object_new_object();
    for (size_t i = 0; status == 0 && list && i < files->count; i++)
        json_object_array_add(list, json_object_new_string(files->entry[i].path));
    json_object_object_add(more, "files", list);
    status = compile_print_json(c, status, more);
    json_object_put(more);
    return status;
}

int cmd_gen(int argc, char **argv)
{
    struct compile_choice choice = {.kernel = NULL};
    const char *path, *folder = NULL, *depfile = NULL;
    bool debug = false, json = false, python = false, torch = false;
    uint64_t debug_timeout = DEBUG_NOT_GIVEN;
    int operands, debug_ms;
    const struct option_row rows[] = {
        {"-o", OPTION_TEXT, &folder, "DIR", "where to write; made where it is missing"},
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--depfile", OPTION_TEXT, &depfile, "FILE", "a rule of what the outputs depend on, for ninja and make"},
        {"--python", OPTION_FLAG, &python, NULL, PYTHON_DOC},
        {"--torch", OPTION_FLAG, &torch, NULL, TORCH_DOC},
        {"--json", OPTION_FLAG, &json, NULL, "faults and files as JSON: help json"},
        {"--debug", OPTION_FLAG, &debug, NULL, DEBUG_DOC},
        {"--debug-timeout", OPTION_NUMBER, &debug_timeout, "MS", DEBUG_TIMEOUT_DOC},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("gen", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("gen", "which spec?");
    if (!folder || !*folder)
        return options_fault("gen", "write into which folder? -o DIR");
    status = debug_options("gen", debug, debug_timeout, &debug_ms);
    if (status >= 0)
        return status;

    struct compile c;
    struct tw_error error;
    status = compile_open_as(&c, "gen", path, json);
    c.debug_ms = debug_ms;
    c.python = compile_python(python, torch);
    struct file_set files = {.rt = &c.rt};
    if (status == 0)
        status = compile_units(&c, &choice);
    if (status == 0)
        status = compile_outputs(&c, COMPILE_WITH_COUNT, folder, &files);
    compile_report(&c);
    if (status == 0) {
        int result = depfile ? add_depfile(&c, depfile, &files, &error) : TW_OK;
        if (result == TW_OK)
            result = files_commit(&files, &error);
        if (result != TW_OK)
            status = compile_fail(&c, result, &error);
    }
    if (json)
        status = report_json(&c, &files, status);
    files_free(&files);
    compile_close(&c);
    return status;
}
