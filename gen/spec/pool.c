#include "spec/pool.h"

#include <stdalign.h>
#include <string.h>

enum { PIECE_BYTES = 32 * 1024 };

struct pool_free {
    struct pool_free *next;
};

struct pool_piece {
    struct pool_piece *next;
    alignas(POOL_STEP) unsigned char data[];
};

struct pool_large {
    struct pool_large *next, *before; /* before NULL: the first */
    size_t size;                      /* bytes of `data` */
    alignas(POOL_STEP) unsigned char data[];
};

/* ---- small blocks ---------------------------------------------------------------------------------------------- */

static size_t steps(size_t size)
{
    return (size + POOL_STEP - 1) / POOL_STEP;
}

static void put(struct pool *p, void *pointer, size_t size)
{
    struct pool_free *block = pointer;
    block->next = p->free[steps(size)];
    p->free[steps(size)] = block;
}

static void *take(struct pool *p, size_t size)
{
    const size_t step = steps(size), bytes = step * POOL_STEP;
    struct pool_free *block = p->free[step];
    if (block) {
        p->free[step] = block->next;
        return block;
    }
    if ((size_t)(p->end - p->at) < bytes) {
        struct pool_piece *piece = memory_resize(&p->memory, NULL, 0, PIECE_BYTES);
        if (!piece)
            return NULL;
        if (p->end > p->at)
            put(p, p->at, (size_t)(p->end - p->at));
        piece->next = p->piece;
        p->piece = piece;
        p->at = piece->data;
        p->end = (unsigned char *)piece + PIECE_BYTES;
    }
    void *cut = p->at;
    p->at += bytes;
    return cut;
}

/* ---- large blocks ---------------------------------------------------------------------------------------------- */

static struct pool_large *large_of(void *pointer)
{
    return (struct pool_large *)((unsigned char *)pointer - offsetof(struct pool_large, data));
}

static void *resize_large(struct pool *p, struct pool_large *old, size_t size)
{
    struct pool_large *l = memory_resize(&p->memory, old, old ? sizeof *old + old->size : 0, sizeof *l + size);
    if (!l)
        return NULL;
    if (!old) {
        l->next = p->large;
        l->before = NULL;
    }
    l->size = size;
    if (l->next)
        l->next->before = l;
    if (l->before)
        l->before->next = l;
    else
        p->large = l;
    return l->data;
}

static void free_large(struct pool *p, struct pool_large *l)
{
    if (l->next)
        l->next->before = l->before;
    if (l->before)
        l->before->next = l->next;
    else
        p->large = l->next;
    memory_resize(&p->memory, l, sizeof *l + l->size, 0);
}

/* ---- any ------------------------------------------------------------------------------------------------------- */

static void drop(struct pool *p, void *pointer, size_t size)
{
    if (size > POOL_SMALL)
        free_large(p, large_of(pointer));
    else
        put(p, pointer, size);
}

void *pool_resize(struct pool *p, void *pointer, size_t old_size, size_t new_size)
{
    if (new_size == 0) {
        if (pointer)
            drop(p, pointer, old_size);
        return NULL;
    }
    if (!pointer)
        return new_size > POOL_SMALL ? resize_large(p, NULL, new_size) : take(p, new_size);
    if (old_size > POOL_SMALL && new_size > POOL_SMALL) {
        void *moved = resize_large(p, large_of(pointer), new_size);
        return moved || new_size > old_size ? moved : pointer;
    }
    if (old_size <= POOL_SMALL && new_size <= POOL_SMALL && steps(old_size) == steps(new_size))
        return pointer;
    void *moved = new_size > POOL_SMALL ? resize_large(p, NULL, new_size) : take(p, new_size);
    if (!moved) /* what is too large for its size is a block of that size all the same */
        return new_size < old_size ? pointer : NULL;
    memcpy(moved, pointer, old_size < new_size ? old_size : new_size);
    drop(p, pointer, old_size);
    return moved;
}

void pool_close(struct pool *p)
{
    while (p->large)
        free_large(p, p->large);
    while (p->piece) {
        struct pool_piece *next = p->piece->next;
        memory_resize(&p->memory, p->piece, PIECE_BYTES, 0);
        p->piece = next;
    }
}
