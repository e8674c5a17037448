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

#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"

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

static void print_item(const struct tw_cache_item *item, double date, bool json, bool comma)
{
    if (!json) {
        printf("%s  %-8s %-32s %4" PRIu32 " registers %9" PRIu64 " bytes %8.1f h%s%s\n", item->key.hex,
               item->arch[0] ? item->arch : "?", item->entry[0] ? item->entry : "?", item->registers, item->bytes,
               (date - (double)item->modified) / 3600, item->status == TW_OK ? "" : "  damaged: ", item->why);
        return;
    }
    printf("%s\n  {\"key\": \"%s\", \"path\": ", comma ? "," : "", item->key.hex);
    json_text(stdout, item->path);
    printf(", \"sound\": %s, \"why\": ", item->status == TW_OK ? "true" : "false");
    json_text(stdout, item->status == TW_OK ? NULL : item->why);
    printf(", \"entry\": ");
    json_text(stdout, item->entry);
    printf(", \"arch\": ");
    json_text(stdout, item->arch);
    printf(", \"nvrtc\": ");
    json_text(stdout, item->build_id);
    printf(", \"registers\": %" PRIu32 ", \"cubin_bytes\": %" PRIu64 ", \"ptx_bytes\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"modified\": %" PRId64 "}", item->registers, item->cubin_bytes, item->ptx_bytes, item->bytes,
           item->modified);
}

/* list and verify differ in what they print and in the exit status. */
static int list(struct tw_runtime *rt, const char *folder, const struct options *options, bool verify)
{
    double date = rt->process.date(rt->process.self);
    struct tw_cache_item *items;
    struct tw_error error;
    uint64_t bytes = 0;
    size_t count, i, bad = 0;
    int status;

    status = tw_cache_list(rt, folder, &items, &count, &error);
    if (status != TW_OK)
        return json_fault(options->json, "cache", tw_status_exit(status), error.text);
    for (i = 0; i < count; i++) {
        bytes += items[i].bytes;
        bad += items[i].status != TW_OK;
    }
    if (options->json)
        printf("{\"folder\": ");
    if (options->json)
        json_text(stdout, folder);
    if (options->json)
        printf(", \"entries\": [");
    for (i = 0; i < count; i++)
        if (options->json || !verify || items[i].status != TW_OK)
            print_item(&items[i], date, options->json, i > 0);
    if (options->json)
        printf("%s], \"bytes\": %" PRIu64 ", \"damaged\": %zu}\n", count ? "\n" : "", bytes, bad);
    else if (verify)
        printf("%zu entries, %" PRIu64 " bytes, %zu damaged\n", count, bytes, bad);
    else
        fprintf(stderr, "%zu entries, %" PRIu64 " bytes in %s\n", count, bytes, folder);
    tw_free(rt, items);
    return verify && bad ? 1 : 0;
}

static int collect(struct tw_runtime *rt, const char *folder, const struct options *options)
{
    struct tw_cache_swept swept;
    struct tw_error error;
    int status = tw_cache_gc(rt, folder, options->max_bytes, options->max_age, &swept, &error);

    if (status != TW_OK)
        return json_fault(options->json, "cache", tw_status_exit(status), error.text);
    if (options->json)
        printf("{\"removed\": %zu, \"removed_bytes\": %" PRIu64 ", \"kept\": %zu, \"kept_bytes\": %" PRIu64
               ", \"leftovers\": %zu}\n", swept.removed, swept.removed_bytes, swept.kept, swept.kept_bytes,
               swept.leftovers);
    else
        printf("removed %zu entries, %" PRIu64 " bytes, and %zu leftovers; kept %zu entries, %" PRIu64 " bytes\n",
               swept.removed, swept.removed_bytes, swept.leftovers, swept.kept, swept.kept_bytes);
    return 0;
}

int cmd_cache(int argc, char **argv)
{
    static const double times[] = {1, 60, 3600, 86400};
    static const double sizes[] = {1024.0, 1024.0 * 1024, 1024.0 * 1024 * 1024, 1024.0 * 1024 * 1024 * 1024};
    const char *action = NULL, *age = NULL, *size = NULL;
    struct options options = {false, -1, UINT64_MAX};
    const struct option_row rows[] = {
        {"--json", OPTION_FLAG, &options.json, NULL, "print JSON"},
        {"--max-age", OPTION_TEXT, &age, "TIME", "gc: remove entries older than 30d, 12h, 90m or 60s"},
        {"--max-size", OPTION_TEXT, &size, "SIZE", "gc: remove the oldest until 512M, 2G or so many bytes remain"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    char *folder = NULL;
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

    status = tw_runtime_init(&rt, &error);
    if (status == TW_OK)
        status = tw_cache_folder(&rt, &folder, &error);
    if (status != TW_OK) {
        exit_status = json_fault(options.json, "cache", tw_status_exit(status), error.text);
    } else if (!folder) {
        exit_status = json_fault(options.json, "cache", 3,
                                 "there is no cache: TILEWRIGHT_CACHE is off, or no folder is set");
    } else if (!strcmp(action, "path")) {
        if (options.json) {
            printf("{\"folder\": ");
            json_text(stdout, folder);
            printf("}\n");
        } else {
            printf("%s\n", folder);
        }
        exit_status = 0;
    } else if (!strcmp(action, "gc")) {
        exit_status = collect(&rt, folder, &options);
    } else {
        exit_status = list(&rt, folder, &options, !strcmp(action, "verify"));
    }
    tw_free(&rt, folder);
    tw_runtime_close(&rt);
    return exit_status;
}
