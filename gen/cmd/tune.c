/* tilewright tune: the set-ups of a spec's kernels that are the quickest, into SPEC.tuned.lua. */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/tool.h"
#include "device.h"
#include "tune/clock.h"

/* A new process measures what this one has written, in what is left of the time. Exit status. */
static int in_new_process(const struct tune_options *o, const char *device, double began)
{
    const double left = (double)o->seconds - (compile_clock() - began);
    char time[32];
    const char *argument[16] = {"/proc/self/exe", "tune", o->spec, "--again", "--device", device};
    int n = 6, exit_status = 0;
    struct tw_error error;
    if (o->kernel) {
        argument[n++] = "--kernel";
        argument[n++] = o->kernel;
    }
    if (o->arch) {
        argument[n++] = "--arch";
        argument[n++] = o->arch;
    }
    argument[n++] = "--mode";
    argument[n++] = o->burst ? "burst" : "sustained";
    if (o->seconds) {
        snprintf(time, sizeof time, "%.0f", left > 1.0 ? floor(left) : 1.0);
        argument[n++] = "--time";
        argument[n++] = time;
    }
    argument[n] = NULL;
    fflush(stdout);
    if (tool_run((char *const *)(uintptr_t)argument, NULL, false, &exit_status, &error) != TW_OK) {
        fprintf(stderr, "tilewright tune: %s\n", error.text);
        return 3;
    }
    return exit_status;
}

/* "600", "600s", "10m", "1h" in seconds; false: none of them. */
static bool read_time(const char *text, uint64_t *seconds)
{
    char *end;
    const unsigned long long number = strtoull(text, &end, 10);
    const uint64_t unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    const bool one = *end == '\0' || (strchr("smh", *end) && end[1] == '\0');
    *seconds = (uint64_t)number * unit;
    return end > text && one && number >= 1 && number <= 1000000;
}

static int tune(struct tune_options *o, const char *device, bool again)
{
    struct tune_timer *timer = NULL;
    struct tune_clock clock;
    struct tw_error error;
    const double began = compile_clock();
    int status = tune_timer_open(&timer, device, o->arch, &clock, &error);
    if (status != TW_OK) {
        fprintf(stderr, "tilewright tune: %s; --list says what there is to try, --device emu launches it\n",
                error.text);
        tune_timer_close(timer);
        return 3;
    }
    const struct tw_device *d = tune_timer_device(timer);
    o->device = (struct model_device){d->sm_count, 1e3 * (d->clock_khz ? d->clock_khz : 1000000)};
    o->dry = strcmp(d->ops->kind, "emu") == 0;
    status = again ? tune_again(o, &clock) : tune_run(o, &clock);
    if (status == 0 && o->dry)
        puts("nothing was written: the emulator has no clock, and these times are the model's");
    tune_timer_close(timer);
    return status == 0 && !o->dry && !again ? in_new_process(o, device, began) : status;
}

int cmd_tune(int argc, char **argv)
{
    struct tune_options o = {.spec = NULL};
    const char *mode = "sustained", *device = "cuda", *limit = NULL;
    bool again = false;
    int operands;
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &o.kernel, "K", "this kernel alone; by default those that have a `tune`"},
        {"--arch", OPTION_TEXT, &o.arch, "A", "this architecture; by default each kernel's newest"},
        {"--set", OPTION_LIST, &o.set, "M=512,N=1/64",
         "in the place of the spec's bench sizes; / separates several; repeatable"},
        {"--mode", OPTION_TEXT, &mode, "sustained|burst",
         "for which clock: that under load, or that of short bursts; sustained"},
        {"--device", OPTION_TEXT, &device, "cuda[:N]|emu",
         "emu: launch and compare what would be measured, with the model's times, and write nothing; cuda"},
        {"--time", OPTION_TEXT, &limit, "10m",
         "take no longer than so long, measuring again with it: seconds, or with s, m, h"},
        {"--resume", OPTION_FLAG, &o.resume, NULL,
         "go on with SPEC.tuned.lua.journal, which an interrupted run leaves"},
        {"--again", OPTION_FLAG, &again, NULL,
         "measure what SPEC.tuned.lua has for this GPU again, as a run does at its end by a new process"},
        {"--list", OPTION_FLAG, &o.list, NULL, "what there is to try and what the model says of it; needs no GPU"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("tune", rows, argc, argv, &o.spec, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("tune", "which spec?");
    o.burst = strcmp(mode, "burst") == 0;
    if (!o.burst && strcmp(mode, "sustained") != 0)
        return options_fault("tune", "--mode %s: write sustained or burst", mode);
    if (limit && !read_time(limit, &o.seconds))
        return options_fault("tune", "--time %s: write seconds, or a number with s, m or h", limit);
    if (strcmp(device, "emu") != 0 && strcmp(device, "cuda") != 0 && strncmp(device, "cuda:", 5) != 0)
        return options_fault("tune", "--device %s: write cuda, cuda:N or emu", device);
    return o.list ? tune_list(&o, stdout) : tune(&o, device, again);
}
