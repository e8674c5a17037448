/* How often stages of a kernel's rings are filled, block by block, as the emulator's events show it.
 *
 * A fill is a completed phase of the stage's full barrier; where the ring has none, a copy or store to an address of
 * the stage to which one went before. */
#ifndef TW_GEN_VERIFY_RUN_RING_FILLS_H
#define TW_GEN_VERIFY_RUN_RING_FILLS_H

#include <stdbool.h>
#include <stdint.h>

struct emu_event;
struct plan;
struct plan_shared;

enum {
    RING_FILLS_STAGES = 128, /* of all rings of a kernel; those behind are not looked at */
    RING_FILLS_RINGS = 32,
    RING_FILLS_BLOCKS = 1024, /* resident ones that are told apart, by the low bits of their number */
    RING_FILLS_MOST = 255     /* what is counted up to */
};

/* How a ring's fills are seen: in this region of shared memory. */
struct ring_seen {
    const struct plan_shared *region; /* NULL: not at all */
    bool barrier;                     /* of full barriers; else of the stages */
    int first, stages;                /* in ring_fills.fills */
};

/* Of one kernel, over all its launches. */
struct ring_fills {
    struct ring_seen ring[RING_FILLS_RINGS]; /* by plan.ring */
    int ring_count;
    uint8_t fills[RING_FILLS_STAGES]; /* most of any block so far */
};

/* Of a block of the launch under way. */
struct ring_block {
    uint8_t fills[RING_FILLS_STAGES];
    int64_t probe[RING_FILLS_STAGES]; /* address that was written first, -1: none; not of barriers */
};

/* The kinds of events that are looked at, as bits, for emu_options.events. */
uint32_t ring_fills_events(void);

/* The plan outlives *fills. */
void ring_fills_open(struct ring_fills *fills, const struct plan *plan);

/* `block`: RING_FILLS_BLOCKS of them, which all kernels can share. */
void ring_fills_event(struct ring_fills *fills, struct ring_block *block, const struct emu_event *event);

#endif
