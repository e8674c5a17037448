#include "read/processes.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MOST = 64 };

static int64_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Their parts into memory that all share. */
static bool compute(const struct processes *p, int64_t parts, double *to)
{
    pid_t process[PROCESSES_MOST];
    int made = 0, status;
    bool fine = true;
    while (made < parts && fine) {
        process[made] = fork();
        if (process[made] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(p->write(p->context, to, p->count * made / parts, p->count * (made + 1) / parts) ? 0 : 1);
        }
        fine = process[made] > 0;
        made += fine;
    }
    for (int i = 0; i < made; i++) {
        pid_t ended;
        while ((ended = waitpid(process[i], &status, 0)) < 0 && errno == EINTR)
            ;
        fine = fine && ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return fine;
}

bool processes_compute(const struct processes *p, double *to)
{
    const size_t bytes = sizeof *to * (size_t)p->count;
    int64_t parts = p->count / p->least;
    parts = parts < processors() ? parts : processors();
    parts = parts < PROCESSES_MOST ? parts : PROCESSES_MOST;
    if (parts < 2)
        return false;
    double *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    const bool fine = compute(p, parts, shared);
    if (fine)
        memcpy(to, shared, bytes);
    munmap(shared, bytes);
    return fine;
}
