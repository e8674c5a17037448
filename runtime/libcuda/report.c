/* What the environment says, and what is told of hazards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/hazards.h"
#include "internal.h"
#include "options.h"
#include "tally.h"

static const char *const variables[] = {
#define OPTION(ID, variable, option, parameter, doc) variable,
#include "options.def"
#undef OPTION
};

static struct cu_tally own, *tally = &own;
static const char *kernel; /* that runs */
static uint64_t launches, told;

static void found(void *context, const struct emu_report *report)
{
    enum emu_hazard_name number = emu_hazard_find(report->name);
    uint64_t bit = number < EMU_HAZARD_COUNT ? UINT64_C(1) << number : 0;
    (void)context;
    fflush(stdout);
    fprintf(stderr, "%s\n  in kernel %s, launch %llu of the program\n", report->text, kernel ? kernel : "",
            (unsigned long long)launches);
    if (bit & ~told)
        fprintf(stderr, "  do: %s\n", report->todo);
    told |= bit;
    atomic_fetch_add(&tally->hazards, 1);
}

void cu_tell_launch(const char *name)
{
    kernel = name;
    if (!name)
        return;
    launches++;
    atomic_fetch_add(&tally->launches, 1);
}

void cu_tell_failure(void)
{
    atomic_fetch_add(&tally->failures, 1);
}

void cu_tell_module(int result)
{
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
        atomic_fetch_add(&tally->refused, 1);
    else
        atomic_fetch_add(result ? &tally->failures : &tally->loaded, 1);
}

static void open_tally(void)
{
    const char *text = getenv(CU_TALLY_VARIABLE);
    if (text && *text) {
        void *shared = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(text), 0);
        if (shared != MAP_FAILED)
            tally = shared;
    }
    atomic_fetch_add(&tally->devices, 1);
}

int cu_options(struct emu_options *options)
{
    const char *values[CU_OPTION_COUNT], *allowed;
    int wrong;
    for (int i = 0; i < CU_OPTION_COUNT; i++) {
        values[i] = getenv(variables[i]);
        if (values[i] && !*values[i])
            values[i] = NULL;
    }
    if (cu_options_read(values, options, &wrong, &allowed))
        return cu_refuse(CUDA_ERROR_NOT_INITIALIZED, "%s=%s: write %s", variables[wrong], values[wrong], allowed);
    options->report = found;
    cu.hazards_go_on = options->hazards != EMU_HAZARDS_FATAL;
    open_tally();
    return CUDA_SUCCESS;
}
