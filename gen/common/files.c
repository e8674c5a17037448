#include "common/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int files_add(struct file_set *set, const char *folder, const char *name, const void *bytes, size_t count, bool own,
              struct tw_error *error)
{
    struct tw_runtime *rt = set->rt;
    char *path = folder ? tw_format(rt, "%s/%s", folder, name) : tw_strdup(rt, name);
    if (!path)
        goto fail;
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *file = &set->entry[i];
        if (strcmp(file->path, path) != 0)
            continue;
        tw_free(rt, path);
        tw_free(rt, file->owned);
        file->bytes = bytes;
        file->count = count;
        file->owned = own ? (void *)(uintptr_t)bytes : NULL;
        return TW_OK;
    }
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 16;
        struct file_entry *grown = tw_realloc(rt, set->entry, capacity * sizeof *grown);
        if (!grown)
            goto fail;
        set->entry = grown;
        set->capacity = capacity;
    }
    set->entry[set->count++] =
        (struct file_entry){path, bytes, count, own ? (void *)(uintptr_t)bytes : NULL, NULL, NULL, false};
    return TW_OK;
fail:
    tw_free(rt, path);
    if (own)
        tw_free(rt, (void *)(uintptr_t)bytes);
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

int files_folder(struct tw_runtime *rt, const char *path, struct tw_error *error)
{
    struct tw_file_info info;
    char part[4096];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return tw_fail(error, TW_ERROR_FILE, "'%s' is no folder's name", path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i])
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        int result = rt->files.mkdir(rt->files.self, part, 0777);
        if (result == 0 || result == -EEXIST)
            continue;
        if (rt->files.stat(rt->files.self, part, &info) == 0 && info.is_folder)
            continue;
        return tw_fail(error, TW_ERROR_FILE, "cannot make the folder %s: %s", part, strerror(-result));
    }
    if (rt->files.stat(rt->files.self, path, &info) == 0 && !info.is_folder)
        return tw_fail(error, TW_ERROR_FILE, "%s is no folder", path);
    return TW_OK;
}

static bool holds_already(struct tw_runtime *rt, const struct file_entry *file)
{
    struct tw_file_info info;
    unsigned char *bytes;
    size_t count;
    struct tw_error error;
    if (rt->files.stat(rt->files.self, file->path, &info) != 0 || !info.is_regular || info.bytes != file->count)
        return false;
    if (tw_read_file(rt, file->path, file->count + 1, &bytes, &count, &error) != TW_OK)
        return false;
    bool same = count == file->count && memcmp(bytes, file->bytes, count) == 0;
    tw_free(rt, bytes);
    return same;
}

static int cannot_write(const struct file_entry *file, int result, struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_FILE, "cannot write %s: %s", file->path, strerror(-result));
}

/* Finds out what the path names: nothing, a regular file, a link to one, or something that is written into. */
static int find_target(struct tw_runtime *rt, struct file_entry *file, struct tw_error *error)
{
    struct tw_file_info info;
    char link[1], target[4096];
    const bool is_link = readlink(file->path, link, sizeof link) >= 0;
    const int known = rt->files.stat(rt->files.self, file->path, &info);
    if (known == 0 && info.is_folder)
        return cannot_write(file, -EISDIR, error);
    /* A link to nothing: opening makes the file that it leads to. */
    file->in_place = known == 0 ? !info.is_regular : is_link;
    if (!is_link || file->in_place || rt->files.realpath(rt->files.self, file->path, target, sizeof target) != 0)
        return TW_OK;
    file->target = tw_strdup(rt, target);
    return file->target ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

/* Opens, writes and closes. 0 or -errno. */
static int write_bytes(struct tw_runtime *rt, const char *path, const struct file_entry *file)
{
    int handle = rt->files.open(rt->files.self, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (handle < 0)
        return handle;
    int result = tw_write_all(rt, handle, file->bytes, file->count);
    int closed = rt->files.close(rt->files.self, handle);
    return result ? result : closed;
}

static int write_temporary(struct tw_runtime *rt, struct file_entry *file, struct tw_error *error)
{
    char *slash = strrchr(file->path, '/');
    if (slash && slash != file->path) {
        *slash = '\0';
        int status = files_folder(rt, file->path, error);
        *slash = '/';
        if (status != TW_OK)
            return status;
    }
    int status = find_target(rt, file, error);
    if (status != TW_OK || file->in_place)
        return status;
    file->temporary = tw_format(rt, "%s.%ld.tmp", file->target ? file->target : file->path, (long)getpid());
    if (!file->temporary)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    int result = write_bytes(rt, file->temporary, file);
    return result ? cannot_write(file, result, error) : TW_OK;
}

/* Writes into what stays where it is. */
static int write_in_place(struct file_set *set, struct tw_error *error)
{
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *file = &set->entry[i];
        int result = file->in_place ? write_bytes(set->rt, file->path, file) : 0;
        if (result)
            return cannot_write(file, result, error);
    }
    return TW_OK;
}

int files_commit(struct file_set *set, struct tw_error *error)
{
    struct tw_runtime *rt = set->rt;
    int status = TW_OK;
    for (size_t i = 0; i < set->count && status == TW_OK; i++)
        if (!holds_already(rt, &set->entry[i]))
            status = write_temporary(rt, &set->entry[i], error);
    if (status == TW_OK)
        status = write_in_place(set, error);
    for (size_t i = 0; i < set->count; i++) {
        struct file_entry *file = &set->entry[i];
        if (!file->temporary)
            continue;
        if (status == TW_OK) {
            int result = rt->files.rename(rt->files.self, file->temporary, file->target ? file->target : file->path);
            if (result != 0)
                status = cannot_write(file, result, error);
        }
        if (status != TW_OK)
            rt->files.unlink(rt->files.self, file->temporary);
        tw_free(rt, file->temporary);
        file->temporary = NULL;
    }
    return status;
}

void files_free(struct file_set *set)
{
    struct tw_runtime *rt = set->rt;
    for (size_t i = 0; i < set->count; i++) {
        tw_free(rt, set->entry[i].path);
        tw_free(rt, set->entry[i].target);
        tw_free(rt, set->entry[i].owned);
    }
    tw_free(rt, set->entry);
    *set = (struct file_set){.rt = rt};
}
