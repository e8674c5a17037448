/* tilewright bench SPEC: kernels beside each other and their peers. bench --host: what descriptors and launches cost on
 * the host: the raw driver, the emitted code and graph replay, in one process. */
#include "cmd/bench/bench.h"

#include <inttypes.h>
#include <string.h>

#include "bench/kernels.h"
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

static int bench_on_host(int argc, char **argv)
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

/* "both", or the word of a mode. */
static bool read_mode(const char *word, bool mode[TIME_MODES])
{
    bool known = strcmp(word, "both") == 0;
    for (int i = 0; i < TIME_MODES; i++) {
        mode[i] = strcmp(word, "both") == 0 || strcmp(word, time_mode_word[i]) == 0;
        known = known || mode[i];
    }
    return known;
}

static bool known_device(const char *name)
{
    return strcmp(name, "cuda") == 0 || strcmp(name, "emu") == 0 ||
           (strncmp(name, "cuda:", 5) == 0 && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5) &&
            strlen(name) < 8);
}

static int bench_spec(int argc, char **argv)
{
    static struct bench bench;
    struct bench_options *o = &bench.options;
    const char *mode = "both", *peer = NULL;
    bool on_host = false;
    int operands;
    memset(&bench, 0, sizeof bench);
    o->device = "cuda";
    const struct option_row rows[] = {
        {"--kernel", OPTION_TEXT, &o->kernel, "K", "this kernel alone"},
        {"--set", OPTION_LIST, &o->set, "M=512,N=1/64",
         "in the place of the spec's bench sizes; / separates several; repeatable"},
        {"--config", OPTION_TEXT, &o->config, "FILE.json",
         "sizes from a file, by kernel or family: {\"gemm\": [{\"M\": 4096, \"N\": 4096, \"K\": 4096}]}"},
        {"--peer", OPTION_TEXT, &peer, "cublaslt|none", "what is timed beside; cublaslt where there is one"},
        {"--mode", OPTION_TEXT, &mode, "burst|sustained|both",
         "bursts with pauses at the highest clock, 0.4 s at the power limit; both"},
        {"--hot", OPTION_FLAG, &o->hot, NULL, "one set of inputs; without it sets that together exceed the L2 rotate"},
        {"--rounds", OPTION_NUMBER, &o->rounds, "N", "of bursts, and a third as many sustained; 15"},
        {"--arch", OPTION_TEXT, &o->arch, "A", "this architecture; without it the best that the device runs"},
        {"--device", OPTION_TEXT, &o->device, "cuda[:N]|emu", "emu verifies the same kernels and sizes, without times"},
        {"--json", OPTION_TEXT, &o->json, "FILE", "the rows as JSON, into a file"},
        {"--host", OPTION_FLAG, &on_host, NULL, "descriptors and launches on the host: bench --host --help"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL},
    };
    int status = options_parse("bench", rows, argc, argv, &o->spec, 1, &operands);
    if (status >= 0)
        return status;
    if (!operands)
        return options_fault("bench", "which spec? or --host");
    if (!read_mode(mode, o->mode))
        return options_fault("bench", "--mode %s: write burst, sustained or both", mode);
    if (peer && strcmp(peer, "cublaslt") != 0 && strcmp(peer, "none") != 0)
        return options_fault("bench", "--peer %s: write cublaslt or none", peer);
    if (o->config && o->set.count)
        return options_fault("bench", "--config gives all sizes; it does not go with --set");
    if (!known_device(o->device))
        return options_fault("bench", "--device %s: write cuda, cuda:N or emu", o->device);
    if (o->arch && strchr(o->arch, ','))
        return options_fault("bench", "--arch %s: bench takes one architecture", o->arch);
    if (o->rounds > TIME_ROUNDS_MOST)
        return options_fault("bench", "--rounds %" PRIu64 ": write 1 to %d", o->rounds, TIME_ROUNDS_MOST);
    o->peer = !peer ? BENCH_PEER_AUTO : strcmp(peer, "none") == 0 ? BENCH_PEER_NONE : BENCH_PEER_CUBLASLT;
    status = bench_begin(&bench);
    if (status == 0)
        status = bench_all(&bench);
    bench_end(&bench);
    return status;
}

int cmd_bench(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--host") == 0)
            return bench_on_host(argc, argv);
    return bench_spec(argc, argv);
}
