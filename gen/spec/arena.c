#include "spec/arena.h"

#include <stdalign.h>
#include <stdarg.h>
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

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = length < 0 ? NULL : arena_alloc(a, (size_t)length + 1);
    if (text) {
        va_start(list, format);
        vsnprintf(text, (size_t)length + 1, format, list);
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
