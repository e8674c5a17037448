/* The protocol check's parts: what protocol.c (the text of the roles), protocol_run.c (the exploration) and
 * check.c share. Nobody else includes it but tests. */
#ifndef TW_GEN_PLAN_PROTOCOL_H
#define TW_GEN_PLAN_PROTOCOL_H

#include <string.h>

#include "plan/plan.h"

enum {
    PROTOCOL_MAX_BLOCKS = 16,
    PROTOCOL_MAX_STAGES = 64,
    PROTOCOL_MAX_DEPTH = 8,
    PROTOCOL_MAX_VARIABLES = 32, /* of loops; a Plan with more may not release behind one of the others */
    PROTOCOL_MAX_THREADS = 1024,
    PROTOCOL_MAX_CLASSES = 16,
    PROTOCOL_MAX_TURNS = 32,
    PROTOCOL_MAX_LATE = 4 /* late places */
};

/* ---- how often each loop turns (protocol_flow.c) ----------------------------------------------------------------- */

/* The numbers of the classes in one exploration. Where the LOOPs around the step are in turns t0, t1, .., a class has
 * the number trip[class][(.. (t0 * 7 + t1) * 7 ..) % turns]: trip[class][0] outside of all loops, trip[class][t %
 * turns] in turn t of a single one. */
struct protocol_trips {
    int turns;
    int trip[PROTOCOL_MAX_CLASSES][PROTOCOL_MAX_TURNS];
    bool rests;  /* a block's last item is one in which the instances rest that may (plan_role.resting) */
    bool reuses; /* every item but a block's first finds the tiles of the item before (plan_step.reuse) */
};

/* The classes of a Plan, in the order of their first step, and where the LOOPs and WHENs of its roles end. */
struct protocol_class {
    const char *name;
    int least;
    int nested; /* loops around its step that lies deepest */
    bool outer; /* another class lies in it */
};
struct protocol_code {
    int classes;
    struct protocol_class class[PROTOCOL_MAX_CLASSES];
    int *end[16];     /* by role and step */
    int *number[16];  /* class of a LOOP or WHEN; -1: its own count */
    int *next[16];    /* the first LOOP, WHEN or END from there on, or the number of steps */
    int *memory;
};

/* 0; or 3: memory is out or the Plan has more classes or roles than fit, and nothing can be proved. Loops must end. */
int protocol_code(const struct plan *p, struct protocol_code *code);
void protocol_code_free(struct protocol_code *code);

/* Chunks of a late place: packed, and not held yet; held, and not taken yet. */
struct protocol_late {
    int packed, left, all; /* all: that were held when none was taken yet */
};

/* Where an executor is in its program. foreign: depth of the shared loop whose turn is another instance's, 0: none.
 * next: the instance whose turn follows the last that has begun of a shared loop. */
struct protocol_flow {
    int step, depth, foreign, next;
    struct {
        int begin, turn, end; /* the LOOP or WHEN, its turn and one past its last */
        unsigned key;         /* of the turns of the LOOPs around it */
    } loop[PROTOCOL_MAX_DEPTH];
    struct protocol_late late[PROTOCOL_MAX_LATE]; /* by number of the place among the late ones */
};

/* Trips of the class (or of the step's own count), before what is peeled off, where the flow stands. */
int protocol_number(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips,
                    int role, const struct protocol_flow *flow);

/* How often the LOOP at flow->step turns, with the turns that are peeled off; whether the WHEN's body is run. */
int protocol_turns(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips, int role,
                   int instance, const struct protocol_flow *flow);
/* Makes the LOOP, WHEN or END at flow->step and goes to the step that follows it. */
void protocol_turn(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips, int role,
                   int instance, struct protocol_flow *flow);

/* Of a step with a late place: its number among them; else -1. */
int protocol_late_place(const struct plan *p, const struct plan_step *s);
/* The step changes what a late place holds: TOUCH or WRITE. */
bool protocol_holds(const struct plan *p, const struct plan_step *s);
/* What such a step does. What is wrong with it, else LATE_FINE: a chunk is taken where none is held, results are packed
 * over chunks that never went out, chunks are held that were not packed. */
enum protocol_late_fault { LATE_FINE, LATE_NONE_HELD, LATE_LOST, LATE_NOT_PACKED };
enum protocol_late_fault protocol_hold(const struct plan *p, const struct plan_step *s, struct protocol_flow *flow);

static inline bool protocol_is_flow(enum plan_op op)
{
    return op == PLAN_LOOP || op == PLAN_WHEN || op == PLAN_END;
}

/* Proves the Plan, or knows that one of the same steps was proved (protocol_proofs.c). Returns the number of faults. */
int protocol_prove(struct plan *p, struct diag_set *diags);

/* Explores what stands for every number of every class. Returns the number of faults; *proof: how much it took. */
int protocol_explore(const struct plan *p, struct diag_set *diags, struct plan_proof *proof);

/* ---- the text of the roles (protocol.c) -------------------------------------------------------------------------- */

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

/* Places, expressions and hardware barriers that steps name (check_places.c). */
void plan_check_places(const struct plan *p, int named_barriers, struct diag_set *diags);

/* The ring that passes items on decides how often "tiles" turns: what each role wrote or read last stands right before
 * the loop and at the end of its body, in no other loop (protocol_items.c). */
void protocol_check_items(const struct plan *p, struct diag_set *diags);

/* Late places of the role: which steps have them, and in which order (protocol_late.c). */
void protocol_check_late(const struct plan *p, int role, struct diag_set *diags);

int protocol_instance_threads(const struct plan_role *role);

bool protocol_has(const struct plan_role *role, enum plan_op op, int ring, int tensor); /* -1: any */
/* The first step `op` of the ring (-1: of any), and the last; -1 where there is none. */
int protocol_find(const struct plan_role *role, enum plan_op op, int ring);
int protocol_find_last(const struct plan_role *role, enum plan_op op, int ring);

/* The matrix instruction of an MMA step is done at once: threads' registers and reads need no wait. */
static inline bool protocol_is_synchronous(const struct plan *p, const struct plan_step *step)
{
    return step->count < p->mma_count && p->mma[step->count].kind && strcmp(p->mma[step->count].kind, "mma.sync") == 0;
}

/* The place of a step, or NULL. */
static inline const struct plan_place *protocol_place(const struct plan *p, int field)
{
    return field > 0 && field <= p->place_count ? &p->place[field - 1] : NULL;
}

/* The step by which a role fills stages of the ring: WRITE or FILL. */
enum plan_op protocol_fill_op(const struct plan *p, int ring);
/* mbarriers carry the ring: full and empty, or full alone. */
bool protocol_has_mbarriers(const struct plan *p, int ring);
/* Sets of stages that the ring has in a block: of an OWN ring one for each instance of the role that fills. */
int protocol_stage_sets(const struct plan *p, int ring);
/* The OWN ring that comes into the buffers of a THREADS ring, -1: none. */
int protocol_source_of(const struct plan *p, int ring);

/* Bit n where the role has a step `op` for tensor n of the ring. */
unsigned protocol_own_tensors(const struct plan *p, const struct plan_role *role, enum plan_op op, int ring);

/* Position of the step's tensor in its ring, -1 if it is not there. */
int protocol_slot(const struct plan *p, const struct plan_step *step);

/* One thread stands for the executor's reads of the ring: they are wgmma's, which the warpgroup makes together, or each
 * warp arrives for its own. */
bool protocol_reads_as_one(const struct plan_role *role, int ring);

/* Arrivals of a RELEASE or ARRIVE step on each barrier. */
static inline int protocol_arrivals(const struct plan_step *step)
{
    return step->arrivals > 0 ? step->arrivals : 1;
}

/* Those that one of the threads that stand for an executor makes: of an ARRIVE by each warp, each brings its part. */
int protocol_arrivals_of_lane(const struct plan_role *role, const struct plan_step *step, int lanes, int lane);

/* Threads that stand for one executor: 2 where its threads must meet at barriers (cp.async, buffers that threads write,
 * scratch, several warps that read one stage at once), else 1. Two suffice: any pair of threads of an executor runs the
 * same steps, and every rule is about a pair. */
int protocol_lanes(const struct plan *p, int role);

/* Executors meet at a barrier each for itself (its threads are one instance's) rather than all together. */
bool protocol_barrier_is_private(const struct plan *p, int barrier);
/* Which of the hardware barriers of plan.barrier[step->count] an instance's BARRIER or BARRIER_ARRIVE is for. */
int protocol_meeting(const struct plan *p, int role, int instance, const struct plan_step *step);
/* The nearest barrier before the ring's STORE is private, or there is none: so are the buffers. */
bool protocol_buffers_are_private(const struct plan *p, int role, int ring);

/* Blocks of the cluster that a copy of `tensor` by block 0..blocks-1 reaches, as a bit set; itself included. */
struct protocol_cluster {
    int blocks;                        /* 1 where nothing is multicast */
    int peers;                         /* blocks of a ring that threads of other blocks fill are apart so; 0: none is */
    int stride[16], size[16], tensors; /* by tensor: its blocks are apart by stride; tensors beyond 16 are not shared */
};
struct protocol_cluster protocol_cluster(const struct plan *p);
/* The axes that a tensor has, as a bit set: what it is not shared along. */
unsigned protocol_axes(const struct plan *p, int tensor);
unsigned protocol_sharing(const struct protocol_cluster *c, int tensor, int block);
/* Those that arrive on a block's empty barriers of the ring: itself and those that it shares copies with; of a ring of
 * PEERS the others. */
unsigned protocol_neighbours(const struct plan *p, const struct protocol_cluster *c, int ring, int block);

/* Explores at numbers of the classes. Returns the number of faults (0 or 1: it stops at the first). The Plan and its
 * code outlive the runs; NULL out of memory. protocol_run is all three for one run. */
struct protocol_runs *protocol_runs_open(const struct plan *p, const struct protocol_code *code);
int protocol_runs_run(struct protocol_runs *runs, const struct protocol_trips *trips, struct diag_set *diags);
/* Counts a run of so many steps that need not be made: all roles would go the way of an earlier one. */
void protocol_runs_again(struct protocol_runs *runs, int64_t steps);
/* How much was explored so far: threads, runs and steps of *proof. */
void protocol_runs_count(const struct protocol_runs *runs, struct plan_proof *proof);
void protocol_runs_close(struct protocol_runs *runs); /* NULL is fine */
int protocol_run(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips,
                 struct diag_set *diags);

#endif
