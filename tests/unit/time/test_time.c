/* The measuring core on a simulated clock: what it says of candidates whose times are known. */
#include "unit/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "time/time.h"
#include "unit/runtime/fake_cuda.h"
#include "unit/time/clocked.h"

enum { COUNT = 3, SETS = 7, LOG = 1 << 16 };

/* The second is slower than the first in bursts, and faster on a hot board, where it draws less. */
static const struct clocked_work work[COUNT] = {{100e-6, 140e-6, 700}, {104e-6, 125e-6, 600}, {50e-6, 60e-6, 500}};

static struct tw_runtime rt;
static struct tw_driver driver;
static struct tw_device *device;
static struct tw_error error;
static int log_set[LOG], log_candidate[LOG], logged, fail_at;

static int launch(void *context, int set, struct tw_error *why)
{
    const struct clocked_work *w = context;
    if (logged < LOG) {
        log_set[logged] = set;
        log_candidate[logged] = (int)(w - work);
    }
    if (++logged == fail_at)
        return tw_fail(why, TW_ERROR_LAUNCH, "made to fail");
    clocked_launch(w);
    return TW_OK;
}

static int launch_longer(void *context, int set, struct tw_error *why)
{
    (void)set, (void)why;
    logged++;
    clocked_launch(context);
    return TW_OK;
}

static const struct time_candidate candidate[COUNT] = {
    {launch, (void *)&work[0]}, {launch, (void *)&work[1]}, {launch, (void *)&work[2]}};

static void begin(void)
{
    fake_begin(&rt);
    driver = fake_driver;
    clocked_begin(&driver, &rt);
    rt.driver = &driver;
    logged = fail_at = 0;
    assert_int_equal(tw_device_open_cuda(&rt, 0, &device, &error), TW_OK);
}

static void end(void)
{
    tw_device_close(device);
    assert_int_equal(clocked.live, 0);
    assert_true(fake_is_clean());
    tw_runtime_close(&rt);
}

static void near(double is, double wanted)
{
    if (!(fabs(is - wanted) <= 1e-3 * wanted))
        fail_msg("%.9g, not %.9g", is, wanted);
}

static void both_modes(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    struct power power;
    int failed;
    (void)state;
    begin();
    power_open(&power, device);
    options.sets = SETS;
    options.power = &power;
    clocked.heat = 1.0; /* from what was before */
    clocked.asking = 0.03;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    assert_int_equal(failed, -1);
    for (int i = 0; i < COUNT; i++) {
        const struct time_result *burst = &result[i][TIME_BURST], *sustained = &result[i][TIME_SUSTAINED];
        assert_int_equal(burst->rounds, 15);
        assert_int_equal(sustained->rounds, 5);
        near(burst->median, work[i].cool);
        near(burst->least, work[i].cool);
        near(burst->most, work[i].cool);
        near(sustained->median, work[i].hot);
        near(sustained->most, work[i].hot);
        near(burst->clock_mhz, 1980);
        near(sustained->clock_mhz, 1400);
        near(sustained->watts, work[i].watts);
        near(sustained->joules, work[i].watts * work[i].hot);
        near(sustained->celsius, 55);
        assert_int_equal(burst->reasons, 0);
        assert_int_equal(sustained->reasons, 4);
    }
    power_close(&power);
    end();
}

/* Each set as often as the others, in turn, and as many launches as fill a burst. */
static void sets_rotate(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed, count[SETS] = {0}, longest = 0, run = 0;
    (void)state;
    begin();
    options.sets = SETS;
    options.rounds[TIME_SUSTAINED] = 0;
    assert_int_equal(time_candidates(device, &options, candidate, 1, result, &failed, &error), TW_OK);
    assert_int_equal(result[0][TIME_SUSTAINED].rounds, 0);
    assert_true(clocked.slept >= 15 * options.pause_seconds);
    /* The first launch is outside of a graph; then a graph of a launch a set, then one of 2 ms. */
    for (int i = 1; i < logged; i++) {
        assert_int_equal(log_candidate[i], 0);
        run = i > 1 && log_set[i] == (log_set[i - 1] + 1) % SETS ? run + 1 : 0;
        longest = run > longest ? run : longest;
        count[log_set[i]]++;
    }
    assert_int_equal(logged, 1 + SETS + 21);
    for (int s = 0; s < SETS; s++)
        assert_int_equal(count[s], 4);
    assert_int_equal(log_set[1], 0);
    assert_int_equal(longest, logged - 2);
    end();
}

/* What is longer than a burst is launched once, and has a longer pause: the board stays cool. */
static void long_launches(void **state)
{
    static const struct clocked_work longer = {15e-3, 18e-3, 700};
    const struct time_candidate one = {launch_longer, (void *)&longer};
    struct time_result result[1][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    begin();
    options.sets = 2;
    assert_int_equal(time_candidates(device, &options, &one, 1, result, &failed, &error), TW_OK);
    assert_int_equal(logged, 1 + 2 + 1);
    near(result[0][TIME_BURST].median, longer.cool);
    near(result[0][TIME_BURST].most, longer.cool);
    near(result[0][TIME_SUSTAINED].median, longer.hot);
    end();
}

/* Every round has every candidate once, its graph once before it is timed, and rounds have all orders. */
static void orders(void **state)
{
    enum { TRIED = 60, ORDERS = 27 };
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed, seen[ORDERS] = {0}, different = 0;
    (void)state;
    begin();
    options.rounds[TIME_BURST] = TRIED;
    options.rounds[TIME_SUSTAINED] = 0;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    assert_int_equal(clocked.launches, 2 * COUNT + 2 * COUNT * TRIED);
    for (int round = 0; round < TRIED; round++) {
        const double *of = &clocked.of[2 * COUNT + 2 * COUNT * round];
        int order = 0, had = 0;
        for (int i = 0; i < COUNT; i++) {
            int c = 0;
            while (c < COUNT - 1 && fabs(work[c].cool - of[2 * i]) > 0.0)
                c++;
            assert_false(fabs(of[2 * i] - work[c].cool) > 0.0 || fabs(of[2 * i + 1] - of[2 * i]) > 0.0);
            order = order * COUNT + c;
            had |= 1 << c;
        }
        assert_int_equal(had, (1 << COUNT) - 1);
        different += seen[order]++ == 0;
    }
    assert_int_equal(different, 6);
    end();
}

/* Whatever the order is, a candidate's time is its own: with pauses left out the board is hot in bursts too. */
static void pauses_cool(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    begin();
    options.rounds[TIME_SUSTAINED] = 0;
    options.rounds[TIME_BURST] = 101;
    options.pause_seconds = 0;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    near(result[0][TIME_BURST].median, work[0].hot);
    end();
}

/* A board that comes from rest swings for some seconds; sustained rounds begin behind them. */
static void settles(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    options.rounds[TIME_BURST] = 0;
    for (int with = 0; with < 2; with++) {
        begin();
        clocked.swing = 4.0;
        options.settle_seconds = with ? time_defaults.settle_seconds : 0.0;
        assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
        for (int i = 0; i < COUNT; i++)
            near(result[i][TIME_SUSTAINED].most, with ? work[i].hot : 1.2 * work[i].hot);
        end();
    }
}

/* Where nothing holds the clock down each candidate has one turn; where nobody says so, all turns. */
static void settles_at_once(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    double took[3];
    (void)state;
    options.rounds[TIME_BURST] = 0;
    for (int at = 0; at < 3; at++) { /* cool, hot, cool without NVML */
        struct power power;
        int failed;
        begin();
        clocked.cold = at != 1;
        clocked.no_nvml = at == 2;
        power_open(&power, device);
        options.power = &power;
        const double from = clocked.host;
        assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
        took[at] = clocked.host - from - 5 * COUNT * 9.0 / 8.0 * options.sustained_seconds;
        near(result[0][TIME_SUSTAINED].median, at == 1 ? work[0].hot : work[0].cool);
        power_close(&power);
        end();
    }
    assert_true(took[0] > 0.5 * COUNT * options.sustained_seconds && took[0] < COUNT * options.sustained_seconds);
    for (int at = 1; at < 3; at++)
        assert_true(took[at] > 0.9 * options.settle_seconds && took[at] < options.settle_seconds + 2.0);
}

static int rounds_told;
static void tell(void *context, enum time_mode mode, int round, int rounds)
{
    assert_ptr_equal(context, &rounds_told);
    assert_true(round >= 0 && round < rounds && mode < TIME_MODES);
    rounds_told++;
}

/* Without NVML nothing is known of the board; progress is told before each round. */
static void no_power(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    struct power power;
    int failed;
    (void)state;
    begin();
    clocked.no_nvml = true;
    power_open(&power, device);
    assert_null(power.library);
    options.power = &power;
    options.progress = tell;
    options.progress_context = &rounds_told;
    rounds_told = 0;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    assert_int_equal(rounds_told, 15 + 5);
    near(result[1][TIME_SUSTAINED].median, work[1].hot);
    assert_true(result[1][TIME_SUSTAINED].joules == 0.0 && result[1][TIME_SUSTAINED].watts == 0.0);
    assert_true(result[1][TIME_BURST].clock_mhz == 0.0);
    power_close(&power);
    end();
}

/* A race: who is far behind has few rounds, the quickest all of them, and all have their own times. */
static void races(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    begin();
    options.margin[TIME_BURST] = 0.3;
    options.margin[TIME_SUSTAINED] = 1.5;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    assert_int_equal(failed, -1);
    assert_int_equal(result[2][TIME_BURST].rounds, 15); /* 50 us; 100 and 104 are more than 30 % above it */
    assert_int_equal(result[0][TIME_BURST].rounds, 1);
    assert_int_equal(result[1][TIME_BURST].rounds, 1);
    assert_int_equal(result[2][TIME_SUSTAINED].rounds, 5); /* 60 us; 140 are 133 % above it, 125 are 108 % */
    assert_int_equal(result[0][TIME_SUSTAINED].rounds, 2);
    assert_int_equal(result[1][TIME_SUSTAINED].rounds, 2);
    for (int i = 0; i < COUNT; i++) {
        near(result[i][TIME_BURST].median, work[i].cool);
        near(result[i][TIME_SUSTAINED].median, work[i].hot);
    }
    end();
}

/* The time is kept, but for a round of two of them; who was not timed says so. */
static void time_is_kept(void **state)
{
    enum { MANY = 60 };
    struct time_candidate many[MANY];
    struct time_result result[MANY][TIME_MODES];
    struct time_options options = time_defaults;
    (void)state;
    for (int i = 0; i < MANY; i++)
        many[i] = candidate[i % COUNT];
    for (int mode = 0; mode < TIME_MODES; mode++)
        for (double seconds = 1e-6; seconds < 100.0; seconds *= 10.0) {
            int failed, timed = 0, all = 0;
            begin();
            options = time_defaults;
            options.rounds[1 - mode] = 0;
            options.seconds = seconds;
            const double from = clocked.host;
            assert_int_equal(time_candidates(device, &options, many, MANY, result, &failed, &error), TW_OK);
            const double took = clocked.host - from;
            for (int i = 0; i < MANY; i++) {
                const struct time_result *r = &result[i][mode];
                timed += r->rounds > 0;
                all += r->rounds == options.rounds[mode];
                if (r->rounds)
                    near(r->median, mode == TIME_BURST ? work[i % COUNT].cool : work[i % COUNT].hot);
            }
            assert_true(timed >= 2);
            assert_true(took <= seconds + (timed == 2 ? 1.4 : 0.8));
            assert_true(all == MANY || took >= 0.4 * seconds);
            /* The first pause is of 0.1 s, sustained turns of 0.5 to 0.6. */
            assert_true(seconds >= (mode == TIME_BURST ? 1.0 : 10.0) ? timed > 2 : timed == 2);
            end();
        }
    options.seconds = 1000.0; /* more than it takes */
    int failed;
    begin();
    assert_int_equal(time_candidates(device, &options, many, MANY, result, &failed, &error), TW_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(result[i][TIME_SUSTAINED].rounds, 5);
    end();
}

/* Quick: what is longer than a burst is launched twice before its graph of one launch, and pauses are shorter. */
static void quick_launches(void **state)
{
    static const struct clocked_work longer = {15e-3, 18e-3, 700};
    const struct time_candidate one = {launch_longer, (void *)&longer};
    struct time_result result[1][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    begin();
    options.sets = 2;
    options.rounds[TIME_BURST] = 3;
    options.rounds[TIME_SUSTAINED] = 0;
    options.quick = true;
    const double slept = clocked.slept;
    assert_int_equal(time_candidates(device, &options, &one, 1, result, &failed, &error), TW_OK);
    assert_int_equal(logged, 2 + 1);
    assert_int_equal(clocked.launches, 2 * 3);
    assert_true(clocked.slept - slept <= 3 * 2 * longer.hot + 10 * options.pause_seconds);
    assert_true(result[0][TIME_BURST].median >= longer.cool && result[0][TIME_BURST].median <= longer.hot);
    end();
}

static void launches_fail(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed, all;
    (void)state;
    begin();
    options.sets = SETS;
    assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_OK);
    all = logged;
    end();
    for (int i = 1; i <= all; i += i < 40 ? 1 : 7) {
        begin();
        fail_at = i;
        assert_int_equal(time_candidates(device, &options, candidate, COUNT, result, &failed, &error), TW_ERROR_LAUNCH);
        assert_int_equal(failed, log_candidate[i - 1]);
        assert_string_equal(error.text, "made to fail");
        end();
    }
}

/* Every call of memory and driver fails once: it is told, and nothing is left. */
static void calls_fail(void **state)
{
    struct time_result result[COUNT][TIME_MODES];
    struct time_options options = time_defaults;
    int failed;
    (void)state;
    options.rounds[TIME_BURST] = options.rounds[TIME_SUSTAINED] = 1;
    for (int graphs = 0; graphs < 2; graphs++) {
        int status = TW_ERROR_DRIVER;
        for (long call = 1; status != TW_OK; call++) {
            begin();
            fake.calls = clocked.calls = 0;
            fake.failing = FAKE_MEMORY | FAKE_DRIVER;
            *(graphs ? &clocked.fail_at : &fake.fail_at) = call;
            status = time_candidates(device, &options, candidate, COUNT, result, &failed, &error);
            bool made = graphs ? clocked.calls >= call : fake.failed > 0;
            assert_true((status == TW_OK) != made);
            fake.failing = 0;
            clocked.fail_at = 0;
            end();
        }
    }
}

static void summary(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    struct time_result r = {0};
    (void)state;
    time_summary(odd, 3, &r);
    assert_true(r.median == 2 && r.least == 1 && r.most == 3 && r.rounds == 3);
    time_summary(even, 4, &r);
    assert_true(r.median == 2.5 && r.least == 1 && r.most == 4 && r.rounds == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_modes), cmocka_unit_test(sets_rotate),     cmocka_unit_test(pauses_cool),
        cmocka_unit_test(no_power),   cmocka_unit_test(launches_fail),   cmocka_unit_test(calls_fail),
        cmocka_unit_test(summary),    cmocka_unit_test(long_launches),   cmocka_unit_test(orders),
        cmocka_unit_test(races),      cmocka_unit_test(time_is_kept),    cmocka_unit_test(quick_launches),
        cmocka_unit_test(settles),    cmocka_unit_test(settles_at_once),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
