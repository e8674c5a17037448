/* A template that was taken apart and compiled before, as bytes: what prepare.c puts into the program for each of its
 * own. */
#ifndef TW_GEN_EMIT_TEMPLATE_PREPARED_H
#define TW_GEN_EMIT_TEMPLATE_PREPARED_H

#include "emit/template/template.h"
#include "emit/template/text.h"

/* Adds what template_parse made of a template, and what Lua made of its Lua text. */
void prepared_write(const struct template *t, const char *code, size_t length, struct emit_text *out);

/* The reverse: fills the lines and parameters of a template whose text is set, with `lua` as the compiled code. What it
 * points to lies in `bytes`, which stay, and in the arena. False out of memory. */
bool prepared_read(struct template *t, const unsigned char *bytes, struct arena *arena);

#endif
