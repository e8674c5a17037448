/* tilewright bench SPEC: kernels of a spec and their peers, timed beside each other in one run. bench.c reads, compiles
 * and sorts kernels into groups, bench_config.c reads sizes from a file, bench_group.c verifies and times one
 * group (bench_buffers.c its tensors, bench_work.c how much of them it works on, bench_peer.c cuBLASLt beside it),
 * bench_gemm.c says what problem of cuBLASLt's it is, bench_rows.c prints. */
#ifndef TW_GEN_BENCH_KERNELS_H
#define TW_GEN_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/cublaslt.h"
#include "compile/compile.h"
#include "time/time.h"
#include "verify/launcher.h"
#include "verify/sizes.h"

enum bench_peer { BENCH_PEER_AUTO, BENCH_PEER_CUBLASLT, BENCH_PEER_NONE };

struct bench_options {
    const char *spec, *kernel, *arch, *device; /* device: "cuda", "cuda:N" or "emu" */
    const char *config;                        /* file of sizes; NULL: none */
    const char *json;                          /* file of the rows; NULL: none */
    enum bench_peer peer;
    bool mode[TIME_MODES];
    bool hot;        /* one set of inputs */
    uint64_t rounds; /* of bursts; 0: as time_defaults has it */
    struct option_list set;
};

/* A kernel of the spec with what it is launched through. */
struct bench_kernel {
    int unit[COMPILE_LIBRARY_UNITS]; /* its variants, by compile.unit */
    int count;
    struct launcher *launcher;
    int status;
    struct tw_error error;
    struct sizes sizes;
};

/* One tensor of a group, in each set of inputs; kernels that have a tensor of this name, type and shape share it. */
struct bench_buffer {
    const char *name;
    const struct plan_tensor *tensor; /* of the first of them */
    enum tw_dtype dtype;
    struct shape shape;
    bool out;
    size_t bytes;
    unsigned char *host; /* of inputs: its elements, */
    const struct spec_tensor *drawn; /* by this one's fill */
    uint64_t *address;   /* by set */
};

enum { BENCH_TENSORS = 64 };

/* A kernel on the sizes of a group. */
struct bench_part {
    struct bench_kernel *kernel;
    const int64_t *symbol;              /* by plan.symbol; sm_count is set */
    struct shape *shape;                /* by plan.tensor */
    int buffer[BENCH_TENSORS];          /* by plan.tensor: of group.buffer */
    uint64_t (*address)[BENCH_TENSORS]; /* by set and tensor */
    double *scalar;
    uint64_t workspace;
    const struct compile_unit *unit; /* the variant that is launched */
    struct bench_group *group;
    bool failed; /* it gave a wrong result: told, and not timed */
};

/* What runs beside each other: kernels of one problem and one size. */
struct bench_group {
    struct bench *bench;
    struct bench_part *part;
    int count;
    struct bench_buffer *buffer;
    int buffers, sets;
    bool has_gemm;
    struct cublaslt_gemm gemm;
    int of_gemm[3]; /* a, b, d: tensors of part[0] */
};

/* What was measured: one candidate in one mode. */
struct bench_result {
    const char *kernel, *arch; /* arch: "" of peers */
    char backend[32];
    char sizes[256];
    const struct compile_unit *unit; /* of the kernel, and its */
    const int64_t *symbol;           /* sizes */
    enum time_mode mode;
    bool timed, plain;
    struct time_result time;
    double flops, bytes;    /* of a launch; 0: unknown */
    double boxes;           /* that bulk copies load, where they are counted; 0: they are not */
    double compile_seconds; /* below 0: it was in the cache, or is a library's */
    double ratio;           /* the best peer's latency divided by this one's; 0: there is no peer */
    int group;              /* of bench.group */
    int sets, algorithm;    /* of inputs; a heuristic of cuBLASLt's, -1 */
};

struct bench {
    struct compile compile;
    struct bench_options options;
    struct tw_device *device;
    struct power power;
    struct cublaslt lt;
    bool has_lt;
    struct bench_kernel *kernel;
    int kernels;
    struct bench_group *group;
    int groups;
    struct bench_result *row;
    int rows;
    char run[64]; /* names this process in its rows; empty until they are first written */
    int failed;   /* kernels that gave a wrong result, over sizes */
};

/* Reads, compiles, loads and sorts into groups; then verifies, times and prints. Exit statuses; after any, bench_end
 * is due. */
int bench_begin(struct bench *b);
int bench_all(struct bench *b);
void bench_end(struct bench *b);

/* ---- bench_group.c ----------------------------------------------------------------------------------------------- */

/* Of what runs on the emulator nothing is timed. */
bool bench_is_emulated(const struct bench *b);

/* Verifies and times a group; its rows are added. Exit status: 1 where a result was wrong. */
int bench_group_run(struct bench_group *g);

/* ---- bench_config.c ---------------------------------------------------------------------------------------------- */

/* Fills the kernels' sizes from options.config. Exit status. */
int bench_read_config(struct bench *b);

/* ---- bench_gemm.c ------------------------------------------------------------------------------------------------ */

/* The product that the kernel or its family names as its peer, on these shapes; tensor: its a, b and d. Where data
 * decide how many rows of A and D there are, `rows` is how many, -1 where that is not known; the product is one of all
 * of them then, with the first of B's matrices. False: none, or one that cuBLASLt has not. */
bool bench_gemm(const struct compile_unit *unit, const struct shape *shape, int64_t rows, struct cublaslt_gemm *gemm,
                int tensor[3]);

/* What the product reads and writes. */
double bench_gemm_bytes(const struct cublaslt_gemm *gemm);

/* Relative error of some elements of D, drawn by the seed, against sums in double precision. The bytes are the first
 * elements' of the three matrices. */
double bench_gemm_error(const struct cublaslt_gemm *gemm, const unsigned char *a, const unsigned char *b,
                        const unsigned char *d, uint64_t seed);

/* ---- bench_rows.c ------------------------------------------------------------------------------------------------ */

/* Adds a row, zeroed but for algorithm; NULL out of memory. */
struct bench_result *bench_add_row(struct bench *b);

void bench_free_rows(struct bench *b);

/* Sets the ratios of the rows from `first` on, which are of one group. */
void bench_set_ratios(struct bench *b, int first);

/* The rows from `first` on, of one group, as a table on stdout; and at the end what they come to over all sizes. */
void bench_print_group(const struct bench *b, int first);
void bench_print_end(const struct bench *b);

/* The rows as JSON (common/json_fields.def). */
int bench_write_json(struct bench *b, FILE *out);

#endif
