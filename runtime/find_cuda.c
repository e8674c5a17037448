#include "find_cuda.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A search under way: what is wanted, and the list so far. */
struct search {
    struct tw_runtime *rt;
    struct tw_error *error;
    enum tw_place_kind kind;
    struct tw_places *places;
};

static int no_find_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "no memory to look for the CUDA toolkit");
}

static bool is_folder(struct tw_runtime *rt, const char *path)
{
    struct tw_file_info info;

    return !rt->files.stat(rt->files.self, path, &info) && info.is_folder;
}

/* Names in a folder that begin with prefix, newest version first ("cuda-13.0" before "cuda-12.9"). The folder may be
   missing. The caller frees the names and the array. */
struct names {
    char **items;
    size_t count;
};

static void free_names(struct tw_runtime *rt, struct names *names)
{
    while (names->count)
        tw_free(rt, names->items[--names->count]);
    tw_free(rt, names->items);
    names->items = NULL;
}

static int newer_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

static int list_folder(struct search *s, const char *folder, const char *prefix, struct names *names)
{
    struct tw_files *files = &s->rt->files;
    char name[256], **bigger;
    void *handle;

    names->items = NULL;
    names->count = 0;
    if (files->folder_open(files->self, folder, &handle))
        return TW_OK;
    while (files->folder_next(files->self, handle, name, sizeof name) > 0) {
        if (strncmp(name, prefix, strlen(prefix)))
            continue;
        bigger = tw_realloc(s->rt, names->items, (names->count + 1) * sizeof *bigger);
        if (!bigger)
            goto fail;
        names->items = bigger;
        names->items[names->count] = tw_strdup(s->rt, name);
        if (!names->items[names->count])
            goto fail;
        names->count++;
    }
    files->folder_close(files->self, handle);
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, newer_first);
    return TW_OK;

fail:
    files->folder_close(files->self, handle);
    free_names(s->rt, names);
    return no_find_memory(s->error);
}

/* Add a folder if it exists and is not yet in the list. */
static int add_folder(struct search *s, const char *folder, const char *where)
{
    struct tw_place *bigger;
    char real[4096];
    size_t i;

    if (!is_folder(s->rt, folder))
        return TW_OK;
    if (s->rt->files.realpath(s->rt->files.self, folder, real, sizeof real))
        return TW_OK;
    for (i = 0; i < s->places->count; i++)
        if (!strcmp(s->places->items[i].folder, real))
            return TW_OK;
    bigger = tw_realloc(s->rt, s->places->items, (s->places->count + 1) * sizeof *bigger);
    if (!bigger)
        return no_find_memory(s->error);
    s->places->items = bigger;
    bigger[i].folder = tw_strdup(s->rt, real);
    bigger[i].where = tw_strdup(s->rt, where);
    if (!bigger[i].folder || !bigger[i].where) {
        tw_free(s->rt, bigger[i].folder);
        tw_free(s->rt, bigger[i].where);
        return no_find_memory(s->error);
    }
    s->places->count++;
    return TW_OK;
}

static int add_format(struct search *s, const char *where, const char *format, ...) TW_PRINTF(3, 4);

/* The same, with the folder's name composed; a name too long for a path is no folder. */
static int add_format(struct search *s, const char *where, const char *format, ...)
{
    char folder[4096];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(folder, sizeof folder, format, args);
    va_end(args);
    return length < 0 || (size_t)length >= sizeof folder ? TW_OK : add_folder(s, folder, where);
}

/* A toolkit's layout: lib64, lib, targets/NAME/lib; bin. */
static int add_root(struct search *s, const char *root, const char *where)
{
    struct names targets = {NULL, 0};
    char folder[4096];
    int status;
    size_t i;

    if (s->kind == TW_PLACE_PROGRAMS)
        return add_format(s, where, "%s/bin", root);
    if (s->kind == TW_PLACE_HEADERS) {
        status = add_format(s, where, "%s/include", root);
        return status == TW_OK ? add_format(s, where, "%s/include/cccl", root) : status;
    }
    status = add_format(s, where, "%s/lib64", root);
    if (status == TW_OK)
        status = add_format(s, where, "%s/lib", root);
    if (status == TW_OK && snprintf(folder, sizeof folder, "%s/targets", root) < (int)sizeof folder)
        status = list_folder(s, folder, "", &targets);
    for (i = 0; i < targets.count && status == TW_OK; i++)
        status = add_format(s, where, "%s/targets/%s/lib", root, targets.items[i]);
    free_names(s->rt, &targets);
    return status;
}

/* A folder that pip installs into: nvidia/NAME/lib and nvidia/NAME/bin. */
static int add_packages(struct search *s, const char *packages, const char *where)
{
    static const char *const leaves[] = {
        [TW_PLACE_LIBRARIES] = "lib", [TW_PLACE_PROGRAMS] = "bin", [TW_PLACE_HEADERS] = "include"};
    struct names names;
    char folder[4096];
    int status;
    size_t i;

    if (snprintf(folder, sizeof folder, "%s/nvidia", packages) >= (int)sizeof folder)
        return TW_OK;
    status = list_folder(s, folder, "", &names);
    for (i = 0; i < names.count && status == TW_OK; i++)
        status = add_format(s, where, "%s/%s/%s", folder, names.items[i], leaves[s->kind]);
    for (i = 0; i < names.count && status == TW_OK && s->kind == TW_PLACE_HEADERS; i++)
        status = add_format(s, where, "%s/%s/include/cccl", folder, names.items[i]);
    free_names(s->rt, &names);
    return status;
}

/* Every Python 3 below a prefix. */
static int add_python(struct search *s, const char *prefix, const char *where)
{
    static const char *const libraries[] = {"lib", "lib64"};
    static const char *const kinds[] = {"site-packages", "dist-packages"};
    char folder[4096], packages[8192];
    struct names pythons;
    int status = TW_OK;
    size_t l, i, k;

    for (l = 0; l < 2 && status == TW_OK; l++) {
        if (snprintf(folder, sizeof folder, "%s/%s", prefix, libraries[l]) >= (int)sizeof folder)
            continue;
        status = list_folder(s, folder, "python3", &pythons);
        for (i = 0; i < pythons.count && status == TW_OK; i++)
            for (k = 0; k < 2 && status == TW_OK; k++) {
                snprintf(packages, sizeof packages, "%s/%s/%s", folder, pythons.items[i], kinds[k]);
                status = add_packages(s, packages, where);
            }
        free_names(s->rt, &pythons);
    }
    return status;
}

/* The steps of a search, in order. */

static int step_variables(struct search *s)
{
    static const char *const names[] = {"CUDA_HOME", "CUDA_PATH"};
    const char *value;
    char where[64];
    int status = TW_OK;
    size_t i;

    for (i = 0; i < 2 && status == TW_OK; i++) {
        value = tw_variable(s->rt, names[i]);
        snprintf(where, sizeof where, "$%s", names[i]);
        if (value)
            status = add_root(s, value, where);
    }
    return status;
}

static int step_prefixes(struct search *s)
{
    struct names names;
    char root[512];
    int status;
    size_t i;

    status = add_root(s, "/usr/local/cuda", "/usr/local/cuda");
    if (status != TW_OK)
        return status;
    status = list_folder(s, "/usr/local", "cuda-", &names);
    for (i = 0; i < names.count && status == TW_OK; i++) {
        snprintf(root, sizeof root, "/usr/local/%s", names.items[i]);
        status = add_root(s, root, root);
    }
    free_names(s->rt, &names);
    return status == TW_OK ? add_root(s, "/opt/cuda", "/opt/cuda") : status;
}

/* Each folder of a list separated by colons. */
static int add_list(struct search *s, const char *variable, const char *where)
{
    const char *at = tw_variable(s->rt, variable), *end;
    int status = TW_OK;

    while (at && *at && status == TW_OK) {
        end = strchr(at, ':');
        if (!end)
            end = at + strlen(at);
        if (end > at && end - at < 4096)
            status = add_format(s, where, "%.*s", (int)(end - at), at);
        at = *end ? end + 1 : end;
    }
    return status;
}

static uint32_t u32_at(const unsigned char *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, 4);
    return value;
}

/* Folders of /etc/ld.so.cache that hold NVRTC. Format of glibc 2.2 and later, native byte order: the text
   "glibc-ld.so.cache1.1", 32-bit count, 32-bit bytes of strings, 20 bytes; then per library 24 bytes, of which the
   third word is the offset of its path from the text's first byte. Older files carry another table before that. */
static int add_loader_cache(struct search *s)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    enum { MAGIC = 20, HEADER = 48, ENTRY = 24 };
    unsigned char *bytes, *base;
    size_t count, size;
    struct tw_error ignored;
    const char *path, *slash;
    int status;
    uint32_t i, n, offset;

    status = tw_read_regular_file(s->rt, "/etc/ld.so.cache", (size_t)64 << 20, &bytes, &count, &ignored);
    if (status != TW_OK)
        return status == TW_ERROR_MEMORY ? no_find_memory(s->error) : TW_OK;
    base = memmem(bytes, count, magic, MAGIC);
    size = base ? count - (size_t)(base - bytes) : 0;
    n = size >= HEADER ? u32_at(base + MAGIC) : 0;
    for (i = 0; i < n && HEADER + ((size_t)i + 1) * ENTRY <= size && status == TW_OK; i++) {
        offset = u32_at(base + HEADER + (size_t)i * ENTRY + 8);
        if (offset >= size) /* the byte behind the file is zero: every string ends */
            continue;
        path = (const char *)base + offset;
        slash = strrchr(path, '/');
        if (slash && slash - path < 4096 && !strncmp(slash + 1, "libnvrtc.so", 11))
            status = add_format(s, "the loader's cache", "%.*s", (int)(slash - path), path);
    }
    tw_free(s->rt, bytes);
    return status;
}

static int step_loader(struct search *s)
{
    static const char *const folders[] = {
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/lib",
    };
    int status;
    size_t i;

    if (s->kind == TW_PLACE_PROGRAMS)
        return add_list(s, "PATH", "$PATH");
    if (s->kind == TW_PLACE_HEADERS)
        return add_folder(s, "/usr/include", "/usr/include");
    status = add_list(s, "LD_LIBRARY_PATH", "$LD_LIBRARY_PATH");
    if (status == TW_OK)
        status = add_loader_cache(s);
    for (i = 0; i < sizeof folders / sizeof *folders && status == TW_OK; i++)
        status = add_folder(s, folders[i], folders[i]);
    return status;
}

static int step_python(struct search *s)
{
    const char *venv = tw_variable(s->rt, "VIRTUAL_ENV"), *conda = tw_variable(s->rt, "CONDA_PREFIX");
    const char *home = tw_variable(s->rt, "HOME"), *pyenv = tw_variable(s->rt, "PYENV_ROOT");
    struct names versions = {NULL, 0};
    char path[4096], prefix[8192];
    int status = TW_OK;
    size_t i;

    if (venv)
        status = add_python(s, venv, "Python, $VIRTUAL_ENV");
    if (conda && status == TW_OK)
        status = add_root(s, conda, "$CONDA_PREFIX");
    if (conda && status == TW_OK)
        status = add_python(s, conda, "Python, $CONDA_PREFIX");
    if (home && status == TW_OK && snprintf(path, sizeof path, "%s/.local", home) < (int)sizeof path)
        status = add_python(s, path, "Python, ~/.local");
    path[0] = '\0';
    if (pyenv)
        snprintf(path, sizeof path, "%s/versions", pyenv);
    else if (home)
        snprintf(path, sizeof path, "%s/.pyenv/versions", home);
    if (path[0] && status == TW_OK)
        status = list_folder(s, path, "", &versions);
    for (i = 0; i < versions.count && status == TW_OK; i++) {
        snprintf(prefix, sizeof prefix, "%s/%s", path, versions.items[i]);
        status = add_python(s, prefix, "Python, pyenv");
    }
    free_names(s->rt, &versions);
    if (status == TW_OK)
        status = add_python(s, "/usr/local", "Python, /usr/local");
    return status == TW_OK ? add_python(s, "/usr", "Python, /usr") : status;
}

static int step_build(struct search *s)
{
    static const char *const below[] = {"cuda", "../cuda", "build/cuda"};
    char root[8192];
    int status = TW_OK;
    size_t i;

    for (i = 0; i <= 3 && status == TW_OK; i++) {
        if (i == 3)
            snprintf(root, sizeof root, "build/cuda");
        else if (s->rt->program_folder[0])
            snprintf(root, sizeof root, "%s/%s", s->rt->program_folder, below[i]);
        else
            continue;
        status = add_root(s, root, "build/cuda");
        if (status == TW_OK)
            status = add_packages(s, root, "build/cuda");
    }
    return status;
}

int tw_find_places(struct tw_runtime *rt, enum tw_place_kind kind, unsigned step, struct tw_places *places,
                   struct tw_error *error)
{
    static int (*const steps[])(struct search *) = {step_variables, step_prefixes, step_loader, step_python,
                                                    step_build};
    struct search s = {rt, error, kind, places};

    if (step >= sizeof steps / sizeof *steps)
        return TW_ERROR_NOT_FOUND;
    return steps[step](&s);
}

void tw_places_free(struct tw_runtime *rt, struct tw_places *places)
{
    while (places->count) {
        places->count--;
        tw_free(rt, places->items[places->count].folder);
        tw_free(rt, places->items[places->count].where);
    }
    tw_free(rt, places->items);
    places->items = NULL;
}

int tw_find_program(struct tw_runtime *rt, const char *name, char **path, char **where, struct tw_error *error)
{
    struct tw_places places = {NULL, 0};
    struct tw_file_info info;
    unsigned step;
    size_t done = 0;
    int status;

    *path = *where = NULL;
    for (step = 0;; step++) {
        status = tw_find_places(rt, TW_PLACE_PROGRAMS, step, &places, error);
        if (status == TW_ERROR_NOT_FOUND) {
            status = tw_fail(error, TW_ERROR_NO_TOOL, "%s not found in $CUDA_HOME/bin, $CUDA_PATH/bin, "
                             "/usr/local/cuda*/bin, $PATH, Python's nvidia folders and build/cuda", name);
            goto fail;
        }
        if (status != TW_OK)
            goto fail;
        for (; done < places.count; done++) {
            *path = tw_format(rt, "%s/%s", places.items[done].folder, name);
            if (!*path) {
                status = no_find_memory(error);
                goto fail;
            }
            if (!rt->files.stat(rt->files.self, *path, &info) && info.is_regular) {
                *where = tw_strdup(rt, places.items[done].where);
                if (!*where) {
                    status = no_find_memory(error);
                    goto fail;
                }
                tw_places_free(rt, &places);
                return TW_OK;
            }
            tw_free(rt, *path);
            *path = NULL;
        }
    }

fail:
    tw_free(rt, *path);
    *path = NULL;
    tw_places_free(rt, &places);
    return status;
}

/* Whether a folder of headers has the header that every toolkit and its Python packages bring. */
static bool has_headers(struct tw_runtime *rt, const struct tw_place *place)
{
    struct tw_file_info info;
    char path[8192];

    return snprintf(path, sizeof path, "%s/cuda_fp16.h", place->folder) < (int)sizeof path &&
           !rt->files.stat(rt->files.self, path, &info) && info.is_regular;
}

int tw_find_headers(struct tw_runtime *rt, struct tw_places *places, struct tw_error *error)
{
    struct tw_place moved;
    size_t i, first, kept = 0;
    unsigned step;
    int status;

    for (step = 0;; step++) {
        status = tw_find_places(rt, TW_PLACE_HEADERS, step, places, error);
        if (status != TW_OK)
            break;
        for (first = 0; first < places->count && !has_headers(rt, &places->items[first]); first++)
            ;
        if (first == places->count)
            continue;
        /* Keep what is at the same place; the order among those stays. */
        for (i = 0; i < places->count; i++) {
            if (i != first && strcmp(places->items[i].where, places->items[first].where))
                continue;
            moved = places->items[kept];
            places->items[kept] = places->items[i];
            places->items[i] = moved;
            first = first == i ? kept : first == kept ? i : first;
            kept++;
        }
        for (i = kept; i < places->count; i++) {
            tw_free(rt, places->items[i].folder);
            tw_free(rt, places->items[i].where);
        }
        places->count = kept;
        return TW_OK;
    }
    tw_places_free(rt, places);
    return status == TW_ERROR_NOT_FOUND
               ? tw_fail(error, TW_ERROR_NOT_FOUND, "no headers of the CUDA toolkit: no cuda_fp16.h in $CUDA_HOME, "
                         "$CUDA_PATH, /usr/local/cuda*, /opt/cuda, /usr/include, Python's nvidia folders and "
                         "build/cuda")
               : status;
}

int tw_find_library(struct tw_runtime *rt, const char *folder, const char *stem, int major, char *path,
                    size_t path_bytes, int *found_major, int *found_minor)
{
    struct tw_files *files = &rt->files;
    int version_major, version_minor, used, length;
    char prefix[128], name[256];
    const char *rest;
    void *handle;
    bool found = false;

    length = snprintf(prefix, sizeof prefix, "lib%s.so", stem);
    if (length < 0 || (size_t)length >= sizeof prefix || files->folder_open(files->self, folder, &handle))
        return TW_ERROR_NOT_FOUND;
    *found_major = *found_minor = -1;
    while (files->folder_next(files->self, handle, name, sizeof name) > 0) {
        if (strncmp(name, prefix, (size_t)length))
            continue;
        rest = name + length;
        version_major = 0;
        version_minor = -1;
        used = 0;
        if (*rest && (sscanf(rest, ".%4d%n", &version_major, &used) < 1 || !used))
            continue;
        rest += used;
        used = 0;
        if (*rest && (sscanf(rest, ".%4d%n", &version_minor, &used) < 1 || !used))
            continue;
        rest += used;
        if (rest[strspn(rest, ".0123456789")] || (major && version_major != major))
            continue;
        if (found && (version_major < *found_major ||
                      (version_major == *found_major && version_minor <= *found_minor)))
            continue;
        if (snprintf(path, path_bytes, "%s/%s", folder, name) >= (int)path_bytes)
            continue;
        found = true;
        *found_major = version_major;
        *found_minor = version_minor;
    }
    files->folder_close(files->self, handle);
    return found ? TW_OK : TW_ERROR_NOT_FOUND;
}

static void print_hex(const unsigned char *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";

    while (count--) {
        *out++ = digits[*bytes >> 4];
        *out++ = digits[*bytes++ & 15];
    }
    *out = '\0';
}

/* The GNU build-id note among the program headers of an open ELF64 file; 0 where there is none. A file read forward:
   headers and notes stand at its beginning, in the first pages. */
static int note_build_id(const unsigned char *bytes, size_t count, char *out)
{
    uint64_t table, offset, size;
    uint32_t type, name_bytes, data_bytes, note_type;
    uint16_t entry_bytes, entries, i;
    const unsigned char *h;
    size_t at, end;

    if (count < 64 || memcmp(bytes, "\177ELF\2", 5))
        return 0;
    memcpy(&table, bytes + 32, 8);
    memcpy(&entry_bytes, bytes + 54, 2);
    memcpy(&entries, bytes + 56, 2);
    for (i = 0; i < entries; i++) {
        if (entry_bytes < 56 || table > count || (uint64_t)(i + 1) * entry_bytes > count - table)
            return 0;
        h = bytes + table + (size_t)i * entry_bytes;
        type = u32_at(h);
        memcpy(&offset, h + 8, 8);
        memcpy(&size, h + 32, 8);
        if (type != 4 /* PT_NOTE */ || offset > count || size > count - offset)
            continue;
        end = (size_t)(offset + size);
        for (at = (size_t)offset; end - at >= 12;) {
            name_bytes = u32_at(bytes + at);
            data_bytes = u32_at(bytes + at + 4);
            note_type = u32_at(bytes + at + 8);
            at += 12;
            if (name_bytes > 65536 || data_bytes > 65536 ||
                ((size_t)name_bytes + 3) / 4 * 4 + ((size_t)data_bytes + 3) / 4 * 4 > end - at)
                break;
            if (note_type == 3 /* NT_GNU_BUILD_ID */ && name_bytes == 4 && !memcmp(bytes + at, "GNU", 4) &&
                data_bytes >= 8 && data_bytes <= 32) {
                print_hex(bytes + at + 4, data_bytes, out);
                return 1;
            }
            at += ((size_t)name_bytes + 3) / 4 * 4 + ((size_t)data_bytes + 3) / 4 * 4;
        }
    }
    return 0;
}

int tw_build_id(struct tw_runtime *rt, const char *path, char *out, struct tw_error *error)
{
    enum { PART = 65536 };
    XXH128_canonical_t hash;
    XXH3_state_t state;
    unsigned char *bytes = NULL;
    int file, result, status = TW_OK;
    size_t got;

    file = rt->files.open(rt->files.self, path, O_RDONLY, 0);
    if (file < 0)
        return tw_fail(error, TW_ERROR_FILE, "%s: %s", path, strerror(-file));
    bytes = tw_alloc(rt, PART);
    if (!bytes) {
        status = no_find_memory(error);
        goto done;
    }
    XXH3_128bits_reset(&state);
    result = tw_read_all(rt, file, bytes, PART, &got);
    if (result >= 0 && note_build_id(bytes, got, out))
        goto done;
    while (result >= 0 && got) {
        XXH3_128bits_update(&state, bytes, got);
        result = tw_read_all(rt, file, bytes, PART, &got);
    }
    if (result < 0) {
        status = tw_fail(error, TW_ERROR_FILE, "%s: %s", path, strerror(-result));
        goto done;
    }
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(&state));
    memcpy(out, "hash-", 5);
    print_hex(hash.digest, sizeof hash.digest, out + 5);

done:
    rt->files.close(rt->files.self, file);
    tw_free(rt, bytes);
    return status;
}
