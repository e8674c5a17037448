/* The protocol check's parts: what protocol.c (the text of the roles), protocol_run.c (the exploration) and
 * check.c share. Nobody else includes it but tests. */
#ifndef TW_GEN_PLAN_PROTOCOL_H
#define TW_GEN_PLAN_PROTOCOL_H

#include "plan/plan.h"

enum { PROTOCOL_MAX_BLOCKS = 16, PROTOCOL_MAX_STAGES = 64, PROTOCOL_MAX_DEPTH = 8, PROTOCOL_MAX_THREADS = 1024 };

/* Trip counts of one exploration: in turn t of the persistent loop "tiles", a loop of another name, its first
 * LOOP the n-th of the Plan, makes trip[(t + n) % tiles] trips, and n more where that is not 0 or 1: loops of different
 * names must not rely on each other's counts. A LOOP step whose count is not 0 makes that many. */
struct protocol_trips {
    int tiles;
    int trip[4];
};

/* Reports `kernel 'K', ARCH, role R, stage S, step N CALL: text [rule]`. Steps count from 1 as in the printed tables;
 * stage -1 is left out. */
void protocol_fault(const struct plan *p, struct diag_set *diags, int role, int stage, int step, const char *rule,
                    const char *format, ...) __attribute__((format(printf, 7, 8)));

/* The name of a step as messages give it: its call, or its op. */
const char *protocol_step_name(const struct plan_step *step);

/* What can be read off the steps: well-formed loops, steps that fit their ring, who may touch which barrier. And
 * arrivals and bytes: what the steps bring against what the barriers count. Both return the number of faults. */
int protocol_check_program(const struct plan *p, struct diag_set *diags);
int protocol_check_counts(const struct plan *p, struct diag_set *diags);

/* Trip count of the LOOP at `step` of `role` in turn `tile`. */
int protocol_trip(const struct plan *p, const struct protocol_trips *trips, int role, int step, int tile);

/* The END of the LOOP at `step`. */
int protocol_loop_end(const struct plan_role *role, int step);

bool protocol_has(const struct plan_role *role, enum plan_op op, int ring, int tensor); /* -1: any */

/* Bit n where the role has a step `op` for tensor n of the ring. */
unsigned protocol_own_tensors(const struct plan *p, const struct plan_role *role, enum plan_op op, int ring);

/* Position of the step's tensor in its ring, -1 if it is not there. */
int protocol_slot(const struct plan *p, const struct plan_step *step);

/* One thread stands for the executor's reads of the ring: they are wgmma's, which the warpgroup makes together, or each
 * warp arrives for its own. */
bool protocol_reads_as_one(const struct plan_role *role, int ring);

/* Arrivals of a RELEASE step on each barrier. */
static inline int protocol_arrivals(const struct plan_step *release)
{
    return release->arrivals > 0 ? release->arrivals : 1;
}

/* Threads that stand for one executor: 2 where its threads must meet at barriers (cp.async, buffers that threads write,
 * several warps that read one stage at once), else 1. Two suffice: any pair of threads of an executor runs the same
 * steps, and every rule is about a pair. */
int protocol_lanes(const struct plan *p, int role);

/* Executors meet at a barrier each for itself (its threads are one instance's) rather than all together. */
bool protocol_barrier_is_private(const struct plan *p, int barrier);
/* The nearest barrier before the ring's STORE is private, or there is none: so are the buffers. */
bool protocol_buffers_are_private(const struct plan *p, int role, int ring);

/* Blocks of the cluster that a copy of `tensor` by block 0..blocks-1 reaches, as a bit set; itself included. */
struct protocol_cluster {
    int blocks;                        /* 1 where nothing is multicast */
    int stride[16], size[16], tensors; /* by tensor: its blocks are apart by stride; tensors beyond 16 are not shared */
};
struct protocol_cluster protocol_cluster(const struct plan *p);
unsigned protocol_sharing(const struct protocol_cluster *c, int tensor, int block);
unsigned protocol_neighbours(const struct plan *p, const struct protocol_cluster *c, int ring, int block);

/* Explores. Returns the number of faults (0 or 1: it stops at the first). */
int protocol_run(const struct plan *p, const struct protocol_trips *trips, struct diag_set *diags);

#endif
