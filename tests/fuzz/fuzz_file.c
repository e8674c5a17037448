/* libFuzzer target of files that are read, and of memory that somebody else wrote: each reader of the program on any
   bytes. README.md says how to run it.

   The first byte says what the rest is: c a cache entry; C its fields, behind a header that fits them; i a cubin; b a
   library with a build-id; l the loader's cache; n names of files in the folder of a library and of the cache, one a
   line; m what a compiler logged; d D what a debug build's waits left behind, on hardware and on the emulator; a
   arguments of `tilewright emu`, and whatever file these name; w words of `fill`; x a call as libtilewright-explain.so
   reads it; r rows of results. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <json-c/json.h>
#include <xxhash.h>

#include "cache_entry.h"
#include "cmd/emu/emu_args.h"
#include "device.h"
#include "emu/barrier_word.h"
#include "emu/emu.h"
#include "explain/explain.h"
#include "find_cuda.h"
#include "results/results_internal.h"
#include "spec/fill.h"

#include "../../templates/host/debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a file system of one file ----------------------------------------------------------------------------------- */

/* Whatever is opened has these bytes, and whatever is listed these names. */
static struct file_world {
    const uint8_t *data;
    size_t size;
    const char *only; /* only what ends in this is there; NULL: every file is */
} file_world;

static bool file_there(const char *path)
{
    size_t length = strlen(path), wanted = file_world.only ? strlen(file_world.only) : 0;
    return !file_world.only || (length >= wanted && strcmp(path + length - wanted, file_world.only) == 0);
}

/* What tw_files has. */
static int file_open(void *self, const char *path, int flags, unsigned mode)
{
    (void)self;
    (void)mode;
    if (!file_there(path) || flags & (O_WRONLY | O_RDWR | O_CREAT))
        return -ENOENT;
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, file_world.data, file_world.size) != (ssize_t)file_world.size ||
        lseek(file, 0, SEEK_SET) != 0)
        abort();
    return file;
}

static int file_stat(void *self, const char *path, struct tw_file_info *info)
{
    (void)self;
    if (!file_there(path))
        return -ENOENT;
    *info = (struct tw_file_info){.bytes = file_world.size, .is_regular = 1};
    return 0;
}

static int file_realpath(void *self, const char *path, char *out, size_t out_bytes)
{
    (void)self;
    return snprintf(out, out_bytes, "%s", path) < (int)out_bytes ? 0 : -ENAMETOOLONG;
}

static int folder_open(void *self, const char *path, void **folder)
{
    static const uint8_t *at;
    (void)self;
    (void)path;
    at = file_world.data;
    *folder = &at;
    return 0;
}

/* A name is a line; an empty one and one with a slash is none of a folder. */
static int folder_next(void *self, void *folder, char *name, size_t name_bytes)
{
    const uint8_t **at = folder, *end = file_world.data + file_world.size;
    (void)self;
    while (*at < end) {
        const uint8_t *line = memchr(*at, '\n', (size_t)(end - *at));
        size_t length = (size_t)((line ? line : end) - *at);
        const uint8_t *begin = *at;
        *at = line ? line + 1 : end;
        if (!length || length >= name_bytes || length > 255 || memchr(begin, '/', length) || memchr(begin, 0, length))
            continue;
        memcpy(name, begin, length);
        name[length] = '\0';
        return 1;
    }
    return 0;
}

static void folder_close(void *self, void *folder)
{
    (void)self;
    (void)folder;
}

static int file_unlink(void *self, const char *path)
{
    (void)self;
    (void)path;
    return -EACCES;
}

static const char *file_variable(void *self, const char *name)
{
    (void)self;
    (void)name;
    return NULL;
}

static void file_begin(struct tw_runtime *rt, const uint8_t *data, size_t size, const char *only)
{
    struct tw_error error;
    if (tw_runtime_init(rt, &error) != TW_OK)
        abort();
    file_world = (struct file_world){.data = data, .size = size, .only = only};
    rt->files.open = file_open;
    rt->files.stat = file_stat;
    rt->files.realpath = file_realpath;
    rt->files.folder_open = folder_open;
    rt->files.folder_next = folder_next;
    rt->files.folder_close = folder_close;
    rt->files.unlink = file_unlink;
    rt->process.variable = file_variable;
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static const char file_key[] = "0123456789abcdef0123456789abcdef";

static void file_cache_bytes(const uint8_t *data, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_compiled out = {0};
    struct tw_cache_key key;
    struct cache_span fields[CACHE_FIELDS];
    memcpy(key.hex, file_key, sizeof key.hex);
    file_begin(&rt, data, size, NULL);
    int parsed = tw_cache_parse(data, size, &key, fields, &error),
        loaded = tw_cache_load(&rt, "cache", &key, &out, &error);
    if ((parsed == TW_OK) != (loaded == TW_OK) || (loaded != TW_OK && !error.text[0]))
        abort();
    if (parsed == TW_OK && (out.cubin_bytes != fields[CACHE_CUBIN].bytes || strlen(out.log) > fields[CACHE_LOG].bytes))
        abort();
    tw_compiled_free(&rt, &out);
    tw_runtime_close(&rt);
}

/* The bytes are what follows the header. */
static void file_cache_fields(const uint8_t *data, size_t size)
{
    static const char magic[8] = "TWCACHE1";
    XXH128_canonical_t hash;
    size_t count = size + CACHE_HEADER;
    unsigned char *bytes = malloc(count);
    if (!bytes)
        return;
    memcpy(bytes, magic, sizeof magic);
    for (int i = 0; i < 8; i++)
        bytes[8 + i] = (unsigned char)((uint64_t)count >> 8 * i);
    memcpy(bytes + 32, file_key, 32);
    memcpy(bytes + CACHE_HEADER, data, size);
    XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes + 32, count - 32));
    memcpy(bytes + 16, hash.digest, sizeof hash.digest);
    file_cache_bytes(bytes, count);

    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_cache_item *items = NULL;
    struct cache_span fields[CACHE_FIELDS];
    struct tw_cubin_info info;
    if (tw_cache_parse(bytes, count, NULL, fields, &error) == TW_OK)
        tw_cache_parse_info(fields[CACHE_INFO], &info);
    /* Its own name is not in it: the list has no entry of another one. */
    file_begin(&rt, bytes, count, NULL);
    size_t listed = 0;
    if (tw_cache_list(&rt, "cache", &items, &listed, &error) == TW_OK)
        tw_free(&rt, items);
    tw_runtime_close(&rt);
    free(bytes);
}

static void file_names(const uint8_t *data, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tw_cache_item *items = NULL;
    struct tw_cache_swept swept;
    char path[300];
    size_t count = 0;
    int major, minor;
    file_begin(&rt, data, size, NULL);
    if (tw_find_library(&rt, "lib", "nvrtc", 0, path, sizeof path, &major, &minor) == TW_OK &&
        (major < 0 || minor < -1 || strncmp(path, "lib/libnvrtc.so", 15) != 0))
        abort();
    if (tw_cache_list(&rt, "cache", &items, &count, &error) == TW_OK) {
        for (size_t i = 0; i < count; i++)
            if (items[i].status == TW_OK || !items[i].why[0]) /* these bytes are no entry */
                abort();
        tw_free(&rt, items);
    }
    tw_cache_gc(&rt, "cache", 1000, 10, &swept, &error);
    tw_runtime_close(&rt);
}

/* ---- CUDA's files ------------------------------------------------------------------------------------------------ */

static void file_cubin(const uint8_t *data, size_t size)
{
    struct tw_cubin_info info;
    struct tw_error error;
    char name[256];
    for (unsigned i = 0; i < 8; i++) {
        if (tw_cubin_entry(data, size, i, name, sizeof name, &error) != TW_OK)
            break;
        if (strlen(name) >= sizeof name || (tw_cubin_info(data, size, name, &info, &error) != TW_OK && !error.text[0]))
            abort();
    }
    tw_cubin_info(data, size, "k", &info, &error);
    tw_cubin_entry(data, size, 0, name, 3, &error);
}

static void file_library(const uint8_t *data, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    char id[72];
    file_begin(&rt, data, size, NULL);
    if (tw_build_id(&rt, "libnvrtc.so.13", id, &error) == TW_OK && (strlen(id) < 16 || strlen(id) >= sizeof id))
        abort();
    tw_runtime_close(&rt);
}

static void file_loader_cache(const uint8_t *data, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    file_begin(&rt, data, size, "/etc/ld.so.cache");
    for (unsigned step = 0, status = TW_OK; status == TW_OK && step < 16; step++) {
        struct tw_places places = {0};
        status = (unsigned)tw_find_places(&rt, TW_PLACE_LIBRARIES, step, &places, &error);
        tw_places_free(&rt, &places);
    }
    tw_runtime_close(&rt);
}

/* text: with a zero behind it. */
static void file_log(const char *text)
{
    struct tw_message message;
    const char *cursor = text;
    while (tw_next_message(&cursor, &message))
        if (message.line < text || message.line + message.line_bytes > text + strlen(text) ||
            strlen(message.code) >= sizeof message.code)
            abort();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void file_take_line(void *context, const char *line)
{
    size_t *longest = context, length = strlen(line);
    *longest = length > *longest ? length : *longest;
}

static void file_records(const uint8_t *data, size_t size, bool hardware)
{
    static const struct debug_layout emulated = {
        EMU_BARRIER_PENDING_AT, EMU_BARRIER_COUNT_BITS, 0, EMU_BARRIER_TX_AT, EMU_BARRIER_TX_BITS, 0,
    };
    struct debug_record *records = calloc(debug_room, sizeof *records);
    size_t longest = 0, room = debug_room * sizeof *records;
    if (!records)
        return;
    memcpy(records, data, size < room ? size : room);
    int count =
        debug_tell(records, "kernel", "kernel.cu", hardware ? &debug_hardware : &emulated, file_take_line, &longest);
    if (count < 0 || count > debug_room || longest >= debug_line_bytes || (count > 0) != (longest > 0))
        abort();
    free(records);
}

static void file_call(const uint8_t *data, size_t size)
{
    struct explain_call call;
    struct explain_machine machine = {.cc = 90, .cc_known = 1, .driver = 13000};
    char text[4096];
    uint32_t result = 1;
    memset(&call, 0, sizeof call);
    memcpy(&call, data, size < sizeof call ? size : sizeof call);
    if (size > sizeof call)
        memcpy(&result, data + sizeof call, size - sizeof call < 4 ? size - sizeof call : 4);
    machine.cc_known = result & 1u << 30 ? 0 : 1;
    int told = explain_report("cuTensorMapEncodeTiled", &call, &machine, (int)(result & 0xffff), result >> 31 != 0,
                              text, sizeof text);
    if (told < 0 || strlen(text) >= sizeof text)
        abort();
    explain_report("cuTensorMapEncodeTiled", &call, &machine, (int)(result & 0xffff), 1, text, 60);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const char file_ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                               ".visible .entry k(.param .u64 a, .param .u32 b, .param .align 64 .b8 map[128])\n"
                               "{\nret;\n}\n";

static void file_arguments(const uint8_t *data, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct emu_options options = {.arch = "sm_90a", .sm_count = 1};
    struct tw_device *device = NULL;
    struct ptx_module *module = NULL;
    struct tw_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t bytes;
    const char *why;
    file_begin(&rt, data, size, NULL);
    struct emu_args args = {.rt = &rt};
    int status = emu_args_read_file(&args, "arguments", &error);
    if (status != TW_OK && !error.text[0])
        abort();
    uint64_t all = 0;
    for (int i = 0; i < args.buffer_count; i++)
        all += args.buffer[i].bytes < 1u << 24 ? args.buffer[i].bytes : 1u << 24;
    for (int i = 0; i < args.value_count; i++)
        emu_read_size(args.value[i].text, &bytes, &why);
    if (status == TW_OK && all < 1u << 24 &&
        ptx_parse(&rt.memory, file_ptx, sizeof file_ptx - 1, &module, &error) == TW_OK) {
        const struct ptx_function *kernel = ptx_find_function(module, "k");
        status = tw_device_open_emu(&rt, &options, &device, &error);
        if (status == TW_OK && kernel && emu_args_check(&args, module, kernel, &error) == TW_OK)
            emu_args_place(&args, device, module, kernel, &launch, &error);
    }
    emu_args_free(&args, device);
    tw_device_close(device);
    ptx_free(module);
    tw_runtime_close(&rt);
}

/* text: with a zero behind it. */
static void file_fill(const char *text)
{
    const struct fill_word *row = fill_word_of(text);
    struct fill fill;
    if (row && !row->word)
        abort();
    if (row)
        fill_read(row, text, &fill);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* Every number that places something is one: texts stand between tags, and are escaped. */
static void file_check_svg(const char *svg)
{
    static const char *const wrong[] = {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf", "=\"Mnan", "=\"M-nan"};
    for (const char *tag = strchr(svg, '<'); tag; tag = strchr(tag + 1, '<')) {
        size_t length = strcspn(tag, ">");
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            if (memmem(tag, length, wrong[i], strlen(wrong[i])))
                abort();
    }
}

/* Joined, summed up and drawn; what is refused is told. text: with a zero behind it. */
static void file_results(const char *text, size_t size)
{
    struct tw_runtime rt;
    struct tw_error error = {""};
    struct tell tell;
    struct results_view *view = NULL;
    int views = 0;
    file_begin(&rt, (const uint8_t *)text, size, NULL);
    struct results results = {.rt = &rt};
    if (tell_open(&tell, "results", true) != 0)
        abort();
    bool sound = results_parse(&results, "rows", text, size, &tell) == 0;
    if (sound != (json_object_array_length(tell.diagnostics) == 0) || sound != (results.count > 0))
        abort();
    if (sound && (results_join(&results, &tell) < 0 ||
                  results_views(&results, &(struct results_choice){NULL, NULL, NULL}, &view, &views, &error) != TW_OK))
        abort();
    for (int i = 0; i < views; i++) {
        const struct results_view *one = &view[i];
        if (results_print_table(one, &tell, &error) != TW_OK)
            abort();
        for (int m = 0; m < RESULTS_MEASURES; m++) {
            struct svg svg = {.rt = &rt};
            if (results_draw(&svg, &one, 1, (enum results_measure)m))
                file_check_svg(svg.text);
            svg_free(&svg);
        }
    }
    results_views_free(&rt, view, views);
    results_free(&results);
    json_object_put(tell.diagnostics);
    json_object_put(tell.result);
    tw_runtime_close(&rt);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void file_text(int kind, const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (kind == 'r')
        file_results(text, size);
    else
        (kind == 'm' ? file_log : file_fill)(text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        int kind;
        void (*read)(const uint8_t *data, size_t size);
    } readers[] = {
        {'c', file_cache_bytes},  {'C', file_cache_fields}, {'i', file_cubin}, {'b', file_library},
        {'l', file_loader_cache}, {'n', file_names},        {'x', file_call},  {'a', file_arguments},
    };
    if (size < 1)
        return 0;
    int kind = data[0];
    /* A copy of just their size: a read beyond it is seen. */
    uint8_t *copy = malloc(size > 1 ? size - 1 : 1);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i].kind == kind)
            readers[i].read(copy, size - 1);
    if (kind == 'm' || kind == 'w' || kind == 'r')
        file_text(kind, copy, size - 1);
    if (kind == 'd' || kind == 'D')
        file_records(copy, size - 1, kind == 'd');
    free(copy);
    return 0;
}
