/* tilewright help: the commands, one command's usage, or the fields of a spec out of the schema table. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/compile.h"
#include "cmd/options.h"
#include "version.h"

static void list(void)
{
    printf("tilewright %s: Lua specs of tiles and swizzles to CUDA kernels and the C code that launches them\n\n",
           TW_VERSION);
    for (const struct command *c = command_all; c->name; c++)
        printf("  tilewright %s %s\n      %s\n", c->name, c->usage, c->doc);
    fputs("  tilewright --version\n\n"
          "Every command has --help. Diagnostics go to standard error, data to standard output.\n"
          "Exit status: 0 done and verified, 1 the input is at fault, 2 usage, 3 environment.\n",
          stdout);
}

int cmd_help(int argc, char **argv)
{
    bool luacats = false;
    const char *topic = NULL;
    int topics = 0;
    const struct option_row rows[] = {
        {"--luacats", OPTION_FLAG, &luacats, NULL, "the spec language as a LuaCATS file, for completion in editors"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("help", rows, argc, argv, &topic, 1, &topics);
    if (status >= 0)
        return status;
    if (luacats && topics && strcmp(topic, "spec") != 0)
        return options_fault("help", "--luacats goes with 'spec' alone");
    if (luacats || (topics && strcmp(topic, "spec") == 0)) {
        struct compile_tables tables;
        compile_tables_fill(&tables);
        if (luacats)
            spec_print_luacats(stdout, &tables.options);
        else
            spec_print_help(stdout, &tables.options);
        return 0;
    }
    if (!topics) {
        list();
        return 0;
    }
    const struct command *command = command_find(topic);
    if (!command && strcmp(topic, "luacats") == 0)
        return options_fault("help", "there is no command 'luacats'; did you mean 'help --luacats'?");
    if (!command)
        return options_fault("help", "there is no command '%s'", topic);
    char name[32], option[] = "--help";
    snprintf(name, sizeof name, "%s", command->name);
    char *arguments[] = {name, option, NULL};
    return command->run(2, arguments);
}
