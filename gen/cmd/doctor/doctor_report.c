/* What of the CUDA world is here, where each part was found, what a GPU's answers to tries are, and what this machine
 * can run. */
#include "cmd/doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cache.h"
#include "common/json.h"
#include "driver.h"
#include "emu/emu.h"
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

/* ---- tries ------------------------------------------------------------------------------------------------------- */

static const char *const result_words[] = {"passed", "failed", "left out"};

static void print_try(json_object *list, const struct doctor_try *t)
{
    if (!list) {
        printf("%-9s%s%s\n", t->name, t->result == DOCTOR_FAILED ? "failed: " : "", t->text);
        return;
    }
    json_object *o = json_object_new_object();
    json_add_text(o, "name", t->name);
    json_add_text(o, "result", result_words[t->result]);
    json_add_text(o, "text", t->text);
    json_object_array_add(list, o);
}

/* Why there is nothing to try things on; "" where the device is open. */
static void open_device(struct tw_runtime *rt, const char *name, int gpus, struct tw_device **device,
                        struct tw_error *error)
{
    const struct emu_options emulator = {.hazards = EMU_HAZARDS_FATAL, .sm_count = 1};
    int status = TW_OK;
    *device = NULL;
    error->text[0] = '\0';
    if (strcmp(name, "emu") == 0)
        status = tw_device_open_emu(rt, &emulator, device, error);
    else if (gpus > 0 || strcmp(name, "auto") != 0)
        status = tw_device_open_cuda(rt, name[0] == 'c' && name[4] == ':' ? atoi(name + 5) : 0, device, error);
    else
        snprintf(error->text, sizeof error->text, "there is no GPU");
    if (status == TW_OK)
        return;
    *device = NULL;
}

/* What this machine runs, by what was found. */
static void say_runs(const struct tw_device *device, bool compiles, char *text, size_t bytes)
{
    const char *built = compiles ? "" : " that was built elsewhere, as nothing is compiled here without NVRTC";
    static const char emulator[] = "the emulator runs every kernel (run --device emu)";
    if (!device && !compiles)
        snprintf(text, bytes, "no kernel: there is no GPU, and the emulator runs what NVRTC has compiled");
    else if (!device)
        snprintf(text, bytes, "no kernel on a GPU; %s", emulator);
    else if (strcmp(device->ops->kind, "emu") == 0)
        snprintf(text, bytes, "%s", emulator);
    else if (device->major < 8)
        snprintf(text, bytes, "no kernel on %s: compute capability %d.%d is below 8.0; %s", device->name, device->major,
                 device->minor, compiles ? emulator : "nor on the emulator, without NVRTC");
    else if (device->major == 9)
        snprintf(text, bytes, "%s: what is for sm_90a (TMA, wgmma, clusters) and for sm_80 (cp.async, mma.sync)%s",
                 device->name, built);
    else
        snprintf(text, bytes,
                 "%s: what is for sm_80 (cp.async, mma.sync)%s%s; what is for sm_90a needs compute "
                 "capability 9.0",
                 device->name, device->major > 9 ? ", by PTX and where its shared memory does" : "", built);
}

/* Exit status. */
static int report_tries(struct tw_runtime *rt, const struct tell *tell, const char *name, int gpus, bool compiles)
{
    struct doctor_try tries[DOCTOR_TRIES];
    struct tw_device *device;
    struct tw_error error;
    char runs[512];
    int status = 0;
    json_object *list = tell->result ? json_object_new_array() : NULL;
    const bool named = strcmp(name, "auto") != 0, emulated = strcmp(name, "emu") == 0;
    open_device(rt, name, gpus, &device, &error);
    if (list)
        json_object_object_add(tell->result, "tries", list);
    if (!device && (named || gpus > 0))
        status = 3;
    if (!device) {
        struct doctor_try none = {.name = "tries", .result = status ? DOCTOR_FAILED : DOCTOR_LEFT_OUT};
        snprintf(none.text, sizeof none.text, "%s%s", error.text,
                 emulated ? "" : "; 'tilewright doctor --device emu' tries the same on the emulator");
        print_try(list, &none);
    } else {
        doctor_tries(rt, device, tries);
        for (int i = 0; i < DOCTOR_TRIES; i++) {
            print_try(list, &tries[i]);
            status = tries[i].result == DOCTOR_FAILED ? 3 : status;
        }
    }
    say_runs(device, compiles, runs, sizeof runs);
    if (list)
        json_add_text(tell->result, "runs", runs);
    else
        printf("%-9s%s\n", "runs", runs);
    tw_device_close(device);
    return status;
}

int doctor_report(struct tw_runtime *rt, const struct tell *tell, const char *device)
{
    int gpus;
    report_driver(rt, tell, &gpus);
    report_gpus(rt, tell, gpus);
    const bool compiles = report_nvrtc(rt, tell) == TW_OK;
    report_program(rt, tell, "nvcc");
    report_program(rt, tell, "nvdisasm");
    report_cache(rt, tell);
    int status = report_tries(rt, tell, device, gpus, compiles);
    return compiles ? status : 3;
}
