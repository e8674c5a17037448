#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
    int exit_status;
} statuses[] = {
#define STATUS(name, exit_status, text) {#name, text, exit_status},
#include "status.def"
#undef STATUS
};

const char *tw_status_name(int status)
{
    return status >= 0 && status < TW_STATUS_COUNT ? statuses[status].name : "TW_ERROR_UNKNOWN";
}

const char *tw_status_text(int status)
{
    return status >= 0 && status < TW_STATUS_COUNT ? statuses[status].text : "unknown status";
}

int tw_status_exit(int status)
{
    return status >= 0 && status < TW_STATUS_COUNT ? statuses[status].exit_status : 1;
}

int tw_fail(struct tw_error *error, int status, const char *format, ...)
{
    va_list args;
    int length;

    if (!error)
        return status;
    va_start(args, format);
    length = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (length < 0)
        error->text[0] = '\0';
    else if ((size_t)length >= sizeof error->text)
        memcpy(error->text + sizeof error->text - 4, "...", 4);
    return status;
}
