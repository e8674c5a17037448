/* Rows of kernels that differ in how they are set up, as rows of one kernel: what was a member of `setup` becomes the
 * problem, and what was the problem the kernel, so that what is shown has that member along it. */
#include "results/results.h"

#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

/* The member of a row's setup; NULL: it has none. */
static json_object *member_of(const struct results_row *row, const char *field)
{
    json_object *setup, *member;
    if (!json_object_object_get_ex(row->object, "setup", &setup) || !json_object_is_type(setup, json_type_object) ||
        !json_object_object_get_ex(setup, field, &member))
        return NULL;
    return member;
}

/* What stands beside each other: one problem on one GPU in one mode and run. */
static bool beside(const struct results_row *a, const struct results_row *b)
{
    return strcmp(a->size, b->size) == 0 && strcmp(a->gpu, b->gpu) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->run, b->run) == 0;
}

/* "tilewright", and the setup's other members: what tells rows of one value apart. */
static void name_setup(const struct results_row *row, const char *field, char *out, size_t size)
{
    json_object *setup = NULL;
    int at = snprintf(out, size, "%s", row->backend);
    json_object_object_get_ex(row->object, "setup", &setup);
    json_object_object_foreach(setup, name, value)
    {
        if (strcmp(name, field) != 0 && at >= 0 && (size_t)at < size)
            at += snprintf(out + at, size - (size_t)at, " %s %s", name, json_object_get_string(value));
    }
}

/* The row under its new names. False: no memory. */
static bool add(json_object *list, const struct results_row *row, const char *backend, const char *field,
                json_object *value)
{
    json_object *copy = NULL, *size = json_object_new_object();
    if (!size || json_object_deep_copy(row->object, &copy, NULL) != 0) {
        json_object_put(size);
        return false;
    }
    json_object_object_add(size, field, json_object_get(value));
    json_object_object_add(copy, "problem_size", size);
    json_object_object_add(copy, "kernel", json_object_new_string(row->size));
    json_object_object_add(copy, "backend", json_object_new_string(backend));
    return json_object_array_add(list, copy) == 0;
}

/* A row without a setup stands beside every value: a kernel of this program's by its name, as a peer. */
static bool repeat(const struct results *from, const struct results_row *row, const char *field, json_object *list)
{
    const char *backend = results_ours(row->backend) ? row->kernel : row->backend;
    for (size_t i = 0; i < from->count; i++) {
        json_object *value = member_of(&from->row[i], field);
        bool first = value && beside(&from->row[i], row);
        for (size_t k = 0; k < i && first; k++) {
            json_object *before = member_of(&from->row[k], field);
            first = !(before && beside(&from->row[k], row) && json_object_equal(before, value));
        }
        if (first && !add(list, row, backend, field, value))
            return false;
    }
    return true;
}

int results_over(const struct results *from, const char *field, struct results *to, const struct tell *tell)
{
    json_object *list = json_object_new_array();
    bool fine = list != NULL, any = false;
    for (size_t i = 0; i < from->count && fine; i++) {
        const struct results_row *row = &from->row[i];
        json_object *value = member_of(row, field);
        char backend[256];
        any = any || value;
        if (value) {
            name_setup(row, field, backend, sizeof backend);
            fine = add(list, row, backend, field, value);
        } else if (!json_object_is_type(json_object_object_get(row->object, "setup"), json_type_object)) {
            fine = repeat(from, row, field, list);
        }
    }
    const char *text = fine && any ? json_object_to_json_string(list) : NULL;
    int status = 3;
    if (fine && !any) {
        tell_fault(tell, "--over %s: no row has it in its setup", field);
        status = 1;
    } else if (!text) {
        tell_fault(tell, "out of memory");
    } else {
        status = results_parse(to, from->row[0].file, text, strlen(text), tell);
    }
    json_object_put(list);
    return status;
}
