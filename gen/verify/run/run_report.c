#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "emu/emu.h"
#include "emu/hazards.h"
#include "verify/run/breaks.h"
#include "verify/run/finding.h"
#include "verify/run/run.h"

static const char *const inputs_word[RUN_INPUTS] = {"normal", "integer"};

void run_print_unit(const struct compile_unit *unit)
{
    const struct tw_cubin_info *info = &unit->compiled[COMPILE_NVRTC].info;
    printf("compiled %s %s registers %" PRIu32 " shared %ld spills %" PRIu32 " frame %" PRIu32 "\n", unit->plan.entry,
           unit->arch->name, info->registers, compile_shared(unit, COMPILE_NVRTC), info->spill_instructions,
           info->frame);
}

/* Any result would have passed. */
static bool shows_nothing(const struct trial_result *r)
{
    return r->elements > 0 && r->unbounded == r->elements;
}

/* The same of each run that the case made. */
static bool case_shows_nothing(const struct run_case *c)
{
    bool nothing = false;
    for (int i = 0; i < RUN_INPUTS; i++) {
        if (c->part[i].done && !shows_nothing(&c->part[i].result))
            return false;
        nothing = nothing || c->part[i].done;
    }
    return nothing && c->passed;
}

void run_print_case(const struct run *run, const struct run_case *c)
{
    const struct trial_result *first = NULL;
    if (run->brief && c->passed && !c->hazard_count && !case_shows_nothing(c))
        return;
    printf("%s %s %s %s %s", c->passed ? "verified" : "FAILED", c->unit->plan.entry, c->unit->arch->name, c->device,
           c->sizes);
    for (int i = 0; i < RUN_INPUTS; i++) {
        const struct trial_result *r = &c->part[i].result;
        if (!c->part[i].done)
            continue;
        if (i == INPUTS_INTEGER)
            fputs(first ? ", integers" : " integers", stdout);
        first = r;
        if (i == INPUTS_INTEGER && r->equality && r->error == 0.0)
            fputs(" equal", stdout);
        else
            printf(" error %.3g bound %.3g", r->error, r->bound);
        if (c->part[i].sampled)
            printf(" of a sample");
        if (shows_nothing(r))
            printf(" (nothing is shown: none of %" PRId64 " elements has a finite bound)", r->elements);
        else if (r->unbounded)
            printf(" (%" PRId64 " of %" PRId64 " elements have no finite bound)", r->unbounded, r->elements);
    }
    if (!first)
        printf(": %s", c->why);
    for (int i = 0; i < RUN_INPUTS && first; i++)
        if (c->part[i].done && !c->part[i].result.passed)
            printf(": %s inputs, %s rows: %s", inputs_word[i], c->part[i].padded ? "padded" : "dense",
                   c->part[i].result.why);
    if (first && c->why[0])
        printf(": %s", c->why);
    putchar('\n');
}

/* The case whose error comes nearest to its bound. */
static void print_worst(const struct run *run)
{
    const struct run_case *worst = NULL;
    const struct trial_result *at = NULL;
    double most = -1;
    int equal = 0, integers = 0;
    for (int i = 0; i < run->case_count; i++)
        for (int inputs = 0; inputs < RUN_INPUTS; inputs++) {
            const struct run_case *c = &run->cases[i];
            const struct trial_result *r = &c->part[inputs].result;
            const bool whole = c->part[inputs].done && inputs == INPUTS_INTEGER && r->equality;
            integers += whole;
            equal += whole && r->error == 0.0;
            double share = r->bound > 0 ? r->error / r->bound : r->error > 0 ? INFINITY : 0;
            if (!c->part[inputs].done || whole || share <= most)
                continue;
            most = share;
            worst = c;
            at = r;
        }
    if (worst)
        printf("worst      error %.3g, bound %.3g: %s %s\n", at->error, at->bound, worst->unit->plan.entry,
               worst->sizes);
    if (integers)
        printf("integers   %d of %d cases equal\n", equal, integers);
}

/* What many cases show together, where none of them had a line. */
static void print_summary(const struct run *run)
{
    const struct compile *c = &run->compile;
    int kernels = 0, variants = 0;
    for (int i = 0; i < c->unit_count; i++) {
        bool again = false, ran = false;
        for (int j = 0; j < run->case_count; j++)
            ran = ran || run->cases[j].unit == &c->unit[i];
        for (int j = 0; j < i; j++)
            again = again || c->unit[j].kernel == c->unit[i].kernel;
        kernels += !again;
        variants += ran;
    }
    printf("kernels    %d\nvariants   %d of %d entry points ran\n", kernels, variants, c->unit_count);
    printf("cases      %d passed, %d failed; --verbose has a line each\n", run->case_count - run->failed, run->failed);
    print_worst(run);
    if (!run_is_emulator(run->device))
        puts("coverage   not looked at on a GPU: --device emu says which rings, lines, branches sizes leave out");
    printf("seconds    %.1f: %.1f to compile, %.1f for inputs and references, %.1f to launch\n",
           compile_clock() - c->started, c->phases.compile, run->inputs_seconds + run->reference_seconds,
           run->launch_seconds);
}

void run_print_count(const struct run *run)
{
    if (run->brief && run->case_count)
        print_summary(run);
    if (*run->broken_off)
        printf("limit      %" PRIu64 " s: %s was broken off\n", run->options.limit, run->broken_off);
    if (run->not_begun)
        printf("limit      %" PRIu64 " s: %d more of the sets of sizes were not run\n", run->options.limit,
               run->not_begun);
    const char *plural = run->case_count == 1 ? "" : "s";
    int kernels = 0, nothing = 0;
    for (int i = 0; i < run->case_count; i++) {
        nothing += case_shows_nothing(&run->cases[i]);
        bool again = false;
        for (int j = 0; j < i; j++)
            again = again || run->cases[j].unit->kernel == run->cases[i].unit->kernel;
        kernels += !again;
    }
    if (!run->case_count)
        return;
    if (run->failed)
        printf("FAILED %d of %d case%s", run->failed, run->case_count, plural);
    else
        printf("verified %d case%s", run->case_count, plural);
    printf(" of %d kernel%s on %s%s%s", kernels, kernels == 1 ? "" : "s", run->gpu ? run->gpu->name : "",
           run->gpu ? " and " : "", run->device->name);
    if (nothing)
        printf("; %d of them show%s nothing", nothing, nothing == 1 ? "s" : "");
    putchar('\n');
}

enum { MOST_ALIKE = 6 }; /* reports of one name that a case shows; an unrolled loop gives many */

void run_print_hazards(struct run *run, const struct run_case *c)
{
    if (c->hazard_count)
        fflush(stdout);
    for (int i = 0, next; i < c->hazard_count; i = next) {
        const char *name = c->hazard[i].name;
        enum emu_hazard_name number = emu_hazard_find(name);
        for (next = i; next < c->hazard_count && strcmp(c->hazard[next].name, name) == 0; next++) {
            const struct run_hazard *h = &c->hazard[next];
            if (next - i >= MOST_ALIKE)
                continue;
            fputs(h->text, stderr);
            if (h->count > 1)
                fprintf(stderr, "; %" PRIu64 " times", h->count);
            putc('\n', stderr);
        }
        if (next - i > MOST_ALIKE)
            fprintf(stderr, "  and %d more reports of %s; --json has all\n", next - i - MOST_ALIKE, name);
        if (number == EMU_HAZARD_COUNT || run->told >> number & 1)
            continue;
        fprintf(stderr, "  do: %s\n", emu_hazard_info(number)->todo);
        run->told |= UINT64_C(1) << number;
    }
}

/* JSON has no infinity. */
static void print_number(double value)
{
    if (isfinite(value))
        printf("%.9g", value);
    else
        fputs("null", stdout);
}

static void print_unit(const struct compile_unit *unit)
{
    static const char *const cache[] = {"none", "hit", "miss", "unstored"};
    const struct tw_compiled *compiled = &unit->compiled[COMPILE_NVRTC];
    fputs("  {\"kernel\": ", stdout);
    json_text(stdout, unit->plan.kernel);
    fputs(", \"entry\": ", stdout);
    json_text(stdout, unit->plan.entry);
    printf(", \"arch\": \"%s\", \"variant\": \"%s\"", unit->arch->name, unit->plan.variant);
    if (compiled->cubin) /* PTX has none of these */
        printf(", \"registers\": %" PRIu32 ", \"shared\": %ld, \"spills\": %" PRIu32 ", \"frame\": %" PRIu32,
               compiled->info.registers, compile_shared(unit, COMPILE_NVRTC), compiled->info.spill_instructions,
               compiled->info.frame);
    printf(", \"cache\": \"%s\", \"nvrtc_ms\": %.3f}", cache[compiled->cache], 1e3 * compiled->seconds);
}

static void print_hazard(const struct run *run, const struct run_case *c, const struct run_hazard *h)
{
    const struct compile_unit *unit = c->unit;
    const char *slash = strrchr(h->file, '/');
    char emitted[512];
    /* An emitted text has no file: NVRTC puts the folder that it works in before the name. */
    snprintf(emitted, sizeof emitted, "%s.%s.cu", unit->plan.entry, unit->arch->name);
    bool no_file = !run->options.source && slash && strcmp(slash + 1, emitted) == 0;
    bool other_too = no_file && strcmp(h->file, h->other_file) == 0;
    finding_json(&(struct emu_report){
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

static void print_case(const struct run *run, const struct run_case *c)
{
    const char *comma = "";
    fputs("  {\"entry\": ", stdout);
    json_text(stdout, c->unit->plan.entry);
    printf(", \"arch\": \"%s\", \"device\": \"%s\", \"sizes\": ", c->unit->arch->name, c->device);
    json_text(stdout, c->sizes);
    if (strcmp(c->device, "emu") == 0)
        printf(", \"completion\": \"%s\", \"hazards_mode\": \"%s\"", run_completion_word[run->options.completion],
               run_hazards_word[run->options.hazards]);
    printf(", \"seed\": %" PRIu64, run->options.seed);
    printf(", \"passed\": %s, \"why\": ", c->passed ? "true" : "false");
    json_text(stdout, c->why);
    fputs(", \"inputs\": [", stdout);
    for (int i = 0; i < RUN_INPUTS; i++) {
        const struct trial_result *r = &c->part[i].result;
        if (!c->part[i].done)
            continue;
        printf("%s\n    {\"inputs\": \"%s\", \"rows\": \"%s\", \"sampled\": %s, "
               "\"equality\": %s, \"error\": ",
               comma, inputs_word[i], c->part[i].padded ? "padded" : "dense", c->part[i].sampled ? "true" : "false",
               r->equality ? "true" : "false");
        print_number(r->error);
        fputs(", \"bound\": ", stdout);
        print_number(r->bound);
        if (r->elements)
            printf(", \"elements\": %" PRId64 ", \"unbounded\": %" PRId64, r->elements, r->unbounded);
        printf(", \"passed\": %s, \"launched\": %s, \"ms\": %.3f, \"why\": ", r->passed ? "true" : "false",
               r->launched ? "true" : "false", 1e3 * r->seconds);
        json_text(stdout, r->why);
        putchar('}');
        comma = ",";
    }
    fputs("], \"hazards\": [", stdout);
    for (int i = 0; i < c->hazard_count; i++) {
        fputs(i ? "," : "", stdout);
        fputs("\n    ", stdout);
        print_hazard(run, c, &c->hazard[i]);
    }
    fputs("]}", stdout);
}

void run_print_json(const struct run *run, int status)
{
    const struct compile *c = &run->compile;
    const struct compile_phases *p = &c->phases;
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
        {"total", compile_clock() - c->started},
    };
    const struct tw_device *device = run->gpu ? run->gpu : run->device;
    const char *comma = "";

    fputs("{\"command\": \"run\", \"spec\": ", stdout);
    json_text(stdout, c->path);
    fputs(",\n \"diagnostics\": ", stdout);
    compile_print_faults(c, stdout);
    fputs(",\n \"device\": ", stdout);
    if (device) {
        printf("{\"kind\": \"%s\", \"name\": ", device->ops->kind);
        json_text(stdout, device->name);
        printf(", \"arch\": \"%s\", \"sms\": %d}", device->arch, device->sm_count);
    } else {
        fputs("null", stdout);
    }
    fputs(",\n \"phases_ms\": {", stdout);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        printf("%s\"%s\": %.3f", i ? ", " : "", phases[i].name, 1e3 * phases[i].seconds);
    fputs("},\n \"kernels\": [", stdout);
    for (int i = 0; i < c->unit_count; i++) {
        const struct tw_compiled *compiled = &c->unit[i].compiled[COMPILE_NVRTC];
        if (!c->unit[i].wanted || (!compiled->cubin && !compiled->ptx))
            continue;
        puts(comma);
        print_unit(&c->unit[i]);
        comma = ",";
    }
    fputs("\n ],\n \"cases\": [", stdout);
    for (int i = 0; i < run->case_count; i++) {
        puts(i ? "," : "");
        print_case(run, &run->cases[i]);
    }
    fputs("\n ],\n", stdout);
    if (run->bug)
        printf(" \"break\": {\"name\": \"%s\", \"expected\": \"%s\", \"found\": %s},\n", run->bug->name,
               run->bug->hazard, status == 0 ? "true" : "false");
    fputs(" \"left_out\": ", stdout);
    run_coverage_json(run);
    printf(",\n \"failed\": %d,\n \"status\": %d}\n", run->failed, status);
}
