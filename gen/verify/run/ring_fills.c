#include "verify/run/ring_fills.h"

#include <string.h>

#include "emu/emu.h"
#include "plan/plan.h"

uint32_t ring_fills_events(void)
{
    return 1u << EMU_EVENT_START | 1u << EMU_EVENT_ARRIVE | 1u << EMU_EVENT_EXPECT | 1u << EMU_EVENT_SIGNAL |
           1u << EMU_EVENT_ISSUE | 1u << EMU_EVENT_WRITE | 1u << EMU_EVENT_PUT;
}

static void filled(struct ring_fills *fills, struct ring_block *block, int stage)
{
    if (block->fills[stage] < RING_FILLS_MOST)
        block->fills[stage]++;
    if (fills->fills[stage] < block->fills[stage])
        fills->fills[stage] = block->fills[stage];
}

void ring_fills_event(struct ring_fills *fills, struct ring_block *blocks, const struct emu_event *event)
{
    if (event->kind == EMU_EVENT_START) {
        if (event->warp == 0) {
            struct ring_block *block = &blocks[event->block % RING_FILLS_BLOCKS];
            memset(block->fills, 0, sizeof block->fills);
            memset(block->probe, 0xff, sizeof block->probe);
        }
        return;
    }
    bool barrier =
        event->kind == EMU_EVENT_ARRIVE || event->kind == EMU_EVENT_EXPECT || event->kind == EMU_EVENT_SIGNAL;
    if (event->address < 0 || (barrier && !event->completed))
        return;
    struct ring_block *block = &blocks[event->at_block % RING_FILLS_BLOCKS];
    for (int i = 0; i < fills->ring_count; i++) {
        const struct ring_seen *ring = &fills->ring[i];
        int64_t at = ring->region ? event->address - ring->region->offset : -1;
        if (ring->barrier != barrier || at < 0 || at >= ring->region->bytes)
            continue;
        int stage = ring->first + (int)(at / (ring->region->bytes / ring->region->count));
        if (!barrier && block->probe[stage] != event->address) {
            if (block->probe[stage] >= 0)
                continue;
            block->probe[stage] = event->address;
        }
        filled(fills, block, stage);
    }
}

void ring_fills_open(struct ring_fills *fills, const struct plan *p)
{
    int stages = 0;
    memset(fills, 0, sizeof *fills);
    for (int i = 0; i < p->ring_count && i < RING_FILLS_RINGS; i++) {
        const struct plan_ring *from = &p->ring[i];
        struct ring_seen *ring = &fills->ring[fills->ring_count++];
        ring->barrier = from->full_shared >= 0;
        if (ring->barrier)
            ring->region = &p->shared[from->full_shared];
        else
            ring->region = plan_region(p, from, -1);
        for (int t = 0; t < from->tensor_count && !ring->region; t++)
            ring->region = plan_region(p, from, from->tensor[t]);
        ring->first = stages;
        ring->stages = ring->region ? ring->region->count : 0;
        if (ring->stages < 1 || stages + ring->stages > RING_FILLS_STAGES || ring->region->bytes < ring->stages)
            *ring = (struct ring_seen){NULL, false, 0, 0};
        stages += ring->stages;
    }
}
