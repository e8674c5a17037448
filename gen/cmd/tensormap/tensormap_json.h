/* What the files of the tensormap command share: reading a call from a line of JSON or from words, and printing calls,
   maps and verdicts as JSON. */
#ifndef TW_GEN_CMD_TENSORMAP_TENSORMAP_JSON_H
#define TW_GEN_CMD_TENSORMAP_TENSORMAP_JSON_H

#include <stddef.h>

#include <json-c/json.h>

#include "tensormap/tensormap.h"

/* Why a text is no call, or no map. */
struct tensormap_fault {
    char text[512];
};

/* Write the reason and return -1. */
int tensormap_fail(struct tensormap_fault *fault, const char *format, ...) TW_PRINTF(2, 3);

/* Read the call in a zero-terminated line of the given length. Fields that are no argument are ignored. rest: NULL, and
   no argument may be missing; or where the line's object goes, which the caller puts, and then addr and l2 may be
   missing (0). Returns 0 or -1; *rest is NULL after -1. */
int tensormap_read_json(json_tokener *tokener, const char *line, size_t length, struct tw_tensormap_call *c,
                        json_object **rest, struct tensormap_fault *fault);

/* Read a call from words, name=value[,value...], and fill in what is left out: dense strides, element strides of 1, an
   address, 0. Returns 0 or -1. */
int tensormap_read_words(int count, char **words, struct tw_tensormap_call *c, struct tensormap_fault *fault);

/* To stdout, of what refuses the call: the ids of the rules, each once, as a list; their messages, one a line of a
   string. */
void tensormap_print_rules(const struct tw_tensormap_verdict *verdict);
void tensormap_print_messages(const struct tw_tensormap_call *c, int cc, const struct tw_tensormap_verdict *verdict);

/* The 256 hex digits, with a zero. */
void tensormap_map_text(const uint64_t map[16], char text[257]);

/* The call as an object, whose dtype is null where it is none; the findings as diagnostics of a line, 0 where there is
   none. */
json_object *tensormap_call_object(const struct tw_tensormap_call *c);
void tensormap_add_findings(json_object *diagnostics, const struct tw_tensormap_call *c, int cc,
                            const struct tw_tensormap_verdict *verdict, int line);

/* Print {"error":"..."} as a line on stdout. */
void tensormap_print_fault(const struct tensormap_fault *fault);

/* A line of stdin, which grows as it must. Zero-initialised is none; free(line.text). */
struct tensormap_line {
    char *text; /* zero-terminated, without its newline */
    size_t length, room;
    int newline; /* one followed */
};

enum { TENSORMAP_LINE_MOST = 16 << 20 };

/* Read the next line: 1; 0 at the end; -1 where stdin cannot be read, there is no memory or the line has more than
   TENSORMAP_LINE_MOST bytes, with a reason. */
int tensormap_next_line(struct tensormap_line *line, struct tensormap_fault *fault);

/* Say what the map in the hex digits of all texts means. Exit status. */
int tensormap_decode(int count, char **texts, int json);

/* Answer each line of stdin with what the load writes into shared memory. Exit status. */
int tensormap_load(json_tokener *tokener);

#endif
