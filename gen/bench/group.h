/* Inside bench SPEC: what the files that work on one group share. */
#ifndef TW_GEN_BENCH_GROUP_H
#define TW_GEN_BENCH_GROUP_H

#include "bench/kernels.h"

/* Of cuBLASLt's heuristics all are tried in bursts; those not slower than the fastest by NEAR_PERCENT go into a short
 * sustained trial. The first of the list is timed, and in each mode the best of its trial beside it. */
enum { BENCH_NEAR_PERCENT = 15, BENCH_BEST = 2, BENCH_FINALISTS = 1 + BENCH_BEST };

/* A heuristic of cuBLASLt's, as a candidate. */
struct bench_choice {
    struct bench_group *group;
    int heuristic;
};

/* Those that are timed in a mode, the library's first of them first. */
struct bench_finalists {
    struct bench_choice choice[TIME_MODES][BENCH_FINALISTS];
    int count[TIME_MODES];
};

/* ---- bench_buffers.c --------------------------------------------------------------------------------------------- */

/* Makes the group's tensors in as many sets as exceed the L2, draws the inputs; and frees them. A status. */
int bench_make_buffers(struct bench_group *g, struct tw_error *error);
void bench_drop_buffers(struct bench_group *g);

/* ---- bench_group.c ----------------------------------------------------------------------------------------------- */

/* The Plan of a kernel's first variant: all have the same tensors. */
const struct plan *bench_plan(const struct bench_part *part);

/* Launches a kernel, a struct bench_part, as struct time_candidate has it. */
int bench_launch_part(void *part, int set, struct tw_error *error);

/* ---- bench_work.c ------------------------------------------------------------------------------------------------ */

/* What data leave of a kernel's work (plan_item.filled): rows that are computed along an axis. */
struct bench_work {
    int axis, along; /* of the plan; along: by whose places the rows are counted, -1: there is none such */
    int64_t rows;    /* in all */
    int64_t extent;  /* of the axis: what room there is at each place */
    int64_t places;  /* of `along`, or 1 */
    int64_t filled;  /* those with any rows */
};

/* False: the kernel works on all of its tensors. The group's buffers are made, the part's variant is chosen. */
bool bench_work(const struct bench_group *g, const struct bench_part *part, struct bench_work *work);

/* Operations and bytes of all of the tensors become those of what the data leave. */
void bench_count(const struct bench_group *g, const struct bench_part *part, double *flops, double *bytes);

/* ---- bench_visible.c --------------------------------------------------------------------------------------------- */

/* Of a kernel's operations, `flops` of all elements that there are, what its masks let in; and where data decide how
 * many elements there are, and flops is 0, operations of these. 0: it is not known. */
double bench_visible(const struct bench_group *g, const struct bench_part *part, double flops);

/* ---- bench_peer.c ------------------------------------------------------------------------------------------------ */

/* Launches a struct bench_choice likewise. */
int bench_launch_peer(void *choice, int set, struct tw_error *error);

/* Chooses the heuristics that are timed, of those that are right; and holds the kernels that are the plain product, in
 * all elements, against what one of them gives. Nothing where there is no peer. A status. */
int bench_choose_peers(struct bench_group *g, struct bench_finalists *finalists, struct tw_error *error);

/* Which of `count` results in a mode is the fastest and not taken, -1: none. taken: NULL for none. */
int bench_fastest(const struct time_result (*result)[TIME_MODES], int count, enum time_mode mode, const bool *taken);

/* Whether the kernels do what the driver's copy of memory does, and it has one that a stream takes; and launches it, of
 * a struct bench_group. */
bool bench_is_copy(const struct bench_group *g);
int bench_launch_copy(void *group, int set, struct tw_error *error);

/* The group's tensor that is a, b or d of its product. */
const struct bench_buffer *bench_operand(const struct bench_group *g, int number);

#endif
