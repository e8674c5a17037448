/* A process a GPU. The parent touches no driver: what it forks would not survive that. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensor_parallel.h"

struct group group;

void must(int result, const char *what)
{
    if (!result)
        return;
    if (group.failure) {
        *group.failure = *group.failure ? *group.failure : result;
        return;
    }
    fprintf(stderr, "rank %d: %s: %d\n", group.rank, what ? what : "", result);
    fflush(NULL);
    _exit(1);
}

void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

void meet(void)
{
    struct shared *shared = group.shared;
    const unsigned phase = atomic_load(&shared->phase);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == (unsigned)group.ranks) {
        atomic_store(&shared->arrived, 0);
        atomic_store(&shared->phase, phase + 1);
    } else
        for (int i = 0; atomic_load(&shared->phase) == phase; i++)
            if (i < 1000)
                sched_yield();
            else
                usleep(20);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static pid_t forked(int rank, int (*work)(void *context), void *context)
{
    const pid_t parent = getpid();
    fflush(NULL);
    const pid_t child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    group.rank = rank;
    const int status = work(context);
    fflush(NULL);
    _exit(status);
}

static int count_devices(void *counted)
{
    open_cuda();
    must(cuda.device_count(counted), "cuDeviceGetCount");
    return 0;
}

/* Which of the children has ended: its status, -1 where none has yet. */
static int ended(pid_t *child, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        int status;
        if (child[r] <= 0 || waitpid(child[r], &status, WNOHANG) != child[r])
            continue;
        child[r] = 0;
        if (WIFSIGNALED(status))
            fprintf(stderr, "rank %d: ended by signal %d\n", r, WTERMSIG(status));
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return -1;
}

int run_group(int ranks, double seconds, int (*work)(void *context), void *context)
{
    pid_t child[RANKS_MAX] = {0};
    const double until = now() + seconds;
    int running = 0, failed = 0;
    group.shared = shared_memory(sizeof *group.shared);
    group.shared->run = (int)getpid();
    if (ranks == 0) {
        int *devices = shared_memory(sizeof *devices);
        const pid_t asked = forked(0, count_devices, devices);
        int status = 1;
        if (asked < 0 || waitpid(asked, &status, 0) != asked || status) {
            fprintf(stderr, "the driver does not tell how many GPUs there are\n");
            return 1;
        }
        ranks = *devices < RANKS_MAX ? *devices : RANKS_MAX;
    }
    if (ranks < 1 || ranks > RANKS_MAX) {
        fprintf(stderr, "%d ranks: 1 to %d, of a GPU each\n", ranks, RANKS_MAX);
        return 1;
    }
    group.ranks = ranks;
    for (; running < ranks && !failed; running++) {
        child[running] = forked(running, work, context);
        failed = child[running] < 0;
    }
    if (failed)
        perror("fork");
    while (running > 0 && !failed) {
        const int status = ended(child, ranks);
        if (status >= 0)
            running--, failed = status;
        else if (now() > until)
            failed = fprintf(stderr, "the ranks have not ended after %.0f seconds, and are killed\n", seconds) > 0;
        else
            usleep(2000);
    }
    for (int r = 0; r < ranks; r++)
        if (child[r] > 0) {
            kill(child[r], SIGKILL);
            waitpid(child[r], NULL, 0);
        }
    return failed;
}
