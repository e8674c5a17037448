/* Variables of the environment that the library reads (options.def). */
#ifndef LIBCUDA_OPTIONS_H
#define LIBCUDA_OPTIONS_H

enum cu_option {
#define OPTION(ID, variable, option, parameter, doc) CU_OPTION_##ID,
#include "options.def"
#undef OPTION
    CU_OPTION_COUNT
};

struct emu_options;

/* Reads what options say; NULL for one: it was not said. 0; or -1, and *wrong is the number of the one that is wrong
   and *allowed what it may be. */
int cu_options_read(const char *const value[CU_OPTION_COUNT], struct emu_options *options, int *wrong,
                    const char **allowed);

#endif
