/* tilewright profile: builds that stamp the clock behind every derived step, each behind a part of them, run once, and
 * what their stamps show. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/options.h"
#include "driver.h"
#include "emit/stamps.h"
#include "emu/emu.h"
#include "show/profile.h"
#include "show/show.h"
#include "time/time.h"
#include "verify/launcher.h"
#include "verify/sizes.h"
#include "verify/trial.h"

struct profile_options {
    const char *path, *device, *picture, *trace, *keep;
    struct compile_choice choice;
    struct option_list set;
    uint64_t sms, seed, from, to, stamps, passes;
    bool middle;
};

/* Passes are builds `first` to `first` + `passes` - 1. Where they are to cost less, twice as many follow them, or as
 * many as there can be. */
enum { PLAIN, STAMPED, BUILDS = 2 * PROFILE_PASSES };

/* What a launch that stamps may cost over one that does not: more, and there are more passes. */
#define MOST_COST 0.03

/* What it takes; the plain build is there on a GPU alone, to tell what the stamps cost. */
struct session {
    const struct profile_options *o;
    struct compile compile[BUILDS];
    bool opened[BUILDS];
    struct launcher *launcher[BUILDS];
    struct tw_device *device;
    int64_t *symbol;
    int64_t *sms;            /* the symbol that counts multiprocessors */
    struct show_units units; /* of all builds */
    int variant;             /* among them */
    int first, passes;
    struct profile_memory memory[BUILDS];
    struct profile profile[PROFILE_PASSES]; /* of this many passes, the first of which becomes that of all */
    int taken;
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
    c->profile = build == PLAIN ? 0 : (int)s->o->stamps;
    c->pass = build - s->first;
    c->passes = build == PLAIN ? 0 : s->passes;
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

struct timed {
    struct launcher *launcher;
    const struct launcher_arguments *arguments;
};

static int launch_timed(void *context, int set, struct tw_error *error)
{
    const struct timed *t = context;
    (void)set;
    return launcher_launch(t->launcher, t->arguments, error);
}

/* Times the plain build and those that stamp, beside each other, as bench does in bursts. A status. */
static int time_builds(void *context, const struct launcher_arguments *arguments, bool *launched,
                       struct tw_error *error)
{
    struct session *s = context;
    struct timed timed[1 + PROFILE_PASSES];
    struct time_candidate candidate[1 + PROFILE_PASSES];
    struct time_result result[1 + PROFILE_PASSES][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    options.rounds[TIME_SUSTAINED] = 0;
    for (int i = 0; i <= s->passes; i++) {
        timed[i] = (struct timed){s->launcher[i ? s->first + i - 1 : PLAIN], arguments};
        candidate[i] = (struct time_candidate){launch_timed, &timed[i]};
    }
    int status = time_candidates(s->device, &options, candidate, s->passes + 1, result, &failed, error);
    for (int i = 0; i <= s->passes && status == TW_OK; i++)
        s->us[i ? s->first + i - 1 : PLAIN] = 1e6 * result[i][TIME_BURST].median;
    *launched = true;
    return status;
}

/* What the dearest pass takes over the plain build; 0 where nothing was timed. */
static double cost_of(const struct session *s)
{
    double most = 0;
    for (int b = s->first; b < s->first + s->passes && s->us[PLAIN] > 0; b++)
        most = s->us[b] / s->us[PLAIN] - 1 > most ? s->us[b] / s->us[PLAIN] - 1 : most;
    return most;
}

/* ---- run and show ------------------------------------------------------------------------------------------------ */

/* Verifies one build that stamps, and takes what this launch has left. A status. */
static int execute_pass(struct session *s, struct trial *trial, int build, struct trial_result *result,
                        struct tw_error *error)
{
    struct launcher *stamped = s->launcher[build];
    const struct plan *plan = &launcher_unit(stamped, s->variant)->plan;
    struct profile_memory *memory = &s->memory[build];
    int status = profile_find(s->device, launcher_module(stamped, s->variant), plan, (int)s->o->stamps, memory, error);
    if (status == TW_OK)
        status = profile_clear(s->device, memory, error);
    if (status == TW_OK)
        status = trial_launch(trial, stamped, s->variant, result, error);
    if (status != TW_OK || !result->launched)
        return status;
    return profile_take(&s->profile[s->taken++], &s->compile[STAMPED].rt, s->device, memory, plan, error);
}

/* Verifies the builds that stamp, on a GPU also times them, and takes what each leaves, the device being warm. A
 * status. */
static int execute(struct session *s, struct trial_result *result, struct tw_error *error)
{
    struct trial trial;
    struct launcher *stamped = s->launcher[s->first];
    const struct trial_request request = {.compile = &s->compile[STAMPED],
                                          .device = s->device,
                                          .unit = launcher_unit(s->launcher[STAMPED], s->variant),
                                          .symbol = s->symbol,
                                          .inputs = INPUTS_NORMAL,
                                          .seed = s->o->seed};
    int status = trial_begin(&trial, &request, error);
    if (status == TW_OK && !is_emulated(s)) {
        struct trial_result ignored;
        struct trial_way way = {.launch = time_builds, .context = s};
        status = trial_launch(&trial, stamped, s->variant, result, error);
        if (status == TW_OK && result->launched)
            status = launcher_workspace(stamped, s->symbol, &way.workspace, error);
        if (status == TW_OK && result->launched)
            status = trial_run(&trial, &way, &ignored, error);
    }
    bool passed = true;
    for (int b = s->first; b < s->first + s->passes && status == TW_OK && passed; b++) {
        status = execute_pass(s, &trial, b, result, error);
        passed = result->launched && result->passed;
    }
    trial_end(&trial);
    return status;
}

/* Text, PTX, cubin and SASS of the build that stamps. Exit status. */
static int keep(struct session *s)
{
    struct compile *c = &s->compile[s->first];
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
    if (build != PLAIN && s->us[PLAIN] > 0)
        printf(": %+.1f %%", 100 * (s->us[build] / s->us[PLAIN] - 1));
    putchar('\n');
}

static void print_builds(const struct session *s)
{
    if (s->opened[PLAIN])
        print_build(s, PLAIN, "without stamps");
    for (int b = s->first; b < s->first + s->passes; b++) {
        char name[32] = "with stamps";
        if (s->passes > 1)
            snprintf(name, sizeof name, "pass %d of %d", b - s->first + 1, s->passes);
        print_build(s, b, name);
    }
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
        print_builds(s);
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

/* What the passes have left, as one. Exit status. */
static int show_taken(struct session *s, const struct trial_result *result)
{
    struct compile *c = &s->compile[STAMPED];
    struct profile *profile = &s->profile[0], *other[PROFILE_PASSES];
    struct tw_error error;
    char sizes[256], title[512];
    const struct compile_unit *unit = launcher_unit(s->launcher[STAMPED], s->variant);
    const struct plan *p = &unit->plan;
    sizes_print(unit, s->symbol, sizes, sizeof sizes);
    if (!result->launched) {
        fprintf(stderr, "tilewright profile: of %s nothing is launched\n", sizes);
        return 1;
    }
    if (!result->passed) {
        fprintf(stderr, "tilewright profile: the result is wrong: %s\n", result->why);
        return 1;
    }
    for (int i = 0; i < s->taken; i++)
        other[i] = &s->profile[i];
    int status = s->taken > 1 ? profile_merge(profile, other, s->taken, &error) : TW_OK;
    snprintf(title, sizeof title, "kernel %s on %s%s%s, %s, %s, %" PRIu32 " block%s", p->kernel, p->arch,
             p->variant && *p->variant ? ", variant " : "", p->variant ? p->variant : "", sizes,
             is_emulated(s) ? "the emulator" : s->device->name, profile->grid, profile->grid == 1 ? "" : "s");
    if (status == TW_OK)
        status = present(s, profile, title, &error);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

static void drop_taken(struct session *s)
{
    while (s->taken > 0)
        profile_free(&s->profile[--s->taken]);
}

/* The passes from `first` on: opened, compiled, run. Exit status. */
static int make_passes(struct session *s, struct compile_choice *choice)
{
    int status = 0;
    for (int b = s->first; b < s->first + s->passes && status == 0; b++) {
        if (!s->opened[b]) {
            s->opened[b] = true;
            status = compile_open(&s->compile[b], "profile", s->o->path);
        }
        status = status ? status : make_build(s, b, choice);
    }
    return status;
}

static int run_passes(struct session *s, struct trial_result *result)
{
    struct compile *c = &s->compile[STAMPED];
    struct tw_error error;
    int status = 0;
    for (int b = 0; b < s->first + s->passes && status == 0; b++)
        if (s->opened[b] && !s->launcher[b])
            status = open_launcher(s, b);
    if (status)
        return status;
    status = show_choose(c, s->launcher[STAMPED], &s->units, s->symbol, &s->variant, &error);
    const int most = status ? 0 : stamp_passes(&launcher_unit(s->launcher[STAMPED], s->variant)->plan);
    if (status == TW_OK && s->passes > most) {
        compile_say(c, DIAG_ERROR, "--passes %d: the steps of kernel '%s' come in at most %d part%s", s->passes,
                    s->o->choice.kernel, most, most == 1 ? "" : "s");
        return 1;
    }
    for (int b = 0; b < BUILDS && status == TW_OK; b++)
        if (s->launcher[b])
            launcher_force(s->launcher[b], s->variant);
    if (status == TW_OK)
        status = execute(s, result, &error);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}

static int go(struct session *s)
{
    struct compile *c = &s->compile[STAMPED];
    struct compile_choice choice = s->o->choice;
    struct trial_result result = {.passed = false};
    int status = sizes_check(c, &s->o->set);
    choice.pick = pick;
    choice.context = s;
    if (status == 0)
        status = open_gpu(s);
    s->first = STAMPED;
    s->passes = s->o->passes ? (int)s->o->passes : 1;
    if (status == 0)
        status = make_passes(s, &choice);
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
    if (status == 0)
        status = run_passes(s, &result);
    const int most = status ? 0 : stamp_passes(&launcher_unit(s->launcher[STAMPED], s->variant)->plan);
    while (status == 0 && !s->o->passes && result.passed && cost_of(s) > MOST_COST && s->passes < PROFILE_PASSES &&
           s->passes < most) {
        const int twice = s->passes * 2 < PROFILE_PASSES ? s->passes * 2 : PROFILE_PASSES;
        drop_taken(s);
        s->first += s->passes;
        s->passes = twice < most ? twice : most;
        status = make_passes(s, &choice);
        status = status ? status : run_passes(s, &result);
    }
    if (status == 0 && s->o->keep)
        status = keep(s);
    status = status ? status : show_taken(s, &result);
    drop_taken(s);
    return status;
}

static int open_and_go(const struct profile_options *o)
{
    struct session *s = calloc(1, sizeof *s); /* compilers are much for a stack */
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
        {"--passes", OPTION_NUMBER, &o.passes, "N",
         "builds that stamp a part of the steps each; so many that each costs under 3 %, on the emulator 1"},
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
    if (o.passes > PROFILE_PASSES)
        return options_fault("profile", "--passes %" PRIu64 ": at most %d", o.passes, PROFILE_PASSES);
    if (o.to && o.to <= o.from)
        return options_fault("profile", "--to %" PRIu64 " is not behind --from %" PRIu64, o.to, o.from);
    o.middle = strcmp(block, "middle") == 0;
    return open_and_go(&o);
}
