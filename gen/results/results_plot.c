/* The files of pictures: which there are, and their names. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "common/files.h"
#include "common/json.h"
#include "results/results_internal.h"

const char *const results_measure_name[RESULTS_MEASURES] = {"latency", "throughput", "ratio"};

/* "NVIDIA H200" as part of a file's name: "NVIDIA_H200". */
static void put_word(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++) {
        char c = *text;
        bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (kept || (n && out[n - 1] != '_'))
            out[n++] = kept ? c : '_';
    }
    out[n] = '\0';
}

/* A name that no other picture has. */
static void name_file(const struct file_set *files, const struct results_view *v, enum results_measure measure,
                      const char *folder, char *out, size_t size)
{
    char gpu[80], mode[80], path[4400];
    bool taken = true;
    put_word(gpu, sizeof gpu, v->gpu);
    put_word(mode, sizeof mode, v->mode);
    for (int again = 1; taken; again++) {
        char number[16] = "";
        if (again > 1)
            snprintf(number, sizeof number, "_%d", again);
        snprintf(out, size, "%s%s.%s.%s.svg", *gpu ? gpu : "gpu", number, *mode ? mode : "mode",
                 results_measure_name[measure]);
        snprintf(path, sizeof path, "%s/%s", folder, out);
        taken = false;
        for (size_t i = 0; i < files->count; i++)
            taken = taken || strcmp(files->entry[i].path, path) == 0;
    }
}

/* The pictures of one GPU and mode. A status. */
static int plot_group(struct file_set *files, const struct results_view *const *view, int count, const char *folder,
                      struct tw_error *error)
{
    int status = TW_OK;
    for (int m = 0; m < RESULTS_MEASURES && status == TW_OK; m++) {
        struct svg svg = {.rt = files->rt};
        char name[256];
        bool drawn = results_draw(&svg, view, count, (enum results_measure)m);
        if (svg.failed)
            status = tw_fail(error, TW_ERROR_MEMORY, "out of memory");
        if (!drawn || svg.failed) {
            svg_free(&svg);
            continue;
        }
        name_file(files, view[0], (enum results_measure)m, folder, name, sizeof name);
        status = files_add(files, folder, name, svg.text, svg.length, true, error);
    }
    return status;
}

static bool together(const struct results_view *a, const struct results_view *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->mode, b->mode) == 0;
}

static void tell_files(const struct file_set *files, const struct tell *tell)
{
    json_object *list = tell->result ? json_object_new_array() : NULL;
    for (size_t i = 0; i < files->count; i++)
        if (list)
            json_object_array_add(list, json_object_new_string(files->entry[i].path));
        else
            puts(files->entry[i].path);
    if (list)
        json_object_object_add(tell->result, "files", list);
}

int results_plot(const struct results_view *view, int count, const char *folder, const struct tell *tell,
                 struct tw_error *error)
{
    struct file_set files = {.rt = view[0].rt};
    const struct results_view **group = tw_alloc(view[0].rt, sizeof *group * (size_t)count);
    int status = group ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    for (int i = 0; i < count && status == TW_OK; i++) {
        int members = 0;
        bool first = true;
        for (int k = 0; k < count; k++) {
            if (!together(&view[i], &view[k]))
                continue;
            first = first && k >= i;
            group[members++] = &view[k];
        }
        if (first)
            status = plot_group(&files, group, members, folder, error);
    }
    if (status == TW_OK)
        status = files_commit(&files, error);
    if (status == TW_OK)
        tell_files(&files, tell);
    files_free(&files);
    tw_free(view[0].rt, group);
    return status;
}
