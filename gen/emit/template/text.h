/* A text that grows in an arena. */
#ifndef TW_GEN_EMIT_TEMPLATE_TEXT_H
#define TW_GEN_EMIT_TEMPLATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "spec/arena.h"

/* Zero-initialised but for `arena` is empty. data is zero-terminated once something was added, else NULL. */
struct emit_text {
    struct arena *arena;
    char *data;
    size_t length, capacity;
    bool failed; /* out of memory: what was to be added is missing */
};

/* Room for `more` bytes and a final zero; false out of memory. */
bool text_reserve(struct emit_text *t, size_t more);
/* text_add where the room that there is does not do. */
void text_add_grown(struct emit_text *t, const char *data, size_t length);

static inline void text_add(struct emit_text *t, const char *data, size_t length)
{
    if (t->capacity - t->length <= length) {
        text_add_grown(t, data, length);
        return;
    }
    if (length)
        memcpy(t->data + t->length, data, length);
    t->length += length;
    t->data[t->length] = 0;
}

void text_integer(struct emit_text *t, int64_t value);
void text_string(struct emit_text *t, const char *string);
void text_format(struct emit_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
