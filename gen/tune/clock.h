/* The clock of tune on a device: candidates launched through emitted C, timed by the measuring core (gen/time). On the
 * emulator, which has none, candidates are launched and compared, and their times are the model's.
 *
 * Inputs are random normal values, in as many sets as make more than the L2; a launch takes the next one. Results of a
 * candidate that is measured for long are compared with those of the kernel's own set-up, in all elements: one that
 * differs by more than two roundings of the outputs' type gets no time. */
#ifndef TW_GEN_TUNE_CLOCK_H
#define TW_GEN_TUNE_CLOCK_H

#include "device.h"
#include "time/time.h"
#include "tune/tune.h"

struct tune_timer;

/* How the measuring core times the candidates of a job: a race, whose brief bursts or long looks end sooner for those
 * that are far behind. */
struct time_options tune_time_options(const struct tune_job *job, int sets);

/* Opens a device: "cuda", "cuda:N" or "emu". arch: what the emulator is; NULL: its newest. *clock then measures on it.
 * A status; tune_timer_close is due after any. */
int tune_timer_open(struct tune_timer **timer, const char *device, const char *arch, struct tune_clock *clock,
                    struct tw_error *error);
void tune_timer_close(struct tune_timer *timer);

/* The device that it measures on. */
const struct tw_device *tune_timer_device(const struct tune_timer *timer);

#endif
