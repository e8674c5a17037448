/* The program's commands, one file each. argv[0] is the command's name, argv[argc] is NULL; the result is the exit
   status: 0 done and verified, 1 the input is at fault, 2 usage, 3 environment. Data goes to stdout, the rest to
   stderr. */
#ifndef TW_GEN_CMD_CMD_H
#define TW_GEN_CMD_CMD_H

#define COMMAND(name, usage, doc) int cmd_##name(int argc, char **argv);
#include "cmd/commands.def"
#undef COMMAND

/* One row of commands.def. */
struct command {
    const char *name, *usage, *doc;
    int (*run)(int argc, char **argv);
};

/* The table, ended by name == NULL, and its row of that name, or NULL. */
extern const struct command command_all[];
const struct command *command_find(const char *name);

#endif
