/* Pools, and texts printed into memory. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/pool.h"

/* Memory that counts its bytes and may refuse. */
struct counting {
    size_t used;
    int calls, refuse; /* every call from that one on, 0: none */
};

static void *count(void *context, void *pointer, size_t old_size, size_t new_size)
{
    struct counting *c = context;
    if (new_size > old_size && ++c->calls >= c->refuse && c->refuse)
        return NULL;
    c->used += new_size - old_size;
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

enum { BLOCKS = 200 };

struct block {
    unsigned char *at, value;
    size_t size;
};

static void check(const struct block *b)
{
    for (size_t i = 0; i < b->size; i++)
        assert_int_equal(b->at[i], b->value);
    assert_int_equal((uintptr_t)b->at % POOL_STEP, 0);
}

/* Blocks of all sizes that come, grow, shrink and go keep what they hold, whatever is refused; none is left. */
static void blocks_keep_what_they_hold(void **state)
{
    (void)state;
    for (int refuse = 0; refuse < 40; refuse++) {
        struct counting c = {.refuse = refuse};
        struct pool pool = {.memory = {count, &c}};
        struct block block[BLOCKS] = {{0}};
        unsigned draw = 1;
        for (int turn = 0; turn < 4000; turn++) {
            draw = draw * 1664525u + 1013904223u;
            struct block *b = &block[(draw >> 8) % BLOCKS];
            size_t size = (draw >> 16) % 5 == 0 ? 0 : (draw >> 20) % (draw % 3 ? 600 : 3000) + 1;
            check(b);
            unsigned char *moved = pool_resize(&pool, b->at, b->size, size);
            if (size > 0 && !moved) {
                assert_true(refuse > 0 && size > b->size);
                continue;
            }
            *b =
                (struct block){moved, moved && b->at ? b->value : (unsigned char)turn, size < b->size ? size : b->size};
            check(b);
            b->size = size;
            b->value = (unsigned char)turn;
            if (size)
                memset(b->at, b->value, size);
        }
        for (int i = 0; i < BLOCKS; i++)
            check(&block[i]);
        pool_close(&pool);
        assert_int_equal(c.used, 0);
    }
}

/* What went is there for the next of its size. */
static void blocks_are_used_again(void **state)
{
    struct counting c = {0};
    struct pool pool = {.memory = {count, &c}};
    (void)state;
    for (int turn = 0; turn < 100000; turn++) {
        size_t size = (size_t)turn % 512 + 1;
        void *at = pool_resize(&pool, NULL, 0, size);
        assert_non_null(at);
        assert_null(pool_resize(&pool, at, size, 0));
    }
    if (POOL_SMALL > 0)
        assert_in_range(c.used, 1, 128 * 1024);
    else /* each was a block of its own, and has gone */
        assert_int_equal(c.used, 0);
    pool_close(&pool);
}

static int printed(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int printed(char *out, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = memory_print(out, room, format, list);
    va_end(list);
    return length;
}

#define SAME(...)                                                                                                      \
    for (size_t room = 0; room < sizeof expected; room++) {                                                            \
        memset(expected, 1, sizeof expected);                                                                          \
        memset(found, 1, sizeof found);                                                                                \
        assert_int_equal(printed(found, room, __VA_ARGS__), snprintf(expected, room, __VA_ARGS__));                    \
        assert_memory_equal(found, expected, room ? strlen(expected) + 1 : sizeof found);                              \
    }

static void prints_as_snprintf_does(void **state)
{
    char expected[64], found[64];
    (void)state;
    SAME("%s", "")
    SAME("plain")
    SAME("%s", "a text")
    SAME("%d", 0)
    SAME("%d and %d", INT_MIN, INT_MAX)
    SAME("a %s%d, %d%s.", "x", -7, 1234567890, "")
    SAME("100%% of %s", "it")
    SAME("%lld, %lld", LLONG_MIN, LLONG_MAX)
    SAME("%s%lld%d%s", "x", -1ll, 2, "y")
    SAME("%3d %lld %s", 5, 1ll << 40, "more")
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_what_they_hold),
        cmocka_unit_test(blocks_are_used_again),
        cmocka_unit_test(prints_as_snprintf_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
