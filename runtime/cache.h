/* The cache of compiled kernels on disk.

   A key is the XXH3 128-bit hash over source bytes, file name, entry, exact architecture, sorted options, outputs,
   allowed messages, NVRTC's build-id and the generator version, each preceded by its length. An entry is one
   checksummed file KEY.twc with cubin, PTX, log and metadata, so that nothing can be mixed; it is written under a
   temporary name in the same folder, synced and renamed. A damaged or short entry is a miss and is replaced. A lock per
   key keeps processes from compiling the same kernel at once; correctness never depends on it. No times are in the key.
   Who wants a cubin alone, or PTX alone, is also served by an entry that has both.

   Environment: $TILEWRIGHT_CACHE, else $XDG_CACHE_HOME/tilewright, else $HOME/.cache/tilewright, else no cache.
   TILEWRIGHT_CACHE=off switches it off. */
#ifndef TW_CACHE_H
#define TW_CACHE_H

#include <stdint.h>

#include "nvrtc.h"

struct tw_cache_key {
    char hex[33];
};

/* The cache's folder: *folder is a new string that the caller frees, or NULL where there is no cache. */
int tw_cache_folder(struct tw_runtime *rt, char **folder, struct tw_error *error);

/* The request's key under this NVRTC. */
int tw_cache_key(struct tw_runtime *rt, const struct tw_compile_request *request, const char *build_id,
                 struct tw_cache_key *key, struct tw_error *error);

/* Read an entry. TW_OK: *out filled; TW_ERROR_NOT_FOUND: none; TW_ERROR_DAMAGED, TW_ERROR_FILE: it cannot be used. */
int tw_cache_load(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key, struct tw_compiled *out,
                  struct tw_error *error);

/* Write an entry, making the folder if it is missing. An entry that is there already is replaced. */
int tw_cache_store(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key,
                   const struct tw_compile_request *request, const char *build_id, const struct tw_compiled *compiled,
                   struct tw_error *error);

/* Compile through the cache: a hit opens no NVRTC, only reads its build-id from its file. Whatever goes wrong with the
   cache, the result is right: then it is compiled, and out->cache and out->note say so. Thread-safe. */
int tw_compile_cached(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
                      struct tw_error *error);

/* One entry as list and verify see it. */
struct tw_cache_item {
    struct tw_cache_key key;
    char path[4096];
    uint64_t bytes;    /* of the file */
    int64_t modified;  /* seconds since the epoch */
    int status;        /* TW_OK, or what is wrong with it */
    char why[128];     /* in words, "" if TW_OK */
    char entry[256];   /* the rest as stored, "" or 0 if damaged; long names are cut */
    char arch[32];
    char build_id[72];
    uint32_t registers;
    uint64_t cubin_bytes;
    uint64_t ptx_bytes;
};

/* All entries, sorted by key: *items is a new array that the caller frees, each read and checked in full. A folder that
   does not exist has none. */
int tw_cache_list(struct tw_runtime *rt, const char *folder, struct tw_cache_item **items, size_t *count,
                  struct tw_error *error);

/* What gc did. */
struct tw_cache_swept {
    size_t removed, kept;                   /* entries */
    uint64_t removed_bytes, kept_bytes;
    size_t leftovers;                       /* temporary and lock files of processes that died */
};

/* Remove damaged entries, entries older than max_age seconds, then the oldest until at most max_bytes remain, and
   leftovers more than an hour old. Negative max_age, or max_bytes UINT64_MAX: no such limit. */
int tw_cache_gc(struct tw_runtime *rt, const char *folder, uint64_t max_bytes, double max_age,
                struct tw_cache_swept *swept, struct tw_error *error);

#endif
