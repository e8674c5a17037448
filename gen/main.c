/* tilewright: finds the command and hands over. Nothing else in the program exits. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* A command is over soon: what it frees it needs again, and the kernel would clear those pages anew. The first of its
 * memory comes in large pages where there are any, in a hundredth of the faults. The threads of a command that compiles
 * nothing share it: what they ask for are arenas' and pools' pieces, few and large. */
static void keep_memory(command_run *run)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    enum { FIRST = 12 << 20, LARGE_PAGE = 2 << 20 };
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (run == cmd_check || run == cmd_plan || run == cmd_gen)
        mallopt(M_ARENA_MAX, 1);
    char *first = malloc(FIRST);
    uintptr_t begin = ((uintptr_t)first + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    if (first)
        madvise(first + (begin - (uintptr_t)first), FIRST - LARGE_PAGE, MADV_HUGEPAGE);
    free(first);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
#else
    (void)run;
#endif
}

int main(int argc, char **argv)
{
    static char help[] = "help";
    char *list[] = {help, NULL};

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
    if (!run)
        return unknown(argv[1]);
    keep_memory(run);
    return finish(run(argc - 1, argv + 1));
}
