/* Loops over threads, and progress on a terminal. */
#ifndef TW_GEN_COMMON_PARALLEL_H
#define TW_GEN_COMMON_PARALLEL_H

#include <stdint.h>

/* Processors that this process may use, at least 1. */
int parallel_cores(void);

/* Calls work(context, i) once for each i in 0..count-1, from at most `threads` threads, the caller's among them, and
 * returns when all are done. Where a thread cannot be made there are fewer. Calls must be independent of each other;
 * what they write is visible to the caller afterwards. */
void parallel_for(int64_t count, int threads, void (*work)(void *context, int64_t i), void *context);

/* Shows one line on stderr that replaces the one before, or takes it away. Nothing where stderr is no terminal. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_clear(void);

#endif
