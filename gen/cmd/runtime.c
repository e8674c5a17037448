/* tilewright runtime: the runtime as one C file and one header, for projects that compile it with their own. */
#include "cmd/cmd.h"
#include "common/files.h"
#include "common/options.h"
#include "common/tell.h"

/* What gen/emit/single.sh made when the program was built. */
extern const char single_source[], single_source_end[], single_header[], single_header_end[];

int cmd_runtime(int argc, char **argv)
{
    const char *folder = NULL, *none;
    bool json = false;
    const struct option_row rows[] = {
        {"-o", OPTION_TEXT, &folder, "DIR", "where to write; made where it is missing"},
        {"--json", OPTION_FLAG, &json, NULL, "faults as JSON: help json"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    struct tell tell;
    int operands, status = options_parse("runtime", rows, argc, argv, &none, 0, &operands);
    if (status >= 0)
        return status;
    if (!folder || !*folder)
        return options_fault("runtime", "write into which folder? -o DIR");
    status = tell_open(&tell, "runtime", json);
    if (status != 0)
        return status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return tell_close(&tell, tell_status(&tell, status, &error));
    struct file_set files = {.rt = &rt};
    status = files_add(&files, folder, "tilewright.c", single_source, (size_t)(single_source_end - single_source),
                       false, &error);
    if (status == TW_OK)
        status = files_add(&files, folder, "tilewright.h", single_header,
                           (size_t)(single_header_end - single_header), false, &error);
    if (status == TW_OK)
        status = files_commit(&files, &error);
    files_free(&files);
    tw_runtime_close(&rt);
    return tell_close(&tell, status == TW_OK ? 0 : tell_status(&tell, status, &error));
}
