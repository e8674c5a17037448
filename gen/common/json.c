#include "common/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

static void add_place(json_object *o, const char *key, int number)
{
    json_object_object_add(o, key, number ? json_object_new_int(number) : NULL);
}

void json_add_text(json_object *object, const char *key, const char *text)
{
    if (object)
        json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

void json_add_number(json_object *object, const char *key, uint64_t number)
{
    if (object)
        json_object_object_add(object, key, json_object_new_uint64(number));
}

void json_add_real(json_object *object, const char *key, double number)
{
    char text[400];
    snprintf(text, sizeof text, "%.6f", number);
    if (object)
        json_object_object_add(object, key, json_object_new_double_s(number, text));
}

void json_add_measure(json_object *object, const char *key, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", number);
    if (object)
        json_object_object_add(object, key, isfinite(number) ? json_object_new_double_s(number, text) : NULL);
}

void json_add_truth(json_object *object, const char *key, int truth)
{
    if (object)
        json_object_object_add(object, key, json_object_new_boolean(truth));
}

void json_add_diagnostic(json_object *list, const struct json_diagnostic *d)
{
    json_object *o = list ? json_object_new_object() : NULL;
    if (!o)
        return;
    json_add_text(o, "severity", d->severity);
    json_add_text(o, "text", d->text);
    json_add_text(o, "file", d->file);
    add_place(o, "line", d->line);
    add_place(o, "column", d->column);
    json_add_text(o, "kernel", d->kernel);
    json_add_text(o, "field", d->field);
    json_add_text(o, "rule", d->rule);
    json_object_array_add(list, o);
}

void json_add_told(json_object *list, const struct json_diagnostic *diagnostic)
{
    struct json_diagnostic d = *diagnostic;
    const char *bracket = strrchr(d.text, '[');
    size_t length = bracket ? strspn(bracket + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") : 0;
    char *plain = NULL, *rule = NULL;
    if (length && bracket > d.text && strcmp(bracket + 1 + length, "]") == 0) {
        plain = strndup(d.text, (size_t)(bracket - d.text) - (bracket[-1] == ' '));
        rule = strndup(bracket + 1, length);
    }
    if (plain && rule) {
        d.text = plain;
        d.rule = rule;
    }
    json_add_diagnostic(list, &d);
    free(plain);
    free(rule);
}

int json_print(const struct json_answer *answer)
{
    const int style = answer->pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN;
    json_object *o = json_object_new_object();
    if (!o) {
        fprintf(stderr, "tilewright %s: out of memory\n", answer->command);
        return 3;
    }
    json_add_text(o, "command", answer->command);
    if (answer->spec)
        json_add_text(o, "spec", answer->spec);
    json_object_object_add(o, "status", json_object_new_int(answer->status));
    json_object_object_add(o, "diagnostics",
                           answer->diagnostics ? json_object_get(answer->diagnostics) : json_object_new_array());
    if (answer->result) {
        json_object_object_foreach(answer->result, key, value) json_object_object_add(o, key, json_object_get(value));
    }
    puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE | style));
    json_object_put(o);
    return answer->status;
}

void json_text(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c == 127)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

int json_fault(int json, const char *command, int status, const char *text)
{
    if (!json) {
        fprintf(stderr, "tilewright %s: %s\n", command, text);
        return status;
    }
    json_object *list = json_object_new_array();
    json_add_diagnostic(list, &(struct json_diagnostic){.severity = "error", .text = text});
    status = json_print(&(struct json_answer){.command = command, .status = status, .diagnostics = list});
    json_object_put(list);
    return status;
}
