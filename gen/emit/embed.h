/* The templates and families that are part of the program: embed.sh writes them into an assembler file as .incbin, and
 * prepare.c what it makes of the templates into another. */
#ifndef TW_GEN_EMIT_EMBED_H
#define TW_GEN_EMIT_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One embedded file; a zero byte stands at `end`. */
struct emit_embedded {
    const char *name;        /* below templates/: "blocks/ring.cuh"; families: "lib/attention.lua" */
    const char *begin, *end;
};

/* Sorted by name; its last row has name NULL. */
extern const struct emit_embedded emit_embedded[];

/* By row of emit_embedded the offset, from here, of what prepared_read takes; 0: the row is no template. */
extern const uint32_t emit_prepared[];

/* The number of the row, -1 where there is none of that name. */
int emit_find_row(const char *name);

/* False where there is no template of that name. *text is zero-terminated and never freed. */
bool emit_find_template(const char *name, const char **text, size_t *length);

#endif
