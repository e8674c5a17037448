/* Numbers computed by several processes, by a state that threads cannot share, such as Lua's. */
#ifndef TW_GEN_READ_PROCESSES_H
#define TW_GEN_READ_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

struct processes {
    int64_t count; /* of numbers */
    int64_t least; /* numbers that are worth a process */
    /* Writes to[first] up to to[end - 1]; false: it cannot. Nothing else that it writes is seen by the caller, and it
     * may use neither a driver nor what other threads hold. */
    bool (*write)(void *context, double *to, int64_t first, int64_t end);
    void *context;
};

/* Calls write for all numbers, a part in each of as many processes as there are processors. False: they are too few for
 * two processes, there is one processor, or a process could not be made or not write; `to` is then as it was. */
bool processes_compute(const struct processes *processes, double *to);

#endif
