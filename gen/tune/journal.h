/* What tuning has measured, on disk from the moment on that it was: a line each, "NS<tab>KEY", behind a first line that
 * names the spec's text. A line without its end, of a process that was killed, is none. */
#ifndef TW_GEN_TUNE_JOURNAL_H
#define TW_GEN_TUNE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"
#include "spec/arena.h"

struct journal_entry {
    const char *key;
    double ns; /* 0: it cannot be launched */
};

struct journal {
    struct tw_runtime *rt;
    struct arena arena;
    char *path;
    int file; /* -1: it is not open */
    struct journal_entry *entry;
    int count;
};

/* Opens the journal at `path` for the spec that `fingerprint` stands for. resume: what it holds is kept, where it is of
 * that spec; else it begins anew. A status; TW_ERROR_INVALID: it is of another spec. journal_close is due. */
int journal_open(struct journal *j, struct tw_runtime *rt, const char *path, uint64_t fingerprint, bool resume,
                 struct tw_error *error);

/* The entry of the key; NULL: it was not measured. The last of equals counts. */
const struct journal_entry *journal_find(const struct journal *j, const char *key);

/* Adds an entry, in memory and to the file, where the end of this process does it no harm. */
int journal_add(struct journal *j, const char *key, double ns, struct tw_error *error);

/* From now on the end of the machine does none to what was added either: some milliseconds, once for many entries. */
void journal_sync(struct journal *j);

/* remove: the file too, as nothing is to be resumed. */
void journal_close(struct journal *j, bool remove);

#endif
