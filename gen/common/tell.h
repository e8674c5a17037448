/* What a command tells beside its result: text on stderr, or under --json diagnostics in the object that it prints, and
 * the result beside them. */
#ifndef TW_GEN_COMMON_TELL_H
#define TW_GEN_COMMON_TELL_H

#include <stdbool.h>

#include "status.h"

struct json_object;

/* Zero-initialised but for command tells on stderr. */
struct tell {
    const char *command;
    struct json_object *diagnostics; /* NULL: text */
    struct json_object *result;      /* an object for the command to fill; NULL: text, on stdout */
};

/* Keeps what is told from here on, where json. 0, or 3 where there is no memory, which it has told. */
int tell_open(struct tell *tell, const char *command, bool json);

/* A fault: "tilewright COMMAND: TEXT"; a note: "tilewright COMMAND: note: TEXT". */
void tell_fault(const struct tell *tell, const char *format, ...) TW_PRINTF(2, 3);
void tell_note(const struct tell *tell, const char *format, ...) TW_PRINTF(2, 3);

/* The fault that a status stands for. Returns its exit status. */
int tell_status(const struct tell *tell, int status, const struct tw_error *error);

/* A fault of a file: "FILE:LINE: error: TEXT", line 0: of the file. */
void tell_file(const struct tell *tell, const char *file, unsigned long line, const char *format, ...) TW_PRINTF(4, 5);

/* Lines that say more of what was told, or what a compiler said: as they are; under --json a note. */
void tell_lines(const struct tell *tell, const char *lines);

/* Under --json prints the object, and frees it. Returns status, the command's. */
int tell_close(struct tell *tell, int status);

#endif
