#include "time/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

const char *const time_mode_word[TIME_MODES] = {"burst", "sustained"};

const struct time_options time_defaults = {
    .sets = 1,
    .rounds = {15, 5},
    .burst_seconds = 2e-3,
    .pause_seconds = 10e-3,
    .sustained_seconds = 0.4,
    .settle_seconds = 4.0,
    .seed = 1,
};

/* CUstreamCaptureMode: calls of this thread only; nodes of a graph at most; readings of the clock while one runs;
 * pauses before the first burst; how many times as
 * long as its graph a pause is at least. */
enum { CAPTURE_THREAD_LOCAL = 1, NODES_MOST = 4096, READINGS = 5, FIRST_PAUSES = 10, PAUSE_TIMES = 5, QUICK_TIMES = 2 };
/* How many candidates are timed whatever the time is; what part of it the board has to settle. */
enum { ALWAYS = 2, SETTLE_PART = 8 };

/* A candidate's launches, to be replayed. */
struct replay {
    void *executable;
    int launches;
    double seconds; /* of one launch, about */
};

/* Sums of what was read while a candidate ran. */
struct readings {
    double clock, celsius, joules, launches, seconds;
    int count;
    unsigned long long reasons;
};

struct timer {
    struct tw_device *device;
    const struct time_options *options;
    const struct time_candidate *candidate;
    int count;
    struct replay *replay;     /* by candidate */
    struct readings *readings; /* by candidate, of the mode at hand */
    double *seconds;           /* of a launch, by candidate and round */
    int *order, *done;         /* done: rounds that a candidate has had */
    bool *out;                 /* of the race */
    double began;
    void *begin, *end; /* events */
    uint64_t random;
};

static int check(struct timer *t, int result, struct tw_error *error, const char *attempt)
{
    return tw_driver_check(t->device->driver, result, error, "%s", attempt);
}

static double now(const struct timer *t)
{
    const struct tw_process *process = &t->device->rt->process;
    return process->now(process->self);
}

static void pause_for(const struct timer *t, double seconds)
{
    const struct tw_process *process = &t->device->rt->process;
    if (seconds > 0)
        process->sleep(process->self, seconds);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static int instantiate(struct timer *t, void *graph, void **executable, struct tw_error *error)
{
    int status = check(t, t->device->driver->graph_instantiate(executable, graph, 0), error, "making a graph");
    if (status != TW_OK)
        *executable = NULL;
    return status;
}

static void drop_graph(struct timer *t, struct replay *replay)
{
    if (replay->executable)
        t->device->driver->graph_executable_destroy(replay->executable);
    replay->executable = NULL;
}

/* Records so many launches, which take the sets in turn, in the place of what was recorded before. */
static int record(struct timer *t, int number, int launches, struct tw_error *error)
{
    const struct tw_driver *driver = t->device->driver;
    const struct time_candidate *c = &t->candidate[number];
    struct replay *replay = &t->replay[number];
    void *graph = NULL;
    drop_graph(t, replay);
    int status = check(t, driver->capture_begin(t->device->stream, CAPTURE_THREAD_LOCAL), error, "beginning a capture");
    if (status != TW_OK)
        return status;
    for (int i = 0; i < launches && status == TW_OK; i++)
        status = c->launch(c->context, i % t->options->sets, error);
    int ended = driver->capture_end(t->device->stream, &graph);
    if (ended)
        graph = NULL;
    if (status == TW_OK)
        status = check(t, ended, error, "ending a capture");
    if (status == TW_OK)
        status = instantiate(t, graph, &replay->executable, error);
    if (graph)
        driver->graph_destroy(graph);
    replay->launches = launches;
    return status;
}

/* How often a graph is replayed before the two events, between and behind them. */
struct replays {
    int before, timed, behind;
};

/* Does not wait. With one before, the graphics processor is at work when it comes to the events, and the host ahead. */
static int start(struct timer *t, int number, struct replays replays, struct tw_error *error)
{
    const struct tw_driver *driver = t->device->driver;
    void *stream = t->device->stream, *executable = t->replay[number].executable;
    int result = 0;
    for (int i = 0; i < replays.before && !result; i++)
        result = driver->graph_launch(executable, stream);
    if (!result)
        result = driver->event_record(t->begin, stream);
    for (int i = 0; i < replays.timed && !result; i++)
        result = driver->graph_launch(executable, stream);
    if (!result)
        result = driver->event_record(t->end, stream);
    for (int i = 0; i < replays.behind && !result; i++)
        result = driver->graph_launch(executable, stream);
    return check(t, result, error, "replaying a graph");
}

/* What the driver says while work runs is about a launch. */
static int of_launch(int status)
{
    return status == TW_ERROR_DRIVER ? TW_ERROR_LAUNCH : status;
}

/* Waits for the last event; seconds of one launch. */
static int finish(struct timer *t, int number, int times, double *seconds, struct tw_error *error)
{
    const struct tw_driver *driver = t->device->driver;
    float milliseconds = 0;
    int status = check(t, driver->event_synchronize(t->end), error, "waiting for a replay");
    if (status == TW_OK)
        status =
            check(t, driver->event_elapsed(&milliseconds, t->begin, t->end), error, "reading the time of a replay");
    *seconds = 1e-3 * (double)milliseconds / t->replay[number].launches / times;
    return of_launch(status);
}

/* Launches once between the events. */
static int time_launch(struct timer *t, int number, double *seconds, struct tw_error *error)
{
    const struct tw_driver *driver = t->device->driver;
    const struct time_candidate *c = &t->candidate[number];
    t->replay[number].launches = 1;
    int status = check(t, driver->event_record(t->begin, t->device->stream), error, "timing a launch");
    if (status == TW_OK)
        status = c->launch(c->context, t->options->sets > 1, error);
    if (status == TW_OK)
        status = check(t, driver->event_record(t->end, t->device->stream), error, "timing a launch");
    return status == TW_OK ? finish(t, number, 1, seconds, error) : status;
}

/* Launches once as it is, then by a graph of one launch a set, from whose time it is known how many launches take as
 * long as a burst: every set as often as the others, or some of them once where that is longer. */
static int prepare(struct timer *t, int number, struct tw_error *error)
{
    const struct time_options *o = t->options;
    const struct time_candidate *c = &t->candidate[number];
    double seconds = 0;
    int status = c->launch(c->context, 0, error);
    if (status == TW_OK)
        status = tw_device_synchronize(t->device, error);
    if (status == TW_OK && o->quick)
        status = time_launch(t, number, &seconds, error);
    if (status == TW_OK && o->quick && seconds >= o->burst_seconds) {
        t->replay[number].seconds = seconds;
        return record(t, number, 1, error);
    }
    if (status == TW_OK)
        status = record(t, number, o->sets, error);
    if (status == TW_OK)
        status = start(t, number, (struct replays){1, 1, 0}, error);
    if (status == TW_OK)
        status = finish(t, number, 1, &seconds, error);
    if (status != TW_OK)
        return status;
    double wanted = seconds > 0 ? o->burst_seconds / seconds : 1;
    int most = NODES_MOST > o->sets ? NODES_MOST / o->sets * o->sets : o->sets;
    int launches = wanted >= most      ? most
                   : wanted >= o->sets ? ((int)wanted + o->sets - 1) / o->sets * o->sets
                   : wanted >= 1       ? (int)wanted
                                       : 1;
    t->replay[number].seconds = seconds;
    return launches != o->sets ? record(t, number, launches, error) : TW_OK;
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

static void read_board(struct timer *t, int number)
{
    const struct power *power = t->options->power;
    struct readings *r = &t->readings[number];
    if (!power)
        return;
    r->clock += power_clock_mhz(power);
    r->celsius += power_celsius(power);
    r->reasons |= power_reasons(power);
    r->count++;
}

static void take_readings(const struct readings *r, struct time_result *result)
{
    result->clock_mhz = r->count ? r->clock / r->count : 0.0;
    result->celsius = r->count ? r->celsius / r->count : 0.0;
    result->reasons = r->reasons;
    result->joules = r->launches > 0 ? r->joules / r->launches : 0.0;
    result->watts = r->seconds > 0 ? r->joules / r->seconds : 0.0;
}

/* ---- modes ------------------------------------------------------------------------------------------------------- */

static int burst(struct timer *t, int number, double *seconds, struct tw_error *error)
{
    const struct replay *replay = &t->replay[number];
    if (t->options->pause_seconds > 0)
        pause_for(t, fmax(t->options->pause_seconds,
                          (t->options->quick ? QUICK_TIMES : PAUSE_TIMES) * replay->seconds * replay->launches));
    int status = start(t, number, (struct replays){1, 1, 0}, error);
    if (status == TW_OK)
        read_board(t, number);
    return status == TW_OK ? finish(t, number, 1, seconds, error) : status;
}

/* How often a candidate's graph is replayed in so many seconds, as far as is known. */
static int replays_in(const struct timer *t, int number, double seconds)
{
    const double one = t->replay[number].seconds * t->replay[number].launches, times = one > 0 ? seconds / one : 1;
    return times < 1e6 ? (int)times + 1 : 1000000;
}

/* Of the last half of sustained_seconds, in which there is nothing else. All is enqueued at once, and a little more (of
 * graphs of less than 50 ms), which runs while NVML is asked and the next candidate comes: without work for some 20 ms
 * the clock goes up, and then below what it was, and that is longer than a candidate's turn. */
static int sustain(struct timer *t, int number, double *seconds, struct tw_error *error)
{
    const struct time_options *o = t->options;
    const struct replay *replay = &t->replay[number];
    const double half = o->sustained_seconds / 2, step = half / (READINGS + 1);
    const int times = replays_in(t, number, half);
    int status = start(t, number, (struct replays){times, times, replays_in(t, number, half / 4) - 1}, error);
    if (status == TW_OK)
        status = check(t, t->device->driver->event_synchronize(t->begin), error, "waiting for a replay");
    status = of_launch(status);
    const double joules = o->power ? power_joules(o->power) : 0.0, from = now(t);
    for (int i = 1; o->power && i <= READINGS && status == TW_OK; i++) {
        double wait = from + i * step - now(t);
        pause_for(t, wait);
        read_board(t, number);
    }
    if (status == TW_OK)
        status = finish(t, number, times, seconds, error);
    if (status == TW_OK)
        t->replay[number].seconds = *seconds;
    if (status == TW_OK && o->power) {
        struct readings *r = &t->readings[number];
        const double drawn = power_joules(o->power) - joules, busy = *seconds * times * replay->launches;
        r->joules += drawn / fmax(now(t) - from, 1e-9) * busy; /* of the time between the two questions */
        r->launches += (double)times * replay->launches;
        r->seconds += busy;
    }
    return status;
}

/* splitmix64 */
static uint64_t next_random(struct timer *t)
{
    uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Those that are in the race, in random order. Returns how many they are. */
static int shuffle(struct timer *t)
{
    int count = 0;
    for (int i = 0; i < t->count; i++)
        if (!t->out[i])
            t->order[count++] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next_random(t) % (uint64_t)(i + 1)), kept = t->order[i];
        t->order[i] = t->order[j];
        t->order[j] = kept;
    }
    return count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void time_summary(double *number, int count, struct time_result *result)
{
    qsort(number, (size_t)count, sizeof *number, by_value);
    result->rounds = count;
    result->least = number[0];
    result->most = number[count - 1];
    result->median = count % 2 ? number[count / 2] : 0.5 * (number[count / 2 - 1] + number[count / 2]);
}

static bool is_late(const struct timer *t, double more)
{
    return t->options->seconds > 0 && now(t) + more - t->began > t->options->seconds;
}

/* Who is too slow by what is known so far is out. */
static void drop_slow(struct timer *t, enum time_mode mode, int rounds)
{
    const double margin = t->options->margin[mode];
    double least = 0.0;
    for (int pass = 0; pass < 2 && margin > 0; pass++)
        for (int i = 0; i < t->count; i++) {
            struct time_result so_far;
            if (t->out[i] || !t->done[i])
                continue;
            time_summary(&t->seconds[(size_t)i * (size_t)rounds], t->done[i], &so_far);
            if (pass)
                t->out[i] = so_far.median > least * (1.0 + margin / t->done[i]);
            else if (least <= 0 || so_far.median < least)
                least = so_far.median;
        }
}

/* One round, of which time may leave some candidates out. */
static int measure_round(struct timer *t, enum time_mode mode, int rounds, int *failed, struct tw_error *error)
{
    const int count = shuffle(t);
    int status = TW_OK;
    for (int i = 0; i < count && status == TW_OK; i++) {
        const int number = t->order[i];
        if (i >= ALWAYS && is_late(t, 0.0))
            break;
        double *seconds = &t->seconds[(size_t)number * (size_t)rounds + (size_t)t->done[number]];
        *failed = number;
        status = mode == TIME_BURST ? burst(t, number, seconds, error) : sustain(t, number, seconds, error);
        t->done[number]++;
    }
    for (int i = 0; i < t->count; i++) /* behind the first round nobody begins */
        t->out[i] = t->out[i] || !t->done[i];
    return status;
}

/* Lets the board come to what it holds under load (time.h). */
static int settle(struct timer *t, int *failed, struct tw_error *error)
{
    const struct time_options *o = t->options;
    const double from = now(t), half = o->sustained_seconds / 2;
    const double most = o->seconds > 0 ? fmin(o->settle_seconds, o->seconds / SETTLE_PART) : o->settle_seconds;
    const int count = shuffle(t);
    bool held = !o->power || !o->power->library; /* where nothing is known, it might be */
    int status = TW_OK;
    for (int i = 0; status == TW_OK && count && now(t) + half - from < most && (i < count || held); i++) {
        const int number = t->order[i % count], times = replays_in(t, number, half);
        *failed = number;
        status = of_launch(start(t, number, (struct replays){0, times, 0}, error));
        if (status == TW_OK && !held) {
            pause_for(t, half / 2);
            held = power_reasons(o->power) != 0;
        }
        if (status == TW_OK)
            status = finish(t, number, times, &t->replay[number].seconds, error);
    }
    return status;
}

static int measure(struct timer *t, enum time_mode mode, struct time_result (*result)[TIME_MODES], int *failed,
                   struct tw_error *error)
{
    const struct time_options *o = t->options;
    const int rounds = o->rounds[mode];
    int status = TW_OK;
    memset(t->readings, 0, sizeof *t->readings * (size_t)t->count);
    for (int i = 0; i < t->count; i++) {
        t->done[i] = 0;
        t->out[i] = !t->replay[i].executable;
    }
    if (mode == TIME_BURST && rounds) /* what was before has left the board hot */
        pause_for(t, FIRST_PAUSES * o->pause_seconds);
    if (mode == TIME_SUSTAINED && rounds)
        status = settle(t, failed, error);
    double last = 0.0;
    for (int round = 0; round < rounds && status == TW_OK && !(round && is_late(t, last)); round++) {
        const double from = now(t);
        if (o->progress)
            o->progress(o->progress_context, mode, round, rounds);
        status = measure_round(t, mode, rounds, failed, error);
        drop_slow(t, mode, rounds);
        last = now(t) - from;
    }
    if (mode == TIME_SUSTAINED && rounds && status == TW_OK) /* what runs behind the last round */
        status = of_launch(tw_device_synchronize(t->device, error));
    for (int i = 0; i < t->count && rounds && status == TW_OK; i++) {
        if (t->done[i])
            time_summary(&t->seconds[(size_t)i * (size_t)rounds], t->done[i], &result[i][mode]);
        take_readings(&t->readings[i], &result[i][mode]);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int open_timer(struct timer *t, struct tw_error *error)
{
    const struct tw_driver *driver = t->device->driver;
    struct tw_runtime *rt = t->device->rt;
    const size_t count = (size_t)t->count + 1;
    int most = t->options->rounds[0] > t->options->rounds[1] ? t->options->rounds[0] : t->options->rounds[1];
    t->replay = tw_alloc_zeroed(rt, sizeof *t->replay * count);
    t->readings = tw_alloc_zeroed(rt, sizeof *t->readings * count);
    t->seconds = tw_alloc_zeroed(rt, sizeof *t->seconds * count * ((size_t)most + 1));
    t->order = tw_alloc_zeroed(rt, sizeof *t->order * count);
    t->done = tw_alloc_zeroed(rt, sizeof *t->done * count);
    t->out = tw_alloc_zeroed(rt, sizeof *t->out * count);
    t->began = now(t);
    if (!t->replay || !t->readings || !t->seconds || !t->order || !t->done || !t->out)
        return tw_fail(error, TW_ERROR_MEMORY, "no memory to time %d candidates", t->count);
    int status = tw_device_enter(t->device, error);
    if (status == TW_OK && driver->event_create(&t->begin, 0))
        t->begin = NULL;
    if (status == TW_OK && driver->event_create(&t->end, 0))
        t->end = NULL;
    if (status == TW_OK && (!t->begin || !t->end))
        status = tw_fail(error, TW_ERROR_DRIVER, "the driver makes no event");
    return status;
}

static void close_timer(struct timer *t)
{
    struct tw_runtime *rt = t->device->rt;
    for (int i = 0; i < t->count && t->replay; i++)
        drop_graph(t, &t->replay[i]);
    if (t->begin)
        t->device->driver->event_destroy(t->begin);
    if (t->end)
        t->device->driver->event_destroy(t->end);
    tw_free(rt, t->replay);
    tw_free(rt, t->readings);
    tw_free(rt, t->seconds);
    tw_free(rt, t->order);
    tw_free(rt, t->done);
    tw_free(rt, t->out);
}

int time_candidates(struct tw_device *device, const struct time_options *options,
                    const struct time_candidate *candidate, int count, struct time_result (*result)[TIME_MODES],
                    int *failed, struct tw_error *error)
{
    struct timer t = {
        .device = device, .options = options, .candidate = candidate, .count = count, .random = options->seed};
    struct tw_error ignored;
    *failed = -1;
    memset(result, 0, sizeof *result * (size_t)count);
    int status = open_timer(&t, error);
    for (int i = 0; i < count && status == TW_OK && !(i >= ALWAYS && is_late(&t, options->seconds / 2)); i++) {
        *failed = i;
        status = prepare(&t, i, error);
    }
    for (int mode = 0; mode < TIME_MODES && status == TW_OK; mode++)
        status = measure(&t, (enum time_mode)mode, result, failed, error);
    if (status == TW_OK)
        *failed = -1;
    else if (t.begin)
        tw_device_synchronize(device, &ignored); /* graphs that still run */
    close_timer(&t);
    return status;
}
