#include <string.h>

#include "cmd/cmd.h"

command_run *command_runner(const char *name)
{
    static const struct {
        const char *name;
        command_run *run;
    } all[] = {
#define COMMAND(name, usage, doc) {#name, cmd_##name},
#define COMMAND_AS(name, word, usage, doc) {word, cmd_##name},
#include "common/commands.def"
#undef COMMAND
#undef COMMAND_AS
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].run;
    return NULL;
}
