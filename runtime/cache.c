#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cache_entry.h"

/* How long to wait for another process that compiles the same key: longer than any compile takes. After that, compile
   as well. */
#define LOCK_SECONDS 30.0
#define LOCK_POLL_SECONDS 0.01

/* Larger files are no entries. */
#define MAX_ENTRY_BYTES ((size_t)1 << 30)

static const char entry_magic[8] = {'T', 'W', 'C', 'A', 'C', 'H', 'E', '1'};

static int no_memory(struct tw_error *error)
{
    return tw_fail(error, TW_ERROR_MEMORY, "no memory for the cache");
}

static void put_number(unsigned char *out, uint64_t value, size_t bytes)
{
    while (bytes--) {
        *out++ = (unsigned char)value;
        value >>= 8;
    }
}

static uint64_t get_number(const unsigned char *in, size_t bytes)
{
    uint64_t value = 0;

    while (bytes--)
        value = value << 8 | in[bytes];
    return value;
}

/* Keys and names. */

int tw_cache_folder(struct tw_runtime *rt, char **folder, struct tw_error *error)
{
    const char *own = tw_variable(rt, "TILEWRIGHT_CACHE"), *xdg = tw_variable(rt, "XDG_CACHE_HOME");
    const char *home = tw_variable(rt, "HOME");

    *folder = NULL;
    if (own && !strcmp(own, "off"))
        return TW_OK;
    if (own)
        *folder = tw_strdup(rt, own);
    else if (xdg && xdg[0] == '/') /* the XDG base directory specification: a relative path is ignored */
        *folder = tw_format(rt, "%s/tilewright", xdg);
    else if (home)
        *folder = tw_format(rt, "%s/.cache/tilewright", home);
    else
        return TW_OK;
    return *folder ? TW_OK : no_memory(error);
}

static void hash_bytes(XXH3_state_t *state, const void *bytes, size_t count)
{
    unsigned char length[8];

    put_number(length, count, sizeof length);
    XXH3_128bits_update(state, length, sizeof length);
    if (count)
        XXH3_128bits_update(state, bytes, count);
}

static void hash_text(XXH3_state_t *state, const char *text)
{
    hash_bytes(state, text, strlen(text));
}

static void hash_number(XXH3_state_t *state, uint64_t value)
{
    unsigned char bytes[8];

    put_number(bytes, value, sizeof bytes);
    hash_bytes(state, bytes, sizeof bytes);
}

int tw_cache_key(struct tw_runtime *rt, const struct tw_compile_request *request, const char *build_id,
                 struct tw_cache_key *key, struct tw_error *error)
{
    const char **sorted;
    XXH128_canonical_t hash;
    XXH3_state_t state;
    size_t i;

    if (!request->source || !request->name || !request->entry || !request->arch)
        return tw_fail(error, TW_ERROR_INVALID, "a compile needs source, name, entry and architecture");
    sorted = tw_sorted_options(rt, request);
    if (!sorted)
        return no_memory(error);
    XXH3_128bits_reset(&state);
    hash_bytes(&state, entry_magic, sizeof entry_magic);
    hash_bytes(&state, request->source, request->source_bytes);
    hash_text(&state, request->name);
    hash_text(&state, request->entry);
    hash_text(&state, request->arch);
    hash_number(&state, request->option_count);
    for (i = 0; i < request->option_count; i++)
        hash_text(&state, sorted[i]);
    hash_number(&state, request->allow_count);
    for (i = 0; i < request->allow_count; i++)
        hash_text(&state, request->allow[i]);
    hash_number(&state, request->outputs ? request->outputs : TW_OUTPUT_CUBIN);
    hash_text(&state, build_id);
    hash_number(&state, request->generator);
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(&state));
    for (i = 0; i < sizeof hash.digest; i++)
        snprintf(key->hex + 2 * i, 3, "%02x", hash.digest[i]);
    tw_free(rt, sorted);
    return TW_OK;
}

char *tw_cache_path(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key, const char *suffix)
{
    return tw_format(rt, "%s/%s%s", folder, key->hex, suffix);
}

/* Reading an entry. */

static int damaged(struct tw_error *error, const char *why)
{
    return tw_fail(error, TW_ERROR_DAMAGED, "%s", why);
}

int tw_cache_parse(const unsigned char *bytes, size_t count, const struct tw_cache_key *key, struct cache_span *fields,
                struct tw_error *error)
{
    XXH128_canonical_t hash;
    size_t at = CACHE_HEADER, f;
    uint64_t length;

    if (count < CACHE_HEADER)
        return damaged(error, "shorter than a header");
    if (memcmp(bytes, entry_magic, sizeof entry_magic))
        return damaged(error, "no cache entry of this version");
    if (get_number(bytes + 8, 8) != count)
        return damaged(error, "not as long as its header says");
    XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes + 32, count - 32));
    if (memcmp(hash.digest, bytes + 16, sizeof hash.digest))
        return damaged(error, "wrong checksum");
    if (key && memcmp(bytes + 32, key->hex, 32))
        return damaged(error, "an entry of another key");
    for (f = 0; f < CACHE_FIELDS; f++) {
        if (count - at < 8)
            return damaged(error, "a field is missing");
        length = get_number(bytes + at, 8);
        at += 8;
        if (length > count - at)
            return damaged(error, "a field is cut");
        fields[f].at = bytes + at;
        fields[f].bytes = (size_t)length;
        at += (size_t)length;
    }
    return at == count ? TW_OK : damaged(error, "bytes behind the last field");
}

void tw_cache_parse_info(struct cache_span span, struct tw_cubin_info *info)
{
    uint32_t *values[] = {
        &info->registers,       &info->static_shared,   &info->frame,    &info->stack,
        &info->max_threads,     &info->required_threads, &info->parameter_bytes, &info->parameter_count,
        &info->barriers,        &info->spill_instructions, &info->code_bytes,
    };
    size_t i;

    memset(info, 0, sizeof *info);
    for (i = 0; i < sizeof values / sizeof *values && (i + 1) * 4 <= span.bytes; i++)
        *values[i] = (uint32_t)get_number(span.at + 4 * i, 4);
}

static size_t print_info(const struct tw_cubin_info *info, unsigned char *out)
{
    const uint32_t values[] = {
        info->registers,       info->static_shared,    info->frame,           info->stack,
        info->max_threads,     info->required_threads, info->parameter_bytes, info->parameter_count,
        info->barriers,        info->spill_instructions, info->code_bytes,
    };
    size_t i;

    for (i = 0; i < sizeof values / sizeof *values; i++)
        put_number(out + 4 * i, values[i], 4);
    return sizeof values;
}

/* A copy with a zero behind it. */
static void *copy_span(struct tw_runtime *rt, struct cache_span span)
{
    char *copy = tw_alloc(rt, span.bytes + 1);

    if (copy) {
        memcpy(copy, span.at, span.bytes);
        copy[span.bytes] = '\0';
    }
    return copy;
}

int tw_cache_load(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key, struct tw_compiled *out,
                  struct tw_error *error)
{
    struct cache_span fields[CACHE_FIELDS];
    unsigned char *bytes = NULL;
    char *path;
    size_t count;
    int status;

    path = tw_cache_path(rt, folder, key, CACHE_SUFFIX);
    if (!path)
        return no_memory(error);
    status = tw_read_regular_file(rt, path, MAX_ENTRY_BYTES, &bytes, &count, error);
    if (status != TW_OK)
        goto done;
    status = tw_cache_parse(bytes, count, key, fields, error);
    if (status != TW_OK)
        goto done;
    out->log = copy_span(rt, fields[CACHE_LOG]);
    if (fields[CACHE_CUBIN].bytes)
        out->cubin = copy_span(rt, fields[CACHE_CUBIN]);
    if (fields[CACHE_PTX].bytes)
        out->ptx = copy_span(rt, fields[CACHE_PTX]);
    if (!out->log || (fields[CACHE_CUBIN].bytes && !out->cubin) || (fields[CACHE_PTX].bytes && !out->ptx)) {
        tw_free(rt, out->log);
        tw_free(rt, out->cubin);
        tw_free(rt, out->ptx);
        out->log = out->ptx = NULL;
        out->cubin = NULL;
        status = no_memory(error);
        goto done;
    }
    out->cubin_bytes = fields[CACHE_CUBIN].bytes;
    out->ptx_bytes = fields[CACHE_PTX].bytes;
    tw_cache_parse_info(fields[CACHE_INFO], &out->info);

done:
    tw_free(rt, bytes);
    tw_free(rt, path);
    return status;
}

/* Writing an entry. */

/* Make a folder and those above it. 0 or -errno; one that is there already is no error. */
static int make_folders(struct tw_runtime *rt, const char *folder)
{
    char path[4096];
    size_t length = strlen(folder), i;
    int result = -ENOENT;

    if (!length || length >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, folder, length + 1);
    for (i = 1; i <= length; i++) {
        if (path[i] && path[i] != '/')
            continue;
        path[i] = '\0';
        result = rt->files.mkdir(rt->files.self, path, 0700);
        path[i] = folder[i];
    }
    return result == -EEXIST ? 0 : result;
}

/* Open a file for writing, making its folder if that is what is missing. */
static int open_making_folder(struct tw_runtime *rt, const char *folder, const char *path, int flags)
{
    int file = rt->files.open(rt->files.self, path, flags, 0644), result;

    if (file != -ENOENT)
        return file;
    result = make_folders(rt, folder);
    return result < 0 ? result : rt->files.open(rt->files.self, path, flags, 0644);
}

/* The whole file in memory; the caller frees it. */
static unsigned char *print_entry(struct tw_runtime *rt, const struct tw_cache_key *key,
                                  const struct cache_span *fields, size_t *count)
{
    XXH128_canonical_t hash;
    unsigned char *bytes;
    size_t at = CACHE_HEADER, f;

    *count = CACHE_HEADER;
    for (f = 0; f < CACHE_FIELDS; f++)
        *count += 8 + fields[f].bytes;
    bytes = tw_alloc(rt, *count);
    if (!bytes)
        return NULL;
    memcpy(bytes, entry_magic, sizeof entry_magic);
    put_number(bytes + 8, *count, 8);
    memcpy(bytes + 32, key->hex, 32);
    for (f = 0; f < CACHE_FIELDS; f++) {
        put_number(bytes + at, fields[f].bytes, 8);
        at += 8;
        if (fields[f].bytes)
            memcpy(bytes + at, fields[f].at, fields[f].bytes);
        at += fields[f].bytes;
    }
    XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes + 32, *count - 32));
    memcpy(bytes + 16, hash.digest, sizeof hash.digest);
    return bytes;
}

static struct cache_span text_span(const char *text)
{
    struct cache_span span = {(const unsigned char *)text, text ? strlen(text) : 0};

    return span;
}

int tw_cache_store(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key,
                   const struct tw_compile_request *request, const char *build_id, const struct tw_compiled *compiled,
                   struct tw_error *error)
{
    struct cache_span fields[CACHE_FIELDS];
    unsigned char info[sizeof compiled->info];
    unsigned char *bytes = NULL;
    char *path, *temporary = NULL;
    int file = -1, result, status, attempt;
    uint64_t stamp;
    size_t count;

    fields[CACHE_ENTRY] = text_span(request->entry);
    fields[CACHE_ARCH] = text_span(request->arch);
    fields[CACHE_NAME] = text_span(request->name);
    fields[CACHE_BUILD_ID] = text_span(build_id);
    fields[CACHE_INFO].at = info;
    fields[CACHE_INFO].bytes = print_info(&compiled->info, info);
    fields[CACHE_CUBIN].at = compiled->cubin;
    fields[CACHE_CUBIN].bytes = compiled->cubin_bytes;
    fields[CACHE_PTX].at = (const unsigned char *)compiled->ptx;
    fields[CACHE_PTX].bytes = compiled->ptx_bytes;
    fields[CACHE_LOG] = text_span(compiled->log);
    path = tw_cache_path(rt, folder, key, CACHE_SUFFIX);
    bytes = print_entry(rt, key, fields, &count);
    if (!path || !bytes) {
        status = no_memory(error);
        goto done;
    }

    /* Process number and time make the name unique; O_EXCL proves it, across machines too. */
    stamp = (uint64_t)(rt->process.now(rt->process.self) * 1e9);
    for (attempt = 0; attempt < 16; attempt++) {
        tw_free(rt, temporary);
        temporary = tw_format(rt, "%s/%s.%ld-%llx.tmp", folder, key->hex, (long)getpid(),
                              (unsigned long long)stamp + (unsigned)attempt);
        if (!temporary) {
            status = no_memory(error);
            goto done;
        }
        file = open_making_folder(rt, folder, temporary, O_WRONLY | O_CREAT | O_EXCL);
        if (file != -EEXIST)
            break;
    }
    if (file < 0) {
        status = tw_fail(error, TW_ERROR_FILE, "%s cannot be made: %s", temporary, strerror(-file));
        goto done;
    }
    result = tw_write_all(rt, file, bytes, count);
    if (!result)
        result = rt->files.sync(rt->files.self, file);
    if (result)
        rt->files.close(rt->files.self, file);
    else
        result = rt->files.close(rt->files.self, file);
    if (!result)
        result = rt->files.rename(rt->files.self, temporary, path);
    if (result) {
        rt->files.unlink(rt->files.self, temporary);
        status = tw_fail(error, TW_ERROR_FILE, "%s cannot be written: %s", path, strerror(-result));
        goto done;
    }
    status = TW_OK;

done:
    tw_free(rt, temporary);
    tw_free(rt, bytes);
    tw_free(rt, path);
    return status;
}

/* The two together. */

/* An entry into *out, counting a damaged or unreadable one as a miss that the note mentions. TW_OK, TW_ERROR_NOT_FOUND
   or TW_ERROR_MEMORY. */
static int look_up(struct tw_runtime *rt, const char *folder, const struct tw_cache_key *key, struct tw_compiled *out,
                   struct tw_error *error)
{
    struct tw_error why = {""};
    int status = tw_cache_load(rt, folder, key, out, &why);

    if (status == TW_OK) {
        out->cache = TW_CACHE_HIT;
        return TW_OK;
    }
    if (status == TW_ERROR_MEMORY)
        return no_memory(error);
    if (status != TW_ERROR_NOT_FOUND)
        snprintf(out->note, sizeof out->note, "entry %s not used: %.200s", key->hex, why.text);
    return TW_ERROR_NOT_FOUND;
}

/* Of an entry that has cubin and PTX both, the one that the request asks for: the same bytes as alone. Not where the
   compiler had something to say, as each would have said its own. */
static int look_up_both(struct tw_runtime *rt, const char *folder, const struct tw_compile_request *request,
                        struct tw_compiled *out, struct tw_error *error)
{
    struct tw_compile_request both = *request;
    struct tw_compiled found = {.cubin = NULL};
    struct tw_cache_key key;
    int status;

    both.outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
    if (request->outputs == both.outputs)
        return TW_ERROR_NOT_FOUND;
    status = tw_cache_key(rt, &both, rt->nvrtc->build_id, &key, error);
    if (status != TW_OK)
        return status;
    status = look_up(rt, folder, &key, &found, error);
    if (status != TW_OK || *found.log) {
        tw_compiled_free(rt, &found);
        return status == TW_ERROR_MEMORY ? status : TW_ERROR_NOT_FOUND;
    }
    if (request->outputs == TW_OUTPUT_PTX) {
        tw_free(rt, found.cubin);
        out->ptx = found.ptx;
        out->ptx_bytes = found.ptx_bytes;
    } else {
        tw_free(rt, found.ptx);
        out->cubin = found.cubin;
        out->cubin_bytes = found.cubin_bytes;
        out->info = found.info;
    }
    out->log = found.log;
    out->cache = TW_CACHE_HIT;
    return TW_OK;
}

/* Take the key's lock, or go on without it: -1 where it cannot be had. Waiting ends early, with *status TW_OK, when the
   entry has come. */
static int wait_for_lock(struct tw_runtime *rt, const char *folder, const char *lock_path,
                         const struct tw_cache_key *key, struct tw_compiled *out, int *status, struct tw_error *error)
{
    double begin = rt->process.now(rt->process.self);
    int file = open_making_folder(rt, folder, lock_path, O_RDWR | O_CREAT), result;

    if (file < 0)
        return -1;
    while ((result = rt->files.lock(rt->files.self, file)) == -EWOULDBLOCK) {
        if (rt->process.now(rt->process.self) - begin > LOCK_SECONDS)
            break;
        rt->process.sleep(rt->process.self, LOCK_POLL_SECONDS);
        *status = look_up(rt, folder, key, out, error);
        if (*status != TW_ERROR_NOT_FOUND)
            break;
    }
    out->wait_seconds = rt->process.now(rt->process.self) - begin;
    if (!result)
        return file;
    rt->files.close(rt->files.self, file);
    return -1;
}

int tw_compile_cached(struct tw_runtime *rt, const struct tw_compile_request *request, struct tw_compiled *out,
                      struct tw_error *error)
{
    struct tw_error why = {""};
    struct tw_cache_key key;
    char *folder = NULL, *lock_path = NULL;
    double begin = rt->process.now(rt->process.self), end;
    int lock = -1, status;

    status = tw_nvrtc_find(rt, error);
    if (status != TW_OK)
        return status;
    status = tw_cache_folder(rt, &folder, error);
    if (status != TW_OK)
        return status;
    end = rt->process.now(rt->process.self);
    out->find_seconds = end - begin;
    if (!folder)
        return tw_compile(rt, request, out, error);

    begin = end;
    status = tw_cache_key(rt, request, rt->nvrtc->build_id, &key, error);
    if (status == TW_OK)
        status = look_up(rt, folder, &key, out, error);
    if (status == TW_ERROR_NOT_FOUND)
        status = look_up_both(rt, folder, request, out, error);
    out->lookup_seconds = rt->process.now(rt->process.self) - begin;
    if (status != TW_ERROR_NOT_FOUND)
        goto done;

    lock_path = tw_cache_path(rt, folder, &key, ".lock");
    if (!lock_path) {
        status = no_memory(error);
        goto done;
    }
    lock = wait_for_lock(rt, folder, lock_path, &key, out, &status, error);
    if (status == TW_ERROR_NOT_FOUND && lock >= 0) /* whoever held the lock before may have stored it */
        status = look_up(rt, folder, &key, out, error);
    if (status != TW_ERROR_NOT_FOUND)
        goto done;

    status = tw_compile(rt, request, out, error);
    if (status != TW_OK)
        goto done;
    begin = rt->process.now(rt->process.self);
    out->cache = TW_CACHE_MISS;
    if (tw_cache_store(rt, folder, &key, request, rt->nvrtc->build_id, out, &why) != TW_OK) {
        out->cache = TW_CACHE_UNSTORED;
        snprintf(out->note, sizeof out->note, "not cached: %.240s", why.text);
    }
    out->store_seconds = rt->process.now(rt->process.self) - begin;

done:
    if (lock >= 0) {
        rt->files.unlink(rt->files.self, lock_path); /* those who wait on it get it all the same, and find the entry */
        rt->files.close(rt->files.self, lock);
    }
    tw_free(rt, lock_path);
    tw_free(rt, folder);
    return status;
}
