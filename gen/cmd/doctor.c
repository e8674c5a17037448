/* tilewright doctor: what of the CUDA world is here, and where each part was found. Exit status 3 where NVRTC, without
   which nothing can be compiled, is missing. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cache.h"
#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"
#include "common/tell.h"
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

static void print_facts(const struct tell *tell, const char *name, const struct fact *facts)
{
    json_object *o = tell->result ? json_object_new_object() : NULL;
    const char *comma = "";
    if (o)
        json_object_object_add(tell->result, name, o);
    else
        printf("%-9s", name);
    for (; facts->key; facts++) {
        const bool problem = !strcmp(facts->key, "problem");
        if (!facts->text[0])
            continue;
        if (o && facts->is_number)
            json_add_number(o, facts->key, strtoull(facts->text, NULL, 10));
        else if (o)
            json_add_text(o, facts->key, facts->text);
        else
            printf("%s%s%s%s", comma, problem ? "not usable" : facts->key, problem ? ": " : " ", facts->text);
        comma = ", ";
    }
    if (!o)
        putchar('\n');
}

static void report_driver(struct tw_runtime *rt, const struct tell *tell, int *gpus)
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
    print_facts(tell, "driver", facts);
}

static void report_gpus(struct tw_runtime *rt, const struct tell *tell, int gpus)
{
    const struct tw_driver *driver = rt->driver;
    int device, major, minor, sms, i;
    char name[128], arch[16];
    size_t bytes;
    json_object *list = tell->result ? json_object_new_array() : NULL;

    if (list)
        json_object_object_add(tell->result, "gpus", list);
    else if (!gpus)
        printf("%-9snone\n", "gpu");
    for (i = 0; i < gpus; i++) {
        if (driver->device_get(&device, i) || driver->device_name(name, (int)sizeof name, device) ||
            driver->device_attribute(&major, TW_CUDA_MAJOR, device) ||
            driver->device_attribute(&minor, TW_CUDA_MINOR, device) ||
            driver->device_attribute(&sms, TW_CUDA_SM_COUNT, device) || driver->device_memory(&bytes, device))
            continue;
        tw_arch_name(major, minor, arch);
        if (list) {
            json_object *o = json_object_new_object();
            json_add_number(o, "ordinal", (uint64_t)i);
            json_add_text(o, "name", name);
            json_add_text(o, "arch", arch);
            json_add_number(o, "sms", (uint64_t)sms);
            json_add_number(o, "bytes", bytes);
            json_object_array_add(list, o);
        } else {
            printf("gpu %-5d%s, %s, %d SMs, %.1f GiB\n", i, name, arch, sms, (double)bytes / 1073741824.0);
        }
    }
}

static int report_nvrtc(struct tw_runtime *rt, const struct tell *tell)
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
    print_facts(tell, "nvrtc", facts);
    return status;
}

static void report_program(struct tw_runtime *rt, const struct tell *tell, const char *name)
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
    print_facts(tell, name, facts);
}

static void report_cache(struct tw_runtime *rt, const struct tell *tell)
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
    print_facts(tell, "cache", facts);
}

int cmd_doctor(int argc, char **argv)
{
    bool json = false;
    const struct option_row rows[] = {
        {"--json", OPTION_FLAG, &json, NULL, "the same facts as JSON: help json"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    struct tw_runtime rt;
    struct tw_error error;
    struct tell tell;
    const char *none;
    int gpus, status, operands;

    status = options_parse("doctor", rows, argc, argv, &none, 0, &operands);
    if (status >= 0)
        return status;
    status = tell_open(&tell, "doctor", json);
    if (status != 0)
        return status;
    status = tw_runtime_init(&rt, &error);
    if (status != TW_OK)
        return tell_close(&tell, tell_status(&tell, status, &error));
    report_driver(&rt, &tell, &gpus);
    report_gpus(&rt, &tell, gpus);
    status = report_nvrtc(&rt, &tell);
    report_program(&rt, &tell, "nvcc");
    report_program(&rt, &tell, "nvdisasm");
    report_cache(&rt, &tell);
    tw_runtime_close(&rt);
    return tell_close(&tell, status == TW_OK ? 0 : 3);
}
