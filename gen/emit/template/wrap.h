/* Lines that are longer than a page is wide.
 *
 * Names are the spec's, so a template cannot know how long its lines become. A line over WRAP_COLUMNS is broken where
 * the fewest brackets are open: behind a comma, before `?` and `:`, behind another operator; what follows stands under
 * the bracket's inside, or four blanks in. A comment is broken between words, and one behind something stands above
 * it. A line of the preprocessor stays. */
#ifndef TW_GEN_EMIT_WRAP_H
#define TW_GEN_EMIT_WRAP_H

#include <stddef.h>

#include "emit/template/text.h"

enum { WRAP_COLUMNS = 120 };

/* Adds the line, given without its end, and the end. Returns the number of lines that it became. */
int wrap_line(struct emit_text *text, const char *line, size_t length);

#endif
