#include "tune/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "tilewright tune 1 %016llx\n";

static int keep(struct journal *j, const char *key, size_t length, double ns)
{
    struct journal_entry *grown = arena_grow(&j->arena, j->entry, j->count, sizeof *grown);
    char *copy = arena_copy(&j->arena, key, length);
    if (!grown || !copy)
        return TW_ERROR_MEMORY;
    j->entry = grown;
    grown[j->count++] = (struct journal_entry){copy, ns};
    return TW_OK;
}

/* Takes the whole lines of the text; *end: behind the last. */
static int take_lines(struct journal *j, const char *text, size_t *end)
{
    int status = TW_OK;
    *end = 0;
    for (const char *line = text, *stop; status == TW_OK && (stop = strchr(line, '\n')) != NULL; line = stop + 1) {
        char *tab;
        const double ns = strtod(line, &tab);
        *end = (size_t)(stop + 1 - text);
        if (*tab == '\t' && tab < stop && ns >= 0.0 && ns < 1e15)
            status = keep(j, tab + 1, (size_t)(stop - tab - 1), ns);
    }
    return status;
}

/* Reads what is there; *length: of what is kept of the file. */
static int read_all(struct journal *j, const char *heading, bool resume, size_t *length, struct tw_error *error)
{
    struct stat info;
    unsigned char *bytes;
    size_t count;
    *length = 0;
    if (!resume || stat(j->path, &info) != 0)
        return TW_OK;
    int status = tw_read_file(j->rt, j->path, 0, &bytes, &count, error);
    if (status != TW_OK)
        return status;
    char *text = arena_copy(&j->arena, (const char *)bytes, count);
    tw_free(j->rt, bytes);
    if (!text)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    const size_t first = strlen(heading);
    if (strncmp(text, heading, first) != 0 && strchr(text, '\n'))
        return tw_fail(
            error, TW_ERROR_INVALID,
            "%s is of another spec or version, and nothing in it holds; leave out --resume, which begins anew",
            j->path);
    if (strncmp(text, heading, first) == 0) {
        status = take_lines(j, text + first, length);
        *length += first;
    }
    return status == TW_OK ? TW_OK : tw_fail(error, status, "out of memory");
}

static int write_text(struct journal *j, const char *text, struct tw_error *error)
{
    if (tw_write_all(j->rt, j->file, text, strlen(text)) != 0)
        return tw_fail(error, TW_ERROR_FILE, "cannot write %s", j->path);
    return TW_OK;
}

int journal_open(struct journal *j, struct tw_runtime *rt, const char *path, uint64_t fingerprint, bool resume,
                 struct tw_error *error)
{
    char heading[64];
    size_t length;
    memset(j, 0, sizeof *j);
    j->rt = rt;
    j->file = -1;
    j->path = arena_text(&j->arena, path);
    if (!j->path)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    snprintf(heading, sizeof heading, first_line, (unsigned long long)fingerprint);
    int status = read_all(j, heading, resume, &length, error);
    if (status != TW_OK)
        return status;
    j->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (j->file < 0 || ftruncate(j->file, (off_t)length) != 0 || lseek(j->file, (off_t)length, SEEK_SET) < 0)
        return tw_fail(error, TW_ERROR_FILE, "cannot write %s, the journal of what is measured", path);
    return length ? TW_OK : write_text(j, heading, error);
}

const struct journal_entry *journal_find(const struct journal *j, const char *key)
{
    for (int i = j->count - 1; i >= 0; i--)
        if (strcmp(j->entry[i].key, key) == 0)
            return &j->entry[i];
    return NULL;
}

int journal_add(struct journal *j, const char *key, double ns, struct tw_error *error)
{
    char *line = arena_format(&j->arena, "%.3f\t%s\n", ns, key);
    if (!line || keep(j, key, strlen(key), ns) != TW_OK)
        return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
    return write_text(j, line, error);
}

void journal_sync(struct journal *j)
{
    if (j->file >= 0)
        fdatasync(j->file);
}

void journal_close(struct journal *j, bool remove)
{
    if (j->file >= 0)
        close(j->file);
    if (remove && j->path)
        unlink(j->path);
    arena_free(&j->arena);
    memset(j, 0, sizeof *j);
    j->file = -1;
}
