/* What commands need to print JSON by hand. */
#ifndef TW_GEN_CMD_JSON_H
#define TW_GEN_CMD_JSON_H

#include <stdio.h>

/* A string with its quotes; control characters, quotes and backslashes escaped, other bytes as they are. NULL prints
   null. */
void json_text(FILE *out, const char *text);

/* One finding of the emulator, an object on stdout. */
struct emu_report;
void finding_json(const struct emu_report *report);

#endif
