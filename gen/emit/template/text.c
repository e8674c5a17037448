#include "emit/template/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool text_reserve(struct emit_text *t, size_t more)
{
    if (t->capacity - t->length > more)
        return true;
    size_t capacity = t->capacity ? t->capacity : 128;
    while (capacity - t->length <= more)
        capacity *= 2;
    char *data = arena_room(t->arena, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    if (t->length)
        memcpy(data, t->data, t->length);
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add_grown(struct emit_text *t, const char *data, size_t length)
{
    if (text_reserve(t, length))
        text_add(t, data, length);
}

void text_string(struct emit_text *t, const char *string)
{
    text_add(t, string, strlen(string));
}

void text_integer(struct emit_text *t, int64_t value)
{
    char digit[24], *first = digit + sizeof digit;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--first = '-';
    text_add(t, first, (size_t)(digit + sizeof digit - first));
}

void text_format(struct emit_text *t, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    /* What fits into the room that there is, as most does, is written at once. */
    size_t room = t->capacity > t->length ? t->capacity - t->length : 0;
    int length = memory_print(room ? t->data + t->length : NULL, room, format, list);
    if (length >= 0 && (size_t)length < room) {
        t->length += (size_t)length;
    } else if (length >= 0 && text_reserve(t, (size_t)length)) {
        memory_print(t->data + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    if (t->data && t->length < t->capacity)
        t->data[t->length] = '\0';
    va_end(again);
    va_end(list);
}
