#include "common/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json.h"

enum { TEXT = 4096 };

int tell_open(struct tell *tell, const char *command, bool json)
{
    *tell = (struct tell){.command = command};
    if (!json)
        return 0;
    tell->diagnostics = json_object_new_array();
    tell->result = json_object_new_object();
    if (tell->diagnostics && tell->result)
        return 0;
    fprintf(stderr, "tilewright %s: out of memory\n", command);
    json_object_put(tell->diagnostics);
    json_object_put(tell->result);
    return 3;
}

static void tell_plain(const struct tell *tell, const char *severity, const char *before, const char *format,
                       va_list list)
{
    char text[TEXT];
    vsnprintf(text, sizeof text, format, list);
    if (tell->diagnostics)
        json_add_told(tell->diagnostics, &(struct json_diagnostic){.severity = severity, .text = text});
    else
        fprintf(stderr, "tilewright %s: %s%s\n", tell->command, before, text);
}

void tell_fault(const struct tell *tell, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    tell_plain(tell, "error", "", format, list);
    va_end(list);
}

void tell_note(const struct tell *tell, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    tell_plain(tell, "note", "note: ", format, list);
    va_end(list);
}

int tell_status(const struct tell *tell, int status, const struct tw_error *error)
{
    tell_fault(tell, "%s", error->text);
    return tw_status_exit(status);
}

void tell_file(const struct tell *tell, const char *file, unsigned long line, const char *format, ...)
{
    char text[TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (tell->diagnostics)
        json_add_told(tell->diagnostics,
                      &(struct json_diagnostic){.severity = "error", .text = text, .file = file, .line = (int)line});
    else if (line)
        fprintf(stderr, "%s:%lu: error: %s\n", file, line, text);
    else
        fprintf(stderr, "%s: error: %s\n", file, text);
}

void tell_lines(const struct tell *tell, const char *lines)
{
    size_t length = strlen(lines);
    const bool ended = length && lines[length - 1] == '\n';
    char *text;
    if (!length)
        return;
    if (!tell->diagnostics) {
        fprintf(stderr, "%s%s", lines, ended ? "" : "\n");
        return;
    }
    lines += strspn(lines, " ");
    text = strndup(lines, strlen(lines) - ended);
    json_add_diagnostic(tell->diagnostics, &(struct json_diagnostic){.severity = "note", .text = text});
    free(text);
}

int tell_close(struct tell *tell, int status)
{
    if (tell->diagnostics)
        status = json_print(&(struct json_answer){
            .command = tell->command, .status = status, .diagnostics = tell->diagnostics, .result = tell->result});
    json_object_put(tell->diagnostics);
    json_object_put(tell->result);
    tell->diagnostics = tell->result = NULL;
    return status;
}
