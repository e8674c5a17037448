/* The program's commands, one file each. argv[0] is the command's name, argv[argc] is NULL; the result is the exit
   status: 0 done and verified, 1 the input is at fault, 2 usage, 3 environment. Data goes to stdout, the rest to
   stderr. */
#ifndef TW_GEN_CMD_CMD_H
#define TW_GEN_CMD_CMD_H

#define COMMAND(name, usage, doc) int cmd_##name(int argc, char **argv);
#define COMMAND_AS(name, word, usage, doc) COMMAND(name, usage, doc)
#include "common/commands.def"
#undef COMMAND
#undef COMMAND_AS

/* What runs the command of that name, or NULL. */
typedef int command_run(int argc, char **argv);
command_run *command_runner(const char *name);

#endif
