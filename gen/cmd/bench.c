/* tilewright bench --host: what descriptors and launches cost on the host: the raw driver, the emitted code and graph
 * replay, in one process. */
#include "cmd/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cmd/cmd.h"
#include "common/json.h"
#include "common/options.h"

static void print_table(const struct bench_host *host)
{
    printf("%s, driver %d.%d, %d rounds; nanoseconds of host time an operation\n", host->device->name,
           host->device->driver_version / 1000, host->device->driver_version % 1000 / 10, host->rounds);
    printf("%-17s %-8s %-86s %11s %11s %11s %11s %7s\n", "kernel", "backend", "problem: what", "median", "least",
           "most", "over first", "faster");
    for (int i = 0, first = 0; i < host->count; i++) {
        const struct bench_row *r = &host->row[i];
        if (r->first) {
            first = i;
            printf("%s", r->group);
            if (r->rounds < r->wanted)
                printf(" (%d of %d rounds: the time was over)", r->rounds, r->wanted);
            putchar('\n');
        }
        char words[128];
        snprintf(words, sizeof words, "%s: %s", r->problem, r->what);
        printf("  %-15s %-8s %-86s %11.1f %11.1f %11.1f", r->kernel, r->backend, words, r->median, r->least, r->most);
        if (i != first)
            printf(" %11.1f %6.1fx", r->over, host->row[first].median / r->median);
        putchar('\n');
    }
}

static int print_json(const struct bench_host *host)
{
    struct timespec now;
    char run[64], capability[32], driver[32];
    json_object *o = json_object_new_object(), *rows = o ? json_object_new_array() : NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(run, sizeof run, "%" PRIx64 "-%ld", (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u,
             (long)getpid());
    snprintf(capability, sizeof capability, "%d.%d", host->device->major, host->device->minor);
    snprintf(driver, sizeof driver, "%d.%d", host->device->driver_version / 1000,
             host->device->driver_version % 1000 / 10);
    for (int i = 0; i < host->count && rows; i++) {
        const struct bench_row *r = &host->row[i];
        json_object *row = json_object_new_object();
        json_add_text(row, "kernel", r->kernel);
        json_add_text(row, "backend", r->backend);
        json_add_text(row, "arch", host->device->arch);
        json_add_text(row, "gpu_model", host->device->name);
        json_add_text(row, "compute_capability", capability);
        json_add_text(row, "driver", driver);
        json_add_text(row, "group", r->group);
        json_add_text(row, "problem_size", r->problem);
        json_add_text(row, "what", r->what);
        json_add_measure(row, "latency_ns", r->median);
        json_add_measure(row, "latency_min_ns", r->least);
        json_add_measure(row, "latency_max_ns", r->most);
        json_add_measure(row, "over_first_ns", r->over);
        json_add_number(row, "batch", (uint64_t)r->batch);
        json_add_number(row, "rounds", (uint64_t)r->rounds);
        json_add_text(row, "run", run);
        json_object_array_add(rows, row);
    }
    if (rows)
        json_object_object_add(o, "rows", rows);
    int status = json_print(&(struct json_answer){.command = "bench", .result = o, .pretty = 1});
    json_object_put(o);
    return status;
}

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
        status = print_json(&host);
    else
        print_table(&host);
    bench_host_free(&host);
    bench_emitted_close(&host.emitted);
    tw_device_close(host.device);
    tw_runtime_close(&host.rt);
    return status;
}
