#include "common/json.h"

void json_text(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c == 127)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

int json_fault(int json, const char *command, int status, const char *text)
{
    if (!json) {
        fprintf(stderr, "tilewright %s: %s\n", command, text);
        return status;
    }
    fputs("{\"command\": ", stdout);
    json_text(stdout, command);
    printf(", \"status\": %d, \"diagnostics\": [{\"severity\": \"error\", \"text\": ", status);
    json_text(stdout, text);
    fputs(", \"file\": null, \"line\": null, \"column\": null, \"kernel\": null, \"field\": null, \"rule\": null}]}\n",
          stdout);
    return status;
}
