/* What the Lua interpreter says of a fault, as a spec's author is told (sandbox_words.def). */
#ifndef TW_GEN_SPEC_SANDBOX_WORDS_H
#define TW_GEN_SPEC_SANDBOX_WORDS_H

#include <stddef.h>

/* The interpreter's text in other words, in out; the text itself where no row has it. */
const char *sandbox_words(const char *text, char *out, size_t size);

#endif
