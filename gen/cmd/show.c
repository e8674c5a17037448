/* tilewright show: pictures of what is decided, in the terminal and as SVG. The verbs are those of show/. */
#include "show/show.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/options.h"

static void help(void)
{
    const struct command *command = command_find("show");
    printf("usage: tilewright show %s\n  %s\n", command->usage, command->doc);
#define VERB(name, usage, doc) printf("  show %s %s\n      %s\n", #name, usage, doc);
    SHOW_VERBS(VERB)
#undef VERB
    fputs("  'tilewright show VERB --help' lists its options\n", stdout);
}

int cmd_show(int argc, char **argv)
{
    static const char *const names[] = {
#define VERB(name, usage, doc) #name,
        SHOW_VERBS(VERB)
#undef VERB
            NULL};
    static int (*const run[])(int, char **) = {
#define VERB(name, usage, doc) show_##name,
        SHOW_VERBS(VERB)
#undef VERB
    };
    if (argc < 2)
        return options_fault("show", "what? write swizzle, smem or timeline");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help();
        return 0;
    }
    for (int i = 0; names[i]; i++)
        if (strcmp(argv[1], names[i]) == 0)
            return run[i](argc - 1, argv + 1);
    const char *near = diag_suggest(argv[1], names);
    if (near)
        return options_fault("show", "'%s' cannot be shown; did you mean '%s'?", argv[1], near);
    return options_fault("show", "'%s' cannot be shown; write swizzle, smem or timeline", argv[1]);
}
