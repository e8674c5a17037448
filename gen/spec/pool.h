/* Blocks that come and go one by one and end together, as those of a Lua state: small ones are cut from large pieces
 * and kept by size for the next of it. For one thread. */
#ifndef TW_GEN_SPEC_POOL_H
#define TW_GEN_SPEC_POOL_H

#include "spec/arena.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define POOL_WATCHED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define POOL_WATCHED 1
#endif

/* A sanitizer watches the edges of blocks that the pool asks for, not of those that it cuts: there it cuts none. */
#ifdef POOL_WATCHED
enum { POOL_STEP = 16, POOL_SMALL = 0 };
#else
enum { POOL_STEP = 16, POOL_SMALL = 512 };
#endif

/* Zero-initialised (but for `memory`) is empty. */
struct pool {
    struct memory memory;
    struct pool_free *free[POOL_SMALL / POOL_STEP + 1]; /* by size in steps */
    struct pool_piece *piece;
    unsigned char *at, *end;  /* what is left of the newest piece */
    struct pool_large *large; /* blocks over POOL_SMALL, with memory of their own */
};

/* As memory_resize; old_size is what was asked for. A block that becomes smaller is never refused. */
void *pool_resize(struct pool *pool, void *pointer, size_t old_size, size_t new_size);

/* Frees every block. */
void pool_close(struct pool *pool);

#endif
