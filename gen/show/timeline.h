/* Inside show timeline and profile: what one block did, as rows over steps. show_timeline.c runs the kernel on the
 * emulator and hands over the events, timeline.c makes rows of them; show_profile.c has the stamps of a profile build,
 * and timeline_stamps.c makes rows of these. timeline_text.c and timeline_svg.c show the rows. */
#ifndef TW_GEN_SHOW_TIMELINE_H
#define TW_GEN_SHOW_TIMELINE_H

#include "compile/compile.h"
#include "emu/emu.h"

enum timeline_kind {
#define KIND(ID, letter, colour, name) TIMELINE_##ID,
#include "show/timeline_kinds.def"
#undef KIND
    TIMELINE_KIND_COUNT
};

struct timeline_kind_info {
    char letter;
    const char *colour, *name;
};
extern const struct timeline_kind_info timeline_kind_all[TIMELINE_KIND_COUNT];

/* A wait or a state from one step to another, or marks that follow each other. */
struct timeline_span {
    enum timeline_kind kind;
    uint64_t from, to;  /* to: the step behind a wait or state, the last one of marks */
    int ring, stage;    /* -1: none */
    int barrier;        /* of a wait: index of timeline.barrier, else -1 */
    uint64_t count, bytes;
    const char *file;   /* of the first event; "" where unknown */
    uint32_t line;
};

struct timeline_row {
    char name[48];
    int role;           /* of the Plan; -1: a stage */
    int warp;           /* of a role: whose events these are */
    int ring, stage;    /* of a stage */
    uint64_t begin, end; /* of a role: from its first instruction to behind its last */
    struct timeline_span *span;
    int span_count;
};

/* What was waited at: the full or the empty barriers of a ring, a named barrier, the cluster's. */
struct timeline_barrier {
    char name[48];
    uint64_t *waited;   /* by row: steps */
    uint64_t total;
};

struct timeline {
    struct tw_runtime *rt;
    const struct plan *plan;
    uint64_t block, steps;   /* of the block: from 0 on */
    uint64_t first_step;     /* of the launch, when the block began */
    bool stamped;            /* of a profile build's stamps: when a copy has landed is not known */
    const char *unit, *about; /* "steps", and what they are; of stamps "clocks" */
    double begin, microseconds; /* in a trace: when the block began, and a step's length */
    struct timeline_row *row;
    int row_count, role_rows; /* roles first, then stages */
    struct timeline_barrier *barrier;
    int barrier_count;
    double *filled;          /* by ring: mean of stages that are full or being read, while the ring was in use */
};

static inline bool timeline_is_mark(enum timeline_kind kind)
{
    return kind >= TIMELINE_EXPECT && kind <= TIMELINE_WAIT_STORE;
}

/* What a kind is called in this timeline. */
static inline const char *timeline_kind_name(const struct timeline *t, enum timeline_kind kind)
{
    return t->stamped && kind == TIMELINE_FILLING ? "on its way, or full" : timeline_kind_all[kind].name;
}

/* Whether timeline.filled and the rows of stages tell of the ring: stamps do not of one whose stages are free without a
 * barrier, nor where instances go past stages that others take. */
bool timeline_has_filled(const struct timeline *timeline, int ring);

/* What it counts. */
static inline const char *timeline_filled_word(const struct timeline *t)
{
    return t->stamped ? "on their way, full or being read" : "full or being read";
}

/* Makes rows of the events of one block, in their order: one for the first warp of each instance of a role, or for
 * every warp. TW_OK or TW_ERROR_MEMORY. */
int timeline_make(struct timeline *timeline, struct tw_runtime *rt, const struct plan *plan, uint64_t block,
                  const struct emu_event *event, size_t count, bool all_warps, struct tw_error *error);
void timeline_free(struct timeline *timeline);

/* Steps from..to of it in 100 columns; to 0: to the end. */
int timeline_print(const struct timeline *timeline, uint64_t from, uint64_t to, struct tw_error *error);
int timeline_draw(const struct timeline *timeline, uint64_t from, uint64_t to, const char *title, const char *path,
                  struct tw_error *error);

/* Chrome's trace format: a process for each of the blocks. */
int timeline_trace(const struct timeline *timeline, int count, const char *title, const char *path,
                   struct tw_error *error);

#endif
