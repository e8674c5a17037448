/* Commands of the shell, for tests that compile and run what was emitted. */
#ifndef TW_TESTS_SHELL_H
#define TW_TESTS_SHELL_H

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { SHELL_ROOM = 4096 };

/* Runs the command that the printf format gives, and leaves it in `command`; its status. */
static inline int shell_list(char command[SHELL_ROOM], const char *format, va_list list)
{
    int length = vsnprintf(command, SHELL_ROOM, format, list);
    assert_in_range(length, 1, SHELL_ROOM - 1);
    return system(command);
}

#endif
