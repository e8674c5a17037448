/* How often a test does what it does many times over, by what watches it. Every kind of check is made everywhere; how
 * many rounds of one kind are worth their time differs: valgrind, which is there for reads of what nobody wrote, is
 * thirty times slower than the sanitizers, which are there for all else. */
#ifndef TW_TESTS_ROUNDS_H
#define TW_TESTS_ROUNDS_H

#include <execinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
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

/* Fails allocation number `fail_at`, counted from 1 (0: none), and counts the blocks that are alive. by_path: the first
 * from there on that is due by failing_due. */
struct failing {
    long calls, fail_at, blocks;
    bool by_path, failed;
};

/* Allocations of a loop of failing_next_path, by the innermost calls that lead to them: how many there were. */
enum { FAILING_PATHS = 1 << 14 };
static struct {
    struct {
        uint64_t path;
        long count;
    } at[FAILING_PATHS];
    long last; /* the one that failed last; 0: none did */
} failing_paths;

/* Of the allocations to which the same innermost calls lead the first, the second, the fourth and so on is due: one
 * after the other they run through the same code. */
static inline bool failing_due(struct failing *f)
{
    void *frame[12];
    uint64_t path = UINT64_C(1469598103934665603);
    if (f->failed || f->calls < f->fail_at)
        return false;
    if (f->fail_at == 1 && f->calls == 1)
        memset(&failing_paths, 0, sizeof failing_paths);
    for (int i = 0, depth = backtrace(frame, sizeof frame / sizeof *frame); i < depth; i++)
        path = (path ^ (uint64_t)(uintptr_t)frame[i]) * UINT64_C(1099511628211);
    size_t slot = path % FAILING_PATHS;
    for (int i = 0; i < FAILING_PATHS && failing_paths.at[slot].count && failing_paths.at[slot].path != path; i++)
        slot = (slot + 1) % FAILING_PATHS;
    failing_paths.at[slot].path = path;
    long count = ++failing_paths.at[slot].count;
    f->failed = (count & (count - 1)) == 0;
    failing_paths.last = f->failed ? f->calls : failing_paths.last;
    return f->failed;
}

static inline void *failing_alloc(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct failing *f = context;
    (void)old_size;
    if (new_size == 0) {
        f->blocks -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    ++f->calls;
    if (f->by_path && TW_TESTS_SANITIZED ? failing_due(f) : f->calls == f->fail_at)
        return NULL;
    void *moved = realloc(pointer, new_size);
    f->blocks += !pointer && moved;
    return moved;
}

/* The allocation to fail behind this one. With sanitizers each fails once, or each of a path (failing_next_path);
 * without, the same code runs: the first 32, then ever fewer, so that the time of a test does not grow with the square
 * of what it allocates. */
static inline long failing_next(long fail)
{
    return fail + 1 + (TW_TESTS_SANITIZED || fail < 32 ? 0 : fail / 16);
}

/* The same where memory is by_path, in a loop that begins with 1; with sanitizers behind the one that failed last. */
static inline long failing_next_path(long fail)
{
    long last = failing_paths.last;
    failing_paths.last = 0;
    return !TW_TESTS_SANITIZED ? failing_next(fail) : last ? last + 1 : LONG_MAX;
}

#endif
