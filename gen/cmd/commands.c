#include <string.h>

#include "cmd/cmd.h"

const struct command command_all[] = {
#define COMMAND(name, usage, doc) {#name, usage, doc, cmd_##name},
#include "cmd/commands.def"
#undef COMMAND
    {NULL, NULL, NULL, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = command_all; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
