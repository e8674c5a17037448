/* What run tells, as one object: `help json` has its fields (common/json_fields.def). */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json.h"
#include "emu/emu.h"
#include "emu/hazards.h"
#include "verify/run/breaks.h"
#include "verify/run/finding.h"
#include "verify/run/run.h"

/* A list of the object, which may be NULL. */
static json_object *add_list(json_object *object, const char *key)
{
    json_object *list = object ? json_object_new_array() : NULL;
    if (list)
        json_object_object_add(object, key, list);
    return list;
}

/* An object that is put to the end of a list, which may be NULL. */
static json_object *append(json_object *list)
{
    json_object *object = list ? json_object_new_object() : NULL;
    if (object)
        json_object_array_add(list, object);
    return object;
}

static void add_unit(json_object *list, const struct compile_unit *unit)
{
    static const char *const cache[] = {"none", "hit", "miss", "unstored"};
    const struct tw_compiled *compiled = &unit->compiled[COMPILE_NVRTC];
    json_object *o = append(list);
    json_add_text(o, "kernel", unit->plan.kernel);
    json_add_text(o, "entry", unit->plan.entry);
    json_add_text(o, "arch", unit->arch->name);
    json_add_text(o, "variant", unit->plan.variant);
    if (compiled->cubin) { /* PTX has none of these */
        json_add_number(o, "registers", compiled->info.registers);
        json_add_number(o, "shared", (uint64_t)compile_shared(unit, COMPILE_NVRTC));
        json_add_number(o, "spills", compiled->info.spill_instructions);
        json_add_number(o, "frame", compiled->info.frame);
    }
    json_add_text(o, "cache", cache[compiled->cache]);
    json_add_real(o, "nvrtc_ms", 1e3 * compiled->seconds);
}

static json_object *hazard_object(const struct run *run, const struct run_case *c, const struct run_hazard *h)
{
    const struct compile_unit *unit = c->unit;
    const char *slash = strrchr(h->file, '/');
    char emitted[512];
    /* An emitted text has no file: NVRTC puts the folder that it works in before the name. */
    snprintf(emitted, sizeof emitted, "%s.%s.cu", unit->plan.entry, unit->arch->name);
    bool no_file = !run->options.source && slash && strcmp(slash + 1, emitted) == 0;
    bool other_too = no_file && strcmp(h->file, h->other_file) == 0;
    return finding_object(&(struct emu_report){
        .name = h->name,
        .text = h->text,
        .todo = emu_hazard_find(h->name) == EMU_HAZARD_COUNT ? "" : emu_hazard_info(emu_hazard_find(h->name))->todo,
        .count = h->count,
        .more = h->more,
        .address = h->address,
        .file = no_file ? slash + 1 : h->file,
        .line = h->line,
        .ptx_line = h->ptx_line,
        .other_file = other_too ? slash + 1 : h->other_file,
        .other_line = h->other_line,
        .other_ptx_line = h->other_ptx_line,
        .region = h->region,
        .stage = h->stage,
        .block = {h->block[0], h->block[1], h->block[2]},
        .warp = h->warp,
    });
}

static void add_inputs(json_object *list, const struct run_case *c, int inputs)
{
    const struct trial_result *r = &c->part[inputs].result;
    json_object *o = append(list);
    json_add_text(o, "inputs", run_inputs_word[inputs]);
    json_add_text(o, "rows", c->part[inputs].padded ? "padded" : "dense");
    json_add_truth(o, "sampled", c->part[inputs].sampled);
    json_add_truth(o, "equality", r->equality);
    json_add_measure(o, "error", r->error);
    json_add_measure(o, "bound", r->bound);
    if (r->elements) {
        json_add_number(o, "elements", (uint64_t)r->elements);
        json_add_number(o, "unbounded", (uint64_t)r->unbounded);
        json_add_number(o, "nan", (uint64_t)r->nan);
    }
    json_add_truth(o, "passed", r->passed);
    json_add_truth(o, "launched", r->launched);
    json_add_real(o, "ms", 1e3 * r->seconds);
    json_add_text(o, "why", r->why);
}

static void add_case(json_object *list, const struct run *run, const struct run_case *c)
{
    json_object *o = append(list);
    json_add_text(o, "entry", c->unit->plan.entry);
    json_add_text(o, "arch", c->unit->arch->name);
    json_add_text(o, "device", c->device);
    json_add_text(o, "sizes", c->sizes);
    if (strcmp(c->device, "emu") == 0) {
        json_add_text(o, "completion", run_completion_word[run->options.completion]);
        json_add_text(o, "hazards_mode", run_hazards_word[run->options.hazards]);
    }
    json_add_number(o, "seed", run->options.seed);
    json_add_truth(o, "passed", c->passed);
    json_add_text(o, "why", c->why);
    json_object *inputs = add_list(o, "inputs");
    for (int i = 0; i < RUN_INPUTS; i++)
        if (c->part[i].done)
            add_inputs(inputs, c, i);
    json_object *hazards = add_list(o, "hazards");
    for (int i = 0; i < c->hazard_count && hazards; i++)
        json_object_array_add(hazards, hazard_object(run, c, &c->hazard[i]));
}

static void add_device(json_object *object, const struct tw_device *device)
{
    json_object *o = device ? json_object_new_object() : NULL;
    json_add_text(o, "kind", device ? device->ops->kind : NULL);
    json_add_text(o, "name", device ? device->name : NULL);
    json_add_text(o, "arch", device ? device->arch : NULL);
    json_add_number(o, "sms", device ? (uint64_t)device->sm_count : 0);
    json_object_object_add(object, "device", o);
}

static void add_phases(json_object *object, const struct run *run)
{
    const struct compile_phases *p = &run->compile.phases;
    const struct {
        const char *name;
        double seconds;
    } phases[] = {
        {"read", p->read},
        {"device", run->device_seconds},
        {"plan", p->plan},
        {"emit", p->emit},
        {"compile", p->compile},
        {"compile_find_nvrtc", p->find},
        {"compile_lookup", p->lookup},
        {"compile_open_nvrtc", p->open},
        {"compile_nvrtc", p->nvrtc},
        {"compile_wait", p->wait},
        {"compile_store", p->store},
        {"load", run->load_seconds},
        {"to_loaded_without_device", run->to_loaded_seconds},
        {"inputs", run->inputs_seconds},
        {"reference", run->reference_seconds},
        {"launch", run->launch_seconds},
        {"total", compile_clock() - run->compile.started},
    };
    json_object *o = json_object_new_object();
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        json_add_real(o, phases[i].name, 1e3 * phases[i].seconds);
    json_object_object_add(object, "phases_ms", o);
}

/* What --limit left out. */
static void add_limit(json_object *object, const struct run *run)
{
    json_object *o = run->options.limit ? json_object_new_object() : NULL;
    if (!run->options.limit)
        return;
    json_add_number(o, "seconds", run->options.limit);
    json_add_text(o, "broken_off", *run->broken_off ? run->broken_off : NULL);
    json_add_number(o, "not_run", (uint64_t)run->not_begun);
    json_object_object_add(object, "limit", o);
}

int run_print_json(const struct run *run, int status)
{
    const struct compile *c = &run->compile;
    json_object *o = json_object_new_object();
    if (!o)
        return compile_print_json(c, 3, NULL);
    add_device(o, run->gpu ? run->gpu : run->device);
    add_phases(o, run);
    json_object *units = add_list(o, "kernels"), *cases = add_list(o, "cases");
    for (int i = 0; i < c->unit_count; i++) {
        const struct tw_compiled *compiled = &c->unit[i].compiled[COMPILE_NVRTC];
        if (c->unit[i].wanted && (compiled->cubin || compiled->ptx))
            add_unit(units, &c->unit[i]);
    }
    for (int i = 0; i < run->case_count; i++)
        add_case(cases, run, &run->cases[i]);
    add_limit(o, run);
    if (run->bug) {
        json_object *bug = json_object_new_object();
        json_add_text(bug, "name", run->bug->name);
        json_add_text(bug, "expected", run->bug->hazard);
        json_add_truth(bug, "found", status == 0);
        json_object_object_add(o, "break", bug);
    }
    run_coverage_json(run, add_list(o, "left_out"));
    json_add_number(o, "failed", (uint64_t)run->failed);
    status = compile_print_json(c, status, o);
    json_object_put(o);
    return status;
}
