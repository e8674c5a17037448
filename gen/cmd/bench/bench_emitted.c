#include "cmd/bench/bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/tool.h"
#include "emit/embed.h"

static const char *const files[] = {"host.lua", "host.c"};
static const char *const kernels[] = {"case_000", "case_001", "case_001_programmatic"};

/* Runs a program with its output on stderr. TW_ERROR_COMPILE where it fails. */
static int run(const char *const *argument, struct tw_error *error)
{
    int exit_status = 0;
    /* posix_spawn does not write to its arguments */
    int status = tool_run((char *const *)(uintptr_t)argument, NULL, true, &exit_status, error);
    return status == TW_OK && exit_status ? tw_fail(error, TW_ERROR_COMPILE, "%s fails", argument[0]) : status;
}

static int build(struct tw_runtime *rt, const char *folder, const char *library, struct tw_error *error)
{
    char path[2][512], include[512], source[3][512], within[64];
    const char *compiler = tw_variable(rt, "CC");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *text;
        size_t length;
        snprintf(within, sizeof within, "bench/%s", files[i]);
        snprintf(path[i], sizeof path[i], "%s/%s", folder, files[i]);
        if (!emit_find_template(within, &text, &length))
            return tw_fail(error, TW_ERROR_NOT_FOUND, "the program holds no %s", within);
        int status = tool_write_file(rt, path[i], text, length, error);
        if (status != TW_OK)
            return status;
    }
    snprintf(include, sizeof include, "-I%s", folder);
    for (int i = 0; i < 3; i++)
        snprintf(source[i], sizeof source[i], "%s/%s.c", folder, kernels[i]);
    const char *const generate[] = {"/proc/self/exe", "build", path[0], "-o", folder, "--arch", "sm_90a", NULL};
    const char *const compile[] = {compiler ? compiler : "cc", "-O2",     "-shared", "-fPIC", include, path[1],
                                   source[0],                  source[1], source[2], "-o",    library, "-ldl",
                                   NULL};
    int status = run(generate, error);
    return status == TW_OK ? run(compile, error) : status;
}

/* POSIX: a function's address has the representation of a void *. */
static int find(struct bench_emitted *e, const char *name, void *function)
{
    void *symbol = dlsym(e->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol ? 0 : 1;
}

static int load(struct bench_emitted *e, const char *library, struct tw_error *error)
{
    e->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!e->library || find(e, "host_open", &e->open) || find(e, "host_close", &e->close) ||
        find(e, "host_prepared", &e->prepared) || find(e, "host_params_000", &e->params_000) ||
        find(e, "host_params_001", &e->params_001) || find(e, "host_params_001_strided", &e->params_001_strided) ||
        find(e, "host_launch", &e->launch) || find(e, "host_launch_programmatic", &e->launch_programmatic) ||
        find(e, "host_bare", &e->bare) || find(e, "host_bare_programmatic", &e->bare_programmatic))
        return tw_fail(error, TW_ERROR_FILE, "the compiled benchmark does not load: %s", dlerror());
    return TW_OK;
}

int bench_emitted_open(struct tw_runtime *rt, struct bench_emitted *emitted, struct tw_error *error)
{
    char folder[TOOL_FOLDER], library[300];
    memset(emitted, 0, sizeof *emitted);
    int status = tool_make_folder(rt, folder, error);
    snprintf(library, sizeof library, "%s/host.so", folder);
    if (status == TW_OK)
        status = build(rt, folder, library, error);
    if (status == TW_OK)
        status = load(emitted, library, error);
    tool_remove_folder(folder);
    if (status != TW_OK)
        bench_emitted_close(emitted);
    return status;
}

void bench_emitted_close(struct bench_emitted *emitted)
{
    if (emitted->library)
        dlclose(emitted->library);
    memset(emitted, 0, sizeof *emitted);
}
