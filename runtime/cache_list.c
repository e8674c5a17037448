#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_entry.h"

/* Temporary and lock files of this age belong to no running process. */
#define LEFTOVER_SECONDS 3600.0

static int no_list_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "no memory to list the cache");
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);

    return n >= s && !strcmp(name + n - s, suffix);
}

static bool begins_with_key(const char *name)
{
    return strspn(name, "0123456789abcdef") == 32 && name[32] == '.';
}

static void copy_text(struct cache_span span, char *out, size_t out_bytes)
{
    size_t n = span.bytes < out_bytes - 1 ? span.bytes : out_bytes - 1;

    memcpy(out, span.at, n);
    out[n] = '\0';
}

/* Read one entry in full. Without memory: TW_ERROR_MEMORY. Vanished since it was listed: TW_ERROR_NOT_FOUND. */
static int read_item(struct tw_runtime *rt, struct tw_cache_item *item, struct tw_error *error)
{
    struct cache_span fields[CACHE_FIELDS];
    struct tw_file_info file;
    struct tw_cubin_info info;
    struct tw_error why = {""};
    unsigned char *bytes = NULL;
    size_t count;

    if (rt->files.stat(rt->files.self, item->path, &file))
        return TW_ERROR_NOT_FOUND;
    item->bytes = file.bytes;
    item->modified = file.modified;
    item->status = tw_read_regular_file(rt, item->path, 0, &bytes, &count, &why);
    if (item->status == TW_ERROR_MEMORY)
        return no_list_memory(error);
    if (item->status == TW_ERROR_NOT_FOUND)
        return TW_ERROR_NOT_FOUND;
    if (item->status == TW_OK)
        item->status = tw_cache_parse(bytes, count, &item->key, fields, &why);
    if (item->status == TW_OK) {
        copy_text(fields[CACHE_ENTRY], item->entry, sizeof item->entry);
        copy_text(fields[CACHE_ARCH], item->arch, sizeof item->arch);
        copy_text(fields[CACHE_BUILD_ID], item->build_id, sizeof item->build_id);
        tw_cache_parse_info(fields[CACHE_INFO], &info);
        item->registers = info.registers;
        item->cubin_bytes = fields[CACHE_CUBIN].bytes;
        item->ptx_bytes = fields[CACHE_PTX].bytes;
    } else {
        snprintf(item->why, sizeof item->why, "%.127s", why.text);
    }
    tw_free(rt, bytes);
    return TW_OK;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct tw_cache_item *)a)->key.hex, ((const struct tw_cache_item *)b)->key.hex);
}

int tw_cache_list(struct tw_runtime *rt, const char *folder, struct tw_cache_item **items, size_t *count,
                  struct tw_error *error)
{
    struct tw_files *files = &rt->files;
    struct tw_cache_item *bigger, *item;
    char name[256];
    void *handle;
    int result, status = TW_OK;
    size_t capacity = 0;

    *items = NULL;
    *count = 0;
    result = files->folder_open(files->self, folder, &handle);
    if (result == -ENOENT)
        return TW_OK;
    if (result < 0)
        return tw_fail(error, TW_ERROR_FILE, "%s: %s", folder, strerror(-result));
    while ((result = files->folder_next(files->self, handle, name, sizeof name)) > 0) {
        if (!begins_with_key(name) || strcmp(name + 32, CACHE_SUFFIX))
            continue;
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            bigger = tw_realloc(rt, *items, capacity * sizeof **items);
            if (!bigger) {
                status = no_list_memory(error);
                goto fail;
            }
            *items = bigger;
        }
        item = &(*items)[*count];
        memset(item, 0, sizeof *item);
        memcpy(item->key.hex, name, 32);
        if (snprintf(item->path, sizeof item->path, "%s/%s", folder, name) >= (int)sizeof item->path)
            continue;
        status = read_item(rt, item, error);
        if (status == TW_ERROR_MEMORY)
            goto fail;
        if (status == TW_OK)
            ++*count;
    }
    if (result < 0) {
        status = tw_fail(error, TW_ERROR_FILE, "%s: %s", folder, strerror(-result));
        goto fail;
    }
    files->folder_close(files->self, handle);
    if (*count)
        qsort(*items, *count, sizeof **items, by_key);
    return TW_OK;

fail:
    files->folder_close(files->self, handle);
    tw_free(rt, *items);
    *items = NULL;
    *count = 0;
    return status;
}

/* Remove what killed processes left. */
static int sweep_leftovers(struct tw_runtime *rt, const char *folder, struct tw_cache_swept *swept,
                           struct tw_error *error)
{
    struct tw_files *files = &rt->files;
    double date = rt->process.date(rt->process.self);
    struct tw_file_info info;
    char name[256], path[4096];
    void *handle;
    int result;

    result = files->folder_open(files->self, folder, &handle);
    if (result == -ENOENT)
        return TW_OK;
    if (result < 0)
        return tw_fail(error, TW_ERROR_FILE, "%s: %s", folder, strerror(-result));
    while (files->folder_next(files->self, handle, name, sizeof name) > 0) {
        if (!begins_with_key(name) || (!has_suffix(name, ".tmp") && !has_suffix(name, ".lock")) ||
            snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
            files->stat(files->self, path, &info) || date - (double)info.modified < LEFTOVER_SECONDS)
            continue;
        if (!files->unlink(files->self, path))
            swept->leftovers++;
    }
    files->folder_close(files->self, handle);
    return TW_OK;
}

static int oldest_first(const void *a, const void *b)
{
    const struct tw_cache_item *x = a, *y = b;

    return x->modified != y->modified ? (x->modified < y->modified ? -1 : 1) : strcmp(x->key.hex, y->key.hex);
}

int tw_cache_gc(struct tw_runtime *rt, const char *folder, uint64_t max_bytes, double max_age,
                struct tw_cache_swept *swept, struct tw_error *error)
{
    double date = rt->process.date(rt->process.self);
    struct tw_cache_item *items;
    uint64_t total = 0;
    size_t count, i;
    int status, result;

    memset(swept, 0, sizeof *swept);
    status = tw_cache_list(rt, folder, &items, &count, error);
    if (status != TW_OK)
        return status;
    for (i = 0; i < count; i++)
        total += items[i].bytes;
    if (count)
        qsort(items, count, sizeof *items, oldest_first);
    /* First those that are of no use, then by age until the rest fits. */
    for (i = 0; i < count; i++)
        if (items[i].status != TW_OK || (max_age >= 0 && date - (double)items[i].modified > max_age)) {
            items[i].status = TW_ERROR_DAMAGED;
            total -= items[i].bytes;
        }
    for (i = 0; i < count; i++) {
        if (items[i].status == TW_OK && total > max_bytes) {
            items[i].status = TW_ERROR_DAMAGED;
            total -= items[i].bytes;
        }
        if (items[i].status == TW_OK) {
            swept->kept++;
            swept->kept_bytes += items[i].bytes;
            continue;
        }
        result = rt->files.unlink(rt->files.self, items[i].path);
        if (result && result != -ENOENT) {
            status = tw_fail(error, TW_ERROR_FILE, "%s cannot be removed: %s", items[i].path, strerror(-result));
            goto done;
        }
        swept->removed++;
        swept->removed_bytes += items[i].bytes;
    }
    status = sweep_leftovers(rt, folder, swept, error);

done:
    tw_free(rt, items);
    return status;
}
