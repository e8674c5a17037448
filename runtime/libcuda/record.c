/* Launches are recorded as the environment says (record/recorder.h): the recorder gets the library's own entry points.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "record/recorder.h"

static void say(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", text);
}

void cu_record_start(void)
{
    struct recorder_driver driver;
    void (*entry)(void);
#define DRIVER(member, symbol, required, arguments)                                                                    \
    entry = (void (*)(void))symbol;                                                                                    \
    memcpy(&driver.member, &entry, sizeof driver.member);
#include "record/recorder_driver.def"
#undef DRIVER
    recorder_start(&driver, say);
}
