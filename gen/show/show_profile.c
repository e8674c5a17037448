/* tilewright profile: a build that stamps the clock behind every derived step, run once, and what its stamps show. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/options.h"
#include "driver.h"
#include "emu/emu.h"
#include "show/profile.h"
#include "show/show.h"
#include "verify/launcher.h"
#include "verify/sizes.h"
#include "verify/trial.h"

struct profile_options {
    const char *path, *device, *picture, *trace, *keep;
    struct compile_choice choice;
    struct option_list set;
    uint64_t sms, seed, from, to, stamps;
    bool middle;
};

enum { PLAIN, STAMPED, BUILDS };

/* What it takes; the plain build is there on a GPU alone, to tell what the stamps cost. */
struct session {
    const struct profile_options *o;
    struct compile compile[BUILDS];
    bool opened[BUILDS];
    struct launcher *launcher[BUILDS];
    struct tw_device *device;
    int64_t *symbol;
    int64_t *sms;            /* the symbol that counts multiprocessors */
    struct show_units units; /* of both builds */
    int variant;             /* among them */
    struct profile_memory memory;
    double us[BUILDS]; /* a launch; 0: not timed */
};

static bool is_emulated(const struct session *s)
{
    return strcmp(s->device->ops->kind, "emu") == 0;
}

/* The newest that the device runs; where there is none yet, the newest. */
static const struct arch *pick(const void *context, const struct arch *const *arch, int count)
{
    const struct session *s = context;
    for (int i = count - 1; i >= 0 && s->device; i--) {
        bool own = strspn(arch[i]->name + 3, "0123456789") != strlen(arch[i]->name + 3);
        bool same = arch[i]->major == s->device->major && arch[i]->minor == s->device->minor;
        bool older = arch[i]->major * 10 + arch[i]->minor <= s->device->major * 10 + s->device->minor;
        if (own ? same : older)
            return arch[i];
    }
    return arch[count - 1];
}

static void report(void *context, const struct emu_report *told)
{
    (void)context;
    fprintf(stderr, "%s\n", told->text);
}

static int open_gpu(struct session *s)
{
    struct tw_error error;
    int status = TW_ERROR_NO_DEVICE;
    if (strcmp(s->o->device, "emu") == 0)
        return 0;
    status = tw_device_open_cuda(&s->compile[STAMPED].rt, 0, &s->device, &error);
    if (status == TW_OK)
        return 0;
    s->device = NULL;
    if (strcmp(s->o->device, "cuda") == 0)
        return compile_fail(&s->compile[STAMPED], status, &error);
    compile_say(&s->compile[STAMPED], DIAG_WARNING, "no GPU (%s): running on the emulator", error.text);
    return 0;
}

static int open_emulator(struct session *s)
{
    const struct compile_unit *unit = &s->compile[STAMPED].unit[0];
    const struct emu_options options = {.arch = unit->arch->name,
                                        .completion = EMU_LATE,
                                        .seed = s->o->seed,
                                        .sm_count = s->o->sms ? (int)s->o->sms : s->units.sms,
                                        .report = report,
                                        .slice = 1};
    struct tw_error error;
    int status = tw_device_open_emu(&s->compile[STAMPED].rt, &options, &s->device, &error);
    if (status == TW_OK)
        return 0;
    s->device = NULL;
    return compile_fail(&s->compile[STAMPED], status, &error);
}

/* The sizes, but for the device's multiprocessors. Exit status. */
static int take_sizes(struct session *s)
{
    struct compile *c = &s->compile[STAMPED];
    struct sizes sizes = {NULL, 0, 0};
    int status = sizes_list(c, &c->unit[0], &s->o->set, &sizes);
    if (status == 0 && !(s->symbol = tw_alloc(&c->rt, sizeof *s->symbol * (size_t)sizes.width)))
        status = 3;
    if (status == 0)
        memcpy(s->symbol, sizes.value, sizeof *s->symbol * (size_t)sizes.width);
    s->sms = s->symbol ? &s->symbol[sizes.width - 1] : NULL;
    sizes_free(c, &sizes);
    return status;
}

/* Plans, emits and compiles one build of the kernel. Exit status. */
static int make_build(struct session *s, int build, struct compile_choice *choice)
{
    struct compile *c = &s->compile[build];
    c->profile = build == STAMPED ? (int)s->o->stamps : 0;
    int status = show_one_kernel(c, choice);
    if (status == 0)
        status = compile_units(c, choice);
    if (status == 0 && c->unit[0].kernel->template_path) {
        compile_say(c, DIAG_ERROR, "kernel '%s' is a text of its own, whose steps carry no stamps", choice->kernel);
        return 1;
    }
    if (status == 0 && !s->symbol)
        status = take_sizes(s);
    return status == 0 ? show_compile(c, s->symbol, s->device ? s->device->name : "", &s->units) : status;
}

static int open_launcher(struct session *s, int build)
{
    struct compile *c = &s->compile[build];
    struct tw_error error;
    int status = launcher_open(&s->launcher[build], c, s->units.unit, s->units.count, &error);
    bool ptx = is_emulated(s) || c->unit[0].arch->major != s->device->major;
    if (status == TW_OK)
        status = launcher_load(s->launcher[build], s->device, ptx, &error);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

struct clock_pair {
    void *from, *to; /* events */
};

/* Microseconds of a launch, of so many behind each other. A status. */
static int time_batch(struct session *s, int build, const struct launcher_arguments *arguments,
                      const struct clock_pair *clock, int batch, double *us, struct tw_error *error)
{
    const struct tw_driver *d = s->device->driver;
    float ms = 0;
    int result = d->event_record(clock->from, s->device->stream), status = TW_OK;
    for (int i = 0; i < batch && !result && status == TW_OK; i++)
        status = launcher_launch(s->launcher[build], arguments, error);
    if (status != TW_OK)
        return status;
    if (!result)
        result = d->event_record(clock->to, s->device->stream);
    if (!result)
        result = d->event_synchronize(clock->to);
    if (!result)
        result = d->event_elapsed(&ms, clock->from, clock->to);
    *us = 1e3 * (double)ms / batch;
    return tw_driver_check(d, result, error, "timing");
}

static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Medians of both builds, in turn; then the launch whose stamps count, the device being warm. */
static int launch_timed(void *context, const struct launcher_arguments *arguments, bool *launched,
                        struct tw_error *error)
{
    enum { ROUNDS = 15, BATCH_MOST = 100, BATCH_US = 3000 };
    struct session *s = context;
    const struct tw_driver *d = s->device->driver;
    struct clock_pair clock = {NULL, NULL};
    double sample[BUILDS][ROUNDS], us;
    int status = tw_driver_check(d, d->event_create(&clock.from, 0), error, "timing");
    if (status == TW_OK)
        status = tw_driver_check(d, d->event_create(&clock.to, 0), error, "timing");
    for (int b = 0; b < 2 * BUILDS && status == TW_OK; b++) /* the second pass is warm */
        status = time_batch(s, b % BUILDS, arguments, &clock, 3, &us, error);
    int batch = us > 0 && BATCH_US / us < BATCH_MOST ? (int)(BATCH_US / us) + 1 : BATCH_MOST;
    for (int r = 0; r < ROUNDS * BUILDS && status == TW_OK; r++)
        status = time_batch(s, r % BUILDS, arguments, &clock, batch, &sample[r % BUILDS][r / BUILDS], error);
    for (int b = 0; b < BUILDS && status == TW_OK; b++) {
        qsort(sample[b], ROUNDS, sizeof *sample[b], by_value);
        s->us[b] = sample[b][ROUNDS / 2];
    }
    if (status == TW_OK)
        status = time_batch(s, PLAIN, arguments, &clock, batch, &us, error);
    if (status == TW_OK)
        status = profile_clear(s->device, &s->memory, error);
    if (status == TW_OK)
        status = launcher_launch(s->launcher[STAMPED], arguments, error);
    if (clock.from)
        d->event_destroy(clock.from);
    if (clock.to)
        d->event_destroy(clock.to);
    *launched = true;
    return status;
}

/* ---- run and show ------------------------------------------------------------------------------------------------ */

/* Verifies the stamped build, on a GPU also times it; what is stamped last is there to be taken. A status. */
static int execute(struct session *s, struct trial_result *result, struct tw_error *error)
{
    struct trial trial;
    struct launcher *stamped = s->launcher[STAMPED];
    const struct trial_request request = {.compile = &s->compile[STAMPED],
                                          .device = s->device,
                                          .unit = launcher_unit(stamped, s->variant),
                                          .symbol = s->symbol,
                                          .inputs = INPUTS_NORMAL,
                                          .seed = s->o->seed};
    int status = profile_find(s->device, launcher_module(stamped, s->variant), &request.unit->plan, (int)s->o->stamps,
                              &s->memory, error);
    if (status == TW_OK)
        status = profile_clear(s->device, &s->memory, error);
    if (status != TW_OK)
        return status;
    status = trial_begin(&trial, &request, error);
    if (status == TW_OK)
        status = trial_launch(&trial, stamped, s->variant, result, error);
    if (status == TW_OK && !is_emulated(s) && result->launched) {
        struct trial_result ignored;
        struct trial_way way = {.launch = launch_timed, .context = s};
        status = launcher_workspace(stamped, s->symbol, &way.workspace, error);
        if (status == TW_OK)
            status = trial_run(&trial, &way, &ignored, error);
    }
    trial_end(&trial);
    return status;
}

/* Text, PTX, cubin and SASS of the build that stamps. Exit status. */
static int keep(struct session *s)
{
    struct compile *c = &s->compile[STAMPED];
    struct file_set files = {.rt = &c->rt};
    struct tw_error error;
    char name[420];
    int status = TW_OK;
    for (int i = 0; i < c->unit_count && status == TW_OK; i++) {
        const struct compile_unit *unit = &c->unit[i];
        if (!unit->wanted)
            continue;
        snprintf(name, sizeof name, "%s.%s.cu", unit->plan.entry, unit->arch->name);
        status = files_add(&files, s->o->keep, name, unit->source, unit->source_bytes, false, &error);
        if (status == TW_OK)
            status = compile_keep(c, unit, COMPILE_NVRTC, s->o->keep, &files, &error);
    }
    if (status == TW_OK)
        status = files_commit(&files, &error);
    files_free(&files);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

/* What the compiler made of a build. */
static void print_build(const struct session *s, int build, const char *name)
{
    const struct tw_cubin_info *info = &launcher_unit(s->launcher[build], s->variant)->compiled[COMPILE_NVRTC].info;
    printf("%-15s", name);
    if (s->us[build] > 0)
        printf(" %10.2f us a launch,", s->us[build]);
    printf(" %" PRIu32 " registers a thread, %" PRIu32 " instructions that spill", info->registers,
           info->spill_instructions);
    if (build == STAMPED && s->us[PLAIN] > 0)
        printf(": %+.1f %%", 100 * (s->us[STAMPED] / s->us[PLAIN] - 1));
    putchar('\n');
}

static int present(struct session *s, const struct profile *profile, const char *title, struct tw_error *error)
{
    struct timeline timeline[PROFILE_BLOCKS];
    int status = TW_OK, block = s->o->middle && profile->blocks > 1, made = 0;
    for (; made < profile->blocks && status == TW_OK; made++)
        status = timeline_of_stamps(&timeline[made], profile, made, error);
    if (status == TW_OK && s->o->picture)
        status = timeline_draw(&timeline[block], s->o->from, s->o->to, title, s->o->picture, error);
    if (status == TW_OK && s->o->trace)
        status = timeline_trace(timeline, profile->blocks, title, s->o->trace, error);
    if (status == TW_OK) {
        printf("%s\n", title);
        if (s->opened[PLAIN])
            print_build(s, PLAIN, "without stamps");
        print_build(s, STAMPED, "with stamps");
        if (!profile->timed)
            printf("clocks here are the emulator's: instructions of warps\n");
        putchar('\n');
        status = profile_print(profile, timeline, block, error);
    }
    if (status == TW_OK) {
        printf("block %" PRIu64 ", clocks\n", profile->block[block].number);
        status = timeline_print(&timeline[block], s->o->from, s->o->to, error);
    }
    for (int i = 0; i < made; i++)
        timeline_free(&timeline[i]);
    return status;
}

/* Exit status. */
static int run_and_show(struct session *s)
{
    struct compile *c = &s->compile[STAMPED];
    struct trial_result result = {.passed = false};
    struct profile profile = {.rt = &c->rt};
    struct tw_error error;
    char sizes[256], title[512];
    int status = show_choose(c, s->launcher[STAMPED], &s->units, s->symbol, &s->variant, &error);
    if (status == TW_OK && s->opened[PLAIN])
        launcher_force(s->launcher[PLAIN], s->variant);
    if (status == TW_OK)
        status = execute(s, &result, &error);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    const struct compile_unit *unit = launcher_unit(s->launcher[STAMPED], s->variant);
    const struct plan *p = &unit->plan;
    sizes_print(unit, s->symbol, sizes, sizeof sizes);
    if (!result.launched) {
        fprintf(stderr, "tilewright profile: of %s nothing is launched\n", sizes);
        return 1;
    }
    status = profile_take(&profile, &c->rt, s->device, &s->memory, p, &error);
    snprintf(title, sizeof title, "kernel %s on %s%s%s, %s, %s, %" PRIu32 " block%s", p->kernel, p->arch,
             p->variant && *p->variant ? ", variant " : "", p->variant ? p->variant : "", sizes,
             is_emulated(s) ? "the emulator" : s->device->name, profile.grid, profile.grid == 1 ? "" : "s");
    if (status == TW_OK)
        status = present(s, &profile, title, &error);
    profile_free(&profile);
    if (status != TW_OK)
        return compile_fail(c, status, &error);
    if (!result.passed)
        fprintf(stderr, "tilewright profile: the result is wrong: %s\n", result.why);
    return result.passed ? 0 : 1;
}

static int go(struct session *s)
{
    struct compile *c = &s->compile[STAMPED];
    struct compile_choice choice = s->o->choice;
    int status = sizes_check(c, &s->o->set);
    choice.pick = pick;
    choice.context = s;
    if (status == 0)
        status = open_gpu(s);
    if (status == 0)
        status = make_build(s, STAMPED, &choice);
    if (status == 0 && !s->device)
        status = open_emulator(s);
    if (status == 0 && !is_emulated(s)) {
        s->opened[PLAIN] = true;
        status = compile_open(&s->compile[PLAIN], "profile", s->o->path);
        if (status == 0)
            status = make_build(s, PLAIN, &choice);
    }
    if (status == 0)
        *s->sms = s->device->sm_count;
    if (status == 0 && s->o->keep)
        status = keep(s);
    for (int b = 0; b < BUILDS && status == 0; b++)
        if (s->opened[b])
            status = open_launcher(s, b);
    return status == 0 ? run_and_show(s) : status;
}

static int open_and_go(const struct profile_options *o)
{
    struct session *s = calloc(1, sizeof *s); /* two compilers are much for a stack */
    if (!s)
        return 3;
    s->o = o;
    s->opened[STAMPED] = true;
    int status = compile_open(&s->compile[STAMPED], "profile", o->path);
    if (status == 0)
        status = go(s);
    for (int b = BUILDS - 1; b >= 0; b--)
        if (s->opened[b])
            compile_report(&s->compile[b]);
    tw_free(&s->compile[STAMPED].rt, s->symbol);
    for (int b = 0; b < BUILDS; b++)
        launcher_close(s->launcher[b]);
    tw_device_close(s->device);
    for (int b = 0; b < BUILDS; b++)
        if (s->opened[b])
            compile_close(&s->compile[b]);
    free(s);
    return status;
}

int show_profile(int argc, char **argv)
{
    enum { SMS_MOST = 1024 };
    struct profile_options o = {.device = "auto", .seed = 1, .stamps = PROFILE_STAMPS};
    const char *block = "first";
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &o.choice.kernel, "K", "of the spec"},
        {"--arch", OPTION_TEXT, &o.choice.arch, "A", "the newest of the kernel's that the device runs by default"},
        {"--variant", OPTION_TEXT, &o.choice.variant, "V", "by name or number; 0: not the set-up of the sizes"},
        {"--set", OPTION_LIST, &o.set, "M=512,N=512", "in the place of the spec's first run sizes; repeatable"},
        {"--device", OPTION_TEXT, &o.device, "auto|cuda|emu", "auto: a GPU, else the emulator"},
        {"--seed", OPTION_NUMBER, &o.seed, "S", "of the inputs; 1"},
        {"--sms", OPTION_NUMBER, &o.sms, "N", "multiprocessors of the emulated GPU; as many as a cluster has blocks"},
        {"--stamps", OPTION_NUMBER, &o.stamps, "N", "room for so many an instance of a role; 32768"},
        {"--block", OPTION_TEXT, &block, "first|middle", "of the grid: whose steps are shown; first"},
        {"--from", OPTION_NUMBER, &o.from, "CLOCK", "show what is from here on"},
        {"--to", OPTION_NUMBER, &o.to, "CLOCK", "and before"},
        {"--svg", OPTION_TEXT, &o.picture, "FILE", "the same as a picture to scale"},
        {"--json", OPTION_TEXT, &o.trace, "FILE", "both blocks in Chrome's trace format, as Perfetto reads it"},
        {"--keep", OPTION_TEXT, &o.keep, "DIR", "leave text, PTX, cubin and SASS of the build that stamps there"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("profile", rows, argc, argv, &o.path, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("profile", "which spec?");
    if (strcmp(o.device, "auto") != 0 && strcmp(o.device, "cuda") != 0 && strcmp(o.device, "emu") != 0)
        return options_fault("profile", "--device %s: write auto, cuda or emu", o.device);
    if (strcmp(block, "first") != 0 && strcmp(block, "middle") != 0)
        return options_fault("profile", "--block %s: write first or middle", block);
    if (o.sms > SMS_MOST)
        return options_fault("profile", "--sms %" PRIu64 ": at most %d", o.sms, SMS_MOST);
    if (o.stamps < PROFILE_LEAST || o.stamps > PROFILE_MOST)
        return options_fault("profile", "--stamps %" PRIu64 ": write %d to %d", o.stamps, PROFILE_LEAST, PROFILE_MOST);
    if (o.to && o.to <= o.from)
        return options_fault("profile", "--to %" PRIu64 " is not behind --from %" PRIu64, o.to, o.from);
    o.middle = strcmp(block, "middle") == 0;
    return open_and_go(&o);
}
