/* A sink that writes JSON text: two spaces a level, keys in the order of the calls, lists of plain values on one line.
 * The same calls give the same bytes. */
#ifndef TW_GEN_PLAN_JSON_H
#define TW_GEN_PLAN_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/sink.h"

enum { JSON_MAX_DEPTH = 64 };

/* Zero-initialised is an empty text. */
struct json {
    char *text; /* zero-terminated where not NULL; the caller frees it */
    size_t length, capacity;
    int depth;
    struct {
        bool array, begun, broken; /* broken: its entries stand on lines of their own */
    } level[JSON_MAX_DEPTH];
    bool failed; /* out of memory, or nested too deep: the text is not whole */
};

struct sink json_sink(struct json *json); /* json must stay where it is */

/* Ends the text with a line feed and hands it over, or frees it. Returns 0, or -1 where it failed. */
int json_finish(struct json *json, char **text, size_t *length);

#endif
