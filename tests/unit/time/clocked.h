/* A stand-in for a GPU's clocks: graphs, events, NVML and the host's time over one simulated clock, for tests of what
 * measures. What is launched takes one time on a cool board and another on a hot one: 25 ms of work heat it, 10 ms
 * without cool it. Not thread-safe. */
#ifndef TW_TESTS_UNIT_TIME_CLOCKED_H
#define TW_TESTS_UNIT_TIME_CLOCKED_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

enum { CLOCKED_LAUNCHES = 4096, CLOCKED_SPANS = 4096 };

extern struct clocked_state {
    double host, gpu;               /* seconds: the host's time, and when the stream will have done all its work */
    double heat;                    /* above 0.5 the board is hot */
    bool cold;                      /* it stays cool whatever it does */
    double swing;                   /* for so many seconds of work since it was cool a hot board takes a fifth longer */
    double busy;                    /* since then */
    double drawn[CLOCKED_SPANS][3]; /* spans of work, the newest last: from, to, watts */
    int spans;
    double asking; /* seconds that NVML takes to say how much energy there was */
    double jitter; /* launches take up to so much of their time more or less, always in the same order */
    uint64_t random;
    bool capturing;
    bool no_nvml;
    long live;                   /* graphs, executables and events not yet destroyed */
    long launches;               /* of graphs */
    double of[CLOCKED_LAUNCHES]; /* of each of the first ones: what its first launch takes on a cool board */
    double slept;                /* in all */
    long calls, fail_at;         /* of the driver, so far; the one that fails, counted from 1; 0: none */
} clocked;

/* Of a launch: seconds on a cool and on a hot board, and the watts that it draws. */
struct clocked_work {
    double cool, hot, watts;
};

/* Resets the clock, puts its calls over the driver's, and its time and its loader over the runtime's; what the loader
 * does not know (all but NVML) goes to the one before. */
void clocked_begin(struct tw_driver *driver, struct tw_runtime *rt);

/* A launch into the stream: recorded where a capture is under way, else done. */
void clocked_launch(const struct clocked_work *work);

#endif
