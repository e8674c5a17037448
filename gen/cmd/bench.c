/* tilewright bench --host: what descriptors and launches cost on the host: the raw driver, the emitted code and graph
 * replay, in one process. */
#include "cmd/bench/bench.h"

#include <inttypes.h>

#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"

/* The emitted code is of sm_90a alone: told before anything is generated or compiled. */
static int check_device(const struct tw_device *device, struct tw_error *error)
{
    if (device->major == 9 && device->minor == 0)
        return TW_OK;
    return tw_fail(error, TW_ERROR_UNSUPPORTED,
                   "bench --host measures a Hopper kernel (sm_90a); the device is compute capability %d.%d (%s)",
                   device->major, device->minor, device->name);
}

int cmd_bench(int argc, char **argv)
{
    struct bench_host host = {.rounds = 101};
    const char *operand, *trace = NULL;
    bool on_host = false, json = false;
    uint64_t rounds = 101, seconds = 30;
    int operands;
    const struct option_row rows[] = {
        {"--host", OPTION_FLAG, &on_host, NULL,
         "descriptors and launches on the host; needs a Hopper GPU (9.0), NVRTC and a C compiler"},
        {"--rounds", OPTION_NUMBER, &rounds, "N", "batches of each row; 101"},
        {"--seconds", OPTION_NUMBER, &seconds, "N", "how long to measure at most: then rows have fewer batches; 30"},
        {"--trace", OPTION_TEXT, &trace, "FILE",
         "the timeline of case 001 as Chrome trace JSON: calls by the host's clock, kernels from event to event\n"
         "                             (the events' own cost is inside; instructions are not timed; the file says\n"
         "                             how well the two clocks are joined)"},
        {"--json", OPTION_FLAG, &json, NULL, "the rows as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("bench", rows, argc, argv, &operand, 0, &operands);
    if (status >= 0)
        return status;
    if (!on_host)
        return options_fault("bench", "which benchmark? --host");
    if (rounds < 1 || rounds > BENCH_ROUNDS_MOST)
        return options_fault("bench", "--rounds %" PRIu64 ": write 1 to %d", rounds, BENCH_ROUNDS_MOST);
    if (seconds < 1 || seconds > BENCH_SECONDS_MOST)
        return options_fault("bench", "--seconds %" PRIu64 ": write 1 to %d", seconds, BENCH_SECONDS_MOST);
    host.rounds = (int)rounds;
    host.seconds = (double)seconds;

    struct tw_error error;
    int result = tw_runtime_init(&host.rt, &error);
    if (result == TW_OK)
        result = tw_device_open_cuda(&host.rt, 0, &host.device, &error);
    if (result == TW_OK)
        result = check_device(host.device, &error);
    if (result == TW_OK)
        result = bench_emitted_open(&host.rt, &host.emitted, &error);
    if (result != TW_OK)
        host.error = error;
    status = result == TW_OK ? bench_host_run(&host) : 3;
    if (status == 0 && trace)
        status = bench_host_trace(&host, trace);
    if (status)
        json_fault(json, "bench", status, host.error.text);
    else if (json)
        status = bench_print_json(&host);
    else
        bench_print_table(&host);
    bench_host_free(&host);
    bench_emitted_close(&host.emitted);
    tw_device_close(host.device);
    tw_runtime_close(&host.rt);
    return status;
}
