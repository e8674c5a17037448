/* Files that are written together or not at all. */
#ifndef TW_GEN_COMMON_FILES_H
#define TW_GEN_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "hooks.h"

/* One file to be. */
struct file_entry {
    char *path;
    const void *bytes; /* the caller's, until files_commit */
    size_t count;
    void *owned;       /* freed with the set; NULL where the bytes are the caller's */
    char *temporary;   /* while it is being written */
    char *target;      /* the file that a link at `path` leads to, which is the one to be written; NULL: path itself */
    bool in_place;     /* the path names what is no regular file, such as a device or a pipe: it is written into */
};

/* Zero-initialised but for rt is empty. */
struct file_set {
    struct tw_runtime *rt;
    struct file_entry *entry;
    size_t count, capacity;
};

/* Adds DIR/NAME (or NAME, where folder is NULL) with these bytes; a second one of a path takes the first one's place.
 * With `own` the bytes are tw_alloc memory that the set frees, also where it fails. TW_OK or TW_ERROR_MEMORY. */
int files_add(struct file_set *set, const char *folder, const char *name, const void *bytes, size_t count,
               bool own, struct tw_error *error);

/* Makes missing folders, writes everything under temporary names beside the final ones, then renames. Where anything
 * fails before the first rename, no file has changed and no temporary one stays. A file that holds its bytes already is
 * left alone, so that build systems see no change. Only regular files are replaced: a link stays and what it leads to
 * is written, and devices and pipes get the bytes written into them, before the first rename. */
int files_commit(struct file_set *set, struct tw_error *error);
void files_free(struct file_set *set);

/* Makes a folder with those above it. */
int files_folder(struct tw_runtime *rt, const char *path, struct tw_error *error);

#endif
