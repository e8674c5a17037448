/* Rows of measured times, as `bench --json` writes them and Python's peers do: read, joined, printed, drawn.
 *
 * A file is a list of rows, or an object with the member "rows". A row is one back end on one problem in one mode, its
 * times in milliseconds; results_keys.def says what each must have. Ratios are made here, within one run alone: the
 * best peer's latency divided by the row's, of the same kernel, GPU, problem and mode. Where the run has no peer of
 * that kernel, what the row came with stays: its process may have compared it with another kernel's peer. */
#ifndef TW_GEN_RESULTS_RESULTS_H
#define TW_GEN_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/tell.h"
#include "hooks.h"

struct json_object;

struct results_row {
    struct json_object *object; /* all members, those too that are unknown here */
    const char *kernel, *arch, *gpu, *backend, *mode, *run; /* of the object */
    char *size;                 /* the problem with its names sorted: one problem, one text */
    char *names, *values;       /* as they are written: "M x N x K", "4096 x 4096 x 512"; names is "" of a text */
    double latency, least, most; /* ms; least and most are 0 where they are not told */
    double tflops, gbs;         /* 0: not told */
    double told;                /* the ratio that it came with; 0: none */
    double ratio;               /* 0: its run has no peer */
    const char *file;           /* the caller's name of it */
    int number;                 /* in the file, from 1 on */
};

/* Zero-initialised but for rt is empty. */
struct results {
    struct tw_runtime *rt;
    struct results_row *row;
    size_t count, room;
};

/* Appends a file's rows and makes all ratios anew. Everything that is wrong with the file is told (twenty rows at
 * most); then no row of it is there. Exit status. */
int results_read(struct results *results, const char *path, const struct tell *tell);

/* The same of a file's bytes, a zero behind them; path is what is told and kept. */
int results_parse(struct results *results, const char *path, const char *text, size_t length, const struct tell *tell);
void results_free(struct results *results);

/* Of rows that agree in kernel, arch, GPU, problem, back end, mode and run the later takes the earlier's place, which
 * is told. Returns how many are gone, or -1 where there is no memory. */
long results_join(struct results *results, const struct tell *tell);

/* Into `to`, which is empty, the rows with a member of their `setup` in the problem's place, and the problem in the
 * kernel's: tables and pictures then run over that member. Rows without a setup stand beside each of its values, this
 * program's as peers by their kernel's name. Exit status: 1 where no row has the member, which is told. */
int results_over(const struct results *from, const char *field, struct results *to, const struct tell *tell);

/* {"rows": [...]}, a row a line, each with its ratio; written whole or not at all. A status. */
int results_write(const struct results *results, const char *path, struct tw_error *error);

/* Whether it is this program's: "tilewright", or "tilewright" and what tells one of its kernels from another. */
bool results_ours(const char *backend);

/* ---- what is shown: rows of one kernel, GPU and mode, problems by back ends ---------------------------------- */

struct results_cell {
    const struct results_row *row; /* NULL: not measured */
    bool apart;                    /* in another run than its line's: it is not compared */
};

struct results_column {
    char *name;       /* the back end, with its architecture where it has several */
    const char *backend, *arch;
    bool ours;
};

/* One problem. All its cells are of the last run that has this program beside a peer, or of the last that has it; what
 * that run lacks comes from the last that has it, apart. */
struct results_line {
    const struct results_row *first; /* whose names and values it shows */
    struct results_cell *cell;       /* by column */
};

struct results_view {
    struct tw_runtime *rt;
    const char *kernel, *gpu, *mode;
    struct results_column *column; /* peers first, in the order of the rows */
    struct results_line *line;     /* in the order of the rows */
    int columns, lines;
    char *arch;                    /* of this program's rows, else of all: "sm_90a", or several with commas */
    const char *names;             /* of the problems, where they are the same in all; else NULL */
};

/* What to show; NULL: all. */
struct results_choice {
    const char *kernel, *mode, *gpu;
};

/* Views in the order of the rows; *count is 0 where no row is chosen. A status. */
int results_views(const struct results *results, const struct results_choice *choice, struct results_view **view,
                  int *count, struct tw_error *error);
void results_views_free(struct tw_runtime *rt, struct results_view *view, int count);

/* "4096 x 4096 x 512", or with the names where these differ from line to line. The caller frees it; NULL: no memory. */
char *results_label(const struct results_view *view, const struct results_line *line);

/* Of the ratios in a column: how many, their geometric mean and the least. */
struct results_summary {
    int count;
    double mean, least;
};
struct results_summary results_sum_up(const struct results_view *view, int column);

/* Markdown on stdout, or under --json what it sums up. A status. */
int results_print_table(const struct results_view *view, const struct tell *tell, struct tw_error *error);

/* Pictures of latency, throughput and ratio in a folder, one of each a GPU and mode where it is known, with a panel for
 * each kernel: GPU.MODE.MEASURE.svg. What was written is told on stdout; all are there or none. A status. */
int results_plot(const struct results_view *view, int count, const char *folder, const struct tell *tell,
                 struct tw_error *error);

#endif
