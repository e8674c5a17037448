#include "emit/embed.h"

#include <string.h>

int emit_find_row(const char *name)
{
    for (int i = 0; emit_embedded[i].name; i++)
        if (strcmp(emit_embedded[i].name, name) == 0)
            return i;
    return -1;
}

bool emit_find_template(const char *name, const char **text, size_t *length)
{
    int row = emit_find_row(name);
    if (row < 0)
        return false;
    *text = emit_embedded[row].begin;
    *length = (size_t)(emit_embedded[row].end - emit_embedded[row].begin);
    return true;
}
