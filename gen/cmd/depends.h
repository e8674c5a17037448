/* What the outputs of gen and build depend on, told to programs that run builds. */
#ifndef TW_GEN_CMD_DEPENDS_H
#define TW_GEN_CMD_DEPENDS_H

#include "compile/compile.h"

/* Adds a depfile at `path`, as make and ninja read it: the files of the set depend on every file that the spec read,
 * and on users' templates; a shared launcher depends on none, and is not in it. TW_OK or TW_ERROR_MEMORY. */
int depends_file(struct compile *c, const char *path, struct file_set *files, struct tw_error *error);

/* Adds ninja's rules at `path`, and at path.d what they depend on themselves: a kernel is an edge, of which the command
 * is this one, argv, for that kernel alone, and whose outputs are the files that it writes into `folder`. The units are
 * planned. TW_OK, TW_ERROR_MEMORY, or TW_ERROR_INVALID for a name that ninja cannot hold. */
int depends_ninja(struct compile *c, const char *path, const char *folder, int argc, char **argv,
                  struct file_set *files, struct tw_error *error);

#endif
