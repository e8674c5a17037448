/* tilewright: finds the command and hands over. Nothing else in the program exits. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/options.h"
#include "spec/diag.h"
#include "version.h"

/* What the standard streams hold is part of the result: a full disk or a closed pipe under stdout is no success. */
static int finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("tilewright: cannot write to standard output\n", stderr);
        return status ? status : 3;
    }
    return status;
}

static int unknown(const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST];
    int count = 0;
    for (const struct command *c = command_all; c->name && count < MOST - 1; c++)
        names[count++] = c->name;
    names[count] = NULL;
    const char *near = diag_suggest(name, names);
    fprintf(stderr, "tilewright: unknown command '%s'; ", name);
    if (near)
        fprintf(stderr, "did you mean '%s'?\n", near);
    else
        fputs("'tilewright help' lists them\n", stderr);
    return 2;
}

/* A command is over soon: what it frees it needs again, and the kernel would clear those pages anew. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
#endif
}

int main(int argc, char **argv)
{
    static char help[] = "help";
    char *list[] = {help, NULL};

    keep_memory();
    if (argc < 2) {
        fputs("usage: tilewright COMMAND ...; 'tilewright help' lists the commands\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tilewright %s, generator %d\n", TW_VERSION, TW_GENERATOR);
        return finish(0);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return finish(cmd_help(1, list));
    command_run *run = command_runner(argv[1]);
    return run ? finish(run(argc - 1, argv + 1)) : unknown(argv[1]);
}
