#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emu/emu.h"
#include "emu/hazards.h"
#include "verify/run/run.h"

const char *const run_inputs_word[RUN_INPUTS] = {"normal", "integer"};

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
            printf(" of a sample of %" PRId64 " elements", r->elements);
        if (shows_nothing(r))
            printf(" (nothing is shown: none of %" PRId64 " elements has a finite bound", r->elements);
        else if (r->unbounded)
            printf(" (%" PRId64 " of %" PRId64 " elements have no finite bound", r->unbounded, r->elements);
        if (r->unbounded && r->nan)
            printf(", and %" PRId64 " of these are NaN where the reference is a number", r->nan);
        if (r->unbounded)
            putchar(')');
    }
    if (!first)
        printf(": %s", c->why);
    for (int i = 0; i < RUN_INPUTS && first; i++)
        if (c->part[i].done && !c->part[i].result.passed)
            printf(": %s inputs, %s rows: %s", run_inputs_word[i], c->part[i].padded ? "padded" : "dense",
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
