/* What commands need to print JSON by hand. */
#ifndef TW_GEN_COMMON_JSON_H
#define TW_GEN_COMMON_JSON_H

#include <stdio.h>

/* A string with its quotes; control characters, quotes and backslashes escaped, other bytes as they are. NULL prints
   null. */
void json_text(FILE *out, const char *text);

/* What a command that does not come to its result says: with json the object that `help json` describes, on stdout;
   else "tilewright COMMAND: TEXT" on stderr. Returns status. */
int json_fault(int json, const char *command, int status, const char *text);

#endif
