#include "results/results.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "results/results_internal.h"

enum {
    FILE_MOST = 64 << 20, /* bytes */
    ROWS_MOST = 100000,
    TOLD_MOST = 20,  /* rows that faults are told of */
    TEXT_MOST = 200, /* characters of a member that is a text */
    SIZES_MOST = 32, /* members of a problem_size */
    DEPTH_MOST = 32
};

bool results_ours(const char *backend)
{
    static const char own[] = "tilewright";
    size_t length = sizeof own - 1;
    if (strncmp(backend, own, length) != 0)
        return false;
    char next = backend[length];
    return !((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9'));
}

/* A row that is being read: what is wrong with it comes with its place. */
struct reader {
    struct results *results;
    const struct tell *tell;
    const char *path;
    int number;
    json_object *object;
    bool wrong;
};

static void TW_PRINTF(2, 3) fault(struct reader *r, const char *format, ...)
{
    char text[600];
    const char *kernel = NULL, *backend = NULL;
    json_object *member;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    r->wrong = true;
    if (r->object && json_object_is_type(r->object, json_type_object)) {
        if (json_object_object_get_ex(r->object, "kernel", &member) && json_object_is_type(member, json_type_string))
            kernel = json_object_get_string(member);
        if (json_object_object_get_ex(r->object, "backend", &member) && json_object_is_type(member, json_type_string))
            backend = json_object_get_string(member);
    }
    if (kernel && backend)
        tell_file(r->tell, r->path, 0, "row %d (%.80s, %.80s): %s", r->number, kernel, backend, text);
    else
        tell_file(r->tell, r->path, 0, "row %d: %s", r->number, text);
}

/* A member that is there; null is not. */
static json_object *member_of(const struct reader *r, const char *key)
{
    json_object *member;
    return json_object_object_get_ex(r->object, key, &member) ? member : NULL;
}

/* Whether pages and pictures can hold it: no control character, not empty, not long. */
static bool plain(const char *text, int length)
{
    for (int i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return false;
    return length > 0 && length <= TEXT_MOST;
}

static const char *read_text(struct reader *r, const char *key, const char *write)
{
    json_object *member = member_of(r, key);
    bool is_text = member && json_object_is_type(member, json_type_string);
    if (!member) {
        fault(r, "no %s; write %s", key, write);
        return NULL;
    }
    /* Runs are numbered, too. */
    if (!is_text && !(strcmp(key, "run") == 0 && json_object_is_type(member, json_type_int))) {
        fault(r, "%s is no text; write %s", key, write);
        return NULL;
    }
    const char *text = json_object_get_string(member);
    if (is_text && !plain(text, json_object_get_string_len(member))) {
        fault(r, "%s is empty, longer than %d bytes or has control characters; write %s", key, TEXT_MOST, write);
        return NULL;
    }
    return text;
}

/* A number that was measured; 0 where there is none, which is a fault where `needed`. */
static double read_measure(struct reader *r, const char *key, bool needed, const char *write)
{
    json_object *member = member_of(r, key);
    if (!member) {
        if (needed)
            fault(r, "no %s; write %s", key, write);
        return 0;
    }
    if (!json_object_is_type(member, json_type_double) && !json_object_is_type(member, json_type_int)) {
        fault(r, "%s is no number; write %s", key, write);
        return 0;
    }
    const double most = 1e12, least = 1e-9; /* what pictures can hold, and more than clocks tell */
    double value = json_object_get_double(member);
    if (!isfinite(value) || value > most || value < 0 || (value == 0 && needed) || (value > 0 && value < least)) {
        fault(r, "%s is %s, which nothing measures; %s%s", key, json_object_get_string(member),
              needed ? "measure again, or leave the row out: " : "leave it out, or write ", write);
        return 0;
    }
    return value;
}

static void read_times(struct reader *r, struct results_row *row)
{
    const double slack = 1 + 1e-6; /* what writing nine digits takes */
    row->latency = read_measure(r, "latency_ms", true, "milliseconds, the median");
    if (row->latency == 0 && member_of(r, "latency_ns"))
        fault(r, "latency_ns is there: rows of host times are not joined; write latency_ms, a millionth of it");
    row->least = read_measure(r, "latency_min_ms", false, "milliseconds, the least");
    row->most = read_measure(r, "latency_max_ms", false, "milliseconds, the most");
    row->tflops = read_measure(r, "tflops", false, "TFLOP/s");
    row->gbs = read_measure(r, "gbs", false, "GB/s");
    row->told = read_measure(r, "ratio", false, "the best peer's latency divided by this row's");
    if (row->latency > 0 && row->least > row->latency * slack)
        fault(r, "latency_min_ms %g is above latency_ms %g; write the least of what the median is of", row->least,
              row->latency);
    if (row->latency > 0 && row->most > 0 && row->most * slack < row->latency)
        fault(r, "latency_max_ms %g is below latency_ms %g; write the most of what the median is of", row->most,
              row->latency);
}

struct part {
    const char *name, *value;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct part *)a)->name, ((const struct part *)b)->name);
}

/* Parts with something between them; `named`: "M=512". NULL: no memory. */
static char *join(struct tw_runtime *rt, const struct part *part, int count, const char *between, bool names,
                  bool values)
{
    size_t length = 1;
    for (int i = 0; i < count; i++)
        length += strlen(between) + strlen(part[i].name) + strlen(part[i].value) + 1;
    char *text = tw_alloc(rt, length), *at = text;
    if (!text)
        return NULL;
    *at = '\0';
    for (int i = 0; i < count; i++)
        at += snprintf(at, length - (size_t)(at - text), "%s%s%s%s", i ? between : "", names ? part[i].name : "",
                       names && values ? "=" : "", values ? part[i].value : "");
    return text;
}

/* {"M": 512, "causal": true}, or a text. A status. */
static int read_size(struct reader *r, struct results_row *row, struct tw_error *error)
{
    static const char write[] = "{\"M\": 512, \"N\": 512}, or a text";
    json_object *size = member_of(r, "problem_size");
    struct tw_runtime *rt = r->results->rt;
    struct part part[SIZES_MOST];
    int count = 0;
    if (!size || json_object_is_type(size, json_type_string)) {
        const char *text = read_text(r, "problem_size", write);
        part[count++] = (struct part){"", text ? text : ""};
    } else if (!json_object_is_type(size, json_type_object) || json_object_object_length(size) < 1 ||
               json_object_object_length(size) > SIZES_MOST) {
        fault(r, "problem_size is no object of 1 to %d sizes; write %s", SIZES_MOST, write);
    } else {
        json_object_object_foreach(size, name, value)
        {
            bool known = json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_boolean) ||
                         json_object_is_type(value, json_type_double) ||
                         (json_object_is_type(value, json_type_string) &&
                          plain(json_object_get_string(value), json_object_get_string_len(value)));
            if (!known || !plain(name, (int)strlen(name)))
                fault(r, "problem_size, %.80s: neither number, truth nor short text; write %s",
                      plain(name, (int)strlen(name)) ? name : "a name", write);
            else
                part[count++] = (struct part){name, json_object_get_string(value)};
        }
    }
    if (r->wrong)
        return TW_OK;
    bool named = *part[0].name != '\0';
    row->names = join(rt, part, count, " x ", named, false);
    row->values = join(rt, part, count, " x ", false, true);
    qsort(part, (size_t)count, sizeof *part, by_name);
    row->size = join(rt, part, count, ",", named, true);
    return row->names && row->values && row->size ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

void results_free_row(struct tw_runtime *rt, struct results_row *row)
{
    json_object_put(row->object);
    tw_free(rt, row->size);
    tw_free(rt, row->names);
    tw_free(rt, row->values);
}

static int add_row(struct results *results, const struct results_row *row, struct tw_error *error)
{
    if (results->count == results->room) {
        size_t room = results->room ? 2 * results->room : 64;
        struct results_row *grown = tw_realloc(results->rt, results->row, room * sizeof *grown);
        if (!grown)
            return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
        results->row = grown;
        results->room = room;
    }
    results->row[results->count++] = *row;
    return TW_OK;
}

/* One row; what is wrong is told and it is left out. A status. */
static int read_row(struct reader *r, struct tw_error *error)
{
    struct results_row row = {.file = r->path, .number = r->number};
    r->wrong = false;
    if (!json_object_is_type(r->object, json_type_object)) {
        fault(r, "it is no object; write {\"kernel\": ..., \"latency_ms\": ...}");
        return TW_OK;
    }
#define KEY(member, name, write) row.member = read_text(r, name, write);
#include "results/results_keys.def"
#undef KEY
    read_times(r, &row);
    int status = read_size(r, &row, error);
    row.object = json_object_get(r->object);
    if (status == TW_OK && !r->wrong)
        status = add_row(r->results, &row, error);
    else
        results_free_row(r->results->rt, &row);
    return status;
}

/* The list of rows in what a file holds, or NULL, which is told. */
static json_object *find_rows(json_object *file, const char *path, const struct tell *tell)
{
    json_object *rows = NULL;
    if (json_object_is_type(file, json_type_array))
        rows = file;
    else if (json_object_is_type(file, json_type_object) && json_object_object_get_ex(file, "rows", &rows) &&
             !json_object_is_type(rows, json_type_array))
        rows = NULL;
    if (!rows)
        tell_file(tell, path, 0, "no list of rows; write [{...}, ...] or {\"rows\": [{...}, ...]}");
    else if (json_object_array_length(rows) < 1 || json_object_array_length(rows) > ROWS_MOST) {
        tell_file(tell, path, 0, "%zu rows; write 1 to %d", json_object_array_length(rows), ROWS_MOST);
        rows = NULL;
    }
    return rows;
}

/* The whole text, or NULL, which is told with its line. */
static json_object *parse(const char *text, size_t length, const char *path, const struct tell *tell)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MOST);
    json_object *file = NULL;
    if (!tokener) {
        tell_fault(tell, "out of memory");
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    if (length < FILE_MOST)
        file = json_tokener_parse_ex(tokener, text, (int)length + 1); /* the zero ends a number */
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    if (error != json_tokener_success || strlen(text) != length) {
        unsigned long line = 1;
        for (size_t i = 0; i < end && i < length; i++)
            line += text[i] == '\n';
        json_object_put(file);
        file = NULL;
        tell_file(tell, path, line, "no JSON: %s; write what `tilewright bench SPEC --json` prints",
                  error == json_tokener_continue || error == json_tokener_success ? "it ends too early"
                                                                                  : json_tokener_error_desc(error));
    } else if (!file) {
        tell_file(tell, path, 0, "no list of rows; write [{...}, ...] or {\"rows\": [{...}, ...]}");
    }
    json_tokener_free(tokener);
    return file;
}

int results_parse(struct results *results, const char *path, const char *text, size_t length, const struct tell *tell)
{
    struct tw_error error;
    const size_t before = results->count;
    json_object *file = parse(text, length, path, tell), *rows = file ? find_rows(file, path, tell) : NULL;
    int status = TW_OK, wrong = 0;
    struct reader r = {.results = results, .tell = tell, .path = path};
    size_t count = rows ? json_object_array_length(rows) : 0;
    for (size_t i = 0; i < count && status == TW_OK && wrong < TOLD_MOST; i++) {
        r.number = (int)i + 1;
        r.object = json_object_array_get_idx(rows, i);
        status = read_row(&r, &error);
        wrong += r.wrong;
    }
    if (wrong == TOLD_MOST)
        tell_note(tell, "%s: what follows row %d is not looked at", path, r.number);
    json_object_put(file);
    const bool sound = status == TW_OK && rows && !wrong;
    while (!sound && results->count > before)
        results_free_row(results->rt, &results->row[--results->count]);
    if (sound)
        status = results_make_ratios(results, &error);
    if (status != TW_OK)
        return tell_status(tell, status, &error);
    return sound ? 0 : 1;
}

int results_read(struct results *results, const char *path, const struct tell *tell)
{
    unsigned char *bytes;
    size_t length;
    struct tw_error error;
    int status = tw_read_file(results->rt, path, FILE_MOST, &bytes, &length, &error);
    if (status != TW_OK)
        return tell_status(tell, status, &error);
    status = results_parse(results, path, (const char *)bytes, length, tell);
    tw_free(results->rt, bytes);
    return status;
}

void results_free(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        results_free_row(results->rt, &results->row[i]);
    tw_free(results->rt, results->row);
    *results = (struct results){.rt = results->rt};
}
