/* What --json prints: one object with what a command had to tell and its result, as `help json` describes it. */
#ifndef TW_GEN_COMMON_JSON_H
#define TW_GEN_COMMON_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json_object;

/* One thing told. What is NULL or 0 is not known, and null in the object. */
struct json_diagnostic {
    const char *severity; /* "error", "warning" or "note" */
    const char *text, *file, *kernel, *field, *rule;
    int line, column;
};

/* Appends it to a list; where there is no memory, not. */
void json_add_diagnostic(struct json_object *list, const struct json_diagnostic *diagnostic);

/* The same of a text whose end may name the rule: "... [TMA-SPAN]". */
void json_add_told(struct json_object *list, const struct json_diagnostic *diagnostic);

struct json_answer {
    const char *command, *spec;      /* spec: NULL where none is read */
    int status;                      /* the exit status */
    struct json_object *diagnostics; /* a list; NULL: nothing was told */
    struct json_object *result;      /* an object, whose members come behind; NULL: nothing */
    int pretty;                      /* over several lines; else it is one */
};

/* Prints it on stdout. Everything stays the caller's. Returns status, or 3 where there is no memory. */
int json_print(const struct json_answer *answer);

/* An object's member of each kind: a text (NULL: null), a whole number, a real one, whether something
 * is so. An object that is NULL, for
 * there was no memory, takes none. */
void json_add_text(struct json_object *object, const char *key, const char *text);
void json_add_number(struct json_object *object, const char *key, uint64_t number);
void json_add_real(struct json_object *object, const char *key, double number);    /* to six places */
void json_add_measure(struct json_object *object, const char *key, double number); /* to nine digits; null: infinite */
void json_add_truth(struct json_object *object, const char *key, int truth);

/* A string with its quotes, where JSON is printed without objects; control characters, quotes and backslashes escaped,
 * other bytes as they are. NULL prints null. */
void json_text(FILE *out, const char *text);

/* What a command that does not come to its result says: with json the object, whose one diagnostic is the text; else
 * "tilewright COMMAND: TEXT" on stderr. Returns status. */
int json_fault(int json, const char *command, int status, const char *text);

#endif
