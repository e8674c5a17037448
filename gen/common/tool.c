#include "common/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "find_cuda.h"

extern char **environ;

int tool_make_folder(struct tw_runtime *rt, char folder[TOOL_FOLDER], struct tw_error *error)
{
    const char *base = tw_variable(rt, "TMPDIR");
    int length = snprintf(folder, TOOL_FOLDER, "%s/tilewright-XXXXXX", base ? base : "/tmp");
    if (length >= TOOL_FOLDER || !mkdtemp(folder)) {
        folder[0] = '\0';
        return tw_fail(error, TW_ERROR_FILE, "cannot make a temporary folder: %s", strerror(errno));
    }
    return TW_OK;
}

void tool_remove_folder(const char *folder)
{
    char path[TOOL_FOLDER + 256 + 2];
    DIR *list = folder[0] ? opendir(folder) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(path);
    }
    if (list)
        closedir(list);
    if (folder[0])
        rmdir(folder);
}

int tool_write_file(struct tw_runtime *rt, const char *path, const void *bytes, size_t count, struct tw_error *error)
{
    int file = rt->files.open(rt->files.self, path, O_WRONLY | O_CREAT | O_TRUNC, 0600), result = file;
    if (file >= 0) {
        result = tw_write_all(rt, file, bytes, count);
        int closed = rt->files.close(rt->files.self, file);
        result = result ? result : closed;
    }
    return result < 0 ? tw_fail(error, TW_ERROR_FILE, "cannot write %s: %s", path, strerror(-result)) : TW_OK;
}

int tool_run(char *const *arguments, const char *output, bool both, int *exit_status, struct tw_error *error)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int state, result = posix_spawn_file_actions_init(&actions);
    if (result)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (output)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    else
        posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (output && both)
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
    else if (output)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    result = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result)
        return tw_fail(error, TW_ERROR_NO_TOOL, "cannot run %s: %s", arguments[0], strerror(result));
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return tw_fail(error, TW_ERROR_FILE, "cannot wait for %s: %s", arguments[0], strerror(errno));
    *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return TW_OK;
}

static bool allowed(const struct tw_compile_request *request, const char *code)
{
    for (size_t i = 0; i < request->allow_count; i++)
        if (strcmp(request->allow[i], "all") == 0 || strcmp(request->allow[i], code) == 0)
            return true;
    return false;
}

static int check_messages(const struct tw_compile_request *request, const char *log, struct tw_error *error)
{
    struct tw_message message;
    const char *cursor = log;
    while (tw_next_message(&cursor, &message))
        if (message.is_error && !allowed(request, message.code))
            return tw_fail(error, TW_ERROR_COMPILE, "%.*s", (int)message.line_bytes, message.line);
    return TW_OK;
}

int tool_nvcc(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
              struct tw_error *error)
{
    enum { OPTIONS = 64 };
    char folder[256] = "", source[320], cubin[320], log[320], arch[64];
    char *path = NULL, *where = NULL;
    static char cubin_option[] = "--cubin", standard[] = "--std=c++17", output_option[] = "-o";
    static char listing[] = "-Xptxas=-v";
    char *arguments[OPTIONS + 10];
    unsigned char *text = NULL;
    size_t count = 0, n = 0;
    int exit_status = 0;
    double started = rt->process.now(rt->process.self);

    int status = tw_find_program(rt, "nvcc", &path, &where, error);
    if (status == TW_OK)
        status = tool_make_folder(rt, folder, error);
    if (status != TW_OK)
        goto end;
    snprintf(source, sizeof source, "%s/kernel.cu", folder);
    snprintf(cubin, sizeof cubin, "%s/kernel.cubin", folder);
    snprintf(log, sizeof log, "%s/output", folder);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", request->arch);
    status = tool_write_file(rt, source, request->source, request->source_bytes, error);
    if (status != TW_OK)
        goto end;
    arguments[n++] = path;
    arguments[n++] = cubin_option;
    arguments[n++] = arch;
    arguments[n++] = standard;
    arguments[n++] = listing;
    for (size_t i = 0; i < request->option_count && i < OPTIONS; i++)
        arguments[n++] = (char *)(uintptr_t)request->options[i];
    arguments[n++] = output_option;
    arguments[n++] = cubin;
    arguments[n++] = source;
    arguments[n] = NULL;
    status = tool_run(arguments, log, true, &exit_status, error);
    if (status != TW_OK)
        goto end;
    status = tw_read_file(rt, log, 0, &text, &count, error);
    if (status != TW_OK)
        goto end;
    out->log = (char *)text;
    if (exit_status) {
        status = tw_fail(error, TW_ERROR_COMPILE, "nvcc ended with status %d: %.900s", exit_status, out->log);
        goto end;
    }
    status = check_messages(request, out->log, error);
    if (status == TW_OK)
        status = tw_read_file(rt, cubin, 0, &out->cubin, &out->cubin_bytes, error);
    if (status == TW_OK)
        status = tw_cubin_info(out->cubin, out->cubin_bytes, request->entry, &out->info, error);
end:
    out->seconds = rt->process.now(rt->process.self) - started;
    tool_remove_folder(folder);
    tw_free(rt, path);
    tw_free(rt, where);
    return status;
}

int tool_disassemble(struct tw_runtime *rt, const void *cubin, size_t bytes, char **text, size_t *length,
                     struct tw_error *error)
{
    char folder[256] = "", input[320], output[320];
    char *path = NULL, *where = NULL;
    static char code_only[] = "-c", sass[] = "-sass";
    char *option = code_only;
    unsigned char *read = NULL;
    int exit_status = 0;

    *text = NULL;
    *length = 0;
    int status = tw_find_program(rt, "nvdisasm", &path, &where, error);
    if (status != TW_OK) {
        option = sass;
        status = tw_find_program(rt, "cuobjdump", &path, &where, error);
    }
    if (status == TW_OK)
        status = tool_make_folder(rt, folder, error);
    if (status != TW_OK)
        goto end;
    snprintf(input, sizeof input, "%s/kernel.cubin", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    status = tool_write_file(rt, input, cubin, bytes, error);
    if (status != TW_OK)
        goto end;
    status = tool_run((char *[]){path, option, input, NULL}, output, false, &exit_status, error);
    if (status == TW_OK && exit_status)
        status = tw_fail(error, TW_ERROR_NO_TOOL, "%s ended with status %d", path, exit_status);
    if (status == TW_OK)
        status = tw_read_file(rt, output, 0, &read, length, error);
    if (status == TW_OK)
        *text = (char *)read;
end:
    tool_remove_folder(folder);
    tw_free(rt, path);
    tw_free(rt, where);
    return status;
}
