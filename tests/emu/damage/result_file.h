/* What a run of a random test found, a file of tests/bench/results. What cannot be written fails the test (cmocka). */
#ifndef TW_TESTS_DAMAGE_RESULT_FILE_H
#define TW_TESTS_DAMAGE_RESULT_FILE_H

#include <stdint.h>

#include <json-c/json.h>

/* Who made it, what it is, the command, commit and machine that it is made by. */
struct json_object *result_begin(const char *made_by, const char *what, const char *command);
void result_text(struct json_object *o, const char *key, const char *text);
void result_number(struct json_object *o, const char *key, int64_t number);

/* Writes the file, and frees the record. */
void result_end(struct json_object *record, const char *path);

#endif
