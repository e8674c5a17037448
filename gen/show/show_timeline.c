/* The pipeline of one block, as the emulator runs it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/options.h"
#include "show/show.h"
#include "show/timeline.h"
#include "verify/launcher.h"
#include "verify/sizes.h"
#include "verify/trial.h"

static const char *const completion_word[] = {"eager", "late", "random"};

struct show_options {
    const char *arch, *variant, *picture, *trace;
    struct option_list set;
    uint64_t block, sms, seed, from, to;
    int completion;
    bool all_warps;
};

/* What the emulator tells of one block, in its order. */
struct listener {
    struct tw_runtime *rt;
    uint64_t block, blocks; /* blocks: that were seen */
    struct emu_event *event;
    size_t count, room;
    bool failed;
};

static void listen(void *context, const struct emu_event *event)
{
    struct listener *l = context;
    l->blocks = event->block + 1 > l->blocks ? event->block + 1 : l->blocks;
    if (event->block != l->block && event->at_block != l->block)
        return;
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 4096;
        struct emu_event *grown = tw_realloc(l->rt, l->event, room * sizeof *grown);
        if (!grown) {
            l->failed = true;
            return;
        }
        l->event = grown;
        l->room = room;
    }
    l->event[l->count++] = *event;
}

static void show_report(void *context, const struct emu_report *report)
{
    (void)context;
    fprintf(stderr, "%s\n", report->text);
}

/* Runs the kernel once on normal inputs and compares: a picture of a wrong kernel is worth little. A status. */
static int execute(struct compile *c, struct tw_device *device, struct launcher *launcher, int variant,
                   const int64_t *symbol, uint64_t seed, struct trial_result *result, struct tw_error *error)
{
    struct trial trial;
    struct trial_request request = {.compile = c,
                                    .device = device,
                                    .unit = launcher_unit(launcher, variant),
                                    .symbol = symbol,
                                    .inputs = INPUTS_NORMAL,
                                    .seed = seed};
    int status = trial_begin(&trial, &request, error);
    if (status == TW_OK)
        status = trial_launch(&trial, launcher, variant, result, error);
    trial_end(&trial);
    return status;
}

/* Everything that there is to see, on stdout and in files. Exit status. */
static int present(struct compile *c, const struct show_options *o, const struct compile_unit *unit, const char *sizes,
                   const struct listener *l)
{
    const struct plan *p = &unit->plan;
    struct timeline timeline;
    struct tw_error error;
    char title[512];
    snprintf(title, sizeof title, "kernel %s on %s%s%s, %s, block %" PRIu64 " of %" PRIu64 ", complete %s", p->kernel,
             p->arch, p->variant && *p->variant ? ", variant " : "", p->variant ? p->variant : "", sizes, l->block,
             l->blocks, completion_word[o->completion]);
    int status = timeline_make(&timeline, &c->rt, p, l->block, l->event, l->count, o->all_warps, &error);
    if (status == TW_OK && o->picture)
        status = timeline_draw(&timeline, o->from, o->to, title, o->picture, &error);
    if (status == TW_OK && o->trace)
        status = timeline_trace(&timeline, 1, title, o->trace, &error);
    if (status == TW_OK) {
        printf("%s\n%" PRIu64
               " steps: in one, every warp that can go on executes one operation; they are no cycles\n\n",
               title, timeline.steps);
        status = timeline_print(&timeline, o->from, o->to, &error);
    }
    timeline_free(&timeline);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

/* Exit status. */
static int run_and_show(struct compile *c, const struct show_options *o, const int64_t *symbol,
                        const struct show_units *units, struct tw_device *device, struct launcher *launcher,
                        struct listener *l)
{
    struct trial_result result;
    struct tw_error error;
    char sizes[256];
    int chosen, status = launcher_load(launcher, device, true, &error);
    if (status == TW_OK)
        status = show_choose(c, launcher, units, symbol, &chosen, &error);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    const struct compile_unit *unit = launcher_unit(launcher, chosen);
    sizes_print(unit, symbol, sizes, sizeof sizes);
    status = execute(c, device, launcher, chosen, symbol, o->seed, &result, &error);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    if (l->failed)
        return 3;
    if (!result.launched || l->block >= l->blocks || !l->count) {
        fprintf(stderr, "tilewright show: --block %" PRIu64 ": of %s %" PRIu64 " blocks are launched\n", l->block,
                sizes, l->blocks);
        return 1;
    }
    status = present(c, o, unit, sizes, l);
    if (status == 0 && !result.passed) {
        fprintf(stderr, "tilewright show: the result is wrong: %s\n", result.why);
        status = 1;
    }
    return status;
}

/* On an emulated GPU with as many multiprocessors as the last symbol says. Exit status. */
static int open_and_show(struct compile *c, const struct show_options *o, const int64_t *symbol, int sms,
                         const struct show_units *units)
{
    struct listener listener = {.rt = &c->rt, .block = o->block};
    const struct emu_options options = {.arch = c->unit[0].arch->name,
                                        .completion = (enum emu_completion)o->completion,
                                        .seed = o->seed,
                                        .sm_count = sms,
                                        .report = show_report,
                                        .event = listen,
                                        .event_context = &listener,
                                        .slice = 1};
    struct tw_device *device = NULL;
    struct launcher *launcher = NULL;
    struct tw_error error;
    int status = tw_device_open_emu(&c->rt, &options, &device, &error);
    if (status == TW_OK)
        status = launcher_open(&launcher, c, units->unit, units->count, &error);
    status = status == TW_OK ? run_and_show(c, o, symbol, units, device, launcher, &listener)
                             : compile_fail(c, status, &error);
    launcher_close(launcher);
    tw_device_close(device);
    tw_free(&c->rt, listener.event);
    return status;
}

static int go(struct compile *c, const struct show_options *o, struct compile_choice *choice)
{
    struct sizes sizes = {NULL, 0, 0};
    struct show_units units = {.sms = 0};
    int64_t *symbol = NULL;
    int status = show_one_kernel(c, choice);
    if (status == 0)
        status = sizes_check(c, &o->set);
    if (status == 0)
        status = compile_units(c, choice);
    if (status == 0)
        status = sizes_list(c, &c->unit[0], &o->set, &sizes);
    if (status == 0 && !(symbol = tw_alloc(&c->rt, sizeof *symbol * (size_t)sizes.width)))
        status = 3;
    if (status == 0) {
        memcpy(symbol, sizes.value, sizeof *symbol * (size_t)sizes.width);
        status = show_compile(c, symbol, "", &units);
        symbol[sizes.width - 1] = o->sms ? (int64_t)o->sms : units.sms;
    }
    compile_report(c);
    if (status == 0)
        status = open_and_show(c, o, symbol, (int)symbol[sizes.width - 1], &units);
    tw_free(&c->rt, symbol);
    sizes_free(c, &sizes);
    return status;
}

int show_timeline(int argc, char **argv)
{
    enum { SMS_MOST = 1024 };
    struct show_options o = {.seed = 1};
    struct compile_choice choice = {.pick = show_newest};
    const char *path, *complete = "late";
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &choice.kernel, "K", "of the spec"},
        {"--arch", OPTION_TEXT, &choice.arch, "A", "the newest of the kernel's by default"},
        {"--variant", OPTION_TEXT, &choice.variant, "V", "by name or number; 0: not the set-up of the sizes"},
        {"--set", OPTION_LIST, &o.set, "M=512,N=512", "in the place of the spec's first run sizes; repeatable"},
        {"--complete", OPTION_TEXT, &complete, "eager|late|random", "when asynchronous operations happen; late"},
        {"--seed", OPTION_NUMBER, &o.seed, "S", "of random completion and of the inputs; 1"},
        {"--sms", OPTION_NUMBER, &o.sms, "N", "multiprocessors of the emulated GPU; as many as a cluster has blocks"},
        {"--block", OPTION_NUMBER, &o.block, "N", "by its number in the grid; 0"},
        {"--warps", OPTION_FLAG, &o.all_warps, NULL,
         "a row for every warp; else for the first one of each instance of a role"},
        {"--from", OPTION_NUMBER, &o.from, "STEP", "show the steps from this one on"},
        {"--to", OPTION_NUMBER, &o.to, "STEP", "and before this one"},
        {"--svg", OPTION_TEXT, &o.picture, "FILE", "the same as a picture to scale"},
        {"--json", OPTION_TEXT, &o.trace, "FILE", "all of it in Chrome's trace format, as Perfetto reads it"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("show", rows, argc, argv, &path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("show", "which spec?");
    for (o.completion = 0; o.completion < 3 && strcmp(complete, completion_word[o.completion]) != 0; o.completion++)
        ;
    if (o.completion == 3)
        return options_fault("show", "--complete %s: write eager, late or random", complete);
    if (o.sms > SMS_MOST)
        return options_fault("show", "--sms %" PRIu64 ": at most %d", o.sms, SMS_MOST);
    if (o.to && o.to <= o.from)
        return options_fault("show", "--to %" PRIu64 " is not behind --from %" PRIu64, o.to, o.from);
    struct compile c;
    status = compile_open(&c, "show", path);
    if (status == 0)
        status = go(&c, &o, &choice);
    else
        compile_report(&c);
    compile_close(&c);
    return status;
}
