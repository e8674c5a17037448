/* Edits of a Plan's steps, drawn by a seed: damage, and what does no harm. Each is made in what the protocol check
 * reads and in what the text is emitted from alike: a field that the template does not spell (arrivals of a RELEASE,
 * bytes of a FILL, the count of a chunk loop) is left alone, and steps without a text of their own (READ, and the TOUCH
 * that stands for the reads of what follows) stay before the step that they belong to. What steps compute is left alone
 * too: the check is of their order. */
#ifndef TW_TESTS_DAMAGE_EDITS_H
#define TW_TESTS_DAMAGE_EDITS_H

#include "lower/family.h"
#include "plan/plan.h"

#define DAMAGE_CLASSES(X)                                                                                              \
    X(REMOVED, "a step removed")                                                                                       \
    X(MOVED, "a step moved")                                                                                           \
    X(SWAPPED, "swapped with its neighbour")                                                                           \
    X(DOUBLED, "a step doubled")                                                                                       \
    X(COUNT, "another barrier")                                                                                        \
    X(PHASE, "another phase")                                                                                          \
    X(ARRIVALS, "other arrivals")                                                                                      \
    X(BYTES, "other bytes")                                                                                            \
    X(STAGES, "stages without memory")                                                                                 \
    X(WEAKER, "a wait weakened")                                                                                       \
    X(EARLIER, "a release earlier")                                                                                    \
    X(NO_FENCE, "a fence dropped")                                                                                     \
    X(NO_BARRIER, "a barrier dropped")                                                                                 \
    X(TURN, "a turn misplaced")                                                                                        \
    X(LOOP, "a loop one shorter")                                                                                      \
    X(WHEN, "a guard off by one")                                                                                      \
    X(AHEAD, "a fill for another turn")                                                                                \
    X(LATER, "a release later")                                                                                        \
    X(STRONGER, "a stronger wait")                                                                                     \
    X(BARRIER, "one barrier more")                                                                                     \
    X(DEEPER, "a deeper ring")                                                                                         \
    X(FENCE, "one fence more")

enum edit_class {
#define X(id, name) EDIT_##id,
    DAMAGE_CLASSES(X)
#undef X
        EDIT_CLASSES,
    EDIT_HARMLESS = EDIT_LATER /* this and those behind it */
};

static const char *const edit_name[] = {
#define X(id, name) name,
    DAMAGE_CLASSES(X)
#undef X
};

enum { EDIT_MOST_STEPS = 512, EDIT_ROLES = 4, EDIT_RINGS = 16, EDIT_REGIONS = 32, EDIT_BARRIERS = 8 };

/* A Plan whose steps, rings and regions are its own. The rest is the original's. */
struct edit {
    struct plan plan;
    struct plan_role role[EDIT_ROLES];
    struct plan_step step[EDIT_ROLES][EDIT_MOST_STEPS];
    struct plan_ring ring[EDIT_RINGS];
    struct plan_shared shared[EDIT_REGIONS];
    const int (*shorter)[EDIT_MOST_STEPS]; /* by role and step of the original: a LOOP's trips less one, plan.fused */
    uint64_t *seed;
    char text[256]; /* what was done */
};

/* The edit's next random number, 0 to below - 1. */
int edit_draw(struct edit *e, int below);

/* The Plan as an edit of it that changes nothing yet. False: it has more of something than an edit has room for. */
bool edit_copy(struct edit *e, const struct plan *p);

/* A loop that may be made a turn shorter. */
bool edit_is_loop(const struct plan_step *s);

/* Takes step `at` out. */
void edit_take(struct edit *e, int role, int at);

/* Puts the step before step `at`, and before what has no text and belongs to that. Returns where it is. */
int edit_put(struct edit *e, int role, int at, struct plan_step step);

/* Moves a step before step `to`. False: it is where it was. */
bool edit_move_to(struct edit *e, int role, int step, int to);

/* Regions and offsets anew for a ring with so many stages. */
void edit_set_stages(struct edit *e, struct plan_ring *ring, int stages);

/* Makes one edit of the class. False where there is none, or it changes nothing: *e is then to be copied anew. */
bool edit_make(struct edit *e, enum edit_class class);

#endif
