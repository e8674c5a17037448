/* Words and numbers of options.def, for the library and for run-program. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "emu/emu.h"

/* Which of the words it is, or -1. */
static int word(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

/* 0, or -1: no number from least to most. */
static int number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    *value = strtoull(text, &end, 10);
    return *end || *value < least || *value > most ? -1 : 0;
}

static int read_one(int option, const char *text, struct emu_options *o, const char **allowed)
{
    static const char *const hazards[] = {"off", "on", "fatal", "strict"};
    static const char *const completions[] = {"eager", "late", "random"};
    uint64_t value = 0;
    int which;
    switch (option) {
    case CU_OPTION_ARCH:
        *allowed = "an architecture that the emulator has, as tilewright doctor lists them";
        o->arch = text;
        return tw_architecture_find(text) ? 0 : -1;
    case CU_OPTION_HAZARDS:
        *allowed = "off, on, fatal or strict";
        which = word(text, hazards, 4);
        o->hazards = which < 0 ? EMU_HAZARDS_OFF : (enum emu_hazards)which;
        return which < 0 ? -1 : 0;
    case CU_OPTION_COMPLETE:
        *allowed = "eager, late or random";
        which = word(text, completions, 3);
        o->completion = which < 0 ? EMU_EAGER : (enum emu_completion)which;
        return which < 0 ? -1 : 0;
    case CU_OPTION_SEED:
        *allowed = "a number";
        return number(text, 0, UINT64_MAX, &o->seed);
    case CU_OPTION_SMS:
        *allowed = "1 to 1024";
        which = number(text, 1, 1024, &value);
        o->sm_count = (int)value;
        return which;
    case CU_OPTION_RECORD: /* the recorder looks at its own */
    case CU_OPTION_RECORD_KERNEL:
    case CU_OPTION_RECORD_LAUNCH:
        return 0;
    case CU_OPTION_RECORD_MEMORY:
        *allowed = "1 to 1048576";
        return number(text, 1, 1 << 20, &value);
    default:
        *allowed = "1 to 1024";
        which = number(text, 1, 1024, &value);
        o->memory_bytes = (size_t)value << 30;
        return which;
    }
}

int cu_options_read(const char *const value[CU_OPTION_COUNT], struct emu_options *options, int *wrong,
                    const char **allowed)
{
    options->hazards = EMU_HAZARDS_FATAL;
    options->seed = 1;
    for (int i = 0; i < CU_OPTION_COUNT; i++) {
        *wrong = i;
        if (value[i] && read_one(i, value[i], options, allowed))
            return -1;
    }
    return 0;
}
