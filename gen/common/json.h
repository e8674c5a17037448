/* What commands need to print JSON by hand. */
#ifndef TW_GEN_COMMON_JSON_H
#define TW_GEN_COMMON_JSON_H

#include <stdio.h>

/* A string with its quotes; control characters, quotes and backslashes escaped, other bytes as they are. NULL prints
   null. */
void json_text(FILE *out, const char *text);

#endif
