/* tilewright cache: path prints the folder of compiled kernels, list a line for each entry, verify reads and checks
   them all (exit status 1 if one is damaged; the next run replaces it), gc makes room. */
#include "cache.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"
#include "common/tell.h"

struct options {
    bool json;
    double max_age;     /* seconds; negative: none */
    uint64_t max_bytes; /* UINT64_MAX: none */
};

/* A number with a unit's letter: "30d". letters and scales go together. */
static bool read_quantity(const char *text, const char *letters, const double *scales, double *value)
{
    const char *letter;
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    if (end == text || errno || !isfinite(*value) || *value < 0)
        return false;
    if (!*end)
        return true;
    letter = strchr(letters, *end);
    if (!letter || end[1])
        return false;
    *value *= scales[letter - letters];
    return true;
}

static void print_item(const struct tw_cache_item *item, double date)
{
    printf("%s  %-8s %-32s %4" PRIu32 " registers %9" PRIu64 " bytes %8.1f h%s%s\n", item->key.hex,
           item->arch[0] ? item->arch : "?", item->entry[0] ? item->entry : "?", item->registers, item->bytes,
           (date - (double)item->modified) / 3600, item->status == TW_OK ? "" : "  damaged: ", item->why);
}

static json_object *item_object(const struct tw_cache_item *item)
{
    json_object *o = json_object_new_object();
    json_add_text(o, "key", item->key.hex);
    json_add_text(o, "path", item->path);
    json_add_truth(o, "sound", item->status == TW_OK);
    json_add_text(o, "why", item->status == TW_OK ? NULL : item->why);
    json_add_text(o, "entry", item->entry);
    json_add_text(o, "arch", item->arch);
    json_add_text(o, "nvrtc", item->build_id);
    json_add_number(o, "registers", item->registers);
    json_add_number(o, "cubin_bytes", item->cubin_bytes);
    json_add_number(o, "ptx_bytes", item->ptx_bytes);
    json_add_number(o, "bytes", item->bytes);
    json_add_number(o, "modified", (uint64_t)item->modified);
    return o;
}

/* list and verify differ in what they print and in the exit status. */
static int list(struct tw_runtime *rt, const char *folder, bool verify, const struct tell *tell)
{
    double date = rt->process.date(rt->process.self);
    json_object *result = tell->result, *entries = result ? json_object_new_array() : NULL;
    struct tw_cache_item *items;
    struct tw_error error;
    uint64_t bytes = 0;
    size_t count, i, bad = 0;
    int status;

    status = tw_cache_list(rt, folder, &items, &count, &error);
    if (status != TW_OK) {
        json_object_put(entries);
        return tell_status(tell, status, &error);
    }
    for (i = 0; i < count; i++) {
        bytes += items[i].bytes;
        bad += items[i].status != TW_OK;
        if (entries)
            json_object_array_add(entries, item_object(&items[i]));
        else if (!verify || items[i].status != TW_OK)
            print_item(&items[i], date);
    }
    if (result) {
        json_add_text(result, "folder", folder);
        json_object_object_add(result, "entries", entries);
        json_add_number(result, "bytes", bytes);
        json_add_number(result, "damaged", bad);
    } else if (verify) {
        printf("%zu entries, %" PRIu64 " bytes, %zu damaged\n", count, bytes, bad);
    } else {
        fprintf(stderr, "%zu entries, %" PRIu64 " bytes in %s\n", count, bytes, folder);
    }
    tw_free(rt, items);
    return verify && bad ? 1 : 0;
}

static int collect(struct tw_runtime *rt, const char *folder, const struct options *options, const struct tell *tell)
{
    json_object *result = tell->result;
    struct tw_cache_swept swept;
    struct tw_error error;
    int status = tw_cache_gc(rt, folder, options->max_bytes, options->max_age, &swept, &error);

    if (status != TW_OK)
        return tell_status(tell, status, &error);
    if (result) {
        json_add_number(result, "removed", swept.removed);
        json_add_number(result, "removed_bytes", swept.removed_bytes);
        json_add_number(result, "kept", swept.kept);
        json_add_number(result, "kept_bytes", swept.kept_bytes);
        json_add_number(result, "leftovers", swept.leftovers);
    } else {
        printf("removed %zu entries, %" PRIu64 " bytes, and %zu leftovers; kept %zu entries, %" PRIu64 " bytes\n",
               swept.removed, swept.removed_bytes, swept.leftovers, swept.kept, swept.kept_bytes);
    }
    return 0;
}

static int perform(struct tw_runtime *rt, const char *action, const struct options *options, const struct tell *tell)
{
    struct tw_error error;
    char *folder = NULL;
    int status = tw_cache_folder(rt, &folder, &error);
    if (status != TW_OK)
        return tell_status(tell, status, &error);
    if (!folder) {
        tell_fault(tell, "there is no cache: TILEWRIGHT_CACHE is off, or no folder is set");
        return 3;
    }
    if (!strcmp(action, "gc")) {
        status = collect(rt, folder, options, tell);
    } else if (strcmp(action, "path")) {
        status = list(rt, folder, !strcmp(action, "verify"), tell);
    } else {
        status = 0;
        if (tell->result)
            json_add_text(tell->result, "folder", folder);
        else
            printf("%s\n", folder);
    }
    tw_free(rt, folder);
    return status;
}

int cmd_cache(int argc, char **argv)
{
    static const double times[] = {1, 60, 3600, 86400};
    static const double sizes[] = {1024.0, 1024.0 * 1024, 1024.0 * 1024 * 1024, 1024.0 * 1024 * 1024 * 1024};
    const char *action = NULL, *age = NULL, *size = NULL;
    struct options options = {false, -1, UINT64_MAX};
    const struct option_row rows[] = {
        {"--json", OPTION_FLAG, &options.json, NULL, "what was found as JSON: help json"},
        {"--max-age", OPTION_TEXT, &age, "TIME", "gc: remove entries older than 30d, 12h, 90m or 60s"},
        {"--max-size", OPTION_TEXT, &size, "SIZE", "gc: remove the oldest until 512M, 2G or so many bytes remain"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    struct tell tell;
    double value;
    int status, exit_status, operands;

    exit_status = options_parse("cache", rows, argc, argv, &action, 1, &operands);
    if (exit_status == 0) /* after --help alone */
        fputs("\n"
              "path     print the folder of the compiled kernels\n"
              "list     print a line for each entry: key, architecture, entry point, registers, bytes, age\n"
              "verify   read and check every entry; status 1 if one is damaged, which the next run replaces\n"
              "gc       remove old entries, as --max-age and --max-size say, and what interrupted runs left behind\n",
              stdout);
    if (exit_status >= 0)
        return exit_status;
    if (!operands)
        return options_fault("cache", "path, list, verify or gc?");
    if (strcmp(action, "path") && strcmp(action, "list") && strcmp(action, "verify") && strcmp(action, "gc"))
        return options_fault("cache", "'%s' is none of path, list, verify and gc", action);
    if (strcmp(action, "gc") && (age || size))
        return options_fault("cache", "--max-age and --max-size belong to gc");
    if (age && !read_quantity(age, "smhd", times, &options.max_age))
        return options_fault("cache", "--max-age takes a time such as 30d, not '%s'", age);
    if (size && (!read_quantity(size, "KMGT", sizes, &value) || value > 1e18))
        return options_fault("cache", "--max-size takes a size such as 512M, not '%s'", size);
    if (size)
        options.max_bytes = (uint64_t)value;

    exit_status = tell_open(&tell, "cache", options.json);
    if (exit_status != 0)
        return exit_status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK) {
        exit_status = tell_status(&tell, status, &error);
    } else {
        exit_status = perform(&rt, action, &options, &tell);
        tw_runtime_close(&rt);
    }
    return tell_close(&tell, exit_status);
}
