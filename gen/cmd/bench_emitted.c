#include "cmd/bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit/embed.h"

extern char **environ;

static const char *const files[] = {"host.lua", "host.c"};
static const char *const kernels[] = {"case_000", "case_001", "case_001_programmatic"};

/* Runs a program with its output on stderr; its exit status, or -1. */
static int spawn(const char *const *argument)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    char **argv = (char **)(uintptr_t)argument; /* posix_spawnp does not write to it */
    if (!posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) &&
        !posix_spawnp(&child, argv[0], &actions, NULL, argv, environ)) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

static int write_file(const char *folder, const char *name)
{
    char path[512], within[64];
    const char *text;
    size_t length;
    snprintf(within, sizeof within, "bench/%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = emit_find_template(within, &text, &length) ? fopen(path, "wb") : NULL;
    if (!out)
        return 3;
    bool good = fwrite(text, 1, length, out) == length;
    return fclose(out) == 0 && good ? 0 : 3;
}

static int build(const char *folder, const char *library)
{
    char spec[512], include[512], glue[512], source[3][512];
    const char *compiler = getenv("CC");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (write_file(folder, files[i])) {
            fprintf(stderr, "tilewright bench: cannot write %s/%s\n", folder, files[i]);
            return 3;
        }
    snprintf(spec, sizeof spec, "%s/host.lua", folder);
    snprintf(include, sizeof include, "-I%s", folder);
    snprintf(glue, sizeof glue, "%s/host.c", folder);
    for (int i = 0; i < 3; i++)
        snprintf(source[i], sizeof source[i], "%s/%s.c", folder, kernels[i]);
    const char *const generate[] = {"/proc/self/exe", "build", spec, "-o", folder, "--arch", "sm_90a", NULL};
    const char *const compile[] = {compiler && *compiler ? compiler : "cc", "-O2",     "-shared", "-fPIC", include, glue,
                                   source[0],                               source[1], source[2], "-o",    library, "-ldl",
                                   NULL};
    if (spawn(generate)) {
        fprintf(stderr, "tilewright bench: the kernels of the benchmark do not build\n");
        return 3;
    }
    if (spawn(compile)) {
        fprintf(stderr, "tilewright bench: '%s' does not compile the emitted code; name a C compiler in CC\n", compile[0]);
        return 3;
    }
    return 0;
}

/* POSIX: a function's address has the representation of a void *. */
static int find(struct bench_emitted *e, const char *name, void *function)
{
    void *symbol = dlsym(e->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol ? 0 : 1;
}

static int load(struct bench_emitted *e, const char *library)
{
    e->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!e->library || find(e, "host_open", &e->open) || find(e, "host_close", &e->close) ||
        find(e, "host_prepared", &e->prepared) || find(e, "host_params_000", &e->params_000) ||
        find(e, "host_params_001", &e->params_001) || find(e, "host_params_001_strided", &e->params_001_strided) ||
        find(e, "host_launch", &e->launch) || find(e, "host_launch_programmatic", &e->launch_programmatic) ||
        find(e, "host_bare", &e->bare) || find(e, "host_bare_programmatic", &e->bare_programmatic)) {
        fprintf(stderr, "tilewright bench: the compiled benchmark does not load: %s\n", dlerror());
        return 3;
    }
    return 0;
}

static void remove_folder(const char *folder)
{
    const char *const clean[] = {"rm", "-rf", folder, NULL};
    spawn(clean);
}

int bench_emitted_open(struct bench_emitted *emitted)
{
    const char *temporary = getenv("TMPDIR");
    char folder[256], library[300];
    memset(emitted, 0, sizeof *emitted);
    int length = snprintf(folder, sizeof folder, "%s/tilewright-bench-XXXXXX",
                          temporary && *temporary ? temporary : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder)) {
        fprintf(stderr, "tilewright bench: no temporary folder: %s\n", strerror(errno));
        return 3;
    }
    snprintf(library, sizeof library, "%s/host.so", folder);
    int status = build(folder, library);
    if (!status)
        status = load(emitted, library);
    remove_folder(folder);
    if (status)
        bench_emitted_close(emitted);
    return status;
}

void bench_emitted_close(struct bench_emitted *emitted)
{
    if (emitted->library)
        dlclose(emitted->library);
    memset(emitted, 0, sizeof *emitted);
}
