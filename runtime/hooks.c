#include "hooks.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "nvrtc.h"

/* The hooks of this process. */

static void *libc_alloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void *libc_realloc(void *self, void *old, size_t bytes)
{
    (void)self;
    return realloc(old, bytes);
}

static void libc_free(void *self, void *pointer)
{
    (void)self;
    free(pointer);
}

static int file_open(void *self, const char *path, int flags, unsigned mode)
{
    int file;

    (void)self;
    do
        file = open(path, flags | O_CLOEXEC, (mode_t)mode);
    while (file < 0 && errno == EINTR);
    return file < 0 ? -errno : file;
}

static long file_read(void *self, int file, void *bytes, size_t count)
{
    ssize_t got;

    (void)self;
    do
        got = read(file, bytes, count);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : (long)got;
}

static long file_write(void *self, int file, const void *bytes, size_t count)
{
    ssize_t put;

    (void)self;
    do
        put = write(file, bytes, count);
    while (put < 0 && errno == EINTR);
    return put < 0 ? -errno : (long)put;
}

static int file_sync(void *self, int file)
{
    (void)self;
    return fsync(file) ? -errno : 0;
}

static int file_close(void *self, int file)
{
    (void)self;
    return close(file) ? -errno : 0;
}

static int file_lock(void *self, int file)
{
    int result;

    (void)self;
    do
        result = flock(file, LOCK_EX | LOCK_NB);
    while (result && errno == EINTR);
    return result ? -errno : 0;
}

static int file_rename(void *self, const char *from, const char *to)
{
    (void)self;
    return rename(from, to) ? -errno : 0;
}

static int file_unlink(void *self, const char *path)
{
    (void)self;
    return unlink(path) ? -errno : 0;
}

static int file_mkdir(void *self, const char *path, unsigned mode)
{
    (void)self;
    return mkdir(path, (mode_t)mode) ? -errno : 0;
}

static int file_stat(void *self, const char *path, struct tw_file_info *info)
{
    struct stat st;

    (void)self;
    if (stat(path, &st))
        return -errno;
    info->bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    info->modified = (int64_t)st.st_mtime;
    info->is_folder = S_ISDIR(st.st_mode);
    info->is_regular = S_ISREG(st.st_mode);
    return 0;
}

static int file_realpath(void *self, const char *path, char *out, size_t out_bytes)
{
    char buffer[PATH_MAX];
    size_t length;

    (void)self;
    if (!realpath(path, buffer))
        return -errno;
    length = strlen(buffer);
    if (length >= out_bytes)
        return -ENAMETOOLONG;
    memcpy(out, buffer, length + 1);
    return 0;
}

static int folder_open(void *self, const char *path, void **folder)
{
    (void)self;
    *folder = opendir(path);
    return *folder ? 0 : -errno;
}

static int folder_next(void *self, void *folder, char *name, size_t name_bytes)
{
    struct dirent *entry;
    size_t length;

    (void)self;
    for (;;) {
        errno = 0;
        entry = readdir(folder);
        if (!entry)
            return errno ? -errno : 0;
        length = strlen(entry->d_name);
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || length >= name_bytes)
            continue;
        memcpy(name, entry->d_name, length + 1);
        return 1;
    }
}

static void folder_close(void *self, void *folder)
{
    (void)self;
    closedir(folder);
}

/* RTLD_NODELETE: NVRTC's C++ runtime and the driver hold memory and threads that outlive dlclose, and unmapping their
   code would lose the one (72 KiB each time) and crash the other. */
static void *library_open(void *self, const char *name, int global, const char **why)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_NODELETE | (global ? RTLD_GLOBAL : RTLD_LOCAL));

    (void)self;
    if (!library)
        *why = dlerror();
    return library;
}

static void *library_symbol(void *self, void *library, const char *name)
{
    (void)self;
    return dlsym(library, name);
}

static int library_path(void *self, void *library, char *out, size_t out_bytes)
{
    struct link_map *map;
    size_t length;

    (void)self;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map))
        return -ENOENT;
    length = strlen(map->l_name);
    if (length >= out_bytes)
        return -ENAMETOOLONG;
    memcpy(out, map->l_name, length + 1);
    return 0;
}

static void library_close(void *self, void *library)
{
    (void)self;
    dlclose(library);
}

static const char *process_variable(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t = {0, 0};

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double process_now(void *self)
{
    (void)self;
    return seconds_of(CLOCK_MONOTONIC);
}

static double process_date(void *self)
{
    (void)self;
    return seconds_of(CLOCK_REALTIME);
}

static void process_sleep(void *self, double seconds)
{
    struct timespec t;

    (void)self;
    t.tv_sec = (time_t)seconds;
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

int tw_runtime_init(struct tw_runtime *rt, struct tw_error *error)
{
    ssize_t length;
    char *slash;

    memset(rt, 0, sizeof *rt);
    rt->memory = (struct tw_memory){NULL, libc_alloc, libc_realloc, libc_free};
    rt->files = (struct tw_files){NULL,        file_open,   file_read,     file_write,  file_sync,
                                  file_close,  file_lock,   file_rename,   file_unlink, file_mkdir,
                                  file_stat,   file_realpath, folder_open, folder_next, folder_close};
    rt->loader = (struct tw_loader){NULL, library_open, library_symbol, library_path, library_close};
    rt->process = (struct tw_process){NULL, process_variable, process_now, process_date, process_sleep};
    length = readlink("/proc/self/exe", rt->program_folder, sizeof rt->program_folder - 1);
    rt->program_folder[length > 0 ? length : 0] = '\0';
    slash = strrchr(rt->program_folder, '/');
    if (slash)
        *slash = '\0';
    if (pthread_mutex_init(&rt->mutex, NULL))
        return tw_fail(error, TW_ERROR_MEMORY, "no mutex could be made");
    rt->has_mutex = 1;
    return TW_OK;
}

void tw_runtime_close(struct tw_runtime *rt)
{
    if (!rt->has_mutex)
        return;
    tw_nvrtc_close(rt);
    tw_driver_close(rt);
    pthread_mutex_destroy(&rt->mutex);
    rt->has_mutex = 0;
}

/* Shorthands. */

void *tw_alloc(struct tw_runtime *rt, size_t bytes)
{
    return rt->memory.alloc(rt->memory.self, bytes ? bytes : 1);
}

void *tw_alloc_zeroed(struct tw_runtime *rt, size_t bytes)
{
    if (rt->memory.alloc == libc_alloc) /* fresh pages are zeros: of gigabytes none is touched before it is used */
        return calloc(1, bytes ? bytes : 1);
    void *pointer = tw_alloc(rt, bytes);
    if (pointer)
        memset(pointer, 0, bytes ? bytes : 1);
    return pointer;
}

void *tw_realloc(struct tw_runtime *rt, void *old, size_t bytes)
{
    return rt->memory.realloc(rt->memory.self, old, bytes ? bytes : 1);
}

void tw_free(struct tw_runtime *rt, void *pointer)
{
    if (pointer)
        rt->memory.free(rt->memory.self, pointer);
}

char *tw_strdup(struct tw_runtime *rt, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = tw_alloc(rt, bytes);

    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

char *tw_format(struct tw_runtime *rt, const char *format, ...)
{
    va_list args;
    char *text;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    text = tw_alloc(rt, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

const char *tw_variable(struct tw_runtime *rt, const char *name)
{
    const char *value = rt->process.variable(rt->process.self, name);

    return value && *value ? value : NULL;
}

int tw_resolve(struct tw_runtime *rt, void *library, const char *name, void *function)
{
    void *address = rt->loader.symbol(rt->loader.self, library, name);

    memcpy(function, &address, sizeof address); /* POSIX: a function's address has the representation of a void * */
    return address != NULL;
}

int tw_write_all(struct tw_runtime *rt, int file, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    long put;

    while (count) {
        put = rt->files.write(rt->files.self, file, at, count);
        if (put < 0)
            return (int)put;
        if (!put)
            return -EIO;
        at += put;
        count -= (size_t)put;
    }
    return 0;
}

int tw_read_all(struct tw_runtime *rt, int file, void *bytes, size_t count, size_t *got)
{
    unsigned char *at = bytes;
    long more;

    *got = 0;
    while (*got < count) {
        more = rt->files.read(rt->files.self, file, at + *got, count - *got);
        if (more < 0)
            return (int)more;
        if (!more)
            break;
        *got += (size_t)more;
    }
    return 0;
}

int tw_read_file(struct tw_runtime *rt, const char *path, size_t limit, unsigned char **bytes, size_t *count,
                 struct tw_error *error)
{
    size_t capacity = 0, used = 0, got;
    unsigned char *buffer = NULL, *bigger;
    int file = -1, result, status;

    *bytes = NULL;
    *count = 0;
    limit = limit ? limit : TW_FILE_MOST;
    file = rt->files.open(rt->files.self, path, O_RDONLY, 0);
    if (file < 0) {
        status = file == -ENOENT || file == -ENOTDIR ? TW_ERROR_NOT_FOUND : TW_ERROR_FILE;
        return tw_fail(error, status, "%s: %s", path, strerror(-file));
    }
    do {
        capacity = capacity ? 2 * capacity : 65536;
        bigger = tw_realloc(rt, buffer, capacity + 1);
        if (!bigger) {
            status = tw_fail(error, TW_ERROR_MEMORY, "%s: no memory for its %zu bytes", path, capacity);
            goto fail;
        }
        buffer = bigger;
        result = tw_read_all(rt, file, buffer + used, capacity - used, &got);
        used += got;
        if (result < 0) {
            status = tw_fail(error, TW_ERROR_FILE, "%s: %s", path, strerror(-result));
            goto fail;
        }
        if (used > limit) {
            status = tw_fail(error, TW_ERROR_FILE, "%s: larger than %zu bytes", path, limit);
            goto fail;
        }
    } while (used == capacity);
    rt->files.close(rt->files.self, file);
    buffer[used] = '\0';
    *bytes = buffer;
    *count = used;
    return TW_OK;

fail:
    rt->files.close(rt->files.self, file);
    tw_free(rt, buffer);
    return status;
}

int tw_read_regular_file(struct tw_runtime *rt, const char *path, size_t limit, unsigned char **bytes, size_t *count,
                         struct tw_error *error)
{
    struct tw_file_info info;
    const int result = rt->files.stat(rt->files.self, path, &info);
    *bytes = NULL;
    *count = 0;
    if (result == 0 && !info.is_regular)
        return tw_fail(error, TW_ERROR_FILE, "%s: no regular file", path);
    if (result == -ENOENT || result == -ENOTDIR)
        return tw_fail(error, TW_ERROR_NOT_FOUND, "%s: %s", path, strerror(-result));
    return tw_read_file(rt, path, limit, bytes, count, error);
}
