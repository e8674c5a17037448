#include "emit/embed.h"

#include <string.h>

bool emit_find_template(const char *name, const char **text, size_t *length)
{
    for (const struct emit_embedded *f = emit_embedded; f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            *text = f->begin;
            *length = (size_t)(f->end - f->begin);
            return true;
        }
    }
    return false;
}
