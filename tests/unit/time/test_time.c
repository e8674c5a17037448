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
    static const struct clocked_work longer = {8e-3, 12e-3, 700};
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
        cmocka_unit_test(both_modes), cmocka_unit_test(sets_rotate),   cmocka_unit_test(pauses_cool),
        cmocka_unit_test(no_power),   cmocka_unit_test(launches_fail), cmocka_unit_test(calls_fail),
        cmocka_unit_test(summary),    cmocka_unit_test(long_launches),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
