/* Inside timelines: how rows come about, of the emulator's events (timeline.c) or of a GPU's stamps
 * (timeline_stamps.c). */
#ifndef TW_GEN_SHOW_TIMELINE_MAKE_H
#define TW_GEN_SHOW_TIMELINE_MAKE_H

#include "show/timeline.h"

enum { ROWS_MOST = 256, BARRIERS_MOST = 96, RINGS_MOST = 32 };

/* Where an address of shared memory lies. */
enum place_kind { PLACE_NOWHERE, PLACE_STAGE, PLACE_FULL, PLACE_EMPTY };
struct place {
    enum place_kind kind;
    int ring, stage;
};

/* A stage that lasts in its state, and a warp that waits, are spans that are open at the end of their rows. */
struct maker {
    struct timeline *t;
    struct {
        int room;
        bool open;
        uint64_t landed;   /* CP_ASYNC: bytes of the stage that have come */
        uint64_t read_at;  /* CP_ASYNC: when it was last read */
        struct place read; /* of a warp: the stage that it loads fragments from */
    } row[ROWS_MOST];
    int stage_row[RINGS_MOST]; /* by ring: its first row, -1: none */
    int stage_rows[RINGS_MOST];
    uint64_t stage_bytes[RINGS_MOST];
    bool failed;
};

/* Rows of the Plan's roles, one for each instance or for every warp, and of the stages of its rings. False: no memory;
 * timeline_free is due all the same. */
bool maker_open(struct maker *m, struct timeline *t, struct tw_runtime *rt, const struct plan *plan, uint64_t block,
                bool all_warps);

/* A span that begins and ends at the step; NULL: no memory, and m->failed is set. */
struct timeline_span *maker_add_span(struct maker *m, int row, enum timeline_kind kind, uint64_t step);
struct timeline_span *maker_last_span(struct maker *m, int row); /* NULL: none */

/* Ends what is open; a wait that took no step is forgotten. */
void maker_close_span(struct maker *m, int row, uint64_t step);

/* A stage's state from the step on. */
void maker_set_state(struct maker *m, int row, enum timeline_kind kind, uint64_t step);
enum timeline_kind maker_state(struct maker *m, int row);

/* Number of what is waited at, by its name; -1: there are too many. */
int maker_barrier(struct maker *m, const char *name);

/* Steps waited by barrier, stages filled by ring: once all spans are there. */
void maker_count(struct timeline *t);

#endif
