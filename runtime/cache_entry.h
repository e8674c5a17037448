/* The file format of one cache entry; used by cache.c and cache_list.c only.

     offset  0  "TWCACHE1"
             8  bytes of the whole file, 64-bit
            16  XXH3 128-bit checksum of everything from offset 32 on, canonical (big-endian) form
            32  the key, 32 hexadecimal digits
            64  fields, each 64-bit length and bytes, in the order of enum cache_field

   Numbers are little-endian. A file of any other length or content is damaged. */
#ifndef TW_CACHE_ENTRY_H
#define TW_CACHE_ENTRY_H

#include "cache.h"

enum cache_field {
    CACHE_ENTRY,    /* text */
    CACHE_ARCH,     /* text */
    CACHE_NAME,     /* text */
    CACHE_BUILD_ID, /* text */
    CACHE_INFO,     /* struct tw_cubin_info as 32-bit numbers, in the order of its fields */
    CACHE_CUBIN,
    CACHE_PTX,
    CACHE_LOG,
    CACHE_FIELDS
};

#define CACHE_SUFFIX ".twc"
#define CACHE_HEADER 64

struct cache_span {
    const unsigned char *at;
    size_t bytes;
};

/* The file of an entry: a new string that the caller frees, NULL without memory. */
char *tw_cache_path(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key, const char *suffix);

/* Check a file's bytes and find its fields, which point into them. key NULL: any. TW_ERROR_DAMAGED says why. */
int tw_cache_parse(const unsigned char *bytes, size_t count, const struct tw_cache_key *key, struct cache_span *fields,
                struct tw_error *error);

/* CACHE_INFO back into a struct; whatever a shorter list lacks is 0. */
void tw_cache_parse_info(struct cache_span span, struct tw_cubin_info *info);

#endif
