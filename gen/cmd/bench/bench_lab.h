/* Inside bench --host: the laboratory that the candidates (bench_host.c) and the timeline (bench_trace.c) work in. */
#ifndef TW_GEN_CMD_BENCH_BENCH_LAB_H
#define TW_GEN_CMD_BENCH_BENCH_LAB_H

#include <stdalign.h>
#include <stdint.h>

#include "cache.h"
#include "cmd/bench/bench.h"
#include "nvrtc.h"
#include "tensormap/tensormap_driver.h"

enum { LAB_MAPS = 192, LAB_CALLS = 5, LAB_COUNTS = 4, LAB_ARGUMENTS = 58, LAB_GRAPHS = 3 };

/* Launches in a graph, and arguments of an empty kernel. */
extern const int lab_graph_launches[LAB_GRAPHS];
extern const int lab_argument_counts[LAB_COUNTS];

/* A graph of `launches` of one kernel, and what replays it. */
struct lab_graph {
    void *graph, *replay;
};

struct lab {
    struct bench_host *host;
    double until;    /* by lab_now: the end of all measuring */
    int groups_left; /* that have a part of the time until then */
    const struct tw_driver *driver;
    struct bench_emitted *emitted;
    void *stream;
    uint64_t tensor[3]; /* 512 x 512 fp16, and room for a stride of 520 */
    alignas(64) uint64_t map[LAB_MAPS][16];
    struct tw_tensormap_call call[LAB_CALLS]; /* rank 2, 3, 5, im2col, im2col-wide */
    void *module, *function[LAB_COUNTS];      /* empty kernels */
    int argument[LAB_ARGUMENTS];
    void *arguments[LAB_ARGUMENTS];
    struct lab_graph graph[1 + LAB_COUNTS][LAB_GRAPHS]; /* 0: of case 001; else of empty kernel n - 1 */
    struct tw_kernel_node prepared;                     /* case 001 with its arguments */
    void *prepared_arguments[1];
    void *node;                        /* of graph[0][0]; NULL where the driver cannot update it */
    struct tw_compile_request compile; /* of the empty kernels */
    char source[4096];
};

/* Fills tensors, loads the emitted code and the empty kernels, records the graphs; NULL where something fails. */
struct lab *lab_open(struct bench_host *host, struct tw_error *error);
void lab_close(struct lab *lab);

/* Nanoseconds of the host's clock (CLOCK_MONOTONIC). */
double lab_now(void);

#endif
