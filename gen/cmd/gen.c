/* tilewright gen: the generated files, all or none. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "cmd/depends.h"
#include "common/options.h"
#include "compile/compile.h"
#include "verify/debug.h"

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
    const char *path, *folder = NULL, *depfile = NULL, *rules = NULL;
    bool debug = false, json = false, python = false, torch = false, shared = false;
    uint64_t debug_timeout = DEBUG_NOT_GIVEN;
    int operands, debug_ms;
    const struct option_row rows[] = {
        {"-o", OPTION_TEXT, &folder, "DIR", "where to write; made where it is missing"},
        {"--arch", OPTION_TEXT, &choice.arch, "A,B", "these architectures alone"},
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "this kernel alone"},
        {"--depfile", OPTION_TEXT, &depfile, "FILE", "a rule of what the outputs depend on, for ninja and make"},
        {"--ninja", OPTION_TEXT, &rules, "FILE", "write ninja's rules alone: an edge a kernel, with its depfile"},
        {"--python", OPTION_FLAG, &python, NULL, PYTHON_DOC},
        {"--torch", OPTION_FLAG, &torch, NULL, TORCH_DOC},
        {"--shared", OPTION_FLAG, &shared, NULL, SHARED_DOC},
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
    if (shared && debug)
        return options_fault("gen", SHARED_DEBUG);
    status = debug_options("gen", debug, debug_timeout, &debug_ms);
    if (status >= 0)
        return status;

    struct compile c;
    struct tw_error error;
    status = compile_open_as(&c, "gen", path, json);
    c.debug_ms = debug_ms;
    c.python = compile_python(python, torch);
    c.share = shared;
    struct file_set files = {.rt = &c.rt};
    if (status == 0)
        status = compile_units(&c, &choice);
    if (status == 0 && !rules)
        status = compile_outputs(&c, COMPILE_WITH_COUNT, folder, &files);
    compile_report(&c);
    if (status == 0) {
        int result = rules     ? depends_ninja(&c, rules, folder, argc, argv, &files, &error)
                     : depfile ? depends_file(&c, depfile, &files, &error)
                               : TW_OK;
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
