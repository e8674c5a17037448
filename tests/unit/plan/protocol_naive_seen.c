/* The states that the exploration has been in, and what it asks of buffers that something comes into. */
#include <stdlib.h>
#include <xxhash.h>

#include "unit/check.h"
#include "unit/plan/protocol_naive_state.h"

static size_t naive_slot(const struct naive *n, uint64_t hash)
{
    size_t at = (size_t)(hash >> 10) & (n->room - 1);
    while (n->seen[at] && n->seen[at] != hash)
        at = (at + 1) & (n->room - 1);
    return at;
}

/* A table of twice the room. */
static void naive_grow(struct naive *n)
{
    uint64_t *old = n->seen;
    size_t room = n->room;
    n->room = 2 * room;
    n->seen = calloc(n->room, sizeof *n->seen);
    assert_non_null(n->seen);
    for (size_t i = 0; i < room; i++)
        if (old[i])
            n->seen[naive_slot(n, old[i])] = old[i];
    free(old);
}

/* 64 bits of a state; Plans have less than 2^23 states, so that two fall together is one chance in a hundred thousand.
 */
bool naive_is_new(struct naive *n, const struct naive_state *s)
{
    const uint64_t hash = XXH3_64bits(s, n->used) | 1;
    size_t at = naive_slot(n, hash);
    if (n->seen[at])
        return false;
    n->seen[at] = hash;
    if (2 * ++n->states > n->room)
        naive_grow(n);
    return true;
}

bool naive_buffer_is_free(const struct naive *n, const struct naive_state *s, int t, int ring, int i)
{
    const int into = plan_number(n->p->ring[ring].into), S = n->p->ring[ring].stages;
    const struct naive_touch *u = &s->thread[t].ring[into].touch[i % S];
    return i < S || (s->thread[t].ring[into].stored > i - S && u->store_over);
}

bool naive_writes_over(const struct naive *n, struct naive_state *s, int t, int ring, int i)
{
    const int from = protocol_source_of(n->p, ring), block = n->who[t].block, stage = i % n->p->ring[ring].stages;
    if (from < 0 || !n->who[t].reads[from])
        return true;
    s->thread[t].ring[from].released = s->thread[t].ring[from].holds;
    return s->part[from][block][stage][0][block].index == i && !s->part[from][block][stage][0][block].flying;
}
