/* tilewright doctor: what of the CUDA world is here, and where each part was found. Exit status 3 where NVRTC, without
   which nothing can be compiled, is missing. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"
#include "device.h"
#include "driver.h"
#include "find_cuda.h"
#include "nvrtc.h"

/* One line of the report, or one member of the JSON object: the same facts either way. */
struct fact {
    const char *key; /* NULL ends */
    char text[4352]; /* "" leaves the fact out */
    bool is_number;
};

struct report {
    bool json;
    bool comma; /* a member stands before */
};

static void begin(struct report *report, const char *name)
{
    if (report->json)
        printf("%s\n  \"%s\": {", report->comma ? "," : "{", name);
    else
        printf("%-9s", name);
    report->comma = true;
}

static void print_facts(struct report *report, const struct fact *facts)
{
    bool first = true;

    for (; facts->key; facts++) {
        if (!facts->text[0])
            continue;
        if (report->json) {
            printf("%s\"%s\": ", first ? "" : ", ", facts->key);
            if (facts->is_number)
                printf("%s", facts->text);
            else
                json_text(stdout, facts->text);
        } else {
            printf("%s%s%s%s", first ? "" : ", ", strcmp(facts->key, "problem") ? facts->key : "not usable",
                   strcmp(facts->key, "problem") ? " " : ": ", facts->text);
        }
        first = false;
    }
    printf(report->json ? "}" : "\n");
}

static void report_driver(struct tw_runtime *rt, struct report *report, int *gpus)
{
    struct fact facts[] = {{.key = "version"}, {.key = "path"}, {.key = "problem"}, {.key = NULL}};
    struct tw_error error;
    int version = 0;

    *gpus = 0;
    if (tw_driver_open(rt, &error) != TW_OK) {
        snprintf(facts[2].text, sizeof facts[2].text, "%s", error.text);
    } else {
        if (!rt->driver->version(&version))
            snprintf(facts[0].text, sizeof facts[0].text, "%d.%d", version / 1000, version % 1000 / 10);
        if (!rt->driver_library || rt->loader.path(rt->loader.self, rt->driver_library, facts[1].text, 4096))
            facts[1].text[0] = '\0';
        if (rt->driver->device_count(gpus))
            *gpus = 0;
    }
    begin(report, "driver");
    print_facts(report, facts);
}

static void report_gpus(struct tw_runtime *rt, struct report *report, int gpus)
{
    const struct tw_driver *driver = rt->driver;
    int device, major, minor, sms, i;
    char name[128], arch[16];
    size_t bytes;

    if (report->json)
        printf(",\n  \"gpus\": [");
    else if (!gpus)
        printf("%-9snone\n", "gpu");
    for (i = 0; i < gpus; i++) {
        if (driver->device_get(&device, i) || driver->device_name(name, (int)sizeof name, device) ||
            driver->device_attribute(&major, TW_CUDA_MAJOR, device) ||
            driver->device_attribute(&minor, TW_CUDA_MINOR, device) ||
            driver->device_attribute(&sms, TW_CUDA_SM_COUNT, device) || driver->device_memory(&bytes, device))
            continue;
        tw_arch_name(major, minor, arch);
        if (report->json) {
            printf("%s{\"ordinal\": %d, \"name\": ", i ? ", " : "", i);
            json_text(stdout, name);
            printf(", \"arch\": \"%s\", \"sms\": %d, \"bytes\": %zu}", arch, sms, bytes);
        } else {
            printf("gpu %-5d%s, %s, %d SMs, %.1f GiB\n", i, name, arch, sms, (double)bytes / 1073741824.0);
        }
    }
    if (report->json)
        printf("]");
}

static int report_nvrtc(struct tw_runtime *rt, struct report *report)
{
    struct fact facts[] = {{.key = "version"}, {.key = "path"},    {.key = "builtins"}, {.key = "build-id"},
                           {.key = "where"},   {.key = "problem"}, {.key = NULL}};
    struct tw_error error;
    int status = tw_nvrtc_open(rt, &error);

    if (rt->nvrtc) {
        if (rt->nvrtc->opened)
            snprintf(facts[0].text, sizeof facts[0].text, "%d.%d", rt->nvrtc->major, rt->nvrtc->minor);
        snprintf(facts[1].text, sizeof facts[1].text, "%s", rt->nvrtc->path);
        snprintf(facts[2].text, sizeof facts[2].text, "%s", rt->nvrtc->builtins);
        snprintf(facts[3].text, sizeof facts[3].text, "%s", rt->nvrtc->build_id);
        snprintf(facts[4].text, sizeof facts[4].text, "%s", rt->nvrtc->where);
    }
    if (status != TW_OK)
        snprintf(facts[5].text, sizeof facts[5].text, "%s", error.text);
    begin(report, "nvrtc");
    print_facts(report, facts);
    return status;
}

static void report_program(struct tw_runtime *rt, struct report *report, const char *name)
{
    struct fact facts[] = {{.key = "path"}, {.key = "where"}, {.key = "problem"}, {.key = NULL}};
    char *path, *where;
    struct tw_error error;

    if (tw_find_program(rt, name, &path, &where, &error) == TW_OK) {
        snprintf(facts[0].text, sizeof facts[0].text, "%s", path);
        snprintf(facts[1].text, sizeof facts[1].text, "%s", where);
        tw_free(rt, path);
        tw_free(rt, where);
    } else {
        snprintf(facts[2].text, sizeof facts[2].text, "%s", error.text);
    }
    begin(report, name);
    print_facts(report, facts);
}

static void report_cache(struct tw_runtime *rt, struct report *report)
{
    struct fact facts[] = {{.key = "path"},
                           {.key = "entries", .is_number = true},
                           {.key = "bytes", .is_number = true},
                           {.key = "problem"},
                           {.key = NULL}};
    struct tw_cache_item *items;
    struct tw_error error;
    uint64_t bytes = 0;
    size_t count, i;
    char *folder;

    if (tw_cache_folder(rt, &folder, &error) != TW_OK) {
        snprintf(facts[3].text, sizeof facts[3].text, "%s", error.text);
    } else if (!folder) {
        snprintf(facts[3].text, sizeof facts[3].text, "TILEWRIGHT_CACHE is off, or no folder is set");
    } else {
        snprintf(facts[0].text, sizeof facts[0].text, "%s", folder);
        if (tw_cache_list(rt, folder, &items, &count, &error) == TW_OK) {
            for (i = 0; i < count; i++)
                bytes += items[i].bytes;
            snprintf(facts[1].text, sizeof facts[1].text, "%zu", count);
            snprintf(facts[2].text, sizeof facts[2].text, "%" PRIu64, bytes);
            tw_free(rt, items);
        } else {
            snprintf(facts[3].text, sizeof facts[3].text, "%s", error.text);
        }
        tw_free(rt, folder);
    }
    begin(report, "cache");
    print_facts(report, facts);
}

int cmd_doctor(int argc, char **argv)
{
    struct report report = {false, false};
    const struct option_row rows[] = {
        {"--json", OPTION_FLAG, &report.json, NULL, "print JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    const char *none;
    int gpus, status, operands;

    status = options_parse("doctor", rows, argc, argv, &none, 0, &operands);
    if (status >= 0)
        return status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return json_fault(report.json, "doctor", tw_status_exit(status), error.text);
    report_driver(&rt, &report, &gpus);
    report_gpus(&rt, &report, gpus);
    status = report_nvrtc(&rt, &report);
    report_program(&rt, &report, "nvcc");
    report_program(&rt, &report, "nvdisasm");
    report_cache(&rt, &report);
    if (report.json)
        printf("\n}\n");
    tw_runtime_close(&rt);
    return status == TW_OK ? 0 : 3;
}
