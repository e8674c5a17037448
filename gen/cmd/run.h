/* Inside the command run: what its parts share. run.c compiles and loads, run_cases.c launches and compares,
 * run_report.c prints. */
#ifndef TW_GEN_CMD_RUN_H
#define TW_GEN_CMD_RUN_H

#include "cmd/compile.h"
#include "cmd/options.h"
#include "cmd/sizes.h"
#include "cmd/trial.h"

/* How rows are laid out: AUTO takes dense rows for normal inputs and padded ones for integers. */
enum run_rows { RUN_ROWS_AUTO, RUN_ROWS_DENSE, RUN_ROWS_PADDED, RUN_ROWS_COUNT };

enum { RUN_INPUTS = 2 }; /* values of enum family_inputs */

struct run_options {
    const char *kernel, *arch, *device, *source, *keep;
    bool inputs[RUN_INPUTS];         /* which kinds */
    enum run_rows rows;
    enum trial_reference reference;
    uint64_t seed;
    int completion;                  /* enum emu_completion */
    int hazards;                     /* enum emu_hazards */
    bool json;
    struct option_list set;
};

/* One case: a variant on one set of sizes, with every kind of inputs. */
struct run_case {
    const struct compile_unit *unit;
    char sizes[256];
    struct {
        bool done, padded, reference_on_device;
        struct trial_result result;
    } part[RUN_INPUTS];
    bool passed;
    char why[1024];                  /* a refusal or a failure of the device; else part[].result.why */
};

struct run {
    struct compile compile;
    struct run_options options;
    struct tw_device *device;        /* NULL: nothing is executed */
    struct tw_error no_device;       /* why */
    struct tw_kernel **kernel;       /* by unit: loaded; NULL where it cannot run here */
    struct run_case *cases;
    int case_count, failed;
    int left_out;                    /* units that the device cannot run */
    double device_seconds, load_seconds, to_loaded_seconds, inputs_seconds, reference_seconds, launch_seconds;
};

/* Every case of every loaded kernel, in the spec's order. Exit status. */
int run_cases(struct run *run);

/* What a compiled unit takes, as one line; a finished case, as one line; everything, as JSON. All on stdout. */
void run_print_unit(const struct compile_unit *unit);
void run_print_case(const struct run *run, const struct run_case *c);
void run_print_json(const struct run *run, int status);

#endif
