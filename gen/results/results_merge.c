/* Rows of several files as one list: ratios, doubles, the file that is written. */
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/files.h"
#include "common/json.h"
#include "results/results_internal.h"

/* What two rows are compared by: the first members make one measurement's rows of all back ends, all of them one. */
static int compare(const struct results_row *a, const struct results_row *b, bool whole)
{
    const char *const left[] = {a->kernel, a->gpu, a->size, a->mode, a->run, a->backend, a->arch};
    const char *const right[] = {b->kernel, b->gpu, b->size, b->mode, b->run, b->backend, b->arch};
    const int count = whole ? 7 : 5;
    for (int i = 0; i < count; i++) {
        int order = strcmp(left[i], right[i]);
        if (order)
            return order;
    }
    return 0;
}

static int by_measurement(const void *a, const void *b)
{
    const struct results_row *left = *(struct results_row *const *)a, *right = *(struct results_row *const *)b;
    int order = compare(left, right, true);
    return order ? order : (left > right) - (left < right);
}

/* The rows in order: those of a measurement together, doubles in the order in which they were read. The caller frees
 * it; NULL: no memory. */
static struct results_row **sorted(const struct results *results)
{
    struct results_row **order = tw_alloc(results->rt, results->count * sizeof *order);
    for (size_t i = 0; i < results->count && order; i++)
        order[i] = &results->row[i];
    if (order)
        qsort(order, results->count, sizeof *order, by_measurement);
    return order;
}

int results_make_ratios(struct results *results, struct tw_error *error)
{
    struct results_row **order = sorted(results);
    if (!order)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (size_t from = 0, to; from < results->count; from = to) {
        double best = 0;
        for (to = from; to < results->count && compare(order[from], order[to], false) == 0; to++)
            if (!results_ours(order[to]->backend) && (best == 0 || order[to]->latency < best))
                best = order[to]->latency;
        for (size_t i = from; i < to; i++)
            order[i]->ratio = best > 0 ? best / order[i]->latency : order[i]->told;
    }
    tw_free(results->rt, order);
    return TW_OK;
}

/* Of each row the earlier one in whose place it comes, or NULL; the caller frees it. NULL: no memory. */
static struct results_row **doubles(const struct results *results)
{
    struct results_row **order = sorted(results);
    struct results_row **early = tw_alloc_zeroed(results->rt, (results->count + 1) * sizeof *early);
    for (size_t i = 1; i < results->count && order && early; i++)
        if (compare(order[i - 1], order[i], true) == 0)
            early[order[i] - results->row] = order[i - 1];
    tw_free(results->rt, order ? NULL : early);
    tw_free(results->rt, order);
    return order ? early : NULL;
}

static void tell_doubles(const struct results *results, struct results_row *const *early, const struct tell *tell)
{
    enum { TOLD_MOST = 20 };
    size_t told = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *late = &results->row[i];
        if (early[i] && told++ < TOLD_MOST)
            tell_note(tell, "%s row %d takes the place of %s row %d: both are %s, %s, %s on %s (%s), %s, run %s",
                      late->file, late->number, early[i]->file, early[i]->number, early[i]->kernel, early[i]->values,
                      early[i]->backend, early[i]->gpu, early[i]->arch, early[i]->mode, early[i]->run);
    }
    if (told > TOLD_MOST)
        tell_note(tell, "and %zu rows more", told - TOLD_MOST);
}

long results_join(struct results *results, const struct tell *tell)
{
    struct tw_error error;
    struct results_row **early = doubles(results);
    long gone = 0;
    if (!early)
        return -1;
    tell_doubles(results, early, tell);
    for (size_t i = results->count; i-- > 0;) { /* the latest of several comes down in steps */
        if (!early[i])
            continue;
        struct results_row row = *early[i];
        *early[i] = results->row[i];
        results->row[i] = row;
        json_object_put(row.object);
        results->row[i].object = NULL;
        gone++;
    }
    size_t kept = 0;
    for (size_t i = 0; i < results->count; i++)
        if (results->row[i].object)
            results->row[kept++] = results->row[i];
        else
            results_free_row(results->rt, &results->row[i]);
    results->count = kept;
    tw_free(results->rt, early);
    return results_make_ratios(results, &error) == TW_OK ? gone : -1;
}

/* The rows as text, of tw_alloc; NULL: no memory. */
static char *print(const struct results *results, size_t *length)
{
    static const char begin[] = "{\n \"rows\": [\n  ", between[] = ",\n  ", end[] = "\n ]\n}\n";
    const int style = JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_SPACED;
    char *text = NULL;
    for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
        *length = 0;
        for (size_t i = 0; i < results->count; i++) {
            size_t bytes;
            const char *row = json_object_to_json_string_length(results->row[i].object, style, &bytes);
            const char *before = i ? between : begin;
            if (!row) {
                tw_free(results->rt, text);
                return NULL;
            }
            if (text) {
                memcpy(text + *length, before, strlen(before));
                memcpy(text + *length + strlen(before), row, bytes);
            }
            *length += strlen(before) + bytes;
        }
        if (!text && !(text = tw_alloc(results->rt, *length + sizeof end)))
            return NULL;
    }
    memcpy(text + *length, end, sizeof end);
    *length += sizeof end - 1;
    return text;
}

int results_write(const struct results *results, const char *path, struct tw_error *error)
{
    struct file_set files = {.rt = results->rt};
    size_t length;
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->row[i];
        if (row->ratio > 0)
            json_add_measure(row->object, "ratio", row->ratio);
        else
            json_object_object_del(row->object, "ratio");
    }
    char *text = print(results, &length);
    if (!text)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    int status = files_add(&files, NULL, path, text, length, true, error);
    if (status == TW_OK)
        status = files_commit(&files, error);
    files_free(&files);
    return status;
}
