#include "common/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS_MOST = 64 };

struct loop {
    atomic_int_least64_t next;
    int64_t count;
    void (*work)(void *context, int64_t i);
    void *context;
};

static void *run(void *argument)
{
    struct loop *loop = argument;
    for (;;) {
        int64_t i = atomic_fetch_add(&loop->next, 1);
        if (i >= loop->count)
            return NULL;
        loop->work(loop->context, i);
    }
}

int parallel_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int count = CPU_COUNT(&set);
        if (count > 0)
            return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < 1 << 20 ? (int)online : 1;
}

void parallel_for(int64_t count, int threads, void (*work)(void *context, int64_t i), void *context)
{
    struct loop loop = {.count = count, .work = work, .context = context};
    pthread_t thread[THREADS_MOST];
    int started = 0;
    atomic_init(&loop.next, 0);
    if (threads > THREADS_MOST)
        threads = THREADS_MOST;
    if (threads > count)
        threads = (int)count;
    while (started + 1 < threads && pthread_create(&thread[started], NULL, run, &loop) == 0)
        started++;
    run(&loop);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

void progress_show(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    va_list list;
    va_start(list, format);
    flockfile(stderr);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, list);
    fflush(stderr);
    funlockfile(stderr);
    va_end(list);
}

void progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}
