/* Inside the command run: what its parts share. run.c opens devices, compiles and loads, run_source.c puts other texts
 * in the place of those that were emitted, run_cases.c launches and compares, run_report.c and run_json.c print,
 * run_coverage.c says what the sizes leave out. */
#ifndef TW_GEN_VERIFY_RUN_RUN_H
#define TW_GEN_VERIFY_RUN_RUN_H

#include <stdatomic.h>

#include "common/options.h"
#include "compile/compile.h"
#include "verify/run/run_coverage.h"
#include "verify/sizes.h"
#include "verify/trial.h"

/* How rows are laid out: AUTO takes dense rows for normal inputs and padded ones for integers. */
enum run_rows { RUN_ROWS_AUTO, RUN_ROWS_DENSE, RUN_ROWS_PADDED, RUN_ROWS_COUNT };

enum { RUN_INPUTS = 2, RUN_COMPLETIONS = 3 }; /* values of enum inputs_kind, of enum emu_completion */

/* What --complete may say behind them: every case in each of them; in one of them, which alternates. */
enum { RUN_ALL = RUN_COMPLETIONS, RUN_ALTERNATE, RUN_COMPLETION_WORDS };

struct break_row;

struct run_options {
    const char *kernel, *arch, *device, *source, *bug, *keep, *dump;
    bool inputs[RUN_INPUTS];         /* which kinds */
    enum run_rows rows;
    uint64_t seed, sms;              /* sms 0: few (run.c) */
    int completion;                  /* enum emu_completion, RUN_ALL or RUN_ALTERNATE */
    int hazards;                     /* enum emu_hazards */
    bool json, debug, verbose;
    bool setups;                     /* those of SPEC.tuned.lua on the emulator too */
    uint64_t limit;                  /* seconds after which no case is begun, and none goes on; 0: none */
    uint64_t debug_timeout;          /* milliseconds, or DEBUG_NOT_GIVEN */
    struct option_list set;
};

extern const char *const run_completion_word[RUN_COMPLETION_WORDS], *const run_hazards_word[];
extern const char *const run_inputs_word[RUN_INPUTS];

/* A text by hand, and what its first line says; of a planted bug arch, and in entry the name of the text. */
struct run_source {
    char *text;                      /* NULL once it has taken the place of the emitted one */
    size_t bytes;
    char kernel[256], entry[256], arch[32];
};

/* What the emulator found in a case: one report of all its launches. */
struct run_hazard {
    const char *name;                /* static */
    char *text, *file;               /* "hazard NAME: ..."; of the source, "" where unknown */
    char *other_file, *region;       /* as struct emu_report has them */
    uint64_t count, more, address;
    uint32_t line, ptx_line, other_line, other_ptx_line, block[3], warp;
    int stage;
    unsigned completions;            /* bits of enum emu_completion: in which it was found */
};

/* One case: a variant on one set of sizes, with every kind of inputs, in every completion that is asked for. */
struct run_case {
    const struct compile_unit *unit;
    const char *device;              /* its kind: "cuda", "emu" */
    char sizes[256];
    struct {
        bool done, padded, sampled;
        struct trial_result result;
    } part[RUN_INPUTS];
    bool passed;
    char why[1024];                  /* a refusal or a failure of the device; else part[].result.why */
    struct run_hazard *hazard;       /* those of one name stand together */
    int hazard_count;
};

struct run {
    struct compile compile;
    struct run_options options;
    struct run_source source;
    const struct break_row *bug;     /* that is planted, or NULL */
    struct tw_device *device;        /* NULL: nothing is executed */
    struct tw_device *gpu;           /* that ran what it can, where the device is the emulator for the rest; or NULL */
    struct launcher **launcher;      /* by unit: what it is launched through, one for the loaded variants of a kernel;
                                        NULL where it cannot run here */
    struct tw_kernel **kernel;       /* by unit: the emulator's, of those */
    struct run_case *cases;
    int case_count, failed;
    int left_out;                    /* units that the device cannot run */
    int not_begun;                   /* sets of sizes that --limit left out */
    atomic_bool stopped;             /* it broke off the one at hand, by run_stop */
    char broken_off[400];            /* which that was: kernel and sizes; "" none */
    bool brief;                      /* a case that passed is told in the summary alone */
    struct run_coverage coverage;
    uint64_t told;                   /* bit h: what to do about hazard h was printed */
    double device_seconds, load_seconds, to_loaded_seconds, inputs_seconds, reference_seconds, launch_seconds;
};

bool run_is_emulator(const struct tw_device *device);

/* Whether the first line of the unit's text says that it is a debug build. */
bool run_is_debug_text(const struct compile_unit *unit);

/* Reads the file of --source; then, once its kernel's units are there, puts the text in the place of one. Exit
 * statuses. */
int run_source_read(struct run *run);
int run_source_replace(struct run *run);

/* Finds the row of --break, and chooses kernel and architecture where no option does; plants the bug into the
 * unit, and prints the edit; says whether its hazard was reported. Exit statuses. */
int run_break_begin(struct run *run, const char *default_arch);
int run_break_plant(struct run *run);
int run_break_end(const struct run *run);

/* Whether --limit is over, for what goes on for long: the emulator and references ask. context: the run. */
int run_stop(void *context);

/* Leaves the tensors of a case that ran under --dump, densely in their own dtypes, with case.json beside them. The last
 * completion's results. TW_OK or an error. */
int run_dump(struct run *run, const struct trial *trial, const struct run_case *one, struct tw_error *error);

/* Every case of every loaded kernel that has none yet, in the spec's order. Exit status. */
int run_cases(struct run *run);

/* What a compiled unit takes, as one line; a finished case, as one line, where it is to have one; how many cases are
 * verified, after what they show together where they had no lines. On stdout. */
void run_print_unit(const struct compile_unit *unit);
void run_print_case(const struct run *run, const struct run_case *c);
void run_print_count(const struct run *run);

void run_hazard_free(struct tw_runtime *rt, struct run_hazard *hazard);

/* What the emulator found in a case, on stderr: its reports, with what to do where a name comes for the first time. */
void run_print_hazards(struct run *run, const struct run_case *c);

/* Everything, as JSON on stdout (run_json.c). Exit status. */
int run_print_json(const struct run *run, int status);

#endif
