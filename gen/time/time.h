/* The measuring core: candidates that launch into a device's stream, timed beside each other by replays of graphs.
 *
 * Burst: a candidate's graph of about burst_seconds at a time, in random order over all candidates, with pauses between
 * them in which the board cools: it keeps its highest clock. Sustained: a candidate alone for sustained_seconds, of
 * which the last half is timed, in random order: the board is at its power limit, and the clock is what that leaves. A
 * board that comes from rest does not hold that limit at once: on an H200 the time of one product swung between 195 and
 * 250 us for two seconds, and stood at 207 from the fourth on (tests/bench/notes.md). So candidates run in turn for
 * settle_seconds first.
 * Both are what a launch takes from the start of the one before it: graphs have no gaps.
 */
#ifndef TW_GEN_TIME_TIME_H
#define TW_GEN_TIME_TIME_H

#include <stdbool.h>

#include "device.h"
#include "time/power.h"

enum time_mode { TIME_BURST, TIME_SUSTAINED, TIME_MODES };
extern const char *const time_mode_word[TIME_MODES];

/* What is timed. */
struct time_candidate {
    /* Launches once into device->stream, on inputs number `set`. It is called outside of a capture first, and must then
     * do nothing but launch. A status. */
    int (*launch)(void *context, int set, struct tw_error *error);
    void *context;
};

enum { TIME_ROUNDS_MOST = 1001 };

struct time_options {
    int sets;               /* of inputs, which launches take in turn; at least 1 */
    int rounds[TIME_MODES]; /* of each mode, at most TIME_ROUNDS_MOST; 0: it is not measured */
    double burst_seconds;   /* of one graph, about */
    double pause_seconds;   /* before each burst; longer before long ones. 0: none */
    double sustained_seconds;
    /* Of all candidates in turn before the first sustained round. One turn each where NVML says that nothing holds the
     * clock down; an eighth of `seconds` at most, where that is given. */
    double settle_seconds;
    /* A race: behind round r, from 1 on, who is slower than the quickest by margin / r of its time is timed no more.
     * 0: every candidate has all rounds. */
    double margin[TIME_MODES];
    double seconds; /* by when no round, and behind two of them no candidate, is begun; 0: as long as it takes */
    bool quick;     /* launches longer than a burst are made as few times as can be, with shorter pauses */
    uint64_t seed;  /* of the order */
    const struct power *power;                                                   /* read beside; NULL: it is not */
    void (*progress)(void *context, enum time_mode mode, int round, int rounds); /* before each round; or NULL */
    void *progress_context;
};

/* Bursts of 2 ms and pauses of 10, 15 rounds; 0.4 s, 5 rounds, behind 4 s. */
extern const struct time_options time_defaults;

/* One candidate in one mode. Seconds are those of one launch; what power says of it is 0 where it is not read. */
struct time_result {
    int rounds;                 /* 0: it was not measured, or there was no time for it */
    double median, least, most; /* over the rounds */
    double clock_mhz, celsius;  /* means of what was read while it ran */
    double watts, joules;       /* sustained: of the board; joules of one launch */
    unsigned long long reasons; /* of lower clocks, NVML's bits */
};

/* Times all candidates; result[i] receives candidate i's. TW_OK, or the first status that was not: the candidate is
 * then *failed, where there is one (else -1). */
int time_candidates(struct tw_device *device, const struct time_options *options,
                    const struct time_candidate *candidate, int count, struct time_result (*result)[TIME_MODES],
                    int *failed, struct tw_error *error);

/* Median, least and most of count > 0 numbers, which it sorts. */
void time_summary(double *number, int count, struct time_result *result);

#endif
