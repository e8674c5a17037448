/* A second opinion on the protocol check: visits every state that any schedule of a small Plan can reach, one step or
 * one arriving copy at a time, with what the hardware does and no more: mbarriers whose waits see one parity bit, bytes
 * that arrive whenever they like, named barriers that count. No clocks, no knowledge of turns, and no reduction but
 * that steps which no other thread can see (loops, registers, own counters) are no steps of their own. A fault is what
 * would go wrong for real: a stage read without its bytes, overwritten or given back while it is read, a schedule that
 * stops, registers that an unfinished instruction uses.
 */
#ifndef TW_TESTS_UNIT_PROTOCOL_NAIVE_H
#define TW_TESTS_UNIT_PROTOCOL_NAIVE_H

#include "protocol_naive_state.h"

/* What goes wrong in some schedule, or NULL. *states receives how many were visited; with `most` above 0 it gives up
 * beyond so many, and *states is above it. */
const char *naive_explore_some(const struct plan *p, const struct protocol_trips *trips, bool strict, size_t most,
                               size_t *states);

/* All of them. */
const char *naive_explore(const struct plan *p, const struct protocol_trips *trips, size_t *states);

#endif
