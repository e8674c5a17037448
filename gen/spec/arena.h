/* Memory of the front end: one hook that a test can make fail at call N, and an arena on top of it. */
#ifndef TW_GEN_SPEC_ARENA_H
#define TW_GEN_SPEC_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialised is realloc and free. new_size 0 frees; old_size is what was asked for before, 0 for NULL. */
struct memory {
    void *(*alloc)(void *context, void *pointer, size_t old_size, size_t new_size);
    void *context;
};

/* Resizes, allocates (pointer NULL) or frees (new_size 0). NULL out of memory, the old block then stays. */
void *memory_resize(const struct memory *m, void *pointer, size_t old_size, size_t new_size);

/* Memory of which there is so much: what a text may make the program allocate. */
struct memory_budget {
    struct memory memory; /* where it comes from */
    size_t used, most;
    bool refused;         /* more was asked for than there may be */
};
struct memory memory_within(struct memory_budget *budget);

/* Blocks that are freed together. Zero-initialised (but for `memory`) is empty. */
struct arena {
    struct memory memory;
    struct arena_block *block;
};

void *arena_alloc(struct arena *a, size_t bytes); /* zeroed, aligned for any type; NULL out of memory */
void *arena_room(struct arena *a, size_t bytes);  /* the same, not zeroed */
char *arena_copy(struct arena *a, const char *text, size_t length); /* a zero byte follows */
char *arena_text(struct arena *a, const char *text);
char *arena_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* vsnprintf, in a third of the time where the format has nothing but %s, %d and %lld, as most here have. */
int memory_print(char *out, size_t room, const char *format, va_list list) __attribute__((format(printf, 3, 0)));

/* Room for `count` + 1 elements of `size` bytes: moves the array to a new place where count is a power of two (or 0).
 * NULL out of memory. The old place is given back only by arena_free: for small arrays. */
void *arena_grow(struct arena *a, void *array, int count, size_t size);
void arena_free(struct arena *a);

#endif
