/* Inside the command bench --host: what its parts share. bench.c reads options, bench_rows.c prints, bench_host.c has
 * the candidates, bench_lab.c what they work on, bench_trace.c the timeline, bench_emitted.c makes a library of the
 * emitted code. */
#ifndef TW_GEN_CMD_BENCH_BENCH_H
#define TW_GEN_CMD_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "driver.h"

enum { BENCH_ROUNDS_MOST = 1001, BENCH_SECONDS_MOST = 3600 };

/* The library of templates/bench/host.c, loaded. */
struct bench_emitted {
    void *library;
    int (*open)(const void *a, const void *b, void *d, const char **text);
    void (*close)(void);
    void (*prepared)(void **function, void **parameter, uint32_t grid[3], uint32_t *threads, uint32_t *shared_bytes);
    int (*params_000)(long count);
    int (*params_001)(long count);
    int (*params_001_strided)(long count);
    int (*launch)(void *stream, long count);
    int (*launch_programmatic)(void *stream, long count);
    int (*bare)(void *stream, long count);
    int (*bare_programmatic)(void *stream, long count);
};

/* Generates and compiles templates/bench/host.lua with this program and $CC (cc), in a folder that is gone afterwards,
 * and loads it. What the two print is on stderr. TW_ERROR_NO_TOOL, TW_ERROR_COMPILE, TW_ERROR_FILE. */
int bench_emitted_open(struct tw_runtime *rt, struct bench_emitted *emitted, struct tw_error *error);
void bench_emitted_close(struct bench_emitted *emitted);

/* One measured thing: nanoseconds of one operation, over the rounds. */
struct bench_row {
    const char *group;   /* rows of a group are measured in turn, batch by batch */
    const char *kernel;  /* "case_000" */
    const char *backend; /* "driver", "emitted", "library", "graph", "nvrtc", "cache" */
    const char *problem; /* "3 maps of 512x512 fp16": rows of other programs on it join by kernel and problem */
    const char *what;    /* the method: "NAME_launch, maps included" */
    long batch;          /* operations between two readings of the clock */
    int rounds, wanted;  /* batches, and how many there were to be: fewer where the group's time was over */
    double median, least, most;
    double over; /* median of the differences to the group's first row, round by round */
    int first;   /* 1: of its group */
};

struct bench_host {
    struct tw_runtime rt;
    struct tw_device *device;
    struct bench_emitted emitted;
    int rounds;
    double seconds; /* that all measuring takes at most, but for three batches of each row */
    struct bench_row *row;
    int count;
    struct tw_error error; /* why a function below could not do it */
};

/* Measures everything on the device; rows are in the host's memory until bench_host_free. Exit status. */
int bench_host_run(struct bench_host *host);
void bench_host_free(struct bench_host *host);

/* The rows on standard output. JSON: exit status. */
void bench_print_table(const struct bench_host *host);
int bench_print_json(const struct bench_host *host);

/* Launches of case 001 on host and device as Chrome trace JSON; what is measured stands in the file. Exit status. */
int bench_host_trace(struct bench_host *host, const char *path);

#endif
