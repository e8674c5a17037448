#include "spec/arena.h"

#include <stdalign.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size, used; /* bytes of `data` */
    alignas(max_align_t) unsigned char data[];
};

enum { BLOCK_BYTES = 16 * 1024 };

void *memory_resize(const struct memory *m, void *pointer, size_t old_size, size_t new_size)
{
    if (m->alloc)
        return m->alloc(m->context, pointer, old_size, new_size);
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

static void *spend(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct memory_budget *b = context;
    if (new_size > old_size && new_size - old_size > b->most - b->used) {
        b->refused = true;
        return NULL;
    }
    void *moved = memory_resize(&b->memory, pointer, old_size, new_size);
    if (moved || new_size == 0)
        b->used = b->used - old_size + new_size;
    return moved;
}

struct memory memory_within(struct memory_budget *budget)
{
    return (struct memory){spend, budget};
}

void *arena_room(struct arena *a, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > (size_t)1 << 40)
        return NULL;
    bytes = bytes ? (bytes + align - 1) / align * align : align;
    if (!a->block || a->block->size - a->block->used < bytes) {
        size_t size = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
        struct arena_block *b = memory_resize(&a->memory, NULL, 0, sizeof *b + size);
        if (!b)
            return NULL;
        b->size = size;
        b->used = 0;
        if (size != BLOCK_BYTES && a->block) { /* the rest of the block before it is for what comes */
            b->used = bytes;
            b->next = a->block->next;
            a->block->next = b;
            return b->data;
        }
        b->next = a->block;
        a->block = b;
    }
    void *p = a->block->data + a->block->used;
    a->block->used += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    void *p = arena_room(a, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

char *arena_copy(struct arena *a, const char *text, size_t length)
{
    char *copy = arena_room(a, length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

char *arena_text(struct arena *a, const char *text)
{
    return arena_copy(a, text, strlen(text));
}

/* Nothing but %s, %d and %lld. */
static bool is_plain_format(const char *format)
{
    while ((format = strchr(format, '%')) != NULL) {
        if (format[1] != 's' && format[1] != 'd' && strncmp(format + 1, "lld", 3) != 0)
            return false;
        format += 2;
    }
    return true;
}

int memory_print(char *out, size_t room, const char *format, va_list list)
{
    if (!is_plain_format(format))
        return vsnprintf(out, room, format, list);
    size_t length = 0;
    va_list own;
    va_copy(own, list);
    while (*format) {
        char digit[24], *first = digit + sizeof digit;
        const char *part = format;
        size_t more = strcspn(format, "%");
        format += more;
        if (more == 0 && format[1] == 's') {
            part = va_arg(own, const char *);
            part = part ? part : "(null)";
            more = strlen(part);
            format += 2;
        } else if (more == 0) {
            const bool wide = format[1] == 'l';
            long long value = wide ? va_arg(own, long long) : va_arg(own, int);
            unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
            do
                *--first = (char)('0' + rest % 10);
            while (rest /= 10);
            if (value < 0)
                *--first = '-';
            part = first;
            more = (size_t)(digit + sizeof digit - first);
            format += wide ? 4 : 2;
        }
        if (length < room)
            memcpy(out + length, part, more < room - length ? more : room - length);
        length += more;
    }
    va_end(own);
    if (room)
        out[length < room ? length : room - 1] = '\0';
    return length > INT_MAX ? -1 : (int)length;
}

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = memory_print(NULL, 0, format, list);
    va_end(list);
    char *text = length < 0 ? NULL : arena_room(a, (size_t)length + 1);
    if (text) {
        va_start(list, format);
        memory_print(text, (size_t)length + 1, format, list);
        va_end(list);
    }
    return text;
}

void *arena_grow(struct arena *a, void *array, int count, size_t size)
{
    if (count & (count - 1))
        return array;
    const size_t had = (size_t)count * size, more = count ? had : size;
    char *moved = arena_room(a, had + more);
    if (!moved)
        return NULL;
    if (had)
        memcpy(moved, array, had);
    memset(moved + had, 0, more);
    return moved;
}

void arena_free(struct arena *a)
{
    while (a->block) {
        struct arena_block *next = a->block->next;
        memory_resize(&a->memory, a->block, sizeof *a->block + a->block->size, 0);
        a->block = next;
    }
}
