/* How often a test does what it does many times over, by what watches it. Every kind of check is made everywhere; how
 * many rounds of one kind are worth their time differs: valgrind, which is there for reads of what nobody wrote, is
 * thirty times slower than the sanitizers, which are there for all else. */
#ifndef TW_TESTS_ROUNDS_H
#define TW_TESTS_ROUNDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define TW_TESTS_SANITIZED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define TW_TESTS_SANITIZED 1
#endif
#ifndef TW_TESTS_SANITIZED
#define TW_TESTS_SANITIZED 0
#endif

static inline bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

/* Of so many rounds alike: a twentieth under valgrind, but ten. */
static inline int rounds(int all)
{
    int few = all / 20 > 10 ? all / 20 : 10;
    return under_valgrind() && all > few ? few : all;
}

/* The same of rounds that compare what is computed with what is known: the build without sanitizers makes them all, the
 * one with them a quarter, as faults of memory are where the code is and not where the numbers are. */
static inline int rounds_compared(int all)
{
    int few = all / 4 > 10 ? all / 4 : 10;
    return TW_TESTS_SANITIZED && all > few ? few : rounds(all);
}

/* Fails allocation number `fail_at`, counted from 1 (0: none), and counts the blocks that are alive. */
struct failing {
    long calls, fail_at, blocks;
};

static inline void *failing_alloc(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct failing *f = context;
    (void)old_size;
    if (new_size == 0) {
        f->blocks -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (++f->calls == f->fail_at)
        return NULL;
    void *moved = realloc(pointer, new_size);
    f->blocks += !pointer && moved;
    return moved;
}

/* The allocation to fail behind this one. With sanitizers each fails once; without, the same code runs: the first 32,
 * then ever fewer, so that the time of a test does not grow with the square of what it allocates. */
static inline long failing_next(long fail)
{
    return fail + 1 + (TW_TESTS_SANITIZED || fail < 32 ? 0 : fail / 16);
}

#endif
